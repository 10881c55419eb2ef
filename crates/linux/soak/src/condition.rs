//! Fault conditions of a soak in virtual time.

/// The fault that is injected during a soak in virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// No faults except contention between many senders.
    Fine,
    /// Frames are lost; for the rates of this and the following conditions see [`Condition::words`].
    Loss,
    /// Frames are delivered twice.
    Duplication,
    /// Frames overtake each other.
    Reordering,
    /// Frames are changed in transit.
    Corruption,
    /// First windows arrive as headers only.
    Trimming,
    /// Switches restart.
    Restart,
    /// A path is down.
    Path,
    /// Hosts crash.
    Peer,
    /// Applications crash.
    Application,
}

impl Condition {
    /// Every condition.
    pub const ALL: [Self; 10] = [
        Self::Fine,
        Self::Loss,
        Self::Duplication,
        Self::Reordering,
        Self::Corruption,
        Self::Trimming,
        Self::Restart,
        Self::Path,
        Self::Peer,
        Self::Application,
    ];

    /// Name on the command line, and description of the fault.
    #[must_use]
    pub const fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Fine => ("fine", "nothing goes wrong, but for what many senders do to each other"),
            Self::Loss => ("loss", "one frame of a hundred is lost"),
            Self::Duplication => ("duplication", "one frame of a hundred arrives twice"),
            Self::Reordering => {
                ("reordering", "the eight paths between two hosts have eight delays, 1 to 450 us")
            }
            Self::Corruption => ("corruption", "one frame of a thousand has a bit turned, anywhere in it"),
            Self::Trimming => {
                ("trimming", "every data packet of a first window is trimmed when it is first sent")
            }
            Self::Restart => ("restart", "all switches are started anew, ten times, and are away for 5 ms"),
            Self::Path => ("path", "one of the eight paths is down for the middle half"),
            Self::Peer => ("peer", "a host dies without a word, twenty times, and is back anew after 20 ms"),
            Self::Application => (
                "application",
                "the streams of a host are dropped, twenty times; it listens again after 2 ms",
            ),
        }
    }

    /// Whether every packet arrives, whole or trimmed, before its timer expires.
    pub(crate) const fn is_timely(self) -> bool {
        matches!(self, Self::Fine | Self::Duplication | Self::Trimming | Self::Application)
    }
}
