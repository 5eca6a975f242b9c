//! Simpler expressions with the same outcomes.
//!
//! An evaluation has a *set* of outcomes: a value for each way to choose its `*`, or a failure.
//! Every rule here keeps that set in every valuation that agrees with the constants put in for
//! variables. So
//!
//! * if the left operand decides `&`, `|` or `=>`, the right one is always dropped, since it would
//!   not be evaluated; if the right operand decides, the left one is dropped only if it cannot
//!   fail;
//! * `x = x` is true only for a plain variable, because two `*` are two choices;
//! * an operation that fails for certain is left as it is;
//! * an operation that could leave 128 bits counts as one that can fail: it is never touched.

use droste_program::interval::Interval;
use droste_program::{Expr, ExprNode, Operator, ProcId, Program, Type, Value};

/// What is known about (part of) an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Contains every value; `None` if nothing is known.
    pub(crate) range: Option<Interval>,
    /// Whether an evaluation can fail (or leave 128 bits).
    pub(crate) can_fail: bool,
    /// Certainly a Boolean. Not known of constants.
    boolean: bool,
}

impl Facts {
    const BOOL: Facts = Facts {
        range: Some(Interval::BOOL),
        can_fail: false,
        boolean: true,
    };

    fn of_type(ty: Type) -> Self {
        Facts {
            range: Some(Interval::of(ty)),
            can_fail: false,
            boolean: ty.is_bool(),
        }
    }

    /// Whether evaluating, or storing the value in a variable of type `ty`, can fail.
    pub(crate) fn store_can_fail(self, ty: Type) -> bool {
        self.can_fail
            || match ty {
                Type::Range { .. } => !self
                    .range
                    .is_some_and(|range| Interval::of(ty).covers(range)),
                Type::Bool | Type::Bits { .. } => false,
            }
    }
}

/// Folds one expression at a time, in buffers that are used again and again.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// Folded parts; operands are indices into this. The root may leave some out.
    pool: Vec<ExprNode>,
    facts: Vec<Facts>,
    /// For each part of the expression that is folded, where its folded form is.
    map: Vec<u32>,
    root: u32,
}

impl Folder {
    /// Folds `expr`, an expression of `procedure`, with each [`ExprNode::Var`] and
    /// [`ExprNode::Next`] replaced by what `leaf` makes of it. The result stays here, for
    /// [`Folder::constant`], [`Folder::emit`] and [`Folder::implied`].
    pub(crate) fn fold(
        &mut self,
        program: &Program,
        procedure: ProcId,
        expr: &Expr,
        mut leaf: impl FnMut(&ExprNode) -> ExprNode,
    ) -> Facts {
        self.pool.clear();
        self.facts.clear();
        self.map.clear();
        for node in &expr.nodes {
            let at = match *node {
                ExprNode::Const(value) => self.make_const(value),
                ExprNode::Nondet(ty) => self.push(node.clone(), Facts::of_type(ty)),
                ExprNode::Var(_) | ExprNode::Next(_) => match leaf(node) {
                    ExprNode::Const(value) => self.make_const(value),
                    ExprNode::Var(var) => {
                        let ty = program.variable(procedure, var).ty;
                        self.push(ExprNode::Var(var), Facts::of_type(ty))
                    }
                    ExprNode::Next(var) => {
                        let ty = program.variable(procedure, var).ty;
                        self.push(ExprNode::Next(var), Facts::of_type(ty))
                    }
                    other => unreachable!("a leaf was replaced by {other:?}"),
                },
                ExprNode::At(_) => self.push(node.clone(), Facts::BOOL),
                ExprNode::Not(a) => self.not(self.map[a as usize]),
                ExprNode::Neg(a) => {
                    let a = self.map[a as usize];
                    let range = self.range(a).and_then(Interval::negated);
                    self.arithmetic(ExprNode::Neg(a), range, self.can_fail(a))
                }
                ExprNode::BitNot(a) => {
                    let a = self.map[a as usize];
                    let range = self.range(a).map(Interval::bit_not);
                    self.arithmetic(ExprNode::BitNot(a), range, self.can_fail(a))
                }
                ExprNode::Binary(op, a, b) => {
                    self.binary(op, self.map[a as usize], self.map[b as usize])
                }
                ExprNode::Schoose(a, b) => self.schoose(self.map[a as usize], self.map[b as usize]),
            };
            self.map.push(at);
        }
        self.root = self.map[self.map.len() - 1];
        self.facts[self.root as usize]
    }

