//! Infinite runs that automata accept: the symbolic engine against the explicit one, on random
//! programs and automata, for both kinds of runs. Every lasso is made concrete and replayed.
//!
//! An automaton with marks is given to the explicit engine as a monitor, which waits for one mark
//! after another, by a naive construction of its own.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many. A failure is shrunk and printed.

use std::sync::atomic::{AtomicU64, Ordering};

use droste_automata::automaton::NewEdge;
use droste_base::{Limits, Verdict};
use droste_check::{Engine, Options, Passes, Property, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_lang::properties;
use droste_ltl::{AtomId, Literal, StateInfo, Tgba};
use droste_passes::{Query, clean};
use droste_program::labels;
use droste_program::monitor::{Monitor, MonitorState, StateKind};
use droste_program::{Expr, ExprNode, NodeId, Operator, Program, Proposition};
use droste_replay::{Claim, Replayer};
use droste_symbolic::repeat::{AutomatonQuery, of_monitor, of_nodes, repeat};
use droste_symbolic::{Runs, Tuning};
use droste_testkit::generate::{self, Config};
use droste_testkit::random::Random;
use droste_testkit::sweep;
use droste_unfold::{AllLive, Gap, Machine, concretize};

/// A move of a random automaton.
#[derive(Clone, Debug)]
struct Move {
    guard: Vec<Vec<(u32, bool)>>,
    marks: u32,
    to: u32,
}

#[derive(Clone, Debug)]
struct Automaton {
    states: Vec<Vec<Move>>,
    marks: u32,
}

fn tgba(automaton: &Automaton, atoms: usize) -> Tgba {
    let mut edges = Vec::new();
    for (source, moves) in automaton.states.iter().enumerate() {
        edges.extend(moves.iter().map(|step| {
            NewEdge {
                source: source as u32,
                guard: step
                    .guard
                    .iter()
                    .map(|cube| {
                        cube.iter()
                            .map(|&(a, v)| Literal::new(AtomId(a), v))
                            .collect()
                    })
                    .collect(),
                marks: step.marks,
                target: step.to,
            }
        }));
    }
    let states = vec![StateInfo::default(); automaton.states.len()];
    Tgba::new(atoms, 0, states, edges, automaton.marks)
}

/// A random automaton with up to three marks.
fn random_automaton(seed: u64, atoms: u32) -> Automaton {
    let mut random = Random::new(seed);
    let count = random.between(1, 4);
    let marks = random.below(4) as u32;
    let states = (0..count).map(|_| {
        let moves = (0..random.between(1, 3)).map(|_| {
            let guard = (0..random.weighted(&[1, 20, 4])).map(|_| {
                let literals = 0..random.weighted(&[3, 3, 1]);
                let literals = literals.filter(|_| atoms > 0).map(|_| {
                    (
                        random.below(atoms.max(1) as usize) as u32,
                        random.percent(50),
                    )
                });
                literals.collect()
            });
            let guard = guard.collect();
            let marks = (0..marks).fold(0, |set, i| set | u32::from(random.percent(45)) << i);
            let to = random.below(count) as u32;
            Move { guard, marks, to }
        });
        moves.collect()
    });
    Automaton {
        states: states.collect(),
        marks,
    }
}

fn append(nodes: &mut Vec<ExprNode>, expr: &Expr) -> u32 {
    let by = nodes.len() as u32;
    nodes.extend(expr.nodes.iter().map(|node| match node.clone() {
        ExprNode::Not(a) => ExprNode::Not(a + by),
        ExprNode::BitNot(a) => ExprNode::BitNot(a + by),
        ExprNode::Neg(a) => ExprNode::Neg(a + by),
        ExprNode::Binary(op, a, b) => ExprNode::Binary(op, a + by, b + by),
        ExprNode::Schoose(a, b) => ExprNode::Schoose(a + by, b + by),
        leaf => leaf,
    }));
    nodes.len() as u32 - 1
}

fn combine(guard: &[Vec<(u32, bool)>], atom: impl Fn(u32) -> Expr) -> Expr {
    let mut nodes = vec![ExprNode::Const(0)];
    let mut all = 0;
    for conjunction in guard {
        nodes.push(ExprNode::Const(1));
        let mut both = nodes.len() as u32 - 1;
        for &(index, value) in conjunction {
            let mut one = append(&mut nodes, &atom(index));
            if !value {
                nodes.push(ExprNode::Not(one));
                one += 1;
            }
            nodes.push(ExprNode::Binary(Operator::And, both, one));
            both = nodes.len() as u32 - 1;
        }
        nodes.push(ExprNode::Binary(Operator::Or, all, both));
        all = nodes.len() as u32 - 1;
    }
    Expr { nodes }
}

/// The automaton as a monitor: a state is one of the automaton, the mark waited for, and whether
/// the last has just been met.
fn waiting(automaton: &Automaton, atoms: &[Proposition], program: &Program) -> Monitor {
    let levels = automaton.marks + 1;
    let mut states = Vec::new();
    for (i, moves) in automaton.states.iter().enumerate() {
        for level in 0..levels {
            // In the last level every mark has been met, and waiting begins anew.
            let waits = if level == automaton.marks { 0 } else { level };
            let edges = moves.iter().map(|step| {
                let met = automaton.marks == 0 || step.marks >> waits & 1 == 1;
                let next = if automaton.marks == 0 {
                    0
                } else {
                    waits + u32::from(met)
                };
                let expr = |p: usize| {
                    combine(&step.guard, |atom| {
                        atoms[atom as usize].by_procedure[p].clone()
                    })
                };
                let guard = Proposition {
                    by_procedure: (0..program.procedures.len()).map(expr).collect(),
                    terminated: combine(&step.guard, |atom| {
                        atoms[atom as usize].terminated.clone()
                    }),
                };
                (guard, step.to * levels + next)
            });
            states.push(MonitorState {
                name: format!("q{i}_{level}").into(),
                kind: if level == automaton.marks {
                    StateKind::Repeating
                } else {
                    StateKind::Plain
                },
                edges: edges.collect(),
                otherwise: None,
            });
        }
    }
    Monitor {
        name: "waiting".into(),
        states,
        initial: 0,
    }
}

/// A question in the words of both engines.
struct Case {
    atoms: Vec<Proposition>,
    automaton: Tgba,
    property: Property,
    /// Of [`Property::Repeat`].
    nodes: Vec<NodeId>,
}

impl Case {
    fn claim(&self) -> Claim<'_> {
        match &self.property {
            Property::Monitor(monitor) => Claim::MonitorRepeats(monitor),
            _ => Claim::Repeats(&self.nodes),
        }
    }
}

