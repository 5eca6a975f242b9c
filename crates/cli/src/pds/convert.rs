//! `droste pds convert`: the same system in another format.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use droste_base::words::count;
use droste_notation::build::BuildError;
use droste_notation::{Configurations, Document, Format, Signs, WriteError, write};
use droste_source::io_reason;

use super::args::{self, ConvertArgs, Set};
use super::{CheckWeights, Stop, document, load, threads_refused, unknown, watch};
use crate::console::{Console, Failure};
use crate::frame::{Frame, Volume};
use crate::{input, output};

/// Runs the command; the exit code.
pub(super) fn convert(args: &ConvertArgs, console: &Console) -> Result<u8, Failure> {
    let volume = Volume {
        json: false,
        quiet: args.volume.quiet,
        verbose: args.volume.verbose,
    };
    let frame = Frame::new(console, &args.limits, volume);
    frame.cut_is_unknown();
    watch(&frame, None);
    let result = answer(args, &frame);
    frame.claim();
    match result {
        Ok(()) => Ok(0),
        Err(Stop::Failure(failure)) => Err(failure),
        Err(Stop::Limit(reason) | Stop::Cut(reason)) => Ok(unknown(&reason, None)),
    }
}

fn answer(args: &ConvertArgs, frame: &Frame<'_>) -> Result<(), Stop> {
    let (text, document, format) = document(&args.system, args.volume.quiet, frame)?;
    let Document::System(system) = document else {
        return Err(threads_refused(&input::name(&args.system.file)).into());
    };
    let mut loaded = load(
        &args.system,
        (text, *system, format),
        args.volume.quiet,
        frame,
    )?;
    // WALi's files do not say what their weights are: then they are handed on as they are.
    let said = loaded.system.domain.is_some() || args.system.weight.is_some();
    if said || loaded.format != Format::Wali {
        let check = CheckWeights {
            system: &loaded.system,
            forget: loaded.forget,
            first: 0,
        };
        match loaded.domain.run(Signs::of(&loaded.system), check) {
            Ok(()) => {}
            Err(BuildError::Wrong(list)) => return Err(loaded.tell(frame, &list).into()),
            Err(BuildError::Stopped(reason)) => return Err(reason.into()),
        }
        if loaded.forget {
            loaded.system.forget_weights();
        }
        loaded.system.domain = Some(loaded.domain.clone());
    }
    for set in &args.drop {
        match set {
            Set::Initial => loaded.system.initial = Configurations::default(),
            Set::Target => loaded.system.target = Configurations::default(),
        }
    }
    let format = match args.to {
        args::Format::Wpds => Format::Wpds,
        args::Format::Numeric => Format::Numeric,
        args::Format::Pdaaal => Format::Pdaaal,
        args::Format::Wali => Format::Wali,
        args::Format::Moped => Format::Moped,
    };
    let file = (args.output.as_deref()).filter(|&file| file != Path::new("-"));
    let named = file.map_or_else(
        || "standard output".to_owned(),
        |file| format!("`{}`", file.display()),
    );
    // What the format cannot say is known before anything is written.
    match write(&loaded.system, format, &mut io::sink()) {
        Ok(()) => {}
        Err(WriteError::Cannot(what)) => {
            let what = format!("this cannot be written as {format}: {what}");
            return Err(Failure::Because(what).into());
        }
        Err(WriteError::Io(error)) => return Err(failed(&named, &error).into()),
    }
    frame.claim();
    let to = |mut out: &mut dyn Write| match write(&loaded.system, format, &mut out) {
        Err(WriteError::Io(error)) => Err(error),
        _ => Ok(()),
    };
    let written = if let Some(file) = file {
        output::save(file, to)
    } else {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        to(&mut out).and_then(|()| out.flush())
    };
    if written.is_ok() && !args.volume.quiet {
        warn_of_states(&format.lost_states(&loaded.system), format, frame);
    }
    if written.is_ok()
        && !args.volume.quiet
        && let Some(domain) = &loaded.system.domain
        && format.read_as(&loaded.system) != *domain
    {
        let flag = domain.to_string().replace(' ', ":");
        frame.console.warning(&format!(
            "the file does not say that weights are of the domain {domain}; read it with \
             `--weight {flag}`"
        ));
    }
    match written {
        Err(error) if file.is_some() || error.kind() != io::ErrorKind::BrokenPipe => {
            Err(failed(&named, &error).into())
        }
        _ => Ok(()),
    }
}

/// Says which control states are not in the file.
fn warn_of_states(lost: &[String], format: Format, frame: &Frame<'_>) {
    const FEW: usize = 5;
    if lost.is_empty() {
        return;
    }
    let names = lost.iter().take(FEW).map(|name| format!("`{name}`"));
    let names = names.collect::<Vec<_>>().join(", ");
    let more = match lost.len() {
        0..=FEW => String::new(),
        all => format!(" and {} more", count((all - FEW) as u64)),
    };
    let (what, them) = match lost {
        [_] => ("control state", "it"),
        _ => ("control states", "them"),
    };
    frame.console.warning(&format!(
        "the {what} {names}{more} got lost: no rule has {them}, and {format} has no place to declare {them}"
    ));
}

fn failed(named: &str, error: &io::Error) -> Failure {
    Failure::Because(format!("cannot write to {named}: {}", io_reason(error)))
}
