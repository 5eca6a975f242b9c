//! Reads automata in the Hanoi omega-automata format, version 1.
//!
//! The format is described at <https://adl.github.io/hoaf/> and in Babiak et al., *The Hanoi
//! omega-automata format* (CAV 2015). It reads (generalised) Büchi automata with any number of
//! initial states. Labels may be on states, on edges, or implied by the order of edges; acceptance
//! may be on states or edges. Other acceptance conditions and alternation are refused by name. A
//! state's label and sets are handed to its edges, as the format says. Several initial states
//! become one new state with the edges of all of them.
//!
//! The text in quotes after `AP:` is an atom as in formulas; any other text is taken as an
//! expression of the program.

use droste_base::words::counted;
use droste_base::{Limits, StopReason};
use droste_bdd::{Bdd, Manager, Var, on_large_stack};
use droste_source::diagnostics::Diagnostic;
use droste_source::{SourceFile, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cover::cover;
use crate::hoa_acceptance::{Acceptance, Condition};
use crate::hoa_tokens::{Kind, Tokens};
use crate::parser::atom_from_text;
use crate::syntax::Atoms;
use droste_automata::automaton::{Literal, MOST_MARKS, NewEdge, StateInfo, Tgba};
use droste_automata::formula::AtomId;

/// Why there is no automaton.
#[derive(Clone, Debug)]
pub enum HoaError {
    /// The file is not right, or contains an automaton of a kind that is not supported.
    Refused(Box<Diagnostic>),
    /// A limit was reached.
    Stopped(StopReason),
}

impl From<StopReason> for HoaError {
    fn from(reason: StopReason) -> Self {
        HoaError::Stopped(reason)
    }
}

impl From<Diagnostic> for HoaError {
    fn from(diagnostic: Diagnostic) -> Self {
        HoaError::Refused(Box::new(diagnostic))
    }
}

type Result<T> = std::result::Result<T, HoaError>;

/// An automaton from a file.
#[derive(Clone, Debug)]
pub struct HoaAutomaton {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The automaton.
    pub automaton: Tgba,
    /// Its atoms.
    pub atoms: Atoms,
    /// What in its header makes it accept nothing, if anything does: "has no `Start:`".
    pub accepts_nothing: Option<&'static str>,
}

/// Reads an automaton, the only one in its file. Its atoms are added to `atoms`.
pub fn read_hoa(source: &SourceFile, atoms: &mut Atoms, limits: &Limits) -> Result<Tgba> {
    with_stack(source, move || {
        let mut reader = Reader::new(Tokens::new(source)?, limits);
        let automaton = reader.automaton(atoms)?;
        reader.tokens.end_of_file()?;
        Ok(automaton)
    })
}

/// Reads all automata of a file, each with atoms of its own; there is at least one.
pub fn read_hoas(source: &SourceFile, limits: &Limits) -> Result<Vec<HoaAutomaton>> {
    with_stack(source, move || {
        let mut tokens = Tokens::new(source)?;
        let mut list = Vec::new();
        while list.is_empty() || tokens.peek() != Kind::Nothing {
            let mut reader = Reader::new(tokens, limits);
            let mut atoms = Atoms::new();
            let automaton = reader.automaton(&mut atoms)?;
            list.push(HoaAutomaton {
                name: reader.name,
                automaton,
                atoms,
                accepts_nothing: if reader.starts.is_empty() {
                    Some("has no `Start:`")
                } else if reader.acceptance.as_ref().is_some_and(Acceptance::is_never) {
                    Some("has the acceptance condition `f`")
                } else {
                    None
                },
            });
            tokens = reader.tokens;
        }
        Ok(list)
    })
}

/// Runs `work` where there is stack enough for the diagrams of a file's labels.
fn with_stack<T: Send>(source: &SourceFile, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    // Before labels are read, the number of propositions is not known; the length of the text is an
    // upper bound.
    let propositions = source.text().bytes().filter(|&b| b == b'"').count() / 2;
    if propositions < 100 {
        work()
    } else {
        on_large_stack(propositions, work)
    }
}

/// A state as it was declared.
struct Declared {
    number: u32,
    span: Span,
    name: Option<String>,
    edges: Vec<Listed>,
}

/// An edge as it was listed.
struct Listed {
    guard: Bdd,
    target: u32,
    span: Span,
    sets: Vec<u32>,
}

struct Reader<'a> {
    tokens: Tokens<'a>,
    name: Option<String>,
    manager: Manager,
    states: Option<(u32, Span)>,
    starts: Vec<(u32, Span)>,
    propositions: Option<Vec<String>>,
    vars: Vec<Var>,
    aliases: FxHashMap<&'a str, Bdd>,
    acceptance: Option<Acceptance>,
    acceptance_name: Option<String>,
    /// Where `--BODY--` is.
    body: Span,
}

