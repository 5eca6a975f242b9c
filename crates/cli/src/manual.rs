//! Shell completions and man pages, made from the declaration of the flags.

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::console::{Console, Failure};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "droste", &mut script);
    Console::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub(crate) fn man(args: &ManArgs) -> Result<u8, Failure> {
    let failed = |what: &str, error: std::io::Error| Failure::Because(format!("{what}: {error}"));
    if let Some(dir) = &args.dir {
        std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
            .map_err(|error| failed(&format!("cannot write to `{}`", dir.display()), error))?;
        return Ok(0);
    }
    let mut command = Cli::command();
    command.build();
    let command = match &args.command {
        None => command,
        Some(name) => command
            .find_subcommand(name)
            .cloned()
            .map(|found| found.display_name(format!("droste-{name}")))
            .ok_or_else(|| Failure::Because(format!("droste has no command `{name}`")))?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| failed("cannot make the man page", error))?;
    Console::print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
