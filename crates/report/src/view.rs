//! Names, values, source lines and lengths: what text and JSON both show.

use droste_lang::execution::{Action, CalleeRunId, Execution, Step};
use droste_lang::program::{Node, NodeId, Op, Procedure, Program, Type, Value, VarRef, Variable};
use droste_lang::source::{LineColumn, SourceFile};

/// Labels that are longer than this in sum are not shown before a statement.
const LABELS: usize = 28;

/// A program, its source and one of its executions.
pub(crate) struct View<'a> {
    pub(crate) program: &'a Program,
    pub(crate) source: &'a SourceFile,
    pub(crate) execution: &'a Execution,
    /// How many steps each run has when written out, its return included; saturates.
    pub(crate) lengths: Vec<u64>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        program: &'a Program,
        source: &'a SourceFile,
        execution: &'a Execution,
    ) -> Self {
        let mut view = View {
            program,
            source,
            execution,
            lengths: Vec::with_capacity(execution.runs.len()),
        };
        for run in &execution.runs {
            let length = view.length(&run.steps).saturating_add(1);
            view.lengths.push(length);
        }
        view
    }

    /// How many steps these are when written out.
    pub(crate) fn length(&self, steps: &[Step]) -> u64 {
        steps.iter().fold(0u64, |sum, step| {
            sum.saturating_add(match step.action {
                Action::Folded { run, .. } => self.run_length(run).saturating_add(1),
                _ => 1,
            })
        })
    }

    pub(crate) fn run_length(&self, run: CalleeRunId) -> u64 {
        self.lengths.get(run.0 as usize).copied().unwrap_or(0)
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&'a Node> {
        self.program.nodes.get(id.0 as usize)
    }

    pub(crate) fn procedure_of(&self, id: NodeId) -> Option<&'a Procedure> {
        let procedure = self.node(id)?.procedure;
        self.program.procedures.get(procedure.0 as usize)
    }

    pub(crate) fn position(&self, id: NodeId) -> Option<LineColumn> {
        Some(self.source.line_column(self.node(id)?.span.start))
    }

    /// The first line of the statement.
    pub(crate) fn statement(&self, id: NodeId) -> &'a str {
        let text = self
            .node(id)
            .map_or("?", |node| self.source.slice(node.span));
        text.lines().next().unwrap_or("").trim()
    }

    /// Which way a test went that led from the node `at` to `to`, if it could have gone another way.
    pub(crate) fn branch(&self, at: NodeId, to: NodeId) -> Option<bool> {
        match self.node(at)?.op {
            Op::Branch { yes, no, .. } if yes != no => Some(to == yes),
            _ => None,
        }
    }

    /// Whether the node is the test of an `elsif`, whose text is the condition alone.
    fn is_elsif(&self, id: NodeId) -> bool {
        let is_test = |node: &Node| matches!(node.op, Op::Branch { .. });
        let text = self.statement(id);
        self.node(id).is_some_and(is_test)
            && !["if", "while"].iter().any(|word| {
                text.strip_prefix(word).is_some_and(|rest| {
                    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            })
    }

    /// The first line of the statement, behind its labels if they are short.
    pub(crate) fn labelled(&self, id: NodeId) -> String {
        let mut text = String::new();
        let labels = self.node(id).map_or(&[][..], |node| &node.labels);
        if labels.iter().map(|label| label.len() + 2).sum::<usize>() <= LABELS {
            for label in labels {
                text.push_str(label);
                text.push_str(": ");
            }
        }
        if self.is_elsif(id) {
            text.push_str("elsif ");
        }
        text.push_str(self.statement(id));
        text
    }

    /// Whether the statement is a `decl`.
    pub(crate) fn is_declaration(&self, id: NodeId) -> bool {
        self.statement(id)
            .strip_prefix("decl")
            .is_some_and(|rest| rest.starts_with(char::is_whitespace))
    }

    /// The variables that get a value because the statement is a `decl`.
    pub(crate) fn declares(&self, id: NodeId) -> impl Iterator<Item = VarRef> + use<'a> {
        let assigns = match self.node(id).map(|node| &node.op) {
            Some(Op::Assign { assigns, .. }) if self.is_declaration(id) => &assigns[..],
            _ => &[],
        };
        assigns.iter().map(|(var, _)| *var)
    }

    /// The variable `var` in the procedure of the node `at`.
    pub(crate) fn variable(&self, at: NodeId, var: VarRef) -> Option<&'a Variable> {
        match var {
            VarRef::Global(i) => self.program.globals.get(i as usize),
            VarRef::Local(i) => self.procedure_of(at)?.locals.get(i as usize),
        }
    }
}

/// A value as it is written in programs.
pub(crate) fn value(value: Value, ty: Type) -> String {
    match (ty, value) {
        (Type::Bool, 0) => "F".to_owned(),
        (Type::Bool, 1) => "T".to_owned(),
        _ => value.to_string(),
    }
}

/// `x = 1, y = T`
pub(crate) fn bindings<'v>(pairs: impl Iterator<Item = (&'v Variable, Value)>) -> String {
    let mut all = String::new();
    for (variable, v) in pairs {
        if !all.is_empty() {
            all.push_str(", ");
        }
        all.push_str(&variable.name);
        all.push_str(" = ");
        all.push_str(&value(v, variable.ty));
    }
    all
}

/// A count with a comma between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 step`, `2 steps`; says so when the count has overflowed.
pub(crate) fn steps(number: u64) -> String {
    match number {
        1 => "1 step".to_owned(),
        u64::MAX => "more than 10^19 steps".to_owned(),
        _ => format!("{} steps", count(number)),
    }
}
