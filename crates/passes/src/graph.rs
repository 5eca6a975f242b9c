//! What the passes share: the control-flow graph backwards, call sites, an order to visit
//! nodes in, and a worklist that follows it.

use droste_program::{Node, NodeId, Op, ProcId, Program, Threads, Type, VarRef};

/// Lists of `u32`, one per index, in one vector.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// The lists with `item` in list `index` for each pair; `pairs` is called twice and must
    /// report the same both times.
    fn new(count: usize, pairs: impl Fn(&mut dyn FnMut(u32, u32))) -> Self {
        let mut starts = vec![0u32; count + 1];
        pairs(&mut |index, _| starts[index as usize + 1] += 1);
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut free = starts.clone();
        let mut items = vec![0; starts[count] as usize];
        pairs(&mut |index, item| {
            let slot = &mut free[index as usize];
            items[*slot as usize] = item;
            *slot += 1;
        });
        Lists { starts, items }
    }

    /// The list at `index`.
    pub(crate) fn get(&self, index: u32) -> &[u32] {
        let (from, to) = (self.starts[index as usize], self.starts[index as usize + 1]);
        &self.items[from as usize..to as usize]
    }
}

/// The control-flow graph of a program, backwards.
#[derive(Debug)]
pub(crate) struct Graph {
    /// For each node, those it may come next to in the same procedure; for a call the node
    /// after the return counts.
    pub(crate) predecessors: Lists,
    /// For each procedure, the calls of it.
    pub(crate) calls: Lists,
    /// For each procedure, its `Return` nodes.
    pub(crate) returns: Lists,
}

impl Graph {
    pub(crate) fn new(program: &Program) -> Self {
        let nodes = || program.nodes.iter().zip(0u32..);
        Graph {
            predecessors: Lists::new(program.nodes.len(), |report| {
                for (node, id) in nodes() {
                    node.op.for_each_next(|next| report(next.0, id));
                }
            }),
            calls: Lists::new(program.procedures.len(), |report| {
                for (node, id) in nodes() {
                    if let Op::Call { callee, .. } = node.op {
                        report(callee.0, id);
                    }
                }
            }),
            returns: Lists::new(program.procedures.len(), |report| {
                for (node, id) in nodes() {
                    if let Op::Return(_) = node.op {
                        report(node.procedure.0, id);
                    }
                }
            }),
        }
    }
}

/// The procedures in which some thread starts with parameters and locals of any value.
pub(crate) fn roots(program: &Program) -> Vec<ProcId> {
    let mut roots = vec![program.main];
    match &program.threads {
        Threads::Dynamic => {}
        Threads::Init { threads, .. } => roots.extend(threads),
        Threads::Sections(sections) => roots.extend(sections.iter().map(|&(_, main)| main)),
    }
    roots
}

/// Makes a node one where nothing can be done. Its labels stay.
pub(crate) fn cut(node: &mut Node) {
    node.op = Op::Stuck;
    node.ensure = None;
}

/// The number of a variable: globals, then locals.
pub(crate) fn index(program: &Program, var: VarRef) -> u32 {
    match var {
        VarRef::Global(i) => i,
        VarRef::Local(i) => program.globals.len() as u32 + i,
    }
}

/// All nodes in reverse postorder of a depth-first search along steps and calls from where
/// runs start: a node usually comes after those that lead to it. Unreachable nodes are last.
pub(crate) fn reverse_postorder(program: &Program) -> Vec<u32> {
    let count = program.nodes.len();
    let mut seen = vec![false; count];
    let mut order = Vec::with_capacity(count);
    // `true` marks a node whose successors are done.
    let mut work: Vec<(u32, bool)> = Vec::new();
    for root in roots(program) {
        work.push((program.procedure(root).entry.0, false));
        while let Some((at, done)) = work.pop() {
            if done {
                order.push(at);
                continue;
            }
            if std::mem::replace(&mut seen[at as usize], true) {
                continue;
            }
            work.push((at, true));
            let op = &program.nodes[at as usize].op;
            let mut visit = |next: NodeId| {
                if !seen[next.0 as usize] {
                    work.push((next.0, false));
                }
            };
            op.for_each_next(&mut visit);
            if let Op::Call { callee, .. } = *op {
                visit(program.procedure(callee).entry);
            }
        }
    }
    order.reverse();
    order.extend((0..count as u32).filter(|&at| !seen[at as usize]));
    order
}

