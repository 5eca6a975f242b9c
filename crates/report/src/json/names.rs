//! The names that variables have in JSON: different ones for different variables of an object.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use droste_program::{ProcId, Program};

use crate::view::sections;

/// The names of all variables.
pub(super) struct Names<'a> {
    globals: Vec<Cow<'a, str>>,
    /// By procedure. A parameter that a local variable hides has none: no statement can mean it.
    locals: Vec<Vec<Option<Cow<'a, str>>>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let of_globals: HashSet<&str> = program.globals.iter().map(|g| &*g.name).collect();
        let globals = program.globals.iter().zip(sections(program));
        let globals = globals.map(|(global, section)| match section {
            Some(section) => Cow::Owned(format!("{section}::{}", global.name)),
            None => Cow::Borrowed(&*global.name),
        });
        let locals = program.procedures.iter().map(|procedure| {
            let locals = procedure.locals.iter().enumerate();
            let last: HashMap<&str, usize> = locals.map(|(i, v)| (&*v.name, i)).collect();
            let locals = procedure.locals.iter().enumerate().map(|(i, local)| {
                let name = &*local.name;
                (last[name] == i).then(|| {
                    if of_globals.contains(name) {
                        Cow::Owned(format!("{}::{name}", procedure.name))
                    } else {
                        Cow::Borrowed(name)
                    }
                })
            });
            locals.collect()
        });
        Names {
            locals: locals.collect(),
            globals: globals.collect(),
        }
    }

    pub(super) fn global(&self, index: usize) -> Option<&str> {
        self.globals.get(index).map(|name| &**name)
    }

    pub(super) fn local(&self, procedure: ProcId, index: usize) -> Option<&str> {
        let locals = self.locals.get(procedure.0 as usize)?;
        locals.get(index)?.as_deref()
    }
}
