//! Arithmetic on words: ripple-carry adders, shift-and-add multiplication, restoring division,
//! barrel shifters.
//!
//! Every operator computes as many bits as the interval of its result needs, modulo 2 to that
//! number; the interval makes that exact. (Results that 128 bits do not hold wrap around, as in the
//! other evaluators.) Where an operator fails (division by 0, negative distance) its bits mean
//! nothing; who evaluates has noticed the failure.

use droste_program::Operator;

use crate::logic::Logic;
use crate::word::Word;
use droste_program::interval::Interval;

type Bits<L> = Vec<<L as Logic>::Bit>;
type Res<L, T> = Result<T, <L as Logic>::Error>;

/// `a + b + carry`, as many bits as `a` has; `b` is as long. With the last carry.
fn sum<L: Logic>(
    l: &mut L,
    a: &[L::Bit],
    b: &[L::Bit],
    mut carry: L::Bit,
) -> Res<L, (Bits<L>, L::Bit)> {
    let mut out = Vec::with_capacity(a.len());
    for (a, b) in a.iter().zip(b) {
        let half = l.xor(a, b)?;
        out.push(l.xor(&half, &carry)?);
        // The carry is the majority of the three.
        carry = l.ite(&half, &carry, a)?;
    }
    Ok((out, carry))
}

fn negate_all<L: Logic>(l: &mut L, bits: &[L::Bit]) -> Res<L, Bits<L>> {
    bits.iter().map(|bit| l.not(bit)).collect()
}

/// `a - b`, and whether `a ≥ b` for numbers without sign.
fn difference<L: Logic>(l: &mut L, a: &[L::Bit], b: &[L::Bit]) -> Res<L, (Bits<L>, L::Bit)> {
    let b = negate_all(l, b)?;
    let one = l.constant(true);
    sum(l, a, &b, one)
}

/// `-a` if `flip`, `a` otherwise.
fn negate_if<L: Logic>(l: &mut L, flip: &L::Bit, a: &[L::Bit]) -> Res<L, Bits<L>> {
    if l.is_false(flip) {
        return Ok(a.to_vec());
    }
    let mut flipped = Vec::with_capacity(a.len());
    for bit in a {
        flipped.push(l.xor(bit, flip)?);
    }
    let zeros = vec![l.constant(false); a.len()];
    Ok(sum(l, &flipped, &zeros, flip.clone())?.0)
}

fn select<L: Logic>(l: &mut L, c: &L::Bit, yes: &[L::Bit], no: &[L::Bit]) -> Res<L, Bits<L>> {
    match l.as_constant(c) {
        Some(true) => return Ok(yes.to_vec()),
        Some(false) => return Ok(no.to_vec()),
        None => {}
    }
    yes.iter()
        .zip(no)
        .map(|(yes, no)| l.ite(c, yes, no))
        .collect()
}

fn any<L: Logic>(l: &mut L, bits: &[L::Bit]) -> Res<L, L::Bit> {
    let mut out = l.constant(false);
    for bit in bits {
        out = l.or(&out, bit)?;
    }
    Ok(out)
}

/// Whether the word is 0.
pub(crate) fn is_zero<L: Logic>(l: &mut L, a: &Word<L::Bit>) -> Res<L, L::Bit> {
    if !a.interval.contains(0) {
        return Ok(l.constant(false));
    }
    let some = any(l, &a.bits)?;
    l.not(&some)
}

/// Whether the word is negative.
pub(crate) fn is_negative<L: Logic>(l: &mut L, a: &Word<L::Bit>) -> L::Bit {
    if a.interval.hi < 0 {
        l.constant(true)
    } else {
        a.sign(l)
    }
}

/// `-a`.
pub(crate) fn neg<L: Logic>(l: &mut L, a: &Word<L::Bit>) -> Res<L, Word<L::Bit>> {
    let interval = a.interval.negated().unwrap_or(Interval::ANY);
    let bits = a.low(l, interval.width());
    let yes = l.constant(true);
    let bits = negate_if(l, &yes, &bits)?;
    Ok(Word::new(l, bits, interval))
}

/// `-a - 1`.
pub(crate) fn complement<L: Logic>(l: &mut L, a: &Word<L::Bit>) -> Res<L, Word<L::Bit>> {
    let interval = a.interval.bit_not();
    let bits = a.low(l, interval.width());
    let bits = negate_all(l, &bits)?;
    Ok(Word::new(l, bits, interval))
}

