//! What a step does in the lowered program, by eager enumeration: all outcomes of every expression, all
//! values of every variable.

use std::collections::BTreeSet;

use droste_program::{
    Expr, ExprNode, NodeId, Op, Operator, ProcId, Program, Type, Value, VarRef, Violation,
};

use super::LARGEST_DOMAIN;
use super::eval::valuations;
use super::machine::{Step, Store};
use super::product::System;

/// A program whose steps are enumerated.
pub struct Lowered<'a>(pub &'a Program);

pub(super) type Outcomes = BTreeSet<Result<Value, Violation>>;

impl Lowered<'_> {
    fn slot(&self, var: VarRef) -> usize {
        match var {
            VarRef::Global(i) => i as usize,
            VarRef::Local(i) => self.0.globals.len() + i as usize,
        }
    }

    pub(super) fn types(&self, procedure: ProcId) -> Vec<Type> {
        let globals = self.0.globals.iter();
        let locals = self.0.procedure(procedure).locals.iter();
        globals.chain(locals).map(|v| v.ty).collect()
    }

    fn outcomes(&self, expr: &Expr, at: usize, old: &[Value], new: &[Value]) -> Outcomes {
        let operand = |i: u32| self.outcomes(expr, i as usize, old, new);
        let map = |i: u32, f: &dyn Fn(Value) -> Value| -> Outcomes {
            operand(i).into_iter().map(|o| o.map(f)).collect()
        };
        match &expr.nodes[at] {
            ExprNode::Const(value) => BTreeSet::from([Ok(*value)]),
            ExprNode::Nondet(ty) => (ty.lo()..=ty.hi()).map(Ok).collect(),
            ExprNode::Var(var) => BTreeSet::from([Ok(old[self.slot(*var)])]),
            ExprNode::Next(var) => BTreeSet::from([Ok(new[self.slot(*var)])]),
            ExprNode::Not(i) => map(*i, &|v| 1 - v),
            ExprNode::BitNot(i) => map(*i, &|v| !v),
            ExprNode::Neg(i) => map(*i, &|v| -v),
            ExprNode::Schoose(yes, no) => {
                let mut all = Outcomes::new();
                for yes in operand(*yes) {
                    for no in operand(*no) {
                        match (yes, no) {
                            (Err(e), _) | (Ok(_), Err(e)) => {
                                all.insert(Err(e));
                            }
                            (Ok(1), _) => {
                                all.insert(Ok(1));
                            }
                            (_, Ok(1)) => {
                                all.insert(Ok(0));
                            }
                            _ => all.extend([Ok(0), Ok(1)]),
                        }
                    }
                }
                all
            }
            ExprNode::Binary(op, left, right) => {
                let mut all = Outcomes::new();
                for left in operand(*left) {
                    match (op, left) {
                        (_, Err(e)) => {
                            all.insert(Err(e));
                        }
                        (Operator::And, Ok(0)) => {
                            all.insert(Ok(0));
                        }
                        (Operator::Or, Ok(1)) | (Operator::Implies, Ok(0)) => {
                            all.insert(Ok(1));
                        }
                        (_, Ok(left)) => {
                            let right = operand(*right).into_iter();
                            all.extend(right.map(|right| operate(*op, left, right?)));
                        }
                    }
                }
                all
            }
            ExprNode::At(_) => unreachable!("in propositions only"),
        }
    }

    pub(super) fn values(&self, expr: &Expr, old: &[Value], new: &[Value]) -> Outcomes {
        self.outcomes(expr, expr.nodes.len() - 1, old, new)
    }

    fn stored(&self, expr: &Expr, ty: Type, store: &[Value]) -> Outcomes {
        let values = self.values(expr, store, store).into_iter();
        values
            .map(|value| value.and_then(|v| convert(v, ty)))
            .collect()
    }

    fn choices(outcomes: &[Outcomes]) -> (Vec<Store>, Vec<Step>) {
        let failures = outcomes.iter().flatten().filter_map(|o| o.err());
        let failures = failures.map(Step::Fail).collect();
        let mut all = vec![Vec::new()];
        for outcomes in outcomes {
            let mut next = Vec::new();
            for choice in &all {
                for value in outcomes.iter().flatten() {
                    next.push([&choice[..], &[*value]].concat());
                }
            }
            all = next;
        }
        (all, failures)
    }

    pub(super) fn go(
        &self,
        from: usize,
        old: &[Value],
        new: Store,
        extra: Option<&Expr>,
        to: NodeId,
    ) -> Vec<Step> {
        let node = &self.0.nodes[from];
        let relation = extra.map(|e| self.values(e, old, &new));
        let after = node.ensure.as_ref().map(|e| self.values(e, &new, &new));
        let mut steps = Vec::new();
        for outcomes in relation.into_iter().chain(after) {
            steps.extend(outcomes.iter().filter_map(|o| o.err()).map(Step::Fail));
            if !outcomes.contains(&Ok(1)) {
                return steps;
            }
        }
        steps.push(Step::To(to.0 as usize, new));
        steps
    }
}

