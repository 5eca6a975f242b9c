//! Every form of statement, threads, typing, and deep input.

use super::*;
use droste_program::{Threads, Type};

#[test]
fn simple_statements() {
    check_body(
        "skip; goto L; L: M: skip",
        "0: goto 1\n1: goto 2\n2 L M: goto 3\n3: return",
    );
    check_body("", "0: return");
    check_body(
        "L: goto L, L, K; K: skip;",
        "0 L: goto 0, 1\n1 K: goto 2\n2: return",
    );
    check_body("print(g, n, 3)", "0: goto 1\n1: return");
    check_body(
        "assert(g); assume(!h); abortif g & h",
        "0: assert g -> 1\n1: assume !h -> 2\n2: assert !(g & h) -> 3\n3: return",
    );
    check_body(
        "decl a, b; dead a, g; decl a;",
        "0: a := *; g := * -> 1\n1: a := * -> 2\n2: return",
    );
    check_body(
        "atomic_begin; atomic_end; end_thread",
        "0: atomic_begin -> 1\n1: atomic_end -> 2\n2: end_thread\n3: return",
    );
}

#[test]
fn assignments() {
    check_body("g, h := h, g", "0: g := h; h := g -> 1\n1: return");
    check_body("g, _ := *, 1/n", "0: g := *; _ := 1 / n -> 1\n1: return");
    check_body("n, r := *, n + 1", "0: n := *; r := n + 1 -> 1\n1: return");
    check_body(
        "g := * constrain 'g | h",
        "0: g := * constrain 'g | h -> 1\n1: return",
    );
    check_body(
        "decl a; constrain('g = a)",
        "0: g := *; h := *; n := *; r := *; w := *; v := *; a := * constrain 'g = a -> 1
         1: return",
    );
}

#[test]
fn star_takes_the_type_of_its_target() {
    let program =
        program("decl n : u8; void main() begin n := *; f(*, *); end void f(a : s3, b) begin end");
    let Op::Assign { assigns, .. } = &program.nodes[0].op else {
        panic!()
    };
    let u8 = Type::Bits {
        signed: false,
        width: 8,
    };
    assert_eq!(assigns[0].1.nodes, [ExprNode::Nondet(u8)]);
    let Op::Call { args, .. } = &program.nodes[1].op else {
        panic!()
    };
    assert_eq!(
        args[0].nodes,
        [ExprNode::Nondet(Type::Bits {
            signed: true,
            width: 3
        })]
    );
    assert_eq!(args[1].nodes, [ExprNode::Nondet(Type::Bool)]);
}

#[test]
fn calls_and_returns() {
    check_body(
        "f(); g := two(h, n + 1); two(T, 300 - n); g, _ := pair() constrain 'g; return",
        "0: [] := f() -> 1
         1: [g] := two(h, n + 1) -> 2
         2: [] := two(1, 300 - n) -> 3
         3: [g, _] := pair() constrain 'g -> 4
         4: return
         5: return",
    );
    let shown = show(&program(
        "void main() begin end bool, u8 f(a) begin return !a, 7; end",
    ));
    assert!(
        shown.contains("f\n 0: return !a, 7\n 1: stuck\n"),
        "{shown}"
    );
}

#[test]
fn conditionals() {
    check_body(
        "if (g) then skip; fi",
        "0: if g -> 1 else 2\n1: goto 2\n2: return",
    );
    check_body(
        "if (g) then else h := T; fi; skip",
        "0: if g -> 2 else 1\n1: h := 1 -> 2\n2: goto 3\n3: return",
    );
    check_body(
        "L: if (g) then skip; elsif (h) then elsif (n = 3) then K: g := F; else h := F; fi; skip",
        "0 L: if g -> 1 else 2
         1: goto 6
         2: if h -> 6 else 3
         3: if n = 3 -> 4 else 5
         4 K: g := 0 -> 6
         5: h := 0 -> 6
         6: goto 7
         7: return",
    );
    check_body(
        "if (g) then if (h) then skip fi fi",
        "0: if g -> 1 else 3\n1: if h -> 2 else 3\n2: goto 3\n3: return",
    );
}

