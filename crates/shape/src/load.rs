//! From settings to a task: the program, the grammar and the initial heaps are read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use droste_heap::{
    Contract, Fragment, Grammar, Heap, Indices, Node, Notes, Predefined, Symbols, TypeId, Variable,
    predefined, read_contracts_noting, read_grammar_noting, read_heap_noting, read_sid,
    read_symbolic_heap_noting,
};
use droste_pointer::PointerProgram;
use droste_source::diagnostics::{Diagnostic, Severity, render};
use droste_source::suggest::nearest;
use droste_source::{SourceFile, io_reason};

use crate::at_hand::AtHand;
use crate::contract::Contracts;
use crate::machine::Options;
use crate::settings::Settings;
use crate::task::Task;
use crate::vocabulary::Vocabulary;
use crate::wellformed::{WellFormed, misfits};

/// Why there is no task.
#[derive(Debug)]
pub enum LoadError {
    /// A setting is missing or wrong.
    Setting(String),
    /// The program cannot be loaded.
    Program(droste_java::Error),
    /// A file cannot be read.
    Read(PathBuf, std::io::Error),
    /// There are mistakes in a file.
    Wrong(Vec<Diagnostic>, Box<SourceFile>),
}

impl LoadError {
    /// Whether a file or a directory cannot be read.
    pub fn is_about_a_path(&self) -> bool {
        match self {
            LoadError::Program(error) => matches!(error, droste_java::Error::Read { .. }),
            LoadError::Read(..) => true,
            LoadError::Setting(_) | LoadError::Wrong(..) => false,
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Setting(text) => f.write_str(text),
            LoadError::Program(error) => error.fmt(f),
            LoadError::Read(path, error) => {
                write!(f, "cannot read `{}`: {}", path.display(), io_reason(error))
            }
            LoadError::Wrong(diagnostics, source) => {
                f.write_str(render(diagnostics, source, false).trim_end())
            }
        }
    }
}

impl std::error::Error for LoadError {}

/// A task that was loaded.
pub struct Loaded {
    /// The task.
    pub task: Task,
    /// What of the program is not modelled exactly.
    pub warnings: Vec<droste_java::Warning>,
    /// What is ignored in the files of grammars, heaps and contracts.
    pub remarks: Vec<(Vec<Diagnostic>, SourceFile)>,
    /// What of the grammar does not fit the program.
    pub misfits: Vec<String>,
    /// How long the Java compiler took, if it was needed.
    pub compiling: Option<Duration>,
}

/// The most nodes of a heap, unless the settings say otherwise.
const MOST_NODES: usize = 50;

/// More problems of one heap are not told.
const MOST_PROBLEMS: usize = 20;

