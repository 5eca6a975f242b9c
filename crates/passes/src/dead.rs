//! Strong liveness: which variables still matter.
//!
//! A variable is live at a node if its value there may matter. It may matter to a condition, an
//! assertion, a constraint, a proposition of the query, or an evaluation or store that can fail (a
//! violation ends the run even if it is not asked about). Or it may matter to the new value of a
//! variable that is itself live afterwards. So `x := x + 1` alone keeps nothing alive; such
//! variables are called faint.
//!
//! Liveness is the least solution of backward equations over the whole program. Live at a callee's
//! exit is what is live after one of its calls. Live at a call is what is live at the callee's
//! entry, except that globals which the callee cannot touch are live if they are live after the
//! call.
//!
//! Why verdicts and traces stay the same: let two configurations at the same node agree on the live
//! variables. Whatever step one can take, the other can take to the same node (with the same `*`
//! chosen). Afterwards they again agree on the live variables, or both fail in the same way. So
//! neither the other variables nor assignments to them decide about any run as a sequence of nodes.
//!
//! If runs that get stuck are looked for, a return counts as reading the globals that conditions of
//! its callers will read (see `Machine::for_stops` in `unfold`): they are live there, and wherever
//! a call leads to it.
//!
//! In a concurrent program another thread may read a global between any two steps: there a
//! global is live everywhere or nowhere.

use crate::fold::Folder;
use crate::graph::{self, Graph, Worklist, reverse_postorder};
use crate::live::{Sets, add, has, remove, unite};
use crate::slice;
use droste_base::{Guard, StopReason};
use droste_program::effects::Effects;
use droste_program::{Expr, ExprNode, Node, Op, ProcId, Program, Proposition, VarRef};
use std::collections::BTreeSet;

/// When the reads of an expression count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// If this variable matters after the step.
    Assigned(u32),
    /// If this parameter is live at the callee's entry.
    Argument(u32),
    /// If some caller stores this result in a variable that matters.
    Result(u32),
    /// The values *after* the step matter.
    After,
}

/// Reads of one node that count under the same condition.
#[derive(Clone, Copy, Debug)]
struct Use {
    when: When,
    /// The variables are `reads[from..to]`.
    from: u32,
    to: u32,
}

/// What each node reads and when it counts, ready to be evaluated many times.
#[derive(Debug, Default)]
struct Uses {
    starts: Vec<u32>,
    items: Vec<Use>,
    reads: Vec<u32>,
}

impl Uses {
    /// With `stops`, a return reads what the conditions of its callers will look at.
    fn new(program: &Program, stops: bool) -> Self {
        let mut uses = Uses::default();
        let mut folder = Folder::default();
        let mut asked = vec![BTreeSet::new(); program.procedures.len()];
        for node in program.nodes.iter().filter(|_| stops) {
            if let Op::Call { callee, .. } = node.op {
                node.for_each_asked(|global| _ = asked[callee.0 as usize].insert(global));
            }
        }
        for node in &program.nodes {
            uses.starts.push(uses.items.len() as u32);
            uses.add_node(program, node, &mut folder);
            if let Op::Return(_) = node.op {
                let asked = &asked[node.procedure.0 as usize];
                uses.add_variables(asked.iter().copied(), When::Always);
            }
        }
        uses.starts.push(uses.items.len() as u32);
        uses
    }

    fn add_node(&mut self, program: &Program, node: &Node, folder: &mut Folder) {
        let procedure = node.procedure;
        match &node.op {
            Op::Assign {
                assigns,
                discards,
                constrain,
                ..
            } => {
                for (var, expr) in assigns {
                    let ty = program.variable(procedure, *var).ty;
                    let fails = folder.facts(program, procedure, expr).store_can_fail(ty);
                    let index = graph::index(program, *var);
                    self.add(program, expr, always_if(fails, When::Assigned(index)));
                }
                for expr in discards {
                    if folder.facts(program, procedure, expr).can_fail {
                        self.add(program, expr, When::Always);
                    }
                }
                if let Some(expr) = constrain {
                    self.add(program, expr, When::Always);
                }
            }
            Op::Branch { condition, .. }
            | Op::Assume { condition, .. }
            | Op::Assert { condition, .. } => self.add(program, condition, When::Always),
            Op::Call {
                callee,
                args,
                constrain,
                ..
            } => {
                let params = &program.procedure(*callee).locals;
                for ((expr, param), i) in args.iter().zip(params).zip(0..) {
                    let fails = folder
                        .facts(program, procedure, expr)
                        .store_can_fail(param.ty);
                    self.add(program, expr, always_if(fails, When::Argument(i)));
                }
                if let Some(expr) = constrain {
                    self.add(program, expr, When::Always);
                }
            }
            Op::Return(results) => {
                let types = &program.procedure(procedure).results;
                for ((expr, &ty), i) in results.iter().zip(types).zip(0..) {
                    let fails = folder.facts(program, procedure, expr).store_can_fail(ty);
                    self.add(program, expr, always_if(fails, When::Result(i)));
                }
            }
            Op::Goto(_)
            | Op::Stuck
            | Op::StartThread { .. }
            | Op::EndThread
            | Op::AtomicBegin(_)
            | Op::AtomicEnd(_) => {}
        }
        if let Some(expr) = &node.ensure {
            self.add_reads(program, expr, When::After, |leaf| match *leaf {
                ExprNode::Var(var) => Some(var),
                _ => None,
            });
        }
    }

