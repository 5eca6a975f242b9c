//! The naive evaluator: the paper's `Evaluate(R, Eq)` taken literally, over tables of all tuples.

use std::collections::HashSet;
use std::rc::Rc;

use droste_calculus::term::DefId;
use droste_calculus::{Solver, Step};

use crate::world::{Arg, F, Kind, Scope, World};

/// Members of a relation, by number of the tuple.
pub(crate) type Table = Rc<Vec<bool>>;
pub(crate) type Env = Vec<Option<Table>>;

pub(crate) enum Failed {
    /// The rounds run in a circle.
    Oscillates,
    /// It takes too long.
    Fuel,
}

pub(crate) struct Naive<'a> {
    pub(crate) world: &'a World,
    pub(crate) fuel: u64,
}

impl Naive<'_> {
    pub(crate) fn tuples(&self, params: &[usize]) -> usize {
        params.iter().map(|&t| self.world.size(t)).product()
    }

    /// `Evaluate(pred, Eq)` with some predicates fixed.
    pub(crate) fn value(&mut self, pred: usize, env: &Env) -> Result<Table, Failed> {
        if let Some(table) = &env[pred] {
            return Ok(Rc::clone(table));
        }
        let kind = self.world.preds[pred].kind;
        if kind == Kind::Plain {
            return self.table(pred, env);
        }
        let count = self.tuples(&self.world.preds[pred].params);
        let mut s: Table = Rc::new(vec![kind == Kind::Nu; count]);
        let mut seen = HashSet::new();
        loop {
            let mut inner = env.clone();
            inner[pred] = Some(Rc::clone(&s));
            let new = self.table(pred, &inner)?;
            if new == s {
                return Ok(s);
            }
            if !seen.insert(Rc::clone(&new)) {
                return Err(Failed::Oscillates);
            }
            s = new;
        }
    }

    /// The body's value for all arguments.
    pub(crate) fn table(&mut self, pred: usize, env: &Env) -> Result<Table, Failed> {
        let definition = &self.world.preds[pred];
        let list = uses(&definition.body);
        let mut tables = Vec::new();
        for &used in &list {
            self.fuel = self.fuel.checked_sub(1).ok_or(Failed::Fuel)?;
            tables.push(self.value(used, env)?);
        }
        let lookup = |p: usize| -> Table {
            let at = list
                .iter()
                .position(|&u| u == p)
                .expect("all uses are evaluated");
            Rc::clone(&tables[at])
        };
        let params = definition.params.clone();
        let count = self.tuples(&params);
        let mut result = Vec::with_capacity(count);
        for number in 0..count {
            let mut values = self.decode(&params, number);
            let mut scope = params.clone();
            let body = &self.world.preds[pred].body;
            result.push(self.holds(body, &mut scope, &mut values, &lookup)?);
        }
        Ok(Rc::new(result))
    }

    pub(crate) fn decode(&self, params: &[usize], mut number: usize) -> Vec<usize> {
        let mut values = vec![0; params.len()];
        for (i, &ty) in params.iter().enumerate().rev() {
            let size = self.world.size(ty);
            values[i] = number % size;
            number /= size;
        }
        values
    }

    /// The number of a tuple that the solver shows.
    pub(crate) fn number(&self, params: &[usize], tuple: &[Vec<bool>]) -> usize {
        let mut number = 0;
        for (&ty, bits) in params.iter().zip(tuple) {
            number = number * self.world.size(ty) + self.value_of(ty, &mut bits.as_slice());
        }
        number
    }

    pub(crate) fn value_of(&self, ty: usize, bits: &mut &[bool]) -> usize {
        let parts = self.world.parts(ty);
        if parts.is_empty() {
            let (own, rest) = bits.split_at(self.world.width(ty) as usize);
            *bits = rest;
            return own.iter().fold(0, |n, &bit| n << 1 | usize::from(bit));
        }
        let mut value = 0;
        for part in parts {
            value = value * self.world.size(part) + self.value_of(part, bits);
        }
        value
    }

    /// Whether each tuple of a path follows from the one before (and those told beside it): the body must hold of it
    /// when the predicates on the path are nothing but these tuples. In the complement, it must fail when they are
    /// everything but these.
    pub(crate) fn follows(&mut self, solver: &Solver<'_>, path: &[Step]) -> Result<bool, Failed> {
        let pred = |def: DefId| -> usize {
            let name = &solver.theory().definitions()[def.0 as usize].name;
            name[1..].parse().expect("p0, p1, ...")
        };
        let env: Env = vec![None; self.world.preds.len()];
        for (i, step) in path.iter().enumerate() {
            if step.more {
                continue;
            }
            let own = pred(step.predicate);
            let mut premises: Vec<(usize, usize)> = Vec::new();
            if i > 0 {
                let before = pred(path[i - 1].predicate);
                let params = &self.world.preds[before].params;
                premises.push((before, self.number(params, &path[i - 1].tuple)));
            }
            for (def, tuple) in &step.with {
                let other = pred(*def);
                premises.push((other, self.number(&self.world.preds[other].params, tuple)));
            }
            // Whatever depends on the predicate and is depended upon is on the same path.
            let body = &self.world.preds[own].body;
            let list = uses(body);
            let mut tables: Vec<Table> = Vec::new();
            for &used in &list {
                let together = reaches(solver, used, own);
                tables.push(if together {
                    let count = self.tuples(&self.world.preds[used].params);
                    let mut table = vec![step.fails; count];
                    for &(p, number) in &premises {
                        if p == used {
                            table[number] = !step.fails;
                        }
                    }
                    Rc::new(table)
                } else {
                    self.value(used, &env)?
                });
            }
            let lookup = |p: usize| -> Table {
                let at = list
                    .iter()
                    .position(|&u| u == p)
                    .expect("all uses are evaluated");
                Rc::clone(&tables[at])
            };
            let params = self.world.preds[own].params.clone();
            let number = self.number(&params, &step.tuple);
            let mut values = self.decode(&params, number);
            if self.holds(body, &mut params.clone(), &mut values, &lookup)? == step.fails {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn query(&mut self, f: &F) -> Result<bool, Failed> {
        let env: Env = vec![None; self.world.preds.len()];
        let list = uses(f);
        let mut tables = Vec::new();
        for &pred in &list {
            tables.push(self.value(pred, &env)?);
        }
        let lookup = |p: usize| -> Table {
            let at = list
                .iter()
                .position(|&u| u == p)
                .expect("all uses are evaluated");
            Rc::clone(&tables[at])
        };
        self.holds(f, &mut Vec::new(), &mut Vec::new(), &lookup)
    }

    pub(crate) fn holds(
        &mut self,
        f: &F,
        scope: &mut Scope,
        values: &mut Vec<usize>,
        lookup: &dyn Fn(usize) -> Table,
    ) -> Result<bool, Failed> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Failed::Fuel)?;
        Ok(match f {
            F::Const(value) => *value,
            F::Path(path) => self.world.path_value(scope, values, path) == 1,
            F::Equal(differs, l, r) => {
                let l = self.world.path_value(scope, values, l);
                let r = self.world.path_value(scope, values, r);
                (l == r) != *differs
            }
            F::Code(differs, path, _, code) => {
                (self.world.path_value(scope, values, path) == *code) != *differs
            }
            F::Apply(pred, args) => {
                let mut number = 0;
                for (arg, &ty) in args.iter().zip(&self.world.preds[*pred].params) {
                    let value = match arg {
                        Arg::Path(path) => self.world.path_value(scope, values, path),
                        Arg::Constant(code) => *code,
                    };
                    number = number * self.world.size(ty) + value;
                }
                lookup(*pred)[number]
            }
            F::Not(f) => !self.holds(f, scope, values, lookup)?,
            F::And(list) => {
                for f in list {
                    if !self.holds(f, scope, values, lookup)? {
                        return Ok(false);
                    }
                }
                true
            }
            F::Or(list) => {
                for f in list {
                    if self.holds(f, scope, values, lookup)? {
                        return Ok(true);
                    }
                }
                false
            }
            F::Arrow(arrow, l, r) => {
                let l = self.holds(l, scope, values, lookup)?;
                let r = self.holds(r, scope, values, lookup)?;
                match *arrow {
                    "->" => !l || r,
                    "<-" => l || !r,
                    "<->" => l == r,
                    _ => l != r,
                }
            }
            F::If(c, t, e) => match (self.holds(c, scope, values, lookup)?, e) {
                (true, _) => self.holds(t, scope, values, lookup)?,
                (false, Some(e)) => self.holds(e, scope, values, lookup)?,
                (false, None) => true,
            },
            F::Case(arms) => {
                for (c, e) in arms {
                    if self.holds(c, scope, values, lookup)? {
                        return self.holds(e, scope, values, lookup);
                    }
                }
                false
            }
            F::Quantifier(exists, vars, body) => {
                let types: Vec<usize> = vars.iter().map(|(_, ty)| *ty).collect();
                let before = scope.len();
                scope.extend(&types);
                let mut found = !*exists;
                for number in 0..self.tuples(&types) {
                    let row = self.decode(&types, number);
                    values.extend(row);
                    let holds = self.holds(body, scope, values, lookup);
                    values.truncate(before);
                    if holds? == *exists {
                        found = *exists;
                        break;
                    }
                }
                scope.truncate(before);
                found
            }
            F::Care(_, f, g) => {
                self.holds(f, scope, values, lookup)? && self.holds(g, scope, values, lookup)?
            }
        })
    }
}

