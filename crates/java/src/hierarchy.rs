//! All available classes: who extends whom, who declares what, and which methods a call may run.
//!
//! Calls are resolved by class hierarchy analysis: every class that is a subtype of the receiver's
//! declared type may be there.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::Error;
use crate::class::{ClassFile, FieldInfo, MethodInfo};
use crate::enums::of_maps;
use crate::files::Broken;
use crate::instruction::Member;

/// A class: an index into [`Hierarchy::classes`].
pub(crate) type ClassIndex = usize;

/// A method of a class.
pub(crate) type MethodIndex = (ClassIndex, usize);

pub(crate) struct Hierarchy {
    /// Sorted by name; behind them those that are in no file.
    pub classes: Vec<ClassFile>,
    names: FxHashMap<String, ClassIndex>,
    /// Files that cannot be read, by what their classes may be called.
    broken: FxHashMap<String, Rc<Broken>>,
    /// One of them, of which somebody has asked for the class.
    missed: RefCell<Option<Rc<Broken>>>,
    /// For each class its parent, if it is available.
    parents: Vec<Option<ClassIndex>>,
    /// Methods of each class, by name and descriptor.
    methods: Vec<FxHashMap<(String, String), usize>>,
    /// For each name of a type the available classes that objects of it may have, in order.
    concrete: FxHashMap<String, Vec<ClassIndex>>,
}

impl Hierarchy {
    /// Of two classes of one name the first counts.
    pub(crate) fn new(files: Vec<ClassFile>, broken: Vec<Broken>) -> Result<Hierarchy, Error> {
        let mut classes = files;
        classes.sort_by(|a, b| a.name.cmp(&b.name));
        classes.dedup_by(|b, a| a.name == b.name);
        let names: FxHashMap<String, ClassIndex> = classes
            .iter()
            .enumerate()
            .map(|(at, class)| (class.name.clone(), at))
            .collect();
        let parents = classes
            .iter()
            .map(|class| {
                class
                    .parent
                    .as_ref()
                    .and_then(|parent| names.get(parent).copied())
            })
            .collect();
        let methods = classes
            .iter()
            .map(|class| {
                let mut table = FxHashMap::default();
                for (at, method) in class.methods.iter().enumerate() {
                    let key = (method.name.clone(), method.descriptor.clone());
                    table.entry(key).or_insert(at);
                }
                table
            })
            .collect();
        let mut hierarchy = Hierarchy {
            classes,
            names,
            parents,
            methods,
            concrete: FxHashMap::default(),
            broken: FxHashMap::default(),
            missed: RefCell::default(),
        };
        for one in broken.into_iter().map(Rc::new) {
            // `X.Y` may be meant by `X$Y`.
            let dotted = one.names.iter().map(|name| name.replace('$', "."));
            for name in one.names.iter().cloned().chain(dotted) {
                let entry = hierarchy.broken.entry(name);
                entry.or_insert_with(|| Rc::clone(&one));
            }
        }
        hierarchy.check()?;
        for class in 0..hierarchy.classes.len() {
            hierarchy.note_supertypes(class);
        }
        Ok(hierarchy)
    }

    fn note_supertypes(&mut self, class: ClassIndex) {
        if !self.classes[class].is_abstract {
            for name in self.supertypes(class) {
                self.concrete.entry(name).or_default().push(class);
            }
        }
    }

    /// One more class, which no other one extends and which has a name of its own.
    pub(crate) fn add(&mut self, file: ClassFile) {
        let class = self.classes.len();
        self.names.insert(file.name.clone(), class);
        self.parents
            .push(file.parent.as_ref().and_then(|one| self.find(one)));
        let methods = file.methods.iter().zip(0..);
        let keyed = methods.map(|(one, at)| ((one.name.clone(), one.descriptor.clone()), at));
        self.methods.push(keyed.collect());
        self.classes.push(file);
        self.note_supertypes(class);
    }

    /// No class extends itself.
    fn check(&self) -> Result<(), Error> {
        // 0: not seen, 1: on the way up from here, 2: fine.
        let mut seen = vec![0u8; self.classes.len()];
        for start in 0..self.classes.len() {
            let mut way = Vec::new();
            let mut at = Some(start);
            while let Some(class) = at {
                match seen[class] {
                    0 => {
                        seen[class] = 1;
                        way.push(class);
                        at = self.parents[class];
                    }
                    1 => {
                        let class = &self.classes[class];
                        let message = format!("class {} extends itself", class.name);
                        return Err(Error::ClassFile {
                            path: class.path.clone(),
                            message,
                        });
                    }
                    _ => break,
                }
            }
            for class in way {
                seen[class] = 2;
            }
        }
        Ok(())
    }

