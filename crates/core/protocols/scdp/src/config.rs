use alloc::boxed::Box;

use pullnet_codes::{FailureOdds, Latency, MAX_SYMBOLS};
use pullnet_pull::{Spacing, Spread};
use pullnet_settings::settings;
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos, WireLen};

settings! {
    /// Settings that SCDP and Polyraptor have in common: pulls, repairs and timers.
    pub struct Pulling {
        /// Symbols beyond the size of the block that the receiver pulls after a loss. Source: SCDP and Polyraptor, 2.
        spare: u32 = 2 in 0 => 100,
        /// Probability that decoding fails with as many distinct symbols as the block has, unless all are source symbols;
        /// each further symbol makes a failure 256 times less probable. Source: measured, `pullnet codes table`.
        failure: f64 = 0.005 in 0.0 => 1.0,
        /// How the packets of a session are spread over the paths. Source: SCDP and Polyraptor, per packet over all equal-cost
        /// paths.
        paths: Spread = "permutation",
        /// Interval between pulls: "paced", or a measured distribution such as "1.1 us:0.1, 1.3 us:1".
        pull_spacing: Spacing = "paced",
        /// Rate of the pulled symbols, as a share of the host's link rate. Source: SCDP and Polyraptor, 1.
        pull_rate: f64 = 1.0 in 0.01 => 10.0,
        /// Time without an arrival after which a receiver counts the symbols in flight as lost and pulls again, unless its
        /// round trips are longer. Doubles with each timeout, up to 64 times the value. Source: SCDP names a simple timeout
        /// as in NDP, 1 ms.
        timeout: Picos = "1 ms" in "1 us" => "100 s",
        /// Time that a sender waits, after its answer to a pull with FIN, for another pull or the end of the session, before
        /// it probes the receiver with an unsolicited symbol. Source: SCDP, a short time that covers one more loop of header
        /// and pull.
        guard: Picos = "1 ms" in "1 us" => "100 s",
        /// Longest round trip of a packet. An ended session is remembered for `give_up`, during which its sender may send
        /// symbols, and this time.
        time_wait: Picos = "50 ms" in "1 us" => "100 s",
        /// Time without any packet from the receiver after which a flow fails. With Polyraptor, a receiver of several that does
        /// not pull for this long while others wait for it fails too.
        give_up: Picos = "5 s" in "1 ms" => "10000 s",
    }
}

settings! {
    /// Settings of SCDP hosts.
    pub struct ScdpConfig {
        /// Payload of a symbol; a packet carries one. Bytes. Source: SCDP evaluation, frames of 1500 B.
        mtu: Bytes = "1436 B" in "1 B" => "60000 B",
        /// Bytes on the wire of a control packet, and of the header of a symbol.
        header: Bytes = "64 B" in "1 B" => "128 B",
        /// Symbols that a sender pushes before the first pull. Source: SCDP evaluation, 12.
        initial_window: Packets = "12 packets" in "1 packets" => "65535 packets",
        /// Symbols that each sender pushes where several hosts send the same data. Source: SCDP evaluation, 6.
        source_window: Packets = "6 packets" in "1 packets" => "65535 packets",
        /// Time that a sender to several receivers waits for a receiver that does not pull while others do, before it serves
        /// that receiver in a session of its own. Source: SCDP leaves it to the application.
        straggler: Picos = "10 ms" in "1 us" => "100 s",
        /// Largest number of source symbols in a source block. Source: SCDP evaluation, 100; RFC 6330, 56,403 at most.
        block: Packets = "100 packets" in "1 packets" => "56403 packets",
        /// Rate at which a host decodes blocks that lost a source symbol. Absent: the measured time of each block
        /// (`crates/core/codes/data/speed.csv`). Source: SCDP cites 10 Gb/s.
        decode_rate: Option<BitsPerSec> = "",
        /// Payload sent in a session after which its symbols, those of the initial window excepted, fall to the second
        /// highest priority. Source: SCDP evaluation.
        demote_1: Bytes = "10 kB" in "1 B" => "1 TB",
        /// Payload sent after which symbols fall to the third highest priority.
        demote_2: Bytes = "100 kB" in "1 B" => "1 TB",
        /// Payload sent after which symbols fall to the fourth highest priority.
        demote_3: Bytes = "1 MB" in "1 B" => "1 TB",
        /// Payload sent after which symbols fall to the lowest priority.
        demote_4: Bytes = "10 MB" in "1 B" => "1 TB",
    } with
    /// Settings shared with the other transport of codes.
    pulling: Pulling
}

