//! Settings files of heap programs, and the propositions of their formulas: accepted or refused,
//! never a panic.
#![no_main]

use droste_shape::proposition::{Names, parse};
use droste_shape::settings::Settings;
use droste_source::SourceFile;
use droste_source::diagnostics::render;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let source = SourceFile::new("fuzz", &*text);
    match Settings::parse(&source) {
        Ok((settings, warnings)) => {
            let _ = render(&warnings, &source, false);
            let mut names = Names::default();
            names.variables.extend(["x", "y", "null"].map(str::to_owned));
            names.selectors.insert("next".to_owned());
            names.nonterminals.insert("RefSLList".to_owned());
            for formula in &settings.formulas {
                if let Err((problems, source)) = parse(formula, &names) {
                    assert!(!render(&problems, &source, false).is_empty());
                }
            }
        }
        Err(problems) => assert!(!render(&problems, &source, false).is_empty()),
    }
});
