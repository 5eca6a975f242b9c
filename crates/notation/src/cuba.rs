//! CUBA's concurrent pushdown systems: the number of shared states, then a block for each thread.
//!
//! ```text
//! 4
//! PDA 1 2
//! 0 1 -> 1 2
//! PDA 4 6
//! 0 4 -> 0 -
//! 2 5 -> 3 4 6
//! ```
//!
//! `PDA lo hi` gives the symbols of a thread. A rule has a shared state and a top symbol on its
//! left (`-` or `-1` for an empty stack), a shared state and at most two symbols on its right, the new
//! top first. CUBA does not look at `lo` and `hi`, and there are files whose rules have other symbols:
//! these are symbols of the thread, too. The initial state is given apart: `0|1,4`, with the symbols
//! of each stack between dots.

use droste_base::Limits;
use droste_source::diagnostics::Diagnostic;

use crate::names::Names;
use crate::problems::{Problems, span};
use crate::read::ReadError;
use crate::system::{Concurrent, Thread, ThreadRule};

/// Whether the first line could be of this form.
pub(crate) fn looks_like(line: &str) -> bool {
    let word = line.split('#').next().unwrap_or_default().trim();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A word and where it begins.
type Word<'a> = (usize, &'a str);

/// The words of a line.
fn words(line: &str, start: usize) -> impl Iterator<Item = Word<'_>> {
    let line = line.split('#').next().unwrap_or_default();
    let place = move |word: &str| start + (word.as_ptr() as usize - line.as_ptr() as usize);
    line.split_ascii_whitespace()
        .map(move |word| (place(word), word))
}

fn number((at, word): (usize, &str), what: &str) -> Result<u32, Diagnostic> {
    match word.parse() {
        Ok(number) if number < Names::MOST => Ok(number),
        _ if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) => {
            let place = span(at, at + word.len());
            let error = Diagnostic::error(place, format!("`{word}` is too large for {what}"));
            Err(error.help(format!("it must be below {}", Names::MOST)))
        }
        _ => {
            let place = span(at, at + word.len());
            Err(Diagnostic::error(
                place,
                format!("expected {what}, found `{word}`"),
            ))
        }
    }
}

/// Reads a system.
pub(crate) fn read(
    text: &str,
    limits: &Limits,
) -> Result<(Concurrent, Vec<Diagnostic>), ReadError> {
    let mut guard = limits.guard();
    let mut problems = Problems::default();
    let mut system = Concurrent::default();
    let (mut start, mut header) = (0, false);
    for line in text.split_inclusive('\n') {
        guard.check()?;
        let mut words = words(line, start);
        start += line.len();
        let Some(first) = words.next() else {
            continue;
        };
        let rest: Vec<(usize, &str)> = words.take(8).collect();
        let result = if header {
            line_of(&mut system, first, &rest, &mut problems)
        } else {
            header = true;
            number(first, "the number of shared states").map(|count| system.shared = count)
        };
        if let Err(error) = result
            && problems.error(error).is_err()
        {
            break;
        }
    }
    if system.threads.is_empty() && !problems.has_errors() {
        let end = text.trim_end().len();
        let error = Diagnostic::error(span(end, end), "there is no thread: a line `PDA lo hi`");
        let _ = problems.error(error);
    }
    Ok(problems.finish(system)?)
}

fn line_of(
    system: &mut Concurrent,
    first: (usize, &str),
    rest: &[(usize, &str)],
    problems: &mut Problems,
) -> Result<(), Diagnostic> {
    let place = |(at, word): (usize, &str)| span(at, at + word.len());
    if first.1 == "PDA" {
        let [low, high] = rest else {
            let error = Diagnostic::error(place(first), "expected `PDA lo hi`");
            return Err(error.help("the least and the greatest symbol of the thread"));
        };
        let symbols = (number(*low, "a symbol")?, number(*high, "a symbol")?);
        if symbols.0 > symbols.1 {
            let what = "the greatest symbol is less than the least";
            return Err(Diagnostic::error(place(*high), what));
        }
        system.threads.push(Thread {
            symbols,
            ..Thread::default()
        });
        return Ok(());
    }
    let shared = system.shared;
    let Some(thread) = system.threads.last_mut() else {
        let error = Diagnostic::error(place(first), "expected `PDA lo hi` before the rules");
        return Err(error.label("this belongs to no thread"));
    };
    let state = |word: (usize, &str)| {
        let state = number(word, "a shared state")?;
        if state < shared {
            return Ok(state);
        }
        let error = Diagnostic::error(place(word), format!("there is no shared state {state}"));
        Err(error.help(format!(
            "the first line announces {shared}, which are numbered from 0"
        )))
    };
    let (low, high) = thread.symbols;
    let mut symbol = |word: (usize, &str)| {
        let symbol = number(word, "a symbol")?;
        if (low..=high).contains(&symbol) {
            return Ok(symbol);
        }
        if thread.others.is_empty() {
            let what =
                format!("the thread has the symbols {low} to {high}, but a rule has {symbol}");
            let warning = Diagnostic::warning(place(word), what);
            problems.warning(warning.help(
                "this and other symbols of its rules are taken for symbols of the thread, as by CUBA",
            ));
        }
        thread.others.insert(symbol);
        Ok(symbol)
    };
    let from = state(first)?;
    let (top, arrow, to, right) = if let [top, arrow, to, right @ ..] = rest {
        (*top, *arrow, *to, right)
    } else {
        let error = Diagnostic::error(place(first), "expected a rule");
        return Err(error.help("for example `0 1 -> 1 2`"));
    };
    if arrow.1 != "->" {
        return Err(Diagnostic::error(
            place(arrow),
            format!("expected `->`, found `{}`", arrow.1),
        ));
    }
    // CUBA's programs that make such files write -1.
    let top = if matches!(top.1, "-" | "-1") {
        None
    } else {
        Some(symbol(top)?)
    };
    let to = state(to)?;
    let right = match right {
        [] | [(_, "-")] => Vec::new(),
        [only] => vec![symbol(*only)?],
        [first, second] => vec![symbol(*first)?, symbol(*second)?],
        [_, _, third, ..] => {
            let what = "a rule has at most two symbols on the right";
            return Err(Diagnostic::error(place(*third), what));
        }
    };
    thread.rules.push(ThreadRule {
        from,
        top,
        to,
        right,
    });
    Ok(())
}

