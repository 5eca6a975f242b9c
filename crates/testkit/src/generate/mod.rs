//! Random Boolean programs that the front end accepts.
//!
//! Every statement and expression form of the sequential language can occur. Programs are
//! well-typed: `*` stands for an integer only as a whole right-hand side, argument or
//! result, counts match, and shifts have small operands so that no value needs many bits.
//! The same seed and configuration give the same program.

mod config;
mod expressions;
pub mod lowered;
mod monitors;
#[cfg(test)]
mod tests;
mod threads;

use droste_lang::ast::{Ast, Type};

pub use config::{Config, Weights};
pub use monitors::monitor;
pub use threads::{Convention, concurrent, starting};

use crate::random::Random;
use crate::tree::{Exp, Proc, Stm, StmKind, TopLevel, Tree};

/// The program that belongs to this seed.
pub fn program(seed: u64, config: &Config) -> Ast {
    tree(seed, config).to_ast()
}

/// The same as a tree.
pub fn tree(seed: u64, config: &Config) -> Tree {
    let mut generator = Generator {
        random: Random::new(seed),
        config: *config,
        globals: Vec::new(),
        signatures: Vec::new(),
        scope: Vec::new(),
        readable: Vec::new(),
        current: 0,
        labels: Vec::new(),
        has_error: false,
    };
    generator.program()
}

type Variable = (String, Type);

struct Signature {
    name: String,
    params: Vec<Variable>,
    results: Vec<Type>,
    locals: Vec<Variable>,
}

struct Generator {
    random: Random,
    config: Config,
    globals: Vec<Variable>,
    signatures: Vec<Signature>,
    /// Everything that can be assigned in the current procedure.
    scope: Vec<Variable>,
    /// Everything that is read in it.
    readable: Vec<Variable>,
    current: usize,
    /// Labels of the current procedure so far.
    labels: Vec<String>,
    /// Whether it has the label `ERROR`.
    has_error: bool,
}

/// Stands for the targets of a `goto` until all labels are known.
const SOMEWHERE: &str = "?";

impl Generator {
    fn range(&mut self, (lo, hi): (usize, usize)) -> usize {
        self.random.between(lo, hi)
    }

    fn program(&mut self) -> Tree {
        let config = self.config;
        let mut room = config.valuations;
        let count = self.range(config.globals);
        self.globals = self.variables("g", count, &mut room);
        let procedures = 1 + self.range(config.procedures);
        for i in 0..procedures {
            let is_main = i == 0;
            let mut room = room;
            // `main` rarely has parameters or results.
            let plain = is_main && !self.random.percent(10);
            let params = if plain { 0 } else { self.range(config.params) };
            let params = self.variables("p", params, &mut room);
            let locals = self.range(config.locals);
            let mut locals = self.variables("x", locals, &mut room);
            if self.random.percent(5)
                && let (Some(local), Some(global)) = (locals.first_mut(), self.globals.first())
            {
                // Hides the global.
                local.0.clone_from(&global.0);
            }
            let results = if plain { 0 } else { self.range(config.results) };
            let results = (0..results).map(|_| self.ty(4)).collect();
            self.signatures.push(Signature {
                name: if is_main {
                    "main".into()
                } else {
                    format!("f{i}")
                },
                params,
                results,
                locals,
            });
        }
        let mut items = Vec::new();
        for i in 0..procedures {
            items.push(TopLevel::Proc(self.procedure(i)));
        }
        if self.random.percent(30) {
            self.random.shuffle(&mut items);
        }
        for (names, ty) in self.grouped(&self.globals.clone()) {
            let at = if self.random.percent(15) {
                items.len()
            } else {
                0
            };
            items.insert(at, TopLevel::Decl(names, ty));
        }
        Tree { items }
    }

