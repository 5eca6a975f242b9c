//! A part of a system as a system of its own. Its states and symbols are numbered anew, without gaps, so
//! that the tables stay small.

use droste_base::StopReason;
use rustc_hash::FxHashMap;

use crate::automaton::{Automaton, Direction, Transition};
use crate::domain::Domain;
use crate::system::{Pds, PdsBuilder, Replace, Rule, StateId, SymbolId};

/// Numbers from 0 on for some of the numbers that a larger system uses.
#[derive(Default)]
struct Numbers {
    small: FxHashMap<u32, u32>,
    large: Vec<u32>,
}

impl Numbers {
    fn number(&mut self, large: u32) -> u32 {
        let next = self.large.len() as u32;
        let number = *self.small.entry(large).or_insert(next);
        if number == next {
            self.large.push(large);
        }
        number
    }
}

/// Rules of a larger system.
pub(crate) struct Small<'a, D: Domain> {
    domain: &'a D,
    states: Numbers,
    symbols: Numbers,
    rules: PdsBuilder<D::Weight>,
}

impl<'a, D: Domain> Small<'a, D> {
    pub(crate) fn new(domain: &'a D) -> Self {
        Small {
            domain,
            states: Numbers::default(),
            symbols: Numbers::default(),
            rules: PdsBuilder::new(0, 0),
        }
    }

    pub(crate) fn rule(&mut self, rule: Rule, weight: D::Weight) {
        let mut symbol = |symbol: SymbolId| SymbolId(self.symbols.number(symbol.0));
        let top = symbol(rule.top);
        let replace = match rule.replace {
            Replace::Pop => Replace::Pop,
            Replace::Step(first) => Replace::Step(symbol(first)),
            Replace::Push(first, second) => Replace::Push(symbol(first), symbol(second)),
        };
        let rule = Rule {
            from: StateId(self.states.number(rule.from.0)),
            top,
            to: StateId(self.states.number(rule.to.0)),
            replace,
            merge: rule.merge,
        };
        self.rules.rule(rule, weight);
    }

    /// Saturates some transitions, which lead to states that are no control states. All those states
    /// are final.
    pub(crate) fn solve(
        mut self,
        given: &[(Transition, D::Weight)],
        control: impl Fn(StateId) -> bool,
        direction: Direction,
        run: impl FnOnce(
            &Pds<D::Weight>,
            &Automaton<D::Weight>,
        ) -> Result<Automaton<D::Weight>, StopReason>,
    ) -> Result<Vec<(Transition, D::Weight)>, StopReason> {
        // Control states come first.
        for (transition, _) in given {
            if control(transition.from) {
                self.states.number(transition.from.0);
            }
        }
        let states = self.states.large.len() as u32;
        let mut automaton = Automaton::new(states, direction);
        for (Transition { from, symbol, to }, weight) in given {
            let [from, to] = [from, to].map(|state| StateId(self.states.number(state.0)));
            while automaton.states() < self.states.large.len() as u32 {
                let state = automaton.state();
                automaton.accept(self.domain, state, self.domain.one())?;
            }
            let symbol = SymbolId(self.symbols.number(symbol.0));
            let transition = Transition::new(from, symbol, to);
            automaton.add(self.domain, transition, weight.clone())?;
        }
        // A symbol that only the automaton has.
        let mut rules = self.rules;
        rules.at_least(states, self.symbols.large.len() as u32);
        let found = run(&rules.build(), &automaton)?;
        let large = |transition: Transition| {
            let state = |state: StateId| StateId(self.states.large[state.0 as usize]);
            let symbol = match transition.symbol {
                SymbolId::EPSILON => SymbolId::EPSILON,
                symbol => SymbolId(self.symbols.large[symbol.0 as usize]),
            };
            Transition::new(state(transition.from), symbol, state(transition.to))
        };
        let mut all: Vec<(Transition, D::Weight)> = (found.iter())
            .map(|(transition, weight)| (large(transition), weight.clone()))
            .collect();
        all.sort_by_key(|(transition, _)| *transition);
        Ok(all)
    }
}
