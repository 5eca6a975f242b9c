//! Sets of configurations as text: `<p, a b*>`, `<p> a b*`, `<[p, q], .*>`, alternatives between
//! `|`; or an automaton, one line for each transition and final state.

use droste_base::{Guard, Limits, StopReason};
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;
use droste_source::{SourceFile, Span};

use crate::names::Names;
use crate::problems::{Enough, Problems, span, too_many_names};
use crate::read::json_list;
use crate::regex::{Regex, Symbols, set};
use crate::scanner::Scanner;
use crate::system::{ANY, Configurations, Edge, Label, ONE, Place, Reading, System, WeightId};
use crate::{pdaaal, wali};

/// Why a set could not be read.
#[derive(Debug)]
pub enum SetError {
    /// The text is wrong.
    Wrong(Vec<Diagnostic>),
    /// A limit was reached.
    Stopped(StopReason),
}

impl From<Diagnostic> for SetError {
    fn from(error: Diagnostic) -> Self {
        SetError::Wrong(vec![error])
    }
}

impl From<StopReason> for SetError {
    fn from(reason: StopReason) -> Self {
        SetError::Stopped(reason)
    }
}

/// Where names of a set are looked up.
pub(crate) struct Scope<'a> {
    pub(crate) system: &'a mut System,
    /// Symbols that no rule has, where they were met.
    pub(crate) unknown: Vec<(String, Span)>,
    /// How many symbols there were at first.
    known: u32,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(system: &'a mut System) -> Self {
        let known = system.symbols.len();
        Scope {
            system,
            unknown: Vec::new(),
            known,
        }
    }

    /// A control state, which must be known.
    pub(crate) fn state(&self, name: &str, place: Span) -> Result<u32, Diagnostic> {
        self.system.states.find(name).ok_or_else(|| {
            let error = Diagnostic::error(place, format!("there is no control state `{name}`"));
            let error = error.label("no rule has it");
            match suggestion(name, &self.system.states) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None if self.system.declares_states => {
                    error.help("a state without rules is declared with a line `states …`")
                }
                None => error,
            }
        })
    }

    /// The message about symbols that no rule has.
    pub(crate) fn warnings(&mut self) -> Vec<Diagnostic> {
        let known = self.known;
        let unknown = std::mem::take(&mut self.unknown);
        // A rule for any symbol is one for this symbol, too; but the name may be a slip.
        let any = self.system.rules.iter().any(|rule| rule.top == ANY);
        let has = if any { "names" } else { "has" };
        let warnings = unknown.into_iter().filter_map(|(name, place)| {
            let warning = Diagnostic::warning(place, format!("no rule {has} the symbol `{name}`"));
            match suggestion_below(&name, &self.system.symbols, known) {
                Some(near) => Some(warning.help(format!("did you mean `{near}`?"))),
                None => (!any).then_some(warning),
            }
        });
        warnings.collect()
    }
}

/// More names than this are not compared with one that is not there.
const COMPARED: usize = 100_000;

fn suggestion(name: &str, names: &Names) -> Option<String> {
    suggestion_below(name, names, names.len())
}

fn suggestion_below(name: &str, names: &Names, count: u32) -> Option<String> {
    suggestion_among(name, names, 0..count)
}

/// Of the names with these numbers, the one that may have been meant.
pub(crate) fn suggestion_among(
    name: &str,
    names: &Names,
    ids: impl Iterator<Item = u32>,
) -> Option<String> {
    let candidates: Vec<_> = (ids.take(COMPARED).map(|id| names.get(id))).collect();
    nearest(name, candidates.iter().map(|name| &**name)).map(str::to_owned)
}

impl Symbols for Scope<'_> {
    fn symbol(&mut self, name: &str, place: Span) -> Result<u32, Diagnostic> {
        let count = self.system.symbols.len();
        let symbols = &mut self.system.symbols;
        let id = symbols.intern(name).ok_or_else(|| too_many_names(place))?;
        if id >= count {
            self.unknown.push((name.to_owned(), place));
        }
        Ok(id)
    }
}

