//! One class file: names and members at once, code when it is asked for.
//!
//! Reading is done by noak; what it finds is copied into types without lifetimes. Line numbers are
//! read here, since noak 0.7 takes them for longer than they are.

use std::collections::BTreeSet;

use noak::AccessFlags;
use noak::error::DecodeError;
use noak::reader::attributes::{
    Code, LocalVariableTable, LocalVariableTypeTable, Signature, SourceFile,
};
use noak::reader::cpool::{ConstantPool, Item};
use noak::reader::{Attribute, Class, DecodeMany, Method};

use crate::descriptor::{MethodType, Type, dotted, field_type, method_type};
use crate::exceptions;
use crate::instruction::{Op, decode};

/// A class file.
#[derive(Clone, Debug)]
pub(crate) struct ClassFile {
    /// Where it was found.
    pub path: String,
    bytes: Vec<u8>,
    /// The full name, with dots.
    pub name: String,
    /// With dots; `None` for `java.lang.Object` only.
    pub parent: Option<String>,
    pub interfaces: Vec<String>,
    pub is_interface: bool,
    pub is_abstract: bool,
    pub fields: Vec<FieldInfo>,
    pub methods: Vec<MethodInfo>,
    /// The name of the source file, or else of the class file.
    pub source: String,
    /// If the class is in no file: the code of its methods.
    pub bodies: Vec<Body>,
}

/// A field of a class.
#[derive(Clone, Debug)]
pub(crate) struct FieldInfo {
    pub name: String,
    pub one: Type,
    pub is_static: bool,
    /// Its type as the source has it, if that is said: `TT;` for `T value` in `class Box<T>`.
    pub generic: Option<String>,
    /// Whether the compiler has made it.
    pub is_synthetic: bool,
}

/// A method of a class.
// These are bits of the class file.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug)]
pub(crate) struct MethodInfo {
    pub name: String,
    pub descriptor: String,
    pub types: MethodType,
    pub is_static: bool,
    pub has_code: bool,
    pub is_private: bool,
    /// Neither public nor protected nor private: only classes of its package see it.
    pub is_package_private: bool,
    /// Made by the compiler, to call another method of the same name.
    pub is_bridge: bool,
    /// Whether the type of its result is a type variable.
    pub gives_generic: bool,
}

/// The code of a method.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// In order of their positions.
    pub instructions: Vec<Instruction>,
    pub handlers: Vec<Handler>,
    /// Line numbers, by the positions where they begin.
    lines: Vec<(u32, u32)>,
    pub variables: Vec<Variable>,
}

/// An instruction and its position in the code.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub at: u32,
    pub op: Op,
}

/// Where control goes when an exception is raised between two positions.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub start: u32,
    pub end: u32,
    pub target: u32,
    /// The class of the exceptions it takes. If there is none, it takes all.
    pub class: Option<String>,
    /// Whether the source names a class. What has none is `finally` or the end of `synchronized`.
    pub is_named: bool,
}

/// A variable of the source, and where it lives.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub start: u32,
    pub end: u32,
    pub slot: u16,
    pub name: String,
    pub one: Type,
    /// Its type with the arguments of generics, if that is said: `LBox<LItem;>;`.
    pub generic: Option<String>,
}

impl FieldInfo {
    /// Whether its type is a type variable.
    pub(crate) fn is_generic(&self) -> bool {
        self.generic
            .as_ref()
            .is_some_and(|text| text.starts_with('T'))
    }
}

impl Body {
    /// Instructions that all stand on one line.
    pub(crate) fn made(ops: Vec<Op>, line: u32) -> Body {
        let instructions = ops.into_iter().zip(0..);
        let instructions = instructions.map(|(op, at)| Instruction { at, op });
        Body {
            instructions: instructions.collect(),
            lines: vec![(0, line)],
            ..Body::default()
        }
    }

    /// The source line of a position, 0 if it is not known.
    pub(crate) fn line(&self, at: u32) -> u32 {
        let next = self.lines.partition_point(|&(start, _)| start <= at);
        if next == 0 { 0 } else { self.lines[next - 1].1 }
    }
}

