//! Positions of a program and what a step does there, straight from the syntax tree.
//!
//! A position is a statement; each `elsif` condition and the `end` of a procedure are
//! positions too. `enforce e` is remembered at every position it guards: those of its own
//! block after it (blocks inside included) and the `enforce` statement itself. A
//! step from such a position, other than a return, exists only if `e` can be true after it;
//! a call is complete when it has returned.
//!
//! A declaration is no position, unless it has a label. The step that leads to one goes on through
//! it, and through those that follow, to the next statement ([`Machine::settle`]).

use std::collections::{BTreeSet, HashMap};

use droste_lang::ast::{Ast, Decl, ExprId, Item, StmtId, StmtKind, Target, Type};
use droste_program::{Value, Violation};

use super::eval::{Eval, Outcome, Scope, valuations};
use super::product::System;
use super::{LARGEST_DOMAIN, Refusal};

/// Values of the globals, then of the parameters and locals.
pub type Store = Vec<Value>;

pub(super) struct Procedure {
    pub(super) name: String,
    /// The first position.
    pub(super) entry: usize,
    pub(super) scope: Scope,
    params: usize,
    results: Vec<Type>,
    labels: HashMap<String, usize>,
}

pub(super) struct Position {
    pub(super) procedure: usize,
    pub(super) labels: Vec<String>,
    action: Action,
    /// Conditions of the `enforce` statements that guard it, outermost first.
    enforced: Vec<ExprId>,
}

enum Action {
    /// Execute the statement, then go to the position.
    Do(StmtId, usize),
    /// A declaration on the way to the position: nobody is ever here.
    Pass(StmtId, usize),
    /// Evaluate the condition; where to go if it is true, and if it is false.
    Test(ExprId, usize, usize),
    /// The end of a procedure that returns nothing.
    End,
    /// The end of one that should have returned something.
    Stuck,
}

/// What can happen at a position.
#[derive(Clone, Debug)]
pub enum Step {
    /// Go to the position.
    To(usize, Store),
    /// Call the procedure; globals and arguments.
    Call(usize, Store),
    /// Return; globals and results.
    Return(Store),
    /// A violation.
    Fail(Violation),
}

pub(super) struct Machine<'a> {
    ast: &'a Ast,
    pub(super) globals: Scope,
    pub(super) procedures: Vec<Procedure>,
    pub(super) positions: Vec<Position>,
    pub(super) main: usize,
}

impl<'a> Machine<'a> {
    pub(super) fn new(ast: &'a Ast) -> Result<Self, Refusal> {
        let mut machine = Machine {
            ast,
            globals: Scope::default(),
            procedures: Vec::new(),
            positions: Vec::new(),
            main: 0,
        };
        for item in &ast.items {
            match item {
                Item::Decl(decl) => declare(&mut machine.globals, decl),
                Item::Function(_) => {}
                Item::Thread(..) => return Err(Refusal::Concurrent),
            }
        }
        for item in &ast.items {
            if let Item::Function(function) = item {
                let mut scope = machine.globals.clone();
                for (name, ty) in &function.params {
                    scope.declare(&name.text, *ty);
                }
                let params = scope.types.len();
                declare_locals(ast, &function.body, &mut scope, params);
                // So that no enumeration below can fail.
                if valuations(&scope.types, LARGEST_DOMAIN).is_none() {
                    return Err(Refusal::TooLarge);
                }
                machine.procedures.push(Procedure {
                    name: function.name.text.to_string(),
                    entry: 0,
                    scope,
                    params: function.params.len(),
                    results: function.results.clone(),
                    labels: HashMap::new(),
                });
                let procedure = machine.procedures.len() - 1;
                let action = if function.results.is_empty() {
                    Action::End
                } else {
                    Action::Stuck
                };
                let end = machine.place(procedure, Vec::new(), action, &[]);
                let mut entry = machine.block(procedure, &function.body, end, &[])?;
                // The locals have any value anyway.
                while let Action::Pass(_, next) = machine.positions[entry].action {
                    entry = next;
                }
                machine.procedures[procedure].entry = entry;
            }
        }
        machine.main = machine.procedure("main").ok_or(Refusal::NoMain)?;
        Ok(machine)
    }

    /// Whether there is an assertion at a position.
    pub(super) fn asserts(&self, position: usize) -> bool {
        let Action::Do(id, _) = self.positions[position].action else {
            return false;
        };
        let kind = &self.ast.stmt(id).kind;
        matches!(kind, StmtKind::Assert(_) | StmtKind::AbortIf(_))
    }

    /// Whether a position is the end of a procedure that should have returned a value.
    pub(super) fn lacks_value(&self, position: usize) -> bool {
        matches!(self.positions[position].action, Action::Stuck)
    }

