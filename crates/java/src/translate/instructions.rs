//! What each instruction of the Java machine becomes.

use droste_pointer::{Callees, Condition, Kind, LocalId, MethodId, Operand, Statement, Value};

use super::{Known, Next, REFERENCE, Translator};
use crate::descriptor::{field_type, method_type, signature};
use crate::dynamic::{Dynamic, captured};
use crate::enums::{is_map, reads_map};
use crate::exceptions;
use crate::hierarchy::ClassIndex;
use crate::instruction::{Compute, Invoke, Member, Op, Slot, Test};
use crate::library;

impl Translator<'_, '_> {
    /// One instruction. Says whether control does not go on after it.
    pub(super) fn instruction(&mut self, at: usize) -> Result<bool, String> {
        // The body outlives the translator's borrow of itself.
        let body = self.body;
        let op = &body.instructions[at].op;
        self.builder.note_missing(op, self.method, self.line);
        match op {
            Op::Nop => {}
            Op::Push(operand, slot) => self.push(*operand, *slot),
            Op::Load(_, slot) => {
                let local = self.variable(at)?;
                let kind = self.locals[local.index()].kind;
                self.push(Operand::Local(local), Slot { kind, ..*slot });
            }
            Op::Store(slot, _) => self.store(at, *slot)?,
            Op::Increment(_) => {
                let local = self.variable(at)?;
                self.save(local);
                self.assign(local, Value::Operand(Operand::Unknown));
            }
            Op::Compute { pops, gives, what } => self.compute(at, *pops, *gives, *what)?,
            Op::Dup { count, below } => {
                let copied = self.pop_slots(*count)?;
                let under = self.pop_slots(*below)?;
                self.stack.extend(&copied);
                self.stack.extend(&under);
                self.stack.extend(&copied);
            }
            Op::Pop(count) => {
                self.pop_slots(*count)?;
            }
            Op::Swap => {
                let (top, under) = (self.pop()?, self.pop()?);
                self.stack.push(top);
                self.stack.push(under);
            }
            Op::GetField(member) => self.get_field(member)?,
            Op::PutField(member) => self.put_field(member)?,
            Op::GetStatic(member) => self.get_static(member)?,
            Op::PutStatic(member) => {
                let value = self.pop()?;
                self.initialise(&member.class)?;
                let to = format!(
                    "whoever reads static field {}.{}",
                    member.class, member.name
                );
                self.hand(to, &[value.operand]);
                self.warn(format!(
                    "static field {}.{}: writing it is ignored, reading it gives an unknown value",
                    member.class, member.name
                ));
            }
            Op::New(class) => self.new_object(class)?,
            Op::Invoke(how, member) => self.invoke(*how, member)?,
            Op::Dynamic(dynamic) => self.dynamic(at, dynamic)?,
            Op::Cast(to) => self.cast(at, to)?,
            Op::InstanceOf(class) => {
                let operand = self.pop()?.operand;
                let value = self.is_instance(operand, class);
                let kind = Kind::Boolean;
                self.push(value, Slot { kind, wide: false });
            }
            Op::Jump { test, target } => {
                self.jump(*test, *target)?;
                return Ok(true);
            }
            Op::Goto(target) => {
                self.flush(&mut []);
                let next = self.go(self.graph.block(*target))?;
                // Compilers jump back from the end of a loop: that is no part of its last line.
                let counts = body.is_of_its_line(at);
                let line = if counts { self.line } else { 0 };
                self.pieces[self.piece as usize].next = Some(Next {
                    to: next,
                    line,
                    counts,
                });
                return Ok(true);
            }
            Op::Switch { cases, default } => {
                self.switch(cases, *default)?;
                return Ok(true);
            }
            Op::Return { value } => {
                let value = if *value {
                    Some(self.pop()?.operand)
                } else {
                    None
                };
                self.emit(Statement::Return(value));
                return Ok(true);
            }
            Op::Throw => {
                self.throw(at)?;
                return Ok(true);
            }
            Op::Subroutine => {
                return Err(
                    "subroutines (jsr, ret) are not supported: compile for Java 7 or \
                            later"
                        .to_string(),
                );
            }
        }
        Ok(false)
    }

    fn store(&mut self, at: usize, slot: u16) -> Result<(), String> {
        let entry = self.pop()?;
        let local = self.variable(at)?;
        if entry.operand == Operand::Local(local) {
            return Ok(());
        }
        let saved = self.save(local);
        // `T x = e` gives x at once what is computed; `x = e` copies it from where it is computed.
        if let Operand::Local(value) = entry.operand
            && !saved
            && self.declares(at, slot)
            && self.locals[value.index()].name.starts_with("$s")
            && !self.stack.iter().any(|one| one.operand == entry.operand)
        {
            let reads_self = matches!(
                self.pieces[self.piece as usize].code.last(),
                Some((
                    Statement::Call { .. }
                        | Statement::Assign {
                            value: Value::Field(..),
                            ..
                        },
                    _
                ))
            );
            if reads_self
                && let Some((last, _)) = self.pieces[self.piece as usize].code.last_mut()
                && last.defines() == Some(value)
            {
                match last {
                    Statement::Assign { to, .. } => *to = local,
                    Statement::Call { to, .. } => *to = Some(local),
                    _ => {}
                }
                return Ok(());
            }
        }
        self.assign(local, Value::Operand(entry.operand));
        Ok(())
    }

