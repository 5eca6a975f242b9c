//! Random theories against a naive evaluator.
//!
//! The generator makes trees of its own, which are printed as text for the crate under test and evaluated here, over
//! explicit sets of tuples, by the paper's `Evaluate(R, Eq)` taken literally: nested fixpoints start again in every outer
//! round, and nothing is shared or stopped early. Types do not fill their codes, ranges do not begin at 0, `mu` and `nu`
//! are nested and mixed, bodies are sometimes not monotone. Lexer, parser, typing, ordering and evaluation of
//! the crate are all on the other side of the comparison.
//!
//! `SEED=n` reruns one; `THEORIES=n` says how many.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::rc::Rc;

use droste_base::Limits;
use droste_calculus::term::DefId;
use droste_calculus::{Action, Outcome, Solver, Step, Unanswered, load_text, report};
use droste_testkit::random::{Random, seeds};
use num_bigint::BigUint;

#[derive(Clone, Debug)]
enum Ty {
    Bool,
    Enum(usize),
    Range(usize, usize),
    Class(Vec<usize>),
    Array(usize, usize),
}

#[derive(Clone, Debug)]
struct Path {
    var: usize,
    /// Component or element numbers.
    steps: Vec<usize>,
    /// A bit of an enumeration or range.
    bit: Option<u32>,
}

#[derive(Clone, Debug)]
enum Arg {
    Path(Path),
    Constant(usize),
}

#[derive(Clone, Debug)]
enum F {
    Const(bool),
    Path(Path),
    Equal(bool, Path, Path),
    Code(bool, Path, usize, usize),
    Apply(usize, Vec<Arg>),
    Not(Box<F>),
    And(Vec<F>),
    Or(Vec<F>),
    Arrow(&'static str, Box<F>, Box<F>),
    If(Box<F>, Box<F>, Option<Box<F>>),
    Case(Vec<(F, F)>),
    Quantifier(bool, Vec<(usize, usize)>, Box<F>),
    /// `(f assume g) & g`, or with `cofactor`.
    Care(bool, Box<F>, Box<F>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Mu,
    Nu,
}

struct Pred {
    kind: Kind,
    params: Vec<usize>,
    body: F,
}

struct World {
    types: Vec<Ty>,
    preds: Vec<Pred>,
    queries: Vec<F>,
}

/// The types of variables in scope, by number; parameters come first.
type Scope = Vec<usize>;

impl World {
    fn size(&self, ty: usize) -> usize {
        match &self.types[ty] {
            Ty::Bool => 2,
            Ty::Enum(n) => *n,
            Ty::Range(lo, hi) => hi - lo + 1,
            Ty::Class(parts) => parts.iter().map(|&t| self.size(t)).product(),
            Ty::Array(t, n) => self.size(*t).pow(*n as u32),
        }
    }

    fn name(&self, ty: usize) -> String {
        match &self.types[ty] {
            Ty::Bool => "bool".into(),
            _ => format!("T{ty}"),
        }
    }

    fn declare(&self, ty: usize, var: &str) -> String {
        match &self.types[ty] {
            Ty::Array(t, n) => format!("{} {var}[{n}]", self.name(*t)),
            _ => format!("{} {var}", self.name(ty)),
        }
    }

    fn parts(&self, ty: usize) -> Vec<usize> {
        match &self.types[ty] {
            Ty::Class(parts) => parts.clone(),
            Ty::Array(t, n) => vec![*t; *n],
            _ => Vec::new(),
        }
    }

    fn width(&self, ty: usize) -> u32 {
        usize::BITS - (self.size(ty) - 1).leading_zeros()
    }

    fn value_text(&self, ty: usize, value: usize, random: &mut Random) -> String {
        match &self.types[ty] {
            Ty::Bool if random.percent(50) => (value == 1).to_string(),
            Ty::Enum(_) if random.percent(50) => format!("c{value}"),
            Ty::Range(lo, _) => (lo + value).to_string(),
            _ => value.to_string(),
        }
    }

    fn path_value(&self, scope: &Scope, values: &[usize], path: &Path) -> usize {
        let (mut ty, mut value) = (scope[path.var], values[path.var]);
        for &step in &path.steps {
            let parts = self.parts(ty);
            for &part in &parts[step + 1..] {
                value /= self.size(part);
            }
            ty = parts[step];
            value %= self.size(ty);
        }
        match path.bit {
            Some(k) => value >> k & 1,
            None => value,
        }
    }
}

// ---- making ----

struct Maker<'a> {
    random: &'a mut Random,
    world: World,
    /// The predicates that may be applied now, and of which only positively.
    usable: Vec<(usize, bool)>,
    depth: usize,
}

impl Maker<'_> {
    fn types(&mut self) {
        self.world.types.push(Ty::Bool);
        let enums = [1, 2, 3, 3, 5];
        let n = *self.random.pick(&enums);
        self.world.types.push(Ty::Enum(n));
        let lo = self.random.below(4);
        let count = self.random.between(1, 5);
        self.world.types.push(Ty::Range(lo, lo + count - 1));
        let parts = (0..self.random.between(1, 2))
            .map(|_| self.random.below(3))
            .collect();
        self.world.types.push(Ty::Class(parts));
        let element = self.random.below(3);
        self.world.types.push(Ty::Array(element, 2));
        if self.random.percent(30) {
            self.world.types.push(Ty::Class(vec![3, 0]));
        }
    }

