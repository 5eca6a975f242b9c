//! Exceptions of the library: who extends whom.
//!
//! Their class files are not at hand, but which handler takes an exception is a matter of its class
//! alone. These classes and their parents are fixed by the Java specification. What is not here is
//! taken to be unknown, so a name that is missing costs precision and nothing else.

/// The class of all exceptions. A handler for it takes everything.
pub(crate) const ROOT: &str = "java.lang.Throwable";

/// What the machine raises where null is used.
pub(crate) const OF_NULL: &str = "java.lang.NullPointerException";

/// What it raises where a cast fails.
pub(crate) const OF_CASTS: &str = "java.lang.ClassCastException";

/// What it raises where an integer is divided by zero.
pub(crate) const OF_DIVISIONS: &str = "java.lang.ArithmeticException";

/// What it raises where the length of a new array is negative.
pub(crate) const OF_LENGTHS: &str = "java.lang.NegativeArraySizeException";

/// What it raises where an array has no element of the number.
pub(crate) const OF_INDICES: &str = "java.lang.ArrayIndexOutOfBoundsException";

/// What it raises at the first use of a class if an exception leaves its static initialiser, and at
/// each further use.
pub(crate) const OF_INITIALISERS: [&str; 2] = [
    "java.lang.ExceptionInInitializerError",
    "java.lang.NoClassDefFoundError",
];

/// What it raises where calls are nested too deeply.
pub(crate) const OF_CALLS: &str = "java.lang.StackOverflowError";

/// Each class with its parent, behind it.
const PARENTS: [(&str, &str); 44] = [
    (ROOT, "java.lang.Object"),
    ("java.lang.Exception", ROOT),
    ("java.lang.Error", ROOT),
    ("java.lang.RuntimeException", "java.lang.Exception"),
    (OF_NULL, "java.lang.RuntimeException"),
    (OF_CASTS, "java.lang.RuntimeException"),
    (OF_DIVISIONS, "java.lang.RuntimeException"),
    (
        "java.lang.ArrayStoreException",
        "java.lang.RuntimeException",
    ),
    (
        "java.lang.IllegalArgumentException",
        "java.lang.RuntimeException",
    ),
    (
        "java.lang.NumberFormatException",
        "java.lang.IllegalArgumentException",
    ),
    (
        "java.lang.IllegalCallerException",
        "java.lang.RuntimeException",
    ),
    (
        "java.lang.IllegalMonitorStateException",
        "java.lang.RuntimeException",
    ),
    (
        "java.lang.IllegalStateException",
        "java.lang.RuntimeException",
    ),
    (
        "java.lang.IndexOutOfBoundsException",
        "java.lang.RuntimeException",
    ),
    (OF_INDICES, "java.lang.IndexOutOfBoundsException"),
    (
        "java.lang.StringIndexOutOfBoundsException",
        "java.lang.IndexOutOfBoundsException",
    ),
    (OF_LENGTHS, "java.lang.RuntimeException"),
    ("java.lang.SecurityException", "java.lang.RuntimeException"),
    (
        "java.lang.UnsupportedOperationException",
        "java.lang.RuntimeException",
    ),
    (
        "java.util.ConcurrentModificationException",
        "java.lang.RuntimeException",
    ),
    (
        "java.util.EmptyStackException",
        "java.lang.RuntimeException",
    ),
    (
        "java.util.NoSuchElementException",
        "java.lang.RuntimeException",
    ),
    (
        "java.util.InputMismatchException",
        "java.util.NoSuchElementException",
    ),
    (
        "java.util.MissingResourceException",
        "java.lang.RuntimeException",
    ),
    ("java.io.UncheckedIOException", "java.lang.RuntimeException"),
    (
        "java.lang.CloneNotSupportedException",
        "java.lang.Exception",
    ),
    ("java.lang.InterruptedException", "java.lang.Exception"),
    (
        "java.util.concurrent.ExecutionException",
        "java.lang.Exception",
    ),
    (
        "java.util.concurrent.TimeoutException",
        "java.lang.Exception",
    ),
    ("java.io.IOException", "java.lang.Exception"),
    ("java.io.EOFException", "java.io.IOException"),
    ("java.io.FileNotFoundException", "java.io.IOException"),
    (
        "java.lang.ReflectiveOperationException",
        "java.lang.Exception",
    ),
    (
        "java.lang.ClassNotFoundException",
        "java.lang.ReflectiveOperationException",
    ),
    (
        "java.lang.InstantiationException",
        "java.lang.ReflectiveOperationException",
    ),
    ("java.lang.AssertionError", "java.lang.Error"),
    ("java.lang.LinkageError", "java.lang.Error"),
    (OF_INITIALISERS[0], "java.lang.LinkageError"),
    (OF_INITIALISERS[1], "java.lang.LinkageError"),
    (
        "java.lang.IncompatibleClassChangeError",
        "java.lang.LinkageError",
    ),
    (
        "java.lang.NoSuchFieldError",
        "java.lang.IncompatibleClassChangeError",
    ),
    ("java.lang.VirtualMachineError", "java.lang.Error"),
    (
        "java.lang.OutOfMemoryError",
        "java.lang.VirtualMachineError",
    ),
    (OF_CALLS, "java.lang.VirtualMachineError"),
];

/// The class that an exception of the library extends, if it is known.
pub(crate) fn parent(name: &str) -> Option<&'static str> {
    let found = PARENTS.iter().find(|(one, _)| *one == name);
    found.map(|&(_, parent)| parent)
}

/// Whether a handler for this class takes what is raised where null is used.
pub(crate) fn is_of_null(class: &str) -> bool {
    is_above(OF_NULL, class)
}

/// Whether a handler for this class takes what is raised where calls are nested too deeply.
pub(crate) fn is_of_calls(class: &str) -> bool {
    is_above(OF_CALLS, class)
}

/// Whether an exception of this class is an error, as far as that is known.
pub(crate) fn is_error(class: &str) -> bool {
    let mut all = std::iter::successors(Some(class), |one| parent(one));
    all.any(|one| one == "java.lang.Error")
}

/// Whether a class is this exception of the library or one above it.
fn is_above(exception: &'static str, class: &str) -> bool {
    let mut all = std::iter::successors(Some(exception), |one| parent(one));
    all.any(|one| one == class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exception_is_one_of_all() {
        for (name, _) in PARENTS {
            let above = std::iter::successors(Some(name), |one| parent(one));
            let above: Vec<&str> = above.take(PARENTS.len()).collect();
            assert!(above.contains(&ROOT), "{name}");
            assert_eq!(above.last(), Some(&"java.lang.Object"), "{name}");
        }
        assert!(is_of_null("java.lang.Exception"));
        assert!(!is_of_null("java.lang.IllegalStateException"));
    }
}
