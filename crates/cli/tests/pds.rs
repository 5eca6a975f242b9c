//! `droste pds`: what people see, exit codes, bad input.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Done, droste, droste_with, golden, scratch};
use serde_json::json;

fn shows(name: &str, args: &[&str]) -> Done {
    let done = droste(args);
    golden(name, args, &done);
    done
}

/// Runs `droste pds COMMAND -` on a text.
fn of(text: &str, command: &str, args: &[&str]) -> Done {
    let args: Vec<&str> = ["pds", command, "-"].iter().chain(args).copied().collect();
    droste_with(text.as_bytes(), &args)
}

fn shows_of(name: &str, text: &str, command: &str, args: &[&str]) {
    let all: Vec<&str> = ["pds", command, "-"].iter().chain(args).copied().collect();
    golden(name, &all, &of(text, command, args));
}

#[test]
fn help() {
    shows("help-pds", &["pds", "--help"]).expect(0);
    shows("help-pds-reach", &["pds", "reach", "--help"]).expect(0);
}

#[test]
fn answers() {
    shows("pds-reach", &["pds", "reach", "calls.wpds"]).expect(1);
    shows("pds-path", &["pds", "path", "calls.wpds"]).expect(1);
    shows("pds-path-json", &["pds", "path", "network.json"]).expect(1);
    shows("pds-post", &["pds", "post", "network.json"]).expect(0);
    shows("pds-pre-dot", &["pds", "pre", "network.json", "--dot"]).expect(0);
    let not = ["pds", "reach", "calls.wpds", "--target", "<run> main main"];
    shows("pds-not-reachable", &not).expect(0);
    shows(
        "pds-convert",
        &["pds", "convert", "calls.wpds", "--to", "pdaaal"],
    )
    .expect(0);
}

/// Calls that call: the run has more steps than could be listed, and is shown nevertheless.
#[test]
fn long_runs_are_folded() {
    let mut text = String::from("init <p, a0>\ntarget <q, end>\nrule p a0 -> p b0 end\n");
    for i in 0..70 {
        let next = i + 1;
        let rules = format!("rule p b{i} -> p b{next} c{i}\nrule q c{i} -> p b{next}\n");
        text.push_str(&rules);
    }
    text += "rule p b70 -> q\n";
    let done = of(&text, "path", &["--shortest"]).expect(1);
    assert!(done.out.contains("as in ("), "{}", done.out);
    assert!(done.out.contains("2⁶⁴ − 1 steps or more"), "{}", done.out);
    assert!(done.out.lines().count() < 2100, "{}", done.out);
    let object = of(&text, "path", &["--json"]).expect(1).json();
    assert_eq!(
        object["witness"]["steps"],
        json!(u64::MAX.to_string()),
        "2^70 steps and more"
    );
    let few = of(&text, "path", &["--max-steps", "5"]).expect(1);
    assert!(few.out.contains("--max-steps"), "{}", few.out);
}

/// Each symbol becomes two of the next one.
fn doubled(depth: usize) -> String {
    let mut text = String::from("domain minplus\ninit <p, f0>\ntarget <p>\n");
    for i in 0..depth {
        let next = i + 1;
        let _ = writeln!(text, "rule p f{i} -> p f{next} f{next} : 1");
    }
    text + &format!("rule p f{depth} -> p : 1\n")
}

/// What a caller ends with is what it called before: that is shown once, too.
#[test]
fn ends_are_shared() {
    shows_of("pds-path-ends", &doubled(5), "path", &[]);
    let text = doubled(100);
    for direction in ["pre", "post"] {
        let done = of(&text, "path", &["--direction", direction]).expect(1);
        assert!(done.out.contains("then   as in ("), "{}", done.out);
        assert!(done.out.contains("  100 deep  "), "{}", done.out);
        assert!(done.out.lines().count() < 220, "{}", done.out);
        let done = of(&text, "path", &["--direction", direction, "--json"]).expect(1);
        let object = done.json();
        let runs = object["witness"]["runs"].as_array().expect("runs");
        let steps: usize = runs
            .iter()
            .map(|run| run.as_array().map_or(0, Vec::len))
            .sum();
        assert!(runs.len() <= 101 && steps < 220, "{steps} steps");
    }
}

/// post* finds a quadratic number of transitions here, pre* a linear one. Who does not say which, gets
/// what is done first.
#[test]
fn the_better_direction_answers() {
    let text = doubled(400);
    for command in ["reach", "path"] {
        let object = of(&text, command, &["--json"]).expect(1).json();
        assert_eq!(object["direction"], "pre");
        let again = of(&text, command, &["--json"]).expect(1).json();
        assert_eq!(object["witness"], again["witness"]);
        let post = of(&text, command, &["--json", "--direction", "post"]).expect(1);
        assert_eq!(post.json()["direction"], "post");
        assert_eq!(post.json()["weight"], object["weight"]);
    }
    let small = droste(&["pds", "reach", "calls.wpds", "--json"]).json();
    assert_eq!(small["direction"], "post");
    let several = of(&text, "reach", &["--json", "--cores", "2"]).expect(1);
    assert_eq!(several.json()["direction"], "post");
}

