//! The meaning of programs once more, as naively as possible: flat configurations with a whole
//! stack, one choice after the other, executions written out in full.

use droste_program::execution::{Action, CalleeRun, Ending, Execution, Step, Valuation};
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{
    Expr, ExprNode, NodeId, Op, Operator, ProcId, Program, Type, Value, VarRef, Violation,
};

/// Goes through all sequences of choices.
#[derive(Default)]
struct Chooser {
    path: Vec<(usize, usize)>,
    at: usize,
}

impl Chooser {
    fn choose(&mut self, count: usize) -> usize {
        if self.at == self.path.len() {
            self.path.push((0, count));
        }
        self.at += 1;
        self.path[self.at - 1].0
    }

    fn pick(&mut self, ty: Type) -> Value {
        ty.lo() + self.choose((ty.hi() - ty.lo() + 1) as usize) as Value
    }

    fn another(&mut self) -> bool {
        self.at = 0;
        while let Some((choice, count)) = self.path.pop() {
            if choice + 1 < count {
                self.path.push((choice + 1, count));
                return true;
            }
        }
        false
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    node: NodeId,
    locals: Vec<Value>,
    /// The globals when this frame's current call was made.
    globals: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Config {
    globals: Vec<Value>,
    stack: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Next(Config, Vec<Value>),
    Terminated,
    Fail(Violation),
    Blocked,
}

type Maybe<T> = Result<T, Violation>;

fn eval(e: &Expr, root: usize, now: &Valuation, next: &Valuation, c: &mut Chooser) -> Maybe<Value> {
    let mut sub = |i: u32| eval(e, i as usize, now, next, c);
    Ok(match &e.nodes[root] {
        ExprNode::Const(v) => *v,
        ExprNode::Nondet(ty) => c.pick(*ty),
        ExprNode::Var(var) => now.get(*var),
        ExprNode::Next(var) => next.get(*var),
        ExprNode::Not(a) => 1 - sub(*a)?,
        ExprNode::BitNot(a) => -sub(*a)? - 1,
        ExprNode::Neg(a) => -sub(*a)?,
        ExprNode::At(_) => unreachable!(),
        ExprNode::Schoose(a, b) => {
            let (a, b) = pair(sub(*a), sub(*b), c)?;
            match (a, b) {
                (1, _) => 1,
                (_, 1) => 0,
                _ => c.choose(2) as Value,
            }
        }
        ExprNode::Binary(Operator::And, a, b) => {
            if sub(*a)? == 0 {
                0
            } else {
                sub(*b)?
            }
        }
        ExprNode::Binary(Operator::Or, a, b) => {
            if sub(*a)? == 1 {
                1
            } else {
                sub(*b)?
            }
        }
        ExprNode::Binary(Operator::Implies, a, b) => {
            if sub(*a)? == 0 {
                1
            } else {
                sub(*b)?
            }
        }
        ExprNode::Binary(op, a, b) => {
            let (x, y) = pair(sub(*a), sub(*b), c)?;
            let truth = |b: bool| Value::from(b);
            match op {
                Operator::Xor | Operator::Ne => {
                    if *op == Operator::Ne {
                        truth(x != y)
                    } else {
                        (x + y) % 2
                    }
                }
                Operator::Eq => truth(x == y),
                Operator::Lt => truth(x < y),
                Operator::Le => truth(x <= y),
                Operator::Gt => truth(y < x),
                Operator::Ge => truth(y <= x),
                Operator::Add => x + y,
                Operator::Sub => x - y,
                Operator::Mul => x * y,
                Operator::Div | Operator::Rem => {
                    if y == 0 {
                        return Err(Violation::DivisionByZero);
                    }
                    let quotient = (x.abs() / y.abs()) * x.signum() * y.signum();
                    if *op == Operator::Div {
                        quotient
                    } else {
                        x - y * quotient
                    }
                }
                Operator::Shl | Operator::Shr => {
                    if y < 0 {
                        return Err(Violation::NegativeShift);
                    }
                    let mut value = x;
                    for _ in 0..y.min(64) {
                        value = if *op == Operator::Shl {
                            value * 2
                        } else {
                            value.div_euclid(2)
                        };
                    }
                    value
                }
                Operator::BitAnd => x & y,
                Operator::BitOr => x | y,
                Operator::BitXor => x ^ y,
                _ => unreachable!(),
            }
        }
    })
}

/// Both values, or either failure.
fn pair(a: Maybe<Value>, b: Maybe<Value>, c: &mut Chooser) -> Maybe<(Value, Value)> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(a), Err(b)) => Err([a, b][c.choose(2)]),
        (Err(v), _) | (_, Err(v)) => Err(v),
    }
}

