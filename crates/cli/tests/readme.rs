//! Every command that the documentation shows is run, and its output compared with what the
//! documentation says.
//!
//! In `README.md` and `docs/*.md`, a block marked `console` holds commands, each a line that starts
//! with `$ droste `, followed by what the command writes (standard error, then standard output).
//! A code block whose first line is a comment that names a file, `// NAME.bp`, `.mon`, `.mu` or `.ltl`,
//! is that file for the commands of the same document. Commands run in a directory with
//! the repository's `examples` and `corpus`. Times are not compared.
//!
//! `BLESS=1 cargo test -p droste-cli --test readme` writes what was found into the documents.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A code block of a document: the lines between its fences.
struct Block {
    /// What stands behind the opening fence.
    info: String,
    /// The line of the opening fence, from 0.
    fence: usize,
    /// The line of the closing fence.
    end: usize,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<PathBuf> {
    let mut documents = vec![repository().join("README.md")];
    let docs = fs::read_dir(repository().join("docs")).expect("there is a directory docs");
    let pages = docs.map(|entry| entry.expect("docs can be read").path());
    documents.extend(pages.filter(|page| page.extension().is_some_and(|e| e == "md")));
    documents.sort();
    documents
}

fn blocks(lines: &[&str], document: &Path) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (i, line) in lines.iter().enumerate() {
        match (open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some((i, info.trim())),
            (Some((fence, info)), Some("")) => {
                blocks.push(Block {
                    info: info.to_owned(),
                    fence,
                    end: i,
                });
                open = None;
            }
            _ => {}
        }
    }
    assert!(
        open.is_none(),
        "{}: a code block is not closed",
        document.display()
    );
    blocks
}

/// The file name in a block's first line, if it is a comment with nothing else.
fn file_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("// ")?.trim();
    let extension = Path::new(name).extension()?;
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let known = ["bp", "mon", "mu", "ltl"]
        .iter()
        .any(|known| extension == *known);
    (plain && known).then_some(name)
}

/// An empty directory with copies of the examples and the corpus.
fn stage(name: &str) -> PathBuf {
    let stage = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("readme")
        .join(name);
    let _ = fs::remove_dir_all(&stage);
    let mut folders = vec![PathBuf::from("examples"), PathBuf::from("corpus")];
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(stage.join(&folder)).expect("a directory can be made");
        for entry in fs::read_dir(repository().join(&folder)).expect("the folder exists") {
            let path = entry.expect("the folder can be read").path();
            let here = folder.join(path.file_name().expect("a file has a name"));
            if path.is_file() {
                fs::copy(&path, stage.join(here)).expect("a file can be copied");
            } else {
                folders.push(here);
            }
        }
    }
    stage
}

/// Whether a command can be run here: heap programs need a Java compiler.
fn runs_here(arguments: &str) -> bool {
    let java = || Command::new("javac").arg("-version").output();
    !arguments.contains("examples/heap/") || java().is_ok_and(|output| output.status.success())
}

/// Words separated by spaces; single quotes keep a word together.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "a quote is not closed: {command}");
    words.extend(word);
    words
}

fn run(arguments: &str, directory: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_droste"))
        .args(words(arguments))
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .expect("droste runs");
    // As on a terminal: warnings come before the verdict.
    let text = [output.stderr, output.stdout].concat();
    let text = String::from_utf8(text).expect("droste writes UTF-8");
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// The line without times and, in JSON, without seconds: `12 ms` and `0.3 s` become `TIME`.
fn without_times(line: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let length = number
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(number.len());
        let after = &number[length..];
        let is_unit = |unit: &str| {
            let next = after.strip_prefix(unit).map(|tail| tail.chars().next());
            matches!(next, Some(c) if c.is_none_or(|c| !c.is_alphanumeric()))
        };
        result += &rest[..start];
        if let Some(unit) = [" ms", " s", " min"].into_iter().find(|unit| is_unit(unit)) {
            result += "TIME";
            rest = &after[unit.len()..];
        } else if result.ends_with("seconds\":") {
            result += "TIME";
            rest = after;
        } else {
            result += &number[..length];
            rest = after;
        }
    }
    result + rest
}

