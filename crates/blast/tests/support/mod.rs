//! Bits that are plain `bool`s, with choices taken from a tape, and operations executed in them
//! for every tape.
#![allow(dead_code, reason = "each of the two tests uses a part of it")]
#![allow(missing_docs, unreachable_pub, reason = "a part of the tests")]

use std::collections::BTreeSet;
use std::convert::Infallible;

use droste_blast::{
    After, Blaster, Destination, Effect, Logic, New, State, decode, encode, in_range,
};
use droste_program::execution::Valuation;
use droste_program::{NodeId, Op, ProcId, Program, Type, Value, VarRef, Violation};

/// A Boolean, and whether it is known whatever the variables and choices are.
#[derive(Clone, Copy, Debug)]
pub struct Bit {
    value: bool,
    known: bool,
}

pub fn open(value: bool) -> Bit {
    Bit {
        value,
        known: false,
    }
}

#[derive(Debug, Default)]
pub struct Concrete {
    tape: Vec<bool>,
    read: usize,
    /// Whether what is known is said: results must not depend on it.
    tells: bool,
}

impl Logic for Concrete {
    type Bit = Bit;
    type Error = Infallible;

    fn constant(&mut self, value: bool) -> Bit {
        Bit { value, known: true }
    }
    fn as_constant(&self, bit: &Bit) -> Option<bool> {
        (self.tells && bit.known).then_some(bit.value)
    }
    fn not(&mut self, a: &Bit) -> Result<Bit, Infallible> {
        let value = !a.value;
        Ok(Bit { value, ..*a })
    }
    fn and(&mut self, a: &Bit, b: &Bit) -> Result<Bit, Infallible> {
        let decided = |x: &Bit| x.known && !x.value;
        Ok(Bit {
            value: a.value && b.value,
            known: a.known && b.known || decided(a) || decided(b),
        })
    }
    fn or(&mut self, a: &Bit, b: &Bit) -> Result<Bit, Infallible> {
        let (a, b) = (self.not(a)?, self.not(b)?);
        let neither = self.and(&a, &b)?;
        self.not(&neither)
    }
    fn xor(&mut self, a: &Bit, b: &Bit) -> Result<Bit, Infallible> {
        Ok(Bit {
            value: a.value ^ b.value,
            known: a.known && b.known,
        })
    }
    fn ite(&mut self, c: &Bit, yes: &Bit, no: &Bit) -> Result<Bit, Infallible> {
        let chosen = if c.value { yes } else { no };
        let same = yes.known && no.known && yes.value == no.value;
        Ok(Bit {
            value: chosen.value,
            known: c.known && chosen.known || same,
        })
    }
    fn fresh(&mut self) -> Result<Bit, Infallible> {
        if self.read == self.tape.len() {
            self.tape.push(false);
        }
        self.read += 1;
        Ok(open(self.tape[self.read - 1]))
    }
}

impl Concrete {
    /// The next tape in binary; false after the last.
    fn advance(&mut self) -> bool {
        self.read = 0;
        for bit in &mut self.tape {
            *bit = !*bit;
            if *bit {
                return true;
            }
        }
        false
    }
}

/// Calls `f` once for every tape.
pub fn for_each_tape(mut f: impl FnMut(&mut Concrete)) {
    for tells in [false, true] {
        let mut logic = Concrete {
            tells,
            ..Concrete::default()
        };
        loop {
            f(&mut logic);
            if !logic.advance() {
                break;
            }
        }
    }
}

pub fn code(ty: Type, value: Value) -> Vec<Bit> {
    let code = encode(ty, value);
    assert_eq!(decode(ty, code), value, "{ty:?}");
    (0..droste_blast::bits(ty))
        .map(|k| open(code >> k & 1 == 1))
        .collect()
}

pub fn value(ty: Type, bits: &[Bit]) -> Value {
    assert_eq!(bits.len(), droste_blast::bits(ty));
    let code = bits
        .iter()
        .rev()
        .fold(0, |code, &bit| code << 1 | u64::from(bit.value));
    decode(ty, code)
}

pub fn state(program: &Program, procedure: ProcId, valuation: &Valuation) -> State<Bit> {
    State::build(program, procedure, |var, k| {
        code(program.variable(procedure, var).ty, valuation.get(var))[k]
    })
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Fail(Violation),
    /// Control goes on; stored values in the order of the stores.
    Go(Option<NodeId>, Vec<(Destination, Value)>),
}

/// The values of stores, `Any` written out.
fn stored(effect: &Effect<Bit>) -> Vec<Vec<(Destination, Value)>> {
    let mut all = vec![Vec::new()];
    for store in &effect.stores {
        let values: Vec<Value> = match &store.new {
            New::Code(bits) => {
                let mut logic = Concrete::default();
                let Ok(bit) = in_range(&mut logic, store.ty, bits);
                assert!(bit.value);
                vec![value(store.ty, bits)]
            }
            New::Any => (store.ty.lo()..=store.ty.hi()).collect(),
        };
        all = all
            .into_iter()
            .flat_map(|list: Vec<_>| {
                values.iter().map(move |&v| {
                    let mut list = list.clone();
                    list.push((store.place, v));
                    list
                })
            })
            .collect();
    }
    all
}

