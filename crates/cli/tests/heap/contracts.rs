//! Contracts: saved, loaded, checked and used.

use serde_json::{Value, json};

use crate::setup::{Setup, check_method};

/// Lists of a class `Ring`, which begin with this heap.
fn rings(initial: &str) -> [&str; 6] {
    let rename = "ListNode=Ring next=succ";
    let grammar = ["--grammar", "SLList", "--rename", rename];
    [
        grammar[0],
        grammar[1],
        grammar[2],
        grammar[3],
        "--initial",
        initial,
    ]
}

/// A contract of a method without a body is used, one of a method with a body is checked. They may
/// allow for callers that keep hold of more than the caller at hand does.
#[test]
fn contracts_of_the_user() {
    let Some(setup) = Setup::new("heap-contract") else {
        return;
    };
    let source = "class Ring { Ring succ; }
class K {
  static native Ring id(Ring r);
  static Ring own(Ring r) { return r; }
  static void foreign(Ring r) { Ring q = id(r); q.succ = null; }
  static void known(Ring r) { Ring q = own(r); q.succ = null; }
}
";
    let file = setup.write("K.java", source);
    let initial = setup.write(
        "ring.txt",
        "R(@parameter0:{Ring}) <= RefSLList(@parameter0:, null)",
    );
    let heap = |variable: &str, target: u32| {
        format!(
            "{{\"nodes\":[{{\"type\":\"NULL\",\"number\":1}},{{\"type\":\"Ring\",\"number\":1}}],\
             \"externals\":[0,1],\"variables\":[{{\"name\":\"null\",\"target\":0}},\
             {{\"name\":\"{variable}\",\"target\":{target}}}],\"selectors\":[],\
             \"hyperedges\":[{{\"label\":\"RefSLList\",\"tentacles\":[1,0]}}]}}"
        )
    };
    let contract = |method: &str, result: u32| {
        let text = format!(
            "{{\"method\":\"<K: Ring {method}(Ring)>\",\"contracts\":[{{\"precondition\":{},\
             \"postconditions\":[{}]}}]}}",
            heap("@parameter0:", 1),
            heap("@return", result)
        );
        setup.write("contract.json", &text)
    };
    let given = setup.path("contract.json");
    let check = |method: &str, with: bool| {
        let more: &[&str] = if with { &["--contract", &given] } else { &[] };
        check_method(&file, method, &[&rings(&initial)[..], more].concat())
    };
    check("foreign", false).expect(3);
    contract("id", 1);
    check("foreign", true).expect(0);
    // One that returns null.
    contract("id", 0);
    let doubtful = check("foreign", true).expect(1);
    let why = "the run uses the contract of <K: Ring id(Ring)>, which cannot be run";
    assert!(doubtful.out.contains(why), "{}", doubtful.out);
    contract("own", 1);
    check("known", true).expect(0);
    contract("own", 0);
    let broken = check("known", true).expect(1);
    assert!(
        broken
            .out
            .contains("violated: the contract of <K: Ring own(Ring)> holds"),
        "{}",
        broken.out
    );
    contract("other", 0);
    assert!(
        check("known", true)
            .expect(0)
            .err
            .contains("no such method")
    );
}

