//! Each flag once, each exit code once, and the fields of the JSON.

mod common;

use std::fs;
use std::process::Stdio;

use common::{Done, command, droste, droste_with, scratch};

#[test]
fn exit_codes() {
    droste(&["check", "lock-fixed.bp"]).expect(0);
    droste(&["check", "lock.bp"]).expect(1);
    droste(&["check", "no-such-file.bp"]).expect(2);
    droste(&["check", "quicksort.bp", "--memory", "1"]).expect(3);
    droste_with(
        common::ENDLESS.as_bytes(),
        &["check", "-", "--timeout", "0.2"],
    )
    .expect(3);
    droste(&["check"]).expect(2);
    droste(&[]).expect(2);
    droste(&["chekc"]).expect(2);
}

#[test]
fn a_global_that_a_local_hides_is_told_apart() {
    let text = "decl b; void main() begin decl b; constrain (T); while (T) do skip; od end";
    let arguments = ["check", "-", "--ltl", "var(b) | G !var(b)"];
    let done = droste_with(text.as_bytes(), &arguments).expect(1);
    assert!(done.out.contains("::b = T"), "{done:#?}");
}

#[test]
fn temporal_logic() {
    droste(&["ltl", "G p"]).expect(0);
    droste(&["ltl", "G p", "--negate", "--to", "dot"]).expect(0);
    droste(&["ltl", "G"]).expect(2);
    droste(&["ltl"]).expect(2);
    droste(&["ltl", "G p", "--ltl-file", "x"]).expect(2);
    droste(&["ltl", "--hoa", "no-such-file.hoa"]).expect(2);
    // What is written is read.
    let written = droste(&["ltl", "p U {x = 3}", "--to", "hoa"]).expect(0);
    let read = droste_with(written.out.as_bytes(), &["ltl", "--hoa", "-", "--json"]).expect(0);
    assert_eq!(read.json()["properties"][0]["states"], 2, "{read:#?}");
    // More eventualities than anybody has states for.
    let many: Vec<String> = (0..60).map(|i| format!("F (p{i} & X q{i})")).collect();
    let many = many.join(" & ");
    let done = droste(&["ltl", &many, "--timeout", "0.5", "--json"]).expect(3);
    assert_eq!(done.json()["verdict"], "unknown", "{done:#?}");
}

#[test]
fn reasons_stand_at_the_steps_of_callees() {
    let text =
        "decl g; void main() begin g := F; f(); L: goto L; end void f() begin g := T; g := F; end";
    let arguments = ["check", "-", "--ltl", "G !g"];
    let done = droste_with(
        text.as_bytes(),
        &[&arguments[..], &["--no-passes"]].concat(),
    )
    .expect(1);
    let line = done.out.lines().find(|line| line.contains('▸'));
    assert!(
        line.is_some_and(|line| line.ends_with("▸ `g` holds")),
        "{done:#?}"
    );
    // Where the steps are not to be seen, the call has to do.
    let text = text.replace("g := F; f()", "g := F; constrain(!g); f()");
    let folded = droste_with(
        text.as_bytes(),
        &[&arguments[..], &["--max-steps", "0"]].concat(),
    );
    let folded = folded.expect(1);
    assert!(
        folded.out.contains("▸ in this call, `g` holds"),
        "{folded:#?}"
    );
    let object = droste_with(text.as_bytes(), &[&arguments[..], &["--json"]].concat()).json();
    let steps = object["trace"]["steps"].as_array().unwrap();
    let reasons = steps.iter().find_map(|step| step["reasons"].as_array());
    assert_eq!(reasons.unwrap()[0], "in this call, `g` holds", "{object:#}");
}

