//! Puts the product together: the procedures that are needed, the copy of the outermost one, where
//! each begins and ends.

use std::sync::Arc;

use droste_base::Guard;
use droste_program::{
    Expr, Node, NodeId, Op, ProcId, Procedure, Program, Proposition, Type, Value, VarRef, Variable,
};
use droste_relations::Result;
use droste_source::Span;

use super::{Mode, Origin, Own, Role};
use crate::Runs;
use crate::repeat::automaton::Buchi;

/// The product that is being made.
pub(super) struct Builder<'a> {
    pub(super) source: &'a Program,
    pub(super) propositions: &'a [Proposition],
    pub(super) automaton: &'a Buchi,
    pub(super) mode: Mode<'a>,
    pub(super) nodes: Vec<Node>,
    pub(super) origin: Vec<Origin>,
    pub(super) targets: Vec<NodeId>,
    pub(super) state: Vec<VarRef>,
    /// In [`Mode::Cycle`]: the global that is the mark.
    pub(super) mark: Option<VarRef>,
    /// By node of the source, for the copy being made: where the automaton reads.
    pub(super) reads: Vec<NodeId>,
    pub(super) by_procedure: Vec<Vec<NodeId>>,
}

/// Everything about the copy of a procedure that is being made.
pub(super) struct Frame {
    /// Its number in the product.
    pub(super) procedure: ProcId,
    pub(super) source: ProcId,
    pub(super) outermost: bool,
    /// In [`Mode::Hull`]: the mark, and where a callee's mark is stored.
    pub(super) mark: Option<(VarRef, VarRef)>,
    /// Where the results of `main` are stored.
    pub(super) results: u32,
    /// The node in which the automaton reads after the end of the program.
    pub(super) end: Option<NodeId>,
}

fn boolean(name: &str, span: Span) -> Variable {
    Variable {
        name: Arc::from(name),
        ty: Type::Bool,
        span,
        thread: None,
    }
}

impl<'a> Builder<'a> {
    /// Adds the globals of the product to those of the program.
    pub(super) fn new(
        source: &'a Program,
        propositions: &'a [Proposition],
        automaton: &'a Buchi,
        mode: Mode<'a>,
        globals: &mut Vec<Variable>,
    ) -> Self {
        let span = source.procedure(source.main).span;
        let mut state = Vec::new();
        let mut add = |name: String| {
            globals.push(boolean(&name, span));
            VarRef::Global(globals.len() as u32 - 1)
        };
        for bit in 0..automaton.bits() {
            state.push(add(format!("automaton.{bit}")));
        }
        let mark = matches!(mode, Mode::Cycle(..)).then(|| add("mark".to_owned()));
        let mut by_procedure = vec![Vec::new(); source.procedures.len()];
        for (i, node) in source.nodes.iter().enumerate() {
            by_procedure[node.procedure.0 as usize].push(NodeId(i as u32));
        }
        Builder {
            source,
            propositions,
            automaton,
            mode,
            nodes: Vec::new(),
            origin: Vec::new(),
            targets: Vec::new(),
            state,
            mark,
            reads: vec![NodeId(u32::MAX); source.nodes.len()],
            by_procedure,
        }
    }

    /// The values that make a position the head: that of the mark, too.
    pub(super) fn wanted(&self) -> Vec<(VarRef, Value)> {
        let (Mode::Stem(head) | Mode::Cycle(head, _)) = self.mode else {
            return Vec::new();
        };
        let bits = self.state.iter().enumerate();
        let bits = bits.map(|(bit, &var)| (var, Value::from(head.state >> bit & 1)));
        let mark = self.mark.map(|var| (var, 1));
        head.values
            .iter()
            .copied()
            .chain(bits)
            .chain(mark)
            .collect()
    }

    /// All procedures that are needed, under their numbers, and that of the outermost frame behind
    /// them.
    pub(super) fn procedures(&mut self, guard: &mut Guard) -> Result<(Vec<Procedure>, Vec<Own>)> {
        let source = self.source;
        // Whose copy the outermost frame runs: none's if the program is over.
        let first = match self.mode {
            Mode::Cycle(head, _) => head.node.map(|node| source.node(node).procedure),
            _ => Some(source.main),
        };
        let needed = self.called(first);
        let mut procedures = Vec::new();
        let mut locals = Vec::new();
        for (i, procedure) in source.procedures.iter().enumerate() {
            let id = ProcId(i as u32);
            let mut copy = procedure.clone();
            locals.push((copy.locals.len(), copy.results.len()));
            if needed[i] {
                let mut frame = Frame {
                    procedure: id,
                    source: id,
                    outermost: false,
                    mark: None,
                    results: 0,
                    end: None,
                };
                self.add_marks(&mut copy, &mut frame);
                if frame.mark.is_some() {
                    copy.results.push(Type::Bool);
                }
                copy.entry = self.body(&frame, guard)?;
            } else {
                let origin = Origin {
                    role: Role::Do,
                    node: Some(procedure.entry),
                };
                copy.entry = self.node(id, origin);
            }
            procedures.push(copy);
        }
        let main = first.unwrap_or(source.main);
        let mut copy = source.procedure(main).clone();
        locals.push((copy.locals.len(), copy.results.len()));
        let mut frame = Frame {
            procedure: ProcId(procedures.len() as u32),
            source: main,
            outermost: true,
            mark: None,
            results: 0,
            end: None,
        };
        self.add_marks(&mut copy, &mut frame);
        frame.results = copy.locals.len() as u32;
        for (i, &ty) in source.procedure(main).results.iter().enumerate() {
            let mut variable = boolean(&format!("result.{i}"), copy.span);
            variable.ty = ty;
            copy.locals.push(variable);
        }
        let is_end = first.is_none();
        if is_end || !matches!(self.mode, Mode::Cycle(..)) {
            frame.end = Some(self.end(&frame));
        }
        copy.entry = match frame.end {
            Some(end) if is_end => self.enter(&frame, end),
            _ => self.body(&frame, guard)?,
        };
        procedures.push(copy);
        Ok((procedures, locals))
    }

