//! A verification task. How it becomes a machine is in `prepare.rs`.
//!
//! Formulas that need the same preparation share a machine: the same markings on the initial heaps,
//! the same refinement of the grammar. So `G true` is not made slow by a formula about neighbours.

use std::collections::BTreeSet;

use droste_heap::{Grammar, Heap, MethodContracts, Selector, Symbols, TypeId, Variable};
use droste_ltl::ResolvedFormula;
use droste_pointer::{FieldId, Kind, MethodId, Operand, PointerProgram, Statement, Value};
use rustc_hash::FxHashSet;

use crate::contract::Contracts;
use crate::machine::Options;
use crate::proposition::{self, Proposition};

mod prepare;

pub(crate) use prepare::{LEAK, NULL_DEREFERENCE, Needs, Prepared, UNKNOWN_MEMORY};

/// What is to be checked.
#[derive(Clone)]
pub struct Task {
    /// The program.
    pub program: PointerProgram,
    /// The names in grammar and heaps.
    pub symbols: Symbols,
    /// What heaps may look like.
    pub grammar: Grammar,
    /// The heaps in which the program may start; none stands for the empty one.
    pub initial: Vec<Heap>,
    /// How the program is run.
    pub options: Options,
    /// What the user says about methods.
    pub contracts: Contracts,
}

impl Task {
    /// The names that formulas may use.
    pub fn names(&self) -> proposition::Names {
        let mut names = proposition::Names::default();
        for method in &self.program.methods {
            names.methods.insert(method.name.clone());
            let locals = method.locals.iter().map(|local| local.name.clone());
            names.variables.extend(locals);
            let (file, class) = self.whereabouts(method);
            // What gives the receiver and the parameters their values is no statement of the source.
            let statements = method.lines.iter().skip(method.first_statement());
            for &line in statements.filter(|&&line| line > 0) {
                names.lines.insert((file.into(), class.into(), line));
            }
            for &line in &method.passed_by {
                names.passed_by.insert((file.into(), class.into(), line));
            }
        }
        for heap in &self.initial {
            for &(variable, _) in heap.variables() {
                let name = self.symbols.variable_name(variable);
                names.variables.insert(name.to_owned());
            }
        }
        let constants = ["null", "true", "false", "0", "1", "-1"];
        names.variables.extend(constants.map(str::to_owned));
        names.selectors.extend(self.program.fields.iter().cloned());
        let unused = self.program.classes.iter().flat_map(|class| &class.unused);
        names.selectors.extend(unused.map(|(name, _)| name.clone()));
        for selector in self.symbols.selectors() {
            let name = self.symbols.selector_name(selector);
            names.selectors.insert(name.to_owned());
        }
        for nonterminal in self.symbols.nonterminals() {
            let name = self.symbols.nonterminal_name(nonterminal);
            names.nonterminals.insert(name.to_owned());
        }
        names
    }

    /// What a variable is called in the source of a method: `head` for `@parameter0:`.
    pub fn source_name(&self, method: MethodId, name: &str) -> String {
        let entry = self.program.method(method);
        let given = entry.code.iter().find_map(|statement| match statement {
            Statement::Assign {
                to,
                value: Value::Parameter(number),
            } if name == format!("@parameter{number}:") => Some(entry.local(*to)),
            _ => None,
        });
        match (given, name) {
            (Some(given), _) => given.to_owned(),
            (None, "@this:") => "this".into(),
            (None, "@return") => "return".into(),
            (None, "@thrown") => "exception".into(),
            (None, name) => name.to_owned(),
        }
    }

    /// The parameters of the method that no initial heap has, by their names in the source, and
    /// the receiver: nothing is known of them. Arrays are in no heap.
    pub fn not_given(&self) -> Vec<String> {
        let entry = self.program.method(self.program.entry);
        let types = entry.signature.split(['(', ')']).nth(1).unwrap_or_default();
        let types: Vec<&str> = types.split(',').collect();
        let is_array = |number: u32| {
            let kind = types.get(number as usize);
            kind.is_some_and(|kind| kind.ends_with("[]"))
        };
        let wanted = (entry.code.iter()).filter_map(|statement| match statement {
            Statement::Assign {
                to,
                value: Value::Parameter(number),
            } if entry.locals[to.index()].kind == Kind::Reference && !is_array(*number) => {
                Some(format!("@parameter{number}:"))
            }
            Statement::Assign {
                value: Value::This, ..
            } => Some("@this:".to_owned()),
            _ => None,
        });
        let given = |name: &String| {
            let variable = self.symbols.variable(name);
            let has = |heap: &Heap| variable.is_some_and(|one| heap.variable(one).is_some());
            !self.initial.is_empty() && self.initial.iter().all(has)
        };
        wanted.filter(|name| !given(name)).collect()
    }

