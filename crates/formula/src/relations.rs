//! The relations that describe a program: the templates of section 4 of La Torre, Madhusudan and
//! Parlato, *Analyzing recursive programs using a fixed-point calculus* (PLDI 2009).
//!
//! `docs/FORMULAS.md` describes them for those who write formulas. What is particular here:
//!
//! * A `return` leads to the exit of its procedure, where the results are in the components of
//!   the locals. So there is one exit for each procedure, and a call knows only that.
//! * A violation is a step to a program counter of its own; what the variables are there does not
//!   matter, and is left open.
//! * Steps that change the same components are put together, so that what they do not change is
//!   written, and computed, once.
//! * Globals that neither a procedure nor anything it calls mentions are 0 while it runs, and the caller keeps
//!   their values. GETAFIX leaves them open there.
//! * A value that cannot matter any more is forgotten: the step that it mattered to last leaves it
//!   open. Otherwise states would differ in it for ever, and in what it was computed from.

mod calls;
mod control;
mod steps;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use droste_blast::{After, Blaster, Destination, Effect, New, State, Store, bits, in_range};
use droste_program::effects::Effects;
use droste_program::liveness::Liveness;
use droste_program::{NodeId, Op, ProcId, Program, Threads, VarRef, Violation};

use crate::fields::{Component, Fields};
use crate::inline::Start;
use crate::points::{Point, Points};
use crate::procedures::Procedure;
use crate::term::{Term, Terms};
use crate::write::{Piece, conjunction};

/// What is asked.
pub struct Reachability<'a> {
    /// Nodes that must not be reached.
    pub targets: &'a [NodeId],
    /// Whether violations are looked for, too.
    pub violations: bool,
    /// Whether the value of a variable may matter at a node.
    pub live: &'a dyn Liveness,
}

/// Which components a step changes; `None` if all may have any value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    locals: Option<Vec<u32>>,
    globals: Option<Vec<u32>>,
}

impl Frame {
    /// Changes these only.
    fn changing(components: impl IntoIterator<Item = Component>) -> Self {
        let (mut locals, mut globals) = (Vec::new(), Vec::new());
        for component in components {
            match component {
                Component::Local(slot) => locals.push(slot),
                Component::Global(place) => globals.push(place),
            }
        }
        for list in [&mut locals, &mut globals] {
            list.sort_unstable();
            list.dedup();
        }
        Frame {
            locals: Some(locals),
            globals: Some(globals),
        }
    }
}

/// Clauses, by what their steps change.
type Clauses = BTreeMap<Frame, Vec<String>>;

/// One state of a formula: a variable `name` of type `State`, or of types `PC`, `Local` and `Global`.
#[derive(Debug)]
struct Copy {
    pc: String,
    locals: String,
    globals: String,
    local_bits: Vec<Term>,
    global_bits: Vec<Term>,
}

/// What threads that make no calls start.
#[derive(Clone, Copy)]
pub(crate) struct Flat<'a> {
    pub(crate) starts: &'a BTreeMap<NodeId, Start>,
    /// Whether a thread may also be started without ever becoming active.
    pub(crate) forgets: bool,
}

/// Puts the relations together.
pub(crate) struct Relations<'a> {
    program: &'a Program,
    question: &'a Reachability<'a>,
    pub(crate) points: Points,
    pub(crate) fields: Fields,
    terms: Terms,
    u: Copy,
    v: Copy,
    /// If threads make no calls: what they start. Their steps are relations between the parts of
    /// states.
    flat: Option<Flat<'a>>,
    /// The program counter of threads that have not been started, if threads make no calls.
    pub(crate) idle: Option<u32>,
    /// Steps that start a thread.
    starts: Clauses,
    /// Where started threads begin: the values of `Beginning`.
    pub(crate) beginnings: Vec<u32>,
    /// For each procedure, the components of `Global` that it or something it calls mentions. With threads
    /// these are all, because other threads may look at any global while a procedure runs.
    touched: Vec<Vec<u32>>,
    pub(crate) out: String,
}

