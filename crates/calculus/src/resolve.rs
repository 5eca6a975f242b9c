//! Syntax to [`Theory`]: names, types, and everything that can be wrong before anything is evaluated.
//!
//! Commands are taken in order, and a `#load`ed file is read in their middle, as MUCKE does. What is wrong is left
//! out; a predicate with a mistake in its body stays known, so that its uses are not reported as well.

use droste_lang::diagnostics::Diagnostic;
use droste_lang::source::{SourceFile, Span};
use droste_lang::suggest::nearest;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::layout::{blocks, interleave};
use crate::parser::parse;
use crate::syntax::{
    About, Command, CommandKind, Constraint, Declaration, ExprId, Fixpoint, List, Relation, Syntax,
};
use crate::term::{DefId, VarId};
use crate::theory::{Action, Definition, Place, Printed, Question, Theory, Variable, Wish};
use crate::types::{BOOL, TypeId, WIDEST};

/// Opens a file that `#load` names, or says why not.
pub type Loader<'a> = &'a mut dyn FnMut(&str) -> Result<SourceFile, String>;

/// Files that load files that load files, and so on, this deep and no deeper.
const DEEPEST: usize = 1000;
/// A theory has at most so many bits in all its variables.
const MOST_BITS: u32 = 1 << 28;

/// What a global name means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Global {
    Type(TypeId),
    Predicate(DefId),
    /// A type that was refused; its uses are not reported again.
    Broken,
}

/// Reads and checks a file and all files it loads.
pub fn load(source: SourceFile, loader: Loader<'_>) -> Theory {
    let mut resolver = Resolver::default();
    resolver
        .globals
        .insert("bool".to_owned(), Global::Type(BOOL));
    resolver.run(source, loader);
    resolver.finish()
}

/// Reads and checks a text that loads nothing.
pub fn load_text(name: &str, text: impl Into<std::sync::Arc<str>>) -> Theory {
    load(SourceFile::new(name, text), &mut |file| {
        Err(format!("`{file}` cannot be loaded here"))
    })
}

#[derive(Default)]
pub(crate) struct Resolver {
    pub(crate) theory: Theory,
    pub(crate) globals: FxHashMap<String, Global>,
    /// The file that is being read.
    pub(crate) file: u32,
    /// The variables in scope, innermost last.
    pub(crate) scope: FxHashMap<String, Vec<VarId>>,
    /// How often variables of quantifiers have come into scope and left it: the time, for [`Variable::scopes`].
    pub(crate) time: u32,
    /// Variables of quantifiers of the current predicate, by name and type, for reuse.
    pub(crate) pool: FxHashMap<(String, TypeId), Vec<VarId>>,
    /// Those of queries, kept while predicates are read.
    query_pool: FxHashMap<(String, TypeId), Vec<VarId>>,
    /// New variables of quantifiers.
    pub(crate) locals: Vec<VarId>,
    pub(crate) in_scope: FxHashSet<VarId>,
    too_many_bits: bool,
}

impl Resolver {
    pub(crate) fn text(&self, span: Span) -> &str {
        self.theory.files[self.file as usize].slice(span)
    }

    pub(crate) fn syntax(&self) -> &Syntax {
        &self.theory.syntax[self.file as usize]
    }

    pub(crate) fn say(&mut self, diagnostic: Diagnostic) {
        self.theory.diagnostics.push((self.file, diagnostic));
    }

