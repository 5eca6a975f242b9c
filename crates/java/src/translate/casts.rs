//! Casts and `instanceof`: which are certain to succeed, which the compiler has made by itself.

use droste_pointer::{Condition, Kind, Operand, Statement, Value};

use super::Translator;
use crate::descriptor::{dotted, method_type};
use crate::exceptions;
use crate::instruction::{Invoke, Op, Test};

/// Who has made a cast.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    /// The source has it.
    Source,
    /// The compiler, for generics: it succeeds, unless warnings of the compiler were ignored.
    Compiler,
    /// One of them: the class file does not say which.
    Either,
}

impl Translator<'_, '_> {
    /// The value stays what it is. A cast of null succeeds, and that of an object is decided by its
    /// class, where the class to which it is cast is one of the program.
    pub(super) fn cast(&mut self, at: usize, to: &str) -> Result<(), String> {
        let top = self.stack.last().map(|entry| entry.operand);
        if top == Some(Operand::Null) || to == "java.lang.Object" || self.casts_what_is(at, to) {
            return Ok(());
        }
        let maker = self.maker(at, to);
        let generic = maker == Maker::Compiler;
        if maker == Maker::Source {
            self.warn(format!(
                "a cast to {to}: runs end where it fails and nobody catches that"
            ));
        } else {
            self.builder.cast(self.method, self.line, to);
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
    pub(super) fn is_entered(&self, at: usize) -> bool {
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

    /// Who has made a cast. The compiler makes one where a value comes at once from a field or a method
    /// whose type is a type variable. Of a method that is not at hand all that is known is that it gives
    /// any object. The source may have a cast there, too; which it is, the type arguments of the object
    /// tell if it is that of a variable or a field.
    fn maker(&self, at: usize, to: &str) -> Maker {
        let before = at
            .checked_sub(1)
            .filter(|_| at > self.graph.starts[self.block]);
        let Some(before) = before else {
            return Maker::Source;
        };
        let hierarchy = &self.builder.hierarchy;
        let (generic, takes) = match &self.body.instructions[before].op {
            Op::GetField(member) => {
                let field = hierarchy.field(member);
                (field.is_some_and(|(_, field)| field.is_generic()), Some(0))
            }
            Op::Invoke(how, member) => {
                let class = hierarchy.find(&member.class);
                let method = class
                    .and_then(|class| hierarchy.lookup(class, &member.name, &member.descriptor));
                let generic = match method {
                    Some(method) => hierarchy.method(method).gives_generic,
                    None => member.descriptor.ends_with(")Ljava/lang/Object;"),
                };
                let types = method_type(&member.descriptor);
                let takes = types.map(|types| types.parameters.len());
                (generic, takes.filter(|_| *how != Invoke::Static))
            }
            _ => return Maker::Source,
        };
        if !generic {
            return Maker::Source;
        }
        let Some(takes) = takes else {
            return Maker::Either;
        };
        // What each argument is must be one instruction.
        let Some(object) = before.checked_sub(takes + 1) else {
            return Maker::Either;
        };
        let arguments = &self.body.instructions[object + 1..before];
        let simple = |one: &Op| matches!(one, Op::Load(..) | Op::Push(..));
        if !arguments.iter().all(|one| simple(&one.op)) {
            return Maker::Either;
        }
        match &self.body.instructions[object].op {
            Op::Load(slot, _) => {
                let place = self.body.instructions[object].at;
                let mut variables = self.body.variables.iter();
                let here = variables
                    .find(|one| one.slot == *slot && (one.start..one.end).contains(&place));
                match here {
                    Some(one) => self.made_for(one.generic.as_deref(), to),
                    None if self.body.variables.is_empty() => Maker::Either,
                    // The compiler has variables of its own for the elements of a container.
                    None => Maker::Compiler,
                }
            }
            Op::GetField(member) => {
                let field = hierarchy.field(member);
                self.made_for(field.and_then(|(_, field)| field.generic.as_deref()), to)
            }
            _ => Maker::Either,
        }
    }

    /// Who has made a cast of something that an object of a generic type gives.
    fn made_for(&self, generic: Option<&str>, to: &str) -> Maker {
        let Some((_, arguments)) = generic.and_then(|text| text.split_once('<')) else {
            return Maker::Either;
        };
        let hierarchy = &self.builder.hierarchy;
        let mut known = true;
        for word in arguments.split(['<', '>', ';', '+', '-']) {
            let Some(name) = word.strip_prefix('L') else {
                known &= word.is_empty();
                continue;
            };
            let name = dotted(name);
            let above = hierarchy.find(&name);
            let mut above = above.map_or(Vec::new(), |class| hierarchy.supertypes(class));
            above.push(name);
            if above.iter().any(|one| one == to) {
                return Maker::Compiler;
            }
            // What a class of a library extends is not known.
            known &= above.len() > 1 || above[0] == "java.lang.Object";
        }
        if known { Maker::Source } else { Maker::Either }
    }

    /// Whether something has a type. Null has none, and objects have classes; which of them implement
    /// an interface, or extend a class of a library, is not known.
    pub(super) fn is_instance(&mut self, operand: Operand, class: &str) -> Operand {
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
}