    /// Folds without knowing any variable.
    pub(crate) fn facts(&mut self, program: &Program, procedure: ProcId, expr: &Expr) -> Facts {
        self.fold(program, procedure, expr, ExprNode::clone)
    }

    /// The value of the folded expression, if it is a constant.
    pub(crate) fn constant(&self) -> Option<Value> {
        self.const_at(self.root)
    }

    /// Whether the folded expression is a bare `*`, a Boolean.
    pub(crate) fn is_any_bool(&self) -> bool {
        self.pool[self.root as usize] == ExprNode::Nondet(Type::Bool)
    }

    /// The folded expression.
    pub(crate) fn emit(&self) -> Expr {
        let mut nodes = Vec::new();
        // Operands first: `true` marks a part whose operands are done and on `done`.
        let mut work = vec![(self.root, false)];
        let mut done: Vec<u32> = Vec::new();
        while let Some((at, operands_done)) = work.pop() {
            let node = &self.pool[at as usize];
            let mut pop = || done.pop().expect("operands come before their operator");
            let node = match *node {
                ExprNode::Not(a) | ExprNode::BitNot(a) | ExprNode::Neg(a) if !operands_done => {
                    work.extend([(at, true), (a, false)]);
                    continue;
                }
                ExprNode::Binary(_, a, b) | ExprNode::Schoose(a, b) if !operands_done => {
                    work.extend([(at, true), (b, false), (a, false)]);
                    continue;
                }
                ExprNode::Not(_) => ExprNode::Not(pop()),
                ExprNode::BitNot(_) => ExprNode::BitNot(pop()),
                ExprNode::Neg(_) => ExprNode::Neg(pop()),
                ExprNode::Binary(op, ..) => {
                    let b = pop();
                    ExprNode::Binary(op, pop(), b)
                }
                ExprNode::Schoose(..) => {
                    let b = pop();
                    ExprNode::Schoose(pop(), b)
                }
                ref leaf => leaf.clone(),
            };
            done.push(nodes.len() as u32);
            nodes.push(node);
        }
        Expr { nodes }
    }

