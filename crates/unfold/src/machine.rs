//! A program compiled for exploration: what each node does to packed states.
//!
//! # Nondeterminism on demand
//!
//! A state holds, beside the values, which variables have none yet: uninitialised ones,
//! those that were assigned `*`, and those whose value cannot matter any more. Such a state stands
//! for all its completions. An operation that has to read a variable without a value
//! does nothing but ask for it: the state is split by that variable, and each part tries again.
//! A right-hand side that can be either Boolean (`*`, `schoose[F, F]`) makes its target unknown
//! instead of giving two successors, which is right because each `*` is independent of
//! everything else in the state.
//!
//! *Why this is exact.* By induction on the path, an unknown variable is independent of all
//! others: any completion of a reached state is reachable by the same path of statements. It becomes unknown
//! when it may have any value, whatever the rest is; it stays unknown while nobody reads it;
//! and copying is reading, unless the source is given up in the same step, so no two variables ever
//! share one unknown value. Conversely a concrete run is covered step by step by the states that
//! keep the values it read. A concrete path is recovered by choosing, where a variable
//! became unknown, the value it is later read with (see `concretize`). Summaries need no more:
//! an entry with an unknown global and an exit where it is known describe the calls with
//! that value; a global nobody touched comes back unknown and is still the same unknown.
//! What the conditions of a call will read after the return and was there before (old values in
//! `constrain`, locals that keep their value) is read before the call: the callee may read an
//! unknown global and change it, and then nobody would know what it was.

use droste_base::Steps;
use droste_program::{ExprNode, NodeId, Program, Proposition, VarRef, Violation};

use crate::ahead::NOT;
use crate::code::{Code, FALSE, Outcome, Scope, TRUE, convert, failures};
use crate::layout::{Field, Layout, Status};
use crate::words::Words;
use droste_program::effects::Effects;

/// A value to be stored: where, what, and whether an unknown variable may move there.
pub(crate) type Store = (Field, Code, bool);

pub(crate) enum Action {
    Goto(Box<[u32]>),
    Assign {
        stores: Box<[Store]>,
        discards: Box<[Code]>,
        constrain: Option<Code>,
        next: u32,
    },
    Branch {
        condition: Code,
        yes: u32,
        no: u32,
    },
    Assume {
        condition: Code,
        next: u32,
    },
    Assert {
        condition: Code,
        next: u32,
    },
    Call {
        callee: u32,
        /// Variables whose old value is read after the return.
        before: Box<[Field]>,
        args: Box<[Store]>,
        /// Where each result comes from and goes to.
        targets: Box<[(Field, Field)]>,
        constrain: Option<Code>,
        /// What is kept after the return beside what is live at `next`; empty for nothing.
        kept: Box<[u64]>,
        next: u32,
    },
    Return(Box<[Store]>),
    Stuck,
}

pub(crate) struct Node {
    pub(crate) procedure: u32,
    pub(crate) action: Action,
    pub(crate) ensure: Option<Code>,
}

/// What is asked about states, by [`PropId`](droste_base::PropId).
pub(crate) enum Question {
    /// Control is at one of these nodes (a bit set).
    At(Vec<u64>),
    /// The run has ended in a violation.
    Failed,
    /// Either.
    AtOrFailed(Vec<u64>),
    /// A proposition: code for each node, and for the terminated program.
    Proposition(Vec<Code>, Code),
}

/// A compiled program.
pub struct Machine {
    pub(crate) layout: Layout,
    pub(crate) nodes: Vec<Node>,
    pub(crate) entries: Vec<u32>,
    pub(crate) main: u32,
    /// Per node `layout.words` words: the bits that are kept on arrival.
    pub(crate) masks: Vec<u64>,
    /// Per node: where its bits are in `reads`, if calls look ahead beyond it; [`NOT`] otherwise.
    pub(crate) ahead: Vec<u32>,
    /// `layout.words` words for each such node: the bits that it and its observers read.
    pub(crate) reads: Vec<u64>,
    /// Likewise per procedure, for exits.
    pub(crate) exit_masks: Vec<u64>,
    pub(crate) terminated_mask: Vec<u64>,
    /// The bits of all globals.
    pub(crate) global_mask: Vec<u64>,
    /// Per procedure, the bits of the globals that calls of it take along and bring back.
    pub(crate) touched: Vec<u64>,
    pub(crate) questions: Vec<Question>,
    /// Whether violations are states, or just the end of a run.
    pub(crate) failures: bool,
    /// Whether every variable that matters gets a value at once.
    pub(crate) eager: bool,
    /// Per node, and at the end for the terminated program: whether some question there is about variables.
    pub(crate) observes: Vec<bool>,
    /// The globals (by slot) that questions are about.
    pub(crate) observed: Vec<u32>,
}

