//! Weighted pushdown systems: saturation, tall domains, incremental solving, several cores.
//!
//! ```text
//! cargo bench -p droste-bench --bench pushdown [-- --quick] [-- --rules N] [-- TABLE …] [-- FAMILY …]
//! ```
//!
//! The tables are `solve`, `cores`, `tall` and `edits`; all of them, if none is named.
//!
//! Each row of the first table is a process of its own, so that its memory is its own. Times are
//! processor seconds of solving, without building the system; memory is all of the process.

use std::process::Command;
use std::time::Instant;

use droste_bench::measure::peak_kb;
use droste_bench::pushdown::{Family, System, system};
use droste_pds::domains::{Affine, Boolean, Linear, MinPlus, Relations};
use droste_pds::{
    Automaton, Direction, Domain, Method, Modular, Options, Order, Pds, PdsBuilder, RuleId,
    StateId, Transition, Way, poststar, poststar_on, prestar, prestar_on, reach,
};

const SEED: u64 = 1;

/// The tables that can be asked for.
const TABLES: [&str; 4] = ["solve", "cores", "tall", "edits"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [child, family, rules, way, weights] = arguments.as_slice()
        && child == "--child"
    {
        row(family, rules, way, weights);
        return;
    }
    // Filters and flags of the other benchmarks are not for these.
    let ours = |argument: &String| {
        matches!(argument.as_str(), "--quick" | "--bench" | "--rules")
            || argument.parse::<usize>().is_ok()
            || TABLES.contains(&argument.as_str())
            || named(argument)
    };
    if !arguments.iter().all(ours) {
        return;
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let rules = (arguments.iter().position(|argument| argument == "--rules"))
        .and_then(|at| arguments.get(at + 1)?.parse().ok());
    let sizes = match (rules, quick) {
        (Some(rules), _) => vec![rules],
        (None, true) => vec![10_000],
        (None, false) => vec![100_000, 1_000_000],
    };
    let wanted = |family: &Family| {
        !arguments.iter().any(|a| named(a)) || arguments.iter().any(|a| a == family.name())
    };
    let asked = |table: &str| {
        let some = arguments.iter().any(|a| TABLES.contains(&a.as_str()));
        !some || arguments.iter().any(|argument| argument == table)
    };
    if asked("solve") {
        println!("family\trules\tway\tweights\ttransitions\tcpu\tMB");
        for size in sizes {
            for family in Family::ALL.iter().filter(|family| wanted(family)) {
                for weights in ["bool", "minplus"] {
                    for way in ["post", "pre"] {
                        run(&[family.name(), &size.to_string(), way, weights]);
                    }
                }
            }
        }
    }
    if rules.is_some() {
        return;
    }
    let of_these = |families: &[Family], table: &str| -> Vec<Family> {
        let these = families
            .iter()
            .filter(|family| asked(table) && wanted(family));
        these.copied().collect()
    };
    println!("\nfamily\trules\tway\tweights\tone core\ttwo cores\tratio");
    let size = if quick { 10_000 } else { 1_000_000 };
    for family in of_these(&[Family::Icfg, Family::Multi], "cores") {
        cores(&Boolean, "bool", family, size, |_, _| true);
        cores(
            &MinPlus::non_negative(),
            "minplus",
            family,
            size,
            |_, weight| weight,
        );
    }
    println!(
        "\ndomain\tfamily\tseed\trules\tway\tcallees first\tfirst in\tpaths\tratio\tratio to first in\treach: callees first\tpaths\tratio"
    );
    let size = if quick { 1_000 } else { 20_000 };
    let families = [
        Family::Icfg,
        Family::Irred,
        Family::Chain,
        Family::Rec,
        Family::Nest,
        Family::Wide,
    ];
    for seed in if quick {
        SEED..SEED + 1
    } else {
        SEED..SEED + 3
    } {
        let size = (size, seed);
        for family in of_these(&families, "tall") {
            tall(&Relations::new(16), "relation 16", family, size, relation);
            let larger = |rule, _| relation_on(64, rule);
            tall(&Relations::new(64), "relation 64", family, size, larger);
            tall(&Relations::new(64), "counter 64", family, size, counting);
            tall(&Affine::new(32, 3), "affine 3", family, size, affine);
        }
    }
    println!("\ndomain\tfamily\trules\tscratch\tedit\tratio\tone core\ttwo cores\tratio");
    let size = if quick { 10_000 } else { 100_000 };
    for family in of_these(&[Family::Icfg, Family::Multi, Family::Irred], "edits") {
        edits(&Boolean, "bool", family, size, |_, _| true);
        edits(
            &MinPlus::non_negative(),
            "minplus",
            family,
            size,
            |_, weight| weight,
        );
        edits(&Relations::new(16), "relation 16", family, size, relation);
    }
}

/// Whether this is the name of a family.
fn named(argument: &str) -> bool {
    let mut all = Family::ALL.iter().chain(&Family::OTHERS);
    all.any(|family| family.name() == argument)
}

/// Runs a row in a process of its own.
fn run(arguments: &[&str]) {
    let child = std::env::current_exe().map(Command::new);
    let status = child.and_then(|mut child| child.arg("--child").args(arguments).status());
    if !status.is_ok_and(|status| status.success()) {
        println!("{}\tfailed", arguments.join("\t"));
    }
}

fn row(family: &str, rules: &str, way: &str, weights: &str) {
    let Some(family) = Family::ALL.into_iter().find(|f| f.name() == family) else {
        return;
    };
    let system = system(family, rules.parse().unwrap_or(1000), SEED);
    let post = way == "post";
    let (count, transitions, seconds) = if weights == "bool" {
        let (pds, system) = with(system, |_, _| true);
        solve(&Boolean, &pds, &system, post)
    } else {
        let (pds, system) = with(system, |_, weight| weight);
        solve(&MinPlus::non_negative(), &pds, &system, post)
    };
    let megabytes = peak_kb() / 1024;
    println!(
        "{}\t{count}\t{way}\t{weights}\t{transitions}\t{seconds:.3}\t{megabytes}",
        family.name()
    );
}

/// The same system with other weights.
fn with<W: Clone>(mut system: System, weight: impl Fn(u32, i64) -> W) -> (Pds<W>, System) {
    let rules = std::mem::replace(&mut system.rules, PdsBuilder::new(0, 0));
    (rules.map(weight).build(), system)
}

fn solve<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    system: &System,
    post: bool,
) -> (usize, usize, f64) {
    let begin = cpu_seconds();
    let found = answer(domain, pds, system, post, &Options::default());
    (pds.rules().len(), found.len(), cpu_seconds() - begin)
}

