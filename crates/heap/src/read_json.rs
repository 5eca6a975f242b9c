//! Reader of heaps, grammars and contracts in JSON.
//!
//! Commas behind the last entry of a list and text behind the end are tolerated, because files of other
//! tools have them. Keys may come in any order, so a graph is read in whole before it is built.

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::json::{Json, Kind};

use crate::grammar::Fragment;
use crate::graph_json::{Graph, Reading, build, object};
use crate::hypergraph::Heap;
use crate::notes::Notes;
use crate::symbols::{Index, Nonterminal, Symbols};

/// What a method makes of a heap. The external nodes of all heaps correspond.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The heap in which it is entered.
    pub before: Heap,
    /// The heaps in which it returns.
    pub after: Vec<Heap>,
    /// The heaps in which an exception leaves it; `None` if nothing is said about exceptions.
    pub thrown: Option<Vec<Heap>>,
}

impl Contract {
    /// All its heaps.
    pub fn heaps(&self) -> impl Iterator<Item = &Heap> {
        let left = self.after.iter().chain(self.thrown.iter().flatten());
        std::iter::once(&self.before).chain(left)
    }

    /// All its heaps, to be changed.
    pub fn heaps_mut(&mut self) -> impl Iterator<Item = &mut Heap> {
        let thrown = self.thrown.iter_mut().flatten();
        let left = self.after.iter_mut().chain(thrown);
        std::iter::once(&mut self.before).chain(left)
    }
}

/// Contracts of a method, as a file gives them.
#[derive(Clone, Debug)]
pub struct MethodContracts {
    /// The method, by its signature.
    pub method: String,
    /// Where the signature stands.
    pub place: Span,
    /// One for each heap in which it is entered.
    pub contracts: Vec<Contract>,
}

/// Whether indices and annotations are read. Without them both are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Indices {
    /// They are ignored.
    #[default]
    Ignored,
    /// They are read.
    Read,
}

/// Reads a heap. Its nonterminals must be known.
pub fn read_heap(
    symbols: &mut Symbols,
    text: &str,
    indices: Indices,
) -> Result<Heap, Vec<Diagnostic>> {
    read_heap_noting(symbols, text, indices, &mut Notes::default())
}

/// The same, and notes what else the text has.
pub fn read_heap_noting(
    symbols: &mut Symbols,
    text: &str,
    indices: Indices,
    notes: &mut Notes,
) -> Result<Heap, Vec<Diagnostic>> {
    let mut reading = Reading::new(indices, notes);
    let graph = reading.graph(&mut Json::lenient(text));
    let graph = graph.map_err(|error| vec![error])?;
    room(symbols, reading.names.iter().map(String::as_str))?;
    build(symbols, &graph, notes).map_err(|error| vec![error])
}

/// A fragment as it stands in the text.
struct Part<'a> {
    name: Option<(std::borrow::Cow<'a, str>, Span)>,
    rank: Option<(u32, Span)>,
    reduction: Option<(Vec<bool>, Span)>,
    index: Index,
    rules: Option<Vec<Graph<'a>>>,
    place: Span,
}

/// Reads the fragments of a grammar.
pub fn read_grammar(
    symbols: &mut Symbols,
    text: &str,
    indices: Indices,
) -> Result<Vec<Fragment>, Vec<Diagnostic>> {
    read_grammar_noting(symbols, text, indices, &mut Notes::default())
}

/// The same, and notes what else the text has.
pub fn read_grammar_noting(
    symbols: &mut Symbols,
    text: &str,
    indices: Indices,
    notes: &mut Notes,
) -> Result<Vec<Fragment>, Vec<Diagnostic>> {
    let mut reading = Reading::new(indices, notes);
    let mut parts = Vec::new();
    let mut json = Json::lenient(text);
    let read = json.array("a list of nonterminals with their rules", |json| {
        parts.push(part(&mut reading, json)?);
        Ok(())
    });
    read.map_err(|error| vec![error])?;
    room(symbols, reading.names.iter().map(String::as_str))?;
    let mut errors = Vec::new();
    let mut declared: Vec<Option<Nonterminal>> = Vec::new();
    for part in &parts {
        match declare(symbols, part) {
            Ok(nonterminal) => declared.push(Some(nonterminal)),
            Err(error) => {
                declared.push(None);
                errors.push(error);
            }
        }
    }
    let mut fragments = Vec::new();
    for (part, nonterminal) in parts.iter().zip(declared) {
        let Some(nonterminal) = nonterminal else {
            continue;
        };
        let rank = symbols.rank(nonterminal);
        let mut rules = Vec::new();
        for graph in part.rules.iter().flatten() {
            let rule = build(symbols, graph, notes).and_then(|heap| ranked(heap, rank, graph));
            match rule {
                Ok(heap) => rules.push(heap),
                Err(error) => errors.push(error),
            }
        }
        fragments.push(Fragment {
            nonterminal,
            index: part.index,
            reduction: part
                .reduction
                .as_ref()
                .map(|(tentacles, _)| tentacles.clone()),
            rules,
        });
    }
    if errors.is_empty() {
        return Ok(fragments);
    }
    errors.truncate(MOST_ERRORS);
    Err(errors)
}

