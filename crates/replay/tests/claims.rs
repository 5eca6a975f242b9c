//! What executions are accepted as evidence for, and executions of a million parts.

use std::sync::Arc;

use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse, parse_monitor};
use droste_lang::properties;
use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Changes, Ending, Execution, Step, Valuation,
};
use droste_program::labels;
use droste_program::monitor::Monitor;
use droste_program::{NodeId, Op, Program, Value, VarRef, Violation};
use droste_replay::{Claim, replay, valid};
use droste_source::SourceFile;
use droste_testkit::walk::random_walk;

fn load(text: &str) -> Program {
    let source = SourceFile::new("test.bp", text);
    let parsed = parse(&source, Dialect::default());
    let (program, diagnostics) = lower(&parsed.ast);
    program.unwrap_or_else(|| panic!("{:?} {diagnostics:?}", parsed.diagnostics))
}

fn watch(text: &str, program: &Program) -> Monitor {
    let source = SourceFile::new("test.monitor", text);
    let (syntax, diagnostics) = parse_monitor(&source, Dialect::default());
    let syntax = syntax.unwrap_or_else(|| panic!("{diagnostics:?}"));
    properties::monitor(&syntax, program).unwrap_or_else(|d| panic!("{d:?}"))
}

fn label(program: &Program, name: &str) -> Vec<NodeId> {
    labels::find(program, name).expect("the label is there")
}

fn next(program: &Program, node: NodeId, which: usize) -> NodeId {
    let mut all = Vec::new();
    program.node(node).op.for_each_next(|n| all.push(n));
    all[which]
}

fn internal(node: NodeId, to: NodeId) -> Step {
    let changes = Changes::default();
    Step {
        node,
        action: Action::Internal { to, changes },
    }
}

fn folded(node: NodeId, run: usize, to: NodeId) -> Step {
    let (run, changes) = (CalleeRunId(run as u32), Changes::default());
    Step {
        node,
        action: Action::Folded { run, to, changes },
    }
}

const NEST: &str = "decl g;
void p() begin
  if (*) then INNER: p(); fi
  BOTTOM: skip;
end
void main() begin
  AGAIN: p(); goto AGAIN;
end";

/// `p`, nested `depth` times, again and again.
fn nest(program: &Program, depth: usize) -> Execution {
    let again = label(program, "AGAIN")[0];
    let inner = label(program, "INNER")[0];
    let bottom = label(program, "BOTTOM")[0];
    let branch = program.procedures[0].entry;
    let exit = next(program, bottom, 0);
    let entry = Valuation {
        globals: vec![1],
        locals: vec![],
    };
    let runs = (0..depth)
        .map(|i| {
            let mut steps = if i == 0 {
                vec![internal(branch, next(program, branch, 1))]
            } else {
                vec![internal(branch, inner), folded(inner, i - 1, bottom)]
            };
            steps.push(internal(bottom, exit));
            CalleeRun {
                entry: entry.clone(),
                steps: steps.into(),
                exit,
                results: vec![],
            }
        })
        .collect::<Vec<_>>()
        .into();
    let back = next(program, again, 0);
    Execution {
        start: entry,
        runs,
        steps: vec![folded(again, depth - 1, back), internal(back, again)],
        ending: Ending::Lasso {
            start: 0,
            pumping: false,
        },
    }
}

#[test]
fn labels_inside_folded_calls_are_visited() {
    let program = load(NEST);
    let execution = nest(&program, 3);
    for name in ["AGAIN", "INNER", "BOTTOM"] {
        let nodes = label(&program, name);
        assert_eq!(
            replay(&program, &execution, Claim::Repeats(&nodes), true),
            Ok(())
        );
    }
    let execution = nest(&program, 1);
    let inner = label(&program, "INNER");
    assert!(replay(&program, &execution, Claim::Repeats(&inner), true).is_err());
    assert!(replay(&program, &execution, Claim::Reaches(&inner), true).is_err());
    assert!(replay(&program, &execution, Claim::Fails, true).is_err());
}

