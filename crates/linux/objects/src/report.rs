//! Results of a put or get.

use std::net::SocketAddr;

use serde::Serialize;

/// How the symbols went to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// By a multicast group: each symbol was sent once for all of its receivers.
    Group,
    /// By a group until it kept the other receivers waiting, then in a session of its own.
    GroupThenCopy,
    /// In a session of its own.
    Copy,
}

/// Result of one host.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostReport {
    /// Its address and port.
    pub host: SocketAddr,
    /// Whether it stored the object, or was a source to the end.
    pub ok: bool,
    /// How the object went to it; only of a put.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<Way>,
    /// Time from the start until it was done.
    pub seconds: Option<f64>,
    /// Why it was not done.
    pub error: Option<String>,
}

impl HostReport {
    fn line(&self) -> String {
        let seconds = self.seconds.map(|seconds| format!(" after {seconds:.3} s")).unwrap_or_default();
        let way = match self.way {
            Some(Way::Group) => ", by the group",
            Some(Way::GroupThenCopy) => ", by the group at first and then by a copy of its own",
            Some(Way::Copy) => ", by a copy of its own",
            None => "",
        };
        match &self.error {
            None => format!("{}: done{seconds}{way}", self.host),
            Some(error) => format!("{}: failed{seconds}: {error}", self.host),
        }
    }
}

/// Result of a put or get.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Name of the object.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 of its content.
    pub blake3: String,
    /// Time that it took.
    pub seconds: f64,
    /// Symbols that this host sent; one to a group counts once.
    pub symbols_sent: u64,
    /// Symbols that arrived here.
    pub symbols_received: u64,
    /// Symbols that switches trimmed on their way here.
    pub trimmed: u64,
    /// Every host, in the order of the call.
    pub hosts: Vec<HostReport>,
    /// Why the whole failed; of a get without content.
    pub error: Option<String>,
    /// Whether the hosts were to store the object, not to send it.
    #[serde(skip)]
    pub is_put: bool,
}

impl Report {
    /// The report as lines for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let Self { name, bytes, blake3, seconds, symbols_sent, symbols_received, trimmed, .. } = self;
        let rate = self.goodput().map(|rate| format!(" ({:.1} Mb/s)", rate * 1e-6)).unwrap_or_default();
        // A get that found nothing has no content.
        let hash = if blake3.is_empty() { String::new() } else { format!(", BLAKE3 {blake3}") };
        let mut lines = vec![
            format!("{name}: {bytes} B in {seconds:.3} s{rate}{hash}"),
            format!("symbols: {symbols_sent} sent, {symbols_received} received, {trimmed} trimmed"),
        ];
        lines.extend(self.error.iter().map(|error| format!("failed: {error}")));
        lines.extend(self.hosts.iter().map(HostReport::line));
        let copies = self.hosts.iter().filter(|host| host.way == Some(Way::Copy)).count();
        if copies > 1 {
            lines
                .push(format!("{copies} hosts got a copy each: no switch copied symbols for them (--group)"));
        }
        lines
    }

    /// Goodput of what was done, bit/s: until the last host had stored the object, or, of a get, until it was written here. `None` if
    /// nothing was. A host that failed does not count, nor does the time until it was given up.
    pub fn goodput(&self) -> Option<f64> {
        let done = self.hosts.iter().filter(|host| host.ok).filter_map(|host| host.seconds);
        let took =
            if self.is_put { done.reduce(f64::max) } else { self.error.is_none().then_some(self.seconds) };
        took.filter(|took| *took > 0.0).map(|took| self.bytes as f64 * 8.0 / took)
    }

    /// Whether everything was done at every host.
    pub fn ok(&self) -> bool {
        self.error.is_none() && self.hosts.iter().all(|host| host.ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(error: Option<&str>, seconds: f64, way: Option<Way>) -> HostReport {
        let host = SocketAddr::from(([10, 0, 0, 2], 4000));
        HostReport { host, ok: error.is_none(), way, seconds: Some(seconds), error: error.map(str::to_owned) }
    }

    fn report(is_put: bool, hosts: Vec<HostReport>, error: Option<&str>) -> Report {
        Report {
            is_put,
            name: "object".to_owned(),
            bytes: 1_000_000,
            blake3: "00".to_owned(),
            seconds: 6.0,
            symbols_sent: 0,
            symbols_received: 0,
            trimmed: 0,
            hosts,
            error: error.map(str::to_owned),
        }
    }

    #[test]
    fn goodput_is_of_what_was_done() {
        let copy = Some(Way::Copy);
        let put =
            report(true, vec![host(None, 2.0, copy), host(Some("it does not answer"), 6.0, None)], None);
        assert_eq!(put.goodput(), Some(4e6), "the host that is dead took 6 s");
        let failed = report(true, vec![host(Some("full"), 1.0, copy)], None);
        assert_eq!(failed.goodput(), None);
        assert!(!failed.lines()[0].contains("b/s"), "{:?}", failed.lines());
        let dead = report(true, vec![host(Some("it does not answer"), 5.0, None)], None);
        assert_eq!(dead.goodput(), None, "nothing was sent to it");
        let get = report(false, vec![host(None, 6.1, None), host(Some("it stopped"), 3.0, None)], None);
        assert_eq!(get.goodput(), Some(8e6 / 6.0));
        let none = report(false, vec![host(Some("no"), 1.0, None)], Some("no host has it"));
        assert_eq!(none.goodput(), None);
        let none = Report { bytes: 0, blake3: String::new(), ..none };
        assert!(!none.lines()[0].contains("BLAKE3"), "{:?}", none.lines());
    }
}
