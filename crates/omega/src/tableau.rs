//! The tableau for linear temporal logic of Bhat, Cleaveland and Grumberg (LICS 1995), as an
//! observer.
//!
//! An assertion s ⊢ Φ says that every run from s satisfies one of the formulas Φ. Rules reduce it
//! to subgoals, all of which must succeed, until only formulas `X φ` are left. Then the subgoals
//! are the successors of s with these φ. A literal that is true of s makes the assertion succeed; a
//! literal that is false is dropped. So a *failing* path of the proof structure is a run and a
//! choice of subgoals along it. This observer makes these choices: a place is a set Φ, before the
//! rules have been applied. The search for fair cycles then does what the cycle test of the tableau
//! does, on the graph of assertions of a recursive program.
//!
//! **The cycle test.** A cycle of assertions succeeds if some `φ₁ R φ₂` lasts on it. A strongly
//! connected component on which no R-formula lasts fails. A formula lasts where the second of its
//! subgoals is followed, the one with `X (φ₁ R φ₂)`: the formula is then put off. It is not enough
//! that the formula, or the formula behind an `X`, is in every assertion of the cycle. In
//! `F X (a R b)` it is there because of the `F`, and yet it may be refuted afresh at every
//! position. So each R-formula has a mark, given to all positions at which it is not put off, and a
//! cycle with every mark fails. The empty set, which no run satisfies, has every mark. Whether it
//! is a violation depends on whether the run goes on for ever, and the search finds that out.
//!
//! No automaton is made and nothing is simplified: this shares nothing with the translation to
//! automata, which is what it is compared with. A negated formula is a formula and a sign, and the
//! rules for it are those of its dual.

use std::cell::RefCell;

use droste_automata::{FormulaId, Formulas, Node};
use droste_base::{Countable, StopReason};
use rustc_hash::FxHashMap;

use crate::observe::{Move, Observer};

/// A formula, negated if the last bit is set.
type Signed = u32;

fn signed(formula: FormulaId, negated: bool) -> Signed {
    formula.0 << 1 | u32::from(negated)
}

/// How a formula is proved, among others of which one has to be true.
enum Rule {
    True,
    False,
    /// A proposition with a sign.
    Literal(u32, bool),
    /// The formula goes on as `X` of this one.
    Next(Signed),
    /// All of these are added.
    Any(Vec<Signed>),
    /// A subgoal for each of these.
    All(Vec<Vec<Signed>>),
    /// U and R, and their like: two subgoals; the second has the formula itself at the next
    /// position. `lasting` is the mark of an R-formula.
    Fixpoint {
        first: Vec<Signed>,
        second: Vec<Signed>,
        lasting: Option<u32>,
    },
}

/// A proof structure, made on demand.
pub struct Tableau {
    rules: FxHashMap<Signed, Rule>,
    marks: u32,
    initial: u32,
    /// The propositions that the formula mentions.
    propositions: Vec<u32>,
    places: RefCell<Places>,
}

#[derive(Default)]
struct Places {
    sets: Vec<Box<[Signed]>>,
    index: FxHashMap<Box<[Signed]>, u32>,
}

impl Places {
    fn intern(&mut self, set: Vec<Signed>) -> u32 {
        let set: Box<[Signed]> = set.into();
        if let Some(&place) = self.index.get(&set) {
            return place;
        }
        let place = self.sets.len() as u32;
        self.sets.push(set.clone());
        self.index.insert(set, place);
        place
    }
}

/// The most assertions at one state, counting the formulas in them. More take seconds, and the
/// clock is not read here.
const MOST_WORK: usize = 1 << 24;

/// More R-formulas than this cannot be kept apart: the search has no more marks.
const MOST_MARKS: u32 = 32;

/// One way to go on with an assertion.
#[derive(Clone)]
struct Branch {
    todo: Vec<Signed>,
    /// Formulas to which a rule has been applied. If one is added again, what was chosen for it is
    /// good enough.
    seen: Vec<Signed>,
    next: Vec<Signed>,
    put_off: u32,
}

