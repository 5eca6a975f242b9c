//! The numbers in README.md are those of the recorded run that it names.
//!
//! The table between `<!-- numbers: FILE -->` and `<!-- end of numbers -->` is made from rows of
//! that file. `BLESS=1 cargo test -p droste-bench --test readme` writes the table anew.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use droste_base::words::count;

/// What is shown: words for people, then family, parameter, property and configuration of the row.
const SHOWN: [(&str, [&str; 4]); 9] = [
    (
        "buggy quicksort, 32 bits: a run that never ends",
        ["quicksort", "32", "repeat quicksort:ENTRY", "explicit dfs"],
    ),
    (
        "double-locking driver, 32 bits: the bug",
        ["locks", "32", "monitor double_lock", "explicit dfs"],
    ),
    (
        "the same, fixed, 8 bits: every lock is released",
        ["locks-fixed", "8", "monitor released", "explicit dfs"],
    ),
    (
        "driver of 1,454 lines, 10 + 36 uninitialised variables: safe",
        ["driver", "p-srdriver", "default", "explicit dfs"],
    ),
    (
        "`flip(262144)`: a label that is never reached",
        ["flip-reach", "262144", "reach BAD", "explicit dfs"],
    ),
    (
        "`flip(262144)`: `G F reach` holds",
        ["flip-ltl", "262144", "G F reach", "explicit dfs"],
    ),
    (
        "`flip(32768)`: `G F reach` holds",
        ["flip-ltl", "32768", "G F reach", "explicit dfs"],
    ),
    (
        "adder of 13 bits, by sets of states",
        ["adder", "13", "default", "bdd no-passes"],
    ),
    (
        "raw search",
        ["raw-counters", "140", "default", "explicit dfs"],
    ),
];

const BEGIN: &str = "<!-- numbers: ";
const END: &str = "<!-- end of numbers -->\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of a recorded run, each by the names of its columns.
fn rows(file: &str) -> Vec<HashMap<String, String>> {
    let text = fs::read_to_string(repository().join(file)).expect("the run is recorded");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().expect("a first line").split('\t').collect();
    let row = |line: &str| {
        let values = line.split('\t');
        let pairs = names.iter().zip(values);
        pairs
            .map(|(n, v)| ((*n).to_owned(), v.to_owned()))
            .collect()
    };
    lines.map(row).collect()
}

/// One line of the table.
fn line(what: &str, row: &HashMap<String, String>) -> String {
    let get = |name: &str| row.get(name).map_or("", String::as_str);
    let number = |name: &str| get(name).parse::<u64>().unwrap_or(0);
    let path_edges = number("path_edges").max(number("contexts"));
    let effort = if path_edges > 0 {
        format!("{} path edges", count(path_edges))
    } else {
        format!(
            "{} images, {} nodes",
            count(number("images")),
            count(number("nodes"))
        )
    };
    let (verdict, seconds, memory) = (get("verdict"), get("cpu_s"), get("peak_MB"));
    let paper = get("paper");
    format!("| {what} | {verdict} | {effort} | {seconds} | {memory} | {paper} |\n")
}

fn table(file: &str) -> String {
    let rows = rows(file);
    let mut table = String::from(
        "\n| what | verdict | effort | s | MB | the paper |\n|---|---|---|---|---|---|\n",
    );
    for (what, wanted) in SHOWN {
        let row = rows.iter().find(|row| {
            let keys = ["family", "parameter", "property", "config"];
            let mut pairs = keys.iter().zip(wanted);
            pairs.all(|(key, value)| value.is_empty() || row[*key] == value)
        });
        let row = row.unwrap_or_else(|| panic!("{file} has no row {wanted:?}"));
        table += &line(what, row);
    }
    table.push('\n');
    table
}

#[test]
fn the_numbers_are_those_of_the_recorded_run() {
    let path = repository().join("README.md");
    let readme = fs::read_to_string(&path).expect("there is a README");
    let (before, rest) = readme.split_once(BEGIN).expect("the table begins");
    let (file, rest) = rest.split_once(" -->\n").expect("a file is named");
    let (found, after) = rest.split_once(END).expect("the table ends");
    let expected = table(file);
    if std::env::var_os("BLESS").is_some() {
        let mut text = String::new();
        let _ = write!(text, "{before}{BEGIN}{file} -->\n{expected}{END}{after}");
        fs::write(&path, text).expect("README can be written");
        return;
    }
    assert_eq!(found, expected, "BLESS=1 writes the table anew");
}
