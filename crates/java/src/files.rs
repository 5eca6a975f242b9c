//! From paths to class files: directories, archives, sources.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use droste_source::io_reason;

use crate::Error;
use crate::class::ClassFile;
use crate::compile::compile;

/// A class file larger than this is refused. The largest of current JDKs have less than a
/// hundredth of it.
const LARGEST: u64 = 1 << 28;

/// The other class files of the directory in which a class file is. A class rarely comes alone.
fn neighbours(path: &Path) -> Vec<PathBuf> {
    let directory = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Vec::new(),
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_class = |other: &PathBuf| other.extension().is_some_and(|one| one == "class");
    let others = entries.map(|entry| directory.join(entry.file_name()));
    others
        .filter(|other| is_class(other) && other.file_name() != path.file_name())
        .collect()
}

/// What is found at some paths.
pub(crate) struct Found {
    pub classes: Vec<ClassFile>,
    /// Files of directories and archives that cannot be read as class files.
    pub broken: Vec<Broken>,
    /// How long the compiler took, if there were sources.
    pub compiling: Option<Duration>,
}

/// A file of a directory or an archive that is no whole class file.
pub(crate) struct Broken {
    /// What the class may be called: the end of its path, from some directory on.
    pub names: Vec<String>,
    pub path: String,
    pub message: String,
}

impl Broken {
    /// `within` is the path in the directory or the archive.
    fn new(within: &Path, path: String, message: String) -> Broken {
        let within = within.with_extension("");
        let parts = within.iter().map(|part| part.to_string_lossy());
        let parts: Vec<_> = parts.collect();
        let names = (0..parts.len()).map(|from| parts[from..].join("."));
        Broken {
            names: names.collect(),
            path,
            message,
        }
    }
}

/// The class files of all paths. Of two classes of one name the first counts.
///
/// Sources are compiled: files that are named, and of a directory the file named after `class`, or
/// all of them if there is no such file. The time that took is given too.
pub(crate) fn class_files(paths: &[PathBuf], class: &str) -> Result<Found, Error> {
    let mut sources = Vec::new();
    let mut source_roots = Vec::new();
    let mut found: Vec<PathBuf> = Vec::new();
    let mut inside: Vec<(&PathBuf, PathBuf)> = Vec::new();
    let mut broken: Vec<Broken> = Vec::new();
    let mut archives = Vec::new();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        if metadata.is_dir() {
            let mut java = Vec::new();
            let mut here = Vec::new();
            walk(path, &mut java, &mut here)?;
            inside.extend(here.into_iter().map(|file| (path, file)));
            if !java.is_empty() {
                source_roots.push(path.clone());
            }
            let simple = class.rsplit('.').next().unwrap_or(class);
            let simple = simple.split('$').next().unwrap_or(simple);
            let named: Vec<PathBuf> = java
                .iter()
                .filter(|path| path.file_stem().is_some_and(|stem| stem == simple))
                .cloned()
                .collect();
            let wanted = if named.is_empty() { java } else { named };
            source_roots.extend(wanted.iter().map(|path| source_root(path)));
            sources.extend(wanted);
        } else {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("java") => {
                    source_roots.push(source_root(path));
                    sources.push(path.clone());
                }
                Some("jar" | "zip") => archives.push(path.clone()),
                _ => found.push(path.clone()),
            }
        }
    }
    let mut seen = BTreeSet::new();
    source_roots.retain(|root| seen.insert(root.clone()));
    let mut classes = Vec::new();
    let mut time = None;
    if !sources.is_empty() {
        let (directory, took) = compile(&sources, &source_roots, &archives)?;
        time = Some(took);
        let mut compiled = Vec::new();
        walk(directory.path(), &mut Vec::new(), &mut compiled)?;
        for path in compiled {
            classes.push(read(&path)?);
        }
    }
    // Those of the directories of the files, with their paths below the roots of their packages.
    let mut beside: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in &found {
        let class = read(path)?;
        let package: PathBuf = class.package().split('.').collect();
        let others = neighbours(path).into_iter();
        let others = others.filter(|other| !found.contains(other));
        let below = |other: PathBuf| {
            let name = other.file_name().unwrap_or_default();
            (package.join(name), other)
        };
        beside.extend(others.map(below));
        roots.extend(class_root(path, &class.name));
        classes.push(class);
    }
    for (directory, path) in inside {
        let within = path.strip_prefix(directory).unwrap_or(&path);
        keep(read(&path), within, &mut classes, &mut broken)?;
    }
    // Nobody asked for these, so one that cannot be opened, or is there already, is passed over.
    beside.sort_unstable();
    beside.dedup();
    for (within, path) in beside {
        match read(&path) {
            Ok(class) if classes.iter().any(|one| one.name == class.name) => {}
            Err(Error::Read { .. }) => {}
            read => keep(read, &within, &mut classes, &mut broken)?,
        }
    }
    for path in archives {
        archive(&path, &mut classes, &mut broken)?;
    }
    roots.sort_unstable();
    roots.dedup();
    from_roots(&roots, &mut classes, &mut broken)?;
    if classes.is_empty() && broken.is_empty() {
        let paths = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(Error::Empty { paths });
    }
    Ok(Found {
        classes,
        broken,
        compiling: time,
    })
}