    /// New variables whose valuations fit into what room is left.
    fn variables(&mut self, prefix: &str, count: usize, room: &mut usize) -> Vec<Variable> {
        let mut variables = Vec::new();
        for i in 0..count {
            if *room < 2 {
                break;
            }
            let ty = self.ty((*room).min(4));
            *room /= (ty.hi() - ty.lo() + 1) as usize;
            let name = match self.random.below(20) {
                0 => format!("{{{prefix}{i}>0}}"),
                1 => format!("{{*{prefix}{i}->n==0}}"),
                _ => format!("{prefix}{i}"),
            };
            variables.push((name, ty));
        }
        variables
    }

    /// A type with at most `largest` (2 to 4) values.
    fn ty(&mut self, largest: usize) -> Type {
        if !self.random.percent(self.config.integers) {
            return Type::Bool;
        }
        let signed = self.random.percent(50);
        if self.random.percent(50) {
            let width = self.random.between(1, if largest >= 4 { 2 } else { 1 }) as u8;
            Type::Bits { signed, width }
        } else {
            let lo = self.random.between(0, 4) as i128 - 2;
            let hi = lo + self.random.between(1, largest - 1) as i128;
            Type::Range { lo, hi }
        }
    }

    /// Declarations of these variables, some of them together.
    fn grouped(&mut self, variables: &[Variable]) -> Vec<(Vec<String>, Type)> {
        let mut groups: Vec<(Vec<String>, Type)> = Vec::new();
        for (name, ty) in variables {
            match groups.last_mut() {
                Some((names, last)) if last == ty && self.random.percent(60) => {
                    names.push(name.clone());
                }
                _ => groups.push((vec![name.clone()], *ty)),
            }
        }
        groups
    }

    fn procedure(&mut self, index: usize) -> Proc {
        let signature = &self.signatures[index];
        let (name, params) = (signature.name.clone(), signature.params.clone());
        let (results, locals) = (signature.results.clone(), signature.locals.clone());
        self.current = index;
        self.labels.clear();
        self.has_error = false;
        // A local that hides a global takes its place.
        let hidden = |(name, _): &Variable| locals.iter().any(|(local, _)| local == name);
        self.scope = self
            .globals
            .iter()
            .filter(|g| !hidden(g))
            .cloned()
            .collect();
        self.scope.extend(params.iter().cloned());
        self.scope.extend(locals.iter().cloned());
        self.readable.clone_from(&self.scope);
        self.random.shuffle(&mut self.readable);
        self.readable.truncate(self.config.readable);

        let count = self.range(self.config.statements);
        let mut body = self.block(count, self.config.depth);
        if index + 1 < self.signatures.len() && self.random.percent(80) {
            // So that most procedures are called at all.
            let call = Stm::new(self.call(index + 1));
            self.insert_anywhere(&mut body, call);
        }
        if index == 0 && self.config.escapes > 0 && self.random.percent(50) {
            // It comes by here again and again, if all that is called returns.
            let home = self.labelled(StmKind::Skip);
            body.push(home);
            body = vec![Stm::new(StmKind::While(Exp::bool(true), body))];
        }
        if !results.is_empty() && self.random.percent(92) || self.random.percent(5) {
            let last = self.give_back();
            body.push(last);
        }
        for (names, ty) in self.grouped(&locals) {
            let declaration = Stm::new(StmKind::Decl(names, ty));
            if self.random.percent(75) {
                body.insert(0, declaration);
            } else {
                self.insert_anywhere(&mut body, declaration);
            }
        }
        self.resolve_gotos(&mut body);
        Proc {
            dfs: self.random.percent(5),
            results,
            name,
            params,
            body,
        }
    }

    fn insert_anywhere(&mut self, block: &mut Vec<Stm>, statement: Stm) {
        let at = self.random.below(block.len() + 1);
        if let Some(Stm { kind, .. }) = block.get_mut(at)
            && self.random.percent(50)
        {
            match kind {
                StmKind::While(_, body) => return self.insert_anywhere(body, statement),
                StmKind::If(arms, _) => return self.insert_anywhere(&mut arms[0].1, statement),
                _ => {}
            }
        }
        block.insert(at, statement);
    }