#[test]
fn loops() {
    check_body(
        "while (*) do od; skip",
        "0: if * -> 0 else 1\n1: goto 2\n2: return",
    );
    check_body(
        "while (g) do while (h) do g := *; od if (h) then skip fi od",
        "0: if g -> 1 else 5
         1: if h -> 2 else 3
         2: g := * -> 1
         3: if h -> 4 else 0
         4: goto 0
         5: return",
    );
}

#[test]
fn enforce_holds_after_every_later_statement_of_its_block() {
    check_body(
        "skip;
         if (*) then
           g := h; enforce g | h; h := *; f(); goto L;
           while (h) do enforce n > 0; n := *; od
           L: assert(h); return;
         fi;
         g := F",
        "0: goto 1
         1: if * -> 2 else 12
         2: g := h -> 3
         3: assume g | h -> 4
         4: h := * -> 5 ensure g | h
         5: [] := f() -> 6 ensure g | h
         6: goto 10 ensure g | h
         7: if h -> 8 else 10 ensure g | h
         8: assume n > 0 -> 9 ensure g | h
         9: n := * -> 7 ensure (g | h) & (n > 0)
         10 L: assert h -> 11 ensure g | h
         11: return
         12: g := 0 -> 13
         13: return",
    );
    check_body(
        "enforce T; g := F",
        "0: assume 1 -> 1\n1: g := 0 -> 2\n2: return",
    );
}

#[test]
fn started_threads() {
    check_body(
        "start_thread f(); start_thread goto L; ASYNC_1: f(); L: skip",
        "0: start 1 -> 3
         1: [] := f() -> 2
         2: end_thread
         3: start 7 -> 4
         4 ASYNC_1: start 5 -> 7
         5: [] := f() -> 6
         6: end_thread
         7 L: goto 8
         8: return",
    );
    check_body(
        "start_thread if (g) then skip; else h := T; fi; M: start_thread goto M, K; K: skip",
        "0: start 1 -> 5
         1: if g -> 2 else 3
         2: goto 4
         3: h := 1 -> 4
         4: end_thread
         5 M: start 6 -> 8
         6: goto 5, 8
         7: end_thread
         8 K: goto 9
         9: return",
    );
    assert!(program("void main() begin start_thread skip; end").is_concurrent());
}

#[test]
fn init_and_threads_of_getafix() {
    let program = program(
        "decl x;
         void thread1() begin x := T; end
         void init() begin x := F; endinit: skip; end
         void thread2() begin helper(); end
         void helper() begin end",
    );
    assert_eq!(program.main, ProcId(1));
    let Threads::Init { end_init, threads } = &program.threads else {
        panic!()
    };
    assert_eq!(&*program.node(*end_init).labels[0], "endinit");
    assert_eq!(threads, &[ProcId(0), ProcId(2)]);
}

#[test]
fn sections_see_their_own_names_first() {
    let program = program(
        "decl x, y;
         thread A begin decl x; void main() begin x := y; help(); end void help() begin end end
         thread B begin void main() begin x := y; help(); end end
         void help() begin x := F; end",
    );
    let Threads::Sections(sections) = &program.threads else {
        panic!()
    };
    assert_eq!(sections.len(), 2);
    assert_eq!(&*sections[1].0, "B");
    assert_eq!(program.main, sections[0].1);
    let names: Vec<&str> = program.procedures.iter().map(|p| &*p.name).collect();
    assert_eq!(names, ["A::main", "A::help", "B::main", "help"]);
    let assigned = |p: u32| match &program.node(program.procedure(ProcId(p)).entry).op {
        Op::Assign { assigns, .. } => assigns[0].0,
        _ => panic!(),
    };
    assert_eq!(assigned(0), VarRef::Global(2));
    assert_eq!(assigned(2), VarRef::Global(0));
    assert_eq!(program.globals[2].thread, Some(0));
    let callee = |node: u32| match program.node(NodeId(node)).op {
        Op::Call { callee, .. } => callee,
        _ => panic!(),
    };
    assert_eq!(callee(1), ProcId(1));
    let main_b = program.procedure(ProcId(2)).entry.0;
    assert_eq!(callee(main_b + 1), ProcId(3));
}

