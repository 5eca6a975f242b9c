//! The flags of `droste pds`.

#![allow(
    clippy::doc_markdown,
    rustdoc::invalid_html_tags,
    reason = "doc comments here are help texts"
)]

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use crate::args::{Color, LimitArgs};
use crate::console::Failure;

pub(crate) const EXAMPLES: &str = "\
Examples:
  droste pds reach calls.wpds                  does `init` reach `target`, and with which weight?
  droste pds reach calls.wpds --target '<q> d .*' --json
                                               another target; for scripts
  droste pds post calls.wpds --of '<q, d>'     the weight with which <q, d> is reached
  droste pds path calls.wpds                   a run from `init` to `target`, a best one
  droste pds convert calls.wpds --to pdaaal    the same system for another tool
  droste pds pre calls.wpds --output pre.aut   every configuration that reaches the target
  droste pds reach two.cpds --initial '0|1,4' --target '3|2,*'
                                               threads with a stack each, as CUBA has them:
                                               shared state, then stacks, or their tops

Exit codes:
  0  done; `reach` and `path`: not reachable
  1  `reach` and `path`: reachable
  2  there are errors in a file, or a defect in Droste
  3  a limit was reached, or Ctrl-C was pressed";

const PRE: &str = "\
Examples:
  droste pds pre calls.wpds                     all from where the target is reached
  droste pds pre calls.wpds --target '<run, h .*>' --of '<run, main>'
                                                the weight from one of them to another target
  droste pds pre calls.wpds --output pre.aut    for `--initial pre.aut` later";

const POST: &str = "\
Examples:
  droste pds post calls.wpds                    all that is reached, as an automaton
  droste pds post calls.wpds --of '<run, end>'  the weight with which one of them is reached
  droste pds post calls.wpds --cores 2 --dot    on two cores; for Graphviz";

const REACH: &str = "\
Examples:
  droste pds reach calls.wpds                   does `init` reach `target`, and with which weight?
  droste pds reach calls.wpds --method path     by path expressions
  droste pds reach calls.wpds --initial '<run, f .*>' --target '<run> [back, end] .*' --json
                                                other sets; for scripts
  droste pds reach two.cpds --initial '0|1,4' --target '3|2,*' --contexts 3
                                                threads with a stack each

Exit codes: 0 not reachable, 1 reachable, 2 errors, 3 a limit or Ctrl-C";

const PATH: &str = "\
Examples:
  droste pds path calls.wpds                    a best run from `init` to `target`
  droste pds path calls.wpds --weight bool --shortest
                                                a run of the fewest steps, whatever its weight

Exit codes: 0 no run, 1 a run, 2 errors, 3 a limit or Ctrl-C";

const CONVERT: &str = "\
Examples:
  droste pds convert calls.wpds --to pdaaal     the same system for another tool
  droste pds convert calls.wpds --to wali --drop target --output calls.xml
                                                without a set for which there is no place";

#[derive(Debug, Args)]
pub(crate) struct PdsArgs {
    #[command(subcommand)]
    pub(crate) command: PdsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PdsCommand {
    /// Compute pre*: from where the target is reached, and with which weight
    #[command(after_help = PRE)]
    Pre(AutomatonArgs),
    /// Compute post*: what is reached from the initial configurations, and with which weight
    #[command(after_help = POST)]
    Post(AutomatonArgs),
    /// Say whether the target is reached from the initial configurations, and with which weight
    ///
    /// Exit code 1 if it is, 0 if it is not.
    #[command(after_help = REACH)]
    Reach(ReachArgs),
    /// Show a run to the target, a best one where weights are ordered
    ///
    /// Calls are indented. A callee's run that is used several times is shown once. Exit code 1 if
    /// there is a run, 0 if there is none.
    #[command(after_help = PATH, mut_arg("cores", |cores| cores.hide(true)))]
    Path(PathArgs),
    /// Write the system in another format
    #[command(after_help = CONVERT)]
    Convert(ConvertArgs),
}

impl PdsCommand {
    pub(crate) fn parts(&self) -> (&SystemArgs, &LimitArgs, &VolumeArgs) {
        match self {
            PdsCommand::Pre(args) | PdsCommand::Post(args) => {
                (&args.system, &args.limits, &args.show.volume)
            }
            PdsCommand::Reach(args) | PdsCommand::Path(PathArgs { reach: args, .. }) => {
                (&args.system, &args.limits, &args.show.volume)
            }
            PdsCommand::Convert(args) => (&args.system, &args.limits, &args.volume),
        }
    }

