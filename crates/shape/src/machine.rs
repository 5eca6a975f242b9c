//! A pointer program over abstract heaps, as a recursive state machine.
//!
//! A state is a place in a method and an abstract heap, in canonical form. A call cuts the part of
//! the heap that the callee can reach out of the caller's: that is the callee's entry state. When
//! the callee returns, what it made of this part is glued back. So the state spaces of a method are
//! shared by all its callers, and an entry with its exits is a contract (the procedure contracts of Jansen
//! and Noll).
//!
//! Materialisation happens within a step and is no position of a run. Successors are generated when
//! they are asked for, once, and kept: formulas that are checked one after the other share them.
//!
//! **Contexts.** Some propositions are about the whole heap, also while a callee sees only a part.
//! Then a state has a context: what is outside of its part, abstracted, with no variables but those that a
//! formula names. The context belongs to the entry state, so that a callee is explored once for each
//! context.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use droste_base::{CallId, Countable, Guard, Interner, Limits, PropId, Step, StopReason};
use droste_heap::{
    Balance, Code, Frame, Grammar, Heap, Holes, Node, Refinement, Selector, Variable,
};
use droste_pointer::{MethodId, Pc, PointerProgram};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::Unknown;
use crate::context::completed;
use crate::contract::Contracts;
use crate::execute::Names;
use crate::label::{Atom, Cause, Side};
use crate::method::Method;
use crate::settings::Abstraction;
use crate::sizes::Sizes;

/// A state: a number in the tables of its [`Machine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State(pub u32);

/// What went wrong in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// A field of null is read or written, or a method of null is called.
    NullDereference,
    /// The same of a value that is not modelled: nobody knows.
    UnknownMemory,
    /// An object cannot be reached any more.
    Leak,
    /// An exception leaves the method here. Somebody may catch it.
    Thrown,
}

/// What a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The method.
    pub method: MethodId,
    /// The statement that comes next. Behind the last one is the end of the method, and behind
    /// that the end of the program.
    pub pc: Pc,
    /// Which heap.
    pub heap: u32,
    /// Which context, 0 if there is none.
    pub context: u32,
    /// What goes wrong here.
    pub fault: Option<Fault>,
}

/// A heap that is larger than allowed, and where it came up.
#[derive(Clone, Debug)]
pub struct Largest {
    /// The method.
    pub method: MethodId,
    /// The statement before which it is.
    pub pc: Pc,
    /// The heap.
    pub heap: Heap,
}

/// How a program is run, and how far.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Options {
    /// How heaps are abstracted.
    pub abstraction: Abstraction,
    /// Null dereferences go unnoticed, and undefined values change nothing: as in ATTESTOR.
    pub compat: bool,
    /// Formulas are about the states of called methods, too.
    pub hierarchical: bool,
    /// It is asked whether objects are lost.
    pub leaks: bool,
    /// Objects are given to code that is not at hand, which may run quiet methods that use them.
    pub hands: bool,
    /// Nothing is abstracted.
    pub concrete: bool,
    /// The most nodes of a heap.
    pub max_heap: usize,
    /// The most states, of all state spaces together.
    pub max_states: usize,
    /// The most states of one state space: of a method, for one heap in which it is entered.
    pub max_state_space: usize,
}

/// A call that is under way.
pub(crate) struct Pending {
    pub(crate) frame: Frame,
}

/// A method, and the heap and the context with which it is entered.
pub(crate) type Entry = (MethodId, u32, u32);

