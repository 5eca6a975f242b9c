//! The flags, declared once for parsing, help, completions and man pages.

#![allow(clippy::doc_markdown, reason = "doc comments here are help texts")]

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::heap::args::HeapArgs;
use crate::pds::args::{self as pds, PdsArgs};

const ABOUT: &str = "Droste: a model checker for programs that call themselves";

const LONG_ABOUT: &str = "\
Droste: a model checker for programs that call themselves.

Droste reads a recursive program over Booleans and bounded integers and answers, \
exactly and for an unbounded call stack, whether any of its runs does what it must not do. \
If one does, Droste shows it. Java methods on lists, trees and other linked structures are checked, too, \
on heaps of any size.";

const EXAMPLES: &str = "\
Examples:
  droste check lock.bp                         assertions and the label ERROR
  droste check lock.bp --reach main:DONE       can main get to DONE?
  droste check flip.bp --repeat again          can `again` be visited infinitely often?
  droste check flip.bp --ltl 'G F again'       does every run visit `again` infinitely often?
  droste check lock.bp --monitor twice.mon     does the monitor find anything?
  droste check List.java --method reverse --grammar SLList --rename ListNode=List --initial list.txt
                                               a Java method, on lists of any length
  droste check lock.bp --json | jq .verdict    for scripts

Exit codes: 0 holds, 1 violated, 2 could not be checked, 3 unknown (a limit was reached).
`droste check --help` explains every option.";

const CHECK_EXAMPLES: &str = "\
Examples:
  droste check lock.bp                         assertions and the label ERROR
  droste check lock.bp --reach A --reach f:B   is A, or B in the procedure f, reachable?
  droste check lock.bp --reach A --critical B,f:C,D
                                               the run to A that touches most of B, C and D
  droste check philosophers.bp --deadlock      can a run get stuck?
  droste check flip.bp --repeat again --runs finite-stack
                                               infinitely often, with a bounded stack?
  droste check flip.bp --ltl 'G F again' --runs both
                                               temporal logic; which runs violate it?
  droste check lock.bp --monitor twice.mon     does the monitor get to a target?
  droste check driver.bp --contexts 4          threads: violated with at most 4 switches?
  droste check lock.bp --order bfs --trace t.txt
                                               a shortest violation, also written to t.txt
  droste check big.bp --timeout 60 --memory 4000
                                               give up after a minute or at 4 GB
  droste check List.java --method reverse --grammar SLList --rename ListNode=List --initial list.txt
                                               a Java method: is a field of null used?
  droste check task.attestor                   the same, with formulas, from a settings file
  droste check task.attestor --emit html > task.html
                                               a page with the run, the states, the heaps, the grammar
  generate | droste check - --json             from standard input, for scripts

Exit codes:
  0  holds       no run violates the property
  1  violated    some run does: the trace shows it, and has been replayed
  2              could not be checked: usage, bad input, or a defect in Droste
  3  unknown     a limit was reached, or Ctrl-C was pressed";

const SOLVE_EXAMPLES: &str = "\
Examples:
  droste solve reach.mu                        answer every query in reach.mu
  droste solve reach.mu --json | jq .results   for scripts
  droste solve big.mu --timeout 60 -v          give up after a minute; show every fixpoint

Exit codes:
  0  every query is true
  1  some query is false
  2  there are errors in the file, or a defect in Droste
  3  a limit was reached, or Ctrl-C was pressed: not every query was answered";

const LTL_EXAMPLES: &str = "\
Examples:
  droste ltl 'G (request -> F grant)'          how large is the automaton, and of which class?
  droste ltl 'G (request -> F grant)' --negate the automaton of the violations
  droste ltl 'G F {x = 3}' --to hoa            the automaton, for other tools
  droste ltl '[]<>p' --to dot | dot -Tsvg      a picture
  droste ltl --ltl-file properties.ltl         several properties
  droste ltl --hoa property.hoa --to dot       an automaton of another tool

Exit codes:
  0  done
  2  there are errors in the formula or file, or a defect in Droste
  3  a limit was reached, or Ctrl-C was pressed";