/// More mistakes are not told at once.
const MOST_ERRORS: usize = 20;

/// Whether all names of a text can be numbered.
pub(crate) fn room<'a>(
    symbols: &Symbols,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Vec<Diagnostic>> {
    if symbols.has_room_for(&names) {
        return Ok(());
    }
    let message = format!(
        "there are {} different names here: with those of the other files there may be at most {} \
         types, and so many selectors, variables and nonterminals",
        names.count(),
        Symbols::MOST
    );
    let help = "split the file, and give to one check only what it needs";
    Err(vec![Diagnostic::error(Span::default(), message).help(help)])
}

const PART_KEYS: [&str; 5] = [
    "nonterminal",
    "rank",
    "rules",
    "reductionTentacles",
    "index",
];

fn part<'a>(reading: &mut Reading<'_>, json: &mut Json<'a>) -> Result<Part<'a>, Diagnostic> {
    let mut part = Part {
        name: None,
        rank: None,
        reduction: None,
        index: Index::NONE,
        rules: None,
        place: json.here(),
    };
    object(json, "a nonterminal with its rules", |json, key, place| {
        match key {
            "nonterminal" => part.name = Some(reading.name(json, "the name of a nonterminal")?),
            "rank" => part.rank = Some(json.index("a rank")?),
            "reductionTentacles" => {
                let mut tentacles = Vec::new();
                json.array("a list of truth values", |json| {
                    tentacles.push(json.boolean()?);
                    Ok(())
                })?;
                part.reduction = Some((tentacles, place));
            }
            "index" => part.index = reading.index(json)?,
            "rules" => {
                let rules = part.rules.get_or_insert_default();
                json.array("a list of rules", |json| {
                    rules.push(reading.graph(json)?);
                    Ok(())
                })?;
            }
            _ => reading.skip(json, key, place, &PART_KEYS)?,
        }
        Ok(())
    })?;
    Ok(part)
}

/// Declares the nonterminal of a part.
fn declare(symbols: &mut Symbols, part: &Part<'_>) -> Result<Nonterminal, Diagnostic> {
    let missing = |key: &str| {
        let message = format!("the key `{key}` is missing");
        Diagnostic::error(part.place, message).label("in this object")
    };
    let (name, place) = part.name.as_ref().ok_or_else(|| missing("nonterminal"))?;
    let (rank, rank_place) = part.rank.ok_or_else(|| missing("rank"))?;
    if part.rules.is_none() {
        return Err(missing("rules"));
    }
    if rank > MOST_TENTACLES {
        let message = format!("a nonterminal has at most {MOST_TENTACLES} tentacles");
        return Err(Diagnostic::error(rank_place, message));
    }
    if let Some((tentacles, place)) = &part.reduction
        && tentacles.len() != rank as usize
    {
        let count = tentacles.len();
        let tentacles = match rank {
            1 => "1 tentacle".to_owned(),
            rank => format!("{rank} tentacles"),
        };
        let given = match count {
            1 => "1 truth value is given".to_owned(),
            count => format!("{count} truth values are given"),
        };
        let message = format!("`{name}` has {tentacles}, but {given}");
        return Err(Diagnostic::error(*place, message));
    }
    symbols
        .add_nonterminal(name, rank as usize)
        .map_err(|mismatch| {
            let first = mismatch.first;
            let message = format!("`{name}` has rank {rank} here, but rank {first} elsewhere");
            Diagnostic::error(*place, message)
        })
}

const MOST_TENTACLES: u32 = 64;

