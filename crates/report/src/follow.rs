//! The values of variables along an execution, and which of them a step shows.
//!
//! A step of an execution lists the variables that have another value afterwards. Where a statement
//! leaves a value open (`:= *`, `decl`, `dead`), the value that is chosen may be the old one. It is
//! shown all the same, so the values before the step have to be known.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use droste_program::execution::{Action, Step, Valuation};
use droste_program::{Expr, ExprNode, NodeId, Op, Program, Value, VarRef};

/// Gives variables other values. Variables that are not there are passed over.
pub(crate) fn change(now: &mut Valuation, changes: &[(VarRef, Value)]) {
    for &(var, value) in changes {
        let place = match var {
            VarRef::Global(i) => now.globals.get_mut(i as usize),
            VarRef::Local(i) => now.locals.get_mut(i as usize),
        };
        if let Some(place) = place {
            *place = value;
        }
    }
}

/// Makes `now` the globals, and the locals of the top frame, after an action.
pub(crate) fn follow(now: &mut Valuation, action: &Action) {
    match action {
        Action::Internal { changes, .. } | Action::Folded { changes, .. } => change(now, changes),
        Action::Call { locals } => now.locals = locals.to_vec(),
        Action::Terminate | Action::Fail(_) => {}
    }
}

/// The value of a variable, if it is there.
pub(crate) fn value_of(now: &Valuation, var: VarRef) -> Option<Value> {
    match var {
        VarRef::Global(i) => now.globals.get(i as usize),
        VarRef::Local(i) => now.locals.get(i as usize),
    }
    .copied()
}

/// So many values are shown in the order of the variables. Of more, those that change come first.
const FEW: usize = 8;

/// For each statement that leaves values open: the variables that get them.
pub(crate) struct Choices(HashMap<NodeId, Box<[VarRef]>>);

impl Choices {
    pub(crate) fn new(program: &Program) -> Self {
        let mut choices = HashMap::new();
        for (i, node) in program.nodes.iter().enumerate() {
            let Op::Assign { assigns, .. } = &node.op else {
                continue;
            };
            let open = assigns.iter().filter(|(_, expr)| is_open(expr));
            let open: Box<[VarRef]> = open.map(|(var, _)| *var).collect();
            if !open.is_empty() {
                choices.insert(NodeId(i as u32), open);
            }
        }
        Choices(choices)
    }

    /// The variables whose values the statement leaves open.
    pub(crate) fn at(&self, node: NodeId) -> &[VarRef] {
        self.0.get(&node).map_or(&[], |open| open)
    }

    /// What a step at `node` shows: the values that change, and those that are chosen. `now` are the
    /// values after the step.
    pub(crate) fn shown<'c>(
        &self,
        node: NodeId,
        changes: &'c [(VarRef, Value)],
        now: &Valuation,
    ) -> Cow<'c, [(VarRef, Value)]> {
        let kept = self.kept_at(node, changes);
        if kept.is_empty() {
            return Cow::Borrowed(changes);
        }
        let kept = kept.iter();
        let kept = kept.filter_map(|&var| Some((var, value_of(now, var)?)));
        let mut all: Vec<(VarRef, Value)> = changes.iter().copied().chain(kept).collect();
        if all.len() <= FEW {
            all.sort_by_key(|(var, _)| *var);
        }
        Cow::Owned(all)
    }

    /// The variables that a step leaves as they are by choice.
    fn kept_at(&self, node: NodeId, changes: &[(VarRef, Value)]) -> Vec<VarRef> {
        let open = self.at(node);
        if open.is_empty() {
            return Vec::new();
        }
        let changed: HashSet<VarRef> = changes.iter().map(|(var, _)| *var).collect();
        let kept = open.iter().filter(|var| !changed.contains(var));
        kept.copied().collect()
    }

    /// The variables that some of the steps leave as they are by choice.
    pub(crate) fn kept(&self, steps: &[Step]) -> Box<[VarRef]> {
        let mut kept = BTreeSet::new();
        for Step { node, action } in steps {
            if let Action::Internal { changes, .. } = action {
                kept.extend(self.kept_at(*node, changes));
            }
        }
        kept.into_iter().collect()
    }
}

/// Whether the value of an expression is not determined by the values of the variables.
fn is_open(expr: &Expr) -> bool {
    let mut nodes = expr.nodes.iter();
    nodes.any(|node| matches!(node, ExprNode::Nondet(_) | ExprNode::Schoose(..)))
}
