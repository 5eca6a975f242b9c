//! The types: a program is flat tables, and ids index them.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into the table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A class: an index into [`PointerProgram::classes`].
    ClassId
);
id!(
    /// A field name: an index into [`PointerProgram::fields`].
    FieldId
);
id!(
    /// A method: an index into [`PointerProgram::methods`].
    MethodId
);
id!(
    /// A local variable: an index into [`Method::locals`] of its method.
    LocalId
);

/// A position in a method: an index into [`Method::code`].
pub type Pc = u32;

/// Whether a class may be called by a name: `p.X$Y` by `Y`, `X.Y`, `X$Y`, and with its package.
pub fn is_called(class: &str, name: &str) -> bool {
    let is_break = |byte: u8| byte == b'.' || byte == b'$';
    let same = |(a, b): (u8, u8)| a == b || is_break(a) && is_break(b);
    let (class, name) = (class.as_bytes(), name.as_bytes());
    let Some(before) = class.len().checked_sub(name.len()) else {
        return false;
    };
    let (before, end) = class.split_at(before);
    !name.is_empty()
        && end.iter().copied().zip(name.iter().copied()).all(same)
        && before.last().is_none_or(|&last| is_break(last))
}

/// A program: some classes, and those of their methods that can be reached from one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PointerProgram {
    /// The classes that objects may have, and their parents.
    pub classes: Vec<Class>,
    /// Names of fields. Fields of one name in different classes are one selector.
    pub fields: Vec<String>,
    /// All methods with a body.
    pub methods: Vec<Method>,
    /// Source files, each with the directories of its package.
    pub files: Vec<String>,
    /// Where the program begins.
    pub entry: MethodId,
    /// The class of the exception where null is used, if any handler asks for classes.
    pub of_null: Option<ClassId>,
}

impl PointerProgram {
    /// The class of this id.
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.index()]
    }

    /// The method of this id.
    pub fn method(&self, id: MethodId) -> &Method {
        &self.methods[id.index()]
    }

    /// The name of a field.
    pub fn field(&self, id: FieldId) -> &str {
        &self.fields[id.index()]
    }

    /// The class of this full name.
    pub fn class_named(&self, name: &str) -> Option<ClassId> {
        let at = self.classes.iter().position(|class| class.name == name)?;
        Some(ClassId(at as u32))
    }

    /// The class of this name: the full one, or the end of it if only one class has that end.
    pub fn class_called(&self, name: &str) -> Option<ClassId> {
        match self.classes_called(name)[..] {
            [class] => Some(class),
            _ => None,
        }
    }

    /// The classes that may be meant by a name: the one of that full name, or all that end with it.
    pub fn classes_called(&self, name: &str) -> Vec<ClassId> {
        if let Some(full) = self.class_named(name) {
            return vec![full];
        }
        let ids = (0..self.classes.len()).map(|at| ClassId(at as u32));
        ids.filter(|&id| is_called(&self.class(id).name, name))
            .collect()
    }

    /// The field of this name.
    pub fn field_named(&self, name: &str) -> Option<FieldId> {
        let at = self.fields.iter().position(|field| field == name)?;
        Some(FieldId(at as u32))
    }

    /// The method of this signature, `<Class: Type name(Types)>`.
    pub fn method_signed(&self, signature: &str) -> Option<MethodId> {
        let at = self
            .methods
            .iter()
            .position(|method| method.signature == signature)?;
        Some(MethodId(at as u32))
    }

    /// Whether there is a method of this signature, or a call of one.
    pub fn mentions(&self, signature: &str) -> bool {
        let calls = |statement: &Statement| match statement {
            Statement::Call {
                callees: Callees::Unavailable(callee),
                ..
            } => callee == signature,
            _ => false,
        };
        self.method_signed(signature).is_some()
            || self
                .methods
                .iter()
                .any(|method| method.code.iter().any(calls))
    }

    /// Whether `class` is `ancestor`, or one of its descendants.
    pub fn is_subclass(&self, class: ClassId, ancestor: ClassId) -> bool {
        self.ancestors(class).any(|one| one == ancestor)
    }

    /// A class, its parent, and so on.
    pub fn ancestors_of<'a>(&'a self, class: &'a Class) -> impl Iterator<Item = &'a Class> {
        let above = class.parent.map(|parent| self.ancestors(parent));
        let above = above.into_iter().flatten().map(|one| self.class(one));
        std::iter::once(class).chain(above)
    }

    /// The class, its parent, and so on.
    fn ancestors(&self, class: ClassId) -> impl Iterator<Item = ClassId> + '_ {
        let all = std::iter::successors(Some(class), |&one| self.class(one).parent);
        // Parents have been checked for cycles by the front end; this bound costs nothing.
        all.take(self.classes.len())
    }

    /// Whether a handler for exceptions of one class takes an exception of another one. The
    /// answer is none if that is not known: nothing may be known of the exception, or its
    /// class may have ancestors that are not at hand.
    pub fn takes(&self, handler: Option<ClassId>, thrown: Option<ClassId>) -> Option<bool> {
        let Some(wanted) = handler else {
            return Some(true);
        };
        let thrown = thrown?;
        if self.is_subclass(thrown, wanted) {
            return Some(true);
        }
        let open = self.ancestors(thrown).any(|one| self.class(one).is_open);
        (!open).then_some(false)
    }
}

