//! From an engine's trace back to a concrete execution of the program.
//!
//! The engine's states leave open what nobody has read and what cannot matter. Two passes close
//! the gaps:
//!
//! * **Backward**, what is *wanted*: a variable that is unknown at a position is wanted to have the
//!   value it has, or is wanted to have, at the next position, unless the step between
//!   gives it a new one. (If the step moves it elsewhere unread, it is wanted to have the
//!   value the new place is wanted to have.)
//! * **Forward**, the run itself: the original program is executed step by step from the first
//!   position; wherever there is a choice, it is made as the next position knows or wants it, and
//!   otherwise so that the variable keeps its value.
//!
//! Folded runs are treated once for each different demand made on them, and shared: the result is about as
//! large as the trace. Both passes keep their own stacks.
//!
//! A lasso has to come back to the very same values. What the engine left open because it cannot
//! matter may differ after one round, so rounds are added until the values repeat.
//!
//! The result is handed to the replayer, which shares nothing with this code.

use droste_base::{Cycle, Position, Step as ModelStep, Steps, Trace, Via};
use droste_lang::execution::{
    Action, CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation,
};
use droste_lang::program::{ExprNode, NodeId, Op, Program, Value, VarRef, Violation};
use rustc_hash::FxHashMap;

use crate::code::convert;
use crate::layout::{Field, Status};
use crate::machine::{AllLive, Machine};
use crate::words::Words;

/// Why a trace could not be made concrete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The values of a lasso did not repeat within the rounds tried; a search without
    /// the dead-variables pass gives one that does.
    Lasso,
    /// No concrete step matches the trace at this position: a fault of ours.
    Step(usize),
}

/// The concrete execution of `program` that `trace` describes, which was found in `cleaned`.
pub fn concretize<W: Words>(
    program: &Program,
    cleaned: &Program,
    trace: &Trace<W>,
) -> Result<Execution, Gap> {
    let machine = Machine::new(program, &AllLive, true);
    let runs = trace.runs.iter().map(|run| Path::new(&run.positions)).collect();
    let exits = trace.runs.iter().map(|run| &run.exit).collect();
    let main = Path::new(&trace.positions);
    let mut work =
        Concretizer { cleaned, machine: &machine, runs, exits, plans: Vec::new(), known: FxHashMap::default() };
    let plan = work.plan_main(&main, trace.cycle);
    Forward {
        work: &work,
        steps: Steps::new(),
        runs: Vec::new(),
        known: FxHashMap::default(),
    }
    .main(&main, &plan, trace.cycle)
}

/// A trace or run without refinements: one state per position, as refined as it gets.
struct Path<'a, W> {
    states: Vec<&'a W>,
    vias: Vec<Via>,
    /// For each position of the trace, the position here.
    places: Vec<usize>,
}

impl<'a, W> Path<'a, W> {
    fn new(positions: &'a [Position<W>]) -> Self {
        let mut path = Path { states: Vec::new(), vias: Vec::new(), places: Vec::new() };
        for position in positions {
            match (position.via, path.states.last_mut()) {
                (Via::Refine, Some(last)) => *last = &position.state,
                (via, _) => {
                    path.states.push(&position.state);
                    path.vias.push(via);
                }
            }
            path.places.push(path.states.len() - 1);
        }
        path
    }
}

/// Values wanted of unknown variables, by slot, sorted.
type Wants = Vec<(u32, u64)>;

/// What is wanted at each position of a path, and the plan behind each summary edge.
struct Plan {
    run: u32,
    wants: Vec<Wants>,
    /// For each position, the plan of the run on the edge into it.
    inner: Vec<u32>,
    /// What is wanted of the exit.
    exit: Wants,
}

struct Concretizer<'a, W> {
    /// The program the engine saw: it decides what moves where unread.
    cleaned: &'a Program,
    /// The program as it was written.
    machine: &'a Machine,
    runs: Vec<Path<'a, W>>,
    exits: Vec<&'a W>,
    plans: Vec<Plan>,
    known: FxHashMap<(u32, Wants), u32>,
}

