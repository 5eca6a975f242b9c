//! Which variable a slot of the Java machine is, at each place.
//!
//! Slots are used again for other variables. A *web* is a set of writes and reads of one slot that
//! belong together: a read, all writes that reach it, all other reads these reach, and so on. Each
//! web is one variable. Its name comes from the debug information of the class file. Names never
//! decide what a variable is, so wrong debug information cannot make a program wrong.
//!
//! Webs are found by union-find along the control flow. Where ways join, the writes that arrive
//! for a slot are united if the slot is live there.

use droste_pointer::Kind;
use rustc_hash::FxHashMap;

use crate::class::{Body, MethodInfo};
use crate::exceptions;
use crate::instruction::{Op, Slot};

/// Blocks times slots, beyond which a method is refused.
const LARGEST: usize = 1 << 26;

/// The control flow of a method.
pub(crate) struct Graph {
    /// For each block its first instruction; at the end the number of all.
    pub starts: Vec<usize>,
    /// Where control goes from a block, without exceptions.
    pub next: Vec<Vec<usize>>,
    /// Where exceptions in a block lead, in order, each with the class of exceptions that go there.
    pub handlers: Vec<Vec<(usize, Option<String>)>>,
    /// For each block: whether an exception may escape its handlers.
    pub escapes: Vec<bool>,
    /// For each block: whether a handler that the source names takes a stack overflow in it.
    pub takes_overflow: Vec<bool>,
    /// Where a block goes on if it uses null and a handler takes that.
    pub null: Vec<Option<usize>>,
    /// The block that begins at a position of the code.
    block_at: FxHashMap<u32, usize>,
}

impl Graph {
    /// Finds the blocks. Each instruction with handlers is a block of its own.
    pub(crate) fn new(body: &Body) -> Result<Graph, String> {
        let code = &body.instructions;
        if code.is_empty() {
            return Err("the code is empty".to_string());
        }
        let index: FxHashMap<u32, usize> = code
            .iter()
            .enumerate()
            .map(|(index, one)| (one.at, index))
            .collect();
        let find = |at: u32| {
            index
                .get(&at)
                .copied()
                .ok_or_else(|| format!("a jump to {at}, where no instruction is"))
        };
        let mut leader = vec![false; code.len()];
        leader[0] = true;
        let mut covered: Vec<Vec<(usize, Option<String>)>> = vec![Vec::new(); code.len()];
        let mut escapes = vec![true; code.len()];
        let mut takes_overflow = vec![false; code.len()];
        let mut null = vec![None; code.len()];
        for handler in &body.handlers {
            let target = find(handler.target)?;
            leader[target] = true;
            let from = code.partition_point(|one| one.at < handler.start);
            let to = code.partition_point(|one| one.at < handler.end);
            let class = handler.class.as_ref();
            let of_calls = class.is_none_or(|class| exceptions::is_of_calls(class));
            for at in from..to {
                leader[at] = true;
                // Also behind a `finally` further inside, which throws it once more.
                takes_overflow[at] |= handler.is_named && of_calls;
                if let Some(next) = leader.get_mut(at + 1) {
                    *next = true;
                }
                if !escapes[at] {
                    continue;
                }
                let is_null = class.is_none_or(|class| exceptions::is_of_null(class));
                if is_null && null[at].is_none() {
                    null[at] = Some(target);
                }
                let one = (target, handler.class.clone());
                if !covered[at].contains(&one) {
                    covered[at].push(one);
                    escapes[at] = handler.class.is_some();
                }
                if covered[at].len() > 64 {
                    return Err("more than 64 exception handlers for one instruction".to_string());
                }
            }
        }
        let mut targets: Vec<Vec<usize>> = vec![Vec::new(); code.len()];
        for (at, one) in code.iter().enumerate() {
            let falls = match &one.op {
                Op::Jump { target, .. } => {
                    targets[at].push(find(*target)?);
                    true
                }
                Op::Goto(target) => {
                    targets[at].push(find(*target)?);
                    false
                }
                Op::Switch { cases, default } => {
                    for &(_, target) in cases {
                        targets[at].push(find(target)?);
                    }
                    targets[at].push(find(*default)?);
                    targets[at].sort_unstable();
                    targets[at].dedup();
                    false
                }
                Op::Return { .. } | Op::Throw | Op::Subroutine => {
                    if let Some(next) = leader.get_mut(at + 1) {
                        *next = true;
                    }
                    continue;
                }
                _ => continue,
            };
            for &target in &targets[at] {
                leader[target] = true;
            }
            if let Some(next) = leader.get_mut(at + 1) {
                *next = true;
            }
            if falls && at + 1 < code.len() {
                targets[at].push(at + 1);
            }
        }
        let mut starts: Vec<usize> = (0..code.len()).filter(|&at| leader[at]).collect();
        let count = starts.len();
        let mut block_of = vec![0; code.len()];
        for (block, &start) in starts.iter().enumerate() {
            block_of[start] = block;
        }
        starts.push(code.len());
        let block_at = (0..count)
            .map(|block| (code[starts[block]].at, block))
            .collect();
        let mut graph = Graph {
            starts,
            next: Vec::with_capacity(count),
            handlers: Vec::with_capacity(count),
            escapes: Vec::with_capacity(count),
            takes_overflow: Vec::with_capacity(count),
            null: Vec::with_capacity(count),
            block_at,
        };
        for block in 0..count {
            let (first, last) = (graph.starts[block], graph.starts[block + 1] - 1);
            let ends = matches!(
                code[last].op,
                Op::Return { .. }
                    | Op::Throw
                    | Op::Subroutine
                    | Op::Goto(_)
                    | Op::Switch { .. }
                    | Op::Jump { .. }
            );
            let mut next: Vec<usize> = targets[last].iter().map(|&at| block_of[at]).collect();
            if !ends && last + 1 < code.len() {
                next.push(block + 1);
            }
            graph.next.push(next);
            let covered = std::mem::take(&mut covered[first]).into_iter();
            let covered = covered.map(|(at, class)| (block_of[at], class));
            graph.handlers.push(covered.collect());
            graph.escapes.push(escapes[first]);
            graph.takes_overflow.push(takes_overflow[first]);
            graph.null.push(null[first].map(|at| block_of[at]));
        }
        Ok(graph)
    }

