//! A question, prepared once: names resolved, the automaton made, the program cleaned and compiled.
//!
//! All searches for one question use the same [`Prepared`]: the engines, alone or in a race, the
//! search for runs of bounded stack and the search for a shorter run. So does the replay. The parts
//! of a [`Prepared`] are made when they are first asked for, and kept.

use std::sync::OnceLock;

use droste_base::words::counted;
use droste_base::{Guard, PropId, StopReason, Trace};
use droste_explicit::{Goal, Mark, Tour};
use droste_omega::{Buchi, Watcher, WatcherState};
use droste_passes::{Absorbed, Cleaned, Live, Query, absorb, clean_within};
use droste_program::execution::Execution;
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{NodeId, Op, Program, Proposition};
use droste_symbolic::repeat::{of_monitor, of_nodes};
use droste_unfold::{Gap, Machine, Words, concretize, concretize_stuck};

use crate::property::Resolved;
use crate::report::Halt;
use crate::{Engine, Options, Passes, Property, critical};

/// A question about a program.
pub(crate) struct Prepared<'a> {
    /// The program as it was written.
    pub(crate) program: &'a Program,
    /// What is asked.
    pub(crate) question: Resolved<'a>,
    /// Who answers, if it is not who was asked for: the tableau, where an automaton is too large.
    pub(crate) engine: Engine,
    passes: Passes,
    eager: bool,
    /// For searches state by state, and for reachability.
    cleaned: OnceLock<Cleaned>,
    /// For sets of states and infinite runs, where that is not the same.
    cleaned_for_sets: OnceLock<Cleaned>,
    /// For sets of states and reachability, if some procedures are called in one place.
    absorbed: OnceLock<Option<Absorbed>>,
    compiled: OnceLock<Compiled>,
}

/// A cleaned program as a machine.
pub(crate) struct Compiled {
    pub(crate) machine: Machine,
    /// What is asked of its states: whether control is where the question says, or the propositions
    /// of the question in their order.
    asked: Vec<PropId>,
}

impl<'a> Prepared<'a> {
    /// Resolves the names of a property, and makes the automaton of a formula.
    pub(crate) fn new(
        program: &'a Program,
        property: &'a Property,
        options: &Options<'_>,
    ) -> Result<Self, Halt> {
        let question = Resolved::new(program, property, options)?;
        let mut engine = options.engine;
        if matches!(question, Resolved::Ltl(_, None))
            && matches!(engine, Engine::Auto | Engine::Explicit)
            && !program.is_concurrent()
        {
            // Only what the program makes of the formula is looked at.
            engine = Engine::Tableau;
            options.log("the automaton of what is looked for is too large: the tableau is used");
        }
        if let Some((automaton, _)) = question.automaton() {
            options.log(&format!(
                "automaton of what is looked for: {}, {}, {}",
                counted(automaton.state_count() as u64, "state"),
                counted(automaton.edges().len() as u64, "edge"),
                counted(u64::from(automaton.mark_count()), "mark"),
            ));
        }
        Ok(Prepared::of(program, question, engine, options))
    }

    /// A question whose names have been resolved.
    pub(crate) fn of(
        program: &'a Program,
        question: Resolved<'a>,
        engine: Engine,
        options: &Options<'_>,
    ) -> Self {
        Prepared {
            program,
            question,
            engine,
            passes: options.passes,
            eager: options.eager,
            cleaned: OnceLock::new(),
            cleaned_for_sets: OnceLock::new(),
            absorbed: OnceLock::new(),
            compiled: OnceLock::new(),
        }
    }

    /// The same question with the values of dead variables left as they are.
    pub(crate) fn without_dead(&self) -> Self {
        Prepared {
            program: self.program,
            question: self.question.clone(),
            engine: self.engine,
            passes: Passes {
                dead: false,
                ..self.passes
            },
            eager: self.eager,
            cleaned: OnceLock::new(),
            cleaned_for_sets: OnceLock::new(),
            absorbed: OnceLock::new(),
            compiled: OnceLock::new(),
        }
    }

    /// Whether the values of dead variables are forgotten.
    pub(crate) fn forgets(&self) -> bool {
        self.passes.dead
    }

