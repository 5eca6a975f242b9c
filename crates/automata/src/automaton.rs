//! Transition-based generalised Büchi automata.
//!
//! An automaton has one initial state, and edges with a guard, a set of marks, and a target. A run
//! takes, at each position of a word, an edge whose guard holds there. It is accepting if every
//! mark occurs infinitely often on its edges (Giannakopoulou and Lerda, FORTE 2002; Couvreur, FM
//! 1999). Without marks, every infinite run is accepting.
//!
//! Edges lie in one table sorted by source. Guards are interned: a product with a program evaluates
//! each of the few distinct guards once per program state, and then only tests bits.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::components::components;
use crate::formula::{AtomId, FormulaId};

/// An atom or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Literal(u32);

impl Literal {
    /// `atom`, or `!atom` if not `positive`.
    pub fn new(atom: AtomId, positive: bool) -> Self {
        Literal(atom.0 << 1 | u32::from(!positive))
    }

    /// The atom.
    pub fn atom(self) -> AtomId {
        AtomId(self.0 >> 1)
    }

    /// Whether it is not negated.
    pub fn positive(self) -> bool {
        self.0 & 1 == 0
    }
}

/// The distinct guards of an automaton: disjunctions of conjunctions of literals, in three flat
/// tables.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    literals: Vec<Literal>,
    /// Where each conjunction begins in `literals`, and the end.
    cubes: Vec<u32>,
    /// Where each guard begins in `cubes`, and the end.
    starts: Vec<u32>,
}

impl Guards {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn range(&self, guard: u32) -> Range<usize> {
        self.starts[guard as usize] as usize..self.starts[guard as usize + 1] as usize
    }

    /// The conjunctions of a guard; the guard that always holds has an empty one.
    pub fn cubes(
        &self,
        guard: u32,
    ) -> impl DoubleEndedIterator<Item = &[Literal]> + ExactSizeIterator {
        self.range(guard)
            .map(|i| &self.literals[self.cubes[i] as usize..self.cubes[i + 1] as usize])
    }

    /// Whether a guard holds where `atom` says what atoms do.
    pub fn holds(&self, guard: u32, mut atom: impl FnMut(AtomId) -> bool) -> bool {
        self.cubes(guard).any(|cube| {
            cube.iter()
                .all(|literal| atom(literal.atom()) == literal.positive())
        })
    }

    /// Whether a guard holds always and is written so.
    pub fn is_true(&self, guard: u32) -> bool {
        self.cubes(guard).any(<[Literal]>::is_empty)
    }
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub source: u32,
    /// When it can be taken: an index into [`Tgba::guards`].
    pub guard: u32,
    /// The marks it has, one bit each.
    pub marks: u32,
    /// Where it leads.
    pub target: u32,
}

/// What is known about a state, for explanations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateInfo {
    /// What a run has to satisfy from here, as far as reductions have left that recognisable.
    pub formula: Option<FormulaId>,
    /// Its name in the file it comes from.
    pub name: Option<String>,
}

/// A transition-based generalised Büchi automaton.
#[derive(Clone, Debug)]
pub struct Tgba {
    atoms: usize,
    initial: u32,
    states: Vec<StateInfo>,
    /// Sorted by source.
    edges: Vec<Edge>,
    /// Where the edges of each state begin, and the end.
    first: Vec<u32>,
    guards: Guards,
    marks: u32,
    /// The component of each state, edges lead to the same or a smaller number.
    component: Vec<u32>,
    /// For each component whether it contains an accepting cycle.
    accepting: Vec<bool>,
}

/// More marks than an automaton can have.
pub const MOST_MARKS: u32 = 32;

/// An edge to be added: where it begins, its guard as a list of cubes, its marks, where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEdge {
    /// Where it begins.
    pub source: u32,
    /// When it can be taken.
    pub guard: Vec<Vec<Literal>>,
    /// The marks it has.
    pub marks: u32,
    /// Where it leads.
    pub target: u32,
}