    /// Gives every `goto` its targets, now that all labels are known.
    fn resolve_gotos(&mut self, body: &mut [Stm]) {
        let labels = self.labels.clone();
        let random = &mut self.random;
        let mut resolve = |statement: &mut Stm| {
            if let StmKind::Goto(targets) = &mut statement.kind {
                for target in targets.iter_mut().filter(|target| *target == SOMEWHERE) {
                    if !labels.is_empty() {
                        target.clone_from(random.pick(&labels));
                    }
                }
                targets.dedup();
                if labels.is_empty() {
                    statement.kind = StmKind::Skip;
                }
            }
        };
        for statement in body {
            statement.for_each_mut(&mut resolve);
        }
    }

    fn block(&mut self, count: usize, depth: usize) -> Vec<Stm> {
        let mut block = Vec::new();
        for _ in 0..count {
            if self.config.declarations > 0 && self.random.percent(self.config.declarations) {
                block.extend(self.declaration().map(Stm::new));
            }
            let first = block.len();
            self.statement(depth, &mut block);
            if self.random.percent(self.config.labels) {
                let label = self.label();
                block[first].labels.insert(0, label);
                if self.random.percent(10) {
                    let label = self.label();
                    block[first].labels.push(label);
                }
            }
        }
        block
    }

    /// A block inside a statement; sometimes empty.
    fn inner(&mut self, depth: usize) -> Vec<Stm> {
        let count = if self.random.percent(4) {
            0
        } else {
            self.random.between(1, 3)
        };
        self.block(count, depth.saturating_sub(1))
    }

    fn label(&mut self) -> String {
        let number = self.labels.len();
        let label = if self.random.percent(12) {
            format!("{}", number + 10)
        } else {
            format!("L{number}")
        };
        self.labels.push(label.clone());
        label
    }

    fn labelled(&mut self, kind: StmKind) -> Stm {
        let label = self.label();
        Stm {
            labels: vec![label],
            kind,
        }
    }

    /// Adds one statement, or the few that make up a shape.
    fn statement(&mut self, depth: usize, out: &mut Vec<Stm>) {
        let w = self.config.weights;
        let nested = u32::from(depth > 0);
        let weights = [
            w.assign,
            w.call,
            w.assert,
            w.assume,
            w.constrain,
            w.enforce,
            w.branch * nested,
            w.repeat * nested,
            w.goto,
            w.give_back,
            w.skip,
            w.dead,
            w.error,
            w.shape,
        ];
        let kind = match self.random.weighted(&weights) {
            0 => self.assignment(),
            1 => {
                let callee = self.random.below(self.signatures.len());
                // Calling `main` again is allowed, but should not be the rule.
                let callee = match callee {
                    0 if self.random.percent(75) => self.current,
                    other => other,
                };
                let call = self.escapable(callee);
                // Without a way out, recursion never comes back.
                if callee <= self.current && self.random.percent(85) {
                    self.guarded(call)
                } else {
                    call
                }
            }
            2 if self.random.percent(30) => StmKind::AbortIf(self.condition().negated()),
            2 => StmKind::Assert(self.condition()),
            3 => StmKind::Assume(self.condition()),
            4 => StmKind::Constrain(self.relation()),
            5 => StmKind::Enforce(self.safe_condition()),
            6 => self.branch(depth),
            7 => {
                let condition = self.condition();
                StmKind::While(condition, self.inner(depth))
            }
            8 => {
                let count = self.random.weighted(&[0, 4, 3, 1]);
                let goto = StmKind::Goto(vec![SOMEWHERE.into(); count]);
                if self.random.percent(60) {
                    self.guarded(goto)
                } else {
                    goto
                }
            }
            9 => {
                // Rarely alone, else what follows is never reached.
                let end = self.give_back();
                if self.random.percent(70) {
                    self.guarded(end.kind)
                } else {
                    end.kind
                }
            }
            10 if self.random.percent(25) => {
                let count = self.random.between(1, 2);
                let exps = (0..count).map(|_| self.any_expression()).collect();
                StmKind::Print(exps)
            }
            10 => StmKind::Skip,
            11 => self.forget(),
            12 => self.error(),
            _ => return self.shape(depth, out),
        };
        out.push(Stm::new(kind));
    }

