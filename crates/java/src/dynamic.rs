//! What `invokedynamic` is for: lambdas and method references, and the rest.
//!
//! A lambda is an object of a class that the Java machine makes when the program runs. Here the class
//! is made beforehand: a field for each captured value, and a method that calls the body with captured
//! values first, then the arguments. The method consists of instructions of the Java machine, so that
//! it is translated like any other.

use droste_pointer::{Kind, Operand};
use noak::error::DecodeError;
use noak::reader::Class;
use noak::reader::attributes::BootstrapMethods;
use noak::reader::cpool::{Item, MethodKind};

use crate::class::{Body, ClassFile, FieldInfo, MethodInfo};
use crate::descriptor::{MethodType, Type, dotted, method_type};
use crate::instruction::{Compute, Invoke, Member, Op, Problem, Slot, method};

/// A call site that is linked when the program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Dynamic {
    /// The name of the method that is wanted.
    pub name: String,
    /// What it takes and gives.
    pub descriptor: String,
    /// The class whose code links it, with dots.
    pub linker: String,
    /// If the result is a lambda: which.
    pub lambda: Option<Lambda>,
}

/// A lambda, or a reference to a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lambda {
    /// The types with which its method can be called, without generics.
    descriptors: Vec<String>,
    kind: Target,
    body: Member,
}

/// How the body is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Static,
    Special,
    Virtual,
    Constructor,
}

/// Flags of the linker that are followed by further arguments.
const MARKERS: i32 = 2;
const BRIDGES: i32 = 4;

/// What the bootstrap method of this number makes of a name and a type.
pub(crate) fn resolve(
    class: &Class<'_>,
    bootstrap: u16,
    name: &str,
    descriptor: &str,
) -> Result<Dynamic, Problem> {
    let pool = class.pool();
    let missing = || Problem::Bad("a bootstrap method that is not there");
    let table = class
        .attributes()
        .find_attribute::<BootstrapMethods<'_>>(pool)?;
    let mut methods = table.ok_or_else(missing)?.methods().into_iter();
    let found = methods.nth(bootstrap.into()).ok_or_else(missing)??;
    let linker = method(pool, &pool.retrieve(found.method_ref())?.reference)?;
    let arguments: Result<Vec<_>, DecodeError> = found.arguments().into_iter().collect();
    let arguments: Result<Vec<&Item<'_>>, DecodeError> = arguments?
        .into_iter()
        .map(|index| pool.get(index))
        .collect();
    let arguments = arguments?;
    let mut dynamic = Dynamic {
        name: name.to_string(),
        descriptor: descriptor.to_string(),
        linker: linker.class,
        lambda: None,
    };
    if dynamic.linker != "java.lang.invoke.LambdaMetafactory" {
        return Ok(dynamic);
    }
    let bad = || Problem::Bad("a lambda without a body or a type");
    let typed = |item: &Item<'_>| match item {
        Item::MethodType(one) => Ok(pool.retrieve(one.descriptor)?.display().to_string()),
        _ => Err(bad()),
    };
    let [first, handle, _, more @ ..] = &arguments[..] else {
        return Err(bad());
    };
    let Item::MethodHandle(handle) = handle else {
        return Err(bad());
    };
    let kind = match handle.kind {
        MethodKind::InvokeStatic => Target::Static,
        MethodKind::InvokeSpecial => Target::Special,
        MethodKind::InvokeVirtual | MethodKind::InvokeInterface => Target::Virtual,
        MethodKind::NewInvokeSpecial => Target::Constructor,
        _ => return Err(Problem::Bad("a lambda whose body is no method")),
    };
    let mut descriptors = vec![typed(first)?];
    // The other linker has flags, markers with their number, and further types with theirs.
    let mut more = more.iter();
    let mut number = || match more.next() {
        Some(Item::Integer(one)) => Some(one.value),
        _ => None,
    };
    if let Some(flags) = number() {
        let markers = if flags & MARKERS == 0 {
            0
        } else {
            number().unwrap_or(0)
        };
        let mut rest = more.skip(usize::try_from(markers).unwrap_or(0));
        if flags & BRIDGES != 0 {
            rest.next();
            for item in rest {
                let one = typed(item)?;
                if !descriptors.contains(&one) {
                    descriptors.push(one);
                }
            }
        }
    }
    dynamic.lambda = Some(Lambda {
        descriptors,
        kind,
        body: method(pool, pool.get(handle.reference)?)?,
    });
    Ok(dynamic)
}

const REFERENCE: Slot = Slot {
    kind: Kind::Reference,
    wide: false,
};

fn slot(one: &Type) -> Slot {
    Slot {
        kind: one.kind,
        wide: one.wide,
    }
}