    /// The program cleaned for a search state by state, and for reachability.
    pub(crate) fn cleaned(&self, options: &Options<'_>) -> Result<&Cleaned, StopReason> {
        let propositions = self.question.propositions();
        let query = Query {
            targets: self.question.nodes(),
            violations: self.question.violations(),
            stops: self.question.stops(),
            propositions: &propositions,
            every_position: !matches!(
                self.question,
                Resolved::Default(_)
                    | Resolved::Reach(_)
                    | Resolved::Critical(..)
                    | Resolved::Deadlock(_)
                    | Resolved::Repeat(_)
            ),
        };
        self.clean(&self.cleaned, &query, options)
    }

    /// The program cleaned for a search with sets of states. For reachability, and wherever every
    /// position counts in any case, it is the same.
    pub(crate) fn cleaned_for_sets(&self, options: &Options<'_>) -> Result<&Cleaned, StopReason> {
        let Resolved::Repeat(nodes) = &self.question else {
            return self.cleaned(options);
        };
        let (propositions, _) = of_nodes(self.program, nodes);
        let propositions: Vec<&Proposition> = propositions.iter().collect();
        let query = Query {
            targets: nodes,
            violations: false,
            stops: false,
            propositions: &propositions,
            every_position: true,
        };
        self.clean(&self.cleaned_for_sets, &query, options)
    }

    /// The program for a search with sets of states, which variables matter where, and how runs of it
    /// become runs of the cleaned program.
    pub(crate) fn for_sets_of_states(
        &self,
        options: &Options<'_>,
    ) -> Result<(&Program, &Live, Option<&Absorbed>), StopReason> {
        let cleaned = self.cleaned_for_sets(options)?;
        if self.absorbed.get().is_none() {
            let passes = self.passes;
            let wanted = passes.absorb && passes.dead && self.question.targets().is_some();
            let absorbed = if wanted && !self.question.stops() {
                let mut guard = options.limits.guard();
                let absorbed = absorb(cleaned, &Query::default(), &mut guard)?;
                if let Some(absorbed) = &absorbed {
                    let procedures = counted(absorbed.procedures() as u64, "procedure");
                    options.log(&format!(
                        "absorb: {procedures} called in one place made a part of the caller"
                    ));
                }
                absorbed
            } else {
                None
            };
            self.absorbed.get_or_init(|| absorbed);
        }
        Ok(match self.absorbed.get().and_then(Option::as_ref) {
            Some(absorbed) => (&absorbed.program, &absorbed.live, Some(absorbed)),
            None => (&cleaned.program, &cleaned.live, None),
        })
    }