const NO_PLAN: u32 = u32::MAX;

/// A path whose wants are being computed, from the end to the start.
struct Backward {
    /// The run, or none for the main path.
    run: Option<u32>,
    exit: Wants,
    /// Wants of the positions from `next` on, reversed.
    wants: Vec<Wants>,
    inner: Vec<u32>,
    next: usize,
}

fn lookup(wants: &Wants, slot: u32) -> Option<u64> {
    wants.binary_search_by_key(&slot, |&(slot, _)| slot).ok().map(|i| wants[i].1)
}

impl<W: Words> Concretizer<'_, W> {
    fn fields(&self, state: &W) -> impl Iterator<Item = &Field> {
        let layout = &self.machine.layout;
        let locals: &[Field] = match layout.status(state.words()) {
            Status::Terminated | Status::Exited => &[],
            _ => &layout.locals[self.machine.procedure(state.words()) as usize],
        };
        layout.globals.iter().chain(locals)
    }

    fn op(&self, state: &W) -> &Op {
        &self.cleaned.node(NodeId(self.machine.layout.node(state.words()))).op
    }

    fn slot(&self, var: VarRef) -> u32 {
        match var {
            VarRef::Global(i) => i,
            VarRef::Local(i) => i + self.machine.layout.globals.len() as u32,
        }
    }

    /// The value a variable has or is wanted to have.
    fn wanted(&self, state: &W, wants: &Wants, slot: u32) -> Option<u64> {
        let layout = &self.machine.layout;
        let known = match layout.status(state.words()) {
            Status::Terminated | Status::Exited if slot as usize >= layout.globals.len() => None,
            _ => self.machine.field(state.words(), slot).get(state.words()),
        };
        known.or_else(|| lookup(wants, slot))
    }

    /// Wants at `from`, of the variables unknown there, given a candidate for each.
    fn collect(&self, from: &W, mut candidate: impl FnMut(u32) -> Option<u64>) -> Wants {
        self.fields(from)
            .filter(|field| field.get(from.words()).is_none())
            .filter_map(|field| candidate(field.slot).map(|offset| (field.slot, offset)))
            .collect()
    }

    /// Wants at `from`, whose step (not a summary) leads to `to`.
    fn before_step(&self, from: &W, to: &W, wants: &Wants, via: Via) -> Wants {
        let globals = self.machine.layout.globals.len() as u32;
        let after = |slot| self.wanted(to, wants, slot);
        match (via, self.op(from)) {
            (Via::Call(_), Op::Call { args, .. }) => self.collect(from, |slot| {
                if slot < globals {
                    return after(slot);
                }
                args.iter().enumerate().find_map(|(i, arg)| match arg.nodes[..] {
                    [ExprNode::Var(var)] if self.slot(var) == slot => after(globals + i as u32),
                    _ => None,
                })
            }),
            (Via::Terminated, _) => {
                self.collect(from, |slot| if slot < globals { after(slot) } else { None })
            }
            (_, Op::Assign { assigns, .. }) => self.collect(from, |slot| {
                let moved = assigns.iter().find_map(|(to, expr)| match expr.nodes[..] {
                    [ExprNode::Var(var)] if self.slot(var) == slot => after(self.slot(*to)),
                    _ => None,
                });
                let written = assigns.iter().any(|(var, _)| self.slot(*var) == slot);
                moved.or_else(|| if written { None } else { after(slot) })
            }),
            _ => self.collect(from, after),
        }
    }

    /// What is wanted of the exit of the call at `from`, given the state after the return.
    fn at_exit(&self, from: &W, to: &W, wants: &Wants, exit: &W) -> Wants {
        let layout = &self.machine.layout;
        let Op::Call { callee, targets, .. } = self.op(from) else { return Wants::new() };
        let mut out = Wants::new();
        for field in &layout.globals {
            let overwritten =
                targets.iter().flatten().any(|var| self.slot(*var) == field.slot);
            if !overwritten
                && field.get(exit.words()).is_none()
                && let Some(offset) = self.wanted(to, wants, field.slot)
            {
                out.push((field.slot, offset));
            }
        }
        // Any value that is stored as this one, or fails to be stored with this violation.
        let find = |field: &Field, to: &Field, wanted: Result<Value, Violation>| {
            let mut offsets = (0..=field.top).take(1 << 24);
            offsets.find(|&offset| convert(field.value(offset), to.ty) == wanted)
        };
        let results = layout.results[callee.0 as usize].iter().zip(targets);
        let results = results.filter_map(|(result, target)| target.map(|var| (result, var)));
        let status = layout.status(to.words());
        let mut failing = None;
        for (result, var) in results {
            let target = self.machine.field(from.words(), self.slot(var));
            match (result.get(exit.words()), status) {
                // Storing this one fails, or those after it do.
                (known, Status::Failed(Violation::OutOfRange)) => {
                    let fails = match known {
                        Some(offset) => convert(result.value(offset), target.ty).err().map(|_| None),
                        None => find(result, target, Err(Violation::OutOfRange)).map(Some),
                    };
                    failing = failing.or(fails.map(|offset| (result.slot, offset)));
                }
                (None, _) => {
                    let wanted = self.wanted(to, wants, target.slot);
                    let source = wanted.and_then(|offset| {
                        find(result, target, Ok(target.value(offset)))
                    });
                    out.extend(source.map(|offset| (result.slot, offset)));
                }
                (Some(_), _) => {}
            }
        }
        if let Some((slot, Some(offset))) = failing {
            out.push((slot, offset));
        }
        out
    }

    /// Wants at the call `from`, given those at the callee's entry and after the return.
    fn before_call(&self, from: &W, to: &W, wants: &Wants, entry: &W, at_entry: &Wants) -> Wants {
        let globals = self.machine.layout.globals.len() as u32;
        let Op::Call { args, targets, .. } = self.op(from) else { return Wants::new() };
        self.collect(from, |slot| {
            if slot < globals {
                return self.wanted(entry, at_entry, slot);
            }
            let moved = args.iter().enumerate().find_map(|(i, arg)| match arg.nodes[..] {
                [ExprNode::Var(var)] if self.slot(var) == slot => {
                    self.wanted(entry, at_entry, globals + i as u32)
                }
                _ => None,
            });
            let written = targets.iter().flatten().any(|var| self.slot(*var) == slot);
            moved.or_else(|| if written { None } else { self.wanted(to, wants, slot) })
        })
    }

    /// Wants at the return `from`, given those at the exit.
    fn before_exit(&self, from: &W, exit: &W, wants: &Wants) -> Wants {
        let globals = self.machine.layout.globals.len() as u32;
        let Op::Return(values) = self.op(from) else { return Wants::new() };
        self.collect(from, |slot| {
            if slot < globals {
                return self.machine.layout.globals[slot as usize]
                    .get(exit.words())
                    .or_else(|| lookup(wants, slot));
            }
            values.iter().enumerate().find_map(|(i, value)| match value.nodes[..] {
                [ExprNode::Var(var)] if self.slot(var) == slot => {
                    lookup(wants, globals + i as u32)
                }
                _ => None,
            })
        })
    }

    fn begin(&self, run: u32, exit: Wants) -> Backward {
        let path = &self.runs[run as usize];
        let last = path.states.len() - 1;
        let wants = self.before_exit(path.states[last], self.exits[run as usize], &exit);
        Backward { run: Some(run), exit, wants: vec![wants], inner: Vec::new(), next: last }
    }

    /// Plans the main path, with `last` wanted at its end.
    fn plan_from(&mut self, main: &Path<'_, W>, last: Wants) -> Plan {
        let mut stack = vec![Backward {
            run: None,
            exit: Wants::new(),
            wants: vec![last],
            inner: Vec::new(),
            next: main.states.len() - 1,
        }];
        loop {
            let depth = stack.len() - 1;
            let frame = &mut stack[depth];
            let path = match frame.run {
                Some(run) => &self.runs[run as usize],
                None => main,
            };
            let i = frame.next;
            if i == 0 {
                frame.inner.push(NO_PLAN);
                frame.wants.reverse();
                frame.inner.reverse();
                let Backward { run, exit, wants, inner, .. } = stack.swap_remove(depth);
                let Some(run) = run else {
                    return Plan { run: NO_PLAN, wants, inner, exit };
                };
                self.known.insert((run, exit.clone()), self.plans.len() as u32);
                self.plans.push(Plan { run, wants, inner, exit });
                continue;
            }
            let (from, to) = (path.states[i - 1], path.states[i]);
            let wants = &frame.wants[frame.wants.len() - 1];
            let (before, inner) = match path.vias[i] {
                Via::Summary(_, run) => {
                    let exit = self.at_exit(from, to, wants, self.exits[run.0 as usize]);
                    let key = (run.0, exit);
                    let Some(&plan) = self.known.get(&key) else {
                        let frame = self.begin(key.0, key.1);
                        stack.push(frame);
                        continue;
                    };
                    let entry = self.runs[run.0 as usize].states[0];
                    let at_entry = &self.plans[plan as usize].wants[0];
                    (self.before_call(from, to, wants, entry, at_entry), plan)
                }
                via => (self.before_step(from, to, wants, via), NO_PLAN),
            };
            let frame = &mut stack[depth];
            frame.wants.push(before);
            frame.inner.push(inner);
            frame.next = i - 1;
        }
    }

    fn plan_main(&mut self, main: &Path<'_, W>, cycle: Option<Cycle>) -> Plan {
        let mut plan = self.plan_from(main, Wants::new());
        let Some(cycle) = cycle else { return plan };
        // What is wanted at the start of the cycle is wanted at its end; and, if an unknown value moves from one
        // variable to another, at the end of the round before. Each round settles one more.
        let start = main.places[cycle.start];
        let last = main.states[main.states.len() - 1];
        for _ in 0..=self.fields(last).count() {
            let wants = self.collect(last, |slot| {
                self.wanted(main.states[start], &plan.wants[start], slot)
            });
            if plan.wants.last() == Some(&wants) {
                break;
            }
            plan = self.plan_from(main, wants);
        }
        plan
    }
}

