//! Each pass on a program where one can see what it should find.

use droste_base::Limits;
use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_passes::{Cleaned, Config, Query, absorb, clean};
use droste_program::labels;
use droste_program::liveness::Liveness as _;
use droste_program::{NodeId, Op, Program, VarRef};
use droste_source::SourceFile;

fn program(text: &str) -> Program {
    let parsed = parse(&SourceFile::new("test.bp", text), Dialect::default());
    lower(&parsed.ast).0.expect("the program is right")
}

fn at(program: &Program, label: &str) -> NodeId {
    labels::find(program, label).expect("a label")[0]
}

/// Cleans for `--reach TARGET`.
fn reach(program: &Program) -> Cleaned {
    let query = Query {
        targets: &[at(program, "TARGET")],
        ..Query::default()
    };
    clean(program, &query, &Config::default())
}

/// Cleans for failed assertions.
fn assertions(program: &Program) -> Cleaned {
    let query = Query {
        violations: true,
        ..Query::default()
    };
    clean(program, &query, &Config::default())
}

fn op<'a>(cleaned: &'a Cleaned, label: &str) -> &'a Op {
    &cleaned.program.node(at(&cleaned.program, label)).op
}

#[test]
fn constants_go_through_calls_and_returns() {
    let given = program(
        "decl g;
         bool f(x) begin return !x; end
         void main() begin
           decl y;
           g := F;
           y := f(F);
           B: if (y & !g) then A: skip; else TARGET: skip; fi
         end",
    );
    let cleaned = reach(&given);
    assert_eq!(*op(&cleaned, "A"), Op::Stuck);
    assert_eq!(*op(&cleaned, "TARGET"), Op::Stuck, "never reached");
}

#[test]
fn different_arguments_are_not_constant() {
    let given = program(
        "bool f(x) begin R: return x; end
         void main() begin
           decl y, z;
           y := f(T); z := f(F);
           B: if (y & !z) then TARGET: skip; fi
         end",
    );
    let cleaned = reach(&given);
    assert!(matches!(op(&cleaned, "B"), Op::Branch { .. }));
    assert_ne!(*op(&cleaned, "TARGET"), Op::Stuck);
}

#[test]
fn a_global_that_the_callee_leaves_alone_keeps_its_value() {
    let given = program(
        "decl g;
         void f() begin skip; end
         void main() begin
           g := T; f(); g := F; f();
           B: if (g) then A: skip; fi
           TARGET: skip;
         end",
    );
    let cleaned = reach(&given);
    assert_eq!(*op(&cleaned, "A"), Op::Stuck);
    assert!(matches!(op(&cleaned, "B"), Op::Goto(_)));
}

#[test]
fn what_cannot_lead_to_the_target_is_cut() {
    let given = program(
        "void g() begin G: skip; g(); end
         void h() begin H: skip; end
         void main() begin
           if (*) then A: g(); B: skip; else C: h(); fi
           D: skip;
           if (*) then TARGET: skip; fi
           E: skip;
         end",
    );
    let cleaned = reach(&given);
    for label in ["A", "B", "G", "E"] {
        assert_eq!(*op(&cleaned, label), Op::Stuck, "{label}");
    }
    for label in ["C", "D", "H", "TARGET"] {
        assert_ne!(*op(&cleaned, label), Op::Stuck, "{label}");
    }
}

#[test]
fn a_target_inside_a_callee_that_never_returns_stays_reachable() {
    let given = program(
        "void g() begin if (*) then TARGET: skip; fi L: goto L; end
         void main() begin A: g(); B: skip; end",
    );
    let cleaned = reach(&given);
    assert_ne!(*op(&cleaned, "A"), Op::Stuck);
    assert_eq!(*op(&cleaned, "B"), Op::Stuck);
}

#[test]
fn nothing_is_cut_when_every_position_matters() {
    let given = program("void main() begin TARGET: skip; A: skip; end");
    let query = Query {
        targets: &[at(&given, "TARGET")],
        every_position: true,
        ..Query::default()
    };
    let cleaned = clean(&given, &query, &Config::default());
    assert_eq!(cleaned.program, given);
}

#[test]
fn faint_variables_are_dropped() {
    let given = program(
        "void main() begin
           decl x, y : u8;
           A: x := y;
           while (*) do B: x := x + 1; od
           TARGET: skip;
         end",
    );
    let cleaned = reach(&given);
    assert!(matches!(op(&cleaned, "A"), Op::Goto(_)));
    assert!(matches!(op(&cleaned, "B"), Op::Goto(_)));
    let target = at(&given, "A");
    assert!(!cleaned.live.live(target, VarRef::Local(0)));
    assert!(!cleaned.live.live(target, VarRef::Local(1)));
}

#[test]
fn what_can_fail_is_kept() {
    let given = program(
        "void main() begin
           decl x, y : u8; decl z : int[0..3];
           A: x := 5 / y;
           B: z := z + 1;
           TARGET: skip;
         end",
    );
    let cleaned = reach(&given);
    let Op::Assign {
        assigns, discards, ..
    } = op(&cleaned, "A")
    else {
        panic!("the division is gone");
    };
    assert_eq!((assigns.len(), discards.len()), (0, 1));
    assert!(matches!(op(&cleaned, "B"), Op::Assign { assigns, .. } if assigns.len() == 1));
    assert!(cleaned.live.live(at(&given, "A"), VarRef::Local(1)));
    assert!(cleaned.live.live(at(&given, "A"), VarRef::Local(2)));
}

