//! pre* and post* on several cores.
//!
//! Each procedure has an owner, a core, and each transition belongs to the owner of its procedure. Owners
//! saturate on their own, with tables of their own. They send each other messages about procedures of the
//! other: in post* the first call of a callee, and back its summaries, while what is behind a call stays
//! with the caller; in pre* how callees have been popped. So there is a message for each callee, not for each
//! call. Procedures that are neighbours in the order of calls have the same owner, so most calls need no
//! message. Weights only get better, and the least fixed point is the same in whatever order it is reached.
//! So the answer does not depend on the number of cores.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use droste_base::StopReason;

use crate::automaton::{Automaton, Direction, Transition};
use crate::domain::Domain;
use crate::post::{Middles, Own, Post};
use crate::pre::Pre;
use crate::procedures::Procedures;
use crate::saturate::{Goal, Options};
use crate::system::{Pds, SymbolId};

/// After how many transitions the mail is looked at.
const PACE: usize = 512;

/// How many blocks of procedures each owner has. With more, calls lead to other owners more often;
/// with fewer, one owner may wait for what another finds.
const BLOCKS: u32 = 8;

/// Who owns which procedure, and what is to be sent to others.
pub(crate) struct Mail<M> {
    me: u8,
    /// For each symbol, who owns its procedure. Empty for one who owns everything.
    owners: Arc<[u8]>,
    out: Vec<Vec<M>>,
}

/// For each symbol, who owns its procedure. Procedures that are close to each other in the order of
/// calls have the same owner, as far as all have about the same number.
fn owners(threads: u32, procedures: &Procedures, symbols: u32) -> Arc<[u8]> {
    if threads == 1 {
        return Arc::new([]);
    }
    let block = procedures.count().div_ceil(threads * BLOCKS).max(1);
    let owner = |procedure| ((procedure / block) % threads) as u8;
    let of: Vec<u8> = (0..procedures.count()).map(owner).collect();
    let symbols = 0..symbols.max(1);
    symbols
        .map(|symbol| of[procedures.of(symbol) as usize])
        .collect()
}

impl<M> Mail<M> {
    /// For one who owns everything.
    pub(crate) fn none() -> Self {
        Mail {
            me: 0,
            owners: Arc::new([]),
            out: Vec::new(),
        }
    }

    fn of(me: u32, threads: u32, owners: Arc<[u8]>) -> Self {
        Mail {
            me: me as u8,
            owners,
            out: (0..threads).map(|_| Vec::new()).collect(),
        }
    }

    /// The owner of the procedure of a symbol, if it is another. Symbols that no rule has are the
    /// first one's.
    #[inline]
    pub(crate) fn other(&self, symbol: SymbolId) -> Option<u32> {
        if !self.is_shared() {
            return None;
        }
        let owner = self.owners.get(symbol.0 as usize).copied().unwrap_or(0);
        (owner != self.me).then_some(u32::from(owner))
    }

    /// The number of this owner.
    pub(crate) fn me(&self) -> u32 {
        u32::from(self.me)
    }

    /// Whether there are others at all.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        !self.owners.is_empty()
    }

    #[inline]
    pub(crate) fn send(&mut self, owner: u32, message: M) {
        self.out[owner as usize].push(message);
    }
}

/// One who saturates, and gets mail.
pub(crate) trait Worker {
    type Message: Send;

    /// Handles the next transition that has grown. `false` if there is none.
    fn go(&mut self) -> Result<bool, StopReason>;

    /// Handles a message.
    fn receive(&mut self, message: Self::Message) -> Result<(), StopReason>;

    fn mail(&mut self) -> &mut Mail<Self::Message>;
}

/// What all workers see.
struct Office<M> {
    inboxes: Vec<Vec<M>>,
    /// Who waits for mail. Whoever gets some does not any more.
    idle: Vec<bool>,
    stopped: Option<StopReason>,
}

