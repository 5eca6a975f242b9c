//! The program: methods that can be reached from the chosen one, translated one by one.

use std::collections::BTreeSet;

use droste_pointer::{
    Class, ClassId, FieldId, Kind, Local, LocalId, Method, MethodId, Operand, PointerProgram,
    Statement, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::class::ClassFile;
use crate::descriptor::{method_type, signature};
use crate::dynamic::Dynamic;
use crate::effects::{Loud, callbacks, gives_null_away, loud, made};
use crate::enums::of_maps;
use crate::exceptions;
use crate::hierarchy::{ClassIndex, Hierarchy, MethodIndex};
use crate::instruction::Member;
use crate::library;
use crate::missing::Missing;
use crate::raised::{catches, inherit, raises_error, settle_handlers, throws};
use crate::translate::translate;
use crate::{Error, Place, Warning};

/// What is known so far.
pub(crate) struct Builder<'a> {
    pub hierarchy: &'a Hierarchy,
    fields: Vec<String>,
    field_ids: FxHashMap<String, FieldId>,
    /// Fields that are read or written, with the classes that declare them.
    accessed: FxHashSet<(ClassIndex, String)>,
    methods: Vec<Target>,
    method_ids: FxHashMap<Target, MethodId>,
    files: Vec<String>,
    file_ids: FxHashMap<String, u32>,
    warnings: Vec<Warning>,
    /// Casts that the compiler has made for generics: where, and to which type.
    casts: BTreeSet<(Place, String)>,
    warned: FxHashSet<Warning>,
    /// Classes that the program speaks of and that are not at hand.
    pub missing: Vec<Missing>,
    /// Whether what the machine or a library raises may leave a method. It is so if something would
    /// catch it.
    pub follows: bool,
    /// Methods that may be far down the stack, if somebody catches its overflow.
    pub deep: FxHashSet<MethodIndex>,
    /// Static initialisers that an exception may leave, each with whether it may be another error than
    /// the machine makes of it.
    pub failing: FxHashMap<MethodIndex, bool>,
    /// Calls whose overflow would be caught: the method, the line, and what is called.
    overflows: Vec<(MethodIndex, u32, Vec<MethodId>)>,
    /// Where the program begins.
    pub entry: Option<MethodIndex>,
    /// What is known of null in the hands of libraries.
    pub away: Away,
    /// Exceptions of the library that have come up. Their classes are behind those at hand.
    exceptions: Vec<String>,
    /// Classes of lambdas that have come up and are not in the hierarchy yet.
    pub lambdas: Vec<ClassFile>,
}

/// Whom the elements of arrays are given to.
pub(crate) const OF_ARRAYS: &str = "whoever reads the array";

/// How null may get into the hands of a library that may pass it on, as far as the translation of
/// single statements tells.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Away {
    /// Whether it may, for certain statements: null itself is given, or what is not modelled.
    pub null: bool,
    /// Whether an array of references is given, and whether there are new ones that hold null.
    pub arrays: bool,
    pub holes: bool,
    /// Whether fields are read that may hold containers: where the program begins, they may have null.
    pub containers: bool,
    /// Whom it matters what they are given.
    pub passing: FxHashSet<String>,
}

impl Away {
    fn add(&mut self, other: Away) {
        self.null |= other.null;
        self.arrays |= other.arrays;
        self.holes |= other.holes;
        self.containers |= other.containers;
        self.passing.extend(other.passing);
    }
}

/// A method of the program.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Target {
    Own(ClassIndex, usize),
    /// A method of the library that a class of the program inherits: signature.
    Library(String, String),
}

