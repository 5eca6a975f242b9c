//! The one form that every reader makes and every writer takes: a pushdown system with names, the
//! texts of its weights, and two sets of configurations.
//!
//! Weights stay texts here, because what they mean depends on the domain, which may be chosen
//! after the file has been read. Each different text is kept once, with the place where it was
//! seen first, so that a weight that does not fit can be shown where it stands.

use std::borrow::Cow;
use std::collections::BTreeSet;

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::names::Names;
use crate::problems::{Enough, Problems};
use crate::weight::DomainName;

/// Any stack symbol: on the left of a rule, whatever is on top; on its right, that symbol again.
pub const ANY: u32 = u32::MAX;

/// The weight of what has none written: the domain's `one`.
pub const ONE: WeightId = WeightId(u32::MAX);

/// A weight of a [`System`], by the number of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeightId(pub u32);

/// What a rule puts on the stack, the new top first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    /// Nothing.
    Pop,
    /// One symbol.
    Step(u32),
    /// Two symbols.
    Push(u32, u32),
    /// Three symbols or more: those with this number in [`System::long`].
    Long(u32),
}

/// A rule. States and symbols are numbers of names; a symbol may be [`ANY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The control state it starts in.
    pub from: u32,
    /// The symbol on top.
    pub top: u32,
    /// The control state it leads to.
    pub to: u32,
    /// What replaces the symbol.
    pub right: Right,
    /// Its weight.
    pub weight: WeightId,
    /// The text that names its merge function; [`ONE`] if it has none.
    pub merge: WeightId,
}

/// Texts, each with the place where it was seen first.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    names: Names,
    places: Vec<Span>,
}

impl Texts {
    /// The number of a text. `None` if there are too many.
    #[inline]
    pub fn intern(&mut self, text: &str, place: Span) -> Option<WeightId> {
        let id = self.names.intern(text)?;
        if id as usize == self.places.len() {
            self.places.push(place);
        }
        Some(WeightId(id))
    }

    /// The text, and where it was seen first.
    pub fn get(&self, id: WeightId) -> (Cow<'_, str>, Span) {
        let place = self.places.get(id.0 as usize).copied();
        (self.names.get(id.0), place.unwrap_or_default())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// A state of an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A control state of the system.
    Control(u32),
    /// A state that only the automaton has.
    Extra(u32),
}

/// What a transition of an automaton reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// Nothing.
    Epsilon,
    /// A symbol.
    One(u32),
    /// Any symbol but these, which are sorted.
    Except(Box<[u32]>),
}

/// A transition of an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it starts.
    pub from: Place,
    /// What it reads.
    pub label: Label,
    /// Where it leads.
    pub to: Place,
    /// Its weight.
    pub weight: WeightId,
}

/// In which order the weights along a path of an automaton are extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// From the top of the stack.
    FromTop,
    /// From its bottom.
    FromBottom,
}

/// A set of configurations, as an automaton that begins in the control states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configurations {
    /// How many states there are beside the control states.
    pub extra: u32,
    /// The transitions.
    pub edges: Vec<Edge>,
    /// The final states, each with a weight that paths have at their end.
    pub accepting: Vec<(Place, WeightId)>,
    /// In which order weights are extended, if the file says so.
    pub reading: Option<Reading>,
    /// Where the first transition of an automaton is written, if it is known.
    pub place: Option<Span>,
}

impl Configurations {
    /// Whether nothing is in the set, for want of a final state.
    pub fn is_empty(&self) -> bool {
        self.accepting.is_empty()
    }

    /// What is wrong with an automaton that has transitions but no final state.
    pub fn without_end(&self) -> Option<Diagnostic> {
        let place = self.place.filter(|_| self.is_empty())?;
        let what = "the automaton has no final state, so no configuration is in it";
        Some(Diagnostic::error(place, what))
    }

    /// A new state.
    pub fn state(&mut self) -> Place {
        self.extra += 1;
        Place::Extra(self.extra - 1)
    }

    /// Adds a transition without a weight.
    pub fn edge(&mut self, from: Place, label: Label, to: Place) {
        self.edges.push(Edge {
            from,
            label,
            to,
            weight: ONE,
        });
    }
}

/// A pushdown system as it was written.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// What its weights are, if the file says so.
    pub domain: Option<DomainName>,
    /// Whether the file does not say so after all: the domain is what its format is read in unless
    /// another one is asked for.
    pub supposed: bool,
    /// The control states.
    pub states: Names,
    /// The stack symbols.
    pub symbols: Names,
    /// The rules, in the order of the file.
    pub rules: Vec<Rule>,
    /// Right-hand sides of three symbols or more.
    pub long: Vec<Box<[u32]>>,
    /// The texts of weights.
    pub weights: Texts,
    /// Where runs begin.
    pub initial: Configurations,
    /// Where they are to lead.
    pub target: Configurations,
    /// Whether its format has a line that declares control states without rules.
    pub declares_states: bool,
    /// Where it is announced how many control states and symbols there are, if it is.
    pub announced: Span,
}

