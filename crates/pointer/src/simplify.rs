//! Smaller methods that do the same: what no state needs to hold is not computed.
//!
//! After copy propagation, assignments to variables that are not live go, if what they compute has
//! no other effect. Reading a field has one: the object may be null. Then statements go that do
//! nothing or cannot be reached, and variables that occur nowhere.
//!
//! The receiver and the parameters keep their statements, so that a method still begins with
//! them. Variables that a property names are *kept*: all assignments to them stay.

use std::collections::BTreeSet;

use crate::copies::{propagate_copies, replace};
use crate::{Liveness, LocalId, LocalSet, Method, Operand, Pc, PointerProgram, Statement, Value};

/// Simplifies all methods. The variables of these names are kept.
pub fn simplify(program: &mut PointerProgram, keep: &BTreeSet<String>) {
    for method in &mut program.methods {
        simplify_method(method, keep);
    }
}

/// Simplifies one method. The variables of these names are kept.
pub fn simplify_method(method: &mut Method, keep: &BTreeSet<String>) {
    merge_names(method);
    let mut kept = LocalSet::new(method.locals.len());
    for (at, local) in method.locals.iter().enumerate() {
        if keep.contains(local.plain_name()) {
            kept.insert(LocalId(at as u32));
        }
    }
    name_results(method, &kept);
    // Each round that changes something removes a copy or a statement, or shortens a chain: a few
    // rounds do.
    for _ in 0..100 {
        let mut changed = propagate_copies(method);
        changed |= eliminate_dead_assignments(method, &kept);
        changed |= shorten_jumps(method);
        changed |= remove_nops(method);
        if !changed {
            break;
        }
    }
    remove_unused_locals(method);
}

/// `$s = x.f; y = $s` becomes `y = x.f`, if `$s` is an intermediate value that nothing else reads:
/// people know `y`.
fn name_results(method: &mut Method, kept: &LocalSet) {
    let mut uses = vec![0u32; method.locals.len()];
    let mut targets = vec![false; method.code.len() + 1];
    for (pc, statement) in method.code.iter().enumerate() {
        statement.uses(|local| uses[local.index()] += 1);
        statement.successors(pc as Pc, |next| {
            targets[next as usize] |= next as usize != pc + 1;
        });
    }
    for pc in 0..method.code.len().saturating_sub(1) {
        let Statement::Assign {
            to,
            value: Value::Operand(Operand::Local(from)),
        } = method.code[pc + 1]
        else {
            continue;
        };
        let intermediate = method.locals[from.index()].name.starts_with('$');
        let needed = kept.contains(from) || uses[from.index()] != 1;
        if !intermediate || needed || targets[pc + 1] {
            continue;
        }
        match &mut method.code[pc] {
            Statement::Assign { to: result, .. }
            | Statement::Call {
                to: Some(result), ..
            } if *result == from => {
                *result = to;
                method.code[pc + 1] = Statement::Nop;
            }
            _ => {}
        }
    }
}

/// Objects that are given to code which runs nothing that matters are only given away. That is left
/// out, unless somebody wants to know who holds what. Says whether there was any.
pub fn remove_idle_hands(method: &mut Method) -> bool {
    let mut found = false;
    for statement in &mut method.code {
        if matches!(statement, Statement::Hand { runs, .. } if runs.is_empty()) {
            *statement = Statement::Nop;
            found = true;
        }
    }
    found
}

/// Variables of one name and kind in different scopes become one, if they are never live together.
pub fn merge_names(method: &mut Method) {
    let count = method.locals.len();
    let second = |at: usize| method.locals[at].name.contains('#');
    if !(0..count).any(second) {
        return;
    }
    let liveness = Liveness::new(method);
    let meet = |a: LocalId, b: LocalId| {
        method.code.iter().enumerate().any(|(pc, statement)| {
            let after = liveness.after(pc as Pc);
            let defined = statement.defines();
            (after.contains(a) && (after.contains(b) || defined == Some(b)))
                || (after.contains(b) && defined == Some(a))
        })
    };
    let mut becomes: Vec<LocalId> = (0..count as u32).map(LocalId).collect();
    for at in (0..count).filter(|&at| second(at)) {
        let (name, kind) = (method.locals[at].plain_name(), method.locals[at].kind);
        let first = (0..at).find(|&other| {
            let local = &method.locals[other];
            becomes[other].index() == other && local.plain_name() == name && local.kind == kind
        });
        let Some(first) = first.map(|first| LocalId(first as u32)) else {
            continue;
        };
        // All that became the first already must not meet this one either.
        let members = (0..at as u32)
            .map(LocalId)
            .filter(|one| becomes[one.index()] == first);
        let here = LocalId(at as u32);
        if !members.clone().any(|member| meet(member, here)) {
            becomes[at] = first;
        }
    }
    rename(method, &becomes);
}

/// Replaces each variable by another.
fn rename(method: &mut Method, becomes: &[LocalId]) {
    for statement in &mut method.code {
        let local = |one: LocalId| becomes[one.index()];
        replace(statement, |one| Operand::Local(local(one)), local);
        match statement {
            Statement::Assign { to, .. } | Statement::Call { to: Some(to), .. } => *to = local(*to),
            _ => {}
        }
    }
}

