//! Visible states, and when their number has stopped growing (P. Liu, T. Wahl, PLDI 2018, section
//! 4: the sequence of visible states, and generators).
//!
//! A *visible state* is the shared state and the top of every thread's stack. There are finitely
//! many. So the sets `T(k)` of those that are reachable with at most `k` contexts stop growing some time.
//! But they may stay the same from `k` to `k + 1` and grow again later. A *generator* is a visible state
//! that a pop may lead to.
//!
//! **Claim.** If `T(k - 1) = T(k)`, and `T(k)` has all generators that are reachable, then `T(k)` has
//! all visible states that are reachable.
//!
//! Suppose not. Take a run to a configuration whose visible state is not in `T(k)`, and cut it at the
//! first such configuration `c`. Let `b` be the one before it, in which thread `i` makes its step to
//! `c`. The visible state of `b` is in `T(k) = T(k - 1)`: some configuration `b′` with the same
//! visible state is reachable with at most `k - 1` contexts. If the step is no pop, the visible state
//! of `b` alone says that thread `i` can make it and which visible state it leads to. So `b′` leads
//! to that of `c` with at most `k` contexts: it is in `T(k)`. If the step is a pop, the visible state
//! of `c` is a generator that is reachable, and in `T(k)`. Both contradict the choice of `c`.
//!
//! Which generators are reachable is not known, but a superset is: those of a finite [`abstraction`].
//! There, a frame knows the shared state and the symbol with which it was entered (its *entry*), and
//! a thread remembers for each entry which symbols and entries may be below it. A pop goes on in any
//! of these. Every run has a counterpart in the abstraction. So if the abstraction does not meet the
//! target, no run does.

use std::collections::hash_map::Entry;

use droste_base::interner::Interner;
use droste_base::{Guard, StopReason};
use rustc_hash::{FxHashMap, FxHashSet};

/// The top of an empty stack.
pub const EMPTY: u32 = u32::MAX;

/// The entry of a thread's lowest frame.
const ROOT: u32 = 0;

/// What a thread can do in one step, which depends on the shared state and the top of its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The top is replaced. By [`EMPTY`], if the thread ends.
    To(u32, u32),
    /// The top is replaced by two symbols.
    Push {
        /// The shared state after it.
        shared: u32,
        /// The new top.
        top: u32,
        /// What is below.
        below: u32,
    },
    /// The top is removed, with a result that says what to go on with.
    Pop(u32),
    /// The top is replaced, and another thread is started.
    Start {
        /// The shared state after it.
        shared: u32,
        /// The new top.
        top: u32,
        /// The only symbol on the stack of the new thread.
        started: u32,
    },
}

/// A concurrent system, step by step.
pub trait Moves {
    /// All that a thread with this top of its stack can do.
    fn moves(&mut self, shared: u32, top: u32, out: &mut Vec<Move>) -> Result<(), StopReason>;

    /// Shared states and tops with which a thread goes on after a pop, if this was below.
    fn resume(
        &mut self,
        below: u32,
        result: u32,
        out: &mut Vec<(u32, u32)>,
    ) -> Result<(), StopReason>;

    /// The shared states after a pop, if nothing was below.
    fn end(&mut self, result: u32, out: &mut Vec<u32>) -> Result<(), StopReason>;

    /// Whether no other thread can move while this is on top.
    fn alone(&self, top: u32) -> bool;

    /// Whether this visible state is what is looked for, or the target has been met before.
    fn hit(&self, shared: u32, tops: &mut dyn Iterator<Item = u32>) -> bool;
}

/// A visible state: the shared state, and the tops.
pub type Visible = Box<[u32]>;

/// What the abstraction says.
#[derive(Clone, Debug)]
pub struct Abstraction {
    /// Whether it meets the target. If not, the system does not, either.
    pub hit: bool,
    /// All generators that it reaches. The system reaches no others.
    pub generators: FxHashSet<Visible>,
    /// How many states it has.
    pub states: usize,
}

