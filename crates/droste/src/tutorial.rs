//! A recursive model in Rust, from the first line to the last question.
//!
//! Our program is a build tool. To build a target it first builds, by calling itself, everything
//! the target needs; then it runs the compiler, which may fail:
//!
//! ```text
//! procedure build(target):
//!     if target is built: return
//!     for each needed in rules[target]: build(needed)
//!     compile(target)              -- and if that fails?
//! ```
//!
//! How deep it recurses depends on the rules, and with cyclic rules there is no bound at all.
//! Droste can handle that.
//!
//! # The state
//!
//! A state is what the *top of the stack* looks like: where control is, the local variables of the
//! procedure that is running, and the global ones. Droste keeps the stack; a state never
//! mentions it. All it needs from the type is `Clone + Eq + Hash`, and `Debug` if you want to see it.
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
#![doc = include_str!("tutorial/state.rs")]
//! # fn main() {}
//! ```
//!
//! # The model's own data
//!
//! What does not change during a run lives in the model itself, in any type you like. Here it
//! is a `HashMap` from each target to what it needs, read with the string functions of the
//! standard library. One thing to beware of: the same state must always give the same answers,
//! so where the order of a `HashMap` could show, sort first.
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
#![doc = include_str!("tutorial/rules.rs")]
//! # fn main() {}
//! ```
//!
//! # Steps, calls, exits
//!
//! These are the methods of [`Model`](crate::Model) that a model usually implements:
//!
//! * `initial`: where runs start.
//! * `steps`: what a state can do. [`step`](crate::Steps::step) goes on in the same procedure,
//!   [`call`](crate::Steps::call) enters another one, [`exit`](crate::Steps::exit) leaves. Several steps
//!   are a choice, none is a dead end.
//! * `resume`: how a caller goes on. It gets the state that called and the state in which the
//!   callee left, and takes the locals from the one and the globals from the other.
//! * `holds`: which propositions are true of a state.
//! * `refine`: see [below](#choices-on-demand). Most models do without.
//! * `terminated`: what the end of the program looks like, for questions about infinite runs. Do not
//!   forget it: without it a run that ends is [no infinite run](#runs-that-end).
//! * `call_name`: what calls are called in traces. Without it they have numbers.
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
#![doc = include_str!("tutorial/model.rs")]
//! # fn main() {}
//! ```
//!
//! # Can it happen?
//!
//! A target should not be compiled before everything it needs is there. That is a question of
//! reachability, and breadth-first order gives a shortest run that shows the problem:
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! let build = Build::new("app: lib\nlib:");
//! let outcome = Checker::new(&build).order(Order::Bfs).reach(UNREADY)?;
//!
//! assert_eq!(outcome.to_string(), "\
//! violated
//! start         Enter app {}
//! step          Next(0) app {}
//! call build      Enter lib {}
//! step            Next(0) lib {}
//! step            Compile lib {}
//! step            Leave lib {}
//! return build  Next(1) app {}
//! step          Compile app {}
//! ");
//! # Ok(())
//! # }
//! ```
//!
//! The compiler failed on `lib`, `build` returned all the same, and its caller did not check.
//! Before you see a run it has been *replayed*: followed once more through the model, step by step,
//! by code that shares nothing with the search. (If the model does not give the same answers again,
//! you get [`Error::Inconsistent`](crate::Error::Inconsistent) instead.)
//!
//! If failures are retried, all is well. `Holds` is not "nothing found so far": there
//! is no such run, of any length and any depth of the stack.
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! let build = Build { retry: true, ..Build::new("app: lib\nlib:") };
//! assert!(Checker::new(&build).reach(UNREADY)?.holds());
//! # Ok(())
//! # }
//! ```
//!
//! A proposition that is needed once can also be a closure:
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! let build = Build::new("app: lib util\nlib: util\nutil:");
//! let outcome = Checker::new(&build).reach_where(|state| state.built.len() == 3)?;
//! assert!(!outcome.holds());
//! # Ok(())
//! # }
//! ```
//!
//! # Does it go on for ever?
//!
//! [`repeat`](crate::Checker::repeat) asks for an infinite run that meets its propositions
//! infinitely often. `RUNNING` for ever means that the build never ends. Here are cyclic rules:
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! let circle = Build::new("app: lib\nlib: app");
//! let outcome = Checker::new(&circle).repeat(&[RUNNING])?;
//!
//! assert_eq!(outcome.to_string(), "\
//! violated
//! start       Enter app {}
//! from here, for ever:
//! step        Next(0) app {}
//! call build    Enter lib {}
//! step          Next(0) lib {}
//! call build      Enter app {}
//! ");
//! assert!(outcome.trace().and_then(|trace| trace.cycle).is_some_and(|cycle| cycle.pumping));
//! # Ok(())
//! # }
//! ```
//!
//! The cycle is closed although the stack is not the same: it grows with each round (the cycle is
//! *pumping*). A real machine would run out of stack. To ask only about the other kind of infinite
//! runs, ask for those whose stack stays bounded:
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! let circle = Build::new("app: lib\nlib: app");
//! let bounded = Checker::new(&circle).runs(Runs::FiniteStack);
//! assert!(bounded.repeat(&[RUNNING])?.holds());
//!
//! // A compiler that fails again and again is of that kind.
//! let build = Build { retry: true, ..Build::new("app: lib\nlib:") };
//! let bounded = Checker::new(&build).runs(Runs::FiniteStack);
//! let outcome = bounded.repeat(&[RUNNING])?;
//! assert_eq!(outcome.to_string(), "\
//! violated
//! start       Enter app {}
//! step        Next(0) app {}
//! call build    Enter lib {}
//! step          Next(0) lib {}
//! step          Compile lib {}
//! from here, for ever:
//! step          Compile lib {}
//! ");
//! # Ok(())
//! # }
//! ```
//!
//! With several propositions the run has to meet each of them infinitely often; with none, any
//! infinite run will do.
//!
//! # What every run should do
//!
//! Properties of whole runs are written in linear temporal logic: `G` is always, `F` eventually,
//! `X` next, `U` until. Say what the names in the formula mean, and ask
//! [`ltl`](crate::Checker::ltl). Whenever the goal is compiled, does the build end?
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! let names = [("running", RUNNING), ("compiling", COMPILING), ("goal", GOAL)];
//! let response = "G (goal -> F !running)";
//!
//! let build = Build::new("app: lib\nlib:");
//! assert!(Checker::new(&build).ltl(response, &names)?.holds());
//!
//! // A compiler that fails again and again: the goal is compiled, and nothing else ever happens.
//! let retry = Build { retry: true, ..Build::new("app:") };
//! let outcome = Checker::new(&retry).ltl(response, &names)?;
//! assert_eq!(outcome.to_string(), "\
//! violated
//! start  Enter app {}
//! step   Next(0) app {}
//! step   Compile app {}
//! from here, for ever:
//! step   Compile app {}
//! ");
//!
//! // The circle of before is stuck in its recursion, and only in its recursion.
//! let circle = Build::new("app: lib\nlib: app");
//! assert!(!Checker::new(&circle).ltl("F compiling", &names)?.holds());
//! assert!(Checker::new(&circle).runs(Runs::FiniteStack).ltl("F compiling", &names)?.holds());
//! # Ok(())
//! # }
//! ```
//!
//! # Runs that end
//!
//! When the outermost `build` returns, the run ends. A formula speaks of infinite runs; so the
//! model says with `terminated` how such a run goes on, here in `Finished` for ever. A model
//! without `terminated` has fewer infinite runs than you may expect; if all its runs end, it has
//! none, and every formula would hold. Droste does not answer *holds* then. It returns
//! [`Error::Unended`](crate::Error::Unended):
//!
//! ```
//! use droste::{CallId, Checker, Error, Model, PropId, Steps};
//!
//! /// Counts to three and returns.
//! struct Three;
//!
//! impl Model for Three {
//!     type State = u8;
//!
//!     fn initial(&self, out: &mut Vec<u8>) {
//!         out.push(0);
//!     }
//!
//!     fn steps(&self, &n: &u8, out: &mut Steps<u8>) {
//!         if n < 3 { out.step(n + 1) } else { out.exit(n) }
//!     }
//!
//!     fn resume(&self, _: &u8, _: CallId, _: &u8, _: &mut Vec<u8>) -> bool {
//!         true
//!     }
//!
//!     fn holds(&self, &n: &u8, _: PropId) -> bool {
//!         n == 7
//!     }
//! }
//!
//! let seven = [("seven", PropId(0))];
//! assert_eq!(Checker::new(&Three).ltl("F seven", &seven).unwrap_err(), Error::Unended);
//!
//! // For those who mean it: there is no infinite run, so all of them see a seven.
//! let infinite_only = Checker::new(&Three).ignore_finished_runs();
//! assert!(infinite_only.ltl("F seven", &seven)?.holds());
//! # Ok::<(), droste::Error>(())
//! ```
//!
//! # Watching the order of things
//!
//! Is the goal ever compiled first, before anything else? A [`Watcher`](crate::Watcher) is a
//! small automaton that reads the run state by state. This one waits for the first
//! compilation; if that is the goal's, it enters its target:
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! use droste::{Watcher, WatcherState};
//!
//! let waiting = WatcherState {
//!     edges: vec![(GOAL, 1), (COMPILING, 2)],
//!     otherwise: Some(0), // if no guard is true
//!     ..WatcherState::default()
//! };
//! let target = WatcherState { target: true, otherwise: Some(1), ..WatcherState::default() };
//! let content = WatcherState { otherwise: Some(2), ..WatcherState::default() };
//! let watcher = Watcher { states: vec![waiting, target, content], initial: 0 };
//!
//! let alone = Build::new("app:");
//! assert!(!Checker::new(&alone).watch(&watcher)?.holds());
//!
//! let build = Build::new("app: lib\nlib:");
//! assert!(Checker::new(&build).watch(&watcher)?.holds());
//! # Ok(())
//! # }
//! ```
//!
//! An edge is taken if its guard is true, and if several are, any of them: the goal's own
//! compilation satisfies both guards. That is harmless here, since one way into the target is
//! enough. With a watcher that has `repeating` states instead of targets, the question is whether
//! it can be in them infinitely often.
//!
//! # Choices on demand
//!
//! Suppose some targets were built yesterday, and it is not known which. With `cached`, the first
//! state does not list all the possibilities; it [splits](crate::Steps::split), and says into how
//! many parts. The search then asks [`refine`](crate::Model::refine) for one part after the other,
//! and only as many as it needs. Refining is not a step of the run: the trace shows it as `with`.
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! let text: String = (0..60).map(|i| format!("t{i}: t{}\n", i + 1)).collect();
//! let build = Build { cached: true, ..Build::new(&text) }; // 2^60 ways to start
//! let outcome = Checker::new(&build).reach_where(|state| state.target == "t3")?;
//!
//! assert_eq!(outcome.to_text(20, |state| format!("{state:?}")).unwrap_or_default(), "\
//! start       Cache t0 {}
//!   with      Enter t0 {}
//! step        Next(0) t0 {}
//! call build    Enter t1 {}
//! step          Next(0) t1 {}
//! call build      Enter t2 {}
//! step            Next(0) t2 {}
//! call build        Enter t3 {}
//! ");
//! assert!(outcome.stats.states < 10);
//! # Ok(())
//! # }
//! ```
//!
//! # When there is no answer
//!
//! Had we asked for something that does not happen, all 2⁶⁰ parts would have to be explored. Give
//! the search a limit, and it says so when it reaches it:
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! use std::time::Duration;
//!
//! let text: String = (0..60).map(|i| format!("t{i}:\n")).collect();
//! let build = Build { cached: true, ..Build::new(&text) };
//! let checker = Checker::new(&build).timeout(Duration::from_millis(50));
//! let outcome = checker.reach(UNREADY)?;
//! assert_eq!(outcome.to_string(), "unknown: the time limit of 0.05 s was reached");
//! # Ok(())
//! # }
//! ```
//!
//! *Unknown* is neither of the other two: do not take it for *holds*. There is a limit on memory
//! ([`memory`](crate::Checker::memory)) as well, the search can be cancelled from outside
//! ([`cancel`](crate::Checker::cancel)), and [`progress`](crate::Checker::progress) says how far it
//! has come.
//!
//! # Long runs
//!
//! A run can be astronomically long: a procedure that calls itself twice, a hundred levels deep,
//! makes 2¹⁰⁰ steps. Traces are kept folded and share what is the same.
//! [`Trace::length`](crate::Trace::length) counts, [`Trace::flatten`](crate::Trace::flatten) writes
//! out as much as you ask for, and [`Outcome::to_text`](crate::Outcome::to_text) shows states as
//! you like:
//!
//! ```
//! # #![allow(dead_code, unused_imports)]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/state.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/rules.rs"));
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tutorial/model.rs"));
//! # fn main() -> Result<(), droste::Error> {
//! let build = Build::new("app: a b\na: c\nb: c\nc:");
//! let outcome = Checker::new(&build).order(Order::Bfs).reach_where(|state| state.built.len() == 4)?;
//! let trace = outcome.trace().expect("all four can be built");
//! assert_eq!(trace.length(), 21);
//!
//! let short = outcome.to_text(8, |state| format!("{:?} {}", state.at, state.target));
//! assert_eq!(short.unwrap_or_default(), "\
//! start                 Enter app
//! step                  Next(0) app
//! call build, 10 steps  Next(1) app
//! call build, 8 steps   Next(2) app
//! step                  Compile app
//! step                  Leave app
//! ");
//! # Ok(())
//! # }
//! ```
//!
