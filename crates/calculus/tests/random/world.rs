//! What random theories are made of: types, formulas and predicates as trees.

use droste_testkit::random::Random;

#[derive(Clone, Debug)]
pub(crate) enum Ty {
    Bool,
    Enum(usize),
    Range(usize, usize),
    Class(Vec<usize>),
    Array(usize, usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) var: usize,
    /// Component or element numbers.
    pub(crate) steps: Vec<usize>,
    /// A bit of an enumeration or range.
    pub(crate) bit: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Path(Path),
    Constant(usize),
}

#[derive(Clone, Debug)]
pub(crate) enum F {
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
pub(crate) enum Kind {
    Plain,
    Mu,
    Nu,
}

pub(crate) struct Pred {
    pub(crate) kind: Kind,
    pub(crate) params: Vec<usize>,
    pub(crate) body: F,
}

pub(crate) struct World {
    pub(crate) types: Vec<Ty>,
    pub(crate) preds: Vec<Pred>,
    pub(crate) queries: Vec<F>,
}

/// The types of variables in scope, by number; parameters come first.
pub(crate) type Scope = Vec<usize>;

impl World {
    pub(crate) fn size(&self, ty: usize) -> usize {
        match &self.types[ty] {
            Ty::Bool => 2,
            Ty::Enum(n) => *n,
            Ty::Range(lo, hi) => hi - lo + 1,
            Ty::Class(parts) => parts.iter().map(|&t| self.size(t)).product(),
            Ty::Array(t, n) => self.size(*t).pow(*n as u32),
        }
    }

    pub(crate) fn name(&self, ty: usize) -> String {
        match &self.types[ty] {
            Ty::Bool => "bool".into(),
            _ => format!("T{ty}"),
        }
    }

    pub(crate) fn declare(&self, ty: usize, var: &str) -> String {
        match &self.types[ty] {
            Ty::Array(t, n) => format!("{} {var}[{n}]", self.name(*t)),
            _ => format!("{} {var}", self.name(ty)),
        }
    }

    pub(crate) fn parts(&self, ty: usize) -> Vec<usize> {
        match &self.types[ty] {
            Ty::Class(parts) => parts.clone(),
            Ty::Array(t, n) => vec![*t; *n],
            _ => Vec::new(),
        }
    }

    pub(crate) fn width(&self, ty: usize) -> u32 {
        usize::BITS - (self.size(ty) - 1).leading_zeros()
    }

    pub(crate) fn value_text(&self, ty: usize, value: usize, random: &mut Random) -> String {
        match &self.types[ty] {
            Ty::Bool if random.percent(50) => (value == 1).to_string(),
            Ty::Enum(_) if random.percent(50) => format!("c{value}"),
            Ty::Range(lo, _) => (lo + value).to_string(),
            _ => value.to_string(),
        }
    }

    pub(crate) fn path_value(&self, scope: &Scope, values: &[usize], path: &Path) -> usize {
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
