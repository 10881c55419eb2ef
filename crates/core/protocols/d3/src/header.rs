use pullnet_transport::{
    ConnId, CumulativeAck, DataPacket, Grant, Header, Hop, MOST_RATE, Medium, Packed, RateAsk, RateUnits,
    flag,
};
use pullnet_units::PacketSeq;

/// Maximum number of rate-allocating switches on a path.
pub const MOST_HOPS: usize = 7;
/// Value of [`Grants::hops`] for a path with more than [`MOST_HOPS`] switches.
const TOO_MANY: u8 = MOST_HOPS as u8 + 1;
/// Modulus of rate request numbers.
pub const NUMBERS: u8 = 1 << 7;

/// Grants of the switches on a path, in path order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Grants {
    /// Number of switches passed; above [`MOST_HOPS`]: more than the header can hold.
    pub hops: u8,
    /// Grant of each switch.
    pub granted: [Grant; MOST_HOPS],
}

impl Grants {
    /// Smallest granted rate; `None`: no switch on the path allocates rates.
    pub fn rate(&self) -> Option<RateUnits> {
        self.granted[..MOST_HOPS.min(self.hops.into())].iter().map(|grant| grant.rate).min()
    }

    /// Returns whether the path has more switches than the header can hold.
    pub fn overflows(&self) -> bool {
        self.hops >= TOO_MANY
    }

    fn read(hops: u32, words: &[u32]) -> Self {
        let granted = core::array::from_fn(|hop| Grant::from_word(words[hop]));
        Self { hops: (hops as u8).min(TOO_MANY), granted }
    }

    fn write(&self, words: &mut [u32]) {
        words.iter_mut().zip(self.granted).for_each(|(word, grant)| *word = grant.to_word());
    }
}

/// A rate request. Each switch on the path reads its previous grant from it and overwrites that with its new grant.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ask {
    /// Number of the request within its flow, below [`NUMBERS`].
    pub number: u8,
    /// Rate that the flow needs; 0: a fair share.
    pub desired: RateUnits,
    /// Desired rate in the request that obtained the grants handed back.
    pub before: RateUnits,
    /// The flow ends (FIN): it hands its grants back and requests none.
    pub ends: bool,
    /// New grants below index [`Grants::hops`], previous grants from there on.
    pub grants: Grants,
}

/// A packet of D3. Data packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum D3Header {
    /// Payload.
    Data {
        /// The packet.
        data: DataPacket,
        /// The rate request of this round trip, if this packet carries it.
        ask: Option<Ask>,
    },
    /// A rate request without payload; the first one opens the connection (SYN).
    Request {
        /// The sender's connection.
        conn: ConnId,
        /// The sender gives the flow up and sends nothing more.
        quenched: bool,
        /// The rate request.
        ask: Ask,
    },
    /// Acknowledges packets.
    Ack {
        /// The packets that it acknowledges.
        ack: CumulativeAck,
        /// Number and grants of the rate request that the answered packet carried.
        reply: Option<(u8, Grants)>,
    },
}

const DATA: u8 = 0;
const REQUEST: u8 = 1;
const ACK: u8 = 2;
const ASKS: u8 = 0x20;
const ENDS: u8 = 0x40;
const QUENCHED: u8 = 0x80;
const REPLIES: u8 = 0x40;
/// Set in the last word, so that the length of a packet on the wire does not depend on the grants.
const WHOLE: u32 = 1 << 31;

/// Adds a rate request behind connection and packet number: words 2 and 10 hold the request, 3 to 9 the grants.
fn with_ask(mut packed: Packed<Medium>, ask: &Ask) -> Packed<Medium> {
    let words = &mut packed.words;
    words[2] = ask.desired & MOST_RATE | u32::from(ask.grants.hops) << 24;
    ask.grants.write(&mut words[3..10]);
    words[10] = ask.before & MOST_RATE | u32::from(ask.number % NUMBERS) << 24 | WHOLE;
    packed
}

fn ask_of(kind: u8, words: &Medium) -> Ask {
    Ask {
        number: (words[10] >> 24) as u8 % NUMBERS,
        desired: words[2] & MOST_RATE,
        before: words[10] & MOST_RATE,
        ends: kind & ENDS != 0,
        grants: Grants::read(words[2] >> 24, &words[3..10]),
    }
}

