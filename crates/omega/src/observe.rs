//! The product of a model and an automaton with marks, on the fly: a Büchi pushdown system.
//!
//! Basu, Narayan Kumar, Pokorny and Ramakrishnan (TACAS 2002), section 2. There are several marks
//! here, on the automaton's edges: a run is accepted if it takes edges with each mark infinitely
//! often. The product is again a [`Model`], whose propositions are the marks. Its Erase relation
//! and its R-graph are the summaries and the state graph that a search for fair cycles builds over
//! any model.
//!
//! As in every product ([`Remembering`]), the automaton reads a state when the model steps out of
//! it. A silent state is not read: the automaton stays where it is and collects no mark.
//!
//! **Marks on states.** The searches want marks on states. If all moves that are possible in a
//! state have a mark in common, the state has that mark; a deterministic automaton needs no more.
//! Other marks of a move are carried along and belong to the state after it ([`At::carried`]).
//! Moves that leave a strongly connected component of the automaton never lie on a cycle, so their
//! marks do not matter and are not carried.

use std::cell::RefCell;

use droste_base::{Model, PropId};
use rustc_hash::FxHashMap;

use crate::{Memory, Remembering};

/// A move of an [`Observer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// Where it leads.
    pub to: u32,
    /// Its marks, one bit each.
    pub marks: u32,
    /// Whether there is no way back.
    pub leaves: bool,
}

/// An automaton that reads states and collects marks.
pub trait Observer {
    /// Its places before the first state is read.
    fn initial(&self, out: &mut Vec<u32>);

    /// How many marks there are; at most 32.
    fn marks(&self) -> u32;

    /// The propositions on which the moves from `place` depend, one bit each, if they fit into a
    /// word.
    fn letter(&self, _place: u32, _holds: &mut dyn FnMut(u32) -> bool) -> Option<u64> {
        None
    }

    /// The moves from `place` on a state of which `holds` knows which propositions are true. They
    /// are added to `out`, those that should be tried first in front. An observer that cannot list
    /// them all in reasonable time says so with `false`.
    fn moves(&self, place: u32, holds: &mut dyn FnMut(u32) -> bool, out: &mut Vec<Move>) -> bool;
}

/// Where the observer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// Its place before it has read the state.
    pub place: u32,
    /// Marks of the last move that belong to this state.
    pub carried: u32,
}

/// A model and an observer. Proposition `i` of it is mark `i`.
pub type Observed<'a, M, O> = Remembering<'a, M, Observing<'a, M, O>>;

/// An observer, and what it has found out about a model.
pub struct Observing<'a, M: Model, O> {
    observer: &'a O,
    /// The observer's propositions, in the model's words.
    propositions: &'a [PropId],
    known: RefCell<Known<M::State>>,
}

struct Known<S> {
    moves: Moves,
    /// The state asked about last, and its marks.
    last: Option<((S, At), u32)>,
}

/// Moves that are possible at a state.
#[derive(Clone, Copy)]
struct Possible {
    /// Where they are in [`Moves::all`].
    first: u32,
    count: u32,
    /// The marks they have in common, which are left out there.
    common: u32,
    /// Whether these are all.
    complete: bool,
}

/// The moves at the places and letters met so far.
#[derive(Default)]
struct Moves {
    known: FxHashMap<(u32, u64), Possible>,
    /// The entry that was found last: places and letters rarely change.
    last: Option<((u32, u64), Possible)>,
    /// The moves that are known. At the end there may be those asked for last, if they are not to
    /// be remembered.
    all: Vec<Move>,
    /// How many of `all` are known.
    settled: usize,
}

impl Moves {
    /// The most moves that are remembered.
    const MOST: usize = 1 << 20;

    fn get(&self, possible: Possible) -> &[Move] {
        &self.all[possible.first as usize..][..possible.count as usize]
    }

    /// The observer reads nothing and stays.
    fn none(&mut self, place: u32) -> Possible {
        self.all.truncate(self.settled);
        let first = self.all.len() as u32;
        self.all.push(Move {
            to: place,
            marks: 0,
            leaves: false,
        });
        Possible {
            first,
            count: 1,
            common: 0,
            complete: true,
        }
    }

