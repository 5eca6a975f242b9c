//! `droste solve`: reads equations of the fixed-point calculus, has them solved, shows the answers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use droste_calculus::token::quits;
use droste_calculus::types::{Shape, TypeId, Types, code};
use droste_calculus::{
    Action, ClosedFormula, Outcome, Round, Solver, Statistics, Theory, Unanswered, Witness, load,
    on_large_stack, report,
};
use droste_source::SourceFile;
use serde_json::{Map, Value, json};

use crate::args::SolveArgs;
use crate::console::{Console, Failure};
use crate::frame::{Frame, Volume};
use crate::input::{self, Language};
use droste_base::words::{count, counted, seconds};

/// What is known so far; shared with the watchdog.
#[derive(Default)]
struct Known {
    results: Vec<Value>,
    /// Whether some query is false.
    some_false: bool,
    /// Whether something is wrong.
    errors: bool,
    /// Why there are no more answers.
    stopped: Option<String>,
}

impl Known {
    fn verdict(&self) -> (&'static str, u8) {
        if self.errors {
            ("error", 2)
        } else if self.stopped.is_some() {
            ("unknown", 3)
        } else if self.some_false {
            ("violated", 1)
        } else {
            ("holds", 0)
        }
    }

    fn object(&mut self, file: &str, time: Duration, statistics: &Statistics) -> Value {
        let mut object = json!({
            "file": file,
            "verdict": self.verdict().0,
            "engine": "calculus",
            "results": std::mem::take(&mut self.results),
            "stats": {
                "seconds": time.as_secs_f64(),
                "rounds": statistics.rounds,
                "bdd_variables": statistics.variables,
                "bdd_nodes": statistics.nodes,
                "bdd_peak_nodes": statistics.peak_nodes,
                "bdd_bytes": statistics.bytes,
            },
        });
        if let Some(reason) = &self.stopped {
            object["reason"] = json!(reason);
        }
        object
    }
}

/// Runs the command; the exit code.
pub(crate) fn solve(args: &SolveArgs, console: &Console) -> Result<u8, Failure> {
    let volume = Volume {
        json: args.json,
        quiet: args.quiet,
        verbose: args.verbose,
    };
    let frame = Frame::new(console, &args.limits, volume);
    let known = Arc::new(Mutex::new(Known::default()));
    watch(args, &frame, &known);
    let result = answer(args, &frame, &known);
    frame.claim();
    result
}

/// What is printed if a limit is reached before all is answered.
fn watch(args: &SolveArgs, frame: &Frame<'_>, known: &Arc<Mutex<Known>>) {
    let known = Arc::clone(known);
    let file = input::name(&args.file);
    let (json, start) = (args.json, frame.start);
    frame.watch(move |reason| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.stopped = Some(reason.to_string());
        let mut code = known.verdict().1;
        if json {
            let object = known.object(&file, start.elapsed(), &Statistics::default());
            if Console::print(&format!("{object}\n")).is_err() {
                code = 2;
            }
        }
        Console::note(&format!("unknown: {reason}\n"));
        code
    });
}

/// Reads a file that `#load` names: as it is, or with `.mu`; from here, or from where the first
/// file is.
fn loader(main: &Path) -> impl FnMut(&str) -> Result<SourceFile, String> + use<> {
    let directory = main.parent().map(Path::to_path_buf).unwrap_or_default();
    move |name| {
        let mut tries = Vec::new();
        for base in [PathBuf::new(), directory.clone()] {
            tries.push(base.join(name));
            tries.push(base.join(format!("{name}.mu")));
        }
        let found = tries.iter().find(|path| path.is_file());
        match found {
            Some(path) => input::read_until(path, || (), quits),
            None => Err(match tries.iter().find(|path| path.exists()) {
                Some(path) if path.is_dir() => format!("`{}` is a directory", path.display()),
                Some(path) => format!("`{}` is not a regular file", path.display()),
                None => format!("there is no file `{name}` and no `{name}.mu`"),
            }),
        }
    }
}

fn answer(args: &SolveArgs, frame: &Frame<'_>, known: &Arc<Mutex<Known>>) -> Result<u8, Failure> {
    let (console, start) = (frame.console, frame.start);
    let source = frame.read_until(&args.file, quits)?;
    let hint = Language::Calculus.hint(source.name(), source.text());
    let theory = load(source, &mut loader(&args.file));
    let messages = theory.messages(!args.quiet, console.err_color());
    Console::note(&messages);
    if let Some(hint) = hint.filter(|_| theory.has_errors()) {
        Console::note(hint);
    }
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    lock().errors = theory.has_errors();
    if theory.actions().is_empty() && !theory.has_errors() {
        frame.warn("there is nothing to solve: no query and no command");
    }
    frame.watchdog.search_begins();
    let run = Run { args, frame, known };
    let (statistics, result) = on_large_stack(theory, |theory| run.all(theory));
    frame.claim();
    result?;
    let mut known = lock();
    if let Some(reason) = &known.stopped {
        Console::note(&format!("unknown: {reason}\n"));
    }
    let code = known.verdict().1;
    if args.json {
        let file = input::name(&args.file);
        let object = known.object(&file, start.elapsed(), &statistics);
        Console::print(&format!("{object}\n"))?;
    }
    if args.verbose {
        Console::note(&format!(
            "{}: {}, {}, {} at the peak, {} MB in tables\n",
            seconds(start.elapsed()),
            counted(statistics.rounds, "round"),
            counted(u64::from(statistics.variables), "BDD variable"),
            counted(statistics.peak_nodes as u64, "node"),
            statistics.bytes / 1_000_000,
        ));
    }
    Ok(code)
}

