//! Programs with threads, context by context. There are four methods: lists of configurations
//! without diagrams (`few`), counts of started threads (`few/counted`), sets of whole
//! configurations (`product`), and tuples (`contexts`). This file drives them. It begins with
//! lists, or with counts if there are too many threads to list. If that takes long, sets of
//! configurations run in turns with it. Tuples come last, if the other methods do not decide the
//! question.
//!
//! **Tuples** are the predicate *Reach* of La Torre, Madhusudan and Parlato, *Analyzing Recursive Programs
//! using a Fixed-point Calculus* (PLDI 2009), section 5.1, with control, thread, and the numbers of
//! switches taken out of the relation. For context number *c*, thread *t*, the context *ec* in
//! which the procedure was entered, and a node, there is a set of tuples
//!
//! > (values at the entry, values now, g₁ … g_c, t₀ … t_{c−1}):
//!
//! Such a tuple says: some run has its first contexts by these threads, the shared globals are gᵢ
//! when context *i* begins, and thread *t* is now at the node. All tuples that are combined agree
//! on the gᵢ and tᵢ, which never change. So the runs of different threads fit together.
//!
//! * A thread that is switched to for the first time begins at its beginning, with the globals of
//!   the switch.
//! * A thread that is switched back to goes on from a tuple of its last context *c″* whose globals
//!   were g_{c″+1} then. (The paper's formula does not say so; without it a thread could go on from
//!   a state it was not left in.)
//! * A return joins callers of context *ec* with exits of context *c*.
//!
//! Contexts are explored one after the other; what has been computed for one context is used for
//! all later ones.
//!
//! **Threads that are started** are numbered in the order of their starts, as far as they ever
//! become active. How many there are is one more shared global. The frame with which thread number
//! *j* begins is a further vector that never changes. When a thread is started, either it will
//! never be active, or its frame is this vector of the next number *j*.
//!
//! The answer to a violated question is a schedule: threads, globals at the switches, frames of
//! started threads. The crate `threads` rebuilds a concrete run from it, which is replayed.
//!
//! What keeps it honest: `check/tests/concurrent.rs` compares each method, and all of them together, with
//! all interleavings.

mod contexts;
mod few;
mod park;
mod prepare;
mod product;
mod schedule;
mod seeds;

use droste_base::{Limits, Progress, on_worker};
use droste_blast::bits;
use droste_program::concurrent::{declared, most_started};
use droste_program::schedule::{Finding, Levels, Schedule, ThreadQuery, shared};
use droste_program::{ProcId, Program, Threads};

use crate::{Query, Stats, Tuning};
use contexts::Search;
use few::{Enumeration, Pace, counted, few};
use prepare::Prepared;
use product::{MOST_CALLS, Product, Stacks};

/// What is heard while the engine works.
#[derive(Clone, Copy, Debug)]
pub enum News {
    /// How far it has come.
    Progress(Progress),
    /// It looks at this number of switches, or rounds.
    Level(usize),
}

/// The engine takes threads with larger stacks where it needs them.
const STACK: usize = 1 << 21;

/// The search without diagrams, unless it is of no use.
type List<'a> = Option<Box<dyn Enumeration + 'a>>;

/// What has come of the search without diagrams.
pub enum Begun<'a> {
    /// An answer.
    Answer(Finding, Stats),
    /// It takes longer, or is of no use.
    Rest(Rest<'a>),
}

/// What is left to do when the search without diagrams has gone on for a while.
pub struct Rest<'a> {
    question: &'a PreparedQuery<'a>,
    tuning: Tuning,
    list: List<'a>,
    /// The last level that has been explored completely.
    done: Option<usize>,
    stats: Stats,
    /// Why that was not enough.
    pub obstacle: Obstacle,
}

/// Why a search without diagrams has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It takes longer.
    Time,
    /// A variable has many values.
    Values,
    /// More threads may become active than are told apart.
    Threads,
    /// Stacks may be of any height.
    Stacks,
}

/// Searches with more and more switches, or rounds: without diagrams as long as that takes hardly
/// longer than making them (`few`), then with both in turns.
pub fn reach(
    query: &ThreadQuery<'_>,
    tuning: Tuning,
    limits: &Limits,
    listen: impl FnMut(News),
) -> (Finding, Stats) {
    begin(query, tuning, limits, listen, |begun, listen| match begun {
        Begun::Answer(found, stats) => (found, stats),
        Begun::Rest(rest) => rest.finish(limits, listen),
    })
}

