//! Another order of the variables: a given one, or a better one found by sifting.
//!
//! Neighbouring levels are swapped in place (Rudell, ICCAD 1993), so that every node keeps
//! its id and its function, and handles stay valid. Sifting moves one variable after another
//! through all levels and leaves it where the diagrams were smallest. Swapping is tested by
//! evaluating functions before and after.

use std::collections::HashMap;

use droste_base::StopReason;

use crate::store::{BOTTOM, Edge, Node, Store, TRUE};

type Result<T> = std::result::Result<T, StopReason>;

/// The store while its levels are being moved: no garbage, and nodes by level.
struct Session<'a> {
    store: &'a mut Store,
    /// For each level, its nodes by their children.
    levels: Vec<HashMap<(Edge, Edge), u32>>,
    /// References to each node, from other nodes and from outside.
    counts: Vec<u32>,
    size: usize,
    freed: Vec<u32>,
}

impl Store {
    /// Puts the variables into this order, topmost first.
    pub(crate) fn set_order(&mut self, order: &[u32]) -> Result<()> {
        debug_assert_eq!(order.len(), self.var_at.len());
        if self.var_at == order {
            return Ok(());
        }
        if self.used() == 1 {
            // No nodes: nothing to move.
            self.var_at.copy_from_slice(order);
            for (level, &var) in order.iter().enumerate() {
                self.level_of[var as usize] = level as u32;
            }
            return Ok(());
        }
        let mut session = Session::new(self);
        let mut result = Ok(());
        'all: for (target, &var) in order.iter().enumerate() {
            let mut level = session.store.level_of[var as usize] as usize;
            while level > target {
                level -= 1;
                session.swap(level);
                result = session.store.tick();
                if result.is_err() {
                    break 'all;
                }
            }
        }
        session.finish();
        result
    }

    /// Looks for a better order, variable by variable, beginning with those that have most nodes.
    pub(crate) fn sift(&mut self) -> Result<()> {
        let mut session = Session::new(self);
        let count = session.levels.len();
        let mut vars: Vec<(usize, u32)> = (0..count)
            .map(|level| (session.levels[level].len(), session.store.var_at[level]))
            .filter(|&(nodes, _)| nodes > 0)
            .collect();
        vars.sort_unstable_by(|a, b| b.cmp(a));
        let mut result = Ok(());
        for (_, var) in vars {
            result = session.sift_var(var);
            if result.is_err() {
                break;
            }
        }
        session.finish();
        result
    }
}

impl<'a> Session<'a> {
    fn new(store: &'a mut Store) -> Self {
        store.collect();
        let mut levels = vec![HashMap::new(); store.var_at.len()];
        let mut counts = vec![0u32; store.nodes.len()];
        for (id, node) in store.nodes.iter().enumerate() {
            counts[id] += store.references(id as u32);
            if id != 0 && store.in_use(id as u32) {
                levels[node.level as usize].insert((node.low, node.high), id as u32);
                counts[node.low.node() as usize] += 1;
                counts[node.high.node() as usize] += 1;
            }
        }
        counts[0] = u32::MAX / 2; // The constant is never freed.
        let size = store.used();
        Session {
            store,
            levels,
            counts,
            size,
            freed: Vec::new(),
        }
    }

    fn finish(mut self) {
        for id in self.freed.drain(..) {
            self.store.free(id);
        }
        self.store.rebuild();
    }

    /// Moves the variable to where the size is smallest.
    fn sift_var(&mut self, var: u32) -> Result<()> {
        let start = self.store.level_of[var as usize] as usize;
        let last = self.levels.len() - 1;
        let (mut best, mut best_level) = (self.size, start);
        let mut level = start;
        // The nearer end first.
        let down_first = last - start <= start;
        for phase in 0..2 {
            let down = down_first == (phase == 0);
            while if down { level < last } else { level > 0 } {
                self.swap(if down { level } else { level - 1 });
                level = if down { level + 1 } else { level - 1 };
                if self.size < best {
                    (best, best_level) = (self.size, level);
                }
                self.store.tick()?;
                // So much growth is rarely made up for further on.
                if self.size > best + best / 5 + 32 {
                    break;
                }
            }
        }
        while level != best_level {
            let down = level < best_level;
            self.swap(if down { level } else { level - 1 });
            level = if down { level + 1 } else { level - 1 };
        }
        self.store.check_limits()
    }

