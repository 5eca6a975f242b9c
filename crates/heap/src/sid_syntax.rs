//! The syntax of symbolic heaps: see [`sid`](crate::sid) for what it means.

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use rustc_hash::FxHashSet;

/// A name and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    pub(crate) text: &'a str,
    pub(crate) span: Span,
}

/// A declared variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) type_name: &'a str,
    pub(crate) type_span: Span,
    /// Whether `!` stands before it.
    pub(crate) reduction: bool,
}

/// What is defined.
#[derive(Clone, Debug)]
pub(crate) struct Head<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) parameters: Vec<Declared<'a>>,
}

/// A conjunct.
#[derive(Clone, Debug)]
pub(crate) enum Atom<'a> {
    /// `a.f -> b`.
    PointsTo(Name<'a>, Name<'a>, Name<'a>),
    /// `P(a, b)`.
    Call(Name<'a>, Vec<Name<'a>>),
    /// `a = b`.
    Equal(Name<'a>, Name<'a>),
    /// `emp`.
    Empty(Span),
}

impl<'a> Atom<'a> {
    /// The variables and constants of the atom.
    pub(crate) fn names(&self) -> Vec<Name<'a>> {
        match self {
            Atom::PointsTo(a, _, b) | Atom::Equal(a, b) => vec![*a, *b],
            Atom::Call(_, arguments) => arguments.clone(),
            Atom::Empty(_) => Vec::new(),
        }
    }
}

/// A right-hand side.
#[derive(Clone, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) own: Vec<Declared<'a>>,
    pub(crate) atoms: Vec<Atom<'a>>,
}

/// A text that is being read.
pub(crate) struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The names of variables, fields, predicates and types that were read.
    pub(crate) names: FxHashSet<&'a str>,
}

type Parsed<T> = Result<T, Diagnostic>;

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Parser {
            text,
            at: 0,
            names: FxHashSet::default(),
        }
    }

    /// Definitions of predicates, each with its right-hand sides.
    pub(crate) fn definitions(&mut self) -> Parsed<Vec<(Head<'a>, Vec<Body<'a>>)>> {
        let mut all = Vec::new();
        loop {
            let head = self.head()?;
            let mut bodies = Vec::new();
            self.need("<=")?;
            loop {
                bodies.push(self.body()?);
                if !self.eat("<=") {
                    break;
                }
            }
            if !self.eat(";") {
                return Err(self.expected("`*`, `<=` or `;`"));
            }
            all.push((head, bodies));
            if self.rest().is_empty() {
                return Ok(all);
            }
        }
    }

    /// One symbolic heap.
    pub(crate) fn heap(&mut self) -> Parsed<(Head<'a>, Body<'a>)> {
        let head = self.head()?;
        self.need("<=")?;
        let body = self.body()?;
        self.eat(";");
        if !self.rest().is_empty() {
            return Err(self.expected("`*` or the end of the text"));
        }
        Ok((head, body))
    }

    /// The text from the next character that is no blank on.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn need(&mut self, sign: &str) -> Parsed<()> {
        if self.eat(sign) {
            return Ok(());
        }
        Err(self.expected(&format!("`{sign}`")))
    }

    fn span(&self, length: usize) -> Span {
        Span::new(self.at as u32, (self.at + length) as u32)
    }

    fn expected(&mut self, what: &str) -> Diagnostic {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            let message = format!("expected {what}, but the text ends");
            return Diagnostic::error(self.span(0), message).label(format!("expected {what}"));
        };
        let word = self.word(rest);
        let length = if word == 0 { first.len_utf8() } else { word };
        let found = rest[..length].escape_debug().take(40).collect::<String>();
        let message = format!("expected {what}, found `{found}`");
        Diagnostic::error(self.span(length), message).label(format!("expected {what}"))
    }

    /// The length of the name or number at the beginning of a text; 0 if there is none.
    #[allow(clippy::unused_self)]
    fn word(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let mut at = 0;
        if let Some(b'-') = bytes.first() {
            at += 1;
        } else if let Some(b'$' | b'%' | b'@') = bytes.first() {
            at += 1;
        }
        let start = at;
        while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') = bytes.get(at) {
            at += 1;
        }
        if at == start {
            return 0;
        }
        at + usize::from(bytes.get(at) == Some(&b':'))
    }

    fn name(&mut self, what: &str) -> Parsed<Name<'a>> {
        let rest = self.rest();
        let length = self.word(rest);
        if length == 0 {
            return Err(self.expected(what));
        }
        let (text, span) = (&rest[..length], self.span(length));
        self.at += length;
        self.names.insert(text);
        Ok(Name { text, span })
    }

    fn declared(&mut self) -> Parsed<Declared<'a>> {
        let reduction = self.eat("!");
        let name = self.name("a variable")?;
        self.need("{")?;
        let rest = self.rest();
        let end = rest.find(['}', '{', '(', ')', '|', '*', ';', '\n']);
        let length = end.unwrap_or(rest.len());
        let type_name = rest[..length].trim_end();
        if type_name.is_empty() {
            return Err(self.expected("a type"));
        }
        let type_span = self.span(type_name.len());
        self.names.insert(type_name);
        self.at += length;
        self.need("}")?;
        Ok(Declared {
            name,
            type_name,
            type_span,
            reduction,
        })
    }

    fn head(&mut self) -> Parsed<Head<'a>> {
        let name = self.name("the name of a predicate")?;
        self.need("(")?;
        let mut parameters = Vec::new();
        if !self.eat(")") {
            loop {
                parameters.push(self.declared()?);
                if self.eat(")") {
                    break;
                }
                if !self.eat(",") {
                    return Err(self.expected("`,` or `)`"));
                }
            }
        }
        Ok(Head { name, parameters })
    }

    fn body(&mut self) -> Parsed<Body<'a>> {
        let mut own = Vec::new();
        while self.declares() {
            own.push(self.declared()?);
            self.eat(",");
        }
        if !own.is_empty() {
            self.need("|")?;
        }
        let mut atoms = vec![self.atom()?];
        while self.eat("*") {
            atoms.push(self.atom()?);
        }
        Ok(Body { own, atoms })
    }

    /// Whether a declaration comes next.
    fn declares(&mut self) -> bool {
        let rest = self.rest();
        let length = self.word(rest);
        length > 0 && rest[length..].trim_start().starts_with('{')
    }

    fn atom(&mut self) -> Parsed<Atom<'a>> {
        let first = self.name("a selector `v.f -> w` or a predicate `P(v, w)`")?;
        if self.eat(".") {
            let selector = self.name("a selector")?;
            self.need("->")?;
            let target = self.name("a variable or `null`")?;
            return Ok(Atom::PointsTo(first, selector, target));
        }
        if self.eat("(") {
            let mut arguments = Vec::new();
            if !self.eat(")") {
                loop {
                    arguments.push(self.name("a variable")?);
                    if self.eat(")") {
                        break;
                    }
                    if !self.eat(",") {
                        return Err(self.expected("`,` or `)`"));
                    }
                }
            }
            return Ok(Atom::Call(first, arguments));
        }
        if self.eat("=") {
            let second = self.name("a variable or a constant")?;
            return Ok(Atom::Equal(first, second));
        }
        if first.text == "emp" {
            return Ok(Atom::Empty(first.span));
        }
        Err(self.expected("`.`, `(` or `=`"))
    }
}
