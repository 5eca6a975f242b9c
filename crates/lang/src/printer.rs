//! From [`Ast`] back to text, in the union dialect.
//!
//! For every tree the parser can build, parsing the printed text gives an equal tree, in either
//! dialect and without a warning: parentheses are written wherever one of the two precedence
//! tables needs them. (Names with `-` in them, which only SATABS has, need its dialect.)
//!
//! Both walks, over blocks and over expressions, keep their own stacks. Indentation stops growing
//! at some depth, or deeply nested programs would print mostly spaces.

use std::fmt::{Display, Write};

use crate::ast::{
    Ast, BinaryOp, Decl, ExprId, ExprKind, Function, Item, Name, StmtId, StmtKind, Target, Type,
    UnaryOp,
};
use crate::lexer::Dialect;
use crate::precedence::left_first;

const DEEPEST_INDENT: usize = 24;

/// The program as readable text.
pub fn print(ast: &Ast) -> String {
    let mut printer = Printer {
        ast,
        out: String::new(),
        indent: 0,
    };
    printer.items(&ast.items);
    printer.out
}

/// One expression as text.
pub fn expr_to_string(ast: &Ast, id: ExprId) -> String {
    let mut out = String::new();
    write_expr(&mut out, ast, id);
    out
}

struct Printer<'a> {
    ast: &'a Ast,
    out: String,
    indent: usize,
}