/// Searches without diagrams for a while. `then` gets what has come of that.
pub fn begin<L: FnMut(News), R>(
    query: &ThreadQuery<'_>,
    tuning: Tuning,
    limits: &Limits,
    mut listen: L,
    then: impl FnOnce(Begun<'_>, L) -> R,
) -> R {
    let declared: Vec<ProcId> = declared(query.program)
        .iter()
        .map(|thread| thread.procedure)
        .collect();
    let shared = shared(query.program);
    let question = PreparedQuery {
        program: query.program,
        declared: &declared,
        shared: &shared,
        query: Query {
            targets: query.target.nodes(),
            violations: query.target.violations(),
            stops: false,
        },
        most_started: most_started(query.program),
        rounds: query.levels == Levels::Rounds,
        most: query.most,
    };
    let mut stats = Stats::default();
    let (counted_prepared, counted_machine);
    let rest = |list, done, stats, obstacle| {
        Begun::Rest(Rest {
            question: &question,
            tuning,
            list,
            done,
            stats,
            obstacle,
        })
    };
    if tuning.few == 0 {
        return then(rest(None, None, stats, Obstacle::Stacks), listen);
    }
    let capacity = question.few_capacity();
    let prepared = Prepared::new(&question, capacity);
    let (machine, target) = few::machine(&prepared, &question);
    let list = few(&prepared, &question, (&machine, target), capacity);
    let (mut done, mut obstacle) = (None, Obstacle::Stacks);
    let begun = match list {
        Err(reason) => Some(Begun::Answer(Finding::Stopped(reason, None), stats)),
        Ok(None) => None,
        Ok(Some(mut list)) => {
            let pace = list.go_on(tuning.few, limits, &mut |level| listen(News::Level(level)));
            stats.configurations = list.configurations();
            done = list.done();
            match pace {
                Err(reason) => Some(Begun::Answer(Finding::Stopped(reason, done), stats)),
                Ok(Pace::Answer(found)) => Some(Begun::Answer(found, stats)),
                Ok(Pace::More) => Some(rest(Some(list), done, stats, Obstacle::Time)),
                Ok(Pace::Over(Obstacle::Threads)) => {
                    obstacle = Obstacle::Threads;
                    None
                }
                Ok(Pace::Over(obstacle)) => Some(rest(None, done, stats, obstacle)),
            }
        }
    };
    if let Some(begun) = begun {
        return then(begun, listen);
    }
    // Too many threads to tell them apart: they are counted.
    counted_prepared = Prepared::new(&question, few::SLOTS);
    counted_machine = few::machine(&counted_prepared, &question);
    let parts = (&counted_machine.0, counted_machine.1);
    let pace = counted(&counted_prepared, &question, parts).and_then(|mut list| {
        let pace = list.go_on(tuning.few, limits, &mut |_| {})?;
        stats.configurations += list.configurations();
        Ok((list, pace))
    });
    let begun = match pace {
        Err(reason) => Begun::Answer(Finding::Stopped(reason, done), stats),
        Ok((_, Pace::Answer(found))) => Begun::Answer(found, stats),
        Ok((list, Pace::More)) => rest(Some(list), done, stats, obstacle),
        Ok((_, Pace::Over(_))) => rest(None, done, stats, obstacle),
    };
    then(begun, listen)
}

impl Rest<'_> {
    /// Goes on, with diagrams and without in turns.
    pub fn finish(self, limits: &Limits, listen: impl FnMut(News)) -> (Finding, Stats) {
        let mut stats = self.stats;
        let (question, mut done) = (self.question, self.done);
        on_worker(STACK, listen, |tell| {
            let report = |progress| tell(News::Progress(progress));
            let level = |level| tell(News::Level(level));
            let with = (self.tuning, self.list, &mut done);
            let found = by_configurations(question, with, limits, &report, &level, &mut stats)
                .or_else(|list| alone(list, limits, done, &mut stats))
                .unwrap_or_else(|()| {
                    by_tuples(question, done, limits, &report, &level, &mut stats)
                });
            (found, stats)
        })
    }
}

/// What is asked, and what follows from the program's text.
#[derive(Clone, Copy, Debug)]
struct PreparedQuery<'a> {
    program: &'a Program,
    /// What the threads that exist from the start execute, in the order of their numbers; `init`
    /// is number 0.
    declared: &'a [ProcId],
    /// The globals that threads share.
    shared: &'a [u32],
    query: Query<'a>,
    /// The most threads that are ever started.
    most_started: usize,
    /// Whether rounds are bounded, rather than switches.
    rounds: bool,
    /// The bound, if there is one.
    most: Option<usize>,
}

impl PreparedQuery<'_> {
    /// How many started threads may ever be active, at first.
    fn first_capacity(&self) -> usize {
        if self.rounds {
            // More than that are for the search by tuples.
            self.most_started.min(product::MOST_STARTED + 1)
        } else {
            self.most.unwrap_or(4).min(product::MOST_STARTED)
        }
    }

    /// The same for the search without diagrams, as far as it can tell threads apart.
    fn few_capacity(&self) -> usize {
        let capacity = self.first_capacity();
        if self.rounds {
            return capacity;
        }
        // After `init`, one thread more may be active.
        let init = matches!(self.program.threads, Threads::Init { .. });
        let others = self.declared.len() + usize::from(init);
        capacity.min(few::MOST_THREADS.saturating_sub(others))
    }
}

/// The search without diagrams, where there are too many threads for diagrams: tuples get nowhere then,
/// either.
fn alone(
    list: List<'_>,
    limits: &Limits,
    done: Option<usize>,
    stats: &mut Stats,
) -> Result<Finding, ()> {
    let mut list = list.ok_or(())?;
    loop {
        let pace = list.go_on(TURN_ALONE, limits, &mut |_| {});
        stats.configurations = list.configurations();
        match pace {
            Err(reason) => return Ok(Finding::Stopped(reason, done.max(list.done()))),
            Ok(Pace::Answer(found)) => return Ok(found),
            Ok(Pace::More) => {}
            Ok(Pace::Over(_)) => return Err(()),
        }
    }
}

