//! Whether all visible states of a program have been seen (P. Liu and T. Wahl, PLDI 2018): the
//! claim that `droste_pds::concurrent::visible` proves, applied in a search without a bound.
//!
//! The abstraction that the claim needs is explored when the search has been running for some time,
//! and takes about as much time as that. If it is too large, it is tried again later.

use droste_base::StopReason;
use droste_pds::concurrent::visible::Plateau;
use droste_unfold::Words;

use crate::Watching;
use crate::search::{NONE, Search};

/// The abstraction is not explored before the search has come so far: levels, or path edges.
const LEVELS: usize = 6;
const PATH_EDGES: u64 = 20_000;

/// How many states the abstraction may have at the first try, if the search has been short, and at
/// the last.
const FEW: usize = 1 << 12;
const MANY: usize = 1 << 20;

/// More visible states than this are not watched.
const VISIBLE: usize = 1 << 20;

/// The visible states of a search.
#[derive(Default)]
pub(super) struct Watch {
    plateau: Option<Plateau>,
    /// How often the abstraction was too large. It is tried again when the search has made so many
    /// path edges, or has come to this level.
    tries: u32,
    next: (u64, usize),
    /// There is too much to watch.
    pub(super) given_up: bool,
}

impl Watch {
    /// Whether no further switch leads to new visible states, or the abstraction does not meet the
    /// target; these nodes have been explored in this level.
    pub(super) fn converges<W: Words>(
        &mut self,
        search: &mut Search<'_, W>,
        explored: &[u32],
        level: usize,
    ) -> Result<bool, StopReason> {
        if self.plateau.is_some() {
            self.see(search, explored)?;
        } else {
            let effort = search.spaces.stats.path_edges;
            let watching = search.task.options.watching;
            let early = level < LEVELS && effort < PATH_EDGES && watching == Watching::Later;
            if early || effort < self.next.0 && level < self.next.1 {
                return Ok(false);
            }
            let most = usize::try_from(effort.saturating_mul(4)).unwrap_or(MANY);
            let most = most.max(FEW << (2 * self.tries).min(10)).min(MANY);
            let first = &search.nodes[0];
            let (threads, globals) = (first.threads.clone(), first.globals);
            let (target, init) = (search.task.target, search.init);
            let found = search
                .spaces
                .abstraction(&threads, globals, target, init, most);
            let found = match found {
                Ok(Some(found)) => found,
                Ok(None) => {
                    self.tries += 1;
                    self.next = (effort.saturating_mul(4), level + level / 2 + 1);
                    self.given_up = most == MANY;
                    return Ok(false);
                }
                // A variable with too many values is no problem of the search.
                Err(StopReason::TooMany(..)) => {
                    self.given_up = true;
                    return Ok(false);
                }
                Err(reason) => return Err(reason),
            };
            if !found.hit && watching != Watching::Alone {
                return Ok(true);
            }
            self.plateau = Some(Plateau::new(found.generators, VISIBLE));
            let all = (0..search.nodes.len() as u32).collect::<Vec<u32>>();
            self.see(search, &all)?;
        }
        Ok(!self.given_up && self.plateau.as_mut().is_some_and(Plateau::is_complete))
    }

    /// Sees what the contexts of these nodes show.
    fn see<W: Words>(&mut self, search: &Search<'_, W>, nodes: &[u32]) -> Result<(), StopReason> {
        let Some(plateau) = &mut self.plateau else {
            return Ok(());
        };
        for &id in nodes {
            let node = &search.nodes[id as usize];
            if node.space == NONE {
                continue;
            }
            let parked = node.threads.iter();
            let tops = parked.map(|&parked| search.spaces.tops(parked));
            let tops: Vec<Vec<u32>> = tops.collect::<Result<_, _>>()?;
            let visible = &search.spaces.all[node.space as usize].visible;
            for group in visible.chunk_by(|a, b| (a.0, a.2) == (b.0, b.2)) {
                let mut tops = tops.clone();
                tops[node.active as usize] = group.iter().map(|seen| seen.1).collect();
                for parked in search.spaces.started(group[0].2) {
                    tops.push(search.spaces.tops(parked)?);
                }
                if !plateau.see(group[0].0, &tops) {
                    self.given_up = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
