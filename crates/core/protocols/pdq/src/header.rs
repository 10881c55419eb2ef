use pullnet_transport::{
    ConnId, CumulativeAck, DataPacket, Header, Hop, HostAddr, MOST_RATE, Medium, Packed, RateUnits, TurnAsk,
    flag,
};
use pullnet_units::PacketSeq;

/// In a packed header: no switch has paused the flow. Switches beyond this position are not told apart.
const NOBODY: u8 = 255;
/// Deadlines have 48 bits of microseconds; the largest value stands for no deadline.
pub const MOST_DEADLINE: u64 = (1 << 48) - 1;

/// Scheduling header of a packet on its way to the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ask {
    /// Number of the question, echoed in the answer.
    pub number: u8,
    /// Address of the sender. Stands for the source address of the IP header, which switches read.
    pub from: HostAddr,
    /// Largest rate that the host and the switches passed so far allow.
    pub offered: RateUnits,
    /// Rate at which the sender sends; 0: it begins, or is paused.
    pub sending: RateUnits,
    /// Position on the path of the switch that pauses the flow.
    pub paused_by: Option<u8>,
    /// Number of switches passed.
    pub hops: u8,
    /// Deadline in microseconds, at most [`MOST_DEADLINE`], which stands for none.
    pub deadline: u64,
    /// Transmission time of the rest of the flow at the largest rate of the host. Units of 10 ns.
    pub work: u32,
    /// The same in hundredths of the round-trip time.
    pub rounds: u16,
    /// Interval between probes that a switch demands, in hundredths of the round-trip time.
    pub probe_after: u16,
    /// The sender needs the path no longer.
    pub ends: bool,
}

/// The answer of the switches on the path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reply {
    /// Number of the question.
    pub number: u8,
    /// Rate at which the flow may send; 0: it is paused.
    pub rate: RateUnits,
    /// Position on the path of the switch that pauses it.
    pub paused_by: Option<u8>,
    /// Interval between probes, in hundredths of the round-trip time.
    pub probe_after: u16,
}

/// A packet of PDQ. Data packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PdqHeader {
    /// Payload.
    Data {
        /// The packet.
        data: DataPacket,
        /// Scheduling header.
        ask: Ask,
    },
    /// A packet without payload: the first one opens the connection (SYN), later ones ask whether the flow may send.
    Probe {
        /// The sender's connection.
        conn: ConnId,
        /// The sender gives the flow up and sends nothing more (TERM).
        given_up: bool,
        /// Scheduling header.
        ask: Ask,
    },
    /// Acknowledges packets.
    Ack {
        /// The packets that it acknowledges.
        ack: CumulativeAck,
        /// Answer of the switches to the packet that this ACK answers.
        reply: Option<Reply>,
    },
}

const DATA: u8 = 0;
const PROBE: u8 = 1;
const ACK: u8 = 2;
const ENDS: u8 = 0x20;
const GIVEN_UP: u8 = 0x40;
const REPLIES: u8 = 0x40;
/// Set in the last word of a scheduling header, so that its length on the wire does not depend on the answers.
const WHOLE: u32 = 1 << 31;

fn position(byte: u8) -> Option<u8> {
    (byte != NOBODY).then_some(byte)
}

/// Two numbers in one word: a rate, and 8 bits above it.
fn with_rate(rate: RateUnits, byte: u8) -> u32 {
    rate & MOST_RATE | u32::from(byte) << 24
}

/// Adds a scheduling header behind connection and packet number.
fn with_ask(mut packed: Packed<Medium>, ask: &Ask) -> Packed<Medium> {
    let words = &mut packed.words;
    let deadline = ask.deadline.min(MOST_DEADLINE);
    words[2..9].copy_from_slice(&[
        ask.from.0,
        with_rate(ask.offered, ask.hops),
        with_rate(ask.sending, ask.paused_by.unwrap_or(NOBODY)),
        deadline as u32,
        (deadline >> 32) as u32 | u32::from(ask.rounds) << 16,
        ask.work,
        u32::from(ask.probe_after) | u32::from(ask.number) << 16 | WHOLE,
    ]);
    packed
}

fn ask_of(kind: u8, words: &Medium) -> Ask {
    Ask {
        number: (words[8] >> 16) as u8,
        from: HostAddr(words[2]),
        offered: words[3] & MOST_RATE,
        sending: words[4] & MOST_RATE,
        paused_by: position((words[4] >> 24) as u8),
        hops: ((words[3] >> 24) as u8).min(NOBODY - 1),
        deadline: u64::from(words[5]) | u64::from(words[6] & 0xffff) << 32,
        work: words[7],
        rounds: (words[6] >> 16) as u16,
        probe_after: words[8] as u16,
        ends: kind & ENDS != 0,
    }
}

impl Ask {
    /// The switch at the next position on the path answers.
    fn at_hop(&mut self, conn: ConnId, hop: &mut dyn Hop) -> Option<()> {
        let here = self.hops;
        let elsewhere = self.paused_by.is_some_and(|switch| switch != here);
        let turn = hop.take_turn(TurnAsk {
            flow: u64::from(self.from.0) << 32 | u64::from(conn.get()),
            deadline: if self.deadline < MOST_DEADLINE { self.deadline } else { u64::MAX },
            work: self.work,
            rounds: self.rounds,
            offered: self.offered,
            sending: self.sending,
            leaves: elsewhere || self.ends,
        })?;
        self.hops = (here + 1).min(NOBODY - 1);
        if elsewhere || self.ends {
            return Some(());
        }
        self.offered = self.offered.min(turn.rate);
        self.paused_by = (turn.rate == 0).then_some(here);
        self.probe_after = self.probe_after.max(turn.probe_after);
        Some(())
    }