/// Translates `entry` and everything that can be reached from it.
///
/// A call may run the method of any lambda, of those too that come up later. So this is done again
/// until no other lambda comes up.
pub(crate) fn build(
    hierarchy: &mut Hierarchy,
    entry: MethodIndex,
) -> Result<(PointerProgram, Vec<Warning>, Vec<Missing>), Error> {
    loop {
        let none = FxHashSet::default();
        let mut failing = FxHashMap::default();
        let mut built = build_once(hierarchy, &[entry], false, false, &none, &failing)?;
        if built.lambdas.is_empty() && uses_initialisers(&built.program) {
            match fails(hierarchy)? {
                Ok(found) => failing = found,
                Err(lambdas) => built.lambdas = lambdas,
            }
            if !failing.is_empty() {
                built = build_once(hierarchy, &[entry], false, false, &none, &failing)?;
            }
        }
        if built.lambdas.is_empty() {
            if !built.deep.is_empty() {
                let deep = std::mem::take(&mut built.deep);
                built = build_once(hierarchy, &[entry], true, false, &deep, &failing)?;
            } else if built.misses {
                built = build_once(hierarchy, &[entry], true, false, &none, &failing)?;
            }
        }
        if built.lambdas.is_empty() {
            let away = std::mem::take(&mut built.away);
            built.lambdas = settle_hands(hierarchy, &mut built.program, entry, away)?;
        }
        if built.lambdas.is_empty() {
            return Ok((built.program, built.warnings, built.missing));
        }
        built.lambdas.into_iter().for_each(|one| hierarchy.add(one));
    }
}

/// Says what those run who get objects into their hands. It needs the classes of these lambdas, which
/// are not at hand yet.
fn settle_hands(
    hierarchy: &Hierarchy,
    program: &mut PointerProgram,
    entry: MethodIndex,
    mut away: Away,
) -> Result<Vec<ClassFile>, Error> {
    let code = program.methods.iter().flat_map(|method| &method.code);
    let is_hand = |one: &Statement| matches!(one, Statement::Hand { .. });
    if !code.clone().any(is_hand) {
        return Ok(Vec::new());
    }
    let called = callbacks(hierarchy);
    let classes = 0..hierarchy.classes.len();
    let starts = classes.filter_map(|class| Some((class, hierarchy.initialiser(class)?)));
    let starts: Vec<(ClassIndex, MethodIndex)> = starts.collect();
    let roots: Vec<MethodIndex> = called.iter().chain(&starts).map(|one| one.1).collect();
    let (deep, failing) = (FxHashSet::default(), FxHashMap::default());
    let built = build_once(hierarchy, &roots, true, true, &deep, &failing)?;
    if !built.lambdas.is_empty() {
        return Ok(built.lambdas);
    }
    let methods = &built.program.methods;
    let (first, last) = built.entries.split_at(called.len());
    let called = called.iter().zip(first);
    let called = called.map(|(&(class, _), &method)| (ClassId(class as u32), method));
    let called: Vec<(ClassId, MethodId)> = called.collect();
    away.add(built.away);
    let run: Vec<MethodId> = called.iter().map(|one| one.1).collect();
    if away.arrays {
        away.passing.insert(OF_ARRAYS.to_string());
    }
    let passing = &away.passing;
    let null = !passing.is_empty() && (away.null || away.arrays && away.holes)
        || !passing.is_empty() && has_containers(hierarchy, entry, &away)
        || gives_null_away(&program.methods, &[program.entry], &[], passing)
        || gives_null_away(methods, &[], &run, passing);
    let Loud {
        methods: loud,
        classes: runs,
    } = loud(methods, &called, &built.broken, null);
    let quiet = last.iter().filter(|start| !loud[start.index()]);
    let quiet: Vec<&String> = quiet.map(|one| &methods[one.index()].signature).collect();
    // Static fields hold what initialisers have put there.
    let made = made(methods, last);
    let held = runs.iter().filter(|(class, _)| made.contains(class));
    let held: Vec<(ClassId, String)> = held.cloned().collect();
    let code = program.methods.iter_mut();
    for statement in code.flat_map(|method| &mut method.code) {
        if let Statement::Hand {
            objects, runs: own, ..
        } = statement
        {
            if own.is_empty() {
                own.clone_from(if objects.is_empty() { &held } else { &runs });
            } else {
                // Nobody can see that such an initialiser ran.
                own.retain(|(_, one)| !quiet.contains(&one));
            }
            if own.is_empty() && objects.is_empty() {
                *statement = Statement::Nop;
            }
        }
    }
    Ok(Vec::new())
}

/// Whether a type is one of things that are not modelled and that may hold null.
pub(crate) fn may_hold_null(hierarchy: &Hierarchy, name: &str) -> bool {
    let element = name.trim_end_matches("[]");
    let own = hierarchy.find(element);
    let own = own.is_some_and(|class| !hierarchy.classes[class].is_interface);
    let number = !element.contains('.')
        && matches!(
            element,
            "boolean" | "byte" | "short" | "char" | "int" | "long" | "float" | "double"
        );
    !number && !library::is_of_library(element) && (!own || element != name)
}

