//! pre* and post* by path expressions (section 3.2 of the FWPDS paper).
//!
//! First the transitions are found, without weights. Then they are the vertices of a graph, the
//! transition dependence graph. A step of a rule is an edge that multiplies. A call is an edge whose
//! label has the weight of another transition in it, the callee's summary: an *out-node*. Tarjan's
//! algorithm gives each vertex an expression over edges. The expressions of the out-nodes are
//! equations, solved along their strongly connected components; the others are evaluated once.

use droste_base::StopReason;
use rustc_hash::FxHashMap;

use crate::automaton::{Automaton, Direction, Transition};
use crate::components::components;
use crate::domain::Domain;
use crate::domains::Boolean;
use crate::expression::{Evaluation, ExprId, Expressions, Side};
use crate::paths::{Edge, paths_from_source};
use crate::post::{Middles, saturate as saturate_post};
use crate::pre::{called, saturate as saturate_pre};
use crate::saturate::{Options, Table};
use crate::system::{Pds, Replace, StateId, SymbolId};

/// What an edge of the graph multiplies with.
#[derive(Clone, Copy, Debug)]
enum Label {
    /// Nothing.
    One,
    /// The weight of a transition of the given automaton.
    Given(u32),
    /// The weight of a rule.
    Rule(u32),
    /// A call, with the callee's transition.
    Call(u32, u32),
    /// The weight of a transition: a callee has returned.
    Back(u32),
}

struct Graph {
    transitions: Vec<Transition>,
    number: FxHashMap<Transition, u32>,
    edges: Vec<Edge>,
    labels: Vec<Label>,
}

