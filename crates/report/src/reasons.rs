//! Why a run does not satisfy a formula, in plain words and at the steps where it shows.
//!
//! The replayer knows the truth of every subformula at every step ([`Truth`]). Starting from the formula, which is
//! false at the first step, this follows the reason from operator to operator: `G a` is false because `a` is false at some later
//! step, `a -> F b` because `a` is true and `b` is waited for in vain from there on. The outcome is a
//! few remarks for the steps of the trace. Conditions that are waited for and never come are what a
//! Büchi automaton would be waiting for in its states.

use std::collections::BTreeMap;

use droste_base::{Guard, StopReason};
use droste_lang::execution::Execution;
use droste_lang::program::Program;
use droste_lang::temporal::{Formula, Temporal};
use droste_replay::Truth;

/// More remarks than this are not made.
const MOST: usize = 12;

/// What is said about the steps of an execution, by their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Remarks by the number of the step, from 0.
    pub at: BTreeMap<usize, Vec<String>>,
}

impl Reasons {
    /// Why `execution` does not satisfy `formula`; nothing if it is finite or does.
    pub fn new(
        program: &Program,
        execution: &Execution,
        formula: &Formula,
        guard: &mut Guard,
    ) -> Result<Self, StopReason> {
        let mut reasons = Reasons::default();
        if let Some(truth) = Truth::new(program, execution, formula, guard)?
            && !truth.holds()
        {
            Explainer {
                formula,
                truth: &truth,
                reasons: &mut reasons,
                made: 0,
            }
            .explain();
        }
        Ok(reasons)
    }
}

struct Explainer<'a> {
    formula: &'a Formula,
    truth: &'a Truth<'a>,
    reasons: &'a mut Reasons,
    made: usize,
}

/// Where something is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    At(usize),
    /// In the call that begins there.
    Inside(usize),
}

impl Explainer<'_> {
    fn explain(&mut self) {
        let root = self.formula.nodes.len() as u32 - 1;
        let mut agenda = vec![(root, 0usize)];
        while let Some((node, position)) = agenda.pop() {
            if self.made >= MOST {
                break;
            }
            let before = agenda.len();
            self.reason(node, position, &mut agenda);
            // The first operand is explained first.
            agenda[before..].reverse();
        }
    }

    fn text(&self, node: u32) -> &str {
        self.formula.texts.get(node as usize).map_or("?", |t| t)
    }

    fn say(&mut self, place: Place, text: String) {
        let (position, text) = match place {
            Place::At(position) => (position, text),
            Place::Inside(position) => (position, format!("in this call, {text}")),
        };
        let remarks = self.reasons.at.entry(position).or_default();
        if !remarks.contains(&text) {
            remarks.push(text);
            self.made += 1;
        }
    }

    /// The first place from `position` on, round the cycle if need be, at which the node has this value.
    fn first(&self, node: u32, value: bool, position: usize) -> Option<Place> {
        let end = self.truth.positions();
        let again = self.truth.cycle().min(position)..position;
        (position..end).chain(again).find_map(|i| {
            if self.truth.at(i, node) == value {
                Some(Place::At(i))
            } else {
                self.truth
                    .inside(i, node, value)
                    .then_some(Place::Inside(i))
            }
        })
    }

    /// Goes on with `node` where it has `value` for the first time.
    fn follow(&mut self, node: u32, value: bool, position: usize, agenda: &mut Vec<(u32, usize)>) {
        match self.first(node, value, position) {
            Some(Place::At(i)) => agenda.push((node, i)),
            Some(place @ Place::Inside(_)) => {
                let is = if value { "true" } else { "false" };
                let text = format!("`{}` is {is}", self.text(node));
                self.say(place, text);
            }
            None => {}
        }
    }

    /// Why a node has the value that it has at a position.
    fn reason(&mut self, node: u32, position: usize, agenda: &mut Vec<(u32, usize)>) {
        use Temporal::{
            And, Constant, Finally, Globally, Iff, Implies, Next, Not, Or, Proposition, Release,
            StrongRelease, Until, WeakUntil,
        };
        let here = Place::At(position);
        let is_true = |node: u32| self.truth.at(position, node);
        let value = is_true(node);
        match (self.formula.nodes[node as usize], value) {
            (Constant(_), _) => {}
            (Proposition(_), true) => self.say(here, format!("`{}` holds", self.text(node))),
            (Proposition(_), false) => {
                self.say(here, format!("`{}` does not hold", self.text(node)));
            }
            (Not(a), _) => agenda.push((a, position)),
            (And(a, b), true) | (Or(a, b), false) | (Iff(a, b), _) => {
                agenda.extend([(a, position), (b, position)]);
            }
            (Or(a, b), true) => agenda.push((if is_true(a) { a } else { b }, position)),
            (And(a, b), false) | (Implies(a, b), true) => {
                agenda.push((if is_true(a) { b } else { a }, position));
            }
            (Implies(a, b), false) => agenda.extend([(a, position), (b, position)]),
            (Next(a), _) => {
                let is = if value { "true" } else { "false" };
                self.say(here, format!("`{}` is {is} at the next step", self.text(a)));
            }
            (Finally(a) | StrongRelease(a, _), true) => self.follow(a, true, position, agenda),
            (Finally(a), false) => self.wait(a, position),
            (Globally(a), false) => self.follow(a, false, position, agenda),
            (Globally(a), true) => {
                self.say(here, format!("from here on always `{}`", self.text(a)));
            }
            (Until(_, b), true) => self.follow(b, true, position, agenda),
            (Until(a, b), false) => match self.first(a, false, position) {
                Some(place) => self.ends_before(a, b, place),
                None => self.wait(b, position),
            },
            (WeakUntil(a, b), false) => {
                if let Some(place) = self.first(a, false, position) {
                    self.ends_before(a, b, place);
                }
            }
            (WeakUntil(a, b), true) => match self.first(b, true, position) {
                Some(_) => self.follow(b, true, position, agenda),
                None => self.say(here, format!("from here on always `{}`", self.text(a))),
            },
            (Release(_, b), false) => self.follow(b, false, position, agenda),
            (Release(a, b), true) => {
                let text = format!("from here on `{}` until `{}`", self.text(b), self.text(a));
                self.say(here, text);
            }
            (StrongRelease(a, b), false) => match self.first(b, false, position) {
                Some(_) => self.follow(b, false, position, agenda),
                None => self.wait(a, position),
            },
        }
    }

    /// `node` never comes.
    fn wait(&mut self, node: u32, position: usize) {
        let text = format!("waiting for `{}` from here on, in vain", self.text(node));
        self.say(Place::At(position), text);
    }

    fn ends_before(&mut self, a: u32, b: u32, place: Place) {
        let text = format!(
            "`{}` ends and there was no `{}`",
            self.text(a),
            self.text(b)
        );
        self.say(place, text);
    }
}
