//! Random formulas about random programs: all modes that look into calls give the same answer, and
//! a violation that is said to be real is one.
//!
//! A run on a concrete heap is followed in the concrete interpreter, statement by statement. What
//! propositions say is then computed from the interpreter's objects, and the formula is evaluated
//! on the word that results: nothing of the abstract semantics is used. A null dereference is
//! followed in the same way. And whether heaps that others cover are left out does not matter. That an
//! answer is about no run is said if and only if a contradiction holds, too.

mod random;

use droste_base::Limits;
use droste_heap::{Heap, Symbols, Variable};
use droste_ltl::ResolvedFormula;
use droste_ltl::word::{Lasso, holds};
use droste_pointer::interpret::{Frame, Interpreter, Value};
use droste_pointer::{
    Callees, Condition, FieldId, LocalId, MethodId, Operand, Statement, Value as Source,
};
use droste_shape::check::{Answer, Checking, Report, Unknown, check};
use droste_shape::machine::Fault;
use droste_shape::proposition::{Expression, Proposition, parse};
use droste_shape::run::{Kind, Position, Reality, Run};
use droste_shape::settings::Mode;
use droste_shape::task::Task;
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;
use random::{BALANCED, DOUBLE, LISTS, TREES, World, concrete, seen};
use std::sync::atomic::{AtomicU64, Ordering};

/// A random formula with few operators.
fn formula(world: &World, random: &mut Random, depth: usize, numbers: bool) -> String {
    if depth == 0 || random.percent(15) {
        if numbers && random.percent(30) {
            let relation = if random.percent(60) { "==" } else { "!=" };
            let name = random.pick(&["n0", "n0", "n1"]);
            return format!("{{{name} {relation} {}}}", random.below(2));
        }
        return atom(world, random);
    }
    let mut inner = || formula(world, random, depth - 1, numbers);
    let (left, right) = (inner(), inner());
    match random.below(9) {
        0 => format!("! ({left})"),
        1 => format!("X ({left})"),
        2 | 3 => format!("F ({left})"),
        4 | 5 => format!("G ({left})"),
        6 => format!("(({left}) U ({right}))"),
        7 => format!("(({left}) -> ({right}))"),
        _ => format!("(({left}) R ({right}))"),
    }
}

fn atom(world: &World, random: &mut Random) -> String {
    let name = |random: &mut Random| {
        let names = ["a0", "b0", "a0", "a1", "b1", "a2"];
        *random.pick(&names)
    };
    let field = |random: &mut Random| *random.pick(world.fields);
    let text = match random.below(12) {
        0 | 1 => "terminated".into(),
        2 => format!("{} == null", name(random)),
        3 => format!("{} != null", name(random)),
        4 => format!("{} == {}", name(random), name(random)),
        5 => format!("{}.{} == {}", name(random), field(random), name(random)),
        6 => format!("in(m{})", random.below(4)),
        7 => format!("visited({})", name(random)),
        8 => "identicNeighbours".into(),
        9 => format!("isReachable({},{})", name(random), name(random)),
        10 => format!("isReachable({},null,[{}])", name(random), field(random)),
        _ if world.is_indexed() && random.percent(50) => "btree".into(),
        _ => format!("L({})", world.nonterminal),
    };
    format!("{{{text}}}")
}

fn ask(
    task: &mut Task,
    formulas: &[ResolvedFormula<Proposition>],
    mode: Mode,
    concrete: bool,
) -> Vec<Report> {
    let checking = Checking {
        mode,
        limits: Limits::default(),
        reporter: None,
        max_steps: 20_000,
        concrete,
        contracts: false,
        skip: &[],
    };
    check(task, formulas, &checking).unwrap().reports
}

/// Modes do not look at the same states: one may meet a limit, or what is hidden, and another not.
fn stopped(answer: &Answer) -> bool {
    let Answer::Unknown(reason, _) = answer else {
        return false;
    };
    matches!(
        reason,
        Unknown::Stopped(_) | Unknown::Hidden | Unknown::Heights(_)
    )
}

