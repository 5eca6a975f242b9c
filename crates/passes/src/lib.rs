//! Simplifying passes: a smaller [`Program`] that answers a query exactly as the given one does.
//!
//! There are four passes; the file of each says why it is right:
//!
//! * constants, propagated along feasible steps through calls and returns;
//! * unreachable code: what no feasible step leads to;
//! * slicing: what cannot lead to anything the query asks about;
//! * dead variables: what is computed in vain. The [`Live`] variables are returned as well, so that
//!   engines can forget the others.
//!
//! A fifth is for engines that summarise procedures: [`absorb()`] makes procedures that are called in
//! one place a part of their caller.
//!
//! # What stays exact
//!
//! Ids of nodes, variables and procedures never change. A run of the cleaned program, as a sequence
//! of nodes, is one of the given program. Every run of the given program that answers the query is
//! one of the cleaned program. (If runs that get stuck are asked about, nodes that are cut idle for
//! ever instead of being stuck, and both programs have the same stuck runs.)
//!
//! At each position the variables that are live in the cleaned program have the same values in
//! both. The other variables do not: assignments to them are gone, and arguments and results that
//! do not matter are constants. So values for a trace are found by running the *given* program
//! along the nodes of the trace, choosing each `*` such that the variables that are live at the
//! next node get the values of the trace. (Two visits of a cycle may then differ in variables that
//! are not live.)
//!
//! What keeps it honest: random programs, before and after the passes (`tests/random.rs`).

mod absorb;
mod constants;
mod dead;
mod faint;
mod fold;
mod graph;
mod live;
mod simplify;
mod slice;

pub use absorb::{Absorbed, absorb};
pub use live::Live;

use constants::Constants;
use droste_base::words::counted;
use droste_base::{Guard, Limits, StopReason};
use droste_program::{Node, NodeId, Op, Program, Proposition};
use graph::Graph;

/// What is asked about a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// Nodes the property asks about: reached or visited again and again.
    pub targets: &'a [NodeId],
    /// Violations are what is looked for.
    pub violations: bool,
    /// Runs that get stuck are what is looked for: at one of the targets, if there are any.
    pub stops: bool,
    /// Observed at every position.
    pub propositions: &'a [&'a Proposition],
    /// Whether what happens at every position matters (monitors, temporal formulas). If not,
    /// code that cannot lead to a target any more is cut.
    pub every_position: bool,
}

/// Which passes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Config {
    /// Cut what no step leads to.
    pub unreachable: bool,
    /// Propagate constants and simplify expressions.
    pub constants: bool,
    /// Find dead variables and drop assignments to them.
    pub dead: bool,
    /// Cut what cannot lead to what is asked about.
    pub slice: bool,
    /// Make procedures that are called in one place a part of their caller, for engines that want
    /// that. Needs [`dead`](Self::dead).
    pub absorb: bool,
}

impl Default for Config {
    /// All passes.
    fn default() -> Self {
        Config {
            unreachable: true,
            constants: true,
            dead: true,
            slice: true,
            absorb: true,
        }
    }
}

impl Config {
    /// No pass: the program stays as it is and everything is live.
    pub fn none() -> Self {
        Config {
            unreachable: false,
            constants: false,
            dead: false,
            slice: false,
            absorb: false,
        }
    }
}

/// A program that answers the query as the given one does.
#[derive(Clone, Debug)]
pub struct Cleaned {
    /// The program, with the same ids.
    pub program: Program,
    /// Which variables matter where, in this program.
    pub live: Live,
    /// What was done, one line each.
    pub report: Vec<String>,
}

/// Whether nothing but the same thing happens for ever at the node.
fn idles(id: NodeId, node: &Node) -> bool {
    node.op == Op::Goto(vec![id]) && node.ensure.is_none()
}

/// How often the passes are made: what one finds helps the others.
const ROUNDS: usize = 3;

/// Cleans `program` for `query`, however long it takes.
pub fn clean(program: &Program, query: &Query, config: &Config) -> Cleaned {
    match clean_within(program, query, config, &mut Limits::default().guard()) {
        Ok(cleaned) => cleaned,
        Err(reason) => unreachable!("stopped without a limit: {reason}"),
    }
}

/// Cleans `program` for `query`, unless a limit is reached.
pub fn clean_within(
    program: &Program,
    query: &Query,
    config: &Config,
    guard: &mut Guard,
) -> Result<Cleaned, StopReason> {
    let mut program = program.clone();
    let mut live = Live::all(&program);
    let mut report = Vec::new();
    // What one thread does may matter to another, wherever it leads the thread itself.
    let may_slice = config.slice
        && !query.every_position
        && query.propositions.is_empty()
        && !program.is_concurrent();
    for round in 0..ROUNDS {
        let mut changed = 0;
        let mut note = |count: usize, what: &str, deed: &str| {
            changed += count;
            if count > 0 {
                let counted = counted(count as u64, what);
                report.push(format!("round {}: {counted} {deed}", round + 1));
            }
        };
        guard.check_now()?;
        if config.constants || config.unreachable {
            let graph = Graph::new(&program);
            let mut fold = config.constants;
            let mut found = Constants::new(&program, &graph, fold, guard)?;
            if found.is_none() {
                fold = false;
                found = Constants::new(&program, &graph, false, guard)?;
            }
            if let Some(mut found) = found {
                let counts = simplify::simplify(&mut program, &mut found, fold, config.unreachable);
                note(counts.expressions, "expression", "simplified");
                note(counts.decided, "condition", "decided");
                note(counts.unreachable, "unreachable node", "cut");
            }
        }
        guard.check_now()?;
        if may_slice {
            let graph = Graph::new(&program);
            let cut = slice::slice(&mut program, &graph, query);
            note(cut, "node", "cut, with no way to what is asked about");
        }
        guard.check_now()?;
        if config.dead {
            let graph = Graph::new(&program);
            let liveness =
                dead::liveness(&program, &graph, query.propositions, query.stops, guard)?;
            let dropped = faint::drop_faint(&mut program, &liveness);
            note(
                dropped.assignments,
                "assignment",
                "dropped, to variables that are dead",
            );
            note(
                dropped.values,
                "value",
                "dropped, for nothing depends on it",
            );
            live = Live::from(liveness.sets);
        }
        // In a large program, a few changes more are not worth another round.
        if changed <= program.nodes.len() / 200 {
            break;
        }
    }
    if config.dead {
        let (count, all) = live.count(&program);
        let all = counted(all as u64, "pair");
        report.push(format!("live: {count} of {all} of a node and a variable"));
    }
    if *config != Config::none() {
        let nodes = program.nodes.len();
        let ids = (0..).map(NodeId).zip(&program.nodes);
        let cut = ids.filter(|(id, node)| node.op == Op::Stuck || query.stops && idles(*id, node));
        let left = nodes - cut.count();
        let nodes = counted(nodes as u64, "node");
        report.push(format!("left: {left} of {nodes}"));
    }
    Ok(Cleaned {
        program,
        live,
        report,
    })
}