    /// The answer of all switches passed.
    pub fn reply(&self) -> Reply {
        let rate = if self.paused_by.is_some() { 0 } else { self.offered };
        Reply { number: self.number, rate, paused_by: self.paused_by, probe_after: self.probe_after }
    }
}

impl Header for PdqHeader {
    const KINDS: &'static [&'static str] = &["data", "probe", "ack"];
    type Words = Medium;

    fn pack(self) -> Packed<Medium> {
        match self {
            Self::Data { data, ask } => with_ask(data.pack(DATA | flag(ask.ends, ENDS)), &ask),
            Self::Probe { conn, given_up, ask } => {
                let kind = PROBE | flag(ask.ends, ENDS) | flag(given_up, GIVEN_UP);
                with_ask(DataPacket { conn, seq: 0, last: false }.pack(kind), &ask)
            }
            Self::Ack { ack, reply } => {
                let mut packed: Packed<Medium> = ack.pack(ACK | flag(reply.is_some(), REPLIES));
                let Reply { number, rate, paused_by, probe_after } = reply.unwrap_or_default();
                packed.words[3] = with_rate(rate, paused_by.unwrap_or(NOBODY));
                packed.words[4] = u32::from(probe_after) | u32::from(number) << 16;
                packed
            }
        }
    }

    fn unpack(packed: Packed<Medium>) -> Self {
        let Packed { kind, words } = packed;
        let conn = ConnId::new(words[0]);
        match kind & 0x0f {
            DATA => Self::Data { data: DataPacket::unpack(&packed), ask: ask_of(kind, &words) },
            PROBE => Self::Probe { conn, given_up: kind & GIVEN_UP != 0, ask: ask_of(kind, &words) },
            _ => {
                let reply = Reply {
                    number: (words[4] >> 16) as u8,
                    rate: words[3] & MOST_RATE,
                    paused_by: position((words[3] >> 24) as u8),
                    probe_after: words[4] as u16,
                };
                let reply = (kind & REPLIES != 0).then_some(reply);
                Self::Ack { ack: CumulativeAck::unpack(&packed), reply }
            }
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        match self {
            Self::Data { data, .. } => data.concerns(),
            Self::Probe { conn, .. } => Some((conn, None)),
            Self::Ack { ack, .. } => ack.concerns(),
        }
    }

    fn at_hop(mut self, hop: &mut dyn Hop) -> Option<Self> {
        match &mut self {
            Self::Data { data, ask } => ask.at_hop(data.conn, hop)?,
            Self::Probe { conn, ask, .. } => ask.at_hop(*conn, hop)?,
            Self::Ack { .. } => return None,
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use pullnet_transport::Turn;

    use super::*;

    /// A port that gives this answer, and the last question that it was asked.
    struct Port(Turn, Option<TurnAsk>);

    impl Hop for Port {
        fn take_turn(&mut self, ask: TurnAsk) -> Option<Turn> {
            self.1 = Some(ask);
            Some(self.0)
        }
    }

    fn port(rate: RateUnits) -> Port {
        Port(Turn { rate, probe_after: 40 }, None)
    }

    fn ask() -> Ask {
        Ask { from: HostAddr(3), offered: 100, deadline: MOST_DEADLINE, ..Ask::default() }
    }

    /// The header after these ports.
    fn pass(ask: Ask, ports: &mut [Port]) -> Ask {
        let mut header = PdqHeader::Probe { conn: ConnId::new(7), given_up: false, ask };
        for port in ports {
            header = header.at_hop(port).unwrap();
        }
        let PdqHeader::Probe { ask, .. } = header else { panic!("{header:?}") };
        ask
    }

    #[test]
    fn the_smallest_rate_on_the_path_counts() {
        let mut ports = [port(80), port(60), port(90)];
        let reply = pass(ask(), &mut ports).reply();
        assert_eq!((reply.rate, reply.paused_by), (60, None));
        assert_eq!(ports.map(|port| port.1.unwrap().offered), [100, 80, 60]);
    }

    #[test]
    fn switches_behind_the_one_that_pauses_forget_the_flow() {
        let mut ports = [port(80), port(0), port(90)];
        let after = pass(ask(), &mut ports);
        assert_eq!(after.reply(), Reply { number: 0, rate: 0, paused_by: Some(1), probe_after: 40 });
        assert_eq!(ports.map(|port| port.1.unwrap().leaves), [false, false, true]);
        // The next packet tells the switch before it, and only the one that paused it may let it go on.
        let mut ports = [port(80), port(70), port(90)];
        let next = Ask { hops: 0, offered: 100, ..after };
        assert_eq!(pass(next, &mut ports).reply().rate, 70);
        let asked = ports.map(|port| port.1.unwrap());
        assert_eq!(asked.map(|ask| ask.leaves), [true, false, false]);
        assert_eq!((asked[0].flow, asked[0].deadline), (3 << 32 | 7, u64::MAX));
    }

    #[test]
    fn a_flow_that_ends_leaves_every_switch() {
        let mut ports = [port(80), port(0)];
        let after = pass(Ask { ends: true, ..ask() }, &mut ports);
        assert!(ports.iter().all(|port| port.1.unwrap().leaves) && after.paused_by.is_none());
    }

    #[test]
    fn ports_without_turns_and_acks_change_nothing() {
        struct Other;
        impl Hop for Other {}
        let conn = ConnId::new(7);
        let data = PdqHeader::Data { data: DataPacket { conn, seq: 3, last: false }, ask: ask() };
        let reply = Some(ask().reply());
        let ack = CumulativeAck { conn, cumulative: 1, answers: None, finished: false };
        let ack = PdqHeader::Ack { ack, reply };
        assert!(data.at_hop(&mut Other).is_none() && ack.at_hop(&mut port(1)).is_none());
    }
}
