//! Programs with threads, up to a number of context switches: section 5.1 of La Torre, Madhusudan and Parlato
//! (PLDI 2009), as text for k switches and n threads.
//!
//! `Reach(u, v, ecs, cs, g1, …, gk, t0, …, tk)` says that with cs switches, the i-th at the shared globals gi, and
//! ti active after it, the active thread can come from the entry u of a procedure, where ecs switches had happened, to v.
//! Differences from the paper:
//!
//! * A thread that is switched back to must have been left at the globals of that switch: the last clause asks for them. (The paper's formula
//!   forgets it; without, a thread could be left before or after what it wrote is seen.)
//! * The clause for returns is split as in section 4.2.
//! * The globals of a `thread` section are kept with the thread, like locals.
//! * With GETAFIX's `init`, what happens before the label `endinit` is computed first and is no context.
//! * No switch happens inside an atomic section, which is one more bit of `Global`.

use std::fmt::Write as _;

use droste_lang::program::{Node, NodeId, Op, ProcId, Program, Threads};

use crate::Relations;
use crate::relations::{self, Question, one_of, or_false};

/// The formula has one clause for each pair of switches; more than so many are not written.
pub const MOST_SWITCHES: u32 = 100;

/// What runs before the threads of GETAFIX's convention do: section 4.2.
const BEFORE: &str = "\
// What happens before the threads start.
mu bool Before(State u, State v) u ~+ v
      (Init(u) & u = v)
    | (exists State x. Before(u, x) & ProgramInt(x, v))
    | (exists State x, State y. Before(x, y) & IntoCall(y, u) & u = v)
    | (exists PC c, PC e, Local l, Global g.
          (exists State x.
              Before(u, x) & ReturnA(x, e, v) & IntoCall1(x, e, l, g) & c = x.pc)
        & (exists State y, State z.
              Before(y, z) & l = y.l & g = y.g & e = z.pc & Exit(z.pc) & ReturnB(z, c, v)));

";

/// The relations of a program with threads and the formula that asks whether a target can be reached with at most
/// `switches` context switches. Refused for programs that start threads while they run.
pub fn concurrent(
    program: &Program,
    question: &Question<'_>,
    switches: u32,
) -> Result<Relations, String> {
    let starts = |op: &Op| matches!(op, Op::StartThread { .. });
    if program.nodes.iter().any(|node| starts(&node.op)) {
        return Err(
            "the calculus engine needs to know all threads beforehand, and this program starts threads while it runs"
                .to_owned(),
        );
    }
    let (threads, last) = match &program.threads {
        Threads::Dynamic => (vec![program.main], None),
        Threads::Init { end_init, threads } => (threads.clone(), Some(*end_init)),
        Threads::Sections(list) => (list.iter().map(|(_, main)| *main).collect(), None),
    };
    if threads.is_empty() {
        return Err("the program has no threads".to_owned());
    }
    let calls = |who: &[ProcId]| {
        let called =
            |node: &&Node| matches!(&node.op, Op::Call { callee, .. } if who.contains(callee));
        let node = program.nodes.iter().find(called)?;
        Some(program.procedure(node.procedure).name.clone())
    };
    if let (Some(_), Some(caller)) = (last, calls(&[program.main])) {
        return Err(format!(
            "the calculus engine does not support calls of `init`, as in `{caller}`"
        ));
    }
    let mut relations = relations::Relations::new(program, question, Some(&threads));
    relations.last = last;
    if relations.fields.atomic.is_some() {
        // At the exit of such a procedure one could not tell whether the thread has ended.
        if let Some(caller) = calls(&threads) {
            return Err(format!(
                "the calculus engine does not support atomic sections if the first procedure of a thread is called, \
                 as in `{caller}`"
            ));
        }
    }
    relations.write();
    let text = Threaded {
        program,
        relations: &relations,
        threads: &threads,
        switches,
        last,
    }
    .text();
    relations.out.push_str(&text);
    Ok(relations.finish())
}

struct Threaded<'a> {
    program: &'a Program,
    relations: &'a relations::Relations<'a>,
    threads: &'a [ProcId],
    switches: u32,
    last: Option<NodeId>,
}

