//! Random formulas about a given program.
//!
//! Half of them have the shape of properties that people write (something again and again, a response, a
//! precedence, fairness implies progress), because an arbitrary formula is rarely true of all runs;
//! the others are arbitrary.

use droste_lang::ast::{Ast, BinaryOp, ExprKind, Name, Type, UnaryOp};

use super::{Atom, Binary, Formula, Unary};
use crate::random::Random;
use crate::tree::{Exp, StmKind, TopLevel, Tree};

/// How random formulas look.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The most temporal operators.
    pub temporal: usize,
    /// The most operators of any kind in an arbitrary formula.
    pub operators: usize,
    /// Whether `X` may occur.
    pub next: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            temporal: 5,
            operators: 9,
            next: true,
        }
    }
}

impl Shape {
    /// Without `X`: such formulas do not count steps.
    pub fn without_next() -> Self {
        Shape {
            next: false,
            ..Shape::default()
        }
    }
}

/// The formula that belongs to this seed: about labels, variables and procedures of `program`.
pub fn formula(seed: u64, program: &Ast, shape: &Shape) -> Formula {
    let mut maker = Maker {
        random: Random::new(seed ^ 0x006c_746c),
        names: Names::new(program),
        shape: *shape,
        temporal: shape.temporal,
    };
    if shape.temporal >= 3 && maker.random.percent(55) {
        let pattern = maker.pattern();
        match maker.random.below(10) {
            0 | 1 => pattern.negated(),
            2 | 3 => Formula::binary(Binary::Or, pattern, maker.comes_home()),
            _ => pattern,
        }
    } else {
        let operators = maker.random.between(1, shape.operators);
        maker.arbitrary(operators)
    }
}

/// What a formula can talk about.
struct Names {
    globals: Vec<(String, Type)>,
    locals: Vec<(String, String, Type)>,
    labels: Vec<(String, String)>,
    procedures: Vec<String>,
}

impl Names {
    fn new(program: &Ast) -> Self {
        let tree = Tree::from_ast(program);
        let mut names = Names {
            globals: Vec::new(),
            locals: Vec::new(),
            labels: Vec::new(),
            procedures: Vec::new(),
        };
        for item in &tree.items {
            if let TopLevel::Decl(globals, ty) = item {
                let globals = globals.iter().map(|name| (name.clone(), *ty));
                names.globals.extend(globals);
            }
        }
        for proc in tree.procs() {
            names.procedures.push(proc.name.clone());
            let local = |name: &String, ty: Type| (proc.name.clone(), name.clone(), ty);
            let params = proc.params.iter().map(|(name, ty)| local(name, *ty));
            names.locals.extend(params);
            for stm in &proc.body {
                stm.for_each(&mut |stm| {
                    if let StmKind::Decl(declared, ty) = &stm.kind {
                        let declared = declared.iter().map(|name| local(name, *ty));
                        names.locals.extend(declared);
                    }
                    let labels = stm.labels.iter();
                    let labels = labels.map(|label| (proc.name.clone(), label.clone()));
                    names.labels.extend(labels);
                });
            }
        }
        names
    }
}

/// Whether it can stand in a formula without braces.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Maker {
    random: Random,
    names: Names,
    shape: Shape,
    /// Temporal operators that may still be used.
    temporal: usize,
}

impl Maker {
    fn atom(&mut self) -> Atom {
        let names = &self.names;
        let weights = [
            if names.labels.is_empty() { 0 } else { 10 },
            if names.globals.is_empty() { 0 } else { 9 },
            if names.locals.is_empty() { 0 } else { 3 },
            3,
            2,
        ];
        let procedure = |random: &mut Random| random.pick(&names.procedures).clone();
        let random = &mut self.random;
        match random.weighted(&weights) {
            0 => {
                let (procedure, label) = random.pick(&names.labels).clone();
                match random.below(4) {
                    0 => Atom::At(Some(procedure), label),
                    1 => Atom::At(None, label),
                    2 => {
                        let at = ExprKind::At(Some(Name::new(&procedure)), Name::new(&label));
                        Atom::Expression(Exp::Leaf(at))
                    }
                    _ if is_plain(&label) => Atom::Name(label),
                    _ => Atom::At(None, label),
                }
            }
            1 => {
                let (name, ty) = random.pick(&names.globals).clone();
                let leaf = Exp::var(&name);
                match ty {
                    Type::Bool if is_plain(&name) && random.percent(70) => {
                        if random.percent(30) {
                            Atom::Var(name)
                        } else {
                            Atom::Name(name)
                        }
                    }
                    Type::Bool => Atom::Expression(leaf),
                    _ => Atom::Expression(compared(random, leaf, ty)),
                }
            }
            2 => {
                let (procedure, name, ty) = random.pick(&names.locals).clone();
                let local = ExprKind::Qualified(Name::new(&procedure), Name::new(&name));
                let leaf = Exp::Leaf(local);
                Atom::Expression(match ty {
                    Type::Bool if random.percent(20) => leaf.negated(),
                    Type::Bool => leaf,
                    _ => compared(random, leaf, ty),
                })
            }
            3 if random.percent(20) => {
                let procedure = procedure(random);
                Atom::Expression(Exp::Leaf(ExprKind::In(Name::new(&procedure))))
            }
            3 => Atom::In(procedure(random)),
            _ => Atom::Terminated,
        }
    }

