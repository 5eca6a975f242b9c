//! Properties of programs, in two forms: as they are asked for, and with their names resolved.

use std::fmt;
use std::sync::Arc;

use droste_automata::Tgba;
use droste_program::labels;
use droste_program::monitor::{Monitor, StateKind};
use droste_program::temporal::Formula;
use droste_program::{NodeId, Program, Proposition};
use droste_replay::Claim;

use crate::critical::Critical;
use crate::report::Halt;
use crate::{Automaton, Engine, Ltl, Options};

/// The labels that the default property asks about.
pub const ERROR_LABELS: [&str; 2] = ["ERROR", "SLIC_ERROR"];

/// What is asked about a program.
#[derive(Clone, Debug)]
pub enum Property {
    /// No assertion fails, no value leaves its range, nothing is divided by zero, and none of
    /// [`ERROR_LABELS`] is reached.
    Default,
    /// None of these labels is reached. `LABEL` in any procedure, or `PROC:LABEL`.
    Reach(Vec<String>),
    /// As `Reach`; of the runs that reach one of the labels, the one is shown that touches the most
    /// of the critical labels, and of those a shortest one.
    Critical {
        /// The labels to be reached.
        reach: Vec<String>,
        /// The critical labels.
        critical: Vec<String>,
    },
    /// No run comes to where nothing can happen, other than the end of `main`.
    Deadlock,
    /// No run visits these labels infinitely often.
    Repeat(Vec<String>),
    /// The monitor reaches no target, or visits its repeating states only finitely often.
    Monitor(Monitor),
    /// Every run satisfies the formula.
    Ltl(Arc<Ltl>),
    /// The automaton accepts no run.
    Automaton(Arc<Automaton>),
}

impl Property {
    /// The monitor that it asks about, or its automaton as one.
    pub fn monitor(&self) -> Option<&Monitor> {
        match self {
            Property::Monitor(monitor) => Some(monitor),
            Property::Automaton(automaton) => Some(&automaton.monitor),
            _ => None,
        }
    }

    /// What its formula means.
    pub fn meaning(&self) -> Option<&Formula> {
        match self {
            Property::Ltl(ltl) => Some(&ltl.meaning),
            _ => None,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Property::Default => f.write_str("no assertion fails and no error label is reached"),
            Property::Reach(labels) | Property::Critical { reach: labels, .. } => {
                write!(f, "{} is never reached", labels.join(" or "))
            }
            Property::Deadlock => f.write_str("no run gets stuck"),
            Property::Repeat(labels) => {
                write!(f, "{} is not visited infinitely often", labels.join(" or "))
            }
            Property::Monitor(monitor) => write!(f, "monitor {}", monitor.name),
            Property::Ltl(ltl) => f.write_str(&ltl.formula.text),
            Property::Automaton(automaton) => write!(f, "no run is accepted by {}", automaton.name),
        }
    }
}

