//! From bytes to a system: which format it is, by its content, and its reader.

use std::borrow::Cow;
use std::fmt;

use droste_base::{Limits, StopReason};
use droste_source::diagnostics::Diagnostic;

use crate::problems::span;
use crate::system::{Concurrent, System};
use crate::weight::DomainName;
use crate::{cuba, moped, numeric, own, pdaaal, wali};

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Droste's own text.
    Wpds,
    /// The plain numeric form.
    Numeric,
    /// PDAAAL's JSON.
    Pdaaal,
    /// WALi's XML.
    Wali,
    /// MOPED's plain form.
    Moped,
    /// CUBA's concurrent systems.
    Cuba,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] = [
        Format::Wpds,
        Format::Numeric,
        Format::Pdaaal,
        Format::Wali,
        Format::Moped,
        Format::Cuba,
    ];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Wpds => "wpds",
            Format::Numeric => "numeric",
            Format::Pdaaal => "pdaaal",
            Format::Wali => "wali",
            Format::Moped => "moped",
            Format::Cuba => "cuba",
        }
    }

    /// The domain that the weights of a system are taken for when it has been written in this
    /// format and no option says what they are.
    pub fn read_as(self, system: &System) -> DomainName {
        let own = system.domain.clone().unwrap_or(DomainName::Bool);
        let says_so = |text: Cow<'_, str>| text.starts_with("ShortestPathSemiring(");
        let mut texts = (system.rules.iter()).filter_map(|rule| system.weight_text(rule.weight));
        match (self, &own) {
            (Format::Numeric, _) | (Format::Pdaaal, DomainName::MaxPlus) => DomainName::MinPlus,
            (Format::Wpds | Format::Pdaaal, _) => own,
            (Format::Wali, DomainName::MinPlus) if texts.any(says_so) => own,
            (Format::Wali | Format::Moped | Format::Cuba, _) => DomainName::Bool,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a file holds.
#[derive(Debug)]
pub enum Document {
    /// A pushdown system.
    System(Box<System>),
    /// A concurrent one.
    Concurrent(Concurrent),
}

/// Why there is nothing.
#[derive(Debug)]
pub enum ReadError {
    /// There are mistakes in the text.
    Wrong(Vec<Diagnostic>),
    /// A limit was reached.
    Stopped(StopReason),
}

impl From<Vec<Diagnostic>> for ReadError {
    fn from(list: Vec<Diagnostic>) -> Self {
        ReadError::Wrong(list)
    }
}

impl From<StopReason> for ReadError {
    fn from(reason: StopReason) -> Self {
        ReadError::Stopped(reason)
    }
}

/// The format that a text seems to have.
pub fn detect(text: &str) -> Format {
    let lines = text.lines().map(str::trim_start);
    let first = lines
        .into_iter()
        .find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = first.unwrap_or_default();
    if first.starts_with('{') {
        Format::Pdaaal
    } else if first.starts_with('<') {
        Format::Wali
    } else if cuba::looks_like(first) {
        Format::Cuba
    } else if moped::looks_like(first) {
        Format::Moped
    } else if numeric::looks_like(first) {
        Format::Numeric
    } else {
        Format::Wpds
    }
}

/// What is wrong with a text that begins as a list does in JSON.
pub(crate) fn json_list(text: &str) -> Option<Diagnostic> {
    let at = text.find(|sign: char| !sign.is_whitespace())?;
    let is_list = text[at..].starts_with('[');
    is_list.then(|| Diagnostic::error(span(at, at + 1), "this looks like JSON, but it is a list"))
}

/// Reads a text in the format that it seems to have. With it come warnings.
pub fn read(text: &str, limits: &Limits) -> Result<(Document, Format, Vec<Diagnostic>), ReadError> {
    if text.trim_start().is_empty() {
        let error = Diagnostic::error(span(0, 0), "the file is empty");
        return Err(vec![error.help("a system is written as lines `rule p a -> q b c`")].into());
    }
    if let Some(error) = json_list(text) {
        let what = "a system in JSON is an object, `{\"pda\": …}` or `{\"instance\": […]}`";
        return Err(vec![error.help(what)].into());
    }
    let format = detect(text);
    let (document, warnings) = read_as(text, format, limits)?;
    Ok((document, format, warnings))
}

/// Reads a text in a format. With it come warnings.
pub fn read_as(
    text: &str,
    format: Format,
    limits: &Limits,
) -> Result<(Document, Vec<Diagnostic>), ReadError> {
    let (system, warnings) = match format {
        Format::Wpds => own::read(text, limits)?,
        Format::Numeric => numeric::read(text, limits)?,
        Format::Pdaaal => pdaaal::read(text, limits)?,
        Format::Wali => wali::read(text, limits)?,
        Format::Moped => moped::read(text, limits)?,
        Format::Cuba => {
            let (system, warnings) = cuba::read(text, limits)?;
            return Ok((Document::Concurrent(system), warnings));
        }
    };
    Ok((Document::System(Box::new(system)), warnings))
}
