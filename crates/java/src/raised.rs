//! What may leave a method by an exception, found by going through the translated methods until nothing
//! changes.

use droste_pointer::{
    Callees, ClassId, LocalId, Method, Operand, PointerProgram, Statement, Value,
};

use crate::effects::may_use_null;
use crate::exceptions;

/// Whether a method itself may throw an error on purpose: something of which it is not known that it
/// is none.
pub(crate) fn raises_error(program: &PointerProgram, method: &Method) -> bool {
    let is_error = |class: ClassId| {
        let class = program.class(class);
        let mut above = program.ancestors_of(class);
        class.is_open || above.any(|one| one.is_open || exceptions::is_error(&one.name))
    };
    let may_be = |local: LocalId| {
        method.code.iter().any(|one| match one {
            _ if one.defines() != Some(local) => false,
            Statement::Assign { value, .. } => match *value {
                Value::New(class) => is_error(class),
                // What is caught has been counted where it was raised.
                Value::Exception => false,
                _ => true,
            },
            _ => true,
        })
    };
    method.code.iter().any(|one| match one {
        Statement::Throw { value, .. } => match *value {
            Operand::Local(local) => may_be(local),
            Operand::Unknown => false,
            _ => true,
        },
        _ => false,
    })
}

/// Each statement that is followed by a handler: the method, where the handler is, and the statement.
pub(crate) fn guarded(methods: &[Method]) -> impl Iterator<Item = (usize, usize, &Statement)> {
    methods.iter().enumerate().flat_map(|(at, method)| {
        let pairs = method.code.windows(2).enumerate();
        pairs.filter_map(move |(pc, pair)| match pair {
            [statement, Statement::Caught { .. }] => Some((at, pc + 1, statement)),
            _ => None,
        })
    })
}

/// Whether anything catches what these methods raise.
pub(crate) fn catches(methods: &[Method], mut raises: Vec<bool>) -> bool {
    inherit(methods, &mut raises);
    guarded(methods).any(|(_, _, statement)| match statement {
        Statement::Call { callees, .. } => callees.methods().any(|one| raises[one.index()]),
        _ => false,
    })
}

/// Handlers stay only where an object may be null, where a called method throws, or where only a
/// contract may say what is thrown. A method throws where it uses null, too.
pub(crate) fn settle_handlers(methods: &mut [Method]) {
    let uses: Vec<Vec<bool>> = methods.iter().map(may_use_null).collect();
    let throws = throws(methods);
    let quiet = |statement: &Statement| match statement {
        Statement::Call { callees, .. } => {
            let unavailable = matches!(callees, Callees::Unavailable(_));
            !unavailable && !callees.methods().any(|one| throws[one.index()])
        }
        _ => true,
    };
    let idle = guarded(methods);
    let idle = idle.filter(|&(at, pc, statement)| quiet(statement) && !uses[at][pc - 1]);
    let idle: Vec<(usize, usize)> = idle.map(|(at, pc, _)| (at, pc)).collect();
    for (at, pc) in idle {
        methods[at].code[pc] = Statement::Nop;
    }
}

/// For each method whether an exception may leave it, also where null is used.
pub(crate) fn throws(methods: &[Method]) -> Vec<bool> {
    let throws = methods.iter().map(|method| {
        let escapes = |pc: usize| method.code[pc].handlers(method.code.get(pc + 1)).1;
        let uses = may_use_null(method).into_iter().enumerate();
        let mut uses = uses.filter(|&(_, uses)| uses);
        let leaves = |one: &Statement| matches!(one, Statement::Throw { escapes: true, .. });
        method.code.iter().any(leaves) || uses.any(|(pc, _)| escapes(pc))
    });
    let mut throws: Vec<bool> = throws.collect();
    inherit(methods, &mut throws);
    throws
}

/// A method may be left by an exception if one that it calls may, and nothing catches it on the
/// way.
pub(crate) fn inherit(methods: &[Method], left: &mut [bool]) {
    let mut changed = true;
    while changed {
        changed = false;
        for (at, method) in methods.iter().enumerate() {
            let mut pairs = method.code.windows(2);
            let inherits = |pair: &[Statement]| match pair {
                [
                    Statement::Call { .. },
                    Statement::Caught { escapes: false, .. },
                ] => false,
                [Statement::Call { callees, .. }, _] => {
                    callees.methods().any(|callee| left[callee.index()])
                }
                _ => false,
            };
            if !left[at] && pairs.any(inherits) {
                left[at] = true;
                changed = true;
            }
        }
    }
}