const ANALYZE_EXAMPLES: &str = "\
Examples:
  droste analyze lock.bp --live                which variables may still be read?
  droste analyze lock.bp --uninit --all        which may be unassigned, at every statement?
  droste analyze counter.bp --affine           which relations hold between integers?
  droste analyze lock.bp --constants --json    for scripts

Exit codes:
  0  done
  2  could not be analyzed: usage, bad input, or a defect in Droste
  3  a limit was reached, or Ctrl-C was pressed";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "droste", version, about = ABOUT, long_about = LONG_ABOUT, after_help = EXAMPLES)]
#[command(max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a program: a verdict, and a trace if it is violated
    ///
    /// Without a property, the question is whether an assertion can fail, a value leave its range,
    /// something be divided by zero, or one of the labels ERROR and SLIC_ERROR be reached. For a heap
    /// program (Java), it is whether a field of null is used.
    #[command(
        after_help = "`droste check --help` says more, with examples.",
        after_long_help = CHECK_EXAMPLES
    )]
    Check(Box<CheckArgs>),
    /// Solve equations of the fixed-point calculus, in the language of MUCKE
    ///
    /// Queries are answered on standard output in the order of the file. docs/CALCULUS.md describes
    /// the language.
    #[command(after_help = SOLVE_EXAMPLES)]
    Solve(SolveArgs),
    /// Translate formulas of linear temporal logic into automata
    ///
    /// Without --to, shows the simplified formula and how large its automaton is. docs/LTL.md describes the
    /// syntax, files of properties, and the automata.
    #[command(after_help = LTL_EXAMPLES)]
    Ltl(LtlArgs),
    /// Find out what holds at the statements of a program: data flow across procedures
    ///
    /// Prints the program with what is known before each statement that has a label. If there is
    /// no label, or with --all, before each statement. docs/ANALYSES.md says what each analysis
    /// means.
    #[command(after_help = ANALYZE_EXAMPLES)]
    Analyze(AnalyzeArgs),
    /// Ask about weighted pushdown systems
    ///
    /// Which configurations reach a set of them, or are reached from one, with which weight; how one set reaches
    /// another. docs/WEIGHTED.md describes the files, the weights and the commands.
    #[command(after_help = pds::EXAMPLES, arg_required_else_help = true)]
    Pds(PdsArgs),
    /// Print a script that completes droste's commands and flags in a shell
    Completions(CompletionsArgs),
    /// Print the man page
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The program; `-` is standard input
    ///
    /// A Boolean program; or a heap program: a .java, .class or .jar file, a directory of them, or a
    /// settings file, NAME.attestor. With --emit, a .json file with a heap or a grammar.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) property: PropertyArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) heap: HeapArgs,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SolveArgs {
    /// The equations and queries; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Write one JSON object to standard output instead of text
    ///
    /// If there are errors in the file, standard error says which, and the exit code is 2.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    #[arg(help_heading = "Output")]
    pub(crate) color: Color,
    /// Print no warnings and no answers; the exit code says it all
    ///
    /// With --json, the object is still printed.
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Say on standard error how every fixpoint was computed
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("analysis").required(true))]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub(crate) struct AnalyzeArgs {
    /// The program; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Which variables may still be read before they are assigned
    #[arg(long, group = "analysis", help_heading = "Analysis (one at a time)")]
    pub(crate) live: bool,
    /// Which variables may not have been assigned yet, and where they are read
    #[arg(long, group = "analysis", help_heading = "Analysis (one at a time)")]
    pub(crate) uninit: bool,
    /// Which variables have the same value whenever control is there
    #[arg(long, group = "analysis", help_heading = "Analysis (one at a time)")]
    pub(crate) constants: bool,
    /// Which affine relations hold between integer variables, modulo powers of two
    #[arg(long, group = "analysis", help_heading = "Analysis (one at a time)")]
    pub(crate) affine: bool,
    /// At every statement, not only at those with a label
    #[arg(long)]
    pub(crate) all: bool,
    /// How the program is read where dialects contradict each other
    #[arg(long, value_enum, default_value_t = Dialect::Default)]
    pub(crate) dialect: Dialect,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Write one JSON object to standard output instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    #[arg(help_heading = "Output")]
    pub(crate) color: Color,
    /// Print no warnings
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("input").required(true))]
pub(crate) struct LtlArgs {
    /// The formula, for example 'G (request -> F grant)'
    #[arg(value_name = "FORMULA", group = "input", allow_hyphen_values = true)]
    pub(crate) formula: Option<String>,
    /// The properties in FILE, each `name: formula`; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "input")]
    pub(crate) ltl_file: Option<PathBuf>,
    /// The automaton in FILE, in the Hanoi omega-automata format; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "input")]
    #[arg(conflicts_with = "negate")]
    pub(crate) hoa: Option<PathBuf>,
    /// Take the negation of every formula: its automaton accepts the violations
    #[arg(long)]
    pub(crate) negate: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Write the automaton
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) to: Option<LtlFormat>,
    /// Write one JSON object to standard output instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    #[arg(help_heading = "Output")]
    pub(crate) color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LtlFormat {
    /// The Hanoi omega-automata format, version 1
    Hoa,
    /// For Graphviz
    Dot,
}

