//! Checks of grammars, readers and writers.

mod common;

use common::isomorphic;
use common::languages::{GRAMMARS, Language};
use droste_heap::{
    Contract, Grammar, Heap, Indices, Symbols, WarningKind, check, contracts_json, grammar_dot,
    grammar_json, heap_dot, heap_json, read_contracts, read_grammar, read_heap, read_sid,
    read_symbolic_heap,
};
use droste_source::SourceFile;
use droste_source::diagnostics::render;
use droste_testkit::random::Random;

fn warnings(text: &str) -> Vec<(WarningKind, String)> {
    let language = Language::new(text);
    let all = check(&language.symbols, &language.grammar);
    all.into_iter().map(|w| (w.kind, w.message)).collect()
}

#[test]
fn the_grammars_that_come_with_droste_pass() {
    for text in GRAMMARS {
        let mut found = warnings(text);
        // Where a variable sits at each node of a doubly linked list, it matters which two are
        // abstracted first, likewise for the children of a tree; and without a rule that joins lists two neighbours stay apart.
        if text != "SLList" {
            found.retain(|warning| warning.0 != WarningKind::NotConfluent);
        }
        assert!(found.is_empty(), "{text}: {found:#?}");
    }
}

#[test]
fn each_check_finds_its_mistake() {
    let kinds = |text: &str| -> Vec<WarningKind> { warnings(text).iter().map(|w| w.0).collect() };
    // Only renames.
    let found = kinds("A(x{T}, !y{T}) <= x.f -> y <= B(x, y); B(x{T}, !y{T}) <= x.f -> y;");
    assert!(found.contains(&WarningKind::NotIncreasing), "{found:?}");
    // `y` gets a selector.
    let found = kinds("A(x{T}, !y{T}) <= x.f -> y * y.f -> x;");
    assert!(found.contains(&WarningKind::NoReduction), "{found:?}");
    // Lists from the left only: the last node cannot be materialised.
    let found = kinds("L(x{T}, y{T}) <= x.f -> y * y.f -> x <= z{T} | x.f -> z * L(z, y);");
    assert!(
        found.contains(&WarningKind::NotLocallyConcretisable),
        "{found:?}"
    );
    // No rule ends.
    let found = kinds("A(x{T}) <= y{T} | x.f -> y * A(y);");
    assert!(found.contains(&WarningKind::Unproductive), "{found:?}");
    // Two nonterminals for the same.
    let found = kinds("A(x{T}, !y{T}) <= x.f -> y; B(x{T}, !y{T}) <= x.f -> y;");
    assert!(found.contains(&WarningKind::NotConfluent), "{found:?}");
    // Without the rule that joins lists two neighbours stay apart.
    let found = kinds("L(x{T}, !y{T}) <= x.f -> y <= z{T} | x.f -> z * L(z, y);");
    assert_eq!(found, [WarningKind::NotConfluent]);
}

/// A list that is only ever cut in two was once taken to have one element: the rule that gives the
/// selector at once was all that was tried.
#[test]
fn no_heap_is_lost_where_rules_hide_a_selector() {
    let mut symbols = Symbols::new();
    let text = "L(x{T}, !y{T}) <= x.f -> y <= z{T} | L(x, z) * L(z, y);
                O(x{T}, !y{T}) <= x.f -> y <= x.g -> y;
                V(x{T}, !y{T}) <= O(x, y);";
    let fragments = droste_heap::read_sid(&mut symbols, text).unwrap();
    let grammar = Grammar::new(&symbols, fragments);
    let f = symbols.selector("f").unwrap();
    let reveal = |name: &str| {
        let mut heap = droste_heap::Heap::new();
        let id = symbols.type_id("T").unwrap();
        let nodes = [heap.add_node(id), heap.add_node(id)];
        let nonterminal = symbols.nonterminal(name).unwrap();
        heap.add_hyperedge(nonterminal.into(), &nodes);
        let found = grammar.reveal(&heap, nodes[0], f)?;
        let with = found.iter().filter(|h| h.target(nodes[0], f).is_some());
        Some((with.count(), found.len()))
    };
    assert_eq!(reveal("L"), None);
    // With `f`, and without it.
    assert_eq!(reveal("O"), Some((1, 2)));
    assert_eq!(reveal("V"), Some((1, 2)));
}

