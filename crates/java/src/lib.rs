//! Java programs as pointer programs.
//!
//! [`load`] takes class files, archives of them, directories, and sources, which it has compiled by
//! the `javac` on the path. It translates one method and all that can be reached from it into a
//! [`PointerProgram`].
//!
//! References, `null`, booleans and integer constants are exact. What Java computes from numbers is
//! unknown, and so are arrays, strings, static fields, and results of methods whose code is not
//! available. Each such place is a [`Warning`], but for arithmetic. A lambda is an object of a class
//! that is made for it. What is unknown may be
//! anything: a branch that asks for it goes both ways. Exceptions go to the first handler of
//! the method or of a caller that takes their class, or they end the run. Those that the machine raises for failed casts,
//! divisions, and arrays, and those of library methods, are followed into handlers only.

mod build;
mod class;
mod compile;
mod descriptor;
mod dynamic;
mod effects;
mod enums;
mod error;
mod exceptions;
mod files;
mod hierarchy;
mod instruction;
mod library;
mod missing;
mod raised;
mod slots;
mod translate;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use droste_pointer::PointerProgram;
use droste_source::suggest::nearest;

use crate::class::ClassFile;
use crate::descriptor::signature;
use crate::files::{Broken, Found};
use crate::hierarchy::{ClassIndex, Hierarchy, MethodIndex};

pub use error::{Error, Place, Warning};
pub use missing::Missing;

/// Names in a message are no more than these.
const SHOWN: usize = 20;

/// Which method is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The class: its full name, or the end of it if no other class has that.
    pub class: String,
    /// The method: its name, or its signature `<Class: Type name(Types)>`.
    pub method: String,
}

/// A program that has been loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The program.
    pub program: PointerProgram,
    /// What is not modelled exactly.
    pub warnings: Vec<Warning>,
    /// Classes of which the program speaks and that are not at hand.
    pub missing: Vec<Missing>,
    /// For each class that has an ancestor that is not at hand: that one.
    pub unknown_parents: BTreeMap<String, String>,
    /// The names of the types that are interfaces.
    pub interfaces: BTreeSet<String>,
    /// For each class and the name of a field of its objects: the type of that field.
    pub field_types: BTreeMap<(String, String), String>,
    /// How long the Java compiler took, if there were sources.
    pub compiling: Option<Duration>,
}

/// Whether those of these paths that are archives can be read.
pub fn check_archives(paths: &[PathBuf]) -> Result<(), Error> {
    files::check_archives(paths)
}

/// Loads a method, and all that can be reached from it.
pub fn load(paths: &[PathBuf], options: &Options) -> Result<Loaded, Error> {
    let Found {
        classes,
        broken,
        compiling,
    } = files::class_files(paths, &options.class)?;
    let loaded = translate(classes, broken, options)?;
    Ok(Loaded {
        compiling,
        ..loaded
    })
}

/// The same from class files in memory: names and contents.
pub fn load_bytes(
    files: Vec<(String, Vec<u8>)>,
    options: &Options,
) -> Result<(PointerProgram, Vec<Warning>), Error> {
    let mut classes = Vec::new();
    for (path, bytes) in files {
        let class = ClassFile::read(path, bytes)
            .map_err(|(path, message)| Error::ClassFile { path, message })?;
        classes.push(class);
    }
    let loaded = translate(classes, Vec::new(), options)?;
    Ok((loaded.program, loaded.warnings))
}

fn translate(
    files: Vec<ClassFile>,
    broken: Vec<Broken>,
    options: &Options,
) -> Result<Loaded, Error> {
    // Nobody is told of files that nobody needs before it is known that nobody does.
    let warnings: Vec<Warning> = broken.iter().map(not_read).collect();
    let mut hierarchy = Hierarchy::new(files, broken)?;
    let built = find_class(&hierarchy, &options.class).and_then(|class| {
        let method = find_method(&hierarchy, class, &options.method)?;
        let parameters = missing::of_parameters(&hierarchy, method);
        Ok((build::build(&mut hierarchy, method)?, parameters))
    });
    // That something is missing may be for want of that class.
    if let Some(one) = hierarchy.missed() {
        let (path, message) = (one.path.clone(), one.message.clone());
        return Err(Error::ClassFile { path, message });
    }
    let ((program, mut more, mut missing), parameters) = built?;
    more.splice(0..0, warnings);
    missing.extend(parameters);
    Ok(Loaded {
        program,
        warnings: more,
        missing,
        interfaces: hierarchy.interfaces(),
        field_types: hierarchy.field_types(),
        unknown_parents: missing::unknown_parents(&hierarchy),
        compiling: None,
    })
}

