//! Small random programs over every operation and expression, threads left out, made without a text:
//! also what no front end writes.

use droste_program::monitor::{Monitor, MonitorState, StateKind};
use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, Operator, ProcId, Procedure, Program, Proposition, Threads,
    Type, Value, VarRef, Variable,
};
use droste_source::Span;
use std::sync::Arc;

use crate::random::Random;

fn variable(name: &str, ty: Type) -> Variable {
    Variable {
        name: name.into(),
        ty,
        span: Span::default(),
        thread: None,
    }
}

fn random_type(random: &mut Random) -> Type {
    match random.below(10) {
        0 => Type::Bits {
            signed: random.percent(50),
            width: 1 + random.below(2) as u8,
        },
        1 => {
            let lo = random.below(3) as Value - 1;
            let hi = lo + random.below(3) as Value;
            Type::Range { lo, hi }
        }
        _ => Type::Bool,
    }
}

/// Any value of a type.
fn any(ty: Type) -> Expr {
    Expr {
        nodes: vec![ExprNode::Nondet(ty)],
    }
}

/// What expressions may mention.
struct Scope<'a> {
    vars: &'a [(VarRef, Type)],
    next: bool,
    nondet: bool,
    failing: bool,
}

impl Scope<'_> {
    fn var(&self, random: &mut Random, boolean: bool) -> Option<ExprNode> {
        let fitting: Vec<VarRef> = self
            .vars
            .iter()
            .filter(|(_, ty)| ty.is_bool() == boolean)
            .map(|&(var, _)| var)
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let var = *random.pick(&fitting);
        Some(if self.next && random.percent(50) {
            ExprNode::Next(var)
        } else {
            ExprNode::Var(var)
        })
    }

    fn add(
        &self,
        nodes: &mut Vec<ExprNode>,
        random: &mut Random,
        boolean: bool,
        depth: usize,
    ) -> u32 {
        let leaf = depth == 0 || random.percent(35);
        let node = if leaf {
            match self.var(random, boolean) {
                Some(var) if random.percent(75) => var,
                _ if boolean && self.nondet && random.percent(50) => ExprNode::Nondet(Type::Bool),
                _ if boolean => ExprNode::Const(random.below(2) as Value),
                _ => ExprNode::Const(random.below(5) as Value - 2),
            }
        } else if boolean {
            let compares = random.percent(35);
            let sub = |this: &Self, nodes: &mut Vec<_>, random: &mut _, boolean| {
                this.add(nodes, random, boolean, depth - 1)
            };
            match random.below(8) {
                0 => ExprNode::Not(sub(self, nodes, random, true)),
                1 if self.nondet => {
                    let a = sub(self, nodes, random, true);
                    ExprNode::Schoose(a, sub(self, nodes, random, true))
                }
                _ if compares => {
                    let a = sub(self, nodes, random, false);
                    let b = sub(self, nodes, random, false);
                    let op = *random.pick(&[
                        Operator::Eq,
                        Operator::Ne,
                        Operator::Lt,
                        Operator::Le,
                        Operator::Gt,
                        Operator::Ge,
                    ]);
                    ExprNode::Binary(op, a, b)
                }
                _ => {
                    let a = sub(self, nodes, random, true);
                    let b = sub(self, nodes, random, true);
                    let op = *random.pick(&[
                        Operator::And,
                        Operator::And,
                        Operator::Or,
                        Operator::Or,
                        Operator::Implies,
                        Operator::Xor,
                        Operator::Eq,
                        Operator::Ne,
                    ]);
                    ExprNode::Binary(op, a, b)
                }
            }
        } else {
            let a = self.add(nodes, random, false, depth - 1);
            match random.below(8) {
                0 => ExprNode::Neg(a),
                1 => ExprNode::BitNot(a),
                _ => {
                    let b = self.add(nodes, random, false, depth - 1);
                    let mut ops = vec![
                        Operator::Add,
                        Operator::Sub,
                        Operator::Mul,
                        Operator::BitAnd,
                        Operator::BitOr,
                        Operator::BitXor,
                    ];
                    if self.failing {
                        let failing = [Operator::Div, Operator::Rem, Operator::Shl, Operator::Shr];
                        ops.extend(failing);
                    }
                    ExprNode::Binary(*random.pick(&ops), a, b)
                }
            }
        };
        nodes.push(node);
        nodes.len() as u32 - 1
    }

    fn expr(&self, random: &mut Random, boolean: bool) -> Expr {
        let mut nodes = Vec::new();
        let depth = random.below(4);
        self.add(&mut nodes, random, boolean, depth);
        Expr { nodes }
    }

    /// Something to store in a variable of type `ty`.
    fn value(&self, random: &mut Random, ty: Type) -> Expr {
        if random.percent(15) {
            any(ty)
        } else if random.percent(25) {
            let span = (ty.hi() - ty.lo() + 1) as usize;
            Expr::constant(ty.lo() + random.below(span) as Value)
        } else {
            self.expr(random, ty.is_bool())
        }
    }
}

