//! The formula for threads that make no calls: whole configurations, one context after the other.
//!
//! A configuration is `PC q0, Local k0, PC q1, Local k1, …, Global g`: where each thread is, with
//! which locals, and the globals. `Reach3` has those of the fourth context. With a bound on rounds
//! context c is one of thread c mod n, and may be empty; otherwise there is one relation for each
//! thread, `Reach3_0`, `Reach3_1`, …. `Parked3` has the configurations in which a thread may have been
//! left, after up to four contexts. A context begins with these, but for those in which its thread has
//! been active before: so every configuration is looked at once for each thread. Nothing else has to
//! be remembered of the contexts before, and there are no tuples of globals.
//!
//! A thread that is started takes the next of the *slots*, which come after the threads that exist
//! from the start. Until then the slot is `Idle`. So slots are in the order of the starts, which is the
//! order of turns in a round. If more threads may be started than can become active, a start may also
//! do nothing: the thread is one of those that never become active.
//!
//! Each thread has BDD variables of its own, one thread behind the other, and globals come last. At
//! a switch nothing is renamed. The last thread comes first: its contexts are the largest, and steps
//! cost less if the program counter is at the top.

use std::fmt::Write as _;

use droste_program::quiet::{Accesses, interruptible};
use droste_program::{NodeId, ProcId};

use super::Threaded;
use super::slots::Slots;
use crate::relations::{one_of, or_false};

/// The threads of a configuration, by number.
struct Members(Vec<usize>);

impl Members {
    /// The parameters of a relation, without the globals.
    fn parameters(&self) -> String {
        let part = |i: &usize| format!("PC q{i}, Local k{i}, ");
        self.0.iter().map(part).collect()
    }

    /// The wishes for the order of variables: one thread behind the other, the last one first.
    fn wishes(&self) -> String {
        let mut wishes: Vec<String> = self.0.iter().map(|i| format!("k{i} < g")).collect();
        let mut last: Option<usize> = None;
        for &i in self.0.iter().rev() {
            wishes.extend(last.map(|last| format!("k{last} < q{i}")));
            wishes.push(format!("q{i} < k{i}"));
            last = Some(i);
        }
        wishes.join(", ")
    }

    /// The arguments of a relation: globals, and for some threads other names than `q` and `k`.
    fn arguments(&self, globals: &str, others: &[(usize, &str)]) -> String {
        let mut text = "(".to_owned();
        for i in &self.0 {
            let _ = match others.iter().find(|(other, _)| other == i) {
                Some((_, names)) => write!(text, "{names}, "),
                None => write!(text, "q{i}, k{i}, "),
            };
        }
        text + globals + ")"
    }
}

