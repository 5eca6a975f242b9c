//! A graph in JSON: nodes, external nodes, variables, selectors, hyperedges.

use std::borrow::Cow;

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::json::Json;
use droste_source::suggest::nearest;
use rustc_hash::FxHashSet;

use crate::hypergraph::{Edge, Heap, Node};
use crate::notes::{Mention, Notes};
use crate::read_json::Indices;
use crate::symbols::{Annotation, End, Index, Label, Nonterminal, Symbols};

type Named<'a> = (Cow<'a, str>, Span);
type Number = (u32, Span);

struct Pointer<'a> {
    label: Named<'a>,
    origin: Number,
    target: Number,
    annotation: Cow<'a, str>,
}

struct Attached<'a> {
    label: Named<'a>,
    tentacles: Vec<Number>,
    index: Index,
}

/// A graph as it stands in the text.
#[derive(Default)]
pub(crate) struct Graph<'a> {
    nodes: Vec<(Named<'a>, Number)>,
    externals: Vec<Number>,
    variables: Vec<(Named<'a>, Number)>,
    selectors: Vec<Pointer<'a>>,
    hyperedges: Vec<Attached<'a>>,
    pub(crate) place: Span,
}

/// A text that is being read.
pub(crate) struct Reading<'n> {
    indices: Indices,
    /// The names that were met.
    pub(crate) names: FxHashSet<String>,
    /// What else was met.
    pub(crate) notes: &'n mut Notes,
}

/// A graph in a file has at most so many nodes, and so many tentacles.
const MOST_NODES: usize = 4096;

impl<'n> Reading<'n> {
    pub(crate) fn new(indices: Indices, notes: &'n mut Notes) -> Self {
        Reading {
            indices,
            names: FxHashSet::default(),
            notes,
        }
    }

    /// A key that means nothing here: it is skipped.
    pub(crate) fn skip(
        &mut self,
        json: &mut Json<'_>,
        key: &str,
        place: Span,
        known: &[&str],
    ) -> Result<(), Diagnostic> {
        self.notes.unknown_key(key, place, known);
        json.skip()
    }

    fn note(&mut self, name: &str) {
        if !self.names.contains(name) {
            self.names.insert(name.to_owned());
        }
    }

