//! A program as a weighted pushdown system.
//!
//! There is one control state. A symbol stands for a node, or for the return of a call, where the
//! results are stored. Variables are numbered by *slots*: first globals, then locals, then results on their
//! way to the caller. The first locals of all procedures share one slot, and so do the second, and so on.

use std::collections::BTreeMap;

use droste_base::{Limits, StopReason};
use droste_pds::domains::{Boolean, Call, Framed, Scoped};
use droste_pds::{
    Automaton, Direction, Domain, MergeId, Options, Pds, PdsBuilder, Replace, Rule, StateId,
    SymbolId, Transition, poststar, prestar,
};
use droste_program::{Expr, Node, NodeId, Op, Program, VarRef};

use crate::nodes;

const CONTROL: StateId = StateId(0);

/// Where variables stand in a weight.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    globals: u32,
    locals: u32,
    results: u32,
}

impl Slots {
    /// The slots of a program.
    pub fn new(program: &Program) -> Self {
        let most = |count: &dyn Fn(&droste_program::Procedure) -> usize| {
            program.procedures.iter().map(count).max().unwrap_or(0) as u32
        };
        Slots {
            globals: program.globals.len() as u32,
            locals: most(&|procedure| procedure.locals.len()),
            results: most(&|procedure| procedure.results.len()),
        }
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.globals + self.locals + self.results
    }

    /// That of a variable.
    pub fn of(self, var: VarRef) -> u32 {
        match var {
            VarRef::Global(i) => i,
            VarRef::Local(i) => self.globals + i,
        }
    }

    /// That of a result.
    pub fn result(self, i: u32) -> u32 {
        self.globals + self.locals + i
    }

    /// Those of locals.
    pub fn locals(self) -> std::ops::Range<u32> {
        self.globals..self.globals + self.locals
    }

    /// Those of globals.
    pub fn globals(self) -> std::ops::Range<u32> {
        0..self.globals
    }

    /// Those of results.
    pub fn results(self) -> std::ops::Range<u32> {
        self.globals + self.locals..self.count()
    }
}

/// A call, without what belongs to the caller.
pub struct Passing<W> {
    /// What happens in the caller's frame before.
    pub before: W,
    /// What makes the callee's frame of the caller's.
    pub enter: W,
}

/// What statements do in a domain.
pub trait Semantics {
    /// The domain.
    type Domain: Scoped;

    /// The domain.
    fn domain(&self) -> Self::Domain;

    /// The variables of a weight that belong to the frame of a procedure.
    fn kept(&self, slots: Slots) -> Vec<u32> {
        slots.locals().collect()
    }

    /// A step that stays in the procedure; of a condition, with its value. Nothing if there is no
    /// such step.
    fn step(&self, node: &Node, condition: Option<(&Expr, bool)>) -> Option<Weight<Self>>;

    /// A call.
    fn call(&self, node: &Node) -> Passing<Weight<Self>>;

    /// The results of a call are stored, and its conditions tested.
    fn store(&self, node: &Node) -> Weight<Self>;

    /// A return: results go to their slots.
    fn give_back(&self, node: &Node, values: &[Expr]) -> Weight<Self>;
}

/// The weights of an analysis.
pub type Weight<S> = <<S as Semantics>::Domain as Domain>::Weight;

/// The pushdown system of a program, with its domain.
pub struct Flow<S: Semantics + ?Sized> {
    domain: Framed<S::Domain>,
    pds: Pds<Weight<S>>,
    entry: SymbolId,
    nodes: u32,
}

impl<S: Semantics> Flow<S> {
    /// Translates a program.
    pub fn new(
        program: &Program,
        slots: Slots,
        semantics: &S,
        limits: &Limits,
    ) -> Result<Self, StopReason> {
        let mut guard = limits.guard();
        let count = program.nodes.len() as u32;
        let mut flow = Rules {
            domain: Framed::new(semantics.domain()),
            builder: PdsBuilder::new(1, 2 * count),
        };
        for id in nodes(program) {
            // A weight may be large.
            guard.check_now()?;
            flow.add(program, slots, semantics, id)?;
        }
        Ok(Flow {
            domain: flow.domain,
            pds: flow.builder.build(),
            entry: symbol(program.procedure(program.main).entry),
            nodes: count,
        })
    }

    /// The domain.
    pub fn domain(&self) -> &S::Domain {
        self.domain.inner()
    }

    /// For each node, the combined weight of all paths from the beginning of the program.
    pub fn forward(&self, limits: &Limits) -> Result<Vec<Option<Weight<S>>>, StopReason> {
        let start = self.start(&self.domain)?;
        let post = poststar(&self.domain, &self.pds, &start, &options(limits))?;
        Ok(self.by_node(post.heads(&self.domain)?))
    }