#[test]
fn a_million_nested_runs_are_checked_quickly() {
    let program = load(NEST);
    let execution = nest(&program, 1_000_000);
    let nodes = label(&program, "BOTTOM");
    let monitor = watch(
        "monitor m {
            initial state a { when at(INNER) & g goto b; }
            repeating state b { when at(BOTTOM) goto a; }
        }",
        &program,
    );
    assert_eq!(
        replay(&program, &execution, Claim::Repeats(&nodes), true),
        Ok(())
    );
    let claim = Claim::MonitorRepeats(&monitor);
    assert_eq!(replay(&program, &execution, claim, true), Ok(()));
    let never = watch(
        "monitor m { initial state a { when at(INNER) & !g goto b; } repeating state b; }",
        &program,
    );
    assert!(replay(&program, &execution, Claim::MonitorRepeats(&never), true).is_err());
}

#[test]
fn a_run_must_not_refer_to_itself() {
    let program = load(NEST);
    for (run, to) in [(1, 1), (1, 2), (0, 0), (2, u32::MAX as usize)] {
        let mut execution = nest(&program, 3);
        let runs = Arc::make_mut(&mut execution.runs);
        for step in Arc::make_mut(&mut runs[run].steps) {
            if let Action::Folded { run, .. } = &mut step.action {
                *run = CalleeRunId(to as u32);
            }
        }
        assert_eq!(valid(&program, &execution).is_ok(), run == 0, "{run} {to}");
    }
}

/// Steps that runs share are looked at once, but not if the calls among them would begin with other globals.
#[test]
fn shared_steps_do_not_hide_what_callees_begin_with() {
    let program = load(NEST);
    for (shared, accepted) in [(0, true), (1, false)] {
        let mut execution = nest(&program, 2);
        let runs = Arc::make_mut(&mut execution.runs);
        let mut other = runs[shared].clone();
        assert!(Arc::ptr_eq(&other.steps, &runs[shared].steps));
        other.entry.globals = vec![0];
        runs.push(other);
        assert_eq!(valid(&program, &execution).is_ok(), accepted, "{shared}");
    }
}

#[test]
fn pumping_is_no_finite_stack() {
    let program = load("void p() begin L: p(); end void main() begin p(); end");
    let call = |node| Step {
        node,
        action: Action::Call {
            locals: Box::from([]),
        },
    };
    let (main, inner) = (program.procedures[1].entry, program.procedures[0].entry);
    let mut execution = Execution {
        start: Valuation::default(),
        runs: Arc::default(),
        steps: vec![call(main), call(inner)],
        ending: Ending::Lasso {
            start: 1,
            pumping: true,
        },
    };
    let claim = Claim::Repeats(&[inner]);
    assert_eq!(replay(&program, &execution, claim, false), Ok(()));
    let rejection = replay(&program, &execution, claim, true).expect_err("the stack grows");
    assert_eq!(rejection.to_string(), "step 2: the stack grows for ever");
    execution.ending = Ending::Lasso {
        start: 1,
        pumping: false,
    };
    assert!(replay(&program, &execution, claim, false).is_err());
}

#[test]
fn a_result_that_does_not_fit_fails_at_the_return() {
    let program = load(
        "decl small : int[0..2];
        int[0..9] p() begin return 7; end
        void main() begin small := p(); end",
    );
    let execution = random_walk(&program, 1, 100);
    let last = execution.steps.last().expect("there is a step");
    assert_eq!(last.action, Action::Fail(Violation::OutOfRange));
    assert!(matches!(program.node(last.node).op, Op::Return(_)));
    assert_eq!(replay(&program, &execution, Claim::Fails, false), Ok(()));
    assert_eq!(
        replay(&program, &execution, Claim::Default(&[]), false),
        Ok(())
    );
}

