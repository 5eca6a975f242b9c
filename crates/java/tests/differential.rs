//! Random pointer programs as Java sources: real Java and the interpreter agree on them.
//!
//! Each program is a static method over nodes with two links, a flag and a small number. Programs
//! call each other. What keeps them finite is *fuel*: a list that loops and calls use up and nobody
//! changes. A program runs on several small heaps. What can be reached afterwards from the result
//! and the arguments is written as text, by Java and by us; the texts must be the same.
//!
//! `PROGRAMS=n` sets how many programs, `SEED=n` which ones.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;

use droste_java::{Options, load};
use droste_pointer::interpret::{Heap, Interpreter, ObjectId, Outcome, Value};
use droste_pointer::{ClassId, FieldId, PointerProgram, simplify};

use support::{Directory, Random, java, jdk};

const INPUTS: u64 = 12;
const NODES: i64 = 4;
const FUEL: usize = 4;

const LIBRARY: &str = "
interface Stepper { Node step(Node o); default Node jump(Node o) { return step(o).other; } }
class Fuel { Fuel less; Fuel(Fuel less) { this.less = less; } }
class Stop extends RuntimeException { Node node; Stop(Node node) { this.node = node; } }
class Halt extends Stop { Halt(Node node) { super(node); } }
class Fail extends RuntimeException {}
class Node implements Stepper {
    Node next; Node other; boolean flag; int tag;
    Node() {}
    Node(Node next) { this.next = next; this.tag = 1; }
    public Node step(Node o) { return next == null ? o : next; }
    private Node hidden(Node o) { return o.flag ? this : o; }
    Node shown(Node o) { return hidden(o); }
    class Inner { Node own = next; Node outer() { return own == null ? Node.this : own; } }
}
class Make {
    static Node second(Node o) { return o.next == null ? o : o.next.other; }
    static Stepper pick(Node n) { return o -> o == null ? n : o.next; }
    static Stepper link(Node n) { return o -> { n.next = o; n.flag = o == null; return n; }; }
    static Stepper bound(Node n) { return n::step; }
    static Stepper free(Node n) { return Make::second; }
    static Stepper fresh(Node n) { return n == null ? Special::new : Node::new; }
    static Stepper nested(Node n) {
        java.util.function.UnaryOperator<Node> one = x -> x == n ? null : x;
        java.util.function.Function<Node, Node> two = one;
        return o -> pick(n).step(two.apply(o));
    }
}
class Special extends Node {
    Node last;
    Special(Node n) { super(n); last = n; flag = true; }
    public Node step(Node o) { Node t = next; next = o; last = t; return super.step(t); }
    Node shown(Node o) { return last; }
}
";

const MAIN: &str = "
    static long hash(long s, long i, long j) {
        long h = s * 7919 + i * 104729 + j * 1299709 + 12345;
        h ^= (h << 13); h ^= (h >>> 7); h ^= (h << 17);
        return (h & 0x7fffffffL) >> 3;
    }
    static Node[] input(long seed) {
        Node[] nodes = new Node[4];
        for (int i = 0; i < 4; i++) {
            nodes[i] = hash(seed, i, 0) % 3 == 0 ? new Special(null) : new Node();
            nodes[i].flag = hash(seed, i, 1) % 2 == 0;
            nodes[i].tag = (int) (hash(seed, i, 2) % 3) - 1;
        }
        for (int i = 0; i < 4; i++) {
            int n = (int) (hash(seed, i, 3) % 5), o = (int) (hash(seed, i, 4) % 6);
            nodes[i].next = n < 4 ? nodes[n] : null;
            nodes[i].other = o < 4 ? nodes[o] : null;
        }
        return nodes;
    }
    static String show(Node[] roots) {
        java.util.List<Node> order = new java.util.ArrayList<>();
        StringBuilder text = new StringBuilder();
        for (Node root : roots) text.append(number(order, root)).append(' ');
        for (int i = 0; i < order.size(); i++) {
            Node n = order.get(i);
            text.append(n instanceof Special ? 'S' : 'N').append(n.flag ? 1 : 0).append(n.tag);
            text.append('(').append(number(order, n.next)).append(' ');
            text.append(number(order, n.other)).append(')');
        }
        return text.toString();
    }
    static String number(java.util.List<Node> order, Node node) {
        if (node == null) return \"-\";
        for (int i = 0; i < order.size(); i++) if (order.get(i) == node) return \"\" + i;
        order.add(node);
        return \"\" + (order.size() - 1);
    }
    static Fuel fuel() {
        Fuel fuel = null;
        for (int i = 0; i < 4; i++) fuel = new Fuel(fuel);
        return fuel;
    }