    pub(super) fn procedure(&self, name: &str) -> Option<usize> {
        self.procedures.iter().position(|p| p.name == name)
    }

    fn place(
        &mut self,
        procedure: usize,
        labels: Vec<String>,
        action: Action,
        enforced: &[ExprId],
    ) -> usize {
        let position = self.positions.len();
        for label in &labels {
            let known = &mut self.procedures[procedure].labels;
            known.insert(label.clone(), position);
        }
        self.positions.push(Position {
            procedure,
            labels,
            action,
            enforced: enforced.to_vec(),
        });
        position
    }

    /// Gives the statements of a block their positions and returns the first; `next` is
    /// where control goes after the last.
    fn block(
        &mut self,
        procedure: usize,
        block: &[StmtId],
        next: usize,
        outer: &[ExprId],
    ) -> Result<usize, Refusal> {
        let mut enforced = outer.to_vec();
        let mut guards = Vec::new();
        for &id in block {
            if let StmtKind::Enforce(condition) = self.ast.stmt(id).kind {
                enforced.push(condition);
            }
            guards.push(enforced.clone());
        }
        let mut next = next;
        for (&id, enforced) in block.iter().zip(&guards).rev() {
            next = self.statement(procedure, id, next, enforced)?;
        }
        Ok(next)
    }

    fn statement(
        &mut self,
        procedure: usize,
        id: StmtId,
        next: usize,
        enforced: &[ExprId],
    ) -> Result<usize, Refusal> {
        let stmt = self.ast.stmt(id);
        let labels: Vec<String> = stmt.labels.iter().map(|l| l.text.to_string()).collect();
        match &stmt.kind {
            StmtKind::If { arms, otherwise } => {
                let mut no = match otherwise {
                    Some(block) => self.block(procedure, block, next, enforced)?,
                    None => next,
                };
                for (i, (condition, block)) in arms.iter().enumerate().rev() {
                    let yes = self.block(procedure, block, next, enforced)?;
                    let labels = if i == 0 { labels.clone() } else { Vec::new() };
                    let test = Action::Test(*condition, yes, no);
                    no = self.place(procedure, labels, test, enforced);
                }
                Ok(no)
            }
            StmtKind::While { condition, body } => {
                let test = self.place(procedure, labels, Action::Stuck, enforced);
                let first = self.block(procedure, body, test, enforced)?;
                self.positions[test].action = Action::Test(*condition, first, next);
                Ok(test)
            }
            StmtKind::StartThread(_)
            | StmtKind::EndThread
            | StmtKind::Sync(_)
            | StmtKind::AtomicBegin
            | StmtKind::AtomicEnd => Err(Refusal::Concurrent),
            StmtKind::Call { .. } if labels.iter().any(|l| l.starts_with("ASYNC_")) => {
                Err(Refusal::Concurrent)
            }
            StmtKind::Decl(_) if labels.is_empty() => {
                Ok(self.place(procedure, labels, Action::Pass(id, next), enforced))
            }
            _ => Ok(self.place(procedure, labels, Action::Do(id, next), enforced)),
        }
    }

