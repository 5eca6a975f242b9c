//! The analyses on random programs, against naive definitions.
//!
//! Constants and affine relations: they hold in every state that a run gets to, by enumeration of
//! all states. Live and unassigned variables: for each variable alone, by a search over the control
//! flow that knows of every callee only what can become of the variable in it.

use std::collections::{BTreeMap, BTreeSet};

use droste_analyze::{Fact, Question, analyze, words};
use droste_base::Limits;
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_program::{ExprNode, Node, NodeId, Op, ProcId, Program, Value, VarRef};
use droste_testkit::generate::Config;
use droste_testkit::oracle::{Lowered, Step, Store, System};
use droste_testkit::sweep;

/// All reachable pairs of a node and values, unless there are too many.
fn states(program: &Program) -> Option<BTreeSet<(usize, Store)>> {
    /// A callee with globals and arguments.
    type Entry = Option<(usize, Store)>;
    let system = Lowered(program);
    let mut seen: BTreeSet<(Entry, usize, Store)> = BTreeSet::new();
    let mut work: Vec<(Entry, usize, Store)> = Vec::new();
    for (position, store) in system.initial() {
        work.push((None, position, store));
    }
    let mut callers: BTreeMap<Entry, BTreeSet<(Entry, usize, Store)>> = BTreeMap::new();
    let mut exits: BTreeMap<Entry, BTreeSet<Store>> = BTreeMap::new();
    while let Some(state) = work.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        if seen.len() > 20_000 {
            return None;
        }
        let (entry, position, store) = &state;
        let resume = |work: &mut Vec<_>, caller: &(Entry, usize, Store), exit: &Store| {
            for step in system.resume(caller.1, &caller.2, exit) {
                if let Step::To(position, store) = step {
                    work.push((caller.0.clone(), position, store));
                }
            }
        };
        for step in system.steps(*position, store) {
            match step {
                Step::To(position, store) => work.push((entry.clone(), position, store)),
                Step::Call(callee, passed) => {
                    let callee_entry = Some((callee, passed.clone()));
                    for (position, store) in system.entries(callee, &passed) {
                        work.push((callee_entry.clone(), position, store));
                    }
                    let known = callers.entry(callee_entry.clone()).or_default();
                    if known.insert(state.clone()) {
                        for exit in exits.entry(callee_entry).or_default().iter() {
                            resume(&mut work, &state, exit);
                        }
                    }
                }
                Step::Return(exit) => {
                    if exits.entry(entry.clone()).or_default().insert(exit.clone()) {
                        for caller in callers.entry(entry.clone()).or_default().iter() {
                            resume(&mut work, caller, &exit);
                        }
                    }
                }
                Step::Fail(_) => {}
            }
        }
    }
    Some(
        seen.into_iter()
            .map(|(_, position, store)| (position, store))
            .collect(),
    )
}

fn value(program: &Program, store: &Store, var: VarRef) -> Value {
    match var {
        VarRef::Global(i) => store[i as usize],
        VarRef::Local(i) => store[program.globals.len() + i as usize],
    }
}

fn program_of(ast: &Ast) -> Option<Program> {
    lower(ast).0.filter(|program| !program.is_concurrent())
}

fn facts(program: &Program, question: Question) -> Vec<Option<Fact>> {
    analyze(program, question, &Limits::default()).expect("facts")
}

