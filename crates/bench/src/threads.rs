//! What is measured of programs with threads: the Bluetooth driver and the Fibonacci programs, by
//! each engine; and threads that call themselves, with any number of switches.
//!
//! The goal is that `bdd` takes about as long as `explicit` where the data is narrow, and answers
//! where it is wide.

use droste_check::Engine;

use crate::bluetooth::{self, Begin, Version};
use crate::cases::{case, within};
use crate::fibonacci::{self, Form, Question};
use crate::{Ask, Case, Goal, Setup, recursion};

const ENGINES: [Engine; 4] = [
    Engine::Explicit,
    Engine::Bdd,
    Engine::Auto,
    Engine::Calculus,
];

/// The cases of this module.
pub fn cases(cases: &mut Vec<Case>) {
    drivers(cases);
    sums(cases);
    recursive(cases);
}

/// One question to all engines. Those that need not answer are there to show what is not feasible.
fn ask(
    cases: &mut Vec<Case>,
    (family, name): (&'static str, &str),
    ask: Ask,
    (text, expect): (&str, &'static str),
    wide: bool,
) {
    for engine in ENGINES {
        cases.push(Case {
            setup: Setup {
                engine,
                ..Setup::default()
            },
            expect,
            may_give_up: engine == Engine::Calculus || wide && engine == Engine::Explicit,
            goal: if matches!(engine, Engine::Bdd | Engine::Auto) {
                within(2.0)
            } else {
                Goal::default()
            },
            quick: engine == Engine::Bdd,
            ..case(family, name, ask, text.to_owned())
        });
    }
}

fn drivers(cases: &mut Vec<Case>) {
    for (adders, stoppers) in [(1, 1), (2, 1), (2, 2)] {
        for (bits, begin) in [(3, Begin::One), (8, Begin::Any), (16, Begin::Any)] {
            let shape = bluetooth::Shape {
                adders,
                stoppers,
                bits,
                begin,
                version: Version::Correct,
                recursive: false,
            };
            let name = format!("{adders} and {stoppers}, {bits} bits");
            let text = bluetooth::program(&shape);
            for question in [Ask::Switches(4), Ask::Switches(6), Ask::Rounds(3)] {
                let family = ("bluetooth-threads", name.as_str());
                ask(cases, family, question, (&text, "holds"), bits > 3);
            }
        }
    }
}

fn sums(cases: &mut Vec<Case>) {
    for (threads, additions, form, name) in [
        (2, 5, Form::Bits, "2 threads, bits"),
        (2, 5, Form::Loop, "2 threads, loop"),
        (2, 5, Form::Recursive, "2 threads, recursive"),
        (3, 3, Form::Loop, "3 threads, loop"),
        (3, 3, Form::Recursive, "3 threads, recursive"),
    ] {
        for (question, what) in [(Question::Larger, "larger"), (Question::Odd, "odd")] {
            if form == Form::Bits && question == Question::Larger {
                // Additions bit by bit are interrupted, and come to other sums.
                continue;
            }
            let shape = fibonacci::Shape {
                threads,
                additions,
                bits: 8,
                form,
                question,
            };
            let name = format!("{name}, {what}");
            let text = fibonacci::program(&shape);
            for bound in [Ask::Switches(4), Ask::Rounds(2)] {
                let wide = question == Question::Odd;
                ask(cases, ("fibonacci", &name), bound, (&text, "holds"), wide);
            }
        }
    }
}

/// Threads that call themselves, with any number of switches.
fn recursive(cases: &mut Vec<Case>) {
    let mut any = |name: &str, text: &str| {
        for engine in [Engine::Explicit, Engine::Auto, Engine::Bdd] {
            cases.push(Case {
                setup: Setup {
                    engine,
                    ..Setup::default()
                },
                expect: "holds",
                may_give_up: engine == Engine::Bdd,
                goal: if engine == Engine::Bdd {
                    Goal::default()
                } else {
                    within(2.0)
                },
                quick: engine == Engine::Explicit,
                ..case("recursive-threads", name, Ask::Default, text.to_owned())
            });
        }
    };
    for (shape, name) in recursion::SHAPES {
        for threads in [2, 3] {
            let text = recursion::program(shape, threads, false);
            any(&format!("{name}, {threads} threads"), &text);
        }
    }
    for (adders, stoppers) in [(1, 1), (2, 1)] {
        let shape = bluetooth::Shape {
            adders,
            stoppers,
            bits: 3,
            begin: Begin::One,
            version: Version::Correct,
            recursive: true,
        };
        let text = bluetooth::program(&shape);
        any(&format!("driver, {adders} and {stoppers}"), &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::verdict;

    /// What the driver does with one adder and one or two stoppers.
    #[test]
    fn the_driver_fails_as_it_should() {
        let shape = |version, stoppers, recursive| bluetooth::Shape {
            adders: 1,
            stoppers,
            bits: 3,
            begin: Begin::One,
            version,
            recursive,
        };
        for recursive in [false, true] {
            for (version, stoppers, switches, expect) in [
                (Version::LooksFirst, 1, 1, "holds"),
                (Version::LooksFirst, 1, 2, "violated"),
                (Version::GivesBackTwice, 1, 4, "holds"),
                (Version::GivesBackTwice, 2, 3, "violated"),
                (Version::Correct, 2, 4, "holds"),
            ] {
                let text = bluetooth::program(&shape(version, stoppers, recursive));
                assert_eq!(verdict(&text, &Ask::Switches(switches)), expect, "{text}");
            }
        }
    }

    #[test]
    fn taking_turns_gives_the_largest_numbers() {
        assert_eq!(fibonacci::largest(2, 3), 21);
        assert_eq!(fibonacci::largest(2, 5), 144);
        for form in [Form::Loop, Form::Recursive] {
            let program = |question| {
                fibonacci::program(&fibonacci::Shape {
                    threads: 2,
                    additions: 2,
                    bits: 8,
                    form,
                    question,
                })
            };
            let largest = program(Question::Largest);
            assert_eq!(verdict(&largest, &Ask::Rounds(1)), "holds");
            assert_eq!(verdict(&largest, &Ask::Rounds(2)), "violated");
            assert_eq!(
                verdict(&program(Question::Larger), &Ask::Rounds(3)),
                "holds"
            );
        }
    }
}