#[test]
fn several_automata() {
    let properties = "busy: G (accept -> F idle)\nhonest: !answered W (accept | idle)\n";
    let dir = scratch("several");
    let save = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let file = save("several.ltl", properties);
    let written = droste(&["ltl", "--ltl-file", &file, "--negate", "--to", "hoa"]).expect(0);
    assert!(
        written.out.contains("AP: 2 \"accept\" \"idle\"\n"),
        "{written:#?}"
    );
    let automata = save("several.hoa", &written.out);
    let shown = droste(&["ltl", "--hoa", &automata, "--json"]).expect(0);
    assert_eq!(shown.json()["properties"].as_array().map(Vec::len), Some(2));
    let done = droste(&[
        "check",
        "server.bp",
        "--runs",
        "finite-stack",
        "--hoa",
        &automata,
    ])
    .expect(1);
    let (busy, honest) = (
        "\nbusy    holds: no run is accepted by",
        "\nhonest  violated: no run",
    );
    assert!(
        done.out.contains(busy) && done.out.contains(honest),
        "{done:#?}"
    );
    let done = droste(&["check", "server.bp", "--hoa", &automata, "--json"]).expect(1);
    assert_eq!(done.json()["properties"][1]["name"], "honest", "{done:#?}");
    // Without an initial state nothing is accepted, which somebody may not have meant.
    let headless =
        "HOA: v1\nStates: 1\nAP: 1 \"idle\"\nAcceptance: 0 t\n--BODY--\nState: 0\n[t] 0\n--END--\n";
    let headless = save("headless.hoa", headless);
    let done = droste(&["check", "server.bp", "--hoa", &headless]).expect(0);
    assert!(done.err.contains("has no `Start:`"), "{done:#?}");
    assert_eq!(done.err.lines().count(), 1, "{done:#?}");
    let done = droste(&["check", "server.bp", "--hoa", &headless, "-q"]).expect(0);
    assert_eq!(done.err, "");
}

#[test]
fn long_formulas_are_cut_where_people_read_them() {
    let parts: Vec<String> = (0..40).map(|i| format!("{}idle", "X ".repeat(i))).collect();
    let formula = format!("F accept & F ({})", parts.join(" | "));
    for args in [
        &["check", "server.bp", "--max-steps", "0", "--ltl"][..],
        &["ltl"],
    ] {
        let args: Vec<&str> = args.iter().copied().chain([&*formula]).collect();
        let done = droste(&args);
        let longest = done.out.lines().map(|line| line.chars().count()).max();
        assert!(longest < Some(260) && done.out.contains(" … "), "{done:#?}");
        let args: Vec<&str> = args.into_iter().chain(["--json"]).collect();
        let done = droste(&args);
        assert!(
            done.out.len() > 1000 && !done.out.contains('…'),
            "{done:#?}"
        );
    }
}

#[test]
fn automata_that_grow_too_large() {
    let labels: Vec<String> = (0..20).map(|i| format!("L{i}: skip;")).collect();
    let program = format!("void main() begin while (T) do {} od end", labels.concat());
    let file = scratch("large").join("labels.bp");
    fs::write(&file, program).expect("a file");
    let file = file.to_string_lossy();
    let parts: Vec<String> = (0..20).map(|i| format!("F L{i}")).collect();
    let many = parts.join(" & ");
    let done = droste(&["ltl", &many, "--timeout", "0.3"]).expect(3);
    let said = "unknown: the time limit of 0.3 s was reached before the automaton was made: it grew too large\n";
    assert_eq!((&*done.out, &*done.err), (said, ""), "{done:#?}");
    // The engine that needs the automaton gives up, others do without.
    let negated = format!("!({many})");
    let args = ["check", &*file, "--ltl", &negated, "--engine"];
    let bdd: Vec<&str> = args
        .iter()
        .copied()
        .chain(["bdd", "--timeout", "0.3"])
        .collect();
    let done = droste(&bdd).expect(3);
    assert!(
        done.out
            .contains("grew too large; --engine tableau does without one"),
        "{done:#?}"
    );
    assert!(!done.out.contains("0 path edges"), "{done:#?}");
    let auto: Vec<&str> = args
        .iter()
        .copied()
        .chain(["auto", "--timeout", "60"])
        .collect();
    droste(&auto).expect(1);
    // The other way round there is nothing large about it.
    droste(&["check", &*file, "--ltl", &many, "--timeout", "60"]).expect(0);
}

#[test]
fn advice_about_propositions() {
    let refused = |formula: &str, advice: &str| {
        let done = droste(&["check", "counter.bp", "--ltl", formula]).expect(2);
        assert!(done.err.contains(advice), "{done:#?}");
    };
    refused("F terminate", "did you mean `terminated`?");
    refused("F Terminated & G treu", "did you mean `true`?");
    refused("F {(depth = 0) | (6 / depth < 7)}", "`m = 0 | 6 < 7 * m`");
    refused("F main:both", "write `at(main:both)`");
}

