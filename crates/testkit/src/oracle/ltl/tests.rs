//! The oracle for formulas against examples whose answer is known, and against three other opinions.

use std::cell::RefCell;

use droste_lang::ast::{Ast, BinaryOp, ExprId, ExprKind, Name};

use crate::generate::{Config, program};
use crate::ltl::tableau::{Assignment, Tableau};
use crate::ltl::word::satisfies;
use crate::ltl::{Atom, Binary, Formula, Shape, Unary, formula};
use crate::oracle::machine::{Machine, Step, Store};
use crate::oracle::monitor::Guards;
use crate::oracle::product::{State, System, Watcher, saturate};
use crate::oracle::{Oracle, Refusal};
use crate::random::{Random, seeds};
use crate::source::parse;
use crate::tree::Exp;

fn name(text: &str) -> Formula {
    Formula::Atom(Atom::Name(text.to_owned()))
}

fn terminated() -> Formula {
    Formula::Atom(Atom::Terminated)
}

fn always(f: Formula) -> Formula {
    Formula::unary(Unary::Globally, f)
}

fn finally(f: Formula) -> Formula {
    Formula::unary(Unary::Finally, f)
}

fn next(f: Formula) -> Formula {
    Formula::unary(Unary::Next, f)
}

/// Whether all runs, and all on a bounded stack, satisfy the formula.
fn holds(text: &str, formula: &Formula) -> (bool, bool) {
    let ast = parse(text);
    let oracle = Oracle::new(&ast).expect("a small program");
    let violated = oracle.ltl(formula).expect("a small product");
    (!violated[0], !violated[1])
}

/// Seed 002, Fig. 1(a): the label is visited again and again, if `flip` returns.
const MAIN: &str = "decl g; void main() begin g := F;
    while T do flip(); flip(); if !g then reach: skip; fi od end ";

#[test]
fn abstract_flip_is_right_on_a_bounded_stack_only() {
    let flip =
        "void flip() begin if g then skip; else if * then flip(); flip(); fi fi g := !g; end";
    let text = [MAIN, flip].concat();
    assert_eq!(holds(&text, &always(finally(name("reach")))), (false, true));
    // On an infinite run whose stack grows, `g` is false from some position on.
    let settles = finally(always(name("g").negated()));
    let either = Formula::binary(Binary::Or, always(finally(name("reach"))), settles.clone());
    assert_eq!(holds(&text, &either), (true, true));
    assert_eq!(holds(&text, &settles), (false, false));
    let ends = finally(terminated());
    assert_eq!(holds(&text, &ends), (false, false));
}

#[test]
fn concrete_flip_is_right() {
    let main = MAIN.replace("flip()", "flip(2)");
    let flip = "void flip(n : int[0..2]) begin decl i : int[0..3];
        if g then i := 0; while i < 3 do i := i + 1; od
        else if n > 0 then flip(n - 1); flip(n - 1); fi fi g := !g; end";
    let text = [&main, flip].concat();
    assert_eq!(holds(&text, &always(finally(name("reach")))), (true, true));
    let i = ExprKind::Qualified(Name::new("flip"), Name::new("i"));
    let counts = Atom::Expression(Exp::binary(BinaryOp::Eq, Exp::Leaf(i), Exp::int(3)));
    let again = always(finally(Formula::Atom(counts)));
    assert_eq!(holds(&text, &again), (true, true));
}

#[test]
fn a_run_that_has_terminated_goes_on_for_ever() {
    let text = "decl g; void main() begin A: g := T; B: skip; end";
    let at = Formula::Atom;
    assert_eq!(holds(text, &finally(terminated())), (true, true));
    assert_eq!(holds(text, &finally(always(terminated()))), (true, true));
    assert_eq!(holds(text, &always(finally(name("g")))), (true, true));
    assert_eq!(holds(text, &always(finally(name("B")))), (false, false));
    // The first position is the first statement; then B, then the end, then terminated.
    assert_eq!(holds(text, &name("A")), (true, true));
    assert_eq!(holds(text, &next(name("B"))), (true, true));
    let end = at(Atom::In("main".into()));
    let last = Formula::binary(Binary::And, end, name("B").negated());
    assert_eq!(holds(text, &next(next(last))), (true, true));
    assert_eq!(holds(text, &next(next(next(terminated())))), (true, true));
    let outside = at(Atom::In("main".into())).negated();
    assert_eq!(holds(text, &next(next(next(outside)))), (true, true));
    assert_eq!(holds(text, &next(next(terminated()))), (false, false));
    // Unless it does not terminate.
    let text = "void main() begin while * do A: skip; od end";
    let either = Formula::binary(
        Binary::Or,
        finally(terminated()),
        always(finally(name("A"))),
    );
    assert_eq!(holds(text, &either), (true, true));
    assert_eq!(holds(text, &finally(terminated())), (false, false));
}

