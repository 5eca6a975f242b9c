//! Lowering, tested on source text.
//!
//! `show` writes a program one node per line; node numbers count from the procedure's entry.

mod errors;
mod statements;

use std::fmt::Write as _;

use crate::lower::lower;
use crate::parser::{Dialect, parse};
use droste_program::display::expr_to_string;
use droste_program::{Expr, ExprNode, NodeId, Op, ProcId, Program, VarRef};
use droste_source::SourceFile;
use droste_source::diagnostics::{Diagnostic, Severity};

/// Parses, which must succeed, and lowers.
fn run(text: &str) -> (Option<Program>, Vec<Diagnostic>) {
    let parsed = parse(&SourceFile::new("test.bp", text), Dialect::default());
    assert!(
        !parsed.has_errors(),
        "{text}\ndoes not parse: {:#?}",
        parsed.diagnostics
    );
    lower(&parsed.ast)
}

/// The program, which must be right.
fn program(text: &str) -> Program {
    let (program, diagnostics) = run(text);
    let program = program.unwrap_or_else(|| panic!("{text}\nis refused: {diagnostics:#?}"));
    check_invariants(&program);
    program
}

/// What the doc comments of `program` promise.
fn check_invariants(program: &Program) {
    for (p, procedure) in program.procedures.iter().enumerate() {
        assert_eq!(program.node(procedure.entry).procedure, ProcId(p as u32));
        assert!(procedure.params as usize <= procedure.locals.len());
    }
    for node in &program.nodes {
        let locals = program.procedure(node.procedure).locals.len() as u32;
        node.op
            .for_each_next(|next| assert_eq!(program.node(next).procedure, node.procedure));
        let check = |e: &Expr, next: bool| check_expr(program, locals, e, next);
        let distinct = |vars: Vec<VarRef>| {
            let set: std::collections::BTreeSet<&VarRef> = vars.iter().collect();
            assert_eq!(set.len(), vars.len());
        };
        match &node.op {
            Op::Goto(targets) => assert!(!targets.is_empty()),
            Op::Assign {
                assigns,
                discards,
                constrain,
                ..
            } => {
                distinct(assigns.iter().map(|(var, _)| *var).collect());
                for (_, e) in assigns {
                    check(e, false);
                }
                for e in discards {
                    check(e, false);
                }
                if let Some(e) = constrain {
                    check(e, true);
                }
            }
            Op::Branch { condition, .. }
            | Op::Assume { condition, .. }
            | Op::Assert { condition, .. } => check(condition, false),
            Op::Call {
                callee,
                args,
                targets,
                constrain,
                ..
            } => {
                let callee = program.procedure(*callee);
                assert_eq!(args.len(), callee.params as usize);
                assert!(targets.is_empty() || targets.len() == callee.results.len());
                distinct(targets.iter().flatten().copied().collect());
                for e in args {
                    check(e, false);
                }
                if let Some(e) = constrain {
                    check(e, true);
                }
            }
            Op::Return(values) => {
                let results = &program.procedure(node.procedure).results;
                assert_eq!(values.len(), results.len());
                for e in values {
                    check(e, false);
                }
            }
            Op::Stuck
            | Op::StartThread { .. }
            | Op::EndThread
            | Op::AtomicBegin(_)
            | Op::AtomicEnd(_) => {}
        }
        if let Some(ensure) = &node.ensure {
            check(ensure, false);
            assert!(!matches!(
                node.op,
                Op::Return(_) | Op::Stuck | Op::EndThread
            ));
        }
    }
}

/// Operands come first, and each node but the root is used exactly once.
fn check_expr(program: &Program, locals: u32, expr: &Expr, next_allowed: bool) {
    let mut open: Vec<u32> = Vec::new();
    for (i, node) in expr.nodes.iter().enumerate() {
        let (left, right) = match node {
            ExprNode::Not(a) | ExprNode::BitNot(a) | ExprNode::Neg(a) => (None, Some(*a)),
            ExprNode::Binary(_, a, b) | ExprNode::Schoose(a, b) => (Some(*a), Some(*b)),
            ExprNode::Var(var) | ExprNode::Next(var) => {
                assert!(next_allowed || matches!(node, ExprNode::Var(_)));
                match *var {
                    VarRef::Global(g) => assert!((g as usize) < program.globals.len()),
                    VarRef::Local(l) => assert!(l < locals),
                }
                (None, None)
            }
            ExprNode::Const(_) | ExprNode::Nondet(_) => (None, None),
            ExprNode::At(_) => panic!("`at` in a program"),
        };
        for operand in [right, left].into_iter().flatten() {
            assert_eq!(open.pop(), Some(operand));
        }
        open.push(i as u32);
    }
    assert_eq!(open.len(), 1);
}

