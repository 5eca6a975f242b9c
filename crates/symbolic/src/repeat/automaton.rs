//! The automaton that a run is compared with, in the form that the symbolic product wants.
//!
//! A [`Tgba`] accepts a run if some sequence of its moves meets every mark again and again. For the
//! product it becomes an automaton with one mark: its states get a level, the number of the mark
//! that is waited for. One mark is one bit in every summary, where a set of *k* marks would be *k*
//! bits. The level is part of the automaton's state, where a few bits more cost little. An edge
//! that meets several marks raises the level by as many.
//!
//! Moves and states that cannot lead to acceptance are cut before the product is made: a mark
//! counts only on an edge inside a strongly connected component, and a state from which no such
//! mark can be reached is useless.
//!
//! Monitors, and labels that are to be visited again and again, are automata as well
//! ([`of_monitor`], [`of_nodes`]).

use droste_automata::automaton::NewEdge;
use droste_automata::{AtomId, Literal, StateInfo, Tgba};
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{Expr, ExprNode, NodeId, Program, Proposition};

use crate::control::postorder;

/// Conjunctions of atoms (by number) and negated atoms, of which one must hold.
pub(crate) type Guard = Vec<Vec<(u32, bool)>>;

/// The automaton that accepts the runs along which a monitor is in repeating states again and
/// again, and its atoms.
pub fn of_monitor(monitor: &Monitor) -> (Vec<Proposition>, Tgba) {
    let mut propositions = Vec::new();
    let mut edges = Vec::new();
    for (source, state) in monitor.states.iter().enumerate() {
        let mut edge = |guard: Vec<Literal>, target: u32| {
            edges.push(NewEdge {
                source: source as u32,
                guard: vec![guard],
                marks: u32::from(state.kind == StateKind::Repeating),
                target,
            });
        };
        let mut otherwise = Vec::new();
        for (guard, target) in &state.edges {
            let atom = AtomId(propositions.len() as u32);
            propositions.push(guard.clone());
            edge(vec![Literal::new(atom, true)], *target);
            otherwise.push(Literal::new(atom, false));
        }
        if let Some(target) = state.otherwise {
            edge(otherwise, target);
        }
    }
    let states = vec![StateInfo::default(); monitor.states.len()];
    let atoms = propositions.len();
    let automaton = Tgba::new(atoms, monitor.initial, states, edges, 1);
    (propositions, automaton)
}

/// The automaton that accepts the runs along which control is at one of these nodes (which are
/// sorted) again and again, and its atom.
pub fn of_nodes(program: &Program, nodes: &[NodeId]) -> (Vec<Proposition>, Tgba) {
    let by_procedure = (0..program.procedures.len()).map(|i| {
        let own = nodes.iter().copied();
        let own = own.filter(|&node| program.node(node).procedure.0 as usize == i);
        Expr {
            nodes: vec![ExprNode::At(own.collect())],
        }
    });
    let here = Proposition {
        by_procedure: by_procedure.collect(),
        terminated: Expr::constant(0),
    };
    let edge = |positive: bool| NewEdge {
        source: 0,
        guard: vec![vec![Literal::new(AtomId(0), positive)]],
        marks: u32::from(positive),
        target: 0,
    };
    let edges = vec![edge(true), edge(false)];
    let automaton = Tgba::new(1, 0, vec![StateInfo::default()], edges, 1);
    (vec![here], automaton)
}

/// A move of an automaton with one mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) guard: Guard,
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
    pub(crate) fn new(automaton: &Tgba) -> Option<Self> {
        let marks = automaton.mark_count();
        let levels = marks.max(1);
        let id = |state: u32, level: u32| state * levels + level;
        let guard = |guard: u32| -> Guard {
            let cubes = automaton.guards().cubes(guard);
            let cubes = cubes.map(|cube| {
                let literals = cube.iter();
                literals.map(|l| (l.atom().0, l.positive())).collect()
            });
            cubes.collect()
        };
        let mut states: Vec<Vec<Edge>> = Vec::new();
        for state in 0..automaton.state_count() as u32 {
            for level in 0..levels {
                let edges = automaton.edges_from(state).iter().map(|edge| {
                    let mut next = level;
                    while next < marks && edge.marks >> next & 1 == 1 {
                        next += 1;
                    }
                    // The last mark waited for was met, and waiting begins anew.
                    let marked = next >= marks;
                    let next = if marked { 0 } else { next };
                    Edge {
                        guard: guard(edge.guard),
                        marked,
                        to: id(edge.target, next),
                    }
                });
                states.push(edges.collect());
            }
        }
        let all = Buchi {
            states,
            initial: id(automaton.initial(), 0),
        };
        all.useful()
    }

    /// Only what can be reached and can lead to acceptance.
    fn useful(mut self) -> Option<Self> {
        let order = postorder(self.initial, |state, out| {
            out.extend(self.states[state as usize].iter().map(|edge| edge.to));
        });
        // Components: reverse postorder, along the edges backwards (Kosaraju).
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
