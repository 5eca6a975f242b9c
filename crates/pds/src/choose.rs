//! A run that has a weight, chosen from records step by step.
//!
//! Where weights are not totally ordered, a transition's weight combines those of many runs, and some of
//! these may have the weight zero in the run that is being built. For example, if a symbol can be popped
//! with the weight `{0->1}` or `{1->0}`, and two such symbols are popped, then either may come first, but
//! the second must be the other one. So each choice takes into account the weight of the moves before it,
//! which have been chosen, and the combined weight of all that may still come behind it.
//!
//! A choice never has to be taken back: `extend` and `merge` distribute over `combine`. So if the combined
//! weight of all candidates for a place is not zero there, that of at least one candidate is not.

use rustc_hash::FxHashMap;

use crate::domain::Domain;
use crate::saturate::NONE;
use crate::system::MergeId;
use crate::witness::{Folder, Move, Part};

/// How many weights are computed at most for choices.
const MOST: usize = 2_000_000;

/// The runs of a transition and of what it calls, its own last. `None` if the transition weighs
/// nothing, or if choosing would take too long.
pub(crate) fn chosen<D: Domain>(
    folder: &Folder<'_, D::Weight>,
    domain: &D,
    transition: u32,
) -> Option<Vec<Vec<Move>>> {
    let mut choice = Choice {
        folder,
        domain,
        sums: Sums::new(folder, domain)?,
        runs: Vec::new(),
        known: FxHashMap::default(),
        frames: Vec::new(),
        holes: Vec::new(),
        effort: 0,
    };
    choice.make(transition)?;
    Some(choice.runs)
}

/// The weights of records.
struct Sums<W> {
    /// What a record stands for.
    own: Vec<W>,
    /// The same, combined with all older records of its transition.
    all: Vec<W>,
}

impl<W: Clone> Sums<W> {
    fn new<D: Domain<Weight = W>>(folder: &Folder<'_, W>, domain: &D) -> Option<Self> {
        let of = folder.records.transitions();
        let mut sums = Sums {
            own: Vec::with_capacity(of.len()),
            all: Vec::with_capacity(of.len()),
        };
        // For each transition its newest record so far.
        let mut newest: FxHashMap<u32, usize> = FxHashMap::default();
        let mut parts = Vec::new();
        for (record, transition) in (0..).zip(of) {
            folder.check()?;
            parts.clear();
            (folder.parts)(folder.records.get(record), record, &mut parts);
            let known = |transition, _| newest.get(&transition).map(|&record| &sums.all[record]);
            let mut own = domain.one();
            for (_, weight) in weighed(folder, domain, &parts, known)? {
                own = domain.extend(&own, &weight).ok()?;
            }
            let older = newest.insert(transition, record as usize);
            let all = match older {
                Some(older) => domain.combine(&sums.all[older], &own).ok()?,
                None => own.clone(),
            };
            sums.own.push(own);
            sums.all.push(all);
        }
        Some(sums)
    }
}

/// What parts are in a run, with the weight of all that each may be. `known` gives the weight of a
/// transition before a time.
fn weighed<'w, D: Domain>(
    folder: &Folder<'_, D::Weight>,
    domain: &D,
    parts: &[Part],
    known: impl Fn(u32, u32) -> Option<&'w D::Weight>,
) -> Option<Vec<(Next, D::Weight)>>
where
    D::Weight: 'w,
{
    let pds = &folder.question.pds;
    let known = |transition, time| known(transition, time).cloned();
    let mut all: Vec<(Next, D::Weight)> = Vec::with_capacity(parts.len());
    for &part in parts {
        let next = match part {
            Part::Rule(rule) => (Next::Rule(rule), pds.weight(rule).clone()),
            Part::Tree(transition, time) => {
                (Next::Tree(transition, time), known(transition, time)?)
            }
            Part::Callee(callee, time) => {
                let mut weight = known(callee, time)?;
                let mut merge = None;
                if let Some((Next::Rule(rule), before)) = all.last_mut()
                    && folder.has_returned(callee)
                {
                    merge = pds.rules()[*rule as usize].merge;
                    if let Some(merge) = merge {
                        // It takes the place of the rule's weight.
                        *before = domain.one();
                        weight = domain.merge(merge, &domain.one(), &weight).ok()?;
                    }
                }
                (Next::Callee(callee, time, merge), weight)
            }
        };
        all.push(next);
    }
    Some(all)
}

