//! What is known of library code that is not at hand: which of it raises nothing, and which
//! constructors run no method of the object that they make.
//!
//! The lists say what the Java specification says of these methods. What is not in them may raise
//! anything and run anything, so a name that is missing costs precision and nothing else. The list of
//! reflection is the other way round: what is in it may change any object.

use droste_pointer::{Kind, Operand};

use crate::descriptor::{MethodType, method_type};
use crate::exceptions;
use crate::instruction::Member;

/// Containers. Made empty, they run nothing of their own that a class could override.
const CONTAINERS: [&str; 24] = [
    "AbstractCollection",
    "AbstractList",
    "AbstractMap",
    "AbstractQueue",
    "AbstractSequentialList",
    "AbstractSet",
    "ArrayDeque",
    "ArrayList",
    "BitSet",
    "HashMap",
    "HashSet",
    "Hashtable",
    "IdentityHashMap",
    "LinkedHashMap",
    "LinkedHashSet",
    "LinkedList",
    "PriorityQueue",
    "Stack",
    "TreeMap",
    "TreeSet",
    "Vector",
    "WeakHashMap",
    "concurrent.ConcurrentHashMap",
    "concurrent.CopyOnWriteArrayList",
];

fn in_lang(class: &str) -> Option<&str> {
    class.strip_prefix("java.lang.")
}

fn is_container(class: &str) -> bool {
    let name = class.strip_prefix("java.util.");
    name.is_some_and(|name| CONTAINERS.contains(&name))
}

/// Whether it is a class of numbers, characters or truth values as objects.
pub(crate) fn is_box(simple: &str) -> bool {
    matches!(
        simple,
        "Integer" | "Long" | "Short" | "Byte" | "Character" | "Boolean" | "Float" | "Double"
    )
}

/// Whether it is an exception of the Java library, as its name tells.
pub(crate) fn is_exception(class: &str) -> bool {
    let java = class.starts_with("java.") || class.starts_with("javax.");
    let named = class.ends_with("Exception") || class.ends_with("Error");
    exceptions::parent(class).is_some() || (java && named)
}

/// Whether values of these types are numbers, or texts.
fn plain(types: &MethodType) -> bool {
    let is_plain = |one: &crate::descriptor::Type| {
        one.kind != Kind::Reference || one.name == "java.lang.String"
    };
    types.parameters.iter().all(is_plain)
}

/// Whether a constructor whose code is not at hand may raise an exception.
pub(crate) fn constructor_raises(member: &Member, arguments: &[Operand]) -> bool {
    let class = member.class.as_str();
    if class == "java.lang.Object" || is_exception(class) {
        return false;
    }
    let of = member.descriptor.as_str();
    let numbers = |from: i64| {
        let fits = |one: &Operand| matches!(*one, Operand::Int(number) if number >= from);
        arguments.iter().all(fits)
    };
    if is_container(class) {
        return match of {
            "()V" | "(Ljava/util/Comparator;)V" => false,
            "(I)V" => !numbers(1),
            _ => true,
        };
    }
    match in_lang(class) {
        Some("Enum" | "Record" | "Number") => return false,
        Some("StringBuilder" | "StringBuffer") => {
            let text = matches!(arguments, [Operand::Present]);
            return !(of == "()V" || (of == "(I)V" && numbers(0)) || text);
        }
        Some("Thread" | "ThreadLocal") => return of != "()V" && of != "(Ljava/lang/Runnable;)V",
        Some(simple) if is_box(simple) => return of.contains('L'),
        _ => {}
    }
    let empty = matches!(
        class,
        "java.util.TimerTask"
            | "java.io.InputStream"
            | "java.io.OutputStream"
            | "java.io.Reader"
            | "java.io.Writer"
    );
    let atomic = class.starts_with("java.util.concurrent.atomic.") && !of.contains('[');
    !(atomic || class == "java.util.Random" || (empty && of == "()V"))
}

/// Whether a constructor whose code is not at hand may run methods of the object. That of an exception
/// runs `fillInStackTrace` and nothing else.
pub(crate) fn constructor_runs(member: &Member) -> bool {
    let class = member.class.as_str();
    if class == "java.lang.Object" || exceptions::parent(class).is_some() {
        return false;
    }
    if is_container(class) {
        // What is given a container may fill itself from that.
        let of = member.descriptor.replace("Ljava/util/Comparator;", "");
        return of.contains('L');
    }
    if let Some(simple) = in_lang(class)
        && (matches!(
            simple,
            "Enum" | "Record" | "Number" | "Thread" | "ThreadLocal"
        ) || is_box(simple))
    {
        return false;
    }
    !matches!(
        class,
        "java.util.TimerTask"
            | "java.util.EventObject"
            | "java.io.InputStream"
            | "java.io.OutputStream"
            | "java.io.Reader"
            | "java.io.Writer"
            | "java.io.FilterInputStream"
            | "java.io.FilterOutputStream"
    )
}