/// A reader that takes nothing for longer than there is time.
#[test]
fn limits_hold_while_an_answer_is_written() {
    let folder = scratch("written");
    let file = folder.join("doubled.wpds");
    fs::write(&file, doubled(300)).expect("a file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_droste"))
        .args(["pds", "post", "--json", "--timeout", "2"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    sleep(Duration::from_millis(2500));
    let mut out = Vec::new();
    let stdout = child.stdout.as_mut().expect("its output");
    stdout.read_to_end(&mut out).expect("bytes");
    let done = child.wait_with_output().expect("an end");
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{told}");
    assert!(told.contains("the time limit of 2 s was reached"), "{told}");
}

#[test]
fn ways_agree() {
    for method in ["chaotic", "path", "dual"] {
        for direction in ["pre", "post"] {
            let mut args = vec!["pds", "reach", "calls.wpds", "--json", "--method", method];
            // It goes from both ends.
            if method != "dual" {
                args.extend(["--direction", direction]);
            }
            let object = droste(&args).expect(1).json();
            assert_eq!(object["weight"], json!(15), "{object}");
            for field in ["reachable", "seconds", "transitions", "rules", "domain"] {
                assert!(!object[field].is_null(), "{object}");
            }
        }
    }
    let object = droste(&["pds", "reach", "calls.wpds", "--weight", "bool", "--json"])
        .expect(1)
        .json();
    assert_eq!(
        (&object["weight"], &object["domain"]),
        (&json!(true), &json!("bool"))
    );
}

/// Cores and orders do not change the answer; where they mean nothing, they are refused by name.
#[test]
fn cores_and_orders() {
    let run = |command: &str, more: &[&str]| {
        let mut args = vec!["pds", command, "calls.wpds"];
        args.extend(more);
        droste(&args)
    };
    let post = run("post", &[]).expect(0).out;
    for order in ["best", "last", "first"] {
        for cores in ["1", "2", "3"] {
            let flags = ["--order", order, "--cores", cores];
            assert_eq!(run("post", &flags).expect(0).out, post, "{flags:?}");
            for direction in ["pre", "post"] {
                let mut flags = flags.to_vec();
                flags.extend(["--direction", direction, "--json"]);
                let object = run("reach", &flags).expect(1).json();
                assert_eq!(object["weight"], json!(15), "{flags:?}");
            }
        }
    }
    run("reach", &["--method", "dual", "--order", "first"]).expect(1);
    run("path", &["--order", "last"]).expect(1);
    for (command, flags, what) in [
        (
            "reach",
            &["--method", "path", "--cores", "2"][..],
            "--cores: `--method path`",
        ),
        (
            "reach",
            &["--method", "dual", "--cores", "2"],
            "--cores: `--method dual`",
        ),
        (
            "reach",
            &["--method", "dual", "--direction", "pre"],
            "--direction: `--method dual`",
        ),
        (
            "post",
            &["--method", "path", "--order", "last"],
            "--order: with `--method path`",
        ),
        ("path", &["--cores", "2"], "--cores: a run"),
        ("reach", &["--cores", "0"], "from 1 to 64"),
        ("reach", &["--cores", "two"], "from 1 to 64"),
    ] {
        let done = run(command, flags).expect(2);
        assert!(done.err.contains(what), "{}", done.err);
    }
    let threads = "2\nPDA 1 2\n0 1 -> 1 2\n";
    let where_to = ["--initial", "0|1", "--target", "1|2"];
    of(threads, "reach", &where_to).expect(1);
    for (flag, value) in [
        ("--cores", "2"),
        ("--order", "last"),
        ("--method", "path"),
        ("--direction", "pre"),
    ] {
        let flags = [&where_to[..], &[flag, value]].concat();
        let done = of(threads, "reach", &flags).expect(2);
        assert!(done.err.contains(flag), "{}", done.err);
    }
}

/// What a format would lose is refused or said.
#[test]
fn conversions_lose_nothing() {
    let empty = "rule p a -> q b\ninit <p, a>\ntarget <q, [^a, b]>\n";
    of(empty, "reach", &[]).expect(0);
    let done = of(empty, "convert", &["--to", "numeric"]).expect(2);
    assert!(done.err.contains("--drop target"), "{}", done.err);
    for to in ["wpds", "pdaaal"] {
        let text = of(empty, "convert", &["--to", to]).expect(0).out;
        of(&text, "reach", &[]).expect(0);
    }
    let longest =
        "domain maxplus\nrule p a -> p b : 3\nrule p a -> p b : ZERO\ninit <p, a>\ntarget <p, b>\n";
    for to in ["numeric", "wpds"] {
        let done = of(longest, "convert", &["--to", to]).expect(0);
        let said = done.err.contains("--weight maxplus");
        assert_eq!(said, to == "numeric", "{}", done.err);
        let object = of(&done.out, "reach", &["--weight", "maxplus", "--json"]);
        assert_eq!(object.expect(1).json()["weight"], json!(3));
    }
    // Weights that are all one are none.
    let free = "wpds 1 2 1\nr1 0 0 0 1 0\ninit 0 0\n";
    let done = of(free, "convert", &["--to", "moped"]).expect(0);
    assert!(done.out.contains("-->"), "{}", done.out);
}

#[test]
fn automata_are_saved_and_read_again() {
    let dir = scratch("pds-automata");
    let file = dir.join("post.aut");
    let file = file.to_str().expect("a name");
    droste(&["pds", "post", "calls.wpds", "--output", file]).expect(0);
    assert!(
        fs::read_to_string(file)
            .expect("it was written")
            .starts_with("from bottom")
    );
    // What is reached from what is reached costs nothing more.
    let args = [
        "pds",
        "post",
        "calls.wpds",
        "--initial",
        file,
        "--of",
        "<run, end>",
    ];
    assert_eq!(droste(&args).expect(0).out, "<run, end> : 15\n");
    let of = ["pds", "post", "calls.wpds", "--of", "<run, end> "];
    assert_eq!(droste(&of).expect(0).out, "<run, end>  : 15\n");
    let several = ["pds", "post", "calls.wpds", "--of", "<run, end*>"];
    assert!(droste(&several).expect(2).err.contains("more than one"));
}

/// `WALi` writes the name of its class around a number; other formats have the number.
#[test]
fn weights_of_wali_become_numbers() {
    let text = "<WPDS><Rule from='p' fromStack='b' to='p'>\
                <Weight>ShortestPathSemiring(3)</Weight></Rule></WPDS>";
    for (to, expected) in [
        ("wpds", "rule p b -> p : 3\n"),
        ("numeric", "r0 0 0 0 3\n"),
        ("pdaaal", "\"weight\": 3}"),
        ("wali", "ShortestPathSemiring(3)"),
    ] {
        let done = of(text, "convert", &["--to", to]).expect(0);
        assert!(done.out.contains(expected), "{to}: {}", done.out);
    }
}

#[test]
fn conversions_mean_the_same() {
    let dir = scratch("pds-convert");
    for (to, extra) in [
        ("wpds", &[][..]),
        ("numeric", &[]),
        ("pdaaal", &[]),
        ("wali", &["--target", "<run, end>", "--weight", "minplus"]),
    ] {
        let file = dir.join(to);
        let file = file.to_str().expect("a name");
        let mut args = vec!["pds", "convert", "calls.wpds", "--to", to, "--output", file];
        if to == "wali" {
            args.extend(["--drop", "target"]);
        }
        droste(&args).expect(0);
        let mut args = vec!["pds", "reach", file, "--json"];
        args.extend(extra);
        assert_eq!(droste(&args).expect(1).json()["weight"], json!(15), "{to}");
    }
    let no = droste(&["pds", "convert", "calls.wpds", "--to", "moped"]).expect(2);
    assert!(no.err.contains("no weights"), "{}", no.err);
    let no = droste(&["pds", "convert", "calls.wpds", "--to", "wali"]).expect(2);
    assert!(no.err.contains("--drop"), "{}", no.err);
}

#[test]
fn bad_input() {
    let wrong = "domain minplus\nrule p a -> q b c d : x\nrule p a -> q : -3\nrule p a -> q b b b : 1\n\
                 init <p, a>\ntarget <q, a>\n";
    shows_of("pds-weights", wrong, "reach", &[]);
    shows_of(
        "pds-errors",
        "rule p a > q\nrlue p a -> q\ninit <p, (a>\ntarget <r, a>\n",
        "reach",
        &[],
    );
    shows_of(
        "pds-cut-short",
        "{\"pda\": {\"states\": [{\"A\": {\"to\": 0, \"pop\"",
        "reach",
        &[],
    );
    shows_of(
        "pds-foreign",
        "<WPDS>\n  <Rule from='p' fromStack='a' to='p'/>\n  <Regel/>\n</WPDS>\n",
        "reach",
        &[],
    );
    for text in [
        "",
        "\0\0",
        "rule",
        "<",
        "{",
        "(",
        "7",
        "wpds",
        "\u{feff}",
        "<!DOCTYPE a [",
        "[1]",
    ] {
        of(text, "reach", &[]).expect(2);
    }
    droste_with(b"rule p \xff -> q\n", &["pds", "reach", "-"]).expect(2);
    let rules = "rule p a -> q b c d e : x\n";
    of(rules, "reach", &[]).expect(2);
    let rules = "rule p a -> q\n";
    assert!(of(rules, "reach", &[]).expect(2).err.contains("--initial"));
    let sets = ["--initial", "<p, a>", "--target", "<q>"];
    of(rules, "reach", &sets).expect(1);
    for bad in ["<p, a", "<r, a>", "<>", "no-such-file", "<p, [>"] {
        of(rules, "reach", &["--initial", bad, "--target", "<q>"]).expect(2);
    }
    let weight = |weight: &'static str| [&sets[..], &["--weight", weight]].concat();
    of(rules, "reach", &weight("minplus")).expect(1);
    of(rules, "reach", &weight("relation:3")).expect(1);
    for bad in ["integers", "relation", "genkill:0", ""] {
        of(rules, "reach", &weight(bad)).expect(2);
    }
    of(rules, "pre", &["--method", "dual", "--target", "<q>"]).expect(2);
    of("2\nPDA 1 1\n0 1 -> 1\n", "reach", &[]).expect(2);
    of(
        &format!("\u{feff}{}", rules.replace('\n', "\r\n")),
        "reach",
        &sets,
    )
    .expect(1);
}

/// A word may be as long as the file; what is said about it is not.
#[test]
fn messages_are_short() {
    for text in [
        "a".repeat(1 << 20),
        format!("rule {} a", "p".repeat(1 << 20)),
    ] {
        let done = of(&text, "reach", &[]).expect(2);
        assert!(done.err.len() < 10_000, "{}", done.err.len());
    }
}

/// Epsilon transitions in a circle: without weights, with weights that grow, and with such that fall
/// for ever.
#[test]
fn epsilon_may_go_round() {
    let json = r#"{"instance": [{"state-names": false, "weight-type": "uint"},
        {"states": [{"A": {"to": 0, "swap": "B", "weight": 4}}]},
        {"accepting": [3], "edges": [[0, "", 1], [1, "", 2], [2, "", 1], [2, "A", 3], [3, "", 3]]},
        {"accepting": [2], "edges": [[0, "B", 1], [1, "", 2], [2, "", 1]]}]}"#;
    let own = |weight: &str| {
        format!(
            "domain minplus\nrule p a -> q b : 4\ninit <p, a>\ntarget edge q b -> @1\n\
             target edge @1 () -> @2 : {weight}\ntarget edge @2 () -> @1\ntarget final @1\n"
        )
    };
    let cases = [
        (json.to_owned(), json!(4)),
        (own("1"), json!(4)),
        (own("0"), json!(4)),
        (own("-1"), json!("-inf")),
    ];
    for (text, expected) in &cases {
        for direction in ["pre", "post"] {
            for method in ["chaotic", "path"] {
                let args = ["--direction", direction, "--method", method, "--json"];
                let object = of(text, "reach", &args).expect(1).json();
                assert_eq!(&object["weight"], expected, "{direction}, {method}: {text}");
            }
        }
    }
}