/// What was seen.
#[derive(Default)]
struct Total {
    compared: AtomicU64,
    held: AtomicU64,
    violated: AtomicU64,
    followed: AtomicU64,
    faults: AtomicU64,
    left_out: AtomicU64,
    covered: AtomicU64,
    about_nothing: AtomicU64,
    runs: AtomicU64,
    open: AtomicU64,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn one(world: &World, seed: u64, total: &Total) {
    let random = &mut Random::new(seed);
    let unknowns = random.percent(40);
    let mut task = if unknowns {
        world.task_with_unknowns(random)
    } else {
        world.task(random)
    };
    task.options.max_states = 3_000;
    let text = formula(world, random, if unknowns { 2 } else { 3 }, unknowns);
    let formulas = [parse(&text, &task.names()).unwrap()];
    let shared = ask(&mut task, &formulas, Mode::Shared, true);
    for mode in [Mode::OnTheFly, Mode::Rsm] {
        let other = ask(&mut task, &formulas, mode, false);
        for (a, b) in shared.iter().zip(&other) {
            if stopped(&a.answer) || stopped(&b.answer) {
                continue;
            }
            add(&total.compared);
            assert_eq!(
                a.answer.word(),
                b.answer.word(),
                "SEED={seed}: {} by {mode}\n{:?}\n{}",
                a.property,
                task.options.abstraction,
                task.program
            );
        }
    }
    if let Some(Answer::Holds) = shared.get(1).map(|report| &report.answer) {
        for_all_values(&mut task, &formulas[0], random, seed, total);
    }
    // An answer is about no run if a formula that no run satisfies holds, too.
    let absurd = [parse(&format!("(({text}) & !({text}))"), &task.names()).unwrap()];
    let absurd = ask(&mut task, &absurd, Mode::Shared, false);
    if let ([_, report], [_, absurd]) = (&shared[..], &absurd[..])
        && matches!(report.answer, Answer::Holds)
        && !matches!(absurd.answer, Answer::Unknown(..))
    {
        let none = matches!(absurd.answer, Answer::Holds);
        let said = report.vacuous.is_some();
        // Of large state spaces nothing is said.
        let small = report.counts.total < 500;
        assert!(
            said == none || (none && !small),
            "SEED={seed}: {text}\n{}",
            task.program
        );
        if said {
            add(&total.about_nothing);
        }
    }
    // Leaving out what is covered changes nothing, but that an answer may be found.
    let abstraction = &mut task.options.abstraction;
    abstraction.subsumption = !abstraction.subsumption;
    let other = ask(&mut task, &[], Mode::Shared, false);
    if !stopped(&shared[0].answer) && !stopped(&other[0].answer) {
        let words = [&shared[0], &other[0]].map(|report| report.answer.word());
        assert_eq!(words[0], words[1], "SEED={seed}\n{}", task.program);
        if shared[0].counts.total != other[0].counts.total {
            add(&total.covered);
        }
    }
    for report in &shared {
        match &report.answer {
            Answer::Holds => add(&total.held),
            Answer::Violated(run) => {
                add(&total.violated);
                let Reality::Real(heap, run) = &run.reality else {
                    continue;
                };
                // The interpreter knows numbers that the machine does not, and may not go that way.
                if unknowns && !run.guesses.is_empty() {
                    continue;
                }
                for values in [false, true] {
                    // Whether the program goes that way may depend on values that are chosen.
                    if values && !run.guesses.is_empty() {
                        continue;
                    }
                    let values = values.then_some(&mut *random);
                    match follow(&task, heap, run, &formulas[0], values) {
                        Ok(Followed::Violated) => add(&total.followed),
                        Ok(Followed::Fault) => add(&total.faults),
                        Ok(Followed::LeftOut) => add(&total.left_out),
                        Err(problem) => panic!(
                            "SEED={seed}: {}: {problem}\n{:?} {:?}\n{}\n{}",
                            report.property,
                            run.cycle,
                            run.positions
                                .iter()
                                .map(|p| (p.depth, p.line, p.kind))
                                .collect::<Vec<_>>(),
                            droste_heap::heap_json(&task.symbols, heap),
                            task.program
                        ),
                    }
                }
            }
            Answer::Unknown(Unknown::Unmodelled(_), _) => add(&total.open),
            Answer::Unknown(..) => {}
        }
    }
}

enum Followed {
    /// The formula is violated.
    Violated,
    /// There is a null dereference.
    Fault,
    /// Not the whole run is there, or its stack grows.
    LeftOut,
}

/// What holds at a position.
type Letter = Vec<bool>;

fn follow(
    task: &Task,
    heap: &Heap,
    run: &Run,
    formula: &ResolvedFormula<Proposition>,
    mut values: Option<&mut Random>,
) -> Result<Followed, String> {
    // An exception that goes through several methods is one step of the interpreter.
    let thrown = |p: &Position| p.kind == Kind::Fault(Fault::Thrown);
    let whole = |p: &Position| !matches!(p.kind, Kind::Folded(_) | Kind::Skipped(_)) && !thrown(p);
    // The shape of the whole heap is a matter of the grammar.
    let shape =
        |atom: &Proposition| matches!(atom, Proposition::Language(_) | Proposition::Shape(_));
    let shapes = run.cycle.is_some() && formula.atoms.iter().any(shape);
    if shapes || !run.positions.iter().all(whole) {
        return Ok(Followed::LeftOut);
    }
    let (objects, ids, parameters) = concrete(heap, task);
    let markings: Vec<(Variable, Value)> = (heap.variables().iter())
        .filter(|pair| pair.0.is_marking())
        .map(|pair| (pair.0, ids[&pair.1]))
        .collect();
    let mut state = Interpreter::new(&task.program, objects, Value::Undefined, parameters);
    let any_values = values.is_some();
    if any_values {
        state = state.with_any_values();
    }
    take_parameters(task, &mut state);
    let mut word: Vec<Letter> = Vec::new();
    let mut first: Option<(Vec<u32>, droste_heap::Code)> = None;
    for (at, position) in run.positions.iter().enumerate() {
        let next = run.positions.get(at + 1);
        // At the end of a method the interpreter is still before its last statement.
        let ended = matches!(position.kind, Kind::End | Kind::Terminated);
        if !ended {
            let frame = state.frames().last().ok_or("the program is over")?;
            let line = 100 * frame.method.0 + frame.pc;
            if line != position.line || state.frames().len() != position.depth + 1 {
                return Err(format!("position {at}: the interpreter is at {line}"));
            }
        }
        // The last position is where the cycle closes.
        if let (Some(cycle), None) = (run.cycle, next) {
            let last = configuration(task, &state);
            let first = first.as_ref().ok_or("the cycle is nowhere")?;
            if first.0.len() != last.0.len() {
                // The stack grows for ever.
                return Ok(Followed::LeftOut);
            }
            if *first != last {
                // Other values are chosen the next time.
                if any_values {
                    return Ok(Followed::LeftOut);
                }
                return Err("the cycle does not close".into());
            }
            let lasso = Lasso {
                prefix: cycle,
                period: word.len() - cycle,
            };
            let good = holds(&formula.formulas, formula.formula, lasso, |atom, at| {
                word[at][atom.0 as usize]
            });
            if good {
                return Err(format!("the formula holds on the run: {word:?}"));
            }
            return Ok(Followed::Violated);
        }
        if run.cycle == Some(at) {
            first = Some(configuration(task, &state));
        }
        let atoms = formula.atoms.iter();
        let here = (Stage::of(position.kind), position.method.as_str());
        let letter = atoms.map(|atom| truth(task, &state, here, &markings, atom));
        word.push(letter.collect());
        if matches!(position.kind, Kind::Fault(_)) {
            return if state.uses_null() {
                Ok(Followed::Fault)
            } else {
                Err("no null is used".into())
            };
        }
        let Some(next) = next else {
            return Err("the run stops".into());
        };
        // A return and the end are two positions, but one step of the interpreter.
        let stays = matches!(next.kind, Kind::End | Kind::Terminated);
        if !stays {
            state = step_to(task, &state, next, values.as_deref_mut())
                .ok_or_else(|| format!("position {at}: no way on"))?;
        }
    }
    Err("the run has no end".into())
}

/// A method begins when its variables have what it was given.
fn take_parameters(task: &Task, state: &mut Interpreter<'_>) {
    let given = |frame: &Frame| {
        let code = &task.program.method(frame.method).code;
        matches!(
            code[frame.pc as usize],
            Statement::Assign {
                value: Source::This | Source::Parameter(_),
                ..
            }
        )
    };
    while state.frames().last().is_some_and(given) {
        state.step(&mut |_| 0);
    }
}

/// One step that leads to a position.
fn step_to<'a>(
    task: &Task,
    state: &Interpreter<'a>,
    next: &Position,
    mut values: Option<&mut Random>,
) -> Option<Interpreter<'a>> {
    let frame = state.frames().last()?;
    let statement = &task.program.method(frame.method).code[frame.pc as usize];
    let branches = matches!(
        statement,
        Statement::Branch { .. } | Statement::Choose { .. } | Statement::Throw { .. }
    );
    let is_way = branches || state.uses_null();
    // An exception that is not known asks once for each handler.
    (0..16).find_map(|mut choices| {
        let mut state = state.clone();
        let outcome = state.step(&mut |ways| match &mut values {
            Some(random) if !is_way => random.below(ways),
            _ => {
                let choice = choices % ways;
                choices /= ways;
                choice
            }
        });
        take_parameters(task, &mut state);
        let frame = state.frames().last()?;
        let line = 100 * frame.method.0 + frame.pc;
        let here = line == next.line && state.frames().len() == next.depth + 1;
        (outcome.is_none() && here).then_some(state)
    })
}

