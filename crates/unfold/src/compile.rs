//! From a [`Program`] to a [`Machine`]: code for every node, and which bits are kept where.

use droste_program::{Expr, ExprNode, NodeId, Op, ProcId, Program, VarRef};

use crate::ahead::ahead;
use crate::code::{Code, Scope};
use crate::layout::{Field, Layout};
use crate::machine::{Action, Machine, Node, Store};
use droste_program::liveness::Liveness;

impl Machine {
    /// Compiles `program`. With `failures`, a violation is a state in which nothing more happens;
    /// without, the run just ends.
    pub fn new(program: &Program, liveness: &dyn Liveness, failures: bool) -> Self {
        Self::compile(program, liveness, failures, None)
    }

    /// Compiles `program` to find runs that get stuck. Violations are states; and where a state has
    /// no step, or a return is refused, *every* run that the state stands for is stuck.
    ///
    /// A machine of [`Machine::new`] would say too little. When a call returns, it leaves open what
    /// an unread variable is until the caller's conditions want it to have a value, and then takes
    /// the values that they allow. But a run in which the variable has another value is stuck. Here
    /// a return reads what the conditions of its callers will read, so that only what the return
    /// itself chooses is still open then.
    pub fn for_stops(program: &Program, liveness: &dyn Liveness) -> Self {
        Self::compile(program, liveness, true, Some(&asked(program)))
    }

    fn compile(
        program: &Program,
        liveness: &dyn Liveness,
        failures: bool,
        asked: Option<&[Asked]>,
    ) -> Self {
        let layout = Layout::new(program);
        let nodes = program.nodes.iter().enumerate().map(|(i, node)| {
            let locals = &layout.locals[node.procedure.0 as usize];
            let id = NodeId(i as u32);
            let compiler = Compiler {
                program,
                layout: &layout,
                liveness,
                asked: asked.map(|asked| &asked[node.procedure.0 as usize]),
                id,
                locals,
            };
            compiler.node()
        });
        let masks = masks(program, &layout, liveness);
        let (ahead, reads) = ahead(program, &layout, &masks);
        Machine {
            nodes: nodes.collect(),
            entries: program.procedures.iter().map(|p| p.entry.0).collect(),
            main: program.main.0,
            masks,
            ahead,
            reads,
            exit_masks: exit_masks(program, &layout, liveness),
            terminated_mask: terminated_mask(&layout, liveness),
            touched: global_mask(&layout).repeat(program.procedures.len()),
            global_mask: global_mask(&layout),
            predicates: Vec::new(),
            observed: Vec::new(),
            failures,
            returns_read: asked.is_some(),
            eager: false,
            observes: vec![false; program.nodes.len() + 1],
            layout,
        }
    }
}

/// What the conditions of a procedure's callers look at when it returns.
#[derive(Clone, Debug, Default)]
struct Asked {
    /// Globals, by index.
    globals: Vec<u32>,
    /// Whether they look at anything, perhaps a result.
    anything: bool,
}

/// What the callers of each procedure look at when it returns.
fn asked(program: &Program) -> Vec<Asked> {
    let mut all = vec![Asked::default(); program.procedures.len()];
    for node in &program.nodes {
        if let Op::Call {
            callee, constrain, ..
        } = &node.op
        {
            let asked = &mut all[callee.0 as usize];
            asked.anything |= constrain.is_some() || node.ensure.is_some();
            node.for_each_asked(|global| {
                if !asked.globals.contains(&global) {
                    asked.globals.push(global);
                }
            });
        }
    }
    all
}

/// Per node, the bits that are kept on arrival: control and what is live.
fn masks(program: &Program, layout: &Layout, liveness: &dyn Liveness) -> Vec<u64> {
    let mut masks = vec![0; layout.words * program.nodes.len()];
    for (i, node) in program.nodes.iter().enumerate() {
        let id = NodeId(i as u32);
        let locals = &layout.locals[node.procedure.0 as usize];
        let mask = &mut masks[i * layout.words..][..layout.words];
        layout.cover_control(mask);
        for (i, field) in layout.globals.iter().enumerate() {
            if liveness.live(id, VarRef::Global(i as u32)) {
                field.cover(mask);
            }
        }
        for (i, field) in locals.iter().enumerate() {
            if liveness.live(id, VarRef::Local(i as u32)) {
                field.cover(mask);
            }
        }
    }
    masks
}

