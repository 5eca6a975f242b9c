//! From expressions to terms: names become bits, negation goes inwards, types are checked.
//!
//! The walk has a stack of its own. An expression is visited with a sign, and what it becomes is in
//! negation normal form. Where MUCKE tries constants before variables (arguments, and to the right
//! of `=`), so do we.

use droste_base::words::counted;
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

use crate::parser::unknown_command;
use crate::resolve::{Global, Resolver};
use crate::syntax::{Arrow, Expr, ExprId, List, Step};
use crate::term::{Argument, FALSE, Of, Term, TermId, Terms, VarId};
use crate::types::{BOOL, Shape, TypeId};

/// How many quantifiers of queries have variables of their own.
const MOST_APART: usize = 16;

/// What remains to be done.
enum Task {
    /// An expression, negated if the flag is set.
    Visit(ExprId, bool),
    And(usize),
    Or(usize),
    Iff,
    /// Else, then, condition.
    Ite,
    /// Variables come into scope, and then this expression is visited, negated if the first flag is
    /// set; the result is negated if the second is. The third says that nothing is to be told.
    Enter(List, ExprId, bool, bool, bool),
    /// The first variables leave the scope, and are quantified together with the others; the result is
    /// negated if the flag is set.
    Exists(Vec<VarId>, Vec<VarId>, bool),
    /// `assume` or `cofactor`; the result is negated if the second flag is set.
    Care(bool, bool),
}

/// One side of a comparison, or an argument.
enum Operand {
    /// Part of a variable: its first bit and its type.
    Variable(u32, TypeId),
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Span),
    /// A name that is no variable.
    Name,
}

/// Something is wrong, and has been told.
struct Told;

