//! From tokens to [`Syntax`]: commands, and everything in them except expressions, which
//! [`crate::expressions`] reads.
//!
//! After an error, reading goes on after the `;` that ends the command, so that one mistake is one
//! message.

#![allow(
    clippy::unnecessary_box_returns,
    reason = "errors are boxed where they are made: they are passed up through many small results"
)]

use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;
use droste_source::{SourceFile, Span};

use crate::syntax::{
    About, Command, CommandKind, Constraint, Declaration, Fixpoint, List, Relation, Syntax,
};
use crate::token::{Kind, Token, tokens};

/// Reads a file. What is wrong with it is told, and left out of the result.
pub fn parse(source: &SourceFile) -> (Syntax, Vec<Diagnostic>) {
    let (tokens, errors) = tokens(source);
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        syntax: Syntax::default(),
        lexical: errors.iter().map(|error| error.primary.0.start).collect(),
        diagnostics: errors,
    };
    parser.commands();
    let Parser {
        syntax,
        mut diagnostics,
        ..
    } = parser;
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.0.start);
    (syntax, diagnostics)
}

/// More errors than this in one file are not worth reading.
const MOST_ERRORS: usize = 100;

pub(crate) struct Parser<'a> {
    pub(crate) source: &'a SourceFile,
    pub(crate) tokens: Vec<Token>,
    pub(crate) at: usize,
    pub(crate) syntax: Syntax,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Where the lexer found mistakes.
    lexical: Vec<u32>,
}

/// The error has been described by the diagnostic.
pub(crate) type Parsed<T> = Result<T, Box<Diagnostic>>;

