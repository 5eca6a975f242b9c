//! Random programs, monitors and mutants of executions.
#![allow(
    dead_code,
    reason = "the tests of `blast` include this file too and use a part of it"
)]
#![allow(missing_docs, unreachable_pub, reason = "a part of the tests")]

pub mod naive;

use std::sync::Arc;

use droste_program::execution::{Action, Changes, Ending, Execution, Step, Valuation};
use droste_program::monitor::{Monitor, MonitorState, StateKind};
use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, Operator, ProcId, Procedure, Program, Proposition, Threads,
    Type, Value, VarRef, Variable, Violation,
};
use droste_source::Span;

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

pub const U2: Type = Type::Bits {
    signed: false,
    width: 2,
};
pub const S2: Type = Type::Bits {
    signed: true,
    width: 2,
};
pub const R3: Type = Type::Range { lo: 0, hi: 2 };

pub fn variable(name: &str, ty: Type) -> Variable {
    Variable {
        name: name.into(),
        ty,
        span: Span::default(),
        thread: None,
    }
}

/// What expressions may mention.
struct Scope {
    bools: Vec<VarRef>,
    ints: Vec<VarRef>,
    next: bool,
    nondet: bool,
}

fn binary(op: Operator, a: Expr, b: Expr) -> Expr {
    let mut nodes = a.nodes;
    let left = nodes.len() as u32 - 1;
    let shift = nodes.len() as u32;
    for mut node in b.nodes {
        match &mut node {
            ExprNode::Not(a) | ExprNode::BitNot(a) | ExprNode::Neg(a) => *a += shift,
            ExprNode::Binary(_, a, b) | ExprNode::Schoose(a, b) => {
                *a += shift;
                *b += shift;
            }
            _ => {}
        }
        nodes.push(node);
    }
    let right = nodes.len() as u32 - 1;
    nodes.push(ExprNode::Binary(op, left, right));
    Expr { nodes }
}

fn unary(f: fn(u32) -> ExprNode, a: Expr) -> Expr {
    let mut nodes = a.nodes;
    nodes.push(f(nodes.len() as u32 - 1));
    Expr { nodes }
}

impl Scope {
    fn var(&self, random: &mut Random, vars: &[VarRef]) -> Expr {
        let var = vars[random.below(vars.len())];
        let node = if self.next && random.below(2) == 0 {
            ExprNode::Next(var)
        } else {
            ExprNode::Var(var)
        };
        Expr { nodes: vec![node] }
    }

    fn boolean(&self, random: &mut Random, depth: u32) -> Expr {
        if depth == 0 || random.below(4) == 0 {
            return match random.below(6) {
                0 => Expr::constant(random.below(2) as Value),
                1 | 2 if self.nondet => Expr {
                    nodes: vec![ExprNode::Nondet(Type::Bool)],
                },
                _ => self.var(random, &self.bools),
            };
        }
        let d = depth - 1;
        match random.below(9) {
            0 => unary(ExprNode::Not, self.boolean(random, d)),
            1 if self.nondet => {
                let mut e = binary(
                    Operator::And,
                    self.boolean(random, d),
                    self.boolean(random, d),
                );
                if let Some(ExprNode::Binary(_, a, b)) = e.nodes.pop() {
                    e.nodes.push(ExprNode::Schoose(a, b));
                }
                e
            }
            2..=5 => {
                use Operator::{And, Eq, Implies, Ne, Or, Xor};
                let op = [And, Or, Implies, Xor, Eq, Ne][random.below(6)];
                binary(op, self.boolean(random, d), self.boolean(random, d))
            }
            _ => {
                use Operator::{Eq, Ge, Gt, Le, Lt, Ne};
                let op = [Eq, Ne, Lt, Le, Gt, Ge][random.below(6)];
                binary(op, self.integer(random, d), self.integer(random, d))
            }
        }
    }