#[test]
fn limits() {
    let mut text = String::from("wpds 1 200000 400000\n");
    for i in 0..200_000 {
        let next = (i + 1) % 200_000;
        let rules = format!("r1 0 {i} 0 {next} 1\nr2 0 {i} 0 {next} {i} 1\n");
        text.push_str(&rules);
    }
    text += "init 0 0\ntarget 0 5\n";
    let done = of(&text, "reach", &["--timeout", "0.001", "--json"]).expect(3);
    assert_eq!(done.json()["reachable"], json!(null));
    of(&text, "post", &["--memory", "1"]).expect(3);
}

/// The names of an object's fields.
fn fields(object: &serde_json::Value) -> Vec<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(|key| &**key)
        .collect()
}

/// The object at a limit has the fields that it has otherwise, and `reason`.
#[test]
fn objects_are_whole_at_a_limit() {
    let short = ["--json", "--timeout", "0.000001"];
    for command in ["reach", "path", "post", "pre"] {
        let whole = droste(&["pds", command, "calls.wpds", "--json"]).json();
        let mut expected = fields(&whole);
        expected.retain(|field| !matches!(*field, "witness" | "automaton"));
        expected.push("reason");
        expected.sort_unstable();
        let object = droste(&[&["pds", command, "calls.wpds"], &short[..]].concat());
        let object = object.expect(3).json();
        assert_eq!(fields(&object), expected, "{command}");
        assert_eq!(
            (&object["rules"], &object["weight"]),
            (&json!(null), &json!(null))
        );
        assert_eq!(object["method"], "chaotic");
        assert!(object["reading_seconds"].as_f64() > Some(0.0), "{object:#}");
    }
    let threads = [
        "pds",
        "reach",
        "threads.cpds",
        "--initial",
        "0|1,4",
        "--target",
        "2|*,5",
    ];
    let whole = droste(&[&threads[..], &["--json"]].concat())
        .expect(1)
        .json();
    for field in ["threads", "contexts", "proof", "schedule", "aggregates"] {
        assert!(whole.get(field).is_some(), "{field}: {whole:#}");
    }
    assert_eq!((whole.get("method"), &whole["rules"]), (None, &json!(4)));
}

#[test]
fn forgotten_brackets() {
    let done = droste(&["pds", "reach", "calls.wpds", "--target", "end"]).expect(2);
    let how = done.err.find("--target: a set is written '<p, a>'");
    let file = done.err.find("cannot read `end`: no such file");
    assert!(how.is_some() && how < file, "{}", done.err);
}

/// What the system says when a file cannot be written is worded as when it cannot be read.
#[test]
fn system_errors_are_in_one_style() {
    let file = scratch("no-such-folder").join("missing").join("out");
    let file = file.to_str().expect("a path");
    for args in [
        &["pds", "post", "network.json", "--output", file][..],
        &[
            "pds",
            "convert",
            "calls.wpds",
            "--to",
            "wpds",
            "--output",
            file,
        ],
    ] {
        let done = droste(args).expect(2);
        assert!(done.err.contains(": no such file"), "{}", done.err);
        assert!(!done.err.contains("os error"), "{}", done.err);
    }
}

/// Defects of other tools, each of which is right here.
mod defects {
    use super::*;