/// The field of a captured value.
pub(crate) fn captured(class: &str, number: usize) -> Member {
    Member {
        class: class.to_string(),
        name: format!("captured{number}"),
        descriptor: String::new(),
    }
}

impl Dynamic {
    /// The class of a lambda that stands on this line of a source file.
    pub(crate) fn class(&self, name: &str, outer: &ClassFile, line: u32) -> Option<ClassFile> {
        let lambda = self.lambda.as_ref()?;
        let types = method_type(&self.descriptor)?;
        let interface = types.result?.name;
        let captures = types.parameters;
        let mut class = ClassFile::made(name.to_string(), outer);
        class.interfaces.push(interface);
        for (number, one) in captures.iter().enumerate() {
            class.fields.push(FieldInfo {
                name: captured(name, number).name,
                one: one.clone(),
                is_static: false,
                generic: None,
                is_synthetic: true,
            });
        }
        for descriptor in &lambda.descriptors {
            let types = method_type(descriptor)?;
            class
                .bodies
                .push(lambda.body(name, &captures, &types, line)?);
            class.methods.push(MethodInfo {
                name: self.name.clone(),
                descriptor: descriptor.clone(),
                types,
                is_static: false,
                has_code: true,
                is_private: false,
                is_package_private: false,
                is_bridge: false,
                gives_generic: false,
            });
        }
        Some(class)
    }
}

impl Lambda {
    /// The method: it calls the body, and gives back what that returns.
    fn body(&self, class: &str, captures: &[Type], types: &MethodType, line: u32) -> Option<Body> {
        let called = method_type(&self.body.descriptor)?;
        let mut ops = Vec::new();
        let object = Type {
            name: dotted(&self.body.class),
            kind: Kind::Reference,
            wide: false,
        };
        let mut wanted: Vec<&Type> = Vec::new();
        match self.kind {
            Target::Constructor => {
                ops.push(Op::New(self.body.class.clone()));
                ops.push(Op::Dup { count: 1, below: 0 });
            }
            Target::Virtual | Target::Special => wanted.push(&object),
            Target::Static => {}
        }
        wanted.extend(&called.parameters);
        let mut local = 1;
        let given = captures.iter().chain(&types.parameters);
        if given.clone().count() != wanted.len() {
            return None;
        }
        for (number, (one, wanted)) in given.zip(wanted).enumerate() {
            if number < captures.len() {
                ops.push(Op::Load(0, REFERENCE));
                ops.push(Op::GetField(Member {
                    descriptor: descriptor(one).to_string(),
                    ..captured(class, number)
                }));
            } else {
                ops.push(Op::Load(local, slot(one)));
                local += if one.wide { 2 } else { 1 };
            }
            convert(one, wanted, &mut ops);
        }
        let how = match self.kind {
            Target::Static => Invoke::Static,
            Target::Virtual => Invoke::Virtual,
            Target::Special | Target::Constructor => Invoke::Special,
        };
        ops.push(Op::Invoke(how, self.body.clone()));
        let result = match self.kind {
            Target::Constructor => Some(&object),
            _ => called.result.as_ref(),
        };
        match (result, &types.result) {
            (Some(result), Some(wanted)) => convert(result, wanted, &mut ops),
            (Some(result), None) => ops.push(Op::Pop(if result.wide { 2 } else { 1 })),
            (None, None) => {}
            (None, Some(_)) => return None,
        }
        ops.push(Op::Return {
            value: types.result.is_some(),
        });
        Some(Body::made(ops, line))
    }
}

/// A type as class files write it, as far as it matters for a field.
fn descriptor(one: &Type) -> &'static str {
    match (one.kind, one.wide) {
        (Kind::Reference, _) => "Ljava/lang/Object;",
        (Kind::Boolean, _) => "Z",
        (Kind::Number, false) => "I",
        (Kind::Number, true) => "J",
    }
}

/// The top of the stack becomes a value of another type: numbers are put into boxes, taken out of
/// them, or made longer.
fn convert(from: &Type, to: &Type, ops: &mut Vec<Op>) {
    let takes = if from.wide { 2 } else { 1 };
    match (from.kind == Kind::Reference, to.kind == Kind::Reference) {
        (true, true) => {}
        (false, false) if from.wide == to.wide => {}
        (false, false) => ops.extend([Op::Pop(takes), Op::Push(Operand::Unknown, slot(to))]),
        (false, true) => ops.extend([Op::Pop(takes), Op::Push(Operand::Present, REFERENCE)]),
        (true, false) => ops.push(Op::Compute {
            pops: 1,
            gives: Some(slot(to)),
            what: Compute::Unbox,
        }),
    }
}
