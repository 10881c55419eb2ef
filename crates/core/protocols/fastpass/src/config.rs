use pullnet_connections::Limits;
use pullnet_pull::{Policy, Spraying};
use pullnet_settings::{choice, settings};
use pullnet_units::{BitsPerSec, Bytes, HostAddr, Packets, Picos};

choice! {
    /// Which flows the arbiter matches first.
    pub enum Matching {
        /// The flow with the fewest packets without a timeslot (shortest remaining processing time).
        Srpt = "srpt",
        /// The flow that was given a timeslot least recently (max-min fairness).
        MaxMin = "max-min",
        /// The flow with the earliest deadline; flows without one come last, the shortest of them first.
        Edf = "edf",
    }
}

choice! {
    /// When the timeslots of a schedule begin at its source.
    pub enum SlotStart {
        /// At the times that the arbiter means: all hosts are in step, as far as their clocks agree.
        Aligned = "aligned",
        /// When the schedule arrives, one slot after the other: hosts are out of step (public pHost code).
        Receipt = "receipt",
    }
}

choice! {
    /// Order in which the schedules of an epoch leave the arbiter.
    pub enum Dispatch {
        /// That of the first slots: sources of flows that come first in the order of the matching hear first.
        Slots = "slots",
        /// By the address of the source (public pHost code).
        Address = "address",
    }
}

settings! {
    /// Settings of Fastpass hosts and of the arbiter. Packet times are those of a full packet on the link of the host.
    // Long: one table of settings, as users write it.
    pub struct FastpassConfig {
        /// Payload of a full packet. Bytes. Source: public pHost code, 1460 B.
        mtu: Bytes = "1460 B" in "1 B" => "60000 B",
        /// Bytes on the wire of a control packet, and of the header of a data packet. Source: public pHost code, 40 B.
        header: Bytes = "40 B" in "1 B" => "128 B",
        /// The host that is the arbiter. It may have traffic of its own, which shares the link with the arbiter's packets.
        /// Source: public pHost code, a host of rack 0 that does nothing else.
        arbiter: u32 = 0 in 0 => 16777215,
        /// The host that arbitrates when `arbiter` is silent. Absent: none.
        backup: Option<u32> = "" in 0 => 16777215,
        /// Addresses in a rack, for the choice of paths by edge colouring; 0: sources choose paths themselves, by `paths`.
        /// Absent: as the topology has them, where it is a tree.
        rack: Option<u32> = "" in 0 => 16777215,
        /// Timeslots per epoch: what the arbiter gives away at a time. Source: public pHost code, 8.
        slots: u32 = 8 in 1 => 8,
        /// Length of a timeslot. It must be the same on all hosts: state it where links to hosts differ in rate. Absent: one
        /// packet time and `guard`.
        slot: Option<Picos> = "" in "1 ns" => "100 ms",
        /// Guard time of a timeslot, beside the packet time. Packet times. Source: public pHost code, 8.5 packet times for 8
        /// slots.
        guard: f64 = 0.0625 in 0.0 => 100.0,
        /// Which flows are matched first. Source: public pHost code, SRPT; Fastpass section 3.2 has both.
        matching: Matching = "srpt",
        /// Order in which an epoch's schedules leave the arbiter, one after the other: by the first slot that they give (slots),
        /// or by the address of the source (address). Source: public pHost code, address.
        dispatch: Dispatch = "slots",
        /// When the slots of a schedule begin. Source: Fastpass section 2; public pHost code: receipt.
        start: SlotStart = "aligned",
        /// Time between an epoch's arbitration and its first slot; should cover the way of a schedule.
        lead: Picos = "8 us" in "0 us" => "100 ms" unused if start == "receipt",
        /// How far the clock of a host may be off, either way: each host draws its own offset. Source: Fastpass section 5,
        /// below 1 us with PTP.
        clock_offset: Picos = "0 us" in "0 us" => "1 ms",
        /// Time without a word from the arbiter after which a source repeats its request; if the arbiter has answered, an
        /// eighth of the time that it has waited for slots if that is more, but at most a 32nd of `give_up`.
        request_timeout: Picos = "100 us" in "1 us" => "100 s",
        /// Time for which requests stay unanswered until the arbiter counts as dead. Source: Fastpass section 5, 1 ms.
        arbiter_timeout: Picos = "1 ms" in "10 us" => "100 s",
        /// Interval at which an arbiter that counts as dead is asked whether it is back.
        probe: Picos = "5 ms" in "10 us" => "100 s",
        /// Time after the last slot of a request from which unacknowledged packets are requested again; should cover a round
        /// trip. Source: public pHost code, one epoch.
        resend: Picos = "50 us" in "1 us" => "100 s",
        /// Packets that a flow may have in flight while no arbiter answers; a timeout begins again with one.
        fallback_window: Packets = "8 packets" in "1 packets" => "65535 packets",
        /// Retransmission timeout while no arbiter answers; a 16th of the receiver's silence if that is more.
        fallback_timeout: Picos = "500 us" in "1 us" => "100 s",
        /// How packets are spread over the paths where the arbiter does not choose. Source: public pHost code, in turn.
        paths: Spraying = "round-robin",
        /// Longest time that a packet can be on its way and back. A connection is remembered that much longer than its
        /// source may repeat packets (`give_up`).
        time_wait: Picos = "50 ms" in "1 us" => "100 s",
        /// Time for which data stays without any answer until its flow fails. The arbiter forgets a flow after twice that.
        give_up: Picos = "5 s" in "1 ms" => "10000 s",
    }
}