    fn compute(
        &mut self,
        at: usize,
        pops: u8,
        gives: Option<Slot>,
        what: Compute,
    ) -> Result<(), String> {
        // The length is a number among others: only what is in an array is worth a word.
        let length = what == Compute::Array && pops == 1;
        match what {
            Compute::Arithmetic | Compute::Text | Compute::Unbox => {}
            Compute::Division => self.divide()?,
            Compute::Array | Compute::NewArray => {
                let map = what == Compute::Array && pops == 2 && reads_map(self.body, at);
                if what == Compute::NewArray {
                    self.check_lengths(pops)?;
                } else if !length && !map {
                    self.check_index(pops)?;
                }
                if !length && !map {
                    self.warn(
                        "arrays are not modelled: what they hold is unknown, and runs end where \
                         an index or a length is wrong and nobody catches that"
                            .to_string(),
                    );
                }
            }
            Compute::Monitor => {
                self.warn("`synchronized` is ignored: one thread is analysed".to_string());
            }
        }
        let operands = self.pop_slots(pops)?;
        let lowest = operands.first().map(|entry| entry.operand);
        let known = match (what, &operands[..]) {
            (Compute::NewArray, [one]) => match one.operand {
                Operand::Int(length) => Known::Array(length),
                _ => Known::Nothing,
            },
            _ if length => Known::Length,
            _ => Known::Nothing,
        };
        if let (Compute::Array | Compute::Monitor | Compute::Unbox, Some(lowest)) = (what, lowest) {
            self.may_be_null(lowest)?;
            self.require(lowest)?;
        }
        if let (Compute::Array, None, Some(stored)) = (what, gives, operands.last())
            && stored.slot.kind == Kind::Reference
        {
            self.hand("whoever reads the array".to_string(), &[stored.operand]);
        }
        if let Some(slot) = gives {
            let value = match (what, lowest) {
                // These are there, whatever they are.
                (Compute::NewArray | Compute::Text, _) if slot.kind == Kind::Reference => {
                    Operand::Present
                }
                _ => Operand::Unknown,
            };
            self.push(value, slot);
            if let Some(top) = self.stack.last_mut() {
                top.known = known;
            }
        }
        Ok(())
    }

    /// The number on top divides: by zero it fails.
    fn divide(&mut self) -> Result<(), String> {
        let class = exceptions::OF_DIVISIONS;
        match self.stack.last().map(|entry| entry.operand) {
            Some(Operand::Int(0)) => self.fails(class)?,
            Some(Operand::Int(_)) => return Ok(()),
            Some(divisor @ Operand::Local(_)) => self.fails_if(divisor, class)?,
            _ => self.may_raise(Some(class), "a division")?,
        }
        self.warn("a division: runs end where it is by zero and nobody catches that".to_string());
        Ok(())
    }

    /// The lengths of a new array are on top: none must be negative.
    fn check_lengths(&mut self, pops: u8) -> Result<(), String> {
        let lengths = self.stack.iter().rev().take(pops.into());
        let mut lengths: Vec<(Operand, Known)> =
            lengths.map(|one| (one.operand, one.known)).collect();
        if pops == 1
            && let Some(length) = self.number_before()
        {
            lengths = vec![(Operand::Int(length), Known::Nothing)];
        }
        let negative = |one: &(Operand, Known)| matches!(one.0, Operand::Int(length) if length < 0);
        let fine = |one: &(Operand, Known)| match *one {
            (Operand::Int(length), _) => length >= 0,
            (_, known) => known == Known::Length,
        };
        if lengths.iter().any(negative) {
            self.fails(exceptions::OF_LENGTHS)
        } else if lengths.iter().all(fine) {
            Ok(())
        } else {
            self.may_raise(Some(exceptions::OF_LENGTHS), "the length of a new array")
        }
    }

    /// An array, an index, and perhaps what is stored there are on top: there must be such an element.
    fn check_index(&mut self, pops: u8) -> Result<(), String> {
        let mut entries = Vec::new();
        let mut slots = 0;
        for entry in self.stack.iter().rev() {
            if slots >= pops {
                break;
            }
            slots += if entry.slot.wide { 2 } else { 1 };
            entries.push(entry);
        }
        entries.reverse();
        if let [array, index, ..] = entries[..]
            && let (Known::Array(length), Operand::Int(index)) = (array.known, index.operand)
        {
            if !(0..length).contains(&index) {
                return self.fails(exceptions::OF_INDICES);
            }
            // What is stored at once in a new array has its type, if the array has no other name: the
            // compiler has seen to that.
            let count = entries.len();
            let below = self.stack.iter().rev().nth(count);
            if below.is_some_and(|one| one.known == Known::Array(length)) {
                return Ok(());
            }
        }
        self.may_raise(None, "an element of an array")
    }

    /// The number on top, if the instruction before has put it there, also in another block.
    fn number_before(&self) -> Option<i64> {
        let before = self.at.checked_sub(1)?;
        match self.body.instructions[before].op {
            Op::Push(Operand::Int(number), _) if !self.is_entered(self.at) => Some(number),
            _ => None,
        }
    }

