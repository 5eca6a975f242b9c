//! The code of one method, from the stack machine to three-address form.
//!
//! The stack is followed symbolically: it holds variables and constants. A value that is computed
//! goes into a variable of its own, `$sn`. Where control flow joins or splits with values on the
//! stack, these go through variables that belong to the depth, `$tn`.
//!
//! Each basic block becomes a *piece* of statements. Targets are numbers of pieces until all of them
//! are laid out, in the order of the class file.

mod calls;
mod casts;
mod fields;
mod instructions;
mod jumps;

use droste_pointer::{Condition, Handler, Kind, Local, LocalId, Operand, Pc, Statement, Value};
use rustc_hash::FxHashMap;

use crate::build::Builder;
use crate::class::{Body, MethodInfo};
use crate::descriptor::signature;
use crate::exceptions;
use crate::hierarchy::{ClassIndex, MethodIndex};
use crate::instruction::{Op, Slot};
use crate::slots::{Graph, Webs, webs};

const REFERENCE: Slot = Slot {
    kind: Kind::Reference,
    wide: false,
};

/// A value on the stack.
#[derive(Clone, Copy)]
struct Entry {
    operand: Operand,
    slot: Slot,
    known: Known,
}

/// What else is known of a value on the stack, until control flow joins or splits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    /// A new array of this length, which is nowhere else.
    Array(i64),
    /// The length of an array: it is not negative.
    Length,
}

/// Where control goes at the end of a piece.
#[derive(Clone, Copy)]
struct Next {
    to: Pc,
    /// The line of the jump.
    line: u32,
    /// Whether it is a statement of its own, and stays where no jump is needed.
    counts: bool,
}

/// Statements with one way in, at the beginning.
#[derive(Default)]
struct Piece {
    /// With their lines.
    code: Vec<(Statement, u32)>,
    /// Where control goes on at the end, if the last statement does not say.
    next: Option<Next>,
}

/// A translated body.
pub(crate) struct Translated {
    pub locals: Vec<Local>,
    pub code: Vec<Statement>,
    pub lines: Vec<u32>,
    /// See [`droste_pointer::Method::passed_by`].
    pub passed_by: Vec<u32>,
    /// Whether an exception that the machine or a library raises may leave the method.
    pub raises: bool,
}

struct Translator<'a, 'b> {
    builder: &'a mut Builder<'b>,
    method: MethodIndex,
    info: &'a MethodInfo,
    body: &'a Body,
    graph: &'a Graph,
    webs: &'a Webs,
    locals: Vec<Local>,
    /// Variables for values that stay on the stack between blocks.
    between: FxHashMap<(usize, bool), LocalId>,
    pieces: Vec<Piece>,
    /// In which order pieces are laid out: for each block its own and those made for it.
    order: Vec<Vec<Pc>>,
    /// The shape of the stack at the beginning of each block that has been reached.
    shapes: Vec<Option<Vec<Slot>>>,
    waiting: Vec<usize>,
    raises: bool,
    stack: Vec<Entry>,
    piece: Pc,
    block: usize,
    /// The instruction that is translated.
    at: usize,
    line: u32,
    /// Whether the line has a statement since control came to it.
    has_statement: bool,
    passed_by: Vec<u32>,
}

/// Translates a method. A message says why it cannot be done, with the line.
pub(crate) fn translate(
    builder: &mut Builder<'_>,
    method: MethodIndex,
    info: &MethodInfo,
    body: &Body,
) -> Result<Translated, (u32, String)> {
    let start = body.line(0);
    let graph = Graph::new(body).map_err(|message| (start, message))?;
    let webs = webs(body, &graph, info).map_err(|message| (start, message))?;
    let locals = webs
        .variables
        .iter()
        .map(|one| Local {
            name: one.name.clone(),
            kind: one.kind,
        })
        .collect();
    let blocks = graph.len();
    let mut translator = Translator {
        builder,
        method,
        info,
        body,
        graph: &graph,
        webs: &webs,
        locals,
        between: FxHashMap::default(),
        pieces: (0..blocks).map(|_| Piece::default()).collect(),
        order: (0..blocks).map(|block| vec![block as Pc]).collect(),
        shapes: vec![None; blocks],
        waiting: vec![0],
        raises: false,
        stack: Vec::new(),
        piece: 0,
        block: 0,
        at: 0,
        line: start,
        has_statement: false,
        passed_by: Vec::new(),
    };
    translator.shapes[0] = Some(Vec::new());
    match translator.run() {
        Ok(()) => Ok(translator.lay_out(start)),
        Err(message) => Err((translator.line, message)),
    }
}