/// What is to be done in a run.
#[derive(Clone, Copy)]
enum Next {
    Rule(u32),
    /// One of the records of a transition before a time is to be chosen.
    Tree(u32, u32),
    /// The same, for a callee, which a merge function may take.
    Callee(u32, u32, Option<MergeId>),
}

/// A run that is being made.
struct Frame<W> {
    transition: u32,
    moves: Vec<Move>,
    /// What the moves weigh.
    weight: W,
    /// What is still to be done, the next one last. Each with its weight, if it is a rule, and with
    /// the weight of all that may stand behind it.
    stack: Vec<(Next, W, W)>,
    /// What is before and behind the run, up to the next merge function around it.
    before: W,
    behind: W,
    /// The rule that calls it, and its merge function.
    call: Option<(u32, Option<MergeId>)>,
}

/// What is around a merge function whose callee is being made, up to the next one.
struct Hole<W> {
    merge: MergeId,
    before: W,
    behind: W,
}

struct Choice<'a, D: Domain> {
    folder: &'a Folder<'a, D::Weight>,
    domain: &'a D,
    sums: Sums<D::Weight>,
    runs: Vec<Vec<Move>>,
    /// For each transition the runs that have been made of it, with their weights.
    known: FxHashMap<u32, Vec<(u32, D::Weight)>>,
    frames: Vec<Frame<D::Weight>>,
    holes: Vec<Hole<D::Weight>>,
    /// How many weights have been computed.
    effort: usize,
}