    /// The value stays what it is. A cast of null succeeds, and that of an object is decided by its
    /// class, where the class to which it is cast is one of the program.
    fn cast(&mut self, at: usize, to: &str) -> Result<(), String> {
        let top = self.stack.last().map(|entry| entry.operand);
        if top == Some(Operand::Null) || to == "java.lang.Object" || self.casts_what_is(at, to) {
            return Ok(());
        }
        let generic = self.casts_generic(at);
        if generic {
            self.builder.cast(self.method, self.line, to);
        } else {
            self.warn(format!(
                "a cast to {to}: runs end where it fails and nobody catches that"
            ));
        }
        let class = exceptions::OF_CASTS;
        let hierarchy = self.builder.hierarchy;
        let own = hierarchy.find(to);
        let own = own.filter(|&own| !hierarchy.classes[own].is_interface);
        let leaves = self.graph.escapes[self.block];
        let caught = !self.graph.handlers[self.block].is_empty();
        let followed = caught || (leaves && self.builder.follows);
        if let (Some(Operand::Local(value)), Some(own)) = (top, own) {
            self.raises |= leaves;
            let fits = self.fresh(Kind::Boolean);
            let value = Value::Fits {
                value,
                class: self.builder.class_id(own),
                trusting: generic && !followed,
            };
            self.assign(fits, value);
            return self.fails_if(Operand::Local(fits), class);
        }
        if generic && !followed {
            self.raises |= leaves;
            return Ok(());
        }
        self.may_raise(Some(class), &format!("a cast to {to}"))
    }

    /// Whether a cast is one of a variable that has just been found to have the type: `x instanceof T y`,
    /// or `if (x instanceof T) { T y = (T) x;`.
    fn casts_what_is(&self, at: usize, to: &str) -> bool {
        let code = &self.body.instructions;
        let Some(load) = at.checked_sub(1) else {
            return false;
        };
        // A copy of an array is one of that type.
        if let Op::Invoke(_, member) = &code[load].op
            && member.name == "clone"
            && member.class == to
            && to.starts_with('[')
            && !self.is_entered(at)
        {
            return true;
        }
        let Op::Load(slot, _) = code[load].op else {
            return false;
        };
        let asks = |jump: usize| {
            let Some(first) = jump.checked_sub(2) else {
                return false;
            };
            let same = matches!(code[first].op, Op::Load(one, _) if one == slot);
            let of_type = matches!(&code[jump - 1].op, Op::InstanceOf(one) if one == to);
            same && of_type && !self.is_entered(jump) && !self.is_entered(jump - 1)
        };
        // Either control falls through to here, or a single jump leads here.
        let target = code[load].at;
        let mut jumps = (0..code.len()).filter(|&one| match code[one].op {
            Op::Jump { target: to, .. } | Op::Goto(to) => to == target,
            _ => false,
        });
        let zero = |jump: usize, wanted: bool| matches!(code[jump].op, Op::Jump { test: Test::Zero { equal }, .. } if equal == wanted);
        if self.is_entered(at) {
            return false;
        }
        if !self.is_entered(load) {
            return load
                .checked_sub(1)
                .is_some_and(|jump| zero(jump, true) && asks(jump));
        }
        let falls = load.checked_sub(1).is_some_and(|before| {
            !matches!(
                code[before].op,
                Op::Goto(_) | Op::Return { .. } | Op::Throw | Op::Switch { .. } | Op::Subroutine
            )
        });
        let (only, more) = (jumps.next(), jumps.next());
        match only {
            Some(jump) if more.is_none() && !falls && !self.is_switched_to(target) => {
                zero(jump, false) && asks(jump)
            }
            _ => false,
        }
    }

    /// Whether a jump, a switch or an exception leads to an instruction.
    fn is_entered(&self, at: usize) -> bool {
        let target = self.body.instructions[at].at;
        let mut all = self.body.instructions.iter();
        let jumps = all.any(|one| match one.op {
            Op::Jump { target: to, .. } | Op::Goto(to) => to == target,
            _ => false,
        });
        jumps || self.is_switched_to(target)
    }

    /// Whether a switch or an exception leads to this position.
    fn is_switched_to(&self, target: u32) -> bool {
        let mut all = self.body.instructions.iter();
        let switches = all.any(|one| match &one.op {
            Op::Switch { cases, default } => {
                *default == target || cases.iter().any(|&(_, to)| to == target)
            }
            _ => false,
        });
        switches || self.body.handlers.iter().any(|one| one.target == target)
    }

    /// Whether a cast is one that the compiler makes by itself: its value comes at once from a field or a
    /// method whose type is a type variable. Of a method that is not at hand all that is known is that
    /// it gives any object.
    fn casts_generic(&self, at: usize) -> bool {
        let before = at
            .checked_sub(1)
            .filter(|_| at > self.graph.starts[self.block]);
        let hierarchy = &self.builder.hierarchy;
        match before.map(|before| &self.body.instructions[before].op) {
            Some(Op::GetField(member)) => {
                let field = hierarchy.field(member);
                field.is_some_and(|(_, field)| field.is_generic)
            }
            Some(Op::Invoke(_, member)) => {
                let class = hierarchy.find(&member.class);
                let method = class
                    .and_then(|class| hierarchy.lookup(class, &member.name, &member.descriptor));
                match method {
                    Some(method) => hierarchy.method(method).gives_generic,
                    None => member.descriptor.ends_with(")Ljava/lang/Object;"),
                }
            }
            _ => false,
        }
    }