    fn run(&mut self, source: SourceFile, loader: Loader<'_>) {
        let mut stack: Vec<(u32, usize)> = Vec::new();
        stack.push((self.open_file(source), 0));
        while let Some((file, next)) = stack.last_mut() {
            self.file = *file;
            let Some(command) = self.syntax().commands.get(*next).cloned() else {
                stack.pop();
                continue;
            };
            *next += 1;
            match command.kind {
                CommandKind::Quit => return,
                CommandKind::Load(names) => {
                    let here = self.file;
                    for span in names {
                        self.file = here;
                        let name = self.text(span).trim_matches('"').to_owned();
                        let active = |name: &str| {
                            let mut files = stack.iter();
                            files.any(|(f, _)| self.theory.files[*f as usize].name() == name)
                        };
                        let error = if active(&name) {
                            Err(format!("`{name}` loads itself"))
                        } else if stack.len() >= DEEPEST {
                            Err(format!("more than {DEEPEST} files load each other"))
                        } else {
                            // The name of the file it is found in may be another one.
                            loader(&name).and_then(|source| {
                                if active(source.name()) {
                                    Err(format!("`{}` loads itself", source.name()))
                                } else {
                                    Ok(source)
                                }
                            })
                        };
                        match error {
                            Ok(source) => stack.push((self.open_file(source), 0)),
                            Err(message) => self.say(Diagnostic::error(span, message)),
                        }
                    }
                }
                _ => self.command(&command),
            }
        }
    }

    fn open_file(&mut self, source: SourceFile) -> u32 {
        let (syntax, diagnostics) = parse(&source);
        let file = self.theory.files.len() as u32;
        self.theory.files.push(source);
        self.theory.syntax.push(syntax);
        self.theory
            .diagnostics
            .extend(diagnostics.into_iter().map(|d| (file, d)));
        file
    }

    fn finish(mut self) -> Theory {
        // Prototypes without definitions are told where they are used.
        self.theory.query_locals = std::mem::take(&mut self.locals);
        crate::depend::check(&mut self.theory);
        self.theory
    }