/// Several contracts with the same precondition allow what any of them allows, in whatever order they come,
/// in one file or in several.
#[test]
fn contracts_for_the_same_heap() {
    let Some(setup) = Setup::new("heap-contracts-for-the-same") else {
        return;
    };
    let source = "class Ring { Ring succ; }
class K {
  static native Ring id(Ring r);
  static Ring own(Ring r, boolean b) { return b ? r : null; }
  static Ring same(Ring r) { return r; }
  static void foreign(Ring r) { Ring q = id(r); q.succ = null; }
  static void known(Ring r, boolean b) { own(r, b); same(r); }
}
";
    let file = setup.write("K.java", source);
    let ring = "R(@parameter0:{Ring}) <= RefSLList(@parameter0:, null)";
    let initial = setup.write("ring.txt", ring);
    // The nodes come in another order in each.
    let heap = |variable: &str, target: &str, null: u32| {
        let ring = 1 - null;
        let target = if target == "null" { null } else { ring };
        let nodes = ["NULL", "Ring"].map(|one| format!("{{\"type\":\"{one}\",\"number\":1}}"));
        let nodes = if null == 0 {
            nodes
        } else {
            [nodes[1].clone(), nodes[0].clone()]
        };
        format!(
            "{{\"nodes\":[{},{}],\"externals\":[{ring},{null}],\"variables\":[\
             {{\"name\":\"null\",\"target\":{null}}},{{\"name\":\"{variable}\",\"target\":{target}}}],\
             \"selectors\":[],\"hyperedges\":[{{\"label\":\"RefSLList\",\"tentacles\":[{ring},{null}]}}]}}",
            nodes[0], nodes[1]
        )
    };
    let contract = |null: u32, result: &str| {
        let (before, after) = (
            heap("@parameter0:", "ring", null),
            heap("@return", result, null),
        );
        format!("{{\"precondition\":{before},\"postconditions\":[{after}]}}")
    };
    let write = |name: &str, method: &str, contracts: &[String]| {
        let all = contracts.join(",");
        let text = format!("{{\"method\":\"<K: Ring {method}>\",\"contracts\":[{all}]}}");
        setup.write(name, &text)
    };
    let check = |method: &str, files: &[&str]| {
        let files: Vec<&str> = files
            .iter()
            .flat_map(|file| ["--contract", *file])
            .collect();
        check_method(&file, method, &[&rings(&initial)[..], &files].concat())
    };
    let (one, none) = (contract(0, "ring"), contract(1, "null"));
    let first = write("one.json", "id(Ring)", std::slice::from_ref(&one));
    let second = write("none.json", "id(Ring)", std::slice::from_ref(&none));
    let both = write("both.json", "id(Ring)", &[one.clone(), none.clone()]);
    check("foreign", &[&first]).expect(0);
    for files in [
        &[&*second][..],
        &[&first, &second],
        &[&second, &first],
        &[&both],
    ] {
        check("foreign", files).expect(1);
    }
    // What is claimed.
    let own = "own(Ring,boolean)";
    let first = write("one.json", own, std::slice::from_ref(&one));
    let second = write("none.json", own, std::slice::from_ref(&none));
    check("known", &[&first]).expect(1);
    check("known", &[&second]).expect(1);
    check("known", &[&first, &second]).expect(0);
    let swapped = write("both.json", own, &[none, one]);
    check("known", &[&swapped]).expect(0);
}

/// The contracts of a file, each changed.
fn changed(contracts: &str, change: impl Fn(&mut Value)) -> String {
    let mut list: Value = serde_json::from_str(contracts).unwrap();
    for method in list.as_array_mut().unwrap() {
        for contract in method["contracts"].as_array_mut().unwrap() {
            change(contract);
        }
    }
    list.to_string()
}

/// That a method is left by an exception is part of its contract, if this speaks of exceptions.
#[test]
fn exits_by_an_exception() {
    let Some(setup) = Setup::new("heap-exceptions") else {
        return;
    };
    let source = "class Ring { Ring succ; }
class E {
  static void cut(Ring r) {
    if (r.succ == null) { throw new RuntimeException(); }
    r.succ = null;
  }
  static void main(Ring r) { try { cut(r); } catch (RuntimeException e) { r.succ = r; } }
}
";
    let file = setup.write("E.java", source);
    let ring = "R(@parameter0:{Ring}) <= RefSLList(@parameter0:, null)";
    let initial = setup.write("ring.txt", ring);
    let check = |more: &[&str]| check_method(&file, "main", &[&rings(&initial)[..], more].concat());
    let saved = setup.path("saved.json");
    check(&["--save-contracts", &saved]).expect(0);
    let written = setup.read("saved.json");
    assert!(written.contains("\"exceptions\":[{"), "{written}");
    check(&["--contract", &saved]).expect(0);
    // It is a claim that there are none.
    let none = changed(&written, |contract| contract["exceptions"] = json!([]));
    let none = setup.write("none.json", &none);
    let broken = check(&["--contract", &none]).expect(1).out;
    assert!(
        broken.contains("violated: the contract of <E: void cut(Ring)> holds")
            && broken.contains("left by an exception with one that the contract does not have"),
        "{broken}"
    );
    let object = check(&["--contract", &none, "--json"]).expect(1).json();
    assert_eq!(object["trace"]["steps"][1]["action"], "exception");
    // Nothing is said of exceptions, as in the files of others.
    let silent = changed(&written, |contract| {
        contract.as_object_mut().unwrap().remove("exceptions");
    });
    let silent = setup.write("silent.json", &silent);
    check(&["--contract", &silent]).expect(0);
}