/// The weight after a colon, if there is one.
pub(crate) fn weight(
    scanner: &mut Scanner<'_>,
    system: &mut System,
) -> Result<WeightId, Diagnostic> {
    if !scanner.eat(b':') {
        return match scanner.peek() {
            None => Ok(ONE),
            // The next set follows.
            Some(_) if scanner.is_free() => Ok(ONE),
            Some(_) => Err(scanner.expected("`:` and a weight, or the end of the line")),
        };
    }
    let (text, place) = scanner.rest();
    if text.is_empty() {
        return Err(Diagnostic::error(place, "expected a weight after `:`")
            .help("without a weight, leave the colon out"));
    }
    let weights = &mut system.weights;
    weights
        .intern(text, place)
        .ok_or_else(|| too_many_names(place))
}

/// `<p, regex>` and its like, between `|`, up to a colon or the end.
pub(crate) fn atoms(
    scanner: &mut Scanner<'_>,
    scope: &mut Scope<'_>,
) -> Result<Vec<(Vec<u32>, Regex)>, Diagnostic> {
    let mut atoms = Vec::new();
    loop {
        atoms.push(atom(scanner, scope)?);
        if !scanner.eat(b'|') {
            return Ok(atoms);
        }
    }
}

fn atom(scanner: &mut Scanner<'_>, scope: &mut Scope<'_>) -> Result<(Vec<u32>, Regex), Diagnostic> {
    if !scanner.eat(b'<') {
        return Err(scanner
            .expected("a set of configurations")
            .help("for example `<p, a b*>` or `<[p, q], .*>`"));
    }
    let several = scanner.eat(b'[');
    let mut states = Vec::new();
    loop {
        let Some((name, place)) = scanner.name()? else {
            return Err(scanner.expected("a control state"));
        };
        states.push(scope.state(&name, place)?);
        if !several || !scanner.eat(b',') {
            break;
        }
    }
    if several && !scanner.eat(b']') {
        return Err(scanner.expected("`,` or `]`"));
    }
    states.sort_unstable();
    states.dedup();
    let inside = scanner.eat(b',');
    if !inside && !scanner.eat(b'>') {
        return Err(scanner.expected("`,` or `>`"));
    }
    let regex = Regex::parse(scanner, scope)?;
    if inside && !scanner.eat(b'>') {
        return Err(scanner.expected("a symbol or `>`"));
    }
    Ok((states, regex))
}

/// A set that is being read line by line.
#[derive(Default)]
pub(crate) struct SetReader {
    pub(crate) set: Configurations,
    extra: Names,
}

impl SetReader {
    /// A line: configurations, or a part of an automaton.
    pub(crate) fn line(
        &mut self,
        scanner: &mut Scanner<'_>,
        scope: &mut Scope<'_>,
        guard: &mut Guard,
    ) -> Result<(), SetError> {
        if scanner.peek() == Some(b'<') {
            let atoms = atoms(scanner, scope)?;
            let weight = weight(scanner, scope.system)?;
            for (states, regex) in atoms {
                regex.add_to(&mut self.set, &states, weight, guard)?;
            }
            return Ok(());
        }
        let here = scanner.here();
        match scanner.name()?.as_ref().map(|(word, _)| &**word) {
            Some("edge") => {
                let place = span(here.start as usize, scanner.at());
                self.set.place.get_or_insert(place);
                Ok(self.transition(scanner, scope)?)
            }
            Some("final") => {
                let place = self.place(scanner, scope)?;
                let weight = weight(scanner, scope.system)?;
                self.set.accepting.push((place, weight));
                Ok(())
            }
            Some("from") => {
                self.set.reading = match scanner.name()?.as_ref().map(|(word, _)| &**word) {
                    Some("top") => Some(Reading::FromTop),
                    Some("bottom") => Some(Reading::FromBottom),
                    _ => return Err(scanner.expected("`top` or `bottom`").into()),
                };
                Ok(())
            }
            _ => {
                let what = "expected `<`, `edge`, `final` or `from`";
                let error = Diagnostic::error(here, what);
                Err(error.help("a set is written `<p, a b*>`").into())
            }
        }
    }

