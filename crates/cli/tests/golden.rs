//! What people see: verdicts, diagnostics and help, compared with golden files.

mod common;

use common::{droste, droste_with, golden};

fn shows(name: &str, args: &[&str]) {
    golden(name, args, &droste(args));
}

fn shows_of(name: &str, program: &str, args: &[&str]) {
    let args: Vec<&str> = ["check", "-"].iter().chain(args).copied().collect();
    golden(name, &args, &droste_with(program.as_bytes(), &args));
}

#[test]
fn help() {
    shows("help", &["--help"]);
    shows("help-check", &["check", "--help"]);
    shows("help-check-short", &["check", "-h"]);
    shows("version", &["--version"]);
}

#[test]
fn verdicts() {
    shows("holds", &["check", "lock-fixed.bp"]);
    shows("violated", &["check", "lock.bp", "--order", "bfs"]);
    shows(
        "monitor",
        &["check", "lock.bp", "--monitor", "double-lock.mon"],
    );
    shows(
        "monitor-holds",
        &["check", "lock-fixed.bp", "--monitor", "double-lock.mon"],
    );
    shows("range", &["check", "counter.bp", "--order", "bfs"]);
    shows("lasso", &["check", "flip.bp", "--repeat", "stuck"]);
    shows(
        "finite-stack",
        &[
            "check",
            "flip.bp",
            "--repeat",
            "stuck",
            "--runs",
            "finite-stack",
        ],
    );
    shows("slam", &["check", "slam.bp", "--order", "bfs"]);
    shows("satabs", &["check", "satabs.bp", "--dialect", "satabs"]);
    shows(
        "color",
        &["check", "lock.bp", "--order", "bfs", "--color", "always"],
    );
    shows("folded", &["check", "counter.bp", "--max-steps", "10"]);
}

#[test]
fn critical_labels() {
    let ask = |name: &str, critical: &str| {
        let args = [
            "check",
            "upload.bp",
            "--reach",
            "FAILED",
            "--critical",
            critical,
        ];
        shows(name, &args);
    };
    ask("critical", "RETRY,TIMEOUT");
    ask("critical-apart", "RETRY,TIMEOUT,PRIMARY,main:BACKUP,QUICK");
    ask("critical-unknown", "RETRY,QUCK");
    shows_of(
        "critical-threads",
        "void main() begin start_thread f(); L: skip; end void f() begin A: skip; end",
        &["--reach", "L", "--critical", "A"],
    );
}

#[test]
fn analyses() {
    shows("help-analyze", &["analyze", "--help"]);
    for analysis in ["live", "uninit", "constants", "affine"] {
        let flag = format!("--{analysis}");
        shows(
            &format!("analyze-{analysis}"),
            &["analyze", "exchange.bp", &flag, "--all"],
        );
    }
    shows("analyze-labels", &["analyze", "exchange.bp", "--affine"]);
    let threads = "decl x; void main() begin start_thread f(); end void f() begin end";
    let args = ["analyze", "-", "--live"];
    golden(
        "analyze-threads",
        &args,
        &droste_with(threads.as_bytes(), &args),
    );
    golden(
        "analyze-errors",
        &args,
        &droste_with(b"void main() begin y := x; end", &args),
    );
}

#[test]
fn temporal_logic() {
    shows("help-ltl", &["ltl", "--help"]);
    shows("ltl", &["ltl", "G (p -> F q) & !({x = 3} U at(main:L))"]);
    shows("ltl-hoa", &["ltl", "GF & G F {x = 3}", "--to", "hoa"]);
    shows(
        "ltl-dot",
        &["ltl", "--negate", "[](p -> <>q)", "--to", "dot"],
    );
    shows("ltl-json", &["ltl", "p U q", "--to", "hoa", "--json"]);
    shows("ltl-errors", &["ltl", "G (p -> main::x) & & q )"]);
    let from = |name: &str, text: &str, args: &[&str]| {
        golden(name, args, &droste_with(text.as_bytes(), args));
    };
    let properties = "one: G p;\ntwo: F (q &\n  X r)";
    from("ltl-file", properties, &["ltl", "--ltl-file", "-"]);
    let twice = "one: G p; one: q\nthree: (r";
    from("ltl-file-errors", twice, &["ltl", "--ltl-file", "-"]);
    let rabin = "HOA: v1\nStates: 1\nStart: 0\nacc-name: Rabin 1\nAcceptance: 2 Fin(0) & Inf(1)\n--BODY--\nState: 0\n--END--\n";
    from("ltl-rabin", rabin, &["ltl", "--hoa", "-"]);
}

