//! States of a trace with their values spelled out, for engines that do not pack states into words.

use crate::program::{NodeId, ProcId, Value, Violation};

/// What a state of a trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Control is at the node.
    At(NodeId),
    /// Executing the node was a violation.
    Failed(NodeId, Violation),
    /// The procedure has returned.
    Exit(ProcId),
    /// The program is over.
    Terminated,
}

/// A state of a trace: values of the variables that matter there; what has none is left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valued {
    /// Where.
    pub control: Control,
    /// Values of the globals, where they matter.
    pub globals: Vec<Option<Value>>,
    /// Values of the locals of the node's procedure, where they matter; of an exit, the results.
    pub locals: Vec<Option<Value>>,
}
