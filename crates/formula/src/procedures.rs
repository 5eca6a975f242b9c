//! Section 4.1 of the paper with one predicate for each procedure, the way GETAFIX writes it.
//!
//! `Summary_3(u, v)` has the summaries of procedure 3 alone, from all its entries. So procedures that are not
//! mutually recursive are solved one after the other, callees first, each once, and a step only looks at the
//! summaries of its own procedure. The clause for returns is split as in section 4.2.
//!
//! What keeps it honest: it is one of the algorithms that are compared with an oracle on random
//! programs (`tests/oracle.rs`).

use std::fmt::Write as _;

use crate::Relations;

/// A procedure, for those who write formulas about one after the other.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Its number in the names of relations, such as `ProgramInt_3`.
    pub number: u32,
    /// The program counter of its entry.
    pub entry: u32,
    /// The numbers of the procedures it calls.
    pub callees: Vec<u32>,
    /// Whether a procedure calls it. If not, it is `main`, and its entries are not remembered.
    pub is_called: bool,
}

/// The formulas, and the query.
pub(crate) fn text(relations: &Relations) -> String {
    let mut out = String::from(
        "// Section 4.1: all summaries, from all entries, procedure by procedure. The clause for returns\n\
         // is split as in section 4.2.\n\n",
    );
    for Procedure { number, .. } in &relations.procedures {
        let _ = writeln!(out, "mu bool Summary_{number}(State u, State v) u ~+ v;");
    }
    let mut entered = String::new();
    let mut query = Vec::new();
    for procedure in &relations.procedures {
        let (number, entry) = (procedure.number, procedure.entry);
        let (base, entered_by) = if procedure.is_called {
            ("EntryState(u) & u = v", "Entered(x) & ")
        } else {
            ("Begin(u, v)", "")
        };
        let _ = write!(
            out,
            "\nmu bool Summary_{number}(State u, State v) u ~+ v\n      \
             (u.pc = {entry} & {base})\n    \
             | (exists State x. Summary_{number}(u, x) & ProgramInt_{number}(x, v))"
        );
        for callee in &procedure.callees {
            let _ = write!(
                out,
                "\n    | (exists PC c, PC e, Local l, Global g.\n          \
                 (exists State x.\n              \
                 Summary_{number}(u, x) & ReturnA(x, e, v) & IntoCall1(x, e, l, g) & c = x.pc)\n        \
                 & (exists State y, State z.\n              \
                 Summary_{callee}(y, z) & l = y.l & g = y.g & e = z.pc & Exit(z.pc) & ReturnB(z, c, v)))"
            );
        }
        out.push_str(";\n");
        if !procedure.callees.is_empty() {
            let _ = write!(
                entered,
                "\n    | (exists State x, State y. {entered_by}Summary_{number}(x, y) & IntoCall(y, u))"
            );
        }
        let entered = entered_by.replace('x', "u");
        query.push(format!(
            "(exists State u, State v. {entered}Summary_{number}(u, v) & Target(v.pc))"
        ));
    }
    let _ = writeln!(
        out,
        "\n// Entries that can be reached.\nmu bool Entered(State u)\n      Init(u){entered};\n\n{};",
        query.join("\n  | ")
    );
    out
}
