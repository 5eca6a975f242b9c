//! What Java sources become, and what is said when they cannot become anything.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use droste_java::{Error, Loaded, Options, load, load_bytes};
use droste_pointer::{PointerProgram, Statement, simplify};

use support::{Directory, jdk};

fn options(class: &str, method: &str) -> Options {
    Options {
        class: class.to_string(),
        method: method.to_string(),
    }
}

/// Loads `T.java`, a class `T`.
fn load_text(text: &str, method: &str) -> Result<Loaded, Error> {
    let directory = Directory::with("T.java", text);
    load(&[directory.path().to_path_buf()], &options("T", method))
}

/// The first method, simplified, without its heading and positions in the source.
fn method(program: &PointerProgram) -> Vec<String> {
    let text = program.print_method(program.entry);
    text.lines()
        .skip(1)
        .map(|line| line[12..].to_string())
        .collect()
}

fn simplified(text: &str, name: &str, keep: &[&str]) -> Vec<String> {
    let mut loaded = load_text(text, name).unwrap_or_else(|error| panic!("{error}"));
    let keep: BTreeSet<String> = keep.iter().map(ToString::to_string).collect();
    simplify(&mut loaded.program, &keep);
    method(&loaded.program)
}

const LIST: &str = "
class T {
    T next; int data; boolean mark;
    T(T next) { this.next = next; }
    static void walk(T head) {
        T current = head;
        while (current != null) { current = current.next; }
    }
    static T recur(T head) {
        T current = head;
        if (current.next != null) return recur(current.next);
        return current;
    }
    static T build(int n) {
        T list = null;
        for (int i = 0; i < n; i++) list = new T(list);
        return list;
    }
    static void marks(T head) { head.mark = true; head.data = 7; head.mark = head.data == 1; }
    int size() { int n = 1; for (T x = next; x != null; x = x.next) n++; return n; }
    static void twice(T head) {
        for (T x = head; x != null; x = x.next) x.mark = true;
        { T other = head; for (T x = other; x != null; x = x.next) x.mark = false; }
    }
}";

#[test]
fn loops_read_as_in_the_source() {
    if !jdk() {
        return;
    }
    let expected = [
        "head = @parameter0",
        "current = head",
        "if current != null goto 3 else 5",
        "current = current.next",
        "goto 2",
        "return",
    ];
    assert_eq!(simplified(LIST, "walk", &[]), expected);
}

#[test]
fn copies_disappear_unless_a_property_names_them() {
    if !jdk() {
        return;
    }
    let expected = [
        "head = @parameter0",
        "$s2 = head.next",
        "if $s2 != null goto 3 else 6",
        "$s3 = head.next",
        "$s4 = <T: T recur(T)>($s3)",
        "return $s4",
        "return head",
    ];
    assert_eq!(simplified(LIST, "recur", &[]), expected);
    assert!(simplified(LIST, "recur", &["current"]).contains(&"current = head".to_string()));
}

#[test]
fn constructors_run_and_numbers_are_unknown() {
    if !jdk() {
        return;
    }
    let expected = [
        "n = @parameter0",
        "list = null",
        "choose 3 7",
        "$s3 = new T",
        "$s3.<T: void <init>(T)>(list)",
        "list = $s3",
        "goto 2",
        "return list",
    ];
    assert_eq!(simplified(LIST, "build", &[]), expected);
    let loaded = load_text(LIST, "build").unwrap();
    assert!(loaded.compiling.is_some());
    assert_eq!(loaded.warnings, []);
    // Only the fields that are used.
    assert!(
        loaded
            .program
            .to_string()
            .starts_with("class T: reference next\n")
    );
}

#[test]
fn booleans_are_numbers() {
    if !jdk() {
        return;
    }
    let code = simplified(LIST, "marks", &[]);
    assert!(code.contains(&"head.mark = 1".to_string()), "{code:?}");
    assert!(code.contains(&"head.data = 7".to_string()), "{code:?}");
}

#[test]
fn variables_of_one_name_are_one() {
    if !jdk() {
        return;
    }
    let mut loaded = load_text(LIST, "twice").unwrap();
    assert!(
        loaded.program.methods[0]
            .locals
            .iter()
            .any(|local| local.name == "x#2")
    );
    simplify(&mut loaded.program, &BTreeSet::from(["x".to_string()]));
    assert!(
        loaded.program.methods[0]
            .locals
            .iter()
            .all(|local| local.name != "x#2")
    );
}