/// A class whose objects the heap holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// The full name, with dots.
    pub name: String,
    /// The class it extends, if that is a class of the program.
    pub parent: Option<ClassId>,
    /// Whether it extends a class of which nothing is known.
    pub is_open: bool,
    /// Whether it is an exception of the library. Its objects have no fields, and that one of them is
    /// lost is not worth a word.
    pub is_library: bool,
    /// The fields of its objects, inherited ones too, each once, by id. Fields that no statement
    /// of the program reads or writes are left out.
    pub fields: Vec<(FieldId, Kind)>,
    /// The names of those that are left out. A heap that the program starts with may have them.
    pub unused: Vec<(String, Kind)>,
}

impl Class {
    /// What a field of this class holds, if it has the field.
    pub fn field(&self, field: FieldId) -> Option<Kind> {
        self.fields
            .iter()
            .find(|(one, _)| *one == field)
            .map(|&(_, kind)| kind)
    }

    /// The name without its package.
    pub fn simple_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }
}

/// What a variable or a field holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A reference or null. Arrays and strings too.
    Reference,
    /// `false` or `true`: the numbers 0 and 1.
    Boolean,
    /// Any other number: characters too.
    Number,
}

impl Kind {
    /// What a new object holds in a field of this kind.
    pub fn default_value(self) -> Operand {
        match self {
            Kind::Reference => Operand::Null,
            Kind::Boolean | Kind::Number => Operand::Int(0),
        }
    }
}

/// A method with its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// The class that declares it.
    pub class: ClassId,
    /// Its simple name; `<init>` for a constructor.
    pub name: String,
    /// Its name with class and types: `<Class: Type name(Types)>`.
    pub signature: String,
    /// Whether it has no receiver.
    pub is_static: bool,
    /// What its parameters hold, without the receiver.
    pub parameters: Vec<Kind>,
    /// What it returns, if anything.
    pub returns: Option<Kind>,
    /// Its local variables. Names are unique.
    pub locals: Vec<Local>,
    /// The body, entered at 0. It begins with one statement for the receiver ([`Value::This`]) and
    /// one for each parameter. Control never leaves it but by a return or a throw.
    pub code: Vec<Statement>,
    /// For each statement the source line, from 1; 0 if it is not known.
    pub lines: Vec<u32>,
    /// Lines that are nothing but a jump, and that the program may pass without a trace: the compiler
    /// leads jumps to another jump straight to its target.
    pub passed_by: Vec<u32>,
    /// The source file: an index into [`PointerProgram::files`].
    pub file: u32,
}

