//! What stands above the steps: the title, what the monitor does, and the values at the start.

use droste_program::execution::{Action, Ending};
use droste_program::monitor::StateKind;
use droste_program::{NodeId, VarRef, Violation};
use droste_replay::Reading;

use super::{GLOBALS, TITLE, Writer};
use crate::explain;
use crate::view::{binding, count, name, shorten, steps as steps_text, visible};

impl Writer<'_> {
    /// Where it happens, what happens, and how long it takes.
    pub(super) fn title(&self, total: u64) -> String {
        let execution = self.view.execution;
        let last = execution.steps.last();
        let (node, what) = match execution.ending {
            Ending::At(node) => (Some(node), self.reached(node)),
            Ending::Lasso { start, .. } => {
                let (stem, cycle) = execution.steps.split_at(start.min(execution.steps.len()));
                let stem = match self.view.length(stem) {
                    0 => String::new(),
                    length => format!("{}, then ", steps_text(length)),
                };
                let cycle = steps_text(self.view.length(cycle));
                let node = execution.steps.get(start).map(|step| step.node);
                (node, format!("runs for ever: {stem}a cycle of {cycle}"))
            }
            Ending::Terminated => (
                last.map(|step| step.node),
                "the program ends and stays as it is for ever".to_owned(),
            ),
            Ending::Final => match last.map(|step| (step.node, &step.action)) {
                Some((node, Action::Fail(violation))) => {
                    let text = self.violation(node, *violation);
                    let text = text.strip_suffix(" here").unwrap_or(&text);
                    (Some(node), text.to_owned())
                }
                other => (other.map(|(node, _)| node), "the program ends".to_owned()),
            },
        };
        let what = match self.deed() {
            Some(deed) if matches!(execution.ending, Ending::At(_)) => deed,
            Some(deed) => format!("{what}; {deed}"),
            None => what,
        };
        let length = match execution.ending {
            Ending::Lasso { .. } => String::new(),
            _ => format!(" ({})", steps_text(total)),
        };
        self.titled(node, &what, &length)
    }

    /// A title: where, what, how long.
    pub(crate) fn titled(&self, node: Option<NodeId>, what: &str, length: &str) -> String {
        let line = node
            .and_then(|node| self.view.position(node))
            .map_or(String::new(), |at| format!(":{}", at.line));
        let name = self.view.source.name();
        let title = visible(&format!("{name}{line}: {}{length}", shorten(what, TITLE)));
        if self.style.color {
            format!("\x1b[1m{title}\x1b[0m\n\n")
        } else {
            format!("{title}\n\n")
        }
    }

    /// What the monitor does that violates the property.
    pub(super) fn deed(&self) -> Option<String> {
        let run = self.monitor?;
        let (monitor, state) = (name(&run.name), name(run.state(run.entered)));
        Some(match run.kind {
            StateKind::Repeating => format!("monitor {monitor} visits {state} again and again"),
            _ => format!("monitor {monitor} enters {state}"),
        })
    }

    /// What is said about the monitor where it goes from `before` to `after`, by way of `read` and, if
    /// `within`, of an accepting state.
    pub(super) fn marker(&self, before: Option<u32>, reading: Reading) -> String {
        let Some(run) = self.monitor else {
            return String::new();
        };
        let mut text = String::new();
        if before != Some(reading.read) {
            text.push_str(&name(run.state(reading.read)));
        }
        let through = reading.within && !run.accepts(reading.after);
        if through || reading.after != reading.read {
            text.push_str(if text.is_empty() { "… " } else { " … " });
            if through {
                let mut states = (0..run.states.len() as u32).filter(|&s| run.accepts(s));
                text.push_str(&states.next().map_or("?".to_owned(), |s| name(run.state(s))));
                text.push_str(if states.next().is_some() {
                    ", … "
                } else {
                    " … "
                });
            }
            text.push_str(&name(run.state(reading.after)));
        }
        if text.is_empty() {
            text
        } else {
            format!("▸ {text}")
        }
    }

    /// Says in the last line what the monitor does there, and has it do that.
    pub(super) fn mark(&mut self, reading: Option<Reading>) {
        let Some(reading) = reading else { return };
        let marker = self.marker(self.state, reading);
        if let Some(line) = self.lines.last_mut() {
            line.monitor = marker;
        }
        self.state = Some(reading.after);
    }

    pub(crate) fn violation(&self, node: NodeId, violation: Violation) -> String {
        explain::violation(
            &self.view,
            node,
            self.last.caller,
            &self.last.now,
            violation,
        )
    }

    pub(crate) fn reached(&self, node: NodeId) -> String {
        match self.view.node(node).map(|node| &node.labels[..]) {
            Some([label]) => format!("label {label} reached"),
            Some([first, rest @ ..]) => {
                let mut text = format!("labels {first}");
                for label in rest {
                    text.push_str(", ");
                    text.push_str(label);
                }
                text + " reached"
            }
            _ => "reached".to_owned(),
        }
    }

    /// The values at the start, wrapped.
    pub(crate) fn start(&self) -> String {
        let program = self.view.program;
        let start = &self.view.execution.start;
        let mut out = String::new();
        let globals = program.globals.iter().zip(start.globals.iter().copied());
        let total = globals.len();
        let chosen = self.chosen(total);
        let mut words: Vec<String> = globals
            .zip(&chosen)
            .filter(|(_, chosen)| **chosen)
            .map(|((variable, value), _)| binding(variable, value))
            .collect();
        if words.len() < total {
            words.push(format!(
                "… and {} more",
                count((total - words.len()) as u64)
            ));
        }
        self.paragraph("globals", &words.join(", "), &mut out);
        if let Some(main) = program.procedures.get(program.main.0 as usize) {
            let (params, others) = self.frame(program.main, &start.locals);
            let separator = if params.is_empty() || others.is_empty() {
                ""
            } else {
                ", "
            };
            self.paragraph(
                &name(&main.name),
                &format!("{params}{separator}{others}"),
                &mut out,
            );
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    /// Which of the globals are listed at the start: those that change, then the others, while there is room.
    pub(super) fn chosen(&self, total: usize) -> Vec<bool> {
        if total <= GLOBALS {
            return vec![true; total];
        }
        let mut chosen = vec![false; total];
        let mut room = GLOBALS;
        let execution = self.view.execution;
        let inner = execution.runs.iter().flat_map(|run| run.steps.iter());
        for step in execution.steps.iter().chain(inner) {
            let (Action::Internal { changes, .. } | Action::Folded { changes, .. }) = &step.action
            else {
                continue;
            };
            for (var, _) in changes {
                if let VarRef::Global(i) = var
                    && let Some(entry @ false) = chosen.get_mut(*i as usize)
                    && room > 0
                {
                    *entry = true;
                    room -= 1;
                }
            }
        }
        for entry in chosen.iter_mut().filter(|entry| !**entry).take(room) {
            *entry = true;
        }
        chosen
    }
}
