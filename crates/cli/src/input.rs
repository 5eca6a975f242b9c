//! Reading programs and monitors: from a path or standard input to text.
//!
//! Text is UTF-8. Old programs have names of authors in Latin-1 in their comments: bytes that are not
//! UTF-8 are replaced there, and refused with their place anywhere else.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use droste_source::{SourceFile, io_reason};

/// How many bytes are read before the limits are checked.
const CHUNK: u64 = 1 << 20;

/// What a file may be written in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Program,
    Calculus,
    Pushdown,
}

impl Language {
    /// What a text looks like: by the end of its name, or else by how lines begin.
    fn of(name: &str, text: &str) -> Option<Language> {
        let ending = Path::new(name).extension().and_then(|e| e.to_str());
        match ending {
            Some("bp") => return Some(Language::Program),
            Some("mu") => return Some(Language::Calculus),
            Some("wpds" | "cpds" | "pds") => return Some(Language::Pushdown),
            _ => {}
        }
        text.lines().find_map(|line| {
            let line = line.trim_start();
            let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
            if begins(&["decl ", "void "]) {
                Some(Language::Program)
            } else if begins(&["mu bool ", "nu bool ", "#load "]) {
                Some(Language::Calculus)
            } else if begins(&["rule ", "wpds ", "PDA ", "<WPDS", "<Query"]) {
                Some(Language::Pushdown)
            } else {
                None
            }
        })
    }

    /// For a text that is none of this language, but looks like one of another: which, and what reads it.
    pub(crate) fn hint(self, name: &str, text: &str) -> Option<&'static str> {
        let other = Language::of(name, text).filter(|&other| other != self)?;
        Some(match other {
            Language::Program => "help: this looks like a program: `droste check`\n",
            Language::Calculus => {
                "help: this looks like the fixed-point calculus: `droste solve`\n"
            }
            Language::Pushdown => "help: this looks like a pushdown system: `droste pds reach`\n",
        })
    }
}

/// What a file is called.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Reads the file at `path`, or standard input if it is `-`. Otherwise a message for the user.
/// `pause` is called now and then.
pub(crate) fn read(path: &Path, pause: impl Fn()) -> Result<SourceFile, String> {
    Ok(SourceFile::new(name(path), text(path, pause)?))
}

/// The same for a text that may end before the file does: `end` finds the place. What comes after
/// it need not be text.
pub(crate) fn read_until(
    path: &Path,
    pause: impl Fn(),
    end: impl Fn(&str) -> Option<usize>,
) -> Result<SourceFile, String> {
    let mut bytes = bytes(path, pause)?;
    if (bytes.contains(&0) || std::str::from_utf8(&bytes).is_err())
        && let Some(end) = place_of_end(&bytes, end)
    {
        bytes.truncate(end);
    }
    let name = name(path);
    let text = decode(bytes).map_err(|problem| format!("`{name}` {problem}"))?;
    Ok(SourceFile::new(name, text))
}

/// Where a text ends, in bytes some of which may be no text.
fn place_of_end(bytes: &[u8], end: impl Fn(&str) -> Option<usize>) -> Option<usize> {
    let mut left = end(&String::from_utf8_lossy(bytes))?;
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if left <= valid {
            return Some(offset + left);
        }
        left -= valid + char::REPLACEMENT_CHARACTER.len_utf8();
        offset += valid + chunk.invalid().len();
    }
    None
}

/// The same without an index of its lines, for files of hundreds of megabytes.
pub(crate) fn text(path: &Path, pause: impl Fn()) -> Result<String, String> {
    decode(bytes(path, pause)?).map_err(|problem| format!("`{}` {problem}", name(path)))
}

fn bytes(path: &Path, pause: impl Fn()) -> Result<Vec<u8>, String> {
    let name = name(path);
    if path.as_os_str() == "-" {
        return whole(&name, std::io::stdin().lock(), pause);
    }
    let cannot = |error: std::io::Error| format!("cannot read `{name}`: {}", io_reason(&error));
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().is_ok_and(|data| data.is_dir()) {
        return Err(format!("cannot read `{name}`: it is a directory"));
    }
    whole(&name, file, pause)
}

fn whole(name: &str, mut reader: impl Read, pause: impl Fn()) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    loop {
        let read = (&mut reader)
            .take(CHUNK)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("cannot read `{name}`: {}", io_reason(&error)))?;
        pause();
        if bytes.len() > SourceFile::LARGEST {
            return Err(format!(
                "`{name}` is too large: files of up to 2 GiB are read"
            ));
        }
        if read == 0 {
            break;
        }
    }
    Ok(bytes)
}

