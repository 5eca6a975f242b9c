//! Does an initial heap make sense? What is wrong with it is said with its place in the text.
//!
//! A heap may be such that the program can never have it: a parameter at an object of another class, a field
//! of null, a list that ends in a number. Or it stands for no heap at all, because an object would have a
//! field twice. Then there is no run, and every answer would be `holds` without saying anything. All that is
//! told here is certain: what the grammar *must* give an object is what each of its derivations gives.

use std::collections::{BTreeMap, BTreeSet};

use droste_heap::{
    Grammar, Heap, Node, Nonterminal, Notes, Renaming, Selector, Symbols, TypeId, Variable,
};
use droste_pointer::{Class, ClassId, Kind, PointerProgram};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

/// What a heap has to fit.
pub(crate) struct WellFormed<'a> {
    pub(crate) program: &'a PointerProgram,
    pub(crate) grammar: &'a Grammar,
    pub(crate) symbols: &'a Symbols,
    /// The names of the types that are interfaces.
    pub(crate) interfaces: &'a BTreeSet<String>,
    /// The types of fields, by class and name.
    pub(crate) field_types: &'a BTreeMap<(String, String), String>,
    /// The renamings that have been done.
    pub(crate) renames: &'a [Renaming],
}

/// What a type is called where it is written, if it has been given another name.
fn written<'a>(renames: &'a [Renaming], name: &'a str) -> &'a str {
    let mut all = renames.iter().map(Renaming::types);
    all.find(|(_, to)| *to == name)
        .map_or(name, |(from, _)| from)
}