/// The lines of both, marked `-` where only the document has them and `+` where only the command does.
fn difference(expected: &[&str], found: &[String]) -> String {
    let same = |a: &str, b: &str| without_times(a) == without_times(b);
    // Lengths of longest common subsequences of the ends of the two.
    let mut common = vec![vec![0u32; found.len() + 1]; expected.len() + 1];
    for i in (0..expected.len()).rev() {
        for j in (0..found.len()).rev() {
            common[i][j] = if same(expected[i], &found[j]) {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut text = String::new();
    while i < expected.len() || j < found.len() {
        if i < expected.len() && j < found.len() && same(expected[i], &found[j]) {
            let _ = writeln!(text, "      {}", found[j]);
            (i, j) = (i + 1, j + 1);
        } else if j == found.len() || (i < expected.len() && common[i + 1][j] >= common[i][j + 1]) {
            let _ = writeln!(text, "    - {}", expected[i]);
            i += 1;
        } else {
            let _ = writeln!(text, "    + {}", found[j]);
            j += 1;
        }
    }
    text
}

/// Runs the commands of a document: what differs, and the document as it should be.
fn examine(document: &Path) -> (usize, String, String) {
    let text = fs::read_to_string(document).expect("the document can be read");
    let lines: Vec<&str> = text.lines().collect();
    let blocks = blocks(&lines, document);
    let name = document
        .file_name()
        .expect("a file has a name")
        .to_string_lossy()
        .into_owned();
    let directory = stage(&name);
    for block in &blocks {
        let body = &lines[block.fence + 1..block.end];
        if let Some(file) = body.first().and_then(|line| file_name(line)) {
            let path = directory.join(file);
            assert!(!path.exists(), "{name}: two blocks are called {file}");
            fs::write(path, body.join("\n") + "\n").expect("a file can be written");
        }
    }
    let mut commands = 0;
    let mut differences = String::new();
    let mut corrected: Vec<String> = Vec::new();
    let mut copied = 0;
    for block in blocks.iter().filter(|block| block.info == "console") {
        let mut i = block.fence + 1;
        while i < block.end {
            let Some(arguments) = lines[i].strip_prefix("$ droste ") else {
                i += 1;
                continue;
            };
            let mut end = i + 1;
            while end < block.end && !lines[end].starts_with("$ ") {
                end += 1;
            }
            // Empty lines before the next command belong to nobody.
            let mut last = end;
            while last > i + 1 && lines[last - 1].is_empty() {
                last -= 1;
            }
            let expected = &lines[i + 1..last];
            if !runs_here(arguments) {
                println!("skipped, there is no javac: {arguments}");
                i = end;
                continue;
            }
            let found = run(arguments, &directory);
            commands += 1;
            let agree = expected.len() == found.len()
                && expected
                    .iter()
                    .zip(&found)
                    .all(|(e, f)| without_times(e) == without_times(f));
            if !agree {
                let _ = write!(
                    differences,
                    "\n{name}:{}: {}\n{}",
                    i + 1,
                    lines[i],
                    difference(expected, &found)
                );
                corrected.extend(lines[copied..=i].iter().map(|&line| line.to_owned()));
                corrected.extend(found);
                copied = last;
            }
            i = end;
        }
    }
    corrected.extend(lines[copied..].iter().map(|&line| line.to_owned()));
    (commands, differences, corrected.join("\n") + "\n")
}

#[test]
fn documents_show_what_the_commands_say() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut commands = 0;
    let mut differences = String::new();
    for document in documents() {
        let (run, different, corrected) = examine(&document);
        commands += run;
        if bless && !different.is_empty() {
            fs::write(&document, corrected).expect("the document can be written");
        } else {
            differences += &different;
        }
    }
    assert!(commands > 0, "no document shows a command");
    assert!(
        differences.is_empty(),
        "the documents differ from what droste says (-: in the document, +: found); \
         BLESS=1 corrects them\n{differences}"
    );
}

#[test]
fn times_are_not_compared() {
    assert_eq!(
        without_times("1 context, 2 states, 3 ms"),
        "1 context, 2 states, TIME"
    );
    assert_eq!(without_times("9 states, 0.1 s"), "9 states, TIME");
    assert_eq!(without_times("(29 steps)"), "(29 steps)");
    assert_eq!(without_times("limit of 1 MB"), "limit of 1 MB");
    assert_eq!(
        without_times("{\"seconds\":0.0003,\"states\":1}"),
        "{\"seconds\":TIME,\"states\":1}"
    );
}

#[test]
fn differences_are_marked() {
    let found = ["a".to_owned(), "c 2 ms".to_owned(), "d".to_owned()];
    assert_eq!(
        difference(&["a", "b", "c 1 ms"], &found),
        "      a\n    - b\n      c 2 ms\n    + d\n"
    );
}
