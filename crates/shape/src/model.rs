//! The machine as a [`Model`]. Steps that were asked for before are not computed again.

use std::rc::Rc;

use droste_base::{CallId, Model, PropId, Step, Steps, StopReason};

use crate::machine::{Labels, MAY, Machine, Place, State};

impl Model for Machine<'_> {
    type State = State;

    fn initial(&self, out: &mut Vec<State>) {
        out.extend(&self.initial);
    }

    fn steps(&self, &state: &State, out: &mut Steps<State>) {
        let known = self.tables.borrow().steps.get(state.0 as usize).cloned();
        let steps = match known.flatten() {
            Some(steps) => steps,
            None => match self.counted_successors(state) {
                Ok(steps) => {
                    let steps: Rc<[Step<State>]> = steps.into();
                    let mut tables = self.tables.borrow_mut();
                    let length = tables.places.len();
                    if tables.steps.len() < length {
                        tables.steps.resize(length, None);
                    }
                    tables.steps[state.0 as usize] = Some(Rc::clone(&steps));
                    steps
                }
                Err(reason) => {
                    if self.stop(reason) {
                        out.give_up();
                    }
                    return;
                }
            },
        };
        for step in &*steps {
            match *step {
                Step::Internal(next) => out.step(next),
                Step::Call(call, entry) => out.call(call, entry),
                Step::Exit(exit) => out.exit(exit),
            }
        }
    }

    fn resume(&self, &caller: &State, _: CallId, &exit: &State, out: &mut Vec<State>) -> bool {
        let known = self.tables.borrow().resumed.get(&(caller, exit)).cloned();
        let states = match known {
            Some(states) => states,
            None => match self.counted_returns(caller, exit) {
                Ok(states) => {
                    let states: Rc<[State]> = states.into();
                    let mut tables = self.tables.borrow_mut();
                    tables.resumed.insert((caller, exit), Rc::clone(&states));
                    states
                }
                Err(reason) => return !self.stop(reason),
            },
        };
        out.extend(&*states);
        true
    }

    fn holds(&self, &state: &State, proposition: PropId) -> bool {
        let index = (proposition.0 & !MAY) as usize;
        let bit = 1u64.checked_shl(index as u32).unwrap_or(0);
        let known = self.tables.borrow().labels.get(state.0 as usize).copied();
        let mut labels = known.unwrap_or_default();
        let (hold, open);
        if labels.known & bit != 0 {
            (hold, open) = (labels.hold & bit != 0, labels.open & bit != 0);
        } else {
            let truth = self.atoms[index].holds(self, state);
            (hold, open) = (truth == Ok(true), truth.is_err());
            labels.known |= bit;
            labels.hold |= if hold { bit } else { 0 };
            labels.open |= if open { bit } else { 0 };
            let mut tables = self.tables.borrow_mut();
            let length = tables.places.len();
            if tables.labels.len() < length {
                tables.labels.resize(length, Labels::default());
            }
            tables.labels[state.0 as usize] = labels;
        }
        if open {
            self.tables.borrow_mut().open = true;
        }
        hold || (open && proposition.0 & MAY != 0)
    }

    fn terminated(&self, &exit: &State) -> Option<State> {
        let place = self.place(exit);
        // An exception ends the run.
        if place.fault.is_some() {
            return None;
        }
        let heap = self.stored_heap(exit);
        // The same heap fits, and one more state is no reason to stop.
        self.state(place.method, place.pc + 1, &heap, place.context, None)
            .ok()
    }

    /// The heap abstracted as far as the grammar allows, at the same place, if it is there. At most
    /// places no heap is that abstract, and then there is nothing to look for.
    fn covered_by(&self, &state: &State) -> Option<State> {
        if !self.may_be_covered(state) {
            return None;
        }
        let Place {
            method,
            pc,
            context,
            ..
        } = self.place(state);
        let here = (method, pc, context);
        if !self.tables.borrow().utmost.contains(&here) {
            let options = self.options.abstraction.matching().aggressive();
            if !self
                .grammar
                .can_abstract(&self.stored_heap(state), &options)
            {
                self.tables.borrow_mut().utmost.insert(here);
            }
            return None;
        }
        self.cover(state)
    }

    fn gave_up(&self) -> StopReason {
        let stopped = self.tables.borrow().stopped.clone();
        stopped.unwrap_or(Steps::<State>::TOO_MANY)
    }

    fn call_name(&self, call: CallId) -> String {
        self.program.methods[call.0 as usize].name.clone()
    }
}
