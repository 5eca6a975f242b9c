//! Random monitors for a given program.

use droste_lang::ast::{Ast, BinaryOp, ExprKind, Name, Type};
use droste_lang::monitor::{MonitorSyntax, Otherwise, StateKind, StateSyntax};

use crate::random::Random;
use crate::tree::{Exp, StmKind, TopLevel, Tree};

/// A monitor with a few states that watches labels, procedures and variables of `program`.
/// With `repeating`, it looks for something that happens infinitely often, else for a target.
pub fn monitor(seed: u64, program: &Ast, repeating: bool) -> MonitorSyntax {
    let mut random = Random::new(seed);
    let atoms = atoms(program);
    let mut ast = Ast::default();
    let count = random.between(2, 4);
    let name = |i: usize| Name::new(&format!("q{i}"));
    let special = if repeating {
        StateKind::Repeating
    } else {
        StateKind::Target
    };
    let mut states = Vec::new();
    for i in 0..count {
        let mut edges = Vec::new();
        for _ in 0..random.weighted(&[1, 4, 3]) {
            let guard = guard(&mut random, &atoms, 2).write(&mut ast);
            edges.push((guard, name(random.below(count))));
        }
        states.push(StateSyntax {
            name: name(i),
            initial: i == 0,
            kind: if i + 1 == count {
                special
            } else {
                StateKind::Plain
            },
            edges,
            otherwise: match random.below(6) {
                0 => Otherwise::Block,
                1 => Otherwise::Goto(name(random.below(count - 1))),
                _ => Otherwise::Stay,
            },
        });
    }
    MonitorSyntax {
        ast,
        name: Name::new("random"),
        states,
    }
}

/// What guards are made of: Booleans, and comparisons of integer variables.
fn atoms(program: &Ast) -> Vec<Exp> {
    let tree = Tree::from_ast(program);
    let mut atoms = vec![
        Exp::Leaf(ExprKind::Terminated),
        Exp::bool(true),
        Exp::bool(false),
    ];
    let mut variable = |leaf: ExprKind, ty: Type| {
        let leaf = Exp::Leaf(leaf);
        atoms.push(match ty {
            Type::Bool => leaf,
            _ => Exp::binary(BinaryOp::Le, leaf, Exp::int(ty.hi().max(1) - 1)),
        });
    };
    for item in &tree.items {
        if let TopLevel::Decl(names, ty) = item {
            for name in names {
                variable(ExprKind::Var(Name::new(name)), *ty);
            }
        }
    }
    let mut places = Vec::new();
    for proc in tree.procs() {
        let own = |name: &str| ExprKind::Qualified(Name::new(&proc.name), Name::new(name));
        for (name, ty) in &proc.params {
            variable(own(name), *ty);
        }
        places.push(ExprKind::In(Name::new(&proc.name)));
        for stm in &proc.body {
            stm.for_each(&mut |stm| {
                if let StmKind::Decl(names, ty) = &stm.kind {
                    for name in names {
                        variable(own(name), *ty);
                    }
                }
                for label in &stm.labels {
                    places.push(ExprKind::At(None, Name::new(label)));
                    let procedure = Some(Name::new(&proc.name));
                    places.push(ExprKind::At(procedure, Name::new(label)));
                }
            });
        }
    }
    atoms.extend(places.into_iter().map(Exp::Leaf));
    atoms
}

fn guard(random: &mut Random, atoms: &[Exp], depth: usize) -> Exp {
    if depth == 0 || random.percent(45) {
        return random.pick(atoms).clone();
    }
    if random.percent(30) {
        return guard(random, atoms, depth - 1).negated();
    }
    let op = *random.pick(&[
        BinaryOp::And,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Implies,
        BinaryOp::Ne,
    ]);
    let left = guard(random, atoms, depth - 1);
    Exp::binary(op, left, guard(random, atoms, depth - 1))
}
