//! Fair cycles in the graph of heads, by diagrams.
//!
//! Basu, Narayan Kumar, Pokorny and Ramakrishnan, *Resource-Constrained Model Checking of Recursive
//! Programs* (TACAS 2002), section 2: there is an accepting run iff the R-graph has a reachable
//! cycle that meets the mark. The R-graph is the graph of heads (control, globals, locals of the
//! topmost frame, automaton). Its edges are steps and calls. A call that returns is one edge, a
//! summary, with the mark met inside. Steps and summaries keep the height of the stack (the paper's
//! 0-edges); calls that do not return are 1-edges. A cycle without 1-edges is one of bounded stack.
//!
//! The search has computed the reachable heads and the summaries. The paper then looks for
//! components, one head at a time. Here the graph stays implicit and its *hull* is computed
//! (Emerson and Lei, LICS 1986; the forward variant of Somenzi, Ravi, Bloem, *Analysis of Symbolic
//! SCC Hull Algorithms*, FMCAD 2002): the greatest set Z in which every head is reachable from a
//! marked edge whose source is in Z. Z is empty iff there is no fair cycle: from a head in Z one
//! can go back through marks for ever, and there are finitely many heads. The set of reachable
//! heads is closed under images. Hence so is each approximation of Z, and an image of Z never has
//! to be cut to Z.
//!
//! Between two rounds Z is *trimmed*: a head without a predecessor in Z goes. Done node by node in
//! the order of the control flow this takes one pass over code without loops, where the rounds of
//! Emerson and Lei would peel off one layer at a time.
//!
//! Finally a head on a fair cycle is picked. Every head of Z is downstream of a fair cycle. So if
//! the head that is picked is on none, the next one is picked upstream of it, as far as possible.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use droste_bdd::{Bdd, Cube, Var};
use droste_blast::decode;
use droste_program::{NodeId, Op, ProcId, Type, VarRef};
use droste_relations::{Action, Copy, Result, Resumed};

use super::preimage;
use super::product::{Head, Product, Role};
use crate::Runs;
use crate::control::postorder;
use crate::search::Search;

/// A set of heads for each node of the product; the mark is no part of them.
type Heads = Vec<Bdd>;

pub(crate) struct Hull<'s, 'a> {
    search: &'s mut Search<'a>,
    product: &'a Product,
    runs: Runs,
    /// The mark's bit in each procedure, to be forgotten and to be asked.
    marks: Vec<(Cube, Bdd)>,
    /// Nodes by their place in the control flow, callers before callees.
    order: Vec<u32>,
    rank: Vec<u32>,
    /// Nodes from which an edge of the graph of heads can lead to each.
    before: Vec<Vec<NodeId>>,
}

/// Nodes that wait, in the order of the control flow.
struct Agenda {
    heap: BinaryHeap<Reverse<u32>>,
    waits: Vec<bool>,
}

impl Agenda {
    fn new(nodes: usize) -> Self {
        Agenda {
            heap: BinaryHeap::new(),
            waits: vec![false; nodes],
        }
    }

    fn push(&mut self, rank: u32) {
        if !std::mem::replace(&mut self.waits[rank as usize], true) {
            self.heap.push(Reverse(rank));
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let Reverse(rank) = self.heap.pop()?;
        self.waits[rank as usize] = false;
        Some(rank)
    }
}

impl<'s, 'a> Hull<'s, 'a> {
    /// The search has come to its end.
    pub(crate) fn new(
        search: &'s mut Search<'a>,
        product: &'a Product,
        runs: Runs,
    ) -> Result<Self> {
        let program = &product.program;
        let manager = search.encoding.manager.clone();
        let mut marks = Vec::with_capacity(program.procedures.len());
        for i in 0..program.procedures.len() as u32 {
            let procedure = ProcId(i);
            let own = product.own_locals(procedure) as usize;
            // Procedures that nobody calls have been left out.
            let bits: Vec<Var> = if program.procedure(procedure).locals.len() > own {
                let mark = product.mark(procedure);
                search
                    .encoding
                    .vars(procedure, mark, Copy::Current)
                    .collect()
            } else {
                Vec::new()
            };
            let met = match bits[..] {
                [bit] => manager.var(bit)?,
                _ => manager.constant(false),
            };
            marks.push((manager.cube(&bits)?, met));
        }
        let edges = |node: u32, out: &mut Vec<u32>| {
            let op = &program.nodes[node as usize].op;
            op.for_each_next(|to| out.push(to.0));
            if let Op::Call { callee, .. } = op {
                out.push(program.procedure(*callee).entry.0);
            }
        };
        let first = program.procedure(program.main).entry;
        let mut order = postorder(first.0, edges);
        order.reverse();
        let mut rank = vec![u32::MAX; program.nodes.len()];
        let mut before = vec![Vec::new(); program.nodes.len()];
        for (i, &node) in order.iter().enumerate() {
            rank[node as usize] = i as u32;
            let op = &program.nodes[node as usize].op;
            op.for_each_next(|to| before[to.0 as usize].push(NodeId(node)));
            if let Op::Call { callee, .. } = op
                && runs == Runs::All
            {
                before[program.procedure(*callee).entry.0 as usize].push(NodeId(node));
            }
        }
        for list in &mut before {
            list.sort_unstable();
            list.dedup();
        }
        Ok(Hull {
            search,
            product,
            runs,
            marks,
            order,
            rank,
            before,
        })
    }

