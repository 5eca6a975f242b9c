//! Whether an infinite run satisfies a formula, by the meaning of the operators and nothing else.
//!
//! No automaton is involved. The truth of all subformulas at a position (a *row*) follows from the propositions that are
//! true there and the row of the next position: `a U b` is true if `b` is, or if `a` is and `a U b` is true at the next
//! position. So rows are computed backwards. Where the run repeats itself, rows of the first position of the cycle
//! are needed to begin with; they are found from the innermost operators outwards: when the operands of
//! `a U b` are known at every position of the cycle, assume it false after the last one and go round once. If
//! that finds a `b`, it is true at the first position; if not, there is none. Dually for `a R b`.
//!
//! A folded call is a function from the row after it to the row before it. It is computed when
//! it is first needed and kept, together with the conjunction and the disjunction of the rows in
//! between; so every run is read once for each different row that follows it. Runs nest deeply, hence the
//! explicit stack of [`Frame`]s.
//!
//! Executions have been checked before they come here.

use std::collections::HashMap;

use droste_base::{Guard, StopReason};
use droste_lang::execution::{Action, Ending, Execution, Step, Valuation};
use droste_lang::program::{NodeId, Program, Proposition};
use droste_lang::temporal::{Formula, Temporal};

use crate::values::{Scene, evaluate};
use crate::watch::apply;

/// A row: the truth of each node of the formula. Index into [`Rows`].
type Row = u32;

/// Sets of bits, each kept once.
struct Rows {
    words: usize,
    bits: Vec<u64>,
    index: HashMap<Box<[u64]>, Row>,
}