fn outcomes_of(effect: &Effect<Bit>, out: &mut BTreeSet<Outcome>) {
    let failing: Vec<_> = effect
        .failures
        .iter()
        .filter(|(_, bit)| bit.value)
        .collect();
    assert!(failing.len() <= 1, "two failures at once: {effect:?}");
    for (violation, _) in &failing {
        out.insert(Outcome::Fail(*violation));
    }
    assert!(failing.is_empty() || !effect.guard.value, "{effect:?}");
    assert!(effect.guard.value || effect.edges.iter().all(|(_, bit)| !bit.value));
    if !effect.guard.value {
        return;
    }
    // A range with few values may have codes for none: only where the guard is true must stores be
    // in range.
    for list in stored(effect) {
        if effect.edges.is_empty() {
            out.insert(Outcome::Go(None, list.clone()));
        }
        for (to, _) in effect.edges.iter().filter(|(_, bit)| bit.value) {
            out.insert(Outcome::Go(Some(*to), list.clone()));
        }
    }
}

/// What `effect` gives for all choices.
pub fn effects(program: &Program, node: NodeId, now: &Valuation) -> BTreeSet<Outcome> {
    let now = state(program, program.node(node).procedure, now);
    let mut out = BTreeSet::new();
    for_each_tape(|logic| {
        let effect = Blaster::new(program, logic).effect(node, &now);
        let Ok(effect) = effect;
        let last = effect.choices.len();
        assert!(effect.stores.iter().all(|s| s.choices.end <= last));
        outcomes_of(&effect, &mut out);
    });
    out
}

/// What storing `results` gives.
pub fn resumed(program: &Program, node: NodeId, results: &[Value]) -> BTreeSet<Outcome> {
    let Op::Call { callee, .. } = &program.node(node).op else {
        panic!("not a call");
    };
    let types = &program.procedure(*callee).results;
    let results: Vec<_> = types
        .iter()
        .zip(results)
        .map(|(&ty, &v)| code(ty, v))
        .collect();
    let mut out = BTreeSet::new();
    for_each_tape(|logic| {
        let Ok(effect) = Blaster::new(program, logic).resume(node, &results);
        outcomes_of(&effect, &mut out);
    });
    out
}

/// Whether the conditions on an outcome can be true, and how they can fail.
pub fn conditions(
    program: &Program,
    node: NodeId,
    now: &Valuation,
    next: &Valuation,
) -> (bool, BTreeSet<Violation>) {
    let procedure = program.node(node).procedure;
    let (now, next) = (
        state(program, procedure, now),
        state(program, procedure, next),
    );
    let mut holds = false;
    let mut failures = BTreeSet::new();
    for_each_tape(|logic| {
        let Ok(after) = Blaster::new(program, logic).after(node, &now, &next);
        let Some(After {
            failures: list,
            holds: h,
            ..
        }) = after
        else {
            holds = true;
            return;
        };
        let h = h.value;
        holds |= h;
        let failing: Vec<_> = list.iter().filter(|(_, bit)| bit.value).collect();
        assert!(failing.len() + usize::from(h) <= 1, "{list:?}");
        failures.extend(failing.iter().map(|(v, _)| *v));
    });
    (holds, failures)
}

/// Nodes with globals and locals that a step leads to, and the ways in which it fails.
pub type Ways = (
    BTreeSet<(NodeId, Vec<Value>, Vec<Value>)>,
    BTreeSet<Violation>,
);

/// Every way in which the step at `node` can end: next nodes with valuations, and failures.
/// For nodes that neither call nor return.
pub fn steps(program: &Program, node: NodeId, now: &Valuation) -> Ways {
    settle(program, node, now, now, effects(program, node, now))
}

/// The outcomes with the conditions on them; stores are made into `base`.
pub fn settle(
    program: &Program,
    node: NodeId,
    now: &Valuation,
    base: &Valuation,
    outcomes: BTreeSet<Outcome>,
) -> Ways {
    let mut out = BTreeSet::new();
    let mut failures = BTreeSet::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Fail(violation) => {
                failures.insert(violation);
            }
            Outcome::Go(to, list) => {
                let Some(to) = to else { continue };
                let mut next = base.clone();
                for (place, value) in list {
                    let Destination::Var(var) = place else {
                        panic!("a step stores into variables");
                    };
                    next.set(var, value);
                }
                let (holds, more) = conditions(program, node, now, &next);
                failures.extend(more);
                if holds {
                    out.insert((to, next.globals, next.locals));
                }
            }
        }
    }
    (out, failures)
}

/// All valuations of a procedure's variables, if there are not too many.
pub fn valuations(program: &Program, procedure: ProcId, most: usize) -> Option<Vec<Valuation>> {
    let mut all = vec![Valuation {
        globals: vec![0; program.globals.len()],
        locals: vec![0; program.procedure(procedure).locals.len()],
    }];
    for var in variables(program, procedure) {
        let ty = program.variable(procedure, var).ty;
        let count = (ty.hi() - ty.lo() + 1) as usize;
        if all.len().saturating_mul(count) > most {
            return None;
        }
        all = all
            .into_iter()
            .flat_map(|v| {
                (ty.lo()..=ty.hi()).map(move |value| {
                    let mut v = v.clone();
                    v.set(var, value);
                    v
                })
            })
            .collect();
    }
    Some(all)
}

pub fn variables(program: &Program, procedure: ProcId) -> Vec<VarRef> {
    let globals = (0..program.globals.len()).map(|i| VarRef::Global(i as u32));
    let locals = (0..program.procedure(procedure).locals.len()).map(|i| VarRef::Local(i as u32));
    globals.chain(locals).collect()
}

/// The variables that differ, with their values in `next`.
pub fn changes(
    program: &Program,
    procedure: ProcId,
    now: &Valuation,
    next: &Valuation,
) -> Vec<(VarRef, Value)> {
    variables(program, procedure)
        .into_iter()
        .filter(|&v| now.get(v) != next.get(v))
        .map(|v| (v, next.get(v)))
        .collect()
}
