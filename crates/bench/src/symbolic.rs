//! What is measured of the symbolic engines.
//!
//! [`YARDSTICKS`] are user seconds that GETAFIX with MUCKE takes for programs of the same
//! description as those in [`crate::yardsticks`], the better of its algorithms EF and EF-opt. They
//! are run without the cleaning passes, which alone decide three of the four families.

use droste_check::Engine;

use crate::cases::{case, within};
use crate::driver_large::{self, SEEDS, Shape as Large};
use crate::papers::{GETAFIX_BLUETOOTH, GETAFIX_SEQUENTIAL};
use crate::safe_stack::{self, Loops, Version};
use crate::sorting::{self, Place};
use crate::terminator::{self, Dead, Flags, Shape as Loop};
use crate::turns::{self, Turn};
use crate::yardsticks::{Error, adder, counter, levels, recurse};
use crate::{Ask, Case, Goal, Setup};

/// Family, size, and what GETAFIX takes.
pub const YARDSTICKS: [(&str, usize, Option<f64>); 11] = [
    ("counter", 12, Some(2.2)),
    ("counter", 14, Some(9.5)),
    ("levels", 200, Some(3.8)),
    ("levels", 400, Some(21.7)),
    ("levels", 2_500, None),
    ("levels", 5_000, None),
    ("levels", 10_000, None),
    ("recurse", 12, Some(0.5)),
    ("recurse", 16, Some(6.6)),
    ("adder", 11, Some(3.2)),
    ("adder", 13, Some(15.7)),
];

/// How many times faster than the yardstick each engine is to be.
const FACTORS: [(Engine, f64); 2] = [(Engine::Bdd, 20.0), (Engine::Calculus, 3.0)];

/// Memory for the yardsticks, in MB.
const MEMORY: f64 = 200.0;

fn engine(engine: Engine) -> Setup {
    Setup {
        engine,
        ..Setup::default()
    }
}

/// The cases of this module.
pub fn cases(cases: &mut Vec<Case>) {
    yardsticks(cases);
    twins(cases);
    turns(cases);
    sortings(cases);
    large(cases);
    terminators(cases);
    bluetooth(cases);
    safe_stacks(cases);
}

fn yardsticks(cases: &mut Vec<Case>) {
    for (family, size, yardstick) in YARDSTICKS {
        let program = match family {
            "counter" => counter,
            "levels" => levels,
            "recurse" => recurse,
            _ => adder,
        };
        for (who, factor) in FACTORS {
            if yardstick.is_none() && who == Engine::Calculus {
                continue;
            }
            cases.push(Case {
                setup: Setup {
                    passes: false,
                    ..engine(who)
                },
                goal: Goal {
                    // What has no yardstick is to be a matter of seconds.
                    cpu: Some(yardstick.map_or(5.0, |seconds| seconds / factor)),
                    megabytes: Some(MEMORY).filter(|_| who == Engine::Bdd && yardstick.is_some()),
                    ..Goal::default()
                },
                paper: yardstick.map_or(String::new(), |seconds| format!("getafix_s {seconds}")),
                quick: who == Engine::Bdd && size != 14 && size <= 400,
                ..case(family, size, Ask::Default, program(size, Error::Safe))
            });
        }
    }
}

/// Yardsticks that are violated, after everything else has been gone through; with the run, and
/// without; and their safe twins. (Those of counters are among the yardsticks.)
fn twins(cases: &mut Vec<Case>) {
    for (family, size, _) in YARDSTICKS {
        let program = match family {
            "counter" => counter,
            "recurse" => recurse,
            "adder" => adder,
            _ => continue,
        };
        let setup = |trace| Setup {
            passes: false,
            trace,
            ..engine(Engine::Bdd)
        };
        let twin = match family {
            "recurse" => Some("from the largest"),
            "adder" => Some("all bits"),
            _ => None,
        };
        if let Some(twin) = twin {
            let name = format!("{size} {twin}");
            cases.push(Case {
                setup: setup(true),
                ..case(family, name, Ask::Default, program(size, Error::Twin))
            });
        }
        for trace in [true, false] {
            cases.push(Case {
                setup: setup(trace),
                expect: "violated",
                ..case(
                    family,
                    format!("{size} violated"),
                    Ask::Default,
                    program(size, Error::Unsafe),
                )
            });
        }
    }
}

