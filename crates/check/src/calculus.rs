//! The question as a formula of the fixed-point calculus.
//!
//! The program becomes relations, an algorithm is a page of formulas over them (`droste-formula`),
//! and `droste-calculus` solves both together. If the formula is true, there is a violation, but
//! the formula does not say which one. The run comes from the symbolic engine; if there were none,
//! the formula would be wrong, and Droste would say so. Unless an algorithm is asked for, one of
//! two begins, and the other joins it if that takes long.
//!
//! What keeps it honest: random programs are compared with an oracle (`tests/engines.rs`), and those with
//! threads with the explicit engine (`tests/calculus_threads.rs`).

use droste_base::{Certificate, Counters, Limits, Progress, Runs, StopReason, Verdict, on_worker};
use droste_calculus::{Action, Round, Solver, Statistics, Theory, Unanswered};
use droste_formula::Relations;
use droste_program::Program;
use droste_program::liveness::AllLive;
use droste_program::schedule::{Bound, ThreadQuery};
use droste_source::SourceFile;

use crate::prepared::Prepared;
use crate::race::{Contender, side_by_side};
use crate::report::{Answer, Halt};
use crate::sequential::Found;
use crate::{Effort, Engine, EngineId, Fault, Options, Property, SymbolicStats, symbolic, threads};

/// The formulas that decide whether a target can be reached.
#[derive(Clone, Debug, Default)]
pub enum Algorithm {
    /// The better one of `ef` and `procedures`: one alone for a while, then both side by side.
    /// Summaries from the entries that are reached may be fewer, those from all entries more regular,
    /// and procedures are then solved one by one; which counts more, the program does not tell.
    /// `procedures` begins, unless there are many of them.
    #[default]
    Better,
    /// One that comes with Droste.
    Named(droste_formula::Algorithm),
    /// Somebody's own: a text that ends in a query. `docs/FORMULAS.md` says what it may rely on.
    Own(SourceFile),
}

impl Algorithm {
    /// The formulas; of two, those that begin.
    fn source(&self, relations: &Relations) -> SourceFile {
        match self {
            Algorithm::Better => named(first(relations), relations),
            Algorithm::Named(algorithm) => named(*algorithm, relations),
            Algorithm::Own(source) => source.clone(),
        }
    }
}

fn named(algorithm: droste_formula::Algorithm, relations: &Relations) -> SourceFile {
    SourceFile::new(format!("{algorithm}.mu"), algorithm.text(relations))
}

/// The first algorithm takes so many steps of diagram operations before the second begins, too.
const TRIAL: u64 = 400_000;

/// With more procedures than this, `ef` begins: a predicate for each costs more than it brings.
const MANY_PROCEDURES: usize = 100;

/// Of `ef` and `procedures`, the one that begins.
fn first(relations: &Relations) -> droste_formula::Algorithm {
    if relations.procedures.len() > MANY_PROCEDURES {
        droste_formula::Algorithm::Ef
    } else {
        droste_formula::Algorithm::Procedures
    }
}

/// The complete input for the calculus: relations, algorithm, query. For a program with threads,
/// for the bound in the options.
pub fn formula(
    program: &Program,
    property: &Property,
    options: &Options<'_>,
) -> Result<String, Fault> {
    let mut options = options.clone();
    options.engine = Engine::Calculus;
    let text = Prepared::new(program, property, &options).and_then(|prepared| {
        if program.is_concurrent() {
            let query = threads::query(&prepared, &options)?;
            let most = most_levels(&query, &options)?;
            return Ok(threads_formula(&query, most)?.text);
        }
        let relations = relations(&prepared, &options)?;
        let algorithm = options.algorithm.source(&relations);
        Ok(format!("{}{}", relations.text, algorithm.text()))
    });
    text.map_err(|halt| match halt {
        Halt::Fault(fault) => fault,
        Halt::Stopped(reason) => Fault::Refused(reason.to_string()),
    })
}

/// The cleaned program as relations.
fn relations(prepared: &Prepared<'_>, options: &Options<'_>) -> Result<Relations, Halt> {
    let Some((targets, violations)) = prepared.question.targets() else {
        return Err(Halt::refused(
            "the calculus answers questions about reachability (assertions, --reach); \
             use --engine auto, explicit or bdd for others (wpds, too, for --deadlock)",
        ));
    };
    let (program, live, _) = prepared.for_sets_of_states(options)?;
    let question = droste_formula::Reachability {
        targets,
        violations,
        live,
    };
    Ok(droste_formula::relations(program, &question))
}

