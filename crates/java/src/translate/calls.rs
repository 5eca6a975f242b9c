//! Calls: which methods may be called, and what those may do whose code is not at hand.

use droste_pointer::{Callees, Condition, Kind, LocalId, MethodId, Operand, Statement, Value};

use super::{REFERENCE, Translator};
use crate::build::may_hold_null;
use crate::descriptor::{Type, method_type, signature};
use crate::dynamic::{Dynamic, captured};
use crate::exceptions;
use crate::hierarchy::ClassIndex;
use crate::instruction::{Invoke, Member, Slot};
use crate::library::{
    self, gives_something, is_null_check, is_of_library, is_quiet, is_reflection,
};

impl Translator<'_, '_> {
    pub(super) fn invoke(&mut self, how: Invoke, member: &Member) -> Result<(), String> {
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
        let arrays = |one: &Type| {
            one.name.ends_with("[]") && may_hold_null(self.builder.hierarchy, &one.name)
        };
        let arrays = types.parameters.iter().any(arrays);
        // Null in arrays is counted where they are made.
        let null = |(one, kind): (&Operand, &Type)| {
            matches!(one, Operand::Null | Operand::Unknown) && kind.kind == Kind::Reference
        };
        let null = given.clone().any(null);
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
                self.give_away(member, &signature, null, arrays);
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
                self.give_away(member, &signature, null, arrays);
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

    /// Notes that a library is given something, perhaps null, perhaps arrays.
    fn give_away(&mut self, member: &Member, signature: &str, null: bool, arrays: bool) {
        let away = &mut self.builder.away;
        if library::passes_on(member) {
            away.null |= null || library::has_null(member);
            away.arrays |= arrays;
            away.passing.insert(signature.to_string());
        }
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
    pub(super) fn is_plain_enum(&self, name: &str) -> bool {
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
    pub(super) fn dynamic(&mut self, at: usize, dynamic: &Dynamic) -> Result<(), String> {
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

    /// Objects come into the hands of somebody who is not at hand.
    pub(super) fn hand(&mut self, to: String, operands: &[Operand]) {
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
}
