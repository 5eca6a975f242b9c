//! `Entry`, `Exit`, `Init`, `Target`: where procedures begin and end, where runs start, and what
//! must not be reached.

use std::fmt::Write as _;

use droste_blast::in_range;
use droste_program::{ProcId, VarRef};

use super::{Relations, copy, copy_of, one_of, or_false};
use crate::points::Point;
use crate::write::{Piece, conjunction};

impl Relations<'_> {
    pub(super) fn control(&mut self) {
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
            let number = procedure.0;
            let state = if self.flat.is_some() {
                copy_of(&mut self.terms, &self.fields, ["p", "l", "g"])
            } else {
                copy(&mut self.terms, &self.fields, "u")
            };
            let text = format!("{} = {entry} & Blank_{number}({})", state.pc, state.locals);
            let mut pieces = vec![Piece::Text(text)];
            let globals = &state.globals;
            let untouched = self.untouched(procedure);
            let name = |place| &self.fields.names[place as usize];
            pieces
                .extend(untouched.map(|place| Piece::Text(format!("!{globals}.{}", name(place)))));
            let params = self.program.procedure(procedure).params;
            let vars = (0..params).map(VarRef::Local);
            let vars = vars.chain((0..self.program.globals.len() as u32).map(VarRef::Global));
            let state = self.state(&state, procedure);
            for var in vars {
                let ty = self.program.variable(procedure, var).ty;
                let Ok(bit) = in_range(&mut self.terms, ty, state.code(var));
                pieces.push(Piece::Holds(bit));
            }
            let clause = conjunction(&self.terms, &pieces);
            self.terms.forget(mark);
            if self.flat.is_some() {
                let _ = writeln!(
                    self.out,
                    "bool EntryState_{number}(PC p, Local l, Global g)\n      {};\n",
                    clause.unwrap_or("false".to_owned())
                );
                clauses.push(format!("EntryState_{number}(u.pc, u.l, u.g)"));
            } else {
                clauses.extend(clause);
            }
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
        if !self.program.is_concurrent() {
            // Nobody waits for `main` if it is never called.
            let (why, kept) = if self.is_called(self.program.main) {
                ("", " & u.l = v.l & u.g = v.g")
            } else {
                (
                    " It is never called, so nothing is remembered of its entry.",
                    "",
                )
            };
            let _ = writeln!(
                self.out,
                "// Where runs start: v, and its entry u without its place.{why}\n\
                 bool Begin(State u, State v) u ~+ v\n      Init(v){kept};\n"
            );
        }
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