/// A path that is being executed.
struct Frame<W> {
    plan: u32,
    /// The state the run was entered with: its key.
    entry: W,
    /// The position control is at.
    at: usize,
    state: W,
    steps: Vec<Step>,
}

struct Forward<'a, 'b, W> {
    work: &'a Concretizer<'b, W>,
    steps: Steps<W>,
    runs: Vec<CalleeRun>,
    /// Plan and entry state, to the finished run and its exit state.
    known: FxHashMap<(u32, W), (CalleeRunId, W)>,
}

/// How far a path got with one step.
enum Advance<W> {
    Done,
    /// This run of a callee is needed first.
    Enter(u32, W),
}

impl<W: Words> Forward<'_, '_, W> {
    /// Completes a state: what is unknown is as wanted, or as it was before, or nothing special.
    fn complete(
        &self,
        state: &mut W,
        fields: &[Field],
        wanted: impl Fn(u32) -> Option<u64>,
        before: Option<&W>,
    ) {
        for field in self.work.machine.layout.globals.iter().chain(fields) {
            if field.get(state.words()).is_none() {
                let kept = before.and_then(|before| field.get(before.words()));
                let zero = if field.ty.lo() <= 0 && field.ty.hi() >= 0 {
                    field.offset(0)
                } else {
                    0
                };
                let offset = wanted(field.slot).or(kept).unwrap_or(zero);
                field.set(state.words_mut(), Some(offset));
            }
        }
    }