    fn add(&mut self, program: &Program, expr: &Expr, when: When) {
        self.add_reads(program, expr, when, |leaf| match *leaf {
            ExprNode::Var(var) => Some(var),
            _ => None,
        });
        self.add_reads(program, expr, When::After, |leaf| match *leaf {
            ExprNode::Next(var) => Some(var),
            _ => None,
        });
    }

    fn add_reads(
        &mut self,
        program: &Program,
        expr: &Expr,
        when: When,
        read: impl Fn(&ExprNode) -> Option<VarRef>,
    ) {
        let reads = expr.nodes.iter().filter_map(read);
        self.add_variables(reads.map(|var| graph::index(program, var)), when);
    }

    /// Reads of these variables, by index.
    fn add_variables(&mut self, variables: impl Iterator<Item = u32>, when: When) {
        let from = self.reads.len() as u32;
        self.reads.extend(variables);
        let to = self.reads.len() as u32;
        if from < to {
            self.items.push(Use { when, from, to });
        }
    }

    fn of(&self, node: u32) -> &[Use] {
        let (from, to) = (self.starts[node as usize], self.starts[node as usize + 1]);
        &self.items[from as usize..to as usize]
    }

    fn reads(&self, item: Use) -> &[u32] {
        &self.reads[item.from as usize..item.to as usize]
    }
}

fn always_if(fails: bool, otherwise: When) -> When {
    if fails { When::Always } else { otherwise }
}

/// The solution of the equations.
#[derive(Debug)]
pub(crate) struct Liveness {
    pub(crate) sets: Sets,
    /// For each procedure, whether each result matters to some caller.
    results: Vec<Vec<bool>>,
}

impl Liveness {
    /// Whether result number `index` of `procedure` matters to some caller.
    pub(crate) fn result_matters(&self, procedure: ProcId, index: usize) -> bool {
        self.results[procedure.0 as usize][index]
    }
}

struct Solver<'a> {
    program: &'a Program,
    graph: &'a Graph,
    uses: Uses,
    /// Globals a procedure reads or writes, itself or through others.
    touched: Effects,
    /// For each node, whether its procedure can return from there.
    returning: Vec<bool>,
    /// For each procedure, what propositions read there.
    observed: Vec<Vec<u64>>,
    /// In a concurrent program, the globals that are live everywhere.
    shared: Option<Vec<u64>>,
    live: Liveness,
    /// Live after the step, and before it.
    after: Vec<u64>,
    before: Vec<u64>,
}

/// Which variables matter where.
pub(crate) fn liveness(
    program: &Program,
    graph: &Graph,
    propositions: &[&Proposition],
    stops: bool,
    guard: &mut Guard,
) -> Result<Liveness, StopReason> {
    let words = |locals: usize| (program.globals.len() + locals).div_ceil(64);
    let mut observed: Vec<Vec<u64>> = program
        .procedures
        .iter()
        .map(|procedure| vec![0; words(procedure.locals.len())])
        .collect();
    let mut sets = Sets::new(program);
    for proposition in propositions {
        for (set, expr) in observed.iter_mut().zip(&proposition.by_procedure) {
            add_vars(program, expr, set);
        }
        add_vars(program, &proposition.terminated, &mut sets.terminated);
    }
    let touched = if stops {
        Effects::with_returns(program, propositions)
    } else {
        Effects::watched(program, propositions)
    };
    let terminated = sets.terminated.clone();
    unite(sets.exit_mut(program.main), &terminated);
    let mut solver = Solver {
        program,
        graph,
        uses: Uses::new(program, stops),
        touched,
        returning: slice::returning(program, graph),
        observed,
        shared: program.is_concurrent().then(|| terminated.clone()),
        live: Liveness {
            sets,
            results: program
                .procedures
                .iter()
                .map(|procedure| vec![false; procedure.results.len()])
                .collect(),
        },
        after: Vec::new(),
        before: Vec::new(),
    };
    solver.solve(guard)?;
    Ok(solver.live)
}