    /// Sums of weights wrap around after 32 bits elsewhere.
    #[test]
    fn sums_do_not_wrap_around() {
        let text =
            "wpds 1 3 2\nr1 0 0 0 1 4294967295\nr1 0 1 0 2 4294967295\ninit 0 0\ntarget 0 2\n";
        let object = of(text, "reach", &["--json"]).expect(1).json();
        assert_eq!(object["weight"], json!(8_589_934_590_u64));
        let most = i64::MAX - 1;
        let text =
            format!("wpds 1 3 2\nr1 0 0 0 1 {most}\nr1 0 1 0 2 {most}\ninit 0 0\ntarget 0 2\n");
        let object = of(&text, "reach", &["--json"]).expect(1).json();
        assert_eq!(object["weight"], json!(most.to_string()), "that, or more");
    }

    /// Elsewhere such an automaton is a segmentation fault.
    #[test]
    fn automata_may_lead_into_control_states() {
        let text = r#"{"instance": [{"state-names": false, "weight-type": "uint"},
            {"states": [{"A": {"to": 1, "pop": "", "weight": 2}, "B": {"to": 0, "swap": "A", "weight": 1}},
                        {"B": {"to": 0, "swap": "A", "weight": 1}}]},
            {"accepting": [2], "edges": [[0, "A", 0], [0, "B", 2]]},
            {"accepting": [1], "edges": []}]}"#;
        // <0, A^n B> reaches <1, nothing> only with n = 0 or 1.
        for direction in ["pre", "post"] {
            let object = of(text, "reach", &["--direction", direction, "--json"])
                .expect(1)
                .json();
            assert_eq!(object["weight"], json!(3), "{direction}");
        }
    }

    /// Elsewhere a target is called unreachable if a weight is negative.
    #[test]
    fn negative_weights_are_never_answered_wrongly() {
        let text = r#"{"pda": {"states": [{"A": {"to": 1, "swap": "B", "weight": -5}}, {}]}}"#;
        let sets = ["--initial", "<0, A>", "--target", "<1, B>"];
        for direction in ["pre", "post"] {
            let args = [&sets[..], &["--direction", direction]].concat();
            let done = of(text, "reach", &args).expect(1);
            assert!(done.out.contains("weight -5"), "{done:?}");
        }
        of(text, "reach", &[&sets[..], &["--weight", "bool"]].concat()).expect(1);
        // Round and round, it gets shorter for ever.
        let round = "domain minplus\nrule p a -> p a : -1\nrule p a -> q b : 9\n\
                     init <p, a>\ntarget <q, b>\n";
        let object = of(round, "path", &["--json"]).expect(1).json();
        assert_eq!(object["weight"], json!("-inf"));
        assert_eq!(object.get("witness"), None);
        let object = of(round, "reach", &["--weight", "maxplus", "--json"]);
        assert_eq!(object.expect(1).json()["weight"], json!(9));
    }
}

/// Two threads with a stack each, as CUBA writes them: `1` waits for the other thread, and is proved
/// to be reached or not for any number of contexts.
#[test]
fn threads_with_a_stack_each() {
    let text = "3\nPDA 1 2\n0 1 -> 0 1 1\n0 1 -> 1 2\nPDA 4 5\n1 4 -> 2 5\n";
    let ask = |target: &str, more: &[&str]| {
        let mut args = vec!["--initial", "0|1,4", "--target", target, "--json"];
        args.extend(more);
        of(text, "reach", &args)
    };
    let done = ask("2|*,5", &[]).expect(1);
    assert_eq!(done.json()["contexts"], json!(2));
    let done = ask("2|*,5", &["--contexts", "1"]).expect(0);
    assert_eq!(done.json()["any_number_of_contexts"], json!(false));
    let done = ask("2|1,4", &[]).expect(0);
    assert_eq!(done.json()["any_number_of_contexts"], json!(true));
    for wrong in ["2", "9|1,4", "2|1", "2|7,4", "2|x,4", "2|1.1,4"] {
        ask(wrong, &[]).expect(2);
    }
    of(text, "reach", &["--target", "2|*,5"]).expect(2);
    of(text, "post", &[]).expect(2);
    let args = ["--initial", "0|1,4", "--target", "2|*,5"];
    let done = of(text, "path", &args).expect(1);
    assert!(done.out.contains("thread 2: 1|4 to 2|5"), "{}", done.out);
}

/// A text without `|` is the name of a file, as CUBA has them.
#[test]
fn states_of_threads_come_from_files() {
    let folder = scratch("pds-states");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let text = "3\nPDA 1 2\n0 1 -> 1 2\nPDA 4 5\n1 4 -> 2 5\n";
    let (initial, target) = (file("a.init", "0|1,4  # start"), file("a.spec", "2|*,5\n"));
    let args = ["--initial", &initial, "--target", &target];
    of(text, "reach", &args).expect(1);
    let two = file("two.init", "0|1,4\n0|2,4\n");
    let done = of(text, "reach", &["--initial", &two, "--target", &target]).expect(2);
    assert!(done.err.contains("two.init:2:1"), "{}", done.err);
    let done = of(text, "reach", &["--initial", "0,1,4", "--target", &target]).expect(2);
    assert!(
        done.err.contains("--initial: a state is written '0|1.2,4'"),
        "{}",
        done.err
    );
}

/// The exit code does not say what a weight is.
#[test]
fn a_weight_that_is_asked_for_is_told() {
    let args = ["pds", "post", "calls.wpds", "--of", "<run, end>"];
    let all = droste(&args).expect(0).out;
    assert!(all.starts_with("<run, end> : "), "{all}");
    let quiet = droste(&[&args[..], &["-q"]].concat()).expect(0);
    assert_eq!((quiet.out, quiet.err), (all, String::new()));
}

/// `bool` asks for paths, whatever the weights are, and whatever calls do with them.
#[test]
fn weights_of_any_domain_are_forgotten() {
    for (domain, weight) in [("relation 2 2", "{0->1}"), ("genkill 3", "gen{1}")] {
        let merge = if domain == "genkill 3" {
            ""
        } else {
            "merge p a -> p b c : locals\n"
        };
        let text = format!(
            "domain {domain}\nrule p a -> p b c : {weight}\n{merge}rule p b -> p : {weight}\n\
             rule p c -> q d : {weight}\ninit <p, a>\ntarget <q, d>\n"
        );
        let object = of(&text, "reach", &["--weight", "bool", "--json"]).expect(1);
        assert_eq!(object.json()["weight"], json!(true));
    }
}

