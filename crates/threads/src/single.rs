//! One thread of a schedule as a sequential program: its own steps, and between them, where the schedule
//! says so, the globals jump to what other threads have made of them.
//!
//! Every node of the program gets a choice in front: execute the statement, or, if this is where a
//! turn of the schedule can end (the globals are as they are at the switch, no atomic section is
//! open, the threads wanted have been started), *jump*: take the globals of the thread's next turn
//! and go on, or stop after its last one. Four extra globals keep track of turn, atomic section and
//! starts. A run of the result is thus a run of the thread within the schedule, and everything that
//! works for sequential programs (unknown values, summaries, folded traces that are made concrete)
//! works for threads.
//!
//! If no thread can move at the end of the run, [`Finale`] says of each thread whether it has ended
//! or is blocked. A thread that has ended must have reached its end. A thread that is blocked takes
//! the globals of the end after its last turn, wherever that has left it, and goes to a copy of the
//! statement there: the run looked for is one that is stuck at such a copy.
//!
//! (The idea of reducing context-bounded runs to sequential ones, with the globals at the switches given
//! in advance: Lal and Reps, *Reducing concurrent analysis under a context bound to sequential analysis*,
//! CAV 2008. There they are guessed, here they are known.)

use std::sync::Arc;

use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, Operator, ProcId, Procedure, Program, Threads, Type, Value,
    VarRef, Variable,
};
use droste_source::Span;

use droste_program::schedule::{Schedule, shared};

/// What a node of the sequential program stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The choice in front of this node of the program.
    Before(NodeId),
    /// The statement of this node.
    Statement(NodeId),
    /// The statement starts the next thread of the schedule.
    Starts(NodeId),
    /// A turn ends.
    Jump,
    /// Before the thread or after it.
    Frame,
}

/// What is wanted of a thread at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finale {
    /// Nothing more than that its turns end as the schedule says.
    Turns,
    /// It has ended.
    Ended,
    /// It cannot make a step.
    Blocked,
}

/// One thread as a program.
pub(super) struct Single {
    pub(super) program: Program,
    pub(super) meaning: Vec<Meaning>,
    /// Where the thread stops after its last turn.
    pub(super) ends: Vec<NodeId>,
    /// Where it may be blocked after its last turn.
    pub(super) finals: Vec<NodeId>,
    /// For nodes of the program: where control is in the sequential one, once or twice.
    pub(super) places: Vec<Vec<NodeId>>,
}

/// Which thread, and what begins it.
pub(super) enum Beginning<'a> {
    /// A procedure, with any values.
    Procedure(ProcId),
    /// A frame at a node.
    Frame(NodeId, &'a [Value]),
}

struct Builder<'a> {
    program: &'a Program,
    shared: Vec<u32>,
    /// The thread's turns: their numbers in the schedule.
    turns: Vec<usize>,
    schedule: &'a Schedule,
    nodes: Vec<Node>,
    meaning: Vec<Meaning>,
    /// For `init`: where alone it can be left.
    only_at: Option<NodeId>,
    /// How many turns of the thread end with a switch, or with the run.
    jumps: usize,
    finale: Finale,
    /// Whether it has to start a thread that the schedule says nothing about.
    is_starter: bool,
    ends: Vec<NodeId>,
    finals: Vec<NodeId>,
}

/// The thread with number `thread` of the schedule.
pub(super) fn single(
    program: &Program,
    schedule: &Schedule,
    thread: usize,
    beginning: &Beginning<'_>,
    init: Option<NodeId>,
    finale: Finale,
) -> Single {
    let turns = schedule.turns.iter().enumerate();
    let turns: Vec<usize> = turns
        .filter(|(_, turn)| turn.thread == thread)
        .map(|(i, _)| i)
        .collect();
    // The last turn of all is left if it is said how the run ends.
    let is_last = schedule.stop.is_none() && turns.last() == Some(&(schedule.turns.len() - 1));
    let mut builder = Builder {
        program,
        shared: shared(program),
        jumps: turns.len() - usize::from(is_last),
        turns,
        schedule,
        nodes: Vec::new(),
        meaning: Vec::new(),
        only_at: init.filter(|_| thread == 0),
        finale,
        is_starter: schedule.stop.as_ref().and_then(|stop| stop.starter) == Some(thread),
        ends: Vec::new(),
        finals: Vec::new(),
    };
    builder.build(beginning)
}

