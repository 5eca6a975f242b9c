//! Every operation against truth tables over six variables, with garbage collection and changes
//! of the order in between; and larger functions against another package.

use biodivine_lib_bdd::{Bdd as Other, BddVariableSet};
use droste_base::Limits;
use droste_bdd::{Bdd, Manager, Var};
use num_bigint::BigUint;
use proptest::prelude::*;

const N: u32 = 6;

/// The truth table of a function of six variables: bit `i` is its value where variable `k` is bit `k` of `i`.
type Table = u64;

fn variable(k: u32) -> Table {
    (0..64)
        .filter(|i| i >> k & 1 != 0)
        .fold(0, |table, i| table | 1 << i)
}

fn cofactor(table: Table, k: u32, value: bool) -> Table {
    (0..64u32).fold(0, |out, i| {
        let j = if value { i | 1 << k } else { i & !(1 << k) };
        out | (table >> j & 1) << i
    })
}

fn exists(table: Table, vars: u32) -> Table {
    (0..N)
        .filter(|k| vars >> k & 1 != 0)
        .fold(table, |t, k| cofactor(t, k, false) | cofactor(t, k, true))
}

fn rename(table: Table, to: &[u32]) -> Table {
    // f[to/from]: the value at an assignment is f at the assignment of the renamed variables.
    (0..64u32).fold(0, |out, i| {
        let j = (0..N).fold(0, |j, k| j | (i >> to[k as usize] & 1) << k);
        out | (table >> j & 1) << i
    })
}

