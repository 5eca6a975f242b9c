//! Expressions over all types against the replayer: every operator on all small operands, random expressions
//! over wide ones.
//!
//! An expression is the right-hand side of the only statement of a program. Without choices it has one outcome,
//! and the replayer has to accept that one.

mod support;

use std::sync::Arc;

use droste_program::execution::{Action, Ending, Execution, Step, Valuation};
use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, Operator, ProcId, Procedure, Program, Threads, Type, Value,
    VarRef, Variable, Violation,
};
use droste_replay::valid;
use droste_source::Span;
use droste_testkit::random::{Random, seeds};
use support::{changes, steps};

const INTEGER_OPERATORS: [Operator; 16] = {
    use Operator::{
        Add, BitAnd, BitOr, BitXor, Div, Eq, Ge, Gt, Le, Lt, Mul, Ne, Rem, Shl, Shr, Sub,
    };
    [
        Add, Sub, Mul, Div, Rem, Shl, Shr, BitAnd, BitOr, BitXor, Eq, Ne, Lt, Le, Gt, Ge,
    ]
};

fn bits(signed: bool, width: u8) -> Type {
    Type::Bits { signed, width }
}

/// `target := expr`, with these variables as globals and the target as the first of them.
fn assignment(types: &[Type], expr: Expr) -> Program {
    let globals = types.iter().enumerate().map(|(i, &ty)| Variable {
        name: format!("v{i}").into(),
        ty,
        span: Span::default(),
        thread: None,
    });
    let node = |op| Node {
        procedure: ProcId(0),
        span: Span::default(),
        labels: Vec::new(),
        op,
        silent: false,
        ensure: None,
    };
    Program {
        globals: globals.collect(),
        procedures: vec![Procedure {
            name: "main".into(),
            span: Span::default(),
            params: 0,
            locals: Vec::new(),
            results: Vec::new(),
            entry: NodeId(0),
            thread: None,
        }],
        nodes: vec![
            node(Op::Assign {
                assigns: vec![(VarRef::Global(0), expr)],
                discards: Vec::new(),
                constrain: None,
                next: NodeId(1),
            }),
            node(Op::Return(Vec::new())),
        ],
        main: ProcId(0),
        threads: Threads::Dynamic,
    }
}

/// The one outcome of the assignment, accepted by the replayer.
fn check(program: &Program, values: &[Value]) -> Result<Value, Violation> {
    let now = Valuation {
        globals: values.to_vec(),
        locals: Vec::new(),
    };
    let (reached, failures) = steps(program, NodeId(0), &now);
    let case = || format!("{:?} in {values:?}", program.nodes[0].op);
    assert_eq!(reached.len() + failures.len(), 1, "{}", case());
    let (action, ending, outcome) = match (reached.first(), failures.first()) {
        (Some((to, globals, locals)), _) => {
            let next = Valuation {
                globals: globals.clone(),
                locals: locals.clone(),
            };
            let action = Action::Internal {
                to: *to,
                changes: changes(program, ProcId(0), &now, &next).into(),
            };
            (action, Ending::At(*to), Ok(globals[0]))
        }
        (_, Some(&violation)) => (Action::Fail(violation), Ending::Final, Err(violation)),
        _ => panic!("no outcome: {}", case()),
    };
    let execution = Execution {
        start: now,
        runs: Arc::default(),
        steps: vec![Step {
            node: NodeId(0),
            action,
        }],
        ending,
    };
    assert_eq!(valid(program, &execution), Ok(()), "{}", case());
    outcome
}

fn var(i: u32) -> ExprNode {
    ExprNode::Var(VarRef::Global(i))
}