impl Parser<'_> {
    pub(crate) fn kind(&self) -> Kind {
        self.tokens[self.at].kind
    }

    pub(crate) fn kind_after(&self, n: usize) -> Kind {
        self.tokens.get(self.at + n).map_or(Kind::End, |t| t.kind)
    }

    pub(crate) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    pub(crate) fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    /// The token, which is read past, unless it is the end.
    pub(crate) fn next(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    pub(crate) fn eat(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.next();
        }
        found
    }

    pub(crate) fn expect(&mut self, kind: Kind, what: &str) -> Parsed<Span> {
        if self.kind() == kind {
            Ok(self.next().span)
        } else {
            Err(self.unexpected(what))
        }
    }

    /// The next token is not what the grammar wants.
    pub(crate) fn unexpected(&self, expected: &str) -> Box<Diagnostic> {
        let span = self.span();
        let found = match self.kind() {
            Kind::End => "the end of the file".to_owned(),
            Kind::Reserved => format!("the reserved word `{}`", self.text(span)),
            Kind::Text => "a string".to_owned(),
            _ => format!("`{}`", self.text(span)),
        };
        Box::new(
            Diagnostic::error(span, format!("expected {expected}, found {found}"))
                .label(format!("expected {expected}")),
        )
    }

    fn commands(&mut self) {
        while self.kind() != Kind::End {
            let start = self.at;
            match self.command() {
                Ok(kind) => {
                    let quit = matches!(kind, CommandKind::Quit);
                    let span = self.tokens[start]
                        .span
                        .to(self.tokens[self.at.max(start + 1) - 1].span);
                    self.syntax.commands.push(Command { kind, span });
                    if quit {
                        return;
                    }
                }
                Err(error) => {
                    self.recover(start);
                    // A character that means nothing has been told already, and is the likely
                    // reason.
                    let from = self.tokens[start].span.start;
                    let to = self.span().start;
                    let lexical = self.lexical.iter();
                    if !lexical.into_iter().any(|&at| (from..=to).contains(&at)) {
                        self.diagnostics.push(*error);
                    }
                    if self.diagnostics.len() >= MOST_ERRORS {
                        return;
                    }
                }
            }
        }
    }

    /// Goes behind the `;` that ends the command that begins at `start` and is wrong here.
    fn recover(&mut self, start: usize) {
        let error = self.at;
        let mut depth = 0i64;
        let mut first = None;
        for (i, token) in self.tokens.iter().enumerate().skip(start) {
            match token.kind {
                Kind::OpenBrace | Kind::Case => depth += 1,
                Kind::CloseBrace | Kind::Esac => depth -= 1,
                Kind::Semicolon if i >= error => {
                    first.get_or_insert(i + 1);
                    if depth <= 0 {
                        self.at = i + 1;
                        return;
                    }
                }
                // A definition cannot begin inside of one: a brace or an `esac` is missing.
                Kind::Mu | Kind::Nu | Kind::Enum | Kind::Class if i > error && first == Some(i) => {
                    self.at = i;
                    return;
                }
                _ => {}
            }
        }
        self.at = first.unwrap_or(self.tokens.len() - 1);
    }

    fn command(&mut self) -> Parsed<CommandKind> {
        match self.kind() {
            Kind::Enum => self.enumeration(),
            Kind::Class => self.class(),
            Kind::Mu => {
                self.next();
                self.predicate(Fixpoint::Mu)
            }
            Kind::Nu => {
                self.next();
                self.predicate(Fixpoint::Nu)
            }
            Kind::Name if self.text(self.span()).starts_with('#') && self.is_command_word() => {
                self.hash()
            }
            Kind::Name
                if self.text(self.span()).starts_with('#')
                    && matches!(self.kind_after(1), Kind::Name | Kind::Number | Kind::Text) =>
            {
                let span = self.span();
                Err(Box::new(unknown_command(span, self.text(span))))
            }
            Kind::Name if self.kind_after(1) == Kind::Name => {
                if self.kind_after(2) == Kind::Open {
                    return self.predicate(Fixpoint::Plain);
                }
                let span = self.span();
                let mut error = Diagnostic::error(
                    span.to(self.tokens[self.at + 1].span),
                    "variables are declared by quantifiers and parameter lists only",
                );
                if self.text(span) == "load" {
                    error = error.help("the command is written `#load`");
                } else {
                    error = error.help(format!(
                        "a predicate is defined as `bool {}(...) ...;`",
                        self.text(self.tokens[self.at + 1].span)
                    ));
                }
                Err(Box::new(error))
            }
            Kind::Semicolon => Err(Box::new(
                Diagnostic::error(self.span(), "there is nothing before this `;`")
                    .help("remove it"),
            )),
            _ => {
                let query = self.expression()?;
                self.end_of_command("`;` after the query")?;
                Ok(CommandKind::Query(query))
            }
        }
    }

    fn end_of_command(&mut self, what: &str) -> Parsed<()> {
        self.expect(Kind::Semicolon, what).map(drop)
    }

    fn enumeration(&mut self) -> Parsed<CommandKind> {
        self.next();
        let name = self.expect(Kind::Name, "the name of the type")?;
        self.expect(Kind::OpenBrace, "`{`")?;
        let kind = if self.kind() == Kind::Number {
            let from = self.next().span;
            self.expect(Kind::Dot, "`..`")?;
            self.expect(Kind::Dot, "`..`")?;
            self.eat(Kind::Dot);
            let to = self.expect(Kind::Number, "a number, the greatest value")?;
            CommandKind::Range { name, from, to }
        } else {
            let mut constants = Vec::new();
            while self.kind() != Kind::CloseBrace {
                constants.push(self.expect(Kind::Name, "a name or a number")?);
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            CommandKind::Enum { name, constants }
        };
        self.expect(Kind::CloseBrace, "`}`")?;
        self.end_of_command("`;` after the type")?;
        Ok(kind)
    }

    fn class(&mut self) -> Parsed<CommandKind> {
        self.next();
        let name = self.expect(Kind::Name, "the name of the class")?;
        self.expect(Kind::OpenBrace, "`{`")?;
        let first = self.syntax.declarations.len() as u32;
        while !self.eat(Kind::CloseBrace) {
            let ty = self.expect(Kind::Name, "a type or `}`")?;
            loop {
                self.declarator(ty, "the name of a component")?;
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::Semicolon, "`;` after the component")?;
        }
        let components = first..self.syntax.declarations.len() as u32;
        let constraints = self.constraints()?;
        self.end_of_command("`;` after the class")?;
        Ok(CommandKind::Class {
            name,
            components,
            constraints,
        })
    }

    /// `x` or `x[4]` of the type `ty`.
    fn declarator(&mut self, ty: Span, what: &str) -> Parsed<()> {
        let name = self.expect(Kind::Name, what)?;
        let mut size = None;
        if self.eat(Kind::OpenBracket) {
            size = Some(self.expect(Kind::Number, "a number, the size of the array")?);
            self.expect(Kind::CloseBracket, "`]`")?;
        }
        self.syntax
            .declarations
            .push(Declaration { ty, name, size });
        Ok(())
    }

    /// `T x, U y[2]`, as far as it goes.
    pub(crate) fn declarations(&mut self) -> Parsed<List> {
        let first = self.syntax.declarations.len() as u32;
        loop {
            let ty = self.expect(Kind::Name, "a type")?;
            if self.kind() != Kind::Name && self.syntax.declarations.len() as u32 > first {
                let mut error = *self.unexpected("a variable");
                error = error.help("every variable has its own type: `T x, T y`");
                return Err(Box::new(error));
            }
            self.declarator(ty, "a variable")?;
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        Ok(first..self.syntax.declarations.len() as u32)
    }

    fn predicate(&mut self, fixpoint: Fixpoint) -> Parsed<CommandKind> {
        let result = self.expect(Kind::Name, "`bool`")?;
        let name = self.expect(Kind::Name, "the name of the predicate")?;
        self.expect(Kind::Open, "`(`")?;
        let none = self.syntax.declarations.len() as u32;
        let parameters = if self.kind() == Kind::Close {
            none..none
        } else {
            self.declarations()?
        };
        self.expect(Kind::Close, "`,` or `)`")?;
        let constraints = self.constraints()?;
        let body = if self.kind() == Kind::Semicolon {
            None
        } else {
            Some(self.expression()?)
        };
        self.end_of_command("`;` after the predicate")?;
        Ok(CommandKind::Predicate {
            fixpoint,
            result,
            name,
            parameters,
            constraints,
            body,
        })
    }

    /// Allocation constraints, if any stand here.
    pub(crate) fn constraints(&mut self) -> Parsed<Vec<Constraint>> {
        use Kind::{Apart, Greater, Less, Together};
        let mut list = Vec::new();
        loop {
            match (self.kind(), self.kind_after(1)) {
                (Kind::Name, Together | Apart | Less | Greater) => {
                    let mut left = self.next().span;
                    while let Together | Apart | Less | Greater = self.kind() {
                        let kind = self.next().kind;
                        let right = self.expect(Kind::Name, "a variable")?;
                        let (relation, first, second) = match kind {
                            Together => (Relation::Together, left, right),
                            Apart => (Relation::Apart, left, right),
                            Less => (Relation::Before, left, right),
                            _ => (Relation::Before, right, left),
                        };
                        list.push(Constraint {
                            left: first,
                            relation,
                            right: second,
                        });
                        left = right;
                    }
                }
                (Together | Apart, Kind::Name) => {
                    let span = self.next().span.to(self.span());
                    self.next();
                    self.diagnostics.push(
                        Diagnostic::warning(span, "a constraint on one variable has no effect")
                            .help("write `x ~+ y` or `x ~- y`"),
                    );
                }
                _ if list.is_empty() => return Ok(list),
                _ => return Err(self.unexpected("an allocation constraint")),
            }
            if !self.eat(Kind::Comma) {
                return Ok(list);
            }
        }
    }

    /// Whether a name with `#` in front is a command, not an identifier.
    pub(crate) fn is_command_word(&self) -> bool {
        COMMANDS.contains(&self.text(self.span()))
    }

    fn hash(&mut self) -> Parsed<CommandKind> {
        let word = self.next().span;
        let word = self.text(word).to_owned();
        let kind = match word.as_str() {
            "#quit" => return Ok(CommandKind::Quit),
            "#load" => CommandKind::Load(self.names("the name of a file", false)?),
            "#print" => CommandKind::Print(self.names("a string or a name", true)?),
            "#ons" | "#onsetsize" => CommandKind::About(About::Count, self.predicate_name()?),
            "#size" => CommandKind::About(About::Size, self.predicate_name()?),
            "#dump" => CommandKind::About(About::Dump, self.predicate_name()?),
            "#reset" => {
                let name = self.predicate_name()?;
                if self.text(name) == "all" {
                    CommandKind::ResetAll
                } else {
                    CommandKind::About(About::Reset, name)
                }
            }
            "#tuples" => {
                let name = self.predicate_name()?;
                let count = (self.kind() == Kind::Number).then(|| self.next().span);
                CommandKind::Tuples(name, count)
            }
            "#wit" | "#witness" => CommandKind::Witness(true, self.expression()?),
            "#cex" | "#counterexample" => CommandKind::Witness(false, self.expression()?),
            "#timer" => CommandKind::Timer((self.kind() == Kind::Name).then(|| self.next().span)),
            "#verbose" | "#frontier" => {
                let verbose = word == "#verbose";
                let on = match self.kind() {
                    Kind::Name if self.text(self.span()) == "off" => {
                        self.next();
                        false
                    }
                    Kind::Name if self.text(self.span()) == "on" => {
                        self.next();
                        true
                    }
                    Kind::Semicolon => true,
                    _ => return Err(self.unexpected("`on`, `off` or `;`")),
                };
                CommandKind::Switch { verbose, on }
            }
            // In MUCKE these start programs that do not exist any more; whatever follows is skipped.
            _ => {
                while !matches!(self.kind(), Kind::Semicolon | Kind::End) {
                    self.next();
                }
                CommandKind::Gone
            }
        };
        self.end_of_command(&format!("`;` after `{word}`"))?;
        Ok(kind)
    }

    fn predicate_name(&mut self) -> Parsed<Span> {
        self.expect(Kind::Name, "the name of a predicate")
    }

    /// Names and strings with commas between them.
    fn names(&mut self, what: &str, maybe_none: bool) -> Parsed<Vec<Span>> {
        let mut list = Vec::new();
        if maybe_none && self.kind() == Kind::Semicolon {
            return Ok(list);
        }
        loop {
            match self.kind() {
                Kind::Name | Kind::Text => list.push(self.next().span),
                _ => return Err(self.unexpected(what)),
            }
            if !self.eat(Kind::Comma) {
                return Ok(list);
            }
        }
    }
}

/// A word with `#` that is no command.
pub(crate) fn unknown_command(span: Span, word: &str) -> Diagnostic {
    let error = Diagnostic::error(span, format!("there is no command `{word}`"));
    match nearest(word, COMMANDS.into_iter()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("the commands are {}", COMMANDS.join(", "))),
    }
}

/// The words with `#` that are commands.
const COMMANDS: [&str; 19] = [
    "#quit",
    "#load",
    "#print",
    "#ons",
    "#onsetsize",
    "#size",
    "#dump",
    "#undump",
    "#vis",
    "#visualize",
    "#wit",
    "#witness",
    "#cex",
    "#counterexample",
    "#reset",
    "#timer",
    "#verbose",
    "#frontier",
    "#tuples",
];
