//! From a task to a machine: initial heaps with marks, a grammar refined for what formulas ask about,
//! the names of the program in heaps, and the atoms of formulas.
//!
//! This is phase 2 of ATTESTOR, as Chau's thesis tells it (section 2.1). Formulas with the same
//! [`Needs`] share what is prepared here.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use droste_base::{Countable, Limits, StopReason};
use droste_heap::{
    Balance, Grammar, Heap, Holes, Markings, Refinement, Selector, TypeId, Unmarked, Variable,
};
use droste_ltl::ResolvedFormula;
use droste_pointer::{ClassId, FieldId, Kind, Statement};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Task;
use crate::contract::Contracts;
use crate::execute::Names;
use crate::label::{Atom, By, Side};
use crate::machine::{Fault, Machine, Options};
use crate::method::{Method, guarded};
use crate::proposition::{Expression, Proposition};
use crate::steps::HIDDEN;

/// The marking that goes over all objects.
pub(crate) const VISITED: &str = "%visited";
/// The marking of an object whose neighbours are marked as well.
pub(crate) const NEIGHBOURHOOD: &str = "%neighbourhood";
/// The proposition of a null dereference, in every machine.
pub(crate) const NULL_DEREFERENCE: u32 = 0;
/// The proposition of a dereference of something unknown.
pub(crate) const UNKNOWN_MEMORY: u32 = 1;
/// The proposition of an object that cannot be reached any more.
pub(crate) const LEAK: u32 = 2;
/// More initial heaps than this are too many.
const MOST_INITIAL: usize = 100_000;
const TOO_MANY: StopReason = StopReason::TooMany(Countable::InitialHeaps, MOST_INITIAL as u64);

/// What is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marks {
    /// Every object in turn.
    visited: bool,
    /// Every object in turn, and what its fields point to.
    neighbourhood: bool,
}

/// What some formulas need to be prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    marks: Marks,
    /// Reachability by these selectors; all of them if there is no set.
    relations: BTreeSet<Option<BTreeSet<String>>>,
    /// Callees have to know the whole heap. Then their states are told apart by what is around them,
    /// and there are more of them, so other questions do without.
    contexts: bool,
    /// Variables stay until they get another value or their method is left, also if they are not used
    /// any more. Then less is abstracted, so other questions do without.
    leaks: bool,
    /// Indices are forgotten: a mark deep in a balanced tree keeps the way to it concrete, and with
    /// heights the grammar has no nonterminal for that.
    no_heights: bool,
}

impl Needs {
    /// What a formula needs with these options; `heights` are to be kept where that is possible.
    pub(crate) fn of(
        formula: &ResolvedFormula<Proposition>,
        options: &Options,
        heights: bool,
    ) -> Self {
        // In callees, too.
        let hierarchical = options.hierarchical;
        let mut needs = Needs {
            contexts: hierarchical && formula.atoms.iter().any(Proposition::is_about_heaps),
            ..Needs::default()
        };
        for proposition in &formula.atoms {
            match proposition {
                Proposition::Visited(_) => needs.marks.visited = true,
                Proposition::IdenticNeighbours => needs.marks.neighbourhood = true,
                Proposition::Reachable(_, _, selectors) => {
                    needs.relations.insert(selectors.clone());
                }
                _ => {}
            }
        }
        // What is said of a shape is said with its heights.
        let shapes = formula.atoms.iter().any(Proposition::is_about_shapes);
        let marks = needs.marks != Marks::default();
        needs.no_heights = options.abstraction.indexed && !shapes && (marks || !heights);
        needs
    }

    /// What the question needs whether objects are lost.
    pub(crate) fn of_leaks(options: &Options, heights: bool) -> Self {
        Needs {
            leaks: true,
            ..Needs::of_memory_safety(options, heights)
        }
    }

    /// What memory safety needs.
    pub(crate) fn of_memory_safety(options: &Options, heights: bool) -> Self {
        Needs {
            no_heights: options.abstraction.indexed && !heights,
            ..Needs::default()
        }
    }
}

