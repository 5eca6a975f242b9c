//! Clients ask, a token goes round, and whoever has it is served: a question about infinite runs
//! over many variables.
//!
//! Each client has a request, each place of the ring a bit of the token, and a client may ask at
//! any time. So *n* clients have n · 2ⁿ states at every statement. That is out of reach for a
//! search that looks at them one by one, and a few thousand nodes as diagrams. A request of the
//! first client is granted, since the token comes round. In the program with the fault the first
//! client is passed over while the second one asks, which can be for ever.

use std::fmt::Write;

/// Accepts the runs in which the first client asks and is never served.
pub const STARVED: &str = "\
monitor starved {
  initial state any { when T goto any; when r0 & in(serve) goto waiting; }
  repeating state waiting { when !granted goto waiting; otherwise block; }
}
";

/// The same as a formula that should hold.
pub const RESPONSE: &str = "G (r0 && {in(serve)} -> F granted)";

/// The program with this number of clients.
pub fn program(clients: usize, fault: bool) -> String {
    let list = |item: &dyn Fn(usize) -> String| -> String {
        (0..clients).map(item).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "// An arbiter with {clients} clients.\ndecl {};\ndecl {};\ndecl granted;\n",
        list(&|i| format!("r{i}")),
        list(&|i| format!("t{i}"))
    );
    // Writing to a string cannot fail.
    let mut line = |line: String| writeln!(text, "{line}").unwrap_or_default();
    line("\nvoid ask() begin".to_owned());
    for i in 0..clients {
        line(format!("  if * then r{i} := T; fi"));
    }
    line("end\n\nvoid serve() begin".to_owned());
    for i in 0..clients {
        let condition = match i {
            0 if fault => "t0 & r0 & !r1".to_owned(),
            _ => format!("t{i} & r{i}"),
        };
        let grant = if i == 0 {
            " granted := T; granted := F;"
        } else {
            ""
        };
        line(format!("  if {condition} then r{i} := F;{grant} fi"));
    }
    line("end\n\nvoid pass() begin".to_owned());
    line(format!(
        "  {} := {};",
        list(&|i| format!("t{i}")),
        list(&|i| format!("t{}", (i + clients - 1) % clients))
    ));
    line("end\n\nvoid main() begin".to_owned());
    line(format!(
        "  {} := {};",
        list(&|i| format!("r{i}")),
        list(&|_| "F".to_owned())
    ));
    line(format!(
        "  {} := {};",
        list(&|i| format!("t{i}")),
        list(&|i| (if i == 0 { "T" } else { "F" }).to_owned())
    ));
    line("  granted := F;\n  while T do ask(); serve(); pass(); od\nend".to_owned());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::verdict;

    #[test]
    fn the_first_client_is_served_unless_it_is_passed_over() {
        for clients in 2..5 {
            let ask = Ask::Monitor(STARVED);
            assert_eq!(verdict(&program(clients, false), &ask), "holds");
            assert_eq!(verdict(&program(clients, true), &ask), "violated");
        }
    }
}
