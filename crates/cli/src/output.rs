//! JSON on standard output; files that are there completely or not at all.
//!
//! The trace of a violation may be long. It is not kept as a tree or as a text: it is made while it
//! is written. So it may take long to write a file, and a signal may come in between: a file gets its
//! name when it is complete, see [`save`], and whoever ends the process does so with [`exit`].

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use droste_base::{Guard, Limits, StopReason};
use droste_source::io_reason;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
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

/// A field that may be large and is made while it is written.
pub(crate) type Field<T> = (&'static str, T);

/// An object with one further field, or two. They take the place of what the object has under their
/// names.
pub(crate) struct With<'a, T, U = ()> {
    pub(crate) object: &'a Value,
    pub(crate) first: Field<T>,
    pub(crate) second: Option<Field<U>>,
}

impl<T: Serialize, U: Serialize> Serialize for With<'_, T, U> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (first, second) = (&self.first, &self.second);
        let mut names = vec![first.0];
        names.extend(second.iter().map(|(name, _)| *name));
        let fields = self.object.as_object().into_iter().flatten();
        names.extend(fields.map(|(name, _)| name.as_str()));
        names.sort_unstable();
        names.dedup();
        let mut map = serializer.serialize_map(None)?;
        for name in names {
            match second {
                _ if name == first.0 => map.serialize_entry(name, &first.1)?,
                Some((own, value)) if name == *own => map.serialize_entry(name, value)?,
                _ => map.serialize_entry(name, &self.object[name])?,
            }
        }
        map.end()
    }
}

/// Why an answer was not written, or not to its end.
pub(crate) enum Cut {
    Failure(Failure),
    /// A limit was reached on the way.
    Limit(StopReason),
}

