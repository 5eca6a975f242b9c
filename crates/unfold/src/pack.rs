//! Packed states made of values: how traces of other engines become traces of this machine.

use droste_program::{NodeId, ProcId, Value, Violation};

use crate::layout::{Field, Status};
use crate::machine::Machine;
use crate::words::Words;

/// What a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Control is at the node.
    At(NodeId),
    /// Executing the node was a violation.
    Failed(NodeId, Violation),
    /// The procedure has returned.
    Exit(ProcId),
    /// The program is over.
    Terminated,
}

impl Machine {
    /// The state with these values; what has none is left open. `locals` are those of the node's
    /// procedure, or the results of the procedure that has returned.
    pub fn pack<W: Words>(
        &self,
        control: Control,
        globals: &[Option<Value>],
        locals: &[Option<Value>],
    ) -> W {
        let mut state = W::zeroed(self.words());
        let words = state.words_mut();
        let fields: &[Field] = match control {
            Control::At(node) => {
                self.layout.set_control(words, node.0, Status::Running);
                &self.layout.locals[self.nodes[node.0 as usize].procedure as usize]
            }
            Control::Failed(node, violation) => {
                self.layout
                    .set_control(words, node.0, Status::Failed(violation));
                &self.layout.locals[self.nodes[node.0 as usize].procedure as usize]
            }
            Control::Exit(procedure) => {
                self.layout.set_control(words, 0, Status::Exited);
                &self.layout.results[procedure.0 as usize]
            }
            Control::Terminated => {
                self.layout.set_control(words, 0, Status::Terminated);
                &[]
            }
        };
        let globals = self.layout.globals.iter().zip(globals);
        for (field, value) in globals.chain(fields.iter().zip(locals)) {
            field.set(words, value.map(|value| field.offset(value)));
        }
        state
    }
}
