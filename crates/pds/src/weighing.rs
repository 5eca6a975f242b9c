//! The weights of paths, computed at once: what [expressions](crate::expression) would stand for,
//! where all that they are made of is known.

use std::rc::Rc;

use droste_base::{Guard, StopReason};

use crate::domain::Domain;
use crate::paths::iteration::Knot;
use crate::paths::{Algebra, Knots};
use crate::worklist::Bits;

/// On which side a path's next edge is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// pre*: the edges of a path are read from its end.
    Left,
    /// post*.
    Right,
}

/// The weight of a path. Most rules of a program do not touch what an analysis is about: so one and
/// zero take no memory, and a product with them costs nothing.
#[derive(Debug)]
pub(crate) enum Path<'w, W> {
    Zero,
    One,
    /// The weight of a rule, or of a transition that was given.
    Given(&'w W),
    Made(Rc<W>),
}

impl<W> Clone for Path<'_, W> {
    fn clone(&self) -> Self {
        match self {
            Path::Zero => Path::Zero,
            Path::One => Path::One,
            Path::Given(weight) => Path::Given(weight),
            Path::Made(weight) => Path::Made(weight.clone()),
        }
    }
}

impl<'w, W: Clone> Path<'w, W> {
    pub(crate) fn given<D: Domain<Weight = W>>(domain: &D, one: &W, weight: &'w W) -> Self {
        if domain.is_zero(weight) {
            Path::Zero
        } else if domain.equal(weight, one) {
            Path::One
        } else {
            Path::Given(weight)
        }
    }

    pub(crate) fn made<D: Domain<Weight = W>>(domain: &D, weight: W) -> Self {
        if domain.is_zero(&weight) {
            Path::Zero
        } else {
            Path::Made(Rc::new(weight))
        }
    }

    /// The same, of a weight that may be gone later.
    pub(crate) fn copied<D: Domain<Weight = W>>(domain: &D, one: &W, weight: &W) -> Self {
        if domain.equal(weight, one) {
            Path::One
        } else {
            Path::made(domain, weight.clone())
        }
    }

    /// The weight, if it is neither zero nor one.
    pub(crate) fn weight(&self) -> Option<&W> {
        match self {
            Path::Zero | Path::One => None,
            Path::Given(weight) => Some(weight),
            Path::Made(weight) => Some(weight),
        }
    }

    pub(crate) fn into_weight<D: Domain<Weight = W>>(self, domain: &D, one: &W) -> W {
        match self {
            Path::Zero => domain.zero(),
            Path::One => one.clone(),
            Path::Given(weight) => weight.clone(),
            Path::Made(weight) => Rc::unwrap_or_clone(weight),
        }
    }
}

/// How often each edge of a strongly connected part is followed before the part is eliminated.
const ROUNDS: u32 = 16;

/// Weights as an [`Algebra`].
pub(crate) struct Weights<'w, 'a, D: Domain> {
    domain: &'a D,
    one: &'a D::Weight,
    side: Side,
    /// Whether weights may fall for ever. Iterating would not end.
    falls: bool,
    /// See [`Options::rounds`](crate::Options::rounds).
    rounds: u32,
    call: &'a CallWeight<'a, Path<'w, D::Weight>>,
}

/// What a call multiplies with, by its number and by what leads to its out-node.
pub(crate) type CallWeight<'a, P> = dyn Fn(u32, &P) -> Result<P, StopReason> + 'a;

impl<'w, 'a, D: Domain> Weights<'w, 'a, D> {
    pub(crate) fn new(domain: &'a D, one: &'a D::Weight, side: Side, rounds: Option<u32>) -> Self {
        Weights {
            rounds: rounds.unwrap_or(ROUNDS),
            domain,
            one,
            side,
            falls: domain.bottom().is_some(),
            call: &|_, _| Ok(Path::Zero),
        }
    }

    /// The same, where there are calls.
    pub(crate) fn with_calls(self, call: &'a CallWeight<'a, Path<'w, D::Weight>>) -> Self {
        Weights { call, ..self }
    }

    /// Adds a weight to what is known of a vertex and what is new there. Says whether there is any news.
    fn learn(
        &mut self,
        known: &mut Path<'w, D::Weight>,
        news: &mut Path<'w, D::Weight>,
        through: Path<'w, D::Weight>,
    ) -> Result<bool, StopReason> {
        match (&*known, &through) {
            (_, Path::Zero) | (Path::One, Path::One) => return Ok(false),
            (Path::Zero, _) => {
                *known = through.clone();
                *news = through;
            }
            (old, through) => {
                let old = old.weight().unwrap_or(self.one);
                let weight = through.weight().unwrap_or(self.one);
                let both = self.domain.combine(old, weight)?;
                if self.domain.equal(&both, old) {
                    return Ok(false);
                }
                let new = Path::made(self.domain, self.domain.diff(weight, old)?);
                *news = self.either(news, &new)?;
                *known = Path::made(self.domain, both);
            }
        }
        Ok(true)
    }
}