fn all(results: Vec<Maybe<Value>>, c: &mut Chooser) -> Maybe<Vec<Value>> {
    let failures: Vec<_> = results.iter().filter_map(|r| r.err()).collect();
    if failures.is_empty() {
        results.into_iter().collect()
    } else {
        Err(failures[c.choose(failures.len())])
    }
}

fn top(e: &Expr, now: &Valuation, c: &mut Chooser) -> Maybe<Value> {
    eval(e, e.nodes.len() - 1, now, now, c)
}

fn store(value: Value, ty: Type) -> Maybe<Value> {
    match ty {
        Type::Range { lo, hi } if value < lo || value > hi => Err(Violation::OutOfRange),
        Type::Bool | Type::Range { .. } => Ok(value),
        Type::Bits { .. } => {
            let size = ty.hi() - ty.lo() + 1;
            Ok((value - ty.lo()).rem_euclid(size) + ty.lo())
        }
    }
}

/// One step, following the chooser.
fn step(p: &Program, config: &Config, c: &mut Chooser) -> Outcome {
    attempt(p, config, c).unwrap_or_else(Outcome::Fail)
}

fn attempt(p: &Program, config: &Config, c: &mut Chooser) -> Maybe<Outcome> {
    let frame = config.stack.last().unwrap();
    let node = p.node(frame.node);
    let now = Valuation {
        globals: config.globals.clone(),
        locals: frame.locals.clone(),
    };
    let mut next = now.clone();
    let mut relation = None;
    let to = match &node.op {
        Op::Goto(targets) => targets[c.choose(targets.len())],
        Op::AtomicBegin(to) | Op::AtomicEnd(to) => *to,
        Op::Assign {
            assigns,
            discards,
            constrain,
            next: to,
        } => {
            let mut values = Vec::new();
            for (var, e) in assigns {
                let ty = p.variable(node.procedure, *var).ty;
                values.push(top(e, &now, c).and_then(|v| store(v, ty)));
            }
            for e in discards {
                values.push(top(e, &now, c));
            }
            for ((var, _), value) in assigns.iter().zip(all(values, c)?) {
                next.set(*var, value);
            }
            relation = constrain.as_ref();
            *to
        }
        Op::Branch { condition, yes, no } => {
            if top(condition, &now, c)? == 1 {
                *yes
            } else {
                *no
            }
        }
        Op::Assume { condition, next } => {
            if top(condition, &now, c)? == 0 {
                return Ok(Outcome::Blocked);
            }
            *next
        }
        Op::Assert { condition, next } => {
            if top(condition, &now, c)? == 0 {
                return Err(Violation::Assertion);
            }
            *next
        }
        Op::Call { callee, args, .. } => {
            let callee = p.procedure(*callee);
            let mut values = Vec::new();
            for (arg, param) in args.iter().zip(&callee.locals) {
                values.push(top(arg, &now, c).and_then(|v| store(v, param.ty)));
            }
            let mut locals = all(values, c)?;
            for local in &callee.locals[locals.len()..] {
                locals.push(c.pick(local.ty));
            }
            let mut config = config.clone();
            let globals = config.globals.clone();
            config.stack.last_mut().unwrap().globals = globals;
            config.stack.push(Frame {
                node: callee.entry,
                locals,
                globals: Vec::new(),
            });
            return Ok(Outcome::Next(config, Vec::new()));
        }
        Op::Return(values) => {
            let types = &p.procedure(node.procedure).results;
            let mut results = Vec::new();
            for (value, ty) in values.iter().zip(types) {
                results.push(top(value, &now, c).and_then(|v| store(v, *ty)));
            }
            let results = all(results, c)?;
            let mut config = config.clone();
            config.stack.pop();
            let Some(caller) = config.stack.last_mut() else {
                return Ok(Outcome::Terminated);
            };
            let call = p.node(caller.node);
            let Op::Call {
                targets,
                constrain,
                next: to,
                ..
            } = &call.op
            else {
                unreachable!()
            };
            let before = Valuation {
                globals: std::mem::take(&mut caller.globals),
                locals: caller.locals.clone(),
            };
            let mut after = Valuation {
                globals: config.globals.clone(),
                locals: caller.locals.clone(),
            };
            let mut stored = Vec::new();
            for (target, &result) in targets.iter().zip(&results) {
                let ty = target.map_or(Type::Bool, |var| p.variable(call.procedure, var).ty);
                stored.push(if target.is_some() {
                    store(result, ty)
                } else {
                    Ok(0)
                });
            }
            for (target, value) in targets.iter().zip(all(stored, c)?) {
                if let Some(var) = target {
                    after.set(*var, value);
                }
            }
            for (e, now) in [
                (constrain.as_ref(), &before),
                (call.ensure.as_deref(), &after),
            ] {
                if let Some(e) = e
                    && eval(e, e.nodes.len() - 1, now, &after, c)? == 0
                {
                    return Ok(Outcome::Blocked);
                }
            }
            caller.locals = after.locals;
            caller.node = *to;
            config.globals = after.globals;
            return Ok(Outcome::Next(config, results));
        }
        Op::Stuck | Op::StartThread { .. } | Op::EndThread => return Ok(Outcome::Blocked),
    };
    for (e, now) in [(relation, &now), (node.ensure.as_deref(), &next)] {
        if let Some(e) = e
            && eval(e, e.nodes.len() - 1, now, &next, c)? == 0
        {
            return Ok(Outcome::Blocked);
        }
    }
    let mut config = config.clone();
    config.globals = next.globals;
    let frame = config.stack.last_mut().unwrap();
    frame.locals = next.locals;
    frame.node = to;
    Ok(Outcome::Next(config, Vec::new()))
}