/// The value of an operator, or how it fails.
pub fn operate(op: Operator, l: Value, r: Value) -> Result<Value, Violation> {
    Ok(match op {
        Operator::And => Value::from(l == 1 && r == 1),
        Operator::Or => Value::from(l == 1 || r == 1),
        Operator::Implies => Value::from(l == 0 || r == 1),
        Operator::Xor | Operator::Ne => Value::from(l != r),
        Operator::Eq => Value::from(l == r),
        Operator::Lt => Value::from(l < r),
        Operator::Le => Value::from(l <= r),
        Operator::Gt => Value::from(l > r),
        Operator::Ge => Value::from(l >= r),
        Operator::Add => l + r,
        Operator::Sub => l - r,
        Operator::Mul => l * r,
        Operator::Div => l.checked_div(r).ok_or(Violation::DivisionByZero)?,
        Operator::Rem => l.checked_rem(r).ok_or(Violation::DivisionByZero)?,
        Operator::Shl | Operator::Shr if r < 0 => return Err(Violation::NegativeShift),
        Operator::Shl => l << r.min(64),
        Operator::Shr => l >> r.min(127),
        Operator::BitAnd => l & r,
        Operator::BitOr => l | r,
        Operator::BitXor => l ^ r,
    })
}

/// What storing a value in a variable of this type leaves there.
pub fn convert(value: Value, ty: Type) -> Result<Value, Violation> {
    match ty {
        Type::Bool => Ok(value),
        Type::Bits { signed, width } => {
            let unused = 128 - u32::from(width);
            Ok(if signed {
                (value << unused) >> unused
            } else {
                (((value as u128) << unused) >> unused) as Value
            })
        }
        Type::Range { lo, hi } => {
            if value < lo || value > hi {
                return Err(Violation::OutOfRange);
            }
            Ok(value)
        }
    }
}