impl Threaded<'_> {
    /// The relations for all contexts, and the query.
    pub(super) fn flat(&self, slots: &Slots, out: &mut String) {
        let threads = slots.threads();
        let members = Members((0..threads).collect());
        let (parameters, wishes) = (members.parameters(), members.wishes());
        let head = format!("({parameters}Global g)");
        let all = members.arguments("g", &[]);
        let mut query: Vec<String> = Vec::new();
        Self::unions(slots, out);
        if slots.init.is_some() {
            query.push(self.flat_before(slots, out));
        } else if self.last.is_some() {
            query.push("(exists State u, State v. Before(u, v) & Target(v.pc))".to_owned());
        }
        self.begin(slots, out, &head, &wishes);
        let mut parked = format!("Begin{all}");
        // The contexts of each thread so far.
        let mut before: Vec<Vec<String>> = vec![Vec::new(); threads];
        for context in 0..=self.switches {
            let turn = context as usize % threads;
            let active = if self.in_turn {
                turn..turn + 1
            } else if context == 0 && slots.init.is_none() {
                0..slots.first()
            } else {
                0..threads
            };
            let mut left = vec![parked.clone()];
            for thread in active {
                let name = if self.in_turn {
                    format!("Reach{context}")
                } else {
                    format!("Reach{context}_{thread}")
                };
                let mut begins = vec![parked.clone()];
                begins.extend(before[thread].iter().map(|name| format!("!{name}{all}")));
                if thread >= slots.first() {
                    begins.push(self.is_begun(thread));
                }
                let _ = writeln!(
                    out,
                    "mu bool {name}{head} {wishes}\n      ({}){};\n",
                    begins.join(" & "),
                    self.steps(slots, &members, &name, thread, ""),
                );
                left.extend(self.parked(&members, &name, thread));
                query.push(format!(
                    "(exists {parameters}Global g. {name}{all} & Target(q{thread}))"
                ));
                before[thread].push(name);
            }
            if context < self.switches {
                let _ = writeln!(
                    out,
                    "bool Parked{context}{head} {wishes}\n      {};\n",
                    left.join("\n    | ")
                );
                parked = format!("Parked{context}{all}");
            }
        }
        let _ = writeln!(out, "{};", query.join("\n  | "));
    }

    /// Where all threads begin.
    fn begin(&self, slots: &Slots, out: &mut String, head: &str, wishes: &str) {
        let mut begins: Vec<String> = Vec::new();
        for (i, thread) in self.threads.iter().enumerate() {
            begins.push(format!("EntryState_{}(q{i}, k{i}, g)", thread.0));
        }
        begins.extend(self.atomic.then(|| "!g.atomic".to_owned()));
        let started = slots.first()..slots.threads();
        if slots.init.is_some() {
            let started = Members(started.collect());
            begins.push(format!("Ready{}", started.arguments("g", &[])));
        } else {
            begins.extend(started.map(|i| format!("Idle(q{i}, k{i})")));
            begins.push("Ready(g)".to_owned());
        }
        let _ = writeln!(
            out,
            "// Where all threads begin.\nbool Begin{head} {wishes}\n      {};\n",
            begins.join(" & ")
        );
    }

    /// What `init` does, with the threads that it starts, and how it leaves them; whether it meets a
    /// target.
    fn flat_before(&self, slots: &Slots, out: &mut String) -> String {
        let init = slots.threads();
        let started: Vec<usize> = (slots.first()..init).collect();
        let end = self.last.and_then(|node| self.relations.points.node(node));
        let mut members = Members(started);
        let ready = format!("({}Global g)", members.parameters());
        let wishes = members.wishes();
        let mut begins: Vec<String> = Vec::new();
        begins.extend(
            slots
                .init
                .map(|p| format!("EntryState_{}(q{init}, k{init}, g)", p.0)),
        );
        begins.extend(members.0.iter().map(|i| format!("Idle(q{i}, k{i})")));
        begins.extend(self.atomic.then(|| "!g.atomic".to_owned()));
        members.0.push(init);
        let going = end.map_or(String::new(), |end| format!(" & p != {end}"));
        let _ = writeln!(
            out,
            "// What happens before the threads start.\n\
             mu bool Before({}Global g) {}\n      ({}){};\n",
            members.parameters(),
            members.wishes(),
            begins.join(" & "),
            self.steps(slots, &members, "Before", init, &going),
        );
        let at_end = end.map_or("false".to_owned(), |end| format!("q{init} = {end}"));
        let _ = writeln!(
            out,
            "// The globals with which the threads start, and those that have been started.\n\
             bool Ready{ready} {wishes}\n      \
             (exists PC q{init}, Local k{init}, Global h, Shared b.\n          \
             Before{} & {at_end} & Share(h, b) & Share(g, b));\n",
            members.arguments("h", &[])
        );
        format!(
            "(exists {}Global g. Before{} & Target(q{init}))",
            members.parameters(),
            members.arguments("g", &[])
        )
    }

    /// The clauses for the steps of the active thread, as long as `going` is true.
    fn steps(
        &self,
        slots: &Slots,
        members: &Members,
        name: &str,
        active: usize,
        going: &str,
    ) -> String {
        let mut text = format!(
            "\n    | (exists PC p, Local l, Global h.\n          {name}{}{going} & {})",
            members.arguments("h", &[(active, "p, l")]),
            Self::applied_steps(slots, "ProgramInt", active, "")
        );
        for slot in (0..slots.count).filter(|&slot| slots.may_start(active, slot)) {
            let new = slots.first() + slot;
            // The slots are taken one after the other.
            let next = if slot > 0 && new - 1 != active {
                format!(" & {}", self.is_begun(new - 1))
            } else {
                String::new()
            };
            let _ = write!(
                text,
                "\n    | (exists PC p, Local l, Global h.\n          \
                 (exists PC x, Local y. {name}{} & Idle(x, y)){going}{next}\n          & {})",
                members.arguments("h", &[(active, "p, l"), (new, "x, y")]),
                Self::applied_steps(slots, "StartInt", active, &format!(", q{new}, k{new}")),
            );
        }
        text
    }

    /// The relation of a thread's steps, or of those that start threads, applied.
    fn applied_steps(slots: &Slots, relation: &str, active: usize, more: &str) -> String {
        let name = match &slots.programs[active][..] {
            [only] => format!("{relation}_{}", only.0),
            _ => format!("{relation}_slot{active}"),
        };
        format!("{name}(p, l, h, q{active}, k{active}, g{more})")
    }

    /// The steps of threads in slots that may hold more than one procedure.
    fn unions(slots: &Slots, out: &mut String) {
        let head = "PC p, Local l, Global g, PC q, Local m, Global h";
        let arguments = "p, l, g, q, m, h";
        let wishes = "p ~+ q, l ~+ m, g ~+ h";
        for (i, programs) in slots.programs.iter().enumerate() {
            if programs.len() == 1 {
                continue;
            }
            let all: Vec<String> = programs
                .iter()
                .map(|p| format!("ProgramInt_{}({arguments})", p.0))
                .collect();
            let _ = writeln!(
                out,
                "// Steps of thread {i}.\nbool ProgramInt_slot{i}({head}) {wishes}\n      {};\n",
                or_false(&all, "\n    | ")
            );
            let starts = |p: &&ProcId| (0..slots.count).any(|s| slots.fills.contains(&(**p, s)));
            let all: Vec<String> = programs
                .iter()
                .filter(starts)
                .map(|p| format!("StartInt_{}({arguments}, b, n)", p.0))
                .collect();
            if !all.is_empty() {
                let _ = writeln!(
                    out,
                    "bool StartInt_slot{i}({head}, PC b, Local n) {wishes}\n      {};\n",
                    all.join("\n    | ")
                );
            }
        }
    }

    /// That the thread in a slot has been started.
    fn is_begun(&self, thread: usize) -> String {
        let idle = self.relations.idle.unwrap_or(0);
        format!("q{thread} != {idle}")
    }

    /// Where a thread may be left at the end of a context. Its end ends an atomic section.
    fn parked(&self, members: &Members, name: &str, thread: usize) -> Vec<String> {
        let here = members.arguments("g", &[]);
        let mut ways = vec![format!("({name}{here} & Free(q{thread}, g))")];
        if self.atomic {
            ways.push(format!(
                "(exists Global h. {name}{} & h.atomic & Ended(q{thread}) & Pass(h, g))",
                members.arguments("h", &[])
            ));
        }
        ways
    }

    /// Where threads may be left, and how globals are passed on.
    pub(super) fn flat_control(&self, slots: &Slots, out: &mut String) {
        let fields = &self.relations.fields;
        let mut passed: Vec<String> = Vec::new();
        for (i, name) in fields.names.iter().enumerate() {
            if fields.atomic != Some(i as u32) {
                passed.push(format!("a.{name} = b.{name}"));
            }
        }
        let calm = if self.atomic { "!g.atomic & " } else { "" };
        let _ = writeln!(
            out,
            "// The thread has ended.\nbool Ended(PC p)\n      {};\n\n\
             // The thread may be left here.\nbool Free(PC p, Global g)\n      \
             {calm}({} | Ended(p));\n",
            self.ended("p"),
            self.noticed(slots, "p"),
        );
        if self.atomic {
            passed.push("!b.atomic".to_owned());
            let _ = writeln!(
                out,
                "// An atomic section ends with its thread.\nbool Pass(Global a, Global b)\n      {};\n",
                passed.join(" & ")
            );
        }
        if let Some(idle) = self.relations.idle {
            let mut blank = String::new();
            for slot in 0..fields.slots {
                let _ = write!(blank, " & !l.l{slot}");
            }
            let _ = writeln!(
                out,
                "// The thread has not been started.\nbool Idle(PC p, Local l)\n      p = {idle}{blank};\n"
            );
        }
    }

    /// That a thread has just begun, or made a step that others can notice
    /// ([`droste_program::quiet`]): a thread is at such a place whenever it has been left.
    fn noticed(&self, slots: &Slots, pc: &str) -> String {
        let programs = &slots.programs[..slots.threads()];
        let entry = |p: &ProcId| self.program.procedure(*p).entry;
        let roots: Vec<Vec<NodeId>> = programs
            .iter()
            .map(|list| list.iter().map(entry).collect())
            .collect();
        let accesses = Accesses::new(self.program, &roots);
        let points = &self.relations.points;
        let mut list: Vec<u32> = Vec::new();
        for (thread, programs) in programs.iter().enumerate() {
            let places = interruptible(self.program, &accesses, thread);
            let nodes = (0..).map(NodeId).zip(&self.program.nodes).zip(places);
            let own =
                nodes.filter(|((_, node), place)| *place && programs.contains(&node.procedure));
            // Nodes that do nothing have no program counter.
            list.extend(own.filter_map(|((node, _), _)| points.node(points.forward(node))));
            list.extend(programs.iter().map(|&p| points.entry(self.program, p)));
        }
        one_of(pc, list)
    }
}
