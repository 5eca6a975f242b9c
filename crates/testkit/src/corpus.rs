//! The corpus: small programs written by hand, with the verdicts they must get.
//!
//! A file `corpus/NAME.bp` says in comments, usually at its top, what `droste check` has to answer:
//!
//! ```text
//! // check: (default) => violated
//! // check: --reach L => holds
//! // check: --repeat L --runs finite-stack => holds
//! // check: --reach L --contexts 3 => violated
//! ```
//!
//! `(default)` stands for no options at all. Every engine is run on every line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::oracle::Label;
use crate::oracle::interleave::Levels;

/// What must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The property holds.
    Holds,
    /// Some run violates it.
    Violated,
}

/// One line `// check: …` of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// Options of `droste check`, after the file's name.
    pub args: Vec<String>,
    /// The verdict.
    pub expected: Expected,
}

/// What a case asks, as far as the oracle understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseProperty {
    /// Whether an assertion fails or `ERROR` or `SLIC_ERROR` is reached.
    Default,
    /// Whether one of these is reached.
    Reach(Vec<Label>),
    /// Whether one of these is visited infinitely often, perhaps on a bounded stack only.
    Repeat(Vec<Label>, bool),
}

impl Case {
    /// The bound on switches or rounds, if there is one.
    pub fn bound(&self) -> Option<(Levels, usize)> {
        let number = |flag: &str| {
            let at = self.args.iter().position(|arg| arg == flag)?;
            self.args.get(at + 1)?.parse().ok()
        };
        let switches = number("--contexts").map(|most| (Levels::Switches, most));
        switches.or_else(|| number("--rounds").map(|most| (Levels::Rounds, most)))
    }

    /// The question in the oracle's terms; `None` for other properties and options.
    pub fn question(&self) -> Option<CaseProperty> {
        let (mut reach, mut repeat, mut finite) = (Vec::new(), Vec::new(), false);
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--reach" => reach.push(Label::parse(args.next()?)),
                "--repeat" => repeat.push(Label::parse(args.next()?)),
                "--runs" => finite = args.next()? == "finite-stack",
                "--contexts" | "--rounds" => drop(args.next()?),
                _ => return None,
            }
        }
        match (reach.is_empty(), repeat.is_empty()) {
            (true, true) => Some(CaseProperty::Default),
            (false, true) => Some(CaseProperty::Reach(reach)),
            (true, false) => Some(CaseProperty::Repeat(repeat, finite)),
            (false, false) => None,
        }
    }
}

/// `corpus/` at the root of the repository.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Every `.bp` file of a directory, in the order of their names.
pub fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "bp") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Every case of every file of a directory. A line that cannot be read is an error of
/// kind [`io::ErrorKind::InvalidData`].
pub fn load(directory: &Path) -> io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for file in files(directory)? {
        cases.extend(parse(&file, &fs::read_to_string(&file)?)?);
    }
    Ok(cases)
}

/// The cases in the text of one file.
pub fn parse(file: &Path, text: &str) -> io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(check) = line.trim().strip_prefix("// check:") else {
            continue;
        };
        let expected = match check.rsplit_once("=>").map(|(_, verdict)| verdict.trim()) {
            Some("holds") => Expected::Holds,
            Some("violated") => Expected::Violated,
            _ => {
                let message = format!(
                    "{}:{}: expected `// check: OPTIONS => holds` or `=> violated`",
                    file.display(),
                    number + 1
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        };
        let options = check
            .rsplit_once("=>")
            .map_or("", |(options, _)| options.trim());
        let args = match options {
            "(default)" => Vec::new(),
            options => split(options),
        };
        cases.push(Case {
            file: file.to_owned(),
            line: number + 1,
            args,
            expected,
        });
    }
    Ok(cases)
}

