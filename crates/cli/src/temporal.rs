//! Temporal logic on the command line: formulas, files of formulas, automata.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use droste_base::{Limits, StopReason, Verdict};
use droste_check::{Automaton, Ltl, Property};
use droste_ltl::{Atoms, Formulas, HoaAutomaton, HoaError, parse_properties, read_hoas};
use droste_program::Program;
use droste_report::visible;
use droste_source::SourceFile;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::check::{Run, exit_code, runs};
use crate::console::{Console, Failure};
use crate::input;
use crate::output;
use crate::verdict::{Subject, cut, shown};

impl Run<'_> {
    /// The formula of `--ltl`.
    pub(crate) fn ltl(&self, text: &str, program: &Program) -> Result<Property, Failure> {
        let source = SourceFile::new("--ltl", text);
        match Ltl::parse(program, &source, self.dialect()) {
            Ok(ltl) => Ok(Property::Ltl(Arc::new(ltl))),
            Err(diagnostics) => {
                self.refused(&diagnostics, &source)?;
                Err(Failure::Told)
            }
        }
    }

    /// The automata of `--hoa`, with their names.
    pub(crate) fn hoa(
        &self,
        file: &Path,
        program: &Program,
    ) -> Result<Vec<(String, Property)>, Failure> {
        let source = self.second_input(file, "automaton")?;
        // The watchdog sees to the time.
        let list = match read_hoas(&source, &Limits::default()) {
            Ok(list) => list,
            Err(HoaError::Refused(diagnostic)) => {
                self.refused(&[*diagnostic], &source)?;
                return Err(Failure::Told);
            }
            Err(HoaError::Stopped(reason)) => return Err(Failure::Because(reason.to_string())),
        };
        let several = list.len() > 1;
        let mut properties: Vec<(String, Property)> = Vec::with_capacity(list.len());
        for (i, one) in list.into_iter().enumerate() {
            let name = match one.name {
                Some(ref name) if several => name.clone(),
                _ => format!("{}", i + 1),
            };
            // Those with the same name are numbered.
            let name = if properties.iter().any(|(known, _)| *known == name) {
                format!("{name} ({})", i + 1)
            } else {
                name
            };
            let described = if several {
                format!("the automaton `{name}` in `{}`", visible(source.name()))
            } else {
                format!("the automaton in `{}`", visible(source.name()))
            };
            if let Some(why) = one.accepts_nothing {
                self.frame.warn(&format!(
                    "{described} {why}: it accepts nothing, so nothing violates it"
                ));
            }
            let property = self.resolved(one, described, &source, program)?;
            properties.push((name, property));
        }
        Ok(properties)
    }

    /// An automaton whose propositions have a meaning in the program.
    fn resolved(
        &self,
        one: HoaAutomaton,
        described: String,
        source: &SourceFile,
        program: &Program,
    ) -> Result<Property, Failure> {
        let resolved = Automaton::new(
            program,
            self.dialect(),
            (source.name(), described),
            one.automaton,
            one.atoms.list(),
        );
        match resolved {
            Ok(automaton) => Ok(Property::Automaton(Arc::new(automaton))),
            Err(problems) => {
                for (text, diagnostics) in problems {
                    // All of them are shown, and then there is no check.
                    let quoted = format!("\"{text}\"");
                    let _ = if let Some(quote) = source.text().find(&quoted) {
                        let offset = quote as u32 + 1;
                        let shifted = diagnostics.into_iter().map(|d| d.shifted(offset));
                        self.refused(&shifted.collect::<Vec<_>>(), source)
                    } else {
                        // It is written with escapes.
                        let name = format!("{}, proposition", source.name());
                        self.refused(&diagnostics, &SourceFile::new(name, text))
                    };
                }
                Err(Failure::Told)
            }
        }
    }

    /// A file beside the program.
    fn second_input(&self, file: &Path, what: &str) -> Result<SourceFile, Failure> {
        if file.as_os_str() == "-" && self.args.file.as_os_str() == "-" {
            return Err(Failure::Because(format!(
                "the program and the {what} cannot both come from standard input"
            )));
        }
        self.frame.read(file)
    }

    /// Checks every formula of `--ltl-file`; the exit code.
    pub(crate) fn check_file(
        &self,
        source: &SourceFile,
        program: &Program,
        file: &Path,
    ) -> Result<u8, Failure> {
        if program.is_concurrent() {
            return Err(Failure::Because(
                "temporal logic and automata are for programs without threads".to_owned(),
            ));
        }
        let properties = self.properties(program, file)?;
        if properties.is_empty() {
            return Err(Failure::Because(format!(
                "there is no formula in `{}`; write `name: formula`",
                input::name(file)
            )));
        }
        self.check_all(source, program, &properties)
    }

    /// Checks several properties; the exit code.
    pub(crate) fn check_all(
        &self,
        source: &SourceFile,
        program: &Program,
        properties: &[(String, Property)],
    ) -> Result<u8, Failure> {
        let flags = &self.args.output;
        if flags.trace.is_some() && properties.len() > 1 {
            return Err(Failure::Because(
                "--trace is for one property; give a file with that one only".to_owned(),
            ));
        }
        let subject = |property| Subject {
            program,
            property,
            runs: runs(self.args.search.runs),
        };
        let asked = properties.iter().map(|(name, property)| Asked {
            name: name.clone(),
            question: subject(property).question(),
            text: cut(&property.to_string()).into_owned(),
        });
        *self.several() = Some(Several {
            asked: asked.collect(),
            ..Several::default()
        });
        for (i, (name, property)) in properties.iter().enumerate() {
            let last = i + 1 == properties.len();
            let subject = subject(property);
            *self.question.lock().unwrap_or_else(PoisonError::into_inner) = subject.question();
            self.frame.watchdog.note_nothing();
            let report = self.search(&subject)?;
            let mut object = None;
            let trace = shown(&subject, source, &report);
            let mut page = String::new();
            if flags.json {
                let mut answer = self.object(source, &subject, &report, trace.as_ref());
                answer.fields["name"] = name.as_str().into();
                object = Some(answer.raw()?);
            } else if !flags.quiet {
                page = self.page(source, &subject, &report, trace.as_ref());
                page = format!("{}\n{page}\n", self.frame.console.paint("1", name));
            }
            if last {
                self.frame.claim();
            }
            Console::print(&page)?;
            let word = self.word(&report.verdict);
            if let Some(several) = &mut *self.several() {
                several.answered(exit_code(&report.verdict), &word, object);
                if let Verdict::Unknown(reason) = &report.verdict {
                    several.stopped(reason);
                }
            }
        }
        let Some(several) = self.several().take() else {
            return Ok(2);
        };
        if flags.json {
            let object = several.object(source.name(), self.frame.elapsed());
            output::print(&object)?;
        } else if !flags.quiet {
            Console::print(&several.summary)?;
        }
        Ok(several.code())
    }

    fn several(&self) -> MutexGuard<'_, Option<Several>> {
        self.several.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn properties(
        &self,
        program: &Program,
        file: &Path,
    ) -> Result<Vec<(String, Property)>, Failure> {
        let source = self.second_input(file, "formulas")?;
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let parsed = match parse_properties(&source, &mut formulas, &mut atoms) {
            Ok(parsed) => parsed,
            Err(diagnostics) => {
                self.refused(&diagnostics, &source)?;
                return Err(Failure::Told);
            }
        };
        let mut problems = Vec::new();
        let mut properties = Vec::with_capacity(parsed.len());
        for one in parsed {
            match Ltl::new(
                program,
                &source,
                self.dialect(),
                &formulas,
                &atoms,
                one.formula,
            ) {
                Ok(ltl) => properties.push((one.name, Property::Ltl(Arc::new(ltl)))),
                Err(mut diagnostics) => problems.append(&mut diagnostics),
            }
        }
        problems.dedup();
        self.refused(&problems, &source)?;
        Ok(properties)
    }
}