    /// A type with few values.
    fn ty(&mut self, most: usize) -> usize {
        loop {
            let ty = self.random.below(self.world.types.len());
            if self.world.size(ty) <= most {
                return ty;
            }
        }
    }

    /// A path, and where it leads.
    fn path(&mut self, scope: &Scope) -> (Path, usize) {
        let var = self.random.below(scope.len());
        let mut ty = scope[var];
        let mut steps = Vec::new();
        loop {
            let parts = self.world.parts(ty);
            if parts.is_empty() || self.random.percent(25) {
                break;
            }
            let step = self.random.below(parts.len());
            steps.push(step);
            ty = parts[step];
        }
        let mut bit = None;
        let codes = matches!(self.world.types[ty], Ty::Enum(_) | Ty::Range(..));
        if codes && self.world.width(ty) > 0 && self.random.percent(15) {
            bit = Some(self.random.below(self.world.width(ty) as usize) as u32);
            ty = 0;
        }
        (Path { var, steps, bit }, ty)
    }

    /// A path to a value of the type.
    fn path_to(&mut self, scope: &Scope, wanted: usize) -> Option<Path> {
        for _ in 0..12 {
            if scope.is_empty() {
                return None;
            }
            let (path, ty) = self.path(scope);
            if ty == wanted {
                return Some(path);
            }
        }
        None
    }

    fn atom(&mut self, scope: &Scope, positive: bool) -> F {
        if self.random.percent(45) && !self.usable.is_empty() {
            let (pred, only_positive) = *self.random.pick(&self.usable);
            if positive || !only_positive {
                let params = self.world.preds[pred].params.clone();
                let args = params
                    .iter()
                    .map(|&ty| {
                        let path = if self.random.percent(85) {
                            self.path_to(scope, ty)
                        } else {
                            None
                        };
                        path.map(Arg::Path)
                    })
                    .collect::<Vec<_>>();
                let scalar = |w: &World, ty: usize| w.parts(ty).is_empty();
                if args
                    .iter()
                    .zip(&params)
                    .all(|(a, &ty)| a.is_some() || scalar(&self.world, ty))
                {
                    let args = args
                        .into_iter()
                        .zip(&params)
                        .map(|(arg, &ty)| {
                            arg.unwrap_or_else(|| {
                                Arg::Constant(self.random.below(self.world.size(ty)))
                            })
                        })
                        .collect();
                    return F::Apply(pred, args);
                }
            }
        }
        if scope.is_empty() || self.random.percent(4) {
            return F::Const(self.random.percent(50));
        }
        let (path, ty) = self.path(scope);
        if ty == 0 && self.random.percent(60) {
            return F::Path(path);
        }
        let differs = self.random.percent(25);
        if self.random.percent(40)
            && let Some(other) = self.path_to(scope, ty)
        {
            return F::Equal(differs, path, other);
        }
        if self.world.parts(ty).is_empty() {
            let code = self.random.below(self.world.size(ty));
            return F::Code(differs, path, ty, code);
        }
        F::Equal(differs, path.clone(), path)
    }