/// Passes on what is written until a limit is reached. Short answers are written in any case.
struct Watched<W> {
    out: W,
    guard: Guard,
    begun: bool,
    reached: Option<StopReason>,
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if std::mem::replace(&mut self.begun, true) {
            self.guard.check_now().map_err(|reason| {
                let error = io::Error::other(reason.to_string());
                self.reached = Some(reason);
                error
            })?;
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes what may be long, until a limit is reached.
fn watched(
    out: impl Write,
    limits: &Limits,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<io::Result<()>, StopReason> {
    let watched = Watched {
        out,
        guard: limits.guard(),
        begun: false,
        reached: None,
    };
    let mut out = BufWriter::with_capacity(BUFFER, watched);
    let written = write(&mut out).and_then(|()| out.flush());
    let (watched, _) = out.into_parts();
    watched.reached.map_or(Ok(written), Err)
}

/// Writes what may be long to standard output, until a limit is reached. It is not an error if the
/// reader has gone.
pub(crate) fn print_until(
    limits: &Limits,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Cut> {
    match watched(io::stdout().lock(), limits, write).map_err(Cut::Limit)? {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let why = io_reason(&error);
            let what = format!("cannot write to standard output: {why}");
            Err(Cut::Failure(Failure::Because(what)))
        }
        _ => Ok(()),
    }
}

/// One line of JSON, see [`print_until`].
pub(crate) fn print_json_until(limits: &Limits, value: &impl Serialize) -> Result<(), Cut> {
    print_until(limits, |mut out| {
        serde_json::to_writer(&mut out, value)?;
        writeln!(out)
    })
}

/// Writes a file that may be long, see [`save`], until a limit is reached. Then there is no file.
pub(crate) fn save_until(
    file: &Path,
    limits: &Limits,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Cut> {
    let mut reached = None;
    let written = save(file, |out| {
        watched(out, limits, write).unwrap_or_else(|reason| {
            let error = io::Error::other(reason.to_string());
            reached = Some(reason);
            Err(error)
        })
    });
    match (reached, written) {
        (Some(reason), _) => Err(Cut::Limit(reason)),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => {
            let (file, why) = (file.display(), io_reason(&error));
            let what = format!("cannot write to `{file}`: {why}");
            Err(Cut::Failure(Failure::Because(what)))
        }
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

/// The file that is being written, under the name that it has until it is complete.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process. A file that is not complete is removed.
pub(crate) fn exit(code: i32) -> ! {
    // It stays locked, so that no other file is begun.
    let mut unfinished = unfinished();
    if let Some(file) = unfinished.take() {
        let _ = fs::remove_file(file);
    }
    std::process::exit(code)
}

/// Writes a file of indented JSON.
pub(crate) fn write_file(file: &Path, value: &impl Serialize) -> io::Result<()> {
    save(file, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        writeln!(out)
    })
}

/// Writes a text to a file.
pub(crate) fn save_text(file: &Path, text: &str) -> io::Result<()> {
    save(file, |out| out.write_all(text.as_bytes()))
}

/// Writes a file. It is written under another name beside its place, and gets its name when it is
/// complete; if that is not possible (it is a device or a pipe, or nothing can be added to the
/// directory), it is written where it is.
pub(crate) fn save(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let Some((place, partial, target)) = beside(file)? else {
        return fill(File::create(file)?, write);
    };
    let written = fill(target, write);
    let mut unfinished = unfinished();
    let renamed = written.and_then(|()| fs::rename(&partial, &place));
    if renamed.is_err() {
        let _ = fs::remove_file(&partial);
    }
    *unfinished = None;
    renamed
}

fn fill(target: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, target);
    write(&mut out)?;
    out.flush()
}

/// Where a file is, links followed, and a new file beside it; nothing if it is to be written in its
/// place. An error if it may not be written.
fn beside(file: &Path) -> io::Result<Option<(PathBuf, PathBuf, File)>> {
    let (place, known) = match fs::metadata(file) {
        Ok(data) if data.is_file() => {
            // Whoever may not write the file shall not replace it either.
            drop(File::options().write(true).open(file)?);
            (fs::canonicalize(file)?, Some(data.permissions()))
        }
        Ok(_) => return Ok(None),
        // A link to a file that is not there yet.
        Err(_) if fs::symlink_metadata(file).is_ok() => return Ok(None),
        Err(_) => (file.to_path_buf(), None),
    };
    let Some(name) = place.file_name() else {
        return Ok(None);
    };
    let mut other = OsString::from(".");
    other.push(name);
    other.push(format!(".{}.part", std::process::id()));
    let partial = place.with_file_name(other);
    let mut unfinished = unfinished();
    let Ok(target) = File::options().write(true).create_new(true).open(&partial) else {
        return Ok(None);
    };
    *unfinished = Some(partial.clone());
    if let Some(permissions) = known {
        let _ = target.set_permissions(permissions);
    }
    Ok(Some((place, partial, target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of this test alone.
    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("droste-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a directory");
        folder
    }

    fn names(folder: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(folder).expect("a directory");
        let mut names: Vec<_> = entries.map(|e| e.expect("an entry").file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_complete_or_what_it_was() {
        let folder = scratch("save");
        let file = folder.join("a");
        save_text(&file, "first").expect("written");
        let failed = save(&file, |out| {
            out.write_all(b"sec")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.map_err(|e| e.to_string()), Err("no more".to_owned()));
        assert_eq!(fs::read_to_string(&file).expect("a text"), "first");
        save_text(&file, "second").expect("written");
        assert_eq!(fs::read_to_string(&file).expect("a text"), "second");
        assert_eq!(names(&folder), ["a"]);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    #[cfg(unix)]
    fn links_and_devices_stay_what_they_are() {
        let folder = scratch("links");
        let (file, link) = (folder.join("a"), folder.join("b"));
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        for text in ["first", "second"] {
            save_text(&link, text).expect("written");
            assert_eq!(fs::read_to_string(&file).expect("a text"), text);
        }
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        save_text(Path::new("/dev/null"), "gone").expect("written");
        assert!(!fs::metadata("/dev/null").expect("there").is_file());
        assert_eq!(names(&folder), ["a", "b"]);
        fs::remove_dir_all(folder).expect("removed");
    }
}
