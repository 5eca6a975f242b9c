//! Whether an infinite run satisfies a formula, by the meaning of the operators and nothing else.
//!
//! No automaton is involved. The truth of all subformulas at a position (a *row*) follows from the
//! propositions that are true there and the row of the next position: `a U b` is true if `b` is, or
//! if `a` is and `a U b` is true at the next position. So rows are computed backwards.
//!
//! Where the run repeats itself, the row of the first position of the cycle is needed to begin
//! with. It is found from the innermost operators outwards. When the operands of `a U b` are known
//! at every position of the cycle, assume `a U b` false after the last position and go round. If
//! that makes it true at the first position, it is; if not, it is false there. The dual holds for
//! `a R b`. Operators of one kind that are nested in each other, all least or all greatest
//! solutions of their equations, are solved together ([`Block`]): go round until nothing changes.
//!
//! A folded call is a function from the row after it to the row before it. This function is
//! computed at a row when it is first needed there, and kept, together with the conjunction and the
//! disjunction of the rows in between. So every run is read once for each different row that
//! follows it. Runs nest deeply, hence the explicit stack of [`Frame`]s.
//!
//! Executions have been checked before they come here.

use std::cmp::Ordering;
use std::sync::Arc;

use droste_base::{Guard, StopReason};
use droste_program::execution::{Action, CalleeRun, Ending, Execution, Step, Valuation};
use droste_program::temporal::{Formula, Temporal};
use droste_program::{ExprNode, NodeId, Program, Proposition, Value, VarRef};
use rustc_hash::FxHashMap;

use crate::values::{Scene, evaluate};
use crate::watch::apply;

/// A row: the truth of each node of the formula. Index into [`Rows`].
type Row = u32;

/// Sets of bits, each kept once.
struct Rows {
    words: usize,
    bits: Vec<u64>,
    index: FxHashMap<Box<[u64]>, Row>,
    joins: FxHashMap<(Row, Row, bool), Row>,
}

impl Rows {
    fn new(bits: usize) -> Self {
        Rows {
            words: bits.div_ceil(64),
            bits: Vec::new(),
            index: FxHashMap::default(),
            joins: FxHashMap::default(),
        }
    }

    fn get(&self, row: Row) -> &[u64] {
        &self.bits[row as usize * self.words..][..self.words]
    }

    fn intern(&mut self, bits: &[u64]) -> Row {
        if let Some(&row) = self.index.get(bits) {
            return row;
        }
        let row = self.index.len() as Row;
        self.bits.extend_from_slice(bits);
        self.index.insert(bits.into(), row);
        row
    }

    fn is_true(&self, row: Row, node: u32) -> bool {
        bit(self.get(row), node)
    }

    /// Bit by bit: what is true in both rows, or in one of them.
    fn join(&mut self, a: Row, b: Row, both: bool) -> Row {
        if a == b {
            return a;
        }
        let key = (a.min(b), a.max(b), both);
        if let Some(&joined) = self.joins.get(&key) {
            return joined;
        }
        let pairs = self.get(a).iter().zip(self.get(b));
        let joined: Vec<u64> = pairs
            .map(|(&a, &b)| if both { a & b } else { a | b })
            .collect();
        let joined = self.intern(&joined);
        self.joins.insert(key, joined);
        joined
    }
}

fn bit(bits: &[u64], index: u32) -> bool {
    bits[index as usize / 64] >> (index % 64) & 1 == 1
}

fn set(bits: &mut [u64], index: u32, value: bool) {
    let mask = 1 << (index % 64);
    if value {
        bits[index as usize / 64] |= mask;
    } else {
        bits[index as usize / 64] &= !mask;
    }
}

/// In [`Truth::fixed`]: not known.
const UNKNOWN: u32 = u32::MAX;

/// In place of a letter: the node is silent, so this is no position, and its row is that of the
/// next one.
const SILENT: u32 = u32::MAX - 1;

