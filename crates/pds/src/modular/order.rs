//! In which order the symbols of a system are solved: those that a symbol depends on come first.
//!
//! Symbols that depend on each other, a loop or a recursion, are one *knot* and have the same rank.
//! An order for some rules is one for fewer rules, too. So only a rule that is added can break it. Then
//! only the ranks between those of the two symbols of this rule are given anew: a new cycle has no symbol
//! before them or behind them.

use droste_automata::components::components;

use crate::paths::Sorted;

const NONE: u32 = u32::MAX;

/// The ranks of symbols.
#[derive(Default)]
pub(super) struct Ranks {
    /// For each symbol its rank.
    of: Vec<u32>,
    /// The symbols, by rank; those of one rank are sorted.
    symbols: Vec<u32>,
    /// For each rank, where its symbols end. Some ranks have none.
    end: Vec<u32>,
    /// The first and the last rank of those that are to be given anew.
    broken: Option<(u32, u32)>,
}

impl Ranks {
    /// Makes all symbols known that are below this number.
    pub(super) fn at_least(&mut self, symbols: u32) {
        for symbol in self.of.len() as u32..symbols {
            self.of.push(self.end.len() as u32);
            self.symbols.push(symbol);
            self.end.push(symbol + 1);
        }
    }

    /// How many ranks there are.
    pub(super) fn len(&self) -> usize {
        self.end.len()
    }

    pub(super) fn of(&self, symbol: u32) -> u32 {
        self.of[symbol as usize]
    }

    /// The symbols of a rank, sorted.
    pub(super) fn members(&self, rank: u32) -> &[u32] {
        let end = |rank: usize| self.end[rank] as usize;
        let begin = (rank as usize).checked_sub(1).map_or(0, end);
        &self.symbols[begin..end(rank as usize)]
    }

    /// One symbol depends on another.
    pub(super) fn depends(&mut self, symbol: u32, on: u32) {
        let (low, high) = (self.of(symbol), self.of(on));
        if low < high {
            let (first, last) = self.broken.unwrap_or((low, high));
            self.broken = Some((first.min(low), last.max(high)));
        }
    }

    /// Gives ranks anew where that is necessary. `next` adds the symbols that a symbol depends on.
    pub(super) fn mend(&mut self, next: impl Fn(u32, &mut Vec<u32>)) {
        let Some((first, last)) = self.broken.take() else {
            return;
        };
        let begin = (first as usize)
            .checked_sub(1)
            .map_or(0, |rank| self.end[rank]);
        let end = self.end[last as usize];
        let symbols = self.symbols[begin as usize..end as usize].to_vec();
        let mut place = vec![NONE; self.of.len()];
        for (at, &symbol) in (0..).zip(&symbols) {
            place[symbol as usize] = at;
        }
        let mut targets = Vec::new();
        let found = components(
            symbols.len(),
            0..symbols.len() as u32,
            |at, out: &mut Vec<(u32, ())>| {
                targets.clear();
                next(symbols[at as usize], &mut targets);
                let inside = targets.iter().map(|&symbol| place[symbol as usize]);
                out.extend(inside.filter(|&at| at != NONE).map(|at| (at, ())));
            },
        );
        let sorted = Sorted::new(found.count, found.of.iter().copied());
        // A knot may have come apart since it was made: then there are more ranks than before.
        let more = found.count.saturating_sub(last + 1 - first);
        if more > 0 {
            for symbol in &self.symbols[end as usize..] {
                self.of[*symbol as usize] += more;
            }
            let behind = last as usize + 1;
            let added = std::iter::repeat_n(end, more as usize);
            self.end.splice(behind..behind, added);
        }
        let mut to = begin as usize;
        for knot in 0..found.count {
            let from = to;
            for &at in sorted.of(knot) {
                let symbol = symbols[at as usize];
                self.symbols[to] = symbol;
                self.of[symbol as usize] = first + knot;
                to += 1;
            }
            self.symbols[from..to].sort_unstable();
            self.end[(first + knot) as usize] = to as u32;
        }
        self.end[(first + found.count) as usize..(last + more + 1) as usize].fill(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After any edges, in any order, ranks fall along edges, and are equal on cycles alone.
    #[test]
    fn ranks_fall_along_edges() {
        let mut random = 1u64;
        let mut below = |bound: u32| {
            random = (random.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
            (random >> 33) as u32 % bound
        };
        for _ in 0..300 {
            let count = 1 + below(12);
            let mut ranks = Ranks::default();
            let mut edges: Vec<(u32, u32)> = Vec::new();
            for _ in 0..below(8) {
                for _ in 0..below(4) {
                    let (a, b) = (below(count), below(count));
                    ranks.at_least(a.max(b) + 1);
                    ranks.depends(a, b);
                    edges.push((a, b));
                }
                if below(2) == 0 && !edges.is_empty() {
                    edges.swap_remove(below(edges.len() as u32) as usize);
                }
                ranks.mend(|symbol, out| {
                    let from = edges.iter().filter(|(a, _)| *a == symbol);
                    out.extend(from.map(|(_, b)| *b));
                });
                for &(a, b) in &edges {
                    assert!(ranks.of(b) <= ranks.of(a), "{edges:?}");
                }
                let known = ranks.of.len() as u32;
                let mut seen: Vec<u32> = (0..ranks.len() as u32)
                    .flat_map(|rank| ranks.members(rank).to_vec())
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..known).collect::<Vec<_>>());
                for symbol in 0..known {
                    assert!(ranks.members(ranks.of(symbol)).contains(&symbol));
                }
            }
        }
    }
}