/// `a + value`, for a value that keeps the word within `interval`.
pub(crate) fn offset<L: Logic>(
    l: &mut L,
    a: &Word<L::Bit>,
    value: i128,
    interval: Interval,
) -> Res<L, Word<L::Bit>> {
    let width = interval.width();
    let bits = a.low(l, width);
    if value == 0 {
        return Ok(Word::new(l, bits, interval));
    }
    let constant = Word::constant(l, value).low(l, width);
    let no = l.constant(false);
    let (bits, _) = sum(l, &bits, &constant, no)?;
    Ok(Word::new(l, bits, interval))
}

/// An arithmetic operator.
pub(crate) fn apply<L: Logic>(
    l: &mut L,
    operator: Operator,
    a: &Word<L::Bit>,
    b: &Word<L::Bit>,
) -> Res<L, Word<L::Bit>> {
    let interval = Interval::apply(operator, a.interval, b.interval).unwrap_or(Interval::ANY);
    if let Some(value) = interval.as_constant() {
        return Ok(Word::constant(l, value));
    }
    let width = interval.width();
    let bits = match operator {
        Operator::Add => {
            let (x, y, no) = (a.low(l, width), b.low(l, width), l.constant(false));
            sum(l, &x, &y, no)?.0
        }
        Operator::Sub => {
            let (x, y) = (a.low(l, width), b.low(l, width));
            difference(l, &x, &y)?.0
        }
        Operator::Mul => product(l, a, b, width)?,
        Operator::Div => divide(l, a, b, width)?.0,
        Operator::Rem => divide(l, a, b, width)?.1,
        Operator::Shl => shift_left(l, a, b, width)?,
        Operator::Shr => shift_right(l, a, b, width)?,
        _ => {
            let (x, y) = (a.low(l, width), b.low(l, width));
            let mut out = Vec::with_capacity(width);
            for (x, y) in x.iter().zip(&y) {
                out.push(match operator {
                    Operator::BitAnd => l.and(x, y)?,
                    Operator::BitOr => l.or(x, y)?,
                    _ => l.xor(x, y)?,
                });
            }
            out
        }
    };
    Ok(Word::new(l, bits, interval))
}

/// Adds `a`, shifted, for every bit of `b`; the sign of `b` counts negative.
fn product<L: Logic>(
    l: &mut L,
    a: &Word<L::Bit>,
    b: &Word<L::Bit>,
    width: usize,
) -> Res<L, Bits<L>> {
    // One addition for each bit that may be set: let the right operand have fewer of them.
    let rows = |l: &L, x: &Word<L::Bit>| x.bits.iter().filter(|bit| !l.is_false(bit)).count();
    let (a, b) = if rows(l, a) < rows(l, b) {
        (b, a)
    } else {
        (a, b)
    };
    let zero = l.constant(false);
    let mut total = vec![zero.clone(); width];
    for (i, bit) in b.bits.iter().enumerate().take(width) {
        if l.is_false(bit) {
            continue;
        }
        let mut row = Vec::with_capacity(width - i);
        for j in 0..width - i {
            let digit = a.at(l, j);
            row.push(l.and(&digit, bit)?);
        }
        let sign = b.interval.is_signed() && i + 1 == b.bits.len();
        let (high, _) = if sign {
            difference(l, &total[i..], &row)?
        } else {
            sum(l, &total[i..], &row, zero.clone())?
        };
        total.truncate(i);
        total.extend(high);
    }
    Ok(total)
}

/// The absolute value, without sign bit.
fn absolute<L: Logic>(l: &mut L, a: &Word<L::Bit>) -> Res<L, Bits<L>> {
    let width = 128 - a.interval.magnitude().leading_zeros() as usize;
    let bits = a.low(l, width);
    let sign = is_negative(l, a);
    negate_if(l, &sign, &bits)
}

/// Quotient and remainder: restoring division of the absolute values, then the signs.
fn divide<L: Logic>(
    l: &mut L,
    a: &Word<L::Bit>,
    b: &Word<L::Bit>,
    width: usize,
) -> Res<L, (Bits<L>, Bits<L>)> {
    let (dividend, mut divisor) = (absolute(l, a)?, absolute(l, b)?);
    let zero = l.constant(false);
    let mut remainder = vec![zero.clone(); divisor.len()];
    // Shifted by one, the remainder needs one bit more.
    divisor.push(zero.clone());
    let mut quotient = vec![zero.clone(); dividend.len()];
    for i in (0..dividend.len()).rev() {
        remainder.insert(0, dividend[i].clone());
        let (less, fits) = difference(l, &remainder, &divisor)?;
        remainder = select(l, &fits, &less, &remainder)?;
        remainder.pop();
        quotient[i] = fits;
    }
    quotient.resize(width.max(quotient.len()), zero.clone());
    remainder.resize(width.max(remainder.len()), zero);
    quotient.truncate(width);
    remainder.truncate(width);
    let (sign_a, sign_b) = (is_negative(l, a), is_negative(l, b));
    let sign = l.xor(&sign_a, &sign_b)?;
    let quotient = negate_if(l, &sign, &quotient)?;
    let remainder = negate_if(l, &sign_a, &remainder)?;
    Ok((quotient, remainder))
}

