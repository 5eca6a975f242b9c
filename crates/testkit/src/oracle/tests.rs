//! The oracle on programs whose answers are known.

use droste_program::Violation;

use super::{Label, Oracle, Refusal};
use crate::source::{parse, parse_monitor};

fn reaches(text: &str, label: &str) -> bool {
    let ast = parse(text);
    let oracle = Oracle::new(&ast).expect("a small program");
    let label = [Label::parse(label)];
    assert!(
        oracle
            .labels()
            .iter()
            .any(|(_, name)| *name == label[0].name),
        "there is no such label"
    );
    oracle.reachable(&label)
}

fn violations(text: &str) -> Vec<Violation> {
    let ast = parse(text);
    let oracle = Oracle::new(&ast).expect("a small program");
    oracle.violations().iter().map(|(_, kind)| *kind).collect()
}

/// Whether a label can be visited infinitely often: by any run, and on a bounded stack.
fn repeats(text: &str, label: &str) -> (bool, bool) {
    let ast = parse(text);
    let oracle = Oracle::new(&ast).expect("a small program");
    let label = [Label::parse(label)];
    oracle.repeatable(&label).into()
}

/// Whether a monitor is violated: by any run, and by one on a bounded stack.
fn watched(text: &str, monitor: &str) -> (bool, bool) {
    let ast = parse(text);
    let monitor = parse_monitor(monitor);
    let oracle = Oracle::new(&ast).expect("a small program");
    oracle.monitor(&monitor).expect("a small program").into()
}

#[test]
fn uninitialised_variables_have_any_value() {
    let text = "decl g; void main() begin decl x; if g & !x then A: skip; fi end";
    assert!(reaches(text, "A"));
    let text = "decl g; void main() begin decl x; x := g; if g & !x then A: skip; fi end";
    assert!(!reaches(text, "A"));
}

#[test]
fn locals_of_a_callee_are_fresh_and_the_callers_survive() {
    let text = "void main() begin decl x; x := T; f(); if !x then A: skip; fi end
                void f() begin decl x; if !x then B: skip; fi x := F; end";
    assert!(!reaches(text, "A"));
    assert!(reaches(text, "B"));
}

#[test]
fn results_come_back_and_parameters_do_not() {
    let text = "void main() begin decl a, b; a := F; b := T; a, b := swap(a, b);
                  if a & !b then A: skip; else B: skip; fi end
                bool<2> swap(x, y) begin x, y := y, x; return x, y; end";
    assert!(reaches(text, "A"));
    assert!(!reaches(text, "B"));
}

#[test]
fn unbounded_recursion_is_decided() {
    // Returns with `g` flipped once per level; both parities are possible.
    let text = "decl g; void main() begin g := F; f(); if g then ODD: skip; else EVEN: skip; fi
                  assert(!g | g); NEVER: assume(F); AFTER: skip; end
                void f() begin g := !g; if * then f(); fi end";
    assert!(reaches(text, "ODD") && reaches(text, "EVEN") && reaches(text, "NEVER"));
    assert!(!reaches(text, "AFTER"));
    // No base case: nothing is reached after the call.
    let text = "void main() begin f(); A: skip; end void f() begin B: f(); C: skip; end";
    assert!(reaches(text, "B"));
    assert!(!reaches(text, "A") && !reaches(text, "C"));
}

#[test]
fn falling_off_the_end_blocks_if_a_result_is_due() {
    let text = "void main() begin decl x; x := f(); A: skip; end bool f() begin if * then return T; fi end";
    assert!(reaches(text, "A"));
    let text = "void main() begin decl x; x := f(); A: skip; end bool f() begin skip; end";
    assert!(!reaches(text, "A"));
}

#[test]
fn stars_are_independent() {
    let text = "decl g; void main() begin g := *; if * != * then A: skip; fi
                  if schoose[g, !g] != g then B: skip; fi
                  if schoose[F, F] then C: skip; else D: skip; fi end";
    assert!(reaches(text, "A") && reaches(text, "C") && reaches(text, "D"));
    assert!(!reaches(text, "B"));
}