    /// The moves of an observer; those that are of no use are left out.
    fn find<O: Observer>(
        &mut self,
        observer: &O,
        place: u32,
        holds: &mut dyn FnMut(u32) -> bool,
    ) -> Possible {
        let letter = observer.letter(place, holds);
        let key = letter.map(|letter| (place, letter));
        if let (Some(key), Some((last, possible))) = (key, self.last)
            && key == last
        {
            return possible;
        }
        if let Some(key) = key
            && let Some(&possible) = self.known.get(&key)
        {
            self.last = Some((key, possible));
            return possible;
        }
        self.all.truncate(self.settled);
        let first = self.all.len();
        let complete = observer.moves(place, holds, &mut self.all);
        let common = prune(&mut self.all, first);
        let possible = Possible {
            first: first as u32,
            count: (self.all.len() - first) as u32,
            common,
            complete,
        };
        if let Some(key) = key
            && self.known.len().max(self.all.len()) < Self::MOST
        {
            self.known.insert(key, possible);
            self.settled = self.all.len();
        }
        possible
    }
}

/// Takes from the moves, from number `first` on, the marks they have in common, and returns these.
/// Moves that are then of no use are left out.
fn prune(all: &mut Vec<Move>, first: usize) -> u32 {
    let moves = &mut all[first..];
    let inside = moves.iter().filter(|m| !m.leaves).map(|m| m.marks);
    let common = inside.reduce(|common, marks| common & marks).unwrap_or(0);
    for m in moves.iter_mut() {
        m.marks = if m.leaves { 0 } else { m.marks & !common };
    }
    // A move that leads to the same place with fewer marks is of no use.
    let mut kept = 0;
    for i in 0..moves.len() {
        let this = moves[i];
        let better = |(j, other): (usize, &Move)| {
            other.to == this.to
                && other.marks & this.marks == this.marks
                && (other.marks != this.marks || j < i)
        };
        let others = moves[..kept].iter().chain(&moves[i + 1..]);
        let positions = (0..kept).chain(i + 1..moves.len());
        if !positions.zip(others).any(better) {
            moves[kept] = this;
            kept += 1;
        }
    }
    all.truncate(first + kept);
    common
}

impl<'a, M: Model, O: Observer> Observed<'a, M, O> {
    /// Runs `model` and `observer` together; the observer's proposition `i` is `propositions[i]`.
    pub fn of(model: &'a M, observer: &'a O, propositions: &'a [PropId]) -> Self {
        let known = Known {
            moves: Moves::default(),
            last: None,
        };
        let observing = Observing {
            observer,
            propositions,
            known: RefCell::new(known),
        };
        Remembering::new(model, observing)
    }

    /// The marks to search for.
    pub fn marks(&self) -> Vec<PropId> {
        (0..self.memory().observer.marks()).map(PropId).collect()
    }
}

impl<M: Model, O: Observer> Observing<'_, M, O> {
    fn moves(&self, model: &M, state: &M::State, place: u32, moves: &mut Moves) -> Possible {
        if model.silent(state) {
            return moves.none(place);
        }
        let mut holds = |i: u32| model.holds(state, self.propositions[i as usize]);
        moves.find(self.observer, place, &mut holds)
    }
}

impl<M: Model, O: Observer> Memory<M> for Observing<'_, M, O> {
    type Value = At;

    fn start(&self, out: &mut Vec<At>) {
        let mut places = Vec::new();
        self.observer.initial(&mut places);
        out.extend(places.into_iter().map(|place| At { place, carried: 0 }));
    }

    fn after(&self, model: &M, state: &M::State, at: &At, out: &mut Vec<At>) -> bool {
        let Known { moves, last } = &mut *self.known.borrow_mut();
        let possible = self.moves(model, state, at.place, moves);
        *last = Some(((state.clone(), *at), at.carried | possible.common));
        out.extend(moves.get(possible).iter().map(|m| At {
            place: m.to,
            carried: m.marks,
        }));
        possible.complete
    }

    fn holds(&self, model: &M, state: &M::State, at: &At, mark: PropId) -> bool {
        let Known { moves, last } = &mut *self.known.borrow_mut();
        let marks = match last {
            Some(((known, place), marks)) if known == state && place == at => *marks,
            _ => {
                let possible = self.moves(model, state, at.place, moves);
                let marks = at.carried | possible.common;
                *last = Some(((state.clone(), *at), marks));
                marks
            }
        };
        marks >> mark.0 & 1 == 1
    }
}
