//! Regular expressions over stacks, top first: `a b* [^c]+ (d | .)?`.
//!
//! An expression becomes an automaton with empty moves in Thompson's way, a constant number of
//! states for each sign; then the empty moves are left out. Where one empty move alone leads on, it
//! leads to the same state, so that alternatives share what follows them. Still, of `a? b? c?` each
//! may follow on each one before it: such an automaton may be much larger than its text, and there
//! is a bound. A set `[a, b]`, any symbol `.` and any
//! other symbol `[^a, b]` stay one label each until the alphabet is known. The parser keeps its own
//! stack of open brackets.

use droste_base::{Guard, words};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::problems::span;
use crate::scanner::Scanner;
use crate::sets::SetError;
use crate::system::{Configurations, Label, Place, WeightId};

/// More transitions than this are only made if the text has that many symbols and states.
const MOST: usize = 1_000_000;

/// No node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
enum Node {
    /// Goes on in these, without reading.
    Empty(u32, u32),
    /// Reads one of the labels with this number and goes on.
    Read(u32, u32),
}

/// An expression: it is matched from `start` to `end`, which leads nowhere yet.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: u32,
    end: u32,
}

/// A bracket that is open.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    at: usize,
    /// The alternatives before the last `|`.
    before: Option<Part>,
    /// What follows one another since then.
    sequence: Option<Part>,
}

/// An expression over stacks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regex {
    nodes: Vec<Node>,
    labels: Vec<Box<[Label]>>,
    start: u32,
    end: u32,
    place: Span,
}

/// The numbers of symbols.
pub(crate) trait Symbols {
    fn symbol(&mut self, name: &str, place: Span) -> Result<u32, Diagnostic>;
}

impl Regex {
    fn node(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    fn open_end(&mut self) -> u32 {
        self.node(Node::Empty(NONE, NONE))
    }

    fn link(&mut self, from: u32, first: u32, second: u32) {
        self.nodes[from as usize] = Node::Empty(first, second);
    }

    fn nothing(&mut self) -> Part {
        let end = self.open_end();
        Part { start: end, end }
    }

    fn read(&mut self, labels: Vec<Label>) -> Part {
        self.labels.push(labels.into());
        let end = self.open_end();
        let start = self.node(Node::Read(self.labels.len() as u32 - 1, end));
        Part { start, end }
    }

    fn then(&mut self, first: Option<Part>, second: Part) -> Part {
        let Some(first) = first else {
            return second;
        };
        self.link(first.end, second.start, NONE);
        Part {
            start: first.start,
            end: second.end,
        }
    }

    fn either(&mut self, first: Option<Part>, second: Part) -> Part {
        let Some(first) = first else {
            return second;
        };
        // Nothing leads on from an end, so all alternatives can have the same one.
        self.link(second.end, first.end, NONE);
        let start = self.node(Node::Empty(first.start, second.start));
        Part {
            start,
            end: first.end,
        }
    }

    /// The same with `*`, `+` or `?`.
    fn repeat(&mut self, part: Part, sign: u8) -> Part {
        let end = self.open_end();
        let again = if sign == b'?' { NONE } else { part.start };
        self.link(part.end, end, again);
        let start = match sign {
            b'+' => part.start,
            _ => self.node(Node::Empty(part.start, end)),
        };
        Part { start, end }
    }

    fn close(&mut self, open: Open) -> Part {
        let last = open.sequence.unwrap_or_else(|| self.nothing());
        self.either(open.before, last)
    }

    /// Reads an expression up to something that cannot belong to it. A `|` before a `<` does not.
    pub(crate) fn parse(
        scanner: &mut Scanner<'_>,
        symbols: &mut impl Symbols,
    ) -> Result<Self, Diagnostic> {
        let mut regex = Regex::default();
        scanner.peek();
        let begin = scanner.at();
        let mut outer: Vec<Open> = Vec::new();
        let mut open = Open::default();
        loop {
            let next = scanner.peek();
            let at = scanner.at();
            let mut part = match next {
                Some(b'(') => {
                    scanner.eat(b'(');
                    outer.push(open);
                    open = Open {
                        at,
                        ..Open::default()
                    };
                    continue;
                }
                Some(b')') if !outer.is_empty() => {
                    scanner.eat(b')');
                    let part = regex.close(open);
                    open = outer.pop().unwrap_or_default();
                    part
                }
                Some(b'|') => {
                    scanner.eat(b'|');
                    if outer.is_empty() && scanner.peek() == Some(b'<') {
                        scanner.jump(at);
                        break;
                    }
                    let part = regex.close(open);
                    open.before = Some(part);
                    open.sequence = None;
                    continue;
                }
                Some(b'.') => {
                    scanner.eat(b'.');
                    regex.read(vec![Label::Except(Box::default())])
                }
                Some(b'[') => {
                    let labels = set(scanner, symbols)?;
                    regex.read(labels)
                }
                Some(sign @ (b'*' | b'+' | b'?')) => {
                    let what = format!("`{}` follows nothing that it could repeat", sign as char);
                    return Err(Diagnostic::error(span(at, at + 1), what)
                        .help("it comes after a symbol, a set or a bracket"));
                }
                _ => match scanner.name()? {
                    Some((name, place)) => {
                        let symbol = symbols.symbol(&name, place)?;
                        regex.read(vec![Label::One(symbol)])
                    }
                    None => break,
                },
            };
            while let Some(sign @ (b'*' | b'+' | b'?')) = scanner.peek() {
                scanner.eat(sign);
                part = regex.repeat(part, sign);
            }
            open.sequence = Some(regex.then(open.sequence, part));
        }
        if !outer.is_empty() {
            let error = scanner.expected("`)`");
            return Err(error.also(span(open.at, open.at + 1), "opened here"));
        }
        let whole = regex.close(open);
        (regex.start, regex.end) = (whole.start, whole.end);
        regex.place = span(begin, scanner.at().min(begin + 1));
        Ok(regex)
    }

    /// For each node the one where it is left, if a single empty move leads on.
    fn leads(&self) -> Vec<u32> {
        let mut leads: Vec<u32> = vec![NONE; self.nodes.len()];
        let mut way = Vec::new();
        for start in 0..self.nodes.len() as u32 {
            let mut at = start;
            // Every node is on a way once; behind the last there is none, or it is known.
            while leads[at as usize] == NONE {
                way.push(at);
                leads[at as usize] = at;
                match self.nodes[at as usize] {
                    Node::Empty(next, NONE) if next != NONE => at = next,
                    _ => break,
                }
            }
            let last = leads[at as usize];
            for node in way.drain(..) {
                leads[node as usize] = last;
            }
        }
        leads
    }

    /// What a node reads without reading anything before, and whether it is over there.
    fn near(&self, node: u32, seen: &mut [u32], stamp: u32) -> (Vec<(u32, u32)>, bool) {
        let (mut reads, mut over) = (Vec::new(), false);
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            if node == NONE || std::mem::replace(&mut seen[node as usize], stamp) == stamp {
                continue;
            }
            over |= node == self.end;
            match self.nodes[node as usize] {
                Node::Empty(first, second) => work.extend([second, first]),
                Node::Read(labels, to) => reads.push((labels, to)),
            }
        }
        (reads, over)
    }