#[test]
fn stuck_runs_do_not_count() {
    let anything = Formula::Constant(false);
    for stuck in [
        "void main() begin A: assume(F); end",
        "void main() begin A: assert(F); end",
        "void main() begin while T do A: skip; assume(F); od end",
        "void main() begin A: f(); end void f() begin assume(F); end",
        "decl x : int[0..1]; void main() begin A: x := 2; end",
        "void main() begin decl x; A: x := f(); end bool f() begin skip; end",
        // The call returns, but not as it must.
        "decl g; void main() begin g := F; A: f() constrain ('g); end void f() begin skip; end",
    ] {
        assert_eq!(holds(stuck, &anything), (true, true), "{stuck}");
    }
    let choice = "void main() begin if * then A: assume(F); else B: skip; fi end";
    assert_eq!(holds(choice, &finally(name("B"))), (true, true));
    assert_eq!(holds(choice, &anything), (false, false));
}

#[test]
fn a_call_and_a_return_are_steps() {
    let text = "void main() begin A: f(); B: skip; end void f() begin C: return; end";
    assert_eq!(holds(text, &next(name("C"))), (true, true));
    assert_eq!(holds(text, &next(next(name("B")))), (true, true));
    let top = Formula::Atom(Atom::In("f".into()));
    let together = Formula::binary(Binary::Iff, name("C"), top);
    assert_eq!(holds(text, &always(together)), (true, true));
}

#[test]
fn locals_are_false_while_another_procedure_is_on_top() {
    let text = "void main() begin decl x; x := T; A: f(); B: skip; end void f() begin C: skip; end";
    let local = ExprKind::Qualified(Name::new("main"), Name::new("x"));
    let x = || Formula::Atom(Atom::Expression(Exp::Leaf(local.clone())));
    let and = |f, g| Formula::binary(Binary::And, f, g);
    assert_eq!(holds(text, &finally(and(name("C"), x()))), (false, false));
    assert_eq!(holds(text, &finally(and(name("A"), x()))), (true, true));
    assert_eq!(holds(text, &finally(and(name("B"), x()))), (true, true));
}

#[test]
fn endless_recursion_is_a_run_with_a_growing_stack() {
    let text = "void main() begin f(); end void f() begin A: skip; f(); end";
    assert_eq!(holds(text, &Formula::Constant(false)), (false, true));
    assert_eq!(holds(text, &always(finally(name("A")))), (true, true));
}

#[test]
fn names_must_be_known() {
    let ast = parse("decl A; void main() begin A: skip; end");
    let oracle = Oracle::new(&ast).expect("a small program");
    let violated = |atom| oracle.ltl(&Formula::Atom(atom));
    let unknown = Err(Refusal::UnknownName);
    assert_eq!(violated(Atom::Name("A".into())), unknown);
    assert_eq!(violated(Atom::Name("B".into())), unknown);
    assert_eq!(violated(Atom::In("f".into())), unknown);
    assert_eq!(violated(Atom::Var("A".into())), Ok([true, true]));
    assert_eq!(violated(Atom::At(None, "A".into())), Ok([false, false]));
}

