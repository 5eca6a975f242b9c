//! How the weights of each domain are written.

use std::fmt;
use std::io::{self, Write};
use std::num::IntErrorKind;

use droste_base::StopReason;
use droste_pds::domains::{
    Boolean, GenKill, Lexicographic, Matrix, MaxPlus, MinPlus, Relations, Transformer, Vector,
};
use droste_pds::{Domain, MergeId};
use serde_json::{Value, json};

use super::{Json, Notation};

/// `ONE` and `ZERO`, as WALi writes them.
pub(super) fn constant<D: Domain>(domain: &D, text: &str) -> Option<D::Weight> {
    match text {
        "ONE" => Some(domain.one()),
        "ZERO" => Some(domain.zero()),
        _ => None,
    }
}

impl Notation for Boolean {
    fn parse(&self, text: &str) -> Result<bool, String> {
        match text {
            "true" | "T" => Ok(true),
            "false" | "F" => Ok(false),
            _ => constant(self, text).ok_or_else(|| "is not `true` or `false`".to_owned()),
        }
    }

    fn print(&self, weight: &bool) -> String {
        weight.to_string()
    }

    fn json<'a>(&self, weight: &'a bool) -> Json<'a> {
        Json::Value(json!(weight))
    }

    /// What is left of that of relations: the callee returns, whatever the rule weighs.
    fn merge_named(&self, name: &str) -> Option<MergeId> {
        (name == "locals").then_some(MergeId(0))
    }

    fn is_commutative(&self) -> bool {
        true
    }
}

/// The number inside `ShortestPathSemiring(3)`, as WALi prints weights; any other text as it is.
pub(crate) fn inner(text: &str) -> &str {
    let inner = text.strip_prefix("ShortestPathSemiring(");
    inner
        .and_then(|rest| rest.strip_suffix(')'))
        .map_or(text, str::trim)
}

/// An integer, or an infinity.
pub(super) fn integer(text: &str) -> Result<i64, String> {
    let text = inner(text);
    match text {
        "inf" | "infinity" => return Ok(i64::MAX),
        "-inf" => return Ok(i64::MIN),
        _ => {}
    }
    // The infinities take up both ends.
    match text.parse::<i64>() {
        Ok(number) if number.unsigned_abs() < i64::MAX.unsigned_abs() => Ok(number),
        Ok(number) if number < 0 => Err("is too small: weights are above 1 - 2^63".to_owned()),
        Ok(_) => Err("is too large: weights are below 2^63 - 1".to_owned()),
        Err(_) => Err(not_an_integer(text)),
    }
}

fn integer_text(weight: i64) -> String {
    match weight {
        i64::MAX => "inf".to_owned(),
        i64::MIN => "-inf".to_owned(),
        number => number.to_string(),
    }
}

/// Many programs read numbers as doubles, which are exact up to here.
const EXACT: u64 = 1 << 53;

/// A number, or a string where it would not be exact everywhere.
fn integer_json(weight: i64) -> Value {
    if weight.unsigned_abs() <= EXACT {
        json!(weight)
    } else {
        json!(integer_text(weight))
    }
}

impl Notation for MinPlus {
    fn parse(&self, text: &str) -> Result<i64, String> {
        if let Some(weight) = constant(self, text) {
            return Ok(weight);
        }
        match integer(text)? {
            number if number < 0 && !self.has_negative() => Err("is negative".to_owned()),
            number => Ok(number),
        }
    }

    fn print(&self, weight: &i64) -> String {
        integer_text(*weight)
    }

    fn vaguely(&self, weight: &i64) -> Option<&'static str> {
        (!self.has_negative() && *weight == Self::GREATEST).then_some("or more")
    }

    fn json<'a>(&self, weight: &'a i64) -> Json<'a> {
        Json::Value(integer_json(*weight))
    }

    fn is_commutative(&self) -> bool {
        true
    }
}

impl Notation for MaxPlus {
    fn parse(&self, text: &str) -> Result<i64, String> {
        if let Some(weight) = constant(self, text) {
            return Ok(weight);
        }
        match integer(text)? {
            number if number > 0 && self.bottom().is_none() => Err("is positive".to_owned()),
            number => Ok(number),
        }
    }

    fn print(&self, weight: &i64) -> String {
        integer_text(*weight)
    }