    /// Whether something has a type. Null has none, and objects have classes; which of them implement
    /// an interface, or extend a class of a library, is not known.
    fn is_instance(&mut self, operand: Operand, class: &str) -> Operand {
        let local = match operand {
            Operand::Null => return Operand::Int(0),
            Operand::Local(local) => local,
            _ => return Operand::Unknown,
        };
        let to = self.fresh(Kind::Boolean);
        let hierarchy = self.builder.hierarchy;
        let own = hierarchy.find(class);
        if let Some(class) = own.filter(|&class| !hierarchy.classes[class].is_interface) {
            let class = self.builder.class_id(class);
            self.assign(to, Value::IsInstance(local, class));
            return Operand::Local(to);
        }
        let (none, some, rest) = (self.new_piece(), self.new_piece(), self.new_piece());
        let condition = Condition {
            left: operand,
            right: Operand::Null,
            equal: true,
        };
        self.emit(Statement::Branch {
            condition,
            yes: none,
            no: some,
        });
        for (piece, value) in [(none, Operand::Int(0)), (some, Operand::Unknown)] {
            self.piece = piece;
            self.assign(to, Value::Operand(value));
            self.then(piece, rest);
        }
        self.piece = rest;
        Operand::Local(to)
    }

    /// Objects come into the hands of somebody who is not at hand.
    fn hand(&mut self, to: String, operands: &[Operand]) {
        let mut objects = Vec::new();
        for operand in operands {
            if let Operand::Local(local) = *operand
                && self.locals[local.index()].kind == Kind::Reference
                && !objects.contains(&local)
            {
                objects.push(local);
            }
        }
        if !objects.is_empty() {
            let runs = Vec::new();
            self.emit(Statement::Hand { to, objects, runs });
        }
    }

    /// Nothing is known from here on: this is run.
    fn lose(&mut self, to: String, runs: &str) {
        let class = self.builder.class_id(self.method.0);
        self.emit(Statement::Hand {
            to,
            objects: Vec::new(),
            runs: vec![(class, runs.to_string())],
        });
    }

    /// Null is an error here.
    fn require(&mut self, operand: Operand) -> Result<(), String> {
        if let Operand::Local(_) | Operand::Null | Operand::Unknown = operand {
            let base = self.local(operand);
            self.emit(Statement::Require(base));
            self.catch_null()?;
        }
        Ok(())
    }

    /// A value that is not modelled is taken not to be null, unless somebody catches what happens then.
    fn may_be_null(&mut self, operand: Operand) -> Result<(), String> {
        match operand {
            Operand::Local(_) | Operand::Unknown => self.raise_or(Some(exceptions::OF_NULL), None),
            _ => Ok(()),
        }
    }

    fn get_field(&mut self, member: &Member) -> Result<(), String> {
        let base = self.pop()?;
        let one = field_type(&member.descriptor).ok_or("a field of a bad type")?;
        let slot = Slot {
            kind: one.kind,
            wide: one.wide,
        };
        let Some(field) = self.builder.field(member) else {
            self.warn(format!(
                "field {}.{} of a class that is not at hand: reading it gives an unknown value",
                member.class, member.name
            ));
            self.may_be_null(base.operand)?;
            self.require(base.operand)?;
            self.push(Operand::Unknown, slot);
            return Ok(());
        };
        let base = self.local(base.operand);
        let to = self.fresh(one.kind);
        self.assign(to, Value::Field(base, field));
        self.catch_null()?;
        self.push(Operand::Local(to), slot);
        Ok(())
    }

    fn put_field(&mut self, member: &Member) -> Result<(), String> {
        let value = self.pop()?.operand;
        let base = self.pop()?;
        let Some(field) = self.builder.field(member) else {
            self.warn(format!(
                "field {}.{} of a class that is not at hand: writing it is ignored",
                member.class, member.name
            ));
            self.may_be_null(base.operand)?;
            self.require(base.operand)?;
            let to = format!("whoever reads field {}.{}", member.class, member.name);
            self.hand(to, &[value]);
            return Ok(());
        };
        let base = self.local(base.operand);
        self.emit(Statement::Store { base, field, value });
        self.catch_null()?;
        Ok(())
    }

    fn get_static(&mut self, member: &Member) -> Result<(), String> {
        let one = field_type(&member.descriptor).ok_or("a field of a bad type")?;
        let slot = Slot {
            kind: one.kind,
            wide: one.wide,
        };
        // Java runs without its assertions unless told otherwise.
        if member.name == "$assertionsDisabled" {
            self.push(Operand::Int(1), slot);
            return Ok(());
        }
        self.initialise(&member.class)?;
        if is_map(member) || (member.class == "java.lang.System" && slot.kind == Kind::Reference) {
            self.push(Operand::Present, slot);
            return Ok(());
        }
        self.warn(format!(
            "static field {}.{}: reading it gives an unknown value",
            member.class, member.name
        ));
        let own = self.builder.class(&member.class).is_some();
        // Arrays of numbers hold no objects.
        let numbers = member.descriptor.starts_with('[') && !member.descriptor.contains('L');
        let plain = numbers || is_of_library(&one.name) || self.is_plain_enum(&one.name);
        if own && one.kind == Kind::Reference && !plain {
            self.emit(Statement::Hand {
                to: format!("what static field {}.{} holds", member.class, member.name),
                objects: Vec::new(),
                runs: Vec::new(),
            });
        }
        // What libraries have in static fields is there: `System.out`.
        let there = !own && one.kind == Kind::Reference;
        let value = if there {
            Operand::Present
        } else {
            Operand::Unknown
        };
        self.push(value, slot);
        Ok(())
    }

