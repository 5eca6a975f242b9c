//! The backward pass: which values are wanted where.
//!
//! A variable that is unknown at a position is wanted to have the value that it has, or is wanted
//! to have, at the next position, unless the step between gives it a new one. If the step moves the
//! variable elsewhere unread, it is wanted to have the value that the new place is wanted to have.
//! Through a folded call, what is wanted after the return is wanted of the exit. Each run is
//! planned once for each different demand on its exit.

use droste_base::{Guard, StopReason};
use droste_program::{ExprNode, NodeId, Op, Program, Value, VarRef, Violation};
use rustc_hash::FxHashMap;

use super::demands::{Demands, Want, Wants, WantsId, lookup};
use super::paths::{Edge, Paths};
use crate::code::convert;
use crate::layout::{Field, Status};
use crate::machine::Machine;
use crate::words::Words;
use droste_program::effects::Effects;

/// What is wanted at each position of a path, and the plans behind its summary edges: places in
/// the flat tables of the [`Concretizer`], which all plans share.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) run: u32,
    /// Where the wants of the plan's positions begin; [`NOWHERE`] if nothing is wanted anywhere. 32
    /// bits are enough: each position has taken more than 16 bytes in the search.
    wants: u32,
    /// Where the plans of its summary edges begin.
    inner: u32,
    /// What is wanted of the exit.
    exit: WantsId,
}

/// In [`Plan::wants`].
const NOWHERE: u32 = u32::MAX;

pub(super) struct Concretizer<'a, W> {
    /// The program the engine saw: it decides what moves where unread.
    pub(super) cleaned: &'a Program,
    /// What its procedures touch.
    effects: Effects,
    /// The program as it was written.
    pub(super) machine: &'a Machine,
    pub(super) paths: Paths<W>,
    pub(super) plans: Vec<Plan>,
    /// Run and what is wanted of its exit, to the plan.
    known: FxHashMap<(u32, WantsId), u32>,
    demands: Demands,
    /// For each plan, what is wanted at each position.
    wants: Vec<WantsId>,
    /// For each plan, the plans of its summary edges, in order.
    inner: Vec<u32>,
}

/// A path whose wants are being computed, from the end to the start.
struct Backward {
    run: u32,
    exit: WantsId,
    /// Wants of the positions from `next` on, reversed.
    wants: Vec<WantsId>,
    /// Plans of the summary edges from `next` on, reversed.
    inner: Vec<u32>,
    next: usize,
}

impl<'a, W: Words> Concretizer<'a, W> {
    pub(super) fn new(
        cleaned: &'a Program,
        effects: Effects,
        machine: &'a Machine,
        paths: Paths<W>,
    ) -> Self {
        Concretizer {
            cleaned,
            effects,
            machine,
            plans: Vec::new(),
            known: FxHashMap::default(),
            demands: Demands::new(),
            wants: Vec::new(),
            inner: Vec::new(),
            paths,
        }
    }

    fn wants_id(&self, plan: &Plan, position: usize) -> WantsId {
        match plan.wants {
            NOWHERE => Demands::NOTHING,
            first => self.wants[first as usize + position],
        }
    }

    /// What is wanted at a position of a plan.
    pub(super) fn wants_at(&self, plan: &Plan, position: usize) -> &Wants {
        self.demands.get(self.wants_id(plan, position))
    }

    /// What is wanted of a plan's exit.
    pub(super) fn wants_of_exit(&self, plan: &Plan) -> &Wants {
        self.demands.get(plan.exit)
    }

    /// The plan behind a path's summary edge, counted from 0.
    pub(super) fn inner(&self, plan: &Plan, summary: usize) -> u32 {
        self.inner[plan.inner as usize + summary]
    }

    fn fields(&self, state: &W) -> impl Iterator<Item = &Field> {
        let layout = &self.machine.layout;
        let locals: &[Field] = match layout.status(state.words()) {
            Status::Terminated | Status::Exited => &[],
            _ => &layout.locals[self.machine.procedure(state.words()) as usize],
        };
        layout.globals.iter().chain(locals)
    }

    pub(super) fn is_terminated(&self, state: &W) -> bool {
        self.machine.layout.status(state.words()) == Status::Terminated
    }

    fn op(&self, state: &W) -> &Op {
        &self
            .cleaned
            .node(NodeId(self.machine.layout.node(state.words())))
            .op
    }

