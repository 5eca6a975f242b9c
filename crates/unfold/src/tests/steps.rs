//! What a packed state can do, against an enumeration of everything its values can do.

use std::collections::BTreeSet;

use droste_base::{CallId, Model, Step, Steps};
use droste_program::liveness::AllLive;
use droste_program::valued::{Control, Valued};
use droste_program::{NodeId, Op, ProcId, Program, Value, Violation};
use droste_testkit::oracle::{self, Lowered, System};
use droste_testkit::random::{Random, seeds};

use super::{completions, program, read};
use crate::layout::{Field, Status};
use crate::{Machine, Unfolding};

type State = Box<[u64]>;

/// One thing that can happen, with every variable given a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    To(u32, Vec<Value>),
    Call(u32, Vec<Value>),
    Return(Vec<Value>),
    Fail(Violation),
}

/// More outcomes than this are not written out.
const MOST: usize = 3000;

fn fields(machine: &Machine, procedure: ProcId) -> impl Iterator<Item = &Field> {
    let locals = &machine.layout.locals[procedure.0 as usize];
    machine.layout.globals.iter().chain(locals)
}

/// How many completions the state has.
fn size<'a>(fields: impl Iterator<Item = &'a Field>, words: &[u64]) -> u128 {
    let open = fields.filter(|field| field.get(words).is_none());
    open.fold(1, |size: u128, field| {
        size.saturating_mul(u128::from(field.top) + 1)
    })
}

/// All that the machine lets a state do, with all values of what it leaves open.
fn outcomes(
    program: &Program,
    machine: &Machine,
    node: NodeId,
    steps: &[Step<State>],
) -> Option<BTreeSet<Outcome>> {
    let procedure = program.node(node).procedure;
    let mut all = BTreeSet::new();
    for step in steps {
        match step {
            Step::Internal(to) => {
                if let Status::Failed(violation) = machine.layout.status(to) {
                    all.insert(Outcome::Fail(violation));
                    continue;
                }
                if size(fields(machine, procedure), to) > MOST as u128 {
                    return None;
                }
                let at = machine.layout.node(to);
                let values = completions(fields(machine, procedure), to);
                all.extend(values.into_iter().map(|values| Outcome::To(at, values)));
            }
            Step::Call(CallId(0), entry) => {
                let callee = program.node(NodeId(machine.layout.node(entry))).procedure;
                if size(fields(machine, callee), entry) > MOST as u128 {
                    return None;
                }
                let values = completions(fields(machine, callee), entry);
                all.extend(
                    values
                        .into_iter()
                        .map(|values| Outcome::Call(callee.0, values)),
                );
            }
            Step::Call(..) => panic!("a node makes one call"),
            Step::Exit(exit) => {
                assert_eq!(machine.layout.status(exit), Status::Exited);
                let results = &machine.layout.results[procedure.0 as usize];
                let fields = || machine.layout.globals.iter().chain(results);
                if size(fields(), exit) > MOST as u128 {
                    return None;
                }
                let values = completions(fields(), exit);
                all.extend(values.into_iter().map(Outcome::Return));
            }
        }
    }
    Some(all)
}

/// The same by enumeration.
fn expected(naive: &Lowered<'_>, steps: Vec<oracle::Step>) -> BTreeSet<Outcome> {
    let mut all = BTreeSet::new();
    for step in steps {
        match step {
            oracle::Step::To(node, store) => {
                all.insert(Outcome::To(node as u32, store));
            }
            oracle::Step::Call(callee, store) => {
                let entries = naive.entries(callee, &store).into_iter();
                all.extend(entries.map(|(_, store)| Outcome::Call(callee as u32, store)));
            }
            oracle::Step::Return(store) => {
                all.insert(Outcome::Return(store));
            }
            oracle::Step::Fail(violation) => {
                all.insert(Outcome::Fail(violation));
            }
        }
    }
    all
}

/// Whether the machine does what the enumeration says. Where several parts of a step can fail, the
/// enumeration has all violations; the machine may stop at the first.
fn agree(found: &BTreeSet<Outcome>, all: &BTreeSet<Outcome>) -> bool {
    let fails = |outcome: &&Outcome| matches!(outcome, Outcome::Fail(_));
    found.is_subset(all)
        && all.difference(found).all(|outcome| fails(&outcome))
        && found.iter().any(|outcome| fails(&outcome)) == all.iter().any(|outcome| fails(&outcome))
}

