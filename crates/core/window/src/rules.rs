use pullnet_settings::choice;
use pullnet_units::Picos;

use crate::round_trip::TimerRules;

choice! {
    /// How a host spreads the packets of a connection over the paths to its peer.
    pub enum Paths {
        /// One random path for the whole connection: what ECMP by flow hash gives it.
        Single = "single",
        /// An independent random path for each packet (packet scatter).
        Scatter = "scatter",
    }
}

choice! {
    /// What the congestion window counts when it grows.
    pub enum Counting {
        /// One step for each ACK (RFC 5681, equations 2 and 3).
        Acks = "acks",
        /// One step for each acknowledged packet (RFC 3465 without its limit; as Linux).
        Packets = "packets",
    }
}

/// Settings of a window-based transport in the form in which connections use them. Congestion control has its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Rules {
    /// Payload of a full packet, bytes.
    pub mtu: u32,
    /// Bytes on the wire beside the payload.
    pub header: u32,
    /// Bytes on the wire of SYN, SYN-ACK, and an ACK without ranges.
    pub ack: u32,
    /// Packets that may leave before the first ACK.
    pub initial_window: u32,
    /// Whether data waits for a SYN exchange.
    pub handshake: bool,
    /// Longest time that an ACK may wait for a second packet; `None` if ACKs never wait.
    pub ack_delay: Option<Picos>,
    /// Whether ACKs carry ranges, and recovery uses them.
    pub sack: bool,
    /// Duplicate ACKs that indicate a loss.
    pub threshold: u32,
    /// Whether the number of paths is added to that threshold if packets are sprayed.
    pub raise_threshold: bool,
    /// Whether the first duplicate ACKs let new packets leave (RFC 3042).
    pub limited_transmit: bool,
    /// Whether a packet without payload is answered by a NACK, which has it retransmitted at once.
    pub nack: bool,
    /// Path of each packet.
    pub paths: Paths,
    /// Bounds of the retransmission timer.
    pub timer: TimerRules,
    /// Timeouts in a row after which a flow fails.
    pub retries: u32,
    /// Packets beyond the oldest missing one that a receiver accepts.
    pub receive_window: u32,
    /// Longest time for which a packet and its answer can be in flight together.
    pub time_wait: Picos,
    /// Whether data packets are ECN-capable and the receiver echoes marks.
    pub ecn: bool,
    /// Whether SYN and SYN-ACK are ECN-capable too.
    pub ecn_handshake: bool,
}

impl Rules {
    /// Longest time for which a sender retransmits to a silent receiver.
    pub fn patience(&self) -> Picos {
        let timer = self.timer;
        timer.ceiling.max(timer.floor).saturating_mul(u64::from(self.retries) + 1)
    }

    /// Duplicate ACKs that indicate a loss on `paths` paths.
    pub(crate) fn threshold(&self, paths: u16) -> u32 {
        let raised = self.raise_threshold && self.paths == Paths::Scatter;
        self.threshold + if raised { u32::from(paths) } else { 0 }
    }

    /// Bytes on the wire of an ACK with `ranges` SACK ranges: the option takes two bytes, eight for each range, and two of
    /// padding (RFC 2018, section 3).
    pub(crate) fn ack_wire(&self, ranges: usize) -> u16 {
        let option = if ranges == 0 { 0 } else { 4 + 8 * ranges as u32 };
        self.ack.max(self.header + option) as u16
    }
}