/// The variable that is needed first, by slot.
pub(crate) struct Needs(pub(crate) u32);

/// Values that variables (by slot) are wanted to have after a step: used when a concrete run is
/// rebuilt, to make the choices that lead where the run goes.
pub(crate) type Goal<'a> = &'a dyn Fn(u32) -> Option<u64>;

impl Machine {
    /// Leaves the globals that a procedure does not touch out of its calls (`effects`): many calls
    /// then share one entry state. `program` is the program the machine was made of.
    pub fn localise(&mut self, program: &Program) {
        let effects = Effects::new(program);
        self.touched.fill(0);
        for (procedure, mask) in self.touched.chunks_mut(self.layout.words).enumerate() {
            for (i, field) in self.layout.globals.iter().enumerate() {
                if effects.touches(procedure as u32, i as u32)
                    || self.observed.contains(&field.slot)
                {
                    field.cover(mask);
                }
            }
        }
    }

    /// With `true`, variables get a value as soon as they may matter instead of when they are
    /// read: many more states, the same verdicts.
    pub fn set_eager(&mut self, eager: bool) {
        self.eager = eager;
    }

    /// A variable that may matter here and has no value.
    fn undecided(&self, words: &[u64], status: Status) -> Result<(), Needs> {
        let node = self.layout.node(words) as usize;
        let (mask, locals): (&[u64], &[Field]) = match status {
            Status::Terminated => (&self.terminated_mask, &[]),
            _ => (
                &self.masks[node * self.layout.words..],
                &self.layout.locals[self.nodes[node].procedure as usize],
            ),
        };
        let fields = self.layout.globals.iter().chain(locals);
        // A field is covered as a whole or not at all.
        let unknown = |f: &&Field| f.get(mask).is_some() && f.get(words).is_none();
        fields
            .into_iter()
            .find(unknown)
            .map_or(Ok(()), |field| Err(Needs(field.slot)))
    }

    /// Words a state needs.
    pub fn words(&self) -> usize {
        self.layout.words
    }

    /// Adds a question about control: is it at one of these nodes, or, with `failed`, has the run ended
    /// in a violation?
    pub fn ask_control(&mut self, nodes: &[NodeId], failed: bool) -> droste_base::PropId {
        let mut bits = vec![0; self.nodes.len() / 64 + 1];
        for node in nodes {
            bits[node.0 as usize / 64] |= 1 << (node.0 % 64);
        }
        self.questions.push(match (nodes, failed) {
            ([], true) => Question::Failed,
            (_, true) => Question::AtOrFailed(bits),
            (_, false) => Question::At(bits),
        });
        droste_base::PropId(self.questions.len() as u32 - 1)
    }

    /// Adds a question about variables and control. States are split until it has an answer.
    pub fn ask(&mut self, proposition: &Proposition) -> droste_base::PropId {
        let codes = self.nodes.iter().enumerate().map(|(i, node)| {
            let scope = Scope {
                globals: &self.layout.globals,
                locals: &self.layout.locals[node.procedure as usize],
                node: Some(NodeId(i as u32)),
                after: false,
            };
            scope.compile(&proposition.by_procedure[node.procedure as usize], true)
        });
        let codes: Vec<Code> = codes.collect();
        for (node, &index) in self.nodes.iter().zip(&self.ahead) {
            if index != NOT {
                let reads = &mut self.reads[index as usize * self.layout.words..];
                let expr = &proposition.by_procedure[node.procedure as usize];
                for field in self.layout.variables(expr, node.procedure) {
                    field.cover(reads);
                }
            }
        }
        let scope = Scope {
            globals: &self.layout.globals,
            locals: &[],
            node: None,
            after: false,
        };
        let terminated = scope.compile(&proposition.terminated, true);
        let all = codes.iter().chain([&terminated]);
        for (observes, code) in self.observes.iter_mut().zip(all) {
            *observes |= !matches!(code, Code::Const(_));
        }
        self.questions
            .push(Question::Proposition(codes, terminated));
        let exprs = proposition
            .by_procedure
            .iter()
            .chain([&proposition.terminated]);
        for part in exprs.flat_map(|expr| &expr.nodes) {
            if let ExprNode::Var(VarRef::Global(i)) = *part
                && !self.observed.contains(&i)
            {
                self.observed.push(i);
                // Whoever watches a global touches it.
                let field = self.layout.globals[i as usize];
                for mask in self.touched.chunks_mut(self.layout.words) {
                    field.cover(mask);
                }
            }
        }
        droste_base::PropId(self.questions.len() as u32 - 1)
    }