/// Monitors, automata with marks and labels.
fn cases(ast: &Ast, program: &Program, seed: u64) -> Option<Vec<Case>> {
    let syntax = generate::monitor(seed, ast, true);
    let watched = properties::monitor(&syntax, program).ok()?;
    let (atoms, automaton) = of_monitor(&watched);
    let random = random_automaton(seed, atoms.len() as u32);
    let mut cases = vec![
        Case {
            atoms: atoms.clone(),
            automaton,
            property: Property::Monitor(watched),
            nodes: Vec::new(),
        },
        Case {
            automaton: tgba(&random, atoms.len()),
            property: Property::Monitor(waiting(&random, &atoms, program)),
            atoms,
            nodes: Vec::new(),
        },
    ];
    let labels: Vec<&str> = program
        .nodes
        .iter()
        .flat_map(|node| node.labels.iter().map(AsRef::as_ref))
        .collect();
    if !labels.is_empty() {
        let label = labels[seed as usize % labels.len()];
        let nodes = labels::find(program, label).ok()?;
        let (atoms, automaton) = of_nodes(program, &nodes);
        cases.push(Case {
            atoms,
            automaton,
            property: Property::Repeat(vec![label.to_owned()]),
            nodes,
        });
    }
    Some(cases)
}

/// The symbolic engine's answer, replayed, and whether the stack grows.
fn symbolic(
    program: &Program,
    case: &Case,
    runs: Runs,
    passes: Passes,
    tuning: Tuning,
) -> Result<(bool, bool), String> {
    let propositions: Vec<&Proposition> = case.atoms.iter().collect();
    let query = Query {
        propositions: &propositions,
        every_position: true,
        ..Query::default()
    };
    let cleaned = clean(program, &query, &passes);
    let limits = Limits::default();
    let question = AutomatonQuery {
        propositions: &case.atoms,
        automaton: &case.automaton,
        runs,
    };
    let search = droste_symbolic::Options {
        tuning,
        ..droste_symbolic::Options::default()
    };
    let outcome = repeat(&cleaned.program, &cleaned.live, question, &search);
    let trace = match outcome.verdict {
        Verdict::Holds(_) => return Ok((false, false)),
        Verdict::Unknown(reason) => return Err(format!("unknown: {reason}")),
        Verdict::Violated(violation) => violation.run.ok_or("no run")?,
    };
    let cycle = trace.cycle.ok_or("no cycle")?;
    let machine = Machine::new(&cleaned.program, &AllLive, true);
    let trace = trace.map(|state| -> Box<[u64]> { machine.pack(&state) });
    let mut guard = limits.guard();
    let execution = match concretize(program, &cleaned.program, &propositions, trace, &mut guard) {
        Ok(execution) => execution,
        Err(Gap::Lasso) if passes.dead => {
            let passes = Passes {
                dead: false,
                ..passes
            };
            return symbolic(program, case, runs, passes, tuning);
        }
        Err(gap) => return Err(format!("no concrete run: {gap:?}")),
    };
    let finite = runs == Runs::FiniteStack;
    match Replayer::new(program, case.claim(), finite).replay_within(&execution, &mut guard) {
        Ok(()) => Ok((true, cycle.pumping)),
        Err(halt) => Err(format!("{halt:?}")),
    }
}