    /// A formula in which some predicates occur positively only.
    fn formula(&mut self, scope: &mut Scope, positive: bool) -> F {
        if self.depth == 0 {
            return self.atom(scope, positive);
        }
        self.depth -= 1;
        let f = match self.random.weighted(&[25, 8, 18, 18, 6, 5, 3, 17, 3]) {
            0 => self.atom(scope, positive),
            1 => F::Not(Box::new(self.formula(scope, !positive && !self.strict()))),
            2 => F::And(self.several(scope, positive)),
            3 => F::Or(self.several(scope, positive)),
            4 => {
                let arrow = *self.random.pick(&["->", "<-", "<->", "<+>"]);
                let negative = !self.strict() && !positive;
                let both = !self.strict();
                let (l, r) = match arrow {
                    "->" => (negative, positive),
                    "<-" => (positive, negative),
                    _ => (both, both),
                };
                let left = self.formula(scope, l);
                let right = self.formula(scope, r);
                F::Arrow(arrow, Box::new(left), Box::new(right))
            }
            5 => {
                let with_else = self.random.percent(60);
                let both = !self.strict();
                let condition = self.formula(scope, both);
                let then = self.formula(scope, positive);
                let otherwise = with_else.then(|| Box::new(self.formula(scope, positive)));
                F::If(Box::new(condition), Box::new(then), otherwise)
            }
            6 => {
                let both = !self.strict();
                let arms = (0..self.random.between(1, 3))
                    .map(|_| (self.formula(scope, both), self.formula(scope, positive)))
                    .collect();
                F::Case(arms)
            }
            7 => {
                let count = self.random.between(1, 2);
                let before = scope.len();
                let vars: Vec<(usize, usize)> = (0..count)
                    .map(|_| {
                        let ty = self.ty(9);
                        scope.push(ty);
                        (scope.len() - 1, ty)
                    })
                    .collect();
                let body = self.formula(scope, positive);
                scope.truncate(before);
                F::Quantifier(self.random.percent(65), vars, Box::new(body))
            }
            _ => {
                let both = !self.strict();
                let f = self.formula(scope, both);
                let g = self.formula(scope, both);
                F::Care(self.random.percent(50), Box::new(f), Box::new(g))
            }
        };
        self.depth += 1;
        f
    }

    /// Whether some predicate may be used positively only.
    fn strict(&self) -> bool {
        self.usable.iter().any(|(_, only)| *only)
    }

    fn several(&mut self, scope: &mut Scope, positive: bool) -> Vec<F> {
        (0..self.random.between(2, 4))
            .map(|_| self.formula(scope, positive))
            .collect()
    }

    /// New variables for all parameters of a predicate, and the predicate of them.
    fn all_of(&mut self, scope: &Scope, pred: usize) -> (Vec<(usize, usize)>, F) {
        let params = self.world.preds[pred].params.clone();
        let vars: Vec<(usize, usize)> = (scope.len()..).zip(params).collect();
        let args = vars.iter().map(|&(var, _)| {
            Arg::Path(Path {
                var,
                steps: Vec::new(),
                bit: None,
            })
        });
        (vars.clone(), F::Apply(pred, args.collect()))
    }

    /// `exists vars. f & g`, or `forall vars. !f | g`, or `forall vars. f | g`.
    fn bound(&mut self, exists: bool, vars: Vec<(usize, usize)>, mut parts: Vec<F>) -> F {
        let inner = if exists {
            F::And(parts)
        } else {
            if !self.strict()
                && self.random.percent(50)
                && self.usable.len() == self.world.preds.len()
            {
                let first = parts.remove(0);
                parts.insert(0, F::Not(Box::new(first)));
            }
            F::Or(parts)
        };
        if vars.is_empty() {
            return inner;
        }
        F::Quantifier(exists, vars, Box::new(inner))
    }

    /// A body in the form of reachability (or, of greatest fixpoints, of invariants): a base and steps from other
    /// tuples, sometimes from two at once.
    fn steps(&mut self, scope: &mut Scope, recursive: std::ops::Range<usize>, least: bool) -> F {
        let usable = std::mem::take(&mut self.usable);
        self.depth = 2;
        let mut parts = vec![self.formula(scope, true)];
        for _ in 0..self.random.between(1, 3) {
            let before = scope.len();
            let mut vars = Vec::new();
            let mut conjuncts = Vec::new();
            for _ in 0..self.random.weighted(&[0, 75, 25]) {
                let pred = self.random.between(recursive.start, recursive.end - 1);
                let (new, apply) = self.all_of(scope, pred);
                scope.extend(new.iter().map(|(_, ty)| *ty));
                vars.extend(new);
                conjuncts.push(apply);
            }
            // Enumerating tuples here takes time.
            let size: usize = vars.iter().map(|(_, ty)| self.world.size(*ty)).product();
            if size <= 120 {
                for _ in 0..self.random.between(1, 2) {
                    self.depth = 1;
                    conjuncts.push(self.formula(scope, true));
                }
                let exists = least != self.random.percent(20);
                parts.push(self.bound(exists, vars, conjuncts));
            }
            scope.truncate(before);
        }
        self.usable = usable;
        if least { F::Or(parts) } else { F::And(parts) }
    }