/// The bits that are kept beside those live at the next node when this call returns. A new value
/// that is read or converted then is kept for one more position: the callee's part of a trace is
/// made concrete by what is known after it. That holds for this call alone: others that go on at
/// the same node may have been relieved of storing their results, and what they leave there is
/// stale. Empty if there is nothing.
fn kept_after(layout: &Layout, scope: &Scope<'_>, node: &droste_program::Node) -> Box<[u64]> {
    let Op::Call {
        callee,
        targets,
        constrain,
        ..
    } = &node.op
    else {
        return Box::default();
    };
    let mut mask = vec![0; layout.words];
    let mut cover = |var: VarRef| {
        if matches!(var, VarRef::Global(_)) || targets.contains(&Some(var)) {
            scope.field(var).cover(&mut mask);
        }
    };
    for part in constrain.iter().flat_map(|e| &e.nodes) {
        if let ExprNode::Next(var) = *part {
            cover(var);
        }
    }
    for part in node.ensure.iter().flat_map(|e| &e.nodes) {
        if let ExprNode::Var(var) = *part {
            cover(var);
        }
    }
    for (target, result) in targets.iter().zip(&layout.results[callee.0 as usize]) {
        if let Some(var) = *target
            && scope.field(var).ty != result.ty
        {
            cover(var);
        }
    }
    if mask.iter().all(|&word| word == 0) {
        return Box::default();
    }
    mask.into()
}

/// Per procedure, the bits of an exit that are kept: live globals and the results.
fn exit_masks(program: &Program, layout: &Layout, liveness: &dyn Liveness) -> Vec<u64> {
    let mut masks = vec![0; layout.words * program.procedures.len()];
    for p in 0..program.procedures.len() {
        let mask = &mut masks[p * layout.words..][..layout.words];
        layout.cover_control(mask);
        for (i, field) in layout.globals.iter().enumerate() {
            if liveness.live_at_exit(ProcId(p as u32), i as u32) {
                field.cover(mask);
            }
        }
        for field in &layout.results[p] {
            field.cover(mask);
        }
    }
    masks
}

fn global_mask(layout: &Layout) -> Vec<u64> {
    let mut mask = vec![0; layout.words];
    for field in &layout.globals {
        field.cover(&mut mask);
    }
    mask
}

/// The bits of a terminated program that are kept.
fn terminated_mask(layout: &Layout, liveness: &dyn Liveness) -> Vec<u64> {
    let mut mask = vec![0; layout.words];
    layout.cover_control(&mut mask);
    for (i, field) in layout.globals.iter().enumerate() {
        if liveness.live_after_termination(i as u32) {
            field.cover(&mut mask);
        }
    }
    mask
}

/// Compiles one node.
struct Compiler<'a> {
    program: &'a Program,
    layout: &'a Layout,
    liveness: &'a dyn Liveness,
    /// What is asked of the procedure, if its returns read that.
    asked: Option<&'a Asked>,
    id: NodeId,
    locals: &'a [Field],
}

