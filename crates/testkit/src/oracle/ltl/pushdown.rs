//! The program as a pushdown system, and its product with the automaton of a formula: a Büchi
//! pushdown system.
//!
//! Source: Basu, Kumar, Pokorny and Ramakrishnan, *Resource-Constrained Model Checking of Recursive
//! Programs*, TACAS 2002, section 2. A *head* is a control location with the symbol on top of the
//! stack. Here it is one of two things:
//!
//! * a state of the program, that is control, globals and locals in scope, which is a position of the
//!   run; beside it is the assignment that the automaton guesses there;
//! * an outcome (globals and results) of a callee on top of a waiting caller, or at the bottom on top
//!   of nothing. It is no position: the automaton stands still there, and one more rule leads on.
//!
//! A call pushes the caller, which waits with all its values because `constrain` on the call may speak of
//! them; a return pops. At the bottom, the outcome leads to the terminated state, which is repeated for
//! ever. What is stuck or has failed has no rule.

use std::collections::HashMap;

use crate::ltl::tableau::{Assignment, Tableau};
use crate::oracle::Refusal;
use crate::oracle::machine::{Machine, Step, Store};
use crate::oracle::product::{State, System};

/// Who waits below the bottommost frame.
pub(super) const NOBODY: usize = usize::MAX;

/// What a state of the program can do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Go to a state.
    To(usize),
    /// Call: the callee starts in this state.
    Push(usize),
    /// Return with this outcome.
    Pop(usize),
}

/// The pushdown system of a program: its reachable states and their rules.
pub(in crate::oracle) struct Pushdown {
    pub(super) states: Vec<State>,
    ids: HashMap<State, usize>,
    pub(super) rules: Vec<Vec<Rule>>,
    pub(super) initial: Vec<usize>,
    outcomes: Vec<Store>,
}

impl Pushdown {
    /// `states` are all that are reachable.
    pub(in crate::oracle) fn new(machine: &Machine<'_>, states: Vec<State>) -> Self {
        let ids = states.iter().cloned().enumerate();
        let ids: HashMap<State, usize> = ids.map(|(i, state)| (state, i)).collect();
        let at = |(position, store)| ids[&State::At(position, store)];
        let mut outcomes = Vec::new();
        let mut outcome_ids = HashMap::new();
        let mut rules = Vec::new();
        for (i, state) in states.iter().enumerate() {
            let mut here = Vec::new();
            match state {
                State::Terminated(_) => here.push(Rule::To(i)),
                State::At(position, store) => {
                    for step in machine.steps(*position, store) {
                        match step {
                            Step::To(position, store) => here.push(Rule::To(at((position, store)))),
                            Step::Call(callee, entry) => {
                                let entries = machine.entries(callee, &entry).into_iter();
                                here.extend(entries.map(|entry| Rule::Push(at(entry))));
                            }
                            Step::Return(outcome) => {
                                let id = *outcome_ids.entry(outcome).or_insert_with_key(|key| {
                                    outcomes.push(key.clone());
                                    outcomes.len() - 1
                                });
                                here.push(Rule::Pop(id));
                            }
                            Step::Fail(_) => {}
                        }
                    }
                }
            }
            rules.push(here);
        }
        let initial = machine.initial().into_iter().map(at).collect();
        Pushdown {
            states,
            ids,
            rules,
            initial,
            outcomes,
        }
    }

    /// The states in which the run goes on when the callee of `caller` has this outcome.
    pub(super) fn resume(
        &self,
        machine: &Machine<'_>,
        caller: usize,
        outcome: usize,
    ) -> Vec<usize> {
        let outcome = &self.outcomes[outcome];
        if caller == NOBODY {
            let globals = outcome[..machine.globals()].to_vec();
            return vec![self.ids[&State::Terminated(globals)]];
        }
        let State::At(position, store) = &self.states[caller] else {
            unreachable!("only positions call");
        };
        let steps = machine.resume(*position, store, outcome).into_iter();
        let states = steps.filter_map(|step| match step {
            Step::To(position, store) => Some(self.ids[&State::At(position, store)]),
            _ => None,
        });
        states.collect()
    }
}

/// The automaton, with its assignments numbered and its moves written down.
pub(super) struct Automaton {
    pub(super) assignments: Vec<Assignment>,
    /// For each class of states, those with the same letter, the numbers of its assignments.
    pub(super) of_class: Vec<Vec<usize>>,
    /// For each assignment and each class, the indices in `of_class` of those that may follow.
    pub(super) moves: Vec<Vec<Vec<usize>>>,
    pub(super) marks: Vec<u32>,
}

impl Automaton {
    /// `letters` are those of the classes, all different.
    pub(super) fn new(tableau: &Tableau, letters: &[u64], most: usize) -> Result<Self, Refusal> {
        let mut automaton = Automaton {
            assignments: Vec::new(),
            of_class: Vec::new(),
            moves: Vec::new(),
            marks: Vec::new(),
        };
        for &letter in letters {
            let assignments = tableau.assignments(letter, most);
            let assignments = assignments.ok_or(Refusal::TooLarge)?;
            let first = automaton.assignments.len();
            automaton.assignments.extend(assignments);
            let numbers = first..automaton.assignments.len();
            automaton.of_class.push(numbers.collect());
        }
        if automaton.assignments.len() > most {
            return Err(Refusal::TooLarge);
        }
        for &before in &automaton.assignments {
            let follow = |class: &Vec<usize>| {
                let pairs = class.iter().enumerate();
                let pairs =
                    pairs.filter(|&(_, &a)| tableau.follows(before, automaton.assignments[a]));
                pairs.map(|(i, _)| i).collect()
            };
            let moves = automaton.of_class.iter().map(follow);
            automaton.moves.push(moves.collect());
            automaton.marks.push(tableau.marks_of(before));
        }
        Ok(automaton)
    }
}