#[test]
fn every_operator_on_all_small_operands() {
    let types = [
        bits(false, 1),
        bits(false, 3),
        bits(true, 1),
        bits(true, 2),
        bits(true, 4),
        Type::Range { lo: -3, hi: 2 },
        Type::Range { lo: 2, hi: 6 },
        Type::Range { lo: -1, hi: -1 },
        Type::Range { lo: -9, hi: -5 },
        Type::Range { lo: 5, hi: 5 },
    ];
    let wide = bits(true, 64);
    let mut outcomes = 0;
    for operator in INTEGER_OPERATORS {
        for left in types {
            for right in types {
                let expr = Expr {
                    nodes: vec![var(1), var(2), ExprNode::Binary(operator, 0, 1)],
                };
                let comparison = matches!(
                    operator,
                    Operator::Eq
                        | Operator::Ne
                        | Operator::Lt
                        | Operator::Le
                        | Operator::Gt
                        | Operator::Ge
                );
                let target = if comparison { Type::Bool } else { wide };
                let program = assignment(&[target, left, right], expr);
                for x in left.lo()..=left.hi() {
                    for y in right.lo()..=right.hi() {
                        let _ = check(&program, &[0, x, y]);
                        outcomes += 1;
                    }
                }
            }
        }
    }
    println!("{outcomes} outcomes");
}

#[test]
fn storing_converts_every_value() {
    let all = Type::Range { lo: -20, hi: 20 };
    let targets = [
        bits(false, 1),
        bits(false, 2),
        bits(true, 1),
        bits(true, 3),
        bits(false, 64),
        bits(true, 64),
        Type::Range { lo: 0, hi: 4 },
        Type::Range { lo: -7, hi: -7 },
        Type::Range { lo: -7, hi: 9 },
        Type::Range { lo: 18, hi: 30 },
        Type::Range { lo: 40, hi: 50 },
    ];
    for target in targets {
        let program = assignment(
            &[target, all],
            Expr {
                nodes: vec![var(1)],
            },
        );
        for value in all.lo()..=all.hi() {
            let outcome = check(&program, &[target.lo(), value]);
            if let Type::Range { lo, hi } = target {
                let inside = (lo..=hi).contains(&value);
                let expected = if inside {
                    Ok(value)
                } else {
                    Err(Violation::OutOfRange)
                };
                assert_eq!(outcome, expected);
            }
        }
    }
}

struct Generator<'a> {
    random: Random,
    types: &'a [Type],
}

impl Generator<'_> {
    fn leaf(&mut self, boolean: bool, out: &mut Vec<ExprNode>) {
        let fitting: Vec<u32> = (1..self.types.len() as u32)
            .filter(|&i| self.types[i as usize].is_bool() == boolean)
            .collect();
        let node = match self.random.below(4) {
            0 if boolean => ExprNode::Const(self.random.below(2) as Value),
            0 => ExprNode::Const(self.constant()),
            _ => var(*self.random.pick(&fitting)),
        };
        out.push(node);
    }

    fn constant(&mut self) -> Value {
        let magnitude = match self.random.below(4) {
            0..=2 => self.random.below(70) as Value,
            _ => (self.random.bits() >> self.random.below(64)) as Value,
        };
        if self.random.percent(30) {
            -magnitude
        } else {
            magnitude
        }
    }

    fn expression(&mut self, depth: usize, boolean: bool, out: &mut Vec<ExprNode>) -> u32 {
        if depth == 0 || self.random.percent(15) {
            self.leaf(boolean, out);
            return out.len() as u32 - 1;
        }
        let d = depth - 1;
        let node = if boolean {
            use Operator::{And, Eq, Ge, Gt, Implies, Le, Lt, Ne, Or, Xor};
            match self.random.below(8) {
                0 => ExprNode::Not(self.expression(d, true, out)),
                1..=4 => {
                    let op = *self.random.pick(&[And, Or, Implies, Xor, Eq, Ne]);
                    let a = self.expression(d, true, out);
                    ExprNode::Binary(op, a, self.expression(d, true, out))
                }
                _ => {
                    let op = *self.random.pick(&[Eq, Ne, Lt, Le, Gt, Ge]);
                    let a = self.expression(d, false, out);
                    ExprNode::Binary(op, a, self.expression(d, false, out))
                }
            }
        } else {
            match self.random.below(10) {
                0 => ExprNode::Neg(self.expression(d, false, out)),
                1 => ExprNode::BitNot(self.expression(d, false, out)),
                _ => {
                    let op = INTEGER_OPERATORS[self.random.below(10)];
                    let a = self.expression(d, false, out);
                    ExprNode::Binary(op, a, self.expression(d, false, out))
                }
            }
        };
        out.push(node);
        out.len() as u32 - 1
    }
}

