//! A concrete run to a target, shortest by rounds.
//!
//! A second search goes in rounds: everything found in one round takes one more step in the next, and what
//! is new at a node in a round is remembered as a layer. The first round that meets a target ends it.
//! Walking back from there, a pair found in round *t* has a predecessor found in round *t* − 1, for a return
//! the caller or the exit; a state is picked, its predecessors are computed for that one state, and so on
//! to the entry. Inside a summary the same walk leads from the exit to the callee's
//! entry. GETAFIX had no traces.
//!
//! What a call does inside is walked once for each exit met, however often it is used, so that a run of exponentially many
//! steps still has a small trace. The walk costs a few operations on almost constant
//! diagrams per step. The result is made concrete in the program as written and replayed.

use std::rc::Rc;

use droste_base::{CallId, Position, Run, RunId, Trace, Via};
use droste_bdd::{Bdd, Var};
use droste_blast::decode;
use droste_lang::program::{NodeId, Op, ProcId, Type, VarRef, Violation};
use rustc_hash::FxHashMap;

use crate::encode::{Copy, Result};
use crate::relation::{Action, Call, Edge, Relation};
use crate::search::Search;
use crate::{Place, Stats, Valued};

/// What was new in a round, and everything up to then.
#[derive(Clone)]
struct Layer {
    round: u32,
    new: Bdd,
    all: Bdd,
}

/// Layers of a node or of a procedure's exits, by round.
#[derive(Clone, Default)]
struct Layers(Vec<Layer>);

impl Layers {
    /// What was found in exactly this round.
    fn at(&self, round: u32) -> Option<&Bdd> {
        let i = self
            .0
            .binary_search_by_key(&round, |layer| layer.round)
            .ok()?;
        Some(&self.0[i].new)
    }

    /// What was found up to this round.
    fn up_to(&self, round: u32) -> Option<&Bdd> {
        let i = self.0.partition_point(|layer| layer.round <= round);
        Some(&self.0[i.checked_sub(1)?].all)
    }

    /// The round in which this was found.
    fn round_of(&self, values: &Values) -> u32 {
        let i = self
            .0
            .partition_point(|layer| !layer.all.eval(|var| values.get(var)));
        self.0[i].round
    }

    /// Adds what is new of `set`, if anything.
    fn add(&mut self, round: u32, set: &Bdd, nothing: &Bdd) -> Result<Option<Bdd>> {
        let known = self.0.last().map_or(nothing, |layer| &layer.all);
        let new = set.minus(known)?;
        if new.is_false() {
            return Ok(None);
        }
        let all = known.or(&new)?;
        self.0.push(Layer {
            round,
            new: new.clone(),
            all,
        });
        Ok(Some(new))
    }
}

/// An assignment to variables of the diagrams.
#[derive(Clone, Debug, Default)]
struct Values(FxHashMap<Var, bool>);

impl Values {
    fn get(&self, var: Var) -> bool {
        self.0.get(&var).copied().unwrap_or(false)
    }
}

/// How the target was met.
enum Goal {
    /// Control is there.
    At(NodeId),
    /// Executing the node fails.
    Fails(NodeId, Violation, Bdd),
    /// Storing the results of the call fails: the failure, over what is left after the join.
    FailsAfter(NodeId, Violation, Bdd),
}

struct Rounds<'s, 'a> {
    search: &'s mut Search<'a>,
    nodes: Vec<Layers>,
    exits: Vec<Layers>,
    /// Exits met while walking back, and the runs behind them.
    facts: FxHashMap<(ProcId, Vec<bool>), u32>,
    goals: Vec<(ProcId, Values, u32)>,
}

/// A shortest run to a target. The search has found that there is one.
pub(crate) fn shortest(mut search: Search<'_>, stats: &mut Stats) -> Result<Trace<Valued>> {
    search.forget();
    let nodes = vec![Layers::default(); search.program.nodes.len()];
    let exits = vec![Layers::default(); search.program.procedures.len()];
    let mut rounds = Rounds {
        search: &mut search,
        nodes,
        exits,
        facts: FxHashMap::default(),
        goals: Vec::new(),
    };
    let (round, goal) = rounds.run()?;
    stats.rounds = u64::from(round);
    let trace = rounds.walk(round, &goal)?;
    search.count(stats);
    Ok(trace)
}

