//! How many names there may be: those count that differ, however often they occur.

use std::fmt::Write as _;

use droste_heap::{Indices, Symbols, read_contracts, read_heap, read_sid, read_symbolic_heap};

/// A contract with so many postconditions.
fn contract(count: usize) -> String {
    let heap = |name: &str| {
        format!(
            "{{\"nodes\":[{{\"type\":\"Node\",\"number\":1}}],\"externals\":[0],\"variables\":\
             [{{\"name\":\"{name}\",\"target\":0}}],\"selectors\":[],\"hyperedges\":[]}}"
        )
    };
    let after = vec![heap("@return"); count].join(",");
    let before = heap("@parameter0:");
    format!(
        "{{\"method\":\"<A: B c(D)>\",\"contracts\":[{{\"precondition\":{before},\
         \"postconditions\":[{after}]}}]}}"
    )
}

#[test]
fn names_may_occur_often() {
    let mut symbols = Symbols::new();
    for _ in 0..2 {
        let read = read_contracts(&mut symbols, &contract(Symbols::MOST), Indices::Read).unwrap();
        assert_eq!(read[0].contracts[0].after.len(), Symbols::MOST);
    }
    let mut text = String::from("List(a{N}, b{N}) <= a.next -> b");
    for _ in 0..Symbols::MOST / 2 {
        text.push_str("\n <= m{N} | a.next -> m * List(m, b)");
    }
    text.push(';');
    read_sid(&mut symbols, &text).unwrap();
}

#[test]
fn too_many_names_are_refused() {
    // Many names in one list, in another one, and both.
    let heap = |name: &str| {
        let mut variables = String::new();
        for at in 0..Symbols::MOST - 100 {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(variables, "{comma}{{\"name\":\"{name}{at}\",\"target\":0}}");
        }
        format!(
            "{{\"nodes\":[{{\"type\":\"Node\",\"number\":1}}],\"externals\":[],\"variables\":\
             [{variables}],\"selectors\":[],\"hyperedges\":[]}}"
        )
    };
    let mut symbols = Symbols::new();
    read_heap(&mut symbols, &heap("x"), Indices::Ignored).unwrap();
    read_heap(&mut symbols, &heap("x"), Indices::Ignored).unwrap();
    let problems = read_heap(&mut symbols, &heap("y"), Indices::Ignored).unwrap_err();
    assert!(
        problems[0].message.contains("at most 16384"),
        "{problems:?}"
    );
    let text = |name: &str| format!("H({name}{{Node}}) <= {name}.next -> {name}");
    read_symbolic_heap(&mut symbols, &text("x7")).unwrap();
}