/// Explores the abstraction from stacks whose tops are first. `None` if it has more states than
/// `most`.
pub fn abstraction(
    system: &mut impl Moves,
    shared: u32,
    stacks: &[Vec<u32>],
    most: usize,
    guard: &mut Guard,
) -> Result<Option<Abstraction>, StopReason> {
    let mut search = Search {
        system,
        states: Interner::new(),
        entries: Interner::new(),
        below: FxHashMap::default(),
        popped: FxHashMap::default(),
        moves: FxHashMap::default(),
        generators: FxHashSet::default(),
        hit: false,
    };
    search.entries.intern((EMPTY, EMPTY))?;
    let mut state = vec![shared];
    for (thread, stack) in (0..).zip(stacks) {
        // Frames that are there from the start have entries of their own: no shared state is
        // `EMPTY`.
        let mut entry = ROOT;
        for (depth, &below) in (0..).zip(stack.iter().skip(1).rev()) {
            let upper = search.entries.intern((EMPTY, depth))?.0;
            let list = search.below.entry((thread, upper)).or_default();
            list.push((entry, below));
            entry = upper;
        }
        state.extend([entry, stack.first().copied().unwrap_or(EMPTY)]);
    }
    search.add(&state)?;
    let mut next = 0;
    while (next as usize) < search.states.len() {
        guard.check()?;
        if search.states.len() > most {
            return Ok(None);
        }
        search.expand(next)?;
        next += 1;
    }
    Ok(Some(Abstraction {
        hit: search.hit,
        states: search.states.len(),
        generators: search.generators,
    }))
}

/// An entry, and what is below it.
type Below = (u32, u32);

struct Search<'a, M> {
    system: &'a mut M,
    /// The shared state, and an entry and a top for every thread.
    states: Interner<Box<[u32]>>,
    /// Shared state and symbol with which a frame is entered.
    entries: Interner<(u32, u32)>,
    /// For a thread and an entry: what may be below.
    below: FxHashMap<(u32, u32), Vec<Below>>,
    /// For a thread and an entry: states in which its frame is popped, and results.
    popped: FxHashMap<(u32, u32), Vec<(u32, u32)>>,
    moves: FxHashMap<(u32, u32), Box<[Move]>>,
    generators: FxHashSet<Visible>,
    hit: bool,
}

/// The tops of all threads in a state.
fn tops(state: &[u32]) -> impl Iterator<Item = u32> {
    state[1..].chunks(2).map(|thread| thread[1])
}

