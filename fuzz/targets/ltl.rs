//! Formulas and files of properties are accepted or reported, never a panic; what is accepted is printed and read again, and what is
//! small is simplified and translated.
#![no_main]

use std::time::Duration;

use droste_base::{Deadline, Limits};
use droste_source::diagnostics::render;
use droste_source::SourceFile;
use droste_ltl::{
    Atoms, Formulas, Options, parse, parse_properties, parse_text, print, simplify, translate,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let source = SourceFile::new("fuzz", &*text);
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    if let Err(errors) = parse_properties(&source, &mut formulas, &mut atoms) {
        assert!(!errors.is_empty());
    }
    let formula = match parse(&source, &mut formulas, &mut atoms) {
        Ok(formula) => formula,
        Err(errors) => {
            assert!(!errors.is_empty());
            // Drawing them all would take most of the time.
            if errors.len() < 3 {
                assert!(!render(&errors, &source, false).is_empty());
            }
            return;
        }
    };
    let printed = print(&formulas, &atoms, formula);
    assert_eq!(parse_text(&printed, &mut formulas, &mut atoms), Ok(formula));
    if text.len() > 200 {
        return;
    }
    let simple = simplify(&mut formulas, formula);
    assert_eq!(simplify(&mut formulas, Formulas::TRUE), Formulas::TRUE);
    let limits = Limits {
        deadline: Some(Deadline::after(Duration::from_millis(200))),
        ..Limits::default()
    };
    let _ = translate(&mut formulas, simple, atoms.len(), &Options::default(), &limits);
});
