//! Processor time of processes.

use serde::{Deserialize, Serialize};

/// Ticks per second in `/proc/PID/stat`: USER_HZ, which is 100 on x86-64 and arm64.
const TICKS: f64 = 100.0;

/// Processor time at one side, user and system together. Seconds.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Cpu {
    /// Of the process that runs the benchmark.
    pub application_s: f64,
    /// Of the daemon; `None` if the process cannot see it.
    pub daemon_s: Option<f64>,
}

impl Cpu {
    /// Processor time used so far by this process, and by process `daemon`.
    pub(super) fn now(daemon: Option<u32>) -> Self {
        let own = std::fs::read_to_string("/proc/self/stat").ok();
        let other = daemon.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        let seconds = |text: Option<String>| text.and_then(|text| seconds(&text));
        Self { application_s: seconds(own).unwrap_or(0.0), daemon_s: seconds(other) }
    }

    /// Time used since `before`.
    pub(super) fn since(self, before: Self) -> Self {
        let daemon_s = self.daemon_s.zip(before.daemon_s).map(|(now, then)| (now - then).max(0.0));
        Self { application_s: (self.application_s - before.application_s).max(0.0), daemon_s }
    }
}

/// User and system time in a line of `/proc/PID/stat`. The second field is the name of the program in parentheses, which may
/// hold spaces and parentheses.
fn seconds(line: &str) -> Option<f64> {
    let (_, fields) = line.rsplit_once(')')?;
    // Fields 14 and 15 of proc(5); the first behind the name is 3.
    let mut fields = fields.split_whitespace().skip(14 - 3);
    let [user, system]: [f64; 2] = [fields.next()?.parse().ok()?, fields.next()?.parse().ok()?];
    Some((user + system) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_any_name() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 5 0 0";
        assert_eq!(seconds(line), Some(3.0));
        assert_eq!(seconds("7 (a"), None);
        // This thread uses the processor until the kernel has counted some of it.
        let before = Cpu::now(Some(std::process::id()));
        let used = || Cpu::now(Some(std::process::id())).since(before);
        while used().application_s == 0.0 {}
        assert!(used().daemon_s > Some(0.0), "{:?}", used());
        assert_eq!(Cpu::now(None).daemon_s, None);
    }
}
