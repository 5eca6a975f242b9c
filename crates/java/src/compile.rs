//! Java sources, compiled with the `javac` on the path into a directory of their own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use droste_source::io_reason;

use crate::Error;

/// A directory for a while. It goes when this goes.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Result<Temporary, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let base = env::temp_dir();
        // A name that is taken is left alone.
        for _ in 0..1000 {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("droste-javac-{}-{number}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Temporary(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&path, &error)),
            }
        }
        Err(failed(&base, &"no free name for a temporary directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Read {
        path: path.display().to_string(),
        message: io_reason(error),
    }
}

/// Paths in one argument, as `javac` wants them.
fn joined(paths: &[PathBuf]) -> Result<OsString, Error> {
    env::join_paths(paths).map_err(|error| Error::Compiler {
        output: error.to_string(),
    })
}

/// Compiles sources, with names of variables. Further sources are looked for below `roots`.
pub(crate) fn compile(
    sources: &[PathBuf],
    roots: &[PathBuf],
    archives: &[PathBuf],
) -> Result<(Temporary, Duration), Error> {
    let began = Instant::now();
    let directory = Temporary::new()?;
    let class_path: Vec<PathBuf> = roots.iter().chain(archives).cloned().collect();
    let mut command = Command::new("javac");
    // The compiler lives for a second: it need not be made fast while it runs.
    command.args([
        "-J-XX:TieredStopAtLevel=1",
        "-J-XX:+UseSerialGC",
        "-J-Xshare:auto",
        // Deeply nested sources are nested calls in the compiler.
        "-J-Xss64m",
    ]);
    command.args([
        "-g",
        "-nowarn",
        "-proc:none",
        "-implicit:class",
        "-encoding",
        "UTF-8",
    ]);
    command.arg("-d").arg(directory.path());
    command.arg("-sourcepath").arg(joined(roots)?);
    command.arg("-classpath").arg(joined(&class_path)?);
    for source in sources {
        // A full path never looks like an option.
        command.arg(std::path::absolute(source).map_err(|error| failed(source, &error))?);
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::NoCompiler {
            message: io_reason(&error),
        })?;
    if !output.status.success() {
        let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stdout));
        if text.trim().is_empty() {
            text = output.status.to_string();
        }
        return Err(Error::Compiler { output: text });
    }
    Ok((directory, began.elapsed()))
}