    /// How many blocks there are.
    pub(crate) fn len(&self) -> usize {
        self.next.len()
    }

    /// The block that begins at this position, which is the target of a jump.
    pub(crate) fn block(&self, at: u32) -> usize {
        self.block_at.get(&at).copied().unwrap_or_default()
    }
}

/// A variable of a method.
#[derive(Clone, Debug)]
pub(crate) struct WebVariable {
    pub name: String,
    pub kind: Kind,
}

/// The variables of a method.
pub(crate) struct Webs {
    pub variables: Vec<WebVariable>,
    /// For each instruction that reads or writes a slot its variable, if the instruction can be
    /// reached and what it reads has been written.
    pub accesses: Vec<Option<usize>>,
    /// The variables of the receiver and the parameters.
    pub parameters: Vec<usize>,
}

/// What an instruction does with slots: which, whether it reads, whether it writes.
fn access(op: &Op) -> Option<(u16, bool, bool, Slot)> {
    let number = Slot {
        kind: Kind::Number,
        wide: false,
    };
    match *op {
        Op::Load(slot, what) => Some((slot, true, false, what)),
        Op::Store(slot, what) => Some((slot, false, true, what)),
        Op::Increment(slot) => Some((slot, true, true, number)),
        _ => None,
    }
}

struct Unions(Vec<u32>);

impl Unions {
    fn add(&mut self) -> u32 {
        self.0.push(self.0.len() as u32);
        self.0.len() as u32 - 1
    }

