//! What the program's own methods do when code that is not at hand runs them.
//!
//! A library runs methods of objects that it is given: `toString`, `compareTo`, `run`, whatever the
//! types it knows declare. A method is *quiet* if nobody can see that it ran: it writes no field but
//! of objects that it has made itself, and it uses no field of what may be null. That is a summary over
//! the call graph. A library makes no null of its own, but it passes on what it was given: so what it
//! hands over may be null if the program may give null to any library, see [`gives_null_away`].

use droste_pointer::{
    Callees, ClassId, Condition, Kind, LocalId, Method, MethodId, Operand, Pc, Statement, Value,
};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::hierarchy::{Hierarchy, MethodIndex};
use crate::library;

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
/// the object; with `null` it may give them null.
pub(crate) fn loud(
    methods: &[Method],
    called: &[(ClassId, MethodId)],
    broken: &[bool],
    null: bool,
) -> Loud {
    let outside = called.iter().filter(|_| null).map(|one| one.1);
    let outside: Vec<MethodId> = outside.collect();
    let known = Summaries::new(methods, &outside, false);
    let starts = initialisers(methods);
    let is_start = |runs: &[(ClassId, String)]| {
        !runs.is_empty()
            && runs
                .iter()
                .all(|(_, one)| starts.contains_key(one.as_str()))
    };
    let mut loud: Vec<bool> = (methods.iter().zip(broken).enumerate())
        .map(|(at, (method, &broken))| broken || acts(method, at, &known, &is_start))
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

/// What is known of all calls.
struct Summaries {
    /// For each method which of its parameters are never null.
    given: Vec<Vec<bool>>,
    /// For each method whether its result is never null.
    gives: Vec<bool>,
    /// Whether what a library gives back may be null.
    strict: bool,
}

impl Summaries {
    /// What these methods know of each other. Somebody else calls those `outside`, perhaps with null;
    /// but strings, boxes and arrays are taken to be there, as everywhere.
    fn new(methods: &[Method], outside: &[MethodId], strict: bool) -> Self {
        let given = methods.iter().map(|one| vec![true; one.parameters.len()]);
        let mut all = Summaries {
            given: given.collect(),
            gives: vec![true; methods.len()],
            strict,
        };
        let trusted: Vec<Vec<bool>> = methods.iter().map(trusted_parameters).collect();
        for one in outside {
            all.given[one.index()].clone_from(&trusted[one.index()]);
        }
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); methods.len()];
        for (at, method) in methods.iter().enumerate() {
            for statement in &method.code {
                if let Statement::Call { callees, .. } = statement {
                    callees
                        .methods()
                        .for_each(|one| callers[one.index()].push(at));
                }
            }
        }
        let mut waiting: Vec<usize> = (0..methods.len()).collect();
        while let Some(at) = waiting.pop() {
            let known = all.non_null(&methods[at], at, false);
            for (statement, known) in methods[at].code.iter().zip(known) {
                let Some(known) = known else { continue };
                let there = |one: &Operand| match *one {
                    Operand::Local(local) => known[local.index()],
                    Operand::Present | Operand::Int(_) => true,
                    Operand::Null | Operand::Unknown => false,
                };
                match statement {
                    Statement::Call {
                        arguments, callees, ..
                    } => {
                        for callee in callees.methods().map(MethodId::index) {
                            let mut changed = false;
                            let given = all.given[callee].iter_mut();
                            for ((given, one), trusted) in
                                given.zip(arguments).zip(&trusted[callee])
                            {
                                // A lambda gives its body what it is given itself.
                                let trusted = *trusted && passes_parameter(&methods[at], *one);
                                let there = trusted || there(one);
                                changed |= *given && !there;
                                *given &= there;
                            }
                            if changed {
                                waiting.push(callee);
                            }
                        }
                    }
                    Statement::Return(Some(one)) if all.gives[at] && !there(one) => {
                        all.gives[at] = false;
                        waiting.extend(&callers[at]);
                    }
                    _ => {}
                }
            }
        }
        all
    }

    fn non_null(&self, method: &Method, at: usize, trusting: bool) -> Vec<Option<Vec<bool>>> {
        non_null(method, &self.given[at], Some(self), trusting)
    }
}

