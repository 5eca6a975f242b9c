//! Driver-like programs in the style of SLAM's abstractions (Alur, Chaudhuri, Etessami
//! and Madhusudan, TACAS 2005, section 5.1, Fig. 5).
//!
//! The regression tests of SLAM are not at hand. [`program`] writes programs of a given [`Shape`]:
//! the number of lines, of globals, and of locals in the largest procedure. What they have in
//! common with the originals: predicates as names, one statement per line, labels and gotos with
//! `assume`, `schoose`, parallel assignments with `constrain`; variables that are read before they
//! are written; a lock and a request whose state decides whether `SLIC_ERROR` is reached;
//! conditions that have to be correlated (take the lock if `a`, work, give it back if `a`); retry
//! loops; helpers with parameters and results; a `main` that calls dispatch routines for ever. With
//! no globals, the state of the lock is passed around in parameters and results.
//!
//! Two things are our choice. Locals are used in groups of [`Shape::window`] overlapping variables,
//! and not all at once. And each dispatch routine deals with three of the device's flags itself and
//! with those of the two helpers it calls. In a real driver, too, most predicates matter only in a
//! small part of it.

use std::fmt::Write;

use crate::random::Xorshift;

/// What a program looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The row of Fig. 5 it is made after.
    pub name: &'static str,
    /// Lines, nearly.
    pub lines: usize,
    /// Global variables.
    pub globals: usize,
    /// Locals of the largest procedure.
    pub locals: usize,
    /// How many locals belong together.
    pub window: usize,
    /// Whether one of the dispatch routines forgets to give back the lock in some case.
    pub bug: bool,
}

/// The shapes of Fig. 5.
pub const SHAPES: [Shape; 8] = [
    shape("n-mutex1", 439, 3, 13, 5, true),
    shape("p-mutex33", 460, 6, 21, 6, true),
    shape("n-i2o-simple", 347, 2, 3, 3, true),
    shape("n-list-22", 305, 0, 15, 6, true),
    shape("p-mutex34", 466, 6, 21, 6, false),
    shape("p-farray", 306, 0, 8, 5, false),
    shape("p-nbebop-test", 239, 0, 16, 12, false),
    shape("p-srdriver", 1454, 10, 36, 6, false),
];

const fn shape(
    name: &'static str,
    lines: usize,
    globals: usize,
    locals: usize,
    window: usize,
    bug: bool,
) -> Shape {
    Shape {
        name,
        lines,
        globals,
        locals,
        window,
        bug,
    }
}

/// The shape with this name.
pub fn named(name: &str) -> Option<Shape> {
    SHAPES.into_iter().find(|shape| shape.name == name)
}

/// Names of globals: the state of the lock and of the request first, then flags that nobody
/// initialises.
const GLOBALS: [&str; 10] = [
    "{lock->held==1}",
    "{irp->completed==1}",
    "{ext->started==1}",
    "{ext->removed==1}",
    "{ext->queue!=0}",
    "{ext->power>0}",
    "{irql>=2}",
    "{cancel!=0}",
    "{ext->busy==1}",
    "{count>0}",
];

/// The program of a shape.
pub fn program(shape: &Shape) -> String {
    let mut writer = Writer {
        shape: *shape,
        text: String::new(),
        lines: 0,
        labels: 0,
        random: Xorshift(0x2545_f491_4f6c_dd1d ^ shape.lines as u64),
        routine: 0,
        helpers: 3 + shape.lines / 300,
        bug: false,
    };
    writer.program();
    writer.text
}

/// How many flags of the device a dispatch routine deals with itself.
const FLAGS_PER_ROUTINE: usize = 3;

struct Writer {
    shape: Shape,
    /// The dispatch routine being written.
    routine: usize,
    text: String,
    lines: usize,
    labels: usize,
    random: Xorshift,
    helpers: usize,
    /// The bug is still to be written, here.
    bug: bool,
}

/// The locals a piece of code may use, and those whose value must not change in it.
#[derive(Clone)]
struct Scope {
    group: Vec<String>,
    frozen: Vec<String>,
    lock_free: bool,
    depth: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
        self.lines += 1;
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn threaded(&self) -> bool {
        self.shape.globals == 0
    }