/// A value of the type; often one near a bound or 0.
fn some_value(random: &mut Random, ty: Type) -> Value {
    let (lo, hi) = (ty.lo(), ty.hi());
    let near = random.below(4) as Value;
    let value = match random.below(5) {
        0 => lo + near,
        1 => hi - near,
        2 => near - 2,
        _ => lo + (u128::from(random.bits()) % (hi.abs_diff(lo) + 1)) as Value,
    };
    value.clamp(lo, hi)
}

#[test]
fn random_expressions_over_wide_types() {
    let range = |lo, hi| Type::Range { lo, hi };
    let pool = [
        bits(false, 64),
        bits(true, 64),
        bits(false, 33),
        bits(true, 17),
        bits(false, 8),
        bits(true, 5),
        range(-(1 << 63), (1 << 63) - 1),
        range((1 << 63) + 5, (1 << 64) - 1),
        range(-100, 1000),
        range(3, 12),
        range(-40, 70),
    ];
    let (mut fine, mut failed) = (0, 0);
    for seed in seeds(0, 6000) {
        let mut random = Random::new(seed);
        let boolean = random.percent(40);
        let target = if boolean {
            Type::Bool
        } else {
            *random.pick(&pool)
        };
        let mut types = vec![target, Type::Bool, Type::Bool];
        for _ in 0..4 {
            types.push(*random.pick(&pool));
        }
        let mut generator = Generator {
            random,
            types: &types,
        };
        let mut nodes = Vec::new();
        let depth = 1 + seed as usize % 4;
        generator.expression(depth, boolean, &mut nodes);
        let mut random = generator.random;
        let program = assignment(&types, Expr { nodes });
        for _ in 0..10 {
            let values: Vec<Value> = types
                .iter()
                .map(|&ty| some_value(&mut random, ty))
                .collect();
            match check(&program, &values) {
                Ok(_) => fine += 1,
                Err(_) => failed += 1,
            }
        }
    }
    println!("{fine} values, {failed} failures");
}

#[test]
fn depth_does_not_matter() {
    // v1 - (v1 - (v1 - …)): the operands first, then the operators.
    let levels = 100_000;
    let mut nodes = vec![var(1); levels + 1];
    for i in 0..levels as u32 {
        let last = nodes.len() as u32 - 1;
        let left = levels as u32 - 1 - i;
        nodes.push(ExprNode::Binary(Operator::Sub, left, last));
    }
    let program = assignment(&[bits(true, 64), bits(false, 4)], Expr { nodes });
    assert_eq!(check(&program, &[0, 7]), Ok(7));
    // !(!(…)) and a right operand that fails but is not needed.
    let mut nodes = vec![
        var(1),
        var(2),
        var(2),
        ExprNode::Binary(Operator::Div, 1, 2),
    ];
    nodes.push(ExprNode::Const(1));
    nodes.push(ExprNode::Binary(Operator::Eq, 3, 4));
    nodes.push(ExprNode::Binary(Operator::And, 0, 5));
    for _ in 0..levels {
        let last = nodes.len() as u32 - 1;
        nodes.push(ExprNode::Not(last));
    }
    let program = assignment(&[Type::Bool, Type::Bool, bits(false, 3)], Expr { nodes });
    assert_eq!(check(&program, &[0, 0, 0]), Ok(0));
    assert_eq!(check(&program, &[0, 1, 0]), Err(Violation::DivisionByZero));
    assert_eq!(check(&program, &[0, 1, 5]), Ok(1));
}