    fn preds(&mut self) {
        let recursive = self.random.between(1, 3);
        let monotone = self.random.percent(75);
        let plain_before = self.random.below(2);
        let plain_after = self.random.below(2);
        let same = self.random.percent(40).then_some(self.random.percent(60));
        let kinds: Vec<Kind> = (0..plain_before + recursive + plain_after)
            .map(|i| {
                if i < plain_before || i >= plain_before + recursive {
                    Kind::Plain
                } else if same.unwrap_or_else(|| self.random.percent(50)) {
                    Kind::Mu
                } else {
                    Kind::Nu
                }
            })
            .collect();
        for &kind in &kinds {
            let params = loop {
                let params: Vec<usize> = (0..self.random.weighted(&[4, 40, 40, 16]))
                    .map(|_| self.ty(10))
                    .collect();
                if params
                    .iter()
                    .map(|&t| self.world.size(t))
                    .product::<usize>()
                    <= 40
                {
                    break params;
                }
            };
            self.world.preds.push(Pred {
                kind,
                params,
                body: F::Const(false),
            });
        }
        for (i, &kind) in kinds.iter().enumerate() {
            self.usable = if i < plain_before {
                (0..i).map(|p| (p, false)).collect()
            } else if i < plain_before + recursive {
                let before = (0..plain_before).map(|p| (p, false));
                let own = (plain_before..plain_before + recursive).map(|p| (p, monotone));
                before.chain(own).collect()
            } else {
                (0..i).map(|p| (p, false)).collect()
            };
            let mut scope = self.world.preds[i].params.clone();
            let recursive = plain_before..plain_before + recursive;
            self.world.preds[i].body = if recursive.contains(&i) && self.random.percent(60) {
                self.steps(&mut scope, recursive, kind == Kind::Mu)
            } else {
                self.depth = self.random.between(1, 4);
                self.formula(&mut scope, true)
            };
        }
        self.usable = (0..kinds.len()).map(|p| (p, false)).collect();
        for _ in 0..3 {
            let query = if self.random.percent(50) {
                let pred = self.random.below(kinds.len());
                let (vars, apply) = self.all_of(&Vec::new(), pred);
                let mut scope: Scope = vars.iter().map(|(_, ty)| *ty).collect();
                let exists = self.random.percent(50);
                self.depth = 1;
                let other = self.formula(&mut scope, true);
                self.bound(exists, vars, vec![apply, other])
            } else {
                self.depth = self.random.between(1, 4);
                self.formula(&mut Vec::new(), true)
            };
            self.world.queries.push(query);
        }
    }
}

// ---- printing ----

struct Printer<'a> {
    world: &'a World,
    random: &'a mut Random,
}

