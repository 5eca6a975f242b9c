//! What is written is read again, and means the same in every format. `PROGRAMS=n` sets how many
//! random systems are tried, `SEED=n` where they begin.

use droste_base::Limits;
use droste_notation::build::{automaton, pds, weights};
use droste_notation::weight::Task;
use droste_notation::{
    ANY, Configurations, Document, DomainName, Edge, Format, Label, Names, Notation, ONE, Place,
    ReadError, Reading, Right, Rule, Signs, System, WeightId, WriteError, read, write,
};
use droste_pds::{Direction, Options, Way, reach};
use droste_source::diagnostics::render;
use droste_source::{SourceFile, Span};

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound.max(1))) as u32
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

/// What a random system may contain.
#[allow(clippy::struct_excessive_bools, reason = "independent choices")]
#[derive(Clone, Copy)]
struct Kind {
    strange_names: bool,
    merges: bool,
    set_weights: bool,
    any: bool,
    extreme: bool,
}

const STRANGE: [&str; 24] = [
    "f::g", "a b", "\"", "é", "x->y", "#", "<p>", "\\", "*", "", ".", "@1", "1", "0", "00", "-",
    "'", "&amp;", " ", "\t", "push3", "q0", "日本", "\n",
];

fn names(random: &mut Random, kind: Kind, letter: char) -> Names {
    let count = 1 + random.below(4);
    if random.chance(20) {
        return Names::numbered(count);
    }
    let mut names = Names::new();
    for i in 0..count {
        let name = if kind.strange_names && random.chance(30) {
            STRANGE[random.below(STRANGE.len() as u32) as usize].to_owned()
        } else {
            format!("{letter}{i}")
        };
        names.intern(&name).unwrap();
    }
    names
}

fn weight(random: &mut Random, system: &mut System, kind: Kind) -> WeightId {
    if random.chance(30) {
        return ONE;
    }
    let text = match &system.domain {
        Some(DomainName::MinPlus | DomainName::MaxPlus) if kind.extreme && random.chance(10) => {
            let most = (i64::MAX - 1).to_string();
            let least = format!("-{most}");
            ["inf", "-inf", &most, &least, "ONE", "ZERO"][random.below(6) as usize].to_owned()
        }
        Some(DomainName::MinPlus | DomainName::MaxPlus) => {
            (i64::from(random.below(12)) - if kind.extreme { 3 } else { 0 }).to_string()
        }
        Some(DomainName::Bool) if kind.extreme && random.chance(30) => {
            ["true", "false", "T", "F", "ONE", "ZERO"][random.below(6) as usize].to_owned()
        }
        Some(DomainName::Vector) => {
            let numbers = [(); 2].map(|()| i64::from(random.below(6)) - 2);
            format!("[{}, {}]", numbers[0].max(0), numbers[1])
        }
        Some(DomainName::Constants(_)) => {
            let texts = [
                "id",
                "none",
                "x0 := 3",
                "x1 := x0 | -4",
                "x0 := *, x1 := x0",
            ];
            texts[random.below(5) as usize].to_owned()
        }
        Some(DomainName::Pair(_)) => {
            let first = ["0", "7", "inf"][random.below(3) as usize];
            let second = ["id", "{}", "{0->1, 1->1}"][random.below(3) as usize];
            format!("({first}; {second})")
        }
        Some(DomainName::Relation(..)) => {
            let mut pair = || format!("{}->{}", random.below(3), random.below(3));
            format!("{{{}, {}}}", pair(), pair())
        }
        _ => return ONE,
    };
    system.weights.intern(&text, Span::default()).unwrap()
}

