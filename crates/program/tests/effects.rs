//! What procedures touch, against the definition: what the procedures that can be called from them
//! mention.

use droste_program::effects::Effects;
use droste_program::{ExprNode, Node, Op, ProcId, Program, VarRef};
use droste_testkit::generate::lowered;
use droste_testkit::random::{Random, seeds};

/// The procedures that can be called from this one, itself included.
fn called(program: &Program, from: ProcId) -> Vec<ProcId> {
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&procedure) = reached.get(next) {
        for node in program.nodes.iter().filter(|n| n.procedure == procedure) {
            if let Op::Call { callee, .. } = node.op
                && !reached.contains(&callee)
            {
                reached.push(callee);
            }
        }
        next += 1;
    }
    reached
}

/// Compares the sets with what `has` says of nodes, and `watched` of procedures.
fn check(
    program: &Program,
    effects: &Effects,
    has: impl Fn(&Node, VarRef) -> bool,
    watched: impl Fn(ProcId, VarRef) -> bool,
) {
    for procedure in (0..program.procedures.len() as u32).map(ProcId) {
        let reached = called(program, procedure);
        for global in 0..program.globals.len() as u32 {
            let var = VarRef::Global(global);
            let mut nodes = program.nodes.iter();
            let expected = nodes.any(|node| reached.contains(&node.procedure) && has(node, var))
                || reached.iter().any(|&procedure| watched(procedure, var));
            assert_eq!(effects.touches(procedure, global), expected);
            let word = effects.globals(procedure)[global as usize / 64];
            assert_eq!(word >> (global % 64) & 1 == 1, expected);
        }
    }
}

fn mentions(node: &Node, var: VarRef) -> bool {
    let mut mentioned = false;
    node.for_each_mentioned(|other| mentioned |= other == var);
    mentioned
}

fn writes(node: &Node, var: VarRef) -> bool {
    let mut written = false;
    node.op.for_each_written(|other| written |= other == var);
    written
}

#[test]
fn effects_are_what_reachable_procedures_mention() {
    for seed in seeds(0, 300) {
        let mut random = Random::new(seed);
        let program = lowered::program(&mut random);
        check(&program, &Effects::new(&program), mentions, |_, _| false);
        check(&program, &Effects::written(&program), writes, |_, _| false);
        let proposition = lowered::proposition(&mut random, &program);
        let watched = |procedure: ProcId, var| {
            let expr = &proposition.by_procedure[procedure.0 as usize];
            expr.nodes.contains(&ExprNode::Var(var))
        };
        let effects = Effects::watched(&program, &[&proposition]);
        check(&program, &effects, mentions, watched);
        // Whoever watches everywhere touches everywhere.
        let mut effects = Effects::new(&program).with(&[0]);
        effects.watch(&proposition);
        let exprs = proposition.by_procedure.iter();
        let exprs: Vec<_> = exprs.chain([&proposition.terminated]).collect();
        let anywhere = |_, var| {
            let in_one = |expr: &&droste_program::Expr| expr.nodes.contains(&ExprNode::Var(var));
            var == VarRef::Global(0) || exprs.iter().any(in_one)
        };
        check(&program, &effects, mentions, anywhere);
    }
}
