//! Sources in temporary directories, and a Java to run them with.

#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// A directory that goes with the test.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("droste-java-test-{}-{number}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    /// A directory with one source file.
    pub(crate) fn with(name: &str, text: &str) -> Directory {
        let directory = Directory::new();
        directory.write(name, text);
        directory
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether there is a JDK. If not, says that the test is skipped.
pub(crate) fn jdk() -> bool {
    let there = Command::new("javac").arg("-version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no javac");
    }
    there
}

/// Compiles all sources of a directory into `classes` below it.
pub(crate) fn compile(directory: &Directory, sources: &[&str], options: &[&str]) -> PathBuf {
    let classes = directory.path().join("classes");
    let mut command = Command::new("javac");
    command.args(options).arg("-d").arg(&classes);
    for source in sources {
        command.arg(directory.path().join(source));
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    classes
}

/// Runs a class and gives what it prints.
pub(crate) fn java(classes: &Path, class: &str) -> String {
    let mut command = Command::new("java");
    command
        .args(["-XX:TieredStopAtLevel=1", "-Xss64m", "-cp"])
        .arg(classes)
        .arg(class);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Random numbers: splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }
}