/// What is known of the propositions of a state, a bit for each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Labels {
    /// They have been looked at.
    pub(crate) known: u64,
    /// They hold.
    pub(crate) hold: u64,
    /// They may hold or not.
    pub(crate) open: u64,
}

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) heaps: Interner<Code>,
    pub(crate) contexts: Interner<Code>,
    pub(crate) places: Interner<Place>,
    /// The steps of each state, if they are known.
    pub(crate) steps: Vec<Option<Rc<[Step<State>]>>>,
    /// What is known of the propositions of each state.
    pub(crate) labels: Vec<Labels>,
    pub(crate) pending: FxHashMap<State, Rc<Pending>>,
    /// The heaps with which methods have been entered, each with its context: the states in which
    /// the method begins.
    pub(crate) entered: FxHashMap<Entry, Rc<[State]>>,
    /// How large state spaces are.
    pub(crate) sizes: Sizes,
    pub(crate) resumed: FxHashMap<(State, State), Rc<[State]>>,
    /// The places, with contexts, at which there is a heap that nothing makes more abstract.
    pub(crate) utmost: FxHashSet<(MethodId, Pc, u32)>,
    /// Whether there is a state with unknown memory.
    unknown_memory: bool,
    /// Where code that is not at hand may run methods of the program that are not followed.
    lost: Option<String>,
    /// Where something unknown is taken not to be null.
    assumed: BTreeSet<(MethodId, Pc)>,
    /// Whether a proposition was about a field that is hidden.
    hidden_field: bool,
    /// Whether a proposition was about a value that is not modelled.
    pub(crate) open: bool,
    /// Why successors are missing.
    pub(crate) stopped: Option<StopReason>,
    /// The largest heap that was refused.
    largest: Option<Largest>,
}

/// A pointer program, a grammar and initial heaps: a [`Model`](droste_base::Model).
pub struct Machine<'a> {
    pub(crate) program: &'a PointerProgram,
    pub(crate) grammar: &'a Grammar,
    pub(crate) options: &'a Options,
    pub(crate) names: &'a Names,
    pub(crate) contracts: &'a Contracts,
    pub(crate) methods: Vec<Method>,
    pub(crate) refinement: Option<&'a Refinement>,
    /// With indices: structures with a hole, for contexts.
    pub(crate) holes: Option<&'a Holes>,
    /// With indices: how heights of trees are written down.
    pub(crate) balance: Option<&'a Balance>,
    pub(crate) atoms: Vec<Atom>,
    /// The fields that propositions compare, each of a variable.
    pub(crate) compared: Vec<(Variable, Selector)>,
    /// Whether a proposition is about the whole heap, and callees have to know it.
    pub(crate) with_contexts: bool,
    /// Whether it is a fault if an object is lost.
    pub(crate) leaks: bool,
    pub(crate) initial: Vec<State>,
    pub(crate) tables: RefCell<Tables>,
    /// A step takes as long as a thousand steps of other models, so the clock is looked at in each.
    pub(crate) guard: RefCell<Guard>,
}

/// With this bit, a proposition is meant to hold if it may hold. Without, if it certainly holds.
pub(crate) const MAY: u32 = 1 << 31;

/// No context.
pub(crate) const NOTHING: u32 = u32::MAX;

impl<'a> Machine<'a> {
    /// The machine of a program that starts in one of these heaps. The propositions are `atoms`.
    #[allow(clippy::too_many_arguments, reason = "each is a part of the machine")]
    pub(crate) fn new(
        program: &'a PointerProgram,
        grammar: &'a Grammar,
        options: &'a Options,
        names: &'a Names,
        contracts: &'a Contracts,
        methods: Vec<Method>,
        refinement: Option<&'a Refinement>,
        holes: Option<&'a Holes>,
        balance: Option<&'a Balance>,
        atoms: Vec<Atom>,
        leaks: bool,
        initial: &[Heap],
    ) -> Result<Self, StopReason> {
        let with_contexts = options.hierarchical && atoms.iter().any(Atom::is_about_heaps);
        let compared = atoms.iter().flat_map(Atom::compared_fields).collect();
        let mut machine = Machine {
            compared,
            program,
            grammar,
            options,
            names,
            contracts,
            methods,
            refinement,
            holes,
            balance,
            atoms,
            with_contexts,
            leaks,
            initial: Vec::new(),
            tables: RefCell::default(),
            guard: RefCell::new(Limits::default().guard()),
        };
        machine.tables.get_mut().sizes = Sizes::new(options.max_state_space);
        for heap in initial {
            for &state in &*machine.begin(program.entry, heap, NOTHING)? {
                if !machine.initial.contains(&state) {
                    machine.initial.push(state);
                }
            }
        }
        // All initial heaps together have one state space.
        machine.begin_space(&machine.initial)?;
        Ok(machine)
    }

    /// The same machine, which gives up when a limit is reached.
    #[must_use]
    pub(crate) fn within(mut self, limits: &Limits) -> Self {
        *self.guard.get_mut() = limits.guard();
        self
    }