    fn execute(&self, here: &Position, store: &[Value], id: StmtId, next: usize) -> Vec<Step> {
        let procedure = &self.procedures[here.procedure];
        let eval = self.eval(here.procedure, store, store);
        let globals = self.globals.types.len();
        let go = |to: usize| self.complete(here, store, store.to_vec(), None, to);
        match &self.ast.stmt(id).kind {
            StmtKind::Skip | StmtKind::Print(_) | StmtKind::Enforce(_) => go(next),
            StmtKind::Goto(labels) => labels
                .iter()
                .flat_map(|label| go(procedure.labels[&*label.text]))
                .collect(),
            StmtKind::Decl(Decl { names, .. }) | StmtKind::Dead(names) => {
                let forgotten: Vec<usize> = names
                    .iter()
                    .map(|name| procedure.scope.index[&*name.text])
                    .collect();
                let types: Vec<Type> = forgotten
                    .iter()
                    .map(|&i| procedure.scope.types[i])
                    .collect();
                let mut steps = Vec::new();
                for values in enumerate(&types) {
                    let mut new = store.to_vec();
                    for (&i, value) in forgotten.iter().zip(values) {
                        new[i] = value;
                    }
                    steps.extend(self.complete(here, store, new, None, next));
                }
                steps
            }
            StmtKind::Constrain(condition) => enumerate(&procedure.scope.types)
                .into_iter()
                .flat_map(|new| self.complete(here, store, new, Some(*condition), next))
                .collect(),
            StmtKind::Assign {
                targets,
                values,
                constrain,
            } => {
                let targets = self.targets(here.procedure, targets);
                let outcomes = values.iter().zip(&targets).map(|(&value, target)| {
                    eval.stored(value, target.map(|i| procedure.scope.types[i]))
                });
                let (choices, mut steps) = combine(outcomes);
                for choice in choices {
                    let mut new = store.to_vec();
                    for (target, value) in targets.iter().zip(choice) {
                        if let Some(i) = target {
                            new[*i] = value;
                        }
                    }
                    steps.extend(self.complete(here, store, new, *constrain, next));
                }
                steps
            }
            StmtKind::Call { callee, args, .. } => {
                let callee = self
                    .procedure(&callee.text)
                    .expect("the callee is declared");
                let types = &self.procedures[callee].scope.types[globals..];
                assert_eq!(args.len(), self.procedures[callee].params);
                let outcomes = args.iter().zip(types);
                let outcomes = outcomes.map(|(&arg, ty)| eval.stored(arg, Some(*ty)));
                let (choices, mut steps) = combine(outcomes);
                let call = |args: Store| Step::Call(callee, [&store[..globals], &args].concat());
                steps.extend(choices.into_iter().map(call));
                steps
            }
            StmtKind::Return(values) => {
                assert_eq!(values.len(), procedure.results.len());
                let outcomes = values.iter().zip(&procedure.results);
                let outcomes = outcomes.map(|(&value, ty)| eval.stored(value, Some(*ty)));
                let (choices, mut steps) = combine(outcomes);
                let exit = |results: Store| Step::Return([&store[..globals], &results].concat());
                steps.extend(choices.into_iter().map(exit));
                steps
            }
            StmtKind::Assume(condition) => {
                let (holds, _, mut steps) = split(eval.condition(*condition));
                if holds {
                    steps.extend(go(next));
                }
                steps
            }
            StmtKind::Assert(condition) => {
                let (holds, fails, mut steps) = split(eval.condition(*condition));
                if holds {
                    steps.extend(go(next));
                }
                if fails {
                    steps.push(Step::Fail(Violation::Assertion));
                }
                steps
            }
            StmtKind::AbortIf(condition) => {
                let (aborts, goes_on, mut steps) = split(eval.condition(*condition));
                if goes_on {
                    steps.extend(go(next));
                }
                if aborts {
                    steps.push(Step::Fail(Violation::Assertion));
                }
                steps
            }
            other => panic!("not a simple statement: {other:?}"),
        }
    }

    /// The step from `old` to `new`, if `constrain` and what is enforced allow it.
    fn complete(
        &self,
        here: &Position,
        old: &[Value],
        new: Store,
        constrain: Option<ExprId>,
        next: usize,
    ) -> Vec<Step> {
        let relation = self.eval(here.procedure, old, &new);
        let after = self.eval(here.procedure, &new, &new);
        let conditions = constrain.iter().map(|&c| relation.condition(c));
        let conditions = conditions.chain(here.enforced.iter().map(|&c| after.condition(c)));
        let mut steps = Vec::new();
        for outcomes in conditions {
            let (holds, _, failures) = split(outcomes);
            steps.extend(failures);
            if !holds {
                return steps;
            }
        }
        steps.push(Step::To(next, new));
        steps
    }

    /// The steps, each taken on through declarations to a position.
    fn settle(&self, steps: Vec<Step>) -> Vec<Step> {
        let mut todo = steps;
        todo.reverse();
        let mut settled = Vec::new();
        while let Some(step) = todo.pop() {
            if let Step::To(place, store) = &step
                && let here = &self.positions[*place]
                && let Action::Pass(id, next) = here.action
            {
                todo.extend(self.execute(here, store, id, next));
            } else {
                settled.push(step);
            }
        }
        settled
    }

    fn eval<'b>(&'b self, procedure: usize, old: &'b [Value], new: &'b [Value]) -> Eval<'b> {
        Eval {
            ast: self.ast,
            scope: &self.procedures[procedure].scope,
            old,
            new,
        }
    }

    fn targets(&self, procedure: usize, targets: &[Target]) -> Vec<Option<usize>> {
        let index = &self.procedures[procedure].scope.index;
        let place = |target: &Target| match target {
            Target::Var(name) => Some(index[&*name.text]),
            Target::Discard(_) => None,
        };
        targets.iter().map(place).collect()
    }
}