/// Lets all work until nobody has anything to do. Each makes its worker and looks at what it has
/// found by itself.
fn work<T: Worker, R: Send>(
    threads: u32,
    owners: &Arc<[u8]>,
    make: impl Fn(Mail<T::Message>) -> Result<T, StopReason> + Sync,
    finish: impl Fn(T) -> R + Sync,
) -> Result<Vec<R>, StopReason> {
    let office = Mutex::new(Office {
        inboxes: (0..threads).map(|_| Vec::new()).collect(),
        idle: vec![false; threads as usize],
        stopped: None,
    });
    let bell = Condvar::new();
    let run = |me: u32| {
        let worker = make(Mail::of(me, threads, owners.clone())).and_then(|mut worker| {
            serve(&mut worker, me as usize, &office, &bell)?;
            Ok(worker)
        });
        match worker {
            Ok(worker) => Some(finish(worker)),
            Err(reason) => {
                lock(&office).stopped = Some(reason);
                bell.notify_all();
                None
            }
        }
    };
    let found: Vec<R> = std::thread::scope(|scope| {
        let run = &run;
        let others: Vec<_> = (1..threads)
            .map(|me| scope.spawn(move || run(me)))
            .collect();
        let mine = run(0);
        let others = others.into_iter().filter_map(|other| match other.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        mine.into_iter().chain(others).collect()
    });
    let office = office.into_inner().unwrap_or_else(PoisonError::into_inner);
    match office.stopped {
        Some(reason) => Err(reason),
        None => Ok(found),
    }
}

fn lock<M>(office: &Mutex<Office<M>>) -> MutexGuard<'_, Office<M>> {
    office.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve<T: Worker>(
    worker: &mut T,
    me: usize,
    office: &Mutex<Office<T::Message>>,
    bell: &Condvar,
) -> Result<(), StopReason> {
    loop {
        let mut busy = true;
        for _ in 0..PACE {
            busy = worker.go()?;
            if !busy {
                break;
            }
        }
        let mut office = lock(office);
        for (to, out) in worker.mail().out.iter_mut().enumerate() {
            if !out.is_empty() {
                office.inboxes[to].append(out);
                office.idle[to] = false;
                bell.notify_all();
            }
        }
        if !busy && office.inboxes[me].is_empty() {
            office.idle[me] = true;
            let all = |office: &Office<_>| office.idle.iter().all(|idle| *idle);
            while office.idle[me] && !all(&office) && office.stopped.is_none() {
                office = bell.wait(office).unwrap_or_else(PoisonError::into_inner);
            }
            if office.idle[me] {
                // All are idle, and nothing is on its way.
                bell.notify_all();
                return Ok(());
            }
        }
        if office.stopped.is_some() {
            return Ok(());
        }
        let inbox = std::mem::take(&mut office.inboxes[me]);
        drop(office);
        for message in inbox {
            worker.receive(message)?;
        }
    }
}

/// How many threads work. A weight that falls for ever is found by one only, and so is a run.
pub(crate) fn at_work<D: Domain>(threads: u32, domain: &D, options: &Options) -> u32 {
    if domain.bottom().is_some() || options.witness {
        return 1;
    }
    threads.clamp(1, 64)
}

/// [`crate::prestar`] by chaotic iteration on that many threads.
pub fn prestar_on<D: Domain + Sync>(
    threads: u32,
    domain: &D,
    pds: &Pds<D::Weight>,
    to: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason>
where
    D::Weight: Send + Sync,
{
    let target = to.normalised(domain)?;
    // What all look at is made before.
    pds.right();
    pds.pops();
    let make = |mail| Pre::with(domain, pds, &target, (options, Goal(None)), mail);
    let threads = at_work(threads, domain, options);
    let owners = owners(threads, pds.procedures(), pds.symbols());
    let found = work(threads, &owners, make, Pre::own)?;
    let mut automaton = target.bare(Direction::Forward);
    automaton.fill_from(found);
    Ok(automaton)
}

/// [`crate::poststar`] by chaotic iteration on that many threads.
pub fn poststar_on<D: Domain + Sync>(
    threads: u32,
    domain: &D,
    pds: &Pds<D::Weight>,
    from: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason>
where
    D::Weight: Send + Sync,
{
    let start = from.normalised(domain)?;
    let middles = Middles::new(pds, start.states());
    let make = |mail| {
        let how = (options, Goal(None));
        Post::with(domain, pds, &start, middles, how, mail)
    };
    let threads = at_work(threads, domain, options);
    let owners = owners(threads, pds.procedures(), pds.symbols());
    let found = work(threads, &owners, make, Post::own)?;
    // What more than one may have is put together at the end.
    let (mut own, mut common, mut trim) = (Vec::new(), Vec::new(), start.is_trim());
    for Own {
        transitions,
        others,
        all,
    } in found
    {
        own.push(transitions);
        common.extend(others);
        trim &= all;
    }
    let mut automaton = start.bare(Direction::Backward);
    while automaton.states() < middles.states() {
        automaton.state();
    }
    common.sort_by_key(|(transition, _): &(Transition, _)| *transition);
    let mut last: (Vec<Transition>, Vec<D::Weight>) = (Vec::new(), Vec::new());
    for (transition, weight) in common {
        match last.1.last_mut() {
            Some(known) if last.0.last() == Some(&transition) => {
                *known = domain.combine(known, &weight)?;
            }
            _ => {
                last.0.push(transition);
                last.1.push(weight);
            }
        }
    }
    own.push(last);
    automaton.fill_from(own);
    Ok(if trim { automaton } else { automaton.trimmed() })
}
