//! Which variables matter where: what the dead-variables pass tells the engines.

use crate::program::{NodeId, ProcId, VarRef};

/// Which variables matter where. An engine may leave the others without a value.
pub trait Liveness {
    /// Whether the value of `var` may matter when control is at `node`.
    fn live(&self, node: NodeId, var: VarRef) -> bool;
    /// Whether the value of a global may matter when `procedure` has returned.
    fn live_at_exit(&self, procedure: ProcId, global: u32) -> bool;
    /// Whether the value of a global may matter after `main` has returned.
    fn live_after_termination(&self, global: u32) -> bool;
}

/// Every value matters everywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllLive;

impl Liveness for AllLive {
    fn live(&self, _: NodeId, _: VarRef) -> bool {
        true
    }
    fn live_at_exit(&self, _: ProcId, _: u32) -> bool {
        true
    }
    fn live_after_termination(&self, _: u32) -> bool {
        true
    }
}
