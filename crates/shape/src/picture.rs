//! Heaps as pictures: SVG, laid out in columns by the distance from the variables.
//!
//! Constants are not drawn as nodes: a selector or a tentacle to null ends in a bar, one to a number
//! in its name. A hyperedge is a box; its tentacles lead to the nodes, in order, numbered from 1.
//! Columns and rows are as far apart as names need. Names are drawn behind all lines, so that no line
//! crosses one.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::fmt::Write as _;

use droste_heap::{Heap, Hyperedge, Node, Selector, Symbols, TypeId, Variable, label_text};

/// What a statement has changed, to be highlighted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// A variable that points somewhere else now.
    pub variable: Option<String>,
    /// A field of what a variable points to.
    pub field: Option<(String, String)>,
}

/// The least distance between columns, and between rows.
const COLUMN: f64 = 150.0;
const ROW: f64 = 110.0;
const RADIUS: f64 = 17.0;
/// The least space at the edges.
const MARGIN: f64 = 50.0;
/// How much larger than its numbers a picture is shown.
const SCALE: f64 = 1.3;
/// How wide a letter is, about.
const LETTER: f64 = 7.5;
/// How far apart the names of variables are, one above the other.
const LINE: f64 = 14.0;
/// How far bars and their names reach down.
const BARS: f64 = 38.0;
/// How far a selector from a node to itself reaches out; the next one reaches further.
const LOOP: f64 = 26.0;

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

/// Where something is: its column and its centre.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    column: usize,
    x: f64,
    y: f64,
}

/// Where everything is.
struct Layout {
    nodes: Vec<Option<Place>>,
    hyperedges: Vec<Place>,
    width: f64,
    height: f64,
}

impl Layout {
    /// The place of a node, unless it is a constant.
    fn node(&self, node: Node) -> Option<Place> {
        self.nodes[usize::from(node.0)]
    }
}

/// How far something reaches from its centre, with the names that belong to it.
#[derive(Clone, Copy, Default)]
struct Extent {
    side: f64,
    above: f64,
    below: f64,
}

impl Extent {
    /// The larger of both.
    fn or(self, other: Extent) -> Extent {
        Extent {
            side: self.side.max(other.side),
            above: self.above.max(other.above),
            below: self.below.max(other.below),
        }
    }
}