impl Translator<'_, '_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(block) = self.waiting.pop() {
            self.enter(block);
            let instructions = self.graph.starts[block]..self.graph.starts[block + 1];
            let mut ended = false;
            self.has_statement = false;
            for at in instructions {
                let line = self.body.line(self.body.instructions[at].at);
                self.has_statement &= line == self.line;
                self.line = line;
                self.at = at;
                ended = self.instruction(at)?;
                if !self.has_statement && self.body.instructions[at].op.ends_statement() {
                    self.emit(Statement::Nop);
                }
            }
            if !ended {
                if self.graph.next[block].is_empty() {
                    return Err("control runs off the end of the code".to_string());
                }
                self.flush(&mut []);
                let next = self.go(block + 1)?;
                self.then(self.piece, next);
            }
        }
        Ok(())
    }

    fn enter(&mut self, block: usize) {
        self.block = block;
        self.piece = block as Pc;
        let shape = self.shapes[block].clone().unwrap_or_default();
        self.stack.clear();
        for (depth, slot) in shape.into_iter().enumerate() {
            let operand = Operand::Local(self.between(depth, slot.kind));
            self.push(operand, slot);
        }
    }

    /// The pieces, one after the other, after the receiver and the parameters.
    fn lay_out(self, start: u32) -> Translated {
        let mut code = Vec::new();
        let mut lines = Vec::new();
        for (at, &variable) in self.webs.parameters.iter().enumerate() {
            let value = match (self.info.is_static, at) {
                (false, 0) => Value::This,
                (false, at) => Value::Parameter(at as u32 - 1),
                (true, at) => Value::Parameter(at as u32),
            };
            code.push(Statement::Assign {
                to: LocalId(variable as u32),
                value,
            });
            lines.push(start);
        }
        // Before the program begins, its class has been initialised.
        if self.builder.entry == Some(self.method) {
            for statement in self.initialisers(self.method.0, &[]) {
                code.push(statement);
                lines.push(start);
            }
        }
        let reached = |&piece: &Pc| match self.shapes.get(piece as usize) {
            Some(shape) => shape.is_some(),
            None => true,
        };
        let order: Vec<Pc> = self
            .order
            .iter()
            .flatten()
            .copied()
            .filter(reached)
            .collect();
        let mut begins: Vec<Pc> = vec![0; self.pieces.len()];
        // The first piece may be the target of a jump, and so the first of the order is the first
        // that is laid out: block 0 is entered from the beginning of the method.
        for (at, &piece) in order.iter().enumerate() {
            begins[piece as usize] = code.len() as Pc;
            let one = &self.pieces[piece as usize];
            for (statement, line) in &one.code {
                code.push(statement.clone());
                lines.push(*line);
            }
            if let Some(next) = one.next {
                if order.get(at + 1) != Some(&next.to) {
                    code.push(Statement::Goto(next.to));
                    lines.push(next.line);
                } else if next.counts {
                    code.push(Statement::Nop);
                    lines.push(next.line);
                }
            }
        }
        for statement in &mut code {
            statement.targets_mut(|target| *target = begins[*target as usize]);
        }
        Translated {
            locals: self.locals,
            code,
            lines,
            passed_by: self.passed_by,
            raises: self.raises,
        }
    }

    /// What the first use of a class runs, without these classes.
    fn initialisers(&self, class: ClassIndex, without: &[String]) -> Vec<Statement> {
        let hierarchy = self.builder.hierarchy;
        let name = &hierarchy.classes[class].name;
        let all = hierarchy.initialisers(class).into_iter();
        let others = all.filter(|one| !without.contains(&hierarchy.classes[one.0].name));
        let hands = others.map(|one| {
            let info = hierarchy.method(one);
            let runs = signature(&hierarchy.classes[one.0].name, &info.name, &info.types);
            Statement::Hand {
                to: format!("the first use of class {name}"),
                objects: Vec::new(),
                runs: vec![(self.builder.class_id(one.0), runs)],
            }
        });
        hands.collect()
    }

    /// A class is used here, perhaps for the first time.
    fn initialise(&mut self, class: &str) -> Result<(), String> {
        let hierarchy = self.builder.hierarchy;
        let Some(class) = hierarchy.find(class) else {
            return Ok(());
        };
        // The class of this method has been used before.
        let own = hierarchy.supertypes(self.method.0);
        for statement in self.initialisers(class, &own) {
            self.emit(statement);
        }
        let all = hierarchy.initialisers(class).into_iter();
        let mut all = all.filter(|one| !own.contains(&hierarchy.classes[one.0].name));
        let failing = &self.builder.failing;
        let Some(errors) = all
            .clone()
            .filter_map(|one| failing.get(&one).copied())
            .reduce(|a, b| a || b)
        else {
            return Ok(());
        };
        let name = &hierarchy.classes[class].name;
        let what = format!("the first use of class {name}");
        if all.any(|one| one == self.method) {
            return Ok(());
        }
        let [first, second] = exceptions::OF_INITIALISERS;
        self.may_raise(Some(first), &what)?;
        self.raise_or(Some(second), None)?;
        if errors {
            self.raise_or(None, None)?;
        }
        Ok(())
    }

    /// From the end of one piece control goes to another.
    fn then(&mut self, piece: Pc, next: Pc) {
        let line = self.line;
        let counts = false;
        self.pieces[piece as usize].next = Some(Next {
            to: next,
            line,
            counts,
        });
    }

    fn emit(&mut self, statement: Statement) {
        self.has_statement = true;
        self.pieces[self.piece as usize]
            .code
            .push((statement, self.line));
    }

    fn assign(&mut self, to: LocalId, value: Value) {
        self.emit(Statement::Assign { to, value });
    }

    fn warn(&mut self, message: String) {
        self.builder.warn(self.method, self.line, message);
    }

    /// A piece that belongs to the current block.
    fn new_piece(&mut self) -> Pc {
        let piece = self.pieces.len() as Pc;
        self.pieces.push(Piece::default());
        self.order[self.block].push(piece);
        piece
    }

    fn fresh(&mut self, kind: Kind) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(Local {
            name: format!("$s{}", id.0),
            kind,
        });
        id
    }

    fn between(&mut self, depth: usize, kind: Kind) -> LocalId {
        let key = (depth, kind == Kind::Reference);
        if let Some(&local) = self.between.get(&key) {
            return local;
        }
        let id = LocalId(self.locals.len() as u32);
        let letter = if key.1 { 't' } else { 'i' };
        self.locals.push(Local {
            name: format!("${letter}{depth}"),
            kind,
        });
        self.between.insert(key, id);
        id
    }

    fn push(&mut self, operand: Operand, slot: Slot) {
        let known = Known::Nothing;
        self.stack.push(Entry {
            operand,
            slot,
            known,
        });
    }

    fn pop(&mut self) -> Result<Entry, String> {
        self.stack
            .pop()
            .ok_or_else(|| "the stack is empty".to_string())
    }

    /// Takes values that make up so many slots.
    fn pop_slots(&mut self, count: u8) -> Result<Vec<Entry>, String> {
        let mut taken = Vec::new();
        let mut slots = 0;
        while slots < count {
            let entry = self.pop()?;
            slots += if entry.slot.wide { 2 } else { 1 };
            taken.push(entry);
        }
        if slots > count {
            return Err("half of a number is taken from the stack".to_string());
        }
        taken.reverse();
        Ok(taken)
    }

    /// The value as a variable.
    fn local(&mut self, operand: Operand) -> LocalId {
        if let Operand::Local(local) = operand {
            return local;
        }
        let to = self.fresh(Kind::Reference);
        self.assign(to, Value::Operand(operand));
        to
    }

    /// Puts what is on the stack into the variables of its depth, all at once. Operands in `also`
    /// keep their values.
    fn flush(&mut self, also: &mut [Operand]) {
        let targets: Vec<LocalId> = (0..self.stack.len())
            .map(|depth| self.between(depth, self.stack[depth].slot.kind))
            .collect();
        let written: Vec<LocalId> = targets
            .iter()
            .zip(&self.stack)
            .filter(|(target, entry)| entry.operand != Operand::Local(**target))
            .map(|(target, _)| *target)
            .collect();
        // What would be overwritten before it is read is saved.
        let mut saved: FxHashMap<LocalId, LocalId> = FxHashMap::default();
        let operands: Vec<Operand> = self
            .stack
            .iter()
            .map(|entry| entry.operand)
            .chain(also.iter().copied())
            .collect();
        for operand in operands {
            if let Operand::Local(local) = operand
                && written.contains(&local)
                && !saved.contains_key(&local)
            {
                let copy = self.fresh(self.locals[local.index()].kind);
                self.assign(copy, Value::Operand(operand));
                saved.insert(local, copy);
            }
        }
        let changed = |operand: Operand| match operand {
            Operand::Local(local) => Operand::Local(*saved.get(&local).unwrap_or(&local)),
            other => other,
        };
        for operand in also {
            *operand = changed(*operand);
        }
        for (depth, target) in targets.into_iter().enumerate() {
            let operand = self.stack[depth].operand;
            if operand != Operand::Local(target) {
                self.assign(target, Value::Operand(changed(operand)));
            }
            self.stack[depth].operand = Operand::Local(target);
        }
    }

    /// Control goes to this block with the stack as it is, which has been flushed.
    fn go(&mut self, block: usize) -> Result<Pc, String> {
        let shape: Vec<Slot> = self.stack.iter().map(|entry| entry.slot).collect();
        self.go_with(block, shape)
    }

    fn go_with(&mut self, block: usize, shape: Vec<Slot>) -> Result<Pc, String> {
        let rough = |slot: &Slot| (slot.kind == Kind::Reference, slot.wide);
        match &self.shapes[block] {
            None => {
                self.shapes[block] = Some(shape);
                self.waiting.push(block);
            }
            Some(known) => {
                if !known.iter().map(rough).eq(shape.iter().map(rough)) {
                    return Err("the stack is not the same on all ways to one place".to_string());
                }
            }
        }
        Ok(block as Pc)
    }

    /// The handlers of an exception that is raised here.
    fn handlers(&mut self) -> Result<Vec<Handler>, String> {
        let handlers = self.graph.handlers[self.block].clone();
        self.pieces_of(&handlers)
    }

    /// The statement before uses an object. If that is null, control goes to the first handler that
    /// takes such an exception.
    fn catch_null(&mut self) -> Result<(), String> {
        if let Some(handler) = self.graph.null[self.block] {
            let handlers = self.pieces_of(&[(handler, None)])?;
            let escapes = false;
            self.emit(Statement::Caught { handlers, escapes });
        }
        Ok(())
    }

    /// Handlers, each with a piece that puts the exception on the stack.
    fn pieces_of(&mut self, handlers: &[(usize, Option<String>)]) -> Result<Vec<Handler>, String> {
        let mut found = Vec::new();
        let mut pieces: Vec<(usize, Pc)> = Vec::new();
        for (block, class) in handlers {
            let known = pieces.iter().find(|(one, _)| one == block);
            let target = if let Some(&(_, piece)) = known {
                piece
            } else {
                let to = self.between(0, Kind::Reference);
                let piece = self.new_piece();
                let value = Value::Exception;
                let assign = Statement::Assign { to, value };
                self.pieces[piece as usize].code.push((assign, self.line));
                let next = self.go_with(*block, vec![REFERENCE])?;
                self.then(piece, next);
                pieces.push((*block, piece));
                piece
            };
            let class = class.as_ref().map(|class| self.builder.exception(class));
            found.push(Handler { target, class });
        }
        Ok(found)
    }

    /// The instruction may raise an exception, of this class if that is known, by `what`. If there are
    /// handlers, control may go there, and out of the method if a caller catches it. Otherwise the run
    /// may end here.
    fn may_raise(&mut self, class: Option<&str>, what: &str) -> Result<(), String> {
        self.raise_or(class, Some(what))
    }

    /// The same. If nothing is said, nobody thinks that the run ends here.
    fn raise_or(&mut self, class: Option<&str>, what: Option<&str>) -> Result<(), String> {
        let handlers = self.handlers()?;
        let leaves = self.graph.escapes[self.block];
        self.raises |= leaves;
        let escapes = leaves && self.builder.follows;
        if handlers.is_empty() && !escapes {
            if let Some(what) = what {
                self.emit(Statement::Doubt(what.to_string()));
            }
            return Ok(());
        }
        let (raises, rest) = (self.new_piece(), self.new_piece());
        self.emit(Statement::Choose {
            targets: vec![rest, raises],
        });
        self.piece = raises;
        self.raise(class, handlers, escapes);
        self.piece = rest;
        Ok(())
    }

    /// An exception is raised, of this class if that is known.
    fn raise(&mut self, class: Option<&str>, handlers: Vec<Handler>, escapes: bool) {
        let mut value = Operand::Unknown;
        if let Some(class) = class {
            let class = self.builder.exception(class);
            let to = self.fresh(Kind::Reference);
            self.assign(to, Value::New(class));
            value = Operand::Local(to);
        }
        self.emit(Statement::Throw {
            value,
            handlers,
            escapes,
        });
    }

    /// The instruction raises an exception of this class: control does not go on behind it.
    fn fails(&mut self, class: &str) -> Result<(), String> {
        let handlers = self.handlers()?;
        self.raise(Some(class), handlers, self.graph.escapes[self.block]);
        self.piece = self.new_piece();
        Ok(())
    }

    /// The same if a number is zero.
    fn fails_if(&mut self, zero: Operand, class: &str) -> Result<(), String> {
        let (fails, rest) = (self.new_piece(), self.new_piece());
        let condition = Condition {
            left: zero,
            right: Operand::Int(0),
            equal: true,
        };
        self.emit(Statement::Branch {
            condition,
            yes: fails,
            no: rest,
        });
        self.piece = fails;
        let handlers = self.handlers()?;
        self.raise(Some(class), handlers, self.graph.escapes[self.block]);
        self.piece = rest;
        Ok(())
    }

    /// Whether a variable holds nothing but exceptions that have been caught: these are there.
    fn is_caught(&self, operand: Operand) -> bool {
        let Operand::Local(local) = operand else {
            return false;
        };
        let code = &self.body.instructions;
        // A place that is entered by exceptions alone.
        let begins = |at: usize| {
            let mut handlers = self.body.handlers.iter();
            let block = self.graph.block(code[at].at);
            let mut jumps = self.graph.next.iter().flatten();
            handlers.any(|one| one.target == code[at].at) && jumps.all(|&next| next != block)
        };
        let start = self.graph.starts[self.block];
        if self.between.get(&(0, true)) == Some(&local) {
            // What is on the stack has not been put anywhere else.
            return begins(start);
        }
        let own = |at: usize| self.webs.accesses[at] == Some(local.index());
        let writes = |at: usize| matches!(code[at].op, Op::Store(..)) && own(at);
        let mut written = (0..code.len()).filter(|&at| writes(at)).peekable();
        written.peek().is_some()
            && written.all(begins)
            && !self.webs.parameters.contains(&local.index())
    }

    /// Before a variable is written: what the stack holds of it is saved.
    fn save(&mut self, local: LocalId) -> bool {
        let operand = Operand::Local(local);
        if !self.stack.iter().any(|entry| entry.operand == operand) {
            return false;
        }
        let copy = self.fresh(self.locals[local.index()].kind);
        self.assign(copy, Value::Operand(operand));
        for entry in &mut self.stack {
            if entry.operand == operand {
                entry.operand = Operand::Local(copy);
            }
        }
        true
    }

    fn variable(&self, at: usize) -> Result<LocalId, String> {
        match self.webs.accesses[at] {
            Some(variable) => Ok(LocalId(variable as u32)),
            None => Err("a variable is read before it is written".to_string()),
        }
    }

    /// Whether this write begins the life of a variable of the source.
    fn declares(&self, at: usize, slot: u16) -> bool {
        let Some(next) = self.body.instructions.get(at + 1) else {
            return false;
        };
        self.body
            .variables
            .iter()
            .any(|one| one.slot == slot && one.start == next.at)
    }
}