/// Splits at spaces, except between single quotes.
pub fn split(options: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (i, part) in options.split('\'').enumerate() {
        if i % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use droste_lang::lower::lower;
    use droste_program::Program;
    use droste_program::labels::find;

    use super::{Case, CaseProperty, Expected, directory, files, load, parse, split};
    use crate::oracle::interleave::{Bounds, Levels, interleave};
    use crate::oracle::{Label, Oracle, Refusal};

    #[test]
    fn the_oracle_agrees_with_every_expectation() {
        let directory = directory();
        assert!(files(&directory).unwrap().len() >= 40);
        let cases = load(&directory).unwrap();
        let mut answered = 0;
        for file in files(&directory).unwrap() {
            let ast = crate::source::parse(&std::fs::read_to_string(&file).unwrap());
            assert!(
                cases.iter().any(|case| case.file == file),
                "{}",
                file.display()
            );
            let (program, _) = lower(&ast);
            let program = program.expect("the corpus is accepted");
            if program.is_concurrent() {
                for case in cases.iter().filter(|case| case.file == file) {
                    answered += usize::from(interleavings_agree(case, &program));
                }
                continue;
            }
            let oracle = match Oracle::new(&ast) {
                Ok(oracle) => oracle,
                Err(Refusal::TooLarge | Refusal::Concurrent) => continue,
                Err(Refusal::NoMain) => panic!("{}: no main", file.display()),
                Err(Refusal::UnknownName) => unreachable!("there is no formula"),
            };
            for case in cases.iter().filter(|case| case.file == file) {
                let violated = match case.question() {
                    None => continue,
                    Some(CaseProperty::Default) => {
                        let errors = [Label::parse("ERROR"), Label::parse("SLIC_ERROR")];
                        !oracle.violations().is_empty() || oracle.reachable(&errors)
                    }
                    Some(CaseProperty::Reach(labels)) => oracle.reachable(&labels),
                    Some(CaseProperty::Repeat(labels, finite)) => {
                        oracle.repeatable(&labels)[usize::from(finite)]
                    }
                };
                let expected = case.expected == Expected::Violated;
                assert_eq!(violated, expected, "{}:{}", file.display(), case.line);
                answered += 1;
            }
        }
        assert!(
            answered * 5 >= cases.len() * 4,
            "{answered} of {}",
            cases.len()
        );
    }

    /// Compares a case about threads with all interleavings, as far as those can be explored.
    fn interleavings_agree(case: &Case, program: &Program) -> bool {
        let (levels, most) = case.bound().unwrap_or((Levels::Switches, 5));
        let bounds = Bounds {
            levels,
            most,
            stack: 4,
            threads: 5,
            configurations: 20_000,
        };
        let Ok(found) = interleave(program, bounds) else {
            return false;
        };
        let (labels, default) = match case.question() {
            Some(CaseProperty::Default) => (vec!["ERROR".into(), "SLIC_ERROR".into()], true),
            Some(CaseProperty::Reach(labels)) => {
                let text = |label: &Label| match &label.procedure {
                    Some(procedure) => format!("{procedure}:{}", label.name),
                    None => label.name.clone(),
                };
                (labels.iter().map(text).collect(), false)
            }
            _ => return false,
        };
        let nodes = labels
            .iter()
            .filter_map(|label: &String| find(program, label).ok());
        let mut nodes = nodes.flatten();
        let violated = (default && found.failed.is_some())
            || nodes.any(|node| found.reached.contains_key(&node));
        let expected = case.expected == Expected::Violated;
        let sure = violated || (found.complete && case.bound().is_some());
        assert!(
            violated == expected || !sure,
            "{}:{}",
            case.file.display(),
            case.line
        );
        sure
    }

    #[test]
    fn every_label_that_is_asked_for_exists() {
        for case in load(&directory()).unwrap() {
            let text = std::fs::read_to_string(&case.file).unwrap();
            let labels = match case.question() {
                Some(CaseProperty::Reach(labels) | CaseProperty::Repeat(labels, _)) => labels,
                Some(CaseProperty::Default) | None => continue,
            };
            for label in labels {
                let written = format!("{}:", label.name);
                let found = text
                    .lines()
                    .any(|l| !l.starts_with("//") && l.contains(&written));
                assert!(found, "{}:{}", case.file.display(), case.line);
            }
        }
    }

    #[test]
    fn quotes_keep_a_formula_together() {
        assert_eq!(
            split("--ltl 'G (a -> F b)' -q"),
            ["--ltl", "G (a -> F b)", "-q"]
        );
    }

    #[test]
    fn options_and_verdicts_are_read() {
        let text =
            "// check: (default) => holds\n// something else\n  // check: --reach L => violated\n";
        let cases = parse(Path::new("x.bp"), text).unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!(
            (cases[0].args.len(), cases[0].expected),
            (0, Expected::Holds)
        );
        assert_eq!(cases[1].args, ["--reach", "L"]);
        assert_eq!((cases[1].line, cases[1].expected), (3, Expected::Violated));
    }

    #[test]
    fn a_misspelt_verdict_is_an_error() {
        assert!(parse(Path::new("x.bp"), "// check: --reach L => hold").is_err());
    }
}