    /// How many classes objects of this type may have.
    pub(crate) fn concrete_of(&self, name: &str) -> usize {
        self.concrete.get(name).map_or(0, Vec::len)
    }

    pub(crate) fn find(&self, name: &str) -> Option<ClassIndex> {
        let found = self.names.get(name).copied();
        if found.is_none() {
            self.miss(name);
        }
        found
    }

    /// A class of this name is asked for and not there: it may be in a file that cannot be read.
    pub(crate) fn miss(&self, name: &str) {
        if let Some(one) = self.broken.get(name) {
            self.missed
                .borrow_mut()
                .get_or_insert_with(|| Rc::clone(one));
        }
    }

    /// A file that cannot be read, although somebody needs its class.
    pub(crate) fn missed(&self) -> Option<Rc<Broken>> {
        self.missed.borrow().clone()
    }

    pub(crate) fn method(&self, (class, method): MethodIndex) -> &MethodInfo {
        &self.classes[class].methods[method]
    }

    /// The static initialiser of a class.
    pub(crate) fn initialiser(&self, class: ClassIndex) -> Option<MethodIndex> {
        let key = ("<clinit>".to_string(), "()V".to_string());
        let found = (class, *self.methods[class].get(&key)?);
        self.method(found).has_code.then_some(found)
    }

    /// The static initialisers that run when a class is used for the first time: its own and those of
    /// its supertypes. Where it holds the cases of a `switch`, they are those of the enums.
    pub(crate) fn initialisers(&self, class: ClassIndex) -> Vec<MethodIndex> {
        let mut types = self.supertypes(class);
        if let Some(enums) = of_maps(&self.classes[class]) {
            types = Vec::new();
            for name in enums {
                match self.find(&name) {
                    Some(class) => types.extend(self.supertypes(class)),
                    None => types.push(name),
                }
            }
        }
        let mut found = Vec::new();
        for name in types {
            let start = self.find(&name).and_then(|class| self.initialiser(class));
            found.extend(start.filter(|one| !found.contains(one)));
        }
        found
    }