/// How many switches or rounds a formula for a program with threads has to look at.
pub(crate) fn most_levels(query: &ThreadQuery<'_>, options: &Options<'_>) -> Result<usize, Halt> {
    let Some(most) = query.most else {
        return Err(Halt::refused(
            "the calculus engine needs a bound on the number of switches or rounds: \
             --contexts K or --rounds R",
        ));
    };
    if let Algorithm::Own(source) = &options.algorithm {
        return Err(Halt::refused(format!(
            "`{}` is for programs without threads; --emit formula prints the formula for threads, \
             to be changed and solved",
            source.name()
        )));
    }
    Ok(most)
}

/// The formula for a program with threads and so many switches or rounds, with everything it needs.
pub(crate) fn threads_formula(query: &ThreadQuery<'_>, level: usize) -> Result<Relations, Halt> {
    let question = droste_formula::Reachability {
        targets: query.target.nodes(),
        violations: query.target.violations(),
        live: &AllLive,
    };
    let bound = Bound::new(query.levels, level);
    droste_formula::concurrent(query.program, &question, bound).map_err(Halt::refused)
}

/// The name under which the algorithm is loaded behind the relations.
const ALGORITHM: &str = "the algorithm";

/// Puts the algorithm behind the relations, so that mistakes are reported where they are.
fn load(relations: &str, algorithm: &SourceFile) -> Theory {
    let text = format!("{relations}\n#load \"{ALGORITHM}\";\n");
    let mut loader = |name: &str| {
        if name == ALGORITHM {
            return Ok(algorithm.clone());
        }
        let read = |file: &str| std::fs::read_to_string(file);
        let text = read(name).or_else(|error| read(&format!("{name}.mu")).map_err(|_| error));
        text.map(|text| SourceFile::new(name, text))
            .map_err(|error| format!("cannot read `{name}`: {error}"))
    };
    droste_calculus::load(SourceFile::new("<relations>", text), &mut loader)
}

/// Answers a question about reachability.
pub(crate) fn search(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
) -> Result<Answer<Found>, Halt> {
    let engine = EngineId::Calculus;
    let relations = match relations(prepared, options) {
        Ok(relations) => relations,
        Err(Halt::Stopped(reason)) => {
            return Ok(Answer::nothing(Verdict::Unknown(reason), engine));
        }
        Err(halt) => return Err(halt),
    };
    let algorithm = options.algorithm.source(&relations);
    let theory = load(&relations.text, &algorithm);
    if theory.has_errors() {
        let messages = theory.messages(false, false);
        return Err(match options.algorithm {
            Algorithm::Better | Algorithm::Named(_) => Halt::broken(messages),
            Algorithm::Own(_) => Halt::refused(format!(
                "`{}` is not an algorithm\n{}",
                algorithm.name(),
                messages.trim_end()
            )),
        });
    }
    let (answer, statistics) = match options.algorithm {
        Algorithm::Better => better(theory, &relations, options)?,
        _ => solve(theory, relations.bits, options),
    };
    let found = match answer {
        Ok(Some(false)) => Verdict::Holds(Certificate::default()),
        Ok(Some(true)) => run(prepared, options, &algorithm)?,
        Err(Unanswered::Stopped(reason)) => Verdict::Unknown(reason),
        unanswered => return Err(refusal(&algorithm, unanswered.err())),
    };
    let effort = Effort::Calculus(answer_stats(&statistics));
    Ok(Answer::new(found, engine, effort))
}

/// The run that the formula says there is.
fn run(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    algorithm: &SourceFile,
) -> Result<Found, Halt> {
    let found = symbolic::search(prepared, options, Runs::All)?.found;
    match (&found, &options.algorithm) {
        (Verdict::Holds(_), Algorithm::Own(source)) => Err(Halt::refused(format!(
            "the query in `{}` is true, but no run reaches a target: the algorithm is wrong",
            source.name()
        ))),
        (Verdict::Holds(_), Algorithm::Better | Algorithm::Named(_)) => Err(Halt::wrong(format!(
            "the formula {} is true, but there is no run",
            algorithm.name()
        ))),
        _ => Ok(found),
    }
}

