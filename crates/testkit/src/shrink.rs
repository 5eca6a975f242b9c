//! Makes a failing program small.
//!
//! Greedy: every possible edit is tried in turn, larger ones first; an edit after
//! which the program still fails is kept. When none can be kept, the program is a local minimum.
//!
//! An edit may make a program ill-typed (the type of a variable becomes simpler, an operand takes
//! the place of its operator). So the predicate has to say `false` for programs that
//! the front end refuses.

use droste_lang::ast::{Ast, ExprKind, Type};

use crate::tree::{Exp, Proc, Stm, StmKind, TopLevel, Tree};

/// A smallest variant of `ast` for which `fails` is still true (as it must be for `ast`).
pub fn shrink(ast: &Ast, fails: &mut dyn FnMut(&Ast) -> bool) -> Ast {
    let mut best = Tree::from_ast(ast);
    loop {
        let mut progress = false;
        for pass in PASSES {
            let mut number = 0;
            loop {
                let mut candidate = best.clone();
                let mut edit = Edit { left: number };
                if !pass(&mut candidate, &mut edit) {
                    break;
                }
                // Whatever an edit does, it must not go on for ever.
                let grows = size(&candidate) > size(&best);
                if candidate != best && !grows && fails(&candidate.to_ast()) {
                    // The same number is now the next edit.
                    best = candidate;
                    progress = true;
                } else {
                    number += 1;
                }
            }
        }
        if !progress {
            return best.to_ast();
        }
    }
}

fn size(tree: &Tree) -> usize {
    let ast = tree.to_ast();
    ast.stmts.len() + ast.exprs.len()
}

/// Counts possible edits down to the one that is made.
struct Edit {
    left: usize,
}

impl Edit {
    /// Whether this is the one.
    fn here(&mut self) -> bool {
        if self.left == 0 {
            return true;
        }
        self.left -= 1;
        false
    }
}

/// Makes edit number `edit.left` of one kind; `false` if there are not so many.
type Pass = fn(&mut Tree, &mut Edit) -> bool;

const PASSES: [Pass; 7] = [
    drop_items,
    drop_statements,
    inline,
    unwrap_statements,
    simplify_statements,
    simplify_expressions,
    drop_names,
];

/// Without a procedure and the calls of it, or without a declaration.
fn drop_items(tree: &mut Tree, edit: &mut Edit) -> bool {
    for i in 0..tree.items.len() {
        if edit.here() {
            if let TopLevel::Proc(Proc { name, .. }) = tree.items.remove(i) {
                for_each_statement(tree, &mut |stm| {
                    if matches!(&stm.kind, StmKind::Call(_, callee, ..) if *callee == name) {
                        stm.kind = StmKind::Skip;
                    }
                });
            }
            return true;
        }
    }
    false
}

/// Without a statement, or with `skip` in its place to keep the labels.
fn drop_statements(tree: &mut Tree, edit: &mut Edit) -> bool {
    any_block(tree, &mut |block| {
        for i in 0..block.len() {
            if edit.here() {
                block.remove(i);
                return true;
            }
            if block[i].kind != StmKind::Skip && edit.here() {
                block[i].kind = StmKind::Skip;
                return true;
            }
        }
        false
    })
}

/// The body of a procedure in the place of all calls of it.
fn inline(tree: &mut Tree, edit: &mut Edit) -> bool {
    for i in 0..tree.items.len() {
        let TopLevel::Proc(proc) = &tree.items[i] else {
            continue;
        };
        let plain = proc.name != "main" && proc.params.is_empty() && proc.results.is_empty();
        if plain && edit.here() {
            let Proc { name, mut body, .. } = proc.clone();
            tree.items.remove(i);
            // Its calls of itself cannot be inlined.
            for stm in &mut body {
                stm.for_each_mut(&mut |stm| {
                    if matches!(&stm.kind, StmKind::Call(_, callee, ..) if *callee == name) {
                        stm.kind = StmKind::Skip;
                    }
                });
            }
            any_block(tree, &mut |block| {
                *block = std::mem::take(block)
                    .into_iter()
                    .flat_map(|stm| match &stm.kind {
                        // With its labels in it twice, the program will be refused.
                        StmKind::Call(_, callee, ..) if *callee == name => body.clone(),
                        _ => vec![stm],
                    })
                    .collect();
                false
            });
            return true;
        }
    }
    false
}