/// A set of nodes that is swept in a fixed order, again and again until it is empty.
#[derive(Debug)]
pub(crate) struct Worklist {
    order: Vec<u32>,
    position: Vec<u32>,
    /// One bit per position.
    pending: Vec<u64>,
    /// One bit per word of `pending` that is not zero.
    words: Vec<u64>,
    cursor: usize,
}

impl Worklist {
    /// An empty worklist.
    pub(crate) fn new(order: Vec<u32>) -> Self {
        let mut position = vec![0; order.len()];
        for (&node, place) in order.iter().zip(0..) {
            position[node as usize] = place;
        }
        Worklist {
            pending: vec![0; order.len().div_ceil(64)],
            words: vec![0; order.len().div_ceil(4096)],
            order,
            position,
            cursor: 0,
        }
    }

    pub(crate) fn insert(&mut self, node: u32) {
        let place = self.position[node as usize] as usize;
        self.pending[place / 64] |= 1 << (place % 64);
        self.words[place / 4096] |= 1 << (place / 64 % 64);
    }

    /// Puts every node in.
    pub(crate) fn insert_all(&mut self) {
        for node in 0..self.order.len() as u32 {
            self.insert(node);
        }
    }

    /// The first pending position that is not before `place`.
    fn next_from(&self, place: usize) -> Option<usize> {
        let word = place / 64;
        let bits = self.pending.get(word)? & !0 << (place % 64);
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        let mut group = (word + 1) / 64;
        let mut words = self.words.get(group)? & !0 << ((word + 1) % 64);
        while words == 0 {
            group += 1;
            words = *self.words.get(group)?;
        }
        let word = group * 64 + words.trailing_zeros() as usize;
        Some(word * 64 + self.pending[word].trailing_zeros() as usize)
    }

    /// Takes the next node in the order out, starting again at its beginning.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let place = self.next_from(self.cursor).or_else(|| self.next_from(0))?;
        let word = place / 64;
        self.pending[word] &= !(1 << (place % 64));
        if self.pending[word] == 0 {
            self.words[word / 64] &= !(1 << (word % 64));
        }
        self.cursor = place;
        Some(self.order[place])
    }
}

/// For each word of a set, which of its bits are globals.
pub(crate) fn masks(globals: u32) -> impl Iterator<Item = u64> {
    (0..globals.div_ceil(64)).map(move |word| match globals - word * 64 {
        64.. => !0,
        rest => (1 << rest) - 1,
    })
}

/// Whether storing some value of type `from` in a variable of type `to` is a violation.
pub(crate) fn conversion_can_fail(from: Type, to: Type) -> bool {
    matches!(to, Type::Range { .. }) && !(to.lo() <= from.lo() && from.hi() <= to.hi())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worklist_sweeps_in_order_and_wraps() {
        let mut work = Worklist::new((0..20_000).rev().collect());
        work.insert(3);
        work.insert(15_000);
        assert_eq!(work.pop(), Some(15_000));
        work.insert(19_999);
        work.insert(15_000);
        assert_eq!(work.pop(), Some(15_000));
        assert_eq!(work.pop(), Some(3));
        assert_eq!(work.pop(), Some(19_999));
        assert_eq!(work.pop(), None);
        work.insert_all();
        assert_eq!((0..30_000).filter_map(|_| work.pop()).count(), 20_000);
        assert_eq!(work.pop(), None);
    }
}
