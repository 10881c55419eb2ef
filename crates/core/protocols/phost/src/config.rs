use pullnet_connections::Limits;
use pullnet_pull::{Policy, Spraying};
use pullnet_settings::{choice, settings};
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos};

choice! {
    /// A published form of pHost: what settings that are absent stand for.
    pub enum Variant {
        /// The published paper: free tokens for every flow, timeouts of three round trips, short flows above long ones.
        Paper = "paper",
        /// The slides: drop-tail switches without priorities, free tokens for every flow.
        Slides = "slides",
        /// The authors' simulator as its scripts configure it: free tokens for short flows only.
        Authors = "authors",
        /// The baseline of the NDP paper, built from TCP: one window at line rate, no priorities, long timeouts.
        Ndp = "ndp",
    }
}

settings! {
    /// Settings of pHost hosts. Packet times are those of a full packet on the link of the host.
    pub struct PhostConfig {
        /// Payload of a full packet. Bytes. Source: public pHost code, 1460 B.
        mtu: Bytes = "1460 B" in "1 B" => "60000 B",
        /// Bytes on the wire of a control packet, and of the header of a data packet. Source: public pHost code, 40 B.
        header: Bytes = "40 B" in "1 B" => "128 B",
        /// The published form that settings follow which are absent here.
        variant: Variant = "paper",
        /// Packets that a flow may send before its first token; should cover one bandwidth-delay product. Absent: 8.
        free_tokens: Option<Packets> = "" in "0 packets" => "65535 packets",
        /// Whether flows with more packets than `free_tokens` begin with free tokens, too. Absent: true; authors: false.
        long_flows_free: Option<bool> = "",
        /// Life of a token at the source. Packet times. Absent: 1.5; ndp: 1400.
        token_life: Option<f64> = "" in 0.1 => 1000000.0,
        /// Unanswered tokens after which a flow is downgraded: it gets no further ones for a while. Absent: 8.
        window: Option<Packets> = "" in "1 packets" => "65535 packets",
        /// Time after its last token for which a downgraded flow waits for the next. Packet times. Absent: 24; slides and
        /// authors: 25.
        downgrade: Option<f64> = "" in 0.1 => 1000000.0,
        /// Time after the last token of a flow from which missing packets get tokens again. Packet times. Absent: 24;
        /// authors: 9; ndp: 1400.
        resend: Option<f64> = "" in 0.1 => 1000000.0,
        /// Time that a flow waits for the packets of its free tokens, beyond twice their packet times, before missing ones
        /// get tokens. Packet times. Source: public pHost code, 0, for cut-through switches; a store-and-forward path delays
        /// data by a packet time per switch more than the RTS, and most flows of one packet send twice without it.
        free_wait: f64 = 0.0 in 0.0 => 1000000.0,
        /// Whether data wakes the token clock that found no flow to give a token to, if its flow may have one again. Otherwise
        /// the clock sleeps until a timer of its flows ends or a new flow comes. Absent: true; authors: false.
        data_wakes: Option<bool> = "",
        /// Priorities in the network beside the ordinary one: 0; 1 for control packets; 2 for data of short flows also.
        /// Absent: 2; slides and ndp: 0.
        priorities: Option<u32> = "" in 0 => 2,
        /// Longest flow that is short for `priorities`. Packets. Absent: 8; authors: 0.
        short_flow: Option<Packets> = "" in "0 packets" => "4294967295 packets",
        /// Which of its flows with tokens a source sends first. Source: pHost slides.
        source: Policy = "srpt",
        /// Which of its flows a destination gives the next token. Source: pHost slides.
        destination: Policy = "srpt",
        /// How packets are spread over the paths. Source: public pHost code, in turn.
        paths: Spraying = "round-robin",
        /// Time without a token after which a source sends its RTS again; an eighth of the time since the last token if
        /// that is more, but at most a 32nd of `give_up`. An addition: the sources repeat no RTS.
        rts_timeout: Picos = "200 us" in "1 us" => "100 s",
        /// Longest time that a packet can be on its way and back. A connection is remembered that much longer than its
        /// source may repeat packets (`give_up`).
        time_wait: Picos = "50 ms" in "1 us" => "100 s",
        /// Time without any word from the destination after which a flow fails.
        give_up: Picos = "5 s" in "1 ms" => "10000 s",
    }
}