/// Steps are counted, and no weights are shown that the system does not have.
/// A rule with a merge function returns, whatever it weighs, also if nothing else of weights is left.
#[test]
fn a_callee_that_nobody_sees_returns() {
    let text = "domain relation 2 2\nrule p main -> p f back : {}\n\
                merge p main -> p f back : locals\nrule p f -> p\ninit <p, main>\n";
    for target in ["<p, back>", "<p, f back>"] {
        let code = u8::from(target == "<p, back>").into();
        for way in [
            &["--direction", "pre"][..],
            &["--direction", "post"],
            &["--method", "path", "--direction", "pre"],
            &["--method", "path"],
            &["--method", "dual"],
        ] {
            let args = [&["--target", target], way].concat();
            let bool = [&args[..], &["--weight", "bool"]].concat();
            of(text, "reach", &args).expect(code);
            of(text, "reach", &bool).expect(code);
            of(text, "path", &bool).expect(code);
        }
        let plain = of(text, "convert", &["--to", "wpds", "--weight", "bool"]).expect(0);
        of(&plain.out, "reach", &["--target", target]).expect(code);
        let shortest = ["--target", target, "--weight", "bool", "--shortest"];
        of(text, "path", &shortest).expect(2);
    }
}

/// A sum is out of range, and the answer is not, whatever the method. For the automaton of all, path
/// expressions have 64 bits, and say so.
#[test]
fn sums_out_of_range() {
    let text = "domain minplus\nrule p d -> q e : 5\nrule p c -> p d : 9223372036854775806\n\
                init <p, c>\ntarget <q, e> : -4611686018427387904\n";
    for cores in ["1", "2"] {
        let done = of(text, "reach", &["--cores", cores]).expect(1);
        assert!(done.out.contains("4611686018427387907"), "{}", done.out);
    }
    for method in ["path", "dual"] {
        let done = of(text, "reach", &["--method", method]).expect(1);
        assert!(done.out.contains("4611686018427387907"), "{}", done.out);
    }
    let done = of(text, "post", &["--method", "path"]).expect(3);
    assert!(done.err.contains("--method chaotic"), "{}", done.err);
}

/// Sums of epsilon edges that need more than 64 bits, where the answer does not, or where they lead
/// nowhere; and such that fall for ever.
#[test]
fn epsilon_sums_out_of_range() {
    let cases = [
        (
            "rule p a -> p\ninit <p, a> : -9223372036854775806\n\
             target edge p () -> @0 : 9223372036854775806\n\
             target edge @0 () -> @1 : 5\ntarget final @1\n",
            json!(5),
        ),
        (
            "rule p a -> p b\ninit <p, a>\ntarget edge p () -> @0\n\
             target edge @0 () -> @0 : -9223372036854775806\ntarget edge p b -> @1\n\
             target final @0 : -5\ntarget final @1\n",
            json!(0),
        ),
        (
            "rule p a -> p b\ninit <p, a>\ntarget edge p b -> @0\n\
             target edge @0 () -> @0 : -9223372036854775806\ntarget final @0 : -5\n",
            json!("-inf"),
        ),
        (
            "states q\nrule p a -> p\nrule p d -> p\ninit <p, a>\ninit edge q () -> @0 : -4611686018427387903\n\
             init edge @0 d -> q : -9223372036854775806\ntarget <q, a>\n",
            json!(null),
        ),
    ];
    for (lines, expected) in &cases {
        let text = format!("domain minplus\n{lines}");
        let code = i32::from(!expected.is_null());
        for direction in ["pre", "post"] {
            for method in ["chaotic", "path"] {
                let args = ["--direction", direction, "--method", method, "--json"];
                let object = of(&text, "reach", &args).expect(code).json();
                assert_eq!(&object["weight"], expected, "{direction}, {method}: {text}");
            }
            let args = ["--direction", direction, "--json"];
            let object = of(&text, "path", &args).expect(code).json();
            assert_eq!(&object["weight"], expected, "path {direction}: {text}");
            let has_run = object.get("witness").is_some_and(|run| !run.is_null());
            assert_eq!(has_run, expected.is_number(), "path {direction}: {text}");
        }
        let object = of(&text, "reach", &["--method", "dual", "--json"]);
        assert_eq!(&object.expect(code).json()["weight"], expected, "{text}");
    }
    // Backwards, one configuration that is asked for.
    let (lines, _) = &cases[2];
    let text = format!("domain minplus\n{lines}");
    let done = of(&text, "pre", &["--of", "<p, a>"]).expect(0);
    assert!(done.out.contains(": -inf"), "{}", done.out);
}

#[test]
fn shortest_runs_have_no_weights() {
    let text = "rule p a -> p b\nrule p b -> p c\nrule p a -> p c\ninit <p, a>\ntarget <p, c>\n";
    let done = of(text, "path", &["--shortest"]).expect(1);
    assert!(done.out.starts_with("reachable\n"), "{}", done.out);
    assert!(done.out.contains("  p a -> p c\n"), "{}", done.out);
    let object = of(text, "path", &["--shortest", "--json"]).expect(1).json();
    assert_eq!(
        (&object["domain"], &object["weight"]),
        (&json!("bool"), &json!(true))
    );
}

#[test]
fn standard_input_is_read_once() {
    let done = of("rule p a -> p b\n", "reach", &["--target", "-"]).expect(2);
    assert!(done.err.contains("standard input"), "{}", done.err);
}

/// Commands of commands have man pages.
#[test]
fn man_pages() {
    let dir = scratch("man-pds");
    fs::create_dir_all(&dir).expect("a directory");
    let name = dir.display().to_string();
    droste(&["man", "--dir", &name]).expect(0);
    let page = fs::read_to_string(dir.join("droste-pds-reach.1")).expect("a page");
    assert!(page.contains("direction"), "{page}");
    let page = droste(&["man", "pds-reach"]).expect(0);
    assert!(page.out.contains("direction"), "{}", page.out);
    droste(&["man", "pds-nothing"]).expect(2);
}

/// Vectors may be negative, and fall for ever: by the order, not by an element.
#[test]
fn vectors_with_negative_elements() {
    let answer = |weight: &str| {
        let text = format!(
            "domain vector\nrule p a -> p a : {weight}\nrule p a -> q b : [2, -5]\n\
             init <p, a>\ntarget <q, b>\n"
        );
        let mut all = Vec::new();
        for way in [
            &["--direction", "pre"][..],
            &["--direction", "post"],
            &["--method", "path"],
            &["--method", "dual"],
        ] {
            let args = [way, &["--json"]].concat();
            all.push(of(&text, "reach", &args).expect(1).json()["weight"].clone());
        }
        assert!(all.iter().all(|weight| *weight == all[0]), "{all:?}");
        all.swap_remove(0)
    };
    assert_eq!(answer("[1, -9]"), json!([2, -5]));
    assert_eq!(answer("[0, -1]"), json!("-inf"));
    assert_eq!(answer("[0, 0, 1]"), json!([2, -5]));
    let network = r#"{"instance": [{"state-names": true, "weight-type": ["int"]}, {"states":
        {"p": {"A": {"to": "q", "pop": "", "weight": [1,-2]}}, "q": {}}},
        {"accepting": ["f"], "edges": [["p", "A", "f"]]}, {"accepting": ["q"], "edges": []}]}"#;
    let done = of(network, "path", &[]).expect(1);
    assert!(done.out.starts_with("reachable: weight [1, -2]\n"));
    assert!(done.out.contains("  p A -> q : [1, -2]\n"), "{}", done.out);
    let again = of(network, "convert", &["--to", "pdaaal"]).expect(0).out;
    assert!(again.contains("[\"int\"]"), "{again}");
    let done = of(&again, "reach", &["--json"]).expect(1);
    assert_eq!(done.json()["weight"], json!([1, -2]));
}

