//! The procedures of a pushdown system: symbols that follow each other at one height of the stack.
//!
//! A step joins the symbol it replaces with the new one, a push with the one it leaves below.
//! Procedures that call each other are one *part* of the call graph. Parts are numbered such that
//! callees come first. Saturation that finishes callees first hands on summaries when they are
//! complete, and what it touches lies close together in memory.

use crate::components::components;
use crate::system::{Replace, Rule};

/// Which symbol is in which procedure.
#[derive(Debug)]
pub(crate) struct Procedures {
    of_symbol: Vec<u32>,
    /// For each procedure, its part of the call graph.
    part_of: Vec<u32>,
    parts: u32,
}

impl Procedures {
    pub(crate) fn new(symbols: u32, rules: &[Rule]) -> Self {
        // Sets of symbols that belong together, each a tree.
        let mut parent: Vec<u32> = (0..symbols).collect();
        let find = |parent: &mut Vec<u32>, mut symbol: u32| {
            while parent[symbol as usize] != symbol {
                let above = parent[parent[symbol as usize] as usize];
                parent[symbol as usize] = above;
                symbol = above;
            }
            symbol
        };
        for rule in rules {
            let other = match rule.replace {
                Replace::Pop => continue,
                Replace::Step(first) => first,
                Replace::Push(_, second) => second,
            };
            let a = find(&mut parent, rule.top.0);
            let b = find(&mut parent, other.0);
            parent[a.max(b) as usize] = a.min(b);
        }
        let mut of_symbol = vec![0; symbols as usize];
        let mut count = 0;
        // Symbols that no rule has are in no procedure of their own.
        let mut used = vec![false; symbols as usize];
        for rule in rules {
            used[rule.top.0 as usize] = true;
            match rule.replace {
                Replace::Pop => {}
                Replace::Step(first) => used[first.0 as usize] = true,
                Replace::Push(first, second) => {
                    used[first.0 as usize] = true;
                    used[second.0 as usize] = true;
                }
            }
        }
        for symbol in 0..symbols {
            // The root of a tree is its smallest symbol.
            let root = find(&mut parent, symbol);
            if !used[symbol as usize] {
                continue;
            }
            if root == symbol {
                of_symbol[symbol as usize] = count;
                count += 1;
            } else {
                of_symbol[symbol as usize] = of_symbol[root as usize];
            }
        }
        drop(parent);
        let parts = callees_first(count, &of_symbol, rules);
        let mut order = vec![0; count.max(1) as usize];
        let mut part_of = Vec::with_capacity(count as usize);
        for (part, procedures) in (0..).zip(&parts) {
            for &procedure in procedures {
                order[procedure as usize] = part_of.len() as u32;
                part_of.push(part);
            }
        }
        if part_of.is_empty() {
            // Automata may have symbols where the system has none.
            part_of.push(0);
        }
        for procedure in &mut of_symbol {
            *procedure = order[*procedure as usize];
        }
        Procedures {
            of_symbol,
            part_of,
            parts: parts.len().max(1) as u32,
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.part_of.len() as u32
    }

    /// How many parts the call graph has: sets of procedures that call each other.
    pub(crate) fn parts(&self) -> u32 {
        self.parts
    }

    /// The procedure of a symbol; the first one for a symbol that no rule has.
    #[inline]
    pub(crate) fn of(&self, symbol: u32) -> u32 {
        self.of_symbol.get(symbol as usize).copied().unwrap_or(0)
    }

    /// The part of a procedure.
    #[inline]
    pub(crate) fn part(&self, procedure: u32) -> u32 {
        (self.part_of.get(procedure as usize).copied()).unwrap_or(0)
    }
}

/// Sets of procedures that call each other, callees first.
fn callees_first(count: u32, of_symbol: &[u32], rules: &[Rule]) -> Vec<Vec<u32>> {
    let calls = || {
        rules.iter().filter_map(|rule| match rule.replace {
            Replace::Push(first, _) => {
                Some((of_symbol[rule.top.0 as usize], of_symbol[first.0 as usize]))
            }
            Replace::Pop | Replace::Step(_) => None,
        })
    };
    let mut first = vec![0u32; count as usize + 2];
    for (caller, _) in calls() {
        first[caller as usize + 2] += 1;
    }
    for i in 2..first.len() {
        first[i] += first[i - 1];
    }
    let mut callees = vec![0u32; *first.last().unwrap_or(&0) as usize];
    for (caller, callee) in calls() {
        let place = &mut first[caller as usize + 1];
        callees[*place as usize] = callee;
        *place += 1;
    }
    components(count, |procedure, out| {
        let at = procedure as usize;
        out.extend(&callees[first[at] as usize..first[at + 1] as usize]);
    })
}