    fn slot(&self, var: VarRef) -> u32 {
        match var {
            VarRef::Global(i) => i,
            VarRef::Local(i) => i + self.machine.layout.globals.len() as u32,
        }
    }

    /// The value a variable has or is wanted to have.
    pub(super) fn wanted(&self, state: &W, wants: &Wants, slot: u32) -> Option<u64> {
        let layout = &self.machine.layout;
        let known = match layout.status(state.words()) {
            Status::Terminated | Status::Exited if slot as usize >= layout.globals.len() => None,
            _ => self.machine.field(state.words(), slot).get(state.words()),
        };
        known.or_else(|| lookup(wants, slot))
    }

    /// Wants at `from`, of the variables unknown there, given a candidate for each.
    fn collect(&self, from: &W, mut candidate: impl FnMut(u32) -> Option<u64>) -> Vec<Want> {
        self.fields(from)
            .filter(|field| field.get(from.words()).is_none())
            .filter_map(|field| candidate(field.slot).map(|offset| (field.slot, offset)))
            .collect()
    }

    /// Wants at `from`, whose step (not a summary) leads to `to`.
    fn before_step(&self, from: &W, to: &W, wants: &Wants, edge: Edge) -> Vec<Want> {
        let globals = self.machine.layout.globals.len() as u32;
        let after = |slot| self.wanted(to, wants, slot);
        let failed = matches!(self.machine.layout.status(to.words()), Status::Failed(_));
        if failed || self.is_terminated(from) {
            return self.collect(from, after); // Nothing has changed.
        }
        match (edge, self.op(from)) {
            (Edge::Call, Op::Call { args, .. }) => self.collect(from, |slot| {
                if slot < globals {
                    return after(slot);
                }
                args.iter()
                    .enumerate()
                    .find_map(|(i, arg)| match arg.nodes[..] {
                        [ExprNode::Var(var)] if self.slot(var) == slot => after(globals + i as u32),
                        _ => None,
                    })
            }),
            (Edge::Terminated, _) => {
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
    fn at_exit(&self, from: &W, to: &W, wants: &Wants, exit: &W) -> Vec<Want> {
        let layout = &self.machine.layout;
        let Op::Call {
            callee, targets, ..
        } = self.op(from)
        else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for field in &layout.globals {
            let overwritten = targets
                .iter()
                .flatten()
                .any(|var| self.slot(*var) == field.slot);
            // What the callee does not touch comes back as it went in.
            if !overwritten
                && self.effects.touches(*callee, field.slot)
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
                        Some(offset) => {
                            convert(result.value(offset), target.ty).err().map(|_| None)
                        }
                        None => find(result, target, Err(Violation::OutOfRange)).map(Some),
                    };
                    failing = failing.or(fails.map(|offset| (result.slot, offset)));
                }
                (None, _) => {
                    let wanted = self.wanted(to, wants, target.slot);
                    let source =
                        wanted.and_then(|offset| find(result, target, Ok(target.value(offset))));
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
    fn before_call(
        &self,
        from: &W,
        to: &W,
        wants: &Wants,
        entry: &W,
        at_entry: &Wants,
    ) -> Vec<Want> {
        let globals = self.machine.layout.globals.len() as u32;
        let Op::Call {
            callee,
            args,
            targets,
            ..
        } = self.op(from)
        else {
            return Vec::new();
        };
        self.collect(from, |slot| {
            let written = targets.iter().flatten().any(|var| self.slot(*var) == slot);
            let kept = || {
                if written {
                    None
                } else {
                    self.wanted(to, wants, slot)
                }
            };
            if slot < globals {
                return if self.effects.touches(*callee, slot) {
                    self.wanted(entry, at_entry, slot)
                } else {
                    kept()
                };
            }
            let moved = args
                .iter()
                .enumerate()
                .find_map(|(i, arg)| match arg.nodes[..] {
                    [ExprNode::Var(var)] if self.slot(var) == slot => {
                        self.wanted(entry, at_entry, globals + i as u32)
                    }
                    _ => None,
                });
            moved.or_else(kept)
        })
    }

    /// Wants at the return `from`, given those at the exit.
    fn before_exit(&self, from: &W, exit: &W, wants: &Wants) -> Vec<Want> {
        let globals = self.machine.layout.globals.len() as u32;
        let Op::Return(values) = self.op(from) else {
            return Vec::new();
        };
        self.collect(from, |slot| {
            if slot < globals {
                return self.machine.layout.globals[slot as usize]
                    .get(exit.words())
                    .or_else(|| lookup(wants, slot));
            }
            values
                .iter()
                .enumerate()
                .find_map(|(i, value)| match value.nodes[..] {
                    [ExprNode::Var(var)] if self.slot(var) == slot => {
                        lookup(wants, globals + i as u32)
                    }
                    _ => None,
                })
        })
    }

    fn begin(&mut self, run: u32, exit: WantsId) -> Backward {
        let path = self.paths.run(run);
        let last = path.states.len() - 1;
        let wanted = self.demands.get(exit);
        let wants = self.before_exit(&path.states[last], self.paths.exit(run), wanted);
        let mut all = Vec::with_capacity(path.states.len());
        all.push(self.demands.id(wants));
        Backward {
            run,
            exit,
            wants: all,
            inner: Vec::new(),
            next: last,
        }
    }

    /// Plans the main path, with `last` wanted at its end.
    fn plan_from(&mut self, last: WantsId, guard: &mut Guard) -> Result<Plan, StopReason> {
        let main = self.paths.main_id();
        let mut stack = vec![Backward {
            run: main,
            exit: Demands::NOTHING,
            wants: vec![last],
            inner: Vec::new(),
            next: self.paths.main().states.len() - 1,
        }];
        loop {
            guard.check()?;
            let depth = stack.len() - 1;
            let frame = &stack[depth];
            let path = self.paths.run(frame.run);
            let i = frame.next;
            if i == 0 {
                let frame = stack.swap_remove(depth);
                let wanted = frame.wants.iter().any(|&id| id != Demands::NOTHING);
                let plan = Plan {
                    run: frame.run,
                    wants: if wanted {
                        self.wants.len() as u32
                    } else {
                        NOWHERE
                    },
                    inner: self.inner.len() as u32,
                    exit: frame.exit,
                };
                if wanted {
                    self.wants.extend(frame.wants.into_iter().rev());
                }
                self.inner.extend(frame.inner.into_iter().rev());
                if frame.run == main {
                    return Ok(plan);
                }
                let key = (frame.run, frame.exit);
                self.known.insert(key, self.plans.len() as u32);
                self.plans.push(plan);
                continue;
            }
            let (from, to) = (&path.states[i - 1], &path.states[i]);
            let wants = self.demands.get(frame.wants[frame.wants.len() - 1]);
            let mut inner = None;
            let before = if let Edge::Summary(run) = path.edge(i) {
                let exit = self.at_exit(from, to, wants, self.paths.exit(run));
                let key = (run, self.demands.id(exit));
                let Some(&plan) = self.known.get(&key) else {
                    let frame = self.begin(key.0, key.1);
                    stack.push(frame);
                    continue;
                };
                inner = Some(plan);
                let path = self.paths.run(frame.run);
                let (from, to) = (&path.states[i - 1], &path.states[i]);
                let wants = self.demands.get(frame.wants[frame.wants.len() - 1]);
                let entry = &self.paths.run(run).states[0];
                let at_entry = self.wants_at(&self.plans[plan as usize], 0);
                self.before_call(from, to, wants, entry, at_entry)
            } else {
                self.before_step(from, to, wants, path.edge(i))
            };
            let before = self.demands.id(before);
            let frame = &mut stack[depth];
            frame.wants.push(before);
            frame.inner.extend(inner);
            frame.next = i - 1;
        }
    }

    /// Plans everything; `start` is where the cycle of a lasso begins.
    pub(super) fn plan_main(
        &mut self,
        start: Option<usize>,
        guard: &mut Guard,
    ) -> Result<Plan, StopReason> {
        let mut plan = self.plan_from(Demands::NOTHING, guard)?;
        if let Some(start) = start {
            // What is wanted at the start of the cycle is wanted at its end; and, if an unknown
            // value moves from one variable to another, at the end of the round before. Each round
            // settles one more.
            let main = self.paths.main();
            let last = main.states.len() - 1;
            for _ in 0..=self.fields(&main.states[last]).count() {
                let main = self.paths.main();
                let wants = self.collect(&main.states[last], |slot| {
                    self.wanted(&main.states[start], self.wants_at(&plan, start), slot)
                });
                let wants = self.demands.id(wants);
                if self.wants_id(&plan, last) == wants {
                    break;
                }
                plan = self.plan_from(wants, guard)?;
            }
        }
        self.known = FxHashMap::default();
        Ok(plan)
    }
}
