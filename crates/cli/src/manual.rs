//! Shell completions and man pages, made from the declaration of the flags.

use std::fmt::Write as _;

use clap::CommandFactory as _;
use droste_source::io_reason;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::console::{Console, Failure};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "droste", &mut script);
    Console::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub(crate) fn man(args: &ManArgs) -> Result<u8, Failure> {
    let failed = |what: &str, error: std::io::Error| {
        Failure::Because(format!("{what}: {}", io_reason(&error)))
    };
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    if let Some(dir) = &args.dir {
        let write = || {
            std::fs::create_dir_all(dir)?;
            // Commands of commands have pages, too.
            let mut commands = vec![&command];
            while let Some(command) = commands.pop() {
                let man = clap_mangen::Man::new(command.clone());
                std::fs::write(dir.join(man.get_filename()), page(command)?)?;
                commands.extend(command.get_subcommands());
            }
            Ok(())
        };
        write().map_err(|error| failed(&format!("cannot write to `{}`", dir.display()), error))?;
        return Ok(0);
    }
    let command = match &args.command {
        None => &command,
        // `pds-reach` is the command `reach` of the command `pds`.
        Some(name) => (name.split('-'))
            .try_fold(&command, |command, name| command.find_subcommand(name))
            .ok_or_else(|| Failure::Because(format!("droste has no command `{name}`")))?,
    };
    let page = page(command).map_err(|error| failed("cannot make the man page", error))?;
    Console::print(&page)?;
    Ok(0)
}

/// The man page of a command.
fn page(command: &clap::Command) -> std::io::Result<String> {
    let extra = command
        .get_after_long_help()
        .or_else(|| command.get_after_help())
        .map(ToString::to_string);
    let command = command.clone().after_help(None).after_long_help(None);
    let is_whole = command.get_name() == "droste";
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    if let Some(extra) = extra {
        page += &examples(&extra);
    }
    if is_whole {
        page += ".SH SEE ALSO\n\
                 .BR droste\\-check (1),\nwhich \\fBdroste man check\\fR prints, \
                 describes every option of a check.\n";
    }
    Ok(page)
}

/// What stands at the end of a help text, line by line, under headings of its own.
fn examples(text: &str) -> String {
    let mut roff = String::new();
    let mut filling = true;
    for line in text.lines() {
        let heading = match line {
            "Examples:" => Some("EXAMPLES"),
            "Exit codes:" => Some("EXIT STATUS"),
            _ => None,
        };
        if let Some(heading) = heading {
            if !filling {
                roff += ".fi\n";
            }
            let _ = write!(roff, ".SH {heading}\n.nf\n");
            filling = false;
            continue;
        }
        if filling {
            roff += ".SH EXAMPLES\n.nf\n";
            filling = false;
        }
        let line = line.replace('\\', "\\\\e").replace('-', "\\-");
        // A line that starts with a dot or a quote would be a request.
        if line.starts_with(['.', '\'']) {
            roff += "\\&";
        }
        roff += &line;
        roff.push('\n');
    }
    if !filling {
        roff += ".fi\n";
    }
    roff
}
