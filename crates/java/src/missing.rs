//! Classes of which the program speaks and that are not at hand. What they do is not known, and of their
//! objects neither: fields are read as something unknown that is taken not to be null. That is right for
//! libraries, and wrong for the objects of the heaps that are asked about. So whoever knows these heaps has
//! to know which classes are missing.

use std::collections::{BTreeMap, BTreeSet};

use droste_pointer::Kind;

use crate::Place;
use crate::build::{Builder, place};
use crate::hierarchy::{Hierarchy, MethodIndex};
use crate::instruction::Op;

/// A class that is not at hand, and where the program speaks of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Missing {
    /// Its full name.
    pub class: String,
    /// The instance field that is used, if one is: the class, or one above it, declares it.
    pub field: Option<String>,
    /// Where.
    pub place: Place,
}

impl Missing {
    /// Whether a class of this name is one of the Java library.
    pub fn is_java(class: &str) -> bool {
        ["java.", "javax."].iter().any(|one| class.starts_with(one))
    }
}

impl Hierarchy {
    /// For each class and each field that its objects have, by its name as a selector: the type.
    pub(crate) fn field_types(&self) -> BTreeMap<(String, String), String> {
        let mut found = BTreeMap::new();
        for class in 0..self.classes.len() {
            for ancestor in self.ancestors(class) {
                let fields = self.classes[ancestor].fields.iter();
                for field in fields.filter(|one| !one.is_static) {
                    let name = self.classes[class].name.clone();
                    let key = (name, self.selector(ancestor, &field.name));
                    found.insert(key, field.one.name.clone());
                }
            }
        }
        found
    }

    /// The names of all interfaces at hand.
    pub(crate) fn interfaces(&self) -> BTreeSet<String> {
        let all = self.classes.iter().filter(|class| class.is_interface);
        all.map(|class| class.name.clone()).collect()
    }
}

/// For each class that has an ancestor that is not at hand: that one.
pub(crate) fn unknown_parents(hierarchy: &Hierarchy) -> BTreeMap<String, String> {
    let names = hierarchy.classes.iter().map(|class| &class.name);
    let pairs = names.filter_map(|name| Some((name.clone(), gap(hierarchy, name)?)));
    pairs.collect()
}

/// The class that is not at hand, if a class of this name is not, or one above it: the first that is missing
/// on the way up. None is above `Object`.
pub(crate) fn gap(hierarchy: &Hierarchy, class: &str) -> Option<String> {
    let at = hierarchy.find(class);
    let missing = match at {
        None => Some(class.to_string()),
        Some(class) => {
            let last = hierarchy.ancestors(class).last();
            last.and_then(|last| hierarchy.classes[last].parent.clone())
        }
    };
    missing.filter(|name| name != "java.lang.Object" && !name.contains('['))
}

impl Builder<'_> {
    /// Notes the class of an instruction if it is not at hand.
    pub(crate) fn note_missing(&mut self, op: &Op, method: MethodIndex, line: u32) {
        let hierarchy = self.hierarchy;
        let (class, field) = match op {
            Op::GetField(member) | Op::PutField(member) => {
                if hierarchy.field(member).is_some() {
                    return;
                }
                (&member.class, Some(member.name.clone()))
            }
            Op::GetStatic(member) | Op::PutStatic(member) | Op::Invoke(_, member) => {
                (&member.class, None)
            }
            Op::New(class) | Op::Cast(class) | Op::InstanceOf(class) => (class, None),
            _ => return,
        };
        // What a class at hand inherits is looked for where the class is.
        let missing = match (&field, hierarchy.find(class)) {
            (None, Some(_)) => None,
            _ => gap(hierarchy, class),
        };
        if let Some(class) = missing {
            let place = place(hierarchy, method, line);
            let known = |one: &Missing| one.class == class && one.field == field;
            if !self.missing.iter().any(known) {
                self.missing.push(Missing {
                    class,
                    field,
                    place,
                });
            }
        }
    }
}

/// The classes that a method takes and that are not at hand.
pub(crate) fn of_parameters(hierarchy: &Hierarchy, method: MethodIndex) -> Vec<Missing> {
    let types = &hierarchy.method(method).types.parameters;
    let references = types.iter().filter(|one| one.kind == Kind::Reference);
    let missing = references.filter(|one| hierarchy.find(&one.name).is_none());
    let missing = missing.filter_map(|one| gap(hierarchy, &one.name));
    let noted = missing.map(|class| Missing {
        class,
        field: None,
        place: place(hierarchy, method, 0),
    });
    noted.collect()
}