fn answer<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    system: &System,
    post: bool,
    options: &Options,
) -> Automaton<D::Weight> {
    let found = if post {
        poststar(domain, pds, &start(domain, system), options)
    } else {
        prestar(domain, pds, &target(domain, system), options)
    };
    found.expect("no limit is set")
}

fn start<D: Domain>(domain: &D, system: &System) -> Automaton<D::Weight> {
    let mut automaton = Automaton::new(system.states, Direction::Backward);
    let last = automaton.state();
    let first = Transition::new(StateId(0), system.start, last);
    automaton.add(domain, first, domain.one()).expect("a sum");
    automaton
        .accept(domain, last, domain.one())
        .expect("a weight");
    automaton
}

fn target<D: Domain>(domain: &D, system: &System) -> Automaton<D::Weight> {
    let mut automaton = Automaton::new(system.states, Direction::Forward);
    let last = automaton.state();
    let top = Transition::new(StateId(0), system.target, last);
    automaton.add(domain, top, domain.one()).expect("a sum");
    for &symbol in &system.under {
        let below = Transition::new(last, symbol, last);
        automaton.add(domain, below, domain.one()).expect("a sum");
    }
    automaton
        .accept(domain, last, domain.one())
        .expect("a weight");
    automaton
}

/// A relation on 16 elements that depends on the rule.
fn relation(rule: u32, _: i64) -> <Relations as Domain>::Weight {
    relation_on(16, rule)
}

/// A relation that depends on the rule: most keep everything, some move or drop an element.
fn relation_on(size: u32, rule: u32) -> <Relations as Domain>::Weight {
    let domain = Relations::new(size);
    let mix = |i: u32| (rule.wrapping_mul(2_654_435_761) >> (i % 16 * 2)) % size;
    match rule % 4 {
        0 => domain.of((0..size).map(|x| (x, if x == mix(0) { mix(1) } else { x }))),
        1 => domain.of((0..size).filter(|x| *x != mix(2)).map(|x| (x, x))),
        _ => domain.one(),
    }
}

/// A counter that some rules increase: a loop around such a rule goes on for 64 rounds.
fn counting(rule: u32, _: i64) -> <Relations as Domain>::Weight {
    let domain = Relations::new(64);
    match rule % 4 {
        0 => domain.of((0..63).map(|x| (x, x + 1))),
        _ => domain.one(),
    }
}

/// An assignment that depends on the rule.
fn affine(rule: u32, weight: i64) -> <Affine as Domain>::Weight {
    let domain = Affine::new(32, 3);
    let (x, y) = (rule % 3, rule / 3 % 3);
    let sum = Linear {
        constant: weight.unsigned_abs(),
        terms: vec![(y, 1)],
    };
    match rule % 5 {
        0 => domain.assign(&[(x, Some(sum))]),
        1 if rule.is_multiple_of(7) => domain.assign(&[(x, None)]),
        _ => domain.one(),
    }
}

