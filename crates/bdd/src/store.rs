//! Nodes, the unique table, the computed table, and garbage collection.
//!
//! Bryant's reduced ordered diagrams (IEEE Trans. Computers 1986) with complement edges and a
//! lossy computed table, as in Brace, Rudell and Bryant (DAC 1990). A node is three words; an
//! [`Edge`] is a node and a bit that says whether to negate it, so that negation costs nothing.
//! The high edge of a node is never complemented, which makes the representation unique: two
//! functions are equal if and only if their edges are. Tests compare every operation with
//! truth tables and with another package.

use droste_base::{Countable, Guard, Limits, StopReason};

/// A function: a node, and whether it is negated (the lowest bit).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Edge(pub(crate) u32);

pub(crate) const TRUE: Edge = Edge(0);
pub(crate) const FALSE: Edge = Edge(1);

impl Edge {
    #[inline]
    pub(crate) fn new(node: u32) -> Self {
        Edge(node << 1)
    }

    #[inline]
    pub(crate) fn not(self) -> Self {
        Edge(self.0 ^ 1)
    }

    #[inline]
    pub(crate) fn not_if(self, condition: bool) -> Self {
        Edge(self.0 ^ u32::from(condition))
    }

    #[inline]
    pub(crate) fn node(self) -> u32 {
        self.0 >> 1
    }

    #[inline]
    pub(crate) fn is_complement(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline]
    pub(crate) fn regular(self) -> Self {
        Edge(self.0 & !1)
    }

    #[inline]
    pub(crate) fn is_constant(self) -> bool {
        self.0 < 2
    }
}

/// A decision. Node 0 is the constant true.
#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub(crate) level: u32,
    pub(crate) low: Edge,
    /// Never complemented. In a free node, the next free one.
    pub(crate) high: Edge,
}

/// The level of the constants: below every variable.
pub(crate) const BOTTOM: u32 = u32::MAX;
/// The level of nodes that are not in use.
const FREE: u32 = u32::MAX - 1;

/// What is remembered in the computed table.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Operation {
    None = 0,
    And,
    Xor,
    Ite,
    Exists,
    AndExists,
    Constrain,
    Restrict,
    Implies,
    Rename,
}

#[derive(Clone, Copy)]
struct Computed {
    operation: Operation,
    f: Edge,
    g: Edge,
    h: u32,
    result: Edge,
}

const NOTHING: Computed = Computed {
    operation: Operation::None,
    f: TRUE,
    g: TRUE,
    h: 0,
    result: TRUE,
};

pub(crate) struct Store {
    pub(crate) nodes: Vec<Node>,
    /// References from outside, by node.
    references: Vec<u32>,
    /// Node ids by hash of their contents, 0 for an empty place; a power of two long. The upper
    /// half of an entry is a part of the hash: other nodes need not be looked at to tell that they
    /// are others.
    unique: Vec<u64>,
    computed: Vec<Computed>,
    free: u32,
    free_count: usize,
    pub(crate) peak: usize,
    pub(crate) collections: usize,
    /// A collection pays when this many nodes are in use.
    threshold: usize,
    guard: Guard,
    /// Steps of operations so far, and when to look at the limits again.
    pub(crate) ticks: u64,
    next_check: u64,
    /// When the operation that is running has to give up, see [`Store::limit`].
    last_tick: u64,
    /// The last walk that came by, for each node.
    visited: Vec<u32>,
    walk: u32,
    pub(crate) level_of: Vec<u32>,
    pub(crate) var_at: Vec<u32>,
}

/// A limit on steps that was in force before another one.
pub(crate) struct StepLimit {
    last_tick: u64,
    next_check: u64,
}

/// An edge has 31 bits for its node.
const MOST_NODES: usize = 1 << 31;
const SMALLEST_TABLE: usize = 1 << 10;
/// The computed table stops growing here (20 bytes an entry).
const LARGEST_COMPUTED: usize = 1 << 21;
/// How many steps are taken between two looks at the limits.
const CHECK_EVERY: u64 = 1 << 14;
const FIRST_THRESHOLD: usize = 1 << 16;
/// After a collection, tables have at most twice this many places for each node in use.
const ROOM: usize = 4;
/// Smaller tables are not made smaller.
const SMALLEST_AFTER: usize = 1 << 17;

