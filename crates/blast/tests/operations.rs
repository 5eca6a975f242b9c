//! Every node of random programs, from every valuation or many, against the replayer: what follows
//! from the bits for all choices is what it accepts.
//!
//! `SEED=17 cargo test -p droste-blast --test operations` runs one program alone.

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;

use droste_blast::Destination;
use droste_lang::lower::lower;
use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation,
};
use droste_program::{NodeId, Op, ProcId, Program, Value, Violation};
use droste_replay::valid;
use droste_testkit::generate::{self, Config, lowered};
use droste_testkit::random::{Random, seeds};
use support::{Outcome, changes, effects, resumed, settle, steps, valuations};

const VIOLATIONS: [Violation; 4] = [
    Violation::Assertion,
    Violation::OutOfRange,
    Violation::DivisionByZero,
    Violation::NegativeShift,
];

/// The program that starts at `node`.
fn rooted(program: &Program, node: NodeId) -> Program {
    let mut program = program.clone();
    let procedure = program.node(node).procedure;
    program.main = procedure;
    program.procedures[procedure.0 as usize].entry = node;
    program
}

/// The same, calling a copy of the callee that has only one statement: `exit`, or nothing that can
/// be done.
fn with_callee(program: &Program, call: NodeId, exit: Option<NodeId>) -> (Program, NodeId) {
    let mut program = rooted(program, call);
    let copy = ProcId(program.procedures.len() as u32);
    let entry = NodeId(program.nodes.len() as u32);
    let mut node = program.node(exit.unwrap_or(call)).clone();
    node.procedure = copy;
    if exit.is_none() {
        node.op = Op::Stuck;
        node.ensure = None;
    }
    let Op::Call { callee, .. } = &mut program.nodes[call.0 as usize].op else {
        panic!("not a call");
    };
    let original = std::mem::replace(callee, copy);
    let mut procedure = program.procedure(original).clone();
    procedure.entry = entry;
    program.procedures.push(procedure);
    program.nodes.push(node);
    (program, entry)
}

fn execution(start: &Valuation, steps: Vec<Step>, ending: Ending) -> Execution {
    Execution {
        start: start.clone(),
        runs: Arc::default(),
        steps,
        ending,
    }
}

fn fails(
    program: &Program,
    start: &Valuation,
    steps: &[Step],
    node: NodeId,
) -> BTreeSet<Violation> {
    let fails = |&v: &Violation| {
        let mut steps = steps.to_vec();
        steps.push(Step {
            node,
            action: Action::Fail(v),
        });
        valid(program, &execution(start, steps, Ending::Final)).is_ok()
    };
    VIOLATIONS.into_iter().filter(fails).collect()
}

#[derive(Default, Debug)]
struct Counts {
    steps: usize,
    calls: usize,
    returns: usize,
    failures: usize,
    rejected: usize,
}

/// Of two operands that fail the replayer names either, the bits the first.
fn compare_failures(mine: &BTreeSet<Violation>, theirs: &BTreeSet<Violation>, case: &str) {
    assert_eq!(
        mine.is_empty(),
        theirs.is_empty(),
        "{case}: {mine:?} {theirs:?}"
    );
    assert!(mine.is_subset(theirs), "{case}: {mine:?} {theirs:?}");
}

fn check_step(
    program: &Program,
    node: NodeId,
    now: &Valuation,
    all: &[Valuation],
    case: &str,
    counts: &mut Counts,
) {
    let rooted = rooted(program, node);
    let procedure = program.node(node).procedure;
    let (mine, failures) = steps(program, node, now);
    compare_failures(&failures, &fails(&rooted, now, &[], node), case);
    counts.failures += failures.len();
    let mut targets = Vec::new();
    program.node(node).op.for_each_next(|to| targets.push(to));
    targets.sort_unstable();
    targets.dedup();
    for to in targets {
        for next in all {
            let step = Step {
                node,
                action: Action::Internal {
                    to,
                    changes: changes(program, procedure, now, next).into(),
                },
            };
            let verdict = valid(&rooted, &execution(now, vec![step], Ending::At(to)));
            let reached = mine.contains(&(to, next.globals.clone(), next.locals.clone()));
            assert_eq!(
                reached,
                verdict.is_ok(),
                "{case} to {to:?} {next:?}: {verdict:?}"
            );
            counts.steps += usize::from(reached);
            counts.rejected += usize::from(!reached);
        }
    }
}

fn tuples(types: &[droste_program::Type]) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for ty in types {
        all = all
            .into_iter()
            .flat_map(|list: Vec<Value>| {
                (ty.lo()..=ty.hi()).map(move |v| {
                    let mut list = list.clone();
                    list.push(v);
                    list
                })
            })
            .collect();
    }
    all
}

