//! Random theories as text of the calculus, with white space, comments and parentheses where they do no harm.

use std::fmt::Write as _;

use droste_testkit::random::Random;

use crate::world::{Arg, F, Kind, Path, Scope, Ty, World};

pub(crate) struct Printer<'a> {
    pub(crate) world: &'a World,
    pub(crate) random: &'a mut Random,
}

impl Printer<'_> {
    pub(crate) fn path(&self, scope: &Scope, path: &Path) -> String {
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
    pub(crate) fn formula(&mut self, scope: &mut Scope, f: &F, least: u8) -> String {
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

    pub(crate) fn list(&mut self, scope: &mut Scope, list: &[F], op: &str, least: u8) -> String {
        let parts: Vec<String> = list.iter().map(|f| self.formula(scope, f, least)).collect();
        parts.join(op)
    }

    pub(crate) fn theory(&mut self) -> String {
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