    /// The class and its ancestors, as far as they are available.
    pub(crate) fn ancestors(&self, class: ClassIndex) -> impl Iterator<Item = ClassIndex> + '_ {
        std::iter::successors(Some(class), |&class| self.parents[class])
    }

    /// The class that declares an instance field, and the field.
    pub(crate) fn field(&self, member: &Member) -> Option<(ClassIndex, &FieldInfo)> {
        let class = self.find(&member.class)?;
        self.ancestors(class).find_map(|class| {
            let field = self.classes[class]
                .fields
                .iter()
                .find(|field| !field.is_static && field.name == member.name)?;
            Some((class, field))
        })
    }

    /// The name of a field as a selector: its own, unless an ancestor has a field of that name.
    pub(crate) fn selector(&self, class: ClassIndex, field: &str) -> String {
        let hides = self.ancestors(class).skip(1).any(|ancestor| {
            let fields = &self.classes[ancestor].fields;
            fields.iter().any(|one| !one.is_static && one.name == field)
        });
        if hides {
            format!("{}.{field}", self.classes[class].name)
        } else {
            field.to_string()
        }
    }

    /// The names of a class and of all its supertypes, as far as they are available: each class
    /// below the name is known, the name itself need not be.
    pub(crate) fn supertypes(&self, class: ClassIndex) -> Vec<String> {
        let mut found: Vec<String> = vec![self.classes[class].name.clone()];
        let mut next = 0;
        while next < found.len() {
            if let Some(at) = self.find(&found[next]) {
                let class = &self.classes[at];
                for name in class.parent.iter().chain(&class.interfaces) {
                    if !found.contains(name) {
                        found.push(name.clone());
                    }
                }
            }
            // Interfaces of the library that lambdas often have.
            let above = match found[next].as_str() {
                "java.util.function.UnaryOperator" => Some("java.util.function.Function"),
                "java.util.function.BinaryOperator" => Some("java.util.function.BiFunction"),
                _ => None,
            };
            if let Some(above) = above
                && !found.iter().any(|one| one == above)
            {
                found.push(above.to_string());
            }
            next += 1;
        }
        found
    }

    /// The names of a class and of those above it, also of exceptions of the library.
    pub(crate) fn exception_types(&self, name: &str) -> Vec<String> {
        let mut found = vec![name.to_string()];
        let mut at = 0;
        while let Some(name) = found.get(at).cloned() {
            let own = self.names.get(&name).map(|&class| &self.classes[class]);
            let above = match own {
                Some(class) => class.parent.clone(),
                None => crate::exceptions::parent(&name).map(str::to_string),
            };
            found.extend(above.filter(|one| !found.contains(one)));
            at += 1;
        }
        found
    }

    /// The method that a name means in `class`: what it or an ancestor declares, else one of its
    /// interfaces (JVMS 5.4.3.3).
    pub(crate) fn lookup(
        &self,
        class: ClassIndex,
        name: &str,
        descriptor: &str,
    ) -> Option<MethodIndex> {
        let key = (name.to_string(), descriptor.to_string());
        self.declared(class, &key)
            .next()
            .or_else(|| self.of_interfaces(class, &key))
    }

    /// What a class and its ancestors declare, from below.
    fn declared(
        &self,
        class: ClassIndex,
        key: &(String, String),
    ) -> impl Iterator<Item = MethodIndex> {
        self.ancestors(class)
            .filter_map(move |at| self.methods[at].get(key).map(|&method| (at, method)))
    }

    /// Of the methods that the interfaces of a class declare those that no interface further below
    /// declares as well are *maximally specific*. If one of them has code, it is meant. If several
    /// have, none is.
    fn of_interfaces(&self, class: ClassIndex, key: &(String, String)) -> Option<MethodIndex> {
        let all = self.supertypes(class).into_iter().filter_map(|name| {
            let at = self.find(&name)?;
            let method = (at, *self.methods[at].get(key)?);
            let info = self.method(method);
            let counts = self.classes[at].is_interface && !info.is_private && !info.is_static;
            counts.then_some(method)
        });
        let all: Vec<MethodIndex> = all.collect();
        let above: Vec<Vec<String>> = all.iter().map(|one| self.supertypes(one.0)).collect();
        let is_hidden = |(at, _): MethodIndex| {
            let name = &self.classes[at].name;
            let mut below = all.iter().zip(&above);
            below.any(|(one, above)| one.0 != at && above.contains(name))
        };
        let specific = all.iter().copied().filter(|&one| !is_hidden(one));
        let (with, without): (Vec<_>, Vec<_>) =
            specific.partition(|&one| self.method(one).has_code);
        match with[..] {
            [] => without.first().copied(),
            [one] => Some(one),
            _ => None,
        }
    }

    /// The method that runs when `meant` is called for an object of this class (JVMS 5.4.6). If it is
    /// not known which is meant, it is one that every class may override.
    pub(crate) fn select(
        &self,
        class: ClassIndex,
        meant: Option<MethodIndex>,
        key: &(String, String),
    ) -> Option<MethodIndex> {
        if let Some(meant) = meant
            && self.method(meant).is_private
        {
            return Some(meant);
        }
        let can_be_meant = |&one: &MethodIndex| {
            let info = self.method(one);
            let overrides = meant.is_none_or(|meant| self.overrides(one, meant, key));
            !info.is_private && !info.is_static && overrides
        };
        self.declared(class, key)
            .find(can_be_meant)
            .or_else(|| self.of_interfaces(class, key))
    }

    /// Whether a method overrides another one of that name that an ancestor declares (JVMS 5.4.5). One
    /// that only its package can see is overridden in that package, and wherever something that
    /// overrides it is overridden.
    fn overrides(&self, lower: MethodIndex, upper: MethodIndex, key: &(String, String)) -> bool {
        let at_once = |lower: MethodIndex, upper: MethodIndex| {
            !self.method(upper).is_package_private
                || self.classes[lower.0].package() == self.classes[upper.0].package()
        };
        if at_once(lower, upper) {
            return true;
        }
        let between = self.declared(lower.0, key);
        let mut between: Vec<MethodIndex> = between.take_while(|&one| one != upper).collect();
        between.reverse();
        let mut overriding = vec![upper];
        for one in between {
            let info = self.method(one);
            let is_open = !info.is_private && !info.is_static;
            if is_open && overriding.iter().any(|&upper| at_once(one, upper)) {
                overriding.push(one);
            }
        }
        overriding.contains(&lower)
    }

    /// For a virtual call: each class that the receiver may have, and the method that runs then,
    /// if its code is available.
    pub(crate) fn receivers(&self, member: &Member) -> Vec<(ClassIndex, Option<MethodIndex>)> {
        let classes = self
            .concrete
            .get(&member.class)
            .map_or(&[][..], Vec::as_slice);
        let meant = self
            .find(&member.class)
            .and_then(|class| self.lookup(class, &member.name, &member.descriptor));
        let key = (member.name.clone(), member.descriptor.clone());
        let select = |&class: &ClassIndex| {
            let method = self.select(class, meant, &key);
            (class, method.filter(|&method| self.method(method).has_code))
        };
        classes.iter().map(select).collect()
    }
}