settings! {
    /// Settings of Polyraptor hosts.
    pub struct PolyraptorConfig {
        /// Payload of a symbol; a packet carries one. Bytes. Source: public model of the authors, 1000 B.
        mtu: Bytes = "1000 B" in "1 B" => "60000 B",
        /// Bytes on the wire of a control packet, and of the header of a symbol.
        header: Bytes = "64 B" in "1 B" => "128 B",
        /// Symbols that a sender pushes before the first pull. Source: Polyraptor, as many as leave in the first round trip: 21
        /// of 1064 B over six links of 1 Gb/s and 10 us, the network of its evaluation.
        initial_window: Packets = "21 packets" in "1 packets" => "65535 packets",
        /// Symbols that each sender pushes where several hosts send the same data. Source: Polyraptor has one window for all
        /// sessions.
        source_window: Packets = "21 packets" in "1 packets" => "65535 packets",
    } with
    /// Settings shared with the other transport of codes.
    pulling: Pulling
}

/// Priority of the first symbols of a session, and of answers to a FIN.
pub(crate) const TOP: u8 = 7;

/// How long a host takes to decode a block that lost a source symbol.
#[derive(Clone, Debug)]
pub(crate) enum Decoding {
    /// No time.
    Free,
    /// As long as its bytes take at this rate.
    Rate(BitsPerSec),
    /// The measured time of its size.
    Measured(Box<Latency>),
}

/// [`ScdpConfig`] or [`PolyraptorConfig`] in the form in which sessions use it.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub mtu: u16,
    pub header: u16,
    pub initial_window: u32,
    pub source_window: u32,
    pub straggler: Picos,
    pub block: u32,
    pub spare: u32,
    pub odds: FailureOdds,
    decoding: Decoding,
    /// Whether the ids of repair symbols are drawn at random (Polyraptor), so that two symbols may be alike.
    pub random_repair: bool,
    /// Whether a receiver that keeps its group waiting gets a session of its own; otherwise its flow fails.
    pub detaches: bool,
    pub demote: [u64; 4],
    pub spread: Spread,
    pub spacing: Spacing,
    pub timeout: Picos,
    pub guard: Picos,
    pub give_up: Picos,
    /// How long an ended session is remembered.
    pub remembered: Picos,
    pub time_wait: Picos,
    /// Picoseconds between pulls for each byte on the wire, in 1/65536.
    pull_picos_per_byte: u64,
}

impl Rules {
    pub fn new(config: &ScdpConfig, rate: BitsPerSec) -> Self {
        let pulling = &config.pulling;
        let pulled = rate.get() as f64 * pulling.pull_rate;
        let picos = 8e12 * 65536.0 / pulled;
        Self {
            mtu: config.mtu.0 as u16,
            header: config.header.0 as u16,
            initial_window: config.initial_window.0,
            source_window: config.source_window.0,
            straggler: config.straggler,
            block: config.block.0,
            spare: pulling.spare,
            odds: FailureOdds::new(pulling.failure),
            decoding: config
                .decode_rate
                .map_or_else(|| Decoding::Measured(Box::new(Latency::measured())), Decoding::Rate),
            random_repair: false,
            detaches: true,
            demote: [config.demote_1.0, config.demote_2.0, config.demote_3.0, config.demote_4.0],
            spread: pulling.paths,
            spacing: pulling.pull_spacing.clone(),
            timeout: pulling.timeout,
            guard: pulling.guard,
            give_up: pulling.give_up,
            remembered: pulling.give_up.saturating_add(pulling.time_wait),
            time_wait: pulling.time_wait,
            // Rounded up, so that the pulled symbols never exceed the link rate.
            pull_picos_per_byte: picos as u64 + 1,
        }
    }

    /// The rules of Polyraptor: one block for a whole object, one priority, random repair symbols, no decoding time, and
    /// groups that wait for their slowest receiver.
    pub fn polyraptor(config: &PolyraptorConfig, rate: BitsPerSec) -> Self {
        let shared = ScdpConfig {
            mtu: config.mtu,
            header: config.header,
            initial_window: config.initial_window,
            source_window: config.source_window,
            straggler: config.pulling.give_up,
            block: Packets(MAX_SYMBOLS),
            pulling: config.pulling.clone(),
            ..ScdpConfig::default()
        };
        Self {
            demote: [u64::MAX; 4],
            decoding: Decoding::Free,
            random_repair: true,
            detaches: false,
            ..Self::new(&shared, rate)
        }
    }

    /// Time between a pull for a symbol of `wire` bytes and the next pull.
    pub fn pull_interval(&self, wire: WireLen) -> Picos {
        Picos(u64::from(wire).saturating_mul(self.pull_picos_per_byte).div_ceil(65536))
    }

    /// Priority of a symbol after `sent` payload bytes of its session (MLFQ with static thresholds).
    pub fn priority(&self, sent: u64) -> u8 {
        TOP - self.demote.iter().filter(|threshold| sent >= **threshold).count() as u8
    }

    /// Time to decode a block of `symbols` of `bytes` each.
    pub fn decode_time(&self, symbols: u32, bytes: u16) -> Picos {
        match &self.decoding {
            Decoding::Free => Picos(0),
            Decoding::Rate(rate) => rate.serialization(Bytes(u64::from(symbols) * u64::from(bytes))),
            Decoding::Measured(latency) => Picos((latency.decode_us(symbols, bytes.into()) * 1e6) as u64),
        }
    }
}
