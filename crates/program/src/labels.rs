//! Looking up the labels that a query names: `LABEL` in every procedure, `PROC:LABEL` in one.
//!
//! A procedure of a `thread` section is written `NAME::f`, or `f` for every thread's.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::program::{NodeId, ProcId, Program};
use droste_source::suggest::nearest;

/// How many names a message lists.
const LISTED: usize = 12;

/// The nodes, in ascending order, that `query` (`LABEL` or `PROC:LABEL`) names; at least one.
/// Otherwise a message that says what is unknown and what there is.
pub fn find(program: &Program, query: &str) -> Result<Vec<NodeId>, String> {
    let query = query.trim();
    // Labels hold no colon, names of procedures may (`T::f`).
    match query.rsplit_once(':') {
        Some((procedure, _)) if procedure.ends_with(':') || procedure.trim().is_empty() => {
            Err(format!("`{query}` is not a label; write PROC:LABEL"))
        }
        Some((procedure, label)) if label.trim().is_empty() => Err(format!(
            "`{query}` names no label of `{}`; write PROC:LABEL",
            procedure.trim()
        )),
        Some((procedure, label)) => at(program, Some(procedure.trim()), label.trim()),
        None => at(program, None, query),
    }
}

/// Says which globals and labels there are, if there are some and not too many to be listed.
pub fn names(program: &Program) -> Option<String> {
    let globals = program.globals.iter().map(|global| &*global.name);
    let labels = program.nodes.iter().flat_map(|node| node.labels.iter());
    let names: BTreeSet<&str> = globals.chain(labels.map(|label| &**label)).collect();
    let few = !names.is_empty() && names.len() <= LISTED;
    few.then(|| there_are(names.into_iter()))
}

/// The procedures that `name` means: the one of this name, or those called so in `thread` sections.
pub fn procedures(program: &Program, name: &str) -> Vec<ProcId> {
    let all = || (0..program.procedures.len() as u32).map(ProcId);
    let exact: Vec<ProcId> = all()
        .filter(|&p| &*program.procedure(p).name == name)
        .collect();
    if !exact.is_empty() {
        return exact;
    }
    all()
        .filter(|&p| {
            let procedure = program.procedure(p);
            procedure.thread.is_some()
                && procedure
                    .name
                    .strip_suffix(name)
                    .is_some_and(|rest| rest.ends_with("::"))
        })
        .collect()
}

/// The nodes with this label, in the procedures of this name or in all.
pub fn at(program: &Program, procedure: Option<&str>, label: &str) -> Result<Vec<NodeId>, String> {
    let within = match procedure {
        Some(name) => {
            let found = procedures(program, name);
            if found.is_empty() {
                return Err(unknown_procedure(program, name));
            }
            Some(found)
        }
        None => None,
    };
    let visible = |p: ProcId| within.as_ref().is_none_or(|within| within.contains(&p));
    let nodes: Vec<NodeId> = (0..program.nodes.len() as u32)
        .map(NodeId)
        .filter(|&id| {
            let node = program.node(id);
            node.labels.iter().any(|l| &**l == label) && visible(node.procedure)
        })
        .collect();
    if nodes.is_empty() {
        Err(unknown_label(program, procedure, label, visible))
    } else {
        Ok(nodes)
    }
}

/// The message for a name that is no procedure.
pub fn unknown_procedure(program: &Program, name: &str) -> String {
    let names: Vec<&str> = program.procedures.iter().map(|p| &*p.name).collect();
    let mut message = format!("there is no procedure `{name}`");
    if let Some(suggestion) = nearest(name, names.iter().copied()) {
        let _ = write!(message, "; did you mean `{suggestion}`?");
    } else if names.len() <= LISTED {
        let _ = write!(message, "; {}", there_are(names.iter().copied()));
    }
    message
}

fn unknown_label(
    program: &Program,
    procedure: Option<&str>,
    label: &str,
    visible: impl Fn(ProcId) -> bool,
) -> String {
    let labels: BTreeSet<&str> = program
        .nodes
        .iter()
        .filter(|node| visible(node.procedure))
        .flat_map(|node| node.labels.iter().map(|label| &**label))
        .collect();
    let mut message = match procedure {
        Some(procedure) => format!("procedure `{procedure}` has no label `{label}`"),
        None => format!("there is no label `{label}`"),
    };
    if let Some(suggestion) = nearest(label, labels.iter().copied()) {
        let _ = write!(message, "; did you mean `{suggestion}`?");
    } else if let Some(other) = program
        .nodes
        .iter()
        .find(|node| node.labels.iter().any(|l| &**l == label))
    {
        let name = &program.procedure(other.procedure).name;
        let _ = write!(message, "; procedure `{name}` has one");
    } else if labels.is_empty() {
        message += "; there are no labels at all";
    } else if labels.len() <= LISTED {
        let _ = write!(message, "; {}", there_are(labels.iter().copied()));
    } else {
        let _ = write!(
            message,
            "; there are {} labels, among them {}",
            labels.len(),
            list(labels.iter().copied().take(LISTED)).join(", ")
        );
    }
    message
}

/// ``there is `a` ``, ``there are `a`, `b` and `c` ``.
fn there_are<'a>(names: impl Iterator<Item = &'a str>) -> String {
    match &list(names)[..] {
        [] => "there are none".to_owned(),
        [only] => format!("there is {only}"),
        [first @ .., last] => format!("there are {} and {last}", first.join(", ")),
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(|name| format!("`{name}`")).collect()
}
