//! The explicit engine's driver: which model, which search, which width of states.

use droste_base::{Guard, Model, PropId, Verdict};
pub(crate) use droste_explicit::Runs;
use droste_explicit::{Outcome, Stats, reach, repeat};
use droste_omega::{Buchi, Observed, Observer, Product, Tableau, Watcher, WatcherState};
use droste_passes::{Query, clean_within};
use droste_program::execution::Execution;
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{NodeId, Program, Proposition};
use droste_unfold::{Gap, Machine, Unfolding, Words, concretize};

use crate::{Engine, Evidence, Fault, Found, Options, Question};

/// What the search looks for, in the machine's propositions.
enum Goal {
    Reach(PropId),
    Repeat(PropId),
    Watch(Watcher),
    /// An automaton, and its atoms.
    Accept(Buchi, Vec<PropId>),
    /// A formula's tableau, and its atoms.
    Prove(Tableau, Vec<PropId>),
}

pub(crate) fn search(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Result<Found, Fault> {
    if options.engine == Engine::Tableau && !matches!(question, Question::Ltl(..)) {
        return Err(Fault::Refused(
            "the tableau answers formulas of temporal logic (--ltl); use --engine explicit"
                .to_owned(),
        ));
    }
    let engine = match options.engine {
        Engine::Tableau => "tableau",
        _ => "explicit",
    };
    // One clock for the passes, the search and concretising.
    let mut guard = options.limits.guard();
    let propositions = question.propositions();
    let targets: &[NodeId] = match question {
        Question::Default(nodes) | Question::Reach(nodes) | Question::Repeat(nodes) => nodes,
        _ => &[],
    };
    let violations = matches!(question, Question::Default(_));
    let watched = matches!(
        question,
        Question::Target(_) | Question::Repeating(_) | Question::Ltl(..) | Question::Automaton(_)
    );
    let query = Query {
        targets,
        violations,
        propositions: &propositions,
        every_position: watched,
    };
    let mut passes = options.passes;
    // Without values on demand, forgetting one only to guess it again would be wrong: a global
    // may be dead at a call and yet count as live inside the callee, for another caller.
    passes.dead &= !options.eager;
    let cleaned = match clean_within(program, &query, &passes, &mut guard) {
        Ok(cleaned) => cleaned,
        Err(reason) => {
            return Ok(Found::stopped(engine, reason));
        }
    };
    let mut machine = Machine::new(&cleaned.program, &cleaned.live, violations);
    machine.set_eager(options.eager);
    if !options.eager {
        machine.localise(&cleaned.program);
    }
    let goal = match question {
        Question::Default(nodes) => Goal::Reach(machine.ask_control(nodes, true)),
        Question::Reach(nodes) => Goal::Reach(machine.ask_control(nodes, false)),
        Question::Repeat(nodes) => Goal::Repeat(machine.ask_control(nodes, false)),
        Question::Target(monitor) | Question::Repeating(monitor) => {
            Goal::Watch(watcher(monitor, &mut machine))
        }
        Question::Ltl(ltl, _) if options.engine == Engine::Tableau => {
            let atoms = propositions.iter().map(|p| machine.ask(p)).collect();
            match ltl.tableau() {
                Ok(tableau) => Goal::Prove(tableau, atoms),
                Err(reason) => return Ok(Found::stopped(engine, reason)),
            }
        }
        Question::Ltl(..) | Question::Automaton(_) => {
            let atoms = propositions.iter().map(|p| machine.ask(p)).collect();
            let (automaton, _) = question.automaton().expect("they have an automaton");
            Goal::Accept(Buchi::new(automaton), atoms)
        }
    };
    let programs = Programs {
        written: program,
        cleaned: &cleaned.program,
        watched: &propositions,
    };
    let (verdict, stats) = match machine.words() {
        1 => run::<[u64; 1]>(&programs, &machine, &goal, (options, runs), &mut guard),
        2 => run::<[u64; 2]>(&programs, &machine, &goal, (options, runs), &mut guard),
        3 | 4 => run::<[u64; 4]>(&programs, &machine, &goal, (options, runs), &mut guard),
        5..=8 => run::<[u64; 8]>(&programs, &machine, &goal, (options, runs), &mut guard),
        _ => run::<Box<[u64]>>(&programs, &machine, &goal, (options, runs), &mut guard),
    };
    Ok(Found {
        verdict,
        violators: None,
        engine,
        raced: false,
        stats,
        symbolic: None,
        notes: cleaned.report,
    })
}

/// A monitor over the machine's propositions.
fn watcher(monitor: &Monitor, machine: &mut Machine) -> Watcher {
    let states = monitor.states.iter().map(|state| WatcherState {
        edges: state
            .edges
            .iter()
            .map(|(guard, to)| (machine.ask(guard), *to))
            .collect(),
        otherwise: state.otherwise,
        target: state.kind == StateKind::Target,
        repeating: state.kind == StateKind::Repeating,
    });
    Watcher {
        states: states.collect(),
        initial: monitor.initial,
    }
}

/// The program as it was written, and as the engine sees it.
struct Programs<'a> {
    written: &'a Program,
    cleaned: &'a Program,
    /// What the property looks at.
    watched: &'a [&'a Proposition],
}