impl Rounds<'_, '_> {
    /// One round after another until a target is met.
    fn run(&mut self) -> Result<(u32, Goal)> {
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
        for round in 0.. {
            // What was found becomes known.
            new.clear();
            new_exits.clear();
            let mut order: Vec<NodeId> = found.keys().copied().collect();
            order.sort_unstable();
            for node in order {
                let set = &found[&node];
                if let Some(set) = self.nodes[node.0 as usize].add(round, set, &nothing)? {
                    if self.search.is_target(node) {
                        return Ok((round, Goal::At(node)));
                    }
                    new.push((node, set));
                }
            }
            let mut order: Vec<ProcId> = found_exits.keys().copied().collect();
            order.sort_unstable();
            for procedure in order {
                let set = &found_exits[&procedure];
                let layers = &mut self.exits[procedure.0 as usize];
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
                let relation = self.search.relation(*node)?;
                for (violation, failure) in &relation.failures {
                    if !set.and(failure)?.is_false() {
                        return Ok((round, Goal::Fails(*node, *violation, failure.clone())));
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
                        let exits = self.search.exits_of(procedure, parts, set)?;
                        let known = found_exits
                            .entry(procedure)
                            .or_insert_with(|| nothing.clone());
                        *known = known.or(&exits)?;
                    }
                    Action::Call(call) => {
                        let callers = call.prepare(set)?;
                        let entry = callers.exists(&call.not_entry)?;
                        let entry = entry.rename(&self.search.encoding.enter)?;
                        let pairs = entry.and(&self.search.identity(call.callee)?)?;
                        let first = program.procedure(call.callee).entry;
                        find(first, self.search.arrive(first, &pairs)?)?;
                        // New callers, all exits known.
                        let exits = self.exits[call.callee.0 as usize].up_to(round).cloned();
                        if let Some(exits) = exits
                            && let Some(goal) =
                                self.join(*node, call, &callers, &exits, &mut find)?
                        {
                            return Ok((round, goal));
                        }
                    }
                }
            }
            // Callers known, new exits.
            for (procedure, exits) in &new_exits {
                for node in self.search.callers[procedure.0 as usize].clone() {
                    let Some(callers) = self.nodes[node.0 as usize].up_to(round).cloned() else {
                        continue;
                    };
                    let relation = self.search.relation(node)?;
                    let Action::Call(call) = &relation.action else {
                        continue;
                    };
                    let callers = call.prepare(&callers)?;
                    if let Some(goal) = self.join(node, call, &callers, exits, &mut find)? {
                        return Ok((round, goal));
                    }
                }
            }
        }
        unreachable!("there is a target to be found")
    }

    fn join(
        &mut self,
        node: NodeId,
        call: &Call,
        callers: &Bdd,
        exits: &Bdd,
        find: &mut dyn FnMut(NodeId, Bdd) -> Result<()>,
    ) -> Result<Option<Goal>> {
        let exits = exits.rename(&self.search.encoding.leave)?;
        let joined = call.back.join(callers, &exits)?;
        for (violation, failure) in &call.back.failures {
            if !joined.and(failure)?.is_false() {
                return Ok(Some(Goal::FailsAfter(node, *violation, failure.clone())));
            }
        }
        let after = call.back.finish(&joined)?;
        find(call.back.to, self.search.arrive(call.back.to, &after)?)?;
        Ok(None)
    }