fn set(random: &mut Random, system: &mut System, kind: Kind) -> Configurations {
    let states = system.states.len();
    let mut set = Configurations {
        reading: [None, Some(Reading::FromTop)][random.below(2) as usize],
        ..Configurations::default()
    };
    let extra = 1 + random.below(3);
    let place = |random: &mut Random, states: u32| {
        if random.chance(30) {
            Place::Control(random.below(states))
        } else {
            Place::Extra(random.below(extra))
        }
    };
    for _ in 0..=random.below(6) {
        let from = if random.chance(50) {
            Place::Control(random.below(states))
        } else {
            place(random, states)
        };
        let to = place(random, states);
        let label = match random.below(10) {
            0 => Label::Epsilon,
            1 if kind.any => Label::Except([].into()),
            2 if kind.any => Label::Except([random.below(system.symbols.len())].into()),
            _ => Label::One(random.below(system.symbols.len())),
        };
        let weight = if kind.set_weights {
            weight(random, system, kind)
        } else {
            ONE
        };
        set.edges.push(Edge {
            from,
            label,
            to,
            weight,
        });
    }
    for _ in 0..=random.below(2) {
        let weight = if kind.set_weights {
            weight(random, system, kind)
        } else {
            ONE
        };
        let at = place(random, states);
        set.accepting.push((at, weight));
    }
    renumber(&mut set);
    set
}

/// States by the order in which they are mentioned, as readers number them.
fn renumber(set: &mut Configurations) {
    let mut numbers: Vec<u32> = Vec::new();
    let mut number = |place: &mut Place| {
        if let Place::Extra(id) = place {
            let known = numbers.iter().position(|known| known == id);
            let known = known.unwrap_or_else(|| {
                numbers.push(*id);
                numbers.len() - 1
            });
            *id = known as u32;
        }
    };
    for edge in &mut set.edges {
        number(&mut edge.from);
        number(&mut edge.to);
    }
    set.accepting
        .iter_mut()
        .for_each(|(place, _)| number(place));
    set.extra = numbers.len() as u32;
}

fn random_system(seed: u64, domain: DomainName, kind: Kind) -> System {
    let mut random = Random(seed);
    let random = &mut random;
    let mut system = System {
        domain: Some(domain),
        states: names(random, kind, 'p'),
        symbols: names(random, kind, 'a'),
        ..System::default()
    };
    let (states, symbols) = (system.states.len(), system.symbols.len());
    // Every name is in a rule.
    for id in 0..states.max(symbols) {
        system.rules.push(Rule {
            from: id % states,
            top: id % symbols,
            to: random.below(states),
            right: Right::Step(random.below(symbols)),
            weight: ONE,
            merge: ONE,
        });
    }
    for _ in 0..random.below(9) {
        let top = if kind.any && random.chance(15) {
            ANY
        } else {
            random.below(symbols)
        };
        let length = [0, 0, 1, 1, 2, 2, 2, 3, 4][random.below(9) as usize];
        let right: Vec<u32> = (0..length)
            .map(|_| {
                if top == ANY && random.chance(30) {
                    ANY
                } else {
                    random.below(symbols)
                }
            })
            .collect();
        let right = system.make_right(&right);
        let weight = weight(random, &mut system, kind);
        let (from, to) = (random.below(states), random.below(states));
        let same = system
            .rules
            .iter()
            .find(|r| (r.from, r.top, r.to, r.right) == (from, top, to, right));
        let merge = match same {
            Some(same) => same.merge,
            None if kind.merges && matches!(right, Right::Push(..)) && random.chance(30) => {
                system.weights.intern("locals", Span::default()).unwrap()
            }
            None => ONE,
        };
        system.rules.push(Rule {
            from,
            top,
            to,
            right,
            weight,
            merge,
        });
    }
    system.initial = set(random, &mut system, kind);
    system.target = set(random, &mut system, kind);
    system
}

fn text(system: &System, format: Format) -> Option<String> {
    let mut out = Vec::new();
    match write(system, format, &mut out) {
        Ok(()) => Some(String::from_utf8(out).unwrap()),
        Err(WriteError::Cannot(what)) => {
            assert!(!what.is_empty());
            None
        }
        Err(WriteError::Io(error)) => panic!("{error}"),
    }
}

