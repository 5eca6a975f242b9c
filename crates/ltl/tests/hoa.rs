//! The Hanoi omega-automata format: what is written is read, and what cannot be read is refused with its place.

mod common;

use common::Word;
use droste_base::Limits;
use droste_ltl::{
    Atoms, Formulas, HoaError, Options, Tgba, accepts, holds, parse_text, print, read_hoa,
    read_hoas, translate, write_dot, write_hoa,
};
use droste_source::SourceFile;
use droste_source::diagnostics::render;
use droste_testkit::random::{Random, seeds};

fn read(text: &str) -> Result<(Tgba, Atoms), String> {
    let source = SourceFile::new("a.hoa", text);
    let mut atoms = Atoms::new();
    match read_hoa(&source, &mut atoms, &Limits::default()) {
        Ok(automaton) => Ok((automaton, atoms)),
        Err(HoaError::Refused(diagnostic)) => Err(render(&[*diagnostic], &source, false)),
        Err(HoaError::Stopped(reason)) => panic!("no limits, but {reason}"),
    }
}

/// An automaton against a formula on random words; both know the atoms by the same numbers.
fn same(text: &str, formula: &str) {
    let (automaton, mut atoms) = read(text).unwrap_or_else(|error| panic!("{error}"));
    let count = atoms.len();
    let mut formulas = Formulas::new();
    let id = parse_text(formula, &mut formulas, &mut atoms).expect("a formula");
    assert_eq!(count, atoms.len(), "{formula} has other atoms");
    let mut random = Random::new(1);
    let mut accepted = 0;
    for _ in 0..1000 {
        let word = Word::random(&mut random);
        let yes = accepts(&automaton, word.lasso, |a, i| word.holds(a, i));
        let expected = holds(&formulas, id, word.lasso, |a, i| word.holds(a, i));
        assert_eq!(yes, expected, "{formula} on {word:?}");
        accepted += usize::from(yes);
    }
    assert!(
        (1..1000).contains(&accepted),
        "the words should be of both kinds"
    );
}

#[test]
fn what_is_written_is_read() {
    for seed in seeds(0, 400) {
        let mut random = Random::new(seed);
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let list = "a & b & {proc::x = \"q\\\"} & at(main:L)";
        parse_text(list, &mut formulas, &mut atoms).expect("atoms");
        let size = random.below(12);
        let formula = common::formula(&mut random, &mut formulas, size, 4);
        let name = print(&formulas, &atoms, formula);
        let options = Options::default();
        let limits = Limits::default();
        let automaton =
            translate(&mut formulas, formula, atoms.len(), &options, &limits).expect("no limits");
        let text = write_hoa(&automaton, &formulas, &atoms, &name);
        // Atoms that do not occur are not written; the others keep their numbers.
        let mut same_atoms = atoms.clone();
        let source = SourceFile::new("a.hoa", text.as_str());
        let again = read_hoa(&source, &mut same_atoms, &limits).expect("it is right");
        assert_eq!(atoms.len(), same_atoms.len(), "SEED={seed}: {text}");
        assert_eq!(automaton.edges(), again.edges(), "SEED={seed}: {text}");
        assert_eq!(automaton.mark_count(), again.mark_count(), "SEED={seed}");
        for guard in 0..automaton.guards().len() as u32 {
            let cubes =
                |a: &Tgba| -> Vec<_> { a.guards().cubes(guard).map(<[_]>::to_vec).collect() };
            assert_eq!(cubes(&automaton), cubes(&again), "SEED={seed}");
        }
        for _ in 0..20 {
            let word = Word::random(&mut random);
            assert_eq!(
                accepts(&again, word.lasso, |a, i| word.holds(a, i)),
                holds(&formulas, formula, word.lasso, |a, i| word.holds(a, i)),
                "SEED={seed}"
            );
        }
        let dot = write_dot(&automaton, &formulas, &atoms, &name);
        let arrows = dot.matches(" -> ").count() - name.matches(" -> ").count();
        assert!(arrows > automaton.edges().len(), "SEED={seed}: {dot}");
    }
}

#[test]
fn state_based_with_several_initial_states() {
    same(
        "HOA: v1 States: 2 Start: 0 Start: 1 acc-name: Buchi Acceptance: 1 Inf(0) AP: 1 \"a\"
         --BODY-- State: [0] 0 {0} 0 1 State: [!0] 1 0 1 --END--",
        "G F a",
    );
}

#[test]
fn labels_implied_by_order_and_sets_on_edges() {
    same(
        "HOA: v1 /* two /* nested */ sets */ States: 1 Start: 0
         Acceptance: 2 (Inf(0) & (Inf(1))) AP: 2 \"a\" \"b\" tool: \"x\" \"1\"
         --BODY-- State: 0 \"waiting\" 0 0 {0} 0 {1} 0 {0 1} --END--",
        "G F a & G F b",
    );
}