/// Whether the tableau accepts the word: a run of it on the word is a path in a finite graph, and it is
/// accepting if it comes to a component with every mark.
fn accepts(tableau: &Tableau, letters: &[u64], back: usize) -> bool {
    let assignments = |letter: &u64| tableau.assignments(*letter, 1 << 12).expect("small");
    let layers: Vec<Vec<Assignment>> = letters.iter().map(assignments).collect();
    let mut vertices = Vec::new();
    for (i, layer) in layers.iter().enumerate() {
        vertices.extend(layer.iter().map(|&a| (i, a)));
    }
    let next = |i: usize| if i + 1 == letters.len() { back } else { i + 1 };
    let mut reached = vec![vec![false; vertices.len()]; vertices.len()];
    for (v, &(i, a)) in vertices.iter().enumerate() {
        for (w, &(j, b)) in vertices.iter().enumerate() {
            reached[v][w] = j == next(i) && tableau.follows(a, b);
        }
    }
    // Warshall.
    for k in 0..vertices.len() {
        let through = reached[k].clone();
        for row in &mut reached {
            if row[k] {
                row.iter_mut()
                    .zip(&through)
                    .for_each(|(to, &more)| *to |= more);
            }
        }
    }
    let all = tableau.all_marks();
    let starts =
        (0..vertices.len()).filter(|&v| vertices[v].0 == 0 && tableau.is_initial(vertices[v].1));
    let starts: Vec<usize> = starts.collect();
    (0..vertices.len()).any(|v| {
        let component = (0..vertices.len()).filter(|&w| reached[v][w] && reached[w][v]);
        let marks = component.fold(0, |marks, w| marks | tableau.marks_of(vertices[w].1));
        reached[v][v] && marks == all && starts.iter().any(|&s| s == v || reached[s][v])
    })
}

/// The second opinion about the tableau: what the operators mean on a word.
fn compare_with_words(words: u64) {
    let ast = parse("decl a, b; void main() begin c: skip; end");
    let mut accepted = [0; 2];
    for seed in seeds(0, words) {
        let mut random = Random::new(seed);
        let f = formula(seed, &ast, &Shape::default());
        let tableau = Tableau::new(&f).expect("few subformulas");
        let length = random.between(1, 6);
        let back = random.below(length);
        let mask = (1 << tableau.atoms.len()) - 1;
        let letters: Vec<u64> = (0..length).map(|_| random.bits() & mask).collect();
        let truth = |i: usize, atom: &Atom| {
            let index = tableau.atoms.iter().position(|a| a == atom);
            letters[i] >> index.expect("an atom of the formula") & 1 == 1
        };
        let expected = satisfies(&f, length, back, &truth);
        assert_eq!(
            accepts(&tableau, &letters, back),
            expected,
            "SEED={seed}: {f}"
        );
        accepted[usize::from(expected)] += 1;
    }
    let enough = accepted.iter().all(|&n| 5 * n > words);
    assert!(enough || seeds(0, 2).len() == 1, "{accepted:?}");
}

#[test]
fn the_tableau_accepts_the_words_that_satisfy_the_formula() {
    compare_with_words(1500);
}

#[test]
#[ignore = "sweep; run in release"]
fn the_tableau_accepts_many_words_that_satisfy_the_formula() {
    compare_with_words(50_000);
}

/// The atoms of a tableau as guards of a program.
struct Letters<'a> {
    machine: &'a Machine<'a>,
    ast: Ast,
    guards: Vec<ExprId>,
}

impl<'a> Letters<'a> {
    fn new(oracle: &'a Oracle<'_>, atoms: &[Atom]) -> Self {
        let mut ast = Ast::default();
        let exps = atoms
            .iter()
            .map(|atom| oracle.resolve(atom).expect("known names"));
        let guards = exps.map(|exp| exp.write(&mut ast)).collect();
        Letters {
            machine: &oracle.machine,
            ast,
            guards,
        }
    }

    fn letter(&self, state: &State) -> u64 {
        let property = Guards {
            machine: self.machine,
            ast: &self.ast,
        };
        let bits = self.guards.iter().enumerate();
        bits.fold(0, |bits, (i, &guard)| {
            bits | u64::from(property.hold(guard, state)) << i
        })
    }
}

/// The tableau as a watcher. It waits for one mark after the other; a mode is an assignment and how
/// many marks have come since it was good.
struct Counting<'a> {
    tableau: Tableau,
    letters: Letters<'a>,
    modes: RefCell<Vec<(Assignment, u32)>>,
}

impl Counting<'_> {
    fn all(&self) -> u32 {
        self.tableau.all_marks().count_ones()
    }
}

