//! Settings files of ATTESTOR (`NAME.attestor`): a verification task as a list of options.
//!
//! A settings file is a command line spread over lines. Only blanks separate words; a quote begins
//! and ends a word with blanks in it; a line that begins with `#` is a comment. Words that belong to
//! no option are ignored, as ATTESTOR ignores them, with a warning. Options that ATTESTOR does not know are
//! refused by name. Of an option that may be given once, the last one counts.
//!
//! `docs/HEAP.md` describes the format and the options.

use std::fmt;

use droste_heap::{AbstractionOptions, NoRenaming, Renaming};
use droste_source::diagnostics::{Diagnostic, Severity};
use droste_source::suggest::nearest;
use droste_source::{SourceFile, Span};

/// A word of a settings file, and where it is.
pub type Word = (String, Span);

/// Which algorithm checks formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// On the fly, and what was generated is kept for the next formula.
    #[default]
    Shared,
    /// Formulas are about the states of the outermost method; calls are single steps.
    TopLevel,
    /// The state space is generated as the proof asks for it, afresh for each formula.
    OnTheFly,
    /// All state spaces are generated first; then formulas are checked, component by component.
    Rsm,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Shared => "shared",
            Mode::TopLevel => "top-level",
            Mode::OnTheFly => "on-the-fly",
            Mode::Rsm => "rsm",
        })
    }
}

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Nothing but errors.
    Less,
    /// As usual.
    #[default]
    Usual,
    /// Also what was done.
    More,
}

/// How heaps are abstracted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent switches, named as in settings files"
)]
pub struct Abstraction {
    /// Nodes that variables point to are not abstracted if they have outgoing selectors.
    pub admissible: bool,
    /// Constants count as variables for this.
    pub admissible_constants: bool,
    /// Composed markings count as variables for this.
    pub admissible_markings: bool,
    /// Every state is materialised around every variable.
    pub admissible_full: bool,
    /// Successors are abstracted at every statement, not only where ways meet, at calls and at returns.
    pub no_chain: bool,
    /// Rules whose external nodes are one and the same are used for abstraction.
    pub collapsing: bool,
    /// Nonterminals have indices.
    pub indexed: bool,
    /// Final states are abstracted without regard to variables.
    pub post_processing: bool,
    /// What cannot be reached from variables is removed.
    pub garbage_collection: bool,
    /// A search for faults does not go on from a heap if it has been at one that stands for it.
    pub subsumption: bool,
}

impl Default for Abstraction {
    fn default() -> Self {
        Abstraction {
            admissible: false,
            admissible_constants: false,
            admissible_markings: false,
            admissible_full: false,
            no_chain: false,
            collapsing: true,
            indexed: false,
            post_processing: false,
            garbage_collection: true,
            subsumption: true,
        }
    }
}

impl Abstraction {
    /// What `--canonical` stands for.
    pub fn make_canonical(&mut self) {
        self.admissible_full = true;
        self.admissible_constants = true;
        self.admissible_markings = true;
        self.no_chain = true;
    }

    /// What of this concerns the matching of rules.
    pub(crate) fn matching(&self) -> AbstractionOptions {
        AbstractionOptions {
            admissible: self.admissible,
            admissible_constants: self.admissible_constants,
            admissible_markings: self.admissible_markings,
            collapsed: self.collapsing,
        }
    }

    /// The same at the end of a method. With post-processing, what variables point to does not
    /// matter there.
    pub(crate) fn at_the_end(&self) -> AbstractionOptions {
        AbstractionOptions {
            admissible: self.admissible && !self.post_processing,
            ..self.matching()
        }
    }
}

/// A verification task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What the task is, for people.
    pub description: Option<String>,
    /// The class with the method to check.
    pub class: Option<String>,
    /// Where classes are.
    pub classpath: Option<String>,
    /// The method to check; `main` unless said otherwise.
    pub method: Option<String>,
    /// Files with grammars.
    pub grammars: Vec<String>,
    /// Names of predefined grammars.
    pub predefined: Vec<String>,
    /// Files with inductive predicates.
    pub predicates: Vec<String>,
    /// Types and selectors that are called otherwise in grammars and heaps.
    pub renames: Vec<Renaming>,
    /// Files with initial heaps.
    pub initial: Vec<String>,
    /// Files with initial heaps as symbolic heaps.
    pub initial_symbolic: Vec<String>,
    /// Files with contracts.
    pub contracts: Vec<String>,
    /// How heaps are abstracted.
    pub abstraction: Abstraction,
    /// `--canonical`: abstraction at every state, and counterexamples are made concrete.
    pub canonical: bool,
    /// Formulas.
    pub formulas: Vec<String>,
    /// Where the first of them stand in the settings file, with their quotes.
    pub places: Vec<Span>,
    /// The most states, of all state spaces together.
    pub max_states: Option<u64>,
    /// The most states of one state space.
    pub max_state_space: Option<u64>,
    /// The most nodes of one heap.
    pub max_heap: Option<u64>,
    /// The algorithm.
    pub mode: Option<Mode>,
    /// Methods that formulas are not about.
    pub skip: Vec<String>,
    /// Where the contracts that were found are written.
    pub save_contracts: Option<String>,
    /// Where pictures of the state space are written.
    pub export: Option<String>,
    /// Where a picture of the largest heaps is written.
    pub export_largest: Option<String>,
    /// Where pictures of the grammar are written.
    pub export_grammar: Option<String>,
    /// What paths begin with.
    pub root: Option<String>,
    /// How much is said.
    pub verbosity: Verbosity,
}

