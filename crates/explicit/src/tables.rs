//! The flat tables that all searches share: entries, exits, callers, and path edges.
//!
//! A path edge is a pair of an entry state and a state reached from it within the procedure. In the
//! code it is a [`Context`]; in statistics and limits it is called by its name.
//!
//! A state is stored once and named by 32 bits (see [`Interner`]). Everything else is a handful of
//! such ids in plain vectors; lists (the exits and the callers of an entry) are linked by index.

use std::hash::Hash;
use std::time::Instant;

use droste_base::{Countable, Interner, StopReason};
use hashbrown::HashTable;

use crate::Stats;

/// No id: end of a list, no parent.
pub(crate) const NONE: u32 = u32::MAX;

/// The statistics of a search that began at `began`: it has found this number of `contexts` (path
/// edges), and takes this number of bytes beside states and calls.
pub(crate) fn stats<S: Eq + Hash>(
    began: Instant,
    contexts: usize,
    states: &Interner<S>,
    calls: &Calls,
    others: usize,
) -> Stats {
    Stats {
        path_edges: contexts as u64,
        states: states.len() as u64,
        entries: calls.entries.len() as u64,
        summaries: calls.exits.len() as u64,
        bytes: states.bytes() + calls.bytes() + others as u64,
        search: began.elapsed(),
        ended: false,
    }
}

/// Spreads a pair of ids over 64 bits; both ends of the result are well mixed, as hashbrown wants.
#[inline]
fn hash_pair(a: u32, b: u32) -> u64 {
    let x = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// A path edge: an entry, a state reached from it, and how it was reached. `X` is what else a
/// search keeps; without it, a path edge is 20 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Context<X> {
    pub(crate) entry: u32,
    pub(crate) state: u32,
    pub(crate) parent: u32,
    pub(crate) edge: u32,
    /// The next context of the same state, see [`Alike`].
    next: u32,
    pub(crate) more: X,
}

impl<X> Context<X> {
    /// A context that is on no list yet.
    #[inline]
    pub(crate) fn new((entry, state): (u32, u32), parent: u32, edge: Edge, more: X) -> Self {
        Context {
            entry,
            state,
            parent,
            edge: edge.pack(),
            next: NONE,
            more,
        }
    }

    #[inline]
    pub(crate) fn pair(&self) -> (u32, u32) {
        (self.entry, self.state)
    }
}

/// The parts of a state that have not been explored.
pub(crate) struct Parts {
    pub(crate) tag: u32,
    pub(crate) next: u64,
    pub(crate) count: u64,
}

/// Contexts by entry and state. There is no table of all contexts. Those of one state are linked,
/// beginning with `first`, so that a new state, the common case, needs no look-up at all. Where
/// many entries share a state, all but the first [`CHAIN`] contexts are in a table after all.
#[derive(Default)]
pub(crate) struct Alike {
    /// For each state its first context, or [`NONE`].
    first: Vec<u32>,
    table: HashTable<u32>,
}

/// How many contexts of a state are linked.
const CHAIN: u32 = 8;

/// Where a new context belongs: after this one of its state, and whether it is in the table.
#[derive(Clone, Copy)]
pub(crate) struct Vacancy {
    last: u32,
    full: bool,
}

impl Alike {
    /// A context of the pair of entry and state that is accepted, or the place for a new one.
    #[inline]
    pub(crate) fn find<X>(
        &self,
        contexts: &[Context<X>],
        pair: (u32, u32),
        accept: impl Fn(&X) -> bool,
    ) -> Result<u32, Vacancy> {
        let mut last = NONE;
        let mut id = self.first.get(pair.1 as usize).copied().unwrap_or(NONE);
        let mut length = 0;
        while id != NONE {
            let context = &contexts[id as usize];
            if context.pair() == pair && accept(&context.more) {
                return Ok(id);
            }
            last = id;
            id = context.next;
            length += 1;
        }
        let full = length == CHAIN;
        if full {
            let found = self.table.find(hash_pair(pair.0, pair.1), |&id| {
                let context = &contexts[id as usize];
                context.pair() == pair && accept(&context.more)
            });
            if let Some(&id) = found {
                return Ok(id);
            }
        }
        Err(Vacancy { last, full })
    }

    /// Adds the last context at its place.
    #[inline]
    pub(crate) fn add<X>(&mut self, contexts: &mut [Context<X>], id: u32, place: Vacancy) {
        let hash = |contexts: &[Context<X>], id: u32| {
            let (entry, state) = contexts[id as usize].pair();
            hash_pair(entry, state)
        };
        if place.full {
            self.table
                .insert_unique(hash(contexts, id), id, |&id| hash(contexts, id));
        } else if place.last == NONE {
            let state = contexts[id as usize].pair().1 as usize;
            if self.first.len() <= state {
                self.first.resize(state + 1, NONE);
            }
            self.first[state] = id;
        } else {
            contexts[place.last as usize].next = id;
        }
    }

