//! A run through a machine, for people: statements with their lines, calls indented, heaps.

use std::collections::BTreeSet;

use droste_base::{Event, Model as _, PropId, Step, Steps, Trace, Via};
use droste_explicit::Spaces;
use droste_heap::Heap;
use droste_pointer::{Callees, Method, MethodId, Pc, Statement, Value};

use crate::contract::Broken;
use crate::machine::{Fault, Machine, State};
use crate::picture::Change;
use crate::task::Task;

/// What one step of a run was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A statement is executed.
    Step,
    /// The statement is a call, and what the callee does comes next.
    Call,
    /// The statement is a call whose steps, so many, are left out.
    Folded(u64),
    /// The method has come to its end.
    End,
    /// The program has come to its end.
    Terminated,
    /// The statement goes wrong.
    Fault(Fault),
    /// So many steps are left out before this one.
    Skipped(u64),
}

/// A position of a run, and the statement that is executed there.
#[derive(Clone, Debug)]
pub struct Position {
    /// How many calls are pending.
    pub depth: usize,
    /// What happens.
    pub kind: Kind,
    /// The method.
    pub method: String,
    /// The source file.
    pub file: String,
    /// The line, 0 if it is not known.
    pub line: u32,
    /// The statement.
    pub statement: String,
    /// If the method begins here: its receiver and its parameters.
    pub given: Vec<String>,
    /// What the statement changes.
    pub change: Change,
    /// Whether the statement is not worth a line: a jump, say, or a parameter gets its name.
    pub silent: bool,
    /// Whether it gives something to code that is not at hand, or is the first use of a class.
    pub hands: bool,
    /// Which way a branch goes: whether its condition holds.
    pub branch: Option<bool>,
    /// The heap before it.
    pub heap: Heap,
    /// Which propositions of the formula hold here, in the order of [`Run::propositions`].
    pub holds: Vec<bool>,
    /// Which state it is.
    pub(crate) state: Option<State>,
}

impl Position {
    /// The statement without positions in the code, which mean nothing to readers.
    pub fn told(&self) -> String {
        if self.statement.starts_with("choose ") {
            return "either way".to_owned();
        }
        match self.statement.split_once(" goto ") {
            Some((condition, _)) => condition.to_owned(),
            None => self.statement.clone(),
        }
    }

    /// Whether it does nothing but say where control goes.
    pub(crate) fn is_branch(&self) -> bool {
        self.statement.starts_with("choose ") || self.statement.starts_with("if ")
    }
}

/// A run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// From the beginning on.
    pub positions: Vec<Position>,
    /// For an infinite run: which position the last one repeats.
    pub cycle: Option<usize>,
    /// How many steps it has when everything is written out.
    pub length: u64,
    /// What is known about concrete heaps.
    pub reality: Reality,
    /// If it is no run but a call alone, how it is entered and how it is left: of this method.
    pub call_of: Option<MethodId>,
    /// The files and lines in which it takes a branch on something that is not modelled: nobody knows
    /// whether the program goes that way.
    pub guesses: BTreeSet<(String, u32)>,
    /// The files and lines in which the program may end before the run does, by an exception that is not
    /// followed since nobody catches it.
    pub doubts: BTreeSet<(String, u32)>,
    /// The methods without code of which it uses the contracts. A contract cannot be run on a concrete
    /// heap: it does not say which of its heaps comes of which.
    pub contracts: BTreeSet<String>,
    /// Whether a proposition does not recognise a structure that is there: `L(N)` where null is at
    /// several ends of a list.
    pub overlooks: bool,
    /// The propositions of the formula that is violated, as they are written.
    pub propositions: Vec<String>,
}

/// Whether a violation is one of the program.
#[derive(Clone, Debug, Default)]
pub enum Reality {
    /// Nobody has looked.
    #[default]
    Unasked,
    /// It is: on this heap it happens in this way.
    Real(Heap, Box<Run>),
    /// It did not happen on so many small heaps: it may be one of the abstraction alone. Whether time
    /// ran out before all were tried that there was room for.
    Doubtful(usize, bool),
}

