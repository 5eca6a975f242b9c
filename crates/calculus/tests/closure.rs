//! Reachability in random graphs against a search: steps that are taken many at a time, and ranges that are left out where
//! the form of a formula sees to them, must not change what is reached.
//!
//! The theories have what it takes: a third variable of the type of states, so that steps can be put after each other;
//! types that do not fill their codes; steps that depend on a parameter that stays, steps to another predicate of the
//! same recursion, and a conjunction of two recursive predicates. `SEED=n` reruns one.

use std::fmt::Write as _;

use droste_base::Limits;
use droste_calculus::{Solver, load_text};
use droste_testkit::random::{Random, seeds};

struct Graph {
    states: usize,
    /// By colour: from where to where.
    edges: Vec<Vec<(usize, usize)>>,
}

fn graph(random: &mut Random) -> Graph {
    let states = 2 + random.below(9);
    let edges = (0..2).map(|_| {
        let count = random.below(2 * states);
        (0..count)
            .map(|_| (random.below(states), random.below(states)))
            .collect()
    });
    Graph {
        states,
        edges: edges.collect(),
    }
}

/// A relation as a formula over `s.n` and `t.n`.
fn edges(list: &[(usize, usize)]) -> String {
    let mut text = "false".to_owned();
    for (from, to) in list {
        let _ = write!(text, " | s.n = {from} & t.n = {to}");
    }
    text
}

/// `Near(u, v)`: from u to v by steps of the first colour. `Far(u, v)`: by a step of the second colour and then such steps,
/// any number of times, or by two paths of `Far`. `Up(u)`: everything outside of what leads, by any step, to a dead end.
fn text(graph: &Graph, nu: bool) -> String {
    let last = graph.states - 1;
    let (a, b) = (edges(&graph.edges[0]), edges(&graph.edges[1]));
    let mut text = format!(
        "enum N {{ 0..{last} }};\nclass State {{ N n; }};\nbool A(State s, State t) {a};\nbool B(State s, State t) {b};\n\
         bool Long(State u, State v) exists State x, State y, State z. A(u, x) & A(x, y) & A(y, z) & A(z, v);\n\
         mu bool Near(State u, State v) u = v | (exists State x. Near(u, x) & A(x, v));\n\
         mu bool Kept(State u, State v) u = v | (exists State x. Kept(u, x) & A(x, v) & !B(u, v));\n\
         mu bool Far(State u, State v);\nmu bool Mid(State w, State v);\n\
         mu bool Mid(State w, State v) (exists State x. Far(w, x) & B(x, v)) | (exists State x. Mid(w, x) & A(x, v));\n\
         mu bool Far(State u, State v) u = v | Mid(u, v) | (exists State x. Far(u, x) & Far(x, v) & A(v, x));\n"
    );
    if nu {
        text.push_str(
            "nu bool Up(State u) (exists State v. A(u, v) | B(u, v)) & (forall State v. A(u, v) -> Up(v)) \
             & (forall State v. B(u, v) -> Up(v));\n",
        );
    }
    text
}

type Matrix = Vec<Vec<bool>>;

fn matrix(graph: &Graph, colour: usize) -> Matrix {
    let mut m = vec![vec![false; graph.states]; graph.states];
    for &(from, to) in &graph.edges[colour] {
        m[from][to] = true;
    }
    m
}

/// Everything that follows from the rule, from what `start` says.
fn saturate(
    n: usize,
    start: impl Fn(usize, usize) -> bool,
    rule: impl Fn(&Matrix, usize, usize) -> bool,
) -> Matrix {
    let mut m: Matrix = (0..n)
        .map(|u| (0..n).map(|v| start(u, v)).collect())
        .collect();
    loop {
        let mut changed = false;
        for u in 0..n {
            for v in 0..n {
                if !m[u][v] && rule(&m, u, v) {
                    m[u][v] = true;
                    changed = true;
                }
            }
        }
        if !changed {
            return m;
        }
    }
}

/// Members as pairs.
fn pairs(solver: &mut Solver<'_>, name: &str) -> Vec<Vec<usize>> {
    let def = solver.theory().find(name).expect("the predicate is there");
    let tuples = solver.tuples(def, 1000).expect("there are no limits");
    let number = |bits: &Vec<bool>| bits.iter().fold(0, |n, &bit| 2 * n + usize::from(bit));
    let mut list: Vec<Vec<usize>> = tuples
        .iter()
        .map(|tuple| tuple.iter().map(number).collect())
        .collect();
    list.sort();
    list
}

fn listed(m: &Matrix) -> Vec<Vec<usize>> {
    let mut list = Vec::new();
    for (u, row) in m.iter().enumerate() {
        list.extend(
            row.iter()
                .enumerate()
                .filter(|(_, holds)| **holds)
                .map(|(v, _)| vec![u, v]),
        );
    }
    list
}

fn check(seed: u64) {
    let mut random = Random::new(seed);
    let graph = graph(&mut random);
    let nu = random.percent(50);
    let text = text(&graph, nu);
    let theory = load_text("random.mu", text.clone());
    assert!(!theory.has_errors(), "seed {seed}\n{text}");
    let mut solver = Solver::new(theory, &Limits::default(), None);
    let n = graph.states;
    let (a, b) = (matrix(&graph, 0), matrix(&graph, 1));
    let near = saturate(
        n,
        |u, v| u == v,
        |m, u, v| (0..n).any(|x| m[u][x] && a[x][v]),
    );
    assert_eq!(
        pairs(&mut solver, "Near"),
        listed(&near),
        "seed {seed}\n{text}"
    );
    let kept = saturate(
        n,
        |u, v| u == v,
        |m, u, v| (0..n).any(|x| m[u][x] && a[x][v] && !b[u][v]),
    );
    assert_eq!(
        pairs(&mut solver, "Kept"),
        listed(&kept),
        "seed {seed}\n{text}"
    );
    // `Mid` and `Far` together: rows `0..n` are `Far`, the others `Mid`.
    let both = saturate(
        2 * n,
        |u, v| u < n && u == v,
        |m, u, v| {
            if v >= n {
                false
            } else if u < n {
                m[u + n][v] || (0..n).any(|x| m[u][x] && m[x][v] && a[v][x])
            } else {
                (0..n).any(|x| m[u - n][x] && b[x][v] || m[u][x] && a[x][v])
            }
        },
    );
    let far: Matrix = both[..n].iter().map(|row| row[..n].to_vec()).collect();
    let mid: Matrix = both[n..].iter().map(|row| row[..n].to_vec()).collect();
    assert_eq!(
        pairs(&mut solver, "Far"),
        listed(&far),
        "seed {seed}\n{text}"
    );
    assert_eq!(
        pairs(&mut solver, "Mid"),
        listed(&mid),
        "seed {seed}\n{text}"
    );
    if nu {
        let mut up = vec![true; n];
        for _ in 0..=n {
            let next = |u: usize| {
                let steps = (0..n).filter(|&v| a[u][v] || b[u][v]);
                steps.clone().count() > 0 && steps.into_iter().all(|v| up[v])
            };
            up = (0..n).map(next).collect();
        }
        let list: Vec<Vec<usize>> = (0..n).filter(|&u| up[u]).map(|u| vec![u]).collect();
        assert_eq!(pairs(&mut solver, "Up"), list, "seed {seed}\n{text}");
    }
}

#[test]
fn what_is_reached_is_what_a_search_reaches() {
    for seed in seeds(0, 4000) {
        check(seed);
    }
}
