use pullnet_transport::{ConnId, DataPacket, Header, HostAddr, Medium, Packed, flag};
use pullnet_units::{Instant, PacketSeq};

/// Most timeslots of a schedule: what its header has room for.
pub const MOST_SLOTS: usize = 8;

/// A source's request to its arbiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The destination.
    pub to: HostAddr,
    /// Requested timeslots.
    pub packets: u32,
    /// Equal-cost paths from source to destination.
    pub paths: u16,
    /// Priority set by the application; a higher number goes first.
    pub priority: u8,
    /// When the last byte should have arrived.
    pub deadline: Option<Instant>,
}

/// A timeslot of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// The source's handle of the flow.
    pub handle: u32,
    /// The path; `None`: the source chooses.
    pub path: Option<u8>,
}

/// A Fastpass packet. Packets are numbered from 0 within a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastpassHeader {
    /// Source to arbiter: requests timeslots.
    Request {
        /// The source's handle of the flow.
        handle: u32,
        /// Number of the request: a higher one replaces what is left of others of this flow.
        round: u32,
        /// The request.
        demand: Demand,
    },
    /// Source to arbiter: the flow has ended.
    End {
        /// The source's handle of the flow.
        handle: u32,
    },
    /// Is there an arbiter? The arbiter's answer says so.
    Probe {
        /// This is the answer.
        answer: bool,
    },
    /// Source to destination: the flow waits for slots, and must not be forgotten.
    Alive {
        /// The source's connection.
        conn: ConnId,
    },
    /// Arbiter to source: the request is known.
    Status {
        /// The source's handle of the flow.
        handle: u32,
        /// Number of the request.
        round: u32,
        /// Requested slots that are not allocated yet.
        left: u32,
    },
    /// Arbiter to source: timeslots of one epoch.
    Schedule {
        /// The epoch, counted from time 0, modulo 2^32.
        epoch: u32,
        /// The packets that the source sends, one for each slot of the epoch.
        slots: [Option<Allocation>; MOST_SLOTS],
    },
    /// Payload.
    Data(DataPacket),
    /// Acknowledges packets.
    Ack {
        /// The source's connection.
        conn: ConnId,
        /// Every packet below this number has arrived.
        cumulative: u32,
        /// The data packet that this ACK answers.
        answers: u32,
        /// The whole flow has arrived.
        finished: bool,
    },
}

const REQUEST: u8 = 0;
const END: u8 = 1;
const PROBE: u8 = 2;
const STATUS: u8 = 3;
const SCHEDULE: u8 = 4;
const DATA: u8 = 5;
const ACK: u8 = 6;
/// Flag of a request, an answer, and an ACK of the whole flow.
const FLAG: u8 = 0x10;
/// Marks a probe as [`FastpassHeader::Alive`], which has no answer.
const ALIVE: u8 = 0x20;
/// Paths of a schedule have 8 bits: the largest value says that there is no allocation, the next that the source chooses.
const NO_SLOT: u8 = 0xff;
const ANY_PATH: u8 = 0xfe;
/// Paths that a schedule can name.
pub(crate) const MOST_PATHS: u16 = ANY_PATH as u16;

fn pack_slots(slots: &[Option<Allocation>; MOST_SLOTS], words: &mut Medium) {
    for (place, slot) in slots.iter().enumerate() {
        let path = slot.map_or(NO_SLOT, |slot| slot.path.map_or(ANY_PATH, |path| path.min(ANY_PATH - 1)));
        words[1 + place] = slot.map_or(0, |slot| slot.handle);
        words[9 + place / 4] |= u32::from(path) << (place % 4 * 8);
    }
}

fn unpack_slot(words: &Medium, place: usize) -> Option<Allocation> {
    let path = (words[9 + place / 4] >> (place % 4 * 8)) as u8;
    let handle = words[1 + place];
    (path != NO_SLOT).then(|| Allocation { handle, path: (path != ANY_PATH).then_some(path) })
}

fn pack_demand(demand: &Demand, words: &mut Medium) -> u8 {
    let deadline = demand.deadline.map_or(0, |at| at.0);
    (words[2], words[3]) = (demand.packets, demand.to.0);
    words[4] = u32::from(demand.paths) | u32::from(demand.priority) << 16;
    (words[5], words[6]) = (deadline as u32, (deadline >> 32) as u32);
    flag(demand.deadline.is_some(), FLAG)
}

fn unpack_demand(kind: u8, words: &Medium) -> Demand {
    let deadline = Instant(u64::from(words[5]) | u64::from(words[6]) << 32);
    Demand {
        to: HostAddr(words[3]),
        packets: words[2],
        paths: words[4] as u16,
        priority: (words[4] >> 16) as u8,
        deadline: (kind & FLAG != 0).then_some(deadline),
    }
}

impl Header for FastpassHeader {
    const KINDS: &'static [&'static str] = &["request", "end", "probe", "status", "schedule", "data", "ack"];
    type Words = Medium;

    /// No timer of a source runs for a control packet to or from the arbiter alone.
    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        match self {
            Self::Data(data) => data.concerns(),
            Self::Ack { conn, answers, .. } => Some((conn, Some(PacketSeq::new(answers)))),
            Self::Alive { conn } => Some((conn, None)),
            _ => None,
        }
    }

    #[inline]
    fn pack(self) -> Packed<Medium> {
        let mut words = [0; 11];
        let kind = match self {
            Self::Request { handle, round, demand } => {
                (words[0], words[1]) = (handle, round);
                REQUEST | pack_demand(&demand, &mut words)
            }
            Self::End { handle } => {
                words[0] = handle;
                END
            }
            Self::Probe { answer } => PROBE | flag(answer, FLAG),
            Self::Alive { conn } => {
                words[0] = conn.get();
                PROBE | ALIVE
            }
            Self::Status { handle, round, left } => {
                (words[0], words[1], words[2]) = (handle, round, left);
                STATUS
            }
            Self::Schedule { epoch, slots } => {
                words[0] = epoch;
                pack_slots(&slots, &mut words);
                SCHEDULE
            }
            Self::Data(data) => return data.pack(DATA),
            Self::Ack { conn, cumulative, answers, finished } => {
                (words[0], words[1], words[2]) = (conn.get(), cumulative, answers);
                ACK | flag(finished, FLAG)
            }
        };
        Packed { kind, words }
    }

    #[inline]
    fn unpack(packed: Packed<Medium>) -> Self {
        let Packed { kind, words } = packed;
        let (first, set) = (words[0], kind & FLAG != 0);
        match kind & 0x0f {
            REQUEST => Self::Request { handle: first, round: words[1], demand: unpack_demand(kind, &words) },
            END => Self::End { handle: first },
            PROBE if kind & ALIVE != 0 => Self::Alive { conn: ConnId::new(first) },
            PROBE => Self::Probe { answer: set },
            STATUS => Self::Status { handle: first, round: words[1], left: words[2] },
            SCHEDULE => {
                let slots = core::array::from_fn(|place| unpack_slot(&words, place));
                Self::Schedule { epoch: first, slots }
            }
            DATA => Self::Data(DataPacket::unpack(&packed)),
            _ => {
                let (cumulative, answers) = (words[1], words[2]);
                Self::Ack { conn: ConnId::new(first), cumulative, answers, finished: set }
            }
        }
    }
}
