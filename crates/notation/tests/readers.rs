//! Each reader: what it takes, and what it says about what it does not take.

use droste_base::Limits;
use droste_notation::{
    ANY, Document, DomainName, Format, Label, Place, ReadError, Right, SetError, System, read,
    read_set,
};
use droste_source::SourceFile;
use droste_source::diagnostics::render;

fn system(text: &str) -> System {
    match read(text, &Limits::default()) {
        Ok((Document::System(system), ..)) => *system,
        Ok(_) => panic!("a concurrent system:\n{text}"),
        Err(error) => panic!("{}", shown(text, error)),
    }
}

fn shown(text: &str, error: ReadError) -> String {
    match error {
        ReadError::Wrong(list) => render(&list, &SourceFile::new("t", text), false),
        ReadError::Stopped(reason) => panic!("{reason}"),
    }
}

/// What is said about a wrong text.
fn refused(text: &str) -> String {
    match read(text, &Limits::default()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => shown(text, error),
    }
}

/// A wrong text is refused at this line and column, with these words.
#[track_caller]
fn wrong(text: &str, place: &str, words: &str) {
    let said = refused(text);
    assert!(said.contains(&format!("t:{place}")), "{place}:\n{said}");
    assert!(said.contains(words), "{words}:\n{said}");
}

/// A name that is missing only because the line with it could not be read is no mistake of its own.
#[test]
fn one_mistake_is_told_once() {
    for text in [
        "rule p a b -> q\ninit <p, a>\ntarget <q, b>\n",
        "ruel p a -> q\ninit <p, a>\ntarget <q>\n",
        "rule p a -> \"q\ninit <p, a>\n",
        "rule p a > p b c\nmerge p a -> p b c : locals\n",
    ] {
        let said = refused(text);
        assert_eq!(said.matches("error: ").count(), 1, "{text}{said}");
    }
    // A mistake elsewhere still is one.
    let said = refused("ruel p a -> q\ninit <r, a>\n");
    assert_eq!(said.matches("error: ").count(), 2, "{said}");
    assert!(said.contains("there is no control state `r`"), "{said}");
}

#[test]
fn own_text_is_read() {
    let system = system(
        "# calls\r\ndomain minplus\r\nrule p a -> q b c : 3 # push\r\nrule q b -> q\r\n\
         rule \"f::g\" . -> p x .\r\nrule p c -> q a b c a\r\ninit <p, a b*> : 2\r\n\
         target <[p, q], .* [^a, b]+> | <q> (a | b)? c\r\n",
    );
    assert_eq!(system.domain, Some(DomainName::MinPlus));
    assert_eq!(system.states.iter().collect::<Vec<_>>(), ["p", "q", "f::g"]);
    assert_eq!(
        system.symbols.iter().collect::<Vec<_>>(),
        ["a", "b", "c", "x"]
    );
    assert_eq!(system.rules.len(), 4);
    assert_eq!(system.rules[0].right, Right::Push(1, 2));
    assert_eq!(
        system.weight_text(system.rules[0].weight).as_deref(),
        Some("3")
    );
    assert_eq!(
        (system.rules[2].top, system.rules[2].right),
        (ANY, Right::Push(3, ANY))
    );
    assert_eq!(&*system.long[0], [0, 1, 2, 0]);
    assert_eq!(system.initial.accepting.len(), 2);
    let except = |edge: &droste_notation::Edge| edge.label == Label::Except([0, 1].into());
    assert!(system.target.edges.iter().any(except));
    let starts: Vec<Place> = system.target.edges.iter().map(|edge| edge.from).collect();
    assert!(starts.contains(&Place::Control(0)) && starts.contains(&Place::Control(1)));
}

