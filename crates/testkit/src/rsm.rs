//! Recursive state machines as tables, and random ones.
//!
//! A state is a number. Exits are numbers from the same range, so that what a procedure returns may
//! look like a position; an entry may be any state, and one state may call the same
//! entry with several ids.

use std::collections::BTreeMap;
use std::fmt;

use droste_base::{CallId, Model, PropId, Steps};

use crate::random::Random;

/// What a state can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Move {
    /// An internal step.
    Internal(u8),
    /// A call, by its id, of an entry.
    Call(u8, u8),
    /// Leaves the procedure through this exit.
    Exit(u8),
}

/// A state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Bit i: proposition i holds.
    pub props: u8,
    /// What it can do.
    pub moves: Vec<Move>,
    /// If not empty: the parts, and no moves.
    pub parts: Vec<u8>,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rsm {
    /// Where runs start.
    pub initial: Vec<u8>,
    /// By state.
    pub nodes: Vec<Node>,
    /// (caller, call, exit) to where the caller goes on; a return is blocked if there is no entry.
    pub resume: BTreeMap<(u8, u8, u8), Vec<u8>>,
    /// Where the run goes on when the outermost procedure is left through this exit.
    pub terminated: BTreeMap<u8, u8>,
}

impl fmt::Display for Rsm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "initial {:?}", self.initial)?;
        for (n, node) in self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, n)| **n != Node::default())
        {
            writeln!(
                f,
                "{n}: props {:04b} {:?} parts {:?}",
                node.props, node.moves, node.parts
            )?;
        }
        for ((caller, call, exit), next) in &self.resume {
            writeln!(
                f,
                "{caller} resumes call {call} after exit {exit} in {next:?}"
            )?;
        }
        writeln!(f, "terminated: {:?}", self.terminated)
    }
}

impl Model for Rsm {
    type State = u8;

    fn initial(&self, out: &mut Vec<u8>) {
        out.extend(&self.initial);
    }

    fn steps(&self, &state: &u8, out: &mut Steps<u8>) {
        let node = &self.nodes[state as usize];
        if !node.parts.is_empty() {
            return out.split(7, node.parts.len() as u64);
        }
        for &each in &node.moves {
            match each {
                Move::Internal(to) => out.step(to),
                Move::Call(call, entry) => out.call(CallId(u32::from(call)), entry),
                Move::Exit(exit) => out.exit(exit),
            }
        }
    }

    fn resume(&self, &caller: &u8, call: CallId, &exit: &u8, out: &mut Vec<u8>) -> bool {
        out.extend(
            self.resume
                .get(&(caller, call.0 as u8, exit))
                .into_iter()
                .flatten(),
        );
        true
    }

    fn holds(&self, &state: &u8, proposition: PropId) -> bool {
        let node = &self.nodes[state as usize];
        assert!(
            node.parts.is_empty(),
            "`holds` is not asked of states that split"
        );
        node.props >> proposition.0 & 1 == 1
    }

    fn refine(&self, &state: &u8, tag: u32, index: u64) -> u8 {
        assert_eq!(tag, 7, "the split's own tag is handed back");
        self.nodes[state as usize].parts[index as usize]
    }

    fn terminated(&self, exit: &u8) -> Option<u8> {
        self.terminated.get(exit).copied()
    }
}

/// A random machine. The last few nodes are where it goes on after the end: they make internal
/// steps only. The others belong to components, which internal steps, refinements and
/// returns stay inside, except in one machine out of eight, which respects nothing.
pub fn random(seed: u64) -> Rsm {
    let mut r = Random::new(seed);
    let components = 1 + r.below(3);
    let size = [4, 9, 24][r.below(3)];
    let ordinary = components + 1 + r.below(size);
    let ends = r.below(3);
    let wild = r.percent(12);
    // In some machines most ways lead to the next node, so that runs are long.
    let onward = [0, 0, 80][r.below(3)];
    let all: Vec<u8> = (0..(ordinary + ends) as u8).collect();
    let (own, after) = all.split_at(ordinary);
    let members: Vec<Vec<u8>> = (0..components)
        .map(|c| {
            own.iter()
                .copied()
                .filter(|&n| wild || n as usize % components == c)
                .collect()
        })
        .collect();
    // There, procedures are entered at the front.
    let front = if onward > 0 { 2 } else { usize::MAX };
    let entries = |all: &[u8]| all[..all.len().min(front)].to_vec();
    let exits: Vec<u8> = (0..=r.below(3)).map(|_| *r.pick(&all)).collect();
    let calls = 1 + r.below(3);
    let (density, blocked) = (1 + r.below(3), [0, 20, 60][r.below(3)]);
    let (splits, marked) = ([0, 10, 30][r.below(3)], [3, 8, 15, 40][r.below(4)]);
    let mut rsm = Rsm::default();
    for &n in own {
        let mine = &members[n as usize % components];
        let mut node = Node {
            props: marks(&mut r, marked),
            ..Node::default()
        };
        let later: Vec<u8> = mine.iter().copied().filter(|&m| m > n).collect();
        let next = later.get(..1).unwrap_or(mine);
        if onward > 0 && later.len() > 1 {
            node.props = 0;
        }
        if !later.is_empty() && r.percent(splits) {
            node.parts = (0..=r.below(3)).map(|_| *r.pick(&later)).collect();
        } else {
            let least = usize::from(onward > 0 || r.percent(60));
            for _ in 0..least + r.below(density + 1) * usize::from(!r.percent(onward)) {
                let near = if r.percent(onward) {
                    next
                } else if r.percent(4) {
                    &all
                } else {
                    mine
                };
                node.moves.push(match r.below(10) {
                    0..4 => Move::Internal(*r.pick(near)),
                    4..8 => {
                        let callee = entries(&members[r.below(components)]);
                        Move::Call(r.below(calls) as u8, *r.pick(&callee))
                    }
                    _ => Move::Exit(*r.pick(&exits)),
                });
            }
        }
        for &each in &node.moves {
            let Move::Call(call, _) = each else { continue };
            for &exit in &exits {
                if !r.percent(blocked) {
                    let near = if r.percent(onward) { next } else { mine };
                    let states = (0..=(r.below(8) / 6)).map(|_| *r.pick(near)).collect();
                    rsm.resume.insert((n, call, exit), states);
                }
            }
        }
        rsm.nodes.push(node);
    }
    for &n in after {
        let mut node = Node {
            props: marks(&mut r, marked),
            ..Node::default()
        };
        let later: Vec<u8> = after.iter().copied().filter(|&m| m > n).collect();
        if !later.is_empty() && r.percent(splits) {
            node.parts = vec![*r.pick(&later)];
        } else {
            node.moves = (0..r.below(3))
                .map(|_| Move::Internal(*r.pick(after)))
                .collect();
        }
        rsm.nodes.push(node);
    }
    for &exit in &exits {
        if !after.is_empty() && r.percent(70) {
            rsm.terminated.insert(exit, *r.pick(after));
        }
    }
    rsm.initial = (0..=(r.below(6) / 4))
        .map(|_| *r.pick(&entries(own)))
        .collect();
    rsm
}

/// Each of four propositions with this chance.
fn marks(r: &mut Random, chance: u32) -> u8 {
    (0..4).fold(0, |props, i| props | u8::from(r.percent(chance)) << i)
}