    fn integer(&self, random: &mut Random, depth: u32) -> Expr {
        if depth == 0 || random.below(3) == 0 {
            return match random.below(4) {
                0 => Expr::constant(random.below(6) as Value - 2),
                _ => self.var(random, &self.ints),
            };
        }
        let d = depth - 1;
        match random.below(8) {
            0 => unary(ExprNode::Neg, self.integer(random, d)),
            1 => unary(ExprNode::BitNot, self.integer(random, d)),
            _ => {
                use Operator::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr, Sub};
                let op =
                    [Add, Sub, Mul, Div, Rem, Shl, Shr, BitAnd, BitOr, BitXor][random.below(10)];
                binary(op, self.integer(random, d), self.integer(random, d))
            }
        }
    }

    fn of_type(&self, random: &mut Random, ty: Type) -> Expr {
        if self.nondet && random.below(4) == 0 {
            return Expr {
                nodes: vec![ExprNode::Nondet(ty)],
            };
        }
        if ty.is_bool() {
            self.boolean(random, 2)
        } else {
            self.integer(random, 2)
        }
    }
}

/// A random program with a few procedures, Booleans and small integers.
pub fn program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let random = &mut random;
    let globals = vec![
        variable("a", Type::Bool),
        variable("b", Type::Bool),
        variable("n", R3),
    ];
    let counts = [
        5 + random.below(4),
        3 + random.below(3),
        2 + random.below(3),
    ];
    let mut procedures = Vec::new();
    let mut first = 0;
    for (i, count) in counts.into_iter().enumerate() {
        procedures.push(Procedure {
            name: ["main", "p", "q"][i].into(),
            span: Span::default(),
            params: [0, 1, 2][i],
            locals: vec![variable("x", Type::Bool), variable("m", [U2, R3, S2][i])],
            results: [vec![], vec![Type::Bool], vec![R3, U2]][i].clone(),
            entry: NodeId(first),
            thread: None,
        });
        first += count as u32;
    }
    let mut program = Program {
        globals,
        procedures,
        nodes: Vec::new(),
        main: ProcId(0),
        threads: Threads::Dynamic,
    };
    for (i, count) in counts.into_iter().enumerate() {
        let begin = program.nodes.len();
        for j in 0..count {
            // The last node returns, so that calls come back often enough.
            let op = op(random, &program, i, begin, count, j + 1 == count);
            let plain = matches!(op, Op::Return(_) | Op::Stuck);
            let ensure = (!plain && random.below(8) == 0)
                .then(|| Arc::new(scope(false, true).boolean(random, 2)));
            program.nodes.push(Node {
                procedure: ProcId(i as u32),
                span: Span::default(),
                labels: Vec::new(),
                op,
                ensure,
            });
        }
    }
    program
}

fn scope(next: bool, nondet: bool) -> Scope {
    Scope {
        bools: vec![VarRef::Global(0), VarRef::Global(1), VarRef::Local(0)],
        ints: vec![VarRef::Global(2), VarRef::Local(1)],
        next,
        nondet,
    }
}

const ALL: [VarRef; 5] = [
    VarRef::Global(0),
    VarRef::Global(1),
    VarRef::Global(2),
    VarRef::Local(0),
    VarRef::Local(1),
];

fn distinct(random: &mut Random, count: usize) -> Vec<VarRef> {
    let mut all = ALL.to_vec();
    while all.len() > count {
        all.remove(random.below(all.len()));
    }
    all
}

fn op(
    random: &mut Random,
    program: &Program,
    procedure: usize,
    begin: usize,
    count: usize,
    last: bool,
) -> Op {
    let ty = |var: VarRef| program.variable(ProcId(procedure as u32), var).ty;
    let plain = scope(false, true);
    let both = scope(true, true);
    let target = |random: &mut Random| NodeId((begin + random.below(count)) as u32);
    let constrain = |random: &mut Random| (random.below(4) == 0).then(|| both.boolean(random, 2));
    if last {
        let results = &program.procedures[procedure].results;
        return Op::Return(
            results
                .iter()
                .map(|&ty| plain.of_type(random, ty))
                .collect(),
        );
    }
    match random.below(14) {
        0 => Op::Goto(vec![target(random), target(random)]),
        1..=4 => {
            let count = 1 + random.below(2);
            let assigns = distinct(random, count)
                .into_iter()
                .map(|var| (var, plain.of_type(random, ty(var))))
                .collect();
            Op::Assign {
                assigns,
                discards: (0..random.below(2))
                    .map(|_| plain.boolean(random, 1))
                    .collect(),
                constrain: constrain(random),
                next: target(random),
            }
        }
        5 => Op::Assign {
            assigns: ALL
                .iter()
                .map(|&var| {
                    let any = ExprNode::Nondet(ty(var));
                    (var, Expr { nodes: vec![any] })
                })
                .collect(),
            discards: Vec::new(),
            constrain: Some(both.boolean(random, 3)),
            next: target(random),
        },
        6 | 7 => Op::Branch {
            condition: plain.boolean(random, 2),
            yes: target(random),
            no: target(random),
        },
        8 => Op::Assume {
            condition: plain.boolean(random, 2),
            next: target(random),
        },
        9 => Op::Assert {
            condition: plain.boolean(random, 2),
            next: target(random),
        },
        10 => Op::AtomicBegin(target(random)),
        _ => {
            let callee = 1 + random.below(2);
            let procedure = &program.procedures[callee];
            let args = procedure.locals[..procedure.params as usize]
                .iter()
                .map(|v| plain.of_type(random, v.ty))
                .collect();
            let targets = if random.below(4) == 0 {
                Vec::new()
            } else if callee == 1 {
                vec![Some([VarRef::Global(0), VarRef::Local(0)][random.below(2)])]
            } else {
                vec![
                    [None, Some(VarRef::Local(1))][random.below(2)],
                    Some(VarRef::Global(2)),
                ]
            };
            Op::Call {
                callee: ProcId(callee as u32),
                args,
                targets,
                constrain: constrain(random),
                next: target(random),
            }
        }
    }
}