impl System {
    /// The symbols on the right of a rule, the new top first.
    pub fn right<'a>(&'a self, rule: &Rule, room: &'a mut [u32; 2]) -> &'a [u32] {
        match rule.right {
            Right::Pop => &[],
            Right::Step(symbol) => {
                room[0] = symbol;
                &room[..1]
            }
            Right::Push(first, second) => {
                *room = [first, second];
                &room[..]
            }
            Right::Long(id) => &self.long[id as usize],
        }
    }

    /// The right-hand side of these symbols.
    pub fn make_right(&mut self, symbols: &[u32]) -> Right {
        match *symbols {
            [] => Right::Pop,
            [only] => Right::Step(only),
            [first, second] => Right::Push(first, second),
            _ => {
                self.long.push(symbols.into());
                Right::Long(self.long.len() as u32 - 1)
            }
        }
    }

    /// The text of a weight, if one is written.
    pub fn weight_text(&self, id: WeightId) -> Option<Cow<'_, str>> {
        (id != ONE).then(|| self.weights.get(id).0)
    }

    /// Whether nothing is written for a weight, or its domain's `one`.
    pub fn is_one(&self, id: WeightId) -> bool {
        let domain = self.domain.as_ref().unwrap_or(&DomainName::Bool);
        self.weight_text(id).is_none_or(|text| domain.is_one(&text))
    }

    /// Leaves only whether there is a path: weights are left out, but for those that say that there
    /// is none.
    pub fn forget_weights(&mut self) {
        self.forget_merges();
        let merged: Vec<Option<String>> = (self.rules.iter())
            .map(|rule| self.weight_text(rule.merge).map(Cow::into_owned))
            .collect();
        self.count_steps();
        let mut weights = Texts::default();
        let never = weights.intern("false", Span::default()).unwrap_or(ONE);
        let is_never = |id: WeightId| self.weight_text(id).is_some_and(|text| text == "inf");
        let bool = |id: WeightId| if is_never(id) { never } else { ONE };
        let mut merge = |name: Option<String>| {
            name.and_then(|name| weights.intern(&name, Span::default()))
                .unwrap_or(ONE)
        };
        let rules: Vec<Rule> = (self.rules.iter().zip(merged))
            .map(|(rule, name)| Rule {
                weight: bool(rule.weight),
                merge: merge(name),
                ..*rule
            })
            .collect();
        let ends = |set: &Configurations| {
            let ends = set.accepting.iter();
            ends.map(|&(place, id)| (place, bool(id))).collect()
        };
        let (initial, target) = (ends(&self.initial), ends(&self.target));
        self.initial.accepting = initial;
        self.target.accepting = target;
        self.rules = rules;
        self.weights = weights;
        self.domain = Some(DomainName::Bool);
    }

    /// Reads weights of the one domain of numbers as weights of the other. Numbers stay what they are;
    /// the infinity that says that there is no path goes on saying so, though it is written in another way.
    /// The other infinity, of paths that get better without end, has no counterpart.
    pub fn read_numbers_as(&mut self, domain: &DomainName) -> Result<(), Vec<Diagnostic>> {
        let Some(own) = self.domain.clone().filter(|own| own != domain) else {
            return Ok(());
        };
        let none = if *domain == DomainName::MaxPlus {
            "-inf"
        } else {
            "inf"
        };
        let mut problems = Problems::default();
        let (mut weights, mut ids) = (Texts::default(), Vec::with_capacity(self.weights.len()));
        for id in 0..self.weights.len() as u32 {
            let (text, place) = self.weights.get(WeightId(id));
            if own.is_endless(&text) {
                let what = format!(
                    "the weight `{text}` of {own} is one of paths that get better without end; \
                     {domain} has none for them"
                );
                let error = Diagnostic::error(place, what);
                let help = format!("the file says that its weights are of the domain {own}");
                if let Err(Enough) = problems.error(error.help(help)) {
                    break;
                }
            }
            let text = if own.is_none(&text) { none } else { &*text };
            ids.push(weights.intern(text, place).unwrap_or(ONE));
        }
        let ((), _) = problems.finish(())?;
        let new = |id: &mut WeightId| *id = ids.get(id.0 as usize).copied().unwrap_or(ONE);
        for rule in &mut self.rules {
            new(&mut rule.weight);
            new(&mut rule.merge);
        }
        for set in [&mut self.initial, &mut self.target] {
            set.edges.iter_mut().for_each(|edge| new(&mut edge.weight));
            set.accepting.iter_mut().for_each(|(_, id)| new(id));
        }
        self.weights = weights;
        self.domain = Some(domain.clone());
        Ok(())
    }

    /// Leaves out merge functions where they make no difference to whether there is a path. They do
    /// for a rule whose weight says that there is none: its callee returns all the same.
    pub fn forget_merges(&mut self) {
        let domain = self.domain.clone().unwrap_or(DomainName::Bool);
        for rule in self.rules.iter_mut().filter(|rule| rule.merge != ONE) {
            let text = (rule.weight != ONE).then(|| self.weights.get(rule.weight).0);
            if !text.is_some_and(|text| domain.is_none(&text)) {
                rule.merge = ONE;
            }
        }
    }

    /// Whether there is a merge function.
    pub fn has_merges(&self) -> bool {
        self.rules.iter().any(|rule| rule.merge != ONE)
    }

    /// Gives every rule and nothing else the weight of one step. What has a weight that says that
    /// there is no path keeps that.
    pub fn count_steps(&mut self) {
        let domain = self.domain.clone().unwrap_or(DomainName::Bool);
        let none: Vec<bool> = (0..self.weights.len() as u32)
            .map(|id| domain.is_none(&self.weights.get(WeightId(id)).0))
            .collect();
        let is_none = |id: WeightId| none.get(id.0 as usize).is_some_and(|none| *none);
        self.weights = Texts::default();
        let step = self.weights.intern("1", Span::default()).unwrap_or(ONE);
        // A rule that is none keeps its number, and a set that has nothing in it is still given.
        let never = self.weights.intern("inf", Span::default()).unwrap_or(ONE);
        for set in [&mut self.initial, &mut self.target] {
            set.edges.retain(|edge| !is_none(edge.weight));
            set.edges.iter_mut().for_each(|edge| edge.weight = ONE);
            for (_, weight) in &mut set.accepting {
                *weight = if is_none(*weight) { never } else { ONE };
            }
        }
        for rule in &mut self.rules {
            rule.weight = if is_none(rule.weight) { never } else { step };
            rule.merge = ONE;
        }
    }

    /// Whether any weight is written.
    pub fn has_weights(&self) -> bool {
        !self.weights.is_empty()
    }
}