impl Run {
    /// Writes a run out, in about so many steps. If calls are single steps, `spaces` say what they may
    /// have been.
    pub(crate) fn new(
        task: &Task,
        machine: &Machine<'_>,
        trace: &Trace<State>,
        limit: usize,
        spaces: Option<&Spaces<State>>,
    ) -> Self {
        let flat = trace.flatten(limit);
        let mut positions: Vec<Position> = Vec::with_capacity(flat.positions.len());
        for (at, position) in flat.positions.iter().enumerate() {
            let place = machine.place(*position.state);
            let method = task.program.method(place.method);
            let end = machine.end_of(place.method);
            let next = flat.positions.get(at + 1).map(|next| next.event);
            let kind = match (place.fault, next) {
                (Some(fault), _) => Kind::Fault(fault),
                (None, _) if place.pc > end => Kind::Terminated,
                (None, _) if place.pc == end => Kind::End,
                (None, Some(Event::Call(_))) => Kind::Call,
                (None, Some(Event::Folded { steps, .. })) => Kind::Folded(steps),
                _ => match position.event {
                    Event::Skipped(steps) => Kind::Skipped(steps),
                    _ => Kind::Step,
                },
            };
            // A fault is a state of its own; for people it is what the statement does.
            if let Kind::Fault(Fault::NullDereference | Fault::UnknownMemory) = kind {
                positions.pop();
            }
            let statement = match kind {
                // Objects may be lost when a method has come to its end.
                _ if place.pc == end => "end".to_owned(),
                Kind::Terminated => "end of the program".to_owned(),
                _ => task.program.print_statement(place.method, place.pc),
            };
            let line = match method.lines.get(place.pc as usize) {
                Some(&line) => line,
                None => method.lines.last().copied().unwrap_or(0),
            };
            positions.push(Position {
                depth: position.depth,
                kind,
                method: method.name.clone(),
                file: (task.program.files.get(method.file as usize).cloned()).unwrap_or_default(),
                line,
                statement,
                given: if at == 0 || matches!(position.event, Event::Call(_)) {
                    given(method)
                } else {
                    Vec::new()
                },
                change: change(task, place.method, place.pc),
                hands: matches!(
                    method.code.get(place.pc as usize),
                    Some(Statement::Hand { .. })
                ),
                silent: place.fault.is_none() && is_silent(method, place.pc),
                branch: branch(
                    method,
                    place.pc,
                    flat.positions.get(at + 1).and_then(|next| {
                        let next_place = machine.place(*next.state);
                        (next_place.fault.is_none() && next.depth == position.depth)
                            .then_some(next_place.pc)
                    }),
                ),
                heap: machine.heap(*position.state),
                holds: Vec::new(),
                state: Some(*position.state),
            });
        }
        let places = flat.positions.iter();
        let contracts = places.filter_map(|position| {
            let place = machine.place(*position.state);
            let method = task.program.method(place.method);
            match method.code.get(place.pc as usize) {
                Some(Statement::Call {
                    callees: Callees::Unavailable(called),
                    ..
                }) if task.contracts.methods().contains(called) => Some(called.clone()),
                _ => None,
            }
        });
        let states = states(machine, trace, spaces);
        Run {
            positions,
            contracts: contracts.collect(),
            guesses: spots(machine, &states, |one| machine.is_guess(one)),
            doubts: spots(machine, &states, |one| machine.is_doubt(one)),
            cycle: flat.cycle,
            length: trace.length(),
            ..Run::default()
        }
    }

    /// Notes at each position which of these propositions hold.
    pub(crate) fn mark(&mut self, machine: &Machine<'_>, propositions: Vec<(PropId, String)>) {
        for position in &mut self.positions {
            if let Some(state) = position.state {
                let holds = |&(id, _): &(PropId, String)| machine.holds(&state, id);
                position.holds = propositions.iter().map(holds).collect();
                let mut all = propositions.iter();
                self.overlooks |= all.any(|&(id, _)| machine.overlooks(state, id));
            }
        }
        self.propositions = propositions.into_iter().map(|(_, name)| name).collect();
    }
}