    pub(crate) fn name<'a>(
        &mut self,
        json: &mut Json<'a>,
        what: &str,
    ) -> Result<Named<'a>, Diagnostic> {
        let (name, place) = json.string(what)?;
        if name.is_empty() {
            return Err(Diagnostic::error(
                place,
                format!("{what} must not be empty"),
            ));
        }
        self.note(&name);
        Ok((name, place))
    }

    /// An index: `s` some times, then its end.
    pub(crate) fn index(&mut self, json: &mut Json<'_>) -> Result<Index, Diagnostic> {
        if self.indices == Indices::Ignored {
            json.skip()?;
            return Ok(Index::NONE);
        }
        let place = json.here();
        let (mut count, mut end): (u16, _) = (0, None);
        json.array("an index: a list of symbols", |json| {
            let (symbol, place) = json.string("a symbol of an index")?;
            if end.is_some() {
                let message = "only the last symbol of an index may be its end";
                return Err(Diagnostic::error(place, message));
            }
            match &*symbol {
                "s" => count = count.saturating_add(1),
                "Z" => end = Some(End::Z),
                "C" => end = Some(End::C),
                "_X" => end = Some(End::X),
                "_Y" => end = Some(End::Y),
                "()" => end = Some(End::Any),
                _ => {
                    let message = format!("`{symbol}` is no symbol of an index");
                    return Err(Diagnostic::error(place, message)
                        .help("an index is `s` some times, then `Z`, `C`, `_X`, `_Y` or `()`"));
                }
            }
            Ok(())
        })?;
        let Some(end) = end else {
            let message = "an index ends with `Z`, `C`, `_X`, `_Y` or `()`";
            return Err(Diagnostic::error(place, message));
        };
        Index::new(count, end).ok_or_else(|| Diagnostic::error(place, "this index is too long"))
    }

    /// A graph. All five keys must be there.
    pub(crate) fn graph<'a>(&mut self, json: &mut Json<'a>) -> Result<Graph<'a>, Diagnostic> {
        const KEYS: [&str; 5] = ["nodes", "externals", "variables", "selectors", "hyperedges"];
        let mut graph = Graph {
            place: json.here(),
            ..Graph::default()
        };
        let mut seen = [false; 5];
        object(json, "a graph", |json, key, place| {
            if let Some(at) = KEYS.iter().position(|known| *known == key) {
                seen[at] = true;
            }
            match key {
                "nodes" => json.array("a list of nodes", |json| self.nodes(json, &mut graph))?,
                "externals" => json.array("a list of nodes", |json| {
                    graph.externals.push(json.index("a node")?);
                    Ok(())
                })?,
                "variables" => {
                    json.array("a list of variables", |json| {
                        self.variable(json, &mut graph)
                    })?;
                }
                "selectors" => {
                    json.array("a list of selectors", |json| {
                        self.selector(json, &mut graph)
                    })?;
                }
                "hyperedges" => {
                    json.array("a list of hyperedges", |json| {
                        self.hyperedge(json, &mut graph)
                    })?;
                }
                _ => self.skip(json, key, place, &KEYS)?,
            }
            Ok(())
        })?;
        if let Some(at) = seen.iter().position(|seen| !seen) {
            let message = format!("the key `{}` is missing", KEYS[at]);
            return Err(Diagnostic::error(graph.place, message)
                .label("in this graph")
                .help("an empty list is written `[]`"));
        }
        Ok(graph)
    }

    fn nodes<'a>(&mut self, json: &mut Json<'a>, graph: &mut Graph<'a>) -> Result<(), Diagnostic> {
        let place = json.here();
        let (mut name, mut number) = (None, None);
        object(
            json,
            "`{\"type\": …, \"number\": …}`",
            |json, key, place| {
                match key {
                    "type" => name = Some(self.name(json, "a type")?),
                    "number" => number = Some(json.index("a number of nodes")?),
                    _ => self.skip(json, key, place, &["type", "number"])?,
                }
                Ok(())
            },
        )?;
        let name = name.ok_or_else(|| missing(place, "type"))?;
        let number = number.ok_or_else(|| missing(place, "number"))?;
        graph.nodes.push((name, number));
        Ok(())
    }

    fn variable<'a>(
        &mut self,
        json: &mut Json<'a>,
        graph: &mut Graph<'a>,
    ) -> Result<(), Diagnostic> {
        let place = json.here();
        let (mut name, mut target) = (None, None);
        object(
            json,
            "`{\"name\": …, \"target\": …}`",
            |json, key, place| {
                match key {
                    "name" => name = Some(self.name(json, "a variable")?),
                    "target" => target = Some(json.index("a node")?),
                    _ => self.skip(json, key, place, &["name", "target"])?,
                }
                Ok(())
            },
        )?;
        let name = name.ok_or_else(|| missing(place, "name"))?;
        let target = target.ok_or_else(|| missing(place, "target"))?;
        graph.variables.push((name, target));
        Ok(())
    }

    fn selector<'a>(
        &mut self,
        json: &mut Json<'a>,
        graph: &mut Graph<'a>,
    ) -> Result<(), Diagnostic> {
        let place = json.here();
        let (mut label, mut origin, mut target) = (None, None, None);
        let mut annotation = Cow::Borrowed("");
        let what = "`{\"label\": …, \"origin\": …, \"target\": …}`";
        object(json, what, |json, key, place| {
            match key {
                "label" => label = Some(self.name(json, "a selector")?),
                "origin" => origin = Some(json.index("a node")?),
                "target" => target = Some(json.index("a node")?),
                "annotation" if self.indices == Indices::Read => {
                    annotation = json.string("an annotation")?.0;
                    self.note(&annotation);
                }
                "annotation" => json.skip()?,
                _ => self.skip(
                    json,
                    key,
                    place,
                    &["label", "origin", "target", "annotation"],
                )?,
            }
            Ok(())
        })?;
        graph.selectors.push(Pointer {
            label: label.ok_or_else(|| missing(place, "label"))?,
            origin: origin.ok_or_else(|| missing(place, "origin"))?,
            target: target.ok_or_else(|| missing(place, "target"))?,
            annotation,
        });
        Ok(())
    }

    fn hyperedge<'a>(
        &mut self,
        json: &mut Json<'a>,
        graph: &mut Graph<'a>,
    ) -> Result<(), Diagnostic> {
        let place = json.here();
        let (mut label, mut tentacles) = (None, None);
        let mut index = Index::NONE;
        object(
            json,
            "`{\"label\": …, \"tentacles\": […]}`",
            |json, key, place| {
                match key {
                    "label" => label = Some(self.name(json, "a nonterminal")?),
                    "index" => index = self.index(json)?,
                    "tentacles" => {
                        let mut nodes = Vec::new();
                        json.array("a list of nodes", |json| {
                            nodes.push(json.index("a node")?);
                            Ok(())
                        })?;
                        tentacles = Some(nodes);
                    }
                    _ => self.skip(json, key, place, &["label", "tentacles", "index"])?,
                }
                Ok(())
            },
        )?;
        graph.hyperedges.push(Attached {
            label: label.ok_or_else(|| missing(place, "label"))?,
            tentacles: tentacles.ok_or_else(|| missing(place, "tentacles"))?,
            index,
        });
        Ok(())
    }
}

/// An object in which each key is there once. What a second one says would be lost, or added.
pub(crate) fn object<'a>(
    json: &mut Json<'a>,
    what: &str,
    mut entry: impl FnMut(&mut Json<'a>, &str, Span) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let mut seen: Vec<(String, Span)> = Vec::new();
    json.object(what, |json, key, place| {
        if let Some((_, first)) = seen.iter().find(|(one, _)| one == key) {
            let message = format!("the key `{}` is there twice", key.escape_debug());
            return Err(Diagnostic::error(place, message).also(*first, "first here"));
        }
        if seen.len() < MOST_KEYS {
            seen.push((key.to_owned(), place));
        }
        entry(json, key, place)
    })
}

