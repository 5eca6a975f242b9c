//! The dialect of GETAFIX: what it is translated to, against all interleavings of what was written.
//!
//! Random programs with `init` set a global `atomic` where they would have sections. The oracle takes
//! them as they are and lets nobody switch while `atomic` is true, nor within a call. The engines check
//! the translation. For every label and the default property, the fewest switches and rounds must be
//! the same. `SEED=n` reruns one program.

use droste_base::{Limits, Verdict};
use droste_check::{Bound, Engine, Options, Property, check};
use droste_lang::lexer::Dialect;
use droste_lang::lower::lower;
use droste_lang::{parser, printer};
use droste_program::{Program, labels};
use droste_source::SourceFile;
use droste_testkit::generate::{Convention, concurrent};
use droste_testkit::oracle::interleave::{Bounds, Levels, interleave_getafix};
use droste_testkit::random::seeds;

const SWITCHES: usize = 3;
const ROUNDS: usize = 2;

/// A random program of the dialect, whose first thread is `main` or `thread0`.
fn text(seed: u64, first: &str) -> Option<String> {
    let (convention, text) = concurrent(seed);
    let foreign = ["start_thread", "ASYNC_", "end_thread"];
    if convention != Convention::Init || foreign.iter().any(|word| text.contains(word)) {
        return None;
    }
    let mut out = "decl atomic;\n".to_owned();
    for line in text.lines() {
        let is_thread = line.starts_with("void thread");
        let (begin, end) = if is_thread {
            ("atomic := T", "atomic := F")
        } else {
            ("skip", "skip")
        };
        out.push_str(
            &line
                .replace("atomic_begin", begin)
                .replace("atomic_end", end)
                .replace("thread0", first),
        );
        out.push('\n');
    }
    Some(out)
}

/// The program that a text means in a dialect; nothing if it is refused.
fn program(text: &str, dialect: Dialect) -> Option<Program> {
    let parsed = parser::parse(&SourceFile::new("<test>", text), dialect);
    if parsed.has_errors() {
        return None;
    }
    // The translation can be read without the dialect.
    let printed = printer::print(&parsed.ast);
    let again = parser::parse(&SourceFile::new("<test>", &*printed), Dialect::Union);
    assert_eq!(printer::print(&again.ast), printed, "{text}");
    lower(&parsed.ast).0
}

/// The fewest switches or rounds that an engine finds.
fn least(engine: Engine, program: &Program, property: &Property, bound: Bound) -> Option<usize> {
    let options = Options {
        engine,
        bound: Some(bound),
        limits: Limits {
            path_edges: Some(1_000_000),
            ..Limits::default()
        },
        ..Options::default()
    };
    let report = match check(program, property, &options) {
        Ok(report) => report,
        Err(fault) => panic!("{property}: {fault:?}"),
    };
    match report.verdict {
        Verdict::Holds(_) => None,
        Verdict::Violated(_) => report.explored.and_then(|explored| explored.level),
        Verdict::Unknown(reason) => panic!("{property}: {reason}"),
    }
}

#[test]
fn the_translation_has_the_same_interleavings() {
    let (mut programs, mut questions, mut violated, mut kept) = (0, 0, 0, 0);
    for seed in seeds(0, 3_000) {
        let (Some(plain), Some(main)) = (text(seed, "thread0"), text(seed, "main")) else {
            continue;
        };
        let written = program(&plain, Dialect::Union).expect("a program");
        let meant = program(&main, Dialect::Getafix).expect("a program of the dialect");
        let flag = |program: &Program| program.globals.iter().position(|g| &*g.name == "atomic");
        kept += usize::from(flag(&meant).is_some());
        programs += 1;
        let flag = flag(&written).expect("the flag");
        for (levels, most) in [(Levels::Switches, SWITCHES), (Levels::Rounds, ROUNDS)] {
            let bounds = Bounds {
                levels,
                most,
                stack: 3,
                threads: 4,
                configurations: 30_000,
            };
            let Ok(found) = interleave_getafix(&written, bounds, flag) else {
                continue;
            };
            let bound = match levels {
                Levels::Switches => Bound::Switches(most),
                Levels::Rounds => Bound::Rounds(most),
            };
            let names = written.nodes.iter().flat_map(|node| node.labels.iter());
            let mut names: Vec<String> = names.map(ToString::to_string).collect();
            names.retain(|name| name != "endinit");
            names.sort();
            names.dedup();
            let all = names.into_iter().map(Some).chain([None]);
            for name in all {
                let (property, expected) = match name {
                    None => (Property::Default, found.failed),
                    Some(name) => {
                        let nodes = labels::find(&written, &name).expect("the label");
                        let reached = nodes.iter().filter_map(|node| found.reached.get(node));
                        let reached = reached.min().copied();
                        (Property::Reach(vec![name]), reached)
                    }
                };
                for engine in [Engine::Explicit, Engine::Bdd] {
                    let actual = least(engine, &meant, &property, bound);
                    // Stacks of the oracle are bounded.
                    let agrees = actual == expected
                        || !found.complete
                            && actual.is_some_and(|a| expected.is_none_or(|e| a < e));
                    assert!(
                        agrees,
                        "SEED={seed}, {property}, {levels:?}: {engine:?} found {actual:?}, the \
                         oracle {expected:?}\n{main}"
                    );
                    questions += 1;
                    violated += usize::from(actual.is_some());
                }
            }
        }
    }
    println!(
        "{programs} programs, {kept} with the variable, {questions} questions, {violated} violated"
    );
    assert!(programs < 100 || kept > 0 && violated > 0 && questions > violated);
}