#[derive(Clone, Debug)]
enum Op {
    And(usize, usize),
    Or(usize, usize),
    Xor(usize, usize),
    Iff(usize, usize),
    Implies(usize, usize),
    Minus(usize, usize),
    Not(usize),
    Ite(usize, usize, usize),
    Exists(usize, u32),
    Forall(usize, u32),
    AndExists(usize, usize, u32),
    Rename(usize, Vec<u32>),
    Collect,
    Sift,
    SiftGroups(Vec<u32>, u64),
    Order(Vec<u32>),
    Drop(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let i = 0..40usize;
    let permutation = Just((0..N).collect::<Vec<u32>>()).prop_shuffle();
    let targets = prop::collection::vec(0..N, N as usize);
    prop_oneof![
        4 => (i.clone(), i.clone()).prop_map(|(a, b)| Op::And(a, b)),
        4 => (i.clone(), i.clone()).prop_map(|(a, b)| Op::Or(a, b)),
        4 => (i.clone(), i.clone()).prop_map(|(a, b)| Op::Xor(a, b)),
        2 => (i.clone(), i.clone()).prop_map(|(a, b)| Op::Iff(a, b)),
        2 => (i.clone(), i.clone()).prop_map(|(a, b)| Op::Implies(a, b)),
        2 => (i.clone(), i.clone()).prop_map(|(a, b)| Op::Minus(a, b)),
        3 => i.clone().prop_map(Op::Not),
        4 => (i.clone(), i.clone(), i.clone()).prop_map(|(a, b, c)| Op::Ite(a, b, c)),
        2 => (i.clone(), 0..64u32).prop_map(|(a, v)| Op::Exists(a, v)),
        2 => (i.clone(), 0..64u32).prop_map(|(a, v)| Op::Forall(a, v)),
        3 => (i.clone(), i.clone(), 0..64u32).prop_map(|(a, b, v)| Op::AndExists(a, b, v)),
        2 => (i.clone(), permutation.clone()).prop_map(|(a, p)| Op::Rename(a, p)),
        2 => (i.clone(), targets).prop_map(|(a, p)| Op::Rename(a, p)),
        1 => Just(Op::Collect),
        1 => Just(Op::Sift),
        1 => (prop::collection::vec(0..N, N as usize), 0..60u64).prop_map(|(g, e)| Op::SiftGroups(g, e)),
        1 => permutation.prop_map(Op::Order),
        2 => i.prop_map(Op::Drop),
    ]
}

fn vars() -> Vec<Var> {
    (0..N).map(Var).collect()
}

fn set(vars: u32) -> Vec<Var> {
    (0..N).filter(|k| vars >> k & 1 != 0).map(Var).collect()
}

fn table_of(f: &Bdd) -> Table {
    (0..64u32)
        .filter(|i| f.eval(|var| i >> var.0 & 1 != 0))
        .fold(0, |table, i| table | 1 << i)
}

fn check_queries(f: &Bdd, table: Table) {
    assert_eq!(f.count(&vars()), BigUint::from(table.count_ones()));
    assert_eq!(f.is_true(), table == Table::MAX);
    assert_eq!(f.is_false(), table == 0);
    let picked = f.pick(&vars());
    assert_eq!(picked.is_some(), table != 0);
    if let Some(picked) = picked {
        let i = (0..N).fold(0, |i, k| i | u32::from(picked[k as usize]) << k);
        assert!(table >> i & 1 != 0);
    }
    let mut support: Vec<u32> = f.support().iter().map(|v| v.0).collect();
    support.sort_unstable();
    let depends: Vec<u32> = (0..N)
        .filter(|&k| cofactor(table, k, false) != cofactor(table, k, true))
        .collect();
    assert_eq!(support, depends);
    let union = f.cubes().fold(0, |union, cube| {
        let inside = cube.iter().fold(Table::MAX, |t, &(var, value)| {
            t & if value {
                variable(var.0)
            } else {
                !variable(var.0)
            }
        });
        assert_eq!(union & inside, 0, "cubes are disjoint");
        union | inside
    });
    assert_eq!(union, table);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn operations_agree_with_truth_tables(ops in prop::collection::vec(op(), 1..60)) {
        let manager = Manager::new(&Limits::default());
        manager.new_vars(N);
        let mut pool: Vec<(Bdd, Table)> = (0..N)
            .map(|k| (manager.var(Var(k)).unwrap(), variable(k)))
            .collect();
        pool.push((manager.constant(true), Table::MAX));
        pool.push((manager.constant(false), 0));
        for op in ops {
            let at = |i: usize| { let (f, t) = &pool[i % pool.len()]; (f.clone(), *t) };
            let new = match op {
                Op::And(a, b) => { let ((f, s), (g, t)) = (at(a), at(b)); (f.and(&g).unwrap(), s & t) }
                Op::Or(a, b) => { let ((f, s), (g, t)) = (at(a), at(b)); (f.or(&g).unwrap(), s | t) }
                Op::Xor(a, b) => { let ((f, s), (g, t)) = (at(a), at(b)); (f.xor(&g).unwrap(), s ^ t) }
                Op::Iff(a, b) => { let ((f, s), (g, t)) = (at(a), at(b)); (f.iff(&g).unwrap(), !(s ^ t)) }
                Op::Implies(a, b) => { let ((f, s), (g, t)) = (at(a), at(b)); (f.implies(&g).unwrap(), !s | t) }
                Op::Minus(a, b) => { let ((f, s), (g, t)) = (at(a), at(b)); (f.minus(&g).unwrap(), s & !t) }
                Op::Not(a) => { let (f, s) = at(a); (f.not(), !s) }
                Op::Ite(a, b, c) => {
                    let ((f, s), (g, t), (h, u)) = (at(a), at(b), at(c));
                    (f.ite(&g, &h).unwrap(), s & t | !s & u)
                }
                Op::Exists(a, v) => {
                    let (f, s) = at(a);
                    (f.exists(&manager.cube(&set(v)).unwrap()).unwrap(), exists(s, v))
                }
                Op::Forall(a, v) => {
                    let (f, s) = at(a);
                    (f.forall(&manager.cube(&set(v)).unwrap()).unwrap(), !exists(!s, v))
                }
                Op::AndExists(a, b, v) => {
                    let ((f, s), (g, t)) = (at(a), at(b));
                    (f.and_exists(&g, &manager.cube(&set(v)).unwrap()).unwrap(), exists(s & t, v))
                }
                Op::Rename(a, to) => {
                    let (f, s) = at(a);
                    let pairs: Vec<(Var, Var)> = (0..N).map(|k| (Var(k), Var(to[k as usize]))).collect();
                    (f.rename(&manager.renaming(&pairs)).unwrap(), rename(s, &to))
                }
                Op::Collect => { manager.collect(); continue }
                Op::Sift => { manager.sift().unwrap(); continue }
                Op::SiftGroups(of, effort) => {
                    let groups: Vec<Vec<Var>> = (0..N)
                        .map(|group| vars().into_iter().filter(|var| of[var.0 as usize] == group).collect())
                        .collect();
                    // Neighbours stay neighbours, in their order.
                    let together = |order: &[Var]| -> Vec<(Var, Var)> {
                        let pairs = order.windows(2).map(|pair| (pair[0], pair[1]));
                        let mut pairs: Vec<_> = pairs.filter(|(a, b)| of[a.0 as usize] == of[b.0 as usize]).collect();
                        pairs.sort_unstable();
                        pairs
                    };
                    let before = together(&manager.order());
                    manager.sift_groups(&groups, effort).unwrap();
                    let after = together(&manager.order());
                    prop_assert!(before.iter().all(|pair| after.contains(pair)));
                    continue
                }
                Op::Order(order) => {
                    let order: Vec<Var> = order.into_iter().map(Var).collect();
                    manager.set_order(&order).unwrap();
                    prop_assert_eq!(manager.order(), order);
                    continue
                }
                Op::Drop(a) => { if pool.len() > 4 { let i = a % pool.len(); pool.swap_remove(i); } continue }
            };
            pool.push(new);
        }
        for (f, table) in &pool {
            prop_assert_eq!(table_of(f), *table);
            check_queries(f, *table);
            for (g, other) in &pool {
                prop_assert_eq!(f == g, table == other);
                prop_assert_eq!(f.implies_all(g).unwrap(), table & !other == 0);
                // Simplification agrees on the care set.
                for simplified in [f.constrain(g).unwrap(), f.restrict(g).unwrap()] {
                    prop_assert_eq!(table_of(&simplified) & other, table & other);
                }
            }
        }
    }

    #[test]
    fn larger_functions_agree_with_another_package(
        clauses in prop::collection::vec(prop::collection::vec((0..14u16, any::<bool>()), 2..5), 5..40),
        quantified in prop::collection::vec(0..14u16, 0..8),
    ) {
        let manager = Manager::new(&Limits::default());
        let vars = manager.new_vars(14);
        let others = BddVariableSet::new_anonymous(14);
        let names = others.variables();
        let mut ours = manager.constant(true);
        let mut theirs = others.mk_true();
        for clause in &clauses {
            let mut c = manager.constant(false);
            let mut d: Other = others.mk_false();
            for &(var, positive) in clause {
                let literal = manager.var(vars[var as usize]).unwrap();
                c = c.or(&if positive { literal } else { literal.not() }).unwrap();
                d = d.or(&others.mk_literal(names[var as usize], positive));
            }
            ours = ours.and(&c).unwrap();
            theirs = theirs.and(&d);
        }
        prop_assert_eq!(ours.count(&vars).to_string(), theirs.exact_cardinality().to_string());
        let chosen: Vec<Var> = quantified.iter().map(|&i| vars[i as usize]).collect();
        let ours = ours.exists(&manager.cube(&chosen).unwrap()).unwrap();
        let chosen: Vec<_> = quantified.iter().map(|&i| names[i as usize]).collect();
        let theirs = theirs.exists(&chosen);
        prop_assert_eq!(ours.count(&vars).to_string(), theirs.exact_cardinality().to_string());
        manager.sift().unwrap();
        prop_assert_eq!(ours.count(&vars).to_string(), theirs.exact_cardinality().to_string());
    }
}
