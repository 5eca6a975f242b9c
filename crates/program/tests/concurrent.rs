//! Tests of `concurrent`, on programs read by the front end.

use droste_lang::lexer::Dialect;
use droste_lang::lower::lower;
use droste_lang::parser::parse;
use droste_program::concurrent::*;
use droste_program::*;
use droste_source::SourceFile;

fn program(text: &str) -> Program {
    let parsed = parse(&SourceFile::new("<test>", text), Dialect::Union);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    lower(&parsed.ast).0.expect("a program")
}

#[test]
fn starts_in_loops_and_recursion_are_unbounded() {
    let unbounded = |text: &str| unbounded_start(&program(text)).is_some();
    assert!(!unbounded(
        "void main() begin start_thread f(); f(); f(); end void f() begin start_thread skip; end"
    ));
    assert!(unbounded(
        "void main() begin while (*) do start_thread f(); od; end void f() begin skip; end"
    ));
    assert!(unbounded(
        "void main() begin while (*) do f(); od; end void f() begin start_thread skip; end"
    ));
    assert!(unbounded(
        "void main() begin f(); end void f() begin start_thread skip; if (*) then f(); fi; end"
    ));
    // After the return of a recursive call, in the activation that made it.
    assert!(unbounded(
        "void main() begin f(); end void f() begin if (*) then f(); fi; start_thread skip; end"
    ));
    assert!(unbounded(
        "void main() begin f(); end void f() begin if (*) then g(); fi; end
         void g() begin f(); start_thread skip; end"
    ));
    assert!(!unbounded(
        "void main() begin f(); end void f() begin if (*) then f(); else start_thread skip; fi; end"
    ));
    assert!(unbounded(
        "void main() begin L: skip; start_thread goto L; end"
    ));
    assert!(unbounded(
        "void main() begin start_thread f(); end void f() begin g(); end void g() begin start_thread f(); end"
    ));
    assert!(!unbounded(
        "void main() begin while (*) do skip; od; start_thread f(); end void f() begin f(); end"
    ));
}

#[test]
fn what_no_thread_gets_to_starts_none() {
    // Nobody calls `f`; and behind a call that never returns there is nothing.
    for text in [
        "void main() begin skip; end void f() begin while (*) do start_thread skip; od; end",
        "void main() begin f(); end bool f() begin f(); start_thread skip; end",
        "void main() begin f(); while (*) do start_thread skip; od; end void f() begin f(); end",
    ] {
        let program = program(text);
        assert!(unbounded_start(&program).is_none(), "{text}");
        assert_eq!(most_started(&program), 0, "{text}");
    }
}

#[test]
fn threads_come_in_the_order_of_their_declarations() {
    let names = |text: &str| -> Vec<String> {
        let program = program(text);
        let all = declared(&program).into_iter();
        all.map(|thread| thread.name.to_string()).collect()
    };
    assert_eq!(names("void main() begin start_thread skip; end"), ["main"]);
    assert_eq!(
        names(
            "void threadB() begin end void init() begin endinit: skip; end void threadA() begin end"
        ),
        ["init", "threadB", "threadA"]
    );
    assert_eq!(
        names("thread B begin void main() begin end end thread A begin void main() begin end end"),
        ["B", "A"]
    );
}