    /// The answer to a question.
    pub(crate) fn answer(&self, words: &[u64], question: u32) -> bool {
        let node = self.layout.node(words) as usize;
        let at = |bits: &[u64]| bits[node / 64] >> (node % 64) & 1 == 1;
        let status = self.layout.status(words);
        match (&self.questions[question as usize], status) {
            (Question::At(bits) | Question::AtOrFailed(bits), Status::Running) => at(bits),
            (Question::Failed | Question::AtOrFailed(_), Status::Failed(_)) => true,
            (Question::Proposition(codes, _), Status::Running) => {
                codes[node].eval(words, words) == Outcome::Set(TRUE)
            }
            (Question::Proposition(_, code), Status::Terminated) => {
                code.eval(words, words) == Outcome::Set(TRUE)
            }
            _ => false,
        }
    }

    /// The variable that some proposition needs before it has an answer.
    fn observe(&self, words: &[u64], status: Status) -> Result<(), Needs> {
        for question in &self.questions {
            if let Question::Proposition(codes, terminated) = question {
                let code = match status {
                    Status::Running => &codes[self.layout.node(words) as usize],
                    _ => terminated,
                };
                if let Outcome::Needs(slot) = code.eval(words, words) {
                    return Err(Needs(slot));
                }
            }
        }
        Ok(())
    }

    /// The one state in which every run starts: nothing has a value.
    pub(crate) fn initial<W: Words>(&self) -> W {
        let mut state = W::zeroed(self.layout.words);
        self.layout.set_control(
            state.words_mut(),
            self.entries[self.main as usize],
            Status::Running,
        );
        state
    }

    /// The field with this slot, at this state.
    pub(crate) fn field(&self, words: &[u64], slot: u32) -> &Field {
        let slot = slot as usize;
        let globals = self.layout.globals.len();
        if slot < globals {
            &self.layout.globals[slot]
        } else {
            let procedure = self.nodes[self.layout.node(words) as usize].procedure;
            &self.layout.locals[procedure as usize][slot - globals]
        }
    }

    /// Everything a state can do, or the split it needs first.
    pub(crate) fn steps<W: Words>(&self, state: &W, out: &mut Steps<W>) {
        let words = state.words();
        let status = self.layout.status(words);
        let observes = match status {
            Status::Running => self.observes[self.layout.node(words) as usize],
            Status::Terminated => self.observes[self.nodes.len()],
            _ => false,
        };
        if observes && let Err(needs) = self.observe(words, status) {
            return self.split(words, &needs, out);
        }
        if self.eager
            && matches!(status, Status::Running | Status::Terminated)
            && let Err(needs) = self.undecided(words, status)
        {
            return self.split(words, &needs, out);
        }
        match status {
            Status::Running => {
                if let Err(needs) = self.execute(state, None, out) {
                    out.clear();
                    self.split(words, &needs, out);
                }
            }
            Status::Terminated => out.step(state.clone()),
            Status::Failed(_) | Status::Exited => {}
        }
    }

    fn split<W>(&self, words: &[u64], needs: &Needs, out: &mut Steps<W>) {
        out.split(needs.0, self.field(words, needs.0).top.saturating_add(1));
    }

    /// Control arrives at `node`: what does not matter there is forgotten.
    #[inline]
    fn arrive<W: Words>(&self, mut state: W, node: u32) -> W {
        let words = state.words_mut();
        self.layout.set_control(words, node, Status::Running);
        keep(words, &self.masks[node as usize * self.layout.words..]);
        state
    }

