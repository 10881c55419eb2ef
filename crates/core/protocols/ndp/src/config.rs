use core::mem::offset_of;

use pullnet_pull::{Spacing, Spread};
use pullnet_settings::{choice, settings};
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos, WireLen};

choice! {
    /// In which order the packets of a host's connections take its link.
    pub enum Nic {
        /// Connections take turns.
        RoundRobin = "turns",
        /// First allowed to leave, first sent: one queue for the whole host (public NDP code).
        Fifo = "fifo",
    }
}

choice! {
    /// How long an NDP sender waits for an answer before it sends a packet again.
    pub enum Timer {
        /// `timeout` beyond the round trips to the same receiver of late.
        Learned = "learned",
        /// `timeout`, whatever the network is like (NDP, section 3.2.4).
        Fixed = "fixed",
    }
}

settings! {
    /// Settings of NDP hosts.
    pub struct NdpConfig {
        /// Payload of a full packet. Bytes. Source: NDP section 6, 9000 B.
        mtu: Bytes = "9000 B" in "1 B" => "60000 B",
        /// Bytes on the wire of a control packet, and of the header of a data packet. Source: NDP section 3.2.4, 64 B.
        header: Bytes = "64 B" in "1 B" => "128 B",
        /// Packets that are pushed before the first pull; should cover one bandwidth-delay product.
        /// Source: NDP section 6, 30 "except where noted"; section 6.2 needs 20.
        initial_window: Packets = "30 packets" in "1 packets" => "65535 packets",
        /// How the packets of a connection are spread over the paths. Source: NDP section 3.1.1, permutation.
        paths: Spread = "permutation",
        /// Longest burst: most new packets in a row that take one path, which costs a host less processor time. A connection
        /// begins with a path for each packet. Bursts double with every 256 packets in a row that arrive whole; after one that
        /// does not, each packet has its own path again. Source: ours; NDP section 3.1.1, 1.
        burst: Packets = "1 packets" in "1 packets" => "64 packets",
        /// Whether paths with outlying NACK ratios or losses are left out for a while. Source: NDP section 3.2.3.
        scoreboard: bool = true,
        /// Whether an ACK or NACK carries the pull when the pull queue is empty. Source: NDP section 3.2, Fig. 3.
        piggyback: bool = true,
        /// In which order the packets of several connections leave. Packets that are sent again go first, and higher
        /// priorities. Source: "fifo" is that of the public NDP code.
        nic: Nic = "turns",
        /// How far apart pulls leave: "paced", or a measured distribution such as "1.1 us:0.1, 1.3 us:1".
        /// Source: NDP sections 3.2 and 6 (Fig. 12).
        pull_spacing: Spacing = "paced",
        /// Rate of the data that pulls ask for, as a share of the host's link rate. Source: NDP section 3.2, 1.
        pull_rate: f64 = 1.0 in 0.01 => 10.0,
        /// Time without ACK or NACK, beyond the usual round trip, after which a packet is sent again on another path; doubles
        /// with each repetition up to 64 times. Source: NDP section 3.2.4, 1 ms.
        timeout: Picos = "1 ms" in "1 us" => "100 s",
        /// "learned": round trips and full header queues are added to the timeout. "fixed": the timeout alone, as in the text
        /// of the paper. Source: ours; the estimator is of the public code.
        timer: Timer = "learned",
        /// Headers that may stand before another one in the header queues on its way, all hops together. What they take,
        /// ten with each full packet, is added to the timeout while the receiver may have many senders and the timer is
        /// "learned". Three full queues (NDP section 3.2.4: 1125 headers each): those where the paths to one receiver join.
        queued_headers: Packets = "3375 packets" in "0 packets" => "100000000 packets",
        /// Longest time that a packet can be on its way and back. A connection is remembered that much longer than its
        /// sender may repeat packets (`give_up`). Source: NDP section 3.2.2, one segment lifetime, below 1 ms.
        time_wait: Picos = "50 ms" in "1 us" => "100 s",
        /// Time without any word from the receiver after which a flow fails.
        give_up: Picos = "5 s" in "1 ms" => "10000 s",
    }
}

/// [`NdpConfig`] in the form in which connections use it. Fields read for every packet come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Rules {
    pub mtu: u32,
    pub header: u32,
    pub initial_window: u32,
    pub burst: u32,
    pub spread: Spread,
    pub nic: Nic,
    pub scoreboard: bool,
    pub piggyback: bool,
    pub timeout: Picos,
    /// Whether the timer follows round trips.
    pub learns: bool,
    /// Picoseconds between pulls for each byte on the wire, in 1/65536. Rounded up, so that pulls never request more
    /// than the link carries.
    pull_picos_per_byte: u64,
    pub spacing: Spacing,
    /// Delay that full header queues add.
    pub header_queues: Picos,
    pub time_wait: Picos,
    /// How long a receiver remembers a complete connection after its latest packet: a sender without answers
    /// retransmits until it gives up, and none of these packets may open the connection again.
    pub remembered: Picos,
    pub give_up: Picos,
}

impl Rules {
    /// Bytes at the start of the struct that every packet needs.
    pub const HOT_BYTES: usize = offset_of!(Self, header_queues);

    pub fn new(config: &NdpConfig, rate: BitsPerSec) -> Self {
        let pulled = rate.get() as f64 * config.pull_rate;
        Self {
            mtu: config.mtu.0 as u32,
            header: config.header.0 as u32,
            initial_window: config.initial_window.0,
            spread: config.paths,
            burst: config.burst.0,
            nic: config.nic,
            scoreboard: config.scoreboard,
            piggyback: config.piggyback,
            timeout: config.timeout,
            learns: config.timer == Timer::Learned,
            header_queues: header_queues(config, rate),
            time_wait: config.time_wait,
            remembered: config.give_up.saturating_add(config.time_wait),
            give_up: config.give_up,
            spacing: config.pull_spacing.clone(),
            pull_picos_per_byte: libm_ceil(8e12 * 65536.0 / pulled),
        }
    }

    /// Time between a pull for a packet of `wire` bytes and the next pull.
    #[inline]
    pub fn pull_interval(&self, wire: WireLen) -> Picos {
        Picos(u64::from(wire).saturating_mul(self.pull_picos_per_byte).div_ceil(65536))
    }
}

/// Headers that switches serve for each data packet while both wait (NDP section 3.1).
const HEADERS_PER_PACKET: u64 = 10;

/// Delay that full header queues add on links of `rate`.
fn header_queues(config: &NdpConfig, rate: BitsPerSec) -> Picos {
    let round = config.mtu.0 + config.header.0 * (1 + HEADERS_PER_PACKET);
    let bytes = u64::from(config.queued_headers.0) * round / HEADERS_PER_PACKET;
    rate.serialization(Bytes(bytes))
}

/// `f64::ceil` as an integer, which `core` lacks.
fn libm_ceil(value: f64) -> u64 {
    let whole = value as u64;
    if (whole as f64) < value { whole + 1 } else { whole }
}
