//! Types and how their values are written in bits.
//!
//! A value is a row of bits: the components of a class in the order of declaration, the elements of
//! an array by index, and an enumeration or range as the binary number of its offset from the least
//! value, most significant bit first. A type need not fill its codes; [`Types::leaves`] tells where
//! that matters. The *layout* of a type is another order of the same bits, the one in which they go
//! into the order of BDD variables (`layout`).

use rustc_hash::FxHashMap;

/// A row of [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// The type `bool`.
pub const BOOL: TypeId = TypeId(0);

/// The widest type there is, in bits.
pub const WIDEST: u32 = 1 << 20;

/// A component of a class.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Its first bit.
    pub offset: u32,
}

/// What a type is made of.
#[derive(Clone, Debug)]
pub enum Shape {
    /// `false` and `true`
    Bool,
    /// Named constants.
    Enum(Vec<String>),
    /// Numbers from the first to the second.
    Range(u64, u64),
    /// Components.
    Class(Vec<Component>),
    /// Elements of one type, and how many there are.
    Array(TypeId, u32),
}

/// A type.
#[derive(Clone, Debug)]
pub struct Type {
    /// As it is declared.
    pub name: String,
    /// What it is made of.
    pub shape: Shape,
    /// How many bits it has.
    pub width: u32,
    /// Whether every row of bits is a value.
    pub full: bool,
    /// The bits in the order of the layout; empty if that is the order they have anyway.
    pub layout: Vec<u32>,
}

impl Type {
    /// Whether it has no parts.
    pub fn is_scalar(&self) -> bool {
        !matches!(self.shape, Shape::Class(_) | Shape::Array(..))
    }
}

/// A part of a value that is no class and no array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its first bit.
    pub offset: u32,
    /// Its type.
    pub ty: TypeId,
}

/// All types of a session.
#[derive(Clone, Debug)]
pub struct Types {
    rows: Vec<Type>,
    arrays: FxHashMap<(TypeId, u32), TypeId>,
    /// The constants of each enumeration.
    constants: FxHashMap<(TypeId, String), u64>,
    /// The components of each class, as indices.
    components: FxHashMap<(TypeId, String), u32>,
}

impl Default for Types {
    fn default() -> Self {
        let bool = Type {
            name: "bool".to_owned(),
            shape: Shape::Bool,
            width: 1,
            full: true,
            layout: Vec::new(),
        };
        Types {
            rows: vec![bool],
            arrays: FxHashMap::default(),
            constants: FxHashMap::default(),
            components: FxHashMap::default(),
        }
    }
}

