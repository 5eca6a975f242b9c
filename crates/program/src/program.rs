//! The extended recursive state machine that is the meaning of a Boolean program.
//!
//! This is the ERSM of Alur, Chaudhuri, Etessami and Madhusudan (TACAS 2005), section 2,
//! with source spans. A node is a position: control is *at* a statement that has not been
//! executed yet. Each node has one operation, [`Op`], which stands for the guarded edges
//! that leave it; executing it is one step of a run. Declarations inside a body are the
//! exception: their nodes are [silent](Node::silent).
//!
//! # Meaning
//!
//! * A configuration is a stack of frames (node, locals) and the globals. A run starts at
//!   the entry of `main` with globals, parameters and locals of any value; when a procedure
//!   is called, its locals have any value.
//! * Expressions are evaluated in mathematical integers (Booleans are 0 and 1), `&`, `|`
//!   and `=>` on Booleans from left to right and only as far as needed. Each [`ExprNode::Nondet`]
//!   is chosen anew at every evaluation. Division by zero and a negative shift distance are
//!   violations, see [`Violation`]. `/` truncates towards zero and `%` has the sign of its left
//!   operand. Left-shift distances above 64 count as 64.
//! * Storing converts: a bit vector keeps the low bits (two's complement), a range type
//!   accepts only its own values, anything else is [`Violation::OutOfRange`].
//! * An evaluation that fails ends the run at the node whose operation failed, before any effect.
//!
//! Node ids are the same in the program as lowered and in every simplified version of it, so that a
//! trace found in one is a trace of the other.

use std::sync::Arc;

pub use crate::types::Type;
use droste_source::Span;

/// A value of any type; Booleans are 0 and 1.
pub type Value = i128;

/// Index into [`Program::procedures`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcId(pub u32);

/// Index into [`Program::nodes`]: nodes of all procedures have distinct ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A variable as seen from inside a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VarRef {
    /// Index into [`Program::globals`].
    Global(u32),
    /// Index into the procedure's [`Procedure::locals`].
    Local(u32),
}

/// A declared variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Where it is declared.
    pub span: Span,
    /// For a global of a `thread` section: the thread (index into [`Threads::Sections`]).
    pub thread: Option<u32>,
}

/// A procedure: a component state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// Its name; `thread::name` for a procedure of a `thread` section.
    pub name: Arc<str>,
    /// Where its name stands.
    pub span: Span,
    /// The first `params` of `locals` are the parameters.
    pub params: u32,
    /// Parameters, then locals.
    pub locals: Vec<Variable>,
    /// Types of the results.
    pub results: Vec<Type>,
    /// The first statement.
    pub entry: NodeId,
    /// For a procedure of a `thread` section: the thread.
    pub thread: Option<u32>,
}

/// A position in a procedure and what is done there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The procedure it belongs to.
    pub procedure: ProcId,
    /// The statement; for the implicit return at the end of a procedure, the word `end`.
    pub span: Span,
    /// Labels of the statement.
    pub labels: Vec<Arc<str>>,
    /// What executing it does.
    pub op: Op,
    /// Whether this is a declaration, which is not a position of a run but on the way to one. Its
    /// operation is an [`Op::Assign`], which assigns any values in the program as lowered. It has
    /// no labels. No automaton, formula or monitor reads it, and its step is not counted. No cycle
    /// consists of silent nodes alone.
    pub silent: bool,
    /// What must be true after the step (`enforce`): the step exists only if this *can* be
    /// true in the configuration it leads to, on this procedure's frame and the globals; for
    /// a call, after the return and the storing of the results. [`ExprNode::Var`] are the
    /// values after the step. Never on [`Op::Return`], [`Op::Stuck`] and [`Op::EndThread`].
    /// Evaluated last (after `constrain`; not at all if an assertion fails); an evaluation
    /// that fails is a violation at this node. Shared by the statements of one scope.
    pub ensure: Option<Arc<Expr>>,
}

