//! Prints a Java method, and all that can be reached from it, as a pointer program:
//!
//! ```text
//! cargo run -p droste-java --example print -- PATH CLASS METHOD [VARIABLE...]
//! ```
//!
//! It is printed as it is analysed: simplified, but for the variables that are named.

use droste_java::{Options, load};
use droste_pointer::simplify;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, class, method, keep @ ..] = &arguments[..] else {
        eprintln!("usage: print PATH CLASS METHOD [VARIABLE...]");
        std::process::exit(2);
    };
    let options = Options {
        class: class.clone(),
        method: method.clone(),
    };
    match load(&[path.into()], &options) {
        Ok(mut loaded) => {
            simplify(&mut loaded.program, &keep.iter().cloned().collect());
            print!("{}", loaded.program);
            for warning in &loaded.warnings {
                eprintln!("warning: {warning}");
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(2);
        }
    }
}
