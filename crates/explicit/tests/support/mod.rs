//! Random recursive state machines, a naive oracle for them, and a shrinker.

pub(crate) mod oracle;
pub(crate) mod rsm;
pub(crate) mod shrink;