/// Declarations at the beginning need no node; others are silent, unless they have a label.
#[test]
fn declarations() {
    let silent = |body: &str| -> Vec<bool> {
        let text = format!("void main() begin {body} end");
        program(&text)
            .nodes
            .iter()
            .map(|node| node.silent)
            .collect()
    };
    assert_eq!(silent("decl x; decl y;"), [false]);
    assert_eq!(silent("decl x; skip; decl y;"), [false, true, false]);
    assert_eq!(silent("L: decl x; decl y;"), [false, true, false]);
    assert_eq!(silent("while (*) do decl x; od"), [false, true, false]);
    assert_eq!(silent("skip; L: decl x;"), [false, false, false]);
}

#[test]
fn locals_come_before_parameters_and_globals() {
    let program = program(
        "decl x : u8; void main() begin end void f(y : u8) begin decl x; decl y; x := y; end",
    );
    let f = &program.procedures[1];
    assert_eq!(f.params, 1);
    assert_eq!(f.locals.len(), 3);
    let Op::Assign { assigns, .. } = &program.node(f.entry).op else {
        panic!()
    };
    assert_eq!(assigns[0], (VarRef::Local(1), Expr::var(VarRef::Local(2))));
}

#[test]
fn literals_take_the_kind_of_their_place() {
    // ~0 is -1 as an integer, !0 is 1 as a Boolean.
    let node = |body: &str| {
        let text = format!("decl g; decl n : s8; void main() begin {body}; end");
        let program = program(&text);
        match &program.nodes[0].op {
            Op::Assign { assigns, .. } => assigns[0].1.nodes.clone(),
            Op::Assume { condition, .. } => condition.nodes.clone(),
            op => panic!("{op:?}"),
        }
    };
    assert!(matches!(node("n := ~0")[..], [_, ExprNode::BitNot(0)]));
    assert!(matches!(node("g := !0")[..], [_, ExprNode::Not(0)]));
    assert!(matches!(node("assume(!0)")[..], [_, ExprNode::Not(0)]));
    assert!(matches!(node("assume((!0) = 1)")[1], ExprNode::Not(0)));
    assert!(matches!(node("assume((!0) = n)")[1], ExprNode::BitNot(0)));
    assert!(matches!(
        node("n := 1 & (0 | 1)").last(),
        Some(ExprNode::Binary(droste_program::Operator::BitAnd, ..))
    ));
    assert!(matches!(
        node("g := 1 & (0 | 1)").last(),
        Some(ExprNode::Binary(droste_program::Operator::And, ..))
    ));
}

#[test]
fn deep_nesting_needs_no_native_stack() {
    let depth = 100_000;
    let blocks =
        "if (*) then while (g) do ".repeat(depth / 2) + "skip " + &"od fi ".repeat(depth / 2);
    let text = format!("decl g; void main() begin {blocks} end");
    assert_eq!(program(&text).nodes.len(), depth + 2);

    let operators = 1_000_000;
    let chain = "g & ".repeat(operators) + "g";
    let nots = "!".repeat(operators) + "g";
    let nested = "(g | ".repeat(100_000) + "g" + &")".repeat(100_000);
    let text =
        format!("decl g; void main() begin assert({chain}); assume({nots}); assume({nested}); end");
    let program = program(&text);
    let Op::Assert { condition, .. } = &program.nodes[0].op else {
        panic!()
    };
    assert_eq!(condition.nodes.len(), 2 * operators + 1);
    assert_eq!(expr_to_string(&program, ProcId(0), condition), chain);
    let Op::Assume { condition, .. } = &program.nodes[1].op else {
        panic!()
    };
    assert_eq!(expr_to_string(&program, ProcId(0), condition), nots);
}

#[test]
fn threads_within_threads_nest_deeply() {
    let text = format!(
        "void main() begin {} skip; end",
        "start_thread ".repeat(50_000)
    );
    assert_eq!(program(&text).nodes.len(), 2 * 50_000 + 2);
}
