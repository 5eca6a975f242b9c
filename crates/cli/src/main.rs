//! The `droste` command: flags in, a verdict and an exit code out.
//!
//! Everything that decides anything is in the libraries; here is how they are driven and what
//! people see. [`args`] declares the flags, [`input`] reads files, [`check`] drives a check, [`solve`]
//! the fixed-point calculus, [`heap`] heap programs, [`ltl`] temporal logic, [`pds`] weighted pushdown systems, [`analyze`]
//! data flow,
//! [`verdict`] words its answer, [`progress`] shows how far it has come, [`console`] and [`output`] write,
//! [`frame`] and [`watchdog`] enforce limits, [`manual`] makes completions and man pages.
//!
//! Exit codes: 0 holds, 1 violated, 2 could not be checked, 3 unknown.

mod analyze;
mod args;
mod check;
mod console;
mod critical;
mod frame;
mod heap;
mod input;
mod ltl;
mod manual;
mod output;
mod pds;
mod progress;
mod solve;
mod temporal;
mod verdict;
mod watchdog;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use console::{Console, Failure};

/// The exit code for everything that is not a verdict.
const COULD_NOT_BE_CHECKED: u8 = 2;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        console::report_panic(panic);
        // Wherever it happened, nothing that is still computed can be relied upon.
        output::exit(i32::from(COULD_NOT_BE_CHECKED));
    }));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() {
                COULD_NOT_BE_CHECKED
            } else {
                0
            };
            // Help into a closed pipe is no reason to complain.
            drop(error.print());
            return code.into();
        }
    };
    assert!(
        !(cfg!(debug_assertions) && std::env::var_os("DROSTE_TEST_PANIC").is_some()),
        "asked for by a test"
    );
    let (console, result) = match &cli.command {
        Command::Check(args) => {
            let console = Console::new(args.output.color);
            let result = if let Some(flag) = heap::asks_of_input(args) {
                Err(Failure::Because(format!(
                    "{flag} is for heap programs, and these cannot come from standard input: name the file"
                )))
            } else if heap::is_heap_program(args) {
                heap::check_heaps(args, &console)
            } else {
                check::check(args, &console)
            };
            (console, result)
        }
        Command::Solve(args) => {
            let console = Console::new(args.color);
            let result = solve::solve(args, &console);
            (console, result)
        }
        Command::Ltl(args) => {
            let console = Console::new(args.color);
            let result = ltl::ltl(args, &console);
            (console, result)
        }
        Command::Analyze(args) => {
            let console = Console::new(args.color);
            let result = analyze::analyze(args, &console);
            (console, result)
        }
        Command::Pds(args) => {
            let console = Console::new(args.command.color());
            let result = pds::run(&args.command, &console);
            (console, result)
        }
        Command::Completions(args) => {
            let console = Console::new(args::Color::Auto);
            let result = manual::completions(args);
            (console, result)
        }
        Command::Man(args) => {
            let console = Console::new(args::Color::Auto);
            let result = manual::man(args);
            (console, result)
        }
    };
    match result {
        Ok(code) => code.into(),
        Err(failure) => {
            if let Failure::Because(message) = failure {
                console.error(&message);
            }
            COULD_NOT_BE_CHECKED.into()
        }
    }
}