/// Everything that a machine borrows.
pub(crate) struct Prepared {
    pub(crate) grammar: Grammar,
    /// If formulas are about reachability: the refined grammar, which is the one to be used.
    refinement: Option<Refinement>,
    /// With indices, if callees have to know the whole heap.
    holes: Option<Holes>,
    balance: Option<Balance>,
    pub(crate) initial: Vec<Heap>,
    /// If there are marks: a nonterminal with an object that none is put on.
    pub(crate) unreached: Option<String>,
    /// Whether no initial heap has an object that could be marked.
    pub(crate) has_no_object: bool,
    /// If heights are forgotten: the initial heaps with them, and without marks.
    originals: Option<Originals>,
    /// What the user says about methods, in the heaps of this machine.
    contracts: Contracts,
    names: Names,
    /// Whether it is a fault if an object is lost.
    leaks: bool,
    atoms: Vec<Atom>,
    /// For each formula of the group: the propositions of its atoms.
    pub(crate) propositions: Vec<Vec<droste_base::PropId>>,
}

/// What the initial heaps were before heights were forgotten and marks were put on objects.
struct Originals {
    heaps: Vec<Heap>,
    /// The fields to whose objects marks are put.
    watched: Vec<Selector>,
    marks: Marks,
}

impl Prepared {
    /// Whether heights are forgotten. Then there are runs that no balanced tree has.
    pub(crate) fn forgets_heights(&self) -> bool {
        self.originals.is_some()
    }
}

