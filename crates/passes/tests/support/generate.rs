//! Small random programs over every operation and expression, threads left out.

use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, Operator, ProcId, Procedure, Program, Proposition, Threads,
    Type, Value, VarRef, Variable,
};
use droste_source::Span;
use std::sync::Arc;

/// xorshift64*; the same numbers everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % u64::from(n)) as u32
    }

    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize].clone()
    }
}

pub(crate) fn variable(name: &str, ty: Type) -> Variable {
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
            signed: random.chance(50),
            width: 1 + random.below(2) as u8,
        },
        1 => {
            let lo = Value::from(random.below(3)) - 1;
            let hi = lo + Value::from(random.below(3));
            Type::Range { lo, hi }
        }
        _ => Type::Bool,
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
        let var = random.pick(&fitting);
        Some(if self.next && random.chance(50) {
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
        depth: u32,
    ) -> u32 {
        let leaf = depth == 0 || random.chance(35);
        let node = if leaf {
            match self.var(random, boolean) {
                Some(var) if random.chance(75) => var,
                _ if boolean && self.nondet && random.chance(50) => ExprNode::Nondet(Type::Bool),
                _ if boolean => ExprNode::Const(random.below(2).into()),
                _ => ExprNode::Const(Value::from(random.below(5)) - 2),
            }
        } else if boolean {
            let compares = random.chance(35);
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
                    let op = random.pick(&[
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
                    let op = random.pick(&[
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
                    ExprNode::Binary(random.pick(&ops), a, b)
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
        if random.chance(15) {
            Expr {
                nodes: vec![ExprNode::Nondet(ty)],
            }
        } else if random.chance(25) {
            let span = (ty.hi() - ty.lo() + 1) as u32;
            Expr::constant(ty.lo() + Value::from(random.below(span)))
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
pub(crate) fn program(random: &mut Random) -> Program {
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
            params: random.below(locals.len() as u32 + 1),
            locals,
            results: (0..random.below(3)).map(|_| random_type(random)).collect(),
            entry: NodeId(entry),
            thread: None,
        });
        let size = 3 + random.below(7);
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
    let failing = random.chance(15);
    let scope = |next| Scope {
        vars: &all,
        next,
        nondet: true,
        failing,
    };
    let jump = |random: &mut Random| {
        if offset + 1 < size && random.chance(80) {
            NodeId(procedure.entry.0 + offset + 1)
        } else {
            NodeId(procedure.entry.0 + random.below(size))
        }
    };
    let constrain = |random: &mut Random| {
        let wanted = random.chance(10);
        wanted.then(|| scope(true).expr(random, true))
    };
    // Not too often recursive, or few calls return.
    let procedures = program.procedures.len() as u32;
    let recursive = random.chance(25);
    let kind = match random.below(100) {
        _ if offset + 1 == size => 98,
        96.. if offset * 2 < size => 20,
        67..96 if !recursive && id.0 + 1 == procedures => 50,
        kind => kind,
    };
    let op = match kind {
        0..6 => Op::Goto((0..=random.below(2)).map(|_| jump(random)).collect()),
        6..40 => {
            let mut left = all.clone();
            let mut assigns = Vec::new();
            for _ in 0..random.below(3) {
                if !left.is_empty() {
                    let (var, ty) = left.swap_remove(random.below(left.len() as u32) as usize);
                    assigns.push((var, scope(false).value(random, ty)));
                }
            }
            let boolean = random.chance(50);
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
            no: NodeId(procedure.entry.0 + random.below(size)),
        },
        58..62 => Op::Assume {
            condition: scope(false).expr(random, true),
            next: jump(random),
        },
        62..67 => Op::Assert {
            condition: scope(false).expr(random, true),
            next: jump(random),
        },
        67..96 => {
            let lowest = if recursive { 0 } else { id.0 + 1 };
            let callee = ProcId(lowest + random.below(procedures - lowest));
            let called = program.procedure(callee);
            let params = &called.locals[..called.params as usize];
            let args = params
                .iter()
                .map(|param| scope(false).value(random, param.ty))
                .collect();
            let mut left = all.clone();
            let mut targets = Vec::new();
            if random.chance(80) {
                for result in &called.results {
                    let fits = |(_, ty): &(VarRef, Type)| ty.is_bool() == result.is_bool();
                    let found = left.iter().position(fits).filter(|_| random.chance(80));
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
    Node {
        procedure: id,
        span: Span::default(),
        labels: Vec::new(),
        ensure: (may_ensure && random.chance(5)).then(|| Arc::new(scope(false).expr(random, true))),
        op,
    }
}

/// A random proposition.
pub(crate) fn proposition(random: &mut Random, program: &Program) -> Proposition {
    let mut expr = |vars: &[(VarRef, Type)]| {
        let scope = Scope {
            vars,
            next: false,
            nondet: false,
            failing: false,
        };
        if random.chance(40) {
            Expr::constant(0)
        } else {
            scope.expr(random, true)
        }
    };
    let globals: Vec<_> = (0..program.globals.len() as u32)
        .map(|i| (VarRef::Global(i), program.globals[i as usize].ty))
        .collect();
    Proposition {
        by_procedure: program
            .procedures
            .iter()
            .map(|procedure| expr(&vars(program, procedure)))
            .collect(),
        terminated: expr(&globals),
    }
}

/// A program that assigns a constant to a variable, or not, and then decides one condition, in which
/// much can fail.
pub(crate) fn decision(random: &mut Random) -> Program {
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
    let (var, ty) = random.pick(&all);
    let given = ty.lo() + Value::from(random.below((ty.hi() - ty.lo() + 1) as u32));
    let ops = [
        if random.chance(50) {
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
        op,
    }));
    program
}