";

struct Generator {
    random: Random,
    text: String,
    programs: usize,
    depth: usize,
}

impl Generator {
    fn node(&mut self) -> &'static str {
        self.random.pick(&["a", "b", "c", "x", "y", "a", "x"])
    }

    /// A reference, more or less deep.
    fn reference(&mut self, depth: usize) -> String {
        let node = self.node();
        match self.random.below(if depth == 0 { 4 } else { 10 }) {
            0 | 1 => node.to_string(),
            2 if self.random.below(3) == 0 => format!("{node}.next"),
            2 => format!("({node} == null ? {} : {node}.next)", self.node()),
            3 if self.random.below(3) == 0 => "null".to_string(),
            3 => "new Node()".to_string(),
            4 => format!("{node}.other"),
            5 => {
                let (yes, no) = (self.reference(depth - 1), self.reference(depth - 1));
                // Both sides null has no type of its own.
                format!("({} ? {yes} : (Node) {no})", self.condition(depth - 1))
            }
            6 => format!("new {}({node})", self.random.pick(&["Node", "Special"])),
            7 => format!("({} = {})", self.node(), self.reference(depth - 1)),
            8 if self.random.below(2) == 0 => {
                let how = ["pick", "link", "bound", "free", "fresh", "nested"];
                let (how, call) = (self.random.pick(&how), self.random.pick(&["step", "jump"]));
                format!("Make.{how}({node}).{call}({})", self.reference(depth - 1))
            }
            8 => {
                let how = self.random.pick(&["step", "shown", "jump"]);
                format!("{node}.{how}({})", self.reference(depth - 1))
            }
            _ => format!("((Stepper) {node}).step({node}.new Inner().outer())"),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        let node = self.node();
        match self.random.below(if depth == 0 { 4 } else { 9 }) {
            0 => self.random.pick(&["f", "g", "!f", "!g"]).to_string(),
            1 => format!("{node} {} null", self.random.pick(&["==", "!="])),
            2 => format!("{node} {} {}", self.random.pick(&["==", "!="]), self.node()),
            3 => format!("{node} != null && {node}.flag"),
            4 => format!(
                "({} && {})",
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            5 => format!(
                "({} || {})",
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            6 => format!("!({})", self.condition(depth - 1)),
            7 => format!(
                "{node}.tag {} {}",
                self.random.pick(&["==", "!="]),
                self.tag()
            ),
            _ => format!("(f = {})", self.condition(depth - 1)),
        }
    }

    fn tag(&mut self) -> &'static str {
        self.random.pick(&["-1", "0", "1"])
    }

    fn block(&mut self) {
        self.depth += 1;
        for _ in 0..=self.random.below(3) {
            self.statement();
        }
        self.depth -= 1;
    }

    fn line(&mut self, line: &str) {
        let indent = "    ".repeat(self.depth + 2);
        let _ = writeln!(self.text, "{indent}{line}");
    }

    fn exception(&mut self, node: &str) -> String {
        match self.random.below(6) {
            0 | 1 => format!("new Stop({node})"),
            2 | 3 => format!("new Halt({node})"),
            4 => "new Fail()".to_string(),
            _ => "new IllegalStateException()".to_string(),
        }
    }

    /// One or two handlers, which ask for several classes.
    fn handlers(&mut self, node: &str, other: &str) {
        let lists: [&[&str]; 12] = [
            &["Stop"],
            &["Stop"],
            &["Halt"],
            &["Halt", "Stop"],
            &["Halt", "RuntimeException"],
            &["Fail"],
            &["Halt | Fail", "Stop"],
            &["NullPointerException", "Fail"],
            &["Fail", "Exception"],
            &["IllegalStateException", "Stop"],
            &["Halt", "Throwable"],
            &["IllegalStateException | NullPointerException"],
        ];
        let depth = self.depth;
        for class in lists[self.random.below(lists.len())] {
            self.line(&format!("}} catch ({class} e{depth}) {{"));
            match self.random.below(3) {
                0 => self.line(&format!("    {other} = {node}; f = !f;")),
                _ if matches!(*class, "Stop" | "Halt") => {
                    self.line(&format!("    {other} = e{depth}.node;"));
                }
                _ => {}
            }
            if self.random.below(3) == 0 {
                self.block();
            }
            if self.random.below(5) == 0 {
                self.line(&format!("    if (f) throw e{depth};"));
            }
        }
    }

    fn statement(&mut self) {
        let (node, other) = (self.node(), self.node());
        match self.random.below(if self.depth > 2 { 8 } else { 16 }) {
            0 | 1 => {
                let value = self.reference(2);
                self.line(&format!("{node} = {value};"));
            }
            2 => {
                let value = self.reference(2);
                let link = self.random.pick(&["next", "other"]);
                let guard = self
                    .random
                    .pick(&["", "if (NODE != null) ", "if (NODE != null) "]);
                let guard = guard.replace("NODE", node);
                self.line(&format!("{guard}{node}.{link} = {value};"));
            }
            3 => {
                let value = self.condition(2);
                let target = self.random.pick(&["f", "g"]);
                self.line(&format!("{target} = {value};"));
            }
            4 => {
                let value = self.condition(1);
                self.line(&format!("{node}.flag = {value};"));
            }
            5 => {
                let tag = self.tag();
                self.line(&format!("{node}.tag = {tag};"));
            }
            6 => {
                let value = self.reference(1);
                self.line(&format!("{node}.next = {other} = {value};"));
            }
            7 => {
                let callee = self.random.below(self.programs);
                let (p, q) = (self.reference(1), self.reference(1));
                let line = format!(
                    "if (fuel != null) {node} = p{callee}(fuel.less, {p}, {q}, {node} = {other}, f, g);"
                );
                let caught = self.random.below(4);
                if caught < 3 {
                    self.line("try {");
                }
                self.line(&line);
                if caught < 2 {
                    self.handlers(node, other);
                }
                if caught == 1 || caught == 2 {
                    self.line("} finally { g = !g;");
                    // The exception is forgotten.
                    if self.random.below(4) == 0 {
                        self.line("    if (f) return x;");
                    }
                }
                if caught < 3 {
                    self.line("}");
                }
            }
            8 | 9 => {
                let condition = self.condition(2);
                self.line(&format!("if ({condition}) {{"));
                self.block();
                if self.random.below(2) == 0 {
                    self.line("} else {");
                    self.block();
                }
                self.line("}");
            }
            10 => {
                let condition = self.condition(1);
                self.line(&format!("while (fuel != null && ({condition})) {{"));
                self.line("    fuel = fuel.less;");
                self.block();
                match self.random.below(4) {
                    0 => self.line("    if (f) break;"),
                    1 => self.line("    if (g) continue;"),
                    _ => {}
                }
                self.block();
                self.line("}");
            }
            11 => {
                let condition = self.condition(1);
                self.line("do {");
                self.line("    if (fuel == null) break; fuel = fuel.less;");
                let value = self.reference(1);
                let inner = format!("    Node z{0} = {value}; {node} = z{0};", self.depth);
                self.line(&inner);
                self.block();
                self.line(&format!("}} while ({condition});"));
            }
            12 => {
                self.line(&format!("switch ({node}.tag) {{"));
                let tag = self.tag();
                self.line(&format!("case {tag}:"));
                self.block();
                if self.random.below(2) == 0 {
                    self.line("break;");
                }
                self.line("default:");
                self.block();
                self.line("}");
            }
            13 => {
                self.line("try {");
                self.block();
                let condition = self.condition(1);
                let exception = self.exception(node);
                self.line(&format!("    if ({condition}) throw {exception};"));
                self.block();
                self.handlers(node, other);
                if self.random.below(2) == 0 {
                    self.line("} finally {");
                    self.line(&format!("    {other} = {node}; f = !g;"));
                }
                self.line("}");
            }
            14 if self.random.below(3) == 0 => {
                let condition = self.condition(1);
                let exception = self.exception(node);
                self.line(&format!("if ({condition}) throw {exception};"));
            }
            _ => {
                let value = self.reference(1);
                self.line(&format!("if (f) return {value};"));
            }
        }
    }

    /// Random sources: all programs in one class.
    fn generate(mut self, inputs: u64) -> String {
        self.text = format!("{LIBRARY}\npublic class Programs {{{MAIN}");
        for program in 0..self.programs {
            let _ = writeln!(
                self.text,
                "    static Node p{program}(Fuel fuel, Node a, Node b, Node c, boolean f, boolean g) {{"
            );
            self.text
                .push_str("        Node x = b, y = f ? a : null;\n");
            for _ in 0..3 + self.random.below(6) {
                self.statement();
            }
            self.text.push_str("        return x;\n    }\n");
        }
        // The compiler refuses methods that are too long: one for each program.
        for program in 0..self.programs {
            let _ = write!(
                self.text,
                "    static String r{program}(long seed) {{
        Node[] in = input(seed);
        boolean f = hash(seed, 9, 0) % 2 == 0, g = hash(seed, 9, 1) % 2 == 0;
        try {{
            Node r = p{program}(fuel(), in[0], in[1], in[2], f, g);
            return show(new Node[] {{r, in[0], in[1], in[2]}});
        }} catch (RuntimeException e) {{ return e.getClass().getSimpleName(); }}
    }}
"
            );
        }
        let _ = writeln!(
            self.text,
            "    public static void main(String[] args) {{
        StringBuilder out = new StringBuilder();
        for (long seed = 0; seed < {inputs}; seed++) {{"
        );
        for program in 0..self.programs {
            let _ = writeln!(
                self.text,
                "            out.append(\"{program} \" + seed + \" \" + r{program}(seed) + \"\\n\");"
            );
        }
        self.text
            .push_str("        }\n        System.out.print(out);\n    }\n}\n");
        self.text
    }
}

fn hash(seed: i64, i: i64, j: i64) -> i64 {
    let mut h = seed
        .wrapping_mul(7919)
        .wrapping_add(i.wrapping_mul(104_729))
        .wrapping_add(j.wrapping_mul(1_299_709))
        .wrapping_add(12345);
    h ^= h << 13;
    h ^= ((h as u64) >> 7) as i64;
    h ^= h << 17;
    (h & 0x7fff_ffff) >> 3
}

/// The classes and fields that heaps are made of. A field nobody uses has no id.
struct Names {
    node: ClassId,
    special: ClassId,
    fuel: ClassId,
    fields: [Option<FieldId>; 6],
}

impl Names {
    fn new(program: &PointerProgram) -> Names {
        let fields = ["next", "other", "flag", "tag", "less", "last"];
        Names {
            node: program.class_named("Node").unwrap(),
            special: program.class_named("Special").unwrap(),
            fuel: program.class_named("Fuel").unwrap(),
            fields: fields.map(|name| program.field_named(name)),
        }
    }
}

/// Fields that the program does not use are kept beside the heap.
type Extra = Vec<[Value; 4]>;

fn input(program: &PointerProgram, names: &Names, seed: i64) -> (Heap, Extra, Value, Vec<Value>) {
    let mut heap = Heap::default();
    let mut extra = Extra::new();
    let mut nodes = Vec::new();
    for i in 0..NODES {
        let special = hash(seed, i, 0) % 3 == 0;
        let class = if special { names.special } else { names.node };
        nodes.push(heap.allocate(program, class));
        // The constructor of the special ones has set this.
        let flag = i64::from(hash(seed, i, 1) % 2 == 0);
        let tag = hash(seed, i, 2) % 3 - 1;
        extra.push([Value::Null, Value::Null, Value::Int(flag), Value::Int(tag)]);
    }
    let node = |i: i64| {
        if i < NODES {
            Value::Object(nodes[i as usize])
        } else {
            Value::Null
        }
    };
    for i in 0..NODES {
        extra[i as usize][0] = node(hash(seed, i, 3) % 5);
        extra[i as usize][1] = node(hash(seed, i, 4) % 6);
        for (field, &value) in names.fields.iter().zip(&extra[i as usize]) {
            if let Some(id) = field {
                heap.set_field(nodes[i as usize], *id, value);
            }
        }
    }
    let mut fuel = Value::Null;
    for _ in 0..FUEL {
        let object = heap.allocate(program, names.fuel);
        if let Some(less) = names.fields[4] {
            heap.set_field(object, less, fuel);
        }
        fuel = Value::Object(object);
    }
    let flag = |j| Value::Int(i64::from(hash(seed, 9, j) % 2 == 0));
    let parameters = vec![node(0), node(1), node(2), flag(0), flag(1)];
    (heap, extra, fuel, parameters)
}

/// What can be reached from the roots, as Java writes it.
fn show(heap: &Heap, extra: &Extra, names: &Names, roots: &[Value]) -> String {
    let mut order: Vec<ObjectId> = Vec::new();
    let mut number = |value: Value| match value {
        Value::Object(id) => {
            let at = order.iter().position(|&one| one == id).unwrap_or_else(|| {
                order.push(id);
                order.len() - 1
            });
            (at.to_string(), order.clone())
        }
        Value::Null => ("-".to_string(), order.clone()),
        other => panic!("{other:?} where a reference should be"),
    };
    // New objects have their defaults in fields nobody uses.
    let field = |id: ObjectId, at: usize| match names.fields[at] {
        Some(name) => heap.field(id, name),
        None => match extra.get(id.0 as usize) {
            Some(values) => values[at],
            None if at < 2 => Value::Null,
            None => Value::Int(0),
        },
    };
    let mut text = String::new();
    let mut all = Vec::new();
    for &root in roots {
        let (shown, now) = number(root);
        let _ = write!(text, "{shown} ");
        all = now;
    }
    let mut at = 0;
    while at < all.len() {
        let id = all[at];
        let special = heap.object(id).class == names.special;
        let int = |value: Value| match value {
            Value::Int(value) => value,
            other => panic!("{other:?} where a number should be"),
        };
        text.push(if special { 'S' } else { 'N' });
        let _ = write!(text, "{}{}", int(field(id, 2)), int(field(id, 3)));
        let (next, _) = number(field(id, 0));
        let (other, now) = number(field(id, 1));
        let _ = write!(text, "({next} {other})");
        all = now;
        at += 1;
    }
    text
}

fn interpret(program: &PointerProgram, seed: i64) -> String {
    let names = Names::new(program);
    let (heap, extra, fuel, nodes) = input(program, &names, seed);
    let mut parameters = vec![fuel];
    parameters.extend(&nodes);
    let mut run = Interpreter::new(program, heap, Value::Undefined, parameters);
    let mut outcome = None;
    for _ in 0..10_000_000 {
        outcome = run.step(&mut |_| 0);
        if outcome.is_some() {
            break;
        }
    }
    match outcome.unwrap_or(Outcome::StepLimit) {
        Outcome::Returned(Some(value)) => show(
            run.heap(),
            &extra,
            &names,
            &[value, nodes[0], nodes[1], nodes[2]],
        ),
        // What nobody asks for is not known.
        Outcome::NullDereference | Outcome::Thrown => match (run.thrown(), program.of_null) {
            (Value::Object(object), _) => {
                let class = program.class(run.heap().object(object).class);
                class.simple_name().to_string()
            }
            (_, None) if outcome == Some(Outcome::NullDereference) => {
                "NullPointerException".to_string()
            }
            (_, None) => "?".to_string(),
            (other, _) => panic!("{other:?} was thrown"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn interpreter_and_java_agree() {
    if !jdk() {
        return;
    }
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.parse().unwrap())
    };
    let programs = number("PROGRAMS", 40) as usize;
    let seed = number("SEED", 1);
    let random = Random(seed);
    let generator = Generator {
        random,
        text: String::new(),
        programs,
        depth: 0,
    };
    let text = generator.generate(INPUTS);
    let directory = Directory::with("Programs.java", &text);
    let classes = support::compile(&directory, &["Programs.java"], &["-g", "-nowarn"]);
    let printed = java(&classes, "Programs");
    let mut expected = std::collections::HashMap::new();
    for line in printed.lines() {
        let mut parts = line.splitn(3, ' ');
        let mut next = || parts.next().unwrap();
        expected.insert((next().to_string(), next().to_string()), next().to_string());
    }
    assert_eq!(expected.len(), programs * INPUTS as usize);
    // Without names of variables the programs are the same.
    let bare = Directory::with("Programs.java", &text);
    let bare = (
        support::compile(&bare, &["Programs.java"], &["-g:none", "-nowarn"]),
        bare,
    );
    let mut kinds = [0; 3];
    let mut random = Random(seed);
    for program in 0..programs {
        let classes = if random.below(4) == 0 {
            &bare.0
        } else {
            &classes
        };
        let options = Options {
            class: "Programs".to_string(),
            method: format!("p{program}"),
        };
        let mut loaded = load(std::slice::from_ref(classes), &options).unwrap_or_else(|error| {
            panic!("seed {seed}, program {program}: {error}\n{text}");
        });
        let plain = loaded.program.clone();
        let names = ["a", "x", "y", "f", "z0"];
        let keep: BTreeSet<String> = names
            .iter()
            .filter(|_| random.below(3) == 0)
            .map(ToString::to_string)
            .collect();
        simplify(&mut loaded.program, &keep);
        for input in 0..INPUTS as i64 {
            let expected = &expected[&(program.to_string(), input.to_string())];
            kinds[match expected.as_str() {
                "NullPointerException" => 0,
                "Stop" | "Halt" | "Fail" | "IllegalStateException" => 1,
                _ => 2,
            }] += 1;
            for (what, translated) in [("plain", &plain), ("simplified", &loaded.program)] {
                let found = interpret(translated, input);
                let unknown = found == "?" && !expected.contains(' ');
                assert!(
                    &found == expected || unknown && expected != "NullPointerException",
                    "seed {seed}, program {program}, input {input}, {what}: {found}, not {expected}\n{translated}\n{text}"
                );
            }
        }
    }
    println!("{kinds:?} runs ended in null dereferences, exceptions, results");
    assert!(
        kinds[0] > 0 && kinds[1] > 0 && kinds[2] > kinds[0] / 10,
        "{kinds:?}"
    );
}
