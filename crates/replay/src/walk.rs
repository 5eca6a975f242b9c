//! Random walks: a simulator that goes through a program, chooses at random wherever there is a
//! choice, and writes down what it does as an [`Execution`].
//!
//! It keeps the whole stack. When a procedure returns, what it did becomes a
//! [`CalleeRun`] and its call a folded step; calls that are open at the end stay calls. So the
//! runs are numbered in the order in which they return, and refer to earlier ones only.
//!
//! New values under a `constrain` are found by trying; if none of the guesses is allowed, the walk ends
//! there, as it does where the program is stuck.

use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Changes, Ending, Execution, Step, Valuation,
};
use droste_program::{Expr, NodeId, Op, ProcId, Program, Value, VarRef, Variable};

use crate::step::{self, Caller, Stores};
use crate::values::{Failures, Scene, Undecided, Values, evaluate};

/// How often new values are guessed before a step counts as impossible.
const TRIES: u32 = 200;

/// One in so many steps takes a violation where one is possible.
const FAILURES: u64 = 4;

/// `SplitMix64` (Steele, Lea and Flood, 2014): small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn value(&mut self, values: &Values) -> Option<Value> {
        let count = values.count();
        let index = u128::from(self.next()) << 64 | u128::from(self.next());
        values.nth(index.checked_rem(count)?)
    }

    fn any(&mut self, variables: &[Variable]) -> Vec<Value> {
        let value = |v: &Variable| {
            let all = Values::Interval(v.ty.lo(), v.ty.hi());
            self.value(&all).unwrap_or(v.ty.lo())
        };
        variables.iter().map(value).collect()
    }
}

/// A procedure that has not returned.
struct Frame {
    procedure: ProcId,
    node: NodeId,
    /// The globals at the entry; the locals at the entry.
    entry: Valuation,
    locals: Vec<Value>,
    steps: Vec<Step>,
}

struct Walk<'a> {
    program: &'a Program,
    random: Random,
    globals: Vec<Value>,
    stack: Vec<Frame>,
    runs: Vec<CalleeRun>,
}

/// What came of trying to make a step.
enum Progress {
    Done,
    Stuck,
    Over(Action),
}

/// Walks through `program` for at most `max_steps` steps, calls and returns included. The same
/// seed gives the same walk. It ends [`Ending::At`] a node, or [`Ending::Final`] if it comes
/// to a violation or `main` returns.
pub fn random_walk(program: &Program, seed: u64, max_steps: usize) -> Execution {
    let mut random = Random(seed);
    let globals = random.any(&program.globals);
    let mut walk = Walk {
        program,
        random,
        globals,
        stack: Vec::new(),
        runs: Vec::new(),
    };
    let locals = walk.random.any(&program.procedure(program.main).locals);
    walk.enter(program.main, locals);
    let mut last = None;
    for _ in 0..max_steps {
        match walk.step() {
            Ok(Progress::Done) => {}
            Ok(Progress::Over(action)) => {
                last = Some(action);
                break;
            }
            Ok(Progress::Stuck) | Err(Undecided(_)) => break,
        }
    }
    walk.finish(last)
}

