//! Pushdown systems that look like the control flow of programs, with weights.
//!
//! Five families, from ten thousand to ten million rules:
//!
//! * `icfg`: structured procedures of 100 nodes, which call others behind them, or, now and then,
//!   themselves; one control state;
//! * `multi`: the same with 8 control states;
//! * `irred`: random graphs inside the procedures;
//! * `chain`: a deep chain of small procedures, each of which calls the next from two places;
//! * `rec`: four nodes in ten are calls, of any procedure.
//!
//! Two more are for the order in which path expressions are made, which was chosen without them:
//!
//! * `nest`: loops in loops, four deep, that are left from the middle;
//! * `wide`: random graphs of 300 nodes with three ways to go on from each.
//!
//! Nine calls in ten have a way around them; in `chain` none has. A step weighs 0 to 10, a call 1, a
//! return 0.

use droste_pds::{PdsBuilder, Replace, Rule, StateId, SymbolId};

use crate::random::Xorshift;

/// A family of systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Structured procedures.
    Icfg,
    /// Structured procedures and several control states.
    Multi,
    /// Random graphs.
    Irred,
    /// A deep chain of calls.
    Chain,
    /// Many calls.
    Rec,
    /// Loops in loops.
    Nest,
    /// Larger and denser random graphs.
    Wide,
}

impl Family {
    /// Those with yardsticks.
    pub const ALL: [Family; 5] = [
        Family::Icfg,
        Family::Multi,
        Family::Irred,
        Family::Chain,
        Family::Rec,
    ];

    /// The others.
    pub const OTHERS: [Family; 2] = [Family::Nest, Family::Wide];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Family::Icfg => "icfg",
            Family::Multi => "multi",
            Family::Irred => "irred",
            Family::Chain => "chain",
            Family::Rec => "rec",
            Family::Nest => "nest",
            Family::Wide => "wide",
        }
    }
}

/// A system to be asked about.
#[derive(Clone, Debug)]
pub struct System {
    /// Its rules, with lengths as weights.
    pub rules: PdsBuilder<i64>,
    /// How many control states there are.
    pub states: u32,
    /// How many symbols a procedure has: its symbols are next to each other.
    pub nodes: u32,
    /// The symbol that a run starts with, in the first control state.
    pub start: SymbolId,
    /// A symbol in the middle of some procedure.
    pub target: SymbolId,
    /// The symbols that can be below it: those to which calls return.
    pub under: Vec<SymbolId>,
}

struct Writer {
    random: Xorshift,
    rules: PdsBuilder<i64>,
    states: u32,
    under: Vec<SymbolId>,
    count: usize,
}

impl Writer {
    /// A step, in all control states; sometimes to another one.
    fn step(&mut self, from: u32, to: u32) {
        for state in 0..self.states {
            let target = if self.states > 1 && self.random.below(8) == 0 {
                self.random.below(self.states as usize) as u32
            } else {
                state
            };
            let weight = self.random.below(11) as i64;
            self.add(state, from, target, Replace::Step(SymbolId(to)), weight);
        }
    }

    fn call(&mut self, from: u32, entry: u32, back: u32) {
        for state in 0..self.states {
            let replace = Replace::Push(SymbolId(entry), SymbolId(back));
            self.add(state, from, state, replace, 1);
        }
        self.under.push(SymbolId(back));
    }

    fn leave(&mut self, from: u32) {
        for state in 0..self.states {
            self.add(state, from, state, Replace::Pop, 0);
        }
    }

    fn add(&mut self, from: u32, top: u32, to: u32, replace: Replace, weight: i64) {
        let rule = Rule {
            from: StateId(from),
            top: SymbolId(top),
            to: StateId(to),
            replace,
            merge: None,
        };
        self.rules.rule(rule, weight);
        self.count += 1;
    }
}

/// A system of a family with about this number of rules.
pub fn system(family: Family, rules: usize, seed: u64) -> System {
    let states = if family == Family::Multi { 8 } else { 1 };
    let nodes: u32 = match family {
        Family::Chain => 10,
        Family::Wide => 300,
        _ => 100,
    };
    // How many rules a procedure has, about.
    let each = match family {
        Family::Icfg | Family::Multi => 140,
        Family::Irred => 160,
        Family::Chain => 11,
        Family::Rec => 150,
        Family::Nest => 165,
        Family::Wide => 850,
    };
    let procedures = (rules / (each * states as usize)).max(2) as u32;
    let mut writer = Writer {
        random: Xorshift(seed | 1),
        rules: PdsBuilder::new(states, procedures * nodes),
        states,
        under: Vec::new(),
        count: 0,
    };
    for procedure in 0..procedures {
        let base = procedure * nodes;
        let last = base + nodes - 1;
        for node in base..last {
            body(
                &mut writer,
                family,
                (procedure, procedures),
                (base, node, last),
            );
        }
        writer.leave(last);
    }
    let middle = procedures / 2 + writer.random.below(procedures as usize / 2) as u32;
    System {
        rules: writer.rules,
        states,
        nodes,
        start: SymbolId(0),
        target: SymbolId(middle * nodes + nodes / 2),
        under: writer.under,
    }
}

/// What happens at one node, which is not the last.
fn body(
    writer: &mut Writer,
    family: Family,
    (procedure, procedures): (u32, u32),
    (base, node, last): (u32, u32, u32),
) {
    let nodes = last - base + 1;
    let below = |writer: &mut Writer, bound: u32| writer.random.below(bound.max(1) as usize) as u32;
    if family == Family::Chain {
        let calls = procedure + 1 < procedures && (node == base + 2 || node == base + 5);
        if calls {
            writer.call(node, base + nodes, node + 1);
        } else {
            writer.step(node, node + 1);
            if node == base + 3 {
                writer.step(node, last);
            }
        }
        return;
    }
    let share = if family == Family::Rec { 40 } else { 10 };
    if below(writer, 100) < share {
        let callee = if family == Family::Rec {
            below(writer, procedures)
        } else if below(writer, 50) == 0 {
            procedure
        } else {
            // The procedures behind this one, near ones more often.
            let rest = procedures - procedure - 1;
            if rest == 0 {
                writer.step(node, node + 1);
                return;
            }
            let near = rest.min(1 + below(writer, 200));
            procedure + 1 + below(writer, near)
        };
        writer.call(node, callee * nodes, node + 1);
        if below(writer, 10) > 0 {
            writer.step(node, node + 1);
        }
        return;
    }
    if family == Family::Wide {
        for _ in 0..2 {
            let to = base + below(writer, nodes);
            writer.step(node, to);
        }
        writer.step(node, node + 1);
        return;
    }
    if family == Family::Nest {
        writer.step(node, node + 1);
        let place = node - base;
        for length in [3, 9, 27, 81] {
            if place % length == length - 1 {
                writer.step(node, node + 1 - length);
            }
        }
        if below(writer, 6) == 0 {
            // Out of the loop of nine.
            writer.step(node, (base + place / 9 * 9 + 9).min(last));
        }
        return;
    }
    if family == Family::Irred {
        let to = base + below(writer, nodes);
        writer.step(node, to);
        if below(writer, 10) < 7 {
            writer.step(node, node + 1);
        }
        return;
    }
    writer.step(node, node + 1);
    match below(writer, 10) {
        // A branch that skips some nodes, and a loop.
        0..3 => {
            let skip = 2 + below(writer, 8);
            writer.step(node, (node + skip).min(last));
        }
        3 => {
            let back = below(writer, 10).min(node - base);
            writer.step(node, node - back);
        }
        _ => {}
    }
}