/// The bytes as text; otherwise what is wrong with the file, as the rest of a sentence.
fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("looks like UTF-16; save it as UTF-8".to_owned());
    }
    if let Some(offset) = bytes.iter().position(|&byte| byte == 0) {
        return Err(format!(
            "is not a text file: there is a zero byte at {}",
            place(&bytes, offset)
        ));
    }
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => lossy_in_comments(error.as_bytes())?,
    };
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// The bytes as text, with what is not UTF-8 replaced if it stands in comments.
fn lossy_in_comments(bytes: &[u8]) -> Result<String, String> {
    let comments = comments(bytes);
    let mut comment = comments.iter().peekable();
    let mut text = String::with_capacity(bytes.len());
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        offset += chunk.valid().len();
        if chunk.invalid().is_empty() {
            continue;
        }
        while comment.next_if(|range| range.end <= offset).is_some() {}
        if !comment.peek().is_some_and(|range| range.contains(&offset)) {
            return Err(format!(
                "is not UTF-8: byte 0x{:02x} at {} is no part of a character",
                bytes[offset],
                place(bytes, offset)
            ));
        }
        text.push(char::REPLACEMENT_CHARACTER);
        offset += chunk.invalid().len();
    }
    Ok(text)
}

fn place(bytes: &[u8], offset: usize) -> String {
    let line = bytes[..offset].split(|&byte| byte == b'\n').count();
    format!("offset {offset}, line {line}")
}

/// Where the comments are. In a name such as `{a//b}` there is none.
fn comments(bytes: &[u8]) -> Vec<Range<usize>> {
    let find = |from: usize, end: &[u8]| {
        let rest = &bytes[from..];
        let found = rest.windows(end.len()).position(|window| window == end);
        found.map_or(bytes.len(), |at| from + at + end.len())
    };
    let mut comments = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'/', ..] => {
                let end = find(at, b"\n");
                comments.push(at..end);
                at = end;
            }
            [b'/', b'*', ..] => {
                let end = find(at + 2, b"*/");
                comments.push(at..end);
                at = end;
            }
            [b'{', name @ ..] => {
                let end = name
                    .iter()
                    .position(|byte| byte.is_ascii_whitespace() || *byte == b'}');
                // Without a closing brace it is the brace of a monitor.
                at += match end {
                    Some(end) if name[end] == b'}' => end + 2,
                    _ => 1,
                };
            }
            _ => at += 1,
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Result<String, String> {
        decode(bytes.to_vec())
    }

    #[test]
    fn text_is_kept() {
        assert_eq!(decoded("a // é\n".as_bytes()).as_deref(), Ok("a // é\n"));
        assert_eq!(
            decoded("\u{feff}decl g;".as_bytes()).as_deref(),
            Ok("decl g;")
        );
    }

    #[test]
    fn other_encodings_are_tolerated_in_comments_only() {
        assert_eq!(
            decoded(b"a // M\xfcller\nb").as_deref(),
            Ok("a // M\u{fffd}ller\nb")
        );
        assert_eq!(
            decoded(b"/* \xfc\n\xfc */ b // \xe4").map(|t| t.chars().count()),
            Ok(16)
        );
        assert_eq!(
            decoded(b"// \xe4\nM\xfcller").unwrap_err(),
            "is not UTF-8: byte 0xfc at offset 6, line 2 is no part of a character"
        );
        // No comment begins inside a name.
        assert!(decoded(b"{a//b} \xfc").is_err());
        assert!(decoded(b"{a/*b} \xfc /* */").is_err());
        assert!(decoded(b"{ // \xfc\n}").is_ok());
    }

    #[test]
    fn a_text_may_end_before_its_file() {
        let end = |text: &str| text.find("#quit").map(|at| at + 5);
        for (bytes, expected) in [
            (&b"a #quit \xfc"[..], Some(7)),
            (b"// \xfc\xfc\n#quit \0", Some(11)),
            (b"// M\xc3\xbcller \xfc\n#quit", Some(18)),
            (b"a \xfc", None),
        ] {
            assert_eq!(place_of_end(bytes, end), expected);
        }
    }

    #[test]
    fn binary_files_are_refused() {
        assert_eq!(
            decoded(b"ab\n\0c").unwrap_err(),
            "is not a text file: there is a zero byte at offset 3, line 2"
        );
        assert!(decoded(b"\xff\xfea\0").unwrap_err().contains("UTF-16"));
    }
}
