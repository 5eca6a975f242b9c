//! scratch
use droste_formula::*;
use droste_lang::{lexer::Dialect, lower::lower, parser, source::SourceFile};
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let source = SourceFile::new(&*path, &*text);
    let parsed = parser::parse(&source, Dialect::Union);
    let program = lower(&parsed.ast).0.unwrap();
    let targets: Vec<_> = (0..program.nodes.len() as u32)
        .map(droste_lang::program::NodeId)
        .filter(|&n| program.node(n).labels.iter().any(|l| &**l == "ERROR"))
        .collect();
    let cleaned = droste_passes::clean(
        &program,
        &droste_passes::Query {
            targets: &targets,
            violations: true,
            propositions: &[],
            every_position: false,
        },
        &droste_passes::Config::default(),
    );
    let q = Question {
        targets: &targets,
        violations: true,
        live: &|n, v| cleaned.live.is_live(n, v),
    };
    println!(
        "{}{}",
        relations(&cleaned.program, &q).text,
        Algorithm::Ef.text()
    );
}