/// A settings table of a window-based transport: what all of them have, and after it the rows of its own.
///
/// It also gets a method `rules`, which returns the common part as [`Rules`](crate::Rules) without ECN.
#[macro_export]
macro_rules! window_settings {
    ($(#[$doc:meta])* pub struct $name:ident { $($own:tt)* }) => {
        pullnet_settings::settings! {
            $(#[$doc])*
            pub struct $name {
                /// Payload of a full packet: the maximum segment size. Bytes. Source: NDP section 6, 9000 B for all transports.
                mtu: pullnet_units::Bytes = "9000 B" in "1 B" => "60000 B",
                /// Bytes on the wire of a data packet beside its payload: Ethernet 14 and 4, IPv4 20, TCP 20 without options.
                header: pullnet_units::Bytes = "58 B" in "1 B" => "128 B",
                /// Bytes on the wire of a SYN, a SYN-ACK, and an ACK without SACK ranges; not less than `header`. Ranges
                /// add an option of 4 bytes and 8 for each range to the header. Source: least Ethernet frame, 64 B.
                ack: pullnet_units::Bytes = "64 B" in "1 B" => "128 B",
                /// Packets that may leave before the first ACK; not more than `receive_window` do. Source: RFC 6928, at most
                /// 10 packets; Linux lets a route state more (initcwnd).
                initial_window: pullnet_units::Packets = "10 packets" in "1 packets" => "1048576 packets",
                /// Whether data waits for a SYN exchange. Source: RFC 9293, section 3.5; off saves one round trip.
                handshake: bool = true,
                /// Whether a receiver acknowledges every second packet only. Source: RFC 5681, section 4.2.
                delayed_ack: bool = true,
                /// Longest time that an ACK waits for a second packet. Source: Linux, 40 ms; RFC 5681: at most 500 ms.
                ack_delay: pullnet_units::Picos = "40 ms" in "1 us" => "500 ms" unused if delayed_ack == false,
                /// Whether ACKs carry up to four SACK ranges and recovery uses them. Source: RFC 2018 and RFC 6675.
                sack: bool = true,
                /// Duplicate ACKs that indicate a loss. Source: RFC 5681, section 3.2, 3.
                duplicate_threshold: u32 = 3 in 1 => 1000,
                /// Whether the number of paths is added to `duplicate_threshold` where packets are scattered. Source:
                /// public NDP code.
                raise_threshold: bool = true unused if paths == "single",
                /// Whether each of the first two duplicate ACKs lets a new packet leave. Source: RFC 3042.
                limited_transmit: bool = true,
                /// Whether a receiver answers a packet that a switch has trimmed with a NACK, so that it is retransmitted
                /// without a timeout; otherwise it counts as lost. Source: Cut Payload (Cheng et al., NSDI 2014).
                nack: bool = false,
                /// What the congestion window counts when it grows. Source: RFC 5681, section 3.1, ACKs.
                counting: $crate::Counting = "acks",
                /// Slow-start threshold of a new connection; infinite unless stated. Source: RFC 5681, section 3.1.
                initial_threshold: Option<pullnet_units::Packets> = "" in "2 packets" => "1000000 packets",
                /// How the packets of a connection are spread over the paths.
                paths: $crate::Paths = "single",
                /// Least retransmission timeout. Source: Linux, 200 ms; simulators of data centres use 1 ms or 10 ms; RFC
                /// 6298: 1 s.
                min_rto: pullnet_units::Picos = "200 ms" in "1 us" => "100 s",
                /// Retransmission timeout before the first sample; three times as long for data after a lost SYN. Source:
                /// RFC 6298, rules 2.1 and 5.7, 1 s.
                initial_rto: pullnet_units::Picos = "1 s" in "1 us" => "100 s",
                /// Largest retransmission timeout, doublings included; not less than `min_rto`. Source: RFC 6298, rule
                /// 2.5: at least 60 s.
                max_rto: pullnet_units::Picos = "60 s" in "1 us" => "1000 s",
                /// Granularity of the clock that measures round trips: least variance term of the timeout. Source: RFC
                /// 6298, section 2, G; 1 ms.
                rto_granularity: pullnet_units::Picos = "1 ms" in "1 ps" => "1 s",
                /// Interval at which all retransmission timers are looked at: one that has run out takes effect at the next
                /// multiple of it. At 0 each takes effect at its exact time. Source: public NDP code, 10 ms, and 1 ms in
                /// its incasts.
                rto_scan: pullnet_units::Picos = "0 ps" in "0 ps" => "10 s",
                /// Timeouts in a row after which a flow fails. Source: Linux, tcp_retries2, 15.
                retries: u32 = 15 in 1 => 100,
                /// Packets beyond the oldest missing one that a receiver takes, and so the largest window of a sender.
                receive_window: pullnet_units::Packets = "4096 packets" in "1 packets" => "1048576 packets",
                /// Longest time that a packet can be on its way and back. An ended connection is remembered that much
                /// longer than its sender may retransmit.
                time_wait: pullnet_units::Picos = "50 ms" in "1 us" => "100 s",
                $($own)*
            }
        }

        impl $name {
            /// The settings that all window-based transports have, without ECN.
            pub fn rules(&self) -> $crate::Rules {
                $crate::Rules {
                    mtu: self.mtu.0 as u32,
                    header: self.header.0 as u32,
                    ack: self.ack.0 as u32,
                    initial_window: self.initial_window.0,
                    handshake: self.handshake,
                    ack_delay: self.delayed_ack.then_some(self.ack_delay),
                    sack: self.sack,
                    threshold: self.duplicate_threshold,
                    raise_threshold: self.raise_threshold,
                    limited_transmit: self.limited_transmit,
                    nack: self.nack,
                    paths: self.paths,
                    timer: $crate::TimerRules {
                        floor: self.min_rto,
                        initial: self.initial_rto,
                        ceiling: self.max_rto,
                        granularity: self.rto_granularity,
                        scan: self.rto_scan,
                    },
                    retries: self.retries,
                    receive_window: self.receive_window.0,
                    time_wait: self.time_wait,
                    ecn: false,
                    ecn_handshake: false,
                }
            }

            /// How the congestion window grows.
            pub fn growth(&self) -> $crate::Growth {
                $crate::Growth {
                    per_packet: self.counting == $crate::Counting::Packets,
                    initial_threshold: self.initial_threshold.map_or(f64::INFINITY, |packets| packets.0.into()),
                    largest: self.receive_window.0.into(),
                }
            }
        }
    };
}
