//! The names that variables have in JSON: different ones for different variables of an object.

use std::borrow::Cow;
use std::collections::HashMap;

use droste_program::{ProcId, Program, Threads};

/// The names of all variables.
pub(super) struct Names<'a> {
    globals: Vec<Cow<'a, str>>,
    /// By procedure. A parameter that a local variable hides has none: no statement can mean it.
    locals: Vec<Vec<Option<Cow<'a, str>>>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let mut often: HashMap<&str, usize> = HashMap::new();
        for global in &program.globals {
            *often.entry(&global.name).or_default() += 1;
        }
        let section = |thread: Option<u32>| match &program.threads {
            Threads::Sections(sections) => Some(&sections.get(thread? as usize)?.0),
            _ => None,
        };
        let globals = program.globals.iter().map(|global| {
            let name = &*global.name;
            match section(global.thread) {
                Some(section) if often[name] > 1 => Cow::Owned(format!("{section}::{name}")),
                _ => Cow::Borrowed(name),
            }
        });
        let locals = program.procedures.iter().map(|procedure| {
            let locals = procedure.locals.iter().enumerate();
            let last: HashMap<&str, usize> = locals.map(|(i, v)| (&*v.name, i)).collect();
            let locals = procedure.locals.iter().enumerate().map(|(i, local)| {
                let name = &*local.name;
                (last[name] == i).then(|| {
                    if often.contains_key(name) {
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
