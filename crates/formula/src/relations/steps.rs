//! `ProgramInt`: steps within a procedure, violations included.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use droste_blast::{Destination, Logic, Store, in_range};
use droste_program::{NodeId, Op, ProcId, Program, Threads, VarRef, Violation};

use super::{Clauses, Frame, Relations, copy_of, one_of, or_false, uninitialised};
use crate::fields::Component;
use crate::inline::Start;
use crate::points::Point;
use crate::term::Term;
use crate::write::Piece;

impl Relations<'_> {
    /// The steps of a node within its procedure.
    pub(super) fn internal(&mut self, node: NodeId, clauses: &mut Clauses) {
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
                let mut pieces = vec![self.moves(here, vec![to]), Piece::Holds(effect.guard)];
                for store in &effect.stores {
                    self.stored(procedure, store, None, |r| &r.v, &[], &mut pieces);
                }
                let live = self.question.live;
                let open = self.dying(procedure, &|var| live.live(node, var), &|var| match var {
                    VarRef::Global(i) => live.live_at_exit(procedure, i),
                    VarRef::Local(_) => false,
                });
                let mut frame = Frame::changing(open);
                frame.locals = None;
                self.add(clauses, frame, &pieces);
            }
            // Arguments are a matter of `IntoCall1`.
            Op::Call { .. } => {}
            _ => {
                let changed = effect.stores.iter();
                let changed = changed.flat_map(|s| self.places(procedure, s.place, None));
                let mut changed: Vec<Component> = changed.collect();
                let mut more = Vec::new();
                if let (Some(place), Op::AtomicBegin(_) | Op::AtomicEnd(_)) =
                    (self.fields.atomic, op)
                {
                    let component = Component::Global(place);
                    let begins = self.terms.constant(matches!(op, Op::AtomicBegin(_)));
                    more.push(Piece::Is(self.path(&self.v, component), begins));
                    changed.push(component);
                }
                let after = self.after(node);
                // Edges to the same place, or with the same guard, are one clause.
                let mut guards: BTreeMap<u32, (Term, Vec<Component>)> = BTreeMap::new();
                for (to, guard) in &effect.edges {
                    let at = self.points.at(*to);
                    if let Some((known, _)) = guards.get_mut(&at) {
                        let Ok(either) = self.terms.or(known, guard);
                        *known = either;
                        continue;
                    }
                    // Conditions on the outcome read it once more.
                    let open = match after {
                        Some(_) => Vec::new(),
                        None => self.dying_between(node, *to, &effect.stores),
                    };
                    guards.insert(at, (*guard, open));
                }
                let mut edges: BTreeMap<(Term, Vec<Component>), Vec<u32>> = BTreeMap::new();
                for (to, way) in guards {
                    edges.entry(way).or_default().push(to);
                }
                let mut some = self.terms.constant(false);
                for ((guard, open), targets) in edges {
                    let Ok(either) = self.terms.or(&some, &guard);
                    some = either;
                    let stores = self.all_stored(procedure, &effect.stores, &open, &more);
                    let frame = Frame::changing(changed.iter().chain(&open).copied());
                    let mut pieces = vec![self.moves(here, targets), Piece::Holds(guard)];
                    pieces.extend(stores);
                    pieces.extend(after.as_ref().map(|after| Piece::Holds(after.holds)));
                    let Op::StartThread { start, .. } = op else {
                        self.add(clauses, frame, &pieces);
                        continue;
                    };
                    if self.flat.is_none_or(|flat| flat.forgets) {
                        self.add(clauses, frame.clone(), &pieces);
                    }
                    self.starting(node, *start, frame, pieces);
                }
                for (violation, bit) in after.iter().flat_map(|after| &after.failures) {
                    let mut pieces = vec![Piece::Holds(some), Piece::Holds(*bit)];
                    pieces.extend(self.all_stored(procedure, &effect.stores, &[], &more));
                    self.failure(here, *violation, &pieces, clauses);
                }
            }
        }
        self.terms.forget(mark);
    }

    /// Adds the step that starts a thread that becomes active.
    fn starting(&mut self, node: NodeId, start: NodeId, frame: Frame, mut pieces: Vec<Piece>) {
        let frame = match self.flat {
            Some(flat) => {
                let Some(start) = flat.starts.get(&node) else {
                    return;
                };
                pieces.push(Piece::Text(self.copied(node, start)));
                frame
            }
            None if self.fields.started.is_empty() => return,
            None => {
                let start = self.points.at(start);
                let known = self.beginnings.iter().position(|&at| at == start);
                let index = known.unwrap_or_else(|| {
                    self.beginnings.push(start);
                    self.beginnings.len() - 1
                });
                pieces.push(Piece::Text(format!("s = {index}")));
                let counter = self.fields.started.iter().copied();
                Frame::changing(counter.map(Component::Global))
            }
        };
        let mut starts = std::mem::take(&mut self.starts);
        self.add(&mut starts, frame, &pieces);
        self.starts = starts;
    }

    /// That a thread begins at b with locals n, copied from a frame of the thread that starts it.
    /// Those that the new thread writes before it reads them are left open.
    fn copied(&self, node: NodeId, start: &Start) -> String {
        let here = self.program.node(node).procedure.0 as usize;
        let there = start.procedure;
        let entry = self.program.procedure(there).entry;
        let mut text = format!("b = {}", self.points.entry(self.program, there));
        let mut blank = vec![true; self.fields.slots as usize];
        for (i, &local) in start.copied.iter().enumerate() {
            let kept = self.keeps(entry, VarRef::Local(i as u32));
            let from = self.fields.local(here, local as usize);
            for (to, from) in self.fields.local(there.0 as usize, i).iter().zip(from) {
                blank[*to as usize] = false;
                if kept {
                    let _ = write!(text, " & n.l{to} = l.l{from}");
                }
            }
        }
        for (slot, _) in blank.iter().enumerate().filter(|(_, blank)| **blank) {
            let _ = write!(text, " & !n.l{slot}");
        }
        text
    }

    /// From a program counter to one of others.
    fn moves(&self, here: u32, to: Vec<u32>) -> Piece {
        let to = one_of(&self.v.pc, to);
        Piece::Text(format!("{} = {here} & {to}", self.u.pc))
    }

    /// That the stores have been made, but for components that are `open`, and `more`.
    fn all_stored(
        &mut self,
        procedure: ProcId,
        stores: &[Store<Term>],
        open: &[Component],
        more: &[Piece],
    ) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for store in stores {
            self.stored(procedure, store, None, |r| &r.v, open, &mut pieces);
        }
        pieces.extend_from_slice(more);
        pieces
    }

    fn failure(&mut self, here: u32, violation: Violation, when: &[Piece], clauses: &mut Clauses) {
        let Some(to) = self.points.fail(violation) else {
            return;
        };
        let mut pieces = vec![self.moves(here, vec![to])];
        pieces.extend_from_slice(when);
        self.add(clauses, Frame::default(), &pieces);
    }

    /// From a procedure's entry to its first node: locals get values.
    pub(super) fn enter(&mut self, procedure: ProcId, clauses: &mut Clauses) {
        if !self.points.has_entry(procedure) {
            return;
        }
        let mark = self.terms.mark();
        let here = self.points.entry(self.program, procedure);
        let first = self.points.at(self.program.procedure(procedure).entry);
        let mut pieces = vec![self.moves(here, vec![first])];
        let mut changed = Vec::new();
        let locals = uninitialised(self.program, procedure, &self.fields, self.question.live);
        for local in locals {
            let places = self.places(procedure, Destination::Var(VarRef::Local(local)), None);
            let bits: Vec<Term> = places.iter().map(|&c| Self::bit(&self.v, c)).collect();
            let ty = self.program.variable(procedure, VarRef::Local(local)).ty;
            let Ok(bit) = in_range(&mut self.terms, ty, &bits);
            pieces.push(Piece::Holds(bit));
            changed.extend(places);
        }
        self.add(clauses, Frame::changing(changed), &pieces);
        self.terms.forget(mark);
    }

    /// One relation per procedure, and their union. If threads make no calls, the relations are
    /// between parts of states, and the union is for what runs before the threads.
    pub(super) fn program_int(&mut self) {
        let mut names = Vec::new();
        let (mut head, mut whole) = ("State u, State v) u ~+ v", "u, v");
        let before = self.flat.map(|_| {
            head = "PC p, Local l, Global g, PC q, Local m, Global h) p ~+ q, l ~+ m, g ~+ h";
            whole = "u.pc, u.l, u.g, v.pc, v.l, v.g";
            let mut part = |names| copy_of(&mut self.terms, &self.fields, names);
            let (u, v) = (part(["p", "l", "g"]), part(["q", "m", "h"]));
            (
                std::mem::replace(&mut self.u, u),
                std::mem::replace(&mut self.v, v),
                called(self.program),
            )
        });
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
            let head = format!("bool {name}({head}");
            self.define(&head, clauses, |r| &r.u, |r| &r.v);
            // A procedure may start a thread though no step of it gets that far: an `enforce` may
            // rule out all of them.
            let may_start = |flat: super::Flat<'_>| {
                let mut nodes = flat.starts.keys();
                nodes.any(|&node| self.program.node(node).procedure == procedure)
            };
            if self.flat.is_some_and(may_start) {
                let starts = std::mem::take(&mut self.starts);
                let _ = writeln!(self.out, "// It starts a thread at b with the locals n.");
                let head = format!(
                    "bool StartInt_{}(PC p, Local l, Global g, PC q, Local m, Global h, PC b, Local n) \
                     p ~+ q, l ~+ m, g ~+ h",
                    procedure.0
                );
                self.define(&head, starts, |r| &r.u, |r| &r.v);
            }
            let is_called = |(_, _, called): &(_, _, Vec<bool>)| called[procedure.0 as usize];
            if before.as_ref().is_none_or(is_called) {
                names.push(format!("{name}({whole})"));
            }
        }
        if let Some((u, v, _)) = before {
            (self.u, self.v) = (u, v);
        }
        let _ = writeln!(
            self.out,
            "// Steps within a procedure.\nbool ProgramInt(State u, State v) u ~+ v\n      {};\n",
            or_false(&names, " | ")
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
}

/// Which procedures run before the threads do.
fn called(program: &Program) -> Vec<bool> {
    let mut called = vec![false; program.procedures.len()];
    let mut work = match program.threads {
        Threads::Init { .. } => vec![program.main],
        _ => Vec::new(),
    };
    while let Some(procedure) = work.pop() {
        if std::mem::replace(&mut called[procedure.0 as usize], true) {
            continue;
        }
        let nodes = program.nodes.iter().filter(|n| n.procedure == procedure);
        work.extend(nodes.filter_map(|node| match node.op {
            Op::Call { callee, .. } => Some(callee),
            _ => None,
        }));
    }
    called
}