impl Method {
    /// Where the statements begin, behind those for the receiver and the parameters.
    pub fn first_statement(&self) -> usize {
        self.parameters.len() + usize::from(!self.is_static)
    }

    /// The name of a local variable.
    pub fn local(&self, id: LocalId) -> &str {
        &self.locals[id.index()].name
    }

    /// The local variable of this name.
    pub fn local_named(&self, name: &str) -> Option<LocalId> {
        let at = self.locals.iter().position(|local| local.name == name)?;
        Some(LocalId(at as u32))
    }
}

/// A local variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Local {
    /// The name in the source. `$n` is a variable without a name, `$sn` an intermediate value. A
    /// second variable of one name in one method is `name#2`.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

impl Local {
    /// Whether it is an intermediate value, which nothing holds once it has been used.
    pub fn is_intermediate(&self) -> bool {
        self.name.starts_with("$s")
    }

    /// The name in the source: without the number that tells variables of one name apart.
    pub fn plain_name(&self) -> &str {
        self.name.split('#').next().unwrap_or(&self.name)
    }
}

/// A value that is available without touching the heap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operand {
    /// The value of a variable.
    Local(LocalId),
    /// No object.
    Null,
    /// A constant. Booleans and characters are numbers too.
    Int(i64),
    /// Any value: what it is was not modelled.
    Unknown,
    /// An object that is not modelled, a string or an array perhaps: all that is known is that it is
    /// not null.
    Present,
}

/// What is assigned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// A copy.
    Operand(Operand),
    /// The field of an object. Null has none: reading it is an error of the program.
    Field(LocalId, FieldId),
    /// A new object. Its fields hold [`Kind::default_value`].
    New(ClassId),
    /// Whether this is an object of the class or of a descendant: 1 or 0. Null is none; of what is
    /// not known it is not known.
    IsInstance(LocalId, ClassId),
    /// Whether a cast to this class succeeds: 1 for null and for what [`Value::IsInstance`] accepts, 0 for
    /// other objects; of what is not known it is not known.
    Fits {
        /// What is cast.
        value: LocalId,
        /// To which class.
        class: ClassId,
        /// Whether it is taken to succeed where it is not known, as casts do that the compiler has
        /// made for generics.
        trusting: bool,
    },
    /// The receiver, at the beginning of a method.
    This,
    /// The parameter of this number, from 0, at the beginning of a method.
    Parameter(u32),
    /// The exception, at the beginning of a [`Handler`]: it is assigned when the handler takes it.
    Exception,
}

/// Where control goes on if it takes an exception.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handler {
    /// The place. If an assignment of [`Value::Exception`] stands there, this is done at once, and
    /// control is behind it.
    pub target: Pc,
    /// It takes exceptions of this class and its descendants. If there is none, it takes all.
    pub class: Option<ClassId>,
}

