//! Terms as text of the calculus.
//!
//! A clause is a conjunction of pieces. A choice, and a subterm that occurs more than once, is a quantified
//! `bool`: written where it is needed, inside the one piece that mentions it or around all of
//! them. So the text is linear in the table of terms, whatever tree they stand for, and it is
//! nested only [`DEEPEST`] levels deep, because deeper subterms get a name as well.

use std::fmt::Write as _;

use crate::term::{Node, Term, Terms};

/// How deep operators are nested before a subterm gets a name.
const DEEPEST: u32 = 40;

/// A conjunct.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Text, which binds at least as tightly as `&`.
    Text(String),
    /// A term that has to be true.
    Holds(Term),
    /// A path whose value is the term's.
    Is(String, Term),
}

impl Piece {
    fn term(&self) -> Option<Term> {
        match self {
            Piece::Text(_) => None,
            Piece::Holds(term) | Piece::Is(_, term) => Some(*term),
        }
    }
}

/// Which pieces lead to a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    None,
    One(u32),
    Many,
}

struct Layout {
    scopes: Vec<Scope>,
    /// Whether the term is written as a name.
    named: Vec<bool>,
    /// All terms that occur, children first.
    order: Vec<Term>,
}

impl Layout {
    fn new(terms: &Terms, pieces: &[Piece]) -> Self {
        let count = terms.nodes.len();
        let mut scopes = vec![Scope::None; count];
        let mut uses = vec![0u32; count];
        for (i, piece) in pieces.iter().enumerate() {
            let Some(root) = piece.term() else { continue };
            let here = Scope::One(i as u32);
            let mut open = vec![root];
            uses[root.0 as usize] += 1;
            while let Some(term) = open.pop() {
                let scope = &mut scopes[term.0 as usize];
                let first = *scope == Scope::None;
                if *scope == here || *scope == Scope::Many {
                    continue;
                }
                *scope = if first { here } else { Scope::Many };
                for child in terms.node(term).children() {
                    if first {
                        uses[child.0 as usize] += 1;
                    }
                    open.push(child);
                }
            }
        }
        let mut named = vec![false; count];
        let mut depths = vec![0u32; count];
        let mut order = Vec::new();
        for (i, scope) in scopes.iter().enumerate() {
            if *scope == Scope::None {
                continue;
            }
            let term = Term(i as u32);
            order.push(term);
            let node = terms.node(term);
            let depth = node.children().map(|c| {
                if named[c.0 as usize] {
                    0
                } else {
                    depths[c.0 as usize]
                }
            });
            depths[i] = 1 + depth.max().unwrap_or(0);
            named[i] = match node {
                Node::Constant(_) | Node::Atom(_) => false,
                Node::Choice(_) => true,
                Node::Not(inner)
                    if matches!(terms.node(inner), Node::Atom(_) | Node::Choice(_)) =>
                {
                    false
                }
                _ => uses[i] > 1 || depths[i] > DEEPEST,
            };
            if named[i] {
                depths[i] = 0;
            }
        }
        Layout {
            scopes,
            named,
            order,
        }
    }
}

/// The conjunction of the pieces; `true` if there are none, and `None` if one is plainly false.
pub(crate) fn conjunction(terms: &Terms, pieces: &[Piece]) -> Option<String> {
    let layout = Layout::new(terms, pieces);
    let mut parts = Vec::with_capacity(pieces.len());
    let outer = names(terms, &layout, Scope::Many, &mut parts);
    for (i, piece) in pieces.iter().enumerate() {
        let mut inner = Vec::new();
        let local = names(terms, &layout, Scope::One(i as u32), &mut inner);
        match piece {
            Piece::Text(text) => inner.push(text.clone()),
            Piece::Holds(term) => match terms.node(*term) {
                Node::Constant(true) => continue,
                Node::Constant(false) => return None,
                _ => inner.push(text(terms, &layout, *term, false)),
            },
            Piece::Is(path, term) => inner.push(equation(terms, &layout, path, *term)),
        }
        parts.push(quantified(&local, &inner));
    }
    if parts.is_empty() {
        parts.push("true".to_owned());
    }
    Some(quantified(&outer, &parts))
}

/// The names of a scope; their definitions become parts.
fn names(terms: &Terms, layout: &Layout, scope: Scope, parts: &mut Vec<String>) -> Vec<String> {
    let mut names = Vec::new();
    for &term in &layout.order {
        let i = term.0 as usize;
        if !layout.named[i] || layout.scopes[i] != scope {
            continue;
        }
        names.push(name(terms, term));
        if !matches!(terms.node(term), Node::Choice(_)) {
            let definition = text(terms, layout, term, true);
            parts.push(format!("({} <-> {definition})", name(terms, term)));
        }
    }
    names
}

fn name(terms: &Terms, term: Term) -> String {
    match terms.node(term) {
        Node::Choice(number) => format!("c{number}"),
        _ => format!("t{}", term.0),
    }
}

fn quantified(names: &[String], parts: &[String]) -> String {
    let body = parts.join(" & ");
    if names.is_empty() {
        return body;
    }
    let names: Vec<String> = names.iter().map(|name| format!("bool {name}")).collect();
    format!("(exists {}. {body})", names.join(", "))
}

/// `path = term`.
fn equation(terms: &Terms, layout: &Layout, path: &str, term: Term) -> String {
    match terms.node(term) {
        Node::Constant(true) => path.to_owned(),
        Node::Constant(false) => format!("!{path}"),
        Node::Atom(name) => format!("{path} = {}", terms.names[name as usize]),
        _ => format!("({path} <-> {})", text(terms, layout, term, false)),
    }
}

/// A term; `define` writes out a term that has a name.
fn text(terms: &Terms, layout: &Layout, root: Term, define: bool) -> String {
    enum Task {
        Term(Term),
        Text(&'static str),
    }
    let mut out = String::new();
    let mut open = vec![Task::Term(root)];
    let mut first = define;
    while let Some(task) = open.pop() {
        let term = match task {
            Task::Text(text) => {
                out.push_str(text);
                continue;
            }
            Task::Term(term) => term,
        };
        let expand = std::mem::replace(&mut first, false);
        if layout.named[term.0 as usize] && !expand {
            let _ = write!(out, "{}", name(terms, term));
            continue;
        }
        let mut binary = |a, operator, b| {
            open.extend([
                Task::Text(")"),
                Task::Term(b),
                Task::Text(operator),
                Task::Term(a),
                Task::Text("("),
            ]);
        };
        match terms.node(term) {
            Node::Constant(value) => {
                let _ = write!(out, "{value}");
            }
            Node::Atom(name) => out.push_str(&terms.names[name as usize]),
            Node::Choice(number) => {
                let _ = write!(out, "c{number}");
            }
            Node::Not(a) => open.extend([Task::Term(a), Task::Text("!")]),
            Node::And(a, b) => binary(a, " & ", b),
            Node::Or(a, b) => binary(a, " | ", b),
            Node::Xor(a, b) => binary(a, " <+> ", b),
            Node::Ite(c, a, b) => open.extend([
                Task::Text(")"),
                Task::Term(b),
                Task::Text(" else "),
                Task::Term(a),
                Task::Text(") "),
                Task::Term(c),
                Task::Text("(if ("),
            ]),
        }
    }
    out
}
