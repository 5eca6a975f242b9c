//! Why an operation on automata has no result.

use std::fmt;

use droste_base::StopReason;

/// Why an operation on automata has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationError {
    /// The weight domain has stopped.
    Stopped(StopReason),
    /// One automaton extends weights from the top of the stack, the other from its bottom.
    Directions,
    /// A deterministic automaton has more states than it may have, or there is none.
    TooManyStates(u32),
    /// No configuration has the combined weight of all.
    NoBest,
}

impl From<StopReason> for OperationError {
    fn from(reason: StopReason) -> Self {
        OperationError::Stopped(reason)
    }
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperationError::Stopped(reason) => reason.fmt(f),
            OperationError::Directions => f.write_str(
                "one automaton extends weights from the top of the stack, the other from its bottom",
            ),
            OperationError::TooManyStates(most) => write!(
                f,
                "a deterministic automaton has more than {most} states, or there is none"
            ),
            OperationError::NoBest => {
                f.write_str("no configuration has the combined weight of all configurations")
            }
        }
    }
}

impl std::error::Error for OperationError {}