fn check_call(
    program: &Program,
    node: NodeId,
    now: &Valuation,
    returns: &[NodeId],
    random: &mut Random,
    case: &str,
    counts: &mut Counts,
) {
    let procedure = program.node(node).procedure;
    let Op::Call {
        callee, next: to, ..
    } = &program.node(node).op
    else {
        panic!("not a call");
    };
    let (here, entry) = with_callee(program, node, None);
    let outcomes = effects(program, node, now);
    let mut failures = BTreeSet::new();
    let mut entries = BTreeSet::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Fail(v) => {
                failures.insert(v);
            }
            Outcome::Go(entry, list) => {
                assert_eq!(entry, Some(program.procedure(*callee).entry));
                for (i, (place, _)) in list.iter().enumerate() {
                    assert_eq!(*place, Destination::Parameter(i as u32));
                }
                entries.insert(list.into_iter().map(|(_, v)| v).collect::<Vec<_>>());
            }
        }
    }
    compare_failures(&failures, &fails(&here, now, &[], node), case);
    counts.failures += failures.len();
    let locals = &program.procedure(*callee).locals;
    let params = program.procedure(*callee).params as usize;
    let types: Vec<_> = locals.iter().map(|v| v.ty).collect();
    // One value for the locals that are no parameters.
    let others: Vec<Value> = types[params..]
        .iter()
        .map(|ty| ty.lo() + random.below((ty.hi() - ty.lo() + 1) as usize) as Value)
        .collect();
    for tuple in tuples(&types[..params]) {
        let locals: Vec<Value> = tuple.iter().chain(&others).copied().collect();
        let step = Step {
            node,
            action: Action::Call {
                locals: locals.into(),
            },
        };
        let verdict = valid(&here, &execution(now, vec![step], Ending::At(entry)));
        assert_eq!(
            entries.contains(&tuple),
            verdict.is_ok(),
            "{case} {tuple:?}: {verdict:?}"
        );
        counts.calls += 1;
    }
    // A callee that does nothing but return.
    let Some(tuple) = entries.first() else { return };
    let locals: Vec<Value> = tuple.iter().chain(&others).copied().collect();
    let entered = Valuation {
        globals: now.globals.clone(),
        locals,
    };
    for &exit in returns
        .iter()
        .filter(|&&r| program.node(r).procedure == *callee)
    {
        let (there, copy) = with_callee(program, node, Some(exit));
        let mut results = BTreeSet::new();
        let mut at_return = BTreeSet::new();
        for outcome in effects(program, exit, &entered) {
            match outcome {
                Outcome::Fail(v) => {
                    at_return.insert(v);
                }
                Outcome::Go(_, list) => {
                    results.insert(list.into_iter().map(|(_, v)| v).collect::<Vec<_>>());
                }
            }
        }
        let call = Step {
            node,
            action: Action::Call {
                locals: entered.locals.as_slice().into(),
            },
        };
        for tuple in tuples(&program.procedure(*callee).results) {
            let reached = if results.contains(&tuple) {
                let (reached, more) =
                    settle(program, node, now, now, resumed(program, node, &tuple));
                at_return.extend(more);
                reached
            } else {
                BTreeSet::new()
            };
            let run = CalleeRun {
                entry: entered.clone(),
                steps: Arc::default(),
                exit: copy,
                results: tuple.clone(),
            };
            let Some(all) = valuations(program, procedure, 200) else {
                continue;
            };
            for next in all {
                let step = Step {
                    node,
                    action: Action::Folded {
                        run: CalleeRunId(0),
                        to: *to,
                        changes: changes(program, procedure, now, &next).into(),
                    },
                };
                let mut execution = execution(now, vec![step], Ending::At(*to));
                execution.runs = vec![run.clone()].into();
                let verdict = valid(&there, &execution);
                let mine = reached.contains(&(*to, next.globals.clone(), next.locals.clone()));
                assert_eq!(
                    mine,
                    verdict.is_ok(),
                    "{case} {tuple:?} {next:?}: {verdict:?}"
                );
                counts.returns += usize::from(mine);
                counts.rejected += usize::from(!mine);
            }
        }
        compare_failures(&at_return, &fails(&there, now, &[call], copy), case);
        counts.failures += at_return.len();
    }
}

fn check(program: &Program, random: &mut Random, name: &str, counts: &mut Counts) {
    let returns: Vec<NodeId> = (0..program.nodes.len() as u32)
        .map(NodeId)
        .filter(|&n| matches!(program.node(n).op, Op::Return(_)))
        .collect();
    let all: Vec<_> = (0..program.procedures.len() as u32)
        .map(|p| valuations(program, ProcId(p), 200))
        .collect();
    for i in 0..program.nodes.len() as u32 {
        let node = NodeId(i);
        let Some(all) = &all[program.node(node).procedure.0 as usize] else {
            continue;
        };
        for _ in 0..3 {
            let now = random.pick(all).clone();
            let case = format!("{name} node {i} {:?} from {now:?}", program.node(node).op);
            match &program.node(node).op {
                Op::Call { .. } => {
                    check_call(program, node, &now, &returns, random, &case, counts);
                }
                Op::Return(_) => {}
                _ => check_step(program, node, &now, all, &case, counts),
            }
        }
    }
}

#[test]
fn nodes_of_generated_programs_do_what_the_replayer_accepts() {
    let mut counts = Counts::default();
    for seed in seeds(0, 400) {
        let ast = generate::program(seed, &Config::tiny());
        let program = lower(&ast).0.expect("generated programs are accepted");
        let mut random = Random::new(seed);
        check(&program, &mut random, &format!("SEED={seed}"), &mut counts);
    }
    println!("{counts:?}");
}

#[test]
fn nodes_of_synthetic_programs_do_what_the_replayer_accepts() {
    let mut counts = Counts::default();
    for seed in seeds(0, 400) {
        let program = lowered::program(&mut Random::new(seed));
        let mut random = Random::new(seed);
        check(&program, &mut random, &format!("SEED={seed}"), &mut counts);
    }
    println!("{counts:?}");
}