impl Tableau {
    /// The proof structure of `formula`.
    pub fn new(formulas: &Formulas, formula: FormulaId) -> Result<Self, StopReason> {
        let mut rules = FxHashMap::default();
        let mut marks = 0;
        let start = signed(formula, false);
        let mut agenda = vec![start];
        while let Some(goal) = agenda.pop() {
            if rules.contains_key(&goal) {
                continue;
            }
            let rule = rule(formulas, goal, &mut marks);
            match &rule {
                Rule::True | Rule::False | Rule::Literal(..) => {}
                Rule::Next(goal) => agenda.push(*goal),
                Rule::Any(goals) => agenda.extend(goals),
                Rule::All(subgoals) => agenda.extend(subgoals.iter().flatten()),
                Rule::Fixpoint { first, second, .. } => agenda.extend(first.iter().chain(second)),
            }
            rules.insert(goal, rule);
        }
        if marks > MOST_MARKS {
            let most = u64::from(MOST_MARKS);
            return Err(StopReason::TooMany(Countable::Eventualities, most));
        }
        let mut places = Places::default();
        let initial = places.intern(vec![start]);
        let mut propositions: Vec<u32> = rules
            .values()
            .filter_map(|rule| match rule {
                Rule::Literal(proposition, _) => Some(*proposition),
                _ => None,
            })
            .collect();
        propositions.sort_unstable();
        propositions.dedup();
        Ok(Tableau {
            rules,
            propositions,
            marks,
            initial,
            places: RefCell::new(places),
        })
    }

    /// Applies the rules until only formulas behind an `X` are left. Nothing if that takes too
    /// long.
    fn expand(&self, set: &[Signed], holds: &mut dyn FnMut(u32) -> bool) -> Option<Vec<Branch>> {
        let mut open = vec![Branch {
            todo: set.to_vec(),
            seen: Vec::new(),
            next: Vec::new(),
            put_off: 0,
        }];
        let mut done = Vec::new();
        let mut work = 0;
        'branches: while let Some(mut branch) = open.pop() {
            work += branch.todo.len() + branch.seen.len() + branch.next.len() + 8;
            if work > MOST_WORK {
                return None;
            }
            while let Some(goal) = branch.todo.pop() {
                if branch.seen.contains(&goal) {
                    continue;
                }
                branch.seen.push(goal);
                match &self.rules[&goal] {
                    Rule::True => continue 'branches,
                    Rule::False => {}
                    Rule::Literal(proposition, negated) => {
                        if holds(*proposition) != *negated {
                            continue 'branches;
                        }
                    }
                    Rule::Next(goal) => branch.next.push(*goal),
                    Rule::Any(goals) => branch.todo.extend(goals),
                    Rule::All(subgoals) => {
                        for subgoal in subgoals {
                            open.push(branch.with(subgoal));
                        }
                        continue 'branches;
                    }
                    Rule::Fixpoint {
                        first,
                        second,
                        lasting,
                    } => {
                        let mut later = branch.with(second);
                        later.next.push(goal);
                        later.put_off |= lasting.map_or(0, |mark| 1 << mark);
                        open.push(later);
                        open.push(branch.with(first));
                        continue 'branches;
                    }
                }
            }
            branch.next.sort_unstable();
            branch.next.dedup();
            done.push(branch);
        }
        Some(done)
    }
}

impl Branch {
    /// The same branch with more to do.
    fn with(&self, more: &[Signed]) -> Branch {
        let mut branch = self.clone();
        branch.todo.extend(more);
        branch
    }
}