struct Run<'a> {
    args: &'a SolveArgs,
    frame: &'a Frame<'a>,
    known: &'a Arc<Mutex<Known>>,
}

impl Run<'_> {
    fn all(&self, theory: Theory) -> (Statistics, Result<(), Failure>) {
        let actions = theory.actions().to_vec();
        let verbose = std::cell::Cell::new(i64::from(self.args.verbose));
        let line = self.frame.progress();
        let reporter = |round: &Round<'_>| {
            if verbose.get() > 0 && round.last {
                Console::note(&format!(
                    "{:>8}  fixpoint `{}': {}, {}\n",
                    seconds(self.frame.elapsed()),
                    round.predicate,
                    counted(round.round, "round"),
                    counted(round.size as u64, "node"),
                ));
                return;
            }
            line.show_text(|elapsed| {
                format!(
                    "{}: round {}, {}, {} in all, {:.1} s",
                    round.predicate,
                    count(round.round),
                    counted(round.size as u64, "node"),
                    count(round.nodes as u64),
                    elapsed.as_secs_f64(),
                )
            });
        };
        let mut solver = Solver::new(theory, &self.frame.limits(), Some(Box::new(reporter)));
        if self.args.verbose {
            let order = solver.order();
            let elapsed = seconds(self.frame.elapsed());
            Console::note(&format!("{elapsed:>8}  order of variables: {order}\n"));
        }
        let mut reorderings = 0;
        for action in &actions {
            if let Action::Verbose(on) = action {
                verbose.set(verbose.get() + if *on { 1 } else { -1 });
            }
            let began = Instant::now();
            let outcome = solver.perform(action);
            line.erase();
            let statistics = solver.statistics();
            if self.args.verbose && statistics.reorderings > reorderings {
                reorderings = statistics.reorderings;
                self.note_reordering(&statistics);
            }
            match outcome {
                Ok(outcome) => {
                    let text = report::text(&solver, action, &outcome);
                    if !self.args.quiet
                        && !self.args.json
                        && let Err(failure) = Console::print(&text)
                    {
                        return (solver.statistics(), Err(failure));
                    }
                    self.note(&solver, action, &outcome, began.elapsed());
                }
                Err(Unanswered::Stopped(reason)) => {
                    let mut known = self.lock();
                    known
                        .results
                        .extend(unanswered(&solver, action, began.elapsed()));
                    known.stopped = Some(reason.to_string());
                    break;
                }
                Err(error) => self.wrong(&solver, action, &error, began.elapsed()),
            }
        }
        let statistics = solver.statistics();
        // The process is about to end: giving back a large table piece by piece would only make it
        // late.
        std::mem::forget(solver);
        (statistics, Ok(()))
    }

    /// Says what came of reordering.
    fn note_reordering(&self, statistics: &Statistics) {
        let elapsed = seconds(self.frame.elapsed());
        let tried = counted(statistics.reorderings, "time");
        let found = match statistics.reordered {
            Some((before, after)) => format!(
                "{} became {}, because another order is much better",
                counted(before as u64, "node"),
                count(after as u64),
            ),
            None => "no other order was much better".to_owned(),
        };
        Console::note(&format!(
            "{elapsed:>8}  order of variables: diagrams grew, others were tried {tried}; {found}\n"
        ));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A predicate has no value: the user's mistake.
    fn wrong(&self, solver: &Solver<'_>, action: &Action, error: &Unanswered, time: Duration) {
        Console::note(&solver.explain(action, error, self.frame.console.err_color()));
        let mut known = self.lock();
        known.errors = true;
        known.results.extend(unanswered(solver, action, time));
    }

    /// Remembers an outcome.
    fn note(&self, solver: &Solver<'_>, action: &Action, outcome: &Outcome, time: Duration) {
        let theory = solver.theory();
        let mut result = described(solver, action).unwrap_or(Value::Null);
        let mut some_false = false;
        match outcome {
            Outcome::Witness(witness) => {
                let wanted = matches!(action, Action::Witness(true, _));
                result["value"] = json!(wanted);
                result["witness"] = witness_json(theory, witness);
                some_false = !wanted;
            }
            Outcome::Answer(value) | Outcome::NoWitness(value) => {
                result["value"] = json!(value);
                some_false = !value;
            }
            Outcome::Count(count, space) => {
                result["count"] = json!(count.to_string());
                result["out_of"] = json!(space.to_string());
            }
            Outcome::Size(size) => result["nodes"] = json!(size),
            Outcome::Dump(text) => result["dump"] = json!(text),
            Outcome::Tuples(tuples, count) => {
                result["count"] = json!(count.to_string());
                if let Action::Tuples(def, ..) = action {
                    let list: Vec<Value> = tuples
                        .iter()
                        .map(|tuple| tuple_json(theory, &solver.parameters(*def), tuple))
                        .collect();
                    result["tuples"] = json!(list);
                }
            }
            Outcome::Time(time) => result["timer"] = json!(time.as_secs_f64()),
            Outcome::Done => return,
        }
        result["seconds"] = json!(time.as_secs_f64());
        let mut known = self.lock();
        known.some_false |= some_false;
        known.results.push(result);
    }
}

