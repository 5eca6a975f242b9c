//! The text of weights, domain by domain: the only place that knows how a weight is written.

mod affine;
mod constants;
mod pair;
mod texts;

use std::fmt;
use std::io::{self, Write};
use std::num::IntErrorKind;

use droste_pds::domains::{
    Affine, Boolean, CopyConstants, Lexicographic, Matrix, MaxPlus, MinPlus, Pair, Relations,
};
use droste_pds::{Domain, MergeId};
use droste_source::suggest::nearest;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::system::{System, WeightId};

use pair::AnyDomain;
pub use texts::BitVectors;
pub(crate) use texts::inner;
use texts::{integer, vector};

/// A weight domain that has a notation.
///
/// [`parse`](Self::parse) reads what [`print`](Self::print) writes. Every domain also reads `ONE`
/// and `ZERO`.
pub trait Notation: Domain<Weight: Send + Sync + 'static> + Clone + Send + Sync + 'static {
    /// A weight of its text, which has no white space around it. Otherwise what is wrong, as the
    /// rest of a sentence.
    fn parse(&self, text: &str) -> Result<Self::Weight, String>;

    /// The text of a weight.
    fn print(&self, weight: &Self::Weight) -> String;

    /// What a weight is that is not known to the last: `or more`, if it is that or more.
    fn vaguely(&self, weight: &Self::Weight) -> Option<&'static str> {
        let _ = weight;
        None
    }

    /// The text of a weight for people, who are told if it is not exact.
    fn shown(&self, weight: &Self::Weight) -> String {
        match self.vaguely(weight) {
            Some(how) => format!("{} {how}", self.print(weight)),
            None => self.print(weight),
        }
    }

    /// Relations that hold after all paths of this weight.
    fn relations(&self, weight: &Self::Weight) -> Vec<String> {
        let _ = weight;
        Vec::new()
    }

    /// Writes what [`shown`](Self::shown) says. A relation may have millions of pairs: they are written one
    /// by one, so that a limit can stop that.
    fn write(&self, weight: &Self::Weight, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.shown(weight).as_bytes())
    }

    /// The weight in JSON output, which is made while it is written.
    fn json<'a>(&self, weight: &'a Self::Weight) -> Json<'a> {
        Json::Value(json!(self.print(weight)))
    }

    /// The merge function of this name.
    fn merge_named(&self, name: &str) -> Option<MergeId> {
        let _ = name;
        None
    }

    /// Whether the order in which weights are extended makes no difference.
    fn is_commutative(&self) -> bool {
        false
    }
}

/// A weight as JSON.
#[derive(Debug)]
pub enum Json<'a> {
    /// What is small.
    Value(Value),
    /// An array of pairs.
    Relation(Relations, &'a Matrix),
    /// An array of both weights.
    Pair(Box<[Json<'a>; 2]>),
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Value(value) => value.serialize(serializer),
            Json::Relation(domain, weight) => serializer.collect_seq(domain.pairs(weight)),
            Json::Pair(halves) => halves.serialize(serializer),
        }
    }
}

/// A domain by its name, as files and the command line say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainName {
    /// Whether there is a path.
    Bool,
    /// The length of a shortest path.
    MinPlus,
    /// The length of a longest path.
    MaxPlus,
    /// Shortest paths by several lengths, the first of which counts most.
    Vector,
    /// Relations on this many elements, without and with locals: the numbers of globals and locals.
    Relation(u32, u32),
    /// Gen/kill transformers of this many bits.
    GenKill(u32),
    /// Affine transformations: the bits of a number, and how many variables there are.
    Affine(u32, u32),
    /// Which of this many variables have which constant values.
    Constants(u32),
    /// Two domains side by side, none of which is a pair.
    Pair(Box<[DomainName; 2]>),
}

/// Which numbers and vectors there are among the weights of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Numbers below zero, and vectors whose first number that is not zero is.
    pub negative: bool,
    /// Numbers above zero.
    pub positive: bool,
}

