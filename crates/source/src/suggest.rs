//! The nearest spelling of a name, for "did you mean" in error messages.
//!
//! Nearness is the number of insertions, deletions, substitutions and swaps of neighbouring
//! characters (optimal string alignment).

/// Longer names are compared up to case only: distances take time in proportion to the product of
/// the lengths, and a program may have a million names.
const LONGEST: usize = 64;

/// The candidate nearest to `name`, if any is near enough to be worth showing.
///
/// A candidate that differs only in case wins. Otherwise about a third of the characters may
/// differ; ties go to the alphabetically first, so the answer does not depend on the order of
/// the candidates. `name` itself is never suggested.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let threshold = match length {
        0 | 1 => 0,
        2..=5 => 1,
        6..=8 => 2,
        // A long name with many differences is another name, not a misspelling.
        n => (n / 3).min(8),
    };
    let near = |candidate: &str| {
        if candidate.eq_ignore_ascii_case(name) {
            return Some(0);
        }
        // Every character has at least one byte and at most four.
        let lengths = candidate.len() / 4..=candidate.len();
        let close = length <= lengths.end() + threshold && lengths.start() <= &(length + threshold);
        if !close || threshold == 0 || length > LONGEST {
            return None;
        }
        let distance = strsim::osa_distance(name, candidate).max(1);
        (distance <= threshold).then_some(distance)
    };
    candidates
        .filter(|candidate| *candidate != name)
        .filter_map(|candidate| Some((near(candidate)?, candidate)))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
        nearest(name, candidates.iter().copied())
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(suggest("lokc", &["unlock", "lock", "look"]), Some("lock"));
        assert_eq!(suggest("whlie", &["while", "white"]), Some("while"));
        assert_eq!(suggest("coutner", &["counter", "count"]), Some("counter"));
        assert_eq!(suggest("ab", &["ba"]), Some("ba"));
    }

    #[test]
    fn case_comes_first() {
        assert_eq!(suggest("lock", &["lick", "LOCK"]), Some("LOCK"));
        assert_eq!(suggest("x", &["y", "X"]), Some("X"));
    }

    #[test]
    fn far_names_are_not() {
        assert_eq!(suggest("x", &["y", "z"]), None);
        assert_eq!(suggest("alpha", &["omega", "al"]), None);
        assert_eq!(suggest("", &["a", ""]), None);
        assert_eq!(suggest("same", &["same"]), None);
    }

    #[test]
    fn order_does_not_matter() {
        assert_eq!(suggest("abcd", &["abce", "abcf"]), Some("abce"));
        assert_eq!(suggest("abcd", &["abcf", "abce"]), Some("abce"));
    }

    #[test]
    fn long_candidates_cost_little() {
        let long = "a".repeat(1_000_000);
        assert_eq!(suggest("counter", &[&long]), None);
        assert_eq!(suggest(&long, &["counter"]), None);
        let longer = format!("{long}a");
        assert_eq!(suggest(&long, &[&longer]), None);
        assert_eq!(
            suggest(&long, &[&long.to_uppercase()]),
            Some(&*"A".repeat(1_000_000))
        );
    }
}
