//! Programs with threads as a formula of the fixed-point calculus, for a number of switches or rounds.
//!
//! A formula that is true says that there is a run, not which: the schedule comes from the symbolic engine.

use std::time::Instant;

use droste_calculus::{Unanswered, load_text};
use droste_formula::{Bound, Relations};
use droste_program::liveness::AllLive;

use super::search::Found;
use super::{Answer, Asked, LevelProgress, Levels, symbolic};
use crate::calculus::{answer_stats, solve};
use crate::{Algorithm, Fault, Options};

/// The formula, with everything it needs.
pub(super) fn formula(asked: &Asked<'_>, options: &Options<'_>) -> Result<Relations, Fault> {
    let refused = |reason: &str| Err(Fault::Refused(reason.to_owned()));
    let Some(most) = asked.most else {
        return refused(
            "the calculus engine needs a bound on the number of switches or rounds: --contexts K or --rounds R",
        );
    };
    if let Algorithm::Own(source) = &options.algorithm {
        return Err(Fault::Refused(format!(
            "`{}` is for programs without threads; --emit formula prints the formula for threads, to be changed and solved",
            source.name()
        )));
    }
    let question = droste_formula::Question {
        targets: asked.nodes,
        violations: asked.default,
        live: &AllLive,
    };
    let bound = match asked.levels {
        Levels::Switches => Bound::Switches(most),
        Levels::Rounds => Bound::Rounds(most),
    };
    droste_formula::concurrent(asked.program, &question, bound).map_err(Fault::Refused)
}

pub(super) fn search(
    asked: &Asked<'_>,
    options: &Options<'_>,
    progress: LevelProgress<'_>,
) -> Result<Answer, Fault> {
    let start = Instant::now();
    let relations = formula(asked, options)?;
    let theory = load_text("<threads>", relations.text);
    if theory.has_errors() {
        return Err(Fault::Wrong(theory.messages(false, false)));
    }
    let (answer, statistics) = solve(theory, relations.bits, options);
    let found = match answer {
        Ok(Some(false)) => Found::Nothing(false),
        Ok(Some(true)) => {
            let mut limits = options.limits.clone();
            if let Some(timeout) = &mut limits.timeout {
                *timeout = timeout.saturating_sub(start.elapsed());
            }
            match symbolic::search(asked, &limits, options.reporter, progress).found {
                Found::Nothing(_) => {
                    return Err(Fault::Wrong(
                        "the formula is true, but there is no run".to_owned(),
                    ));
                }
                found => found,
            }
        }
        Err(Unanswered::Stopped(reason)) => Found::Stopped(reason, None),
        Ok(None) | Err(_) => {
            return Err(Fault::Wrong("the formula has no answer".to_owned()));
        }
    };
    Ok(Answer {
        found,
        stats: crate::Stats::default(),
        symbolic: Some(answer_stats(&statistics)),
        raced: false,
    })
}