fn again(text: &str, format: Format) -> System {
    assert_eq!(droste_notation::detect(text), format, "{text}");
    match read(text, &Limits::default()) {
        Ok((Document::System(system), ..)) => *system,
        Ok(_) => panic!("threads:\n{text}"),
        Err(ReadError::Wrong(list)) => {
            panic!(
                "{}\n{text}",
                render(&list, &SourceFile::new("t", text), false)
            )
        }
        Err(ReadError::Stopped(reason)) => panic!("{reason}"),
    }
}

/// The weight with which the initial configurations reach the target.
struct Answer<'a>(&'a System);

impl Task for Answer<'_> {
    type Output = String;

    fn run<D: Notation>(self, domain: &D) -> String {
        let (system, limits) = (self.0, Limits::default());
        let weights = weights(system, domain, false).unwrap();
        let built = pds(system, domain, &weights, &limits).unwrap();
        let make = |set, direction| automaton(system, set, domain, &weights, direction, &limits);
        let from = make(&system.initial, Direction::Backward).unwrap();
        let to = make(&system.target, Direction::Forward).unwrap();
        let options = Options::default();
        let reached = reach(domain, &built.pds, &from, &to, Way::Post, &options).unwrap();
        domain.print(&reached.weight)
    }
}

fn answer(system: &System) -> String {
    system
        .domain
        .as_ref()
        .unwrap()
        .run(Signs::of(system), Answer(system))
}

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let first = number("SEED").unwrap_or(0);
    first..first + number("PROGRAMS").unwrap_or(1000)
}

#[test]
fn own_text_is_read_as_it_was_written() {
    let domains = [
        DomainName::Bool,
        DomainName::MinPlus,
        DomainName::Relation(3, 1),
        DomainName::Constants(2),
        DomainName::parse("pair minplus relation 3").unwrap(),
    ];
    for seed in seeds() {
        let kind = Kind {
            strange_names: true,
            merges: true,
            set_weights: true,
            any: true,
            extreme: true,
        };
        let system = random_system(seed, domains[seed as usize % 5].clone(), kind);
        let written = text(&system, Format::Wpds).unwrap();
        let read = again(&written, Format::Wpds);
        assert!(
            read == system,
            "SEED={seed}\n{written}\n{read:#?}\n{system:#?}"
        );
        assert_eq!(text(&read, Format::Wpds).unwrap(), written, "SEED={seed}");
    }
}

#[test]
fn every_format_means_the_same() {
    let mut written = [0; 4];
    for seed in seeds() {
        let domains = [DomainName::Bool, DomainName::MinPlus, DomainName::Vector];
        let domain = domains[seed as usize % 3].clone();
        let kind = Kind {
            strange_names: seed % 4 == 0,
            merges: false,
            set_weights: false,
            any: seed % 5 != 0,
            extreme: false,
        };
        let system = random_system(seed, domain.clone(), kind);
        let expected = answer(&system);
        let other = |format: Format, written: &mut u32| {
            let text = text(&system, format)?;
            *written += 1;
            let read = again(&text, format);
            Some((text, read))
        };
        if let Some((text, read)) = other(Format::Pdaaal, &mut written[0]) {
            assert_eq!(answer(&read), expected, "SEED={seed}\n{text}");
        }
        if let Some((text, read)) = other(Format::Numeric, &mut written[1]) {
            let expected = match domain {
                // Numbers count, and every rule is free.
                DomainName::Bool if expected == "true" => "0".to_owned(),
                DomainName::Bool => "inf".to_owned(),
                _ => expected.clone(),
            };
            assert_eq!(answer(&read), expected, "SEED={seed}\n{text}");
        }
        // A query has one automaton: two files, put together.
        let without = |initial: bool| {
            let mut half = system.clone();
            let set = if initial {
                &mut half.initial
            } else {
                &mut half.target
            };
            *set = Configurations::default();
            half
        };
        let halves = [without(false), without(true)].map(|half| text(&half, Format::Wali));
        if let [Some(first), Some(second)] = halves {
            written[2] += 1;
            let mut whole = again(&first, Format::Wali);
            assert!(whole.target.is_empty());
            whole.target = again(&second, Format::Wali).target;
            whole.domain = Some(domain);
            assert_eq!(answer(&whole), expected, "SEED={seed}\n{first}\n{second}");
        }
        let mut half = without(false);
        half.rules.iter_mut().for_each(|rule| rule.weight = ONE);
        if let Some(text) = text(&half, Format::Moped) {
            written[3] += 1;
            let read = again(&text, Format::Moped);
            assert!(read.rules.len() >= half.rules.len(), "SEED={seed}\n{text}");
        }
    }
    let count = seeds().count() as u32;
    assert!(
        written[0] > count / 2 && written[2] > count / 2,
        "{written:?}"
    );
    assert!(
        count < 500 || written[1] > 0 && written[3] > 0,
        "{written:?}"
    );
}

