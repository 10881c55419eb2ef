use pullnet_rdma::{Carrier, RdmaHeader};
use pullnet_transport::{ConnId, Header, Hop, Large, Packed, PortState};
use pullnet_units::{BitsPerSec, PacketSeq, Picos};

/// Maximum number of recording switches on a path.
pub const MOST_HOPS: usize = 7;
/// Value of [`Records::hops`] for a path with more than [`MOST_HOPS`] switches.
const TOO_MANY: u8 = MOST_HOPS as u8 + 1;
/// Bytes in one unit of [`Record::waiting`].
pub const WAITING_UNIT: u64 = 64;
/// The largest number of such units.
const MOST_WAITING: u64 = (1 << 20) - 1;
/// Largest mantissa of a [`Rate`].
const MOST_MANTISSA: u64 = (1 << 9) - 1;

/// Rate of a link in 12 bits: a mantissa of 9 bits times a power of ten, in Mb/s. Three digits are exact.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rate(u16);

impl Rate {
    /// Rounds `rate` down to a rate that 12 bits can hold, and up to 1 Mb/s.
    pub fn of(rate: BitsPerSec) -> Self {
        let (mut mantissa, mut exponent) = ((rate.get() / 1_000_000).max(1), 0);
        while mantissa > MOST_MANTISSA && exponent < 7 {
            (mantissa, exponent) = (mantissa / 10, exponent + 1);
        }
        Self(mantissa.min(MOST_MANTISSA) as u16 | exponent << 9)
    }

    /// Bits per second.
    pub fn get(self) -> f64 {
        let (mantissa, exponent) = (u64::from(self.0) & MOST_MANTISSA, u32::from(self.0 >> 9 & 7));
        (mantissa * 10u64.pow(exponent) * 1_000_000) as f64
    }
}

/// State of one port at the departure of a packet. Times and counts have 32 bits and begin again at 0; differences are
/// right up to 4.29 s and 4.29 GB.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Record {
    /// Nanoseconds.
    time: u32,
    /// Bytes that left before the packet.
    sent: u32,
    /// Units of [`WAITING_UNIT`] that waited behind it.
    waiting: u32,
    rate: Rate,
}

impl Record {
    /// The record of a port.
    pub fn of(state: PortState) -> Self {
        Self {
            time: (state.now.0 / 1000) as u32,
            sent: state.sent as u32,
            waiting: (state.waiting / WAITING_UNIT).min(MOST_WAITING) as u32,
            rate: Rate::of(state.rate),
        }
    }

    /// Time since `earlier`, a record of the same port; zero if this record is older. The clock wraps after 4.3 s, and a
    /// difference above half of that counts as negative.
    pub fn time_since(&self, earlier: &Self) -> Picos {
        let nanos = self.time.wrapping_sub(earlier.time) as i32;
        Picos(nanos.max(0) as u64 * 1000)
    }

    /// Bytes sent since `earlier`, a record of the same port.
    pub fn sent_since(&self, earlier: &Self) -> u64 {
        self.sent.wrapping_sub(earlier.sent).into()
    }

    /// Bytes that waited.
    pub fn waiting(&self) -> u64 {
        u64::from(self.waiting) * WAITING_UNIT
    }

    /// Rate of the link. Bits per second.
    pub fn rate(&self) -> f64 {
        self.rate.get()
    }

    fn write(&self, words: &mut [u32]) {
        words.copy_from_slice(&[self.time, self.sent, self.waiting | u32::from(self.rate.0) << 20]);
    }

    fn read(words: &[u32]) -> Self {
        let (waiting, rate) = (words[2] & MOST_WAITING as u32, Rate((words[2] >> 20) as u16));
        Self { time: words[0], sent: words[1], waiting, rate }
    }
}

/// Records of the ports on a path, in path order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Records {
    /// Number of ports passed; above [`MOST_HOPS`]: more than the header can hold.
    hops: u8,
    ports: [Record; MOST_HOPS],
}

impl Records {
    /// The records; `None`: the path has more ports than the header can hold.
    pub fn get(&self) -> Option<&[Record]> {
        self.ports.get(..self.hops.into())
    }

    /// Appends the record of one more port.
    pub fn push(&mut self, state: PortState) {
        if let Some(port) = self.ports.get_mut(usize::from(self.hops)) {
            *port = Record::of(state);
        }
        self.hops = (self.hops + 1).min(TOO_MANY);
    }
}

/// A packet of HPCC: one of RoCE, with what it has collected, or, in an answer, what the answered packet had collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HpccHeader {
    /// The packet.
    pub packet: RdmaHeader,
    /// The records.
    pub records: Records,
}