/// Why an algorithm has no answer, though no limit was reached.
fn refusal(algorithm: &SourceFile, why: Option<Unanswered>) -> Halt {
    let name = algorithm.name();
    Halt::refused(match why {
        Some(Unanswered::Oscillates { period, .. }) => format!(
            "the formulas in `{name}` are not monotone, and a value comes back every {period} \
             rounds: they have no answer"
        ),
        Some(Unanswered::TooDeep) => {
            format!("too many alternating fixpoints are nested in `{name}`")
        }
        Some(Unanswered::Stopped(reason)) => reason.to_string(),
        None => format!(
            "`{name}` has no query: it must end in a formula that is true if a target can be reached"
        ),
    })
}

/// The effort, in the symbolic engine's terms.
pub(crate) fn answer_stats(statistics: &Statistics) -> SymbolicStats {
    SymbolicStats {
        images: statistics.rounds,
        rounds: statistics.rounds,
        variables: statistics.variables.into(),
        peak_nodes: statistics.peak_nodes as u64,
        bytes: statistics.bytes as u64,
        ..SymbolicStats::default()
    }
}

/// The answer, if there is a query, and what it took.
type Solution = (Result<Option<bool>, Unanswered>, Statistics);

impl Contender for Solution {
    fn stopped(&self) -> Option<&StopReason> {
        match &self.0 {
            Err(Unanswered::Stopped(reason)) => Some(reason),
            _ => None,
        }
    }

    fn neither(self, _: Self, reason: StopReason) -> Self {
        (Err(Unanswered::Stopped(reason)), self.1)
    }

    fn raced(&mut self) {}
}

/// The answer of `ef` or of `procedures`: of the one that begins, given as a theory, or of the other.
fn better(begins: Theory, relations: &Relations, options: &Options<'_>) -> Result<Solution, Halt> {
    if let Some(solution) = solve_within(begins, relations.bits, options, Some(TRIAL)) {
        return Ok(solution);
    }
    let first = first(relations);
    let second = match first {
        droste_formula::Algorithm::Ef => droste_formula::Algorithm::Procedures,
        _ => droste_formula::Algorithm::Ef,
    };
    options.log(&format!("{first} takes long: {second} is solved beside it"));
    let theory = |algorithm| load(&relations.text, &named(algorithm, relations));
    let by_first = |limits: &Limits, _: &dyn Fn()| {
        let mut own = options.clone();
        own.limits = limits.clone();
        Ok(solve(theory(first), relations.bits, &own))
    };
    let by_second = |limits: &Limits| {
        let own = Options {
            limits: limits.clone(),
            ..Options::default()
        };
        Ok(solve(theory(second), relations.bits, &own))
    };
    side_by_side(&options.limits, 0, by_first, by_second)
}

/// More BDD variables than an algorithm has for every bit of a state, by far.
const COPIES: usize = 64;

/// The answer of the last query, computed where there is stack enough for diagrams over the states'
/// bits.
pub(crate) fn solve(theory: Theory, bits: u32, options: &Options<'_>) -> Solution {
    match solve_within(theory, bits, options, None) {
        Some(solution) => solution,
        None => unreachable!("there is no bound on steps"),
    }
}

/// The same in so many steps of diagram operations, if there is a bound on them.
fn solve_within(
    theory: Theory,
    bits: u32,
    options: &Options<'_>,
    steps: Option<u64>,
) -> Option<Solution> {
    let limits = &options.limits;
    let stack = droste_bdd::stack_size(COPIES * (bits as usize + 64));
    let listen = |progress| {
        if let Some(reporter) = options.reporter {
            reporter(progress);
        }
    };
    on_worker(stack, listen, move |tell| {
        let mut queries = theory.actions().iter().filter_map(|action| match action {
            Action::Query(question) => Some(question.clone()),
            _ => None,
        });
        let last = queries.next_back();
        let report = Box::new(|round: &Round<'_>| {
            tell(Progress {
                phase: "solving",
                counters: Counters::Calculus {
                    rounds: round.round,
                    nodes: round.nodes as u64,
                },
            });
        });
        let mut solver = Solver::new(theory, limits, Some(report));
        let answer = match (last, steps) {
            (None, _) => Ok(None),
            (Some(question), None) => solver.decide(&question).map(Some),
            (Some(question), Some(steps)) => solver
                .decide_within(&question, steps)
                .transpose()?
                .map(Some),
        };
        Some((answer, solver.statistics()))
    })
}