impl Tgba {
    /// An automaton over the atoms below `atoms` with these states, which are numbered from 0, and
    /// edges.
    ///
    /// # Panics
    /// If there is no state, or an edge or mark is out of range.
    pub fn new(
        atoms: usize,
        initial: u32,
        states: Vec<StateInfo>,
        edges: Vec<NewEdge>,
        marks: u32,
    ) -> Self {
        assert!(marks <= MOST_MARKS, "at most {MOST_MARKS} marks");
        assert!(
            (initial as usize) < states.len(),
            "there is an initial state"
        );
        let all = all_marks(marks);
        let mut guards = Guards {
            cubes: vec![0],
            starts: vec![0],
            ..Guards::default()
        };
        let mut known: FxHashMap<Vec<Vec<Literal>>, u32> = FxHashMap::default();
        let mut list: Vec<Edge> = Vec::with_capacity(edges.len());
        for mut edge in edges {
            assert!(
                (edge.source.max(edge.target) as usize) < states.len() && edge.marks & !all == 0,
                "edges are between states and have marks of the automaton"
            );
            if edge.guard.is_empty() {
                continue;
            }
            for cube in &mut edge.guard {
                cube.sort_unstable();
                cube.dedup();
                assert!(
                    cube.iter().all(|l| (l.atom().0 as usize) < atoms),
                    "known atoms"
                );
            }
            let guard = *known.entry(edge.guard).or_insert_with_key(|cubes| {
                for cube in cubes {
                    guards.literals.extend_from_slice(cube);
                    guards.cubes.push(guards.literals.len() as u32);
                }
                guards.starts.push(guards.cubes.len() as u32 - 1);
                guards.starts.len() as u32 - 2
            });
            list.push(Edge {
                source: edge.source,
                guard,
                marks: edge.marks,
                target: edge.target,
            });
        }
        list.sort_by_key(|edge| edge.source);
        let mut first = vec![0; states.len() + 1];
        for edge in &list {
            first[edge.source as usize + 1] += 1;
        }
        for i in 0..states.len() {
            first[i + 1] += first[i];
        }
        let mut automaton = Tgba {
            atoms,
            initial,
            states,
            edges: list,
            first,
            guards,
            marks,
            component: Vec::new(),
            accepting: Vec::new(),
        };
        automaton.find_components();
        automaton
    }

    fn find_components(&mut self) {
        let states = self.states.len();
        let starts = std::iter::once(self.initial).chain(0..states as u32);
        let found = components(states, starts, |state, out: &mut Vec<(u32, ())>| {
            out.extend(self.edges_from(state).iter().map(|edge| (edge.target, ())));
        });
        let mut seen: Vec<Option<u32>> = vec![None; found.count as usize];
        for edge in &self.edges {
            let component = found.of[edge.source as usize];
            if component == found.of[edge.target as usize] {
                *seen[component as usize].get_or_insert(0) |= edge.marks;
            }
        }
        let all = self.all_marks();
        self.accepting = seen.into_iter().map(|marks| marks == Some(all)).collect();
        self.component = found.of;
    }

    /// The number of atoms it may ask about: those with smaller ids.
    pub fn atom_count(&self) -> usize {
        self.atoms
    }

    /// Where runs begin.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// How many states there are, numbered from 0.
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    /// What is known about a state.
    pub fn state(&self, state: u32) -> &StateInfo {
        &self.states[state as usize]
    }

    /// All edges, sorted by source.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edges that begin in a state.
    pub fn edges_from(&self, state: u32) -> &[Edge] {
        &self.edges[self.first[state as usize] as usize..self.first[state as usize + 1] as usize]
    }

    /// The distinct guards.
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// How many marks there are.
    pub fn mark_count(&self) -> u32 {
        self.marks
    }

    /// All marks, one bit each.
    pub fn all_marks(&self) -> u32 {
        all_marks(self.marks)
    }

    /// The strongly connected component of a state; edges lead to the same or a smaller number.
    pub fn component(&self, state: u32) -> u32 {
        self.component[state as usize]
    }

    /// Whether a component contains an accepting cycle.
    pub fn is_accepting_component(&self, component: u32) -> bool {
        self.accepting[component as usize]
    }

    /// Whether no word is accepted (for automata all of whose states are reachable, as translation
    /// gives).
    pub fn is_empty(&self) -> bool {
        !self.accepting.iter().any(|&accepting| accepting)
    }