impl Graph {
    fn new<D: Domain>(table: &Table<'_, D>) -> Self {
        let transitions: Vec<Transition> = table.names().collect();
        let number = transitions.iter().copied().zip(0..).collect();
        Graph {
            transitions,
            number,
            edges: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// An edge between transitions by number; from the source, if there is none. An edge to a
    /// transition that does not exist leads nowhere.
    fn edge(&mut self, from: Option<u32>, to: Transition, label: Label) {
        let Some(&to) = self.number.get(&to) else {
            return;
        };
        self.edges.push(Edge {
            from: from.map_or(0, |from| from + 1),
            to: to + 1,
            label: self.labels.len() as u32,
        });
        self.labels.push(label);
    }

    /// The transitions, by a key.
    fn by<K: std::hash::Hash + Eq>(
        &self,
        key: impl Fn(Transition) -> Option<K>,
    ) -> FxHashMap<K, Vec<u32>> {
        let mut lists: FxHashMap<K, Vec<u32>> = FxHashMap::default();
        for (id, &transition) in (0..).zip(&self.transitions) {
            if let Some(key) = key(transition) {
                lists.entry(key).or_default().push(id);
            }
        }
        lists
    }
}

pub(crate) fn prestar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    target: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let skeleton = pds.skeleton();
    let table = saturate_pre(&Boolean, &skeleton, &target.skeleton(), options)?;
    let mut graph = Graph::new(&table);
    drop(table);
    let given: Vec<(Transition, &D::Weight)> = target.iter().collect();
    for (number, (transition, _)) in (0..).zip(&given) {
        graph.edge(None, *transition, Label::Given(number));
    }
    for (number, rule) in (0..).zip(pds.rules()) {
        if rule.replace == Replace::Pop {
            let pops = Transition::new(rule.from, rule.top, rule.to);
            graph.edge(None, pops, Label::Rule(number));
        }
    }
    let leaving = graph.by(|t| Some((t.from, t.symbol)));
    for id in 0..graph.transitions.len() as u32 {
        let Transition { from, symbol, to } = graph.transitions[id as usize];
        for &number in pds.into(from, symbol) {
            let rule = pds.rules()[number as usize];
            let made = |to| Transition::new(rule.from, rule.top, to);
            match rule.replace {
                Replace::Pop => {}
                Replace::Step(_) => graph.edge(Some(id), made(to), Label::Rule(number)),
                Replace::Push(_, second) => {
                    for &behind in leaving.get(&(to, second)).into_iter().flatten() {
                        let end = graph.transitions[behind as usize].to;
                        graph.edge(Some(behind), made(end), Label::Call(number, id));
                    }
                }
            }
        }
    }
    let weigh = |label: Label, out: &dyn Fn(u32) -> (D::Weight, StateId)| match label {
        Label::One => Ok(domain.one()),
        Label::Given(number) => Ok(given[number as usize].1.clone()),
        Label::Rule(rule) => Ok(pds.weight(rule).clone()),
        Label::Call(rule, callee) => {
            let (weight, ends) = out(callee);
            called(domain, pds, rule, &weight, ends)
        }
        Label::Back(transition) => Ok(out(transition).0),
    };
    let weights = solve(domain, &graph, Side::Left, &weigh, options)?;
    let bare = target.bare(Direction::Forward);
    collect(domain, bare, target.states(), &graph, weights, |_| true)
}

pub(crate) fn poststar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    start: &Automaton<D::Weight>,
    middles: &Middles,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let skeleton = pds.skeleton();
    let table = saturate_post(&Boolean, &skeleton, &start.skeleton(), middles, options)?;
    let mut graph = Graph::new(&table);
    drop(table);
    let given: Vec<(Transition, &D::Weight)> = start.iter().collect();
    for (number, (transition, _)) in (0..).zip(&given) {
        graph.edge(None, *transition, Label::Given(number));
    }
    let returned = graph.by(|t| (t.symbol == SymbolId::EPSILON).then_some(t.to));
    let mut entered = vec![false; middles.states() as usize];
    for id in 0..graph.transitions.len() as u32 {
        let Transition { from, symbol, to } = graph.transitions[id as usize];
        if from.0 >= pds.states() {
            // Callees that have returned go on here.
            for &back in returned.get(&from).into_iter().flatten() {
                if !middles.merges(from) {
                    let from = graph.transitions[back as usize].from;
                    graph.edge(
                        Some(id),
                        Transition::new(from, symbol, to),
                        Label::Back(back),
                    );
                }
            }
            continue;
        }
        if symbol == SymbolId::EPSILON {
            continue;
        }
        for &number in pds.from(from, symbol) {
            let rule = pds.rules()[number as usize];
            let made = |symbol| Transition::new(rule.to, symbol, to);
            match rule.replace {
                Replace::Pop => graph.edge(Some(id), made(SymbolId::EPSILON), Label::Rule(number)),
                Replace::Step(symbol) => graph.edge(Some(id), made(symbol), Label::Rule(number)),
                Replace::Push(first, second) => {
                    let middle = middles.of(number);
                    if !std::mem::replace(&mut entered[middle.0 as usize], true) {
                        let entry = Transition::new(rule.to, first, middle);
                        graph.edge(None, entry, Label::One);
                    }
                    let behind = Transition::new(middle, second, to);
                    graph.edge(Some(id), behind, Label::Rule(number));
                    if rule.merge.is_some() {
                        for &back in returned.get(&middle).into_iter().flatten() {
                            let from = graph.transitions[back as usize].from;
                            let go_on = Transition::new(from, second, to);
                            graph.edge(Some(id), go_on, Label::Call(number, back));
                        }
                    }
                }
            }
        }
    }
    let weigh = |label: Label, out: &dyn Fn(u32) -> (D::Weight, StateId)| match label {
        Label::One => Ok(domain.one()),
        Label::Given(number) => Ok(given[number as usize].1.clone()),
        Label::Rule(rule) => Ok(pds.weight(rule).clone()),
        Label::Call(rule, callee) => match pds.rules()[rule as usize].merge {
            Some(merge) => domain.merge(merge, &domain.one(), &out(callee).0),
            None => domain.extend(pds.weight(rule), &out(callee).0),
        },
        Label::Back(transition) => Ok(out(transition).0),
    };
    let weights = solve(domain, &graph, Side::Right, &weigh, options)?;
    let bare = start.bare(Direction::Backward);
    collect(domain, bare, middles.states(), &graph, weights, |t| {
        middles.is_wanted(t)
    })
}