    /// The states in which a method begins if it is entered with this heap.
    pub(crate) fn entry(&self, method: MethodId, heap: &Heap) -> Result<Rc<[State]>, StopReason> {
        let entry = self.begin(method, heap, NOTHING)?;
        for &one in &*entry {
            self.begin_space(&[one])?;
        }
        Ok(entry)
    }

    /// The heaps with which a method may have been entered that begins in this state, each with all the
    /// states in which it begins.
    pub(crate) fn given(&self, state: State) -> Vec<(Heap, Rc<[State]>)> {
        let tables = self.tables.borrow();
        let all = tables.entered.iter();
        let own = all.filter(|(_, states)| states.contains(&state));
        let mut own: Vec<(u32, &Rc<[State]>)> = own.map(|(entry, all)| (entry.1, all)).collect();
        own.sort_unstable_by_key(|pair| pair.0);
        let heap = |id: u32| Heap::from_code(tables.heaps.get(id));
        let own = own.into_iter();
        own.map(|(id, states)| (heap(id), Rc::clone(states)))
            .collect()
    }

    /// A method is entered in one of these states.
    pub(crate) fn begin_space(&self, entries: &[State]) -> Result<(), StopReason> {
        let Tables { places, sizes, .. } = &mut *self.tables.borrow_mut();
        sizes.begin(entries, |state| self.is_counted(places.get(state.0)))
    }

    /// A state is followed by others in its method.
    pub(crate) fn count_steps(
        &self,
        from: State,
        to: impl Iterator<Item = State>,
    ) -> Result<(), StopReason> {
        let Tables { places, sizes, .. } = &mut *self.tables.borrow_mut();
        sizes.step(from, to, |state| self.is_counted(places.get(state.0)))
    }

    /// What a state is.
    pub fn place(&self, state: State) -> Place {
        *self.tables.borrow().places.get(state.0)
    }

    /// The heap of a state.
    pub fn heap(&self, state: State) -> Heap {
        self.names.shown(self.stored_heap(state))
    }

    /// The same, with what is noted of variables whose values are not modelled.
    pub(crate) fn stored_heap(&self, state: State) -> Heap {
        let tables = self.tables.borrow();
        Heap::from_code(tables.heaps.get(tables.places.get(state.0).heap))
    }

