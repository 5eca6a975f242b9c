//! Which variables matter where: those whose values the sets at a node keep, those with which a
//! callee is entered, and those that it leaves to its caller.

use droste_program::effects::Effects;
use droste_program::liveness::Liveness;
use droste_program::{NodeId, ProcId, Program, VarRef};

use crate::compile::Compiler;
use crate::encode::Encoding;

/// A program and what the passes know about its variables.
pub struct Scope<'a> {
    /// The program.
    pub program: &'a Program,
    /// Which values can matter.
    pub live: &'a dyn Liveness,
    /// Which globals a procedure touches.
    pub effects: Effects,
}

impl<'a> Scope<'a> {
    /// The variables of a program. With `stops`, runs that get stuck are looked for, which may
    /// depend on what a return shows to its caller.
    pub fn new(program: &'a Program, live: &'a dyn Liveness, stops: bool) -> Self {
        // As the machine does that turns a trace into a run.
        let effects = if stops {
            Effects::with_returns(program, &[])
        } else {
            Effects::new(program)
        };
        Scope {
            program,
            live,
            effects,
        }
    }

    /// All variables of a procedure.
    pub fn vars(&self, procedure: ProcId) -> impl Iterator<Item = VarRef> + use<> {
        let globals = self.program.globals.len() as u32;
        let locals = self.program.procedure(procedure).locals.len() as u32;
        (0..globals)
            .map(VarRef::Global)
            .chain((0..locals).map(VarRef::Local))
    }

    /// Whether the set at a node keeps the value of a variable. The others have any value: so do
    /// all codes of their types.
    pub fn keeps(&self, node: NodeId, var: VarRef) -> bool {
        let procedure = self.program.node(node).procedure;
        self.live.live(node, var) || !Encoding::is_full(self.program.variable(procedure, var).ty)
    }

    /// Whether calls of the procedure pass this variable on.
    pub fn enters(&self, procedure: ProcId, var: VarRef) -> bool {
        let entry = self.program.procedure(procedure).entry;
        let params = self.program.procedure(procedure).params;
        self.live.live(entry, var)
            && match var {
                VarRef::Global(_) => self.touches(procedure, var),
                VarRef::Local(i) => i < params,
            }
    }

    /// Whether anything inside a procedure has to do with the variable.
    pub fn touches(&self, procedure: ProcId, var: VarRef) -> bool {
        match var {
            VarRef::Global(i) => self.effects.touches(procedure, i),
            VarRef::Local(_) => true,
        }
    }

    /// Whether a variable that does not enter has any value of its type when the procedure begins.
    pub fn begins_with_any(&self, procedure: ProcId, var: VarRef) -> bool {
        let entry = self.program.procedure(procedure).entry;
        !self.enters(procedure, var) && self.keeps(entry, var) && self.touches(procedure, var)
    }

    /// Whether callers see the value that a procedure leaves in a global.
    pub fn leaves(&self, procedure: ProcId, global: u32) -> bool {
        let ty = self.program.globals[global as usize].ty;
        self.live.live_at_exit(procedure, global) || !Encoding::is_full(ty)
    }

    /// Makes relations of the program. `violations` and `stops` say what is looked for.
    pub fn compiler<'e>(
        &'e self,
        encoding: &'e mut Encoding<'a>,
        violations: bool,
        stops: bool,
    ) -> Compiler<'a, 'e> {
        Compiler {
            encoding,
            effects: &self.effects,
            violations,
            stops,
            live: self.live,
        }
    }
}