/// Bits of all variables of the program.
fn all_bits(program: &Program) -> usize {
    let all: usize = program.globals.iter().map(|v| bits(v.ty)).sum();
    let locals = program
        .procedures
        .iter()
        .flat_map(|p| &p.locals)
        .map(|v| bits(v.ty));
    all + locals.sum::<usize>()
}

/// Nothing within the bound; what is beyond it is not known.
const NOTHING: Finding = Finding::Nothing { exhaustive: false };

/// The first attempt has copies of the globals for at most this number of switches.
const MOST: usize = 30;

/// A turn of the search without diagrams that goes on alone.
const TURN_ALONE: u64 = 1 << 16;

/// Where folded stacks meet a target, stacks with this many open calls more are searched first.
const MORE_CALLS: usize = 2;

/// Whole configurations. If there are too many threads, or stacks are too high, there is no answer.
fn by_configurations<'a>(
    question: &'a PreparedQuery<'_>,
    (tuning, mut list, done): (Tuning, List<'a>, &mut Option<usize>),
    limits: &Limits,
    report: &'a (dyn Fn(Progress) + Sync),
    level: &(dyn Fn(usize) + Sync),
    stats: &mut Stats,
) -> Result<Finding, List<'a>> {
    let mut guard = limits.guard();
    let mut capacity = question.first_capacity();
    let mut stacks = Stacks::Small;
    loop {
        let attempt = Prepared::new(question, capacity);
        let threads = question.declared.len() + attempt.slots;
        let found = guard.check_now().and_then(|()| {
            let variables = (all_bits(question.program) + 64) * 2 * (threads + 1) * 17;
            droste_bdd::on_large_stack(variables, || {
                let product = Product::new(&attempt, question, (tuning, stacks), limits, report)?;
                let Some(mut product) = product else {
                    return Ok(product::Answer::Deep);
                };
                product.list = list.take();
                let found = product.search(capacity, level, done);
                product.count(stats);
                list = product.list.take();
                found
            })
        });
        match found {
            Err(reason) => {
                let list = list.as_ref().and_then(|list| list.done());
                return Ok(Finding::Stopped(reason, list.max(*done)));
            }
            Ok(product::Answer::Found(found)) => return Ok(found),
            Ok(product::Answer::Hit(schedule, level)) => {
                return Ok(Finding::Hit(schedule, level));
            }
            Ok(product::Answer::Nothing { exhaustive }) => {
                return Ok(Finding::Nothing { exhaustive });
            }
            Ok(product::Answer::Capacity) => capacity *= 2,
            Ok(product::Answer::Perhaps(level, calls)) => {
                stacks = Stacks::Cut((calls + MORE_CALLS).min(MOST_CALLS), Some(level));
            }
            Ok(product::Answer::Deep) => {
                stacks = match stacks {
                    Stacks::Small => Stacks::Folded,
                    Stacks::Folded => Stacks::Cut(MOST_CALLS, None),
                    Stacks::Cut(MOST_CALLS, _) => return Err(list),
                    Stacks::Cut(_, first) => Stacks::Cut(MOST_CALLS, first),
                }
            }
        }
    }
}

/// Tuples over all switches.
fn by_tuples(
    question: &PreparedQuery<'_>,
    known: Option<usize>,
    limits: &Limits,
    report: &(dyn Fn(Progress) + Sync),
    level: &(dyn Fn(usize) + Sync),
    stats: &mut Stats,
) -> Finding {
    let mut guard = limits.guard();
    let mut capacity = if question.rounds {
        8
    } else {
        question.most.unwrap_or(4).min(MOST)
    };
    let mut rounds = 1;
    let mut done = None;
    loop {
        if question.rounds {
            level(rounds);
        }
        let attempt = Prepared::new(question, capacity);
        let found = guard.check_now().and_then(|()| {
            let bound = question.rounds.then_some(rounds);
            let variables = (all_bits(question.program) + 64) * (capacity + 6);
            droste_bdd::on_large_stack(variables, || {
                let mut search = Search::new(&attempt, question, capacity, bound, limits, report)?;
                let found = search.run(question.most, level, &mut done);
                search.count(stats);
                found
            })
        });
        match found {
            Err(reason) => return Finding::Stopped(reason, known.max(done)),
            Ok(Answer::Hit(schedule, level)) => return Finding::Hit(schedule, level),
            Ok(Answer::Exhausted) if question.rounds => {
                done = Some(rounds);
                if question.most == Some(rounds) {
                    return NOTHING;
                }
                rounds += 1;
            }
            Ok(Answer::Exhausted) => return NOTHING,
            Ok(Answer::Capacity) => capacity *= 2,
        }
    }
}

enum Answer {
    Hit(Schedule, usize),
    /// There are no more contexts to explore.
    Exhausted,
    /// More contexts than there are copies for.
    Capacity,
}
