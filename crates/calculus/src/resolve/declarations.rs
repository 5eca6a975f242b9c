//! Declarations of types and variables: enumerations, ranges, classes, arrays, and wishes about
//! their layout.

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Global, Resolver};
use crate::layout::{blocks, interleave};
use crate::syntax::{Constraint, Declaration, List};
use crate::term::VarId;
use crate::theory::{Variable, Wish};
use crate::types::{TypeId, WIDEST};

/// The most bits that all variables of a theory may have together.
const MOST_BITS: u32 = 1 << 28;

impl Resolver {
    pub(super) fn enumeration(&mut self, name: Span, constants: &[Span]) {
        if !self.is_free(name) {
            return;
        }
        let text = self.text(name).to_owned();
        let mut names: Vec<String> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut fine = true;
        for &span in constants {
            let constant = self.text(span).to_owned();
            if seen.insert(constant.clone()) {
                names.push(constant);
            } else {
                fine = false;
                self.say(
                    Diagnostic::error(span, format!("`{constant}` is in `{text}` twice"))
                        .help("remove one of the two"),
                );
            }
        }
        let global = if names.is_empty() {
            self.say(
                Diagnostic::error(name, format!("`{text}` has no values"))
                    .help("a type has at least one value"),
            );
            Global::Broken
        } else if fine {
            Global::Type(self.theory.types.enumeration(text.clone(), names))
        } else {
            Global::Broken
        };
        self.globals.insert(text, global);
    }

    pub(super) fn range(&mut self, name: Span, from: Span, to: Span) {
        if !self.is_free(name) {
            return;
        }
        let text = self.text(name).to_owned();
        let (from, to) = (self.number(from), self.number(to));
        let global = match (from, to) {
            (Some(from), Some(to)) => {
                let (lo, hi) = (from.min(to), from.max(to));
                Global::Type(self.theory.types.range(text.clone(), lo, hi))
            }
            _ => Global::Broken,
        };
        self.globals.insert(text, global);
    }

    /// The type of a declaration.
    pub(crate) fn declared_type(&mut self, declaration: &Declaration) -> Option<TypeId> {
        let name = self.text(declaration.ty).to_owned();
        let element = match self.globals.get(&name) {
            Some(Global::Type(ty)) => *ty,
            Some(Global::Broken) => return None,
            Some(Global::Predicate(_)) => {
                self.say(
                    Diagnostic::error(declaration.ty, format!("`{name}` is a predicate"))
                        .label("expected a type"),
                );
                return None;
            }
            None => {
                let error = self.unknown(declaration.ty, &name, "type");
                self.say(error);
                return None;
            }
        };
        let Some(span) = declaration.size else {
            return Some(element);
        };
        let size = self.number(span)?;
        let array = u32::try_from(size)
            .ok()
            .filter(|&size| size > 0)
            .and_then(|size| self.theory.types.array(element, size));
        if array.is_none() {
            let message = if size == 0 {
                "an array has at least one element".to_owned()
            } else {
                format!("this array has more than {WIDEST} bits")
            };
            self.say(Diagnostic::error(span, message));
        }
        array
    }

    pub(super) fn class(&mut self, name: Span, components: &List, constraints: &[Constraint]) {
        if !self.is_free(name) {
            return;
        }
        let text = self.text(name).to_owned();
        let declarations = self.syntax().declarations(components).to_vec();
        let mut list: Vec<(String, TypeId)> = Vec::new();
        let mut index: FxHashMap<String, u32> = FxHashMap::default();
        let mut fine = true;
        for declaration in &declarations {
            let component = self.text(declaration.name).to_owned();
            let ty = self.declared_type(declaration);
            if index.insert(component.clone(), list.len() as u32).is_some() {
                self.say(
                    Diagnostic::error(
                        declaration.name,
                        format!("`{component}` is in `{text}` twice"),
                    )
                    .help("components of a class have different names"),
                );
                fine = false;
            }
            match ty {
                Some(ty) => list.push((component, ty)),
                None => fine = false,
            }
        }
        if fine && list.is_empty() {
            self.say(
                Diagnostic::error(name, format!("`{text}` has no components"))
                    .help("a class has at least one component"),
            );
            fine = false;
        }
        if !fine {
            self.globals.insert(text, Global::Broken);
            return;
        }
        let wishes = self.wishes(constraints, &index);
        let types: Vec<TypeId> = list.iter().map(|(_, ty)| *ty).collect();
        let Some(class) = self.theory.types.class(text.clone(), list) else {
            self.say(Diagnostic::error(
                name,
                format!("this class has more than {WIDEST} bits"),
            ));
            self.globals.insert(text, Global::Broken);
            return;
        };
        if !wishes.is_empty() {
            let types_table = &self.theory.types;
            let mut offsets = Vec::new();
            let mut offset = 0;
            for ty in &types {
                offsets.push(offset);
                offset += types_table.get(*ty).width;
            }
            let layouts: Vec<Vec<u32>> = types
                .iter()
                .map(|ty| types_table.layout(*ty).collect())
                .collect();
            // Components are interleaved only where it is wished for.
            let blocks = blocks(types.len() as u32, &wishes, |_| false);
            let layout = blocks
                .iter()
                .flat_map(|block| interleave(block, |i| layouts[i as usize].len() as u32))
                .map(|(i, bit)| offsets[i as usize] + layouts[i as usize][bit as usize])
                .collect();
            self.theory.types.set_layout(class, layout);
        }
        self.globals.insert(text, Global::Type(class));
    }

    pub(super) fn wishes(
        &mut self,
        list: &[Constraint],
        index: &FxHashMap<String, u32>,
    ) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for constraint in list {
            let mut find = |span: Span| {
                let name = self.text(span).to_owned();
                let found = index.get(&name).copied();
                if found.is_none() {
                    let message = format!("`{name}` is not in this list");
                    self.say(
                        Diagnostic::error(span, message)
                            .label("a constraint is about two variables of the list before it"),
                    );
                }
                found
            };
            if let (Some(left), Some(right)) = (find(constraint.left), find(constraint.right))
                && left != right
            {
                let relation = constraint.relation;
                wishes.push(Wish {
                    left,
                    relation,
                    right,
                });
            }
        }
        wishes
    }

    /// A new variable; nothing if there are too many bits.
    pub(crate) fn new_variable(&mut self, name: String, ty: TypeId, at: Span) -> Option<VarId> {
        let width = self.theory.types.get(ty).width;
        let first = self.theory.bits;
        if first + width > MOST_BITS {
            if !std::mem::replace(&mut self.too_many_bits, true) {
                self.say(Diagnostic::error(
                    at,
                    format!("all variables together have more than {MOST_BITS} bits"),
                ));
            }
            return None;
        }
        self.theory.bits += width;
        let id = VarId(self.theory.variables.len() as u32);
        self.theory.variables.push(Variable {
            name,
            ty,
            first,
            scopes: Vec::new(),
        });
        Some(id)
    }
}