/// Whether a method whose code is not at hand raises nothing, whatever it is given.
pub(crate) fn is_harmless(member: &Member) -> bool {
    let name = member.name.as_str();
    let of = member.descriptor.as_str();
    let Some(types) = method_type(of) else {
        return false;
    };
    let none = types.parameters.is_empty();
    if none && (name == "getClass" || (name == "clone" && member.class.starts_with('['))) {
        return true;
    }
    match member.class.as_str() {
        "java.io.PrintStream" => matches!(name, "print" | "println") && plain(&types),
        "java.util.Random" => none && name.starts_with("next"),
        class => match in_lang(class) {
            Some("Class") => name == "desiredAssertionStatus" || name == "getName",
            Some("Enum") => none && matches!(name, "ordinal" | "name"),
            Some("Math" | "StrictMath") => {
                !name.ends_with("Exact")
                    && !name.contains("Div")
                    && !name.contains("Mod")
                    && !name.starts_with("clamp")
            }
            Some("System") => matches!(name, "currentTimeMillis" | "nanoTime"),
            Some("StringBuilder" | "StringBuffer") => {
                let appends = name == "append" && types.parameters.len() == 1 && plain(&types);
                appends || (none && matches!(name, "toString" | "length"))
            }
            Some("String") => {
                let values = name == "valueOf" && !of.contains(['[', 'L']);
                values
                    || none && matches!(name, "length" | "isEmpty" | "hashCode" | "toString")
                    || name == "equals"
            }
            Some(simple) if is_box(simple) => {
                let boxes = name == "valueOf" && !of.starts_with("(L");
                boxes || (none && name.ends_with("Value"))
            }
            _ => false,
        },
    }
}

/// Whether nobody expects this method to raise anything: only a method of the program that it runs
/// could, or an odd container.
pub(crate) fn is_ordinary(member: &Member) -> bool {
    let name = member.name.as_str();
    if is_harmless(member)
        || matches!(
            name,
            "toString" | "equals" | "hashCode" | "size" | "isEmpty" | "hasNext" | "iterator"
        )
    {
        return true;
    }
    let class = member.class.as_str();
    match class {
        "java.util.Objects" => matches!(name, "equals" | "hash"),
        "java.io.PrintStream" => matches!(name, "print" | "println"),
        "java.lang.StringBuilder" | "java.lang.StringBuffer" => {
            name == "append" && !member.descriptor.contains("II)")
        }
        "java.lang.String" => name == "valueOf" && !member.descriptor.contains("II)"),
        _ => {
            let one = member.descriptor.starts_with("(Ljava/lang/Object;)");
            let clears = name == "clear" && member.descriptor == "()V";
            let takes = one
                && matches!(
                    name,
                    "add" | "contains" | "containsKey" | "containsValue" | "get" | "remove"
                );
            // Those that sort compare what they are given.
            let sorts = ["Tree", "Priority", "SkipList"]
                .iter()
                .any(|one| class.contains(one));
            class.starts_with("java.util.") && !sorts && (name == "put" || clears || takes)
        }
    }
}

/// Whether a method ends the program, or does not come back.
pub(crate) fn ends_program(member: &Member) -> bool {
    matches!(
        (member.class.as_str(), member.name.as_str()),
        ("java.lang.System" | "java.lang.Runtime", "exit") | ("java.lang.Runtime", "halt")
    )
}

/// Whether a type of the library has no subclasses in the program: objects of it are none of the
/// program's own.
pub(crate) fn is_of_library(name: &str) -> bool {
    let Some(simple) = name.strip_prefix("java.lang.") else {
        return false;
    };
    matches!(
        simple,
        "String" | "StringBuilder" | "StringBuffer" | "Class" | "Math"
    ) || is_box(simple)
}

/// Whether a method of the library does nothing but refuse null.
pub(crate) fn is_null_check(member: &Member) -> bool {
    member.class == "java.util.Objects" && member.name == "requireNonNull"
}

