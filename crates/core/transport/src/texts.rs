//! Reasons of failures, timers and awaited events: enums whose values are printed as fixed text.

use core::fmt;

/// Text of one protocol, in an enum whose other values are common to all.
///
/// A thin reference: an enum that may hold one is no larger than a `&str`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolText(&'static &'static str);

impl ProtocolText {
    /// The text itself.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Debug for ProtocolText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

macro_rules! texts {
    ($(#[$doc:meta])* $name:ident, $protocol:literal: $($(#[$row:meta])* $variant:ident = $text:literal,)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$row])* #[doc = concat!("Printed as \"", $text, "\".")] $variant,)+
            #[doc = $protocol]
            Protocol(ProtocolText),
        }

        impl $name {
            #[doc = concat!($protocol, " A call with a literal: `of_protocol(&\"text\")`.")]
            pub const fn of_protocol(text: &'static &'static str) -> Self {
                Self::Protocol(ProtocolText(text))
            }

            /// The values that all protocols share, in the order of their declaration.
            pub const COMMON: &'static [Self] = &[$(Self::$variant),+];

            /// The text of reports and tables.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Protocol(text) => text.as_str(),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

texts! {
    /// Reason why a sender gives up a flow.
    FailureReason, "A reason that only one protocol has.":
    /// The flow was rejected when it was opened.
    EmptyFlow = "a flow of zero bytes has nothing to send",
    /// The flow was rejected when it was opened.
    TooManyPackets = "a flow has at most 2^32 - 2 packets: use a larger mtu or several flows",
    /// The flow was rejected when it was opened.
    NumberInUse = "the connection number is still in use or in time-wait",
    /// A stream was offered more packets than there are numbers.
    NumbersUsedUp = "the packet numbers are used up",
    /// Nothing was heard of the receiver for as long as the transport is patient.
    ReceiverSilent = "the receiver is silent",
    /// Every retransmission was followed by a timeout, as often as the transport allows.
    TimeoutsInARow = "the receiver is silent: too many timeouts in a row",
    /// A packet was sent again and again without any answer, while the receiver answers others.
    PacketUnanswered = "a packet is never answered although others are: it may be longer than the MTU of a link",
    /// The connection could not be opened.
    SynUnanswered = "the receiver does not answer the SYN",
    /// Found by the driver: no tree of paths could be set up for the flow.
    NoGroupAddress = "no address is left for its group",
    /// Found by the driver: links or switches have failed.
    NoWorkingPath = "no working path leads to this receiver of the group",
    /// The receiver has forgotten what had arrived, because it heard nothing of the flow for long.
    Forgotten = "the receiver has forgotten the flow, which was silent for too long: use a larger give_up",
}

impl FailureReason {
    /// Number of a common reason, from 1, for messages between processes of one version; 0 for a protocol's own.
    pub fn code(self) -> u32 {
        Self::COMMON.iter().position(|common| *common == self).map_or(0, |place| place as u32 + 1)
    }

    /// The common reason with the number `code`.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::COMMON.get(code.checked_sub(1)? as usize).copied()
    }
}

texts! {
    /// Timer whose expiry is a transport's next deadline.
    TimerKind, "A timer that only one protocol has.":
    /// No timer runs.
    Nothing = "nothing",
    /// A packet is retransmitted.
    Retransmission = "retransmission",
    /// The sender sends its next packet, or retransmits one.
    PaceOrRetransmission = "pace or retransmission",
    /// The next packet may leave.
    Pacing = "pacing",
    /// The next pull may leave.
    PullPacer = "pull pacer",
    /// A receiver gives up a sender.
    SilentSender = "a silent sender",
    /// A receiver sends a delayed ACK, or gives up a sender.
    DelayedAckOrSilentSender = "delayed ACK or silent sender",
    /// The number of an ended flow can be used again.
    TimeWait = "time-wait",
    /// The number of a flow sent from this host can be used again.
    SenderTimeWait = "sender's time-wait",
    /// The number of a flow received by this host can be used again.
    ReceiverTimeWait = "receiver's time-wait",
}

texts! {
    /// Event that an open flow waits for.
    Awaited, "An event that only one protocol has.":
    /// The sender waits for the link of its host.
    LinkTurn = "its turn on the link",
    /// The receiver waits for the sender.
    Data = "data",
    /// The sender waits for the application.
    ApplicationData = "data from the application",
    /// All packets that may be sent are in flight.
    Acks = "ACKs",
    /// As [`Self::Acks`], after a retransmission timer expired.
    AcksAfterTimeout = "ACKs after a timeout",
    /// The connection is being opened.
    SynAck = "the SYN-ACK",
    /// The sender is paced.
    Rate = "its rate",
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const QUENCHED: FailureReason = FailureReason::of_protocol(&"quenched");

    #[test]
    fn values_are_printed_as_their_text() {
        assert_eq!(FailureReason::ReceiverSilent.to_string(), "the receiver is silent");
        assert_eq!(QUENCHED.to_string(), "quenched");
        assert_eq!(alloc::format!("{:>6}", Awaited::Data), "  data");
        assert_eq!(TimerKind::of_protocol(&"the token clock").as_str(), "the token clock");
    }

    #[test]
    fn a_protocols_text_is_compared_as_text() {
        assert_eq!(QUENCHED, FailureReason::of_protocol(&"quenched"));
        assert_ne!(QUENCHED, FailureReason::of_protocol(&"terminated"));
        assert_ne!(Awaited::of_protocol(&"ACKs"), Awaited::Acks);
    }

    #[test]
    fn codes_stand_for_common_reasons() {
        for (reason, code) in FailureReason::COMMON.iter().zip(1..) {
            assert_eq!((reason.code(), FailureReason::from_code(code)), (code, Some(*reason)));
        }
        assert_eq!((QUENCHED.code(), FailureReason::from_code(0)), (0, None));
    }

    #[test]
    fn a_text_takes_no_more_than_a_str() {
        assert_eq!(size_of::<FailureReason>(), size_of::<&str>());
        assert_eq!(size_of::<TimerKind>(), size_of::<&str>());
        assert_eq!(size_of::<Awaited>(), size_of::<&str>());
    }
}
