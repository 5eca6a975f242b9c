//! The text of pairs, `(3; {0->1})`, and domains that are halves of pairs.
//!
//! Any two domains make a pair. To have the solver once, and not once for every two of them, the
//! halves of a pair are domains whose weights are looked at through [`Any`].

use std::any::Any;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use droste_base::StopReason;
use droste_pds::Domain;
use droste_pds::domains::Pair;

use super::texts::constant;
use super::{Json, Notation};

/// A weight of any domain.
#[derive(Clone)]
pub struct AnyWeight(Arc<dyn Any + Send + Sync>);

impl fmt::Debug for AnyWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyWeight")
    }
}

impl AnyWeight {
    fn new<W: Any + Send + Sync>(weight: W) -> Self {
        AnyWeight(Arc::new(weight))
    }

    fn get<W: Any>(&self) -> &W {
        let weight = self.0.downcast_ref();
        weight.expect("a weight is used with the domain that has made it")
    }
}

/// A domain that was chosen when a file was read.
#[derive(Clone)]
pub struct AnyDomain(Arc<dyn Half>);

impl AnyDomain {
    /// The same domain, without its type.
    pub(super) fn new<D: Notation>(domain: D) -> Self {
        AnyDomain(Arc::new(domain))
    }
}

/// What a domain does with weights of any type, which are its own.
trait Half: Send + Sync {
    fn one(&self) -> AnyWeight;
    fn zero(&self) -> AnyWeight;
    fn combine(&self, a: &AnyWeight, b: &AnyWeight) -> Result<AnyWeight, StopReason>;
    fn extend(&self, a: &AnyWeight, b: &AnyWeight) -> Result<AnyWeight, StopReason>;
    fn equal(&self, a: &AnyWeight, b: &AnyWeight) -> bool;
    fn is_zero(&self, a: &AnyWeight) -> bool;
    fn diff(&self, b: &AnyWeight, a: &AnyWeight) -> Result<AnyWeight, StopReason>;
    fn star(&self, a: &AnyWeight) -> Result<AnyWeight, StopReason>;
    fn parse(&self, text: &str) -> Result<AnyWeight, String>;
    fn print(&self, weight: &AnyWeight) -> String;
    fn vaguely(&self, weight: &AnyWeight) -> Option<&'static str>;
    fn relations(&self, weight: &AnyWeight) -> Vec<String>;
    fn write(&self, weight: &AnyWeight, out: &mut dyn Write) -> io::Result<()>;
    fn json<'a>(&self, weight: &'a AnyWeight) -> Json<'a>;
    fn is_commutative(&self) -> bool;
}

impl<D: Notation> Half for D {
    fn one(&self) -> AnyWeight {
        AnyWeight::new(Domain::one(self))
    }

    fn zero(&self) -> AnyWeight {
        AnyWeight::new(Domain::zero(self))
    }

    fn combine(&self, a: &AnyWeight, b: &AnyWeight) -> Result<AnyWeight, StopReason> {
        Domain::combine(self, a.get(), b.get()).map(AnyWeight::new)
    }

    fn extend(&self, a: &AnyWeight, b: &AnyWeight) -> Result<AnyWeight, StopReason> {
        Domain::extend(self, a.get(), b.get()).map(AnyWeight::new)
    }

    fn equal(&self, a: &AnyWeight, b: &AnyWeight) -> bool {
        Arc::ptr_eq(&a.0, &b.0) || Domain::equal(self, a.get(), b.get())
    }

    fn is_zero(&self, a: &AnyWeight) -> bool {
        Domain::is_zero(self, a.get())
    }

    fn diff(&self, b: &AnyWeight, a: &AnyWeight) -> Result<AnyWeight, StopReason> {
        Domain::diff(self, b.get(), a.get()).map(AnyWeight::new)
    }

    fn star(&self, a: &AnyWeight) -> Result<AnyWeight, StopReason> {
        Domain::star(self, a.get()).map(AnyWeight::new)
    }

    fn parse(&self, text: &str) -> Result<AnyWeight, String> {
        Notation::parse(self, text).map(AnyWeight::new)
    }

    fn print(&self, weight: &AnyWeight) -> String {
        Notation::print(self, weight.get())
    }

