//! Generalised Büchi automata as observers.
//!
//! A mark counts only on an edge that lies on an accepting cycle. Elsewhere it is cleared, or said
//! not to matter, so that the product carries as few marks as possible. Edges that lead on to
//! another component are tried first. An automaton of a negated formula guesses when things begin
//! to go wrong, and a search that follows the guess at once finds a violation without having seen
//! everything that goes well.
//!
//! **When to guess.** An automaton for `F G p` may guess at every position that `p` holds from
//! there on. If `p` held at the position before as well, the guess could have been made there; it
//! need not be made again. So a place of the observer is a state of the automaton and its *cover*:
//! the states of runs on the same word that have left a strongly connected component earlier. An
//! edge that leaves the component is not followed if it leads to a state that the cover reaches at
//! the same time.
//!
//! Nothing is lost. Compare accepting runs on a word by the times at which they leave their first
//! component, their second, and so on. There is a least run, since these are finitely many numbers.
//! The least run is never given up: otherwise the run that covers it, continued like the least one,
//! would be less. So procedures in which nothing relevant happens are not searched again for each
//! guess.

use std::cell::RefCell;

use droste_automata::Tgba;
use rustc_hash::FxHashMap;

use crate::observe::{Move, Observer};

/// A transition-based generalised Büchi automaton, laid out for a product.
#[derive(Clone, Debug)]
pub struct Buchi {
    initial: u32,
    marks: u32,
    /// How many words the propositions take.
    words: usize,
    states: Vec<State>,
    edges: Vec<Edge>,
    /// For each cube, `words` of which propositions it mentions and `words` of their values.
    cubes: Vec<u64>,
    places: RefCell<Places>,
}

#[derive(Clone, Debug)]
struct State {
    /// Where its edges begin and end.
    edges: (u32, u32),
    /// The propositions that its guards mention.
    mentions: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    /// Where its cubes begin and end.
    cubes: (u32, u32),
    step: Move,
}

/// Pairs of a state and a cover, one bit for each state; numbered as they are met.
#[derive(Clone, Debug, Default)]
struct Places {
    list: Vec<(u32, u64)>,
    index: FxHashMap<(u32, u64), u32>,
    /// The propositions that matter at a place.
    mentions: Vec<Vec<u32>>,

    /// There are no more places than this with a cover; others do without.
    most: usize,
}

/// The most places for each state.
const PLACES: usize = 8;

impl Buchi {
    /// An observer that accepts what `automaton` accepts; its propositions are the automaton's
    /// atoms.
    pub fn new(automaton: &Tgba) -> Self {
        let words = automaton.atom_count().div_ceil(64).max(1);
        let states = automaton.state_count();
        let mut observer = Buchi {
            initial: 0,
            marks: automaton.mark_count(),
            words,
            states: Vec::with_capacity(states),
            edges: Vec::with_capacity(automaton.edges().len()),
            cubes: Vec::new(),
            places: RefCell::new(Places {
                most: if states <= 64 { PLACES * states } else { 0 },
                ..Places::default()
            }),
        };
        let mut guards = Vec::with_capacity(automaton.guards().len());
        for guard in 0..automaton.guards().len() as u32 {
            let first = observer.cubes.len() / (2 * words);
            for cube in automaton.guards().cubes(guard) {
                let at = observer.cubes.len();
                observer.cubes.resize(at + 2 * words, 0);
                let (mask, value) = observer.cubes[at..].split_at_mut(words);
                for literal in cube {
                    let atom = literal.atom().0;
                    mask[atom as usize / 64] |= 1 << (atom % 64);
                    value[atom as usize / 64] |= u64::from(literal.positive()) << (atom % 64);
                }
            }
            let end = observer.cubes.len() / (2 * words);
            guards.push((first as u32, end as u32));
        }
        for state in 0..states as u32 {
            let component = automaton.component(state);
            let accepting = automaton.is_accepting_component(component);
            let first = observer.edges.len() as u32;
            let mut mentions = Vec::new();
            for edge in automaton.edges_from(state) {
                let literals = automaton.guards().cubes(edge.guard).flatten();
                mentions.extend(literals.map(|literal| literal.atom().0));
                observer.edges.push(Edge {
                    cubes: guards[edge.guard as usize],
                    step: Move {
                        to: edge.target,
                        marks: if accepting { edge.marks } else { 0 },
                        leaves: automaton.component(edge.target) != component,
                    },
                });
            }
            observer.edges[first as usize..].sort_by_key(|edge| !edge.step.leaves);
            mentions.sort_unstable();
            mentions.dedup();
            observer.states.push(State {
                edges: (first, observer.edges.len() as u32),
                mentions,
            });
        }
        observer.initial = observer.place(automaton.initial(), 0);
        observer
    }

