//! Temporal logic: Fig. 5 of Basu, Narayan Kumar, Pokorny and Ramakrishnan (TACAS 2002), patterns
//! of specification on the other families, and what a larger automaton costs.
//!
//! Goals of Fig. 5: a fiftieth of the paper's time and a quarter of its memory, where the paper has
//! figures. For `g` false the paper's largest depth is 32,768. What its checker would need at
//! 262,144 is eight times as much, since it is linear.

use droste_check::Engine;

use crate::cases::case;
use crate::papers::resource_flip;
use crate::{Ask, Case, Goal, Setup, arbiter, flip, quicksort};

/// All of them.
pub fn cases(cases: &mut Vec<Case>) {
    figure5(cases);
    patterns(cases);
    arbiters(cases);
    sizes(cases);
}

fn figure5(cases: &mut Vec<Case>) {
    use flip::{Start, program};
    let goal = |seconds: f64, megabytes: f64| Goal {
        cpu: Some(seconds / 50.0),
        megabytes: Some(megabytes / 4.0),
        ..Goal::default()
    };
    for depth in [8, 16, 32, 64, 128, 256, 512, 1024].map(|k| k * 1024) {
        let quick = depth <= 16384;
        cases.push(Case {
            paper: resource_flip("false", depth),
            quick,
            goal: match depth {
                32_768 => goal(17.2, 295.0),
                262_144 => goal(8.0 * 17.2, 8.0 * 295.0),
                _ => Goal::default(),
            },
            ..case(
                "flip-ltl",
                depth,
                Ask::Ltl("G F reach"),
                program(depth, Start::False),
            )
        });
        for trace in [true, false] {
            cases.push(Case {
                expect: "violated",
                paper: resource_flip("undefined", depth),
                quick,
                setup: Setup {
                    trace,
                    ..Setup::default()
                },
                goal: match depth {
                    // The paper's checker writes nothing down.
                    262_144 if !trace => goal(19.0, 587.0),
                    _ => Goal::default(),
                },
                ..case(
                    "flip-ltl-g-undefined",
                    depth,
                    Ask::Ltl("G F reach"),
                    program(depth, Start::Undefined),
                )
            });
        }
    }
    // Fig. 1(a,b).
    let text = include_str!("../../../examples/forever.bp");
    for (ask, expect) in [
        (Ask::Ltl("G F reach"), "violated"),
        (Ask::FiniteStack("G F reach"), "holds"),
    ] {
        cases.push(Case {
            expect,
            quick: true,
            ..case("flip-abstract", "-", ask, text.to_owned())
        });
    }
}

/// Recurrence, response and precedence.
fn patterns(cases: &mut Vec<Case>) {
    use quicksort::{Partition, program};
    for bits in [3, 4, 5] {
        let quick = bits < 5;
        for (ask, expect) in [
            (Ask::Ltl("G F in(quicksort)"), "violated"),
            (Ask::Ltl("G (in(quicksort) -> F in(main))"), "holds"),
            (Ask::Ltl("!at(main:DONE) W in(quicksort)"), "holds"),
        ] {
            cases.push(Case {
                expect,
                quick,
                ..case("quicksort-ltl", bits, ask, program(bits, Partition::Fixed))
            });
        }
    }
    let depth = 16_384;
    let text = flip::program(depth, flip::Start::False);
    for (formula, expect) in [
        ("G F in(main)", "holds"),
        ("G (in(flip) -> F reach)", "holds"),
        ("!reach W in(flip)", "holds"),
        ("G (reach -> X (!reach U in(flip)))", "holds"),
        ("F G in(flip)", "violated"),
    ] {
        cases.push(Case {
            expect,
            quick: true,
            ..case("flip-patterns", depth, Ask::Ltl(formula), text.clone())
        });
    }
}

/// Many variables: too many states to look at one by one.
fn arbiters(cases: &mut Vec<Case>) {
    for clients in [4, 8, 16, 32] {
        for (fault, expect) in [(false, "holds"), (true, "violated")] {
            for engine in [Engine::Explicit, Engine::Bdd, Engine::Auto] {
                cases.push(Case {
                    expect,
                    // What it is there to show.
                    may_give_up: engine == Engine::Explicit && clients > 4,
                    quick: clients <= 8 && engine != Engine::Explicit,
                    setup: Setup {
                        engine,
                        ..Setup::default()
                    },
                    ..case(
                        if fault { "arbiter-unfair" } else { "arbiter" },
                        clients,
                        Ask::Ltl(arbiter::RESPONSE),
                        arbiter::program(clients, fault),
                    )
                });
            }
        }
    }
}

/// A formula with k eventualities in turn: its negation's automaton has k + 1 states.
fn sizes(cases: &mut Vec<Case>) {
    const FORMULAS: [&str; 5] = [
        "F (reach & X F reach)",
        "F (reach & X F (reach & X F reach))",
        "F (reach & X F (reach & X F (reach & X F (reach & X F reach))))",
        "F (reach & X F (reach & X F (reach & X F (reach & X F (reach & X F (reach & X F (reach & X F (reach & X F reach))))))))",
        "G (reach -> X F (reach & X F (reach & X F (reach & X F reach))))",
    ];
    let text = flip::program(4096, flip::Start::False);
    for formula in FORMULAS {
        cases.push(Case {
            quick: true,
            ..case("flip-automaton", 4096, Ask::Ltl(formula), text.clone())
        });
    }
}
