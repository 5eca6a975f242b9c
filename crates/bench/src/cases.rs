//! Everything that is measured.

use crate::driver::{self, Shape};
use crate::papers::{VERA_DRIVERS, VERA_QUICKSORT, VERA_RIO, resource_flip};
use crate::{
    Ask, Case, Goal, Setup, flip, locks, quicksort, raw, symbolic, temporal, threads, weighted,
    wide,
};

/// All cases, family by family.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    quicksorts(&mut cases);
    drivers(&mut cases);
    lockings(&mut cases);
    flips(&mut cases);
    raws(&mut cases);
    ablations(&mut cases);
    symbolic::cases(&mut cases);
    weighted::cases(&mut cases);
    temporal::cases(&mut cases);
    threads::cases(&mut cases);
    cases
}

/// A case in the usual setup, without goals.
pub(crate) fn case(
    family: &'static str,
    parameter: impl std::fmt::Display,
    ask: Ask,
    text: String,
) -> Case {
    Case {
        family,
        parameter: format!("{parameter}"),
        ask,
        setup: Setup::default(),
        text,
        expect: "holds",
        may_give_up: false,
        goal: Goal::default(),
        paper: String::new(),
        quick: false,
    }
}

/// A goal for the time alone.
pub(crate) fn within(seconds: f64) -> Goal {
    Goal {
        seconds: Some(seconds),
        ..Goal::default()
    }
}

fn quicksorts(cases: &mut Vec<Case>) {
    use quicksort::{Partition, program};
    for bits in [4, 6, 8, 10, 16, 24, 32] {
        let text = program(bits, Partition::Buggy);
        let key = bits.to_string();
        let columns = ["vera_s", "vera_visited", "moped_s"];
        let paper = VERA_QUICKSORT.find(&[("bits", &key)], &columns);
        cases.push(Case {
            expect: "violated",
            // The paper's 95, for every number of bits.
            goal: Goal {
                path_edges: Some(95),
                ..within(0.5)
            },
            paper: paper.unwrap_or_default(),
            quick: true,
            ..case(
                "quicksort",
                bits,
                Ask::Repeat("quicksort:ENTRY"),
                text.clone(),
            )
        });
        cases.push(Case {
            expect: "violated",
            goal: Goal {
                path_edges: Some(95),
                ..within(0.5)
            },
            quick: true,
            ..case("quicksort", bits, Ask::Reach("main:DONE"), text)
        });
    }
    // No early end here: the whole space.
    for bits in [3, 4, 5] {
        let text = program(bits, Partition::Fixed);
        let ask = Ask::Repeat("quicksort:ENTRY");
        cases.push(Case {
            quick: bits < 5,
            ..case("quicksort-fixed", bits, ask, text)
        });
    }
}

fn drivers(cases: &mut Vec<Case>) {
    for shape in driver::SHAPES {
        let columns = ["lines", "globals", "locals", "vera_s", "visited", "moped_s"];
        let paper = VERA_DRIVERS.find(&[("example", shape.name)], &columns);
        cases.push(Case {
            expect: if shape.bug { "violated" } else { "holds" },
            goal: within(10.0),
            paper: paper.unwrap_or_default(),
            quick: shape.lines < 1000,
            ..case("driver", shape.name, Ask::Default, driver::program(&shape))
        });
    }
    let Some(large) = driver::named("p-srdriver") else {
        return;
    };
    let buggy = Shape { bug: true, ..large };
    cases.push(Case {
        expect: "violated",
        goal: within(10.0),
        quick: true,
        ..case(
            "driver",
            "p-srdriver with a bug",
            Ask::Default,
            driver::program(&buggy),
        )
    });
    // What the number of globals does, and the choice of the window.
    for globals in [4, 6, 8] {
        let shape = Shape { globals, ..large };
        let parameter = format!("p-srdriver {globals} globals");
        cases.push(Case {
            may_give_up: true,
            ..case(
                "driver-globals",
                parameter,
                Ask::Default,
                driver::program(&shape),
            )
        });
    }
    for window in [4, 8] {
        let shape = Shape { window, ..large };
        let parameter = format!("p-srdriver window {window}");
        cases.push(Case {
            may_give_up: true,
            ..case(
                "driver-window",
                parameter,
                Ask::Default,
                driver::program(&shape),
            )
        });
    }
}

