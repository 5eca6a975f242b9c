//! The plain numeric form that generators print: `wpds STATES SYMBOLS RULES`, then a line for each
//! rule.
//!
//! ```text
//! wpds 1 4 3
//! r2 0 0 0 1 2 5
//! r1 0 1 0 3 1
//! r0 0 3 0 0
//! init 0 0
//! target 0 2
//! ```
//!
//! States and symbols are numbers from 0. `r0`, `r1` and `r2` have that many symbols on the right,
//! the new top first, and a weight at the end. `target q g` stands for all stacks with `g` on top
//! of any number of the symbols that lines `under` name.

use droste_base::Limits;
use droste_base::words::counted;
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::names::Names;
use crate::problems::{Problems, span, too_many_names};
use crate::read::ReadError;
use crate::system::{Label, ONE, Place, Right, Rule, System, WeightId};
use crate::weight::DomainName;

/// How many small numbers have their weights in a table.
const SMALL: usize = 1 << 12;

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    end: usize,
    system: System,
    /// The weights of small numbers.
    small: Vec<WeightId>,
    /// How many control states and symbols there are.
    states: u32,
    symbols: u32,
    initial: Vec<(u32, u32)>,
    target: Vec<(u32, u32)>,
    under: Vec<u32>,
}

/// Whether a text has the header of this form.
pub(crate) fn looks_like(line: &str) -> bool {
    line.split_whitespace().next() == Some("wpds")
}

/// Reads a system.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<(System, Vec<Diagnostic>), ReadError> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        text,
        at: 0,
        end: 0,
        system: System {
            domain: Some(DomainName::MinPlus),
            supposed: true,
            ..System::default()
        },
        small: vec![ONE; SMALL],
        states: 0,
        symbols: 0,
        initial: Vec::new(),
        target: Vec::new(),
        under: Vec::new(),
    };
    let mut problems = Problems::default();
    let mut guard = limits.guard();
    let mut announced: Option<usize> = None;
    // The line of the first rule that is not announced.
    let mut surplus = None;
    let mut start = 0;
    while start < text.len() {
        guard.check()?;
        let rest = &text[start..];
        let length = rest.find('\n').unwrap_or(rest.len());
        (reader.at, reader.end) = (start, start + length);
        let result = match announced {
            Some(_) => reader.line(),
            None => match reader.header() {
                Ok(header) => {
                    announced = header;
                    Ok(())
                }
                // Without it, nothing else makes sense.
                Err(error) => return Err(vec![error].into()),
            },
        };
        if let Err(error) = result
            && problems.error(error).is_err()
        {
            break;
        }
        if surplus.is_none() && announced.is_some_and(|most| reader.system.rules.len() > most) {
            surplus = Some(span(start, start + rest[..length].trim_end().len()));
        }
        start += length + 1;
    }
    let found = reader.system.rules.len();
    if let Some(announced) = announced
        && announced != found
        && !problems.has_errors()
    {
        let rules = counted(announced as u64, "rule");
        let what = format!("the first line announces {rules}, but the file has {found}");
        let end = text.trim_end().len();
        // It is the last one.
        let _ = problems.error(match surplus {
            Some(place) => Diagnostic::error(place, what).label("one rule too many"),
            None => Diagnostic::error(span(end.saturating_sub(1), end), what)
                .label("the file ends here")
                .help("is it cut short?"),
        });
    }
    reader.sets();
    Ok(problems.finish(reader.system)?)
}

