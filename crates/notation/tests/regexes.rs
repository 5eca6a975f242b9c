//! Expressions over stacks accept what a naive matcher accepts, on all short stacks.

use droste_base::Limits;
use droste_notation::build::{automaton, weights};
use droste_notation::{Document, SetError, System, read, read_set};
use droste_pds::domains::Boolean;
use droste_pds::{Direction, StateId, SymbolId};
use droste_source::SourceFile;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = (self.0)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }
}

enum Regex {
    /// Symbols of which one is read.
    One(Vec<u32>, String),
    Sequence(Vec<Regex>),
    Either(Vec<Regex>),
    Repeat(Box<Regex>, char),
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn random(random_numbers: &mut Random, depth: u32) -> Regex {
    let numbers = random_numbers;
    match numbers.below(if depth == 0 { 3 } else { 8 }) {
        0 => {
            let symbol = numbers.below(3);
            Regex::One(vec![symbol], NAMES[symbol as usize].to_owned())
        }
        1 => Regex::One(vec![0, 1, 2], ".".to_owned()),
        2 => {
            let not = numbers.below(3);
            let rest = (0..3).filter(|&symbol| symbol != not).collect();
            if numbers.below(2) == 0 {
                return Regex::One(rest, format!("[^{}]", NAMES[not as usize]));
            }
            let names: Vec<&str> = (rest.iter())
                .map(|&symbol: &u32| NAMES[symbol as usize])
                .collect();
            let text = format!("[{}]", names.join(", "));
            Regex::One(rest, text)
        }
        3 | 4 => {
            let count = numbers.below(4);
            Regex::Sequence((0..count).map(|_| random(numbers, depth - 1)).collect())
        }
        5 => {
            let count = 1 + numbers.below(3);
            Regex::Either((0..count).map(|_| random(numbers, depth - 1)).collect())
        }
        _ => {
            let sign = ['*', '+', '?'][numbers.below(3) as usize];
            Regex::Repeat(Box::new(random(numbers, depth - 1)), sign)
        }
    }
}

impl Regex {
    fn text(&self) -> String {
        let all = |list: &[Regex], between: &str| {
            let list: Vec<String> = list.iter().map(Regex::text).collect();
            format!("({})", list.join(between))
        };
        match self {
            Regex::One(_, text) => text.clone(),
            Regex::Sequence(list) => all(list, " "),
            Regex::Either(list) => all(list, " | "),
            Regex::Repeat(inner, sign) => format!("{}{sign}", inner.text()),
        }
    }

    /// Where it may end if it begins at one of these places; bit i is the place before symbol i.
    fn ends(&self, from: u32, stack: &[u32]) -> u32 {
        match self {
            Regex::One(symbols, _) => (0..stack.len() as u32)
                .filter(|&i| from >> i & 1 == 1 && symbols.contains(&stack[i as usize]))
                .fold(0, |ends, i| ends | 1 << (i + 1)),
            Regex::Sequence(list) => list.iter().fold(from, |at, part| part.ends(at, stack)),
            Regex::Either(list) => list
                .iter()
                .fold(0, |ends, part| ends | part.ends(from, stack)),
            Regex::Repeat(inner, '?') => from | inner.ends(from, stack),
            Regex::Repeat(inner, sign) => {
                let mut ends = inner.ends(from, stack);
                loop {
                    let more = ends | inner.ends(ends, stack);
                    if more == ends {
                        break;
                    }
                    ends = more;
                }
                if *sign == '*' { from | ends } else { ends }
            }
        }
    }
}

fn system() -> System {
    let text = "rule p a -> q b c\nrule q b -> p\n";
    match read(text, &Limits::default()) {
        Ok((Document::System(system), ..)) => *system,
        _ => panic!("the rules are right"),
    }
}

#[test]
fn automata_accept_what_expressions_match() {
    let stacks: Vec<Vec<u32>> = (0..=4u32)
        .flat_map(|length| {
            (0..3u32.pow(length))
                .map(move |code| (0..length).map(|i| code / 3u32.pow(i) % 3).collect())
        })
        .collect();
    let limits = Limits::default();
    for seed in 0..400 {
        let regex = random(&mut Random(seed), 4);
        let mut system = system();
        let source = SourceFile::new("t", format!("<[p], {}>", regex.text()));
        let (set, _) = read_set(&source, &mut system, &limits).expect("it is an expression");
        let weights = weights(&system, &Boolean, false).expect("there are none");
        let direction = Direction::Forward;
        let made = automaton(&system, &set, &Boolean, &weights, direction, &limits).expect("made");
        for stack in &stacks {
            let symbols: Vec<SymbolId> = stack.iter().map(|&s| SymbolId(s)).collect();
            let found = made
                .weight_of(&Boolean, StateId(0), &symbols)
                .expect("no limit");
            let expected = regex.ends(1, stack) >> stack.len() & 1 == 1;
            assert_eq!(
                found,
                expected,
                "seed {seed}: {} on {stack:?}",
                regex.text()
            );
            let other = made
                .weight_of(&Boolean, StateId(1), &symbols)
                .expect("no limit");
            assert!(!other, "q is another state");
        }
    }
}

/// The size of an automaton: states beside the control states, and transitions.
fn size(text: String) -> Result<(u32, usize), String> {
    match read_set(
        &SourceFile::new("t", text),
        &mut system(),
        &Limits::default(),
    ) {
        Ok((set, _)) => Ok((set.extra, set.edges.len())),
        Err(SetError::Wrong(list)) => Err(list[0].message.clone()),
        Err(SetError::Stopped(reason)) => Err(reason.to_string()),
    }
}

/// Alternatives share what follows them, however many there are.
#[test]
fn large_expressions_stay_small() {
    let count = 100_000;
    let alternatives = vec!["a b"; count].join(" | ");
    let (extra, edges) = size(format!("<p, {alternatives}>")).expect("read");
    assert_eq!((extra as usize, edges), (count + 1, 2 * count));
    let symbols = vec!["a"; 2000].join(" | ");
    let squares = format!("<p, ({symbols}) ({symbols})>");
    assert_eq!(size(squares), Ok((2, 4000)));
    let many = vec!["a?"; 1000].join(" ");
    assert_eq!(size(format!("<p, {many}>")), Ok((1000, 1000 * 1001 / 2)));
    let more = vec!["a?"; 50_000].join(" ");
    let refused = size(format!("<p, {more}>")).expect_err("too large");
    assert!(
        refused.contains("more than 1,000,000 transitions"),
        "{refused}"
    );
    // What the text has is never too much.
    let list = vec!["b"; 3_000_000].join(" ");
    assert_eq!(size(format!("<p, {list}>")), Ok((3_000_000, 3_000_000)));
}
