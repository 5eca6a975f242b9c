//! The first Ctrl-C ends the search, with what is known; the second ends the process.

#![cfg(unix)]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
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
    signal(child, "-INT");
}

fn signal(child: &Child, which: &str) {
    let status = Command::new("kill")
        .args([which, &child.id().to_string()])
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
    assert!(done.out.contains(" path edges, "), "{done:#?}");
}

#[test]
fn with_json_too_and_by_a_request_to_terminate() {
    for which in ["-INT", "-TERM"] {
        let (child, _stderr) = start(&["check", "-", "-v", "--json"]);
        signal(&child, which);
        let done = Done::of(&child.wait_with_output().expect("droste ends")).expect(3);
        let json = done.json();
        assert_eq!(json["verdict"], "unknown");
        assert_eq!(json["reason"], "interrupted");
    }
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

/// A violated program whose object does not fit into a pipe; standard output is not read yet.
fn writing(args: &[&str]) -> Child {
    let mut command = command(&[&["check", "-", "--json"], args].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("droste runs");
    let program = format!(
        "decl g; void main() begin g := F; {}assert(g); end",
        "g := !g; ".repeat(10_000)
    );
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(program.as_bytes()).expect("droste reads");
    child
}

/// Time does not run out for an object that is being written.
#[test]
fn an_object_that_is_begun_is_completed() {
    let mut child = writing(&["--timeout", "3"]);
    let mut out = child.stdout.take().expect("a pipe");
    let mut text = vec![0];
    out.read_exact(&mut text).expect("it has begun");
    std::thread::sleep(std::time::Duration::from_secs(4));
    out.read_to_end(&mut text).expect("it goes on");
    let code = child.wait().expect("droste ends").code();
    assert_eq!(code, Some(1));
    let object: serde_json::Value = serde_json::from_slice(&text).expect("one JSON value");
    let steps = object["trace"]["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 10_002);
}

/// Nobody waits for a reader that does not read.
#[test]
fn one_is_enough_while_an_object_is_written() {
    let mut child = writing(&[]);
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut [0]).expect("it has begun");
    interrupt(&child);
    let code = child.wait().expect("droste ends").code();
    assert_eq!(code, Some(130));
}

/// A large pushdown system in a file.
fn large(folder: &std::path::Path, rules: usize) -> String {
    let mut text = format!("wpds {rules} 1 {rules}\n");
    for i in 0..rules {
        let rule = format!("r1 {i} 0 {} 0 1\n", (i + 1) % rules);
        text.push_str(&rule);
    }
    text += "init 0 0\n";
    let file = folder.join("large.num");
    std::fs::write(&file, text).expect("written");
    file.display().to_string()
}

/// What `pds convert` writes is all that is asked for: without it, nothing is known.
#[test]
fn it_ends_writing_a_system() {
    let folder = common::scratch("ctrl-c-convert");
    let system = large(&folder, 400_000);
    let mut command = command(&["pds", "convert", &system, "--to", "pdaaal"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("droste runs");
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut [0]).expect("it has begun");
    interrupt(&child);
    let mut said = String::new();
    let mut err = child.stderr.take().expect("a pipe");
    err.read_to_string(&mut said).expect("text");
    assert_eq!(said, "unknown: interrupted\n");
    assert_eq!(child.wait().expect("droste ends").code(), Some(3));
}

/// A file is there completely, or it is what it was.
#[test]
fn it_leaves_no_half_of_a_file() {
    let folder = common::scratch("ctrl-c-output");
    let system = large(&folder, 1_000_000);
    let result = folder.join("out.json");
    std::fs::write(&result, "before").expect("written");
    let names = || {
        let entries = std::fs::read_dir(&folder).expect("a directory");
        let names = entries.map(|e| e.expect("an entry").file_name().into_string());
        names.collect::<Result<Vec<_>, _>>().expect("names")
    };
    let output = result.display().to_string();
    let mut command = command(&[
        "pds", "convert", &system, "--to", "pdaaal", "--output", &output,
    ]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("droste runs");
    while !names().iter().any(|name| name.contains(".part")) {
        assert!(child.try_wait().expect("droste runs").is_none(), "too fast");
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert_eq!(
            std::fs::read_to_string(&result).ok().as_deref(),
            Some("before"),
            "it is not complete yet"
        );
    }
    signal(&child, "-TERM");
    let done = Done::of(&child.wait_with_output().expect("droste ends")).expect(3);
    assert_eq!(done.err, "unknown: interrupted\n");
    assert_eq!(std::fs::read_to_string(&result).expect("a text"), "before");
    let mut names = names();
    names.sort();
    assert_eq!(names, ["large.num", "out.json"]);
}

/// A heap program that never ends, and whose heaps nothing makes smaller.
#[test]
fn it_ends_a_check_of_heaps() {
    let javac = Command::new("javac").arg("-version").output();
    if !javac.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no javac");
        return;
    }
    let file = common::scratch("ctrl-c-heap").join("Grow.java");
    let source = "class Grow { Grow next;
  static void main() { Grow g = null; while (true) { Grow n = new Grow(); n.next = g; g = n; } }
}
";
    std::fs::write(&file, source).unwrap();
    let file = file.to_str().expect("a path of the tests");
    for json in [false, true] {
        let mut args = vec!["check", file, "-v", "--max-heap", "60000"];
        args.extend(["--ltl", "G F {terminated}"]);
        args.extend(json.then_some("--json"));
        let (child, _stderr) = start(&args);
        interrupt(&child);
        let done = Done::of(&child.wait_with_output().expect("droste ends")).expect(3);
        if json {
            let object = done.json();
            assert_eq!(object["verdict"], "unknown");
            assert_eq!(object["reason"], "interrupted");
            continue;
        }
        let first = "unknown: no field of null is used\n  interrupted\n";
        assert!(done.out.starts_with(first), "{done:#?}");
    }
}