    fn none(&self) -> Heads {
        vec![self.search.nothing.clone(); self.product.program.nodes.len()]
    }

    /// A head on a fair cycle, if there is a fair cycle.
    pub(crate) fn find(&mut self) -> Result<Option<Head>> {
        let hull = self.fair()?;
        self.pick(&hull)
    }

    /// All reachable heads. Where control comes from one place only, the search has kept nothing;
    /// that place is earlier in the order, and what it leads to is computed again.
    fn reached(&mut self) -> Result<Heads> {
        let mut heads = self.none();
        for i in 0..self.order.len() {
            let node = NodeId(self.order[i]);
            let procedure = self.product.program.node(node).procedure;
            let set = if self.search.is_stored(node) {
                let pairs = &self.search.reached[node.0 as usize];
                let set = pairs.exists(&self.search.encoding.entries)?;
                set.exists(&self.marks[procedure.0 as usize].0)?
            } else {
                let mut set = self.search.nothing.clone();
                for k in 0..self.before[node.0 as usize].len() {
                    let from = self.before[node.0 as usize][k];
                    for (_, image) in self.images(from, &heads[from.0 as usize], Some(node))? {
                        set = set.or(&image)?;
                    }
                }
                set
            };
            heads[node.0 as usize] = set;
            self.search.housekeeping()?;
        }
        Ok(heads)
    }

    /// The hull; empty iff there is no fair cycle.
    fn fair(&mut self) -> Result<Heads> {
        let mut heads = self.reached()?;
        loop {
            self.trim(&mut heads)?;
            let mut marked = self.none();
            for i in 0..self.order.len() {
                let node = NodeId(self.order[i]);
                for (to, set) in self.marked_images(node, &heads[node.0 as usize])? {
                    let known = &mut marked[to.0 as usize];
                    *known = known.or(&set)?;
                }
            }
            let next = self.closure(marked)?;
            if next == heads {
                return Ok(heads);
            }
            heads = next;
        }
    }

    /// Drops heads without predecessors, again and again.
    fn trim(&mut self, heads: &mut Heads) -> Result<()> {
        let mut agenda = Agenda::new(self.order.len());
        for (rank, &node) in self.order.iter().enumerate() {
            if !heads[node as usize].is_false() {
                agenda.push(rank as u32);
            }
        }
        while let Some(rank) = agenda.pop() {
            let node = NodeId(self.order[rank as usize]);
            let old = heads[node.0 as usize].clone();
            let mut new = self.search.nothing.clone();
            for i in 0..self.before[node.0 as usize].len() {
                if new == old {
                    break;
                }
                let from = self.before[node.0 as usize][i];
                if heads[from.0 as usize].is_false() {
                    continue;
                }
                for (to, image) in self.images(from, &heads[from.0 as usize], Some(node))? {
                    debug_assert_eq!(to, node);
                    new = new.or(&image)?;
                }
            }
            // What is not reached from within goes; the rest was there before.
            let new = new.and(&old)?;
            if new != old {
                heads[node.0 as usize] = new;
                self.for_each_successor(node, |rank| agenda.push(rank));
            }
            self.search.housekeeping()?;
        }
        Ok(())
    }

    fn for_each_successor(&self, node: NodeId, mut f: impl FnMut(u32)) {
        let op = &self.product.program.node(node).op;
        op.for_each_next(|to| f(self.rank[to.0 as usize]));
        if let Op::Call { callee, .. } = op
            && self.runs == Runs::All
        {
            f(self.rank[self.product.program.procedure(*callee).entry.0 as usize]);
        }
    }