    fn new_object(&mut self, class: &str) -> Result<(), String> {
        self.initialise(class)?;
        let own = self.builder.class(class);
        let known = own.or_else(|| {
            let is_exception = exceptions::parent(class).is_some();
            is_exception.then(|| self.builder.exception(class))
        });
        if let Some(class) = known {
            let to = self.fresh(Kind::Reference);
            self.assign(to, Value::New(class));
            self.push(Operand::Local(to), REFERENCE);
        } else {
            self.warn(format!(
                "objects of {class} are not modelled: the class is not at hand"
            ));
            self.push(Operand::Present, REFERENCE);
        }
        Ok(())
    }

    fn invoke(&mut self, how: Invoke, member: &Member) -> Result<(), String> {
        let types = method_type(&member.descriptor).ok_or("a method of a bad type")?;
        let mut arguments = Vec::new();
        for parameter in types.parameters.iter().rev() {
            let entry = self.pop()?;
            if entry.slot.wide != parameter.wide {
                return Err("an argument of another size than the parameter".to_string());
            }
            arguments.push(entry.operand);
        }
        arguments.reverse();
        let receiver = if how == Invoke::Static {
            self.initialise(&member.class)?;
            None
        } else {
            Some(self.pop()?.operand)
        };
        if is_null_check(member)
            && let Some(&checked) = arguments.first()
        {
            self.require(checked)?;
            self.push(checked, REFERENCE);
            return Ok(());
        }
        let constructor = how == Invoke::Special && member.name == "<init>";
        // What may be an object of the program.
        let given = arguments.iter().zip(&types.parameters);
        let given = given.filter(|(_, one)| !is_of_library(&one.name));
        let mut given: Vec<Operand> = given.map(|(&operand, _)| operand).collect();
        let callees = match how {
            Invoke::Virtual => self.virtual_callees(member)?,
            Invoke::Static | Invoke::Special => self.builder.exact(member).map(Callees::One),
        };
        let callees = match callees {
            Some(callees) => callees,
            None if constructor => {
                // What those of exceptions do matters to nobody.
                let plain = "java.lang.Object";
                if member.class != plain && exceptions::parent(&member.class).is_none() {
                    self.warn(format!(
                        "the constructor of {} is not run: the class is not at hand",
                        member.class
                    ));
                }
                let signature = signature(&member.class, &member.name, &types);
                if arguments.len() == 1
                    && let Some(number) = self.number_before()
                {
                    arguments[0] = Operand::Int(number);
                }
                let runs = library::constructor_runs(member);
                // What it runs of a class that extends this one may raise anything.
                let this = self.webs.parameters.first();
                let this = this.map(|&one| Operand::Local(LocalId(one as u32)));
                let own = runs && self.info.name == "<init>" && receiver == this;
                if own || library::constructor_raises(member, &arguments) {
                    self.may_raise(None, &signature)?;
                }
                if runs {
                    given.extend(receiver);
                }
                self.hand(signature, &given);
                return self.fill_in(member, receiver, &arguments);
            }
            None => {
                let signature = signature(&member.class, &member.name, &types);
                let (harmless, ordinary) = self.is_harmless(member);
                if !harmless {
                    self.raise_or(None, (!ordinary).then_some(signature.as_str()))?;
                } else if let Some(receiver) = receiver {
                    self.may_be_null(receiver)?;
                }
                self.warn(format!(
                    "the code of {signature} is not at hand: its result is unknown, and it is \
                     taken to change no object"
                ));
                if is_reflection(member) {
                    self.lose(signature.clone(), "or change anything");
                } else if !is_quiet(member) && !self.is_of_enums(member) {
                    given.extend(receiver.filter(|_| !is_of_library(&member.class)));
                    self.hand(signature.clone(), &given);
                }
                if library::ends_program(member) {
                    self.emit(Statement::Throw {
                        value: Operand::Unknown,
                        handlers: Vec::new(),
                        escapes: false,
                    });
                    self.piece = self.new_piece();
                }
                Callees::Unavailable(signature)
            }
        };
        self.overflow(&callees)?;
        let known = !matches!(callees, Callees::Unavailable(_));
        let receiver = match receiver {
            // Something is there.
            Some(Operand::Present) if !known => None,
            Some(operand) => Some(self.local(operand)),
            None => None,
        };
        let present = !known && gives_something(member);
        let wanted = types.result.as_ref().filter(|_| !present);
        let to = wanted.map(|result| self.fresh(result.kind));
        self.emit(Statement::Call {
            to,
            receiver,
            arguments,
            callees,
        });
        let handlers = self.handlers()?;
        if !handlers.is_empty() {
            let escapes = self.graph.escapes[self.block];
            self.emit(Statement::Caught { handlers, escapes });
        }
        if let Some(result) = types.result {
            self.push(
                to.map_or(Operand::Present, Operand::Local),
                Slot {
                    kind: result.kind,
                    wide: result.wide,
                },
            );
        }
        Ok(())
    }