/// PDAAAL's reader meets the accepting states first, the writer the edges.
#[test]
fn states_of_a_set_are_numbered_as_they_are_written() {
    let json = r#"{"instance": [{"state-names": true, "weight-type": ["uint", 1]}, {"states": {"p": {"A": {"to": "q", "pop": "", "weight": [0]}}}},
        {"accepting": ["e"], "edges": [["w", "A", "e"]]},
        {"initial": ["q"], "accepting": [7], "edges": [["q", "", 7]]}]}"#;
    let written = text(&again(json, Format::Pdaaal), Format::Wpds).unwrap();
    assert!(written.contains("init edge @0 A -> @1"), "{written}");
    let read = again(&written, Format::Wpds);
    assert_eq!(text(&read, Format::Wpds).unwrap(), written);
}

/// Found by fuzzing: the `-` at the end of a name and the `>` behind it made an arrow.
#[test]
fn names_may_end_with_a_dash() {
    let text_of = "rule p a- -> p b a-\ninit <p, \"a-\">\n";
    let system = again(text_of, Format::Wpds);
    let plain = text(&system, Format::Moped).expect("a plain form");
    let read = again(&plain, Format::Moped);
    assert_eq!(text(&read, Format::Moped), Some(plain));
    assert_eq!(read.symbols.iter().collect::<Vec<_>>(), ["a-", "b"]);
}

/// Small sets that formats have little room for: empty ones, single configurations, tops.
fn small_set(random: &mut Random, system: &System) -> Configurations {
    let (states, symbols) = (system.states.len(), system.symbols.len());
    let mut set = Configurations::default();
    let state = Place::Control(random.below(states));
    let symbol = Label::One(random.below(symbols));
    match random.below(6) {
        // Nothing is said about it.
        0 => {}
        // No configuration: no way to its only end, or no symbol to get there.
        1 => {
            let end = set.state();
            set.accepting.push((end, ONE));
        }
        2 => {
            let end = set.state();
            let none = Label::Except((0..symbols).collect());
            set.edge(state, none, end);
            set.accepting.push((end, ONE));
        }
        // An empty stack.
        3 => set.accepting.push((state, ONE)),
        4 => {
            let end = set.state();
            set.edge(state, symbol, end);
            set.accepting.push((end, ONE));
        }
        _ => {
            let end = set.state();
            set.edge(state, symbol, end);
            set.edge(end, Label::Except([].into()), end);
            set.accepting.push((end, ONE));
        }
    }
    set
}

