//! Programs with threads as formulas, against the explicit engine, which is compared with all interleavings elsewhere.
//!
//! `SEED=n` reruns one program; `PROGRAMS=n` sets how many.

use droste_base::{Limits, Verdict};
use droste_check::{Bound, Engine, Fault, Options, Property, check, formula};
use droste_lang::lower::lower;
use droste_program::Program;
use droste_testkit::generate::{Convention, concurrent, starting};
use droste_testkit::random::seeds;
use droste_testkit::source::parse;

/// Whether the property is violated; `None` if the engine does not take the program, or gives up.
fn ask(engine: Engine, program: &Program, property: &Property, bound: Bound) -> Option<bool> {
    let options = Options {
        bound: Some(bound),
        engine,
        limits: Limits {
            path_edges: Some(300_000),
            ..Limits::default()
        },
        ..Options::default()
    };
    match check(program, property, &options) {
        Err(Fault::Refused(_)) => None,
        Err(fault) => panic!("{engine:?}: {fault}"),
        Ok(report) => match report.verdict {
            Verdict::Holds(_) => Some(false),
            Verdict::Violated(_) => Some(true),
            Verdict::Unknown(_) => None,
        },
    }
}

/// The formula that is solved.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// With tuples of globals.
    Tuples,
    /// About whole configurations, all threads known.
    Configurations,
    /// About whole configurations, with threads that are started.
    Started,
}

fn form(program: &Program, property: &Property, bound: Bound) -> Option<Form> {
    let options = Options {
        bound: Some(bound),
        ..Options::default()
    };
    let text = formula(program, property, &options).ok()?;
    Some(if text.contains("mu bool Reach(") {
        Form::Tuples
    } else if text.contains("bool Idle(") {
        Form::Started
    } else {
        Form::Configurations
    })
}

fn sweep(generate: fn(u64) -> (Convention, String), first: u64, programs: u64) {
    let count = std::env::var("PROGRAMS").ok().and_then(|v| v.parse().ok());
    let bounds = [
        Bound::Switches(0),
        Bound::Switches(1),
        Bound::Switches(2),
        Bound::Switches(3),
        Bound::Rounds(1),
        Bound::Rounds(2),
    ];
    // By the formula that is solved.
    let mut tally = [[[0; 2]; 3]; 6];
    for seed in seeds(first, count.unwrap_or(programs)) {
        let (_, text) = generate(seed);
        let ast = parse(&text);
        let Some(program) = lower(&ast).0.filter(Program::is_concurrent) else {
            continue;
        };
        let mut questions = vec![Property::Default];
        let labels = program.nodes.iter().flat_map(|node| &node.labels);
        questions.extend(
            labels
                .map(|label| Property::Reach(vec![label.to_string()]))
                .take(3),
        );
        for property in questions {
            for (&bound, tally) in bounds.iter().zip(&mut tally) {
                let Some(expected) = ask(Engine::Explicit, &program, &property, bound) else {
                    continue;
                };
                let Some(found) = ask(Engine::Calculus, &program, &property, bound) else {
                    continue;
                };
                assert_eq!(
                    found, expected,
                    "SEED={seed} {property} with {bound:?}\n{text}"
                );
                if let Some(form) = form(&program, &property, bound) {
                    tally[form as usize][usize::from(found)] += 1;
                }
            }
        }
    }
    println!("tuples, configurations, started threads in configurations; holds and violated:");
    for (bound, tally) in bounds.iter().zip(&tally) {
        println!("  {bound:?}: {tally:?}");
    }
}

#[test]
fn formulas_for_threads_agree_with_the_explicit_engine() {
    sweep(concurrent, 0, 60);
}

#[test]
fn formulas_for_started_threads_agree_with_the_explicit_engine() {
    sweep(starting, 0, 60);
}

#[test]
#[ignore = "sweep; run in release"]
fn formulas_for_many_threads_agree_with_the_explicit_engine() {
    sweep(concurrent, 1000, 600);
    sweep(starting, 1000, 600);
}

/// Both engines say so about the label `bad`.
fn both(text: &str, bound: Bound, expected: bool) {
    let program = lower(&parse(text)).0.expect("a program");
    let property = Property::Reach(vec!["bad".to_owned()]);
    for engine in [Engine::Explicit, Engine::Bdd, Engine::Calculus] {
        let found = ask(engine, &program, &property, bound);
        assert_eq!(found, Some(expected), "{engine:?} with {bound:?}\n{text}");
    }
}

#[test]
fn a_thread_that_begins_inside_a_procedure_does_not_return_to_a_caller() {
    // A thread begins at `half` with the very frame with which it calls `p`; it can end, but `p` does not return.
    let text = "decl g; void main() begin decl x; g := F; start_thread goto on; assume(F); on: x := T; x := F; p(x); end
        void p(y) begin
            start_thread goto half;
            assume(F);
            half: if (*) then p(y); bad: skip; fi;
        end";
    for most in 0..4 {
        both(text, Bound::Switches(most), false);
    }
}

#[test]
fn the_first_thread_may_be_one_that_init_has_started() {
    let text = "decl g; void init() begin g := F; start_thread one(); endinit: skip; end
        void thread1() begin g := T; end
        void one() begin if (!g) then first: skip; fi; bad: skip; end";
    both(text, Bound::Switches(0), true);
    both(text, Bound::Rounds(1), true);
}

#[test]
fn only_init_stops_at_endinit() {
    let text = "decl g; void init() begin g := F; endinit: skip; if (g) then bad: skip; fi; end
        void thread1() begin g := T; start_thread init(); h(); g := T; end
        void thread2() begin assume(g); init(); end
        void h() begin g := F; end";
    both(text, Bound::Switches(0), false);
    both(text, Bound::Switches(2), false);
    both(text, Bound::Switches(3), true);
    let text = "decl g; void init() begin g := F; start_thread goto endinit; endinit: skip; if (g) then bad: skip; fi; end
        void thread1() begin g := T; end";
    both(text, Bound::Switches(0), false);
    both(text, Bound::Switches(1), true);
}

#[test]
fn an_atomic_section_ends_with_its_thread_and_not_with_a_call() {
    let text = "decl g; decl h; void main() begin g := F; h := F; start_thread two(); one(); g := F; atomic_end; end
        void one() begin atomic_begin; g := T; end
        void two() begin assume(g); bad: skip; end";
    both(text, Bound::Switches(3), false);
    let text = "decl g; void main() begin g := F; start_thread two(); start_thread one(); one(); g := F; atomic_end; end
        void one() begin atomic_begin; g := T; end
        void two() begin assume(g); bad: skip; end";
    both(text, Bound::Switches(1), false);
    both(text, Bound::Switches(2), true);
    both(text, Bound::Rounds(1), false);
    both(text, Bound::Rounds(2), true);
}

#[test]
fn a_thread_may_be_started_by_no_step() {
    // The slots may hold a thread that `p` starts, but no step of `p` does.
    let text = "decl g; void main() begin start_thread p(); goto on; bad: skip; on: skip; end
        void p() begin enforce F; start_thread p(); end";
    for most in 0..4 {
        both(text, Bound::Switches(most), false);
    }
    // `q` starts threads, `p` none, in the same slot.
    let text = "decl g; void main() begin start_thread p(); start_thread q(); end
        void p() begin enforce F; start_thread p(); end
        void q() begin start_thread r(); end
        void r() begin bad: skip; end";
    both(text, Bound::Switches(0), false);
    both(text, Bound::Switches(2), true);
}