#[test]
fn constrain_filters_steps() {
    let text = "decl a, b; void main() begin a, b := F, F; a, b := *, * constrain ('a != 'b);
                  if a = b then A: skip; fi
                  a := * constrain (a => 'a); b := f(a) constrain ('b = b);
                  B: skip; end
                bool f(x) begin return !x; end";
    assert!(!reaches(text, "A"));
    assert!(reaches(text, "B"));
}

#[test]
fn constrain_alone_changes_everything_else() {
    let text = "decl a, b; void main() begin decl x; a, b, x := T, T, T; constrain ('a = a);
                  if !a then A: skip; fi if !b & !x then B: skip; fi end";
    assert!(!reaches(text, "A"));
    assert!(reaches(text, "B"));
}

#[test]
fn call_constrain_sees_the_values_before_the_call() {
    let text = "decl g; void main() begin g := F; f() constrain (g); A: skip; end
                void f() begin g := T; end";
    assert!(!reaches(text, "A"));
    let text = "decl g; void main() begin g := F; f() constrain (!g & 'g); A: skip; end
                void f() begin g := T; end";
    assert!(reaches(text, "A"));
}

#[test]
fn enforce_holds_until_the_end_of_its_block() {
    let text = "decl g; void main() begin g := T;
                  if T then enforce g; g := *; if !g then A: skip; fi f(); B: skip; fi
                  g := F; C: skip; end
                void f() begin g := F; D: skip; g := T; end";
    assert!(!reaches(text, "A"));
    assert!(reaches(text, "B") && reaches(text, "C") && reaches(text, "D"));
    let text = "decl g; void main() begin g := T; enforce g; f(); B: skip; end
                void f() begin g := F; D: skip; end";
    assert!(reaches(text, "D"));
    assert!(!reaches(text, "B"));
}

#[test]
fn enforce_guards_statements_that_are_jumped_to() {
    let text = "decl g; void main() begin g := F; goto L;
                  if T then enforce g; L: skip; A: skip; fi end";
    assert!(reaches(text, "L"));
    assert!(!reaches(text, "A"));
}

#[test]
fn goto_into_and_out_of_blocks() {
    let text =
        "void main() begin goto IN; while F do IN: skip; goto OUT, MORE; DEAD: skip; MORE: skip; od
                  END: skip; OUT: skip; end";
    assert!(reaches(text, "IN") && reaches(text, "OUT") && reaches(text, "MORE"));
    assert!(reaches(text, "END"));
    assert!(!reaches(text, "DEAD"));
}

#[test]
fn a_local_is_known_before_its_declaration_and_forgotten_there() {
    let text =
        "void main() begin x := T; if !x then A: skip; fi decl x; if !x then B: skip; fi end";
    assert!(!reaches(text, "A"));
    assert!(reaches(text, "B"));
}

#[test]
fn bit_vectors_wrap_and_ranges_do_not() {
    let text = "decl x : u2; void main() begin x := 3; x := x + 1; if x = 0 then A: skip; fi end";
    assert!(reaches(text, "A"));
    assert!(violations(text).is_empty());
    let text = "decl x : s2; void main() begin x := 1; x := x + 1; if x = -2 then A: skip; fi end";
    assert!(reaches(text, "A"));
    let text = "decl x : int[0..2]; void main() begin x := 2; x := x + 1; A: skip; end";
    assert!(!reaches(text, "A"));
    assert_eq!(violations(text), [Violation::OutOfRange]);
}

#[test]
fn arithmetic_is_mathematical_until_it_is_stored() {
    let text =
        "decl x : u2; void main() begin x := 3; if x + 1 = 4 & x * x * x = 27 then A: skip; fi
                  if -7 / 2 = -3 & -7 % 2 = -1 & 7 % -2 = 1 then B: skip; fi
                  if -1 >> 70 = -1 & (1 << 2) = 4 & ~x = -4 then C: skip; fi end";
    assert!(reaches(text, "A") && reaches(text, "B") && reaches(text, "C"));
}

