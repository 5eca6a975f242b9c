//! Everything that can be reached, procedure by procedure: the state spaces of a recursive state
//! machine, and the model in which calls are single steps.
//!
//! [`explore()`] runs the search of [`reach()`](crate::reach()) to its end. A [`Space`] is what one
//! entry state leads to within its procedure: a component of the machine with a single entry. Its
//! exits are the contract of that procedure for that entry. [`TopLevel`] applies these contracts:
//! it is the outermost procedure alone. Heap programs use both (crate `shape`).

use droste_base::{CallId, Model, PropId, Step, Steps, StopReason};
use rustc_hash::FxHashMap;

use crate::reach::Search;
use crate::tables::NONE;
use crate::{Options, Stats};

/// What one entry state leads to within its procedure.
#[derive(Clone, Debug)]
pub struct Space<S> {
    /// The state in which the procedure is entered.
    pub entry: S,
    /// Whether a run starts here.
    pub initial: bool,
    /// The states of the procedure, the entry first. For an initial one also what follows its end.
    pub states: Vec<S>,
    /// The states through which it is left.
    pub exits: Vec<S>,
}

/// All state spaces that the initial states lead to.
#[derive(Clone, Debug)]
pub struct Spaces<S> {
    /// In the order in which they were found.
    pub list: Vec<Space<S>>,
    of_entry: FxHashMap<S, u32>,
    /// What it took.
    pub stats: Stats,
}

impl<S: Clone + Eq + std::hash::Hash> Spaces<S> {
    /// The state space of this entry state.
    pub fn of(&self, entry: &S) -> Option<&Space<S>> {
        let &at = self.of_entry.get(entry)?;
        Some(&self.list[at as usize])
    }
}

/// Explores everything, or says why not. The statistics tell how far it came.
pub fn explore<M: Model>(
    model: &M,
    options: &Options<'_>,
) -> Result<Spaces<M::State>, (StopReason, Stats)> {
    let mut search = Search::new(model, options);
    match search.run(|_, _| false, |_| false) {
        Ok(_) => {
            options.answer();
            Ok(search.spaces())
        }
        Err(reason) => Err((reason, search.stats())),
    }
}

impl<M: Model> Search<'_, M> {
    /// What was found, by entry.
    fn spaces(&self) -> Spaces<M::State> {
        let state = |id: u32| self.states.get(id).clone();
        let mut list: Vec<Space<M::State>> = (self.calls.entries.iter())
            .map(|entry| {
                let mut exits = Vec::new();
                let mut at = entry.first_exit;
                while at != NONE {
                    let exit = self.calls.exits[at as usize];
                    exits.push(state(exit.state));
                    at = exit.next;
                }
                Space {
                    entry: state(entry.state),
                    initial: entry.initial,
                    states: Vec::new(),
                    exits,
                }
            })
            .collect();
        for context in &self.contexts {
            list[context.entry as usize]
                .states
                .push(state(context.state));
        }
        let of_entry = (list.iter().zip(0..))
            .map(|(space, at)| (space.entry.clone(), at))
            .collect();
        Spaces {
            list,
            of_entry,
            stats: self.stats(),
        }
    }
}

/// A model in which calls, or some of them, are single steps: what the callee does is not part of
/// the run. A call that does not return has no successor.
pub struct TopLevel<'a, M: Model> {
    model: &'a M,
    spaces: &'a Spaces<M::State>,
    /// The calls that are single steps; all of them if there is no list.
    only: Option<Vec<CallId>>,
}

impl<'a, M: Model> TopLevel<'a, M> {
    /// The outermost procedure of `model`, whose state spaces are these.
    pub fn new(model: &'a M, spaces: &'a Spaces<M::State>) -> Self {
        TopLevel {
            model,
            spaces,
            only: None,
        }
    }

    /// The same, but only these calls are single steps.
    #[must_use]
    pub fn only(mut self, calls: Vec<CallId>) -> Self {
        self.only = Some(calls);
        self
    }

    fn folds(&self, call: CallId) -> bool {
        self.only.as_ref().is_none_or(|calls| calls.contains(&call))
    }
}

