//! Why a formula is true: values for its quantifiers, and for a fixpoint the path of tuples that
//! leads to it.
//!
//! The fixpoint's rounds are computed once more and kept. A tuple that came in with round `k` did
//! so because the body holds of it with the relations of round `k - 1`. Following the body (one
//! true disjunct, all conjuncts, one choice of values for `exists`) leads to tuples that came in
//! earlier. The first of these is the tuple before on the path. If the body needed others as well,
//! as the return of a procedure needs a summary, they are shown beside it. Why a tuple is not in a
//! greatest fixpoint is the same question about the complement, a least one. A predicate that is
//! not recursive itself holds because of the tuples that its body needs.
//!
//! What keeps it honest: the paths of random theories are compared with the naive evaluator
//! (`tests/random`).

use droste_bdd::{Bdd, Var};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::depend::components;
use crate::fixpoint::Unanswered;
use crate::product;
use crate::rewrite::to_complement;
use crate::solver::{Solver, Tuple, split};
use crate::syntax::Fixpoint;
use crate::term::{Argument, DefId, Of, Term, TermId, VarId};
use crate::theory::ClosedFormula;

/// A tuple on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The predicate.
    pub predicate: DefId,
    /// Whether it does not hold of the tuple (a greatest fixpoint that fails), rather than holds.
    pub fails: bool,
    /// The arguments.
    pub tuple: Tuple,
    /// Other tuples of recursive predicates that were needed to get here.
    pub with: Vec<(DefId, Tuple)>,
    /// Whether even more were needed, for all values of a `forall` say; the path may begin before
    /// its first tuple then.
    pub more: bool,
}

/// Why a formula is true.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    /// Values chosen for variables of `exists` (or, in a counterexample, `forall`).
    pub choices: Vec<(VarId, Vec<bool>)>,
    /// A path for each tuple of a recursive predicate that the formula needs.
    pub paths: Vec<Vec<Step>>,
}

/// Rounds of a component.
struct Rounds {
    members: Vec<DefId>,
    of: Of,
    bodies: Vec<TermId>,
    /// For each round the values of the members.
    values: Vec<Vec<Bdd>>,
}

/// A tuple of a recursive predicate that a formula needs.
struct Need {
    predicate: DefId,
    of: Of,
    bits: Vec<bool>,
}

/// Following a formula.
struct Trail {
    /// Values of BDD variables.
    values: FxHashMap<Var, bool>,
    choices: Vec<(VarId, Vec<bool>)>,
    needs: Vec<Need>,
    /// Tuples of other predicates.
    plain: Vec<Need>,
    /// Whether something that mentions a recursive predicate was not followed.
    more: bool,
}

/// Longer paths are cut; nobody reads them.
const LONGEST: usize = 100_000;

/// No more bodies are followed to find out which paths there are.
const MOST_BODIES: usize = 100;

