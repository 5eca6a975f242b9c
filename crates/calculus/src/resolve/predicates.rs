//! Definitions of predicates, their prototypes, and queries.

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use rustc_hash::FxHashMap;

use super::{Global, Resolver};
use crate::syntax::{Constraint, ExprId, Fixpoint, List};
use crate::term::DefId;
use crate::theory::{ClosedFormula, Definition};
use crate::types::{BOOL, TypeId};

impl Resolver {
    pub(super) fn predicate(
        &mut self,
        fixpoint: Fixpoint,
        result: Span,
        name: Span,
        parameters: &List,
        constraints: &[Constraint],
        body: Option<ExprId>,
    ) {
        if self.text(result) != "bool" {
            self.say(
                Diagnostic::error(result, "the result of a predicate is `bool`")
                    .help("write `bool`"),
            );
        }
        let Some(def) = self.head(fixpoint, name, parameters, constraints, body.is_some()) else {
            return;
        };
        let Some(body) = body else {
            return;
        };
        self.query_pool = std::mem::take(&mut self.pool);
        self.in_predicate = true;
        let query_locals = std::mem::take(&mut self.locals);
        let parameters = self.theory.definition(def).parameters.clone();
        for &id in &parameters {
            let name = self.theory.variable(id).name.clone();
            self.scope.entry(name).or_default().push(id);
        }
        let root = self.formula(body, false);
        let dual = (fixpoint == Fixpoint::Nu)
            .then(|| self.formula(body, true))
            .flatten();
        self.scope.clear();
        self.pool = std::mem::take(&mut self.query_pool);
        let locals = std::mem::replace(&mut self.locals, query_locals);
        self.in_predicate = false;
        let references = root.map(|root| crate::depend::references(&self.theory.terms, root));
        let definition = &mut self.theory.definitions[def.0 as usize];
        definition.locals = locals;
        definition.broken |= root.is_none();
        definition.body = root;
        definition.dual = dual;
        definition.references = references.unwrap_or_default();
    }

    /// Declares a predicate, or completes its prototype.
    fn head(
        &mut self,
        fixpoint: Fixpoint,
        name: Span,
        parameters: &List,
        constraints: &[Constraint],
        has_body: bool,
    ) -> Option<DefId> {
        let text = self.text(name).to_owned();
        let declarations = self.syntax().declarations(parameters).to_vec();
        let mut types = Vec::new();
        let mut names = Vec::new();
        let mut index: FxHashMap<String, u32> = FxHashMap::default();
        let mut broken = false;
        for declaration in &declarations {
            let parameter = self.text(declaration.name).to_owned();
            let ty = self.declared_type(declaration);
            broken |= ty.is_none();
            if let Some(ty) = ty {
                self.warn_about_constant(declaration.name, &parameter, ty);
            }
            if index
                .insert(parameter.clone(), names.len() as u32)
                .is_some()
            {
                self.say(
                    Diagnostic::error(
                        declaration.name,
                        format!("there are two parameters `{parameter}`"),
                    )
                    .help("parameters of a predicate have different names"),
                );
                broken = true;
            }
            types.push(ty.unwrap_or(BOOL));
            names.push(parameter);
        }
        let wishes = self.wishes(constraints, &index);
        let known = match self.globals.get(&text) {
            Some(Global::Predicate(def)) => Some(*def),
            None => None,
            Some(_) => {
                self.is_free(name);
                return None;
            }
        };
        if let Some(def) = known {
            let definition = self.theory.definition(def);
            if definition.broken && definition.body.is_none() {
                return None;
            }
            if has_body && (definition.body.is_some() || definition.broken) {
                let before = definition.place;
                let mut error = Diagnostic::error(name, format!("`{text}` is defined twice"))
                    .help("one predicate has one definition; choose another name");
                if before.file == self.file {
                    error = error.also(before.span, "defined here before");
                }
                self.say(error);
                return None;
            }
            let same = definition.fixpoint == fixpoint
                && definition.parameters.len() == types.len()
                && definition
                    .parameters
                    .iter()
                    .zip(&types)
                    .all(|(id, ty)| self.theory.variable(*id).ty == *ty);
            let known_parameters = definition.parameters.clone();
            if !same && !broken {
                let place = definition.place;
                let (message, before) = if has_body {
                    ("is not defined as its prototype says", "the prototype")
                } else {
                    (
                        "is declared twice, and not in the same way",
                        "declared here before",
                    )
                };
                let mut error = Diagnostic::error(name, format!("`{text}` {message}"))
                    .help("types of parameters and `mu` or `nu` must be the same in both");
                if place.file == self.file {
                    error = error.also(place.span, before);
                }
                self.say(error);
                broken = true;
            }
            if !has_body && !broken {
                // A prototype says it once more.
                self.theory.definitions[def.0 as usize]
                    .wishes
                    .extend(wishes);
                return Some(def);
            }
            if broken {
                self.theory.definitions[def.0 as usize].broken = true;
                return None;
            }
            for (id, name) in known_parameters.into_iter().zip(names) {
                self.theory.variables[id.0 as usize].name = name;
            }
            let place = self.place(name);
            let definition = &mut self.theory.definitions[def.0 as usize];
            definition.place = place;
            definition.wishes.extend(wishes);
            return Some(def);
        }
        let mut ids = Vec::new();
        for (i, (parameter, ty)) in names.into_iter().zip(types).enumerate() {
            match self.new_variable(parameter, ty, declarations[i].name) {
                Some(id) => ids.push(id),
                None => broken = true,
            }
        }
        let def = DefId(self.theory.definitions.len() as u32);
        self.theory.definitions.push(Definition {
            name: text.clone(),
            place: self.place(name),
            fixpoint,
            parameters: ids,
            wishes,
            locals: Vec::new(),
            body: None,
            dual: None,
            references: Vec::new(),
            broken,
        });
        self.globals.insert(text, Global::Predicate(def));
        (!broken).then_some(def)
    }

    /// A variable with the name of a constant of its type is hidden by it in places.
    pub(crate) fn warn_about_constant(&mut self, span: Span, name: &str, ty: TypeId) {
        if self.theory.types.constant(ty, name).is_some() {
            let ty = self.theory.types.get(ty).name.clone();
            let warning =
                Diagnostic::warning(span, format!("`{name}` is also a constant of `{ty}`"))
                    .help("to the right of `=` and as an argument it means the constant");
            self.say(warning);
        }
    }

    pub(super) fn question(&mut self, expr: ExprId, span: Span) -> Option<ClosedFormula> {
        let told = self.theory.diagnostics.len();
        let root = self.formula(expr, false);
        let both = root.and_then(|root| Some((root, self.formula(expr, true)?)));
        if both.is_none() && self.theory.diagnostics.len() == told {
            // What is wrong has been said where it is defined; that there is no answer has not.
            let what = "this cannot be evaluated: something that it uses has errors";
            self.say(Diagnostic::error(span, what));
        }
        let (root, dual) = both?;
        Some(ClosedFormula {
            root,
            dual,
            references: crate::depend::references(&self.theory.terms, root),
            place: self.place(span),
            expr,
        })
    }
}