/// The answer, or that a sum is too much to say. The domain is not in every file.
fn answer_in(system: &System, domain: &DomainName) -> Result<String, String> {
    struct Try<'a>(&'a System);
    impl Task for Try<'_> {
        type Output = Result<String, String>;

        fn run<D: Notation>(self, domain: &D) -> Self::Output {
            let (system, limits) = (self.0, Limits::default());
            let weights = weights(system, domain, false).map_err(|e| format!("{e:?}"))?;
            let built = pds(system, domain, &weights, &limits).map_err(|e| format!("{e:?}"))?;
            let make = |set, direction| {
                automaton(system, set, domain, &weights, direction, &limits)
                    .map_err(|e| format!("{e:?}"))
            };
            let from = make(&system.initial, Direction::Backward)?;
            let to = make(&system.target, Direction::Forward)?;
            let options = Options::default();
            let reached = reach(domain, &built.pds, &from, &to, Way::Pre, &options);
            Ok(reached.map_or_else(|r| r.to_string(), |found| domain.print(&found.weight)))
        }
    }
    domain.run(Signs::of(system), Try(system))
}

/// From every format to every format that can say it: what was read is written, and read again, and
/// means the same. What is missing stays missing, and what is empty stays empty.
#[test]
fn from_every_format_to_every_format() {
    use Format::{Moped, Numeric, Pdaaal, Wali, Wpds};
    let formats = [Wpds, Numeric, Pdaaal, Wali, Moped];
    let mut pairs = [[0; 5]; 5];
    for seed in seeds() {
        let domains = [
            DomainName::Bool,
            DomainName::MinPlus,
            DomainName::MaxPlus,
            DomainName::Vector,
            DomainName::Relation(3, 1),
            DomainName::Constants(2),
            DomainName::parse("pair minplus relation 3").unwrap(),
        ];
        let domain = domains[seed as usize % 7].clone();
        let kind = Kind {
            strange_names: seed % 3 == 0,
            merges: false,
            set_weights: false,
            any: seed % 7 == 0,
            extreme: true,
        };
        let mut system = random_system(seed, domain.clone(), kind);
        let mut random = Random(seed ^ 0x5a5a);
        system.initial = small_set(&mut random, &system);
        system.target = small_set(&mut random, &system);
        if random.chance(30) {
            system.rules.iter_mut().for_each(|rule| rule.weight = ONE);
        }
        let shape = |system: &System| [system.initial.is_empty(), system.target.is_empty()];
        let expected = answer_in(&system, &domain).expect("weights of the domain");
        for (i, first) in formats.into_iter().enumerate() {
            let Some(one) = text(&system, first) else {
                continue;
            };
            let mut read = again(&one, first);
            assert_eq!(shape(&read), shape(&system), "SEED={seed}\n{one}");
            // Some formats do not say what their weights are; in the numeric form all are numbers.
            let of = match &domain {
                DomainName::Bool if first == Numeric => DomainName::MinPlus,
                other => other.clone(),
            };
            let same = |found: Result<String, String>| match found.as_deref() {
                Ok(found) if of == domain => found == expected,
                Ok("0") => expected == "true",
                Ok("inf") => expected == "false",
                _ => false,
            };
            let found = answer_in(&read, &of);
            assert!(
                same(found.clone()),
                "SEED={seed}: {found:?}, {expected}\n{one}"
            );
            read.domain = Some(of.clone());
            for (j, second) in formats.into_iter().enumerate() {
                let Some(two) = text(&read, second) else {
                    continue;
                };
                pairs[i][j] += 1;
                let last = again(&two, second);
                assert_eq!(shape(&last), shape(&system), "SEED={seed}\n{one}\n{two}");
                if of != DomainName::Bool || second != Numeric {
                    let found = answer_in(&last, &of);
                    assert!(
                        same(found.clone()),
                        "SEED={seed}: {found:?}, {expected}\n{one}\n{two}"
                    );
                }
            }
        }
    }
    let all = pairs.iter().flatten().all(|&count| count > 0);
    assert!(all || seeds().count() < 500, "{pairs:?}");
}