impl Rows {
    fn new(bits: usize) -> Self {
        Rows {
            words: bits.div_ceil(64),
            bits: Vec::new(),
            index: HashMap::new(),
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

    /// Bit by bit.
    fn join(&mut self, a: Row, b: Row, f: impl Fn(u64, u64) -> u64) -> Row {
        if a == b {
            return a;
        }
        let joined: Vec<u64> = self
            .get(a)
            .iter()
            .zip(self.get(b))
            .map(|(&a, &b)| f(a, b))
            .collect();
        self.intern(&joined)
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
    /// Which propositions are true there: index into `letters`.
    letter: u32,
    /// The run of a folded call that begins there.
    run: Option<u32>,
}

/// A callee's run that is being read, backwards.
struct Frame {
    run: u32,
    after: Row,
    /// Items before this one are still to be read.
    index: usize,
    row: Row,
    always: Option<Row>,
    sometimes: Option<Row>,
}

/// The rows of an infinite run.
pub struct Truth<'a> {
    formula: &'a Formula,
    program: &'a Program,
    letters: Rows,
    rows: Rows,
    /// What a position makes of the row after it.
    moves: HashMap<(u32, Row), Row>,
    /// The items of each run, with that of the return at the end.
    runs: Vec<Box<[Item]>>,
    stretches: HashMap<(u32, Row), Stretch>,
    /// The items of the execution itself.
    items: Vec<Item>,
    /// The row at each of them, and what is true inside of the call that begins there.
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
        let mut truth = Truth {
            formula,
            program,
            letters: Rows::new(formula.propositions.len().max(1)),
            rows: Rows::new(formula.nodes.len()),
            moves: HashMap::new(),
            runs: Vec::with_capacity(execution.runs.len()),
            stretches: HashMap::new(),
            items: Vec::new(),
            found: Vec::new(),
            cycle: 0,
            scratch: Vec::new(),
        };
        for run in &execution.runs {
            let mut now = run.entry.clone();
            let mut items = truth.items(&run.steps, &mut now, guard)?;
            items.push(Item {
                letter: truth.letter(Some(run.exit), &now),
                run: None,
            });
            truth.runs.push(items.into());
        }
        let mut now = execution.start.clone();
        let mut items = truth.items(&execution.steps, &mut now, guard)?;
        truth.cycle = match execution.ending {
            Ending::Lasso { start, .. } if start < items.len() => start,
            Ending::Terminated => {
                items.push(Item {
                    letter: truth.letter(None, &now),
                    run: None,
                });
                items.len() - 1
            }
            _ => return Ok(None),
        };
        truth.items = items;
        truth.evaluate(guard)?;
        Ok(Some(truth))
    }

    /// Whether the run satisfies the formula.
    pub fn holds(&self) -> bool {
        self.at(0, self.formula.nodes.len() as u32 - 1)
    }

    /// How many positions have rows: one for each step, and one for the time after `main` has returned.
    pub fn positions(&self) -> usize {
        self.items.len()
    }

    /// Where the cycle begins.
    pub fn cycle(&self) -> usize {
        self.cycle
    }

    /// Whether a subformula is true at a position.
    pub fn at(&self, position: usize, node: u32) -> bool {
        self.found
            .get(position)
            .is_some_and(|&(row, _)| self.rows.is_true(row, node))
    }

    /// Whether a subformula has this value at some position of the folded call that begins here.
    pub fn inside(&self, position: usize, node: u32, value: bool) -> bool {
        let Some(&(_, Some(stretch))) = self.found.get(position) else {
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
        guard: &mut Guard,
    ) -> Result<Vec<Item>, StopReason> {
        let mut items = Vec::with_capacity(steps.len() + 1);
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
        Ok(items)
    }

    /// The propositions that are true; with `None`, after `main` has returned.
    fn letter(&mut self, node: Option<NodeId>, now: &Valuation) -> u32 {
        let mut bits = vec![0; self.letters.words];
        for (i, proposition) in self.formula.propositions.iter().enumerate() {
            if holds(self.program, proposition, node, now) {
                set(&mut bits, i as u32, true);
            }
        }
        self.letters.intern(&bits)
    }

    /// The row of a position, given the next one: the meaning of the operators.
    fn step(&mut self, letter: u32, after: Row) -> Row {
        use Temporal::{
            And, Constant, Finally, Globally, Iff, Implies, Next, Not, Or, Proposition, Release,
            StrongRelease, Until, WeakUntil,
        };
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

    /// How many rounds of the cycle a node has to wait for its operands.
    fn levels(&self) -> Vec<u32> {
        let mut levels: Vec<u32> = Vec::with_capacity(self.formula.nodes.len());
        for &node in &self.formula.nodes {
            let operands = node.operands().map(|a| levels[a as usize]).max();
            let own = match node {
                Temporal::Constant(_)
                | Temporal::Proposition(_)
                | Temporal::Not(_)
                | Temporal::And(..)
                | Temporal::Or(..)
                | Temporal::Implies(..)
                | Temporal::Iff(..) => 0,
                _ => 1,
            };
            levels.push(operands.unwrap_or(0) + own);
        }
        levels
    }

    fn evaluate(&mut self, guard: &mut Guard) -> Result<(), StopReason> {
        let levels = self.levels();
        // What is assumed after the cycle, to begin with.
        let assumed: Vec<bool> = self
            .formula
            .nodes
            .iter()
            .map(|node| {
                matches!(
                    node,
                    Temporal::Globally(_) | Temporal::Release(..) | Temporal::WeakUntil(..)
                )
            })
            .collect();
        let mut bits = vec![0; self.rows.words];
        for (i, &value) in assumed.iter().enumerate() {
            set(&mut bits, i as u32, value);
        }
        let mut row = self.rows.intern(&bits);
        for level in 0..=levels.iter().copied().max().unwrap_or(0) {
            let first = self.read(self.cycle, row, guard)?;
            // Known from now on: the nodes of this level and below.
            for (i, &own) in levels.iter().enumerate() {
                let known = own <= level;
                let value = if known {
                    self.rows.is_true(first, i as u32)
                } else {
                    assumed[i]
                };
                set(&mut bits, i as u32, value);
            }
            row = self.rows.intern(&bits);
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
        if let Some(&known) = self.stretches.get(&(run, after)) {
            return Ok(known);
        }
        let frame = |truth: &Self, run: u32, after: Row| Frame {
            run,
            after,
            index: truth.runs[run as usize].len(),
            row: after,
            always: None,
            sometimes: None,
        };
        let mut frames = vec![frame(self, run, after)];
        let mut done = None;
        while let Some(top) = frames.last_mut() {
            guard.check()?;
            let items = &self.runs[top.run as usize];
            if top.index == 0 {
                // Every run has at least the position of its return.
                let stretch = Stretch {
                    before: top.row,
                    always: top.always.unwrap_or(top.row),
                    sometimes: top.sometimes.unwrap_or(top.row),
                };
                self.stretches.insert((top.run, top.after), stretch);
                done = Some(stretch);
                frames.pop();
                continue;
            }
            let item = items[top.index - 1];
            let mut parts = Vec::new();
            let mut row = top.row;
            if let Some(run) = item.run {
                if let Some(&known) = self.stretches.get(&(run, row)) {
                    parts.push((known.always, known.sometimes));
                    row = known.before;
                } else {
                    let next = frame(self, run, row);
                    frames.push(next);
                    continue;
                }
            }
            row = self.step(item.letter, row);
            parts.push((row, row));
            let (mut always, mut sometimes) = (None, None);
            if let Some(top) = frames.last_mut() {
                top.index -= 1;
                top.row = row;
                (always, sometimes) = (top.always, top.sometimes);
            }
            for (all, some) in parts {
                always = Some(always.map_or(all, |known| self.rows.join(known, all, |a, b| a & b)));
                sometimes =
                    Some(sometimes.map_or(some, |known| self.rows.join(known, some, |a, b| a | b)));
            }
            if let Some(top) = frames.last_mut() {
                (top.always, top.sometimes) = (always, sometimes);
            }
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
