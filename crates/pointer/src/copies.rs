//! Copy propagation: `y = x; … y …` becomes `y = x; … x …`.
//!
//! The forward analysis of available copies. A copy `y = x` is available where every way from the
//! beginning passes it, and neither variable is written afterwards. There, y and x are the same.
//! A variable of the source is not replaced by an intermediate value: people read the names.

use crate::{Callees, LocalId, Method, Operand, Pc, Statement, Value};

/// Copies times statements, beyond which a method is left as it is.
const LARGEST: usize = 1 << 30;

/// A set of copies.
type Copies = Vec<u64>;

/// Replaces reads of copies by reads of what was copied, variables or constants. Says whether
/// anything changed.
pub fn propagate_copies(method: &mut Method) -> bool {
    let copies: Vec<(Pc, LocalId, Operand)> = method
        .code
        .iter()
        .enumerate()
        .filter_map(|(pc, statement)| match *statement {
            Statement::Assign {
                to,
                value: Value::Operand(value),
            } if value != Operand::Unknown && value != Operand::Local(to) => {
                Some((pc as Pc, to, value))
            }
            _ => None,
        })
        .collect();
    if copies.is_empty() || copies.len().saturating_mul(method.code.len()) > LARGEST {
        return false;
    }
    let available = available(method, &copies);
    let mut copies_of: Vec<Vec<usize>> = vec![Vec::new(); method.locals.len()];
    for (number, (_, to, _)) in copies.iter().enumerate() {
        copies_of[to.index()].push(number);
    }
    let temporary: Vec<bool> = method
        .locals
        .iter()
        .map(|local| local.name.starts_with('$'))
        .collect();
    let mut changed = false;
    let mut idle: Vec<usize> = Vec::new();
    for (pc, statement) in method.code.iter_mut().enumerate() {
        let Some(here) = &available[pc] else { continue };
        let source = |local: LocalId| {
            let mut at = local;
            let mut end = Operand::Local(local);
            // Copies that are available together form no cycle; the bound is for safety.
            for _ in 0..=copies.len() {
                let next = copies_of[at.index()]
                    .iter()
                    .find(|&&number| here[number / 64] >> (number % 64) & 1 == 1);
                match next.map(|&number| copies[number].2) {
                    Some(Operand::Local(from))
                        if temporary[from.index()] && !temporary[at.index()] =>
                    {
                        break;
                    }
                    Some(Operand::Local(from)) => {
                        at = from;
                        end = Operand::Local(from);
                    }
                    Some(constant) => return (at, constant),
                    None => break,
                }
            }
            (at, end)
        };
        let before = statement.clone();
        let base = statement.base().map(|base| source(base).1);
        replace(statement, |local| source(local).1, |local| source(local).0);
        // What is there need not be asked for.
        if base == Some(Operand::Present) {
            match statement {
                Statement::Require(_) => {
                    *statement = Statement::Nop;
                    idle.push(pc + 1);
                }
                Statement::Call {
                    receiver,
                    callees: Callees::Unavailable(_),
                    ..
                } => *receiver = None,
                _ => {}
            }
        }
        changed |= *statement != before;
    }
    // A handler belongs to the statement before it, and would otherwise get another one.
    for pc in idle {
        if let Some(handler @ Statement::Caught { .. }) = method.code.get_mut(pc) {
            *handler = Statement::Nop;
        }
    }
    changed
}

/// For each statement that can be reached the copies that are available before it.
fn available(method: &Method, copies: &[(Pc, LocalId, Operand)]) -> Vec<Option<Copies>> {
    let words = copies.len().div_ceil(64);
    let set = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut set = vec![0u64; words];
        numbers.for_each(|number| set[number / 64] |= 1 << (number % 64));
        set
    };
    // For each variable the copies that a write to it ends.
    let mut ended: Vec<Vec<usize>> = vec![Vec::new(); method.locals.len()];
    let mut made: Vec<Option<usize>> = vec![None; method.code.len()];
    // That something is there may be known from several assignments.
    let mut present: Vec<Option<usize>> = vec![None; method.locals.len()];
    for (number, &(pc, to, value)) in copies.iter().enumerate() {
        made[pc as usize] = Some(number);
        if value == Operand::Present {
            made[pc as usize] = Some(*present[to.index()].get_or_insert(number));
        }
        ended[to.index()].push(number);
        if let Operand::Local(from) = value {
            ended[from.index()].push(number);
        }
    }
    let mut before: Vec<Option<Copies>> = vec![None; method.code.len()];
    if before.is_empty() {
        return before;
    }
    before[0] = Some(set(&mut std::iter::empty()));
    let mut waiting: Vec<Pc> = vec![0];
    while let Some(pc) = waiting.pop() {
        let statement = &method.code[pc as usize];
        let Some(mut state) = before[pc as usize].clone() else {
            continue;
        };
        if let Some(local) = statement.defines() {
            for &number in &ended[local.index()] {
                state[number / 64] &= !(1 << (number % 64));
            }
        }
        if let Some(number) = made[pc as usize] {
            state[number / 64] |= 1 << (number % 64);
        }
        statement.successors(pc, |next| match &mut before[next as usize] {
            entry @ None => {
                *entry = Some(state.clone());
                waiting.push(next);
            }
            Some(entry) => {
                let mut changed = false;
                for (word, &here) in entry.iter_mut().zip(&state) {
                    changed |= *word & !here != 0;
                    *word &= here;
                }
                if changed {
                    waiting.push(next);
                }
            }
        });
    }
    before
}

/// Replaces what a statement reads. Where only a variable may stand, `local` says which.
pub(crate) fn replace(
    statement: &mut Statement,
    operand: impl Fn(LocalId) -> Operand,
    local: impl Fn(LocalId) -> LocalId,
) {
    let change = |one: &mut Operand| {
        if let Operand::Local(read) = *one {
            *one = operand(read);
        }
    };
    match statement {
        Statement::Assign {
            value: Value::Operand(one),
            ..
        }
        | Statement::Throw { value: one, .. }
        | Statement::Return(Some(one)) => {
            change(one);
        }
        Statement::Assign {
            value:
                Value::Field(base, _) | Value::IsInstance(base, _) | Value::Fits { value: base, .. },
            ..
        }
        | Statement::Require(base) => *base = local(*base),
        Statement::Store { base, value, .. } => {
            *base = local(*base);
            change(value);
        }
        Statement::Call {
            receiver,
            arguments,
            ..
        } => {
            if let Some(receiver) = receiver {
                *receiver = local(*receiver);
            }
            arguments.iter_mut().for_each(change);
        }
        Statement::Branch { condition, .. } => {
            change(&mut condition.left);
            change(&mut condition.right);
        }
        // A constant is no object that could run anything.
        Statement::Hand { objects, .. } => {
            let kept = objects.iter().filter_map(|&one| match operand(one) {
                Operand::Local(local) => Some(local),
                _ => None,
            });
            let kept: Vec<LocalId> = kept.collect();
            // Without objects it would mean all of them.
            if kept.is_empty() && !objects.is_empty() {
                *statement = Statement::Nop;
            } else {
                *objects = kept;
            }
        }
        Statement::Assign { .. }
        | Statement::Choose { .. }
        | Statement::Caught { .. }
        | Statement::Goto(_)
        | Statement::Return(None)
        | Statement::Doubt(_)
        | Statement::Nop => {}
    }
}