impl<'a> Reader<'a> {
    fn new(tokens: Tokens<'a>, limits: &Limits) -> Self {
        Reader {
            tokens,
            name: None,
            manager: Manager::new(limits),
            states: None,
            starts: Vec::new(),
            propositions: None,
            vars: Vec::new(),
            aliases: FxHashMap::default(),
            acceptance: None,
            acceptance_name: None,
            body: Span::default(),
        }
    }

    fn automaton(&mut self, atoms: &mut Atoms) -> Result<Tgba> {
        self.header()?;
        let Some(acceptance) = &self.acceptance else {
            return Err(
                Diagnostic::error(self.body, "the header has no `Acceptance:`")
                    .label("expected before this")
                    .help("for a Büchi automaton, write `Acceptance: 1 Inf(0)`")
                    .into(),
            );
        };
        let condition = acceptance.condition(self.acceptance_name.as_deref())?;
        let sets = acceptance.sets;
        let declared = self.body(sets)?;
        let ids: Vec<AtomId> = self
            .propositions
            .take()
            .unwrap_or_default()
            .iter()
            .map(|text| atoms.intern(atom_from_text(text)))
            .collect();
        self.build(declared, &condition, &ids, atoms.len())
    }

    fn header(&mut self) -> Result<()> {
        let (kind, span) = self.tokens.take();
        if kind != Kind::Header || self.tokens.text(span) != "HOA:" {
            return Err(
                Diagnostic::error(span, "this is not an automaton in the HOA format")
                    .label("expected `HOA: v1`")
                    .into(),
            );
        }
        let version = self.tokens.expect(Kind::Identifier, "a version, `v1`")?;
        if self.tokens.text(version) != "v1" {
            return Err(Diagnostic::error(
                version,
                format!(
                    "version `{}` of the HOA format is not supported",
                    self.tokens.text(version)
                ),
            )
            .label("expected `v1`")
            .into());
        }
        let mut seen: FxHashMap<&'a str, Span> = FxHashMap::default();
        // Labels in aliases refer to propositions that may be declared later in the header.
        let mut aliases: Vec<(usize, usize)> = Vec::new();
        loop {
            let (kind, span) = self.tokens.take();
            let name = self.tokens.text(span);
            match kind {
                Kind::Body => {
                    self.body = span;
                    break;
                }
                Kind::Header => {}
                _ => {
                    return Err(self
                        .tokens
                        .unexpected(kind, span, "a header item (`Name:`) or `--BODY--`")
                        .into());
                }
            }
            let repeatable = ["Start:", "Alias:", "properties:"].contains(&name);
            if !repeatable && let Some(&first) = seen.get(name) {
                return Err(Diagnostic::error(span, format!("`{name}` is given twice"))
                    .label("the second")
                    .also(first, "the first")
                    .into());
            }
            seen.insert(name, span);
            match name {
                "HOA:" => {
                    return Err(Diagnostic::error(span, "`HOA:` begins another automaton")
                        .label("expected `--BODY--` first")
                        .into());
                }
                "name:" => {
                    if self.tokens.peek() == Kind::String {
                        let (_, span) = self.tokens.take();
                        self.name = Some(self.tokens.string(span));
                    }
                    self.tokens.skip_words();
                }
                "States:" => {
                    let (number, at) = self.tokens.integer("the number of states")?;
                    self.states = Some((number, at));
                }
                "Start:" => {
                    let (state, at) = self.tokens.integer("an initial state")?;
                    self.starts.push((state, at));
                    self.no_conjunction("the initial states")?;
                }
                "AP:" => self.declare_propositions()?,
                "Alias:" => {
                    let begin = self.tokens.place();
                    self.tokens.expect(Kind::Alias, "a name like `@a`")?;
                    self.tokens.skip_label();
                    aliases.push((begin, self.tokens.place()));
                }
                "Acceptance:" => self.acceptance = Some(Acceptance::parse(&mut self.tokens)?),
                "acc-name:" => {
                    let first = self.tokens.expect(Kind::Identifier, "a name")?;
                    let rest = self.tokens.skip_words();
                    let text = self.tokens.text(first.to(rest.unwrap_or(first)));
                    self.acceptance_name = Some(text.to_owned());
                }
                "Alphabet:" => {
                    return Err(Diagnostic::error(
                        span,
                        "letter-based alphabets are not supported",
                    )
                    .label("`Alphabet:` is not part of version 1")
                    .help("write the automaton with atomic propositions, `AP:`")
                    .into());
                }
                _ if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                    return Err(Diagnostic::error(
                        span,
                        format!("`{name}` is not known, and may change what the automaton means"),
                    )
                    .label("unknown header item with a capital letter")
                    .help("items that may be ignored begin with a small letter")
                    .into());
                }
                _ => {
                    self.tokens.skip_words();
                }
            }
        }
        let body = self.tokens.place();
        for (begin, end) in aliases {
            self.tokens.go_to(begin);
            let (_, span) = self.tokens.take();
            let name = self.tokens.text(span);
            let label = self.label()?;
            if self.tokens.place() != end {
                let (kind, span) = self.tokens.take();
                return Err(self.tokens.unexpected(kind, span, "`&` or `|`").into());
            }
            if self.aliases.insert(name, label).is_some() {
                return Err(Diagnostic::error(
                    span,
                    format!("the alias `{name}` is defined twice"),
                )
                .label("the second definition")
                .into());
            }
        }
        self.tokens.go_to(body);
        Ok(())
    }

    fn declare_propositions(&mut self) -> Result<()> {
        let (count, at) = self.tokens.integer("the number of atomic propositions")?;
        let mut names: Vec<String> = Vec::new();
        let mut seen: FxHashSet<String> = FxHashSet::default();
        while self.tokens.peek() == Kind::String {
            let (_, span) = self.tokens.take();
            let name = self.tokens.string(span);
            if name.trim().is_empty() {
                return Err(Diagnostic::error(span, "an atomic proposition has no text")
                    .label("empty")
                    .into());
            }
            if !seen.insert(name.clone()) {
                return Err(Diagnostic::error(
                    span,
                    format!("the atomic proposition `{name}` is declared twice"),
                )
                .label("the second")
                .into());
            }
            names.push(name);
            if names.len() > count as usize {
                break;
            }
        }
        if names.len() != count as usize {
            return Err(Diagnostic::error(
                at,
                format!("{count} atomic propositions are announced, but not so many follow"),
            )
            .label(format!("{} in quotes follow", names.len()))
            .into());
        }
        self.vars = self.manager.new_vars(count);
        self.propositions = Some(names);
        Ok(())
    }

    /// Refuses `&` between states.
    fn no_conjunction(&mut self, what: &str) -> Result<()> {
        if self.tokens.peek() == Kind::And {
            let (_, span) = self.tokens.take();
            return Err(Diagnostic::error(
                span,
                format!("alternating automata are not supported: {what} are joined with `&`"),
            )
            .label("universal branching")
            .help("remove alternation first, for example with `autfilt --dealternate`")
            .into());
        }
        Ok(())
    }

    /// A label: `!` before `&` before `|`. No recursion: parentheses may be nested as deep as they
    /// like.
    fn label(&mut self) -> Result<Bdd> {
        /// What waits on the stack.
        #[derive(Clone, Copy, PartialEq, PartialOrd)]
        enum Wait {
            Open,
            Or,
            And,
            Not,
        }
        let mut waiting: Vec<Wait> = Vec::new();
        let mut done: Vec<Bdd> = Vec::new();
        loop {
            // An operand.
            let (kind, span) = self.tokens.take();
            match kind {
                Kind::Not => {
                    waiting.push(Wait::Not);
                    continue;
                }
                Kind::Open => {
                    waiting.push(Wait::Open);
                    continue;
                }
                _ => done.push(self.operand(kind, span)?),
            }
            // Operators and closing parentheses.
            loop {
                let (floor, push) = match self.tokens.peek() {
                    Kind::And => (Wait::And, Some(Wait::And)),
                    Kind::Or => (Wait::Or, Some(Wait::Or)),
                    _ => (Wait::Or, None),
                };
                while let Some(&top) = waiting.last()
                    && top >= floor
                {
                    waiting.pop();
                    self.manager.check_limits()?;
                    let right = done.pop().expect("an operand");
                    let result = match top {
                        Wait::Not => right.not(),
                        Wait::And => done.pop().expect("an operand").and(&right)?,
                        _ => done.pop().expect("an operand").or(&right)?,
                    };
                    done.push(result);
                }
                if let Some(operator) = push {
                    self.tokens.take();
                    waiting.push(operator);
                    break;
                }
                if waiting.is_empty() {
                    return Ok(done.pop().expect("a label"));
                }
                let span = self.tokens.expect(Kind::Close, "`)`, `&` or `|`");
                span?;
                waiting.pop();
            }
        }
    }

    fn operand(&mut self, kind: Kind, span: Span) -> Result<Bdd> {
        let text = self.tokens.text(span);
        match kind {
            Kind::True => Ok(self.manager.constant(true)),
            Kind::False => Ok(self.manager.constant(false)),
            Kind::Integer => {
                let number = self.tokens.number(span)?;
                match self.vars.get(number as usize) {
                    Some(&var) => Ok(self.manager.var(var)?),
                    None => Err(Diagnostic::error(
                        span,
                        format!("there is no atomic proposition {number}"),
                    )
                    .label(format!("`AP:` declares {}", self.vars.len()))
                    .into()),
                }
            }
            Kind::Alias => match self.aliases.get(text) {
                Some(label) => Ok(label.clone()),
                None => Err(
                    Diagnostic::error(span, format!("the alias `{text}` is not defined"))
                        .label("not defined before this")
                        .into(),
                ),
            },
            _ => Err(self
                .tokens
                .unexpected(
                    kind,
                    span,
                    "a proposition's number, an alias, `t`, `f`, `!` or `(`",
                )
                .into()),
        }
    }

    /// A label in brackets, if there is one.
    fn bracketed(&mut self) -> Result<Option<(Bdd, Span)>> {
        if self.tokens.peek() != Kind::OpenBracket {
            return Ok(None);
        }
        let (_, span) = self.tokens.take();
        let label = self.label()?;
        let end = self.tokens.expect(Kind::CloseBracket, "`]`, `&` or `|`")?;
        Ok(Some((label, span.to(end))))
    }

    /// The sets in braces, if there are any.
    fn sets(&mut self, most: u32) -> Result<Vec<u32>> {
        let mut sets = Vec::new();
        if self.tokens.peek() != Kind::OpenBrace {
            return Ok(sets);
        }
        self.tokens.take();
        while self.tokens.peek() == Kind::Integer {
            let (set, span) = self.tokens.integer("an acceptance set")?;
            if set >= most {
                return Err(
                    Diagnostic::error(span, format!("there is no acceptance set {set}"))
                        .label(format!("`Acceptance:` declares {most}"))
                        .into(),
                );
            }
            sets.push(set);
        }
        self.tokens
            .expect(Kind::CloseBrace, "an acceptance set or `}`")?;
        Ok(sets)
    }

    fn body(&mut self, sets: u32) -> Result<Vec<Declared>> {
        let mut declared: Vec<Declared> = Vec::new();
        loop {
            let (kind, span) = self.tokens.take();
            if kind == Kind::End {
                return Ok(declared);
            }
            if kind != Kind::Header || self.tokens.text(span) != "State:" {
                return Err(self
                    .tokens
                    .unexpected(kind, span, "`State:` or `--END--`")
                    .into());
            }
            let label = self.bracketed()?;
            let (number, span) = self.tokens.integer("the number of a state")?;
            let name = (self.tokens.peek() == Kind::String).then(|| {
                let (_, span) = self.tokens.take();
                self.tokens.string(span)
            });
            let own_sets = self.sets(sets)?;
            let mut edges: Vec<(Option<Bdd>, u32, Span, Vec<u32>)> = Vec::new();
            while matches!(self.tokens.peek(), Kind::OpenBracket | Kind::Integer) {
                self.manager.check_limits()?;
                let guard = self.bracketed()?;
                if let (Some(_), Some((_, here))) = (&label, &guard) {
                    return Err(Diagnostic::error(*here, "the state has a label already")
                        .label("an edge of a labelled state has none")
                        .into());
                }
                let (target, at) = self.tokens.integer("the state that the edge leads to")?;
                self.no_conjunction("the states that an edge leads to")?;
                let mut marks = self.sets(sets)?;
                marks.extend_from_slice(&own_sets);
                if let Some((first, ..)) = edges.first()
                    && first.is_some() != guard.is_some()
                {
                    return Err(Diagnostic::error(
                        at,
                        "either all edges of a state have labels or none has",
                    )
                    .label("this edge differs from the first one of its state")
                    .into());
                }
                edges.push((guard.map(|(label, _)| label), target, at, marks));
            }
            let label = label.map(|(label, _)| label);
            let edges = self.labelled(edges, label.as_ref(), span)?;
            declared.push(Declared {
                number,
                span,
                name,
                edges,
            });
        }
    }

    /// Gives every edge its label: its own, the state's, or the one that its place stands for.
    fn labelled(
        &self,
        edges: Vec<(Option<Bdd>, u32, Span, Vec<u32>)>,
        state: Option<&Bdd>,
        span: Span,
    ) -> Result<Vec<Listed>> {
        let implicit = state.is_none() && edges.first().is_some_and(|edge| edge.0.is_none());
        if implicit {
            let expected = 1usize.checked_shl(self.vars.len() as u32);
            if Some(edges.len()) != expected {
                let count = |n: usize, what: &str| counted(n as u64, what);
                let letters = expected.map_or_else(
                    || format!("2^{} letters", self.vars.len()),
                    |letters| count(letters, "letter"),
                );
                return Err(Diagnostic::error(
                    span,
                    "a state without labels has one edge for each letter",
                )
                .label(format!(
                    "{}, but there are {letters}, for {}",
                    count(edges.len(), "edge"),
                    count(self.vars.len(), "atomic proposition"),
                ))
                .into());
            }
        }
        let mut list = Vec::with_capacity(edges.len());
        for (i, (own, target, at, sets)) in edges.into_iter().enumerate() {
            let guard = match (own, state) {
                (Some(own), _) => own,
                (None, Some(label)) => label.clone(),
                (None, None) => {
                    let bits = self.vars.iter().enumerate();
                    self.manager
                        .minterm(bits.map(|(j, &var)| (var, i >> j & 1 != 0)))?
                }
            };
            list.push(Listed {
                guard,
                target,
                span: at,
                sets,
            });
        }
        Ok(list)
    }

    fn build(
        &self,
        declared: Vec<Declared>,
        condition: &Condition,
        ids: &[AtomId],
        atoms: usize,
    ) -> Result<Tgba> {
        let count = self.check_numbers(&declared)?;
        let mut states = vec![StateInfo::default(); count as usize];
        let mut edges: Vec<NewEdge> = Vec::new();
        let mut covers: FxHashMap<Bdd, Vec<Vec<Literal>>> = FxHashMap::default();
        for state in declared {
            states[state.number as usize].name = state.name;
            for edge in state.edges {
                if !covers.contains_key(&edge.guard) {
                    let cubes = cover(&self.manager, &edge.guard)?.into_iter().map(|cube| {
                        cube.into_iter()
                            .map(|(var, value)| Literal::new(ids[var.0 as usize], value))
                            .collect()
                    });
                    covers.insert(edge.guard.clone(), cubes.collect());
                }
                edges.push(NewEdge {
                    source: state.number,
                    guard: covers[&edge.guard].clone(),
                    marks: condition.marks(&edge.sets),
                    target: edge.target,
                });
            }
        }
        let initial = if let [(only, _)] = self.starts[..] {
            only
        } else {
            // One new state with the edges of all initial ones; without any, nothing is accepted.
            let new = states.len() as u32;
            states.push(StateInfo::default());
            let mut starts: Vec<u32> = self.starts.iter().map(|&(state, _)| state).collect();
            starts.sort_unstable();
            starts.dedup();
            let copies: Vec<NewEdge> = edges
                .iter()
                .filter(|edge| starts.binary_search(&edge.source).is_ok())
                .map(|edge| NewEdge {
                    source: new,
                    ..edge.clone()
                })
                .collect();
            edges.extend(copies);
            new
        };
        debug_assert!(condition.count() <= MOST_MARKS);
        Ok(Tgba::new(atoms, initial, states, edges, condition.count()))
    }

    /// States are numbered from 0 and each is declared once; edges lead to declared ones.
    fn check_numbers(&self, declared: &[Declared]) -> Result<u32> {
        let count = declared.len() as u32;
        let mut seen: Vec<Option<Span>> = vec![None; declared.len()];
        for state in declared {
            let number = state.number;
            let announced = self.states.map(|(announced, _)| announced);
            match seen.get_mut(number as usize) {
                Some(place @ None) => *place = Some(state.span),
                Some(&mut Some(first)) => {
                    return Err(Diagnostic::error(
                        state.span,
                        format!("state {number} is declared twice"),
                    )
                    .label("the second time")
                    .also(first, "the first time")
                    .into());
                }
                None if announced.is_some_and(|n| number >= n) => {
                    return Err(Diagnostic::error(
                        state.span,
                        format!("there is no state {number}"),
                    )
                    .label("`States:` does not announce so many; the first is state 0")
                    .into());
                }
                None => {
                    return Err(Diagnostic::error(
                        state.span,
                        format!("the states up to {number} are not all declared"),
                    )
                    .label(format!(
                        "there are only {}",
                        counted(u64::from(count), "state")
                    ))
                    .into());
                }
            }
        }
        if let Some((announced, span)) = self.states
            && announced != count
        {
            return Err(Diagnostic::error(
                span,
                format!(
                    "{} announced, but {count} declared",
                    counted(u64::from(announced), "state")
                ),
            )
            .label("does not agree with the body")
            .into());
        }
        let targets = declared.iter().flat_map(|state| &state.edges);
        let targets = targets.map(|edge| (edge.target, edge.span));
        for (target, span) in targets.chain(self.starts.iter().copied()) {
            if target >= count {
                return Err(
                    Diagnostic::error(span, format!("there is no state {target}"))
                        .label(format!("there are {count}, numbered from 0"))
                        .into(),
                );
            }
        }
        Ok(count)
    }
}
