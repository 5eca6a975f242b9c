//! Packed states made of values: how traces of other engines become traces of this machine.

use droste_program::valued::{Control, Valued};

use crate::layout::{Field, Status};
use crate::machine::Machine;
use crate::words::Words;

impl Machine {
    /// The state with these values; what has none is left open.
    pub fn pack<W: Words>(&self, valued: &Valued) -> W {
        let mut state = W::zeroed(self.words());
        let words = state.words_mut();
        let fields: &[Field] = match valued.control {
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
        let globals = self.layout.globals.iter().zip(&valued.globals);
        for (field, value) in globals.chain(fields.iter().zip(&valued.locals)) {
            field.set(words, value.map(|value| field.offset(value)));
        }
        state
    }
}
