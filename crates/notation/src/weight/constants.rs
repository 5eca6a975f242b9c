//! The text of copy constants: `x0 := 3, x1 := x0 | 4, x2 := *`.
//!
//! `|` stands between all that a new value may be: old values of variables, and a constant.

use droste_pds::Domain as _;
use droste_pds::domains::{Assignments, CopyConstants, Known, Source};
use serde_json::json;

use super::texts::{below, constant, items};
use super::{Json, Notation};

/// `x1`, `-7` or `*`
fn source(text: &str, variables: u32) -> Result<Source, String> {
    if text == "*" {
        return Ok(Source::Value(Known::Anything));
    }
    if let Some(id) = text.strip_prefix('x') {
        return Ok(Source::Variable(below(id, variables)?));
    }
    let wrong =
        |_| format!("has `{text}`, which is no variable such as `x0`, no whole number and not `*`");
    let number = text.parse::<i128>().map_err(wrong)?;
    Ok(Source::Value(Known::Constant(number)))
}

impl Notation for CopyConstants {
    /// `x0 := 3, x1 := x0 | 4, x2 := *`, `id`, or `none` for no path.
    fn parse(&self, text: &str) -> Result<Assignments, String> {
        match text {
            "id" => return Ok(self.one()),
            "none" => return Ok(self.zero()),
            _ => {}
        }
        if let Some(weight) = constant(self, text) {
            return Ok(weight);
        }
        let shape = || "is not such as `x0 := 3, x1 := x0, x2 := *`, `id` or `none`".to_owned();
        let mut assigns: Vec<(u32, Vec<Source>)> = Vec::new();
        for item in items(text) {
            let (name, value) = item.split_once(":=").ok_or_else(shape)?;
            let id = name.trim().strip_prefix('x').ok_or_else(shape)?;
            let variable = below(id, self.variables())?;
            if assigns.iter().any(|(other, _)| *other == variable) {
                return Err(format!("assigns to x{variable} twice"));
            }
            let sources = value.split('|');
            let sources = sources.map(|text| source(text.trim(), self.variables()));
            assigns.push((variable, sources.collect::<Result<_, _>>()?));
        }
        if assigns.is_empty() {
            return Err(shape());
        }
        Ok(self.assign_any(&assigns))
    }

    fn print(&self, weight: &Assignments) -> String {
        let Some(assigns) = weight.sources() else {
            return "none".to_owned();
        };
        if assigns.is_empty() {
            return "id".to_owned();
        }
        let name = |source: Source| match source {
            Source::Variable(id) => format!("x{id}"),
            Source::Value(Known::Constant(number)) => number.to_string(),
            Source::Value(Known::Anything | Known::Nothing) => "*".to_owned(),
        };
        let assigns = assigns.into_iter().map(|(variable, sources)| {
            let sources: Vec<String> = sources.into_iter().map(name).collect();
            format!("x{variable} := {}", sources.join(" | "))
        });
        assigns.collect::<Vec<_>>().join(", ")
    }

    /// The variables that are constant after it, whatever they were before.
    fn relations(&self, weight: &Assignments) -> Vec<String> {
        let before = vec![Known::Anything; self.variables() as usize];
        let after = self.apply(weight, &before).unwrap_or_default();
        let constants = (0..).zip(after).filter_map(|(id, value)| match value {
            Known::Constant(number) => Some(format!("x{id} = {number}")),
            Known::Nothing | Known::Anything => None,
        });
        constants.collect()
    }

    fn json<'a>(&self, weight: &'a Assignments) -> Json<'a> {
        let object = json!({ "text": self.print(weight), "relations": self.relations(weight) });
        Json::Value(object)
    }
}
