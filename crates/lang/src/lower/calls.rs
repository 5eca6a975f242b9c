//! Calls and returns: counts, kinds of arguments, results and their targets.
//!
//! Values are converted to the types of parameters, results and targets when the program runs;
//! here only Booleans and integers are told apart.

use crate::ast::{ExprId, Name, Stmt, Target};
use droste_base::words::counted;
use droste_program::{NodeId, Op, ProcId};
use droste_source::diagnostics::Diagnostic;

use super::statements::Emitter;
use super::types::{Role, StoreTarget};

impl Emitter<'_, '_> {
    pub(super) fn call(
        &mut self,
        stmt: &Stmt,
        targets: &[Target],
        name: &Name,
        args: &[ExprId],
        constrain: Option<ExprId>,
        next: NodeId,
    ) -> Option<Op> {
        let env = self.env;
        let vars = self.targets(targets);
        let Some(callee) = env.callee(self.proc, &name.text) else {
            self.sink.error(|| env.unknown_procedure(self.proc, name));
            for &arg in args {
                self.expr(arg, Role::Free);
            }
            return None;
        };
        let called = &env.procs[callee];
        let function = called.function;
        let mut ok = true;
        if args.len() != function.params.len() {
            ok = false;
            self.sink.error(|| {
                Diagnostic::error(
                    stmt.span,
                    format!(
                        "`{name}` takes {}, not {}",
                        counted(function.params.len() as u64, "argument"),
                        args.len()
                    ),
                )
                .also(function.name.span, "declared here")
            });
        }
        if !targets.is_empty() && targets.len() != function.results.len() {
            ok = false;
            self.sink.error(|| {
                let diagnostic = Diagnostic::error(
                    stmt.span,
                    format!(
                        "`{name}` returns {}, but {} assigned",
                        counted(function.results.len() as u64, "value"),
                        if targets.len() == 1 {
                            "1 is".to_owned()
                        } else {
                            format!("{} are", targets.len())
                        }
                    ),
                )
                .also(function.name.span, "declared here");
                if function.results.is_empty() {
                    diagnostic.help(format!("call it as a statement: `{name}(…);`"))
                } else {
                    diagnostic.help("write `_` for a result that is not needed")
                }
            });
        }
        let mut arguments = Vec::with_capacity(args.len());
        for (i, &arg) in args.iter().enumerate() {
            let role = match function.params.get(i) {
                Some((param, ty)) => Role::Stored(StoreTarget {
                    ty: *ty,
                    what: "parameter",
                    name: &param.text,
                    declared: param.span,
                }),
                None => Role::Free,
            };
            arguments.extend(self.expr(arg, role));
        }
        ok &= arguments.len() == args.len();
        for (i, var) in vars.iter().flatten().enumerate() {
            let (Some(var), Some(result)) = (*var, function.results.get(i)) else {
                continue;
            };
            let place = env.place(self.proc, var);
            if place.ty.is_bool() != result.is_bool() {
                ok = false;
                let span = match &targets[i] {
                    Target::Var(name) => name.span,
                    Target::Discard(span) => span.0,
                };
                self.sink.push(
                    Diagnostic::error(
                        span,
                        format!("`{}` cannot hold this result of `{name}`", place.name),
                    )
                    .label(format!("the result has type `{result}`"))
                    .also(place.declared, place.describe())
                    .also(function.name.span, "the procedure is declared here"),
                );
            }
        }
        let constrain = self.optional_constrain(constrain)?;
        let targets = vars?;
        ok.then_some(Op::Call {
            callee: ProcId(callee as u32),
            args: arguments,
            targets,
            constrain,
            next,
        })
    }

    pub(super) fn return_values(&mut self, stmt: &Stmt, values: &[ExprId]) -> Option<Op> {
        let env = self.env;
        let function = env.procs[self.proc].function;
        let results = &function.results;
        let ok = values.len() == results.len();
        if !ok {
            self.sink.error(|| {
                Diagnostic::error(
                    stmt.span,
                    format!(
                        "`{}` returns {}, not {}",
                        function.name,
                        counted(results.len() as u64, "value"),
                        values.len()
                    ),
                )
                .also(function.name.span, "declared here")
            });
        }
        let mut exprs = Vec::with_capacity(values.len());
        for (i, &value) in values.iter().enumerate() {
            let role = match results.get(i) {
                Some(ty) => Role::Stored(StoreTarget {
                    ty: *ty,
                    what: "the result of",
                    name: &function.name.text,
                    declared: function.name.span,
                }),
                None => Role::Free,
            };
            exprs.extend(self.expr(value, role));
        }
        (ok && exprs.len() == values.len()).then_some(Op::Return(exprs))
    }
}
