//! Memory use of processes.

/// Resident memory of this process in bytes; 0 where the system does not report it.
pub(crate) fn resident() -> u64 {
    resident_of("self")
}

/// Resident memory of a process in bytes; 0 where the system does not report it.
pub(crate) fn resident_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0) * 1024
}

/// Progress at which memory is sampled.
const LOOKS: [f64; 2] = [0.1, 0.5];

/// Memory samples of a soak. Bytes.
#[derive(Default, Debug)]
pub(crate) struct Looks(Vec<u64>);

impl Looks {
    /// Takes a sample if `done` has reached the next point.
    pub fn look(&mut self, done: f64, resident: impl FnOnce() -> u64) {
        if LOOKS.get(self.0.len()).is_some_and(|look| *look <= done) {
            self.0.push(resident());
        }
    }

    /// The samples at 10%, at 50% and at the end. The first two are missing from a soak that was too short for them.
    pub fn end(&self, resident: u64) -> [Option<u64>; 3] {
        let at = |look: usize| self.0.get(look).copied();
        [at(0), at(1), Some(resident)]
    }
}