fn possible(p: &Program, config: &Config, wanted: &Outcome) -> bool {
    let mut chooser = Chooser::default();
    loop {
        if step(p, config, &mut chooser) == *wanted {
            return true;
        }
        if !chooser.another() {
            return false;
        }
    }
}

/// Whether every choice is blocked.
fn is_stuck(p: &Program, config: &Config) -> bool {
    let mut chooser = Chooser::default();
    loop {
        if step(p, config, &mut chooser) != Outcome::Blocked {
            return false;
        }
        if !chooser.another() {
            return true;
        }
    }
}

/// An execution, written out.
pub(crate) struct Flat<'a> {
    p: &'a Program,
    config: Config,
    /// Every position so far: node, globals and top frame.
    pub positions: Vec<(NodeId, Valuation)>,
}

fn fits(values: &[Value], variables: &[droste_program::Variable]) -> Option<()> {
    let ok = values.len() == variables.len()
        && values
            .iter()
            .zip(variables)
            .all(|(v, var)| var.ty.lo() <= *v && *v <= var.ty.hi());
    ok.then_some(())
}

impl Flat<'_> {
    fn here(&mut self, node: NodeId) -> Option<()> {
        let frame = self.config.stack.last()?;
        let valuation = Valuation {
            globals: self.config.globals.clone(),
            locals: frame.locals.clone(),
        };
        self.positions.push((frame.node, valuation));
        (frame.node == node).then_some(())
    }

    fn go(&mut self, config: Config, results: Vec<Value>) -> Option<()> {
        let wanted = Outcome::Next(config.clone(), results);
        possible(self.p, &self.config, &wanted).then_some(())?;
        self.config = config;
        Some(())
    }

    /// `config` at `to` after `changes` to `from`, which must be changes.
    fn changed(&self, from: &Config, to: NodeId, changes: &[(VarRef, Value)]) -> Option<Config> {
        let mut config = from.clone();
        let procedure = self.p.node(from.stack.last()?.node).procedure;
        let mut seen = Vec::new();
        for &(var, value) in changes {
            let frame = config.stack.last_mut()?;
            let (place, variable) = match var {
                VarRef::Global(i) => (
                    config.globals.get_mut(i as usize)?,
                    &self.p.globals[i as usize],
                ),
                VarRef::Local(i) => (
                    frame.locals.get_mut(i as usize)?,
                    &self.p.procedure(procedure).locals[i as usize],
                ),
            };
            if seen.contains(&var) || *place == value {
                return None;
            }
            fits(&[value], std::slice::from_ref(variable))?;
            seen.push(var);
            *place = value;
        }
        config.stack.last_mut()?.node = to;
        Some(config)
    }

    fn enter(&mut self, locals: &[Value]) -> Option<ProcId> {
        let frame = self.config.stack.last()?;
        let Op::Call { callee, .. } = &self.p.node(frame.node).op else {
            return None;
        };
        let mut config = self.config.clone();
        let globals = config.globals.clone();
        config.stack.last_mut()?.globals = globals;
        config.stack.push(Frame {
            node: self.p.procedure(*callee).entry,
            locals: locals.to_vec(),
            globals: Vec::new(),
        });
        self.go(config, Vec::new())?;
        Some(*callee)
    }

    fn step(&mut self, s: &Step, runs: &[CalleeRun], limit: usize) -> Option<()> {
        match &s.action {
            Action::Internal { to, changes } => {
                self.here(s.node)?;
                let node = self.p.node(s.node);
                if matches!(node.op, Op::Call { .. } | Op::Return(_)) {
                    return None;
                }
                let config = self.changed(&self.config.clone(), *to, changes)?;
                self.go(config, Vec::new())
            }
            Action::Folded { run, to, changes } => {
                self.here(s.node)?;
                let id = run.0 as usize;
                let run = runs.get(id).filter(|_| id < limit)?;
                let before = self.config.clone();
                if run.entry.globals != before.globals {
                    return None;
                }
                self.enter(&run.entry.locals)?;
                for s in run.steps.iter() {
                    if !matches!(s.action, Action::Internal { .. } | Action::Folded { .. }) {
                        return None;
                    }
                    self.step(s, runs, id)?;
                }
                self.here(run.exit)?;
                let config = self.changed(&before, *to, changes)?;
                if !matches!(self.p.node(run.exit).op, Op::Return(_)) {
                    return None;
                }
                self.go(config, run.results.clone())
            }
            Action::Call { locals } => {
                self.here(s.node)?;
                self.enter(locals).map(drop)
            }
            Action::Terminate => {
                self.here(s.node)?;
                possible(self.p, &self.config, &Outcome::Terminated).then_some(())
            }
            Action::Fail(violation) => {
                self.here(s.node)?;
                possible(self.p, &self.config, &Outcome::Fail(*violation)).then_some(())
            }
        }
    }
}