    /// For each node, the combined weight of all paths from it on, whether they end or not.
    pub fn onward(&self, limits: &Limits) -> Result<Vec<Option<Weight<S>>>, StopReason> {
        let domain = &self.domain;
        let mut everything = Automaton::new(1, Direction::Forward);
        let rest = everything.state();
        for state in [CONTROL, rest] {
            everything.accept(domain, state, domain.one())?;
            for symbol in (0..self.pds.symbols()).map(SymbolId) {
                let transition = Transition::new(state, symbol, rest);
                everything.add(domain, transition, domain.one())?;
            }
        }
        let pre = prestar(domain, &self.pds, &everything, &options(limits))?;
        // Only stacks that there can be.
        let start = self.start(&Boolean)?;
        let skeleton = self.skeleton();
        let reachable = poststar(&Boolean, &skeleton, &start, &options(limits))?;
        Ok(self.by_node(pre.restricted(domain, &reachable)?.heads(domain)?))
    }

    fn skeleton(&self) -> Pds<bool> {
        let mut builder = PdsBuilder::new(1, self.pds.symbols());
        for rule in self.pds.rules() {
            builder.rule(
                Rule {
                    merge: None,
                    ..*rule
                },
                true,
            );
        }
        builder.build()
    }

    fn start<D: Domain>(&self, domain: &D) -> Result<Automaton<D::Weight>, StopReason> {
        let mut start = Automaton::new(1, Direction::Backward);
        let end = start.state();
        let transition = Transition::new(CONTROL, self.entry, end);
        start.add(domain, transition, domain.one())?;
        start.accept(domain, end, domain.one())?;
        Ok(start)
    }

    fn by_node(&self, heads: BTreeMap<(StateId, SymbolId), Weight<S>>) -> Vec<Option<Weight<S>>> {
        let mut of_node = vec![None; self.nodes as usize];
        for ((_, symbol), weight) in heads {
            if symbol.0 < self.nodes && !self.domain.is_zero(&weight) {
                of_node[symbol.0 as usize] = Some(weight);
            }
        }
        of_node
    }
}

fn options(limits: &Limits) -> Options {
    Options {
        limits: limits.clone(),
        ..Options::default()
    }
}

fn symbol(node: NodeId) -> SymbolId {
    SymbolId(node.0)
}

struct Rules<D: Scoped> {
    domain: Framed<D>,
    builder: PdsBuilder<D::Weight>,
}

impl<D: Scoped> Rules<D> {
    fn rule(&mut self, top: SymbolId, replace: Replace, merge: Option<MergeId>, weight: D::Weight) {
        let rule = Rule {
            from: CONTROL,
            top,
            to: CONTROL,
            replace,
            merge,
        };
        self.builder.rule(rule, weight);
    }

    fn add<S: Semantics<Domain = D>>(
        &mut self,
        program: &Program,
        slots: Slots,
        semantics: &S,
        id: NodeId,
    ) -> Result<(), StopReason> {
        let node = program.node(id);
        let top = symbol(id);
        match &node.op {
            Op::Branch { condition, yes, no } => {
                for (value, next) in [(true, *yes), (false, *no)] {
                    if let Some(weight) = semantics.step(node, Some((condition, value))) {
                        self.rule(top, Replace::Step(symbol(next)), None, weight);
                    }
                }
            }
            Op::Assume { condition, next } | Op::Assert { condition, next } => {
                if let Some(weight) = semantics.step(node, Some((condition, true))) {
                    self.rule(top, Replace::Step(symbol(*next)), None, weight);
                }
            }
            Op::Call { callee, next, .. } => {
                let Passing { before, enter } = semantics.call(node);
                let kept = semantics.kept(slots);
                let call = Call {
                    before,
                    enter,
                    kept,
                };
                let (merge, weight) = self.domain.call(call)?;
                let entry = symbol(program.procedure(*callee).entry);
                let back = SymbolId(program.nodes.len() as u32 + id.0);
                self.rule(top, Replace::Push(entry, back), Some(merge), weight);
                self.rule(
                    back,
                    Replace::Step(symbol(*next)),
                    None,
                    semantics.store(node),
                );
            }
            Op::Return(values) => {
                let weight = semantics.give_back(node, values);
                self.rule(top, Replace::Pop, None, weight);
            }
            op => {
                if let Some(weight) = semantics.step(node, None) {
                    op.for_each_next(|next| {
                        let step = Replace::Step(symbol(next));
                        self.rule(top, step, None, weight.clone());
                    });
                }
            }
        }
        Ok(())
    }
}
