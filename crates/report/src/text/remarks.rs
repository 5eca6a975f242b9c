//! What stands beside the steps: values that change, are passed, and come back.

use droste_program::display::value_to_string;
use droste_program::execution::{Action, CalleeRun, Step, Valuation};
use droste_program::{NodeId, Op, ProcId, Procedure, Value, VarRef, Variable};

use super::Writer;
use crate::view::{binding, bindings, name};

/// Variables and their values.
type Frame<'a> = Vec<(&'a Variable, Value)>;

impl<'a> Writer<'a> {
    /// `g = T, x = 3`
    pub(crate) fn changes(&self, at: NodeId, changes: &[(VarRef, Value)]) -> String {
        bindings(
            changes
                .iter()
                .filter_map(|&(var, value)| self.view.binding(at, var, value)),
        )
    }

    /// `flip(n = 3); x = F`: the callee of the call at `node`, its parameters, its locals.
    pub(super) fn entering(&self, node: NodeId, values: &[Value], with_locals: bool) -> String {
        let Some((id, callee)) = self.callee(node) else {
            return "?".to_owned();
        };
        let (params, others) = self.frame(id, values);
        let mut text = format!("{}({params})", name(&callee.name));
        if with_locals && !others.is_empty() {
            text.push_str("; ");
            text.push_str(&others);
        }
        text
    }

    /// The parameters of a procedure, and its other locals.
    pub(crate) fn frame(&self, id: ProcId, values: &[Value]) -> (String, String) {
        let (params, others) = self.frame_of(id, values);
        let text = |pairs: Vec<(&Variable, Value)>| {
            bindings(
                pairs
                    .into_iter()
                    .map(|(variable, value)| binding(variable, value)),
            )
        };
        (text(params), text(others))
    }

    /// The same, one by one.
    pub(super) fn frame_of(&self, id: ProcId, values: &[Value]) -> (Frame<'a>, Frame<'a>) {
        let Some(procedure) = self.view.program.procedures.get(id.0 as usize) else {
            return (Vec::new(), Vec::new());
        };
        let mut pairs: Frame<'a> = procedure
            .locals
            .iter()
            .zip(values.iter().copied())
            .collect();
        let others = pairs.split_off(pairs.len().min(procedure.params as usize));
        (pairs, others)
    }

    pub(super) fn callee(&self, node: NodeId) -> Option<(ProcId, &'a Procedure)> {
        let Op::Call { callee, .. } = &self.view.node(node)?.op else {
            return None;
        };
        let procedure = self.view.program.procedures.get(callee.0 as usize)?;
        Some((*callee, procedure))
    }

    /// `returns T, 3`
    pub(super) fn results(&self, run: &CalleeRun) -> String {
        let mut text = "returns".to_owned();
        let types = self.view.procedure_of(run.exit).map(|p| &p.results[..]);
        for (i, (&result, &ty)) in run.results.iter().zip(types.unwrap_or(&[])).enumerate() {
            text.push_str(if i > 0 { ", " } else { " " });
            text.push_str(&value_to_string(result, ty));
        }
        text
    }

    /// `← returns T; x = T`: with the variables of the caller that the results changed. The callee may have
    /// assigned to a global, too, so its values at the exit are what counts there.
    pub(super) fn returns(
        &self,
        run: &CalleeRun,
        call: &Step,
        exit: &Valuation,
        after: &Valuation,
    ) -> String {
        let mut text = format!("← {}", self.results(run));
        let targets = match self.view.node(call.node).map(|node| &node.op) {
            Some(Op::Call { targets, .. }) => &targets[..],
            _ => &[],
        };
        let Action::Folded { changes, .. } = &call.action else {
            return text;
        };
        let is_target = |var: VarRef| targets.contains(&Some(var));
        let locals = changes
            .iter()
            .copied()
            .filter(|&(var, _)| matches!(var, VarRef::Local(_)));
        let globals = (0..).zip(after.globals.iter().zip(&exit.globals));
        let globals = globals
            .filter(|(_, (after, exit))| after != exit)
            .map(|(i, (&after, _))| (VarRef::Global(i), after));
        let stored: Vec<(VarRef, Value)> = locals
            .chain(globals)
            .filter(|&(var, _)| is_target(var))
            .collect();
        if !stored.is_empty() {
            text.push_str("; ");
            text.push_str(&self.changes(call.node, &stored));
        }
        text
    }
}