/// How wide a text is, about.
fn wide(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
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

/// Things in columns, by the distance from the variables.
fn columns(heap: &Heap) -> Vec<Vec<Thing>> {
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
    columns
}

/// From which column to which selectors and tentacles lead.
fn lines(heap: &Heap, columns: &[Vec<Thing>]) -> Vec<(usize, usize)> {
    let mut nodes: Vec<Option<usize>> = vec![None; heap.node_bound()];
    let mut boxes = Vec::new();
    for (column, things) in columns.iter().enumerate() {
        for thing in things {
            match *thing {
                Thing::Node(node) => nodes[usize::from(node.0)] = Some(column),
                Thing::Hyperedge(number) => boxes.push((column, number)),
            }
        }
    }
    let column = |node: Node| nodes[usize::from(node.0)];
    let selectors = heap
        .edges()
        .filter_map(|edge| column(edge.origin).zip(column(edge.target)));
    let tentacles = boxes.iter().flat_map(|&(from, number)| {
        let ends = heap.hyperedge(number).tentacles.iter();
        ends.filter_map(move |&node| Some((from, column(node)?)))
    });
    selectors.chain(tentacles).collect()
}

fn layout(picture: &Picture<'_>) -> Layout {
    let heap = picture.heap;
    let columns = columns(heap);
    let extent = |thing: &Thing| match *thing {
        Thing::Node(node) => picture.node_extent(node),
        Thing::Hyperedge(number) => picture.box_extent(number),
    };
    let all = columns.iter().flatten().map(extent);
    let all = all.fold(Extent::default(), Extent::or);
    let (mut top, mut bottom) = (all.above.max(MARGIN), all.below.max(MARGIN));
    // Lines over several columns bend up if they lead to the right, or else down.
    for (from, to) in lines(heap, &columns) {
        let room = over(from, to) + 50.0;
        match from.cmp(&to) {
            _ if from.abs_diff(to) < 2 => {}
            Ordering::Less => top = top.max(room),
            _ => bottom = bottom.max(room),
        }
    }
    let pitch = ROW.max(all.above + all.below + 8.0);
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut made = Layout {
        nodes: vec![None; heap.node_bound()],
        hyperedges: vec![Place::default(); heap.hyperedge_count()],
        width: 2.0 * MARGIN,
        height: top + bottom + pitch * (rows - 1) as f64,
    };
    // Between two columns there is room for the names in both, and for a selector's.
    let names = heap
        .edges()
        .map(|edge| wide(picture.symbols.selector_name(edge.selector)));
    let between = names.fold(0.0, f64::max) + 20.0;
    let mut last = 0.0;
    for (column, things) in columns.iter().enumerate() {
        let side = things
            .iter()
            .map(extent)
            .fold(Extent::default(), Extent::or)
            .side;
        let x = match column {
            0 => side.max(MARGIN) + 4.0,
            _ => COLUMN.max(made.width - last + between + side) + last,
        };
        (last, made.width) = (x, x + side);
        let shift = (rows - things.len()) as f64 / 2.0;
        for (row, thing) in things.iter().enumerate() {
            let y = top + pitch * (row as f64 + shift);
            let place = Place { column, x, y };
            match *thing {
                Thing::Node(node) => made.nodes[usize::from(node.0)] = Some(place),
                Thing::Hyperedge(number) => made.hyperedges[number] = place,
            }
        }
    }
    made.width = made.width.max(last + MARGIN) + 4.0;
    made
}

/// A heap as an SVG picture.
pub fn svg(heap: &Heap, symbols: &Symbols, change: &Change) -> String {
    draw(heap, symbols, change, false)
}

/// The right-hand side of a rule. Which tentacles are null or a number is told below.
pub(crate) fn rule_svg(rule: &Heap, symbols: &Symbols) -> String {
    draw(rule, symbols, &Change::default(), true)
}

fn draw(heap: &Heap, symbols: &Symbols, change: &Change, is_rule: bool) -> String {
    // Where all objects are of one class, nobody has to be told.
    let mut types: Vec<TypeId> = heap.nodes().map(|node| heap.node_type(node)).collect();
    types.retain(|one| !one.is_constant());
    types.sort_unstable();
    types.dedup();
    let changed_field = change.field.as_ref().and_then(|(base, field)| {
        let node = heap.variable(symbols.variable(base)?)?;
        Some((node, symbols.selector(field)?))
    });
    let mut picture = Picture {
        heap,
        symbols,
        change,
        changed_field,
        with_types: types.len() > 1,
        is_rule,
        lines: String::new(),
        names: String::new(),
        taken: Vec::new(),
    };
    let layout = layout(&picture);
    let told = picture.constants();
    let letters: f64 = told.iter().map(|(text, _)| wide(text) + 3.0 * LETTER).sum();
    let width = layout.width.max(20.0 + letters);
    let height = layout.height + if told.is_empty() { 0.0 } else { 24.0 };
    // Lines come first, then nodes over them; the names of arrows find their places last.
    for (number, hyperedge) in heap.hyperedges().enumerate() {
        picture.hyperedge(&layout, layout.hyperedges[number], &hyperedge);
    }
    let mut nodes = String::new();
    for node in heap.nodes() {
        if let Some(place) = layout.node(node) {
            nodes += &picture.node(node, place);
        }
    }
    picture.selectors(&layout);
    picture.lines += &nodes;
    let mut x = 10.0;
    for (text, changed) in &told {
        let class = if *changed { "null changed" } else { "null" };
        picture.text(class, x, height - 8.0, &escape(text));
        x += wide(text) + 3.0 * LETTER;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{:.0}\" height=\"{:.0}\" style=\"--least:{width:.0}px\">{}{}</svg>",
        SCALE * width,
        SCALE * height,
        picture.lines,
        picture.names
    )
}

/// What a bar below a node or box is: its name, its class, and whether it is null.
type Bar = (String, &'static str, bool);

/// A picture under way.
struct Picture<'a> {
    heap: &'a Heap,
    symbols: &'a Symbols,
    change: &'a Change,
    changed_field: Option<(Node, Selector)>,
    /// Whether the class is written at each node.
    with_types: bool,
    /// Whether external nodes are where the tentacles of a nonterminal are.
    is_rule: bool,
    lines: String,
    names: String,
    /// The names that have been drawn: their centres and half their widths.
    taken: Vec<(f64, f64, f64)>,
}

impl<'a> Picture<'a> {
    /// A name, centred at `x` on the line `y`.
    fn name(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.taken.push((x, y, wide(text) / 2.0));
        self.text(class, x, y, text);
    }

    /// Whether there is no other name where this one would be.
    fn is_free(&self, x: f64, y: f64, text: &str) -> bool {
        let half = wide(text) / 2.0;
        let mut taken = self.taken.iter();
        !taken.any(|other| (other.0 - x).abs() < other.2 + half && (other.1 - y).abs() < LINE)
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let _ = write!(
            self.names,
            "<text class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\">{text}</text>"
        );
    }

    fn node_extent(&self, node: Node) -> Extent {
        let names = self.heap.variables_at(node);
        let names: Vec<f64> = names
            .map(|one| wide(self.symbols.variable_name(one)))
            .collect();
        let bars = self.bars_of(node);
        let loops = self.loops(node);
        let of_loops = loops
            .iter()
            .map(|(_, reach, name)| RADIUS + reach + wide(name) + 6.0);
        let kind = if self.with_types {
            RADIUS + 6.0 + 0.8 * wide(self.simple_type(node))
        } else {
            RADIUS
        };
        let of_names = names.iter().map(|width| width / 2.0);
        let side = of_names.chain(of_loops).fold(kind, f64::max);
        Extent {
            side: side.max(width_of(&bars) / 2.0),
            above: RADIUS + 8.0 + LINE * names.len() as f64,
            below: RADIUS + if bars.is_empty() { 4.0 } else { BARS },
        }
    }

    fn box_extent(&self, number: usize) -> Extent {
        let hyperedge = self.heap.hyperedge(number);
        let bars = self.bars_of_box(&hyperedge);
        let width = 14.0 + wide(&label_text(self.symbols, hyperedge.label));
        Extent {
            side: width.max(width_of(&bars)) / 2.0,
            above: 17.0,
            below: 13.0 + if bars.is_empty() { 4.0 } else { BARS },
        }
    }

    /// The class of a node without its package.
    fn simple_type(&self, node: Node) -> &str {
        let kind = self.symbols.type_name(self.heap.node_type(node));
        kind.rsplit(['.', '$']).next().unwrap_or(kind)
    }

    /// Which variables are null or a number, for a line below, and whether one has changed.
    fn constants(&self) -> Vec<(String, bool)> {
        let (heap, symbols) = (self.heap, self.symbols);
        let mut told = Vec::new();
        for node in heap.nodes().filter(|&node| is_constant(heap, node)) {
            let own = heap.variables_at(node).filter(|one| !one.is_constant());
            let mut names: Vec<String> = own
                .map(|one| symbols.variable_name(one).to_owned())
                .collect();
            let tentacles = heap.externals().iter().enumerate();
            let tentacles = tentacles.filter(|&(_, &one)| self.is_rule && one == node);
            names.extend(tentacles.map(|(at, _)| format!("tentacle {}", at + 1)));
            if !names.is_empty() {
                let value = number(heap, symbols, node).unwrap_or("null");
                let changed = self.change.variable.as_deref();
                let changed =
                    changed.is_some_and(|changed| names.iter().any(|name| name == changed));
                told.push((format!("{value}: {}", names.join(", ")), changed));
            }
        }
        told
    }

    fn selector_class(&self, node: Node, selector: Selector) -> &'static str {
        if self.changed_field == Some((node, selector)) {
            "selector changed"
        } else {
            "selector"
        }
    }

    /// The selectors from a node to itself: how far each reaches out, and its name.
    fn loops(&self, node: Node) -> Vec<(Selector, f64, &'a str)> {
        let symbols = self.symbols;
        let edges = self.heap.edges_of(node).filter(|edge| edge.target == node);
        let mut reach = 0.0;
        edges
            .map(|edge| {
                reach += LOOP;
                (edge.selector, reach, symbols.selector_name(edge.selector))
            })
            .collect()
    }

    /// All selectors: arrows, loops, and bars for those to constants.
    fn selectors(&mut self, layout: &Layout) {
        let (heap, symbols) = (self.heap, self.symbols);
        for node in heap.nodes() {
            if let Some(Place { x, y, .. }) = layout.node(node) {
                self.bars((x, y + RADIUS), &self.bars_of(node));
            }
        }
        for node in heap.nodes() {
            let Some(from) = layout.node(node) else {
                continue;
            };
            for (number, (selector, reach, name)) in self.loops(node).into_iter().enumerate() {
                let class = self.selector_class(node, selector);
                let out = from.x - RADIUS - reach * 4.0 / 3.0;
                let _ = write!(
                    self.lines,
                    "<g class=\"{class}\"><path marker-end=\"url(#arrow)\" d=\"M{x:.0} {:.0}\
                     C{out:.0} {:.0} {out:.0} {:.0} {x:.0} {:.0}\"/></g>",
                    from.y + 6.0,
                    from.y + 12.0,
                    from.y - 12.0,
                    from.y - 6.0,
                    x = from.x - RADIUS + 1.0,
                );
                let x = from.x - RADIUS - reach - 3.0 - wide(name) / 2.0;
                let y = from.y + 4.0 + 13.0 * number as f64;
                self.name(class, x, y, &escape(name));
            }
            let arrows = heap.edges_of(node).filter(|edge| edge.target != node);
            let arrows: Vec<(Selector, Node)> =
                arrows.map(|edge| (edge.selector, edge.target)).collect();
            for (at, &(selector, target)) in arrows.iter().enumerate() {
                let Some(to) = layout.node(target) else {
                    continue;
                };
                // Those between the same nodes bend more and more, those over columns more, too.
                let before = arrows[..at].iter().filter(|one| one.1 == target).count();
                let bend = 11.0 + 19.0 * before as f64 + over(from.column, to.column);
                let name = symbols.selector_name(selector);
                self.arrow(self.selector_class(node, selector), (from, to), bend, name);
            }
        }
    }

    /// A curved arrow from the rim of one node to that of another, with a name outside the curve.
    /// Arrows in opposite directions bend apart.
    fn arrow(&mut self, class: &str, (from, to): (Place, Place), bend: f64, name: &str) {
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let length = (dx * dx + dy * dy).sqrt().max(1.0);
        let (out_x, out_y) = (dy / length, -dx / length);
        let (middle_x, middle_y) = (f64::midpoint(from.x, to.x), f64::midpoint(from.y, to.y));
        let control = (middle_x + 2.0 * bend * out_x, middle_y + 2.0 * bend * out_y);
        let rim = |place: Place| {
            let (x, y) = (control.0 - place.x, control.1 - place.y);
            let scale = RADIUS / (x * x + y * y).sqrt().max(1.0);
            (place.x + x * scale, place.y + y * scale)
        };
        let (start, end) = (rim(from), rim(to));
        let _ = write!(
            self.lines,
            "<g class=\"{class}\"><path marker-end=\"url(#arrow)\" d=\"M{:.0} {:.0}Q{:.0} {:.0} \
             {:.0} {:.0}\"/></g>",
            start.0, start.1, control.0, control.1, end.0, end.1
        );
        // In the middle of the curve, or where there is room for it.
        let out = 8.0 + out_x.abs() * wide(name) / 2.0;
        let at = |t: f64| {
            let (a, b, c) = ((1.0 - t) * (1.0 - t), 2.0 * t * (1.0 - t), t * t);
            let x = a * from.x + b * control.0 + c * to.x + out * out_x;
            let y = a * from.y + b * control.1 + c * to.y + out * out_y;
            (x, y + 4.0)
        };
        let mut places = [0.5, 0.38, 0.62, 0.27, 0.73].into_iter().map(at);
        let free = places.find(|&(x, y)| self.is_free(x, y, name));
        let (x, y) = free.unwrap_or_else(|| at(0.5));
        self.name(class, x, y, &escape(name));
    }

    fn hyperedge(&mut self, layout: &Layout, at: Place, hyperedge: &Hyperedge<'_>) {
        for (tentacle, &node) in hyperedge.tentacles.iter().enumerate() {
            let Some(to) = layout.node(node) else {
                continue;
            };
            // Several to one node are one line.
            if hyperedge.tentacles[..tentacle].contains(&node) {
                continue;
            }
            let same = hyperedge.tentacles.iter().enumerate();
            let same = same.filter(|&(_, one)| *one == node);
            let numbers: Vec<String> = same.map(|(at, _)| (at + 1).to_string()).collect();
            // Around what is between, with the number nearer to the box.
            let (dx, dy) = (to.x - at.x, to.y - at.y);
            let length = (dx * dx + dy * dy).sqrt().max(1.0);
            let bend = over(at.column, to.column);
            let control = (
                f64::midpoint(at.x, to.x) + 2.0 * bend * dy / length,
                f64::midpoint(at.y, to.y) - 2.0 * bend * dx / length,
            );
            let _ = write!(
                self.lines,
                "<g class=\"tentacle\"><path d=\"M{:.0} {:.0}Q{:.0} {:.0} {:.0} {:.0}\"/></g>",
                at.x, at.y, control.0, control.1, to.x, to.y
            );
            let near = |from: f64, by: f64, to: f64| 0.36 * from + 0.48 * by + 0.16 * to;
            let (x, y) = (near(at.x, control.0, to.x), near(at.y, control.1, to.y));
            self.name("tentacle", x, y - 4.0, &numbers.join(", "));
        }
        self.bars((at.x, at.y + 13.0), &self.bars_of_box(hyperedge));
        let name = label_text(self.symbols, hyperedge.label);
        let width = 14.0 + wide(&name);
        let _ = write!(
            self.names,
            "<g class=\"hyperedge\"><rect x=\"{:.0}\" y=\"{:.0}\" width=\"{width:.0}\" \
             height=\"26\" rx=\"5\"/><text x=\"{:.0}\" y=\"{:.0}\">{}</text></g>",
            at.x - width / 2.0,
            at.y - 13.0,
            at.x,
            at.y + 4.0,
            escape(&name)
        );
    }

    /// A node; its names are drawn with the others.
    fn node(&mut self, node: Node, Place { x, y, .. }: Place) -> String {
        let (heap, symbols) = (self.heap, self.symbols);
        let external = heap.externals().iter().position(|&one| one == node);
        let class = match external {
            Some(_) => "node external",
            None => "node",
        };
        let kind = escape(symbols.type_name(heap.node_type(node)));
        let number = external.map_or_else(String::new, |at| (at + 1).to_string());
        let drawn = format!(
            "<g class=\"{class}\"><circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{RADIUS}\"/>\
             <title>{kind}</title><text x=\"{x:.0}\" y=\"{:.0}\">{number}</text></g>",
            y + 4.0
        );
        if self.with_types {
            let simple = escape(self.simple_type(node));
            self.text("null type", x + RADIUS + 4.0, y + RADIUS, &simple);
        }
        let mut above = y - RADIUS - 6.0;
        for variable in heap.variables_at(node) {
            let name = symbols.variable_name(variable);
            let class = if self.change.variable.as_deref() == Some(name) {
                "variable changed"
            } else if variable.is_marking() {
                "variable marking"
            } else {
                "variable"
            };
            self.name(class, x, above, &escape(name));
            above -= LINE;
        }
        drawn
    }

    /// The selectors of a node that lead to constants.
    fn bars_of(&self, node: Node) -> Vec<Bar> {
        let edges = self.heap.edges_of(node);
        edges
            .filter(|edge| is_constant(self.heap, edge.target))
            .map(|edge| {
                let class = self.selector_class(node, edge.selector);
                self.bar(
                    self.symbols.selector_name(edge.selector),
                    class,
                    edge.target,
                )
            })
            .collect()
    }

    /// The tentacles of a hyperedge that lead to constants.
    fn bars_of_box(&self, hyperedge: &Hyperedge<'_>) -> Vec<Bar> {
        let tentacles = hyperedge.tentacles.iter().enumerate();
        tentacles
            .filter(|&(_, &node)| is_constant(self.heap, node))
            .map(|(at, &node)| self.bar(&(at + 1).to_string(), "tentacle", node))
            .collect()
    }

    fn bar(&self, name: &str, class: &'static str, target: Node) -> Bar {
        match number(self.heap, self.symbols, target) {
            Some(number) => (format!("{name} = {number}"), class, false),
            None => (name.to_owned(), class, true),
        }
    }

    /// Bars below a place, side by side, each with a name. A number is told in the name.
    fn bars(&mut self, (x, y): (f64, f64), bars: &[Bar]) {
        let mut left = x - width_of(bars) / 2.0;
        for (name, class, null) in bars {
            let at = left + bar_width(name) / 2.0;
            left += bar_width(name);
            let bar = if *null { "m-8 0h16m-12 4h8" } else { "" };
            let _ = write!(
                self.lines,
                "<g class=\"{class}\"><path d=\"M{x:.0} {y:.0}L{at:.0} {:.0}{bar}\"/></g>",
                y + 16.0
            );
            self.name(class, at, y + 34.0, &escape(name));
        }
    }
}

fn bar_width(name: &str) -> f64 {
    14.0 + wide(name)
}

fn width_of(bars: &[Bar]) -> f64 {
    bars.iter().map(|(name, ..)| bar_width(name)).sum()
}

/// How much a line bends so that it passes what is in the columns between.
fn over(from: usize, to: usize) -> f64 {
    22.0 * from.abs_diff(to).saturating_sub(1).min(4) as f64
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
