//! Programs with threads, up to a number of context switches or of rounds: section 5.1 of La Torre,
//! Madhusudan and Parlato (PLDI 2009), as text for k switches and n threads.
//!
//! `Reach(u, v, ecs, cs, g1, …, gk, t0, …, tk)` says that with cs switches, the i-th at the shared
//! globals gi, and ti active after it, the active thread can come from the entry u of a procedure,
//! where ecs switches had happened, to v. Differences from the paper:
//!
//! * A thread that is switched back to must have been left with the globals of the switch away from it;
//!   the last clause asks for this. (The paper's formula does not. Without it, a thread could go on from a
//!   state other than the one in which it was left.)
//! * The clause for returns is split as in section 4.2.
//! * The globals of a `thread` section are kept with the thread, like locals, unless the program
//!   starts threads, which share them.
//! * With GETAFIX's `init`, what happens before the label `endinit` is computed first and is no
//!   context.
//! * No switch happens inside an atomic section, which is one more bit of `Global`.
//! * Threads that are started while the program runs are numbered, after the others, in the order
//!   of their starts, as far as they ever become active. Their number so far is part of `Global`.
//!   What the j-th of them begins with, a place pj and locals fj, is a further argument of *Reach*
//!   that never changes. At a start, either the new thread is never active, or the frame at the
//!   start is the j-th. No more threads become active than there are contexts.
//! * Such a thread begins in the middle of a procedure that may be called, too. So *Reach* has a
//!   bit `top`: this is the frame in which the thread began.
//! * With a bound on rounds, context c is one of thread c mod n, and may be empty; there are no ti.
//!
//! If the calls of threads can be replaced by what is called (`inline`), and threads that are started
//! get few bits of locals, the formula is another one, about whole configurations: see `flat`.
//!
//! What keeps it honest: on random programs of all three conventions, the answers are compared with those
//! of the explicit engine (`check/tests/calculus_threads.rs`).

mod flat;
mod reach;
mod slots;

use std::fmt::Write as _;

use droste_blast::bits;
use droste_program::concurrent::most_started;
use droste_program::liveness::LiveLocals;
use droste_program::schedule::Bound;
use droste_program::{Node, NodeId, Op, ProcId, Program, Threads};

use crate::Relations;
use crate::inline::{Inlined, Start, inlined};
use crate::relations::{self, Flat, Reachability, one_of, or_false};
use slots::Slots;

/// The most switches for which a formula is written: it has one clause for each pair of switches.
pub const MOST_SWITCHES: u32 = 100;

/// If a thread that is started gets more bits of locals than this, there are tuples. In a diagram of
/// configurations the bits of one thread come after those of another. So one that says that two
/// threads have the same values of k bits has 2^k nodes.
const MOST_COPIED: usize = 8;

/// The relations of a program with threads and the formula that asks whether a target can be
/// reached within the bound.
pub fn concurrent(
    program: &Program,
    question: &Reachability<'_>,
    bound: Bound,
) -> Result<Relations, String> {
    let size = Size::new(program, bound)?;
    let Some(flat) = inlined(program, question.targets) else {
        return Ok(formula(program, question, size, None));
    };
    let is_target = |node: &NodeId| question.targets.contains(node);
    let copies = (0..).map(NodeId).zip(&flat.origin);
    let targets: Vec<NodeId> = copies
        .filter(|(_, origin)| is_target(origin))
        .map(|(node, _)| node)
        .collect();
    let copied = |node: NodeId| flat.starts.get(&node).map(|start| &start.copied[..]);
    let live = LiveLocals::copying(&flat.program, &copied);
    if flat
        .starts
        .values()
        .any(|start| frame_bits(&flat, &live, start) > MOST_COPIED)
    {
        return Ok(formula(program, question, size, None));
    }
    let question = Reachability {
        targets: &targets,
        violations: question.violations,
        live: &live,
    };
    Ok(formula(&flat.program, &question, size, Some(&flat)))
}

/// How many bits of locals a new thread gets that it may read.
fn frame_bits(flat: &Inlined, live: &LiveLocals, start: &Start) -> usize {
    let procedure = flat.program.procedure(start.procedure);
    let locals = (0..).zip(&procedure.locals).take(start.copied.len());
    let read = locals.filter(|(i, _)| live.at(procedure.entry, *i));
    read.map(|(_, local)| bits(local.ty)).sum()
}