#[test]
fn a_target_is_entered_at_the_last_position() {
    let program = load("decl g; void main() begin g := T; L: skip; end");
    let monitor = watch(
        "monitor m { initial state a { when at(L) & g goto b; } target state b; }",
        &program,
    );
    let there = label(&program, "L")[0];
    let first = program.procedures[0].entry;
    let mut execution = Execution {
        start: Valuation {
            globals: vec![0 as Value],
            locals: vec![],
        },
        runs: Arc::default(),
        steps: vec![Step {
            node: first,
            action: Action::Internal {
                to: there,
                changes: vec![(VarRef::Global(0), 1)].into(),
            },
        }],
        ending: Ending::At(there),
    };
    let claim = Claim::MonitorTarget(&monitor);
    assert_eq!(replay(&program, &execution, claim, false), Ok(()));
    execution.steps.clear();
    execution.ending = Ending::At(first);
    assert_eq!(valid(&program, &execution), Ok(()));
    assert!(replay(&program, &execution, claim, false).is_err());
}

#[test]
fn terminated_holds_for_ever() {
    let program = load("decl g; void main() begin g := T; end");
    let monitor = watch(
        "monitor m { initial state a { when terminated & g goto b; }
           repeating state b { when !terminated goto a; } }",
        &program,
    );
    let mut execution = random_walk(&program, 3, 10);
    let claim = Claim::MonitorRepeats(&monitor);
    assert!(replay(&program, &execution, claim, true).is_err());
    execution.ending = Ending::Terminated;
    assert_eq!(replay(&program, &execution, claim, true), Ok(()));
}

#[test]
fn enforce_and_constrain_block() {
    let program = load(
        "decl a, b : int[0..2];
        void main() begin
          enforce (a != b);
          a, b := *, * constrain ('a > a | 'b < 2);
          while (*) do a := *; od
        end",
    );
    for seed in 0..200 {
        let execution = random_walk(&program, seed, 50);
        assert_eq!(valid(&program, &execution), Ok(()));
        // Equal values are impossible after the first statement.
        let Some(Action::Internal { to, .. }) = execution.steps.first().map(|s| &s.action) else {
            continue;
        };
        let mut mutant = execution.clone();
        mutant.start.globals = vec![1, 1];
        mutant.steps.truncate(1);
        mutant.ending = Ending::At(*to);
        assert!(valid(&program, &mutant).is_err());
    }
}

/// A run that ends at its first statement, with these globals, and is said to be stuck there.
fn stuck_at_once(text: &str, globals: &[Value]) -> bool {
    let program = load(text);
    let main = program.procedure(program.main);
    let execution = Execution {
        start: Valuation {
            globals: globals.to_vec(),
            locals: main.locals.iter().map(|local| local.ty.lo()).collect(),
        },
        runs: Vec::new().into(),
        steps: Vec::new(),
        ending: Ending::Stuck(main.entry),
    };
    replay(&program, &execution, Claim::Stuck, false).is_ok()
}

#[test]
fn stuck_is_where_no_choice_lets_anything_happen() {
    let main = |body: &str| format!("decl a; decl n : u64; void main() begin {body} end");
    assert!(stuck_at_once(&main("assume(a);"), &[0, 0]));
    assert!(!stuck_at_once(&main("assume(a);"), &[1, 0]));
    assert!(!stuck_at_once(&main("assume(*);"), &[0, 0]));
    assert!(!stuck_at_once(&main("assert(a);"), &[0, 0]));
    assert!(!stuck_at_once(&main("assume(1 / n = 5);"), &[0, 0]));
    assert!(stuck_at_once(&main("assume(1 / n = 5);"), &[0, 1]));
    // Far more values than can be tried one by one.
    let few = "n := * constrain ('n > 7 & 'n < 9 & 'n != 8);";
    assert!(stuck_at_once(&main(few), &[0, 0]));
    assert!(!stuck_at_once(&main(&few.replace("!=", "=")), &[0, 0]));
    assert!(!stuck_at_once(&main(""), &[0, 0]));
}

#[test]
fn a_long_walk_is_accepted() {
    let program = load(
        "decl a; decl n : u8;
        bool p(x) begin return !x; end
        void main() begin
          while (T) do a := p(a); n := n + 1; od
        end",
    );
    let execution = random_walk(&program, 5, 1_000_000);
    assert!(execution.length(&program) >= 1_000_000);
    assert_eq!(valid(&program, &execution), Ok(()));
}