/// Set in the last word, so that the length of a packet on the wire does not depend on the records.
const WHOLE: u32 = 1 << 31;

impl Header for HpccHeader {
    const KINDS: &'static [&'static str] = RdmaHeader::KINDS;
    type Words = Large;

    fn pack(self) -> Packed<Large> {
        let Packed { kind, words: [conn, seq, cumulative] } = self.packet.pack();
        let mut words = [0; 27];
        words[..3].copy_from_slice(&[conn, seq, cumulative]);
        words[3] = self.records.hops.into();
        for (record, words) in self.records.ports.iter().zip(words[4..25].chunks_exact_mut(3)) {
            record.write(words);
        }
        words[26] = WHOLE;
        Packed { kind, words }
    }

    fn unpack(packed: Packed<Large>) -> Self {
        let Packed { kind, words } = packed;
        let packet = RdmaHeader::unpack(Packed { kind, words: [words[0], words[1], words[2]] });
        let hops = (words[3] as u8).min(TOO_MANY);
        let ports = core::array::from_fn(|port| Record::read(&words[4 + 3 * port..7 + 3 * port]));
        Self { packet, records: Records { hops, ports } }
    }

    fn concerns(self) -> Option<(ConnId, Option<PacketSeq>)> {
        self.packet.concerns()
    }

    fn at_hop(mut self, hop: &mut dyn Hop) -> Option<Self> {
        if !matches!(self.packet, RdmaHeader::Data(..)) {
            return None;
        }
        self.records.push(hop.state()?);
        Some(self)
    }
}

impl Carrier for HpccHeader {
    type Collected = Records;

    fn join(packet: RdmaHeader, records: Records) -> Self {
        Self { packet, records }
    }

    fn split(self) -> (RdmaHeader, Records) {
        (self.packet, self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pullnet_transport::DataPacket;
    use pullnet_units::Instant;

    /// A port with a state.
    struct Port(PortState);

    impl Hop for Port {
        fn state(&mut self) -> Option<PortState> {
            Some(self.0)
        }
    }

    fn state(time: u64, sent: u64, waiting: u64) -> PortState {
        PortState { now: Instant(time), rate: BitsPerSec::new(100_000_000_000).unwrap(), sent, waiting }
    }

    #[test]
    fn every_port_adds_its_record_and_one_too_many_is_noticed() {
        let packet = RdmaHeader::Data(DataPacket { conn: ConnId::new(7), seq: 3, last: false });
        let mut header = HpccHeader { packet, records: Records::default() };
        for port in 1..=MOST_HOPS as u64 {
            header = header.at_hop(&mut Port(state(5_000 * port, 100 * port, 640 * port))).unwrap();
            assert_eq!(header.records.get().unwrap().len() as u64, port);
        }
        let second = header.records.get().unwrap()[1];
        assert_eq!((second.time, second.sent, second.waiting(), second.rate()), (10, 200, 1280, 100e9));
        assert!(header.at_hop(&mut Port(state(0, 0, 0))).unwrap().records.get().is_none());
    }

    #[test]
    fn answers_collect_nothing() {
        let packet = RdmaHeader::Cnp { conn: ConnId::new(7) };
        let header = HpccHeader { packet, records: Records::default() };
        assert!(header.at_hop(&mut Port(state(0, 0, 0))).is_none());
    }

    #[test]
    fn differences_outlive_the_end_of_a_count() {
        let (before, after) = (
            Record::of(state(4_294_967_000_000, (1 << 32) - 100, 0)),
            Record::of(state(4_294_968_000_000, (1 << 32) + 50, 0)),
        );
        assert_eq!((after.time_since(&before), after.sent_since(&before)), (Picos(1_000_000), 150));
    }

    #[test]
    fn rates_of_three_digits_are_exact() {
        for rate in [1_000_000, 25_000_000_000, 100_000_000_000, 400_000_000_000, 1_600_000_000_000u64] {
            assert_eq!(Rate::of(BitsPerSec::new(rate).unwrap()).get(), rate as f64);
        }
        assert_eq!(Rate::of(BitsPerSec::new(123_456_789_000).unwrap()).get(), 123e9);
        assert_eq!(Rate::of(BitsPerSec::new(1).unwrap()).get(), 1e6);
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(kind: u8, words: [u32; 27]) {
            let header = HpccHeader::unpack(Packed { kind, words });
            prop_assert_eq!(HpccHeader::unpack(header.pack()), header);
            prop_assert!(header.pack().words[26] != 0, "the last word says how long a header is");
        }
    }
}
