//! Affine relations between integer variables, modulo powers of two.
//!
//! Numbers of N bits wrap around, so affine relations between them hold modulo 2^N; they may also
//! mention the low N bits of wider variables. Numbers of a range never wrap around. So there is one
//! analysis for each width that occurs in the program, over the variables that are at least as wide; if
//! there are ranges, also one for 64 bits. A relation that follows from those of a greater width is left
//! out. Conditions are not evaluated.
//!
//! The domain is `droste_pds`'s, after Müller-Olm and Seidl. `tests/analyses.rs` checks on random programs
//! that each relation holds in every state that a run gets to.

use std::collections::BTreeSet;

use droste_base::{Limits, StopReason};
use droste_pds::Domain;
use droste_pds::domains::{Affine, Linear, Module, Scoped};
use droste_program::{Expr, ExprNode, Node, NodeId, Op, Operator, ProcId, Program, Type, VarRef};

use crate::flow::{Flow, Passing, Semantics, Slots};
use crate::{Fact, Relation, nodes, visible};

/// The relations at each node.
pub(crate) fn affine(program: &Program, limits: &Limits) -> Result<Vec<Option<Fact>>, StopReason> {
    let locals = program.procedures.iter().flat_map(|p| &p.locals);
    let types = program.globals.iter().chain(locals).map(|var| var.ty);
    let widths = types.filter_map(|ty| match ty {
        Type::Bool => None,
        Type::Bits { width, .. } => Some(u32::from(width)),
        Type::Range { .. } => Some(64),
    });
    let widths: BTreeSet<u32> = widths.collect();
    let mut facts: Vec<Option<Vec<Relation>>> = vec![None; program.nodes.len()];
    if widths.is_empty() {
        // Only whether control gets there.
        of_width(program, 1, limits, &mut facts)?;
    }
    for &width in widths.iter().rev() {
        of_width(program, width, limits, &mut facts)?;
    }
    Ok(facts
        .into_iter()
        .map(|fact| fact.map(Fact::Affine))
        .collect())
}

/// Adds the relations of one width.
fn of_width(
    program: &Program,
    width: u32,
    limits: &Limits,
    facts: &mut [Option<Vec<Relation>>],
) -> Result<(), StopReason> {
    let slots = Slots::new(program);
    let mut tracked = Tracked {
        program,
        limits,
        slots,
        width,
        place: vec![None; slots.count() as usize],
        count: 0,
    };
    for (i, global) in (0..).zip(&program.globals) {
        tracked.track(slots.of(VarRef::Global(i)), global.ty);
    }
    for procedure in &program.procedures {
        for (i, local) in (0..).zip(&procedure.locals) {
            tracked.track(slots.of(VarRef::Local(i)), local.ty);
        }
        for (i, ty) in (0..).zip(&procedure.results) {
            tracked.track(slots.result(i), *ty);
        }
    }
    let domain = tracked.domain();
    let flow = Flow::new(program, slots, &tracked, limits)?;
    let start = domain.states(&[]);
    let mut guard = limits.guard();
    for (id, weight) in nodes(program).zip(flow.forward(limits)?) {
        let Some(weight) = weight else { continue };
        guard.check_now()?;
        let states = domain.apply(&weight, &start);
        let known = facts[id.0 as usize].get_or_insert_default();
        let new = tracked.relations(id, &states, known);
        known.extend(new);
    }
    Ok(())
}

/// Which slots take part, and their places in a weight.
struct Tracked<'a> {
    program: &'a Program,
    limits: &'a Limits,
    slots: Slots,
    width: u32,
    place: Vec<Option<u32>>,
    count: u32,
}