/// What a node does. Every [`NodeId`] in it is in the same procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Go to any of these, changing nothing. `skip` and `goto`. Never empty.
    Goto(Vec<NodeId>),
    /// Assign in parallel, then go on; the step exists only if `constrain` can be true.
    Assign {
        /// Distinct variables and their new values.
        assigns: Vec<(VarRef, Expr)>,
        /// Values that are evaluated and thrown away (`_ := e`); they may fail.
        discards: Vec<Expr>,
        /// Over the old values ([`ExprNode::Var`]) and the new ones ([`ExprNode::Next`]).
        constrain: Option<Expr>,
        /// Where to go on.
        next: NodeId,
    },
    /// Go to `yes` if the condition is true, to `no` if it is false.
    Branch {
        /// The condition.
        condition: Expr,
        /// Where to go if it is true.
        yes: NodeId,
        /// Where to go if it is false.
        no: NodeId,
    },
    /// Go on if the condition is true, be stuck otherwise.
    Assume {
        /// The condition.
        condition: Expr,
        /// Where to go on.
        next: NodeId,
    },
    /// Go on if the condition is true, [`Violation::Assertion`] otherwise.
    Assert {
        /// The condition.
        condition: Expr,
        /// Where to go on.
        next: NodeId,
    },
    /// Call a procedure. The arguments are converted to the parameters' types.
    Call {
        /// Whom.
        callee: ProcId,
        /// As many as the callee has parameters.
        args: Vec<Expr>,
        /// Where each result is stored (converted to the variable's type), if anywhere;
        /// empty or as many as the callee has results. Distinct variables.
        targets: Vec<Option<VarRef>>,
        /// Over the caller's variables and the globals: [`ExprNode::Var`] are the values at the
        /// call, [`ExprNode::Next`] those after the results have been stored.
        constrain: Option<Expr>,
        /// Where to go on after the return.
        next: NodeId,
    },
    /// Return these values, converted to the result types. Also stands, with the
    /// word `end` as its span, at the end of every `void` procedure.
    Return(Vec<Expr>),
    /// Nothing can be done here: the end of a procedure that should return a value.
    Stuck,
    /// Start a thread at `start` with a copy of this frame, and go on.
    StartThread {
        /// Where the new thread begins.
        start: NodeId,
        /// Where this one goes on.
        next: NodeId,
    },
    /// End this thread.
    EndThread,
    /// From here on no switch until the matching end.
    AtomicBegin(NodeId),
    /// Switches are allowed again.
    AtomicEnd(NodeId),
}

/// Why a run ends in a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Violation {
    /// `assert` of something false (or `abortif` of something true).
    Assertion,
    /// A value outside the variable's `int[lo..hi]`.
    OutOfRange,
    /// Division or remainder by zero.
    DivisionByZero,
    /// A shift by a negative distance.
    NegativeShift,
}

/// An expression in postorder: operands come before their operator, the root is last.
/// Well-typed: the operands of each operator have the types it says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expr {
    /// At least one node.
    pub nodes: Vec<ExprNode>,
}

/// Part of an [`Expr`]; operands are indices of earlier nodes. Every node but the root
/// is the operand of exactly one later node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExprNode {
    /// A constant; whether it is a Boolean follows from its use.
    Const(Value),
    /// Any value of this type. Inside an operator only `Type::Bool`; integers only as a whole
    /// right-hand side, argument or result.
    Nondet(Type),
    /// The value of a variable (before the step).
    Var(VarRef),
    /// The value of a variable after the step; in `constrain` only.
    Next(VarRef),
    /// Negation of a Boolean.
    Not(u32),
    /// Two's complement negation of an integer.
    BitNot(u32),
    /// Arithmetic negation.
    Neg(u32),
    /// A binary operator.
    Binary(Operator, u32, u32),
    /// 1 if the first, else 0 if the second, else either (Booleans).
    Schoose(u32, u32),
    /// Control is at one of these nodes; in propositions only. Sorted.
    At(Arc<[NodeId]>),
}

