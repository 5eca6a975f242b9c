//! Random pointer programs on lists and trees, and heaps for them.
//!
//! A program has two static methods, which call each other and themselves, and an instance method
//! that a subclass overrides. They throw exceptions and catch them, also where null is used. Variables of all methods have names
//! of their own.

#![allow(dead_code, reason = "each test uses a part of this")]

use std::collections::HashMap;

use droste_heap::{
    Fragment, Grammar, Heap, Indices, Node, Predefined, Symbols, TypeId, Variable,
    read_symbolic_heap,
};
use droste_pointer::interpret::{self, Interpreter, Value};
use droste_pointer::{
    Callees, Class, ClassId, Condition, FieldId, Handler, Kind, Local, LocalId, Method, MethodId,
    Operand, Pc, PointerProgram, Statement, Value as Source,
};
use droste_shape::contract::Contracts;
use droste_shape::machine::Options;
use droste_shape::settings::Abstraction;
use droste_shape::task::Task;
use droste_testkit::random::Random;

/// A list or a tree.
pub(crate) struct World {
    rules: Rules,
    pub(crate) class: &'static str,
    pub(crate) fields: &'static [&'static str],
    heap: &'static str,
    /// The nonterminal of the whole structure.
    pub(crate) nonterminal: &'static str,
}

enum Rules {
    Predefined(Predefined),
    Json(&'static str),
}

pub(crate) const LISTS: World = World {
    rules: Rules::Predefined(Predefined::SinglyLinkedList),
    class: "ListNode",
    fields: &["next"],
    heap: "Start(@parameter0:{ListNode}) <= RefSLList(@parameter0:, null)",
    nonterminal: "RefSLList",
};

pub(crate) const DOUBLE: World = World {
    rules: Rules::Predefined(Predefined::DoublyLinkedList),
    class: "DLListNode",
    fields: &["next", "prev"],
    heap: "Start(@parameter0:{DLListNode}) <= e{DLListNode} | RefDLList(null, @parameter0:, e, null)",
    nonterminal: "RefDLList",
};

pub(crate) const TREES: World = World {
    rules: Rules::Predefined(Predefined::BinaryTree),
    class: "BTNode",
    fields: &["left", "right"],
    heap: "Start(@parameter0:{BTNode}) <= RefBT(@parameter0:, null)",
    nonterminal: "RefBT",
};

/// Trees in which the heights of siblings differ by one at most.
pub(crate) const BALANCED: World = World {
    rules: Rules::Json(include_str!("balanced.json")),
    class: "T",
    fields: &["left", "right"],
    heap: include_str!("balanced-heap.json"),
    nonterminal: "BT",
};

impl World {
    pub(crate) fn is_indexed(&self) -> bool {
        matches!(self.rules, Rules::Json(_))
    }

    fn language(&self) -> (Symbols, Grammar, Heap) {
        let mut symbols = Symbols::new();
        match self.rules {
            Rules::Predefined(which) => {
                let fragments: Vec<Fragment> = droste_heap::predefined(&mut symbols, which);
                let grammar = Grammar::new(&symbols, fragments);
                let heap = read_symbolic_heap(&mut symbols, self.heap).unwrap();
                (symbols, grammar, heap)
            }
            Rules::Json(text) => {
                let fragments =
                    droste_heap::read_grammar(&mut symbols, text, Indices::Read).unwrap();
                let grammar = Grammar::new(&symbols, fragments);
                let heap = droste_heap::read_heap(&mut symbols, self.heap, Indices::Read).unwrap();
                (symbols, grammar, heap)
            }
        }
    }

    /// A random program, abstracted in a random way.
    pub(crate) fn task(&self, random: &mut Random) -> Task {
        let program = program(self, random);
        self.random_task(program, random)
    }