    /// Every context of a pair.
    pub(crate) fn all<X>(
        &self,
        contexts: &[Context<X>],
        pair: (u32, u32),
    ) -> impl Iterator<Item = u32> {
        let next = move |&id: &u32| Some(contexts[id as usize].next).filter(|&next| next != NONE);
        let first = self.first.get(pair.1 as usize).copied();
        let linked = std::iter::successors(first.filter(|&id| id != NONE), next);
        let others = self.table.iter_hash(hash_pair(pair.0, pair.1)).copied();
        linked
            .chain(others)
            .filter(move |&id| contexts[id as usize].pair() == pair)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.first.len() * 4 + self.table.capacity() * 5
    }
}

/// How a context was reached from its parent, in 32 bits: a kind and, for a summary, the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Start,
    Step,
    Refine,
    Call(u32),
    Summary(u32),
    Terminated,
    /// The step of the parent with this index, and then on along a chain. A summary, too, goes on
    /// along a chain where there are any.
    Chain(u32),
}

/// Why a search stops if an exit or a call cannot be packed into an edge.
pub(crate) const TOO_MANY_SUMMARIES: StopReason =
    StopReason::TooMany(Countable::Summaries, Edge::LARGEST as u64);

impl Edge {
    /// Exits and call ids beyond this cannot be packed.
    pub(crate) const LARGEST: u32 = (1 << 29) - 1;

    #[inline]
    pub(crate) fn pack(self) -> u32 {
        match self {
            Edge::Start => 0,
            Edge::Step => 1,
            Edge::Refine => 2,
            Edge::Call(call) => 3 | call << 3,
            Edge::Summary(exit) => 4 | exit << 3,
            Edge::Terminated => 5,
            Edge::Chain(index) => 6 | index << 3,
        }
    }

    #[inline]
    pub(crate) fn unpack(bits: u32) -> Self {
        match bits & 7 {
            0 => Edge::Start,
            1 => Edge::Step,
            2 => Edge::Refine,
            3 => Edge::Call(bits >> 3),
            4 => Edge::Summary(bits >> 3),
            5 => Edge::Terminated,
            _ => Edge::Chain(bits >> 3),
        }
    }
}

/// An entry state in which some call, or the run itself, begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The state.
    pub(crate) state: u32,
    /// The context of the entry: of its state, or of the end of the chain that begins there.
    /// [`NONE`] if that only exits.
    pub(crate) context: u32,
    pub(crate) first_exit: u32,
    pub(crate) last_exit: u32,
    pub(crate) first_caller: u32,
    /// Whether a run starts here, so that its exits end the program.
    pub(crate) initial: bool,
    /// Whether all its exits are known (fair cycles only).
    pub(crate) closed: bool,
}

/// A summary: an entry and a way out of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit {
    pub(crate) entry: u32,
    pub(crate) state: u32,
    /// Acceptance marks met on the way.
    pub(crate) marks: u32,
    /// The context that exits,
    pub(crate) context: u32,
    /// or from which this edge leads to a state that does nothing else, if it is not
    /// [`Edge::Start`].
    pub(crate) edge: u32,
    pub(crate) next: u32,
}

/// Somebody waiting for the exits of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) context: u32,
    pub(crate) call: u32,
    /// The entry that is called.
    pub(crate) entry: u32,
    /// The next caller of the same entry.
    pub(crate) next: u32,
    /// The last exit this caller has been resumed with.
    pub(crate) seen: u32,
    /// Whether it waits to be resumed (fair cycles only).
    pub(crate) queued: bool,
}

/// The exits of an entry, when one is not among them.
struct Listing {
    /// The first of the list.
    first: u32,
    /// The first beyond those that are looked through one by one.
    next: u32,
    /// How many have been looked through.
    length: usize,
}

/// Entries with their exits and callers: `VisitedCalls` and `VisitedExits` of the paper.
pub(crate) struct Calls {
    pub(crate) entries: Vec<Entry>,
    pub(crate) exits: Vec<Exit>,
    pub(crate) callers: Vec<Caller>,
    /// For each state up to the last that is an entry: the entry, or [`NONE`].
    entry_of_state: Vec<u32>,
    exit_table: HashTable<u32>,
}

impl Calls {
    pub(crate) fn new() -> Self {
        Calls {
            entries: Vec::new(),
            exits: Vec::new(),
            callers: Vec::new(),
            entry_of_state: Vec::new(),
            exit_table: HashTable::new(),
        }
    }