/// An action without an answer, for JSON: what would be known is `null`.
fn unanswered(solver: &Solver<'_>, action: &Action, time: Duration) -> Option<Value> {
    let mut result = described(solver, action)?;
    let missing: &[&str] = match action {
        Action::Count(..) => &["count", "out_of"],
        Action::Size(..) => &["nodes"],
        Action::Dump(..) => &["dump"],
        Action::Tuples(..) => &["count", "tuples"],
        Action::Timer => &["timer"],
        _ => &["value"],
    };
    for name in missing {
        result[name] = Value::Null;
    }
    result["seconds"] = json!(time.as_secs_f64());
    Some(result)
}

/// What an action is, for JSON; nothing if there is nothing to tell about it.
fn described(solver: &Solver<'_>, action: &Action) -> Option<Value> {
    let theory = solver.theory();
    let asked = |kind: &str, question: &ClosedFormula| {
        json!({
            "kind": kind,
            "file": theory.file(question.place).name(),
            "line": theory.line(question.place),
            "formula": theory.show(question),
        })
    };
    let about = |kind: &str, def: &droste_calculus::term::DefId| {
        let name = &theory.definitions()[def.0 as usize].name;
        json!({ "kind": kind, "predicate": name })
    };
    Some(match action {
        Action::Query(question) => asked("query", question),
        Action::Witness(true, question) => asked("witness", question),
        Action::Witness(false, question) => asked("counterexample", question),
        Action::Count(def, _) => about("count", def),
        Action::Size(def, _) => about("size", def),
        Action::Dump(def, _) => about("dump", def),
        Action::Tuples(def, ..) => about("tuples", def),
        Action::Timer => json!({ "kind": "timer" }),
        _ => return None,
    })
}

/// The values of parameters, by the paths to what has no parts: `{"s.pc": 3, "s.flag[1]": true}`.
fn tuple_json(theory: &Theory, parameters: &[(String, TypeId)], tuple: &[Vec<bool>]) -> Value {
    let mut object = Map::new();
    for ((name, ty), bits) in parameters.iter().zip(tuple) {
        add_value(theory.types(), name, *ty, bits, &mut object);
    }
    Value::Object(object)
}

fn add_value(
    types: &Types,
    name: &str,
    ty: TypeId,
    bits: &[bool],
    object: &mut Map<String, Value>,
) {
    for (path, leaf) in types.paths(ty) {
        let leaf_type = types.get(leaf.ty);
        let from = leaf.offset as usize;
        let code = code(&bits[from..from + leaf_type.width as usize]);
        let value = match &leaf_type.shape {
            Shape::Bool => json!(code == 1),
            Shape::Enum(constants) => json!(constants.get(code as usize)),
            Shape::Range(lo, _) => json!(lo.saturating_add(code)),
            Shape::Class(_) | Shape::Array(..) => Value::Null,
        };
        object.insert(format!("{name}{path}"), value);
    }
}

fn witness_json(theory: &Theory, witness: &Witness) -> Value {
    let mut choices = Map::new();
    for (id, bits) in &witness.choices {
        let variable = theory.variable(*id);
        add_value(
            theory.types(),
            &variable.name,
            variable.ty,
            bits,
            &mut choices,
        );
    }
    let tuple = |def: &droste_calculus::term::DefId, tuple: &[Vec<bool>]| {
        let definition = &theory.definitions()[def.0 as usize];
        let parameters: Vec<(String, TypeId)> = definition
            .parameters
            .iter()
            .map(|id| (theory.variable(*id).name.clone(), theory.variable(*id).ty))
            .collect();
        json!({
            "predicate": definition.name,
            "values": tuple_json(theory, &parameters, tuple),
        })
    };
    let paths: Vec<Vec<Value>> = witness
        .paths
        .iter()
        .map(|path| {
            path.iter()
                .map(|step| {
                    let mut object = tuple(&step.predicate, &step.tuple);
                    object["holds"] = json!(!step.fails);
                    if !step.with.is_empty() {
                        // What is needed for a tuple that fails are others that fail.
                        let with = step.with.iter().map(|(def, row)| {
                            let mut object = tuple(def, row);
                            object["holds"] = json!(!step.fails);
                            object
                        });
                        let with: Vec<Value> = with.collect();
                        object["with"] = json!(with);
                    }
                    if step.more {
                        object["more"] = json!(true);
                    }
                    object
                })
                .collect()
        })
        .collect();
    json!({ "choices": choices, "paths": paths })
}