    fn find(&mut self, mut one: u32) -> u32 {
        while self.0[one as usize] != one {
            let above = self.0[self.0[one as usize] as usize];
            self.0[one as usize] = above;
            one = above;
        }
        one
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        // The older one stays, so that numbers do not depend on the order of the search.
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// Finds the variables.
pub(crate) fn webs(body: &Body, graph: &Graph, method: &MethodInfo) -> Result<Webs, String> {
    let code = &body.instructions;
    // Slots that are used at all get small numbers.
    let mut numbers: FxHashMap<u16, usize> = FxHashMap::default();
    let mut parameter_slots = Vec::new();
    let mut next_slot = 0u32;
    let this = Slot {
        kind: Kind::Reference,
        wide: false,
    };
    let receiver = (!method.is_static).then_some(this);
    let parameters = method.types.parameters.iter();
    for one in receiver.into_iter().chain(parameters.map(|p| Slot {
        kind: p.kind,
        wide: p.wide,
    })) {
        let slot = u16::try_from(next_slot).map_err(|_| "too many parameters".to_string())?;
        let number = numbers.len();
        numbers.insert(slot, number);
        parameter_slots.push((slot, one));
        next_slot += if one.wide { 2 } else { 1 };
    }
    for one in code {
        if let Some((slot, ..)) = access(&one.op) {
            let number = numbers.len();
            numbers.entry(slot).or_insert(number);
        }
    }
    let slots = numbers.len();
    if slots.saturating_mul(graph.len()) > LARGEST {
        return Err("the method is too large".to_string());
    }
    let live = liveness(body, graph, &numbers);

    let mut unions = Unions(Vec::new());
    // The web of each parameter, then of each instruction.
    let mut origins: Vec<u32> = parameter_slots.iter().map(|_| unions.add()).collect();
    origins.extend(code.iter().map(|_| unions.add()));
    let of_instruction = |at: usize| (parameter_slots.len() + at) as u32;

    let mut states: Vec<Option<Vec<Option<u32>>>> = vec![None; graph.len()];
    let mut first = vec![None; slots];
    for (at, _) in parameter_slots.iter().enumerate() {
        first[at] = Some(origins[at]);
    }
    states[0] = Some(first);
    let mut waiting = vec![0];
    let mut read: Vec<Option<u32>> = vec![None; code.len()];
    while let Some(block) = waiting.pop() {
        let mut state = states[block].clone().unwrap_or_default();
        let before = state.clone();
        for at in graph.starts[block]..graph.starts[block + 1] {
            let Some((slot, reads, writes, _)) = access(&code[at].op) else {
                continue;
            };
            let number = numbers[&slot];
            if reads {
                read[at] = state[number];
            }
            if writes {
                let own = of_instruction(at);
                if let (true, Some(old)) = (reads, state[number]) {
                    unions.unite(old, own);
                }
                state[number] = Some(own);
            }
        }
        let mut join = |target: usize, state: &[Option<u32>]| {
            let is_live = |slot: usize| live[target * slots + slot];
            match &mut states[target] {
                None => {
                    let entry = (0..slots).map(|slot| state[slot].filter(|_| is_live(slot)));
                    states[target] = Some(entry.collect());
                    waiting.push(target);
                }
                Some(entry) => {
                    let mut changed = false;
                    for slot in (0..slots).filter(|&slot| is_live(slot)) {
                        match (entry[slot], state[slot]) {
                            (Some(a), Some(b)) => unions.unite(a, b),
                            (Some(_), None) => {
                                entry[slot] = None;
                                changed = true;
                            }
                            (None, _) => {}
                        }
                    }
                    if changed {
                        waiting.push(target);
                    }
                }
            }
        };
        for &target in &graph.next[block] {
            join(target, &state);
        }
        for &(target, _) in &graph.handlers[block] {
            join(target, &before);
            join(target, &state);
        }
    }
    for (at, one) in read.iter().enumerate() {
        if let Some(web) = one {
            origins[parameter_slots.len() + at] = *web;
        }
    }
    let roots: Vec<u32> = origins.iter().map(|&one| unions.find(one)).collect();
    Ok(name(body, &parameter_slots, &roots, &read, &states, graph))
}

/// For each block and slot whether the slot is live at the beginning of the block.
fn liveness(body: &Body, graph: &Graph, numbers: &FxHashMap<u16, usize>) -> Vec<bool> {
    let slots = numbers.len();
    let code = &body.instructions;
    let mut uses = vec![false; graph.len() * slots];
    let mut defines = vec![false; graph.len() * slots];
    let mut predecessors = vec![Vec::new(); graph.len()];
    for block in 0..graph.len() {
        let base = block * slots;
        for one in &code[graph.starts[block]..graph.starts[block + 1]] {
            let Some((slot, reads, writes, _)) = access(&one.op) else {
                continue;
            };
            let slot = base + numbers[&slot];
            uses[slot] |= reads && !defines[slot];
            defines[slot] |= writes;
        }
        let handlers = graph.handlers[block].iter().map(|(target, _)| target);
        for &target in graph.next[block].iter().chain(handlers) {
            predecessors[target].push(block);
        }
    }
    let mut live = uses.clone();
    let mut waiting: Vec<usize> = (0..graph.len()).collect();
    let mut queued = vec![true; graph.len()];
    while let Some(block) = waiting.pop() {
        queued[block] = false;
        let mut changed = false;
        for slot in 0..slots {
            let at = block * slots + slot;
            if live[at] {
                continue;
            }
            let after = graph.next[block]
                .iter()
                .any(|&next| live[next * slots + slot]);
            let raised = graph.handlers[block]
                .iter()
                .any(|&(next, _)| live[next * slots + slot]);
            if (after && !defines[at]) || raised {
                live[at] = true;
                changed = true;
            }
        }
        if changed {
            for &block in &predecessors[block] {
                if !queued[block] {
                    queued[block] = true;
                    waiting.push(block);
                }
            }
        }
    }
    live
}

/// Of a web: its slot, what it holds, and its name.
type Found = (u16, Slot, Option<(String, Kind)>);

/// Names the webs. Webs of one slot and one name are one variable.
fn name(
    body: &Body,
    parameters: &[(u16, Slot)],
    roots: &[u32],
    read: &[Option<u32>],
    states: &[Option<Vec<Option<u32>>>],
    graph: &Graph,
) -> Webs {
    let code = &body.instructions;
    let mut by_slot: FxHashMap<u16, Vec<usize>> = FxHashMap::default();
    for (at, variable) in body.variables.iter().enumerate() {
        by_slot.entry(variable.slot).or_default().push(at);
    }
    let named = |slot: u16, at: u32| {
        let known = by_slot.get(&slot)?;
        known
            .iter()
            .map(|&one| &body.variables[one])
            .find(|one| one.start <= at && at < one.end)
    };
    let mut found: FxHashMap<u32, Found> = FxHashMap::default();
    let mut order = Vec::new();
    let mut note = |root: u32, slot: u16, what: Slot, name: Option<(String, Kind)>| {
        let entry = found.entry(root).or_insert_with(|| {
            order.push(root);
            (slot, what, None)
        });
        if entry.2.is_none() {
            entry.2 = name.filter(|&(_, kind)| {
                (kind == Kind::Reference) == (entry.1.kind == Kind::Reference)
            });
        }
    };
    let describe = |one: &crate::class::Variable| (one.name.clone(), one.one.kind);
    for (at, &(slot, what)) in parameters.iter().enumerate() {
        note(roots[at], slot, what, named(slot, 0).map(describe));
    }
    let mut reached = vec![false; code.len()];
    for block in (0..graph.len()).filter(|&block| states[block].is_some()) {
        reached[graph.starts[block]..graph.starts[block + 1]].fill(true);
    }
    for (at, one) in code.iter().enumerate().filter(|&(at, _)| reached[at]) {
        let Some((slot, reads, writes, what)) = access(&one.op) else {
            continue;
        };
        if reads && read[at].is_none() {
            continue;
        }
        // The range of a variable begins behind the instruction that writes it first.
        let after = code.get(at + 1).map(|next| next.at).filter(|_| writes);
        let known = after
            .and_then(|after| named(slot, after))
            .or_else(|| named(slot, one.at));
        note(
            roots[parameters.len() + at],
            slot,
            what,
            known.map(describe),
        );
    }
    let mut variables: Vec<WebVariable> = Vec::new();
    let mut same: FxHashMap<(u16, String, Kind), usize> = FxHashMap::default();
    let mut taken: FxHashMap<String, u32> = FxHashMap::default();
    let mut of_root: FxHashMap<u32, usize> = FxHashMap::default();
    for root in order {
        let (slot, what, known) = &found[&root];
        let (name, kind) = known
            .clone()
            .unwrap_or_else(|| (format!("${slot}"), what.kind));
        let variable = *same.entry((*slot, name.clone(), kind)).or_insert_with(|| {
            let times = taken.entry(name.clone()).or_insert(0);
            *times += 1;
            let name = if *times == 1 {
                name
            } else {
                format!("{name}#{times}")
            };
            variables.push(WebVariable { name, kind });
            variables.len() - 1
        });
        of_root.insert(root, variable);
    }
    let accesses = code
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let (_, reads, ..) = access(&one.op)?;
            if !reached[at] || (reads && read[at].is_none()) {
                return None;
            }
            of_root.get(&roots[parameters.len() + at]).copied()
        })
        .collect();
    let parameters = (0..parameters.len())
        .map(|at| of_root[&roots[at]])
        .collect();
    Webs {
        variables,
        accesses,
        parameters,
    }
}
