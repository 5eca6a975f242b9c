//! Reader of symbolic heaps: inductive predicate definitions become a grammar, a symbolic heap
//! becomes a heap.
//!
//! ```text
//! Chain(a{Ring}, !b{Ring}) <= a.succ -> b <= m{Ring} | a.succ -> m * Chain(m, b) ;
//! Start(@parameter0:{Ring}, last{Ring}) <= Chain(@parameter0:, last) * last.succ -> null
//! ```
//!
//! The variables of the head are the external nodes of a rule, or the variables of a heap. `!`
//! marks a reduction tentacle. A body may declare any number of variables of its own.

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::grammar::Fragment;
use crate::hypergraph::{Heap, Node};
use crate::notes::{Mention, Notes};
use crate::read_json::room;
use crate::sid_syntax::{Atom, Body, Head, Name, Parser};
use crate::symbols::{Index, Label, Symbols, TypeId, Variable};

/// Reads definitions of inductive predicates as fragments of a grammar.
pub fn read_sid(symbols: &mut Symbols, text: &str) -> Result<Vec<Fragment>, Vec<Diagnostic>> {
    let mut parser = Parser::new(text);
    let definitions = parser.definitions().map_err(|e| vec![e])?;
    room(symbols, parser.names.iter().copied())?;
    let mut errors = Vec::new();
    let mut fragments: Vec<Fragment> = Vec::new();
    for (head, _) in &definitions {
        let rank = head.parameters.len();
        match symbols.add_nonterminal(head.name.text, rank) {
            Ok(nonterminal) => fragments.push(Fragment {
                nonterminal,
                index: Index::NONE,
                reduction: Some(head.parameters.iter().map(|p| p.reduction).collect()),
                rules: Vec::new(),
            }),
            Err(mismatch) => errors.push(rank_error(head.name, mismatch.first, rank)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    for ((head, bodies), fragment) in definitions.iter().zip(&mut fragments) {
        for body in bodies {
            match rule(symbols, head, body) {
                Ok(graph) => fragment.rules.push(graph),
                Err(error) => errors.push(error),
            }
        }
    }
    if errors.is_empty() {
        Ok(fragments)
    } else {
        Err(errors)
    }
}

fn rank_error(name: Name<'_>, first: usize, rank: usize) -> Diagnostic {
    let text = name.text;
    let parameters = |count: usize| match count {
        1 => "1 parameter".to_owned(),
        count => format!("{count} parameters"),
    };
    let first = parameters(first);
    let message = format!("`{text}` has {first} elsewhere, but {rank} here");
    Diagnostic::error(name.span, message).label(parameters(rank))
}

/// Names with nodes, and what was said about them.
struct Scope<'a> {
    nodes: Vec<(Name<'a>, Node)>,
}

impl<'a> Scope<'a> {
    fn declare(&mut self, name: Name<'a>, node: Node) -> Result<(), Diagnostic> {
        if let Some((first, _)) = self.nodes.iter().find(|(n, _)| n.text == name.text) {
            let message = format!("`{}` is declared twice", name.text);
            return Err(Diagnostic::error(name.span, message).also(first.span, "first here"));
        }
        self.nodes.push((name, node));
        Ok(())
    }

    fn find(&self, name: Name<'a>) -> Option<Node> {
        let found = self.nodes.iter().find(|(n, _)| n.text == name.text);
        found.map(|(_, node)| *node)
    }
}

fn unknown(name: Name<'_>) -> Diagnostic {
    Diagnostic::error(name.span, format!("`{}` is not declared", name.text))
        .label("not declared")
        .help("each variable is declared once, in the head or before `|`, as `name{Type}`")
}

fn rule<'a>(symbols: &mut Symbols, head: &Head<'a>, body: &Body<'a>) -> Result<Heap, Diagnostic> {
    let mut heap = Heap::new();
    let mut scope = Scope { nodes: Vec::new() };
    for parameter in &head.parameters {
        let node = heap.add_node(symbols.add_type(parameter.type_name));
        scope.declare(parameter.name, node)?;
        heap.add_external(node);
    }
    for own in &body.own {
        let node = heap.add_node(symbols.add_type(own.type_name));
        scope.declare(own.name, node)?;
    }
    let find = |_: &mut Heap, name: Name<'a>| {
        if name.text == "null" {
            let error = Diagnostic::error(name.span, "`null` cannot stand in a rule");
            return Err(error.help("pass it as a parameter, declared `n{NULL}`"));
        }
        scope.find(name).ok_or_else(|| unknown(name))
    };
    for atom in &body.atoms {
        match *atom {
            Atom::Empty(span) | Atom::Equal(Name { span, .. }, _) => {
                let message = "a rule has only selectors and predicates";
                return Err(Diagnostic::error(span, message));
            }
            _ => spatial(symbols, &mut heap, atom, &find)?,
        }
    }
    Ok(heap)
}

/// A selector or a hyperedge.
fn spatial<'a>(
    symbols: &mut Symbols,
    heap: &mut Heap,
    atom: &Atom<'a>,
    find: &impl Fn(&mut Heap, Name<'a>) -> Result<Node, Diagnostic>,
) -> Result<(), Diagnostic> {
    match atom {
        Atom::PointsTo(origin, selector, target) => {
            let from = find(heap, *origin)?;
            let to = find(heap, *target)?;
            let name = symbols.add_selector(selector.text);
            if heap.target(from, name).is_some() {
                let (origin, selector) = (origin.text, selector);
                let message = format!("`{origin}` has the selector `{}` twice", selector.text);
                return Err(Diagnostic::error(selector.span, message));
            }
            heap.set_selector(from, name, to);
        }
        Atom::Call(predicate, arguments) => {
            let Some(nonterminal) = symbols.nonterminal(predicate.text) else {
                let names = symbols.nonterminals().map(|n| symbols.nonterminal_name(n));
                let close = droste_source::suggest::nearest(predicate.text, names);
                let message = format!("there is no predicate `{}`", predicate.text);
                let error = Diagnostic::error(predicate.span, message).label("not defined");
                return Err(match close {
                    Some(close) => error.help(format!("did you mean `{close}`?")),
                    None => error,
                });
            };
            let rank = symbols.rank(nonterminal);
            if rank != arguments.len() {
                return Err(rank_error(*predicate, rank, arguments.len()));
            }
            let mut tentacles = Vec::with_capacity(rank);
            for argument in arguments {
                tentacles.push(find(heap, *argument)?);
            }
            heap.add_hyperedge(Label::from(nonterminal), &tentacles);
        }
        Atom::Empty(_) | Atom::Equal(..) => (),
    }
    Ok(())
}

/// Reads a symbolic heap. The variables of its head become variables of the heap.
pub fn read_symbolic_heap(symbols: &mut Symbols, text: &str) -> Result<Heap, Vec<Diagnostic>> {
    read_symbolic_heap_noting(symbols, text, &mut Notes::default())
}

/// The same, and notes which types and selectors the text names.
pub fn read_symbolic_heap_noting(
    symbols: &mut Symbols,
    text: &str,
    notes: &mut Notes,
) -> Result<Heap, Vec<Diagnostic>> {
    let mut parser = Parser::new(text);
    let (head, body) = parser.heap().map_err(|error| vec![error])?;
    room(symbols, parser.names.iter().copied())?;
    let heap = symbolic_heap(symbols, &head, &body, notes);
    heap.map_err(|error| vec![error])
}

fn symbolic_heap<'a>(
    symbols: &mut Symbols,
    head: &Head<'a>,
    body: &Body<'a>,
    notes: &mut Notes,
) -> Result<Heap, Diagnostic> {
    // Names, and which of them are said to be equal: each has a representative.
    let mut names: Vec<(Name<'a>, &str)> = Vec::new();
    for declared in head.parameters.iter().chain(&body.own) {
        if let Some((first, _)) = names.iter().find(|(n, _)| n.text == declared.name.text) {
            let message = format!("`{}` is declared twice", declared.name.text);
            let error = Diagnostic::error(declared.name.span, message);
            return Err(error.also(first.span, "first here"));
        }
        names.push((declared.name, declared.type_name));
        if constant(declared.name.text).is_none() {
            notes.mentions.push(Mention {
                object: symbols.add_type(declared.type_name),
                selector: None,
                place: declared.type_span,
            });
        }
    }
    let mentioned = body.atoms.iter().flat_map(Atom::names);
    for name in mentioned {
        let known = names.iter().any(|(n, _)| n.text == name.text);
        if !known && constant(name.text).is_some() {
            names.push((name, ""));
        } else if !known {
            return Err(unknown(name));
        }
    }
    let place = |name: Name<'a>| names.iter().position(|(n, _)| n.text == name.text);
    let mut same: Vec<usize> = (0..names.len()).collect();
    for atom in &body.atoms {
        if let Atom::Equal(a, b) = *atom
            && let (Some(a), Some(b)) = (place(a), place(b))
        {
            let (a, b) = (same[a], same[b]);
            for one in same.iter_mut().filter(|one| **one == a.max(b)) {
                *one = a.min(b);
            }
        }
    }
    let mut heap = Heap::new();
    notes.begin_graph();
    let mut nodes: Vec<Option<Node>> = vec![None; names.len()];
    let mut types: Vec<Option<(TypeId, Span)>> = vec![None; names.len()];
    for (at, (name, type_name)) in names.iter().enumerate() {
        let fixed = constant(name.text);
        let id = match fixed {
            Some((_, id)) => id,
            None => symbols.add_type(type_name),
        };
        // What equals a constant has its type.
        match &mut types[same[at]] {
            Some((old, _)) if *old == id || old.is_constant() && fixed.is_none() => (),
            Some((old, _)) if !old.is_constant() && fixed.is_some() => *old = id,
            Some((_, first)) => {
                let message = format!("`{}` equals something of another type", name.text);
                return Err(Diagnostic::error(name.span, message).also(*first, "this"));
            }
            none => *none = Some((id, name.span)),
        }
    }
    for at in 0..names.len() {
        let first = same[at];
        let node = if let Some(node) = nodes[first] {
            node
        } else {
            let node = heap.add_node(types[first].map_or(TypeId::NULL, |t| t.0));
            notes.nodes.push((node, names[at].0.span));
            node
        };
        (nodes[first], nodes[at]) = (Some(node), Some(node));
        let name = names[at].0;
        let variable = match constant(name.text) {
            Some((variable, _)) => variable,
            None if at < head.parameters.len() => symbols.add_variable(name.text),
            None => continue,
        };
        heap.set_variable(variable, node);
        notes.variables.push((variable, node, name.span));
    }
    let find = |_: &mut Heap, name: Name<'a>| {
        let found = place(name).and_then(|at| nodes[at]);
        found.ok_or_else(|| unknown(name))
    };
    for atom in &body.atoms {
        spatial(symbols, &mut heap, atom, &find)?;
        if let Atom::Call(predicate, arguments) = atom
            && let Some(nonterminal) = symbols.nonterminal(predicate.text)
        {
            let tentacles = arguments.iter().map(|name| find(&mut heap, *name));
            let tentacles: Result<Vec<Node>, Diagnostic> = tentacles.collect();
            let place = predicate.span;
            notes.hyperedges.push((nonterminal, tentacles?, place));
        }
        if let Atom::PointsTo(origin, selector, _) = atom {
            let origin = find(&mut heap, *origin)?;
            notes.origins.push((origin, selector.span));
            notes.mentions.push(Mention {
                object: heap.node_type(origin),
                selector: symbols.selector(selector.text),
                place: selector.span,
            });
        }
    }
    Ok(heap)
}

/// The variable and the type of the node of a constant.
fn constant(text: &str) -> Option<(Variable, TypeId)> {
    Some(match text {
        "null" => (Variable::NULL, TypeId::NULL),
        "0" => (Variable::ZERO, TypeId::INT),
        "1" => (Variable::ONE, TypeId::INT),
        "-1" => (Variable::MINUS_ONE, TypeId::INT),
        "true" => (Variable::TRUE, TypeId::INT),
        "false" => (Variable::FALSE, TypeId::INT),
        _ => return None,
    })
}
