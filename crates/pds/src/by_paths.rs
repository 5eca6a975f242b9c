//! pre* and post* by path expressions (section 3.2 of the FWPDS paper).
//!
//! First the transitions are found, without weights. Then they are the vertices of a graph, the
//! transition dependence graph. A step of a rule is an edge that multiplies. A call is an edge whose
//! label has the weight of another transition in it, the callee's summary: an *out-node*. Each vertex
//! gets an expression over edges. The expressions of the out-nodes are equations, solved along their
//! strongly connected components; the others are evaluated once.

use droste_base::StopReason;

use crate::automaton::{Automaton, Direction, Transition};
use crate::domain::Domain;
use crate::domains::Boolean;
use crate::evaluate::{Meaning, Side, evaluate};
use crate::expression::Expressions;
use crate::paths::{Edge, paths_from_source};
use crate::post::{Middles, saturate as saturate_post};
use crate::pre::{called, saturate as saturate_pre};
use crate::saturate::{Entry, Goal, Lists, NONE, Options, Table};
use crate::system::{POP, Pds, STEP, StateId, SymbolId};

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

struct Graph<'a> {
    /// The transitions, without weights.
    table: Table<'a, Boolean>,
    edges: Vec<Edge>,
    labels: Vec<Label>,
}

impl<'a> Graph<'a> {
    fn new(table: Table<'a, Boolean>) -> Self {
        Graph {
            table,
            edges: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// How many transitions there are.
    fn len(&self) -> u32 {
        self.table.len() as u32
    }

    /// An edge between transitions by number; from the source, if there is none. An edge to a
    /// transition that does not exist leads nowhere.
    fn edge(&mut self, from: Option<u32>, to: Option<u32>, label: Label) {
        let Some(to) = to else {
            return;
        };
        self.edges.push(Edge {
            from: from.map_or(0, |from| from + 1),
            to: to + 1,
            label: self.labels.len() as u32,
        });
        self.labels.push(label);
    }
}

/// How transitions are found: without a run.
fn shape_of(options: &Options) -> Options {
    Options {
        witness: false,
        ..options.clone()
    }
}

pub(crate) fn prestar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    target: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let skeleton = pds.skeleton();
    let shape = shape_of(options);
    let table = saturate_pre(
        &Boolean,
        &skeleton,
        &target.skeleton(),
        (&shape, Goal(None)),
    )?;
    let mut graph = Graph::new(table);
    let given: Vec<(Transition, &D::Weight)> = target.iter().collect();
    for (number, (transition, _)) in (0..).zip(&given) {
        let to = graph.table.id(*transition);
        graph.edge(None, to, Label::Given(number));
    }
    for &number in pds.pops() {
        let rule = pds.rules()[number as usize];
        let pops = Transition::new(rule.from, rule.top, rule.to);
        graph.edge(None, graph.table.id(pops), Label::Rule(number));
    }
    for id in 0..graph.len() {
        let Entry { head, to, .. } = graph.table.get(id);
        for item in pds.right().of(head) {
            match item.second {
                POP => {}
                STEP => {
                    let made = graph.table.at(item.head, to);
                    graph.edge(Some(id), made, Label::Rule(item.rule));
                }
                second => {
                    let below = graph.table.names.find(to, SymbolId(second));
                    let mut behind = below.map_or(NONE, |head| graph.table.newest(head));
                    while behind != NONE {
                        let made = graph.table.at(item.head, graph.table.get(behind).to);
                        graph.edge(Some(behind), made, Label::Call(item.rule, id));
                        behind = graph.table.before(behind);
                    }
                }
            }
        }
    }
    let one = domain.one();
    let labels = Labels {
        one: &one,
        given: &given,
        pds,
        graph: &graph,
        weigh: |label, weight: &D::Weight, ends| match label {
            Label::Call(rule, _) => called(domain, pds, rule, weight, ends),
            _ => Ok(weight.clone()),
        },
    };
    let weights = solve(domain, &labels, Side::Left, options)?;
    let bare = target.bare(Direction::Forward);
    let all = collect(domain, bare, target.states(), &graph, weights, |_| true);
    Ok(all)
}

pub(crate) fn poststar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    start: &Automaton<D::Weight>,
    middles: Middles<'_>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let skeleton = pds.skeleton();
    let shape = shape_of(options);
    let start_shape = start.skeleton();
    let how = (&shape, Goal(None));
    let table = saturate_post(&Boolean, &skeleton, &start_shape, middles, how)?;
    let mut graph = Graph::new(table);
    let given: Vec<(Transition, &D::Weight)> = start.iter().collect();
    for (number, (transition, _)) in (0..).zip(&given) {
        let to = graph.table.id(*transition);
        graph.edge(None, to, Label::Given(number));
    }
    let mut returned = Lists::default();
    for id in 0..graph.len() {
        let transition = graph.table.name(id);
        if transition.symbol == SymbolId::EPSILON {
            returned.push(transition.to.0, id);
        }
    }
    let mut entered = vec![false; middles.states() as usize];
    for id in 0..graph.len() {
        let Transition { from, symbol, to } = graph.table.name(id);
        if from.0 >= pds.states() {
            // Callees that have returned go on here.
            let mut place = returned.start(from.0);
            while let Some((back, next)) = returned.get(place) {
                let state = graph.table.name(back).from;
                if !middles.merges(from) || state.0 >= pds.returns() {
                    let go_on = graph.table.id(Transition::new(state, symbol, to));
                    graph.edge(Some(id), go_on, Label::Back(back));
                }
                place = next;
            }
            continue;
        }
        if symbol == SymbolId::EPSILON {
            continue;
        }
        let head = graph.table.get(id).head;
        for place in pds.left().range(head) {
            let item = pds.left().items[place];
            match item.second {
                POP => {
                    let epsilon = graph.table.names.epsilon(StateId(item.head));
                    let made = graph.table.at(epsilon, to);
                    graph.edge(Some(id), made, Label::Rule(item.rule));
                }
                STEP => {
                    let made = graph.table.at(item.head, to);
                    graph.edge(Some(id), made, Label::Rule(item.rule));
                }
                second => {
                    let (middle, second) = (middles.of(place), SymbolId(second));
                    if !std::mem::replace(&mut entered[middle.0 as usize], true) {
                        let entry = graph.table.at(item.head, middle);
                        graph.edge(None, entry, Label::One);
                    }
                    let behind = graph.table.id(Transition::new(middle, second, to));
                    graph.edge(Some(id), behind, Label::Rule(item.rule));
                    if pds.rules()[item.rule as usize].merge.is_none() {
                        continue;
                    }
                    let mut place = returned.start(middle.0);
                    while let Some((back, next)) = returned.get(place) {
                        let from = graph.table.name(back).from;
                        if from.0 < pds.returns() {
                            let go_on = graph.table.id(Transition::new(from, second, to));
                            graph.edge(Some(id), go_on, Label::Call(item.rule, back));
                        }
                        place = next;
                    }
                }
            }
        }
    }
    let one = domain.one();
    let labels = Labels {
        one: &one,
        given: &given,
        pds,
        graph: &graph,
        weigh: |label, weight: &D::Weight, _| match label {
            Label::Call(rule, _) => match pds.rules()[rule as usize].merge {
                Some(merge) => domain.merge(merge, &one, weight),
                None => domain.extend(pds.weight(rule), weight),
            },
            _ => Ok(weight.clone()),
        },
    };
    let weights = solve(domain, &labels, Side::Right, options)?;
    let bare = start.bare(Direction::Backward);
    let wanted = |t| middles.is_wanted(t);
    Ok(collect(
        domain,
        bare,
        middles.states(),
        &graph,
        weights,
        wanted,
    ))
}

