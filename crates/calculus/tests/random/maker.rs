//! Makes random theories.

use droste_testkit::random::Random;

use crate::world::{Arg, F, Kind, Path, Pred, Scope, Ty, World};

pub(crate) struct Maker<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) world: World,
    /// The predicates that may be applied now, and of which only positively.
    pub(crate) usable: Vec<(usize, bool)>,
    pub(crate) depth: usize,
}

impl Maker<'_> {
    pub(crate) fn types(&mut self) {
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
    pub(crate) fn ty(&mut self, most: usize) -> usize {
        loop {
            let ty = self.random.below(self.world.types.len());
            if self.world.size(ty) <= most {
                return ty;
            }
        }
    }

    /// A path, and where it leads.
    pub(crate) fn path(&mut self, scope: &Scope) -> (Path, usize) {
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
    pub(crate) fn path_to(&mut self, scope: &Scope, wanted: usize) -> Option<Path> {
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

    pub(crate) fn atom(&mut self, scope: &Scope, positive: bool) -> F {
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
    pub(crate) fn formula(&mut self, scope: &mut Scope, positive: bool) -> F {
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
    pub(crate) fn strict(&self) -> bool {
        self.usable.iter().any(|(_, only)| *only)
    }

    pub(crate) fn several(&mut self, scope: &mut Scope, positive: bool) -> Vec<F> {
        (0..self.random.between(2, 4))
            .map(|_| self.formula(scope, positive))
            .collect()
    }

    /// New variables for all parameters of a predicate, and the predicate of them.
    pub(crate) fn all_of(&mut self, scope: &Scope, pred: usize) -> (Vec<(usize, usize)>, F) {
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
    pub(crate) fn bound(
        &mut self,
        exists: bool,
        vars: Vec<(usize, usize)>,
        mut parts: Vec<F>,
    ) -> F {
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
    pub(crate) fn steps(
        &mut self,
        scope: &mut Scope,
        recursive: std::ops::Range<usize>,
        least: bool,
    ) -> F {
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

    /// Has a predicate include another one, as it is; the last includes the first. (Of greatest
    /// fixpoints, it is included.)
    fn include(&mut self, pred: usize, recursive: std::ops::Range<usize>, least: bool) {
        let next = if pred + 1 < recursive.end {
            pred + 1
        } else {
            recursive.start
        };
        let (_, apply) = self.all_of(&Vec::new(), next);
        let body = std::mem::replace(&mut self.world.preds[pred].body, F::Const(false));
        let mut parts = vec![body];
        let at = self.random.below(2);
        parts.insert(at, apply);
        self.world.preds[pred].body = if least { F::Or(parts) } else { F::And(parts) };
    }

    pub(crate) fn preds(&mut self) {
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
        // Sometimes recursive predicates include each other: they are equal then.
        let circle = recursive > 1 && same.is_some() && self.random.percent(40);
        for (i, &kind) in kinds.iter().enumerate() {
            let first = plain_before;
            if circle && (first + 1..first + recursive).contains(&i) {
                let params = self.world.preds[first].params.clone();
                let body = F::Const(false);
                self.world.preds.push(Pred { kind, params, body });
                continue;
            }
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
                self.steps(&mut scope, recursive.clone(), kind == Kind::Mu)
            } else {
                self.depth = self.random.between(1, 4);
                self.formula(&mut scope, true)
            };
            if circle && recursive.contains(&i) {
                self.include(i, recursive, kind == Kind::Mu);
            }
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
