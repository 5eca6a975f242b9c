//! The predicate *Reach* and the query.

use std::fmt::Write as _;

use super::Threaded;

impl Threaded<'_> {
    /// The predicate, applied; `top` is for the bit of that name.
    fn applied(&self, states: &str, top: &str) -> String {
        let top = if self.top {
            format!(", {top}")
        } else {
            String::new()
        };
        format!("Reach({states}{top}{})", self.constant().1)
    }

    /// What never changes: globals and threads of the switches, frames of started threads, as
    /// parameters and as arguments.
    fn constant(&self) -> (String, String) {
        let (mut head, mut rest) = (String::new(), String::new());
        for j in 1..=self.switches {
            let _ = write!(head, ", Shared g{j}");
            let _ = write!(rest, ", g{j}");
        }
        if !self.in_turn {
            for j in 0..=self.switches {
                let _ = write!(head, ", Thread t{j}");
                let _ = write!(rest, ", t{j}");
            }
        }
        let frames = self.frames();
        (head + &frames.0, rest + &frames.1)
    }

    /// With rounds, the thread whose turn context `j` is.
    fn turn(&self, j: u32) -> u32 {
        j % (self.threads.len() as u32 + self.slots)
    }

    /// That the thread of context `j` − 1 has been left at the globals gj.
    fn left(&self, j: u32) -> String {
        let (some, top) = if self.top {
            (", bool o", ", o")
        } else {
            ("", "")
        };
        format!(
            "(exists State x, State y, Switches e{some}.\n              \
             {} & Free(y{top}) & Share(y.g, g{j}))",
            self.applied(&format!("x, y, e, {}", j - 1), "o")
        )
    }

    /// That context `j` can begin with the globals gj. Turns of threads that have not been started
    /// yet are passed over.
    fn handed(&self, j: u32) -> String {
        let mut ways = vec![self.left(j)];
        if self.in_turn {
            let mut passed = String::new();
            for i in (1..j).rev() {
                let thread = self.turn(i);
                if (thread as usize) < self.threads.len() {
                    break;
                }
                let _ = write!(passed, " & !Begun({thread}, g{i}) & g{} = g{i}", i + 1);
                ways.push(format!("{}{passed}", self.left(i)));
            }
        }
        match &ways[..] {
            [only] => only.clone(),
            _ => format!("({})", ways.join("\n          | ")),
        }
    }

    pub(super) fn reach(&self, out: &mut String) {
        let (head, _) = self.constant();
        let (param, some, top) = if self.top {
            (", bool top", ", bool o", " & top")
        } else {
            ("", "", "")
        };
        let first = if self.in_turn { "0" } else { "t0" };
        let frames = self.frames().1;
        let _ = write!(
            out,
            "mu bool Reach(State u, State v, Switches ecs, Switches cs{param}{head}) u ~+ v\n      \
             // The first context.\n      \
             (cs = 0 & ecs = 0 & u = v{top} & Start({first}, u{frames}) & Ready(u.g{frames}))\n    \
             // Steps of the active thread.\n    \
             | (exists State x. {step} & ProgramInt(x, v))\n    \
             | (ecs = cs & u = v{below}\n        \
             & (exists State x, State y, Switches e{some}. {caller} & IntoCall(y, u)))\n    \
             | (exists PC c, PC e, Local l, Global g, Switches s.\n          \
             (exists State x.\n              \
             {call} & ReturnA(x, e, v) & IntoCall1(x, e, l, g) & c = x.pc)\n        \
             & (exists State y, State z.\n              \
             {exit} & l = y.l & g = y.g & e = z.pc & Exit(z.pc) & ReturnB(z, c, v)))",
            below = if self.top { " & !top" } else { "" },
            step = self.applied("u, x, ecs, cs", "top"),
            caller = self.applied("x, y, e, cs", "o"),
            call = self.applied("u, x, ecs, s", "top"),
            exit = self.applied("y, z, s, cs", "false"),
        );
        if self.slots > 0 {
            let _ = write!(
                out,
                "\n    | (exists State x. {} & Starts(x, v{frames}))",
                self.applied("u, x, ecs, cs", "top")
            );
        }
        for j in 1..=self.switches {
            if self.in_turn {
                self.round(out, j);
            } else {
                self.switch(out, j);
            }
        }
        out.push_str(";\n\n");
        let before = if self.last.is_some() {
            let (head, rest) = self.frames();
            format!("(exists State u, State v{head}. Before(u, v{rest}) & Target(v.pc))\n  | ")
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "{before}(exists State u, State v, Switches ecs, Switches cs{some}{head}.\n      \
             {} & Target(v.pc));",
            self.applied("u, v, ecs, cs", "o")
        );
    }

    /// The clause for a thread that begins with context `j`.
    fn begins(&self, out: &mut String, j: u32, thread: &str, new: &str) {
        let top = if self.top { " & top" } else { "" };
        let _ = write!(
            out,
            "\n    // Switch {j}, to a thread that starts, or goes on.\n    \
             | (cs = {j} & ecs = {j} & u = v{top} & Start({thread}, u{}){new} & Share(v.g, g{j})\n        & {})",
            self.frames().1,
            self.handed(j)
        );
    }

    /// The state in which the thread was left in context `i`, with the globals of now.
    fn resumed(&self, i: u32) -> String {
        let top = if self.top { ", top" } else { "" };
        format!(
            "(exists State x. {} & Free(x{top}) & Share(x.g, g{})\n                \
             & v.pc = x.pc & v.l = x.l & Own(v.g, x.g))",
            self.applied(&format!("u, x, ecs, {i}"), "top"),
            i + 1
        )
    }

    /// Switch `j`, to any other thread.
    fn switch(&self, out: &mut String, j: u32) {
        let others: Vec<String> = (0..j).map(|i| format!(" & t{j} != t{i}")).collect();
        self.begins(out, j, &format!("t{j}"), &others.concat());
        let mut back = Vec::new();
        for i in 0..j.saturating_sub(1) {
            let between: Vec<String> = (i + 1..j).map(|m| format!("t{j} != t{m}")).collect();
            back.push(format!(
                "(t{j} = t{i} & {}\n            & {})",
                between.join(" & "),
                self.resumed(i)
            ));
        }
        if !back.is_empty() {
            self.goes_on(out, j, &format!("({})", back.join("\n          | ")));
        }
    }

    /// Switch `j`, to the next thread of the round. One that exists from the start begins in the
    /// first round: its turns may be empty. Others begin with their first turn after they have been
    /// started.
    fn round(&self, out: &mut String, j: u32) {
        let thread = self.turn(j);
        let count = self.threads.len() as u32 + self.slots;
        let earlier = j.checked_sub(count);
        let started = thread as usize >= self.threads.len();
        match earlier {
            None => self.begins(out, j, &thread.to_string(), ""),
            Some(i) if started => {
                let new = format!(" & !Begun({thread}, g{i})");
                self.begins(out, j, &thread.to_string(), &new);
            }
            Some(_) => {}
        }
        if let Some(i) = earlier {
            self.goes_on(out, j, &self.resumed(i));
        }
    }

    fn goes_on(&self, out: &mut String, j: u32, back: &str) {
        let calm = if self.atomic { " & !v.g.atomic" } else { "" };
        let _ = write!(
            out,
            "\n    | (cs = {j}{calm} & Share(v.g, g{j})\n        & {}\n        & {back})",
            self.handed(j)
        );
    }
}
