//! The size of automata: for the specification patterns, and for random formulas.

mod common;

use droste_base::Limits;
use droste_lang::source::SourceFile;
use droste_ltl::{Atoms, Formulas, Options, parse_properties, translate};
use droste_testkit::random::Random;

#[test]
fn sizes() {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let source = SourceFile::new("dwyer.ltl", include_str!("dwyer.ltl"));
    let properties = parse_properties(&source, &mut formulas, &mut atoms).expect("it is right");
    let limits = Limits::default();
    let mut total = [0; 6];
    for property in &properties {
        let mut row = Vec::new();
        for negated in [false, true] {
            let formula = if negated {
                formulas.not(property.formula)
            } else {
                property.formula
            };
            let a = translate(
                &mut formulas,
                formula,
                atoms.len(),
                &Options::default(),
                &limits,
            )
            .unwrap();
            row.extend([a.state_count(), a.edges().len(), a.mark_count() as usize]);
        }
        for (sum, &n) in total.iter_mut().zip(&row) {
            *sum += n;
        }
        println!("{:34} {row:?}", property.name);
    }
    println!("total {total:?}");
    let mut total = [0; 2];
    let mut random = Random::new(1);
    for _ in 0..1000 {
        let mut formulas = Formulas::new();
        let formula = common::formula(&mut random, &mut formulas, 12, 4);
        let a = translate(&mut formulas, formula, 4, &Options::default(), &limits).unwrap();
        total[0] += a.state_count();
        total[1] += a.edges().len();
    }
    println!("random {total:?}");
}