    fn place(&mut self, scanner: &mut Scanner<'_>, scope: &Scope<'_>) -> Result<Place, Diagnostic> {
        let extra = scanner.eat(b'@');
        let Some((name, place)) = scanner.name()? else {
            return Err(scanner.expected("a state: a control state, or `@` and a name"));
        };
        if !extra {
            return Ok(Place::Control(scope.state(&name, place)?));
        }
        let id = self
            .extra
            .intern(&name)
            .ok_or_else(|| too_many_names(place))?;
        self.set.extra = self.extra.len();
        Ok(Place::Extra(id))
    }

    /// `edge p a -> @1 : 3`, where instead of `a` there may be `.`, a set, or `()`.
    fn transition(
        &mut self,
        scanner: &mut Scanner<'_>,
        scope: &mut Scope<'_>,
    ) -> Result<(), Diagnostic> {
        let from = self.place(scanner, scope)?;
        let labels = match scanner.peek() {
            Some(b'.') => {
                scanner.eat(b'.');
                vec![Label::Except(Box::default())]
            }
            Some(b'[') => set(scanner, scope)?,
            Some(b'(') => {
                scanner.eat(b'(');
                if !scanner.eat(b')') {
                    return Err(scanner.expected("`)`: `()` reads nothing"));
                }
                vec![Label::Epsilon]
            }
            _ => match scanner.name()? {
                Some((name, place)) => vec![Label::One(scope.symbol(&name, place)?)],
                None => return Err(scanner.expected("a symbol, `.`, a set, or `()`")),
            },
        };
        if !scanner.eat_text("->") {
            return Err(scanner.expected("`->`"));
        }
        let to = self.place(scanner, scope)?;
        let weight = weight(scanner, scope.system)?;
        self.set.edges.extend(labels.into_iter().map(|label| Edge {
            from,
            label,
            to,
            weight,
        }));
        Ok(())
    }
}

/// Reads a set of configurations of a system: an expression as on the command line, the lines of a
/// file, PDAAAL's JSON or WALi's XML. With it come warnings.
pub fn read_set(
    source: &SourceFile,
    system: &mut System,
    limits: &Limits,
) -> Result<(Configurations, Vec<Diagnostic>), SetError> {
    let text = source.text();
    let begin = text.trim_start();
    if let Some(error) = json_list(text) {
        let what = "an automaton in JSON is an object, `{\"P-automaton\": …}`";
        return Err(SetError::Wrong(vec![error.help(what)]));
    }
    if begin.starts_with('{') {
        return Ok((pdaaal::read_automaton(text, system)?, Vec::new()));
    }
    if ["<?", "<!", "<WFA", "<Query"]
        .iter()
        .any(|tag| begin.starts_with(tag))
    {
        return wali::read_automaton(text, system).map_err(SetError::Wrong);
    }
    let mut guard = limits.guard();
    let mut scope = Scope::new(system);
    let mut reader = SetReader::default();
    let mut problems = Problems::default();
    let mut scanner = Scanner::free(text);
    let mut first = true;
    while scanner.peek().is_some() {
        // PDAAAL's files have `|` between sets.
        if !first && scanner.eat(b'|') && scanner.peek().is_none() {
            break;
        }
        first = false;
        match reader.line(&mut scanner, &mut scope, &mut guard) {
            Ok(()) => {}
            Err(SetError::Wrong(errors)) => {
                if errors
                    .into_iter()
                    .any(|e| matches!(problems.error(e), Err(Enough)))
                {
                    break;
                }
                scanner.skip_line();
            }
            Err(stopped) => return Err(stopped),
        }
    }
    if reader.set.is_empty() && !problems.has_errors() {
        if let Some(error) = reader.set.without_end() {
            return Err(error.help("for example `final @1`").into());
        }
        let error = Diagnostic::error(
            span(0, text.len().min(1)),
            "there is no configuration in it",
        );
        return Err(error.help("for example `<p, a b*>`").into());
    }
    for warning in scope.warnings() {
        problems.warning(warning);
    }
    problems.finish(reader.set).map_err(SetError::Wrong)
}