fn formula(
    program: &Program,
    question: &Reachability<'_>,
    size: Size,
    flat: Option<&Inlined>,
) -> Relations {
    let (threads, last) = match &program.threads {
        Threads::Dynamic => (vec![program.main], None),
        Threads::Init { end_init, threads } => (threads.clone(), Some(*end_init)),
        Threads::Sections(list) => (list.iter().map(|(_, main)| *main).collect(), None),
    };
    let slots = flat.map(|flat| Slots::new(flat, &threads, last, size));
    let counted = if flat.is_some() { 0 } else { size.slots };
    let mut roots = threads.clone();
    roots.extend(flat.iter().flat_map(|flat| &flat.started));
    let starts = flat.map(|flat| Flat {
        starts: &flat.starts,
        forgets: size.forgets,
    });
    let mut relations =
        relations::Relations::new(program, question, Some((&roots, counted)), starts);
    let called =
        |node: &Node| matches!(&node.op, Op::Call { callee, .. } if threads.contains(callee));
    // At the exit of a procedure one has to know whether the thread has ended.
    let ambiguous = relations.fields.atomic.is_some() && program.nodes.iter().any(called);
    relations.write();
    let text = Threaded {
        program,
        relations: &relations,
        threads: &threads,
        slots: counted,
        switches: size.switches,
        in_turn: size.in_turn,
        atomic: relations.fields.atomic.is_some(),
        top: counted > 0 || ambiguous,
        last,
        flat: slots.as_ref(),
    }
    .text();
    relations.out.push_str(&text);
    let configurations = slots.map_or(1, |slots| slots.programs.len() as u32);
    let relations = relations.finish();
    crate::Relations {
        gradual: flat.is_some() && !size.forgets,
        bits: relations.bits.saturating_mul(configurations),
        ..relations
    }
}

/// How large a formula has to be.
#[derive(Clone, Copy)]
struct Size {
    /// How many switches there are at most.
    switches: u32,
    /// How many threads that are started become active at most.
    slots: u32,
    /// Whether more may be started.
    forgets: bool,
    /// Whether the threads take turns.
    in_turn: bool,
}

impl Size {
    fn new(program: &Program, bound: Bound) -> Result<Self, String> {
        let declared = match &program.threads {
            Threads::Dynamic => 1,
            Threads::Init { threads, .. } => threads.len(),
            Threads::Sections(list) => list.len(),
        };
        if declared == 0 {
            return Err("the program has no threads".to_owned());
        }
        let started = most_started(program);
        let (switches, slots) = match bound {
            Bound::Switches(most) => {
                // After `init`, the first thread may be one that `init` has started.
                let extra = usize::from(matches!(program.threads, Threads::Init { .. }));
                (most, most.saturating_add(extra).min(started))
            }
            Bound::Rounds(most) => {
                let all = declared.saturating_add(started);
                (all.saturating_mul(most).saturating_sub(1), started)
            }
        };
        let fits = |number: usize| u32::try_from(number).ok().filter(|&n| n <= MOST_SWITCHES);
        match (fits(switches), fits(slots.saturating_sub(1))) {
            (Some(switches), Some(_)) => Ok(Size {
                switches,
                slots: slots as u32,
                forgets: slots < started,
                in_turn: matches!(bound, Bound::Rounds(_)),
            }),
            _ => Err(match bound {
                Bound::Switches(_) => {
                    format!("the calculus engine looks at {MOST_SWITCHES} switches at most")
                }
                Bound::Rounds(_) => format!(
                    "the calculus engine looks at {MOST_SWITCHES} switches at most, and so many rounds of all threads \
                     have more: ask for fewer rounds"
                ),
            }),
        }
    }
}

#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
struct Threaded<'a> {
    program: &'a Program,
    relations: &'a relations::Relations<'a>,
    /// The threads that exist from the start.
    threads: &'a [ProcId],
    /// How many more may be started and become active, if there is a counter for them.
    slots: u32,
    switches: u32,
    /// Whether the threads take turns.
    in_turn: bool,
    /// Whether there are atomic sections.
    atomic: bool,
    /// Whether `Reach` says which frames are outermost.
    top: bool,
    /// Where `init` hands over.
    last: Option<NodeId>,
    /// If threads make no calls: those that are started.
    flat: Option<&'a Slots>,
}