/// Procedures that call the next one twice: the shortest path is longer than numbers go.
#[test]
fn a_weight_that_is_or_more_says_so() {
    let mut text = String::from("domain minplus\n");
    for i in 0..70 {
        let next = i + 1;
        let rules = format!("rule p f{i} -> p f{next} r{i} : 1\nrule p r{i} -> p f{next} : 1\n");
        text.push_str(&rules);
    }
    text += "rule p f70 -> p : 1\ninit <p, f0>\ntarget <p>\n";
    let words = "9223372036854775806 or more\n";
    let done = of(&text, "reach", &[]).expect(1);
    assert!(done.out.contains(words), "{}", done.out);
    let done = of(&text, "path", &["--max-steps", "3"]).expect(1);
    assert!(done.out.contains(words), "{}", done.out);
    let object = of(&text, "reach", &["--json"]).expect(1).json();
    assert_eq!(object["weight"], json!("9223372036854775806"));
    assert_eq!(object["saturated"], json!(true));
    let done = of(&text, "post", &["--of", "<p>"]).expect(0);
    assert_eq!(done.out, format!("<p> : {words}"));
    let object = of(&text, "post", &["--of", "<p>", "--json"]).expect(0);
    assert_eq!(object.json()["of"][0]["saturated"], json!(true));
    let done = of(&text, "pre", &[]).expect(0);
    let line = " : 9223372036854775806   # or more\n";
    assert!(done.out.contains(line), "{}", done.out);
    let object = of(&text, "pre", &["--json"]).expect(0).json();
    assert_eq!(object["automaton"]["saturated"], json!(true));
    // It is read again, and what is exact does not say so.
    let file = scratch("or-more").join("more.aut");
    fs::write(&file, &done.out).expect("a file");
    let file = file.display().to_string();
    of(&text, "reach", &["--target", &file]).expect(1);
    let done = of(&text, "reach", &["--initial", "<p, f60>", "--json"]).expect(1);
    assert_eq!(done.json()["saturated"], json!(null));
}

/// A set of weight zero is given, and has nothing in it.
#[test]
fn sets_of_weight_zero() {
    let text = "rule p a -> p b\ninit <p, a> : false\ntarget <p, b>\n";
    for (command, args) in [("path", &["--shortest"][..]), ("path", &[]), ("reach", &[])] {
        let done = of(text, command, args).expect(0);
        assert!(done.out.contains("not reachable"), "{}", done.out);
    }
    // A rule that is none does not become one when weights are forgotten.
    let text =
        "domain minplus\nrule p a -> p b : inf\nrule p a -> p c : 1\ninit <p, a>\ntarget <p, b>\n";
    let done = of(text, "convert", &["--to", "wpds", "--weight", "bool"]).expect(0);
    of(&done.out, "reach", &[]).expect(0);
}

#[test]
fn conversions_name_what_they_lose() {
    let text = "states p q\nrule p a -> p b\ninit <p, a>\n";
    for format in ["wali", "moped"] {
        let done = of(text, "convert", &["--to", format]).expect(0);
        assert!(done.err.contains("control state `q`"), "{}", done.err);
        let done = of(text, "convert", &["--to", format, "--quiet"]).expect(0);
        assert_eq!(done.err, "");
    }
    let done = of(text, "convert", &["--to", "wpds"]).expect(0);
    assert_eq!(done.err, "");
    // The set of `p` has no configuration, and nothing is written of it.
    let text = "states p q\nrule q a -> q a\ninit <q, a>\ninit <p, [^a]>\n";
    let done = of(text, "convert", &["--to", "moped"]).expect(0);
    assert!(done.err.contains("control state `p`"), "{}", done.err);
    // A state of an initial configuration is not lost.
    let text = "states p q\nrule q a -> q a\ninit <q, a>\ninit <p, a>\n";
    let done = of(text, "convert", &["--to", "moped"]).expect(0);
    assert_eq!(done.err, "");
}

/// Rules of threads are counted through the file.
#[test]
fn rules_of_threads_have_the_numbers_of_the_file() {
    let text = "3\nPDA 1 2\n0 1 -> 0 1 1\n0 1 -> 1 2\nPDA 4 5\n1 4 -> 2 5\n";
    let args = ["--initial", "0|1,4", "--target", "2|*,5", "--json"];
    let object = of(text, "path", &args).expect(1).json();
    let steps = |context: usize| object["schedule"][context]["runs"][0].clone();
    assert_eq!(steps(0)[0]["rule"], json!(1));
    assert_eq!(steps(1)[0]["rule"], json!(2));
    assert_eq!(steps(1)[0]["text"], json!("1 4 -> 2 5"));
}

/// A relation is solved for a variable, as text and in JSON.
#[test]
fn affine_answers_have_relations() {
    let text = "domain affine 32 2\nrule p main -> p loop : x0 := 0, x1 := 0\n\
                rule p loop -> p loop : x0 := x0 + 1, x1 := x1 + 2\nrule p loop -> p end\n\
                init <p, main>\ntarget <p, end>\n";
    let done = of(text, "reach", &[]).expect(1);
    assert!(
        done.out.contains("\n  x1 = 2*x0 mod 2^32\n"),
        "{}",
        done.out
    );
    let done = of(text, "post", &["--of", "<p, end>"]).expect(0);
    assert!(done.out.ends_with("\n  x1 = 2*x0 mod 2^32\n"));
    let object = of(text, "reach", &["--json"]).expect(1).json();
    let relations = &object["weight"]["relations"];
    assert_eq!(*relations, json!(["x1 = 2*x0 mod 2^32"]));
}

#[test]
fn messages_point_to_the_mistake() {
    let rules = "domain minplus\nrule p a -> p b\ninit <p, a>\n";
    let done = of(rules, "post", &["--of", "<p, b>", "--of", "<p>"]).expect(0);
    assert_eq!(done.out, "<p, b> : 0\n<p> : inf   # not reached\n");
    let done = of(rules, "pre", &["--target", "<p, b>", "--of", "<p>"]).expect(0);
    assert_eq!(done.out, "<p> : inf   # does not reach the target\n");
    let done = of(rules, "post", &["--weight", "RELATION:3"]).expect(2);
    assert!(
        done.err.contains("did you mean `relation`?"),
        "{}",
        done.err
    );
    let numeric = "wpds 4294967200 3 1\nr0 0 0 1 2\ninit 0 0\ntarget 1 0\n";
    let done = of(numeric, "reach", &[]).expect(2);
    assert!(done.err.contains("<stdin>:1:6"), "{}", done.err);
}

