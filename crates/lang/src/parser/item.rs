//! The top level: declarations, types, functions and thread sections.

use super::stmt::begins_statement;
use super::{Parse, Parser};
use crate::ast::{Decl, Function, Item, Name, Type};
use crate::lexer::TokenKind;
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

/// The most results that `bool<N>` may stand for.
const MAX_RESULTS: usize = 4096;

impl Parser<'_> {
    /// A whole program.
    pub(super) fn program(&mut self) {
        // A thread section that is open: its name and what stood before it.
        let mut section: Option<(Name, Span, Vec<Item>)> = None;
        let mut items = Vec::new();
        loop {
            let start = self.pos;
            match self.kind() {
                TokenKind::Eof => break,
                TokenKind::Semi => {
                    self.bump();
                }
                TokenKind::End if section.is_some() => {
                    self.bump();
                    if let Some((name, _, outer)) = section.take() {
                        let inner = std::mem::replace(&mut items, outer);
                        items.push(Item::Thread(name, inner));
                    }
                }
                TokenKind::Decl => match self.global_decl() {
                    Ok(decl) => items.push(Item::Decl(decl)),
                    Err(_) => self.recover_item(start),
                },
                TokenKind::Ident if self.at_word("thread") => {
                    match self.thread_header() {
                        Ok((name, opener)) => {
                            if let Some((outer_name, outer_opener, _)) = &section {
                                let diagnostic = Diagnostic::error(
                                name.span,
                                format!("thread section `{name}` inside thread section `{outer_name}`"),
                            )
                            .also(*outer_opener, "opened here")
                            .help("close the first section with `end`");
                                self.report(diagnostic);
                            } else {
                                section = Some((name, opener, std::mem::take(&mut items)));
                            }
                        }
                        Err(_) => self.recover_item(start),
                    }
                }
                _ => match self.function() {
                    Ok(function) => items.push(Item::Function(function)),
                    Err(_) => self.recover_item(start),
                },
            }
        }
        if let Some((name, opener, mut outer)) = section {
            let diagnostic = self
                .expected("`end`")
                .also(opener, format!("thread section `{name}` is open"));
            self.report(diagnostic);
            outer.push(Item::Thread(name, items));
            items = outer;
        }
        if items.is_empty() && self.errors == 0 {
            let diagnostic = Diagnostic::error(self.span(), "the program is empty")
                .help("a program needs a procedure `main`: `void main() begin … end`");
            self.report(diagnostic);
        }
        self.ast.items = items;
    }

    /// Skips to the next thing that can begin an item, or through the body of a broken function.
    fn recover_item(&mut self, start: usize) {
        if self.pos == start {
            self.bump();
        }
        loop {
            match self.kind() {
                TokenKind::Eof | TokenKind::Decl | TokenKind::End => return,
                TokenKind::Semi => {
                    self.bump();
                    return;
                }
                TokenKind::Begin => {
                    let opener = self.bump();
                    self.body(opener, false);
                    return;
                }
                TokenKind::Ident
                    if matches!(self.slice(), "dfs" | "thread")
                        || (self.type_word(0) && self.peek(1) == TokenKind::Ident) =>
                {
                    return;
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    fn global_decl(&mut self) -> Parse<Decl> {
        self.bump();
        let begin = self.pos;
        let decl = self.decl()?;
        if self.eat(TokenKind::Semi).is_none() {
            let typed = (begin..self.pos).any(|at| self.tokens[at].kind == TokenKind::Colon);
            let end = self.previous_end();
            let span = Span::new(end, end);
            if typed && self.kind() == TokenKind::Comma {
                let diagnostic = Diagnostic::error(self.span(), "expected `;`, found `,`")
                    .label("a declaration ends with its type")
                    .help("declare variables of another type on their own: `decl x : u8; decl y : u4;`");
                self.report(diagnostic);
                self.skip_to(&[TokenKind::Semi]);
                self.eat(TokenKind::Semi);
                return Ok(decl);
            }
            let expected = if typed { "`;`" } else { "`,`, `:` or `;`" };
            let diagnostic =
                Diagnostic::error(span, format!("expected {expected}, found {}", self.found()))
                    .label("`;` is missing here");
            self.report(diagnostic);
            let begins_item = matches!(self.kind(), TokenKind::Decl | TokenKind::End)
                || self.type_word(0)
                || self.at_word("thread")
                || self.at_word("dfs");
            if !begins_item {
                return Err(super::Fail);
            }
        }
        Ok(decl)
    }

    /// A declaration after the word `decl`, without the semicolon.
    pub(super) fn decl(&mut self) -> Parse<Decl> {
        if self.type_word(0) && matches!(self.peek(1), TokenKind::Ident | TokenKind::Escaped) {
            return Err(self.type_before_name());
        }
        let mut names = Vec::new();
        loop {
            let name = self.name("the name of a variable")?;
            self.array(&name);
            self.initial_value(&name);
            names.push(name);
            if self.eat(TokenKind::Comma).is_none() {
                break;
            }
        }
        let ty = self.optional_type()?;
        if let Some(last) = names.last() {
            self.initial_value(last);
        }
        Ok(Decl { names, ty })
    }

    /// `[3]` after a declared name: refused, and skipped.
    fn array(&mut self, name: &Name) {
        if self.kind() != TokenKind::LBracket {
            return;
        }
        let diagnostic = Diagnostic::error(self.span(), "there are no arrays")
            .label(format!("`{name}` can only be a variable"))
            .help(format!(
                "declare a variable for each element: `decl {name}0, {name}1;`"
            ));
        self.report(diagnostic);
        self.skip_to(&[TokenKind::RBracket]);
        self.eat(TokenKind::RBracket);
    }

    /// `:= T` after a declared name: refused, and skipped.
    fn initial_value(&mut self, name: &Name) {
        if !matches!(self.kind(), TokenKind::Assign | TokenKind::Eq) {
            return;
        }
        let at = self.span();
        let pos = self.pos;
        self.bump();
        let start = self.span().start;
        self.skip_to(&[TokenKind::Comma, TokenKind::Colon]);
        let value = self
            .source
            .slice(Span::new(start, self.previous_end().max(start)));
        let value = crate::lexer::crop(value, 40);
        let after = std::mem::replace(&mut self.pos, pos);
        let diagnostic = Diagnostic::error(at, "a declaration cannot give a value")
            .label("a variable holds any value at first")
            .help(format!(
                "assign it in a statement after the declarations: `{name} := {value};`"
            ));
        self.report(diagnostic);
        // Unless there are too many errors to go on.
        self.pos = self.pos.max(after);
    }

    /// Skips to one of these tokens outside parentheses, or to where the declaration must have ended.
    fn skip_to(&mut self, wanted: &[TokenKind]) {
        let mut depth = 0u32;
        loop {
            match self.kind() {
                TokenKind::Semi | TokenKind::Eof | TokenKind::Decl | TokenKind::Begin => return,
                kind if super::stmt::is_closer(kind) => return,
                kind if depth == 0 && wanted.contains(&kind) => return,
                TokenKind::LParen => depth += 1,
                TokenKind::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.bump();
        }
    }

    fn optional_type(&mut self) -> Parse<Type> {
        match self.eat(TokenKind::Colon) {
            Some(_) => self.ty(),
            None => Ok(Type::Bool),
        }
    }

    fn type_before_name(&mut self) -> super::Fail {
        let ty = self.slice();
        let name = self.source.slice(self.tokens[self.pos + 1].span);
        let diagnostic = Diagnostic::error(self.span(), "the type comes after the name")
            .help(format!("write `{} : {ty}`", crate::lexer::crop(name, 40)));
        self.report(diagnostic)
    }

    /// Whether the token `n` further on is the first word of a type, or `void`.
    pub(super) fn type_word(&self, n: usize) -> bool {
        self.peek(n) == TokenKind::Ident && {
            let word = self.source.slice(self.tokens[self.pos + n].span);
            matches!(word, "bool" | "int" | "void") || bit_vector(word).is_some()
        }
    }

    /// A type.
    fn ty(&mut self) -> Parse<Type> {
        let span = self.span();
        let word = self.slice();
        if self.kind() == TokenKind::Ident {
            if let Some((signed, digits)) = bit_vector(word) {
                let Some(width) = digits.parse::<u8>().ok().filter(|w| (1..=64).contains(w)) else {
                    let sign = if signed { 's' } else { 'u' };
                    let diagnostic = Diagnostic::error(
                        span,
                        format!(
                            "a bit vector has 1 to 64 bits, not {}",
                            crate::lexer::crop(digits, 20)
                        ),
                    )
                    .help(format!("the types are `{sign}1` to `{sign}64`"));
                    return Err(self.report(diagnostic));
                };
                self.bump();
                return Ok(Type::Bits { signed, width });
            }
            match word {
                "bool" => {
                    self.bump();
                    return Ok(Type::Bool);
                }
                "int" => {
                    self.bump();
                    return self.range(span);
                }
                _ => {}
            }
        }
        let diagnostic = self
            .expected("a type")
            .help("the types are `bool`, `u1` to `u64`, `s1` to `s64`, and `int[lo..hi]`");
        Err(self.report(diagnostic))
    }

    /// `[lo..hi]`, after `int`.
    fn range(&mut self, int: Span) -> Parse<Type> {
        if self.kind() != TokenKind::LBracket {
            let diagnostic = self
                .expected("`[` after `int`")
                .help("integers are bounded: `int[0..9]`, or `s32` for 32 bits that wrap around");
            return Err(self.report(diagnostic));
        }
        self.bump();
        let lo = self.bound()?;
        self.expect(TokenKind::DotDot, "`..`")?;
        let hi = self.bound()?;
        let close = self.expect(TokenKind::RBracket, "`]`")?;
        let span = int.to(close);
        let (least, greatest) = (i128::from(i64::MIN), i128::from(u64::MAX));
        let problem = match (lo, hi) {
            (Some(lo), Some(hi)) if lo < least || hi > greatest || lo > greatest || hi < least => {
                "the bounds of a range must be within -2^63 and 2^64-1"
            }
            (None, _) | (_, None) => "the bounds of a range must be within -2^63 and 2^64-1",
            (Some(lo), Some(hi)) if lo > hi => {
                "this range is empty: the first bound is the least value"
            }
            (Some(lo), Some(hi)) if hi - lo > greatest => "this range has more than 2^64 values",
            (Some(lo), Some(hi)) => return Ok(Type::Range { lo, hi }),
        };
        // The range has been read to its end: report it there, and go on.
        let diagnostic = Diagnostic::error(span, problem);
        self.report(diagnostic);
        Ok(Type::Range { lo: 0, hi: 1 })
    }

    /// A number with an optional sign; `None` if it is beyond all measure.
    fn bound(&mut self) -> Parse<Option<i128>> {
        let negative = self.eat(TokenKind::Minus).is_some();
        if self.kind() != TokenKind::Number {
            return Err(self.unexpected("a number"));
        }
        let value = self.slice().parse::<i128>().ok();
        self.bump();
        Ok(value.map(|v| if negative { -v } else { v }))
    }

    fn thread_header(&mut self) -> Parse<(Name, Span)> {
        let opener = self.bump();
        let name = self.name("the name of a thread")?;
        self.expect(TokenKind::Begin, "`begin`")?;
        Ok((name, opener))
    }

    fn function(&mut self) -> Parse<Function> {
        let dfs = self.at_word("dfs");
        if dfs {
            self.bump();
        }
        let results = self.results()?;
        let name = self.name("the name of a procedure")?;
        let open = self.expect(TokenKind::LParen, "`(`")?;
        let params = self.params(open)?;
        let (opener, braces) = match self.kind() {
            TokenKind::Begin => (self.bump(), false),
            TokenKind::LBrace => {
                self.unexpected("`begin`");
                (self.bump(), true)
            }
            kind => {
                let diagnostic = self
                    .expected("`begin`")
                    .also(name.span, "the body of this procedure");
                let diagnostic = match kind {
                    TokenKind::Semi => diagnostic.help(
                        "procedures need no announcement: they may be used before they are written",
                    ),
                    _ => diagnostic.help("a body is `begin … end`"),
                };
                let fail = self.report(diagnostic);
                if !(kind == TokenKind::End || begins_statement(kind)) {
                    return Err(fail);
                }
                (name.span, false) // only the word is missing
            }
        };
        let (body, end) = self.body(opener, braces);
        Ok(Function {
            dfs,
            results,
            name,
            params,
            body,
            end,
        })
    }

    /// `void`, `bool<3>`, or types with commas between them.
    fn results(&mut self) -> Parse<Vec<Type>> {
        if self.at_word("void") {
            self.bump();
            return Ok(Vec::new());
        }
        if !self.type_word(0) {
            return self.no_result_type();
        }
        let mut results = Vec::new();
        loop {
            let ty = self.ty()?;
            let mut count = 1;
            if ty == Type::Bool && self.eat(TokenKind::Lt).is_some() {
                count = self.count()?;
                self.expect(TokenKind::Gt, "`>`")?;
            }
            results.extend(std::iter::repeat_n(ty, count));
            if self.eat(TokenKind::Comma).is_none() {
                return Ok(results);
            }
        }
    }

    fn count(&mut self) -> Parse<usize> {
        if self.kind() != TokenKind::Number {
            return Err(self.unexpected("the number of results"));
        }
        let count = self.slice().parse().ok().filter(|&n| n <= MAX_RESULTS);
        if count.is_none() {
            let diagnostic = Diagnostic::error(
                self.span(),
                format!("a procedure has at most {MAX_RESULTS} results"),
            );
            self.report(diagnostic);
        }
        self.bump();
        Ok(count.unwrap_or(1))
    }

    /// Something that is neither a declaration nor has a result type.
    fn no_result_type(&mut self) -> Parse<Vec<Type>> {
        let name = matches!(self.kind(), TokenKind::Ident | TokenKind::Escaped);
        let diagnostic = if name && self.peek(1) == TokenKind::LParen {
            Diagnostic::error(
                self.span(),
                format!("the procedure {} has no result type", self.found()),
            )
            .help(format!(
                "write `void {}(…)` if it returns nothing",
                crate::lexer::crop(self.slice(), 40)
            ))
        } else {
            let diagnostic = self.expected("a declaration or a procedure");
            match self.kind() {
                TokenKind::End | TokenKind::Fi | TokenKind::Od => {
                    diagnostic.help("the procedure above has ended already: is there one `end` too many?")
                }
                _ => diagnostic.help("at the top level there are `decl x;`, `void f() begin … end` and `thread t begin … end`"),
            }
        };
        let fail = self.report(diagnostic);
        if name && self.peek(1) == TokenKind::LParen {
            return Ok(Vec::new());
        }
        Err(fail)
    }

    /// Parameters, after `(`, up to and with `)`.
    fn params(&mut self, open: Span) -> Parse<Vec<(Name, Type)>> {
        let mut params = Vec::new();
        if self.eat(TokenKind::RParen).is_some() {
            return Ok(params);
        }
        loop {
            if self.type_word(0) && matches!(self.peek(1), TokenKind::Ident | TokenKind::Escaped) {
                self.type_before_name();
                self.bump();
            }
            let name = self.name("the name of a parameter")?;
            let ty = self.optional_type()?;
            params.push((name, ty));
            if self.eat(TokenKind::RParen).is_some() {
                return Ok(params);
            }
            if self.eat(TokenKind::Comma).is_none() {
                let diagnostic = self.expected("`,` or `)`").also(open, "opened here");
                return Err(self.report(diagnostic));
            }
        }
    }
}

/// `u8` and `s8`: signed or not, and the digits.
fn bit_vector(word: &str) -> Option<(bool, &str)> {
    let (signed, digits) = match word.as_bytes().first()? {
        b'u' => (false, &word[1..]),
        b's' => (true, &word[1..]),
        _ => return None,
    };
    let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then_some((signed, digits))
}