impl Watcher for Counting<'_> {
    fn moves(&self, mode: usize, state: &State) -> Vec<usize> {
        let letter = self.letters.letter(state);
        let before = mode.checked_sub(1).map(|mode| self.modes.borrow()[mode]);
        let mut next = Vec::new();
        for assignment in self.tableau.assignments(letter, 1 << 12).expect("small") {
            let possible = match before {
                None => self.tableau.is_initial(assignment),
                Some((before, _)) => self.tableau.follows(before, assignment),
            };
            if !possible {
                continue;
            }
            let mut count = before.map_or(0, |(_, count)| count % self.all().max(1));
            let marks = self.tableau.marks_of(assignment);
            while count < self.all() && marks >> count & 1 == 1 {
                count += 1;
            }
            let mode = (assignment, count);
            let mut modes = self.modes.borrow_mut();
            let known = modes.iter().position(|&m| m == mode);
            next.push(
                1 + known.unwrap_or_else(|| {
                    modes.push(mode);
                    modes.len() - 1
                }),
            );
        }
        next
    }

    fn good(&self, mode: usize, _: &State) -> bool {
        mode > 0 && self.modes.borrow()[mode - 1].1 == self.all()
    }
}

/// The second opinion about the R-graph: contexts and summaries of the product, with the marks counted
/// round.
fn by_contexts(oracle: &Oracle<'_>, f: &Formula) -> Result<[bool; 2], Refusal> {
    let tableau = Tableau::new(&f.clone().negated()).expect("few subformulas");
    let watcher = Counting {
        letters: Letters::new(oracle, &tableau.atoms),
        tableau,
        modes: RefCell::default(),
    };
    Ok(saturate(&oracle.machine, &watcher)?.good_cycles(&watcher))
}

/// Compares with contexts, on so many programs of two configurations.
fn compare_with_contexts(programs: u64) {
    let mut differ = 0;
    for seed in seeds(0, programs) {
        for config in [Config::runaway(), Config::tiny()] {
            let ast = program(seed, &config);
            let Ok(oracle) = Oracle::new(&ast) else {
                continue;
            };
            for shape in [Shape::default(), Shape::without_next()] {
                let f = formula(seed, &ast, &shape);
                let (Ok(answer), Ok(other)) = (oracle.ltl(&f), by_contexts(&oracle, &f)) else {
                    continue;
                };
                assert_eq!(answer, other, "SEED={seed}: {f}");
                differ += u64::from(answer[0] != answer[1]);
            }
        }
    }
    assert!(20 * differ > programs || seeds(0, 2).len() == 1, "{differ}");
}

#[test]
fn the_r_graph_agrees_with_contexts_and_summaries() {
    compare_with_contexts(100);
}

#[test]
#[ignore = "sweep; run in release"]
fn the_r_graph_agrees_with_contexts_and_summaries_on_many_programs() {
    compare_with_contexts(4000);
}

type Frame = (usize, Store);

/// A configuration: its frames, or the globals after the end.
#[derive(Clone, PartialEq, Eq)]
enum Configuration {
    Running(Vec<Frame>),
    Terminated(Store),
}

impl Configuration {
    fn state(&self) -> State {
        match self {
            Configuration::Running(stack) => {
                let (position, store) = stack.last().expect("a frame").clone();
                State::At(position, store)
            }
            Configuration::Terminated(store) => State::Terminated(store.clone()),
        }
    }

    /// What the state is made of; no position after the end.
    fn top(&self) -> (Option<usize>, &Store) {
        match self {
            Configuration::Running(stack) => {
                let (position, store) = stack.last().expect("a frame");
                (Some(*position), store)
            }
            Configuration::Terminated(store) => (None, store),
        }
    }

    fn height(&self) -> usize {
        match self {
            Configuration::Running(stack) => stack.len(),
            Configuration::Terminated(_) => 0,
        }
    }

    fn next(&self, machine: &Machine<'_>) -> Vec<Configuration> {
        let Configuration::Running(stack) = self else {
            return vec![self.clone()];
        };
        let ((position, store), below) = stack.split_last().expect("a frame");
        let mut next = Vec::new();
        let running =
            |below: &[Frame], frame: Frame| Configuration::Running([below, &[frame]].concat());
        for step in machine.steps(*position, store) {
            match step {
                Step::To(to, store) => next.push(running(below, (to, store))),
                Step::Call(callee, entry) => {
                    let entries = machine.entries(callee, &entry).into_iter();
                    next.extend(entries.map(|frame| running(stack, frame)));
                }
                Step::Return(exit) => match below.split_last() {
                    None => {
                        let globals = exit[..machine.globals()].to_vec();
                        next.push(Configuration::Terminated(globals));
                    }
                    Some(((position, caller), below)) => {
                        for step in machine.resume(*position, caller, &exit) {
                            if let Step::To(to, store) = step {
                                next.push(running(below, (to, store)));
                            }
                        }
                    }
                },
                Step::Fail(_) => {}
            }
        }
        next
    }
}