/// One of several properties.
struct Asked {
    name: String,
    question: String,
    /// As it is shown in the summary.
    text: String,
}

/// Several properties, and what is known about the first of them. Before they have been read, there
/// are none.
#[derive(Default)]
pub(crate) struct Several {
    asked: Vec<Asked>,
    codes: Vec<u8>,
    /// As text: most are short, but a trace may be long.
    objects: Vec<Box<RawValue>>,
    summary: String,
    /// Why one of them has no answer.
    reason: Option<String>,
}

/// The answers to several questions as JSON.
#[derive(Serialize)]
pub(crate) struct Answers<'a> {
    verdict: &'static str,
    file: &'a str,
    version: &'static str,
    stats: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    properties: &'a [Box<RawValue>],
}

impl Several {
    /// There is an answer to the next one.
    fn answered(&mut self, code: u8, word: &str, object: Option<Box<RawValue>>) {
        let width = self.asked.iter().map(|asked| asked.name.chars().count());
        let width = width.max().unwrap_or(0);
        let Asked { name, text, .. } = &self.asked[self.codes.len()];
        // Writing to a string cannot fail.
        let _ = writeln!(self.summary, "{name:width$}  {word}: {text}");
        self.codes.push(code);
        self.objects.extend(object);
    }

    /// There is no answer to one of them, for this reason.
    fn stopped(&mut self, reason: &StopReason) {
        self.reason.get_or_insert_with(|| reason.to_string());
    }

