//! The product of a program and an automaton, as a program.
//!
//! Basu, Narayan Kumar, Pokorny and Ramakrishnan (*Resource-Constrained Model Checking of Recursive Programs*, TACAS 2002, section 2) multiply
//! the pushdown system with the automaton and look for accepting runs. Here the product is written in
//! the language of programs itself: the automaton's state is a few Boolean globals, and at every position it makes
//! one move, before the statement is executed or together with it. Everything the symbolic engine knows about programs (relations, summaries,
//! what a procedure does not touch, the order of variables, shortest traces) then serves for products as well.
//!
//! Three products are needed, which differ in what is done about the mark:
//!
//! * [`Mode::Hull`], for the search for fair cycles: a local of each procedure says whether the mark was met since
//!   its entry, and is one more result. A summary thus tells whether some run through the callee meets
//!   the mark, the *goodness* of the paper's `Erase`.
//! * [`Mode::Stem`], for a run to a given position: no mark.
//! * [`Mode::Cycle`], for a run from a position back to it: `main` is a copy of the position's procedure that
//!   begins there and never returns, and the mark is a global, so that it also counts across calls that do not return.
//!
//! A head is asked for by the values of what its procedure can change or read, in the first of the three; the other two see to it that
//! the same variables are part of their states.
//!
//! The outermost frame has a copy of `main` of its own. Where that returns, the run goes on in a node
//! in which nothing happens any more but that the automaton reads.

use std::sync::Arc;

use droste_base::{Guard, Position, Run, Trace, Via};
use droste_program::liveness::Liveness;
use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, ProcId, Procedure, Program, Proposition, Threads, Type,
    Value, VarRef, Variable,
};
use droste_source::Span;

use super::automaton::Buchi;
use super::condition::Condition;
use crate::encode::Result;
use crate::{Place, Runs, Valued};

/// A position, in both the program and the automaton: what a cycle goes through.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// Whether it is in the outermost frame.
    pub(crate) outermost: bool,
    /// Where control is; nowhere after the end of the program.
    pub(crate) node: Option<NodeId>,
    /// The automaton's state, before it has read the position.
    pub(crate) state: u32,
    /// The values of what matters there and can change.
    pub(crate) values: Vec<(VarRef, Value)>,
}

/// What the product is for.
#[derive(Clone, Copy)]
pub(crate) enum Mode<'h> {
    Hull,
    Stem(&'h Head),
    Cycle(&'h Head, Runs),
}

/// What a node of the product stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The procedure is entered.
    Enter,
    /// The automaton reads the position, and perhaps the statement is executed with it.
    Read,
    /// The statement is executed.
    Do,
    /// After a call: the callee's mark is added to the caller's.
    Merge,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) role: Role,
    /// The node of the program; none after its end.
    pub(crate) node: Option<NodeId>,
}

/// How many locals and how many results of a procedure are the program's.
type Own = (usize, usize);

/// A program that runs another one and an automaton.
pub(crate) struct Product {
    pub(crate) program: Program,
    /// For each node.
    pub(crate) origin: Vec<Origin>,
    /// Where heads are asked for, and the values that make them one.
    pub(crate) targets: Vec<NodeId>,
    pub(crate) wanted: Vec<(VarRef, Value)>,
    /// How many globals the program has; those behind are ours.
    globals: usize,
    /// For each procedure, how many of its locals and results are the program's.
    locals: Vec<Own>,
    /// The procedure of the outermost frame.
    pub(crate) base: ProcId,
    /// The bits of the automaton's state.
    pub(crate) state: Vec<VarRef>,
    is_cycle: bool,
    is_hull: bool,
}

struct Builder<'a> {
    source: &'a Program,
    propositions: &'a [Proposition],
    automaton: &'a Buchi,
    mode: Mode<'a>,
    nodes: Vec<Node>,
    origin: Vec<Origin>,
    targets: Vec<NodeId>,
    state: Vec<VarRef>,
    /// The global of [`Mode::Cycle`].
    mark: Option<VarRef>,
    /// By node of the source, for the copy being made: where the automaton reads.
    reads: Vec<NodeId>,
    by_procedure: Vec<Vec<NodeId>>,
}

/// Everything about the copy of a procedure that is being made.
struct Frame {
    /// Its number in the product.
    procedure: ProcId,
    source: ProcId,
    outermost: bool,
    /// Of [`Mode::Hull`]: the mark, and where a callee's is stored.
    mark: Option<(VarRef, VarRef)>,
    /// Where the results of `main` are stored.
    results: u32,
    /// Where the terminated program reads.
    end: Option<NodeId>,
}

