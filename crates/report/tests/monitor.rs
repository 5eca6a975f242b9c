//! Traces with a monitor, and traces of programs with unusual texts.

mod common;

use common::load;
use droste_lang::parser::{Dialect, parse_monitor};
use droste_lang::properties;
use droste_program::Program;
use droste_program::execution::{Action, Ending, Execution};
use droste_program::monitor::Monitor;
use droste_report::{
    Remarks, Style, json, json_with_remarks, monitor_run, text, text_with_remarks,
};
use droste_source::SourceFile;
use droste_testkit::mutants::mutant;
use droste_testkit::random::Random;
use droste_testkit::walk::random_walk;

fn with(run: &droste_report::MonitorRun) -> Remarks<'_> {
    Remarks {
        monitor: Some(run),
        reasons: None,
        marks: None,
    }
}

fn monitor(program: &Program, content: &str) -> Monitor {
    let source = SourceFile::new("test.mon", content);
    let (syntax, diagnostics) = parse_monitor(&source, Dialect::default());
    let syntax = syntax.unwrap_or_else(|| panic!("{diagnostics:?}"));
    properties::monitor(&syntax, program).unwrap_or_else(|e| panic!("{e:?}"))
}

const FLIP: &str = "decl g;
void main() begin decl x; g := F; flip(); flip(); end
void flip() begin decl y; F: g := !g; end
";

const TWICE: &str = "monitor twice {
  initial state none { when at(F) goto once; }
  state once { when at(F) goto two; }
  target state two;
}";

fn ended(program: &Program) -> Execution {
    (0..1000)
        .map(|seed| random_walk(program, seed, 100))
        .find(|e| e.steps.last().map(|s| &s.action) == Some(&Action::Terminate))
        .expect("the program ends")
}

#[test]
fn the_monitor_is_shown_inside_calls_and_across_folded_ones() {
    let (program, source) = load(FLIP);
    let monitor = monitor(&program, TWICE);
    let execution = ended(&program);
    let run = monitor_run(&program, &execution, &monitor, false).expect("a violation");
    let full = text_with_remarks(&program, &source, &execution, with(&run), &Style::default());
    assert!(full.contains("monitor twice enters two"), "{full}");
    let marked: Vec<&str> = full.lines().filter(|line| line.contains('▸')).collect();
    assert_eq!(marked.len(), 2, "{full}");
    assert!(marked[0].contains("F: g := !g") && marked[0].ends_with("▸ once"));
    assert!(marked[1].contains("F: g := !g") && marked[1].ends_with("▸ two"));
    let style = Style {
        max_steps: 0,
        ..Style::default()
    };
    let short = text_with_remarks(&program, &source, &execution, with(&run), &style);
    assert!(
        short.contains("▸ … once") && short.contains("▸ … two"),
        "{short}"
    );
    let value = serde_json::to_value(json_with_remarks(&program, &source, &execution, with(&run)))
        .expect("JSON");
    let states: Vec<&str> = value["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["monitor"].as_str())
        .collect();
    assert_eq!(states, ["once", "two"]);
    assert_eq!(value["monitor"]["enters"], "two");
}

#[test]
fn the_cycle_shows_the_repeating_state() {
    let (program, source) =
        load("void main() begin while (T) do f(); od end\nvoid f() begin L: skip; end\n");
    let monitor = monitor(
        &program,
        "monitor again { initial state out { when at(L) goto there; }
           repeating state there { when !at(L) goto out; } }",
    );
    let mut execution = (0..1000)
        .map(|seed| random_walk(&program, seed, 60))
        .find(|e| {
            !e.steps
                .iter()
                .any(|s| matches!(s.action, Action::Call { .. }))
        })
        .expect("a walk whose calls return");
    let first = execution.steps[0].node;
    let mut again = execution.steps.iter().skip(1);
    let end = again.position(|s| s.node == first).expect("a cycle") + 1;
    execution.steps.truncate(end);
    execution.ending = Ending::Lasso {
        start: 0,
        pumping: false,
    };
    let run = monitor_run(&program, &execution, &monitor, true).expect("a violation");
    let page = text_with_remarks(&program, &source, &execution, with(&run), &Style::default());
    assert!(
        page.contains("monitor again visits there again and again"),
        "{page}"
    );
    assert!(
        page.lines()
            .any(|l| l.contains("L: skip") && l.ends_with("▸ there")),
        "{page}"
    );
    assert!(
        page.lines()
            .any(|l| l.contains("while") && l.ends_with("▸ out")),
        "{page}"
    );
}

#[test]
fn there_is_no_run_without_a_violation() {
    let (program, _) = load(FLIP);
    let monitor = monitor(
        &program,
        "monitor never { initial state a { when F goto b; } target state b; }",
    );
    assert!(monitor_run(&program, &ended(&program), &monitor, false).is_none());
}

#[test]
fn odd_executions_do_no_harm() {
    let (program, source) = load(FLIP);
    let monitor = monitor(&program, TWICE);
    let good = ended(&program);
    let run = monitor_run(&program, &good, &monitor, false);
    let mut random = Random::new(1);
    for _ in 0..300 {
        let odd = mutant(&good, &mut random);
        let own = monitor_run(&program, &odd, &monitor, false);
        for run in [&run, &own] {
            text_with_remarks(
                &program,
                &source,
                &odd,
                Remarks {
                    monitor: run.as_ref(),
                    reasons: None,
                    marks: None,
                },
                &Style::default(),
            );
            let value = serde_json::to_value(json_with_remarks(
                &program,
                &source,
                &odd,
                Remarks {
                    monitor: run.as_ref(),
                    reasons: None,
                    marks: None,
                },
            ));
            assert!(value.is_ok());
        }
    }
}

#[test]
fn statements_over_several_lines_are_whole() {
    let (program, source) =
        load("decl a, b;\nvoid main() begin\n  a, // first\n     b :=\n    T,   /* ! */ F; end\n");
    let execution = ended(&program);
    let page = text(&program, &source, &execution, &Style::default());
    assert!(page.contains("a, b := T, F"), "{page}");
    let value = serde_json::to_value(json(&program, &source, &execution)).expect("JSON");
    let node = value["steps"][0]["node"].to_string();
    assert_eq!(value["nodes"][node]["statement"], "a, b := T, F");
}

#[test]
fn control_characters_do_not_come_through() {
    let (program, source) =
        load("decl {a\u{1b}[31m};\nvoid main() begin {a\u{1b}[31m} := *; end\n");
    let page = text(&program, &source, &ended(&program), &Style::default());
    assert!(!page.contains('\u{1b}') && page.contains('␛'), "{page}");
}

#[test]
fn lines_are_not_endless() {
    let long = "x".repeat(100_000);
    let names: Vec<String> = (0..3000).map(|i| format!("p{i}")).collect();
    let values = vec!["T"; 3000].join(", ");
    let (program, source) = load(&format!(
        "decl {long}, {};\nvoid main() begin {long} := *; p2999 := *; f({values}); end\nvoid f({}) begin skip; end\n",
        names.join(", "),
        names.join(", ").replace('p', "q"),
    ));
    let mut execution = ended(&program);
    execution.start.globals[3000] = 0;
    let page = text(&program, &source, &execution, &Style::default());
    let longest = page.lines().map(|line| line.chars().count()).max();
    assert!(longest < Some(350), "{longest:?}");
    assert!(
        page.contains("… and 2,961 more"),
        "{}",
        &page[..2000.min(page.len())]
    );
}
