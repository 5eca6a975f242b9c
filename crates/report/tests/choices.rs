//! What is chosen is shown, whether it changes anything or not.

mod common;

use common::load;
use droste_program::concurrent::{
    Birth, ConcurrentExecution, Context, ThreadAction, ThreadId, ThreadStep,
};
use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Changes, Ending, Execution, Step, Valuation,
};
use droste_program::{NodeId, Program, VarRef};
use droste_replay::valid;
use droste_report::{Style, concurrent_json, concurrent_text, json, text};
use droste_source::SourceFile;

/// The node whose statement begins so.
fn at(program: &Program, source: &SourceFile, text: &str) -> NodeId {
    let mut nodes = (0..program.nodes.len() as u32).map(NodeId);
    let found = nodes.find(|&node| source.slice(program.node(node).span).starts_with(text));
    found.unwrap_or_else(|| panic!("no `{text}`"))
}

fn next(program: &Program, node: NodeId) -> NodeId {
    let mut all = Vec::new();
    program.node(node).op.for_each_next(|next| all.push(next));
    all[0]
}

/// The statement is executed and changes these.
fn step(program: &Program, node: NodeId, changes: Vec<(VarRef, i128)>) -> Step {
    let to = next(program, node);
    let changes = Changes::from(changes);
    Step {
        node,
        action: Action::Internal { to, changes },
    }
}

/// The line of the trace with this statement.
#[track_caller]
fn line<'p>(page: &'p str, statement: &str) -> &'p str {
    let mut lines = page.lines().filter(|line| line.contains(statement));
    lines.next().unwrap_or_else(|| panic!("{page}"))
}