#[test]
fn own_text_says_what_is_wrong_and_where() {
    wrong("", "1:1", "empty");
    wrong("\n[{\"pda\": {}}]", "2:1", "looks like JSON");
    wrong(
        "rule p a -> q : x y\nrule p a > q\n",
        "2:10",
        "expected `->`",
    );
    wrong("rule p -> p b\n", "1:8", "top of the stack, found `->`");
    wrong("rlue p a -> q\n", "1:1", "did you mean `rule`");
    wrong("rule p a -> q b :\n", "1:18", "expected a weight");
    wrong("rule p a -> q b.c\n", "1:16", "stands for no symbol");
    wrong("rule p a -> q b*\n", "1:16", "expected `:`");
    wrong("rule p a -> \"q\n", "1:13", "not closed");
    wrong(
        "rule p a -> q\ninit <r, a>\n",
        "2:7",
        "no control state `r`",
    );
    wrong(
        "rule start a -> q\ninit <stat, a>\n",
        "2:7",
        "did you mean `start`",
    );
    wrong("rule p a -> q\ninit <p, a (b>\n", "2:14", "expected `)`");
    wrong("rule p a -> q\ninit <p, *>\n", "2:10", "repeat");
    wrong("rule p a -> q\ninit <p, []>\n", "2:10", "needs a symbol");
    wrong("rule p a -> q\ninit p a\n", "2:6", "expected `<`");
    wrong(
        "domain integers\nrule p a -> q\n",
        "1:8",
        "there is no domain",
    );
    wrong("domain relation\nrule p a -> q\n", "1:8", "needs a number");
    wrong("domain bool\ndomain minplus\n", "2:8", "twice");
    wrong(
        "rule p a -> q\nmerge p a -> q b c : locals\n",
        "2:1",
        "no such rule",
    );
    wrong(
        "rule p a -> q b c\nmerge p a -> q b : locals\n",
        "2:1",
        "two symbols",
    );
    // Several mistakes at once, but not without end.
    let many = refused(&"rule p\n".repeat(100));
    assert_eq!(many.matches("error").count(), 20, "{many}");
}

#[test]
fn deep_nesting_is_no_trouble() {
    let deep = format!("{}a{}", "(".repeat(200_000), ")*".repeat(200_000));
    let system = system(&format!("rule p a -> q\ninit <p, {deep}>\n"));
    assert_eq!(system.initial.extra, 1);
    wrong(
        &format!("rule p a -> q\ninit <p, {}>\n", "(".repeat(100_000)),
        "2:100010",
        "expected `)`",
    );
}

#[test]
fn numbers_are_read() {
    let text = "wpds 2 4 3\nr2 0 0 0 1 2 5\nr1 0 1 1 3 1\nr0 1 3 1 -7\ninit 0 0\ntarget 1 2\n\
                target 0 1\nunder 2\nunder 3\n";
    let system = system(text);
    assert_eq!((system.states.len(), system.symbols.len()), (2, 4));
    assert_eq!(system.rules[0].right, Right::Push(1, 2));
    assert_eq!(
        system.weight_text(system.rules[2].weight).as_deref(),
        Some("-7")
    );
    assert_eq!(system.target.edges.len(), 4);
    wrong("wpds 1 1\n", "1:9", "the number of rules");
    wrong("wpds 1 1 1\nr0 0 1 0 0\n", "2:6", "there is no symbol 1");
    wrong("wpds 1 1 1\nr0 0 0 1 0\n", "2:8", "there is no state 1");
    wrong("wpds 1 1 1\nr0 0 0 0\n", "2:9", "expected a weight");
    wrong("wpds 1 1 1\nr3 0 0 0 0\n", "2:1", "`r0`, `r1`, `r2`");
    wrong("wpds 1 1 1\nr0 0 0 0 0 0\n", "2:12", "the end of the line");
    wrong("wpds 1 1 2\nr0 0 0 0 0\n", "2:10", "cut short");
    let surplus = "wpds 1 2 1\nr0 0 0 0 0\ninit 0 0\nr0 0 1 0 0  \ntarget 0 1\n";
    wrong(surplus, "4:1", "announces 1 rule, but the file has 2");
    wrong(surplus, "4:1", "one rule too many");
    assert!(!refused(surplus).contains("cut short"));
    wrong("wpds 1 1 1\nr0 0 x 0 0\n", "2:6", "the number of a symbol");
    wrong("wpds 99999999999 1 1\n", "1:6", "too many states");
}