/// Whether one predicate depends on another, once what is obviously true or false has been left out.
pub(crate) fn reaches(solver: &Solver<'_>, from: usize, to: usize) -> bool {
    let theory = solver.theory();
    let find = |pred: usize| theory.find(&format!("p{pred}")).expect("all are defined");
    let (from, to) = (find(from), find(to));
    let mut seen = vec![from];
    let mut next = 0;
    while next < seen.len() {
        for (used, _) in &theory.definitions()[seen[next].0 as usize].references {
            if !seen.contains(used) {
                seen.push(*used);
            }
        }
        next += 1;
    }
    seen.contains(&to)
}

/// The predicates a formula applies, each once, in order.
pub(crate) fn uses(f: &F) -> Vec<usize> {
    pub(crate) fn walk(f: &F, out: &mut Vec<usize>) {
        match f {
            F::Apply(pred, _) => {
                if !out.contains(pred) {
                    out.push(*pred);
                }
            }
            F::Not(f) | F::Quantifier(_, _, f) => walk(f, out),
            F::And(list) | F::Or(list) => list.iter().for_each(|f| walk(f, out)),
            F::Arrow(_, l, r) | F::Care(_, l, r) => {
                walk(l, out);
                walk(r, out);
            }
            F::If(c, t, e) => {
                walk(c, out);
                walk(t, out);
                if let Some(e) = e {
                    walk(e, out);
                }
            }
            F::Case(arms) => {
                for (c, e) in arms {
                    walk(c, out);
                    walk(e, out);
                }
            }
            F::Const(_) | F::Path(_) | F::Equal(..) | F::Code(..) => {}
        }
    }
    let mut out = Vec::new();
    walk(f, &mut out);
    out
}