impl Header for D3Header {
    const KINDS: &'static [&'static str] = &["data", "request", "ack"];
    type Words = Medium;

    fn pack(self) -> Packed<Medium> {
        match self {
            Self::Data { data, ask } => {
                let asks = flag(ask.is_some(), ASKS) | flag(ask.is_some_and(|ask| ask.ends), ENDS);
                with_ask(data.pack(DATA | asks), &ask.unwrap_or_default())
            }
            Self::Request { conn, quenched, ask } => {
                let kind = REQUEST | flag(ask.ends, ENDS) | flag(quenched, QUENCHED);
                with_ask(DataPacket { conn, seq: 0, last: false }.pack(kind), &ask)
            }
            Self::Ack { ack, reply } => {
                let mut packed: Packed<Medium> = ack.pack(ACK | flag(reply.is_some(), REPLIES));
                let (number, grants) = reply.unwrap_or_default();
                grants.write(&mut packed.words[3..10]);
                packed.words[10] = u32::from(grants.hops) | u32::from(number % NUMBERS) << 24 | WHOLE;
                packed
            }
        }
    }

    fn unpack(packed: Packed<Medium>) -> Self {
        let Packed { kind, words } = packed;
        let conn = ConnId::new(words[0]);
        match kind & 0x0f {
            DATA => {
                let ask = (kind & ASKS != 0).then(|| ask_of(kind, &words));
                Self::Data { data: DataPacket::unpack(&packed), ask }
            }
            REQUEST => Self::Request { conn, quenched: kind & QUENCHED != 0, ask: ask_of(kind, &words) },
            _ => {
                let grants = Grants::read(words[10] & 0xff, &words[3..10]);
                let reply = ((words[10] >> 24) as u8 % NUMBERS, grants);
                let reply = (kind & REPLIES != 0).then_some(reply);
                Self::Ack { ack: CumulativeAck::unpack(&packed), reply }
            }
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        match self {
            Self::Data { data, .. } => data.concerns(),
            Self::Request { conn, .. } => Some((conn, None)),
            Self::Ack { ack, .. } => ack.concerns(),
        }
    }

    /// Rule 6: the switch takes back its previous grant and writes its new grant into the same slot.
    fn at_hop(mut self, hop: &mut dyn Hop) -> Option<Self> {
        let ask = match &mut self {
            Self::Data { ask: Some(ask), .. } | Self::Request { ask, .. } => ask,
            Self::Data { .. } | Self::Ack { .. } => return None,
        };
        let Grants { hops, granted } = &mut ask.grants;
        match granted.get_mut(usize::from(*hops)) {
            Some(slot) => {
                let Ask { desired, before, ends, .. } = *ask;
                *slot = hop.allocate(RateAsk { desired, before, granted: *slot, ends })?;
                *hops += 1;
            }
            None => *hops = TOO_MANY,
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A port that grants the desired rate plus its previous grant, in epoch 9.
    struct Generous;

    impl Hop for Generous {
        fn allocate(&mut self, ask: RateAsk) -> Option<Grant> {
            Some(Grant { rate: ask.desired + ask.granted.rate, epoch: 9 })
        }
    }

    #[test]
    fn every_switch_finds_its_own_grant() {
        let mut granted = [Grant::default(); MOST_HOPS];
        (granted[0].rate, granted[1].rate) = (1, 2);
        let grants = Grants { hops: 0, granted };
        let ask = Ask { number: 3, desired: 100, before: 50, ends: false, grants };
        let mut header = D3Header::Request { conn: ConnId::new(7), quenched: false, ask };
        for _ in 0..2 {
            header = header.at_hop(&mut Generous).unwrap();
        }
        let D3Header::Request { ask, .. } = header else { panic!("{header:?}") };
        assert_eq!(ask.grants.granted.map(|grant| grant.rate)[..3], [101, 102, 0]);
        assert_eq!((ask.grants.hops, ask.grants.rate(), ask.number), (2, Some(101), 3));
        for _ in 0..6 {
            header = header.at_hop(&mut Generous).unwrap();
        }
        let D3Header::Request { ask, .. } = header else { panic!("{header:?}") };
        assert!(ask.grants.overflows());
    }

    #[test]
    fn what_asks_nothing_is_not_touched() {
        let conn = ConnId::new(7);
        let data = D3Header::Data { data: DataPacket { conn, seq: 3, last: false }, ask: None };
        let ack = CumulativeAck { conn, cumulative: 1, answers: None, finished: false };
        let ack = D3Header::Ack { ack, reply: Some((1, Grants::default())) };
        assert!(data.at_hop(&mut Generous).is_none() && ack.at_hop(&mut Generous).is_none());
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(kind: u8, words: [u32; 11]) {
            let header = D3Header::unpack(Packed { kind, words });
            prop_assert_eq!(D3Header::unpack(header.pack()), header);
            prop_assert!(header.pack().words[10] != 0, "the last word says how long a header is");
        }
    }
}
