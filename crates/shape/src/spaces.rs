//! State spaces as pictures: a cluster for each heap in which a method is entered, for Graphviz, or a
//! list with the heap of every state, for a page.

use std::fmt::Write as _;

use droste_base::{Limits, Model as _, Step, Steps};
use droste_explicit::{Options, Spaces, explore};
use droste_heap::Heap;
use droste_ltl::ResolvedFormula;
use rustc_hash::FxHashMap;

use crate::machine::{Fault, Machine, State};
use crate::page::{Entry, Sheet};
use crate::picture::{Change, svg};
use crate::proposition::Proposition;
use crate::task::Task;

/// A state: its space, and its place there.
#[derive(Clone, Debug)]
struct Point {
    state: State,
    line: u32,
    text: String,
    fault: Option<Fault>,
    /// Where it goes on in its own space.
    next: Vec<State>,
    /// Over which calls: the space of the callee, and where control comes back.
    calls: Vec<(usize, Vec<State>)>,
    heap: Heap,
}

/// A state space.
#[derive(Clone, Debug)]
struct Space {
    signature: String,
    points: Vec<Point>,
}

/// All state spaces of a task.
#[derive(Clone, Debug)]
pub struct StateSpaces(Vec<Space>);

impl StateSpaces {
    /// The state spaces of a task, prepared for some formulas; or why there are none.
    pub fn new(
        task: &mut Task,
        formulas: &[ResolvedFormula<Proposition>],
        limits: &Limits,
    ) -> Result<Self, String> {
        let mut problem = "the initial heaps are too many".to_owned();
        let made = task.with_machine(formulas, |task, machine, _| {
            let options = Options {
                limits: limits.clone(),
                ..Options::default()
            };
            match explore(machine, &options) {
                Ok(spaces) => Some(StateSpaces(collect(task, machine, &spaces))),
                Err((reason, _)) => {
                    problem = reason.to_string();
                    None
                }
            }
        });
        made.ok_or(problem)
    }

    /// For Graphviz: clusters of states; a call is dashed, what comes behind it dotted.
    pub fn dot(&self) -> String {
        let mut out = String::from("digraph spaces {\n  node [shape=box, fontname=monospace];\n");
        // A state may be in several spaces: its name has the number of the space.
        let name = |space: usize, state: State| format!("s{space}_{}", state.0);
        for (number, space) in self.0.iter().enumerate() {
            let _ = writeln!(out, "  subgraph cluster_{number} {{");
            let _ = writeln!(out, "    label={};", quoted(&space.signature));
            for (at, point) in space.points.iter().enumerate() {
                let style = match point.fault {
                    Some(_) => ", color=red",
                    None if at == 0 => ", style=bold",
                    None => "",
                };
                let here = name(number, point.state);
                let text = quoted(&format!("{}: {}", point.line, point.text));
                let _ = writeln!(out, "    {here} [label={text}{style}];");
            }
            out.push_str("  }\n");
        }
        for (number, space) in self.0.iter().enumerate() {
            for point in &space.points {
                let from = name(number, point.state);
                for &next in &point.next {
                    let _ = writeln!(out, "  {from} -> {};", name(number, next));
                }
                for (callee, after) in &point.calls {
                    if let Some(entry) = self.0[*callee].points.first() {
                        let to = name(*callee, entry.state);
                        let _ = writeln!(out, "  {from} -> {to} [style=dashed];");
                    }
                    for &next in after {
                        let to = name(number, next);
                        let _ = writeln!(out, "  {from} -> {to} [style=dotted];");
                    }
                }
            }
        }
        out.push_str("}\n");
        out
    }

    /// The heaps with the most nodes, the largest first.
    pub fn largest(&self, count: usize) -> Vec<(String, Heap)> {
        let mut all: Vec<&Point> = self.0.iter().flat_map(|space| &space.points).collect();
        all.sort_by_key(|point| std::cmp::Reverse(point.heap.node_count()));
        let named = |point: &&Point| {
            let text = format!("{}: {}", point.line, point.text);
            (text, point.heap.clone())
        };
        all.iter().take(count).map(named).collect()
    }