impl Solver<'_> {
    /// Why the formula is true, or, if `wanted` is not set, why it is false. It must be so.
    pub(crate) fn witness(
        &mut self,
        question: &ClosedFormula,
        wanted: bool,
    ) -> Result<Witness, Unanswered> {
        let uses: Vec<DefId> = question.references.iter().map(|(def, _)| *def).collect();
        // An early answer leaves values unfinished.
        for &def in &uses {
            self.fixpoints.value(def)?;
        }
        for &def in &uses {
            // Each again, as evaluating one may have changed others.
            self.fixpoints.value(def)?;
        }
        let root = if wanted { question.root } else { question.dual };
        let recursive = |def: DefId, solver: &Self| solver.path_component(def).is_some();
        let trail = self.follow(root, FxHashMap::default(), &recursive)?;
        let mut witness = Witness {
            choices: trail.choices,
            paths: Vec::new(),
        };
        for need in trail.needs {
            witness.paths.push(self.path(need)?);
        }
        // What holds because of the body of a predicate that is not recursive: the tuples that the
        // body needs.
        let mut plain = trail.plain;
        let mut seen = FxHashSet::default();
        while let Some(need) = plain.pop() {
            if seen.len() >= MOST_BODIES || !seen.insert((need.predicate, need.bits.clone())) {
                continue;
            }
            let Some(body) = self.plain_body(&need)? else {
                continue;
            };
            let vars = self.fixpoints.engine.parameter_vars(need.predicate);
            let values = vars.into_iter().zip(need.bits).collect();
            let trail = self.follow(body, values, &recursive)?;
            for need in trail.needs {
                witness.paths.push(self.path(need)?);
            }
            plain.extend(trail.plain);
        }
        Ok(witness)
    }

    /// The body of a predicate that needs a recursive one but is not recursive, or of its
    /// complement. What it applies has been evaluated then.
    fn plain_body(&mut self, need: &Need) -> Result<Option<TermId>, Unanswered> {
        let definition = self.theory().definition(need.predicate);
        let (body, dual) = (definition.body, definition.dual);
        let uses: Vec<DefId> = definition.references.iter().map(|(def, _)| *def).collect();
        let lists = components(&[need.predicate], |def, out| {
            let references = &self.theory().definition(def).references;
            out.extend(references.iter().map(|(d, _)| *d));
        });
        let own = lists.iter().find(|list| list.contains(&need.predicate));
        if own.is_none_or(|own| own.len() > 1) || uses.contains(&need.predicate) {
            return Ok(None);
        }
        if !lists
            .iter()
            .any(|list| self.path_component(list[0]).is_some())
        {
            return Ok(None);
        }
        for def in uses {
            self.fixpoints.value(def)?;
        }
        if need.of == Of::Value || dual.is_some() {
            return Ok(if need.of == Of::Value { body } else { dual });
        }
        let terms = &mut self.fixpoints.engine.theory.terms;
        Ok(body.map(|body| terms.not(body)))
    }

    /// The members of a predicate's component, if its fixpoint has paths: recursive, monotone, all
    /// of one kind.
    fn path_component(&self, def: DefId) -> Option<Vec<DefId>> {
        let theory = self.theory();
        let lists = components(&[def], |def, out| {
            out.extend(theory.definition(def).references.iter().map(|(d, _)| *d));
        });
        let members = lists.into_iter().find(|list| list.contains(&def))?;
        let set: FxHashSet<DefId> = members.iter().copied().collect();
        let fixpoint = theory.definition(def).fixpoint;
        let mut recursive = false;
        for &member in &members {
            let definition = theory.definition(member);
            if definition.fixpoint != fixpoint {
                return None;
            }
            for (used, sign) in &definition.references {
                if set.contains(used) {
                    recursive = true;
                    if sign.negative {
                        return None;
                    }
                }
            }
        }
        recursive.then_some(members)
    }

    /// Follows a formula that holds under `values`, with the present relations, down to the tuples
    /// of recursive predicates it needs.
    fn follow(
        &mut self,
        root: TermId,
        values: FxHashMap<Var, bool>,
        recursive: &dyn Fn(DefId, &Self) -> bool,
    ) -> Result<Trail, Unanswered> {
        let mut trail = Trail {
            values,
            choices: Vec::new(),
            needs: Vec::new(),
            plain: Vec::new(),
            more: false,
        };
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            match self.theory().terms.get(id).clone() {
                Term::And(list) => stack.extend(list.iter().rev()),
                Term::Or(list) => {
                    for operand in list {
                        let value = self.fixpoints.engine.evaluate(operand)?;
                        if value.eval(|var| trail.values.get(&var).copied().unwrap_or(false)) {
                            stack.push(operand);
                            break;
                        }
                    }
                }
                Term::Ite(condition, then, otherwise) => {
                    let value = self.fixpoints.engine.evaluate(condition)?;
                    let holds = value.eval(|v| trail.values.get(&v).copied().unwrap_or(false));
                    stack.push(if holds { then } else { otherwise });
                }
                Term::Exists(vars, body) => {
                    self.choose(id, &vars, &mut trail)?;
                    stack.push(body);
                }
                Term::Apply(def, of, arguments) if recursive(def, self) => {
                    let least = self.theory().definition(def).fixpoint == Fixpoint::Mu;
                    if least == (of == Of::Value) {
                        let bits = self.arguments(def, &arguments, &trail.values);
                        trail.needs.push(Need {
                            predicate: def,
                            of,
                            bits,
                        });
                    }
                }
                Term::Apply(predicate, Of::Value, arguments) => {
                    let bits = self.arguments(predicate, &arguments, &trail.values);
                    let of = Of::Value;
                    trail.plain.push(Need {
                        predicate,
                        of,
                        bits,
                    });
                }
                Term::Not(inner) => {
                    if let Term::Apply(predicate, Of::Value, arguments) =
                        self.theory().terms.get(inner).clone()
                    {
                        let need = Need {
                            predicate,
                            of: Of::Complement,
                            bits: self.arguments(predicate, &arguments, &trail.values),
                        };
                        if !recursive(predicate, self) {
                            trail.plain.push(need);
                        } else if self.theory().definition(predicate).fixpoint == Fixpoint::Nu {
                            trail.needs.push(need);
                        } else {
                            trail.more = true;
                        }
                    } else {
                        trail.more |= self.mentions(id, recursive);
                    }
                }
                Term::Iff(..) | Term::Care(..) => trail.more |= self.mentions(id, recursive),
                _ => {}
            }
        }
        Ok(trail)
    }

    /// Whether a term applies a recursive predicate.
    fn mentions(&self, id: TermId, recursive: &dyn Fn(DefId, &Self) -> bool) -> bool {
        let list = crate::depend::references(&self.theory().terms, id);
        list.iter().any(|(def, _)| recursive(*def, self))
    }

    /// Chooses values of variables of an `exists` that holds.
    fn choose(&mut self, id: TermId, vars: &[VarId], trail: &mut Trail) -> Result<(), Unanswered> {
        let engine = &mut self.fixpoints.engine;
        let bound: FxHashSet<Var> = vars.iter().flat_map(|&id| engine.vars_of(id)).collect();
        // Another quantifier may have used the same BDD variables before.
        trail.values.retain(|var, _| !bound.contains(var));
        let mut operands = Vec::new();
        engine
            .theory
            .terms
            .operands(id, |operand| operands.push(operand));
        let mut parts = Vec::new();
        for operand in operands {
            let value = engine.evaluate(operand)?;
            let support = value.support();
            let known: Vec<(Var, bool)> = support
                .iter()
                .filter_map(|var| Some((*var, *trail.values.get(var)?)))
                .collect();
            let known = engine.manager.minterm(known)?;
            parts.push(value.constrain(&known)?);
        }
        for &var in vars {
            parts.extend(engine.range(var)?);
        }
        let all = product::conjunction(&engine.manager, parts)?;
        let list: Vec<Var> = vars.iter().flat_map(|&id| engine.vars_of(id)).collect();
        let Some(model) = all.pick(&list) else {
            return Ok(());
        };
        trail
            .values
            .extend(list.into_iter().zip(model.iter().copied()));
        let widths: Vec<usize> = vars
            .iter()
            .map(|&id| engine.theory.width(id) as usize)
            .collect();
        trail
            .choices
            .extend(vars.iter().copied().zip(split(&model, &widths)));
        Ok(())
    }

    /// The bits of arguments.
    fn arguments(
        &self,
        def: DefId,
        arguments: &[Argument],
        values: &FxHashMap<Var, bool>,
    ) -> Vec<bool> {
        let engine = &self.fixpoints.engine;
        let mut bits = Vec::new();
        let parameters = &engine.theory.definition(def).parameters;
        for (argument, &parameter) in arguments.iter().zip(parameters) {
            let width = engine.theory.width(parameter);
            for k in 0..width {
                bits.push(match argument {
                    Argument::Code(code) => crate::types::code_bit(*code, width, k),
                    Argument::Bits(first) => {
                        values.get(&engine.var(first + k)).copied().unwrap_or(false)
                    }
                });
            }
        }
        bits
    }

    /// All rounds of a component's fixpoint, each from the one before.
    fn rounds(&mut self, members: Vec<DefId>, of: Of) -> Result<Rounds, Unanswered> {
        let set: FxHashSet<DefId> = members.iter().copied().collect();
        let engine = &mut self.fixpoints.engine;
        let mut bodies = Vec::new();
        for &def in &members {
            let definition = engine.theory.definition(def);
            bodies.push(if of == Of::Value {
                definition.body.unwrap_or(crate::term::FALSE)
            } else {
                let dual = definition.dual.unwrap_or(crate::term::FALSE);
                to_complement(&mut engine.theory.terms, dual, |def| set.contains(&def))
            });
        }
        let nothing = engine.manager.constant(false);
        let mut values = vec![vec![nothing; members.len()]];
        loop {
            let last = &values[values.len() - 1];
            for (&def, value) in members.iter().zip(last) {
                engine.set(def, of, value.clone());
            }
            let mut new = Vec::new();
            for (&def, &body) in members.iter().zip(&bodies) {
                let space = engine.space(def)?;
                new.push(engine.evaluate(body)?.and(&space)?);
            }
            if new == *last {
                break;
            }
            values.push(new);
        }
        Ok(Rounds {
            members,
            of,
            bodies,
            values,
        })
    }

    /// The path to a tuple.
    fn path(&mut self, target: Need) -> Result<Vec<Step>, Unanswered> {
        let Some(members) = self.path_component(target.predicate) else {
            return Ok(Vec::new());
        };
        let before: Vec<Bdd> = members.iter().map(|&def| self.present(def)).collect();
        let rounds = self.rounds(members, target.of)?;
        let path = self.walk(&rounds, target);
        for (&def, value) in rounds.members.iter().zip(before) {
            self.fixpoints.engine.set(def, Of::Value, value);
        }
        path
    }

    fn walk(&mut self, rounds: &Rounds, target: Need) -> Result<Vec<Step>, Unanswered> {
        let set: FxHashSet<DefId> = rounds.members.iter().copied().collect();
        let mut path = Vec::new();
        let mut next = Some(target);
        let mut limit = rounds.values.len();
        while let Some(Need {
            predicate, bits, ..
        }) = next.take()
        {
            let engine = &mut self.fixpoints.engine;
            let vars = engine.parameter_vars(predicate);
            let values: FxHashMap<Var, bool> =
                vars.iter().copied().zip(bits.iter().copied()).collect();
            let widths: Vec<usize> = engine
                .theory
                .definition(predicate)
                .parameters
                .iter()
                .map(|&id| engine.theory.width(id) as usize)
                .collect();
            path.push(Step {
                predicate,
                fails: rounds.of == Of::Complement,
                tuple: split(&bits, &widths),
                with: Vec::new(),
                more: false,
            });
            let member = rounds.members.iter().position(|def| *def == predicate);
            let Some(member) = member else { break };
            // The round with which the tuple came in.
            let holds = |round: &usize| {
                rounds.values[*round][member].eval(|v| values.get(&v).copied().unwrap_or(false))
            };
            let Some(round) = (1..limit).find(holds) else {
                break;
            };
            if path.len() >= LONGEST {
                break;
            }
            limit = round;
            for (&def, value) in rounds.members.iter().zip(&rounds.values[round - 1]) {
                engine.set(def, rounds.of, value.clone());
            }
            let body = rounds.bodies[member];
            let trail = self.follow(body, values, &|def, _| set.contains(&def))?;
            let more = trail.more;
            let mut needs = trail.needs.into_iter();
            next = needs.next();
            let with: Vec<(DefId, Tuple)> = needs
                .map(|need| {
                    let theory = self.theory();
                    let widths: Vec<usize> = theory
                        .definition(need.predicate)
                        .parameters
                        .iter()
                        .map(|&id| theory.width(id) as usize)
                        .collect();
                    (need.predicate, split(&need.bits, &widths))
                })
                .collect();
            if let Some(step) = path.last_mut() {
                step.with = with;
                step.more = more;
            }
        }
        path.reverse();
        Ok(path)
    }
}
