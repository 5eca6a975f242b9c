//! The flags of `droste check` for heap programs.

#![allow(clippy::doc_markdown, reason = "doc comments here are help texts")]

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// Java programs on linked structures.
#[derive(Debug, Args)]
#[command(next_help_heading = "Heap programs (Java)")]
pub(crate) struct HeapArgs {
    /// The class with the method to check (see --method); FILE is a .java, .class or .jar file or
    /// a directory
    ///
    /// FILE may also be a settings file, NAME.attestor, which says all this. docs/HEAP.md
    /// explains heap programs.
    #[arg(long, value_name = "NAME")]
    pub(crate) class: Option<String>,
    /// What heaps look like: a file with a graph grammar or inductive predicates, or SLList,
    /// DLList or BT (repeatable)
    #[arg(long, value_name = "FILE|NAME", value_hint = ValueHint::FilePath)]
    pub(crate) grammar: Vec<String>,
    /// A heap in which the program may start, in a file (repeatable) [default: the empty heap]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) initial: Vec<PathBuf>,
    /// Names of the grammar and the heaps that are different in the program:
    /// `ListNode=Ring next=succ` (repeatable)
    #[arg(long, value_name = "OLD=NEW ...")]
    pub(crate) rename: Vec<String>,
    /// What methods do, in a file: used where there is no code, checked where there is (repeatable)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) contract: Vec<PathBuf>,
    /// Write what methods do, as it was found, to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) save_contracts: Option<PathBuf>,
    /// How formulas are checked [default: shared; for a settings file that says nothing, top-level]
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// How heaps are abstracted, separated by commas [default: admissible]
    #[arg(long, value_enum, value_name = "WORDS", value_delimiter = ',')]
    pub(crate) abstraction: Vec<Word>,
    /// Where else classes are (repeatable)
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) classpath: Vec<PathBuf>,
    /// What the paths in a settings file begin with [default: the directory of the file]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root_path: Option<PathBuf>,
    /// FILE is a settings file, whatever it is called
    #[arg(short = 'l', long)]
    pub(crate) read: bool,
    /// Methods that formulas are not about, separated by commas: calls of them are single steps
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) skip_method: Vec<String>,
    /// With --emit dot or html: what is drawn [default: states, or on a page everything]
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        requires = "emit"
    )]
    pub(crate) picture: Vec<Picture>,
    /// Do as ATTESTOR does: null dereferences go unnoticed, and unknown values change nothing
    #[arg(long)]
    pub(crate) compat: bool,
    /// Also check that no object becomes unreachable while the program runs
    #[arg(long)]
    pub(crate) leaks: bool,
    /// The most nodes of one heap [default: 50]
    #[arg(long, value_name = "N")]
    pub(crate) max_heap: Option<usize>,
    /// The most states, of all methods together [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) max_states: Option<usize>,
}

impl HeapArgs {
    /// The flags that are given, all of which mean nothing but for heap programs.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            (self.class.is_some(), "--class"),
            (!self.grammar.is_empty(), "--grammar"),
            (!self.initial.is_empty(), "--initial"),
            (!self.rename.is_empty(), "--rename"),
            (!self.contract.is_empty(), "--contract"),
            (self.save_contracts.is_some(), "--save-contracts"),
            (self.mode.is_some(), "--mode"),
            (!self.abstraction.is_empty(), "--abstraction"),
            (!self.classpath.is_empty(), "--classpath"),
            (self.root_path.is_some(), "--root-path"),
            (!self.skip_method.is_empty(), "--skip-method"),
            (!self.picture.is_empty(), "--picture"),
            (self.compat, "--compat"),
            (self.leaks, "--leaks"),
            (self.max_heap.is_some(), "--max-heap"),
            (self.max_states.is_some(), "--max-states"),
        ]
        .into_iter()
        .filter_map(|(given, flag)| given.then_some(flag))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// On the fly; what was generated for one formula is used for the next
    Shared,
    /// Formulas are about the outermost method alone, in which a call is a single step
    TopLevel,
    /// States are generated as the tableau of the formula asks for them, afresh for each formula
    OnTheFly,
    /// All state spaces are generated first
    Rsm,
}

impl From<Mode> for droste_shape::settings::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Shared => Self::Shared,
            Mode::TopLevel => Self::TopLevel,
            Mode::OnTheFly => Self::OnTheFly,
            Mode::Rsm => Self::Rsm,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Word {
    /// Objects that variables point to stay as they are
    Admissible,
    /// The same for constants such as null
    Constants,
    /// The same for composed markings
    Markings,
    /// What variables point to is always shown in full
    Full,
    /// Abstract at every statement
    NoChain,
    /// `full,constants,markings,no-chain`
    Canonical,
    /// Use no rules in which external nodes coincide
    NoCollapse,
    /// Explore every heap, also one that another heap covers
    NoSubsumption,
    /// Nonterminals have indices
    Indexed,
    /// Keep what cannot be reached any more
    NoGarbageCollection,
    /// Abstract wherever possible
    Free,
    /// Abstract the heaps in which methods end wherever possible
    PostProcessing,
}

impl Word {
    /// Whether it is about what variables point to.
    pub(crate) fn minds_variables(self) -> bool {
        use Word::{Admissible, Canonical, Constants, Full, Markings, PostProcessing};
        matches!(
            self,
            Admissible | Constants | Markings | Full | Canonical | PostProcessing
        )
    }

    /// As it is written.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    /// The run of a violation, heap by heap
    Run,
    /// All states, with what comes next
    States,
    /// The heaps in which the program may start
    Heaps,
    /// The rules of the grammar
    Grammar,
}