/// One step. Unless stated otherwise, control goes on at the next statement.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Statement {
    /// `to = value`
    Assign {
        /// The variable.
        to: LocalId,
        /// What it holds afterwards.
        value: Value,
    },
    /// `base.field = value`. Null has no fields: this is an error of the program, see
    /// [`Statement::Caught`].
    Store {
        /// The object.
        base: LocalId,
        /// Its field.
        field: FieldId,
        /// What the field holds afterwards.
        value: Operand,
    },
    /// `to = receiver.method(arguments)`. A call on null is an error of the program.
    Call {
        /// Where the result goes, if it is wanted.
        to: Option<LocalId>,
        /// The object, if the method is not static.
        receiver: Option<LocalId>,
        /// Values of the parameters.
        arguments: Vec<Operand>,
        /// Which method runs.
        callees: Callees,
    },
    /// The object must be there: null is an error of the program. Arrays, monitors and exceptions
    /// are no objects of the heap, and yet null is none of them. What is unknown is taken to be
    /// there.
    Require(LocalId),
    /// These objects come into the hands of code that is not known, which may run methods of the
    /// program on them, or on what they lead to. If one of them has a class that is named here,
    /// nothing is known from here on. Otherwise nothing happens.
    Hand {
        /// Whom they are given to, in words or as a signature.
        to: String,
        /// The objects. If there are none, all are meant.
        objects: Vec<LocalId>,
        /// Classes with methods that may run and whose effects matter: a signature for each. Sorted. If
        /// there are none, the objects are given away all the same, and may be kept.
        runs: Vec<(ClassId, String)>,
    },
    /// To `yes` if the condition holds, else to `no`. If a side is unknown, to either.
    Branch {
        /// What is asked.
        condition: Condition,
        /// Where control goes if it holds.
        yes: Pc,
        /// Where control goes if not.
        no: Pc,
    },
    /// To any of these, whatever the data. There is at least one.
    Choose {
        /// Where control may go.
        targets: Vec<Pc>,
    },
    /// To this position.
    Goto(Pc),
    /// Back to the caller.
    Return(Option<Operand>),
    /// An exception is raised. It goes to the first of the handlers that takes it. If none does, it
    /// leaves the method: if the call of the method is followed by a [`Statement::Caught`], it goes
    /// to the handlers there. Otherwise it leaves the caller, too, and the run ends when it leaves
    /// the program.
    Throw {
        /// The exception. Of one that is not known nobody knows which handlers take it.
        value: Operand,
        /// The handlers, in order.
        handlers: Vec<Handler>,
        /// Whether it leaves the method if no handler takes it. Otherwise the run is not followed.
        escapes: bool,
    },
    /// Behind a call: if it was left by an exception, this goes to the first of these handlers that
    /// takes it, and the result of the call is unknown. So it does if the statement before, a call
    /// or not, has used null: that is an error, and an exception, too, which leaves the method
    /// where there is no such statement. Otherwise nothing happens.
    Caught {
        /// The handlers, in order.
        handlers: Vec<Handler>,
        /// Whether it leaves this method if no handler takes it. Otherwise the run is not followed.
        escapes: bool,
    },
    /// Here the run may end by something that is not followed, since nobody catches it: a division by
    /// zero, say, or an exception of a library method. Otherwise nothing happens. What is meant is said in
    /// words or as a signature.
    Doubt(String),
    /// Nothing happens.
    Nop,
}

/// Whether two operands are the same object or the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Condition {
    /// One side.
    pub left: Operand,
    /// The other.
    pub right: Operand,
    /// `==`, or else `!=`.
    pub equal: bool,
}

/// Which method a call runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Callees {
    /// Always this one.
    One(MethodId),
    /// That of the receiver's class. Sorted; a class that is not named cannot be there.
    Virtual(Vec<(ClassId, MethodId)>),
    /// The method of this signature, whose body is not known. It is taken to leave the heap as it
    /// is; its result is unknown.
    Unavailable(String),
}

impl Callees {
    /// Every method that may run.
    pub fn methods(&self) -> impl Iterator<Item = MethodId> + '_ {
        let (one, many) = match self {
            Callees::One(method) => (Some(*method), [].as_slice()),
            Callees::Virtual(table) => (None, table.as_slice()),
            Callees::Unavailable(_) => (None, [].as_slice()),
        };
        one.into_iter()
            .chain(many.iter().map(|&(_, method)| method))
    }

    /// The method that runs for a receiver of this class, if its body is known.
    pub fn for_class(&self, class: ClassId) -> Option<MethodId> {
        match self {
            Callees::One(method) => Some(*method),
            Callees::Virtual(table) => {
                let at = table.binary_search_by_key(&class, |&(one, _)| one).ok()?;
                Some(table[at].1)
            }
            Callees::Unavailable(_) => None,
        }
    }
}

