//! The automaton that a run is compared with, and its form for the symbolic product.
//!
//! An [`Automaton`] is a generalised Büchi automaton whose marks sit on its edges: it accepts a run if
//! some sequence of moves meets every mark again and again. For the product it is made an
//! automaton with one mark by counting (the states get a level: the mark waited for), the standard
//! construction. One mark is one bit in every summary where a set of *k* would be *k* bits, and the level is part of the
//! automaton's state, of which a few bits more cost little. An edge that meets several marks raises the
//! level by as many.
//!
//! What cannot lead to acceptance is cut before anybody multiplies with it: a mark counts only on an edge
//! inside a strongly connected component, and a state from which no such mark can be reached is useless.

use crate::search::postorder;

/// A conjunction of atoms (by number) and negated atoms.
pub type Conjunction = Vec<(u32, bool)>;

/// A move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The move is possible where one of these is true; an empty conjunction always is.
    pub guard: Vec<Conjunction>,
    /// The marks it meets, one bit each.
    pub marks: u32,
    /// The state it leads to.
    pub to: u32,
}

/// A generalised Büchi automaton with marks on its moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// The moves of each state.
    pub states: Vec<Vec<Move>>,
    /// Where it starts.
    pub initial: u32,
    /// How many marks there are; with none, every infinite run that it can follow is accepted.
    pub marks: u32,
}

/// A move of an automaton with one mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) guard: Vec<Conjunction>,
    pub(crate) marked: bool,
    pub(crate) to: u32,
}

/// A Büchi automaton with its mark on the moves; every state can lead to a mark that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Buchi {
    pub(crate) states: Vec<Vec<Edge>>,
    pub(crate) initial: u32,
}

impl Buchi {
    /// The automaton with levels; `None` if it accepts nothing whatever the run.
    pub(crate) fn new(automaton: &Automaton) -> Option<Self> {
        let levels = automaton.marks.max(1);
        let id = |state: u32, level: u32| (state * levels + level) as usize;
        let count = automaton.states.len() * levels as usize;
        let mut states: Vec<Vec<Edge>> = Vec::with_capacity(count);
        for moves in &automaton.states {
            for level in 0..levels {
                let edges = moves.iter().filter(|m| !m.guard.is_empty()).map(|step| {
                    let mut next = level;
                    while next < automaton.marks && step.marks >> next & 1 == 1 {
                        next += 1;
                    }
                    let marked = next >= automaton.marks;
                    let next = if marked { 0 } else { next };
                    Edge {
                        guard: step.guard.clone(),
                        marked,
                        to: id(step.to, next) as u32,
                    }
                });
                states.push(edges.collect());
            }
        }
        let all = Buchi {
            states,
            initial: id(automaton.initial, 0) as u32,
        };
        all.useful()
    }

    /// Only what can be reached and can lead to acceptance.
    fn useful(mut self) -> Option<Self> {
        let order = postorder(self.initial, |state, out| {
            out.extend(self.states[state as usize].iter().map(|edge| edge.to));
        });
        // Components: reverse postorder, along the edges backwards (Kosaraju).
        let mut reached = vec![false; self.states.len()];
        for &state in &order {
            reached[state as usize] = true;
        }
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.states.len()];
        for &state in &order {
            for edge in &self.states[state as usize] {
                before[edge.to as usize].push(state);
            }
        }
        let mut component = vec![u32::MAX; self.states.len()];
        for &root in order.iter().rev() {
            let mut open = vec![root];
            while let Some(state) = open.pop() {
                if component[state as usize] == u32::MAX {
                    component[state as usize] = root;
                    open.extend(&before[state as usize]);
                }
            }
        }
        let mut useful = vec![false; self.states.len()];
        let mut open = Vec::new();
        for &state in &order {
            for edge in &mut self.states[state as usize] {
                edge.marked &= component[state as usize] == component[edge.to as usize];
                if edge.marked {
                    open.push(state);
                }
            }
        }
        while let Some(state) = open.pop() {
            if !std::mem::replace(&mut useful[state as usize], true) {
                open.extend(&before[state as usize]);
            }
        }
        if !useful[self.initial as usize] {
            return None;
        }
        let mut number = vec![0; self.states.len()];
        let mut kept = 0;
        for (i, useful) in useful.iter().enumerate() {
            number[i] = kept;
            kept += u32::from(*useful);
        }
        let initial = number[self.initial as usize];
        let states = self.states.into_iter().zip(&useful).filter(|(_, u)| **u);
        let states = states.map(|(edges, _)| {
            let edges = edges.into_iter().filter(|edge| useful[edge.to as usize]);
            let edges = edges.map(|edge| Edge {
                to: number[edge.to as usize],
                ..edge
            });
            edges.collect()
        });
        Some(Buchi {
            states: states.collect(),
            initial,
        })
    }

    /// Bits of a state's number.
    pub(crate) fn bits(&self) -> u32 {
        usize::BITS - (self.states.len() - 1).leading_zeros()
    }
}
