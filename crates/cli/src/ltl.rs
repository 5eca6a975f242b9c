//! `droste ltl`: formulas of linear temporal logic on their own, simplified and as automata.

use std::fmt::Write as _;
use std::sync::Arc;

use droste_base::words::counted;
use droste_base::{Limits, StopReason};
use droste_ltl::{
    Atoms, FormulaId, Formulas, HoaError, Options, Tgba, Untranslatable, class, parse,
    parse_properties, print, print_short, read_hoas, simplify, translate, warnings, write_dot,
    write_hoa,
};
use droste_source::SourceFile;
use serde_json::{Value, json};

use crate::args::{LtlArgs, LtlFormat};
use crate::console::{Console, Failure};
use crate::frame::{Frame, UNKNOWN, Volume};
use crate::verdict::cut;

/// A simplified formula is cut off after so many characters.
const MOST_SHOWN: usize = 100_000;

/// The message where a limit was reached while an automaton was made.
const GREW: &str = " before the automaton was made: it grew too large";

/// What is to be shown: a formula, or an automaton from a file.
struct Subject {
    name: Option<String>,
    formula: Option<FormulaId>,
    /// With its atoms.
    automaton: Option<(Tgba, Atoms)>,
}

/// Runs the command; the exit code.
pub(crate) fn ltl(args: &LtlArgs, console: &Console) -> Result<u8, Failure> {
    let volume = Volume {
        json: args.json,
        ..Volume::default()
    };
    let frame = Frame::new(console, &args.limits, volume);
    let json = args.json;
    let (watched, formula) = (Arc::clone(&frame.watchdog), args.hoa.is_none());
    frame.watch(move |reason| {
        let grew = formula && watched.is_searching() && reason != StopReason::Cancelled;
        let why = if grew { GREW } else { "" };
        let told = unknown(json, &format!("{reason}{why}"));
        if told.is_ok() { UNKNOWN } else { 2 }
    });
    let result = answer(args, &frame);
    frame.claim();
    match result {
        Ok(Answer::Text(text)) => {
            Console::print(&text)?;
            Ok(0)
        }
        Ok(Answer::Unknown(reason)) => {
            unknown(args.json, &reason)?;
            Ok(UNKNOWN)
        }
        Err(failure) => Err(failure),
    }
}

enum Answer {
    Text(String),
    Unknown(String),
}

/// Says why there is no answer.
fn unknown(json: bool, reason: &str) -> Result<(), Failure> {
    if json {
        let object = json!({ "verdict": "unknown", "reason": reason });
        return Console::print(&format!("{object}\n"));
    }
    Console::print(&format!("unknown: {reason}\n"))
}

fn answer(args: &LtlArgs, frame: &Frame<'_>) -> Result<Answer, Failure> {
    let (console, limits) = (frame.console, &frame.limits());
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let told = |list: &[_], source: &SourceFile| {
        console.diagnostics(list, source, false);
        Failure::Told
    };
    let stopped = |reason: StopReason| Ok(Answer::Unknown(reason.to_string()));
    let mut subjects: Vec<Subject> = Vec::new();
    if let Some(text) = &args.formula {
        let source = SourceFile::new("<formula>", text.as_str());
        let formula = parse(&source, &mut formulas, &mut atoms).map_err(|e| told(&e, &source))?;
        console.diagnostics(&warnings(&atoms), &source, false);
        subjects.push(Subject {
            name: None,
            formula: Some(formula),
            automaton: None,
        });
    }
    if let Some(path) = &args.ltl_file {
        let source = frame.read(path)?;
        let list =
            parse_properties(&source, &mut formulas, &mut atoms).map_err(|e| told(&e, &source))?;
        console.diagnostics(&warnings(&atoms), &source, false);
        subjects.extend(list.into_iter().map(|property| Subject {
            name: Some(property.name),
            formula: Some(property.formula),
            automaton: None,
        }));
    }
    frame.watchdog.search_begins();
    if let Some(path) = &args.hoa {
        let source = frame.read(path)?;
        match read_hoas(&source, limits) {
            Ok(list) => {
                let several = list.len() > 1;
                for (i, one) in list.into_iter().enumerate() {
                    let name = match &one.name {
                        _ if !several => source.name().to_owned(),
                        Some(name) => format!("{}: {name}", source.name()),
                        None => format!("{}: {}", source.name(), i + 1),
                    };
                    if let Some(why) = one.accepts_nothing {
                        console.warning(&format!(
                            "the automaton in `{name}` {why}: it accepts nothing"
                        ));
                    }
                    subjects.push(Subject {
                        name: Some(name),
                        formula: None,
                        automaton: Some((one.automaton, one.atoms)),
                    });
                }
            }
            Err(HoaError::Refused(diagnostic)) => return Err(told(&[*diagnostic], &source)),
            Err(HoaError::Stopped(reason)) => return stopped(reason),
        }
    }
    let mut show = Show {
        args,
        formulas,
        atoms,
        text: String::new(),
        objects: Vec::new(),
    };
    for subject in subjects {
        if let Err(reason) = show.subject(subject, limits) {
            let grew = matches!(
                reason,
                Untranslatable::Stopped(StopReason::Time(_) | StopReason::Memory(_))
            );
            let why = if grew { GREW } else { "" };
            return Ok(Answer::Unknown(format!("{reason}{why}")));
        }
    }
    Ok(Answer::Text(if args.json {
        format!("{}\n", json!({ "properties": show.objects }))
    } else {
        show.text
    }))
}

