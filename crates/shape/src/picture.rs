//! Heaps as pictures: SVG, laid out in columns by the distance from the variables.
//!
//! Constants are not drawn as nodes: a selector or a tentacle to null ends in a bar, one to a number
//! in its name. A hyperedge is a box; its tentacles
//! lead to the nodes, in order, numbered from 1.

use std::collections::VecDeque;
use std::fmt::Write as _;

use droste_heap::{Heap, Node, Selector, Symbols, TypeId, Variable};

/// What a statement has changed, to be highlighted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// A variable that points somewhere else now.
    pub variable: Option<String>,
    /// A field of what a variable points to.
    pub field: Option<(String, String)>,
}

const COLUMN: f64 = 150.0;
const ROW: f64 = 110.0;
const RADIUS: f64 = 17.0;
const MARGIN: f64 = 64.0;
/// How much larger than its numbers a picture is shown.
const SCALE: f64 = 1.3;
/// How wide a letter is, about.
const LETTER: f64 = 7.5;
/// Names of variables stick out to the left and right.
const SIDE: f64 = 90.0;

/// The head of all arrows. A page needs it once, where it is not hidden.
pub(crate) const ARROW: &str = "<svg class=\"arrow\" width=\"0\" height=\"0\"><defs><marker id=\"arrow\" \
    viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
    <path d=\"M0 0 8 4 0 8z\"/></marker></defs></svg>";

/// Something with a place: a node, or a hyperedge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thing {
    Node(Node),
    Hyperedge(usize),
}

/// Where everything is.
struct Layout {
    nodes: Vec<Option<(f64, f64)>>,
    hyperedges: Vec<(f64, f64)>,
    width: f64,
    height: f64,
}

/// Whether a node is null or a number.
fn is_constant(heap: &Heap, node: Node) -> bool {
    let named = heap.variables_at(node).any(Variable::is_constant);
    named || heap.node_type(node) == TypeId::NULL
}

/// The name of a constant node other than null.
fn number<'a>(heap: &Heap, symbols: &'a Symbols, node: Node) -> Option<&'a str> {
    let variable = heap.variables_at(node).find(|one| one.is_constant())?;
    let is_null = variable == Variable::NULL || heap.node_type(node) == TypeId::NULL;
    (!is_null).then(|| symbols.variable_name(variable))
}