    /// Whether the answer is one JSON object.
    pub(crate) fn json(&self) -> bool {
        match self {
            PdsCommand::Pre(args) | PdsCommand::Post(args) => args.show.json,
            PdsCommand::Reach(args) | PdsCommand::Path(PathArgs { reach: args, .. }) => {
                args.show.json
            }
            PdsCommand::Convert(_) => false,
        }
    }

    /// What else may be tried where a weight is out of range.
    pub(crate) fn in_range(&self) -> Option<&'static str> {
        let method: Method = match self {
            PdsCommand::Pre(args) | PdsCommand::Post(args) => args.method.into(),
            // One weight is found with 128 bits by any method.
            PdsCommand::Reach(_) | PdsCommand::Path(_) | PdsCommand::Convert(_) => return None,
        };
        (method == Method::Path).then_some(
            "`--method chaotic` may know the answer: it keeps sums of minplus and maxplus with 128 bits",
        )
    }

    pub(crate) fn color(&self) -> Color {
        self.parts().2.color
    }
}

/// The system and what is asked about it.
#[derive(Debug, Args)]
pub(crate) struct SystemArgs {
    /// The system; `-` is standard input. Its format is recognised
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The domain of the weights: bool, minplus, maxplus, vector, relation:N, genkill:N,
    /// affine:BITS:N, constants:N, pair:A:B [default: as the file says]
    ///
    /// bool asks about paths, whatever their weight, unless it is zero.
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) weight: Option<String>,
    /// Where runs begin, as in '<p, a b*>', or a file; instead of what FILE says
    #[arg(long, value_name = "SET|FILE", allow_hyphen_values = true)]
    pub(crate) initial: Option<String>,
    /// Where runs are to lead, as in '<p> a [^c]+', or a file; instead of what FILE says
    #[arg(long, value_name = "SET|FILE", allow_hyphen_values = true)]
    pub(crate) target: Option<String>,
}

/// What is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ShowArgs {
    /// Write one JSON object to standard output instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) volume: VolumeArgs,
}

/// How much is printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct VolumeArgs {
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

#[derive(Debug, Args)]
pub(crate) struct AutomatonArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// How weights are found
    #[arg(long, value_enum, default_value_t = OneWay::Chaotic)]
    pub(crate) method: OneWay,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// Say only the weight of a configuration, as in '<p, a b>', even with -q (repeatable)
    #[arg(long, value_name = "CONFIG")]
    pub(crate) of: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
    /// Write the automaton to FILE; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Write the automaton for Graphviz
    #[arg(long, conflicts_with_all = ["json", "of"], help_heading = "Output")]
    pub(crate) dot: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReachArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    #[command(flatten)]
    pub(crate) way: WayArgs,
    /// For systems with several threads: at most K contexts [default: any number]
    #[arg(long, value_name = "K")]
    pub(crate) contexts: Option<usize>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WayArgs {
    /// How weights are found [default: chaotic]
    #[arg(long, value_enum)]
    pub(crate) method: Option<Method>,
    /// From which end; `--method dual` goes from both [default: the one that is done first; with
    /// --method or several cores, post]
    ///
    /// The answer does not depend on it, the time does, by a factor of hundreds. By default `post` works
    /// alone at first, and then both in turns, until one is done.
    #[arg(long, value_enum)]
    pub(crate) direction: Option<Direction>,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

impl WayArgs {
    pub(crate) fn method(&self) -> Method {
        self.method.unwrap_or(Method::Chaotic)
    }

    /// From which end.
    pub(crate) fn ends(&self) -> Ends {
        let several = self.search.cores.is_some_and(|cores| cores > 1);
        match (self.method, self.direction) {
            (Some(Method::Dual), _) => Ends::Both,
            (_, Some(direction)) => Ends::One(direction),
            (None, None) if !several => Ends::Either,
            _ => Ends::One(Direction::Post),
        }
    }
}

/// How chaotic iteration goes about it.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// For `--method chaotic`: work on N cores, which share out the procedures [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = cores)]
    pub(crate) cores: Option<u32>,
    /// For `--method chaotic` and `dual`: which of the transitions that have changed comes next
    /// [default: best]
    ///
    /// The answer does not depend on it, the time does: `last` may take exponentially many steps
    /// where weights are numbers.
    #[arg(long, value_enum)]
    pub(crate) order: Option<Order>,
}

