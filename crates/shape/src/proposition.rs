//! What formulas say about heaps: the atomic propositions of ATTESTOR, and places in the program.
//!
//! The logic is that of crate `ltl`. This file gives meaning to the texts in braces. ATTESTOR writes `GF`
//! and `XX` where Droste writes `G F` and `X X`: both are accepted.

use std::collections::BTreeSet;

use droste_heap::Grammar;
use droste_ltl::{Atom, AtomKind, Atoms, Formulas, ResolvedFormula, Vocabulary};
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;
use droste_source::{SourceFile, Span};

/// A variable, or a field of the object it points to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expression {
    /// The variable. `@return` is the result of a method that has just returned.
    pub variable: String,
    /// The field.
    pub field: Option<String>,
}

/// Something that is true or false of a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proposition {
    /// A method has come to its end.
    Terminated,
    /// This variable, or any, is where the marking `%visited` is.
    Visited(Option<String>),
    /// The object that is marked has the neighbours it had at the beginning.
    IdenticNeighbours,
    /// One or more selectors lead from one variable to the other; only some selectors count, or all.
    Reachable(String, String, Option<BTreeSet<String>>),
    /// Both sides are defined, and the same (`true`) or not.
    Compare(Expression, Expression, bool),
    /// The whole heap is derived from this nonterminal.
    Language(String),
    /// The whole heap is a tree, a list, a balanced tree and so on.
    Shape(Shape),
    /// Control is at this line, of this file or class if one is named.
    Line(Option<String>, u32),
    /// Control is in this method.
    In(String),
}

impl Proposition {
    /// Whether it is about the heap, and not about where control is.
    pub(crate) fn is_about_heaps(&self) -> bool {
        !matches!(
            self,
            Proposition::Terminated | Proposition::Line(..) | Proposition::In(_)
        )
    }

    /// Whether it is about all that there is of the heap.
    pub(crate) fn is_about_shapes(&self) -> bool {
        matches!(self, Proposition::Language(_) | Proposition::Shape(_))
    }

