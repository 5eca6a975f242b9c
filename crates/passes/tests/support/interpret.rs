//! Everything a small program can do, by eager enumeration: all values of all variables, all
//! choices, summaries saturated one by one. Nothing here is shared with the passes.

use droste_passes::Live;
use droste_program::liveness::Liveness;
use droste_program::{
    Expr, ExprNode, NodeId, Op, Operator, ProcId, Program, Proposition, Type, Value, VarRef,
    Violation,
};
use droste_testkit::oracle::lowered::{convert, operate};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A frame and the globals.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct State {
    node: NodeId,
    globals: Vec<Value>,
    locals: Vec<Value>,
}

impl State {
    fn get(&self, var: VarRef) -> Value {
        match var {
            VarRef::Global(i) => self.globals[i as usize],
            VarRef::Local(i) => self.locals[i as usize],
        }
    }

    fn set(&mut self, var: VarRef, value: Value) {
        match var {
            VarRef::Global(i) => self.globals[i as usize] = value,
            VarRef::Local(i) => self.locals[i as usize] = value,
        }
    }
}

/// What can be seen of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) reached: BTreeSet<NodeId>,
    pub(crate) violations: BTreeSet<(NodeId, Violation)>,
    /// Where some run is stuck: nothing can happen, and it is not the end of `main`.
    pub(crate) stuck: BTreeSet<NodeId>,
    /// Some run visits the target again and again.
    pub(crate) repeats: bool,
    /// Values of the propositions at nodes and (`None`) after `main` has returned.
    pub(crate) observed: BTreeSet<(Option<NodeId>, Vec<Value>)>,
}

/// Without duplicates.
type Outcomes = Vec<Result<Value, Violation>>;
/// Globals and results, and whether the target was visited.
type Exit = (Vec<Value>, Vec<Value>, bool);
type Pair = (u32, u32);

/// Explores everything; `None` if that is too much. With `live`, variables that are not live
/// get all values at every node.
pub(crate) fn explore(
    program: &Program,
    target: NodeId,
    propositions: &[&Proposition],
    live: Option<&Live>,
    limit: usize,
) -> Option<Seen> {
    let mut explorer = Explorer {
        program,
        target,
        propositions,
        live,
        limit,
        effort: 0,
        numbers: HashMap::new(),
        states: Vec::new(),
        paths: HashSet::new(),
        work: Vec::new(),
        callers: HashMap::new(),
        exits: HashMap::new(),
        bottom: HashSet::new(),
        edges: BTreeMap::new(),
        happens: false,
        leaving: BTreeSet::new(),
        seen: Seen::default(),
    };
    explorer.run()?;
    explorer.find_refused();
    explorer.seen.repeats = explorer.repeats();
    Some(explorer.seen)
}

/// A return that callers refuse: an entry, a node, the globals, and the results.
type Leaving = (u32, NodeId, Vec<Value>, Vec<Vec<Value>>);

struct Explorer<'a> {
    program: &'a Program,
    target: NodeId,
    propositions: &'a [&'a Proposition],
    live: Option<&'a Live>,
    /// How many steps are too many, and how many have been taken.
    limit: usize,
    effort: usize,
    numbers: HashMap<State, u32>,
    states: Vec<State>,
    /// Entry, current state, and whether the target was visited in between.
    paths: HashSet<(u32, u32, bool)>,
    work: Vec<(u32, u32, bool)>,
    callers: HashMap<u32, HashSet<(u32, u32, bool)>>,
    exits: HashMap<u32, HashSet<Exit>>,
    /// Entry states of the bottom frame.
    bottom: HashSet<u32>,
    /// Steps, with whether the target is visited within.
    edges: BTreeMap<Pair, BTreeSet<(Pair, bool)>>,
    /// Whether the step at hand leads anywhere or fails.
    happens: bool,
    /// Entries, the nodes they may be left at and, together, the globals and all results.
    leaving: BTreeSet<Leaving>,
    seen: Seen,
}

