//! `droste analyze`: data flow at the statements of a program, as annotated source or JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use droste_analyze::words::{fact as in_words, name, relation as equation};
use droste_analyze::{Fact, Failure as NoFacts, Question};
use droste_base::StopReason;
use droste_lang::lower::lower;
use droste_lang::parser::parse;
use droste_program::{NodeId, Program, VarRef};
use droste_report::visible;
use droste_source::SourceFile;
use serde_json::{Map, Value, json};

use crate::args::AnalyzeArgs;
use crate::console::{Console, Failure};
use crate::frame::{Frame, UNKNOWN, Volume};
use crate::input;

/// Runs the command; the exit code.
pub(crate) fn analyze(args: &AnalyzeArgs, console: &Console) -> Result<u8, Failure> {
    let volume = Volume {
        json: args.json,
        quiet: args.quiet,
        verbose: false,
    };
    let frame = Frame::new(console, &args.limits, volume);
    let object = Object {
        file: input::name(&args.file),
        analysis: question(args).1,
        start: frame.start,
    };
    let (json, watched) = (args.json, object.clone());
    frame.watch(move |reason| stopped(json.then_some(&watched), &reason));
    let result = answer(args, &object, &frame);
    frame.claim();
    result
}

/// What is asked, and what it is called.
fn question(args: &AnalyzeArgs) -> (Question, &'static str) {
    if args.live {
        (Question::Live, "live")
    } else if args.uninit {
        (Question::Unassigned, "uninit")
    } else if args.constants {
        (Question::Constants, "constants")
    } else {
        (Question::Affine, "affine")
    }
}

/// The object of `--json`.
#[derive(Clone)]
struct Object {
    file: String,
    analysis: &'static str,
    start: Instant,
}

impl Object {
    /// The fields that are always there, and the one that is the answer or says why there is none.
    fn with(&self, key: &str, value: Value) -> Value {
        let mut object = json!({
            "file": self.file,
            "analysis": self.analysis,
            "seconds": self.start.elapsed().as_secs_f64(),
        });
        object[key] = value;
        object
    }
}

/// Says that a limit was reached; the exit code.
fn stopped(json: Option<&Object>, reason: &StopReason) -> u8 {
    Console::note(&format!("unknown: {reason}\n"));
    let object = json.map(|object| object.with("reason", reason.to_string().into()));
    match object.map(|object| Console::print(&format!("{object}\n"))) {
        Some(Err(_)) => crate::COULD_NOT_BE_CHECKED,
        _ => UNKNOWN,
    }
}

fn answer(args: &AnalyzeArgs, object: &Object, frame: &Frame<'_>) -> Result<u8, Failure> {
    let source = frame.read(&args.file)?;
    let parsed = parse(&source, args.dialect.into());
    frame.refused_program(&parsed.diagnostics, &source)?;
    let (program, diagnostics) = lower(&parsed.ast);
    frame.refused(&diagnostics, &source)?;
    let program = program.ok_or_else(|| {
        Failure::Because("the program was refused without a reason: a defect in Droste".to_owned())
    })?;
    frame.watchdog.search_begins();
    let question = question(args).0;
    let facts = match droste_analyze::analyze(&program, question, &frame.limits()) {
        Ok(facts) => facts,
        Err(NoFacts::Concurrent) => {
            return Err(Failure::Because(
                "the program has threads; `droste analyze` is for programs without".to_owned(),
            ));
        }
        Err(NoFacts::Stopped(reason)) => {
            frame.claim();
            return Ok(stopped(args.json.then_some(object), &reason));
        }
    };
    frame.claim();
    let page = Page {
        program: &program,
        source: &source,
        facts: &facts,
    };
    let shown = page.shown(args.all);
    let text = if args.json {
        let statements: Vec<Value> = shown.iter().map(|id| page.statement(*id)).collect();
        let object = object.with("statements", statements.into());
        format!("{object}\n")
    } else {
        page.annotated(&shown)
    };
    Console::print(&text)?;
    Ok(0)
}

