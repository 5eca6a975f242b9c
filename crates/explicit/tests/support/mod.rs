//! A naive oracle for recursive state machines, and a shrinker.

pub(crate) mod oracle;
pub(crate) mod shrink;