/// Whether the program may begin with such things.
fn has_containers(hierarchy: &Hierarchy, entry: MethodIndex, away: &Away) -> bool {
    let info = hierarchy.method(entry);
    let main = info.name == "main" && info.descriptor == "([Ljava/lang/String;)V";
    let mut parameters = info.types.parameters.iter();
    !main && (away.containers || parameters.any(|one| may_hold_null(hierarchy, &one.name)))
}

/// Whether the first use of a class runs anything.
fn uses_initialisers(program: &PointerProgram) -> bool {
    let mut code = program.methods.iter().flat_map(|method| &method.code);
    code.any(|one| {
        matches!(one, Statement::Hand { objects, runs, .. } if objects.is_empty() && !runs.is_empty())
    })
}

/// The static initialisers that an exception may leave, each with whether it may be an error that
/// the program raises. It needs the classes of these lambdas, which are not at hand yet.
#[allow(clippy::type_complexity)]
fn fails(
    hierarchy: &Hierarchy,
) -> Result<Result<FxHashMap<MethodIndex, bool>, Vec<ClassFile>>, Error> {
    let classes = 0..hierarchy.classes.len();
    let starts = classes.filter(|&class| of_maps(&hierarchy.classes[class]).is_none());
    let starts = starts.filter_map(|class| hierarchy.initialiser(class));
    let starts: Vec<MethodIndex> = starts.collect();
    let (deep, failing) = (FxHashSet::default(), FxHashMap::default());
    let built = build_once(hierarchy, &starts, true, true, &deep, &failing)?;
    if !built.lambdas.is_empty() {
        return Ok(Err(built.lambdas));
    }
    let program = &built.program;
    let methods = &program.methods;
    let own =
        |errors: &dyn Fn(&Method) -> bool| -> Vec<bool> { methods.iter().map(errors).collect() };
    let mut left = throws(methods);
    for (left, broken) in left.iter_mut().zip(&built.broken) {
        *left |= broken;
    }
    let mut errors = own(&|method| raises_error(program, method));
    // Who uses a class for the first time gets what its initialiser raises.
    let names: FxHashMap<&str, usize> = (built.entries.iter())
        .map(|one| (methods[one.index()].signature.as_str(), one.index()))
        .collect();
    loop {
        let before = (left.clone(), errors.clone());
        inherit(methods, &mut left);
        for (at, method) in methods.iter().enumerate() {
            for statement in &method.code {
                match statement {
                    Statement::Hand { runs, .. } => {
                        for (_, one) in runs {
                            if let Some(&start) = names.get(one.as_str()) {
                                left[at] |= left[start];
                                errors[at] |= errors[start];
                            }
                        }
                    }
                    Statement::Call { callees, .. } => {
                        errors[at] |= callees.methods().any(|one| errors[one.index()]);
                    }
                    _ => {}
                }
            }
        }
        if before == (left.clone(), errors.clone()) {
            break;
        }
    }
    let found = starts.iter().zip(&built.entries);
    let found = found.filter(|(_, one)| left[one.index()]);
    Ok(Ok(found
        .map(|(&start, one)| (start, errors[one.index()]))
        .collect()))
}

/// What has been translated.
struct Built {
    program: PointerProgram,
    /// The methods that were asked for.
    entries: Vec<MethodId>,
    warnings: Vec<Warning>,
    /// Classes that are spoken of and not at hand.
    missing: Vec<Missing>,
    /// How libraries may get null.
    away: Away,
    /// Whether what the machine or a library raises would be caught in a caller, but is not followed.
    misses: bool,
    /// Methods that may be far down the stack, if somebody catches its overflow.
    deep: FxHashSet<MethodIndex>,
    /// Classes that are missing.
    lambdas: Vec<ClassFile>,
    /// For each method whether it could not be translated.
    broken: Vec<bool>,
}