struct Page<'a> {
    program: &'a Program,
    source: &'a SourceFile,
    facts: &'a [Option<Fact>],
}

impl Page<'_> {
    /// The statements of which something is said, as they stand in the source.
    fn shown(&self, all: bool) -> Vec<NodeId> {
        let nodes = (0..self.program.nodes.len() as u32).map(NodeId);
        let mut nodes: Vec<NodeId> = nodes.filter(|id| !self.program.node(*id).silent).collect();
        let labelled = |id: &NodeId| !self.program.node(*id).labels.is_empty();
        if !all && nodes.iter().any(labelled) {
            nodes.retain(labelled);
        }
        nodes.sort_by_key(|id| (self.program.node(*id).span.start, *id));
        nodes
    }

    /// The source, with what is known above the lines: it holds before their statements.
    fn annotated(&self, shown: &[NodeId]) -> String {
        let mut above: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        for id in shown {
            let line = self.source.line_number(self.program.node(*id).span.start);
            above.entry(line).or_default().push(*id);
        }
        let lines = self.source.line_number(self.source.text().len() as u32);
        let width = lines.to_string().len();
        let mut page = String::new();
        for line in 1..=lines {
            let text = self.source.slice(self.source.line_span(line));
            // What ends with a line break has nothing in its last line.
            if line == lines && text.is_empty() {
                break;
            }
            let indent = text.len() - text.trim_start().len();
            let nodes = above.get(&line).map_or(&[][..], Vec::as_slice);
            for id in nodes {
                let _ = write!(page, "{:width$} | {:indent$}// ", "", "");
                if nodes.len() > 1 {
                    let text = self.source.slice(self.program.node(*id).span);
                    let text = text.lines().next().unwrap_or_default();
                    let _ = write!(page, "before `{}`: ", visible(text));
                }
                page.push_str(&self.words(*id));
                page.push('\n');
            }
            let _ = writeln!(page, "{line:width$} | {}", visible(text.trim_end()));
        }
        page
    }

    fn words(&self, id: NodeId) -> String {
        match &self.facts[id.0 as usize] {
            None => "unreachable".to_owned(),
            Some(fact) => in_words(self.program, self.program.node(id).procedure, fact),
        }
    }

    /// A statement and what is known there.
    fn statement(&self, id: NodeId) -> Value {
        let node = self.program.node(id);
        let procedure = node.procedure;
        let place = self.source.line_column(node.span.start);
        let labels: Vec<&str> = node.labels.iter().map(|label| &**label).collect();
        let fact = &self.facts[id.0 as usize];
        let mut object = json!({
            "line": place.line,
            "column": place.column,
            "procedure": &*self.program.procedure(procedure).name,
            "labels": labels,
            "reachable": fact.is_some(),
        });
        let names = |list: &[VarRef]| -> Value {
            list.iter()
                .map(|var| name(self.program, procedure, *var))
                .collect()
        };
        match fact {
            None => {}
            Some(Fact::Live(live)) => object["live"] = names(live),
            Some(Fact::Unassigned { variables, read }) => {
                object["unassigned"] = names(variables);
                object["read"] = names(read);
            }
            Some(Fact::Constants(constants)) => {
                let values = constants.iter().map(|(var, value)| {
                    let name = name(self.program, procedure, *var);
                    let number = i64::try_from(*value)
                        .map_or_else(|_| json!(value.to_string()), Value::from);
                    (name, number)
                });
                object["constants"] = Value::Object(values.collect::<Map<_, _>>());
            }
            Some(Fact::Affine(relations)) => {
                let relations = relations.iter().map(|relation| {
                    let terms = relation.terms.iter().map(|(var, coefficient)| {
                        json!({
                            "variable": name(self.program, procedure, *var),
                            "coefficient": coefficient,
                        })
                    });
                    json!({
                        "text": equation(self.program, procedure, relation),
                        "terms": terms.collect::<Vec<_>>(),
                        "constant": relation.constant,
                        "width": relation.width,
                    })
                });
                object["relations"] = relations.collect();
            }
        }
        object
    }
}