const INSTANCE: &str = r#"{"instance": [{"state-names": true, "weight-type": "uint"},
 {"states": {"p": {"A": {"to": "q", "push": "B", "weight": 3},
                   "*": [{"to": "p", "swap": "*", "weight": 0}, {"to": "q", "pop": "", "weight": 1}]},
             "q": {}}},
 {"accepting": ["end"], "edges": [["p", "A", "end"]]},
 {"initial": ["q"], "accepting": [7], "edges": [["q", "B", 6], [6, "A", 7], [7, "", 6]]}]}"#;

#[test]
fn pdaaals_json_is_read() {
    let system = system(INSTANCE);
    assert_eq!(system.domain, Some(DomainName::MinPlus));
    assert_eq!(system.states.iter().collect::<Vec<_>>(), ["p", "q"]);
    assert_eq!(
        system.rules[0].right,
        Right::Push(1, 0),
        "the old top stays"
    );
    assert_eq!(
        (system.rules[1].top, system.rules[1].right),
        (ANY, Right::Step(ANY))
    );
    assert_eq!(system.rules[2].right, Right::Pop);
    assert_eq!(system.initial.edges[0].from, Place::Control(0));
    assert_eq!((system.target.extra, system.target.edges.len()), (2, 3));
    assert_eq!(system.target.edges[2].label, Label::Epsilon);
}