    /// What the constructor of an exception of the library runs of a class that extends it: that
    /// notes where it was made.
    fn fill_in(
        &mut self,
        member: &Member,
        receiver: Option<Operand>,
        arguments: &[Operand],
    ) -> Result<(), String> {
        let class = &self.builder.hierarchy.classes[self.method.0];
        let fills = Member {
            class: class.name.clone(),
            name: "fillInStackTrace".to_string(),
            descriptor: "()Ljava/lang/Throwable;".to_string(),
        };
        let this = self.webs.parameters.first();
        let this = this.map(|&one| Operand::Local(LocalId(one as u32)));
        let above = self.info.name == "<init>" && class.parent.as_ref() == Some(&member.class);
        let Some(receiver) = receiver.filter(|&one| above && Some(one) == this) else {
            return Ok(());
        };
        if exceptions::parent(&member.class).is_none() {
            return Ok(());
        }
        let receivers = self.builder.hierarchy.receivers(&fills);
        if receivers.iter().all(|(_, method)| method.is_none()) {
            return Ok(());
        }
        // The last of four parameters says whether it is done.
        let mut rest = None;
        if let [_, _, _, writable] = *arguments {
            let (runs, skips) = (self.new_piece(), self.new_piece());
            let condition = Condition {
                left: writable,
                right: Operand::Int(0),
                equal: true,
            };
            self.emit(Statement::Branch {
                condition,
                yes: skips,
                no: runs,
            });
            self.piece = runs;
            rest = Some(skips);
        }
        self.push(receiver, REFERENCE);
        self.invoke(Invoke::Virtual, &fills)?;
        self.pop()?;
        if let Some(rest) = rest {
            self.then(self.piece, rest);
            self.piece = rest;
        }
        Ok(())
    }

    /// Whether a method of the library is one of all enums that nobody can override.
    fn is_of_enums(&self, member: &Member) -> bool {
        let hierarchy = self.builder.hierarchy;
        let own = |class: ClassIndex| hierarchy.supertypes(class);
        let is_enum = member.class == "java.lang.Enum"
            || hierarchy
                .find(&member.class)
                .is_some_and(|class| own(class).iter().any(|one| one == "java.lang.Enum"));
        is_enum
            && matches!(member.name.as_str(), "ordinal" | "name")
            && member.descriptor.starts_with("()")
    }

    /// Whether a type is that of an enum without methods, or of arrays of it: nobody can run anything on
    /// what is there.
    fn is_plain_enum(&self, name: &str) -> bool {
        let hierarchy = self.builder.hierarchy;
        let Some(class) = hierarchy.find(name.trim_end_matches("[]")) else {
            return false;
        };
        let below = hierarchy.concrete_of(&hierarchy.classes[class].name);
        let class = &hierarchy.classes[class];
        let mut methods = class.methods.iter();
        let plain = methods.all(|one| one.is_static || one.name == "<init>");
        let of_enums = class.parent.as_deref() == Some("java.lang.Enum");
        let plain = plain && class.interfaces.is_empty();
        of_enums && plain && !class.is_abstract && below == 1
    }

    /// Whether a method of the library certainly raises nothing, and whether nobody expects it to.
    fn is_harmless(&self, member: &Member) -> (bool, bool) {
        // A class of the program may extend the one of the library.
        let open =
            member.name != "getClass" && !self.builder.hierarchy.receivers(member).is_empty();
        let harmless = (library::is_harmless(member) && !open) || self.is_of_enums(member);
        (harmless, harmless || library::is_ordinary(member))
    }

    /// Where somebody catches it, calls of methods that may be far down the stack may overflow it.
    fn overflow(&mut self, callees: &Callees) -> Result<(), String> {
        let deep = &self.builder.deep;
        let mut called = callees.methods();
        let may = deep.contains(&self.method) && called.any(|one| self.builder.is_deep(one));
        if self.graph.takes_overflow[self.block] {
            let called: Vec<MethodId> = callees.methods().collect();
            self.builder.note_overflow(self.method, self.line, &called);
        }
        if may {
            self.raise_or(Some(exceptions::OF_CALLS), None)?;
        }
        Ok(())
    }

    fn virtual_callees(&mut self, member: &Member) -> Result<Option<Callees>, String> {
        if let Some(method) = self.builder.exact_private(member) {
            return Ok(Some(Callees::One(method)));
        }
        let receivers = self.builder.hierarchy.receivers(member);
        // Where no class has the method, it is one of the library.
        if receivers.iter().all(|(_, method)| method.is_none()) {
            return Ok(None);
        }
        let mut table: Vec<(ClassIndex, MethodId)> = Vec::new();
        for (class, method) in receivers {
            let method = match method {
                Some(method) => self.builder.reference(method),
                // A class that inherits it from the library.
                None => self
                    .builder
                    .library(member)
                    .ok_or("a method of a bad type")?,
            };
            table.push((class, method));
        }
        let first = table[0].1;
        let at_hand = self.builder.hierarchy.find(&member.class).is_some();
        if at_hand && table.iter().all(|&(_, method)| method == first) {
            return Ok(Some(Callees::One(first)));
        }
        let mut table: Vec<_> = table
            .into_iter()
            .map(|(class, method)| (self.builder.class_id(class), method))
            .collect();
        table.sort_unstable();
        Ok(Some(Callees::Virtual(table)))
    }

