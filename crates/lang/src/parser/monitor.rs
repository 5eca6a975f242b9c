//! Monitors; see [`crate::monitor`] for an example.

use super::{Parse, Parser};
use crate::ast::{ExprId, Name};
use crate::lexer::TokenKind;
use crate::monitor::{Otherwise, StateKind, StateSyntax};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

impl Parser<'_> {
    /// `monitor NAME { states }`, up to the end of the text.
    pub(super) fn monitor(&mut self) -> Parse<(Name, Vec<StateSyntax>)> {
        if !self.at_word("monitor") {
            let diagnostic = self
                .expected("`monitor`")
                .help("a monitor is `monitor NAME { initial state s { when GUARD goto t; } … }`");
            return Err(self.report(diagnostic));
        }
        self.bump();
        let name = self.name("the name of the monitor")?;
        let open = self.expect(TokenKind::LBrace, "`{`")?;
        let mut states = Vec::new();
        loop {
            match self.kind() {
                TokenKind::RBrace => break,
                TokenKind::Semi => {
                    self.bump();
                }
                TokenKind::Eof => {
                    let diagnostic = self.expected("`}`").also(open, "opened here");
                    return Err(self.report(diagnostic));
                }
                _ => {
                    let start = self.pos;
                    match self.state() {
                        Ok(state) => states.push(state),
                        Err(_) => self.recover_state(start),
                    }
                }
            }
        }
        self.bump();
        if self.kind() != TokenKind::Eof {
            return Err(self.unexpected("the end of the text after the monitor"));
        }
        Ok((name, states))
    }

    /// `[initial] [target | repeating] state NAME`, then `;` or a block.
    fn state(&mut self) -> Parse<StateSyntax> {
        let mut initial = false;
        let mut kind = StateKind::Plain;
        loop {
            let word = if self.kind() == TokenKind::Ident {
                self.slice()
            } else {
                ""
            };
            match word {
                "state" => break,
                "initial" if !initial => initial = true,
                "target" if kind == StateKind::Plain => kind = StateKind::Target,
                "repeating" if kind == StateKind::Plain => kind = StateKind::Repeating,
                "initial" | "target" | "repeating" => {
                    let diagnostic = Diagnostic::error(
                        self.span(),
                        format!("`{word}` does not go with the words before it"),
                    )
                    .help("a state is `target` or `repeating` or neither, and `initial` or not");
                    self.report(diagnostic);
                }
                _ => {
                    let expected = "`state`, or `initial`, `target` or `repeating` before it";
                    return Err(self.unexpected(expected));
                }
            }
            self.bump();
        }
        self.bump();
        let name = self.name("the name of the state")?;
        let mut state = StateSyntax {
            name,
            initial,
            kind,
            edges: Vec::new(),
            otherwise: Otherwise::Stay,
        };
        if self.eat(TokenKind::Semi).is_some() {
            return Ok(state);
        }
        let open = self.expect(TokenKind::LBrace, "`{` or `;`")?;
        let mut otherwise: Option<Span> = None;
        while self.eat(TokenKind::RBrace).is_none() {
            let start = self.pos;
            let result = if self.at_word("when") {
                self.edge().map(|edge| state.edges.push(edge))
            } else if self.at_word("otherwise") {
                if let Some(first) = otherwise {
                    let diagnostic = Diagnostic::error(self.span(), "`otherwise` is given twice")
                        .also(first, "first here");
                    self.report(diagnostic);
                }
                otherwise = Some(self.span());
                self.otherwise()
                    .map(|otherwise| state.otherwise = otherwise)
            } else if self.kind() == TokenKind::Semi {
                self.bump();
                Ok(())
            } else {
                let diagnostic = self
                    .expected("`when`, `otherwise` or `}`")
                    .also(open, format!("in the block of state `{}`", state.name));
                Err(self.report(diagnostic))
            };
            if result.is_err() && !self.recover_edge(start) {
                return Err(super::Fail);
            }
        }
        Ok(state)
    }

    /// `when GUARD goto NAME;`
    fn edge(&mut self) -> Parse<(ExprId, Name)> {
        self.bump();
        let guard = self.expression()?;
        self.expect(TokenKind::Goto, "an operator or `goto`")?;
        let target = self.name("the name of a state")?;
        self.end_of_clause()?;
        Ok((guard, target))
    }

    /// `otherwise stay;`, `otherwise block;` or `otherwise goto NAME;`
    fn otherwise(&mut self) -> Parse<Otherwise> {
        self.bump();
        let otherwise = if self.at_word("stay") {
            self.bump();
            Otherwise::Stay
        } else if self.at_word("block") {
            self.bump();
            Otherwise::Block
        } else if self.eat(TokenKind::Goto).is_some() {
            Otherwise::Goto(self.name("the name of a state")?)
        } else {
            return Err(self.unexpected("`stay`, `block` or `goto`"));
        };
        self.end_of_clause()?;
        Ok(otherwise)
    }

    /// `;`, which may be missing before `}`.
    fn end_of_clause(&mut self) -> Parse<()> {
        if self.eat(TokenKind::Semi).is_some() || self.kind() == TokenKind::RBrace {
            return Ok(());
        }
        Err(self.unexpected("`;`"))
    }

    /// Goes on after the next `;` or at the next clause; false if the block is not continued.
    fn recover_edge(&mut self, start: usize) -> bool {
        if self.pos == start {
            self.bump();
        }
        loop {
            if self.at_word("when") || self.at_word("otherwise") {
                return true;
            }
            match self.kind() {
                TokenKind::Eof => return false,
                TokenKind::RBrace => return true,
                TokenKind::Semi => {
                    self.bump();
                    return true;
                }
                _ => self.bump(),
            };
        }
    }

    /// Goes on at the next state or at the end of the monitor.
    fn recover_state(&mut self, start: usize) {
        if self.pos == start {
            self.bump();
        }
        let mut depth = 0;
        loop {
            match self.kind() {
                TokenKind::Eof => return,
                TokenKind::LBrace => depth += 1,
                TokenKind::RBrace if depth == 0 => return,
                TokenKind::RBrace => depth -= 1,
                TokenKind::Ident
                    if depth == 0
                        && matches!(self.slice(), "state" | "initial" | "target" | "repeating") =>
                {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }
}
