//! Facts in words.

use droste_program::display::value_to_string;
use droste_program::{ProcId, Program, Value, VarRef};

use crate::{Fact, Relation};

/// What a variable is called in a procedure. A local with the name of a global has its procedure's
/// name before it.
pub fn name(program: &Program, procedure: ProcId, var: VarRef) -> String {
    let name = &program.variable(procedure, var).name;
    let hides = |var| matches!(var, VarRef::Local(_));
    if hides(var) && program.globals.iter().any(|global| global.name == *name) {
        return format!("{}::{name}", program.procedure(procedure).name);
    }
    name.to_string()
}

/// A fact, as one line.
pub fn fact(program: &Program, procedure: ProcId, fact: &Fact) -> String {
    let names = |list: &[VarRef]| {
        let names: Vec<String> = list.iter().map(|v| name(program, procedure, *v)).collect();
        names.join(", ")
    };
    match fact {
        Fact::Live(live) if live.is_empty() => "nothing is live".to_owned(),
        Fact::Live(live) => format!("live: {}", names(live)),
        Fact::Unassigned { variables, .. } if variables.is_empty() => "all assigned".to_owned(),
        Fact::Unassigned { variables, read } => {
            let all = format!("may be unassigned: {}", names(variables));
            if read.is_empty() {
                return all;
            }
            format!("{all}; read here: {}", names(read))
        }
        Fact::Constants(constants) if constants.is_empty() => "no constants".to_owned(),
        Fact::Constants(constants) => {
            let constant = |&(var, number): &(VarRef, Value)| {
                let ty = program.variable(procedure, var).ty;
                format!(
                    "{} = {}",
                    name(program, procedure, var),
                    value_to_string(number, ty)
                )
            };
            constants
                .iter()
                .map(constant)
                .collect::<Vec<_>>()
                .join(", ")
        }
        Fact::Affine(relations) if relations.is_empty() => "no relations".to_owned(),
        Fact::Affine(relations) => {
            let relations = relations.iter();
            let words = relations.map(|r| relation(program, procedure, r));
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

/// A relation as an equation, solved for its first variable if that can be done.
pub fn relation(program: &Program, procedure: ProcId, relation: &Relation) -> String {
    let Relation {
        terms,
        constant,
        width,
    } = relation;
    let mut left = "0".to_owned();
    let mut terms = terms.as_slice();
    let mut turn = false;
    if let [(var, 1), rest @ ..] = terms {
        left = name(program, procedure, *var);
        (terms, turn) = (rest, true);
    }
    let number = |coefficient: u64| signed(coefficient, *width, turn);
    let mut right = String::new();
    for (var, coefficient) in terms {
        let name = name(program, procedure, *var);
        push(&mut right, number(*coefficient), Some(&name));
    }
    if *constant != 0 || right.is_empty() {
        push(&mut right, number(*constant), None);
    }
    format!("{left} = {right} mod 2^{width}")
}

/// The number with the least absolute value that is the same modulo the power of two.
fn signed(number: u64, width: u32, turn: bool) -> i128 {
    let modulus = 1i128 << width;
    let number = i128::from(number);
    let number = if turn { -number } else { number };
    let number = number.rem_euclid(modulus);
    if number > modulus / 2 {
        number - modulus
    } else {
        number
    }
}

/// One more summand.
fn push(sum: &mut String, number: i128, name: Option<&str>) {
    match (sum.is_empty(), number < 0) {
        (true, true) => sum.push('-'),
        (true, false) => {}
        (false, true) => sum.push_str(" - "),
        (false, false) => sum.push_str(" + "),
    }
    let number = number.unsigned_abs();
    match name {
        Some(name) if number == 1 => sum.push_str(name),
        Some(name) => {
            sum.push_str(&number.to_string());
            sum.push('*');
            sum.push_str(name);
        }
        None => sum.push_str(&number.to_string()),
    }
}