/// [`PhostConfig`] in the form in which connections use it.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub limits: Limits,
    pub free_tokens: u32,
    pub long_flows_free: bool,
    /// Time that a full packet takes on the link of this host.
    pub packet_time: Picos,
    pub token_life: Picos,
    pub window: u32,
    pub downgrade: Picos,
    pub resend: Picos,
    pub free_wait: Picos,
    pub data_wakes: bool,
    pub priorities: u32,
    pub short_flow: u32,
    pub rts_timeout: Picos,
}

/// Defaults of a variant's absent settings.
struct Preset {
    long_flows_free: bool,
    token_life: f64,
    downgrade: f64,
    resend: f64,
    data_wakes: bool,
    priorities: u32,
    short_flow: u32,
}

impl Variant {
    fn preset(self) -> Preset {
        let paper = Preset {
            long_flows_free: true,
            token_life: 1.5,
            downgrade: 24.0,
            resend: 24.0,
            data_wakes: true,
            priorities: 2,
            short_flow: 8,
        };
        match self {
            Self::Paper => paper,
            Self::Slides => Preset { downgrade: 25.0, priorities: 0, ..paper },
            Self::Authors => Preset {
                long_flows_free: false,
                downgrade: 25.0,
                resend: 9.0,
                data_wakes: false,
                short_flow: 0,
                ..paper
            },
            // 1400 full packets of 9 kB take 10 ms at 10 Gb/s. The paper states no timeout; 10 ms is that of its TCP.
            Self::Ndp => Preset { token_life: 1400.0, resend: 1400.0, priorities: 0, ..paper },
        }
    }
}

/// Free tokens, and tokens that may be unanswered, in every published form.
const TOKENS: u32 = 8;

impl Parameters {
    pub fn new(config: &PhostConfig, rate: BitsPerSec) -> Self {
        let preset = config.variant.preset();
        let packet_time = rate.serialization(Bytes(config.mtu.0 + config.header.0));
        let times = |count: f64| Picos((packet_time.0 as f64 * count) as u64);
        let packets = |stated: Option<Packets>, absent: u32| stated.map_or(absent, |packets| packets.0);
        Self {
            limits: Limits::of(config.mtu, config.header, config.give_up, config.time_wait),
            free_tokens: packets(config.free_tokens, TOKENS),
            long_flows_free: config.long_flows_free.unwrap_or(preset.long_flows_free),
            packet_time,
            token_life: times(config.token_life.unwrap_or(preset.token_life)),
            window: packets(config.window, TOKENS),
            downgrade: times(config.downgrade.unwrap_or(preset.downgrade)),
            resend: times(config.resend.unwrap_or(preset.resend)),
            free_wait: times(config.free_wait),
            data_wakes: config.data_wakes.unwrap_or(preset.data_wakes),
            priorities: config.priorities.unwrap_or(preset.priorities),
            short_flow: packets(config.short_flow, preset.short_flow),
            rts_timeout: config.rts_timeout,
        }
    }

    /// Free tokens of a flow of `packets` packets.
    pub fn free_tokens_of(&self, packets: u32) -> u32 {
        if packets > self.free_tokens && !self.long_flows_free { 0 } else { packets.min(self.free_tokens) }
    }

    /// Network priority of control packets.
    pub fn control_priority(&self) -> u8 {
        if self.priorities > 0 { 7 } else { 0 }
    }

    /// Network priority of the data of a flow of `packets` packets.
    pub fn data_priority(&self, packets: u32) -> u8 {
        if self.priorities > 1 && packets <= self.short_flow { 6 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_fill_in_what_is_absent() {
        let rate = BitsPerSec::gbps(10);
        let rules = |variant| Parameters::new(&PhostConfig { variant, ..PhostConfig::default() }, rate);
        let (paper, authors, ndp) = (rules(Variant::Paper), rules(Variant::Authors), rules(Variant::Ndp));
        assert_eq!(paper.packet_time, Picos::from_nanos(1200));
        assert_eq!((paper.free_tokens_of(1), paper.free_tokens_of(9)), (1, 8));
        assert_eq!((authors.free_tokens_of(8), authors.free_tokens_of(9)), (8, 0));
        assert_eq!(authors.resend, Picos::from_nanos(10_800));
        assert_eq!((paper.control_priority(), paper.data_priority(8), paper.data_priority(9)), (7, 6, 0));
        assert_eq!((authors.control_priority(), authors.data_priority(1)), (7, 0));
        assert_eq!((ndp.control_priority(), ndp.data_priority(1)), (0, 0));
        let stated = PhostConfig { variant: Variant::Authors, resend: Some(2.0), ..PhostConfig::default() };
        assert_eq!(Parameters::new(&stated, rate).resend, Picos::from_nanos(2400));
    }
}