/// Constants and relations hold in all states; how many facts there were.
fn values_agree(ast: &Ast) -> Result<usize, String> {
    let Some(program) = program_of(ast) else {
        return Ok(0);
    };
    let Some(states) = states(&program) else {
        return Ok(0);
    };
    let constants = facts(&program, Question::Constants);
    let relations = facts(&program, Question::Affine);
    for (position, store) in &states {
        let Some(Fact::Constants(known)) = &constants[*position] else {
            return Err(format!("node {position} is reached"));
        };
        for (var, constant) in known {
            if value(&program, store, *var) != *constant {
                return Err(format!(
                    "node {position}: {var:?} is not always {constant}: {store:?}"
                ));
            }
        }
        let Some(Fact::Affine(known)) = &relations[*position] else {
            return Err(format!("node {position} is reached"));
        };
        for relation in known {
            let terms = relation.terms.iter();
            let sum = terms.fold(relation.constant, |sum, (var, factor)| {
                let value = value(&program, store, *var).cast_unsigned() as u64;
                sum.wrapping_add(value.wrapping_mul(*factor))
            });
            if sum & (u64::MAX >> (64 - relation.width)) != 0 {
                return Err(format!(
                    "node {position}: {relation:?} is not so: {store:?}"
                ));
            }
        }
    }
    let count = |fact: &Option<Fact>| match fact {
        Some(Fact::Constants(known)) => known.len(),
        Some(Fact::Affine(known)) => known.len(),
        _ => 0,
    };
    Ok(constants.iter().chain(&relations).map(count).sum())
}

/// What a statement does with one variable, in the order in which it does it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Reads,
    Writes,
    Nothing,
}

fn mentions(exprs: &[&ExprNode], var: VarRef, next: bool) -> bool {
    exprs.iter().any(|part| match part {
        ExprNode::Var(other) => *other == var,
        ExprNode::Next(other) => next && *other == var,
        _ => false,
    })
}

/// Up to the call, if it is one; otherwise all of it.
fn before(node: &Node, var: VarRef) -> Touch {
    let mut parts = Vec::new();
    node.op.for_each_expr(|expr| parts.extend(&expr.nodes));
    let mut writes = false;
    node.op.for_each_written(|other| writes |= other == var);
    let call = matches!(node.op, Op::Call { .. });
    if mentions(&parts, var, !writes && !call) {
        return Touch::Reads;
    }
    if call {
        return Touch::Nothing;
    }
    after(node, var)
}

/// From the return on, if it is a call; otherwise at the end of the step.
fn after(node: &Node, var: VarRef) -> Touch {
    let mut writes = false;
    node.op.for_each_written(|other| writes |= other == var);
    if writes {
        return Touch::Writes;
    }
    let mut parts: Vec<&ExprNode> = node.ensure.iter().flat_map(|expr| &expr.nodes).collect();
    let asked = matches!(node.op, Op::Call { .. });
    let mut reads = mentions(&parts, var, true);
    parts.clear();
    node.op.for_each_expr(|expr| parts.extend(&expr.nodes));
    reads |= asked && parts.iter().any(|part| **part == ExprNode::Next(var));
    if reads { Touch::Reads } else { Touch::Nothing }
}

/// What is known of procedures about the control flow alone: a map that grows until nothing changes.
struct Control<'a> {
    program: &'a Program,
    /// Whether a procedure can return.
    returns: Vec<bool>,
    /// Whether control gets to a node.
    reached: Vec<bool>,
}

fn all_nodes(program: &Program) -> impl Iterator<Item = NodeId> + use<> {
    (0..program.nodes.len() as u32).map(NodeId)
}

/// The nodes that follow if the edges may be used.
fn closure(program: &Program, start: NodeId, passes: impl Fn(NodeId) -> bool) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::from([start]);
    let mut work = vec![start];
    while let Some(id) = work.pop() {
        if passes(id) {
            program.node(id).op.for_each_next(|next| {
                if seen.insert(next) {
                    work.push(next);
                }
            });
        }
    }
    seen
}

