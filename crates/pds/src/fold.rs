//! Runs that share what they have in common.
//!
//! What a configuration does until the symbol on top has been popped is a list of moves. What is left
//! after the first move is such a list again: a step leaves one symbol in the place of the one on top,
//! and so does a call that has returned. Equal lists are kept once, however they have come about, so two
//! runs that end alike share their end. A run that is called twice, or is the end of two others, is
//! written once. So the runs together have as many moves as there are different lists, up to a
//! factor. Without shared ends, a chain of calls in which each level is called again at its end would
//! have the square of that number.

use rustc_hash::FxHashMap;

use crate::saturate::NONE;
use crate::system::{Pds, Replace};
use crate::witness::Move;

/// Ends with fewer moves than that are written where they are: it is no longer, and easier to read.
const SHORT: u32 = 3;

/// A list: a move, in which runs are lists, and the list of the moves after it, or [`NONE`].
struct List {
    first: Move,
    rest: u32,
    length: u32,
}

/// All lists. One comes after those that it consists of.
pub(crate) struct Fold<'a, W> {
    pds: &'a Pds<W>,
    /// Rules from this number on are not the system's own.
    own: u32,
    lists: Vec<List>,
    numbers: FxHashMap<(Move, u32), u32>,
}

impl<'a, W: Clone> Fold<'a, W> {
    pub(crate) fn new(pds: &'a Pds<W>, own: u32) -> Self {
        Fold {
            pds,
            own,
            lists: Vec::new(),
            numbers: FxHashMap::default(),
        }
    }

    /// The list with this move before another list.
    fn add(&mut self, first: Move, rest: u32) -> u32 {
        *self.numbers.entry((first, rest)).or_insert_with(|| {
            let behind = self.lists.get(rest as usize);
            let length = behind.map_or(0, |list| list.length).saturating_add(1);
            self.lists.push(List {
                first,
                rest,
                length,
            });
            self.lists.len() as u32 - 1
        })
    }

    /// The list of these moves, whose runs are lists. There must be one.
    pub(crate) fn list(&mut self, moves: &[Move]) -> u32 {
        let (mut rest, mut moves) = (NONE, moves.iter().rev().copied().peekable());
        if let Some(Move::Run(end)) = moves.peek() {
            rest = *end;
            moves.next();
        }
        moves.fold(rest, |rest, step| self.add(step, rest))
    }

    /// The moves of the main run, whose runs are lists. Those that pop a symbol are made a list.
    pub(crate) fn main(&mut self, moves: &[Move]) -> Vec<Move> {
        let mut all: Vec<Move> = Vec::with_capacity(moves.len());
        // Whether a list begins here, the last of `all`.
        let mut begins = false;
        for &step in moves.iter().rev() {
            let replace = match step {
                Move::Run(_) => {
                    all.push(step);
                    begins = true;
                    continue;
                }
                Move::Rule(rule) | Move::Call { rule, .. } => {
                    let own = rule < self.own;
                    own.then(|| self.pds.rules()[rule as usize].replace)
                }
            };
            let goes_on = match (step, replace) {
                (_, None) | (Move::Rule(_), Some(Replace::Push(..))) => false,
                (_, Some(Replace::Pop)) => {
                    all.push(Move::Run(self.add(step, NONE)));
                    begins = true;
                    continue;
                }
                _ => begins,
            };
            match all.last_mut() {
                Some(Move::Run(rest)) if goes_on => *rest = self.add(step, *rest),
                _ => {
                    all.push(step);
                    begins = false;
                }
            }
        }
        all.reverse();
        all
    }

    /// The runs, by number: the main one, whose runs are lists, is the last.
    pub(crate) fn runs(&self, main: &[Move]) -> Vec<Vec<Move>> {
        // How often a list is the end of another, and whether it is called.
        let mut ends = vec![0u32; self.lists.len()];
        let mut called = vec![false; self.lists.len()];
        let steps = self.lists.iter().map(|list| &list.first).chain(main);
        for step in steps {
            match *step {
                Move::Rule(_) => {}
                Move::Call { run, .. } => called[run as usize] = true,
                Move::Run(run) => ends[run as usize] += 1,
            }
        }
        for list in &self.lists {
            if let Some(count) = ends.get_mut(list.rest as usize) {
                *count += 1;
            }
        }
        let mut numbers = vec![NONE; self.lists.len()];
        let mut starts = Vec::new();
        for (at, list) in self.lists.iter().enumerate() {
            let shared = ends[at] > 1 && list.length >= SHORT;
            if called[at] || shared {
                numbers[at] = starts.len() as u32;
                starts.push(at as u32);
            }
        }
        let mut runs = Vec::with_capacity(starts.len() + 1);
        for start in starts {
            let mut run = Vec::new();
            self.moves(start, &numbers, &mut run);
            runs.push(run);
        }
        let mut last = Vec::with_capacity(main.len());
        for &step in main {
            match step {
                Move::Run(list) => self.end(list, &numbers, &mut last),
                step => last.push(Self::named(step, &numbers)),
            }
        }
        runs.push(last);
        runs
    }

    /// The moves of a list that ends a run: those of a run of their own, if there is one.
    fn end(&self, list: u32, numbers: &[u32], out: &mut Vec<Move>) {
        let run = numbers[list as usize];
        if run != NONE && self.lists[list as usize].length >= SHORT {
            out.push(Move::Run(run));
        } else {
            self.moves(list, numbers, out);
        }
    }

    /// The moves of a list, up to an end that is a run of its own.
    fn moves(&self, mut list: u32, numbers: &[u32], out: &mut Vec<Move>) {
        loop {
            let List { first, rest, .. } = self.lists[list as usize];
            out.push(Self::named(first, numbers));
            let Some(behind) = self.lists.get(rest as usize) else {
                return;
            };
            let run = numbers[rest as usize];
            if run != NONE && behind.length >= SHORT {
                out.push(Move::Run(run));
                return;
            }
            list = rest;
        }
    }

    /// A move with the number of its run, which is that of a list.
    fn named(step: Move, numbers: &[u32]) -> Move {
        match step {
            Move::Call { rule, run } => Move::Call {
                rule,
                run: numbers[run as usize],
            },
            step => step,
        }
    }
}
