//! Fields of objects and of classes, and new objects.

use droste_pointer::{Kind, Operand, Statement, Value};

use super::{REFERENCE, Translator};
use crate::build::may_hold_null;
use crate::descriptor::field_type;
use crate::enums::is_map;
use crate::exceptions;
use crate::instruction::{Member, Slot};
use crate::library::is_of_library;

impl Translator<'_, '_> {
    pub(super) fn get_field(&mut self, member: &Member) -> Result<(), String> {
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
        // What a lambda holds the method has that made it.
        if !member.class.contains("$lambda$") && may_hold_null(self.builder.hierarchy, &one.name) {
            self.builder.away.containers = true;
        }
        let base = self.local(base.operand);
        let to = self.fresh(one.kind);
        self.assign(to, Value::Field(base, field));
        self.catch_null()?;
        self.push(Operand::Local(to), slot);
        Ok(())
    }

    pub(super) fn put_field(&mut self, member: &Member) -> Result<(), String> {
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

    pub(super) fn get_static(&mut self, member: &Member) -> Result<(), String> {
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
        if own && may_hold_null(self.builder.hierarchy, &one.name) {
            self.builder.away.containers = true;
        }
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

    pub(super) fn new_object(&mut self, class: &str) -> Result<(), String> {
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
}
