//! The relations that describe a program: the templates of section 4 of La Torre, Madhusudan and Parlato, *Analyzing
//! recursive programs using a fixed-point calculus* (PLDI 2009).
//!
//! `docs/FORMULAS.md` describes them for those who write formulas. What is particular here:
//!
//! * A `return` leads to the exit of its procedure, where the results are in the components of
//!   the locals. So there is one exit for each procedure, and a call knows only that.
//! * A violation is a step to a program counter of its own; what the variables are there does not
//!   matter, and is left open.
//! * Steps that change the same components are put together, so that what they do not change is
//!   written, and computed, once.
//!

use std::collections::BTreeMap;
use std::fmt::Write as _;

use droste_blast::{After, Blaster, Effect, Logic, New, Place, State, Store, in_range};
use droste_lang::program::{NodeId, Op, ProcId, Program, Threads, VarRef, Violation};

use crate::fields::{Component, Fields};
use crate::points::{Point, Points};
use crate::term::{Term, Terms};
use crate::write::{Piece, conjunction};

/// What is asked.
pub struct Question<'a> {
    /// Nodes that must not be reached.
    pub targets: &'a [NodeId],
    /// Whether violations are looked for, too.
    pub violations: bool,
    /// Whether a variable may be read, at a node, before it is written.
    pub live: &'a dyn Fn(NodeId, VarRef) -> bool,
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
        locals.sort_unstable();
        globals.sort_unstable();
        Frame {
            locals: Some(locals),
            globals: Some(globals),
        }
    }
}

/// Clauses, by what their steps change.
type Clauses = BTreeMap<Frame, Vec<String>>;

/// The bits of one state of a formula: a variable `name` of type `State`, or of types `Local` and `Global`.
#[derive(Debug)]
struct Copy {
    locals: String,
    globals: String,
    local_bits: Vec<Term>,
    global_bits: Vec<Term>,
}

/// Puts the relations together.
pub(crate) struct Relations<'a> {
    program: &'a Program,
    question: &'a Question<'a>,
    pub(crate) points: Points,
    pub(crate) fields: Fields,
    terms: Terms,
    u: Copy,
    v: Copy,
    /// Steps that start a thread.
    starts: Clauses,
    /// Where started threads begin: the values of `Beginning`.
    pub(crate) beginnings: Vec<u32>,
    pub(crate) out: String,
}

