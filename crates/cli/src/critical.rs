//! Critical labels in words, and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use droste_check::{CriticalLabel, Fate};
use droste_program::{NodeId, Program};
use droste_report::visible;
use droste_source::SourceFile;
use serde_json::{Value, json};

/// How many of the labels are touched.
pub(crate) fn touched(labels: &[CriticalLabel]) -> usize {
    let touched = |label: &&CriticalLabel| matches!(label.fate, Fate::Touched { .. });
    labels.iter().filter(touched).count()
}

/// What is said beside the steps at each node.
pub(crate) fn marks(labels: &[CriticalLabel]) -> BTreeMap<NodeId, String> {
    let mut marks: BTreeMap<NodeId, String> = BTreeMap::new();
    for label in labels {
        for &node in &label.nodes {
            let mark = marks.entry(node).or_insert_with(|| "critical".to_owned());
            let comma = if mark == "critical" { "" } else { "," };
            let _ = write!(mark, "{comma} {}", label.name);
        }
    }
    marks
}

/// One line for each label.
pub(crate) fn text(program: &Program, source: &SourceFile, labels: &[CriticalLabel]) -> String {
    let width = labels.iter().map(|label| label.name.chars().count()).max();
    let width = width.unwrap_or(0).min(40);
    let mut text = String::new();
    for label in labels {
        let fate = match &label.fate {
            Fate::Touched { node, steps } => {
                let line = source.line_number(program.node(*node).span.start);
                let steps = droste_base::words::counted(*steps, "step");
                format!("touched in line {line}, after {steps}")
            }
            Fate::Impossible => "not touched: no run that gets there touches it".to_owned(),
            Fate::Apart(others) => match &others[..] {
                [] => {
                    "not touched: no run that gets there touches it and all of the others touched"
                        .to_owned()
                }
                [other] => {
                    format!("not touched: no run that gets there touches it and also {other}")
                }
                [others @ .., last] => {
                    let others = others.join(", ");
                    format!(
                        "not touched: no run that gets there touches it and also {others} or {last}"
                    )
                }
            },
            Fate::Missed => {
                "not touched: whether another run could touch it was not found out".to_owned()
            }
        };
        let name = visible(&label.name);
        let _ = writeln!(text, "  {name:<width$}   {}", visible(&fate));
    }
    text
}

/// As JSON.
pub(crate) fn object(program: &Program, source: &SourceFile, labels: &[CriticalLabel]) -> Value {
    let each = labels.iter().map(|label| {
        let mut object = json!({
            "label": label.name,
            "touched": matches!(label.fate, Fate::Touched { .. }),
        });
        match &label.fate {
            Fate::Touched { node, steps } => {
                let at = program.node(*node);
                let place = source.line_column(at.span.start);
                object["line"] = place.line.into();
                object["column"] = place.column.into();
                object["procedure"] = (*program.procedure(at.procedure).name).into();
                object["node"] = node.0.into();
                object["step"] = (*steps).into();
            }
            Fate::Impossible => object["possible"] = false.into(),
            Fate::Apart(others) => {
                object["possible"] = true.into();
                object["never_with"] = others.clone().into();
            }
            Fate::Missed => {}
        }
        object
    });
    json!({ "touched": touched(labels), "labels": each.collect::<Vec<_>>() })
}