    fn walk(&mut self, round: u32, goal: &Goal) -> Result<Trace<Valued>> {
        // The main path, backwards: positions with the edge that leads to each.
        let mut path: Vec<Position<Valued>> = Vec::new();
        let (mut node, mut values, mut round) = match goal {
            Goal::At(node) => {
                let set = self.nodes[node.0 as usize]
                    .at(round)
                    .expect("met in this round");
                let values = Self::pick(set);
                (*node, values, round)
            }
            Goal::Fails(node, violation, failure) => {
                let set = self.nodes[node.0 as usize]
                    .at(round)
                    .expect("met in this round");
                let values = Self::pick(&set.and(failure)?);
                let mut state = self.valued(*node, &values);
                state.place = Place::Failed(*node, *violation);
                path.push(Position {
                    via: Via::Step,
                    state,
                });
                (*node, values, round)
            }
            Goal::FailsAfter(node, violation, failure) => {
                let (values, fact) = self.joined(*node, None, Some(failure), round + 1)?;
                let mut state = self.valued(*node, &values);
                state.place = Place::Failed(*node, *violation);
                // What the call has changed is not the caller's old value.
                state.globals.fill(None);
                let Op::Call { targets, .. } = &self.search.program.node(*node).op else {
                    unreachable!("a call");
                };
                for target in targets.iter().flatten() {
                    if let VarRef::Local(i) = target {
                        state.locals[*i as usize] = None;
                    }
                }
                path.push(Position {
                    via: Via::Summary(CallId(0), RunId(fact)),
                    state,
                });
                let round = self.nodes[node.0 as usize].round_of(&values);
                (*node, values, round)
            }
        };
        loop {
            let state = self.valued(node, &values);
            let entry = self
                .search
                .program
                .procedure(self.search.program.node(node).procedure);
            let step = self.back(node, &values, round)?;
            let via = match step {
                Some(Step { via, .. }) => via,
                None if node == entry.entry => Via::Start,
                None => unreachable!("a pair has a predecessor"),
            };
            path.push(Position { via, state });
            let Some(step) = step else { break };
            (node, values, round) = (step.node, step.values, step.round);
        }
        path.reverse();
        let runs = self.runs()?;
        Ok(self.number(Trace {
            runs,
            positions: path,
            cycle: None,
        }))
    }

    /// The runs behind all exits met, in the order in which they were met.
    fn runs(&mut self) -> Result<Vec<Run<Valued>>> {
        let mut runs = Vec::new();
        while runs.len() < self.goals.len() {
            let (procedure, exit, round) = self.goals[runs.len()].clone();
            let (mut node, mut values) = self.before_exit(procedure, &exit, round)?;
            let mut round = round - 1;
            let mut positions = Vec::new();
            loop {
                let state = self.valued(node, &values);
                // Within the procedure: the walk ends at the entry.
                let step = if self.is_entry(node, &values) {
                    None
                } else {
                    self.back(node, &values, round)?
                };
                let via = step.as_ref().map_or(Via::Start, |step| step.via);
                positions.push(Position { via, state });
                match step {
                    Some(step) => (node, values, round) = (step.node, step.values, step.round),
                    None => break,
                }
            }
            positions.reverse();
            let exit = self.exit_state(procedure, &exit);
            runs.push(Run { positions, exit });
        }
        Ok(runs)
    }

