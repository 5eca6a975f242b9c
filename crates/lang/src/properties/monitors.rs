//! Monitors: their states and guards resolved, and what is wrong with them.

use std::collections::HashMap;

use crate::ast::Name;
use crate::monitor::{MonitorSyntax, Otherwise, StateKind};
use droste_program::Program;
use droste_program::monitor::{Monitor, MonitorState};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

use super::proposition;

/// Resolves the names of a monitor in `program`.
pub fn monitor(syntax: &MonitorSyntax, program: &Program) -> Result<Monitor, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let index = state_index(syntax, &mut problems);
    let resolve = |name: &Name, problems: &mut Vec<Diagnostic>| {
        let found = index.get(&*name.text).copied();
        if found.is_none() {
            let mut diagnostic =
                Diagnostic::error(name.span, format!("the monitor has no state `{name}`"));
            let names = syntax.states.iter().map(|state| &*state.name.text);
            if let Some(suggestion) = nearest(&name.text, names) {
                diagnostic = diagnostic.help(format!("did you mean `{suggestion}`?"));
            }
            problems.push(diagnostic);
        }
        found.unwrap_or(0)
    };
    let mut states = Vec::with_capacity(syntax.states.len());
    for (i, state) in syntax.states.iter().enumerate() {
        let mut edges = Vec::with_capacity(state.edges.len());
        for (guard, to) in &state.edges {
            let to = resolve(to, &mut problems);
            match proposition(program, &syntax.ast, *guard) {
                Ok(guard) => edges.push((guard, to)),
                Err(mut diagnostics) => problems.append(&mut diagnostics),
            }
        }
        let otherwise = match &state.otherwise {
            Otherwise::Stay => Some(i as u32),
            Otherwise::Block => None,
            Otherwise::Goto(to) => Some(resolve(to, &mut problems)),
        };
        states.push(MonitorState {
            name: state.name.text.clone(),
            kind: state.kind,
            edges,
            otherwise,
        });
    }
    let initial = initial_state(syntax, &mut problems);
    check_kinds(syntax, &mut problems);
    if problems.is_empty() {
        Ok(Monitor {
            name: syntax.name.text.clone(),
            states,
            initial,
        })
    } else {
        problems.truncate(100);
        Err(problems)
    }
}

/// Warnings about a monitor whose names [`monitor`] resolves: states that no move leads to.
pub fn monitor_warnings(syntax: &MonitorSyntax) -> Vec<Diagnostic> {
    let index = state_index(syntax, &mut Vec::new());
    let mut reached = vec![false; syntax.states.len()];
    let mut agenda: Vec<usize> = (0..syntax.states.len())
        .filter(|&i| syntax.states[i].initial)
        .collect();
    while let Some(i) = agenda.pop() {
        if std::mem::replace(&mut reached[i], true) {
            continue;
        }
        let state = &syntax.states[i];
        let otherwise = match &state.otherwise {
            Otherwise::Goto(to) => Some(to),
            Otherwise::Stay | Otherwise::Block => None,
        };
        let targets = state.edges.iter().map(|(_, to)| to).chain(otherwise);
        agenda.extend(targets.filter_map(|to| Some(*index.get(&*to.text)? as usize)));
    }
    let unreached = syntax.states.iter().zip(reached).filter(|(_, r)| !r);
    unreached
        .map(|(state, _)| {
            Diagnostic::warning(
                state.name.span,
                format!("no move of the monitor leads to the state `{}`", state.name),
            )
        })
        .collect()
}

fn state_index<'a>(
    syntax: &'a MonitorSyntax,
    problems: &mut Vec<Diagnostic>,
) -> HashMap<&'a str, u32> {
    let mut index: HashMap<&str, u32> = HashMap::new();
    for (i, state) in syntax.states.iter().enumerate() {
        if let Some(&first) = index.get(&*state.name.text) {
            problems.push(
                Diagnostic::error(
                    state.name.span,
                    format!("two states are called `{}`", state.name),
                )
                .also(syntax.states[first as usize].name.span, "the first one"),
            );
        } else {
            index.insert(&state.name.text, i as u32);
        }
    }
    index
}

fn initial_state(syntax: &MonitorSyntax, problems: &mut Vec<Diagnostic>) -> u32 {
    let initial: Vec<usize> = (0..syntax.states.len())
        .filter(|&i| syntax.states[i].initial)
        .collect();
    let span = |i: usize| syntax.states[i].name.span;
    match initial[..] {
        [only] => return only as u32,
        [] => problems.push(
            Diagnostic::error(syntax.name.span, "the monitor has no initial state")
                .help("write `initial state NAME`"),
        ),
        [first, second, ..] => problems.push(
            Diagnostic::error(span(second), "the monitor has two initial states")
                .also(span(first), "the first one")
                .help("from one initial state, edges with the same guard lead to either"),
        ),
    }
    0
}

fn check_kinds(syntax: &MonitorSyntax, problems: &mut Vec<Diagnostic>) {
    let of_kind = |kind: StateKind| -> Option<Span> {
        let state = syntax.states.iter().find(|state| state.kind == kind)?;
        Some(state.name.span)
    };
    match (of_kind(StateKind::Target), of_kind(StateKind::Repeating)) {
        (None, None) => problems.push(
            Diagnostic::error(
                syntax.name.span,
                "the monitor has neither a target nor a repeating state",
            )
            .label("no run could violate it")
            .help("`target state NAME` is a violation as soon as it is reached, `repeating state NAME` if it is visited for ever"),
        ),
        (Some(target), Some(repeating)) => problems.push(
            Diagnostic::error(
                repeating,
                "the monitor has both target and repeating states",
            )
            .label("a violation of this kind is an infinite run")
            .also(target, "a violation of this kind is a finite one")
            .help("write two monitors, or make the target repeating with no edges, so that it stays there for ever; that misses runs that end"),
        ),
        _ => {}
    }
}
