//! What is measured of `--engine wpds`: the programs of the symbolic engine, by path expressions,
//! by chaotic iteration, and by both side by side (the FWPDS paper, section 5.2 and Table 2).

use droste_check::{Engine, Method};

use crate::{Case, Goal, Setup};

/// The families: loops, recursion, many procedures, many variables.
const FAMILIES: [&str; 7] = [
    "adder",
    "counter",
    "driver-large",
    "fibonacci-turns",
    "levels",
    "recurse",
    "terminator",
];

/// The cases of this module: each stands beside one of `bdd`. Only the verdict is asked for,
/// because runs come from the symbolic engine.
pub fn cases(cases: &mut Vec<Case>) {
    let beside = cases.iter().filter(|case| {
        case.setup.engine == Engine::Bdd && FAMILIES.contains(&case.family) && case.setup.trace
    });
    let of = |case: &Case, method: Option<Method>| Case {
        setup: Setup {
            engine: Engine::Wpds,
            method,
            trace: false,
            ..case.setup
        },
        may_give_up: true,
        goal: Goal::default(),
        paper: String::new(),
        ..case.clone()
    };
    let methods = [None, Some(Method::Paths), Some(Method::Chaotic)];
    let new: Vec<Case> = beside
        .flat_map(|case| methods.map(|method| of(case, method)))
        .collect();
    cases.extend(new);
}
