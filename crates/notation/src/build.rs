//! From a system as it is written to the tables of the solver, in a weight domain.
//!
//! Any symbol `.` becomes every symbol of the system, and right-hand sides of three symbols and
//! more become several rules.

use droste_base::{Countable, Limits, StopReason, words};
use droste_pds::{
    Automaton, Direction, MergeId, Pds, PdsBuilder, Replace, StateId, SymbolId, Transition,
};
use droste_source::diagnostics::Diagnostic;

use crate::problems::{Enough, Problems};
use crate::system::{
    ANY, Configurations, Label, ONE, Place, Reading, Right, Rule, System, WeightId,
};
use crate::weight::Notation;

/// Why there are no tables.
#[derive(Debug)]
pub enum BuildError {
    /// Weights are not of the domain.
    Wrong(Vec<Diagnostic>),
    /// A limit was reached.
    Stopped(StopReason),
}

impl From<StopReason> for BuildError {
    fn from(reason: StopReason) -> Self {
        BuildError::Stopped(reason)
    }
}

/// The weights of a system, parsed.
#[derive(Debug)]
pub struct Weights<W> {
    one: W,
    all: Vec<W>,
}

impl<W> Weights<W> {
    /// The weight with this number.
    pub fn get(&self, id: WeightId) -> &W {
        self.all.get(id.0 as usize).unwrap_or(&self.one)
    }
}

/// Parses the weights of a system.
///
/// With `forget` they all count as `one`, unless they say that there is no path.
pub fn weights<D: Notation>(
    system: &System,
    domain: &D,
    forget: bool,
) -> Result<Weights<D::Weight>, BuildError> {
    let all = parsed(system, domain, forget, 0)?;
    let one = domain.one();
    Ok(Weights { one, all })
}

/// Whether the texts from this number on are weights of a domain: those of a set that was read from
/// another file than the system.
pub fn check_weights<D: Notation>(
    system: &System,
    domain: &D,
    forget: bool,
    first: usize,
) -> Result<(), BuildError> {
    parsed(system, domain, forget, first).map(|_| ())
}

/// The weights from this number on.
fn parsed<D: Notation>(
    system: &System,
    domain: &D,
    forget: bool,
    first: usize,
) -> Result<Vec<D::Weight>, BuildError> {
    let mut problems = Problems::default();
    let mut merges = vec![false; system.weights.len()];
    for rule in &system.rules {
        if rule.merge != ONE {
            merges[rule.merge.0 as usize] = true;
        }
    }
    let mut all = Vec::with_capacity(system.weights.len());
    for (id, is_merge) in (0..).zip(merges).skip(first) {
        let (text, place) = system.weights.get(WeightId(id));
        if is_merge {
            all.push(domain.one());
            continue;
        }
        if forget {
            let zero = system
                .domain
                .as_ref()
                .is_some_and(|domain| domain.is_none(&text));
            all.push(if zero { domain.zero() } else { domain.one() });
            continue;
        }
        match domain.parse(&text) {
            Ok(weight) => all.push(weight),
            Err(wrong) => {
                all.push(domain.zero());
                let error = Diagnostic::error(place, format!("the weight `{text}` {wrong}"));
                let name = (system.domain.as_ref()).map_or_else(String::new, |d| format!(" {d}"));
                let error = if name.is_empty() {
                    error.help(
                        "say which domain it is of with `--weight`; a file of Droste's own form \
                                also says it in a line `domain …`",
                    )
                } else {
                    error.help(format!("weights are of the domain{name}"))
                };
                if let Err(Enough) = problems.error(error) {
                    break;
                }
            }
        }
    }
    let (weights, _) = problems.finish(all).map_err(BuildError::Wrong)?;
    Ok(weights)
}

/// A pushdown system, and which rule as written each of its rules comes from.
#[derive(Debug)]
pub struct Built<W> {
    /// The system.
    pub pds: Pds<W>,
    /// For each rule its number in [`System::rules`]; none for those that go on with a long
    /// right-hand side.
    pub origin: Vec<Option<u32>>,
}

/// What the tables of the solver take, about, for each state and each symbol.
const BYTES_FOR_EACH: u64 = 48;
/// What they may take if no limit is set.
const MOST_BYTES: u64 = 16 << 30;

/// Tables have a place for every state and every symbol, used or not: a file may announce more than
/// there is memory for.
fn affordable(system: &System, limits: &Limits) -> Result<(), BuildError> {
    let count = u64::from(system.states.len()) + u64::from(system.symbols.len());
    let most = limits.memory.unwrap_or(MOST_BYTES);
    if count * BYTES_FOR_EACH > most {
        if count * BYTES_FOR_EACH <= MOST_BYTES {
            return Err(StopReason::Memory(most).into());
        }
        // No usual limit would do.
        let what = format!(
            "there are too many states and symbols: {}",
            words::count(count)
        );
        let error = Diagnostic::error(system.announced, what);
        return Err(BuildError::Wrong(vec![error]));
    }
    Ok(())
}

