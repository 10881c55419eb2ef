//! What goes wrong.

/// What goes wrong during a soak in virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Nothing beside what many senders do to each other.
    Fine,
    /// See [`Condition::words`], as of all that follow.
    Loss,
    /// Frames arrive twice.
    Duplication,
    /// Frames overtake each other.
    Reordering,
    /// Frames are changed on their way.
    Corruption,
    /// First windows arrive as headers.
    Trimming,
    /// Switches are started anew.
    Restart,
    /// A path is down.
    Path,
    /// Hosts die.
    Peer,
    /// Applications die.
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

    const fn described(self) -> (&'static str, &'static str) {
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

    /// Whether all that is sent arrives, whole or trimmed, before a timer runs out.
    pub(crate) const fn is_timely(self) -> bool {
        matches!(self, Self::Fine | Self::Duplication | Self::Trimming | Self::Application)
    }

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.described().0
    }

    /// What happens.
    #[must_use]
    pub const fn words(self) -> &'static str {
        self.described().1
    }
}