impl Printer<'_> {
    fn path(&self, scope: &Scope, path: &Path) -> String {
        let mut out = format!("v{}", path.var);
        let mut ty = scope[path.var];
        for &step in &path.steps {
            let array = matches!(self.world.types[ty], Ty::Array(..));
            let _ = if array {
                write!(out, "[{step}]")
            } else {
                write!(out, ".m{step}")
            };
            ty = self.world.parts(ty)[step];
        }
        if let Some(bit) = path.bit {
            let _ = write!(out, "[{bit}]");
        }
        out
    }

    /// The formula, in parentheses if it binds less tightly than `least`.
    fn formula(&mut self, scope: &mut Scope, f: &F, least: u8) -> String {
        let (binding, text) = match f {
            F::Const(value) => (10, value.to_string()),
            F::Path(path) => (10, self.path(scope, path)),
            F::Equal(differs, l, r) => {
                let op = if *differs { "!=" } else { "=" };
                (
                    7,
                    format!("{} {op} {}", self.path(scope, l), self.path(scope, r)),
                )
            }
            F::Code(differs, path, ty, code) => {
                let op = if *differs { "!=" } else { "=" };
                let value = self.world.value_text(*ty, *code, self.random);
                let path = self.path(scope, path);
                if self.random.percent(20) {
                    (7, format!("{value}{op}{path}"))
                } else {
                    (7, format!("{path} {op} {value}"))
                }
            }
            F::Apply(pred, args) => {
                let params = self.world.preds[*pred].params.clone();
                let args: Vec<String> = args
                    .iter()
                    .zip(params)
                    .map(|(arg, ty)| match arg {
                        Arg::Path(path) => self.path(scope, path),
                        Arg::Constant(code) => self.world.value_text(ty, *code, self.random),
                    })
                    .collect();
                (10, format!("p{pred}({})", args.join(", ")))
            }
            F::Not(f) => (6, format!("!{}", self.formula(scope, f, 6))),
            F::And(list) => (5, self.list(scope, list, " & ", 6)),
            F::Or(list) => (4, self.list(scope, list, " | ", 5)),
            F::Arrow(arrow, l, r) => {
                let l = self.formula(scope, l, 4);
                let r = self.formula(scope, r, 4);
                (3, format!("{l} {arrow} {r}"))
            }
            F::If(c, t, e) => {
                let c = self.formula(scope, c, 0);
                let t = self.formula(scope, t, 2);
                match e {
                    Some(e) => {
                        let e = self.formula(scope, e, 0);
                        (1, format!("if ({c}) {t} else {e}"))
                    }
                    None => (1, format!("if ({c}) {t}")),
                }
            }
            F::Case(arms) => {
                let mut out = "case ".to_owned();
                for (c, e) in arms {
                    let c = self.formula(scope, c, 0);
                    let e = self.formula(scope, e, 0);
                    let _ = write!(out, "{c} : {e}; ");
                }
                (10, out + "esac")
            }
            F::Quantifier(exists, vars, body) => {
                let word = if *exists { "exists" } else { "forall" };
                let before = scope.len();
                let mut list = Vec::new();
                for (var, ty) in vars {
                    scope.push(*ty);
                    list.push(self.world.declare(*ty, &format!("v{var}")));
                }
                let dot = if self.random.percent(70) { "." } else { ":" };
                let body = self.formula(scope, body, 2);
                scope.truncate(before);
                (2, format!("{word} {}{dot} {body}", list.join(", ")))
            }
            F::Care(assume, f, g) => {
                let f = self.formula(scope, f, 9);
                let g = self.formula(scope, g, 9);
                let word = if *assume { "assume" } else { "cofactor" };
                if self.random.percent(50) {
                    (5, format!("{f} {word} {g} & {g}"))
                } else {
                    (5, format!("{f}{{{word} {g}}} & {g}"))
                }
            }
        };
        if binding < least {
            format!("({text})")
        } else {
            text
        }
    }

    fn list(&mut self, scope: &mut Scope, list: &[F], op: &str, least: u8) -> String {
        let parts: Vec<String> = list.iter().map(|f| self.formula(scope, f, least)).collect();
        parts.join(op)
    }

    fn theory(&mut self) -> String {
        let mut out = String::new();
        for (i, ty) in self.world.types.iter().enumerate() {
            let _ = match ty {
                Ty::Bool | Ty::Array(..) => Ok(()),
                Ty::Enum(n) => {
                    let names: Vec<String> = (0..*n).map(|c| format!("c{c}")).collect();
                    writeln!(out, "enum T{i} {{ {} }};", names.join(", "))
                }
                Ty::Range(lo, hi) => writeln!(out, "enum T{i} {{ {lo} .. {hi} }};"),
                Ty::Class(parts) => {
                    let list: Vec<String> = parts
                        .iter()
                        .enumerate()
                        .map(|(k, &t)| format!("{};", self.world.declare(t, &format!("m{k}"))))
                        .collect();
                    let wish = match (parts.len(), self.random.below(4)) {
                        (2, 0) => " m0 ~+ m1",
                        (2, 1) => " m1 < m0",
                        _ => "",
                    };
                    writeln!(out, "class T{i} {{ {} }}{wish};", list.join(" "))
                }
            };
        }
        let heads: Vec<String> = self
            .world
            .preds
            .iter()
            .enumerate()
            .map(|(i, pred)| {
                let word = match pred.kind {
                    Kind::Plain => "",
                    Kind::Mu => "mu ",
                    Kind::Nu => "nu ",
                };
                let params: Vec<String> = pred
                    .params
                    .iter()
                    .enumerate()
                    .map(|(k, &t)| self.world.declare(t, &format!("v{k}")))
                    .collect();
                format!("{word}bool p{i}({})", params.join(", "))
            })
            .collect();
        for (head, pred) in heads.iter().zip(&self.world.preds) {
            if pred.kind != Kind::Plain {
                let _ = writeln!(out, "{head};");
            }
        }
        for (i, head) in heads.iter().enumerate() {
            let pred = &self.world.preds[i];
            let mut scope = pred.params.clone();
            let wish = match (pred.params.len(), self.random.below(6)) {
                (2.., 0) => " v0 ~+ v1",
                (2.., 1) => " v1 < v0",
                (2.., 2) => " v0 ~- v1",
                _ => "",
            };
            let body = self.formula(&mut scope, &pred.body, 0);
            let _ = writeln!(out, "{head}{wish} {body};");
        }
        for (i, query) in self.world.queries.iter().enumerate() {
            if i == 1 {
                for p in 0..self.world.preds.len() {
                    let _ = writeln!(out, "#ons p{p};");
                }
            }
            let text = self.formula(&mut Vec::new(), query, 0);
            let _ = writeln!(out, "{text};");
            if self.random.percent(20) {
                let _ = writeln!(out, "#reset all;");
            }
        }
        out
    }
}

// ---- evaluating ----

/// Members of a relation, by number of the tuple.
type Table = Rc<Vec<bool>>;
type Env = Vec<Option<Table>>;

enum Failed {
    /// The rounds run in a circle.
    Oscillates,
    /// It takes too long.
    Fuel,
}

struct Naive<'a> {
    world: &'a World,
    fuel: u64,
}

