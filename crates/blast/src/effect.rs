//! Operations: what executing a node does to the bits.
//!
//! A step has up to three parts, each with choices of its own.
//!
//! 1. [`Blaster::effect`]: the expressions of the operation, over the bits before the step. An
//!    evaluation that fails ends the run before any effect.
//! 2. For a call, once the callee has returned, [`Blaster::resume`]: the results are stored.
//! 3. [`Blaster::after`]: `constrain`, then `enforce`, over the bits before and after the step.
//!    Where they cannot be true there is no step; they may fail, too.
//!
//! With *x* the bits before, *x′* those after and *c*, *d* the choices of the parts, the step to
//! a node with guard *g* is
//!
//! ```text
//! ∃c. g(x,c) ∧ ⋀ x′ᵥ = storeᵥ(x,c) ∧ (x′ᵥ = xᵥ for all other v) ∧ ∃d. holds(x,x′,d)
//! ```
//!
//! A violation ends the run if `∃c. failure(x,c)`. It also does so after the first part of the
//! step, for some *x′*, if the conditions fail instead of being true: `∃d. failure(x,x′,d)`. (For a
//! store of [`New::Any`], x′ᵥ is any code in range.)

use std::ops::Range;

use droste_program::{Expr, ExprNode, NodeId, Op, Program, Type, VarRef, Violation};

use crate::evaluate::{Choices, Evaluated, Failures, Scene, evaluate};
use crate::logic::Logic;
use crate::storage::{State, convert, load};

/// What is stored into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Destination {
    /// A variable of the procedure, or a global.
    Var(VarRef),
    /// A parameter of the callee: a local of it with this index.
    Parameter(u32),
    /// A result of the procedure that returns.
    Result(u32),
}

/// A new value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum New<B> {
    /// Any value of the type: any code that [`in_range`](crate::in_range) allows.
    Any,
    /// This code.
    Code(Vec<B>),
}

/// A store.
#[derive(Clone, Debug)]
pub struct Store<B> {
    /// Where to.
    pub place: Destination,
    /// The type of the place.
    pub ty: Type,
    /// What.
    pub new: New<B>,
    /// The choices that the new value depends on, as indices into [`Effect::choices`].
    pub choices: Range<usize>,
    /// Whether those choices occur nowhere else, so that they can be quantified in this store
    /// alone.
    pub private: bool,
}

/// What the operation of a node does, before the conditions on its outcome.
#[derive(Clone, Debug)]
pub struct Effect<B> {
    /// All choice bits that occur in the rest, in the order in which they were made.
    pub choices: Vec<B>,
    /// The ways in which an evaluation fails. At most one bit is true.
    pub failures: Vec<(Violation, B)>,
    /// Where no evaluation fails and the operation can be executed: for `assume` and `assert`, the
    /// condition.
    pub guard: B,
    /// Where control goes and when: to a node of the procedure, or, for a call, to the callee's
    /// entry. A return has no edges. [`Op::StartThread`] has only the edge of the thread that
    /// executes it.
    pub edges: Vec<(NodeId, B)>,
    /// New values, for distinct places. Variables not mentioned keep their value.
    pub stores: Vec<Store<B>>,
}

/// The conditions on the outcome of a step.
#[derive(Clone, Debug)]
pub struct After<B> {
    /// All choice bits that occur in the rest.
    pub choices: Vec<B>,
    /// The ways in which evaluating the conditions fails. At most one bit is true.
    pub failures: Vec<(Violation, B)>,
    /// Where the conditions are true.
    pub holds: B,
}

/// Turns the operations of a program into bits of a logic.
#[derive(Debug)]
pub struct Blaster<'p, 'l, L: Logic> {
    program: &'p Program,
    logic: &'l mut L,
}

/// The effect that is being put together.
struct Draft<B> {
    choices: Choices<B>,
    failures: Failures<B>,
    stores: Vec<Store<B>>,
}

impl<B: Clone> Draft<B> {
    fn new() -> Self {
        Draft {
            choices: Choices::new(),
            failures: Failures::none(),
            stores: Vec::new(),
        }
    }
}

impl<'p, 'l, L: Logic> Blaster<'p, 'l, L> {
    /// For the operations of `program`.
    pub fn new(program: &'p Program, logic: &'l mut L) -> Self {
        Blaster { program, logic }
    }

    /// The logic.
    pub fn logic(&mut self) -> &mut L {
        self.logic
    }

    /// Evaluates an expression without `*`, for propositions.
    pub fn evaluate(
        &mut self,
        expr: &Expr,
        scene: &Scene<'_, L::Bit>,
    ) -> Result<Evaluated<L::Bit>, L::Error> {
        evaluate(self.logic, self.program, expr, scene, &mut Choices::new())
    }

