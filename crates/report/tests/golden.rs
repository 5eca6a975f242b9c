//! Reports of executions of the programs in `golden/`, compared with the texts stored there.
//! `BLESS=1 cargo test -p droste-report` rewrites them.

use std::path::PathBuf;

use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Changes, Ending, Execution, Step, Valuation,
};
use droste_program::labels;
use droste_program::{NodeId, Op, Program, Value, VarRef};
use droste_replay::valid;
use droste_report::{Style, json, text};
use droste_source::SourceFile;
use droste_testkit::walk::random_walk;

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name]
        .iter()
        .collect()
}

fn load(name: &str) -> (Program, SourceFile) {
    let file = format!("{name}.bp");
    let content = std::fs::read_to_string(path(&file)).expect("the program is there");
    let source = SourceFile::new(file, content);
    let parsed = parse(&source, Dialect::default());
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let (program, diagnostics) = lower(&parsed.ast);
    (program.unwrap_or_else(|| panic!("{diagnostics:?}")), source)
}

/// The text is the stored one, and the execution is a run.
fn golden(name: &str, program: &Program, source: &SourceFile, execution: &Execution, style: Style) {
    assert_eq!(valid(program, execution), Ok(()));
    assert!(serde_json::to_value(json(program, source, execution)).is_ok());
    compare(name, &text(program, source, execution, &style));
}