#[test]
fn arguments_and_results_are_converted() {
    let text = "decl x : u2; void main() begin x := 3; x := f(x + 1); if x = 1 then A: skip; fi end
                u1 f(p : u1) begin if p = 0 then B: skip; fi return p + 3; end";
    assert!(reaches(text, "A") && reaches(text, "B"));
    let text = "decl x : int[0..2]; void main() begin x := 2; f(x + 1); A: skip; end
                void f(p : int[0..2]) begin B: skip; end";
    assert!(!reaches(text, "A") && !reaches(text, "B"));
    assert_eq!(violations(text), [Violation::OutOfRange]);
    // The result fits its own type, not the variable it is stored in.
    let text = "decl x : int[0..2]; void main() begin x := f(); A: skip; end
                int[0..3] f() begin return 3; end";
    assert!(!reaches(text, "A"));
    let ast = parse(text);
    let oracle = Oracle::new(&ast).expect("a small program");
    let expected = ("main".to_owned(), Violation::OutOfRange);
    assert!(oracle.violations().iter().eq([&expected]));
}

#[test]
fn operands_are_evaluated_only_as_far_as_needed() {
    let text = "decl x : u1; void main() begin x := 0; if x != 0 & 1 / x = 1 then A: skip; fi
                  if x = 0 | 1 / x = 1 then B: skip; fi
                  if x != 0 => 1 / x = 1 then C: skip; fi end";
    assert!(reaches(text, "C"));
    assert!(violations(text).is_empty());
    let text =
        "decl x : u1; void main() begin x := 0; if * & 1 / x = 1 then A: skip; fi B: skip; end";
    assert!(!reaches(text, "A"));
    assert!(reaches(text, "B"));
    assert_eq!(violations(text), [Violation::DivisionByZero]);
    let text = "decl x : s2; void main() begin x := -1; _ := 1 << x; A: skip; end";
    assert_eq!(violations(text), [Violation::NegativeShift]);
}

#[test]
fn a_failure_comes_before_constrain() {
    let text = "decl x : int[0..1]; void main() begin x := 2 constrain F; end";
    assert_eq!(violations(text), [Violation::OutOfRange]);
    let text = "decl x : int[0..1]; void main() begin x := 0; x := 1 constrain (1 / x = 1); end";
    assert_eq!(violations(text), [Violation::DivisionByZero]);
}

#[test]
fn assertions_end_the_run() {
    let text =
        "decl g; void main() begin assert(g); if !g then A: skip; fi abortif g; B: skip; end";
    assert!(!reaches(text, "A") && !reaches(text, "B"));
    assert_eq!(violations(text), [Violation::Assertion]);
    assert!(violations("void main() begin assert(T); print(1 / 0); end").is_empty());
}

/// Seed 002, Fig. 1, with a Boolean `g` and a mark where `g` is found true.
const FLIP: &str = "decl g; void main() begin g := F; flip(); end
    void flip() begin
      if g then SET: skip; else CLEAR: if * then flip(); flip(); fi fi
      g := !g; end";

#[test]
fn flip_goes_on_for_ever_only_with_a_growing_stack() {
    // `flip` from g returns with !g and the other way round, so the second of the two calls
    // always returns; a run goes on for ever in the first one, and there g is false.
    assert_eq!(repeats(FLIP, "CLEAR"), (true, false));
    assert_eq!(repeats(FLIP, "SET"), (false, false));
    let looping = FLIP.replace("g := F; flip();", "g := F; while T do flip(); od");
    assert_eq!(repeats(&looping, "SET"), (true, true));
}

#[test]
fn loops_repeat_on_a_bounded_stack() {
    assert_eq!(
        repeats("void main() begin while T do L: skip; od end", "L"),
        (true, true)
    );
    assert_eq!(
        repeats("void main() begin L: while T do od end", "L"),
        (true, true)
    );
    assert_eq!(
        repeats("void main() begin L: goto L; end", "L"),
        (true, true)
    );
    // Inside a call that returns every time.
    let text = "void main() begin while T do f(); od end void f() begin if * then L: skip; fi end";
    assert_eq!(repeats(text, "L"), (true, true));
    // Only once.
    let text = "decl g; void main() begin g := T; while T do if g then L: skip; g := F; fi od end";
    assert_eq!(repeats(text, "L"), (false, false));
}