/// When a node's truth at the beginning of the cycle is known: after that of the nodes of lower
/// levels, together with that of the nodes of its own level.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Block {
    level: u32,
    /// What the operators of this level in it are, in positive normal form: least solutions,
    /// greatest ones, or both.
    kinds: u8,
}

impl Block {
    const LEAST: u8 = 1;
    const GREATEST: u8 = 2;

    fn negated(self) -> Self {
        Block {
            kinds: self.kinds >> 1 | (self.kinds & 1) << 1,
            ..self
        }
    }

    fn join(self, other: Self) -> Self {
        match self.level.cmp(&other.level) {
            Ordering::Less => other,
            Ordering::Greater => self,
            Ordering::Equal => Block {
                kinds: self.kinds | other.kinds,
                ..self
            },
        }
    }

    /// The block of an operator of this kind with operands of this block.
    fn below(self, kind: u8) -> Self {
        Block {
            level: if self.kinds == kind {
                self.level
            } else {
                self.level + 1
            },
            kinds: kind,
        }
    }
}

/// A stretch of the run: what it makes of the row after it.
#[derive(Clone, Copy)]
struct Stretch {
    /// The row before it.
    before: Row,
    /// What is true at every position of it, and at some position.
    always: Row,
    sometimes: Row,
}

/// A position, or a position and a folded call.
#[derive(Clone, Copy)]
struct Item {
    /// Which propositions are true there: index into `letters`, or [`SILENT`].
    letter: u32,
    /// The run of a folded call that begins there.
    run: Option<u32>,
}

/// A callee's run that is being read, backwards.
struct Frame {
    word: u32,
    after: Row,
    /// Items before this one are still to be read.
    index: usize,
    row: Row,
    always: Option<Row>,
    sometimes: Option<Row>,
}

/// A call that returns, at some place of the run: which word the callee reads as, and the row after
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    word: u32,
    after: Row,
}

/// A position of the run, or a silent node on the way to one.
#[derive(Clone, Copy)]
pub struct Moment {
    row: Row,
    silent: bool,
    /// The call that begins here and returns, and what is true inside.
    call: Option<(Call, Stretch)>,
}

impl Moment {
    /// Whether this is not a position but on the way to one. The same formulas are true here as
    /// there.
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// The call that begins here, if there is one that returns.
    pub fn call(&self) -> Option<Call> {
        self.call.map(|(call, _)| call)
    }
}

/// The rows of an infinite run.
pub struct Truth<'a> {
    formula: &'a Formula,
    program: &'a Program,
    letters: Rows,
    rows: Rows,
    /// What a position makes of the row after it.
    moves: FxHashMap<(u32, Row), Row>,
    /// For each node the letter there, if no variable has a say in it and it is known: [`UNKNOWN`]
    /// otherwise.
    fixed: Vec<u32>,
    /// The variables that propositions mention: globals, and for each procedure locals.
    globals: Vec<u32>,
    locals: Vec<Vec<u32>>,
    /// Which word each run reads as.
    runs: Vec<u32>,
    /// The items of all words, with that of the return at the end of each.
    inner: Vec<Item>,
    /// Where each word begins, and the end of the last one.
    words: Vec<usize>,
    stretches: FxHashMap<(u32, Row), Stretch>,
    /// The items of the execution itself.
    items: Vec<Item>,
    /// The row at each of these items, and what is true inside of the call that begins there.
    found: Vec<(Row, Option<Stretch>)>,
    /// Where the cycle begins.
    cycle: usize,
    scratch: Vec<u64>,
}

impl<'a> Truth<'a> {
    /// Evaluates `formula` along an infinite run; `None` if the run is finite.
    pub fn new(
        program: &'a Program,
        execution: &Execution,
        formula: &'a Formula,
        guard: &mut Guard,
    ) -> Result<Option<Self>, StopReason> {
        let mut truth = Truth::of_runs(program, &execution.runs, formula, guard)?;
        Ok(truth.follow(execution, guard)?.then_some(truth))
    }

