//! Transition relations of programs, as decision diagrams: what the engines that compute with sets
//! of states have in common.
//!
//! * [`encode`]: the copies of the variables, in the order of [`droste_blast::order`].
//! * [`relation`]: what a node does to a set: steps, calls, returns.
//! * [`compile`]: makes the relations. Choices are quantified early, and what a step does not touch
//!   is no part of its relation.
//! * [`scope`]: which variables matter where.
//! * `stuck`: where nothing can happen.
//!
//! What keeps it honest: the engines that use the relations are compared with the explicit engine
//! and the naive oracle on random programs (`check/tests/engines.rs`), and the laws of relations
//! are tested in the crate `wpds` (`wpds/src/laws.rs`).

pub mod compile;
pub mod encode;
pub mod relation;
pub mod scope;
mod stuck;

pub use compile::Compiler;
pub use encode::{Copy, Encoding, Result};
pub use relation::{Action, Back, Call, Edge, Part, Relation, Resumed};
pub use scope::Scope;

use droste_base::{Progress, Reporter};
use droste_program::{NodeId, Op, Program};

/// What is looked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// Nodes.
    pub targets: &'a [NodeId],
    /// Violations.
    pub violations: bool,
    /// Runs that get stuck: nothing can happen, and it is not the end of `main`. If there are
    /// nodes, they are where, and reaching them is not looked for.
    pub stops: bool,
}

impl Query<'_> {
    /// Whether runs that get stuck at this node are looked for, or, for a call, when it returns.
    pub fn stops_at(&self, program: &Program, node: NodeId) -> bool {
        let is_call = matches!(program.node(node).op, Op::Call { .. });
        self.stops && (self.targets.is_empty() || is_call || self.targets.contains(&node))
    }
}

/// Runs `work` on a thread whose stack is large enough for diagrams over the variables of `program`
/// (and as many of its own as an automaton needs), and hands on what it reports.
pub fn on_worker<T: Send>(
    program: &Program,
    reporter: Option<Reporter<'_>>,
    work: impl FnOnce(&dyn Fn(Progress)) -> T + Send,
) -> T {
    let bits = |ty| droste_blast::bits(ty);
    let globals: usize = program.globals.iter().map(|v| bits(v.ty)).sum();
    let widest = program.procedures.iter().map(|p| {
        let locals: usize = p.locals.iter().map(|v| bits(v.ty)).sum();
        locals + p.results.iter().map(|&ty| bits(ty)).sum::<usize>()
    });
    // Slots are shared, and rarely more than twice as many as the widest procedure needs.
    let variables = 3 * (globals + 4 * widest.max().unwrap_or(0)) + 256;
    let listen = |progress| {
        if let Some(reporter) = reporter {
            reporter(progress);
        }
    };
    droste_base::on_worker(droste_bdd::stack_size(variables), listen, |tell| work(tell))
}
