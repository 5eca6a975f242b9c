//! Prints a random program: `cargo run -p droste-testkit --example random_program -- SEED [PRESET]`.

use droste_testkit::generate::{Config, program};

fn main() {
    let mut args = std::env::args().skip(1);
    let seed = args.next().and_then(|s| s.parse().ok()).unwrap_or(0);
    let config = match args.next().as_deref() {
        None | Some("tiny") => Config::tiny(),
        Some("boolean") => Config::boolean(),
        Some("liveness") => Config::liveness(),
        Some("wide") => Config::wide(),
        Some("large") => Config::large(),
        Some(other) => {
            eprintln!("no preset `{other}`: tiny, boolean, liveness, wide, large");
            std::process::exit(2);
        }
    };
    print!("{}", droste_lang::printer::print(&program(seed, &config)));
}
