//! Why a run does not satisfy a formula, in plain words and at the steps where it shows.
//!
//! The replayer knows the truth of every subformula at every step ([`Truth`]). Starting from the
//! formula, which is false at the first step, this follows the reason from operator to operator: `G
//! a` is false because `a` is false at some later step, `a -> F b` because `a` is true and `b` is
//! waited for in vain from there on. The outcome is a few remarks for the steps of the trace.
//! Conditions that are waited for and never come are what a Büchi automaton would be waiting for in
//! its states.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use droste_base::{Guard, StopReason};
use droste_program::Program;
use droste_program::execution::Execution;
use droste_program::temporal::{Formula, Temporal};
use droste_replay::{Call, Moment, Truth};

/// More remarks than this are not made.
const MOST: usize = 12;

/// Reasons are not followed into calls that are nested deeper than this.
const DEEPEST: usize = 64;

/// Before what is said about a step of a callee at the call.
pub(crate) const IN_CALL: &str = "in this call, ";

/// A position: the number of a step, from 0; if more numbers follow, of a step of the callee that
/// is called there, and so on. The return has the number after the last step.
pub(crate) type StepPath = Vec<usize>;

/// What is said about the steps of an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Remarks by place.
    pub(crate) at: BTreeMap<StepPath, Vec<String>>,
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
                moments: truth.moments().into(),
                truth: &truth,
                calls: HashMap::new(),
                reasons: &mut reasons,
                made: 0,
            }
            .explain();
        }
        Ok(reasons)
    }

    /// What is said at a place, and, if the call that begins there is not to be seen, in the call.
    pub(crate) fn texts(&self, place: &[usize], folded: bool) -> Vec<String> {
        let from = self.at.range(place.to_vec()..);
        let within = from.take_while(|(other, _)| other.starts_with(place));
        let mut all = Vec::new();
        for (other, texts) in within {
            for text in texts {
                let text = if other.len() == place.len() {
                    text.clone()
                } else if folded {
                    format!("{IN_CALL}{text}")
                } else {
                    continue;
                };
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
        all
    }
}

struct Explainer<'a> {
    formula: &'a Formula,
    truth: &'a Truth<'a>,
    /// The positions of the execution's own steps.
    moments: Rc<[Moment]>,
    /// Those of calls.
    calls: HashMap<Call, Rc<[Moment]>>,
    reasons: &'a mut Reasons,
    made: usize,
}

/// Where something is found.
#[derive(Clone, PartialEq, Eq)]
enum Occurrence {
    At(StepPath),
    /// In the call that begins there, too deep to be followed.
    Inside(StepPath),
}