impl<'a> Relations<'a> {
    /// With `threads`, the procedures with which they start, and how many more of those that the
    /// program starts are counted. `flat`: threads make no calls.
    pub(crate) fn new(
        program: &'a Program,
        question: &'a Reachability<'a>,
        threads: Option<(&[ProcId], u32)>,
        flat: Option<Flat<'a>>,
    ) -> Self {
        let none = BTreeMap::new();
        let starts = flat.map_or(&none, |flat| flat.starts);
        let fields = Fields::new(program, threads.map(|(_, started)| started), starts);
        let mut roots = vec![program.main];
        roots.extend_from_slice(threads.map_or(&[], |(list, _)| list));
        let mut is_target = vec![false; program.nodes.len()];
        for node in question.targets {
            is_target[node.0 as usize] = true;
        }
        if let Threads::Init { end_init, .. } = program.threads {
            is_target[end_init.0 as usize] = true;
        }
        let mut points = Points::new(
            program,
            &roots,
            question.violations,
            &|node| is_target[node.0 as usize],
            &|procedure| !uninitialised(program, procedure, &fields, question.live).is_empty(),
        );
        let idle = (!starts.is_empty()).then(|| points.push_idle());
        let mut terms = Terms::new();
        let u = copy(&mut terms, &fields, "u");
        let v = copy(&mut terms, &fields, "v");
        let touched = touched(program, &fields, threads.is_some());
        Relations {
            program,
            question,
            points,
            fields,
            terms,
            u,
            v,
            flat,
            idle,
            starts: Clauses::new(),
            beginnings: Vec::new(),
            touched,
            out: String::new(),
        }
    }

    fn state(&self, copy: &Copy, procedure: ProcId) -> State<Term> {
        State::build(self.program, procedure, |var, k| {
            match self.fields.component(procedure.0 as usize, var, k) {
                Some(component) => Self::bit(copy, component),
                None => Terms::FALSE,
            }
        })
    }

    fn path(&self, copy: &Copy, component: Component) -> String {
        match component {
            Component::Local(slot) => format!("{}.l{slot}", copy.locals),
            Component::Global(place) => {
                format!("{}.{}", copy.globals, self.fields.names[place as usize])
            }
        }
    }

    fn bit(copy: &Copy, component: Component) -> Term {
        match component {
            Component::Local(slot) => copy.local_bits[slot as usize],
            Component::Global(place) => copy.global_bits[place as usize],
        }
    }

    /// The components that a store changes, lowest bit first.
    fn places(
        &self,
        procedure: ProcId,
        place: Destination,
        callee: Option<ProcId>,
    ) -> Vec<Component> {
        let locals = |slots: &[u32]| slots.iter().copied().map(Component::Local).collect();
        let p = procedure.0 as usize;
        match place {
            Destination::Var(var) => {
                let ty = self.program.variable(procedure, var).ty;
                let component = |k| self.fields.component(p, var, k);
                (0..droste_blast::bits(ty)).map_while(component).collect()
            }
            Destination::Parameter(i) => {
                let callee = callee.expect("only a call has arguments");
                locals(self.fields.local(callee.0 as usize, i as usize))
            }
            Destination::Result(i) => locals(self.fields.result(p, i as usize)),
        }
    }

    /// Whether the value of a variable matters at a node; those that do not have all codes are kept
    /// in any case.
    fn keeps(&self, node: NodeId, var: VarRef) -> bool {
        let procedure = self.program.node(node).procedure;
        self.question.live.live(node, var) || !self.is_full(procedure, var)
    }

    /// Whether each code of the variable's bits is a value.
    fn is_full(&self, procedure: ProcId, var: VarRef) -> bool {
        let ty = self.program.variable(procedure, var).ty;
        ty.hi().abs_diff(ty.lo()).checked_add(1) == 1u128.checked_shl(bits(ty) as u32)
    }