/// The stack, and the heap with all variables that are still used.
fn configuration(task: &Task, state: &Interpreter<'_>) -> (Vec<u32>, droste_heap::Code) {
    let mut symbols: Symbols = task.symbols.clone();
    let mut all = Vec::new();
    let depth = state.frames().len();
    for (at, frame) in state.frames().iter().enumerate() {
        let method = task.program.method(frame.method);
        let liveness = droste_pointer::Liveness::new(method);
        let top = at + 1 == depth;
        let pc = if top { frame.pc } else { frame.pc + 1 };
        let defined = match &method.code[frame.pc as usize] {
            Statement::Call { to, .. } if !top => *to,
            _ => None,
        };
        for id in liveness.before(pc).iter().filter(|&id| Some(id) != defined) {
            let name = format!("{at} {}", method.local(id));
            all.push((symbols.add_variable(&name), frame.locals[id.index()]));
        }
        if top {
            for (number, &value) in frame.parameters.iter().enumerate().filter(|_| pc < 3) {
                all.push((symbols.add_variable(&format!("p{number}")), value));
            }
            if pc < 3 {
                all.push((symbols.add_variable("this"), frame.this));
            }
        }
    }
    let mut heap = seen(state, task, &all);
    task.grammar.collect_garbage(&mut heap);
    let stack = state.frames().iter();
    let stack = stack.map(|frame| 100 * frame.method.0 + frame.pc).collect();
    (stack, heap.code())
}