#[test]
fn receivers_decide_which_method_runs() {
    if !jdk() {
        return;
    }
    let text = "
abstract class Shape { abstract Shape next(); Shape same() { return this; } }
class A extends Shape { Shape s; Shape next() { return s; } }
class B extends A { Shape next() { return this; } public String toString() { return null; } }
class T {
    static Shape go(Shape s) { return s.next(); }
    static Shape one(A a) { return a.same(); }
    static Object all(Object o) { return o.toString(); }
}";
    let code = simplified(text, "go", &[]);
    assert_eq!(
        code[1],
        "$s1 = s.{A: <A: Shape next()>, B: <B: Shape next()>}()"
    );
    let code = simplified(text, "one", &[]);
    assert_eq!(code[1], "$s1 = a.<Shape: Shape same()>()");
    let code = simplified(text, "all", &[]);
    let library = "<java.lang.Object: java.lang.String toString()>";
    let own = "B: <B: java.lang.String toString()>";
    assert_eq!(
        code[1],
        format!("$s1 = o.{{A: {library}, {own}, T: {library}}}()")
    );
}

#[test]
fn what_is_not_modelled_is_said() {
    if !jdk() {
        return;
    }
    let text = "
class T {
    static T shared;
    T next;
    static int strange(int[] xs, T t) {
        shared = t;
        T u = shared;
        if (xs[0] > 3)
            throw new IllegalStateException();
        Runnable r = () -> {};
        synchronized (t) {
            System.out.println(u);
        }
        return xs.length;
    }
}";
    let loaded = load_text(text, "strange").unwrap();
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    for (line, what) in [
        (6, "static field T.shared: writing it is ignored"),
        (
            7,
            "static field T.shared: reading it gives an unknown value",
        ),
        (8, "arrays are not modelled"),
        (9, "an exception may be thrown here"),
        (11, "`synchronized` is ignored"),
        (
            12,
            "the code of <java.io.PrintStream: void println(java.lang.Object)> is not at hand",
        ),
    ] {
        let begin = format!("T.java:{line}: in <T: int strange(int[],T)>: {what}");
        assert!(
            warnings.iter().any(|one| one.starts_with(&begin)),
            "{begin}\n{warnings:#?}"
        );
    }
}

#[test]
fn exceptions_go_to_callers() {
    if !jdk() {
        return;
    }
    let text = "
class T {
    static void fail() { throw new IllegalStateException(); }
    static void middle() { fail(); }
    static void caught() {
        try {
            middle();
        } catch (RuntimeException e) {
            return;
        }
    }
    static void fine() { try { quiet(); } finally { quiet(); } }
    static void quiet() {}
}";
    let caught = simplified(text, "caught", &[]);
    assert_eq!(
        caught,
        [
            "<T: void middle()>()",
            "caught 3 or out",
            "goto 4",
            "return",
            "return"
        ]
    );
    // Nothing is thrown here.
    let fine = simplified(text, "fine", &[]);
    assert!(
        !fine.iter().any(|one| one.starts_with("caught")),
        "{fine:?}"
    );
    // What the machine raises is followed if somebody would catch it.
    let text = "
class T {
    static int[] numbers;
    static void risky() { int n = numbers[3]; }
    static void caught() { try { risky(); } catch (RuntimeException e) { } }
    static void alone() { risky(); }
}";
    let has_throw = |method: &str| {
        let program = load_text(text, method).unwrap().program;
        let mut code = program.methods.iter().flat_map(|method| &method.code);
        code.any(|statement| *statement == droste_pointer::Statement::Throw)
    };
    assert!(has_throw("caught") && !has_throw("alone"));
}

#[test]
fn assertions_are_off() {
    if !jdk() {
        return;
    }
    let text = "class T { static void m(int n) { assert n > 3 : \"small\"; } }";
    assert_eq!(simplified(text, "m", &[]), ["n = @parameter0", "return"]);
}

