//! The search for a shortest run: everything found in one round takes one more step in the next.

use droste_bdd::Bdd;
use droste_program::{NodeId, ProcId};
use droste_relations::{Action, Call, Result, Resumed};
use rustc_hash::FxHashMap;

use super::layers::{Goal, Log};
use crate::search::Search;

pub(super) struct Rounds<'s, 'a> {
    pub(super) search: &'s mut Search<'a>,
    pub(super) log: Log,
    /// Per procedure, what its returns leave with, for callers that may refuse them.
    pub(super) leaves: Vec<Bdd>,
    /// The search gives up when operations have taken this number of steps.
    pub(super) last_step: u64,
}

impl Rounds<'_, '_> {
    /// One round after another until a target is met, or it has taken too long.
    pub(super) fn run(&mut self) -> Result<Option<(u64, Goal)>> {
        let program = self.search.program;
        let nothing = self.search.nothing.clone();
        let main = program.procedure(program.main).entry;
        let initial = self.search.initial()?;
        // What was new in the last round: pairs by node, exits by procedure.
        let mut new: Vec<(NodeId, Bdd)> = Vec::new();
        let mut new_exits: Vec<(ProcId, Bdd)> = Vec::new();
        let mut found: FxHashMap<NodeId, Bdd> = FxHashMap::default();
        found.insert(main, initial);
        let mut found_exits: FxHashMap<ProcId, Bdd> = FxHashMap::default();
        for round in 0u64.. {
            // What was found becomes known.
            new.clear();
            new_exits.clear();
            let mut order: Vec<NodeId> = found.keys().copied().collect();
            order.sort_unstable();
            for node in order {
                let set = &found[&node];
                if let Some(set) = self.log.nodes[node.0 as usize].add(round, set, &nothing)? {
                    if let Some(goal) = self.search.meets(node, &set)? {
                        return Ok(Some((round, goal)));
                    }
                    new.push((node, set));
                }
            }
            let mut order: Vec<ProcId> = found_exits.keys().copied().collect();
            order.sort_unstable();
            for procedure in order {
                let set = &found_exits[&procedure];
                let layers = &mut self.log.exits[procedure.0 as usize];
                if let Some(set) = layers.add(round, set, &nothing)? {
                    new_exits.push((procedure, set));
                }
            }
            found.clear();
            found_exits.clear();
            self.search.encoding.manager.check_limits()?;
            let mut find = |node: NodeId, set: Bdd| -> Result<()> {
                if !set.is_false() {
                    let known = found.entry(node).or_insert_with(|| nothing.clone());
                    *known = known.or(&set)?;
                }
                Ok(())
            };
            for (node, set) in &new {
                if self.search.encoding.manager.steps() > self.last_step {
                    return Ok(None);
                }
                let relation = self.search.relation(*node)?;
                for (violation, failure) in &relation.failures {
                    let failing = set.and(failure)?;
                    if !failing.is_false() {
                        return Ok(Some((round, Goal::Fails(*node, *violation, failing))));
                    }
                }
                if let Some(stuck) = &relation.stuck {
                    let stuck = set.and(stuck)?;
                    if !stuck.is_false() {
                        return Ok(Some((round, Goal::Stuck(*node, stuck))));
                    }
                }
                match &relation.action {
                    Action::Steps(edges) => {
                        for edge in edges {
                            let image = edge.image(set)?;
                            find(edge.to, self.search.arrive(edge.to, &image)?)?;
                        }
                    }
                    Action::Return(parts) => {
                        let procedure = program.node(*node).procedure;
                        let leaving = relation.leaving.as_deref();
                        if let Some(goal) = self.leave(procedure, leaving, set, round)? {
                            return Ok(Some((round, goal)));
                        }
                        let exits = self.search.exits_of(procedure, parts, set)?;
                        let known = found_exits
                            .entry(procedure)
                            .or_insert_with(|| nothing.clone());
                        *known = known.or(&exits)?;
                    }
                    Action::Call(call) => {
                        let callers = call.prepare(set)?;
                        let entry = call.entries(&self.search.encoding, &callers)?;
                        let pairs = entry.and(&self.search.identity(call.callee)?)?;
                        let first = program.procedure(call.callee).entry;
                        find(first, self.search.arrive(first, &pairs)?)?;
                        let leaves = &self.leaves[call.callee.0 as usize];
                        let goal = self.search.refused(*node, call, &callers, leaves)?;
                        if let Some(goal) = goal {
                            return Ok(Some((round, goal)));
                        }
                        // New callers, all exits known.
                        let exits = self.log.exits[call.callee.0 as usize].up_to(round).cloned();
                        if let Some(exits) = exits
                            && let Some(goal) =
                                self.join(*node, call, &callers, &exits, &mut find)?
                        {
                            return Ok(Some((round, goal)));
                        }
                    }
                }
            }
            // Callers known, new exits.
            for (procedure, exits) in &new_exits {
                for node in self.search.callers[procedure.0 as usize].clone() {
                    let Some(callers) = self.log.nodes[node.0 as usize].up_to(round).cloned()
                    else {
                        continue;
                    };
                    let relation = self.search.relation(node)?;
                    let Action::Call(call) = &relation.action else {
                        continue;
                    };
                    let callers = call.prepare(&callers)?;
                    if let Some(goal) = self.join(node, call, &callers, exits, &mut find)? {
                        return Ok(Some((round, goal)));
                    }
                }
            }
        }
        unreachable!("there is a target to be found")
    }

    /// These pairs return; whether a caller known so far refuses that.
    fn leave(
        &mut self,
        procedure: ProcId,
        leaving: Option<&[Bdd]>,
        set: &Bdd,
        round: u64,
    ) -> Result<Option<Goal>> {
        let leaves = self.search.leaves_of(procedure, leaving, set)?;
        if leaves.is_false() {
            return Ok(None);
        }
        let known = &mut self.leaves[procedure.0 as usize];
        *known = known.or(&leaves)?;
        for node in self.search.callers[procedure.0 as usize].clone() {
            let Some(callers) = self.log.nodes[node.0 as usize].up_to(round).cloned() else {
                continue;
            };
            let relation = self.search.relation(node)?;
            if let Action::Call(call) = &relation.action {
                let callers = call.prepare(&callers)?;
                let goal = self.search.refused(node, call, &callers, &leaves)?;
                if goal.is_some() {
                    return Ok(goal);
                }
            }
        }
        Ok(None)
    }

    fn join(
        &mut self,
        node: NodeId,
        call: &Call,
        callers: &Bdd,
        exits: &Bdd,
        find: &mut dyn FnMut(NodeId, Bdd) -> Result<()>,
    ) -> Result<Option<Goal>> {
        let after = match call.resume(&self.search.encoding, callers, exits)? {
            Resumed::Fails {
                violation, failure, ..
            } => return Ok(Some(Goal::FailsAfter(node, violation, failure))),
            Resumed::At(after) => after,
        };
        find(call.back.to, self.search.arrive(call.back.to, &after)?)?;
        Ok(None)
    }
}