impl Threaded<'_> {
    /// The bits of globals that are shared, or belong to a thread.
    fn bits(&self, of: impl Fn(Option<u32>) -> bool) -> Vec<&str> {
        let fields = &self.relations.fields;
        let globals = self.program.globals.iter().zip(&fields.globals);
        let places = globals.filter(|(v, _)| of(v.thread)).flat_map(|(_, p)| p);
        let mut places: Vec<u32> = places.copied().collect();
        places.sort_unstable();
        let name = |place: &u32| fields.names[*place as usize].as_str();
        places.iter().map(name).collect()
    }

    fn text(&self) -> String {
        let k = self.switches;
        let mut out = String::new();
        let shared = self.bits(|thread| thread.is_none());
        let own = self.bits(|thread| thread.is_some());
        let atomic = self.relations.fields.atomic.is_some();
        let _ = write!(out, "// Threads:");
        for (i, thread) in self.threads.iter().enumerate() {
            let _ = write!(out, " {i} {}", self.program.procedure(*thread).name);
        }
        let _ = writeln!(out, "\nenum Thread {{ 0 .. {} }};", self.threads.len() - 1);
        let _ = writeln!(out, "enum Switches {{ 0 .. {k} }};");
        let _ = write!(out, "class Shared {{");
        for name in &shared {
            let _ = write!(out, " bool {name};");
        }
        let _ = writeln!(
            out,
            "{} }};\n",
            if shared.is_empty() { " bool none;" } else { "" }
        );
        let equal = |names: &[&str]| {
            let parts: Vec<String> = names.iter().map(|n| format!("a.{n} = b.{n}")).collect();
            if parts.is_empty() {
                "true".to_owned()
            } else {
                parts.join(" & ")
            }
        };
        let _ = writeln!(
            out,
            "// The shared globals are these.\nbool Share(Global a, Shared b)\n      {};\n\n\
             // The globals of threads are the same.\nbool Own(Global a, Global b)\n      {};\n",
            equal(&shared),
            equal(&own)
        );
        let ended = self.ended();
        let _ = writeln!(
            out,
            "// The thread may be left here.\nbool Free(State u)\n      {};\n",
            if atomic {
                format!("!u.g.atomic | {ended}")
            } else {
                "true".to_owned()
            }
        );
        self.start(&mut out, atomic);
        match self.last {
            None => out.push_str("// The first thread starts with any globals.\nbool Ready(Global a)\n      true;\n\n"),
            Some(node) => {
                out.push_str(BEFORE);
                let end = self.relations.points.node(node);
                let _ = writeln!(
                    out,
                    "// The globals with which the threads start.\nbool Ready(Global a)\n      \
                     (exists State u, State v, Shared b. Before(u, v) & {} & Share(v.g, b) & Share(a, b));\n",
                    one_of("v.pc", end.into_iter().collect())
                );
            }
        }
        self.reach(&mut out, atomic);
        out
    }

    /// The program counters at which a thread has ended.
    fn ended(&self) -> String {
        let points = &self.relations.points;
        let mut list: Vec<u32> = self.threads.iter().map(|&p| points.exit(p)).collect();
        for (i, node) in self.program.nodes.iter().enumerate() {
            if node.op == Op::EndThread {
                list.extend(points.node(NodeId(i as u32)));
            }
        }
        one_of("u.pc", list)
    }

    /// Where threads start: their own globals with any values, those of others 0.
    fn start(&self, out: &mut String, atomic: bool) {
        let mut clauses = Vec::new();
        for (i, &thread) in self.threads.iter().enumerate() {
            let entry = self.relations.points.entry(self.program, thread);
            let mut text = format!("t = {i} & u.pc = {entry} & EntryState(u)");
            for name in self.bits(|owner| owner.is_some_and(|owner| owner as usize != i)) {
                let _ = write!(text, " & !u.g.{name}");
            }
            if atomic {
                text.push_str(" & !u.g.atomic");
            }
            clauses.push(text);
        }
        let _ = writeln!(
            out,
            "// Where thread t starts.\nbool Start(Thread t, State u)\n      {};\n",
            or_false(&clauses, "\n    | ")
        );
    }

    fn reach(&self, out: &mut String, atomic: bool) {
        let k = self.switches;
        let mut head = String::new();
        let mut rest = String::new();
        for j in 1..=k {
            let _ = write!(head, ", Shared g{j}");
            let _ = write!(rest, ", g{j}");
        }
        for j in 0..=k {
            let _ = write!(head, ", Thread t{j}");
            let _ = write!(rest, ", t{j}");
        }
        let calm = if atomic { " & !v.g.atomic" } else { "" };
        let _ = write!(
            out,
            "mu bool Reach(State u, State v, Switches ecs, Switches cs{head}) u ~+ v\n      \
             // The first context.\n      \
             (cs = 0 & ecs = 0 & u = v & Start(t0, u) & Ready(u.g))\n    \
             // Steps of the active thread.\n    \
             | (exists State x. Reach(u, x, ecs, cs{rest}) & ProgramInt(x, v))\n    \
             | (ecs = cs & u = v\n        \
             & (exists State x, State y, Switches e. Reach(x, y, e, cs{rest}) & IntoCall(y, u)))\n    \
             | (exists PC c, PC e, Local l, Global g, Switches s.\n          \
             (exists State x.\n              \
             Reach(u, x, ecs, s{rest}) & ReturnA(x, e, v) & IntoCall1(x, e, l, g) & c = x.pc)\n        \
             & (exists State y, State z.\n              \
             Reach(y, z, s, cs{rest}) & l = y.l & g = y.g & e = z.pc & Exit(z.pc) & ReturnB(z, c, v)))"
        );
        for j in 1..=k {
            let handed = format!(
                "(exists State x, State y, Switches e.\n              \
                 Reach(x, y, e, {}{rest}) & Free(y) & Share(y.g, g{j}))",
                j - 1
            );
            let others: Vec<String> = (0..j).map(|i| format!("t{j} != t{i}")).collect();
            let _ = write!(
                out,
                "\n    // Switch {j}, to a thread that starts, or goes on.\n    \
                 | (cs = {j} & ecs = {j} & u = v & Start(t{j}, u) & {} & Share(v.g, g{j})\n        & {handed})",
                others.join(" & ")
            );
            let mut back = Vec::new();
            for i in 0..j.saturating_sub(1) {
                let between: Vec<String> = (i + 1..j).map(|m| format!("t{j} != t{m}")).collect();
                back.push(format!(
                    "(t{j} = t{i} & {}\n            & (exists State x. Reach(u, x, ecs, {i}{rest}) & Free(x) & Share(x.g, g{})\n                \
                     & v.pc = x.pc & v.l = x.l & Own(v.g, x.g)))",
                    between.join(" & "),
                    i + 1
                ));
            }
            if !back.is_empty() {
                let _ = write!(
                    out,
                    "\n    | (cs = {j}{calm} & Share(v.g, g{j})\n        & {handed}\n        & ({}))",
                    back.join("\n          | ")
                );
            }
        }
        out.push_str(";\n\n");
        let before = if self.last.is_some() {
            "(exists State u, State v. Before(u, v) & Target(v.pc))\n  | "
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "{before}(exists State u, State v, Switches ecs, Switches cs{head}.\n      \
             Reach(u, v, ecs, cs{rest}) & Target(v.pc));"
        );
    }
}
