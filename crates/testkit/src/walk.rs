//! Random walks: goes through a program, chooses at random wherever there is a choice, and writes
//! down what it does as an [`Execution`].
//!
//! It keeps the whole stack. When a procedure returns, what it did becomes a [`CalleeRun`] and its
//! call a folded step; calls that are open at the end stay calls. So the runs are numbered in the
//! order in which they return, and refer to earlier ones only.
//!
//! Every expression is evaluated with each `*` chosen anew; where a condition has to be true, or new
//! values have to satisfy a `constrain`, that is tried again and again. If no try succeeds, the walk
//! ends there, as it does where the program is stuck.
//!
//! What keeps it honest: the replayer, which shares no code with it, accepts every walk.

use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Changes, Ending, Execution, Step, Valuation,
};
use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, Operator, ProcId, Program, Type, Value, VarRef, Variable,
    Violation,
};

use crate::oracle::lowered::{convert, operate};
use crate::random::Random;

/// How often a step is tried before it counts as impossible.
const TRIES: u32 = 200;

/// Walks through `program` for at most `most` steps, calls and returns included. The same seed gives
/// the same walk. It ends [`Ending::At`] a node, or [`Ending::Final`] if it comes to a violation or
/// `main` returns. Threads are not started.
pub fn random_walk(program: &Program, seed: u64, most: usize) -> Execution {
    let mut random = Random::new(seed);
    let globals = any(&program.globals, &mut random);
    let locals = any(&program.procedure(program.main).locals, &mut random);
    let mut walk = Walk {
        program,
        random,
        globals,
        stack: Vec::new(),
        runs: Vec::new(),
    };
    walk.enter(program.main, locals);
    for _ in 0..most {
        match walk.step() {
            Ok(true) => {}
            Ok(false) => break,
            Err(last) => return walk.finish(Some(last)),
        }
    }
    walk.finish(None)
}

/// Any value of a type.
fn any_value(ty: Type, random: &mut Random) -> Value {
    let count = ty.hi().abs_diff(ty.lo()) + 1;
    let bits = u128::from(random.bits()) << 64 | u128::from(random.bits());
    ty.lo() + (bits % count) as Value
}

fn any(variables: &[Variable], random: &mut Random) -> Vec<Value> {
    let values = variables.iter();
    values.map(|v| any_value(v.ty, random)).collect()
}

/// A procedure that has not returned.
struct Frame {
    node: NodeId,
    /// The globals and the locals at the entry.
    entry: Valuation,
    locals: Vec<Value>,
    steps: Vec<Step>,
}

struct Walk<'a> {
    program: &'a Program,
    random: Random,
    globals: Vec<Value>,
    stack: Vec<Frame>,
    runs: Vec<CalleeRun>,
}

