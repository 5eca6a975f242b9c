use std::collections::{BTreeSet, HashMap};
use std::fmt;

use droste::{CallId, Checker, Model, Order, PropId, Runs, Steps};

/// Where control is, and every variable in scope; never the stack.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    at: At,
    /// Which target this activation of `build` is about.
    target: String,
    /// A global variable: what has been built. It is a `BTreeSet`, not a `HashSet`,
    /// because states are hashed.
    built: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    /// Nobody has looked yet at what is built already.
    Cache,
    Enter,
    /// About to build dependency number so-and-so.
    Next(usize),
    Compile,
    Leave,
    /// The outermost `build` has returned.
    Finished,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {:?}", self.at, self.target, self.built)
    }
}