/// How far a method has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// The innermost method has come to its end.
    End,
    /// The program has.
    Terminated,
}

impl Stage {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Terminated => Stage::Terminated,
            Kind::End => Stage::End,
            _ => Stage::Running,
        }
    }
}

/// Runs the program on concrete heaps, and chooses values that are not modelled: the formula, which is
/// said to hold, holds of every run that comes to its end.
fn for_all_values(
    task: &mut Task,
    formula: &ResolvedFormula<Proposition>,
    random: &mut Random,
    seed: u64,
    total: &Total,
) {
    // The shape of the whole heap is a matter of the grammar.
    let shape =
        |atom: &Proposition| matches!(atom, Proposition::Language(_) | Proposition::Shape(_));
    if formula.atoms.iter().any(shape) {
        return;
    }
    task.with_machine(std::slice::from_ref(formula), |task, machine, initial| {
        for _ in 0..12 {
            let instances = machine.instances(random.pick(initial));
            let few = instances.len().min(8);
            let Some(heap) = instances.get(random.below(few.max(1))) else {
                continue;
            };
            let Some(word) = word_of(task, heap, formula, random) else {
                continue;
            };
            let lasso = Lasso {
                prefix: word.len() - 1,
                period: 1,
            };
            let good = holds(&formula.formulas, formula.formula, lasso, |atom, at| {
                word[at][atom.0 as usize]
            });
            assert!(
                good,
                "SEED={seed}: {} does not hold on {word:?}\n{}\n{}",
                formula.text,
                droste_heap::heap_json(&task.symbols, heap),
                task.program
            );
            add(&total.runs);
        }
        Some(())
    });
}