    /// Exchanges the variables at `level` and the one below.
    fn swap(&mut self, level: usize) {
        let below = level + 1;
        let (x, y) = (self.store.var_at[level], self.store.var_at[below]);
        self.store.var_at.swap(level, below);
        self.store.level_of[x as usize] = below as u32;
        self.store.level_of[y as usize] = level as u32;
        let upper = std::mem::take(&mut self.levels[level]);
        let lower = std::mem::take(&mut self.levels[below]);
        if upper.is_empty() && lower.is_empty() {
            return;
        }
        // Nodes that do not decide on y just move down; the others are rewritten.
        let mut dependent = Vec::new();
        let mut moved = HashMap::new();
        for (&children, &id) in &upper {
            let decides = |edge: Edge| self.store.level(edge) == below as u32;
            if decides(children.0) || decides(children.1) {
                dependent.push((id, children));
            } else {
                moved.insert(children, id);
            }
        }
        for &id in moved.values() {
            self.store.nodes[id as usize].level = below as u32;
        }
        for &id in lower.values() {
            self.store.nodes[id as usize].level = level as u32;
        }
        self.levels[below] = moved;
        self.levels[level] = lower;
        for (id, (low, high)) in dependent {
            // All y nodes are at `level` now, and so is this one until it is rewritten.
            let (f00, f01) = self.store.cofactors(low, level as u32);
            let (f10, f11) = self.store.cofactors(high, level as u32);
            let new_low = self.make(below as u32, f00, f10);
            let new_high = self.make(below as u32, f01, f11);
            self.count(new_low);
            self.count(new_high);
            let node = &mut self.store.nodes[id as usize];
            (node.low, node.high) = (new_low, new_high);
            self.levels[level].insert((new_low, new_high), id);
            self.release(low);
            self.release(high);
        }
    }

    fn count(&mut self, edge: Edge) {
        self.counts[edge.node() as usize] += 1;
    }

    /// A node at `level`; references to it are counted by the caller.
    fn make(&mut self, level: u32, low: Edge, high: Edge) -> Edge {
        if low == high {
            return low;
        }
        let negate = high.is_complement();
        let (low, high) = (low.not_if(negate), high.not_if(negate));
        if let Some(&id) = self.levels[level as usize].get(&(low, high)) {
            return Edge::new(id).not_if(negate);
        }
        let node = Node { level, low, high };
        let id = match self.freed.pop() {
            Some(id) => {
                self.store.nodes[id as usize] = node;
                id
            }
            None => self.store.push(node),
        };
        if self.counts.len() <= id as usize {
            self.counts.resize(id as usize + 1, 0);
        }
        self.counts[id as usize] = 0;
        self.size += 1;
        self.count(low);
        self.count(high);
        self.levels[level as usize].insert((low, high), id);
        Edge::new(id).not_if(negate)
    }

    /// One reference less; what has none is freed.
    fn release(&mut self, edge: Edge) {
        let mut stack = vec![edge];
        while let Some(edge) = stack.pop() {
            let id = edge.node() as usize;
            self.counts[id] -= 1;
            if self.counts[id] == 0 {
                let node = self.store.nodes[id];
                self.levels[node.level as usize].remove(&(node.low, node.high));
                stack.extend([node.low, node.high]);
                self.store.nodes[id] = Node {
                    level: BOTTOM,
                    low: TRUE,
                    high: TRUE,
                };
                self.freed.push(id as u32);
                self.size -= 1;
            }
        }
    }
}
