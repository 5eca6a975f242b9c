//! What the program's own methods do when code that is not at hand runs them.
//!
//! A library runs methods of objects that it is given: `toString`, `compareTo`, `run`, whatever the
//! types it knows declare. A method is *quiet* if nobody can see that it ran: it writes no field but
//! of objects that it has made itself, and it uses no field of what may be null. That is a summary over
//! the call graph. What a library hands over is taken not to be null, as everywhere.

use droste_pointer::{
    Callees, ClassId, Condition, LocalId, Method, MethodId, Operand, Pc, Statement, Value,
};

use rustc_hash::FxHashMap;

use crate::hierarchy::{Hierarchy, MethodIndex};

/// Methods of every object that a library knows.
const OF_OBJECTS: [&str; 3] = ["toString", "equals", "hashCode"];

/// The methods that code that is not at hand may run, each with the class of the object.
pub(crate) fn callbacks(hierarchy: &Hierarchy) -> Vec<(usize, MethodIndex)> {
    let mut found = Vec::new();
    for class in (0..hierarchy.classes.len()).filter(|&at| !hierarchy.classes[at].is_abstract) {
        let above = hierarchy.supertypes(class);
        // A type of which nothing is known may declare any method.
        let open = |name: &String| name != "java.lang.Object" && hierarchy.find(name).is_none();
        let open = above.iter().any(open);
        let mut own = Vec::new();
        for at in above.iter().filter_map(|name| hierarchy.find(name)) {
            for (method, number) in hierarchy.classes[at].methods.iter().zip(0..) {
                let known = open || OF_OBJECTS.contains(&method.name.as_str());
                if method.is_static || method.is_private || method.name.starts_with('<') || !known {
                    continue;
                }
                let key = (method.name.clone(), method.descriptor.clone());
                let runs = hierarchy.select(class, Some((at, number)), &key);
                if let Some(runs) = runs
                    && hierarchy.method(runs).has_code
                    && !own.contains(&runs)
                {
                    own.push(runs);
                }
            }
        }
        found.extend(own.into_iter().map(|method| (class, method)));
    }
    found
}

/// What is not quiet.
pub(crate) struct Loud {
    /// For each method whether it is not.
    pub methods: Vec<bool>,
    /// The classes with methods that are run by a library and not quiet, each with one of them. Sorted.
    pub classes: Vec<(ClassId, String)>,
}

/// Which methods are not quiet. `called` are those that are run by a library, each with the class of
/// the object.
pub(crate) fn loud(methods: &[Method], called: &[(ClassId, MethodId)], broken: &[bool]) -> Loud {
    let given = arguments(methods);
    let starts = initialisers(methods);
    let is_start = |runs: &[(ClassId, String)]| {
        !runs.is_empty()
            && runs
                .iter()
                .all(|(_, one)| starts.contains_key(one.as_str()))
    };
    let mut loud: Vec<bool> = (methods.iter().zip(&given).zip(broken))
        .map(|((method, given), &broken)| broken || acts(method, given, &is_start))
        .collect();
    spread(methods, &mut loud);
    let hands = |one: &Statement| matches!(one, Statement::Hand { runs, .. } if !is_start(runs));
    let hands = methods.iter().map(|method| method.code.iter().any(hands));
    let mut hands: Vec<bool> = hands.collect();
    spread(methods, &mut hands);
    let mut found: Vec<(ClassId, String)> = Vec::new();
    loop {
        let before = found.len();
        for (class, method) in called {
            if loud[method.index()] && found.iter().all(|one| one.0 != *class) {
                found.push((*class, methods[method.index()].signature.clone()));
            }
        }
        if found.len() == before {
            break;
        }
        // What a method gives to a library is run there. If it has not made it, it was there before,
        // and whoever called the library has given that away, too.
        let makes = |one: &Statement| match one {
            Statement::Assign {
                value: Value::New(class),
                ..
            } => found.iter().any(|(loud, _)| loud == class),
            // A static field may hold anything.
            Statement::Hand { objects, runs, .. } => objects.is_empty() && !is_start(runs),
            _ => false,
        };
        let makes = methods.iter().map(|method| method.code.iter().any(makes));
        let mut makes: Vec<bool> = makes.collect();
        spread(methods, &mut makes);
        for (loud, (hands, makes)) in loud.iter_mut().zip(hands.iter().zip(makes)) {
            *loud |= *hands && makes;
        }
        spread(methods, &mut loud);
    }
    found.sort_unstable();
    Loud {
        methods: loud,
        classes: found,
    }
}

