//! Formulas about values that are not modelled: a proposition about one may hold or not, and a verdict
//! has to be right in both cases.
//!
//! In negation normal form a formula only gets weaker if more of its literals hold. So it holds in every
//! case if it holds where all doubtful literals are false, and it is violated in every case if it is
//! violated where all of them are true. A literal and its negation may both be doubtful, so each
//! proposition becomes two: one for where it stands alone, one for where it is negated.

use droste_base::PropId;
use droste_ltl::{AtomId, Formulas, Node, ResolvedFormula};

use crate::label::Cause;
use crate::machine::{MAY, Machine};
use crate::run::Run;
use crate::task::Task;

/// The formula in which doubtful literals are all true, or all false.
pub(crate) fn resolved(
    formula: &ResolvedFormula<PropId>,
    doubtful: bool,
) -> ResolvedFormula<PropId> {
    let mut old = formula.formulas.clone();
    let (root, _) = old.negation_normal_forms(formula.formula);
    let count = formula.atoms.len() as u32;
    let mut new = Formulas::new();
    let mut made = vec![Formulas::TRUE; root.0 as usize + 1];
    for id in old.closure(root) {
        let of = |id: droste_ltl::FormulaId| made[id.0 as usize];
        made[id.0 as usize] = match old.node(id) {
            Node::True => Formulas::TRUE,
            Node::False => Formulas::FALSE,
            Node::Atom(atom) => new.atom(atom),
            Node::Not(inner) => match old.node(inner) {
                Node::Atom(atom) => {
                    let negated = new.atom(AtomId(atom.0 + count));
                    new.not(negated)
                }
                _ => new.not(of(inner)),
            },
            Node::And(all) => new.and(all.iter().map(|&one| of(one))),
            Node::Or(all) => new.or(all.iter().map(|&one| of(one))),
            Node::Implies(a, b) => new.implies(of(a), of(b)),
            Node::Iff(a, b) => new.iff(of(a), of(b)),
            Node::Xor(a, b) => new.xor(of(a), of(b)),
            Node::Next(a) => new.next(of(a)),
            Node::Finally(a) => new.finally(of(a)),
            Node::Globally(a) => new.globally(of(a)),
            Node::Until(a, b) => new.until(of(a), of(b)),
            Node::Release(a, b) => new.release(of(a), of(b)),
            Node::WeakUntil(a, b) => new.weak_until(of(a), of(b)),
            Node::StrongRelease(a, b) => new.strong_release(of(a), of(b)),
        };
    }
    let may = |atom: &PropId| PropId(atom.0 | MAY);
    let (certain, possible) = (formula.atoms.iter().copied(), formula.atoms.iter().map(may));
    ResolvedFormula {
        text: formula.text.clone(),
        formula: made[root.0 as usize],
        formulas: new,
        names: formula.names.clone(),
        atoms: if doubtful {
            possible.chain(certain).collect()
        } else {
            certain.chain(possible).collect()
        },
    }
}

/// Which proposition is doubtful along a run, where, and why.
pub(crate) fn reason(
    task: &Task,
    machine: &Machine<'_>,
    formula: &ResolvedFormula<PropId>,
    run: &Run,
) -> String {
    let names = formula.names.list();
    let found = run.positions.iter().enumerate().find_map(|(at, position)| {
        let state = position.state?;
        let doubtful = |(number, &atom)| Some((at, number, machine.open(state, atom)?));
        formula.atoms.iter().enumerate().find_map(doubtful)
    });
    let Some((at, number, cause)) = found else {
        return "the formula speaks of a value that is not modelled".into();
    };
    let spot = |at: usize| {
        let position = &run.positions[at];
        format!("{}:{}", position.file, position.line)
    };
    let before = || (0..at).rev();
    let (what, origin) = match cause {
        Cause::Variable(variable) => {
            let name = task.symbols.variable_name(variable);
            let is_result = name == "@return";
            let assigned = |&one: &usize| {
                let position = &run.positions[one];
                let returns = is_result && position.statement.starts_with("return");
                returns || position.change.variable.as_deref() == Some(name)
            };
            let what = if is_result {
                "the result".to_owned()
            } else {
                format!("`{name}`")
            };
            (what, before().find(assigned))
        }
        Cause::Field(selector) => {
            let name = task.symbols.selector_name(selector);
            let written = |&one: &usize| {
                let field = run.positions[one].change.field.as_ref();
                field.is_some_and(|(_, field)| field == name)
            };
            (format!("the field `{name}`"), before().find(written))
        }
        Cause::Class(object) => {
            let class = task.symbols.type_name(object);
            let above = task.fits_no_rule(object).unwrap_or("another one");
            return format!(
                "it depends on whether {{{}}} holds at {}: an object of class `{class}` fits no rule of \
                 the grammar, which has objects of class `{above}`",
                names[number].text.trim(),
                spot(at),
            );
        }
    };
    let from = origin.map_or(String::new(), |origin| {
        format!(", which it gets at {}", spot(origin))
    });
    format!(
        "it depends on whether {{{}}} holds at {}: {what} has a value that is not modelled{from}",
        names[number].text.trim(),
        spot(at),
    )
}
