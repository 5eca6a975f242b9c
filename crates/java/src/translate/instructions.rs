//! What each instruction of the Java machine becomes.

use droste_pointer::{Condition, Kind, Operand, Statement, Value};

use super::{Known, Next, Translator};
use crate::build::OF_ARRAYS;
use crate::enums::reads_map;
use crate::exceptions;
use crate::instruction::{Compute, Op, Slot};

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
                if counts && body.is_passed_by(at) {
                    self.passed_by.push(line);
                }
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
            Compute::Array | Compute::NewArray { .. } => {
                let map = what == Compute::Array && pops == 2 && reads_map(self.body, at);
                if let Compute::NewArray { numbers } = what {
                    self.builder.away.holes |= !numbers && !self.fills_array(at);
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
            // What has been locked is there.
            Compute::Unlock if self.has_locked(at) => {
                self.pop()?;
                return Ok(());
            }
            Compute::Monitor | Compute::Unlock => {
                self.warn("`synchronized` is ignored: one thread is analysed".to_string());
            }
        }
        let operands = self.pop_slots(pops)?;
        let lowest = operands.first().map(|entry| entry.operand);
        let known = match (what, &operands[..]) {
            (Compute::NewArray { .. }, [one]) => match one.operand {
                Operand::Int(length) => Known::Array(length),
                _ => Known::Nothing,
            },
            _ if length => Known::Length,
            _ => Known::Nothing,
        };
        let uses = matches!(
            what,
            Compute::Array | Compute::Monitor | Compute::Unlock | Compute::Unbox
        );
        if let Some(lowest) = lowest.filter(|_| uses) {
            self.may_be_null(lowest)?;
            self.require(lowest)?;
        }
        if let (Compute::Array, None, Some(stored)) = (what, gives, operands.last())
            && stored.slot.kind == Kind::Reference
        {
            let null = matches!(stored.operand, Operand::Null | Operand::Unknown);
            self.builder.away.holes |= null;
            self.hand(OF_ARRAYS.to_string(), &[stored.operand]);
        }
        if let Some(slot) = gives {
            let value = match (what, lowest) {
                // These are there, whatever they are.
                (Compute::NewArray { .. } | Compute::Text, _) if slot.kind == Kind::Reference => {
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

    /// Whether the end of `synchronized` is one of those that compilers make: it unlocks what a variable
    /// holds that the source does not have, and that was locked when it got its value.
    fn has_locked(&self, at: usize) -> bool {
        let code = &self.body.instructions;
        let Some(Op::Load(slot, _)) = at.checked_sub(1).map(|before| &code[before].op) else {
            return false;
        };
        let locks = |at: usize| {
            let next = code.get(at + 1).map(|one| &one.op);
            let what = Compute::Monitor;
            matches!(next, Some(Op::Compute { what: one, .. }) if *one == what)
        };
        let own = self.webs.accesses[at - 1];
        let mut stores = (0..code.len()).filter(|&one| {
            matches!(code[one].op, Op::Store(to, _) if to == *slot)
                && self.webs.accesses[one] == own
        });
        own.is_some() && stores.clone().count() > 0 && stores.all(locks)
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

    /// Whether a new array gets its elements at once, or has none.
    fn fills_array(&self, at: usize) -> bool {
        let code = &self.body.instructions;
        let op = |at: usize| code.get(at).map(|one| &one.op);
        let fills = matches!(
            (op(at + 1), op(at + 2)),
            (Some(Op::Dup { count: 1, below: 0 }), Some(Op::Push(..)))
        );
        fills || self.number_before() == Some(0)
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
    pub(super) fn number_before(&self) -> Option<i64> {
        let before = self.at.checked_sub(1)?;
        match self.body.instructions[before].op {
            Op::Push(Operand::Int(number), _) if !self.is_entered(self.at) => Some(number),
            _ => None,
        }
    }

    /// Null is an error here.
    pub(super) fn require(&mut self, operand: Operand) -> Result<(), String> {
        if let Operand::Local(_) | Operand::Null | Operand::Unknown = operand {
            let base = self.local(operand);
            self.emit(Statement::Require(base));
            self.catch_null()?;
        }
        Ok(())
    }

    /// A value that is not modelled is taken not to be null, unless somebody catches what happens then.
    pub(super) fn may_be_null(&mut self, operand: Operand) -> Result<(), String> {
        match operand {
            Operand::Local(_) => {
                let handlers = self.handlers()?;
                let leaves = self.graph.escapes[self.block];
                self.raises |= leaves;
                let escapes = leaves && self.builder.follows;
                if handlers.is_empty() && !escapes {
                    return Ok(());
                }
                let (null, rest) = (self.new_piece(), self.new_piece());
                let condition = Condition {
                    left: operand,
                    right: Operand::Null,
                    equal: true,
                };
                self.emit(Statement::Branch {
                    condition,
                    yes: null,
                    no: rest,
                });
                self.piece = null;
                // Null that is modelled ends here.
                self.require(operand)?;
                self.raise(Some(exceptions::OF_NULL), handlers, escapes);
                self.piece = rest;
                Ok(())
            }
            Operand::Unknown => self.raise_or(Some(exceptions::OF_NULL), None),
            _ => Ok(()),
        }
    }
}