/// The only line of a text that has more than a comment, as long as the text: what is no part of it
/// is blank, so that places stay the same.
fn only_line(text: &str, help: &str) -> Result<String, Diagnostic> {
    let mut only = String::with_capacity(text.len());
    let mut seen = false;
    for line in text.split_inclusive('\n') {
        let state = line.split('#').next().unwrap_or_default().trim_end();
        if !state.is_empty() && seen {
            let start = only.len() + (state.len() - state.trim_start().len());
            let place = span(start, only.len() + state.len());
            return Err(Diagnostic::error(place, "there is a second line").help(help.to_owned()));
        }
        seen |= !state.is_empty();
        only.push_str(state);
        only.push_str(&" ".repeat(line.len() - state.len()));
    }
    Ok(only)
}

/// Shared state and what follows for each thread, each with where it begins.
fn parts<'a>(text: &'a str, help: &str) -> Result<(Word<'a>, Vec<Word<'a>>), Diagnostic> {
    let word = |part: &'a str| {
        let part = part.trim();
        (part.as_ptr() as usize - text.as_ptr() as usize, part)
    };
    let Some((state, stacks)) = text.split_once('|') else {
        let (at, whole) = word(text);
        let error = Diagnostic::error(span(at, at + whole.len()), "expected `|`");
        return Err(error.help(help.to_owned()));
    };
    Ok((word(state), stacks.split(',').map(word).collect()))
}

/// A shared state and the stacks of the threads, top first: `0|1.2,4`; `-` is an empty stack. The
/// text may be a file of CUBA's, with a comment.
pub fn concurrent_state(text: &str) -> Result<(u32, Vec<Vec<u32>>), Diagnostic> {
    let help = "a state is written `0|1.2,4`: shared state, then the stacks";
    let line = only_line(text, help)?;
    let (state, stacks) = parts(&line, help)?;
    let state = number(state, "a shared state")?;
    let mut all = Vec::new();
    for (at, stack) in stacks {
        let mut symbols = Vec::new();
        if !matches!(stack, "-" | "-1" | "") {
            let mut at = at;
            for symbol in stack.split('.') {
                symbols.push(number((at, symbol), "a symbol")?);
                at += symbol.len() + 1;
            }
        }
        all.push(symbols);
    }
    Ok((state, all))
}

/// The top of a stack that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackTop {
    /// Whatever the stack.
    Any,
    /// There is no symbol.
    Empty,
    /// This symbol.
    Symbol(u32),
}

/// What is looked for: a shared state, unless any will do, and the top of each stack: `3|2,*`. The
/// text may be a file of CUBA's, with a comment.
pub fn concurrent_target(text: &str) -> Result<(Option<u32>, Vec<StackTop>), Diagnostic> {
    let help = "a target is written `3|2,*`: the shared state, then the top of each stack, `-` for an \
                empty one, `*` for anything";
    let line = only_line(text, help)?;
    let (state, tops) = parts(&line, help)?;
    let number = |word: Word<'_>, what: &str| {
        number(word, what).map_err(|error| error.help(help.to_owned()))
    };
    let state = match state.1 {
        "*" => None,
        _ => Some(number(state, "a shared state")?),
    };
    let top = |word: Word<'_>| match word.1 {
        "*" => Ok(StackTop::Any),
        "-" | "-1" => Ok(StackTop::Empty),
        _ => number(word, "a symbol").map(StackTop::Symbol),
    };
    Ok((state, tops.into_iter().map(top).collect::<Result<_, _>>()?))
}