impl Signs {
    /// Those of a system.
    pub fn of(system: &System) -> Self {
        let mut signs = Signs::default();
        for id in 0..system.weights.len() as u32 {
            let text = system.weights.get(WeightId(id)).0;
            if let Ok(number) = integer(&text) {
                signs.negative |= number < 0;
                signs.positive |= number > 0;
            } else if let Ok(vector) = vector(&text) {
                signs.negative |= vector.is_negative();
            }
        }
        signs
    }
}

/// What is to be done with a domain, whichever it is.
pub trait Task {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<D: Notation>(self, domain: &D) -> Self::Output;
}

/// The most elements of a relation: a weight has the square of that in bits.
const MOST_ELEMENTS: u32 = 4096;
/// The most bits of a gen/kill transformer.
const MOST_BITS: u32 = 1 << 20;
/// The most variables of which constants are known.
const MOST_CONSTANTS: u32 = 1 << 20;
/// The most variables of an affine transformation: a weight has up to the fourth power of that in
/// numbers.
const MOST_VARIABLES: u32 = 32;

impl DomainName {
    /// What domains are called, for messages.
    pub const ALL: &'static str = "bool, minplus, maxplus, vector, relation N, relation G L, \
        genkill N, affine BITS N, constants N, pair A B";

    /// The words with which they begin.
    const NAMES: [&str; 9] = [
        "bool",
        "minplus",
        "maxplus",
        "vector",
        "relation",
        "genkill",
        "affine",
        "constants",
        "pair",
    ];

