//! The naive oracle for threads: all interleavings, one configuration after the other, with bounded stacks.
//!
//! A configuration has a value for every variable and the whole stack of every thread. The search goes level by level:
//! level `k` has the configurations that need `k` switches (or the `k`-th round). Where a stack or the
//! number of threads would grow too large the search goes no further and says so in
//! [`Interleavings::complete`]; what it has found is reachable in any case.
//!
//! Works on the lowered program; `lowering_tests` compares that with the syntax tree.

use std::collections::{BTreeMap, HashSet};

use droste_program::concurrent::{declared, end_of_init};
use droste_program::{NodeId, Op, Program};

use super::eval::valuations;
use super::lowered::Lowered;
use super::machine::{Step, Store};
use super::product::System;
use super::{LARGEST_DOMAIN, Refusal};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// Every change of the active thread.
    Switches,
    /// Turns of all threads in the order of their numbers, from round 1 on.
    Rounds,
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// What is counted.
    pub levels: Levels,
    /// At most so many.
    pub most: usize,
    /// At most so many calls on a stack.
    pub stack: usize,
    /// At most so many threads.
    pub threads: usize,
    /// At most so many configurations.
    pub configurations: usize,
}

/// What has been found.
#[derive(Clone, Debug, Default)]
pub struct Interleavings {
    /// The least level at which the active thread is at each node.
    pub reached: BTreeMap<NodeId, usize>,
    /// The least level at which something is violated.
    pub failed: Option<usize>,
    /// The least level at which no thread can move and not all have ended.
    pub stuck: Option<usize>,
    /// Whether no stack was too high and no thread too many.
    pub complete: bool,
    /// How many configurations there are.
    pub configurations: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    /// The procedure, before its first context.
    fresh: Option<usize>,
    ended: bool,
    atomic: bool,
    node: usize,
    locals: Store,
    /// Position, globals and locals of each caller.
    calls: Vec<(usize, Store)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Config {
    globals: Store,
    threads: Vec<Thread>,
    active: usize,
}

struct Search<'a> {
    program: &'a Program,
    system: Lowered<'a>,
    bounds: Bounds,
    /// See [`interleave_getafix`].
    flag: Option<usize>,
    seen: HashSet<Config>,
    found: Interleavings,
}

/// Explores the interleavings of `program`.
pub fn interleave(program: &Program, bounds: Bounds) -> Result<Interleavings, Refusal> {
    explore(program, bounds, None)
}

/// Explores the interleavings of `program` in which no switch happens while the global with this
/// number is true, nor within a call: what the public version of GETAFIX means.
pub fn interleave_getafix(
    program: &Program,
    bounds: Bounds,
    flag: usize,
) -> Result<Interleavings, Refusal> {
    explore(program, bounds, Some(flag))
}

fn explore(
    program: &Program,
    bounds: Bounds,
    flag: Option<usize>,
) -> Result<Interleavings, Refusal> {
    let mut search = Search {
        program,
        system: Lowered(program),
        bounds,
        flag,
        seen: HashSet::new(),
        found: Interleavings {
            complete: true,
            ..Interleavings::default()
        },
    };
    let types: Vec<_> = program.globals.iter().map(|v| v.ty).collect();
    let fresh = |procedure: u32| Thread {
        fresh: Some(procedure as usize),
        ended: false,
        atomic: false,
        node: 0,
        locals: Store::new(),
        calls: Vec::new(),
    };
    let threads: Vec<Thread> = declared(program)
        .into_iter()
        .map(|thread| fresh(thread.procedure.0))
        .collect();
    // Only the first thread of sections can be another than number 0.
    let first = match &program.threads {
        droste_program::Threads::Sections(all) => all.len(),
        _ => 1,
    };
    let mut work = Vec::new();
    for globals in valuations(&types, LARGEST_DOMAIN).ok_or(Refusal::TooLarge)? {
        for active in 0..first {
            let config = Config {
                globals: globals.clone(),
                threads: threads.clone(),
                active,
            };
            search.activate(&config, active, &mut work)?;
        }
    }
    let start = usize::from(bounds.levels == Levels::Rounds);
    for level in start..=bounds.most {
        // What needs one more; it may still turn out not to.
        let mut later = HashSet::new();
        while let Some(config) = work.pop() {
            search.visit(&config, level, &mut work, &mut later)?;
        }
        for config in later {
            search.add(config, &mut work)?;
        }
    }
    search.found.configurations = search.seen.len();
    Ok(search.found)
}

