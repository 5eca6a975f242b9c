//! The types of variables: Booleans, bit vectors, ranges.

use std::fmt;

/// The type of a variable, parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `bool`, the default.
    Bool,
    /// `uN` or `sN`, 1 ≤ N ≤ 64: a bit vector that wraps around.
    Bits {
        /// `sN` rather than `uN`.
        signed: bool,
        /// N.
        width: u8,
    },
    /// `int[lo..hi]`: storing any other value is a violation. `lo ≤ hi`, both within
    /// −2⁶³ … 2⁶⁴−1, and at most 2⁶⁴ values.
    Range {
        /// Least value.
        lo: i128,
        /// Greatest value.
        hi: i128,
    },
}

impl Type {
    /// Least value; Booleans are 0 and 1.
    pub fn lo(self) -> i128 {
        match self {
            Type::Bool | Type::Bits { signed: false, .. } => 0,
            Type::Bits {
                signed: true,
                width,
            } => -(1i128 << (width - 1)),
            Type::Range { lo, .. } => lo,
        }
    }

    /// Greatest value.
    pub fn hi(self) -> i128 {
        match self {
            Type::Bool => 1,
            Type::Bits {
                signed: false,
                width,
            } => (1i128 << width) - 1,
            Type::Bits {
                signed: true,
                width,
            } => (1i128 << (width - 1)) - 1,
            Type::Range { hi, .. } => hi,
        }
    }

    /// Whether this is `bool`.
    pub fn is_bool(self) -> bool {
        self == Type::Bool
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("bool"),
            Type::Bits {
                signed: false,
                width,
            } => write!(f, "u{width}"),
            Type::Bits {
                signed: true,
                width,
            } => write!(f, "s{width}"),
            Type::Range { lo, hi } => write!(f, "int[{lo}..{hi}]"),
        }
    }
}