/// The static initialisers among some methods.
fn initialisers(methods: &[Method]) -> FxHashMap<&str, usize> {
    let all = methods.iter().enumerate();
    let starts = all.filter(|(_, method)| method.name == "<clinit>");
    starts
        .map(|(at, method)| (method.signature.as_str(), at))
        .collect()
}

/// What goes for a method goes for those that call it, and what goes for an initialiser goes for those
/// that use its class.
fn spread(methods: &[Method], loud: &mut [bool]) {
    let starts = initialisers(methods);
    let mut changed = true;
    while changed {
        changed = false;
        for (at, method) in methods.iter().enumerate() {
            let calls = |statement: &Statement| match statement {
                Statement::Call { callees, .. } => callees.methods().any(|one| loud[one.index()]),
                Statement::Hand { runs, .. } => (runs.iter())
                    .filter_map(|(_, one)| starts.get(one.as_str()))
                    .any(|&start| loud[start]),
                _ => false,
            };
            if !loud[at] && method.code.iter().any(calls) {
                loud[at] = true;
                changed = true;
            }
        }
    }
}

/// Classes of which objects are made in these methods, or in methods that they call.
pub(crate) fn made(methods: &[Method], from: &[MethodId]) -> Vec<ClassId> {
    let mut seen = vec![false; methods.len()];
    let mut waiting = from.to_vec();
    let mut found = Vec::new();
    while let Some(method) = waiting.pop() {
        if std::mem::replace(&mut seen[method.index()], true) {
            continue;
        }
        for statement in &methods[method.index()].code {
            match statement {
                Statement::Call { callees, .. } => waiting.extend(callees.methods()),
                Statement::Assign {
                    value: Value::New(class),
                    ..
                } => found.push(*class),
                _ => {}
            }
        }
    }
    found
}

/// For each method which of its parameters are never null: a library passes no null, and so it depends
/// on the calls.
fn arguments(methods: &[Method]) -> Vec<Vec<bool>> {
    let all = methods.iter();
    let mut given: Vec<Vec<bool>> = all.map(|one| vec![true; one.parameters.len()]).collect();
    let mut waiting: Vec<usize> = (0..methods.len()).collect();
    while let Some(at) = waiting.pop() {
        let known = non_null(&methods[at], &given[at], false);
        for (statement, known) in methods[at].code.iter().zip(known) {
            let (
                Statement::Call {
                    arguments, callees, ..
                },
                Some(known),
            ) = (statement, known)
            else {
                continue;
            };
            let there = |one: &Operand| match *one {
                Operand::Local(local) => known[local.index()],
                Operand::Present | Operand::Int(_) => true,
                Operand::Null | Operand::Unknown => false,
            };
            for callee in callees.methods().map(MethodId::index) {
                let mut changed = false;
                for (given, one) in given[callee].iter_mut().zip(arguments) {
                    changed |= *given && !there(one);
                    *given &= there(one);
                }
                if changed {
                    waiting.push(callee);
                }
            }
        }
    }
    given
}

/// For each statement whether it may use null.
pub(crate) fn may_use_null(method: &Method) -> Vec<bool> {
    let known = non_null(method, &vec![false; method.parameters.len()], false);
    let statements = method.code.iter().zip(known);
    let uses = statements.map(|(statement, known)| {
        let (Some(base), Some(known)) = (statement.base(), known) else {
            return false;
        };
        !known[base.index()]
    });
    uses.collect()
}

/// Whether a method itself writes a field that others see, or may use a field of null.
fn acts(method: &Method, given: &[bool], is_start: &impl Fn(&[(ClassId, String)]) -> bool) -> bool {
    let own = own_objects(method);
    let known = non_null(method, given, false);
    let trusted = non_null(method, given, true);
    let all = method.code.iter().zip(known.iter().zip(&trusted));
    let mut all = all.map(|(statement, (known, trusted))| match statement {
        // An array or an object of a library is taken to be there.
        Statement::Require(_)
        | Statement::Call {
            callees: Callees::Unavailable(_),
            ..
        } => (statement, trusted),
        _ => (statement, known),
    });
    all.any(|(statement, known)| {
        // What cannot be reached does nothing.
        let Some(known) = known else { return false };
        let writes = match statement {
            Statement::Store { base, .. } => !own[base.index()],
            // Reflection: it is not said what happens.
            Statement::Hand { objects, runs, .. } => {
                objects.is_empty() && !runs.is_empty() && !is_start(runs)
            }
            _ => false,
        };
        writes || statement.base().is_some_and(|base| !known[base.index()])
    })
}

