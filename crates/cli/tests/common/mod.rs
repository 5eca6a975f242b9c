//! Running the command, and comparing what it says with golden files.
//!
//! `BLESS=1 cargo test -p droste-cli` rewrites the golden files.

#![allow(dead_code, reason = "each test file uses a part")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A program that no explicit search comes to the end of.
pub(crate) const ENDLESS: &str = "decl n : u60; decl p, q;
void main() begin
  n := 0;
  while (T) do
    n := n + 1;
    if (n = 1000000000000000000) then ERROR: skip; fi
  od
end
";

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    pub(crate) fn of(output: &Output) -> Self {
        Done {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Checks the exit code and that nothing has panicked.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(
            !self.err.contains("panicked") && !self.err.contains("a fault in"),
            "{self:#?}"
        );
        assert!(
            code != 2 || (self.out.is_empty() && !self.err.is_empty()),
            "{self:#?}"
        );
        self
    }

    /// Standard output as one JSON object.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_str(&self.out).expect("one JSON value");
        assert!(value.is_object(), "{self:#?}");
        value
    }
}

/// The directory of the examples, in which every command runs.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// `droste` with these arguments, in the directory of the examples.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_droste"));
    command
        .args(args)
        .current_dir(examples())
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS");
    command.stdin(Stdio::null());
    command
}

/// Runs `droste` with these arguments.
pub(crate) fn droste(args: &[&str]) -> Done {
    Done::of(&command(args).output().expect("droste runs"))
}

/// Runs `droste` with `input` as its standard input.
pub(crate) fn droste_with(input: &[u8], args: &[&str]) -> Done {
    let mut command = command(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("droste runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // It may be refused before it is read.
    let _ = stdin.write_all(input);
    drop(stdin);
    Done::of(&child.wait_with_output().expect("droste ends"))
}

/// Runs `droste` with a standard input on which nothing comes.
pub(crate) fn waiting(args: &[&str]) -> Done {
    let mut command = command(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("droste runs");
    let stdin = child.stdin.take();
    let done = Done::of(&child.wait_with_output().expect("droste ends"));
    drop(stdin);
    done
}

/// A directory for one test's files, empty.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a scratch directory");
    dir
}

/// Compares a run with `tests/golden/NAME.txt`.
#[track_caller]
pub(crate) fn golden(name: &str, args: &[&str], done: &Done) {
    let mut text = format!("$ droste {}\n{}", args.join(" "), normalise(&done.out));
    if !done.err.is_empty() {
        text += "--- standard error\n";
        text += &normalise(&done.err);
    }
    let _ = writeln!(text, "--- exit code {}", done.code.unwrap_or(-1));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, text).expect("the golden file can be written");
        return;
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        text == expected,
        "{name} differs (BLESS=1 accepts it)\n--- expected\n{expected}\n--- found\n{text}"
    );
}

/// The text without what changes from run to run and from version to version.
fn normalise(text: &str) -> String {
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let mut normal = String::new();
    for line in text.lines() {
        if line.contains(" path edge") && line.contains(" state") {
            normal += "N path edges, N states, N s";
        } else if line.contains(" of it javac") {
            normal += "N states, N s (N s of it javac)";
        } else if line.contains(" rule") && line.contains(" transition") {
            normal += "N rules, N transitions, N s";
        } else {
            normal += line.trim_end();
        }
        normal.push('\n');
    }
    normal
}