    /// The fields that it names.
    pub(crate) fn fields(&self) -> Vec<&str> {
        match self {
            Proposition::Reachable(_, _, Some(fields)) => {
                fields.iter().map(String::as_str).collect()
            }
            Proposition::Compare(left, right, _) => {
                let sides = [left, right].into_iter();
                sides.filter_map(|side| side.field.as_deref()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The variables that it names.
    pub(crate) fn variables(&self) -> Vec<&str> {
        match self {
            Proposition::Visited(Some(variable)) => vec![variable],
            Proposition::Reachable(from, to, _) => vec![from, to],
            Proposition::Compare(left, right, _) => vec![&left.variable, &right.variable],
            _ => Vec::new(),
        }
    }
}

/// Shapes with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// A balanced tree, with an indexed grammar.
    BalancedTree,
    /// Two balanced trees of the same kind, with an indexed grammar.
    BiMap,
    /// A binary tree.
    Tree,
    /// A singly linked list.
    List,
    /// A doubly linked list.
    DoubleList,
}

impl Shape {
    /// The nonterminal of the predefined grammar that describes it, if there is one.
    pub(crate) fn nonterminal(self) -> Option<&'static str> {
        match self {
            Shape::List => Grammar::named_shape("sll"),
            Shape::DoubleList => Grammar::named_shape("dll"),
            Shape::Tree => Grammar::named_shape("tree"),
            Shape::BalancedTree | Shape::BiMap => None,
        }
    }
}

/// The words that are propositions by themselves.
const WORDS: [&str; 8] = [
    "terminated",
    "visited",
    "identicNeighbours",
    "btree",
    "bimap",
    "tree",
    "sll",
    "dll",
];

/// What names formulas may use.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Variables of methods, ghosts in initial heaps, constants.
    pub variables: BTreeSet<String>,
    /// Fields.
    pub selectors: BTreeSet<String>,
    /// Nonterminals of the grammar.
    pub nonterminals: BTreeSet<String>,
    /// Methods, by simple name.
    pub methods: BTreeSet<String>,
    /// Lines with statements: the source file, its class, and the number.
    pub lines: BTreeSet<(String, String, u32)>,
    /// Lines that are nothing but a jump, and that the program may pass without a trace.
    pub passed_by: BTreeSet<(String, String, u32)>,
    /// Whether a formula may name a variable that does not exist: it is undefined.
    pub any_variable: bool,
}

/// A formula, and its name in its file if it has one.
pub type NamedFormula = (Option<String>, ResolvedFormula<Proposition>);

/// Reads a formula.
pub fn parse(
    text: &str,
    names: &Names,
) -> Result<ResolvedFormula<Proposition>, (Vec<Diagnostic>, SourceFile)> {
    let (spread, added) = spread(text);
    let source = SourceFile::new("formula", &*spread);
    let read = ResolvedFormula::parse(&source, names);
    read.map_err(|problems| (moved(problems, &added), SourceFile::new("formula", text)))
}

/// Reads the formulas of a file, with their names if they have some.
pub fn parse_file(
    source: &SourceFile,
    names: &Names,
) -> Result<Vec<NamedFormula>, (Vec<Diagnostic>, SourceFile)> {
    let written = || SourceFile::new(source.name(), source.text());
    let (text, added) = spread(source.text());
    let spread = SourceFile::new(source.name(), &*text);
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let read = match droste_ltl::parse_formulas(&spread, &mut formulas, &mut atoms) {
        Ok(read) => read,
        Err(problems) => return Err((moved(problems, &added), written())),
    };
    let (mut list, mut problems) = (Vec::new(), Vec::new());
    for (name, formula) in read {
        match ResolvedFormula::new(&spread, names, &formulas, &atoms, formula) {
            Ok(formula) => list.push((name, formula)),
            Err(mut more) => problems.append(&mut more),
        }
    }
    problems.dedup();
    if problems.is_empty() {
        Ok(list)
    } else {
        Err((moved(problems, &added), written()))
    }
}

/// Diagnostics of a text to which blanks were added at these places, with their own places in the text
/// as it was written.
fn moved(mut problems: Vec<Diagnostic>, added: &[usize]) -> Vec<Diagnostic> {
    let back = |at: u32| at - added.partition_point(|&blank| blank < at as usize) as u32;
    for problem in &mut problems {
        let others = problem.secondary.iter_mut().map(|(span, _)| span);
        for span in std::iter::once(&mut problem.primary.0).chain(others) {
            *span = Span::new(back(span.start), back(span.end));
        }
    }
    problems
}

/// `GF {a}` as `G F {a}`: words of `X`, `F` and `G` before an operand are operators. Also where
/// blanks were added.
fn spread(text: &str) -> (String, Vec<usize>) {
    let mut added = Vec::new();
    let mut out = String::with_capacity(text.len() + 8);
    let mut depth = 0usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let letters = rest.len() - rest.trim_start_matches(['X', 'F', 'G']).len();
        let begins = !out.ends_with(|c: char| c.is_alphanumeric() || "_$@#.".contains(c));
        let after = rest[letters..].trim_start_matches(' ');
        let operand = after.starts_with(['{', '(', '!', '"', '\''])
            || after.starts_with("true")
            || after.starts_with("false");
        if depth == 0 && letters >= 2 && begins && operand {
            for letter in rest[..letters].chars() {
                out.push(letter);
                added.push(out.len());
                out.push(' ');
            }
            rest = &rest[letters..];
            continue;
        }
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            // A brace in a comment of a file.
            '\n' => depth = 0,
            _ => {}
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    (out, added)
}

impl Vocabulary for Names {
    type Atom = Proposition;