#[test]
fn witnesses_say_what_holds_of_what_they_need() {
    let text = "enum E { a, b, c };\n\
                mu bool p(E x) x = a | x = b | (exists E y, E z. p(y) & p(z) & y = a & z = b & x = c);\n\
                #wit exists E x. p(x) & x = c;\n";
    let done = droste_with(text.as_bytes(), &["solve", "-", "--json"]).expect(0);
    let json = done.json();
    let found = json.to_string();
    assert!(found.contains("\"with\""), "{found}");
    let mut all = Vec::new();
    for path in json["results"][0]["witness"]["paths"]
        .as_array()
        .expect("paths")
    {
        for step in path.as_array().expect("steps") {
            all.extend(step["with"].as_array().into_iter().flatten().cloned());
        }
    }
    assert!(
        !all.is_empty() && all.iter().all(|with| with["holds"] == true),
        "{all:?}"
    );
}

#[test]
fn properties() {
    let flip = |args: &[&str], code| {
        let args: Vec<&str> = ["check", "flip.bp"].iter().chain(args).copied().collect();
        droste(&args).expect(code)
    };
    flip(&[], 0);
    flip(&["--reach", "again"], 1);
    flip(&["--reach", "main:again"], 1);
    let done = flip(&["--reach", "again", "--reach", "flip:deeper"], 1);
    assert!(
        done.out
            .starts_with("violated: a run reaches flip:deeper\n"),
        "{done:#?}"
    );
    flip(&["--repeat", "again"], 1);
    flip(&["--repeat", "stuck"], 1);
    flip(&["--repeat", "stuck", "--runs", "finite-stack"], 0);
    flip(
        &[
            "--repeat",
            "stuck",
            "--repeat",
            "again",
            "--runs",
            "finite-stack",
        ],
        1,
    );
    droste(&["check", "lock.bp", "--monitor", "double-lock.mon"]).expect(1);
    droste(&["check", "lock-fixed.bp", "--monitor", "double-lock.mon"]).expect(0);
    for two in [
        ["--reach", "again", "--repeat", "again"],
        ["--reach", "again", "--monitor", "double-lock.mon"],
        ["--repeat", "again", "--monitor", "double-lock.mon"],
    ] {
        let done = flip(&two, 2);
        assert!(done.err.contains("cannot be used with"), "{done:#?}");
    }
}

#[test]
fn every_way_to_search_gives_the_same_verdict() {
    for flags in [
        &["--engine", "explicit"][..],
        &["--engine", "auto"],
        &["--order", "bfs"],
        &["--no-passes"],
        &["--skip-pass", "dead"],
        &[
            "--skip-pass",
            "constants,slice",
            "--skip-pass",
            "unreachable",
        ],
        &["--eager"],
        &["--no-replay"],
        &["--timeout", "100"],
        &["--memory", "100000"],
        // More than there is anywhere.
        &["--memory", "18446744073709551616"],
        &["-q"],
        &["-v"],
    ] {
        let check = |file| {
            let args: Vec<&str> = ["check", file].iter().chain(flags).copied().collect();
            droste(&args)
        };
        check("lock.bp").expect(1);
        check("lock-fixed.bp").expect(0);
        check("counter.bp").expect(1);
        check("quicksort.bp").expect(0);
    }
}