/// How many words follow an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    One,
    /// All words up to the next option.
    Many,
}

/// The options: long name, short name, what follows.
const OPTIONS: &[(&str, &str, Takes)] = &[
    ("admissible-abstraction", "a", Takes::Nothing),
    ("admissible-constants", "", Takes::Nothing),
    ("admissible-full", "", Takes::Nothing),
    ("admissible-markings", "", Takes::Nothing),
    ("canonical", "", Takes::Nothing),
    ("class", "c", Takes::One),
    ("classpath", "cp", Takes::One),
    ("contract", "", Takes::One),
    ("debug", "", Takes::Nothing),
    ("description", "d", Takes::One),
    ("export", "", Takes::One),
    ("export-contracts", "", Takes::One),
    ("export-grammar", "", Takes::One),
    ("export-large-states", "", Takes::One),
    ("grammar", "g", Takes::One),
    ("hierarchical-model-checking", "", Takes::Nothing),
    ("indexed", "", Takes::Nothing),
    ("inductive-predicates", "sid", Takes::One),
    ("initial", "i", Takes::One),
    ("initial-heap", "ih", Takes::One),
    ("load", "", Takes::One),
    ("max-heap", "mh", Takes::One),
    ("max-state-space", "ms", Takes::One),
    ("mc-skip", "", Takes::One),
    ("method", "m", Takes::One),
    ("mode", "", Takes::One),
    ("model-checking", "mc", Takes::One),
    ("no-chain-abstraction", "", Takes::Nothing),
    ("no-garbage-collector", "ngc", Takes::Nothing),
    ("no-rule-collapsing", "", Takes::Nothing),
    ("no-subsumption", "", Takes::Nothing),
    ("post-processing", "", Takes::Nothing),
    ("predefined-grammar", "pg", Takes::One),
    ("quiet", "q", Takes::Nothing),
    ("read", "l", Takes::One),
    ("rename", "r", Takes::Many),
    ("root-path", "", Takes::One),
    ("save-contracts", "", Takes::One),
    ("verbose", "v", Takes::Nothing),
];

/// The words of a settings file.
fn words(source: &SourceFile, problems: &mut Vec<Diagnostic>) -> Vec<Word> {
    let text = source.text();
    let mut words = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let offset = start;
        start += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        if line.starts_with('#') {
            continue;
        }
        let (mut word, mut begin, mut quoted) = (String::new(), offset, false);
        for (at, c) in line.char_indices() {
            let here = offset + at;
            match c {
                '"' if quoted => {
                    quoted = false;
                    words.push((std::mem::take(&mut word), span(begin, here + 1)));
                }
                '"' => {
                    if !word.is_empty() {
                        words.push((std::mem::take(&mut word), span(begin, here)));
                    }
                    (quoted, begin) = (true, here);
                }
                ' ' if !quoted => {
                    if !word.is_empty() {
                        words.push((std::mem::take(&mut word), span(begin, here)));
                    }
                }
                c => {
                    if word.is_empty() && !quoted {
                        begin = here;
                    }
                    word.push(c);
                }
            }
        }
        let end = offset + line.len();
        if quoted {
            let error = Diagnostic::error(span(begin, end), "a quote that is not closed");
            problems.push(error.help("a quoted word ends on its line"));
        }
        if !word.is_empty() {
            words.push((word, span(begin, end)));
        }
    }
    words
}

fn span(start: usize, end: usize) -> Span {
    let clip = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(clip(start), clip(end))
}

