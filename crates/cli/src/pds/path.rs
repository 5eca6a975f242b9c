//! Runs of pushdown systems as text and JSON, folded: a callee's run that several calls share is
//! written once, and so is an end that several runs share. JSON is made while it is written.

use std::fmt::Write as _;

use droste_base::words::{count, counted};
use droste_base::{Guard, StopReason};
use droste_notation::build::Built;
use droste_notation::{ANY, System, written};
use droste_pds::{Automaton, Domain, Move, Pds, Reached, StateId, SymbolId, Wide, Witness};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::Stop;
use crate::console::Failure;

/// Of a longer stack, only the upper part is shown.
const STACK: usize = 20;

/// A run must be one, and its weight, between those of its ends, must be among what was combined;
/// where weights are totally ordered, it is the best.
pub(super) fn replay<D: Domain>(
    reached: &Reached<D::Weight>,
    domain: &D,
    pds: &Pds<D::Weight>,
    (from, to): (&Automaton<D::Weight>, &Automaton<D::Weight>),
    guard: &mut Guard,
) -> Result<(), Stop> {
    let Some(witness) = &reached.witness else {
        return Ok(());
    };
    match replayed((witness, &reached.weight), domain, pds, (from, to), guard) {
        // The sums of its parts may need more bits.
        Err(Stop::Limit(StopReason::OutOfRange)) if Wide::helps(domain) => {
            let weight = Wide::number_of(domain, &reached.weight);
            let [from, to] = [from, to].map(|set| Wide::automaton(domain, set));
            let pds = Wide::pds(domain, pds);
            replayed((witness, &weight), &Wide, &pds, (&from, &to), guard)
        }
        done => done,
    }
}

fn replayed<D: Domain>(
    (witness, weight): (&Witness, &D::Weight),
    domain: &D,
    pds: &Pds<D::Weight>,
    (from, to): (&Automaton<D::Weight>, &Automaton<D::Weight>),
    guard: &mut Guard,
) -> Result<(), Stop> {
    let wrong = |what: &str| {
        let what = format!("a defect in Droste: {what}. Please report this, with the system");
        Stop::Failure(Failure::Because(what))
    };
    let Some(own) = witness.weighed(domain, pds, guard)? else {
        return Err(wrong("the run that was found is none"));
    };
    let (start, end) = (&witness.start, &witness.end);
    let before = from.weight_of(domain, start.0, &start.1)?;
    let after = to.weight_of(domain, end.0, &end.1)?;
    let whole = domain.extend(&before, &domain.extend(&own, &after)?)?;
    let wanted = if domain.is_total() {
        whole
    } else {
        domain.combine(weight, &whole)?
    };
    if domain.equal(&wanted, weight) {
        return Ok(());
    }
    Err(wrong("the run that was found has another weight"))
}

/// A run to be shown.
pub(super) struct Path<'a, W> {
    pub(super) witness: &'a Witness,
    pub(super) system: &'a System,
    pub(super) built: &'a Built<W>,
    /// Whether rules are shown without weights.
    pub(super) plain: bool,
}

/// What is still to be written.
struct Todo {
    run: u32,
    next: usize,
    depth: usize,
}

