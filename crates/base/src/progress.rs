//! Progress reports of long searches. Engines report; whoever started them decides what
//! to show.

/// How far a search has come, in what its engine counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// An explicit search.
    Explicit {
        /// Path edges (entry state, state) found so far.
        path_edges: u64,
        /// Distinct states found so far.
        states: u64,
        /// Path edges found but not yet expanded.
        waiting: u64,
    },
    /// A search over sets of states.
    Symbolic {
        /// Images of sets computed so far.
        images: u64,
        /// Nodes of decision diagrams in use.
        nodes: u64,
    },
    /// post* of a weighted pushdown system.
    Weighted {
        /// Weights composed so far.
        products: u64,
        /// Nodes of decision diagrams in use.
        nodes: u64,
    },
    /// A fixed point of the calculus.
    Calculus {
        /// Rounds of the outermost fixed point so far.
        rounds: u64,
        /// Nodes of decision diagrams in use.
        nodes: u64,
    },
}

/// What a search is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What the engine is doing, in a word or two.
    pub phase: &'static str,
    /// How far it has come.
    pub counters: Counters,
}

/// Somebody who wants to know. Called a few times a second at most.
pub type Reporter<'a> = &'a dyn Fn(Progress);