    /// Runs get numbers such that each refers to smaller ones: the round of the exit is such an order.
    fn number(&self, trace: Trace<Valued>) -> Trace<Valued> {
        let mut order: Vec<usize> = (0..trace.runs.len()).collect();
        order.sort_by_key(|&i| self.goals[i].2);
        let mut number = vec![0u32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old] = new as u32;
        }
        let renumber = |positions: &mut Vec<Position<Valued>>| {
            for position in positions {
                if let Via::Summary(call, run) = position.via {
                    position.via = Via::Summary(call, RunId(number[run.0 as usize]));
                }
            }
        };
        let Trace {
            runs,
            mut positions,
            cycle,
        } = trace;
        renumber(&mut positions);
        let mut runs: Vec<Option<Run<Valued>>> = runs.into_iter().map(Some).collect();
        let runs = order
            .iter()
            .filter_map(|&old| runs[old].take())
            .map(|mut run| {
                renumber(&mut run.positions);
                run
            })
            .collect();
        Trace {
            runs,
            positions,
            cycle,
        }
    }

    /// All variables of the diagrams that a set can mention, with the values of one member.
    fn pick(set: &Bdd) -> Values {
        let vars = set.support();
        let picked = set.pick(&vars).expect("the set has a member");
        Values(vars.into_iter().zip(picked).collect())
    }

    fn value(&self, procedure: ProcId, var: VarRef, ty: Type, copy: Copy, values: &Values) -> i128 {
        let bits = self.search.encoding.vars(procedure, var, copy);
        decode(ty, code(bits, values))
    }

    /// The state at a node, with the values that matter there.
    fn valued(&self, node: NodeId, values: &Values) -> Valued {
        let program = self.search.program;
        let procedure = program.node(node).procedure;
        let one = |var: VarRef| {
            let ty = program.variable(procedure, var).ty;
            let known = self.search.live.live(node, var) && self.is_inside(procedure, var);
            known.then(|| self.value(procedure, var, ty, Copy::Current, values))
        };
        let globals = (0..program.globals.len() as u32).map(|i| one(VarRef::Global(i)));
        let locals = program.procedure(procedure).locals.len() as u32;
        Valued {
            place: Place::At(node),
            globals: globals.collect(),
            locals: (0..locals).map(|i| one(VarRef::Local(i))).collect(),
        }
    }

    /// Whether sets inside a procedure know about the variable at all.
    fn is_inside(&self, procedure: ProcId, var: VarRef) -> bool {
        match var {
            VarRef::Global(i) => {
                procedure == self.search.program.main || self.search.effects.touches(procedure.0, i)
            }
            VarRef::Local(_) => true,
        }
    }

    fn exit_state(&self, procedure: ProcId, values: &Values) -> Valued {
        let program = self.search.program;
        let globals = (0..program.globals.len() as u32).map(|i| {
            let known = self.search.live.live_at_exit(procedure, i)
                && self.search.effects.touches(procedure.0, i);
            let ty = program.globals[i as usize].ty;
            known.then(|| self.value(procedure, VarRef::Global(i), ty, Copy::Current, values))
        });
        let globals = globals.collect();
        let results = program.procedure(procedure).results.iter().enumerate();
        let results = results.map(|(i, &ty)| {
            let bits = self.search.encoding.result_vars(procedure, i);
            Some(decode(ty, code(bits, values)))
        });
        Valued {
            place: Place::Exit(procedure),
            globals,
            locals: results.collect(),
        }
    }
}

fn code(bits: impl Iterator<Item = Var>, values: &Values) -> u64 {
    bits.enumerate()
        .fold(0, |code, (k, var)| code | u64::from(values.get(var)) << k)
}

/// One step back.
struct Step {
    node: NodeId,
    values: Values,
    round: u32,
    via: Via,
}

impl Rounds<'_, '_> {
    /// Bits that the set at a node distinguishes: entry copies of what enters, and current copies of what
    /// is kept, as literals of one state.
    fn literals(&self, node: NodeId, values: &Values) -> Vec<(Var, bool)> {
        let procedure = self.search.program.node(node).procedure;
        let mut literals = self.entry_literals(procedure, values);
        for var in self.vars(procedure) {
            if self.search.keeps(node, var) && self.is_inside(procedure, var) {
                let bits = self.search.encoding.vars(procedure, var, Copy::Current);
                literals.extend(bits.map(|bit| (bit, values.get(bit))));
            }
        }
        literals
    }

    fn vars(&self, procedure: ProcId) -> impl Iterator<Item = VarRef> + use<> {
        let globals = self.search.program.globals.len() as u32;
        let locals = self.search.program.procedure(procedure).locals.len() as u32;
        (0..globals)
            .map(VarRef::Global)
            .chain((0..locals).map(VarRef::Local))
    }

    /// Whether entry values are part of the sets of a procedure.
    fn has_entry(&self, procedure: ProcId) -> bool {
        procedure != self.search.program.main
            || !self.search.callers[procedure.0 as usize].is_empty()
    }