/// More keys of an object are not looked at: no object here has so many that mean anything.
const MOST_KEYS: usize = 100;

fn missing(place: Span, key: &str) -> Diagnostic {
    Diagnostic::error(place, format!("the key `{key}` is missing")).label("in this object")
}

/// Builds the heap of a graph.
pub(crate) fn build(
    symbols: &mut Symbols,
    graph: &Graph<'_>,
    notes: &mut Notes,
) -> Result<Heap, Diagnostic> {
    let mut heap = Heap::new();
    notes.begin_graph();
    for ((name, at), (number, place)) in &graph.nodes {
        if heap.node_count() + *number as usize > MOST_NODES {
            let message = format!("a graph has at most {MOST_NODES} nodes");
            return Err(Diagnostic::error(*place, message));
        }
        let id = symbols.add_type(name);
        notes.mentions.push(Mention {
            object: id,
            selector: None,
            place: *at,
        });
        for _ in 0..*number {
            let node = heap.add_node(id);
            notes.nodes.push((node, *at));
        }
    }
    let count = heap.node_count();
    let node = |&(number, place): &Number| {
        if (number as usize) < count {
            return Ok(Node(number as u16));
        }
        let message = format!("there is no node {number}");
        let have = match count {
            0 => "the graph has no nodes".to_owned(),
            _ => format!("the graph has the nodes 0 to {}", count - 1),
        };
        Err(Diagnostic::error(place, message).label(have))
    };
    for external in &graph.externals {
        let found = node(external)?;
        if heap.externals().contains(&found) {
            let message = format!("node {} is external twice", external.0);
            return Err(Diagnostic::error(external.1, message));
        }
        heap.add_external(found);
        notes.externals.push(external.1);
    }
    for ((name, place), target) in &graph.variables {
        let variable = symbols.add_variable(name);
        if heap.variable(variable).is_some() {
            let message = format!("the variable `{name}` has two targets");
            return Err(Diagnostic::error(*place, message));
        }
        let target = node(target)?;
        heap.set_variable(variable, target);
        notes.variables.push((variable, target, *place));
    }
    for pointer in &graph.selectors {
        let (name, place) = &pointer.label;
        let (origin, target) = (node(&pointer.origin)?, node(&pointer.target)?);
        let selector = symbols.add_selector(name);
        notes.mentions.push(Mention {
            object: heap.node_type(origin),
            selector: Some(selector),
            place: *place,
        });
        notes.origins.push((origin, *place));
        if heap.target(origin, selector).is_some() {
            let message = format!("node {} has the selector `{name}` twice", origin.0);
            return Err(Diagnostic::error(*place, message));
        }
        let annotation = match &*pointer.annotation {
            "" => Annotation::NONE,
            text => symbols.add_annotation(text),
        };
        heap.set_edge(Edge {
            origin,
            selector,
            annotation,
            target,
        });
    }
    let all: usize = graph.hyperedges.iter().map(|h| h.tentacles.len()).sum();
    if all > MOST_NODES || graph.hyperedges.len() > MOST_NODES {
        let message = format!("a graph has at most {MOST_NODES} hyperedges and tentacles");
        return Err(Diagnostic::error(graph.place, message));
    }
    for attached in &graph.hyperedges {
        let (nonterminal, tentacles) = hyperedge(symbols, &mut heap, attached, node)?;
        let place = attached.label.1;
        notes.hyperedges.push((nonterminal, tentacles, place));
    }
    Ok(heap)
}

fn hyperedge(
    symbols: &Symbols,
    heap: &mut Heap,
    attached: &Attached<'_>,
    node: impl Fn(&Number) -> Result<Node, Diagnostic>,
) -> Result<(Nonterminal, Vec<Node>), Diagnostic> {
    let (name, place) = &attached.label;
    let Some(nonterminal) = symbols.nonterminal(name) else {
        let names = symbols.nonterminals().map(|n| symbols.nonterminal_name(n));
        let message = format!("no grammar has the nonterminal `{name}`");
        let error = Diagnostic::error(*place, message).label("not declared");
        return Err(match nearest(name, names) {
            Some(close) => error.help(format!("did you mean `{close}`?")),
            None => error.help("is a grammar missing?"),
        });
    };
    let (rank, count) = (symbols.rank(nonterminal), attached.tentacles.len());
    if rank != count {
        let given = match count {
            1 => "1 tentacle is given".to_owned(),
            count => format!("{count} tentacles are given"),
        };
        let message = format!("`{name}` has rank {rank}, but {given}");
        return Err(Diagnostic::error(*place, message));
    }
    let tentacles: Result<Vec<Node>, Diagnostic> = attached.tentacles.iter().map(node).collect();
    let (tentacles, index) = (tentacles?, attached.index);
    heap.add_hyperedge(Label { nonterminal, index }, &tentacles);
    Ok((nonterminal, tentacles))
}
