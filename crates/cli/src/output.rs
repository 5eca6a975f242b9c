//! JSON on standard output and in files.
//!
//! The trace of a violation may be long. It is not kept as a tree or as a text: it is made while it
//! is written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use droste_source::io_reason;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::console::Failure;

/// How many bytes are written at a time.
const BUFFER: usize = 1 << 16;

/// The object for a verdict.
#[derive(Serialize)]
pub(crate) struct Answer<T: Serialize> {
    /// All but the trace.
    #[serde(flatten)]
    pub(crate) fields: Value,
    /// The run that violates the property, if it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace: Option<T>,
}

impl<T: Serialize> Answer<T> {
    /// The same as text.
    pub(crate) fn raw(&self) -> Result<Box<RawValue>, Failure> {
        to_raw_value(self).map_err(|error| Failure::Because(error.to_string()))
    }
}

/// Writes one line of JSON to standard output. It is not an error if the reader has gone.
pub(crate) fn print(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let written = serde_json::to_writer(&mut out, value)
        .map_err(io::Error::from)
        .and_then(|()| writeln!(out))
        .and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Because(format!(
            "cannot write to standard output: {}",
            io_reason(&error)
        ))),
        _ => Ok(()),
    }
}

/// Writes a file of indented JSON.
pub(crate) fn write_file(file: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, File::create(file)?);
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.flush()
}
