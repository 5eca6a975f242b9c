//! The first Ctrl-C ends the search, with what is known; the second ends the process.

#![cfg(unix)]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStderr, Command, Stdio};

use common::{Done, ENDLESS, command};

/// A search under way.
fn start(args: &[&str]) -> (Child, BufReader<ChildStderr>) {
    let mut command = command(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("droste runs");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(ENDLESS.as_bytes())
        .expect("droste reads");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("searching") {
        line.clear();
        assert_ne!(
            stderr.read_line(&mut line).expect("text"),
            0,
            "the search has begun"
        );
    }
    (child, stderr)
}

fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.expect("kill runs").success());
}

#[test]
fn the_first_one_ends_the_search() {
    let (child, _stderr) = start(&["check", "-", "-v"]);
    interrupt(&child);
    let done = Done::of(&child.wait_with_output().expect("droste ends")).expect(3);
    assert!(
        done.out.starts_with("unknown: interrupted before"),
        "{done:#?}"
    );
    assert!(done.out.contains(" contexts, "), "{done:#?}");
}

#[test]
fn with_json_too() {
    let (child, _stderr) = start(&["check", "-", "-v", "--json"]);
    interrupt(&child);
    let done = Done::of(&child.wait_with_output().expect("droste ends")).expect(3);
    let json = done.json();
    assert_eq!(json["verdict"], "unknown");
    assert_eq!(json["reason"], "interrupted");
}

#[test]
fn it_ends_reading() {
    for args in [&["check", "-"][..], &["check", "-", "--emit", "program"]] {
        let mut command = command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("droste runs");
        // Nothing comes, and no end.
        let _stdin = child.stdin.take();
        std::thread::sleep(std::time::Duration::from_secs(1));
        interrupt(&child);
        let done = Done::of(&child.wait_with_output().expect("droste ends")).expect(3);
        let text = format!("{}{}", done.out, done.err);
        assert!(text.starts_with("unknown: interrupted before"), "{done:#?}");
    }
}