/// The variables of a procedure.
fn vars(program: &Program, procedure: &Procedure) -> Vec<(VarRef, Type)> {
    let globals = program.globals.iter().map(|v| v.ty).zip(0..);
    let locals = procedure.locals.iter().map(|v| v.ty).zip(0..);
    globals
        .map(|(ty, i)| (VarRef::Global(i), ty))
        .chain(locals.map(|(ty, i)| (VarRef::Local(i), ty)))
        .collect()
}

/// A random program.
pub fn program(random: &mut Random) -> Program {
    let mut program = Program {
        globals: (0..=random.below(3))
            .map(|_| variable("g", random_type(random)))
            .collect(),
        procedures: Vec::new(),
        nodes: Vec::new(),
        main: ProcId(0),
        threads: Threads::default(),
    };
    let mut sizes = Vec::new();
    let mut entry = 0;
    for i in 0..2 + random.below(2) {
        let locals: Vec<Variable> = (0..random.below(3))
            .map(|_| variable("x", random_type(random)))
            .collect();
        program.procedures.push(Procedure {
            name: format!("p{i}").into(),
            span: Span::default(),
            params: random.below(locals.len() + 1) as u32,
            locals,
            results: (0..random.below(3)).map(|_| random_type(random)).collect(),
            entry: NodeId(entry),
            thread: None,
        });
        let size = 3 + random.below(7) as u32;
        sizes.push(size);
        entry += size;
    }
    for (i, &size) in sizes.iter().enumerate() {
        for offset in 0..size {
            let node = random_node(random, &program, ProcId(i as u32), offset, size);
            program.nodes.push(node);
        }
    }
    program
}

fn random_node(random: &mut Random, program: &Program, id: ProcId, offset: u32, size: u32) -> Node {
    let procedure = program.procedure(id);
    let all = vars(program, procedure);
    let failing = random.percent(15);
    let scope = |next| Scope {
        vars: &all,
        next,
        nondet: true,
        failing,
    };
    let jump = |random: &mut Random| {
        if offset + 1 < size && random.percent(80) {
            NodeId(procedure.entry.0 + offset + 1)
        } else {
            NodeId(procedure.entry.0 + random.below(size as usize) as u32)
        }
    };
    let constrain = |random: &mut Random| {
        let wanted = random.percent(10);
        wanted.then(|| scope(true).expr(random, true))
    };
    // Not too often recursive, or few calls return.
    let procedures = program.procedures.len() as u32;
    let recursive = random.percent(25);
    let kind = match random.below(100) {
        _ if offset + 1 == size => 98,
        96.. if offset * 2 < size => 20,
        67..96 if !recursive && id.0 + 1 == procedures => 50,
        kind => kind,
    };
    let op = match kind {
        0..6 => Op::Goto((0..=random.below(2)).map(|_| jump(random)).collect()),
        // A relation between all variables before and after.
        6..8 => Op::Assign {
            assigns: all.iter().map(|&(var, ty)| (var, any(ty))).collect(),
            discards: Vec::new(),
            constrain: Some(scope(true).expr(random, true)),
            next: jump(random),
        },
        8..40 => {
            let mut left = all.clone();
            let mut assigns = Vec::new();
            for _ in 0..random.below(3) {
                if !left.is_empty() {
                    let (var, ty) = left.swap_remove(random.below(left.len()));
                    assigns.push((var, scope(false).value(random, ty)));
                }
            }
            let boolean = random.percent(50);
            let discards = (0..random.below(8) / 6).map(|_| scope(false).expr(random, boolean));
            Op::Assign {
                assigns,
                discards: discards.collect(),
                constrain: constrain(random),
                next: jump(random),
            }
        }
        40..58 => Op::Branch {
            condition: scope(false).expr(random, true),
            yes: jump(random),
            no: NodeId(procedure.entry.0 + random.below(size as usize) as u32),
        },
        58 => Op::AtomicBegin(jump(random)),
        59 => Op::AtomicEnd(jump(random)),
        60..63 => Op::Assume {
            condition: scope(false).expr(random, true),
            next: jump(random),
        },
        63..67 => Op::Assert {
            condition: scope(false).expr(random, true),
            next: jump(random),
        },
        67..96 => {
            let lowest = if recursive { 0 } else { id.0 + 1 };
            let callee = ProcId(lowest + random.below((procedures - lowest) as usize) as u32);
            let called = program.procedure(callee);
            let params = &called.locals[..called.params as usize];
            let args = params
                .iter()
                .map(|param| scope(false).value(random, param.ty))
                .collect();
            let mut left = all.clone();
            let mut targets = Vec::new();
            if random.percent(80) {
                for result in &called.results {
                    let fits = |(_, ty): &(VarRef, Type)| ty.is_bool() == result.is_bool();
                    let found = left.iter().position(fits).filter(|_| random.percent(80));
                    targets.push(found.map(|at| left.swap_remove(at).0));
                }
            }
            Op::Call {
                callee,
                args,
                targets,
                constrain: constrain(random),
                next: jump(random),
            }
        }
        96 => Op::Stuck,
        _ => {
            let results = procedure.results.iter();
            Op::Return(results.map(|&ty| scope(false).value(random, ty)).collect())
        }
    };
    let may_ensure = !matches!(op, Op::Stuck | Op::Return(_));
    // Silent nodes lead onward, so that they are no cycle.
    let here = procedure.entry.0 + offset;
    let onward = matches!(op, Op::Assign { next, .. } if next.0 > here);
    Node {
        procedure: id,
        span: Span::default(),
        labels: Vec::new(),
        ensure: (may_ensure && random.percent(5))
            .then(|| Arc::new(scope(false).expr(random, true))),
        silent: onward && random.percent(30),
        op,
    }
}