impl Compiler<'_> {
    fn scope(&self, after: bool) -> Scope<'_> {
        Scope {
            globals: &self.layout.globals,
            locals: self.locals,
            node: None,
            after,
        }
    }

    fn boolean(&self, expr: &Expr) -> Code {
        self.scope(false).compile(expr, true)
    }

    fn node(&self) -> Node {
        let node = self.program.node(self.id);
        let ensure = node
            .ensure
            .as_ref()
            .map(|expr| self.scope(true).compile(expr, true));
        let action = match &node.op {
            Op::Goto(targets) => Action::Goto(targets.iter().map(|t| t.0).collect()),
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => {
                let assigned: Vec<VarRef> = assigns.iter().map(|(var, _)| *var).collect();
                let values: Vec<&Expr> = assigns
                    .iter()
                    .map(|(_, e)| e)
                    .chain(discards)
                    .chain(constrain)
                    .collect();
                let stores = assigns.iter().map(|(var, expr)| {
                    let field = self.scope(false).field(*var);
                    // A new value that a condition asks for is not left open.
                    let asked = constrain
                        .iter()
                        .flat_map(|e| &e.nodes)
                        .any(|part| matches!(part, ExprNode::Next(v) if v == var))
                        || node
                            .ensure
                            .iter()
                            .flat_map(|e| &e.nodes)
                            .any(|part| matches!(part, ExprNode::Var(v) if v == var));
                    let given_up = |source: VarRef| {
                        !asked && (assigned.contains(&source) || !self.liveness.live(*next, source))
                    };
                    self.store(field, expr, &values, given_up)
                });
                Action::Assign {
                    stores: stores.collect(),
                    discards: discards.iter().map(|e| self.discard(e)).collect(),
                    constrain: constrain.as_ref().map(|e| self.boolean(e)),
                    next: next.0,
                }
            }
            Op::Branch { condition, yes, no } => Action::Branch {
                condition: self.boolean(condition),
                yes: yes.0,
                no: no.0,
            },
            Op::Assume { condition, next } => Action::Assume {
                condition: self.boolean(condition),
                next: next.0,
            },
            Op::Assert { condition, next } => Action::Assert {
                condition: self.boolean(condition),
                next: next.0,
            },
            Op::Call {
                callee,
                args,
                targets,
                constrain,
                next,
            } => {
                let values: Vec<&Expr> = args.iter().chain(constrain).collect();
                let params = &self.layout.locals[callee.0 as usize];
                let given_up = |source: VarRef| {
                    matches!(source, VarRef::Local(_))
                        && (targets.contains(&Some(source)) || !self.liveness.live(*next, source))
                };
                let stores = args
                    .iter()
                    .zip(params)
                    .map(|(expr, param)| self.store(*param, expr, &values, given_up));
                let stores = stores.collect();
                // What is read after the return and was there before: old values in `constrain`,
                // and locals that keep their value.
                let scope = self.scope(false);
                let kept = |var| matches!(var, VarRef::Local(_)) && !targets.contains(&Some(var));
                let in_constrain =
                    constrain
                        .iter()
                        .flat_map(|e| &e.nodes)
                        .filter_map(|part| match *part {
                            ExprNode::Var(var) => Some(var),
                            ExprNode::Next(var) if kept(var) => Some(var),
                            _ => None,
                        });
                let in_ensure = node
                    .ensure
                    .iter()
                    .flat_map(|e| &e.nodes)
                    .filter_map(|part| match *part {
                        ExprNode::Var(var) if kept(var) => Some(var),
                        _ => None,
                    });
                let mut before: Vec<VarRef> = in_constrain.chain(in_ensure).collect();
                before.sort_unstable();
                before.dedup();
                // One that does not matter at the call has been forgotten: the call will not
                // return.
                before.retain(|var| self.liveness.live(self.id, *var));
                let before: Vec<Field> = before.into_iter().map(|var| scope.field(var)).collect();
                let constrain = constrain.as_ref().map(|e| self.boolean(e));
                let results = &self.layout.results[callee.0 as usize];
                let targets = targets.iter().zip(results).filter_map(|(target, result)| {
                    target.map(|var| (*result, self.scope(false).field(var)))
                });
                Action::Call {
                    callee: callee.0,
                    before: before.into(),
                    args: stores,
                    targets: targets.collect(),
                    constrain,
                    kept: kept_after(self.layout, &self.scope(false), node),
                    next: next.0,
                }
            }
            Op::Return(values) => {
                let results = &self.layout.results[node.procedure.0 as usize];
                let all: Vec<&Expr> = values.iter().collect();
                let moves = self.asked.is_none_or(|asked| !asked.anything);
                let given_up = |source: VarRef| moves && matches!(source, VarRef::Local(_));
                let stores = values
                    .iter()
                    .zip(results)
                    .map(|(expr, result)| self.store(*result, expr, &all, given_up));
                let asked = self.asked.iter().flat_map(|asked| &asked.globals);
                let reads = asked.filter(|i| self.liveness.live(self.id, VarRef::Global(**i)));
                Action::Return {
                    reads: reads.map(|&i| self.layout.globals[i as usize]).collect(),
                    values: stores.collect(),
                }
            }
            // Whoever schedules threads does the rest: see `threads`.
            Op::AtomicBegin(next) | Op::AtomicEnd(next) | Op::StartThread { next, .. } => {
                Action::Goto([next.0].into())
            }
            Op::Stuck | Op::EndThread => Action::Stuck,
        };
        Node {
            procedure: node.procedure.0,
            action,
            silent: node.silent,
            ensure,
        }
    }

    /// The code for a value; an unknown variable may move to `field` if it is given up
    /// and nothing else in the step reads it.
    fn store(
        &self,
        field: Field,
        expr: &Expr,
        values: &[&Expr],
        given_up: impl Fn(VarRef) -> bool,
    ) -> Store {
        let code = self.scope(false).compile(expr, field.ty.is_bool());
        let movable = match expr.nodes[..] {
            [ExprNode::Var(source)] => {
                let reads = values
                    .iter()
                    .flat_map(|e| &e.nodes)
                    .filter(|n| matches!(n, ExprNode::Var(v) | ExprNode::Next(v) if *v == source));
                let ensured = self.program.node(self.id).ensure.iter().any(|e| {
                    e.nodes
                        .iter()
                        .any(|n| matches!(n, ExprNode::Var(v) if *v == source))
                });
                code.as_load().is_some_and(|from| from.ty == field.ty)
                    && reads.count() == 1
                    && !ensured
                    && given_up(source)
            }
            _ => false,
        };
        (field, code, movable)
    }

    fn discard(&self, expr: &Expr) -> Code {
        // What it is does not matter, only whether it fails.
        let boolean = match expr.root() {
            ExprNode::Nondet(ty) => ty.is_bool(),
            ExprNode::Var(var) | ExprNode::Next(var) => self.scope(false).field(*var).ty.is_bool(),
            ExprNode::BitNot(_) | ExprNode::Neg(_) => false,
            _ => true,
        };
        self.scope(false).compile(expr, boolean)
    }
}
