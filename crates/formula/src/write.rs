//! Terms as text of the calculus.
//!
//! A clause is a conjunction of pieces. A choice, and a subterm that occurs more than once, is a
//! quantified `bool`. It is written where it is needed, inside the one piece that mentions it or
//! around all of them. So the text is linear in the table of terms, whatever tree they stand for.
//! It is nested only [`DEEPEST`] levels deep, because deeper subterms get a name as well.

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

#[cfg(test)]
mod tests {
    use droste_blast::Logic as _;
    use droste_testkit::random::Random;

    use super::{DEEPEST, Piece, conjunction};
    use crate::term::{Node, Term, Terms};

    /// A reader of the text, by recursive descent: `Err` is what could not be read.
    struct Reader<'a> {
        tokens: Vec<&'a str>,
        at: usize,
        /// Names and their values; the innermost is last.
        values: Vec<(&'a str, bool)>,
        deepest: usize,
        depth: usize,
    }

    fn tokens(text: &str) -> Vec<&str> {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let word = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            let length = if word > 0 {
                word
            } else if rest.starts_with("<->") || rest.starts_with("<+>") {
                3
            } else {
                1
            };
            tokens.push(&rest[..length]);
            rest = rest[length..].trim_start();
        }
        tokens
    }

    impl<'a> Reader<'a> {
        fn next(&mut self) -> &'a str {
            self.at += 1;
            self.tokens[self.at - 1]
        }

        fn accept(&mut self, token: &str) -> bool {
            let found = self.tokens.get(self.at) == Some(&token);
            self.at += usize::from(found);
            found
        }

        /// `exists`, or operators of one level at a time.
        fn expression(&mut self) -> bool {
            self.depth += 1;
            self.deepest = self.deepest.max(self.depth);
            let value = self.unlimited();
            self.depth -= 1;
            value
        }

        fn unlimited(&mut self) -> bool {
            if self.accept("exists") {
                let mut names = Vec::new();
                loop {
                    assert_eq!(self.next(), "bool");
                    names.push(self.next());
                    if !self.accept(",") {
                        break;
                    }
                }
                assert_eq!(self.next(), ".");
                let (start, depth) = (self.at, self.values.len());
                let mut found = false;
                for choice in 0..1u32 << names.len() {
                    self.at = start;
                    for (i, name) in names.iter().enumerate() {
                        self.values.push((name, choice >> i & 1 == 1));
                    }
                    found |= self.expression();
                    self.values.truncate(depth);
                }
                return found;
            }
            if self.accept("if") {
                let condition = self.operand();
                let yes = self.operand();
                assert_eq!(self.next(), "else");
                let no = self.operand();
                return if condition { yes } else { no };
            }
            let mut value = self.operand();
            let first = self.tokens.get(self.at).copied();
            while let Some(operator @ ("&" | "|" | "<->" | "<+>")) =
                self.tokens.get(self.at).copied()
            {
                assert_eq!(Some(operator), first, "operators are not mixed");
                self.at += 1;
                let right = self.operand();
                value = match operator {
                    "&" => value && right,
                    "|" => value || right,
                    "<+>" => value != right,
                    _ => value == right,
                };
            }
            value
        }

        fn operand(&mut self) -> bool {
            if self.accept("!") {
                return !self.operand();
            }
            if self.accept("(") {
                let value = self.expression();
                assert_eq!(self.next(), ")");
                return value;
            }
            let name = self.next();
            match name {
                "true" => true,
                "false" => false,
                _ => {
                    let found = self.values.iter().rev().find(|(n, _)| *n == name);
                    let value = found.unwrap_or_else(|| panic!("{name} is not in scope")).1;
                    // `path = path` binds more tightly than `&`.
                    if self.accept("=") {
                        return value == self.operand();
                    }
                    value
                }
            }
        }
    }

    fn evaluate(terms: &Terms, root: Term, atoms: u32, choices: u32) -> bool {
        let mut values: Vec<bool> = Vec::new();
        for node in &terms.nodes[..=root.0 as usize] {
            let of = |t: Term| values[t.0 as usize];
            values.push(match *node {
                Node::Constant(value) => value,
                Node::Atom(name) => atoms >> name & 1 == 1,
                Node::Choice(number) => choices >> number & 1 == 1,
                Node::Not(a) => !of(a),
                Node::And(a, b) => of(a) && of(b),
                Node::Or(a, b) => of(a) || of(b),
                Node::Xor(a, b) => of(a) != of(b),
                Node::Ite(c, a, b) => {
                    if of(c) {
                        of(a)
                    } else {
                        of(b)
                    }
                }
            });
        }
        values[root.0 as usize]
    }

    #[test]
    fn text_means_what_the_terms_mean() {
        const ATOMS: u32 = 4;
        const CHOICES: u32 = 2;
        for seed in 0..3000 {
            let mut random = Random::new(seed);
            let mut terms = Terms::new();
            let mut pool: Vec<Term> = (0..ATOMS).map(|i| terms.atom(format!("x{i}"))).collect();
            terms.mark();
            for _ in 0..CHOICES {
                let Ok(choice) = terms.fresh();
                pool.push(choice);
            }
            for _ in 0..random.below(12) {
                let [a, b, c] = [(); 3].map(|()| *random.pick(&pool));
                let Ok(term) = match random.below(5) {
                    0 => terms.not(&a),
                    1 => terms.and(&a, &b),
                    2 => terms.or(&a, &b),
                    3 => terms.xor(&a, &b),
                    _ => terms.ite(&a, &b, &c),
                };
                pool.push(term);
            }
            let mut pieces = Vec::new();
            for i in 0..=random.below(3) {
                let term = pool[pool.len() - 1 - random.below(pool.len().min(4))];
                pieces.push(if random.percent(50) {
                    Piece::Holds(term)
                } else {
                    Piece::Is(format!("y{i}"), term)
                });
            }
            let text = conjunction(&terms, &pieces);
            for inputs in 0..1u32 << (ATOMS + 3) {
                let expected = (0..1u32 << CHOICES).any(|choices| {
                    pieces.iter().enumerate().all(|(i, piece)| match piece {
                        Piece::Holds(term) => evaluate(&terms, *term, inputs, choices),
                        Piece::Is(_, term) => {
                            evaluate(&terms, *term, inputs, choices)
                                == (inputs >> (ATOMS as usize + i) & 1 == 1)
                        }
                        Piece::Text(_) => true,
                    })
                });
                let names = ["x0", "x1", "x2", "x3", "y0", "y1", "y2"];
                let values = names.iter().enumerate();
                let found = text.as_ref().is_some_and(|text| {
                    let mut reader = Reader {
                        tokens: tokens(text),
                        at: 0,
                        values: values.map(|(i, n)| (*n, inputs >> i & 1 == 1)).collect(),
                        deepest: 0,
                        depth: 0,
                    };
                    let value = reader.expression();
                    assert_eq!(reader.at, reader.tokens.len(), "{text}");
                    value
                });
                assert_eq!(found, expected, "seed {seed}: {text:?} {pieces:?}");
            }
        }
    }

    #[test]
    fn deep_and_shared_terms_are_short() {
        let mut terms = Terms::new();
        let atoms: Vec<Term> = (0..3).map(|i| terms.atom(format!("x{i}"))).collect();
        // Twice as large a tree with every step.
        let mut term = atoms[0];
        for i in 0..100_000 {
            let Ok(other) = terms.xor(&term, &atoms[i % 3]);
            let Ok(next) = terms.ite(&atoms[(i + 1) % 3], &other, &term);
            term = next;
        }
        let text = conjunction(&terms, &[Piece::Holds(term)]).expect("not plainly false");
        assert!(text.len() < 100 * 200_000, "{}", text.len());
        let (mut depth, mut deepest) = (0u32, 0);
        for byte in text.bytes() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        assert!(deepest < 3 * DEEPEST, "{deepest}");
    }
}
