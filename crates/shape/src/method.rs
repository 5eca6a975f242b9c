//! What is known of a method before it runs: its variables, which of them are live where, and where heaps
//! are abstracted and garbage is collected.

use droste_heap::Variable;
use droste_pointer::{Liveness, MethodId, Pc, PointerProgram, Statement, Value};

use crate::settings::Abstraction;

/// What is known of a method before it runs.
pub(crate) struct Method {
    /// The variable of each local.
    pub(crate) locals: Vec<Variable>,
    /// The same, sorted.
    pub(crate) sorted: Vec<Variable>,
    /// Before each statement: the variables that are live, sorted.
    pub(crate) live: Vec<Vec<Variable>>,
    /// Before each statement, and at the end: whether heaps are abstracted there. They are where
    /// ways meet, before calls and returns, and at the end.
    pub(crate) abstracts: Vec<bool>,
    /// Whether garbage is collected there.
    pub(crate) collects: Vec<bool>,
    /// Whether somebody may catch what leaves the method.
    pub(crate) is_guarded: bool,
}

/// For each method whether somebody may catch what leaves it: a caller, or a caller of that.
pub(crate) fn guarded(program: &PointerProgram) -> Vec<bool> {
    let mut guarded = vec![false; program.methods.len()];
    let mut waiting: Vec<usize> = Vec::new();
    let calls = |method: &droste_pointer::Method, only_caught: bool| -> Vec<usize> {
        let mut called = Vec::new();
        for (pc, statement) in method.code.iter().enumerate() {
            let Statement::Call { callees, .. } = statement else {
                continue;
            };
            let (handlers, escapes) = statement.handlers(method.code.get(pc + 1));
            if if only_caught {
                !handlers.is_empty()
            } else {
                escapes
            } {
                called.extend(callees.methods().map(MethodId::index));
            }
        }
        called
    };
    let mut note = |called: Vec<usize>, waiting: &mut Vec<usize>| {
        for one in called {
            if !std::mem::replace(&mut guarded[one], true) {
                waiting.push(one);
            }
        }
    };
    for method in &program.methods {
        note(calls(method, true), &mut waiting);
    }
    while let Some(method) = waiting.pop() {
        note(calls(&program.methods[method], false), &mut waiting);
    }
    guarded
}

impl Method {
    /// The tables of a method whose locals are these variables.
    pub(crate) fn new(
        method: &droste_pointer::Method,
        locals: Vec<Variable>,
        abstraction: &Abstraction,
        is_guarded: bool,
    ) -> Self {
        let mut sorted = locals.clone();
        sorted.sort_unstable();
        let liveness = Liveness::new(method);
        let live = (0..method.code.len() as Pc)
            .map(|pc| {
                let live = liveness.before(pc).iter();
                let mut live: Vec<Variable> = live.map(|local| locals[local.index()]).collect();
                live.sort_unstable();
                live
            })
            .collect();
        let length = method.code.len();
        let mut ways = vec![0u32; length + 1];
        ways[0] = 1;
        for (statement, pc) in method.code.iter().zip(0..) {
            statement.successors(pc, |next| ways[next as usize] += 1);
        }
        let abstracts = (0..=length).map(|pc| {
            let statement = method.code.get(pc);
            let kind = matches!(
                statement,
                None | Some(Statement::Call { .. } | Statement::Return(_))
            );
            kind || ways[pc] > 1 || abstraction.no_chain
        });
        let collects = (0..=length).map(|pc| {
            abstraction.garbage_collection
                && match method.code.get(pc) {
                    None => true,
                    Some(Statement::Assign { value, .. }) => {
                        !matches!(value, Value::This | Value::Parameter(_))
                    }
                    Some(statement) => matches!(
                        statement,
                        Statement::Store { .. } | Statement::Call { .. } | Statement::Return(_)
                    ),
                }
        });
        Method {
            abstracts: abstracts.collect(),
            collects: collects.collect(),
            locals,
            sorted,
            live,
            is_guarded,
        }
    }
}