    /// The same, and now and then a value is not modelled. Methods have a number, `n0` and so on.
    pub(crate) fn task_with_unknowns(&self, random: &mut Random) -> Task {
        let mut program = program(self, random);
        for (number, method) in program.methods.iter_mut().enumerate() {
            method.locals.push(Local {
                name: format!("n{number}"),
                kind: Kind::Number,
            });
            let any = |operand: &mut Operand, random: &mut Random| {
                if random.percent(10) {
                    *operand = Operand::Unknown;
                }
            };
            for at in 3..method.code.len() {
                match &mut method.code[at] {
                    Statement::Store { value, .. }
                    | Statement::Return(Some(value))
                    | Statement::Assign {
                        value: Source::Operand(value),
                        ..
                    } => any(value, random),
                    Statement::Call { arguments, .. } => {
                        for one in arguments.iter_mut() {
                            any(one, random);
                        }
                    }
                    Statement::Branch { condition, .. } if random.percent(20) => {
                        condition.left = Operand::Local(LocalId(3));
                        condition.right = Operand::Int(random.below(2) as i64);
                    }
                    statement @ (Statement::Assign { .. } | Statement::Choose { .. })
                        if random.percent(30) =>
                    {
                        let value = match random.below(5) {
                            0 => Operand::Int(0),
                            1 => Operand::Int(1),
                            2 => Operand::Int(2),
                            _ => Operand::Unknown,
                        };
                        *statement = Statement::Assign {
                            to: LocalId(if random.percent(75) { 3 } else { 1 }),
                            value: Source::Operand(value),
                        };
                        if let Statement::Assign {
                            to: LocalId(1),
                            value,
                        } = statement
                        {
                            *value = Source::Operand(Operand::Unknown);
                        }
                    }
                    _ => {}
                }
            }
        }
        self.random_task(program, random)
    }

    fn random_task(&self, program: PointerProgram, random: &mut Random) -> Task {
        let abstraction = Abstraction {
            admissible: random.percent(75),
            admissible_constants: random.percent(20),
            admissible_markings: random.percent(20),
            admissible_full: random.percent(20),
            no_chain: random.percent(30),
            collapsing: random.percent(80),
            indexed: self.is_indexed(),
            post_processing: random.percent(10),
            garbage_collection: random.percent(80),
            subsumption: random.percent(50),
        };
        self.task_with(program, abstraction)
    }

    /// A program of one static method. It has three variables: the first is its parameter, and the
    /// others are null before this code.
    pub(crate) fn task_of(&self, code: &[Statement]) -> Task {
        let mut program = program(self, &mut Random::new(0));
        program.methods.truncate(1);
        let method = &mut program.methods[0];
        method.code.truncate(3);
        method.code.extend_from_slice(code);
        method.lines = (0..method.code.len() as u32).collect();
        let abstraction = Abstraction {
            admissible: true,
            admissible_constants: false,
            admissible_markings: false,
            admissible_full: false,
            no_chain: false,
            collapsing: true,
            indexed: self.is_indexed(),
            post_processing: false,
            garbage_collection: true,
            subsumption: true,
        };
        self.task_with(program, abstraction)
    }

