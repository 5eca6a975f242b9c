//! MOPED's plain form: an initial configuration in brackets, then rules.
//!
//! ```text
//! (p <a>)
//! p <a> --> q <b c>  "a label"
//! ```
//!
//! Its BDD annotations are refused by name: they make a rule stand for a relation of variables.

use droste_base::Limits;
use droste_source::diagnostics::Diagnostic;

use crate::problems::{Problems, too_many_names};
use crate::read::ReadError;
use crate::scanner::Scanner;
use crate::system::{Configurations, Label, ONE, Place, Rule, System};
use crate::weight::DomainName;

/// Whether a line could be of this form.
pub(crate) fn looks_like(line: &str) -> bool {
    line.starts_with('(') || line.contains("-->") && line.contains('<')
}

/// Reads a system.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<(System, Vec<Diagnostic>), ReadError> {
    let mut guard = limits.guard();
    let mut system = System {
        domain: Some(DomainName::Bool),
        ..System::default()
    };
    let mut problems = Problems::default();
    let mut scanner = Scanner::free(text);
    while scanner.peek().is_some() {
        guard.check()?;
        if let Err(error) = item(&mut scanner, &mut system) {
            if problems.error(error).is_err() {
                break;
            }
            scanner.skip_line();
        }
    }
    Ok(problems.finish(system)?)
}

/// A control state and the symbols between `<` and `>`.
fn configuration(
    scanner: &mut Scanner<'_>,
    system: &mut System,
) -> Result<(u32, Vec<u32>), Diagnostic> {
    let Some((name, place)) = scanner.name()? else {
        return Err(scanner.expected("a control state"));
    };
    let state = system
        .states
        .intern(&name)
        .ok_or_else(|| too_many_names(place))?;
    if !scanner.eat(b'<') {
        return Err(scanner.expected("`<` and the stack"));
    }
    let mut stack = Vec::new();
    while let Some((name, place)) = scanner.name()? {
        let symbol = system.symbols.intern(&name);
        stack.push(symbol.ok_or_else(|| too_many_names(place))?);
    }
    if !scanner.eat(b'>') {
        return Err(scanner.expected("a symbol or `>`"));
    }
    Ok((state, stack))
}

fn item(scanner: &mut Scanner<'_>, system: &mut System) -> Result<(), Diagnostic> {
    if scanner.eat(b'(') {
        let (state, stack) = configuration(scanner, system)?;
        if !scanner.eat(b')') {
            return Err(scanner.expected("`)`"));
        }
        add(&mut system.initial, state, &stack);
        return Ok(());
    }
    let (from, left) = configuration(scanner, system)?;
    let [top] = left[..] else {
        return Err(scanner
            .expected("one symbol on the left")
            .help("a rule is `p <a> --> q <b c>`"));
    };
    if !scanner.eat_text("-->") {
        return Err(scanner.expected("`-->`"));
    }
    let (to, right) = configuration(scanner, system)?;
    // A label, which has no meaning.
    if scanner.peek() == Some(b'"') {
        scanner.name()?;
    }
    if scanner.peek() == Some(b'(') && !starts_configuration(scanner) {
        let error = Diagnostic::error(scanner.here(), "BDD annotations of rules are not read");
        return Err(error.help("they relate values of variables; `droste check` reads programs"));
    }
    let right = system.make_right(&right);
    system.rules.push(Rule {
        from,
        top,
        to,
        right,
        weight: ONE,
        merge: ONE,
    });
    Ok(())
}

/// Whether an initial configuration follows, and no annotation.
fn starts_configuration(scanner: &Scanner<'_>) -> bool {
    let mut ahead = scanner.clone();
    let name = |ahead: &mut Scanner<'_>| matches!(ahead.name(), Ok(Some(_)));
    if !(ahead.eat(b'(') && name(&mut ahead) && ahead.eat(b'<')) {
        return false;
    }
    while name(&mut ahead) {}
    ahead.eat(b'>') && ahead.eat(b')')
}

/// Adds a configuration to a set.
pub(crate) fn add(set: &mut Configurations, state: u32, stack: &[u32]) {
    let mut at = Place::Control(state);
    for &symbol in stack {
        let next = set.state();
        set.edge(at, Label::One(symbol), next);
        at = next;
    }
    set.accepting.push((at, ONE));
}