    /// Reads what the callees do; see [`Truth::follow`].
    pub(crate) fn of_runs(
        program: &'a Program,
        runs: &[CalleeRun],
        formula: &'a Formula,
        guard: &mut Guard,
    ) -> Result<Self, StopReason> {
        let mut truth = Truth {
            formula,
            program,
            letters: Rows::new(formula.propositions.len().max(1)),
            rows: Rows::new(formula.nodes.len()),
            moves: FxHashMap::default(),
            fixed: vec![UNKNOWN; program.nodes.len()],
            globals: Vec::new(),
            locals: vec![Vec::new(); program.procedures.len()],
            runs: Vec::with_capacity(runs.len()),
            inner: Vec::new(),
            words: vec![0],
            stretches: FxHashMap::default(),
            items: Vec::new(),
            found: Vec::new(),
            cycle: 0,
            scratch: Vec::new(),
        };
        for proposition in &formula.propositions {
            for (expr, locals) in proposition.by_procedure.iter().zip(&mut truth.locals) {
                for part in &expr.nodes {
                    if let ExprNode::Var(var) | ExprNode::Next(var) = *part {
                        let (list, i) = match var {
                            VarRef::Global(i) => (&mut truth.globals, i),
                            VarRef::Local(i) => (&mut *locals, i),
                        };
                        if !list.contains(&i) {
                            list.push(i);
                        }
                    }
                }
            }
        }
        // Runs with the same steps read the same if the propositions do not tell them apart at the
        // entry.
        let mut shared: FxHashMap<*const Step, usize> = FxHashMap::default();
        let mut now = Valuation::default();
        for (i, run) in runs.iter().enumerate() {
            let key = run.steps.as_ptr();
            if let Some(&first) = shared.get(&key)
                && truth.reads_as(run, &runs[first])
            {
                truth.runs.push(truth.runs[first]);
                continue;
            }
            if Arc::strong_count(&run.steps) > 1 {
                shared.insert(key, i);
            }
            now.globals.clone_from(&run.entry.globals);
            now.locals.clone_from(&run.entry.locals);
            let mut inner = std::mem::take(&mut truth.inner);
            truth.items(&run.steps, &mut now, &mut inner, guard)?;
            inner.push(Item {
                letter: truth.letter(Some(run.exit), &now),
                run: None,
            });
            truth.runs.push(truth.words.len() as u32 - 1);
            truth.words.push(inner.len());
            truth.inner = inner;
        }
        Ok(truth)
    }

    /// Whether two runs with the same steps have the same letters.
    fn reads_as(&self, run: &CalleeRun, other: &CalleeRun) -> bool {
        let procedure = self.program.node(run.exit).procedure;
        let same = |vars: &[u32], a: &[Value], b: &[Value]| {
            vars.iter().all(|&i| a.get(i as usize) == b.get(i as usize))
        };
        let (a, b) = (&run.entry, &other.entry);
        let locals = &self.locals[procedure.0 as usize];
        run.exit == other.exit
            && same(&self.globals, &a.globals, &b.globals)
            && same(locals, &a.locals, &b.locals)
    }

    /// Evaluates the formula along an execution with the runs that have been read; false if it is
    /// finite.
    pub(crate) fn follow(
        &mut self,
        execution: &Execution,
        guard: &mut Guard,
    ) -> Result<bool, StopReason> {
        let mut now = execution.start.clone();
        let mut items = std::mem::take(&mut self.items);
        items.clear();
        self.items(&execution.steps, &mut now, &mut items, guard)?;
        self.cycle = match execution.ending {
            Ending::Lasso { start, .. } if start < items.len() => start,
            Ending::Terminated => {
                items.push(Item {
                    letter: self.letter(None, &now),
                    run: None,
                });
                items.len() - 1
            }
            _ => return Ok(false),
        };
        self.items = items;
        self.found.clear();
        self.evaluate(guard)?;
        Ok(true)
    }

