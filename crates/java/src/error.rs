//! What can go wrong, and what is to be said even when nothing does.

use std::fmt;

/// Why there is no program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// A file or a directory cannot be read.
    Read {
        /// Which.
        path: String,
        /// Why.
        message: String,
    },
    /// A class file is not as it should be.
    ClassFile {
        /// Which.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// A method cannot be translated.
    Method {
        /// Where.
        place: Place,
        /// Why.
        message: String,
    },
    /// There is no Java compiler.
    NoCompiler {
        /// What the system said.
        message: String,
    },
    /// The Java compiler refuses the sources.
    Compiler {
        /// Its own words.
        output: String,
    },
    /// No class file, archive or source was found.
    Empty {
        /// Where they were looked for.
        paths: Vec<String>,
    },
    /// There is no class of this name.
    NoClass {
        /// The name.
        name: String,
        /// One that is spelt nearly so.
        nearest: Option<String>,
        /// Some that there are.
        there: Vec<String>,
    },
    /// The class has no such method.
    NoMethod {
        /// The class.
        class: String,
        /// The name.
        name: String,
        /// One that is spelt nearly so.
        nearest: Option<String>,
        /// Those that there are.
        there: Vec<String>,
    },
    /// The class has several methods of this name, or several classes have this simple name.
    Ambiguous {
        /// The name.
        name: String,
        /// What it may mean.
        candidates: Vec<String>,
    },
}

/// A place in a method.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place {
    /// The source file, if it is known, else the class file.
    pub file: String,
    /// The line, 0 if it is not known.
    pub line: u32,
    /// The method, `<Class: Type name(Types)>`. Empty if a file is meant.
    pub method: String,
}

/// Something that is not modelled exactly.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Warning {
    /// Where.
    pub place: Place,
    /// What, and what is done instead.
    pub message: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 if self.method.is_empty() => f.write_str(&self.file),
            0 => write!(f, "{}: in {}", self.file, self.method),
            line => write!(f, "{}:{line}: in {}", self.file, self.method),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, nearest: &Option<String>, there: &[String]| {
            match nearest {
                Some(nearest) => write!(f, "; did you mean `{nearest}`?")?,
                None => f.write_str(".")?,
            }
            match there {
                [] => Ok(()),
                there => write!(f, " There are: {}", there.join(", ")),
            }
        };
        match self {
            Error::Read { path, message } => write!(f, "cannot read `{path}`: {message}"),
            Error::ClassFile { path, message } => write!(
                f,
                "`{path}` is no whole class file: {message}. Compile it again"
            ),
            Error::Method { place, message } => write!(f, "{place}: {message}"),
            Error::NoCompiler { message } => write!(
                f,
                "Java sources need `javac`, which cannot be started ({message}). Install a JDK \
                 (on Debian and Ubuntu: apt install default-jdk-headless), or give class files \
                 or a jar"
            ),
            Error::Compiler { output } => {
                write!(f, "`javac` refuses the sources:\n{}", output.trim_end())
            }
            Error::Empty { paths } => {
                let paths = paths.join(", ");
                let is_source =
                    |one: &str| one.rsplit_once('.').is_some_and(|(_, kind)| kind == "java");
                if is_source(&paths) {
                    write!(f, "no class is declared in {paths}")
                } else {
                    write!(f, "no Java source, class file or jar in {paths}")
                }
            }
            Error::NoClass {
                name,
                nearest,
                there,
            } => {
                write!(f, "there is no class `{name}`")?;
                list(f, nearest, there)
            }
            Error::NoMethod {
                class,
                name,
                nearest,
                there,
            } => {
                write!(f, "class `{class}` has no method `{name}`")?;
                list(f, nearest, there)?;
                // Nobody asked for `main`: it is what is taken when nothing is said.
                if name == "main" && !there.is_empty() {
                    f.write_str("; say which with --method")?;
                }
                Ok(())
            }
            Error::Ambiguous { name, candidates } => {
                write!(f, "`{name}` may be any of: {}", candidates.join(", "))
            }
        }
    }
}

impl std::error::Error for Error {}