#[test]
fn aliases_before_their_propositions_and_negated_sets() {
    // A promise automaton: the set holds the edges that put off.
    same(
        "HOA: v1 Start: 0 Alias: @both 0&1 Alias: @none !(0 | !!1) Acceptance: 1 Inf(!0)
         AP: 2 \"a\" \"b\" properties: trans-labels custom: t 3 \"s\"
         --BODY-- State: 0 [@both] 1 [!@both | @none] 0 {0} State: 1 [t] 1 --END--",
        "F (a & b)",
    );
}

#[test]
fn safety_without_sets_and_propositions_that_are_expressions() {
    same(
        "HOA: v1 Start: 0 States: 1 Acceptance: 0 t AP: 2 \"x = 3\" \"p\" --BODY-- State: 0 [0|1] 0 --END--",
        "G ({x = 3} | p)",
    );
}

#[test]
fn no_initial_state_accepts_nothing() {
    let (automaton, _) = read("HOA: v1 Acceptance: 0 t --BODY-- State: 0 [t] 0 --END--").unwrap();
    let lasso = droste_ltl::Lasso {
        prefix: 0,
        period: 1,
    };
    assert!(!accepts(&automaton, lasso, |_, _| true));
}

#[test]
fn other_automata_are_refused_by_name() {
    let header = |items: &str| {
        format!(
            "HOA: v1\nStates: 1\nStart: 0\n{items}\nAP: 1 \"a\"\n--BODY--\nState: 0\n[t] 0\n--END--\n"
        )
    };
    for (items, expected) in [
        ("Acceptance: 1 Fin(0)", "co-Buchi"),
        ("acc-name: co-Buchi\nAcceptance: 1 Fin(0)", "co-Buchi"),
        ("acc-name: Rabin 1\nAcceptance: 2 Fin(0)&Inf(1)", "Rabin 1"),
        (
            "acc-name: Streett 1\nAcceptance: 2 Fin(0)|Inf(1)",
            "Streett 1",
        ),
        (
            "acc-name: parity min even 2\nAcceptance: 2 Inf(0) | (Fin(0)&Fin(1))",
            "parity min even 2",
        ),
        (
            "Acceptance: 1 Inf(0) | f",
            "a disjunction of Büchi conditions\n",
        ),
        ("Acceptance: 2 Fin(0)|Fin(1)", "generalized-co-Buchi"),
        ("Acceptance: 2 Inf(0)|Inf(1)", "disjunction"),
        ("Acceptance: 2 Inf(0)&Fin(1)", "an Emerson-Lei condition\n"),
    ] {
        let error = read(&header(items)).expect_err(items);
        assert!(error.contains("is not supported: "), "{error}");
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("a.hoa:"), "{error}");
    }
    for nothing in [
        "Acceptance: 0 f",
        "Acceptance: 1 Inf(0) & (f)",
        "Acceptance: 2 Fin(0)&f&Inf(1)",
    ] {
        let source = SourceFile::new("a.hoa", header(nothing));
        let list = read_hoas(&source, &Limits::default()).expect(nothing);
        assert!(list[0].automaton.is_empty(), "{nothing}");
        assert_eq!(
            list[0].accepts_nothing,
            Some("has the acceptance condition `f`")
        );
    }
    let sets: Vec<String> = (0..33).map(|i| format!("Inf({i})")).collect();
    let error = read(&header(&format!("Acceptance: 33 {}", sets.join("&")))).unwrap_err();
    assert!(error.contains("at most 32"), "{error}");
}