impl Task {
    /// Has somebody look at the machine of this task, prepared for some formulas that need the
    /// same, and at its initial heaps. `None` if it cannot be made.
    pub fn with_machine<T>(
        &mut self,
        formulas: &[ResolvedFormula<Proposition>],
        look: impl FnOnce(&Task, &Machine<'_>, &[Heap]) -> Option<T>,
    ) -> Option<T> {
        let formulas: Vec<&ResolvedFormula<Proposition>> = formulas.iter().collect();
        let needs = formulas.first();
        let needs = needs.map(|formula| Needs::of(formula, &self.options, true));
        let prepared = self
            .prepare(&needs.unwrap_or_default(), &formulas, &Limits::default())
            .ok()?;
        let machine = self.machine(&prepared).ok()?;
        look(self, &machine, &prepared.initial)
    }

    /// Some of the concrete heaps that a machine may start with, small ones first. The machine may have
    /// been prepared to start with more, if it has forgotten heights: those are no instances.
    pub(crate) fn true_instances(&self, prepared: &Prepared, limits: &Limits) -> Vec<Heap> {
        let Some(originals) = &prepared.originals else {
            return crate::concrete::instances(&prepared.grammar, &prepared.initial, limits);
        };
        let mut symbols = self.symbols.clone();
        let abstraction = self.options.abstraction.matching();
        let watched = &originals.watched;
        let markings = Markings::new(&self.grammar, &abstraction, watched, MOST_INITIAL);
        let mut heaps = crate::concrete::instances(&self.grammar, &originals.heaps, limits);
        heaps.iter_mut().for_each(Heap::forget_heights);
        // Where there is nothing to mark, no run begins.
        if originals.marks.visited {
            let mark = |heap: &Heap| markings.visited_concretely(&mut symbols, heap);
            heaps = heaps.iter().flat_map(mark).collect();
        }
        if originals.marks.neighbourhood {
            let mark = |heap: &Heap| markings.neighbourhood_concretely(&mut symbols, heap);
            heaps = heaps.iter().flat_map(mark).collect();
        }
        heaps
    }

    /// Prepares a machine for some formulas that need the same.
    pub(crate) fn prepare(
        &mut self,
        needs: &Needs,
        formulas: &[&ResolvedFormula<Proposition>],
        limits: &Limits,
    ) -> Result<Prepared, StopReason> {
        let mut names = self.heap_names();
        for formula in formulas {
            for name in formula.atoms.iter().flat_map(Proposition::variables) {
                let variable = self.symbols.add_variable(name);
                if !variable.is_constant() && !names.kept.contains(&variable) {
                    names.kept.push(variable);
                }
            }
        }
        if needs.leaks {
            let methods = self.program.methods.iter();
            let locals = methods.flat_map(|method| &method.locals);
            let held = locals.filter(|local| !local.is_intermediate());
            let held = held.filter_map(|local| self.symbols.variable(&local.name));
            names.kept.extend(held);
        }
        if !self.options.compat {
            self.note_unmodelled(&mut names, formulas);
        }
        let mut initial = self.initial.clone();
        if initial.is_empty() {
            initial.push(Heap::new());
        }
        // What stands for no heap is none. (So no rule would give its objects their fields.)
        let none = self.grammar.unproductive();
        let is_empty = |heap: &Heap| {
            let mut parts = heap.hyperedges();
            parts.any(|part| none.contains(&part.label.nonterminal))
        };
        if !self.options.compat {
            initial.retain(|heap| !is_empty(heap));
        }
        for heap in &mut initial {
            self.add_constants(heap);
            // What is too large may become smaller before anything is marked.
            if heap.node_count() > self.options.max_heap && !self.options.compat {
                let abstraction = self.options.abstraction.matching();
                self.grammar.abstract_heap(heap, &abstraction);
            }
        }
        let selectors = self.used_selectors(&initial);
        let abstraction = self.options.abstraction.matching();
        let symbols = &mut self.symbols;
        let no_heights = needs
            .no_heights
            .then(|| self.grammar.without_heights(symbols));
        let no_heights = no_heights.flatten();
        let originals = no_heights.is_some().then(|| Originals {
            heaps: initial.clone(),
            watched: selectors.clone(),
            marks: needs.marks,
        });
        let base = match &no_heights {
            Some(grammar) => {
                initial.iter_mut().for_each(Heap::forget_heights);
                grammar
            }
            None => &self.grammar,
        };
        let markings = Markings::new(base, &abstraction, &selectors, MOST_INITIAL);
        let markings = markings.largest(self.options.max_heap);
        let guard = RefCell::new(limits.guard());
        let why = RefCell::new(None);
        let stop = || match guard.borrow_mut().check_now() {
            Ok(()) => false,
            Err(reason) => {
                *why.borrow_mut() = Some(reason);
                true
            }
        };
        let markings = markings.stopping(&stop);
        let unmarked = |reason: Unmarked| match reason {
            Unmarked::Stopped => why.take().unwrap_or(StopReason::Cancelled),
            Unmarked::TooMany(most) => StopReason::TooMany(Countable::InitialHeaps, most as u64),
            Unmarked::TooLarge(most) => StopReason::TooMany(Countable::HeapNodes, most as u64),
            Unmarked::Endless => HIDDEN,
        };
        let marks = needs.marks != Marks::default();
        let unreached = initial.iter().find_map(|heap| base.unreached(heap));
        let unreached = unreached.filter(|_| marks);
        let unreached = unreached.map(|one| symbols.nonterminal_name(one).to_owned());
        let is_empty = initial.is_empty();
        if needs.marks.visited {
            initial = expanded(&initial, |heap| {
                markings.visited(symbols, heap).map_err(unmarked)
            })?;
        }
        if needs.marks.neighbourhood {
            initial = expanded(&initial, |heap| {
                markings.neighbourhood(symbols, heap).map_err(unmarked)
            })?;
        }
        let has_no_object = !is_empty && initial.is_empty();
        let relations: Vec<Option<BTreeSet<String>>> = needs.relations.iter().cloned().collect();
        let refinement = if relations.is_empty() {
            None
        } else {
            let sets: Vec<Option<Vec<Selector>>> = (relations.iter())
                .map(|names| {
                    let names = names.as_ref()?.iter();
                    Some(names.map(|name| symbols.add_selector(name)).collect())
                })
                .collect();
            let refined = Refinement::new(symbols, base, &sets).map_err(|_| TOO_MANY)?;
            initial = expanded(&initial, |heap| refined.expand(heap).map_err(|_| TOO_MANY))?;
            Some(refined)
        };
        let contracts = self.contracts.rewritten(|heap| {
            let mut heap = heap.clone();
            if originals.is_some() {
                heap.forget_heights();
            }
            match &refinement {
                Some(refined) => refined.expand(&heap).map_err(|_| TOO_MANY),
                None => Ok(vec![heap]),
            }
        })?;
        let grammar = match &refinement {
            Some(refinement) => refinement.grammar.clone(),
            None => base.clone(),
        };
        let mut neighbours: Vec<(Selector, Variable)> = Vec::new();
        for &selector in &selectors {
            let name = format!("{NEIGHBOURHOOD}-{}", self.symbols.selector_name(selector));
            neighbours.extend(
                self.symbols
                    .variable(&name)
                    .map(|marking| (selector, marking)),
            );
        }
        self.describe(&mut names, &grammar);
        let mut atoms = vec![
            Atom::Fault(Fault::NullDereference),
            Atom::Fault(Fault::UnknownMemory),
            Atom::Fault(Fault::Leak),
        ];
        let mut propositions = Vec::new();
        let mut known: BTreeMap<Proposition, u32> = BTreeMap::new();
        for formula in formulas {
            let mut own = Vec::new();
            for proposition in &formula.atoms {
                let next = atoms.len() as u32;
                let id = *known.entry(proposition.clone()).or_insert(next);
                if id == next {
                    let relation = |set: &Option<BTreeSet<String>>| {
                        relations.iter().position(|one| one == set).unwrap_or(0)
                    };
                    let refinement = refinement.as_ref();
                    atoms.push(self.atom(proposition, &relation, refinement, &neighbours));
                }
                own.push(droste_base::PropId(id));
            }
            propositions.push(own);
        }
        let indexed = self.options.abstraction.indexed && originals.is_none();
        // Which tentacles reach which is known of the nonterminals of the grammar alone.
        let holes = (needs.contexts && indexed && refinement.is_none())
            .then(|| Holes::new(&mut self.symbols, &grammar))
            .flatten();
        let balance = indexed
            .then(|| Balance::new(&mut self.symbols, &self.grammar))
            .flatten();
        Ok(Prepared {
            grammar,
            refinement,
            holes,
            balance,
            initial,
            unreached,
            has_no_object,
            originals,
            contracts,
            names,
            leaks: needs.leaks,
            atoms,
            propositions,
        })
    }

    /// The machine that was prepared.
    pub(crate) fn machine<'a>(&'a self, prepared: &'a Prepared) -> Result<Machine<'a>, StopReason> {
        self.machine_on(prepared, &self.options, &prepared.initial)
    }

    /// The same with other options and initial heaps.
    pub(crate) fn machine_on<'a>(
        &'a self,
        prepared: &'a Prepared,
        options: &'a Options,
        initial: &[Heap],
    ) -> Result<Machine<'a>, StopReason> {
        let guarded = guarded(&self.program);
        let methods = (self.program.methods.iter().zip(guarded))
            .map(|(method, is_guarded)| {
                let locals = (method.locals.iter())
                    .map(|local| self.symbols.variable(&local.name).unwrap_or(Variable::NULL))
                    .collect();
                Method::new(method, locals, &self.options.abstraction, is_guarded)
            })
            .collect();
        Machine::new(
            &self.program,
            &prepared.grammar,
            options,
            &prepared.names,
            &prepared.contracts,
            methods,
            prepared.refinement.as_ref(),
            prepared.holes.as_ref(),
            prepared.balance.as_ref(),
            prepared.atoms.clone(),
            prepared.leaks,
            initial,
        )
    }

    /// How the things of the program are called in heaps.
    fn heap_names(&mut self) -> Names {
        let symbols = &mut self.symbols;
        let program = &self.program;
        let selectors: Vec<Selector> = (program.fields.iter())
            .map(|field| symbols.add_selector(field))
            .collect();
        let types: Vec<TypeId> = (program.classes.iter())
            .map(|class| symbols.add_type(&class.name))
            .collect();
        let classes = (types.iter().zip(0..))
            .map(|(&id, class)| (id, ClassId(class)))
            .collect();
        for method in &program.methods {
            for local in &method.locals {
                symbols.add_variable(&local.name);
            }
        }
        let most = (program.methods.iter().map(|method| method.parameters.len())).max();
        let parameters = (0..most.unwrap_or(0))
            .map(|number| symbols.add_variable(&format!("@parameter{number}:")))
            .collect();
        let [this, result, thrown] =
            ["@this:", "@return", "@thrown"].map(|name| symbols.add_variable(name));
        // Numbers are followed where no rule of the grammar stands in the way: an object with one
        // selector more than a rule says would never be abstracted.
        let mut described: FxHashSet<TypeId> = FxHashSet::default();
        let mut mentioned: FxHashSet<(TypeId, Selector)> = FxHashSet::default();
        let graphs = self.grammar.rules().iter().map(|rule| &rule.graph);
        for graph in graphs.chain(&self.initial) {
            described.extend(graph.nodes().map(|node| graph.node_type(node)));
            let edges = graph.edges();
            mentioned.extend(edges.map(|edge| (graph.node_type(edge.origin), edge.selector)));
        }
        let fields = (program.classes.iter().zip(&types))
            .map(|(class, id)| {
                let follows = |&&(field, kind): &&(FieldId, Kind)| {
                    kind == Kind::Reference
                        || !described.contains(id)
                        || mentioned.contains(&(*id, selectors[field.index()]))
                };
                class.fields.iter().filter(follows).copied().collect()
            })
            .collect();
        Names {
            types,
            classes,
            selectors,
            fields,
            this,
            parameters,
            result,
            thrown,
            kept: Vec::new(),
            notes: FxHashMap::default(),
            noted: FxHashMap::default(),
            references: FxHashMap::default(),
            described: FxHashSet::default(),
            unruled: FxHashSet::default(),
            blind: Vec::new(),
            stored: Vec::new(),
        }
    }

    /// The variables of which it is noted if their values are not modelled: those that formulas name,
    /// or all.
    fn note_unmodelled(&mut self, names: &mut Names, formulas: &[&ResolvedFormula<Proposition>]) {
        let atoms = || formulas.iter().flat_map(|formula| &formula.atoms);
        let mut wanted: BTreeSet<String> = atoms()
            .flat_map(Proposition::variables)
            .map(str::to_owned)
            .collect();
        if atoms().any(|atom| *atom == Proposition::Visited(None)) {
            let locals = self.program.methods.iter().flat_map(|one| &one.locals);
            let references = locals.filter(|local| local.kind == Kind::Reference);
            wanted.extend(references.map(|local| local.name.clone()));
        }
        for name in wanted {
            let variable = self.symbols.add_variable(&name);
            if !variable.is_constant() {
                // No variable of Java is called that.
                let note = self.symbols.add_variable(&format!("{name}?"));
                names.notes.insert(variable, note);
                names.noted.insert(note, variable);
            }
        }
    }

    /// Which fields objects have, so that it is known which of them are not modelled.
    fn describe(&self, names: &mut Names, grammar: &Grammar) {
        for (class, &object) in self.program.classes.iter().zip(&names.types) {
            let references = class.fields.iter();
            let references = references.filter(|(_, kind)| *kind == Kind::Reference);
            let references = references.map(|(field, _)| names.selectors[field.index()]);
            names.references.insert(object, references.collect());
        }
        for graph in grammar.rules().iter().map(|rule| &rule.graph) {
            for node in graph.nodes() {
                let object = graph.node_type(node);
                let given = graph.edges_of(node).map(|edge| (object, edge.selector));
                names.described.extend(given);
                if graph.externals().contains(&node) {
                    continue;
                }
                let missing: Vec<Selector> = (names.references_of(object).iter().copied())
                    .filter(|&one| graph.target(node, one).is_none())
                    .filter(|&one| !grammar.hides(graph, node, one))
                    .collect();
                names.blind.extend(missing);
            }
        }
        let ruled = super::ruled(grammar);
        let unruled = names.types.iter().copied();
        names.unruled = unruled
            .filter(|&one| self.ruled_above(&ruled, one).is_some())
            .collect();
        names.blind.sort_unstable();
        names.blind.dedup();
        let statements = self.program.methods.iter().flat_map(|method| &method.code);
        names.stored = (statements)
            .filter_map(|statement| match statement {
                Statement::Store { field, .. } => Some(names.selectors[field.index()]),
                _ => None,
            })
            .collect();
    }

    /// The selectors of the program and of the initial heaps.
    fn used_selectors(&self, initial: &[Heap]) -> Vec<Selector> {
        let reference = |field: &str| {
            let id = self.program.field_named(field);
            let kinds = (self.program.classes.iter())
                .filter_map(|class| class.field(id?))
                .collect::<Vec<Kind>>();
            kinds.is_empty() || kinds.contains(&Kind::Reference)
        };
        let mut used: Vec<Selector> = (self.program.fields.iter())
            .filter(|field| reference(field))
            .filter_map(|field| self.symbols.selector(field))
            .collect();
        for heap in initial {
            used.extend(heap.edges().map(|edge| edge.selector));
        }
        used.sort_unstable();
        used.dedup();
        used
    }

    fn atom(
        &self,
        proposition: &Proposition,
        relation: &impl Fn(&Option<BTreeSet<String>>) -> usize,
        refinement: Option<&Refinement>,
        neighbours: &[(Selector, Variable)],
    ) -> Atom {
        let variable = |name: &str| self.symbols.variable(name);
        let marking = |name: &str| variable(name).unwrap_or(Variable::NULL);
        let side = |expression: &Expression| Side {
            variable: variable(&expression.variable),
            field: (expression.field.as_ref()).and_then(|field| self.symbols.selector(field)),
        };
        let nonterminals = |name: &str| match (self.symbols.nonterminal(name), refinement) {
            (Some(nonterminal), Some(refinement)) => {
                refinement.variants(nonterminal).into_iter().collect()
            }
            (nonterminal, _) => nonterminal.into_iter().collect(),
        };
        match proposition {
            Proposition::Terminated => Atom::Terminated,
            Proposition::Visited(by) => Atom::Visited {
                marking: marking(VISITED),
                by: match by {
                    Some(name) => By::One(variable(name)),
                    None => By::Any,
                },
            },
            Proposition::IdenticNeighbours => Atom::IdenticNeighbours {
                centre: marking(NEIGHBOURHOOD),
                neighbours: neighbours.to_vec(),
            },
            Proposition::Reachable(from, to, set) => Atom::Reachable {
                from: variable(from),
                to: variable(to),
                relation: relation(set),
                by: set.as_ref().map(|names| {
                    let names = names.iter();
                    names
                        .filter_map(|name| self.symbols.selector(name))
                        .collect()
                }),
            },
            Proposition::Compare(left, right, equal) => {
                Atom::Compare(side(left), side(right), *equal)
            }
            Proposition::Language(name) => Atom::Language(nonterminals(name)),
            Proposition::Shape(shape) => match shape.nonterminal() {
                Some(name) => Atom::ListOrTree(nonterminals(name)),
                None => Atom::Shape(*shape),
            },
            Proposition::In(name) => Atom::In(
                (self.program.methods.iter())
                    .map(|method| method.name == *name)
                    .collect(),
            ),
            Proposition::Line(file, line) => Atom::Line(self.methods_with(file.as_ref()), *line),
        }
    }
}

/// The heaps that each of the initial ones becomes, without repetition.
fn expanded(
    initial: &[Heap],
    mut expand: impl FnMut(&Heap) -> Result<Vec<Heap>, StopReason>,
) -> Result<Vec<Heap>, StopReason> {
    let mut seen = FxHashSet::default();
    let mut all = Vec::new();
    for heap in initial {
        let heaps = expand(heap)?;
        all.extend(heaps.into_iter().filter(|heap| seen.insert(heap.code())));
    }
    Ok(all)
}
