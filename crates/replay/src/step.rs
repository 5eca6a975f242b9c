//! What the statement at a node allows: each function answers one yes-or-no question about
//! one step, straight from the meaning given in [`droste_program`].
//!
//! A step is described by the valuation before it (`now`) and the one after it (`next`). Assigned
//! variables are independent of each other, because each `*` is chosen on its own. So `next` is
//! possible if each variable's new value is one that its expression can take, and if the
//! `constrain` and the node's `ensure` can be true of the two valuations.
//!
//! One question needs a search: can a `constrain` or an `ensure` *fail* (divide by zero, say) for
//! some new values? [`Action::Fail`](droste_program::execution::Action) does not say for which.
//! [`relation_failures`] tries all combinations of the values that matter, up to [`COMBINATIONS`]
//! of them, and beyond that the values near constants and bounds. It never claims a failure that is
//! not possible.

use droste_program::execution::Valuation;
use droste_program::{Expr, ExprNode, Node, NodeId, Op, ProcId, Program, Value, VarRef, Violation};

use crate::values::{Failures, Outcomes, Scene, Undecided, convert, evaluate};

/// How many combinations of new values are tried to make a `constrain` fail.
pub(crate) const COMBINATIONS: usize = 1 << 16;

impl From<Undecided> for String {
    fn from(undecided: Undecided) -> String {
        format!("replay cannot decide this: {}", undecided.0)
    }
}

/// The node's `ensure` condition.
pub(crate) fn ensure(node: &Node) -> Option<&Expr> {
    node.ensure.as_deref()
}

/// What the variables that a step assigns can become.
#[derive(Default)]
pub(crate) struct Stores {
    /// Each variable and what storing its new value can come to.
    pub(crate) vars: Vec<(VarRef, Outcomes)>,
    /// The ways in which an evaluation or a conversion can fail.
    pub(crate) failures: Failures,
    /// Some evaluation can only fail: there is no way on.
    pub(crate) hopeless: bool,
}

impl Stores {
    fn add_failures(&mut self, outcomes: &Outcomes) {
        self.failures.add(outcomes.failures);
        self.hopeless |= outcomes.values.is_empty();
    }

    pub(crate) fn push(&mut self, var: VarRef, outcomes: Outcomes) {
        self.add_failures(&outcomes);
        self.vars.push((var, outcomes));
    }
}

/// The stores of an [`Op::Assign`].
pub(crate) fn assignments(
    program: &Program,
    procedure: ProcId,
    assigns: &[(VarRef, Expr)],
    discards: &[Expr],
    now: &Valuation,
) -> Result<Stores, Undecided> {
    let scene = Scene::of(now);
    let mut stores = Stores::default();
    for (var, expr) in assigns {
        let ty = program.variable(procedure, *var).ty;
        stores.push(*var, evaluate(expr, &scene)?.stored(ty)?);
    }
    for expr in discards {
        stores.add_failures(&evaluate(expr, &scene)?);
    }
    Ok(stores)
}

/// What each parameter of `callee` can become, as stores to the callee's locals.
pub(crate) fn arguments(
    program: &Program,
    callee: ProcId,
    args: &[Expr],
    now: &Valuation,
) -> Result<Stores, Undecided> {
    let mut stores = Stores::default();
    for (i, (arg, param)) in args
        .iter()
        .zip(&program.procedure(callee).locals)
        .enumerate()
    {
        let outcomes = evaluate(arg, &Scene::of(now))?.stored(param.ty)?;
        stores.push(VarRef::Local(i as u32), outcomes);
    }
    Ok(stores)
}

/// What each result of the procedure that returns `values` can be.
pub(crate) fn results(
    program: &Program,
    procedure: ProcId,
    values: &[Expr],
    now: &Valuation,
) -> Result<Vec<Outcomes>, Undecided> {
    let types = &program.procedure(procedure).results;
    if types.len() != values.len() {
        return Err(Undecided("a return has the wrong number of values"));
    }
    values
        .iter()
        .zip(types)
        .map(|(value, ty)| evaluate(value, &Scene::of(now))?.stored(*ty))
        .collect()
}

