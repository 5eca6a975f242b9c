//! Programs for the tests, in folders of their own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::common::{Done, droste, scratch};

/// Lists of two elements; one method is right, and one uses null.
pub(crate) const LISTS: &str = "class Node { Node next; }
class L {
  static Node two() { Node a = new Node(); Node b = new Node(); a.next = b; return a; }
  static void walk() { Node c = two(); while (c != null) { c = c.next; } }
  static void bad() { Node c = two(); c = c.next; c = c.next; c = c.next; }
}
";

/// How the last element of a list is removed, wrongly.
pub(crate) const LAST: [&str; 10] = [
    "check",
    "heap/Last.java",
    "--method",
    "removeLast",
    "--grammar",
    "SLList",
    "--rename",
    "ListNode=Cell",
    "--initial",
    "heap/inputs/cells.txt",
];

/// A folder for the files of a test.
pub(crate) struct Setup {
    folder: PathBuf,
}

impl Setup {
    /// A new folder. `None` if there is no Java compiler: then there is nothing to test.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let found = Command::new("javac").arg("-version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            println!("skipped: there is no javac");
            return None;
        }
        let folder = scratch(name);
        Some(Setup { folder })
    }

    /// A folder with [`LISTS`], and the path of that file.
    pub(crate) fn lists(name: &str) -> Option<(Self, String)> {
        let setup = Setup::new(name)?;
        let file = setup.write("L.java", LISTS);
        Some((setup, file))
    }

    /// The path of a file in the folder; of the folder itself if there is no name.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = match name {
            "" => self.folder.clone(),
            name => self.folder.join(name),
        };
        path.to_str().expect("a path of the tests").to_owned()
    }

    /// Writes a file; its path.
    pub(crate) fn write(&self, name: &str, contents: &str) -> String {
        let path = self.folder.join(name);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above).unwrap();
        }
        fs::write(&path, contents).unwrap();
        self.path(name)
    }

    /// What a file holds.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// Compiles a source into the folder.
    pub(crate) fn compile(&self, file: &str) {
        let compiled = Command::new("javac")
            .args(["-g", "-cp", &self.path(""), "-d", &self.path(""), file])
            .status();
        assert!(compiled.is_ok_and(|status| status.success()));
    }
}

/// A check of a file, with more arguments.
pub(crate) fn check(file: &str, more: &[&str]) -> Done {
    droste(&[&["check", file], more].concat())
}

/// A check of a method.
pub(crate) fn check_method(file: &str, method: &str, more: &[&str]) -> Done {
    check(file, &[&["--method", method], more].concat())
}

/// A file of the examples of heap programs.
pub(crate) fn example(name: &str) -> String {
    let path = crate::common::examples().join("heap").join(name);
    path.to_str().expect("a path of the tests").to_owned()
}