    /// The domain of this name and numbers: `relation 4`. Otherwise what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = text.split([' ', '\t', ':', ',']);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let Some((&"pair", halves)) = words.split_first() else {
            return Self::single(&words);
        };
        // A word that is no number begins a half.
        let is_name = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit());
        let mut names = (0..halves.len()).filter(|&at| is_name(&halves[at]));
        let (Some(0), Some(second), None) = (names.next(), names.next(), names.next()) else {
            return Err("a pair has two domains, as in `pair minplus relation 4`".to_owned());
        };
        let (first, second) = halves.split_at(second);
        if [first, second].iter().any(|half| half[0] == "pair") {
            return Err("a pair has no pairs in it".to_owned());
        }
        let halves = [Self::single(first)?, Self::single(second)?];
        Ok(DomainName::Pair(Box::new(halves)))
    }

    /// A domain that is no pair.
    fn single(words: &[&str]) -> Result<Self, String> {
        let name = words.first().copied().unwrap_or_default();
        let mut numbers = Vec::new();
        for word in words.iter().skip(1) {
            match word.parse::<u32>() {
                Ok(number) if number > 0 => numbers.push(number),
                Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
                    return Err(format!("`{word}` is too large"));
                }
                _ => return Err(format!("`{word}` is not a positive number")),
            }
        }
        let domain = match (name, &numbers[..]) {
            ("bool", []) => DomainName::Bool,
            ("minplus", []) => DomainName::MinPlus,
            ("maxplus", []) => DomainName::MaxPlus,
            ("vector", []) => DomainName::Vector,
            ("relation", [size]) => DomainName::Relation(*size, 1),
            ("relation", [globals, locals]) => DomainName::Relation(*globals, *locals),
            ("genkill", [bits]) => DomainName::GenKill(*bits),
            ("affine", [bits, variables]) => DomainName::Affine(*bits, *variables),
            ("constants", [variables]) => DomainName::Constants(*variables),
            ("affine", [] | [_]) => {
                let what = "`affine` needs the bits of a number and how many variables there are";
                return Err(format!("{what}, as in `affine 32 4`"));
            }
            ("relation" | "genkill" | "constants", []) => {
                return Err(format!("`{name}` needs a number, as in `{name} 4`"));
            }
            (
                "bool" | "minplus" | "maxplus" | "vector" | "relation" | "genkill" | "affine"
                | "constants",
                _,
            ) => {
                return Err(format!("`{name}` has too many numbers"));
            }
            _ => {
                let near = nearest(name, Self::NAMES.into_iter());
                let meant =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                return Err(format!(
                    "there is no domain `{name}`{meant}; there are {}",
                    Self::ALL
                ));
            }
        };
        match domain {
            DomainName::Relation(a, b) if a.saturating_mul(b) > MOST_ELEMENTS => {
                Err(format!("relations have at most {MOST_ELEMENTS} elements"))
            }
            DomainName::GenKill(bits) if bits > MOST_BITS => {
                Err(format!("there are at most {MOST_BITS} bits"))
            }
            DomainName::Affine(bits, _) if bits > 64 => {
                Err("numbers have at most 64 bits".to_owned())
            }
            DomainName::Affine(_, variables) if variables > MOST_VARIABLES => {
                Err(format!("there are at most {MOST_VARIABLES} variables"))
            }
            DomainName::Constants(variables) if variables > MOST_CONSTANTS => {
                Err(format!("there are at most {MOST_CONSTANTS} variables"))
            }
            domain => Ok(domain),
        }
    }

    /// Whether weights are numbers, so that forgetting them leaves whether there is a path.
    pub fn is_numeric(&self) -> bool {
        matches!(self, DomainName::MinPlus | DomainName::MaxPlus)
    }

    /// Whether the order in which weights are extended makes no difference.
    pub fn is_commutative(&self) -> bool {
        match self {
            DomainName::Pair(halves) => halves.iter().all(DomainName::is_commutative),
            DomainName::Bool | DomainName::MinPlus | DomainName::MaxPlus | DomainName::Vector => {
                true
            }
            _ => false,
        }
    }

    /// Whether the text of a weight says that nothing happens: it is the domain's `one`.
    pub fn is_one(&self, text: &str) -> bool {
        let one = match self {
            DomainName::Bool => matches!(text, "true" | "T"),
            DomainName::MinPlus | DomainName::MaxPlus => inner(text) == "0",
            DomainName::Vector => text == "[]",
            DomainName::Relation(..)
            | DomainName::GenKill(_)
            | DomainName::Affine(..)
            | DomainName::Constants(_) => text == "id",
            DomainName::Pair(domains) => pair::halves(text).is_some_and(|(first, second)| {
                domains[0].is_one(first) && domains[1].is_one(second)
            }),
        };
        one || text == "ONE"
    }

    /// Whether the text of a weight says that there is no path.
    pub fn is_none(&self, text: &str) -> bool {
        let none = match self {
            DomainName::Bool => matches!(text, "false" | "F"),
            DomainName::MinPlus | DomainName::Vector => matches!(inner(text), "inf" | "infinity"),
            DomainName::MaxPlus => inner(text) == "-inf",
            DomainName::Relation(..) => text == "{}",
            DomainName::GenKill(_) | DomainName::Affine(..) | DomainName::Constants(_) => {
                text == "none"
            }
            DomainName::Pair(domains) => pair::halves(text).is_some_and(|(first, second)| {
                domains[0].is_none(first) && domains[1].is_none(second)
            }),
        };
        none || text == "ZERO"
    }

    /// Whether the text of a number says that paths get better without end.
    pub(crate) fn is_endless(&self, text: &str) -> bool {
        match self {
            DomainName::MinPlus => inner(text) == "-inf",
            DomainName::MaxPlus => matches!(inner(text), "inf" | "infinity"),
            _ => false,
        }
    }

    /// Does something with the domain. Numbers that only make paths worse allow for faster
    /// algorithms, so the domain of numbers has only those if there are no others.
    pub fn run<T: Task>(&self, signs: Signs, task: T) -> T::Output {
        match self {
            DomainName::Bool => task.run(&Boolean),
            DomainName::MinPlus if signs.negative => task.run(&MinPlus::any()),
            DomainName::MinPlus => task.run(&MinPlus::non_negative()),
            DomainName::MaxPlus if signs.positive => task.run(&MaxPlus::any()),
            DomainName::MaxPlus => task.run(&MaxPlus::non_positive()),
            DomainName::Vector if signs.negative => task.run(&Lexicographic::any()),
            DomainName::Vector => task.run(&Lexicographic::non_negative()),
            DomainName::Relation(globals, locals) => {
                task.run(&Relations::with_locals(*globals, *locals))
            }
            DomainName::GenKill(bits) => task.run(&BitVectors::new(*bits)),
            DomainName::Affine(bits, variables) => task.run(&Affine::new(*bits, *variables)),
            DomainName::Constants(variables) => task.run(&CopyConstants::new(*variables)),
            // Weights that fall for ever are recognised where they are alone: in a pair no number
            // may make a path better.
            DomainName::Pair(domains) => {
                let [first, second] = domains.each_ref();
                let half = |domain: &DomainName| domain.run(Signs::default(), Forget);
                task.run(&Pair(half(first), half(second)))
            }
        }
    }
}

