//! Merge functions (section 3.3 of the FWPDS paper): what a caller knows after a callee has
//! returned.
//!
//! The callee's relation becomes a relation between the states of the caller before and after the
//! call. The arguments say with which parameters the callee is entered. The callee's locals are
//! forgotten, and those of the caller stay as they are, because they are not in the frame. The
//! results go to their targets.

use std::cell::RefCell;

use droste_bdd::{Bdd, Cube, Renaming, Var};
use droste_relations::{Call, Copy, Scope};
use rustc_hash::FxHashMap;

use crate::domain::{Relations, Result, Weight};
use crate::places::Places;
use crate::system::Layout;

/// The merge function of a call.
pub struct Merge {
    arguments: Vec<Bdd>,
    /// The values with which the callee's locals begin that are no parameters, and these locals.
    begins: (Bdd, Cube),
    /// From the callee's view to the caller's.
    leave: Renaming,
    /// Values that the callee leaves behind and results overwrite.
    overwritten: Cube,
    /// The callee's parameters, and unused results.
    forgotten: Cube,
    /// For conversions and conditions: the relation that stores the results, and what nothing reads
    /// after it.
    store: Option<(Bdd, Cube)>,
    /// Current values are those before the call, and new ones those after it.
    finish: Renaming,
    globals: Places,
    locals: Places,
    /// Places that get results.
    targets: Places,
    /// Globals whose values after the call are looked at when results are stored.
    wanted: Places,
    /// Places that do not matter after the call.
    dead: Places,
    /// The last callee and what came of it.
    last: RefCell<Option<(Weight, Weight)>>,
}

impl Merge {
    /// The merge function of a call. `dead` are the places that do not matter after it.
    pub(crate) fn new(
        scope: &Scope<'_>,
        layout: &mut Layout<'_>,
        call: &Call,
        dead: Places,
    ) -> Result<Self> {
        let manager = layout.encoding.manager.clone();
        let callee = call.callee;
        let mut hidden = layout.locals.clone();
        let mut begins = manager.constant(true);
        for var in scope.vars(callee) {
            if !matches!(var, droste_program::VarRef::Local(_)) {
                continue;
            }
            if scope.enters(callee, var) {
                hidden = hidden.minus(&layout.places(callee, var));
            } else {
                let valid = layout.encoding.in_range(callee, var, Copy::Entry)?;
                begins = begins.and(&valid)?;
            }
        }
        let hidden: Vec<Var> = hidden.iter().map(|place| layout.copies[place][0]).collect();
        let back = &call.back;
        let without_current = |cube: &Cube| -> Result<Cube> {
            let vars = cube.vars().into_iter();
            let vars: Vec<Var> = vars.filter(|&var| layout.current(var).is_none()).collect();
            manager.cube(&vars)
        };
        let store = match &back.store {
            Some((relation, cube)) => Some((relation.clone(), without_current(cube)?)),
            None => None,
        };
        let mut finish: FxHashMap<Var, Var> = FxHashMap::default();
        for place in layout.globals.iter() {
            finish.insert(layout.copies[place][2], layout.copies[place][1]);
        }
        finish.extend(back.moves.iter().copied());
        finish.extend(layout.copies.iter().map(|copy| (copy[1], copy[0])));
        let finish: Vec<(Var, Var)> = finish.into_iter().collect();
        // Where results go: not where a global of the callee comes from.
        let is_result = |from: Var| layout.next(from).is_none() || back.targets.contains(&from);
        let moves = back.moves.iter().filter(|&&(from, _)| is_result(from));
        let targets: Places = moves.filter_map(|&(_, to)| layout.current(to)).collect();
        let overwritten = targets.and(&layout.globals);
        let overwritten: Vec<Var> = (overwritten.iter())
            .map(|place| layout.copies[place][2])
            .collect();
        let wanted = match &back.store {
            Some((relation, _)) => {
                let vars = relation.support().into_iter();
                let vars = vars.filter(|var| !back.targets.contains(var));
                let places: Places = vars.filter_map(|var| layout.next(var)).collect();
                places.and(&layout.globals)
            }
            None => Places::new(),
        };
        Ok(Merge {
            arguments: call.arguments.clone(),
            begins: (begins, manager.cube(&hidden)?),
            leave: layout.encoding.leave.clone(),
            overwritten: manager.cube(&overwritten)?,
            forgotten: without_current(&back.join)?,
            store,
            finish: manager.renaming(&finish),
            globals: layout.globals.clone(),
            locals: layout.locals.clone(),
            targets,
            wanted,
            dead,
            last: RefCell::new(None),
        })
    }

    /// The callee's relation over its entry and exit, with nothing about its locals but parameters.
    pub(crate) fn exits(&self, relations: &Relations<'_>, callee: &Weight) -> Result<Bdd> {
        let locals = callee.frame.and(&self.locals);
        let exits = callee.diagram.exists(&relations.after(&locals)?)?;
        exits.and_exists(&self.begins.0, &self.begins.1)
    }

    /// What the call does to the caller.
    pub(crate) fn step(&self, relations: &Relations<'_>, callee: &Weight) -> Result<Weight> {
        if let Some((known, step)) = &*self.last.borrow()
            && known.frame == callee.frame
            && known.diagram == callee.diagram
        {
            return Ok(step.clone());
        }
        let whole = relations.lifted(callee, &self.wanted)?;
        let exits = self.exits(relations, &whole)?.rename(&self.leave)?;
        let visible = exits.exists(&self.overwritten)?;
        let step = match self.arguments.split_last() {
            None => visible.exists(&self.forgotten)?,
            Some((last, others)) => {
                let mut step = visible;
                for argument in others {
                    step = step.and(argument)?;
                }
                step.and_exists(last, &self.forgotten)?
            }
        };
        let step = match &self.store {
            Some((relation, cube)) => step.and_exists(relation, cube)?,
            None => step,
        };
        let step = step.rename(&self.finish)?;
        let frame = whole.frame.and(&self.globals).or(&self.targets);
        let step = step.exists(&relations.after(&self.dead)?)?;
        let step = relations.weight(step, frame.or(&self.dead));
        *self.last.borrow_mut() = Some((callee.clone(), step.clone()));
        Ok(step)
    }
}
