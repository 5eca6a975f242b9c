//! The variables of a program as variables of diagrams.
//!
//! Each slot of the [`Arrangement`] has up to three copies, next to each other: *entry* (the
//! value when the procedure was entered), *current*, and *next* (during a step, or the callee's
//! side of a call). Results have one.

use std::rc::Rc;

use droste_base::{Limits, StopReason};
use droste_bdd::{Bdd, Cube, Manager, Renaming, Var};
use droste_blast::{Logic, State, in_range};
use droste_program::{ProcId, Program, Type, VarRef};
use rustc_hash::FxHashMap;

use droste_blast::order::{Arrangement, Kind, Slot};

/// What may be stopped.
pub type Result<T> = std::result::Result<T, StopReason>;

/// Which value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// When the procedure was entered.
    Entry,
    /// Now.
    Current,
    /// After a step; of locals, also those of a callee.
    Next,
}

/// The copies of a slot; for a result only the first is used.
#[derive(Clone, Copy)]
struct Copies([Var; 3]);

/// The variables of a program as variables of diagrams.
pub struct Encoding<'a> {
    /// The program.
    pub program: &'a Program,
    /// The diagrams.
    pub manager: Manager,
    arrangement: Rc<Arrangement>,
    copies: Vec<Copies>,
    /// Variables for choices; reused by every relation.
    choices: Vec<Var>,
    /// For the results of a procedure, by index: whether it may be any value.
    any_results: Vec<Var>,
    /// All entry copies.
    pub entries: Cube,
    /// The current copies of locals.
    pub current_locals: Cube,
    /// The next copies of locals.
    pub next_locals: Cube,
    /// All next copies.
    pub nexts: Cube,
    /// A call seen from the callee: current globals and next locals become entry values.
    pub enter: Renaming,
    /// The callee's relation between entry and exit seen from the caller: the inverse of `enter`
    /// for the entry, and the callee's current globals become next ones.
    pub leave: Renaming,
    /// Further copies of each slot, by slot: of globals at switches, of locals when a thread is
    /// started.
    extra: Vec<Vec<Var>>,
    states: FxHashMap<ProcId, Rc<State<Bdd>>>,
}

impl<'a> Encoding<'a> {
    /// With three copies of each variable.
    pub fn new(program: &'a Program, limits: &Limits) -> Result<Self> {
        Self::with_extra(program, limits, 0, |_| 0)
    }

    /// With further copies of each slot, and `first` variables above all others.
    pub fn with_extra(
        program: &'a Program,
        limits: &Limits,
        first: u32,
        further: impl Fn(Kind) -> u32,
    ) -> Result<Self> {
        let arrangement = Arrangement::new(program);
        let manager = Manager::new(limits);
        manager.new_vars(first);
        let mut extra = Vec::with_capacity(arrangement.kinds.len());
        let mut copies = Vec::with_capacity(arrangement.kinds.len());
        let (mut entries, mut locals, mut next_locals) = (Vec::new(), Vec::new(), Vec::new());
        let mut nexts = Vec::new();
        let (mut enter, mut leave) = (Vec::new(), Vec::new());
        for kind in &arrangement.kinds {
            if *kind == Kind::Result {
                let var = manager.new_vars(1)[0];
                copies.push(Copies([var; 3]));
                extra.push(Vec::new());
                continue;
            }
            let vars = manager.new_vars(3);
            let (entry, current, next) = (vars[0], vars[1], vars[2]);
            copies.push(Copies([entry, current, next]));
            extra.push(manager.new_vars(further(*kind)));
            entries.push(entry);
            nexts.push(next);
            if *kind == Kind::Local {
                locals.push(current);
                next_locals.push(next);
                enter.push((next, entry));
                leave.push((entry, next));
            } else {
                enter.push((current, entry));
                leave.push((entry, current));
                leave.push((current, next));
            }
        }
        Ok(Encoding {
            program,
            choices: Vec::new(),
            any_results: Vec::new(),
            entries: manager.cube(&entries)?,
            current_locals: manager.cube(&locals)?,
            next_locals: manager.cube(&next_locals)?,
            nexts: manager.cube(&nexts)?,
            enter: manager.renaming(&enter),
            leave: manager.renaming(&leave),
            arrangement: Rc::new(arrangement),
            copies,
            extra,
            states: FxHashMap::default(),
            manager,
        })
    }

