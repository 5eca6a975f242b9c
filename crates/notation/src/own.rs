//! Droste's own text format, `.wpds`: one line for each rule and each set of configurations.
//!
//! ```text
//! domain minplus
//! rule p a -> q b c : 3
//! init <p, a b*>
//! target <q, .* a>
//! ```
//!
//! Sets are read after all rules, so that a state that no rule has is a mistake wherever the line
//! stands.

use droste_base::{Guard, Limits, StopReason};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;
use rustc_hash::FxHashMap;

use crate::problems::{Enough, Problems, span, too_many_names};
use crate::read::ReadError;
use crate::scanner::Scanner;
use crate::sets::{Scope, SetError, SetReader, weight};
use crate::system::{ANY, ONE, Right, Rule, System, WeightId};
use crate::weight::DomainName;

const KEYWORDS: [&str; 7] = [
    "domain", "states", "symbols", "rule", "merge", "init", "target",
];

/// Left-hand side, state and right-hand side of a push.
type Push = (u32, u32, u32, Right);

struct Reader<'a> {
    text: &'a str,
    system: System,
    problems: Problems,
    /// Lines with sets, and whether they are about the target.
    sets: Vec<(usize, usize, bool)>,
    merges: Vec<(Push, WeightId, Span)>,
    /// The symbols on the right of the rule that is being read.
    right: Vec<u32>,
}

/// Reads a system.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<(System, Vec<Diagnostic>), ReadError> {
    let mut reader = Reader {
        text,
        system: System {
            declares_states: true,
            ..System::default()
        },
        problems: Problems::default(),
        sets: Vec::new(),
        merges: Vec::new(),
        right: Vec::new(),
    };
    let mut guard = limits.guard();
    match reader.all(&mut guard) {
        Ok(()) | Err(Stop::Enough) => Ok(reader.problems.finish(reader.system)?),
        Err(Stop::Limit(reason)) => Err(ReadError::Stopped(reason)),
    }
}

enum Stop {
    Enough,
    Limit(StopReason),
}

impl From<Enough> for Stop {
    fn from(_: Enough) -> Self {
        Stop::Enough
    }
}

impl From<StopReason> for Stop {
    fn from(reason: StopReason) -> Self {
        Stop::Limit(reason)
    }
}