    /// The source file of a method, and its class.
    fn whereabouts(&self, method: &droste_pointer::Method) -> (&str, &str) {
        let file = self.program.files.get(method.file as usize);
        let class = &self.program.class(method.class).name;
        (file.map_or("", String::as_str), class)
    }

    /// For each method, whether this may be one of its lines.
    fn methods_with(&self, file: Option<&String>) -> Vec<bool> {
        let here = |method: &droste_pointer::Method| {
            let (own, class) = self.whereabouts(method);
            file.is_none_or(|file| proposition::is_file(own, class, file))
        };
        self.program.methods.iter().map(here).collect()
    }

    /// Makes the program smaller. What the formulas name stays: variables, and methods with lines
    /// that a formula names, for a statement that is not needed is executed all the same. If it is
    /// asked whether objects are lost, all variables stay, and so does what is given away.
    pub fn simplify(&mut self, formulas: &[ResolvedFormula<Proposition>]) {
        let atoms = || formulas.iter().flat_map(|formula| &formula.atoms);
        // What a formula asks for objects have, even if no statement does.
        let asked: BTreeSet<&str> = atoms().flat_map(Proposition::fields).collect();
        for class in 0..self.program.classes.len() {
            self.adopt(class, |name| asked.contains(name));
        }
        let mut keep: BTreeSet<String> = atoms()
            .flat_map(Proposition::variables)
            .map(str::to_owned)
            .collect();
        for method in &mut self.program.methods {
            if self.options.leaks {
                // A second assignment to a variable ends what the first one held.
                droste_pointer::merge_names(method);
                let held = method
                    .locals
                    .iter()
                    .filter(|local| !local.is_intermediate());
                keep.extend(held.map(|local| local.plain_name().to_owned()));
            } else {
                self.options.hands |= droste_pointer::remove_idle_hands(method);
            }
        }
        let mut stays = vec![false; self.program.methods.len()];
        for atom in atoms() {
            if let Proposition::Line(file, line) = atom {
                let here = self.methods_with(file.as_ref());
                for (at, method) in self.program.methods.iter().enumerate() {
                    stays[at] |= here[at] && method.lines.contains(line);
                }
            }
        }
        for (method, stays) in self.program.methods.iter_mut().zip(stays) {
            if !stays {
                droste_pointer::simplify_method(method, &keep);
            }
        }
    }

    /// Fields that no statement uses, but of which the grammar or an initial heap speaks, are fields
    /// of the program: new objects have them, and formulas may ask for them. Who speaks of the field of
    /// one class speaks of the class that declares it, and of all that inherit it.
    pub fn adopt_fields(&mut self) {
        let mut mentioned: FxHashSet<(TypeId, Selector)> = FxHashSet::default();
        let graphs = self.grammar.rules().iter().map(|rule| &rule.graph);
        for graph in graphs.chain(&self.initial) {
            let edges = graph.edges();
            mentioned.extend(edges.map(|edge| (graph.node_type(edge.origin), edge.selector)));
        }
        let classes = &self.program.classes;
        let types: Vec<TypeId> = (classes.iter())
            .map(|class| self.symbols.add_type(&class.name))
            .collect();
        let unused = |at: usize, name: &str| classes[at].unused.iter().any(|one| one.0 == name);
        // The class furthest up that has a field; the front end has checked parents for cycles.
        let declaring = |mut at: usize, name: &str| {
            for _ in 0..classes.len() {
                match classes[at].parent {
                    Some(parent) if unused(parent.index(), name) => at = parent.index(),
                    _ => break,
                }
            }
            at
        };
        let mut declared: FxHashSet<(usize, &str)> = FxHashSet::default();
        for (at, class) in classes.iter().enumerate() {
            for (name, kind) in &class.unused {
                let selector = self.symbols.selector(name);
                if *kind == Kind::Reference
                    && selector.is_some_and(|one| mentioned.contains(&(types[at], one)))
                {
                    declared.insert((declaring(at, name), name.as_str()));
                }
            }
        }
        let declared = |at: usize, name: &str| declared.contains(&(declaring(at, name), name));
        let adopted: Vec<Vec<String>> = (classes.iter().enumerate())
            .map(|(at, class)| {
                let own = class.unused.iter().map(|(name, _)| name);
                own.filter(|name| declared(at, name)).cloned().collect()
            })
            .collect();
        for (at, names) in adopted.into_iter().enumerate() {
            self.adopt(at, |name| names.iter().any(|one| one == name));
        }
    }