impl Search<'_> {
    fn add(&mut self, config: Config, work: &mut Vec<Config>) -> Result<(), Refusal> {
        if self.seen.len() >= self.bounds.configurations {
            return Err(Refusal::TooLarge);
        }
        if self.seen.insert(config.clone()) {
            work.push(config);
        }
        Ok(())
    }

    /// The configurations after a thread has become active.
    fn activated(&self, config: &Config, active: usize) -> Vec<Config> {
        let mut config = config.clone();
        config.active = active;
        let thread = &mut config.threads[active];
        let Some(procedure) = thread.fresh.take() else {
            return vec![config];
        };
        let entries = self.system.entries(procedure, &config.globals).into_iter();
        let enter = |(node, store): (usize, Store)| {
            let mut config = config.clone();
            config.threads[active].node = node;
            config.threads[active].locals = store[config.globals.len()..].to_vec();
            config
        };
        entries.map(enter).collect()
    }

    /// Makes a thread active.
    fn activate(
        &mut self,
        config: &Config,
        active: usize,
        work: &mut Vec<Config>,
    ) -> Result<(), Refusal> {
        for config in self.activated(config, active) {
            self.add(config, work)?;
        }
        Ok(())
    }

    /// Whether no thread can move, and not all have ended. The locals of a thread that has not been
    /// active have some value already: there is one with which it is blocked.
    fn is_stuck(&self, config: &Config) -> bool {
        let active = &config.threads[config.active];
        if end_of_init(self.program).is_some() && config.active == 0 {
            // Others follow only if it comes to `endinit`. If it ends elsewhere, that is the end.
            let over = end_of_init(self.program) == Some(NodeId(active.node as u32));
            return !active.ended && !over && !self.can_move(&config.globals, active);
        }
        if active.atomic && !active.ended {
            return !self.can_move(&config.globals, active);
        }
        let mut left = config.threads.iter().filter(|thread| !thread.ended);
        let blocked = |thread: &Thread| match thread.fresh {
            None => !self.can_move(&config.globals, thread),
            Some(procedure) => {
                let entries = self.system.entries(procedure, &config.globals);
                entries.into_iter().any(|(node, store)| {
                    let mut thread = thread.clone();
                    thread.node = node;
                    thread.locals = store[config.globals.len()..].to_vec();
                    !self.can_move(&config.globals, &thread)
                })
            }
        };
        left.clone().next().is_some() && left.all(blocked)
    }

    /// Whether something can happen where the thread is.
    fn can_move(&self, globals: &[i128], thread: &Thread) -> bool {
        let store = [globals, &thread.locals].concat();
        match &self.program.nodes[thread.node].op {
            Op::AtomicBegin(to) | Op::AtomicEnd(to) | Op::StartThread { next: to, .. } => {
                let steps = self
                    .system
                    .go(thread.node, &store, store.clone(), None, *to);
                !steps.is_empty()
            }
            Op::EndThread => true,
            _ => (self.system.steps(thread.node, &store).into_iter()).any(|step| match step {
                Step::Return(exit) => thread.calls.last().is_none_or(|(node, caller)| {
                    !self.system.resume(*node, caller, &exit).is_empty()
                }),
                _ => true,
            }),
        }
    }

    /// All that can happen next.
    fn visit(
        &mut self,
        config: &Config,
        level: usize,
        work: &mut Vec<Config>,
        later: &mut HashSet<Config>,
    ) -> Result<(), Refusal> {
        if self.is_stuck(config) {
            self.found.stuck.get_or_insert(level);
        }
        let thread = &config.threads[config.active];
        let others = (0..config.threads.len())
            .filter(|&i| i != config.active && !config.threads[i].ended)
            .collect::<Vec<_>>();
        if !thread.ended {
            let node = NodeId(thread.node as u32);
            self.found.reached.entry(node).or_insert(level);
            let init = end_of_init(self.program);
            if init.is_some() && config.active == 0 {
                if init == Some(node) {
                    // `init` is over, and is never active again.
                    let mut config = config.clone();
                    config.threads[0].ended = true;
                    for other in others {
                        self.activate(&config, other, work)?;
                    }
                    return Ok(());
                }
                return self.step(config, level, work);
            }
            self.step(config, level, work)?;
            if thread.atomic {
                return Ok(());
            }
        } else if end_of_init(self.program).is_some() && config.active == 0 {
            // `init` has ended elsewhere: nothing follows.
            return Ok(());
        }
        if let Some(flag) = self.flag
            && (config.globals[flag] != 0 || !thread.calls.is_empty())
        {
            return Ok(());
        }
        for other in others {
            let now = self.bounds.levels == Levels::Rounds && other > config.active;
            if now {
                self.activate(config, other, work)?;
            } else if level < self.bounds.most {
                let configs = self.activated(config, other).into_iter();
                later.extend(configs.filter(|config| !self.seen.contains(config)));
                if later.len() > self.bounds.configurations {
                    return Err(Refusal::TooLarge);
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, level: usize) {
        self.found.failed.get_or_insert(level);
    }

    /// The steps of the active thread.
    fn step(
        &mut self,
        config: &Config,
        level: usize,
        work: &mut Vec<Config>,
    ) -> Result<(), Refusal> {
        let thread = &config.threads[config.active];
        let store = [&config.globals[..], &thread.locals].concat();
        let globals = config.globals.len();
        // The configuration after a step within the procedure.
        let after = |node: usize, store: &[i128]| {
            let mut next = config.clone();
            next.globals = store[..globals].to_vec();
            next.threads[config.active].node = node;
            next.threads[config.active].locals = store[globals..].to_vec();
            next
        };
        let op = &self.program.nodes[thread.node].op;
        if let Op::AtomicBegin(to) | Op::AtomicEnd(to) | Op::StartThread { next: to, .. } = op {
            for step in self
                .system
                .go(thread.node, &store, store.clone(), None, *to)
            {
                let Step::To(node, store) = step else {
                    self.fail(level);
                    continue;
                };
                let mut next = after(node, &store);
                match op {
                    Op::AtomicBegin(_) => next.threads[config.active].atomic = true,
                    Op::AtomicEnd(_) => next.threads[config.active].atomic = false,
                    Op::StartThread { start, .. } => {
                        if next.threads.len() >= self.bounds.threads {
                            self.found.complete = false;
                            continue;
                        }
                        next.threads.push(Thread {
                            fresh: None,
                            ended: false,
                            atomic: false,
                            node: start.0 as usize,
                            locals: thread.locals.clone(),
                            calls: Vec::new(),
                        });
                    }
                    _ => {}
                }
                self.add(next, work)?;
            }
            return Ok(());
        }
        if matches!(op, Op::EndThread) {
            return self.end(config, work);
        }
        for step in self.system.steps(thread.node, &store) {
            match step {
                Step::To(node, store) => self.add(after(node, &store), work)?,
                Step::Fail(_) => self.fail(level),
                Step::Call(callee, entry) => {
                    if thread.calls.len() >= self.bounds.stack {
                        self.found.complete = false;
                        continue;
                    }
                    for (node, entered) in self.system.entries(callee, &entry) {
                        let mut next = after(node, &entered);
                        let calls = &mut next.threads[config.active].calls;
                        calls.push((thread.node, store.clone()));
                        self.add(next, work)?;
                    }
                }
                Step::Return(exit) => {
                    let Some((node, caller)) = thread.calls.last() else {
                        self.end(config, work)?;
                        continue;
                    };
                    for step in self.system.resume(*node, caller, &exit) {
                        match step {
                            Step::To(node, store) => {
                                let mut next = after(node, &store);
                                next.threads[config.active].calls.pop();
                                self.add(next, work)?;
                            }
                            _ => self.fail(level),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The active thread ends.
    fn end(&mut self, config: &Config, work: &mut Vec<Config>) -> Result<(), Refusal> {
        let mut next = config.clone();
        next.threads[config.active] = Thread {
            fresh: None,
            ended: true,
            atomic: false,
            node: 0,
            locals: Store::new(),
            calls: Vec::new(),
        };
        self.add(next, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parse;
    use droste_lang::lower::lower;

    /// The least number of switches, and of rounds, with which `label` is reached.
    fn least(text: &str, label: &str) -> [Option<usize>; 2] {
        let (program, _) = lower(&parse(text));
        let program = program.expect("a program");
        let nodes = droste_program::labels::find(&program, label).expect("the label");
        [Levels::Switches, Levels::Rounds].map(|levels| {
            let bounds = Bounds {
                levels,
                most: 6,
                stack: 3,
                threads: 4,
                configurations: 100_000,
            };
            let found = interleave(&program, bounds).expect("small");
            nodes
                .iter()
                .filter_map(|node| found.reached.get(node))
                .min()
                .copied()
        })
    }

    #[test]
    fn switches_and_rounds_are_counted() {
        let text = "decl a, b;
            void main() begin a, b := F, F; start_thread one(); start_thread two(); M: skip; end
            void one() begin ONE: a := T; assume(b); HIT: skip; end
            void two() begin assume(a); b := T; end";
        assert_eq!(least(text, "M"), [Some(0), Some(1)]);
        assert_eq!(least(text, "ONE"), [Some(1), Some(1)]);
        assert_eq!(least(text, "HIT"), [Some(3), Some(2)]);
    }

    /// The least number of switches with which a run is stuck.
    fn stuck(text: &str) -> Option<usize> {
        let (program, _) = lower(&parse(text));
        let bounds = Bounds {
            levels: Levels::Switches,
            most: 6,
            stack: 3,
            threads: 4,
            configurations: 100_000,
        };
        let found = interleave(&program.expect("a program"), bounds).expect("small");
        found.stuck
    }

    #[test]
    fn stuck_is_where_no_thread_can_move() {
        let two = |one: &str, two: &str| {
            format!(
                "decl a, b; void main() begin a, b := F, F; start_thread one(); start_thread two(); end
                 void one() begin {one} end void two() begin {two} end"
            )
        };
        // All have ended; one waits for ever, also if it has never been active.
        assert_eq!(stuck(&two("a := T;", "b := T;")), None);
        assert_eq!(stuck(&two("assume(a);", "a := T;")), None);
        assert_eq!(stuck(&two("assume(a);", "b := T;")), Some(2));
        // Two locks, in the same order and in opposite order.
        let ab = "assume(!a); a := T; assume(!b); b := T; b := F; a := F;";
        let ba = "assume(!b); b := T; assume(!a); a := T; a := F; b := F;";
        assert_eq!(stuck(&two(ab, ab)), None);
        assert_eq!(stuck(&two(ab, ba)), Some(2));
        // A thread that is blocked inside an atomic section stays active, and nobody can help it.
        assert_eq!(stuck(&two("atomic_begin; assume(a);", "a := T;")), Some(1));
        // `init` that is stuck, and one that returns.
        let init = |text: &str| {
            format!(
                "decl a; void init() begin {text} endinit: skip; end void thread1() begin skip; end"
            )
        };
        assert_eq!(stuck(&init("assume(a);")), Some(0));
        assert_eq!(stuck(&init("return;")), None);
    }

    #[test]
    fn static_threads_start_anywhere_after_init() {
        let text = "decl a; void init() begin a := F; endinit: skip; NEVER: skip; end
            void thread1() begin assume(a); HIT: skip; end
            void thread2() begin FIRST: a := T; end";
        assert_eq!(least(text, "FIRST"), [Some(0), Some(1)]);
        assert_eq!(least(text, "HIT"), [Some(1), Some(2)]);
        assert_eq!(least(text, "NEVER"), [None, None]);
    }

    #[test]
    fn no_switch_inside_an_atomic_section() {
        let text = "decl a;
            thread A begin void main() begin atomic_begin; a := F; f(); assert(!a); BAD: assume(a); NO: skip; end
              void f() begin atomic_begin; skip; end end
            thread B begin void main() begin a := T; end end";
        assert_eq!(least(text, "NO"), [None, None]);
        let ends = text.replace("BAD:", "BAD: atomic_end;");
        assert_eq!(least(&ends, "NO"), [Some(2), Some(2)]);
    }
}