impl<'a> Relations<'a> {
    /// With `threads`, the procedures with which they start, and how many more the program may start.
    pub(crate) fn new(
        program: &'a Program,
        question: &'a Question<'a>,
        threads: Option<(&[ProcId], u32)>,
    ) -> Self {
        let fields = Fields::new(program, threads.map(|(_, started)| started));
        let mut roots = vec![program.main];
        roots.extend_from_slice(threads.map_or(&[], |(list, _)| list));
        let mut is_target = vec![false; program.nodes.len()];
        for node in question.targets {
            is_target[node.0 as usize] = true;
        }
        if let Threads::Init { end_init, .. } = program.threads {
            is_target[end_init.0 as usize] = true;
        }
        let points = Points::new(
            program,
            &roots,
            question.violations,
            &|node| is_target[node.0 as usize],
            &|procedure| !uninitialised(program, procedure, &fields, question.live).is_empty(),
        );
        let mut terms = Terms::new();
        let u = copy(&mut terms, &fields, "u");
        let v = copy(&mut terms, &fields, "v");
        Relations {
            program,
            question,
            points,
            fields,
            terms,
            u,
            v,
            starts: Clauses::new(),
            beginnings: Vec::new(),
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
    fn places(&self, procedure: ProcId, place: Place, callee: Option<ProcId>) -> Vec<Component> {
        let locals = |slots: &[u32]| slots.iter().copied().map(Component::Local).collect();
        let p = procedure.0 as usize;
        match place {
            Place::Var(var) => {
                let ty = self.program.variable(procedure, var).ty;
                let component = |k| self.fields.component(p, var, k);
                (0..droste_blast::bits(ty)).map_while(component).collect()
            }
            Place::Parameter(i) => {
                let callee = callee.expect("only a call has arguments");
                locals(self.fields.local(callee.0 as usize, i as usize))
            }
            Place::Result(i) => locals(self.fields.result(p, i as usize)),
        }
    }

    /// That a store has been made in `to`.
    fn stored(
        &mut self,
        procedure: ProcId,
        store: &Store<Term>,
        callee: Option<ProcId>,
        to: fn(&Self) -> &Copy,
        pieces: &mut Vec<Piece>,
    ) {
        let places = self.places(procedure, store.place, callee);
        match &store.new {
            // A parameter that the callee does not mention has no bits.
            New::Any if places.is_empty() => {}
            New::Any => {
                let bits: Vec<Term> = places.iter().map(|&c| Self::bit(to(self), c)).collect();
                let Ok(bit) = in_range(&mut self.terms, store.ty, &bits);
                pieces.push(Piece::Holds(bit));
            }
            New::Code(code) => {
                for (&component, &bit) in places.iter().zip(code) {
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

    /// The steps of a node within its procedure.
    fn internal(&mut self, node: NodeId, clauses: &mut Clauses) {
        let op = &self.program.node(node).op;
        let procedure = self.program.node(node).procedure;
        let here = self.points.at(node);
        let mark = self.terms.mark();
        let effect = self.effect(node);
        for (violation, bit) in &effect.failures {
            self.failure(here, *violation, &[Piece::Holds(*bit)], clauses);
        }
        match op {
            Op::Return(_) => {
                let to = self.points.exit(procedure);
                let mut pieces = vec![
                    Piece::Text(format!("u.pc = {here} & v.pc = {to}")),
                    Piece::Holds(effect.guard),
                ];
                for store in &effect.stores {
                    self.stored(procedure, store, None, |r| &r.v, &mut pieces);
                }
                let frame = Frame {
                    locals: None,
                    globals: Some(Vec::new()),
                };
                self.add(clauses, frame, &pieces);
            }
            // Arguments are a matter of `IntoCall1`.
            Op::Call { .. } => {}
            _ => {
                let mut stores = Vec::new();
                for store in &effect.stores {
                    self.stored(procedure, store, None, |r| &r.v, &mut stores);
                }
                let changed = effect.stores.iter();
                let changed = changed.flat_map(|s| self.places(procedure, s.place, None));
                let mut changed: Vec<Component> = changed.collect();
                if let (Some(place), Op::AtomicBegin(_) | Op::AtomicEnd(_)) =
                    (self.fields.atomic, op)
                {
                    let component = Component::Global(place);
                    let begins = self.terms.constant(matches!(op, Op::AtomicBegin(_)));
                    stores.push(Piece::Is(self.path(&self.v, component), begins));
                    changed.push(component);
                }
                let frame = Frame::changing(changed);
                let after = self.after(node);
                // Edges to the same place, or with the same guard, are one clause.
                let mut guards: BTreeMap<u32, Term> = BTreeMap::new();
                for (to, guard) in &effect.edges {
                    let known = guards.entry(self.points.at(*to)).or_insert(*guard);
                    let Ok(either) = self.terms.or(known, guard);
                    *known = either;
                }
                let mut edges: BTreeMap<Term, Vec<u32>> = BTreeMap::new();
                for (to, guard) in guards {
                    edges.entry(guard).or_default().push(to);
                }
                let mut some = self.terms.constant(false);
                for (guard, targets) in edges {
                    let Ok(either) = self.terms.or(&some, &guard);
                    some = either;
                    let mut pieces = vec![
                        Piece::Text(format!("u.pc = {here} & {}", one_of("v.pc", targets))),
                        Piece::Holds(guard),
                    ];
                    pieces.extend(stores.iter().cloned());
                    pieces.extend(after.as_ref().map(|after| Piece::Holds(after.holds)));
                    self.add(clauses, frame.clone(), &pieces);
                    if let (Op::StartThread { start, .. }, false) =
                        (op, self.fields.started.is_empty())
                    {
                        let start = self.points.at(*start);
                        let known = self.beginnings.iter().position(|&at| at == start);
                        let index = known.unwrap_or_else(|| {
                            self.beginnings.push(start);
                            self.beginnings.len() - 1
                        });
                        pieces.push(Piece::Text(format!("s = {index}")));
                        let counter = self.fields.started.iter().copied();
                        let frame = Frame::changing(counter.map(Component::Global));
                        let mut starts = std::mem::take(&mut self.starts);
                        self.add(&mut starts, frame, &pieces);
                        self.starts = starts;
                    }
                }
                for (violation, bit) in after.iter().flat_map(|after| &after.failures) {
                    let mut pieces = vec![Piece::Holds(some), Piece::Holds(*bit)];
                    pieces.extend(stores.iter().cloned());
                    self.failure(here, *violation, &pieces, clauses);
                }
            }
        }
        self.terms.forget(mark);
    }

    fn failure(&mut self, here: u32, violation: Violation, when: &[Piece], clauses: &mut Clauses) {
        let Some(to) = self.points.fail(violation) else {
            return;
        };
        let mut pieces = vec![Piece::Text(format!("u.pc = {here} & v.pc = {to}"))];
        pieces.extend_from_slice(when);
        self.add(clauses, Frame::default(), &pieces);
    }

    /// From a procedure's entry to its first node: locals get values.
    fn enter(&mut self, procedure: ProcId, clauses: &mut Clauses) {
        if !self.points.has_entry(procedure) {
            return;
        }
        let mark = self.terms.mark();
        let here = self.points.entry(self.program, procedure);
        let first = self.points.at(self.program.procedure(procedure).entry);
        let mut pieces = vec![Piece::Text(format!("u.pc = {here} & v.pc = {first}"))];
        let mut changed = Vec::new();
        let locals = uninitialised(self.program, procedure, &self.fields, self.question.live);
        for local in locals {
            let places = self.places(procedure, Place::Var(VarRef::Local(local)), None);
            let bits: Vec<Term> = places.iter().map(|&c| Self::bit(&self.v, c)).collect();
            let ty = self.program.variable(procedure, VarRef::Local(local)).ty;
            let Ok(bit) = in_range(&mut self.terms, ty, &bits);
            pieces.push(Piece::Holds(bit));
            changed.extend(places);
        }
        self.add(clauses, Frame::changing(changed), &pieces);
        self.terms.forget(mark);
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

    pub(crate) fn finish(self) -> crate::Relations {
        let points = usize::BITS - self.points.list.len().leading_zeros();
        crate::Relations {
            text: self.out,
            bits: points + self.fields.slots + self.fields.global_bits(),
            points: self.points,
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

    /// One relation per procedure, and their union.
    fn program_int(&mut self) {
        let mut names = Vec::new();
        let mut nodes = vec![Vec::new(); self.program.procedures.len()];
        for point in &self.points.list {
            if let Point::Node(node) = *point {
                nodes[self.program.node(node).procedure.0 as usize].push(node);
            }
        }
        for &procedure in &self.points.procedures.clone() {
            let mut clauses = Clauses::new();
            self.enter(procedure, &mut clauses);
            for &node in &nodes[procedure.0 as usize] {
                self.internal(node, &mut clauses);
            }
            let name = format!("ProgramInt_{}", procedure.0);
            let title = &self.program.procedure(procedure).name;
            let _ = writeln!(self.out, "// Steps within {title}.");
            let head = format!("bool {name}(State u, State v) u ~+ v");
            self.define(&head, clauses, |r| &r.u, |r| &r.v);
            names.push(format!("{name}(u, v)"));
        }
        let _ = writeln!(
            self.out,
            "// Steps within a procedure.\nbool ProgramInt(State u, State v) u ~+ v\n      {};\n",
            names.join(" | ")
        );
        if !self.fields.started.is_empty() {
            let starts = std::mem::take(&mut self.starts);
            let _ = write!(self.out, "// Where started threads begin:");
            for (i, start) in self.beginnings.iter().enumerate() {
                let _ = write!(self.out, " {i} at {start}");
            }
            let last = self.beginnings.len().saturating_sub(1);
            let _ = writeln!(self.out, "\nenum Beginning {{ 0 .. {last} }};\n");
            let _ = writeln!(
                self.out,
                "// A thread is started at s; the counter of started threads is left open."
            );
            let head = "bool StartInt(State u, State v, Beginning s) u ~+ v";
            self.define(head, starts, |r| &r.u, |r| &r.v);
        }
    }

    fn call_sites(&self) -> Vec<(NodeId, ProcId)> {
        let nodes = self.points.list.iter().filter_map(|point| match *point {
            Point::Node(node) => match self.program.node(node).op {
                Op::Call { callee, .. } => Some((node, callee)),
                _ => None,
            },
            _ => None,
        });
        nodes.collect()
    }

    /// That a procedure's locals but for its parameters are 0.
    fn blank(&self, procedure: ProcId, locals: &str) -> Vec<String> {
        let params = self.program.procedure(procedure).params as usize;
        let mut used = vec![false; self.fields.slots as usize];
        for i in 0..params {
            for &slot in self.fields.local(procedure.0 as usize, i) {
                used[slot as usize] = true;
            }
        }
        let unused = used.iter().enumerate().filter(|(_, used)| !**used);
        unused
            .map(|(slot, _)| format!("!{locals}.l{slot}"))
            .collect()
    }

    fn calls(&mut self) {
        let callee = copy_of(&mut self.terms, &self.fields, "l", "g");
        let saved = std::mem::replace(&mut self.v, callee);
        // The locals of the callee beyond its parameters.
        for &procedure in &self.points.procedures.clone() {
            let mut parts = self.blank(procedure, "l");
            if parts.is_empty() {
                parts.push("true".to_owned());
            }
            let _ = writeln!(
                self.out,
                "bool Blank_{}(Local l)\n      {};\n",
                procedure.0,
                parts.join(" & ")
            );
        }
        let mut clauses = Vec::new();
        for (node, callee) in self.call_sites() {
            let mark = self.terms.mark();
            let effect = self.effect(node);
            let (here, exit) = (self.points.at(node), self.points.exit(callee));
            let mut pieces = vec![
                Piece::Text(format!(
                    "u.pc = {here} & e = {exit} & Blank_{}(l)",
                    callee.0
                )),
                Piece::Holds(effect.guard),
            ];
            let procedure = self.program.node(node).procedure;
            for store in &effect.stores {
                self.stored(procedure, store, Some(callee), |r| &r.v, &mut pieces);
            }
            clauses.extend(conjunction(&self.terms, &pieces));
            self.terms.forget(mark);
        }
        self.v = saved;
        let body = if clauses.is_empty() {
            "false".to_owned()
        } else {
            format!("g = u.g\n      & ({})", clauses.join("\n        | "))
        };
        let _ = writeln!(
            self.out,
            "// u calls the procedure whose exit is e, which is entered with locals l and globals g.\n\
             bool IntoCall1(State u, PC e, Local l, Global g)\n      {body};\n"
        );
        let mut entries = Vec::new();
        for &procedure in &self.points.procedures {
            let entry = self.points.entry(self.program, procedure);
            let exit = self.points.exit(procedure);
            entries.push(format!("v.pc = {entry} & IntoCall1(u, {exit}, v.l, v.g)"));
        }
        let _ = writeln!(
            self.out,
            "// From a call to the entry of the procedure called.\n\
             bool IntoCall(State u, State v) u ~+ v\n      {};\n",
            entries.join("\n    | ")
        );
    }

    fn returns(&mut self) {
        let (mut a, mut b) = (Clauses::new(), Clauses::new());
        let mut across = Vec::new();
        for (node, callee) in self.call_sites() {
            let mark = self.terms.mark();
            let Op::Call { targets, next, .. } = &self.program.node(node).op else {
                continue;
            };
            let procedure = self.program.node(node).procedure;
            let (here, exit) = (self.points.at(node), self.points.exit(callee));
            let next = self.points.at(*next);
            across.push((here, next));
            // In `ReturnB` the callee's last state is u; in `ReturnA` u is the caller's.
            let results = 0..self.program.procedure(callee).results.len();
            let results: Vec<Vec<Term>> = results
                .map(|i| {
                    let slots = self.fields.result(callee.0 as usize, i);
                    slots
                        .iter()
                        .map(|&s| self.u.local_bits[s as usize])
                        .collect()
                })
                .collect();
            let Ok(effect) = Blaster::new(self.program, &mut self.terms).resume(node, &results);
            let after = self.after(node);
            let mut ends = vec![next];
            for (violation, bit) in after.iter().flat_map(|after| &after.failures) {
                let Some(to) = self.points.fail(*violation) else {
                    continue;
                };
                ends.push(to);
                across.push((here, to));
                let text = format!("u.pc = {here} & e = {exit} & v.pc = {to}");
                let pieces = [Piece::Text(text), Piece::Holds(*bit)];
                let frame = self.caller_frame(procedure, targets);
                self.add(&mut a, frame, &pieces);
            }
            let text = format!("u.pc = {here} & e = {exit} & v.pc = {next}");
            let mut pieces = vec![Piece::Text(text)];
            pieces.extend(after.as_ref().map(|after| Piece::Holds(after.holds)));
            let frame = self.caller_frame(procedure, targets);
            self.add(&mut a, frame, &pieces);
            // The part of the callee.
            let text = format!("u.pc = {exit} & c = {here} & {}", one_of("v.pc", ends));
            let mut pieces = vec![Piece::Text(text), Piece::Holds(effect.guard)];
            for store in &effect.stores {
                self.stored(procedure, store, None, |r| &r.v, &mut pieces);
            }
            let places = effect.stores.iter();
            let places = places.flat_map(|s| self.places(procedure, s.place, None));
            let mut frame = Frame::changing(places);
            frame.locals = None;
            self.add(&mut b, frame, &pieces);
            for (violation, bit) in &effect.failures {
                let Some(to) = self.points.fail(*violation) else {
                    continue;
                };
                debug_assert!(
                    !after
                        .iter()
                        .flat_map(|a| &a.failures)
                        .any(|(v, _)| v == violation)
                );
                across.push((here, to));
                let text = format!("u.pc = {here} & e = {exit} & v.pc = {to}");
                self.add(&mut a, Frame::default(), &[Piece::Text(text)]);
                let text = format!("u.pc = {exit} & c = {here} & v.pc = {to}");
                let pieces = [Piece::Text(text), Piece::Holds(*bit)];
                self.add(&mut b, Frame::default(), &pieces);
            }
            self.terms.forget(mark);
        }
        let _ = writeln!(
            self.out,
            "// u is at a call of the procedure whose exit is e; what it and v have to do with each other if \
             v is where it goes on."
        );
        let head = "bool ReturnA(State u, PC e, State v) u ~+ v";
        self.define(head, a, |r| &r.u, |r| &r.v);
        let _ = writeln!(
            self.out,
            "// u is at the exit of the procedure called at c; what it and v have to do with each other."
        );
        let head = "bool ReturnB(State u, PC c, State v) u ~+ v";
        self.define(head, b, |r| &r.u, |r| &r.v);
        let _ = writeln!(
            self.out,
            "// The caller u, whose callee is at its exit v, goes on in w.\n\
             bool Return(State u, State v, State w) u ~+ v, v ~+ w\n      \
             ReturnA(u, v.pc, w) & ReturnB(v, u.pc, w);\n"
        );
        across.sort_unstable();
        across.dedup();
        let pairs: Vec<String> = across
            .iter()
            .map(|(call, next)| format!("a = {call} & b = {next}"))
            .collect();
        let _ = writeln!(
            self.out,
            "// From a call to where it returns to.\nbool Across(PC a, PC b)\n      {};\n",
            or_false(&pairs, "\n    | ")
        );
    }

    /// The locals of the caller stay, but for those that get results.
    fn caller_frame(&self, procedure: ProcId, targets: &[Option<VarRef>]) -> Frame {
        let vars = targets.iter().flatten();
        let places = vars.flat_map(|&var| self.places(procedure, Place::Var(var), None));
        let mut frame = Frame::changing(places);
        frame.globals = None;
        frame
    }

    fn control(&mut self) {
        let entries: Vec<(ProcId, u32)> = self
            .points
            .procedures
            .iter()
            .map(|&p| (p, self.points.entry(self.program, p)))
            .collect();
        let exits = self.points.procedures.iter().map(|&p| self.points.exit(p));
        let (exits, all) = (
            one_of("pc", exits.collect()),
            entries.iter().map(|e| e.1).collect(),
        );
        let _ = writeln!(
            self.out,
            "bool Entry(PC pc)\n      {};\n",
            one_of("pc", all)
        );
        let _ = writeln!(self.out, "bool Exit(PC pc)\n      {exits};\n");
        let mut clauses = Vec::new();
        for &(procedure, entry) in &entries {
            let mark = self.terms.mark();
            let text = format!("u.pc = {entry} & Blank_{}(u.l)", procedure.0);
            let mut pieces = vec![Piece::Text(text)];
            let params = self.program.procedure(procedure).params;
            let vars = (0..params).map(VarRef::Local);
            let vars = vars.chain((0..self.program.globals.len() as u32).map(VarRef::Global));
            let state = self.state(&self.u, procedure);
            for var in vars {
                let ty = self.program.variable(procedure, var).ty;
                let Ok(bit) = in_range(&mut self.terms, ty, state.code(var));
                pieces.push(Piece::Holds(bit));
            }
            clauses.extend(conjunction(&self.terms, &pieces));
            self.terms.forget(mark);
        }
        let _ = writeln!(
            self.out,
            "// u is at the entry of a procedure, with any arguments and globals.\n\
             bool EntryState(State u)\n      {};\n",
            or_false(&clauses, "\n    | ")
        );
        let main = self.points.entry(self.program, self.program.main);
        let mut calm = String::new();
        for &place in self.fields.atomic.iter().chain(&self.fields.started) {
            let _ = write!(calm, " & !u.g.{}", self.fields.names[place as usize]);
        }
        let _ = writeln!(
            self.out,
            "// Where runs start.\nbool Init(State u)\n      u.pc = {main} & EntryState(u){calm};\n"
        );
        let mut targets: Vec<u32> = self
            .question
            .targets
            .iter()
            .filter_map(|&node| self.points.node(node))
            .collect();
        let fails = self.points.list.iter().enumerate();
        targets.extend(
            fails
                .filter(|(_, point)| matches!(point, Point::Fail(_)))
                .map(|(i, _)| i as u32),
        );
        targets.sort_unstable();
        let _ = writeln!(
            self.out,
            "// What must not be reached.\nbool Target(PC pc)\n      {};\n",
            one_of("pc", targets)
        );
    }
}

fn copy(terms: &mut Terms, fields: &Fields, name: &str) -> Copy {
    copy_of(terms, fields, &format!("{name}.l"), &format!("{name}.g"))
}

fn copy_of(terms: &mut Terms, fields: &Fields, locals: &str, globals: &str) -> Copy {
    let local_bits = (0..fields.slots).map(|slot| terms.atom(format!("{locals}.l{slot}")));
    let local_bits = local_bits.collect();
    let global_bits = fields
        .names
        .iter()
        .map(|name| terms.atom(format!("{globals}.{name}")));
    Copy {
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
    live: &dyn Fn(NodeId, VarRef) -> bool,
) -> Vec<u32> {
    let locals = &program.procedure(procedure).locals;
    let entry = program.procedure(procedure).entry;
    (program.procedure(procedure).params..locals.len() as u32)
        .filter(|&i| !fields.local(procedure.0 as usize, i as usize).is_empty())
        .filter(|&i| live(entry, VarRef::Local(i)))
        .collect()
}