fn tall<D: Domain>(
    domain: &D,
    name: &str,
    family: Family,
    (size, seed): (usize, u64),
    weight: impl Fn(u32, i64) -> D::Weight,
) {
    let (pds, system) = with(system(family, size, seed), weight);
    let (start, target) = (start(domain, &system), target(domain, &system));
    for post in [true, false] {
        let ways = [
            (Method::Chaotic, Order::Best),
            (Method::Chaotic, Order::FirstIn),
            (Method::Paths, Order::Best),
        ];
        let options = ways.map(|(method, order)| Options {
            method,
            order,
            ..Options::default()
        });
        let [best, first_in, paths] = (options.each_ref())
            .map(|options| average(|| _ = answer(domain, &pds, &system, post, options)));
        // One question: weights that nobody asks for are not evaluated.
        let way = if post { Way::Post } else { Way::Pre };
        let [asked, _, lazy] = options.each_ref().map(|options| {
            if matches!(options.order, Order::FirstIn) {
                return 0.0;
            }
            average(|| {
                let found = reach(domain, &pds, &start, &target, way, options);
                found.expect("no limit is set");
            })
        });
        println!(
            "{name}\t{}\t{seed}\t{}\t{}\t{best:.4}\t{first_in:.4}\t{paths:.4}\t{:.1}\t{:.1}\t{asked:.4}\t{lazy:.4}\t{:.1}",
            family.name(),
            pds.rules().len(),
            if post { "post" } else { "pre" },
            best / paths,
            first_in / paths,
            asked / lazy,
        );
    }
}

/// Processor seconds. The clock of a thread is coarse: several times, and the average.
fn average(run: impl Fn()) -> f64 {
    let (mut times, begin) = (0, cpu_seconds());
    while times < 3 || (cpu_seconds() - begin < 0.2 && times < 100) {
        run();
        times += 1;
    }
    (cpu_seconds() - begin) / f64::from(times)
}

/// One thread against two, by the clock.
fn cores<D: Domain + Sync>(
    domain: &D,
    name: &str,
    family: Family,
    size: usize,
    weight: impl Fn(u32, i64) -> D::Weight,
) where
    D::Weight: Send + Sync,
{
    let (pds, system) = with(system(family, size, SEED), weight);
    let (start, target) = (start(domain, &system), target(domain, &system));
    let options = Options::default();
    for post in [true, false] {
        // The indices are made the first time. Of the others, the fastest counts.
        let mut times = [f64::INFINITY; 2];
        for _ in 0..6 {
            for (place, threads) in times.iter_mut().zip(1..) {
                let begin = Instant::now();
                let found = match (threads, post) {
                    (1, true) => poststar(domain, &pds, &start, &options),
                    (1, false) => prestar(domain, &pds, &target, &options),
                    (_, true) => poststar_on(threads, domain, &pds, &start, &options),
                    (_, false) => prestar_on(threads, domain, &pds, &target, &options),
                };
                *place = place.min(begin.elapsed().as_secs_f64());
                found.expect("no limit is set");
            }
        }
        let [one, two] = times;
        println!(
            "{}\t{}\t{}\t{name}\t{one:.3}\t{two:.3}\t{:.2}",
            family.name(),
            pds.rules().len(),
            if post { "post" } else { "pre" },
            one / two
        );
    }
}

/// Deletes procedures and adds them again, one after the other.
fn edits<D: Domain + Copy + Sync>(
    domain: &D,
    name: &str,
    family: Family,
    size: usize,
    weight: impl Fn(u32, i64) -> D::Weight,
) where
    D::Weight: Send + Sync,
{
    let (pds, system) = with(system(family, size, SEED), weight);
    let fill = || {
        let mut modular = Modular::new(*domain, system.states, Options::default());
        let ids: Vec<RuleId> = (0..)
            .zip(pds.rules())
            .map(|(number, rule)| modular.add(*rule, pds.weight(number).clone()))
            .collect();
        (modular, ids)
    };
    let mut times = Vec::new();
    for threads in [1, 2] {
        let (mut modular, _) = fill();
        let begin = Instant::now();
        modular.update_on(threads).expect("no limit is set");
        times.push(begin.elapsed().as_secs_f64());
    }
    let (mut modular, ids) = fill();
    let begin = Instant::now();
    modular.update().expect("no limit is set");
    let scratch = begin.elapsed().as_secs_f64();
    let procedures = pds.symbols() / system.nodes;
    let mut total = 0.0;
    let count = 20;
    for edit in 0..count {
        let first = (edit * procedures / count) * system.nodes;
        let own = first..first + system.nodes;
        let numbers: Vec<usize> = (pds.rules().iter().enumerate())
            .filter(|(_, rule)| own.contains(&rule.top.0))
            .map(|(number, _)| number)
            .collect();
        let begin = Instant::now();
        for &number in &numbers {
            modular.remove(ids[number]);
        }
        modular.update().expect("no limit is set");
        for &number in &numbers {
            modular.add(pds.rules()[number], pds.weight(number as u32).clone());
        }
        modular.update().expect("no limit is set");
        // Two edits.
        total += begin.elapsed().as_secs_f64() / 2.0;
    }
    let edit = total / f64::from(count);
    println!(
        "{name}\t{}\t{}\t{scratch:.3}\t{edit:.4}\t{:.0}\t{:.3}\t{:.3}\t{:.2}",
        family.name(),
        pds.rules().len(),
        scratch / edit,
        times[0],
        times[1],
        times[0] / times[1]
    );
}

/// Processor time of the first thread, 0 where there is no `/proc`.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_ascii_whitespace().next();
    nanoseconds
        .and_then(|time| time.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1e9
}
