//! The examples of heap programs can be loaded: every class and method that a settings file names.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use droste_java::{Options, load};
use droste_pointer::simplify;

use support::{Directory, jdk};

#[test]
fn examples_load() {
    if !jdk() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/heap");
    let list = |directory: &Path| {
        let mut paths: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        paths
    };
    let directory = Directory::new();
    let mut sources = Vec::new();
    for path in list(&root.join("code")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        directory.write(&name, &fs::read_to_string(&path).unwrap());
        sources.push(name);
    }
    let names: Vec<&str> = sources.iter().map(String::as_str).collect();
    let classes = support::compile(&directory, &names, &["-g"]);
    let mut loaded = BTreeSet::new();
    for path in [root.clone(), root.join("table")]
        .iter()
        .flat_map(|path| list(path))
    {
        if path
            .extension()
            .is_none_or(|extension| extension != "attestor")
        {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let option = |name: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap();
            line.trim().trim_matches('"').to_string()
        };
        let options = Options {
            class: option("--class "),
            method: option("--method "),
        };
        if !loaded.insert((options.class.clone(), options.method.clone())) {
            continue;
        }
        match load(std::slice::from_ref(&classes), &options) {
            Ok(mut result) => {
                assert_eq!(result.warnings, [], "{}", path.display());
                simplify(&mut result.program, &BTreeSet::new());
            }
            Err(error) => panic!("{}: {error}", path.display()),
        }
        for line in text.lines().filter(|line| line.starts_with("--initial ")) {
            let file = line["--initial ".len()..].trim().trim_matches('"');
            assert!(root.join(file).is_file(), "{}: {file}", path.display());
        }
    }
    assert!(loaded.len() >= 24, "{loaded:?}");
}