impl Threaded<'_> {
    /// Whether globals of `thread` sections belong to one thread.
    fn owned(&self) -> bool {
        let starts = |node: &Node| matches!(node.op, Op::StartThread { .. });
        !self.program.nodes.iter().any(starts)
    }

    /// The bits of globals that are shared, or belong to a thread.
    fn bits(&self, of: impl Fn(Option<u32>) -> bool) -> Vec<&str> {
        let fields = &self.relations.fields;
        let owned = self.owned();
        let globals = self.program.globals.iter().zip(&fields.globals);
        let globals = globals.filter(|(v, _)| of(v.thread.filter(|_| owned)));
        let mut places: Vec<u32> = globals.flat_map(|(_, p)| p).copied().collect();
        if of(None) {
            places.extend(&fields.started);
        }
        places.sort_unstable();
        let name = |place: &u32| fields.names[*place as usize].as_str();
        places.iter().map(name).collect()
    }

    /// The frames of started threads, as parameters and as arguments.
    fn frames(&self) -> (String, String) {
        let (mut head, mut rest) = (String::new(), String::new());
        for j in 1..=self.slots {
            let _ = write!(head, ", Beginning p{j}, Local f{j}");
            let _ = write!(rest, ", p{j}, f{j}");
        }
        (head, rest)
    }

    /// That `number` threads have been started.
    fn count(&self, globals: &str, number: u32) -> String {
        let places = self.relations.fields.started.iter().enumerate();
        let bits = places.map(|(k, &place)| {
            let not = if number >> k & 1 == 0 { "!" } else { "" };
            format!(
                "{not}{globals}.{}",
                self.relations.fields.names[place as usize]
            )
        });
        bits.collect::<Vec<String>>().join(" & ")
    }

    /// That started thread number `j`, from 1, has been started.
    fn begun(&self, globals: &str, j: u32) -> String {
        let counts = (j..=self.slots).map(|number| self.count(globals, number));
        format!("({})", counts.collect::<Vec<String>>().join(" | "))
    }

    fn text(&self) -> String {
        let k = self.switches;
        let mut out = String::new();
        let shared = self.bits(|thread| thread.is_none());
        let own = self.bits(|thread| thread.is_some());
        let _ = write!(out, "// Threads:");
        for (i, thread) in self.threads.iter().enumerate() {
            let _ = write!(out, " {i} {}", self.program.procedure(*thread).name);
        }
        let started = self.flat.map_or(self.slots, |slots| slots.count as u32);
        if started > 0 {
            let _ = write!(out, ", and up to {started} that are started");
        }
        let last = self.threads.len() - 1 + started as usize;
        let _ = writeln!(out, "\nenum Thread {{ 0 .. {last} }};");
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
        if let Some(slots) = self.flat {
            self.flat_control(slots, &mut out);
        } else {
            let _ = writeln!(
                out,
                "// The thread may be left here.\nbool Free(State u{})\n      {};\n",
                if self.top { ", bool top" } else { "" },
                self.free()
            );
            self.start(&mut out);
        }
        self.starts(&mut out);
        if self.flat.is_none_or(|slots| slots.init.is_none()) {
            self.ready(&mut out);
        }
        match self.flat {
            Some(slots) => self.flat(slots, &mut out),
            None => self.reach(&mut out),
        }
        out
    }

    /// That a thread may be left.
    fn free(&self) -> String {
        if self.atomic {
            format!("!u.g.atomic | {}", self.ended("u.pc"))
        } else {
            "true".to_owned()
        }
    }

    /// That a thread has ended.
    fn ended(&self, pc: &str) -> String {
        let points = &self.relations.points;
        let mut list: Vec<u32> = Vec::new();
        if !self.top {
            list.extend(self.threads.iter().map(|&p| points.exit(p)));
            let started = self.flat.iter().flat_map(|slots| &slots.started);
            list.extend(started.map(|&p| points.exit(p)));
        }
        for (i, node) in self.program.nodes.iter().enumerate() {
            if node.op == Op::EndThread {
                list.extend(points.node(NodeId(i as u32)));
            }
        }
        let exit = if self.top { "top & Exit(u.pc) | " } else { "" };
        format!("{exit}{}", one_of(pc, list))
    }

    /// Where threads start: their own globals with any values, those of others 0.
    fn start(&self, out: &mut String) {
        let calm = if self.atomic { " & !u.g.atomic" } else { "" };
        let mut clauses = Vec::new();
        for (i, &thread) in self.threads.iter().enumerate() {
            let entry = self.relations.points.entry(self.program, thread);
            let mut text = format!("t = {i} & u.pc = {entry} & EntryState(u){calm}");
            for name in self.bits(|owner| owner.is_some_and(|owner| owner as usize != i)) {
                let _ = write!(text, " & !u.g.{name}");
            }
            clauses.push(text);
        }
        let at = |j: u32| -> Vec<String> {
            let beginnings = self.relations.beginnings.iter().enumerate();
            let at = beginnings.map(|(i, pc)| format!("p{j} = {i} & u.pc = {pc}"));
            at.collect()
        };
        for j in 1..=self.slots {
            clauses.push(format!(
                "t = {} & ({}) & u.l = f{j}{calm} & {}",
                self.threads.len() - 1 + j as usize,
                or_false(&at(j), " | "),
                self.begun("u.g", j)
            ));
        }
        let _ = writeln!(
            out,
            "// Where thread t starts.\nbool Start(Thread t, State u{})\n      {};\n",
            self.frames().0,
            or_false(&clauses, "\n    | ")
        );
    }

    /// The step that starts a thread that becomes active.
    fn starts(&self, out: &mut String) {
        if self.slots == 0 {
            return;
        }
        let number = |j: u32| {
            format!(
                "{} & {} & s = p{j} & u.l = f{j}",
                self.count("u.g", j - 1),
                self.count("v.g", j)
            )
        };
        let numbers: Vec<String> = (1..=self.slots).map(number).collect();
        let _ = writeln!(
            out,
            "// The step from u to v starts the next thread.\nbool Starts(State u, State v{}) u ~+ v\n      \
             (exists Beginning s. StartInt(u, v, s)\n        & ({}));\n",
            self.frames().0,
            numbers.join("\n          | ")
        );
        let begun = |j: u32| {
            let thread = self.threads.len() - 1 + j as usize;
            format!("t = {thread} & {}", self.begun("a", j))
        };
        let begun: Vec<String> = (1..=self.slots).map(begun).collect();
        let _ = writeln!(
            out,
            "// Thread t has been started.\nbool Begun(Thread t, Shared a)\n      {};\n",
            begun.join("\n    | ")
        );
    }

    /// The globals with which the first thread starts.
    fn ready(&self, out: &mut String) {
        let (head, rest) = self.frames();
        let Some(node) = self.last else {
            let none = if self.slots > 0 {
                self.count("a", 0)
            } else {
                "true".to_owned()
            };
            let _ = writeln!(
                out,
                "// The first thread starts with any globals.\nbool Ready(Global a{head})\n      {none};\n"
            );
            return;
        };
        let end = self.relations.points.node(node);
        self.before(out, end);
        let at_end = end.map_or("false".to_owned(), |end| format!("v.pc = {end}"));
        let _ = writeln!(
            out,
            "// The globals with which the threads start.\nbool Ready(Global a{head})\n      \
             (exists State u, State v, Shared b. Before(u, v{rest}) & {at_end} & Share(v.g, b) & Share(a, b));\n"
        );
    }

    /// What runs before the threads of GETAFIX's convention do, until it comes to `end`: section
    /// 4.2.
    fn before(&self, out: &mut String, end: Option<u32>) {
        let (head, rest) = self.frames();
        let not_end = |path: &str| end.map_or(String::new(), |end| format!(" & {path} != {end}"));
        let (not_x, not_y, not_c) = (not_end("x.pc"), not_end("y.pc"), not_end("c"));
        let starts = if self.slots > 0 {
            format!(" | Starts(x, v{rest})")
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "// What happens before the threads start.\n\
             mu bool Before(State u, State v{head}) u ~+ v\n      \
             (Init(u) & u = v)\n    \
             | (exists State x. Before(u, x{rest}){not_x} & (ProgramInt(x, v){starts}))\n    \
             | (exists State x, State y. Before(x, y{rest}){not_y} & IntoCall(y, u) & u = v)\n    \
             | (exists PC c, PC e, Local l, Global g.\n          \
             (exists State x.\n              \
             Before(u, x{rest}) & ReturnA(x, e, v) & IntoCall1(x, e, l, g) & c = x.pc{not_c})\n        \
             & (exists State y, State z.\n              \
             Before(y, z{rest}) & l = y.l & g = y.g & e = z.pc & Exit(z.pc) & ReturnB(z, c, v)));\n"
        );
    }
}