    /// Whether a concrete state agrees with what is wanted.
    fn agrees(state: &W, fields: &[Field], globals: &[Field], wanted: impl Fn(u32) -> Option<u64>) -> bool {
        globals.iter().chain(fields).all(|field| {
            match (field.get(state.words()), wanted(field.slot)) {
                (Some(is), Some(wanted)) => is == wanted,
                _ => true,
            }
        })
    }

    fn locals(&self, state: &W) -> &[Field] {
        let machine = self.work.machine;
        match machine.layout.status(state.words()) {
            Status::Terminated | Status::Exited => &[],
            _ => &machine.layout.locals[machine.procedure(state.words()) as usize],
        }
    }

    /// Picks the step that leads to `target`, and completes the state it leads to.
    fn pick(
        &mut self,
        target: &W,
        wants: &Wants,
        before: Option<&W>,
        get: impl Fn(ModelStep<W>) -> Option<W>,
    ) -> Option<W> {
        let layout = &self.work.machine.layout;
        let control = |state: &W| (layout.node(state.words()), layout.status(state.words()));
        let work = self.work;
        let wanted = |slot| work.wanted(target, wants, slot);
        let mut steps = std::mem::take(&mut self.steps);
        let fields = self.locals(target);
        let mut found = steps.drain().filter_map(get).find(|state| {
            control(state) == control(target)
                && Self::agrees(state, fields, &layout.globals, wanted)
        });
        if let Some(state) = &mut found {
            self.complete(state, fields, wanted, before);
        }
        self.steps = steps;
        found
    }

