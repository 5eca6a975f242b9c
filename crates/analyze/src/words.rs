//! Facts in words.

use droste_pds::domains::equation;
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

/// A relation as an equation, solved for a variable if that can be done.
pub fn relation(program: &Program, procedure: ProcId, relation: &Relation) -> String {
    let Relation {
        terms,
        constant,
        width,
    } = relation;
    let terms = terms.iter();
    let terms: Vec<_> = terms
        .map(|(var, factor)| (name(program, procedure, *var), *factor))
        .collect();
    equation(&terms, *constant, *width)
}