/// Whether a value is what the method of a lambda is given by its caller.
fn passes_parameter(method: &Method, value: Operand) -> bool {
    let class = method.signature.split(':').next().unwrap_or_default();
    let Operand::Local(local) = value else {
        return false;
    };
    let mut code = method.code.iter();
    let given = code.any(|one| match *one {
        Statement::Assign { to, value } => to == local && matches!(value, Value::Parameter(_)),
        _ => false,
    });
    given && class.contains("$lambda$")
}

/// The types of the parameters, as the signature has them.
fn parameter_types(method: &Method) -> impl Iterator<Item = &str> {
    let all = method.signature.split(['(', ')']).nth(1);
    all.unwrap_or_default().split(',')
}

/// Whether a type is one of strings, boxes or arrays, which are taken to be there.
fn is_trusted(name: &str) -> bool {
    library::is_of_library(name) || name.ends_with("[]")
}

/// For each parameter whether it is taken to be there whatever its value is.
fn trusted_parameters(method: &Method) -> Vec<bool> {
    let mut types = parameter_types(method);
    let kinds = method.parameters.iter();
    kinds
        .map(|&kind| types.next().is_some_and(is_trusted) || kind != Kind::Reference)
        .collect()
}

/// Whether null may get into the hands of a library that may pass it on to a method of the program.
/// Somebody else calls those `outside`, and a library those that are `called`: what these give back is
/// in its hands, too. `passing` are those to whom what they are given matters.
pub(crate) fn gives_null_away(
    methods: &[Method],
    outside: &[MethodId],
    called: &[MethodId],
    passing: &FxHashSet<String>,
) -> bool {
    if passing.is_empty() {
        return false;
    }
    let summaries = Summaries::new(methods, outside, true);
    methods.iter().enumerate().any(|(at, method)| {
        let known = summaries.non_null(method, at, false);
        let result = method.signature.split(' ').nth(1).unwrap_or_default();
        let returns = method.returns == Some(Kind::Reference)
            && !is_trusted(result)
            && called.iter().any(|one| one.index() == at);
        let code = &method.code;
        code.iter()
            .zip(known)
            .enumerate()
            .any(|(pc, (one, known))| {
                let Some(known) = known else { return false };
                match one {
                    Statement::Hand { to, objects, .. } if passing.contains(to) => {
                        // Nobody calls a method of null.
                        let receiver = match code.get(pc + 1) {
                            Some(Statement::Call { receiver, .. }) => *receiver,
                            _ => None,
                        };
                        let mut objects = objects.iter().filter(|&&one| Some(one) != receiver);
                        objects.any(|one| !known[one.index()])
                    }
                    Statement::Return(Some(value)) if returns => match *value {
                        Operand::Local(local) => !known[local.index()],
                        Operand::Null | Operand::Unknown => true,
                        Operand::Present | Operand::Int(_) => false,
                    },
                    _ => false,
                }
            })
    })
}