fn eval(expr: &Expr, at: u32, now: &State, next: &State) -> Outcomes {
    let one = |value| vec![Ok(value)];
    let then = |a: u32, f: &dyn Fn(Value) -> Outcomes| -> Outcomes {
        let mut all = Vec::new();
        for outcome in eval(expr, a, now, next) {
            let more = match outcome {
                Ok(value) => f(value),
                Err(violation) => vec![Err(violation)],
            };
            for outcome in more {
                if !all.contains(&outcome) {
                    all.push(outcome);
                }
            }
        }
        all
    };
    match expr.nodes[at as usize] {
        ExprNode::Const(value) => one(value),
        ExprNode::Nondet(ty) => (ty.lo()..=ty.hi()).map(Ok).collect(),
        ExprNode::Var(var) => one(now.get(var)),
        ExprNode::Next(var) => one(next.get(var)),
        ExprNode::Not(a) => then(a, &|x| one(1 - x)),
        ExprNode::BitNot(a) => then(a, &|x| one(-x - 1)),
        ExprNode::Neg(a) => then(a, &|x| one(-x)),
        ExprNode::Binary(op, a, b) => then(a, &|x| match (op, x) {
            (Operator::And, 0) => one(0),
            (Operator::Or, 1) | (Operator::Implies, 0) => one(1),
            (Operator::And | Operator::Or | Operator::Implies, _) => eval(expr, b, now, next),
            _ => then(b, &|y| vec![operate(op, x, y)]),
        }),
        ExprNode::Schoose(a, b) => then(a, &|x| {
            then(b, &|y| match (x, y) {
                (1, _) => one(1),
                (_, 1) => one(0),
                _ => vec![Ok(0), Ok(1)],
            })
        }),
        ExprNode::At(ref nodes) => one(Value::from(nodes.contains(&now.node))),
    }
}

fn outcomes(expr: &Expr, now: &State, next: &State) -> Outcomes {
    eval(expr, expr.nodes.len() as u32 - 1, now, next)
}

