//! Weights that are relations between states, as decision diagrams (section 2.3 of the FWPDS
//! paper).
//!
//! A state is a valuation of *places*, which are bits. A relation says how a state before is
//! related to a state after. It has a *frame*: the places it may change. All others stay as they
//! are, and the diagram says nothing about that. So the identity is the diagram `true` with an empty
//! frame, and an assignment is as small as its right-hand side, whatever else there is in the
//! program.
//!
//! A diagram is over the first copies of places (before) and the second copies of those in the
//! frame (after); the third copies are used while two relations are composed. Other variables may
//! occur, for the results of a procedure: a pair of states is then not in a relation or out of it,
//! but has a set of results. Composition intersects these sets.
//!
//! What keeps it honest: the laws are tested on random relations (`laws.rs`), and the engine
//! is compared with the others.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::{Duration, Instant};

use droste_base::{Counters, Progress, StopReason};
use droste_bdd::{Bdd, Cube, Manager, Renaming, Sifter, Var};
use droste_pds::{Domain, MergeId};
use rustc_hash::FxHashMap;

use crate::merge::Merge;
use crate::places::Places;

/// What may be stopped.
pub type Result<T> = std::result::Result<T, StopReason>;

/// The copies of a place: before, after, and one that is used in between.
pub type Copies = [Var; 3];

/// A relation between states.
#[derive(Clone)]
pub struct Weight {
    /// Over the first copies, the second copies of the frame, and results.
    pub diagram: Bdd,
    /// The places that may change.
    pub frame: Places,
    /// The places whose values before may matter: no others occur with their first copy.
    pub reads: Places,
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weight")
            .field("nodes", &self.diagram.node_count())
            .field("frame", &self.frame)
            .field("reads", &self.reads)
            .finish()
    }
}

impl Weight {
    fn is_one(&self) -> bool {
        self.diagram.is_true() && self.frame.is_empty()
    }
}

/// What is done after each product: now and then, progress is reported, and variables are
/// reordered.
pub struct Tender<'a> {
    /// When variables are reordered.
    pub sifter: RefCell<Sifter>,
    /// The variables that stay together.
    pub groups: Vec<Vec<Var>>,
    /// Whom to tell.
    pub report: &'a dyn Fn(Progress),
    /// When to tell next.
    pub next: Cell<Instant>,
}

impl Tender<'_> {
    fn tell(&self, phase: &'static str, manager: &Manager, products: u64) {
        (self.report)(Progress {
            phase,
            counters: Counters::Weighted {
                products,
                nodes: manager.node_count() as u64,
            },
        });
    }

    fn tend(&self, manager: &Manager, products: u64) -> Result<()> {
        if products.is_multiple_of(16) && Instant::now() >= self.next.get() {
            self.next.set(Instant::now() + Duration::from_millis(200));
            self.tell("products", manager, products);
            manager.check_limits()?;
        }
        let tell = || self.tell("reordering", manager, products);
        let mut sifter = self.sifter.borrow_mut();
        sifter.tend(manager, || &self.groups, tell)
    }
}

/// Relations over places.
pub struct Relations<'a> {
    manager: Manager,
    copies: Vec<Copies>,
    /// The place of a variable that is the first copy of one.
    first: FxHashMap<Var, usize>,
    /// From the third copies to the second.
    settle: Renaming,
    merges: Vec<Merge>,
    /// How many steps the first turn of [`Domain::star`] may take.
    first_turn: u64,
    identities: RefCell<FxHashMap<Places, Bdd>>,
    products: Cell<u64>,
    tender: Option<Tender<'a>>,
    /// Why two weights could not be compared: the next operation says so.
    stopped: RefCell<Option<StopReason>>,
}

impl<'a> Relations<'a> {
    /// Relations over these places.
    pub fn new(
        manager: &Manager,
        copies: Vec<Copies>,
        merges: Vec<Merge>,
        tender: Option<Tender<'a>>,
    ) -> Self {
        let settle: Vec<(Var, Var)> = copies.iter().map(|copy| (copy[2], copy[1])).collect();
        let first = copies.iter().enumerate();
        Relations {
            manager: manager.clone(),
            first: first.map(|(place, copy)| (copy[0], place)).collect(),
            settle: manager.renaming(&settle),
            copies,
            merges,
            first_turn: crate::Tuning::default().first_turn,
            identities: RefCell::default(),
            products: Cell::new(0),
            tender,
            stopped: RefCell::new(None),
        }
    }