fn lockings(cases: &mut Vec<Case>) {
    use locks::{
        DOUBLE_LOCK, RELEASED, Version, WATCHED_DOUBLE_LOCK, WATCHED_RELEASED, program, watched,
    };
    let paper = |property, bits: u32| {
        let key = bits.to_string();
        let columns = ["vera_s", "vera_visited"];
        VERA_RIO
            .find(&[("property", property), ("bits", &key)], &columns)
            .unwrap_or_default()
    };
    for bits in [2, 4, 8, 16, 32] {
        let text = program(bits, Version::Buggy);
        cases.push(Case {
            expect: "violated",
            goal: Goal {
                path_edges: Some(100),
                ..within(0.5)
            },
            paper: paper("double_lock", bits),
            quick: true,
            ..case("locks", bits, Ask::Monitor(DOUBLE_LOCK), text)
        });
    }
    for bits in 2..=8 {
        let text = program(bits, Version::Fixed);
        cases.push(Case {
            goal: within(60.0),
            paper: paper("released", bits),
            quick: bits <= 4,
            ..case("locks-fixed", bits, Ask::Monitor(RELEASED), text)
        });
    }
    // Four integers that matter together, and a bug that is not on the first path.
    for bits in [2, 4, 8, 12] {
        cases.push(Case {
            expect: "violated",
            paper: paper("double_lock", bits),
            quick: bits <= 8,
            ..case(
                "locks-watched",
                bits,
                Ask::Monitor(WATCHED_DOUBLE_LOCK),
                watched(bits, Version::Buggy),
            )
        });
    }
    for bits in [2, 3] {
        cases.push(Case {
            paper: paper("released", bits),
            quick: bits <= 2,
            ..case(
                "locks-watched-fixed",
                bits,
                Ask::Monitor(WATCHED_RELEASED),
                watched(bits, Version::Fixed),
            )
        });
    }
}

fn flips(cases: &mut Vec<Case>) {
    use flip::{AGF_REACH, Start, program};
    for depth in [1, 2, 4, 8, 16, 32, 64, 128, 256].map(|k| k * 1024) {
        let quick = depth <= 16384;
        let text = program(depth, Start::False);
        cases.push(Case {
            quick,
            ..case("flip-reach", depth, Ask::Reach("BAD"), text.clone())
        });
        cases.push(Case {
            expect: "violated",
            quick,
            ..case("flip-repeat", depth, Ask::Repeat("reach"), text.clone())
        });
        if depth > 65536 {
            cases.push(Case {
                setup: Setup {
                    trace: false,
                    ..Setup::default()
                },
                expect: "violated",
                ..case("flip-repeat", depth, Ask::Repeat("reach"), text.clone())
            });
        } else {
            cases.push(Case {
                paper: resource_flip("false", depth),
                quick,
                ..case("flip-agf", depth, Ask::Monitor(AGF_REACH), text)
            });
        }
        cases.push(Case {
            expect: "violated",
            paper: resource_flip("undefined", depth),
            quick,
            ..case(
                "flip-agf-g-undefined",
                depth,
                Ask::Monitor(AGF_REACH),
                program(depth, Start::Undefined),
            )
        });
    }
}

fn raws(cases: &mut Vec<Case>) {
    let goal = Goal {
        rate: Some(2e6),
        bytes: Some(64.0),
        ..Goal::default()
    };
    for (size, quick) in [(40, true), (140, false)] {
        cases.push(Case {
            goal,
            quick,
            ..case(
                "raw-counters",
                size,
                Ask::Default,
                raw::counters(size, size, size),
            )
        });
    }
    for (depth, quick) in [(60, true), (200, false)] {
        let text = raw::recursion(depth, 200);
        cases.push(Case {
            goal,
            quick,
            ..case("raw-recursion", depth, Ask::Default, text)
        });
    }
    cases.push(Case {
        setup: Setup {
            bfs: true,
            ..Setup::default()
        },
        ..case(
            "raw-counters",
            140,
            Ask::Default,
            raw::counters(140, 140, 140),
        )
    });
}

fn ablations(cases: &mut Vec<Case>) {
    use wide::Reading;
    let lazy = Setup::default();
    let eager = Setup {
        eager: true,
        ..lazy
    };
    let bare = Setup {
        passes: false,
        ..lazy
    };
    let bare_eager = Setup {
        passes: false,
        ..eager
    };
    for (family, reading) in [("wide", Reading::Once), ("wide-twice", Reading::Twice)] {
        for count in [5, 10, 15, 20] {
            for setup in [lazy, eager, bare, bare_eager] {
                cases.push(Case {
                    setup,
                    may_give_up: count > 15,
                    quick: count <= 10,
                    ..case(family, count, Ask::Default, wide::program(count, reading))
                });
            }
        }
    }
    let bfs = Setup { bfs: true, ..lazy };
    for shape in driver::SHAPES
        .iter()
        .filter(|shape| shape.name != "p-nbebop-test")
    {
        for setup in [bfs, eager, bare] {
            cases.push(Case {
                setup,
                expect: if shape.bug { "violated" } else { "holds" },
                may_give_up: true,
                ..case("driver", shape.name, Ask::Default, driver::program(shape))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for case in all() {
            assert!(seen.insert(case.name()), "{}", case.name());
        }
    }

    #[test]
    fn every_program_loads() {
        for case in all() {
            assert!(crate::measure::load(&case.text).is_ok(), "{}", case.name());
        }
    }
}