#[test]
fn packages_archives_and_directories() {
    if !jdk() {
        return;
    }
    let directory = Directory::new();
    directory.write(
        "src/pkg/List.java",
        "package pkg; public class List { public List next; }",
    );
    let user = "package pkg; class User { static List f(List l) { return l.next; } }";
    directory.write("src/pkg/User.java", user);
    // Broken, but nobody needs it.
    directory.write("src/pkg/Other.java", "package pkg; class Other { int }");
    let sources = directory.path().join("src");
    let expected = ["l = @parameter0", "$s1 = l.next", "return $s1"];
    for class in ["pkg.User", "User"] {
        let loaded = load(std::slice::from_ref(&sources), &options(class, "f")).unwrap();
        assert_eq!(method(&loaded.program), expected);
        assert!(loaded.program.class_named("pkg.List").is_some());
    }
    let classes = support::compile(
        &directory,
        &["src/pkg/List.java", "src/pkg/User.java"],
        &["-g"],
    );
    let signature = "<pkg.User: pkg.List f(pkg.List)>";
    let loaded = load(
        std::slice::from_ref(&classes),
        &options("pkg.User", signature),
    )
    .unwrap();
    assert_eq!(method(&loaded.program), expected);
    assert!(loaded.compiling.is_none());
    let archive = directory.path().join("all.jar");
    let status = std::process::Command::new("jar")
        .arg("cf")
        .arg(&archive)
        .arg("-C")
        .arg(&classes)
        .arg("pkg")
        .status();
    if status.is_ok_and(|status| status.success()) {
        let loaded = load(std::slice::from_ref(&archive), &options("User", "f")).unwrap();
        assert_eq!(method(&loaded.program), expected);
        // A class that is not whole matters if the class that is checked needs it.
        for (name, needed) in [("Idle", false), ("List", true)] {
            let file = classes.join(format!("pkg/{name}.class"));
            let whole = fs::read(classes.join("pkg/List.class")).unwrap();
            fs::write(&file, &whole[..whole.len() / 2]).unwrap();
            let damaged = directory.path().join("damaged.jar");
            let status = std::process::Command::new("jar")
                .args(["cf".as_ref(), damaged.as_os_str(), "-C".as_ref()])
                .args([classes.as_os_str(), "pkg".as_ref()])
                .status();
            assert!(status.unwrap().success());
            let loaded = load(std::slice::from_ref(&damaged), &options("User", "f"));
            if needed {
                assert!(matches!(loaded, Err(Error::ClassFile { .. })));
            } else {
                let warnings = loaded.unwrap().warnings;
                let last = warnings.last().unwrap().to_string();
                assert!(
                    last.contains("in class pkg.Idle: this is no whole class file"),
                    "{last}"
                );
            }
        }
        let bytes = fs::read(&archive).unwrap();
        fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
        let error = load(&[archive], &options("User", "f")).unwrap_err();
        assert!(matches!(error, Error::Read { .. }), "{error}");
    }
}

#[test]
fn mistakes_are_named() {
    if !jdk() {
        return;
    }
    let text =
        "class T { void walk() {} void walk(int n) {} static void build() {} native void n(); }";
    let error = |method: &str| load_text(text, method).unwrap_err().to_string();
    assert!(error("biuld").starts_with("class `T` has no method `biuld`; did you mean `build`?"));
    assert!(error("walk").contains("<T: void walk(int)>"));
    assert!(error("n").contains("abstract or native"));
    let directory = Directory::with("T.java", text);
    let paths = [directory.path().to_path_buf()];
    let error = load(&paths, &options("U", "build"))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("there is no class `U`"), "{error}");
    let error = load_text("class T { int }", "m").unwrap_err().to_string();
    assert!(error.starts_with("`javac` refuses the sources:"), "{error}");
    assert!(error.contains("T.java:1"), "{error}");
}

#[test]
fn missing_files_are_named() {
    let error = load(&[PathBuf::from("no/such/place")], &options("T", "m")).unwrap_err();
    let named = "cannot read `no/such/place`: ";
    assert!(error.to_string().starts_with(named), "{error}");
    let directory = Directory::new();
    let error = load(&[directory.path().to_path_buf()], &options("T", "m")).unwrap_err();
    assert!(matches!(error, Error::Empty { .. }), "{error}");
    let error = load_bytes(
        vec![("x.class".into(), b"text".to_vec())],
        &options("T", "m"),
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`x.class`"), "{error}");
}

/// The jump back to the head of a loop is where the compiler says, also if it is alone in its block.
#[test]
fn jumps_have_their_own_lines() {
    if !jdk() {
        return;
    }
    let text = "class T { T n;
        static void m(T t) {
            if (t == null) return;
            while (t != null) {
                T next = t.n;
                t = next;
                if (t == null) {
                    t = null;
                }
            }
        }
    }";
    let program = load_text(text, "m").unwrap().program;
    let entry = program.method(program.entry);
    let jumps = (entry.code.iter().zip(&entry.lines))
        .filter(|(statement, _)| matches!(statement, Statement::Goto(_)));
    let lines: Vec<u32> = jumps.map(|(_, &line)| line).collect();
    assert_eq!(lines, [10]);
}

/// Class files cut short at every byte, and with every byte changed: an answer, never a panic.
#[test]
fn broken_class_files_are_refused() {
    if !jdk() {
        return;
    }
    let directory = Directory::with("T.java", LIST);
    let classes = support::compile(&directory, &["T.java"], &["-g"]);
    let bytes = fs::read(classes.join("T.class")).unwrap();
    let name = || "T.class".to_string();
    for method in ["build", "twice"] {
        for length in 0..bytes.len() {
            let cut = bytes[..length].to_vec();
            assert!(
                load_bytes(vec![(name(), cut)], &options("T", method)).is_err(),
                "{length}"
            );
        }
        let mut refused = 0;
        for at in 0..bytes.len() {
            for change in [0xff, 0x01] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                let loaded = load_bytes(vec![(name(), changed)], &options("T", method));
                if let Ok((mut program, _)) = loaded {
                    simplify(&mut program, &BTreeSet::new());
                } else {
                    refused += 1;
                }
            }
        }
        assert!(refused > 0);
    }
}