    fn command(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Enum { name, constants } => self.enumeration(*name, constants),
            CommandKind::Range { name, from, to } => self.range(*name, *from, *to),
            CommandKind::Class {
                name,
                components,
                constraints,
            } => self.class(*name, components, constraints),
            CommandKind::Predicate {
                fixpoint,
                result,
                name,
                parameters,
                constraints,
                body,
            } => self.predicate(*fixpoint, *result, *name, parameters, constraints, *body),
            CommandKind::Query(expr) => {
                if let Some(question) = self.question(*expr, command.span) {
                    self.theory.actions.push(Action::Query(question));
                }
            }
            CommandKind::Witness(wanted, expr) => {
                if let Some(question) = self.question(*expr, command.span) {
                    self.theory.actions.push(Action::Witness(*wanted, question));
                }
            }
            CommandKind::About(about, name) => {
                let Some(def) = self.predicate_named(*name) else {
                    return;
                };
                let place = self.place(*name);
                self.theory.actions.push(match about {
                    About::Count => Action::Count(def, place),
                    About::Size => Action::Size(def, place),
                    About::Dump => Action::Dump(def, place),
                    About::Reset => Action::Reset(Some(def)),
                });
            }
            CommandKind::Tuples(name, count) => {
                let Some(def) = self.predicate_named(*name) else {
                    return;
                };
                let place = self.place(*name);
                let most = match count {
                    None => 20,
                    Some(span) => self.text(*span).parse().unwrap_or(usize::MAX),
                };
                self.theory.actions.push(Action::Tuples(def, most, place));
            }
            CommandKind::ResetAll => self.theory.actions.push(Action::Reset(None)),
            CommandKind::Print(items) => self.print(items),
            CommandKind::Timer(word) => self.timer(*word),
            CommandKind::Switch { verbose, on } => {
                if *verbose {
                    self.theory.actions.push(Action::Verbose(*on));
                }
            }
            CommandKind::Gone => self.say(
                Diagnostic::warning(command.span, "this command has no effect")
                    .help("`#tuples` lists a relation, `#dump` prints its diagram"),
            ),
            CommandKind::Load(_) | CommandKind::Quit => {}
        }
    }

    pub(crate) fn place(&self, span: Span) -> Place {
        Place {
            file: self.file,
            span,
        }
    }

    fn timer(&mut self, word: Option<Span>) {
        let action = match word.map(|span| (span, self.text(span).to_owned())) {
            None => Action::Timer,
            Some((_, word)) if word == "reset" => Action::TimerReset,
            Some((_, word)) if word == "go" => Action::TimerRun(true),
            Some((_, word)) if word == "stop" => Action::TimerRun(false),
            Some((span, _)) => {
                self.say(
                    Diagnostic::error(span, "expected `reset`, `go` or `stop`")
                        .help("`#timer;` alone says the time"),
                );
                return;
            }
        };
        self.theory.actions.push(action);
    }

    fn print(&mut self, items: &[Span]) {
        let mut list = Vec::new();
        for &span in items {
            let text = self.text(span).to_owned();
            if let Some(text) = text.strip_prefix('"') {
                list.push(Printed::Text(text.trim_end_matches('"').to_owned()));
            } else if text == "symbols" {
                list.push(Printed::Symbols);
            } else if text == "statistics" {
                list.push(Printed::Statistics);
            } else if self.globals.contains_key(&text) {
                list.push(Printed::Symbol(self.describe(&text)));
            } else {
                let error = self.unknown(span, &text, "nothing");
                self.say(error);
            }
        }
        self.theory.actions.push(Action::Print(list));
    }

    /// The head of a declaration.
    fn describe(&self, name: &str) -> String {
        match self.globals.get(name) {
            Some(Global::Type(ty)) => self.theory.types.describe(*ty),
            Some(Global::Predicate(def)) => {
                let definition = self.theory.definition(*def);
                let parameters: Vec<String> = definition
                    .parameters
                    .iter()
                    .map(|&id| {
                        let variable = self.theory.variable(id);
                        self.theory.types.declare(variable.ty, &variable.name)
                    })
                    .collect();
                let word = match definition.fixpoint {
                    Fixpoint::Plain => "",
                    Fixpoint::Mu => "mu ",
                    Fixpoint::Nu => "nu ",
                };
                format!("{word}bool {name}({})", parameters.join(", "))
            }
            _ => name.to_owned(),
        }
    }

    /// An error about a name that means nothing.
    pub(crate) fn unknown(&self, span: Span, name: &str, what: &str) -> Diagnostic {
        let message = match what {
            "nothing" => format!("`{name}` is not declared"),
            _ => format!("there is no {what} `{name}`"),
        };
        let error = Diagnostic::error(span, message).label("not declared before this point");
        let names = self
            .globals
            .iter()
            .filter(|(_, global)| match what {
                "type" => matches!(global, Global::Type(_)),
                "predicate" => matches!(global, Global::Predicate(_)),
                _ => true,
            })
            .map(|(name, _)| name.as_str());
        match nearest(name, names) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    fn predicate_named(&mut self, span: Span) -> Option<DefId> {
        let name = self.text(span).to_owned();
        match self.globals.get(&name) {
            Some(Global::Predicate(def)) => Some(*def),
            Some(Global::Type(_)) => {
                self.say(
                    Diagnostic::error(span, format!("`{name}` is a type"))
                        .label("expected a predicate"),
                );
                None
            }
            Some(Global::Broken) => None,
            None => {
                let error = self.unknown(span, &name, "predicate");
                self.say(error);
                None
            }
        }
    }

    /// Whether a global name is still free; otherwise says so.
    fn is_free(&mut self, span: Span) -> bool {
        let name = self.text(span).to_owned();
        if !self.globals.contains_key(&name) {
            return true;
        }
        self.say(
            Diagnostic::error(span, format!("`{name}` is declared twice"))
                .label("declared before")
                .help("types and predicates share one name space; choose another name"),
        );
        false
    }

    /// A number; too large a one is refused.
    pub(crate) fn number(&mut self, span: Span) -> Option<u64> {
        let text = self.text(span);
        let number = text.parse().ok();
        if number.is_none() {
            self.say(
                Diagnostic::error(span, "this number is too large")
                    .help("numbers go up to 18446744073709551615"),
            );
        }
        number
    }

    fn enumeration(&mut self, name: Span, constants: &[Span]) {
        if !self.is_free(name) {
            return;
        }
        let text = self.text(name).to_owned();
        let mut names: Vec<String> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut fine = true;
        for &span in constants {
            let constant = self.text(span).to_owned();
            if seen.insert(constant.clone()) {
                names.push(constant);
            } else {
                fine = false;
                self.say(
                    Diagnostic::error(span, format!("`{constant}` is in `{text}` twice"))
                        .help("remove one of the two"),
                );
            }
        }
        let global = if names.is_empty() {
            self.say(
                Diagnostic::error(name, format!("`{text}` has no values"))
                    .help("a type has at least one value"),
            );
            Global::Broken
        } else if fine {
            Global::Type(self.theory.types.enumeration(text.clone(), names))
        } else {
            Global::Broken
        };
        self.globals.insert(text, global);
    }

    fn range(&mut self, name: Span, from: Span, to: Span) {
        if !self.is_free(name) {
            return;
        }
        let text = self.text(name).to_owned();
        let (from, to) = (self.number(from), self.number(to));
        let global = match (from, to) {
            (Some(from), Some(to)) => {
                let (lo, hi) = (from.min(to), from.max(to));
                Global::Type(self.theory.types.range(text.clone(), lo, hi))
            }
            _ => Global::Broken,
        };
        self.globals.insert(text, global);
    }

    /// The type of a declaration.
    pub(crate) fn declared_type(&mut self, declaration: &Declaration) -> Option<TypeId> {
        let name = self.text(declaration.ty).to_owned();
        let element = match self.globals.get(&name) {
            Some(Global::Type(ty)) => *ty,
            Some(Global::Broken) => return None,
            Some(Global::Predicate(_)) => {
                self.say(
                    Diagnostic::error(declaration.ty, format!("`{name}` is a predicate"))
                        .label("expected a type"),
                );
                return None;
            }
            None => {
                let error = self.unknown(declaration.ty, &name, "type");
                self.say(error);
                return None;
            }
        };
        let Some(span) = declaration.size else {
            return Some(element);
        };
        let size = self.number(span)?;
        let array = u32::try_from(size)
            .ok()
            .filter(|&size| size > 0)
            .and_then(|size| self.theory.types.array(element, size));
        if array.is_none() {
            let message = if size == 0 {
                "an array has at least one element".to_owned()
            } else {
                format!("this array has more than {WIDEST} bits")
            };
            self.say(Diagnostic::error(span, message));
        }
        array
    }

    fn class(&mut self, name: Span, components: &List, constraints: &[Constraint]) {
        if !self.is_free(name) {
            return;
        }
        let text = self.text(name).to_owned();
        let declarations = self.syntax().declarations(components).to_vec();
        let mut list: Vec<(String, TypeId)> = Vec::new();
        let mut index: FxHashMap<String, u32> = FxHashMap::default();
        let mut fine = true;
        for declaration in &declarations {
            let component = self.text(declaration.name).to_owned();
            let ty = self.declared_type(declaration);
            if index.insert(component.clone(), list.len() as u32).is_some() {
                self.say(
                    Diagnostic::error(
                        declaration.name,
                        format!("`{component}` is in `{text}` twice"),
                    )
                    .help("components of a class have different names"),
                );
                fine = false;
            }
            match ty {
                Some(ty) => list.push((component, ty)),
                None => fine = false,
            }
        }
        if fine && list.is_empty() {
            self.say(
                Diagnostic::error(name, format!("`{text}` has no components"))
                    .help("a class has at least one component"),
            );
            fine = false;
        }
        if !fine {
            self.globals.insert(text, Global::Broken);
            return;
        }
        let wishes = self.wishes(constraints, &index);
        let types: Vec<TypeId> = list.iter().map(|(_, ty)| *ty).collect();
        let Some(class) = self.theory.types.class(text.clone(), list) else {
            self.say(Diagnostic::error(
                name,
                format!("this class has more than {WIDEST} bits"),
            ));
            self.globals.insert(text, Global::Broken);
            return;
        };
        if !wishes.is_empty() {
            let types_table = &self.theory.types;
            let mut offsets = Vec::new();
            let mut offset = 0;
            for ty in &types {
                offsets.push(offset);
                offset += types_table.get(*ty).width;
            }
            let layouts: Vec<Vec<u32>> = types
                .iter()
                .map(|ty| types_table.layout(*ty).collect())
                .collect();
            // Components are interleaved only where it is wished for.
            let blocks = blocks(types.len() as u32, &wishes, |_| false);
            let layout = blocks
                .iter()
                .flat_map(|block| interleave(block, |i| layouts[i as usize].len() as u32))
                .map(|(i, bit)| offsets[i as usize] + layouts[i as usize][bit as usize])
                .collect();
            self.theory.types.set_layout(class, layout);
        }
        self.globals.insert(text, Global::Type(class));
    }

    fn wishes(&mut self, list: &[Constraint], index: &FxHashMap<String, u32>) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for constraint in list {
            let mut find = |span: Span| {
                let name = self.text(span).to_owned();
                let found = index.get(&name).copied();
                if found.is_none() {
                    let message = format!("`{name}` is not in this list");
                    self.say(
                        Diagnostic::error(span, message)
                            .label("a constraint is about two variables of the list before it"),
                    );
                }
                found
            };
            if let (Some(left), Some(right)) = (find(constraint.left), find(constraint.right))
                && left != right
            {
                let relation = constraint.relation;
                wishes.push(Wish {
                    left,
                    relation,
                    right,
                });
            }
        }
        wishes
    }

    /// A new variable; nothing if there are too many bits.
    pub(crate) fn new_variable(&mut self, name: String, ty: TypeId, at: Span) -> Option<VarId> {
        let width = self.theory.types.get(ty).width;
        let first = self.theory.bits;
        if first + width > MOST_BITS {
            if !std::mem::replace(&mut self.too_many_bits, true) {
                self.say(Diagnostic::error(
                    at,
                    format!("all variables together have more than {MOST_BITS} bits"),
                ));
            }
            return None;
        }
        self.theory.bits += width;
        let id = VarId(self.theory.variables.len() as u32);
        self.theory.variables.push(Variable {
            name,
            ty,
            first,
            scopes: Vec::new(),
        });
        Some(id)
    }

    fn predicate(
        &mut self,
        fixpoint: Fixpoint,
        result: Span,
        name: Span,
        parameters: &List,
        constraints: &[Constraint],
        body: Option<ExprId>,
    ) {
        if self.text(result) != "bool" {
            self.say(
                Diagnostic::error(result, "the result of a predicate is `bool`")
                    .help("write `bool`"),
            );
        }
        let Some(def) = self.head(fixpoint, name, parameters, constraints, body.is_some()) else {
            return;
        };
        let Some(body) = body else {
            return;
        };
        self.query_pool = std::mem::take(&mut self.pool);
        let query_locals = std::mem::take(&mut self.locals);
        let parameters = self.theory.definition(def).parameters.clone();
        for &id in &parameters {
            let name = self.theory.variable(id).name.clone();
            self.scope.entry(name).or_default().push(id);
        }
        let root = self.formula(body, false);
        let dual = (fixpoint == Fixpoint::Nu)
            .then(|| self.formula(body, true))
            .flatten();
        self.scope.clear();
        self.pool = std::mem::take(&mut self.query_pool);
        let locals = std::mem::replace(&mut self.locals, query_locals);
        let references = root.map(|root| crate::depend::references(&self.theory.terms, root));
        let definition = &mut self.theory.definitions[def.0 as usize];
        definition.locals = locals;
        definition.broken |= root.is_none();
        definition.body = root;
        definition.dual = dual;
        definition.references = references.unwrap_or_default();
    }

    /// Declares a predicate, or completes its prototype.
    fn head(
        &mut self,
        fixpoint: Fixpoint,
        name: Span,
        parameters: &List,
        constraints: &[Constraint],
        has_body: bool,
    ) -> Option<DefId> {
        let text = self.text(name).to_owned();
        let declarations = self.syntax().declarations(parameters).to_vec();
        let mut types = Vec::new();
        let mut names = Vec::new();
        let mut index: FxHashMap<String, u32> = FxHashMap::default();
        let mut broken = false;
        for declaration in &declarations {
            let parameter = self.text(declaration.name).to_owned();
            let ty = self.declared_type(declaration);
            broken |= ty.is_none();
            if let Some(ty) = ty {
                self.warn_about_constant(declaration.name, &parameter, ty);
            }
            if index
                .insert(parameter.clone(), names.len() as u32)
                .is_some()
            {
                self.say(
                    Diagnostic::error(
                        declaration.name,
                        format!("there are two parameters `{parameter}`"),
                    )
                    .help("parameters of a predicate have different names"),
                );
                broken = true;
            }
            types.push(ty.unwrap_or(BOOL));
            names.push(parameter);
        }
        let wishes = self.wishes(constraints, &index);
        let known = match self.globals.get(&text) {
            Some(Global::Predicate(def)) => Some(*def),
            None => None,
            Some(_) => {
                self.is_free(name);
                return None;
            }
        };
        if let Some(def) = known {
            let definition = self.theory.definition(def);
            if definition.body.is_some() || definition.broken || !has_body {
                if definition.broken && definition.body.is_none() && has_body {
                    return None;
                }
                let (message, what) = if has_body {
                    (format!("`{text}` is defined twice"), "defined")
                } else {
                    (format!("`{text}` is declared twice"), "declared")
                };
                let before = definition.place;
                let mut error = Diagnostic::error(name, message)
                    .help("one predicate has one definition; choose another name");
                if before.file == self.file {
                    error = error.also(before.span, format!("{what} here before"));
                }
                self.say(error);
                return None;
            }
            let same = definition.fixpoint == fixpoint
                && definition.parameters.len() == types.len()
                && definition
                    .parameters
                    .iter()
                    .zip(&types)
                    .all(|(id, ty)| self.theory.variable(*id).ty == *ty);
            let known_parameters = definition.parameters.clone();
            if !same && !broken {
                let place = definition.place;
                let mut error = Diagnostic::error(
                    name,
                    format!("`{text}` is not defined as its prototype says"),
                )
                .help("types of parameters and `mu` or `nu` must be the same in both");
                if place.file == self.file {
                    error = error.also(place.span, "the prototype");
                }
                self.say(error);
                broken = true;
            }
            if broken {
                self.theory.definitions[def.0 as usize].broken = true;
                return None;
            }
            for (id, name) in known_parameters.into_iter().zip(names) {
                self.theory.variables[id.0 as usize].name = name;
            }
            let place = self.place(name);
            let definition = &mut self.theory.definitions[def.0 as usize];
            definition.place = place;
            definition.wishes.extend(wishes);
            return Some(def);
        }
        let mut ids = Vec::new();
        for (i, (parameter, ty)) in names.into_iter().zip(types).enumerate() {
            match self.new_variable(parameter, ty, declarations[i].name) {
                Some(id) => ids.push(id),
                None => broken = true,
            }
        }
        let def = DefId(self.theory.definitions.len() as u32);
        self.theory.definitions.push(Definition {
            name: text.clone(),
            place: self.place(name),
            fixpoint,
            parameters: ids,
            wishes,
            locals: Vec::new(),
            body: None,
            dual: None,
            references: Vec::new(),
            broken,
        });
        self.globals.insert(text, Global::Predicate(def));
        (!broken).then_some(def)
    }

    /// A variable with the name of a constant of its type is hidden by it in places.
    pub(crate) fn warn_about_constant(&mut self, span: Span, name: &str, ty: TypeId) {
        if self.theory.types.constant(ty, name).is_some() {
            let ty = self.theory.types.get(ty).name.clone();
            let warning =
                Diagnostic::warning(span, format!("`{name}` is also a constant of `{ty}`"))
                    .help("to the right of `=` and as an argument it means the constant");
            self.say(warning);
        }
    }

    fn question(&mut self, expr: ExprId, span: Span) -> Option<Question> {
        let root = self.formula(expr, false)?;
        let dual = self.formula(expr, true)?;
        Some(Question {
            root,
            dual,
            references: crate::depend::references(&self.theory.terms, root),
            place: self.place(span),
            expr,
        })
    }
}

impl Relation {
    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            Relation::Together => "~+",
            Relation::Apart => "~-",
            Relation::Before => "<",
        }
    }
}
