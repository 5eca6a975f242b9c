//! Another order of the variables: a given one, or a better one found by sifting.
//!
//! Neighbouring levels are swapped in place (Rudell, ICCAD 1993), so that every node keeps its id
//! and its function, and handles stay valid. Sifting moves one block of variables after another
//! through all levels and leaves it where the diagrams were smallest. A block is a variable, or
//! several that have to stay together (Panda and Somenzi, ICCAD 1995): copies of one bit, between
//! which values are renamed. Swapping is tested by evaluating functions before and after.

use droste_base::StopReason;
use rustc_hash::FxHashMap;

use crate::store::{BOTTOM, Edge, Node, Store, TRUE};

type Result<T> = std::result::Result<T, StopReason>;

/// The store while its levels are being moved: no garbage, and nodes by level.
struct Session<'a> {
    store: &'a mut Store,
    /// For each level, its nodes by their children.
    levels: Vec<FxHashMap<(Edge, Edge), u32>>,
    /// References to each node, from other nodes and from outside.
    counts: Vec<u32>,
    size: usize,
    freed: Vec<u32>,
    /// Swaps, and nodes that they have looked at.
    effort: u64,
    next_check: u64,
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

    /// Looks for a better order, block by block, beginning with the blocks that have most nodes.
    /// Neighbours of the same group (`group` has one for each variable) are a block. No further
    /// block is moved after this much `effort`.
    pub(crate) fn sift(&mut self, group: &[u32], effort: u64) -> Result<()> {
        let mut session = Session::new(self);
        // Blocks by their place: how many levels each has. Their first variables name them.
        let mut sizes: Vec<usize> = Vec::new();
        let mut blocks: Vec<(usize, u32)> = Vec::new();
        let mut last = None;
        for (level, &var) in session.store.var_at.iter().enumerate() {
            let nodes = session.levels[level].len();
            if last == Some(group[var as usize])
                && let (Some(size), Some(block)) = (sizes.last_mut(), blocks.last_mut())
            {
                *size += 1;
                block.0 += nodes;
            } else {
                sizes.push(1);
                blocks.push((nodes, var));
            }
            last = Some(group[var as usize]);
        }
        blocks.retain(|&(nodes, _)| nodes > 0);
        blocks.sort_unstable_by(|a, b| b.cmp(a));
        let mut result = Ok(());
        for (_, var) in blocks {
            if session.effort > effort {
                break;
            }
            result = session.sift_block(var, &mut sizes);
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
        let mut levels = vec![FxHashMap::default(); store.var_at.len()];
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
            effort: 0,
            next_check: 0,
        }
    }

    fn finish(mut self) {
        for id in self.freed.drain(..) {
            self.store.free(id);
        }
        self.store.rebuild();
    }

    /// Moves the block that begins with this variable to where the size is smallest.
    fn sift_block(&mut self, var: u32, sizes: &mut [usize]) -> Result<()> {
        let mut level = self.store.level_of[var as usize] as usize;
        let mut place = 0;
        let mut above = 0;
        while above < level {
            above += sizes[place];
            place += 1;
        }
        let last = sizes.len() - 1;
        let (mut best, mut best_place) = (self.size, place);
        // The nearer end first.
        let down_first = last - place <= place;
        for phase in 0..2 {
            let down = down_first == (phase == 0);
            while if down { place < last } else { place > 0 } {
                (place, level) = self.move_block(place, level, down, sizes);
                if self.size < best {
                    (best, best_place) = (self.size, place);
                }
                self.check_limits()?;
                // Growth by a fifth is rarely made up for further on.
                if self.size > best + best / 5 + 32 {
                    break;
                }
            }
        }
        while place != best_place {
            (place, level) = self.move_block(place, level, place < best_place, sizes);
        }
        self.check_limits()
    }

    /// Looks at the limits now and then.
    fn check_limits(&mut self) -> Result<()> {
        if self.effort < self.next_check {
            return Ok(());
        }
        self.next_check = self.effort + (1 << 16);
        self.store.check_limits()
    }

    /// Exchanges the block at `place`, whose first level is `level`, with its neighbour; where it
    /// is then.
    fn move_block(
        &mut self,
        place: usize,
        level: usize,
        down: bool,
        sizes: &mut [usize],
    ) -> (usize, usize) {
        // The upper of the two, and its first level.
        let (upper, first) = if down {
            (place, level)
        } else {
            (place - 1, level - sizes[place - 1])
        };
        let (a, b) = (sizes[upper], sizes[upper + 1]);
        // Each variable of the lower block goes up through the upper one.
        for i in 0..b {
            for k in (0..a).rev() {
                self.swap(first + i + k);
            }
        }
        sizes.swap(upper, upper + 1);
        if down {
            (place + 1, level + b)
        } else {
            (place - 1, first)
        }
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
        self.effort += (upper.len() + lower.len()) as u64 + 1;
        if upper.is_empty() && lower.is_empty() {
            return;
        }
        // Nodes that do not decide on y just move down; the others are rewritten.
        let mut dependent = Vec::new();
        let mut moved = FxHashMap::default();
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