    fn entry_literals(&self, procedure: ProcId, values: &Values) -> Vec<(Var, bool)> {
        if !self.has_entry(procedure) {
            return Vec::new();
        }
        let mut literals = Vec::new();
        for var in self.vars(procedure) {
            if self.search.enters(procedure, var) {
                let bits = self.search.encoding.vars(procedure, var, Copy::Entry);
                literals.extend(bits.map(|bit| (bit, values.get(bit))));
            }
        }
        literals
    }

    /// Whether the pair is one of those a call begins with.
    fn is_entry(&mut self, node: NodeId, values: &Values) -> bool {
        let procedure = self.search.program.node(node).procedure;
        if node != self.search.program.procedure(procedure).entry {
            return false;
        }
        // Equal entry and current values, wherever both matter.
        self.vars(procedure).all(|var| {
            !self.search.enters(procedure, var)
                || self
                    .search
                    .encoding
                    .vars(procedure, var, Copy::Entry)
                    .zip(self.search.encoding.vars(procedure, var, Copy::Current))
                    .all(|(entry, current)| values.get(entry) == values.get(current))
        })
    }

    /// The predecessor of a pair found in `round`, which is not the first.
    fn back(&mut self, node: NodeId, values: &Values, round: u32) -> Result<Option<Step>> {
        if round == 0 {
            return Ok(None);
        }
        let program = self.search.program;
        let procedure = program.node(node).procedure;
        let before = round - 1;
        // A step or a return within the procedure.
        for (from, relation) in self.predecessors(node)? {
            match &relation.action {
                Action::Steps(edges) => {
                    let Some(set) = self.nodes[from.0 as usize].at(before).cloned() else {
                        continue;
                    };
                    for edge in edges.iter().filter(|edge| edge.to == node) {
                        let set = self.step_back(edge, node, values, &set)?;
                        if !set.is_false() {
                            return Ok(Some(Step {
                                node: from,
                                values: Self::pick(&set),
                                round: before,
                                via: Via::Step,
                            }));
                        }
                    }
                }
                Action::Call(_) => {
                    if let Some((values, fact)) = self.try_join(from, Some(values), None, round)? {
                        let round = self.nodes[from.0 as usize].round_of(&values);
                        return Ok(Some(Step {
                            node: from,
                            values,
                            round,
                            via: Via::Summary(CallId(0), RunId(fact)),
                        }));
                    }
                }
                Action::Return(_) => {}
            }
        }
        // A call of the procedure.
        for from in self.search.callers[procedure.0 as usize].clone() {
            let Some(set) = self.nodes[from.0 as usize].at(before).cloned() else {
                continue;
            };
            let relation = self.search.relation(from)?;
            let Action::Call(call) = &relation.action else {
                continue;
            };
            let entry = self.entry_literals(procedure, values);
            let seen: Vec<(Var, bool)> = self
                .vars(procedure)
                .filter(|&var| self.search.enters(procedure, var))
                .flat_map(|var| {
                    let copy = match var {
                        VarRef::Global(_) => Copy::Current,
                        VarRef::Local(_) => Copy::Next,
                    };
                    self.search.encoding.vars(procedure, var, copy)
                })
                .zip(entry)
                .map(|(var, (_, value))| (var, value))
                .collect();
            let seen = self.search.encoding.manager.minterm(seen)?;
            let mut set = set.and(&seen)?;
            for argument in &call.arguments {
                set = set.and(&argument.and(&seen)?)?;
            }
            let set = set.exists(&self.search.encoding.next_locals)?;
            if !set.is_false() {
                return Ok(Some(Step {
                    node: from,
                    values: Self::pick(&set),
                    round: before,
                    via: Via::Call(CallId(0)),
                }));
            }
        }
        Ok(None)
    }

