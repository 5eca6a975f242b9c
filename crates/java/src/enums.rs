//! `switch` on an enum, as compilers translate it: through an array of numbers.
//!
//! For the values of an enum `E` a class of its own, `X$1`, holds an array `$SwitchMap$E`: at the position
//! of each value stands the number of its case. Its static initialiser makes the array and fills it; each
//! store is guarded by a handler for a value that `E` no longer has. Nobody sees that it runs but `E`,
//! whose values it asks for. Reading the array at `e.ordinal()` raises nothing, since it is as long as
//! there are values.

use crate::class::{Body, ClassFile};
use crate::descriptor::{field_type, method_type};
use crate::instruction::{Compute, Invoke, Member, Op};

const PREFIX: &str = "$SwitchMap$";

/// Whether a field holds the cases of a `switch`.
pub(crate) fn is_map(member: &Member) -> bool {
    member.name.starts_with(PREFIX) && member.descriptor == "[I"
}

/// Whether a method gives the number of a value of an enum.
fn is_ordinal(op: Option<&Op>) -> bool {
    matches!(op, Some(Op::Invoke(Invoke::Virtual, member))
        if member.name == "ordinal" && member.descriptor == "()I")
}

/// If a class does nothing but hold the cases of a `switch`: the enums of which it asks the values.
pub(crate) fn of_maps(class: &ClassFile) -> Option<Vec<String>> {
    let map =
        |field: &crate::class::FieldInfo| field.is_synthetic && field.name.starts_with(PREFIX);
    if class.fields.is_empty() || !class.fields.iter().all(map) || class.methods.len() != 1 {
        return None;
    }
    let body = class.body(0).ok()?;
    let of_fields = |class: &Option<String>| class.as_deref() == Some("java.lang.NoSuchFieldError");
    if class.methods[0].name != "<clinit>" || !body.handlers.iter().all(|one| of_fields(&one.class))
    {
        return None;
    }
    let mut enums = Vec::new();
    let mut ask = |name: &String| {
        if !enums.contains(name) {
            enums.push(name.clone());
        }
    };
    let own = |member: &Member| is_map(member) && member.class == class.name;
    for one in &body.instructions {
        match &one.op {
            Op::Invoke(Invoke::Static, member)
                if member.name == "values"
                    && member.descriptor == format!("()[L{};", member.class.replace('.', "/")) =>
            {
                ask(&member.class);
            }
            Op::GetStatic(member) if own(member) => {}
            Op::GetStatic(member)
                if member.descriptor == format!("L{};", member.class.replace('.', "/")) =>
            {
                ask(&member.class);
            }
            Op::PutStatic(member) if own(member) => {}
            Op::Compute {
                what: Compute::NewArray { .. } | Compute::Array,
                ..
            }
            | Op::Push(..)
            | Op::Goto(_)
            | Op::Store(..)
            | Op::Nop
            | Op::Return { .. } => {}
            op if is_ordinal(Some(op)) => {}
            _ => return None,
        }
    }
    Some(enums)
}

/// Whether the instruction at this place reads the case of a value: the array comes from the last such
/// field that was read, and nothing but the value is above it on the stack.
pub(crate) fn reads_map(body: &Body, at: usize) -> bool {
    let code = &body.instructions;
    let before = at.checked_sub(1).and_then(|before| code.get(before));
    if !is_ordinal(before.map(|one| &one.op)) {
        return false;
    }
    let field = |one: &crate::class::Instruction| matches!(&one.op, Op::GetStatic(member) if is_map(member));
    let Some(start) = code[..at].iter().rposition(field) else {
        return false;
    };
    // The slots that are above the array.
    let mut above = 0;
    for one in &code[start + 1..at] {
        let Some((takes, gives)) = effect(&one.op) else {
            return false;
        };
        above -= takes;
        if above < 0 {
            return false;
        }
        above += gives;
    }
    above == 1
}

/// How many slots an instruction takes from the stack and puts there, if control goes on behind it.
fn effect(op: &Op) -> Option<(i32, i32)> {
    let slots = |wide: bool| if wide { 2 } else { 1 };
    let field = |member: &Member| field_type(&member.descriptor).map(|one| slots(one.wide));
    let called = |descriptor: &str, receiver: bool| {
        let types = method_type(descriptor)?;
        let takes: i32 = types.parameters.iter().map(|one| slots(one.wide)).sum();
        let gives = types.result.map_or(0, |one| slots(one.wide));
        Some((takes + i32::from(receiver), gives))
    };
    Some(match op {
        Op::Nop | Op::Increment(_) => (0, 0),
        Op::Push(_, slot) | Op::Load(_, slot) => (0, slots(slot.wide)),
        Op::Store(_, slot) => (slots(slot.wide), 0),
        Op::Compute { pops, gives, .. } => {
            (i32::from(*pops), gives.map_or(0, |slot| slots(slot.wide)))
        }
        Op::Dup { count, below } => {
            let (count, below) = (i32::from(*count), i32::from(*below));
            (count + below, 2 * count + below)
        }
        Op::Pop(count) => (i32::from(*count), 0),
        Op::Swap => (2, 2),
        Op::GetField(member) => (1, field(member)?),
        Op::PutField(member) => (1 + field(member)?, 0),
        Op::GetStatic(member) => (0, field(member)?),
        Op::PutStatic(member) => (field(member)?, 0),
        Op::New(_) => (0, 1),
        Op::Invoke(how, member) => called(&member.descriptor, *how != Invoke::Static)?,
        Op::Dynamic(dynamic) => called(&dynamic.descriptor, false)?,
        Op::Cast(_) | Op::InstanceOf(_) => (1, 1),
        Op::Jump { .. }
        | Op::Goto(_)
        | Op::Switch { .. }
        | Op::Return { .. }
        | Op::Throw
        | Op::Subroutine => return None,
    })
}