fn layout(heap: &Heap) -> Layout {
    let mut column: Vec<Option<usize>> = vec![None; heap.node_bound()];
    let mut boxes: Vec<Option<usize>> = vec![None; heap.hyperedge_count()];
    let mut columns: Vec<Vec<Thing>> = Vec::new();
    let mut queue: VecDeque<Node> = VecDeque::new();
    let put = |thing: Thing, at: usize, columns: &mut Vec<Vec<Thing>>| {
        while columns.len() <= at {
            columns.push(Vec::new());
        }
        columns[at].push(thing);
    };
    let drawn = |node: Node| !is_constant(heap, node);
    let named = (heap.variables().iter())
        .filter(|(variable, _)| !variable.is_constant())
        .map(|&(_, node)| node);
    let constants = heap.variables().iter().map(|&(_, node)| node);
    // Unreachable parts begin at their first node.
    let starts: Vec<Node> = (named.chain(heap.externals().iter().copied()))
        .chain(
            heap.nodes()
                .filter(|&node| !heap.variables().iter().any(|v| v.1 == node)),
        )
        .chain(constants)
        .collect();
    for start in starts {
        if !drawn(start) || column[usize::from(start.0)].is_some() {
            continue;
        }
        column[usize::from(start.0)] = Some(0);
        put(Thing::Node(start), 0, &mut columns);
        queue.push_back(start);
        while let Some(node) = queue.pop_front() {
            let at = column[usize::from(node.0)].unwrap_or(0);
            for edge in heap.edges_of(node) {
                let place = &mut column[usize::from(edge.target.0)];
                if drawn(edge.target) && place.is_none() {
                    *place = Some(at + 1);
                    put(Thing::Node(edge.target), at + 1, &mut columns);
                    queue.push_back(edge.target);
                }
            }
            for (number, hyperedge) in heap.hyperedges().enumerate() {
                if hyperedge.tentacles.first() != Some(&node) || boxes[number].is_some() {
                    continue;
                }
                boxes[number] = Some(at + 1);
                put(Thing::Hyperedge(number), at + 1, &mut columns);
                for &other in hyperedge.tentacles {
                    let place = &mut column[usize::from(other.0)];
                    if drawn(other) && place.is_none() {
                        *place = Some(at + 2);
                        put(Thing::Node(other), at + 2, &mut columns);
                        queue.push_back(other);
                    }
                }
            }
        }
    }
    for (number, place) in boxes.iter().enumerate() {
        if place.is_none() {
            put(Thing::Hyperedge(number), 1, &mut columns);
        }
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut made = Layout {
        nodes: vec![None; heap.node_bound()],
        hyperedges: vec![(0.0, 0.0); heap.hyperedge_count()],
        width: 2.0 * SIDE + COLUMN * columns.len().saturating_sub(1) as f64,
        height: 2.0 * MARGIN + ROW * (rows - 1) as f64,
    };
    for (x, things) in columns.iter().enumerate() {
        let shift = (rows - things.len()) as f64 / 2.0;
        for (y, thing) in things.iter().enumerate() {
            let place = (SIDE + COLUMN * x as f64, MARGIN + ROW * (y as f64 + shift));
            match *thing {
                Thing::Node(node) => made.nodes[usize::from(node.0)] = Some(place),
                Thing::Hyperedge(number) => made.hyperedges[number] = place,
            }
        }
    }
    made
}

/// A heap as an SVG picture.
pub fn svg(heap: &Heap, symbols: &Symbols, change: &Change) -> String {
    let layout = layout(heap);
    let mut out = String::new();
    // Which variables are null or a number is told in a line below.
    let mut told: Vec<(String, bool)> = Vec::new();
    for node in heap.nodes().filter(|&node| is_constant(heap, node)) {
        let own = heap.variables_at(node).filter(|one| !one.is_constant());
        let names: Vec<&str> = own.map(|one| symbols.variable_name(one)).collect();
        if !names.is_empty() {
            let value = number(heap, symbols, node).unwrap_or("null");
            let changed = (change.variable.as_deref()).is_some_and(|name| names.contains(&name));
            told.push((format!("{value}: {}", names.join(", ")), changed));
        }
    }
    let letters = |(text, _): &(String, bool)| text.chars().count() + 3;
    let letters: usize = told.iter().map(letters).sum();
    let width = layout.width.max(20.0 + LETTER * letters as f64);
    let height = layout.height + 24.0;
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{:.0}\" height=\"{:.0}\">",
        SCALE * width,
        SCALE * height
    );
    let changed_field = change.field.as_ref().and_then(|(base, field)| {
        let node = heap.variable(symbols.variable(base)?)?;
        Some((node, symbols.selector(field)?))
    });
    stubs(&mut out, heap, symbols, &layout, changed_field);
    for edge in heap.edges() {
        let Some(from) = layout.nodes[usize::from(edge.origin.0)] else {
            continue;
        };
        let name = escape(symbols.selector_name(edge.selector));
        let class = if changed_field == Some((edge.origin, edge.selector)) {
            "selector changed"
        } else {
            "selector"
        };
        match layout.nodes[usize::from(edge.target.0)] {
            None => {}
            Some(to) if edge.origin == edge.target => {
                let (x, y) = (from.0, from.1 - RADIUS);
                let _ = write!(
                    out,
                    "<g class=\"{class}\"><path marker-end=\"url(#arrow)\" \
                     d=\"M{:.0} {y:.0}c-24 -38 40 -38 {:.0} 2\"/>\
                     <text x=\"{x:.0}\" y=\"{:.0}\">{name}</text></g>",
                    x - 8.0,
                    16.0,
                    to.1 - RADIUS - 32.0
                );
            }
            Some(to) => {
                let bend = 14.0 + 12.0 * f64::from(edge.selector.0 % 3);
                out.push_str(&arrow(class, from, to, bend, &name));
            }
        }
    }
    for (number, hyperedge) in heap.hyperedges().enumerate() {
        let at = layout.hyperedges[number];
        for (tentacle, &node) in hyperedge.tentacles.iter().enumerate() {
            let Some(to) = layout.nodes[usize::from(node.0)] else {
                continue;
            };
            let (x, y) = (at.0 * 0.6 + to.0 * 0.4, at.1 * 0.6 + to.1 * 0.4);
            let _ = write!(
                out,
                "<g class=\"tentacle\"><path d=\"M{:.0} {:.0}L{:.0} {:.0}\"/>\
                 <text x=\"{x:.0}\" y=\"{:.0}\">{}</text></g>",
                at.0,
                at.1,
                to.0,
                to.1,
                y - 4.0,
                tentacle + 1
            );
        }
        let name = escape(symbols.nonterminal_name(hyperedge.label.nonterminal));
        let width = 14.0 + LETTER * name.chars().count() as f64;
        let nulls: Vec<(String, &str)> = (hyperedge.tentacles.iter().enumerate())
            .filter(|(_, node)| layout.nodes[usize::from(node.0)].is_none())
            .map(|(tentacle, _)| ((tentacle + 1).to_string(), "tentacle"))
            .collect();
        bars(&mut out, (at.0, at.1 + 13.0), &nulls);
        let _ = write!(
            out,
            "<g class=\"hyperedge\"><rect x=\"{:.0}\" y=\"{:.0}\" width=\"{width:.0}\" height=\"26\" \
             rx=\"5\"/><text x=\"{:.0}\" y=\"{:.0}\">{name}</text></g>",
            at.0 - width / 2.0,
            at.1 - 13.0,
            at.0,
            at.1 + 4.0
        );
    }
    // Where all objects are of one class, nobody has to be told.
    let mut types: Vec<TypeId> = heap.nodes().map(|node| heap.node_type(node)).collect();
    types.retain(|one| !one.is_constant());
    types.sort_unstable();
    types.dedup();
    let several = types.len() > 1;
    for node in heap.nodes() {
        let Some((x, y)) = layout.nodes[usize::from(node.0)] else {
            continue;
        };
        let external = heap.externals().iter().position(|&one| one == node);
        let class = if external.is_some() {
            "node external"
        } else {
            "node"
        };
        let kind = escape(symbols.type_name(heap.node_type(node)));
        let simple = kind.rsplit(['.', '$']).next().unwrap_or(&kind);
        let _ = write!(
            out,
            "<g class=\"{class}\"><circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{RADIUS}\"/>\
             <title>{kind}</title>"
        );
        if let Some(number) = external {
            let _ = write!(
                out,
                "<text x=\"{x:.0}\" y=\"{:.0}\">{}</text>",
                y + 4.0,
                number + 1
            );
        }
        out.push_str("</g>");
        if several {
            let (x, y) = (x + RADIUS + 4.0, y + RADIUS);
            let _ = write!(
                out,
                "<text class=\"null type\" x=\"{x:.0}\" y=\"{y:.0}\">{simple}</text>"
            );
        }
        let mut above = y - RADIUS - 6.0;
        for variable in heap.variables_at(node) {
            let name = symbols.variable_name(variable);
            let class = if change.variable.as_deref() == Some(name) {
                "variable changed"
            } else if variable.is_marking() {
                "variable marking"
            } else {
                "variable"
            };
            let name = escape(name);
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{x:.0}\" y=\"{above:.0}\">{name}</text>"
            );
            above -= 14.0;
        }
    }
    let mut x = 10.0;
    for (text, changed) in &told {
        let class = if *changed { "null changed" } else { "null" };
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{x:.0}\" y=\"{:.0}\">{}</text>",
            height - 8.0,
            escape(text)
        );
        x += LETTER * (text.chars().count() + 3) as f64;
    }
    out.push_str("</svg>");
    out
}