impl<'w, D: Domain> Algebra for Weights<'w, '_, D> {
    type Path = Path<'w, D::Weight>;

    fn empty(&self) -> Self::Path {
        Path::Zero
    }

    fn epsilon(&self) -> Self::Path {
        Path::One
    }

    fn is_empty(&self, path: &Self::Path) -> bool {
        matches!(path, Path::Zero)
    }

    fn either(&mut self, a: &Self::Path, b: &Self::Path) -> Result<Self::Path, StopReason> {
        match (a, b) {
            (Path::Zero, other) | (other, Path::Zero) => return Ok(other.clone()),
            (Path::One, Path::One) => return Ok(Path::One),
            _ => {}
        }
        let (a, b) = (
            a.weight().unwrap_or(self.one),
            b.weight().unwrap_or(self.one),
        );
        let both = self.domain.combine(a, b)?;
        Ok(Path::made(self.domain, both))
    }

    fn then(&mut self, a: &Self::Path, b: &Self::Path) -> Result<Self::Path, StopReason> {
        match (a, b) {
            (Path::Zero, _) | (_, Path::Zero) => return Ok(Path::Zero),
            (Path::One, other) | (other, Path::One) => return Ok(other.clone()),
            _ => {}
        }
        let (a, b) = (
            a.weight().unwrap_or(self.one),
            b.weight().unwrap_or(self.one),
        );
        let both = match self.side {
            Side::Left => self.domain.extend(b, a)?,
            Side::Right => self.domain.extend(a, b)?,
        };
        Ok(Path::made(self.domain, both))
    }

    fn star(&mut self, a: &Self::Path) -> Result<Self::Path, StopReason> {
        match a.weight() {
            None => Ok(Path::One),
            Some(weight) => Ok(Path::made(self.domain, self.domain.star(weight)?)),
        }
    }

    fn knots(&self) -> Knots {
        if self.falls {
            Knots::Eliminate
        } else {
            Knots::Iterate(self.rounds)
        }
    }

    fn name(&mut self, _: u32) -> Result<Self::Path, StopReason> {
        Ok(Path::Zero)
    }

    fn define(&mut self, _: u32, _: Self::Path) {}

    fn call(&self, call: u32, out: &Self::Path) -> Result<Self::Path, StopReason> {
        (self.call)(call, out)
    }

    /// Chaotic iteration with differences, round by round.
    fn iterate(
        &mut self,
        knot: &Knot<Self::Path>,
        solved: &mut [Self::Path],
        most: usize,
        guard: &mut Guard,
    ) -> Result<bool, StopReason> {
        let mut news: Vec<Self::Path> = solved.to_vec();
        let mut changed = Bits::new(knot.size());
        for (at, path) in solved.iter().enumerate() {
            if !self.is_empty(path) {
                changed.set(at);
            }
        }
        // What the calls multiply with so far.
        let mut labels = vec![Path::Zero; knot.calls().len()];
        let (mut from, mut followed) = (0, 0);
        while let Some(at) = changed.next(from).or_else(|| changed.first()) {
            guard.check()?;
            let (edges, begun, ended) = (knot.edges(at), knot.calls_from(at), knot.calls_of(at));
            followed += edges.len() + begun.len() + ended.len();
            if followed > most {
                return Ok(false);
            }
            from = at + 1;
            changed.clear(at);
            let new = std::mem::replace(&mut news[at], Path::Zero);
            for (to, way) in edges {
                let (to, through) = (*to as usize, self.then(&new, way)?);
                if self.learn(&mut solved[to], &mut news[to], through)? {
                    changed.set(to);
                }
            }
            for &number in begun {
                let call = &knot.calls()[number as usize];
                let way = self.then(&labels[number as usize], &call.round)?;
                let (to, through) = (call.to as usize, self.then(&new, &way)?);
                if self.learn(&mut solved[to], &mut news[to], through)? {
                    changed.set(to);
                }
            }
            for &number in ended {
                let call = &knot.calls()[number as usize];
                let more = self.call(call.number, &new)?;
                let label = &mut labels[number as usize];
                *label = self.either(label, &more)?;
                let way = self.then(&more, &call.round)?;
                let start = match &call.from {
                    Ok(place) => &solved[*place as usize],
                    Err(outside) => outside,
                };
                let (to, through) = (call.to as usize, self.then(start, &way)?);
                if self.learn(&mut solved[to], &mut news[to], through)? {
                    changed.set(to);
                }
            }
        }
        Ok(true)
    }
}