impl Body {
    /// Whether a jump is a statement of the source: it begins a line, and nothing else is there. Other
    /// jumps are the compiler's, and have the line of what happens to stand before them.
    pub(crate) fn is_of_its_line(&self, at: usize) -> bool {
        let jump = &self.instructions[at];
        let begins = self.lines.iter().any(|&(start, _)| start == jump.at);
        let line = self.line(jump.at);
        let mut others = self.instructions.iter();
        begins && others.all(|one| one.at == jump.at || self.line(one.at) != line)
    }

    /// Whether the program may do what a jump of the source says without executing it: `javac` leads a
    /// jump forwards to a `break` or a `continue` straight to where that leads. So it may have done
    /// with jumps before it to the same place. Where the jump is all that an `if` guards, only jumps
    /// of that condition count: others led to the same place anyway.
    pub(crate) fn is_passed_by(&self, at: usize) -> bool {
        let Op::Goto(to) = self.instructions[at].op else {
            return false;
        };
        let condition = self.condition_before(at);
        let behind = condition.unwrap_or(0);
        // The last jump of the condition is the one that comes to `at` when it is not taken.
        let last = at - usize::from(condition.is_some());
        (self.instructions[behind..last].iter()).any(|one| one.op.targets().any(|one| one == to))
    }

    /// Where the condition begins whose last jump stands before `at` and leads past it. That is known
    /// only where a line begins with it and no jump leads into its middle: within a condition `javac`
    /// begins lines at calls, divisions, and in branches of `?:`.
    fn condition_before(&self, at: usize) -> Option<usize> {
        let last = self.instructions.get(at.checked_sub(1)?)?;
        let here = self.instructions[at].at;
        match last.op {
            Op::Jump { target, .. } if target != here => {}
            _ => return None,
        }
        let begin = (0..at).rev().find(|&one| {
            let Instruction { at, op } = &self.instructions[one];
            let value = matches!(
                op,
                Op::Load(..) | Op::Push(..) | Op::GetStatic(_) | Op::New(_)
            );
            value && self.lines.iter().any(|&(start, _)| start == *at)
        })?;
        let middle = self.instructions[begin].at + 1..=here;
        let mut targets = self.instructions.iter().flat_map(|one| one.op.targets());
        (!targets.any(|target| middle.contains(&target))).then_some(begin)
    }
}

impl ClassFile {
    /// The source file below its root: `p/q/X.java` for a class of the package `p.q`.
    pub(crate) fn source_path(&self) -> String {
        match self.name.rsplit_once('.') {
            Some((package, _)) if !self.source.contains(['/', '\\']) => {
                format!("{}/{}", package.replace('.', "/"), self.source)
            }
            _ => self.source.clone(),
        }
    }

    /// The package, with dots; empty if there is none.
    pub(crate) fn package(&self) -> &str {
        self.name
            .rsplit_once('.')
            .map_or("", |(package, _)| package)
    }

    /// A class that is in no file, without members. Its source is that of `outer`.
    pub(crate) fn made(name: String, outer: &ClassFile) -> ClassFile {
        ClassFile {
            path: outer.path.clone(),
            bytes: Vec::new(),
            name,
            parent: Some("java.lang.Object".to_string()),
            interfaces: Vec::new(),
            is_interface: false,
            is_abstract: false,
            fields: Vec::new(),
            methods: Vec::new(),
            source: outer.source.clone(),
            bodies: Vec::new(),
        }
    }

    /// Reads names and members.
    pub(crate) fn read(path: String, bytes: Vec<u8>) -> Result<ClassFile, (String, String)> {
        let result = read(&path, &bytes);
        match result {
            Ok(class) => Ok(ClassFile { bytes, ..class }),
            Err(message) => Err((path, message)),
        }
    }

    /// The names of classes that may be meant anywhere in it: as classes, and in types of members. Texts
    /// of the program that look like one are among them.
    pub(crate) fn mentioned(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let Ok(class) = Class::new(&self.bytes) else {
            return names;
        };
        let is_name = |name: &str| {
            let is_part = |part: &str| {
                !part.is_empty()
                    && !part.contains(|c: char| c == '.' || c == '\\' || c.is_control())
            };
            // The longest name of a file is not much longer.
            name.len() < 1000 && name.split('/').all(is_part)
        };
        for item in class.pool().iter() {
            let Item::Utf8(text) = item else {
                continue;
            };
            let text = text.content.display().to_string();
            // `p/X`, `[Lp/X;`, `(ILp/X;)V`
            let parts = text.split(['(', ')', ';', '[']);
            let inner = parts.clone().filter_map(|part| {
                let at = part.find('L')?;
                Some(&part[at + 1..])
            });
            let all = parts.chain(inner).filter(|name| is_name(name));
            names.extend(all.map(dotted));
        }
        names
    }