/// A block in the place of the statement around it; without an arm.
fn unwrap_statements(tree: &mut Tree, edit: &mut Edit) -> bool {
    any_block(tree, &mut |block| {
        for i in 0..block.len() {
            let bodies: Vec<Vec<Stm>> = match &block[i].kind {
                StmKind::If(arms, otherwise) => {
                    let arms = arms.iter().map(|(_, body)| body.clone());
                    arms.chain(otherwise.clone()).collect()
                }
                StmKind::While(_, body) => vec![body.clone()],
                _ => Vec::new(),
            };
            for body in bodies {
                if edit.here() {
                    let mut head = Stm::new(StmKind::Skip);
                    head.labels = std::mem::take(&mut block[i].labels);
                    let keep = (!head.labels.is_empty()).then_some(head);
                    block.splice(i..=i, keep.into_iter().chain(body));
                    return true;
                }
            }
            if let StmKind::If(arms, otherwise) = &mut block[i].kind {
                for arm in 0..arms.len() {
                    if arms.len() > 1 && edit.here() {
                        arms.remove(arm);
                        return true;
                    }
                }
                if otherwise.is_some() && edit.here() {
                    *otherwise = None;
                    return true;
                }
            }
        }
        false
    })
}

/// Fewer targets, labels, conditions; simpler kinds of statements.
fn simplify_statements(tree: &mut Tree, edit: &mut Edit) -> bool {
    any_statement(tree, &mut |stm| {
        for i in 0..stm.labels.len() {
            if edit.here() {
                stm.labels.remove(i);
                return true;
            }
        }
        match &mut stm.kind {
            StmKind::Assign(targets, values, constrain) => {
                for i in 0..targets.len().min(values.len()) {
                    if targets.len() > 1 && edit.here() {
                        targets.remove(i);
                        values.remove(i);
                        return true;
                    }
                }
                constrain.is_some() && edit.here() && constrain.take().is_some()
            }
            StmKind::Call(targets, _, _, constrain) => {
                if constrain.is_some() && edit.here() {
                    return constrain.take().is_some();
                }
                if !targets.is_empty() && edit.here() {
                    targets.clear();
                    return true;
                }
                false
            }
            StmKind::Goto(names) | StmKind::Dead(names) | StmKind::Decl(names, _) => {
                for i in 0..names.len() {
                    if names.len() > 1 && edit.here() {
                        names.remove(i);
                        return true;
                    }
                }
                false
            }
            StmKind::While(condition, body) if edit.here() => {
                let arm = (condition.clone(), std::mem::take(body));
                stm.kind = StmKind::If(vec![arm], None);
                true
            }
            _ => false,
        }
    })
}

/// An operand in the place of its operator; a constant in the place of anything.
fn simplify_expressions(tree: &mut Tree, edit: &mut Edit) -> bool {
    any_statement(tree, &mut |stm| {
        let exps: Vec<&mut Exp> = match &mut stm.kind {
            StmKind::Assign(_, values, constrain) | StmKind::Call(_, _, values, constrain) => {
                values.iter_mut().chain(constrain).collect()
            }
            StmKind::Assert(e)
            | StmKind::Assume(e)
            | StmKind::Constrain(e)
            | StmKind::AbortIf(e)
            | StmKind::Enforce(e)
            | StmKind::While(e, _) => vec![e],
            StmKind::If(arms, _) => arms.iter_mut().map(|(e, _)| e).collect(),
            StmKind::Return(values) | StmKind::Print(values) => values.iter_mut().collect(),
            _ => Vec::new(),
        };
        exps.into_iter().any(|e| simplify(e, edit))
    })
}

fn simplify(e: &mut Exp, edit: &mut Edit) -> bool {
    let operands: Vec<Exp> = match e {
        Exp::Leaf(_) => Vec::new(),
        Exp::Unary(_, operand) => vec![(**operand).clone()],
        Exp::Binary(_, left, right) | Exp::Schoose(left, right) => {
            vec![(**left).clone(), (**right).clone()]
        }
    };
    for operand in operands {
        if edit.here() {
            *e = operand;
            return true;
        }
    }
    if !matches!(e, Exp::Leaf(ExprKind::Bool(_) | ExprKind::Int(0))) {
        for constant in [Exp::bool(true), Exp::bool(false), Exp::int(0)] {
            if edit.here() {
                *e = constant;
                return true;
            }
        }
    }
    match e {
        Exp::Leaf(_) => false,
        Exp::Unary(_, operand) => simplify(operand, edit),
        Exp::Binary(_, left, right) | Exp::Schoose(left, right) => {
            simplify(left, edit) || simplify(right, edit)
        }
    }
}

