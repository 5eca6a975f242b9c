//! Constants, by copy-constant propagation.
//!
//! An assignment gives a variable a constant, the value of another variable (whose type must not have more
//! values), or anything. What a condition says about single variables counts as an assignment on the
//! paths where it is true: after `x = 3`, `x` is 3. If `x` has two values only, it is the other one where
//! the condition is false.

use droste_base::{Limits, StopReason};
use droste_pds::Domain as _;
use droste_pds::domains::{Assignments, CopyConstants, Known, Source};
use droste_program::{Expr, ExprNode, Node, Op, Operator, ProcId, Program, Type, Value, VarRef};

use crate::flow::{Flow, Passing, Semantics, Slots};
use crate::{Fact, nodes, visible};

/// The constants at each node.
pub(crate) fn constants(
    program: &Program,
    limits: &Limits,
) -> Result<Vec<Option<Fact>>, StopReason> {
    let slots = Slots::new(program);
    let flow = Flow::new(program, slots, &Constants { program, slots }, limits)?;
    let weights = flow.forward(limits)?;
    let before = vec![Known::Anything; slots.count() as usize];
    let facts = nodes(program).zip(weights).map(|(id, weight)| {
        let known = flow.domain().apply(&weight?, &before)?;
        let constants = visible(program, id).filter_map(|var| {
            let constant = known[slots.of(var) as usize];
            match constant {
                Known::Constant(value) => Some((var, value)),
                Known::Anything | Known::Nothing => None,
            }
        });
        Some(Fact::Constants(constants.collect()))
    });
    Ok(facts.collect())
}

struct Constants<'a> {
    program: &'a Program,
    slots: Slots,
}

impl Constants<'_> {
    fn domain(&self) -> CopyConstants {
        CopyConstants::new(self.slots.count())
    }

    /// What a value is that is stored in a variable of some type.
    fn source(&self, procedure: ProcId, value: &Expr, ty: Type) -> Source {
        if let Some(literal) = literal(value, value.nodes.len() - 1) {
            let stored = ty.convert(literal);
            return Source::Value(stored.map_or(Known::Anything, Known::Constant));
        }
        match *value.root() {
            ExprNode::Var(var) if contains(ty, self.program.variable(procedure, var).ty) => {
                Source::Variable(self.slots.of(var))
            }
            _ => Source::Value(Known::Anything),
        }
    }

    /// What a condition says about variables if it has this value. Nothing if it cannot have it.
    fn said(&self, procedure: ProcId, condition: &Expr, value: bool) -> Option<Vec<(u32, Source)>> {
        let mut said = Vec::new();
        let mut work = vec![(condition.nodes.len() - 1, value)];
        // A variable and what it is compared with.
        let compared = |a: u32, b: u32| {
            let one_way = |a: u32, b: u32| match condition.nodes[a as usize] {
                ExprNode::Var(var) => Some((var, literal(condition, b as usize)?)),
                _ => None,
            };
            one_way(a, b).or_else(|| one_way(b, a))
        };
        let other = |(var, known): (VarRef, Value)| {
            let ty = self.program.variable(procedure, var).ty;
            match (ty.lo(), ty.hi()) {
                (lo, hi) if lo.checked_add(1) != Some(hi) => None,
                (lo, hi) if known == lo => Some((var, hi)),
                (lo, hi) if known == hi => Some((var, lo)),
                _ => None,
            }
        };
        while let Some((at, value)) = work.pop() {
            match condition.nodes[at] {
                ExprNode::Const(constant) if (constant != 0) != value => return None,
                ExprNode::Var(var) => said.push((var, Value::from(value))),
                ExprNode::Not(i) => work.push((i as usize, !value)),
                // Both parts are evaluated if this is so.
                ExprNode::Binary(Operator::And, a, b) if value => {
                    work.extend([(a as usize, true), (b as usize, true)]);
                }
                ExprNode::Binary(Operator::Or, a, b) if !value => {
                    work.extend([(a as usize, false), (b as usize, false)]);
                }
                ExprNode::Binary(operator @ (Operator::Eq | Operator::Ne), a, b) => {
                    let known = compared(a, b);
                    said.extend(if (operator == Operator::Eq) == value {
                        known
                    } else {
                        known.and_then(other)
                    });
                }
                _ => {}
            }
        }
        let known = said.into_iter().map(|(var, value)| {
            let known = Source::Value(Known::Constant(value));
            (self.slots.of(var), known)
        });
        Some(known.collect())
    }
}

/// The value of a number as it is written, which may have a sign.
fn literal(expr: &Expr, at: usize) -> Option<Value> {
    match expr.nodes[at] {
        ExprNode::Const(value) => Some(value),
        ExprNode::Neg(inner) => match expr.nodes[inner as usize] {
            ExprNode::Const(value) => value.checked_neg(),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a type has all the values of another: then storing does not change them.
fn contains(ty: Type, other: Type) -> bool {
    ty.lo() <= other.lo() && other.hi() <= ty.hi()
}

impl Semantics for Constants<'_> {
    type Domain = CopyConstants;

    fn domain(&self) -> CopyConstants {
        Constants::domain(self)
    }

    fn step(&self, node: &Node, condition: Option<(&Expr, bool)>) -> Option<Assignments> {
        let domain = Constants::domain(self);
        let procedure = node.procedure;
        match (&node.op, condition) {
            (Op::Assign { assigns, .. }, _) => {
                let assigns = assigns.iter().map(|(var, value)| {
                    let ty = self.program.variable(procedure, *var).ty;
                    (self.slots.of(*var), self.source(procedure, value, ty))
                });
                Some(domain.assign_all(&assigns.collect::<Vec<_>>()))
            }
            (_, Some((condition, value))) => {
                let said = self.said(procedure, condition, value)?;
                Some(domain.assign_all(&said))
            }
            _ => Some(domain.one()),
        }
    }

    fn call(&self, node: &Node) -> Passing<Assignments> {
        let domain = Constants::domain(self);
        let anything = Source::Value(Known::Anything);
        let mut locals: Vec<(u32, Source)> =
            self.slots.locals().map(|slot| (slot, anything)).collect();
        if let Op::Call { callee, args, .. } = &node.op {
            let params = &self.program.procedure(*callee).locals;
            for ((place, param), arg) in locals.iter_mut().zip(params).zip(args) {
                place.1 = self.source(node.procedure, arg, param.ty);
            }
        }
        Passing {
            before: domain.one(),
            enter: domain.assign_all(&locals),
        }
    }

    fn store(&self, node: &Node) -> Assignments {
        let mut stored = Vec::new();
        if let Op::Call {
            callee, targets, ..
        } = &node.op
        {
            let results = &self.program.procedure(*callee).results;
            for ((i, target), result) in (0..).zip(targets).zip(results) {
                if let Some(target) = *target {
                    let ty = self.program.variable(node.procedure, target).ty;
                    let source = if contains(ty, *result) {
                        Source::Variable(self.slots.result(i))
                    } else {
                        Source::Value(Known::Anything)
                    };
                    stored.push((self.slots.of(target), source));
                }
            }
        }
        Constants::domain(self).assign_all(&stored)
    }

    fn give_back(&self, node: &Node, values: &[Expr]) -> Assignments {
        let results = &self.program.procedure(node.procedure).results;
        let values = (0..).zip(values).zip(results).map(|((i, value), ty)| {
            let source = self.source(node.procedure, value, *ty);
            (self.slots.result(i), source)
        });
        Constants::domain(self).assign_all(&values.collect::<Vec<_>>())
    }
}