/// Puts the weights on the transitions that are wanted.
fn collect<D: Domain>(
    domain: &D,
    mut automaton: Automaton<D::Weight>,
    states: u32,
    graph: &Graph,
    weights: Vec<D::Weight>,
    wanted: impl Fn(Transition) -> bool,
) -> Result<Automaton<D::Weight>, StopReason> {
    while automaton.states() < states {
        automaton.state();
    }
    for (&transition, weight) in graph.transitions.iter().zip(weights) {
        if wanted(transition) && !domain.is_zero(&weight) {
            automaton.add(domain, transition, weight)?;
        }
    }
    Ok(automaton)
}

/// What a label weighs, given the weights of out-nodes and where their transitions lead.
type Weigh<'a, W> = dyn Fn(Label, &dyn Fn(u32) -> (W, StateId)) -> Result<W, StopReason> + 'a;

/// The weights of all transitions.
fn solve<D: Domain>(
    domain: &D,
    graph: &Graph,
    side: Side,
    weigh: &Weigh<'_, D::Weight>,
    options: &Options,
) -> Result<Vec<D::Weight>, StopReason> {
    let mut guard = options.limits.guard();
    let mut expressions = Expressions::new()?;
    let vertices = graph.transitions.len() as u32 + 1;
    let paths = paths_from_source(vertices, &graph.edges, &mut expressions, &mut guard)?;
    let of = |transition: u32| paths[transition as usize + 1];
    // The out-nodes, and on which others each depends.
    let out_node = |label: u32| match graph.labels[label as usize] {
        Label::Call(_, out) | Label::Back(out) => Some(out),
        Label::One | Label::Given(_) | Label::Rule(_) => None,
    };
    let mut out_nodes: Vec<u32> = (0..graph.labels.len() as u32)
        .filter_map(out_node)
        .collect();
    out_nodes.sort_unstable();
    out_nodes.dedup();
    let place = |out: u32| {
        out_nodes
            .binary_search(&out)
            .map_or(0, |place| place as u32)
    };
    let mut seen = Vec::new();
    let depends: Vec<Vec<u32>> = (out_nodes.iter().zip(1..))
        .map(|(&out, mark)| {
            let labels = expressions.labels(of(out), &mut seen, mark);
            labels.into_iter().filter_map(out_node).map(place).collect()
        })
        .collect();
    let mut state = OutNodes {
        weights: vec![domain.zero(); out_nodes.len()],
        changed: vec![0; out_nodes.len()],
    };
    let mut evaluation = Evaluation::new(domain, side, &expressions);
    let mut evaluate =
        |root: ExprId, state: &OutNodes<D::Weight>, evaluation: &mut Evaluation<'_, D>| {
            let look = |out: u32| {
                let weight = state.weights[place(out) as usize].clone();
                (weight, graph.transitions[out as usize].to)
            };
            let label = |label: u32| weigh(graph.labels[label as usize], &look);
            let changed =
                |label: u32| out_node(label).map_or(0, |out| state.changed[place(out) as usize]);
            evaluation.weight(&expressions, root, &label, &changed, &mut guard)
        };
    for part in components(out_nodes.len() as u32, |i, out| {
        out.extend(&depends[i as usize]);
    }) {
        loop {
            let mut grown = false;
            for &i in &part {
                let weight = evaluate(of(out_nodes[i as usize]), &state, &mut evaluation)?;
                let known = &mut state.weights[i as usize];
                if !domain.equal(known, &weight) {
                    *known = weight;
                    evaluation.leaf_changed();
                    state.changed[i as usize] = evaluation.now();
                    grown = true;
                }
            }
            let alone = part.len() == 1 && !depends[part[0] as usize].contains(&part[0]);
            if !grown || alone {
                break;
            }
        }
    }
    (0..graph.transitions.len() as u32)
        .map(|transition| evaluate(of(transition), &state, &mut evaluation))
        .collect()
}

/// What is known about the out-nodes.
struct OutNodes<W> {
    weights: Vec<W>,
    /// When each changed last.
    changed: Vec<u32>,
}