impl Walk<'_> {
    fn enter(&mut self, procedure: ProcId, locals: Vec<Value>) {
        self.stack.push(Frame {
            procedure,
            node: self.program.procedure(procedure).entry,
            entry: Valuation {
                globals: self.globals.clone(),
                locals: locals.clone(),
            },
            locals,
            steps: Vec::new(),
        });
    }

    /// Values for `stores` that the relation allows, if any are found.
    fn choose(
        &mut self,
        stores: &Stores,
        (constrain, ensure): (Option<&Expr>, Option<&Expr>),
        now: &Valuation,
        base: &Valuation,
    ) -> Result<Option<Valuation>, Undecided> {
        if stores.hopeless {
            return Ok(None);
        }
        let tries = if constrain.is_none() && ensure.is_none() {
            1
        } else {
            TRIES
        };
        for attempt in 0..tries {
            let mut next = base.clone();
            for (var, outcomes) in &stores.vars {
                // Every other attempt keeps about half of the values that can be kept.
                let keep =
                    attempt % 2 == 1 && self.random.below(2) == 0 && outcomes.can_be(now.get(*var));
                if keep {
                    next.set(*var, now.get(*var));
                } else if let Some(value) = self.random.value(&outcomes.values) {
                    next.set(*var, value);
                }
            }
            if step::related(constrain, ensure, now, &next)? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    fn step(&mut self) -> Result<Progress, Undecided> {
        let program = self.program;
        let Some((top, below)) = self.stack.split_last() else {
            return Ok(Progress::Stuck);
        };
        let node = program.node(top.node);
        let now = Valuation {
            globals: self.globals.clone(),
            locals: top.locals.clone(),
        };
        let caller = below.last().map(|frame| Caller {
            node: frame.node,
            locals: &frame.locals,
            globals: &top.entry.globals,
        });
        let failures = step::failures(program, node, &now, caller.as_ref())?;
        let fail = self.failure(failures);
        if self.random.below(FAILURES) == 0
            && let Some(action) = fail
        {
            return Ok(Progress::Over(action));
        }
        let progress = self.go_on(node.procedure, &now)?;
        Ok(match (progress, self.failure(failures)) {
            (Progress::Stuck, Some(action)) => Progress::Over(action),
            (progress, _) => progress,
        })
    }

    /// One of the possible failures.
    fn failure(&mut self, failures: Failures) -> Option<Action> {
        let all: Vec<_> = failures.iter().collect();
        let index = self.random.below(all.len() as u64) as usize;
        all.get(index).map(|&violation| Action::Fail(violation))
    }

    /// Makes a step that does not fail.
    fn go_on(&mut self, procedure: ProcId, now: &Valuation) -> Result<Progress, Undecided> {
        let program = self.program;
        let Some(at) = self.stack.last().map(|frame| frame.node) else {
            return Ok(Progress::Stuck);
        };
        let node = program.node(at);
        let truth = |condition: &Expr| evaluate(condition, &Scene::of(now));
        let mut relation = (None, step::ensure(node));
        let mut stores = Stores::default();
        let targets: Vec<NodeId> = match &node.op {
            Op::Goto(targets) => targets.clone(),
            Op::AtomicBegin(next) | Op::AtomicEnd(next) => vec![*next],
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => {
                stores = step::assignments(program, procedure, assigns, discards, now)?;
                relation.0 = constrain.as_ref();
                vec![*next]
            }
            Op::Branch { condition, yes, no } => {
                let outcomes = truth(condition)?;
                let yes = Some(*yes).filter(|_| outcomes.can_be(1));
                let no = Some(*no).filter(|_| outcomes.can_be(0));
                yes.into_iter().chain(no).collect()
            }
            Op::Assume { condition, next } | Op::Assert { condition, next } => {
                let possible = truth(condition)?.can_be(1);
                Some(*next).filter(|_| possible).into_iter().collect()
            }
            Op::Call { callee, args, .. } => {
                let params = step::arguments(program, *callee, args, now)?;
                if params.hopeless {
                    return Ok(Progress::Stuck);
                }
                let mut locals = self.random.any(&program.procedure(*callee).locals);
                for (local, (_, outcomes)) in locals.iter_mut().zip(&params.vars) {
                    *local = self.random.value(&outcomes.values).unwrap_or(*local);
                }
                self.enter(*callee, locals);
                return Ok(Progress::Done);
            }
            Op::Return(values) => return self.leave(at, values, now),
            Op::Stuck | Op::StartThread { .. } | Op::EndThread => Vec::new(),
        };
        let index = self.random.below(targets.len() as u64) as usize;
        let (Some(&to), Some(next)) = (
            targets.get(index),
            self.choose(&stores, relation, now, now)?,
        ) else {
            return Ok(Progress::Stuck);
        };
        let changes = changes(now, &next);
        self.move_on(Action::Internal { to, changes }, to, next);
        Ok(Progress::Done)
    }

    /// Adds a step to the top frame and goes on.
    fn move_on(&mut self, action: Action, to: NodeId, next: Valuation) {
        if let Some(frame) = self.stack.last_mut() {
            let node = frame.node;
            frame.steps.push(Step { node, action });
            frame.node = to;
            frame.locals = next.locals;
            self.globals = next.globals;
        }
    }

    /// Returns from the node `exit`.
    fn leave(
        &mut self,
        exit: NodeId,
        values: &[Expr],
        now: &Valuation,
    ) -> Result<Progress, Undecided> {
        let program = self.program;
        let [.., caller, top] = &self.stack[..] else {
            let Some(main) = self.stack.last() else {
                return Ok(Progress::Stuck);
            };
            let results = step::results(program, main.procedure, values, now)?;
            let possible = results.iter().all(|r| !r.values.is_empty());
            return Ok(if possible {
                Progress::Over(Action::Terminate)
            } else {
                Progress::Stuck
            });
        };
        let call = program.node(caller.node);
        let Op::Call {
            targets,
            constrain,
            next: to,
            ..
        } = &call.op
        else {
            return Ok(Progress::Stuck);
        };
        let before = Valuation {
            globals: top.entry.globals.clone(),
            locals: caller.locals.clone(),
        };
        let possible = step::results(program, top.procedure, values, now)?;
        let base = (&now.globals[..], &before.locals[..]);
        let mut chosen = None;
        for _ in 0..TRIES {
            let results: Option<Vec<Value>> = possible
                .iter()
                .map(|outcomes| self.random.value(&outcomes.values))
                .collect();
            let Some(results) = results else { break };
            if let Ok(next) = step::after_return(program, call.procedure, targets, &results, base)
                && step::related(constrain.as_ref(), step::ensure(call), &before, &next)?
            {
                chosen = Some((results, next));
                break;
            }
        }
        let Some((results, next)) = chosen else {
            return Ok(Progress::Stuck);
        };
        let Some(frame) = self.stack.pop() else {
            return Ok(Progress::Stuck);
        };
        let run = CalleeRunId(self.runs.len() as u32);
        self.runs.push(CalleeRun {
            entry: frame.entry,
            steps: frame.steps.into(),
            exit,
            results,
        });
        let (to, changes) = (*to, changes(&before, &next));
        self.move_on(Action::Folded { run, to, changes }, to, next);
        Ok(Progress::Done)
    }

    fn finish(mut self, last: Option<Action>) -> Execution {
        let mut steps = Vec::new();
        let mut start = Valuation::default();
        let mut at = self.program.procedure(self.program.main).entry;
        let callees: Vec<Vec<Value>> = self.stack[1.min(self.stack.len())..]
            .iter()
            .map(|frame| frame.entry.locals.clone())
            .collect();
        let mut callees = callees.into_iter();
        for (depth, frame) in self.stack.drain(..).enumerate() {
            if depth == 0 {
                start = frame.entry;
            }
            steps.extend(frame.steps);
            at = frame.node;
            if let Some(locals) = callees.next() {
                steps.push(Step {
                    node: frame.node,
                    action: Action::Call {
                        locals: locals.into(),
                    },
                });
            }
        }
        let ending = match last {
            Some(action) => {
                steps.push(Step { node: at, action });
                Ending::Final
            }
            None => Ending::At(at),
        };
        Execution {
            start,
            runs: self.runs.into(),
            steps,
            ending,
        }
    }
}

/// The variables that differ.
fn changes(now: &Valuation, next: &Valuation) -> Changes {
    let differing = |now: &[Value], next: &[Value], var: fn(u32) -> VarRef| {
        now.iter()
            .zip(next)
            .enumerate()
            .filter(|(_, (a, b))| a != b)
            .map(|(i, (_, b))| (var(i as u32), *b))
            .collect::<Vec<_>>()
    };
    let mut all = differing(&now.globals, &next.globals, VarRef::Global);
    all.extend(differing(&now.locals, &next.locals, VarRef::Local));
    all.into()
}