impl WellFormed<'_> {
    /// What is wrong with a heap, renamed, of whose text this is noted.
    pub(crate) fn problems(&self, heap: &Heap, notes: &Notes) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        Self::nodes(heap, notes, &mut problems);
        self.variables(heap, notes, &mut problems);
        self.selectors(heap, notes, &mut problems);
        self.hyperedges(heap, notes, &mut problems);
        problems
    }

    fn nodes(heap: &Heap, notes: &Notes, problems: &mut Vec<Diagnostic>) {
        if let Some(&place) = notes.externals.first() {
            let message = "an initial heap has no external nodes: nobody holds it but the program";
            let help = "a ghost variable keeps hold of an object";
            problems.push(Diagnostic::error(place, message).help(help));
        }
        let null = |one: &&(Node, Span)| heap.node_type(one.0) == TypeId::NULL;
        let mut nulls = notes.nodes.iter().filter(null);
        if let (Some(first), Some(second)) = (nulls.next(), nulls.next()) {
            let message = "the heap has several nodes of type NULL, but there is one null";
            let problem = Diagnostic::error(second.1, message);
            problems.push(if first.1 == second.1 {
                problem
            } else {
                problem.also(first.1, "the first one")
            });
        }
    }

    fn variables(&self, heap: &Heap, notes: &Notes, problems: &mut Vec<Diagnostic>) {
        for &(variable, node, place) in &notes.variables {
            let name = self.symbols.variable_name(variable);
            let object = heap.node_type(node);
            if variable.is_constant() {
                let fits = match variable {
                    Variable::NULL => object == TypeId::NULL,
                    _ => is_number(object),
                };
                if !fits {
                    let message = format!("`{name}` is at {}", self.what(object));
                    problems.push(Diagnostic::error(place, message));
                }
            } else if name.starts_with("@parameter") || name == "@this:" {
                problems.extend(self.parameter(name, object, place));
            }
        }
    }

    /// What is wrong with an argument of the method, or its receiver.
    fn parameter(&self, name: &str, object: TypeId, place: Span) -> Option<Diagnostic> {
        let method = self.program.method(self.program.entry);
        let wrong = |message: String| Some(Diagnostic::error(place, message));
        if name == "@this:" {
            if method.is_static {
                return wrong(format!("`{}` is static: it has no `@this:`", method.name));
            }
            let class = &self.program.class(method.class).name;
            return match object {
                TypeId::NULL => wrong("the receiver is null".to_owned()),
                _ => self.of_type("the receiver", class, object).and_then(wrong),
            };
        }
        let types = method.signature.split(['(', ')']).nth(1);
        let types = types.unwrap_or_default().split(',');
        let types: Vec<&str> = types.filter(|one| !one.is_empty()).collect();
        let number = name
            .strip_prefix("@parameter")
            .and_then(|rest| rest.strip_suffix(':'))
            .and_then(|number| number.parse::<usize>().ok());
        if let Some(kind) = number.and_then(|number| types.get(number)) {
            self.of_type(&format!("`{name}`"), kind, object)
                .and_then(wrong)
        } else {
            let there = match types.len() {
                0 => "it has none".to_owned(),
                1 => "there is `@parameter0:`".to_owned(),
                count => format!("there are `@parameter0:` to `@parameter{}:`", count - 1),
            };
            wrong(format!(
                "`{}` has no parameter `{name}`: {there}",
                method.name
            ))
        }
    }

    /// What is wrong with an object where a value of a Java type is wanted.
    fn of_type(&self, whose: &str, wanted: &str, object: TypeId) -> Option<String> {
        let primitive = [
            "boolean", "byte", "short", "char", "int", "long", "float", "double",
        ];
        let is_primitive = primitive.contains(&wanted);
        let fits = match object {
            TypeId::NULL => !is_primitive,
            _ if is_number(object) || is_primitive => is_primitive && is_number(object),
            _ => {
                let class = |name: &str| self.program.class_named(name);
                match (class(wanted), class(self.symbols.type_name(object))) {
                    (Some(wanted), Some(own)) => self.may_be(own, wanted),
                    // What is no class of the program is of none.
                    (Some(_), None) => self.interfaces.contains(wanted),
                    _ => true,
                }
            }
        };
        (!fits).then(|| {
            let what = self.what(object);
            let meant = self.renaming(object, wanted);
            format!("{whose} is of type `{wanted}`, but it is at {what}{meant}")
        })
    }

    /// Whether an object of a class may be where another type is declared.
    fn may_be(&self, own: ClassId, wanted: ClassId) -> bool {
        let mut above = std::iter::successors(Some(own), |&one| self.program.class(one).parent);
        let mut above = above.by_ref().take(self.program.classes.len());
        let name = &self.program.class(wanted).name;
        // What a class that is not at hand extends is not known.
        self.interfaces.contains(name)
            || above.any(|one| one == wanted || self.program.class(one).is_open)
    }

    fn selectors(&self, heap: &Heap, notes: &Notes, problems: &mut Vec<Diagnostic>) {
        for &(origin, place) in &notes.origins {
            let object = heap.node_type(origin);
            if object.is_constant() {
                let message = format!("a field of {}: it has none", self.what(object));
                problems.push(Diagnostic::error(place, message));
            }
        }
    }

    /// Each hyperedge must be able to stand for something where it is.
    fn hyperedges(&self, heap: &Heap, notes: &Notes, problems: &mut Vec<Diagnostic>) {
        let must = self.grammar.must_give();
        let mut given: Vec<(Node, Selector)> = heap
            .edges()
            .map(|edge| (edge.origin, edge.selector))
            .collect();
        for (nonterminal, tentacles, place) in &notes.hyperedges {
            let name = self.symbols.nonterminal_name(*nonterminal);
            let mut wrong = |message: String| problems.push(Diagnostic::error(*place, message));
            let strangers = self.strangers(*nonterminal, tentacles, heap);
            strangers.into_iter().for_each(&mut wrong);
            for (at, &node) in tentacles.iter().enumerate() {
                let object = heap.node_type(node);
                let what = self.what(object);
                let mut own = must
                    .iter()
                    .filter(|&&(one, tentacle, _)| one == *nonterminal && tentacle == at);
                if is_number(object) && !self.takes_numbers(*nonterminal, at) {
                    wrong(format!("tentacle {} of `{name}` is at {what}", at + 1));
                } else if object == TypeId::NULL {
                    if let Some(&(_, _, selector)) = own.next() {
                        let field = self.symbols.selector_name(selector);
                        wrong(format!(
                            "`{name}` gives its tentacle {} a field `{field}`, but it is null here",
                            at + 1
                        ));
                    }
                } else {
                    let own: Vec<Selector> = own.map(|&(_, _, selector)| selector).collect();
                    let name_of = |one: Selector| self.symbols.selector_name(one);
                    // Where some of them fit, another one may be of the grammar alone.
                    let fits = own.iter().any(|&one| self.has_field(object, name_of(one)));
                    for selector in own {
                        let field = name_of(selector);
                        if given.contains(&(node, selector)) {
                            wrong(format!(
                                "this stands for no heap: `{name}` gives its tentacle {} a field \
                                 `{field}`, which the object has already",
                                at + 1
                            ));
                        } else if !fits {
                            let near = self.near(object, field);
                            wrong(format!(
                                "`{name}` gives its tentacle {} a field `{field}`, but it is at {what}, \
                                 which has no such field{near}",
                                at + 1
                            ));
                        }
                        given.push((node, selector));
                    }
                }
            }
        }
    }

    /// Whether a nonterminal at an object of a class gives one of its fields, or one of the next object, a
    /// type that is no class of the program: such a heap has objects where the program can have none.
    fn strangers(&self, nonterminal: Nonterminal, tentacles: &[Node], heap: &Heap) -> Vec<String> {
        let class = |object: TypeId| self.program.class_named(self.symbols.type_name(object));
        let stranger = |object: TypeId| !object.is_constant() && class(object).is_none();
        let attached: Vec<TypeId> = tentacles.iter().map(|&one| heap.node_type(one)).collect();
        let mut todo = vec![nonterminal];
        let mut seen: BTreeSet<Nonterminal> = todo.iter().copied().collect();
        let mut told = Vec::new();
        while let Some(one) = todo.pop() {
            for rule in self.grammar.rules_of(one) {
                let graph = &rule.graph;
                let inner = graph.hyperedges().map(|one| one.label.nonterminal);
                todo.extend(inner.filter(|&inner| seen.insert(inner)));
                for edge in graph.edges() {
                    let target = graph.node_type(edge.target);
                    if !stranger(target) || !stranger(graph.node_type(edge.origin)) {
                        continue;
                    }
                    let field = self.symbols.selector_name(edge.selector);
                    for &object in &attached {
                        let own = self.symbols.type_name(object).to_owned();
                        let wanted = self.field_types.get(&(own.clone(), field.to_owned()));
                        let wanted = wanted.filter(|wanted| {
                            let known = self.program.class_named(wanted);
                            known.is_some() && !self.interfaces.contains(*wanted)
                        });
                        let Some(wanted) = wanted else { continue };
                        let (what, meant) = (self.what(target), self.renaming(target, wanted));
                        let text = format!(
                            "`{}` has {what} where the field `{field}` of class `{own}` leads, which is of \
                             type `{wanted}`{meant}",
                            self.symbols.nonterminal_name(nonterminal)
                        );
                        if !told.contains(&text) {
                            told.push(text);
                        }
                    }
                }
            }
        }
        told
    }

    /// What may be missing if an object has a type that is no class of the program.
    fn renaming(&self, object: TypeId, wanted: &str) -> String {
        let name = self.symbols.type_name(object);
        if object.is_constant() || self.program.class_named(name).is_some() {
            return String::new();
        }
        let name = written(self.renames, name);
        format!("; did you mean --rename '{name}={wanted}'?")
    }

    /// Whether some rule has a number at a tentacle.
    fn takes_numbers(&self, nonterminal: Nonterminal, tentacle: usize) -> bool {
        let mut rules = self.grammar.rules_of(nonterminal);
        rules.any(|rule| is_number(rule.graph.node_type(rule.tentacles[tentacle])))
    }

    /// Whether objects of a type may have a field. What no class of the program is may have any.
    fn has_field(&self, object: TypeId, field: &str) -> bool {
        let class = self.program.class_named(self.symbols.type_name(object));
        class.is_none_or(|class| has_field(self.program, self.program.class(class), field))
    }

    /// The field that is meant, probably.
    fn near(&self, object: TypeId, field: &str) -> String {
        let class = self.program.class_named(self.symbols.type_name(object));
        class.map_or(String::new(), |class| {
            near(self.program, self.program.class(class), field)
        })
    }

    fn what(&self, object: TypeId) -> String {
        match object {
            TypeId::NULL => "null".to_owned(),
            _ if is_number(object) => "a number".to_owned(),
            _ => format!("an object of type `{}`", self.symbols.type_name(object)),
        }
    }
}

