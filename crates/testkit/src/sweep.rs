//! Many random programs, on all processors.
//!
//! `SEED=n` tries one seed alone, `PROGRAMS=n` sets how many are tried, `SHARE=n` tries n in a
//! hundred of them where they are many.

use std::sync::atomic::{AtomicU64, Ordering};

use droste_lang::ast::Ast;
use droste_lang::printer::print;

use crate::generate::{self, Config};
use crate::shrink::shrink;

/// A number in an environment variable.
pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// A sweep of so few seeds is never shortened: what it says about how often an answer occurs would
/// rest on too few of them.
const WHOLE: u64 = 500;

/// Calls `test` with `count` seeds from `first` on, in several threads. It panics if something is
/// wrong. Returns how many were tried, which the environment may change.
pub fn seeds(first: u64, count: u64, test: impl Fn(u64) + Sync) -> u64 {
    let share = (count * number("SHARE").unwrap_or(100) / 100).max(count.min(WHOLE));
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("PROGRAMS").unwrap_or(share),
    };
    let next = AtomicU64::new(seeds.start);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            test(seed);
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..processors).map(|_| scope.spawn(work)).collect();
        work();
        for other in others {
            // Whoever finds something wrong says what it is.
            assert!(other.join().is_ok(), "a seed fails");
        }
    });
    seeds.end - seeds.start
}

/// Looks for something wrong with random programs; what is found is shrunk and printed. Returns how
/// many programs were tried.
pub fn programs(
    config: &Config,
    first: u64,
    count: u64,
    mismatch: impl Fn(&Ast, u64) -> Option<String> + Sync,
) -> u64 {
    seeds(first, count, |seed| {
        let ast = generate::program(seed, config);
        let Some(problem) = mismatch(&ast, seed) else {
            return;
        };
        eprintln!("SEED={seed}: {problem}");
        let small = shrink(&ast, &mut |ast| mismatch(ast, seed).is_some());
        panic!(
            "SEED={seed}: {problem}\nshrunk to ({}):\n{}",
            mismatch(&small, seed).unwrap_or_default(),
            print(&small)
        );
    })
}