/// What is asked. One kind at a time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Property (one kind at a time)")]
pub(crate) struct PropertyArgs {
    /// Violated if a run reaches LABEL; PROC:LABEL picks a procedure
    ///
    /// May be given several times: then violated if any of the labels is reached.
    #[arg(long, value_name = "LABEL")]
    #[arg(conflicts_with_all = ["deadlock", "repeat", "monitor", "ltl", "ltl_file", "hoa"])]
    pub(crate) reach: Vec<String>,
    /// With --reach: show a run that touches as many of these labels as possible
    ///
    /// Labels are separated by commas. Of all such runs, a shortest one is shown, and why it does
    /// not touch the other labels.
    #[arg(long, value_name = "LABELS", value_delimiter = ',', requires = "reach")]
    #[arg(conflicts_with = "no_trace", value_parser = label)]
    pub(crate) critical: Vec<String>,
    /// Violated if a run gets stuck: no step is possible, and `main` has not ended
    ///
    /// At a false `assume`, say, or a `constrain` that no values meet; with threads, where none of
    /// them can move and not all have ended. A failed assertion just ends the run.
    #[arg(long, conflicts_with_all = ["repeat", "monitor", "ltl", "ltl_file", "hoa"])]
    pub(crate) deadlock: bool,
    /// Violated if a run visits LABEL infinitely often
    ///
    /// May be given several times: then violated if a run visits any of the labels infinitely
    /// often.
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["monitor", "ltl", "ltl_file", "hoa"])]
    pub(crate) repeat: Vec<String>,
    /// Violated if the monitor in FILE reaches a target state
    ///
    /// Or, if it has repeating states instead, if it visits them infinitely often.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["ltl", "ltl_file", "hoa"])]
    pub(crate) monitor: Option<PathBuf>,
    /// Violated if a run does not satisfy FORMULA, of linear temporal logic
    ///
    /// Operators: X F G U R W M, ! && || -> <->. A bare name is a Boolean global or a label; anything else is
    /// written in braces, {f::x = 3}. docs/LTL.md has the whole syntax. For a heap program it may be given several
    /// times.
    #[arg(long, value_name = "FORMULA", conflicts_with_all = ["ltl_file", "hoa"])]
    pub(crate) ltl: Vec<String>,
    /// Check every formula in FILE, each written as `name: formula`
    ///
    /// For a heap program, one formula on each line will do as well.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "hoa")]
    pub(crate) ltl_file: Option<PathBuf>,
    /// Violated if the automaton in FILE, in the HOA format, accepts a run
    ///
    /// The automaton describes what must not happen: that of a formula's negation, say.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) hoa: Option<PathBuf>,
}

/// Programs with threads.
#[derive(Debug, Args)]
#[command(next_help_heading = "Threads")]
pub(crate) struct ThreadArgs {
    /// Only runs in which the active thread changes at most K times
    ///
    /// For programs with threads. Without this option and --rounds, the question is asked for 0, 1, 2 and more
    /// switches, until a violation is found, a limit is reached, or more switches make no difference.
    #[arg(long, value_name = "K", allow_negative_numbers = true, conflicts_with = "rounds", value_parser = switches)]
    pub(crate) contexts: Option<usize>,
    /// Only runs of at most R rounds, in which the threads take turns in a fixed order
    ///
    /// For programs with threads, whose number must be bounded by the program's text. The order is that of their
    /// declarations, and then of their creation.
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = rounds)]
    pub(crate) rounds: Option<usize>,
}