impl<M: Moves> Search<'_, M> {
    fn add(&mut self, state: &[u32]) -> Result<(), StopReason> {
        let (_, fresh) = self.states.intern(state.into())?;
        if fresh {
            self.hit |= self.system.hit(state[0], &mut tops(state));
        }
        Ok(())
    }

    /// Adds a state that a pop leads to.
    fn generate(&mut self, state: &[u32]) -> Result<(), StopReason> {
        let visible = std::iter::once(state[0]).chain(tops(state));
        self.generators.insert(visible.collect());
        self.add(state)
    }

    fn expand(&mut self, id: u32) -> Result<(), StopReason> {
        let state = self.states.get(id).clone();
        let alone = tops(&state).position(|top| top != EMPTY && self.system.alone(top));
        for (thread, top) in tops(&state).enumerate() {
            if top == EMPTY || alone.is_some_and(|alone| alone != thread) {
                continue;
            }
            let moves = match self.moves.entry((state[0], top)) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(place) => {
                    let mut moves = Vec::new();
                    self.system.moves(state[0], top, &mut moves)?;
                    place.insert(moves.into()).clone()
                }
            };
            for &step in &moves {
                self.step(id, &state, thread, step)?;
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        id: u32,
        state: &[u32],
        thread: usize,
        step: Move,
    ) -> Result<(), StopReason> {
        let place = 2 * thread + 1;
        let entry = state[place];
        let mut next = state.to_vec();
        match step {
            Move::To(shared, top) => {
                next[0] = shared;
                next[place + 1] = top;
                if top == EMPTY {
                    next[place] = ROOT;
                }
                self.add(&next)?;
            }
            Move::Push { shared, top, below } => {
                let upper = self.entries.intern((shared, top))?.0;
                next[0] = shared;
                (next[place], next[place + 1]) = (upper, top);
                self.add(&next)?;
                let key = (thread as u32, upper);
                let list = self.below.entry(key).or_default();
                if list.contains(&(entry, below)) {
                    return Ok(());
                }
                list.push((entry, below));
                for (state, result) in self.popped.get(&key).cloned().unwrap_or_default() {
                    let state = self.states.get(state).clone();
                    self.resume(&state, thread, (entry, below), result)?;
                }
            }
            Move::Pop(result) if entry == ROOT => {
                let mut after = Vec::new();
                self.system.end(result, &mut after)?;
                next[place + 1] = EMPTY;
                for shared in after {
                    next[0] = shared;
                    self.generate(&next)?;
                }
            }
            Move::Pop(result) => {
                let key = (thread as u32, entry);
                self.popped.entry(key).or_default().push((id, result));
                for below in self.below.get(&key).cloned().unwrap_or_default() {
                    self.resume(state, thread, below, result)?;
                }
            }
            Move::Start {
                shared,
                top,
                started,
            } => {
                next[0] = shared;
                next[place + 1] = top;
                next.extend([ROOT, started]);
                self.add(&next)?;
            }
        }
        Ok(())
    }

    /// A thread goes on with what is below.
    fn resume(
        &mut self,
        state: &[u32],
        thread: usize,
        (entry, below): Below,
        result: u32,
    ) -> Result<(), StopReason> {
        let mut after = Vec::new();
        self.system.resume(below, result, &mut after)?;
        let mut next = state.to_vec();
        for (shared, top) in after {
            next[0] = shared;
            (next[2 * thread + 1], next[2 * thread + 2]) = (entry, top);
            if top == EMPTY {
                next[2 * thread + 1] = ROOT;
            }
            self.generate(&next)?;
        }
        Ok(())
    }
}

/// Watches the visible states of a search, one number of contexts after the other.
#[derive(Clone, Debug)]
pub struct Plateau {
    seen: FxHashSet<Visible>,
    /// Generators that have not been seen.
    missing: FxHashSet<Visible>,
    /// How many had been seen when the last number of contexts was done.
    before: Option<usize>,
    most: usize,
}

impl Plateau {
    /// With these generators, and at most so many visible states.
    pub fn new(generators: FxHashSet<Visible>, most: usize) -> Self {
        Plateau {
            seen: FxHashSet::default(),
            missing: generators,
            before: None,
            most,
        }
    }

    /// How many have been seen.
    pub fn seen(&self) -> usize {
        self.seen.len()
    }

    /// All visible states with this shared state in which every thread has one of these tops.
    /// `false` if there are too many to watch.
    pub fn see(&mut self, shared: u32, tops: &[Vec<u32>]) -> bool {
        let all = tops.iter().map(Vec::len).try_fold(1, usize::checked_mul);
        if all.is_none_or(|all| all > self.most) {
            return false;
        }
        let mut places = vec![0; tops.len()];
        if tops.iter().any(Vec::is_empty) {
            return true;
        }
        loop {
            let now = places.iter().zip(tops).map(|(&place, tops)| tops[place]);
            let visible: Visible = std::iter::once(shared).chain(now).collect();
            if !self.missing.is_empty() {
                self.missing.remove(&visible);
            }
            self.seen.insert(visible);
            // The next one, as a counter does.
            let mut digit = 0;
            while let Some(place) = places.get_mut(digit) {
                *place += 1;
                if *place < tops[digit].len() {
                    break;
                }
                *place = 0;
                digit += 1;
            }
            if digit == places.len() {
                return self.seen.len() <= self.most;
            }
        }
    }

    /// One more number of contexts is done. Whether all visible states have been seen: the claim
    /// above.
    pub fn is_complete(&mut self) -> bool {
        let before = self.before.replace(self.seen.len());
        before == Some(self.seen.len()) && self.missing.is_empty()
    }
}
