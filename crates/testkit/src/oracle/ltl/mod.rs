//! Whether all runs of a program satisfy a formula, naively: the whole Büchi pushdown system of the
//! program and of the negated formula, its relation `Erase`, its R-graph, and the good cycles.
//!
//! Source: Basu, Kumar, Pokorny and Ramakrishnan, *Resource-Constrained Model Checking of Recursive
//! Programs*, TACAS 2002, sections 2 and 3. Nothing is done on demand: every state of the program that
//! some run comes to is combined with every guess about every subformula. Three further opinions, in
//! `tests.rs`, keep it honest: words are judged by direct definition; the same automaton, with
//! its marks counted round, is given to the saturation in `product.rs`, which knows no `Erase`; and
//! lassos are looked for among whole configurations, stack and all.

pub(super) mod pushdown;
mod rgraph;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use droste_lang::ast::{Ast, ExprKind, Name};

use self::pushdown::{Automaton, NOBODY, Pushdown, Rule};
use self::rgraph::{Control, Head, Rules, good_cycles, rgraph};
use super::machine::Machine;
use super::monitor::Guards;
use super::product::State;
use super::{Oracle, Refusal};
use crate::ltl::tableau::Tableau;
use crate::ltl::{Atom, Formula};
use crate::tree::Exp;

/// More assignments of one letter, or of all letters together, are too many.
const LARGEST_AUTOMATON: usize = 1 << 9;
/// More heads are too many.
const LARGEST_HEADS: usize = 60_000;
/// A larger relation `Erase` is too large.
const LARGEST_ERASE: usize = 1_500_000;

impl Oracle<'_> {
    /// Whether some infinite run does *not* satisfy the formula: among all runs, and among those
    /// whose stack stays bounded. A run that has terminated repeats its last state; stuck and
    /// failed runs do not count.
    pub fn ltl(&self, formula: &Formula) -> Result<[bool; 2], Refusal> {
        let tableau = Tableau::new(&formula.clone().negated()).ok_or(Refusal::TooLarge)?;
        let pushdown = self.pushdown();
        let letters = self.letters(&tableau.atoms)?;
        let mut product = Product::new(&self.machine, pushdown, &tableau, &letters)?;
        let edges = rgraph(&mut product, LARGEST_ERASE)?;
        Ok(good_cycles(&edges, product.start, tableau.all_marks()))
    }

    /// The pushdown system of the program, made once.
    fn pushdown(&self) -> &Pushdown {
        self.pushdown.get_or_init(|| {
            let states = self.runs.graph.nodes.iter().map(|(state, _)| state.clone());
            Pushdown::new(&self.machine, states.collect())
        })
    }

    /// For each state the atoms that hold there, as bits.
    fn letters(&self, atoms: &[Atom]) -> Result<Vec<u64>, Refusal> {
        let mut ast = Ast::default();
        let mut guards = Vec::new();
        for atom in atoms {
            let exp = self.resolve(atom).ok_or(Refusal::UnknownName)?;
            guards.push(exp.write(&mut ast));
        }
        let property = Guards {
            machine: &self.machine,
            ast: &ast,
        };
        let letter = |state: &State| {
            let bits = guards.iter().enumerate();
            bits.fold(0, |letter, (i, &guard)| {
                letter | u64::from(property.hold(guard, state)) << i
            })
        };
        Ok(self.pushdown().states.iter().map(letter).collect())
    }

    /// The atom as an expression in which every name is one of the program's; a bare name of
    /// both a variable and a label means neither.
    fn resolve(&self, atom: &Atom) -> Option<Exp> {
        let machine = &self.machine;
        let is_global = |name: &str| machine.globals.index.contains_key(name);
        let is_label = |procedure: Option<&str>, label: &str| {
            machine.positions.iter().any(|position| {
                let here = &machine.procedures[position.procedure].name;
                position.labels.iter().any(|l| l == label)
                    && procedure.is_none_or(|procedure| procedure == here)
            })
        };
        let mut exp = atom.exp();
        if let Atom::Name(name) = atom {
            match (is_global(name), is_label(None, name)) {
                (true, false) => {}
                (false, true) => exp = Exp::Leaf(ExprKind::At(None, Name::new(name))),
                _ => return None,
            }
        }
        let unknown = exp.any_leaf(&mut |leaf| match leaf {
            ExprKind::Var(name) => !is_global(&name.text),
            ExprKind::Qualified(procedure, name) => {
                let procedure = machine.procedure(&procedure.text);
                procedure.is_none_or(|p| {
                    let index = machine.procedures[p].scope.index.get(&*name.text);
                    index.is_none_or(|&i| i < machine.globals.types.len())
                })
            }
            ExprKind::At(procedure, label) => {
                !is_label(procedure.as_ref().map(|p| &*p.text), &label.text)
            }
            ExprKind::In(procedure) => machine.procedure(&procedure.text).is_none(),
            _ => false,
        });
        (!unknown).then_some(exp)
    }
}

