//! How many states each state space has, where there is a bound on that.
//!
//! A state space is what one entry leads to within its method: the initial heaps together have one, and
//! so has each heap in which a method is called. A state may belong to several. Whoever asks for the steps of
//! a state does not say for which entry. So this table has for each state the spaces that it belongs to, and
//! the states that follow it. A new step makes its target a member of these spaces, too. That is as much
//! work as the search has with pairs of an entry and a state. Without a bound nothing is done.
//!
//! A search does not continue from a state that another one covers. The same state may be continued from in
//! another space. Then what follows counts in both spaces: it would be there if nothing were covered.

use droste_base::{Countable, StopReason};
use rustc_hash::FxHashMap;

use crate::machine::State;

/// The sizes of all state spaces.
#[derive(Default)]
pub(crate) struct Sizes {
    /// The most states of one space.
    most: Option<usize>,
    /// The space of each entry.
    of_entry: FxHashMap<State, u32>,
    /// How many states each space has.
    states: Vec<usize>,
    /// For each state: the spaces in which it is.
    within: Vec<Vec<u32>>,
    /// For each state: what follows it in its spaces.
    next: Vec<Vec<State>>,
}

impl Sizes {
    /// No space may have more states than this; with `usize::MAX` there is no bound.
    pub(crate) fn new(most: usize) -> Self {
        let most = (most < usize::MAX).then_some(most);
        Sizes {
            most,
            ..Sizes::default()
        }
    }

    /// These states begin one space, unless they have done so before. `counts` says which states count.
    pub(crate) fn begin(
        &mut self,
        entries: &[State],
        counts: impl Fn(State) -> bool,
    ) -> Result<(), StopReason> {
        let (Some(most), Some(&first)) = (self.most, entries.first()) else {
            return Ok(());
        };
        let next = self.states.len() as u32;
        let space = *self.of_entry.entry(first).or_insert(next);
        if space == next {
            self.states.push(0);
        }
        let todo = entries.iter().map(|&entry| (entry, space)).collect();
        self.spread(todo, counts);
        self.check(&[space], most)
    }

    /// One state follows another within its method.
    pub(crate) fn step(
        &mut self,
        from: State,
        to: impl Iterator<Item = State>,
        counts: impl Fn(State) -> bool,
    ) -> Result<(), StopReason> {
        let Some(most) = self.most else {
            return Ok(());
        };
        self.make_room(from);
        let mut todo = Vec::new();
        for to in to {
            let known = &mut self.next[from.0 as usize];
            if !known.contains(&to) {
                known.push(to);
                let spaces = self.within[from.0 as usize].iter();
                todo.extend(spaces.map(|&space| (to, space)));
            }
        }
        self.spread(todo, counts);
        let spaces = std::mem::take(&mut self.within[from.0 as usize]);
        let checked = self.check(&spaces, most);
        self.within[from.0 as usize] = spaces;
        checked
    }

    /// Puts states into spaces, with all that follows them.
    fn spread(&mut self, mut todo: Vec<(State, u32)>, counts: impl Fn(State) -> bool) {
        while let Some((state, space)) = todo.pop() {
            self.make_room(state);
            let at = state.0 as usize;
            if self.within[at].contains(&space) {
                continue;
            }
            self.within[at].push(space);
            self.states[space as usize] += usize::from(counts(state));
            todo.extend(self.next[at].iter().map(|&next| (next, space)));
        }
    }

    fn make_room(&mut self, state: State) {
        let room = state.0 as usize + 1;
        if self.within.len() < room {
            self.within.resize_with(room, Vec::new);
            self.next.resize_with(room, Vec::new);
        }
    }

    /// Whether none of these spaces is too large.
    fn check(&self, spaces: &[u32], most: usize) -> Result<(), StopReason> {
        let too_large = |&space: &u32| self.states[space as usize] > most;
        if spaces.iter().any(too_large) {
            let most = most as u64;
            return Err(StopReason::TooMany(Countable::SpaceStates, most));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(sizes: &mut Sizes, from: u32, to: u32) -> bool {
        let to = std::iter::once(State(to));
        sizes.step(State(from), to, |_| true).is_ok()
    }

    #[test]
    fn spaces_are_counted_one_by_one() {
        let mut sizes = Sizes::new(3);
        let all = |_: State| true;
        sizes.begin(&[State(0), State(1)], all).unwrap();
        sizes.begin(&[State(10)], all).unwrap();
        // Both lead to 5: it is in both spaces.
        assert!(step(&mut sizes, 0, 5) && step(&mut sizes, 10, 5));
        // The first one has a fourth state by that.
        assert!(!step(&mut sizes, 5, 10));
        assert_eq!(sizes.states, [4, 2]);
    }

    #[test]
    fn what_follows_is_found_later() {
        let mut sizes = Sizes::new(2);
        sizes.begin(&[State(0)], |_| true).unwrap();
        // A step of a state that nobody has reached yet.
        assert!(step(&mut sizes, 1, 2));
        assert!(!step(&mut sizes, 0, 1));
        // It stays too large.
        assert!(!step(&mut sizes, 0, 1));
        let mut free = Sizes::new(usize::MAX);
        free.begin(&[State(0)], |_| true).unwrap();
        assert!((0..9).all(|at| step(&mut free, at, at + 1)));
    }

    #[test]
    fn faults_do_not_count() {
        let mut sizes = Sizes::new(1);
        let counts = |state: State| state.0 == 0;
        sizes.begin(&[State(0)], counts).unwrap();
        let to = [State(1), State(2)].into_iter();
        assert!(sizes.step(State(0), to, counts).is_ok());
    }
}
