//! Statements that contain no others.
//!
//! Many begin with a word that is also a possible name (`print`, `dead`, `call`, …). The token after it
//! decides: before `:=`, `,` or `:` it is the name of a variable or label.

use super::expr::binary_operator;
use super::stmt::{begins_statement, is_closer};
use super::{Parse, Parser};
use crate::ast::{EndSpan, ExprId, StmtKind, Target};
use crate::lexer::{TokenKind, crop};
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

impl Parser<'_> {
    /// A statement without labels and without statements inside it, up to its semicolon.
    pub(super) fn simple_statement(&mut self) -> Parse<StmtKind> {
        let kind = self.kind();
        match kind {
            TokenKind::Decl => {
                self.bump();
                Ok(StmtKind::Decl(self.decl()?))
            }
            TokenKind::Assert => self.after_word(StmtKind::Assert),
            TokenKind::Assume => self.after_word(StmtKind::Assume),
            TokenKind::Constrain => self.after_word(StmtKind::Constrain),
            TokenKind::Goto => {
                self.bump();
                let mut labels = vec![self.label("a label")?];
                while self.eat(TokenKind::Comma).is_some() {
                    labels.push(self.label("a label")?);
                }
                Ok(StmtKind::Goto(labels))
            }
            TokenKind::Return => {
                self.bump();
                if self.at_end_of_statement() {
                    return Ok(StmtKind::Return(Vec::new()));
                }
                Ok(StmtKind::Return(self.expressions()?))
            }
            TokenKind::Skip
            | TokenKind::EndThread
            | TokenKind::AtomicBegin
            | TokenKind::AtomicEnd => {
                self.bump();
                Ok(match kind {
                    TokenKind::EndThread => StmtKind::EndThread,
                    TokenKind::AtomicBegin => StmtKind::AtomicBegin,
                    TokenKind::AtomicEnd => StmtKind::AtomicEnd,
                    _ => StmtKind::Skip,
                })
            }
            TokenKind::Ident | TokenKind::Escaped => self.name_statement(),
            _ => {
                let diagnostic = self.expected("a statement");
                let diagnostic = match kind {
                    TokenKind::Then => {
                        diagnostic.help("`then` follows the condition of `if` or `elsif`")
                    }
                    TokenKind::Do => diagnostic.help("`do` follows the condition of `while`"),
                    TokenKind::Number => diagnostic.help("a number can be a label: `12: skip;`"),
                    TokenKind::True | TokenKind::False => {
                        diagnostic.help("a constant cannot be assigned to; it can be a label")
                    }
                    _ => diagnostic,
                };
                Err(self.report(diagnostic))
            }
        }
    }

    fn after_word(&mut self, make: impl FnOnce(ExprId) -> StmtKind) -> Parse<StmtKind> {
        self.bump();
        Ok(make(self.expression()?))
    }

    fn at_end_of_statement(&self) -> bool {
        let kind = self.kind();
        matches!(kind, TokenKind::Semi | TokenKind::Eof) || is_closer(kind)
    }

    /// A statement that begins with a name or with a word that may also be one.
    fn name_statement(&mut self) -> Parse<StmtKind> {
        let next = self.peek(1);
        let called = next == TokenKind::LParen;
        if !matches!(next, TokenKind::Assign | TokenKind::Comma) {
            match self.slice() {
                "abortif" => return self.after_word(StmtKind::AbortIf),
                "enforce" => return self.after_word(StmtKind::Enforce),
                "print" => return self.print(),
                "dead" if !called => {
                    self.bump();
                    return Ok(StmtKind::Dead(self.names("the name of a variable")?));
                }
                "sync" if !called => {
                    self.bump();
                    return Ok(StmtKind::Sync(self.name("a name")?));
                }
                "call" if !called => {
                    self.bump();
                    return self.call(Vec::new());
                }
                _ => {}
            }
        }
        if called {
            return self.call(Vec::new());
        }
        self.misspelt_word()?;
        let mut targets = vec![self.target()?];
        while self.eat(TokenKind::Comma).is_some() {
            targets.push(self.target()?);
        }
        self.assign_sign()?;
        let name = |kind| matches!(kind, TokenKind::Ident | TokenKind::Escaped);
        if self.at_word("call") && name(self.peek(1)) {
            self.bump();
            return self.call(targets);
        }
        if name(self.kind()) && self.peek(1) == TokenKind::LParen {
            return self.call(targets);
        }
        let values = self.expressions()?;
        let constrain = self.constrain()?;
        Ok(StmtKind::Assign {
            targets,
            values,
            constrain,
        })
    }

    fn target(&mut self) -> Parse<Target> {
        if self.at_word("_") {
            return Ok(Target::Discard(EndSpan(self.bump())));
        }
        Ok(Target::Var(self.name("the name of a variable")?))
    }

    fn assign_sign(&mut self) -> Parse<()> {
        if self.eat(TokenKind::Assign).is_some() {
            return Ok(());
        }
        if self.kind() == TokenKind::Eq {
            let diagnostic = Diagnostic::error(
                self.span(),
                format!("`{}` compares; it does not assign", self.slice()),
            )
            .label("expected `:=`")
            .help("write `:=` to assign");
            self.report(diagnostic);
            self.bump();
            return Ok(());
        }
        Err(self.unexpected("`:=`"))
    }

    /// `whlie x do`: a name followed by what cannot follow a name.
    fn misspelt_word(&mut self) -> Parse<()> {
        let next = self.peek(1);
        if matches!(next, TokenKind::Assign | TokenKind::Comma | TokenKind::Eq) {
            return Ok(());
        }
        let word = self.slice();
        const WORDS: [&str; 24] = [
            "decl",
            "begin",
            "end",
            "if",
            "then",
            "elsif",
            "else",
            "fi",
            "while",
            "do",
            "od",
            "goto",
            "return",
            "skip",
            "assert",
            "assume",
            "constrain",
            "abortif",
            "enforce",
            "print",
            "dead",
            "start_thread",
            "end_thread",
            "call",
        ];
        let diagnostic = Diagnostic::error(
            self.span(),
            format!("expected a statement, found {}", self.found()),
        );
        let meant = match word {
            "elseif" | "elif" => Some("elsif"),
            "endif" => Some("fi"),
            "done" | "endwhile" => Some("od"),
            "assign" | "var" | "let" => None,
            _ => nearest(word, WORDS.into_iter()),
        };
        let diagnostic = match (meant, next) {
            (_, TokenKind::Ident) if self.type_word(0) => {
                diagnostic.help("variables are declared with `decl`: `decl x : int[0..9];`")
            }
            (Some(meant), _) => diagnostic.help(format!("did you mean `{meant}`?")),
            (None, TokenKind::Semi) => diagnostic.help(format!(
                "to call a procedure, write `{}();`",
                crop(word, 40)
            )),
            (None, _) => diagnostic.help("an assignment is `x := e;`, a call is `f(e);`"),
        };
        Err(self.report(diagnostic))
    }

    /// A call from the procedure's name on.
    fn call(&mut self, targets: Vec<Target>) -> Parse<StmtKind> {
        let callee = self.name("the name of a procedure")?;
        let open = self.expect(TokenKind::LParen, "`(`")?;
        let args = if self.kind() == TokenKind::RParen {
            Vec::new()
        } else {
            self.expressions()?
        };
        if self.eat(TokenKind::RParen).is_none() {
            let diagnostic = self.expected("`,` or `)`").also(open, "opened here");
            return Err(self.report(diagnostic));
        }
        if binary_operator(self.kind()).is_some() || self.kind() == TokenKind::Comma {
            let diagnostic = Diagnostic::error(
                self.span(),
                format!("{} after the call of `{callee}`", self.found()),
            )
            .label("a call cannot be part of an expression or of a list")
            .help("a call is a statement: `x := f(…);` first, then use `x`");
            return Err(self.report(diagnostic));
        }
        let constrain = self.constrain()?;
        Ok(StmtKind::Call {
            targets,
            callee,
            args,
            constrain,
        })
    }

    fn constrain(&mut self) -> Parse<Option<ExprId>> {
        match self.eat(TokenKind::Constrain) {
            Some(_) => Ok(Some(self.expression()?)),
            None => Ok(None),
        }
    }

    /// `print`, with or without parentheses around the list; text in quotes is dropped.
    fn print(&mut self) -> Parse<StmtKind> {
        self.bump();
        let mut values = Vec::new();
        let close = self.parentheses_to_the_end();
        if close.is_some() {
            self.bump();
        }
        let at_end = |parser: &Self| match close {
            Some(close) => parser.pos >= close,
            None => parser.at_end_of_statement(),
        };
        if !at_end(self) {
            loop {
                if self.eat(TokenKind::Text).is_none() {
                    values.push(self.expression()?);
                }
                if self.eat(TokenKind::Comma).is_none() {
                    break;
                }
            }
        }
        if close.is_some() {
            self.expect(TokenKind::RParen, "`,` or `)`")?;
        }
        Ok(StmtKind::Print(values))
    }

    /// If the rest of the statement is one pair of parentheses, the place of the second.
    fn parentheses_to_the_end(&self) -> Option<usize> {
        if self.kind() != TokenKind::LParen {
            return None;
        }
        let mut depth = 0usize;
        for (i, token) in self.tokens.iter().enumerate().skip(self.pos) {
            match token.kind {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen if depth == 1 => {
                    let after = self.tokens.get(i + 1).map_or(TokenKind::Eof, |t| t.kind);
                    let ends =
                        matches!(after, TokenKind::Semi | TokenKind::Eof) || is_closer(after);
                    return ends.then_some(i);
                }
                TokenKind::RParen => depth -= 1,
                TokenKind::Semi | TokenKind::Eof => return None,
                kind if is_closer(kind) || begins_statement(kind) => return None,
                _ => {}
            }
        }
        None
    }
}