#[test]
fn globals_stay_alive_across_callees_that_do_not_mention_them() {
    let given = program(
        "decl g;
         void f() begin F: skip; end
         void main() begin A: f(); assert(g); end",
    );
    let cleaned = assertions(&given);
    for label in ["A", "F"] {
        assert!(
            cleaned.live.live(at(&given, label), VarRef::Global(0)),
            "{label}"
        );
    }
    let f = given.node(at(&given, "F")).procedure;
    assert!(cleaned.live.live_at_exit(f, 0));
    assert!(!cleaned.live.live_at_exit(given.main, 0));
    assert!(!cleaned.live.live_after_termination(0));
}

#[test]
fn values_after_the_step_keep_right_hand_sides_alive() {
    let given = program(
        "decl a, b, c;
         void main() begin
           A: a, b := c, * constrain ('a | 'b);
           TARGET: skip;
         end",
    );
    let cleaned = reach(&given);
    assert!(matches!(op(&cleaned, "A"), Op::Assign { assigns, .. } if assigns.len() == 2));
    let live = |var| cleaned.live.live(at(&given, "A"), VarRef::Global(var));
    assert_eq!([live(0), live(1), live(2)], [false, false, true]);
}

#[test]
fn threads_share_globals_so_they_are_live_everywhere() {
    let given = program(
        "decl g, h;
         void main() begin
           A: start_thread f();
           g := T; h := T;
           B: g := F;
         end
         void f() begin if (g) then TARGET: skip; fi end",
    );
    let cleaned = reach(&given);
    for label in ["A", "B", "TARGET"] {
        assert!(
            cleaned.live.live(at(&given, label), VarRef::Global(0)),
            "{label}"
        );
        assert!(
            !cleaned.live.live(at(&given, label), VarRef::Global(1)),
            "{label}"
        );
    }
    assert!(
        matches!(op(&cleaned, "B"), Op::Assign { .. }),
        "f may read it"
    );
    assert_ne!(*op(&cleaned, "TARGET"), Op::Stuck);
}

#[test]
fn no_pass_changes_nothing() {
    let given = program("decl g; void main() begin g := T & F; A: assume(F); end");
    let cleaned = clean(&given, &Query::default(), &Config::none());
    assert_eq!(cleaned.program, given);
    assert!(cleaned.report.is_empty());
    assert!(cleaned.live.live(at(&given, "A"), VarRef::Global(0)));
}

/// Ten thousand statements over hundreds of variables, and a million over few. Prints times
/// under `--nocapture`; how long it takes is not asserted.
#[test]
#[ignore = "large; run in release"]
fn large_programs() {
    use std::fmt::Write as _;
    for (statements, variables) in [(10_000, 400), (1_000_000, 8)] {
        let mut text = String::from("decl g0");
        for i in 1..variables {
            write!(text, ", g{i}").expect("a string");
        }
        text.push_str(";\nvoid main() begin f0(); TARGET: assert(g0); end\n");
        let each = 100;
        let count = statements / each;
        for f in 0..count {
            writeln!(text, "void f{f}() begin").expect("a string");
            for s in 0..each {
                let (a, b) = ((f * 7 + s * 13) % variables, (f * 3 + s * 5) % variables);
                match s % 10 {
                    3 => writeln!(text, "if (g{a}) then g{b} := *; fi"),
                    5 => writeln!(text, "if (*) then f{}(); fi", (f * 31 + s + 1) % count),
                    7 => writeln!(text, "g{a} := T;"),
                    _ => writeln!(text, "g{a} := g{b};"),
                }
                .expect("a string");
            }
            text.push_str("end\n");
        }
        let given = program(&text);
        let started = std::time::Instant::now();
        let cleaned = reach(&given);
        // The passes take seconds; a quadratic one would take hours.
        assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
        assert_eq!(cleaned.program.nodes.len(), given.nodes.len());
        assert!(!cleaned.report.is_empty());
    }
}

/// How many calls are left; nothing if no procedure was absorbed.
fn calls_left(text: &str) -> Option<usize> {
    let given = program(text);
    let cleaned = clean(&given, &Query::default(), &Config::none());
    let absorbed = absorb(&cleaned, &Query::default(), &mut Limits::default().guard());
    let absorbed = absorbed.expect("there is no limit")?;
    let calls = absorbed.program.nodes.iter();
    Some(
        calls
            .filter(|node| matches!(node.op, Op::Call { .. }))
            .count(),
    )
}

#[test]
fn a_chain_of_procedures_becomes_one() {
    let text = "decl g; void main() begin decl x; x := p(g); assert(x); end \
                bool p(a) begin decl y; y := q(!a); return y; end \
                bool q(b) begin return b | g; end";
    assert_eq!(calls_left(text), Some(0));
}

#[test]
fn what_is_called_twice_stays() {
    let text = "decl g; void main() begin p(); end void p() begin q(); q(); end void q() begin g := !g; end";
    assert_eq!(calls_left(text), Some(2));
}

#[test]
fn what_calls_itself_stays() {
    let text = "decl g; void main() begin p(); end void p() begin if (*) then p(); fi end";
    assert_eq!(calls_left(text), None);
}

/// A run inside an inner `main` would have its calls to find, too.
#[test]
fn nothing_changes_if_main_is_called() {
    let text =
        "decl g; void main() begin p(); if (*) then main(); fi end void p() begin g := T; end";
    assert_eq!(calls_left(text), None);
}

/// What is stored and what fails would be two steps.
#[test]
fn results_that_are_converted_stay_results() {
    let text = "decl g : int[0..3]; void main() begin g := p(); end u8 p() begin return 2; end";
    assert_eq!(calls_left(text), None);
    let text =
        "decl g; void main() begin g := p() constrain ('g = g); end bool p() begin return T; end";
    assert_eq!(calls_left(text), None);
}