/// Whether it is a method of `java.lang.Object` that nobody can override, and that runs no other
/// method.
pub(crate) fn is_quiet(member: &Member) -> bool {
    matches!(
        (member.name.as_str(), member.descriptor.as_str()),
        ("getClass", "()Ljava/lang/Class;")
            | ("notify" | "notifyAll", "()V")
            | ("wait", "()V" | "(J)V" | "(JI)V")
    )
}

/// Whether a method of the library gives something that is not null.
pub(crate) fn gives_something(member: &Member) -> bool {
    if !member.descriptor.ends_with(';') {
        return false;
    }
    let name = member.name.as_str();
    match member.class.strip_prefix("java.lang.") {
        Some("String" | "StringBuilder" | "StringBuffer") => true,
        Some(simple) if is_box(simple) => name == "valueOf" || name == "toString",
        _ if member.class.starts_with('[') => name == "clone",
        _ => name == "getClass" && member.descriptor == "()Ljava/lang/Class;",
    }
}

/// Whether a method of the library can run or change anything, whatever it is given.
pub(crate) fn is_reflection(member: &Member) -> bool {
    let name = member.name.as_str();
    let sets = |prefix: &str| name.starts_with(prefix);
    match member.class.as_str() {
        "java.lang.reflect.Field" => sets("set") && name != "setAccessible",
        "java.lang.reflect.Method" | "java.lang.reflect.Constructor" => {
            name == "invoke" || name == "newInstance"
        }
        "java.lang.Class" => name == "newInstance" || name == "forName",
        "java.lang.invoke.MethodHandle" => sets("invoke"),
        "java.lang.invoke.VarHandle" => {
            !matches!(name, "get" | "getVolatile" | "getOpaque" | "getAcquire")
        }
        "sun.misc.Unsafe" | "jdk.internal.misc.Unsafe" => !sets("get"),
        class => {
            let updater = class.starts_with("java.util.concurrent.atomic.");
            updater && class.ends_with("FieldUpdater") && name != "get" && name != "newUpdater"
        }
    }
}

/// Whether what a method of the library, or a constructor, is given may come into the hands of a method
/// of the program as an argument. Those that are not meant here run `toString` or `hashCode` alone, refuse
/// null, or do nothing with it.
pub(crate) fn passes_on(member: &Member) -> bool {
    let name = member.name.as_str();
    let class = member.class.as_str();
    if is_of_library(class) || is_quiet(member) || is_exception(class) {
        return false;
    }
    match class {
        "java.lang.Object" => name != "<init>",
        "java.io.PrintStream" => !matches!(name, "print" | "println"),
        "java.util.Objects" => !matches!(
            name,
            "toString" | "hashCode" | "hash" | "isNull" | "nonNull"
        ),
        "java.util.Optional" => name == "equals",
        "java.util.List" | "java.util.Set" | "java.util.Map" => {
            !matches!(name, "of" | "copyOf" | "entry")
        }
        "java.lang.System" => false,
        _ => true,
    }
}

/// Whether the library itself has null that it may hand to a method of the program.
pub(crate) fn has_null(member: &Member) -> bool {
    let name = member.name.as_str();
    let Some(class) = member.class.strip_prefix("java.util.") else {
        return false;
    };
    let empty = class.contains("atomic.")
        && class.contains("Reference")
        && name == "<init>"
        && !member.descriptor.starts_with("(L");
    empty
        || matches!(
            name,
            "compute" | "handle" | "handleAsync" | "whenComplete" | "whenCompleteAsync" | "setSize"
        )
        || (class == "Arrays" && name.starts_with("copyOf"))
}

/// Whether what a method of the library gives back is certainly there, as its signature tells: a container
/// or something that goes through one.
pub(crate) fn gives_container(signature: &str) -> bool {
    let mut words = signature.split(' ');
    let own = words
        .next()
        .is_some_and(|one| one.starts_with("<java.util."));
    let result = words.next().and_then(|one| one.strip_prefix("java.util."));
    own && result.is_some_and(|result| {
        result.starts_with("stream.")
            || matches!(
                result,
                "List"
                    | "Set"
                    | "Map"
                    | "Collection"
                    | "Iterator"
                    | "ListIterator"
                    | "Optional"
                    | "Spliterator"
                    | "SortedSet"
                    | "SortedMap"
                    | "NavigableSet"
                    | "NavigableMap"
            )
    })
}