    /// The grammar of its heaps: that of the task, or what was made of it for the formulas.
    pub fn grammar(&self) -> &'a Grammar {
        self.grammar
    }

    /// Some of the concrete heaps that a heap of this machine stands for, small ones first.
    pub fn instances(&self, heap: &Heap) -> Vec<Heap> {
        let heaps = std::slice::from_ref(heap);
        crate::concrete::instances(self.grammar, heaps, &Limits::default())
    }

    /// The heap of a state together with what its method does not see of it.
    pub fn whole_heap(&self, state: State) -> Heap {
        let place = self.place(state);
        let mut heap = self.stored_heap(state);
        if place.context != NOTHING {
            let context = Heap::from_code(self.tables.borrow().contexts.get(place.context));
            heap = completed(&context, &heap, self.names);
        }
        heap.forget_indices();
        heap
    }

    /// How many states have been generated. The end of the program and faults are not counted.
    pub fn generated(&self) -> u64 {
        let states = (0..self.tables.borrow().places.len() as u32).map(State);
        states.filter(|&state| self.counts(state)).count() as u64
    }

    /// Whether a state is neither the end of the program nor a fault.
    pub(crate) fn counts(&self, state: State) -> bool {
        self.is_counted(&self.place(state))
    }

    fn is_counted(&self, place: &Place) -> bool {
        place.pc <= self.end_of(place.method) && place.fault.is_none()
    }

    /// How many states the outermost method has of those that have been generated, and in how many
    /// of them it ends.
    pub fn outermost(&self) -> (u64, u64) {
        let tables = self.tables.borrow();
        let (mut all, mut last) = (0, 0);
        for place in (0..tables.places.len() as u32).map(|state| tables.places.get(state)) {
            // What a callee sees has external nodes: the constants, at least.
            let outermost =
                place.method == self.program.entry && tables.heaps.get(place.heap).externals() == 0;
            let end = self.end_of(place.method);
            if outermost && place.fault.is_none() && place.pc <= end {
                all += 1;
                last += u64::from(place.pc == end);
            }
        }
        (all, last)
    }

    /// The calls of methods of these simple names.
    pub(crate) fn calls_of(&self, names: &[String]) -> Vec<CallId> {
        let methods = self.program.methods.iter().zip(0..);
        let named = methods.filter(|(method, _)| names.contains(&method.name));
        named.map(|(_, id)| CallId(id)).collect()
    }

    /// In how many heaps methods have been entered.
    pub fn entries(&self) -> u64 {
        self.tables.borrow().entered.len() as u64
    }

    /// The heap that was larger than allowed, if one was.
    pub fn largest(&self) -> Option<Largest> {
        let mut largest = self.tables.borrow().largest.clone()?;
        largest.heap = self.names.shown(largest.heap);
        Some(largest)
    }

    /// Whether a state has been generated in which something unknown is used as an object.
    pub(crate) fn met_unknown_memory(&self) -> bool {
        self.tables.borrow().unknown_memory
    }

    /// Something unknown is taken to be there.
    pub(crate) fn assume(&self, method: MethodId, pc: Pc) {
        self.tables.borrow_mut().assumed.insert((method, pc));
    }

    /// Where something unknown was taken not to be null: files and lines.
    pub(crate) fn assumed(&self) -> BTreeSet<(String, u32)> {
        let assumed = &self.tables.borrow().assumed;
        let spots = assumed.iter();
        spots.map(|&(method, pc)| self.spot(method, pc)).collect()
    }

    /// The file and the line of a statement.
    pub(crate) fn spot(&self, method: MethodId, pc: Pc) -> (String, u32) {
        let method = self.program.method(method);
        let file = self.program.files.get(method.file as usize);
        let line = method.lines.get(pc as usize).copied().unwrap_or(0);
        (file.cloned().unwrap_or_default(), line)
    }

    /// Nothing is known any more, since objects are given to code that is not at hand.
    pub(crate) fn lose(&self, method: MethodId, pc: Pc, to: &str, runs: &str) {
        let (file, line) = self.spot(method, pc);
        let signature = &self.program.method(method).signature;
        // A signature is one of a method, the rest is said in words.
        let hidden = if to.starts_with('<') {
            ", whose code is not at hand,"
        } else {
            ""
        };
        let text = format!(
            "{file}:{line}: in {signature}: {to}{hidden} may run {runs}, which is not followed there"
        );
        self.tables.borrow_mut().lost.get_or_insert(text);
    }

    /// It is not known any more what can be reached, since objects are given to code that is not at
    /// hand.
    pub(crate) fn keep(&self, method: MethodId, pc: Pc, to: &str) {
        let (file, line) = self.spot(method, pc);
        let signature = &self.program.method(method).signature;
        let text = format!(
            "{file}:{line}: in {signature}: {to} is given objects, and it is not known whether it \
             keeps them"
        );
        self.tables.borrow_mut().lost.get_or_insert(text);
    }

    /// Why nothing is known, if there is a state with unknown memory.
    pub(crate) fn doubt(&self) -> Unknown {
        match &self.tables.borrow().lost {
            Some(text) => Unknown::UnknownCode(text.clone()),
            None => Unknown::UnknownMemory,
        }
    }

    /// Whether a proposition is about all that there is of the heap.
    pub(crate) fn is_about_shapes(&self, proposition: PropId) -> bool {
        self.atoms[proposition.0 as usize].is_about_shapes()
    }

    /// Whether a proposition does not recognise a structure that is there.
    pub(crate) fn overlooks(&self, state: State, proposition: PropId) -> bool {
        self.atoms[proposition.0 as usize].overlooks(self, state)
    }

    /// Whether a proposition was about a field that is hidden, so that nobody knows if it holds.
    pub(crate) fn met_hidden_field(&self) -> bool {
        self.tables.borrow().hidden_field
    }

    /// Where a side of a comparison leads, if it is defined. Fields of the variables of the method
    /// itself are shown in every state, those of its callers may be hidden.
    pub(crate) fn side(&self, heap: &Heap, side: Side) -> Result<Option<Node>, Cause> {
        let Some(variable) = side.variable else {
            return Ok(None);
        };
        match (self.value_of(heap, variable)?, side.field) {
            (Some(node), Some(selector)) => self.field_of(heap, node, selector),
            (node, _) => Ok(node),
        }
    }

    /// Where a variable leads, if it is defined.
    pub(crate) fn value_of(&self, heap: &Heap, variable: Variable) -> Result<Option<Node>, Cause> {
        match heap.variable(variable) {
            None if self.names.is_unmodelled(heap, variable) => Err(Cause::Variable(variable)),
            node => Ok(node),
        }
    }

    /// Where a selector of a node leads, if there can be such a field. It is noted if that is hidden.
    pub(crate) fn field_of(
        &self,
        heap: &Heap,
        node: Node,
        selector: Selector,
    ) -> Result<Option<Node>, Cause> {
        let target = heap.target(node, selector);
        if target.is_some() {
            return Ok(target);
        }
        if self.of_contexts().hides(heap, node, selector) {
            self.tables.borrow_mut().hidden_field = true;
        } else if !self.options.compat && self.may_have(heap, node, selector) {
            return Err(Cause::Field(selector));
        }
        Ok(None)
    }

    /// Whether an object of the type of this node has such a field in Java.
    fn may_have(&self, heap: &Heap, node: Node, selector: Selector) -> bool {
        let object = heap.node_type(node);
        let Some(&class) = self.names.classes.get(&object) else {
            return !object.is_constant() && self.names.selectors.contains(&selector);
        };
        let class = self.program.class(class);
        let mut fields = class.fields.iter();
        fields.any(|&(field, _)| self.names.selectors[field.index()] == selector)
    }

    /// A field that is not modelled, of an object that can be reached from this node by some selectors,
    /// or all: it may lead anywhere.
    pub(crate) fn way_out(
        &self,
        heap: &Heap,
        from: Node,
        by: Option<&[Selector]>,
    ) -> Option<Cause> {
        if self.options.compat {
            return None;
        }
        let counts = |selector: Selector| by.is_none_or(|some| some.contains(&selector));
        let mut seen = vec![from];
        let mut at = 0;
        while let Some(&node) = seen.get(at) {
            at += 1;
            if let Some(selector) = self.missing(heap, node).find(|&one| counts(one)) {
                return Some(Cause::Field(selector));
            }
            let edges = heap.edges_of(node).filter(|edge| counts(edge.selector));
            let mut next: Vec<Node> = edges.map(|edge| edge.target).collect();
            for hyperedge in heap.hyperedges() {
                if hyperedge.tentacles.contains(&node) {
                    if let Some(&selector) = self.names.blind.iter().find(|&&one| counts(one)) {
                        return Some(Cause::Field(selector));
                    }
                    next.extend(hyperedge.tentacles);
                }
            }
            for node in next {
                if !seen.contains(&node) && !heap.node_type(node).is_constant() {
                    seen.push(node);
                }
            }
        }
        None
    }

    /// The references of an object that are neither there nor hidden: they are not modelled.
    pub(crate) fn missing<'h>(
        &'h self,
        heap: &'h Heap,
        node: Node,
    ) -> impl Iterator<Item = Selector> + 'h {
        let grammar = self.of_contexts();
        let references = self.names.references_of(heap.node_type(node)).iter();
        references.copied().filter(move |&selector| {
            heap.target(node, selector).is_none() && !grammar.hides(heap, node, selector)
        })
    }

    /// A field that is not modelled, of an object to which the grammar gives such a field; or an object
    /// that fits no rule because its class extends the one that the grammar has.
    pub(crate) fn gap(&self, heap: &Heap) -> Option<Cause> {
        if self.options.compat {
            return None;
        }
        heap.nodes().find_map(|node| {
            let object = heap.node_type(node);
            if self.names.unruled.contains(&object) {
                return Some(Cause::Class(object));
            }
            let mut missing = self.missing(heap, node);
            let found = missing.find(|&one| self.names.described.contains(&(object, one)));
            found.map(Cause::Field)
        })
    }

    /// Why nobody knows whether a proposition holds in a state.
    pub(crate) fn open(&self, state: State, proposition: PropId) -> Option<Cause> {
        let atom = &self.atoms[(proposition.0 & !MAY) as usize];
        atom.holds(self, state).err()
    }

    /// Whether somebody has asked for a proposition of which nobody knows whether it holds, since this
    /// was asked the last time.
    pub(crate) fn met_open(&self) -> bool {
        std::mem::take(&mut self.tables.borrow_mut().open)
    }

    /// The grammar of heaps that may have contexts in them.
    pub(crate) fn of_contexts(&self) -> &'a Grammar {
        self.holes.map_or(self.grammar, |holes| &holes.grammar)
    }

    /// The place behind the last statement of a method.
    pub fn end_of(&self, method: MethodId) -> Pc {
        self.program.method(method).code.len() as Pc
    }

    /// Whether the program of a state has come to its end, one step ago at least.
    pub fn is_beyond(&self, state: State) -> bool {
        let place = self.place(state);
        place.pc > self.end_of(place.method)
    }

    /// Whether the method of a state has come to its end.
    pub fn is_at_end(&self, state: State) -> bool {
        let place = self.place(state);
        place.pc >= self.end_of(place.method)
    }

    pub(crate) fn state(
        &self,
        method: MethodId,
        pc: Pc,
        heap: &Heap,
        context: u32,
        fault: Option<Fault>,
    ) -> Result<State, StopReason> {
        let mut tables = self.tables.borrow_mut();
        if heap.node_count() > self.options.max_heap {
            tables.largest = Some(Largest {
                method,
                pc,
                heap: heap.clone(),
            });
            let most = self.options.max_heap as u64;
            return Err(StopReason::TooMany(Countable::HeapNodes, most));
        }
        let (heap, _) = tables.heaps.intern(heap.code())?;
        let place = Place {
            method,
            pc,
            heap,
            context,
            fault,
        };
        let (state, _) = tables.places.intern(place)?;
        tables.unknown_memory |= fault == Some(Fault::UnknownMemory);
        // The state in which a program stays after its end does not count.
        if pc <= self.end_of(method) && state as usize >= self.options.max_states {
            let most = self.options.max_states as u64;
            return Err(StopReason::TooMany(Countable::States, most));
        }
        Ok(State(state))
    }

    /// Whether selectors lead from one node to another, by a relation of the refinement.
    pub(crate) fn reaches(&self, heap: &Heap, from: Node, to: Node, relation: usize) -> bool {
        let refinement = self.refinement;
        refinement.is_some_and(|refinement| refinement.reaches(heap, from, to, relation))
    }

    /// Whether another heap may stand for that of a state: where heaps are abstracted, but not as far as
    /// possible.
    pub(crate) fn may_be_covered(&self, state: State) -> bool {
        let place = self.place(state);
        let abstracts = &self.methods[place.method.index()].abstracts;
        let abstraction = &self.options.abstraction;
        // Without admissibility heaps are that abstract anyway, where they are abstracted at all.
        let off = !abstraction.subsumption || !abstraction.admissible || self.options.concrete;
        let abstracts = abstracts.get(place.pc as usize).copied();
        !off && place.fault.is_none() && abstracts == Some(true)
    }

    /// The state at the same place whose heap is that of this one, abstracted as far as possible.
    pub(crate) fn cover(&self, state: State) -> Option<State> {
        if !self.may_be_covered(state) {
            return None;
        }
        let place = self.place(state);
        let mut heap = self.stored_heap(state);
        let options = self.options.abstraction.matching().aggressive();
        if !self.grammar.abstract_heap(&mut heap, &options) {
            return None;
        }
        let tables = self.tables.borrow();
        let heap = tables.heaps.find(&heap.code())?;
        tables.places.find(&Place { heap, ..place }).map(State)
    }

    /// Successors are missing, for this reason. Says whether the search has to stop. On concrete heaps
    /// it has not: a run that is found without them is a run.
    pub(crate) fn stop(&self, reason: StopReason) -> bool {
        let stops = !(self.options.concrete && matches!(reason, StopReason::TooMany(..)));
        self.tables.borrow_mut().stopped = Some(reason);
        stops
    }

    /// Whether all successors that were asked for are there.
    pub(crate) fn is_complete(&self) -> bool {
        self.tables.borrow().stopped.is_none()
    }
}