    /// Many frames side by side, with the globals in common, and `first` variables above all
    /// others. There is an encoding for each frame. Nothing has an entry copy.
    pub fn frames(
        program: &'a Program,
        limits: &Limits,
        first: u32,
        count: usize,
    ) -> Result<Vec<Self>> {
        let arrangement = Rc::new(Arrangement::new(program));
        let manager = Manager::new(limits);
        manager.new_vars(first);
        let mut copies = vec![Vec::with_capacity(arrangement.kinds.len()); count];
        let mut nexts = vec![Vec::new(); count];
        let mut locals = vec![Vec::new(); count];
        let mut next_locals = vec![Vec::new(); count];
        for kind in &arrangement.kinds {
            let mut vars = Vec::new();
            for frame in 0..count {
                // The frames have locals of their own, and nothing else.
                if frame == 0 || *kind == Kind::Local {
                    vars = manager.new_vars(2);
                }
                let (current, next) = (vars[0], vars[1]);
                copies[frame].push(Copies([current, current, next]));
                if *kind != Kind::Result {
                    nexts[frame].push(next);
                }
                if *kind == Kind::Local {
                    locals[frame].push(current);
                    next_locals[frame].push(next);
                }
            }
        }
        let none = manager.renaming(&[]);
        let frames = copies.into_iter().enumerate();
        let encoding = |(frame, copies): (usize, Vec<Copies>)| {
            Ok(Encoding {
                program,
                choices: Vec::new(),
                any_results: Vec::new(),
                entries: manager.cube(&[])?,
                current_locals: manager.cube(&locals[frame])?,
                next_locals: manager.cube(&next_locals[frame])?,
                nexts: manager.cube(&nexts[frame])?,
                enter: none.clone(),
                leave: none.clone(),
                arrangement: Rc::clone(&arrangement),
                extra: vec![Vec::new(); copies.len()],
                copies,
                states: FxHashMap::default(),
                manager: manager.clone(),
            })
        };
        frames.map(encoding).collect()
    }

    /// The copies of each slot, which stay together when variables are reordered.
    pub fn groups(&self) -> Vec<Vec<Var>> {
        let slots = self.copies.iter().zip(&self.extra);
        slots
            .map(|(copies, extra)| copies.0.iter().chain(extra).copied().collect())
            .collect()
    }

