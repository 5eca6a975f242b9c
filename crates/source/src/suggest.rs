//! The nearest spelling of a name, for "did you mean" in error messages.
//!
//! Nearness is the number of insertions, deletions, substitutions and swaps of neighbouring
//! characters (optimal string alignment). Rows of the table are abandoned once they exceed
//! the threshold, so a program with a million names is no trouble.

/// The candidate nearest to `name`, if any is near enough to be worth showing.
///
/// A candidate that differs only in case wins. Otherwise about a third of the characters may
/// differ; ties go to the alphabetically first, so the answer does not depend on the order of
/// the candidates. `name` itself is never suggested.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.chars().collect();
    let threshold = match wanted.len() {
        0 | 1 => 0,
        2..=5 => 1,
        6..=8 => 2,
        // A long name with many differences is another name, not a misspelling.
        n => (n / 3).min(8),
    };
    let mut rows = [Vec::new(), Vec::new(), Vec::new()];
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        if candidate == name {
            continue;
        }
        let distance = if candidate.eq_ignore_ascii_case(name) {
            0
        } else {
            let limit = best.map_or(threshold, |(d, _)| d.min(threshold));
            match distance_within(&wanted, candidate, limit, &mut rows) {
                Some(distance) => distance.max(1),
                None => continue,
            }
        };
        if distance <= threshold.max(usize::from(distance == 0))
            && best.is_none_or(|found| (distance, candidate) < found)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The distance between the two, unless it is greater than `limit`.
fn distance_within(
    left: &[char],
    right: &str,
    limit: usize,
    rows: &mut [Vec<usize>; 3],
) -> Option<usize> {
    // Every character has at least one byte and at most four.
    if right.len() + limit < left.len() || left.len() + limit < right.len() / 4 {
        return None;
    }
    let width = left.len();
    let [before, above, row] = rows;
    above.clear();
    above.extend(0..=width);
    let mut previous = None;
    let mut count = 0;
    for c in right.chars() {
        count += 1;
        row.clear();
        row.push(count);
        let mut least = count;
        for j in 1..=width {
            let mut cost = (above[j - 1] + usize::from(left[j - 1] != c))
                .min(above[j] + 1)
                .min(row[j - 1] + 1);
            if j > 1 && count > 1 && left[j - 2] == c && Some(left[j - 1]) == previous {
                cost = cost.min(before[j - 2] + 1);
            }
            least = least.min(cost);
            row.push(cost);
        }
        // A swap reaches back two rows and adds one, so one row above the limit is not the end.
        if least > limit + 1 {
            return None;
        }
        previous = Some(c);
        std::mem::swap(before, above);
        std::mem::swap(above, row);
    }
    (above[width] <= limit).then_some(above[width])
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
    }
}
