//! What one statement does to an abstract heap: the abstract semantics of Heinen, Jansen, Katoen and
//! Noll's Juggrnaut, as ATTESTOR has it.
//!
//! A statement that touches a field needs to see it. If the field is hidden in a hyperedge, the rules
//! of the grammar that bring it to light are applied, each on a copy of the heap: one heap becomes
//! several, which together stand for the same concrete heaps.
//!
//! What is not modelled (numbers other than a few constants, arrays, results of methods whose code is not
//! available) is no node of the heap, so no variable points to it; a *note* beside a variable remembers that
//! its value is not modelled. A condition about such a value goes both ways.

use droste_heap::{Heap, Node, Selector, TypeId, Variable};
use droste_pointer::{
    Callees, ClassId, Condition, FieldId, Kind, LocalId, MethodId, Operand, Pc, Statement, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::machine::{Fault, Machine, State};

/// What may happen next.
pub(crate) enum Event {
    /// Control goes on here.
    Go(Pc, Heap),
    /// The method returns.
    Leave(Heap),
    /// This method is called; the heap has its parameters.
    Call(MethodId, Heap),
    /// A method without a body is called. The first heap has its parameters; the second one is how the
    /// program goes on if nothing is known of the method.
    Foreign(String, Heap, Heap),
    /// An exception is raised. The heap has it, if it is known.
    Throw(Heap),
    /// Something is wrong.
    Fault(Fault),
    /// There are too many heaps in which a field can be seen.
    GiveUp,
}

/// How the things of a program are called in heaps.
pub(crate) struct Names {
    /// The type of each class.
    pub(crate) types: Vec<TypeId>,
    /// The class of each type.
    pub(crate) classes: FxHashMap<TypeId, ClassId>,
    /// The selector of each field.
    pub(crate) selectors: Vec<Selector>,
    /// For each class, which fields heaps have, and what a new object holds there.
    pub(crate) fields: Vec<Vec<(FieldId, Kind)>>,
    /// `@this:`
    pub(crate) this: Variable,
    /// `@parameter0:` and so on.
    pub(crate) parameters: Vec<Variable>,
    /// `@return`
    pub(crate) result: Variable,
    /// `@thrown`: the exception that has left a method, if it is known.
    pub(crate) thrown: Variable,
    /// Variables that stay although they are dead: formulas name them.
    pub(crate) kept: Vec<Variable>,
    /// For variables of which formulas may ask: another one, which is there, at null, if the value of
    /// the first is not modelled.
    pub(crate) notes: FxHashMap<Variable, Variable>,
    /// The other way round.
    pub(crate) noted: FxHashMap<Variable, Variable>,
    /// For each type the selectors that lead to objects.
    pub(crate) references: FxHashMap<TypeId, Vec<Selector>>,
    /// The selectors that the grammar gives objects of a type.
    pub(crate) described: FxHashSet<(TypeId, Selector)>,
    /// Types that no rule has, of classes that extend one of which the grammar has objects.
    pub(crate) unruled: FxHashSet<TypeId>,
    /// References of objects inside of hyperedges that no rule gives them.
    pub(crate) blind: Vec<Selector>,
    /// The selectors that statements write.
    pub(crate) stored: Vec<Selector>,
}

impl Names {
    /// Whether the objects of this type have the field in heaps.
    fn has(&self, object: TypeId, field: FieldId) -> bool {
        match self.classes.get(&object) {
            Some(class) => self.fields[class.index()]
                .iter()
                .any(|(one, _)| *one == field),
            // A type that only the grammar knows: it says which selectors there are.
            None => true,
        }
    }

    /// The selectors that objects of this type have in heaps.
    pub(crate) fn selectors_of(&self, object: TypeId) -> Vec<Selector> {
        match self.classes.get(&object) {
            Some(class) => (self.fields[class.index()].iter())
                .map(|(field, _)| self.selectors[field.index()])
                .collect(),
            None => self.selectors.clone(),
        }
    }

    /// The selectors of objects of this type that lead to objects.
    pub(crate) fn references_of(&self, object: TypeId) -> &[Selector] {
        self.references.get(&object).map_or(&[], Vec::as_slice)
    }

    /// Whether a variable stays although it is dead, or what is noted of it.
    pub(crate) fn keeps(&self, variable: Variable) -> bool {
        let variable = self.noted.get(&variable).unwrap_or(&variable);
        self.kept.contains(variable)
    }

    /// Whether the value of a variable is not modelled.
    pub(crate) fn is_unmodelled(&self, heap: &Heap, variable: Variable) -> bool {
        let note = self.notes.get(&variable);
        note.is_some_and(|&note| heap.variable(note).is_some())
    }

    /// The variables whose values are not modelled.
    pub(crate) fn unmodelled(&self, heap: &Heap) -> impl Iterator<Item = Variable> {
        let all = heap.variables().iter();
        all.filter_map(|(one, _)| self.noted.get(one).copied())
    }

    /// A variable, or what is noted of it, is about to get another value: the other one goes.
    pub(crate) fn forget(&self, heap: &mut Heap, variable: Variable) {
        let other = self.notes.get(&variable);
        if let Some(&other) = other.or_else(|| self.noted.get(&variable)) {
            heap.remove_variable(other);
        }
    }

    /// It is noted that the value of a variable is not modelled.
    pub(crate) fn note(&self, heap: &mut Heap, variable: Variable) {
        heap.remove_variable(variable);
        if let (Some(&note), Some(null)) =
            (self.notes.get(&variable), heap.variable(Variable::NULL))
        {
            heap.set_variable(note, null);
        }
    }

    /// The heap without notes.
    pub(crate) fn shown(&self, mut heap: Heap) -> Heap {
        heap.retain_variables(|one| !self.noted.contains_key(&one));
        heap
    }

    /// The receiver and the parameters that a heap has.
    pub(crate) fn given(&self, heap: &Heap) -> Vec<Variable> {
        let all = heap.variables().iter().map(|&(variable, _)| variable);
        all.filter(|&one| self.receiver_or_parameter(one)).collect()
    }

    fn receiver_or_parameter(&self, variable: Variable) -> bool {
        variable == self.this || self.parameters.contains(&variable)
    }
}

impl Machine<'_> {
    /// Executes a statement; every way to go on is handed to `out`.
    pub(crate) fn execute(
        &self,
        method: MethodId,
        pc: Pc,
        mut heap: Heap,
        out: &mut impl FnMut(Event),
    ) {
        let locals = &self.methods[method.index()].locals;
        let variable = |local: LocalId| locals[local.index()];
        let next = pc + 1;
        match &self.program.method(method).code[pc as usize] {
            Statement::Nop | Statement::Caught { .. } | Statement::Doubt(_) => {
                out(Event::Go(next, heap));
            }
            Statement::Goto(target) => out(Event::Go(*target, heap)),
            Statement::Require(base) => match self.object(&heap, variable(*base)) {
                Err(fault @ Fault::NullDereference) => out(Event::Fault(fault)),
                // What is not known is taken to be there.
                Err(_) => {
                    self.assume(method, pc);
                    out(Event::Go(next, heap));
                }
                Ok(_) => out(Event::Go(next, heap)),
            },
            Statement::Hand { to, objects, runs } => {
                if self.options.compat || self.contracts.methods().contains(to) {
                    return out(Event::Go(next, heap));
                }
                let given = objects.iter().map(|&one| variable(one));
                let given: Vec<Variable> =
                    given.filter(|&one| heap.variable(one).is_some()).collect();
                let reached = heap.cut(&given).fragment;
                let objects_in = |heap: &Heap| {
                    let mut nodes = heap.nodes();
                    nodes.any(|node| !heap.node_type(node).is_constant())
                };
                if self.leaks && objects_in(&reached) {
                    self.keep(method, pc, to);
                    return out(Event::Fault(Fault::UnknownMemory));
                }
                let any = runs.first().filter(|_| objects.is_empty());
                let any = any.map(|(_, runs)| runs.as_str());
                if let Some(runs) = any.or_else(|| self.may_run(&reached, runs)) {
                    self.lose(method, pc, to, runs);
                    return out(Event::Fault(Fault::UnknownMemory));
                }
                out(Event::Go(next, heap));
            }
            Statement::Throw { value, .. } => {
                let thrown = Self::value(&heap, locals, *value);
                if let Some(node) = thrown.filter(|&node| !heap.node_type(node).is_constant()) {
                    heap.set_variable(self.names.thrown, node);
                }
                out(Event::Throw(heap));
            }
            Statement::Choose { targets } => {
                let mut seen: Vec<Pc> = Vec::new();
                for &target in targets {
                    if !seen.contains(&target) {
                        seen.push(target);
                        out(Event::Go(target, heap.clone()));
                    }
                }
            }
            Statement::Branch { condition, yes, no } => {
                match Self::decide(&heap, locals, condition) {
                    Some(true) => out(Event::Go(*yes, heap)),
                    Some(false) => out(Event::Go(*no, heap)),
                    None => {
                        if yes != no {
                            out(Event::Go(*yes, heap.clone()));
                        }
                        out(Event::Go(*no, heap));
                    }
                }
            }
            Statement::Return(value) => {
                let result = value.map(|value| Self::value(&heap, locals, value));
                heap.retain_variables(|one| one.is_constant() || one.is_marking());
                match result {
                    Some(Some(node)) => heap.set_variable(self.names.result, node),
                    Some(None) => self.names.note(&mut heap, self.names.result),
                    None => {}
                }
                out(Event::Leave(heap));
            }
            Statement::Assign { to, value } => {
                let to = variable(*to);
                match *value {
                    Value::Operand(operand) => {
                        let node = Self::value(&heap, locals, operand);
                        self.assign(&mut heap, to, node);
                        out(Event::Go(next, heap));
                    }
                    Value::This => {
                        let node = heap.remove_variable(self.names.this);
                        self.assign(&mut heap, to, node);
                        out(Event::Go(next, heap));
                    }
                    Value::Parameter(number) => {
                        let parameter = self.names.parameters[number as usize];
                        let node = heap.remove_variable(parameter);
                        self.assign(&mut heap, to, node);
                        out(Event::Go(next, heap));
                    }
                    // Handlers are entered behind this.
                    Value::Exception => {
                        self.assign(&mut heap, to, None);
                        out(Event::Go(next, heap));
                    }
                    Value::New(class) => {
                        let node = self.create(&mut heap, class);
                        self.assign(&mut heap, to, Some(node));
                        out(Event::Go(next, heap));
                    }
                    Value::IsInstance(local, class) => {
                        let is = heap.variable(variable(local));
                        let is = is.and_then(|node| self.is_instance(heap.node_type(node), class));
                        let is = is.map(|is| Operand::Int(is.into()));
                        let node = is.and_then(|is| Self::value(&heap, locals, is));
                        self.assign(&mut heap, to, node);
                        out(Event::Go(next, heap));
                    }
                    Value::Fits {
                        value,
                        class,
                        trusting,
                    } => {
                        let fits = heap.variable(variable(value)).and_then(|node| {
                            let object = heap.node_type(node);
                            (object == TypeId::NULL)
                                .then_some(true)
                                .or_else(|| self.is_instance(object, class))
                        });
                        let fits = fits.or(trusting.then_some(true));
                        let fits = fits.map(|fits| Operand::Int(fits.into()));
                        let node = fits.and_then(|fits| Self::value(&heap, locals, fits));
                        self.assign(&mut heap, to, node);
                        out(Event::Go(next, heap));
                    }
                    Value::Field(base, field) => match self.object(&heap, variable(base)) {
                        Ok(Some(node)) => {
                            self.reveal(heap, node, field, &mut |heap| {
                                let Some(mut heap) = heap else {
                                    return out(Event::GiveUp);
                                };
                                let selector = self.names.selectors[field.index()];
                                let target = heap.target(node, selector);
                                self.assign(&mut heap, to, target);
                                out(Event::Go(next, heap));
                            });
                        }
                        Ok(None) => {
                            self.assign(&mut heap, to, None);
                            out(Event::Go(next, heap));
                        }
                        Err(fault) => out(Event::Fault(fault)),
                    },
                }
            }
            Statement::Store { base, field, value } => match self.object(&heap, variable(*base)) {
                Ok(Some(node)) if self.names.has(heap.node_type(node), *field) => {
                    let target = Self::value(&heap, locals, *value);
                    self.reveal(heap, node, *field, &mut |heap| {
                        let Some(mut heap) = heap else {
                            return out(Event::GiveUp);
                        };
                        let selector = self.names.selectors[field.index()];
                        match target {
                            Some(target) => heap.set_selector(node, selector, target),
                            None if self.options.compat => {}
                            None => {
                                heap.remove_selector(node, selector);
                            }
                        }
                        out(Event::Go(next, heap));
                    });
                }
                Ok(_) => out(Event::Go(next, heap)),
                Err(fault) => out(Event::Fault(fault)),
            },
            Statement::Call {
                to,
                receiver,
                arguments,
                callees,
            } => {
                let mut object = None;
                if let Some(receiver) = receiver {
                    let unavailable = matches!(callees, Callees::Unavailable(_));
                    match self.object(&heap, variable(*receiver)) {
                        Ok(node) => object = node,
                        // An object that is not known is taken to be there.
                        Err(Fault::UnknownMemory) if unavailable => self.assume(method, pc),
                        Err(fault) => return out(Event::Fault(fault)),
                    }
                }
                let callee = match callees {
                    Callees::One(callee) => Some(*callee),
                    Callees::Unavailable(_) => None,
                    Callees::Virtual(table) => object.and_then(|node| {
                        let class = self.names.classes.get(&heap.node_type(node))?;
                        let found = table.iter().find(|(one, _)| one == class);
                        found.map(|&(_, callee)| callee)
                    }),
                };
                // If nobody knows what it does, its result is undefined. The front end has warned.
                let mut otherwise = Heap::new();
                if callee.is_none() {
                    otherwise = heap.clone();
                    if let Some(to) = to {
                        self.assign(&mut otherwise, variable(*to), None);
                    }
                }
                let values: Vec<Option<Node>> = arguments
                    .iter()
                    .map(|&argument| Self::value(&heap, locals, argument))
                    .collect();
                // A variable that is dead after the call makes no cutpoint. Nor does the one that
                // gets the result.
                let live = &self.methods[method.index()].live[next as usize];
                let result = to.map(variable);
                self.bury(&mut heap, method, live, result);
                if let Some(node) = object {
                    heap.set_variable(self.names.this, node);
                }
                for (&parameter, value) in self.names.parameters.iter().zip(values) {
                    if let Some(node) = value {
                        heap.set_variable(parameter, node);
                    }
                }
                match (callee, callees) {
                    (Some(callee), _) => out(Event::Call(callee, heap)),
                    (None, Callees::Unavailable(signature)) => {
                        out(Event::Foreign(signature.clone(), heap, otherwise));
                    }
                    (None, _) if self.options.compat => out(Event::Go(next, otherwise)),
                    // An object of a type that is no class of the program: nobody knows.
                    (None, _) => out(Event::Fault(Fault::UnknownMemory)),
                }
            }
        }
    }

    /// The place of the first statement of a method, and the heap with the variables that have been
    /// given something by then: receiver and parameters.
    pub(crate) fn named(&self, method: MethodId, mut heap: Heap) -> (Pc, Heap) {
        let locals = &self.methods[method.index()].locals;
        let code = &self.program.method(method).code;
        let given = |statement: &Statement| match *statement {
            Statement::Assign {
                to,
                value: Value::This,
            } => Some((to, self.names.this)),
            Statement::Assign {
                to,
                value: Value::Parameter(number),
            } => Some((to, self.names.parameters[number as usize])),
            _ => None,
        };
        let given: Vec<(LocalId, Variable)> = code.iter().map_while(given).collect();
        for &(to, variable) in &given {
            let node = heap.remove_variable(variable);
            self.assign(&mut heap, locals[to.index()], node);
        }
        // What it is given beyond its parameters is nothing to it.
        heap.retain_variables(|one| !self.names.receiver_or_parameter(one));
        (given.len() as Pc, heap)
    }

    /// Whether the statement of a state is a branch on something that is not modelled.
    pub(crate) fn is_guess(&self, state: State) -> bool {
        let place = self.place(state);
        // What the statement decides has been decided in the state before the fault.
        if place.fault.is_some() {
            return false;
        }
        let locals = &self.methods[place.method.index()].locals;
        match self
            .program
            .method(place.method)
            .code
            .get(place.pc as usize)
        {
            Some(Statement::Choose { .. }) => true,
            // Whether a handler takes what is not known.
            Some(Statement::Throw {
                value, handlers, ..
            }) => {
                let asks = handlers.iter().any(|one| one.class.is_some());
                let guarded = self.methods[place.method.index()].is_guarded;
                let heap = self.heap(state);
                (asks || guarded) && Self::value(&heap, locals, *value).is_none()
            }
            Some(Statement::Branch { condition, .. }) => {
                Self::decide(&self.stored_heap(state), locals, condition).is_none()
            }
            _ => false,
        }
    }

    /// Whether the run may end at the statement of a state by something that is not followed. What a
    /// contract says of a method is all that it does.
    pub(crate) fn is_doubt(&self, state: State) -> bool {
        let place = self.place(state);
        let code = &self.program.method(place.method).code;
        match code.get(place.pc as usize) {
            Some(Statement::Doubt(what)) => {
                place.fault.is_none() && !self.contracts.methods().contains(what)
            }
            _ => false,
        }
    }

    /// What happens to the caller's heap when a callee has returned: its result is assigned.
    pub(crate) fn after_call(&self, method: MethodId, pc: Pc, heap: &mut Heap) {
        let result = heap.remove_variable(self.names.result);
        self.names.forget(heap, self.names.result);
        heap.retain_variables(|one| !self.names.receiver_or_parameter(one));
        if let Statement::Call { to: Some(to), .. } = &self.program.method(method).code[pc as usize]
        {
            let to = self.methods[method.index()].locals[to.index()];
            self.assign(heap, to, result);
        }
    }

    /// Removes the variables of a method that are not live, and `dying`.
    pub(crate) fn bury(
        &self,
        heap: &mut Heap,
        method: MethodId,
        live: &[Variable],
        dying: Option<Variable>,
    ) {
        let locals = &self.methods[method.index()].sorted;
        heap.retain_variables(|one| {
            let one = self.names.noted.get(&one).copied().unwrap_or(one);
            if self.names.kept.contains(&one) {
                return true;
            }
            if locals.binary_search(&one).is_err() {
                return true;
            }
            Some(one) != dying && live.binary_search(&one).is_ok()
        });
    }

    /// Assigns an object or a number, or if there is none, something that is not modelled.
    pub(crate) fn assign(&self, heap: &mut Heap, to: Variable, node: Option<Node>) {
        match node {
            Some(node) => {
                self.names.forget(heap, to);
                heap.set_variable(to, node);
            }
            None if self.options.compat => {}
            None => self.names.note(heap, to),
        }
    }

    /// Whether a node of this type is an object of a class. The types of nodes are exact.
    fn is_instance(&self, object: TypeId, class: ClassId) -> Option<bool> {
        if object == TypeId::NULL {
            return Some(false);
        }
        let own = self.names.classes.get(&object)?;
        Some(self.program.is_subclass(*own, class))
    }

    /// The node of an operand, if it is defined.
    fn value(heap: &Heap, locals: &[Variable], operand: Operand) -> Option<Node> {
        match operand {
            Operand::Local(local) => heap.variable(locals[local.index()]),
            Operand::Null => heap.variable(Variable::NULL),
            Operand::Int(0) => heap.variable(Variable::ZERO),
            Operand::Int(1) => heap.variable(Variable::ONE),
            Operand::Int(-1) => heap.variable(Variable::MINUS_ONE),
            Operand::Int(_) | Operand::Unknown | Operand::Present => None,
        }
    }

    /// Whether a condition holds, if that is known.
    fn decide(heap: &Heap, locals: &[Variable], condition: &Condition) -> Option<bool> {
        // The same number on both sides needs no node.
        if let (Operand::Int(left), Operand::Int(right)) = (condition.left, condition.right) {
            return Some((left == right) == condition.equal);
        }
        let left = Self::value(heap, locals, condition.left);
        let right = Self::value(heap, locals, condition.right);
        let null = heap.variable(Variable::NULL);
        let present = |one: Operand, other: Option<Node>| {
            one == Operand::Present && other.is_some() && other == null
        };
        if present(condition.left, right) || present(condition.right, left) {
            return Some(!condition.equal);
        }
        Some((left? == right?) == condition.equal)
    }

    /// A method of these that may be run by somebody who has this heap. Rules may hide objects of all
    /// the classes that are in them.
    pub(crate) fn may_run<'r>(
        &self,
        heap: &Heap,
        runs: &'r [(ClassId, String)],
    ) -> Option<&'r str> {
        let has =
            |heap: &Heap, wanted: TypeId| heap.nodes().any(|node| heap.node_type(node) == wanted);
        let is_there = |wanted: TypeId| {
            let mut rules = self.grammar.rules().iter();
            let mut hidden = || rules.any(|rule| has(&rule.graph, wanted));
            has(heap, wanted) || (heap.hyperedge_count() > 0 && hidden())
        };
        let found = runs
            .iter()
            .find(|(class, _)| is_there(self.names.types[class.index()]));
        found.map(|(_, method)| method.as_str())
    }

    /// The object that a variable points to. As in ATTESTOR, if that is asked for, null and
    /// undefined values are no object, and nothing happens.
    fn object(&self, heap: &Heap, variable: Variable) -> Result<Option<Node>, Fault> {
        let fault = match heap.variable(variable) {
            Some(node) if heap.node_type(node) == TypeId::NULL => Fault::NullDereference,
            Some(node) => return Ok(Some(node)),
            None => Fault::UnknownMemory,
        };
        if self.options.compat {
            Ok(None)
        } else {
            Err(fault)
        }
    }

    /// The heaps in which a field of a node can be seen. `None` if there are too many.
    fn reveal(&self, heap: Heap, node: Node, field: FieldId, out: &mut impl FnMut(Option<Heap>)) {
        let selector = self.names.selectors[field.index()];
        if heap.target(node, selector).is_some() || !self.names.has(heap.node_type(node), field) {
            return out(Some(heap));
        }
        match self.grammar.reveal(&heap, node, selector) {
            None => out(None),
            // The field was never given a value that is modelled.
            Some(shown) if shown.is_empty() => out(Some(heap)),
            Some(shown) => shown.into_iter().for_each(|heap| out(Some(heap))),
        }
    }

    /// A new object.
    pub(crate) fn create(&self, heap: &mut Heap, class: ClassId) -> Node {
        let node = heap.add_node(self.names.types[class.index()]);
        for &(field, kind) in &self.names.fields[class.index()] {
            let value = Self::value(heap, &[], kind.default_value());
            if let Some(target) = value {
                heap.set_selector(node, self.names.selectors[field.index()], target);
            }
        }
        node
    }
}