    /// Nodes from which control can come, within the procedure.
    fn predecessors(&mut self, node: NodeId) -> Result<Vec<(NodeId, Rc<Relation>)>> {
        let program = self.search.program;
        let mut out = Vec::new();
        for from in self.search.predecessors(node).to_vec() {
            let mut leads = false;
            program
                .node(from)
                .op
                .for_each_next(|to| leads |= to == node);
            if leads && !self.nodes[from.0 as usize].0.is_empty() {
                out.push((from, self.search.relation(from)?));
            }
        }
        Ok(out)
    }

    /// The pairs of `set` from which the edge leads to this pair.
    fn step_back(&mut self, edge: &Edge, node: NodeId, values: &Values, set: &Bdd) -> Result<Bdd> {
        let manager = self.search.encoding.manager.clone();
        let renamed: FxHashMap<Var, Var> = edge.moves.iter().map(|&(a, b)| (b, a)).collect();
        let mut fixed = Vec::new();
        let mut after = Vec::new();
        for (var, value) in self.literals(node, values) {
            if let Some(&next) = renamed.get(&var) {
                after.push((next, value));
            } else if !edge.written.contains(&var) {
                fixed.push((var, value));
            }
        }
        let mut set = set.and(&manager.minterm(fixed)?)?;
        let after = manager.minterm(after)?;
        for part in &edge.parts {
            set = set.and(&part.relation.and(&after)?)?;
        }
        set.exists(&self.search.encoding.nexts)
    }

    /// A caller and an exit of its callee, found in time for `round`, that lead to this pair after the call, or to a
    /// failure while the results are stored.
    fn joined(
        &mut self,
        from: NodeId,
        values: Option<&Values>,
        failure: Option<&Bdd>,
        round: u32,
    ) -> Result<(Values, u32)> {
        let found = self.try_join(from, values, failure, round)?;
        Ok(found.expect("caller and exit were found before"))
    }

    fn try_join(
        &mut self,
        from: NodeId,
        values: Option<&Values>,
        failure: Option<&Bdd>,
        round: u32,
    ) -> Result<Option<(Values, u32)>> {
        let relation = self.search.relation(from)?;
        let Action::Call(call) = &relation.action else {
            return Ok(None);
        };
        let before = round - 1;
        let callee = call.callee;
        let pairs = [
            (
                self.nodes[from.0 as usize].at(before).cloned(),
                self.exits[callee.0 as usize].up_to(before).cloned(),
            ),
            (
                self.nodes[from.0 as usize].up_to(before).cloned(),
                self.exits[callee.0 as usize].at(before).cloned(),
            ),
        ];
        for (callers, exits) in pairs {
            let (Some(callers), Some(exits)) = (callers, exits) else {
                continue;
            };
            let all = self.join_back(call, values, failure, &callers, &exits)?;
            if all.is_false() {
                continue;
            }
            let picked = Self::pick(&all);
            let fact = self.fact(callee, &picked);
            return Ok(Some((picked, fact)));
        }
        Ok(None)
    }

    /// Callers with the exits (over current globals and next locals as the callee's entry, next globals and
    /// results as its exit) that lead to the given pair.
    fn join_back(
        &mut self,
        call: &Call,
        values: Option<&Values>,
        failure: Option<&Bdd>,
        callers: &Bdd,
        exits: &Bdd,
    ) -> Result<Bdd> {
        let manager = self.search.encoding.manager.clone();
        let exits = exits.rename(&self.search.encoding.leave)?;
        let back = &call.back;
        let mut all = callers.clone();
        let mut exits = exits;
        // New values that a relation stores; their copies stand for something else in the exits.
        let mut stored = Vec::new();
        if let Some(values) = values {
            // Where each bit of the pair was before it was moved to its place.
            let moved: FxHashMap<Var, Var> = back.moves.iter().map(|&(a, b)| (b, a)).collect();
            let (mut fixed, mut new) = (Vec::new(), Vec::new());
            for (var, value) in self.literals(back.to, values) {
                match moved.get(&var) {
                    Some(source) if back.targets.contains(source) => stored.push((*source, value)),
                    Some(&source) => new.push((source, value)),
                    None => fixed.push((var, value)),
                }
            }
            all = all.and(&manager.minterm(fixed)?)?;
            exits = exits.and(&manager.minterm(new)?)?;
        }
        for argument in &call.arguments {
            all = all.and(argument)?;
        }
        all = all.and(&exits)?;
        if let Some(failure) = failure {
            return all.and(failure);
        }
        if let Some((store, _)) = &back.store {
            let targets = manager.cube(&back.targets)?;
            all = all.and(&store.and_exists(&manager.minterm(stored)?, &targets)?)?;
        }
        Ok(all)
    }

