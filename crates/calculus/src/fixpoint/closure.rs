//! Steps that are taken many at a time: the transitive closure of a part of a body, if it is small.
//!
//! Many bodies have a disjunct of the form
//!
//! ```text
//! exists x, w. S(.., x, ..) & C        in the body of S(.., p, ..)
//! ```
//!
//! where `C` does not depend on what is being computed: from a tuple of `S` to another one that differs from it in the
//! parameters `p`, as the steps of a program do. Then `S` is also closed under the steps `C ; C`, and under
//! the union `C ∪ C;C`, and adding them changes no fixpoint. Squaring until nothing is added gives the transitive
//! closure (iterative squaring; Burch, Clarke, McMillan, Dill and Hwang, *Symbolic model checking: 10²⁰ states and beyond*,
//! 1992, section 5), with which the disjunct is done in one round, and need not look at its own results.
//!
//! The closure is often much larger than the steps, so squaring stops when a power has grown too large or took
//! too long; the last one is used then, and takes a few steps at a time.

use std::rc::Rc;

use droste_bdd::{Bdd, Cube, Renaming, Var};
use rustc_hash::FxHashSet;

use super::{Fixpoints, Result};
use crate::engine::Engine;
use crate::product;
use crate::term::{Argument, DefId, Of, Term, TermId, VarId};

/// Steps with more nodes are not squared.
const LARGEST: usize = 20_000;
/// A power of the steps may have so many times their nodes, and a few more.
const GROWTH: usize = 3;
const FEW: usize = 300;
/// Operations on diagrams that squaring may take, for each node of the steps, and at least.
const EFFORT: u64 = 40;
const LEAST_EFFORT: u64 = 20_000;

/// A disjunct as a relation between a tuple and the next.
pub(super) struct Step {
    /// The application to the variables `x`, of the frontier.
    pub(super) apply: TermId,
    /// `C`, or a union of powers of it; within the types of the parameters.
    relation: Bdd,
    /// The variables `x`.
    from: Cube,
    /// Whether another step leads to nothing else.
    pub(super) closed: bool,
}

impl Step {
    /// What the steps give from the frontier.
    pub(super) fn image(&self, engine: &mut Engine) -> Result<Bdd> {
        let frontier = engine.evaluate(self.apply)?;
        Ok(frontier.and_exists(&self.relation, &self.from)?)
    }
}

/// What is known about a disjunct: nothing if it has another form.
pub(super) struct Powers {
    form: Option<Rc<Form>>,
    /// The values of the constants, and the step they give.
    last: Option<(Vec<Bdd>, Rc<Step>)>,
}

/// The parts of the form above.
struct Form {
    apply: TermId,
    /// The conjuncts of `C`.
    constants: Vec<TermId>,
    /// The variables `w`.
    inner: Vec<VarId>,
    from: Cube,
    /// Variables between two steps.
    between: Cube,
    from_to_between: Renaming,
    to_to_between: Renaming,
}

impl Fixpoints<'_> {
    /// The disjunct `term` of the body of `def` as a step, if it has the form and is worth it.
    pub(super) fn step(&mut self, def: DefId, term: TermId) -> Result<Option<Rc<Step>>> {
        if !self.powers.contains_key(&term) {
            let form = form(&self.engine, def, term)?.map(Rc::new);
            self.powers.insert(term, Powers { form, last: None });
        }
        let Some(form) = self.powers.get(&term).and_then(|p| p.form.clone()) else {
            return Ok(None);
        };
        let mut values = Vec::new();
        for &constant in &form.constants {
            values.push(self.engine.evaluate(constant)?);
        }
        if let Some(powers) = self.powers.get(&term)
            && let Some((known, step)) = &powers.last
            && *known == values
        {
            return Ok(Some(Rc::clone(step)));
        }
        let step = Rc::new(self.square(def, &form, values.clone())?);
        if let Some(powers) = self.powers.get_mut(&term) {
            powers.last = Some((values, Rc::clone(&step)));
        }
        Ok(Some(step))
    }

    fn square(&mut self, def: DefId, form: &Form, mut values: Vec<Bdd>) -> Result<Step> {
        let engine = &mut self.engine;
        for &var in &form.inner {
            values.extend(engine.range(var)?);
        }
        values.push(engine.space(def)?);
        let inner = engine.cube(&form.inner)?;
        let mut relation = product::exists(&engine.manager, values, &inner, || inner.vars())?;
        let mut closed = false;
        if !relation.is_larger_than(LARGEST) {
            let size = relation.node_count();
            let effort = LEAST_EFFORT.max(size as u64 * EFFORT);
            loop {
                let first = relation.rename(&form.to_to_between)?;
                let second = relation.rename(&form.from_to_between)?;
                let Some(twice) = first.and_exists_within(&second, &form.between, effort)? else {
                    break;
                };
                let union = relation.or(&twice)?;
                if union == relation {
                    closed = true;
                    break;
                }
                if union.is_larger_than(size * GROWTH + FEW) {
                    break;
                }
                relation = union;
            }
        }
        Ok(Step {
            apply: form.apply,
            relation,
            from: form.from.clone(),
            closed,
        })
    }
}