impl System for Machine<'_> {
    fn globals(&self) -> usize {
        self.globals.types.len()
    }

    fn initial(&self) -> Vec<(usize, Store)> {
        let main = &self.procedures[self.main];
        let stores = enumerate(&main.scope.types).into_iter();
        stores.map(|store| (main.entry, store)).collect()
    }

    fn entries(&self, callee: usize, entry: &[Value]) -> Vec<(usize, Store)> {
        let callee = &self.procedures[callee];
        let locals = enumerate(&callee.scope.types[entry.len()..]);
        let extend = |locals: Store| (callee.entry, [entry, &locals].concat());
        locals.into_iter().map(extend).collect()
    }

    fn steps(&self, position: usize, store: &[Value]) -> Vec<Step> {
        let here = &self.positions[position];
        let eval = self.eval(here.procedure, store, store);
        let steps = match &here.action {
            Action::Pass(..) => panic!("a declaration is no position"),
            Action::Stuck => Vec::new(),
            Action::End => vec![Step::Return(store[..self.globals.types.len()].to_vec())],
            Action::Test(condition, yes, no) => {
                let mut steps = Vec::new();
                for outcome in eval.condition(*condition) {
                    match outcome {
                        Err(violation) => steps.push(Step::Fail(violation)),
                        Ok(value) => {
                            let next = if value == 1 { *yes } else { *no };
                            steps.extend(self.complete(here, store, store.to_vec(), None, next));
                        }
                    }
                }
                steps
            }
            Action::Do(id, next) => self.execute(here, store, *id, *next),
        };
        self.settle(steps)
    }

    fn resume(&self, position: usize, caller: &[Value], exit: &[Value]) -> Vec<Step> {
        let here = &self.positions[position];
        let Action::Do(id, next) = here.action else {
            panic!("only a call can be resumed");
        };
        let StmtKind::Call {
            targets, constrain, ..
        } = &self.ast.stmt(id).kind
        else {
            panic!("only a call can be resumed");
        };
        let globals = self.globals.types.len();
        let mut new = [&exit[..globals], &caller[globals..]].concat();
        let mut failures = Vec::new();
        let targets = self.targets(here.procedure, targets);
        for (target, &result) in targets.iter().zip(&exit[globals..]) {
            if let Some(i) = *target {
                match super::eval::convert(result, self.procedures[here.procedure].scope.types[i]) {
                    Ok(value) => new[i] = value,
                    Err(violation) => failures.push(Step::Fail(violation)),
                }
            }
        }
        if !failures.is_empty() {
            return failures;
        }
        self.settle(self.complete(here, caller, new, *constrain, next))
    }
}

fn declare(scope: &mut Scope, decl: &Decl) {
    for name in &decl.names {
        scope.declare(&name.text, decl.ty);
    }
}

/// A local may hide a parameter or a global (the first `outer` of the scope); declaring it
/// twice is declaring it once.
fn declare_locals(ast: &Ast, block: &[StmtId], scope: &mut Scope, outer: usize) {
    for &id in block {
        match &ast.stmt(id).kind {
            StmtKind::Decl(decl) => {
                for name in &decl.names {
                    if scope.index.get(&*name.text).is_none_or(|&i| i < outer) {
                        scope.declare(&name.text, decl.ty);
                    }
                }
            }
            StmtKind::If { arms, otherwise } => {
                for block in arms.iter().map(|(_, block)| block).chain(otherwise) {
                    declare_locals(ast, block, scope, outer);
                }
            }
            StmtKind::While { body, .. } => declare_locals(ast, body, scope, outer),
            _ => {}
        }
    }
}

fn enumerate(types: &[Type]) -> Vec<Store> {
    valuations(types, LARGEST_DOMAIN).expect("domains were measured when the machine was made")
}

/// Whether a condition can be true, can be false, and how evaluating it can fail.
fn split(outcomes: BTreeSet<Outcome>) -> (bool, bool, Vec<Step>) {
    let (mut yes, mut no, mut failures) = (false, false, Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(0) => no = true,
            Ok(_) => yes = true,
            Err(violation) => failures.push(Step::Fail(violation)),
        }
    }
    (yes, no, failures)
}

/// Every choice of one value per expression, and every failure.
fn combine(outcomes: impl Iterator<Item = BTreeSet<Outcome>>) -> (Vec<Store>, Vec<Step>) {
    let mut choices: Vec<Store> = vec![Vec::new()];
    let mut failures = Vec::new();
    for outcomes in outcomes {
        let mut extended = Vec::new();
        for outcome in outcomes {
            match outcome {
                Err(violation) => failures.push(Step::Fail(violation)),
                Ok(value) => extended.extend(choices.iter().map(|choice| {
                    let mut choice = choice.clone();
                    choice.push(value);
                    choice
                })),
            }
        }
        choices = extended;
    }
    (choices, failures)
}
