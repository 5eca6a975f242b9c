//! Acceptance conditions of the Hanoi omega-automata format: which are (generalised) Büchi, and how
//! the others are called.

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::hoa_tokens::{Kind, Tokens};
use droste_automata::automaton::MOST_MARKS;

/// An `Acceptance:` item.
#[allow(clippy::struct_excessive_bools, reason = "what occurs in a condition")]
pub(crate) struct Acceptance {
    /// How many sets there are.
    pub(crate) sets: u32,
    span: Span,
    /// `Inf(set)`, or `Inf(!set)` if negated.
    inf: Vec<(u32, bool)>,
    /// How many `Fin` there are.
    fin: usize,
    or: bool,
    and: bool,
    /// Whether `f` occurs; `t` says nothing in a conjunction.
    never: bool,
}

/// A generalised Büchi condition.
pub(crate) enum Condition {
    /// One mark for each of these sets, or its complement.
    Inf(Vec<(u32, bool)>),
    /// One mark, which no edge has.
    Never,
}

impl Condition {
    pub(crate) fn count(&self) -> u32 {
        match self {
            Condition::Inf(sets) => sets.len() as u32,
            Condition::Never => 1,
        }
    }

    /// The marks of an edge that is in these sets.
    pub(crate) fn marks(&self, sets: &[u32]) -> u32 {
        let mut marks = 0;
        let Condition::Inf(all) = self else {
            return marks;
        };
        for (mark, (set, negated)) in all.iter().enumerate() {
            if sets.contains(set) != *negated {
                marks |= 1 << mark;
            }
        }
        marks
    }
}

impl Acceptance {
    /// Reads what comes after `Acceptance:`. Only the pieces are kept: a conjunction needs no
    /// structure, and everything else is refused.
    pub(crate) fn parse(tokens: &mut Tokens<'_>) -> Result<Self, Diagnostic> {
        let (sets, first) = tokens.integer("the number of acceptance sets")?;
        let mut acceptance = Acceptance {
            sets,
            span: first,
            inf: Vec::new(),
            fin: 0,
            or: false,
            and: false,
            never: false,
        };
        let mut open = 0usize;
        loop {
            // An operand.
            let (kind, span) = tokens.take();
            acceptance.span = acceptance.span.to(span);
            match kind {
                Kind::Open => {
                    open += 1;
                    continue;
                }
                Kind::True => {}
                Kind::False => acceptance.never = true,
                Kind::Identifier => {
                    let name = tokens.text(span);
                    if name != "Inf" && name != "Fin" {
                        return Err(tokens.unexpected(kind, span, "`Inf` or `Fin`"));
                    }
                    tokens.expect(Kind::Open, "`(`")?;
                    let negated = tokens.peek() == Kind::Not;
                    if negated {
                        tokens.take();
                    }
                    let (set, at) = tokens.integer("an acceptance set")?;
                    if set >= sets {
                        return Err(Diagnostic::error(
                            at,
                            format!("there is no acceptance set {set}"),
                        )
                        .label(format!("{sets} are declared, numbered from 0")));
                    }
                    acceptance.span = acceptance.span.to(tokens.expect(Kind::Close, "`)`")?);
                    if name == "Fin" {
                        acceptance.fin += 1;
                    } else if !acceptance.inf.contains(&(set, negated)) {
                        acceptance.inf.push((set, negated));
                    }
                }
                _ => {
                    return Err(tokens.unexpected(
                        kind,
                        span,
                        "`Inf(…)`, `Fin(…)`, `t`, `f` or `(`",
                    ));
                }
            }
            while open > 0 && tokens.peek() == Kind::Close {
                acceptance.span = acceptance.span.to(tokens.take().1);
                open -= 1;
            }
            match tokens.peek() {
                Kind::And => acceptance.and = true,
                Kind::Or => acceptance.or = true,
                kind if open > 0 => {
                    return Err(tokens.unexpected(kind, tokens.span(), "`)`, `&` or `|`"));
                }
                _ => return Ok(acceptance),
            }
            tokens.take();
        }
    }

    /// Whether nothing is accepted: a conjunction with `f`.
    pub(crate) fn is_never(&self) -> bool {
        self.never && !self.or
    }

    /// The condition, if it is a generalised Büchi condition; `name` is what `acc-name:` says.
    pub(crate) fn condition(&self, name: Option<&str>) -> Result<Condition, Diagnostic> {
        if self.is_never() {
            return Ok(Condition::Never);
        }
        if !self.or && self.fin == 0 {
            if self.inf.len() > MOST_MARKS as usize {
                return Err(Diagnostic::error(
                    self.span,
                    format!("there are {} acceptance sets", self.inf.len()),
                )
                .label(format!("at most {MOST_MARKS} are supported"))
                .help("degeneralise the automaton first, for example with `autfilt -B`"));
            }
            return Ok(Condition::Inf(self.inf.clone()));
        }
        let shape = match (self.inf.is_empty(), self.fin) {
            (true, 1) => "co-Buchi",
            (true, 2..) if !self.and => "generalized-co-Buchi",
            (_, 0) => "a disjunction of Büchi conditions",
            _ => "an Emerson-Lei condition",
        };
        let name = name.unwrap_or(shape);
        Err(Diagnostic::error(
            self.span,
            format!("the acceptance condition is not supported: {name}"),
        )
        .label("expected a conjunction of `Inf(…)`: Büchi, generalised Büchi, or `t`")
        .help("convert the automaton first, for example with `autfilt --tgba`"))
    }
}
