//! Tests that need a Java compiler.

/// Whether there is a Java compiler; without one there is nothing to test.
pub(crate) fn has_javac() -> bool {
    let found = std::process::Command::new("javac").arg("-version").output();
    let there = found.is_ok_and(|output| output.status.success());
    if !there {
        println!("skipped: there is no javac");
    }
    there
}
