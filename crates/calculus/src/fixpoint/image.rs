//! Parts of bodies that are the image of the frontier under a relation.
//!
//! Most parts that distribute over union have the form
//!
//! ```text
//! exists x, w. S(.., x, ..) & C
//! ```
//!
//! where `S` is being computed and `C` does not depend on it. They are multiplied out once: `C`
//! becomes one relation, and a round is one relational product. `S` is stored over its parameters
//! `p`. It is not renamed to `x` in every round: the relation is stored with `p` and `x` exchanged,
//! and only what comes out is renamed. That saves most of the renaming, because most rounds of most
//! parts give nothing.
//!
//! If the relation would be too large, the part is evaluated like any other term.
//!
//! What keeps it honest: the random theories of [`super`].

use std::rc::Rc;

use droste_base::StopReason;
use droste_bdd::{Bdd, Cube, Renaming, Var};
use rustc_hash::FxHashSet;

use super::closure::Squaring;
use super::{Fixpoints, Result};
use crate::engine::Engine;
use crate::term::{Argument, DefId, Of, Term, TermId, VarId};

/// Relations with more nodes are not multiplied out.
const LARGEST: usize = 20_000;
/// Relations whose product takes more operations are not multiplied out, either.
const EFFORT: u64 = 1_000_000;

/// The image of a frontier.
pub(super) struct Image {
    /// Whose frontier.
    source: DefId,
    /// `C`, with the parameters and `x` exchanged; in the body of the source itself within the
    /// parameters' types.
    pub(super) relation: Bdd,
    /// The parameters that are not passed on as they are.
    from: Cube,
    exchange: Renaming,
    /// Whether it is a part of the source's own body.
    pub(super) own: bool,
    /// Whether it gives nothing new from what it has given itself.
    pub(super) closed: bool,
}

impl Image {
    /// What the frontier gives.
    pub(super) fn evaluate(&self, engine: &Engine) -> std::result::Result<Bdd, StopReason> {
        let frontier = engine.get(self.source, Of::Frontier);
        let image = frontier.and_exists(&self.relation, &self.from)?;
        if image.is_false() {
            return Ok(image);
        }
        image.rename(&self.exchange)
    }
}

/// What is known about a term: nothing if it has another form.
pub(super) struct KnownImage {
    form: Option<Rc<Form>>,
    /// The values of the constants, and the image they give; nothing if it is too large.
    last: Option<(Vec<Bdd>, Option<Rc<Image>>)>,
}

/// The parts of the form above.
pub(super) struct Form {
    source: DefId,
    /// The conjuncts of `C`.
    constants: Vec<TermId>,
    /// The variables `w`.
    inner: Vec<VarId>,
    from: Cube,
    exchange: Renaming,
    /// Whether it is a disjunct of the body of `S`.
    own: bool,
    /// For the transitive closure, if there are variables for it.
    pub(super) squaring: Option<Squaring>,
}