/// What a contract says of exceptions is used where the method has no body.
#[test]
fn exceptions_of_a_method_without_a_body() {
    let Some(setup) = Setup::new("heap-foreign-exceptions") else {
        return;
    };
    let source = "class Ring { Ring succ; }
class F {
  static native void cut(Ring r);
  static void main(Ring r) { try { cut(r); } catch (RuntimeException e) { r.succ.succ = null; } }
  static void outer(Ring r) { try { inner(r); } catch (RuntimeException e) { r.succ.succ = null; } }
  static void inner(Ring r) { cut(r); }
}
";
    let file = setup.write("F.java", source);
    // Two elements at least: whoever catches what is thrown without a change uses no null.
    let ring = "R(@parameter0:{Ring}) <= y{Ring} | @parameter0:.succ -> y * RefSLList(y, null)";
    let initial = setup.write("ring.txt", ring);
    let list = |first: &str, variables: &str| {
        format!(
            "{{\"nodes\":[{{\"type\":\"NULL\",\"number\":1}},{{\"type\":\"Ring\",\"number\":2}}],\
             \"externals\":[0,1],\"variables\":[{{\"name\":\"null\",\"target\":0}}{variables}],\
             \"selectors\":[{{\"label\":\"succ\",\"origin\":1,\"target\":{first}}}],\
             \"hyperedges\":[{{\"label\":\"RefSLList\",\"tentacles\":[2,0]}}]}}"
        )
    };
    let parameter = ",{\"name\":\"@parameter0:\",\"target\":1}";
    let contract = |exceptions: &str| {
        let text = format!(
            "{{\"method\":\"<F: void cut(Ring)>\",\"contracts\":[{{\"precondition\":{},\
             \"postconditions\":[{}]{exceptions}}}]}}",
            list("2", parameter),
            list("2", "")
        );
        setup.write("contract.json", &text)
    };
    for method in ["main", "outer"] {
        let check = |contract: &str| {
            let more = [&rings(&initial)[..], &["--contract", contract]].concat();
            check_method(&file, method, &more)
        };
        check(&contract("")).expect(0);
        check(&contract(",\"exceptions\":[]")).expect(0);
        // The exception leaves a list of one element.
        let exceptions = format!(",\"exceptions\":[{}]", list("0", ""));
        check(&contract(&exceptions)).expect(1);
    }
}

/// What was found is a claim that holds; without its heaps it does not.
#[test]
fn what_was_found_holds() {
    let Some((setup, file)) = Setup::lists("heap-found") else {
        return;
    };
    let of = |more: &[&str]| check_method(&file, "bad", more).expect(1);
    let saved = setup.path("contracts.json");
    of(&["--save-contracts", &saved]);
    let written = setup.read("contracts.json");
    assert!(written.contains("<L: Node two()>"), "{written}");
    let verdict = |contracts: &str| {
        let object = of(&["--contract", contracts, "--json"]).json();
        let all = object["properties"].as_array().unwrap().iter();
        let mut two = all.filter(|one| one["property"].as_str().unwrap().contains("two()"));
        two.next().unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(&saved), "holds");
    let nothing = changed(&written, |contract| contract["postconditions"] = json!([]));
    let nothing = setup.write("nothing.json", &nothing);
    assert_eq!(verdict(&nothing), "violated");
}
