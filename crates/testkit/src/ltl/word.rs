//! What a formula means on an ultimately periodic word, straight from the definition of each operator.
//!
//! A word is given by the truth of atoms at finitely many positions and the position that follows
//! the last one. Whatever can be seen from a position is seen within as many steps as there are
//! positions, so "for some later position" looks at that many. No operator is explained by another.

use super::{Atom, Binary, Formula, Unary};

/// Whether the word with positions `0..length`, of which the last is followed by `back`, satisfies
/// the formula; `truth` says whether an atom holds at a position.
pub fn satisfies(
    formula: &Formula,
    length: usize,
    back: usize,
    truth: &dyn Fn(usize, &Atom) -> bool,
) -> bool {
    assert!(back < length, "the last position is followed by one");
    positions(formula, length, back, truth)[0]
}

/// At which positions it holds.
fn positions(
    formula: &Formula,
    length: usize,
    back: usize,
    truth: &dyn Fn(usize, &Atom) -> bool,
) -> Vec<bool> {
    let operand = |f: &Formula| positions(f, length, back, truth);
    let next = |i: usize| if i + 1 == length { back } else { i + 1 };
    // The positions from `i` on, in order, each at least once.
    let later = |i: usize| std::iter::successors(Some(i), move |&i| Some(next(i))).take(2 * length);
    let everywhere = |holds: &dyn Fn(usize) -> bool| (0..length).map(holds).collect();
    match formula {
        Formula::Constant(value) => vec![*value; length],
        Formula::Atom(atom) => everywhere(&|i| truth(i, atom)),
        Formula::Unary(op, f) => {
            let f = operand(f);
            match op {
                Unary::Not => everywhere(&|i| !f[i]),
                Unary::Next => everywhere(&|i| f[next(i)]),
                Unary::Finally => everywhere(&|i| later(i).any(|j| f[j])),
                Unary::Globally => everywhere(&|i| later(i).all(|j| f[j])),
            }
        }
        Formula::Binary(op, f, g) => {
            let (f, g) = (operand(f), operand(g));
            match op {
                Binary::And => everywhere(&|i| f[i] && g[i]),
                Binary::Or => everywhere(&|i| f[i] || g[i]),
                Binary::Implies => everywhere(&|i| !f[i] || g[i]),
                Binary::Iff => everywhere(&|i| f[i] == g[i]),
                // At the first position with `g`, all before had `f`.
                Binary::Until => everywhere(&|i| {
                    let end = later(i).position(|j| g[j]);
                    end.is_some_and(|end| later(i).take(end).all(|j| f[j]))
                }),
                Binary::WeakUntil => everywhere(&|i| {
                    let end = later(i).position(|j| g[j]);
                    later(i).take(end.unwrap_or(2 * length)).all(|j| f[j])
                }),
                // Up to the first position with `f`, and there too, `g` holds.
                Binary::Release => everywhere(&|i| {
                    let end = later(i).position(|j| f[j]);
                    let kept = end.map_or(2 * length, |end| end + 1);
                    later(i).take(kept).all(|j| g[j])
                }),
                Binary::StrongRelease => everywhere(&|i| {
                    let end = later(i).position(|j| f[j]);
                    end.is_some_and(|end| later(i).take(end + 1).all(|j| g[j]))
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::satisfies;
    use crate::ltl::{Atom, Binary, Formula, Unary};

    /// Whether `f op g` holds on the word in which `f` and `g` hold where `1` is written; it goes on
    /// with its last letter for ever.
    fn binary(op: Binary, f: &str, g: &str) -> bool {
        let atom = |name: &str| Formula::Atom(Atom::Name(name.to_owned()));
        let formula = Formula::binary(op, atom("f"), atom("g"));
        let truth = |i: usize, atom: &Atom| {
            let word = if *atom == Atom::Name("f".into()) {
                f
            } else {
                g
            };
            word.as_bytes()[i] == b'1'
        };
        satisfies(&formula, f.len(), f.len() - 1, &truth)
    }

    #[test]
    fn operators_mean_what_the_books_say() {
        use Binary::{Release, StrongRelease, Until, WeakUntil};
        //  f, g, and whether U W R M hold
        for (f, g, expected) in [
            ("110", "001", [true, true, false, false]),
            ("100", "001", [false, false, false, false]),
            ("111", "000", [false, true, false, false]),
            ("000", "111", [true, true, true, false]),
            ("001", "110", [true, true, false, false]),
            ("010", "110", [true, true, true, true]),
            ("000", "000", [false, false, false, false]),
            ("000", "100", [true, true, false, false]),
        ] {
            let found = [Until, WeakUntil, Release, StrongRelease].map(|op| binary(op, f, g));
            assert_eq!(found, expected, "{f} {g}");
        }
    }

    #[test]
    fn cycles_come_back() {
        let a = Formula::Atom(Atom::Terminated);
        // b (a b)^ω
        let truth = |i: usize, _: &Atom| i == 1;
        let holds = |f: &Formula| satisfies(f, 3, 1, &truth);
        let always = |f| Formula::unary(Unary::Globally, f);
        let finally = |f| Formula::unary(Unary::Finally, f);
        assert!(holds(&always(finally(a.clone()))));
        assert!(!holds(&finally(always(a.clone()))));
        assert!(!holds(&a));
        assert!(holds(&Formula::unary(Unary::Next, a)));
    }
}