    /// Control arrives at `next` when the call at `node` returns.
    fn arrive_after<W: Words>(&self, mut state: W, node: u32, next: u32) -> W {
        let kept: &[u64] = match &self.nodes[node as usize].action {
            Action::Call { kept, .. } => kept,
            _ => &[],
        };
        if kept.is_empty() {
            return self.arrive(state, next);
        }
        let words = state.words_mut();
        self.layout.set_control(words, next, Status::Running);
        let masks = &self.masks[next as usize * self.layout.words..];
        for (word, (mask, kept)) in words.iter_mut().zip(masks.iter().zip(kept)) {
            *word &= mask | kept;
        }
        state
    }

    /// A failure when a call returns: of the new values, what matters at `next` is kept.
    fn fail_after<W: Words>(&self, post: &W, next: u32, violation: Violation) -> W {
        let node = self.layout.node(post.words());
        let mut state = self.arrive_after(post.clone(), node, next);
        self.layout
            .set_control(state.words_mut(), node, Status::Failed(violation));
        state
    }

    fn fail<W: Words>(&self, state: &W, violation: Violation) -> W {
        let mut state = state.clone();
        let node = self.layout.node(state.words());
        self.layout
            .set_control(state.words_mut(), node, Status::Failed(violation));
        state
    }

    fn push_failures<W: Words>(&self, state: &W, set: u8, out: &mut Steps<W>) {
        if self.failures {
            for violation in failures(set) {
                out.step(self.fail(state, violation));
            }
        }
    }

    /// Stores the outcome of `code`, evaluated in `now`, into `next`. False if there is none
    /// but failures, which are added to `out`.
    #[inline]
    fn store<W: Words>(
        &self,
        state: &W,
        &(field, ref code, movable): &Store,
        next: &mut [u64],
        out: &mut Steps<W>,
    ) -> Result<bool, Needs> {
        let now = state.words();
        match code.eval(now, now) {
            Outcome::Set(set) => {
                self.push_failures(state, set, out);
                match set & (TRUE | FALSE) {
                    0 => return Ok(false),
                    FALSE => field.set(next, Some(0)),
                    TRUE => field.set(next, Some(1)),
                    _ => field.set(next, None),
                }
            }
            Outcome::Int(value) => match convert(value, field.ty) {
                Ok(value) => field.set(next, Some(field.offset(value))),
                Err(violation) => {
                    if self.failures {
                        out.step(self.fail(state, violation));
                    }
                    return Ok(false);
                }
            },
            Outcome::Any => field.set(next, None),
            Outcome::Needs(_) if movable => field.set(next, None),
            Outcome::Needs(slot) | Outcome::NeedsNext(slot) => return Err(Needs(slot)),
        }
        Ok(true)
    }

    /// The outcomes of a condition.
    #[inline]
    fn condition(code: &Code, now: &[u64]) -> Result<u8, Needs> {
        match code.eval(now, now) {
            Outcome::Set(set) => Ok(set),
            Outcome::Needs(slot) | Outcome::NeedsNext(slot) => Err(Needs(slot)),
            Outcome::Int(_) | Outcome::Any => unreachable!("a condition is Boolean"),
        }
    }