#[test]
fn the_calculus_engine_takes_algorithms_by_name_or_from_a_file() {
    for algorithm in ["simple", "ef", "ef-opt", "procedures"] {
        let flags = ["--engine", "calculus", "--algorithm", algorithm];
        let check = |file: &str| {
            let args: Vec<&str> = ["check", file].iter().chain(&flags).copied().collect();
            droste(&args)
        };
        check("lock.bp").expect(1);
        check("lock-fixed.bp").expect(0);
        check("counter.bp").expect(1);
        check("quicksort.bp").expect(0);
    }
    let with = |text: &str, file: &str| {
        let args = ["check", file, "--engine", "calculus", "--algorithm", "-"];
        droste_with(text.as_bytes(), &args)
    };
    // Without calls: what main does on its own.
    let own = "mu bool R(State u) Init(u) | (exists State x. R(x) & ProgramInt(x, u));
        (exists State u. R(u) & Target(u.pc));";
    with(own, "lock-fixed.bp").expect(0);
    let done = with("bool R(State u) Init(v);", "lock.bp").expect(2);
    assert!(done.err.contains("`v`"), "{done:#?}");
    let done = with("bool R(State u) Init(u);", "lock.bp").expect(2);
    assert!(done.err.contains("has no query"), "{done:#?}");
    let done = with("(exists State u. Init(u));", "lock-fixed.bp").expect(2);
    assert!(done.err.contains("the algorithm is wrong"), "{done:#?}");
    let done = droste(&[
        "check",
        "lock.bp",
        "--algorithm",
        "nowhere.mu",
        "--engine",
        "calculus",
    ]);
    assert!(done.expect(2).err.contains("nowhere.mu"));
    let done = droste(&[
        "check", "flip.bp", "--repeat", "again", "--engine", "calculus",
    ]);
    assert!(done.expect(2).err.contains("reachability"));
    let done = droste(&["check", "lock.bp", "--emit", "formula"]).expect(0);
    assert!(done.out.contains("bool ProgramInt(State u, State v)"));
    assert!(done.out.contains("mu bool Summary"));
    assert_eq!(done.err, "");
    let args = ["check", "lock.bp", "--emit", "formula", "--engine", "bdd"];
    let done = droste(&args).expect(0);
    assert!(done.err.contains("--engine has no effect"), "{done:#?}");
}

/// No step of `p` starts a thread, but the thread may be one that `p` has started.
#[test]
fn the_formula_of_a_thread_that_nobody_starts() {
    let program = b"decl g; void main() begin start_thread p(); goto M; L: skip; M: skip; end
        void p() begin enforce F; start_thread p(); end";
    let args = ["check", "-", "--reach", "L", "--contexts", "2"];
    droste_with(program, &[&args[..], &["--engine", "calculus"]].concat()).expect(0);
    let formula = droste_with(program, &[&args[..], &["--emit", "formula"]].concat()).expect(0);
    droste_with(formula.out.as_bytes(), &["solve", "-"]).expect(1);
}

#[test]
fn the_other_language_is_named() {
    let done = droste_with(b"mu bool R(bool x) x | R(x);\nR(1);\n", &["check", "-"]).expect(2);
    assert!(done.err.contains("`droste solve`"), "{done:#?}");
    let program = b"void main() begin skip; end";
    let done = droste_with(program, &["solve", "-"]).expect(2);
    assert!(done.err.contains("`droste check`"), "{done:#?}");
    let done = droste_with(b"void main( begin skip; end", &["check", "-"]).expect(2);
    assert!(!done.err.contains("droste solve"), "{done:#?}");
    let done = droste_with(program, &["pds", "reach", "-"]).expect(2);
    assert!(done.err.contains("`droste check`"), "{done:#?}");
    for command in [&["check", "-"][..], &["analyze", "-", "--live"]] {
        let done = droste_with(b"rule p a -> p\n", command).expect(2);
        assert!(done.err.contains("`droste pds reach`"), "{done:#?}");
    }
}

/// A callee assigns to a global, and then its result is assigned to it, too.
#[test]
fn a_trace_shows_what_a_return_changes() {
    let program = |result: &str, ending: &str| {
        format!(
            "decl g; void main() begin g := F; g := f(); assert({ending}); end
             bool f() begin g := T; return {result}; end"
        )
    };
    for engine in ["explicit", "bdd"] {
        let args = ["check", "-", "--engine", engine];
        let done = droste_with(program("F", "g").as_bytes(), &args).expect(1);
        assert!(done.out.contains("← returns F; g = F"), "{done:#?}");
        let done = droste_with(program("T", "!g").as_bytes(), &args).expect(1);
        assert!(!done.out.contains("← returns T;"), "{done:#?}");
    }
}

/// The formula that is printed is the one that `check` begins with.
#[test]
fn the_formula_is_that_of_procedures() {
    let done = droste(&["check", "lock.bp", "--emit", "formula"]).expect(0);
    assert!(done.out.contains("mu bool Summary_0"), "{done:#?}");
    let args = ["check", "lock.bp", "--emit", "formula", "--algorithm", "ef"];
    let done = droste(&args).expect(0);
    assert!(!done.out.contains("mu bool Summary_0"), "{done:#?}");
}