impl Product {
    pub(crate) fn new(
        source: &Program,
        propositions: &[Proposition],
        automaton: &Buchi,
        mode: Mode<'_>,
        guard: &mut Guard,
    ) -> Result<Self> {
        let span = source.procedure(source.main).span;
        let mut globals = source.globals.clone();
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
        let mut builder = Builder {
            source,
            propositions,
            automaton,
            mode,
            nodes: Vec::new(),
            origin: Vec::new(),
            targets: Vec::new(),
            state: state.clone(),
            mark,
            reads: vec![NodeId(u32::MAX); source.nodes.len()],
            by_procedure,
        };
        let (procedures, locals) = builder.procedures(guard)?;
        let wanted = builder.wanted();
        Ok(Product {
            base: ProcId(procedures.len() as u32 - 1),
            program: Program {
                main: ProcId(procedures.len() as u32 - 1),
                globals,
                procedures,
                nodes: builder.nodes,
                threads: Threads::Dynamic,
            },
            origin: builder.origin,
            wanted,
            targets: builder.targets,
            globals: source.globals.len(),
            locals,
            state,
            is_cycle: matches!(mode, Mode::Cycle(..)),
            is_hull: matches!(mode, Mode::Hull),
        })
    }

    /// Which locals of a procedure are the program's.
    pub(crate) fn own_locals(&self, procedure: ProcId) -> u32 {
        self.locals[procedure.0 as usize].0 as u32
    }

    /// How many globals are the program's.
    pub(crate) fn own_globals(&self) -> u32 {
        self.globals as u32
    }

    /// Of [`Mode::Hull`]: whether the mark was met since the procedure was entered.
    pub(crate) fn mark(&self, procedure: ProcId) -> VarRef {
        VarRef::Local(self.own_locals(procedure))
    }

    pub(crate) fn is_outermost(&self, node: NodeId) -> bool {
        self.program.node(node).procedure == self.base
    }

    /// The same run as one of the program. `touches` says which globals the outermost procedure can change; in a
    /// cycle, the others there were any values.
    pub(crate) fn restore(
        &self,
        trace: Trace<Valued>,
        touches: impl Fn(u32) -> bool,
    ) -> Trace<Valued> {
        let runs = trace.runs.into_iter().map(|run| {
            let Place::Exit(procedure) = run.exit.place else {
                unreachable!("a run ends with an exit")
            };
            let mut exit = run.exit;
            exit.globals.truncate(self.globals);
            exit.locals.truncate(self.locals[procedure.0 as usize].1);
            Run {
                positions: self.positions(run.positions, &touches),
                exit,
            }
        });
        Trace {
            runs: runs.collect(),
            positions: self.positions(trace.positions, &touches),
            cycle: None,
        }
    }

    fn positions(
        &self,
        positions: Vec<Position<Valued>>,
        touches: &dyn Fn(u32) -> bool,
    ) -> Vec<Position<Valued>> {
        let mut out: Vec<Position<Valued>> = Vec::new();
        // How the next position of the program was reached, if not by a step.
        let mut via = None;
        for Position { via: edge, state } in positions {
            let Place::At(node) = state.place else {
                unreachable!("violations are not asked for")
            };
            if edge != Via::Step {
                via = Some(edge);
            }
            let origin = self.origin[node.0 as usize];
            if origin.role != Role::Read {
                continue;
            }
            let procedure = self.program.node(node).procedure;
            let mut state = state;
            state.globals.truncate(self.globals);
            state.locals.truncate(self.locals[procedure.0 as usize].0);
            if self.is_cycle && procedure == self.base {
                for (i, global) in state.globals.iter_mut().enumerate() {
                    if !touches(i as u32) {
                        *global = None;
                    }
                }
            }
            let mut edge = via.take().unwrap_or(Via::Step);
            if let Some(node) = origin.node {
                state.place = Place::At(node);
            } else {
                let before = out.last().map(|before| before.state.place);
                if before.is_some_and(|place| place != Place::Terminated) {
                    edge = Via::Terminated;
                }
                state.place = Place::Terminated;
                state.locals.clear();
            }
            out.push(Position { via: edge, state });
        }
        out
    }
}

fn boolean(name: &str, span: Span) -> Variable {
    Variable {
        name: Arc::from(name),
        ty: Type::Bool,
        span,
        thread: None,
    }
}