#[inline]
fn mix(a: u32, b: u32, c: u32) -> u64 {
    let x = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29) ^ u64::from(c)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// The place for a hash in a table of `mask + 1` entries.
#[inline]
fn place(hash: u64, mask: usize) -> usize {
    (hash >> 31) as usize & mask
}

/// An entry of the unique table.
#[inline]
fn entry(hash: u64, id: u32) -> u64 {
    hash << 32 | u64::from(id)
}

/// A set of nodes, a bit for each.
struct Marks(Vec<u64>);

impl Marks {
    #[inline]
    fn has(&self, id: u32) -> bool {
        self.0[id as usize / 64] >> (id % 64) & 1 != 0
    }

    /// Adds a node; whether it was not there.
    #[inline]
    fn mark(&mut self, id: u32) -> bool {
        let word = &mut self.0[id as usize / 64];
        let is_new = *word >> (id % 64) & 1 == 0;
        *word |= 1 << (id % 64);
        is_new
    }
}

impl Store {
    pub(crate) fn new(limits: &Limits) -> Self {
        Store {
            nodes: vec![Node {
                level: BOTTOM,
                low: TRUE,
                high: TRUE,
            }],
            references: vec![1],
            unique: vec![0; SMALLEST_TABLE],
            computed: vec![NOTHING; SMALLEST_TABLE],
            free: 0,
            free_count: 0,
            peak: 0,
            collections: 0,
            threshold: FIRST_THRESHOLD,
            guard: limits.guard(),
            ticks: 0,
            next_check: CHECK_EVERY,
            last_tick: u64::MAX,
            visited: Vec::new(),
            walk: 0,
            level_of: Vec::new(),
            var_at: Vec::new(),
        }
    }

