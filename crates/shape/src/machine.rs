//! A pointer program over abstract heaps, as a recursive state machine.
//!
//! A state is a place in a method and an abstract heap, in canonical form. A call cuts the part of
//! the heap that the callee can reach out of the caller's: that is the callee's entry state. When
//! the callee returns, what it made of this part is glued back. So the state spaces of a method are
//! shared by all its callers, and an entry with its exits is a contract: Jansen and Noll's procedure
//! contracts, on Droste's spine.
//!
//! Materialisation happens within a step and is no position of a run. Successors are generated when
//! they are asked for, once, and kept: formulas that are checked one after the other share them.
//!
//! **Contexts.** Some propositions are about the whole heap, also while a callee sees only a part.
//! Then a state has a context: what is outside of its part, with no variables but those a formula
//! names, and abstracted. It is a part of the entry state, so that callees are told apart by it.

use std::cell::RefCell;
use std::rc::Rc;

use droste_base::{
    CallId, Countable, Guard, Interner, Limits, Model, PropId, Step, Steps, StopReason,
};
use droste_heap::{
    Balance, Code, Cut, Frame, Grammar, Heap, Holes, Node, Refinement, Selector, Variable,
};
use droste_pointer::{Liveness, MethodId, Pc, PointerProgram, Statement, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::{around, completed};
use crate::contract::Contracts;
use crate::execute::{Event, Names};
use crate::label::{Atom, Side};
use crate::settings::Abstraction;

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
    /// Null dereferences go unnoticed, and undefined values change nothing: as in the reference.
    pub compat: bool,
    /// Formulas are about the states of called methods, too.
    pub hierarchical: bool,
    /// It is a fault if an object cannot be reached any more.
    pub leaks: bool,
    /// Nothing is abstracted.
    pub concrete: bool,
    /// The most nodes of a heap.
    pub max_heap: usize,
    /// The most states, of all state spaces together.
    pub max_states: usize,
    /// The most states of one state space: of a method, for a heap in which it is entered. Spaces of
    /// one method share states, so they are counted together: so many for each of them.
    pub max_state_space: usize,
}

/// What is known of a method before it runs.
pub(crate) struct Method {
    /// The variable of each local.
    pub(crate) locals: Vec<Variable>,
    /// The same, sorted.
    pub(crate) sorted: Vec<Variable>,
    /// Before each statement: the variables that are live, sorted.
    pub(crate) live: Vec<Vec<Variable>>,
    /// Before each statement, and at the end: whether heaps are abstracted there. They are where
    /// ways meet, before calls and returns, and at the end.
    abstracts: Vec<bool>,
    /// Whether garbage is collected there.
    collects: Vec<bool>,
}

impl Method {
    /// The tables of a method whose locals are these variables.
    pub(crate) fn new(
        method: &droste_pointer::Method,
        locals: Vec<Variable>,
        abstraction: &Abstraction,
    ) -> Self {
        let mut sorted = locals.clone();
        sorted.sort_unstable();
        let liveness = Liveness::new(method);
        let live = (0..method.code.len() as Pc)
            .map(|pc| {
                let live = liveness.before(pc).iter();
                let mut live: Vec<Variable> = live.map(|local| locals[local.index()]).collect();
                live.sort_unstable();
                live
            })
            .collect();
        let length = method.code.len();
        let mut ways = vec![0u32; length + 1];
        ways[0] = 1;
        for (statement, pc) in method.code.iter().zip(0..) {
            statement.successors(pc, |next| ways[next as usize] += 1);
        }
        let abstracts = (0..=length).map(|pc| {
            let statement = method.code.get(pc);
            let kind = matches!(
                statement,
                None | Some(Statement::Call { .. } | Statement::Return(_))
            );
            kind || ways[pc] > 1 || abstraction.no_chain
        });
        let collects = (0..=length).map(|pc| {
            abstraction.garbage_collection
                && match method.code.get(pc) {
                    None => true,
                    Some(Statement::Assign { value, .. }) => {
                        !matches!(value, Value::This | Value::Parameter(_))
                    }
                    Some(statement) => matches!(
                        statement,
                        Statement::Store { .. } | Statement::Call { .. } | Statement::Return(_)
                    ),
                }
        });
        Method {
            abstracts: abstracts.collect(),
            collects: collects.collect(),
            locals,
            sorted,
            live,
        }
    }
}