    fn flags(&self) -> &'static [&'static str] {
        GLOBALS[..self.shape.globals].get(2..).unwrap_or_default()
    }

    fn requests(&self) -> bool {
        self.shape.globals >= 2
    }

    fn program(&mut self) {
        let name = self.shape.name;
        self.line(&format!("// In the shape of {name}; generated."));
        for global in &GLOBALS[..self.shape.globals] {
            self.line(&format!("decl {global};"));
        }
        self.primitives();
        for helper in 0..self.helpers {
            self.helper(helper);
        }
        let dispatchers = (self.shape.lines / 150).clamp(1, 9);
        let main_lines = 12 + 6 * dispatchers;
        for i in 0..dispatchers {
            let left = self.shape.lines.saturating_sub(self.lines + main_lines);
            let budget = left / (dispatchers - i);
            self.bug = self.shape.bug && i == dispatchers / 2;
            self.routine = i;
            self.dispatcher(i, budget);
        }
        self.main(dispatchers);
    }

    fn primitives(&mut self) {
        let held = GLOBALS[0];
        let text = if self.threaded() {
            "void slic_abort() begin
SLIC_ERROR: assume(F);
end
bool acquire(held) begin
if (held) then
slic_abort();
fi
return T;
end
bool release(held) begin
if (!held) then
slic_abort();
fi
return F;
end
void finish(held) begin
if (held) then
slic_abort();
fi
end"
            .to_owned()
        } else {
            format!(
                "void slic_abort() begin
SLIC_ERROR: assume(F);
end
void acquire() begin
if ({held}) then
slic_abort();
fi
{held} := T;
end
void release() begin
if (!{held}) then
slic_abort();
fi
{held} := F;
end
void finish() begin
if ({held}) then
slic_abort();
fi
end"
            )
        };
        for line in text.lines() {
            self.line(line);
        }
        if self.requests() {
            let completed = GLOBALS[1];
            self.line("void complete() begin");
            self.line(&format!("if ({completed}) then"));
            self.line("slic_abort();");
            self.line("fi");
            self.line(&format!("{completed} := T;"));
            self.line("end");
        }
        self.line("bool unk() begin");
        self.line("if (*) then return T; else return F; fi");
        self.line("end");
    }

    /// Helpers read their parameters, an uninitialised local and a flag; every other one is
    /// recursive, the rest call the one before them.
    fn helper(&mut self, i: usize) {
        let flag = self
            .flags()
            .get(i % self.flags().len().max(1))
            .copied()
            .unwrap_or("{p==q}");
        let before = i - i % 2;
        self.line(&format!("bool helper_{i}({{p==0}}, {{p==q}}) begin"));
        // Parameters count as locals: where there may be few, one is used twice.
        let t = if self.shape.locals < 4 {
            "{p==0}"
        } else {
            "{t<n}"
        };
        self.line(if t == "{t<n}" {
            "decl {r!=0}, {t<n};"
        } else {
            "decl {r!=0};"
        });
        self.line(&format!("if ({flag}) then"));
        self.line(&format!("{{r!=0}} := schoose[{{p==0}} & {t}, {{p==q}}];"));
        self.line("fi");
        self.line("goto L1, L2;");
        self.line(&format!("L1: assume({t});"));
        self.line(&format!("{{r!=0}} := helper_{before}({{p==q}}, {{r!=0}});"));
        self.line("goto L3;");
        self.line(&format!("L2: assume(!{t});"));
        self.line("{r!=0} := {p==0} | {r!=0};");
        self.line("L3: return {r!=0};");
        self.line("end");
    }

    fn main(&mut self, dispatchers: usize) {
        let threaded = self.threaded();
        self.line("void main() begin");
        if threaded {
            self.line("decl held;");
            self.line("held := F;");
        } else {
            self.line(&format!("{} := F;", GLOBALS[0]));
        }
        let names: Vec<String> = (0..dispatchers).map(|i| format!("D{i}")).collect();
        self.line(&format!("L0: goto {}, Dend;", names.join(", ")));
        for i in 0..dispatchers {
            if self.requests() {
                self.line(&format!("D{i}: {} := F;", GLOBALS[1]));
            } else {
                self.line(&format!("D{i}: skip;"));
            }
            if threaded {
                self.line(&format!("held := dispatch_{i}(held);"));
                self.line("finish(held);");
            } else {
                self.line(&format!("dispatch_{i}();"));
                self.line("finish();");
            }
            self.line("goto L0;");
        }
        self.line("Dend: skip;");
        self.line("end");
    }

    fn dispatcher(&mut self, i: usize, budget: usize) {
        let end = self.lines + budget.saturating_sub(6);
        let most = self.shape.locals - usize::from(self.threaded());
        let locals = if i == 0 {
            most
        } else {
            most - self.random.below(most / 2)
        };
        let names: Vec<String> = (0..locals).map(|v| format!("{{b{i}_{v}}}")).collect();
        if self.threaded() {
            self.line(&format!("bool dispatch_{i}(held) begin"));
        } else {
            self.line(&format!("void dispatch_{i}() begin"));
        }
        for group in names.chunks(6) {
            self.line(&format!("decl {};", group.join(", ")));
        }
        let start = self.lines;
        let bug_at = usize::midpoint(start, end);
        // Groups overlap by one variable.
        let window = self.shape.window.min(locals);
        let stride = (window - 1).max(1);
        let groups = locals.saturating_sub(window).div_ceil(stride) + 1;
        while self.lines < end {
            let group = (self.lines - start) * groups / (end - start);
            let first = (group * stride).min(locals - window);
            let scope = Scope {
                group: names[first..first + window].to_vec(),
                frozen: Vec::new(),
                lock_free: true,
                depth: 0,
            };
            if self.bug && self.lines >= bug_at {
                self.correlated_lock(&scope);
            } else if self.requests() && self.random.below(8) == 0 {
                // An early way out, with the request completed.
                let a = self.pick(&scope);
                self.line(&format!("if ({a} & {}) then", scope.group[0]));
                self.line("complete();");
                self.line("goto Lexit;");
                self.line("fi");
            } else {
                self.piece(&scope);
            }
        }
        if self.requests() {
            self.line("complete();");
        }
        self.line("Lexit: skip;");
        if self.threaded() {
            self.line("return held;");
        }
        self.line("end");
    }

    /// Some variable of the group.
    fn pick(&mut self, scope: &Scope) -> String {
        let i = self.random.below(scope.group.len());
        scope.group[i].clone()
    }

    /// Some variable of the group that may be written.
    fn pick_free(&mut self, scope: &Scope) -> Option<String> {
        let free: Vec<&String> = scope
            .group
            .iter()
            .filter(|v| !scope.frozen.contains(v))
            .collect();
        let i = self.random.below(free.len());
        free.get(i).map(|v| (*v).clone())
    }

    /// Some flag of the device that the current routine deals with.
    fn pick_flag(&mut self) -> Option<&'static str> {
        let i = 2 * self.routine + self.random.below(FLAGS_PER_ROUTINE);
        self.flags().get(i % self.flags().len().max(1)).copied()
    }

    fn acquire(&mut self, label: &str) {
        let call = if self.threaded() {
            "held := acquire(held);"
        } else {
            "acquire();"
        };
        self.line(&format!("{label}{call}"));
    }

    fn release(&mut self) {
        self.line(if self.threaded() {
            "held := release(held);"
        } else {
            "release();"
        });
    }

    fn piece(&mut self, scope: &Scope) {
        let choices = if scope.lock_free { 10 } else { 7 };
        match self.random.below(choices) {
            0 => self.branches(scope),
            1 => self.call(scope),
            2 => self.flag_read(scope),
            3 => self.constrained(scope),
            4 => self.combine(scope),
            5 => self.flag_write(scope),
            6 => self.unknown(scope),
            7 => self.retry(scope),
            8 if self.flags().len() > 1 => self.flag_lock(scope),
            _ => self.correlated_lock(scope),
        }
    }

    /// What happens while the lock is held.
    fn inside(&mut self, scope: &Scope, frozen: &str) {
        let mut scope = scope.clone();
        scope.frozen.push(frozen.to_owned());
        scope.lock_free = false;
        scope.depth += 1;
        for _ in 0..=self.random.below(2) {
            self.piece(&scope);
        }
    }

    /// The lock is taken and given back under the same condition on a local.
    fn correlated_lock(&mut self, scope: &Scope) {
        let a = self.pick(scope);
        if self.bug {
            // Whatever came before, the bug is there.
            self.line(&format!("{a} := unk();"));
        }
        self.line(&format!("if ({a}) then"));
        self.acquire("");
        self.line("fi");
        self.inside(scope, &a);
        if std::mem::take(&mut self.bug) {
            let b = scope.group.iter().find(|&b| *b != a).unwrap_or(&a).clone();
            self.line(&format!("{b} := unk();"));
            self.line(&format!("if ({a} & {b}) then"));
        } else {
            self.line(&format!("if ({a}) then"));
        }
        self.release();
        self.line("fi");
    }

    /// A lock is taken and given back under a condition on a flag of the device, which nobody
    /// writes meanwhile.
    fn flag_lock(&mut self, scope: &Scope) {
        let Some(flag) = self.pick_flag() else { return };
        self.line(&format!("if ({flag}) then"));
        self.acquire("");
        self.line("fi");
        self.inside(scope, flag);
        self.line(&format!("if ({flag}) then"));
        self.release();
        self.line("fi");
    }

    /// The loop of SLAM's first example: take the lock, look whether there is something to do;
    /// if so give it back, do it, and start again.
    fn retry(&mut self, scope: &Scope) {
        let (Some(same), c) = (self.pick_free(scope), self.pick(scope)) else {
            return;
        };
        if same == c || scope.frozen.contains(&c) {
            return self.branches(scope);
        }
        let labels: [String; 6] = std::array::from_fn(|_| self.label());
        let [l1, l2, l3, l4, l5, l6] = labels;
        self.acquire(&format!("{l1}: "));
        self.line(&format!("{same} := T;"));
        self.line(&format!("goto {l2}, {l3};"));
        self.line(&format!("{l2}: assume({c});"));
        self.release();
        self.line(&format!("{same} := F;"));
        self.line(&format!("goto {l4};"));
        self.line(&format!("{l3}: assume(!{c});"));
        self.line(&format!("{l4}: goto {l5}, {l6};"));
        self.line(&format!("{l5}: assume(!{same});"));
        self.line(&format!("{c} := unk();"));
        self.line(&format!("goto {l1};"));
        self.line(&format!("{l6}: assume({same});"));
        self.release();
    }

    /// `goto` and `assume`, as SLAM writes a condition.
    fn branches(&mut self, scope: &Scope) {
        let a = self.pick(scope);
        let labels: [String; 3] = std::array::from_fn(|_| self.label());
        let [l1, l2, l3] = labels;
        self.line(&format!("goto {l1}, {l2};"));
        self.line(&format!("{l1}: assume({a});"));
        if scope.depth < 2 {
            self.inside(scope, &a);
        } else {
            self.line("skip;");
        }
        self.line(&format!("goto {l3};"));
        self.line(&format!("{l2}: assume(!{a});"));
        self.combine(scope);
        self.line(&format!("{l3}: skip;"));
    }

    fn call(&mut self, scope: &Scope) {
        let Some(d) = self.pick_free(scope) else {
            return self.line("skip;");
        };
        let (a, b) = (self.pick(scope), self.pick(scope));
        // A routine uses two of the helpers.
        let helper = (self.routine + self.random.below(2)) % self.helpers;
        self.line(&format!("{d} := helper_{helper}({a}, {b});"));
    }

    fn flag_read(&mut self, scope: &Scope) {
        let Some(d) = self.pick_free(scope) else {
            return self.line("skip;");
        };
        let a = self.pick(scope);
        let flag = self.pick_flag().unwrap_or("*");
        self.line(&format!("if ({flag}) then"));
        self.line(&format!("{d} := !{a};"));
        self.line("fi");
    }

    fn flag_write(&mut self, scope: &Scope) {
        let (a, b) = (self.pick(scope), self.pick(scope));
        match self.pick_flag() {
            Some(flag) if !scope.frozen.iter().any(|f| f == flag) => {
                self.line(&format!("{flag} := schoose[{a}, {b}];"));
            }
            _ => self.combine(scope),
        }
    }

    fn constrained(&mut self, scope: &Scope) {
        let (Some(d), Some(e)) = (self.pick_free(scope), self.pick_free(scope)) else {
            return self.line("skip;");
        };
        let a = self.pick(scope);
        if d == e {
            self.line(&format!("{d} := schoose[{a}, !{a} & {d}];"));
        } else {
            self.line(&format!("{d}, {e} := *, {a} constrain ('{d} | !'{e});"));
        }
    }

    fn combine(&mut self, scope: &Scope) {
        let Some(d) = self.pick_free(scope) else {
            return self.line("skip;");
        };
        let (a, b) = (self.pick(scope), self.pick(scope));
        self.line(&format!("if ({a} & {b}) then"));
        self.line(&format!("{d} := T;"));
        self.line("else");
        self.line(&format!("{d} := {d} & !{a};"));
        self.line("fi");
    }

    fn unknown(&mut self, scope: &Scope) {
        match self.pick_free(scope) {
            Some(d) => self.line(&format!("{d} := unk();")),
            None => self.line("skip;"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::{load, verdict};

    #[test]
    fn shapes_are_as_said() {
        for shape in SHAPES {
            let text = program(&shape);
            let lines = text.lines().count();
            let slack = shape.lines / 10;
            assert!(
                lines.abs_diff(shape.lines) <= slack,
                "{}: {lines} lines",
                shape.name
            );
            let program = load(&text).unwrap();
            assert_eq!(program.globals.len(), shape.globals, "{}", shape.name);
            let locals = program.procedures.iter().map(|p| p.locals.len()).max();
            assert_eq!(locals, Some(shape.locals), "{}", shape.name);
        }
    }

    #[test]
    fn exactly_the_buggy_ones_reach_the_error() {
        for shape in SHAPES {
            // The smaller the faster; the full sizes are the benchmark's business.
            let shape = Shape {
                window: shape.window.min(4),
                lines: shape.lines.min(350),
                ..shape
            };
            let expected = if shape.bug { "violated" } else { "holds" };
            assert_eq!(
                verdict(&program(&shape), &Ask::Default),
                expected,
                "{}",
                shape.name
            );
        }
    }

    #[test]
    fn the_same_every_time() {
        assert_eq!(program(&SHAPES[7]), program(&SHAPES[7]));
    }
}
