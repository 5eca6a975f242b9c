//! Equations are accepted or reported, never a panic; what is accepted and small is solved.
#![no_main]

use std::time::Duration;

use droste_base::{Deadline, Limits};
use droste_calculus::{Solver, load_text, report};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let theory = load_text("fuzz", &*text);
    // Drawing them all would take most of the time.
    if theory.diagnostics().count() < 3 {
        assert_eq!(theory.messages(true, false).is_empty(), theory.diagnostics().next().is_none());
    }
    if text.len() > 2000 {
        return;
    }
    let actions = theory.actions().to_vec();
    let limits = Limits {
        deadline: Some(Deadline::after(Duration::from_millis(200))),
        ..Limits::default()
    };
    let mut solver = Solver::new(theory, &limits, None);
    for action in &actions {
        match solver.perform(action) {
            Ok(outcome) => drop(report::text(&solver, action, &outcome)),
            Err(error) => drop(solver.explain(action, &error, false)),
        }
    }
});