    fn task_with(&self, program: PointerProgram, abstraction: Abstraction) -> Task {
        let (symbols, grammar, heap) = self.language();
        Task {
            program,
            symbols,
            grammar,
            initial: vec![heap],
            options: Options {
                abstraction,
                compat: false,
                hierarchical: false,
                leaks: false,
                hands: false,
                concrete: false,
                max_heap: 30,
                max_states: 20_000,
                max_state_space: usize::MAX,
            },
            contracts: Contracts::default(),
        }
    }
}

/// The methods: who is static, and how many parameters there are.
const METHODS: [(bool, usize); 4] = [(true, 1), (true, 2), (false, 1), (false, 1)];

fn program(world: &World, random: &mut Random) -> PointerProgram {
    let count = METHODS.len() as u32;
    let methods = (0..count).map(|number| method(world, number, random));
    let methods = methods.collect();
    let fields = (0..world.fields.len() as u32).map(|field| (FieldId(field), Kind::Reference));
    let class = |name: &str, parent| Class {
        name: name.into(),
        parent,
        is_open: false,
        is_library: false,
        fields: fields.clone().collect(),
        unused: Vec::new(),
    };
    // Objects of the structure are thrown, too.
    let mut classes = vec![class(world.class, None), class("Sub", Some(ClassId(0)))];
    classes.extend([
        class("Null", None),
        class("Raised", None),
        class("Lower", Some(RAISED)),
    ]);
    classes[2].fields.clear();
    classes[2].is_library = true;
    classes[4].is_open = true;
    PointerProgram {
        classes,
        fields: world.fields.iter().map(|&field| field.to_owned()).collect(),
        methods,
        files: vec!["Random.java".into()],
        entry: MethodId(0),
        of_null: random.percent(80).then_some(ClassId(2)),
    }
}

/// A class of exceptions. [`program`] has a descendant of it with ancestors that are not known.
const RAISED: ClassId = ClassId(3);

/// One or two handlers, and where their code begins: to be put in later.
fn handlers(random: &mut Random, mut target: impl FnMut(&mut Random) -> Pc) -> Vec<Handler> {
    let count = 1 + random.below(2);
    let mut handler = || Handler {
        target: target(random),
        class: random.percent(75).then(|| ClassId(random.below(5) as u32)),
    };
    (0..count).map(|_| handler()).collect()
}

fn method(world: &World, number: u32, random: &mut Random) -> Method {
    let (is_static, parameters) = METHODS[number as usize];
    let locals = ["a", "b", "c"].map(|name| Local {
        name: format!("{name}{number}"),
        kind: Kind::Reference,
    });
    let length = 4 + random.below(9) as Pc;
    let local = |random: &mut Random| LocalId(random.below(3) as u32);
    let operand = |random: &mut Random| match random.below(4) {
        0 => Operand::Null,
        _ => Operand::Local(LocalId(random.below(3) as u32)),
    };
    let field = |random: &mut Random| FieldId(random.below(world.fields.len()) as u32);
    let mut given: Vec<Source> = Vec::new();
    if !is_static {
        given.push(Source::This);
    }
    given.extend((0..parameters as u32).map(Source::Parameter));
    given.resize(3, Source::Operand(Operand::Null));
    let mut code: Vec<Statement> = (given.into_iter().zip(0..))
        .map(|(value, to)| Statement::Assign {
            to: LocalId(to),
            value,
        })
        .collect();
    let last = 3 + length;
    while (code.len() as Pc) < last {
        let pc = code.len() as Pc;
        // Now and then back, so that there are loops.
        let target = |random: &mut Random| match random.below(3) {
            0 => 3 + random.below(length as usize) as Pc,
            _ => pc + 1,
        };
        let statement = match random.below(14) {
            0..=2 => Statement::Assign {
                to: local(random),
                value: Source::Field(local(random), field(random)),
            },
            3 => Statement::Assign {
                to: local(random),
                value: Source::Operand(operand(random)),
            },
            4 => Statement::Assign {
                to: local(random),
                value: match random.below(10) {
                    0..=5 => Source::New(ClassId(0)),
                    6 => Source::New(ClassId(1)),
                    7 => Source::New(RAISED),
                    8 => Source::New(ClassId(4)),
                    // Handlers that go back here take the exception.
                    _ => Source::Exception,
                },
            },
            5 | 6 => Statement::Store {
                base: local(random),
                field: field(random),
                value: operand(random),
            },
            7 => {
                let callee = random.below(2) as u32;
                let count = METHODS[callee as usize].1;
                Statement::Call {
                    to: random.percent(80).then(|| local(random)),
                    receiver: None,
                    arguments: (0..count).map(|_| operand(random)).collect(),
                    callees: Callees::One(MethodId(callee)),
                }
            }
            8 => Statement::Call {
                to: Some(local(random)),
                receiver: Some(local(random)),
                arguments: vec![operand(random)],
                callees: Callees::Virtual(vec![
                    (ClassId(0), MethodId(2)),
                    (ClassId(1), MethodId(3)),
                ]),
            },
            9 => Statement::Choose {
                targets: vec![target(random), pc + 1],
            },
            13 => Statement::Throw {
                value: match random.below(6) {
                    0 => Operand::Unknown,
                    _ => Operand::Local(local(random)),
                },
                handlers: if random.percent(50) {
                    handlers(random, target)
                } else {
                    Vec::new()
                },
                escapes: random.percent(80),
            },
            _ => Statement::Branch {
                condition: Condition {
                    left: Operand::Local(local(random)),
                    right: operand(random),
                    equal: random.percent(50),
                },
                yes: target(random),
                no: pc + 1,
            },
        };
        // Most uses of an object are guarded, so that runs are not over at once.
        let used = match &statement {
            Statement::Assign {
                value: Source::Field(base, _),
                ..
            }
            | Statement::Store { base, .. } => Some(*base),
            Statement::Call { receiver, .. } => *receiver,
            _ => None,
        };
        if let Some(base) = used.filter(|_| random.percent(80)) {
            code.push(Statement::Branch {
                condition: Condition {
                    left: Operand::Local(base),
                    right: Operand::Null,
                    equal: true,
                },
                yes: pc + 2,
                no: pc + 1,
            });
        }
        let is_call = matches!(statement, Statement::Call { .. });
        // What uses null is caught now and then.
        let percent = if is_call { 40 } else { 25 };
        if matches!(statement, Statement::Throw { .. }) {
            let targets = vec![pc + 1, pc + 2];
            code.push(Statement::Choose { targets });
        }
        code.push(statement);
        if (is_call || used.is_some()) && random.percent(percent) {
            code.push(Statement::Caught {
                handlers: handlers(random, target),
                escapes: random.percent(70),
            });
        }
    }
    code.push(Statement::Return(Some(Operand::Local(local(random)))));
    Method {
        class: ClassId(u32::from(number == 3)),
        name: format!("m{number}"),
        signature: format!("<R: R m{number}({})>", "R".repeat(parameters)),
        is_static,
        parameters: vec![Kind::Reference; parameters],
        returns: Some(Kind::Reference),
        locals: locals.into(),
        // A line is a statement, so that runs can be followed.
        lines: (0..code.len() as u32)
            .map(|line| 100 * number + line)
            .collect(),
        passed_by: Vec::new(),
        code,
        file: 0,
    }
}

/// A concrete heap as the interpreter has it: its objects, what each node is, and the parameter.
pub(crate) fn concrete(
    heap: &Heap,
    task: &Task,
) -> (interpret::Heap, HashMap<Node, Value>, Vec<Value>) {
    let symbols = &task.symbols;
    let mut objects = interpret::Heap::default();
    let mut ids: HashMap<Node, Value> = HashMap::new();
    for node in heap.nodes() {
        let value = if heap.node_type(node).is_constant() {
            Value::Null
        } else {
            let name = symbols.type_name(heap.node_type(node));
            let class = task.program.classes.iter().position(|c| c.name == name);
            objects.objects.push(interpret::Object {
                class: ClassId(class.unwrap() as u32),
                fields: Vec::new(),
            });
            Value::Object(interpret::ObjectId(objects.objects.len() as u32 - 1))
        };
        ids.insert(node, value);
    }
    for edge in heap.edges() {
        let name = symbols.selector_name(edge.selector);
        let field = task.program.field_named(name).unwrap();
        if let Value::Object(id) = ids[&edge.origin] {
            objects.set_field(id, field, ids[&edge.target]);
        }
    }
    let parameter = symbols.variable("@parameter0:").unwrap();
    let parameter = ids[&heap.variable(parameter).unwrap()];
    (objects, ids, vec![parameter])
}

/// The heap of a running program with some variables.
pub(crate) fn seen(run: &Interpreter<'_>, task: &Task, variables: &[(Variable, Value)]) -> Heap {
    let symbols = &task.symbols;
    let mut heap = Heap::new();
    let null = heap.add_node(TypeId::NULL);
    heap.set_variable(Variable::NULL, null);
    let nodes: Vec<Node> = (run.heap().objects.iter())
        .map(|object| {
            let class = &task.program.class(object.class).name;
            heap.add_node(symbols.type_id(class).unwrap())
        })
        .collect();
    let place = |value: Value| match value {
        Value::Null => Some(null),
        Value::Object(id) => Some(nodes[id.0 as usize]),
        _ => None,
    };
    for (object, &node) in run.heap().objects.iter().zip(&nodes) {
        for &(field, value) in &object.fields {
            let selector = symbols.selector(task.program.field(field)).unwrap();
            if let Some(target) = place(value) {
                heap.set_selector(node, selector, target);
            }
        }
    }
    for &(variable, value) in variables {
        if let Some(node) = place(value) {
            heap.set_variable(variable, node);
        }
    }
    heap
}

/// The variables of a frame that are wanted, with what they hold.
pub(crate) fn variables(
    task: &Task,
    frame: &interpret::Frame,
    wanted: impl Fn(LocalId) -> bool,
) -> Vec<(Variable, Value)> {
    let method = task.program.method(frame.method);
    (0..frame.locals.len() as u32)
        .map(LocalId)
        .filter(|&id| wanted(id))
        .map(|id| {
            let variable = task.symbols.variable(method.local(id)).unwrap();
            (variable, frame.locals[id.index()])
        })
        .collect()
}