    /// The components of variables that matter before a step, or get a value in it, and do not
    /// matter after it.
    fn dying(
        &self,
        procedure: ProcId,
        before: &dyn Fn(VarRef) -> bool,
        after: &dyn Fn(VarRef) -> bool,
    ) -> Vec<Component> {
        let globals = (0..self.program.globals.len() as u32).map(VarRef::Global);
        let locals = self.program.procedure(procedure).locals.len() as u32;
        let vars = globals.chain((0..locals).map(VarRef::Local));
        let vars = vars.filter(|&var| self.is_full(procedure, var) && before(var) && !after(var));
        let places = vars.flat_map(|var| self.places(procedure, Destination::Var(var), None));
        let mut places: Vec<Component> = places.collect();
        places.sort_unstable();
        places
    }

    /// [`dying`](Self::dying), from one node of a procedure to the next, which may be passed over.
    fn dying_between(&self, from: NodeId, to: NodeId, stored: &[Store<Term>]) -> Vec<Component> {
        let to = self.points.forward(to);
        let is_stored = |var| {
            stored
                .iter()
                .any(|s| matches!(s.place, Destination::Var(v) if v == var))
        };
        self.dying(
            self.program.node(from).procedure,
            &|var| self.question.live.live(from, var) || is_stored(var),
            &|var| self.keeps(to, var),
        )
    }

    /// That a store has been made in `to`, but for components that are `open`.
    fn stored(
        &mut self,
        procedure: ProcId,
        store: &Store<Term>,
        callee: Option<ProcId>,
        to: fn(&Self) -> &Copy,
        open: &[Component],
        pieces: &mut Vec<Piece>,
    ) {
        let places = self.places(procedure, store.place, callee);
        match &store.new {
            // A parameter that the callee does not mention has no bits.
            New::Any if places.is_empty() => {}
            New::Any if open.contains(&places[0]) => {}
            New::Any => {
                let bits: Vec<Term> = places.iter().map(|&c| Self::bit(to(self), c)).collect();
                let Ok(bit) = in_range(&mut self.terms, store.ty, &bits);
                pieces.push(Piece::Holds(bit));
            }
            New::Code(code) => {
                for (&component, &bit) in places.iter().zip(code) {
                    if open.contains(&component) {
                        continue;
                    }
                    pieces.push(Piece::Is(self.path(to(self), component), bit));
                }
            }
        }
    }

    fn add(&mut self, clauses: &mut Clauses, frame: Frame, pieces: &[Piece]) {
        if let Some(text) = conjunction(&self.terms, pieces) {
            clauses.entry(frame).or_default().push(text);
        }
    }

    fn effect(&mut self, node: NodeId) -> Effect<Term> {
        let now = self.state(&self.u, self.program.node(node).procedure);
        let Ok(effect) = Blaster::new(self.program, &mut self.terms).effect(node, &now);
        effect
    }

    fn after(&mut self, node: NodeId) -> Option<After<Term>> {
        let procedure = self.program.node(node).procedure;
        let (now, next) = (
            self.state(&self.u, procedure),
            self.state(&self.v, procedure),
        );
        let Ok(after) = Blaster::new(self.program, &mut self.terms).after(node, &now, &next);
        after
    }

    /// What the frame leaves unchanged.
    fn kept(&self, frame: &Frame, from: &Copy, to: &Copy) -> Vec<String> {
        let mut parts = Vec::new();
        let equal = |a: &str, b: &str| format!("{a} = {b}");
        match &frame.locals {
            None => {}
            Some(changed) if changed.is_empty() => parts.push(equal(&to.locals, &from.locals)),
            Some(changed) => {
                for slot in
                    (0..self.fields.slots).filter(|slot| changed.binary_search(slot).is_err())
                {
                    let component = Component::Local(slot);
                    parts.push(equal(
                        &self.path(to, component),
                        &self.path(from, component),
                    ));
                }
            }
        }
        match &frame.globals {
            None => {}
            Some(changed) if changed.is_empty() => parts.push(equal(&to.globals, &from.globals)),
            Some(changed) => {
                let places = 0..self.fields.global_bits();
                for place in places.filter(|place| changed.binary_search(place).is_err()) {
                    let component = Component::Global(place);
                    parts.push(equal(
                        &self.path(to, component),
                        &self.path(from, component),
                    ));
                }
            }
        }
        parts
    }

