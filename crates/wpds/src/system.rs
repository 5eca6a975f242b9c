//! A program as an extended weighted pushdown system (sections 2.3 and 3.3 of the FWPDS paper).
//!
//! There is one control state. Nodes of the program are stack symbols. A step is a rule whose
//! weight is the relation of the step, a call is a push rule with a merge function, a return is a
//! pop rule. The weight of a push rule relates the caller's state to the state in which the callee
//! begins. A step before the callee's first node gives its locals any values.

use std::rc::Rc;

use droste_base::Limits;
use droste_bdd::{Bdd, Var};
use droste_blast::order::Kind;
use droste_pds::{MergeId, Pds, PdsBuilder, Replace, Rule, StateId, SymbolId};
use droste_program::{NodeId, Op, ProcId, VarRef};
use droste_relations::{Action, Call, Copy, Edge, Encoding, Query, Relation, Scope};
use rustc_hash::FxHashMap;

use crate::domain::{Copies, Relations, Result, Tender, Weight};
use crate::merge::Merge;
use crate::places::Places;

/// The control state.
pub(crate) const CONTROL: StateId = StateId(0);

/// The places of a program's states.
pub(crate) struct Layout<'a> {
    pub(crate) encoding: Encoding<'a>,
    pub(crate) copies: Vec<Copies>,
    pub(crate) globals: Places,
    pub(crate) locals: Places,
    /// For the second and the third copy of a place.
    copy: FxHashMap<Var, (usize, usize)>,
}

impl<'a> Layout<'a> {
    fn new(scope: &Scope<'a>, limits: &Limits) -> Result<Self> {
        let encoding = Encoding::new(scope.program, limits)?;
        let kinds: Vec<(Kind, Copies)> = encoding.places().collect();
        let of = |kind: Kind| {
            let places = kinds.iter().enumerate();
            let places = places.filter(move |(_, (other, _))| *other == kind);
            places.map(|(place, _)| place).collect()
        };
        let (globals, locals) = (of(Kind::Global), of(Kind::Local));
        let copies: Vec<Copies> = kinds.iter().map(|&(_, copies)| copies).collect();
        let mut copy = FxHashMap::default();
        for (place, copies) in copies.iter().enumerate() {
            copy.insert(copies[1], (place, 1));
            copy.insert(copies[2], (place, 2));
        }
        Ok(Layout {
            encoding,
            copies,
            globals,
            locals,
            copy,
        })
    }

    /// The place of which this is the second copy.
    pub(crate) fn current(&self, var: Var) -> Option<usize> {
        self.copy_of(var, 1)
    }

    /// The place of which this is the third copy.
    pub(crate) fn next(&self, var: Var) -> Option<usize> {
        self.copy_of(var, 2)
    }

    fn copy_of(&self, var: Var, number: usize) -> Option<usize> {
        let &(place, which) = self.copy.get(&var)?;
        (which == number).then_some(place)
    }

    /// The places of a variable.
    pub(crate) fn places(&self, procedure: ProcId, var: VarRef) -> Places {
        let bits = self.encoding.vars(procedure, var, Copy::Current);
        bits.filter_map(|bit| self.current(bit)).collect()
    }

    fn all(&self, procedure: ProcId, vars: impl Iterator<Item = VarRef>) -> Places {
        vars.fold(Places::new(), |all, var| {
            all.or(&self.places(procedure, var))
        })
    }

    /// The places whose values are forgotten when control comes to a node.
    fn dead(&self, scope: &Scope<'_>, node: NodeId) -> Places {
        let procedure = scope.program.node(node).procedure;
        let vars = scope.vars(procedure);
        let dead = vars.filter(|&var| scope.touches(procedure, var) && !scope.keeps(node, var));
        self.all(procedure, dead)
    }
}

/// The system, and what it was made of.
pub(crate) struct System<'a> {
    pub(crate) scope: Scope<'a>,
    pub(crate) layout: Layout<'a>,
    pub(crate) pds: Pds<Weight>,
    /// The relations of nodes that control can come to.
    pub(crate) relations: Vec<Option<Rc<Relation>>>,
    /// The merge functions of calls.
    pub(crate) merges: FxHashMap<NodeId, MergeId>,
    /// The weight of the start.
    pub(crate) initial: Weight,
}

