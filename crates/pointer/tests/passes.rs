//! Passes over small methods written by hand, and a run of one.

use std::collections::BTreeSet;

use droste_pointer::interpret::{Heap, Interpreter, Outcome, Value as Held};
use droste_pointer::{
    Class, ClassId, Condition, FieldId, Kind, Liveness, Local, LocalId, Method, MethodId, Operand,
    Pc, PointerProgram, Statement, Value, simplify,
};

const HEAD: LocalId = LocalId(0);
const CURRENT: LocalId = LocalId(1);
const TEMPORARY: LocalId = LocalId(2);
const NEXT: FieldId = FieldId(0);

fn copy(to: LocalId, from: LocalId) -> Statement {
    let value = Value::Operand(Operand::Local(from));
    Statement::Assign { to, value }
}

fn branch(left: Operand, right: Operand, yes: Pc, no: Pc) -> Statement {
    let condition = Condition {
        left,
        right,
        equal: true,
    };
    Statement::Branch { condition, yes, no }
}

/// A program with one method, `List m(List)`.
fn program(code: Vec<Statement>) -> PointerProgram {
    let name = |name: &str| Local {
        name: name.to_string(),
        kind: Kind::Reference,
    };
    let method = Method {
        class: ClassId(0),
        name: "m".to_string(),
        signature: "<List: List m(List)>".to_string(),
        is_static: true,
        parameters: vec![Kind::Reference],
        returns: Some(Kind::Reference),
        locals: vec![name("head"), name("current"), name("$s2")],
        lines: vec![1; code.len()],
        passed_by: Vec::new(),
        code,
        file: 0,
    };
    PointerProgram {
        classes: vec![Class {
            name: "List".to_string(),
            parent: None,
            is_open: false,
            is_library: false,
            fields: vec![(NEXT, Kind::Reference)],
            unused: Vec::new(),
        }],
        fields: vec!["next".to_string()],
        methods: vec![method],
        files: vec!["List.java".to_string()],
        entry: MethodId(0),
        of_null: None,
    }
}

/// Walks to the end of a list.
fn walk() -> PointerProgram {
    program(vec![
        Statement::Assign {
            to: HEAD,
            value: Value::Parameter(0),
        },
        copy(CURRENT, HEAD),
        Statement::Assign {
            to: TEMPORARY,
            value: Value::Field(CURRENT, NEXT),
        },
        branch(Operand::Local(TEMPORARY), Operand::Null, 6, 4),
        copy(CURRENT, TEMPORARY),
        Statement::Goto(2),
        Statement::Return(Some(Operand::Local(CURRENT))),
    ])
}

fn list(program: &PointerProgram, length: usize) -> (Heap, Held) {
    let mut heap = Heap::default();
    let mut first = Held::Null;
    for _ in 0..length {
        let object = heap.allocate(program, ClassId(0));
        heap.set_field(object, NEXT, first);
        first = Held::Object(object);
    }
    (heap, first)
}

#[test]
fn live_variables_are_those_that_are_read_later() {
    let program = walk();
    let liveness = Liveness::new(&program.methods[0]);
    let after = |pc: Pc| liveness.after(pc).iter().collect::<Vec<_>>();
    assert_eq!(after(0), [HEAD]);
    assert_eq!(after(1), [CURRENT]);
    assert_eq!(after(2), [CURRENT, TEMPORARY]);
    assert_eq!(after(3), [CURRENT, TEMPORARY]);
    assert_eq!(after(4), [CURRENT]);
    assert_eq!(after(6), []);
}

#[test]
fn a_walk_ends_at_the_last_object() {
    let program = walk();
    for length in 0..5 {
        let (heap, first) = list(&program, length);
        let mut run = Interpreter::new(&program, heap, Held::Undefined, vec![first]);
        let mut visited = 0;
        let outcome = run.run(
            1000,
            |_| unreachable!("nothing is unknown"),
            |_| visited += 1,
        );
        if length == 0 {
            assert_eq!((outcome, visited), (Outcome::NullDereference, 3));
        } else {
            // The first object is the last that was made, and the last the first.
            let last = Held::Object(droste_pointer::interpret::ObjectId(0));
            assert_eq!(
                (outcome, visited),
                (Outcome::Returned(Some(last)), 4 * length + 1)
            );
        }
    }
}

#[test]
fn circles_meet_the_limit() {
    let program = walk();
    let (mut heap, first) = list(&program, 1);
    let Held::Object(object) = first else {
        unreachable!()
    };
    heap.set_field(object, NEXT, first);
    let mut run = Interpreter::new(&program, heap, Held::Undefined, vec![first]);
    assert_eq!(run.run(1000, |_| 0, |_| ()), Outcome::StepLimit);
}

#[test]
fn loops_keep_their_variables() {
    let mut program = walk();
    let before = program.clone();
    simplify(&mut program, &BTreeSet::new());
    assert_eq!(program, before);
}

#[test]
fn what_nobody_needs_goes() {
    let code = vec![
        Statement::Assign {
            to: HEAD,
            value: Value::Parameter(0),
        },
        copy(CURRENT, HEAD),
        Statement::Nop,
        branch(Operand::Null, Operand::Null, 5, 4),
        Statement::Throw {
            value: Operand::Unknown,
            handlers: Vec::new(),
            escapes: true,
        },
        Statement::Goto(6),
        Statement::Return(Some(Operand::Local(CURRENT))),
    ];
    let mut short = program(code.clone());
    simplify(&mut short, &BTreeSet::new());
    let text = short.print_method(MethodId(0));
    assert!(
        text.ends_with("   0     1  head = @parameter0\n   1     1  return head\n"),
        "{text}"
    );
    assert_eq!(short.methods[0].locals.len(), 1);
    let mut kept = program(code);
    simplify(&mut kept, &BTreeSet::from(["current".to_string()]));
    assert_eq!(kept.methods[0].code.len(), 3);
    assert_eq!(kept.methods[0].local_named("current"), Some(LocalId(1)));
}

#[test]
fn a_dereference_stays_for_its_error() {
    let mut program = program(vec![
        Statement::Assign {
            to: HEAD,
            value: Value::Parameter(0),
        },
        Statement::Assign {
            to: TEMPORARY,
            value: Value::Field(HEAD, NEXT),
        },
        Statement::Return(Some(Operand::Null)),
    ]);
    simplify(&mut program, &BTreeSet::new());
    assert_eq!(program.methods[0].code.len(), 3);
}

#[test]
fn a_circle_of_jumps_stays() {
    let mut program = program(vec![
        Statement::Assign {
            to: HEAD,
            value: Value::Parameter(0),
        },
        Statement::Goto(2),
        Statement::Goto(1),
    ]);
    simplify(&mut program, &BTreeSet::new());
    let mut run = Interpreter::new(&program, Heap::default(), Held::Undefined, vec![Held::Null]);
    assert_eq!(run.run(100, |_| 0, |_| ()), Outcome::StepLimit);
}
