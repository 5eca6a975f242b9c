//! A concrete interpreter: the meaning of pointer programs, step by step on real objects.
//!
//! It is what every abstraction of them is held against, so it is as plain as can be. What a
//! program does not say ([`Operand::Unknown`]) is [`Value::Undefined`] here. A branch that asks for
//! it goes either way, and so does [`Statement::Choose`]: the caller gives a function that picks.
//!
//! ```
//! use droste_pointer::interpret::{Heap, Interpreter, Outcome, Value};
//! # use droste_pointer::*;
//! # let program = PointerProgram {
//! #     classes: vec![Class {
//! #         name: "List".into(), parent: None, is_open: false, is_library: false, fields: vec![],
//! #         unused: vec![],
//! #     }],
//! #     fields: vec![],
//! #     methods: vec![Method {
//! #         class: ClassId(0), name: "m".into(), signature: "<List: List m(List)>".into(),
//! #         is_static: true, parameters: vec![Kind::Reference], returns: Some(Kind::Reference),
//! #         locals: vec![Local { name: "x".into(), kind: Kind::Reference }],
//! #         code: vec![
//! #             Statement::Assign { to: LocalId(0), value: droste_pointer::Value::Parameter(0) },
//! #             Statement::Return(Some(Operand::Local(LocalId(0)))),
//! #         ],
//! #         lines: vec![1, 1], passed_by: vec![], file: 0,
//! #     }],
//! #     files: vec!["List.java".into()],
//! #     entry: MethodId(0),
//! #     of_null: None,
//! # };
//! let mut run = Interpreter::new(&program, Heap::default(), Value::Undefined, vec![Value::Null]);
//! let outcome = run.run(100, |_| 0, |_| ());
//! assert_eq!(outcome, Outcome::Returned(Some(Value::Null)));
//! ```

use crate::{
    Callees, ClassId, Condition, FieldId, Kind, LocalId, MethodId, Operand, Pc, PointerProgram,
    Statement, Value as Source,
};

/// An object: an index into [`Heap::objects`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u32);

/// What a variable or a field holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Value {
    /// Nothing yet, or something the program does not say.
    #[default]
    Undefined,
    /// No object.
    Null,
    /// An object.
    Object(ObjectId),
    /// A number, a character, or a boolean.
    Int(i64),
}

/// An object with its fields.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Object {
    /// Its class.
    pub class: ClassId,
    /// What its fields hold.
    pub fields: Vec<(FieldId, Value)>,
}

/// All objects, also those that are no longer referenced.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Heap {
    /// By their ids.
    pub objects: Vec<Object>,
}

impl Heap {
    /// A new object whose fields hold what Java says they hold at first.
    pub fn allocate(&mut self, program: &PointerProgram, class: ClassId) -> ObjectId {
        let fields = program.class(class).fields.iter();
        let fields = fields.map(|&(field, kind)| {
            let value = match kind.default_value() {
                Operand::Int(value) => Value::Int(value),
                _ => Value::Null,
            };
            (field, value)
        });
        self.objects.push(Object {
            class,
            fields: fields.collect(),
        });
        ObjectId(self.objects.len() as u32 - 1)
    }

    /// The object of this id.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.0 as usize]
    }

    /// What a field of an object holds, undefined if it has no such field.
    pub fn field(&self, id: ObjectId, field: FieldId) -> Value {
        let fields = &self.object(id).fields;
        fields
            .iter()
            .find(|(one, _)| *one == field)
            .map_or(Value::Undefined, |&(_, value)| value)
    }

    /// Sets a field of an object.
    pub fn set_field(&mut self, id: ObjectId, field: FieldId, value: Value) {
        let fields = &mut self.objects[id.0 as usize].fields;
        match fields.iter_mut().find(|(one, _)| *one == field) {
            Some((_, old)) => *old = value,
            None => fields.push((field, value)),
        }
    }
}

/// A method that is running.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// Which.
    pub method: MethodId,
    /// The statement that is next. While a method that was called runs: the call.
    pub pc: Pc,
    /// What its variables hold.
    pub locals: Vec<Value>,
    /// The object it was called on.
    pub this: Value,
    /// What it was called with.
    pub parameters: Vec<Value>,
}

