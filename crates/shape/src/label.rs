//! Which propositions hold in a state.
//!
//! A value is *undefined* if there is none: the variable has not been assigned, or belongs to no method
//! that is running, or it is a field of null. What is undefined makes a proposition false. Other values
//! are *not modelled*: what is read from arrays and static fields, most numbers, results of libraries.
//! A proposition about such a value may hold or not.

use droste_heap::{Heap, Node, Nonterminal, Selector, TypeId, Variable};

use crate::machine::{Fault, Machine, State};
use crate::proposition::Shape;

/// A variable or a field of what it points to, in the symbols of heaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What is not modelled: why nobody knows whether a proposition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The value of this variable.
    Variable(Variable),
    /// This field of an object.
    Field(Selector),
    /// There is an object of this type: the grammar has rules for a class that it extends, but none for
    /// its own. So no structure with it is recognised.
    Class(TypeId),
}

/// Whether a proposition holds, if that does not depend on a value that is not modelled.
pub(crate) type Truth = Result<bool, Cause>;

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
        /// The selectors that count, or all.
        by: Option<Vec<Selector>>,
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
        self.holds_in(machine, &heap) != Ok(true) && machine.grammar.is_list_or_tree(&heap, of)
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

    pub(crate) fn holds(&self, machine: &Machine<'_>, state: State) -> Truth {
        let place = machine.place(state);
        Ok(match self {
            Atom::Fault(fault) => place.fault == Some(*fault),
            Atom::Terminated => machine.is_at_end(state),
            Atom::In(methods) => methods[place.method.index()],
            Atom::Line(methods, line) => {
                let lines = &machine.program.method(place.method).lines;
                methods[place.method.index()] && lines.get(place.pc as usize) == Some(line)
            }
            atom => return atom.holds_in(machine, &machine.whole_heap(state)),
        })
    }

    fn holds_in(&self, machine: &Machine<'_>, heap: &Heap) -> Truth {
        let any_index = |of: &[Nonterminal]| match machine.holes {
            Some(holes) => holes.closed(of),
            None => of.to_vec(),
        };
        let is_shape = match self {
            Atom::Visited { marking, by } => return visits(machine, heap, *marking, *by),
            Atom::IdenticNeighbours { centre, neighbours } => {
                return is_identic(machine, heap, *centre, neighbours);
            }
            Atom::Compare(left, right, equal) => {
                return compare(machine, heap, *left, *right, *equal);
            }
            Atom::Reachable {
                from,
                to,
                relation,
                by,
            } => {
                let node = |variable: Option<Variable>| match variable {
                    Some(variable) => machine.value_of(heap, variable),
                    None => Ok(None),
                };
                let (from, to) = (node(*from), node(*to));
                if from == Ok(None) || to == Ok(None) {
                    return Ok(false);
                }
                // Nothing can be reached from null.
                if from == Ok(heap.variable(Variable::NULL)) {
                    return Ok(false);
                }
                let (Some(from), Some(to)) = (from?, to?) else {
                    return Ok(false);
                };
                if machine.reaches(heap, from, to, *relation) {
                    return Ok(true);
                }
                return machine
                    .way_out(heap, from, by.as_deref())
                    .map_or(Ok(false), Err);
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
        };
        // What is missing may be what a shape needs.
        if is_shape {
            return Ok(true);
        }
        machine.gap(heap).map_or(Ok(false), Err)
    }
}

fn visits(machine: &Machine<'_>, heap: &Heap, marking: Variable, by: By) -> Truth {
    let Some(marked) = heap.variable(marking) else {
        return Ok(false);
    };
    match by {
        By::One(None) => Ok(false),
        By::One(Some(variable)) => Ok(machine.value_of(heap, variable)? == Some(marked)),
        By::Any => {
            let mut there = heap.variables_at(marked);
            if there.any(|variable| !variable.is_constant() && !variable.is_marking()) {
                return Ok(true);
            }
            let anywhere = machine.names.unmodelled(heap).next();
            anywhere.map_or(Ok(false), |variable| Err(Cause::Variable(variable)))
        }
    }
}

fn is_identic(
    machine: &Machine<'_>,
    heap: &Heap,
    centre: Variable,
    neighbours: &[(Selector, Variable)],
) -> Truth {
    let centre = heap.variable(centre);
    let mut unknown = None;
    for &(selector, marking) in neighbours {
        let target = match centre {
            Some(centre) => machine.field_of(heap, centre, selector),
            None => Ok(None),
        };
        match (heap.variable(marking), target) {
            (Some(neighbour), Ok(target)) if target != Some(neighbour) => return Ok(false),
            (_, Ok(None)) | (Some(_), Ok(Some(_))) => {}
            // At the beginning there was a value that is not modelled, if this is the field of an
            // object. It may be there still.
            (None, _) if !machine.names.stored.contains(&selector) => {}
            (_, Err(cause)) => unknown = Some(cause),
            (None, Ok(Some(_))) => unknown = Some(Cause::Field(selector)),
        }
    }
    if machine.options.compat {
        return Ok(true);
    }
    unknown.map_or(Ok(true), Err)
}

fn compare(machine: &Machine<'_>, heap: &Heap, left: Side, right: Side, equal: bool) -> Truth {
    let one = machine.side(heap, left);
    // Whatever it is, it is itself.
    if left == right && one.is_err() {
        return Ok(equal);
    }
    let other = machine.side(heap, right);
    if one == Ok(None) || other == Ok(None) {
        return Ok(false);
    }
    let same: (Option<Node>, Option<Node>) = (one?, other?);
    Ok((same.0 == same.1) == equal)
}