/// The bits of a distance that is not negative.
fn distance<L: Logic>(b: &Word<L::Bit>) -> &[L::Bit] {
    let sign = usize::from(b.interval.is_signed());
    &b.bits[..b.bits.len() - sign]
}

/// Distances above 64 count as 64.
fn shift_left<L: Logic>(
    l: &mut L,
    a: &Word<L::Bit>,
    b: &Word<L::Bit>,
    width: usize,
) -> Res<L, Bits<L>> {
    const STAGES: usize = 6;
    let zero = l.constant(false);
    let shifted = |bits: &[L::Bit], by: usize| -> Bits<L> {
        let zeros = std::iter::repeat_n(zero.clone(), by);
        zeros.chain(bits.iter().cloned()).take(width).collect()
    };
    let plain = a.low(l, width);
    let distance = distance::<L>(b);
    let mut out = plain.clone();
    for (k, bit) in distance.iter().enumerate().take(STAGES) {
        let moved = shifted(&out, 1 << k);
        out = select(l, bit, &moved, &out)?;
    }
    if distance.len() > STAGES {
        let far = any(l, &distance[STAGES..])?;
        let moved = shifted(&plain, 1 << STAGES);
        out = select(l, &far, &moved, &out)?;
    }
    Ok(out)
}

/// The sign comes in from the left.
fn shift_right<L: Logic>(
    l: &mut L,
    a: &Word<L::Bit>,
    b: &Word<L::Bit>,
    width: usize,
) -> Res<L, Bits<L>> {
    const STAGES: usize = 7;
    let sign = a.sign(l);
    let mut out = a.bits.clone();
    let distance = distance::<L>(b);
    for (k, bit) in distance.iter().enumerate().take(STAGES) {
        let signs = std::iter::repeat_n(sign.clone(), 1 << k);
        let moved: Bits<L> = out.iter().cloned().chain(signs).skip(1 << k).collect();
        out = select(l, bit, &moved, &out)?;
    }
    if distance.len() > STAGES {
        let far = any(l, &distance[STAGES..])?;
        let signs = vec![sign.clone(); out.len()];
        out = select(l, &far, &signs, &out)?;
    }
    out.resize(width.max(out.len()), sign);
    Ok(out)
}

/// As many bits as are needed to compare, with a sign if either has one.
fn common(a: Interval, b: Interval) -> usize {
    let signed = a.is_signed() || b.is_signed();
    let width = |x: Interval| x.width() + usize::from(signed && !x.is_signed());
    width(a).max(width(b))
}

/// `a = b`.
pub(crate) fn equal<L: Logic>(l: &mut L, a: &Word<L::Bit>, b: &Word<L::Bit>) -> Res<L, L::Bit> {
    let (i, j) = (a.interval, b.interval);
    if i.hi < j.lo || j.hi < i.lo {
        return Ok(l.constant(false));
    }
    let mut same = l.constant(true);
    // From the most significant bit, which is the more likely one to differ in type.
    for k in (0..common(i, j)).rev() {
        let (x, y) = (a.at(l, k), b.at(l, k));
        let differ = l.xor(&x, &y)?;
        let agree = l.not(&differ)?;
        same = l.and(&same, &agree)?;
    }
    Ok(same)
}

/// `a < b`.
pub(crate) fn less<L: Logic>(l: &mut L, a: &Word<L::Bit>, b: &Word<L::Bit>) -> Res<L, L::Bit> {
    let (i, j) = (a.interval, b.interval);
    if i.hi < j.lo || j.hi <= i.lo {
        return Ok(l.constant(i.hi < j.lo));
    }
    let width = common(i, j);
    let signed = i.is_signed() || j.is_signed();
    let mut less = l.constant(false);
    for k in 0..width {
        let (x, y) = (a.at(l, k), b.at(l, k));
        let differ = l.xor(&x, &y)?;
        // Where they differ the one with a 0 is less; for the sign, the one with a 1.
        let decides = if signed && k + 1 == width { &x } else { &y };
        less = l.ite(&differ, decides, &less)?;
    }
    Ok(less)
}