    /// Fields of a class that no statement uses become fields of the program.
    fn adopt(&mut self, class: usize, wanted: impl Fn(&str) -> bool) {
        let fields = &mut self.program.fields;
        let class = &mut self.program.classes[class];
        for (name, kind) in class.unused.extract_if(.., |(name, _)| wanted(name)) {
            let known = fields.iter().position(|field| *field == name);
            let index = known.unwrap_or_else(|| {
                fields.push(name);
                fields.len() - 1
            });
            class.fields.push((FieldId(index as u32), kind));
        }
        class.fields.sort_unstable();
        class.fields.dedup_by_key(|&mut (field, _)| field);
    }

    /// The class of which the grammar has objects, if this is another one that extends it: rules match
    /// classes exactly, so an object of this one fits none.
    pub fn fits_no_rule(&self, object: TypeId) -> Option<&str> {
        self.ruled_above(&ruled(&self.grammar), object)
    }

    /// The same, if the grammar has objects of these types.
    fn ruled_above(&self, ruled: &FxHashSet<TypeId>, object: TypeId) -> Option<&str> {
        let has = |name: &str| {
            let object = self.symbols.type_id(name);
            object.is_some_and(|one| ruled.contains(&one))
        };
        let class = self.program.class_named(self.symbols.type_name(object))?;
        let mut all = self.program.ancestors_of(self.program.class(class));
        let own = all.next()?;
        let mut above = all.map(|one| one.name.as_str());
        above.find(|name| has(name)).filter(|_| !has(&own.name))
    }

    /// Takes contracts as they were read.
    pub fn set_contracts(&mut self, list: Vec<MethodContracts>) {
        let complete = |heap: &mut Heap| self.add_constants(heap);
        let reduce = |heap: &mut Heap| self.reduce(heap);
        self.contracts = Contracts::new(list, complete, reduce);
    }

    /// Makes a heap what it is at the end of a method.
    pub(crate) fn reduce(&self, heap: &mut Heap) {
        let abstraction = &self.options.abstraction;
        if abstraction.garbage_collection {
            self.grammar.collect_garbage(heap);
        }
        self.grammar.abstract_heap(heap, &abstraction.at_the_end());
    }

    /// Adds the constants that a heap lacks.
    fn add_constants(&self, heap: &mut Heap) {
        if heap.variable(Variable::NULL).is_none() {
            let node = heap.add_node(TypeId::NULL);
            heap.set_variable(Variable::NULL, node);
        }
        for (number, word) in [
            (Variable::ZERO, Variable::FALSE),
            (Variable::ONE, Variable::TRUE),
        ] {
            let node = heap.variable(number).or_else(|| heap.variable(word));
            if node.is_none() && !self.uses_numbers() {
                continue;
            }
            let node = node.unwrap_or_else(|| heap.add_node(TypeId::INT));
            heap.set_variable(number, node);
            heap.set_variable(word, node);
        }
        let minus_one = |operand: &Operand| *operand == Operand::Int(-1);
        let mut code = self.program.methods.iter().flat_map(|method| &method.code);
        if heap.variable(Variable::MINUS_ONE).is_none()
            && code.any(|statement| mentions(statement, minus_one))
        {
            let node = heap.add_node(TypeId::INT);
            heap.set_variable(Variable::MINUS_ONE, node);
        }
    }

    /// Whether the program has numbers or truth values at all.
    fn uses_numbers(&self) -> bool {
        let number = |kind: Kind| kind != Kind::Reference;
        self.program.methods.iter().any(|method| {
            method.locals.iter().any(|local| number(local.kind))
                || method.returns.is_some_and(number)
                || method.code.iter().any(mentions_numbers)
        }) || (self.program.classes.iter())
            .any(|class| class.fields.iter().any(|&(_, kind)| number(kind)))
    }
}

/// The types of objects in the rules of a grammar.
fn ruled(grammar: &Grammar) -> FxHashSet<TypeId> {
    let graphs = grammar.rules().iter().map(|rule| &rule.graph);
    graphs
        .flat_map(|graph| graph.nodes().map(|node| graph.node_type(node)))
        .collect()
}

/// Whether a statement has a number in it.
fn mentions_numbers(statement: &Statement) -> bool {
    mentions(statement, |operand| matches!(operand, Operand::Int(_)))
}

/// Whether a statement reads an operand of this kind.
fn mentions(statement: &Statement, number: impl Fn(&Operand) -> bool) -> bool {
    match statement {
        Statement::Assign {
            value: Value::Operand(operand),
            ..
        }
        | Statement::Store { value: operand, .. }
        | Statement::Return(Some(operand)) => number(operand),
        Statement::Call { arguments, .. } => arguments.iter().any(&number),
        Statement::Branch { condition, .. } => number(&condition.left) || number(&condition.right),
        _ => false,
    }
}