impl Naive<'_> {
    fn tuples(&self, params: &[usize]) -> usize {
        params.iter().map(|&t| self.world.size(t)).product()
    }

    /// `Evaluate(pred, Eq)` with some predicates fixed.
    fn value(&mut self, pred: usize, env: &Env) -> Result<Table, Failed> {
        if let Some(table) = &env[pred] {
            return Ok(Rc::clone(table));
        }
        let kind = self.world.preds[pred].kind;
        if kind == Kind::Plain {
            return self.table(pred, env);
        }
        let count = self.tuples(&self.world.preds[pred].params);
        let mut s: Table = Rc::new(vec![kind == Kind::Nu; count]);
        let mut seen = HashSet::new();
        loop {
            let mut inner = env.clone();
            inner[pred] = Some(Rc::clone(&s));
            let new = self.table(pred, &inner)?;
            if new == s {
                return Ok(s);
            }
            if !seen.insert(Rc::clone(&new)) {
                return Err(Failed::Oscillates);
            }
            s = new;
        }
    }

    /// The body's value for all arguments.
    fn table(&mut self, pred: usize, env: &Env) -> Result<Table, Failed> {
        let definition = &self.world.preds[pred];
        let list = uses(&definition.body);
        let mut tables = Vec::new();
        for &used in &list {
            self.fuel = self.fuel.checked_sub(1).ok_or(Failed::Fuel)?;
            tables.push(self.value(used, env)?);
        }
        let lookup = |p: usize| -> Table {
            let at = list
                .iter()
                .position(|&u| u == p)
                .expect("all uses are evaluated");
            Rc::clone(&tables[at])
        };
        let params = definition.params.clone();
        let count = self.tuples(&params);
        let mut result = Vec::with_capacity(count);
        for number in 0..count {
            let mut values = self.decode(&params, number);
            let mut scope = params.clone();
            let body = &self.world.preds[pred].body;
            result.push(self.holds(body, &mut scope, &mut values, &lookup)?);
        }
        Ok(Rc::new(result))
    }

    fn decode(&self, params: &[usize], mut number: usize) -> Vec<usize> {
        let mut values = vec![0; params.len()];
        for (i, &ty) in params.iter().enumerate().rev() {
            let size = self.world.size(ty);
            values[i] = number % size;
            number /= size;
        }
        values
    }

    /// The number of a tuple that the solver shows.
    fn number(&self, params: &[usize], tuple: &[Vec<bool>]) -> usize {
        let mut number = 0;
        for (&ty, bits) in params.iter().zip(tuple) {
            number = number * self.world.size(ty) + self.value_of(ty, &mut bits.as_slice());
        }
        number
    }

    fn value_of(&self, ty: usize, bits: &mut &[bool]) -> usize {
        let parts = self.world.parts(ty);
        if parts.is_empty() {
            let (own, rest) = bits.split_at(self.world.width(ty) as usize);
            *bits = rest;
            return own.iter().fold(0, |n, &bit| n << 1 | usize::from(bit));
        }
        let mut value = 0;
        for part in parts {
            value = value * self.world.size(part) + self.value_of(part, bits);
        }
        value
    }

    /// Whether each tuple of a path follows from the one before (and those told beside it): the body must hold of it
    /// when the predicates on the path are nothing but these tuples. In the complement, it must fail when they are
    /// everything but these.
    fn follows(&mut self, solver: &Solver<'_>, path: &[Step]) -> Result<bool, Failed> {
        let pred = |def: DefId| -> usize {
            let name = &solver.theory().definitions()[def.0 as usize].name;
            name[1..].parse().expect("p0, p1, ...")
        };
        let env: Env = vec![None; self.world.preds.len()];
        for (i, step) in path.iter().enumerate() {
            if step.more {
                continue;
            }
            let own = pred(step.predicate);
            let mut premises: Vec<(usize, usize)> = Vec::new();
            if i > 0 {
                let before = pred(path[i - 1].predicate);
                let params = &self.world.preds[before].params;
                premises.push((before, self.number(params, &path[i - 1].tuple)));
            }
            for (def, tuple) in &step.with {
                let other = pred(*def);
                premises.push((other, self.number(&self.world.preds[other].params, tuple)));
            }
            // Whatever depends on the predicate and is depended upon is on the same path.
            let body = &self.world.preds[own].body;
            let list = uses(body);
            let mut tables: Vec<Table> = Vec::new();
            for &used in &list {
                let together = reaches(solver, used, own);
                tables.push(if together {
                    let count = self.tuples(&self.world.preds[used].params);
                    let mut table = vec![step.fails; count];
                    for &(p, number) in &premises {
                        if p == used {
                            table[number] = !step.fails;
                        }
                    }
                    Rc::new(table)
                } else {
                    self.value(used, &env)?
                });
            }
            let lookup = |p: usize| -> Table {
                let at = list
                    .iter()
                    .position(|&u| u == p)
                    .expect("all uses are evaluated");
                Rc::clone(&tables[at])
            };
            let params = self.world.preds[own].params.clone();
            let number = self.number(&params, &step.tuple);
            let mut values = self.decode(&params, number);
            if self.holds(body, &mut params.clone(), &mut values, &lookup)? == step.fails {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn query(&mut self, f: &F) -> Result<bool, Failed> {
        let env: Env = vec![None; self.world.preds.len()];
        let list = uses(f);
        let mut tables = Vec::new();
        for &pred in &list {
            tables.push(self.value(pred, &env)?);
        }
        let lookup = |p: usize| -> Table {
            let at = list
                .iter()
                .position(|&u| u == p)
                .expect("all uses are evaluated");
            Rc::clone(&tables[at])
        };
        self.holds(f, &mut Vec::new(), &mut Vec::new(), &lookup)
    }

    fn holds(
        &mut self,
        f: &F,
        scope: &mut Scope,
        values: &mut Vec<usize>,
        lookup: &dyn Fn(usize) -> Table,
    ) -> Result<bool, Failed> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Failed::Fuel)?;
        Ok(match f {
            F::Const(value) => *value,
            F::Path(path) => self.world.path_value(scope, values, path) == 1,
            F::Equal(differs, l, r) => {
                let l = self.world.path_value(scope, values, l);
                let r = self.world.path_value(scope, values, r);
                (l == r) != *differs
            }
            F::Code(differs, path, _, code) => {
                (self.world.path_value(scope, values, path) == *code) != *differs
            }
            F::Apply(pred, args) => {
                let mut number = 0;
                for (arg, &ty) in args.iter().zip(&self.world.preds[*pred].params) {
                    let value = match arg {
                        Arg::Path(path) => self.world.path_value(scope, values, path),
                        Arg::Constant(code) => *code,
                    };
                    number = number * self.world.size(ty) + value;
                }
                lookup(*pred)[number]
            }
            F::Not(f) => !self.holds(f, scope, values, lookup)?,
            F::And(list) => {
                for f in list {
                    if !self.holds(f, scope, values, lookup)? {
                        return Ok(false);
                    }
                }
                true
            }
            F::Or(list) => {
                for f in list {
                    if self.holds(f, scope, values, lookup)? {
                        return Ok(true);
                    }
                }
                false
            }
            F::Arrow(arrow, l, r) => {
                let l = self.holds(l, scope, values, lookup)?;
                let r = self.holds(r, scope, values, lookup)?;
                match *arrow {
                    "->" => !l || r,
                    "<-" => l || !r,
                    "<->" => l == r,
                    _ => l != r,
                }
            }
            F::If(c, t, e) => match (self.holds(c, scope, values, lookup)?, e) {
                (true, _) => self.holds(t, scope, values, lookup)?,
                (false, Some(e)) => self.holds(e, scope, values, lookup)?,
                (false, None) => true,
            },
            F::Case(arms) => {
                for (c, e) in arms {
                    if self.holds(c, scope, values, lookup)? {
                        return self.holds(e, scope, values, lookup);
                    }
                }
                false
            }
            F::Quantifier(exists, vars, body) => {
                let types: Vec<usize> = vars.iter().map(|(_, ty)| *ty).collect();
                let before = scope.len();
                scope.extend(&types);
                let mut found = !*exists;
                for number in 0..self.tuples(&types) {
                    let row = self.decode(&types, number);
                    values.extend(row);
                    let holds = self.holds(body, scope, values, lookup);
                    values.truncate(before);
                    if holds? == *exists {
                        found = *exists;
                        break;
                    }
                }
                scope.truncate(before);
                found
            }
            F::Care(_, f, g) => {
                self.holds(f, scope, values, lookup)? && self.holds(g, scope, values, lookup)?
            }
        })
    }
}

