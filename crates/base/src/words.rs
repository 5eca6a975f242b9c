//! Numbers as people read them.

use std::time::Duration;

/// `1 state`, `2,000 states`. Words that end in `y` become `ies`, and those that
/// end in `ch` or `ss` get `es`.
pub fn counted(number: u64, what: &str) -> String {
    let count = count(number);
    if number == 1 {
        return format!("{count} {what}");
    }
    match what.strip_suffix('y') {
        Some(stem) => format!("{count} {stem}ies"),
        None if what.ends_with("ch") || what.ends_with("ss") => format!("{count} {what}es"),
        None => format!("{count} {what}s"),
    }
}

/// A number with a comma between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `20 ms`, `1.23 s`, `12 min 3 s`.
pub fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.1 {
        format!("{} ms", (time.as_micros() + 500) / 1000)
    } else if seconds < 10.0 {
        format!("{seconds:.2} s")
    } else if seconds < 600.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(counted(1, "state"), "1 state");
        assert_eq!(counted(0, "state"), "0 states");
        assert_eq!(counted(1_234_567, "path edge"), "1,234,567 path edges");
        assert_eq!(counted(2, "summary"), "2 summaries");
        assert_eq!(counted(1, "switch"), "1 switch");
        assert_eq!(counted(3, "switch"), "3 switches");
        assert_eq!(seconds(Duration::from_micros(2600)), "3 ms");
        assert_eq!(seconds(Duration::from_millis(1234)), "1.23 s");
        assert_eq!(seconds(Duration::from_millis(12345)), "12.3 s");
        assert_eq!(seconds(Duration::from_secs(3671)), "61 min 11 s");
    }
}