/// Typed binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Booleans.
    And,
    /// Booleans.
    Or,
    /// Booleans.
    Implies,
    /// Exclusive or of Booleans.
    Xor,
    /// Equality, of two Booleans or two integers.
    Eq,
    /// Inequality, of two Booleans or two integers.
    Ne,
    /// Integers.
    Lt,
    /// Integers.
    Le,
    /// Integers.
    Gt,
    /// Integers.
    Ge,
    /// Integers.
    Add,
    /// Integers.
    Sub,
    /// Integers.
    Mul,
    /// Integers.
    Div,
    /// Integers.
    Rem,
    /// Integers.
    Shl,
    /// Integers; arithmetic.
    Shr,
    /// Integers.
    BitAnd,
    /// Integers.
    BitOr,
    /// Integers.
    BitXor,
}

/// Which threads a program has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// None but `main`, unless some node is an [`Op::StartThread`].
    #[default]
    Dynamic,
    /// GETAFIX's convention: [`Program::main`] is `init`, which runs up to the node `end_init`
    /// (label `endinit`); then each of these procedures is a thread.
    Init {
        /// The node labelled `endinit`.
        end_init: NodeId,
        /// The procedures whose names start with `thread`.
        threads: Vec<ProcId>,
    },
    /// `thread NAME begin … end` sections: name and `main` of each.
    /// [`Program::main`] is the first one's.
    Sections(Vec<(Arc<str>, ProcId)>),
}

/// A whole program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Global variables.
    pub globals: Vec<Variable>,
    /// Procedures.
    pub procedures: Vec<Procedure>,
    /// Nodes of all procedures.
    pub nodes: Vec<Node>,
    /// Where runs start.
    pub main: ProcId,
    /// Threads.
    pub threads: Threads,
}

/// A Boolean expression about a configuration, for properties: which expression decides it
/// depends on the procedure on top of the stack. Locals of other procedures count as false
/// (and comparisons that mention them are false).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposition {
    /// For each procedure, an expression over globals and its locals, without `Next` and `Nondet`.
    pub by_procedure: Vec<Expr>,
    /// After `main` has returned: an expression over globals alone.
    pub terminated: Expr,
}

impl Program {
    /// The node with this id.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Whether some run might end in a violation, by the text: there is an assertion, an integer, or
    /// an arithmetic operation.
    pub fn can_fail(&self) -> bool {
        let locals = self.procedures.iter().flat_map(|p| &p.locals);
        let mut types = (self.globals.iter().chain(locals).map(|v| v.ty))
            .chain(self.procedures.iter().flat_map(|p| &p.results).copied());
        types.any(|ty| ty != Type::Bool)
            || self.nodes.iter().any(|node| {
                let mut found = matches!(node.op, Op::Assert { .. });
                node.op.for_each_expr(|expr| found |= expr.is_arithmetic());
                found
                    || node
                        .ensure
                        .as_ref()
                        .is_some_and(|ensure| ensure.is_arithmetic())
            })
    }

    /// The procedure with this id.
    #[inline]
    pub fn procedure(&self, id: ProcId) -> &Procedure {
        &self.procedures[id.0 as usize]
    }

    /// The variable that `var` means in `procedure`.
    pub fn variable(&self, procedure: ProcId, var: VarRef) -> &Variable {
        match var {
            VarRef::Global(i) => &self.globals[i as usize],
            VarRef::Local(i) => &self.procedure(procedure).locals[i as usize],
        }
    }

    /// Whether more than one thread can run.
    pub fn is_concurrent(&self) -> bool {
        self.threads != Threads::Dynamic
            || self
                .nodes
                .iter()
                .any(|node| matches!(node.op, Op::StartThread { .. }))
    }
}

impl Op {
    /// Calls `f` with every node that may come next within the procedure: for a call the
    /// node after the return.
    pub fn for_each_next(&self, mut f: impl FnMut(NodeId)) {
        match self {
            Op::Goto(targets) => targets.iter().copied().for_each(f),
            Op::Assign { next, .. }
            | Op::Assume { next, .. }
            | Op::Assert { next, .. }
            | Op::Call { next, .. }
            | Op::AtomicBegin(next)
            | Op::AtomicEnd(next) => f(*next),
            Op::Branch { yes, no, .. } => {
                f(*yes);
                f(*no);
            }
            Op::StartThread { start, next } => {
                f(*start);
                f(*next);
            }
            Op::Return(_) | Op::Stuck | Op::EndThread => {}
        }
    }
}

