//! Automata in the Hanoi format are accepted or refused, never a panic; what is accepted is written and read again.
#![no_main]

use std::time::Duration;

use droste_base::{Deadline, Limits};
use droste_source::diagnostics::render;
use droste_source::SourceFile;
use droste_ltl::{Atoms, Formulas, HoaError, read_hoa, write_dot, write_hoa};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let source = SourceFile::new("fuzz", &*text);
    let limits = Limits {
        deadline: Some(Deadline::after(Duration::from_millis(200))),
        ..Limits::default()
    };
    let mut atoms = Atoms::new();
    match read_hoa(&source, &mut atoms, &limits) {
        Ok(automaton) => {
            let formulas = Formulas::new();
            let written = write_hoa(&automaton, &formulas, &atoms, "fuzz");
            let _ = write_dot(&automaton, &formulas, &atoms, "fuzz");
            let again = SourceFile::new("again", &*written);
            let mut same = Atoms::new();
            match read_hoa(&again, &mut same, &limits) {
                Ok(again) => assert_eq!(automaton.edges().len(), again.edges().len()),
                Err(HoaError::Refused(error)) => panic!("{}", render(&[*error], &again, false)),
                Err(HoaError::Stopped(_)) => {}
            }
        }
        Err(HoaError::Refused(error)) => {
            assert!(!render(&[*error], &source, false).is_empty());
        }
        Err(HoaError::Stopped(_)) => {}
    }
});