    /// What is linked when the program runs: lambdas are objects, the rest is unknown.
    fn dynamic(&mut self, at: usize, dynamic: &Dynamic) -> Result<(), String> {
        let types = method_type(&dynamic.descriptor).ok_or("a method of a bad type")?;
        let mut arguments = Vec::new();
        for _ in &types.parameters {
            arguments.push(self.pop()?.operand);
        }
        arguments.reverse();
        if dynamic.lambda.is_some() {
            return self.lambda(at, dynamic, &arguments);
        }
        let concatenates = dynamic.linker == "java.lang.invoke.StringConcatFactory";
        let linked = format!("<{}: {}>", dynamic.linker, dynamic.name);
        self.raise_or(None, (!concatenates).then_some(linked.as_str()))?;
        self.warn(if concatenates {
            "strings are not modelled: the result is unknown".to_string()
        } else {
            format!("the result of `{}` is unknown", dynamic.name)
        });
        let given = arguments.iter().zip(&types.parameters);
        let given = given.filter(|(_, one)| !is_of_library(&one.name));
        let given: Vec<Operand> = given.map(|(&operand, _)| operand).collect();
        let to = if concatenates {
            "string concatenation".to_string()
        } else {
            linked
        };
        self.hand(to, &given);
        if let Some(result) = types.result {
            let there = concatenates && result.kind == Kind::Reference;
            self.push(
                if there {
                    Operand::Present
                } else {
                    Operand::Unknown
                },
                Slot {
                    kind: result.kind,
                    wide: result.wide,
                },
            );
        }
        Ok(())
    }

    /// A new object with the captured values.
    fn lambda(&mut self, at: usize, dynamic: &Dynamic, captures: &[Operand]) -> Result<(), String> {
        let (class, method) = self.method;
        let position = self.body.instructions[at].at;
        let outer = &self.builder.hierarchy.classes[class].name;
        let name = format!("{outer}$lambda${method}${position}");
        let Some(id) = self.builder.lambda(&name, dynamic, class, self.line) else {
            // Either everything is translated once more, or nobody knows what this is.
            self.lose(format!("the lambda for `{}`", dynamic.name), "anything");
            self.push(Operand::Unknown, REFERENCE);
            return Ok(());
        };
        let to = self.fresh(Kind::Reference);
        self.assign(to, Value::New(id));
        for (number, &value) in captures.iter().enumerate() {
            let field = self.builder.field(&captured(&name, number));
            let field = field.ok_or("a lambda without its values")?;
            self.emit(Statement::Store {
                base: to,
                field,
                value,
            });
        }
        self.push(Operand::Local(to), REFERENCE);
        Ok(())
    }

    fn jump(&mut self, test: Test, target: u32) -> Result<(), String> {
        let (mut sides, equal) = match test {
            Test::Null { equal } => ([self.pop()?.operand, Operand::Null], equal),
            Test::Zero { equal } => ([self.pop()?.operand, Operand::Int(0)], equal),
            Test::Same { equal } => {
                let right = self.pop()?.operand;
                ([self.pop()?.operand, right], equal)
            }
            Test::Order { pops } => {
                self.pop_slots(pops)?;
                ([Operand::Unknown; 2], true)
            }
        };
        self.flush(&mut sides);
        let [left, right] = sides;
        let taken = self.graph.block(target);
        let other = self.block + 1;
        if other >= self.graph.len() {
            return Err("control runs off the end of the code".to_string());
        }
        let decided = match (left, right) {
            (Operand::Null, Operand::Null) => Some(equal),
            (Operand::Int(a), Operand::Int(b)) => Some((a == b) == equal),
            (Operand::Present, Operand::Null) | (Operand::Null, Operand::Present) => Some(!equal),
            _ => None,
        };
        if let Some(decided) = decided {
            let next = self.go(if decided { taken } else { other })?;
            self.then(self.piece, next);
            return Ok(());
        }
        let forward = taken > self.block;
        let (taken, other) = (self.go(taken)?, self.go(other)?);
        if left == Operand::Unknown || right == Operand::Unknown {
            self.emit(Statement::Choose {
                targets: vec![other, taken],
            });
        } else if forward {
            // Compilers jump over what is not to be done: the source asked the opposite.
            let condition = Condition {
                left,
                right,
                equal: !equal,
            };
            self.emit(Statement::Branch {
                condition,
                yes: other,
                no: taken,
            });
        } else {
            let condition = Condition { left, right, equal };
            self.emit(Statement::Branch {
                condition,
                yes: taken,
                no: other,
            });
        }
        Ok(())
    }