/// `a & b & …`
fn all(conditions: Vec<Vec<ExprNode>>) -> Expr {
    let mut nodes: Vec<ExprNode> = Vec::new();
    for condition in conditions {
        let left = nodes.len();
        for node in condition {
            nodes.push(match node {
                ExprNode::Not(i) => ExprNode::Not(i + left as u32),
                ExprNode::Binary(op, l, r) => {
                    ExprNode::Binary(op, l + left as u32, r + left as u32)
                }
                other => other,
            });
        }
        if left > 0 {
            let right = nodes.len() as u32 - 1;
            nodes.push(ExprNode::Binary(Operator::And, left as u32 - 1, right));
        }
    }
    if nodes.is_empty() {
        nodes.push(ExprNode::Const(1));
    }
    Expr { nodes }
}

/// `var = value`
fn equals(var: VarRef, value: Value) -> Vec<ExprNode> {
    vec![
        ExprNode::Var(var),
        ExprNode::Const(value),
        ExprNode::Binary(Operator::Eq, 0, 1),
    ]
}

impl Builder<'_> {
    /// The extra globals: number of the thread's turn, atomic section, threads started, and whether
    /// one was started that the schedule says nothing about.
    fn extra(&self, index: usize) -> VarRef {
        VarRef::Global((self.program.globals.len() + index) as u32)
    }

    fn push(&mut self, node: Node, meaning: Meaning) -> NodeId {
        self.nodes.push(node);
        self.meaning.push(meaning);
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn plain(&mut self, procedure: ProcId, op: Op, meaning: Meaning) -> NodeId {
        let node = Node {
            procedure,
            span: Span::default(),
            labels: Vec::new(),
            op,
            silent: false,
            ensure: None,
        };
        self.push(node, meaning)
    }

    /// How many threads the schedule has this one start before the end of its turn number `turn`.
    fn started_by(&self, turn: usize) -> usize {
        let turns = self.turns[..=turn].iter();
        turns.map(|&t| self.schedule.turns[t].starts.len()).sum()
    }

    /// Ends turn number `turn` of the thread at a node of `procedure`, and goes on to `next`.
    fn jump(&mut self, procedure: ProcId, turn: usize, next: NodeId, ended: bool) -> NodeId {
        let after = self.turns[turn] + 1;
        let mut conditions = vec![
            equals(self.extra(0), turn as Value),
            equals(self.extra(2), self.started_by(turn) as Value),
        ];
        if !ended && self.only_at.is_none() {
            // Whoever is blocked alone is so because it is inside an atomic section.
            let atomic = Value::from(self.is_alone(turn));
            conditions.push(equals(self.extra(1), atomic));
        }
        if self.is_starter && turn + 1 == self.turns.len() {
            conditions.push(equals(self.extra(3), 1));
        }
        let at_switch = self.globals(after);
        for &i in &self.shared {
            if let Some(value) = at_switch[i as usize] {
                conditions.push(equals(VarRef::Global(i), value));
            }
        }
        let mut assigns = vec![(self.extra(0), Expr::constant(turn as Value + 1))];
        let resumed = match self.turns.get(turn + 1) {
            Some(&resumed) => Some(resumed),
            None if self.finale == Finale::Blocked => Some(self.schedule.turns.len()),
            None => None,
        };
        if let Some(resumed) = resumed {
            let globals = self.globals(resumed);
            for &i in &self.shared {
                if let Some(value) = globals[i as usize] {
                    assigns.push((VarRef::Global(i), Expr::constant(value)));
                }
            }
        }
        let op = Op::Assign {
            assigns,
            discards: Vec::new(),
            constrain: Some(all(conditions)),
            next,
        };
        self.plain(procedure, op, Meaning::Jump)
    }

    /// The globals when a turn begins; after the last one, those at the end of the run.
    fn globals(&self, turn: usize) -> &[Option<Value>] {
        match (self.schedule.turns.get(turn), &self.schedule.stop) {
            (Some(turn), _) => &turn.globals,
            (None, Some(stop)) => &stop.globals,
            (None, None) => &[],
        }
    }

    /// Whether the thread is blocked after its turn number `turn`, and no other can become active.
    fn is_alone(&self, turn: usize) -> bool {
        self.finale == Finale::Blocked
            && turn + 1 == self.turns.len()
            && self.schedule.stop.as_ref().is_some_and(|stop| stop.alone)
    }

    /// A copy of the statement of a node at which the thread may be blocked at the end of the run, if
    /// it can be there. It leads to `end`: whoever can make a step is not blocked.
    fn last(&mut self, node: NodeId, procedure: ProcId, end: NodeId) -> Option<NodeId> {
        let original = self.program.node(node);
        let op = match &original.op {
            Op::Call { .. } | Op::EndThread => return None,
            Op::AtomicBegin(_) | Op::AtomicEnd(_) | Op::StartThread { .. } => Op::Goto(vec![end]),
            op => mapped(op, &|_| end),
        };
        let copy = Node {
            procedure,
            op,
            ..original.clone()
        };
        let id = self.push(copy, Meaning::Before(node));
        self.finals.push(id);
        Some(id)
    }

    /// Where the thread stops in `procedure`; control can be there after its last turn only.
    fn end(&mut self, procedure: ProcId) -> NodeId {
        let end = self.plain(procedure, Op::Stuck, Meaning::Frame);
        self.ends.push(end);
        end
    }

    /// Fills in the choice `place` in front of `node`, and what it offers; `map` says where control
    /// is for a node of the same procedure.
    fn fill(
        &mut self,
        place: NodeId,
        node: NodeId,
        procedure: ProcId,
        end: NodeId,
        map: &dyn Fn(NodeId) -> NodeId,
    ) {
        let original = self.program.node(node);
        let mut choices = Vec::new();
        if self.turns.is_empty() {
            // It is never active.
            choices.extend(self.last(node, procedure, end));
        } else if self.only_at != Some(node) {
            choices.extend(self.statement(node, procedure, end, map));
        }
        for turn in (0..self.jumps).filter(|_| original.op != Op::EndThread) {
            // `init` is left at its end, unless it is blocked: then it is elsewhere.
            let is_alone = self.is_alone(turn);
            if self.only_at.is_some_and(|only| (only == node) == is_alone) {
                continue;
            }
            let next = match self.finale {
                _ if turn + 1 < self.turns.len() => Some(place),
                Finale::Turns => Some(end),
                Finale::Ended => None,
                Finale::Blocked => self.last(node, procedure, end),
            };
            if let Some(next) = next {
                choices.push(self.jump(procedure, turn, next, false));
            }
        }
        if choices.is_empty() {
            self.nodes[place.0 as usize].op = Op::Stuck;
        } else {
            self.nodes[place.0 as usize].op = Op::Goto(choices);
        }
    }

    /// The statement of a node, in all its variants.
    fn statement(
        &mut self,
        node: NodeId,
        procedure: ProcId,
        end: NodeId,
        map: &dyn Fn(NodeId) -> NodeId,
    ) -> Vec<NodeId> {
        let original = self.program.node(node).clone();
        let flag = |builder: &Self, value: Value, next: NodeId| Op::Assign {
            assigns: vec![(builder.extra(1), Expr::constant(value))],
            discards: Vec::new(),
            constrain: None,
            next,
        };
        let with = |op: Op| Node {
            procedure,
            op,
            ..original.clone()
        };
        let op = match &original.op {
            Op::AtomicBegin(next) => flag(self, 1, map(*next)),
            Op::AtomicEnd(next) => flag(self, 0, map(*next)),
            Op::StartThread { start, next } => {
                let (start, next) = (*start, map(*next));
                let mut variants: Vec<NodeId> = (self.others(start, next).into_iter())
                    .map(|op| self.push(with(op), Meaning::Statement(node)))
                    .collect();
                let mut number = 0;
                for (turn, &at) in self.turns.clone().iter().enumerate() {
                    for wanted in self.schedule.turns[at].starts.clone() {
                        number += 1;
                        if wanted.start != start {
                            continue;
                        }
                        let mut conditions = vec![
                            equals(self.extra(0), turn as Value),
                            equals(self.extra(2), number - 1),
                        ];
                        for (i, value) in wanted.locals.iter().enumerate() {
                            conditions.push(equals(VarRef::Local(i as u32), *value));
                        }
                        let op = Op::Assign {
                            assigns: vec![(self.extra(2), Expr::constant(number))],
                            discards: Vec::new(),
                            constrain: Some(all(conditions)),
                            next,
                        };
                        variants.push(self.push(with(op), Meaning::Starts(node)));
                    }
                }
                return variants;
            }
            Op::EndThread => {
                // It can stop here after its last turn; `init` cannot.
                if self.may_end() {
                    let last = self.jump(procedure, self.jumps - 1, end, true);
                    Op::Goto(vec![last])
                } else {
                    Op::Stuck
                }
            }
            op => mapped(op, map),
        };
        vec![self.push(with(op), Meaning::Statement(node))]
    }

    /// Starting a thread that the schedule says nothing about. If no thread can move at the end, it
    /// must be one that cannot.
    fn others(&self, start: NodeId, next: NodeId) -> Vec<Op> {
        let Some(stop) = self.schedule.stop.as_ref().filter(|stop| !stop.alone) else {
            return vec![Op::Goto(vec![next])];
        };
        let frames = stop.others.iter().filter(|frame| frame.start == start);
        let ops = frames.map(|frame| {
            let locals = (0..).map(VarRef::Local).zip(&frame.locals);
            Op::Assign {
                assigns: vec![(self.extra(3), Expr::constant(1))],
                discards: Vec::new(),
                constrain: Some(all(locals
                    .map(|(var, &value)| equals(var, value))
                    .collect())),
                next,
            }
        });
        ops.collect()
    }

    /// Whether the thread may end in its last turn.
    fn may_end(&self) -> bool {
        self.finale != Finale::Blocked
            && self.jumps > 0
            && self.jumps == self.turns.len()
            && self.only_at.is_none()
    }

    fn build(&mut self, beginning: &Beginning<'_>) -> Single {
        let program = self.program;
        let count = program.nodes.len();
        let mut places: Vec<Vec<NodeId>> = (0..count).map(|i| vec![NodeId(i as u32)]).collect();
        // The places first, so that they have the numbers of their nodes.
        for (i, node) in program.nodes.iter().enumerate() {
            self.plain(node.procedure, Op::Stuck, Meaning::Before(NodeId(i as u32)));
        }
        let ends: Vec<NodeId> = (0..program.procedures.len())
            .map(|i| self.end(ProcId(i as u32)))
            .collect();
        for i in 0..count {
            let node = NodeId(i as u32);
            let procedure = program.node(node).procedure;
            self.fill(node, node, procedure, ends[procedure.0 as usize], &|n| n);
        }
        let mut procedures = program.procedures.clone();
        for procedure in &mut procedures {
            procedure.thread = None;
        }
        let callee = match beginning {
            Beginning::Procedure(procedure) => *procedure,
            Beginning::Frame(start, locals) => {
                self.clone_procedure(*start, locals, &mut procedures, &mut places)
            }
        };
        let main = ProcId(procedures.len() as u32);
        let entry = self.main(main, callee, &procedures);
        procedures.push(Procedure {
            name: Arc::from("thread"),
            span: Span::default(),
            params: 0,
            locals: Vec::new(),
            results: Vec::new(),
            entry,
            thread: None,
        });
        let mut globals = program.globals.clone();
        for global in &mut globals {
            global.thread = None;
        }
        let starts: usize = match self.turns.len() {
            0 => 0,
            turns => self.started_by(turns - 1),
        };
        let range = |hi: usize| Type::Range {
            lo: 0,
            hi: hi as Value,
        };
        for (name, ty) in [
            ("turn", range(self.turns.len())),
            ("atomic", Type::Bool),
            ("started", range(starts)),
            ("another", Type::Bool),
        ] {
            globals.push(Variable {
                name: Arc::from(name),
                ty,
                span: Span::default(),
                thread: None,
            });
        }
        Single {
            program: Program {
                globals,
                procedures,
                nodes: std::mem::take(&mut self.nodes),
                main,
                threads: Threads::Dynamic,
            },
            meaning: std::mem::take(&mut self.meaning),
            ends: std::mem::take(&mut self.ends),
            finals: std::mem::take(&mut self.finals),
            places,
        }
    }

    /// A copy of the procedure of `start` that begins there with these locals.
    fn clone_procedure(
        &mut self,
        start: NodeId,
        locals: &[Value],
        procedures: &mut Vec<Procedure>,
        places: &mut [Vec<NodeId>],
    ) -> ProcId {
        let program = self.program;
        let original = program.node(start).procedure;
        let copy = ProcId(procedures.len() as u32);
        let members = program.nodes.iter().enumerate();
        let members: Vec<NodeId> = members
            .filter(|(_, node)| node.procedure == original)
            .map(|(i, _)| NodeId(i as u32))
            .collect();
        for &node in &members {
            let place = self.plain(copy, Op::Stuck, Meaning::Before(node));
            places[node.0 as usize].push(place);
        }
        let end = self.end(copy);
        let map = |node: NodeId| places[node.0 as usize][1];
        for &node in &members {
            self.fill(map(node), node, copy, end, &map);
        }
        let assigns = locals.iter().enumerate();
        let assigns = assigns.map(|(i, value)| (VarRef::Local(i as u32), Expr::constant(*value)));
        let op = Op::Assign {
            assigns: assigns.collect(),
            discards: Vec::new(),
            constrain: None,
            next: map(start),
        };
        let entry = self.plain(copy, op, Meaning::Frame);
        procedures.push(Procedure {
            params: 0,
            entry,
            thread: None,
            ..program.procedure(original).clone()
        });
        copy
    }

    /// What calls the thread's procedure, and stops when that returns after the last turn.
    fn main(&mut self, main: ProcId, callee: ProcId, procedures: &[Procedure]) -> NodeId {
        let end = self.end(main);
        let ended = if self.may_end() {
            self.jump(main, self.jumps - 1, end, true)
        } else {
            self.plain(main, Op::Stuck, Meaning::Frame)
        };
        let called = &procedures[callee.0 as usize];
        let any = |variable: &Variable| Expr {
            nodes: vec![ExprNode::Nondet(variable.ty)],
        };
        let args = called.locals[..called.params as usize].iter().map(any);
        let op = Op::Call {
            callee,
            args: args.collect(),
            targets: Vec::new(),
            constrain: None,
            next: ended,
        };
        let call = self.plain(main, op, Meaning::Frame);
        let first = self.turns.first().copied();
        let first = self.globals(first.unwrap_or(self.schedule.turns.len()));
        let mut assigns = Vec::new();
        for (i, variable) in self.program.globals.iter().enumerate() {
            let value = if self.shared.contains(&(i as u32)) {
                first[i]
            } else if variable.thread.is_none() {
                // Nobody looks at it.
                Some(variable.ty.lo())
            } else {
                None
            };
            if let Some(value) = value {
                assigns.push((VarRef::Global(i as u32), Expr::constant(value)));
            }
        }
        for i in 0..4 {
            assigns.push((self.extra(i), Expr::constant(0)));
        }
        let op = Op::Assign {
            assigns,
            discards: Vec::new(),
            constrain: None,
            next: call,
        };
        self.plain(main, op, Meaning::Frame)
    }
}

/// The operation with other nodes.
fn mapped(op: &Op, map: &dyn Fn(NodeId) -> NodeId) -> Op {
    let mut op = op.clone();
    match &mut op {
        Op::Goto(targets) => targets.iter_mut().for_each(|to| *to = map(*to)),
        Op::Assign { next, .. }
        | Op::Assume { next, .. }
        | Op::Assert { next, .. }
        | Op::Call { next, .. }
        | Op::AtomicBegin(next)
        | Op::AtomicEnd(next) => *next = map(*next),
        Op::Branch { yes, no, .. } => {
            *yes = map(*yes);
            *no = map(*no);
        }
        Op::StartThread { start, next } => {
            *start = map(*start);
            *next = map(*next);
        }
        Op::Return(_) | Op::Stuck | Op::EndThread => {}
    }
    op
}