    /// Calls `found` with variables (as [`ExprNode::Var`] or [`ExprNode::Next`]) and the only
    /// value they can have if the folded expression has come out as `outcome`.
    pub(crate) fn implied(&self, outcome: bool, mut found: impl FnMut(&ExprNode, Value)) {
        let mut work = vec![(self.root, outcome)];
        while let Some((at, outcome)) = work.pop() {
            let node = &self.pool[at as usize];
            match (node, outcome) {
                (ExprNode::Var(_) | ExprNode::Next(_), _) => found(node, Value::from(outcome)),
                (&ExprNode::Not(a), _) => work.push((a, !outcome)),
                (&ExprNode::Binary(Operator::And, a, b), true)
                | (&ExprNode::Binary(Operator::Or, a, b), false) => {
                    work.extend([(a, outcome), (b, outcome)]);
                }
                (&ExprNode::Binary(Operator::Implies, a, b), false) => {
                    work.extend([(a, true), (b, false)]);
                }
                (&ExprNode::Binary(Operator::Eq, a, b), true)
                | (&ExprNode::Binary(Operator::Ne, a, b), false) => {
                    for (a, b) in [(a, b), (b, a)] {
                        let node = &self.pool[a as usize];
                        if let (Some(value), ExprNode::Var(_) | ExprNode::Next(_)) =
                            (self.const_at(b), node)
                        {
                            found(node, value);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn push(&mut self, node: ExprNode, facts: Facts) -> u32 {
        if !facts.can_fail
            && let Some(value) = facts.range.and_then(Interval::as_constant)
            && !matches!(node, ExprNode::Const(_))
        {
            return self.make_const(value);
        }
        self.pool.push(node);
        self.facts.push(facts);
        self.pool.len() as u32 - 1
    }

    fn make_const(&mut self, value: Value) -> u32 {
        let facts = Facts {
            range: Some(Interval::constant(value)),
            can_fail: false,
            boolean: false,
        };
        self.push(ExprNode::Const(value), facts)
    }

    fn const_at(&self, at: u32) -> Option<Value> {
        match self.pool[at as usize] {
            ExprNode::Const(value) => Some(value),
            _ => None,
        }
    }

    fn range(&self, at: u32) -> Option<Interval> {
        self.facts[at as usize].range
    }

    fn can_fail(&self, at: u32) -> bool {
        self.facts[at as usize].can_fail
    }

    /// Whether both are the same plain variable.
    fn same(&self, a: u32, b: u32) -> bool {
        let node = &self.pool[a as usize];
        matches!(node, ExprNode::Var(_) | ExprNode::Next(_)) && *node == self.pool[b as usize]
    }

    /// Whether one is the negation of the other, a plain variable.
    fn opposite(&self, a: u32, b: u32) -> bool {
        match (&self.pool[a as usize], &self.pool[b as usize]) {
            (&ExprNode::Not(x), _) if self.same(x, b) => true,
            (_, &ExprNode::Not(y)) => self.same(a, y),
            _ => false,
        }
    }

    fn not(&mut self, a: u32) -> u32 {
        match self.pool[a as usize] {
            ExprNode::Const(value) => self.make_const(1 - value),
            ExprNode::Not(b) => b,
            ExprNode::Nondet(Type::Bool) => a,
            _ => {
                let can_fail = self.can_fail(a);
                self.boolean(ExprNode::Not(a), can_fail)
            }
        }
    }

    fn boolean(&mut self, node: ExprNode, can_fail: bool) -> u32 {
        let facts = Facts {
            can_fail,
            ..Facts::BOOL
        };
        self.push(node, facts)
    }

    fn arithmetic(&mut self, node: ExprNode, range: Option<Interval>, can_fail: bool) -> u32 {
        let facts = Facts {
            range,
            can_fail: can_fail || range.is_none(),
            boolean: false,
        };
        self.push(node, facts)
    }

    fn schoose(&mut self, a: u32, b: u32) -> u32 {
        let can_fail = self.can_fail(a) || self.can_fail(b);
        match (self.const_at(a), self.const_at(b)) {
            (Some(1), _) if !self.can_fail(b) => self.make_const(1),
            (Some(0), Some(1)) => self.make_const(0),
            (Some(0), Some(0)) => self.push(ExprNode::Nondet(Type::Bool), Facts::BOOL),
            (_, Some(1)) => a,
            _ => self.boolean(ExprNode::Schoose(a, b), can_fail),
        }
    }

    fn binary(&mut self, op: Operator, a: u32, b: u32) -> u32 {
        let (left, right) = (self.const_at(a), self.const_at(b));
        if let (Some(x), Some(y)) = (left, right)
            && let Some(value) = op.apply(x, y)
        {
            return self.make_const(value);
        }
        let sure = !self.can_fail(a);
        match op {
            Operator::And => match (left, right) {
                (Some(0), _) => self.make_const(0),
                (Some(_), _) => b,
                (_, Some(1)) => a,
                (_, Some(_)) if sure => self.make_const(0),
                _ if self.same(a, b) => a,
                _ if self.opposite(a, b) => self.make_const(0),
                _ => self.boolean(ExprNode::Binary(op, a, b), !sure || self.can_fail(b)),
            },
            Operator::Or => match (left, right) {
                (Some(0), _) => b,
                (Some(_), _) => self.make_const(1),
                (_, Some(0)) => a,
                (_, Some(_)) if sure => self.make_const(1),
                _ if self.same(a, b) => a,
                _ if self.opposite(a, b) => self.make_const(1),
                _ => self.boolean(ExprNode::Binary(op, a, b), !sure || self.can_fail(b)),
            },
            Operator::Implies => match (left, right) {
                (Some(0), _) => self.make_const(1),
                (Some(_), _) => b,
                (_, Some(0)) => self.not(a),
                (_, Some(_)) if sure => self.make_const(1),
                _ if self.same(a, b) => self.make_const(1),
                _ if self.opposite(a, b) => b,
                _ => self.boolean(ExprNode::Binary(op, a, b), !sure || self.can_fail(b)),
            },
            Operator::Xor | Operator::Eq | Operator::Ne => self.equality(op, a, b),
            Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => self.comparison(op, a, b),
            _ => {
                let identity = match op {
                    Operator::Add | Operator::Sub | Operator::Shl | Operator::Shr => {
                        right == Some(0)
                    }
                    Operator::Mul | Operator::Div => right == Some(1),
                    _ => false,
                };
                if identity {
                    return a;
                }
                match (op, left) {
                    (Operator::Add, Some(0)) | (Operator::Mul, Some(1)) => return b,
                    _ => {}
                }
                let range = Interval::apply_known(op, self.range(a), self.range(b));
                let fails = match (op, self.range(b)) {
                    (Operator::Div | Operator::Rem, Some(by)) => by.contains(0),
                    (Operator::Shl | Operator::Shr, Some(by)) => by.is_signed(),
                    (_, Some(_)) => false,
                    (_, None) => true,
                };
                let can_fail = !sure || self.can_fail(b) || fails;
                self.arithmetic(ExprNode::Binary(op, a, b), range, can_fail)
            }
        }
    }

    /// `=`, `!=` and `^`.
    fn equality(&mut self, op: Operator, a: u32, b: u32) -> u32 {
        let can_fail = self.can_fail(a) || self.can_fail(b);
        let negative = op != Operator::Eq;
        if self.same(a, b) {
            return self.make_const(Value::from(!negative));
        }
        let boolean =
            op == Operator::Xor || self.facts[a as usize].boolean || self.facts[b as usize].boolean;
        if boolean {
            for (a, b) in [(a, b), (b, a)] {
                if let Some(value) = self.const_at(a) {
                    return if (value != 0) == negative {
                        self.not(b)
                    } else {
                        b
                    };
                }
                // `* = b` is again any Boolean, whatever `b` is.
                if self.pool[a as usize] == ExprNode::Nondet(Type::Bool) && !self.can_fail(b) {
                    return a;
                }
            }
            if self.opposite(a, b) {
                return self.make_const(Value::from(negative));
            }
        } else if let (Some(x), Some(y)) = (self.range(a), self.range(b))
            && (x.hi < y.lo || y.hi < x.lo)
            && !can_fail
        {
            return self.make_const(Value::from(negative));
        }
        self.boolean(ExprNode::Binary(op, a, b), can_fail)
    }

    fn comparison(&mut self, op: Operator, a: u32, b: u32) -> u32 {
        let can_fail = self.can_fail(a) || self.can_fail(b);
        if self.same(a, b) {
            return self.make_const(Value::from(matches!(op, Operator::Le | Operator::Ge)));
        }
        if let (Some(x), Some(y)) = (self.range(a), self.range(b))
            && !can_fail
        {
            let (always, never) = match op {
                Operator::Lt => (x.hi < y.lo, x.lo >= y.hi),
                Operator::Le => (x.hi <= y.lo, x.lo > y.hi),
                Operator::Gt => (x.lo > y.hi, x.hi <= y.lo),
                _ => (x.lo >= y.hi, x.hi < y.lo),
            };
            if always || never {
                return self.make_const(Value::from(always));
            }
        }
        self.boolean(ExprNode::Binary(op, a, b), can_fail)
    }
}
