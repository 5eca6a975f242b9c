//! Makes atomic sections and the starts of threads explicit, as ordinary globals of the program: a
//! flag says whether the active thread is inside a section, a number says how many threads have
//! been started.

use droste_program::{Expr, NodeId, Op, ProcId, Program, Threads, Type, VarRef, Variable};
use droste_source::Span;

use super::PreparedQuery;

/// The program with what is special about threads made explicit.
pub(super) struct Prepared {
    pub(super) program: Program,
    /// The flag "inside an atomic section".
    pub(super) atomic: Option<u32>,
    /// The number of threads started so far, of those that are active at some time.
    pub(super) started: Option<u32>,
    /// Most threads that can be started and active.
    pub(super) slots: usize,
    /// Where started threads begin.
    pub(super) starts: Vec<NodeId>,
    pub(super) shared: Vec<u32>,
}

impl Prepared {
    pub(super) fn new(question: &PreparedQuery<'_>, capacity: usize) -> Self {
        let mut program = question.program.clone();
        let mut shared = question.shared.to_vec();
        let mut add = |name: &str, ty: Type| {
            program.globals.push(Variable {
                name: name.into(),
                ty,
                span: Span::new(0, 0),
                thread: None,
            });
            program.globals.len() as u32 - 1
        };
        let ops = || question.program.nodes.iter().map(|node| &node.op);
        let atomic = ops()
            .any(|op| matches!(op, Op::AtomicBegin(_) | Op::AtomicEnd(_)))
            .then(|| add("atomic", Type::Bool));
        let mut starts: Vec<NodeId> = ops()
            .filter_map(|op| match op {
                Op::StartThread { start, .. } => Some(*start),
                _ => None,
            })
            .collect();
        starts.sort_unstable();
        starts.dedup();
        let slots = if starts.is_empty() {
            0
        } else {
            // After `init`, the first thread may be one that `init` has started.
            let init = matches!(question.program.threads, Threads::Init { .. });
            (capacity + usize::from(init)).min(question.most_started)
        };
        let started = (slots > 0).then(|| {
            let width = usize::BITS - slots.leading_zeros();
            let ty = Type::Bits {
                signed: false,
                width: width as _,
            };
            let global = add("started", ty);
            shared.push(global);
            global
        });
        for node in &mut program.nodes {
            let (next, value) = match node.op {
                Op::AtomicBegin(next) => (next, 1),
                Op::AtomicEnd(next) => (next, 0),
                _ => continue,
            };
            let var = VarRef::Global(atomic.unwrap_or(0));
            node.op = Op::Assign {
                assigns: vec![(var, Expr::constant(value))],
                discards: Vec::new(),
                constrain: None,
                next,
            };
        }
        Prepared {
            program,
            atomic,
            started,
            slots,
            starts,
            shared,
        }
    }

    /// Where each thread begins; `init`, which is done before the others begin, nowhere.
    pub(super) fn roots(&self, declared: &[ProcId]) -> Vec<Vec<NodeId>> {
        let entry = |procedure: &ProcId| vec![self.program.procedure(*procedure).entry];
        let mut roots: Vec<Vec<NodeId>> = declared.iter().map(entry).collect();
        roots.extend(vec![self.starts.clone(); self.slots]);
        if let Threads::Init { .. } = self.program.threads {
            roots[0].clear();
        }
        roots
    }
}