impl Types {
    /// The type.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.rows[id.0 as usize]
    }

    fn add(&mut self, name: String, shape: Shape, width: u32, full: bool) -> TypeId {
        let id = TypeId(self.rows.len() as u32);
        self.rows.push(Type {
            name,
            shape,
            width,
            full,
            layout: Vec::new(),
        });
        id
    }

    /// A new enumeration of at least one constant.
    pub(crate) fn enumeration(&mut self, name: String, constants: Vec<String>) -> TypeId {
        let count = constants.len() as u64;
        let width = bits_for(count - 1);
        let full = count.is_power_of_two();
        let id = TypeId(self.rows.len() as u32);
        for (i, constant) in constants.iter().enumerate() {
            self.constants.insert((id, constant.clone()), i as u64);
        }
        self.add(name, Shape::Enum(constants), width, full)
    }

    /// A new range.
    pub(crate) fn range(&mut self, name: String, lo: u64, hi: u64) -> TypeId {
        let last = hi - lo;
        let full = last.wrapping_add(1).is_power_of_two() || last == u64::MAX;
        self.add(name, Shape::Range(lo, hi), bits_for(last), full)
    }

    /// The array type; nothing if it is too wide.
    pub(crate) fn array(&mut self, element: TypeId, size: u32) -> Option<TypeId> {
        if let Some(&id) = self.arrays.get(&(element, size)) {
            return Some(id);
        }
        let of = self.get(element);
        let width = of
            .width
            .checked_mul(size)
            .filter(|width| *width <= WIDEST)?;
        let (name, full) = (format!("{}[{size}]", of.name), of.full);
        let layout: Vec<u32> = if of.layout.is_empty() {
            Vec::new()
        } else {
            (0..size)
                .flat_map(|i| of.layout.iter().map(move |bit| (i, *bit)))
                .map(|(i, bit)| i * of.width + bit)
                .collect()
        };
        let id = self.add(name, Shape::Array(element, size), width, full);
        self.rows[id.0 as usize].layout = layout;
        self.arrays.insert((element, size), id);
        Some(id)
    }

    /// A new class; nothing if it is too wide.
    pub(crate) fn class(
        &mut self,
        name: String,
        components: Vec<(String, TypeId)>,
    ) -> Option<TypeId> {
        let id = TypeId(self.rows.len() as u32);
        let mut width = 0u32;
        let mut full = true;
        let mut list = Vec::with_capacity(components.len());
        for (i, (component, ty)) in components.into_iter().enumerate() {
            self.components.insert((id, component.clone()), i as u32);
            let of = self.get(ty);
            full &= of.full;
            let offset = width;
            width = width.checked_add(of.width).filter(|w| *w <= WIDEST)?;
            list.push(Component {
                name: component,
                ty,
                offset,
            });
        }
        Some(self.add(name, Shape::Class(list), width, full))
    }

    /// Sets the order in which the bits go into the order of BDD variables.
    pub(crate) fn set_layout(&mut self, id: TypeId, layout: Vec<u32>) {
        let trivial = layout.iter().enumerate().all(|(i, &bit)| i as u32 == bit);
        self.rows[id.0 as usize].layout = if trivial { Vec::new() } else { layout };
    }

    /// The bits in the order of the layout.
    pub fn layout(&self, id: TypeId) -> impl Iterator<Item = u32> + '_ {
        let ty = self.get(id);
        let plain = ty.layout.is_empty();
        (0..ty.width).map(move |i| if plain { i } else { ty.layout[i as usize] })
    }

    /// The component of a class.
    pub fn component(&self, class: TypeId, name: &str) -> Option<&Component> {
        let Shape::Class(list) = &self.get(class).shape else {
            return None;
        };
        // Two lookups rather than a borrowed key of two parts.
        let index = self.components.get(&(class, name.to_owned()))?;
        list.get(*index as usize)
    }

    /// The code of a named constant.
    pub fn constant(&self, ty: TypeId, name: &str) -> Option<u64> {
        matches!(self.get(ty).shape, Shape::Enum(_))
            .then(|| self.constants.get(&(ty, name.to_owned())).copied())
            .flatten()
    }

    /// The code of a number, if it is a value of the type.
    pub fn number(&self, ty: TypeId, number: u64) -> Option<u64> {
        match &self.get(ty).shape {
            Shape::Bool => (number < 2).then_some(number),
            Shape::Enum(constants) => (number < constants.len() as u64).then_some(number),
            Shape::Range(lo, hi) => (*lo..=*hi).contains(&number).then(|| number - lo),
            Shape::Class(_) | Shape::Array(..) => None,
        }
    }

    /// The greatest code of a type without parts.
    pub fn last_code(&self, ty: TypeId) -> u64 {
        match &self.get(ty).shape {
            Shape::Bool => 1,
            Shape::Enum(constants) => constants.len() as u64 - 1,
            Shape::Range(lo, hi) => hi - lo,
            Shape::Class(_) | Shape::Array(..) => 0,
        }
    }

    /// The parts that have no parts, in order.
    pub fn leaves(&self, ty: TypeId) -> Vec<Leaf> {
        let mut list = Vec::new();
        let mut stack = vec![Leaf { offset: 0, ty }];
        while let Some(part) = stack.pop() {
            match &self.get(part.ty).shape {
                Shape::Bool | Shape::Enum(_) | Shape::Range(..) => list.push(part),
                Shape::Class(components) => {
                    stack.extend(components.iter().rev().map(|component| Leaf {
                        offset: part.offset + component.offset,
                        ty: component.ty,
                    }));
                }
                Shape::Array(element, size) => {
                    let width = self.get(*element).width;
                    stack.extend((0..*size).rev().map(|i| Leaf {
                        offset: part.offset + i * width,
                        ty: *element,
                    }));
                }
            }
        }
        list
    }

    /// The parts that have no parts, each with its path: `.n`, `.f[1]`, or nothing if the value
    /// itself has none.
    pub fn paths(&self, ty: TypeId) -> Vec<(String, Leaf)> {
        let mut list = Vec::new();
        let mut stack = vec![(String::new(), Leaf { offset: 0, ty })];
        while let Some((path, part)) = stack.pop() {
            match &self.get(part.ty).shape {
                Shape::Bool | Shape::Enum(_) | Shape::Range(..) => list.push((path, part)),
                Shape::Class(components) => {
                    stack.extend(components.iter().rev().map(|component| {
                        let offset = part.offset + component.offset;
                        let ty = component.ty;
                        (format!("{path}.{}", component.name), Leaf { offset, ty })
                    }));
                }
                Shape::Array(element, size) => {
                    let width = self.get(*element).width;
                    stack.extend((0..*size).rev().map(|i| {
                        let offset = part.offset + i * width;
                        (
                            format!("{path}[{i}]"),
                            Leaf {
                                offset,
                                ty: *element,
                            },
                        )
                    }));
                }
            }
        }
        list
    }

    /// A value as text, given its bits: `{n=2,c=green,f[]={true,true}}`.
    pub fn show(&self, ty: TypeId, bits: &[bool]) -> String {
        enum Task<'a> {
            Value(TypeId, u32),
            Text(&'a str),
        }
        let mut out = String::new();
        let mut stack = vec![Task::Value(ty, 0)];
        while let Some(task) = stack.pop() {
            let (ty, offset) = match task {
                Task::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Task::Value(ty, offset) => (ty, offset),
            };
            match &self.get(ty).shape {
                Shape::Bool | Shape::Enum(_) | Shape::Range(..) => {
                    let width = self.get(ty).width;
                    let code = code(&bits[offset as usize..(offset + width) as usize]);
                    out.push_str(&self.show_code(ty, code));
                }
                Shape::Class(components) => {
                    out.push('{');
                    stack.push(Task::Text("}"));
                    for (i, component) in components.iter().enumerate().rev() {
                        stack.push(Task::Value(component.ty, offset + component.offset));
                        let array = matches!(self.get(component.ty).shape, Shape::Array(..));
                        stack.push(Task::Text(if array { "[]=" } else { "=" }));
                        stack.push(Task::Text(&component.name));
                        if i > 0 {
                            stack.push(Task::Text(","));
                        }
                    }
                }
                Shape::Array(element, size) => {
                    out.push('{');
                    stack.push(Task::Text("}"));
                    let width = self.get(*element).width;
                    for i in (0..*size).rev() {
                        stack.push(Task::Value(*element, offset + i * width));
                        if i > 0 {
                            stack.push(Task::Text(","));
                        }
                    }
                }
            }
        }
        out
    }

    /// A declaration of a variable of this type.
    pub fn declare(&self, ty: TypeId, name: &str) -> String {
        match &self.get(ty).shape {
            Shape::Array(element, size) => format!("{} {name}[{size}]", self.get(*element).name),
            _ => format!("{} {name}", self.get(ty).name),
        }
    }

    /// A type's own declaration.
    pub fn describe(&self, ty: TypeId) -> String {
        let name = &self.get(ty).name;
        match &self.get(ty).shape {
            Shape::Bool | Shape::Array(..) => name.clone(),
            Shape::Enum(constants) => format!("enum {name} {{ {} }}", constants.join(", ")),
            Shape::Range(lo, hi) => format!("enum {name} {{ {lo} .. {hi} }}"),
            Shape::Class(components) => {
                let list: Vec<String> = components
                    .iter()
                    .map(|component| format!("{};", self.declare(component.ty, &component.name)))
                    .collect();
                format!("class {name} {{ {} }}", list.join(" "))
            }
        }
    }

    fn show_code(&self, ty: TypeId, code: u64) -> String {
        match &self.get(ty).shape {
            Shape::Bool => (code == 1).to_string(),
            Shape::Enum(constants) => constants
                .get(code as usize)
                .cloned()
                .unwrap_or_else(|| format!("<code {code}>")),
            Shape::Range(lo, _) => lo.saturating_add(code).to_string(),
            Shape::Class(_) | Shape::Array(..) => String::new(),
        }
    }
}