    fn vaguely(&self, weight: &i64) -> Option<&'static str> {
        (self.bottom().is_none() && *weight == -MinPlus::GREATEST).then_some("or less")
    }

    fn json<'a>(&self, weight: &'a i64) -> Json<'a> {
        Json::Value(integer_json(*weight))
    }

    fn is_commutative(&self) -> bool {
        true
    }
}

/// `[3, 0, -1]`, or an infinity. What is missing at the end is zero.
pub(super) fn vector(text: &str) -> Result<Vector, String> {
    match text {
        "inf" | "infinity" => return Ok(Vector::infinity()),
        "-inf" => return Ok(Vector::minus_infinity()),
        _ => {}
    }
    let inside = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let inside = inside.ok_or("is not a vector such as `[3, 0, 1]`")?;
    let number = |item: &str| match integer(item.trim()) {
        Ok(i64::MIN | i64::MAX) => Err(format!(
            "has `{}`, which is not a whole number",
            item.trim()
        )),
        Ok(number) => Ok(number),
        Err(wrong) => Err(format!("has `{}`, which {wrong}", item.trim())),
    };
    let elements: Result<Vec<i64>, String> = items(inside).map(number).collect();
    Ok(Vector::new(&elements?))
}

impl Notation for Lexicographic {
    fn parse(&self, text: &str) -> Result<Vector, String> {
        if let Some(weight) = constant(self, text) {
            return Ok(weight);
        }
        match vector(text)? {
            vector if vector.is_negative() && !self.has_negative() => Err("is negative".to_owned()),
            vector => Ok(vector),
        }
    }

    fn print(&self, weight: &Vector) -> String {
        let Some(elements) = weight.elements() else {
            return if weight.is_negative() { "-inf" } else { "inf" }.to_owned();
        };
        let elements: Vec<String> = elements.iter().map(i64::to_string).collect();
        format!("[{}]", elements.join(", "))
    }

    fn json<'a>(&self, weight: &'a Vector) -> Json<'a> {
        Json::Value(match weight.elements() {
            Some(elements) => elements.iter().copied().map(integer_json).collect(),
            None => json!(self.print(weight)),
        })
    }

    fn is_commutative(&self) -> bool {
        true
    }
}

/// What is wrong with a number.
fn not_an_integer(text: &str) -> String {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let how = if text.starts_with('-') {
            "small"
        } else {
            "large"
        };
        return format!("is too {how}: weights have 64 bits");
    }
    "is not a whole number".to_owned()
}

/// A number below a bound.
pub(super) fn below(text: &str, bound: u32) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(number) if number < bound => Ok(number),
        Ok(number) => Err(format!(
            "has {number}, but the largest number is {}",
            bound.saturating_sub(1)
        )),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err(format!(
            "has {}, but the largest number is {}",
            text.trim(),
            bound.saturating_sub(1)
        )),
        Err(_) => Err(format!("has `{}`, which is not a number", text.trim())),
    }
}

/// The text between braces, if there is nothing else.
fn braces(text: &str) -> Option<&str> {
    text.trim().strip_prefix('{')?.strip_suffix('}')
}

/// What stands between commas.
pub(super) fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|item| !item.trim().is_empty())
}

/// A relation that is written pair by pair.
struct RelationText<'a>(Relations, &'a Matrix);

impl fmt::Display for RelationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RelationText(domain, weight) = *self;
        if domain.equal(weight, &domain.one()) {
            return f.write_str("id");
        }
        let mut before = "{";
        for (from, to) in domain.pairs(weight) {
            write!(f, "{before}{from}->{to}")?;
            before = ", ";
        }
        f.write_str(if before == "{" { "{}" } else { "}" })
    }
}

impl Notation for Relations {
    /// `{0->1, 2->2}`, or `id`.
    fn parse(&self, text: &str) -> Result<Matrix, String> {
        if text == "id" {
            return Ok(self.one());
        }
        if let Some(weight) = constant(self, text) {
            return Ok(weight);
        }
        let shape = || "is not a relation such as `{0->1, 2->2}` or `id`".to_owned();
        let mut pairs = Vec::new();
        for item in items(braces(text).ok_or_else(shape)?) {
            let (from, to) = item.split_once("->").ok_or_else(shape)?;
            pairs.push((below(from, self.size())?, below(to, self.size())?));
        }
        Ok(self.of(pairs))
    }

