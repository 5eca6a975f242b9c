//! The forward pass: the original program, executed along a plan.
//!
//! Wherever a step leaves a choice, the choice is made as the next position knows or wants it;
//! otherwise the variable keeps its value. Each run is executed once for each different entry.
//! Entries that differ only in what no statement of the run mentions share its steps.

use std::sync::Arc;

use droste_base::{Cycle, Guard, Step as ModelStep, Steps};
use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Changes, Ending, Execution, Step, Valuation,
};
use droste_program::{NodeId, Op, Program, Value, VarRef};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Gap;
use super::demands::{Wants, lookup};
use super::paths::{Edge, Path};
use super::plan::{Concretizer, Plan};
use crate::layout::{Field, Layout, Status};
use crate::words::Words;

/// A path that is being executed.
struct Frame<W> {
    plan: u32,
    /// The state the run was entered with: its key.
    entry: W,
    /// The position control is at.
    at: usize,
    /// How many summary edges have been passed.
    summaries: usize,
    state: W,
    /// What the call at `at` enters its callee with, if the run of that has been waited for.
    entered: Option<W>,
    steps: Vec<Step>,
    /// The bits of all that the statements so far mention.
    mentioned: W,
}

/// A finished run.
#[derive(Clone)]
struct Finished<W> {
    entry: W,
    /// The bits of all that its statements mention.
    mentioned: W,
    /// What the caller gets to see.
    exit: W,
    run: CalleeRunId,
}

pub(super) struct Forward<'a, 'b, W> {
    work: &'a Concretizer<'b, W>,
    guard: &'a mut Guard,
    steps: Steps<W>,
    runs: Vec<CalleeRun>,
    /// Per node of the program the bits of what its statement mentions.
    mentions: Vec<u64>,
    /// For each plan the first entry it was executed with.
    first: Vec<Option<Finished<W>>>,
    /// For plans whose first run shares its steps with others: the last of these, and its entry.
    last: FxHashMap<u32, (W, CalleeRunId)>,
    /// Plan and entry state, for all others.
    others: FxHashMap<(u32, W), (W, CalleeRunId)>,
    /// Changes are shared: the same few come again and again.
    shared: FxHashSet<Changes>,
}

/// How far a path got with one step.
enum Advance<W> {
    Done,
    /// This run of a callee is needed first.
    Enter(u32, W),
}

impl<'a, 'b, W: Words> Forward<'a, 'b, W> {
    pub(super) fn new(
        program: &Program,
        work: &'a Concretizer<'b, W>,
        guard: &'a mut Guard,
    ) -> Self {
        Forward {
            work,
            guard,
            mentions: mentions(program, &work.machine.layout),
            steps: Steps::new(),
            runs: Vec::with_capacity(work.plans.len()),
            first: vec![None; work.plans.len()],
            last: FxHashMap::default(),
            others: FxHashMap::default(),
            shared: FxHashSet::default(),
        }
    }

    /// The run of a plan from an entry, if it has been executed: what the caller gets to see, and
    /// the run.
    fn finished(&mut self, plan: u32, entry: &W) -> Option<(W, CalleeRunId)> {
        let first = self.first[plan as usize].as_ref()?;
        if first.entry == *entry {
            return Some((first.exit.clone(), first.run));
        }
        if !self.others.is_empty()
            && let Some((exit, run)) = self.others.get(&(plan, entry.clone()))
        {
            return Some((exit.clone(), *run));
        }
        let pairs = entry.words().iter().zip(first.entry.words());
        let mut pairs = pairs.zip(first.mentioned.words());
        if !pairs.all(|((a, b), mentioned)| (a ^ b) & mentioned == 0) {
            return None;
        }
        // The same steps, and globals that the run leaves as they are.
        let mut exit = first.exit.clone();
        let kept = entry.words().iter().zip(first.mentioned.words());
        let kept = kept.zip(&self.work.machine.global_mask);
        for (word, ((entry, mentioned), global)) in exit.words_mut().iter_mut().zip(kept) {
            let kept = global & !mentioned;
            *word = *word & !kept | entry & kept;
        }
        if let Some((last, run)) = self.last.get(&plan)
            && last == entry
        {
            return Some((exit, *run));
        }
        let run = CalleeRunId(self.runs.len() as u32);
        self.last.insert(plan, (entry.clone(), run));
        let same = &self.runs[first.run.0 as usize];
        let (steps, node, results) = (Arc::clone(&same.steps), same.exit, same.results.clone());
        self.runs.push(CalleeRun {
            entry: self.valuation(entry),
            steps,
            exit: node,
            results,
        });
        Some((exit, run))
    }