/// How many bits the numbers up to `last` need.
fn bits_for(last: u64) -> u32 {
    u64::BITS - last.leading_zeros()
}

/// The number that bits are, most significant first.
pub fn code(bits: &[bool]) -> u64 {
    bits.iter().fold(0, |code, &bit| code << 1 | u64::from(bit))
}

/// Bit `index` of `width`, counted from the most significant, of a code.
pub(crate) fn code_bit(code: u64, width: u32, index: u32) -> bool {
    code >> (width - 1 - index) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_logarithms() {
        let mut types = Types::default();
        let names = |n: usize| (0..n).map(|i| format!("c{i}")).collect::<Vec<_>>();
        for (count, width, full) in [
            (1, 0, true),
            (2, 1, true),
            (3, 2, false),
            (4, 2, true),
            (5, 3, false),
        ] {
            let id = types.enumeration(format!("E{count}"), names(count));
            assert_eq!((types.get(id).width, types.get(id).full), (width, full));
            assert_eq!(types.last_code(id), count as u64 - 1);
        }
        let range = types.range("R".to_owned(), 5, 9);
        assert_eq!(types.get(range).width, 3);
        assert_eq!(types.number(range, 4), None);
        assert_eq!(types.number(range, 7), Some(2));
        let all = types.range("All".to_owned(), 0, u64::MAX);
        assert_eq!((types.get(all).width, types.get(all).full), (64, true));
    }

    #[test]
    fn values_are_shown_by_name() {
        let mut types = Types::default();
        let range = types.range("R".to_owned(), 1, 3);
        let color = types.enumeration("Color".to_owned(), vec!["red".into(), "green".into()]);
        let flags = types.array(BOOL, 2).unwrap();
        let class = types
            .class(
                "C".to_owned(),
                vec![
                    ("n".into(), range),
                    ("c".into(), color),
                    ("f".into(), flags),
                ],
            )
            .unwrap();
        let shown = types.show(class, &[false, true, true, true, true]);
        assert_eq!(shown, "{n=2,c=green,f[]={true,true}}");
        assert_eq!(types.leaves(class).len(), 4);
    }
}