/// The messages of a program, errors first; `lower` gives a program if there are no errors.
fn messages(text: &str) -> Vec<String> {
    let (program, diagnostics) = run(text);
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    assert_eq!(program.is_none(), errors > 0);
    diagnostics.into_iter().map(|d| d.message).collect()
}

fn show(program: &Program) -> String {
    let mut text = String::new();
    for (p, procedure) in program.procedures.iter().enumerate() {
        let _ = writeln!(text, "{}", procedure.name);
        let id = ProcId(p as u32);
        for (i, node) in program.nodes.iter().enumerate() {
            if node.procedure != id {
                continue;
            }
            let _ = write!(text, " {}", i as u32 - procedure.entry.0);
            for label in &node.labels {
                let _ = write!(text, " {label}");
            }
            let _ = write!(text, ": {}", show_op(program, id, &node.op));
            if let Some(ensure) = &node.ensure {
                let _ = write!(text, " ensure {}", expr_to_string(program, id, ensure));
            }
            text.push('\n');
        }
    }
    text
}

fn show_op(program: &Program, proc: ProcId, op: &Op) -> String {
    let entry = program.procedure(proc).entry.0;
    let node = |id: &NodeId| (id.0 - entry).to_string();
    let expr = |e: &Expr| expr_to_string(program, proc, e);
    let list = |es: &[Expr]| es.iter().map(expr).collect::<Vec<_>>().join(", ");
    let constrain = |c: &Option<Expr>| {
        c.as_ref()
            .map_or(String::new(), |c| format!(" constrain {}", expr(c)))
    };
    match op {
        Op::Goto(targets) => {
            let targets: Vec<String> = targets.iter().map(node).collect();
            format!("goto {}", targets.join(", "))
        }
        Op::Assign {
            assigns,
            discards,
            constrain: c,
            next,
        } => {
            let mut parts: Vec<String> = assigns
                .iter()
                .map(|(v, e)| format!("{} := {}", program.variable(proc, *v).name, expr(e)))
                .collect();
            parts.extend(discards.iter().map(|e| format!("_ := {}", expr(e))));
            format!("{}{} -> {}", parts.join("; "), constrain(c), node(next))
        }
        Op::Branch { condition, yes, no } => {
            format!("if {} -> {} else {}", expr(condition), node(yes), node(no))
        }
        Op::Assume { condition, next } => format!("assume {} -> {}", expr(condition), node(next)),
        Op::Assert { condition, next } => format!("assert {} -> {}", expr(condition), node(next)),
        Op::Call {
            callee,
            args,
            targets,
            constrain: c,
            next,
        } => {
            let targets: Vec<&str> = targets
                .iter()
                .map(|t| t.map_or("_", |v| &*program.variable(proc, v).name))
                .collect();
            format!(
                "[{}] := {}({}){} -> {}",
                targets.join(", "),
                program.procedure(*callee).name,
                list(args),
                constrain(c),
                node(next)
            )
        }
        Op::Return(values) => format!("return {}", list(values)).trim_end().to_owned(),
        Op::Stuck => "stuck".to_owned(),
        Op::StartThread { start, next } => format!("start {} -> {}", node(start), node(next)),
        Op::EndThread => "end_thread".to_owned(),
        Op::AtomicBegin(next) => format!("atomic_begin -> {}", node(next)),
        Op::AtomicEnd(next) => format!("atomic_end -> {}", node(next)),
    }
}

/// `body` in a procedure `main` with Booleans `g`, `h`, integers `n : u8`, `r : int[2..5]`, becomes
/// these nodes (lines are trimmed).
fn check_body(body: &str, expected: &str) {
    let text = format!(
        "decl g, h; decl n : u8; decl r : int[2..5]; decl w : u64; decl v : s64;
         void main() begin {body} end
         void f() begin end
         bool two(p, q : u8) begin return p; end
         bool<2> pair() begin return T, F; end
         u8 num(k : int[0..3]) begin return k; end"
    );
    let shown = show(&program(&text));
    let main: Vec<&str> = shown
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .map(str::trim)
        .collect();
    let expected: Vec<&str> = expected
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    assert_eq!(main, expected, "{body}");
}

/// The messages for `body` in the procedure of [`check_body`].
fn body_messages(body: &str) -> Vec<String> {
    messages(&format!(
        "decl g, h; decl n : u8; decl r : int[2..5]; decl w : u64; decl v : s64;
         void main() begin {body} end
         void f() begin end
         bool two(p, q : u8) begin return p; end
         bool<2> pair() begin return T, F; end
         u8 num(k : int[0..3]) begin return k; end"
    ))
}