/// How a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// The first method has returned, perhaps with a value.
    Returned(Option<Value>),
    /// A field of null is read or written, or a method called on null, and nobody catches that.
    NullDereference,
    /// The same with a reference that is not known.
    UnknownDereference,
    /// An exception has left the program.
    Thrown,
    /// No handler takes an exception, and where it goes is not followed.
    NotFollowed,
    /// The object has a class for which the call has no method.
    NoMethod,
    /// There were as many steps as are allowed.
    StepLimit,
}

/// A run of a program.
#[derive(Clone, Debug)]
pub struct Interpreter<'a> {
    program: &'a PointerProgram,
    heap: Heap,
    frames: Vec<Frame>,
    thrown: Value,
    /// Whether a value that the program does not say is chosen.
    any_values: bool,
}

impl<'a> Interpreter<'a> {
    /// At the beginning of the program's first method, called with these.
    pub fn new(
        program: &'a PointerProgram,
        heap: Heap,
        this: Value,
        parameters: Vec<Value>,
    ) -> Interpreter<'a> {
        let mut interpreter = Interpreter {
            program,
            heap,
            frames: Vec::new(),
            thrown: Value::Undefined,
            any_values: false,
        };
        interpreter.enter(program.entry, this, parameters);
        interpreter
    }

    /// The same, but a value that the program does not say is any one of its kind, which is chosen when
    /// it is read: null or an object, or a small number.
    #[must_use]
    pub fn with_any_values(self) -> Self {
        Interpreter {
            any_values: true,
            ..self
        }
    }

    /// The objects.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// The exception that was raised last, if it is known.
    pub fn thrown(&self) -> Value {
        self.thrown
    }

    /// The methods that are running, the innermost last. Empty when the first has returned.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Goes on until the run ends, at most for `limit` steps.
    ///
    /// `choose` is asked to pick one of several ways, by number. `visit` sees each configuration
    /// before its statement is executed.
    pub fn run(
        &mut self,
        limit: u64,
        mut choose: impl FnMut(usize) -> usize,
        mut visit: impl FnMut(&Interpreter<'a>),
    ) -> Outcome {
        for _ in 0..limit {
            visit(self);
            if let Some(outcome) = self.step(&mut choose) {
                return outcome;
            }
        }
        Outcome::StepLimit
    }

    /// Executes one statement. Says how the run ended, if it did.
    pub fn step(&mut self, choose: &mut dyn FnMut(usize) -> usize) -> Option<Outcome> {
        let program = self.program;
        let at = self.frames.len().checked_sub(1)?;
        let method = program.method(self.frames[at].method);
        let pc = self.frames[at].pc;
        let mut next = pc + 1;
        match &method.code[pc as usize] {
            Statement::Assign { to, value } => {
                let kind = method.locals[to.index()].kind;
                let value = match *value {
                    Source::Operand(operand) => self.chosen(self.operand(operand), kind, choose),
                    Source::Field(base, field) => match self.dereference(base) {
                        Ok(object) => {
                            let value = self.chosen(self.heap.field(object, field), kind, choose);
                            if self.any_values {
                                self.heap.set_field(object, field, value);
                            }
                            value
                        }
                        Err(outcome) => return self.fail(outcome, choose),
                    },
                    Source::New(class) => Value::Object(self.heap.allocate(program, class)),
                    Source::IsInstance(local, class) => match self.local(local) {
                        Value::Object(object) => {
                            let own = self.heap.object(object).class;
                            Value::Int(program.is_subclass(own, class).into())
                        }
                        Value::Null => Value::Int(0),
                        Value::Undefined | Value::Int(_) => Value::Undefined,
                    },
                    Source::Fits {
                        value,
                        class,
                        trusting,
                    } => match self.local(value) {
                        Value::Object(object) => {
                            let own = self.heap.object(object).class;
                            Value::Int(program.is_subclass(own, class).into())
                        }
                        Value::Null => Value::Int(1),
                        Value::Undefined | Value::Int(_) if trusting => Value::Int(1),
                        Value::Undefined | Value::Int(_) => Value::Undefined,
                    },
                    Source::This => self.frames[at].this,
                    Source::Parameter(number) => {
                        let parameters = &self.frames[at].parameters;
                        parameters.get(number as usize).copied().unwrap_or_default()
                    }
                    // Handlers are entered behind this.
                    Source::Exception => Value::Undefined,
                };
                self.frames[at].locals[to.index()] = value;
            }
            Statement::Store { base, field, value } => {
                let value = self.operand(*value);
                match self.dereference(*base) {
                    Ok(object) => {
                        let class = self.heap.object(object).class;
                        let kind = program.class(class).field(*field);
                        let value = self.chosen(value, kind.unwrap_or(Kind::Reference), choose);
                        self.heap.set_field(object, *field, value);
                    }
                    Err(outcome) => return self.fail(outcome, choose),
                }
            }
            Statement::Call {
                to,
                receiver,
                arguments,
                callees,
            } => {
                let parameters: Vec<Value> =
                    arguments.iter().map(|&one| self.operand(one)).collect();
                let this = receiver.map_or(Value::Undefined, |one| self.local(one));
                let object = receiver.map(|one| self.dereference(one));
                if let Callees::Unavailable(_) = callees {
                    // An object that is not known is taken to be there.
                    if object == Some(Err(Outcome::NullDereference)) {
                        return self.fail(Outcome::NullDereference, choose);
                    }
                    if let Some(to) = to {
                        let kind = method.locals[to.index()].kind;
                        let value = self.chosen(Value::Undefined, kind, choose);
                        self.frames[at].locals[to.index()] = value;
                    }
                } else {
                    let callee = match (object, callees) {
                        (Some(Err(outcome)), _) => return self.fail(outcome, choose),
                        (_, Callees::One(callee)) => Some(*callee),
                        (Some(Ok(object)), _) => callees.for_class(self.heap.object(object).class),
                        (None, _) => None,
                    };
                    let Some(callee) = callee else {
                        return Some(Outcome::NoMethod);
                    };
                    let kinds = program.method(callee).parameters.iter();
                    let parameters = parameters.into_iter().zip(kinds);
                    let parameters = parameters
                        .map(|(value, &kind)| self.chosen(value, kind, choose))
                        .collect();
                    self.enter(callee, this, parameters);
                    return None;
                }
            }
            Statement::Branch { condition, yes, no } => {
                next = if self.holds(*condition, choose) {
                    *yes
                } else {
                    *no
                };
            }
            Statement::Choose { targets } => {
                next = targets[choose(targets.len()) % targets.len()];
            }
            Statement::Goto(target) => next = *target,
            Statement::Return(value) => {
                let kind = method.returns.unwrap_or(Kind::Reference);
                let value = value.map(|one| self.chosen(self.operand(one), kind, choose));
                self.frames.pop();
                let Some(caller) = self.frames.last_mut() else {
                    return Some(Outcome::Returned(value));
                };
                let call = &program.method(caller.method).code[caller.pc as usize];
                if let Some(to) = call.defines() {
                    caller.locals[to.index()] = value.unwrap_or_default();
                }
                caller.pc += 1;
                return None;
            }
            Statement::Throw { value, .. } => {
                let value = self.operand(*value);
                return self.unwind(Outcome::Thrown, value, choose);
            }
            Statement::Require(base) => {
                if self.local(*base) == Value::Null {
                    return self.fail(Outcome::NullDereference, choose);
                }
            }
            Statement::Nop
            | Statement::Caught { .. }
            | Statement::Hand { .. }
            | Statement::Doubt(_) => {}
        }
        self.frames[at].pc = next;
        None
    }

    /// A statement fails. Null is an exception as well as an error.
    fn fail(
        &mut self,
        outcome: Outcome,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> Option<Outcome> {
        match outcome {
            Outcome::NullDereference => {
                let class = self.program.of_null;
                let object = class.map(|class| self.heap.allocate(self.program, class));
                let thrown = object.map_or(Value::Undefined, Value::Object);
                self.unwind(outcome, thrown, choose)
            }
            _ => Some(outcome),
        }
    }

    /// The statement of the innermost method has raised an exception: it goes to the nearest handler
    /// that takes it. If there is none, the run ends in this way.
    fn unwind(
        &mut self,
        outcome: Outcome,
        thrown: Value,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> Option<Outcome> {
        self.thrown = thrown;
        let class = match thrown {
            Value::Object(object) => Some(self.heap.object(object).class),
            _ => None,
        };
        while let Some(frame) = self.frames.last_mut() {
            let code = &self.program.method(frame.method).code;
            let pc = frame.pc as usize;
            if let Some(to) = code[pc].defines()
                && !self.any_values
            {
                frame.locals[to.index()] = Value::Undefined;
            }
            let (handlers, escapes) = code[pc].handlers(code.get(pc + 1));
            // There is no choice where it is known who takes it.
            let mut takes = |class_taken: Option<ClassId>| {
                let known = self.program.takes(class_taken, class);
                known.unwrap_or_else(|| choose(2) % 2 != 1)
            };
            if let Some(handler) = handlers.iter().find(|one| takes(one.class)) {
                frame.pc = handler.target;
                if let Statement::Assign {
                    to,
                    value: Source::Exception,
                } = code[frame.pc as usize]
                {
                    frame.locals[to.index()] = thrown;
                    frame.pc += 1;
                }
                return None;
            }
            if !escapes {
                return Some(match outcome {
                    Outcome::Thrown => Outcome::NotFollowed,
                    other => other,
                });
            }
            self.frames.pop();
        }
        Some(outcome)
    }

    /// Whether the next statement uses null.
    pub fn uses_null(&self) -> bool {
        let Some(frame) = self.frames.last() else {
            return false;
        };
        let method = self.program.method(frame.method);
        let base = method.code[frame.pc as usize].base();
        base.is_some_and(|base| self.local(base) == Value::Null)
    }

    /// A value in place of one that the program does not say, if that is wanted.
    fn chosen(&self, value: Value, kind: Kind, choose: &mut dyn FnMut(usize) -> usize) -> Value {
        if !self.any_values || value != Value::Undefined {
            return value;
        }
        let objects = self.heap.objects.len();
        match kind {
            Kind::Reference => match choose(objects + 1) % (objects + 1) {
                0 => Value::Null,
                object => Value::Object(ObjectId(object as u32 - 1)),
            },
            Kind::Boolean => Value::Int((choose(2) % 2) as i64),
            Kind::Number => Value::Int((choose(3) % 3) as i64),
        }
    }

    fn enter(&mut self, method: MethodId, this: Value, parameters: Vec<Value>) {
        let locals = vec![Value::Undefined; self.program.method(method).locals.len()];
        self.frames.push(Frame {
            method,
            pc: 0,
            locals,
            this,
            parameters,
        });
    }

    fn local(&self, local: LocalId) -> Value {
        self.frames
            .last()
            .map_or(Value::Undefined, |frame| frame.locals[local.index()])
    }

    fn operand(&self, operand: Operand) -> Value {
        match operand {
            Operand::Local(local) => self.local(local),
            Operand::Null => Value::Null,
            Operand::Int(value) => Value::Int(value),
            Operand::Unknown | Operand::Present => Value::Undefined,
        }
    }

    fn dereference(&self, local: LocalId) -> Result<ObjectId, Outcome> {
        match self.local(local) {
            Value::Object(object) => Ok(object),
            Value::Null => Err(Outcome::NullDereference),
            Value::Undefined | Value::Int(_) => Err(Outcome::UnknownDereference),
        }
    }

    fn holds(&self, condition: Condition, choose: &mut dyn FnMut(usize) -> usize) -> bool {
        let (left, right) = (self.operand(condition.left), self.operand(condition.right));
        let present = |one: Operand, other: Value| one == Operand::Present && other == Value::Null;
        if present(condition.left, right) || present(condition.right, left) {
            return !condition.equal;
        }
        if left == Value::Undefined || right == Value::Undefined {
            return choose(2) % 2 == 1;
        }
        (left == right) == condition.equal
    }
}