    /// Whether the run satisfies the formula.
    pub fn holds(&self) -> bool {
        let root = self.formula.nodes.len() as u32 - 1;
        let first = self.found.first();
        first.is_some_and(|&(row, _)| self.rows.is_true(row, root))
    }

    /// The positions of the run itself: one for each step, and one for the time after `main` has
    /// returned.
    pub fn moments(&self) -> Vec<Moment> {
        let first = |i: usize| self.found.get(i).map_or(0, |&(row, _)| row);
        let last = first(self.cycle);
        let all = self.items.iter().zip(&self.found).enumerate();
        let moments = all.map(|(i, (item, &(row, stretch)))| Moment {
            row,
            silent: item.letter == SILENT,
            call: item.run.zip(stretch).map(|(run, stretch)| {
                let word = self.runs[run as usize];
                let after = if i + 1 < self.items.len() {
                    first(i + 1)
                } else {
                    last
                };
                (Call { word, after }, stretch)
            }),
        });
        moments.collect()
    }

    /// The positions of a call: one for each step of the callee, and one for its return.
    pub fn moments_of(&self, call: Call) -> Vec<Moment> {
        let range = self.words[call.word as usize]..self.words[call.word as usize + 1];
        let mut moments = Vec::with_capacity(range.len());
        let mut row = call.after;
        for item in self.inner[range].iter().rev() {
            // All of this has been asked before, when the run was read.
            let inner = item.run.and_then(|run| {
                let word = self.runs[run as usize];
                let stretch = *self.stretches.get(&(word, row))?;
                Some((Call { word, after: row }, stretch))
            });
            if let Some((_, stretch)) = inner {
                row = stretch.before;
            }
            row = self.moves.get(&(item.letter, row)).copied().unwrap_or(row);
            moments.push(Moment {
                row,
                silent: item.letter == SILENT,
                call: inner,
            });
        }
        moments.reverse();
        moments
    }

    /// Where the cycle begins.
    pub fn cycle(&self) -> usize {
        self.cycle
    }

    /// Whether a subformula is true at a position.
    pub fn at(&self, moment: &Moment, node: u32) -> bool {
        self.rows.is_true(moment.row, node)
    }

    /// Whether a subformula has this value at some position of the call that begins here.
    pub fn inside(&self, moment: &Moment, node: u32, value: bool) -> bool {
        let Some((_, stretch)) = moment.call else {
            return false;
        };
        if value {
            self.rows.is_true(stretch.sometimes, node)
        } else {
            !self.rows.is_true(stretch.always, node)
        }
    }

    fn items(
        &mut self,
        steps: &[Step],
        now: &mut Valuation,
        items: &mut Vec<Item>,
        guard: &mut Guard,
    ) -> Result<(), StopReason> {
        for step in steps {
            guard.check()?;
            let letter = self.letter(Some(step.node), now);
            let mut run = None;
            match &step.action {
                Action::Folded {
                    run: id, changes, ..
                } => {
                    run = Some(id.0);
                    apply(now, changes);
                }
                Action::Internal { changes, .. } => apply(now, changes),
                Action::Call { locals } => now.locals = locals.to_vec(),
                Action::Terminate | Action::Fail(_) => {}
            }
            items.push(Item { letter, run });
        }
        Ok(())
    }