/// Translates all that can be reached from these. If it is `lenient`, methods that cannot be translated
/// are noted.
fn build_once(
    hierarchy: &Hierarchy,
    entries: &[MethodIndex],
    follows: bool,
    lenient: bool,
    deep: &FxHashSet<MethodIndex>,
    failing: &FxHashMap<MethodIndex, bool>,
) -> Result<Built, Error> {
    let mut builder = Builder {
        hierarchy,
        fields: Vec::new(),
        field_ids: FxHashMap::default(),
        accessed: FxHashSet::default(),
        methods: Vec::new(),
        method_ids: FxHashMap::default(),
        files: Vec::new(),
        file_ids: FxHashMap::default(),
        warnings: Vec::new(),
        casts: BTreeSet::new(),
        warned: FxHashSet::default(),
        missing: Vec::new(),
        follows,
        deep: deep.clone(),
        failing: failing.clone(),
        overflows: Vec::new(),
        // A lenient translation is none of a program.
        entry: entries.first().copied().filter(|_| !lenient),
        away: Away::default(),
        exceptions: Vec::new(),
        lambdas: Vec::new(),
    };
    let entries: Vec<MethodId> = entries.iter().map(|&one| builder.reference(one)).collect();
    let mut methods: Vec<Method> = Vec::new();
    let mut raises = Vec::new();
    let mut broken = Vec::new();
    while let Some(target) = builder.methods.get(methods.len()).cloned() {
        broken.push(false);
        methods.push(match target {
            Target::Own(class, method) => match builder.translate((class, method), &mut raises) {
                Err(_) if lenient => {
                    raises.push(true);
                    broken[methods.len()] = true;
                    let info = hierarchy.method((class, method));
                    builder.unknown(&info.name, &info.descriptor)
                }
                translated => translated?,
            },
            Target::Library(name, descriptor) => {
                raises.push(true);
                builder.unknown(&name, &descriptor)
            }
        });
    }
    let misses = !follows && catches(&methods, raises);
    let deep = builder.settle_overflows(&methods);
    settle_handlers(&mut methods);
    // Who asks what initialisers raise asks for classes.
    let of_null = if lenient {
        None
    } else {
        builder.settle_exceptions(&mut methods)
    };
    let classes = builder.classes();
    builder.warn_of_casts();
    let program = PointerProgram {
        classes,
        fields: builder.fields,
        methods,
        files: builder.files,
        entry: entries.first().copied().unwrap_or(MethodId(0)),
        of_null,
    };
    Ok(Built {
        program,
        entries,
        warnings: builder.warnings,
        missing: builder.missing,
        away: builder.away,
        misses,
        deep,
        lambdas: builder.lambdas,
        broken,
    })
}