    /// A call; one that may recur may be under a `*`.
    fn escapable(&mut self, callee: usize) -> StmKind {
        let call = self.call(callee);
        let escapes = self.config.escapes;
        if escapes > 0 && callee <= self.current && self.random.percent(escapes) {
            StmKind::If(vec![(Exp::star(), vec![Stm::new(call)])], None)
        } else {
            call
        }
    }

    fn guarded(&mut self, kind: StmKind) -> StmKind {
        let condition = self.condition();
        StmKind::If(vec![(condition, vec![Stm::new(kind)])], None)
    }

    fn branch(&mut self, depth: usize) -> StmKind {
        let count = self.random.weighted(&[0, 6, 2, 1]);
        let mut arms = Vec::new();
        for _ in 0..count {
            let condition = self.condition();
            arms.push((condition, self.inner(depth)));
        }
        let otherwise = self.random.percent(50).then(|| self.inner(depth));
        StmKind::If(arms, otherwise)
    }

    fn error(&mut self) -> StmKind {
        let mut error = Stm::new(StmKind::Skip);
        if !self.has_error {
            self.has_error = true;
            error.labels.push("ERROR".into());
        }
        // A conjunction, so that it is not always reached.
        let mut condition = self.condition();
        if self.random.percent(60) {
            let other = self.condition();
            condition = Exp::binary(droste_lang::ast::BinaryOp::And, condition, other);
        }
        StmKind::If(vec![(condition, vec![error])], None)
    }

    fn give_back(&mut self) -> Stm {
        let results = self.signatures[self.current].results.clone();
        let values = results.iter().map(|ty| self.stored(*ty)).collect();
        Stm::new(StmKind::Return(values))
    }

    /// One of the locals is declared again.
    fn declaration(&mut self) -> Option<StmKind> {
        let locals = &self.signatures[self.current].locals;
        if locals.is_empty() {
            return None;
        }
        let (name, ty) = self.random.pick(locals).clone();
        Some(StmKind::Decl(vec![name], ty))
    }

    fn forget(&mut self) -> StmKind {
        let locals = &self.signatures[self.current].locals;
        if !locals.is_empty()
            && self.random.percent(30)
            && let Some(declaration) = self.declaration()
        {
            return declaration;
        }
        let mut names: Vec<String> = self.scope.iter().map(|(name, _)| name.clone()).collect();
        self.random.shuffle(&mut names);
        names.truncate(self.random.between(1, 2));
        if names.is_empty() {
            StmKind::Skip
        } else {
            StmKind::Dead(names)
        }
    }

    fn assignment(&mut self) -> StmKind {
        let count = self.random.weighted(&[0, 8, 3, 1]);
        let mut variables = self.scope.clone();
        self.random.shuffle(&mut variables);
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        for _ in 0..count {
            match variables.pop() {
                Some((name, ty)) if !self.random.percent(4) => {
                    targets.push(Some(name));
                    values.push(self.stored(ty));
                }
                _ => {
                    targets.push(None);
                    values.push(self.any_expression());
                }
            }
        }
        let constrain = self.random.percent(10).then(|| self.relation());
        StmKind::Assign(targets, values, constrain)
    }

    fn call(&mut self, callee: usize) -> StmKind {
        let signature = &self.signatures[callee];
        let (name, results) = (signature.name.clone(), signature.results.clone());
        let params: Vec<Type> = signature.params.iter().map(|(_, ty)| *ty).collect();
        let args = params.iter().map(|ty| self.stored(*ty)).collect();
        let mut targets = Vec::new();
        if !results.is_empty() && !self.random.percent(20) {
            let mut variables = self.scope.clone();
            self.random.shuffle(&mut variables);
            for result in results {
                let fits = |(_, ty): &Variable| ty.is_bool() == result.is_bool();
                let at = variables.iter().position(fits);
                let at = at.filter(|_| !self.random.percent(10));
                targets.push(at.map(|i| variables.remove(i).0));
            }
        }
        let constrain = self.random.percent(8).then(|| self.relation());
        StmKind::Call(targets, name, args, constrain)
    }