    fn value(field: &Field, words: &[u64]) -> Value {
        field.value(field.get(words).unwrap_or(0))
    }

    fn valuation(&self, state: &W) -> Valuation {
        let values = |fields: &[Field]| {
            fields.iter().map(|field| Self::value(field, state.words())).collect()
        };
        Valuation {
            globals: values(&self.work.machine.layout.globals),
            locals: values(self.locals(state)),
        }
    }

    fn changes(&self, from: &W, to: &W) -> Vec<(VarRef, Value)> {
        let layout = &self.work.machine.layout;
        let globals = layout.globals.iter().enumerate();
        let locals = self.locals(from).iter().enumerate();
        globals
            .map(|(i, field)| (VarRef::Global(i as u32), field))
            .chain(locals.map(|(i, field)| (VarRef::Local(i as u32), field)))
            .filter(|(_, field)| field.get(from.words()) != field.get(to.words()))
            .map(|(var, field)| (var, Self::value(field, to.words())))
            .collect()
    }

    fn node(&self, state: &W) -> NodeId {
        NodeId(self.work.machine.layout.node(state.words()))
    }

    /// Executes the step from position `frame.at` of `path` to the next.
    fn advance(
        &mut self,
        frame: &mut Frame<W>,
        path: &Path<'_, W>,
        plan: &Plan,
    ) -> Result<Advance<W>, Gap> {
        let work = self.work;
        let machine = work.machine;
        let i = frame.at + 1;
        let target = path.states[i];
        let wants = &plan.wants[i];
        let gap = Gap::Step(frame.at);
        let node = self.node(&frame.state);
        let goal = |slot: u32| work.wanted(target, wants, slot);
        self.steps.clear();
        let none: crate::machine::Goal<'_> = &|_| None;
        let same_frame = matches!(path.vias[i], Via::Step);
        let choice: crate::machine::Goal<'_> = if same_frame { &goal } else { none };
        if machine.execute(&frame.state, Some(choice), &mut self.steps).is_err() {
            return Err(gap);
        }
        let (next, action) = match path.vias[i] {
            Via::Step => {
                let before = frame.state.clone();
                let next = self
                    .pick(target, wants, Some(&before), |step| match step {
                        ModelStep::Internal(state) => Some(state),
                        _ => None,
                    })
                    .ok_or(gap)?;
                let action = match machine.layout.status(next.words()) {
                    Status::Failed(violation) => Action::Fail(violation),
                    _ => Action::Internal {
                        to: self.node(&next),
                        changes: self.changes(&frame.state, &next),
                    },
                };
                (next, action)
            }
            Via::Call(_) => {
                let next = self.pick(target, wants, None, entry_of).ok_or(gap)?;
                let locals = self.valuation(&next).locals;
                (next, Action::Call { locals })
            }
            Via::Summary(..) => {
                let inner = plan.inner[i];
                let inner_plan = &work.plans[inner as usize];
                let first = work.runs[inner_plan.run as usize].states[0];
                let entry =
                    self.pick(first, &inner_plan.wants[0], None, entry_of).ok_or(gap)?;
                let Some((run, exit)) = self.known.get(&(inner, entry.clone())) else {
                    return Ok(Advance::Enter(inner, entry));
                };
                let run = *run;
                self.steps.clear();
                machine.resume(&frame.state, exit, Some(&goal), &mut self.steps);
                let before = frame.state.clone();
                let next = self
                    .pick(target, wants, Some(&before), |step| match step {
                        ModelStep::Internal(state) => Some(state),
                        _ => None,
                    })
                    .ok_or(gap)?;
                if let Status::Failed(violation) = machine.layout.status(next.words()) {
                    // Storing the results fails: a violation of the callee's return.
                    let run = &self.runs[run.0 as usize];
                    let locals = run.entry.locals.clone();
                    frame.steps.push(Step { node, action: Action::Call { locals } });
                    frame.steps.extend_from_slice(&run.steps);
                    frame.steps.push(Step { node: run.exit, action: Action::Fail(violation) });
                    frame.state = next;
                    frame.at = i;
                    return Ok(Advance::Done);
                }
                let to = self.node(&next);
                let changes = self.changes(&frame.state, &next);
                (next, Action::Folded { run, to, changes })
            }
            Via::Terminated => {
                let next = self
                    .pick(target, wants, None, |step| match step {
                        ModelStep::Exit(exit) => Some(machine.terminated(&exit)),
                        _ => None,
                    })
                    .ok_or(gap)?;
                (next, Action::Terminate)
            }
            Via::Start | Via::Refine => return Err(gap),
        };
        frame.steps.push(Step { node, action });
        frame.state = next;
        frame.at = i;
        Ok(Advance::Done)
    }

