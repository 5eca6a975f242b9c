//! Domains of classical data flow: gen/kill bit vectors, and copy constants.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use droste_base::StopReason;

use super::framed::Scoped;
use crate::domain::Domain;

/// Transformers of bit vectors that forget some bits and set others, where paths join by union: live
/// variables, reaching definitions, uninitialised variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenKill {
    bits: u32,
    backward: bool,
}

/// A transformer: first it kills, then it generates. A bit that it generates does not count as
/// killed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transformer {
    /// Kill and gen, interleaved word by word; nothing if there is no path.
    words: Option<Box<[(u64, u64)]>>,
}

impl GenKill {
    /// Transformers of this many bits.
    pub fn new(bits: u32) -> Self {
        GenKill {
            bits,
            backward: false,
        }
    }

    /// The same for analyses against the flow of control, such as live variables: of two weights
    /// that are extended, the second acts first.
    pub fn backward(bits: u32) -> Self {
        GenKill {
            bits,
            backward: true,
        }
    }

    /// The transformer that kills and generates these bits.
    pub fn of(
        self,
        kill: impl IntoIterator<Item = u32>,
        generate: impl IntoIterator<Item = u32>,
    ) -> Transformer {
        let mut words = vec![(0, 0); (self.bits as usize).div_ceil(64)];
        for bit in kill {
            words[bit as usize / 64].0 |= 1 << (bit % 64);
        }
        for bit in generate {
            let word: &mut (u64, u64) = &mut words[bit as usize / 64];
            word.1 |= 1 << (bit % 64);
            word.0 &= !word.1;
        }
        Transformer {
            words: Some(words.into()),
        }
    }

    /// What becomes of a set of bits; nothing if there is no path.
    pub fn apply(self, transformer: &Transformer, set: &[u64]) -> Option<Vec<u64>> {
        let words = transformer.words.as_ref()?.iter().zip(set);
        Some(
            words
                .map(|(&(kill, generate), set)| set & !kill | generate)
                .collect(),
        )
    }
}

/// Word by word, if both are paths.
fn both(
    a: &Transformer,
    b: &Transformer,
    word: impl Fn((u64, u64), (u64, u64)) -> (u64, u64),
) -> Option<Transformer> {
    let (a, b) = (a.words.as_ref()?, b.words.as_ref()?);
    let words = a.iter().zip(b).map(|(&a, &b)| word(a, b));
    Some(Transformer {
        words: Some(words.collect()),
    })
}

impl Domain for GenKill {
    type Weight = Transformer;

    fn one(&self) -> Transformer {
        self.of([], [])
    }

    fn zero(&self) -> Transformer {
        Transformer { words: None }
    }

    fn combine(&self, a: &Transformer, b: &Transformer) -> Result<Transformer, StopReason> {
        let union = both(a, b, |a, b| {
            let generate = a.1 | b.1;
            (a.0 & b.0, generate)
        });
        Ok(union.unwrap_or_else(|| if a.words.is_some() { a } else { b }.clone()))
    }

    fn extend(&self, a: &Transformer, b: &Transformer) -> Result<Transformer, StopReason> {
        let (a, b) = if self.backward { (b, a) } else { (a, b) };
        let product = both(a, b, |a, b| {
            let generate = a.1 & !b.0 | b.1;
            ((a.0 | b.0) & !generate, generate)
        });
        Ok(product.unwrap_or_else(|| self.zero()))
    }

    fn equal(&self, a: &Transformer, b: &Transformer) -> bool {
        a == b
    }

    fn is_zero(&self, a: &Transformer) -> bool {
        a.words.is_none()
    }

    fn star(&self, a: &Transformer) -> Result<Transformer, StopReason> {
        // Once more changes nothing.
        self.combine(&self.one(), a)
    }
}

impl Scoped for GenKill {
    fn restored(&self, effect: &Transformer, kept: &[u32]) -> Transformer {
        let mut effect = effect.clone();
        for bit in kept {
            if let Some(words) = &mut effect.words {
                let word = &mut words[*bit as usize / 64];
                word.0 &= !(1 << (bit % 64));
                word.1 &= !(1 << (bit % 64));
            }
        }
        effect
    }
}

