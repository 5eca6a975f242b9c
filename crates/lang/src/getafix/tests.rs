//! What programs of the dialect become, and what it does not have.

use crate::lexer::Dialect;
use crate::lower::lower;
use crate::parser::{Parsed, parse};
use crate::printer::print;
use droste_source::SourceFile;

fn read(text: &str) -> Parsed {
    parse(&SourceFile::new("test.bp", text), Dialect::Getafix)
}

/// The translation, without the spaces of its layout.
fn translated(text: &str) -> String {
    let parsed = read(text);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let (program, diagnostics) = lower(&parsed.ast);
    assert!(program.is_some(), "{diagnostics:?}");
    let printed = print(&parsed.ast);
    let again = parse(&SourceFile::new("test.bp", &*printed), Dialect::Union);
    assert_eq!(print(&again.ast), printed);
    printed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The body of the thread `main` of a program with this one.
fn body(statements: &str) -> String {
    let text = format!(
        "decl atomic, g; void init() begin atomic := F; endinit: skip; end
         void main() begin {statements} end
         void f() begin g := T; end
         bool r() begin return g; end"
    );
    let all = translated(&text);
    let (_, rest) = all.split_once("thread_main() begin ").expect("the thread");
    let (body, _) = rest.split_once(" end").expect("its end");
    body.to_owned()
}

fn error(text: &str) -> String {
    let parsed = read(text);
    let mut errors = parsed.diagnostics.into_iter();
    errors.next().expect("an error").message
}

/// The error of a thread with these statements.
fn refused(statements: &str) -> String {
    error(&format!(
        "decl atomic, g; void init() begin endinit: skip; end
         void thread1() begin {statements} end
         void f() begin g := T; end"
    ))
}

#[test]
fn main_is_a_thread_and_sections_need_no_variable() {
    let text = "decl atomic, g;
        void init() begin atomic := F; g, atomic := T, *; endinit: skip; end
        void Thread2() begin decl at; at := F; atomic, at := T, T; g := F; atomic, at := F, F; end
        void thread3() begin skip; end
        void main() begin L: atomic := 1; M: atomic := 0; end";
    assert_eq!(
        translated(text),
        "decl g; void init() begin skip; g := T; endinit: skip; end \
         void thread_Thread2() begin decl at; at := F; atomic_begin; g := F; atomic_end; end \
         void thread3() begin skip; end \
         void thread_main() begin L: atomic_begin; M: atomic_end; end"
    );
}

#[test]
fn what_else_an_assignment_does_is_kept() {
    assert_eq!(
        body("L: g, atomic := F, T; atomic := F;"),
        "L: atomic_begin; g := F; atomic_end;"
    );
    assert_eq!(
        body("atomic := T; L: atomic, g := schoose[F, F], T;"),
        "atomic_begin; L: g := T; atomic_end;"
    );
    assert_eq!(body("dead atomic, g;"), "dead g; atomic_end;");
    assert_eq!(body("constrain 'g;"), "constrain('g); atomic_end;");
    // A local that is read is no mark of the section.
    assert_eq!(
        body("decl at; atomic, at := T, T; g := at; atomic := F;"),
        "decl at; atomic_begin; at := T; g := at; atomic_end;"
    );
    // A local hides the flag.
    assert_eq!(
        body("decl atomic; atomic := T; g := atomic;"),
        "decl atomic; atomic := T; g := atomic;"
    );
}

#[test]
fn a_call_is_one_step() {
    assert_eq!(body("L: f();"), "L: atomic_begin; f(); atomic_end;");
    assert_eq!(
        body("atomic := T; g := r(); atomic := F;"),
        "atomic_begin; g := r(); atomic_end;"
    );
    // Inside or outside, depending on the way: the variable says it.
    assert_eq!(
        body("if (*) then atomic := T; fi; f(); atomic := F;"),
        "if * then atomic_begin; atomic := T; fi; \
         atomic_begin; f(); if !atomic then atomic_end; fi; \
         atomic := F; atomic_end;"
    );
}

#[test]
fn a_thread_that_ends_in_a_section_stops_all() {
    assert_eq!(body("atomic := T;"), "atomic_begin; assume(F);");
    assert_eq!(
        body("atomic := T; return;"),
        "atomic_begin; assume(F); return;"
    );
    assert_eq!(
        body("while (*) do atomic := T; od;"),
        "while * do atomic_begin; atomic := T; od; assume(!atomic);"
    );
    // Nobody comes here.
    assert_eq!(body("atomic := T; assume(F);"), "atomic_begin; assume(F);");
}

#[test]
fn other_programs_are_as_they_are() {
    let same = |text: &str| {
        let mut plain = parse(&SourceFile::new("test.bp", text), Dialect::Union);
        plain.ast.repeated_labels = true;
        assert_eq!(read(text).ast, plain.ast, "{text}");
    };
    same("decl atomic; void main() begin atomic := T; end");
    same("decl atomic; void init() begin skip; end void main() begin atomic := T; end");
    same("decl atomic; thread A begin void main() begin atomic := T; end end");
}

#[test]
fn what_the_dialect_does_not_have() {
    assert_eq!(refused("g := atomic;"), "`atomic` is read");
    assert_eq!(
        refused("atomic := g;"),
        "it is not known which value `atomic` gets"
    );
    assert_eq!(
        refused("atomic := f();"),
        "it is not known which value `atomic` gets"
    );
    assert_eq!(
        refused("atomic := T constrain g;"),
        "it is not known which value `atomic` gets"
    );
    assert_eq!(refused("thread1();"), "`thread1` is called");
    assert_eq!(
        refused("start_thread f();"),
        "this is not in the dialect of GETAFIX"
    );
    assert_eq!(
        refused("atomic_begin;"),
        "this is not in the dialect of GETAFIX"
    );
    let init = "decl atomic; void init() begin atomic := T; endinit: skip; end void main() begin skip; end";
    assert_eq!(error(init), "`init` sets `atomic` to true");
    let called = "decl atomic; void init() begin endinit: skip; end
        void main() begin f(); end void f() begin atomic := F; end";
    assert_eq!(
        error(called),
        "`atomic` changes in a procedure that is called"
    );
}