/// [`FastpassConfig`] in the form in which connections use it.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub limits: Limits,
    pub slots: u32,
    pub slot: Picos,
    pub lead: Picos,
    pub aligned: bool,
    pub by_address: bool,
    pub rack: u32,
    pub request_timeout: Picos,
    pub arbiter_timeout: Picos,
    pub probe: Picos,
    pub resend: Picos,
    pub fallback_window: u32,
    pub fallback_timeout: Picos,
}

impl Parameters {
    pub fn new(config: &FastpassConfig, rate: BitsPerSec) -> Self {
        let packet_time = rate.serialization(Bytes(config.mtu.0 + config.header.0));
        let guarded = Picos(packet_time.0.saturating_add((packet_time.0 as f64 * config.guard) as u64));
        Self {
            limits: Limits::of(config.mtu, config.header, config.give_up, config.time_wait),
            slots: config.slots,
            slot: config.slot.unwrap_or(guarded).max(Picos(1)),
            lead: config.lead,
            aligned: config.start == SlotStart::Aligned,
            by_address: config.dispatch == Dispatch::Address,
            rack: config.rack.unwrap_or(0),
            request_timeout: config.request_timeout,
            arbiter_timeout: config.arbiter_timeout,
            probe: config.probe,
            resend: config.resend,
            fallback_window: config.fallback_window.0,
            fallback_timeout: config.fallback_timeout,
        }
    }

    /// Length of an epoch.
    pub fn epoch(&self) -> Picos {
        self.slot.saturating_mul(self.slots.into())
    }
}

impl Matching {
    /// The order of flows that this is.
    pub(crate) fn policy(self) -> Policy {
        match self {
            Self::Srpt => Policy::Srpt,
            Self::MaxMin => Policy::RoundRobin,
            Self::Edf => Policy::Edf,
        }
    }
}

impl FastpassConfig {
    /// The arbiters in the order in which hosts turn to them.
    pub(crate) fn arbiters(&self) -> [Option<HostAddr>; 2] {
        let backup = self.backup.filter(|backup| *backup != self.arbiter);
        [Some(HostAddr(self.arbiter)), backup.map(HostAddr)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_that_of_the_public_code() {
        let rules = Parameters::new(&FastpassConfig::default(), BitsPerSec::gbps(10));
        assert_eq!((rules.slot, rules.epoch()), (Picos::from_nanos(1275), Picos::from_nanos(10_200)));
        let stated = FastpassConfig { slot: Some(Picos::from_micros(2)), ..FastpassConfig::default() };
        assert_eq!(Parameters::new(&stated, BitsPerSec::gbps(10)).epoch(), Picos::from_micros(16));
    }

    #[test]
    fn a_slot_is_a_packet_time_and_the_guard_time() {
        let slot = |guard| {
            let config = FastpassConfig { guard, ..FastpassConfig::default() };
            Parameters::new(&config, BitsPerSec::gbps(10)).slot
        };
        assert_eq!([0.0, 0.5, 2.0].map(slot), [1200, 1800, 3600].map(Picos::from_nanos));
    }
}