    /// Adds the configurations with one of these control states and a stack that matches.
    pub(crate) fn add_to(
        &self,
        set: &mut Configurations,
        states: &[u32],
        weight: WeightId,
        guard: &mut Guard,
    ) -> Result<(), SetError> {
        let leads = self.leads();
        let labels: usize = self.labels.iter().map(|labels| labels.len()).sum();
        let most = MOST.max(labels.saturating_mul(states.len()));
        let before = set.edges.len();
        let mut places = vec![NONE; self.nodes.len()];
        let mut seen = vec![NONE; self.nodes.len()];
        let mut work = vec![self.start];
        let mut stamp = 0;
        while let Some(node) = work.pop() {
            guard.check()?;
            let (reads, over) = self.near(node, &mut seen, stamp);
            stamp += 1;
            let extra = [Place::Extra(places[node as usize])];
            let controls: Vec<Place> = states.iter().map(|&s| Place::Control(s)).collect();
            let here = if node == self.start {
                &controls[..]
            } else {
                &extra[..]
            };
            for &from in here {
                if over {
                    set.accepting.push((from, weight));
                }
                for &(labels, to) in &reads {
                    guard.check()?;
                    if set.edges.len() - before > most {
                        let what = format!(
                            "this expression needs more than {} transitions",
                            words::count(most as u64)
                        );
                        let error = Diagnostic::error(self.place, what);
                        let help = "parts that may be left out, one after the other, need the \
                                    square of their number";
                        return Err(error.help(help).into());
                    }
                    let to = leads[to as usize];
                    let known = &mut places[to as usize];
                    if *known == NONE {
                        *known = set.extra;
                        set.extra += 1;
                        work.push(to);
                    }
                    let to = Place::Extra(*known);
                    for label in &self.labels[labels as usize] {
                        set.edge(from, label.clone(), to);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The labels of `[a, b]` or `[^a, b]`; the commas may be left out.
pub(crate) fn set(
    scanner: &mut Scanner<'_>,
    symbols: &mut impl Symbols,
) -> Result<Vec<Label>, Diagnostic> {
    scanner.peek();
    let start = scanner.at();
    scanner.eat(b'[');
    let except = scanner.eat(b'^');
    let mut members = Vec::new();
    while let Some((name, place)) = scanner.name()? {
        members.push(symbols.symbol(&name, place)?);
        scanner.eat(b',');
    }
    if !scanner.eat(b']') {
        let error = scanner.expected("a symbol or `]`");
        return Err(error.also(span(start, start + 1), "opened here"));
    }
    members.sort_unstable();
    members.dedup();
    if except {
        return Ok(vec![Label::Except(members.into())]);
    }
    if members.is_empty() {
        let place = span(start, scanner.at());
        return Err(Diagnostic::error(place, "a set needs a symbol").help("any symbol is `.`"));
    }
    Ok(members.into_iter().map(Label::One).collect())
}