    /// What the operation of `node` does in the state `now`.
    ///
    /// For a call these are the arguments, and the edge leads to the callee's entry; for a return,
    /// the results.
    pub fn effect(
        &mut self,
        node: NodeId,
        now: &State<L::Bit>,
    ) -> Result<Effect<L::Bit>, L::Error> {
        let program = self.program;
        let procedure = program.node(node).procedure;
        let scene = Scene {
            procedure,
            now,
            next: now,
            at: None,
        };
        let mut draft = Draft::new();
        match &program.node(node).op {
            Op::Goto(targets) => {
                let guard = self.logic.constant(true);
                let edges = targets.iter().map(|&to| (to, guard.clone())).collect();
                self.finish(draft, &guard, edges)
            }
            Op::AtomicBegin(next) | Op::AtomicEnd(next) | Op::StartThread { next, .. } => {
                let guard = self.logic.constant(true);
                self.finish(draft, &guard, vec![(*next, guard.clone())])
            }
            Op::Stuck | Op::EndThread => {
                let never = self.logic.constant(false);
                self.finish(draft, &never, Vec::new())
            }
            Op::Branch { condition, yes, no } => {
                let holds = self.condition(condition, &scene, &mut draft)?;
                let fails = self.logic.not(&holds)?;
                let always = self.logic.constant(true);
                self.finish(draft, &always, vec![(*yes, holds), (*no, fails)])
            }
            Op::Assume { condition, next } => {
                let holds = self.condition(condition, &scene, &mut draft)?;
                self.finish(draft, &holds, vec![(*next, holds.clone())])
            }
            Op::Assert { condition, next } => {
                let holds = self.condition(condition, &scene, &mut draft)?;
                let fails = self.logic.not(&holds)?;
                let failures = &mut draft.failures;
                failures.add(self.logic, Violation::Assertion, &fails)?;
                self.finish(draft, &holds, vec![(*next, holds.clone())])
            }
            Op::Assign {
                assigns,
                discards,
                next,
                ..
            } => {
                for (var, expr) in assigns {
                    let ty = program.variable(procedure, *var).ty;
                    self.store(Destination::Var(*var), ty, expr, &scene, &mut draft)?;
                }
                for expr in discards {
                    let choices = &mut draft.choices;
                    let part = evaluate(self.logic, program, expr, &scene, choices)?;
                    draft.failures.append(self.logic, part.failures, None)?;
                }
                let always = self.logic.constant(true);
                self.finish(draft, &always, vec![(*next, always.clone())])
            }
            Op::Call { callee, args, .. } => {
                let callee = program.procedure(*callee);
                for (i, (arg, param)) in args.iter().zip(&callee.locals).enumerate() {
                    let place = Destination::Parameter(i as u32);
                    self.store(place, param.ty, arg, &scene, &mut draft)?;
                }
                let always = self.logic.constant(true);
                self.finish(draft, &always, vec![(callee.entry, always.clone())])
            }
            Op::Return(values) => {
                let types = &program.procedure(procedure).results;
                for (i, (value, &ty)) in values.iter().zip(types).enumerate() {
                    let place = Destination::Result(i as u32);
                    self.store(place, ty, value, &scene, &mut draft)?;
                }
                let always = self.logic.constant(true);
                self.finish(draft, &always, Vec::new())
            }
        }
    }

    /// Storing the results of the call at `node`: `results` are their codes, in the order of the
    /// callee's result types. The edge leads to the node after the call. There are no choices.
    pub fn resume(
        &mut self,
        node: NodeId,
        results: &[Vec<L::Bit>],
    ) -> Result<Effect<L::Bit>, L::Error> {
        let node = self.program.node(node);
        let Op::Call {
            callee,
            targets,
            next,
            ..
        } = &node.op
        else {
            unreachable!("only a call is resumed")
        };
        let mut draft = Draft::new();
        let types = &self.program.procedure(*callee).results;
        for ((target, code), &from) in targets.iter().zip(results).zip(types) {
            let Some(var) = *target else { continue };
            let ty = self.program.variable(node.procedure, var).ty;
            let value = load(self.logic, from, code)?;
            let (code, failure) = if from == ty {
                (code.clone(), None)
            } else {
                convert(self.logic, ty, &value)?
            };
            if let Some((violation, bit)) = failure {
                draft.failures.add(self.logic, violation, &bit)?;
            }
            draft.stores.push(Store {
                place: Destination::Var(var),
                ty,
                new: New::Code(code),
                choices: 0..0,
                private: true,
            });
        }
        let always = self.logic.constant(true);
        self.finish(draft, &always, vec![(*next, always.clone())])
    }

