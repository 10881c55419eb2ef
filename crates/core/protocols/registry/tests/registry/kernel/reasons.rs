//! Why windows differ from those of Linux.

use std::fmt;

use super::script::{Round, Script};

/// A rule in which Linux differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    Gradual,
    WholePackets,
    Observation,
    Timer,
    RetransmissionLost,
    Rack,
    TailProbe,
    Outstanding,
    MarkAndLoss,
}

pub const ALL: [Reason; 9] = [
    Reason::Gradual,
    Reason::WholePackets,
    Reason::Observation,
    Reason::Timer,
    Reason::RetransmissionLost,
    Reason::Rack,
    Reason::TailProbe,
    Reason::Outstanding,
    Reason::MarkAndLoss,
];

impl Reason {
    pub fn letter(self) -> char {
        (b'A' + self as u8) as char
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::Gradual => {
                "**Gradual reduction.** Linux lets a packet leave for every second one that arrives while it reduces its window \
                 (RFC 6937), so that the window comes down to the threshold within a round trip. Here it is there at once (RFC \
                 6675, RFC 8257). Shown by: the round trip ends in Linux's state CWR or Recovery, with the same threshold."
            }
            Self::WholePackets => {
                "**Whole packets.** Windows and thresholds of Linux are whole numbers, and a window grows when as many packets as \
                 it holds are acknowledged. Here they are fractions, which grow by 1 / window: a window of w takes a little more \
                 than w packets to grow by one. Shown by: with Linux's arithmetic (`arithmetic.rs`) the window is equal."
            }
            Self::Observation => {
                "**Observations of DCTCP.** Linux ends an observation with the ACK of its last packet, so that the very first ACK \
                 already ends one; RFC 8257 (3.3, step 4) with the ACK after it. Alpha is one step ahead there, in 1024ths, and \
                 the window does not grow before the reduction is acknowledged. Shown by: with these rules and whole packets \
                 the windows are equal, and alpha differs by less than 1/16, the weight of one observation: an observation is as long as the packets \
                 that had left at its beginning, and more leave during a gradual reduction."
            }
            Self::Timer => {
                "**Timer in recovery.** Linux restarts the retransmission timer with every retransmission of the first packet, \
                 and with every partial ACK. Here it restarts with ACKs that advance, without SACK with the first of them only \
                 (RFC 6298, 5.3; RFC 6582, step 4, \"impatient\"), so that it ends a recovery of more than two round trips. RFC \
                 6582 (4) and RFC 6675 (6) allow either."
            }
            Self::RetransmissionLost => {
                "**A lost retransmission.** Here its timeout halves the threshold a second time (RFC 5681, 4.3). Linux keeps the \
                 threshold of the recovery."
            }
            Self::Rack => {
                "**RACK** (RFC 8985). Linux notices a lost retransmission by the time of later packets and repeats it without a \
                 timeout. It is not implemented here: RFC 6675 waits for the timer. `net.ipv4.tcp_recovery = 0` switches it off \
                 in 6.1; 6.18 ignores the setting."
            }
            Self::TailProbe => {
                "**Tail loss probe** (RFC 8985, 7). Linux repeats the last packet after two round trips; here the timer repairs a \
                 tail. `net.ipv4.tcp_early_retrans = 0` switches it off."
            }
            Self::Outstanding => {
                "**Half of what?** At a timeout the threshold becomes half of the outstanding packets here (RFC 5681, equation \
                 4), half of the window in Linux: at a tail that is far more."
            }
            Self::MarkAndLoss => {
                "**A loss in a window that a mark has reduced.** Both reduce again (RFC 8257, 3.5): Linux to half of the window, \
                 which has come down only a part of its way then; here to half of the outstanding packets."
            }
        }
    }
}

/// A round trip of a subflow of a script.
pub struct RoundTrip<'a> {
    pub kernel: &'a str,
    pub script: &'a Script,
    pub subflow: usize,
    pub round: usize,
}

impl fmt::Display for RoundTrip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, script, subflow, round } = self;
        write!(f, "Linux {kernel}, {}, subflow {subflow}, round trip {round}", script.name)
    }
}

/// Round trips that differ for a reason that no calculation shows: from `from` on, up to the next one that is listed for the
/// script, on kernels whose release begins with `kernel`.
#[derive(Debug)]
pub struct Listed {
    kernel: &'static str,
    script: &'static str,
    from: usize,
    reason: Reason,
}

impl Listed {
    pub fn covers(&self, place: &RoundTrip<'_>) -> bool {
        let Self { kernel, script, from, .. } = *self;
        place.kernel.starts_with(kernel) && place.script.name == script && place.round >= from
    }
}

const fn listed(kernel: &'static str, script: &'static str, from: usize, reason: Reason) -> Listed {
    Listed { kernel, script, from, reason }
}

/// The later round trips of a script come first.
pub const LISTED: [Listed; 13] = [
    listed("", "burst-newreno", 6, Reason::Timer),
    listed("", "scattered-newreno", 6, Reason::Timer),
    listed("6.1.", "retransmission-lost", 7, Reason::RetransmissionLost),
    listed("6.1.", "retransmission-lost", 5, Reason::Timer),
    listed("6.18.", "retransmission-lost", 5, Reason::Rack),
    listed("", "retransmission-lost-newreno", 7, Reason::RetransmissionLost),
    listed("", "retransmission-lost-newreno", 5, Reason::Timer),
    listed("", "retransmission-lost-rack", 5, Reason::Rack),
    listed("", "tail", 3, Reason::Outstanding),
    listed("", "tail-newreno", 3, Reason::Outstanding),
    listed("", "tail-probe", 3, Reason::TailProbe),
    listed("", "mark-and-loss", 2, Reason::MarkAndLoss),
    listed("", "rare-marks", 11, Reason::Observation),
];

/// Bound of the difference of alpha where windows are equal. An observation lasts until what had left at its beginning is
/// acknowledged, and during a gradual reduction more packets leave: less than the weight of one observation.
const ALPHA_SPREAD: f64 = 1.0 / 16.0;

/// Whether two worlds have the same window, threshold and alpha, as whole packets and hundredths.
pub fn agree(one: &Round, other: &Round) -> bool {
    let alpha = |round: &Round| round.alpha.map(|alpha| (alpha * 100.0).round());
    let window = one.window.floor() == other.window.floor();
    window && one.threshold.floor() == other.threshold.floor() && alpha(one) == alpha(other)
}

/// The reason of a difference: what is listed, or what a calculation shows.
pub fn reason(place: &RoundTrip<'_>, [theirs, ours, whole]: [&Round; 3]) -> Option<Reason> {
    if let Some(entry) = LISTED.iter().find(|entry| entry.covers(place)) {
        return Some(entry.reason);
    }
    let alpha = |round: &Round| round.alpha.unwrap_or_default();
    let same_alpha = (alpha(theirs) - alpha(whole)).abs() < ALPHA_SPREAD;
    let gradual = theirs.reducing && theirs.window > theirs.threshold;
    if theirs.window == whole.window && theirs.threshold == whole.threshold && same_alpha {
        Some(if theirs.alpha.is_some() { Reason::Observation } else { Reason::WholePackets })
    } else if gradual && [ours, whole].iter().any(|round| theirs.threshold == round.threshold.floor()) {
        Some(Reason::Gradual)
    } else {
        None
    }
}