fn ranked(heap: Heap, rank: usize, graph: &Graph<'_>) -> Result<Heap, Diagnostic> {
    let count = heap.externals().len();
    if count == rank {
        return Ok(heap);
    }
    let nodes = |count: usize| match count {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    let message = format!(
        "the nonterminal has rank {rank}, but the `externals` of this rule are {}",
        nodes(count)
    );
    Err(Diagnostic::error(graph.place, message)
        .label(format!("`externals` must list {}", nodes(rank))))
}

/// Reads contracts: an object for a method, or a list of them.
pub fn read_contracts(
    symbols: &mut Symbols,
    text: &str,
    indices: Indices,
) -> Result<Vec<MethodContracts>, Vec<Diagnostic>> {
    read_contracts_noting(symbols, text, indices, &mut Notes::default())
}

/// The same, and notes what else the text has.
pub fn read_contracts_noting(
    symbols: &mut Symbols,
    text: &str,
    indices: Indices,
    notes: &mut Notes,
) -> Result<Vec<MethodContracts>, Vec<Diagnostic>> {
    let mut reading = Reading::new(indices, notes);
    let mut json = Json::lenient(text);
    let mut all = Vec::new();
    let read = match json.kind() {
        Ok(Kind::Array) => json.array("a list of contracts", |json| {
            all.push(method(&mut reading, json)?);
            Ok(())
        }),
        _ => method(&mut reading, &mut json).map(|one| all.push(one)),
    };
    read.map_err(|error| vec![error])?;
    room(symbols, reading.names.iter().map(String::as_str))?;
    let mut result = Vec::new();
    for (method, place, raw) in all {
        let mut contracts = Vec::new();
        for RawContract {
            before,
            after,
            thrown,
        } in raw
        {
            let pre = build(symbols, &before, notes).map_err(|error| vec![error])?;
            let mut fitting = |graphs: &[Graph<'_>]| {
                let heaps = graphs.iter().map(|graph| {
                    let heap = build(symbols, graph, notes)?;
                    let (wanted, found) = (pre.externals().len(), heap.externals().len());
                    if wanted == found {
                        return Ok(heap);
                    }
                    let message = format!(
                        "the precondition has {wanted} external nodes, this postcondition {found}"
                    );
                    let error = Diagnostic::error(graph.place, message);
                    Err(error.also(before.place, "the precondition"))
                });
                heaps.collect::<Result<Vec<Heap>, Diagnostic>>()
            };
            let after = fitting(&after).map_err(|error| vec![error])?;
            let thrown = thrown.as_deref().map(fitting).transpose();
            contracts.push(Contract {
                after,
                thrown: thrown.map_err(|error| vec![error])?,
                before: pre,
            });
        }
        result.push(MethodContracts {
            method,
            place,
            contracts,
        });
    }
    Ok(result)
}

/// Whether a text is `<Class: Type name(Types)>`.
fn is_signature(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "():,".contains(c))
    };
    let parts = || {
        let inner = text.strip_prefix('<')?.strip_suffix(")>")?;
        let (class, rest) = inner.split_once(": ")?;
        let (result, rest) = rest.split_once(' ')?;
        let (name, types) = rest.split_once('(')?;
        let types = types.is_empty() || types.split(',').all(is_name);
        Some(types && [class, result, name].into_iter().all(is_name))
    };
    parts() == Some(true)
}

const CONTRACT_KEYS: [&str; 3] = ["precondition", "postconditions", "exceptions"];

/// A contract as it stands in the text.
struct RawContract<'a> {
    before: Graph<'a>,
    after: Vec<Graph<'a>>,
    thrown: Option<Vec<Graph<'a>>>,
}

type Raw<'a> = (String, Span, Vec<RawContract<'a>>);

fn method<'a>(reading: &mut Reading<'_>, json: &mut Json<'a>) -> Result<Raw<'a>, Diagnostic> {
    let place = json.here();
    let mut name = None;
    let mut contracts = Vec::new();
    object(
        json,
        "an object with `method` and `contracts`",
        |json, key, at| {
            match key {
                "method" => {
                    let (text, place) = json.string("the signature of a method")?;
                    if !is_signature(&text) {
                        let message = format!("`{text}` is not the signature of a method");
                        let help = "for example `<List: Node find(Node,int)>`";
                        return Err(Diagnostic::error(place, message).help(help));
                    }
                    name = Some((text, place));
                }
                "contracts" => json.array("a list of contracts", |json| {
                    let place = json.here();
                    let mut before = None;
                    let mut after = None;
                    let mut thrown = None;
                    object(json, "a contract", |json, key, at| {
                        let list: &mut Vec<Graph<'a>> = match key {
                            "precondition" => {
                                before = Some(reading.graph(json)?);
                                return Ok(());
                            }
                            "postconditions" => after.get_or_insert_default(),
                            "exceptions" => thrown.get_or_insert_default(),
                            _ => return reading.skip(json, key, at, &CONTRACT_KEYS),
                        };
                        json.array("a list of graphs", |json| {
                            list.push(reading.graph(json)?);
                            Ok(())
                        })
                    })?;
                    let missing = |key: &str| {
                        let message = format!("the key `{key}` is missing");
                        Diagnostic::error(place, message).label("in this contract")
                    };
                    contracts.push(RawContract {
                        before: before.ok_or_else(|| missing("precondition"))?,
                        after: after.ok_or_else(|| missing("postconditions"))?,
                        thrown,
                    });
                    Ok(())
                })?,
                _ => reading.skip(json, key, at, &["method", "contracts"])?,
            }
            Ok(())
        },
    )?;
    let missing = "the key `method` is missing";
    let (name, place) = name.ok_or_else(|| Diagnostic::error(place, missing))?;
    Ok((name.into_owned(), place, contracts))
}