    fn clean<'s>(
        &self,
        place: &'s OnceLock<Cleaned>,
        query: &Query<'_>,
        options: &Options<'_>,
    ) -> Result<&'s Cleaned, StopReason> {
        if let Some(cleaned) = place.get() {
            return Ok(cleaned);
        }
        let mut passes = self.passes;
        // Without values on demand, forgetting one only to guess it again would be wrong: a global
        // may be dead at a call and yet count as live inside the callee, for another caller.
        passes.dead &= !self.eager;
        let mut guard = options.limits.guard();
        let cleaned = clean_within(self.program, query, &passes, &mut guard)?;
        for line in &cleaned.report {
            options.log(line);
        }
        Ok(place.get_or_init(|| cleaned))
    }

    /// The cleaned program as a machine for a search state by state.
    pub(crate) fn compiled(&self, options: &Options<'_>) -> Result<&Compiled, Halt> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let cleaned = self.cleaned(options)?;
        let mut machine = if self.question.stops() {
            Machine::for_stops(&cleaned.program, &cleaned.live)
        } else {
            Machine::new(&cleaned.program, &cleaned.live, self.question.violations())
        };
        machine.set_eager(self.eager);
        if !self.eager {
            machine.localise(&cleaned.program);
        }
        let asked = match &self.question {
            Resolved::Default(nodes) => vec![machine.ask_control(nodes, true)],
            Resolved::Deadlock(only) => {
                // Where a run may end: with a violation, with its only thread, or where nobody asks.
                let nodes = (0..).map(NodeId).zip(&cleaned.program.nodes);
                let ends = nodes.filter(|(id, node)| {
                    node.op == Op::EndThread || !only.is_empty() && !only.contains(id)
                });
                let ends: Vec<NodeId> = ends.map(|(id, _)| id).collect();
                vec![machine.ask_control(&ends, true)]
            }
            Resolved::Reach(nodes) | Resolved::Repeat(nodes) => {
                vec![machine.ask_control(nodes, false)]
            }
            Resolved::Critical(nodes, critical) => {
                let mut asked = vec![machine.ask_control(nodes, false)];
                let ahead = critical::ahead(&cleaned.program, nodes, critical);
                for (label, ahead) in critical.iter().zip(&ahead) {
                    asked.push(machine.ask_control(&label.nodes, false));
                    asked.push(machine.ask_control(ahead, false));
                }
                asked
            }
            question => {
                let propositions = question.propositions();
                propositions.iter().map(|p| machine.ask(p)).collect()
            }
        };
        Ok(self.compiled.get_or_init(|| Compiled { machine, asked }))
    }

    /// What a search state by state looks for, in the machine's propositions.
    pub(crate) fn goal(&self, compiled: &Compiled) -> Result<Goal, Halt> {
        let asked = &compiled.asked;
        Ok(match &self.question {
            Resolved::Default(_) | Resolved::Reach(_) => Goal::Reach(asked[0]),
            Resolved::Critical(..) => Goal::Touch(Tour {
                target: asked[0],
                marks: (asked[1..].chunks_exact(2))
                    .map(|pair| Mark {
                        at: pair[0],
                        ahead: Some(pair[1]),
                    })
                    .collect(),
                least: 0,
            }),
            Resolved::Deadlock(_) => Goal::Stuck(asked.clone()),
            Resolved::Repeat(_) => Goal::Repeat(asked.clone()),
            Resolved::Target(monitor) | Resolved::Repeating(monitor) => {
                Goal::Watch(watcher(monitor, asked))
            }
            Resolved::Ltl(ltl, _) if self.engine == Engine::Tableau => {
                Goal::Prove(ltl.tableau()?, asked.clone())
            }
            Resolved::Ltl(..) | Resolved::Automaton(_) => match self.question.automaton() {
                Some((automaton, _)) => Goal::Accept(Buchi::new(automaton), asked.clone()),
                None => return Err(Halt::broken("an automaton is missing")),
            },
        })
    }

    /// What the symbolic engine is asked about infinite runs; nothing if the question is another.
    pub(crate) fn for_sets(&self) -> Option<(Vec<Proposition>, droste_automata::Tgba)> {
        Some(match &self.question {
            Resolved::Repeat(nodes) => of_nodes(self.program, nodes),
            Resolved::Repeating(monitor) => of_monitor(monitor),
            question => {
                let (automaton, propositions) = question.automaton()?;
                (propositions.to_vec(), automaton.clone())
            }
        })
    }

    /// Whether the symbolic engine answers the question.
    pub(crate) fn is_for_sets(&self) -> bool {
        self.question.targets().is_some()
            || self.question.stops()
            || self.question.is_about_infinite_runs()
    }

    /// The run of a trace that was found in the cleaned program, with a value for every variable.
    pub(crate) fn concretize<W: Words>(
        &self,
        cleaned: &Program,
        trace: Trace<W>,
        guard: &mut Guard,
    ) -> Result<Execution, Gap> {
        if self.question.stops() {
            return concretize_stuck(self.program, cleaned, trace, guard);
        }
        let watched = self.question.propositions();
        concretize(self.program, cleaned, &watched, trace, guard)
    }
}

/// A monitor over the machine's propositions: one for each edge, in the order of the states.
fn watcher(monitor: &Monitor, asked: &[PropId]) -> Watcher {
    let mut asked = asked.iter().copied();
    let states = monitor.states.iter().map(|state| WatcherState {
        // The edges come first: what is zipped with loses one when they end.
        edges: (state.edges.iter().zip(asked.by_ref()))
            .map(|((_, to), guard)| (guard, *to))
            .collect(),
        otherwise: state.otherwise,
        target: state.kind == StateKind::Target,
        repeating: state.kind == StateKind::Repeating,
    });
    Watcher {
        states: states.collect(),
        initial: monitor.initial,
    }
}