/// For each statement whether it may use null.
pub(crate) fn may_use_null(method: &Method) -> Vec<bool> {
    let known = non_null(method, &vec![false; method.parameters.len()], None, false);
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
fn acts(
    method: &Method,
    at: usize,
    summaries: &Summaries,
    is_start: &impl Fn(&[(ClassId, String)]) -> bool,
) -> bool {
    let own = own_objects(method);
    let known = summaries.non_null(method, at, false);
    let trusted = summaries.non_null(method, at, true);
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

/// The variables that are not null before a statement, and those that say so of another one: if the
/// first of a pair is not zero, the second is not null.
#[derive(Clone)]
struct State {
    known: Vec<bool>,
    pairs: Vec<bool>,
}

/// The pairs that there may be: what `instanceof` gives, and what it asks about.
fn pairs(method: &Method) -> Vec<(LocalId, LocalId)> {
    let mut found: Vec<(LocalId, LocalId)> = Vec::new();
    for statement in &method.code {
        let pair = match statement {
            Statement::Assign {
                to,
                value: Value::IsInstance(one, _),
            } => Some((*to, *one)),
            // Of interfaces only null is known to be none.
            Statement::Branch { condition, yes, .. } => {
                let asked = asks_for_null(condition).filter(|one| one.1);
                match (asked, method.code.get(*yes as usize)) {
                    (
                        Some((one, _)),
                        Some(Statement::Assign {
                            to,
                            value: Value::Operand(Operand::Int(0)),
                        }),
                    ) => Some((*to, one)),
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(pair) = pair.filter(|pair| pair.0 != pair.1 && !found.contains(pair)) {
            found.push(pair);
        }
    }
    found
}

/// For each statement that can be reached the variables that are not null before it; with `trusting`
/// also those of which nothing is known. `summaries` are of the methods that are called.
fn non_null(
    method: &Method,
    given: &[bool],
    summaries: Option<&Summaries>,
    trusting: bool,
) -> Vec<Option<Vec<bool>>> {
    let mut before: Vec<Option<State>> = vec![None; method.code.len()];
    if before.is_empty() {
        return Vec::new();
    }
    let strict = summaries.is_some_and(|one| one.strict);
    let pairs = pairs(method);
    before[0] = Some(State {
        known: vec![false; method.locals.len()],
        pairs: vec![false; pairs.len()],
    });
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
            state.known[base.index()] = true;
        }
        if let Some(to) = statement.defines() {
            for (pair, holds) in pairs.iter().zip(&mut state.pairs) {
                *holds &= pair.0 != to && pair.1 != to;
            }
        }
        match statement {
            Statement::Assign { to, value } => {
                state.known[to.index()] = match *value {
                    Value::Operand(Operand::Local(from)) => state.known[from.index()],
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
                for (pair, holds) in pairs.iter().zip(&mut state.pairs) {
                    let says = match *value {
                        Value::IsInstance(one, _) => pair.1 == one,
                        Value::Operand(Operand::Int(0)) => true,
                        _ => false,
                    };
                    *holds |= pair.0 == *to && says;
                }
            }
            Statement::Call {
                to: Some(to),
                callees,
                ..
            } => {
                let gives = |one: MethodId| summaries.is_some_and(|all| all.gives[one.index()]);
                state.known[to.index()] = match callees {
                    Callees::Unavailable(called) => !strict || library::gives_container(called),
                    callees => callees.methods().all(gives),
                };
            }
            _ => {}
        }
        let mut arrive = |next: Pc, state: &State| match &mut before[next as usize] {
            entry @ None => {
                *entry = Some(state.clone());
                waiting.push(next);
            }
            Some(entry) => {
                let mut changed = false;
                for (at, old) in entry.pairs.iter_mut().enumerate() {
                    // What is not null needs nobody to say so.
                    let object = pairs[at].1.index();
                    let old_holds = *old || entry.known[object];
                    let new = old_holds && (state.pairs[at] || state.known[object]);
                    changed |= *old != new;
                    *old = new;
                }
                for (old, &new) in entry.known.iter_mut().zip(&state.known) {
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
                state.known[base.index()] = true;
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
            state.known[local.index()] = true;
            arrive(there, &state);
            continue;
        }
        if let Statement::Branch { condition, yes, no } = statement
            && let (Operand::Local(local), Operand::Int(0)) = (condition.left, condition.right)
        {
            let (zero, other) = if condition.equal {
                (*yes, *no)
            } else {
                (*no, *yes)
            };
            arrive(zero, &state);
            for (pair, holds) in pairs.iter().zip(&state.pairs) {
                if pair.0 == local && *holds {
                    state.known[pair.1.index()] = true;
                }
            }
            arrive(other, &state);
            continue;
        }
        statement.successors(pc, |next| arrive(next, &state));
    }
    let known = before.into_iter();
    known.map(|state| state.map(|one| one.known)).collect()
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
