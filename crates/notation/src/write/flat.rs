//! The same system without any symbol `.` and with at most two symbols on the right.

use std::borrow::Cow;

use super::{WriteError, cannot, fresh};
use crate::system::{ANY, Configurations, Edge, Label, ONE, Right, Rule, System};

/// More rules or transitions than this are not made of `.`.
const MOST: usize = 100_000_000;

/// Which parts a format lacks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lacks {
    /// Any symbol in rules.
    pub(super) any: bool,
    /// Three symbols on the right and more.
    pub(super) long: bool,
}

/// The system with what a format lacks written out.
pub(super) fn flat(system: &System, lacks: Lacks) -> Result<Cow<'_, System>, WriteError> {
    let any = |set: &Configurations| {
        set.edges
            .iter()
            .any(|e| matches!(e.label, Label::Except(_)))
    };
    let rules = |rule: &Rule| {
        lacks.any && rule.top == ANY || lacks.long && matches!(rule.right, Right::Long(_))
    };
    if !any(&system.initial) && !any(&system.target) && !system.rules.iter().any(rules) {
        return Ok(Cow::Borrowed(system));
    }
    let symbols = system.symbols.len();
    let mut flat = system.clone();
    flat.initial = without_any(&system.initial, symbols)?;
    flat.target = without_any(&system.target, symbols)?;
    flat.rules = Vec::with_capacity(system.rules.len());
    for rule in &system.rules {
        let many = lacks.any && rule.top == ANY;
        let tops = if many {
            0..symbols
        } else {
            rule.top..rule.top.saturating_add(1)
        };
        let tops: Vec<u32> = if rule.top == ANY && !many {
            vec![ANY]
        } else {
            tops.collect()
        };
        for top in tops {
            if flat.rules.len() > MOST {
                return cannot("`.` stands for too many symbols to be written out");
            }
            let mut room = [0; 2];
            let right = system.right(rule, &mut room).iter();
            let right: Vec<u32> = right.map(|&s| if s == ANY { top } else { s }).collect();
            let rule = Rule { top, ..*rule };
            if lacks.long {
                cut(&mut flat, rule, &right)?;
            } else {
                let right = flat.make_right(&right);
                flat.rules.push(Rule { right, ..rule });
            }
        }
    }
    if lacks.long {
        flat.long = Vec::new();
    }
    Ok(Cow::Owned(flat))
}

/// Adds a rule with at most two symbols on the right; a new symbol stands for what is still to be
/// pushed.
fn cut(flat: &mut System, rule: Rule, right: &[u32]) -> Result<(), WriteError> {
    let (mut rule, mut right) = (rule, right);
    while let [less @ .., last] = right
        && less.len() > 1
    {
        if rule.top == ANY {
            return cannot("a rule for `.` has more than two symbols on the right");
        }
        let base = format!("push{}", flat.symbols.len());
        let name = fresh(&base, |name| flat.symbols.find(name).is_some());
        let Some(helper) = flat.symbols.intern(&name) else {
            return cannot("there are too many symbols");
        };
        let push = Right::Push(helper, *last);
        flat.rules.push(Rule {
            right: push,
            ..rule
        });
        rule = Rule {
            from: rule.to,
            top: helper,
            weight: ONE,
            ..rule
        };
        right = less;
    }
    let right = flat.make_right(right);
    flat.rules.push(Rule { right, ..rule });
    Ok(())
}

fn without_any(set: &Configurations, symbols: u32) -> Result<Configurations, WriteError> {
    let mut edges = Vec::with_capacity(set.edges.len());
    for edge in &set.edges {
        let Label::Except(except) = &edge.label else {
            edges.push(edge.clone());
            continue;
        };
        for symbol in (0..symbols).filter(|symbol| except.binary_search(symbol).is_err()) {
            if edges.len() > MOST {
                return cannot("`.` stands for too many symbols to be written out");
            }
            let label = Label::One(symbol);
            edges.push(Edge {
                label,
                ..edge.clone()
            });
        }
    }
    Ok(Configurations {
        edges,
        ..set.clone()
    })
}

/// The configurations of a set, if they are few and each stands alone.
pub(super) fn configurations(set: &Configurations) -> Option<Vec<(u32, Vec<u32>)>> {
    use crate::system::Place;
    const FEW: usize = 10_000;
    let mut found = Vec::new();
    let mut starts: Vec<u32> = (set.edges.iter().map(|edge| edge.from))
        .chain(set.accepting.iter().map(|(place, _)| *place))
        .filter_map(|place| match place {
            Place::Control(state) => Some(state),
            Place::Extra(_) => None,
        })
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let mut steps = 0;
    for state in starts {
        let mut work = vec![(Place::Control(state), Vec::new())];
        while let Some((at, stack)) = work.pop() {
            steps += 1;
            if steps > FEW || stack.len() > set.edges.len() {
                return None;
            }
            for edge in set.edges.iter().filter(|edge| edge.from == at) {
                let Label::One(symbol) = edge.label else {
                    return None;
                };
                let mut longer = stack.clone();
                longer.push(symbol);
                work.push((edge.to, longer));
            }
            if set.accepting.iter().any(|(place, _)| *place == at) {
                found.push((state, stack));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}
