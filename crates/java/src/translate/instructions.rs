//! What each instruction of the Java machine becomes.

use droste_pointer::{Callees, Condition, Kind, MethodId, Operand, Statement, Value};

use super::{REFERENCE, Translator};
use crate::descriptor::{field_type, method_type, signature};
use crate::hierarchy::ClassIndex;
use crate::instruction::{Compute, Invoke, Member, Op, Slot, Test};

impl Translator<'_, '_> {
    /// One instruction. Says whether control does not go on after it.
    pub(super) fn instruction(&mut self, at: usize) -> Result<bool, String> {
        // The body outlives the translator's borrow of itself.
        let body = self.body;
        match &body.instructions[at].op {
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
            Op::Compute { pops, gives, what } => self.compute(*pops, *gives, *what)?,
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
                self.pop()?;
                self.warn(format!(
                    "static field {}.{}: writing it is ignored, reading it gives an unknown value",
                    member.class, member.name
                ));
            }
            Op::New(class) => self.new_object(class),
            Op::Invoke(how, member) => self.invoke(*how, member)?,
            Op::Dynamic { name, descriptor } => self.dynamic(name, descriptor)?,
            // The value stays what it is. A cast that fails ends the run, which is not modelled.
            Op::Cast => self.may_raise()?,
            Op::Jump { test, target } => {
                self.jump(*test, *target)?;
                return Ok(true);
            }
            Op::Goto(target) => {
                self.flush(&mut []);
                let next = self.go(self.graph.block(*target))?;
                self.then(self.piece, next);
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
                self.throw()?;
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

    fn compute(&mut self, pops: u8, gives: Option<Slot>, what: Compute) -> Result<(), String> {
        match what {
            Compute::Arithmetic | Compute::InstanceOf | Compute::Text => {}
            Compute::Division => self.may_raise()?,
            Compute::Array | Compute::NewArray => {
                self.may_raise()?;
                // The length is a number among others: only what is in an array is worth a word.
                let length = what == Compute::Array && pops == 1;
                if !length {
                    self.warn("arrays are not modelled: what they hold is unknown".to_string());
                }
            }
            Compute::Monitor => {
                self.warn("`synchronized` is ignored: one thread is analysed".to_string());
            }
        }
        let operands = self.pop_slots(pops)?;
        if let (Compute::Array | Compute::Monitor, Some(lowest)) = (what, operands.first()) {
            self.require(lowest.operand);
        }
        if let Some(slot) = gives {
            self.push(Operand::Unknown, slot);
        }
        Ok(())
    }

    /// Null is an error here.
    fn require(&mut self, operand: Operand) {
        if let Operand::Local(_) | Operand::Null = operand {
            let base = self.local(operand);
            self.emit(Statement::Require(base));
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
            self.require(base.operand);
            self.push(Operand::Unknown, slot);
            return Ok(());
        };
        let base = self.local(base.operand);
        let to = self.fresh(one.kind);
        self.assign(to, Value::Field(base, field));
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
            self.require(base.operand);
            return Ok(());
        };
        let base = self.local(base.operand);
        self.emit(Statement::Store { base, field, value });
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
        self.warn(format!(
            "static field {}.{}: reading it gives an unknown value",
            member.class, member.name
        ));
        self.push(Operand::Unknown, slot);
        Ok(())
    }

    fn new_object(&mut self, class: &str) {
        if let Some(class) = self.builder.class(class) {
            let to = self.fresh(Kind::Reference);
            self.assign(to, Value::New(class));
            self.push(Operand::Local(to), REFERENCE);
        } else {
            self.warn(format!(
                "objects of {class} are not modelled: the class is not at hand"
            ));
            self.push(Operand::Unknown, REFERENCE);
        }
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
            None
        } else {
            Some(self.pop()?.operand)
        };
        let constructor = how == Invoke::Special && member.name == "<init>";
        let callees = match how {
            Invoke::Virtual => self.virtual_callees(member)?,
            Invoke::Static | Invoke::Special => self.builder.exact(member).map(Callees::One),
        };
        let callees = match callees {
            Some(callees) => callees,
            None if constructor => {
                if member.class != "java.lang.Object" {
                    self.warn(format!(
                        "the constructor of {} is not run: the class is not at hand",
                        member.class
                    ));
                }
                return Ok(());
            }
            None => {
                let signature = signature(&member.class, &member.name, &types);
                self.may_raise()?;
                self.warn(format!(
                    "the code of {signature} is not at hand: its result is unknown, and it is \
                     taken to change no object"
                ));
                Callees::Unavailable(signature)
            }
        };
        let known = !matches!(callees, Callees::Unavailable(_));
        let receiver = match receiver {
            Some(operand @ (Operand::Local(_) | Operand::Null)) => Some(self.local(operand)),
            Some(operand) if known => Some(self.local(operand)),
            // An object that is not modelled is taken to be there.
            Some(_) | None => None,
        };
        let to = types.result.as_ref().map(|result| self.fresh(result.kind));
        self.emit(Statement::Call {
            to,
            receiver,
            arguments,
            callees,
        });
        let targets = self.raised(Operand::Unknown)?;
        if !targets.is_empty() {
            let escapes = self.graph.escapes[self.block];
            self.emit(Statement::Caught { targets, escapes });
        }
        if let (Some(to), Some(result)) = (to, types.result) {
            self.push(
                Operand::Local(to),
                Slot {
                    kind: result.kind,
                    wide: result.wide,
                },
            );
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

    fn dynamic(&mut self, name: &str, descriptor: &str) -> Result<(), String> {
        let types = method_type(descriptor).ok_or("a method of a bad type")?;
        for _ in &types.parameters {
            self.pop()?;
        }
        self.may_raise()?;
        self.warn(match name {
            "makeConcatWithConstants" | "makeConcat" => {
                "strings are not modelled: the result is unknown".to_string()
            }
            _ => format!("lambdas are not modelled: the result of `{name}` is unknown"),
        });
        if let Some(result) = types.result {
            self.push(
                Operand::Unknown,
                Slot {
                    kind: result.kind,
                    wide: result.wide,
                },
            );
        }
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

    fn throw(&mut self) -> Result<(), String> {
        let value = self.pop()?.operand;
        self.require(value);
        let mut targets = self.raised(value)?;
        if self.graph.escapes[self.block] {
            self.warn(
                "an exception may be thrown here: runs end where nobody catches it".to_string(),
            );
            if targets.is_empty() {
                self.emit(Statement::Throw);
                return Ok(());
            }
            let piece = self.new_piece();
            self.pieces[piece as usize]
                .code
                .push((Statement::Throw, self.line));
            targets.push(piece);
        }
        if let [only] = targets[..] {
            self.then(self.piece, only);
        } else {
            self.emit(Statement::Choose { targets });
        }
        Ok(())
    }
}