impl WayArgs {
    /// The flags that say nothing about the method, or about this command.
    pub(crate) fn refuse(&self, run: bool) -> Result<(), Failure> {
        if self.direction.is_some() && self.method() == Method::Dual {
            let what = "--direction: `--method dual` goes from both ends";
            return Err(Failure::Because(what.to_owned()));
        }
        self.search.refuse(self.method(), run)
    }
}

impl SearchArgs {
    /// The flags that say nothing about this method, or about this command.
    pub(crate) fn refuse(&self, method: Method, run: bool) -> Result<(), Failure> {
        let what = match method {
            Method::Path if self.cores.is_some() => "--cores: `--method path` works on one core",
            Method::Dual if self.cores.is_some() => "--cores: `--method dual` works on one core",
            _ if run && self.cores.is_some() => "--cores: a run is looked for on one core",
            Method::Path if self.order.is_some() => {
                "--order: with `--method path` nothing waits; it is for `chaotic` and `dual`"
            }
            _ => return Ok(()),
        };
        Err(Failure::Because(what.to_owned()))
    }
}

/// A number of cores.
fn cores(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=64).contains(number));
    number.ok_or_else(|| "must be a whole number from 1 to 64".to_owned())
}

/// Which transition comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Callees first, and lighter ones before heavier ones
    Best,
    /// The one that changed last
    Last,
    /// The one that has waited longest
    First,
}

impl SearchArgs {
    pub(crate) fn order(&self) -> droste_pds::Order {
        match self.order {
            None | Some(Order::Best) => droste_pds::Order::Best,
            Some(Order::Last) => droste_pds::Order::LastIn,
            Some(Order::First) => droste_pds::Order::FirstIn,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
    /// A run of the fewest steps, for systems without weights
    #[arg(long)]
    pub(crate) shortest: bool,
    /// About how many steps of the run are written out as text
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2000,
        help_heading = "Output"
    )]
    pub(crate) max_steps: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Format,
    /// Leave out a set of configurations for which the format has no place
    #[arg(long, value_enum, value_name = "SET")]
    pub(crate) drop: Vec<Set>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) volume: VolumeArgs,
    /// Write to FILE instead of standard output, which is `-`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Droste's own text
    Wpds,
    /// Numbers, line by line
    Numeric,
    /// JSON for PDAAAL
    Pdaaal,
    /// XML for WALi
    Wali,
    /// Text for MOPED
    Moped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Set {
    /// Where runs begin
    Initial,
    /// Where runs are to lead
    Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// Step by step, until nothing changes
    Chaotic,
    /// By path expressions: loops are solved before their exits are followed
    Path,
    /// Step by step from both ends, until they meet
    Dual,
}

/// A method for one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OneWay {
    /// Step by step, until nothing changes
    Chaotic,
    /// By path expressions: loops are solved before their exits are followed
    Path,
}

impl From<OneWay> for Method {
    fn from(method: OneWay) -> Self {
        match method {
            OneWay::Chaotic => Method::Chaotic,
            OneWay::Path => Method::Path,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    /// Backwards from the target
    Pre,
    /// Forwards from the initial configurations
    Post,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Chaotic => "chaotic",
            Method::Path => "path",
            Method::Dual => "dual",
        }
    }
}

/// From which end a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// From this one.
    One(Direction),
    /// From both, until they meet.
    Both,
    /// From the one that is done first.
    Either,
}

impl Direction {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Direction::Pre => "pre",
            Direction::Post => "post",
        }
    }
}
