//! Where each variable sits in the order of the diagrams.
//!
//! Bits that occur together in an assignment, a condition, an argument or a result should be near
//! each other (the order of BEBOP, MOPED and GETAFIX: La Torre, Madhusudan and Parlato, PLDI 2009,
//! section 6.1). They are arranged on a line by the FORCE heuristic (Aloul, Markov and Sakallah,
//! GLSVLSI 2003): every group of bits pulls its members to its centre of gravity, and the bits are
//! sorted by where they are pulled; a few dozen rounds make the groups short. Bits of integers are
//! grouped bit by bit, so that operands of an addition or a comparison interleave.
//!
//! Locals of different procedures never meet in one set, so they share places ([`Slot`]s). Between
//! two neighbouring globals each procedure uses as many of the slots there as it needs. They are
//! spread evenly, so that an argument and its parameter are about as far along in their procedures.
//! Equal procedures then have equal diagrams, and what was computed for one is known for the
//! others.
//!
//! Answers do not depend on any of this, only speed does.

use crate::storage::bits;
use droste_program::{Expr, ExprNode, Op, ProcId, Program, Type, VarRef};
use rustc_hash::FxHashMap;

/// A place on the line: of a global bit, or shared by locals or results of all procedures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(
    /// Its number along the line.
    pub u32,
);

/// What a place on the line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A bit of a global.
    Global,
    /// Bits of locals.
    Local,
    /// Bits of results.
    Result,
}

/// The places of all bits, least significant bit first.
#[derive(Debug, Default)]
pub struct Arrangement {
    /// Per global.
    pub globals: Vec<Vec<Slot>>,
    /// Per procedure.
    pub locals: Vec<Vec<Vec<Slot>>>,
    /// Per procedure.
    pub results: Vec<Vec<Vec<Slot>>>,
    /// What each slot is for, along the line.
    pub kinds: Vec<Kind>,
}

/// First bits of variables among all bits of the program.
struct Bits {
    globals: Vec<u32>,
    locals: Vec<Vec<u32>>,
    results: Vec<Vec<u32>>,
    count: u32,
}

impl Bits {
    fn new(program: &Program) -> Self {
        let mut count = 0;
        let mut place = |ty: Type| {
            let first = count;
            count += bits(ty) as u32;
            first
        };
        let globals = program.globals.iter().map(|v| place(v.ty)).collect();
        let mut locals = Vec::new();
        let mut results = Vec::new();
        for procedure in &program.procedures {
            locals.push(procedure.locals.iter().map(|v| place(v.ty)).collect());
            results.push(procedure.results.iter().map(|&ty| place(ty)).collect());
        }
        Bits {
            globals,
            locals,
            results,
            count,
        }
    }

    fn var(&self, procedure: ProcId, var: VarRef) -> u32 {
        match var {
            VarRef::Global(i) => self.globals[i as usize],
            VarRef::Local(i) => self.locals[procedure.0 as usize][i as usize],
        }
    }
}

/// A variable that takes part in a group: its first bit and how many it has.
type Member = (u32, u32);

struct Groups<'a> {
    program: &'a Program,
    bits: Bits,
    /// Members of all groups, one after the other.
    pins: Vec<u32>,
    ends: Vec<u32>,
}