/// The stores of `results` in the variables `targets` of the caller.
pub(crate) fn result_stores(
    program: &Program,
    caller: ProcId,
    targets: &[Option<VarRef>],
    results: Vec<Outcomes>,
) -> Result<Stores, Undecided> {
    let mut stores = Stores::default();
    for (i, outcomes) in results.into_iter().enumerate() {
        match targets.get(i).copied().flatten() {
            Some(var) => {
                let ty = program.variable(caller, var).ty;
                stores.push(var, outcomes.stored(ty)?);
            }
            None => stores.add_failures(&outcomes),
        }
    }
    Ok(stores)
}

/// Whether `condition` can be true.
fn can_hold(condition: Option<&Expr>, scene: &Scene) -> Result<bool, Undecided> {
    condition.map_or(Ok(true), |expr| Ok(evaluate(expr, scene)?.can_be(1)))
}

/// Whether `constrain` and the node's `ensure` allow this step.
pub(crate) fn related(
    constrain: Option<&Expr>,
    ensure: Option<&Expr>,
    now: &Valuation,
    next: &Valuation,
) -> Result<bool, Undecided> {
    let both = Scene {
        now,
        next,
        at: None,
    };
    Ok(can_hold(constrain, &both)? && can_hold(ensure, &Scene::of(next))?)
}

/// Whether executing the statement at `node` can lead to `to` with the valuation `next`.
/// The valuations differ at most in the `changes`.
pub(crate) fn internal(
    program: &Program,
    node: &Node,
    now: &Valuation,
    next: &Valuation,
    changes: &[(VarRef, Value)],
    to: NodeId,
) -> Result<(), String> {
    let scene = Scene::of(now);
    let mut constrained = None;
    let mut assigned: &[(VarRef, Expr)] = &[];
    let expected = match &node.op {
        Op::Goto(targets) => targets.contains(&to),
        Op::Assign {
            assigns,
            discards,
            constrain,
            next: target,
        } => {
            let stores = assignments(program, node.procedure, assigns, discards, now)?;
            if stores.hopeless {
                return Err("the statement can only fail".to_owned());
            }
            for (var, outcomes) in &stores.vars {
                if !outcomes.can_be(next.get(*var)) {
                    return Err(format!(
                        "`{}` cannot become {} here",
                        program.variable(node.procedure, *var).name,
                        next.get(*var)
                    ));
                }
            }
            constrained = constrain.as_ref();
            assigned = assigns;
            to == *target
        }
        Op::Branch { condition, yes, no } => {
            let outcomes = evaluate(condition, &scene)?;
            (to == *yes && outcomes.can_be(1)) || (to == *no && outcomes.can_be(0))
        }
        Op::Assume { condition, next } | Op::Assert { condition, next } => {
            if !evaluate(condition, &scene)?.can_be(1) {
                return Err("the condition cannot be true".to_owned());
            }
            to == *next
        }
        Op::AtomicBegin(next) | Op::AtomicEnd(next) => to == *next,
        Op::Call { .. } => return Err("a call is not an internal step".to_owned()),
        Op::Return(_) => return Err("a return is not an internal step".to_owned()),
        Op::Stuck => return Err("nothing can be done here".to_owned()),
        Op::StartThread { .. } | Op::EndThread => {
            return Err("this is not an internal step".to_owned());
        }
    };
    if !expected {
        return Err(format!("control cannot go on to node {}", to.0));
    }
    // Every change is real. So all changed variables are assigned if as many assigned variables
    // differ.
    let differing = assigned
        .iter()
        .filter(|(var, _)| now.get(*var) != next.get(*var));
    if differing.count() != changes.len() {
        return Err("a variable changes that is not assigned here".to_owned());
    }
    if !related(constrained, ensure(node), now, next)? {
        return Err("`constrain` or `enforce` does not allow this step".to_owned());
    }
    Ok(())
}

/// The caller of the procedure that returns, for failures that occur on return.
pub(crate) struct Caller<'a> {
    /// The node of the call.
    pub(crate) node: NodeId,
    /// The caller's locals at the call.
    pub(crate) locals: &'a [Value],
    /// The globals at the call.
    pub(crate) globals: &'a [Value],
}