/// Any values of these fields.
fn any<'a>(fields: impl Iterator<Item = &'a Field>, random: &mut Random) -> Vec<Option<Value>> {
    let mut value = |field: &Field| {
        let count = u128::from(field.top) + 1;
        field.value((u128::from(random.bits()) % count) as u64)
    };
    fields.map(|field| Some(value(field))).collect()
}

fn known(values: &[Option<Value>]) -> Vec<Value> {
    values.iter().map(|value| value.expect("a value")).collect()
}

/// Runs through all parts of a state, and the parts of those, until none splits.
fn refined(model: &Unfolding<'_, State>, state: State, most: usize) -> Option<Vec<State>> {
    let (mut open, mut done) = (vec![state], Vec::new());
    let mut steps = Steps::new();
    while let Some(state) = open.pop() {
        steps.clear();
        model.steps(&state, &mut steps);
        match steps.as_split() {
            None => done.push(state),
            Some(split) => {
                if split.count as usize + open.len() + done.len() > most {
                    return None;
                }
                let part = |index| model.refine(&state, split.tag, index);
                open.extend((0..split.count).map(part));
            }
        }
    }
    Some(done)
}

/// A random program, packed and enumerated.
struct Case<'a> {
    seed: u64,
    program: &'a Program,
    machine: &'a Machine,
    model: Unfolding<'a, State>,
    naive: Lowered<'a>,
}

impl Case<'_> {
    fn own(&self, procedure: ProcId) -> &[Field] {
        &self.machine.layout.locals[procedure.0 as usize]
    }

    /// Control is at the node, and every variable has some value.
    fn any(&self, node: NodeId, random: &mut Random) -> Valued {
        Valued {
            control: Control::At(node),
            globals: any(self.machine.layout.globals.iter(), random),
            locals: any(self.own(self.program.node(node).procedure).iter(), random),
        }
    }

    /// Whether what the machine does is what the enumeration says; how much that is, if it is not
    /// too much to be written out.
    fn compare(&self, node: NodeId, steps: &[Step<State>], all: &BTreeSet<Outcome>) -> usize {
        let Some(found) = outcomes(self.program, self.machine, node, steps) else {
            return 0;
        };
        let seed = self.seed;
        assert!(
            agree(&found, all),
            "SEED={seed}, {node:?}\n{found:?}\n{all:?}"
        );
        found.len()
    }
}

