//! One thread in one context, state by state.
//!
//! States are those of the sequential machine, with the stack below. A thread is interrupted only
//! after steps that others can notice ([`droste_program::quiet`]): being interrupted after a quiet step is as
//! good as being interrupted before it.
//!
//! Only one thing matters about the last context of a run: whether it meets the target. So all last contexts
//! are explored as one, and each state is gone through once, wherever it comes from.

use droste_base::{CallId, Guard, Interner, Model, Step, Steps};
use droste_program::{NodeId, Op, Threads};
use droste_relations::Result;
use droste_unfold::{ThreadControl, Unfolding, Words};

use super::{Few, NONE, NOWHERE, Obstacle, Out, SET, STATE, Seed, counted};

/// A variable with more values than this is not split.
const WIDE: u64 = 16;

/// Globals without values are given at most this number of valuations at a switch.
const MOST_VALUES: usize = 64;

/// Open calls of a thread.
const MOST_CALLS: usize = 64;

/// What is known while the thread is active.
pub(super) struct Context<W> {
    /// Where it begins.
    pub(super) configuration: u32,
    pub(super) thread: usize,
    /// Thread, stacks and globals.
    pub(super) key: (u32, u32, u32),
    pub(super) outs: Vec<Out>,
    /// State, what is below it, and started threads.
    states: Interner<(W, u32, u32)>,
    /// By state: whether others can notice the step that led there first.
    loud: Vec<bool>,
    next: u32,
    /// If this is all last contexts: where they begin, and by state, in which of them it was met.
    seeds: Vec<Seed>,
    origins: Vec<u32>,
    /// A stack was folded in a new way.
    is_folded: bool,
    /// The origin of a state that meets the target.
    hit: Option<u32>,
}

impl<W> Context<W> {
    /// Whether this is all last contexts.
    pub(super) fn is_last(&self) -> bool {
        self.configuration == NONE
    }

    pub(super) fn new(configuration: u32, key: (u32, u32, u32), seeds: Vec<Seed>) -> Self {
        Context {
            configuration,
            thread: key.0 as usize,
            key,
            outs: Vec::new(),
            states: Interner::new(),
            loud: Vec::new(),
            next: 0,
            seeds,
            origins: Vec::new(),
            is_folded: false,
            hit: None,
        }
    }
}

pub(super) enum Explored {
    /// The target is met in the context that begins like this.
    Hit(Seed),
    All,
    Paused,
    /// A stack was folded, and what was known about returns is not all.
    Folded,
    /// Configurations are not few.
    Over(Obstacle),
}

/// Why configurations are not few any more, if they are not.
type Still = Result<Option<Obstacle>>;

const MANY_VALUES: Still = Ok(Some(Obstacle::Values));
const STILL: Still = Ok(None);