#[test]
fn pdaaals_json_says_what_is_wrong_and_where() {
    for cut in 1..INSTANCE.len() {
        if INSTANCE.is_char_boundary(cut) {
            let said = refused(&INSTANCE[..cut]);
            assert!(said.contains("t:"), "{said}");
        }
    }
    let any = INSTANCE.replace(r#"["p", "A", "end"]"#, r#"["p", "*", "end"]"#);
    wrong(&any, "5:41", "as the key of a rule");
    let pda = |rule: &str| format!("{{\"pda\": {{\"states\": [{{\"A\": {rule}}}, {{}}]}}}}");
    wrong(
        &pda(r#"{"to": 2, "pop": ""}"#),
        "1:34",
        "there is no state 2",
    );
    wrong(&pda(r#"{"to": 1}"#), "1:27", "no `pop`, `swap` or `push`");
    wrong(&pda(r#"{"pop": ""}"#), "1:27", "no `to`");
    wrong(
        &pda(r#"{"to": 1, "pop": "", "swap": "A"}"#),
        "1:48",
        "not two",
    );
    wrong(&pda(r#"{"to": 1, "to": 1, "pop": ""}"#), "1:37", "twice");
    wrong(&pda(r#"{"to": 1, "pop": "", "x": 1}"#), "1:48", "no `x`");
    wrong(&pda(r#"{"to": 1, "push": "*"}"#), "1:45", "is none");
    wrong(
        &pda(r#"{"to": "q", "pop": ""}"#),
        "1:34",
        "the number of a state",
    );
    wrong(
        &pda(r#"[{"to": 1, "pop": ""}, {"to": 1, "pop": "", "weight": 3}]"#),
        "1:28",
        "no weight",
    );
    wrong("{\"a\": [1, 2}", "1:12", "`,` or `]`");
    wrong("{}", "1:1", "`pda` or `instance`");
    wrong("{\"foo\": []}", "1:2", "`foo` is neither `pda` nor");
    let typed = |kind: &str| INSTANCE.replace("\"uint\"", kind);
    wrong(&typed("\"float\""), "1:52", "expected \"none\"");
    wrong(&typed("\"none\""), "2:50", "there are no weights");
    let negative = INSTANCE.replace("\"weight\": 3", "\"weight\": -3");
    wrong(&negative, "2:60", "the weight `-3` is negative");
    let negative = negative.replace("\"uint\"", "\"int\"");
    assert_eq!(system(&negative).domain, Some(DomainName::MinPlus));
    let deep = format!(
        "{{\"other\": {}1{}, \"pda\": {{\"states\": []}}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(system(&deep).rules.len(), 0);
}

/// The warnings about a text that is read.
fn warned(text: &str) -> String {
    let (_, _, warnings) = read(text, &Limits::default()).unwrap();
    render(&warnings, &SourceFile::new("t", text), false)
}

/// As in PDAAAL, a state may be named by rules alone, wherever they stand; but that is said.
#[test]
fn pdaaals_states_that_are_not_listed_are_warned_about() {
    assert_eq!(warned(INSTANCE), "");
    let slip = INSTANCE.replace("\"q\": {}", "\"quit\": {}");
    let slip = slip.replacen("\"to\": \"q\"", "\"to\": \"qiut\"", 1);
    let said = warned(&slip);
    assert!(said.contains("t:2:32") && said.contains("the state `qiut` is not listed"));
    assert!(said.contains("did you mean `quit`?"), "{said}");
    assert!(said.contains("list it: `\"q\": {}`"), "{said}");
    let rules: Vec<String> = (0..9)
        .map(|i| format!("{{\"to\": \"sink{i}sink\", \"pop\": \"\"}}"))
        .collect();
    let rules = rules.join(", ");
    let said = warned(&format!(
        "{{\"pda\": {{\"states\": {{\"p\": {{\"a\": [{rules}]}}}}}}}}"
    ));
    assert_eq!(said.matches("warning").count(), 6, "{said}");
    assert!(said.contains("either: 4 more states"), "{said}");
}

const QUERY: &str = "<?xml version='1.0'?>\n<!-- a query -->\n<Query type='poststar'>\n\
 <WFA query='INORDER'>\n  <State Name='p' initial='TRUE'><Weight>ZERO</Weight></State>\n\
  <State Name='acc' final='TRUE'><Weight>ZERO</Weight></State>\n\
  <Trans from='p' stack='n0' to='acc'><Weight>ONE</Weight></Trans>\n </WFA>\n\
 <EWPDS>\n  <Rule from='p' fromStack='n0' to='p' toStack1='n&lt;1' toStack2='n2'><Weight>ONE</Weight><MergeFn>m</MergeFn></Rule>\n\
  <Rule from='p' fromStack='n&lt;1' to='p'><Weight/></Rule>\n  <Function name='f' entry='n0' exit='n2'/>\n\
 </EWPDS>\n</Query>\n";

#[test]
fn walis_xml_is_read() {
    let system = system(QUERY);
    assert_eq!(system.domain, Some(DomainName::Bool));
    assert_eq!(
        system.symbols.iter().collect::<Vec<_>>(),
        ["n0", "n<1", "n2"]
    );
    assert_eq!(system.rules[0].right, Right::Push(1, 2));
    assert_eq!(
        system.weight_text(system.rules[0].merge).as_deref(),
        Some("m")
    );
    assert_eq!(system.rules[1].right, Right::Pop);
    assert_eq!(system.initial.edges[0].from, Place::Control(0));
    assert_eq!(system.initial.accepting.len(), 1);
    // WALi sets the order of weights itself when it solves a query.
    assert_eq!(system.initial.reading, None);
}

/// What stands in the manual can be pasted.
#[test]
fn the_manual_is_read() {
    let manual = include_str!("../../../docs/WEIGHTED.md");
    let mut domains = 0;
    for block in manual.split("```text\n").skip(1) {
        let block = block.split("```").next().unwrap();
        if block.starts_with("domain") {
            domains += 1;
            let system = system(block);
            assert!(!system.initial.is_empty() && !system.target.is_empty());
        } else if block.starts_with("init") {
            let system = system(&format!("rule p a -> p b\n{block}"));
            assert_eq!(system.initial.edges.len(), 2);
        }
    }
    assert_eq!(domains, 4);
}

#[test]
fn numbers_that_are_too_large_are_called_so() {
    let large = "99999999999";
    wrong(&format!("{large}\nPDA 1 2\n"), "1:1", "too large");
    wrong(&format!("3\nPDA 1 {large}\n"), "2:7", "too large");
    wrong(&format!("wpds 1 {large} 1\n"), "1:8", "too many symbols");
    wrong("wpds 1 x 1\n", "1:8", "the number of symbols");
}

#[test]
fn walis_xml_says_what_is_wrong_and_where() {
    let change = |from: &str, to: &str| {
        assert!(QUERY.contains(from));
        QUERY.replacen(from, to, 1)
    };
    for cut in 1..QUERY.trim_end().len() {
        assert!(refused(&QUERY[..cut]).contains("t:"));
    }
    wrong(
        &change("<Function", "<Procedure"),
        "12:3",
        "does not belong here",
    );
    wrong(
        &change("fromStack='n0'", "stack='n0'"),
        "10:18",
        "may not have an attribute `stack`",
    );
    wrong(
        &change(" to='p' toStack1", " toStack1"),
        "10:3",
        "lacks the attribute `to`",
    );
    wrong(
        &change("toStack1='n&lt;1' ", ""),
        "10:50",
        "the top of the stack is missing",
    );
    wrong(&change("poststar", "star"), "3:14", "there is no query");
    wrong(
        &change("</WFA>", "</WPDS>"),
        "8:2",
        "`<WFA>` is closed by `</WPDS>`",
    );
    wrong(&change("&lt;", "&nothing;"), "10:51", "no entity");
    wrong(&change("TRUE", "YES"), "5:28", "`TRUE` or `FALSE`");
    wrong(
        &change("INORDER", "ORDER"),
        "4:13",
        "`INORDER` or `REVERSE`",
    );
    wrong("<html><body/></html>", "1:1", "does not belong here");
    wrong("<WFA/>", "1:1", "--initial");
}

#[test]
fn mopeds_form_is_read() {
    let system =
        system("(p <a c>)\np <a> --> q <b a> \"call\"\nq <b> --> q <>\n# end\nq <a> --> p <c>\n");
    assert_eq!(system.rules.len(), 3);
    assert_eq!(system.initial.edges.len(), 2);
    wrong(
        "(p <a>)\np <a> --> q <b> (x = y)\n",
        "2:17",
        "BDD annotations",
    );
    wrong(
        "p <a> --> q <b>\np <a a> --> q <b>\n",
        "2:9",
        "one symbol on the left",
    );
    wrong("p <a> --> q b\n", "1:13", "the stack");
}

#[test]
fn cubas_form_is_read() {
    let text = "# two threads\n4\nPDA 1 2\n0 1 -> 1 2\n3 2 -> 0 1\nPDA 4 6\n0 4 -> 0 -\n1 4 -> 2 5\n\
                2 5 -> 3 4 6 # call\n0 - -> 1\n";
    let Ok((Document::Concurrent(system), Format::Cuba, _)) = read(text, &Limits::default()) else {
        panic!("refused");
    };
    assert_eq!((system.shared, system.threads.len()), (4, 2));
    assert_eq!(system.threads[1].rules[2].right, [4, 6]);
    assert_eq!(
        (system.threads[1].rules[3].top, system.threads[0].symbols),
        (None, (1, 2))
    );
    wrong("2\nPDA 1 2\n0 1 -> 2\n", "3:8", "no shared state 2");
    wrong("2\nPDA 1 2\n0 1 -> 1 1 1 1\n", "3:14", "at most two");
    wrong("2\n0 1 -> 1\n", "2:1", "PDA lo hi");
    wrong("2\n", "1:2", "no thread");
    let state = droste_notation::concurrent_state("0|1.2,-,4\n").unwrap();
    assert_eq!(state, (0, vec![vec![1, 2], vec![], vec![4]]));
}

/// As in the files that come with CUBA: -1 for an empty stack, symbols beyond those announced, states
/// with comments in files of their own.
#[test]
fn cubas_files_are_read() {
    use droste_notation::StackTop::{Any, Empty, Symbol};
    let text = "3\nPDA 1 2\n0 -1 -> 1 7 1\n0 9 -> 1\nPDA 4 5\n1 4 -> 2 5\n";
    let Ok((Document::Concurrent(system), Format::Cuba, warnings)) = read(text, &Limits::default())
    else {
        panic!("refused");
    };
    assert_eq!(system.threads[0].rules[0].top, None);
    let warnings = render(&warnings, &SourceFile::new("t", text), false);
    assert_eq!(warnings.matches("warning").count(), 1, "{warnings}");
    assert!(
        warnings.contains("t:3:11") && warnings.contains('7'),
        "{warnings}"
    );
    let has = |thread: usize, symbol| system.threads[thread].has(symbol);
    assert!(has(0, 1) && has(0, 7) && has(0, 9) && !has(0, 3) && !has(1, 7));
    wrong("2\nPDA 1 2\n0 -2 -> 1\n", "3:3", "expected a symbol");
    let state = droste_notation::concurrent_state;
    assert_eq!(
        state("# initial\n\n 0|0,7 # here").unwrap(),
        (0, vec![vec![0], vec![7]])
    );
    assert_eq!(state("0|-1,2").unwrap(), (0, vec![vec![], vec![2]]));
    let error = state("0|0,7\n1|0,7").unwrap_err();
    assert!(format!("{error:?}").contains("a second line"), "{error:?}");
    let target = droste_notation::concurrent_target;
    assert_eq!(
        target("3|2,*,- # t\n").unwrap(),
        (Some(3), vec![Symbol(2), Any, Empty])
    );
    assert_eq!(target("*|-1").unwrap(), (None, vec![Empty]));
    for wrong in ["", "3", "3|2.1", "x|1", "3|"] {
        assert!(target(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn walis_mistakes_are_shown_where_they_are() {
    wrong(
        "<WPDS><Rule from='p' x='p' fromStack='a' to='p'/></WPDS>",
        "1:22",
        "`<Rule>` may not have an attribute `x`",
    );
    for (right, inside, expected) in [
        ("", "<Weight>1</Weight><x/>", "`</Rule>`"),
        (
            "toStack1='a' toStack2='a'",
            "<Weight>1</Weight><x/>",
            "`<MergeFn>`",
        ),
        (
            "toStack1='a' toStack2='a'",
            "<x/>",
            "`<Weight>` or `<MergeFn>`",
        ),
        ("", "<x/>", "`<Weight>`"),
    ] {
        let text =
            format!("<WPDS><Rule from='p' fromStack='a' to='p' {right}>{inside}</Rule></WPDS>");
        let said = refused(&text);
        assert!(said.contains(&format!("expected {expected}\n")), "{said}");
    }
}

/// The line that is cut need not be a rule.
#[test]
fn files_that_end_in_a_line_are_cut_short() {
    let whole = "wpds 3 3 2\nr1 0 0 1 1\nr2 1 1 2 2 2\n";
    for end in [
        "wpds 3 3 2\nr1 0 0 1 1\nr2 1 1".len(),
        "wpds 3 3 2\nr".len(),
    ] {
        let said = refused(&whole[..end]);
        assert!(said.contains("cut short"), "{said}");
    }
    assert!(!refused("wpds 3 3 1\nr1 0 0\n").contains("cut short"));
}

#[test]
fn only_droste_own_form_declares_states() {
    let said = |text: &str, set: &str| {
        let mut system = system(text);
        match read_set(&SourceFile::new("s", set), &mut system, &Limits::default()) {
            Err(SetError::Wrong(list)) => render(&list, &SourceFile::new("s", set), false),
            _ => panic!("accepted"),
        }
    };
    assert!(said("rule p a -> p\n", "<nowhere, a>").contains("a line `states"));
    assert!(!said("(p <a>)\np <a> --> p <>\n", "<nowhere, a>").contains("a line `states"));
}

#[test]
fn formats_are_recognised_by_their_content() {
    for (text, format) in [
        ("rule p a -> q\n", Format::Wpds),
        ("# c\n\nwpds 1 1 0\n", Format::Numeric),
        (INSTANCE, Format::Pdaaal),
        (QUERY, Format::Wali),
        ("(p <a>)\n", Format::Moped),
        ("p <a> --> p <>\n", Format::Moped),
        ("3\nPDA 1 1\n", Format::Cuba),
    ] {
        assert_eq!(droste_notation::detect(text), format, "{text}");
    }
}

#[test]
fn sets_are_read_in_every_form() {
    let mut system = system("rule p A -> q B C\nrule q B -> q\n");
    let mut set = |text: &str| {
        let source = SourceFile::new("t", text);
        read_set(&source, &mut system, &Limits::default())
    };
    let edges = |set: droste_notation::Configurations| set.edges.len();
    assert_eq!(edges(set("<p, A B*>").unwrap().0), 3);
    // PDAAAL's text, over several lines.
    assert_eq!(
        edges(set("< [p, q], [A]\n [^B,C]? > | # and\n<q, >").unwrap().0),
        3
    );
    assert_eq!(edges(set("{\"P-automaton\": {\"initial\": [\"p\"], \"accepting\": [9], \"edges\": [[\"p\", \"A\", 9]]}}").unwrap().0), 1);
    // The same in PDAAAL's older form, by number and by name.
    let older = r#"{"initial_p_automaton": {"states": {"p": {"initial": true, "edges": [{"label": "A",
        "to": "8"}, {"label": "", "to": 9}]}, "q": {"initial": true, "edges": []},
        "8": {"edges": [{"label": "B", "to": "9"}]}, "9": {"accepting": true, "edges": []}}}}"#;
    let found = set(older).unwrap().0;
    assert_eq!((found.extra, found.accepting.len()), (2, 1));
    assert_eq!(edges(found), 3);
    for (bad, what) in [
        ("{\"8\": {\"initial\": true}}", "a state of the system"),
        ("{\"p\": {\"edges\": []}}", "it is not initial"),
        ("[{\"edges\": [{\"to\": 1}]}]", "`label` and `to`"),
        ("[{\"x\": 1}]", "no `x` in a state"),
        ("[], \"edges\": []", "there twice"),
    ] {
        let text = format!("{{\"P-automaton\": {{\"states\": {bad}}}}}");
        let said = set(&text).unwrap_err();
        assert!(format!("{said:?}").contains(what), "{text}: {said:?}");
    }
    assert_eq!(
        edges(
            set("<WFA><State Name='x' final='TRUE'/><Trans from='p' stack='A' to='x'/></WFA>")
                .unwrap()
                .0
        ),
        1
    );
    assert_eq!(
        edges(
            set("from bottom\nedge p A -> @1 : 3\nedge @1 () -> @2\nfinal @2 : 4\n")
                .unwrap()
                .0
        ),
        2
    );
    let (_, warnings) = set("<p, D>").unwrap();
    assert!(warnings[0].message.contains("no rule has the symbol `D`"));
    assert!(set("<p, A> <").is_err() && set("").is_err() && set("<r, A>").is_err());
}

/// Defects of other tools, each of which is right here.
mod defects {
    use super::*;

    #[test]
    fn a_length_may_be_given_with_the_type_of_weights() {
        let text = INSTANCE.replace("\"uint\"", "[\"uint\", 2]");
        let text = text.replace("\"weight\": 3", "\"weight\": [3, 1]");
        let text = text.replace("\"weight\": 0", "\"weight\": []");
        let vectors = text.replace("\"weight\": 1", "\"weight\": [1]");
        assert_eq!(system(&vectors).domain, Some(DomainName::Vector));
        wrong(&text, "3:99", "array of numbers");
        let long = vectors.replace("[3, 1]", "[3, 1, 4]");
        wrong(&long, "2:60", "more than 2 numbers");
    }

    #[test]
    fn a_rule_to_a_state_that_is_not_there_is_refused() {
        let text = "{\"pda\": {\"states\": [{\"A\": {\"to\": 7, \"pop\": \"\"}}]}}";
        assert!(refused(text).contains("there is no state 7"));
    }
}