    /// The end of a callee's run: its return.
    fn finish(&mut self, frame: Frame<W>, path: &Path<'_, W>, plan: &Plan) -> Result<(), Gap> {
        let work = self.work;
        let machine = work.machine;
        let run = plan.run as usize;
        let gap = Gap::Step(path.states.len());
        self.steps.clear();
        if machine.execute(&frame.state, None, &mut self.steps).is_err() {
            return Err(gap);
        }
        let procedure = machine.procedure(frame.state.words()) as usize;
        let results = &machine.layout.results[procedure];
        let known = work.exits[run];
        // Known results are what they are; they may be placeholders where nobody looks at them.
        let wanted = |slot: u32| {
            let global = machine.layout.globals.get(slot as usize);
            global.and_then(|field| field.get(known.words())).or_else(|| lookup(&plan.exit, slot))
        };
        let exits: Vec<W> = self
            .steps
            .drain()
            .filter_map(|step| match step {
                ModelStep::Exit(exit) => Some(exit),
                _ => None,
            })
            .collect();
        let mut exit = exits
            .into_iter()
            .find(|exit| Self::agrees(exit, results, &machine.layout.globals, wanted))
            .ok_or(gap)?;
        self.complete(&mut exit, results, wanted, None);
        let id = CalleeRunId(self.runs.len() as u32);
        self.runs.push(CalleeRun {
            entry: self.valuation(&frame.entry),
            exit: self.node(&frame.state),
            results: results.iter().map(|field| Self::value(field, exit.words())).collect(),
            steps: frame.steps,
        });
        self.known.insert((frame.plan, frame.entry), (id, exit));
        Ok(())
    }

