//! What the comments in the examples promise.

mod common;

use std::fs;

use common::{droste, examples};
use droste_testkit::corpus::split;

/// The commands in comments, each with the verdict that follows it, there or on the next line.
fn promises(text: &str) -> Vec<(String, String)> {
    let mut promises = Vec::new();
    let mut waiting: Option<String> = None;
    for line in text.lines() {
        let Some(comment) = line.strip_prefix("//   ") else {
            continue;
        };
        let verdict = match comment.strip_prefix("droste ") {
            Some(rest) => {
                let (command, verdict) = rest.split_once("  ").unwrap_or((rest, ""));
                waiting = Some(command.to_owned());
                verdict
            }
            None => comment,
        };
        let word: String = verdict
            .trim()
            .chars()
            .take_while(char::is_ascii_lowercase)
            .collect();
        if !word.is_empty()
            && let Some(command) = waiting.take()
        {
            promises.push((command, word));
        }
    }
    promises
}

#[test]
fn examples_keep_their_promises() {
    let mut count = 0;
    for entry in fs::read_dir(examples()).expect("there are examples") {
        let path = entry.expect("an example").path();
        // Heap programs have tests of their own (`heap.rs`).
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(&path).expect("examples are text");
        for (command, verdict) in promises(&text) {
            let args = split(&command);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let done = droste(&args);
            let code = match verdict.as_str() {
                "holds" | "shows" => 0,
                "violated" => 1,
                other => panic!("{}: `{other}` is no verdict", path.display()),
            };
            done.expect(code);
            count += 1;
        }
    }
    assert!(count >= 18, "only {count} promises were found");
}
