//! Formulas as text, with as few parentheses as the grammar allows; parsing the text gives the same
//! formula again.

use std::fmt::Write as _;

use crate::syntax::Atoms;
use droste_automata::formula::{FormulaId, Formulas, Node};

/// How tight the operator at the top of a formula binds: see [`parser`](crate::parser).
fn level(node: &Node<'_>) -> u8 {
    match node {
        Node::Iff(..) => 0,
        Node::Implies(..) => 1,
        Node::Xor(..) => 2,
        Node::Or(_) => 3,
        Node::And(_) => 4,
        Node::Until(..) | Node::Release(..) | Node::WeakUntil(..) | Node::StrongRelease(..) => 5,
        Node::Not(_) | Node::Next(_) | Node::Finally(_) | Node::Globally(_) => 6,
        Node::True | Node::False | Node::Atom(_) => 7,
    }
}

enum Piece {
    Text(&'static str),
    /// In parentheses if it binds less tight than this.
    Formula(FormulaId, u8),
}

/// The formula as text, atoms as they were written.
pub fn print(formulas: &Formulas, atoms: &Atoms, root: FormulaId) -> String {
    let mut out = String::new();
    write_with(formulas, root, usize::MAX, &mut out, &mut |atom, out| {
        let _ = write!(out, "{}", atoms.get(atom));
    });
    out
}

/// Like [`print()`], but not much longer than `most` characters: what would go beyond is left out,
/// with an ellipsis.
pub fn print_short(formulas: &Formulas, atoms: &Atoms, root: FormulaId, most: usize) -> String {
    let mut out = String::new();
    write_with(formulas, root, most, &mut out, &mut |atom, out| {
        let _ = write!(out, "{}", atoms.get(atom));
    });
    if out.chars().count() > most {
        out = out.chars().take(most).collect();
        out.push('…');
    }
    out
}

fn write_with(
    formulas: &Formulas,
    root: FormulaId,
    most: usize,
    out: &mut String,
    atom: &mut dyn FnMut(droste_automata::formula::AtomId, &mut String),
) {
    let mut stack = vec![Piece::Formula(root, 0)];
    while let Some(piece) = stack.pop() {
        if out.len() > most.saturating_mul(4) {
            return;
        }
        let (id, tight) = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Formula(id, tight) => (id, tight),
        };
        let node = formulas.node(id);
        let mine = level(&node);
        if mine < tight {
            out.push('(');
            stack.push(Piece::Text(")"));
        }
        // Pieces go on the stack in reverse.
        let mut binary = |a, left: u8, text, b, right: u8| {
            stack.push(Piece::Formula(b, right));
            stack.push(Piece::Text(text));
            stack.push(Piece::Formula(a, left));
        };
        match node {
            Node::True => out.push_str("true"),
            Node::False => out.push_str("false"),
            Node::Atom(id) => atom(id, out),
            Node::Not(a) => {
                out.push('!');
                stack.push(Piece::Formula(a, 6));
            }
            Node::Next(a) => {
                out.push_str("X ");
                stack.push(Piece::Formula(a, 6));
            }
            Node::Finally(a) => {
                out.push_str("F ");
                stack.push(Piece::Formula(a, 6));
            }
            Node::Globally(a) => {
                out.push_str("G ");
                stack.push(Piece::Formula(a, 6));
            }
            Node::And(_) | Node::Or(_) => {
                let operands = formulas.shown(id);
                let text = if mine == 4 { " & " } else { " | " };
                for (i, &operand) in operands.iter().enumerate().rev() {
                    stack.push(Piece::Formula(operand, mine + 1));
                    if i > 0 {
                        stack.push(Piece::Text(text));
                    }
                }
            }
            Node::Iff(a, b) => binary(a, 0, " <-> ", b, 1),
            Node::Xor(a, b) => binary(a, 2, " xor ", b, 3),
            Node::Implies(a, b) => binary(a, 2, " -> ", b, 1),
            Node::Until(a, b) => binary(a, 6, " U ", b, 5),
            Node::Release(a, b) => binary(a, 6, " R ", b, 5),
            Node::WeakUntil(a, b) => binary(a, 6, " W ", b, 5),
            Node::StrongRelease(a, b) => binary(a, 6, " M ", b, 5),
        }
    }
}