#[test]
fn small_things() {
    let rules = "rule p a -> p b\ninit <p, a>\ntarget <p, b>\n";
    let plain = of(rules, "post", &[]).expect(0).out;
    assert_eq!(of(rules, "post", &["--output", "-"]).expect(0).out, plain);
    of(rules, "post", &["--output", "-", "--json"]).expect(2);
    let plain = of(rules, "convert", &["--to", "wpds"]).expect(0).out;
    let done = of(rules, "convert", &["--to", "wpds", "--output", "-"]);
    assert_eq!(done.expect(0).out, plain);
    let help = droste(&["pds", "path", "--help"]).expect(0).out;
    assert!(!help.contains("--cores"), "{help}");
    let done = of(rules, "post", &["--of", "<p, x>"]).expect(0);
    assert!(done.err.contains("no rule has the symbol `x`"));
    let said = |text: &str, args: &[&str]| of(text, "reach", args).expect(2).err;
    let threads = "3\nPDA 1 2\n0 1 -> 1 2\n";
    let err = said(threads, &["--initial", "9|1", "--target", "1|2"]);
    assert!(err.contains("they are 0 to 2\n"), "{err}");
    let err = said(
        "wpds 4000000000 4000000000 1\nr0 0 0 0 1\ninit 0 0\ntarget 0 0\n",
        &[],
    );
    assert!(err.contains("too many states and symbols"), "{err}");
    let err = said("wpds 99999999999 1 1\n", &[]);
    assert!(err.contains("too many states"), "{err}");
    let err = said(
        "domain relation 3\nrule p a -> p : {99999999999->1}\ninit <p, a>\ntarget <p>\n",
        &[],
    );
    assert!(err.contains("the largest number is 2"), "{err}");
    let xml = "<WPDS><Rule from='p' fromStack='a' to='p'><Weight>x</Weight></Rule></WPDS>";
    let err = said(xml, &["--initial", "<p, a>", "--target", "<p>"]);
    assert!(err.contains("with `--weight`") && err.contains("Droste's own form"));
    let err = droste(&["check", "lock.bp", "--reach", "A", "--critical", "B,,C"])
        .expect(2)
        .err;
    assert!(err.contains("a label is missing"), "{err}");
}

/// In a query for post* weights are extended from the bottom, whatever the automaton says; weights in
/// another order are not written as such a query.
#[test]
fn orders_of_weights_in_walis_queries() {
    let query = |order: &str| {
        format!(
            "<Query type='poststar'><WPDS><Rule from='p' fromStack='a' to='p' toStack1='b'>\
             <Weight>{{2->0}}</Weight></Rule></WPDS><WFA{order}><State Name='p' initial='TRUE'/>\
             <State Name='x'/><State Name='y' final='TRUE'/>\
             <Trans from='p' stack='a' to='x'><Weight>{{1->2}}</Weight></Trans>\
             <Trans from='x' stack='c' to='y'><Weight>{{0->1}}</Weight></Trans></WFA></Query>"
        )
    };
    let args = ["--weight", "relation:3", "--target", "<p, b c>", "--json"];
    for order in ["", " query='INORDER'", " query='REVERSE'"] {
        let done = of(&query(order), "reach", &args).expect(1);
        assert_eq!(done.json()["weight"], json!([[0, 0]]), "{order}");
        let to = ["--to", "wpds", "--weight", "relation:3"];
        let text = of(&query(order), "convert", &to).expect(0).out;
        let done = of(&text, "reach", &["--target", "<p, b c>", "--json"]).expect(1);
        assert_eq!(done.json()["weight"], json!([[0, 0]]), "{order}");
        of(&text, "convert", &["--to", "wali"]).expect(0);
        let other = format!("{text}init from top\n");
        let done = of(&other, "convert", &["--to", "wali"]).expect(2);
        assert!(done.err.contains("from the bottom"), "{}", done.err);
    }
}

/// Finite numbers are read in the other domain; that there is no path stays what it is, and paths that get
/// better without end have no counterpart.
#[test]
fn infinities_keep_their_meaning() {
    let file = |domain: &str, weight: &str| {
        format!("domain {domain}\nrule p a -> q b : {weight}\ninit <p, a>\ntarget <q, b>\n")
    };
    for (own, other, none, endless) in [
        ("minplus", "maxplus", "inf", "-inf"),
        ("minplus", "maxplus", "ZERO", "-inf"),
        ("maxplus", "minplus", "-inf", "inf"),
    ] {
        let ask = ["--weight", other];
        let done = of(&file(own, none), "reach", &ask).expect(0);
        assert!(done.out.starts_with("not reachable"), "{}", done.out);
        let done = of(&file(own, endless), "reach", &ask).expect(2);
        assert!(done.err.contains("<stdin>:2:19"), "{}", done.err);
        assert!(done.err.contains("without end"), "{}", done.err);
        let done = of(&file(own, "7"), "reach", &ask).expect(1);
        assert!(done.out.starts_with("reachable: weight 7"), "{}", done.out);
        // The new file means the same.
        let to = [&["--to", "wpds"][..], &ask].concat();
        let text = of(&file(own, none), "convert", &to).expect(0).out;
        assert!(text.starts_with(&format!("domain {other}\n")), "{text}");
        of(&text, "reach", &[]).expect(0);
    }
    // A set on the command line has weights of the domain that is asked for.
    let ask = ["--weight", "maxplus", "--initial", "<p, a> : -inf"];
    of(&file("minplus", "7"), "reach", &ask).expect(0);
    // The numeric form does not say what its weights are.
    let numeric = "wpds 2 2 1\nr1 0 0 1 1 inf\ninit 0 0\ntarget 1 1\n";
    of(numeric, "reach", &[]).expect(0);
    of(numeric, "reach", &["--weight", "bool"]).expect(0);
    let done = of(numeric, "reach", &["--weight", "maxplus"]).expect(1);
    assert!(
        done.out.starts_with("reachable: weight inf"),
        "{}",
        done.out
    );
    let relation = numeric.replace("inf", "{0->1,1->0}");
    let done = of(&relation, "reach", &["--weight", "relation:2", "--json"]).expect(1);
    assert_eq!(done.json()["weight"], json!([[0, 1], [1, 0]]));
}