impl<'a> Control<'a> {
    fn new(program: &'a Program) -> Self {
        let mut control = Control {
            program,
            returns: vec![false; program.procedures.len()],
            reached: vec![false; program.nodes.len()],
        };
        loop {
            let mut changed = false;
            for i in 0..program.procedures.len() {
                let inside = closure(program, program.procedures[i].entry, |id| {
                    control.passes(id)
                });
                let returns = |id: &NodeId| matches!(program.node(*id).op, Op::Return(_));
                if !control.returns[i] && inside.iter().any(returns) {
                    control.returns[i] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut work = vec![program.main];
        let mut entered = BTreeSet::from([program.main]);
        while let Some(procedure) = work.pop() {
            let entry = program.procedure(procedure).entry;
            for id in closure(program, entry, |id| control.passes(id)) {
                control.reached[id.0 as usize] = true;
                if let Op::Call { callee, .. } = program.node(id).op
                    && entered.insert(callee)
                {
                    work.push(callee);
                }
            }
        }
        control
    }

    fn passes(&self, id: NodeId) -> bool {
        match self.program.node(id).op {
            Op::Call { callee, .. } => self.returns[callee.0 as usize],
            _ => true,
        }
    }

    /// For a global: whether a callee can read it first, and whether it can return without having
    /// touched it.
    fn in_callees(&self, var: VarRef) -> Vec<(bool, bool)> {
        let mut known = vec![(false, false); self.program.procedures.len()];
        loop {
            let mut changed = false;
            for i in 0..known.len() {
                let entry = self.program.procedures[i].entry;
                let new = self.from(entry, var, &known);
                changed |= new != known[i];
                known[i] = new;
            }
            if !changed {
                return known;
            }
        }
    }

    /// From a node on, in this frame: whether the variable can be read first, and whether the
    /// procedure can return before it is touched.
    fn from(&self, start: NodeId, var: VarRef, callees: &[(bool, bool)]) -> (bool, bool) {
        let global = matches!(var, VarRef::Global(_));
        let passes = |id: NodeId| {
            let node = self.program.node(id);
            let through = match node.op {
                Op::Call { callee, .. } if global => callees[callee.0 as usize].1,
                _ => self.passes(id),
            };
            before(node, var) == Touch::Nothing && through && after(node, var) == Touch::Nothing
        };
        let seen = closure(self.program, start, passes);
        let reads = seen.iter().any(|id| {
            let node = self.program.node(*id);
            if before(node, var) != Touch::Nothing {
                return before(node, var) == Touch::Reads;
            }
            let Op::Call { callee, .. } = node.op else {
                return false;
            };
            let (inside, through) = if global {
                callees[callee.0 as usize]
            } else {
                (false, self.passes(*id))
            };
            inside || through && after(node, var) == Touch::Reads
        });
        let leaves = seen.iter().any(|id| {
            let node = self.program.node(*id);
            matches!(node.op, Op::Return(_)) && before(node, var) == Touch::Nothing
        });
        (reads, leaves)
    }

    /// Whether a variable is live at a node.
    fn live(&self, start: NodeId, var: VarRef, callees: &[(bool, bool)]) -> bool {
        let mut work = vec![start];
        let mut left: BTreeSet<ProcId> = BTreeSet::new();
        while let Some(id) = work.pop() {
            let (reads, leaves) = self.from(id, var, callees);
            if reads {
                return true;
            }
            let procedure = self.program.node(id).procedure;
            if !leaves || matches!(var, VarRef::Local(_)) || !left.insert(procedure) {
                continue;
            }
            // Whoever has called goes on.
            for caller in all_nodes(self.program).filter(|id| self.reached[id.0 as usize]) {
                let node = self.program.node(caller);
                if let Op::Call { callee, next, .. } = node.op
                    && callee == procedure
                {
                    match after(node, var) {
                        Touch::Reads => return true,
                        Touch::Writes => {}
                        Touch::Nothing => work.push(next),
                    }
                }
            }
        }
        false
    }

    /// Where a variable may be unassigned, if it is so at the start.
    fn unassigned(&self, start: NodeId, var: VarRef, keeps: &[bool]) -> BTreeSet<NodeId> {
        closure(self.program, start, |id| {
            let node = self.program.node(id);
            let mut writes = false;
            node.op.for_each_written(|other| writes |= other == var);
            let through = match node.op {
                Op::Call { callee, .. } if matches!(var, VarRef::Global(_)) => {
                    keeps[callee.0 as usize]
                }
                _ => self.passes(id),
            };
            // A declaration leaves it unassigned.
            through && (!writes || node.silent)
        })
    }

    fn all_unassigned(&self) -> BTreeSet<(NodeId, VarRef)> {
        let mut all = BTreeSet::new();
        for i in 0..self.program.globals.len() as u32 {
            let var = VarRef::Global(i);
            let mut keeps = vec![false; self.program.procedures.len()];
            loop {
                let before = keeps.clone();
                for (i, procedure) in self.program.procedures.iter().enumerate() {
                    let seen = self.unassigned(procedure.entry, var, &keeps);
                    let ends = |id: &NodeId| matches!(self.program.node(*id).op, Op::Return(_));
                    keeps[i] |= seen.iter().any(ends);
                }
                if keeps == before {
                    break;
                }
            }
            let mut entered = BTreeSet::from([self.program.main]);
            let mut work = vec![self.program.main];
            while let Some(procedure) = work.pop() {
                let entry = self.program.procedure(procedure).entry;
                for id in self.unassigned(entry, var, &keeps) {
                    all.insert((id, var));
                    if let Op::Call { callee, .. } = self.program.node(id).op
                        && entered.insert(callee)
                    {
                        work.push(callee);
                    }
                }
            }
        }
        for procedure in &self.program.procedures {
            for i in 0..procedure.locals.len() as u32 {
                let var = VarRef::Local(i);
                let mut starts: Vec<NodeId> = Vec::new();
                if i >= procedure.params {
                    starts.push(procedure.entry);
                }
                // Declarations that are passed make it unassigned again.
                for id in closure(self.program, procedure.entry, |id| self.passes(id)) {
                    let node = self.program.node(id);
                    let mut writes = false;
                    node.op.for_each_written(|other| writes |= other == var);
                    if node.silent && writes {
                        node.op.for_each_next(|next| starts.push(next));
                    }
                }
                for start in starts {
                    let found = self.unassigned(start, var, &[]);
                    all.extend(found.into_iter().map(|id| (id, var)));
                }
            }
        }
        all
    }
}

fn visible(program: &Program, id: NodeId) -> Vec<VarRef> {
    let locals = program.procedure(program.node(id).procedure).locals.len() as u32;
    let globals = (0..program.globals.len() as u32).map(VarRef::Global);
    globals.chain((0..locals).map(VarRef::Local)).collect()
}

fn bits_agree(ast: &Ast) -> Result<usize, String> {
    let Some(program) = program_of(ast) else {
        return Ok(0);
    };
    let control = Control::new(&program);
    let live = facts(&program, Question::Live);
    let unassigned = facts(&program, Question::Unassigned);
    let expected_unassigned = control.all_unassigned();
    let globals = (0..program.globals.len() as u32).map(VarRef::Global);
    let callees: BTreeMap<VarRef, Vec<(bool, bool)>> =
        globals.map(|var| (var, control.in_callees(var))).collect();
    let mut count = 0;
    for id in all_nodes(&program) {
        let reached = control.reached[id.0 as usize];
        let (live, unassigned) = (&live[id.0 as usize], &unassigned[id.0 as usize]);
        if reached != live.is_some() || reached != unassigned.is_some() {
            return Err(format!("{id:?} is reached: {reached}"));
        }
        let (Some(Fact::Live(live)), Some(Fact::Unassigned { variables, .. })) = (live, unassigned)
        else {
            continue;
        };
        for var in visible(&program, id) {
            let none = Vec::new();
            let expected = control.live(id, var, callees.get(&var).unwrap_or(&none));
            if live.contains(&var) != expected {
                return Err(format!("{id:?}: {var:?} is live: {expected}"));
            }
            let expected = expected_unassigned.contains(&(id, var));
            if variables.contains(&var) != expected {
                return Err(format!("{id:?}: {var:?} may be unassigned: {expected}"));
            }
            count += 1;
        }
    }
    Ok(count)
}

#[test]
fn facts_hold_in_all_states() {
    let config = Config {
        integers: 60,
        stars: 5,
        ..Config::tiny()
    };
    sweep::programs(&config, 0, 300, |ast, _| values_agree(ast).err());
    sweep::programs(&Config::tiny(), 100_000, 200, |ast, _| {
        values_agree(ast).err()
    });
}

#[test]
fn there_are_facts() {
    let config = Config {
        integers: 60,
        stars: 0,
        ..Config::tiny()
    };
    let facts: usize = (0..50)
        .map(|seed| droste_testkit::generate::program(seed, &config))
        .map(|ast| values_agree(&ast).expect("facts"))
        .sum();
    assert!(facts > 500, "{facts}");
}

/// If a variable has two values only, a comparison that is false says which one it has.
#[test]
fn what_a_false_comparison_says() {
    for (condition, values) in [
        ("g = F", [Some(0), Some(1)]),
        ("F = g", [Some(0), Some(1)]),
        ("g != F", [Some(1), Some(0)]),
        ("!(g = T)", [Some(0), Some(1)]),
        ("n = 1", [Some(1), None]),
        ("n != 1", [None, Some(1)]),
    ] {
        let ast = droste_testkit::source::parse(&format!(
            "decl g; decl n : u2;
             void main() begin if ({condition}) then A: skip; else B: skip; fi; end"
        ));
        assert!(values_agree(&ast).is_ok());
        let program = program_of(&ast).expect("a program");
        let facts = facts(&program, Question::Constants);
        let known = ["A", "B"].map(|label| {
            let at = droste_program::labels::find(&program, label).expect("a label")[0];
            match &facts[at.0 as usize] {
                Some(Fact::Constants(known)) => known.first().map(|(_, value)| *value),
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(known, values, "{condition}");
    }
}

#[test]
fn bits_are_exact() {
    sweep::programs(&Config::tiny(), 0, 300, |ast, _| bits_agree(ast).err());
    let config = Config {
        declarations: 30,
        ..Config::tiny()
    };
    sweep::programs(&config, 200_000, 200, |ast, _| bits_agree(ast).err());
}

/// Numbers with a sign, and numbers that only an unsigned type of 64 bits has.
#[test]
fn constants_are_of_any_size() {
    let ast = droste_testkit::source::parse(
        "decl x, y : s8; decl z, w : u64;
         void main() begin
           x := -5; z := 18446744073709551615;
           if (y = -7 & w = 9223372036854775808) then L: skip; fi
         end",
    );
    let program = program_of(&ast).expect("a program");
    let facts = facts(&program, Question::Constants);
    let at = |(id, node): (usize, &Node)| (!node.labels.is_empty()).then_some(id);
    let at = program
        .nodes
        .iter()
        .enumerate()
        .find_map(at)
        .expect("a label");
    let Some(Fact::Constants(constants)) = &facts[at] else {
        panic!("no constants");
    };
    let mut values: Vec<Value> = constants.iter().map(|(_, value)| *value).collect();
    values.sort_unstable();
    assert_eq!(values, [-7, -5, 1 << 63, (1 << 64) - 1]);
}

/// Multiples of later relations are taken away from earlier ones.
#[test]
fn relations_have_small_coefficients() {
    let ast = droste_testkit::source::parse(
        "decl g : u8;
         void main() begin f(*); end
         void f(x : u8) begin
           decl l : u8;
           if (*) then x := 3; else if (*) then x := 5; fi; fi;
           assume(x = 3); x := 5; if (*) then x := 3; fi;
           l := x + 1;
           L: skip;
         end",
    );
    let program = program_of(&ast).expect("a program");
    let facts = facts(&program, Question::Affine);
    let mut labelled = all_nodes(&program).filter(|id| !program.node(*id).labels.is_empty());
    let id = labelled.next().expect("a label");
    let fact = facts[id.0 as usize].as_ref().expect("a fact");
    let words = words::fact(&program, program.node(id).procedure, fact);
    assert_eq!(words, "x = l - 1 mod 2^8, l = 0 mod 2");
}