impl Run {
    /// A call alone: the heap in which a method is entered, and one in which it is left although its
    /// contract does not have it.
    pub(crate) fn of_call(task: &Task, broken: &Broken) -> Self {
        let method = task.program.method(broken.method);
        let position = |kind, line: Option<&u32>, statement: &str, heap: &Heap| Position {
            depth: 0,
            kind,
            method: method.name.clone(),
            file: (task.program.files.get(method.file as usize).cloned()).unwrap_or_default(),
            line: line.copied().unwrap_or(0),
            statement: statement.to_owned(),
            given: Vec::new(),
            change: Change::default(),
            silent: false,
            hands: false,
            branch: None,
            heap: heap.clone(),
            holds: Vec::new(),
            state: None,
        };
        let enter = position(
            Kind::Call,
            method.lines.first(),
            "entered with this heap",
            &broken.before,
        );
        let (kind, words) = if broken.thrown {
            (
                Kind::Fault(Fault::Thrown),
                "left by an exception with this heap",
            )
        } else {
            (Kind::End, "left with this heap")
        };
        let leave = position(kind, method.lines.last(), words, &broken.after);
        Run {
            positions: vec![enter, leave],
            length: 2,
            call_of: Some(broken.method),
            ..Run::default()
        }
    }
}

/// The states of a run, also those that are not written out. Of a call that is a single step it is not
/// known which way it went: all that its callee may do counts.
fn states(
    machine: &Machine<'_>,
    trace: &Trace<State>,
    spaces: Option<&Spaces<State>>,
) -> BTreeSet<State> {
    let runs = trace.runs.iter().map(|run| &run.positions);
    let mut states: BTreeSet<State> = BTreeSet::new();
    for positions in runs.chain([&trace.positions]) {
        states.extend(positions.iter().map(|one| one.state));
        for pair in positions.windows(2) {
            if pair[1].via == Via::Step
                && let Some(spaces) = spaces
            {
                states.extend(inside(machine, spaces, pair[0].state));
            }
        }
    }
    states
}

/// The files and lines of those states of which this is true.
fn spots(
    machine: &Machine<'_>,
    states: &BTreeSet<State>,
    wanted: impl Fn(State) -> bool,
) -> BTreeSet<(String, u32)> {
    let found = states.iter().filter(|&&one| wanted(one));
    let places = found.map(|&one| machine.place(one));
    places
        .map(|place| machine.spot(place.method, place.pc))
        .collect()
}

/// The states of all methods that run if the statement of this state is a call.
fn inside(machine: &Machine<'_>, spaces: &Spaces<State>, caller: State) -> BTreeSet<State> {
    let mut found = BTreeSet::new();
    let mut known = BTreeSet::new();
    let mut todo = vec![caller];
    let mut steps = Steps::new();
    while let Some(state) = todo.pop() {
        machine.steps(&state, &mut steps);
        for step in steps.drain() {
            if let Step::Call(_, entry) = step
                && known.insert(entry)
                && let Some(space) = spaces.of(&entry)
            {
                found.extend(space.states.iter().copied());
                todo.extend(space.states.iter().copied());
            }
        }
    }
    found
}

/// The variables of a method that have a value when it begins.
fn given(method: &Method) -> Vec<String> {
    let given = method.code.iter().map_while(|statement| match statement {
        Statement::Assign {
            to,
            value: Value::This | Value::Parameter(_),
        } => Some(method.local(*to).to_owned()),
        _ => None,
    });
    given.collect()
}

fn is_silent(method: &Method, pc: Pc) -> bool {
    let statement = method.code.get(pc as usize);
    matches!(
        statement,
        Some(
            Statement::Goto(_)
                | Statement::Nop
                | Statement::Doubt(_)
                | Statement::Throw { .. }
                | Statement::Caught { .. }
                | Statement::Assign {
                    value: Value::This | Value::Parameter(_) | Value::Exception,
                    ..
                }
        )
    )
}

/// Which way a branch goes, if control is at `next` afterwards.
fn branch(method: &Method, pc: Pc, next: Option<Pc>) -> Option<bool> {
    match method.code.get(pc as usize)? {
        Statement::Branch { yes, no, .. } if yes != no && next == Some(*yes) => Some(true),
        Statement::Branch { yes, no, .. } if yes != no && next == Some(*no) => Some(false),
        _ => None,
    }
}

/// What a statement changes.
fn change(task: &Task, method: MethodId, pc: Pc) -> Change {
    let method = task.program.method(method);
    match method.code.get(pc as usize) {
        Some(Statement::Assign { to, .. } | Statement::Call { to: Some(to), .. }) => Change {
            variable: Some(method.local(*to).to_owned()),
            field: None,
        },
        Some(Statement::Store { base, field, .. }) => Change {
            variable: None,
            field: Some((
                method.local(*base).to_owned(),
                task.program.field(*field).to_owned(),
            )),
        },
        _ => Change::default(),
    }
}