/// A weight with millions of pairs, and a reader that takes nothing for longer than there is time.
#[test]
fn limits_hold_while_a_weight_is_written() {
    let folder = scratch("weight");
    let file = folder.join("relation.wpds");
    let pairs: Vec<String> = (0..1500).map(|i| format!("{i}->{}", i + 1)).collect();
    let text = format!(
        "domain relation 1501\nrule p a -> p a : {{{}}}\nrule p a -> p b\ninit <p, a>\ntarget <p, b>\n",
        pairs.join(", ")
    );
    fs::write(&file, text).expect("a file");
    for more in [
        &["reach", "--method", "path", "--json"][..],
        &["path", "--method", "path"],
        &["post", "--method", "path", "--of", "<p, b>"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_droste"))
            .arg("pds")
            .args(more)
            .args(["--timeout", "3"])
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        sleep(Duration::from_millis(3500));
        let mut out = Vec::new();
        let stdout = child.stdout.as_mut().expect("its output");
        stdout.read_to_end(&mut out).expect("bytes");
        let done = child.wait_with_output().expect("an end");
        let told = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(3), "{more:?} {told}");
        assert!(told.contains("the time limit of 3 s was reached"), "{told}");
    }
}

/// Only what occurs takes memory.
#[test]
fn threads_with_large_numbers() {
    let text = "4000000000\nPDA 0 4000000000\n0 1 -> 3999999999 4000000000 7\n";
    let args = [
        "--initial",
        "0|1",
        "--target",
        "3999999999|4000000000",
        "--json",
    ];
    let object = of(text, "path", &args).expect(1).json();
    let context = &object["schedule"][0];
    assert_eq!(context["start"], "0|1");
    assert_eq!(context["end"], "3999999999|4000000000.7");
    let other = ["--initial", "0|1", "--target", "5|*"];
    of(text, "reach", &other).expect(0);
}

/// Where other programs read numbers as doubles, exact ones are strings.
#[test]
fn large_numbers_are_strings() {
    let weight = |domain: &str, weight: &str| {
        let text =
            format!("domain {domain}\nrule p a -> p b : {weight}\ninit <p, a>\ntarget <p, b>\n");
        of(&text, "reach", &["--json"]).expect(1).json()["weight"].clone()
    };
    assert_eq!(weight("minplus", "9007199254740992"), json!(1u64 << 53));
    assert_eq!(
        weight("minplus", "9007199254740993"),
        json!("9007199254740993")
    );
    assert_eq!(
        weight("maxplus", "-9007199254740993"),
        json!("-9007199254740993")
    );
    assert_eq!(
        weight("vector", "[1, -9007199254740993]"),
        json!([1, "-9007199254740993"])
    );
    assert_eq!(
        weight("pair minplus relation 2", "(9007199254740993; id)"),
        json!(["9007199254740993", [[0, 0], [1, 1]]])
    );
}

/// Matrices that no affine transformation is among.
#[test]
fn matrices_are_transformations() {
    for matrix in ["[0 0; 0 2]", "[2 0; 0 1]", "[0 0; 0 0]", "[1 0; 3 1]"] {
        let text =
            format!("domain affine 2 1\nrule p a -> q b : {matrix}\ninit <p, a>\ntarget <q, b>\n");
        let done = of(&text, "reach", &[]).expect(2);
        assert!(done.err.contains("<stdin>:2:19"), "{}", done.err);
    }
    let text = "domain affine 2 1\nrule p a -> q b : [3 0; 0 3]\ninit <p, a>\ntarget <q, b>\n";
    of(text, "reach", &[]).expect(1);
}

#[test]
fn sets_without_an_end_are_shown() {
    let text = "rule p a -> p b\ninit edge p a -> @1 : true\ntarget <p, b>\n";
    let done = of(text, "reach", &[]).expect(2);
    assert!(done.err.contains("<stdin>:2:6"), "{}", done.err);
    assert!(done.err.contains("no final state"), "{}", done.err);
    of(text, "reach", &["--initial", "<p, a>"]).expect(1);
    let rules = "rule p a -> p b\ntarget <p, b>\n";
    let folder = scratch("ends");
    let file = folder.join("set");
    fs::write(&file, "edge p a -> @1\n").expect("a file");
    let done = of(
        rules,
        "reach",
        &["--initial", file.to_str().expect("a name")],
    )
    .expect(2);
    assert!(done.err.contains("no final state"), "{}", done.err);
    for flag in ["--initial", "--target"] {
        let done = of(rules, "reach", &[flag, ""]).expect(2);
        assert!(done.err.contains("it is empty"), "{}", done.err);
    }
}

/// The automata of such files have weights at transitions only.
#[test]
fn weights_of_configurations_become_weights_of_transitions() {
    let file = |set: &str| format!("domain minplus\nrule p a -> p b : 1\ninit {set}\n");
    let ask = [
        "--weight",
        "minplus",
        "--target",
        "<p, b c> | <p, b>",
        "--json",
    ];
    for set in ["<p, a> : 2", "<p, a c> : 2"] {
        let xml = of(&file(set), "convert", &["--to", "wali"]).expect(0).out;
        assert_eq!(of(&xml, "reach", &ask).expect(1).json()["weight"], json!(3));
    }
    for set in ["<p> : 2", "<p, a b*> : 2"] {
        let done = of(&file(set), "convert", &["--to", "wali"]).expect(2);
        assert!(done.err.contains("the weight `2`"), "{}", done.err);
    }
    // As the documentation says: it would not be a control state any more.
    let lost = "states p q\nrule p a -> p b\ninit <q, a>\n";
    let done = of(lost, "convert", &["--to", "wali"]).expect(2);
    assert!(done.err.contains("is in no rule"), "{}", done.err);
}

#[test]
fn what_is_printed_is_what_is_meant() {
    // Without weights, rules have none.
    let text = "domain minplus\nrule p a -> p b : 2\ninit <p, a>\ntarget <p, b>\n";
    let done = of(text, "path", &["--weight", "bool"]).expect(1);
    assert!(done.out.contains("  p a -> p b\n"), "{}", done.out);
    // The counts are those of the file.
    let long = "rule p a -> p b c d e f g\ninit <p, a>\n";
    let folder = scratch("counts");
    let file = folder.join("set");
    let args = ["--output", file.to_str().expect("a name")];
    let done = of(long, "post", &args).expect(0);
    let saved = fs::read_to_string(&file).expect("a text");
    let edges = saved
        .lines()
        .filter(|line| line.starts_with("edge"))
        .count();
    assert!(
        done.out.contains(&format!(" {edges} transitions,")),
        "{}\n{saved}",
        done.out
    );
    // A rule for any symbol is one for this symbol.
    let any = "rule p . -> q .\ninit <p, A>\ntarget <q, A>\n";
    let done = of(any, "reach", &[]).expect(1);
    assert_eq!(done.err, "");
    // What is missing is not what is too much.
    let said = |xml: &str| of(xml, "reach", &[]).expect(2).err;
    let err = said("<WPDS><Rule from='p' to='q'/></WPDS>");
    assert!(err.contains("lacks the attribute `fromStack`"), "{err}");
    let err = said("<WPDSX/>");
    assert!(err.contains("`<EWPDS>`, `<FWPDS>`"), "{err}");
}