impl Groups<'_> {
    fn member(&self, procedure: ProcId, var: VarRef) -> Member {
        let ty = self.program.variable(procedure, var).ty;
        (self.bits.var(procedure, var), bits(ty) as u32)
    }

    fn members(&self, procedure: ProcId, expr: &Expr, out: &mut Vec<Member>) {
        for node in &expr.nodes {
            if let ExprNode::Var(var) | ExprNode::Next(var) = *node {
                out.push(self.member(procedure, var));
            }
        }
    }

    /// One group per bit position: Booleans belong to all of them.
    fn group(&mut self, members: &mut Vec<Member>) {
        members.sort_unstable();
        members.dedup();
        // Very large groups say nothing about who belongs to whom.
        if members.len() < 2 || members.len() > 200 {
            return;
        }
        let width = members.iter().map(|&(_, width)| width).max().unwrap_or(0);
        for k in 0..width {
            let start = self.pins.len();
            for &(first, width) in members.iter() {
                if width == 1 {
                    // Once is enough for the bits of a wide word.
                    if k == 0 {
                        self.pins.push(first);
                    }
                } else if k < width {
                    self.pins.push(first + k);
                }
            }
            if self.pins.len() - start >= 2 {
                self.ends.push(self.pins.len() as u32);
            } else {
                self.pins.truncate(start);
            }
        }
    }

    /// Neighbouring bits of a word.
    fn chain(&mut self, (first, width): Member) {
        for k in 1..width {
            self.pins.extend([first + k - 1, first + k]);
            self.ends.push(self.pins.len() as u32);
        }
    }

    fn collect(&mut self) {
        let program = self.program;
        let mut members = Vec::new();
        for node in &program.nodes {
            let procedure = node.procedure;
            match &node.op {
                Op::Assign {
                    assigns, constrain, ..
                } => {
                    for (var, expr) in assigns {
                        members.clear();
                        members.push(self.member(procedure, *var));
                        self.members(procedure, expr, &mut members);
                        self.group(&mut members);
                    }
                    if let Some(expr) = constrain {
                        members.clear();
                        self.members(procedure, expr, &mut members);
                        self.group(&mut members);
                    }
                }
                Op::Branch { condition, .. }
                | Op::Assume { condition, .. }
                | Op::Assert { condition, .. } => {
                    members.clear();
                    self.members(procedure, condition, &mut members);
                    self.group(&mut members);
                }
                Op::Call {
                    callee,
                    args,
                    targets,
                    ..
                } => {
                    for (i, arg) in args.iter().enumerate() {
                        members.clear();
                        members.push(self.member(*callee, VarRef::Local(i as u32)));
                        self.members(procedure, arg, &mut members);
                        self.group(&mut members);
                    }
                    let types = &program.procedure(*callee).results;
                    for (i, (target, ty)) in targets.iter().zip(types).enumerate() {
                        let Some(var) = target else { continue };
                        let result = self.bits.results[callee.0 as usize][i];
                        members.clear();
                        members.push((result, bits(*ty) as u32));
                        members.push(self.member(procedure, *var));
                        self.group(&mut members);
                    }
                }
                Op::Return(values) => {
                    let types = &program.procedure(procedure).results;
                    for (i, (value, ty)) in values.iter().zip(types).enumerate() {
                        let result = self.bits.results[procedure.0 as usize][i];
                        members.clear();
                        members.push((result, bits(*ty) as u32));
                        self.members(procedure, value, &mut members);
                        self.group(&mut members);
                    }
                }
                _ => {}
            }
            if let Some(expr) = &node.ensure {
                members.clear();
                self.members(procedure, expr, &mut members);
                self.group(&mut members);
            }
        }
        let all = (0..program.globals.len() as u32).map(|i| (program.main, VarRef::Global(i)));
        let procedures = program.procedures.iter().enumerate();
        let locals = procedures.flat_map(|(p, procedure)| {
            (0..procedure.locals.len() as u32).map(move |i| (ProcId(p as u32), VarRef::Local(i)))
        });
        for (procedure, var) in all.chain(locals) {
            let member = self.member(procedure, var);
            self.chain(member);
        }
    }

    /// All bits by their first occurrence in a group.
    fn first_order(&self) -> Vec<u32> {
        let mut seen = vec![false; self.bits.count as usize];
        let mut order = Vec::with_capacity(seen.len());
        for bit in self.pins.iter().copied().chain(0..self.bits.count) {
            if !std::mem::replace(&mut seen[bit as usize], true) {
                order.push(bit);
            }
        }
        order
    }
}

const ROUNDS: usize = 40;

/// FORCE: positions on a line with short groups.
fn force(groups: &Groups<'_>) -> Vec<u32> {
    let mut order = groups.first_order();
    let count = order.len();
    let mut position = vec![0f64; count];
    let mut best = (f64::INFINITY, order.clone());
    let mut pull = vec![0f64; count];
    let mut degree = vec![0u32; count];
    for _ in 0..ROUNDS {
        for (i, &bit) in order.iter().enumerate() {
            position[bit as usize] = i as f64;
        }
        pull.fill(0.0);
        degree.fill(0);
        let mut total = 0.0;
        let mut start = 0;
        for &end in &groups.ends {
            let pins = &groups.pins[start..end as usize];
            start = end as usize;
            let at = pins.iter().map(|&bit| position[bit as usize]);
            let (low, high) = at.clone().fold((f64::INFINITY, 0f64), |(low, high), x| {
                (low.min(x), high.max(x))
            });
            total += high - low;
            let centre = at.sum::<f64>() / pins.len() as f64;
            for &bit in pins {
                pull[bit as usize] += centre;
                degree[bit as usize] += 1;
            }
        }
        if total < best.0 {
            best = (total, order.clone());
        }
        for bit in 0..count {
            if degree[bit] > 0 {
                position[bit] = pull[bit] / f64::from(degree[bit]);
            }
        }
        order.sort_by(|&a, &b| position[a as usize].total_cmp(&position[b as usize]));
    }
    best.1
}

/// Bits in the order of the line, by variable: how far along each is among all bits of the program.
#[derive(Debug)]
pub struct Line {
    /// Per global, least significant bit first.
    pub globals: Vec<Vec<u32>>,
    /// Per procedure and local.
    pub locals: Vec<Vec<Vec<u32>>>,
    /// Per procedure and result.
    pub results: Vec<Vec<Vec<u32>>>,
}

