use pullnet_transport::{ConnId, Grant, Header, Hop, MOST_RATE, Medium, Packed, RateAsk, RateUnits};

/// Switches on a path that can allocate rates.
pub const MOST_HOPS: usize = 7;
/// Says that there were more.
const TOO_MANY: u8 = MOST_HOPS as u8 + 1;
/// Asks are numbered modulo this.
pub const NUMBERS: u8 = 1 << 7;

/// What the switches on a path granted, in the order of the path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Grants {
    /// Switches that were passed; more than [`MOST_HOPS`]: too many to remember.
    pub hops: u8,
    /// What each one granted.
    pub granted: [Grant; MOST_HOPS],
}

impl Grants {
    /// The rate that all of them grant; `None`: none of them allocates.
    pub fn rate(&self) -> Option<RateUnits> {
        self.granted[..MOST_HOPS.min(self.hops.into())].iter().map(|grant| grant.rate).min()
    }

    /// Whether there were more switches than a header has room for.
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

/// A flow asks for a rate. Each switch on the way finds what it granted before, and puts its new grant there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ask {
    /// Tells asks of a flow apart, below [`NUMBERS`].
    pub number: u8,
    /// The rate that the flow needs; 0: a fair share.
    pub desired: RateUnits,
    /// What it said when it was granted what it hands back.
    pub before: RateUnits,
    /// It ends (FIN): grants are handed back and none are wanted.
    pub ends: bool,
    /// Grants of before behind [`Grants::hops`], new ones up to there.
    pub grants: Grants,
}

/// A packet of D3. Data packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum D3Header {
    /// Payload.
    Data {
        /// The sender's connection.
        conn: ConnId,
        /// Packet number.
        seq: u32,
        /// The last packet of the flow.
        last: bool,
        /// The ask of this round trip, if this packet carries it.
        ask: Option<Ask>,
    },
    /// An ask without payload: the first one opens the connection (SYN).
    Request {
        /// The sender's connection.
        conn: ConnId,
        /// The sender gives up: nothing else will come.
        quenched: bool,
        /// The ask.
        ask: Ask,
    },
    /// Acknowledges packets.
    Ack {
        /// The sender's connection.
        conn: ConnId,
        /// Every packet below this number has arrived.
        cumulative: u32,
        /// The data packet that this ACK answers.
        answers: Option<u32>,
        /// The whole flow has arrived.
        finished: bool,
        /// Number and grants of the ask that the packet carried.
        reply: Option<(u8, Grants)>,
    },
}

const DATA: u8 = 0;
const REQUEST: u8 = 1;
const ACK: u8 = 2;
const LAST: u8 = 0x10;
const ASKS: u8 = 0x20;
const ENDS: u8 = 0x40;
const QUENCHED: u8 = 0x80;
const ANSWERS: u8 = 0x10;
const FINISHED: u8 = 0x20;
const REPLIES: u8 = 0x40;
/// Set in the last word, so that packets on the wire have the same length whatever was granted.
const WHOLE: u32 = 1 << 31;

fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

/// Words of a packet that carries an ask: 2 and 10 for the ask, 3 to 9 for the grants.
fn ask_words(conn: ConnId, seq: u32, ask: &Ask) -> Medium {
    let mut words = [0; 11];
    (words[0], words[1]) = (conn.0, seq);
    words[2] = ask.desired & MOST_RATE | u32::from(ask.grants.hops) << 24;
    ask.grants.write(&mut words[3..10]);
    words[10] = ask.before & MOST_RATE | u32::from(ask.number % NUMBERS) << 24 | WHOLE;
    words
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
            Self::Data { conn, seq, last, ask } => {
                let asks = flag(ask.is_some(), ASKS) | flag(ask.is_some_and(|ask| ask.ends), ENDS);
                let words = ask_words(conn, seq, &ask.unwrap_or_default());
                Packed { kind: DATA | flag(last, LAST) | asks, words }
            }
            Self::Request { conn, quenched, ask } => {
                let kind = REQUEST | flag(ask.ends, ENDS) | flag(quenched, QUENCHED);
                Packed { kind, words: ask_words(conn, 0, &ask) }
            }
            Self::Ack { conn, cumulative, answers, finished, reply } => {
                let kind = ACK | flag(answers.is_some(), ANSWERS) | flag(finished, FINISHED);
                let mut words = [0; 11];
                (words[0], words[1], words[2]) = (conn.0, cumulative, answers.unwrap_or(0));
                let (number, grants) = reply.unwrap_or_default();
                grants.write(&mut words[3..10]);
                words[10] = u32::from(grants.hops) | u32::from(number % NUMBERS) << 24 | WHOLE;
                Packed { kind: kind | flag(reply.is_some(), REPLIES), words }
            }
        }
    }

    fn unpack(packed: Packed<Medium>) -> Self {
        let Packed { kind, words } = packed;
        let conn = ConnId(words[0]);
        match kind & 0x0f {
            DATA => {
                let ask = (kind & ASKS != 0).then(|| ask_of(kind, &words));
                Self::Data { conn, seq: words[1], last: kind & LAST != 0, ask }
            }
            REQUEST => Self::Request { conn, quenched: kind & QUENCHED != 0, ask: ask_of(kind, &words) },
            _ => {
                let grants = Grants::read(words[10] & 0xff, &words[3..10]);
                Self::Ack {
                    conn,
                    cumulative: words[1],
                    answers: (kind & ANSWERS != 0).then_some(words[2]),
                    finished: kind & FINISHED != 0,
                    reply: (kind & REPLIES != 0).then_some(((words[10] >> 24) as u8 % NUMBERS, grants)),
                }
            }
        }
    }

    fn concerns(self) -> Option<(ConnId, Option<u32>)> {
        Some(match self {
            Self::Data { conn, seq, .. } => (conn, Some(seq)),
            Self::Request { conn, .. } => (conn, None),
            Self::Ack { conn, answers, .. } => (conn, answers),
        })
    }

    /// Rule 6: the switch takes back what it granted before, and its new grant takes that place.
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

    /// A port that grants what is desired beside what was granted, in epoch 9.
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
        let mut header = D3Header::Request { conn: ConnId(7), quenched: false, ask };
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
        let data = D3Header::Data { conn: ConnId(7), seq: 3, last: false, ask: None };
        let reply = Some((1, Grants::default()));
        let ack = D3Header::Ack { conn: ConnId(7), cumulative: 1, answers: None, finished: false, reply };
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