/// Procedures that are made a part of their caller are told.
#[test]
fn what_is_absorbed_is_told() {
    let program = b"decl g, h; void main() begin g := h; f(); assert(!g | h); end
        void f() begin if (g) then h := T; fi end";
    let done = droste_with(program, &["check", "-", "-v", "--engine", "bdd"]).expect(0);
    assert!(done.err.contains("absorb: 1 procedure "), "{done:#?}");
}

/// Without a question there is nothing to search, which is no abort.
#[test]
fn nothing_to_search() {
    let program = b"void main() begin start_thread f(); end void f() begin skip; end";
    for engine in ["bdd", "calculus"] {
        let args = ["check", "-", "--contexts", "2", "--engine", engine];
        let done = droste_with(program, &args).expect(0);
        let last = format!("{engine}: nothing to search, ");
        assert!(done.out.contains(&last), "{done:#?}");
    }
}

#[test]
fn dialects_differ() {
    let program = b"decl a, b, c; void main() begin
        a, b, c := F, T, F; if (a = b & c) then X: skip fi end";
    droste_with(program, &["check", "-", "--reach", "X"]).expect(0);
    droste_with(
        program,
        &["check", "-", "--reach", "X", "--dialect", "satabs"],
    )
    .expect(1);
    // In that of GETAFIX, `main` is a thread, and the other one is not seen halfway.
    let program = b"decl atomic, a, b;
        void init() begin atomic, a, b := F, F, F; endinit: skip; end
        void thread1() begin atomic := T; a := T; b := T; atomic := F; end
        void main() begin if (a) then SEEN: skip; if (!b) then HALF: skip; fi fi end";
    for (label, dialect, code) in [
        ("SEEN", "default", 0),
        ("SEEN", "getafix", 1),
        ("thread_main:SEEN", "getafix", 1),
        ("HALF", "getafix", 0),
    ] {
        let args = ["check", "-", "--reach", label, "--dialect", dialect];
        droste_with(program, &args).expect(code);
    }
}

#[test]
fn json_fields() {
    for (args, verdict, code) in [
        (&["lock-fixed.bp"][..], "holds", 0),
        (&["lock.bp"], "violated", 1),
        (&["lock.bp", "--monitor", "double-lock.mon"], "violated", 1),
        (&["flip.bp", "--repeat", "stuck"], "violated", 1),
        (&["quicksort.bp", "--memory", "1"], "unknown", 3),
    ] {
        let args: Vec<&str> = ["check"]
            .iter()
            .chain(args)
            .chain(&["--json"])
            .copied()
            .collect();
        let done = droste(&args).expect(code);
        let json = done.json();
        assert_eq!(json["verdict"], verdict, "{json:#}");
        assert_eq!(json["engine"], "explicit");
        assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(json["file"], args[1]);
        assert!(json["property"].is_string(), "{json:#}");
        assert!(json["stats"]["seconds"].is_f64(), "{json:#}");
        for field in ["contexts", "states", "entries", "summaries", "bytes"] {
            assert!(json["stats"][field].is_u64(), "{field}: {json:#}");
        }
        assert_eq!(json["trace"].is_object(), verdict == "violated", "{json:#}");
        assert_eq!(json["reason"].is_string(), verdict == "unknown", "{json:#}");
        assert_eq!(done.out.lines().count(), 1);
        assert!(done.err.is_empty(), "{done:#?}");
    }
    // Errors go to standard error, as text.
    droste(&["check", "lock.bp", "--json", "--reach", "NOPE"]).expect(2);
}

/// Threads are counted and timed like everything else.
#[test]
fn json_of_threads_says_what_it_took() {
    let program = "decl g; void main() begin g := F; start_thread f(); assert(!g); end
        void f() begin g := T; end";
    let ask = |engine| {
        let args = ["check", "-", "--json", "--engine", engine];
        droste_with(program.as_bytes(), &args).expect(1).json()
    };
    let json = ask("explicit");
    let stats = &json["stats"];
    assert!(stats["search_seconds"].as_f64() > Some(0.0), "{json:#}");
    assert!(stats["search_seconds"].as_f64() < stats["seconds"].as_f64());
    assert!(stats["bytes"].as_u64() > Some(0), "{json:#}");
    for engine in ["bdd", "auto"] {
        let json = ask(engine);
        assert!(
            json["stats"]["configurations"].as_u64() > Some(0),
            "{json:#}"
        );
        assert!(json["stats"]["seconds"].as_f64() > Some(0.0), "{json:#}");
    }
}