fn add_vars(program: &Program, expr: &Expr, set: &mut [u64]) {
    for node in &expr.nodes {
        if let ExprNode::Var(var) = *node {
            add(set, graph::index(program, var));
        }
    }
}

impl Solver<'_> {
    fn solve(&mut self, guard: &mut Guard) -> Result<(), StopReason> {
        let mut order = reverse_postorder(self.program);
        order.reverse();
        let mut work = Worklist::new(order);
        loop {
            work.insert_all();
            while let Some(at) = work.pop() {
                guard.check()?;
                self.node(at, &mut work);
            }
            // Globals that are live anywhere are live everywhere if threads share them.
            let Some(shared) = &mut self.shared else {
                return Ok(());
            };
            let globals = self.program.globals.len() as u32;
            let sets = &mut self.live.sets;
            let mut grown = false;
            for node in 0..self.program.nodes.len() as u32 {
                let live = sets.at(node);
                for ((shared, live), mask) in shared.iter_mut().zip(live).zip(graph::masks(globals))
                {
                    grown |= live & mask & !*shared != 0;
                    *shared |= live & mask;
                }
            }
            for procedure in 0..self.program.procedures.len() as u32 {
                unite(sets.exit_mut(ProcId(procedure)), shared);
            }
            unite(&mut sets.terminated, shared);
            if !grown {
                return Ok(());
            }
        }
    }

    /// Evaluates the equation of a node.
    fn node(&mut self, at: u32, work: &mut Worklist) {
        let program = self.program;
        let node = &program.nodes[at as usize];
        let procedure = node.procedure;
        let globals = program.globals.len() as u32;
        let sets = &mut self.live.sets;
        let (after, before) = (&mut self.after, &mut self.before);
        after.clear();
        after.resize(sets.at(at).len(), 0);
        node.op.for_each_next(|next| {
            unite(after, sets.at(next.0));
        });
        for &item in self.uses.of(at) {
            if item.when == When::After {
                self.uses
                    .reads(item)
                    .iter()
                    .for_each(|&var| add(after, var));
            }
        }
        before.clone_from(after);
        match &node.op {
            Op::Assign { assigns, .. } => {
                for &(var, _) in assigns {
                    remove(before, graph::index(program, var));
                }
            }
            Op::Call {
                callee, targets, ..
            } => {
                let called = program.procedure(*callee);
                if !self.returning[called.entry.0 as usize] {
                    // There is no after.
                    after.fill(0);
                    before.fill(0);
                }
                let mut grown = false;
                for ((target, &result), i) in targets.iter().zip(&called.results).zip(0..) {
                    let Some(var) = *target else { continue };
                    let index = graph::index(program, var);
                    let ty = program.variable(procedure, var).ty;
                    if has(after, index) || graph::conversion_can_fail(result, ty) {
                        let slot: &mut bool = &mut self.live.results[callee.0 as usize][i];
                        grown |= !std::mem::replace(slot, true);
                    }
                    remove(before, index);
                }
                // `before` is now what returning leaves and still matters.
                let exit = sets.exit_mut(*callee);
                for ((exit, &before), mask) in
                    exit.iter_mut().zip(&*before).zip(graph::masks(globals))
                {
                    grown |= before & mask & !*exit != 0;
                    *exit |= before & mask;
                }
                if grown {
                    for &exit in self.graph.returns.get(callee.0) {
                        work.insert(exit);
                    }
                }
                let entry = sets.at(called.entry.0);
                let touched = self.touched.globals(*callee);
                for ((before, entry), touched) in before.iter_mut().zip(entry).zip(touched) {
                    *before = *before & !touched | entry & touched;
                }
            }
            Op::Return(_) => {
                unite(before, sets.exit(procedure));
            }
            _ => {}
        }
        for &item in self.uses.of(at) {
            let counts = match item.when {
                When::Always => true,
                When::Assigned(var) => has(after, var),
                When::Argument(i) => match node.op {
                    Op::Call { callee, .. } => {
                        let entry = program.procedure(callee).entry;
                        has(sets.at(entry.0), globals + i)
                    }
                    _ => unreachable!("only calls have arguments"),
                },
                When::Result(i) => self.live.results[procedure.0 as usize][i as usize],
                When::After => false,
            };
            if counts {
                for &var in self.uses.reads(item) {
                    add(before, var);
                }
            }
        }
        unite(before, &self.observed[procedure.0 as usize]);
        if let Some(shared) = &self.shared {
            unite(before, shared);
        }
        if unite(sets.at_mut(at), before) {
            for &node in self.graph.predecessors.get(at) {
                work.insert(node);
            }
            if program.procedure(procedure).entry.0 == at {
                for &call in self.graph.calls.get(procedure.0) {
                    work.insert(call);
                }
            }
        }
    }
}