/// Whether one predicate depends on another, once what is obviously true or false has been left out.
fn reaches(solver: &Solver<'_>, from: usize, to: usize) -> bool {
    let theory = solver.theory();
    let find = |pred: usize| theory.find(&format!("p{pred}")).expect("all are defined");
    let (from, to) = (find(from), find(to));
    let mut seen = vec![from];
    let mut next = 0;
    while next < seen.len() {
        for (used, _) in &theory.definitions()[seen[next].0 as usize].references {
            if !seen.contains(used) {
                seen.push(*used);
            }
        }
        next += 1;
    }
    seen.contains(&to)
}

/// The predicates a formula applies, each once, in order.
fn uses(f: &F) -> Vec<usize> {
    fn walk(f: &F, out: &mut Vec<usize>) {
        match f {
            F::Apply(pred, _) => {
                if !out.contains(pred) {
                    out.push(*pred);
                }
            }
            F::Not(f) | F::Quantifier(_, _, f) => walk(f, out),
            F::And(list) | F::Or(list) => list.iter().for_each(|f| walk(f, out)),
            F::Arrow(_, l, r) | F::Care(_, l, r) => {
                walk(l, out);
                walk(r, out);
            }
            F::If(c, t, e) => {
                walk(c, out);
                walk(t, out);
                if let Some(e) = e {
                    walk(e, out);
                }
            }
            F::Case(arms) => {
                for (c, e) in arms {
                    walk(c, out);
                    walk(e, out);
                }
            }
            F::Const(_) | F::Path(_) | F::Equal(..) | F::Code(..) => {}
        }
    }
    let mut out = Vec::new();
    walk(f, &mut out);
    out
}