/// Without a global, parameter or result; with `bool` as the type of something.
fn drop_names(tree: &mut Tree, edit: &mut Edit) -> bool {
    for i in 0..tree.items.len() {
        match &mut tree.items[i] {
            TopLevel::Decl(names, ty) => {
                for n in 0..names.len() {
                    if names.len() > 1 && edit.here() {
                        names.remove(n);
                        return true;
                    }
                }
                if !ty.is_bool() && edit.here() {
                    *ty = Type::Bool;
                    return true;
                }
            }
            TopLevel::Proc(proc) => {
                if proc.dfs && edit.here() {
                    proc.dfs = false;
                    return true;
                }
                let name = proc.name.clone();
                for p in 0..proc.params.len() {
                    if edit.here() {
                        proc.params.remove(p);
                        for_each_statement(tree, &mut |stm| {
                            if let StmKind::Call(_, callee, args, _) = &mut stm.kind
                                && *callee == name
                                && p < args.len()
                            {
                                args.remove(p);
                            }
                        });
                        return true;
                    }
                }
                for r in 0..proc.results.len() {
                    if edit.here() {
                        drop_result(tree, i, r);
                        return true;
                    }
                }
                for ty in proc
                    .params
                    .iter_mut()
                    .map(|(_, ty)| ty)
                    .chain(&mut proc.results)
                {
                    if !ty.is_bool() && edit.here() {
                        *ty = Type::Bool;
                        return true;
                    }
                }
            }
            TopLevel::Thread(..) => {}
        }
    }
    any_statement(tree, &mut |stm| match &mut stm.kind {
        StmKind::Decl(_, ty) if !ty.is_bool() && edit.here() => {
            *ty = Type::Bool;
            true
        }
        _ => false,
    })
}

fn drop_result(tree: &mut Tree, item: usize, result: usize) {
    let TopLevel::Proc(proc) = &mut tree.items[item] else {
        unreachable!("only procedures have results");
    };
    proc.results.remove(result);
    let name = proc.name.clone();
    for stm in &mut proc.body {
        stm.for_each_mut(&mut |stm| {
            if let StmKind::Return(values) = &mut stm.kind
                && result < values.len()
            {
                values.remove(result);
            }
        });
    }
    for_each_statement(tree, &mut |stm| {
        if let StmKind::Call(targets, callee, ..) = &mut stm.kind
            && *callee == name
            && result < targets.len()
        {
            targets.remove(result);
        }
    });
}

fn for_each_statement(tree: &mut Tree, f: &mut dyn FnMut(&mut Stm)) {
    let mut visit = |stm: &mut Stm| {
        f(stm);
        false
    };
    any_statement(tree, &mut visit);
}

/// Whether `f` is true of some statement, outer ones first; stops there.
fn any_statement(tree: &mut Tree, f: &mut dyn FnMut(&mut Stm) -> bool) -> bool {
    any_block(tree, &mut |block| block.iter_mut().any(&mut *f))
}

/// Whether `f` is true of some block, outer ones first; stops there.
fn any_block(tree: &mut Tree, f: &mut dyn FnMut(&mut Vec<Stm>) -> bool) -> bool {
    fn items_of(items: &mut [TopLevel], f: &mut dyn FnMut(&mut Vec<Stm>) -> bool) -> bool {
        items.iter_mut().any(|item| match item {
            TopLevel::Decl(..) => false,
            TopLevel::Proc(proc) => within(&mut proc.body, f),
            TopLevel::Thread(_, inner) => items_of(inner, f),
        })
    }
    fn within(block: &mut Vec<Stm>, f: &mut dyn FnMut(&mut Vec<Stm>) -> bool) -> bool {
        if f(block) {
            return true;
        }
        block.iter_mut().any(|stm| match &mut stm.kind {
            StmKind::If(arms, otherwise) => {
                let blocks = arms.iter_mut().map(|(_, body)| body).chain(otherwise);
                blocks.into_iter().any(|body| within(body, f))
            }
            StmKind::While(_, body) => within(body, f),
            _ => false,
        })
    }
    items_of(&mut tree.items, f)
}

#[cfg(test)]
mod tests {
    use droste_lang::ast::Ast;
    use droste_lang::lower::lower;

    use super::shrink;
    use crate::generate::{Config, program};
    use crate::oracle::{Label, Oracle};

    #[test]
    fn the_smallest_program_that_reaches_error_is_one_statement() {
        let mut fails = |ast: &Ast| {
            let error = [Label::parse("ERROR")];
            lower(ast).0.is_some() && Oracle::new(ast).is_ok_and(|oracle| oracle.reachable(&error))
        };
        let mut shrunk = 0;
        for seed in 0..40 {
            let ast = program(seed, &Config::tiny());
            if fails(&ast) {
                let small = shrink(&ast, &mut fails);
                assert!(fails(&small), "seed {seed}");
                assert!(small.stmts.len() <= 3, "seed {seed}: {small:?}");
                shrunk += 1;
            }
        }
        assert!(shrunk > 3);
    }
}