    /// What each slot is for, and its copies; without those of results.
    pub fn places(&self) -> impl Iterator<Item = (Kind, [Var; 3])> + '_ {
        let slots = self.arrangement.kinds.iter().zip(&self.copies);
        slots
            .filter(|(kind, _)| **kind != Kind::Result)
            .map(|(kind, copies)| (*kind, copies.0))
    }

    fn slots(&self, procedure: ProcId, var: VarRef) -> &[Slot] {
        match var {
            VarRef::Global(i) => &self.arrangement.globals[i as usize],
            VarRef::Local(i) => &self.arrangement.locals[procedure.0 as usize][i as usize],
        }
    }

    /// The bits of a variable, least significant first.
    pub fn vars(
        &self,
        procedure: ProcId,
        var: VarRef,
        copy: Copy,
    ) -> impl Iterator<Item = Var> + '_ {
        let slots = self.slots(procedure, var).iter();
        slots.map(move |slot| self.copies[slot.0 as usize].0[copy as usize])
    }

    /// A further copy of a variable's bits.
    pub fn extra(
        &self,
        procedure: ProcId,
        var: VarRef,
        number: usize,
    ) -> impl Iterator<Item = Var> + '_ {
        let slots = self.slots(procedure, var).iter();
        slots.map(move |slot| self.extra[slot.0 as usize][number])
    }

    /// The bits of a procedure's result.
    pub fn result_vars(&self, procedure: ProcId, result: usize) -> impl Iterator<Item = Var> + '_ {
        let slots = self.arrangement.results[procedure.0 as usize][result].iter();
        slots.map(|slot| self.copies[slot.0 as usize].0[0])
    }

    /// Whether a result, by index, may be any value: a variable that all procedures share.
    pub fn any_result(&mut self, result: usize) -> Var {
        let missing = (result + 1).saturating_sub(self.any_results.len());
        self.any_results
            .extend(self.manager.new_vars(missing as u32));
        self.any_results[result]
    }

    /// The diagrams of variables.
    pub fn literals(&self, vars: impl Iterator<Item = Var>) -> Result<Vec<Bdd>> {
        vars.map(|var| self.manager.var(var)).collect()
    }

    /// The current values of all variables in scope of a procedure; made once.
    pub fn current(&mut self, procedure: ProcId) -> Result<Rc<State<Bdd>>> {
        if let Some(state) = self.states.get(&procedure) {
            return Ok(Rc::clone(state));
        }
        let state = Rc::new(self.state(procedure, |_| Copy::Current)?);
        self.states.insert(procedure, Rc::clone(&state));
        Ok(state)
    }

    /// The diagrams of all variables in scope of a procedure; `copy` says which copy of each.
    pub fn state(&self, procedure: ProcId, copy: impl Fn(VarRef) -> Copy) -> Result<State<Bdd>> {
        let code = |var| self.literals(self.vars(procedure, var, copy(var)));
        let globals = (0..self.program.globals.len() as u32).map(|i| code(VarRef::Global(i)));
        let locals = self.program.procedure(procedure).locals.len() as u32;
        let locals = (0..locals).map(|i| code(VarRef::Local(i)));
        Ok(State {
            globals: globals.collect::<Result<_>>()?,
            locals: locals.collect::<Result<_>>()?,
        })
    }

    /// Where the copy of a variable is the code of a value.
    pub fn in_range(&mut self, procedure: ProcId, var: VarRef, copy: Copy) -> Result<Bdd> {
        let ty = self.program.variable(procedure, var).ty;
        let code = self.literals(self.vars(procedure, var, copy))?;
        in_range(&mut self.logic(), ty, &code)
    }

    /// A logic whose choices are variables from the pool.
    pub fn logic(&mut self) -> Diagrams<'_> {
        Diagrams {
            manager: &self.manager,
            pool: &mut self.choices,
            used: 0,
        }
    }

    /// Whether every code of the type is a value.
    pub fn is_full(ty: Type) -> bool {
        match ty {
            Type::Range { lo, hi } => hi
                .abs_diff(lo)
                .checked_add(1)
                .is_some_and(u128::is_power_of_two),
            _ => true,
        }
    }
}

/// Diagrams as a logic to bit-blast into.
pub struct Diagrams<'a> {
    manager: &'a Manager,
    pool: &'a mut Vec<Var>,
    used: usize,
}

impl Diagrams<'_> {
    /// The variables among `choices`, to be quantified.
    pub fn cube(&self, choices: &[Bdd]) -> Result<Cube> {
        let vars: Vec<Var> = choices.iter().flat_map(Bdd::support).collect();
        self.manager.cube(&vars)
    }
}

impl Logic for Diagrams<'_> {
    type Bit = Bdd;
    type Error = StopReason;

    fn constant(&mut self, value: bool) -> Bdd {
        self.manager.constant(value)
    }
    fn as_constant(&self, bit: &Bdd) -> Option<bool> {
        (bit.is_true() || bit.is_false()).then(|| bit.is_true())
    }
    fn not(&mut self, a: &Bdd) -> Result<Bdd> {
        Ok(a.not())
    }
    fn and(&mut self, a: &Bdd, b: &Bdd) -> Result<Bdd> {
        a.and(b)
    }
    fn or(&mut self, a: &Bdd, b: &Bdd) -> Result<Bdd> {
        a.or(b)
    }
    fn xor(&mut self, a: &Bdd, b: &Bdd) -> Result<Bdd> {
        a.xor(b)
    }
    fn ite(&mut self, condition: &Bdd, yes: &Bdd, no: &Bdd) -> Result<Bdd> {
        condition.ite(yes, no)
    }
    fn fresh(&mut self) -> Result<Bdd> {
        if self.used == self.pool.len() {
            self.pool.extend(self.manager.new_vars(1));
        }
        self.used += 1;
        self.manager.var(self.pool[self.used - 1])
    }
}