impl Builder<'_> {
    pub(crate) fn warn(&mut self, method: MethodIndex, line: u32, message: String) {
        let warning = Warning {
            place: self.place(method, line),
            message,
        };
        if self.warned.insert(warning.clone()) {
            self.warnings.push(warning);
        }
    }

    /// Notes a cast that the compiler has made for generics.
    pub(crate) fn cast(&mut self, method: MethodIndex, line: u32, to: &str) {
        let place = self.place(method, line);
        self.casts.insert((place, to.to_string()));
    }

    /// Somebody catches the overflow of the stack if it is in this call.
    pub(crate) fn note_overflow(&mut self, method: MethodIndex, line: u32, called: &[MethodId]) {
        self.overflows.push((method, line, called.to_vec()));
    }

    /// Whether a method may be far down the stack.
    pub(crate) fn is_deep(&self, method: MethodId) -> bool {
        match self.methods.get(method.index()) {
            Some(&Target::Own(class, method)) => self.deep.contains(&(class, method)),
            _ => false,
        }
    }

    /// The methods that a recursion leads to, if somebody catches the overflow of the stack in it.
    /// There each call may overflow. Otherwise such a run ends, and there are none.
    fn settle_overflows(&mut self, methods: &[Method]) -> FxHashSet<MethodIndex> {
        let calls = |method: &Method| {
            let callees = method.code.iter().filter_map(|one| match one {
                Statement::Call { callees, .. } => Some(callees),
                _ => None,
            });
            let called: BTreeSet<usize> = callees
                .flat_map(|one| one.methods().map(MethodId::index))
                .collect();
            called
        };
        if self.overflows.is_empty() {
            return FxHashSet::default();
        }
        let calls: Vec<BTreeSet<usize>> = methods.iter().map(calls).collect();
        let reached = |from: usize| {
            let mut seen = calls[from].clone();
            let mut todo: Vec<usize> = seen.iter().copied().collect();
            while let Some(at) = todo.pop() {
                let new = calls[at].iter().copied().filter(|&one| seen.insert(one));
                todo.extend(new);
            }
            seen
        };
        let reached: Vec<BTreeSet<usize>> = (0..methods.len()).map(reached).collect();
        let mut deep = vec![false; methods.len()];
        for (at, reached) in reached.iter().enumerate() {
            if reached.contains(&at) {
                deep[at] = true;
                for &one in reached {
                    deep[one] = true;
                }
            }
        }
        let own = |at: usize| match self.methods[at] {
            Target::Own(class, method) => Some((class, method)),
            Target::Library(..) => None,
        };
        let found: FxHashSet<MethodIndex> = (0..deep.len())
            .filter(|&at| deep[at])
            .filter_map(own)
            .collect();
        let leads =
            |one: &MethodId| deep[one.index()] || reached[one.index()].iter().any(|&at| deep[at]);
        let mut caught = self.overflows.iter();
        let Some(&(method, line, _)) = caught.find(|(_, _, called)| called.iter().any(leads))
        else {
            return FxHashSet::default();
        };
        let message = "an overflow of the stack is caught here: each call in the recursion may be \
                       one that overflows";
        self.warn(method, line, message.to_string());
        found
    }

    /// One warning about all casts that the compiler has made.
    fn warn_of_casts(&mut self) {
        let mut casts = std::mem::take(&mut self.casts).into_iter();
        let Some((place, to)) = casts.next() else {
            return;
        };
        let more = match casts.count() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let message = format!(
            "a cast to {to}, as the compiler makes it for generics{more}: runs end where it fails \
             and nobody catches that"
        );
        self.warnings.push(Warning { place, message });
    }

    fn place(&self, method: MethodIndex, line: u32) -> Place {
        place(self.hierarchy, method, line)
    }

    /// The class of exceptions of this name, which need not be at hand.
    pub(crate) fn exception(&mut self, name: &str) -> ClassId {
        if let Some(class) = self.class(name) {
            return class;
        }
        let known = self.exceptions.iter().position(|one| one == name);
        let at = known.unwrap_or_else(|| {
            self.exceptions.push(name.to_string());
            self.exceptions.len() - 1
        });
        ClassId((self.hierarchy.classes.len() + at) as u32)
    }

    /// Classes of exceptions matter only where handlers ask for them. If none does, the objects are
    /// not there. Gives the class of the exception where null is used.
    fn settle_exceptions(&mut self, methods: &mut [Method]) -> Option<ClassId> {
        let asks = |statement: &Statement| match statement {
            Statement::Throw { handlers, .. } | Statement::Caught { handlers, .. } => {
                !handlers.is_empty()
            }
            _ => false,
        };
        if methods.iter().any(|method| method.code.iter().any(asks)) {
            return Some(self.exception(exceptions::OF_NULL));
        }
        let own = self.hierarchy.classes.len();
        for statement in methods.iter_mut().flat_map(|method| &mut method.code) {
            match statement {
                Statement::Throw { value, .. } => *value = Operand::Unknown,
                Statement::Assign { value, .. } => {
                    if matches!(value, Value::New(class) if class.index() >= own) {
                        *value = Value::Operand(Operand::Present);
                    }
                }
                _ => {}
            }
        }
        self.exceptions.clear();
        None
    }

    /// The id of a class, by name.
    pub(crate) fn class(&self, name: &str) -> Option<ClassId> {
        self.hierarchy.find(name).map(|class| self.class_id(class))
    }

    #[allow(clippy::unused_self)]
    pub(crate) fn class_id(&self, class: ClassIndex) -> ClassId {
        ClassId(class as u32)
    }

    /// The class of a lambda, if it is there already. Otherwise it will be the next time.
    pub(crate) fn lambda(
        &mut self,
        name: &str,
        dynamic: &Dynamic,
        outer: ClassIndex,
        line: u32,
    ) -> Option<ClassId> {
        if let Some(class) = self.class(name) {
            return Some(class);
        }
        if self.lambdas.iter().all(|one| one.name != name) {
            let made = dynamic.class(name, &self.hierarchy.classes[outer], line);
            self.lambdas.extend(made);
        }
        None
    }

    /// The id of an instance field, and a note that it is used.
    pub(crate) fn field(&mut self, member: &Member) -> Option<FieldId> {
        let (class, field) = self.hierarchy.field(member)?;
        let selector = self.hierarchy.selector(class, &field.name);
        self.accessed.insert((class, field.name.clone()));
        let next = FieldId(self.fields.len() as u32);
        let id = *self.field_ids.entry(selector.clone()).or_insert(next);
        if id == next {
            self.fields.push(selector);
        }
        Some(id)
    }

    fn target(&mut self, target: Target) -> MethodId {
        let next = MethodId(self.methods.len() as u32);
        let id = *self.method_ids.entry(target.clone()).or_insert(next);
        if id == next {
            self.methods.push(target);
        }
        id
    }

    /// The id of a method with code. It will be translated.
    pub(crate) fn reference(&mut self, (class, method): MethodIndex) -> MethodId {
        self.target(Target::Own(class, method))
    }

    /// A method of the library that a class of the program inherits.
    pub(crate) fn library(&mut self, member: &Member) -> Option<MethodId> {
        method_type(&member.descriptor)?;
        Some(self.target(Target::Library(
            member.name.clone(),
            member.descriptor.clone(),
        )))
    }

    /// The method that is meant by name alone, if its code is available.
    pub(crate) fn exact(&mut self, member: &Member) -> Option<MethodId> {
        let class = self.hierarchy.find(&member.class)?;
        let method = self
            .hierarchy
            .lookup(class, &member.name, &member.descriptor)?;
        // Constructors are not inherited.
        if member.name == "<init>" && method.0 != class {
            return None;
        }
        self.hierarchy
            .method(method)
            .has_code
            .then(|| self.reference(method))
    }

    /// The same, if the method is private: then no other class can have it.
    pub(crate) fn exact_private(&mut self, member: &Member) -> Option<MethodId> {
        let class = self.hierarchy.find(&member.class)?;
        let method = self
            .hierarchy
            .lookup(class, &member.name, &member.descriptor)?;
        let info = self.hierarchy.method(method);
        (info.is_private && info.has_code).then(|| self.reference(method))
    }

    fn file(&mut self, name: &str) -> u32 {
        let next = self.files.len() as u32;
        let id = *self.file_ids.entry(name.to_string()).or_insert(next);
        if id == next {
            self.files.push(name.to_string());
        }
        id
    }

    fn translate(&mut self, method: MethodIndex, raises: &mut Vec<bool>) -> Result<Method, Error> {
        let hierarchy = self.hierarchy;
        let class = &hierarchy.classes[method.0];
        let info = hierarchy.method(method);
        let failed = |line: u32, message: String| Error::Method {
            place: place(hierarchy, method, line),
            message,
        };
        let body = class.body(method.1).map_err(|message| failed(0, message))?;
        let translated = translate(self, method, info, &body)
            .map_err(|(line, message)| failed(line, message))?;
        raises.push(translated.raises);
        Ok(Method {
            class: self.class_id(method.0),
            name: info.name.clone(),
            signature: signature(&class.name, &info.name, &info.types),
            is_static: info.is_static,
            parameters: info.types.parameters.iter().map(|one| one.kind).collect(),
            returns: info.types.result.as_ref().map(|one| one.kind),
            locals: translated.locals,
            code: translated.code,
            lines: translated.lines,
            passed_by: translated.passed_by,
            file: self.file(&class.source_path()),
        })
    }

    /// A method of the library: nothing happens, and the result is unknown.
    fn unknown(&mut self, name: &str, descriptor: &str) -> Method {
        let types = method_type(descriptor).unwrap_or(crate::descriptor::MethodType {
            parameters: Vec::new(),
            result: None,
        });
        let mut locals = vec![Local {
            name: "this".to_string(),
            kind: Kind::Reference,
        }];
        let mut code = vec![Statement::Assign {
            to: LocalId(0),
            value: Value::This,
        }];
        for (at, parameter) in types.parameters.iter().enumerate() {
            locals.push(Local {
                name: format!("${at}"),
                kind: parameter.kind,
            });
            let to = LocalId(at as u32 + 1);
            code.push(Statement::Assign {
                to,
                value: Value::Parameter(at as u32),
            });
        }
        let own = locals.iter().zip(0..);
        let own = own.filter(|(local, _)| local.kind == Kind::Reference);
        let to = signature("java.lang.Object", name, &types);
        self.away.passing.insert(to.clone());
        code.push(Statement::Hand {
            to,
            objects: own.map(|(_, at)| LocalId(at)).collect(),
            runs: Vec::new(),
        });
        let member = Member {
            class: "java.lang.Object".to_string(),
            name: name.to_string(),
            descriptor: descriptor.to_string(),
        };
        if self.follows && !library::is_harmless(&member) {
            let next = code.len() as u32 + 1;
            let targets = vec![next + 1, next];
            let throw = Statement::Throw {
                value: Operand::Unknown,
                handlers: Vec::new(),
                escapes: true,
            };
            code.extend([Statement::Choose { targets }, throw]);
        } else if !library::is_ordinary(&member) {
            code.push(Statement::Doubt(signature(&member.class, name, &types)));
        }
        code.push(Statement::Return(
            types.result.as_ref().map(|_| Operand::Unknown),
        ));
        Method {
            class: ClassId(0),
            name: name.to_string(),
            signature: signature("java.lang.Object", name, &types),
            is_static: false,
            parameters: types.parameters.iter().map(|one| one.kind).collect(),
            returns: types.result.as_ref().map(|one| one.kind),
            locals,
            lines: vec![0; code.len()],
            passed_by: Vec::new(),
            code,
            file: self.file("(library)"),
        }
    }

    /// The parent of a class, if it is at hand or an exception that has come up, and whether nothing
    /// is known of it.
    fn parent(&mut self, name: Option<&str>) -> (Option<ClassId>, bool) {
        let Some(name) = name.filter(|name| *name != "java.lang.Object") else {
            return (None, false);
        };
        if let Some(class) = self.class(name) {
            return (Some(class), false);
        }
        // Where there are no handlers nobody asks.
        let asked = !self.exceptions.is_empty() && exceptions::parent(name).is_some();
        if asked || self.exceptions.iter().any(|one| one == name) {
            return (Some(self.exception(name)), false);
        }
        (None, true)
    }

    /// All classes, with the fields that are used and the names of the others; behind them the
    /// exceptions of the library.
    fn classes(&mut self) -> Vec<Class> {
        let hierarchy = self.hierarchy;
        let names = hierarchy
            .classes
            .iter()
            .map(|class| class.parent.as_deref());
        let mut parents: Vec<_> = names.map(|name| self.parent(name)).collect();
        let mut at = 0;
        while let Some(name) = self.exceptions.get(at).cloned() {
            let parent = exceptions::parent(&name);
            parents.push(match parent {
                Some(_) => self.parent(parent),
                None => (None, true),
            });
            at += 1;
        }
        let mut classes = self.own_classes();
        classes.extend(self.exceptions.iter().map(|name| Class {
            name: name.clone(),
            parent: None,
            is_open: false,
            is_library: true,
            fields: Vec::new(),
            unused: Vec::new(),
        }));
        for (class, (parent, is_open)) in classes.iter_mut().zip(parents) {
            (class.parent, class.is_open) = (parent, is_open);
        }
        classes
    }

    fn own_classes(&self) -> Vec<Class> {
        let hierarchy = self.hierarchy;
        (0..hierarchy.classes.len())
            .map(|class| {
                let mut fields = Vec::new();
                let mut unused = Vec::new();
                for ancestor in hierarchy.ancestors(class) {
                    for field in &hierarchy.classes[ancestor].fields {
                        let selector = hierarchy.selector(ancestor, &field.name);
                        if !self.accessed.contains(&(ancestor, field.name.clone())) {
                            if !field.is_static {
                                unused.push((selector, field.one.kind));
                            }
                            continue;
                        }
                        if let Some(&id) = self.field_ids.get(&selector) {
                            fields.push((id, field.one.kind));
                        }
                    }
                }
                fields.sort_unstable();
                fields.dedup_by_key(|&mut (id, _)| id);
                Class {
                    name: hierarchy.classes[class].name.clone(),
                    parent: None,
                    is_open: false,
                    is_library: false,
                    fields,
                    unused,
                }
            })
            .collect()
    }
}

/// A place in a method, for messages.
pub(crate) fn place(hierarchy: &Hierarchy, method: MethodIndex, line: u32) -> Place {
    let class = &hierarchy.classes[method.0];
    let info = hierarchy.method(method);
    Place {
        file: class.source.clone(),
        line,
        method: signature(&class.name, &info.name, &info.types),
    }
}