    /// The exit that goes with a joined caller, among those met.
    fn fact(&mut self, callee: ProcId, joined: &Values) -> u32 {
        let program = self.search.program;
        let encoding = &self.search.encoding;
        let mut values = Values::default();
        let mut copy = |to: Var, from: Var| {
            values.0.insert(to, joined.get(from));
        };
        for var in self.vars(callee) {
            if self.search.enters(callee, var) {
                let source = match var {
                    VarRef::Global(_) => Copy::Current,
                    VarRef::Local(_) => Copy::Next,
                };
                let entry = encoding.vars(callee, var, Copy::Entry);
                entry
                    .zip(encoding.vars(callee, var, source))
                    .for_each(|(to, from)| copy(to, from));
            }
        }
        for i in 0..program.globals.len() as u32 {
            if self.search.effects.touches(callee.0, i) {
                let var = VarRef::Global(i);
                let current = encoding.vars(callee, var, Copy::Current);
                current
                    .zip(encoding.vars(callee, var, Copy::Next))
                    .for_each(|(to, from)| copy(to, from));
            }
        }
        for i in 0..program.procedure(callee).results.len() {
            encoding
                .result_vars(callee, i)
                .for_each(|bit| copy(bit, bit));
        }
        let mut key: Vec<(Var, bool)> =
            values.0.iter().map(|(&var, &value)| (var, value)).collect();
        key.sort_unstable();
        let key = key.into_iter().map(|(_, value)| value).collect();
        let next = self.goals.len() as u32;
        let id = *self.facts.entry((callee, key)).or_insert(next);
        if id == next {
            let round = self.exits[callee.0 as usize].round_of(&values);
            self.goals.push((callee, values, round));
        }
        id
    }

    /// The pair that returned with this exit.
    fn before_exit(
        &mut self,
        procedure: ProcId,
        exit: &Values,
        round: u32,
    ) -> Result<(NodeId, Values)> {
        let program = self.search.program;
        let manager = self.search.encoding.manager.clone();
        let mut literals = self.entry_literals(procedure, exit);
        for i in 0..program.globals.len() as u32 {
            let full = crate::encode::Encoding::is_full(program.globals[i as usize].ty);
            if self.search.effects.touches(procedure.0, i)
                && (self.search.live.live_at_exit(procedure, i) || !full)
            {
                let bits = self
                    .search
                    .encoding
                    .vars(procedure, VarRef::Global(i), Copy::Current);
                literals.extend(bits.map(|bit| (bit, exit.get(bit))));
            }
        }
        for i in 0..program.procedure(procedure).results.len() {
            let bits = self.search.encoding.result_vars(procedure, i);
            literals.extend(bits.map(|bit| (bit, exit.get(bit))));
        }
        let seen = manager.minterm(literals)?;
        for (i, node) in program.nodes.iter().enumerate() {
            if node.procedure != procedure || !matches!(node.op, Op::Return(_)) {
                continue;
            }
            let Some(set) = self.nodes[i].at(round - 1).cloned() else {
                continue;
            };
            let node = NodeId(i as u32);
            let relation = self.search.relation(node)?;
            let Action::Return(parts) = &relation.action else {
                continue;
            };
            let mut set = set.and(&seen)?;
            for part in parts {
                set = set.and(&part.and(&seen)?)?;
            }
            if !set.is_false() {
                return Ok((node, Self::pick(&set)));
            }
        }
        unreachable!("an exit has a return behind it")
    }
}