/// Which variables have which constant values: assignments of constants, of other variables, and of
/// anything else.
///
/// A transformer says for each variable of which old values and constants its new value may be. That
/// makes extending distribute over combining, which one source for each variable would not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyConstants {
    variables: u32,
}

/// What is known about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// Nothing assigns it.
    Nothing,
    /// It is this.
    Constant(i128),
    /// It may be anything.
    Anything,
}

impl Known {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Known::Nothing, other) | (other, Known::Nothing) => other,
            (Known::Constant(a), Known::Constant(b)) if a == b => self,
            _ => Known::Anything,
        }
    }
}

/// What is assigned to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A value of which this is known.
    Value(Known),
    /// The old value of another variable.
    Variable(u32),
}

/// Where a new value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sources {
    /// Variables whose old value it may be, in ascending order; none if it may be anything.
    old: Vec<u32>,
    constant: Known,
}

/// For each variable that may change where its new value comes from; nothing if there is no path.
/// The others keep their value, so a transformer is as large as what it assigns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Assignments {
    /// In ascending order of the variables.
    new: Option<Vec<(u32, Sources)>>,
}

impl CopyConstants {
    /// Transformers of this many variables.
    pub fn new(variables: u32) -> Self {
        CopyConstants { variables }
    }

    /// `variable := constant`, or `:= *`.
    pub fn assign(self, variable: u32, value: Known) -> Assignments {
        self.assign_all(&[(variable, Source::Value(value))])
    }

    /// How many variables there are.
    pub fn variables(self) -> u32 {
        self.variables
    }

    /// Assigns to variables at once. Of two assignments to one variable, the later one counts.
    pub fn assign_all(self, assigns: &[(u32, Source)]) -> Assignments {
        let assigns = assigns
            .iter()
            .map(|(variable, source)| (*variable, vec![*source]));
        self.assign_any(&assigns.collect::<Vec<_>>())
    }

    /// Assigns to variables at once, to each any of some values: what paths with different
    /// assignments amount to. Of two assignments to one variable, the later one counts.
    pub fn assign_any(self, assigns: &[(u32, Vec<Source>)]) -> Assignments {
        let mut new = BTreeMap::new();
        for (variable, any) in assigns {
            debug_assert!(*variable < self.variables, "there is such a variable");
            let mut sources = Sources::only(Known::Nothing);
            for source in any {
                sources.join(&match source {
                    Source::Value(value) => Sources::only(*value),
                    Source::Variable(other) => Sources::copy_of(*other),
                });
            }
            new.insert(*variable, sources);
        }
        let new = new
            .into_iter()
            .filter(|(variable, sources)| !sources.keeps(*variable));
        Assignments {
            new: Some(new.collect()),
        }
    }

    /// `variable := other`
    pub fn copy(self, variable: u32, other: u32) -> Assignments {
        self.assign_all(&[(variable, Source::Variable(other))])
    }

    /// What is known about the variables after a transformer, given what was known before; nothing if
    /// there is no path.
    pub fn apply(self, transformer: &Assignments, before: &[Known]) -> Option<Vec<Known>> {
        let mut after = before.to_vec();
        for (variable, sources) in transformer.new.as_ref()? {
            let old = sources
                .old
                .iter()
                .map(|&variable| before[variable as usize]);
            after[*variable as usize] = old.fold(sources.constant, Known::join);
        }
        Some(after)
    }
}

impl Assignments {
    /// What is assigned to each variable that may change, in ascending order; nothing if there is no
    /// path. It is what [`CopyConstants::assign_any`] makes the transformer of.
    pub fn sources(&self) -> Option<Vec<(u32, Vec<Source>)>> {
        let new = self.new.as_ref()?.iter().map(|(variable, sources)| {
            let old = sources.old.iter().map(|&old| Source::Variable(old));
            let value = Some(sources.constant).filter(|&value| value != Known::Nothing);
            (*variable, old.chain(value.map(Source::Value)).collect())
        });
        Some(new.collect())
    }
}

impl Sources {
    fn only(constant: Known) -> Self {
        Sources {
            old: Vec::new(),
            constant,
        }
    }

    fn copy_of(variable: u32) -> Self {
        Sources {
            old: vec![variable],
            constant: Known::Nothing,
        }
    }

    /// Whether the variable keeps its value.
    fn keeps(&self, variable: u32) -> bool {
        self.constant == Known::Nothing && self.old == [variable]
    }