type Verdicts = (Verdict<Result<Execution, Gap>>, Stats);

fn run<W: Words>(
    programs: &Programs<'_>,
    machine: &Machine,
    goal: &Goal,
    (options, runs): (&Options<'_>, Runs),
    guard: &mut Guard,
) -> Verdicts {
    let model = Unfolding::<W>::new(machine);
    let mut limits = options.limits.clone();
    limits.timeout = limits.timeout.map(|t| t.saturating_sub(guard.elapsed()));
    let search = droste_explicit::Options {
        order: options.order,
        limits,
        reporter: options.reporter,
        verdict_only: options.evidence == Evidence::Verdict,
        answered: options.answered,
    };
    let outcome = match goal {
        Goal::Reach(target) => reach(&model, *target, &search),
        Goal::Repeat(mark) => repeat(&model, &[*mark], runs, &search),
        Goal::Watch(watcher) => {
            let product = Product::new(&model, watcher);
            let is_safety = watcher.states.iter().any(|state| state.target);
            let outcome = watch(&product, is_safety, runs, &search);
            Outcome {
                verdict: outcome.verdict.map(|trace| trace.map(|(state, _)| state)),
                stats: outcome.stats,
            }
        }
        Goal::Accept(automaton, atoms) => observe(&model, automaton, atoms, runs, &search),
        Goal::Prove(tableau, atoms) => observe(&model, tableau, atoms, runs, &search),
    };
    let verdict = match outcome.verdict {
        Verdict::Violated(trace) if options.evidence == Evidence::Verdict => {
            Verdict::Violated(Ok(Execution::unwritten(trace.cycle)))
        }
        Verdict::Violated(trace) => {
            match concretize(
                programs.written,
                programs.cleaned,
                programs.watched,
                trace,
                guard,
            ) {
                Err(Gap::Stopped(reason)) => Verdict::Unknown(reason),
                found => Verdict::Violated(found),
            }
        }
        Verdict::Holds(certificate) => Verdict::Holds(certificate),
        Verdict::Unknown(reason) => Verdict::Unknown(reason),
    };
    (verdict, outcome.stats)
}

fn watch<M: Model>(
    product: &Product<'_, M>,
    is_safety: bool,
    runs: Runs,
    search: &droste_explicit::Options<'_>,
) -> Outcome<(M::State, u32)> {
    if is_safety {
        reach(product, Product::<M>::TARGET, search)
    } else {
        repeat(product, &[Product::<M>::REPEATING], runs, search)
    }
}

fn observe<M: Model, O: Observer>(
    model: &M,
    observer: &O,
    atoms: &[PropId],
    runs: Runs,
    search: &droste_explicit::Options<'_>,
) -> Outcome<M::State> {
    let product = Observed::new(model, observer, atoms);
    let outcome = repeat(&product, &product.marks(), runs, search);
    Outcome {
        verdict: outcome.verdict.map(|trace| trace.map(|(state, _)| state)),
        stats: outcome.stats,
    }
}