/// The directory in which the packages of a class file begin, if it lies where its package says: `out`
/// for `out/p/X.class` of the class `p.X`.
fn class_root(path: &Path, class: &str) -> Option<PathBuf> {
    let below: PathBuf = class.split('.').collect();
    let depth = below.components().count();
    // It may be above the directory from which a relative path goes.
    let path = if path.components().count() > depth {
        path.to_path_buf()
    } else {
        std::path::absolute(path).ok()?
    };
    if !path.with_extension("").ends_with(&below) {
        return None;
    }
    path.ancestors().nth(depth).map(Path::to_path_buf)
}

/// Adds the classes that those at hand mention and that lie in the directories of their packages.
fn from_roots(
    roots: &[PathBuf],
    classes: &mut Vec<ClassFile>,
    broken: &mut Vec<Broken>,
) -> Result<(), Error> {
    if roots.is_empty() {
        return Ok(());
    }
    let mut known: BTreeSet<String> = classes.iter().map(|one| one.name.clone()).collect();
    let mut next = 0;
    while next < classes.len() {
        for name in classes[next].mentioned() {
            if !known.insert(name.clone()) {
                continue;
            }
            let mut within: PathBuf = name.split('.').collect();
            within.as_mut_os_string().push(".class");
            let path = roots.iter().map(|root| root.join(&within));
            let Some(path) = path.into_iter().find(|path| path.is_file()) else {
                continue;
            };
            match read(&path) {
                // The name of a file need not be that of its class.
                Ok(class) if class.name != name => {}
                Err(Error::Read { .. }) => {}
                read => keep(read, &within, classes, broken)?,
            }
        }
        next += 1;
    }
    Ok(())
}

/// Keeps a class. A file that is none may be one that nobody needs.
fn keep(
    read: Result<ClassFile, Error>,
    within: &Path,
    classes: &mut Vec<ClassFile>,
    broken: &mut Vec<Broken>,
) -> Result<(), Error> {
    match read {
        Ok(class) => classes.push(class),
        Err(Error::ClassFile { path, message }) => {
            broken.push(Broken::new(within, path, message));
        }
        Err(other) => return Err(other),
    }
    Ok(())
}

/// Where the compiler looks for the other sources: `src` for `src/p/q/X.java` of the package `p.q`.
fn source_root(file: &Path) -> PathBuf {
    let text = fs::read(file).unwrap_or_default();
    let package = package(&String::from_utf8_lossy(&text)).unwrap_or_default();
    let here = file.parent().unwrap_or(Path::new(""));
    let here = if here.as_os_str().is_empty() {
        Path::new(".")
    } else {
        here
    };
    let here = std::path::absolute(here).unwrap_or_else(|_| here.to_path_buf());
    let inside: PathBuf = package.split('.').collect();
    if !here.ends_with(&inside) {
        return here;
    }
    let above = here.ancestors().nth(inside.components().count());
    above.unwrap_or(&here).to_path_buf()
}

