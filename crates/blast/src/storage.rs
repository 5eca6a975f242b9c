//! How values are stored: the code of a value of some type, and its bits.
//!
//! | type | bits | code |
//! |---|---|---|
//! | `bool` | 1 | 0, 1 |
//! | `uN`, `sN` | N | two's complement |
//! | `int[lo..hi]` | as many as hi − lo needs, 0 if lo = hi | value − lo |
//!
//! Least significant bit first. Of a range type some codes may stand for no value:
//! [`in_range`] excludes them. Programs never store such a code, so it suffices to exclude
//! them where a variable may have any value.

use droste_program::{ProcId, Program, Type, Value, VarRef, Violation};

use crate::arithmetic::{less, offset};
use crate::logic::Logic;
use crate::word::Word;
use droste_program::interval::Interval;

/// The bits of all variables in scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State<B> {
    /// The code of each global.
    pub globals: Vec<Vec<B>>,
    /// The code of each local of the procedure, parameters first.
    pub locals: Vec<Vec<B>>,
}

impl<B> State<B> {
    /// The code of a variable.
    pub fn code(&self, var: VarRef) -> &[B] {
        match var {
            VarRef::Global(i) => &self.globals[i as usize],
            VarRef::Local(i) => &self.locals[i as usize],
        }
    }

    /// The state whose bits `make` gives: called with the variable and the number of the bit,
    /// globals first.
    pub fn build(
        program: &Program,
        procedure: ProcId,
        mut make: impl FnMut(VarRef, usize) -> B,
    ) -> Self {
        let mut code =
            |var: VarRef, ty: Type| -> Vec<B> { (0..bits(ty)).map(|k| make(var, k)).collect() };
        let globals = program.globals.iter().enumerate();
        let globals = globals.map(|(i, v)| code(VarRef::Global(i as u32), v.ty));
        let globals = globals.collect();
        let locals = program.procedure(procedure).locals.iter().enumerate();
        let locals = locals.map(|(i, v)| code(VarRef::Local(i as u32), v.ty));
        State {
            globals,
            locals: locals.collect(),
        }
    }
}

/// How many bits a variable of this type has.
pub fn bits(ty: Type) -> usize {
    match ty {
        Type::Bool => 1,
        Type::Bits { width, .. } => width as usize,
        Type::Range { lo, hi } => 128 - hi.abs_diff(lo).leading_zeros() as usize,
    }
}

/// The code of a value of this type.
pub fn encode(ty: Type, value: Value) -> u64 {
    match ty {
        Type::Bool => value as u64,
        Type::Bits { width, .. } => value as u64 & (u64::MAX >> (64 - width)),
        Type::Range { lo, .. } => value.wrapping_sub(lo) as u64,
    }
}

/// The value with this code.
pub fn decode(ty: Type, code: u64) -> Value {
    let code = Value::from(code);
    match ty {
        Type::Bool | Type::Bits { signed: false, .. } => code,
        Type::Bits {
            signed: true,
            width,
        } => code - ((code >> (width - 1) & 1) << width),
        Type::Range { lo, .. } => code + lo,
    }
}

fn greatest_code(ty: Type) -> Value {
    match ty {
        Type::Range { lo, hi } => hi - lo,
        _ => (1 << bits(ty)) - 1,
    }
}

/// Whether every code stands for a value.
pub(crate) fn is_full(ty: Type) -> bool {
    greatest_code(ty) == (1 << bits(ty)) - 1
}

/// Whether these bits are the code of a value of the type.
pub fn in_range<L: Logic>(logic: &mut L, ty: Type, code: &[L::Bit]) -> Result<L::Bit, L::Error> {
    if is_full(ty) {
        return Ok(logic.constant(true));
    }
    let all = Interval::new(0, (1 << code.len()) - 1);
    let code = Word::new(logic, code.to_vec(), all);
    let greatest = Word::constant(logic, greatest_code(ty));
    let above = less(logic, &greatest, &code)?;
    logic.not(&above)
}

/// The value of a variable.
pub(crate) fn load<L: Logic>(
    logic: &mut L,
    ty: Type,
    code: &[L::Bit],
) -> Result<Word<L::Bit>, L::Error> {
    let code = code.to_vec();
    let interval = Interval::new(ty.lo(), ty.hi());
    match ty {
        Type::Range { lo, .. } => {
            let plain = Interval::new(0, greatest_code(ty));
            let code = Word::new(logic, code, plain);
            offset(logic, &code, lo, interval)
        }
        _ => Ok(Word::new(logic, code, interval)),
    }
}

/// A code, and where storing it is a violation.
pub(crate) type Converted<B> = (Vec<B>, Option<(Violation, B)>);

/// Storing a value.
pub(crate) fn convert<L: Logic>(
    logic: &mut L,
    ty: Type,
    value: &Word<L::Bit>,
) -> Result<Converted<L::Bit>, L::Error> {
    let Type::Range { lo, hi } = ty else {
        return Ok((value.low(logic, bits(ty)), None));
    };
    let (least, greatest) = (Word::constant(logic, lo), Word::constant(logic, hi));
    let below = less(logic, value, &least)?;
    let above = less(logic, &greatest, value)?;
    let outside = logic.or(&below, &above)?;
    // The low bits of the difference are right whatever the bits above them are.
    let width = bits(ty);
    let modulo = Interval::new(0, (1 << width) - 1);
    let low = Word {
        bits: value.low(logic, width),
        interval: modulo,
    };
    let code = offset(logic, &low, lo.wrapping_neg(), modulo)?.low(logic, width);
    let failure = (!logic.is_false(&outside)).then_some((Violation::OutOfRange, outside));
    Ok((code, failure))
}