#[test]
fn json_is_written_as_it_is_read() {
    for text in GRAMMARS {
        let mut language = Language::new(text);
        let written = grammar_json(&language.symbols, language.grammar.fragments());
        let mut symbols = Symbols::new();
        let read = read_grammar(&mut symbols, &written, Indices::Read).unwrap();
        assert_eq!(grammar_json(&symbols, &read), written);
        let grammar = Grammar::new(&symbols, read);
        assert!(grammar_dot(&symbols, &grammar).contains("cluster0"));
        let mut random = Random::new(3);
        for _ in 0..20 {
            let heap = language.random_heap(&mut random, 8);
            for name in 0..200 {
                language.symbols.add_variable(&format!("v{name}"));
            }
            let text = heap_json(&language.symbols, &heap);
            let back = read_heap(&mut language.symbols, &text, Indices::Read).unwrap();
            assert!(isomorphic(&heap, &back), "{text}");
            assert!(heap_dot(&language.symbols, &heap, "a \"heap\"").starts_with("digraph"));
            for thrown in [None, Some(vec![]), Some(vec![heap.clone()])] {
                let contract = Contract {
                    before: heap.clone(),
                    after: vec![back.clone(), heap.clone()],
                    thrown,
                };
                let contracts = std::slice::from_ref(&contract);
                let text = contracts_json(&language.symbols, "<A: B c()>", contracts);
                let read = read_contracts(&mut language.symbols, &text, Indices::Read).unwrap();
                assert_eq!(read[0].method, "<A: B c()>");
                let again = &read[0].contracts[0];
                assert_eq!(again.after[1].code(), heap.code());
                let codes = |heaps: &Option<Vec<Heap>>| {
                    let heaps = heaps.as_ref()?.iter();
                    Some(heaps.map(Heap::code).collect::<Vec<_>>())
                };
                assert_eq!(codes(&again.thrown), codes(&contract.thrown));
            }
        }
    }
}

#[test]
fn symbolic_heaps_are_read() {
    let mut symbols = Symbols::new();
    let text = "Chain(a{Ring}, !b{Ring}) <= a.succ -> b <= m{Ring} | a.succ -> m * Chain(m,b) ;";
    let fragments = read_sid(&mut symbols, text).unwrap();
    assert_eq!(fragments[0].rules.len(), 2);
    assert_eq!(fragments[0].reduction, Some(vec![false, true]));
    let text = "Start(@parameter0:{Ring}, last{Ring}) <= \
                Chain(@parameter0:, last) * last.succ -> null";
    let heap = read_symbolic_heap(&mut symbols, text).unwrap();
    let json = r#"{"nodes":[{"type":"Ring","number":2},{"type":"NULL","number":1},],
        "externals":[], "variables":[{"name":"@parameter0:","target":0},
        {"name":"last","target":1},{"name":"null","target":2}],
        "selectors":[{"label":"succ","origin":1,"target":2,},],
        "hyperedges":[{"label":"Chain","tentacles":[0,1],}],} and more"#;
    let other = read_heap(&mut symbols, json, Indices::Ignored).unwrap();
    assert_eq!(heap.code(), other.code());
    let text = "S(x{Ring}, y{Ring}) <= z{Ring} | x = z * y.succ -> z * z.succ -> null * y = w";
    assert!(read_symbolic_heap(&mut symbols, text).is_err());
    let text = "S(x{Ring}, y{Ring}) <= z{Ring} | x = z * y.succ -> z * z.succ -> null";
    let heap = read_symbolic_heap(&mut symbols, text).unwrap();
    assert_eq!(heap.node_count(), 3);
    let text = "S(x{Ring}, y{Ring}) <= x = null * y.succ -> x";
    let heap = read_symbolic_heap(&mut symbols, text).unwrap();
    assert_eq!(heap.node_count(), 2);
}

