//! What stands beside the steps: values that change, are passed, and come back.

use droste_program::execution::{Action, CalleeRun, Step};
use droste_program::{NodeId, Op, ProcId, Procedure, Value, VarRef};

use super::{LOCALS, Writer};
use crate::view::{binding, bindings, name, value};

impl<'a> Writer<'a> {
    /// The values that a `decl` statement gives, changed or not, and whatever else changes.
    pub(super) fn declaration(
        &self,
        at: NodeId,
        changes: &[(VarRef, Value)],
        locals: &[Value],
    ) -> String {
        let declared: Vec<VarRef> = self.view.declares(at).collect();
        let values = declared.iter().filter_map(|&var| match var {
            VarRef::Local(i) => Some((var, *locals.get(i as usize)?)),
            VarRef::Global(_) => None,
        });
        let others = changes
            .iter()
            .copied()
            .filter(|(var, _)| !declared.contains(var));
        self.changes(at, &values.chain(others).collect::<Vec<_>>())
    }

    /// `g = T, x = 3`
    pub(crate) fn changes(&self, at: NodeId, changes: &[(VarRef, Value)]) -> String {
        bindings(
            changes
                .iter()
                .filter_map(|&(var, value)| self.view.binding(at, var, value)),
        )
    }

    /// `flip(n = 3; x = F)`: the callee of the call at `node`, its parameters, its locals.
    pub(super) fn entering(&self, node: NodeId, values: &[Value], with_locals: bool) -> String {
        let Some((id, callee)) = self.callee(node) else {
            return "?".to_owned();
        };
        let (mut text, others) = self.frame(id, values);
        if with_locals && !others.is_empty() {
            text.push_str("; ");
            text.push_str(&others);
        }
        format!("{}({text})", name(&callee.name))
    }

    /// The parameters of a procedure, and those locals that no `decl` statement will show.
    pub(crate) fn frame(&self, id: ProcId, values: &[Value]) -> (String, String) {
        let Some(procedure) = self.view.program.procedures.get(id.0 as usize) else {
            return (String::new(), String::new());
        };
        let pairs = || procedure.locals.iter().zip(values.iter().copied());
        let params = procedure.params as usize;
        let others: Vec<_> = pairs()
            .zip(&self.declared[id.0 as usize])
            .skip(params)
            .filter_map(|(pair, declared)| (!declared).then_some(pair))
            .collect();
        let others = if others.len() <= LOCALS {
            bindings(
                others
                    .into_iter()
                    .map(|(variable, value)| binding(variable, value)),
            )
        } else {
            "…".to_owned()
        };
        let params = pairs().take(params);
        let params = bindings(params.map(|(variable, value)| binding(variable, value)));
        (params, others)
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
            text.push_str(&value(result, ty));
        }
        text
    }

    /// `← returns T; x = T`: with the variables of the caller that the results changed.
    pub(super) fn returns(&self, run: &CalleeRun, call: &Step) -> String {
        let mut text = format!("← {}", self.results(run));
        let stored = match self.view.node(call.node).map(|node| &node.op) {
            Some(Op::Call { targets, .. }) => &targets[..],
            _ => &[],
        };
        if let Action::Folded { changes, .. } = &call.action {
            let stored: Vec<(VarRef, Value)> = changes
                .iter()
                .copied()
                .filter(|(var, _)| stored.contains(&Some(*var)))
                .collect();
            if !stored.is_empty() {
                text.push_str("; ");
                text.push_str(&self.changes(call.node, &stored));
            }
        }
        text
    }
}