    fn resolve(&self, atom: &Atom, _: &SourceFile) -> Result<Proposition, Vec<Diagnostic>> {
        let said = match atom.kind {
            AtomKind::Name | AtomKind::Expression | AtomKind::Var | AtomKind::Terminated => {
                self.proposition(atom.text.trim())
            }
            AtomKind::At => self.proposition(&format!("line {}", atom.text)),
            AtomKind::In => self.method(&atom.text),
        };
        said.map_err(|(message, help)| vec![Diagnostic::error(atom.text_span, message).help(help)])
    }
}

/// What is wrong, and how to mend it.
type Complaint = (String, String);

impl Names {
    fn proposition(&self, text: &str) -> Result<Proposition, Complaint> {
        Ok(match text {
            "terminated" => Proposition::Terminated,
            "visited" => Proposition::Visited(None),
            "identicNeighbours" => Proposition::IdenticNeighbours,
            "btree" => Proposition::Shape(Shape::BalancedTree),
            "bimap" => Proposition::Shape(Shape::BiMap),
            "tree" => Proposition::Shape(Shape::Tree),
            "sll" => Proposition::Shape(Shape::List),
            "dll" => Proposition::Shape(Shape::DoubleList),
            _ => {
                if let Some(inner) = call(text, "visited") {
                    Proposition::Visited(Some(self.variable(inner)?))
                } else if let Some(inner) = call(text, "isReachable") {
                    self.reachable(inner)?
                } else if let Some(inner) = call(text, "L") {
                    Proposition::Language(self.nonterminal(inner)?)
                } else if let Some(inner) = call(text, "in") {
                    self.method(inner)?
                } else if let Some(place) = text.strip_prefix("line ").or_else(|| {
                    // The blank has been cut off.
                    (text == "line").then_some("")
                }) {
                    self.line(place.trim())?
                } else if let Some((left, right)) = text.split_once("!=") {
                    Proposition::Compare(self.expression(left)?, self.expression(right)?, false)
                } else if let Some((left, right)) = text.split_once("==") {
                    Proposition::Compare(self.expression(left)?, self.expression(right)?, true)
                } else {
                    let message = format!("`{text}` is no proposition about heaps");
                    return Err(match nearest(text, WORDS.into_iter()) {
                        Some(near) => (message, format!("did you mean `{near}`?")),
                        None => (
                            message,
                            "for example `terminated`, `x == y`, `x.next != null`, `visited(x)`, \
                             `isReachable(x,y,[next])`, `L(RefSLList)`"
                                .into(),
                        ),
                    });
                }
            }
        })
    }

    fn reachable(&self, inner: &str) -> Result<Proposition, Complaint> {
        let wrong = || {
            let message = format!("`isReachable({inner})` does not name two variables");
            (message, "for example `isReachable(x,y,[next,prev])`".into())
        };
        let (names, selectors) = match inner.split_once('[') {
            Some((names, list)) => {
                let list = list.trim_end().strip_suffix(']').ok_or_else(wrong)?;
                let mut selectors = BTreeSet::new();
                for name in list.split(',') {
                    selectors.insert(self.selector(name)?);
                }
                let names = names.trim_end().strip_suffix(',').ok_or_else(wrong)?;
                (names, Some(selectors))
            }
            None => (inner, None),
        };
        let (from, to) = names.split_once(',').ok_or_else(wrong)?;
        let (from, to) = (self.variable(from)?, self.variable(to)?);
        Ok(Proposition::Reachable(from, to, selectors))
    }

    fn expression(&self, text: &str) -> Result<Expression, Complaint> {
        let text = text.trim();
        let (variable, field) = match text.split_once('.') {
            Some((variable, field)) => (variable, Some(self.selector(field)?)),
            None => (text, None),
        };
        Ok(Expression {
            variable: self.variable(variable)?,
            field,
        })
    }

    fn variable(&self, name: &str) -> Result<String, Complaint> {
        let name = name.trim();
        if name.starts_with("return") || name == "@return" {
            return Ok("@return".into());
        }
        if self.any_variable && !name.is_empty() {
            return Ok(name.into());
        }
        known(name, &self.variables, "variable")
    }