    /// Everything that can be reached from these heads, and they themselves.
    fn closure(&mut self, mut pending: Heads) -> Result<Heads> {
        let mut heads = self.none();
        let mut agenda = Agenda::new(self.order.len());
        for (rank, &node) in self.order.iter().enumerate() {
            if !pending[node as usize].is_false() {
                agenda.push(rank as u32);
            }
        }
        let nothing = self.search.nothing.clone();
        while let Some(rank) = agenda.pop() {
            let node = NodeId(self.order[rank as usize]);
            let i = node.0 as usize;
            let found = std::mem::replace(&mut pending[i], nothing.clone());
            let new = found.minus(&heads[i])?;
            if new.is_false() {
                continue;
            }
            heads[i] = heads[i].or(&new)?;
            for (to, image) in self.images(node, &new, None)? {
                if !image.implies_all(&heads[to.0 as usize])? {
                    let waiting = &mut pending[to.0 as usize];
                    *waiting = waiting.or(&image)?;
                    agenda.push(self.rank[to.0 as usize]);
                }
            }
            self.search.housekeeping()?;
        }
        Ok(heads)
    }

    /// Where the edges from these heads lead, with the mark as it then is; only to `target`, if
    /// there is one.
    fn steps(
        &mut self,
        node: NodeId,
        set: &Bdd,
        target: Option<NodeId>,
    ) -> Result<Vec<(NodeId, Bdd)>> {
        if set.is_false() {
            return Ok(Vec::new());
        }
        let wanted = |to: NodeId| target.is_none_or(|target| target == to);
        let relation = self.search.relation(node)?;
        let mut out = Vec::new();
        match &relation.action {
            Action::Steps(edges) => {
                for edge in edges.iter().filter(|edge| wanted(edge.to)) {
                    self.search.images += 1;
                    let image = edge.image(set)?;
                    out.push((edge.to, self.search.arrive(edge.to, &image)?));
                }
            }
            Action::Call(call) => {
                let callers = call.prepare(set)?;
                let first = self.product.program.procedure(call.callee).entry;
                if self.runs == Runs::All && wanted(first) {
                    self.search.images += 1;
                    let entry = call.entries(&self.search.encoding, &callers)?;
                    let pairs = entry.and(&self.search.identity(call.callee)?)?;
                    let pairs = self.search.arrive(first, &pairs)?;
                    out.push((first, pairs.exists(&self.search.encoding.entries)?));
                }
                if wanted(call.back.to) {
                    self.search.images += 1;
                    let exits = self.search.exits[call.callee.0 as usize].clone();
                    let resumed = call.resume(&self.search.encoding, &callers, &exits)?;
                    let Resumed::At(after) = resumed else {
                        unreachable!("violations are not asked for")
                    };
                    out.push((call.back.to, self.search.arrive(call.back.to, &after)?));
                }
            }
            Action::Return(_) => {}
        }
        Ok(out)
    }

    /// The image, whatever the mark is.
    fn images(
        &mut self,
        node: NodeId,
        set: &Bdd,
        target: Option<NodeId>,
    ) -> Result<Vec<(NodeId, Bdd)>> {
        let mut images = self.steps(node, set, target)?;
        for (to, image) in &mut images {
            let procedure = self.product.program.node(*to).procedure;
            *image = image.exists(&self.marks[procedure.0 as usize].0)?;
        }
        Ok(images)
    }

    /// The image under marked edges.
    fn marked_images(&mut self, node: NodeId, set: &Bdd) -> Result<Vec<(NodeId, Bdd)>> {
        let role = self.product.origin[node.0 as usize].role;
        if !matches!(role, Role::Read | Role::Merge) {
            return Ok(Vec::new());
        }
        let procedure = self.product.program.node(node).procedure;
        let (cube, met) = self.marks[procedure.0 as usize].clone();
        let mut images = self.steps(node, &set.and(&met.not())?, None)?;
        for (_, image) in &mut images {
            *image = image.and_exists(&met, &cube)?;
        }
        Ok(images)
    }

    /// Whether the head with these bits is on a fair cycle; if not, what can be reached from it.
    fn is_fair(&mut self, node: NodeId, head: &Bdd) -> Result<std::result::Result<(), Heads>> {
        let mut start = self.none();
        start[node.0 as usize] = head.clone();
        let reached = self.closure(start)?;
        let mut marked = self.none();
        for i in 0..self.order.len() {
            let node = NodeId(self.order[i]);
            for (to, set) in self.marked_images(node, &reached[node.0 as usize])? {
                let known = &mut marked[to.0 as usize];
                *known = known.or(&set)?;
            }
        }
        let after = self.closure(marked)?;
        if head.implies_all(&after[node.0 as usize])? {
            Ok(Ok(()))
        } else {
            Ok(Err(reached))
        }
    }