fn compare(name: &str, actual: &str) {
    let path = path(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; BLESS=1 rewrites it");
}

/// The first walk, in the order of the seeds, that is as wanted.
fn walk(program: &Program, steps: usize, wanted: impl Fn(&Execution) -> bool) -> Execution {
    (0..100_000)
        .map(|seed| random_walk(program, seed, steps))
        .find(|execution| wanted(execution))
        .expect("some walk is as wanted")
}

fn fails(execution: &Execution) -> bool {
    matches!(
        execution.steps.last().map(|s| &s.action),
        Some(Action::Fail(_))
    )
}

fn terminates(execution: &Execution) -> bool {
    execution.steps.last().map(|s| &s.action) == Some(&Action::Terminate)
}

/// Cuts a walk where it comes back to where it was, at a node whose statement starts so.
fn lasso(mut execution: Execution, source: &SourceFile, program: &Program, at: &str) -> Execution {
    let mut now = execution.start.clone();
    let mut seen: Vec<(NodeId, Valuation, usize)> = Vec::new();
    let mut height = 0;
    for (i, step) in execution.steps.iter().enumerate() {
        let mut entries = seen.iter();
        if let Some(start) = entries.position(|(node, v, _)| *node == step.node && *v == now)
            && source.slice(program.node(step.node).span).starts_with(at)
        {
            let pumping = height > seen[start].2;
            execution.steps.truncate(i);
            execution.ending = Ending::Lasso { start, pumping };
            return execution;
        }
        seen.push((step.node, now.clone(), height));
        match &step.action {
            Action::Internal { changes, .. } | Action::Folded { changes, .. } => {
                for &(var, value) in changes {
                    now.set(var, value);
                }
            }
            Action::Call { locals } => {
                now.locals = locals.to_vec();
                height += 1;
            }
            Action::Terminate | Action::Fail(_) => {}
        }
    }
    panic!("the walk comes nowhere twice");
}

#[test]
fn a_failed_assertion_after_nested_calls() {
    let (program, source) = load("flip");
    let execution = walk(&program, 100, fails);
    let style = Style::default();
    golden("flip.txt", &program, &source, &execution, style);
    let trace = json(&program, &source, &execution);
    let pretty = serde_json::to_string_pretty(&trace).expect("JSON can be written");
    compare("flip.json", &(pretty + "\n"));
    let style = Style {
        color: true,
        max_steps: 8,
        width: 80,
    };
    golden(
        "flip-folded-color.txt",
        &program,
        &source,
        &execution,
        style,
    );
}

#[test]
fn a_value_outside_its_range() {
    let (program, source) = load("range");
    let execution = walk(&program, 100, fails);
    golden("range.txt", &program, &source, &execution, Style::default());
}

#[test]
fn a_program_that_ends() {
    let (program, source) = load("ends");
    let mut execution = walk(&program, 100, terminates);
    golden("ends.txt", &program, &source, &execution, Style::default());
    execution.ending = Ending::Terminated;
    golden("stays.txt", &program, &source, &execution, Style::default());
}

#[test]
fn a_lasso_with_a_bounded_stack() {
    let (program, source) = load("loop");
    let open = walk(&program, 151, |e| {
        !e.steps
            .iter()
            .any(|s| matches!(s.action, Action::Call { .. }))
    });
    let long = open.clone();
    let execution = lasso(open, &source, &program, "while");
    golden("loop.txt", &program, &source, &execution, Style::default());
    let style = Style {
        max_steps: 20,
        ..Style::default()
    };
    golden("loop-left-out.txt", &program, &source, &long, style);
}

#[test]
fn a_lasso_that_pumps_the_stack() {
    let (program, source) = load("pump");
    let execution = lasso(random_walk(&program, 1, 40), &source, &program, "turn");
    assert!(matches!(
        execution.ending,
        Ending::Lasso { pumping: true, .. }
    ));
    golden("pump.txt", &program, &source, &execution, Style::default());
}

/// `twice(40)` takes 2^41 calls, which are 82 different ones.
fn doubling(program: &Program, source: &SourceFile) -> Execution {
    let at = |start: &str, skip: usize| {
        let mut nodes = (0..program.nodes.len() as u32).map(NodeId).filter(|&node| {
            let span = program.node(node).span;
            source.slice(span).starts_with(start)
        });
        nodes.nth(skip).unwrap_or_else(|| panic!("no `{start}`"))
    };
    let next = |node: NodeId| {
        let mut all = Vec::new();
        program.node(node).op.for_each_next(|next| all.push(next));
        all[0]
    };
    let branch = at("if", 0);
    let Op::Branch { yes, no, .. } = program.node(branch).op else {
        panic!("`if` is a branch");
    };
    let step = |node, action| Step { node, action };
    let mut runs: Vec<CalleeRun> = Vec::new();
    for n in 0..=40i128 {
        for g in 0..2 as Value {
            let change = |value: Value| Changes::from(vec![(VarRef::Global(0), value)]);
            let none = Changes::default;
            let internal = |to, changes| Action::Internal { to, changes };
            let (steps, mut last) = if n == 0 {
                let to = next(yes);
                let steps = vec![
                    step(branch, internal(yes, none())),
                    step(yes, internal(to, change(1 - g))),
                ];
                (steps, to)
            } else {
                let second = next(no);
                let to = next(second);
                // Only twice(0) flips: once. All others flip an even number of times.
                let (one, two) = if n == 1 { (1 - g, g) } else { (g, g) };
                let run = |g: Value| CalleeRunId((2 * (n - 1) + g) as u32);
                let folded = |run, to, before: Value, after: Value| Action::Folded {
                    run,
                    to,
                    changes: if before == after {
                        none()
                    } else {
                        change(after)
                    },
                };
                let steps = vec![
                    step(branch, internal(no, none())),
                    step(no, folded(run(g), second, g, one)),
                    step(second, folded(run(one), to, one, two)),
                ];
                (steps, to)
            };
            let mut steps = steps;
            while !matches!(program.node(last).op, Op::Return(_)) {
                let to = next(last);
                steps.push(step(last, internal(to, none())));
                last = to;
            }
            runs.push(CalleeRun {
                entry: Valuation {
                    globals: vec![g],
                    locals: vec![n],
                },
                steps: steps.into(),
                exit: last,
                results: vec![],
            });
        }
    }
    let call = program.procedure(program.main).entry;
    let error = labels::find(program, "ERROR").expect("there is a label")[0];
    Execution {
        start: Valuation {
            globals: vec![0],
            locals: vec![],
        },
        steps: vec![step(
            call,
            Action::Folded {
                run: CalleeRunId(80),
                to: error,
                changes: Changes::default(),
            },
        )],
        runs: runs.into(),
        ending: Ending::At(error),
    }
}

#[test]
fn exponentially_many_steps() {
    let (program, source) = load("double");
    let execution = doubling(&program, &source);
    assert!(execution.length(&program) > 1 << 40);
    golden(
        "double.txt",
        &program,
        &source,
        &execution,
        Style::default(),
    );
    let style = Style {
        max_steps: 10,
        ..Style::default()
    };
    golden("double-short.txt", &program, &source, &execution, style);
}