    /// The variables of a formula that do not exist.
    pub fn strangers<'a>(&self, formula: &'a ResolvedFormula<Proposition>) -> BTreeSet<&'a str> {
        let all = formula.atoms.iter().flat_map(Proposition::variables);
        all.filter(|&name| name != "@return" && !self.variables.contains(name))
            .collect()
    }

    fn selector(&self, name: &str) -> Result<String, Complaint> {
        known(name.trim(), &self.selectors, "field")
    }

    fn nonterminal(&self, name: &str) -> Result<String, Complaint> {
        known(name.trim(), &self.nonterminals, "nonterminal")
    }

    fn line(&self, place: &str) -> Result<Proposition, Complaint> {
        let (file, number) = match place.rsplit_once(':') {
            Some((file, number)) => (Some(file.trim().to_owned()), number.trim()),
            None => (None, place),
        };
        if number.is_empty() {
            return Err((
                "the number of a line is missing".to_owned(),
                "for example `line 12` or `line List.java:12`".into(),
            ));
        }
        let Ok(number) = number.parse::<u32>() else {
            return Err((
                format!("`{number}` is not the number of a line"),
                "for example `line 12` or `line List.java:12`".into(),
            ));
        };
        let here = |(one, class, _): &&(String, String, u32)| {
            (file.as_ref()).is_none_or(|name| is_file(one, class, name))
        };
        if (self.passed_by.iter().filter(here)).any(|&(_, _, line)| line == number) {
            return Err((
                format!("whether line {number} is executed cannot be seen in the class file"),
                "the line is nothing but a jump, and the compiler leads other jumps past it: name \
                 the line of the condition before it, or put a statement on it"
                    .into(),
            ));
        }
        let mut own: Vec<u32> = (self.lines.iter().filter(here))
            .map(|&(_, _, line)| line)
            .collect();
        own.sort_unstable();
        own.dedup();
        if own.contains(&number) {
            return Ok(Proposition::Line(file, number));
        }
        let message = match &file {
            Some(file) => format!("the class file has no statement in line {number} of `{file}`"),
            None => format!("the class file has no statement in line {number}"),
        };
        own.sort_by_key(|line| line.abs_diff(number));
        own.truncate(4);
        own.sort_unstable();
        let near: Vec<String> = own.iter().map(ToString::to_string).collect();
        let help = match &near[..] {
            [] => "no line of it is known to the program".to_owned(),
            near => format!(
                "lines with statements near it: {}; jumps that the compiler leaves out and methods \
                 that are never called do not count",
                near.join(", ")
            ),
        };
        Err((message, help))
    }

    fn method(&self, name: &str) -> Result<Proposition, Complaint> {
        let simple = name.trim();
        known(simple, &self.methods, "method").map(Proposition::In)
    }
}

fn known(name: &str, names: &BTreeSet<String>, what: &str) -> Result<String, Complaint> {
    if name.is_empty() {
        let example = match what {
            "nonterminal" => "`L(RefSLList)`",
            "method" => "`in(walk)`",
            "field" => "`x.next == y` or `isReachable(x,y,[next])`",
            _ => "`x == y`, `x.next != null` or `isReachable(x,y)`",
        };
        let message = format!("the name of a {what} is missing");
        return Err((message, format!("for example {example}")));
    }
    if names.contains(name) {
        return Ok(name.into());
    }
    let message = format!("there is no {what} `{name}`");
    if let Some(near) = nearest(name, names.iter().map(String::as_str)) {
        return Err((message, format!("did you mean `{near}`?")));
    }
    const SHOWN: usize = 12;
    // Nobody is told about constants, nor about variables that the compiler or the front end made.
    let own = |name: &&str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !["null", "true", "false"].contains(name)
    };
    let names = || (names.iter().map(String::as_str)).filter(own);
    let mut list: Vec<&str> = names().take(SHOWN).collect();
    if names().count() > SHOWN {
        list.push("…");
    }
    Err((
        message,
        match list[..] {
            [] | ["this"] if what == "variable" => {
                "no name of a variable is known: class files have them if they are made with \
                 `javac -g`"
                    .to_owned()
            }
            [] => format!("there is no {what} at all"),
            _ => format!("there are {}", list.join(", ")),
        },
    ))
}

/// What is between the parentheses of `name(…)`.
fn call<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(name)?.trim_start();
    rest.strip_prefix('(')?.strip_suffix(')').map(str::trim)
}

