//! Watchers: visits of labels, and monitors.

use std::collections::BTreeSet;

use droste_lang::ast::{Ast, BinaryOp, ExprId, ExprKind, Type};
use droste_lang::monitor::{MonitorSyntax, Otherwise, StateKind};
use droste_program::Value;

use super::Label;
use super::eval::{apply, apply_unary, decided_by_left, operands_are_boolean};
use super::machine::Machine;
use super::product::{State, Watcher};

/// Good is what is at one of the labels.
pub(super) struct AtLabels<'a> {
    pub(super) machine: &'a Machine<'a>,
    pub(super) labels: &'a [Label],
}

impl Watcher for AtLabels<'_> {
    fn moves(&self, _: usize, _: &State) -> Vec<usize> {
        vec![0]
    }

    fn good(&self, _: usize, state: &State) -> bool {
        let State::At(position, _) = state else {
            return false;
        };
        let here = &self.machine.positions[*position];
        let procedure = &self.machine.procedures[here.procedure].name;
        self.labels.iter().any(|label| {
            here.labels.contains(&label.name)
                && label
                    .procedure
                    .as_ref()
                    .is_none_or(|name| name == procedure)
        })
    }
}

/// What expressions of properties say about a state.
#[derive(Clone, Copy)]
pub(super) struct Guards<'a> {
    pub(super) machine: &'a Machine<'a>,
    /// Where the expressions are.
    pub(super) ast: &'a Ast,
}

impl Guards<'_> {
    /// Whether the expression is true there.
    pub(super) fn hold(&self, guard: ExprId, state: &State) -> bool {
        self.value(guard, true, state) == Some(1)
    }

    fn ty(&self, kind: &ExprKind) -> Type {
        let (scope, name) = match kind {
            ExprKind::Var(name) => (&self.machine.globals, name),
            ExprKind::Qualified(procedure, name) => {
                let procedure = self.machine.procedure(&procedure.text);
                (
                    &self.machine.procedures[procedure.expect("declared")].scope,
                    name,
                )
            }
            other => panic!("not a variable of a property: {other:?}"),
        };
        scope.types[scope.index[&*name.text]]
    }

    /// Whether `e` mentions, outside of comparisons in it, a local of a procedure that is
    /// not on top of the stack.
    fn is_absent(&self, e: ExprId, on_top: Option<usize>) -> bool {
        match &self.ast.expr(e).kind {
            ExprKind::Qualified(procedure, _) => {
                on_top.is_none() || self.machine.procedure(&procedure.text) != on_top
            }
            ExprKind::Unary(_, operand) => self.is_absent(*operand, on_top),
            ExprKind::Binary(op, left, right) if !is_comparison(*op) => {
                self.is_absent(*left, on_top) || self.is_absent(*right, on_top)
            }
            _ => false,
        }
    }

    /// The value of a guard or a part of it. A local that is not on top of the stack has
    /// none; a Boolean without a value counts as false, and so does the innermost
    /// comparison in which such a local occurs.
    fn value(&self, e: ExprId, boolean: bool, state: &State) -> Option<Value> {
        let ast = self.ast;
        let on_top = match state {
            State::At(position, _) => Some(self.machine.positions[*position].procedure),
            State::Terminated(_) => None,
        };
        let (State::At(_, store) | State::Terminated(store)) = state;
        let known = match &ast.expr(e).kind {
            ExprKind::Bool(value) => Some(Value::from(*value)),
            ExprKind::Int(value) => Some(*value),
            ExprKind::Var(name) => Some(store[self.machine.globals.index[&*name.text]]),
            ExprKind::Qualified(procedure, name) => {
                let procedure = self.machine.procedure(&procedure.text);
                procedure.filter(|_| procedure == on_top).map(|procedure| {
                    store[self.machine.procedures[procedure].scope.index[&*name.text]]
                })
            }
            ExprKind::At(procedure, label) => Some(Value::from(match state {
                State::Terminated(_) => false,
                State::At(position, _) => {
                    let here = &self.machine.positions[*position];
                    let name = &self.machine.procedures[here.procedure].name;
                    here.labels.iter().any(|l| **l == *label.text)
                        && procedure.as_ref().is_none_or(|p| **name == *p.text)
                }
            })),
            ExprKind::In(procedure) => {
                let name = on_top.map(|p| &*self.machine.procedures[p].name);
                Some(Value::from(name == Some(&*procedure.text)))
            }
            ExprKind::Terminated => Some(Value::from(on_top.is_none())),
            ExprKind::Unary(op, operand) => {
                let operand = self.value(*operand, boolean, state);
                operand.map(|value| apply_unary(*op, value, boolean))
            }
            ExprKind::Binary(op, left, right)
                if is_comparison(*op)
                    && (self.is_absent(*left, on_top) || self.is_absent(*right, on_top)) =>
            {
                Some(0)
            }
            ExprKind::Binary(op, left, right) => {
                let ty = |kind: &ExprKind| self.ty(kind);
                let inner = operands_are_boolean(ast, *op, (*left, *right), boolean, &ty);
                let left = self.value(*left, inner, state);
                let decided = left.and_then(|left| decided_by_left(*op, left, inner));
                decided.or_else(|| {
                    let right = self.value(*right, inner, state);
                    apply(*op, left?, right?).ok()
                })
            }
            ExprKind::Nondet | ExprKind::Next(_) | ExprKind::Schoose(..) => {
                panic!("not in properties")
            }
        };
        if boolean { known.or(Some(0)) } else { known }
    }
}

/// A monitor. Mode 0 is the initial state before the first move, mode `i + 1` is state `i`
/// after a move.
pub(super) struct Watch<'a> {
    pub(super) machine: &'a Machine<'a>,
    pub(super) monitor: &'a MonitorSyntax,
}

impl Watch<'_> {
    fn state(&self, name: &str) -> usize {
        let mut states = self.monitor.states.iter();
        states
            .position(|state| &*state.name.text == name)
            .expect("the state is declared")
    }

    pub(super) fn is_target(&self, mode: usize) -> bool {
        mode > 0 && self.monitor.states[mode - 1].kind == StateKind::Target
    }

    fn holds(&self, guard: ExprId, state: &State) -> bool {
        let guards = Guards {
            machine: self.machine,
            ast: &self.monitor.ast,
        };
        guards.hold(guard, state)
    }
}

impl Watcher for Watch<'_> {
    fn moves(&self, mode: usize, state: &State) -> Vec<usize> {
        let states = &self.monitor.states;
        let from = match mode {
            0 => states
                .iter()
                .position(|s| s.initial)
                .expect("one state is initial"),
            _ => mode - 1,
        };
        let enabled = states[from].edges.iter();
        let enabled = enabled.filter(|(guard, _)| self.holds(*guard, state));
        let next: BTreeSet<usize> = enabled.map(|(_, to)| self.state(&to.text) + 1).collect();
        if !next.is_empty() {
            return next.into_iter().collect();
        }
        match &states[from].otherwise {
            Otherwise::Stay => vec![from + 1],
            Otherwise::Block => Vec::new(),
            Otherwise::Goto(name) => vec![self.state(&name.text) + 1],
        }
    }

    fn good(&self, mode: usize, _: &State) -> bool {
        mode > 0 && self.monitor.states[mode - 1].kind == StateKind::Repeating
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
    )
}
