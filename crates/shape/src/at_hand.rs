//! Finds objects in heaps and grammars whose class is not at hand.
//!
//! Fields of a class that is not at hand are library fields: what they hold is unknown, and it is taken not
//! to be null. That is wrong for an object of a heap that is asked about: its fields are in the heap, and
//! null is among them. So it is a mistake if the program speaks of a class that is not at hand and of which
//! there are such objects; if it uses a field of such a class that only heaps know; or if a heap has a field
//! that a class can only have from a parent that is not at hand. What the program never speaks of, it
//! does not use.

use std::collections::BTreeMap;

use droste_heap::{Heap, Symbols, TypeId};
use droste_java::Missing;
use droste_pointer::{PointerProgram, is_called};

use crate::wellformed::has_field;

/// What the front end says about classes.
pub(crate) struct AtHand<'a> {
    pub(crate) program: &'a PointerProgram,
    /// Classes of which the program speaks and that are not at hand.
    pub(crate) missing: &'a [Missing],
    /// For each class that has an ancestor that is not at hand: that one.
    pub(crate) unknown_parents: &'a BTreeMap<String, String>,
}

impl AtHand<'_> {
    /// What is wrong with a heap or a rule, if anything is. `whose` says where it is: `the grammar`.
    pub(crate) fn problem(&self, symbols: &Symbols, whose: &str, heap: &Heap) -> Option<String> {
        heap.nodes().find_map(|node| {
            let object: TypeId = heap.node_type(node);
            if object.is_constant() {
                return None;
            }
            let name = symbols.type_name(object);
            let edges = heap.edges_of(node);
            let mut fields = edges.map(|edge| symbols.selector_name(edge.selector));
            let Some(class) = self.program.class_named(name) else {
                return self.of_stranger(name, fields, whose);
            };
            let class = self.program.class(class);
            let parent = self.unknown_parents.get(name)?;
            let field = fields.find(|field| !has_field(self.program, class, field))?;
            (!Missing::is_java(parent)).then(|| {
                format!(
                    "the class `{parent}`, which `{name}` extends, is not at hand, and {whose} has a \
                     field `{field}` of such objects that must come from it: {WAY_OUT}"
                )
            })
        })
    }

    /// The same for an object of no class at hand.
    fn of_stranger<'f>(
        &self,
        name: &str,
        mut fields: impl Iterator<Item = &'f str>,
        whose: &str,
    ) -> Option<String> {
        // Libraries get objects into their hands without looking into them.
        let mut spoken = self.missing.iter();
        let spoken = spoken.find(|one| {
            is_called(&one.class, name) && (one.field.is_some() || !Missing::is_java(&one.class))
        });
        let used = || {
            fields.find_map(|field| {
                let mut missing = self.missing.iter();
                missing.find(|one| one.field.as_deref() == Some(field))
            })
        };
        let one = spoken.or_else(used)?;
        let what = match &one.field {
            Some(field) => format!("its field `{field}` is used"),
            None => "it is needed".to_owned(),
        };
        let objects = if is_called(&one.class, name) {
            "such objects".to_owned()
        } else {
            format!("objects of a type `{name}` with that field")
        };
        Some(format!(
            "the class `{}` is not at hand, and {whose} has {objects}; {what} at {}: {WAY_OUT}",
            one.class, one.place
        ))
    }
}

const WAY_OUT: &str = "say with --classpath where it is";