/// The form of a disjunct of the body of `def`, with the frontier in it.
fn form(engine: &Engine, def: DefId, term: TermId) -> Result<Option<Form>> {
    let theory = &engine.theory;
    let terms = &theory.terms;
    let Term::Exists(vars, _) = terms.get(term) else {
        return Ok(None);
    };
    let mut constants = Vec::new();
    let mut applications = Vec::new();
    terms.operands(term, |operand| match terms.get(operand) {
        Term::Apply(_, Of::Frontier, _) => applications.push(operand),
        _ => constants.push(operand),
    });
    let [apply] = applications[..] else {
        return Ok(None);
    };
    let Term::Apply(applied, _, arguments) = terms.get(apply) else {
        return Ok(None);
    };
    // The rest is constant: otherwise the disjunct were no part that sees only the frontier.
    if *applied != def || constants.iter().any(|&id| sees_frontier(engine, id)) {
        return Ok(None);
    }
    let parameters = &theory.definition(def).parameters;
    let mut taken: FxHashSet<Var> = engine.parameter_vars(def).into_iter().collect();
    let mut moved: Vec<(VarId, VarId)> = Vec::new();
    for (argument, &parameter) in arguments.iter().zip(parameters) {
        let Argument::Bits(first) = *argument else {
            return Ok(None);
        };
        let own = theory.variable(parameter);
        if first == own.first {
            continue;
        }
        let of_parameter = |id: &&VarId| {
            let variable = theory.variable(**id);
            variable.first == first && variable.ty == own.ty
        };
        let Some(&x) = vars.iter().find(of_parameter) else {
            return Ok(None);
        };
        if moved.iter().any(|(other, _)| *other == x) {
            return Ok(None);
        }
        moved.push((x, parameter));
    }
    taken.extend(vars.iter().flat_map(|&id| engine.vars_of(id)));
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let (mut from, mut between) = (Vec::new(), Vec::new());
    for &(x, parameter) in &moved {
        // Any variable of the type will do, wherever it comes from, if its place in the order is free.
        let ty = theory.variable(x).ty;
        let all = (0..theory.variables.len() as u32).map(VarId);
        let mut rows = all.filter(|&id| theory.variable(id).ty == ty);
        let Some(row) = rows.find_map(|id| {
            let row = engine.vars_of(id);
            row.iter().all(|var| !taken.contains(var)).then_some(row)
        }) else {
            return Ok(None);
        };
        taken.extend(&row);
        let (xs, ps) = (engine.vars_of(x), engine.vars_of(parameter));
        first.extend(ps.into_iter().zip(row.iter().copied()));
        second.extend(xs.iter().copied().zip(row.iter().copied()));
        from.extend(xs);
        between.extend(row);
    }
    let inner = vars.iter().copied();
    let inner = inner.filter(|id| moved.iter().all(|(x, _)| x != id));
    Ok(Some(Form {
        apply,
        constants,
        inner: inner.collect(),
        from: engine.manager.cube(&from)?,
        between: engine.manager.cube(&between)?,
        to_to_between: engine.manager.renaming(&first),
        from_to_between: engine.manager.renaming(&second),
    }))
}

fn sees_frontier(engine: &Engine, root: TermId) -> bool {
    let terms = &engine.theory.terms;
    let mut seen = FxHashSet::default();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let Term::Apply(_, Of::Frontier, _) = terms.get(id) {
            return true;
        }
        terms.operands(id, |operand| stack.push(operand));
    }
    false
}
