//! The object of `--json`: what is known so far. It has the same fields when there is an answer and
//! when a limit was reached before; what was not known then is `null`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::Loaded;
use super::args::{Ends, Method, PathArgs, PdsCommand};
use crate::input;

/// What is known so far.
pub(super) struct Known {
    start: Instant,
    parts: Mutex<Parts>,
}

#[derive(Default)]
struct Parts {
    fields: Map<String, Value>,
    /// How long reading took, if solving has begun.
    read: Option<Duration>,
    /// How many transitions have been found.
    found: Option<Arc<AtomicU64>>,
}

/// The fields of an object.
fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

impl Known {
    /// What the command line says.
    pub(super) fn new(command: &PdsCommand, start: Instant) -> Self {
        let mut object = fields(json!({
            "file": input::name(&command.parts().0.file),
            "domain": null,
            "states": null,
            "symbols": null,
            "rules": null,
            "transitions": null,
        }));
        let (method, direction) = match command {
            PdsCommand::Pre(args) => (Method::from(args.method), Some("pre")),
            PdsCommand::Post(args) => (Method::from(args.method), Some("post")),
            PdsCommand::Reach(reach) | PdsCommand::Path(PathArgs { reach, .. }) => {
                object.extend(fields(json!({ "reachable": null, "weight": null })));
                let direction = match reach.way.ends() {
                    Ends::Both => Some("both"),
                    Ends::One(direction) => Some(direction.name()),
                    // Whichever will be first.
                    Ends::Either => None,
                };
                (reach.way.method(), direction)
            }
            // It has no object.
            PdsCommand::Convert(_) => (Method::Chaotic, Some("post")),
        };
        object.extend(fields(
            json!({ "method": method.name(), "direction": direction }),
        ));
        let parts = Parts {
            fields: object,
            ..Parts::default()
        };
        Known {
            start,
            parts: Mutex::new(parts),
        }
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These fields are known now.
    pub(super) fn add(&self, object: Value) {
        self.parts().fields.extend(fields(object));
    }

    /// The system has been read.
    pub(super) fn loaded(&self, loaded: &Loaded) {
        let system = &loaded.system;
        self.add(json!({
            "domain": loaded.shown_domain().to_string(),
            "states": system.states.len(),
            "symbols": system.symbols.len(),
            "rules": system.rules.len(),
        }));
    }

    /// It is a concurrent system, which has fields of its own.
    pub(super) fn concurrent(&self, threads: usize, rules: usize) {
        for field in ["domain", "method", "direction", "states", "symbols"] {
            self.parts().fields.remove(field);
        }
        self.add(json!({
            "threads": threads,
            "rules": rules,
            "contexts": null,
            "any_number_of_contexts": false,
            "proof": null,
            "aggregates": null,
            "schedule": null,
        }));
    }

    /// Solving begins; how long reading took.
    pub(super) fn solving(&self, found: Option<Arc<AtomicU64>>) -> Duration {
        let read = self.start.elapsed();
        let mut parts = self.parts();
        (parts.read, parts.found) = (Some(read), found);
        read
    }

    /// The object, with these fields besides.
    pub(super) fn object(&self, more: Value) -> Value {
        let elapsed = self.start.elapsed();
        let parts = self.parts();
        let mut object = parts.fields.clone();
        if let Some(found) = &parts.found {
            object.insert("transitions".into(), found.load(Ordering::Relaxed).into());
        }
        let read = parts.read.unwrap_or(elapsed);
        let solved = elapsed.saturating_sub(read);
        object.insert("seconds".into(), solved.as_secs_f64().into());
        object.insert("reading_seconds".into(), read.as_secs_f64().into());
        object.extend(fields(more));
        Value::Object(object)
    }
}
