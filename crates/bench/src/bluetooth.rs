//! The Windows NT Bluetooth driver of Qadeer and Wu (KISS, PLDI 2004, section 6), for any number of
//! threads and a counter of any width.
//!
//! Adders want to use the driver, stoppers want to unload it. `pendingIo` counts those at work and
//! the driver itself. Who brings it to zero sets an event; a stopper waits for it and stops the
//! driver. An adder at work must not see that the driver has stopped.

use std::fmt::Write;

/// What is wrong with the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// An adder looks at the flag first and counts itself then: between the two the driver may be
    /// stopped. One adder and one stopper are enough.
    LooksFirst,
    /// An adder that comes too late gives back twice. (The programs of Fig. 3 of La Torre,
    /// Madhusudan and Parlato, PLDI 2009.)
    GivesBackTwice,
    /// Nothing: only the first stopper gives back the driver's own count.
    Correct,
}

/// Where the counter begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With the driver alone.
    One,
    /// With any number of others, up to half of what the counter can hold. They never finish.
    Any,
}

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads that use the driver.
    pub adders: usize,
    /// Threads that stop it.
    pub stoppers: usize,
    /// Bits of the counter.
    pub bits: u32,
    /// Where it begins.
    pub begin: Begin,
    /// The mistake.
    pub version: Version,
    /// An adder may call itself before it uses the driver, as often as it likes.
    pub recursive: bool,
}

/// The program.
pub fn program(shape: &Shape) -> String {
    let Shape {
        adders,
        stoppers,
        bits,
        begin,
        version,
        recursive,
    } = *shape;
    let first = match begin {
        Begin::One => "  pendingIo := 1;\n".to_owned(),
        Begin::Any => format!(
            "  assume(pendingIo > 0 & pendingIo < {});\n",
            1u64 << (bits - 1)
        ),
    };
    let mut text = format!(
        "// The Bluetooth driver of Qadeer and Wu: {adders} adders, {stoppers} stoppers, {version:?}.
decl pendingIo : u{bits};
decl stoppingFlag, stoppingEvent, stopped;

void init() begin
{first}  stoppingFlag, stoppingEvent, stopped := F, F, F;
endinit:
  skip;
end

void giveBack() begin
  decl zero;
  atomic_begin;
  pendingIo := pendingIo - 1;
  zero := pendingIo = 0;
  atomic_end;
  if zero then stoppingEvent := T; fi
end

bool enter() begin
"
    );
    text.push_str(match version {
        Version::LooksFirst => {
            "  if stoppingFlag then return F; fi
  pendingIo := pendingIo + 1;
  return T;
end
"
        }
        _ => {
            "  pendingIo := pendingIo + 1;
  if stoppingFlag then giveBack(); return F; fi
  return T;
end
"
        }
    });
    let again = if recursive {
        "  if * then add(); fi\n"
    } else {
        ""
    };
    let (inside, outside) = match version {
        Version::GivesBackTwice => ("", "  giveBack();\n"),
        _ => ("    giveBack();\n", ""),
    };
    let once = match version {
        Version::Correct => {
            "  atomic_begin;
  if stoppingFlag then atomic_end; return; fi
  stoppingFlag := T;
  atomic_end;
"
        }
        _ => "  stoppingFlag := T;\n",
    };
    let _ = write!(
        text,
        "
void add() begin
  decl status;
{again}  status := enter();
  if status then
    assert(!stopped);
{inside}  fi
{outside}end

void stop() begin
{once}  giveBack();
  assume(stoppingEvent);
  stopped := T;
end

"
    );
    for i in 1..=adders {
        let _ = writeln!(text, "void thread_adder{i}() begin add(); end");
    }
    for i in 1..=stoppers {
        let _ = writeln!(text, "void thread_stopper{i}() begin stop(); end");
    }
    text
}
