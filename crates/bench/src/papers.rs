//! The papers' own figures, from `bench/papers/`.
//!
//! Each file begins with a line that names its source, then one line with the names of the columns.

/// A table of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Table(&'static str);

/// VERA and MOPED on SLAM's regression tests.
pub const VERA_DRIVERS: Table = Table(include_str!("../../../bench/papers/vera-fig5.tsv"));
/// VERA and MOPED on the buggy quicksort.
pub const VERA_QUICKSORT: Table = Table(include_str!("../../../bench/papers/vera-fig6.tsv"));
/// VERA on the abstraction of the RIO driver.
pub const VERA_RIO: Table = Table(include_str!("../../../bench/papers/vera-rio.tsv"));
/// The resource-constrained model checker on `flip`.
pub const RESOURCE_FLIP: Table = Table(include_str!("../../../bench/papers/resource-fig5.tsv"));
/// GETAFIX, MOPED and BEBOP on sequential programs.
pub const GETAFIX_SEQUENTIAL: Table = Table(include_str!("../../../bench/papers/getafix-fig2.tsv"));
/// GETAFIX on the Bluetooth driver.
pub const GETAFIX_BLUETOOTH: Table = Table(include_str!("../../../bench/papers/getafix-fig3.tsv"));

impl Table {
    /// The columns called `wanted` of the row that has these values in these columns, as
    /// `name value`.
    pub fn find(self, keys: &[(&str, &str)], wanted: &[&str]) -> Option<String> {
        let mut lines = self.0.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<&str> = lines.next()?.split('\t').collect();
        let column = |name: &str| names.iter().position(|n| *n == name);
        let matches = |row: &[&str]| {
            keys.iter().all(|(name, value)| {
                column(name)
                    .and_then(|i| row.get(i))
                    .is_some_and(|field| field == value)
            })
        };
        let row = lines
            .map(|line| line.split('\t').collect::<Vec<_>>())
            .find(|row| matches(row))?;
        let fields = wanted.iter().map(|name| {
            let field = column(name)
                .and_then(|i| row.get(i))
                .copied()
                .unwrap_or("?");
            let field = if field == "-" { "gave up" } else { field };
            format!("{name} {field}")
        });
        Some(fields.collect::<Vec<_>>().join(", "))
    }
}

/// What [`RESOURCE_FLIP`] has for `g` and a depth.
pub fn resource_flip(g: &str, depth: u32) -> String {
    let keys = [("g_initially", g), ("n", &depth.to_string())];
    let found = RESOURCE_FLIP.find(&keys, &["cpu_s", "total_mb"]);
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found() {
        let found = VERA_QUICKSORT.find(&[("bits", "10")], &["vera_s", "moped_s"]);
        assert_eq!(found.as_deref(), Some("vera_s 0.10, moped_s gave up"));
        assert_eq!(VERA_QUICKSORT.find(&[("bits", "11")], &["vera_s"]), None);
        assert_eq!(resource_flip("false", 1024), "cpu_s 0.5, total_mb 10");
        assert!(
            VERA_DRIVERS
                .find(&[("example", "p-srdriver")], &["vera_s"])
                .is_some()
        );
        assert!(VERA_RIO.find(&[("bits", "2")], &["vera_s"]).is_some());
    }
}