    /// A head on a fair cycle.
    fn pick(&mut self, hull: &Heads) -> Result<Option<Head>> {
        let is_position =
            |hull: &Self, node: NodeId| hull.product.origin[node.0 as usize].role == Role::Read;
        // Upstream first.
        let mut first = None;
        for &node in &self.order {
            let node = NodeId(node);
            if is_position(self, node) && !hull[node.0 as usize].is_false() {
                first = Some((node, hull[node.0 as usize].clone()));
                break;
            }
        }
        let Some(mut candidate) = first else {
            return Ok(None);
        };
        // What is downstream of a head on no fair cycle is not upstream of it.
        let mut left = hull.clone();
        loop {
            let (node, set) = candidate;
            let (head, bits) = self.single(node, &set)?;
            let reached = match self.is_fair(node, &bits)? {
                Ok(()) => return Ok(Some(head)),
                Err(reached) => reached,
            };
            for (left, reached) in left.iter_mut().zip(&reached) {
                *left = left.minus(reached)?;
            }
            let upstream = self.upstream(node, &bits, hull, &left)?;
            candidate = upstream.expect("every head of the hull is downstream of a fair cycle");
        }
    }

    /// Heads among those `left` from which the given one can be reached, by as many edges as
    /// possible.
    fn upstream(
        &mut self,
        node: NodeId,
        head: &Bdd,
        hull: &Heads,
        left: &Heads,
    ) -> Result<Option<(NodeId, Bdd)>> {
        let mut seen = self.none();
        seen[node.0 as usize] = head.clone();
        let mut layer = vec![(node, head.clone())];
        let mut best = None;
        while !layer.is_empty() {
            let mut next = self.none();
            for (to, set) in &layer {
                for i in 0..self.before[to.0 as usize].len() {
                    let from = self.before[to.0 as usize][i];
                    if hull[from.0 as usize].is_false() {
                        continue;
                    }
                    let calls = self.runs == Runs::All;
                    let set = preimage::of(self.search, from, *to, set, calls)?;
                    let procedure = self.product.program.node(from).procedure;
                    let set = set.exists(&self.marks[procedure.0 as usize].0)?;
                    let set = set.and(&hull[from.0 as usize])?;
                    let known = &mut next[from.0 as usize];
                    *known = known.or(&set)?;
                }
            }
            layer.clear();
            for (i, set) in next.into_iter().enumerate() {
                let new = set.minus(&seen[i])?;
                if new.is_false() {
                    continue;
                }
                seen[i] = seen[i].or(&new)?;
                if self.product.origin[i].role == Role::Read {
                    let usable = new.and(&left[i])?;
                    if !usable.is_false() {
                        best = Some((NodeId(i as u32), usable));
                    }
                }
                layer.push((NodeId(i as u32), new));
            }
            self.search.housekeeping()?;
        }
        Ok(best)
    }

    /// One head of a set: its values, and itself as a set.
    fn single(&mut self, node: NodeId, set: &Bdd) -> Result<(Head, Bdd)> {
        let product = self.product;
        let program = &product.program;
        let procedure = program.node(node).procedure;
        let globals = (0..program.globals.len() as u32).map(VarRef::Global);
        let locals = (0..product.own_locals(procedure)).map(VarRef::Local);
        let outermost = product.is_outermost(node);
        let touches = |var: VarRef| match var {
            VarRef::Global(i) => self.search.scope.effects.touches(procedure, i),
            VarRef::Local(_) => true,
        };
        let vars: Vec<VarRef> = globals
            .chain(locals)
            .filter(|&var| self.search.scope.keeps(node, var) && (outermost || touches(var)))
            .collect();
        let bits: Vec<Var> = vars
            .iter()
            .flat_map(|&var| self.search.encoding.vars(procedure, var, Copy::Current))
            .collect();
        let picked = set.pick(&bits).expect("the set has a member");
        let manager = self.search.encoding.manager.clone();
        let head = manager.minterm(bits.iter().copied().zip(picked.iter().copied()))?;
        let mut values = Vec::new();
        let mut state = 0;
        let mut place = 0;
        for &var in &vars {
            let ty: Type = program.variable(procedure, var).ty;
            let width = self
                .search
                .encoding
                .vars(procedure, var, Copy::Current)
                .count();
            let code = picked[place..place + width].iter().enumerate();
            let code = code.fold(0u64, |code, (k, &bit)| code | u64::from(bit) << k);
            place += width;
            if let Some(bit) = product.state.iter().position(|&bit| bit == var) {
                state |= (code as u32) << bit;
            } else if touches(var) {
                values.push((var, decode(ty, code)));
            }
        }
        let head_state = Head {
            outermost,
            node: product.origin[node.0 as usize].node,
            state,
            values,
        };
        Ok((head_state, head))
    }
}
