//! Memory of processes.

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

/// When memory is looked at.
const LOOKS: [f64; 2] = [0.1, 0.5];

/// What was seen of memory during a soak. Bytes.
#[derive(Default, Debug)]
pub(crate) struct Looks(Vec<u64>);

impl Looks {
    /// So much is done: looks if it is time.
    pub fn look(&mut self, done: f64, resident: impl FnOnce() -> u64) {
        if LOOKS.get(self.0.len()).is_some_and(|look| *look <= done) {
            self.0.push(resident());
        }
    }

    /// At 10%, at 50% and in the end.
    pub fn end(&self, resident: u64) -> [u64; 3] {
        let at = |look: usize| self.0.get(look).copied().unwrap_or(resident);
        [at(0), at(1), resident]
    }
}
