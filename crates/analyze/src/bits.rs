//! Live variables and unassigned variables, by gen/kill bit vectors.
//!
//! *Live* at a statement: on some path from there the variable is read before it is assigned. This
//! analysis goes against the flow of control, so weights are extended in the opposite order.
//!
//! *Unassigned* at a statement: on some path to there nothing has been assigned to the variable
//! since it came into being. A global comes into being at the start of the program, a local when its
//! procedure is entered or its declaration is passed. A parameter is assigned by the call.

use droste_base::{Limits, StopReason};
use droste_pds::domains::{GenKill, Transformer};
use droste_program::{Expr, Node, Op, Program, VarRef};

use crate::flow::{Flow, Passing, Semantics, Slots};
use crate::mention::{reads, reads_after_return};
use crate::{Fact, nodes, visible};

/// The live variables at each node.
pub(crate) fn live(program: &Program, limits: &Limits) -> Result<Vec<Option<Fact>>, StopReason> {
    let slots = Slots::new(program);
    let flow = Flow::new(program, slots, &Live { slots }, limits)?;
    let weights = flow.onward(limits)?;
    let nothing = vec![0; (slots.count() as usize).div_ceil(64)];
    let facts = nodes(program).zip(weights).map(|(id, weight)| {
        let set = flow.domain().apply(&weight?, &nothing)?;
        let live = visible(program, id).filter(|&var| is_set(&set, slots.of(var)));
        Some(Fact::Live(live.collect()))
    });
    Ok(facts.collect())
}

/// The variables that may be unassigned at each node.
pub(crate) fn unassigned(
    program: &Program,
    limits: &Limits,
) -> Result<Vec<Option<Fact>>, StopReason> {
    let slots = Slots::new(program);
    let flow = Flow::new(program, slots, &Unassigned { program, slots }, limits)?;
    let weights = flow.forward(limits)?;
    let main = program.procedure(program.main);
    let mut start = vec![0; (slots.count() as usize).div_ceil(64)];
    let params = slots.locals().take(main.params as usize);
    for slot in (0..slots.count()).filter(|slot| !params.clone().any(|param| param == *slot)) {
        start[slot as usize / 64] |= 1u64 << (slot % 64);
    }
    let facts = nodes(program).zip(weights).map(|(id, weight)| {
        let set = flow.domain().apply(&weight?, &start)?;
        let all = visible(program, id).filter(|&var| is_set(&set, slots.of(var)));
        let variables: Vec<VarRef> = all.collect();
        let mut read = Vec::new();
        let node = program.node(id);
        reads(node, |var| read.push(var));
        read.sort_unstable();
        read.dedup();
        read.retain(|var| variables.contains(var));
        Some(Fact::Unassigned { variables, read })
    });
    Ok(facts.collect())
}

fn is_set(set: &[u64], slot: u32) -> bool {
    set[slot as usize / 64] >> (slot % 64) & 1 == 1
}

/// The slots that something calls its function with.
fn collected(slots: Slots, each: impl FnOnce(&mut dyn FnMut(VarRef))) -> Vec<u32> {
    let mut found = Vec::new();
    each(&mut |var| found.push(slots.of(var)));
    found
}

struct Live {
    slots: Slots,
}

impl Live {
    fn bits(&self) -> GenKill {
        GenKill::backward(self.slots.count())
    }
}

impl Semantics for Live {
    type Domain = GenKill;

    fn domain(&self) -> GenKill {
        self.bits()
    }

    fn step(&self, node: &Node, _: Option<(&Expr, bool)>) -> Option<Transformer> {
        let written = collected(self.slots, |f| node.op.for_each_written(f));
        let read = collected(self.slots, |f| reads(node, f));
        Some(self.bits().of(written, read))
    }

    fn call(&self, node: &Node) -> Passing<Transformer> {
        let read = collected(self.slots, |f| reads(node, f));
        Passing {
            before: self.bits().of([], read),
            // What is in the callee's frame was not in the caller's.
            enter: self
                .bits()
                .of(self.slots.locals().chain(self.slots.results()), []),
        }
    }

    fn store(&self, node: &Node) -> Transformer {
        let written = collected(self.slots, |f| node.op.for_each_written(f));
        let read = collected(self.slots, |f| reads_after_return(node, f));
        self.bits().of(written, read)
    }

    fn give_back(&self, node: &Node, _: &[Expr]) -> Transformer {
        let read = collected(self.slots, |f| reads(node, f));
        self.bits()
            .of(self.slots.locals().chain(self.slots.results()), read)
    }
}

struct Unassigned<'a> {
    program: &'a Program,
    slots: Slots,
}

impl Unassigned<'_> {
    fn bits(&self) -> GenKill {
        GenKill::new(self.slots.count())
    }
}

impl Semantics for Unassigned<'_> {
    type Domain = GenKill;

    fn domain(&self) -> GenKill {
        self.bits()
    }

    fn step(&self, node: &Node, _: Option<(&Expr, bool)>) -> Option<Transformer> {
        let written = collected(self.slots, |f| node.op.for_each_written(f));
        // A declaration.
        if node.silent {
            return Some(self.bits().of([], written));
        }
        Some(self.bits().of(written, []))
    }

    fn call(&self, node: &Node) -> Passing<Transformer> {
        let params = match node.op {
            Op::Call { callee, .. } => self.program.procedure(callee).params,
            _ => 0,
        };
        let (params, others): (Vec<u32>, Vec<u32>) =
            (self.slots.locals()).partition(|slot| slot - self.slots.globals().end < params);
        Passing {
            before: self.bits().of([], []),
            enter: self.bits().of(params, others),
        }
    }

    fn store(&self, node: &Node) -> Transformer {
        let written = collected(self.slots, |f| node.op.for_each_written(f));
        self.bits().of(written, [])
    }

    fn give_back(&self, _: &Node, _: &[Expr]) -> Transformer {
        self.bits().of([], [])
    }
}