impl Resolver {
    /// The expression as a term, negated if so wanted; nothing if it is wrong.
    pub(crate) fn formula(&mut self, root: ExprId, negated: bool) -> Option<TermId> {
        let mut tasks = vec![Task::Visit(root, negated)];
        let mut values: Vec<TermId> = Vec::new();
        let mut fine = true;
        // The second walk over an expression has nothing new to say.
        let quiet = negated;
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(expr, negated) => {
                    let done = self.visit(expr, negated, quiet, &mut tasks);
                    match done {
                        Ok(None) => {}
                        Ok(Some(term)) => values.push(term),
                        Err(Told) => {
                            fine = false;
                            values.push(FALSE);
                        }
                    }
                }
                Task::And(count) => {
                    let operands = values.split_off(values.len() - count);
                    values.push(self.theory.terms.and(operands));
                }
                Task::Or(count) => {
                    let operands = values.split_off(values.len() - count);
                    values.push(self.theory.terms.or(operands));
                }
                Task::Iff => {
                    let [a, b] = pop(&mut values);
                    values.push(self.theory.terms.iff(a, b));
                }
                Task::Ite => {
                    let [otherwise, then, condition] = pop(&mut values);
                    values.push(self.theory.terms.ite(condition, then, otherwise));
                }
                Task::Enter(list, body, inner, negated, quiet) => {
                    if let Ok(vars) = self.enter(&list, quiet) {
                        tasks.push(Task::Exists(vars, Vec::new(), negated));
                        tasks.push(Task::Visit(body, inner));
                    } else {
                        fine = false;
                        values.push(FALSE);
                    }
                }
                Task::Exists(vars, mut all, negated) => {
                    for id in &vars {
                        let name = &self.theory.variables[id.0 as usize].name;
                        if let Some(stack) = self.scope.get_mut(name) {
                            stack.pop();
                            if stack.is_empty() {
                                self.scope.remove(name);
                            }
                        }
                        self.in_scope.remove(id);
                        self.time += 1;
                        let variable = &mut self.theory.variables[id.0 as usize];
                        if let Some(scope) = variable.scopes.last_mut() {
                            scope.1 = self.time;
                        }
                    }
                    let several = !all.is_empty();
                    all.extend(vars);
                    // Of quantifiers right inside each other there is one term: a term for each, with
                    // all variables so far, would take space quadratic in their number.
                    if !negated
                        && let Some(Task::Exists(_, inner, _)) = tasks.last_mut()
                        && inner.is_empty()
                    {
                        *inner = all;
                        continue;
                    }
                    let [body] = pop(&mut values);
                    if several {
                        all.sort_unstable();
                    }
                    let term = self.theory.terms.exists(&all, body);
                    values.push(self.theory.terms.not_if(term, negated));
                }
                Task::Care(assume, negated) => {
                    let [f, g] = pop(&mut values);
                    let term = self.theory.terms.add(Term::Care(assume, f, g));
                    values.push(self.theory.terms.not_if(term, negated));
                }
            }
        }
        fine.then(|| values.pop()).flatten()
    }

    /// The term if it is simple; otherwise nothing, and there are new tasks.
    fn visit(
        &mut self,
        id: ExprId,
        negated: bool,
        quiet: bool,
        tasks: &mut Vec<Task>,
    ) -> Result<Option<TermId>, Told> {
        let span = self.syntax().span(id);
        match self.syntax().expr(id).clone() {
            Expr::Bool(value) => return Ok(Some(Terms::constant(value != negated))),
            Expr::Number(digits) => {
                let number = self.number(digits).ok_or(Told)?;
                if number > 1 {
                    return Err(self.tell(
                        Diagnostic::error(digits, "expected a formula, found a number")
                            .help("only 0 (false) and 1 (true) are formulas"),
                    ));
                }
                return Ok(Some(Terms::constant((number == 1) != negated)));
            }
            Expr::Path(list) => {
                let (first, ty) = self.path(&list)?;
                if ty != BOOL {
                    let name = self.theory.types.get(ty).name.clone();
                    return Err(self.tell(
                        Diagnostic::error(span, format!("expected a formula, found a `{name}`"))
                            .label("not Boolean")
                            .help("compare it with `=`"),
                    ));
                }
                let code = u64::from(!negated);
                return Ok(Some(self.theory.terms.code(first, 1, code)));
            }
            Expr::Apply(name, list) => {
                let term = self.application(name, &list, span)?;
                return Ok(Some(self.theory.terms.not_if(term, negated)));
            }
            Expr::Compare(differs, left, right) => {
                return self
                    .comparison(left, right, differs != negated, span)
                    .map(Some);
            }
            Expr::Not(operand) => tasks.push(Task::Visit(operand, !negated)),
            Expr::And(list) | Expr::Or(list) => {
                let and = matches!(self.syntax().expr(id), Expr::And(_)) != negated;
                let operands = self.syntax().operands(&list);
                let count = operands.len();
                tasks.push(if and {
                    Task::And(count)
                } else {
                    Task::Or(count)
                });
                tasks.extend(operands.iter().rev().map(|&o| Task::Visit(o, negated)));
            }
            Expr::Arrow(arrow, left, right) => {
                let (left, right) = match arrow {
                    Arrow::Follows => (right, left),
                    _ => (left, right),
                };
                match arrow {
                    Arrow::Implies | Arrow::Follows => {
                        tasks.push(if negated { Task::And(2) } else { Task::Or(2) });
                        tasks.push(Task::Visit(right, negated));
                        tasks.push(Task::Visit(left, !negated));
                    }
                    Arrow::Iff | Arrow::Xor => {
                        tasks.push(Task::Iff);
                        tasks.push(Task::Visit(right, negated != (arrow == Arrow::Xor)));
                        tasks.push(Task::Visit(left, false));
                    }
                }
            }
            Expr::If(condition, then, Some(otherwise)) => {
                tasks.push(Task::Ite);
                tasks.push(Task::Visit(condition, false));
                tasks.push(Task::Visit(then, negated));
                tasks.push(Task::Visit(otherwise, negated));
            }
            Expr::If(condition, then, None) => {
                tasks.push(if negated { Task::And(2) } else { Task::Or(2) });
                tasks.push(Task::Visit(then, negated));
                tasks.push(Task::Visit(condition, !negated));
            }
            Expr::Case(list) => {
                // The innermost `else` is false, and is visited first.
                let operands = self.syntax().operands(&list);
                for arm in operands.chunks(2) {
                    tasks.push(Task::Ite);
                    tasks.push(Task::Visit(arm[0], false));
                    tasks.push(Task::Visit(arm[1], negated));
                }
                return Ok(Some(Terms::constant(negated)));
            }
            Expr::Quantifier(exists, list, body) => {
                let negated = negated == exists;
                let parts = match self.syntax().expr(body) {
                    Expr::Or(list) if exists => self.syntax().operands(list).to_vec(),
                    Expr::And(list) if !exists => self.syntax().operands(list).to_vec(),
                    _ => Vec::new(),
                };
                // In a query each disjunct has variables of its own: the relations that it asks
                // about may have their parameters in different places, and none has to be moved.
                if self.in_predicate || !(2..=MOST_APART).contains(&parts.len()) {
                    tasks.push(Task::Enter(list, body, !exists, negated, quiet));
                } else {
                    let count = parts.len();
                    tasks.push(if negated {
                        Task::And(count)
                    } else {
                        Task::Or(count)
                    });
                    for (i, &part) in parts.iter().enumerate().rev() {
                        let quiet = quiet || i > 0;
                        tasks.push(Task::Enter(list.clone(), part, !exists, negated, quiet));
                    }
                }
            }
            Expr::Assume(left, right) | Expr::Cofactor(left, right) => {
                let assume = matches!(self.syntax().expr(id), Expr::Assume(..));
                tasks.push(Task::Care(assume, negated));
                tasks.push(Task::Visit(right, false));
                tasks.push(Task::Visit(left, false));
            }
        }
        Ok(None)
    }

    fn tell(&mut self, diagnostic: Diagnostic) -> Told {
        self.say(diagnostic);
        Told
    }

    /// Brings variables of a quantifier into scope.
    fn enter(&mut self, list: &List, quiet: bool) -> Result<Vec<VarId>, Told> {
        let declarations = self.syntax().declarations(list).to_vec();
        let mut types = Vec::new();
        for declaration in &declarations {
            types.push(self.declared_type(declaration).ok_or(Told)?);
        }
        let mut vars: Vec<VarId> = Vec::new();
        for (declaration, ty) in declarations.iter().zip(types) {
            let name = self.text(declaration.name).to_owned();
            if !quiet {
                self.warn_about_constant(declaration.name, &name, ty);
                if self.scope.contains_key(&name) {
                    self.say(
                        Diagnostic::warning(
                            declaration.name,
                            format!("this `{name}` hides another one"),
                        )
                        .help("give one of the two another name"),
                    );
                }
            }
            // A variable of an earlier quantifier with the same name and type serves again; in
            // queries, if there are many.
            let key = (name.clone(), ty);
            let least = if self.in_predicate { 1 } else { MOST_APART };
            let free = self
                .pool
                .get(&key)
                .filter(|list| list.len() >= least)
                .and_then(|list| list.iter().find(|id| !self.in_scope.contains(id)).copied());
            let id = if let Some(id) = free {
                id
            } else {
                let id = self
                    .new_variable(name.clone(), ty, declaration.name)
                    .ok_or(Told)?;
                self.pool.entry(key).or_default().push(id);
                self.locals.push(id);
                id
            };
            self.time += 1;
            let variable = &mut self.theory.variables[id.0 as usize];
            variable.scopes.push((self.time, u32::MAX));
            self.in_scope.insert(id);
            self.scope.entry(name).or_default().push(id);
            vars.push(id);
        }
        Ok(vars)
    }

    /// Part of a variable: its first bit and its type.
    fn path(&mut self, list: &List) -> Result<(u32, TypeId), Told> {
        let steps = self.syntax().steps(list).to_vec();
        let Some((Step::Name(head), rest)) = steps.split_first() else {
            return Err(Told);
        };
        let name = self.text(*head);
        let Some(&id) = self.scope.get(name).and_then(|stack| stack.last()) else {
            return Err(self.unknown_variable(*head));
        };
        let variable = self.theory.variable(id);
        let (mut first, mut ty) = (variable.first, variable.ty);
        for step in rest {
            match *step {
                Step::Name(span) => {
                    let component = self.text(span).to_owned();
                    if let Some(found) = self.theory.types.component(ty, &component) {
                        first += found.offset;
                        ty = found.ty;
                        continue;
                    }
                    let of = self.theory.types.get(ty);
                    let error = match &of.shape {
                        Shape::Class(list) => {
                            let names = list.iter().map(|c| c.name.as_str());
                            let near = nearest(&component, names);
                            let error = Diagnostic::error(
                                span,
                                format!("`{}` has no component `{component}`", of.name),
                            );
                            match near {
                                Some(near) => error.help(format!("did you mean `{near}`?")),
                                None => error.help(self.theory.types.describe(ty)),
                            }
                        }
                        _ => Diagnostic::error(span, format!("a `{}` has no components", of.name)),
                    };
                    return Err(self.tell(error));
                }
                Step::Index(span) => {
                    let index = self.number(span).ok_or(Told)?;
                    let of = self.theory.types.get(ty);
                    let (count, what) = match of.shape {
                        Shape::Array(_, size) => (size, "elements"),
                        Shape::Enum(_) | Shape::Range(..) => (of.width, "bits"),
                        Shape::Bool | Shape::Class(_) => {
                            let message = format!("a `{}` has no elements", of.name);
                            return Err(self.tell(Diagnostic::error(span, message)));
                        }
                    };
                    if index >= u64::from(count) {
                        let message = format!(
                            "there is no index {index}: a `{}` has {count} {what}",
                            of.name
                        );
                        return Err(self
                            .tell(Diagnostic::error(span, message).help("indices begin with 0")));
                    }
                    let index = index as u32;
                    if let Shape::Array(element, _) = of.shape {
                        first += index * self.theory.types.get(element).width;
                        ty = element;
                    } else {
                        // Bit 0 is the least significant, and stands last.
                        first += count - 1 - index;
                        ty = BOOL;
                    }
                }
            }
        }
        Ok((first, ty))
    }

    fn unknown_variable(&mut self, span: Span) -> Told {
        let name = self.text(span).to_owned();
        if name.starts_with('#') {
            return self.tell(unknown_command(span, &name));
        }
        let mut error = Diagnostic::error(span, format!("there is no variable `{name}` here"));
        if let Some(near) = nearest(&name, self.scope.keys().map(String::as_str)) {
            error = error.help(format!("did you mean `{near}`?"));
        } else if let Some(Global::Predicate(_)) = self.globals.get(&name) {
            error = error.help(format!("a predicate needs its arguments: `{name}(...)`"));
        } else {
            error = error.help("bind it with `exists` or `forall`, or make it a parameter");
        }
        self.tell(error)
    }

    /// What an operand of a comparison, or an argument, is.
    fn operand(&mut self, id: ExprId) -> Result<Operand, Told> {
        let span = self.syntax().span(id);
        match self.syntax().expr(id).clone() {
            Expr::Bool(value) => Ok(Operand::Bool(value)),
            Expr::Number(digits) => Ok(Operand::Number(digits)),
            Expr::Path(list) => {
                let steps = self.syntax().steps(&list);
                if let [Step::Name(name)] = steps
                    && !self.scope.contains_key(self.text(*name))
                {
                    return Ok(Operand::Name);
                }
                let (first, ty) = self.path(&list)?;
                Ok(Operand::Variable(first, ty))
            }
            _ => Err(self.tell(
                Diagnostic::error(span, "only variables and constants can be compared")
                    .label("this is a formula")
                    .help("compare formulas with `<->` or `<+>`; `!` binds less tightly than `=`"),
            )),
        }
    }

    /// The name of a path that is nothing but a name, and its place.
    fn single_name(&self, id: ExprId) -> Option<Span> {
        let Expr::Path(list) = self.syntax().expr(id) else {
            return None;
        };
        match self.syntax().steps(list) {
            [Step::Name(span)] => Some(*span),
            _ => None,
        }
    }

    /// The code of a constant of the type.
    fn constant(&mut self, id: ExprId, operand: &Operand, ty: TypeId) -> Result<u64, Told> {
        let span = self.syntax().span(id);
        let name = self.theory.types.get(ty).name.clone();
        let code = match operand {
            Operand::Bool(value) => (ty == BOOL).then_some(u64::from(*value)),
            &Operand::Number(span) => {
                let number = self.number(span).ok_or(Told)?;
                let code = self.theory.types.number(ty, number);
                if code.is_none() && self.theory.types.get(ty).is_scalar() {
                    return Err(self.tell(
                        Diagnostic::error(span, format!("{number} is out of range"))
                            .label(format!("not a value of `{name}`"))
                            .help(self.theory.types.describe(ty)),
                    ));
                }
                code
            }
            Operand::Name => {
                let text = self.single_name(id).map(|s| self.text(s).to_owned());
                let text = text.unwrap_or_default();
                let code = self.theory.types.constant(ty, &text);
                if code.is_none() {
                    let mut error = Diagnostic::error(
                        span,
                        format!("`{text}` is neither a variable nor a constant of `{name}`"),
                    );
                    let constants: &[String] = match &self.theory.types.get(ty).shape {
                        Shape::Enum(constants) => constants,
                        _ => &[],
                    };
                    let names = self.scope.keys().chain(constants).map(String::as_str);
                    if let Some(near) = nearest(&text, names) {
                        error = error.help(format!("did you mean `{near}`?"));
                    }
                    return Err(self.tell(error));
                }
                code
            }
            Operand::Variable(..) => None,
        };
        code.ok_or_else(|| {
            self.tell(
                Diagnostic::error(span, format!("this is not a constant of `{name}`"))
                    .label(format!("expected a `{name}`")),
            )
        })
    }

    fn comparison(
        &mut self,
        left: ExprId,
        right: ExprId,
        negated: bool,
        span: Span,
    ) -> Result<TermId, Told> {
        let l = self.operand(left)?;
        let (first, ty, other) = match l {
            Operand::Variable(first, ty) => {
                // To the right, constants come before variables.
                if let Some(name) = self.single_name(right)
                    && let Some(code) = self.theory.types.constant(ty, self.text(name))
                {
                    return Ok(self.equals_code(first, ty, code, negated));
                }
                match self.operand(right)? {
                    Operand::Variable(second, other) if other == ty => {
                        let width = self.theory.types.get(ty).width;
                        let term = self.theory.terms.equal(first, second, width);
                        return Ok(self.theory.terms.not_if(term, negated));
                    }
                    Operand::Variable(_, other) => return Err(self.mismatch(span, ty, other)),
                    constant => (first, ty, self.constant(right, &constant, ty)?),
                }
            }
            constant => match self.operand(right)? {
                Operand::Variable(first, ty) => (first, ty, self.constant(left, &constant, ty)?),
                _ => {
                    return Err(self.tell(
                        Diagnostic::error(span, "there is no variable in this comparison")
                            .help("at least one side is a variable that is in scope"),
                    ));
                }
            },
        };
        Ok(self.equals_code(first, ty, other, negated))
    }

    fn equals_code(&mut self, first: u32, ty: TypeId, code: u64, negated: bool) -> TermId {
        let width = self.theory.types.get(ty).width;
        if width == 1 && self.theory.types.get(ty).full {
            let code = code ^ u64::from(negated);
            return self.theory.terms.code(first, 1, code);
        }
        let term = self.theory.terms.code(first, width, code);
        self.theory.terms.not_if(term, negated)
    }

    fn mismatch(&mut self, span: Span, left: TypeId, right: TypeId) -> Told {
        let left = &self.theory.types.get(left).name;
        let right = &self.theory.types.get(right).name;
        let error = Diagnostic::error(span, format!("a `{left}` is compared with a `{right}`"))
            .help("both sides of a comparison have the same type");
        self.tell(error)
    }

    fn application(&mut self, name: Span, list: &List, span: Span) -> Result<TermId, Told> {
        let text = self.text(name).to_owned();
        let def = match self.globals.get(&text) {
            Some(Global::Predicate(def)) => *def,
            Some(Global::Broken) => return Err(Told),
            Some(Global::Type(_)) => {
                return Err(self.tell(
                    Diagnostic::error(name, format!("`{text}` is a type"))
                        .label("expected a predicate"),
                ));
            }
            None => {
                let error = self.unknown(name, &text, "predicate");
                return Err(self.tell(error));
            }
        };
        let definition = self.theory.definition(def);
        if definition.broken {
            return Err(Told);
        }
        let parameters = definition.parameters.clone();
        let operands = self.syntax().operands(list).to_vec();
        if operands.len() != parameters.len() {
            let wanted = counted(parameters.len() as u64, "argument");
            let message = format!("`{text}` takes {wanted}, not {}", operands.len());
            let help: Vec<String> = parameters
                .iter()
                .map(|&id| {
                    let variable = self.theory.variable(id);
                    self.theory.types.declare(variable.ty, &variable.name)
                })
                .collect();
            return Err(self.tell(
                Diagnostic::error(span, message)
                    .help(format!("it is declared as `{text}({})`", help.join(", "))),
            ));
        }
        let mut arguments = Vec::with_capacity(operands.len());
        for (&operand, &parameter) in operands.iter().zip(&parameters) {
            let ty = self.theory.variable(parameter).ty;
            let constant = self
                .single_name(operand)
                .and_then(|name| self.theory.types.constant(ty, self.text(name)));
            arguments.push(match constant {
                Some(code) => Argument::Code(code),
                None => match self.operand(operand)? {
                    Operand::Variable(first, of) if of == ty => Argument::Bits(first),
                    Operand::Variable(_, of) => {
                        let span = self.syntax().span(operand);
                        let of = &self.theory.types.get(of).name;
                        let wanted = &self.theory.types.get(ty).name;
                        let name = &self.theory.variable(parameter).name;
                        let error =
                            Diagnostic::error(span, format!("this is a `{of}`, not a `{wanted}`"))
                                .label(format!("parameter `{name}` is a `{wanted}`"));
                        return Err(self.tell(error));
                    }
                    other => Argument::Code(self.constant(operand, &other, ty)?),
                },
            });
        }
        Ok(self
            .theory
            .terms
            .add(Term::Apply(def, Of::Value, arguments.into())))
    }
}

/// The last values, in the order in which they were made.
fn pop<const N: usize>(values: &mut Vec<TermId>) -> [TermId; N] {
    let tail = values.split_off(values.len() - N);
    tail.try_into().unwrap_or([FALSE; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantifiers_inside_each_other_take_linear_space() {
        for quantifier in ["exists", "forall"] {
            let depth = 1000;
            let nested = format!("{quantifier} bool y. ").repeat(depth);
            let text = format!("bool A(bool x) {nested} x = y;\nA(1);\n");
            let theory = crate::load_text("t.mu", text);
            assert!(!theory.has_errors());
            let variables = theory.terms.iter().map(|term| match term {
                Term::Exists(vars, _) => vars.len(),
                _ => 0,
            });
            assert_eq!(variables.sum::<usize>(), depth);
        }
    }
}