/// A call that is under way.
struct Pending {
    frame: Frame,
}

/// How large the state spaces of a method are.
#[derive(Clone, Copy, Default)]
struct Size {
    states: usize,
    entries: usize,
}

#[derive(Default)]
struct Tables {
    heaps: Interner<Code>,
    contexts: Interner<Code>,
    places: Interner<Place>,
    /// The steps of each state, if they are known.
    steps: Vec<Option<Rc<[Step<State>]>>>,
    /// For each state, which propositions are known and which of them hold.
    labels: Vec<(u64, u64)>,
    pending: FxHashMap<State, Rc<Pending>>,
    /// The states in which callees have been entered.
    entries: FxHashSet<State>,
    /// For each method: its states, and the heaps in which it has been entered.
    spaces: Vec<Size>,
    resumed: FxHashMap<(State, State), Rc<[State]>>,
    /// Whether there is a state with unknown memory.
    unknown_memory: bool,
    /// Whether a proposition was about a field that is hidden.
    hidden_field: bool,
    /// Why successors are missing.
    stopped: Option<StopReason>,
    /// The largest heap that was refused.
    largest: Option<Largest>,
}

/// A pointer program, a grammar and initial heaps: a [`Model`].
pub struct Machine<'a> {
    pub(crate) program: &'a PointerProgram,
    pub(crate) grammar: &'a Grammar,
    pub(crate) options: &'a Options,
    pub(crate) names: &'a Names,
    contracts: &'a Contracts,
    pub(crate) methods: Vec<Method>,
    pub(crate) refinement: Option<&'a Refinement>,
    /// With indices: structures with a hole, for contexts.
    pub(crate) holes: Option<&'a Holes>,
    /// With indices: how heights of trees are written down.
    pub(crate) balance: Option<&'a Balance>,
    atoms: Vec<Atom>,
    /// The fields that propositions compare, each of a variable.
    compared: Vec<(Variable, Selector)>,
    /// Whether a proposition is about the whole heap, and callees have to know it.
    with_contexts: bool,
    initial: Vec<State>,
    tables: RefCell<Tables>,
    /// A step takes as long as a thousand of other models: it looks at the clock by itself.
    guard: RefCell<Guard>,
}