/// What remains to be printed of an open block.
enum Work<'a> {
    /// These statements, each on its own line.
    Block(&'a [StmtId]),
    /// The head of a statement, on a line already begun.
    Statement(StmtId),
    /// More arms of an `if`, then its end.
    Arms(&'a [(ExprId, Vec<StmtId>)], Option<&'a [StmtId]>),
    /// A word on its own line, outside the block, then `;` and the end of the line.
    Close(&'static str),
}

impl<'a> Printer<'a> {
    fn text(&mut self, text: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{text}");
    }

    fn begin_line(&mut self) {
        for _ in 0..self.indent.min(DEEPEST_INDENT) {
            self.out.push_str("    ");
        }
    }

    fn items(&mut self, items: &'a [Item]) {
        for (i, item) in items.iter().enumerate() {
            let declares = |item: &Item| matches!(item, Item::Decl(_));
            if i > 0 && !(declares(item) && declares(&items[i - 1])) {
                self.out.push('\n');
            }
            match item {
                Item::Decl(decl) => {
                    self.begin_line();
                    self.decl(decl);
                    self.out.push_str(";\n");
                }
                Item::Function(function) => self.function(function),
                Item::Thread(name, inner) => {
                    self.begin_line();
                    self.text(format_args!("thread {name} begin\n"));
                    self.indent += 1;
                    // Sections do not nest, so neither does this call.
                    self.items(inner);
                    self.indent -= 1;
                    self.begin_line();
                    self.out.push_str("end\n");
                }
            }
        }
    }

    fn decl(&mut self, decl: &Decl) {
        self.out.push_str("decl ");
        self.list(&decl.names);
        self.annotation(decl.ty);
    }

    fn annotation(&mut self, ty: Type) {
        if ty != Type::Bool {
            self.text(format_args!(" : {ty}"));
        }
    }

    fn list<T: Display>(&mut self, list: &[T]) {
        for (i, element) in list.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.text(element);
        }
    }

    fn function(&mut self, function: &'a Function) {
        self.begin_line();
        if function.dfs {
            self.out.push_str("dfs ");
        }
        match &function.results[..] {
            [] => self.out.push_str("void"),
            [_, _, ..] if function.results.iter().all(|ty| ty.is_bool()) => {
                self.text(format_args!("bool<{}>", function.results.len()));
            }
            results => self.list(results),
        }
        self.text(format_args!(" {}(", function.name));
        for (i, (name, ty)) in function.params.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.text(name);
            self.annotation(*ty);
        }
        self.out.push_str(")\n");
        self.begin_line();
        self.out.push_str("begin\n");
        self.indent += 1;
        self.block(&function.body);
        self.indent -= 1;
        self.begin_line();
        self.out.push_str("end\n");
    }

    /// The statements of a block and of the blocks inside it.
    fn block(&mut self, block: &'a [StmtId]) {
        let mut work = vec![Work::Block(block)];
        while let Some(next) = work.pop() {
            match next {
                Work::Block([]) => {}
                Work::Block([first, rest @ ..]) => {
                    work.push(Work::Block(rest));
                    self.begin_line();
                    work.push(Work::Statement(*first));
                }
                Work::Statement(id) => self.statement(id, &mut work),
                Work::Arms([], otherwise) => {
                    if let Some(block) = otherwise {
                        self.indent -= 1;
                        self.begin_line();
                        self.indent += 1;
                        self.out.push_str("else\n");
                        work.push(Work::Close("fi"));
                        work.push(Work::Block(block));
                    } else {
                        work.push(Work::Close("fi"));
                    }
                }
                Work::Arms([(condition, block), rest @ ..], otherwise) => {
                    self.indent -= 1;
                    self.begin_line();
                    self.indent += 1;
                    self.out.push_str("elsif ");
                    self.expr(*condition);
                    self.out.push_str(" then\n");
                    work.push(Work::Arms(rest, otherwise));
                    work.push(Work::Block(block));
                }
                Work::Close(word) => {
                    self.indent -= 1;
                    self.begin_line();
                    self.out.push_str(word);
                    self.out.push_str(";\n");
                }
            }
        }
    }

    /// A statement from its labels on; what it contains is put on the stack.
    fn statement(&mut self, id: StmtId, work: &mut Vec<Work<'a>>) {
        let stmt = self.ast.stmt(id);
        for label in &stmt.labels {
            self.text(format_args!("{label}: "));
        }
        match &stmt.kind {
            StmtKind::If { arms, otherwise } => {
                self.out.push_str("if ");
                if let [(condition, block), rest @ ..] = &arms[..] {
                    self.expr(*condition);
                    self.out.push_str(" then\n");
                    work.push(Work::Arms(rest, otherwise.as_deref()));
                    work.push(Work::Block(block));
                    self.indent += 1;
                }
                return;
            }
            StmtKind::While { condition, body } => {
                self.out.push_str("while ");
                self.expr(*condition);
                self.out.push_str(" do\n");
                work.push(Work::Close("od"));
                work.push(Work::Block(body));
                self.indent += 1;
                return;
            }
            StmtKind::StartThread(inner) => {
                self.out.push_str("start_thread ");
                work.push(Work::Statement(*inner));
                return;
            }
            kind => self.simple(kind),
        }
        self.out.push_str(";\n");
    }

    fn simple(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Decl(decl) => self.decl(decl),
            StmtKind::Assign {
                targets,
                values,
                constrain,
            } => {
                self.targets(targets);
                self.exprs(values);
                self.constrain(*constrain);
            }
            StmtKind::Call {
                targets,
                callee,
                args,
                constrain,
            } => {
                if !targets.is_empty() {
                    self.targets(targets);
                } else if matches!(&*callee.text, "print" | "enforce" | "abortif") {
                    // A procedure whose name begins another statement.
                    self.out.push_str("call ");
                }
                self.text(format_args!("{callee}("));
                self.exprs(args);
                self.out.push(')');
                self.constrain(*constrain);
            }
            StmtKind::Assert(condition) => self.condition("assert", *condition),
            StmtKind::Assume(condition) => self.condition("assume", *condition),
            StmtKind::Constrain(condition) => self.condition("constrain", *condition),
            StmtKind::AbortIf(condition) => self.condition("abortif", *condition),
            StmtKind::Enforce(condition) => self.condition("enforce", *condition),
            StmtKind::Goto(labels) => self.names("goto ", labels),
            StmtKind::Return(values) => {
                self.out.push_str("return");
                if !values.is_empty() {
                    self.out.push(' ');
                    self.exprs(values);
                }
            }
            StmtKind::Print(values) => {
                self.out.push_str("print(");
                self.exprs(values);
                self.out.push(')');
            }
            StmtKind::Dead(names) => self.names("dead ", names),
            StmtKind::Sync(name) => self.text(format_args!("sync {name}")),
            StmtKind::EndThread => self.out.push_str("end_thread"),
            StmtKind::AtomicBegin => self.out.push_str("atomic_begin"),
            StmtKind::AtomicEnd => self.out.push_str("atomic_end"),
            StmtKind::Skip
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::StartThread(_) => self.out.push_str("skip"),
        }
    }

    fn targets(&mut self, targets: &[Target]) {
        for (i, target) in targets.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            match target {
                Target::Var(name) => self.text(name),
                Target::Discard(_) => self.out.push('_'),
            }
        }
        self.out.push_str(" := ");
    }

    fn names(&mut self, word: &str, names: &[Name]) {
        self.out.push_str(word);
        self.list(names);
    }

    fn condition(&mut self, word: &str, condition: ExprId) {
        self.out.push_str(word);
        self.out.push('(');
        self.expr(condition);
        self.out.push(')');
    }

    fn constrain(&mut self, condition: Option<ExprId>) {
        if let Some(condition) = condition {
            self.out.push(' ');
            self.condition("constrain", condition);
        }
    }

    fn exprs(&mut self, list: &[ExprId]) {
        for (i, id) in list.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.expr(*id);
        }
    }

    fn expr(&mut self, id: ExprId) {
        write_expr(&mut self.out, self.ast, id);
    }
}

