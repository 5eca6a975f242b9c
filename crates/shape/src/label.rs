//! Which propositions hold in a state.

use droste_heap::{Heap, Nonterminal, Selector, Variable};

use crate::machine::{Fault, Machine, State};
use crate::proposition::Shape;

/// A variable or a field of what it points to, in the symbols of heaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) variable: Option<Variable>,
    pub(crate) field: Option<Selector>,
}

/// Which variable visits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    /// Any.
    Any,
    /// This one, if there is such a variable.
    One(Option<Variable>),
}

/// A proposition in the symbols of a machine. What the program does not know is `None`, and is
/// never defined.
#[derive(Clone, Debug)]
pub(crate) enum Atom {
    /// Something is wrong: this.
    Fault(Fault),
    Terminated,
    Visited {
        marking: Variable,
        by: By,
    },
    IdenticNeighbours {
        centre: Variable,
        /// For each selector, the marking of what it pointed to.
        neighbours: Vec<(Selector, Variable)>,
    },
    Reachable {
        from: Option<Variable>,
        to: Option<Variable>,
        /// Which reachability relation of the grammar.
        relation: usize,
    },
    Compare(Side, Side, bool),
    /// One of these nonterminals.
    Language(Vec<Nonterminal>),
    /// A list or tree, by these nonterminals.
    ListOrTree(Vec<Nonterminal>),
    Shape(Shape),
    /// A line of some methods.
    Line(Vec<bool>, u32),
    /// Some methods.
    In(Vec<bool>),
}

impl Atom {
    /// Whether it is about the heap, and not about where control is.
    pub(crate) fn is_about_heaps(&self) -> bool {
        !matches!(
            self,
            Atom::Fault(_) | Atom::Terminated | Atom::Line(..) | Atom::In(_)
        )
    }

    /// Whether it is about all that there is of the heap.
    pub(crate) fn is_about_shapes(&self) -> bool {
        matches!(
            self,
            Atom::Language(_) | Atom::ListOrTree(_) | Atom::Shape(_)
        )
    }

    /// Whether it does not recognise a structure that is there: `L(N)` does without the rules by which
    /// null may be at several ends of a list.
    pub(crate) fn overlooks(&self, machine: &Machine<'_>, state: State) -> bool {
        let Atom::Language(of) = self else {
            return false;
        };
        let heap = machine.whole_heap(state);
        !self.holds_in(machine, &heap) && machine.grammar.is_list_or_tree(&heap, of)
    }

    /// The fields that it compares, each of a variable.
    pub(crate) fn compared_fields(&self) -> Vec<(Variable, Selector)> {
        let Atom::Compare(left, right, _) = self else {
            return Vec::new();
        };
        let sides = [left, right].into_iter();
        sides
            .filter_map(|side| Some((side.variable?, side.field?)))
            .collect()
    }

    pub(crate) fn holds(&self, machine: &Machine<'_>, state: State) -> bool {
        let place = machine.place(state);
        match self {
            Atom::Fault(fault) => place.fault == Some(*fault),
            Atom::Terminated => machine.is_at_end(state),
            Atom::In(methods) => methods[place.method.index()],
            Atom::Line(methods, line) => {
                let lines = &machine.program.method(place.method).lines;
                methods[place.method.index()] && lines.get(place.pc as usize) == Some(line)
            }
            atom => atom.holds_in(machine, &machine.whole_heap(state)),
        }
    }

    fn holds_in(&self, machine: &Machine<'_>, heap: &Heap) -> bool {
        let any_index = |of: &[Nonterminal]| match machine.holes {
            Some(holes) => holes.closed(of),
            None => of.to_vec(),
        };
        match self {
            Atom::Visited { marking, by } => {
                let Some(marked) = heap.variable(*marking) else {
                    return false;
                };
                match by {
                    By::One(variable) => {
                        variable.and_then(|variable| heap.variable(variable)) == Some(marked)
                    }
                    By::Any => heap
                        .variables_at(marked)
                        .any(|variable| !variable.is_constant() && !variable.is_marking()),
                }
            }
            Atom::IdenticNeighbours { centre, neighbours } => {
                let centre = heap.variable(*centre);
                neighbours.iter().all(|&(selector, marking)| {
                    let Some(neighbour) = heap.variable(marking) else {
                        return true;
                    };
                    let target = centre.and_then(|centre| machine.follow(heap, centre, selector));
                    target == Some(neighbour)
                })
            }
            Atom::Compare(left, right, equal) => {
                match (machine.side(heap, *left), machine.side(heap, *right)) {
                    (Some(left), Some(right)) => (left == right) == *equal,
                    _ => false,
                }
            }
            Atom::Reachable { from, to, relation } => {
                let node = |variable: &Option<Variable>| heap.variable((*variable)?);
                match (node(from), node(to)) {
                    (Some(from), Some(to)) => machine.reaches(heap, from, to, *relation),
                    _ => false,
                }
            }
            Atom::Language(of) => machine.of_contexts().is_shape(heap, &any_index(of)),
            Atom::ListOrTree(of) => machine.of_contexts().is_list_or_tree(heap, &any_index(of)),
            Atom::Shape(shape) => machine.balance.is_some_and(|balance| match shape {
                Shape::BalancedTree => {
                    balance.is_balanced_tree(machine.grammar, machine.holes, heap)
                }
                // It is told by its indices, which are not all known then.
                Shape::BiMap if machine.holes.is_some_and(|holes| holes.is_used(heap)) => false,
                Shape::BiMap => balance.is_bimap(machine.grammar, heap),
                Shape::Tree | Shape::List | Shape::DoubleList => false,
            }),
            Atom::Fault(_) | Atom::Terminated | Atom::Line(..) | Atom::In(_) => false,
        }
    }
}