fn turns(cases: &mut Vec<Case>) {
    for bits in [5, 6, 7, 8] {
        for (turn, name) in [(Turn::Once, "once"), (Turn::Recursive, "recursive")] {
            for who in [Engine::Bdd, Engine::Calculus] {
                cases.push(Case {
                    setup: engine(who),
                    may_give_up: who == Engine::Calculus,
                    quick: bits == 5,
                    ..case(
                        "fibonacci-turns",
                        format!("{bits} {name}"),
                        Ask::Default,
                        turns::program(bits, turn, false),
                    )
                });
            }
        }
    }
}

/// The same loop in `main` and in procedures that are called in one place.
fn sortings(cases: &mut Vec<Case>) {
    for (place, name) in [
        (Place::Main, "in main"),
        (Place::Procedure, "in procedures"),
    ] {
        for who in [Engine::Bdd, Engine::Calculus, Engine::Wpds, Engine::Auto] {
            cases.push(Case {
                setup: engine(who),
                goal: within(1.0),
                quick: who == Engine::Bdd,
                ..case(
                    "sorting",
                    format!("8 numbers of 3 bits, {name}"),
                    Ask::Default,
                    sorting::program(8, 3, place),
                )
            });
        }
    }
}

fn large(cases: &mut Vec<Case>) {
    let columns = ["loc", "globals", "procedures", "ef_s", "moped1_s"];
    let row = [("suite", "iscsi positive (16)")];
    let paper = GETAFIX_SEQUENTIAL.find(&row, &columns).unwrap_or_default();
    // Most engines are asked about the first one only.
    let programs = SEEDS.iter().enumerate();
    for (i, &seed, bug) in programs.flat_map(|(i, seed)| [(i, seed, false), (i, seed, true)]) {
        let shape = Large {
            lines: 10_000,
            procedures: 150,
            globals: 18,
            locals: 18,
            bug,
            seed,
        };
        let name = if bug { "with a bug" } else { "without" };
        for who in [Engine::Bdd, Engine::Calculus] {
            if i > 0 && who == Engine::Calculus {
                continue;
            }
            cases.push(Case {
                setup: engine(who),
                expect: if bug { "violated" } else { "holds" },
                may_give_up: who == Engine::Calculus,
                goal: if who == Engine::Bdd {
                    within(10.0)
                } else {
                    Goal::default()
                },
                paper: paper.clone(),
                ..case(
                    "driver-large",
                    format!("{name}, {}", i + 1),
                    Ask::Default,
                    driver_large::program(&shape),
                )
            });
        }
    }
}

fn terminators(cases: &mut Vec<Case>) {
    for (dead, form) in [(Dead::Iterative, "iterative"), (Dead::Schoose, "schoose")] {
        let name = format!("terminator-a {form}");
        let columns = ["reachable", "bdd_nodes", "ef_s", "ef_opt_s", "bebop_s"];
        let paper = GETAFIX_SEQUENTIAL
            .find(&[("suite", &name)], &columns)
            .unwrap_or_default();
        for flags in [Flags::Chain, Flags::Ring] {
            for terminates in [false, true] {
                let shape = Loop {
                    predicates: 33,
                    globals: 9,
                    dead,
                    flags,
                    terminates,
                };
                let parameter = format!(
                    "{form}, {}{}",
                    if terminates { "terminates" } else { "does not" },
                    if flags == Flags::Ring { ", ring" } else { "" }
                );
                for who in [Engine::Bdd, Engine::Calculus] {
                    if who == Engine::Calculus && flags == Flags::Ring {
                        continue;
                    }
                    cases.push(Case {
                        setup: engine(who),
                        expect: if terminates { "holds" } else { "violated" },
                        may_give_up: who == Engine::Calculus,
                        goal: if who == Engine::Bdd {
                            within(60.0)
                        } else {
                            Goal::default()
                        },
                        paper: paper.clone(),
                        ..case(
                            "terminator",
                            &parameter,
                            Ask::Default,
                            terminator::program(&shape),
                        )
                    });
                }
            }
        }
    }
}

