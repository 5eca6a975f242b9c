//! What stands above the steps: the title, what the monitor does, and the values at the start.

use droste_base::words::count;
use droste_program::execution::{Action, Changes, Ending, Execution, Valuation};
use droste_program::monitor::StateKind;
use droste_program::{NodeId, VarRef, Violation};
use droste_replay::Reading;

use super::{LISTED, TITLE, Writer};
use crate::explain;
use crate::view::{binding, name, sections, shorten, steps as steps_text, visible};

impl<'a> Writer<'a> {
    /// Where it happens, what happens, and how long it takes.
    pub(super) fn title(&self, execution: &Execution, total: u64) -> String {
        let last = execution.steps.last();
        let (node, what) = match execution.ending {
            Ending::At(node) => (Some(node), self.reached(node)),
            Ending::Stuck(node) => (Some(node), "nothing can happen".to_owned()),
            Ending::Lasso { start, .. } => {
                let (stem, cycle) = execution.steps.split_at(start.min(execution.steps.len()));
                let stem = match self.view.lengths.of(stem) {
                    0 => String::new(),
                    length => format!("{}, then ", steps_text(length)),
                };
                let cycle = steps_text(self.view.lengths.of(cycle));
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
            .and_then(|node| self.view.line(node))
            .map_or(String::new(), |line| format!(":{line}"));
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

    /// The values at the start, wrapped. Of very many globals, those that the actions change come first.
    pub(crate) fn start(
        &self,
        start: &Valuation,
        actions: impl Iterator<Item = &'a Action>,
    ) -> String {
        let program = self.view.program;
        let mut out = String::new();
        let globals = program.globals.iter().zip(start.globals.iter().copied());
        let total = globals.len();
        let listed = self.listed(total, actions);
        let globals = globals.zip(sections(program)).zip(listed);
        let words = globals.filter(|(_, listed)| *listed);
        let words = words.map(|(((variable, value), section), _)| {
            let text = binding(variable, value);
            section.map_or_else(
                || text.clone(),
                |section| format!("{}::{text}", name(section)),
            )
        });
        self.values("globals", words.collect(), total, &mut out);
        if let Some(main) = program.procedures.get(program.main.0 as usize) {
            let (params, others) = self.frame_of(program.main, &start.locals);
            let total = params.len() + others.len();
            let words = params.into_iter().chain(others).take(LISTED);
            let words = words.map(|(variable, value)| binding(variable, value));
            self.values(&name(&main.name), words.collect(), total, &mut out);
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    /// A paragraph of some of `total` values.
    fn values(&self, title: &str, mut words: Vec<String>, total: usize, out: &mut String) {
        let more = (total - words.len()) as u64;
        if more > 0 {
            words.push(format!("… and {} more", count(more)));
        }
        self.paragraph(title, &words.join(", "), out);
    }

    /// Which of the globals are listed at the start: those that change, then the others, while there is room.
    fn listed(&self, total: usize, actions: impl Iterator<Item = &'a Action>) -> Vec<bool> {
        if total <= LISTED {
            return vec![true; total];
        }
        let mut listed = vec![false; total];
        let mut room = LISTED;
        let inner = self.view.runs.iter().flat_map(|run| run.steps.iter());
        let inner = inner.map(|step| &step.action);
        for changes in actions.filter_map(changed).chain(inner.filter_map(changed)) {
            for (var, _) in changes {
                if let VarRef::Global(i) = var
                    && let Some(entry @ false) = listed.get_mut(*i as usize)
                    && room > 0
                {
                    *entry = true;
                    room -= 1;
                }
            }
        }
        for entry in listed.iter_mut().filter(|entry| !**entry).take(room) {
            *entry = true;
        }
        listed
    }
}

fn changed(action: &Action) -> Option<&Changes> {
    match action {
        Action::Internal { changes, .. } | Action::Folded { changes, .. } => Some(changes),
        _ => None,
    }
}