    /// There will be no answers to the others, for this reason; the line above what is to be said
    /// about the next one. `object` makes one for a question.
    pub(crate) fn give_up(
        &mut self,
        word: &str,
        reason: &StopReason,
        object: impl Fn(&str) -> Value,
    ) -> String {
        let next = self.asked.get(self.codes.len());
        let title = next.map_or_else(String::new, |next| format!("{}\n", next.name));
        if next.is_some() || self.asked.is_empty() {
            self.stopped(reason);
        }
        while let Some(asked) = self.asked.get(self.codes.len()) {
            let mut object = object(&asked.question);
            object["name"] = asked.name.as_str().into();
            self.answered(3, word, to_raw_value(&object).ok());
        }
        title
    }

    /// The exit code: a violation is a violation, whatever is unknown besides.
    pub(crate) fn code(&self) -> u8 {
        match (self.codes.contains(&1), &self.reason) {
            (true, _) => 1,
            (false, Some(_)) => 3,
            (false, None) => 0,
        }
    }

    /// One line for each.
    pub(crate) fn summary(&self) -> &str {
        &self.summary
    }

    /// All of it.
    pub(crate) fn object<'a>(&'a self, file: &'a str, time: Duration) -> Answers<'a> {
        let verdict = match self.code() {
            0 => "holds",
            1 => "violated",
            _ => "unknown",
        };
        Answers {
            verdict,
            file,
            version: env!("CARGO_PKG_VERSION"),
            stats: json!({ "seconds": time.as_secs_f64() }),
            reason: self.reason.as_deref().filter(|_| verdict == "unknown"),
            properties: &self.objects,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a limit cannot take back.
    #[test]
    fn a_violation_that_was_found_stays_one() {
        let asked = |name: &str| Asked {
            name: name.to_owned(),
            question: format!("every run satisfies {name}"),
            text: format!("G {name}"),
        };
        let mut several = Several {
            asked: ["a", "bc", "d"].map(asked).into(),
            ..Several::default()
        };
        let violated = to_raw_value(&json!({ "verdict": "violated" }));
        several.answered(1, "violated", violated.ok());
        let unknown = |question: &str| json!({ "verdict": "unknown", "property": question });
        let reason = StopReason::Cancelled;
        assert_eq!(several.give_up("unknown", &reason, unknown), "bc\n");
        assert_eq!(several.code(), 1);
        let lines = "a   violated: G a\nbc  unknown: G bc\nd   unknown: G d\n";
        assert_eq!(several.summary(), lines);
        let object = several.object("p.bp", Duration::ZERO);
        let object = serde_json::to_value(&object).expect("an object");
        assert_eq!(object["verdict"], "violated");
        assert_eq!(object["properties"][2]["name"], "d");
        assert_eq!(object["properties"][2]["property"], "every run satisfies d");
        assert_eq!(several.give_up("unknown", &reason, unknown), "");
    }

    /// A limit may come before the properties have been read.
    #[test]
    fn without_properties_nothing_is_known() {
        let mut several = Several::default();
        let reason = StopReason::Cancelled;
        assert_eq!(several.give_up("unknown", &reason, |_| json!({})), "");
        assert_eq!(several.code(), 3);
        let object = several.object("p.bp", Duration::ZERO);
        let object = serde_json::to_value(&object).expect("an object");
        assert_eq!(object["verdict"], "unknown");
        assert_eq!(object["reason"], "interrupted");
        assert_eq!(object["properties"], json!([]));
    }
}