impl Reader<'_> {
    #[inline]
    fn skip(&mut self) {
        while self.at < self.end && matches!(self.bytes[self.at], b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
        if self.at < self.end && self.bytes[self.at] == b'#' {
            self.at = self.end;
        }
    }

    /// The next word, which is empty at the end of the line.
    #[inline]
    fn word(&mut self) -> (usize, usize) {
        self.skip();
        let start = self.at;
        while self.at < self.end && !matches!(self.bytes[self.at], b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
        (start, self.at)
    }

    #[cold]
    fn wrong(&self, (start, end): (usize, usize), what: &str) -> Diagnostic {
        let found = match &self.text[start..end] {
            "" => "the line ends".to_owned(),
            word => format!("found `{word}`"),
        };
        let error = Diagnostic::error(span(start, end), format!("expected {what}, {found}"))
            .label(format!("expected {what}"));
        // The last line has no end.
        if end == self.bytes.len() {
            return error.help("is the file cut short?");
        }
        error
    }

    /// A number below a bound.
    #[inline]
    fn number(&mut self, bound: u32, what: &str) -> Result<u32, Diagnostic> {
        let (start, end) = self.word();
        let mut number = 0u64;
        let mut digits = end > start && end - start <= 10;
        for &byte in &self.bytes[start..end] {
            let digit = byte.wrapping_sub(b'0');
            digits &= digit < 10;
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
        if digits && number < u64::from(bound) {
            return Ok(number as u32);
        }
        Err(self.not_below(start, end, bound, what))
    }

    #[cold]
    fn not_below(&self, start: usize, end: usize, bound: u32, what: &str) -> Diagnostic {
        let word = &self.text[start..end];
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_digit()) {
            return self.wrong((start, end), &format!("the number of a {what}"));
        }
        let error = Diagnostic::error(span(start, end), format!("there is no {what} {word}"));
        error.help(format!(
            "the first line announces {bound}, which are numbered from 0"
        ))
    }

    /// The line `wpds STATES SYMBOLS RULES`; nothing if this is an empty line before it.
    fn header(&mut self) -> Result<Option<usize>, Diagnostic> {
        let (start, end) = self.word();
        match &self.text[start..end] {
            "" => return Ok(None),
            "wpds" => {}
            _ => return Err(self.wrong((start, end), "`wpds STATES SYMBOLS RULES`")),
        }
        let mut counts = [0; 3];
        let mut announced: Option<Span> = None;
        for (place, what) in counts.iter_mut().zip(["states", "symbols", "rules"]) {
            let (start, end) = self.word();
            let word = &self.text[start..end];
            let count = word.parse().ok().filter(|&count| count < Names::MOST);
            *place = count.ok_or_else(|| {
                if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
                    let what = format!("there are too many {what}: `{word}`");
                    let error = Diagnostic::error(span(start, end), what);
                    return error.help(format!("there may be up to {}", Names::MOST - 1));
                }
                self.wrong((start, end), &format!("the number of {what}"))
            })?;
            // Those of states and symbols.
            if what != "rules" {
                let place = span(start, end);
                announced = Some(announced.map_or(place, |first| first.to(place)));
            }
        }
        self.over()?;
        let [states, symbols, rules] = counts;
        (self.states, self.symbols) = (states, symbols);
        self.system.announced = announced.unwrap_or_default();
        self.system.states = Names::numbered(states);
        self.system.symbols = Names::numbered(symbols);
        // What is announced may not come: not more than the text can hold.
        let likely = (rules as usize).min(self.bytes.len() / 8);
        self.system.rules.reserve_exact(likely);
        Ok(Some(rules as usize))
    }

    fn over(&mut self) -> Result<(), Diagnostic> {
        self.skip();
        if self.at == self.end {
            return Ok(());
        }
        let word = self.word();
        Err(self.wrong(word, "the end of the line"))
    }

    fn line(&mut self) -> Result<(), Diagnostic> {
        let (start, end) = self.word();
        let count = match &self.bytes[start..end] {
            b"r0" => 0,
            b"r1" => 1,
            b"r2" => 2,
            b"" => return Ok(()),
            b"init" | b"target" => {
                let configuration = (
                    self.number(self.states, "state")?,
                    self.number(self.symbols, "symbol")?,
                );
                if self.bytes[start] == b'i' {
                    self.initial.push(configuration);
                } else {
                    self.target.push(configuration);
                }
                return self.over();
            }
            b"under" => {
                let symbol = self.number(self.symbols, "symbol")?;
                self.under.push(symbol);
                return self.over();
            }
            _ => {
                let what = "`r0`, `r1`, `r2`, `init`, `target` or `under`";
                return Err(self.wrong((start, end), what));
            }
        };
        let (states, symbols) = (self.states, self.symbols);
        let from = self.number(states, "state")?;
        let top = self.number(symbols, "symbol")?;
        let to = self.number(states, "state")?;
        let right = match count {
            0 => Right::Pop,
            1 => Right::Step(self.number(symbols, "symbol")?),
            _ => Right::Push(
                self.number(symbols, "symbol")?,
                self.number(symbols, "symbol")?,
            ),
        };
        let weight = self.weight()?;
        self.over()?;
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

    #[inline]
    fn weight(&mut self) -> Result<WeightId, Diagnostic> {
        let (start, end) = self.word();
        let word = &self.text[start..end];
        let small = match word.as_bytes() {
            [b'1'..=b'9' | b'0', rest @ ..] if rest.len() < 4 => word.parse().ok(),
            [] => return Err(self.wrong((start, end), "a weight")),
            _ => None,
        };
        let small = small.filter(|&small: &usize| small < SMALL);
        if let Some(small) = small
            && self.small[small] != ONE
        {
            return Ok(self.small[small]);
        }
        let place = span(start, end);
        let id = self.system.weights.intern(word, place);
        let id = id.ok_or_else(|| too_many_names(place))?;
        if let Some(small) = small
            && word == small.to_string()
        {
            self.small[small] = id;
        }
        Ok(id)
    }

    fn sets(&mut self) {
        for &(state, symbol) in &self.initial {
            let set = &mut self.system.initial;
            let end = set.state();
            set.edge(Place::Control(state), Label::One(symbol), end);
            set.accepting.push((end, ONE));
        }
        let set = &mut self.system.target;
        if self.target.is_empty() {
            return;
        }
        let end = set.state();
        for &(state, symbol) in &self.target {
            set.edge(Place::Control(state), Label::One(symbol), end);
        }
        for &symbol in &self.under {
            set.edge(end, Label::One(symbol), end);
        }
        set.accepting.push((end, ONE));
    }
}
