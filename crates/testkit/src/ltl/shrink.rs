//! Makes a failing pair of a program and a formula small.

use droste_lang::ast::Ast;

use super::Formula;

/// A small pair for which `fails` is still true (as it must be for this one): the program and the
/// formula take turns until neither gets smaller. The predicate has to say `false` for
/// programs that the front end refuses and for formulas with names that are gone.
pub fn shrink(
    ast: &Ast,
    formula: &Formula,
    fails: &mut dyn FnMut(&Ast, &Formula) -> bool,
) -> (Ast, Formula) {
    let (mut ast, mut formula) = (ast.clone(), formula.clone());
    loop {
        let smaller = smallest(&formula, &mut |f| fails(&ast, f));
        let small = crate::shrink::shrink(&ast, &mut |ast| fails(ast, &smaller));
        if small == ast && smaller == formula {
            return (ast, formula);
        }
        (ast, formula) = (small, smaller);
    }
}

/// The formula after greedy edits, each of which leaves it failing.
fn smallest(formula: &Formula, fails: &mut dyn FnMut(&Formula) -> bool) -> Formula {
    let mut best = formula.clone();
    while let Some(better) = edits(&best).into_iter().find(|edited| fails(edited)) {
        best = better;
    }
    best
}

/// Everything that one edit makes of it, all smaller: an operand or a constant in the place of a
/// subformula.
fn edits(formula: &Formula) -> Vec<Formula> {
    let mut all: Vec<Formula> = formula.operands().cloned().collect();
    if !matches!(formula, Formula::Constant(_)) {
        all.extend([Formula::Constant(true), Formula::Constant(false)]);
    }
    match formula {
        Formula::Constant(_) | Formula::Atom(_) => {}
        Formula::Unary(op, operand) => {
            all.extend(edits(operand).into_iter().map(|f| Formula::unary(*op, f)));
        }
        Formula::Binary(op, left, right) => {
            let (l, r) = (&**left, &**right);
            let lefts = edits(l).into_iter();
            all.extend(lefts.map(|f| Formula::binary(*op, f, r.clone())));
            let rights = edits(r).into_iter();
            all.extend(rights.map(|f| Formula::binary(*op, l.clone(), f)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::shrink;
    use crate::generate::{Config, program};
    use crate::ltl::{Formula, Shape, Unary, formula};

    #[test]
    fn what_fails_for_an_operator_is_that_operator() {
        fn has_always(f: &Formula) -> bool {
            matches!(f, Formula::Unary(Unary::Globally, _)) || f.operands().any(has_always)
        }
        let ast = program(1, &Config::tiny());
        let mut shrunk = 0;
        for seed in 0..50 {
            let f = formula(seed, &ast, &Shape::default());
            if has_always(&f) {
                let (small, f) = shrink(&ast, &f, &mut |_, f| has_always(f));
                assert_eq!(f.size(), 2, "seed {seed}: {f}");
                assert!(small.stmts.is_empty());
                shrunk += 1;
            }
        }
        assert!(shrunk > 5);
    }
}
