//! The JSON output when a limit is reached, and when something cannot be written.

mod common;

use common::{droste, droste_with, waiting};

/// So little time that nothing has been read.
const NONE: [&str; 3] = ["--json", "--timeout", "0.000001"];
/// Enough for a small program, before a file that never comes.
const LITTLE: [&str; 3] = ["--json", "--timeout", "2"];

#[test]
fn a_file_of_formulas_has_properties() {
    let args = ["check", "server.bp", "--ltl-file", "server.ltl"];
    let json = droste(&[&args[..], &NONE].concat()).expect(3).json();
    assert_eq!(json["verdict"], "unknown");
    assert_eq!(json["properties"], serde_json::json!([]));
    assert!(json["reason"].is_string(), "{json:#}");
    assert!(json["stats"]["seconds"].is_f64(), "{json:#}");
    let text = droste(&[&args[..], &NONE[1..]].concat()).expect(3);
    assert!(text.out.starts_with("unknown: "), "{text:#?}");
}

#[test]
fn an_analysis_has_its_time() {
    let args = ["analyze", "exchange.bp", "--affine"];
    let json = droste(&[&args[..], &NONE].concat()).expect(3).json();
    let fields: Vec<&str> = (json.as_object().unwrap().keys())
        .map(|key| &**key)
        .collect();
    assert_eq!(fields, ["analysis", "file", "reason", "seconds"]);
    let json = droste(&[&args[..], &["--json"]].concat()).expect(0).json();
    let fields: Vec<&str> = (json.as_object().unwrap().keys())
        .map(|key| &**key)
        .collect();
    assert_eq!(fields, ["analysis", "file", "seconds", "statements"]);
}

/// Once the program has been read, it is known whether it has threads.
#[test]
fn threads_have_their_fields() {
    let args = ["check", "philosophers.bp", "--monitor", "-"];
    let json = waiting(&[&args[..], &LITTLE].concat()).expect(3).json();
    assert_eq!(json["exhaustive"], false, "{json:#}");
    let switches = json["stats"].get("context_switches");
    assert_eq!(switches, Some(&serde_json::Value::Null));
    let rounds = [&args[..], &LITTLE, &["--rounds", "2"]].concat();
    let json = waiting(&rounds).expect(3).json();
    assert!(json["stats"].get("thread_rounds").is_some(), "{json:#}");
    let args = ["check", "lock.bp", "--monitor", "-"];
    let json = waiting(&[&args[..], &LITTLE].concat()).expect(3).json();
    assert_eq!(json.get("exhaustive"), None, "{json:#}");
}

#[test]
fn the_numbers_are_those_of_the_engine() {
    for engine in ["bdd", "calculus", "wpds"] {
        let args = ["check", "lock.bp", "--engine", engine];
        let json = droste(&[&args[..], &NONE].concat()).expect(3).json();
        assert_eq!(json["engine"], engine);
        assert!(json["stats"]["peak_nodes"].is_u64(), "{json:#}");
        assert_eq!(json["stats"].get("path_edges"), None, "{json:#}");
    }
    let json = droste(&[&["check", "lock.bp"], &NONE[..]].concat());
    let json = json.expect(3).json();
    assert!(json["stats"]["path_edges"].is_u64(), "{json:#}");
}

/// `expect(2)` sees to it that standard output is empty.
#[cfg(target_os = "linux")]
#[test]
fn a_trace_that_cannot_be_written_leaves_standard_output_empty() {
    for more in [&["--json"][..], &[], &["-q"]] {
        let args = [&["check", "lock.bp", "--trace", "/dev/full"], more].concat();
        let done = droste(&args).expect(2);
        assert!(done.err.contains("cannot write the trace"), "{done:#?}");
    }
}

/// Which run touches the most labels is not known, but that some run gets there is.
#[test]
fn a_label_is_reached_before_the_best_run_is_known() {
    let names: Vec<String> = (0..26).map(|i| format!("C{i}")).collect();
    let lines: Vec<String> = (names.iter())
        .map(|name| format!("if (*) then {name}: skip; fi\n"))
        .collect();
    let lines = lines.concat();
    let text = format!("decl g; void main() begin while (*) do\n{lines}od T1: skip; end\n");
    let critical = names.join(",");
    let args = ["check", "-", "--reach", "T1", "--critical", &critical];
    let args = [&args[..], &["--timeout", "1"]].concat();
    let done = droste_with(text.as_bytes(), &args).expect(3);
    assert!(done.out.contains("a run that gets there"), "{}", done.out);
    let json = droste_with(text.as_bytes(), &[&args[..], &["--json"]].concat());
    assert_eq!(json.expect(3).json()["violation_found"], true);
}
