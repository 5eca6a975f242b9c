//! Where each variable sits in a packed state.
//!
//! A state is a few 64-bit words: the node, a status, and for every global and every local of the
//! node's procedure a *known* bit and the value's offset from the least of its type. A
//! variable that has no value yet, or whose value cannot matter any more, has its known bit
//! and its value bits zero, so that equal states are equal words.
//!
//! Values do not straddle words. Globals have the same place in every procedure; the locals
//! of different procedures, and the results of a procedure that has just returned, share the
//! space after them.

use droste_program::{Expr, ExprNode, Program, Type, Value, VarRef};

/// The place of one variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    word: u16,
    shift: u8,
    known_word: u16,
    known_shift: u8,
    /// The value's bits, shifted down.
    mask: u64,
    /// Greatest offset from `lo`.
    pub(crate) top: u64,
    pub(crate) ty: Type,
    /// Its number: globals first, then the procedure's locals (or results).
    pub(crate) slot: u32,
}

impl Field {
    /// The offset of its value, if it has one.
    #[inline]
    pub(crate) fn get(&self, words: &[u64]) -> Option<u64> {
        if words[self.known_word as usize] >> self.known_shift & 1 == 0 {
            return None;
        }
        Some(words[self.word as usize] >> self.shift & self.mask)
    }

    /// Gives it a value, or takes it away.
    #[inline]
    pub(crate) fn set(&self, words: &mut [u64], offset: Option<u64>) {
        let word = &mut words[self.word as usize];
        *word &= !(self.mask << self.shift);
        if let Some(offset) = offset {
            debug_assert!(offset <= self.top, "an offset fits its type");
            *word |= offset << self.shift;
            words[self.known_word as usize] |= 1 << self.known_shift;
        } else {
            words[self.known_word as usize] &= !(1 << self.known_shift);
        }
    }

    /// Marks the field's bits in `words`.
    pub(crate) fn cover(&self, words: &mut [u64]) {
        words[self.word as usize] |= self.mask << self.shift;
        words[self.known_word as usize] |= 1 << self.known_shift;
    }

    /// The same place, for a Boolean variable.
    pub(crate) fn bit(&self) -> Bit {
        Bit {
            word: self.word,
            known_word: self.known_word,
            shift: self.shift,
            known_shift: self.known_shift,
        }
    }

    #[inline]
    pub(crate) fn value(&self, offset: u64) -> Value {
        self.ty.lo() + Value::from(offset)
    }

    #[inline]
    pub(crate) fn offset(&self, value: Value) -> u64 {
        (value - self.ty.lo()) as u64
    }
}

/// The place of a Boolean variable, in few bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bit {
    word: u16,
    known_word: u16,
    shift: u8,
    known_shift: u8,
}

impl Bit {
    /// The value, if it has one.
    #[inline]
    pub(crate) fn get(self, words: &[u64]) -> Option<bool> {
        let is_known = words[self.known_word as usize] >> self.known_shift & 1 != 0;
        is_known.then(|| words[self.word as usize] >> self.shift & 1 != 0)
    }
}

/// What a state is, beside where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Control is at the node.
    Running,
    /// Executing the node was a violation.
    Failed(droste_program::Violation),
    /// `main` has returned; the node is meaningless (0).
    Terminated,
    /// What a caller gets to see of a procedure that returned; the node is meaningless (0).
    Exited,
}

const STATUS_BITS: u32 = 3;

impl Status {
    fn bits(self) -> u64 {
        use droste_program::Violation as V;
        match self {
            Status::Running => 0,
            Status::Terminated => 1,
            Status::Exited => 2,
            Status::Failed(V::Assertion) => 3,
            Status::Failed(V::OutOfRange) => 4,
            Status::Failed(V::DivisionByZero) => 5,
            Status::Failed(V::NegativeShift) => 6,
        }
    }

    fn from_bits(bits: u64) -> Self {
        use droste_program::Violation as V;
        match bits {
            0 => Status::Running,
            1 => Status::Terminated,
            2 => Status::Exited,
            3 => Status::Failed(V::Assertion),
            4 => Status::Failed(V::OutOfRange),
            5 => Status::Failed(V::DivisionByZero),
            _ => Status::Failed(V::NegativeShift),
        }
    }
}

