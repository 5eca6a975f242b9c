//! The logic that bits belong to.

/// Boolean functions, in whatever form.
///
/// An implementation is expected to fold constants (`and` with a constant is one of its
/// operands): the arithmetic here asks for constants by [`Logic::as_constant`] only where it saves
/// more than an operation.
pub trait Logic {
    /// A Boolean function.
    type Bit: Clone;
    /// Why an operation can be refused: a limit on memory or time, say.
    type Error;

    /// Truth or falsehood.
    fn constant(&mut self, value: bool) -> Self::Bit;
    /// The value, if the bit is known to be constant.
    fn as_constant(&self, bit: &Self::Bit) -> Option<bool>;
    /// Negation.
    fn not(&mut self, a: &Self::Bit) -> Result<Self::Bit, Self::Error>;
    /// Conjunction.
    fn and(&mut self, a: &Self::Bit, b: &Self::Bit) -> Result<Self::Bit, Self::Error>;
    /// Disjunction.
    fn or(&mut self, a: &Self::Bit, b: &Self::Bit) -> Result<Self::Bit, Self::Error>;
    /// Exclusive disjunction.
    fn xor(&mut self, a: &Self::Bit, b: &Self::Bit) -> Result<Self::Bit, Self::Error>;
    /// `yes` where `condition` is true, `no` elsewhere.
    fn ite(
        &mut self,
        condition: &Self::Bit,
        yes: &Self::Bit,
        no: &Self::Bit,
    ) -> Result<Self::Bit, Self::Error>;
    /// A choice: a new variable, which whoever uses the result quantifies existentially.
    fn fresh(&mut self) -> Result<Self::Bit, Self::Error>;

    /// Whether the bit is known to be true.
    fn is_true(&self, bit: &Self::Bit) -> bool {
        self.as_constant(bit) == Some(true)
    }

    /// Whether the bit is known to be false.
    fn is_false(&self, bit: &Self::Bit) -> bool {
        self.as_constant(bit) == Some(false)
    }
}
