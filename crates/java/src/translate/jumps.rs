//! Branches, switches, and exceptions that are thrown.

use droste_pointer::{Condition, Operand, Statement};

use super::Translator;
use crate::instruction::{Invoke, Op, Test};

impl Translator<'_, '_> {
    pub(super) fn jump(&mut self, test: Test, target: u32) -> Result<(), String> {
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

    pub(super) fn switch(&mut self, cases: &[(i32, u32)], default: u32) -> Result<(), String> {
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

    pub(super) fn throw(&mut self, at: usize) -> Result<(), String> {
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