    /// The place for a state and a cover.
    fn place(&self, state: u32, cover: u64) -> u32 {
        let places = &mut *self.places.borrow_mut();
        let known = |places: &Places, cover: u64| places.index.get(&(state, cover)).copied();
        if let Some(place) = known(places, cover) {
            return place;
        }
        let cover = if places.list.len() < places.most {
            cover
        } else {
            0
        };
        if let Some(place) = known(places, cover) {
            return place;
        }
        let place = places.list.len() as u32;
        places.list.push((state, cover));
        places.index.insert((state, cover), place);
        let mut mentions = self.states[state as usize].mentions.clone();
        for covered in ones(cover) {
            mentions.extend(&self.states[covered as usize].mentions);
        }
        mentions.sort_unstable();
        mentions.dedup();
        places.mentions.push(mentions);
        place
    }

    /// The edges of a state that a letter allows.
    fn allowed(&self, state: u32, letter: &[u64]) -> impl Iterator<Item = Move> {
        let (first, end) = self.states[state as usize].edges;
        let edges = self.edges[first as usize..end as usize].iter();
        let allowed = edges
            .filter(|edge| (edge.cubes.0..edge.cubes.1).any(|cube| self.cube_holds(cube, letter)));
        allowed.map(|edge| edge.step)
    }

    fn cube_holds(&self, cube: u32, letter: &[u64]) -> bool {
        let cube = &self.cubes[cube as usize * 2 * self.words..][..2 * self.words];
        let (mask, value) = cube.split_at(self.words);
        let pairs = mask.iter().zip(value);
        pairs
            .zip(letter)
            .all(|((mask, value), letter)| letter & mask == *value)
    }
}

/// The places of the bits that are set.
fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let next = bits.trailing_zeros();
        bits &= bits.checked_sub(1)?;
        Some(next)
    })
}

/// The bit of a state; none if covers are not kept.
fn bit(state: u32) -> u64 {
    1u64.checked_shl(state).unwrap_or(0)
}

impl Observer for Buchi {
    fn initial(&self, out: &mut Vec<u32>) {
        out.push(self.initial);
    }

    fn marks(&self) -> u32 {
        self.marks
    }

    fn letter(&self, place: u32, holds: &mut dyn FnMut(u32) -> bool) -> Option<u64> {
        if self.words > 1 {
            return None;
        }
        let places = self.places.borrow();
        let mentions = places.mentions[place as usize].iter();
        Some(mentions.fold(0, |letter, &i| letter | u64::from(holds(i)) << i))
    }

    fn moves(&self, place: u32, holds: &mut dyn FnMut(u32) -> bool, out: &mut Vec<Move>) -> bool {
        let mut small = [0u64; 1];
        let mut large;
        let letter: &mut [u64] = if self.words == 1 {
            &mut small
        } else {
            large = vec![0; self.words];
            &mut large
        };
        let (state, cover) = {
            let places = self.places.borrow();
            for &i in &places.mentions[place as usize] {
                letter[i as usize / 64] |= u64::from(holds(i)) << (i % 64);
            }
            places.list[place as usize]
        };
        let mut covered = 0;
        for other in ones(cover) {
            for step in self.allowed(other, letter) {
                covered |= bit(step.to);
            }
        }
        // The states of runs that leave their component now or have left it before.
        let mut left = covered;
        for step in self.allowed(state, letter) {
            if step.leaves {
                left |= bit(step.to);
            }
        }
        for step in self.allowed(state, letter) {
            if step.leaves && covered & bit(step.to) != 0 {
                continue;
            }
            let cover = if step.leaves { covered } else { left };
            out.push(Move {
                to: self.place(step.to, cover & !bit(step.to)),
                ..step
            });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use droste_base::Limits;
    use droste_ltl::{Atoms, Formulas, Options, parse_text, translate};

    #[test]
    fn guards_over_many_propositions() {
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let text: Vec<String> = (0..101).map(|i| format!("!p{i}")).collect();
        let text = format!("G (p3 && p100 && !p64) && ({})", text.join(" || "));
        let formula = parse_text(&text, &mut formulas, &mut atoms).unwrap();
        let options = Options::default();
        let automaton = translate(
            &mut formulas,
            formula,
            atoms.len(),
            &options,
            &Limits::default(),
        );
        let observer = Buchi::new(&automaton.unwrap());
        let id = |name: &str| atoms.list().iter().position(|a| a.text == name).unwrap() as u32;
        let moves = |holds: &dyn Fn(u32) -> bool| {
            let mut out = Vec::new();
            observer.moves(observer.initial, &mut |i| holds(i), &mut out);
            out.len()
        };
        let (p3, p100) = (id("p3"), id("p100"));
        assert_eq!(moves(&|i| i == p3 || i == p100), 1);
        assert_eq!(moves(&|i| i == p3), 0);
        assert_eq!(moves(&|_| true), 0);
    }
}