impl Settings {
    /// Reads a settings file. With it come warnings.
    pub fn parse(source: &SourceFile) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let words = words(source, &mut problems);
        let mut settings = Settings::default();
        let mut at = 0;
        while at < words.len() {
            let (word, place) = &words[at];
            at += 1;
            let Some(name) = option_name(word) else {
                let warning = Diagnostic::warning(*place, format!("`{word}` belongs to no option"));
                problems.push(warning.label("ignored").help("a comment begins with `#`"));
                continue;
            };
            let Some(&(long, _, takes)) = known(name) else {
                let error = Diagnostic::error(*place, format!("there is no option `{word}`"));
                let long = OPTIONS.iter().map(|option| option.0);
                problems.push(match nearest(name, long) {
                    Some(near) => error.help(format!("did you mean `--{near}`?")),
                    None => error.help("docs/HEAP.md lists the options"),
                });
                // Its arguments belong to it.
                while at < words.len() && option_name(&words[at].0).is_none() {
                    at += 1;
                }
                continue;
            };
            let mut arguments = Vec::new();
            while at < words.len() && takes != Takes::Nothing {
                let next = &words[at];
                if takes == Takes::Many && option_name(&next.0).is_some() {
                    break;
                }
                arguments.push(next.clone());
                at += 1;
                if takes == Takes::One {
                    break;
                }
            }
            if takes != Takes::Nothing && arguments.is_empty() {
                problems.push(Diagnostic::error(
                    *place,
                    format!("`{word}` needs an argument"),
                ));
                continue;
            }
            if let "read" | "load" = long {
                let warning = format!("`{word}` has no effect in a settings file");
                problems.push(Diagnostic::warning(*place, warning));
                continue;
            }
            if let Err(error) = settings.set(long, *place, arguments) {
                problems.push(error);
            }
            if settings.contradicts_itself() {
                let error = "`--post-processing` and `--canonical` exclude each other";
                problems.push(Diagnostic::error(*place, error).help("leave one of them out"));
                settings.canonical = false;
            }
        }
        if problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
        {
            return Err(problems);
        }
        if settings.canonical {
            settings.abstraction.make_canonical();
        }
        Ok((settings, problems))
    }

    /// How much is said. It cannot be both more and less.
    fn be(&mut self, wanted: Verbosity, place: Span) -> Result<(), Diagnostic> {
        if ![Verbosity::default(), wanted].contains(&self.verbosity) {
            let message = "`--quiet` excludes `--verbose` and `--debug`";
            return Err(Diagnostic::error(place, message).help("leave one of them out"));
        }
        self.verbosity = wanted;
        Ok(())
    }

    /// Whether final states are to be abstracted as far as possible, and yet as canonical as others.
    pub fn contradicts_itself(&self) -> bool {
        self.canonical && self.abstraction.post_processing
    }

    fn set(
        &mut self,
        option: &str,
        said: Span,
        mut arguments: Vec<Word>,
    ) -> Result<(), Diagnostic> {
        let many = std::mem::take(&mut arguments);
        let (text, place) = many.first().cloned().unwrap_or((String::new(), said));
        let abstraction = &mut self.abstraction;
        match option {
            "admissible-abstraction" => abstraction.admissible = true,
            "admissible-constants" => abstraction.admissible_constants = true,
            "admissible-full" => abstraction.admissible_full = true,
            "admissible-markings" => abstraction.admissible_markings = true,
            "canonical" => self.canonical = true,
            "class" => self.class = Some(text),
            "classpath" => self.classpath = Some(text),
            "contract" => self.contracts.push(text),
            "debug" | "verbose" => self.be(Verbosity::More, said)?,
            "description" => self.description = Some(text),
            "export" => self.export = Some(text),
            "export-large-states" => self.export_largest = Some(text),
            "export-contracts" | "save-contracts" => self.save_contracts = Some(text),
            "export-grammar" => self.export_grammar = Some(text),
            "grammar" => self.grammars.push(text),
            "hierarchical-model-checking" => self.mode = Some(Mode::Rsm),
            "indexed" => abstraction.indexed = true,
            "inductive-predicates" => self.predicates.push(text),
            "initial" => self.initial.push(text),
            "initial-heap" => self.initial_symbolic.push(text),
            "max-heap" => self.max_heap = Some(number(&text, place)?),
            "max-state-space" => self.max_state_space = Some(number(&text, place)?),
            "mc-skip" => {
                let names = text.split(',').map(str::trim);
                self.skip
                    .extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
            }
            "method" => self.method = Some(text),
            "mode" => self.mode = Some(mode(&text, place)?),
            "model-checking" => {
                self.formulas.push(text);
                self.places.push(place);
            }
            "no-chain-abstraction" => abstraction.no_chain = true,
            "no-garbage-collector" => abstraction.garbage_collection = false,
            "no-rule-collapsing" => abstraction.collapsing = false,
            "no-subsumption" => abstraction.subsumption = false,
            "post-processing" => abstraction.post_processing = true,
            "predefined-grammar" => self.predefined.push(text),
            "quiet" => self.be(Verbosity::Less, said)?,
            "rename" => self.renames.push(rename(&many)?),
            "root-path" => self.root = Some(text),
            other => {
                return Err(Diagnostic::error(
                    place,
                    format!("`{other}` is not supported"),
                ));
            }
        }
        Ok(())
    }
}

