//! Statements, with a stack of open blocks in place of recursion.
//!
//! Each frame is a statement whose body is being read: a function, `if`, `while` or
//! `start_thread`. A finished statement goes to the block of the innermost frame; a frame that
//! is closed becomes a statement itself. The closing words of outer frames are known while an
//! inner one is open, so a missing `fi` or `od` is reported where its absence shows, together
//! with the place of the word that it should close.

use super::expr::binary_operator;
use super::{Parser, is_label, is_reserved};
use crate::ast::{Block, EndSpan, ExprId, Name, StmtId, StmtKind};
use crate::lexer::TokenKind;
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

/// An open statement.
struct Frame {
    open: Open,
    labels: Vec<Name>,
    /// What will be the statement's span.
    span: Span,
    /// The word that opened it.
    opener: Span,
    /// What it contains so far; for `if`, the current arm.
    block: Block,
    /// It was opened with `{`, so `}` closes it.
    braces: bool,
    /// Something about it has been reported; say no more.
    broken: bool,
}

enum Open {
    /// A function's body.
    Function,
    /// `begin` where it has no business.
    Stray,
    If {
        arms: Vec<(ExprId, Block)>,
        state: Arm,
    },
    While(ExprId),
    StartThread,
}

/// Which part of an `if` is being read.
enum Arm {
    /// The body of this condition.
    Then(ExprId),
    /// The body of `else`, and the `if` that directly follows it.
    Else { directly_if: Option<Span> },
}

impl Open {
    /// The word that closes it.
    fn closer(&self) -> &'static str {
        match self {
            Open::Function | Open::Stray => "end",
            Open::If { .. } => "fi",
            Open::While(_) => "od",
            Open::StartThread => "",
        }
    }

    fn is_closed_by(&self, kind: TokenKind) -> bool {
        match self {
            Open::Function | Open::Stray => kind == TokenKind::End,
            Open::If { state, .. } => {
                kind == TokenKind::Fi
                    || matches!(
                        (state, kind),
                        (Arm::Then(_), TokenKind::Else | TokenKind::Elsif)
                    )
            }
            Open::While(_) => kind == TokenKind::Od,
            Open::StartThread => false,
        }
    }
}

/// Words before which `;` may be missing.
pub(super) fn is_closer(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::End | TokenKind::Fi | TokenKind::Od | TokenKind::Else | TokenKind::Elsif
    )
}

/// Reserved words that begin a statement.
pub(super) fn begins_statement(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Decl
            | TokenKind::If
            | TokenKind::While
            | TokenKind::Goto
            | TokenKind::Return
            | TokenKind::Skip
            | TokenKind::Assert
            | TokenKind::Assume
            | TokenKind::StartThread
            | TokenKind::EndThread
            | TokenKind::AtomicBegin
            | TokenKind::AtomicEnd
    )
}