/// Removes assignments to variables that are not live and not kept. Says whether there were any.
pub fn eliminate_dead_assignments(method: &mut Method, kept: &LocalSet) -> bool {
    let liveness = Liveness::new(method);
    let mut changed = false;
    for (pc, statement) in method.code.iter_mut().enumerate() {
        let after = liveness.after(pc as Pc);
        let dead = |local: LocalId| !after.contains(local) && !kept.contains(local);
        match statement {
            Statement::Assign {
                to,
                value: Value::Operand(value),
            } if dead(*to) || *value == Operand::Local(*to) => {
                *statement = Statement::Nop;
                changed = true;
            }
            Statement::Assign {
                to,
                value: Value::IsInstance(..) | Value::Fits { .. } | Value::Exception,
            } if dead(*to) => {
                *statement = Statement::Nop;
                changed = true;
            }
            Statement::Call {
                to: result @ Some(_),
                ..
            } if result.is_some_and(dead) => {
                *result = None;
                changed = true;
            }
            _ => {}
        }
    }
    changed
}

/// Decides branches between constants, and jumps to where a jump leads. Says whether it could.
pub fn shorten_jumps(method: &mut Method) -> bool {
    let mut changed = false;
    // Where control is after all jumps that follow each other. A circle of jumps is left as it is.
    let mut ends: Vec<Pc> = Vec::with_capacity(method.code.len());
    for start in 0..method.code.len() as Pc {
        let mut at = start;
        for _ in 0..method.code.len() {
            match method.code[at as usize] {
                Statement::Goto(next) if next != at => at = next,
                _ => break,
            }
        }
        let circle = matches!(method.code[at as usize], Statement::Goto(_));
        ends.push(if circle { start } else { at });
    }
    for statement in &mut method.code {
        let before = statement.clone();
        statement.targets_mut(|target| *target = ends[*target as usize]);
        match statement {
            Statement::Branch { condition, yes, no } => {
                let decided = match (condition.left, condition.right) {
                    (Operand::Null, Operand::Null) => Some(condition.equal),
                    (Operand::Int(a), Operand::Int(b)) => Some((a == b) == condition.equal),
                    (Operand::Present, Operand::Null) | (Operand::Null, Operand::Present) => {
                        Some(!condition.equal)
                    }
                    _ => None,
                };
                if let Some(decided) = decided {
                    *statement = Statement::Goto(if decided { *yes } else { *no });
                } else if yes == no {
                    *statement = Statement::Goto(*yes);
                }
            }
            Statement::Choose { targets } => {
                let mut seen = BTreeSet::new();
                targets.retain(|&target| seen.insert(target));
                if let [only] = targets[..] {
                    *statement = Statement::Goto(only);
                }
            }
            _ => {}
        }
        changed |= *statement != before;
    }
    for (pc, statement) in method.code.iter_mut().enumerate() {
        if *statement == Statement::Goto(pc as Pc + 1) {
            *statement = Statement::Nop;
            changed = true;
        }
    }
    changed
}

/// Removes statements that do nothing, and those that cannot be reached. Says whether there were
/// any.
pub fn remove_nops(method: &mut Method) -> bool {
    let code = &method.code;
    let mut reached = vec![false; code.len()];
    let mut waiting: Vec<Pc> = vec![0];
    while let Some(pc) = waiting.pop() {
        if !std::mem::replace(&mut reached[pc as usize], true) {
            code[pc as usize].successors(pc, |next| waiting.push(next));
        }
    }
    let stays = |pc: usize| reached[pc] && code[pc] != Statement::Nop;
    // For each position how many statements stay before it.
    let mut places: Vec<Pc> = Vec::with_capacity(code.len());
    let mut count = 0;
    for pc in 0..code.len() {
        places.push(count);
        count += Pc::from(stays(pc));
    }
    if count as usize == code.len() {
        return false;
    }
    let keep: Vec<bool> = (0..code.len()).map(stays).collect();
    let mut each = keep.iter();
    method.code.retain(|_| *each.next().unwrap_or(&true));
    let mut each = keep.iter();
    method.lines.retain(|_| *each.next().unwrap_or(&true));
    for statement in &mut method.code {
        statement.targets_mut(|target| *target = places[*target as usize]);
    }
    true
}

/// Removes variables that occur nowhere.
pub fn remove_unused_locals(method: &mut Method) {
    let mut used = LocalSet::new(method.locals.len());
    for statement in &method.code {
        statement.uses(|local| used.insert(local));
        if let Some(local) = statement.defines() {
            used.insert(local);
        }
    }
    let mut becomes = Vec::with_capacity(method.locals.len());
    let mut count = 0;
    for at in 0..method.locals.len() as u32 {
        becomes.push(LocalId(count));
        count += u32::from(used.contains(LocalId(at)));
    }
    let mut at = 0;
    method.locals.retain(|_| {
        at += 1;
        used.contains(LocalId(at - 1))
    });
    rename(method, &becomes);
}