impl Statement {
    /// The variable that is assigned.
    pub fn defines(&self) -> Option<LocalId> {
        match self {
            Statement::Assign { to, .. } => Some(*to),
            Statement::Call { to, .. } => *to,
            _ => None,
        }
    }

    /// Calls `found` with each operand that is read as such: not the bases of fields, not receivers.
    fn operands(&self, mut found: impl FnMut(Operand)) {
        match self {
            Statement::Assign {
                value: Value::Operand(operand),
                ..
            }
            | Statement::Store { value: operand, .. }
            | Statement::Throw { value: operand, .. }
            | Statement::Return(Some(operand)) => found(*operand),
            Statement::Assign {
                value: Value::IsInstance(local, _) | Value::Fits { value: local, .. },
                ..
            } => found(Operand::Local(*local)),
            Statement::Call { arguments, .. } => arguments.iter().copied().for_each(found),
            Statement::Hand { objects, .. } => {
                objects.iter().copied().map(Operand::Local).for_each(found);
            }
            Statement::Branch { condition, .. } => {
                found(condition.left);
                found(condition.right);
            }
            _ => {}
        }
    }

    /// The object that is dereferenced: the base of a field, the receiver of a call, or what must
    /// be there.
    pub fn base(&self) -> Option<LocalId> {
        match self {
            Statement::Assign {
                value: Value::Field(base, _),
                ..
            }
            | Statement::Store { base, .. }
            | Statement::Require(base) => Some(*base),
            Statement::Call { receiver, .. } => *receiver,
            _ => None,
        }
    }

    /// The handlers of an exception that this statement raises or lets through, and whether it may
    /// leave the method. `next` is the statement behind it.
    pub fn handlers<'a>(&'a self, next: Option<&'a Statement>) -> (&'a [Handler], bool) {
        match (self, next) {
            (
                Statement::Throw {
                    handlers, escapes, ..
                },
                _,
            )
            | (_, Some(Statement::Caught { handlers, escapes })) => (handlers, *escapes),
            _ => (&[], true),
        }
    }

    /// Calls `found` with each variable that is read, perhaps more than once.
    pub fn uses(&self, mut found: impl FnMut(LocalId)) {
        if let Some(base) = self.base() {
            found(base);
        }
        self.operands(|operand| {
            if let Operand::Local(local) = operand {
                found(local);
            }
        });
    }

    /// Calls `found` with each position where control may go on, at `pc` being this one.
    pub fn successors(&self, pc: Pc, mut found: impl FnMut(Pc)) {
        match self {
            Statement::Branch { yes, no, .. } => {
                found(*yes);
                found(*no);
            }
            Statement::Choose { targets } => targets.iter().copied().for_each(found),
            Statement::Caught { handlers, .. } => {
                found(pc + 1);
                handlers.iter().map(|one| one.target).for_each(found);
            }
            Statement::Throw { handlers, .. } => {
                handlers.iter().map(|one| one.target).for_each(found);
            }
            Statement::Goto(target) => found(*target),
            Statement::Return(_) => {}
            Statement::Assign { .. }
            | Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::Require(_)
            | Statement::Hand { .. }
            | Statement::Doubt(_)
            | Statement::Nop => found(pc + 1),
        }
    }

    /// Calls `change` with each position that is named here.
    pub fn targets_mut(&mut self, mut change: impl FnMut(&mut Pc)) {
        match self {
            Statement::Branch { yes, no, .. } => {
                change(yes);
                change(no);
            }
            Statement::Choose { targets } => targets.iter_mut().for_each(change),
            Statement::Throw { handlers, .. } | Statement::Caught { handlers, .. } => {
                let targets = handlers.iter_mut().map(|one| &mut one.target);
                targets.for_each(change);
            }
            Statement::Goto(target) => change(target),
            _ => {}
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Reference => "reference",
            Kind::Boolean => "boolean",
            Kind::Number => "number",
        })
    }
}