impl<M: Model> Model for TopLevel<'_, M> {
    type State = M::State;

    fn initial(&self, out: &mut Vec<M::State>) {
        self.model.initial(out);
    }

    fn steps(&self, state: &M::State, out: &mut Steps<M::State>) {
        let mut inner = Steps::new();
        self.model.steps(state, &mut inner);
        if let Some(split) = inner.as_split() {
            out.split(split.tag, split.count);
            return;
        }
        if inner.overflowed() {
            out.give_up();
        }
        let mut after = Vec::new();
        for step in inner.drain() {
            match step {
                Step::Internal(next) => out.step(next),
                Step::Exit(exit) => out.exit(exit),
                Step::Call(call, entry) if !self.folds(call) => out.call(call, entry),
                Step::Call(call, entry) => {
                    let Some(space) = self.spaces.of(&entry) else {
                        out.give_up();
                        continue;
                    };
                    for exit in &space.exits {
                        if !self.model.resume(state, call, exit, &mut after) {
                            out.give_up();
                        }
                    }
                }
            }
        }
        let mut seen = rustc_hash::FxHashSet::default();
        for next in after {
            if seen.insert(next.clone()) {
                out.step(next);
            }
        }
    }

    fn resume(
        &self,
        caller: &M::State,
        call: CallId,
        exit: &M::State,
        out: &mut Vec<M::State>,
    ) -> bool {
        self.folds(call) || self.model.resume(caller, call, exit, out)
    }

    fn holds(&self, state: &M::State, proposition: PropId) -> bool {
        self.model.holds(state, proposition)
    }

    fn silent(&self, state: &M::State) -> bool {
        self.model.silent(state)
    }

    fn refine(&self, state: &M::State, tag: u32, index: u64) -> M::State {
        self.model.refine(state, tag, index)
    }

    fn terminated(&self, exit: &M::State) -> Option<M::State> {
        self.model.terminated(exit)
    }

    fn gave_up(&self) -> StopReason {
        self.model.gave_up()
    }

    fn call_name(&self, call: CallId) -> String {
        self.model.call_name(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach;

    /// `count(n)` calls `count(n - 1)` and adds one: it returns n, or loops if n is odd and the
    /// choice is bad.
    struct Count;

    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    enum At {
        Enter(u8),
        Leave(u8),
        End(u8),
    }

    impl Model for Count {
        type State = At;

        fn initial(&self, out: &mut Vec<At>) {
            out.push(At::Enter(4));
        }

        fn steps(&self, state: &At, out: &mut Steps<At>) {
            match *state {
                At::Enter(0) => out.step(At::Leave(0)),
                At::Enter(n) => out.call(CallId(0), At::Enter(n - 1)),
                At::Leave(n) => out.exit(At::Leave(n)),
                At::End(n) => out.step(At::End(n)),
            }
        }

        fn resume(&self, _: &At, _: CallId, exit: &At, out: &mut Vec<At>) -> bool {
            if let At::Leave(n) = *exit {
                out.push(At::Leave(n + 1));
                out.push(At::Leave(n + 1));
            }
            true
        }

        fn holds(&self, state: &At, proposition: PropId) -> bool {
            *state == At::Leave(proposition.0 as u8)
        }

        fn terminated(&self, exit: &At) -> Option<At> {
            match *exit {
                At::Leave(n) => Some(At::End(n)),
                _ => None,
            }
        }
    }

    #[test]
    fn each_entry_has_its_space() {
        let spaces = explore(&Count, &Options::default()).unwrap();
        assert_eq!(spaces.list.len(), 5);
        for n in 0..=4 {
            let space = spaces.of(&At::Enter(n)).unwrap();
            assert_eq!(space.exits, [At::Leave(n)]);
            assert_eq!(space.initial, n == 4);
            assert_eq!(space.states.len(), if n == 4 { 3 } else { 2 });
            assert_eq!(space.states[0], space.entry);
        }
    }

    #[test]
    fn the_outermost_procedure_knows_what_calls_do() {
        let spaces = explore(&Count, &Options::default()).unwrap();
        let top = TopLevel::new(&Count, &spaces);
        let reached = |n| !reach(&top, PropId(n), &Options::default()).verdict.holds();
        assert!(reached(4) && !reached(3) && !reached(0));
        // The callee's states are met by the model itself.
        let outcome = reach(&Count, PropId(3), &Options::default());
        assert!(!outcome.verdict.holds());
    }
}