/// What was compared.
#[derive(Default, Debug)]
struct Tally {
    answers: u32,
    counts: u32,
    oscillations: u32,
    skipped: u32,
    witnesses: u32,
    steps: u32,
}

fn compare(seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let mut maker = Maker {
        random: &mut random,
        world: World {
            types: Vec::new(),
            preds: Vec::new(),
            queries: Vec::new(),
        },
        usable: Vec::new(),
        depth: 0,
    };
    maker.types();
    maker.preds();
    let world = maker.world;
    let text = Printer {
        world: &world,
        random: &mut random,
    }
    .theory();
    let theory = load_text("random.mu", text.as_str());
    assert!(
        !theory.has_errors(),
        "SEED={seed}\n{text}\n{}",
        theory.messages(false, false)
    );
    let actions = theory.actions().to_vec();
    let mut solver = Solver::new(theory, &Limits::default(), None);
    let mut queries = world.queries.iter();
    let mut naive = Naive {
        world: &world,
        fuel: 3_000_000,
    };
    for action in &actions {
        let expected: Result<BigUint, Failed> = match action {
            Action::Query(_) => {
                let query = queries.next().expect("as many queries as were printed");
                naive
                    .query(query)
                    .map(|value| BigUint::from(u32::from(value)))
            }
            Action::Count(def, _) => {
                let env: Env = vec![None; world.preds.len()];
                // Predicates have the numbers of their names.
                let name = &solver.theory().definitions()[def.0 as usize].name;
                let pred = name[1..].parse().expect("p0, p1, ...");
                let table = naive.value(pred, &env);
                table.map(|t| BigUint::from(t.iter().filter(|&&m| m).count()))
            }
            _ => {
                solver.perform(action).expect("nothing to evaluate");
                continue;
            }
        };
        let outcome = solver.perform(action);
        match (expected, outcome) {
            (Err(Failed::Fuel), _) => {
                tally.skipped += 1;
                return;
            }
            (Err(Failed::Oscillates), _) => tally.oscillations += 1,
            (Ok(expected), Ok(Outcome::Answer(value))) => {
                let value = BigUint::from(u32::from(value));
                assert_eq!(value, expected, "SEED={seed}\n{text}\n{action:?}");
                tally.answers += 1;
            }
            (Ok(expected), Ok(Outcome::Count(count, _))) => {
                assert_eq!(count, expected, "SEED={seed}\n{text}\n{action:?}");
                tally.counts += 1;
            }
            (Ok(expected), Err(Unanswered::Oscillates { .. })) => {
                panic!("SEED={seed}: oscillates, but it is {expected}\n{text}\n{action:?}")
            }
            (Ok(_), other) => panic!("SEED={seed}: {other:?}\n{text}"),
        }
        // Whatever the answer, it can be explained, and explaining changes nothing.
        if let Action::Query(question) = action
            && let Ok(value) = solver.decide(question)
        {
            let why = Action::Witness(value, question.clone());
            let outcome = solver.perform(&why).expect("it has a value");
            let Outcome::Witness(witness) = &outcome else {
                panic!("SEED={seed}\n{text}");
            };
            for path in &witness.paths {
                assert!(
                    naive.follows(&solver, path).unwrap_or(true),
                    "SEED={seed}: {path:?}\n{text}\n{action:?}"
                );
                tally.steps += path.len() as u32;
            }
            assert!(!report::text(&solver, &why, &outcome).is_empty());
            let again = solver.decide(question);
            assert_eq!(again, Ok(value), "SEED={seed}\n{text}");
            tally.witnesses += 1;
        }
    }
}

fn sweep(first: u64, count: u64) {
    let count = std::env::var("THEORIES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(count);
    let mut tally = Tally::default();
    for seed in seeds(first, count) {
        compare(seed, &mut tally);
    }
    eprintln!("{tally:?}");
    if count >= 100 && std::env::var("SEED").is_err() {
        assert!(
            tally.answers as u64 > count && tally.counts as u64 > count,
            "{tally:?}"
        );
        assert!((tally.skipped as u64) < count / 4, "{tally:?}");
    }
}

#[test]
fn random_theories_agree_with_the_naive_evaluator() {
    sweep(1, 3000);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_random_theories_agree_with_the_naive_evaluator() {
    sweep(1_000_000, 60_000);
}