/// The same names, rules in the same order, the same sets; weights are the same if their texts are.
impl PartialEq for System {
    fn eq(&self, other: &Self) -> bool {
        let rules = |system: &Self| {
            let all = system.rules.iter().map(|rule| {
                let right = system.right(rule, &mut [0; 2]).to_vec();
                let texts =
                    [rule.weight, rule.merge].map(|id| system.weight_text(id).map(Cow::into_owned));
                (rule.from, rule.top, rule.to, right, texts)
            });
            all.collect::<Vec<_>>()
        };
        let set = |system: &Self, set: &Configurations| {
            let text = |id| system.weight_text(id).map(Cow::into_owned);
            let edges = set.edges.iter();
            let edges = edges.map(|e| (e.from, e.label.clone(), e.to, text(e.weight)));
            let finals = set.accepting.iter().map(|(place, id)| (*place, text(*id)));
            (
                set.extra,
                edges.collect::<Vec<_>>(),
                finals.collect::<Vec<_>>(),
                set.reading,
            )
        };
        self.domain == other.domain
            && self.states == other.states
            && self.symbols == other.symbols
            && rules(self) == rules(other)
            && set(self, &self.initial) == set(other, &other.initial)
            && set(self, &self.target) == set(other, &other.target)
    }
}

/// A thread of a concurrent pushdown system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// The least and the greatest stack symbol that are announced.
    pub symbols: (u32, u32),
    /// Other symbols that its rules have nevertheless.
    pub others: BTreeSet<u32>,
    /// Its rules: shared state and top symbol; shared state and at most two symbols, the new top
    /// first. No top symbol stands for an empty stack.
    pub rules: Vec<ThreadRule>,
}

impl Thread {
    /// Whether this is one of its stack symbols.
    pub fn has(&self, symbol: u32) -> bool {
        let (least, greatest) = self.symbols;
        (least..=greatest).contains(&symbol) || self.others.contains(&symbol)
    }
}

/// A rule of a [`Thread`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRule {
    /// The shared state it starts in.
    pub from: u32,
    /// The symbol on top; none if the stack must be empty.
    pub top: Option<u32>,
    /// The shared state it leads to.
    pub to: u32,
    /// What replaces the symbol, the new top first: at most two symbols.
    pub right: Vec<u32>,
}

/// A concurrent pushdown system: threads with a stack each, which share a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concurrent {
    /// How many shared states there are; they are numbers from 0.
    pub shared: u32,
    /// Shared state and stacks, top first, in which it begins, if the file says so.
    pub initial: Option<(u32, Vec<Vec<u32>>)>,
    /// The threads.
    pub threads: Vec<Thread>,
}