    fn vaguely(&self, weight: &AnyWeight) -> Option<&'static str> {
        Notation::vaguely(self, weight.get())
    }

    fn relations(&self, weight: &AnyWeight) -> Vec<String> {
        Notation::relations(self, weight.get())
    }

    fn write(&self, weight: &AnyWeight, out: &mut dyn Write) -> io::Result<()> {
        Notation::write(self, weight.get(), out)
    }

    fn json<'a>(&self, weight: &'a AnyWeight) -> Json<'a> {
        Notation::json(self, weight.get())
    }

    fn is_commutative(&self) -> bool {
        Notation::is_commutative(self)
    }
}

impl Domain for AnyDomain {
    type Weight = AnyWeight;

    fn one(&self) -> AnyWeight {
        self.0.one()
    }

    fn zero(&self) -> AnyWeight {
        self.0.zero()
    }

    fn combine(&self, a: &AnyWeight, b: &AnyWeight) -> Result<AnyWeight, StopReason> {
        self.0.combine(a, b)
    }

    fn extend(&self, a: &AnyWeight, b: &AnyWeight) -> Result<AnyWeight, StopReason> {
        self.0.extend(a, b)
    }

    fn equal(&self, a: &AnyWeight, b: &AnyWeight) -> bool {
        self.0.equal(a, b)
    }

    fn is_zero(&self, a: &AnyWeight) -> bool {
        self.0.is_zero(a)
    }

    fn diff(&self, b: &AnyWeight, a: &AnyWeight) -> Result<AnyWeight, StopReason> {
        self.0.diff(b, a)
    }

    fn star(&self, a: &AnyWeight) -> Result<AnyWeight, StopReason> {
        self.0.star(a)
    }
}

/// The texts of the halves of `(3; {0->1})`.
pub(super) fn halves(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0u32;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b';' if depth == 0 => {
                return Some((inside[..at].trim(), inside[at + 1..].trim()));
            }
            _ => {}
        }
    }
    None
}

impl Notation for Pair<AnyDomain, AnyDomain> {
    /// `(3; {0->1})`
    fn parse(&self, text: &str) -> Result<Self::Weight, String> {
        if let Some(weight) = constant(self, text) {
            return Ok(weight);
        }
        let (first, second) = halves(text).ok_or("is not a pair such as `(3; id)`")?;
        let half = |domain: &AnyDomain, text: &str| {
            let parsed = domain.0.parse(text);
            parsed.map_err(|wrong| format!("has `{text}`, which {wrong}"))
        };
        Ok((half(&self.0, first)?, half(&self.1, second)?))
    }

    fn print(&self, weight: &Self::Weight) -> String {
        format!(
            "({}; {})",
            self.0.0.print(&weight.0),
            self.1.0.print(&weight.1)
        )
    }

    fn vaguely(&self, weight: &Self::Weight) -> Option<&'static str> {
        (self.0.0.vaguely(&weight.0)).or_else(|| self.1.0.vaguely(&weight.1))
    }

    fn shown(&self, weight: &Self::Weight) -> String {
        let half = |domain: &AnyDomain, weight: &AnyWeight| {
            let text = domain.0.print(weight);
            match domain.0.vaguely(weight) {
                Some(how) => format!("{text} {how}"),
                None => text,
            }
        };
        format!(
            "({}; {})",
            half(&self.0, &weight.0),
            half(&self.1, &weight.1)
        )
    }

    fn relations(&self, weight: &Self::Weight) -> Vec<String> {
        let mut all = self.0.0.relations(&weight.0);
        all.extend(self.1.0.relations(&weight.1));
        all
    }

    fn write(&self, weight: &Self::Weight, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"(")?;
        self.0.0.write(&weight.0, out)?;
        out.write_all(b"; ")?;
        self.1.0.write(&weight.1, out)?;
        out.write_all(b")")
    }

    fn json<'a>(&self, weight: &'a Self::Weight) -> Json<'a> {
        let halves = [self.0.0.json(&weight.0), self.1.0.json(&weight.1)];
        Json::Pair(Box::new(halves))
    }

    fn is_commutative(&self) -> bool {
        self.0.0.is_commutative() && self.1.0.is_commutative()
    }
}