    /// The statement at a node has been executed.
    fn mention(&self, mentioned: &mut W, node: NodeId) {
        let words = self.work.machine.layout.words;
        let bits = &self.mentions[node.0 as usize * words..];
        for (word, bits) in mentioned.words_mut().iter_mut().zip(bits) {
            *word |= bits;
        }
    }

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
    fn agrees(
        state: &W,
        fields: &[Field],
        globals: &[Field],
        wanted: impl Fn(u32) -> Option<u64>,
    ) -> bool {
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
        let fails = matches!(layout.status(target.words()), Status::Failed(_));
        let mut found = steps.drain().filter_map(get).find(|state| {
            control(state) == control(target)
                && (fails || Self::agrees(state, fields, &layout.globals, wanted))
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
            fields
                .iter()
                .map(|field| Self::value(field, state.words()))
                .collect()
        };
        Valuation {
            globals: values(&self.work.machine.layout.globals),
            locals: values(self.locals(state)),
        }
    }

    fn changes(&mut self, from: &W, to: &W) -> Changes {
        let layout = &self.work.machine.layout;
        if layout.same_values(from.words(), to.words()) {
            return Changes::default();
        }
        let globals = layout.globals.iter().enumerate();
        let locals = self.locals(from).iter().enumerate();
        let changes: Changes = globals
            .map(|(i, field)| (VarRef::Global(i as u32), field))
            .chain(locals.map(|(i, field)| (VarRef::Local(i as u32), field)))
            .filter(|(_, field)| field.get(from.words()) != field.get(to.words()))
            .map(|(var, field)| (var, Self::value(field, to.words())))
            .collect();
        if changes.is_empty() {
            return changes;
        }
        if let Some(known) = self.shared.get(&changes) {
            return known.clone();
        }
        self.shared.insert(changes.clone());
        changes
    }

    fn node(&self, state: &W) -> NodeId {
        NodeId(self.work.machine.layout.node(state.words()))
    }

    /// Executes the step from position `frame.at` of `path` to the next.
    fn advance(
        &mut self,
        frame: &mut Frame<W>,
        path: Path<'_, W>,
        plan: &Plan,
    ) -> Result<Advance<W>, Gap> {
        let work = self.work;
        let machine = work.machine;
        let i = frame.at + 1;
        let target = &path.states[i];
        let wants = work.wants_at(plan, i);
        let at = frame.at;
        let gap = || Gap::Step(at);
        let node = self.node(&frame.state);
        let goal = |slot: u32| work.wanted(target, wants, slot);
        self.steps.clear();
        let none: crate::machine::Goal<'_> = &|_| None;
        // A step that fails has not led anywhere: every choice it offers is tried.
        let fails = matches!(machine.layout.status(target.words()), Status::Failed(_));
        let same_frame = path.edge(i) == Edge::Step && !fails;
        let choice: crate::machine::Goal<'_> = if same_frame { &goal } else { none };
        let entered = frame.entered.take();
        if entered.is_none()
            && machine
                .execute(&frame.state, Some(choice), &mut self.steps)
                .is_err()
        {
            return Err(gap());
        }
        let (next, action) = match path.edge(i) {
            Edge::Step => {
                let before = frame.state.clone();
                let next = self.pick(target, wants, Some(&before), step_of);
                let next = next.ok_or_else(gap)?;
                let action = match machine.layout.status(next.words()) {
                    Status::Failed(violation) => Action::Fail(violation),
                    _ => Action::Internal {
                        to: self.node(&next),
                        changes: self.changes(&frame.state, &next),
                    },
                };
                (next, action)
            }
            Edge::Call => {
                let next = self.pick(target, wants, None, entry_of).ok_or_else(gap)?;
                let locals = self.valuation(&next).locals.into();
                (next, Action::Call { locals })
            }
            Edge::Summary(run) => {
                let inner = work.inner(plan, frame.summaries);
                let first = &work.paths.run(run).states[0];
                let at_entry = work.wants_at(&work.plans[inner as usize], 0);
                let entry = match entered {
                    Some(entry) => entry,
                    None => self.pick(first, at_entry, None, entry_of).ok_or_else(gap)?,
                };
                let Some((exit, run)) = self.finished(inner, &entry) else {
                    frame.entered = Some(entry.clone());
                    return Ok(Advance::Enter(inner, entry));
                };
                frame.summaries += 1;
                self.steps.clear();
                machine.resume(&frame.state, &exit, Some(&goal), &mut self.steps);
                let before = frame.state.clone();
                let next = self.pick(target, wants, Some(&before), step_of);
                let next = next.ok_or_else(gap)?;
                if let Status::Failed(violation) = machine.layout.status(next.words()) {
                    // Storing the results fails: a violation of the callee's return.
                    let run = &self.runs[run.0 as usize];
                    let locals = run.entry.locals.clone().into();
                    frame.steps.push(Step {
                        node,
                        action: Action::Call { locals },
                    });
                    frame.steps.extend_from_slice(&run.steps);
                    frame.steps.push(Step {
                        node: run.exit,
                        action: Action::Fail(violation),
                    });
                    frame.state = next;
                    frame.at = i;
                    return Ok(Advance::Done);
                }
                let to = self.node(&next);
                let changes = self.changes(&frame.state, &next);
                (next, Action::Folded { run, to, changes })
            }
            Edge::Terminated => {
                let next = self
                    .pick(target, wants, None, |step| match step {
                        ModelStep::Exit(exit) => Some(machine.terminated(&exit)),
                        _ => None,
                    })
                    .ok_or_else(gap)?;
                (next, Action::Terminate)
            }
            Edge::Start => return Err(gap()),
        };
        self.mention(&mut frame.mentioned, node);
        frame.steps.push(Step { node, action });
        frame.state = next;
        frame.at = i;
        Ok(Advance::Done)
    }

    /// The end of a callee's run: its return.
    fn finish(&mut self, mut frame: Frame<W>, path: Path<'_, W>, plan: &Plan) -> Result<(), Gap> {
        let work = self.work;
        let machine = work.machine;
        let gap = || Gap::Step(path.states.len());
        self.steps.clear();
        if machine
            .execute(&frame.state, None, &mut self.steps)
            .is_err()
        {
            return Err(gap());
        }
        let procedure = machine.procedure(frame.state.words()) as usize;
        let results = &machine.layout.results[procedure];
        let known = work.paths.exit(plan.run);
        let globals = &machine.layout.globals;
        let wanted = |slot: u32| {
            let global = globals.get(slot as usize);
            global
                .and_then(|field| field.get(known.words()))
                .or_else(|| lookup(work.wants_of_exit(plan), slot))
        };
        // Known results are preferred, no more: where nobody looks at them they may be
        // placeholders.
        let preferred = |slot: u32| {
            wanted(slot).or_else(|| {
                let result = results.get((slot as usize).checked_sub(globals.len())?)?;
                result.get(known.words())
            })
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
            .iter()
            .find(|exit| Self::agrees(exit, results, globals, preferred))
            .or_else(|| {
                exits
                    .iter()
                    .find(|exit| Self::agrees(exit, results, globals, wanted))
            })
            .ok_or_else(gap)?
            .clone();
        self.complete(&mut exit, results, preferred, None);
        let id = CalleeRunId(self.runs.len() as u32);
        let node = self.node(&frame.state);
        self.mention(&mut frame.mentioned, node);
        self.runs.push(CalleeRun {
            entry: self.valuation(&frame.entry),
            exit: node,
            results: results
                .iter()
                .map(|field| Self::value(field, exit.words()))
                .collect(),
            steps: frame.steps.into(),
        });
        let first = &mut self.first[frame.plan as usize];
        if first.is_none() {
            *first = Some(Finished {
                entry: frame.entry,
                mentioned: frame.mentioned,
                exit,
                run: id,
            });
        } else {
            let key = (frame.plan, frame.entry);
            self.others.insert(key, (exit, id));
        }
        Ok(())
    }

    /// Executes one step of the main path, and every run it needs.
    fn advance_main(
        &mut self,
        main: &mut Frame<W>,
        path: Path<'_, W>,
        plan: &Plan,
    ) -> Result<(), Gap> {
        let work = self.work;
        let mut stack: Vec<Frame<W>> = Vec::new();
        loop {
            self.guard.check()?;
            let advance = match stack.last_mut() {
                None => match self.advance(main, path, plan)? {
                    Advance::Done => return Ok(()),
                    enter @ Advance::Enter(..) => enter,
                },
                Some(frame) => {
                    let plan = &work.plans[frame.plan as usize];
                    let path = work.paths.run(plan.run);
                    if frame.at + 1 == path.states.len() {
                        if let Some(frame) = stack.pop() {
                            self.finish(frame, path, plan)?;
                        }
                        // What the frames leave, the runs need.
                        if stack.capacity() > 4 * stack.len().max(1024) {
                            stack.shrink_to(stack.capacity() / 2);
                        }
                        continue;
                    }
                    self.advance(frame, path, plan)?
                }
            };
            if let Advance::Enter(plan, entry) = advance {
                let path = work.paths.run(work.plans[plan as usize].run);
                let state = entry.clone();
                stack.push(Frame {
                    plan,
                    entry,
                    at: 0,
                    summaries: 0,
                    state,
                    entered: None,
                    steps: Vec::with_capacity(path.states.len() - 1),
                    mentioned: W::zeroed(work.machine.layout.words),
                });
            }
        }
    }

    /// Executes everything; the cycle is one of the main path here.
    pub(super) fn main(mut self, plan: &Plan, cycle: Option<Cycle>) -> Result<Execution, Gap> {
        /// A lasso is unrolled to at most this many steps to make its values repeat.
        const MOST_STEPS: usize = 1 << 20;
        const MOST_ROUNDS: usize = 300;
        let work = self.work;
        let path = work.paths.main();
        let initial = &path.states[0];
        let mut state = initial.clone();
        let wanted = |slot| work.wanted(initial, work.wants_at(plan, 0), slot);
        self.complete(&mut state, self.locals(initial), wanted, None);
        let start = self.valuation(&state);
        let mut main = Frame {
            plan: u32::MAX, // Never asked for.
            entry: state.clone(),
            at: 0,
            summaries: 0,
            state,
            entered: None,
            steps: Vec::new(),
            mentioned: W::zeroed(work.machine.layout.words),
        };
        let first = cycle.map(|cycle| cycle.start);
        // In a terminated program nothing happens any more; whatever watches it needs no steps.
        let terminated = path
            .states
            .iter()
            .position(|state| work.is_terminated(state));
        let last = terminated.unwrap_or(path.states.len() - 1);
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
            let (Some(first), Some(cycle)) = (first, cycle) else {
                break;
            };
            if terminated.is_some() {
                break;
            }
            if let Some(&(_, start_step)) = rounds.iter().find(|(state, _)| *state == main.state) {
                return Ok(Execution {
                    start,
                    runs: self.runs.into(),
                    steps: main.steps,
                    ending: Ending::Lasso {
                        start: start_step,
                        pumping: cycle.pumping,
                    },
                });
            }
            if main.steps.len() > MOST_STEPS || rounds.len() > MOST_ROUNDS {
                return Err(Gap::Lasso);
            }
            main.at = first;
            main.summaries = path.summaries(first);
        }
        let ending = match main.steps.last().map(|step| &step.action) {
            Some(Action::Terminate) => Ending::Terminated,
            Some(Action::Fail(_)) => Ending::Final,
            _ => Ending::At(self.node(&main.state)),
        };
        Ok(Execution {
            start,
            runs: self.runs.into(),
            steps: main.steps,
            ending,
        })
    }
}

fn step_of<W>(step: ModelStep<W>) -> Option<W> {
    match step {
        ModelStep::Internal(state) => Some(state),
        _ => None,
    }
}

fn entry_of<W>(step: ModelStep<W>) -> Option<W> {
    match step {
        ModelStep::Call(_, entry) => Some(entry),
        _ => None,
    }
}

/// Per node the bits of the variables that its statement mentions; of all globals for a call,
/// because they are part of what the callee's run begins with.
fn mentions(program: &Program, layout: &Layout) -> Vec<u64> {
    let mut all = vec![0; program.nodes.len() * layout.words];
    for (node, bits) in program.nodes.iter().zip(all.chunks_mut(layout.words)) {
        node.for_each_mentioned(|var| match var {
            VarRef::Global(i) => layout.globals[i as usize].cover(bits),
            VarRef::Local(i) => layout.locals[node.procedure.0 as usize][i as usize].cover(bits),
        });
        if let Op::Call { .. } = node.op {
            layout.globals.iter().for_each(|field| field.cover(bits));
        }
    }
    all
}
