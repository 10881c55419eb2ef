//! Memory of this process.

/// Bytes that the process has in memory; 0 where the system does not say.
pub(crate) fn resident() -> u64 {
    resident_of("self")
}

/// Bytes that a process has in memory; 0 where the system does not say.
pub(crate) fn resident_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0) * 1024
}