    fn switch(&mut self, cases: &[(i32, u32)], default: u32) -> Result<(), String> {
        let mut operand = [self.pop()?.operand];
        self.flush(&mut operand);
        let operand = operand[0];
        if let Operand::Int(value) = operand {
            let found = cases.iter().find(|&&(key, _)| i64::from(key) == value);
            let target = found.map_or(default, |&(_, target)| target);
            let next = self.go(self.graph.block(target))?;
            self.then(self.piece, next);
            return Ok(());
        }
        // Numbers that can be told apart are asked for, the others go anywhere.
        let exact = |key: i32| operand != Operand::Unknown && (-1..=1).contains(&key);
        let mut rest = vec![self.go(self.graph.block(default))?];
        for &(key, target) in cases {
            let target = self.go(self.graph.block(target))?;
            if exact(key) {
                let right = Operand::Int(i64::from(key));
                let condition = Condition {
                    left: operand,
                    right,
                    equal: true,
                };
                let no = self.new_piece();
                self.emit(Statement::Branch {
                    condition,
                    yes: target,
                    no,
                });
                self.piece = no;
            } else {
                rest.push(target);
            }
        }
        rest.sort_unstable();
        rest.dedup();
        if let [only] = rest[..] {
            self.then(self.piece, only);
        } else {
            self.emit(Statement::Choose { targets: rest });
        }
        Ok(())
    }

    /// The class of an object that the instruction before has made, if nothing else leads here.
    fn made_before(&self, at: usize) -> Option<&str> {
        let before = &self.body.instructions[at.checked_sub(1)?].op;
        let Op::Invoke(Invoke::Special, member) = before else {
            return None;
        };
        let begins = at == self.graph.starts[self.block];
        let mut blocks = self.graph.next.iter().enumerate();
        let jumps = blocks.any(|(one, next)| one + 1 != self.block && next.contains(&self.block));
        (member.name == "<init>" && !(begins && jumps)).then_some(&member.class)
    }

    fn throw(&mut self, at: usize) -> Result<(), String> {
        let value = self.pop()?.operand;
        if !self.is_caught(value) {
            self.require(value)?;
        }
        let handlers = self.handlers()?;
        let escapes = self.graph.escapes[self.block];
        let above = self
            .made_before(at)
            .map(|name| self.builder.hierarchy.exception_types(name));
        let taken = above.is_some_and(|above| {
            let mut taken = self.graph.handlers[self.block].iter();
            taken.any(|(_, class)| class.as_ref().is_some_and(|class| above.contains(class)))
        });
        if escapes && !taken {
            self.warn(
                "an exception may be thrown here: runs end where nobody catches it".to_string(),
            );
        }
        self.emit(Statement::Throw {
            value,
            handlers,
            escapes,
        });
        Ok(())
    }
}

/// Whether a type of the library has no subclasses in the program: objects of it are none of the
/// program's own.
fn is_of_library(name: &str) -> bool {
    let Some(simple) = name.strip_prefix("java.lang.") else {
        return false;
    };
    matches!(
        simple,
        "String" | "StringBuilder" | "StringBuffer" | "Class" | "Math"
    ) || library::is_box(simple)
}

/// Whether a method of the library does nothing but refuse null.
fn is_null_check(member: &Member) -> bool {
    member.class == "java.util.Objects" && member.name == "requireNonNull"
}

/// Whether it is a method of `java.lang.Object` that nobody can override, and that runs no other
/// method.
fn is_quiet(member: &Member) -> bool {
    matches!(
        (member.name.as_str(), member.descriptor.as_str()),
        ("getClass", "()Ljava/lang/Class;")
            | ("notify" | "notifyAll", "()V")
            | ("wait", "()V" | "(J)V" | "(JI)V")
    )
}

/// Whether a method of the library gives something that is not null.
fn gives_something(member: &Member) -> bool {
    if !member.descriptor.ends_with(';') {
        return false;
    }
    let name = member.name.as_str();
    match member.class.strip_prefix("java.lang.") {
        Some("String" | "StringBuilder" | "StringBuffer") => true,
        Some(simple) if library::is_box(simple) => name == "valueOf" || name == "toString",
        _ if member.class.starts_with('[') => name == "clone",
        _ => name == "getClass" && member.descriptor == "()Ljava/lang/Class;",
    }
}

/// Whether a method of the library can run or change anything, whatever it is given.
fn is_reflection(member: &Member) -> bool {
    let name = member.name.as_str();
    let sets = |prefix: &str| name.starts_with(prefix);
    match member.class.as_str() {
        "java.lang.reflect.Field" => sets("set") && name != "setAccessible",
        "java.lang.reflect.Method" | "java.lang.reflect.Constructor" => {
            name == "invoke" || name == "newInstance"
        }
        "java.lang.Class" => name == "newInstance" || name == "forName",
        "java.lang.invoke.MethodHandle" => sets("invoke"),
        "java.lang.invoke.VarHandle" => {
            !matches!(name, "get" | "getVolatile" | "getOpaque" | "getAcquire")
        }
        "sun.misc.Unsafe" | "jdk.internal.misc.Unsafe" => !sets("get"),
        class => {
            let updater = class.starts_with("java.util.concurrent.atomic.");
            updater && class.ends_with("FieldUpdater") && name != "get" && name != "newUpdater"
        }
    }
}