impl Tracked<'_> {
    fn is_wide(&self, ty: Type) -> bool {
        match ty {
            Type::Bool => false,
            Type::Bits { width, .. } => u32::from(width) >= self.width,
            Type::Range { .. } => true,
        }
    }

    fn track(&mut self, slot: u32, ty: Type) {
        if self.is_wide(ty) && self.place[slot as usize].is_none() {
            self.place[slot as usize] = Some(self.count);
            self.count += 1;
        }
    }

    fn domain(&self) -> Affine {
        Affine::new(self.width, self.count)
    }

    /// The place of a variable, if it takes part.
    fn variable(&self, procedure: ProcId, var: VarRef) -> Option<u32> {
        let ty = self.program.variable(procedure, var).ty;
        self.place[self.slots.of(var) as usize].filter(|_| self.is_wide(ty))
    }

    /// An expression as a sum of multiples of variables, if it is one modulo the power of two.
    fn linear(&self, procedure: ProcId, expr: &Expr) -> Option<Linear> {
        let mut parts: Vec<Option<Linear>> = Vec::with_capacity(expr.nodes.len());
        for node in &expr.nodes {
            let part = |i: u32| parts[i as usize].as_ref();
            let linear = match *node {
                ExprNode::Const(value) => Some(constant(low(value))),
                ExprNode::Var(var) => self.variable(procedure, var).map(|place| Linear {
                    constant: 0,
                    terms: vec![(place, 1)],
                }),
                ExprNode::Neg(i) => part(i).map(|a| times(a, u64::MAX)),
                ExprNode::BitNot(i) => {
                    part(i).map(|a| sum(&times(a, u64::MAX), &constant(u64::MAX)))
                }
                ExprNode::Binary(operator, a, b) => match (operator, part(a), part(b)) {
                    (Operator::Add, Some(a), Some(b)) => Some(sum(a, b)),
                    (Operator::Sub, Some(a), Some(b)) => Some(sum(a, &times(b, u64::MAX))),
                    (Operator::Mul, Some(a), Some(b)) if b.terms.is_empty() => {
                        Some(times(a, b.constant))
                    }
                    (Operator::Mul, Some(a), Some(b)) if a.terms.is_empty() => {
                        Some(times(b, a.constant))
                    }
                    (Operator::Shl, Some(a), _) => match expr.nodes[b as usize] {
                        ExprNode::Const(distance @ 0..=63) => Some(times(a, 1 << distance)),
                        // All of the low bits are zero.
                        ExprNode::Const(64..) => Some(constant(0)),
                        _ => None,
                    },
                    _ => None,
                },
                _ => None,
            };
            parts.push(linear);
        }
        parts.pop()?
    }

    /// The relations between the variables of a node that do not follow from those that are known.
    fn relations(&self, id: NodeId, states: &Module, known: &[Relation]) -> Vec<Relation> {
        let procedure = self.program.node(id).procedure;
        let seen: Vec<(VarRef, u32)> = visible(self.program, id)
            .filter_map(|var| Some((var, self.variable(procedure, var)?)))
            .collect();
        // The states of these variables alone.
        let narrow = Affine::new(self.width, seen.len() as u32);
        let mut projected = Module::new(self.width, seen.len() as u32 + 1);
        projected.insert(states.rows().map(|row| {
            let places = seen.iter().map(|(_, place)| row[*place as usize + 1]);
            std::iter::once(row[0]).chain(places).collect::<Vec<u64>>()
        }));
        let mut follows = Module::new(self.width, seen.len() as u32 + 1);
        let of = |var: VarRef| seen.iter().position(|(other, _)| *other == var);
        for relation in known {
            let mut row = vec![0; seen.len() + 1];
            row[0] = relation.constant;
            for (var, coefficient) in &relation.terms {
                if let Some(place) = of(*var) {
                    row[place + 1] = *coefficient;
                }
            }
            follows.insert([row]);
        }
        let mut new = Vec::new();
        for relation in narrow.relations(&projected) {
            let mut row = vec![0; seen.len() + 1];
            row[0] = relation.constant;
            for (place, coefficient) in &relation.terms {
                row[*place as usize + 1] = *coefficient;
            }
            if follows.contains(&row) {
                continue;
            }
            let terms = relation.terms.iter();
            new.push(Relation {
                terms: terms
                    .map(|(place, a)| (seen[*place as usize].0, *a))
                    .collect(),
                constant: relation.constant,
                width: self.width,
            });
        }
        new
    }
}

/// The low 64 bits.
fn low(value: i128) -> u64 {
    value.cast_unsigned() as u64
}

fn constant(value: u64) -> Linear {
    Linear {
        constant: value,
        terms: Vec::new(),
    }
}

fn times(a: &Linear, factor: u64) -> Linear {
    let term = |(variable, coefficient): &(u32, u64)| (*variable, coefficient.wrapping_mul(factor));
    Linear {
        constant: a.constant.wrapping_mul(factor),
        terms: a.terms.iter().map(term).collect(),
    }
}

fn sum(a: &Linear, b: &Linear) -> Linear {
    Linear {
        constant: a.constant.wrapping_add(b.constant),
        terms: a.terms.iter().chain(&b.terms).copied().collect(),
    }
}