/// Adders, stoppers, most switches in Fig. 3, with how many the bug shows, and the program.
const BLUETOOTH: [(usize, usize, usize, Option<usize>, &str); 4] = [
    (
        1,
        1,
        6,
        None,
        include_str!("../../../corpus/bluetooth-1-1.bp"),
    ),
    (
        1,
        2,
        6,
        Some(3),
        include_str!("../../../corpus/bluetooth-1-2.bp"),
    ),
    (
        2,
        1,
        6,
        Some(4),
        include_str!("../../../corpus/bluetooth-2-1.bp"),
    ),
    (
        2,
        2,
        4,
        Some(3),
        include_str!("../../../corpus/bluetooth-2-2.bp"),
    ),
];

fn bluetooth(cases: &mut Vec<Case>) {
    for (adders, stoppers, most, first, text) in BLUETOOTH {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let name = format!(
            "{adders} adder{} {stoppers} stopper{}",
            plural(adders),
            plural(stoppers)
        );
        for switches in 1..=most {
            let key = switches.to_string();
            let row = [
                ("configuration", name.as_str()),
                ("context_switches", key.as_str()),
            ];
            let paper = GETAFIX_BLUETOOTH.find(&row, &["reachable", "set_size", "seconds"]);
            let bad = first.is_some_and(|first| first <= switches);
            for who in [Engine::Bdd, Engine::Explicit, Engine::Calculus] {
                cases.push(Case {
                    setup: engine(who),
                    expect: if bad { "violated" } else { "holds" },
                    paper: paper.clone().unwrap_or_default(),
                    quick: who == Engine::Bdd && switches == 3,
                    ..case("bluetooth", &name, Ask::Switches(switches), text.to_owned())
                });
            }
        }
    }
}

/// Formulas with many shared bits. MUCKE takes 1.0 to 6.4 s for those that GETAFIX writes for
/// programs of this kind and one round, and 20 to 109 s for two. The goal is a third of that.
fn safe_stacks(cases: &mut Vec<Case>) {
    let questions = [
        (Ask::Switches(1), None, ""),
        (Ask::Switches(2), None, ""),
        (Ask::Rounds(1), Some(0.3), "1.0 to 6.4"),
        (Ask::Rounds(2), Some(6.6), "20 to 109"),
    ];
    for (loops, name) in [
        (Loops::Kept, "loops"),
        (Loops::Unrolled(2), "unrolled twice"),
        (Loops::Unrolled(3), "unrolled"),
    ] {
        for (question, seconds, mucke) in questions {
            for who in [Engine::Calculus, Engine::Bdd, Engine::Explicit] {
                let goal = seconds.filter(|_| who == Engine::Calculus);
                cases.push(Case {
                    setup: engine(who),
                    goal: goal.map_or(Goal::default(), within),
                    paper: format!("mucke_s {mucke}"),
                    quick: question == Ask::Switches(1),
                    may_give_up: who != Engine::Explicit,
                    ..case(
                        "safe-stack",
                        name,
                        question,
                        safe_stack::program(3, loops, Version::Careful),
                    )
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_row_of_the_paper() {
        let mut all = Vec::new();
        cases(&mut all);
        for case in all {
            let ours = case.family == "fibonacci-turns"
                || case.family == "sorting"
                || case.parameter.contains(' ') && matches!(case.family, "recurse" | "adder")
                || case.parameter.ends_with("violated");
            let other = ours || case.family == "levels" && case.goal.megabytes.is_none();
            assert!(other || !case.paper.is_empty(), "{}", case.name());
        }
    }
}