    /// The conditions on the outcome of the step at `node`, for a call after the results have been
    /// stored; `None` if there are none.
    ///
    /// Only a part of `next` is looked at, namely what the step may change: the variables it
    /// assigns, or, after a call, the globals and the variables that get results.
    pub fn after(
        &mut self,
        node: NodeId,
        now: &State<L::Bit>,
        next: &State<L::Bit>,
    ) -> Result<Option<After<L::Bit>>, L::Error> {
        let node = self.program.node(node);
        let constrain = match &node.op {
            Op::Assign { constrain, .. } | Op::Call { constrain, .. } => constrain.as_ref(),
            _ => None,
        };
        let ensure = node.ensure.as_deref();
        if constrain.is_none() && ensure.is_none() {
            return Ok(None);
        }
        let next = &outcome(&node.op, now, next);
        let mut choices = Choices::new();
        let mut failures = Failures::none();
        let mut holds = self.logic.constant(true);
        // The values after the step are `Next` in a `constrain` and `Var` in an `enforce`.
        for (condition, now) in [(constrain, now), (ensure, next)] {
            let Some(condition) = condition else { continue };
            let scene = Scene {
                procedure: node.procedure,
                now,
                next,
                at: None,
            };
            let part = evaluate(self.logic, self.program, condition, &scene, &mut choices)?;
            failures.append(self.logic, part.failures, Some(&holds))?;
            let bit = part.value.truth(self.logic);
            holds = self.logic.and(&holds, &bit)?;
        }
        holds = self.unless_failed(holds, &failures)?;
        let mut failures = failures.list();
        if let Some(valid) = &choices.valid {
            holds = self.logic.and(&holds, valid)?;
            for (_, bit) in &mut failures {
                *bit = self.logic.and(bit, valid)?;
            }
        }
        Ok(Some(After {
            choices: choices.bits,
            failures,
            holds,
        }))
    }

    fn unless_failed(
        &mut self,
        guard: L::Bit,
        failures: &Failures<L::Bit>,
    ) -> Result<L::Bit, L::Error> {
        let Some(failed) = failures.any(self.logic)? else {
            return Ok(guard);
        };
        let fine = self.logic.not(&failed)?;
        self.logic.and(&guard, &fine)
    }

    fn condition(
        &mut self,
        condition: &Expr,
        scene: &Scene<'_, L::Bit>,
        draft: &mut Draft<L::Bit>,
    ) -> Result<L::Bit, L::Error> {
        let choices = &mut draft.choices;
        let part = evaluate(self.logic, self.program, condition, scene, choices)?;
        draft.failures.append(self.logic, part.failures, None)?;
        Ok(part.value.truth(self.logic))
    }

    fn store(
        &mut self,
        place: Destination,
        ty: Type,
        expr: &Expr,
        scene: &Scene<'_, L::Bit>,
        draft: &mut Draft<L::Bit>,
    ) -> Result<(), L::Error> {
        let first = draft.choices.bits.len();
        let mut private = true;
        let new = match expr.nodes[..] {
            [ExprNode::Nondet(any)] if any == ty => New::Any,
            // Nothing to compute, and a code out of range stays what it is.
            [ExprNode::Var(var)] if self.program.variable(scene.procedure, var).ty == ty => {
                New::Code(scene.now.code(var).to_vec())
            }
            _ => {
                let unrestricted = draft.choices.valid.is_none();
                let choices = &mut draft.choices;
                let part = evaluate(self.logic, self.program, expr, scene, choices)?;
                let (code, failure) = convert(self.logic, ty, &part.value)?;
                let mut failures = part.failures;
                if let Some((violation, bit)) = failure {
                    failures.add(self.logic, violation, &bit)?;
                }
                private = failures.any(self.logic)?.is_none()
                    && unrestricted == draft.choices.valid.is_none();
                draft.failures.append(self.logic, failures, None)?;
                New::Code(code)
            }
        };
        draft.stores.push(Store {
            place,
            ty,
            new,
            choices: first..draft.choices.bits.len(),
            private,
        });
        Ok(())
    }

    /// An evaluation counts only with valid choices, and control goes on only if none has failed.
    fn finish(
        &mut self,
        draft: Draft<L::Bit>,
        guard: &L::Bit,
        edges: Vec<(NodeId, L::Bit)>,
    ) -> Result<Effect<L::Bit>, L::Error> {
        let l = &mut *self.logic;
        let mut fine = l.constant(true);
        if let Some(failed) = draft.failures.any(l)? {
            fine = l.not(&failed)?;
        }
        let mut failures = draft.failures.list();
        if let Some(valid) = &draft.choices.valid {
            fine = l.and(&fine, valid)?;
            for (_, bit) in &mut failures {
                *bit = l.and(bit, valid)?;
            }
        }
        let guard = l.and(guard, &fine)?;
        let edges = edges
            .into_iter()
            .map(|(to, bit)| Ok((to, l.and(&bit, &fine)?)))
            .collect::<Result<_, L::Error>>()?;
        Ok(Effect {
            choices: draft.choices.bits,
            failures,
            guard,
            edges,
            stores: draft.stores,
        })
    }
}

/// `next` where the operation may change something, `now` elsewhere.
fn outcome<B: Clone>(op: &Op, now: &State<B>, next: &State<B>) -> State<B> {
    let mut state = now.clone();
    let mut take = |var: VarRef| match var {
        VarRef::Global(i) => state.globals[i as usize].clone_from(&next.globals[i as usize]),
        VarRef::Local(i) => state.locals[i as usize].clone_from(&next.locals[i as usize]),
    };
    match op {
        Op::Assign { assigns, .. } => assigns.iter().for_each(|(var, _)| take(*var)),
        Op::Call { targets, .. } => {
            (0..next.globals.len()).for_each(|i| take(VarRef::Global(i as u32)));
            targets.iter().flatten().for_each(|&var| take(var));
        }
        _ => {}
    }
    state
}