    fn add_marks(&self, copy: &mut Procedure, frame: &mut Frame) {
        if matches!(self.mode, Mode::Hull) {
            let next = copy.locals.len() as u32;
            copy.locals.push(boolean("mark", copy.span));
            copy.locals.push(boolean("mark.callee", copy.span));
            frame.mark = Some((VarRef::Local(next), VarRef::Local(next + 1)));
        }
    }

    /// The procedures that can be called, also indirectly, by the first.
    fn called(&self, first: Option<ProcId>) -> Vec<bool> {
        let mut needed = vec![false; self.source.procedures.len()];
        let mut open: Vec<ProcId> = first.into_iter().collect();
        while let Some(procedure) = open.pop() {
            for &node in &self.by_procedure[procedure.0 as usize] {
                if let Op::Call { callee, .. } = self.source.node(node).op
                    && !std::mem::replace(&mut needed[callee.0 as usize], true)
                {
                    open.push(callee);
                }
            }
        }
        needed
    }

    pub(super) fn node(&mut self, procedure: ProcId, origin: Origin) -> NodeId {
        let span = origin.node.map_or_else(
            || self.source.procedure(self.source.main).span,
            |node| self.source.node(node).span,
        );
        self.nodes.push(Node {
            procedure,
            span,
            labels: Vec::new(),
            op: Op::Stuck,
            silent: false,
            ensure: None,
        });
        self.origin.push(origin);
        NodeId(self.nodes.len() as u32 - 1)
    }

    pub(super) fn set(&mut self, node: NodeId, op: Op) {
        self.nodes[node.0 as usize].op = op;
    }

    /// Whether a node of this copy is asked about.
    pub(super) fn is_asked(&self, frame: &Frame, node: Option<NodeId>) -> bool {
        let (head, here) = match self.mode {
            Mode::Hull => return false,
            Mode::Stem(head) => (head, frame.outermost == head.outermost),
            Mode::Cycle(head, runs) => (head, frame.outermost || runs == Runs::All),
        };
        here && head.node == node
    }

    /// The node that reads a position.
    fn reader(&mut self, frame: &Frame, node: Option<NodeId>) -> NodeId {
        let origin = Origin {
            role: Role::Read,
            node,
        };
        let read = self.node(frame.procedure, origin);
        if self.is_asked(frame, node) {
            self.targets.push(read);
        }
        read
    }

    /// The node in which a run that is over goes on.
    fn end(&mut self, frame: &Frame) -> NodeId {
        let read = self.reader(frame, None);
        let op = self.read(frame, None, Vec::new(), Vec::new(), None, read);
        self.set(read, op);
        read
    }

    /// The node in which a procedure begins, if something has to be done there.
    fn enter(&mut self, frame: &Frame, first: NodeId) -> NodeId {
        let mut assigns = Vec::new();
        let constant = |value: bool| Expr::constant(Value::from(value));
        if frame.outermost {
            let state = match self.mode {
                Mode::Cycle(head, _) => {
                    let values = head.values.iter();
                    assigns.extend(values.map(|&(var, value)| (var, Expr::constant(value))));
                    head.state
                }
                _ => self.automaton.initial,
            };
            let bits = self.state.iter().enumerate();
            assigns.extend(bits.map(|(bit, &var)| (var, constant(state >> bit & 1 == 1))));
            assigns.extend(self.mark.map(|var| (var, constant(false))));
        }
        assigns.extend(frame.mark.map(|(var, _)| (var, constant(false))));
        if assigns.is_empty() {
            return first;
        }
        let node = match self.mode {
            Mode::Cycle(head, _) => head.node,
            _ => Some(self.source.procedure(frame.source).entry),
        };
        let origin = Origin {
            role: Role::Enter,
            node,
        };
        let enter = self.node(frame.procedure, origin);
        self.set(
            enter,
            Op::Assign {
                assigns,
                discards: Vec::new(),
                constrain: None,
                next: first,
            },
        );
        enter
    }

    /// Copies all nodes of a procedure; where it begins.
    fn body(&mut self, frame: &Frame, guard: &mut Guard) -> Result<NodeId> {
        let nodes = std::mem::take(&mut self.by_procedure[frame.source.0 as usize]);
        for &node in &nodes {
            self.reads[node.0 as usize] = self.reader(frame, Some(node));
        }
        for &node in &nodes {
            // A large automaton many times over takes its time, and memory.
            guard.check_now()?;
            self.statement(frame, node);
        }
        let first = match self.mode {
            Mode::Cycle(head, _) if frame.outermost => head.node,
            _ => None,
        };
        let first = first.unwrap_or(self.source.procedure(frame.source).entry);
        let first = self.head(first);
        self.by_procedure[frame.source.0 as usize] = nodes;
        Ok(self.enter(frame, first))
    }

    /// Where control goes when it comes to a statement of the procedure that is being copied.
    pub(super) fn head(&self, node: NodeId) -> NodeId {
        self.reads[node.0 as usize]
    }
}