/// Whether the steps and the ending are a run; runs that no step refers to do not matter.
/// Also the positions, written out, and where the cycle starts among them.
pub(crate) fn flatten(p: &Program, e: &Execution) -> Option<(Vec<(NodeId, Valuation)>, usize)> {
    fits(&e.start.globals, &p.globals)?;
    fits(&e.start.locals, &p.procedure(p.main).locals)?;
    let mut flat = Flat {
        p,
        config: Config {
            globals: e.start.globals.clone(),
            stack: vec![Frame {
                node: p.procedure(p.main).entry,
                locals: e.start.locals.clone(),
                globals: Vec::new(),
            }],
        },
        positions: Vec::new(),
    };
    let mut cycle = None;
    for (i, s) in e.steps.iter().enumerate() {
        let last = i + 1 == e.steps.len();
        if !last && matches!(s.action, Action::Terminate | Action::Fail(_)) {
            return None;
        }
        if matches!(e.ending, Ending::Lasso { start, .. } if start == i) {
            cycle = Some((flat.positions.len(), flat.config.clone()));
        }
        flat.step(s, &e.runs, e.runs.len())?;
    }
    let over = e
        .steps
        .last()
        .map(|s| &s.action)
        .filter(|a| matches!(a, Action::Terminate | Action::Fail(_)));
    let ok = match e.ending {
        Ending::At(node) => over.is_none() && flat.here(node).is_some(),
        Ending::Final => over.is_some(),
        Ending::Stuck(node) => {
            over.is_none() && flat.here(node).is_some() && is_stuck(p, &flat.config)
        }
        Ending::Terminated => over == Some(&Action::Terminate),
        Ending::Lasso { pumping, .. } => {
            let (_, start) = cycle.as_ref()?;
            let (a, b) = (start.stack.last()?, flat.config.stack.last()?);
            over.is_none()
                && start.globals == flat.config.globals
                && (a.node, &a.locals) == (b.node, &b.locals)
                && pumping == (start.stack.len() < flat.config.stack.len())
        }
    };
    if over == Some(&Action::Terminate) {
        // The position after the end, which is read for ever; recognised by its place.
        let last = flat.positions.last()?.clone();
        flat.positions.push(last);
    }
    let start = cycle.map_or(flat.positions.len().saturating_sub(1), |(start, _)| start);
    ok.then_some((flat.positions, start))
}