/// Whether a source file or its class is what a formula calls `name`: `List.java`, `p/List.java`,
/// `List` or `p.List`.
pub(crate) fn is_file(file: &str, class: &str, name: &str) -> bool {
    let ends = |full: &str, separator: char| {
        let before = full.strip_suffix(name);
        before.is_some_and(|before| before.is_empty() || before.ends_with(separator))
    };
    ends(file, '/') || ends(class, '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let set = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
        Names {
            variables: set(&["current", "head", "tail", "null"]),
            selectors: set(&["next", "prev"]),
            nonterminals: set(&["RefSLList"]),
            methods: set(&["walk"]),
            lines: [("List.java".to_owned(), "List".to_owned(), 12)].into(),
            passed_by: [("List.java".to_owned(), "List".to_owned(), 15)].into(),
            any_variable: false,
        }
    }

    fn atoms(text: &str) -> Vec<Proposition> {
        match parse(text, &names()) {
            Ok(formula) => formula.atoms,
            Err((problems, _)) => panic!("{text}: {problems:?}"),
        }
    }

    fn complaint(text: &str) -> String {
        parse(text, &names()).unwrap_err().0[0].message.clone()
    }

    #[test]
    fn the_formulas_of_the_reference_are_read() {
        let visited = Proposition::Visited(Some("current".into()));
        assert_eq!(
            atoms("(GF {terminated} -> F {visited(current)})"),
            [Proposition::Terminated, visited]
        );
        let language = Proposition::Language("RefSLList".into());
        assert_eq!(atoms("GF { L(RefSLList) }"), [language]);
        assert_eq!(
            atoms("FG ! {identicNeighbours}"),
            [Proposition::IdenticNeighbours]
        );
        assert_eq!(
            atoms("XX ( {isReachable(head,tail,[next])} & {isReachable(tail,head)})").len(),
            2
        );
        assert_eq!(atoms("G({ terminated } -> {identicNeighbours})").len(), 2);
        let result = Expression {
            variable: "@return".into(),
            field: None,
        };
        let null = Expression {
            variable: "null".into(),
            field: None,
        };
        let compare = Proposition::Compare(result, null, true);
        assert_eq!(
            atoms("(GF {terminated} -> F ({ return == null } & {terminated}))")[1],
            compare
        );
        assert_eq!(atoms("G true"), []);
    }

    #[test]
    fn the_syntax_of_droste_is_read() {
        assert_eq!(atoms("G F terminated -> F in(walk)").len(), 2);
        let line = Proposition::Line(Some("List.java".into()), 12);
        assert_eq!(atoms("F {line List.java:12}"), [line]);
        let both = ["next", "prev"].map(str::to_owned).into_iter().collect();
        assert_eq!(
            atoms("F {isReachable(head, tail, [next, prev])}"),
            [Proposition::Reachable(
                "head".into(),
                "tail".into(),
                Some(both)
            )]
        );
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert_eq!(
            complaint("F {terminatd}"),
            "`terminatd` is no proposition about heaps"
        );
        assert_eq!(complaint("F {visited(x)}"), "there is no variable `x`");
        assert_eq!(complaint("F {head.nxt == tail}"), "there is no field `nxt`");
        assert_eq!(complaint("F {L(Ref)}"), "there is no nonterminal `Ref`");
        assert_eq!(
            complaint("F {isReachable(head)}"),
            "`isReachable(head)` does not name two variables"
        );
        // What is wrong is shown where it was written.
        let (problems, source) = parse("(GF {terminated} -> F {x != null})", &names()).unwrap_err();
        let place = problems[0].primary.0;
        assert_eq!(
            &source.text()[place.start as usize..place.end as usize],
            "x != null"
        );
        let any = Names {
            any_variable: true,
            ..names()
        };
        let formula = parse("F {x != head}", &any).unwrap();
        assert_eq!(
            any.strangers(&formula).into_iter().collect::<Vec<_>>(),
            ["x"]
        );
        let nowhere = "the class file has no statement in line 13";
        assert_eq!(complaint("F {line 13}"), nowhere);
        assert_eq!(
            complaint("F {line Tree.java:12}"),
            "the class file has no statement in line 12 of `Tree.java`"
        );
        assert_eq!(
            complaint("F {line List:15}"),
            "whether line 15 is executed cannot be seen in the class file"
        );
        assert_eq!(complaint("F {line x}"), "`x` is not the number of a line");
    }
}
