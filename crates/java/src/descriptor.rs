//! Types of fields and methods as class files write them: `(Lpkg/List;I)Z`.

use droste_pointer::Kind;

/// The type of a field, a parameter, or a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    /// As Java writes it: `int`, `pkg.List`, `int[][]`.
    pub name: String,
    pub kind: Kind,
    /// `long` and `double` take two slots.
    pub wide: bool,
}

/// The types of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MethodType {
    pub parameters: Vec<Type>,
    pub result: Option<Type>,
}

/// A class name with dots.
pub(crate) fn dotted(name: &str) -> String {
    name.replace('/', ".")
}

/// Reads one type; the rest of the text comes back too.
fn first(text: &str) -> Option<(Type, &str)> {
    let inner = text.trim_start_matches('[');
    let dimensions = text.len() - inner.len();
    let (name, kind, wide, rest) = if let Some(rest) = inner.strip_prefix('L') {
        let end = rest.find(';')?;
        if end == 0 {
            return None;
        }
        (
            dotted(&rest[..end]),
            Kind::Reference,
            false,
            &rest[end + 1..],
        )
    } else {
        let (name, kind, wide) = match inner.as_bytes().first()? {
            b'Z' => ("boolean", Kind::Boolean, false),
            b'B' => ("byte", Kind::Number, false),
            b'S' => ("short", Kind::Number, false),
            b'C' => ("char", Kind::Number, false),
            b'I' => ("int", Kind::Number, false),
            b'F' => ("float", Kind::Number, false),
            b'J' => ("long", Kind::Number, true),
            b'D' => ("double", Kind::Number, true),
            _ => return None,
        };
        (name.to_string(), kind, wide, &inner[1..])
    };
    // The Java machine allows no more dimensions.
    if dimensions > 255 {
        return None;
    }
    let array = dimensions > 0;
    let name = name + &"[]".repeat(dimensions);
    let kind = if array { Kind::Reference } else { kind };
    Some((
        Type {
            name,
            kind,
            wide: wide && !array,
        },
        rest,
    ))
}

/// The type of a field.
pub(crate) fn field_type(text: &str) -> Option<Type> {
    let (one, rest) = first(text)?;
    rest.is_empty().then_some(one)
}

/// The types of a method.
pub(crate) fn method_type(text: &str) -> Option<MethodType> {
    let mut rest = text.strip_prefix('(')?;
    let mut parameters = Vec::new();
    while !rest.starts_with(')') {
        let (one, after) = first(rest)?;
        parameters.push(one);
        rest = after;
    }
    let rest = &rest[1..];
    let result = if rest == "V" {
        None
    } else {
        Some(field_type(rest)?)
    };
    Some(MethodType { parameters, result })
}

/// `<Class: Type name(Types)>`
pub(crate) fn signature(class: &str, name: &str, types: &MethodType) -> String {
    let result = types
        .result
        .as_ref()
        .map_or("void", |one| one.name.as_str());
    let parameters: Vec<&str> = types
        .parameters
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    format!("<{class}: {result} {name}({})>", parameters.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read() {
        let types = method_type("(Lpkg/List;I[[J)Z").unwrap();
        assert_eq!(
            signature("A", "m", &types),
            "<A: boolean m(pkg.List,int,long[][])>"
        );
        assert!(!types.parameters[2].wide);
        let types = method_type("(JD)V").unwrap();
        assert_eq!(signature("A", "m", &types), "<A: void m(long,double)>");
        assert!(types.parameters.iter().all(|one| one.wide));
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "", "(", "()", "()VV", "(L;)V", "(Lx)V", "(Q)V", "([)V", "(é)V", "()[V",
        ] {
            assert_eq!(method_type(text), None, "{text}");
        }
        assert_eq!(field_type("II"), None);
        assert_eq!(field_type(&("[".repeat(256) + "I")), None);
    }
}