    /// Executes one step of the main path, and every run it needs.
    fn advance_main(
        &mut self,
        main: &mut Frame<W>,
        path: &Path<'_, W>,
        plan: &Plan,
    ) -> Result<(), Gap> {
        let work = self.work;
        let mut stack: Vec<Frame<W>> = Vec::new();
        loop {
            let advance = match stack.last_mut() {
                None => match self.advance(main, path, plan)? {
                    Advance::Done => return Ok(()),
                    enter @ Advance::Enter(..) => enter,
                },
                Some(frame) => {
                    let plan = &work.plans[frame.plan as usize];
                    let path = &work.runs[plan.run as usize];
                    if frame.at + 1 == path.states.len() {
                        if let Some(frame) = stack.pop() {
                            self.finish(frame, path, plan)?;
                        }
                        continue;
                    }
                    self.advance(frame, path, plan)?
                }
            };
            if let Advance::Enter(plan, entry) = advance {
                let state = entry.clone();
                stack.push(Frame { plan, entry, at: 0, state, steps: Vec::new() });
            }
        }
    }

    fn main(
        mut self,
        path: &Path<'_, W>,
        plan: &Plan,
        cycle: Option<Cycle>,
    ) -> Result<Execution, Gap> {
        /// A lasso is unrolled to at most this many steps to make its values repeat.
        const MOST_STEPS: usize = 1 << 20;
        const MOST_ROUNDS: usize = 300;
        let layout = &self.work.machine.layout;
        let mut state = path.states[0].clone();
        let wanted = |slot| self.work.wanted(path.states[0], &plan.wants[0], slot);
        self.complete(&mut state, self.locals(path.states[0]), wanted, None);
        let start = self.valuation(&state);
        let mut main =
            Frame { plan: NO_PLAN, entry: state.clone(), at: 0, state, steps: Vec::new() };
        // In a terminated program nothing happens any more; its cycle needs no steps.
        let is_terminated = |state: &W| layout.status(state.words()) == Status::Terminated;
        let first = cycle.map(|cycle| path.places[cycle.start]);
        let last = match first {
            Some(first) if is_terminated(path.states[first]) => first,
            _ => path.states.len() - 1,
        };
        // The values at the start of each round, and the step it begins with.
        let mut rounds: Vec<(W, usize)> = Vec::new();
        loop {
            if Some(main.at) == first && main.at != last {
                rounds.push((main.state.clone(), main.steps.len()));
            }
            if main.at < last {
                self.advance_main(&mut main, path, plan)?;
                continue;
            }
            let (Some(first), Some(cycle)) = (first, cycle) else { break };
            if is_terminated(&main.state) {
                break;
            }
            if let Some(&(_, start_step)) = rounds.iter().find(|(state, _)| *state == main.state) {
                return Ok(Execution {
                    start,
                    runs: self.runs,
                    steps: main.steps,
                    ending: Ending::Lasso { start: start_step, pumping: cycle.pumping },
                });
            }
            if main.steps.len() > MOST_STEPS || rounds.len() > MOST_ROUNDS {
                return Err(Gap::Lasso);
            }
            main.at = first;
        }
        let ending = match main.steps.last().map(|step| &step.action) {
            Some(Action::Terminate) => Ending::Terminated,
            Some(Action::Fail(_)) => Ending::Final,
            _ => Ending::At(self.node(&main.state)),
        };
        Ok(Execution { start, runs: self.runs, steps: main.steps, ending })
    }
}

fn entry_of<W>(step: ModelStep<W>) -> Option<W> {
    match step {
        ModelStep::Call(_, entry) => Some(entry),
        _ => None,
    }
}