struct Show<'a> {
    args: &'a LtlArgs,
    formulas: Formulas,
    atoms: Atoms,
    text: String,
    objects: Vec<Value>,
}

impl Show<'_> {
    fn subject(&mut self, subject: Subject, limits: &Limits) -> Result<(), Untranslatable> {
        let mut object = json!({});
        let mut lines: Vec<(&str, String)> = Vec::new();
        let mut title = subject.name.clone().unwrap_or_default();
        if let Some(name) = subject.name {
            object["name"] = json!(name);
            let what = if subject.formula.is_some() {
                "property"
            } else {
                "file"
            };
            lines.push((what, name));
        }
        let mut own = None;
        let automaton = match (subject.formula, subject.automaton) {
            (Some(formula), _) => {
                let formula = if self.args.negate {
                    self.formulas.not(formula)
                } else {
                    formula
                };
                let written = print(&self.formulas, &self.atoms, formula);
                let simple = simplify(&mut self.formulas, formula);
                // Subformulas are shared; written out, they can be exponentially long.
                let shown = print_short(&self.formulas, &self.atoms, simple, MOST_SHOWN);
                let class = class(&self.formulas, simple).name();
                object["formula"] = json!(written);
                object["simplified"] = json!(shown);
                object["class"] = json!(class);
                if title.is_empty() {
                    title.clone_from(&written);
                }
                lines.push(("formula", written));
                lines.push(("simplified", shown));
                lines.push(("class", class.to_owned()));
                let count = self.atoms.len();
                translate(
                    &mut self.formulas,
                    formula,
                    count,
                    &Options::default(),
                    limits,
                )?
            }
            (None, Some((automaton, atoms))) => {
                own = Some(atoms);
                automaton
            }
            (None, None) => return Ok(()),
        };
        let kinds = [
            (automaton.is_deterministic(), "deterministic"),
            (automaton.is_weak(), "weak"),
            (automaton.is_terminal(), "terminal"),
        ];
        object["states"] = json!(automaton.state_count());
        object["edges"] = json!(automaton.edges().len());
        object["marks"] = json!(automaton.mark_count());
        let mut size = format!(
            "{}, {}, {}",
            counted(automaton.state_count() as u64, "state"),
            counted(automaton.edges().len() as u64, "edge"),
            counted(u64::from(automaton.mark_count()), "mark"),
        );
        for (holds, kind) in kinds {
            object[kind] = json!(holds);
            if holds {
                let _ = write!(size, ", {kind}");
            }
        }
        lines.push(("automaton", size));
        let output = self.args.to.map(|format| {
            let write = match format {
                LtlFormat::Hoa => write_hoa,
                LtlFormat::Dot => write_dot,
            };
            let atoms = own.as_ref().unwrap_or(&self.atoms);
            write(&automaton, &self.formulas, atoms, &title)
        });
        if let Some(output) = output {
            object["automaton"] = json!(output);
            self.text.push_str(&output);
        } else {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            for (what, value) in lines {
                let _ = writeln!(self.text, "{what:<10}  {}", cut(&value));
            }
        }
        self.objects.push(object);
        Ok(())
    }
}