#[test]
fn a_state_without_labels_has_an_edge_for_each_letter() {
    let error = |propositions: &str, edges: &str| {
        let text = format!(
            "HOA: v1\nStates: 1\nStart: 0\nAP: {propositions}\nAcceptance: 0 t\n--BODY--\nState: 0\n{edges}\n--END--\n"
        );
        read(&text).expect_err("too few edges, or too many")
    };
    let two = error("2 \"a\" \"b\"", "0 0 0");
    let wanted = "3 edges, but there are 4 letters, for 2 atomic propositions";
    assert!(two.contains(wanted), "{two}");
    let one = error("1 \"a\"", "0");
    let wanted = "1 edge, but there are 2 letters, for 1 atomic proposition\n";
    assert!(one.contains(wanted), "{one}");
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let good = "HOA: v1\nStates: 2\nStart: 0\nAP: 1 \"a\"\nAcceptance: 1 Inf(0)\n--BODY--\nState: 0\n[0] 1 {0}\n[!0] 0\nState: 1\n[t] 1\n--END--\n";
    assert!(read(good).is_ok());
    let mut wrong = Vec::new();
    for (from, to, expected) in [
        ("HOA: v1", "HOA: v2", "1:6"),
        ("HOA: v1", "never {", "1:1"),
        ("States: 2", "States: 3", "2:9"),
        ("States: 2", "States: 2\nStates: 2", "3:1"),
        ("States: 2", "Alphabet: 2", "2:1"),
        ("States: 2", "Unknown: 2", "2:1"),
        ("Start: 0", "Start: 5", "3:8"),
        ("Start: 0", "Start: 0&1", "3:9"),
        ("AP: 1", "AP: 2", "4:5"),
        ("AP: 1 \"a\"", "AP: 2 \"a\" \"a\"", "4:11"),
        ("AP: 1 \"a\"", "AP: 1 \"a", "4:7"),
        ("Acceptance: 1 Inf(0)\n", "", "5:1"),
        ("Acceptance: 1 Inf(0)", "Acceptance: 1 Inf(1)", "5:19"),
        ("Acceptance: 1 Inf(0)", "Acceptance: 1 (Inf(0)", "6:1"),
        ("--BODY--", "--BODY", "6:1"),
        ("[0] 1 {0}", "[1] 1 {0}", "8:2"),
        ("[0] 1 {0}", "[@a] 1 {0}", "8:2"),
        ("[0] 1 {0}", "[0 1] 1 {0}", "8:4"),
        ("[0] 1 {0}", "[0 &] 1 {0}", "8:5"),
        ("[0] 1 {0}", "[(0] 1 {0}", "8:4"),
        ("[0] 1 {0}", "1 {0}", "9:6"),
        ("[0] 1 {0}", "[0] 1 {1}", "8:8"),
        ("[0] 1 {0}", "[0] 7 {0}", "8:5"),
        ("[0] 1 {0}", "[0] 1&0 {0}", "8:6"),
        ("[0] 1 {0}", "[0] 99999999999 {0}", "8:5"),
        ("State: 1", "State: 0", "10:8"),
        ("State: 1", "State: 4", "10:8"),
        ("[t] 1", "1", "10:8"),
        ("--END--", "", "13:1"),
        ("--END--", "--ABORT--", "12:1"),
        ("--END--", "--END-- HOA: v1", "12:9"),
        ("--END--", "/* x", "12:1"),
        ("--END--", "€", "12:1"),
    ] {
        let text = good.replacen(from, to, 1);
        let error = read(&text).expect_err(&text);
        assert!(error.contains("--> a.hoa:"), "{error}");
        if !error.contains(&format!("a.hoa:{expected}\n")) {
            wrong.push(format!("{expected} in {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn deep_and_wide_files_are_no_trouble() {
    let n = 200_000;
    let text = format!(
        "HOA: v1 Start: 0 Acceptance: 1 {}Inf(0){} AP: 1 \"a\" --BODY-- State: 0 [{}0{}] 0 {{0}} --END--",
        "(".repeat(n),
        ")".repeat(n),
        "!(".repeat(n),
        ")".repeat(n),
    );
    assert!(read(&text).is_ok());
    assert!(read(&"(".repeat(n)).is_err());
    let names: Vec<String> = (0..2000).map(|i| format!("\"a{i}\"")).collect();
    let label: Vec<String> = (0..2000).map(|i| i.to_string()).collect();
    let text = format!(
        "HOA: v1 Start: 0 Acceptance: 0 t AP: 2000 {} --BODY-- State: 0 [{}] 0 --END--",
        names.join(" "),
        label.join("&")
    );
    let (automaton, _) = read(&text).unwrap();
    assert_eq!(
        automaton.guards().cubes(0).next().map(<[_]>::len),
        Some(2000)
    );
}

#[test]
fn several_automata_in_one_file() {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let mut text = String::new();
    for (name, formula) in [("one", "G a"), ("two", "F (b & X c)"), ("three", "c U a")] {
        let id = parse_text(formula, &mut formulas, &mut atoms).expect("a formula");
        let options = Options::default();
        let limits = Limits::default();
        let automaton = translate(&mut formulas, id, atoms.len(), &options, &limits).unwrap();
        text += &write_hoa(&automaton, &formulas, &atoms, name);
    }
    let headless =
        "HOA: v1\nStates: 1\nAP: 1 \"d\"\nAcceptance: 0 t\n--BODY--\nState: 0\n[0] 0\n--END--\n";
    text += headless;
    let source = SourceFile::new("a.hoa", text.as_str());
    let list = read_hoas(&source, &Limits::default()).expect("automata");
    let found: Vec<(Option<&str>, Vec<String>, bool)> = list
        .iter()
        .map(|one| {
            let atoms = one.atoms.list().iter().map(ToString::to_string);
            (
                one.name.as_deref(),
                atoms.collect(),
                one.accepts_nothing.is_none(),
            )
        })
        .collect();
    let strings = |list: &[&str]| list.iter().map(|&s| s.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            (Some("one"), strings(&["a"]), true),
            (Some("two"), strings(&["b", "c"]), true),
            (Some("three"), strings(&["a", "c"]), true),
            (None, strings(&["d"]), false),
        ]
    );
    assert!(list[3].automaton.is_empty() || list[3].accepts_nothing.is_some());
    // Where one is expected, more are a mistake.
    assert!(read(&text).is_err());
    let broken = format!("{headless}HOA: v1\nStates: x\n");
    assert!(
        read_hoas(
            &SourceFile::new("a.hoa", broken.as_str()),
            &Limits::default()
        )
        .is_err()
    );
    assert!(read_hoas(&SourceFile::new("a.hoa", ""), &Limits::default()).is_err());
}