    /// As a sheet of a page, of so many states at most.
    pub fn sheet(&self, symbols: &droste_heap::Symbols, most: usize) -> Sheet {
        let mut numbers: FxHashMap<(usize, State), usize> = FxHashMap::default();
        for (space, one) in self.0.iter().enumerate() {
            for point in &one.points {
                let next = numbers.len();
                numbers.insert((space, point.state), next);
            }
        }
        let all = numbers.len();
        let mut entries = Vec::new();
        for (number, space) in self.0.iter().enumerate() {
            for (at, point) in space.points.iter().enumerate() {
                if entries.len() >= most {
                    break;
                }
                let link = |space: usize, state: &State, words: &str| {
                    let to = *numbers.get(&(space, *state))?;
                    let words = format!("{words}{}", to + 1);
                    (to < most).then_some((words, to))
                };
                let mut links: Vec<(String, usize)> = Vec::new();
                links.extend(point.next.iter().filter_map(|next| link(number, next, "")));
                for (callee, after) in &point.calls {
                    let entry = self.0[*callee].points.first();
                    links.extend(entry.and_then(|point| link(*callee, &point.state, "call ")));
                    let after = after.iter();
                    links.extend(after.filter_map(|next| link(number, next, "after it ")));
                }
                entries.push(Entry {
                    heading: (at == 0).then(|| space.signature.clone()),
                    line: point.line,
                    text: point.text.clone(),
                    sign: if point.fault.is_some() { "✗" } else { "" },
                    svg: svg(&point.heap, symbols, &Change::default()),
                    caption: format!("state {} in {}", entries.len() + 1, space.signature),
                    links,
                    ..Entry::default()
                });
            }
        }
        let shown = if all > most {
            format!(" The first {most} are shown.")
        } else {
            String::new()
        };
        Sheet {
            name: "states".into(),
            note: format!(
                "{all} states of {} calls: a method begins anew for every heap in which it is \
                 entered.{shown}",
                self.0.len()
            ),
            entries,
        }
    }
}

fn collect(task: &Task, machine: &Machine<'_>, spaces: &Spaces<State>) -> Vec<Space> {
    let numbers: FxHashMap<State, usize> = (spaces.list.iter().enumerate())
        .map(|(number, space)| (space.entry, number))
        .collect();
    let mut made = Vec::new();
    for space in &spaces.list {
        let method = task.program.method(machine.place(space.entry).method);
        let mut points = Vec::new();
        // The entry comes first.
        let others = space.states.iter().filter(|&&state| state != space.entry);
        for &state in std::iter::once(&space.entry).chain(others) {
            let place = machine.place(state);
            if machine.is_beyond(state) {
                continue;
            }
            let text = if machine.is_at_end(state) {
                "end".to_owned()
            } else {
                task.program.print_statement(place.method, place.pc)
            };
            let mut point = Point {
                state,
                line: (method.lines.get(place.pc as usize).or(method.lines.last()))
                    .copied()
                    .unwrap_or(0),
                text,
                fault: place.fault,
                next: Vec::new(),
                calls: Vec::new(),
                heap: machine.heap(state),
            };
            let mut steps = Steps::new();
            machine.steps(&state, &mut steps);
            for step in steps.drain() {
                match step {
                    Step::Internal(next) => point.next.push(next),
                    Step::Exit(_) => {}
                    Step::Call(call, entry) => {
                        let (Some(callee), Some(&number)) =
                            (spaces.of(&entry), numbers.get(&entry))
                        else {
                            continue;
                        };
                        let mut after = Vec::new();
                        for exit in &callee.exits {
                            machine.resume(&state, call, exit, &mut after);
                        }
                        after.sort_unstable();
                        after.dedup();
                        point.calls.push((number, after));
                    }
                }
            }
            points.push(point);
        }
        made.push(Space {
            signature: method.signature.clone(),
            points,
        });
    }
    made
}

/// Text as a string of the language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