impl Node {
    /// Of a call: calls `f` with every global whose value at the callee's return the conditions of
    /// the call look at. Those that get a result are not among them.
    pub fn for_each_asked(&self, mut f: impl FnMut(u32)) {
        let Op::Call {
            targets, constrain, ..
        } = &self.op
        else {
            return;
        };
        let mut ask = |var: VarRef| match var {
            VarRef::Global(i) if !targets.contains(&Some(var)) => f(i),
            _ => {}
        };
        for part in constrain.iter().flat_map(|expr| &expr.nodes) {
            if let ExprNode::Next(var) = *part {
                ask(var);
            }
        }
        for part in self.ensure.iter().flat_map(|expr| &expr.nodes) {
            if let ExprNode::Var(var) = *part {
                ask(var);
            }
        }
    }

    /// Calls `f` with every variable that the statement reads or writes itself; a call's callee is
    /// not looked at.
    pub fn for_each_mentioned(&self, mut f: impl FnMut(VarRef)) {
        let mut read = |expr: &Expr| {
            for part in &expr.nodes {
                if let ExprNode::Var(var) | ExprNode::Next(var) = *part {
                    f(var);
                }
            }
        };
        self.op.for_each_expr(&mut read);
        self.ensure.iter().for_each(|expr| read(expr));
        self.op.for_each_written(f);
    }
}

impl Op {
    /// Calls `f` with every variable that is assigned, or gets a result of a call.
    pub fn for_each_written(&self, mut f: impl FnMut(VarRef)) {
        match self {
            Op::Assign { assigns, .. } => assigns.iter().for_each(|(var, _)| f(*var)),
            Op::Call { targets, .. } => targets.iter().flatten().for_each(|var| f(*var)),
            _ => {}
        }
    }

    /// Calls `f` with every expression of the operation.
    pub fn for_each_expr<'a>(&'a self, mut f: impl FnMut(&'a Expr)) {
        match self {
            Op::Assign {
                assigns,
                discards,
                constrain,
                ..
            } => {
                let values = assigns.iter().map(|(_, expr)| expr);
                values.chain(discards).chain(constrain).for_each(f);
            }
            Op::Branch { condition, .. }
            | Op::Assume { condition, .. }
            | Op::Assert { condition, .. } => f(condition),
            Op::Call {
                args, constrain, ..
            } => args.iter().chain(constrain).for_each(f),
            Op::Return(values) => values.iter().for_each(f),
            Op::Goto(_)
            | Op::Stuck
            | Op::StartThread { .. }
            | Op::EndThread
            | Op::AtomicBegin(_)
            | Op::AtomicEnd(_) => {}
        }
    }
}

impl Expr {
    /// Whether it computes with integers, or compares which is less.
    fn is_arithmetic(&self) -> bool {
        self.nodes.iter().any(|node| match node {
            ExprNode::BitNot(_) | ExprNode::Neg(_) => true,
            ExprNode::Binary(operator, ..) => !matches!(
                operator,
                Operator::And
                    | Operator::Or
                    | Operator::Implies
                    | Operator::Xor
                    | Operator::Eq
                    | Operator::Ne
            ),
            _ => false,
        })
    }

    /// A constant.
    pub fn constant(value: Value) -> Self {
        Expr {
            nodes: vec![ExprNode::Const(value)],
        }
    }

    /// A variable.
    pub fn var(var: VarRef) -> Self {
        Expr {
            nodes: vec![ExprNode::Var(var)],
        }
    }

    /// The root.
    #[inline]
    pub fn root(&self) -> &ExprNode {
        &self.nodes[self.nodes.len() - 1]
    }

    /// The value, if this is a constant.
    pub fn as_const(&self) -> Option<Value> {
        match self.nodes[..] {
            [ExprNode::Const(value)] => Some(value),
            _ => None,
        }
    }
}
