//! How much memory this process uses, and how much there is.

/// Resident memory of this process in bytes, where the system tells (Linux, macOS, Windows).
pub fn resident_bytes() -> Option<u64> {
    memory_stats::memory_stats().map(|stats| stats.physical_mem as u64)
}

/// Memory that could be used without pushing others out, where the system tells (Linux): what
/// the kernel calls available, and what the control group of the process has left.
pub fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let machine = available_in(&text)?;
    Some(group_left().map_or(machine, |group| machine.min(group)))
}

/// The line `MemAvailable:    12345 kB`.
fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// What is left in the control group (version 2) of this process.
fn group_left() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let read = |file: &str| -> Option<u64> {
        let path = format!("/sys/fs/cgroup{}/{file}", path.trim_end_matches('/'));
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    // `max`, for no limit, is not a number.
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:    1000 kB\nCached: 1 kB\n";
        assert_eq!(available_in(text), Some(1_024_000));
        assert_eq!(available_in("MemAvailable: much\n"), None);
        assert_eq!(available_in(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_measured() {
        let before = resident_bytes().expect("Linux tells");
        let block = vec![1u8; 50_000_000];
        let after = resident_bytes().expect("Linux tells");
        assert!(
            after >= before + 40_000_000,
            "{before} {after} {}",
            block.len()
        );
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
    }
}