/// Calls `f` with every node of so many random programs; the sum of what it says.
fn sweep(count: u64, mut f: impl FnMut(&Case<'_>, NodeId, &mut Random) -> usize) -> usize {
    let mut sum = 0;
    for seed in seeds(0, count) {
        let program = program(seed);
        let machine = Machine::new(&program, &AllLive, true);
        let case = Case {
            seed,
            program: &program,
            machine: &machine,
            model: Unfolding::new(&machine),
            naive: Lowered(&program),
        };
        let mut random = Random::new(seed);
        for node in (0..program.nodes.len() as u32).map(NodeId) {
            sum += f(&case, node, &mut random);
        }
    }
    sum
}

/// With `SEED` there is one program, and little to compare.
fn enough(compared: usize, least: usize) {
    assert!(
        compared > least || std::env::var("SEED").is_ok(),
        "{compared}"
    );
}

#[test]
fn known_states_do_what_their_values_do() {
    let compared = sweep(300, |case, node, random| {
        let valued = case.any(node, random);
        let store = [known(&valued.globals), known(&valued.locals)].concat();
        let mut steps = Steps::new();
        case.model.steps(&case.machine.pack(&valued), &mut steps);
        assert_eq!(steps.as_split(), None, "what is known is not split");
        let all = expected(&case.naive, case.naive.steps(node.0 as usize, &store));
        case.compare(node, steps.items(), &all)
    });
    enough(compared, 5000);
}

#[test]
fn open_states_do_what_all_their_completions_do() {
    let compared = sweep(200, |case, node, random| {
        let machine = case.machine;
        let procedure = case.program.node(node).procedure;
        let mut valued = case.any(node, random);
        for value in valued.globals.iter_mut().chain(&mut valued.locals) {
            *value = value.filter(|_| random.percent(40));
        }
        let state: State = machine.pack(&valued);
        if size(fields(machine, procedure), &state) > 200 {
            return 0;
        }
        let Some(parts) = refined(&case.model, state.clone(), 200) else {
            return 0;
        };
        // The parts are all of the state: every completion is one of exactly one part.
        let mut stores = completions(fields(machine, procedure), &state);
        let of_part = |part: &State| completions(fields(machine, procedure), part);
        let mut of_parts: Vec<_> = parts.iter().flat_map(of_part).collect();
        stores.sort_unstable();
        of_parts.sort_unstable();
        assert_eq!(stores, of_parts, "SEED={}, {node:?}", case.seed);
        let mut compared = 0;
        for part in parts {
            let mut steps = Steps::new();
            case.model.steps(&part, &mut steps);
            let stores = of_part(&part);
            let each = |store: &Vec<Value>| {
                expected(&case.naive, case.naive.steps(node.0 as usize, store))
            };
            let all = stores.iter().flat_map(each).collect();
            compared += case.compare(node, steps.items(), &all);
        }
        compared
    });
    enough(compared, 5000);
}

#[test]
fn callers_go_on_as_their_values_say() {
    let compared = sweep(400, |case, node, random| {
        let Op::Call { callee, .. } = case.program.node(node).op else {
            return 0;
        };
        let layout = &case.machine.layout;
        let caller = case.any(node, random);
        let exit = Valued {
            control: Control::Exit(callee),
            globals: any(layout.globals.iter(), random),
            locals: any(layout.results[callee.0 as usize].iter(), random),
        };
        let mut out = Vec::new();
        let (from, by) = (case.machine.pack(&caller), case.machine.pack(&exit));
        assert!(case.model.resume(&from, CallId(0), &by, &mut out));
        let steps: Vec<_> = out.into_iter().map(Step::Internal).collect();
        let store = [known(&caller.globals), known(&caller.locals)].concat();
        let left = [known(&exit.globals), known(&exit.locals)].concat();
        let all = case.naive.resume(node.0 as usize, &store, &left);
        case.compare(node, &steps, &expected(&case.naive, all))
    });
    enough(compared, 500);
}

#[test]
fn a_split_has_one_part_for_each_value() {
    let splits = sweep(200, |case, node, _| {
        let state: State = case.machine.pack(&Valued {
            control: Control::At(node),
            globals: Vec::new(),
            locals: Vec::new(),
        });
        let mut steps = Steps::new();
        case.model.steps(&state, &mut steps);
        let Some(split) = steps.as_split() else {
            return 0;
        };
        let field = *case.machine.field(&state, split.tag);
        assert_eq!(split.count, field.top.saturating_add(1));
        for index in 0..split.count.min(100) {
            let mut part = case.model.refine(&state, split.tag, index);
            assert_eq!(field.get(&part), Some(index), "parts are in order");
            field.set(&mut part, None);
            assert_eq!(part, state, "nothing else has changed");
        }
        1
    });
    enough(splits, 200);
}

#[test]
fn a_run_begins_with_nothing_known_and_ends_with_what_the_exit_has() {
    for seed in seeds(0, 50) {
        let program = program(seed);
        let machine = Machine::new(&program, &AllLive, true);
        let model = Unfolding::<State>::new(&machine);
        let mut initial = Vec::new();
        model.initial(&mut initial);
        let [start] = &initial[..] else {
            panic!("one state stands for all")
        };
        let main = program.procedure(program.main);
        assert_eq!(machine.layout.node(start), main.entry.0);
        let values = read(fields(&machine, program.main), start);
        assert!(values.iter().all(Option::is_none));
        let exit = Valued {
            control: Control::Exit(program.main),
            globals: any(machine.layout.globals.iter(), &mut Random::new(seed)),
            locals: vec![None; main.results.len()],
        };
        let after = model.terminated(&machine.pack(&exit)).expect("it goes on");
        assert_eq!(machine.layout.status(&after), Status::Terminated);
        assert_eq!(read(&machine.layout.globals, &after), exit.globals);
        let mut steps = Steps::new();
        model.steps(&after, &mut steps);
        assert_eq!(steps.items(), [Step::Internal(after)]);
    }
}