    /// A procedure or a label of `main`.
    fn place(&mut self) -> Atom {
        let labels = self.names.labels.iter();
        let labels = labels.filter(|(procedure, _)| procedure == "main");
        let labels: Vec<(String, String)> = labels.cloned().collect();
        if labels.is_empty() || self.random.percent(40) {
            return Atom::In(self.random.pick(&self.names.procedures).clone());
        }
        let (procedure, label) = self.random.pick(&labels).clone();
        Atom::At(Some(procedure), label)
    }

    /// The run ends, or comes somewhere again and again: true of many runs on a bounded stack, and of few
    /// others.
    fn comes_home(&mut self) -> Formula {
        let ends = Formula::Atom(Atom::Terminated);
        let home = Formula::binary(Binary::Or, Formula::Atom(self.place()), ends);
        Formula::unary(Unary::Globally, Formula::unary(Unary::Finally, home))
    }

    /// Something about one position.
    fn now(&mut self) -> Formula {
        let first = Formula::Atom(self.atom());
        match self.random.below(10) {
            0..6 => first,
            6 | 7 => first.negated(),
            8 => Formula::binary(Binary::And, first, Formula::Atom(self.atom())),
            _ => Formula::binary(Binary::Or, first, Formula::Atom(self.atom())),
        }
    }

    fn pattern(&mut self) -> Formula {
        let always = |f| Formula::unary(Unary::Globally, f);
        let finally = |f| Formula::unary(Unary::Finally, f);
        let next = |f| Formula::unary(Unary::Next, f);
        let both = Formula::binary;
        let implies = |f, g| Formula::binary(Binary::Implies, f, g);
        let until = *self
            .random
            .pick(&Binary::ALL.map(|op| if op.is_temporal() { op } else { Binary::Until }));
        let (p, q, r) = (self.now(), self.now(), self.now());
        match self.random.below(if self.shape.next { 19 } else { 16 }) {
            0 => always(finally(p)),
            1 => finally(always(p)),
            2 => always(implies(p, finally(q))),
            3 => implies(always(finally(p)), always(finally(q))),
            4 => both(until, p, q),
            5 => always(implies(p, both(until, q, r))),
            6 => both(Binary::Or, always(finally(p)), finally(always(q))),
            7 => implies(finally(p), both(Binary::Until, q.negated(), r)),
            8 => both(Binary::Or, finally(p), always(q)),
            9 => both(Binary::WeakUntil, p.negated(), q),
            10 => both(Binary::Or, always(finally(p)), always(finally(q))),
            11 => implies(
                always(finally(p)),
                finally(both(Binary::And, q, finally(r))),
            ),
            12 => finally(both(Binary::Or, p, Formula::Atom(Atom::Terminated))),
            // What is called returns.
            13 => always(finally(Formula::Atom(self.place()))),
            14 => always(implies(p, finally(Formula::Atom(self.place())))),
            15 => self.comes_home(),
            16 => always(implies(p, next(q))),
            17 => always(implies(p, next(both(until, q, r)))),
            _ => next(next(p)),
        }
    }

    fn arbitrary(&mut self, operators: usize) -> Formula {
        if operators == 0 {
            return match self.random.below(24) {
                0 => Formula::Constant(self.random.percent(50)),
                _ => Formula::Atom(self.atom()),
            };
        }
        let inner = operators - 1;
        if inner == 0 || self.random.percent(45) {
            let op = match self.random.below(10) {
                0..3 => Unary::Not,
                3 | 4 if self.shape.next => Unary::Next,
                5 | 6 => Unary::Finally,
                _ => Unary::Globally,
            };
            if op != Unary::Not && self.temporal == 0 {
                return self.arbitrary(inner).negated();
            }
            self.temporal -= usize::from(op != Unary::Not);
            Formula::unary(op, self.arbitrary(inner))
        } else {
            let mut op = *self.random.pick(&Binary::ALL);
            if op.is_temporal() && self.temporal == 0 {
                op = Binary::Or;
            }
            self.temporal -= usize::from(op.is_temporal());
            let left = self.random.below(inner + 1);
            let left_operand = self.arbitrary(left);
            Formula::binary(op, left_operand, self.arbitrary(inner - left))
        }
    }
}

/// A comparison of an integer with a number that it may have, or nearly.
fn compared(random: &mut Random, leaf: Exp, ty: Type) -> Exp {
    let op = *random.pick(&[
        BinaryOp::Eq,
        BinaryOp::Eq,
        BinaryOp::Ne,
        BinaryOp::Lt,
        BinaryOp::Le,
        BinaryOp::Gt,
        BinaryOp::Ge,
    ]);
    let value = ty.lo() + random.below((ty.hi() - ty.lo() + 1) as usize) as i128;
    let value = if value < 0 {
        Exp::Unary(UnaryOp::Neg, Box::new(Exp::int(-value)))
    } else {
        Exp::int(value)
    };
    Exp::binary(op, leaf, value)
}
