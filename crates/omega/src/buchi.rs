//! Generalised Büchi automata as observers.
//!
//! The marks of edges that lie on no accepting cycle are irrelevant, and are cleared or said not to matter here, so that the product
//! carries as few of them as possible. Edges that lead on to another component are tried first: an automaton
//! of a negated formula guesses when things begin to go wrong, and a search that follows the guess at once
//! finds a violation without having seen everything that goes well.

use droste_ltl::Tgba;

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

impl Buchi {
    /// An observer that accepts what `automaton` accepts; its propositions are the automaton's atoms.
    pub fn new(automaton: &Tgba) -> Self {
        let words = automaton.atom_count().div_ceil(64).max(1);
        let mut observer = Buchi {
            initial: automaton.initial(),
            marks: automaton.mark_count(),
            words,
            states: Vec::with_capacity(automaton.state_count()),
            edges: Vec::with_capacity(automaton.edges().len()),
            cubes: Vec::new(),
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
        for state in 0..automaton.state_count() as u32 {
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
        observer
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

impl Observer for Buchi {
    fn initial(&self, out: &mut Vec<u32>) {
        out.push(self.initial);
    }

    fn marks(&self) -> u32 {
        self.marks
    }

    fn moves(&self, place: u32, holds: &mut dyn FnMut(u32) -> bool, out: &mut Vec<Move>) {
        let state = &self.states[place as usize];
        let mut small = [0u64; 1];
        let mut large;
        let letter: &mut [u64] = if self.words == 1 {
            &mut small
        } else {
            large = vec![0; self.words];
            &mut large
        };
        for &i in &state.mentions {
            letter[i as usize / 64] |= u64::from(holds(i)) << (i % 64);
        }
        for edge in &self.edges[state.edges.0 as usize..state.edges.1 as usize] {
            if (edge.cubes.0..edge.cubes.1).any(|cube| self.cube_holds(cube, letter)) {
                out.push(edge.step);
            }
        }
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