#[test]
fn solving() {
    shows("help-solve", &["solve", "--help"]);
    shows("solve-holds", &["solve", "peterson.mu"]);
    shows("solve-violated", &["solve", "summary.mu"]);
    let solve = |name: &str, text: &str, args: &[&str]| {
        let args: Vec<&str> = ["solve", "-"].iter().chain(args).copied().collect();
        golden(name, &args, &droste_with(text.as_bytes(), &args));
    };
    solve(
        "solve-errors",
        "enum E { a, b };\nexists E x. x = c;\nexists E x. x = a &;\nexists E x. x = a;\n",
        &[],
    );
    solve("solve-empty", "", &[]);
    // A counter of forty bits has more rounds than anybody can wait for.
    let bits = |from: usize, form: &str| -> String {
        let parts: Vec<String> = (from..40)
            .map(|k| form.replace('k', &k.to_string()))
            .collect();
        parts.join(" & ")
    };
    let next: Vec<String> = (0..40)
        .map(|k| {
            let below: Vec<String> = (0..k).map(|j| format!("s.b[{j}] & !t.b[{j}] & ")).collect();
            let rest = if k < 39 {
                format!(" & {}", bits(k + 1, "s.b[k] = t.b[k]"))
            } else {
                String::new()
            };
            format!("{}!s.b[{k}] & t.b[{k}]{rest}", below.concat())
        })
        .collect();
    let counter = format!(
        "class W {{ bool b[40]; }};\nbool T(W s, W t) {};\n\
         mu bool R(W s) ({}) | (exists W t. R(t) & T(t, s));\n\
         true;\nexists W s. R(s) & s.b[39];\ntrue;\n",
        next.join(" | "),
        bits(0, "!s.b[k]")
    );
    solve("solve-unknown", &counter, &["--timeout", "0.3"]);
    solve(
        "solve-circle",
        "mu bool p(bool x) !p(x); p(true);\n",
        &["-q"],
    );
}

#[test]
fn unknown() {
    shows(
        "unknown-memory",
        &["check", "quicksort.bp", "--memory", "1"],
    );
    shows_of("unknown-time", common::ENDLESS, &["--timeout", "0.2"]);
}

#[test]
fn usage_errors() {
    shows(
        "usage-two-properties",
        &["check", "lock.bp", "--reach", "A", "--repeat", "B"],
    );
    shows(
        "usage-unknown-flag",
        &["check", "lock.bp", "--raech", "TAKE"],
    );
    shows(
        "ltl-unknown-name",
        &["check", "lock.bp", "--ltl", "G F locket"],
    );
    shows("usage-timeout", &["check", "lock.bp", "--timeout", "-3"]);
    shows("unknown-label", &["check", "lock.bp", "--reach", "TKAE"]);
    shows(
        "unknown-procedure",
        &["check", "lock.bp", "--reach", "aquire:TAKE"],
    );
    shows("no-file", &["check", "lokc.bp"]);
}

#[test]
fn diagnostics() {
    shows_of(
        "syntax-error",
        "decl g;\nvoid main() begin\n  if (g then\n    skip;\nend\n",
        &[],
    );
    shows_of(
        "undeclared",
        "decl count;\nvoid main() begin\n  conut := T;\n  f();\nend\n",
        &[],
    );
    shows_of("empty", "", &[]);
    shows_of("no-main", "void mian() begin skip; end\n", &[]);
    let precedence = "decl a, b, c;\nvoid main() begin\n  assert(a = b & c);\nend\n";
    shows_of("warning", precedence, &[]);
    shows_of("warning-quiet", precedence, &["-q"]);
    shows_of(
        "threads",
        "void main() begin start_thread f(); end void f() begin skip; end\n",
        &[],
    );
    shows_of("nothing-to-check", "void main() begin skip; end\n", &[]);
}