    /// How many steps of operations on diagrams the first turn of [`Domain::star`] may take.
    #[must_use]
    pub fn with_first_turn(mut self, steps: u64) -> Self {
        self.first_turn = steps.max(1);
        self
    }

    /// How many relations were composed.
    pub fn products(&self) -> u64 {
        self.products.get()
    }

    /// How often variables were reordered.
    pub fn reorderings(&self) -> u64 {
        let tender = self.tender.as_ref();
        tender.map_or(0, |tender| tender.sifter.borrow().reorderings)
    }

    pub(crate) fn merge_function(&self, merge: MergeId) -> &Merge {
        &self.merges[merge.0 as usize]
    }

    /// A relation whose diagram is over first copies and the second copies of its frame.
    pub fn weight(&self, diagram: Bdd, frame: Places) -> Weight {
        let support = diagram.support();
        let reads = support.iter().filter_map(|var| self.first.get(var));
        Weight {
            reads: reads.copied().collect(),
            diagram,
            frame,
        }
    }

    /// The variables to quantify for the second copies of places.
    pub fn after(&self, places: &Places) -> Result<Cube> {
        let vars: Vec<Var> = places.iter().map(|place| self.copies[place][1]).collect();
        self.manager.cube(&vars)
    }

    /// The relation with a larger frame: the places that are new stay as they are.
    pub fn lifted(&self, weight: &Weight, frame: &Places) -> Result<Weight> {
        let new = frame.minus(&weight.frame);
        if new.is_empty() {
            return Ok(weight.clone());
        }
        let same = self.identity(&new)?;
        Ok(Weight {
            diagram: weight.diagram.and(&same)?,
            frame: weight.frame.or(&new),
            reads: weight.reads.or(&new),
        })
    }

    /// These places stay as they are.
    fn identity(&self, places: &Places) -> Result<Bdd> {
        if let Some(same) = self.identities.borrow().get(places) {
            return Ok(same.clone());
        }
        let mut all = self.manager.constant(true);
        for place in places.iter().rev() {
            let [before, after, _] = self.copies[place];
            let same = self.manager.var(before)?.iff(&self.manager.var(after)?)?;
            all = all.and(&same)?;
        }
        let mut known = self.identities.borrow_mut();
        known.insert(places.clone(), all.clone());
        Ok(all)
    }

    /// Both with the same frame.
    fn level(&self, a: &Weight, b: &Weight) -> Result<(Weight, Weight)> {
        if a.frame == b.frame {
            return Ok((a.clone(), b.clone()));
        }
        Ok((self.lifted(a, &b.frame)?, self.lifted(b, &a.frame)?))
    }

    /// Squares a power of a relation until it changes no more.
    fn square(&self, power: &mut Weight) -> Result<()> {
        loop {
            let square = self.extend(power, power)?;
            if self.equal(&square, power) {
                return self.check();
            }
            *power = square;
        }
    }

    /// One step more from what is new, until nothing is. `sum` has what was found.
    fn step_on(&self, step: &Weight, sum: &mut Weight, new: &mut Weight) -> Result<()> {
        while !self.is_zero(new) {
            let more = self.diff(&self.extend(new, step)?, sum)?;
            *sum = self.combine(sum, &more)?;
            *new = more;
        }
        Ok(())
    }

    /// Work that may take so many steps of operations on diagrams; whether that was enough.
    fn within(&self, steps: u64, work: impl FnOnce() -> Result<()>) -> Result<bool> {
        let done = self.manager.within(steps, work)?.is_some();
        if !done {
            // That was no limit of the search.
            self.stopped.borrow_mut().take();
        }
        Ok(done)
    }

    fn check(&self) -> Result<()> {
        match self.stopped.borrow_mut().take() {
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }
}

impl Domain for Relations<'_> {
    type Weight = Weight;

