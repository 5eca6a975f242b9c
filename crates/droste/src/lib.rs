//! Droste checks programs that call themselves. The stack is unbounded, the answer is exact.
//!
//! There are two ways to use it:
//!
//! * **Your own model.** Write a recursive model as a Rust type, with whatever data
//!   types and library calls you like in its transitions: implement [`Model`], hand it to a
//!   [`Checker`]. The [`tutorial`] does this step by step.
//! * **Boolean programs**, made by an abstraction tool or by hand: see [`program`].
//!
//! # A first model
//!
//! A procedure either calls itself or stops, and counts modulo three how often it has returned. Can
//! the count be two while a caller is still waiting for its callee?
//!
//! ```
//! use droste::{CallId, Checker, Model, Order, PropId, Steps};
//!
//! struct Countdown;
//!
//! /// Where control is, and the counter. The stack is Droste's business.
//! #[derive(Clone, Debug, PartialEq, Eq, Hash)]
//! enum State { Enter(u8), Leave(u8) }
//!
//! impl Model for Countdown {
//!     type State = State;
//!
//!     fn initial(&self, out: &mut Vec<State>) {
//!         out.push(State::Enter(0));
//!     }
//!
//!     fn steps(&self, state: &State, out: &mut Steps<State>) {
//!         match *state {
//!             State::Enter(n) => {
//!                 out.call(CallId(0), State::Enter(n)); // recurse,
//!                 out.step(State::Leave(n));            // or stop
//!             }
//!             State::Leave(n) => out.exit(State::Leave((n + 1) % 3)),
//!         }
//!     }
//!
//!     fn resume(&self, _: &State, _: CallId, exit: &State, out: &mut Vec<State>) -> bool {
//!         out.push(exit.clone());
//!         true
//!     }
//!
//!     fn holds(&self, state: &State, _: PropId) -> bool {
//!         *state == State::Leave(2)
//!     }
//! }
//!
//! let outcome = Checker::new(&Countdown).order(Order::Bfs).reach(PropId(0))?;
//! assert_eq!(outcome.trace().expect("it can").to_string(), "\
//! start     Enter(0)
//! call 0      Enter(0)
//! call 0        Enter(0)
//! step          Leave(0)
//! return 0    Leave(1)
//! return 0  Leave(2)
//! ");
//! # Ok::<(), droste::Error>(())
//! ```
//!
//! # Where things are
//!
//! | to | see |
//! |---|---|
//! | write a model | [`Model`], [`Steps`], [`CallId`], [`PropId`] |
//! | ask about it | [`Checker`]: [`reach`](Checker::reach), [`repeat`](Checker::repeat), [`ltl`](Checker::ltl), [`watch`](Checker::watch); [`Order`], [`Runs`], [`Limits`] |
//! | watch it with an automaton | [`Watcher`], [`Product`] |
//! | read the answer | [`Outcome`], [`Verdict`], [`StopReason`], [`Stats`]; [`Error`] if there is none |
//! | read a run | [`Trace`]: print it, [`flatten`](Trace::flatten) it, [`replay_trace`] it |
//! | check Boolean programs, with or without threads | [`program`] |
//! | search without a builder | [`search`] |

pub mod program;
pub mod tutorial;

pub use droste_base::{
    CallId, Certificate, Claim, Cycle, Event, FlatPosition, FlatTrace, Limits, Mismatch, Model,
    Position, Progress, PropId, Reporter, Run, RunId, Split, Step, Steps, StopReason, Trace,
    Verdict, Via, replay_trace,
};
pub use droste_checker::{Checker, Error, Outcome};
pub use droste_explicit::{Order, Runs, Stats};
pub use droste_ltl::ResolvedFormula;
pub use droste_omega::{Product, Watcher, WatcherState};

/// The searches themselves, of which [`Checker`] calls
/// [`search_and_replay`](search::search_and_replay). The traces of the others have not been
/// replayed.
pub mod search {
    pub use droste_explicit::{Goal, Options, Outcome, reach, repeat, search, search_and_replay};
}