impl<W> Path<'_, W> {
    /// The rule as it is written in the file; nothing for one that goes on with a long right-hand
    /// side.
    fn rule(&self, number: u32) -> Option<String> {
        let origin = self.built.origin.get(number as usize).copied().flatten()?;
        let rule = self.system.rules.get(origin as usize)?;
        let top = self.built.pds.rules()[number as usize].top.0;
        let symbol = |id: u32| {
            let id = if id == ANY { top } else { id };
            written(&self.system.symbols.get(id)).into_owned()
        };
        let state = |id: u32| written(&self.system.states.get(id)).into_owned();
        let mut text = format!("{} {} -> {}", state(rule.from), symbol(top), state(rule.to));
        for &right in self.system.right(rule, &mut [0; 2]) {
            let _ = write!(text, " {}", symbol(right));
        }
        if let Some(weight) = self.system.weight_text(rule.weight)
            && !self.plain
        {
            let _ = write!(text, " : {weight}");
        }
        Some(text)
    }

    fn configuration(&self, (state, stack): &(StateId, Vec<SymbolId>)) -> String {
        let mut text = format!("<{}", written(&self.system.states.get(state.0)));
        for (place, symbol) in stack.iter().take(STACK).enumerate() {
            let comma = if place == 0 { ", " } else { " " };
            let _ = write!(
                text,
                "{comma}{}",
                written(&self.system.symbols.get(symbol.0))
            );
        }
        if stack.len() > STACK {
            let _ = write!(text, " … {} more", count((stack.len() - STACK) as u64));
        }
        text + ">"
    }

    /// How often each run is called, or goes on another.
    fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0u32; self.witness.runs.len()];
        let steps = self.witness.runs.iter().flatten();
        for run in steps.filter_map(|step| step.run()) {
            let place = &mut uses[run as usize];
            *place = place.saturating_add(1);
        }
        uses
    }

    /// The run as text, at most about so many lines.
    pub(super) fn text(&self, most: usize, guard: &mut Guard) -> Result<String, StopReason> {
        let uses = self.uses();
        let mut names = vec![0u32; uses.len()];
        let mut named = 0;
        let mut text = format!("{}\n", self.configuration(&self.witness.start));
        let mut lines = 0;
        let last = self.witness.runs.len().saturating_sub(1) as u32;
        let mut todo = vec![Todo {
            run: last,
            next: 0,
            depth: 1,
        }];
        while let Some(top) = todo.last_mut() {
            let run = self.witness.runs.get(top.run as usize);
            let Some(&step) = run.and_then(|run| run.get(top.next)) else {
                todo.pop();
                continue;
            };
            guard.check()?;
            top.next += 1;
            let depth = top.depth;
            if lines >= most {
                let _ = writeln!(text, "  … (--max-steps shows more, --json everything)");
                break;
            }
            let mut line = step.rule().and_then(|rule| self.rule(rule));
            let inner = depth + usize::from(line.is_some());
            let mut note = String::new();
            if let Some(run) = step.run() {
                let name = &mut names[run as usize];
                if *name != 0 {
                    note = format!("   as in ({name})");
                } else {
                    if uses[run as usize] > 1 {
                        named += 1;
                        *name = named;
                        note = format!("   ({named})");
                    }
                    todo.push(Todo {
                        run,
                        next: 0,
                        depth: inner,
                    });
                }
            }
            if line.is_none() && !note.is_empty() {
                // No rule is written here: the run goes on, or a long right-hand side does.
                line = Some("then".to_owned());
            }
            if let Some(line) = line {
                let _ = writeln!(text, "{}{line}{note}", indent(depth));
                lines += 1;
            }
        }
        let _ = writeln!(text, "{}", self.configuration(&self.witness.end));
        let steps = match self.steps() {
            u64::MAX => "2⁶⁴ − 1 steps or more".to_owned(),
            steps => counted(steps, "step"),
        };
        Ok(text + &steps + "\n")
    }

    /// How many rules as written the run has, as far as 64 bits can tell.
    fn steps(&self) -> u64 {
        let mut lengths: Vec<u64> = Vec::with_capacity(self.witness.runs.len());
        for run in &self.witness.runs {
            let length = run.iter().fold(0u64, |sum, step| {
                let inside = step.run().and_then(|run| lengths.get(run as usize));
                let inside = inside.copied().unwrap_or(0);
                let origin = (step.rule()).and_then(|rule| self.built.origin.get(rule as usize));
                let own = origin.is_some_and(Option::is_some);
                sum.saturating_add(u64::from(own)).saturating_add(inside)
            });
            lengths.push(length);
        }
        lengths.last().copied().unwrap_or(0)
    }
}

/// What is before a line. Deep calls would leave the screen: their depth is told there instead.
pub(super) fn indent(depth: usize) -> String {
    const DEEPEST: usize = 30;
    if depth <= DEEPEST {
        "  ".repeat(depth)
    } else {
        let told = format!("  {} deep", count(depth as u64));
        format!("{told:<width$}", width = 2 * DEEPEST)
    }
}

/// A number, or a string where programs that read numbers as doubles would not have it exactly.
pub(super) fn exact(number: u64) -> Value {
    if number <= 1 << 53 {
        json!(number)
    } else {
        json!(number.to_string())
    }
}

/// The run as JSON: rules by their place in the file, runs by number, the main one last.
impl<W> Serialize for Path<'_, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let configuration = |(state, stack): &(StateId, Vec<SymbolId>)| {
            let stack: Vec<_> = stack.iter().map(|s| self.system.symbols.get(s.0)).collect();
            json!({ "state": self.system.states.get(state.0), "stack": stack })
        };
        let mut object = serializer.serialize_map(Some(4))?;
        object.serialize_entry("end", &configuration(&self.witness.end))?;
        object.serialize_entry("runs", &Runs(self))?;
        object.serialize_entry("start", &configuration(&self.witness.start))?;
        object.serialize_entry("steps", &exact(self.steps()))?;
        object.end()
    }
}

/// All runs of a path.
struct Runs<'a, 'b, W>(&'a Path<'b, W>);

impl<W> Serialize for Runs<'_, '_, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let runs = &self.0.witness.runs;
        let mut list = serializer.serialize_seq(Some(runs.len()))?;
        for run in runs {
            list.serialize_element(&Run(self.0, run))?;
        }
        list.end()
    }
}

/// One of them.
struct Run<'a, 'b, W>(&'a Path<'b, W>, &'a [Move]);

impl<W> Serialize for Run<'_, '_, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.1.len()))?;
        for step in self.1 {
            let rule = step.rule();
            let origin = rule.and_then(|rule| self.0.built.origin.get(rule as usize).copied());
            let text = rule.and_then(|rule| self.0.rule(rule));
            let mut object = json!({ "rule": origin.flatten(), "text": text });
            if let Some(run) = step.run() {
                object["call"] = json!(run);
            }
            list.serialize_element(&object)?;
        }
        list.end()
    }
}