    /// The propositions that are true; with `None`, after `main` has returned.
    fn letter(&mut self, node: Option<NodeId>, now: &Valuation) -> u32 {
        if node.is_some_and(|node| self.program.node(node).silent) {
            return SILENT;
        }
        let fixed = node.map(|node| self.fixed[node.0 as usize]);
        if let Some(fixed) = fixed
            && fixed != UNKNOWN
        {
            return fixed;
        }
        let mut bits = std::mem::take(&mut self.scratch);
        bits.clear();
        bits.resize(self.letters.words, 0);
        for (i, proposition) in self.formula.propositions.iter().enumerate() {
            if holds(self.program, proposition, node, now) {
                set(&mut bits, i as u32, true);
            }
        }
        let letter = self.letters.intern(&bits);
        self.scratch = bits;
        if let Some(node) = node {
            let procedure = self.program.node(node).procedure.0 as usize;
            if self.globals.is_empty() && self.locals[procedure].is_empty() {
                self.fixed[node.0 as usize] = letter;
            }
        }
        letter
    }

    /// The row of a position, given the next one: the meaning of the operators.
    fn step(&mut self, letter: u32, after: Row) -> Row {
        use Temporal::{
            And, Constant, Finally, Globally, Iff, Implies, Next, Not, Or, Proposition, Release,
            StrongRelease, Until, WeakUntil,
        };
        if letter == SILENT {
            return after;
        }
        if let Some(&row) = self.moves.get(&(letter, after)) {
            return row;
        }
        let mut now = std::mem::take(&mut self.scratch);
        now.clear();
        now.resize(self.rows.words, 0);
        let later = self.rows.get(after);
        for (i, &node) in self.formula.nodes.iter().enumerate() {
            let i = i as u32;
            let value = match node {
                Constant(value) => value,
                Proposition(p) => bit(self.letters.get(letter), p),
                Not(a) => !bit(&now, a),
                And(a, b) => bit(&now, a) && bit(&now, b),
                Or(a, b) => bit(&now, a) || bit(&now, b),
                Implies(a, b) => !bit(&now, a) || bit(&now, b),
                Iff(a, b) => bit(&now, a) == bit(&now, b),
                Next(a) => bit(later, a),
                Finally(a) => bit(&now, a) || bit(later, i),
                Globally(a) => bit(&now, a) && bit(later, i),
                Until(a, b) | WeakUntil(a, b) => bit(&now, b) || bit(&now, a) && bit(later, i),
                Release(a, b) | StrongRelease(a, b) => {
                    bit(&now, b) && (bit(&now, a) || bit(later, i))
                }
            };
            set(&mut now, i, value);
        }
        let row = self.rows.intern(&now);
        self.scratch = now;
        self.moves.insert((letter, after), row);
        row
    }