/// The third opinion: walks at random through whole configurations. When a walk comes to the state on
/// top of the stack that it has seen before, and was never lower in between, it can go on like
/// that for ever: the word is judged by direct definition. Says whether a run was found that
/// violates the formula, among all runs and among those on a bounded stack.
fn by_lassos(oracle: &Oracle<'_>, f: &Formula, walks: usize, random: &mut Random) -> [bool; 2] {
    let tableau = Tableau::new(f).expect("few subformulas");
    let letters = Letters::new(oracle, &tableau.atoms);
    let machine = &oracle.machine;
    let mut found = [false; 2];
    let initial = machine.initial();
    for _ in 0..walks {
        let mut walk = vec![Configuration::Running(vec![random.pick(&initial).clone()])];
        while walk.len() < 40 {
            let here = walk.last().expect("a configuration");
            let next = here.next(machine);
            let Some(next) = (!next.is_empty()).then(|| random.pick(&next).clone()) else {
                break;
            };
            let mut lowest = next.height();
            for back in (0..walk.len()).rev() {
                lowest = lowest.min(walk[back].height());
                if walk[back].height() == lowest && walk[back].top() == next.top() {
                    let word: Vec<u64> = walk.iter().map(|c| letters.letter(&c.state())).collect();
                    let truth = |i: usize, atom: &Atom| {
                        let index = tableau.atoms.iter().position(|a| a == atom);
                        word[i] >> index.expect("an atom of the formula") & 1 == 1
                    };
                    if !satisfies(f, walk.len(), back, &truth) {
                        found[0] = true;
                        found[1] |= walk[back] == next;
                    }
                }
            }
            if found[1] || matches!(next, Configuration::Terminated(_)) && walk.contains(&next) {
                break;
            }
            walk.push(next);
        }
    }
    found
}

/// Compares with lassos; how many violations of each kind were found, and of how many.
fn compare_with_lassos(config: &Config, programs: u64, walks: usize) -> [(usize, usize); 2] {
    let mut tally = [(0, 0); 2];
    for seed in seeds(0, programs) {
        let ast = program(seed, config);
        let Ok(oracle) = Oracle::new(&ast) else {
            continue;
        };
        for shape in [Shape::default(), Shape::without_next()] {
            let f = formula(seed, &ast, &shape);
            let Ok(answer) = oracle.ltl(&f) else { continue };
            let found = by_lassos(&oracle, &f, walks, &mut Random::new(seed));
            for i in 0..2 {
                assert!(answer[i] || !found[i], "SEED={seed}, kind of runs {i}: {f}");
                tally[i].0 += usize::from(found[i]);
                tally[i].1 += usize::from(answer[i]);
            }
            if config.procedures.1 == 0 && config.weights.call == 0 {
                assert_eq!(answer[0], answer[1], "SEED={seed}: {f}");
            }
        }
    }
    println!("violations found, of those that the oracle knows: {tally:?}");
    tally
}

/// Loops, and no calls.
fn without_calls() -> Config {
    let mut config = Config::runaway();
    config.procedures = (0, 0);
    config.weights.call = 0;
    config.weights.shape = 0;
    config.weights.repeat = 14;
    config
}

#[test]
fn lassos_without_calls_show_what_the_oracle_says() {
    for (found, said) in compare_with_lassos(&without_calls(), 150, 40) {
        assert!(found * 100 >= said * 95, "{found} of {said}");
    }
}

#[test]
fn lassos_of_whole_configurations_show_what_the_oracle_says() {
    for (found, said) in compare_with_lassos(&Config::runaway(), 80, 40) {
        assert!(found * 100 >= said * 85, "{found} of {said}");
    }
}

#[test]
#[ignore = "sweep; run in release"]
fn lassos_of_many_programs_show_what_the_oracle_says() {
    for config in [without_calls(), Config::runaway(), Config::liveness()] {
        for (found, said) in compare_with_lassos(&config, 300, 60) {
            assert!(found * 100 >= said * 85, "{found} of {said}");
        }
    }
}