/// Makes rules. The domain is used to make weights, and gets its merge functions at the end.
struct Maker<'q, 'a> {
    system: System<'a>,
    builder: PdsBuilder<Weight>,
    functions: Vec<Merge>,
    /// For each procedure, whether there is a rule for its beginning.
    begun: Vec<bool>,
    query: Query<'q>,
    plain: Relations<'static>,
    /// From current and next values to those before and after.
    settle: droste_bdd::Renaming,
}

/// The system of a program, and its domain.
pub(crate) fn system<'a, 't>(
    scope: Scope<'a>,
    query: Query<'_>,
    limits: &Limits,
    tender: impl FnOnce(&Layout<'a>) -> Tender<'t>,
) -> Result<(System<'a>, Relations<'t>)> {
    let layout = Layout::new(&scope, limits)?;
    let manager = layout.encoding.manager.clone();
    let nodes = scope.program.nodes.len();
    let shift = layout.copies.iter();
    let shift: Vec<(Var, Var)> = shift
        .flat_map(|copy| [(copy[1], copy[0]), (copy[2], copy[1])])
        .collect();
    let plain = Relations::new(&manager, layout.copies.clone(), Vec::new(), None);
    let nothing = plain.weight(manager.constant(false), Places::new());
    let mut maker = Maker {
        builder: PdsBuilder::new(1, nodes as u32),
        begun: vec![false; scope.program.procedures.len()],
        functions: Vec::new(),
        query,
        plain,
        settle: manager.renaming(&shift),
        system: System {
            scope,
            layout,
            pds: PdsBuilder::new(1, 0).build(),
            relations: vec![None; nodes],
            merges: FxHashMap::default(),
            initial: nothing,
        },
    };
    maker.make()?;
    let Maker {
        mut system,
        builder,
        functions,
        ..
    } = maker;
    system.pds = builder.build();
    let tender = tender(&system.layout);
    let copies = system.layout.copies.clone();
    let domain = Relations::new(&manager, copies, functions, Some(tender));
    Ok((system, domain))
}

impl Maker<'_, '_> {
    /// The rules of all nodes that control can come to, if data is left out of account.
    fn make(&mut self) -> Result<()> {
        let program = self.system.scope.program;
        let main = program.procedure(program.main).entry;
        self.system.initial = self.initial()?;
        let mut seen = vec![false; program.nodes.len()];
        let mut work = vec![main];
        seen[main.0 as usize] = true;
        while let Some(node) = work.pop() {
            self.system.layout.encoding.manager.check_limits()?;
            self.node(node)?;
            let mut go = |to: NodeId| {
                if !std::mem::replace(&mut seen[to.0 as usize], true) {
                    work.push(to);
                }
            };
            program.node(node).op.for_each_next(&mut go);
            if let Op::Call { callee, .. } = program.node(node).op {
                go(program.procedure(callee).entry);
            }
        }
        Ok(())
    }

    /// `main` with any values.
    fn initial(&mut self) -> Result<Weight> {
        let System { scope, layout, .. } = &mut self.system;
        let main = scope.program.main;
        let mut initial = layout.encoding.manager.constant(true);
        for var in scope.vars(main) {
            let valid = layout.encoding.in_range(main, var, Copy::Current)?;
            initial = initial.and(&valid)?;
        }
        let frame = layout.globals.or(&layout.locals);
        let dead = layout.dead(scope, scope.program.procedure(main).entry);
        self.forgetting(&initial, &frame, &dead)
    }

    /// A relation after which some places do not matter.
    fn forgetting(&self, diagram: &Bdd, frame: &Places, dead: &Places) -> Result<Weight> {
        let diagram = diagram.exists(&self.plain.after(dead)?)?;
        Ok(self.plain.weight(diagram, frame.or(dead)))
    }

    /// Conjuncts over current and next values as a diagram over values before and after.
    fn conjunction(&self, parts: impl Iterator<Item = Bdd>) -> Result<Bdd> {
        let mut all = self.system.layout.encoding.manager.constant(true);
        for part in parts {
            all = all.and(&part)?;
        }
        all.rename(&self.settle)
    }

    fn rule(&mut self, top: SymbolId, replace: Replace, merge: Option<MergeId>, weight: Weight) {
        if weight.diagram.is_false() {
            return;
        }
        let rule = Rule {
            from: CONTROL,
            top,
            to: CONTROL,
            replace,
            merge,
        };
        self.builder.rule(rule, weight);
    }

    fn node(&mut self, node: NodeId) -> Result<()> {
        let stops = self.query.stops_at(self.system.scope.program, node);
        let violations = self.query.violations;
        let System { scope, layout, .. } = &mut self.system;
        let relation = scope
            .compiler(&mut layout.encoding, violations, stops)
            .relation(node)?;
        let relation = Rc::new(relation);
        self.system.relations[node.0 as usize] = Some(Rc::clone(&relation));
        match &relation.action {
            Action::Steps(edges) => edges.iter().try_for_each(|edge| self.step(node, edge)),
            Action::Call(call) => self.call(node, call),
            Action::Return(parts) => self.leave(node, parts),
        }
    }

    fn step(&mut self, node: NodeId, edge: &Edge) -> Result<()> {
        let parts = edge.parts.iter().map(|part| part.relation.clone());
        let diagram = self.conjunction(parts)?.and(&edge.range)?;
        let layout = &self.system.layout;
        let written = edge.written.iter();
        let frame: Places = written.filter_map(|&var| layout.current(var)).collect();
        let dead = layout.dead(&self.system.scope, edge.to);
        let weight = self.forgetting(&diagram, &frame, &dead)?;
        let step = Replace::Step(SymbolId(edge.to.0));
        self.rule(SymbolId(node.0), step, None, weight);
        Ok(())
    }

    fn call(&mut self, node: NodeId, call: &Call) -> Result<()> {
        let mut diagram = self.conjunction(call.arguments.iter().cloned())?;
        let System { scope, layout, .. } = &mut self.system;
        let callee = call.callee;
        let mut frame = layout.locals.clone();
        let mut hidden = layout.locals.clone();
        for var in scope.vars(callee) {
            if scope.enters(callee, var) {
                hidden = hidden.minus(&layout.places(callee, var));
                continue;
            }
            frame = frame.or(&layout.places(callee, var));
            if scope.begins_with_any(callee, var) && matches!(var, VarRef::Global(_)) {
                let valid = layout.encoding.in_range(callee, var, Copy::Current)?;
                diagram = diagram.and(&valid)?;
            }
        }
        let dead = layout.dead(scope, call.back.to);
        let function = Merge::new(scope, layout, call, dead)?;
        let entry = scope.program.procedure(callee).entry;
        let dead = layout.dead(scope, entry).or(&hidden);
        let merge = MergeId(self.functions.len() as u32);
        self.functions.push(function);
        self.system.merges.insert(node, merge);
        let weight = self.forgetting(&diagram, &frame, &dead)?;
        let begin = self.begin(callee, &hidden)?;
        let push = Replace::Push(begin, SymbolId(call.back.to.0));
        self.rule(SymbolId(node.0), push, Some(merge), weight);
        Ok(())
    }

    /// A symbol before the first node of a procedure. From there, locals that are no parameters get
    /// any values. So nothing depends on what they were before, which does not matter and would
    /// make relations larger.
    fn begin(&mut self, callee: ProcId, hidden: &Places) -> Result<SymbolId> {
        let System { scope, layout, .. } = &mut self.system;
        let symbol = SymbolId(scope.program.nodes.len() as u32 + callee.0);
        if std::mem::replace(&mut self.begun[callee.0 as usize], true) {
            return Ok(symbol);
        }
        let mut diagram = layout.encoding.manager.constant(true);
        for var in scope.vars(callee) {
            if scope.begins_with_any(callee, var) && matches!(var, VarRef::Local(_)) {
                let valid = layout.encoding.in_range(callee, var, Copy::Current)?;
                diagram = diagram.and(&valid)?;
            }
        }
        let entry = scope.program.procedure(callee).entry;
        let dead = layout.dead(scope, entry);
        let weight = self.forgetting(&diagram, hidden, &dead)?;
        self.rule(symbol, Replace::Step(SymbolId(entry.0)), None, weight);
        Ok(symbol)
    }

    fn leave(&mut self, node: NodeId, parts: &[Bdd]) -> Result<()> {
        let diagram = self.conjunction(parts.iter().cloned())?;
        let System { scope, layout, .. } = &self.system;
        let procedure = scope.program.node(node).procedure;
        let globals = (0..scope.program.globals.len() as u32)
            .filter(|&i| scope.effects.touches(procedure, i) && !scope.leaves(procedure, i));
        let dead = layout.all(procedure, globals.map(VarRef::Global));
        let frame = layout.locals.clone();
        let weight = self.forgetting(&diagram, &frame, &dead)?;
        self.rule(SymbolId(node.0), Replace::Pop, None, weight);
        Ok(())
    }
}