impl<'a> Caller<'a> {
    /// A call that has not returned: where, and the values there.
    pub(crate) fn new((node, values): &'a (NodeId, Valuation)) -> Self {
        Caller {
            node: *node,
            locals: &values.locals,
            globals: &values.globals,
        }
    }
}

/// The violations in which executing the statement at `node` can end.
///
/// Storing the results of a call, its `constrain` and its `ensure` belong to the step in which
/// the callee returns, so their failures are found at the callee's return statement, if
/// there is a `caller`.
pub(crate) fn failures(
    program: &Program,
    node: &Node,
    now: &Valuation,
    caller: Option<&Caller>,
) -> Result<Failures, Undecided> {
    let scene = Scene::of(now);
    let mut found = Failures::default();
    match &node.op {
        Op::Assign {
            assigns,
            discards,
            constrain,
            ..
        } => {
            let stores = assignments(program, node.procedure, assigns, discards, now)?;
            found.add(stores.failures);
            let relation = (constrain.as_ref(), ensure(node));
            found.add(relation_failures(&stores, relation, now, now)?);
        }
        Op::Branch { condition, .. }
        | Op::Assume { condition, .. }
        | Op::Assert { condition, .. } => {
            let outcomes = evaluate(condition, &scene)?;
            found.add(outcomes.failures);
            if matches!(node.op, Op::Assert { .. }) && outcomes.can_be(0) {
                found.insert(Violation::Assertion);
            }
            let goes_on =
                outcomes.can_be(1) || (matches!(node.op, Op::Branch { .. }) && outcomes.can_be(0));
            if let Some(ensure) = ensure(node).filter(|_| goes_on) {
                found.add(evaluate(ensure, &scene)?.failures);
            }
        }
        Op::Goto(_) | Op::AtomicBegin(_) | Op::AtomicEnd(_) | Op::StartThread { .. } => {
            if let Some(ensure) = ensure(node) {
                found.add(evaluate(ensure, &scene)?.failures);
            }
        }
        Op::Call { callee, args, .. } => {
            found.add(arguments(program, *callee, args, now)?.failures);
        }
        Op::Return(values) => {
            let returned = results(program, node.procedure, values, now)?;
            for outcomes in &returned {
                found.add(outcomes.failures);
            }
            if let Some(caller) = caller {
                found.add(return_failures(program, caller, &now.globals, returned)?);
            }
        }
        Op::Stuck | Op::EndThread => {}
    }
    Ok(found)
}

/// How a call can fail when its callee has returned one of `results`.
fn return_failures(
    program: &Program,
    caller: &Caller,
    globals: &[Value],
    mut results: Vec<Outcomes>,
) -> Result<Failures, Undecided> {
    let call = program.node(caller.node);
    let Op::Call {
        targets, constrain, ..
    } = &call.op
    else {
        return Ok(Failures::default());
    };
    if results.iter().any(|outcomes| outcomes.values.is_empty()) {
        return Ok(Failures::default());
    }
    for outcomes in &mut results {
        outcomes.failures = Failures::default();
    }
    let stores = result_stores(program, call.procedure, targets, results)?;
    let mut found = stores.failures;
    let now = Valuation {
        globals: caller.globals.to_vec(),
        locals: caller.locals.to_vec(),
    };
    let returned = Valuation {
        globals: globals.to_vec(),
        locals: caller.locals.to_vec(),
    };
    let relation = (constrain.as_ref(), ensure(call));
    found.add(relation_failures(&stores, relation, &now, &returned)?);
    Ok(found)
}