#[test]
fn a_choice_that_changes_nothing() {
    let (program, source) = load(
        "decl a, b, c, d;
        void main() begin
          a, b := T, *;
          c := schoose [a, b];
          a, d := *, * constrain 'a = 'd;
          dead c;
          b := a;
        end",
    );
    let globals = vec![1, 0, 1, 0];
    let node = |text| at(&program, &source, text);
    let (first, second, third) = (node("a, b"), node("c :="), node("a, d"));
    let (dead, last) = (node("dead"), node("b :="));
    let execution = Execution {
        start: Valuation {
            globals,
            locals: vec![],
        },
        runs: Vec::new().into(),
        steps: vec![
            step(&program, first, vec![]),
            step(&program, second, vec![]),
            step(&program, third, vec![(VarRef::Global(3), 1)]),
            step(&program, dead, vec![]),
            step(&program, last, vec![(VarRef::Global(1), 1)]),
            Step {
                node: next(&program, last),
                action: Action::Terminate,
            },
        ],
        ending: Ending::Final,
    };
    assert_eq!(valid(&program, &execution), Ok(()));
    let page = text(&program, &source, &execution, &Style::default());
    for (statement, shown) in [
        ("a, b := T, *", "   b = F"),
        ("c := schoose", "   c = T"),
        ("a, d :=", "   a = T, d = T"),
        ("dead c", "   c = T"),
        ("b := a", "   b = T"),
    ] {
        assert!(line(&page, statement).ends_with(shown), "{page}");
    }
    let value = serde_json::to_value(json(&program, &source, &execution)).expect("JSON");
    let changes: Vec<String> = value["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step["changes"].to_string())
        .collect();
    assert_eq!(
        changes,
        [
            r#"{"b":false}"#,
            r#"{"c":true}"#,
            r#"{"a":true,"d":true}"#,
            r#"{"c":true}"#,
            r#"{"b":true}"#,
            "null"
        ]
    );
}

/// Of many choices, those that make a difference come first.
#[test]
fn all_are_chosen_and_one_changes() {
    let names: Vec<String> = (0..50).map(|i| format!("variable{i}")).collect();
    let (program, source) = load(&format!(
        "decl {}; void main() begin constrain 'variable49; end",
        names.join(", ")
    ));
    let node = at(&program, &source, "constrain");
    let execution = Execution {
        start: Valuation {
            globals: vec![0; 50],
            locals: vec![],
        },
        runs: Vec::new().into(),
        steps: vec![
            step(&program, node, vec![(VarRef::Global(49), 1)]),
            Step {
                node: next(&program, node),
                action: Action::Terminate,
            },
        ],
        ending: Ending::Final,
    };
    assert_eq!(valid(&program, &execution), Ok(()));
    let page = text(&program, &source, &execution, &Style::default());
    let line = line(&page, "constrain");
    assert!(
        line.contains("   variable49 = T, variable0 = F, "),
        "{page}"
    );
    let value = serde_json::to_value(json(&program, &source, &execution)).expect("JSON");
    let changes = value["steps"][0]["changes"].as_object().expect("values");
    assert_eq!(changes.len(), 50);
}

/// Nothing is known about `main`'s locals but what is chosen at the start.
#[test]
fn values_at_the_start() {
    let names: Vec<String> = (0..45).map(|i| format!("l{i}")).collect();
    let (program, source) = load(&format!(
        "decl g; void main() begin L: skip; decl {}; l0 := g; end",
        names.join(", ")
    ));
    let node = at(&program, &source, "skip");
    let mut locals = vec![0; 45];
    locals[7] = 1;
    let execution = Execution {
        start: Valuation {
            globals: vec![1],
            locals,
        },
        runs: Vec::new().into(),
        steps: vec![],
        ending: Ending::At(node),
    };
    assert_eq!(valid(&program, &execution), Ok(()));
    let page = text(&program, &source, &execution, &Style::default());
    assert!(page.contains("globals  g = T\n"), "{page}");
    assert!(page.contains("main     l0 = F, l1 = F, "), "{page}");
    assert!(page.contains(" l7 = T, "), "{page}");
    assert!(page.contains("… and 5 more\n"), "{page}");
    let value = serde_json::to_value(json(&program, &source, &execution)).expect("JSON");
    assert_eq!(
        value["start"].as_object().map(serde_json::Map::len),
        Some(46)
    );
}

/// The caller's locals are back after a return, also in the next context.
#[test]
fn choices_of_a_caller_after_an_interrupted_call() {
    let (program, source) = load(
        "decl g;
        void main() begin
          decl x;
          start_thread other();
          work(T);
          x := *;
        end
        void work(y) begin y := *; skip; end
        void other() begin g := *; end",
    );
    let node = |text| at(&program, &source, text);
    let thread = |action| ThreadAction::Step(action);
    let (start, call, assign) = (node("start_thread"), node("work(T)"), node("x := *"));
    let (inner, skip, choose) = (node("y := *"), node("skip"), node("g := *"));
    let internal = |node| ThreadStep {
        node,
        action: thread(step(&program, node, vec![]).action),
    };
    let execution = ConcurrentExecution {
        globals: vec![1],
        threads: vec![
            Birth::Declared {
                procedure: program.main,
                locals: vec![1],
            },
            Birth::Started {
                by: ThreadId(0),
                node: start,
            },
        ],
        runs: vec![],
        contexts: vec![
            Context {
                thread: ThreadId(0),
                steps: vec![
                    ThreadStep {
                        node: start,
                        action: ThreadAction::Start {
                            thread: ThreadId(1),
                            to: call,
                        },
                    },
                    ThreadStep {
                        node: call,
                        action: thread(Action::Call {
                            locals: vec![0].into(),
                        }),
                    },
                    internal(inner),
                ],
            },
            Context {
                thread: ThreadId(1),
                steps: vec![internal(choose)],
            },
            Context {
                thread: ThreadId(0),
                steps: vec![
                    internal(skip),
                    ThreadStep {
                        node: next(&program, skip),
                        action: ThreadAction::Return {
                            results: vec![],
                            to: assign,
                            changes: vec![],
                        },
                    },
                    internal(assign),
                ],
            },
        ],
        ending: Ending::At(next(&program, assign)),
    };
    let page = concurrent_text(&program, &source, &execution, &Style::default());
    for (statement, shown) in [
        ("y := *", "   y = F"),
        ("g := *", "   g = T"),
        ("x := *", "   x = T"),
    ] {
        assert!(line(&page, statement).ends_with(shown), "{page}");
    }
    let value = serde_json::to_value(concurrent_json(&program, &source, &execution)).expect("JSON");
    let contexts = &value["contexts"];
    assert_eq!(contexts[0]["steps"][2]["changes"]["y"], false, "{value:#}");
    assert_eq!(contexts[0]["steps"][2]["depth"], 1);
    assert_eq!(contexts[1]["steps"][0]["changes"]["g"], true);
    assert_eq!(contexts[2]["steps"][2]["changes"]["x"], true);
    let start = value["threads"][1]["at"].to_string();
    assert_eq!(value["nodes"][start]["line"], 4);
}

/// Runs with the same steps are written once, unless what they show differs.
#[test]
fn shared_steps() {
    let (program, source) = load(
        "decl g;
        void main() begin f(T); f(F); f(T); assert(F); end
        void f(x) begin g := *; skip; end",
    );
    let node = |text| at(&program, &source, text);
    let (choose, skip) = (node("g := *"), node("skip"));
    let steps: std::sync::Arc<[Step]> =
        vec![step(&program, choose, vec![]), step(&program, skip, vec![])].into();
    let run = |g, x| CalleeRun {
        entry: Valuation {
            globals: vec![g],
            locals: vec![x],
        },
        steps: std::sync::Arc::clone(&steps),
        exit: next(&program, skip),
        results: vec![],
    };
    let mut at = program.procedure(program.main).entry;
    let mut calls = Vec::new();
    for run in 0..2 {
        let to = next(&program, at);
        calls.push(Step {
            node: at,
            action: Action::Folded {
                run: CalleeRunId(run),
                to,
                changes: Changes::default(),
            },
        });
        at = to;
    }
    let execution = Execution {
        start: Valuation {
            globals: vec![0],
            locals: vec![],
        },
        // The last one is not used, but is there.
        runs: vec![run(0, 1), run(0, 0), run(1, 1)].into(),
        steps: calls,
        ending: Ending::At(at),
    };
    assert_eq!(valid(&program, &execution), Ok(()));
    let value = serde_json::to_value(json(&program, &source, &execution)).expect("JSON");
    let runs = &value["runs"];
    assert_eq!(runs[0]["steps"][0]["changes"]["g"], false, "{value:#}");
    assert_eq!(runs[1]["steps_of"], 0);
    assert!(runs[1]["steps"].is_null());
    assert_eq!(runs[2]["steps"][0]["changes"]["g"], true);
}

/// Different variables have different names, so that none is lost.
#[test]
fn names_are_different() {
    let (program, source) = load(
        "decl g;
        thread one begin decl a; void main() begin decl g; a := g; end end
        thread two begin decl a; void main() begin skip; end end",
    );
    let node = at(&program, &source, "a := g");
    let main = |i: usize, locals| Birth::Declared {
        procedure: droste_program::ProcId(i as u32),
        locals,
    };
    let execution = ConcurrentExecution {
        globals: vec![0, 1, 0],
        threads: vec![main(0, vec![1]), main(1, vec![])],
        runs: vec![],
        contexts: vec![Context {
            thread: ThreadId(0),
            steps: vec![],
        }],
        ending: Ending::At(node),
    };
    let value = serde_json::to_value(concurrent_json(&program, &source, &execution)).expect("JSON");
    let expected = serde_json::json!({ "g": false, "one::a": true, "two::a": false });
    assert_eq!(value["start"], expected);
    let expected = serde_json::json!({ "one::main::g": true });
    assert_eq!(value["threads"][0]["locals"], expected);
}