    /// The block of each node.
    fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::with_capacity(self.formula.nodes.len());
        for &node in &self.formula.nodes {
            let of = |a: u32| blocks[a as usize];
            let block = match node {
                Temporal::Constant(_) | Temporal::Proposition(_) => Block::default(),
                Temporal::Not(a) => of(a).negated(),
                Temporal::And(a, b) | Temporal::Or(a, b) => of(a).join(of(b)),
                Temporal::Implies(a, b) => of(a).negated().join(of(b)),
                Temporal::Iff(a, b) => {
                    let both = of(a).join(of(b));
                    both.join(both.negated())
                }
                Temporal::Next(a) => of(a).below(match of(a).kinds {
                    Block::GREATEST => Block::GREATEST,
                    _ => Block::LEAST,
                }),
                Temporal::Finally(a) => of(a).below(Block::LEAST),
                Temporal::Globally(a) => of(a).below(Block::GREATEST),
                Temporal::Until(a, b) | Temporal::StrongRelease(a, b) => {
                    of(a).join(of(b)).below(Block::LEAST)
                }
                Temporal::Release(a, b) | Temporal::WeakUntil(a, b) => {
                    of(a).join(of(b)).below(Block::GREATEST)
                }
            };
            blocks.push(block);
        }
        blocks
    }

    fn evaluate(&mut self, guard: &mut Guard) -> Result<(), StopReason> {
        let blocks = self.blocks();
        let mut bits = vec![0; self.rows.words];
        for (i, block) in blocks.iter().enumerate() {
            set(&mut bits, i as u32, block.kinds == Block::GREATEST);
        }
        let mut row = self.rows.intern(&bits);
        for level in 0..=blocks.iter().map(|block| block.level).max().unwrap_or(0) {
            loop {
                let first = self.read(self.cycle, row, guard)?;
                for (i, _) in blocks.iter().enumerate().filter(|(_, b)| b.level <= level) {
                    set(&mut bits, i as u32, self.rows.is_true(first, i as u32));
                }
                let next = self.rows.intern(&bits);
                if std::mem::replace(&mut row, next) == next {
                    break;
                }
            }
        }
        self.read(0, row, guard)?;
        Ok(())
    }

    /// Reads the items from `from` on, backwards; the first row.
    fn read(&mut self, from: usize, after: Row, guard: &mut Guard) -> Result<Row, StopReason> {
        self.found.resize(self.items.len(), (0, None));
        let mut row = after;
        for i in (from..self.items.len()).rev() {
            guard.check()?;
            let item = self.items[i];
            let mut inside = None;
            if let Some(run) = item.run {
                let stretch = self.stretch(run, row, guard)?;
                row = stretch.before;
                inside = Some(stretch);
            }
            row = self.step(item.letter, row);
            self.found[i] = (row, inside);
        }
        Ok(row)
    }

    /// What a callee's run makes of the row after it.
    fn stretch(&mut self, run: u32, after: Row, guard: &mut Guard) -> Result<Stretch, StopReason> {
        let word = self.runs[run as usize];
        if let Some(&known) = self.stretches.get(&(word, after)) {
            return Ok(known);
        }
        let frame = |truth: &Self, word: u32, after: Row| Frame {
            word,
            after,
            index: truth.words[word as usize + 1],
            row: after,
            always: None,
            sometimes: None,
        };
        let mut frames = vec![frame(self, word, after)];
        let mut done = None;
        while let Some(top) = frames.last_mut() {
            guard.check()?;
            if top.index == self.words[top.word as usize] {
                // Every run has at least the position of its return.
                let stretch = Stretch {
                    before: top.row,
                    always: top.always.unwrap_or(top.row),
                    sometimes: top.sometimes.unwrap_or(top.row),
                };
                self.stretches.insert((top.word, top.after), stretch);
                done = Some(stretch);
                frames.pop();
                continue;
            }
            let item = self.inner[top.index - 1];
            let mut row = top.row;
            let mut inside = None;
            if let Some(run) = item.run {
                let word = self.runs[run as usize];
                let Some(&known) = self.stretches.get(&(word, row)) else {
                    let next = frame(self, word, row);
                    frames.push(next);
                    continue;
                };
                inside = Some((known.always, known.sometimes));
                row = known.before;
            }
            row = self.step(item.letter, row);
            let (mut always, mut sometimes) =
                (top.always.unwrap_or(row), top.sometimes.unwrap_or(row));
            for (all, some) in inside.into_iter().chain([(row, row)]) {
                always = self.rows.join(always, all, true);
                sometimes = self.rows.join(sometimes, some, false);
            }
            top.index -= 1;
            top.row = row;
            (top.always, top.sometimes) = (Some(always), Some(sometimes));
        }
        Ok(done.unwrap_or(Stretch {
            before: after,
            always: after,
            sometimes: after,
        }))
    }
}

/// Whether a proposition is true at a node, or, with `None`, after `main` has returned.
pub(crate) fn holds(
    program: &Program,
    proposition: &Proposition,
    node: Option<NodeId>,
    valuation: &Valuation,
) -> bool {
    let expr = match node {
        Some(node) => {
            let procedure = program.node(node).procedure;
            proposition.by_procedure.get(procedure.0 as usize)
        }
        None => Some(&proposition.terminated),
    };
    let scene = Scene {
        now: valuation,
        next: valuation,
        at: node,
    };
    expr.is_some_and(|expr| evaluate(expr, &scene).is_ok_and(|value| value.can_be(1)))
}