/// How it is searched for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// Which engine searches
    #[arg(long, value_enum, default_value_t = Engine::Auto)]
    pub(crate) engine: Engine,
    /// The formulas that `calculus` solves: simple, ef, ef-opt, procedures, or a file [default:
    /// procedures, and ef beside it if that takes long]
    ///
    /// docs/FORMULAS.md describes the relations that the program becomes, for those who write
    /// their own algorithm.
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) algorithm: Option<PathBuf>,
    /// How `wpds` finds the weights: path or chaotic [default: path, and chaotic beside it if that
    /// takes long]; for heap programs, the method to check [default: main]
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// In which order `explicit` looks for a reachable state
    ///
    /// Without this option the search is depth first, and a run it finds is exchanged for a
    /// shortest one if that takes little more effort.
    #[arg(long, value_enum)]
    pub(crate) order: Option<Order>,
    /// Which infinite runs count, for --ltl, --hoa, --repeat and monitors with repeating states [default: all]
    #[arg(long, value_enum)]
    pub(crate) runs: Option<Runs>,
    /// How the program is read where dialects contradict each other
    #[arg(long, value_enum, default_value_t = Dialect::Default)]
    pub(crate) dialect: Dialect,
    /// Search the program as it was written, without simplifying it first
    #[arg(long)]
    pub(crate) no_passes: bool,
    /// Leave out one of the simplifying passes (repeatable)
    #[arg(long, value_enum, value_name = "PASS", value_delimiter = ',')]
    pub(crate) skip_pass: Vec<Pass>,
    /// Give every variable a value at once instead of when it is read: slower, for comparison
    #[arg(long)]
    pub(crate) eager: bool,
    /// Report a violation without replaying it first
    #[arg(long)]
    pub(crate) no_replay: bool,
}

/// When to give up.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Give up after this many seconds; fractions are allowed
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Give up when the process uses this many megabytes
    ///
    /// Without it, on Linux, the limit is three quarters of the memory that is available when the
    /// command starts.
    #[arg(long, value_name = "MB", allow_negative_numbers = true, value_parser = megabytes)]
    pub(crate) memory: Option<u64>,
}

/// What is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub(crate) struct OutputArgs {
    /// Write one JSON object to standard output instead of text
    ///
    /// If the program could not be checked (exit code 2), standard output stays empty, and standard
    /// error says why. docs/JSON.md describes every field.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the trace of a violation to FILE: JSON if it ends in .json, for heap
    /// programs a page if it ends in .html, text otherwise
    ///
    /// `-` is standard output. Without a violation, FILE is left alone.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// Only the verdict: the run of a violation is neither written down nor replayed
    ///
    /// Saves most of the time and memory where runs are very long.
    #[arg(long, conflicts_with_all = ["trace", "emit"])]
    pub(crate) no_trace: bool,
    /// About how many steps of a trace are written out as text
    ///
    /// In a longer one, calls are folded and steps are left out.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2000,
        allow_negative_numbers = true
    )]
    #[arg(value_parser = steps)]
    pub(crate) max_steps: usize,
    /// Print something else about the program instead of checking it
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["json", "trace"])]
    pub(crate) emit: Option<Emit>,
    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Print nothing but errors; the exit code says it all
    ///
    /// With --json, the object is still printed; only warnings are left out.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say on standard error what was done and what it took
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// `explicit` and `bdd` side by side: the first answer wins
    Auto,
    /// State by state, on the fly, stopping at the first violation
    Explicit,
    /// Sets of states as decision diagrams: for many variables
    Bdd,
    /// The question as a formula of the fixed-point calculus (see --algorithm); reachability only
    Calculus,
    /// State by state through the tableau of a formula, without an automaton; for --ltl only
    Tableau,
    /// A weighted pushdown system over decision diagrams (see --method); no infinite runs
    Wpds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Depth first: finds deep violations quickly
    Dfs,
    /// Breadth first: finds a shortest violation
    Bfs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Runs {
    /// Every one, also those that recurse for ever
    All,
    /// Those whose stack stays bounded
    FiniteStack,
    /// Every one; says for certain which kind violates the property
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// Everything that SLAM, MOPED, GETAFIX and SATABS write; operators bind as in C
    Default,
    /// Names may contain `-`, and operators bind as in SATABS and boppo
    Satabs,
    /// As the public GETAFIX: `main` is a thread, `atomic` forbids switches, a call is one step
    Getafix,
}

