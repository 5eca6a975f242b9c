//! `IntoCall`, `ReturnA`, `ReturnB`, `Across`: calls, and how callers go on.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use droste_blast::{Blaster, Destination};
use droste_program::{NodeId, Op, ProcId, VarRef};

use super::{Clauses, Frame, Relations, copy_of, one_of, or_false};
use crate::fields::Component;
use crate::points::Point;
use crate::term::Term;
use crate::write::{Piece, conjunction};

impl Relations<'_> {
    pub(super) fn call_sites(&self) -> Vec<(NodeId, ProcId)> {
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
    pub(super) fn blank(&self, procedure: ProcId, locals: &str) -> Vec<String> {
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

    pub(super) fn calls(&mut self) {
        let callee = copy_of(&mut self.terms, &self.fields, ["e", "l", "g"]);
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
        // Calls of procedures that touch the same globals are put together.
        let mut clauses: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
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
                self.stored(procedure, store, Some(callee), |r| &r.v, &[], &mut pieces);
            }
            if let Some(clause) = conjunction(&self.terms, &pieces) {
                clauses.entry(self.passed(callee)).or_default().push(clause);
            }
            self.terms.forget(mark);
        }
        self.v = saved;
        let bodies: Vec<String> = clauses
            .into_iter()
            .map(|(passed, clauses)| {
                let (passed, clauses) = (passed.join(" & "), clauses.join("\n        | "));
                format!("{passed}\n      & ({clauses})")
            })
            .collect();
        let body = or_false(&bodies, "\n    | ");
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

    /// That the globals g with which a procedure is entered are those of the caller u; what it does not touch
    /// is 0 there.
    fn passed(&self, callee: ProcId) -> Vec<String> {
        let touched = &self.touched[callee.0 as usize];
        if touched.len() == self.fields.names.len() {
            return vec!["g = u.g".to_owned()];
        }
        let name = |place: u32| &self.fields.names[place as usize];
        let same = touched
            .iter()
            .map(|&place| format!("g.{0} = u.g.{0}", name(place)));
        let none = self
            .untouched(callee)
            .map(|place| format!("!g.{}", name(place)));
        same.chain(none).collect()
    }

    pub(super) fn returns(&mut self) {
        let (mut a, mut b) = (Clauses::new(), Clauses::new());
        let mut across = Vec::new();
        for (node, callee) in self.call_sites() {
            let mark = self.terms.mark();
            let Op::Call { targets, next, .. } = &self.program.node(node).op else {
                continue;
            };
            let procedure = self.program.node(node).procedure;
            let (here, exit) = (self.points.at(node), self.points.exit(callee));
            let after = self.after(node);
            // Conditions on the outcome read it once more.
            let open = match after {
                Some(_) => Vec::new(),
                None => self.dying_across(node, *next, callee, targets),
            };
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
            let mut ends = vec![next];
            for (violation, bit) in after.iter().flat_map(|after| &after.failures) {
                let Some(to) = self.points.fail(*violation) else {
                    continue;
                };
                ends.push(to);
                across.push((here, to));
                let text = format!("u.pc = {here} & e = {exit} & v.pc = {to}");
                let pieces = [Piece::Text(text), Piece::Holds(*bit)];
                let frame = self.caller_frame(procedure, callee, targets, &[]);
                self.add(&mut a, frame, &pieces);
            }
            let text = format!("u.pc = {here} & e = {exit} & v.pc = {next}");
            let mut pieces = vec![Piece::Text(text)];
            pieces.extend(after.as_ref().map(|after| Piece::Holds(after.holds)));
            let frame = self.caller_frame(procedure, callee, targets, &open);
            self.add(&mut a, frame, &pieces);
            // The part of the callee.
            let text = format!("u.pc = {exit} & c = {here} & {}", one_of("v.pc", ends));
            let mut pieces = vec![Piece::Text(text), Piece::Holds(effect.guard)];
            for store in &effect.stores {
                self.stored(procedure, store, None, |r| &r.v, &open, &mut pieces);
            }
            let places = effect.stores.iter();
            let places = places.flat_map(|s| self.places(procedure, s.place, None));
            let untouched = self.untouched(callee).map(Component::Global);
            let mut frame = Frame::changing(places.chain(open).chain(untouched));
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

    /// What does not matter any more after a call: locals of the caller, and globals.
    fn dying_across(
        &self,
        call: NodeId,
        next: NodeId,
        callee: ProcId,
        targets: &[Option<VarRef>],
    ) -> Vec<Component> {
        let next = self.points.forward(next);
        let live = self.question.live;
        let before = |var| {
            targets.contains(&Some(var))
                || match var {
                    VarRef::Global(i) if self.touches(callee, i) => live.live_at_exit(callee, i),
                    // The caller's own, or kept by it.
                    VarRef::Local(_) | VarRef::Global(_) => live.live(call, var),
                }
        };
        let procedure = self.program.node(call).procedure;
        self.dying(procedure, &before, &|var| self.keeps(next, var))
    }

    /// Whether a procedure, or something it calls, mentions a global.
    fn touches(&self, procedure: ProcId, global: u32) -> bool {
        let touched = &self.touched[procedure.0 as usize];
        let places = &self.fields.globals[global as usize];
        places
            .iter()
            .all(|place| touched.binary_search(place).is_ok())
    }

    /// The locals of the caller stay, and the globals that the callee does not touch, but for those that get
    /// results or are `open`.
    fn caller_frame(
        &self,
        procedure: ProcId,
        callee: ProcId,
        targets: &[Option<VarRef>],
        open: &[Component],
    ) -> Frame {
        let vars = targets.iter().flatten();
        let places = vars.flat_map(|&var| self.places(procedure, Destination::Var(var), None));
        let touched = self.touched[callee.0 as usize]
            .iter()
            .map(|&place| Component::Global(place));
        Frame::changing(places.chain(open.iter().copied()).chain(touched))
    }
}
