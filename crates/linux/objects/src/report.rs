//! Results of a put or get.

use std::net::SocketAddr;

use serde::Serialize;

/// How the symbols went to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// By a multicast group: each symbol was sent once for all of its receivers.
    Group,
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
}

impl Report {
    /// The report as lines for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let Self { name, bytes, blake3, seconds, symbols_sent, symbols_received, trimmed, .. } = self;
        let rate = if *seconds > 0.0 { *bytes as f64 * 8e-6 / seconds } else { 0.0 };
        let mut lines = vec![
            format!("{name}: {bytes} B in {seconds:.3} s ({rate:.1} Mb/s), BLAKE3 {blake3}"),
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

    /// Whether everything was done at every host.
    pub fn ok(&self) -> bool {
        self.error.is_none() && self.hosts.iter().all(|host| host.ok)
    }
}