    /// The code of the method of this number, or what is wrong with it.
    pub(crate) fn body(&self, method: usize) -> Result<Body, String> {
        if let Some(body) = self.bodies.get(method) {
            return Ok(body.clone());
        }
        let read = || -> Result<Option<Body>, String> {
            let class = Class::new(&self.bytes).map_err(|error| error.to_string())?;
            let Some(method) = class.methods().into_iter().nth(method) else {
                return Ok(None);
            };
            let method = method.map_err(|error| error.to_string())?;
            body(&class, &method)
        };
        read()?.ok_or_else(|| "it has no code".to_string())
    }
}

/// The type of a member as the source has it, with type variables, if that is said.
fn signature<'a>(
    pool: &ConstantPool<'a>,
    attributes: &DecodeMany<'a, Attribute<'a>, u16>,
) -> Option<String> {
    let found = attributes.find_attribute::<Signature<'a>>(pool).ok()??;
    let text = pool.retrieve(found.signature()).ok()?;
    Some(text.display().to_string())
}

fn read(path: &str, bytes: &[u8]) -> Result<ClassFile, String> {
    let class = Class::new(bytes).map_err(|error| error.to_string())?;
    let text = |error: DecodeError| error.to_string();
    let pool = class.pool();
    let name = dotted(
        &pool
            .retrieve(class.this_class())
            .map_err(text)?
            .name
            .display()
            .to_string(),
    );
    let in_class = |message: String| format!("class {name}: {message}");
    let parent = match class.super_class() {
        Some(index) => Some(dotted(
            &pool
                .retrieve(index)
                .map_err(text)?
                .name
                .display()
                .to_string(),
        )),
        None => None,
    };
    let mut interfaces = Vec::new();
    for interface in class.interfaces() {
        let index = interface.map_err(text)?;
        interfaces.push(dotted(
            &pool
                .retrieve(index)
                .map_err(text)?
                .name
                .display()
                .to_string(),
        ));
    }
    let mut fields = Vec::new();
    for field in class.fields() {
        let field = field.map_err(text)?;
        let name = pool
            .retrieve(field.name())
            .map_err(text)?
            .display()
            .to_string();
        let descriptor = pool
            .retrieve(field.descriptor())
            .map_err(text)?
            .display()
            .to_string();
        let one = field_type(&descriptor)
            .ok_or_else(|| in_class(format!("field {name} has a bad type, `{descriptor}`")))?;
        let is_static = field.access_flags().contains(AccessFlags::STATIC);
        let signature = signature(pool, &field.attributes());
        fields.push(FieldInfo {
            name,
            one,
            is_static,
            generic: signature,
            is_synthetic: field.access_flags().contains(AccessFlags::SYNTHETIC),
        });
    }
    let mut methods = Vec::new();
    for method in class.methods() {
        let method = method.map_err(text)?;
        let name = pool
            .retrieve(method.name())
            .map_err(text)?
            .display()
            .to_string();
        let descriptor = pool
            .retrieve(method.descriptor())
            .map_err(text)?
            .display()
            .to_string();
        let types = method_type(&descriptor)
            .ok_or_else(|| in_class(format!("method {name} has a bad type, `{descriptor}`")))?;
        let flags = method.access_flags();
        methods.push(MethodInfo {
            name,
            descriptor,
            types,
            is_static: flags.contains(AccessFlags::STATIC),
            has_code: !flags.intersects(AccessFlags::ABSTRACT | AccessFlags::NATIVE),
            is_private: flags.contains(AccessFlags::PRIVATE),
            is_package_private: !flags
                .intersects(AccessFlags::PUBLIC | AccessFlags::PROTECTED | AccessFlags::PRIVATE),
            is_bridge: flags.contains(AccessFlags::BRIDGE),
            gives_generic: signature(pool, &method.attributes())
                .and_then(|text| Some(text.rsplit_once(')')?.1.starts_with('T')))
                .unwrap_or(false),
        });
    }
    // A source file that cannot be read is no reason to stop.
    let source = class
        .attributes()
        .find_attribute::<SourceFile<'_>>(pool)
        .ok()
        .flatten()
        .and_then(|source| pool.retrieve(source.source_file()).ok())
        .map_or_else(|| path.to_string(), |source| source.display().to_string());
    let flags = class.access_flags();
    Ok(ClassFile {
        path: path.to_string(),
        bytes: Vec::new(),
        name,
        parent,
        interfaces,
        is_interface: flags.contains(AccessFlags::INTERFACE),
        is_abstract: flags.intersects(AccessFlags::ABSTRACT | AccessFlags::INTERFACE),
        fields,
        methods,
        source,
        bodies: Vec::new(),
    })
}