fn explicit(program: &Program, property: &Property, runs: Runs) -> Result<bool, String> {
    let options = Options {
        engine: Engine::Explicit,
        runs,
        ..Options::default()
    };
    let report = check(program, property, &options);
    match report.map_err(|fault| fault.to_string())?.verdict {
        Verdict::Holds(_) => Ok(false),
        Verdict::Violated(_) => Ok(true),
        Verdict::Unknown(reason) => Err(reason.to_string()),
    }
}

/// How many questions had which answer: no, yes, and yes with a growing stack.
type Counts = [AtomicU64; 3];

/// What is wrong, if anything.
fn mismatch(ast: &Ast, seed: u64, counts: &Counts) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let dead = Passes {
        dead: true,
        ..Passes::none()
    };
    let usual = Tuning::default();
    // Runs that the search itself has gone, instead of shortest ones.
    let long = Tuning {
        shortest_times: 0,
        shortest_plus: 0,
        ..usual
    };
    let ways = [
        (Passes::default(), usual),
        (Passes::default(), long),
        (Passes::none(), usual),
        (dead, long),
    ];
    for case in cases(ast, &program, seed)? {
        for runs in [Runs::All, Runs::FiniteStack] {
            let expected = explicit(&program, &case.property, runs);
            for (i, (passes, tuning)) in ways.into_iter().enumerate() {
                if i > 0 && i as u64 != seed % 8 {
                    continue;
                }
                let found = symbolic(&program, &case, runs, passes, tuning);
                if found.as_ref().map(|found| found.0) != expected.as_ref().copied() {
                    return Some(format!(
                        "{runs:?} {} [{passes:?}, {tuning:?}]: expected {expected:?}, found {found:?}\n{:?}",
                        case.property, case.automaton
                    ));
                }
                if let Ok((violated, pumping)) = found {
                    let kind = usize::from(violated) + usize::from(pumping);
                    counts[kind].fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
    None
}

fn sweep(config: &Config, first: u64, programs: u64) {
    let counts = [0; 3].map(AtomicU64::new);
    let programs = sweep::programs(config, first, programs, |ast, seed| {
        mismatch(ast, seed, &counts)
    });
    let counts = counts.map(AtomicU64::into_inner);
    eprintln!("none, one, one with a growing stack: {counts:?}");
    if sweep::number("SEED").is_none() && programs > 1 {
        assert!(
            counts.iter().all(|&count| count > programs / 20),
            "all answers occur"
        );
    }
}

/// `f1` does not touch `g0`, but the automaton looks at it there: what is wanted of it inside is
/// wanted before the call.
#[test]
fn watched_globals_of_procedures_that_do_not_touch_them() {
    sweep(&Config::liveness(), 3009, 1);
}

#[test]
fn accepting_runs_are_those_of_the_explicit_engine() {
    sweep(&Config::liveness(), 0, 300);
    sweep(&Config::declaring(), 600_000, 100);
}

#[test]
fn accepting_runs_of_programs_of_every_form() {
    sweep(&Config::tiny(), 500_000, 100);
}

#[test]
#[ignore = "sweep; run in release"]
fn accepting_runs_of_many_programs() {
    sweep(&Config::liveness(), 1_000_000, 800);
    sweep(&Config::tiny(), 2_000_000, 300);
}