/// The variables that hold nothing but objects which the method has made itself: in a constructor
/// `this`, too.
fn own_objects(method: &Method) -> Vec<bool> {
    let mut own = vec![true; method.locals.len()];
    for statement in &method.code {
        let made = match statement {
            Statement::Assign { value, .. } => match value {
                Value::New(_) => true,
                Value::This => method.name == "<init>",
                _ => false,
            },
            _ => false,
        };
        if let Some(to) = statement.defines() {
            own[to.index()] &= made;
        }
    }
    own
}

/// For each statement that can be reached the variables that are not null before it; with `trusting`
/// also those of which nothing is known.
fn non_null(method: &Method, given: &[bool], trusting: bool) -> Vec<Option<Vec<bool>>> {
    let mut before: Vec<Option<Vec<bool>>> = vec![None; method.code.len()];
    if before.is_empty() {
        return before;
    }
    before[0] = Some(vec![false; method.locals.len()]);
    let mut waiting: Vec<Pc> = vec![0];
    while let Some(pc) = waiting.pop() {
        let Some(mut state) = before[pc as usize].clone() else {
            continue;
        };
        let statement = &method.code[pc as usize];
        // Where null is caught, the object is there only if it was not.
        let caught = matches!(
            method.code.get(pc as usize + 1),
            Some(Statement::Caught { .. })
        );
        if let Some(base) = statement.base().filter(|_| !caught) {
            state[base.index()] = true;
        }
        match statement {
            Statement::Assign { to, value } => {
                state[to.index()] = match *value {
                    Value::Operand(Operand::Local(from)) => state[from.index()],
                    Value::Operand(Operand::Present | Operand::Int(_))
                    | Value::New(_)
                    | Value::IsInstance(..)
                    | Value::Fits { .. }
                    | Value::This
                    | Value::Exception => true,
                    Value::Operand(Operand::Unknown) => trusting,
                    Value::Operand(_) | Value::Field(..) => false,
                    Value::Parameter(at) => given.get(at as usize).copied().unwrap_or(false),
                };
            }
            Statement::Call {
                to: Some(to),
                callees,
                ..
            } => state[to.index()] = matches!(callees, Callees::Unavailable(_)),
            _ => {}
        }
        let mut arrive = |next: Pc, state: &[bool]| match &mut before[next as usize] {
            entry @ None => {
                *entry = Some(state.to_vec());
                waiting.push(next);
            }
            Some(entry) => {
                let mut changed = false;
                for (old, &new) in entry.iter_mut().zip(state) {
                    changed |= *old && !new;
                    *old &= new;
                }
                if changed {
                    waiting.push(next);
                }
            }
        };
        if let Statement::Caught { handlers, .. } = statement {
            for handler in handlers {
                arrive(handler.target, &state);
            }
            let before = pc
                .checked_sub(1)
                .map(|before| &method.code[before as usize]);
            let base = before.filter(|one| one.defines() != one.base());
            if let Some(base) = base.and_then(Statement::base) {
                state[base.index()] = true;
            }
            arrive(pc + 1, &state);
            continue;
        }
        if let Statement::Branch { condition, yes, no } = statement
            && let Some((local, null_if_yes)) = asks_for_null(condition)
        {
            let there = if null_if_yes { *no } else { *yes };
            let other = if null_if_yes { *yes } else { *no };
            arrive(other, &state);
            state[local.index()] = true;
            arrive(there, &state);
            continue;
        }
        statement.successors(pc, |next| arrive(next, &state));
    }
    before
}

/// The variable that is compared with null, and whether it is null if the condition holds.
fn asks_for_null(condition: &Condition) -> Option<(LocalId, bool)> {
    match (condition.left, condition.right) {
        (Operand::Local(local), Operand::Null) | (Operand::Null, Operand::Local(local)) => {
            Some((local, condition.equal))
        }
        _ => None,
    }
}