/// What remains to be printed of an expression.
enum Piece {
    Expr(ExprId),
    InParentheses(ExprId),
    Symbol(BinaryOp),
    Text(&'static str),
}

fn write_expr(out: &mut String, ast: &Ast, id: ExprId) {
    let mut pieces = vec![Piece::Expr(id)];
    while let Some(piece) = pieces.pop() {
        let id = match piece {
            Piece::Expr(id) => id,
            Piece::InParentheses(id) => {
                out.push('(');
                pieces.push(Piece::Text(")"));
                id
            }
            Piece::Symbol(op) => {
                let _ = write!(out, " {} ", op.symbol());
                continue;
            }
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
        };
        let _ = match &ast.expr(id).kind {
            ExprKind::Bool(true) => out.write_char('T'),
            ExprKind::Bool(false) => out.write_char('F'),
            ExprKind::Int(value) => write!(out, "{value}"),
            ExprKind::Nondet => out.write_char('*'),
            ExprKind::Var(name) => write!(out, "{name}"),
            ExprKind::Next(name) => write!(out, "'{name}"),
            ExprKind::Qualified(nobody, name) if nobody.text.is_empty() => {
                write!(out, "var({name})")
            }
            ExprKind::Qualified(procedure, name) => write!(out, "{procedure}::{name}"),
            ExprKind::At(None, label) => write!(out, "at({label})"),
            ExprKind::At(Some(procedure), label) => write!(out, "at({procedure}:{label})"),
            ExprKind::In(procedure) => write!(out, "in({procedure})"),
            ExprKind::Terminated => out.write_str("terminated"),
            ExprKind::Schoose(left, right) => {
                pieces.push(Piece::Text("]"));
                pieces.push(Piece::Expr(*right));
                pieces.push(Piece::Text(", "));
                pieces.push(Piece::Expr(*left));
                out.write_str("schoose[")
            }
            ExprKind::Unary(op, operand) => {
                pieces.push(match ast.expr(*operand).kind {
                    ExprKind::Binary(..) => Piece::InParentheses(*operand),
                    _ => Piece::Expr(*operand),
                });
                out.write_char(match op {
                    UnaryOp::Not => '!',
                    UnaryOp::Neg => '-',
                })
            }
            ExprKind::Binary(op, left, right) => {
                let in_both = |first, second, expected| {
                    [Dialect::Union, Dialect::Satabs]
                        .iter()
                        .all(|&dialect| left_first(dialect, first, second) == expected)
                };
                pieces.push(match ast.expr(*right).kind {
                    ExprKind::Binary(inner, ..) if !in_both(*op, inner, false) => {
                        Piece::InParentheses(*right)
                    }
                    _ => Piece::Expr(*right),
                });
                pieces.push(Piece::Symbol(*op));
                pieces.push(match ast.expr(*left).kind {
                    ExprKind::Binary(inner, ..) if !in_both(inner, *op, true) => {
                        Piece::InParentheses(*left)
                    }
                    _ => Piece::Expr(*left),
                });
                Ok(())
            }
        };
    }
}