fn body(class: &Class<'_>, method: &Method<'_>) -> Result<Option<Body>, String> {
    let text = |error: DecodeError| error.to_string();
    let pool = class.pool();
    let Some(code) = method
        .attributes()
        .find_attribute::<Code<'_>>(pool)
        .map_err(text)?
    else {
        return Ok(None);
    };
    let mut body = Body::default();
    for instruction in code.raw_instructions() {
        let (at, raw) = instruction.map_err(text)?;
        let at = at.as_u32();
        let op = decode(&raw, at, class).map_err(|error| format!("instruction {at}: {error}"))?;
        body.instructions.push(Instruction { at, op });
    }
    for handler in code.exception_handlers() {
        let mut class = None;
        if let Some(caught) = handler.catch_type() {
            let name = pool.retrieve(caught).map_err(text)?.name;
            let name = name.display().to_string().replace('/', ".");
            class = (name != exceptions::ROOT).then_some(name);
        }
        body.handlers.push(Handler {
            start: handler.start().as_u32(),
            end: handler.end().as_u32(),
            target: handler.handler().as_u32(),
            class,
            is_named: handler.catch_type().is_some(),
        });
    }
    for attribute in code.attributes() {
        let attribute = attribute.map_err(text)?;
        if pool.retrieve(attribute.name()).map_err(text)?.as_bytes() == b"LineNumberTable" {
            line_numbers(attribute.content(), &mut body.lines);
        }
    }
    body.lines.sort_by_key(|&(start, _)| start);
    // Names are for people: what cannot be read is left out.
    if let Ok(Some(table)) = code
        .attributes()
        .find_attribute::<LocalVariableTable<'_>>(pool)
    {
        for variable in table.locals().into_iter().flatten() {
            let Ok(name) = pool.get(variable.name()) else {
                continue;
            };
            let Ok(descriptor) = pool.get(variable.descriptor()) else {
                continue;
            };
            let Some(one) = field_type(&descriptor.content.display().to_string()) else {
                continue;
            };
            let name = name.content.display().to_string();
            let range = variable.range();
            body.variables.push(Variable {
                start: range.start.as_u32(),
                end: range.end.as_u32(),
                slot: variable.index(),
                name,
                one,
                generic: None,
            });
        }
    }
    if let Ok(Some(table)) = code
        .attributes()
        .find_attribute::<LocalVariableTypeTable<'_>>(pool)
    {
        for variable in table.locals().into_iter().flatten() {
            let Ok(signature) = pool.get(variable.signature()) else {
                continue;
            };
            let (start, slot) = (variable.range().start.as_u32(), variable.index());
            let mut all = body.variables.iter_mut();
            if let Some(one) = all.find(|one| one.start == start && one.slot == slot) {
                one.generic = Some(signature.content.display().to_string());
            }
        }
    }
    Ok(Some(body))
}

/// The table: how many entries, then for each the position and the line, two bytes each.
fn line_numbers(content: &[u8], lines: &mut Vec<(u32, u32)>) {
    for entry in content.get(2..).unwrap_or_default().chunks_exact(4) {
        let start = u32::from(u16::from_be_bytes([entry[0], entry[1]]));
        let line = u32::from(u16::from_be_bytes([entry[2], entry[3]]));
        lines.push((start, line));
    }
}
