//! Bad, large and deep input: a clear error or a right answer, never a panic or an overflow.

mod common;

use std::fmt::Write as _;
use std::fs;

use common::{droste, droste_with, scratch};

#[track_caller]
fn refused(program: &[u8], message: &str) {
    let done = droste_with(program, &["check", "-"]).expect(2);
    assert!(done.err.contains(message), "{done:#?}");
}

#[test]
fn files_that_are_not_programs() {
    let dir = scratch("files");
    let path = |name: &str| dir.join(name).display().to_string();
    let done = droste(&["check", &path("missing.bp")]).expect(2);
    assert!(done.err.contains("no such file"), "{done:#?}");
    let done = droste(&["check", &path("")]).expect(2);
    assert!(done.err.contains("directory"), "{done:#?}");
    refused(b"", "the program is empty");
    refused(b" // nothing\n", "the program is empty");
    refused(
        b"void main() begin \0 end",
        "zero byte at offset 18, line 1",
    );
    refused(
        b"void main() begin \xfc: skip; end",
        "byte 0xfc at offset 18",
    );
    refused(b"\xff\xfev\0o\0i\0d\0", "UTF-16");
    refused(b"void f() begin skip; end", "`main`");
    refused(b"void main() begin /* skip; end", "comment does not end");
}

#[cfg(unix)]
#[test]
fn unreadable_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = scratch("unreadable");
    let file = dir.join("secret.bp");
    fs::write(&file, "void main() begin skip; end").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever may read everything (root) may read this.
    if fs::read(&file).is_err() {
        let done = droste(&["check", &file.display().to_string()]).expect(2);
        assert!(done.err.contains("permission denied"), "{done:#?}");
    }
}

#[test]
fn latin_1_in_comments_is_tolerated() {
    let program = b"// M\xfcller\nvoid main() begin ERROR: skip; /* \xe4 */ end";
    droste_with(program, &["check", "-"]).expect(1);
    droste_with(
        b"\xef\xbb\xbfvoid main() begin ERROR: skip; end",
        &["check", "-"],
    )
    .expect(1);
}

#[test]
fn deep_nesting() {
    let n = 100_000;
    let program = |body: String| format!("decl g; void main() begin {body} ; ERROR: skip; end");
    let parentheses = program(format!("g := {}g{}", "(".repeat(n), ")".repeat(n)));
    droste_with(parentheses.as_bytes(), &["check", "-", "-q"]).expect(1);
    let negations = program(format!("g := {}g", "!".repeat(n)));
    droste_with(negations.as_bytes(), &["check", "-", "-q"]).expect(1);
    let blocks = program(format!(
        "{} skip; {}",
        "if (g) then ".repeat(n),
        "fi ".repeat(n)
    ));
    droste_with(blocks.as_bytes(), &["check", "-", "-q"]).expect(1);
    refused(
        format!("void main() begin g := {}", "(".repeat(n)).as_bytes(),
        "error",
    );
    refused(
        format!("void main() begin {}", "while (*) do ".repeat(n)).as_bytes(),
        "error",
    );
}

#[test]
fn deep_recursion_and_long_traces() {
    let n = 5_000;
    let mut program = "decl g; void main() begin f0(); ERROR: skip; end\n".to_owned();
    for i in 0..n {
        let _ = writeln!(program, "void f{i}() begin f{}(); end", i + 1);
    }
    let _ = writeln!(program, "void f{n}() begin g := !g; end");
    let done = droste_with(program.as_bytes(), &["check", "-", "--json"]).expect(1);
    assert_eq!(done.json()["trace"]["length"], 2 * n + 3, "{}", done.err);
    // Shortened text all the same.
    let done = droste_with(program.as_bytes(), &["check", "-", "--max-steps", "100"]).expect(1);
    assert!(done.out.lines().count() < 400);
}

#[test]
fn a_long_line() {
    let line = format!(
        "decl g; void main() begin {} h := T; end",
        "g := !g; ".repeat(50_000)
    );
    let done = droste_with(line.as_bytes(), &["check", "-"]).expect(2);
    assert!(done.err.contains("`h` is not declared"), "{done:#?}");
    assert!(done.err.len() < 1000, "{done:#?}");
}

#[test]
fn bad_monitors() {
    let dir = scratch("monitors");
    let file = dir.join("m.mon");
    let path = file.display().to_string();
    let refused = |text: &[u8], message: &str| {
        fs::write(&file, text).unwrap();
        let done = droste(&["check", "lock.bp", "--monitor", &path]).expect(2);
        assert!(done.err.contains(message), "{done:#?}");
    };
    refused(b"", "error");
    refused(b"monitor m { state }", "error");
    refused(
        b"monitor m { initial state a { when at(NOPE) goto a; } }",
        "NOPE",
    );
    refused(
        b"monitor m { initial state a { when locked goto b; } }",
        "no state `b`",
    );
    refused(b"monitor m \0", "zero byte");
    let done = droste(&["check", "lock.bp", "--monitor", "nowhere.mon"]).expect(2);
    assert!(done.err.contains("no such file"), "{done:#?}");
    droste_with(b"", &["check", "-", "--monitor", "-"]).expect(2);
}
