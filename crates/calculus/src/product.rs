//! Conjunctions of many BDDs, with early quantification.
//!
//! A variable is quantified as soon as the last conjunct that mentions it has been multiplied in.
//! Size decides which conjuncts are multiplied first: of the sets of conjuncts that share a
//! variable, the one with the fewest nodes. This is bucket elimination; compare Burch, Clarke and
//! Long, VLSI 1991, for transition relations in parts.

use std::cell::OnceCell;
use std::rc::Rc;

use droste_base::StopReason;
use droste_bdd::{Bdd, Cube, Manager, Var};
use rustc_hash::{FxHashMap, FxHashSet};

type Result<T> = std::result::Result<T, StopReason>;

/// The conjunction, by halves.
pub(crate) fn conjunction(manager: &Manager, mut list: Vec<Bdd>) -> Result<Bdd> {
    while list.len() > 1 {
        let mut next = Vec::with_capacity(list.len().div_ceil(2));
        let mut pairs = list.chunks_exact(2);
        for pair in &mut pairs {
            let both = pair[0].and(&pair[1])?;
            if both.is_false() {
                return Ok(both);
            }
            next.push(both);
        }
        next.extend(pairs.remainder().iter().cloned());
        list = next;
    }
    Ok(list.pop().unwrap_or_else(|| manager.constant(true)))
}

/// The most conjuncts that are told apart.
const MOST: usize = 64;

/// The conjunction of `list`, existentially quantified over the variables in `cube`, which `vars`
/// lists.
pub(crate) fn exists(
    manager: &Manager,
    mut list: Vec<Part>,
    cube: &Cube,
    vars: impl FnOnce() -> Vec<Var>,
) -> Result<Bdd> {
    list.retain(|part| !part.bdd.is_true());
    if list.iter().any(|part| part.bdd.is_false()) {
        return Ok(manager.constant(false));
    }
    match &list[..] {
        [] => return Ok(manager.constant(true)),
        [one] => return one.bdd.exists(cube),
        [one, two] => return one.bdd.and_exists(&two.bdd, cube),
        _ => {}
    }
    while list.len() > MOST {
        let size = list.len().div_ceil(MOST);
        let mut fewer = Vec::new();
        for chunk in list.chunks(size) {
            let chunk = chunk.iter().map(|part| part.bdd.clone()).collect();
            fewer.push(Part::new(conjunction(manager, chunk)?));
        }
        list = fewer;
    }
    let mut quantified: FxHashSet<Var> = vars().into_iter().collect();
    let mut parts: Vec<Measured> = list.iter().map(|part| part.measured(&quantified)).collect();
    loop {
        // Which parts mention a variable.
        let mut holders: FxHashMap<Var, u64> = FxHashMap::default();
        for (i, part) in parts.iter().enumerate() {
            for var in part.vars.iter().filter(|var| quantified.contains(var)) {
                *holders.entry(*var).or_default() |= 1 << i;
            }
        }
        let mut groups: FxHashMap<u64, Vec<Var>> = FxHashMap::default();
        for (var, mask) in holders {
            groups.entry(mask).or_default().push(var);
        }
        let cost = |mask: u64| -> usize {
            let picked = parts.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
            picked.map(|(_, part)| part.size).sum()
        };
        let cheapest = groups
            .keys()
            .copied()
            .min_by_key(|&mask| (mask.count_ones() > 1, cost(mask), mask));
        let Some(mask) = cheapest else {
            break;
        };
        let mut gone: Vec<Var> = groups
            .iter()
            .filter(|(other, _)| **other & !mask == 0)
            .flat_map(|(_, vars)| vars.iter().copied())
            .collect();
        gone.sort_unstable();
        let cube = manager.cube(&gone)?;
        let mut picked = Vec::new();
        let mut rest = Vec::new();
        for (i, part) in parts.into_iter().enumerate() {
            if mask >> i & 1 == 1 {
                picked.push(part);
            } else {
                rest.push(part);
            }
        }
        picked.sort_by_key(|part| part.size);
        let last = picked.pop();
        let mut product = manager.constant(true);
        for part in picked {
            product = product.and(&part.bdd)?;
        }
        if let Some(last) = last {
            product = product.and_exists(&last.bdd, &cube)?;
        }
        if product.is_false() {
            return Ok(product);
        }
        for var in gone {
            quantified.remove(&var);
        }
        parts = rest;
        if !product.is_true() {
            parts.push(Part::new(product).measured(&quantified));
        }
    }
    parts.sort_by_key(|part| part.size);
    conjunction(manager, parts.into_iter().map(|part| part.bdd).collect())
}

/// A conjunct.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) bdd: Bdd,
    /// Its variables and its size, once they are known. Copies share them: a conjunct that does not
    /// change from round to round is measured once.
    measure: Rc<OnceCell<(Vec<Var>, usize)>>,
}

impl Part {
    pub(crate) fn new(bdd: Bdd) -> Self {
        Part {
            bdd,
            measure: Rc::default(),
        }
    }

    fn measured(&self, quantified: &FxHashSet<Var>) -> Measured {
        let (vars, size) = self.measure.get_or_init(|| self.bdd.support_and_size());
        let vars = vars.iter().copied();
        Measured {
            bdd: self.bdd.clone(),
            vars: vars.filter(|var| quantified.contains(var)).collect(),
            size: *size,
        }
    }
}

/// A conjunct, its quantified variables, and its size.
struct Measured {
    bdd: Bdd,
    vars: Vec<Var>,
    size: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use droste_base::Limits;
    use droste_testkit::random::Random;

    #[test]
    fn early_quantification_changes_nothing() {
        let mut random = Random::new(7);
        for _ in 0..500 {
            let manager = Manager::new(&Limits::default());
            let vars = manager.new_vars(8);
            let list: Vec<Bdd> = (0..random.between(0, 7))
                .map(|_| {
                    let mut f = manager.constant(false);
                    for _ in 0..random.between(1, 3) {
                        let literals: Vec<(Var, bool)> = vars
                            .iter()
                            .filter(|_| random.percent(30))
                            .copied()
                            .collect::<Vec<_>>()
                            .into_iter()
                            .map(|var| (var, random.percent(50)))
                            .collect();
                        f = f.or(&manager.minterm(literals).unwrap()).unwrap();
                    }
                    f
                })
                .collect();
            let bound: Vec<Var> = vars
                .iter()
                .filter(|_| random.percent(50))
                .copied()
                .collect();
            let cube = manager.cube(&bound).unwrap();
            let expected = conjunction(&manager, list.clone())
                .unwrap()
                .exists(&cube)
                .unwrap();
            let list = list.into_iter().map(Part::new).collect();
            assert_eq!(
                exists(&manager, list, &cube, || bound.clone()).unwrap(),
                expected
            );
        }
    }
}