/// A random proposition, about variables and sometimes about control.
pub fn proposition(random: &mut Random, program: &Program) -> Proposition {
    let expr = |random: &mut Random, vars: &[(VarRef, Type)]| {
        let scope = Scope {
            vars,
            next: false,
            nondet: false,
            failing: false,
        };
        if random.percent(40) {
            Expr::constant(0)
        } else {
            scope.expr(random, true)
        }
    };
    let mut by_procedure = Vec::new();
    for procedure in &program.procedures {
        let mut expr = expr(random, &vars(program, procedure));
        if random.percent(40) {
            let nodes = (0..program.nodes.len() as u32).map(NodeId);
            let some: Vec<NodeId> = nodes.filter(|_| random.percent(25)).collect();
            let root = expr.nodes.len() as u32 - 1;
            expr.nodes.push(ExprNode::At(some.into()));
            let op = *random.pick(&[Operator::And, Operator::Or]);
            expr.nodes.push(ExprNode::Binary(op, root, root + 1));
        }
        by_procedure.push(expr);
    }
    let globals: Vec<_> = (0..program.globals.len() as u32)
        .map(|i| (VarRef::Global(i), program.globals[i as usize].ty))
        .collect();
    Proposition {
        by_procedure,
        terminated: expr(random, &globals),
    }
}

/// A random monitor with a few states; some are targets, some repeating.
pub fn monitor(random: &mut Random, program: &Program) -> Monitor {
    let count = 2 + random.below(3);
    let kinds = [
        StateKind::Plain,
        StateKind::Plain,
        StateKind::Target,
        StateKind::Repeating,
    ];
    let states = (0..count)
        .map(|i| MonitorState {
            name: format!("s{i}").into(),
            kind: kinds[random.below(4)],
            edges: (0..random.below(3))
                .map(|_| (proposition(random, program), random.below(count) as u32))
                .collect(),
            otherwise: (random.below(3) > 0).then(|| random.below(count) as u32),
        })
        .collect();
    Monitor {
        name: "m".into(),
        states,
        initial: 0,
    }
}

/// A program that assigns a constant to a variable, or not, and then decides one condition, in which
/// much can fail.
pub fn decision(random: &mut Random) -> Program {
    let types = [
        Type::Bool,
        Type::Bool,
        Type::Bits {
            signed: true,
            width: 2,
        },
        Type::Range { lo: 0, hi: 2 },
    ];
    let mut program = Program {
        globals: types.iter().map(|&ty| variable("g", ty)).collect(),
        procedures: vec![Procedure {
            name: "main".into(),
            span: Span::default(),
            params: 0,
            locals: Vec::new(),
            results: Vec::new(),
            entry: NodeId(0),
            thread: None,
        }],
        nodes: Vec::new(),
        main: ProcId(0),
        threads: Threads::default(),
    };
    let all = vars(&program, &program.procedures[0]);
    let scope = Scope {
        vars: &all,
        next: false,
        nondet: true,
        failing: true,
    };
    let mut nodes = Vec::new();
    scope.add(&mut nodes, random, true, 5);
    let (var, ty) = *random.pick(&all);
    let given = ty.lo() + random.below((ty.hi() - ty.lo() + 1) as usize) as Value;
    let ops = [
        if random.percent(50) {
            Op::Goto(vec![NodeId(1)])
        } else {
            Op::Assign {
                assigns: vec![(var, Expr::constant(given))],
                discards: Vec::new(),
                constrain: None,
                next: NodeId(1),
            }
        },
        Op::Branch {
            condition: Expr { nodes },
            yes: NodeId(2),
            no: NodeId(3),
        },
        Op::Return(Vec::new()),
        Op::Return(Vec::new()),
    ];
    program.nodes.extend(ops.map(|op| Node {
        procedure: ProcId(0),
        span: Span::default(),
        labels: Vec::new(),
        ensure: None,
        silent: false,
        op,
    }));
    program
}