/// No context.
const NOTHING: u32 = u32::MAX;

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
            initial: Vec::new(),
            tables: RefCell::default(),
            guard: RefCell::new(Limits::default().guard()),
        };
        let mut spaces = vec![Size::default(); program.methods.len()];
        // All initial heaps together have one.
        spaces[program.entry.index()].entries = 1;
        machine.tables.get_mut().spaces = spaces;
        for heap in initial {
            for heap in machine.rectify(heap.clone(), false)? {
                let state = machine.state(program.entry, 0, &heap, NOTHING, None)?;
                if !machine.initial.contains(&state) {
                    machine.initial.push(state);
                }
            }
        }
        Ok(machine)
    }

    /// The same machine, which gives up when a limit is reached.
    #[must_use]
    pub(crate) fn within(mut self, limits: &Limits) -> Self {
        *self.guard.get_mut() = limits.guard();
        self
    }

    /// The state in which a method is entered with this heap.
    pub(crate) fn entry(&self, method: MethodId, heap: &Heap) -> Result<State, StopReason> {
        self.state(method, 0, heap, NOTHING, None)
    }

    /// What a state is.
    pub fn place(&self, state: State) -> Place {
        *self.tables.borrow().places.get(state.0)
    }

    /// The heap of a state.
    pub fn heap(&self, state: State) -> Heap {
        let tables = self.tables.borrow();
        Heap::from_code(tables.heaps.get(tables.places.get(state.0).heap))
    }

    /// The heap of a state together with what its method does not see of it.
    pub fn whole_heap(&self, state: State) -> Heap {
        let place = self.place(state);
        let mut heap = self.heap(state);
        if place.context != NOTHING {
            let context = Heap::from_code(self.tables.borrow().contexts.get(place.context));
            heap = completed(&context, &heap);
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
        !self.is_beyond(state) && self.place(state).fault.is_none()
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
        (self.initial.len() + self.tables.borrow().entries.len()) as u64
    }

    /// The heap that was larger than allowed, if one was.
    pub fn largest(&self) -> Option<Largest> {
        self.tables.borrow().largest.clone()
    }

    /// Whether a state has been generated in which something unknown is used as an object.
    pub(crate) fn met_unknown_memory(&self) -> bool {
        self.tables.borrow().unknown_memory
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

    /// Where a side of a comparison leads. Fields of the variables of the method itself are shown in
    /// every state, those of its callers may be hidden.
    pub(crate) fn side(&self, heap: &Heap, side: Side) -> Option<Node> {
        let node = heap.variable(side.variable?)?;
        match side.field {
            Some(selector) => self.follow(heap, node, selector),
            None => Some(node),
        }
    }

    /// Where a selector of a node leads. It is noted if that is hidden.
    pub(crate) fn follow(&self, heap: &Heap, node: Node, selector: Selector) -> Option<Node> {
        let target = heap.target(node, selector);
        if target.is_none() && self.of_contexts().hides(heap, node, selector) {
            self.tables.borrow_mut().hidden_field = true;
        }
        target
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

    fn state(
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
        let (state, new) = tables.places.intern(place)?;
        tables.unknown_memory |= fault == Some(Fault::UnknownMemory);
        // Where a program goes on for ever after its end is no state that counts.
        if pc <= self.end_of(method) {
            let options = self.options;
            let size = &mut tables.spaces[method.index()];
            size.states += usize::from(new && fault.is_none());
            let most = (options.max_state_space).saturating_mul(size.entries.max(1));
            // A call that has just begun is not counted yet.
            if size.states > most && pc > 0 {
                let most = options.max_state_space as u64;
                return Err(StopReason::TooMany(Countable::States, most));
            }
            if state as usize >= options.max_states {
                let most = options.max_states as u64;
                return Err(StopReason::TooMany(Countable::States, most));
            }
        }
        Ok(State(state))
    }

    /// The states in which a method is when it arrives at a statement with this heap.
    fn arrive(
        &self,
        method: MethodId,
        pc: Pc,
        mut heap: Heap,
        context: u32,
        out: &mut Vec<State>,
    ) -> Result<(), StopReason> {
        self.guard.borrow_mut().check_now()?;
        let tables = &self.methods[method.index()];
        let abstraction = &self.options.abstraction;
        if let Some(live) = tables.live.get(pc as usize) {
            self.bury(&mut heap, method, live, None);
        }
        if tables.collects[pc as usize] {
            let before = self.options.leaks.then(|| heap.clone());
            let lost = self.grammar.collect_garbage(&mut heap);
            if let Some(before) = before
                && lost
            {
                out.push(self.state(method, pc, &before, context, Some(Fault::Leak))?);
            }
        }
        if let Some(balance) = self.balance {
            balance.annotate(&mut heap);
        }
        if tables.abstracts[pc as usize] && !self.options.concrete {
            let matching = if pc == self.end_of(method) {
                abstraction.at_the_end()
            } else {
                abstraction.matching()
            };
            self.grammar.abstract_heap(&mut heap, &matching);
        }
        let full = abstraction.admissible && abstraction.admissible_full;
        for heap in self.rectify(heap, full)? {
            let state = self.state(method, pc, &heap, context, None)?;
            if !out.contains(&state) {
                out.push(state);
            }
        }
        Ok(())
    }

    /// The heap, taken apart until the fields that propositions name can be seen, and with `full`
    /// every field of every variable's object.
    fn rectify(&self, heap: Heap, full: bool) -> Result<Vec<Heap>, StopReason> {
        let mut todo = vec![heap];
        let mut done = Vec::new();
        while let Some(heap) = todo.pop() {
            let is_hidden = |node: Node, selector: Selector| {
                heap.target(node, selector).is_none() && self.grammar.hides(&heap, node, selector)
            };
            let mut hidden = self.compared.iter().find_map(|&(variable, selector)| {
                let node = heap.variable(variable)?;
                is_hidden(node, selector).then_some((node, selector))
            });
            if full && hidden.is_none() {
                hidden = heap.variables().iter().find_map(|&(variable, node)| {
                    let special = variable.is_constant() || variable.is_marking();
                    if special || heap.node_type(node).is_constant() {
                        return None;
                    }
                    let wanted = self.names.selectors_of(heap.node_type(node)).into_iter();
                    let mut hidden = wanted.filter(|&one| is_hidden(node, one));
                    hidden.next().map(|selector| (node, selector))
                });
            }
            let Some((node, selector)) = hidden else {
                done.push(heap);
                continue;
            };
            let heaps = self.grammar.reveal(&heap, node, selector);
            todo.extend(heaps.ok_or(Steps::<State>::TOO_MANY)?);
        }
        Ok(done)
    }

    /// What a state can do.
    fn successors(&self, state: State) -> Result<Vec<Step<State>>, StopReason> {
        let place = self.place(state);
        let end = self.end_of(place.method);
        if place.fault == Some(Fault::Thrown) {
            return Ok(vec![Step::Exit(state)]);
        }
        if place.fault.is_some() {
            return Ok(Vec::new());
        }
        if place.pc == end {
            return Ok(vec![Step::Exit(state)]);
        }
        if place.pc > end {
            return Ok(vec![Step::Internal(state)]);
        }
        let mut events = Vec::new();
        let heap = self.heap(state);
        self.execute(place.method, place.pc, heap, &mut |event| {
            events.push(event);
        });
        let mut next = Vec::new();
        let mut calls = Vec::new();
        for event in events {
            match event {
                Event::Go(pc, heap) => {
                    self.arrive(place.method, pc, heap, place.context, &mut next)?;
                }
                Event::Leave(heap) => {
                    self.arrive(place.method, end, heap, place.context, &mut next)?;
                }
                Event::Throw(heap) => {
                    next.push(self.thrown(place.method, place.pc, heap, place.context)?);
                }
                Event::GiveUp => return Err(Steps::<State>::TOO_MANY),
                Event::Fault(fault) => {
                    let heap = self.heap(state);
                    let fault = Some(fault);
                    next.push(self.state(place.method, place.pc, &heap, place.context, fault)?);
                }
                Event::Foreign(signature, heap, otherwise) => {
                    let Cut {
                        mut fragment,
                        frame,
                    } = heap.cut(&self.names.given(&heap));
                    self.grammar.remember_indices(&mut fragment, &[&frame.heap]);
                    let Some(known) = self.contracts.after(&signature, &fragment) else {
                        self.arrive(
                            place.method,
                            place.pc + 1,
                            otherwise,
                            place.context,
                            &mut next,
                        )?;
                        continue;
                    };
                    for after in known {
                        let Some(mut heap) = frame.glue(after) else {
                            continue;
                        };
                        self.after_call(place.method, place.pc, &mut heap);
                        self.arrive(place.method, place.pc + 1, heap, place.context, &mut next)?;
                    }
                }
                Event::Call(callee, heap) => {
                    let entry = self.enter(state, callee, &heap)?;
                    calls.push(Step::Call(CallId(callee.0), entry));
                }
            }
        }
        let steps = next.into_iter().map(Step::Internal);
        Ok(steps.chain(calls).collect())
    }

    /// The entry state of a callee; the caller's frame is kept.
    fn enter(&self, caller: State, callee: MethodId, heap: &Heap) -> Result<State, StopReason> {
        let Cut {
            mut fragment,
            frame,
        } = heap.cut(&self.names.given(heap));
        let outer = self.place(caller).context;
        let context = if self.with_contexts {
            let outer = (outer != NOTHING)
                .then(|| Heap::from_code(self.tables.borrow().contexts.get(outer)));
            let mut context = around(outer.as_ref(), &frame);
            let kept = &self.names.kept;
            context.retain_variables(|one| {
                one.is_constant() || one.is_marking() || kept.contains(&one)
            });
            // What no formula can speak of need not be told apart.
            if !self.atoms.iter().any(Atom::is_about_shapes) {
                self.of_contexts().collect_garbage(&mut context);
            }
            self.grammar
                .remember_indices(&mut fragment, &[&frame.heap, &context]);
            context.remember_as(&fragment);
            if !self.options.concrete {
                self.of_contexts()
                    .abstract_heap(&mut context, &self.options.abstraction.matching());
            }
            if context.node_count() > self.options.max_heap {
                let most = self.options.max_heap as u64;
                return Err(StopReason::TooMany(Countable::HeapNodes, most));
            }
            self.tables.borrow_mut().contexts.intern(context.code())?.0
        } else {
            self.grammar.remember_indices(&mut fragment, &[&frame.heap]);
            NOTHING
        };
        let entry = self.state(callee, 0, &fragment, context, None)?;
        let pending = Rc::new(Pending { frame });
        let mut tables = self.tables.borrow_mut();
        tables.pending.insert(caller, pending);
        let new = tables.entries.insert(entry);
        tables.spaces[callee.index()].entries += usize::from(new);
        drop(tables);
        Ok(entry)
    }

    /// The states in which a caller goes on.
    fn returned(&self, caller: State, exit: State) -> Result<Vec<State>, StopReason> {
        let place = self.place(caller);
        let pending = self.tables.borrow().pending.get(&caller).cloned();
        let Some(pending) = pending else {
            return Ok(Vec::new());
        };
        // A callee keeps its external nodes, so this fits, unless an index gets too long.
        let glued = pending.frame.glue(&self.heap(exit));
        let mut heap = glued.ok_or(Steps::<State>::TOO_MANY)?;
        self.after_call(place.method, place.pc, &mut heap);
        let mut out = Vec::new();
        if self.place(exit).fault.is_none() {
            self.arrive(place.method, place.pc + 1, heap, place.context, &mut out)?;
            return Ok(out);
        }
        let caught = &self.program.method(place.method).code[place.pc as usize + 1];
        let (targets, escapes) = match caught {
            Statement::Caught { targets, escapes } => (&targets[..], *escapes),
            _ => (&[][..], true),
        };
        for &target in targets {
            self.arrive(place.method, target, heap.clone(), place.context, &mut out)?;
        }
        if escapes {
            heap.retain_variables(|one| one.is_constant() || one.is_marking());
            out.push(self.thrown(place.method, place.pc, heap, place.context)?);
        }
        Ok(out)
    }

    /// The state in which an exception leaves a method. The heap has no variables of it.
    fn thrown(
        &self,
        method: MethodId,
        pc: Pc,
        mut heap: Heap,
        context: u32,
    ) -> Result<State, StopReason> {
        let abstraction = &self.options.abstraction;
        if abstraction.garbage_collection {
            self.grammar.collect_garbage(&mut heap);
        }
        if let Some(balance) = self.balance {
            balance.annotate(&mut heap);
        }
        if !self.options.concrete {
            self.grammar
                .abstract_heap(&mut heap, &abstraction.at_the_end());
        }
        self.state(method, pc, &heap, context, Some(Fault::Thrown))
    }

    /// Whether selectors lead from one node to another, by a relation of the refinement.
    pub(crate) fn reaches(&self, heap: &Heap, from: Node, to: Node, relation: usize) -> bool {
        let refinement = self.refinement;
        refinement.is_some_and(|refinement| refinement.reaches(heap, from, to, relation))
    }

    /// Successors are missing, for this reason. Says whether the search has to stop. On concrete heaps
    /// it has not: a run that is found without them is a run.
    fn stop(&self, reason: StopReason) -> bool {
        let stops = !(self.options.concrete && matches!(reason, StopReason::TooMany(..)));
        self.tables.borrow_mut().stopped = Some(reason);
        stops
    }

    /// Whether all successors that were asked for are there.
    pub(crate) fn is_complete(&self) -> bool {
        self.tables.borrow().stopped.is_none()
    }
}

impl Model for Machine<'_> {
    type State = State;

    fn initial(&self, out: &mut Vec<State>) {
        out.extend(&self.initial);
    }

    fn steps(&self, &state: &State, out: &mut Steps<State>) {
        let known = self.tables.borrow().steps.get(state.0 as usize).cloned();
        let steps = match known.flatten() {
            Some(steps) => steps,
            None => match self.successors(state) {
                Ok(steps) => {
                    let steps: Rc<[Step<State>]> = steps.into();
                    let mut tables = self.tables.borrow_mut();
                    let length = tables.places.len();
                    if tables.steps.len() < length {
                        tables.steps.resize(length, None);
                    }
                    tables.steps[state.0 as usize] = Some(Rc::clone(&steps));
                    steps
                }
                Err(reason) => {
                    if self.stop(reason) {
                        out.give_up();
                    }
                    return;
                }
            },
        };
        for step in &*steps {
            match *step {
                Step::Internal(next) => out.step(next),
                Step::Call(call, entry) => out.call(call, entry),
                Step::Exit(exit) => out.exit(exit),
            }
        }
    }

    fn resume(&self, &caller: &State, _: CallId, &exit: &State, out: &mut Vec<State>) -> bool {
        let known = self.tables.borrow().resumed.get(&(caller, exit)).cloned();
        let states = match known {
            Some(states) => states,
            None => match self.returned(caller, exit) {
                Ok(states) => {
                    let states: Rc<[State]> = states.into();
                    let mut tables = self.tables.borrow_mut();
                    tables.resumed.insert((caller, exit), Rc::clone(&states));
                    states
                }
                Err(reason) => return !self.stop(reason),
            },
        };
        out.extend(&*states);
        true
    }

    fn holds(&self, &state: &State, proposition: PropId) -> bool {
        let index = proposition.0 as usize;
        let bit = 1u64 << (index % 64);
        if let Some(&(known, true_)) = self.tables.borrow().labels.get(state.0 as usize)
            && index < 64
            && known & bit != 0
        {
            return true_ & bit != 0;
        }
        let holds = self.atoms[index].holds(self, state);
        if index < 64 {
            let mut tables = self.tables.borrow_mut();
            let length = tables.places.len();
            if tables.labels.len() < length {
                tables.labels.resize(length, (0, 0));
            }
            let (known, true_) = &mut tables.labels[state.0 as usize];
            *known |= bit;
            *true_ |= if holds { bit } else { 0 };
        }
        holds
    }

    fn terminated(&self, &exit: &State) -> Option<State> {
        let place = self.place(exit);
        // An exception ends the run.
        if place.fault.is_some() {
            return None;
        }
        let heap = self.heap(exit);
        // The same heap fits, and one more state is no reason to stop.
        self.state(place.method, place.pc + 1, &heap, place.context, None)
            .ok()
    }

    /// The heap abstracted as far as the grammar allows, at the same place, if it is there.
    fn covered_by(&self, &state: &State) -> Option<State> {
        let place = self.place(state);
        let tables = &self.methods[place.method.index()];
        let abstraction = &self.options.abstraction;
        // Without admissibility heaps are that abstract anyway, where they are abstracted at all.
        let off = !abstraction.subsumption || !abstraction.admissible || self.options.concrete;
        if off || place.fault.is_some() || !*tables.abstracts.get(place.pc as usize)? {
            return None;
        }
        let mut heap = self.heap(state);
        let options = abstraction.matching().aggressive();
        if !self.grammar.abstract_heap(&mut heap, &options) {
            return None;
        }
        let tables = self.tables.borrow();
        let heap = tables.heaps.find(&heap.code())?;
        tables.places.find(&Place { heap, ..place }).map(State)
    }

    fn gave_up(&self) -> StopReason {
        let stopped = self.tables.borrow().stopped.clone();
        stopped.unwrap_or(Steps::<State>::TOO_MANY)
    }

    fn call_name(&self, call: CallId) -> String {
        self.program.methods[call.0 as usize].name.clone()
    }
}
