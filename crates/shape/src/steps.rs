//! From a state to the next ones. A statement is executed; then dead variables are removed, garbage is
//! collected, the heap is abstracted, and the fields that formulas speak of are made visible again. The
//! result is the heap that is stored. A call cuts the heap in two, and the parts are put together again when
//! it returns.

use std::rc::Rc;

use droste_base::{CallId, Countable, Step, StopReason};
use droste_heap::{Cut, Grammar, Heap, Index, Node, Selector};
use droste_pointer::{MethodId, Pc, Statement, Value};

use crate::context::around;
use crate::execute::Event;
use crate::label::Atom;
use crate::machine::{Fault, Machine, NOTHING, Pending, Place, State};

/// A field is hidden by a hyperedge, and the rules do not come to an end of it.
pub(crate) const HIDDEN: StopReason =
    StopReason::TooMany(Countable::Replacements, Grammar::MOST_REPLACEMENTS as u64);

/// An index of the heap has become too long.
const TOO_LONG: StopReason = StopReason::TooMany(Countable::IndexLength, Index::LONGEST as u64);

impl Machine<'_> {
    /// The states in which a method begins that is entered with this heap: before its first statement,
    /// and its variables have what it was given. In ATTESTOR these are assignments of their own,
    /// with a state before each.
    pub(crate) fn begin(
        &self,
        method: MethodId,
        heap: &Heap,
        context: u32,
    ) -> Result<Rc<[State]>, StopReason> {
        let (id, _) = self.tables.borrow_mut().heaps.intern(heap.code())?;
        let entry = (method, id, context);
        let known = self.tables.borrow().entered.get(&entry).cloned();
        if let Some(states) = known {
            return Ok(states);
        }
        let mut states = Vec::new();
        if self.options.compat {
            for heap in self.rectify(heap.clone(), false)? {
                states.push(self.state(method, 0, &heap, context, None)?);
            }
        } else {
            let (pc, mut heap) = self.named(method, heap.clone());
            self.bury_dead(&mut heap, method, pc);
            self.settle(method, pc, heap, context, &mut states)?;
        }
        let states: Rc<[State]> = states.into();
        let mut tables = self.tables.borrow_mut();
        tables.entered.insert(entry, Rc::clone(&states));
        Ok(states)
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
        self.bury_dead(&mut heap, method, pc);
        // When the outermost method returns, the run is over, and nothing is lost by that.
        let over = pc == self.end_of(method) && self.is_outermost(method, &heap);
        if self.leaks && !over && self.may_lose(&heap) {
            out.push(self.state(method, pc, &heap, context, Some(Fault::Leak))?);
        }
        self.settle(method, pc, heap, context, out)
    }

    /// Whether there may be an object that nothing leads to.
    fn may_lose(&self, heap: &Heap) -> bool {
        self.grammar.may_have_garbage(heap, |one| {
            let class = self.names.classes.get(&one);
            class.is_some_and(|&class| self.program.class(class).is_library)
        })
    }

    /// Whether a method that has this heap was called by nobody.
    pub(crate) fn is_outermost(&self, method: MethodId, heap: &Heap) -> bool {
        // What a callee sees has external nodes: the constants, at least.
        method == self.program.entry && heap.externals().is_empty()
    }

    /// Removes the variables that are not live before a statement.
    fn bury_dead(&self, heap: &mut Heap, method: MethodId, pc: Pc) {
        if let Some(live) = self.methods[method.index()].live.get(pc as usize) {
            self.bury(heap, method, live, None);
        }
    }

    /// The states of a heap, in the form in which it is stored.
    fn settle(
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
        if tables.collects[pc as usize] || self.leaks {
            self.grammar.collect_garbage(&mut heap);
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
    pub(crate) fn rectify(&self, heap: Heap, full: bool) -> Result<Vec<Heap>, StopReason> {
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
            todo.extend(heaps.ok_or(HIDDEN)?);
        }
        Ok(done)
    }

    /// What a state can do, if its state spaces do not become too large by it.
    pub(crate) fn counted_successors(&self, state: State) -> Result<Vec<Step<State>>, StopReason> {
        let steps = self.successors(state)?;
        let next = steps.iter().filter_map(|step| match step {
            Step::Internal(next) => Some(*next),
            Step::Call(..) | Step::Exit(_) => None,
        });
        self.count_steps(state, next)?;
        Ok(steps)
    }

    /// The states in which a caller goes on, if its state spaces do not become too large by them.
    pub(crate) fn counted_returns(
        &self,
        caller: State,
        exit: State,
    ) -> Result<Vec<State>, StopReason> {
        let states = self.returned(caller, exit)?;
        self.count_steps(caller, states.iter().copied())?;
        Ok(states)
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
        let heap = self.stored_heap(state);
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
                    if self.catch(place, &heap, &mut next)? {
                        self.throw(place.method, place.pc, heap, place.context, &mut next)?;
                    }
                }
                Event::GiveUp => return Err(HIDDEN),
                Event::Fault(fault) => {
                    let heap = self.stored_heap(state);
                    let state = Some(fault);
                    next.push(self.state(place.method, place.pc, &heap, place.context, state)?);
                    if fault == Fault::NullDereference {
                        self.raise(place, heap, &mut next)?;
                    }
                }
                Event::Foreign(signature, heap, otherwise) => {
                    let Cut {
                        mut fragment,
                        frame,
                    } = heap.cut(&self.names.given(&heap));
                    self.grammar.remember_indices(&mut fragment, &[&frame.heap]);
                    let Some(exits) = self.contracts.exits(&signature, &fragment) else {
                        // Of other heaps the contract says nothing.
                        let before = place.pc.checked_sub(1);
                        let code = &self.program.method(place.method).code;
                        let before = before.and_then(|before| code.get(before as usize));
                        if let Some(Statement::Hand { to, runs, .. }) = before
                            && !self.options.compat
                            && let Some(runs) = self.may_run(&fragment, runs)
                        {
                            self.lose(place.method, place.pc, to, runs);
                            let heap = self.stored_heap(state);
                            let fault = Some(Fault::UnknownMemory);
                            let (method, pc) = (place.method, place.pc);
                            next.push(self.state(method, pc, &heap, place.context, fault)?);
                            continue;
                        }
                        self.arrive(
                            place.method,
                            place.pc + 1,
                            otherwise,
                            place.context,
                            &mut next,
                        )?;
                        continue;
                    };
                    for heap in exits.after.iter().filter_map(|after| frame.glue(after)) {
                        self.leave_call(place, heap, false, &mut next)?;
                    }
                    for heap in exits.thrown.iter().filter_map(|after| frame.glue(after)) {
                        self.leave_call(place, heap, true, &mut next)?;
                    }
                }
                Event::Call(callee, heap) => {
                    let entry = self.enter(state, callee, &heap)?;
                    calls.extend(entry.iter().map(|&one| Step::Call(CallId(callee.0), one)));
                }
            }
        }
        let steps = next.into_iter().map(Step::Internal);
        Ok(steps.chain(calls).collect())
    }

    /// The states in which a callee begins; the caller's frame is kept.
    fn enter(
        &self,
        caller: State,
        callee: MethodId,
        heap: &Heap,
    ) -> Result<Rc<[State]>, StopReason> {
        let Cut {
            mut fragment,
            frame,
        } = heap.cut(&self.names.given(heap));
        let outer = self.place(caller).context;
        let context = if self.with_contexts {
            let outer = (outer != NOTHING)
                .then(|| Heap::from_code(self.tables.borrow().contexts.get(outer)));
            let mut context = around(outer.as_ref(), &frame, self.names);
            context.retain_variables(|one| {
                one.is_constant() || one.is_marking() || self.names.keeps(one)
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
        let entry = self.begin(callee, &fragment, context)?;
        let pending = Rc::new(Pending { frame });
        self.tables.borrow_mut().pending.insert(caller, pending);
        for &one in &*entry {
            self.begin_space(&[one])?;
        }
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
        let glued = pending.frame.glue(&self.stored_heap(exit));
        let heap = glued.ok_or(TOO_LONG)?;
        let thrown = self.place(exit).fault.is_some();
        let mut out = Vec::new();
        self.leave_call(place, heap, thrown, &mut out)?;
        Ok(out)
    }

    /// The states in which a caller goes on behind a call, with the heap that this has left: where the
    /// call returns, or where an exception is caught.
    fn leave_call(
        &self,
        caller: Place,
        mut heap: Heap,
        thrown: bool,
        out: &mut Vec<State>,
    ) -> Result<(), StopReason> {
        let Place {
            method,
            pc,
            context,
            ..
        } = caller;
        self.after_call(method, pc, &mut heap);
        if !thrown {
            return self.arrive(method, pc + 1, heap, context, out);
        }
        if self.catch(caller, &heap, out)? {
            self.throw(method, pc, heap, context, out)?;
        }
        Ok(())
    }

    /// A statement has used null. That is an error, and yet the run goes on where the exception is
    /// caught. Where nobody catches it, the error is the end.
    fn raise(&self, place: Place, mut heap: Heap, out: &mut Vec<State>) -> Result<(), StopReason> {
        let Place {
            method,
            pc,
            context,
            ..
        } = place;
        let tables = &self.methods[method.index()];
        if let Some(to) = self.program.method(method).code[pc as usize].defines() {
            self.assign(&mut heap, tables.locals[to.index()], None);
        }
        if let Some(class) = self.program.of_null {
            let node = self.create(&mut heap, class);
            heap.set_variable(self.names.thrown, node);
        }
        if self.catch(place, &heap, out)? && tables.is_guarded {
            self.throw(method, pc, heap, context, out)?;
        }
        Ok(())
    }

    /// The states in which handlers begin if the statement of this place has raised an exception,
    /// which the heap has if it is known. Says whether it may leave the method.
    fn catch(&self, place: Place, heap: &Heap, out: &mut Vec<State>) -> Result<bool, StopReason> {
        let code = &self.program.method(place.method).code;
        let pc = place.pc as usize;
        let (handlers, escapes) = code[pc].handlers(code.get(pc + 1));
        let thrown = heap.variable(self.names.thrown);
        // The types of nodes are exact.
        let class = thrown.and_then(|node| self.names.classes.get(&heap.node_type(node)));
        for handler in handlers {
            let takes = self.program.takes(handler.class, class.copied());
            if takes == Some(false) {
                continue;
            }
            let mut heap = heap.clone();
            heap.remove_variable(self.names.thrown);
            let mut target = handler.target;
            if let Statement::Assign {
                to,
                value: Value::Exception,
            } = code[target as usize]
            {
                let to = self.methods[place.method.index()].locals[to.index()];
                self.assign(&mut heap, to, thrown);
                target += 1;
            }
            self.arrive(place.method, target, heap, place.context, out)?;
            if takes == Some(true) {
                return Ok(false);
            }
        }
        Ok(escapes)
    }

    /// The states in which an exception leaves a method.
    fn throw(
        &self,
        method: MethodId,
        pc: Pc,
        mut heap: Heap,
        context: u32,
        out: &mut Vec<State>,
    ) -> Result<(), StopReason> {
        let thrown = self.names.thrown;
        heap.retain_variables(|one| one.is_constant() || one.is_marking() || one == thrown);
        let abstraction = &self.options.abstraction;
        let over = self.is_outermost(method, &heap);
        if self.leaks && !over && self.may_lose(&heap) {
            out.push(self.state(method, pc, &heap, context, Some(Fault::Leak))?);
        }
        if abstraction.garbage_collection || self.leaks {
            self.grammar.collect_garbage(&mut heap);
        }
        if let Some(balance) = self.balance {
            balance.annotate(&mut heap);
        }
        if !self.options.concrete {
            self.grammar
                .abstract_heap(&mut heap, &abstraction.at_the_end());
        }
        out.push(self.state(method, pc, &heap, context, Some(Fault::Thrown))?);
        Ok(())
    }
}