    /// A few statements that together do something interesting for ever.
    fn shape(&mut self, depth: usize, out: &mut Vec<Stm>) {
        let flag = self.boolean_global();
        match self.random.below(8) {
            // The stack grows for ever, and only then is the label seen for ever.
            0 | 1 => {
                let seen = self.labelled(StmKind::Skip);
                let again = Stm::new(self.escapable(self.current));
                if self.random.percent(75) {
                    let condition = self.condition();
                    out.push(Stm::new(StmKind::If(
                        vec![(condition, vec![seen, again])],
                        None,
                    )));
                } else {
                    out.extend([seen, again]);
                }
            }
            // `flip` of seed 002, Fig. 1: whether the label is seen for ever depends on the stack.
            2 | 3 => {
                let callee = self.random.below(self.signatures.len());
                let (one, two) = (self.call(self.current), self.call(callee));
                let twice = vec![Stm::new(one), Stm::new(two)];
                let maybe = StmKind::If(vec![(Exp::star(), twice)], None);
                let seen = self.labelled(StmKind::Skip);
                let condition = flag.as_deref().map_or_else(Exp::star, Exp::var);
                let arms = vec![(condition, vec![seen])];
                out.push(Stm::new(StmKind::If(arms, Some(vec![Stm::new(maybe)]))));
                if let Some(flag) = flag {
                    out.push(assign(&flag, Exp::var(&flag).negated()));
                }
            }
            // A loop around a call.
            4 => {
                let callee = self.random.below(self.signatures.len());
                let call = self.escapable(callee);
                let body = vec![self.labelled(call)];
                let condition = self.condition();
                out.push(Stm::new(StmKind::While(condition, body)));
            }
            // Backwards.
            5 => {
                let first = self.labelled(StmKind::Skip);
                let label = first.labels[0].clone();
                out.push(first);
                if depth > 0 {
                    self.statement(depth - 1, out);
                }
                let back = Stm::new(StmKind::Goto(vec![label]));
                let condition = self.condition();
                out.push(Stm::new(StmKind::If(vec![(condition, vec![back])], None)));
            }
            // A loop that a flag ends for good.
            6 => {
                let Some(flag) = flag else {
                    return out.push(Stm::new(StmKind::Skip));
                };
                let seen = self.labelled(StmKind::Skip);
                let value = self.stored(Type::Bool);
                let body = vec![seen, assign(&flag, value)];
                out.push(Stm::new(StmKind::While(Exp::var(&flag), body)));
            }
            // Mutual recursion under a flag.
            _ => {
                let callee = self.random.below(self.signatures.len());
                let seen = self.labelled(StmKind::Skip);
                let call = Stm::new(self.escapable(callee));
                let mut arm = vec![call];
                if let Some(flag) = &flag {
                    arm.insert(0, assign(flag, Exp::var(flag).negated()));
                }
                let condition = flag.as_deref().map_or_else(Exp::star, Exp::var);
                let arms = vec![(condition, arm)];
                out.push(Stm::new(StmKind::If(arms, Some(vec![seen]))));
            }
        }
    }

    fn boolean_global(&mut self) -> Option<String> {
        let globals: Vec<String> = self
            .globals
            .iter()
            .filter(|global| global.1.is_bool() && self.scope.contains(global))
            .map(|(name, _)| name.clone())
            .collect();
        (!globals.is_empty()).then(|| self.random.pick(&globals).clone())
    }
}

fn assign(name: &str, value: Exp) -> Stm {
    Stm::new(StmKind::Assign(
        vec![Some(name.to_owned())],
        vec![value],
        None,
    ))
}