    /// Executes the node a running state is at.
    #[inline]
    pub(crate) fn execute<W: Words>(
        &self,
        state: &W,
        goal: Option<Goal<'_>>,
        out: &mut Steps<W>,
    ) -> Result<(), Needs> {
        let now = state.words();
        let node = &self.nodes[self.layout.node(now) as usize];
        let ensure = node.ensure.as_ref();
        // A step that changes nothing.
        let step = |next: u32, out: &mut Steps<W>| -> Result<(), Needs> {
            if ensure.is_none() {
                out.step(self.arrive(state.clone(), next));
                return Ok(());
            }
            self.settle(
                state,
                state.clone(),
                [None, ensure],
                &|_| false,
                None,
                goal,
                out,
                |s, out| {
                    out.step(self.arrive(s, next));
                },
            )
        };
        match &node.action {
            Action::Goto(targets) => {
                for &target in targets {
                    step(target, out)?;
                }
            }
            Action::Branch { condition, yes, no } => {
                let set = Self::condition(condition, now)?;
                self.push_failures(state, set, out);
                if set & TRUE != 0 {
                    step(*yes, out)?;
                }
                if set & FALSE != 0 {
                    step(*no, out)?;
                }
            }
            Action::Assume { condition, next } => {
                let set = Self::condition(condition, now)?;
                self.push_failures(state, set, out);
                if set & TRUE != 0 {
                    step(*next, out)?;
                }
            }
            Action::Assert { condition, next } => {
                let set = Self::condition(condition, now)?;
                self.push_failures(state, set, out);
                if set & FALSE != 0 && self.failures {
                    out.step(self.fail(state, Violation::Assertion));
                }
                if set & TRUE != 0 {
                    step(*next, out)?;
                }
            }
            Action::Assign {
                stores,
                discards,
                constrain,
                next,
            } => {
                let mut post = state.clone();
                for store in stores {
                    if !self.store(state, store, post.words_mut(), out)? {
                        return Ok(());
                    }
                }
                for code in discards {
                    match code.eval(now, now) {
                        Outcome::Needs(slot) => return Err(Needs(slot)),
                        Outcome::Set(set) => {
                            self.push_failures(state, set, out);
                            if set & (TRUE | FALSE) == 0 {
                                return Ok(());
                            }
                        }
                        _ => {}
                    }
                }
                if constrain.is_none() && ensure.is_none() && goal.is_none() {
                    out.step(self.arrive(post, *next));
                    return Ok(());
                }
                if let Some(goal) = goal {
                    for (field, ..) in stores {
                        reach_goal(field, post.words_mut(), goal);
                    }
                }
                let conditions = [constrain.as_ref(), ensure];
                let changed = |slot| stores.iter().any(|(field, ..)| field.slot == slot);
                self.settle(
                    state,
                    post,
                    conditions,
                    &changed,
                    None,
                    goal,
                    out,
                    |post, out| {
                        out.step(self.arrive(post, *next));
                    },
                )?;
            }
            Action::Call {
                callee,
                before,
                args,
                ..
            } => {
                for field in before {
                    if field.get(now).is_none() {
                        return Err(Needs(field.slot));
                    }
                }
                let mut entry = state.clone();
                keep(entry.words_mut(), self.touched(*callee));
                for arg in args {
                    if !self.store(state, arg, entry.words_mut(), out)? {
                        return Ok(());
                    }
                }
                let first = self.entries[*callee as usize];
                let mut entry = self.arrive(entry, first);
                if self.ahead[first as usize] != NOT {
                    self.look_ahead(&mut entry, first);
                }
                out.call(droste_base::CallId(0), entry);
            }
            Action::Return(values) => {
                let mut exit = state.clone();
                keep(exit.words_mut(), &self.global_mask);
                for value in values {
                    if !self.store(state, value, exit.words_mut(), out)? {
                        return Ok(());
                    }
                }
                let words = exit.words_mut();
                self.layout.set_control(words, 0, Status::Exited);
                let procedure = node.procedure as usize;
                keep(words, &self.exit_masks[procedure * self.layout.words..]);
                out.exit(exit);
            }
            Action::Stuck => {}
        }
        Ok(())
    }

    /// The bits of the globals that a procedure touches.
    fn touched(&self, procedure: u32) -> &[u64] {
        &self.touched[procedure as usize * self.layout.words..][..self.layout.words]
    }