    /// Whether the edges inside each component all have the same marks: every cycle of a component
    /// is accepting or none is.
    pub fn is_weak(&self) -> bool {
        let mut marks: Vec<Option<u32>> = vec![None; self.accepting.len()];
        self.edges.iter().all(|edge| {
            let component = self.component(edge.source);
            component != self.component(edge.target)
                || *marks[component as usize].get_or_insert(edge.marks) == edge.marks
        })
    }

    /// Whether the automaton is weak and accepts every word of which a run has come into an
    /// accepting component. Only components that show it plainly are recognised: each of their
    /// states has an edge to itself that can always be taken.
    pub fn is_terminal(&self) -> bool {
        let accepting = |state| self.is_accepting_component(self.component(state));
        self.is_weak()
            && (0..self.states.len() as u32)
                .filter(|&state| accepting(state))
                .all(|state| {
                    let edges = self.edges_from(state);
                    edges.iter().all(|edge| accepting(edge.target))
                        && edges
                            .iter()
                            .any(|edge| edge.target == state && self.guards.is_true(edge.guard))
                })
    }

    /// Whether no two edges of a state can be taken at once.
    pub fn is_deterministic(&self) -> bool {
        let mut cubes: Vec<(usize, &[Literal])> = Vec::new();
        (0..self.states.len() as u32).all(|state| {
            cubes.clear();
            for (i, edge) in self.edges_from(state).iter().enumerate() {
                cubes.extend(self.guards.cubes(edge.guard).map(|cube| (i, cube)));
            }
            are_apart(&cubes)
        })
    }
}

/// Lists that are compared pair by pair.
const FEW: usize = 8;

/// Whether no letter is in two cubes with different numbers. The literals of a cube are in order.
///
/// Those with an atom and those with its negation have no letter in common; so the list is split by
/// one atom after the other, as long as that is less work than comparing all pairs.
fn are_apart(cubes: &[(usize, &[Literal])]) -> bool {
    let mut left = cubes.len() * cubes.len();
    let mut open = vec![(cubes.to_vec(), 0)];
    while let Some((list, from)) = open.pop() {
        if left < list.len() {
            return pairs_are_apart(cubes);
        }
        left -= list.len();
        let of_one = list.windows(2).all(|pair| pair[0].0 == pair[1].0);
        if of_one {
            continue;
        }
        // The next atom that one of them asks about.
        let place = |cube: &[Literal]| cube.partition_point(|l| l.atom().0 < from);
        let asked = list.iter().filter_map(|(_, cube)| cube.get(place(cube)));
        let Some(atom) = asked.map(|literal| literal.atom().0).min() else {
            return false;
        };
        let value = |cube: &[Literal]| {
            let literal = cube.get(place(cube)).filter(|l| l.atom().0 == atom);
            literal.map(|literal| literal.positive())
        };
        let part = |wanted: bool| -> Vec<(usize, &[Literal])> {
            let keep = |cube| value(cube).is_none_or(|value| value == wanted);
            list.iter()
                .copied()
                .filter(|(_, cube)| keep(cube))
                .collect()
        };
        if list.len() <= FEW {
            if !pairs_are_apart(&list) {
                return false;
            }
            continue;
        }
        // If one part has them all, the other says nothing new.
        let (yes, no) = (part(true), part(false));
        if no.len() == list.len() {
            open.push((no, atom + 1));
            continue;
        }
        if yes.len() < list.len() {
            open.push((no, atom + 1));
        }
        open.push((yes, atom + 1));
    }
    true
}

fn pairs_are_apart(cubes: &[(usize, &[Literal])]) -> bool {
    let apart = |a: &[Literal], b: &[Literal]| {
        a.iter().any(|&literal| {
            let negation = Literal::new(literal.atom(), !literal.positive());
            b.binary_search(&negation).is_ok()
        })
    };
    let mut pairs = cubes.iter().enumerate();
    pairs.all(|(i, (a, cube))| {
        let others = &cubes[i + 1..];
        others.iter().all(|(b, other)| a == b || apart(cube, other))
    })
}

fn all_marks(count: u32) -> u32 {
    ((1u64 << count) - 1) as u32
}