impl<W: Words> Few<'_, W> {
    /// The beginning of a context.
    pub(super) fn enter(
        &mut self,
        configuration: u32,
        key: (u32, u32, u32),
        model: &Unfolding<'_, W>,
    ) -> Result<Context<W>> {
        let seed = Seed {
            configuration,
            left: None,
            thread: key.0,
        };
        let mut context = Context::new(configuration, key, vec![seed]);
        self.begin_at(&mut context, model, 0)?;
        Ok(context)
    }

    /// The beginning of all last contexts.
    pub(super) fn enter_last(&mut self, model: &Unfolding<'_, W>) -> Result<Context<W>> {
        let seeds = std::mem::take(&mut self.seeds);
        let mut context = Context::new(NONE, (NONE, NONE, NONE), seeds);
        for seed in 0..context.seeds.len() {
            self.begin_at(&mut context, model, seed)?;
        }
        Ok(context)
    }

    fn begin_at(
        &self,
        context: &mut Context<W>,
        model: &Unfolding<'_, W>,
        seed: usize,
    ) -> Result<()> {
        let (number, globals) = self.beginning(context.seeds[seed]);
        self.begin_with(context, model, seed as u32, (number, globals))
    }

    /// A context in which a thread goes on with this stack, or one of these stacks, and these globals.
    pub(super) fn begin_with(
        &self,
        context: &mut Context<W>,
        model: &Unfolding<'_, W>,
        seed: u32,
        (number, globals): (u32, u32),
    ) -> Result<()> {
        let globals = self.tables.globals.get(globals);
        let one = [number];
        let stacks = match number & SET {
            0 => &one[..],
            _ => self.tables.sets.get(number & !SET),
        };
        for &stack in stacks {
            let (below, frame) = self.tables.stacks.get(stack - 1);
            let state = self.all.join(frame, globals);
            self.add(context, model, (state, *below, 0), false, seed)?;
        }
        Ok(())
    }

    /// A state is reached.
    fn add(
        &self,
        context: &mut Context<W>,
        model: &Unfolding<'_, W>,
        state: (W, u32, u32),
        is_loud: bool,
        origin: u32,
    ) -> Result<()> {
        if context.hit.is_none() && model.holds(&state.0, self.target) {
            context.hit = Some(origin);
        }
        if context.states.intern(state)?.1 {
            context.loud.push(is_loud && !context.is_last());
            context.origins.push(origin);
        }
        Ok(())
    }

    /// Everything that the thread can do, as far as the steps last.
    pub(super) fn explore(
        &mut self,
        context: &mut Context<W>,
        model: &Unfolding<'_, W>,
        guard: &mut Guard,
        left: &mut i64,
    ) -> Result<Explored> {
        let mut steps = Steps::new();
        while context.hit.is_none() && (context.next as usize) < context.states.len() {
            guard.check()?;
            if *left <= 0 {
                return Ok(Explored::Paused);
            }
            *left -= STATE;
            context.next += 1;
            if let Some(obstacle) = self.expand(context, model, &mut steps)? {
                return Ok(Explored::Over(obstacle));
            }
            if context.is_folded {
                return Ok(Explored::Folded);
            }
        }
        Ok(match context.hit {
            Some(origin) => Explored::Hit(context.seeds[origin as usize]),
            None => Explored::All,
        })
    }

    fn is_quiet(&mut self, thread: usize, node: NodeId) -> bool {
        let known = &mut self.quiet[thread][node.0 as usize];
        *known.get_or_insert_with(|| self.accesses.is_quiet(self.question.program, thread, node))
    }

    /// All that the thread can do in a state.
    fn expand(
        &mut self,
        context: &mut Context<W>,
        model: &Unfolding<'_, W>,
        steps: &mut Steps<W>,
    ) -> Still {
        let (state, below, starts) = context.states.get(context.next - 1).clone();
        let origin = context.origins[context.next as usize - 1];
        let ThreadControl::At(node) = self.all.control(&state) else {
            return STILL;
        };
        let thread = context.thread;
        let is_init = match self.prepared.program.threads {
            Threads::Init { end_init, .. } if thread == 0 => {
                if node == end_init {
                    return self.end(context, &state, starts);
                }
                true
            }
            _ => false,
        };
        if context.loud[context.next as usize - 1] && !is_init {
            let left = context.outs.len();
            let obstacle = self.park(context, &state, below, starts)?;
            // Where switches are not counted, the thread goes on from there in a context of its own.
            if obstacle.is_some() || self.counts.is_some() && context.outs.len() > left {
                return Ok(obstacle);
            }
        }
        let is_last = context.is_last();
        let is_quiet = is_last || self.is_quiet(thread, node);
        let op = &self.prepared.program.node(node).op;
        let ends = !is_init && !is_last && (!is_quiet || self.prepared.atomic.is_some());
        if let Op::EndThread = op {
            return if ends {
                self.end(context, &state, starts)
            } else {
                STILL
            };
        }
        let mut split = None;
        if let Op::StartThread { .. } = op {
            let open = self.all.open_local(&state);
            split = open.map(|(slot, top)| (slot, top.saturating_add(1)));
        }
        if split.is_none() {
            steps.clear();
            model.steps(&state, steps);
            split = steps.as_split().map(|split| (split.tag, split.count));
        }
        if let Some((slot, count)) = split {
            if count > WIDE {
                return MANY_VALUES;
            }
            for index in 0..count {
                let part = model.refine(&state, slot, index);
                self.add(context, model, (part, below, starts), false, origin)?;
            }
            return STILL;
        }
        if steps.overflowed() {
            return MANY_VALUES;
        }
        for step in steps.drain() {
            match step {
                Step::Internal(next) => {
                    if let Op::StartThread { start, .. } = op
                        && !is_last
                        && let ThreadControl::At(_) = self.all.control(&next)
                    {
                        let frame = self.all.rest(&self.all.move_to(&state, *start));
                        self.start_thread(context, model, (next, below, starts), frame, origin)?;
                        continue;
                    }
                    self.add(context, model, (next, below, starts), !is_quiet, origin)?;
                }
                Step::Call(_, entry) => {
                    let Some(caller) = self.caller(context, node, &state, below)? else {
                        return Ok(Some(Obstacle::Stacks));
                    };
                    self.add(context, model, (entry, caller, starts), !is_quiet, origin)?;
                }
                Step::Exit(exit) if below == NOWHERE => {
                    if ends {
                        let obstacle = self.end(context, &exit, starts)?;
                        if obstacle.is_some() {
                            return Ok(obstacle);
                        }
                    }
                }
                Step::Exit(exit) => {
                    let (outer, caller) = self.tables.stacks.get(below - 1).clone();
                    let mut after = Vec::new();
                    if !model.resume(&caller, CallId(0), &exit, &mut after) {
                        return MANY_VALUES;
                    }
                    let ThreadControl::At(call) = self.all.control(&caller) else {
                        continue;
                    };
                    let is_quiet = is_last || is_quiet && self.is_quiet(thread, call);
                    let mut outers = vec![outer];
                    outers.extend(self.tables.folded.get(&below).into_iter().flatten());
                    for next in after {
                        for &outer in &outers {
                            let next = (next.clone(), outer, starts);
                            self.add(context, model, next, !is_quiet, origin)?;
                        }
                    }
                }
            }
        }
        STILL
    }

    /// The stack of a caller; `None` if it is too high.
    fn caller(
        &mut self,
        context: &mut Context<W>,
        node: NodeId,
        state: &W,
        below: u32,
    ) -> Result<Option<u32>> {
        let node = self.prepared.program.node(node);
        let is_plain = matches!(
            node.op,
            Op::Call {
                constrain: None,
                ..
            }
        );
        let frame = if is_plain && node.ensure.is_none() {
            self.all.rest(state)
        } else {
            state.clone()
        };
        let mut at = below;
        let mut height = 0;
        while at != NOWHERE {
            let (outer, other) = self.tables.stacks.get(at - 1);
            if *other == frame {
                let others = self.tables.folded.entry(at).or_default();
                if !others.contains(&below) {
                    others.push(below);
                    context.is_folded = true;
                }
                return Ok(Some(at));
            }
            height += 1;
            if height > MOST_CALLS {
                return Ok(None);
            }
            at = *outer;
        }
        self.stack(below, frame).map(Some)
    }

    /// A thread is started: it will be active, or not.
    fn start_thread(
        &mut self,
        context: &mut Context<W>,
        model: &Unfolding<'_, W>,
        (next, below, starts): (W, u32, u32),
        frame: W,
        origin: u32,
    ) -> Result<()> {
        if let Some(counts) = self.counts {
            let stack = self.stack(NOWHERE, frame)?;
            let mut list = self.tables.starts.get(starts).to_vec();
            counted::add(&mut list, stack, 1, counts);
            let starts = self.tables.starts.intern(list.into())?.0;
            return self.add(context, model, (next, below, starts), true, origin);
        }
        let slots = self.prepared.slots as u64;
        if let Some(started) = self.prepared.started
            && let Some(slot) = self.all.global(&next, started)
            && slot < slots
        {
            let mut next = next.clone();
            self.all.set_global(&mut next, started, slot + 1);
            let stack = self.stack(NOWHERE, frame)?;
            let mut list = self.tables.starts.get(starts).to_vec();
            list.push((slot as u32, stack));
            let starts = self.tables.starts.intern(list.into())?.0;
            self.add(context, model, (next, below, starts), true, origin)?;
        }
        if self.prepared.slots < self.question.most_started {
            self.add(context, model, (next, below, starts), true, origin)?;
        }
        Ok(())
    }

    /// The thread may be interrupted here, unless it is in an atomic section.
    fn park(&mut self, context: &mut Context<W>, state: &W, below: u32, starts: u32) -> Still {
        if let Some(atomic) = self.prepared.atomic
            && self.all.global(state, atomic) != Some(0)
        {
            return STILL;
        }
        let stack = self.stack(below, self.all.rest(state))?;
        self.out(context, self.all.shared(state), stack, starts)
    }

    /// The thread ends. An atomic section ends with it.
    fn end(&mut self, context: &mut Context<W>, state: &W, starts: u32) -> Still {
        let mut globals = self.all.shared(state);
        if let Some(atomic) = self.prepared.atomic {
            self.all.set_global(&mut globals, atomic, 0);
        }
        self.out(context, globals, NOWHERE, starts)
    }

    /// The context is left. Shared globals have values then, so that the schedule can name them.
    fn out(&mut self, context: &mut Context<W>, globals: W, stack: u32, starts: u32) -> Still {
        let mut open = vec![globals];
        let mut count = 0;
        while let Some(mut globals) = open.pop() {
            if let Some((slot, top)) = self.shared.open_global(&globals) {
                if top >= WIDE {
                    return MANY_VALUES;
                }
                for offset in 0..=top {
                    self.shared.set_global(&mut globals, slot, offset);
                    open.push(globals.clone());
                }
                continue;
            }
            count += 1;
            if count > MOST_VALUES {
                return MANY_VALUES;
            }
            let globals = self.tables.globals.intern(globals)?.0;
            context.outs.push(Out {
                globals,
                stack,
                starts,
            });
        }
        STILL
    }
}