impl Line {
    /// The line for a program.
    pub fn new(program: &Program) -> Self {
        let (bits_of, order) = arrange(program);
        let mut position = vec![0u32; order.len()];
        for (i, &bit) in order.iter().enumerate() {
            position[bit as usize] = i as u32;
        }
        let all = gather(program, &bits_of, |bit| position[bit]);
        Line {
            globals: all.0,
            locals: all.1,
            results: all.2,
        }
    }
}

fn arrange(program: &Program) -> (Bits, Vec<u32>) {
    let mut groups = Groups {
        program,
        bits: Bits::new(program),
        pins: Vec::new(),
        ends: Vec::new(),
    };
    groups.collect();
    let order = force(&groups);
    (groups.bits, order)
}

impl Arrangement {
    /// The arrangement for a program.
    pub fn new(program: &Program) -> Self {
        let (bits_of, order) = arrange(program);
        place(program, &bits_of, &order)
    }
}

/// Gives the bits of the line their slots.
fn place(program: &Program, bits_of: &Bits, order: &[u32]) -> Arrangement {
    const GLOBAL: u32 = u32::MAX;
    // Whose each bit is: GLOBAL, or twice the procedure, plus one for results.
    let mut owner = vec![GLOBAL; bits_of.count as usize];
    for (p, procedure) in program.procedures.iter().enumerate() {
        for (i, v) in procedure.locals.iter().enumerate() {
            let first = bits_of.locals[p][i] as usize;
            owner[first..first + bits(v.ty)].fill(2 * p as u32);
        }
        for (i, &ty) in procedure.results.iter().enumerate() {
            let first = bits_of.results[p][i] as usize;
            owner[first..first + bits(ty)].fill(2 * p as u32 + 1);
        }
    }
    let mut slots = vec![Slot(0); bits_of.count as usize];
    let mut kinds: Vec<Kind> = Vec::new();
    // One stretch without globals after the other.
    let is_global = |bit: &u32| owner[*bit as usize] == GLOBAL;
    for stretch in order.split_inclusive(is_global) {
        let (stretch, global) = match stretch.split_last() {
            Some((last, rest)) if is_global(last) => (rest, Some(*last)),
            _ => (stretch, None),
        };
        let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
        for &bit in stretch {
            *counts.entry(owner[bit as usize]).or_default() += 1;
        }
        let most = |results: u32| {
            let of_kind = counts.iter().filter(|(whose, _)| **whose % 2 == results);
            of_kind.map(|(_, &count)| count).max().unwrap_or(0)
        };
        let (locals, results) = (most(0), most(1));
        // Both kinds spread evenly over the stretch.
        let first = kinds.len() as u32;
        let mut places: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
        let mut mixed: Vec<(u64, u32)> = (0..locals)
            .map(|k| (u64::from(2 * k + 1) * u64::from(results.max(1)), 0))
            .chain((0..results).map(|k| (u64::from(2 * k + 1) * u64::from(locals.max(1)), 1)))
            .collect();
        mixed.sort_unstable();
        for (i, (_, kind)) in mixed.into_iter().enumerate() {
            places[kind as usize].push(first + i as u32);
            kinds.push(if kind == 0 { Kind::Local } else { Kind::Result });
        }
        let mut ranks: FxHashMap<u32, u32> = FxHashMap::default();
        for &bit in stretch {
            let whose = owner[bit as usize];
            let rank = ranks.entry(whose).or_default();
            let places = &places[whose as usize % 2];
            slots[bit as usize] =
                Slot(places[*rank as usize * places.len() / counts[&whose] as usize]);
            *rank += 1;
        }
        if let Some(bit) = global {
            slots[bit as usize] = Slot(kinds.len() as u32);
            kinds.push(Kind::Global);
        }
    }
    let (globals, locals, results) = gather(program, bits_of, |bit| slots[bit]);
    Arrangement {
        globals,
        locals,
        results,
        kinds,
    }
}

/// Something about bits, by variable: of globals, locals and results.
type ByVariable<T> = (Vec<Vec<T>>, Vec<Vec<Vec<T>>>, Vec<Vec<Vec<T>>>);

fn gather<T>(program: &Program, bits_of: &Bits, of: impl Fn(usize) -> T) -> ByVariable<T> {
    let take = |first: u32, ty: Type| -> Vec<T> {
        let first = first as usize;
        (first..first + bits(ty)).map(&of).collect()
    };
    let globals = program.globals.iter().zip(&bits_of.globals);
    let locals = program.procedures.iter().zip(&bits_of.locals);
    let results = program.procedures.iter().zip(&bits_of.results);
    (
        globals.map(|(v, &first)| take(first, v.ty)).collect(),
        locals
            .map(|(p, firsts)| {
                let locals = p.locals.iter().zip(firsts);
                locals.map(|(v, &first)| take(first, v.ty)).collect()
            })
            .collect(),
        results
            .map(|(p, firsts)| {
                let results = p.results.iter().zip(firsts);
                results.map(|(&ty, &first)| take(first, ty)).collect()
            })
            .collect(),
    )
}