/// The name in `--name` or `-n`.
fn option_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let is_option = name.starts_with(|c: char| c.is_ascii_alphabetic());
    is_option.then_some(name)
}

fn known(name: &str) -> Option<&'static (&'static str, &'static str, Takes)> {
    let found = |option: &&(&str, &str, Takes)| {
        option.0 == name || (option.1 == name && !option.1.is_empty())
    };
    OPTIONS.iter().find(found)
}

fn number(text: &str, place: Span) -> Result<u64, Diagnostic> {
    text.parse().map_err(|_| {
        Diagnostic::error(place, format!("`{text}` is not a number")).help("for example 5000")
    })
}

fn mode(text: &str, place: Span) -> Result<Mode, Diagnostic> {
    let modes = [Mode::Shared, Mode::TopLevel, Mode::OnTheFly, Mode::Rsm];
    let found = modes.into_iter().find(|mode| mode.to_string() == text);
    found.ok_or_else(|| {
        Diagnostic::error(place, format!("there is no mode `{text}`"))
            .help("there are `shared`, `top-level`, `on-the-fly` and `rsm`")
    })
}

fn rename(words: &[Word]) -> Result<Renaming, Diagnostic> {
    let texts = words.iter().map(|(text, _)| &**text);
    Renaming::read(texts).map_err(|NoRenaming(wrong)| {
        let place = words.iter().find(|(text, _)| *text == wrong);
        let place = place.map_or_else(Span::default, |(_, place)| *place);
        Diagnostic::error(place, format!("`{wrong}` renames nothing"))
            .help("for example `ListNode=Ring next=succ`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Settings {
        Settings::parse(&SourceFile::new("t", text)).unwrap().0
    }

    fn errors(text: &str) -> Vec<String> {
        let problems = Settings::parse(&SourceFile::new("t", text)).unwrap_err();
        problems
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    #[test]
    fn options_may_be_spread_over_lines() {
        let settings = read(
            "# a comment\n--classpath \"code here\"\n--class Ring --method\n  walk\n-pg SLList\n\
             --rename ListNode=Ring next=succ\n--model-checking \"(GF {terminated} -> F {visited(p)})\"\n\
             -a --class Other\n",
        );
        assert_eq!(settings.classpath.as_deref(), Some("code here"));
        assert_eq!(settings.class.as_deref(), Some("Other"));
        assert_eq!(settings.method.as_deref(), Some("walk"));
        assert_eq!(settings.predefined, ["SLList"]);
        assert_eq!(settings.renames.len(), 1);
        assert_eq!(settings.formulas, ["(GF {terminated} -> F {visited(p)})"]);
        assert!(settings.abstraction.admissible && !settings.abstraction.no_chain);
    }

    #[test]
    fn canonical_is_four_options() {
        let abstraction = read("--canonical --no-garbage-collector").abstraction;
        assert!(abstraction.no_chain && abstraction.admissible_full);
        assert!(abstraction.admissible_constants && abstraction.admissible_markings);
        assert!(!abstraction.admissible && !abstraction.garbage_collection);
    }

    #[test]
    fn what_has_no_effect_is_said() {
        let source = SourceFile::new("t", "--load x -l y --class A");
        let (settings, warnings) = Settings::parse(&source).unwrap();
        assert_eq!(settings.class.as_deref(), Some("A"));
        assert_eq!(warnings.len(), 2);
        let said = errors("-a --canonical --post-processing");
        assert_eq!(
            said,
            ["`--post-processing` and `--canonical` exclude each other"]
        );
    }

    #[test]
    fn stray_words_are_ignored_with_a_warning() {
        let source = SourceFile::new("t", " Some title - of a task\n--class A\n");
        let (settings, warnings) = Settings::parse(&source).unwrap();
        assert_eq!(settings.class.as_deref(), Some("A"));
        // A lone dash is no option.
        assert_eq!(warnings.len(), 6);
    }

    #[test]
    fn what_is_wrong_is_said_by_name() {
        let said = errors("--clas A --mode fast --max-heap x --rename a --class");
        assert_eq!(
            said,
            [
                "there is no option `--clas`",
                "there is no mode `fast`",
                "`x` is not a number",
                "`a` renames nothing",
                "`--class` needs an argument",
            ]
        );
        assert_eq!(errors("--class \"A\n").len(), 1);
    }
}