    fn print(&self, weight: &Matrix) -> String {
        RelationText(*self, weight).to_string()
    }

    fn write(&self, weight: &Matrix, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}", RelationText(*self, weight))
    }

    fn json<'a>(&self, weight: &'a Matrix) -> Json<'a> {
        Json::Relation(*self, weight)
    }

    /// `locals` forgets the callee's locals and restores the caller's.
    fn merge_named(&self, name: &str) -> Option<MergeId> {
        (name == "locals").then_some(MergeId(0))
    }
}

impl Notation for BitVectors {
    /// `gen{1,3} kill{2}`, either part alone, `id`, or `none` for no path.
    fn parse(&self, text: &str) -> Result<Transformer, String> {
        match text {
            "id" => return Ok(self.one()),
            "none" => return Ok(self.zero()),
            _ => {}
        }
        if let Some(weight) = constant(self, text) {
            return Ok(weight);
        }
        let shape = || "is not `gen{…} kill{…}`, `id` or `none`".to_owned();
        let (mut kill, mut generate) = (Vec::new(), Vec::new());
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (part, after) = rest.split_once('}').ok_or_else(shape)?;
            let (word, bits) = part.split_once('{').ok_or_else(shape)?;
            let list = match word.trim() {
                "kill" => &mut kill,
                "gen" => &mut generate,
                _ => return Err(shape()),
            };
            for item in items(bits) {
                list.push(below(item, self.bits)?);
            }
            rest = after.trim();
        }
        Ok(self.domain.of(kill, generate))
    }

    fn print(&self, weight: &Transformer) -> String {
        let Some((kill, generate)) = self.parts(weight) else {
            return "none".to_owned();
        };
        let list = |word: &str, bits: &[u32]| {
            let bits: Vec<String> = bits.iter().map(u32::to_string).collect();
            format!("{word}{{{}}}", bits.join(","))
        };
        match (&kill[..], &generate[..]) {
            ([], []) => "id".to_owned(),
            (kill, []) => list("kill", kill),
            ([], generate) => list("gen", generate),
            (kill, generate) => format!("{} {}", list("gen", generate), list("kill", kill)),
        }
    }

    fn json<'a>(&self, weight: &'a Transformer) -> Json<'a> {
        Json::Value(match self.parts(weight) {
            Some((kill, generate)) => json!({ "gen": generate, "kill": kill }),
            None => Value::Null,
        })
    }
}

/// Gen/kill transformers that know how many bits they have.
#[derive(Clone, Copy, Debug)]
pub struct BitVectors {
    domain: GenKill,
    bits: u32,
}

impl BitVectors {
    /// Transformers of this many bits.
    pub fn new(bits: u32) -> Self {
        BitVectors {
            domain: GenKill::new(bits),
            bits,
        }
    }

    /// The bits that are killed and those that are generated; nothing if there is no path.
    fn parts(self, weight: &Transformer) -> Option<(Vec<u32>, Vec<u32>)> {
        let words = (self.bits as usize).div_ceil(64);
        let of_none = self.domain.apply(weight, &vec![0; words])?;
        let of_all = self.domain.apply(weight, &vec![u64::MAX; words])?;
        let is_set = |words: &[u64], bit: u32| words[bit as usize / 64] >> (bit % 64) & 1 == 1;
        let kill = (0..self.bits).filter(|&bit| !is_set(&of_all, bit));
        let generate = (0..self.bits).filter(|&bit| is_set(&of_none, bit));
        Some((kill.collect(), generate.collect()))
    }
}

impl Domain for BitVectors {
    type Weight = Transformer;

    fn one(&self) -> Transformer {
        self.domain.one()
    }

    fn zero(&self) -> Transformer {
        self.domain.zero()
    }

    fn combine(&self, a: &Transformer, b: &Transformer) -> Result<Transformer, StopReason> {
        self.domain.combine(a, b)
    }

    fn extend(&self, a: &Transformer, b: &Transformer) -> Result<Transformer, StopReason> {
        self.domain.extend(a, b)
    }

    fn equal(&self, a: &Transformer, b: &Transformer) -> bool {
        self.domain.equal(a, b)
    }

    fn is_zero(&self, a: &Transformer) -> bool {
        self.domain.is_zero(a)
    }

    fn star(&self, a: &Transformer) -> Result<Transformer, StopReason> {
        self.domain.star(a)
    }
}