    fn one(&self) -> Weight {
        Weight {
            diagram: self.manager.constant(true),
            frame: Places::new(),
            reads: Places::new(),
        }
    }

    fn zero(&self) -> Weight {
        Weight {
            diagram: self.manager.constant(false),
            frame: Places::new(),
            reads: Places::new(),
        }
    }

    fn combine(&self, a: &Weight, b: &Weight) -> Result<Weight> {
        self.check()?;
        if b.diagram.is_false() {
            return Ok(a.clone());
        }
        if a.diagram.is_false() {
            return Ok(b.clone());
        }
        let (a, b) = self.level(a, b)?;
        Ok(Weight {
            diagram: a.diagram.or(&b.diagram)?,
            frame: a.frame,
            reads: a.reads.or(&b.reads),
        })
    }

    fn extend(&self, a: &Weight, b: &Weight) -> Result<Weight> {
        self.check()?;
        if a.diagram.is_false() || b.diagram.is_false() {
            return Ok(self.zero());
        }
        if b.is_one() {
            return Ok(a.clone());
        }
        if a.is_one() {
            return Ok(b.clone());
        }
        self.products.set(self.products.get() + 1);
        if let Some(tender) = &self.tender {
            tender.tend(&self.manager, self.products.get())?;
        }
        // What the second reads of the first's frame is there in its second copies. What both
        // change is in between, and goes by its third copies until that has been quantified.
        let both = a.frame.and(&b.frame);
        let read = a.frame.and(&b.reads);
        let reads = read.iter().map(|place| &self.copies[place]);
        let changes = both.iter().map(|place| &self.copies[place]);
        let pairs: Vec<(Var, Var)> = (reads.map(|copy| (copy[0], copy[1])))
            .chain(changes.map(|copy| (copy[1], copy[2])))
            .collect();
        let second = b.diagram.rename(&self.manager.renaming(&pairs))?;
        let mut diagram = a.diagram.and_exists(&second, &self.after(&both)?)?;
        if !both.is_empty() {
            diagram = diagram.rename(&self.settle)?;
        }
        Ok(Weight {
            diagram,
            frame: a.frame.or(&b.frame),
            reads: a.reads.or(&b.reads.minus(&a.frame)),
        })
    }

    fn equal(&self, a: &Weight, b: &Weight) -> bool {
        if a.frame == b.frame || a.diagram.is_false() || b.diagram.is_false() {
            return a.diagram == b.diagram;
        }
        match self.level(a, b) {
            Ok((a, b)) => a.diagram == b.diagram,
            Err(reason) => {
                *self.stopped.borrow_mut() = Some(reason);
                false
            }
        }
    }

    fn is_zero(&self, a: &Weight) -> bool {
        a.diagram.is_false()
    }

    fn diff(&self, b: &Weight, a: &Weight) -> Result<Weight> {
        self.check()?;
        if a.diagram.is_false() || b.diagram.is_false() {
            return Ok(b.clone());
        }
        let (a, b) = self.level(a, b)?;
        Ok(Weight {
            diagram: b.diagram.minus(&a.diagram)?,
            frame: b.frame,
            reads: b.reads.or(&a.reads),
        })
    }

    /// By squaring and step by step, in turns, until one of them is done: squares of relations can
    /// be far larger than what they lead to, and there can be exponentially many steps.
    fn star(&self, a: &Weight) -> Result<Weight> {
        let mut power = self.combine(&self.one(), a)?;
        let mut sum = power.clone();
        let mut new = self.diff(a, &self.one())?;
        let mut steps = self.first_turn;
        loop {
            if self.within(steps, || self.square(&mut power))? {
                return Ok(power);
            }
            if self.within(steps, || self.step_on(a, &mut sum, &mut new))? {
                return Ok(sum);
            }
            self.manager.check_limits()?;
            steps *= 2;
        }
    }

    fn merge(&self, merge: MergeId, caller: &Weight, callee: &Weight) -> Result<Weight> {
        self.check()?;
        if caller.diagram.is_false() || callee.diagram.is_false() {
            return Ok(self.zero());
        }
        let step = self.merge_function(merge).step(self, callee)?;
        self.extend(caller, &step)
    }
}