impl Explainer<'_> {
    fn explain(&mut self) {
        let root = self.formula.nodes.len() as u32 - 1;
        let mut agenda = vec![(root, vec![0usize])];
        while let Some((node, place)) = agenda.pop() {
            if self.made >= MOST {
                break;
            }
            let before = agenda.len();
            self.reason(node, &place, &mut agenda);
            // The first operand is explained first.
            agenda[before..].reverse();
        }
    }

    fn text(&self, node: u32) -> &str {
        self.formula.texts.get(node as usize).map_or("?", |t| t)
    }

    fn say(&mut self, found: Occurrence, text: String) {
        let (place, text) = match found {
            Occurrence::At(place) => (place, text),
            Occurrence::Inside(place) => (place, format!("{IN_CALL}{text}")),
        };
        let remarks = self.reasons.at.entry(place).or_default();
        if !remarks.contains(&text) {
            remarks.push(text);
            self.made += 1;
        }
    }

    /// The positions of the steps to which the place belongs that has these numbers before its
    /// last.
    fn level(&mut self, before: &[usize]) -> Rc<[Moment]> {
        let mut moments = Rc::clone(&self.moments);
        for &i in before {
            let call = moments.get(i).and_then(Moment::call);
            moments = call.map_or_else(|| Rc::from([]), |call| self.inside(call));
        }
        moments
    }

    fn inside(&mut self, call: Call) -> Rc<[Moment]> {
        let truth = self.truth;
        let moments = self.calls.entry(call);
        Rc::clone(moments.or_insert_with(|| truth.moments_of(call).into()))
    }

    fn is_true(&mut self, node: u32, place: &[usize]) -> bool {
        let Some((last, before)) = place.split_last() else {
            return false;
        };
        let level = self.level(before);
        level
            .get(*last)
            .is_some_and(|moment| self.truth.at(moment, node))
    }

    /// The first place from `place` on, round the cycle if need be, at which the node has this
    /// value.
    fn first(&mut self, node: u32, value: bool, place: &[usize]) -> Option<Occurrence> {
        for depth in (0..place.len()).rev() {
            let (before, from) = (&place[..depth], place[depth]);
            let level = self.level(before);
            // What is called at an outer step has been left behind.
            let from = from + usize::from(depth + 1 < place.len());
            let again = match depth {
                0 => self.truth.cycle().min(from)..from,
                _ => 0..0,
            };
            for i in (from..level.len()).chain(again) {
                let Some(moment) = level.get(i).filter(|moment| !moment.is_silent()) else {
                    continue;
                };
                let here = [before, &[i][..]].concat();
                if self.truth.at(moment, node) == value {
                    return Some(Occurrence::At(here));
                }
                if self.truth.inside(moment, node, value) {
                    return Some(self.descend(node, value, here));
                }
            }
        }
        None
    }

    /// The first position of the call at `place` at which the node has this value; there is one.
    fn descend(&mut self, node: u32, value: bool, mut place: StepPath) -> Occurrence {
        loop {
            if place.len() > DEEPEST {
                return Occurrence::Inside(place);
            }
            let level = self.level(&place);
            let truth = self.truth;
            let next = level.iter().position(|moment| {
                !moment.is_silent()
                    && (truth.at(moment, node) == value || truth.inside(moment, node, value))
            });
            let Some(next) = next else {
                return Occurrence::Inside(place);
            };
            place.push(next);
            if truth.at(&level[next], node) == value {
                return Occurrence::At(place);
            }
        }
    }

    /// Goes on with `node` where it has `value` for the first time.
    fn follow(
        &mut self,
        node: u32,
        value: bool,
        place: &[usize],
        agenda: &mut Vec<(u32, StepPath)>,
    ) {
        match self.first(node, value, place) {
            Some(Occurrence::At(place)) => agenda.push((node, place)),
            Some(found) => {
                let is = if value { "true" } else { "false" };
                let text = format!("`{}` is {is}", self.text(node));
                self.say(found, text);
            }
            None => {}
        }
    }

    /// Why a node has the value that it has at a position.
    fn reason(&mut self, node: u32, place: &[usize], agenda: &mut Vec<(u32, StepPath)>) {
        use Temporal::{
            And, Constant, Finally, Globally, Iff, Implies, Next, Not, Or, Proposition, Release,
            StrongRelease, Until, WeakUntil,
        };
        let here = Occurrence::At(place.to_vec());
        let value = self.is_true(node, place);
        match (self.formula.nodes[node as usize], value) {
            (Constant(_), _) => {}
            (Proposition(_), true) => self.say(here, format!("`{}` holds", self.text(node))),
            (Proposition(_), false) => {
                self.say(here, format!("`{}` does not hold", self.text(node)));
            }
            (Not(a), _) => agenda.push((a, place.to_vec())),
            (And(a, b), true) | (Or(a, b) | Implies(a, b), false) | (Iff(a, b), _) => {
                agenda.extend([(a, place.to_vec()), (b, place.to_vec())]);
            }
            (Or(a, b), true) => {
                let one = if self.is_true(a, place) { a } else { b };
                agenda.push((one, place.to_vec()));
            }
            (And(a, b), false) | (Implies(a, b), true) => {
                let one = if self.is_true(a, place) { b } else { a };
                agenda.push((one, place.to_vec()));
            }
            (Next(a), _) => {
                let is = if value { "true" } else { "false" };
                self.say(here, format!("`{}` is {is} at the next step", self.text(a)));
            }
            (Finally(a) | StrongRelease(a, _), true) => self.follow(a, true, place, agenda),
            (Finally(a), false) => self.wait(a, place),
            (Globally(a), false) => self.follow(a, false, place, agenda),
            (Globally(a), true) => {
                self.say(here, format!("from here on always `{}`", self.text(a)));
            }
            (Until(_, b), true) => self.follow(b, true, place, agenda),
            (Until(a, b), false) => match self.first(a, false, place) {
                Some(found) => self.ends_before(a, b, found),
                None => self.wait(b, place),
            },
            (WeakUntil(a, b), false) => {
                if let Some(found) = self.first(a, false, place) {
                    self.ends_before(a, b, found);
                }
            }
            (WeakUntil(a, b), true) => match self.first(b, true, place) {
                Some(_) => self.follow(b, true, place, agenda),
                None => self.say(here, format!("from here on always `{}`", self.text(a))),
            },
            (Release(_, b), false) => self.follow(b, false, place, agenda),
            (Release(a, b), true) => {
                let text = format!("from here on `{}` until `{}`", self.text(b), self.text(a));
                self.say(here, text);
            }
            (StrongRelease(a, b), false) => match self.first(b, false, place) {
                Some(_) => self.follow(b, false, place, agenda),
                None => self.wait(a, place),
            },
        }
    }

    /// `node` never comes.
    fn wait(&mut self, node: u32, place: &[usize]) {
        let text = format!("waiting for `{}` from here on, in vain", self.text(node));
        self.say(Occurrence::At(place.to_vec()), text);
    }

    fn ends_before(&mut self, a: u32, b: u32, found: Occurrence) {
        let text = format!(
            "`{}` ends and there was no `{}`",
            self.text(a),
            self.text(b)
        );
        self.say(found, text);
    }
}
