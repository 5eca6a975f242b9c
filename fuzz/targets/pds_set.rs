//! Sets of configurations: accepted or refused, never a panic.
#![no_main]

use std::time::Duration;

use droste_base::{Deadline, Limits};
use droste_notation::{Document, Format, SetError, read_as, read_set};
use droste_source::SourceFile;
use droste_source::diagnostics::render;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let limits = Limits {
        deadline: Some(Deadline::after(Duration::from_millis(500))),
        ..Limits::default()
    };
    let rules = "rule p A -> q B C\nrule q B -> q\n";
    let Ok((Document::System(mut system), _)) = read_as(rules, Format::Wpds, &limits) else {
        panic!("the rules are right");
    };
    let source = SourceFile::new("fuzz", &*text);
    match read_set(&source, &mut system, &limits) {
        Ok((_, list)) | Err(SetError::Wrong(list)) => {
            assert!(list.is_empty() || !render(&list, &source, false).is_empty());
        }
        Err(SetError::Stopped(_)) => {}
    }
});