    /// Writes the definition of a relation that is the disjunction of the clauses.
    fn define(
        &mut self,
        head: &str,
        clauses: Clauses,
        from: fn(&Self) -> &Copy,
        to: fn(&Self) -> &Copy,
    ) {
        let mut disjuncts = Vec::new();
        for (frame, clauses) in clauses {
            let kept = self.kept(&frame, from(self), to(self));
            if kept.is_empty() {
                disjuncts.extend(clauses);
                continue;
            }
            let mut text = kept.join(" & ");
            text.push_str("\n      & (");
            text.push_str(&clauses.join("\n        | "));
            text.push(')');
            disjuncts.push(text);
        }
        let body = if disjuncts.is_empty() {
            "false".to_owned()
        } else {
            disjuncts.join("\n    | ")
        };
        let _ = writeln!(self.out, "{head}\n      {body};\n");
    }

    /// The components of `Global` that a procedure does not touch.
    fn untouched(&self, procedure: ProcId) -> impl Iterator<Item = u32> + '_ {
        let touched = &self.touched[procedure.0 as usize];
        (0..self.fields.global_bits()).filter(|place| touched.binary_search(place).is_err())
    }

    /// Whether some call is one of this procedure.
    fn is_called(&self, procedure: ProcId) -> bool {
        let mut nodes = self.program.nodes.iter();
        nodes.any(|node| matches!(node.op, Op::Call { callee, .. } if callee == procedure))
    }

    pub(crate) fn finish(self) -> crate::Relations {
        let points = usize::BITS - self.points.list.len().leading_zeros();
        let sites = self.call_sites();
        let procedure = |&id: &ProcId| {
            let calls = sites.iter();
            let calls = calls.filter(|(site, _)| self.program.node(*site).procedure == id);
            let mut callees: Vec<u32> = calls.map(|(_, callee)| callee.0).collect();
            callees.sort_unstable();
            callees.dedup();
            Procedure {
                number: id.0,
                entry: self.points.entry(self.program, id),
                callees,
                is_called: self.is_called(id),
            }
        };
        crate::Relations {
            procedures: self.points.procedures.iter().map(procedure).collect(),
            text: self.out,
            bits: points + self.fields.slots + self.fields.global_bits(),
            points: self.points,
            gradual: false,
        }
    }

    /// All of it.
    pub(crate) fn write(&mut self) {
        self.types();
        self.program_int();
        self.calls();
        self.returns();
        self.control();
    }

    fn types(&mut self) {
        let _ = writeln!(self.out, "// Program counters:");
        for (i, point) in self.points.list.iter().enumerate() {
            let text = describe(self.program, *point);
            let _ = writeln!(self.out, "//   {i:>4}  {text}");
        }
        let last = self.points.list.len() - 1;
        let _ = writeln!(self.out, "enum PC {{ 0 .. {last} }};\n");
        for &p in &self.points.procedures {
            let procedure = self.program.procedure(p);
            for (i, local) in procedure.locals.iter().enumerate() {
                let slots = self.fields.local(p.0 as usize, i);
                let slots: Vec<String> = slots.iter().map(|slot| format!("l{slot}")).collect();
                let (slots, name) = (slots.join(" "), &procedure.name);
                let _ = writeln!(
                    self.out,
                    "// {name}::{} : {} is {slots}",
                    local.name, local.ty
                );
            }
        }
        let _ = write!(self.out, "class Local {{");
        for slot in 0..self.fields.slots {
            let _ = write!(self.out, " bool l{slot};");
        }
        if self.fields.slots == 0 {
            let _ = write!(self.out, " bool none;");
        }
        let _ = write!(self.out, " }};\nclass Global {{");
        for name in &self.fields.names {
            let _ = write!(self.out, " bool {name};");
        }
        if self.fields.names.is_empty() {
            let _ = write!(self.out, " bool none;");
        }
        let _ = writeln!(
            self.out,
            " }};\nclass State {{ PC pc; Local l; Global g; }};\n"
        );
    }
}