impl Builder<'_> {
    /// The values that make a position the head: that of the mark, too.
    fn wanted(&self) -> Vec<(VarRef, Value)> {
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

    /// All procedures that are needed, under their numbers, and that of the outermost frame behind them.
    fn procedures(&mut self, guard: &mut Guard) -> Result<(Vec<Procedure>, Vec<Own>)> {
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

    fn node(&mut self, procedure: ProcId, origin: Origin) -> NodeId {
        let span = origin.node.map_or_else(
            || self.source.procedure(self.source.main).span,
            |node| self.source.node(node).span,
        );
        self.nodes.push(Node {
            procedure,
            span,
            labels: Vec::new(),
            op: Op::Stuck,
            ensure: None,
        });
        self.origin.push(origin);
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn set(&mut self, node: NodeId, op: Op) {
        self.nodes[node.0 as usize].op = op;
    }

    /// Whether a node of this copy is asked about.
    fn is_asked(&self, frame: &Frame, node: Option<NodeId>) -> bool {
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
    fn head(&self, node: NodeId) -> NodeId {
        self.reads[node.0 as usize]
    }

    /// One statement: where nothing speaks against it, the automaton's move is part of it.
    fn statement(&mut self, frame: &Frame, node: NodeId) {
        let source = self.source;
        let from = source.node(node);
        let read = self.head(node);
        let together = match &from.op {
            Op::Goto(to) if to.len() == 1 => Some((Vec::new(), Vec::new(), None, to[0])),
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => Some((assigns.clone(), discards.clone(), constrain.as_ref(), *next)),
            Op::Assume { condition, next } | Op::Assert { condition, next } => {
                Some((Vec::new(), Vec::new(), Some(condition), *next))
            }
            _ => None,
        };
        if let Some((assigns, discards, constrain, next)) = together {
            let next = self.head(next);
            let op = self.read(frame, Some(node), assigns, discards, constrain, next);
            self.set(read, op);
            self.nodes[read.0 as usize].ensure.clone_from(&from.ensure);
            return;
        }
        if let Op::Return(values) = &from.op
            && frame.outermost
        {
            let Some(end) = frame.end else {
                // A cycle does not leave its lowest frame.
                return;
            };
            // Stored as results are: what cannot be returned cannot be stored either.
            let results = values.iter().enumerate();
            let results =
                results.map(|(i, value)| (VarRef::Local(frame.results + i as u32), value.clone()));
            let op = self.read(frame, Some(node), results.collect(), Vec::new(), None, end);
            self.set(read, op);
            return;
        }
        let op = match &from.op {
            Op::Stuck | Op::StartThread { .. } | Op::EndThread => return,
            Op::Goto(to) => Op::Goto(to.iter().map(|&to| self.head(to)).collect()),
            Op::Branch { condition, yes, no } => Op::Branch {
                condition: condition.clone(),
                yes: self.head(*yes),
                no: self.head(*no),
            },
            Op::AtomicBegin(next) | Op::AtomicEnd(next) => Op::Goto(vec![self.head(*next)]),
            Op::Return(values) => {
                let mark = frame.mark.map(|(mark, _)| Expr::var(mark));
                Op::Return(values.iter().cloned().chain(mark).collect())
            }
            Op::Call {
                callee,
                args,
                targets,
                constrain,
                next,
            } => self.call(frame, *callee, args, targets, constrain.as_ref(), *next),
            Op::Assign { .. } | Op::Assume { .. } | Op::Assert { .. } => {
                unreachable!("the automaton's move is part of it")
            }
        };
        let origin = Origin {
            role: Role::Do,
            node: Some(node),
        };
        let execute = self.node(frame.procedure, origin);
        self.set(execute, op);
        self.nodes[execute.0 as usize]
            .ensure
            .clone_from(&from.ensure);
        let op = self.read(frame, Some(node), Vec::new(), Vec::new(), None, execute);
        self.set(read, op);
    }

    fn call(
        &mut self,
        frame: &Frame,
        callee: ProcId,
        args: &[Expr],
        targets: &[Option<VarRef>],
        constrain: Option<&Expr>,
        next: NodeId,
    ) -> Op {
        let mut targets = targets.to_vec();
        let mut after = self.head(next);
        if let Some((mark, callees)) = frame.mark {
            targets.resize(self.source.procedure(callee).results.len(), None);
            targets.push(Some(callees));
            let origin = Origin {
                role: Role::Merge,
                node: Some(next),
            };
            let merge = self.node(frame.procedure, origin);
            let mut either = Condition::default();
            either.var(mark);
            either.var(callees);
            either.or();
            let op = Op::Assign {
                assigns: vec![(mark, either.finish())],
                discards: Vec::new(),
                constrain: None,
                next: after,
            };
            self.set(merge, op);
            after = merge;
        }
        Op::Call {
            callee,
            args: args.to_vec(),
            targets,
            constrain: constrain.cloned(),
            next: after,
        }
    }

    /// The automaton reads the position, and the given assignments are made.
    fn read(
        &self,
        frame: &Frame,
        node: Option<NodeId>,
        mut assigns: Vec<(VarRef, Expr)>,
        discards: Vec<Expr>,
        constrain: Option<&Expr>,
        next: NodeId,
    ) -> Op {
        let mut discards = discards;
        if self.is_asked(frame, node) {
            // Who asks for a value looks at it: the procedure and its callers must not leave it out of their states, even if
            // without a mark the automaton's moves have lost it.
            let asked = self.wanted().into_iter();
            discards.extend(asked.map(|(var, _)| Expr::var(var)));
        }
        let mark = self.mark.or(frame.mark.map(|(mark, _)| mark));
        let any = Expr {
            nodes: vec![ExprNode::Nondet(Type::Bool)],
        };
        let ours = self.state.iter().copied().chain(mark);
        assigns.extend(ours.map(|var| (var, any.clone())));
        let mut condition = Condition::default();
        if let Some(constrain) = constrain {
            condition.expression(constrain, None);
        } else {
            condition.constant(1);
        }
        self.moves(&mut condition, frame.source, node, mark);
        condition.and();
        if condition.is_false() {
            return Op::Stuck;
        }
        Op::Assign {
            assigns,
            discards,
            constrain: Some(condition.finish()),
            next,
        }
    }

    /// The automaton's moves at a position, between its state now and after the step.
    fn moves(
        &self,
        condition: &mut Condition,
        procedure: ProcId,
        node: Option<NodeId>,
        mark: Option<VarRef>,
    ) {
        let mut groups = 0;
        for (state, edges) in self.automaton.states.iter().enumerate() {
            let mut ways = 0;
            for edge in edges {
                self.guard(condition, &edge.guard, procedure, node);
                if condition.is_false() {
                    condition.drop_last();
                    continue;
                }
                for (bit, &var) in self.state.iter().enumerate() {
                    condition.literal(var, true, edge.to >> bit & 1 == 1);
                    condition.and();
                }
                if let Some(mark) = mark {
                    condition.next(mark);
                    if !edge.marked {
                        condition.var(mark);
                        condition.equal();
                    }
                    condition.and();
                }
                ways += 1;
            }
            if ways == 0 {
                continue;
            }
            condition.any(ways);
            for (bit, &var) in self.state.iter().enumerate() {
                condition.literal(var, false, state >> bit & 1 == 1);
                condition.and();
            }
            groups += 1;
        }
        condition.any(groups);
    }

    fn guard(
        &self,
        condition: &mut Condition,
        guard: &[Vec<(u32, bool)>],
        procedure: ProcId,
        node: Option<NodeId>,
    ) {
        for conjunction in guard {
            condition.constant(1);
            for &(atom, value) in conjunction {
                let proposition = &self.propositions[atom as usize];
                let expr = match node {
                    Some(_) => &proposition.by_procedure[procedure.0 as usize],
                    None => &proposition.terminated,
                };
                condition.expression(expr, node);
                if !value {
                    condition.not();
                }
                condition.and();
            }
        }
        condition.any(guard.len());
    }
}

/// What matters in a product, given what matters in the program.
pub(crate) struct Matters<'a> {
    pub(crate) product: &'a Product,
    pub(crate) live: &'a dyn Liveness,
}

impl Liveness for Matters<'_> {
    fn live(&self, node: NodeId, var: VarRef) -> bool {
        let product = self.product;
        let origin = product.origin[node.0 as usize];
        let procedure = product.program.node(node).procedure;
        let outermost = procedure == product.base;
        let entering = origin.role == Role::Enter;
        match var {
            // At the beginning of the run, or of a cycle, the automaton's state is given.
            VarRef::Global(i) if i >= product.own_globals() => !(entering && outermost),
            VarRef::Local(i) if i >= product.own_locals(procedure) => {
                match i - product.own_locals(procedure) {
                    0 if product.is_hull => !entering,
                    1 if product.is_hull => origin.role == Role::Merge,
                    // The results of `main`.
                    _ => false,
                }
            }
            _ if entering && outermost && product.is_cycle => false,
            _ => match (origin.node, var) {
                (Some(node), _) => self.live.live(node, var),
                (None, VarRef::Global(i)) => self.live.live_after_termination(i),
                (None, VarRef::Local(_)) => false,
            },
        }
    }

    fn live_at_exit(&self, procedure: ProcId, global: u32) -> bool {
        global >= self.product.own_globals() || self.live.live_at_exit(procedure, global)
    }

    fn live_after_termination(&self, global: u32) -> bool {
        self.live.live_after_termination(global)
    }
}
