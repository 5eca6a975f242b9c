//! Executions as text for people ([`text()`]) and as JSON for tools ([`json()`]).
//!
//! Both take time linear in what they print. For text that is bounded by [`Style::max_steps`]; for
//! JSON it is the execution as stored, with folded calls, which is written while it is walked along.
//! Nothing here recurses on the native stack. An execution that does not fit its program makes a poor
//! report, with question marks in it, but no panic.
//!
//! [`concurrent_text`] and [`concurrent_json`] are for executions with threads; [`Shown`] is for
//! both kinds.
//!
//! A violation of a monitor is shown together with a run of the monitor, [`MonitorRun`]; that of a
//! formula with the steps at which it shows, [`Reasons`].

mod explain;
mod follow;
mod json;
mod layout;
mod reasons;
mod shown;
mod text;
mod threads;
mod track;
mod view;

use std::collections::BTreeMap;

use droste_program::NodeId;

pub use droste_replay::{MonitorRun, monitor_run};
pub use json::{ConcurrentJson, Json, concurrent_json, json, json_with_remarks};
pub use reasons::Reasons;
pub use shown::{RunJson, Shown, Watched};
pub use text::{text, text_with_remarks};
pub use threads::concurrent_text;
pub use view::visible;

/// What is said beside the steps.
#[derive(Clone, Copy, Default)]
pub struct Remarks<'a> {
    /// How a monitor moves.
    pub monitor: Option<&'a MonitorRun>,
    /// Why a formula is not satisfied.
    pub reasons: Option<&'a Reasons>,
    /// What is said wherever control is at one of these nodes; in text only.
    pub marks: Option<&'a BTreeMap<NodeId, String>>,
}

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Use ANSI colours.
    pub color: bool,
    /// About how many steps are written out before calls are folded and steps left out.
    pub max_steps: usize,
    /// How many columns a line should have at most.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            color: false,
            max_steps: 2000,
            width: 100,
        }
    }
}
