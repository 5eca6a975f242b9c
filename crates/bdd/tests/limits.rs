//! Interruption, depth, collection, and what sifting is for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use droste_base::{Limits, StopReason};
use droste_bdd::{Bdd, Manager, Var, on_large_stack};

/// Pairs of equal bits, the two halves apart: exponential in this order, linear interleaved.
fn equal_halves(manager: &Manager, vars: &[Var]) -> Result<Bdd, StopReason> {
    let half = vars.len() / 2;
    let mut all = manager.constant(true);
    for k in 0..half {
        let same = manager.var(vars[k])?.iff(&manager.var(vars[k + half])?)?;
        all = all.and(&same)?;
    }
    Ok(all)
}

#[test]
fn an_operation_stops_when_cancelled() {
    let cancel = Arc::new(AtomicBool::new(true));
    let manager = Manager::new(&Limits {
        cancel: Some(cancel),
        ..Limits::default()
    });
    let vars = manager.new_vars(60);
    assert_eq!(equal_halves(&manager, &vars), Err(StopReason::Cancelled));
}

#[test]
fn an_operation_stops_in_time() {
    let timeout = Duration::from_millis(50);
    let manager = Manager::new(&Limits::within(timeout));
    let vars = manager.new_vars(200);
    assert_eq!(
        equal_halves(&manager, &vars),
        Err(StopReason::Time(timeout))
    );
}

#[test]
fn sifting_finds_the_interleaved_order() {
    let manager = Manager::new(&Limits::default());
    let vars = manager.new_vars(24);
    let function = equal_halves(&manager, &vars).unwrap();
    let before = function.node_count();
    manager.sift().unwrap();
    assert!(before > 4000, "{before}");
    assert!(function.node_count() <= 40, "{}", function.node_count());
}

#[test]
fn a_hundred_thousand_variables_are_not_too_deep() {
    on_large_stack(100_000, || {
        let manager = Manager::new(&Limits::default());
        let vars = manager.new_vars(100_000);
        let all = manager.minterm(vars.iter().map(|&v| (v, true))).unwrap();
        let none = manager.minterm(vars.iter().map(|&v| (v, false))).unwrap();
        let either = all.or(&none).unwrap();
        assert_eq!(either.node_count(), 199_999);
        let cube = manager.cube(&vars[..50_000]).unwrap();
        assert!(!either.exists(&cube).unwrap().is_true());
    });
}

#[test]
fn garbage_is_collected() {
    let manager = Manager::new(&Limits::default());
    let vars = manager.new_vars(20);
    let mut kept = manager.constant(false);
    for round in 0..40u32 {
        let mut f = manager.constant(true);
        for k in 0..10 {
            let i = (k * 7 + round) % 20;
            let j = (k * 3 + round * 5 + 1) % 20;
            let x = manager.var(vars[i as usize]).unwrap();
            f = f
                .and(&x.or(&manager.var(vars[j as usize]).unwrap()).unwrap())
                .unwrap();
        }
        kept = kept.xor(&f).unwrap();
    }
    let nodes = kept.node_count();
    manager.collect();
    // The function and nothing else.
    assert!(manager.node_count() <= nodes + 1);
}

#[test]
fn an_operation_that_takes_too_long_is_given_up_and_leaves_no_trace() {
    let manager = Manager::new(&Limits::default());
    let vars = manager.new_vars(32);
    let f = equal_halves(&manager, &vars[..24]).unwrap();
    let g = equal_halves(&manager, &vars[4..28]).unwrap();
    let cube = manager.cube(&vars[8..12]).unwrap();
    assert!(f.and_exists_within(&g, &cube, 10).unwrap().is_none());
    let some = f.and_exists_within(&g, &cube, u64::MAX).unwrap();
    let all = f.and_exists(&g, &cube).unwrap();
    assert_eq!(some, Some(all.clone()));
    let products = f.and(&g).unwrap().exists(&cube).unwrap();
    assert_eq!(all, products);
}

#[test]
fn limits_hold_within_and_after_an_operation_with_a_budget() {
    let cancel = Arc::new(AtomicBool::new(false));
    let manager = Manager::new(&Limits {
        cancel: Some(Arc::clone(&cancel)),
        ..Limits::default()
    });
    let vars = manager.new_vars(60);
    let f = equal_halves(&manager, &vars[..24]).unwrap();
    let g = equal_halves(&manager, &vars[4..28]).unwrap();
    let none = manager.cube(&[]).unwrap();
    assert!(f.and_exists_within(&g, &none, 10).unwrap().is_none());
    cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(equal_halves(&manager, &vars), Err(StopReason::Cancelled));
}

#[test]
fn sizes_are_compared_without_counting_all() {
    let manager = Manager::new(&Limits::default());
    let vars = manager.new_vars(20);
    let function = equal_halves(&manager, &vars).unwrap();
    let size = function.node_count();
    for limit in [0, 1, 5, size - 1, size, size + 1, usize::MAX] {
        assert_eq!(function.is_larger_than(limit), size > limit, "{limit}");
    }
    assert_eq!(function.support_and_size(), (function.support(), size));
    assert!(!manager.constant(true).is_larger_than(1));
}
