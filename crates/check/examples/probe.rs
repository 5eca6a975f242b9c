use droste_check::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let src = droste_lang::source::SourceFile::new("x", text);
    let p = droste_lang::parser::parse(&src, droste_lang::lexer::Dialect::Union);
    let (prog, d) = droste_lang::lower::lower(&p.ast);
    eprintln!("{}", droste_lang::diagnostics::render(&d, &src, false));
    let prog = prog.unwrap();
    let prop = if a[2] == "default" { Property::Default } else if a[2] == "repeat" { Property::Repeat(vec![a[3].clone()]) } else { Property::Reach(vec![a[3].clone()]) };
    let o = Options { eager: a.contains(&"eager".to_string()), passes: if a.contains(&"none".to_string()) { Passes::none() } else { Passes::default() }, ..Default::default() };
    match check(&prog, &prop, &o) { Ok(r) => println!("{:?} {:?}", r.verdict, r.stats), Err(e) => println!("{e}") }
}
