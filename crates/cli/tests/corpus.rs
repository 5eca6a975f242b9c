//! Every line `// check: …` of the corpus, through the command line, in every configuration that
//! must not matter.

use std::process::Command;

use droste_testkit::corpus::{Expected, directory, load};

#[test]
fn the_corpus_gets_the_verdicts_it_says() {
    let directory = directory();
    let root = directory.parent().expect("corpus/ has a parent");
    let cases = load(&directory).expect("the corpus can be read");
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in &cases {
        let variants: [&[&str]; 5] = [
            &[],
            &["--order", "bfs"],
            &["--no-passes"],
            &["--skip-pass", "dead"],
            &["--eager"],
        ];
        for extra in variants {
            if extra
                .first()
                .is_some_and(|flag| case.args.iter().any(|arg| arg == flag))
            {
                continue;
            }
            count += 1;
            let output = Command::new(env!("CARGO_BIN_EXE_droste"))
                .current_dir(root)
                .arg("check")
                .arg(&case.file)
                .args(&case.args)
                .args(extra)
                .arg("-q")
                .output()
                .expect("droste runs");
            let expected = match case.expected {
                Expected::Holds => 0,
                Expected::Violated => 1,
            };
            if output.status.code() != Some(expected) {
                wrong.push(format!(
                    "{}:{}: {:?} {extra:?}: exit {:?}, expected {expected}\n{}",
                    case.file.display(),
                    case.line,
                    case.args,
                    output.status.code(),
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 500, "only {count} cases");
}