impl From<Dialect> for droste_lang::parser::Dialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Default => droste_lang::parser::Dialect::Union,
            Dialect::Satabs => droste_lang::parser::Dialect::Satabs,
            Dialect::Getafix => droste_lang::parser::Dialect::Getafix,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pass {
    /// Propagate constants
    Constants,
    /// Cut what no step leads to
    Unreachable,
    /// Cut what cannot lead to what is asked about
    Slice,
    /// Drop assignments to dead variables
    Dead,
    /// For sets of states, make procedures that are called in one place a part of their caller
    Absorb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// The program as Droste understood it, in its own dialect
    Program,
    /// Its recursive state machine, for Graphviz; of a heap program, its state spaces
    Dot,
    /// The question as a formula of the fixed-point calculus, for `droste solve`
    Formula,
    /// For heap programs: a page for a browser, to step through runs, states, heaps and rules
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example: droste completions bash > ~/.local/share/bash-completion/completions/droste"
)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: droste man --dir /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Of this command instead of droste as a whole: check, say, or pds-reach
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub(crate) command: Option<String>,
    /// Write one page per command into this directory instead
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// A label of a list.
fn label(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("a label is missing; labels are separated by single commas".to_owned());
    }
    Ok(text.to_owned())
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let not_a_number = || "not a number of seconds".to_owned();
    let number: f64 = text.parse().map_err(|_| not_a_number())?;
    match Duration::try_from_secs_f64(number) {
        _ if number.is_nan() => Err(not_a_number()),
        Ok(duration) if !duration.is_zero() => Ok(duration),
        Ok(_) if number > 0.0 => Err("too small: less than a nanosecond".to_owned()),
        Ok(_) => Err("must be greater than zero".to_owned()),
        Err(_) if number < 0.0 => Err("must be greater than zero".to_owned()),
        Err(_) => Err("too large; leave the flag out for no limit".to_owned()),
    }
}

/// A positive number of megabytes.
fn megabytes(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("must be greater than zero".to_owned()),
        Ok(number) => Ok(number),
        // More than there is anywhere: it is no limit.
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => Ok(u64::MAX),
        Err(_) => Err("must be a whole number of megabytes, greater than zero".to_owned()),
    }
}

/// A number of switches.
fn switches(text: &str) -> Result<usize, String> {
    number(text, "must be a whole number of switches, zero or greater")
}

/// A number of rounds.
fn rounds(text: &str) -> Result<usize, String> {
    let expected = "must be a whole number of rounds, one or greater";
    match number(text, expected)? {
        0 => Err(expected.to_owned()),
        number => Ok(number),
    }
}

/// A number of steps.
fn steps(text: &str) -> Result<usize, String> {
    number(text, "must be a whole number, zero or greater")
}

fn number(text: &str, expected: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|error: std::num::ParseIntError| match error.kind() {
            std::num::IntErrorKind::PosOverflow => {
                "too large; leave the flag out for no limit".to_owned()
            }
            _ => expected.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_declarations_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn seconds_may_have_fractions() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(seconds("3"), Ok(Duration::from_secs(3)));
        for bad in ["0", "-1", "x", "", "1e300", "nan", "inf"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert_eq!(seconds("nan").unwrap_err(), "not a number of seconds");
        assert!(seconds("1e-30").unwrap_err().starts_with("too small"));
    }

    #[test]
    fn whole_numbers_are_asked_for() {
        assert_eq!(megabytes("15"), Ok(15));
        for bad in ["1.5", "-1", "0", "x", ""] {
            assert!(megabytes(bad).is_err(), "{bad}");
        }
        assert_eq!(steps("0"), Ok(0));
        assert!(steps("-1").unwrap_err().contains("zero or greater"));
    }
}
