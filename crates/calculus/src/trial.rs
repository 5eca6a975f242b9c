//! Which of two orders of BDD variables is the better one for a theory, found by trying.
//!
//! [`crate::order`] gives two orders where parts of one variable are passed to the same parameters
//! or compared with each other: the one in which classes list their parts, as in MUCKE, and one in
//! which such parts are neighbours. The relations that depend on no recursion are built with both.
//! They take turns, with more and more steps, so that trying costs little. The file's own order is
//! kept, unless the diagrams of the other one are much smaller: what is small now may grow in the
//! rounds of a fixpoint, and the author of the file knew more than these relations tell. What has
//! been computed is kept.
//!
//! Answers do not depend on the order; `tests/random` forces each.

use std::fmt;

use droste_base::{Limits, StopReason};

use crate::depend::components;
use crate::engine::Engine;
use crate::order::order;
use crate::term::{DefId, Of};
use crate::theory::{Action, Theory};

/// How many times smaller relations must be to speak against the order of declaration, and how many
/// times fewer steps they must take.
const AT_LEAST: u64 = 8;
/// Steps that building may take in the first turn; each further one has `MORE` times as many.
const FIRST_TURN: u64 = 20_000;
const MORE: u64 = 4;
/// No turn takes more. Without a decision by then, the file's own order is kept.
const LAST_TURN: u64 = 10_000_000;

/// How the order of BDD variables was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenOrder {
    /// Nothing spoke against the order of declaration.
    Declared,
    /// The order was asked for.
    Asked,
    /// The order of declaration, after both had been tried: nodes of the relations in this order,
    /// and in the other one if they could be built with about the same effort.
    DeclaredTried(usize, Option<usize>),
    /// Related parts next to each other, in the same way.
    ClusteredTried(usize, Option<usize>),
    /// The order of declaration: with neither were the relations built soon enough.
    Undecided,
}

impl fmt::Display for ChosenOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CLUSTERED: &str = "with related parts of a variable side by side";
        match self {
            ChosenOrder::Declared => write!(f, "as declared"),
            ChosenOrder::Asked => write!(f, "as asked for"),
            ChosenOrder::Undecided => write!(
                f,
                "as declared; neither this nor the one {CLUSTERED} gives small relations"
            ),
            ChosenOrder::DeclaredTried(own, Some(other)) => write!(
                f,
                "as declared; relations have {own} nodes, and {other} {CLUSTERED}"
            ),
            ChosenOrder::DeclaredTried(own, None) => write!(
                f,
                "as declared; relations have {own} nodes, and too many {CLUSTERED}"
            ),
            ChosenOrder::ClusteredTried(own, Some(other)) => write!(
                f,
                "{CLUSTERED}; relations have {own} nodes, and {other} as declared"
            ),
            ChosenOrder::ClusteredTried(own, None) => write!(
                f,
                "{CLUSTERED}; relations have {own} nodes, and too many as declared"
            ),
        }
    }
}

/// Which order to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreferredOrder {
    /// The better one.
    #[default]
    Better,
    /// Parts of classes in the order of declaration.
    Declared,
    /// Related parts next to each other.
    Clustered,
}

/// An engine for the theory, with the order that is preferred.
pub(crate) fn engine(
    mut theory: Theory,
    limits: &Limits,
    preference: PreferredOrder,
) -> (Engine, ChosenOrder) {
    let order = theory.order.take().unwrap_or_else(|| order(&theory));
    let Some(clustered) = order.clustered else {
        let engine = Engine::new(theory, limits, order.declared);
        return (engine, ChosenOrder::Declared);
    };
    match preference {
        PreferredOrder::Declared => {
            let engine = Engine::new(theory, limits, order.declared);
            return (engine, ChosenOrder::Asked);
        }
        PreferredOrder::Clustered => {
            let engine = Engine::new(theory, limits, clustered);
            return (engine, ChosenOrder::Asked);
        }
        PreferredOrder::Better => {}
    }
    let relations = relations(&theory);
    let mut first = Engine::new(theory, limits, order.declared);
    if relations.is_empty() {
        return (first, ChosenOrder::Declared);
    }
    let mut second = Engine::new(Theory::default(), limits, clustered);
    let mut turn = FIRST_TURN;
    while turn <= LAST_TURN {
        let Ok(own) = build(&mut first, &relations, turn) else {
            break;
        };
        second.theory = std::mem::take(&mut first.theory);
        let other = build(&mut second, &relations, turn / AT_LEAST);
        if let Ok(Some(size)) = other
            && own.is_none_or(|own| size * AT_LEAST as usize <= own)
        {
            return (second, ChosenOrder::ClusteredTried(size, own));
        }
        first.theory = std::mem::take(&mut second.theory);
        match (own, other) {
            (Some(size), Ok(other)) => return (first, ChosenOrder::DeclaredTried(size, other)),
            (_, Err(_)) => break,
            (None, Ok(_)) => turn *= MORE,
        }
    }
    (first, ChosenOrder::Undecided)
}

/// The predicates that the actions need and that depend on no recursion, callees first.
fn relations(theory: &Theory) -> Vec<DefId> {
    let mut roots: Vec<DefId> = Vec::new();
    for action in &theory.actions {
        match action {
            Action::Query(question) | Action::Witness(_, question) => {
                roots.extend(question.references.iter().map(|(def, _)| *def));
            }
            Action::Count(def, _)
            | Action::Size(def, _)
            | Action::Dump(def, _)
            | Action::Tuples(def, ..) => roots.push(*def),
            _ => {}
        }
    }
    let uses = |def: DefId| theory.definition(def).references.iter().map(|(d, _)| *d);
    let lists = components(&roots, |def, out| out.extend(uses(def)));
    let mut plain: Vec<DefId> = Vec::new();
    let mut is_plain = vec![false; theory.definitions.len()];
    for list in lists {
        let def = list[0];
        if list.len() == 1 && uses(def).all(|used| is_plain[used.0 as usize]) {
            is_plain[def.0 as usize] = true;
            plain.push(def);
        }
    }
    plain
}

/// Builds relations in that many steps; the number of their nodes, or nothing if that was not
/// enough.
fn build(
    engine: &mut Engine,
    relations: &[DefId],
    steps: u64,
) -> Result<Option<usize>, StopReason> {
    let manager = engine.manager.clone();
    manager.within(steps, || {
        let mut nodes = 0;
        for &def in relations {
            let body = engine.theory.definition(def).body;
            let body = body.unwrap_or(crate::term::FALSE);
            let value = engine.evaluate(body)?.and(&engine.space(def)?)?;
            nodes += value.node_count();
            engine.set(def, Of::Value, value);
        }
        Ok(nodes)
    })
}