impl Parser<'_> {
    /// The body of a function, after `begin` (or `{`, if `braces`), up to and with `end`.
    pub(super) fn body(&mut self, opener: Span, braces: bool) -> (Block, EndSpan) {
        let mut frames = vec![Frame {
            open: Open::Function,
            labels: Vec::new(),
            span: opener,
            opener,
            block: Vec::new(),
            braces,
            broken: braces,
        }];
        loop {
            let labels = self.labels();
            let kind = self.kind();
            if kind == TokenKind::Eof {
                self.labelled_skip(&mut frames, labels);
                self.missing(&frames, 0);
                return self.close_function(frames);
            }
            if is_closer(kind) || (kind == TokenKind::RBrace && frames.iter().any(|f| f.braces)) {
                self.labelled_skip(&mut frames, labels);
                self.no_statement_to_start(&mut frames);
                if self.close(&mut frames) {
                    return self.close_function(frames);
                }
            } else if kind == TokenKind::Semi {
                self.labelled_skip(&mut frames, labels);
                self.no_statement_to_start(&mut frames);
                self.bump();
            } else if self.at_function_header() {
                self.labelled_skip(&mut frames, labels);
                self.missing(&frames, 0);
                return self.close_function(frames);
            } else {
                self.statement(&mut frames, labels);
            }
        }
    }

    /// The labels before a statement.
    fn labels(&mut self) -> Vec<Name> {
        let mut labels = Vec::new();
        while self.peek(1) == TokenKind::Colon {
            let kind = self.kind();
            if is_reserved(kind) && !matches!(kind, TokenKind::Else | TokenKind::Elsif) {
                let diagnostic = self.reserved_label();
                self.report(diagnostic);
            } else if !is_label(kind) {
                break;
            }
            let span = self.bump();
            self.bump();
            labels.push(self.intern(span));
        }
        labels
    }

    /// A statement after its labels: all of it, or the head of one that contains others.
    fn statement(&mut self, frames: &mut Vec<Frame>, labels: Vec<Name>) {
        let start = self.pos;
        let opener = self.span();
        match self.kind() {
            TokenKind::If => {
                if let Some(Frame {
                    open:
                        Open::If {
                            state: Arm::Else { directly_if },
                            ..
                        },
                    block,
                    ..
                }) = frames.last_mut()
                    && block.is_empty()
                    && labels.is_empty()
                {
                    *directly_if = Some(opener);
                }
                self.bump();
                let condition = self.condition(TokenKind::Then, opener);
                let state = Arm::Then(condition.id);
                let arms = Vec::new();
                frames.push(condition.frame(Open::If { arms, state }, labels, opener));
            }
            TokenKind::While => {
                self.bump();
                let condition = self.condition(TokenKind::Do, opener);
                frames.push(condition.frame(Open::While(condition.id), labels, opener));
            }
            TokenKind::StartThread => {
                self.bump();
                frames.push(Frame::new(Open::StartThread, labels, opener));
            }
            TokenKind::Begin => {
                let diagnostic =
                    Diagnostic::error(opener, "`begin` opens the body of a function only")
                        .help("blocks are `if … then … fi` and `while … do … od`");
                self.report(diagnostic);
                self.bump();
                let mut frame = Frame::new(Open::Stray, labels, opener);
                frame.broken = true;
                frames.push(frame);
            }
            _ => {
                if let Ok(kind) = self.simple_statement() {
                    let span = Span::new(opener.start, self.previous_end());
                    let id = self.ast.add_stmt(labels, kind, span);
                    self.attach(frames, id);
                    self.semicolon();
                    return;
                }
                let waits = |frame: &Frame| matches!(frame.open, Open::StartThread);
                while frames.last().is_some_and(waits) {
                    frames.pop();
                }
                self.recover(start, TokenKind::Semi);
                self.eat(TokenKind::Semi);
            }
        }
    }

    /// Adds a statement to the innermost block; a waiting `start_thread` takes it.
    fn attach(&mut self, frames: &mut Vec<Frame>, mut id: StmtId) {
        while let Some(Frame {
            open: Open::StartThread,
            ..
        }) = frames.last()
            && let Some(frame) = frames.pop()
        {
            let span = frame.span.to(self.ast.stmt(id).span);
            id = self
                .ast
                .add_stmt(frame.labels, StmtKind::StartThread(id), span);
        }
        if let Some(frame) = frames.last_mut() {
            frame.block.push(id);
        }
    }

    /// Labels with no statement after them stand on a `skip`.
    fn labelled_skip(&mut self, frames: &mut Vec<Frame>, labels: Vec<Name>) {
        if let Some(last) = labels.last() {
            let span = last.span;
            let id = self.ast.add_stmt(labels, StmtKind::Skip, span);
            self.attach(frames, id);
        }
    }

    /// Drops frames of `start_thread` that nothing follows.
    fn no_statement_to_start(&mut self, frames: &mut Vec<Frame>) {
        while let Some(Frame {
            open: Open::StartThread,
            opener,
            ..
        }) = frames.last()
        {
            let diagnostic = self
                .expected("a statement after `start_thread`")
                .also(*opener, "what shall the thread do?");
            self.report(diagnostic);
            frames.pop();
        }
    }

    /// After a simple statement: `;`, or a word that closes a block.
    fn semicolon(&mut self) {
        let kind = self.kind();
        if self.eat(TokenKind::Semi).is_some() || is_closer(kind) || kind == TokenKind::Eof {
            return;
        }
        if kind == TokenKind::RBrace {
            return; // reported, or about to be
        }
        let start = self.pos;
        let end = self.previous_end();
        let diagnostic = Diagnostic::error(
            Span::new(end, end),
            format!("expected `;`, found {}", self.found()),
        )
        .label("`;` is missing here");
        let diagnostic = match kind {
            TokenKind::Assign => diagnostic.help(
                "assign to several variables at once with `x, y := 1, 0`, or in one statement each",
            ),
            _ if binary_operator(kind).is_some() => {
                diagnostic.help("an operator cannot continue this statement")
            }
            _ => diagnostic.also(self.span(), ""),
        };
        self.report(diagnostic);
        let next_begins = begins_statement(kind)
            || kind == TokenKind::Constrain
            || (is_label(kind)
                && matches!(
                    self.peek(1),
                    TokenKind::Assign | TokenKind::Colon | TokenKind::LParen | TokenKind::Comma
                ));
        if !next_begins {
            self.recover(start, TokenKind::Semi);
            self.eat(TokenKind::Semi);
        }
    }

    /// Skips to `wanted`, to `;`, or to something that begins or ends a statement; if the parser is
    /// still at `start`, over at least one token that nothing else skips.
    fn recover(&mut self, start: usize, wanted: TokenKind) {
        if self.pos == start && self.kind() != wanted && !is_closer(self.kind()) {
            self.bump();
        }
        loop {
            let kind = self.kind();
            if kind == wanted
                || matches!(kind, TokenKind::Semi | TokenKind::Eof | TokenKind::RBrace)
                || is_closer(kind)
                || begins_statement(kind)
                || self.at_function_header()
            {
                return;
            }
            self.bump();
        }
    }

    /// Whether a function begins here, the `end` of the one before being missing.
    fn at_function_header(&self) -> bool {
        let mut n = 0;
        if self.at_word("dfs") {
            n = 1;
        }
        self.type_word(n)
            && self.peek(n + 1) == TokenKind::Ident
            && self.peek(n + 2) == TokenKind::LParen
    }

    // Blocks.

    /// The condition of `if`, `elsif` or `while`, and the word after it.
    fn condition(&mut self, word: TokenKind, opener: Span) -> Condition {
        let start = self.pos;
        let (id, result) = self.expression_or_placeholder();
        let end = self.previous_end().max(opener.end);
        let mut condition = Condition {
            id,
            end,
            braces: false,
            broken: result.is_err(),
        };
        if result.is_err() {
            self.recover(start, word);
        }
        if self.eat(word).is_some() {
            return condition;
        }
        if result.is_ok() {
            let text = if word == TokenKind::Then {
                "then"
            } else {
                "do"
            };
            let diagnostic = self.expected(&format!("`{text}`")).also(
                opener,
                format!("the condition of this `{}`", self.source.slice(opener)),
            );
            let diagnostic = match self.kind() {
                TokenKind::Assign => {
                    diagnostic.help("`:=` assigns and is a statement; to compare, write `=`")
                }
                TokenKind::LBrace => diagnostic,
                _ => diagnostic.help(format!("write `{text}` after the condition")),
            };
            self.report(diagnostic);
            condition.broken = true;
        }
        match self.kind() {
            TokenKind::LBrace => {
                self.bump();
                condition.braces = true;
            }
            TokenKind::Then | TokenKind::Do | TokenKind::Semi => {
                self.bump();
            }
            TokenKind::Assign => {
                self.recover(self.pos, word);
                self.eat(word);
            }
            _ => {}
        }
        condition
    }

    /// At a closing word: closes the frame it belongs to, and those inside it. Whether that was the
    /// function.
    fn close(&mut self, frames: &mut Vec<Frame>) -> bool {
        let kind = self.kind();
        let belongs = |frame: &Frame| {
            frame.open.is_closed_by(kind) || (kind == TokenKind::RBrace && frame.braces)
        };
        let Some(depth) = frames.iter().rposition(belongs) else {
            self.stray_closer();
            return false;
        };
        if depth + 1 < frames.len() {
            self.missing(frames, depth + 1);
            while depth + 1 < frames.len()
                && let Some(frame) = frames.pop()
            {
                self.close_frame(frames, frame);
            }
        }
        if depth == 0 {
            return true;
        }
        match kind {
            TokenKind::Else | TokenKind::Elsif => self.next_arm(frames),
            _ => {
                self.bump();
                let Some(mut frame) = frames.pop() else {
                    return true;
                };
                if kind == TokenKind::RBrace
                    && matches!(self.kind(), TokenKind::Else | TokenKind::Elsif)
                    && frame.open.is_closed_by(self.kind())
                {
                    // `} else {`: the `if` goes on.
                    frame.braces = false;
                    frames.push(frame);
                    return false;
                }
                self.close_frame(frames, frame);
                self.eat(TokenKind::Semi);
            }
        }
        false
    }

    /// `else` or `elsif`, for the innermost frame.
    fn next_arm(&mut self, frames: &mut [Frame]) {
        let Some(frame) = frames.last_mut() else {
            return;
        };
        let word = self.kind();
        let opener = self.bump();
        let Open::If { arms, state } = &mut frame.open else {
            return;
        };
        if let Arm::Then(condition) = *state {
            arms.push((condition, std::mem::take(&mut frame.block)));
        }
        if word == TokenKind::Elsif {
            let condition = self.condition(TokenKind::Then, opener);
            *state = Arm::Then(condition.id);
            frame.braces |= condition.braces;
            frame.broken |= condition.broken;
        } else {
            *state = Arm::Else { directly_if: None };
            if self.kind() == TokenKind::LBrace {
                if !frame.broken {
                    let diagnostic = self.expected("a statement");
                    self.report(diagnostic);
                }
                self.bump();
                frame.braces = true;
                frame.broken = true;
            }
        }
    }

    /// Makes a statement of a frame and attaches it.
    fn close_frame(&mut self, frames: &mut Vec<Frame>, frame: Frame) {
        let kind = match frame.open {
            Open::If { mut arms, state } => {
                let otherwise = match state {
                    Arm::Then(condition) => {
                        arms.push((condition, frame.block));
                        None
                    }
                    Arm::Else { .. } => Some(frame.block),
                };
                StmtKind::If { arms, otherwise }
            }
            Open::While(condition) => StmtKind::While {
                condition,
                body: frame.block,
            },
            Open::Function | Open::Stray | Open::StartThread => {
                // Only after an error: keep what it contained.
                if let Some(outer) = frames.last_mut() {
                    outer.block.extend(frame.block);
                }
                return;
            }
        };
        let id = self.ast.add_stmt(frame.labels, kind, frame.span);
        self.attach(frames, id);
    }

    fn close_function(&mut self, mut frames: Vec<Frame>) -> (Block, EndSpan) {
        let end = match self.kind() {
            TokenKind::End | TokenKind::RBrace => self.bump(),
            _ => Span::new(self.previous_end(), self.previous_end()),
        };
        while frames.len() > 1
            && let Some(frame) = frames.pop()
        {
            self.close_frame(&mut frames, frame);
        }
        let block = frames.pop().map_or_else(Vec::new, |frame| frame.block);
        (block, EndSpan(end))
    }

    /// Reports that the frames from `depth` on are not closed where they should be.
    fn missing(&mut self, frames: &[Frame], depth: usize) {
        let open = || {
            frames[depth..]
                .iter()
                .filter(|f| !matches!(f.open, Open::StartThread))
        };
        if open().any(|frame| frame.broken) {
            return;
        }
        let Some(inner) = open().next_back() else {
            return;
        };
        let closer = inner.open.closer();
        let mut diagnostic = Diagnostic::error(
            self.span(),
            format!("`{closer}` is missing before {}", self.found()),
        )
        .label(format!("expected `{closer}`"));
        for frame in open().rev().take(4) {
            let word = self.source.slice(frame.opener);
            diagnostic = diagnostic.also(
                frame.opener,
                format!("this `{word}` has no `{}`", frame.open.closer()),
            );
        }
        let else_if = open().find_map(|frame| match frame.open {
            Open::If {
                state: Arm::Else { directly_if },
                ..
            } => directly_if,
            _ => None,
        });
        if let Some(span) = else_if {
            diagnostic = diagnostic
                .also(span, "a new `if` inside the `else`, with a `fi` of its own")
                .help("to continue the same `if`, write `elsif` instead of `else if`");
        } else {
            diagnostic = diagnostic.help(format!("add `{closer}` where the block ends"));
        }
        self.report(diagnostic);
    }

    /// `fi` and the like with nothing to close.
    fn stray_closer(&mut self) {
        let word = self.slice();
        let opener = match self.kind() {
            TokenKind::Od => "while",
            TokenKind::RBrace => "{",
            _ => "if",
        };
        let diagnostic =
            Diagnostic::error(self.span(), format!("`{word}` without an open `{opener}`"))
                .help("remove it, or look for a block above that was closed too early");
        self.report(diagnostic);
        let was_elsif = self.kind() == TokenKind::Elsif;
        self.bump();
        if was_elsif {
            self.recover(self.pos, TokenKind::Then);
            self.eat(TokenKind::Then);
        } else {
            self.eat(TokenKind::Semi);
        }
    }
}

/// A condition, and how it ended.
struct Condition {
    id: ExprId,
    end: u32,
    braces: bool,
    broken: bool,
}

impl Condition {
    fn frame(&self, open: Open, labels: Vec<Name>, opener: Span) -> Frame {
        Frame {
            span: Span::new(opener.start, self.end),
            braces: self.braces,
            broken: self.broken,
            ..Frame::new(open, labels, opener)
        }
    }
}

impl Frame {
    fn new(open: Open, labels: Vec<Name>, opener: Span) -> Self {
        Frame {
            open,
            labels,
            span: opener,
            opener,
            block: Vec::new(),
            braces: false,
            broken: false,
        }
    }
}
