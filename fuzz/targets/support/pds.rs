//! What is done with a text in every format of pushdown systems.

use std::time::Duration;

use droste_base::{Deadline, Limits};
use droste_notation::build::{BuildError, weights};
use droste_notation::weight::Task;
use droste_notation::{
    Document, DomainName, Format, Notation, ReadError, Signs, System, WriteError, read_as, write,
};
use droste_source::SourceFile;
use droste_source::diagnostics::render;

/// Reads the bytes in a format. What was read is written in every format, and own text is read
/// again as it was.
pub fn examine(data: &[u8], format: Format) {
    let text = String::from_utf8_lossy(data);
    let limits = Limits {
        deadline: Some(Deadline::after(Duration::from_millis(500))),
        ..Limits::default()
    };
    let (document, warnings) = match read_as(&text, format, &limits) {
        Ok(read) => read,
        Err(ReadError::Wrong(list)) => {
            assert!(!render(&list, &SourceFile::new("fuzz", &*text), false).is_empty());
            return;
        }
        Err(ReadError::Stopped(_)) => return,
    };
    assert!(warnings.is_empty() || !render(&warnings, &SourceFile::new("fuzz", &*text), false).is_empty());
    let Document::System(system) = document else {
        return;
    };
    // `.` stands for every symbol: writing it out is for small systems.
    if system.rules.len() > 100 || system.symbols.len() > 100 {
        return;
    }
    let domain = system.domain.clone().unwrap_or(DomainName::Bool);
    domain.run(Signs::of(&system), Weigh(&system, &text));
    for format in Format::ALL {
        let mut out = Vec::new();
        match write(&system, format, &mut out) {
            Ok(()) => {
                let text = String::from_utf8(out).expect("text is UTF-8");
                match read_as(&text, format, &Limits::default()) {
                    Ok((Document::System(again), _)) => {
                        assert!(format != Format::Wpds || text_of(&again) == text);
                    }
                    Ok(_) => {}
                    Err(ReadError::Wrong(list)) => {
                        panic!("{}", render(&list, &SourceFile::new("again", &*text), false))
                    }
                    Err(ReadError::Stopped(_)) => {}
                }
            }
            Err(WriteError::Cannot(what)) => assert!(!what.is_empty()),
            Err(WriteError::Io(error)) => panic!("{error}"),
        }
    }
}

/// Weights are of the domain or refused, and are read as they are printed.
struct Weigh<'a>(&'a System, &'a str);

impl Task for Weigh<'_> {
    type Output = ();

    fn run<D: Notation>(self, domain: &D) {
        let all = match weights(self.0, domain, false) {
            Ok(all) => all,
            Err(BuildError::Wrong(list)) => {
                assert!(!render(&list, &SourceFile::new("fuzz", self.1), false).is_empty());
                return;
            }
            Err(BuildError::Stopped(_)) => return,
        };
        for rule in &self.0.rules {
            let weight = all.get(rule.weight);
            let printed = domain.print(weight);
            let again = domain.parse(&printed).expect("what is printed can be read");
            assert!(domain.equal(&again, weight), "{printed}");
        }
    }
}

fn text_of(system: &System) -> String {
    let mut out = Vec::new();
    let written = write(system, Format::Wpds, &mut out);
    assert!(written.is_ok(), "{written:?}");
    String::from_utf8(out).expect("text is UTF-8")
}