/// Whether the monitor can enter a state of this kind (repeating: infinitely often).
pub(crate) fn watch(p: &Program, e: &Execution, m: &Monitor, kind: StateKind) -> bool {
    let Some((positions, start)) = flatten(p, e) else {
        return false;
    };
    let is_position = |(node, _): &&(NodeId, Valuation)| !p.node(*node).silent;
    let start = positions[..start].iter().filter(is_position).count();
    let positions: Vec<_> = positions.iter().filter(is_position).collect();
    let ends = matches!(e.steps.last(), Some(s) if s.action == Action::Terminate);
    let infinite = ends || matches!(e.ending, Ending::Lasso { .. });
    let count = positions.len();
    // Nodes of the product: before reading position `i`, in state `q`.
    let moves = |i: usize, q: usize| -> Vec<(usize, usize, bool)> {
        if i >= count {
            return Vec::new();
        }
        let (node, valuation) = positions[i];
        let terminated = ends && i + 1 == count;
        let state = &m.states[q];
        let mut to: Vec<u32> = state
            .edges
            .iter()
            .filter(|(guard, _)| {
                let e = if terminated {
                    &guard.terminated
                } else {
                    &guard.by_procedure[p.node(*node).procedure.0 as usize]
                };
                proposition(e, e.nodes.len() - 1, valuation, *node)
            })
            .map(|(_, to)| *to)
            .collect();
        if to.is_empty() {
            to.extend(state.otherwise);
        }
        let next = if i + 1 == count && infinite {
            start
        } else {
            i + 1
        };
        to.into_iter()
            .map(|q| (next, q as usize, m.states[q as usize].kind == kind))
            .collect()
    };
    let reach = |from: (usize, usize)| {
        let mut seen = vec![from];
        let mut k = 0;
        while k < seen.len() {
            let (i, q) = seen[k];
            for (i, q, _) in moves(i, q) {
                if !seen.contains(&(i, q)) {
                    seen.push((i, q));
                }
            }
            k += 1;
        }
        seen
    };
    let reachable = reach((0, m.initial as usize));
    reachable.iter().any(|&(i, q)| {
        moves(i, q).iter().any(|&(j, r, enters)| {
            enters && (kind == StateKind::Target || (infinite && reach((j, r)).contains(&(i, q))))
        })
    })
}

fn proposition(e: &Expr, root: usize, valuation: &Valuation, node: NodeId) -> bool {
    match &e.nodes[root] {
        ExprNode::At(nodes) => nodes.contains(&node),
        ExprNode::Binary(Operator::And, a, b) => {
            proposition(e, *a as usize, valuation, node)
                && proposition(e, *b as usize, valuation, node)
        }
        ExprNode::Binary(Operator::Or, a, b) => {
            proposition(e, *a as usize, valuation, node)
                || proposition(e, *b as usize, valuation, node)
        }
        _ => eval(e, root, valuation, valuation, &mut Chooser::default()) == Ok(1),
    }
}