/// The domain with limits that hold inside its operations, too: with many variables, a single one takes
/// seconds and much memory.
struct Watched {
    domain: Affine,
    limits: Limits,
}

/// With fewer variables than this, an operation is over soon.
const MANY: u32 = 16;

impl Watched {
    /// Fails when a limit is reached.
    fn go_on(&self) -> impl FnMut() -> Result<(), StopReason> + use<> {
        let mut guard = (self.domain.variables() >= MANY).then(|| self.limits.guard());
        move || match &mut guard {
            Some(guard) => guard.check_now(),
            None => Ok(()),
        }
    }
}

impl Domain for Watched {
    type Weight = Module;

    fn one(&self) -> Module {
        self.domain.one()
    }

    fn zero(&self) -> Module {
        self.domain.zero()
    }

    fn combine(&self, a: &Module, b: &Module) -> Result<Module, StopReason> {
        self.domain.combine_while(a, b, &mut self.go_on())
    }

    fn extend(&self, a: &Module, b: &Module) -> Result<Module, StopReason> {
        self.domain.extend_while(a, b, &mut self.go_on())
    }

    fn equal(&self, a: &Module, b: &Module) -> bool {
        self.domain.equal(a, b)
    }

    fn is_zero(&self, a: &Module) -> bool {
        self.domain.is_zero(a)
    }
}

impl Scoped for Watched {
    fn restored(&self, effect: &Module, kept: &[u32]) -> Module {
        self.domain.restored(effect, kept)
    }
}

impl Semantics for Tracked<'_> {
    type Domain = Watched;

    fn domain(&self) -> Watched {
        Watched {
            domain: Tracked::domain(self),
            limits: self.limits.clone(),
        }
    }

    fn kept(&self, slots: Slots) -> Vec<u32> {
        let places = slots.locals().map(|slot| self.place[slot as usize]);
        places.flatten().collect()
    }

    fn step(&self, node: &Node, _: Option<(&Expr, bool)>) -> Option<Module> {
        let Op::Assign { assigns, .. } = &node.op else {
            return Some(Tracked::domain(self).one());
        };
        let assigns = assigns.iter().filter_map(|(var, value)| {
            let place = self.variable(node.procedure, *var)?;
            Some((place, self.linear(node.procedure, value)))
        });
        Some(Tracked::domain(self).assign(&assigns.collect::<Vec<_>>()))
    }

    fn call(&self, node: &Node) -> Passing<Module> {
        let domain = Tracked::domain(self);
        let mut assigns: Vec<(u32, Option<Linear>)> = Vec::new();
        for slot in self.slots.locals() {
            if let Some(place) = self.place[slot as usize] {
                assigns.push((place, None));
            }
        }
        if let Op::Call { callee, args, .. } = &node.op {
            for (i, arg) in (0..).zip(args) {
                if let Some(param) = self.variable(*callee, VarRef::Local(i)) {
                    let value = self.linear(node.procedure, arg);
                    for assign in assigns.iter_mut().filter(|(place, _)| *place == param) {
                        assign.1.clone_from(&value);
                    }
                }
            }
        }
        Passing {
            before: domain.one(),
            enter: domain.assign(&assigns),
        }
    }

    fn store(&self, node: &Node) -> Module {
        let mut assigns = Vec::new();
        if let Op::Call {
            callee, targets, ..
        } = &node.op
        {
            let results = &self.program.procedure(*callee).results;
            for ((i, target), ty) in (0..).zip(targets).zip(results) {
                let Some(place) = target.and_then(|var| self.variable(node.procedure, var)) else {
                    continue;
                };
                let result = self.place[self.slots.result(i) as usize];
                let value = result.filter(|_| self.is_wide(*ty)).map(|result| Linear {
                    constant: 0,
                    terms: vec![(result, 1)],
                });
                assigns.push((place, value));
            }
        }
        Tracked::domain(self).assign(&assigns)
    }

    fn give_back(&self, node: &Node, values: &[Expr]) -> Module {
        let results = &self.program.procedure(node.procedure).results;
        let mut assigns = Vec::new();
        for ((i, value), ty) in (0..).zip(values).zip(results) {
            if let Some(place) = self.place[self.slots.result(i) as usize] {
                let value = self.linear(node.procedure, value);
                assigns.push((place, value.filter(|_| self.is_wide(*ty))));
            }
        }
        Tracked::domain(self).assign(&assigns)
    }
}