/// A run on this heap, if it comes to its end, and no exception leaves a method.
fn word_of(
    task: &Task,
    heap: &Heap,
    formula: &ResolvedFormula<Proposition>,
    random: &mut Random,
) -> Option<Vec<Letter>> {
    let (objects, ids, parameters) = concrete(heap, task);
    let markings: Vec<(Variable, Value)> = (heap.variables().iter())
        .filter(|pair| pair.0.is_marking())
        .map(|pair| (pair.0, ids[&pair.1]))
        .collect();
    let run = Interpreter::new(&task.program, objects, Value::Undefined, parameters);
    let mut run = run.with_any_values();
    let mut word: Vec<Letter> = Vec::new();
    for _ in 0..80 {
        take_parameters(task, &mut run);
        let frame = run.frames().last()?;
        let depth = run.frames().len();
        let method = task.program.method(frame.method);
        let returns = matches!(method.code[frame.pc as usize], Statement::Return(_));
        let mut letter = |run: &Interpreter<'_>, stage: Stage| {
            let here = (stage, method.name.as_str());
            let atoms = formula.atoms.iter();
            word.push(
                atoms
                    .map(|atom| truth(task, run, here, &markings, atom))
                    .collect(),
            );
        };
        letter(&run, Stage::Running);
        if returns {
            letter(&run, Stage::End);
            if depth == 1 {
                letter(&run, Stage::Terminated);
                return Some(word);
            }
        }
        let outcome = run.step(&mut |ways| random.below(ways));
        if outcome.is_some() || (run.frames().len() < depth && !returns) {
            return None;
        }
    }
    None
}

/// What a variable holds: in the innermost method that has it.
fn value(task: &Task, state: &Interpreter<'_>, stage: Stage, name: &str) -> Value {
    if let Ok(number) = name.parse::<i64>() {
        return Value::Int(number);
    }
    if name == "null" {
        return Value::Null;
    }
    let ended = match stage {
        Stage::Terminated => return Value::Undefined,
        Stage::End => 1,
        Stage::Running => 0,
    };
    for frame in state.frames().iter().rev().skip(ended) {
        let method = task.program.method(frame.method);
        let local = (0..method.locals.len() as u32).find(|&id| method.local(LocalId(id)) == name);
        if let Some(local) = local
            && frame.locals[local as usize] != Value::Undefined
        {
            return frame.locals[local as usize];
        }
    }
    Value::Undefined
}