fn rule(formulas: &Formulas, goal: Signed, marks: &mut u32) -> Rule {
    let negated = goal & 1 == 1;
    let same = |formula: FormulaId| signed(formula, negated);
    let plain = |formula: FormulaId| signed(formula, false);
    let not = |formula: FormulaId| signed(formula, true);
    let mut lasting = || {
        let mark = *marks;
        *marks += 1;
        Some(mark)
    };
    match (formulas.node(FormulaId(goal >> 1)), negated) {
        (Node::True, false) | (Node::False, true) => Rule::True,
        (Node::True, true) | (Node::False, false) => Rule::False,
        (Node::Atom(atom), _) => Rule::Literal(atom.0, negated),
        (Node::Not(a), _) => Rule::Any(vec![signed(a, !negated)]),
        (Node::And(operands), false) | (Node::Or(operands), true) => {
            Rule::All(operands.iter().map(|&a| vec![same(a)]).collect())
        }
        (Node::Or(operands), false) | (Node::And(operands), true) => {
            Rule::Any(operands.iter().map(|&a| same(a)).collect())
        }
        (Node::Implies(a, b), false) => Rule::Any(vec![not(a), plain(b)]),
        (Node::Implies(a, b), true) => Rule::All(vec![vec![plain(a)], vec![not(b)]]),
        (Node::Iff(a, b), false) | (Node::Xor(a, b), true) => {
            Rule::All(vec![vec![not(a), plain(b)], vec![plain(a), not(b)]])
        }
        (Node::Xor(a, b), false) | (Node::Iff(a, b), true) => {
            Rule::All(vec![vec![plain(a), plain(b)], vec![not(a), not(b)]])
        }
        (Node::Next(a), _) => Rule::Next(same(a)),
        (Node::Finally(a), false) | (Node::Globally(a), true) => Rule::Fixpoint {
            // The first subgoal of `true U a` succeeds.
            first: vec![plain(Formulas::TRUE)],
            second: vec![same(a)],
            lasting: None,
        },
        (Node::Globally(a), false) | (Node::Finally(a), true) => Rule::Fixpoint {
            first: vec![same(a)],
            second: Vec::new(),
            lasting: lasting(),
        },
        (Node::Until(a, b), false) | (Node::Release(a, b), true) => Rule::Fixpoint {
            first: vec![same(a), same(b)],
            second: vec![same(b)],
            lasting: None,
        },
        (Node::Release(a, b), false) | (Node::Until(a, b), true) => Rule::Fixpoint {
            first: vec![same(b)],
            second: vec![same(a)],
            lasting: lasting(),
        },
        // a W b = b R (a or b); a M b = b U (a and b).
        (Node::WeakUntil(a, b), false) | (Node::StrongRelease(a, b), true) => Rule::Fixpoint {
            first: vec![same(a), same(b)],
            second: vec![same(b)],
            lasting: lasting(),
        },
        (Node::StrongRelease(a, b), false) | (Node::WeakUntil(a, b), true) => Rule::Fixpoint {
            first: vec![same(b)],
            second: vec![same(a)],
            lasting: None,
        },
    }
}

impl Observer for Tableau {
    fn initial(&self, out: &mut Vec<u32>) {
        out.push(self.initial);
    }

    fn marks(&self) -> u32 {
        self.marks
    }

    fn letter(&self, _place: u32, holds: &mut dyn FnMut(u32) -> bool) -> Option<u64> {
        if self.propositions.len() > 64 {
            return None;
        }
        let propositions = self.propositions.iter().enumerate();
        Some(propositions.fold(0, |letter, (i, &p)| letter | u64::from(holds(p)) << i))
    }

    fn moves(&self, place: u32, holds: &mut dyn FnMut(u32) -> bool, out: &mut Vec<Move>) -> bool {
        let set = self.places.borrow().sets[place as usize].clone();
        let all = (1u64 << self.marks).wrapping_sub(1) as u32;
        let Some(branches) = self.expand(&set, holds) else {
            return false;
        };
        let mut moves: Vec<Move> = branches
            .into_iter()
            .map(|branch| Move {
                to: self.places.borrow_mut().intern(branch.next),
                marks: all & !branch.put_off,
                leaves: false,
            })
            .collect();
        moves.sort_unstable();
        moves.dedup();
        out.extend(moves);
        true
    }
}