    /// Gives `emit` every way to complete `post` as far as the conditions need it and they can
    /// be true; failures of a condition go to `out`.
    ///
    /// A variable that the step may have given a new value (`changed`), if that is needed, gets every
    /// value in turn. One that it does not change is reported, so that the state before is split.
    /// After a return to a call followed by the node `after_return`, a failure remembers the values it
    /// came with.
    #[expect(clippy::too_many_arguments, reason = "private, three call sites")]
    fn settle<W: Words>(
        &self,
        now: &W,
        post: W,
        conditions: [Option<&Code>; 2],
        changed: &dyn Fn(u32) -> bool,
        after_return: Option<u32>,
        goal: Option<Goal<'_>>,
        out: &mut Steps<W>,
        mut emit: impl FnMut(W, &mut Steps<W>),
    ) -> Result<(), Needs> {
        // States, and the values of a variable still to be tried in them.
        let mut work: Vec<(W, Option<(Field, u64)>)> = vec![(post, None)];
        let mut effort = 0;
        'work: while let Some((mut post, rest)) = work.pop() {
            effort += 1;
            if effort > Steps::<W>::MOST {
                out.give_up();
                return Ok(());
            }
            if let Some((field, offset)) = rest {
                if offset < field.top {
                    work.push((post.clone(), Some((field, offset + 1))));
                }
                field.set(post.words_mut(), Some(offset));
            }
            for code in conditions.into_iter().flatten() {
                let slot = match code.eval(now.words(), post.words()) {
                    Outcome::Set(set) => {
                        match after_return {
                            None => self.push_failures(now, set, out),
                            Some(next) if self.failures => {
                                for violation in failures(set) {
                                    out.step(self.fail_after(&post, next, violation));
                                }
                            }
                            Some(_) => {}
                        }
                        if set & TRUE == 0 {
                            continue 'work;
                        }
                        continue;
                    }
                    Outcome::NeedsNext(slot) if changed(slot) => slot,
                    Outcome::Needs(slot) | Outcome::NeedsNext(slot) => return Err(Needs(slot)),
                    Outcome::Int(_) | Outcome::Any => unreachable!("a condition is Boolean"),
                };
                let field = *self.field(now.words(), slot);
                if let Some(offset) = goal.and_then(|goal| goal(slot)) {
                    field.set(post.words_mut(), Some(offset));
                    work.push((post, None));
                } else {
                    work.push((post, Some((field, 0))));
                }
                continue 'work;
            }
            emit(post, out);
        }
        Ok(())
    }

    /// Where `caller` may go on when its callee leaves through `exit`.
    pub(crate) fn resume<W: Words>(
        &self,
        caller: &W,
        exit: &W,
        goal: Option<Goal<'_>>,
        out: &mut Steps<W>,
    ) {
        let at = self.layout.node(caller.words());
        let node = &self.nodes[at as usize];
        let Action::Call {
            callee,
            targets,
            constrain,
            next,
            ..
        } = &node.action
        else {
            unreachable!("only a call is resumed")
        };
        let mut post = caller.clone();
        // What the callee does not touch, the caller has kept.
        let touched = self.touched(*callee).iter().zip(exit.words());
        for (word, (touched, exit)) in post.words_mut().iter_mut().zip(touched) {
            *word = *word & !touched | exit & touched;
        }
        for (from, to) in targets {
            let offset = match from.get(exit.words()) {
                None if from.ty == to.ty => None,
                None => {
                    // Any value of one type is not any value of the other: try each.
                    for offset in 0..=from.top {
                        let mut exit = exit.clone();
                        from.set(exit.words_mut(), Some(offset));
                        self.resume(caller, &exit, goal, out);
                        if offset > Steps::<W>::MOST as u64 {
                            out.give_up();
                        }
                        if out.overflowed() {
                            return;
                        }
                    }
                    return;
                }
                Some(offset) => match convert(from.value(offset), to.ty) {
                    Ok(value) => Some(to.offset(value)),
                    Err(violation) => {
                        if self.failures {
                            out.step(self.fail_after(&post, *next, violation));
                        }
                        return;
                    }
                },
            };
            to.set(post.words_mut(), offset);
        }
        if let Some(goal) = goal {
            for (_, to) in targets {
                reach_goal(to, post.words_mut(), goal);
            }
        }
        let conditions = [constrain.as_ref(), node.ensure.as_ref()];
        let globals = self.layout.globals.len() as u32;
        let changed = |slot| slot < globals || targets.iter().any(|(_, to)| to.slot == slot);
        let after = Some(*next);
        let settled = self.settle(
            caller,
            post,
            conditions,
            &changed,
            after,
            goal,
            out,
            |s, out| {
                out.step(self.arrive_after(s, at, *next));
            },
        );
        if settled.is_err() {
            debug_assert!(false, "what the call does not change was read before it");
            out.give_up();
        }
    }

    /// The state after `main` has returned through `exit`.
    pub(crate) fn terminated<W: Words>(&self, exit: &W) -> W {
        let mut state = exit.clone();
        let words = state.words_mut();
        self.layout.set_control(words, 0, Status::Terminated);
        keep(words, &self.terminated_mask);
        state
    }

    /// The procedure of a running state's node.
    pub(crate) fn procedure(&self, words: &[u64]) -> u32 {
        self.nodes[self.layout.node(words) as usize].procedure
    }
}

/// Forgets the bits that are not in the mask.
#[inline]
fn keep(words: &mut [u64], mask: &[u64]) {
    for (word, mask) in words.iter_mut().zip(mask) {
        *word &= mask;
    }
}

/// A value still to be chosen is chosen as wanted.
fn reach_goal(field: &Field, words: &mut [u64], goal: Goal<'_>) {
    if field.get(words).is_none()
        && let Some(offset) = goal(field.slot)
    {
        field.set(words, Some(offset));
    }
}