/// The Büchi pushdown system.
struct Product<'a> {
    machine: &'a Machine<'a>,
    pushdown: &'a Pushdown,
    automaton: Automaton,
    /// For each state of the program the class of its letter, and the first of its heads.
    class: Vec<usize>,
    first: Vec<Head>,
    /// For each head its state of the program; nobody for what is none.
    state: Vec<usize>,
    steps: Vec<Vec<Head>>,
    pushes: Vec<Vec<Head>>,
    pops: Vec<Vec<Control>>,
    marks: Vec<u32>,
    /// Pushes what a run starts with on top of nobody.
    start: Head,
    /// Heads with an outcome, by the control location and who waits below.
    outcomes: HashMap<(Control, usize), Head>,
}

impl<'a> Product<'a> {
    fn new(
        machine: &'a Machine<'a>,
        pushdown: &'a Pushdown,
        tableau: &Tableau,
        letters: &[u64],
    ) -> Result<Self, Refusal> {
        let mut classes: Vec<u64> = letters.to_vec();
        classes.sort_unstable();
        classes.dedup();
        let class = letters.iter().map(|letter| classes.binary_search(letter));
        let class: Vec<usize> = class.map(|c| c.expect("all letters are there")).collect();
        let automaton = Automaton::new(tableau, &classes, LARGEST_AUTOMATON)?;
        let mut first = Vec::new();
        let mut state = Vec::new();
        for (s, &c) in class.iter().enumerate() {
            first.push(state.len());
            state.resize(state.len() + automaton.of_class[c].len(), s);
        }
        if state.len() > LARGEST_HEADS {
            return Err(Refusal::TooLarge);
        }
        let mut product = Product {
            machine,
            pushdown,
            automaton,
            class,
            first,
            start: state.len(),
            state,
            steps: Vec::new(),
            pushes: Vec::new(),
            pops: Vec::new(),
            marks: Vec::new(),
            outcomes: HashMap::new(),
        };
        for (s, rules) in pushdown.rules.iter().enumerate() {
            for i in 0..product.automaton.of_class[product.class[s]].len() {
                let assignment = product.automaton.of_class[product.class[s]][i];
                let (mut steps, mut pushes, mut pops) = (Vec::new(), Vec::new(), Vec::new());
                for &rule in rules {
                    match rule {
                        Rule::To(to) => steps.extend(product.moves(assignment, to)),
                        Rule::Push(to) => pushes.extend(product.moves(assignment, to)),
                        Rule::Pop(outcome) => {
                            let assignments = product.automaton.assignments.len();
                            pops.push(outcome * assignments + assignment);
                        }
                    }
                }
                let marks = product.automaton.marks[assignment];
                product.place(steps, pushes, pops, marks);
            }
        }
        let mut pushes = Vec::new();
        for &s in &pushdown.initial {
            for (i, &assignment) in product.automaton.of_class[product.class[s]]
                .iter()
                .enumerate()
            {
                if tableau.is_initial(product.automaton.assignments[assignment]) {
                    pushes.push(product.first[s] + i);
                }
            }
        }
        product.state.push(NOBODY);
        product.place(Vec::new(), pushes, Vec::new(), 0);
        Ok(product)
    }

    fn place(&mut self, steps: Vec<Head>, pushes: Vec<Head>, pops: Vec<Control>, marks: u32) {
        self.steps.push(steps);
        self.pushes.push(pushes);
        self.pops.push(pops);
        self.marks.push(marks);
    }

    /// The heads with state `to` in which the automaton may be after `assignment`.
    fn moves(&self, assignment: usize, to: usize) -> impl Iterator<Item = Head> {
        let indices = self.automaton.moves[assignment][self.class[to]].iter();
        indices.map(move |i| self.first[to] + i)
    }
}

impl Rules for Product<'_> {
    fn heads(&self) -> usize {
        self.steps.len()
    }

    fn head(&mut self, control: Control, pusher: Head) -> Head {
        let caller = self.state[pusher];
        if let Some(&head) = self.outcomes.get(&(control, caller)) {
            return head;
        }
        let assignments = self.automaton.assignments.len();
        let (outcome, assignment) = (control / assignments, control % assignments);
        let states = self.pushdown.resume(self.machine, caller, outcome);
        let steps = states.iter().flat_map(|&to| self.moves(assignment, to));
        let steps = steps.collect();
        let head = self.heads();
        self.state.push(NOBODY);
        self.place(steps, Vec::new(), Vec::new(), 0);
        self.outcomes.insert((control, caller), head);
        head
    }

    fn steps(&self, head: Head) -> &[Head] {
        &self.steps[head]
    }

    fn pushes(&self, head: Head) -> &[Head] {
        &self.pushes[head]
    }

    fn pops(&self, head: Head) -> &[Control] {
        &self.pops[head]
    }

    fn marks(&self, head: Head) -> u32 {
        self.marks[head]
    }
}