/// Puts the weights on the transitions that are wanted.
fn collect<D: Domain>(
    domain: &D,
    mut automaton: Automaton<D::Weight>,
    states: u32,
    graph: &Graph<'_>,
    weights: Vec<D::Weight>,
    wanted: impl Fn(Transition) -> bool,
) -> Automaton<D::Weight> {
    while automaton.states() < states {
        automaton.state();
    }
    automaton.fill(
        (graph.table.names().zip(weights))
            .filter(|(transition, weight)| wanted(*transition) && !domain.is_zero(weight)),
    );
    automaton
}

/// What labels mean.
struct Labels<'a, W, F> {
    one: &'a W,
    given: &'a [(Transition, &'a W)],
    pds: &'a Pds<W>,
    graph: &'a Graph<'a>,
    /// What a label weighs, given the weight of its out-node and where that leads.
    weigh: F,
}

impl<W, F> Labels<'_, W, F> {
    fn fixed(&self, label: u32) -> Option<&W> {
        match self.graph.labels[label as usize] {
            Label::One => Some(self.one),
            Label::Given(number) => Some(self.given[number as usize].1),
            Label::Rule(rule) => Some(self.pds.weight(rule)),
            Label::Call(..) | Label::Back(_) => None,
        }
    }

    fn out_node(&self, label: u32) -> Option<u32> {
        match self.graph.labels[label as usize] {
            Label::Call(_, out) | Label::Back(out) => Some(out),
            Label::One | Label::Given(_) | Label::Rule(_) => None,
        }
    }
}

/// The weights of all transitions.
fn solve<D: Domain, F>(
    domain: &D,
    labels: &Labels<'_, D::Weight, F>,
    side: Side,
    options: &Options,
) -> Result<Vec<D::Weight>, StopReason>
where
    F: Fn(Label, &D::Weight, StateId) -> Result<D::Weight, StopReason>,
{
    let graph = labels.graph;
    let mut guard = options.limits.guard();
    let mut expressions = Expressions::new()?;
    // Most rules of a program do not touch what an analysis is about.
    let mut edges = graph.edges.clone();
    for edge in &mut edges {
        let fixed = labels.fixed(edge.label);
        if fixed.is_some_and(|weight| domain.equal(weight, labels.one)) {
            edge.label = Expressions::ONE;
        }
    }
    let paths = paths_from_source(graph.len() + 1, &edges, &mut expressions, &mut guard)?;
    drop(edges);
    let roots = &paths[1..];
    let meaning = Meaning {
        fixed: |label| labels.fixed(label),
        inside: |label| labels.out_node(label).map(|out| roots[out as usize]),
        weigh: |label, weight: &D::Weight| {
            let out = labels.out_node(label);
            let ends = out.map_or(StateId(0), |out| graph.table.get(out).to);
            (labels.weigh)(graph.labels[label as usize], weight, ends)
        },
    };
    evaluate(domain, side, &expressions, roots, &meaning, &mut guard)
}
