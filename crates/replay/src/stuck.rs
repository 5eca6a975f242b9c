//! Whether nothing can happen at a position: no step exists, and trying one is no violation.
//!
//! For most statements this is a look at the outcomes of a condition. Where a `constrain` or an
//! `ensure` looks at values that the step chooses, no choice may satisfy them. That is decided by
//! halving. The conditions are evaluated over whole sets of new values; this may find them true
//! where no choice makes them so, but never the other way round. If even so they cannot be true,
//! the sets are done with. Otherwise one of the sets is cut in two. In the end all sets have one
//! value, and the evaluation is exact.

use droste_base::{Countable, StopReason};
use droste_program::execution::Valuation;
use droste_program::{Expr, ExprNode, Node, Op, Program, VarRef};

use crate::step::{self, Caller, Stores};
use crate::values::{Scene, Undecided, Values, evaluate, evaluate_with};

/// The most sets of new values that are examined.
const SETS: u64 = 1 << 22;

/// The reason that is given if they are not enough.
pub(crate) const TOO_MANY: StopReason = StopReason::TooMany(Countable::Choices, SETS);

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// Too many values would have to be tried.
    TooMany,
    /// Never for programs that came from source text.
    Undecided(Undecided),
}

impl From<Undecided> for Open {
    fn from(undecided: Undecided) -> Self {
        Open::Undecided(undecided)
    }
}

/// Whether nothing can happen at `node`. A return goes back to `caller`; without one it ends the
/// thread. So does `end_thread`: the end is something that happens.
pub(crate) fn is_stuck(
    program: &Program,
    node: &Node,
    now: &Valuation,
    caller: Option<&Caller>,
) -> Result<bool, Open> {
    let scene = Scene::of(now);
    let ensure = step::ensure(node);
    // A step that changes nothing.
    let plain = || match ensure {
        None => Ok(false),
        Some(ensure) => {
            let outcomes = evaluate(ensure, &scene)?;
            Ok(!outcomes.can_be(1) && outcomes.failures.is_empty())
        }
    };
    match &node.op {
        Op::Goto(_) | Op::AtomicBegin(_) | Op::AtomicEnd(_) | Op::StartThread { .. } => plain(),
        Op::Branch { condition, .. } => {
            let outcomes = evaluate(condition, &scene)?;
            // Either the branch goes one way, or its condition fails.
            if outcomes.failures.is_empty() {
                plain()
            } else {
                Ok(false)
            }
        }
        Op::Assume { condition, .. } | Op::Assert { condition, .. } => {
            let outcomes = evaluate(condition, &scene)?;
            let asserted = matches!(node.op, Op::Assert { .. });
            if !outcomes.failures.is_empty() || asserted && outcomes.can_be(0) {
                return Ok(false);
            }
            if outcomes.can_be(1) {
                plain()
            } else {
                Ok(true)
            }
        }
        Op::Assign {
            assigns,
            discards,
            constrain,
            ..
        } => {
            let stores = step::assignments(program, node.procedure, assigns, discards, now)?;
            refused(stores, [constrain.as_ref(), ensure], now, now)
        }
        Op::Return(values) => {
            let results = step::results(program, node.procedure, values, now)?;
            let fails = results.iter().any(|result| !result.failures.is_empty());
            let Some(caller) = caller.filter(|_| !fails) else {
                return Ok(false);
            };
            let call = program.node(caller.node);
            let Op::Call {
                targets, constrain, ..
            } = &call.op
            else {
                return Err(Undecided("the caller is not at a call").into());
            };
            let stores = step::result_stores(program, call.procedure, targets, results)?;
            let [before, after] = [caller.globals, &now.globals[..]].map(|globals| Valuation {
                globals: globals.to_vec(),
                locals: caller.locals.to_vec(),
            });
            let conditions = [constrain.as_ref(), step::ensure(call)];
            refused(stores, conditions, &before, &after)
        }
        // Whatever its arguments are, a call enters the callee, or fails.
        Op::Call { .. } | Op::EndThread => Ok(false),
        Op::Stuck => Ok(true),
    }
}

/// Whether the conditions refuse every valuation that differs from `base` by the stores. The values
/// before the step are `now`.
fn refused(
    stores: Stores,
    [constrain, ensure]: [Option<&Expr>; 2],
    now: &Valuation,
    base: &Valuation,
) -> Result<bool, Open> {
    if !stores.failures.is_empty() {
        return Ok(false);
    }
    let mentioned = |var: VarRef| {
        constrain.is_some_and(|e| e.nodes.contains(&ExprNode::Next(var)))
            || ensure.is_some_and(|e| e.nodes.contains(&ExprNode::Var(var)))
    };
    let vars = stores.vars.into_iter().filter(|(var, _)| mentioned(*var));
    let (vars, sets): (Vec<VarRef>, Vec<Values>) =
        vars.map(|(var, outcomes)| (var, outcomes.values)).unzip();
    let both = Scene {
        now,
        next: base,
        at: None,
    };
    let mut work = vec![sets];
    for _ in 0..SETS {
        let Some(sets) = work.pop() else {
            return Ok(true);
        };
        let new = |var: VarRef| {
            let index = vars.iter().position(|&other| other == var)?;
            Some(sets[index].clone())
        };
        let next = |leaf: &ExprNode| match leaf {
            ExprNode::Next(var) => new(*var),
            _ => None,
        };
        let var = |leaf: &ExprNode| match leaf {
            ExprNode::Var(var) => new(*var),
            _ => None,
        };
        // The second condition is looked at only where the first can be true.
        let related = constrain.map(|expr| evaluate_with(expr, &both, next));
        let kept = ensure.map(|expr| evaluate_with(expr, &Scene::of(base), var));
        let [related, kept] = [related, kept].map(|outcomes| match outcomes {
            None => Ok((true, false)),
            Some(outcomes) => outcomes.map(|o| (o.can_be(1), !o.failures.is_empty())),
        });
        let happens = match (related, kept) {
            (Ok((holds, fails)), Ok((kept, fails_after))) => {
                Ok(fails || holds && (kept || fails_after))
            }
            (Ok((false, false)), Err(_)) => Ok(false),
            (Err(undecided), _) | (_, Err(undecided)) => Err(undecided),
        };
        if happens == Ok(false) {
            continue;
        }
        let largest = (0..sets.len()).max_by_key(|&i| sets[i].count());
        let halves = largest.and_then(|i| Some((i, sets[i].halves()?)));
        match (halves, happens) {
            (Some((i, halves)), _) => work.extend(halves.map(|half| {
                let mut sets = sets.clone();
                sets[i] = half;
                sets
            })),
            (None, Ok(_)) => return Ok(false),
            (None, Err(undecided)) => return Err(undecided.into()),
        }
    }
    Err(Open::TooMany)
}