#[test]
fn traces_are_written() {
    let dir = scratch("traces");
    let text = dir.join("t.txt").display().to_string();
    let json = dir.join("t.json").display().to_string();
    let shown = droste(&["check", "lock.bp", "-q", "--trace", &text]).expect(1);
    assert!(shown.out.is_empty() && shown.err.is_empty(), "{shown:#?}");
    let trace = fs::read_to_string(&text).unwrap();
    assert!(trace.starts_with("lock.bp:13: assertion fails"), "{trace}");
    let whole = droste(&["check", "lock.bp"]).expect(1).out;
    assert!(whole.contains(&trace), "{whole}");
    let piped = droste(&["check", "lock.bp", "-q", "--trace", "-"]).expect(1);
    assert_eq!(piped.out, trace);
    let once = droste(&["check", "lock.bp", "--trace", "-"]).expect(1).out;
    assert_eq!(once.matches(&trace).count(), 1, "{once}");
    droste(&["check", "lock.bp", "--trace", &json]).expect(1);
    let trace: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let whole = droste(&["check", "lock.bp", "--json"]).expect(1).json();
    assert_eq!(trace, whole["trace"]);
    // Nothing is written if nothing is violated.
    let nothing = dir.join("n.txt").display().to_string();
    droste(&["check", "lock-fixed.bp", "--trace", &nothing]).expect(0);
    assert!(fs::metadata(&nothing).is_err());
    // What cannot be written is known beforehand.
    for bad in ["no/such/dir/t.txt", ".", "lock.bp"] {
        let done = droste(&["check", "lock.bp", "--trace", bad]).expect(2);
        assert!(done.err.contains("cannot write the trace"), "{done:#?}");
    }
    droste(&["check", "lock.bp", "--json", "--trace", "-"]).expect(2);
}