/// Forgets the type of a domain.
struct Forget;

impl Task for Forget {
    type Output = AnyDomain;

    fn run<D: Notation>(self, domain: &D) -> AnyDomain {
        AnyDomain::new(domain.clone())
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DomainName::Bool => f.write_str("bool"),
            DomainName::MinPlus => f.write_str("minplus"),
            DomainName::MaxPlus => f.write_str("maxplus"),
            DomainName::Vector => f.write_str("vector"),
            DomainName::Relation(size, 1) => write!(f, "relation {size}"),
            DomainName::Relation(globals, locals) => write!(f, "relation {globals} {locals}"),
            DomainName::GenKill(bits) => write!(f, "genkill {bits}"),
            DomainName::Affine(bits, variables) => write!(f, "affine {bits} {variables}"),
            DomainName::Constants(variables) => write!(f, "constants {variables}"),
            DomainName::Pair(halves) => write!(f, "pair {} {}", halves[0], halves[1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed is read again, and `ONE` and `ZERO` mean what they say.
    fn round_trip<D: Notation>(domain: &D, texts: &[&str]) {
        let constants = [("ONE", domain.one()), ("ZERO", domain.zero())];
        for (text, weight) in constants {
            assert!(domain.equal(&domain.parse(text).unwrap(), &weight));
            let printed = domain.print(&weight);
            assert!(
                domain.equal(&domain.parse(&printed).unwrap(), &weight),
                "{printed}"
            );
        }
        for text in texts {
            assert_eq!(&domain.print(&domain.parse(text).unwrap()), text);
        }
    }

    #[test]
    fn weights_are_read_as_they_are_printed() {
        round_trip(&Boolean, &["true", "false"]);
        let most = (i64::MAX - 1).to_string();
        round_trip(&MinPlus::non_negative(), &["0", "7", &most, "inf"]);
        round_trip(&MinPlus::any(), &["0", "-7", "inf", "-inf"]);
        round_trip(&MaxPlus::any(), &["0", "-7", "12", "inf", "-inf"]);
        round_trip(&MaxPlus::non_positive(), &["0", "-7", "-inf"]);
        let vectors = ["[]", "[1]", "[0, 2]", "[1, -2, 3]", "inf"];
        round_trip(&Lexicographic::non_negative(), &vectors);
        round_trip(&Lexicographic::any(), &["[-1]", "[0, -1, 2]", "-inf"]);
        round_trip(&Relations::new(3), &["{}", "id", "{0->1, 2->2}"]);
        round_trip(
            &BitVectors::new(70),
            &["id", "none", "gen{1,69} kill{2}", "kill{0}"],
        );
        let either = "x0 := 3, x1 := x0 | -4, x2 := x0 | x2, x3 := *";
        round_trip(&CopyConstants::new(4), &[either, "id", "none"]);
        let half = |name: &str| {
            let domain = DomainName::parse(name).unwrap();
            domain.run(Signs::default(), Forget)
        };
        let pair = Pair(half("minplus"), half("relation 3"));
        round_trip(&pair, &["(3; {0->1, 2->2})", "(inf; id)", "(0; {})"]);
        let pair = Pair(half("affine 8 2"), half("vector"));
        round_trip(&pair, &["(x0 := 1, x1 := *; [1, -2])", "(none; inf)"]);
        let assigns = ["x0 := -2*x1 + x2 - 3, x2 := *", "x1 := 0", "id", "none"];
        round_trip(&Affine::new(8, 3), &assigns);
        let (affine, behind) = (Affine::new(8, 3), "x0 := x1*2 - x2 * 3");
        let weight = affine.parse(behind).unwrap();
        assert_eq!(affine.print(&weight), "x0 := 2*x1 - 3*x2");
        let either = "[1 0; 0 1] [0 2; 0 0]";
        round_trip(
            &Affine::new(64, 1),
            &[either, "x0 := x0 + 9223372036854775808"],
        );
    }

    #[test]
    fn weights_of_other_domains_are_refused() {
        let refused = |domain: &str, text: &str| {
            struct Parse<'a>(&'a str);
            impl Task for Parse<'_> {
                type Output = Result<(), String>;
                fn run<D: Notation>(self, domain: &D) -> Self::Output {
                    domain.parse(self.0).map(|_| ())
                }
            }
            let domain = DomainName::parse(domain).unwrap();
            domain.run(Signs::default(), Parse(text)).unwrap_err()
        };
        assert!(refused("bool", "3").contains("true"));
        assert!(refused("minplus", "-3").contains("negative"));
        for large in ["9223372036854775807", "9223372036854775808"] {
            assert!(refused("minplus", large).contains("too large"));
            assert!(refused("minplus", &format!("-{large}")).contains("too small"));
        }
        assert!(refused("maxplus", "3").contains("positive"));
        assert!(refused("vector", "[0, -2]").contains("negative"));
        assert!(refused("vector", "[1, inf]").contains("not a whole number"));
        assert!(refused("vector", "[9223372036854775807]").contains("too large"));
        assert!(refused("vector", "3").contains("vector"));
        assert!(refused("minplus", "3.5").contains("whole"));
        assert!(refused("relation 4", "{0->4}").contains("largest number is 3"));
        assert!(refused("relation 4", "{0,1}").contains("relation"));
        assert!(refused("genkill 4", "gen{4}").contains('4'));
        assert!(refused("genkill 4", "gen{1").contains("gen"));
        for (text, why) in [
            ("x0 = 3", "x0 :="),
            ("x2 := 1", "largest number is 1"),
            ("x0 := 1, x0 := 2", "twice"),
            ("x0 := 3*y", "not a variable"),
            ("x0 := x0*x1", "not affine"),
            ("x0 := x0*y", "not a natural number"),
            ("x0 := x1 +", "not a natural number"),
            ("[1 0; 0 1]", "3 rows of 3"),
            ("[1 0", "x0 :="),
        ] {
            assert!(refused("affine 8 2", text).contains(why), "{text}");
        }
        for (text, why) in [
            ("x0 = 3", "x0 :="),
            ("", "x0 :="),
            ("x2 := 1", "largest number is 1"),
            ("x0 := 1, x0 := 2", "twice"),
            ("x0 := x1 | y", "`y`, which is no variable"),
            ("x0 := x1 |", "``, which is no variable"),
        ] {
            assert!(refused("constants 2", text).contains(why), "{text}");
        }
        for (text, why) in [
            ("3", "pair"),
            ("(3, id)", "pair"),
            ("(3; id", "pair"),
            ("(3]; id)", "pair"),
            ("(-3; id)", "has `-3`, which is negative"),
            ("(3; {0->4})", "has `{0->4}`, which has 4, but the largest"),
            ("(3; id; id)", "has `id; id`, which"),
        ] {
            assert!(
                refused("pair minplus relation 4", text).contains(why),
                "{text}"
            );
        }
    }

    #[test]
    fn domains_have_names() {
        for name in [
            "bool",
            "minplus",
            "maxplus",
            "vector",
            "relation 4",
            "relation 2 3",
            "genkill 9",
            "affine 32 4",
            "constants 3",
            "pair minplus relation 2 3",
            "pair genkill 9 bool",
        ] {
            assert_eq!(DomainName::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(DomainName::parse("genkill:9"), Ok(DomainName::GenKill(9)));
        for bad in [
            "",
            "nothing",
            "relation",
            "relation 0",
            "genkill x",
            "affine 8",
            "affine 65 1",
            "affine 8 33",
            "bool 3",
            "constants",
            "constants 0",
            "pair",
            "pair bool",
            "pair 3 bool",
            "pair relation bool",
            "pair bool bool bool",
            "pair bool pair",
            "pair bool relation 0",
        ] {
            assert!(DomainName::parse(bad).is_err(), "{bad}");
        }
        assert!(DomainName::parse("relation 100000").is_err());
        let huge = DomainName::parse("relation 99999999999999999999");
        assert!(huge.is_err_and(|why| why.contains("too large")));
    }
}
