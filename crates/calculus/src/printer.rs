//! Formulas as text, with as few parentheses as reading them back needs.

use droste_source::SourceFile;

use crate::syntax::{Expr, ExprId, Syntax};

/// What remains to be written.
enum Task<'a> {
    Expr(ExprId, u8),
    Text(&'a str),
}

/// How tight an expression binds; see [`crate::expressions`].
fn binding(expr: &Expr) -> u8 {
    match expr {
        Expr::If(..) => 1,
        Expr::Quantifier(..) => 2,
        Expr::Arrow(..) => 3,
        Expr::Or(_) => 4,
        Expr::And(_) => 5,
        // `a != b` is written as a negation.
        Expr::Not(_) | Expr::Compare(true, ..) => 6,
        Expr::Compare(false, ..) => 7,
        Expr::Assume(..) | Expr::Cofactor(..) => 8,
        Expr::Bool(_) | Expr::Number(_) | Expr::Path(_) | Expr::Apply(..) | Expr::Case(_) => 10,
    }
}

/// The expression as text on one line; `a != b` becomes `!(a = b)`.
pub(crate) fn print(syntax: &Syntax, source: &SourceFile, root: ExprId) -> String {
    let mut out = String::new();
    let mut stack = vec![Task::Expr(root, 0)];
    while let Some(task) = stack.pop() {
        let (id, least) = match task {
            Task::Text(text) => {
                out.push_str(text);
                continue;
            }
            Task::Expr(id, least) => (id, least),
        };
        let expr = syntax.expr(id);
        if binding(expr) < least {
            out.push('(');
            stack.push(Task::Text(")"));
            stack.push(Task::Expr(id, 0));
            continue;
        }
        let mut parts: Vec<Task<'_>> = Vec::new();
        match expr {
            Expr::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Expr::Number(digits) => out.push_str(source.slice(*digits)),
            Expr::Path(list) => {
                for (i, step) in syntax.steps(list).iter().enumerate() {
                    match step {
                        crate::syntax::Step::Name(name) => {
                            if i > 0 {
                                out.push('.');
                            }
                            out.push_str(source.slice(*name));
                        }
                        crate::syntax::Step::Index(index) => {
                            out.push('[');
                            out.push_str(source.slice(*index));
                            out.push(']');
                        }
                    }
                }
            }
            Expr::Apply(name, list) => {
                out.push_str(source.slice(*name));
                out.push('(');
                for (i, argument) in syntax.operands(list).iter().enumerate() {
                    if i > 0 {
                        parts.push(Task::Text(", "));
                    }
                    parts.push(Task::Expr(*argument, 0));
                }
                parts.push(Task::Text(")"));
            }
            Expr::Compare(negated, left, right) => {
                if *negated {
                    parts.push(Task::Text("!("));
                }
                parts.push(Task::Expr(*left, 8));
                parts.push(Task::Text(" = "));
                parts.push(Task::Expr(*right, 8));
                if *negated {
                    parts.push(Task::Text(")"));
                }
            }
            Expr::Not(operand) => {
                out.push('!');
                parts.push(Task::Expr(*operand, 8));
            }
            Expr::And(list) | Expr::Or(list) => {
                let (operator, least) = match expr {
                    Expr::And(_) => (" & ", 6),
                    _ => (" | ", 5),
                };
                for (i, operand) in syntax.operands(list).iter().enumerate() {
                    if i > 0 {
                        parts.push(Task::Text(operator));
                    }
                    parts.push(Task::Expr(*operand, least));
                }
            }
            Expr::Arrow(arrow, left, right) => {
                parts.push(Task::Expr(*left, 4));
                parts.push(Task::Text(" "));
                parts.push(Task::Text(arrow.text()));
                parts.push(Task::Text(" "));
                parts.push(Task::Expr(*right, 4));
            }
            Expr::If(condition, then, otherwise) => {
                parts.push(Task::Text("if ("));
                parts.push(Task::Expr(*condition, 0));
                parts.push(Task::Text(") "));
                // An `if` without `else` must not take this one's.
                parts.push(Task::Expr(*then, if otherwise.is_some() { 3 } else { 0 }));
                if let Some(otherwise) = otherwise {
                    parts.push(Task::Text(" else "));
                    parts.push(Task::Expr(*otherwise, 0));
                }
            }
            Expr::Case(list) => {
                parts.push(Task::Text("case "));
                for pair in syntax.operands(list).chunks(2) {
                    parts.push(Task::Expr(pair[0], 0));
                    parts.push(Task::Text(" : "));
                    parts.push(Task::Expr(pair[1], 0));
                    parts.push(Task::Text("; "));
                }
                parts.push(Task::Text("esac"));
            }
            Expr::Quantifier(exists, list, body) => {
                out.push_str(if *exists { "exists " } else { "forall " });
                for (i, declaration) in syntax.declarations(list).iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    out.push_str(source.slice(declaration.ty));
                    out.push(' ');
                    out.push_str(source.slice(declaration.name));
                    if let Some(size) = declaration.size {
                        out.push('[');
                        out.push_str(source.slice(size));
                        out.push(']');
                    }
                }
                out.push_str(". ");
                parts.push(Task::Expr(*body, 2));
            }
            Expr::Assume(left, right) | Expr::Cofactor(left, right) => {
                let assume = matches!(expr, Expr::Assume(..));
                parts.push(Task::Expr(*left, 9));
                parts.push(Task::Text(if assume { " assume " } else { " cofactor " }));
                parts.push(Task::Expr(*right, 9));
            }
        }
        stack.extend(parts.into_iter().rev());
    }
    out
}