/// The components of `Global` that each procedure, or something it calls, mentions; sorted.
fn touched(program: &Program, fields: &Fields, all: bool) -> Vec<Vec<u32>> {
    if all {
        return vec![(0..fields.global_bits()).collect(); program.procedures.len()];
    }
    let effects = Effects::new(program);
    let procedures = (0..program.procedures.len() as u32).map(ProcId);
    let of = |procedure| {
        let globals = (0..program.globals.len() as u32).filter(|&i| effects.touches(procedure, i));
        let mut places: Vec<u32> = globals
            .flat_map(|i| fields.globals[i as usize].iter().copied())
            .collect();
        places.sort_unstable();
        places
    };
    procedures.map(of).collect()
}

fn copy(terms: &mut Terms, fields: &Fields, name: &str) -> Copy {
    let [pc, locals, globals] = ["pc", "l", "g"].map(|part| format!("{name}.{part}"));
    copy_of(terms, fields, [&pc, &locals, &globals])
}

/// A state of which these are the program counter, the locals and the globals.
fn copy_of(terms: &mut Terms, fields: &Fields, [pc, locals, globals]: [&str; 3]) -> Copy {
    let local_bits = (0..fields.slots).map(|slot| terms.atom(format!("{locals}.l{slot}")));
    let local_bits = local_bits.collect();
    let global_bits = fields
        .names
        .iter()
        .map(|name| terms.atom(format!("{globals}.{name}")));
    Copy {
        pc: pc.to_owned(),
        locals: locals.to_owned(),
        globals: globals.to_owned(),
        local_bits,
        global_bits: global_bits.collect(),
    }
}

/// That a program counter is one of these.
pub(crate) fn one_of(path: &str, mut numbers: Vec<u32>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    match numbers[..] {
        [] => "false".to_owned(),
        [only] => format!("{path} = {only}"),
        _ => {
            let tests: Vec<String> = numbers.iter().map(|n| format!("{path} = {n}")).collect();
            format!("({})", tests.join(" | "))
        }
    }
}

pub(crate) fn or_false(clauses: &[String], separator: &str) -> String {
    if clauses.is_empty() {
        "false".to_owned()
    } else {
        clauses.join(separator)
    }
}

fn describe(program: &Program, point: Point) -> String {
    let name = |procedure: ProcId| &program.procedure(procedure).name;
    match point {
        Point::Entry(procedure) => format!("{}: entry", name(procedure)),
        Point::Exit(procedure) => format!("{}: exit", name(procedure)),
        Point::Fail(Violation::Assertion) => "an assertion has failed".to_owned(),
        Point::Fail(Violation::OutOfRange) => "a value has left its range".to_owned(),
        Point::Fail(Violation::DivisionByZero) => "something was divided by zero".to_owned(),
        Point::Fail(Violation::NegativeShift) => {
            "something was shifted by a negative distance".to_owned()
        }
        Point::Idle => "the thread has not been started".to_owned(),
        Point::Node(id) => {
            let node = program.node(id);
            let kind = match node.op {
                Op::Goto(_) => "goto",
                Op::Assign { .. } => "assignment",
                Op::Branch { .. } => "branch",
                Op::Assume { .. } => "assume",
                Op::Assert { .. } => "assert",
                Op::Call { .. } => "call",
                Op::Return(_) => "return",
                Op::Stuck => "stuck",
                Op::StartThread { .. } => "start of a thread",
                Op::EndThread => "end of a thread",
                Op::AtomicBegin(_) => "atomic_begin",
                Op::AtomicEnd(_) => "atomic_end",
            };
            let mut text = format!("{}: {kind}", name(node.procedure));
            for label in &node.labels {
                // A comment ends with its line.
                let label: String = label.chars().filter(|c| !c.is_control()).collect();
                let _ = write!(text, ", {label}");
            }
            text
        }
    }
}

/// The locals that are no parameters and may be read before they are assigned.
fn uninitialised(
    program: &Program,
    procedure: ProcId,
    fields: &Fields,
    live: &dyn Liveness,
) -> Vec<u32> {
    let locals = &program.procedure(procedure).locals;
    let entry = program.procedure(procedure).entry;
    (program.procedure(procedure).params..locals.len() as u32)
        .filter(|&i| !fields.local(procedure.0 as usize, i as usize).is_empty())
        .filter(|&i| live.live(entry, VarRef::Local(i)))
        .collect()
}
