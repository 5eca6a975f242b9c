//! Where the edges of the graph of heads come from.
//!
//! The relations of the crate `relations` are read from right to left: the values after a step are
//! known, and the values before it are asked for. No verdict depends on this: it only helps to find
//! a head upstream of another.

use droste_bdd::{Bdd, Var};
use droste_program::{NodeId, VarRef};
use droste_relations::{Action, Call, Copy, Result};

use crate::search::Search;

/// The heads at `from` from which an edge leads into `set`, a set of heads at `to`; `calls` says
/// whether calls that do not return are edges.
pub(crate) fn of(
    search: &mut Search<'_>,
    from: NodeId,
    to: NodeId,
    set: &Bdd,
    calls: bool,
) -> Result<Bdd> {
    let relation = search.relation(from)?;
    let mut found = search.nothing.clone();
    match &relation.action {
        Action::Steps(edges) => {
            for edge in edges.iter().filter(|edge| edge.to == to) {
                search.images += 1;
                found = found.or(&edge.before(&search.encoding, set)?)?;
            }
        }
        Action::Call(call) => {
            if call.back.to == to {
                search.images += 1;
                found = found.or(&summary(search, call, set)?)?;
            }
            if calls && search.program.procedure(call.callee).entry == to {
                search.images += 1;
                found = found.or(&entry(search, call, set)?)?;
            }
        }
        Action::Return(_) => {}
    }
    Ok(found)
}

fn summary(search: &Search<'_>, call: &Call, set: &Bdd) -> Result<Bdd> {
    let manager = &search.encoding.manager;
    let back = &call.back;
    let moves: Vec<(Var, Var)> = back.moves.iter().map(|&(from, to)| (to, from)).collect();
    let mut set = set.rename(&manager.renaming(&moves))?;
    if let Some((store, _)) = &back.store {
        // The next copies of the targets stand for what is stored here, and for the callee's exit
        // below.
        set = set.and_exists(store, &manager.cube(&back.targets)?)?;
    }
    let exits = search.exits[call.callee.0 as usize].rename(&search.encoding.leave)?;
    set = set.and(&exits)?;
    for argument in &call.arguments {
        set = set.and(argument)?;
    }
    let results = search.program.procedure(call.callee).results.len();
    let mut gone: Vec<Var> = search.encoding.nexts.vars();
    for i in 0..results {
        gone.extend(search.encoding.result_vars(call.callee, i));
    }
    set.exists(&manager.cube(&gone)?)
}

fn entry(search: &mut Search<'_>, call: &Call, set: &Bdd) -> Result<Bdd> {
    let identity = search.identity(call.callee)?;
    let manager = &search.encoding.manager;
    let mut current: Vec<Var> = search.encoding.current_locals.vars();
    for i in 0..search.program.globals.len() as u32 {
        let global = VarRef::Global(i);
        current.extend(search.encoding.vars(call.callee, global, Copy::Current));
    }
    let entry = set.and_exists(&identity, &manager.cube(&current)?)?;
    // Only entry copies are left: they are renamed to what the caller sees.
    let mut set = entry.rename(&search.encoding.leave)?;
    for argument in &call.arguments {
        set = set.and(argument)?;
    }
    set.exists(&search.encoding.next_locals)
}