/// The places of all variables of a program.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    node_bits: u32,
    /// Words per state.
    pub(crate) words: usize,
    pub(crate) globals: Vec<Field>,
    /// Per procedure.
    pub(crate) locals: Vec<Vec<Field>>,
    /// Per procedure.
    pub(crate) results: Vec<Vec<Field>>,
}

/// Hands out bits, best fit for values, wherever there is room for known bits.
#[derive(Clone)]
struct Allocator {
    /// Bits used of each word.
    used: Vec<u32>,
}

impl Allocator {
    fn take(&mut self, width: u32) -> (u16, u8) {
        let word = self
            .used
            .iter()
            .position(|&used| used + width <= 64)
            .unwrap_or_else(|| {
                self.used.push(0);
                self.used.len() - 1
            });
        let shift = self.used[word];
        self.used[word] += width;
        (word as u16, shift as u8)
    }

    /// Fields for variables of these types, in order.
    fn fields(&mut self, types: impl Iterator<Item = Type>, first_slot: usize) -> Vec<Field> {
        types
            .enumerate()
            .map(|(i, ty)| {
                let top = (ty.hi() - ty.lo()) as u64;
                let width = 64 - top.leading_zeros();
                // A variable with a single value needs no bits; shift 0 and mask 0 read as 0.
                let (word, shift) = if width == 0 { (0, 0) } else { self.take(width) };
                let (known_word, known_shift) = self.take(1);
                let mask = if width == 64 {
                    u64::MAX
                } else {
                    (1 << width) - 1
                };
                let slot = (first_slot + i) as u32;
                Field {
                    word,
                    shift,
                    known_word,
                    known_shift,
                    mask,
                    top,
                    ty,
                    slot,
                }
            })
            .collect()
    }
}

impl Layout {
    pub(crate) fn new(program: &Program) -> Self {
        let node_bits = usize::BITS - program.nodes.len().leading_zeros();
        let mut allocator = Allocator {
            used: vec![node_bits + STATUS_BITS],
        };
        let globals = allocator.fields(program.globals.iter().map(|v| v.ty), 0);
        let mut words = allocator.used.len();
        let mut locals = Vec::new();
        let mut results = Vec::new();
        for procedure in &program.procedures {
            let mut own = allocator.clone();
            locals.push(own.fields(procedure.locals.iter().map(|v| v.ty), globals.len()));
            words = words.max(own.used.len());
            let mut own = allocator.clone();
            results.push(own.fields(procedure.results.iter().copied(), globals.len()));
            words = words.max(own.used.len());
        }
        Layout {
            node_bits,
            words,
            globals,
            locals,
            results,
        }
    }

    #[inline]
    pub(crate) fn node(&self, words: &[u64]) -> u32 {
        (words[0] & ((1 << self.node_bits) - 1)) as u32
    }

    #[inline]
    pub(crate) fn status(&self, words: &[u64]) -> Status {
        Status::from_bits(words[0] >> self.node_bits & ((1 << STATUS_BITS) - 1))
    }

    #[inline]
    pub(crate) fn set_control(&self, words: &mut [u64], node: u32, status: Status) {
        let mask = (1 << (self.node_bits + STATUS_BITS)) - 1;
        words[0] = words[0] & !mask | u64::from(node) | status.bits() << self.node_bits;
    }

    /// The places of the variables that an expression of a procedure mentions.
    pub(crate) fn variables<'a>(
        &'a self,
        expr: &'a Expr,
        procedure: u32,
    ) -> impl Iterator<Item = &'a Field> {
        expr.nodes.iter().filter_map(move |part| match *part {
            ExprNode::Var(VarRef::Global(i)) | ExprNode::Next(VarRef::Global(i)) => {
                Some(&self.globals[i as usize])
            }
            ExprNode::Var(VarRef::Local(i)) | ExprNode::Next(VarRef::Local(i)) => {
                Some(&self.locals[procedure as usize][i as usize])
            }
            _ => None,
        })
    }

    /// Whether two states differ in control at most.
    pub(crate) fn same_values(&self, a: &[u64], b: &[u64]) -> bool {
        let control = (1 << (self.node_bits + STATUS_BITS)) - 1;
        (a[0] ^ b[0]) & !control == 0 && a[1..] == b[1..]
    }

    /// Marks the bits of node and status.
    pub(crate) fn cover_control(&self, words: &mut [u64]) {
        words[0] |= (1 << (self.node_bits + STATUS_BITS)) - 1;
    }
}