    /// Nodes in use, garbage included.
    pub(crate) fn used(&self) -> usize {
        self.nodes.len() - self.free_count
    }

    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.references.capacity() * 4
            + self.unique.capacity() * 8
            + self.computed.capacity() * size_of::<Computed>()
    }

    #[inline]
    pub(crate) fn level(&self, edge: Edge) -> u32 {
        self.nodes[edge.node() as usize].level
    }

    /// Both cofactors with respect to the variable at `level`, which is not below the edge's.
    #[inline]
    pub(crate) fn cofactors(&self, edge: Edge, level: u32) -> (Edge, Edge) {
        let node = &self.nodes[edge.node() as usize];
        if node.level == level {
            let negate = edge.is_complement();
            (node.low.not_if(negate), node.high.not_if(negate))
        } else {
            (edge, edge)
        }
    }

    /// Called once per step of an operation: stops it when a limit is reached.
    #[inline]
    pub(crate) fn tick(&mut self) -> Result<(), StopReason> {
        self.ticks += 1;
        if self.ticks >= self.next_check {
            self.look()
        } else {
            Ok(())
        }
    }

    #[cold]
    fn look(&mut self) -> Result<(), StopReason> {
        if self.ticks >= self.last_tick {
            // The reason is not looked at: who set the limit knows.
            return Err(StopReason::Cancelled);
        }
        self.next_check = (self.ticks + CHECK_EVERY).min(self.last_tick);
        self.guard.check_now()
    }

    /// From now on, this number of `steps` may be taken, and no more; the limit before that, for
    /// [`lift`](Self::lift).
    pub(crate) fn limit(&mut self, steps: u64) -> StepLimit {
        let before = StepLimit {
            last_tick: self.last_tick,
            next_check: self.next_check,
        };
        self.last_tick = self.last_tick.min(self.ticks.saturating_add(steps));
        self.next_check = self.next_check.min(self.last_tick);
        before
    }

    /// Ends a limit; whether it was reached.
    pub(crate) fn lift(&mut self, before: &StepLimit) -> bool {
        let exhausted = self.ticks >= self.last_tick;
        self.last_tick = before.last_tick;
        self.next_check = before.next_check.max(self.ticks);
        exhausted
    }

    pub(crate) fn reference(&mut self, edge: Edge) {
        self.references[edge.node() as usize] += 1;
    }

    pub(crate) fn release(&mut self, edge: Edge) {
        self.references[edge.node() as usize] -= 1;
    }

    /// The function that is `high` where the variable at `level` is true and `low` where it is
    /// false.
    #[inline]
    pub(crate) fn make(&mut self, level: u32, low: Edge, high: Edge) -> Result<Edge, StopReason> {
        if low == high {
            return Ok(low);
        }
        let negate = high.is_complement();
        let (low, high) = (low.not_if(negate), high.not_if(negate));
        let mask = self.unique.len() - 1;
        let hash = mix(low.0, high.0, level);
        let mut place = place(hash, mask);
        loop {
            let known = self.unique[place];
            if known == 0 {
                break;
            }
            let id = known as u32;
            if known == entry(hash, id) {
                let node = &self.nodes[id as usize];
                if node.low == low && node.high == high && node.level == level {
                    return Ok(Edge::new(id).not_if(negate));
                }
            }
            place = (place + 1) & mask;
        }
        let id = self.allocate(Node { level, low, high })?;
        if self.unique.len() == mask + 1 {
            self.unique[place] = entry(hash, id);
        } // Otherwise the table has grown and the node is already in it.
        Ok(Edge::new(id).not_if(negate))
    }

    fn allocate(&mut self, node: Node) -> Result<u32, StopReason> {
        if self.used() >= MOST_NODES {
            return Err(StopReason::TooMany(
                Countable::DiagramNodes,
                MOST_NODES as u64,
            ));
        }
        let id = self.push(node);
        let used = self.used();
        self.peak = self.peak.max(used);
        if used * 4 > self.unique.len() * 3 {
            self.rehash(self.unique.len() * 2);
        }
        Ok(id)
    }

    fn rehash(&mut self, len: usize) {
        self.unique.clear();
        self.unique.resize(len, 0);
        let mask = len - 1;
        for (id, node) in self.nodes.iter().enumerate().skip(1) {
            if node.level == FREE {
                continue;
            }
            let hash = mix(node.low.0, node.high.0, node.level);
            let mut place = place(hash, mask);
            while self.unique[place] != 0 {
                place = (place + 1) & mask;
            }
            self.unique[place] = entry(hash, id as u32);
        }
        // The computed table grows with the number of nodes; what it knows is kept.
        let wanted = len.min(LARGEST_COMPUTED);
        if wanted > self.computed.len() {
            self.resize_computed(wanted);
        }
    }

    #[inline]
    fn computed_place(&self, operation: Operation, f: Edge, g: Edge, h: u32) -> usize {
        let hash = mix(f.0, g.0, h.wrapping_mul(16).wrapping_add(operation as u32));
        place(hash, self.computed.len() - 1)
    }

    #[inline]
    pub(crate) fn lookup(&self, operation: Operation, f: Edge, g: Edge, h: u32) -> Option<Edge> {
        let entry = &self.computed[self.computed_place(operation, f, g, h)];
        (entry.operation == operation && entry.f == f && entry.g == g && entry.h == h)
            .then_some(entry.result)
    }

    #[inline]
    pub(crate) fn remember(
        &mut self,
        operation: Operation,
        f: Edge,
        g: Edge,
        h: u32,
        result: Edge,
    ) {
        let place = self.computed_place(operation, f, g, h);
        self.computed[place] = Computed {
            operation,
            f,
            g,
            h,
            result,
        };
    }

    fn forget(&mut self) {
        self.computed.fill(NOTHING);
    }

    /// Between operations, when everything that is needed is referred to from outside.
    pub(crate) fn collect_if_worth_while(&mut self) {
        if self.used() >= self.threshold {
            self.collect();
            // Collecting more often would cost more than it saves.
            self.threshold = (self.used() * 2).max(FIRST_THRESHOLD);
        }
    }

    /// Frees every node that is not reachable from a referenced one.
    pub(crate) fn collect(&mut self) {
        self.collections += 1;
        let mut marked = Marks(vec![0; self.nodes.len().div_ceil(64)]);
        marked.mark(0);
        let mut stack: Vec<u32> = Vec::new();
        for (id, &count) in (0..).zip(&self.references) {
            if count > 0 && marked.mark(id) {
                stack.push(id);
            }
            while let Some(id) = stack.pop() {
                let node = self.nodes[id as usize];
                for child in [node.low.node(), node.high.node()] {
                    if marked.mark(child) {
                        stack.push(child);
                    }
                }
            }
        }
        self.free = 0;
        self.free_count = 0;
        for (id, node) in self.nodes.iter_mut().enumerate().rev() {
            if !marked.has(id as u32) {
                *node = Node {
                    level: FREE,
                    low: TRUE,
                    high: Edge(self.free),
                };
                self.free = id as u32;
                self.free_count += 1;
            }
        }
        let alive = |edge: Edge| marked.has(edge.node());
        for entry in &mut self.computed {
            let third = match entry.operation {
                Operation::None => continue,
                Operation::Ite | Operation::AndExists => alive(Edge(entry.h)),
                _ => true,
            };
            if !(third && alive(entry.f) && alive(entry.g) && alive(entry.result)) {
                *entry = NOTHING;
            }
        }
        // Tables that are much too large are slow: they do not fit the caches.
        let roomy = (self.used() * ROOM).next_power_of_two().max(SMALLEST_AFTER);
        let len = self.unique.len();
        if len > 2 * roomy {
            self.unique = vec![0; roomy];
            self.resize_computed(roomy.min(self.computed.len()));
        }
        self.rehash(self.unique.len());
    }

    /// Gives the computed table another size. What it knows is kept, as far as there is room.
    fn resize_computed(&mut self, len: usize) {
        let old = std::mem::replace(&mut self.computed, vec![NOTHING; len]);
        for entry in old {
            if entry.operation != Operation::None {
                let place = self.computed_place(entry.operation, entry.f, entry.g, entry.h);
                self.computed[place] = entry;
            }
        }
    }

    /// Before the nodes of a diagram are marked in `visited`.
    fn new_walk(&mut self) {
        self.visited.resize(self.nodes.len(), 0);
        self.walk = self.walk.wrapping_add(1);
        if self.walk == 0 {
            self.visited.fill(0);
            self.walk = 1;
        }
    }

    /// Calls `f` with each node of a diagram once, the constant included, in no particular order.
    pub(crate) fn walk(&mut self, edge: Edge, mut f: impl FnMut(u32, &Node)) {
        self.new_walk();
        let mut stack = vec![edge.node()];
        self.visited[edge.node() as usize] = self.walk;
        while let Some(id) = stack.pop() {
            let node = self.nodes[id as usize];
            f(id, &node);
            for child in [node.low.node(), node.high.node()] {
                let visited = &mut self.visited[child as usize];
                if *visited != self.walk {
                    *visited = self.walk;
                    stack.push(child);
                }
            }
        }
    }

    /// Whether a diagram has more than `limit` nodes, the constant included.
    pub(crate) fn is_larger(&mut self, edge: Edge, limit: usize) -> bool {
        self.new_walk();
        let mut stack = vec![edge.node()];
        self.visited[edge.node() as usize] = self.walk;
        let mut count = 1;
        while let Some(id) = stack.pop() {
            let node = self.nodes[id as usize];
            for child in [node.low.node(), node.high.node()] {
                let visited = &mut self.visited[child as usize];
                if *visited != self.walk {
                    *visited = self.walk;
                    count += 1;
                    stack.push(child);
                }
            }
            if count > limit {
                return true;
            }
        }
        count > limit
    }

    /// Whether the node is in use.
    pub(crate) fn in_use(&self, id: u32) -> bool {
        self.nodes[id as usize].level != FREE
    }

    /// References from outside to a node.
    pub(crate) fn references(&self, id: u32) -> u32 {
        self.references[id as usize]
    }

    /// Puts a node of no use into the list of free ones.
    pub(crate) fn free(&mut self, id: u32) {
        self.nodes[id as usize] = Node {
            level: FREE,
            low: TRUE,
            high: Edge(self.free),
        };
        self.free = id;
        self.free_count += 1;
    }

    /// A place for a node outside the unique table.
    pub(crate) fn push(&mut self, node: Node) -> u32 {
        if self.free == 0 {
            self.nodes.push(node);
            self.references.push(0);
            return (self.nodes.len() - 1) as u32;
        }
        let id = self.free;
        self.free = self.nodes[id as usize].high.0;
        self.free_count -= 1;
        self.nodes[id as usize] = node;
        id
    }

    /// After the nodes have been changed from outside: find them again.
    pub(crate) fn rebuild(&mut self) {
        self.forget();
        self.peak = self.peak.max(self.used());
        let mut len = self.unique.len();
        while self.used() * 4 > len * 3 {
            len *= 2;
        }
        self.rehash(len);
    }

    pub(crate) fn check_limits(&mut self) -> Result<(), StopReason> {
        self.guard.check_now()
    }
}