impl Reader<'_> {
    fn all(&mut self, guard: &mut Guard) -> Result<(), Stop> {
        let mut start = 0;
        while start < self.text.len() {
            guard.check()?;
            let rest = &self.text[start..];
            let length = rest.find('\n').unwrap_or(rest.len());
            if let Err(error) = self.line(start, start + length) {
                self.problems.error(error)?;
                self.broken(start, start + length);
            }
            start += length + 1;
        }
        self.merges()?;
        self.configurations(guard)
    }

    /// The names of a line that is no line may be those of a rule: that others are missing is said only
    /// where no such line could have had them.
    fn broken(&mut self, start: usize, end: usize) {
        let mut scanner = Scanner::new(self.text, start, end);
        while scanner.peek().is_some() {
            let at = scanner.at();
            if let Ok(Some((name, _))) = scanner.name() {
                self.system.states.intern(&name);
                self.system.symbols.intern(&name);
            } else {
                let sign = self.text[at..].chars().next();
                scanner.jump(at + sign.map_or(1, char::len_utf8));
            }
        }
    }

    fn line(&mut self, start: usize, end: usize) -> Result<(), Diagnostic> {
        let mut scanner = Scanner::new(self.text, start, end);
        if scanner.peek().is_none() {
            return Ok(());
        }
        let begin = scanner.at();
        let word = scanner.name()?;
        match word.as_ref().map_or("", |(word, _)| word) {
            "rule" => self.rule(&mut scanner),
            "init" => {
                self.sets.push((scanner.at(), end, false));
                Ok(())
            }
            "target" => {
                self.sets.push((scanner.at(), end, true));
                Ok(())
            }
            "merge" => self.merge(&mut scanner, begin),
            "domain" => self.domain(&mut scanner),
            "states" | "symbols" => {
                let states = scanner.since(begin) == "states";
                while let Some((name, place)) = scanner.name()? {
                    let system = &mut self.system;
                    let names = if states {
                        &mut system.states
                    } else {
                        &mut system.symbols
                    };
                    names.intern(&name).ok_or_else(|| too_many_names(place))?;
                }
                match scanner.peek() {
                    None => Ok(()),
                    Some(_) => Err(scanner
                        .expected("a name")
                        .help("other names are put in quotes")),
                }
            }
            other => {
                scanner.jump(begin);
                let error = scanner.expected("a line that begins with `rule`, `init` or `target`");
                Err(match nearest(other, KEYWORDS.into_iter()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(format!("lines begin with {}", KEYWORDS.join(", "))),
                })
            }
        }
    }

    fn domain(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Diagnostic> {
        let (text, place) = scanner.rest();
        let domain = DomainName::parse(text).map_err(|wrong| Diagnostic::error(place, wrong))?;
        if (self.system.domain.as_ref()).is_some_and(|known| *known != domain) {
            return Err(Diagnostic::error(place, "the domain is declared twice"));
        }
        self.system.domain = Some(domain);
        Ok(())
    }

    fn state(&mut self, scanner: &mut Scanner<'_>) -> Result<u32, Diagnostic> {
        let Some((name, place)) = scanner.name()? else {
            return Err(scanner.expected("a control state"));
        };
        let states = &mut self.system.states;
        states.intern(&name).ok_or_else(|| too_many_names(place))
    }

    /// A symbol, or `.` for any; nothing if neither follows.
    fn symbol(&mut self, scanner: &mut Scanner<'_>) -> Result<Option<u32>, Diagnostic> {
        if let Some((name, place)) = scanner.name()? {
            let symbols = &mut self.system.symbols;
            return symbols
                .intern(&name)
                .map(Some)
                .ok_or_else(|| too_many_names(place));
        }
        Ok(scanner.eat(b'.').then_some(ANY))
    }

    /// `p a -> q b c`, with the symbols on the right in `self.right`.
    fn sides(&mut self, scanner: &mut Scanner<'_>) -> Result<(u32, u32, u32), Diagnostic> {
        let from = self.state(scanner)?;
        let Some(top) = self.symbol(scanner)? else {
            return Err(scanner.expected("the symbol on top of the stack"));
        };
        if !scanner.eat_text("->") {
            return Err(scanner
                .expected("`->`")
                .help("a rule is `rule p a -> q b c : weight`"));
        }
        let to = self.state(scanner)?;
        self.right.clear();
        loop {
            scanner.peek();
            let at = scanner.at();
            let Some(symbol) = self.symbol(scanner)? else {
                return Ok((from, top, to));
            };
            if symbol == ANY && top != ANY {
                let error = Diagnostic::error(span(at, at + 1), "`.` stands for no symbol here");
                return Err(
                    error.help("on the right it is the symbol that `.` on the left matched")
                );
            }
            self.right.push(symbol);
        }
    }

    fn rule(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Diagnostic> {
        let (from, top, to) = self.sides(scanner)?;
        let weight = weight(scanner, &mut self.system)
            .map_err(|error| error.help("names with other signs are put in quotes: `\"f::g\"`"))?;
        let right = self.system.make_right(&self.right);
        self.system.rules.push(Rule {
            from,
            top,
            to,
            right,
            weight,
            merge: ONE,
        });
        Ok(())
    }

    fn merge(&mut self, scanner: &mut Scanner<'_>, begin: usize) -> Result<(), Diagnostic> {
        let (from, top, to) = self.sides(scanner)?;
        let [first, second] = self.right[..] else {
            let place = span(begin, scanner.at());
            return Err(Diagnostic::error(
                place,
                "only a rule with two symbols on the right merges",
            ));
        };
        let place = span(begin, scanner.at());
        let name = weight(scanner, &mut self.system)?;
        if name == ONE {
            return Err(scanner.expected("`:` and the name of a merge function"));
        }
        self.merges
            .push(((from, top, to, Right::Push(first, second)), name, place));
        Ok(())
    }

    /// Gives rules their merge functions.
    fn merges(&mut self) -> Result<(), Enough> {
        // A rule may be in a line that could not be read.
        if self.merges.is_empty() || self.problems.has_errors() {
            return Ok(());
        }
        let mut found: FxHashMap<Push, (WeightId, bool)> = FxHashMap::default();
        found.extend(
            self.merges
                .iter()
                .map(|(push, name, _)| (*push, (*name, false))),
        );
        for rule in &mut self.system.rules {
            let push = (rule.from, rule.top, rule.to, rule.right);
            if let Some((name, used)) = found.get_mut(&push) {
                rule.merge = *name;
                *used = true;
            }
        }
        for (push, _, place) in &self.merges {
            if !found[push].1 {
                let error = Diagnostic::error(*place, "there is no such rule to merge");
                self.problems
                    .error(error.help("it has the sides of a line `rule`"))?;
            }
        }
        Ok(())
    }

    fn configurations(&mut self, guard: &mut Guard) -> Result<(), Stop> {
        let mut readers = [SetReader::default(), SetReader::default()];
        let mut scope = Scope::new(&mut self.system);
        for (start, end, target) in std::mem::take(&mut self.sets) {
            guard.check()?;
            let mut scanner = Scanner::new(self.text, start, end);
            match readers[usize::from(target)].line(&mut scanner, &mut scope, guard) {
                Ok(()) => {}
                Err(SetError::Wrong(errors)) => {
                    for error in errors {
                        self.problems.error(error)?;
                    }
                }
                Err(SetError::Stopped(reason)) => return Err(reason.into()),
            }
        }
        for warning in scope.warnings() {
            self.problems.warning(warning);
        }
        let [initial, target] = readers;
        self.system.initial = initial.set;
        self.system.target = target.set;
        Ok(())
    }
}
