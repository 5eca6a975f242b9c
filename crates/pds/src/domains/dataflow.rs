//! Domains of classical data flow: gen/kill bit vectors, and copy constants.

use droste_base::StopReason;

use crate::domain::Domain;

/// Transformers of bit vectors that forget some bits and set others, where paths join by union: live
/// variables, reaching definitions, uninitialised variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenKill {
    bits: u32,
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
        GenKill { bits }
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
    Constant(i64),
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

/// Where a new value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sources {
    /// Variables whose old value it may be, as bits; none if it may be anything.
    old: Box<[u64]>,
    constant: Known,
}

/// For each variable where its new value comes from; nothing if there is no path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Assignments {
    new: Option<Box<[Sources]>>,
}

impl CopyConstants {
    /// Transformers of this many variables.
    pub fn new(variables: u32) -> Self {
        CopyConstants { variables }
    }

    fn words(self) -> usize {
        (self.variables as usize).div_ceil(64)
    }

    fn change(self, variable: u32, sources: Sources) -> Assignments {
        let mut one = self.one();
        if let Some(new) = &mut one.new {
            new[variable as usize] = sources;
        }
        one
    }

    fn only(self, constant: Known) -> Sources {
        Sources {
            old: vec![0; self.words()].into(),
            constant,
        }
    }

    fn copy_of(self, variable: u32) -> Sources {
        let mut sources = self.only(Known::Nothing);
        sources.old[variable as usize / 64] |= 1 << (variable % 64);
        sources
    }

    /// `variable := constant`, or `:= *`.
    pub fn assign(self, variable: u32, value: Known) -> Assignments {
        self.change(variable, self.only(value))
    }

    /// `variable := other`
    pub fn copy(self, variable: u32, other: u32) -> Assignments {
        self.change(variable, self.copy_of(other))
    }

    /// What is known about the variables after a transformer, given what was known before; nothing if
    /// there is no path.
    pub fn apply(self, transformer: &Assignments, before: &[Known]) -> Option<Vec<Known>> {
        let new = transformer.new.as_ref()?.iter();
        Some(
            new.map(|sources| {
                let old = bits(&sources.old).map(|variable| before[variable as usize]);
                old.fold(sources.constant, Known::join)
            })
            .collect(),
        )
    }
}

fn bits(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    (0..).zip(words).flat_map(|(place, &word)| {
        (0..64u32)
            .filter(move |bit| word >> bit & 1 == 1)
            .map(move |bit| place * 64 + bit)
    })
}

impl Sources {
    fn join(&mut self, other: &Sources) {
        self.constant = self.constant.join(other.constant);
        for (own, other) in self.old.iter_mut().zip(&other.old) {
            *own |= other;
        }
        self.settle();
    }

    /// What may be anything comes from nowhere in particular.
    fn settle(&mut self) {
        if self.constant == Known::Anything {
            self.old.fill(0);
        }
    }
}

impl Domain for CopyConstants {
    type Weight = Assignments;

    fn one(&self) -> Assignments {
        let new = (0..self.variables).map(|variable| self.copy_of(variable));
        Assignments {
            new: Some(new.collect()),
        }
    }

    fn zero(&self) -> Assignments {
        Assignments { new: None }
    }

    fn combine(&self, a: &Assignments, b: &Assignments) -> Result<Assignments, StopReason> {
        let (Some(first), Some(second)) = (&a.new, &b.new) else {
            return Ok(if a.new.is_some() { a } else { b }.clone());
        };
        let mut new = first.clone();
        for (own, other) in new.iter_mut().zip(second) {
            own.join(other);
        }
        Ok(Assignments { new: Some(new) })
    }

    fn extend(&self, a: &Assignments, b: &Assignments) -> Result<Assignments, StopReason> {
        let (Some(first), Some(second)) = (&a.new, &b.new) else {
            return Ok(self.zero());
        };
        let new = second.iter().map(|sources| {
            let mut value = self.only(sources.constant);
            for variable in bits(&sources.old) {
                value.join(&first[variable as usize]);
            }
            value
        });
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
