//! Exceptions keep their class on the way out of methods: which handlers they reach, in all modes.
//!
//! A handler that must not be reached uses null, and one that must be reached has a line of its own.

mod javac;

use std::path::PathBuf;

use droste_base::Limits;
use droste_heap::{Grammar, Heap, Indices, Symbols, Variable, read_contracts, read_symbolic_heap};
use droste_java::{Options as Which, load};
use droste_shape::check::{Checking, check};
use droste_shape::contract::Contracts;
use droste_shape::machine::Options;
use droste_shape::proposition::parse;
use droste_shape::settings::{Abstraction, Mode};
use droste_shape::task::Task;
use javac::has_javac;

const MODES: [Mode; 4] = [Mode::TopLevel, Mode::OnTheFly, Mode::Rsm, Mode::Shared];

const SOURCE: &str = "class T { T next;
    static class Stop extends RuntimeException { T at; Stop(T at) { this.at = at; } }
    static class Halt extends Stop { Halt(T at) { super(at); } }
    static class Fail extends RuntimeException { }
    static void stop() { throw new Stop(new T()); }
    static void halt() { throw new Halt(null); }
    static void state() { throw new IllegalStateException(); }
    static void bad() { T t = null; t.next = t; }
    static void quiet() { }
    static void again() { try { stop(); } catch (RuntimeException e) { throw e; } }
    static void last() { try { stop(); } finally { quiet(); } }
    static void deep() { last(); }
    static void swallow() { try { stop(); } finally { return; } }
    static void other() { try { halt(); } catch (Halt e) { throw new Fail(); } }
    static void wrapped() { try { stop(); } catch (Stop e) { throw new RuntimeException(e); } }
    static void parse() { Integer.parseInt(\"x\"); }
    static T made(int n) { if (n > 3) throw new Fail(); return new T(); }

    static void sorted() { try { stop(); } catch (Fail e) { bad(); } catch (Stop e) { } }
    static void lower() { try { stop(); } catch (Halt e) { bad(); } catch (Stop e) { } }
    static void higher() { try { halt(); } catch (Stop e) { } catch (RuntimeException e) { bad(); } }
    static void first() { try { halt(); } catch (Halt e) { } catch (Stop e) { bad(); } }
    static void several() { try { halt(); } catch (Fail | IllegalStateException e) { bad(); } catch (Stop e) { } }
    static void rethrown() { try { again(); } catch (Fail e) { bad(); } catch (Stop e) { } }
    static void finished() { try { deep(); } catch (Halt e) { bad(); } catch (Stop e) { } }
    static void swallowed() { try { swallow(); } catch (Stop e) { bad(); } }
    static void changed() { try { other(); } catch (Stop e) { bad(); } catch (Fail e) { } }
    static void library() { try { state(); } catch (IllegalArgumentException e) { bad(); } catch (Exception e) { } }
    static void wraps() { try { wrapped(); } catch (Stop e) { bad(); } catch (RuntimeException e) { } }
    static void inner() { try { throw new Stop(null); } catch (Fail e) { bad(); } catch (Stop e) { } }
    static void divided(int n) { try { n = 3 / n; } catch (ClassCastException e) { bad(); } catch (ArithmeticException e) { } }
    static void carried() { try { stop(); } catch (Stop e) { e.at.next = null; } }
    static void both(int n) { try { made(n); } catch (Stop e) { bad(); } catch (Fail e) { } }

    static void taken() { try { halt(); } catch (Stop e) { bad(); } }
    static void all() { try { stop(); } catch (Throwable e) { bad(); } }
    static void passed() { try { other(); } catch (Fail e) { bad(); } }
    static void unknown() { try { parse(); } catch (Fail e) { bad(); } catch (Exception e) { } }
    static void nothing() { try { halt(); } catch (Stop e) { e.at.next = null; } }
    static void finals() { try { last(); } catch (Stop e) { bad(); } }
    static void wrapping() { try { wrapped(); } catch (RuntimeException e) { bad(); } }

    static void use() { T t = null; t.next = t; }
    static void ofNull() {
        try { use(); }
        catch (Stop e) { quiet(); }
        catch (RuntimeException e) {
            quiet();
        }
    }
}";

/// The class files, compiled once for a test.
struct Classes(PathBuf);

impl Classes {
    fn new(test: &str) -> Classes {
        let name = format!("droste-exceptions-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("T.java");
        std::fs::write(&file, SOURCE).unwrap();
        let mut javac = std::process::Command::new("javac");
        let status = javac.arg("-g").arg(&file).status().unwrap();
        assert!(status.success());
        Classes(folder)
    }

    fn task(&self, method: &str) -> Task {
        let which = Which {
            class: "T".into(),
            method: method.into(),
        };
        let files = ["T", "T$Stop", "T$Halt", "T$Fail"];
        let files = files.map(|name| self.0.join(format!("{name}.class")));
        let program = load(&files, &which).unwrap().program;
        let mut symbols = Symbols::new();
        let heap = read_symbolic_heap(&mut symbols, "H() <= null = null").unwrap();
        let mut task = Task {
            program,
            grammar: Grammar::new(&symbols, Vec::new()),
            symbols,
            initial: vec![heap],
            options: Options {
                abstraction: Abstraction::default(),
                compat: false,
                hierarchical: true,
                leaks: false,
                hands: false,
                concrete: false,
                max_heap: 50,
                max_states: 100_000,
                max_state_space: usize::MAX,
            },
            contracts: Contracts::default(),
        };
        task.adopt_fields();
        task
    }

    fn answers(&self, method: &str, mode: Mode, formulas: &[&str]) -> Vec<&'static str> {
        let mut task = self.task(method);
        let names = task.names();
        let parsed = formulas.iter().map(|text| parse(text, &names).unwrap());
        let formulas: Vec<_> = parsed.collect();
        task.simplify(&formulas);
        let reports = check(&mut task, &formulas, &checking(mode, false))
            .unwrap()
            .reports;
        reports.iter().map(|report| report.answer.word()).collect()
    }
}

impl Drop for Classes {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn checking(mode: Mode, contracts: bool) -> Checking<'static> {
    Checking {
        mode,
        limits: Limits::default(),
        reporter: None,
        max_steps: 200,
        concrete: true,
        contracts,
        skip: &[],
    }
}

#[test]
fn handlers_of_other_classes_take_nothing() {
    if !has_javac() {
        return;
    }
    let fine = [
        "sorted",
        "lower",
        "higher",
        "first",
        "several",
        "rethrown",
        "finished",
        "swallowed",
        "changed",
        "library",
        "wraps",
        "inner",
        "divided",
        "carried",
        "both",
    ];
    let bad = [
        "taken", "all", "passed", "unknown", "nothing", "finals", "wrapping",
    ];
    let classes = Classes::new("classes");
    for mode in MODES {
        for (methods, word) in [(&fine[..], "holds"), (&bad[..], "violated")] {
            for method in methods {
                let answers = classes.answers(method, mode, &[]);
                assert_eq!(answers, [word], "{method} in mode {mode}");
            }
        }
    }
}

/// A null dereference is an error, and also an exception that certain handlers take.
#[test]
fn null_raises_an_exception_of_its_class() {
    if !has_javac() {
        return;
    }
    let classes = Classes::new("null");
    for mode in MODES {
        let formulas = ["G ! {line 46}", "G ! {line 48}"];
        let answers = classes.answers("ofNull", mode, &formulas);
        let expected = ["violated", "holds", "violated"];
        assert_eq!(answers, expected, "mode {mode}");
    }
}

/// Saved contracts have the exception. Without it, as in files of earlier versions, any exception
/// may leave the method; with one of another class the contract is broken.
#[test]
fn contracts_say_what_is_thrown() {
    if !has_javac() {
        return;
    }
    let classes = Classes::new("contracts");
    // What is said of the contract of `halt`, if each heap that is left by an exception and the text
    // are changed in these ways.
    let of = |change: &dyn Fn(&mut Heap, Variable), text: &dyn Fn(&str) -> String| {
        let mut task = classes.task("first");
        task.simplify(&[]);
        let saved = check(&mut task, &[], &checking(Mode::Shared, true)).unwrap();
        let saved = saved.contracts.unwrap();
        assert!(saved.contains("@thrown"), "{saved}");
        let mut read = read_contracts(&mut task.symbols, &text(&saved), Indices::Read).unwrap();
        let thrown = task.symbols.variable("@thrown").unwrap();
        let contracts = read.iter_mut().flat_map(|method| &mut method.contracts);
        for heap in contracts.flat_map(|one| one.thrown.iter_mut().flatten()) {
            change(heap, thrown);
        }
        task.set_contracts(read);
        let reports = check(&mut task, &[], &checking(Mode::Shared, false))
            .unwrap()
            .reports;
        let about = reports.iter().filter(|one| {
            one.property.starts_with("the contract") && one.property.contains("halt")
        });
        about.map(|one| one.answer.word()).collect::<Vec<_>>()
    };
    let same = |text: &str| text.to_owned();
    assert_eq!(of(&|_, _| (), &same), ["holds"]);
    let older = |heap: &mut Heap, thrown: Variable| {
        let node = heap.remove_variable(thrown);
        heap.remove_nodes(|one| Some(one) == node);
    };
    assert_eq!(of(&older, &same), ["holds"]);
    let wrong = |text: &str| text.replace("T$Halt", "T$Stop");
    assert_eq!(of(&|_, _| (), &wrong), ["violated"]);
}