/// A property whose names have been resolved.
#[derive(Clone)]
pub(crate) enum Resolved<'a> {
    Default(Vec<NodeId>),
    Reach(Vec<NodeId>),
    Critical(Vec<NodeId>, Vec<Critical>),
    /// Anywhere, or at one of these nodes if there are any.
    Deadlock(Vec<NodeId>),
    Repeat(Vec<NodeId>),
    Target(&'a Monitor),
    Repeating(&'a Monitor),
    /// A formula, and the automaton of the runs that violate it, unless the tableau is used.
    Ltl(&'a Ltl, Option<Box<Tgba>>),
    Automaton(&'a Automaton),
}

impl<'a> Resolved<'a> {
    pub(crate) fn new(
        program: &Program,
        property: &'a Property,
        options: &Options<'_>,
    ) -> Result<Self, Halt> {
        let nodes = |labels: &[String]| -> Result<Vec<NodeId>, Halt> {
            let mut nodes = Vec::new();
            for label in labels {
                nodes.extend(labels::find(program, label).map_err(Halt::refused)?);
            }
            nodes.sort_unstable();
            nodes.dedup();
            Ok(nodes)
        };
        Ok(match property {
            Property::Default => {
                let is_error = |label: &Arc<str>| ERROR_LABELS.contains(&label.as_ref());
                let nodes = program.nodes.iter().enumerate();
                let nodes = nodes.filter(|(_, node)| node.labels.iter().any(is_error));
                Resolved::Default(nodes.map(|(i, _)| NodeId(i as u32)).collect())
            }
            Property::Reach(labels) => Resolved::Reach(nodes(labels)?),
            Property::Critical { reach, critical } => {
                Resolved::Critical(nodes(reach)?, Critical::resolve(program, critical)?)
            }
            Property::Deadlock => Resolved::Deadlock(Vec::new()),
            Property::Repeat(labels) => Resolved::Repeat(nodes(labels)?),
            Property::Monitor(monitor) => {
                let mut states = monitor.states.iter();
                if states.any(|state| state.kind == StateKind::Target) {
                    Resolved::Target(monitor)
                } else {
                    Resolved::Repeating(monitor)
                }
            }
            // The tableau does without an automaton, and threads without formulas.
            Property::Ltl(ltl)
                if options.engine == Engine::Tableau
                    || matches!(options.engine, Engine::Calculus | Engine::Wpds)
                    || program.is_concurrent() =>
            {
                Resolved::Ltl(ltl, None)
            }
            Property::Ltl(ltl) => {
                let needed = options.engine == Engine::Bdd;
                let automaton = ltl.formula.violations(needed, &options.limits)?;
                Resolved::Ltl(ltl, automaton.map(Box::new))
            }
            Property::Automaton(automaton) => Resolved::Automaton(automaton),
        })
    }

    /// How much there is to look at, at every position.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Resolved::Ltl(ltl, _) => ltl.meaning.nodes.len() as u64,
            Resolved::Target(monitor) | Resolved::Repeating(monitor) => monitor.states.len() as u64,
            Resolved::Automaton(automaton) => automaton.monitor.states.len() as u64,
            Resolved::Default(_)
            | Resolved::Reach(_)
            | Resolved::Critical(..)
            | Resolved::Deadlock(_)
            | Resolved::Repeat(_) => 1,
        }
    }

    pub(crate) fn is_about_infinite_runs(&self) -> bool {
        match self {
            Resolved::Default(_)
            | Resolved::Reach(_)
            | Resolved::Critical(..)
            | Resolved::Deadlock(_)
            | Resolved::Target(_) => false,
            Resolved::Repeat(_)
            | Resolved::Repeating(_)
            | Resolved::Ltl(..)
            | Resolved::Automaton(_) => true,
        }
    }

    /// The nodes that it asks about: reached, stuck at or visited again and again.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        match self {
            Resolved::Default(nodes)
            | Resolved::Reach(nodes)
            | Resolved::Critical(nodes, _)
            | Resolved::Deadlock(nodes)
            | Resolved::Repeat(nodes) => nodes,
            _ => &[],
        }
    }

    /// Whether it asks about violations.
    pub(crate) fn violations(&self) -> bool {
        matches!(self, Resolved::Default(_))
    }

    /// Whether it asks about runs that get stuck.
    pub(crate) fn stops(&self) -> bool {
        matches!(self, Resolved::Deadlock(_))
    }

    /// The nodes and violations that a question about reachability asks for.
    pub(crate) fn targets(&self) -> Option<(&[NodeId], bool)> {
        match self {
            Resolved::Default(nodes) => Some((nodes, true)),
            Resolved::Reach(nodes) => Some((nodes, false)),
            _ => None,
        }
    }

    /// The propositions that it looks at, at every position.
    pub(crate) fn propositions(&self) -> Vec<&Proposition> {
        match self {
            Resolved::Target(monitor) | Resolved::Repeating(monitor) => {
                let edges = monitor.states.iter().flat_map(|state| &state.edges);
                edges.map(|(guard, _)| guard).collect()
            }
            Resolved::Ltl(ltl, _) => ltl.meaning.propositions.iter().collect(),
            _ => self
                .automaton()
                .map_or_else(Vec::new, |(_, propositions)| propositions.iter().collect()),
        }
    }

    /// The automaton whose runs are searched for, and what its atoms mean.
    pub(crate) fn automaton(&self) -> Option<(&Tgba, &[Proposition])> {
        match self {
            Resolved::Ltl(ltl, automaton) => {
                Some((automaton.as_deref()?, &ltl.meaning.propositions[..]))
            }
            Resolved::Automaton(own) => Some((&own.automaton, &own.propositions)),
            _ => None,
        }
    }

    /// What a run that violates the property is said to show.
    pub(crate) fn claim(&self) -> Claim<'_> {
        match self {
            Resolved::Default(nodes) => Claim::Default(nodes),
            Resolved::Reach(nodes) | Resolved::Critical(nodes, _) => Claim::Reaches(nodes),
            Resolved::Deadlock(_) => Claim::Stuck,
            Resolved::Repeat(nodes) => Claim::Repeats(nodes),
            Resolved::Target(monitor) => Claim::MonitorTarget(monitor),
            Resolved::Repeating(monitor) => Claim::MonitorRepeats(monitor),
            Resolved::Ltl(ltl, _) => Claim::Falsifies(&ltl.meaning),
            Resolved::Automaton(automaton) => Claim::MonitorRepeats(&automaton.monitor),
        }
    }
}
