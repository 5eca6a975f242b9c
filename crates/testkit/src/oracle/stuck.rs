//! Which programs get stuck, and which go on: the oracle's answers, and programs whose answer is
//! known.

use super::Oracle;
use super::graph::ROOT;
use super::machine::Step;
use super::product::{State, System};

/// Programs, and whether a run of them gets stuck.
pub const PROGRAMS: [(&str, bool); 19] = [
    // The end of `main` and endless loops are no deadlocks.
    ("void main() begin skip; end", false),
    ("void main() begin while (T) do skip; od end", false),
    // Reaching an `assume` that fails is one, whatever other choices there were before.
    ("decl g; void main() begin assume(g); end", true),
    (
        "decl g; void main() begin if (*) then assume(F); fi; end",
        true,
    ),
    ("decl g; void main() begin g := T; assume(g); end", false),
    // Each `*` is chosen for the step: one choice lets it happen.
    ("void main() begin assume(*); end", false),
    (
        "decl g; void main() begin g := * constrain ('g); end",
        false,
    ),
    (
        "decl g, h; void main() begin g := h constrain ('g); end",
        true,
    ),
    ("decl g; void main() begin g := F; enforce g; end", true),
    (
        "decl g; void main() begin g := T; enforce g; g := *; end",
        false,
    ),
    // A violation is something that happens.
    ("void main() begin assert(F); end", false),
    (
        "decl n : u2; void main() begin n := 0; assume(1 / n > 5); end",
        false,
    ),
    // The end of a procedure with a result.
    (
        "decl g; void main() begin g := f(); end bool f() begin skip; end",
        true,
    ),
    // A return that the caller cannot take; one whose result can be chosen; one from `main`.
    (
        "decl g; void main() begin g := f() constrain ('g); end bool f() begin return F; end",
        true,
    ),
    (
        "decl g; void main() begin g := f() constrain ('g); end bool f() begin return *; end",
        false,
    ),
    (
        "decl g; void main() begin g := f() constrain ('g); end
         bool f() begin decl x; return x; end",
        true,
    ),
    (
        "decl g; void main() begin if (*) then main() constrain ('g & F); fi; g := T; end",
        true,
    ),
    // A global that is enforced after one call of `f2`, and of no interest after the other. Found by
    // a sweep: the return of `f2` looked at a value that was not the caller's.
    (
        "decl g; void main() begin g := T; f1(); enforce(g); f2(); end
         bool f1() begin f2(); end void f2() begin end",
        true,
    ),
    // A global that matters at one call of `f`, and is overwritten after the other. Found by a
    // sweep: it had been forgotten at the other.
    (
        "decl g, h; void main() begin
           if (g) then f(); g := F; assume(g); else f() constrain ('g | h | !h); fi;
         end void f() begin end",
        true,
    ),
];

impl Oracle<'_> {
    /// Whether some run goes on for ever, or `main` returns: among all runs, and among those whose
    /// stack stays bounded.
    pub fn goes_on(&self) -> [bool; 2] {
        self.runs.have_cycles()
    }

    /// Whether the program has assertions, and whether some run gets to one.
    pub fn assertions(&self) -> [bool; 2] {
        let exist = (0..self.machine.positions.len()).any(|at| self.machine.asserts(at));
        [
            exist,
            self.gets_to(|position| self.machine.asserts(position)),
        ]
    }

    /// Whether some run gets to the end of a procedure that should have returned a value.
    pub fn lacks_value(&self) -> bool {
        self.gets_to(|position| self.machine.lacks_value(position))
    }

    fn gets_to(&self, wanted: impl Fn(usize) -> bool) -> bool {
        (self.runs.graph.nodes.iter()).any(|(state, _)| match state {
            State::At(position, _) => wanted(*position),
            State::Terminated(_) => false,
        })
    }

    /// Whether some run comes to where nothing can happen, other than the end of `main`: no step, no
    /// violation, and no return that the caller can take.
    pub fn gets_stuck(&self) -> bool {
        let graph = &self.runs.graph;
        let at = |context: usize| match &graph.nodes[graph.contexts[context].1].0 {
            State::At(position, store) => Some((*position, store)),
            State::Terminated(_) => None,
        };
        (0..graph.contexts.len()).any(|context| {
            let Some((position, store)) = at(context) else {
                return false;
            };
            let steps = self.machine.steps(position, store);
            let exits = steps.iter().filter_map(|step| match step {
                Step::Return(exit) => Some(exit),
                _ => None,
            });
            let exits: Vec<_> = exits.collect();
            let (entry, _) = graph.contexts[context];
            let refuses = |&caller: &usize| {
                let (position, store) = at(caller).expect("calls happen at positions");
                let mut exits = exits.iter();
                exits.all(|exit| self.machine.resume(position, store, exit).is_empty())
            };
            match steps.len() {
                0 => true,
                n => n == exits.len() && entry != ROOT && graph.callers[entry].iter().any(refuses),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parse;

    #[test]
    fn stuck_is_where_nothing_can_happen() {
        for (text, stuck) in PROGRAMS {
            let ast = parse(text);
            let oracle = Oracle::new(&ast).expect("a small program");
            assert_eq!(oracle.gets_stuck(), stuck, "{text}");
        }
    }
}