impl Explorer<'_> {
    fn run(&mut self) -> Option<()> {
        let program = self.program;
        let main = program.procedure(program.main);
        let start = State {
            node: main.entry,
            globals: vec![0; program.globals.len()],
            locals: vec![0; main.locals.len()],
        };
        for state in self.vary(start, &|_| true) {
            let number = self.number(state);
            self.bottom.insert(number);
            self.add(number, number, false);
        }
        while let Some((entry, at, visited)) = self.work.pop() {
            if self.effort > self.limit {
                return None;
            }
            self.happens = false;
            self.step(entry, at, visited);
            if !self.happens {
                self.seen.stuck.insert(self.states[at as usize].node);
            }
        }
        Some(())
    }

    /// Finds the returns that a caller cannot take, whatever the results.
    fn find_refused(&mut self) {
        for (entry, node, globals, all) in std::mem::take(&mut self.leaving) {
            for caller in self.callers.get(&entry).cloned().unwrap_or_default() {
                self.happens = false;
                for results in &all {
                    self.resume(caller, &globals, results, false);
                }
                if !self.happens {
                    self.seen.stuck.insert(node);
                }
            }
        }
    }

    fn number(&mut self, state: State) -> u32 {
        let fresh = self.states.len() as u32;
        *self.numbers.entry(state).or_insert_with_key(|state| {
            self.states.push(state.clone());
            fresh
        })
    }

    /// `state` with every value of the variables that `free` picks.
    fn vary(&self, state: State, free: &dyn Fn(VarRef) -> bool) -> Vec<State> {
        let program = self.program;
        let procedure = program.node(state.node).procedure;
        let globals = (0..state.globals.len() as u32).map(VarRef::Global);
        let locals = (0..state.locals.len() as u32).map(VarRef::Local);
        let mut states = vec![state];
        for var in globals.chain(locals).filter(|&var| free(var)) {
            let ty = program.variable(procedure, var).ty;
            states = states
                .into_iter()
                .flat_map(|state| {
                    (ty.lo()..=ty.hi()).map(move |value| {
                        let mut state = state.clone();
                        state.set(var, value);
                        state
                    })
                })
                .collect();
        }
        states
    }

    fn scramble(&self, state: State) -> Vec<State> {
        let node = state.node;
        match self.live {
            None => vec![state],
            Some(live) => self.vary(state, &|var| !live.live(node, var)),
        }
    }

    fn add(&mut self, entry: u32, at: u32, visited: bool) {
        let node = self.states[at as usize].node;
        let path = (entry, at, visited || node == self.target);
        if self.paths.insert(path) {
            self.work.push(path);
            self.seen.reached.insert(node);
            if !self.propositions.is_empty() {
                let procedure = self.program.node(node).procedure;
                let state = &self.states[at as usize];
                let values = self.propositions.iter().map(|proposition| {
                    let expr = &proposition.by_procedure[procedure.0 as usize];
                    let outcomes = outcomes(expr, state, state);
                    outcomes.first().expect("one").expect("does not fail")
                });
                let seen = (Some(node), values.collect());
                self.seen.observed.insert(seen);
            }
        }
    }

    fn go(&mut self, from: Pair, visited: bool, to: State, within: bool) {
        self.happens = true;
        for state in self.scramble(to) {
            self.effort += 1;
            let number = self.number(state);
            self.add(from.0, number, visited || within);
            let edges = self.edges.entry(from).or_default();
            edges.insert(((from.0, number), within));
        }
    }

    fn fail(&mut self, node: NodeId, violation: Violation) {
        self.happens = true;
        self.seen.violations.insert((node, violation));
    }

    /// All ways to evaluate and store these in order; the first failure counts.
    fn store_all(
        &mut self,
        node: NodeId,
        state: &State,
        items: &[(&Expr, Option<Type>)],
    ) -> Vec<Vec<Value>> {
        let mut all = vec![Vec::new()];
        for (expr, ty) in items {
            let mut longer = Vec::new();
            for outcome in outcomes(expr, state, state) {
                let stored = outcome.and_then(|value| match ty {
                    Some(ty) => convert(value, *ty),
                    None => Ok(value),
                });
                match stored {
                    Ok(value) => {
                        for prefix in &all {
                            let mut values = prefix.clone();
                            values.push(value);
                            longer.push(values);
                        }
                    }
                    Err(violation) if !all.is_empty() => self.fail(node, violation),
                    Err(_) => {}
                }
            }
            longer.sort_unstable();
            longer.dedup();
            all = longer;
        }
        all
    }

    /// Whether a constraint of `node` can be true.
    fn possible(
        &mut self,
        node: NodeId,
        constraint: Option<&Expr>,
        now: &State,
        next: &State,
    ) -> bool {
        let Some(constraint) = constraint else {
            return true;
        };
        let mut possible = false;
        for outcome in outcomes(constraint, now, next) {
            match outcome {
                Ok(value) => possible |= value == 1,
                Err(violation) => self.fail(node, violation),
            }
        }
        possible
    }

    /// Goes on to `next` if the node's `ensure` can be true.
    fn ensured(&mut self, from: Pair, visited: bool, to: State, within: bool) {
        let node = self.states[from.1 as usize].node;
        let ensure = self.program.node(node).ensure.clone();
        if self.possible(node, ensure.as_deref(), &to, &to) {
            self.go(from, visited, to, within);
        }
    }

    fn step(&mut self, entry: u32, at: u32, visited: bool) {
        let program = self.program;
        let state = self.states[at as usize].clone();
        let id = state.node;
        let node = program.node(id);
        let from = (entry, at);
        let to = |next: NodeId| State {
            node: next,
            ..state.clone()
        };
        match &node.op {
            Op::AtomicBegin(next) | Op::AtomicEnd(next) => {
                self.ensured(from, visited, to(*next), false);
            }
            Op::Goto(targets) => {
                for &next in targets {
                    self.ensured(from, visited, to(next), false);
                }
            }
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => {
                let mut items: Vec<(&Expr, Option<Type>)> = assigns
                    .iter()
                    .map(|(var, e)| (e, Some(program.variable(node.procedure, *var).ty)))
                    .collect();
                items.extend(discards.iter().map(|e| (e, None)));
                for values in self.store_all(id, &state, &items) {
                    let mut after = to(*next);
                    for ((var, _), value) in assigns.iter().zip(values) {
                        after.set(*var, value);
                    }
                    if self.possible(id, constrain.as_ref(), &state, &after) {
                        self.ensured(from, visited, after, false);
                    }
                }
            }
            Op::Branch { condition, yes, no } => {
                for outcome in outcomes(condition, &state, &state) {
                    match outcome {
                        Ok(0) => self.ensured(from, visited, to(*no), false),
                        Ok(_) => self.ensured(from, visited, to(*yes), false),
                        Err(violation) => self.fail(id, violation),
                    }
                }
            }
            Op::Assume { condition, next } | Op::Assert { condition, next } => {
                for outcome in outcomes(condition, &state, &state) {
                    match outcome {
                        Ok(0) if matches!(node.op, Op::Assert { .. }) => {
                            self.fail(id, Violation::Assertion);
                        }
                        Ok(0) => {}
                        Ok(_) => self.ensured(from, visited, to(*next), false),
                        Err(violation) => self.fail(id, violation),
                    }
                }
            }
            Op::Call { callee, args, .. } => self.call(from, visited, &state, *callee, args),
            Op::Return(results) => {
                let types = &program.procedure(node.procedure).results;
                let items: Vec<_> = results.iter().zip(types.iter().map(|&t| Some(t))).collect();
                let all = self.store_all(id, &state, &items);
                // If it can fail, that happens. What callers do is looked at in the end.
                let fails = std::mem::replace(&mut self.happens, true);
                for values in &all {
                    self.leave(entry, visited, &state, node.procedure, values);
                }
                if !fails {
                    for end in self.leaving_with(&state, node.procedure) {
                        self.leaving.insert((entry, id, end.globals, all.clone()));
                    }
                }
            }
            Op::Stuck => {}
            _ => unreachable!("no threads here"),
        }
    }

    fn call(&mut self, from: Pair, visited: bool, state: &State, callee: ProcId, args: &[Expr]) {
        let called = self.program.procedure(callee);
        let params = called.locals.iter().map(|param| Some(param.ty));
        let items: Vec<_> = args.iter().zip(params).collect();
        self.happens = true;
        for mut locals in self.store_all(state.node, state, &items) {
            let params = locals.len();
            locals.resize(called.locals.len(), 0);
            let start = State {
                node: called.entry,
                globals: state.globals.clone(),
                locals,
            };
            let fresh = |var| matches!(var, VarRef::Local(i) if i as usize >= params);
            for start in self.vary(start, &fresh) {
                for start in self.scramble(start) {
                    let start = self.number(start);
                    let edges = self.edges.entry(from).or_default();
                    edges.insert(((start, start), false));
                    let caller = (from.0, from.1, visited);
                    if self.callers.entry(start).or_default().insert(caller) {
                        self.add(start, start, false);
                        let exits = self.exits.get(&start).cloned().unwrap_or_default();
                        for (globals, results, within) in exits {
                            self.resume(caller, &globals, &results, within);
                        }
                    }
                }
            }
        }
    }

    fn leave(
        &mut self,
        entry: u32,
        visited: bool,
        state: &State,
        procedure: ProcId,
        values: &[Value],
    ) {
        let program = self.program;
        if self.bottom.contains(&entry) {
            let live = self.live;
            let dead = |var| match var {
                VarRef::Global(i) => live.is_some_and(|live| !live.live_after_termination(i)),
                VarRef::Local(_) => false,
            };
            for end in self.vary(state.clone(), &dead) {
                let values = self.propositions.iter().map(|proposition| {
                    let outcomes = outcomes(&proposition.terminated, &end, &end);
                    outcomes.first().expect("one").expect("does not fail")
                });
                let values = values.collect();
                self.seen.observed.insert((None, values));
            }
        }
        debug_assert_eq!(program.node(state.node).procedure, procedure);
        for end in self.leaving_with(state, procedure) {
            let exit = (end.globals, values.to_vec(), visited);
            if self.exits.entry(entry).or_default().insert(exit.clone()) {
                let callers = self.callers.get(&entry).cloned().unwrap_or_default();
                for caller in callers {
                    self.resume(caller, &exit.0, &exit.1, visited);
                }
            }
        }
    }

    /// A state at a return, with every value of the globals that are not live at the exit.
    fn leaving_with(&self, state: &State, procedure: ProcId) -> Vec<State> {
        let live = self.live;
        self.vary(state.clone(), &|var| match var {
            VarRef::Global(i) => live.is_some_and(|live| !live.live_at_exit(procedure, i)),
            VarRef::Local(_) => false,
        })
    }

    fn resume(
        &mut self,
        caller: (u32, u32, bool),
        globals: &[Value],
        results: &[Value],
        within: bool,
    ) {
        let program = self.program;
        let state = self.states[caller.1 as usize].clone();
        let node = program.node(state.node);
        let Op::Call {
            targets,
            constrain,
            next,
            ..
        } = &node.op
        else {
            unreachable!("callers are at calls");
        };
        let mut after = State {
            node: *next,
            globals: globals.to_vec(),
            locals: state.locals.clone(),
        };
        for (target, &value) in targets.iter().zip(results) {
            let Some(var) = *target else { continue };
            match convert(value, program.variable(node.procedure, var).ty) {
                Ok(value) => after.set(var, value),
                Err(violation) => return self.fail(state.node, violation),
            }
        }
        if self.possible(state.node, constrain.as_ref(), &state, &after) {
            self.ensured((caller.0, caller.1), caller.2, after, within);
        }
    }

    /// Whether some cycle visits the target: a step inside a strongly connected component that
    /// starts there or passes it. Components by Kosaraju's two searches.
    fn repeats(&self) -> bool {
        let mut backwards: HashMap<Pair, Vec<Pair>> = HashMap::new();
        for (&from, edges) in &self.edges {
            for &(to, _) in edges {
                backwards.entry(to).or_default().push(from);
            }
        }
        let mut seen = HashSet::new();
        let mut order = Vec::new();
        for &root in self.edges.keys() {
            let mut work = vec![(root, false)];
            while let Some((at, done)) = work.pop() {
                if done {
                    order.push(at);
                } else if seen.insert(at) {
                    work.push((at, true));
                    let edges = self.edges.get(&at).into_iter().flatten();
                    work.extend(edges.map(|&(to, _)| (to, false)));
                }
            }
        }
        let mut component: HashMap<Pair, Pair> = HashMap::new();
        for &root in order.iter().rev() {
            let mut work = vec![root];
            while let Some(at) = work.pop() {
                if let Entry::Vacant(slot) = component.entry(at) {
                    slot.insert(root);
                    work.extend(backwards.get(&at).into_iter().flatten());
                }
            }
        }
        self.edges.iter().any(|(from, edges)| {
            let at_target = self.states[from.1 as usize].node == self.target;
            edges
                .iter()
                .any(|(to, within)| (at_target || *within) && component[from] == component[to])
        })
    }
}
