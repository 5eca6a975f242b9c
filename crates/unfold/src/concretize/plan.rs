//! The backward pass: which values are wanted where.
//!
//! A variable that is unknown at a position is wanted to have the value it has, or is wanted to
//! have, at the next position, unless the step between gives it a new one. If the step moves it
//! elsewhere unread, it is wanted to have the value the new place is wanted to have. Through a folded
//! call, what is wanted after the return is wanted of the exit; each run is planned once for
//! each different demand on its exit.

use droste_base::{Cycle, Position, Via};
use droste_lang::program::{ExprNode, NodeId, Op, Program, Value, VarRef, Violation};
use rustc_hash::FxHashMap;

use crate::code::convert;
use crate::layout::{Field, Status};
use crate::machine::Machine;
use crate::words::Words;
use droste_lang::effects::Effects;

/// A trace or run without refinements: one state per position, as refined as it gets.
pub(super) struct Path<'a, W> {
    pub(super) states: Vec<&'a W>,
    pub(super) vias: Vec<Via>,
    /// For each position of the trace, the position here.
    pub(super) places: Vec<usize>,
}

impl<'a, W> Path<'a, W> {
    pub(super) fn new(positions: &'a [Position<W>]) -> Self {
        let mut path = Path {
            states: Vec::new(),
            vias: Vec::new(),
            places: Vec::new(),
        };
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
pub(super) type Wants = Vec<(u32, u64)>;

/// What is wanted at each position of a path, and the plan behind each summary edge.
pub(super) struct Plan {
    pub(super) run: u32,
    pub(super) wants: Vec<Wants>,
    /// For each position, the plan of the run on the edge into it.
    pub(super) inner: Vec<u32>,
    /// What is wanted of the exit.
    pub(super) exit: Wants,
}

pub(super) struct Concretizer<'a, W> {
    /// The program the engine saw: it decides what moves where unread.
    pub(super) cleaned: &'a Program,
    /// What its procedures touch.
    pub(super) effects: Effects,
    /// The program as it was written.
    pub(super) machine: &'a Machine,
    pub(super) runs: Vec<Path<'a, W>>,
    pub(super) exits: Vec<&'a W>,
    pub(super) plans: Vec<Plan>,
    pub(super) known: FxHashMap<(u32, Wants), u32>,
}

pub(super) const NO_PLAN: u32 = u32::MAX;

/// A path whose wants are being computed, from the end to the start.
pub(super) struct Backward {
    /// The run, or none for the main path.
    pub(super) run: Option<u32>,
    pub(super) exit: Wants,
    /// Wants of the positions from `next` on, reversed.
    pub(super) wants: Vec<Wants>,
    pub(super) inner: Vec<u32>,
    pub(super) next: usize,
}

pub(super) fn lookup(wants: &Wants, slot: u32) -> Option<u64> {
    wants
        .binary_search_by_key(&slot, |&(slot, _)| slot)
        .ok()
        .map(|i| wants[i].1)
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
        let failed = matches!(self.machine.layout.status(to.words()), Status::Failed(_));
        if failed || self.is_terminated(from) {
            return self.collect(from, after); // Nothing has changed.
        }
        match (via, self.op(from)) {
            (Via::Call(_), Op::Call { args, .. }) => self.collect(from, |slot| {
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
        let Op::Call {
            callee, targets, ..
        } = self.op(from)
        else {
            return Wants::new();
        };
        let mut out = Wants::new();
        for field in &layout.globals {
            let overwritten = targets
                .iter()
                .flatten()
                .any(|var| self.slot(*var) == field.slot);
            // What the callee does not touch comes back as it went in.
            if !overwritten
                && self.effects.touches(callee.0, field.slot)
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
    fn before_call(&self, from: &W, to: &W, wants: &Wants, entry: &W, at_entry: &Wants) -> Wants {
        let globals = self.machine.layout.globals.len() as u32;
        let Op::Call {
            callee,
            args,
            targets,
            ..
        } = self.op(from)
        else {
            return Wants::new();
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
                return if self.effects.touches(callee.0, slot) {
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
    fn before_exit(&self, from: &W, exit: &W, wants: &Wants) -> Wants {
        let globals = self.machine.layout.globals.len() as u32;
        let Op::Return(values) = self.op(from) else {
            return Wants::new();
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

    fn begin(&self, run: u32, exit: Wants) -> Backward {
        let path = &self.runs[run as usize];
        let last = path.states.len() - 1;
        let wants = self.before_exit(path.states[last], self.exits[run as usize], &exit);
        Backward {
            run: Some(run),
            exit,
            wants: vec![wants],
            inner: Vec::new(),
            next: last,
        }
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
                let Backward {
                    run,
                    exit,
                    wants,
                    inner,
                    ..
                } = stack.swap_remove(depth);
                let Some(run) = run else {
                    return Plan {
                        run: NO_PLAN,
                        wants,
                        inner,
                        exit,
                    };
                };
                self.known
                    .insert((run, exit.clone()), self.plans.len() as u32);
                self.plans.push(Plan {
                    run,
                    wants,
                    inner,
                    exit,
                });
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

    pub(super) fn plan_main(&mut self, main: &Path<'_, W>, cycle: Option<Cycle>) -> Plan {
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