    /// The entry of a state, and whether it is new. A new one has no context yet.
    pub(crate) fn entry(&mut self, state: u32) -> (u32, bool) {
        if let Some(entry) = self.find_entry(state) {
            return (entry, false);
        }
        let entry = self.entries.len() as u32;
        if self.entry_of_state.len() <= state as usize {
            self.entry_of_state.resize(state as usize + 1, NONE);
        }
        self.entry_of_state[state as usize] = entry;
        self.entries.push(Entry {
            state,
            context: NONE,
            first_exit: NONE,
            last_exit: NONE,
            first_caller: NONE,
            initial: false,
            closed: false,
        });
        (entry, true)
    }

    pub(crate) fn find_entry(&self, state: u32) -> Option<u32> {
        let entry = self.entry_of_state.get(state as usize).copied();
        entry.filter(|&entry| entry != NONE)
    }

    /// The exit through which every call that begins in this state returns, if that is known.
    #[inline]
    pub(crate) fn only_exit<S: Eq + Hash>(&self, states: &Interner<S>, callee: &S) -> Option<u32> {
        let entry = self.find_entry(states.find(callee)?)?;
        let entry = &self.entries[entry as usize];
        let one = entry.first_exit != NONE && entry.first_exit == entry.last_exit;
        (entry.closed && one).then_some(entry.first_exit)
    }

    /// Adds a caller of `entry` and returns its index.
    pub(crate) fn add_caller(&mut self, entry: u32, context: u32, call: u32) -> u32 {
        let id = self.callers.len() as u32;
        let next = self.entries[entry as usize].first_caller;
        self.callers.push(Caller {
            context,
            call,
            entry,
            next,
            seen: NONE,
            queued: false,
        });
        self.entries[entry as usize].first_caller = id;
        id
    }

    /// The exits of an entry are looked through one by one up to this number; where there are more,
    /// all are in the table.
    const LISTED: usize = 8;

    /// A summary with this exit state and at least these marks, or where in the list of its entry
    /// a new one belongs.
    #[inline]
    fn find_exit(&self, entry: u32, state: u32, marks: u32) -> Result<u32, Listing> {
        let is_known = |e: &Exit| e.entry == entry && e.state == state && e.marks & marks == marks;
        let first = self.entries[entry as usize].first_exit;
        let mut next = first;
        let mut length = 0;
        while next != NONE && length < Self::LISTED {
            let exit = &self.exits[next as usize];
            if is_known(exit) {
                return Ok(next);
            }
            next = exit.next;
            length += 1;
        }
        if next != NONE {
            let mut alike = self.exit_table.iter_hash(hash_pair(entry, state));
            if let Some(&id) = alike.find(|&&id| is_known(&self.exits[id as usize])) {
                return Ok(id);
            }
        }
        Err(Listing {
            first,
            next,
            length,
        })
    }

    /// The summary of `entry` with this exit state, whatever its marks.
    pub(crate) fn known_exit(&self, entry: u32, state: u32) -> Option<u32> {
        self.find_exit(entry, state, 0).ok()
    }

    /// Adds a summary; `None` if it was known, or if a known one has the same exit state and
    /// at least its marks.
    pub(crate) fn add_exit(
        &mut self,
        entry: u32,
        state: u32,
        marks: u32,
        (context, edge): (u32, Edge),
    ) -> Result<Option<u32>, StopReason> {
        let Err(Listing {
            first,
            next,
            length,
        }) = self.find_exit(entry, state, marks)
        else {
            return Ok(None);
        };
        let hash = hash_pair(entry, state);
        let Calls {
            exits, exit_table, ..
        } = self;
        let id = exits.len() as u32;
        if id > Edge::LARGEST {
            return Err(TOO_MANY_SUMMARIES);
        }
        exits.push(Exit {
            entry,
            state,
            marks,
            context,
            edge: edge.pack(),
            next: NONE,
        });
        if length == Self::LISTED {
            let rehash = |&id: &u32| hash_pair(exits[id as usize].entry, exits[id as usize].state);
            // The first ones beyond take those before them along.
            let mut before = if next == NONE { first } else { NONE };
            while before != NONE {
                exit_table.insert_unique(rehash(&before), before, rehash);
                before = exits[before as usize].next;
            }
            exit_table.insert_unique(hash, id, rehash);
        }
        let last = std::mem::replace(&mut self.entries[entry as usize].last_exit, id);
        if last == NONE {
            self.entries[entry as usize].first_exit = id;
        } else {
            self.exits[last as usize].next = id;
        }
        Ok(Some(id))
    }

    fn bytes(&self) -> u64 {
        (self.entries.len() * size_of::<Entry>()
            + self.exits.len() * size_of::<Exit>()
            + self.exit_table.capacity() * 5
            + self.callers.len() * size_of::<Caller>()
            + self.entry_of_state.len() * 4) as u64
    }
}