#[test]
fn weighted_pushdown_systems() {
    for method in ["chaotic", "path"] {
        let with = |arguments: &[&str]| {
            let common = ["--engine", "wpds", "--method", method];
            droste(&[&["check"], arguments, &common[..]].concat())
        };
        let done = with(&["quicksort.bp"]).expect(0);
        assert!(done.out.contains("\nwpds: "), "{done:#?}");
        assert!(done.out.contains(" products, "), "{done:#?}");
        // The run is that of the symbolic engine.
        let done = with(&["lock.bp"]).expect(1);
        let run = |text: &str| {
            text.lines()
                .rev()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let symbolic = droste(&["check", "lock.bp", "--engine", "bdd"]).expect(1);
        assert_eq!(run(&done.out), run(&symbolic.out));
        let done = with(&["lock.bp", "--no-trace"]).expect(1);
        assert_eq!(done.out.lines().count(), 2, "{done:#?}");
        let object = with(&["lock.bp", "--json"]).expect(1).json();
        assert_eq!(object["engine"], "wpds", "{object:#}");
        assert!(object["stats"]["images"].is_u64(), "{object:#}");
        assert!(object["trace"].is_object(), "{object:#}");
        for (refused, why) in [
            (
                &["forever.bp", "--ltl", "G F reach"][..],
                "about reachability",
            ),
            (&["flip.bp", "--repeat", "again"], "about reachability"),
            (&["philosophers.bp", "--deadlock"], "without threads"),
        ] {
            let done = with(refused).expect(2);
            assert!(done.err.contains(why), "{done:#?}");
        }
    }
}

#[test]
fn only_the_verdict() {
    for engine in ["explicit", "bdd", "auto"] {
        let with = |arguments: &[&str]| {
            let common = ["--no-trace", "--engine", engine];
            droste(&[arguments, &common[..]].concat()).expect(1)
        };
        let done = with(&["check", "lock.bp"]);
        let first = "violated: an assertion fails\n";
        assert!(done.out.starts_with(first), "{done:#?}");
        assert_eq!(done.out.lines().count(), 2, "{done:#?}");
        // Which runs do is known all the same.
        let done = with(&["check", "forever.bp", "--ltl", "G F reach"]);
        let runs = "It holds on every finite-stack run; it is violated only by runs that recurse for ever.";
        assert_eq!(done.out.lines().nth(1), Some(runs), "{done:#?}");
        let object = with(&["check", "flip.bp", "--repeat", "again", "--json"]).json();
        assert_eq!(object["verdict"], "violated", "{object:#}");
        assert_eq!(object["violated_by"], "finite-stack run", "{object:#}");
        assert!(object["trace"].is_null(), "{object:#}");
    }
    droste(&["check", "lock.bp", "--no-trace", "--trace", "t.txt"]).expect(2);
}

#[test]
fn quiet_and_verbose() {
    let done = droste(&["check", "lock.bp", "-q"]).expect(1);
    assert!(done.out.is_empty() && done.err.is_empty(), "{done:#?}");
    let done = droste(&["check", "quicksort.bp", "-v"]).expect(0);
    for word in [
        "parsed",
        "resolved",
        "round 1",
        "explicit engine",
        "summaries",
    ] {
        assert!(done.err.contains(word), "{word}: {done:#?}");
    }
    droste(&["check", "lock.bp", "-q", "-v"]).expect(2);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let has_colour = |args: &[&str], no_color: bool| {
        let mut command = command(args);
        if !no_color {
            command.env_remove("NO_COLOR");
        }
        Done::of(&command.output().unwrap()).out.contains('\x1b')
    };
    assert!(!has_colour(&["check", "lock.bp"], false));
    assert!(has_colour(&["check", "lock.bp", "--color", "always"], true));
    assert!(!has_colour(
        &["check", "lock.bp", "--color", "never"],
        false
    ));
}

#[test]
fn emitted_programs_mean_the_same() {
    for (file, code) in [
        ("lock.bp", 1),
        ("lock-fixed.bp", 0),
        ("flip.bp", 0),
        ("counter.bp", 1),
        ("quicksort.bp", 0),
        ("slam.bp", 1),
    ] {
        let printed = droste(&["check", file, "--emit", "program"]).expect(0);
        assert!(printed.err.is_empty(), "{printed:#?}");
        let again = droste_with(printed.out.as_bytes(), &["check", "-", "--emit", "program"]);
        assert_eq!(again.expect(0).out, printed.out, "{file}");
        droste_with(printed.out.as_bytes(), &["check", "-"]).expect(code);
        let dot = droste(&["check", file, "--emit", "dot"]).expect(0).out;
        assert!(dot.starts_with("digraph") && dot.ends_with("}\n"), "{dot}");
    }
}

#[test]
fn completions_and_man_pages() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = droste(&["completions", shell]).expect(0).out;
        assert!(script.contains("no-replay"), "{shell}");
    }
    droste(&["completions", "tcl"]).expect(2);
    let page = droste(&["man"]).expect(0).out;
    assert!(page.contains(".TH droste 1"), "{page}");
    assert!(page.contains("droste man check"), "{page}");
    assert!(page.contains(".SH EXAMPLES\n.nf\n"), "{page}");
    let page = droste(&["man", "check"]).expect(0).out;
    assert!(
        page.contains("droste\\-check") && page.contains("\\-\\-reach"),
        "{page}"
    );
    droste(&["man", "nothing"]).expect(2);
    let dir = scratch("man").join("new");
    droste(&["man", "--dir", &dir.display().to_string()]).expect(0);
    for page in [
        "droste.1",
        "droste-check.1",
        "droste-completions.1",
        "droste-man.1",
    ] {
        assert!(dir.join(page).exists(), "{page}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    for args in [
        &["check", "lock.bp"][..],
        &["check", "lock.bp", "--json"],
        &["--help"],
    ] {
        let mut command = command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let done = Done::of(&child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(i32::from(args[0] == "check")), "{done:#?}");
        assert!(done.err.is_empty(), "{done:#?}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_panic_is_no_verdict() {
    let done = Done::of(
        &command(&["check", "lock.bp"])
            .env("DROSTE_TEST_PANIC", "1")
            .output()
            .unwrap(),
    );
    assert_eq!(done.code, Some(2), "{done:#?}");
    assert!(
        done.out.is_empty() && done.err.contains("Please report this"),
        "{done:#?}"
    );
}

#[cfg(unix)]
#[test]
fn limits_hold_while_reading() {
    let zeros = |args: &[&str]| {
        let args: Vec<&str> = ["check", "/dev/zero"].iter().chain(args).copied().collect();
        droste(&args).expect(3)
    };
    let done = zeros(&["--memory", "100"]);
    assert!(done.out.starts_with("unknown: "), "{done:#?}");
    let done = zeros(&["--timeout", "0.01", "--json", "--reach", "A"]);
    let json = done.json();
    assert_eq!(json["verdict"], "unknown");
    assert!(json["reason"].is_string(), "{json:#}");
    assert_eq!(json["property"], "a run reaches A");
    let done = zeros(&["--timeout", "0.01", "--emit", "dot"]);
    assert!(done.out.is_empty(), "{done:#?}");
    assert!(done.err.starts_with("unknown: "), "{done:#?}");
}

#[test]
fn flags_without_effect_are_warned_about() {
    for (args, flag) in [
        (&["lock.bp", "--runs", "all"][..], "--runs"),
        (
            &["flip.bp", "--repeat", "again", "--order", "bfs"],
            "--order",
        ),
        (
            &["lock.bp", "--no-passes", "--skip-pass", "dead"],
            "--skip-pass",
        ),
        (&["lock.bp", "--emit", "dot", "--reach", "A"], "--reach"),
        (&["lock.bp", "--engine", "bdd", "--order", "bfs"], "--order"),
        (&["lock.bp", "--engine", "bdd", "--eager"], "--eager"),
        (&["lock.bp", "--method", "path"], "--method"),
    ] {
        let mut args = [&["check"], args].concat();
        let warning = format!("warning: {flag} has no effect");
        let done = droste(&args);
        assert!(done.err.starts_with(&warning), "{done:#?}");
        args.push("-q");
        let quiet = droste(&args);
        assert_eq!(quiet.code, done.code);
        assert!(quiet.err.is_empty(), "{quiet:#?}");
    }
    let done = droste(&["check", "flip.bp", "--repeat", "again", "--runs", "all"]).expect(1);
    assert!(done.err.is_empty(), "{done:#?}");
}

#[test]
fn bad_numbers_are_explained() {
    for (flag, number, words) in [
        ("--timeout", "nan", "not a number"),
        ("--timeout", "1e-30", "too small"),
        ("--memory", "1.5", "whole number of megabytes"),
        ("--memory", "-1", "greater than zero"),
        ("--max-steps", "-1", "zero or greater"),
    ] {
        let done = droste(&["check", "lock.bp", flag, number]).expect(2);
        assert!(done.err.contains(words), "{done:#?}");
    }
}

#[test]
fn quiet_json_is_json() {
    let done = droste(&["check", "lock.bp", "--json", "-q"]).expect(1);
    assert_eq!(done.json()["verdict"], "violated");
}

#[test]
fn deadlocks() {
    droste(&["check", "philosophers-fixed.bp", "--deadlock"]).expect(0);
    let done = droste(&["check", "philosophers.bp", "--deadlock"]).expect(1);
    assert!(
        done.out
            .starts_with("violated: a run with 3 switches gets stuck"),
        "{done:#?}"
    );
    assert!(done.out.contains("✗ nothing can happen here"), "{done:#?}");
    assert!(done.out.contains("main has ended"), "{done:#?}");
    let few = ["check", "philosophers.bp", "--deadlock", "--rounds", "1"];
    let done = droste(&[&few[..], &["--json"]].concat()).expect(1);
    let ending = &done.json()["trace"]["ending"];
    assert_eq!(ending["kind"], "stuck", "{done:#?}");
    assert_eq!(ending["threads"][0]["standing"], "ended", "{done:#?}");
    assert_eq!(ending["threads"][1]["standing"], "blocked", "{done:#?}");
    let refused = ["check", "philosophers.bp", "--deadlock", "--engine", "bdd"];
    droste(&refused).expect(2);
    let text = b"decl g; void main() begin assume(g); end";
    for engine in ["explicit", "bdd", "wpds", "auto"] {
        let arguments = ["check", "-", "--deadlock", "--engine", engine];
        let done = droste_with(text, &arguments).expect(1);
        assert!(
            done.out.starts_with("violated: a run gets stuck"),
            "{done:#?}"
        );
        assert!(
            done.out.contains("assume(g)   ✗ nothing can happen here"),
            "{done:#?}"
        );
    }
    droste_with(text, &["check", "-", "--deadlock", "--engine", "calculus"]).expect(2);
    // One property at a time.
    droste(&["check", "lock.bp", "--deadlock", "--reach", "TAKE"]).expect(2);
    droste(&["check", "lock.bp", "--deadlock", "--ltl", "G T"]).expect(2);
}
