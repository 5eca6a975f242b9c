//! `droste analyze`: data flow at the statements of a program, as annotated source or JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

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
    let (file, json) = (input::name(&args.file), args.json);
    let analysis = question(args).1;
    frame.watch(move |reason| stopped(&file, analysis, json, &reason));
    let result = answer(args, &frame);
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

/// Says that a limit was reached; the exit code.
fn stopped(file: &str, analysis: &str, json: bool, reason: &StopReason) -> u8 {
    Console::note(&format!("unknown: {reason}\n"));
    if json {
        let object = json!({
            "file": file,
            "analysis": analysis,
            "reason": reason.to_string(),
        });
        if Console::print(&format!("{object}\n")).is_err() {
            return crate::COULD_NOT_BE_CHECKED;
        }
    }
    UNKNOWN
}

fn answer(args: &AnalyzeArgs, frame: &Frame<'_>) -> Result<u8, Failure> {
    let source = frame.read(&args.file)?;
    let parsed = parse(&source, args.dialect.into());
    frame.refused(&parsed.diagnostics, &source)?;
    let (program, diagnostics) = lower(&parsed.ast);
    frame.refused(&diagnostics, &source)?;
    let program = program.ok_or_else(|| {
        Failure::Because("the program was refused without a reason: a defect in Droste".to_owned())
    })?;
    frame.watchdog.search_begins();
    let (question, analysis) = question(args);
    let facts = match droste_analyze::analyze(&program, question, &frame.limits()) {
        Ok(facts) => facts,
        Err(NoFacts::Concurrent) => {
            return Err(Failure::Because(
                "the program has threads; `droste analyze` is for programs without".to_owned(),
            ));
        }
        Err(NoFacts::Stopped(reason)) => {
            frame.claim();
            return Ok(stopped(source.name(), analysis, args.json, &reason));
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
        let object = json!({
            "file": source.name(),
            "analysis": analysis,
            "statements": statements,
            "seconds": frame.elapsed().as_secs_f64(),
        });
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

    /// The source, with what is known under the lines.
    fn annotated(&self, shown: &[NodeId]) -> String {
        let mut under: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        for id in shown {
            let line = self.source.line_number(self.program.node(*id).span.start);
            under.entry(line).or_default().push(*id);
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
            let _ = writeln!(page, "{line:width$} | {}", visible(text.trim_end()));
            let indent = text.len() - text.trim_start().len();
            let nodes = under.get(&line).map_or(&[][..], Vec::as_slice);
            for id in nodes {
                let _ = write!(page, "{:width$} | {:indent$}// ", "", "");
                if nodes.len() > 1 {
                    let text = self.source.slice(self.program.node(*id).span);
                    let text = text.lines().next().unwrap_or_default();
                    let _ = write!(page, "`{}`: ", visible(text));
                }
                page.push_str(&self.words(*id));
                page.push('\n');
            }
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