/// Of a signature: the signatures of the methods that have its name.
fn overloads(hierarchy: &Hierarchy, class: ClassIndex, wanted: &str) -> Vec<String> {
    let name = wanted.split('(').next().unwrap_or_default();
    let name = name.rsplit(' ').next().unwrap_or_default();
    let all = hierarchy.ancestors(class).flat_map(|ancestor| {
        let file = &hierarchy.classes[ancestor];
        let same = file.methods.iter().filter(|one| one.name == name);
        same.map(|one| signature(&file.name, &one.name, &one.types))
    });
    if wanted.starts_with('<') {
        all.collect()
    } else {
        Vec::new()
    }
}

/// A file in a directory or an archive is left out.
fn not_read(one: &Broken) -> Warning {
    Warning {
        place: Place {
            file: one.path.clone(),
            ..Place::default()
        },
        message: format!(
            "no whole class file: {}. Nothing needs the class, as far as its path tells its name",
            one.message
        ),
    }
}

fn find_class(hierarchy: &Hierarchy, name: &str) -> Result<ClassIndex, Error> {
    if let Some(class) = hierarchy.find(name) {
        return Ok(class);
    }
    // `Y`, `X.Y` and `X$Y` are all names of the class `p.X$Y`.
    let wanted = name.replace('$', ".");
    let classes = &hierarchy.classes;
    let is_meant = |class: &ClassFile| {
        let full = class.name.replace('$', ".");
        let before = full.strip_suffix(&wanted);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let found: Vec<ClassIndex> = (0..classes.len())
        .filter(|&class| !wanted.is_empty() && is_meant(&classes[class]))
        .collect();
    match found[..] {
        [class] => Ok(class),
        [] => {
            hierarchy.miss(&wanted);
            let names = classes.iter().map(|class| class.name.as_str());
            Err(Error::NoClass {
                name: name.to_string(),
                nearest: nearest(name, names.clone()).map(str::to_string),
                there: names.take(SHOWN).map(str::to_string).collect(),
            })
        }
        _ => Err(Error::Ambiguous {
            name: name.to_string(),
            candidates: found
                .iter()
                .map(|&class| classes[class].name.clone())
                .collect(),
        }),
    }
}

fn find_method(hierarchy: &Hierarchy, class: ClassIndex, name: &str) -> Result<MethodIndex, Error> {
    let mut found: Vec<(String, MethodIndex)> = Vec::new();
    let mut there: Vec<&str> = Vec::new();
    for ancestor in hierarchy.ancestors(class) {
        let file = &hierarchy.classes[ancestor];
        for (at, method) in file.methods.iter().enumerate() {
            let signed = signature(&file.name, &method.name, &method.types);
            let special = method.name.starts_with('<');
            if !special && !there.contains(&method.name.as_str()) {
                there.push(&method.name);
            }
            if signed == name || method.name == name {
                found.push((signed, (ancestor, at)));
            }
        }
        // A method that the compiler made is meant only if there is no other.
        let written = |&(_, (class, at)): &(String, MethodIndex)| {
            !hierarchy.classes[class].methods[at].is_bridge
        };
        if found.iter().any(written) {
            found.retain(written);
        }
        // What the class itself declares hides what it inherits.
        if !found.is_empty() {
            break;
        }
    }
    let class_name = hierarchy.classes[class].name.clone();
    let method = match &found[..] {
        [(_, method)] => *method,
        [] => {
            let same = overloads(hierarchy, class, name);
            let there: Vec<&str> = match same.len() {
                0 => there,
                _ => same.iter().map(String::as_str).collect(),
            };
            return Err(Error::NoMethod {
                class: class_name,
                name: name.to_string(),
                nearest: nearest(name, there.iter().copied()).map(str::to_string),
                there: there.iter().take(SHOWN).map(ToString::to_string).collect(),
            });
        }
        _ => {
            let candidates = found.into_iter().map(|(signed, _)| signed).collect();
            return Err(Error::Ambiguous {
                name: name.to_string(),
                candidates,
            });
        }
    };
    if hierarchy.method(method).has_code {
        Ok(method)
    } else {
        let place = build::place(hierarchy, method, 0);
        Err(Error::Method {
            place,
            message: "it is abstract or native: it has no code".to_string(),
        })
    }
}
