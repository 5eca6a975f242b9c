//! Drops useless computations: assignments, arguments, results and discarded values that do not
//! matter to anything (see [`dead`](crate::dead) for why that is right).
//!
//! An evaluation or a store that can fail is kept, because its violation ends the run. The
//! liveness found before dropping is also that of the program afterwards.

use crate::dead::Liveness;
use crate::fold::Folder;
use crate::graph;
use crate::live::{add, has, unite};
use droste_program::{Expr, ExprNode, Node, Op, Program, Type, VarRef};

/// What has been dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dropped {
    /// Assignments and stored results.
    pub(crate) assignments: usize,
    /// Arguments, results and discarded values.
    pub(crate) values: usize,
}

/// Rewrites `program` by its own `liveness`.
pub(crate) fn drop_faint(program: &mut Program, liveness: &Liveness) -> Dropped {
    let mut nodes = std::mem::take(&mut program.nodes);
    // Everything about procedures but their nodes.
    let program_only = &*program;
    let mut dropper = Dropper {
        program: program_only,
        entries: program_only
            .procedures
            .iter()
            .map(|procedure| procedure.entry.0)
            .collect(),
        liveness,
        folder: Folder::default(),
        dropped: Dropped::default(),
        after: Vec::new(),
    };
    for (node, id) in nodes.iter_mut().zip(0..) {
        dropper.node(node, id);
    }
    let dropped = dropper.dropped;
    program.nodes = nodes;
    dropped
}

struct Dropper<'a> {
    /// Its nodes are left alone.
    program: &'a Program,
    entries: Vec<u32>,
    liveness: &'a Liveness,
    folder: Folder,
    dropped: Dropped,
    /// What matters after the step.
    after: Vec<u64>,
}

impl Dropper<'_> {
    fn node(&mut self, node: &mut Node, id: u32) {
        let procedure = node.procedure;
        let program = self.program;
        let globals = program.globals.len() as u32;
        match &node.op {
            Op::Assign { next, .. } | Op::Call { next, .. } => {
                let sets = &self.liveness.sets;
                self.after.clear();
                self.after.resize(sets.at(id).len(), 0);
                unite(&mut self.after, sets.at(next.0));
            }
            Op::Return(_) => {}
            _ => return,
        }
        if let Some(expr) = &node.ensure {
            for leaf in &expr.nodes {
                if let ExprNode::Var(var) = *leaf {
                    add(&mut self.after, graph::index(program, var));
                }
            }
        }
        if let Op::Assign { constrain, .. } | Op::Call { constrain, .. } = &node.op
            && let Some(expr) = constrain
        {
            for leaf in &expr.nodes {
                if let ExprNode::Next(var) = *leaf {
                    add(&mut self.after, graph::index(program, var));
                }
            }
        }
        match &mut node.op {
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => {
                let before = discards.len();
                discards.retain(|expr| self.folder.facts(program, procedure, expr).can_fail);
                self.dropped.values += before - discards.len();
                self.assigns(procedure, assigns, discards);
                if assigns.is_empty() && discards.is_empty() && constrain.is_none() {
                    node.op = Op::Goto(vec![*next]);
                }
            }
            Op::Call {
                callee,
                args,
                targets,
                ..
            } => {
                let called = program.procedure(*callee);
                for (target, &result) in targets.iter_mut().zip(&called.results) {
                    if let Some(var) = *target
                        && !has(&self.after, graph::index(program, var))
                        && !graph::conversion_can_fail(result, program.variable(procedure, var).ty)
                    {
                        *target = None;
                        self.dropped.assignments += 1;
                    }
                }
                let entry = self.liveness.sets.at(self.entries[callee.0 as usize]);
                for ((arg, param), index) in args.iter_mut().zip(&called.locals).zip(globals..) {
                    if !has(entry, index) {
                        self.replace(procedure, arg, param.ty);
                    }
                }
            }
            Op::Return(results) => {
                let types = &program.procedure(procedure).results;
                for ((expr, &ty), i) in results.iter_mut().zip(types).zip(0..) {
                    if !self.liveness.result_matters(procedure, i) {
                        self.replace(procedure, expr, ty);
                    }
                }
            }
            _ => {}
        }
    }

    /// Drops the assignments that do not matter. One that can fail becomes a discarded value,
    /// if that does not change which of several failures comes first.
    fn assigns(
        &mut self,
        procedure: droste_program::ProcId,
        assigns: &mut Vec<(VarRef, Expr)>,
        discards: &mut Vec<Expr>,
    ) {
        let program = self.program;
        let folder = &mut self.folder;
        let mut failing = discards.len();
        for (var, expr) in &*assigns {
            let ty = program.variable(procedure, *var).ty;
            let facts = folder.facts(program, procedure, expr);
            failing += usize::from(facts.store_can_fail(ty));
        }
        assigns.retain_mut(|(var, expr)| {
            if has(&self.after, graph::index(program, *var)) {
                return true;
            }
            let ty = program.variable(procedure, *var).ty;
            let facts = folder.facts(program, procedure, expr);
            if facts.store_can_fail(ty) {
                let only_by_value = !matches!(ty, Type::Range { .. });
                if failing > 1 || !only_by_value {
                    return true;
                }
                discards.push(std::mem::replace(expr, Expr::constant(0)));
            }
            self.dropped.assignments += 1;
            false
        });
    }

    /// Puts a constant in the place of a value that does not matter, unless it can fail.
    fn replace(&mut self, procedure: droste_program::ProcId, expr: &mut Expr, ty: Type) {
        let facts = self.folder.facts(self.program, procedure, expr);
        if expr.as_const().is_none() && !facts.store_can_fail(ty) {
            let zero = if ty.lo() <= 0 && 0 <= ty.hi() {
                0
            } else {
                ty.lo()
            };
            *expr = Expr::constant(zero);
            self.dropped.values += 1;
        }
    }
}