    fn join(&mut self, other: &Sources) {
        self.constant = self.constant.join(other.constant);
        if self.constant == Known::Anything {
            // It comes from nowhere in particular.
            self.old.clear();
        } else if self.old != other.old {
            self.old.extend(&other.old);
            self.sort();
        }
    }

    /// Two lists in order, one behind the other, become one: a stable sort sees that they are.
    #[expect(clippy::stable_sort_primitive, reason = "it merges what is in order")]
    fn sort(&mut self) {
        self.old.sort();
        self.old.dedup();
    }

    /// The sources of a value that comes from these, after a transformer.
    fn after(&self, first: &[(u32, Sources)]) -> Sources {
        let mut all = Sources::only(self.constant);
        for &variable in &self.old {
            match place_of(first, variable) {
                Some(sources) => {
                    all.constant = all.constant.join(sources.constant);
                    all.old.extend(&sources.old);
                }
                None => all.old.push(variable),
            }
            if all.constant == Known::Anything {
                return Sources::only(Known::Anything);
            }
        }
        if self.old.len() > 1 {
            all.sort();
        }
        all
    }
}

/// The sources of a variable in a list.
fn place_of(list: &[(u32, Sources)], variable: u32) -> Option<&Sources> {
    let place = list.binary_search_by_key(&variable, |(variable, _)| *variable);
    place.ok().map(|place| &list[place].1)
}

/// The sources of a variable: those in a list, or its old value.
fn sources_in(list: &[(u32, Sources)], variable: u32) -> Cow<'_, Sources> {
    match place_of(list, variable) {
        Some(sources) => Cow::Borrowed(sources),
        None => Cow::Owned(Sources::copy_of(variable)),
    }
}

/// The variables of two lists, in ascending order.
fn variables_of<'a>(
    one: &'a [(u32, Sources)],
    other: &'a [(u32, Sources)],
) -> impl Iterator<Item = u32> + 'a {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    std::iter::from_fn(move || {
        let next = match (one.peek(), other.peek()) {
            (Some(a), Some(b)) => a.0.min(b.0),
            (Some(only), None) | (None, Some(only)) => only.0,
            (None, None) => return None,
        };
        one.next_if(|(variable, _)| *variable == next);
        other.next_if(|(variable, _)| *variable == next);
        Some(next)
    })
}

impl Domain for CopyConstants {
    type Weight = Assignments;

    fn one(&self) -> Assignments {
        Assignments {
            new: Some(Vec::new()),
        }
    }

    fn zero(&self) -> Assignments {
        Assignments { new: None }
    }

    fn combine(&self, a: &Assignments, b: &Assignments) -> Result<Assignments, StopReason> {
        let (Some(first), Some(second)) = (&a.new, &b.new) else {
            return Ok(if a.new.is_some() { a } else { b }.clone());
        };
        let new = variables_of(first, second).map(|variable| {
            let mut sources = sources_in(first, variable).into_owned();
            sources.join(&sources_in(second, variable));
            (variable, sources)
        });
        let new = new.filter(|(variable, sources)| !sources.keeps(*variable));
        Ok(Assignments {
            new: Some(new.collect()),
        })
    }

    fn extend(&self, a: &Assignments, b: &Assignments) -> Result<Assignments, StopReason> {
        let (Some(first), Some(second)) = (&a.new, &b.new) else {
            return Ok(self.zero());
        };
        let new = variables_of(first, second).map(|variable| {
            let sources = match place_of(second, variable) {
                Some(last) => last.after(first),
                None => sources_in(first, variable).into_owned(),
            };
            (variable, sources)
        });
        let new = new.filter(|(variable, sources)| !sources.keeps(*variable));
        Ok(Assignments {
            new: Some(new.collect()),
        })
    }

    fn equal(&self, a: &Assignments, b: &Assignments) -> bool {
        a == b
    }

    fn is_zero(&self, a: &Assignments) -> bool {
        a.new.is_none()
    }
}

impl Scoped for CopyConstants {
    fn restored(&self, effect: &Assignments, kept: &[u32]) -> Assignments {
        let mut effect = effect.clone();
        if let Some(new) = &mut effect.new {
            let kept: BTreeSet<u32> = kept.iter().copied().collect();
            new.retain(|(variable, _)| !kept.contains(variable));
        }
        effect
    }
}
