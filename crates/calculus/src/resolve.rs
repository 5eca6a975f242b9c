//! From syntax to a [`Theory`]: names, types, and everything that can be wrong before anything is
//! evaluated.
//!
//! Commands are taken in order, and a `#load`ed file is read in their middle, as MUCKE does. A
//! command with a mistake is left out. A predicate with a mistake in its body stays known, so that
//! its uses are not reported as well.

mod declarations;
mod predicates;

use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;
use droste_source::{SourceFile, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::parser::parse;
use crate::syntax::{About, Command, CommandKind, Fixpoint, Relation, Syntax};
use crate::term::{DefId, VarId};
use crate::theory::{Action, FileSpan, Printed, Theory};
use crate::types::{BOOL, TypeId};

/// Opens a file that `#load` names, or says why not.
pub type Loader<'a> = &'a mut dyn FnMut(&str) -> Result<SourceFile, String>;

/// The greatest depth of files that load files.
const DEEPEST: usize = 1000;

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
    /// How often variables of quantifiers have come into scope and left it: the time, for
    /// `Variable::scopes`.
    pub(crate) time: u32,
    /// Variables of quantifiers of the current predicate, by name and type, for reuse.
    pub(crate) pool: FxHashMap<(String, TypeId), Vec<VarId>>,
    /// The pool of queries, kept while predicates are read.
    query_pool: FxHashMap<(String, TypeId), Vec<VarId>>,
    /// New variables of quantifiers.
    pub(crate) locals: Vec<VarId>,
    pub(crate) in_scope: FxHashSet<VarId>,
    /// Whether the body of a predicate is being read, and not a query.
    pub(crate) in_predicate: bool,
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
                CommandKind::Quit => {
                    self.quit(&stack);
                    return;
                }
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

    /// Takes back what has been said about the rest of the files that are open: it is not read.
    fn quit(&mut self, open: &[(u32, usize)]) {
        for &(file, next) in open {
            let commands = &self.theory.syntax[file as usize].commands;
            let end = commands[next - 1].span.end;
            self.theory
                .diagnostics
                .retain(|(of, error)| *of != file || error.primary.0.start < end);
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
        crate::unfold::replace_care(&mut self.theory);
        crate::depend::check(&mut self.theory);
        crate::unfold::unfold(&mut self.theory);
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

    pub(crate) fn place(&self, span: Span) -> FileSpan {
        FileSpan {
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