impl<D: Domain> Choice<'_, D> {
    fn extend(&mut self, a: &D::Weight, b: &D::Weight) -> Option<D::Weight> {
        self.effort += 1;
        self.folder.check()?;
        if self.effort > MOST {
            return None;
        }
        self.domain.extend(a, b).ok()
    }

    /// A caller's weight with that of a callee.
    fn called(
        &mut self,
        merge: Option<MergeId>,
        caller: &D::Weight,
        callee: &D::Weight,
    ) -> Option<D::Weight> {
        match merge {
            Some(merge) => self.domain.merge(merge, caller, callee).ok(),
            None => self.extend(caller, callee),
        }
    }

    /// Begins the run of a transition as it was before a time.
    fn begin(
        &mut self,
        (transition, time): (u32, u32),
        (before, behind): (D::Weight, D::Weight),
        call: Option<(u32, Option<MergeId>)>,
    ) {
        let one = self.domain.one();
        self.frames.push(Frame {
            transition,
            moves: Vec::new(),
            weight: one.clone(),
            stack: vec![(Next::Tree(transition, time), one.clone(), one)],
            before,
            behind,
            call,
        });
    }

    /// Makes the run of a transition.
    fn make(&mut self, transition: u32) -> Option<()> {
        let one = self.domain.one();
        self.begin((transition, NONE), (one.clone(), one), None);
        while let Some(mut frame) = self.frames.pop() {
            let Some((next, weight, behind)) = frame.stack.pop() else {
                self.end(frame)?;
                continue;
            };
            match next {
                Next::Rule(rule) => {
                    frame.moves.push(Move::Rule(rule));
                    frame.weight = self.extend(&frame.weight, &weight)?;
                }
                Next::Tree(transition, time) => {
                    self.choose(&mut frame, (transition, time), behind)?;
                }
                Next::Callee(callee, time, merge) => {
                    let Some(rule) = self.folder.calls(&frame.moves, callee) else {
                        frame.stack.push((Next::Tree(callee, time), weight, behind));
                        self.frames.push(frame);
                        continue;
                    };
                    frame.moves.pop();
                    self.call(frame, (rule, merge), (callee, time), &behind)?;
                    continue;
                }
            }
            self.frames.push(frame);
        }
        Some(())
    }

    /// A run is made: its caller goes on.
    fn end(&mut self, frame: Frame<D::Weight>) -> Option<()> {
        let run = self.runs.len() as u32;
        self.runs.push(frame.moves);
        let known = self.known.entry(frame.transition).or_default();
        known.push((run, frame.weight.clone()));
        let (Some((rule, merge)), Some(mut caller)) = (frame.call, self.frames.pop()) else {
            return Some(());
        };
        if merge.is_some() {
            self.holes.pop();
        }
        caller.weight = self.called(merge, &caller.weight, &frame.weight)?;
        caller.moves.push(Move::Call { rule, run });
        self.frames.push(caller);
        Some(())
    }

    /// Whether a run of this weight weighs something where it is used.
    fn fits(&mut self, frame: &Frame<D::Weight>, run: &D::Weight) -> Option<bool> {
        let mut whole = self.extend(&frame.before, run)?;
        whole = self.extend(&whole, &frame.behind)?;
        for at in (0..self.holes.len()).rev() {
            if self.domain.is_zero(&whole) {
                break;
            }
            let Hole {
                merge,
                before,
                behind,
            } = &self.holes[at];
            let merged = self.domain.merge(*merge, before, &whole).ok()?;
            let behind = behind.clone();
            whole = self.extend(&merged, &behind)?;
        }
        Some(!self.domain.is_zero(&whole))
    }

    /// Chooses a record of a transition. The oldest that fits makes the shortest runs.
    fn choose(
        &mut self,
        frame: &mut Frame<D::Weight>,
        (transition, time): (u32, u32),
        behind: D::Weight,
    ) -> Option<()> {
        let folder = self.folder;
        let records: Vec<u32> = folder.records.history(transition, time).collect();
        let mut found = None;
        for &record in records.iter().rev() {
            let own = self.sums.own[record as usize].clone();
            let so_far = self.extend(&frame.weight, &own)?;
            let run = self.extend(&so_far, &behind)?;
            if self.fits(frame, &run)? {
                found = Some(record);
                break;
            }
        }
        let record = found?;
        let mut parts = Vec::new();
        (folder.parts)(folder.records.get(record), record, &mut parts);
        let known = |transition, time| {
            let record = folder.records.before(transition, time)?;
            self.sums.all.get(record as usize)
        };
        let mut behind = behind;
        for (next, weight) in weighed(folder, self.domain, &parts, known)?
            .into_iter()
            .rev()
        {
            let before = self.extend(&weight, &behind)?;
            frame.stack.push((next, weight, behind));
            behind = before;
        }
        Some(())
    }

    /// Calls a callee: a run that is known, if one fits, or a new one.
    fn call(
        &mut self,
        mut frame: Frame<D::Weight>,
        (rule, merge): (u32, Option<MergeId>),
        (callee, time): (u32, u32),
        behind: &D::Weight,
    ) -> Option<()> {
        for (run, weight) in self.known.get(&callee).cloned().unwrap_or_default() {
            let so_far = self.called(merge, &frame.weight, &weight)?;
            let whole = self.extend(&so_far, behind)?;
            if self.fits(&frame, &whole)? {
                frame.weight = so_far;
                frame.moves.push(Move::Call { rule, run });
                self.frames.push(frame);
                return Some(());
            }
        }
        let before = self.extend(&frame.before, &frame.weight)?;
        let behind = self.extend(behind, &frame.behind)?;
        self.frames.push(frame);
        let around = if let Some(merge) = merge {
            self.holes.push(Hole {
                merge,
                before,
                behind,
            });
            (self.domain.one(), self.domain.one())
        } else {
            (before, behind)
        };
        self.begin((callee, time), around, Some((rule, merge)));
        Some(())
    }
}
