//! From a run of the product back to the run of the program in it: the positions that the automaton
//! reads, without the variables that the product added.

use droste_base::{Position, Run, Trace, Via};

use super::{Product, Role};
use droste_program::valued::{Control, Valued};

impl Product {
    /// The run of the product as a run of the program. `touches` says which globals the outermost
    /// procedure can change. In a cycle, the values of the other globals in the outermost frame
    /// mean nothing.
    pub(crate) fn restore(
        &self,
        trace: Trace<Valued>,
        touches: impl Fn(u32) -> bool,
    ) -> Trace<Valued> {
        let runs = trace.runs.into_iter().map(|run| {
            let Control::Exit(procedure) = run.exit.control else {
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
            let Control::At(node) = state.control else {
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
                state.control = Control::At(node);
            } else {
                let before = out.last().map(|before| before.state.control);
                if before.is_some_and(|control| control != Control::Terminated) {
                    edge = Via::Terminated;
                }
                state.control = Control::Terminated;
                state.locals.clear();
            }
            out.push(Position { via: edge, state });
        }
        out
    }
}