/// Makes the system.
pub fn pds<D: Notation>(
    system: &System,
    domain: &D,
    weights: &Weights<D::Weight>,
    limits: &Limits,
) -> Result<Built<D::Weight>, BuildError> {
    let mut guard = limits.guard();
    let symbols = system.symbols.len();
    affordable(system, limits)?;
    let merges = merges(system, domain)?;
    let mut builder = PdsBuilder::new(system.states.len(), symbols);
    let mut origin = Vec::with_capacity(system.rules.len());
    let one = domain.one();
    let mut stack = Vec::new();
    for (number, rule) in (0..).zip(&system.rules) {
        guard.check()?;
        let tops = if rule.top == ANY {
            0..symbols
        } else {
            rule.top..rule.top + 1
        };
        for top in tops {
            guard.check()?;
            if origin.len() >= u32::MAX as usize - 16 {
                let most = u64::from(u32::MAX - 16);
                return Err(StopReason::TooMany(Countable::States, most).into());
            }
            let weight = weights.get(rule.weight).clone();
            let merge = merges.get(rule.merge.0 as usize).copied().flatten();
            if let Some(rule) = plain(rule, top, merge) {
                builder.rule(rule, weight);
                origin.push(Some(number));
            } else {
                stack.clear();
                let right = system.right(rule, &mut [0; 2]).to_vec();
                stack.extend(
                    right
                        .iter()
                        .map(|&s| SymbolId(if s == ANY { top } else { s })),
                );
                let head = (StateId(rule.from), SymbolId(top));
                builder.long_rule(head, (StateId(rule.to), &stack), weight, &one);
                origin.push(Some(number));
                origin.extend((2..stack.len()).map(|_| None));
            }
        }
    }
    Ok(Built {
        pds: builder.build(),
        origin,
    })
}

/// The rule for one top symbol, unless its right-hand side is long.
fn plain(rule: &Rule, top: u32, merge: Option<MergeId>) -> Option<droste_pds::Rule> {
    let symbol = |s| SymbolId(if s == ANY { top } else { s });
    let replace = match rule.right {
        Right::Pop => Replace::Pop,
        Right::Step(only) => Replace::Step(symbol(only)),
        Right::Push(first, second) => Replace::Push(symbol(first), symbol(second)),
        Right::Long(_) => return None,
    };
    Some(droste_pds::Rule {
        from: StateId(rule.from),
        top: SymbolId(top),
        to: StateId(rule.to),
        replace,
        merge,
    })
}

/// For each text the merge function that it names.
fn merges<D: Notation>(system: &System, domain: &D) -> Result<Vec<Option<MergeId>>, BuildError> {
    let mut merges = vec![None; system.weights.len()];
    let mut problems = Problems::default();
    for rule in &system.rules {
        if rule.merge == ONE || merges[rule.merge.0 as usize].is_some() {
            continue;
        }
        let (name, place) = system.weights.get(rule.merge);
        merges[rule.merge.0 as usize] = domain.merge_named(&name);
        if merges[rule.merge.0 as usize].is_none() {
            let what = format!("the domain has no merge function `{name}`");
            let error = Diagnostic::error(place, what);
            if let Err(Enough) = problems
                .error(error.help("relations and `bool` have `locals`, other domains have none"))
            {
                break;
            }
        }
    }
    Ok(problems.finish(merges).map_err(BuildError::Wrong)?.0)
}

/// Makes an automaton for pre* (weights are extended from the top) or post* (from the bottom).
///
/// Weights along paths that were written for the other order are refused, unless the order makes no
/// difference.
pub fn automaton<D: Notation>(
    system: &System,
    set: &Configurations,
    domain: &D,
    weights: &Weights<D::Weight>,
    direction: Direction,
    limits: &Limits,
) -> Result<Automaton<D::Weight>, BuildError> {
    affordable(system, limits)?;
    let mut guard = limits.guard();
    let wanted = match direction {
        Direction::Forward => Reading::FromTop,
        Direction::Backward => Reading::FromBottom,
    };
    let other = set.reading.is_some_and(|reading| reading != wanted);
    if other && !domain.is_commutative() {
        let weighted = set.edges.iter().find(|edge| {
            edge.weight != ONE && !domain.equal(weights.get(edge.weight), &domain.one())
        });
        if let Some(edge) = weighted {
            let (_, place) = system.weights.get(edge.weight);
            let words = match wanted {
                Reading::FromTop => "from the top of the stack",
                Reading::FromBottom => "from the bottom of the stack",
            };
            let error = Diagnostic::error(
                place,
                format!("the weights of this automaton must be extended {words} here"),
            );
            let error = error.help("weights at final states can be used either way");
            return Err(BuildError::Wrong(vec![error]));
        }
    }
    let control = system.states.len();
    let mut automaton = Automaton::new(control, direction);
    for _ in 0..set.extra {
        automaton.state();
    }
    let state = |place: Place| match place {
        Place::Control(id) => StateId(id),
        Place::Extra(id) => StateId(control + id),
    };
    for edge in &set.edges {
        let (from, to) = (state(edge.from), state(edge.to));
        let weight = weights.get(edge.weight);
        let mut add = |symbol| {
            guard.check()?;
            automaton.add(domain, Transition::new(from, symbol, to), weight.clone())
        };
        match &edge.label {
            Label::Epsilon => add(SymbolId::EPSILON)?,
            Label::One(symbol) => add(SymbolId(*symbol))?,
            Label::Except(except) => {
                let mut except = except.iter().copied().peekable();
                for symbol in 0..system.symbols.len() {
                    if except.next_if_eq(&symbol).is_none() {
                        add(SymbolId(symbol))?;
                    }
                }
            }
        }
    }
    for &(place, weight) in &set.accepting {
        automaton.accept(domain, state(place), weights.get(weight).clone())?;
    }
    Ok(automaton)
}