impl System for Lowered<'_> {
    fn globals(&self) -> usize {
        self.0.globals.len()
    }

    fn initial(&self) -> Vec<(usize, Store)> {
        let entry = self.0.procedure(self.0.main).entry.0 as usize;
        let stores = valuations(&self.types(self.0.main), LARGEST_DOMAIN).expect("small");
        stores.into_iter().map(|store| (entry, store)).collect()
    }

    fn entries(&self, callee: usize, entry: &[Value]) -> Vec<(usize, Store)> {
        let types = self.types(ProcId(callee as u32));
        let first = self.0.procedures[callee].entry.0 as usize;
        let locals = valuations(&types[entry.len()..], LARGEST_DOMAIN).expect("small");
        let extend = |locals: Store| (first, [entry, &locals].concat());
        locals.into_iter().map(extend).collect()
    }

    fn steps(&self, position: usize, store: &[Value]) -> Vec<Step> {
        let node = &self.0.nodes[position];
        let globals = &store[..self.0.globals.len()];
        let here = |to: NodeId| self.go(position, store, store.to_vec(), None, to);
        match &node.op {
            Op::Goto(targets) => targets.iter().flat_map(|&to| here(to)).collect(),
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => {
                let ty = |var: VarRef| self.0.variable(node.procedure, var).ty;
                let assigned = assigns
                    .iter()
                    .map(|(var, e)| self.stored(e, ty(*var), store));
                let dropped = discards.iter().map(|e| self.values(e, store, store));
                let outcomes: Vec<Outcomes> = assigned.chain(dropped).collect();
                let (choices, mut steps) = Self::choices(&outcomes);
                for choice in choices {
                    let mut new = store.to_vec();
                    for ((var, _), value) in assigns.iter().zip(choice) {
                        new[self.slot(*var)] = value;
                    }
                    steps.extend(self.go(position, store, new, constrain.as_ref(), *next));
                }
                steps
            }
            Op::Branch { condition, yes, no } => {
                let mut steps = Vec::new();
                for outcome in self.values(condition, store, store) {
                    match outcome {
                        Err(e) => steps.push(Step::Fail(e)),
                        Ok(value) => steps.extend(here(if value == 1 { *yes } else { *no })),
                    }
                }
                steps
            }
            Op::Assume { condition, next } | Op::Assert { condition, next } => {
                let mut steps = Vec::new();
                for outcome in self.values(condition, store, store) {
                    match outcome {
                        Err(e) => steps.push(Step::Fail(e)),
                        Ok(1) => steps.extend(here(*next)),
                        Ok(_) if matches!(node.op, Op::Assert { .. }) => {
                            steps.push(Step::Fail(Violation::Assertion));
                        }
                        Ok(_) => {}
                    }
                }
                steps
            }
            Op::Call { callee, args, .. } => {
                let locals = &self.0.procedure(*callee).locals;
                let outcomes = args.iter().zip(locals);
                let outcomes: Vec<Outcomes> = outcomes
                    .map(|(e, local)| self.stored(e, local.ty, store))
                    .collect();
                let (choices, mut steps) = Self::choices(&outcomes);
                for args in choices {
                    steps.push(Step::Call(callee.0 as usize, [globals, &args].concat()));
                }
                steps
            }
            Op::Return(values) => {
                let results = &self.0.procedure(node.procedure).results;
                let outcomes = values.iter().zip(results);
                let outcomes: Vec<Outcomes> =
                    outcomes.map(|(e, ty)| self.stored(e, *ty, store)).collect();
                let (choices, mut steps) = Self::choices(&outcomes);
                for results in choices {
                    steps.push(Step::Return([globals, &results].concat()));
                }
                steps
            }
            Op::AtomicBegin(next) | Op::AtomicEnd(next) => here(*next),
            Op::Stuck => Vec::new(),
            other => unreachable!("not in sequential programs: {other:?}"),
        }
    }

    fn resume(&self, position: usize, caller: &[Value], exit: &[Value]) -> Vec<Step> {
        let node = &self.0.nodes[position];
        let Op::Call {
            targets,
            constrain,
            next,
            ..
        } = &node.op
        else {
            unreachable!("only calls are resumed");
        };
        let globals = self.0.globals.len();
        let mut new = caller.to_vec();
        new[..globals].copy_from_slice(&exit[..globals]);
        for (target, &result) in targets.iter().zip(&exit[globals..]) {
            if let Some(var) = target {
                match convert(result, self.0.variable(node.procedure, *var).ty) {
                    Ok(value) => new[self.slot(*var)] = value,
                    Err(e) => return vec![Step::Fail(e)],
                }
            }
        }
        self.go(position, caller, new, constrain.as_ref(), *next)
    }
}
