//! From a question about a program to an answer one can rely on.
//!
//! [`check`] is the only way from the one to the other. The question is prepared once (`prepared`):
//! names are resolved, the automaton is made, the program is cleaned and compiled. An engine
//! searches, or two of them race (`race`). The run that is found becomes a concrete execution of
//! the program as it was written, which is replayed by an interpreter that shares nothing with the
//! engines. Only then is a violation reported. `sequential` drives this for programs without
//! threads, `threads` for programs with.
//!
//! What keeps it honest: `tests` compares every engine with naive oracles on random programs, in both
//! directions.

mod calculus;
mod critical;
mod explicit;
mod ltl;
mod options;
mod prepared;
mod property;
mod race;
mod report;
mod sequential;
mod symbolic;
mod threads;
mod vacuity;
mod wpds;

use std::time::Instant;

use droste_program::Program;

pub use calculus::{Algorithm, formula};
pub use critical::{CriticalLabel, Fate};
pub use droste_base::Runs;
pub use droste_explicit::{Order, Stats};
pub use droste_formula::Algorithm as Formulas;
pub use droste_passes::Config as Passes;
pub use droste_program::concurrent::Run;
pub use droste_program::schedule::{Bound, Levels};
pub use droste_symbolic::{Stats as SymbolicStats, Tuning};
pub use droste_threads::NotRebuilt;
pub use droste_wpds::Method;
pub use ltl::{Automaton, Ltl};
pub use options::{Engine, EngineId, Evidence, Options};
pub use property::{ERROR_LABELS, Property};
pub use report::{Effort, Explored, Fault, Report, Violators};
pub use threads::rebuild;
pub use vacuity::{StopKind, StopPlace, Vacuity};
pub use wpds::Weighing;

use prepared::Prepared;
use report::Halt;

/// Answers whether `program` has the property. If it has threads, the answer is about the bound in
/// the options.
pub fn check(
    program: &Program,
    property: &Property,
    options: &Options<'_>,
) -> Result<Report, Fault> {
    let start = Instant::now();
    let answer = Prepared::new(program, property, options).and_then(|prepared| {
        if program.is_concurrent() {
            threads::answer(&prepared, options)
        } else {
            sequential::answer(&prepared, options)
        }
    });
    let mut report = match answer {
        Ok(report) => report,
        Err(Halt::Stopped(reason)) => Report {
            explored: Explored::not_yet(program, options.bound),
            ..Report::stopped(options.engine.first(), reason)
        },
        Err(Halt::Fault(fault)) => return Err(fault),
    };
    report.time = start.elapsed();
    Ok(report)
}