/// The failures of `constrain` or `ensure` for some valuation that differs from `base` by the
/// `stores`; those of `ensure` count only if `constrain` can be true.
fn relation_failures(
    stores: &Stores,
    (constrain, ensure): (Option<&Expr>, Option<&Expr>),
    now: &Valuation,
    base: &Valuation,
) -> Result<Failures, Undecided> {
    let mut found = Failures::default();
    if stores.hopeless || (constrain.is_none() && ensure.is_none()) {
        return Ok(found);
    }
    let mentioned = |var: VarRef| {
        constrain.is_some_and(|e| e.nodes.contains(&ExprNode::Next(var)))
            || ensure.is_some_and(|e| e.nodes.contains(&ExprNode::Var(var)))
    };
    // The values to try for each variable; one will do for those that do not matter.
    let mut choices: Vec<(VarRef, Vec<Value>)> = Vec::new();
    let mut product = 1usize;
    for (var, outcomes) in &stores.vars {
        let list = if mentioned(*var) {
            outcomes.values.list().ok()
        } else {
            outcomes.values.nth(0).map(|value| vec![value])
        };
        product = product.saturating_mul(list.as_ref().map_or(usize::MAX, Vec::len));
        choices.push((*var, list.unwrap_or_default()));
    }
    if product > COMBINATIONS {
        let near = near_values(constrain, ensure, now);
        for ((_, list), (var, outcomes)) in choices.iter_mut().zip(&stores.vars) {
            if mentioned(*var) && outcomes.values.count() > 2 {
                let ends = [
                    outcomes.values.nth(0),
                    outcomes.values.nth(outcomes.values.count() - 1),
                ];
                *list = near
                    .iter()
                    .copied()
                    .filter(|&value| outcomes.can_be(value))
                    .chain(ends.into_iter().flatten())
                    .collect();
            }
        }
    }
    // Count through the combinations like an odometer.
    let mut next = base.clone();
    let mut index = vec![0usize; choices.len()];
    for _ in 0..COMBINATIONS {
        for (&i, (var, list)) in index.iter().zip(&choices) {
            next.set(*var, list[i]);
        }
        let next = &next;
        let both = Scene {
            now,
            next,
            at: None,
        };
        let mut allowed = true;
        if let Some(constrain) = constrain {
            let outcomes = evaluate(constrain, &both)?;
            found.add(outcomes.failures);
            allowed = outcomes.can_be(1);
        }
        if let Some(ensure) = ensure.filter(|_| allowed) {
            found.add(evaluate(ensure, &Scene::of(next))?.failures);
        }
        let Some(digit) = (0..index.len()).find(|&d| index[d] + 1 < choices[d].1.len()) else {
            break;
        };
        index[digit] += 1;
        index[..digit].fill(0);
    }
    Ok(found)
}

/// Values at which operators tend to fail: around 0, the constants and the current values.
fn near_values(constrain: Option<&Expr>, ensure: Option<&Expr>, now: &Valuation) -> Vec<Value> {
    let mut values = vec![0, 1, -1];
    for node in constrain.into_iter().chain(ensure).flat_map(|e| &e.nodes) {
        let value = match node {
            ExprNode::Const(value) => *value,
            ExprNode::Var(VarRef::Global(i)) => now.globals[*i as usize],
            ExprNode::Var(VarRef::Local(i)) => now.locals[*i as usize],
            _ => continue,
        };
        for near in [value.wrapping_sub(1), value, value.wrapping_add(1)] {
            values.extend([near, near.wrapping_neg()]);
        }
    }
    values.sort_unstable();
    values.dedup();
    values
}

/// The result of a call as it is stored in a variable.
fn stored(program: &Program, caller: ProcId, var: VarRef, result: Value) -> Result<Value, String> {
    let variable = program.variable(caller, var);
    convert(result, variable.ty)?.map_err(|_| {
        format!(
            "the result {result} does not fit into `{}`, so the call fails",
            variable.name
        )
    })
}

/// Whether `next` is the caller's valuation after its callee returned `results` with these
/// `globals`.
pub(crate) fn returned(
    program: &Program,
    caller: ProcId,
    targets: &[Option<VarRef>],
    results: &[Value],
    (globals, locals): (&[Value], &[Value]),
    next: &Valuation,
) -> Result<bool, String> {
    for (target, &result) in targets.iter().zip(results) {
        if let Some(var) = *target
            && next.get(var) != stored(program, caller, var, result)?
        {
            return Ok(false);
        }
    }
    let same = |before: &[Value], after: &[Value], var: fn(u32) -> VarRef| {
        let mut pairs = (0..).zip(before.iter().zip(after));
        before.len() == after.len()
            && pairs.all(|(i, (before, after))| before == after || targets.contains(&Some(var(i))))
    };
    Ok(same(globals, &next.globals, VarRef::Global) && same(locals, &next.locals, VarRef::Local))
}