/// The name after `package` at the beginning of a source, after comments.
fn package(source: &str) -> Option<String> {
    let mut rest = source.trim_start_matches('\u{feff}').trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n')?.1
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")?.1
        } else {
            break;
        }
        .trim_start();
    }
    let name = rest.strip_prefix("package")?;
    let (name, _) = name.split_once(';')?;
    Some(name.split_whitespace().collect())
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Read {
        path: path.display().to_string(),
        message: io_reason(error),
    }
}

/// All sources and class files below a directory, sorted.
fn walk(root: &Path, java: &mut Vec<PathBuf>, classes: &mut Vec<PathBuf>) -> Result<(), Error> {
    let mut waiting = vec![root.to_path_buf()];
    let (first_java, first_class) = (java.len(), classes.len());
    while let Some(directory) = waiting.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&directory, &error))?;
            let path = entry.path();
            // Links are not followed: they may lead round in circles.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                waiting.push(path);
                continue;
            }
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("java") => java.push(path),
                Some("class") => classes.push(path),
                _ => {}
            }
        }
    }
    java[first_java..].sort();
    classes[first_class..].sort();
    Ok(())
}

fn class_file(path: String, bytes: Vec<u8>) -> Result<ClassFile, Error> {
    ClassFile::read(path, bytes).map_err(|(path, message)| Error::ClassFile { path, message })
}

fn read(path: &Path) -> Result<ClassFile, Error> {
    let size = fs::metadata(path)
        .map_err(|error| unreadable(path, &error))?
        .len();
    if size > LARGEST {
        return Err(unreadable(path, &"too large for a class file"));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    class_file(path.display().to_string(), bytes)
}

/// Whether archives can be read.
pub(crate) fn check_archives(paths: &[PathBuf]) -> Result<(), Error> {
    let is_archive = |path: &&PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        path.is_file() && matches!(extension, Some("jar" | "zip"))
    };
    paths.iter().filter(is_archive).try_for_each(|path| {
        let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
        let reader = std::io::BufReader::new(file);
        let opened = zip::ZipArchive::new(reader);
        opened.map(|_| ()).map_err(|error| unreadable(path, &error))
    })
}

/// All class files of an archive.
fn archive(
    path: &Path,
    classes: &mut Vec<ClassFile>,
    broken: &mut Vec<Broken>,
) -> Result<(), Error> {
    let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    let reader = std::io::BufReader::new(file);
    let mut archive = zip::ZipArchive::new(reader).map_err(|error| unreadable(path, &error))?;
    for index in 0..archive.len() {
        let mut entry = archive
            .by_index(index)
            .map_err(|error| unreadable(path, &error))?;
        let name = entry
            .name()
            .map_err(|error| unreadable(path, &error))?
            .into_owned();
        let is_class = Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == "class");
        // Descriptions of modules are no classes, and other versions of classes are not wanted.
        let other = name.ends_with("module-info.class") || name.starts_with("META-INF/");
        if !is_class || other {
            continue;
        }
        let here = format!("{}!{name}", path.display());
        let mut bytes = Vec::new();
        let size = entry
            .by_ref()
            .take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(Path::new(&here), &error))?;
        if size as u64 > LARGEST {
            return Err(unreadable(Path::new(&here), &"too large for a class file"));
        }
        keep(class_file(here, bytes), Path::new(&name), classes, broken)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_behind_comments() {
        assert_eq!(package("package a.b ; class X {}").as_deref(), Some("a.b"));
        let text = "/* one\n */ // two\n\n package\ta . b;";
        assert_eq!(package(text).as_deref(), Some("a.b"));
        for none in [
            "",
            "class X {}",
            "/* package a;",
            "// package a;",
            "package a",
        ] {
            assert_eq!(package(none), None, "{none}");
        }
    }
}