#[test]
fn stuck_failed_and_finished_runs_do_not_repeat() {
    assert_eq!(
        repeats("void main() begin L: skip; end", "L"),
        (false, false)
    );
    let text = "void main() begin while T do L: skip; assume(F); od end";
    assert_eq!(repeats(text, "L"), (false, false));
    let text = "void main() begin while T do L: skip; assert(F); od end";
    assert_eq!(repeats(text, "L"), (false, false));
    // It must go on after the label: returning from an endless recursion is impossible.
    let text = "void main() begin while T do f(); L: skip; od end void f() begin M: f(); end";
    assert_eq!(repeats(text, "L"), (false, false));
    assert_eq!(repeats(text, "M"), (true, false));
}

#[test]
fn main_can_call_itself() {
    let text = "decl g; void main() begin L: skip; if g then main(); M: skip; fi end";
    assert_eq!(repeats(text, "L"), (true, false));
    assert_eq!(repeats(text, "M"), (false, false));
    let text = "decl g; void main() begin if g then g := F; main(); A: skip; fi end";
    assert!(reaches(text, "A"));
}

#[test]
fn labels_can_be_picked_by_procedure() {
    let text = "void main() begin L: skip; f(); end void f() begin assume(F); L: skip; end";
    assert!(reaches(text, "L") && reaches(text, "main:L"));
    assert!(!reaches(text, "f:L"));
}

#[test]
fn monitors_see_every_position() {
    let program =
        "decl g; void main() begin A: g := T; f(); B: g := F; end void f() begin C: skip; end";
    let order = "monitor order { initial state s0 { when at(A) goto s1; }
        state s1 { when at(f:C) & g goto s2; }
        state s2 { when at(B) goto s3; otherwise block; }
        state s3 { when !g & terminated goto bad; }
        target state bad; }";
    // Between C and B there is the end of `f`, where s2 gives up.
    assert_eq!(watched(program, order), (false, false));
    let patient = order.replace("otherwise block;", "otherwise stay;");
    assert_eq!(watched(program, &patient), (true, true));
}

#[test]
fn a_finished_run_is_watched_for_ever() {
    let program = "decl g; void main() begin g := *; end";
    let ends =
        "monitor ends { initial repeating state s { when terminated & g goto t; otherwise stay; }
        state t; }";
    // With g false, the monitor stays in `s` for ever.
    assert_eq!(watched(program, ends), (true, true));
    let starts = "monitor m { initial state s { when terminated goto t; otherwise stay; } repeating state t; }";
    assert_eq!(watched(program, starts), (true, true));
    assert_eq!(
        watched("void main() begin assume(F); end", starts),
        (false, false)
    );
}

#[test]
fn repeating_monitors_tell_the_kinds_of_runs_apart() {
    let monitor = "monitor m { initial state out { when at(CLEAR) goto in_; } repeating state in_ { when !at(CLEAR) goto out; } }";
    assert_eq!(watched(FLIP, monitor), (true, false));
}

#[test]
fn locals_count_as_false_while_another_procedure_runs() {
    let program = "void main() begin decl x : u1; x := 1; A: f(); end void f() begin B: skip; end";
    let guard = |guard: &str| {
        format!("monitor m {{ initial state s {{ when {guard} goto t; }} target state t; }}")
    };
    assert_eq!(
        watched(program, &guard("at(A) & main::x = 1")),
        (true, true)
    );
    assert_eq!(
        watched(program, &guard("at(B) & main::x = 1")),
        (false, false)
    );
    assert_eq!(
        watched(program, &guard("at(B) & main::x != 1")),
        (false, false)
    );
    assert_eq!(
        watched(program, &guard("in(f) & !(main::x = 1)")),
        (true, true)
    );
}

#[test]
fn what_is_too_large_is_refused() {
    let large = parse("decl x : u16; void main() begin x := x + 1; end");
    assert_eq!(Oracle::new(&large).err(), Some(Refusal::TooLarge));
    let threads = parse("void main() begin start_thread skip; end");
    assert_eq!(Oracle::new(&threads).err(), Some(Refusal::Concurrent));
}
