//! Progress reports of long searches. Engines report; whoever started them decides what
//! to show.

/// What a search counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// Contexts and states.
    #[default]
    Contexts,
    /// Images of sets, and nodes of decision diagrams.
    Images,
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What the engine is doing, in a word or two.
    pub phase: &'static str,
    /// What is counted.
    pub units: Units,
    /// Contexts (entry state, state) found so far, or images.
    pub contexts: u64,
    /// Distinct states found so far, or nodes of diagrams.
    pub states: u64,
    /// Contexts found but not yet expanded.
    pub waiting: u64,
}

/// Somebody who wants to know. Called a few times a second at most.
pub type Reporter<'a> = &'a dyn Fn(Progress);