/// A random monitor with a few states; some are targets, some repeating.
pub fn monitor(random: &mut Random, program: &Program) -> Monitor {
    let count = 2 + random.below(3);
    let guard = |random: &mut Random| Proposition {
        by_procedure: (0..program.procedures.len())
            .map(|_| {
                let condition = scope(false, false).boolean(random, 1);
                if random.below(2) == 0 {
                    let mut nodes: Vec<_> = (0..program.nodes.len() as u32)
                        .filter(|_| random.below(4) == 0)
                        .map(NodeId)
                        .collect();
                    nodes.sort_unstable();
                    let at = Expr {
                        nodes: vec![ExprNode::At(nodes.into())],
                    };
                    return binary(Operator::And, at, condition);
                }
                condition
            })
            .collect(),
        terminated: Expr {
            nodes: vec![ExprNode::Var(VarRef::Global(random.below(2) as u32))],
        },
    };
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
                .map(|_| (guard(random), random.below(count) as u32))
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

/// Turns a walk into a lasso, if it comes by the same place twice.
pub fn lasso(execution: &Execution, random: &mut Random) -> Option<Execution> {
    let mut valuation = execution.start.clone();
    let mut height = 0;
    let mut seen: Vec<(NodeId, Valuation, usize)> = Vec::new();
    let mut found = Vec::new();
    for (i, step) in execution.steps.iter().enumerate() {
        for (start, (node, other, below)) in seen.iter().enumerate() {
            if *node == step.node && *other == valuation {
                found.push((start, i, height > *below));
            }
        }
        seen.push((step.node, valuation.clone(), height));
        match &step.action {
            Action::Internal { changes, .. } | Action::Folded { changes, .. } => {
                for &(var, value) in changes {
                    valuation.set(var, value);
                }
            }
            Action::Call { locals } => {
                height += 1;
                valuation.locals = locals.to_vec();
            }
            _ => {}
        }
    }
    let &(start, end, pumping) = found.get(random.below(found.len()))?;
    let mut lasso = execution.clone();
    lasso.steps.truncate(end);
    lasso.ending = Ending::Lasso { start, pumping };
    Some(lasso)
}

fn nudge(value: &mut Value, random: &mut Random) {
    *value = match random.below(3) {
        0 => 1 - *value,
        1 => *value + 1,
        _ => *value - 1,
    };
}

fn edit(changes: &mut Changes, f: impl FnOnce(&mut Vec<(VarRef, Value)>)) {
    let mut all = changes.to_vec();
    f(&mut all);
    *changes = all.into();
}

fn mutate_steps(steps: &mut Vec<Step>, random: &mut Random) {
    let index = random.below(steps.len());
    match random.below(12) {
        0 if !steps.is_empty() => drop(steps.remove(index)),
        1 if !steps.is_empty() => steps.insert(index, steps[index].clone()),
        _ => {}
    }
    let Some(step) = steps.get_mut(index) else {
        return;
    };
    let delta = random.below(3) as u32;
    match (&mut step.action, random.below(6)) {
        (_, 0) => step.node.0 = step.node.0.wrapping_add(delta).wrapping_sub(1),
        (Action::Internal { to, .. } | Action::Folded { to, .. }, 1) => {
            to.0 = to.0.wrapping_add(delta).wrapping_sub(1);
        }
        (Action::Folded { run, .. }, 2) => run.0 = run.0.wrapping_add(delta).wrapping_sub(1),
        (Action::Internal { changes, .. } | Action::Folded { changes, .. }, 3) => {
            let value = random.below(3) as Value;
            let var = match random.below(8) {
                0 => VarRef::Local(random.below(4) as u32),
                k => ALL[k % 5],
            };
            edit(changes, |changes| changes.push((var, value)));
        }
        (Action::Internal { changes, .. } | Action::Folded { changes, .. }, 4) => {
            edit(changes, |changes| {
                changes.pop();
            });
        }
        (Action::Internal { changes, .. } | Action::Folded { changes, .. }, _) => {
            let index = random.below(changes.len());
            edit(changes, |changes| {
                if let Some((_, value)) = changes.get_mut(index) {
                    nudge(value, random);
                }
            });
        }
        (Action::Call { locals }, 1) => *locals = [&locals[..], &[0]].concat().into(),
        (Action::Call { locals }, _) => {
            let index = random.below(locals.len());
            nudge(&mut locals[index], random);
        }
        (action @ Action::Terminate, _) => *action = Action::Fail(Violation::OutOfRange),
        (action @ Action::Fail(_), 1) => *action = Action::Terminate,
        (Action::Fail(violation), _) => {
            *violation = [
                Violation::Assertion,
                Violation::OutOfRange,
                Violation::DivisionByZero,
                Violation::NegativeShift,
            ][random.below(4)];
        }
    }
}

/// The execution with one thing changed.
pub fn mutant(execution: &Execution, random: &mut Random) -> Execution {
    let mut mutant = execution.clone();
    let run = random.below(mutant.runs.len());
    match random.below(10) {
        0 => {
            let values = [&mut mutant.start.globals, &mut mutant.start.locals];
            let [globals, locals] = values;
            let values = if random.below(2) == 0 {
                globals
            } else {
                locals
            };
            let index = random.below(values.len());
            nudge(&mut values[index], random);
        }
        1 => {
            mutant.ending = match mutant.ending {
                Ending::At(NodeId(n)) => Ending::At(NodeId(n ^ 1)),
                Ending::Stuck(node) => Ending::At(node),
                Ending::Final => Ending::Terminated,
                Ending::Terminated => Ending::Final,
                Ending::Lasso { start, pumping } if random.below(3) == 0 => Ending::Lasso {
                    start,
                    pumping: !pumping,
                },
                Ending::Lasso { start, pumping } => Ending::Lasso {
                    start: start.wrapping_add(random.below(3)).wrapping_sub(1),
                    pumping,
                },
            }
        }
        2..=5 if !mutant.runs.is_empty() => {
            let run = &mut Arc::make_mut(&mut mutant.runs)[run];
            match random.below(6) {
                0 => {
                    let index = random.below(run.results.len());
                    if let Some(result) = run.results.get_mut(index) {
                        nudge(result, random);
                    }
                }
                1 => {
                    run.exit.0 = run
                        .exit
                        .0
                        .wrapping_add(random.below(3) as u32)
                        .wrapping_sub(1);
                }
                2 => {
                    let index = random.below(run.entry.globals.len());
                    nudge(&mut run.entry.globals[index], random);
                }
                3 => {
                    let index = random.below(run.entry.locals.len());
                    nudge(&mut run.entry.locals[index], random);
                }
                _ => {
                    let mut steps = run.steps.to_vec();
                    mutate_steps(&mut steps, random);
                    run.steps = steps.into();
                }
            }
        }
        6 if mutant.runs.len() > 1 => {
            let other = random.below(mutant.runs.len());
            Arc::make_mut(&mut mutant.runs).swap(run, other);
        }
        _ => mutate_steps(&mut mutant.steps, random),
    }
    share(&mut mutant);
    mutant
}

/// Has runs with equal steps share them.
pub fn share(execution: &mut Execution) {
    let runs = Arc::make_mut(&mut execution.runs);
    for i in 1..runs.len() {
        let (before, rest) = runs.split_at_mut(i);
        if let Some(same) = before.iter().find(|run| run.steps == rest[0].steps) {
            rest[0].steps = Arc::clone(&same.steps);
        }
    }
}