impl Walk<'_> {
    fn enter(&mut self, procedure: ProcId, locals: Vec<Value>) {
        self.stack.push(Frame {
            node: self.program.procedure(procedure).entry,
            entry: Valuation {
                globals: self.globals.clone(),
                locals: locals.clone(),
            },
            locals,
            steps: Vec::new(),
        });
    }

    /// The value of an expression, with each `*` chosen at random.
    fn value(
        &mut self,
        expr: &Expr,
        now: &Valuation,
        next: &Valuation,
    ) -> Result<Value, Violation> {
        // A part that an operator does not look at must not fail, so failures are values.
        let mut values: Vec<Result<Value, Violation>> = Vec::with_capacity(expr.nodes.len());
        for part in &expr.nodes {
            let get = |i: u32| values[i as usize];
            values.push(match *part {
                ExprNode::Const(value) => Ok(value),
                ExprNode::Nondet(ty) => Ok(any_value(ty, &mut self.random)),
                ExprNode::Var(var) => Ok(now.get(var)),
                ExprNode::Next(var) => Ok(next.get(var)),
                ExprNode::Not(i) => get(i).map(|v| 1 - v),
                ExprNode::BitNot(i) => get(i).map(|v| !v),
                ExprNode::Neg(i) => get(i).map(|v| -v),
                ExprNode::Schoose(yes, no) => match (get(yes), get(no)) {
                    (Err(e), _) | (Ok(_), Err(e)) => Err(e),
                    (Ok(1), _) => Ok(1),
                    (_, Ok(1)) => Ok(0),
                    _ => Ok(any_value(Type::Bool, &mut self.random)),
                },
                ExprNode::Binary(op, left, right) => match (op, get(left)) {
                    (_, Err(e)) => Err(e),
                    (Operator::And, Ok(0)) => Ok(0),
                    (Operator::Or, Ok(1)) | (Operator::Implies, Ok(0)) => Ok(1),
                    (_, Ok(left)) => get(right).and_then(|right| operate(op, left, right)),
                },
                ExprNode::At(_) => unreachable!("in propositions only"),
            });
        }
        values.pop().expect("an expression has parts")
    }

    /// What storing an expression in a variable of this type leaves there.
    fn stored(&mut self, expr: &Expr, ty: Type, now: &Valuation) -> Result<Value, Violation> {
        self.value(expr, now, now)
            .and_then(|value| convert(value, ty))
    }

    /// Whether the step of a node from `now` to `next` satisfies its conditions, this time.
    fn related(
        &mut self,
        node: &Node,
        constrain: Option<&Expr>,
        now: &Valuation,
        next: &Valuation,
    ) -> Result<bool, Violation> {
        if let Some(expr) = constrain
            && self.value(expr, now, next)? != 1
        {
            return Ok(false);
        }
        match &node.ensure {
            Some(expr) => Ok(self.value(expr, next, next)? == 1),
            None => Ok(true),
        }
    }

    /// Makes a step; whether there was one. `Err` with the last action if the run is over.
    fn step(&mut self) -> Result<bool, Action> {
        for _ in 0..TRIES {
            if self.attempt()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tries to make a step, with choices at random.
    fn attempt(&mut self) -> Result<bool, Action> {
        let program = self.program;
        let frame = self.stack.last().expect("`main` has not returned");
        let (at, node) = (frame.node, program.node(frame.node));
        let now = Valuation {
            globals: self.globals.clone(),
            locals: frame.locals.clone(),
        };
        let mut next = now.clone();
        let mut condition = None;
        let to = match &node.op {
            Op::Goto(targets) if targets.is_empty() => return Ok(false),
            Op::Goto(targets) => *self.random.pick(targets),
            Op::AtomicBegin(to) | Op::AtomicEnd(to) => *to,
            Op::Assign {
                assigns,
                discards,
                constrain,
                next: to,
            } => {
                for (var, expr) in assigns {
                    let ty = program.variable(node.procedure, *var).ty;
                    // What is related to the old value is seldom guessed.
                    let keep = constrain.is_some()
                        && matches!(expr.root(), ExprNode::Nondet(_))
                        && self.random.percent(50);
                    let value = if keep {
                        now.get(*var)
                    } else {
                        self.stored(expr, ty, &now).map_err(Action::Fail)?
                    };
                    next.set(*var, value);
                }
                for expr in discards {
                    self.value(expr, &now, &now).map_err(Action::Fail)?;
                }
                condition = constrain.as_ref();
                *to
            }
            Op::Branch { condition, yes, no } => {
                let value = self.value(condition, &now, &now).map_err(Action::Fail)?;
                if value == 1 { *yes } else { *no }
            }
            Op::Assume {
                condition,
                next: to,
            }
            | Op::Assert {
                condition,
                next: to,
            } => {
                let value = self.value(condition, &now, &now).map_err(Action::Fail)?;
                if value != 1 && matches!(node.op, Op::Assert { .. }) {
                    return Err(Action::Fail(Violation::Assertion));
                }
                if value != 1 {
                    return Ok(false);
                }
                *to
            }
            Op::Call { callee, args, .. } => {
                let variables = &program.procedure(*callee).locals;
                let mut locals = any(variables, &mut self.random);
                for (i, expr) in args.iter().enumerate() {
                    locals[i] = self
                        .stored(expr, variables[i].ty, &now)
                        .map_err(Action::Fail)?;
                }
                self.enter(*callee, locals);
                return Ok(true);
            }
            Op::Return(values) => return self.leave(at, values, &now),
            Op::Stuck | Op::StartThread { .. } | Op::EndThread => return Ok(false),
        };
        let related = self.related(node, condition, &now, &next);
        if !related.map_err(Action::Fail)? {
            return Ok(false);
        }
        let changes = changes(&now, &next);
        self.go_on(Action::Internal { to, changes }, to, next);
        Ok(true)
    }

    /// Tries to return from the node `exit`.
    fn leave(&mut self, exit: NodeId, values: &[Expr], now: &Valuation) -> Result<bool, Action> {
        let program = self.program;
        let types = &program.procedure(program.node(exit).procedure).results;
        let mut results = Vec::new();
        for (expr, &ty) in values.iter().zip(types) {
            results.push(self.stored(expr, ty, now).map_err(Action::Fail)?);
        }
        let [.., caller, top] = &self.stack[..] else {
            return Err(Action::Terminate);
        };
        let call = program.node(caller.node);
        let Op::Call {
            targets,
            constrain,
            next: to,
            ..
        } = &call.op
        else {
            unreachable!("callers are at calls")
        };
        let before = Valuation {
            globals: top.entry.globals.clone(),
            locals: caller.locals.clone(),
        };
        let mut next = Valuation {
            globals: self.globals.clone(),
            locals: caller.locals.clone(),
        };
        for (target, &result) in targets.iter().zip(&results) {
            if let Some(var) = *target {
                let ty = program.variable(call.procedure, var).ty;
                next.set(var, convert(result, ty).map_err(Action::Fail)?);
            }
        }
        let related = self.related(call, constrain.as_ref(), &before, &next);
        if !related.map_err(Action::Fail)? {
            return Ok(false);
        }
        let frame = self.stack.pop().expect("there are two");
        let run = CalleeRunId(self.runs.len() as u32);
        self.runs.push(CalleeRun {
            entry: frame.entry,
            steps: frame.steps.into(),
            exit,
            results,
        });
        let (to, changes) = (*to, changes(&before, &next));
        self.go_on(Action::Folded { run, to, changes }, to, next);
        Ok(true)
    }

    /// Adds a step to the top frame and goes on.
    fn go_on(&mut self, action: Action, to: NodeId, next: Valuation) {
        let frame = self.stack.last_mut().expect("`main` has not returned");
        let node = frame.node;
        frame.steps.push(Step { node, action });
        frame.node = to;
        frame.locals = next.locals;
        self.globals = next.globals;
    }

    fn finish(self, last: Option<Action>) -> Execution {
        let mut steps = Vec::new();
        let mut start = Valuation::default();
        let mut at = self.program.procedure(self.program.main).entry;
        for (height, frame) in self.stack.into_iter().enumerate() {
            if height == 0 {
                start = frame.entry;
            } else {
                let locals = frame.entry.locals.into();
                let action = Action::Call { locals };
                steps.push(Step { node: at, action });
            }
            steps.extend(frame.steps);
            at = frame.node;
        }
        let ending = match last {
            Some(action) => {
                steps.push(Step { node: at, action });
                Ending::Final
            }
            None => Ending::At(at),
        };
        Execution {
            start,
            runs: self.runs.into(),
            steps,
            ending,
        }
    }
}

/// The variables that differ.
fn changes(now: &Valuation, next: &Valuation) -> Changes {
    let globals = (0..now.globals.len() as u32).map(VarRef::Global);
    let locals = (0..now.locals.len() as u32).map(VarRef::Local);
    let all = globals.chain(locals);
    all.filter(|&var| now.get(var) != next.get(var))
        .map(|var| (var, next.get(var)))
        .collect()
}