/// Loads what the settings name. Paths in them begin with `root`; classes are also looked for in
/// `classpath`.
pub fn load(
    settings: &Settings,
    root: &Path,
    classpath: &[PathBuf],
    compat: bool,
) -> Result<Loaded, LoadError> {
    let missing = |what: &str, flag: &str| {
        LoadError::Setting(format!("which {what} is to be checked? Say so with {flag}"))
    };
    let mut paths = classpath.to_vec();
    paths.extend(settings.classpath.iter().map(|path| root.join(path)));
    if paths.is_empty() {
        return Err(missing("program", "--classpath"));
    }
    let class = settings.class.clone();
    if class.is_none() {
        // An archive that is broken has no class.
        droste_java::check_archives(&paths).map_err(LoadError::Program)?;
    }
    let which = droste_java::Options {
        class: class.ok_or_else(|| missing("class", "--class"))?,
        method: settings.method.clone().unwrap_or_else(|| "main".into()),
    };
    let program = droste_java::load(&paths, &which).map_err(LoadError::Program)?;
    for renaming in &settings.renames {
        let name = renaming.types().1;
        let all = any_of(&program.program, name);
        if let Some(all) = all {
            let message = format!("--rename: `{name}` may be any of {all}");
            return Err(LoadError::Setting(message));
        }
    }
    let mut symbols = Symbols::new();
    let mut remarks = Vec::new();
    let grammar = grammar(settings, root, &program.program, &mut symbols, &mut remarks)?;
    let mut initial = Vec::new();
    for name in settings.initial.iter().chain(&settings.initial_symbolic) {
        let (mut heap, notes, source) =
            initial_heap(settings, root, name, &program.program, &mut symbols)?;
        let vocabulary = Vocabulary::new(&program.program, &grammar);
        let mut problems = Vec::new();
        for mention in &notes.mentions {
            problems.extend(vocabulary.problem(settings, &mut symbols, mention));
        }
        let wellformed = WellFormed {
            program: &program.program,
            grammar: &grammar,
            symbols: &symbols,
            interfaces: &program.interfaces,
            field_types: &program.field_types,
            renames: &settings.renames,
        };
        problems.extend(wellformed.problems(&heap, &notes));
        problems.truncate(MOST_PROBLEMS);
        // ATTESTOR takes every name.
        if !compat && !problems.is_empty() {
            return Err(LoadError::Wrong(problems, Box::new(source)));
        }
        for one in &mut problems {
            one.severity = Severity::Warning;
        }
        problems.extend(notes.warnings);
        remarks.push((problems, source));
        // A node of type NULL is null, whether a variable says so or not.
        let is_null = |node: &Node| heap.node_type(*node) == TypeId::NULL;
        let null = heap.nodes().find(is_null);
        if let Some(null) = null
            && !compat
            && heap.variable(Variable::NULL).is_none()
        {
            heap.set_variable(Variable::NULL, null);
        }
        initial.push(heap);
    }
    let most = |limit: Option<u64>, otherwise: usize| match limit {
        Some(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
        None => otherwise,
    };
    let options = Options {
        abstraction: settings.abstraction.clone(),
        compat,
        hierarchical: true,
        leaks: false,
        hands: false,
        concrete: false,
        max_heap: most(settings.max_heap, MOST_NODES),
        max_states: most(settings.max_states, usize::MAX),
        max_state_space: most(settings.max_state_space, usize::MAX),
    };
    let mut contracts = Vec::new();
    for name in &settings.contracts {
        let source = source(&root.join(name))?;
        let mut notes = Notes::default();
        let indices = indices(settings);
        let read = read_contracts_noting(&mut symbols, source.text(), indices, &mut notes);
        match read {
            Ok(list) => contracts.extend(list),
            Err(problems) => return Err(LoadError::Wrong(problems, Box::new(source))),
        }
        remarks.push((notes.warnings, source));
    }
    let mut strangers = Vec::new();
    for one in &contracts {
        for heap in one.contracts.iter().flat_map(Contract::heaps) {
            for &(variable, _) in heap.variables() {
                let name = symbols.variable_name(variable);
                if variable.is_constant() || variable.is_marking() || means_something(name) {
                    continue;
                }
                let known = ["@return", "@thrown", "@this:", "@parameter0:"];
                let near = nearest(name, known.into_iter());
                let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                let text = format!(
                    "the contract of {} has a variable `{name}`, which means nothing there{near}",
                    one.method
                );
                if !strangers.contains(&text) {
                    strangers.push(text);
                }
            }
        }
    }
    for contract in contracts.iter_mut().flat_map(|one| &mut one.contracts) {
        for heap in contract.heaps_mut() {
            rename(settings, &program.program, &mut symbols, heap);
        }
    }
    let at_hand = AtHand {
        program: &program.program,
        missing: &program.missing,
        unknown_parents: &program.unknown_parents,
    };
    let names = settings.initial.iter().chain(&settings.initial_symbolic);
    let heaps = names.zip(&initial);
    let heaps = heaps.map(|(name, heap)| (format!("the initial heap `{name}`"), heap));
    let rules = grammar.rules().iter();
    let rules = rules.map(|rule| ("the grammar".to_owned(), &rule.graph));
    let given = contracts.iter().flat_map(|one| {
        let heaps = one.contracts.iter().flat_map(Contract::heaps);
        heaps.map(|heap| (format!("the contract of {}", one.method), heap))
    });
    for (whose, heap) in heaps.chain(rules).chain(given) {
        if let Some(problem) = at_hand.problem(&symbols, &whose, heap) {
            return Err(LoadError::Setting(problem));
        }
    }
    let mut task = Task {
        program: program.program,
        symbols,
        grammar,
        initial,
        options,
        contracts: Contracts::default(),
    };
    task.adopt_fields();
    task.set_contracts(contracts);
    if let Some(method) = task.contracts.torn() {
        return Err(LoadError::Setting(format!(
            "{method} has several contracts with the same precondition, and too many external nodes of it \
             can be exchanged: put the postconditions into one contract"
        )));
    }
    let mut misfits = if compat {
        Vec::new()
    } else {
        let renames = &settings.renames;
        misfits(
            &task.program,
            &task.symbols,
            &task.grammar,
            &task.initial,
            renames,
        )
    };
    misfits.extend(strangers);
    Ok(Loaded {
        task,
        misfits,
        warnings: program.warnings,
        remarks,
        compiling: program.compiling,
    })
}

/// Whether a variable of a contract is one of those that a call has.
fn means_something(name: &str) -> bool {
    let number = name.strip_prefix("@parameter");
    let number = number.and_then(|rest| rest.strip_suffix(':'));
    matches!(name, "@return" | "@thrown" | "@this:")
        || number.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn source(path: &Path) -> Result<SourceFile, LoadError> {
    let bytes = std::fs::read(path).map_err(|error| LoadError::Read(path.into(), error))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(SourceFile::new(path.display().to_string(), &*text))
}

fn indices(settings: &Settings) -> Indices {
    if settings.abstraction.indexed {
        Indices::Read
    } else {
        Indices::Ignored
    }
}

fn predefined_names() -> String {
    let names: Vec<&str> = Predefined::NAMES.iter().map(|pair| pair.0).collect();
    names.join(", ")
}

/// Whether a text is JSON and no symbolic heap: it begins like that, or there is nothing but the name of
/// its file to tell.
fn is_json(source: &SourceFile, first: &[char]) -> bool {
    let text = source.text().trim_start();
    let named = Path::new(source.name()).extension();
    text.starts_with(first) || text.is_empty() && named.is_some_and(|name| name == "json")
}

fn grammar(
    settings: &Settings,
    root: &Path,
    program: &PointerProgram,
    symbols: &mut Symbols,
    remarks: &mut Vec<(Vec<Diagnostic>, SourceFile)>,
) -> Result<Grammar, LoadError> {
    let mut fragments: Vec<Fragment> = Vec::new();
    for name in &settings.predefined {
        let which = Predefined::named(name).ok_or_else(|| {
            LoadError::Setting(format!(
                "there is no predefined grammar `{name}`; there are {}",
                predefined_names()
            ))
        })?;
        fragments.extend(predefined(symbols, which));
    }
    for name in &settings.grammars {
        let path = root.join(name);
        // On the command line there is one flag for files and names.
        if !path.exists()
            && let Some(which) = Predefined::named(name)
        {
            fragments.extend(predefined(symbols, which));
            continue;
        }
        let source = source(&path).map_err(|error| match error {
            LoadError::Read(path, why) if !name.contains(['/', '.']) => {
                LoadError::Setting(format!(
                    "cannot read `{}`: {}; the grammars with a name are {}",
                    path.display(),
                    io_reason(&why),
                    predefined_names()
                ))
            }
            error => error,
        })?;
        let mut notes = Notes::default();
        let read = if is_json(&source, &['[', '{']) {
            read_grammar_noting(symbols, source.text(), indices(settings), &mut notes)
        } else {
            read_sid(symbols, source.text())
        };
        match read {
            Ok(read) => fragments.extend(read),
            Err(problems) => return Err(LoadError::Wrong(problems, Box::new(source))),
        }
        remarks.push((notes.warnings, source));
    }
    for name in &settings.predicates {
        let source = source(&root.join(name))?;
        let read = read_sid(symbols, source.text());
        fragments.extend(read.map_err(|problems| LoadError::Wrong(problems, Box::new(source)))?);
    }
    for graph in fragments.iter_mut().flat_map(|one| &mut one.rules) {
        rename(settings, program, symbols, graph);
    }
    Ok(Grammar::new(symbols, fragments))
}

/// A heap, what was met in its text, and the text.
fn initial_heap(
    settings: &Settings,
    root: &Path,
    name: &str,
    program: &PointerProgram,
    symbols: &mut Symbols,
) -> Result<(Heap, Notes, SourceFile), LoadError> {
    let source = source(&root.join(name))?;
    let mut notes = Notes::default();
    let read = if is_json(&source, &['{']) {
        read_heap_noting(symbols, source.text(), indices(settings), &mut notes)
    } else {
        read_symbolic_heap_noting(symbols, source.text(), &mut notes)
    };
    let mut heap = match read {
        Ok(heap) => heap,
        Err(problems) => return Err(LoadError::Wrong(problems, Box::new(source))),
    };
    rename(settings, program, symbols, &mut heap);
    Ok((heap, notes, source))
}

/// Renames what a heap has. Then a type that is the end of the name of a class is that class.
pub(crate) fn rename(
    settings: &Settings,
    program: &PointerProgram,
    symbols: &mut Symbols,
    heap: &mut Heap,
) {
    for renaming in &settings.renames {
        renaming.rename(symbols, heap);
    }
    let nodes: Vec<Node> = heap.nodes().collect();
    for node in nodes {
        let object = heap.node_type(node);
        if object.is_constant() {
            continue;
        }
        if let Some(class) = program.class_called(symbols.type_name(object)) {
            let class = symbols.add_type(&program.class(class).name);
            heap.set_type(node, class);
        }
    }
}

/// The classes that may be meant by a name, if there are several.
pub(crate) fn any_of(program: &PointerProgram, name: &str) -> Option<String> {
    let all = program.classes_called(name);
    let names = all.iter().map(|&id| program.class(id).name.as_str());
    let names: Vec<&str> = names.collect();
    (names.len() > 1).then(|| names.join(", "))
}

/// What the paths in a settings file begin with: what it says itself, from where it is.
pub fn root_of(file: &Path, settings: &Settings) -> PathBuf {
    let here = file.parent().unwrap_or(Path::new(""));
    match &settings.root {
        Some(root) => here.join(root),
        None => here.to_path_buf(),
    }
}
