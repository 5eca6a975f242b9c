//! Write your own analysis.
//!
//! An analysis has three parts: a [domain](crate::domain) that says what is known about paths, a
//! [pushdown system](crate::system) with a weight for each statement, and a question, which is a
//! set of configurations. This chapter makes one of each and reads the answer.
//!
//! # The program
//!
//! ```text
//! main:  m0: call flip        flip:  f0: if (*) goto f2;
//!        m1: call flip               f1: light := !light; call flip; goto f3;
//!        m2: return                  f2: skip;
//!                                    f3: return
//! ```
//!
//! The question: when control is at `m2`, can `light` be on, can it be off, if it was off at the
//! beginning?
//!
//! # The domain
//!
//! A path changes `light` an even or an odd number of times. What is known about a set of paths is
//! which of the two occur. [`combine`](crate::Domain::combine) is for either path: union.
//! [`extend`](crate::Domain::extend) is for one path after the other: an even and an odd number make
//! an odd one. No path at all is [`zero`](crate::Domain::zero), the empty path is
//! [`one`](crate::Domain::one). The laws that these have to obey stand with
//! [`Domain`](crate::Domain), and [`laws::check`](crate::laws::check) tests them.
//!
//! Operations may fail, with a [`StopReason`](droste_base::StopReason), because some domains have
//! limits. This one never does.
//!
//! # The system
//!
//! One control state is enough. Symbols are places in the program. A statement is a rule that
//! replaces one place by the next; a call pushes the callee's entry on the place of the return; a
//! return pops. The weight of a rule is what its statement does.
//!
//! # The answer
//!
//! [`poststar`](crate::poststar) computes all configurations that can be reached from `m0`, with the
//! combined weights of the paths to them, as an automaton.
//! [`weight_of`](crate::Automaton::weight_of) gives the weight of one configuration,
//! [`heads`](crate::Automaton::heads) those of all places, whatever is below them on the stack.
//!
//! ```
//! use droste_base::StopReason;
//! use droste_pds::{
//!     Automaton, Direction, Domain, Options, PdsBuilder, Replace, Rule, StateId, SymbolId,
//!     Transition, laws, poststar,
//! };
//!
//! /// How often a path may change the light.
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! struct Times {
//!     even: bool,
//!     odd: bool,
//! }
//!
//! struct Parity;
//!
//! impl Domain for Parity {
//!     type Weight = Times;
//!
//!     fn one(&self) -> Times {
//!         Times { even: true, odd: false }
//!     }
//!
//!     fn zero(&self) -> Times {
//!         Times { even: false, odd: false }
//!     }
//!
//!     fn combine(&self, a: &Times, b: &Times) -> Result<Times, StopReason> {
//!         Ok(Times { even: a.even || b.even, odd: a.odd || b.odd })
//!     }
//!
//!     fn extend(&self, a: &Times, b: &Times) -> Result<Times, StopReason> {
//!         Ok(Times {
//!             even: a.even && b.even || a.odd && b.odd,
//!             odd: a.even && b.odd || a.odd && b.even,
//!         })
//!     }
//!
//!     fn equal(&self, a: &Times, b: &Times) -> bool {
//!         a == b
//!     }
//! }
//!
//! let once = Times { even: false, odd: true };
//! let both = Times { even: true, odd: true };
//! laws::check(&Parity, &[Parity.zero(), Parity.one(), once, both], &[])?;
//!
//! // The program.
//! let p = StateId(0);
//! let [m0, m1, m2, f0, f1, f2, f3, after] = [0, 1, 2, 3, 4, 5, 6, 7].map(SymbolId);
//! let mut program = PdsBuilder::new(1, 8);
//! let mut rule = |top, replace, weight| {
//!     program.rule(Rule { from: p, top, to: p, replace, merge: None }, weight);
//! };
//! let nothing = Parity.one();
//! rule(m0, Replace::Push(f0, m1), nothing);
//! rule(m1, Replace::Push(f0, m2), nothing);
//! rule(m2, Replace::Pop, nothing);
//! rule(f0, Replace::Step(f1), nothing);
//! rule(f0, Replace::Step(f2), nothing);
//! rule(f1, Replace::Push(f0, after), once);
//! rule(after, Replace::Step(f3), nothing);
//! rule(f2, Replace::Step(f3), nothing);
//! rule(f3, Replace::Pop, nothing);
//! let program = program.build();
//!
//! // From the beginning of main, with nothing below it on the stack.
//! let mut start = Automaton::new(1, Direction::Backward);
//! let end = start.state();
//! start.add(&Parity, Transition::new(p, m0, end), nothing)?;
//! start.accept(&Parity, end, nothing)?;
//! let reached = poststar(&Parity, &program, &start, &Options::default())?;
//!
//! // At m2 the light may be on or off; at m0 it is as it was.
//! assert_eq!(reached.weight_of(&Parity, p, &[m2])?, both);
//! assert_eq!(reached.weight_of(&Parity, p, &[m0])?, nothing);
//! // With two calls of flip on the stack, it was changed once so far, or three times with the
//! // first call of main, and so on: odd or even.
//! assert_eq!(reached.weight_of(&Parity, p, &[f0, after, m1])?, once);
//! assert_eq!(reached.weight_of(&Parity, p, &[f0, after, m2])?, both);
//! // At f2, whoever has called.
//! assert_eq!(reached.heads(&Parity)?[&(p, f2)], both);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Local variables
//!
//! A callee does not see the locals of its caller, and the caller has them back after the return. A
//! weight that speaks of locals is thus not simply extended over a call. A push rule may name a
//! *merge function*, and [`Domain::merge`](crate::Domain::merge) makes the weight after the return
//! from that before the call and that of the callee. For domains whose weights act on numbered
//! variables, [`Framed`](crate::domains::Framed) has merge functions ready: implement
//! [`Scoped`](crate::domains::Scoped), which restores what belongs to the caller.
//!
//! # Faster
//!
//! * [`diff`](crate::Domain::diff): what a weight adds to another. Only that is handed on.
//! * [`star`](crate::Domain::star): any number of repetitions, if there is a shortcut; and
//!   [`Method::Paths`](crate::Method::Paths), which sums up loops before it leaves them. It pays for
//!   domains with long chains.
//! * [`rank`](crate::Domain::rank): for numbers, so that the best weight is looked at first.