fn truth(
    task: &Task,
    state: &Interpreter<'_>,
    (stage, method): (Stage, &str),
    markings: &[(Variable, Value)],
    proposition: &Proposition,
) -> bool {
    let get = |name: &str| value(task, state, stage, name);
    let marked = |name: &str| {
        let variable = task.symbols.variable(name);
        let found = markings.iter().find(|pair| Some(pair.0) == variable);
        found.map_or(Value::Undefined, |pair| pair.1)
    };
    let field = |base: Value, name: &str| match (base, task.program.field_named(name)) {
        (Value::Object(id), Some(field)) => state.heap().field(id, field),
        _ => Value::Undefined,
    };
    let side = |side: &Expression| match &side.field {
        None => get(&side.variable),
        Some(name) => field(get(&side.variable), name),
    };
    match proposition {
        Proposition::Terminated => stage != Stage::Running,
        Proposition::Compare(left, right, equal) => {
            let (left, right) = (side(left), side(right));
            let defined = left != Value::Undefined && right != Value::Undefined;
            defined && (left == right) == *equal
        }
        Proposition::In(name) => method == name,
        Proposition::Visited(Some(name)) => {
            let mark = marked("%visited");
            mark != Value::Undefined && get(name) == mark
        }
        Proposition::IdenticNeighbours => {
            let centre = marked("%neighbourhood");
            task.program.fields.iter().all(|name| {
                let neighbour = marked(&format!("%neighbourhood-{name}"));
                neighbour == Value::Undefined || field(centre, name) == neighbour
            })
        }
        Proposition::Reachable(from, to, selectors) => {
            let (from, to) = (get(from), get(to));
            if to == Value::Undefined {
                return false;
            }
            let mut seen = vec![from];
            let mut at = 0;
            while at < seen.len() {
                let here = seen[at];
                at += 1;
                for name in &task.program.fields {
                    if selectors.as_ref().is_some_and(|set| !set.contains(name)) {
                        continue;
                    }
                    let next = field(here, name);
                    if next == to && next != Value::Undefined {
                        return true;
                    }
                    if !seen.contains(&next) {
                        seen.push(next);
                    }
                }
            }
            false
        }
        _ => false,
    }
}

fn sweep(world: &World, first: u64, count: u64) {
    let total = Total::default();
    seeds(first, count, |seed| one(world, seed, &total));
    println!(
        "{}: {} answers compared, {} hold, {} violated; followed: {} violations and {} null \
         dereferences, {} left out; covering heaps save states in {} programs; {} answers are about \
         no run; {} runs with any values; {} depend on values",
        world.class,
        total.compared.into_inner(),
        total.held.into_inner(),
        total.violated.into_inner(),
        total.followed.into_inner(),
        total.faults.into_inner(),
        total.left_out.into_inner(),
        total.covered.into_inner(),
        total.about_nothing.into_inner(),
        total.runs.into_inner(),
        total.open.into_inner(),
    );
}

#[test]
fn modes_agree() {
    sweep(&LISTS, 0, 25);
    sweep(&TREES, 0, 10);
    sweep(&DOUBLE, 0, 10);
    sweep(&BALANCED, 0, 10);
}

#[test]
#[ignore = "long: for the sweeps"]
fn modes_agree_on_many_formulas() {
    sweep(&LISTS, 1_000_000, 6_000);
    sweep(&TREES, 2_000_000, 2_000);
    sweep(&DOUBLE, 3_000_000, 2_000);
    sweep(&BALANCED, 4_000_000, 3_000);
}

/// Methods are known by their numbers.
#[test]
fn lines_are_statements() {
    let task = LISTS.task(&mut Random::new(1));
    let method = task.program.method(MethodId(2));
    assert_eq!(method.lines[3], 203);
}

/// A recursive method that goes down a balanced tree and changes nothing: what is around its part of
/// the tree has a hole, and every mode knows that the whole is balanced.
#[test]
fn a_recursive_walk_leaves_a_tree_balanced() {
    let (t, child) = (LocalId(0), LocalId(1));
    let mut task = BALANCED.task_of(&[
        Statement::Branch {
            condition: Condition {
                left: Operand::Local(t),
                right: Operand::Null,
                equal: true,
            },
            yes: 7,
            no: 4,
        },
        Statement::Choose {
            targets: vec![5, 7],
        },
        Statement::Assign {
            to: child,
            value: Source::Field(t, FieldId(0)),
        },
        Statement::Call {
            to: None,
            receiver: None,
            arguments: vec![Operand::Local(child)],
            callees: Callees::One(MethodId(0)),
        },
        Statement::Return(None),
    ]);
    task.options.abstraction.garbage_collection = false;
    let formulas = [parse("G {btree}", &task.names()).unwrap()];
    for mode in [Mode::TopLevel, Mode::OnTheFly, Mode::Rsm, Mode::Shared] {
        let reports = ask(&mut task, &formulas, mode, false);
        let words: Vec<&str> = reports.iter().map(|one| one.answer.word()).collect();
        assert_eq!(words, ["holds", "holds"], "{mode}");
        assert!(reports[1].counts.total < 200, "{mode}");
    }
}