/// What of a grammar does not fit the classes of the program, as far as the initial heaps need the grammar:
/// types that are no classes, and fields that a class does not have. Nothing is wrong with that, but mostly a
/// `--rename` is missing.
pub(crate) fn misfits(
    program: &PointerProgram,
    symbols: &Symbols,
    grammar: &Grammar,
    initial: &[Heap],
    renames: &[Renaming],
) -> Vec<String> {
    // The nonterminals of the heaps, and what their rules have.
    let labels = |heap: &Heap| -> Vec<Nonterminal> {
        heap.hyperedges().map(|one| one.label.nonterminal).collect()
    };
    let mut todo: Vec<Nonterminal> = initial.iter().flat_map(labels).collect();
    let mut seen: BTreeSet<Nonterminal> = todo.iter().copied().collect();
    let mut rules: Vec<&Heap> = Vec::new();
    while let Some(nonterminal) = todo.pop() {
        for rule in grammar.rules_of(nonterminal) {
            rules.push(&rule.graph);
            todo.extend(
                labels(&rule.graph)
                    .into_iter()
                    .filter(|one| seen.insert(*one)),
            );
        }
    }
    let class = |object: TypeId| program.class_named(symbols.type_name(object));
    let names = || program.classes.iter().map(|class| class.name.as_str());
    let mut told = Vec::new();
    let mut tell = |text: String| {
        if !told.contains(&text) {
            told.push(text);
        }
    };
    // What is meant by a type of the grammar, most likely: the class of an object that has its tentacle.
    let at_tentacles = |wanted: TypeId| {
        initial.iter().find_map(|heap| {
            heap.hyperedges().find_map(|one| {
                let rule = grammar.rules_of(one.label.nonterminal).next()?;
                let mut pairs = rule.tentacles.iter().zip(one.tentacles);
                pairs.find_map(|(&inside, &outside)| {
                    let own = heap.node_type(outside);
                    let same = rule.graph.node_type(inside) == wanted;
                    (same && class(own).is_some()).then(|| symbols.type_name(own))
                })
            })
        })
    };
    for (graph, whose) in (rules.iter().map(|rule| (*rule, "the grammar")))
        .chain(initial.iter().map(|heap| (heap, "the initial heap")))
    {
        for node in graph.nodes() {
            let object = graph.node_type(node);
            if object.is_constant() || class(object).is_some() {
                continue;
            }
            let name = symbols.type_name(object);
            let meant = at_tentacles(object).or_else(|| nearest(name, names()));
            let meant = meant.map_or(String::new(), |meant| {
                format!(
                    "; did you mean --rename '{}={meant}'?",
                    written(renames, name)
                )
            });
            tell(format!(
                "{whose} has objects of a type `{name}`, which is no class of the program{meant}"
            ));
        }
    }
    for rule in &rules {
        for edge in rule.edges() {
            let object = rule.node_type(edge.origin);
            let Some(class) = class(object).map(|class| program.class(class)) else {
                continue;
            };
            let field = symbols.selector_name(edge.selector);
            if has_field(program, class, field) {
                continue;
            }
            let near = near(program, class, field);
            tell(format!(
                "the grammar gives objects of class `{}` a field `{field}`, which the class does not \
                 have{near}",
                class.name
            ));
        }
    }
    told
}

/// The field of a class that is meant by a name that none has.
fn near(program: &PointerProgram, class: &Class, field: &str) -> String {
    let used = class.fields.iter().map(|(one, _)| program.field(*one));
    let unused = class.unused.iter().map(|(one, _)| one.as_str());
    let known: Vec<&str> = used.chain(unused).collect();
    let only = known.first().copied().filter(|_| known.len() == 1);
    match nearest(field, known.iter().copied()).or(only) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    }
}

/// Whether a node of this type is a number or a truth value.
fn is_number(object: TypeId) -> bool {
    object.is_constant() && object != TypeId::NULL
}

/// Whether the objects of a class are known to have a field.
pub(crate) fn has_field(program: &PointerProgram, class: &Class, field: &str) -> bool {
    let used = |&(one, _): &(droste_pointer::FieldId, Kind)| program.field(one) == field;
    class.fields.iter().any(used) || class.unused.iter().any(|(one, _)| one == field)
}