impl Fixpoints<'_> {
    /// The term, with the frontier in it, as an image, if it has the form and is worth it. If it is
    /// a disjunct of the body of a predicate, that is `body_of`.
    pub(super) fn image(
        &mut self,
        body_of: Option<DefId>,
        term: TermId,
    ) -> Result<Option<Rc<Image>>> {
        let key = (body_of, term);
        if !self.images.contains_key(&key) {
            let form = form(&self.engine, body_of, term)?.map(Rc::new);
            self.images.insert(key, KnownImage { form, last: None });
        }
        let Some(form) = self.images.get(&key).and_then(|known| known.form.clone()) else {
            return Ok(None);
        };
        let mut values = Vec::new();
        for &constant in &form.constants {
            values.push(self.engine.evaluate(constant)?);
        }
        if let Some(known) = self.images.get(&key)
            && let Some((old, image)) = &known.last
            && *old == values
        {
            return Ok(image.clone());
        }
        let image = self.multiply(&form, values.clone())?.map(Rc::new);
        if let Some(known) = self.images.get_mut(&key) {
            known.last = Some((values, image.clone()));
        }
        Ok(image)
    }

    fn multiply(&mut self, form: &Form, mut values: Vec<Bdd>) -> Result<Option<Image>> {
        let engine = &mut self.engine;
        for &var in &form.inner {
            values.extend(engine.range(var)?);
        }
        if form.own {
            values.push(engine.space(form.source)?);
        }
        values.sort_by_cached_key(Bdd::node_count);
        // A product is seldom smaller than its factors together.
        let sizes = values.iter().map(Bdd::node_count);
        if sizes.sum::<usize>() > LARGEST + values.len() {
            return Ok(None);
        }
        let none = engine.manager.cube(&[])?;
        let inner = engine.cube(&form.inner)?;
        let mut relation = engine.manager.constant(true);
        for value in values {
            let Some(both) = relation.and_exists_within(&value, &none, EFFORT)? else {
                return Ok(None);
            };
            if both.is_larger_than(LARGEST) {
                return Ok(None);
            }
            relation = both;
        }
        let all = engine.manager.constant(true);
        let Some(mut relation) = relation.and_exists_within(&all, &inner, EFFORT)? else {
            return Ok(None);
        };
        let mut closed = false;
        if let Some(squaring) = &form.squaring {
            (relation, closed) = squaring.close(relation)?;
        }
        Ok(Some(Image {
            source: form.source,
            relation: relation.rename(&form.exchange)?,
            from: form.from.clone(),
            exchange: form.exchange.clone(),
            own: form.own,
            closed,
        }))
    }
}

/// The form of a term with the frontier in it.
fn form(engine: &Engine, body_of: Option<DefId>, term: TermId) -> Result<Option<Form>> {
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
    let Term::Apply(source, _, arguments) = terms.get(apply) else {
        return Ok(None);
    };
    if constants.iter().any(|&id| sees_frontier(engine, id)) {
        return Ok(None);
    }
    // Pairs of a variable `x` and the parameter it is passed to.
    let parameters = &theory.definition(*source).parameters;
    let mut moved: Vec<(VarId, VarId)> = Vec::new();
    for (argument, &parameter) in arguments.iter().zip(parameters) {
        let Argument::Bits(first) = *argument else {
            return Ok(None);
        };
        let own = theory.variable(parameter);
        if first == own.first {
            continue;
        }
        let is_passed = |id: &&VarId| {
            let variable = theory.variable(**id);
            variable.first == first && variable.ty == own.ty
        };
        let Some(&x) = vars.iter().find(is_passed) else {
            return Ok(None);
        };
        if moved.iter().any(|(other, _)| *other == x) {
            return Ok(None);
        }
        moved.push((x, parameter));
    }
    let mut pairs: Vec<(Var, Var)> = Vec::new();
    for &(x, parameter) in &moved {
        pairs.extend(engine.vars_of(x).into_iter().zip(engine.vars_of(parameter)));
    }
    let from: Vec<Var> = pairs.iter().map(|(_, p)| *p).collect();
    let xs: Vec<Var> = pairs.iter().map(|(x, _)| *x).collect();
    // In a body that is not the source's, `x` may have the very variables of the parameters: then nothing
    // is exchanged. What is exchanged must not get into the way of the rest.
    pairs.retain(|(x, p)| x != p);
    if pairs
        .iter()
        .any(|(x, p)| from.contains(x) || xs.contains(p))
    {
        return Ok(None);
    }
    let both: Vec<(Var, Var)> = pairs.iter().flat_map(|&(x, p)| [(x, p), (p, x)]).collect();
    let inner = vars.iter().copied();
    let inner = inner.filter(|id| moved.iter().all(|(x, _)| x != id));
    let own = body_of == Some(*source);
    Ok(Some(Form {
        source: *source,
        constants,
        inner: inner.collect(),
        from: engine.manager.cube(&from)?,
        exchange: engine.manager.renaming(&both),
        own,
        squaring: if own {
            Squaring::new(engine, *source, vars, &moved)?
        } else {
            None
        },
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