/// Selectors to null and to numbers, below their nodes.
fn stubs(
    out: &mut String,
    heap: &Heap,
    symbols: &Symbols,
    layout: &Layout,
    changed: Option<(Node, Selector)>,
) {
    for node in heap.nodes() {
        let Some((x, y)) = layout.nodes[usize::from(node.0)] else {
            continue;
        };
        let nulls: Vec<(String, &str)> = (heap.edges_of(node))
            .filter(|edge| layout.nodes[usize::from(edge.target.0)].is_none())
            .map(|edge| {
                let class = if changed == Some((node, edge.selector)) {
                    "selector changed"
                } else {
                    "selector"
                };
                let name = escape(symbols.selector_name(edge.selector));
                match number(heap, symbols, edge.target) {
                    Some(number) => (format!("{name} = {}", escape(number)), class),
                    None => (name, class),
                }
            })
            .collect();
        bars(out, (x, y + RADIUS), &nulls);
    }
}

/// Bars below a place, side by side, each with a name.
fn bars(out: &mut String, (x, y): (f64, f64), names: &[(String, &str)]) {
    let wide = |name: &str| 14.0 + LETTER * name.chars().count() as f64;
    let all: f64 = names.iter().map(|(name, _)| wide(name)).sum();
    let mut left = x - all / 2.0;
    for (name, class) in names {
        let at = left + wide(name) / 2.0;
        left += wide(name);
        // Null is a bar; a number is told in the name.
        let bar = if name.contains(" = ") {
            ""
        } else {
            "m-8 0h16m-12 4h8"
        };
        let _ = write!(
            out,
            "<g class=\"{class}\"><path d=\"M{x:.0} {y:.0}L{at:.0} {:.0}{bar}\"/>\
             <text x=\"{at:.0}\" y=\"{:.0}\">{name}</text></g>",
            y + 16.0,
            y + 34.0
        );
    }
}

/// A curved arrow from the rim of one node to that of another, with a name.
fn arrow(class: &str, from: (f64, f64), to: (f64, f64), bend: f64, name: &str) -> String {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = (dx * dx + dy * dy).sqrt().max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    // Backward arrows bend the other way, so that two between the same nodes are seen.
    let (middle_x, middle_y) = (
        f64::midpoint(from.0, to.0) + uy * bend,
        f64::midpoint(from.1, to.1) - ux * bend,
    );
    let rim = |center: (f64, f64)| {
        let (x, y) = (middle_x - center.0, middle_y - center.1);
        let scale = RADIUS / (x * x + y * y).sqrt().max(1.0);
        (center.0 + x * scale, center.1 + y * scale)
    };
    let (start, end) = (rim(from), rim(to));
    format!(
        "<g class=\"{class}\"><path marker-end=\"url(#arrow)\" d=\"M{:.0} {:.0}Q{:.0} {:.0} {:.0} \
         {:.0}\"/><text x=\"{:.0}\" y=\"{:.0}\">{name}</text></g>",
        start.0,
        start.1,
        middle_x + uy * bend / 2.0,
        middle_y - ux * bend / 2.0,
        end.0,
        end.1,
        middle_x,
        middle_y - 3.0,
    )
}

/// Text as it stands in markup.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