/// What is said about a wrong grammar.
fn complaint(text: &str) -> String {
    let mut symbols = Symbols::new();
    let errors = read_grammar(&mut symbols, text, Indices::Read).unwrap_err();
    render(&errors, &SourceFile::new("g.json", text), false)
}

#[test]
fn wrong_json_is_refused_with_a_place() {
    let graph = |nodes: &str, rest: &str| {
        format!(
            "[{{\"nonterminal\":\"N\",\"rank\":1,\"rules\":[\n{{\"nodes\":{nodes},\
             \"externals\":[0],\"variables\":[],{rest}}}]}}]"
        )
    };
    let node = r#"[{"type":"T","number":1}]"#;
    let cases = [
        (
            "[{\"nonterminal\":\"N\",\"rules\":[]}]".to_owned(),
            "`rank` is missing",
            ":1:2",
        ),
        (
            "[{\"nonterminal\":\"N\"\n \"rank\":1}]".to_owned(),
            "expected `,` or `}`",
            ":2:2",
        ),
        (
            graph(node, "\"selectors\":[]"),
            "`hyperedges` is missing",
            ":2:1",
        ),
        (
            graph("[]", "\"selectors\":[],\"hyperedges\":[]"),
            "no node 0",
            ":2:26",
        ),
        (
            graph(
                node,
                "\"selectors\":[],\"hyperedges\":[{\"label\":\"M\",\"tentacles\":[0]}]",
            ),
            "no grammar has the nonterminal `M`",
            ":2",
        ),
        (
            graph(
                node,
                "\"selectors\":[],\"hyperedges\":[{\"label\":\"N\",\"tentacles\":[0,0]}]",
            ),
            "rank 1, but 2 tentacles",
            ":2",
        ),
        (
            graph(
                "[{\"type\":\"T\",\"number\":99999}]",
                "\"selectors\":[],\"hyperedges\":[]",
            ),
            "at most",
            ":2",
        ),
        (
            graph(
                node,
                "\"selectors\":[],\"hyperedges\":[{\"label\":\"N\",\"tentacles\":[0],\
                         \"index\":[\"s\"]}]",
            ),
            "ends with",
            ":2",
        ),
        (
            "[{\"nonterminal\":\"N\",\"rank\":2,\"reductionTentacles\":[true],\"rules\":[]}]"
                .to_owned(),
            "2 tentacles, but 1",
            ":1",
        ),
        ("[".to_owned(), "the text ends", ":1:2"),
    ];
    for (text, expected, place) in cases {
        let found = complaint(&text);
        assert!(found.contains(expected), "{text}\n{found}");
        assert!(found.contains(&format!("g.json{place}")), "{text}\n{found}");
    }
}

#[test]
fn wrong_definitions_are_refused_with_a_place() {
    for (text, expected) in [
        ("A(x{T}) <= x.f -> y;", "`y` is not declared"),
        ("A(x{T}) <= x.f -> null;", "`null` cannot stand in a rule"),
        ("A(x{T}) <= B(x);", "no predicate `B`"),
        (
            "A(x{T}) <= A(x, x);",
            "has 1 parameter elsewhere, but 2 here",
        ),
        ("A(x{T}, x{T}) <= x.f -> x;", "declared twice"),
        ("A(x{T}) <= x.f -> x * x.f -> x;", "twice"),
        ("A(x{T}) <= x.f -> x", "expected `*`, `<=` or `;`"),
        ("A(x) <= x.f -> x;", "expected `{`"),
        ("A(x{T}) <= x = x;", "only selectors and predicates"),
        ("", "expected the name of a predicate"),
    ] {
        let mut symbols = Symbols::new();
        let errors = read_sid(&mut symbols, text).unwrap_err();
        let found = render(&errors, &SourceFile::new("g.sid", text), false);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}
