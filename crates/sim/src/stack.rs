//! The transports of one host, as the engine drives them.
//!
//! A run with one transport drives its endpoint directly, with code compiled for it. A run with several drives
//! [`Several`], with a virtual call for every packet. The type of a packet tells its transport: the types of all
//! transports of a run share the 16 numbers that a packed header has.

use pullnet_protocols::{MOST_KINDS, ProtocolConfig, with_protocol};
use pullnet_rng::RandomStream;
use pullnet_scenario::CarriedBy;
use pullnet_transport::{
    ConnId, Event, FlowSpec, FlowStatus, Framing, GroupMember, Header, Hop, HopView, HostAddr, HostInfo,
    Packed, Protocol, Received, Source, Transmit, Transport, Words,
};
use pullnet_units::{Instant, PacketSeq};

/// All transports of one host. Headers are packed.
pub trait Stack<W: Words>: Send {
    /// Bytes at the beginning that nearly every call needs, see [`Transport::HOT_BYTES`].
    const HOT_BYTES: usize;

    /// The application offers data to the transport of number `transport`.
    fn open(&mut self, now: Instant, transport: u8, flow: FlowSpec);
    /// See [`Transport::open_group`].
    fn open_group(&mut self, now: Instant, transport: u8, flow: FlowSpec, receivers: &[GroupMember]);
    /// See [`Transport::open_source`].
    fn open_source(&mut self, now: Instant, transport: u8, flow: FlowSpec, source: Source);
    /// See [`Transport::open_relay`].
    fn open_relay(&mut self, now: Instant, transport: u8, flow: FlowSpec);
    /// See [`Transport::supply`].
    fn supply(&mut self, now: Instant, transport: u8, to: HostAddr, conn: ConnId, bytes: u64);
    /// See [`Transport::cut_off`].
    fn cut_off(&mut self, now: Instant, transport: u8, to: HostAddr, conn: ConnId);
    /// A packet has arrived.
    fn handle(&mut self, now: Instant, packet: Received<Packed<W>>);
    /// The time of [`Stack::next_timeout`] has come.
    fn handle_timeout(&mut self, now: Instant);
    /// See [`Transport::poll_transmit`].
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed<W>>>;
    /// See [`Transport::poll_event`].
    fn poll_event(&mut self) -> Option<Event>;
    /// The next deadline; [`Instant::NEVER`] if there is none.
    fn next_timeout(&self) -> Instant;
    /// See [`Transport::prefetch_targets`].
    fn prefetch_targets(&self, step: u8, visit: &mut impl FnMut(*const u8));
    /// See [`Transport::open_flows`].
    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus));
}

impl<W: Words, T: Transport<Header: Header<Words = W>> + Send> Stack<W> for T {
    const HOT_BYTES: usize = <T as Transport>::HOT_BYTES;

    #[inline(always)]
    fn open(&mut self, now: Instant, _: u8, flow: FlowSpec) {
        Transport::open(self, now, flow);
    }

    fn open_group(&mut self, now: Instant, _: u8, flow: FlowSpec, receivers: &[GroupMember]) {
        Transport::open_group(self, now, flow, receivers);
    }

    fn open_source(&mut self, now: Instant, _: u8, flow: FlowSpec, source: Source) {
        Transport::open_source(self, now, flow, source);
    }

    fn open_relay(&mut self, now: Instant, _: u8, flow: FlowSpec) {
        Transport::open_relay(self, now, flow);
    }

    fn supply(&mut self, now: Instant, _: u8, to: HostAddr, conn: ConnId, bytes: u64) {
        Transport::supply(self, now, to, conn, bytes);
    }

    fn cut_off(&mut self, now: Instant, _: u8, to: HostAddr, conn: ConnId) {
        Transport::cut_off(self, now, to, conn);
    }

    #[inline(always)]
    fn handle(&mut self, now: Instant, packet: Received<Packed<W>>) {
        Transport::handle(self, now, packet.map(T::Header::unpack));
    }

    #[inline(always)]
    fn handle_timeout(&mut self, now: Instant) {
        Transport::handle_timeout(self, now);
    }

    #[inline(always)]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed<W>>> {
        Transport::poll_transmit(self, now).map(|packet| packet.map(T::Header::pack))
    }

    #[inline(always)]
    fn poll_event(&mut self) -> Option<Event> {
        Transport::poll_event(self)
    }

    #[inline(always)]
    fn next_timeout(&self) -> Instant {
        self.poll_timeout().map_or(Instant::NEVER, |deadline| deadline.at)
    }

    #[inline(always)]
    fn prefetch_targets(&self, step: u8, visit: &mut impl FnMut(*const u8)) {
        Transport::prefetch_targets(self, step, visit);
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        Transport::open_flows(self, visit);
    }
}

/// One of several transports of a host. Headers are packed as by the protocol, in the words of the run.
trait Member<W>: Send {
    fn open(&mut self, now: Instant, flow: FlowSpec);
    fn open_group(&mut self, now: Instant, flow: FlowSpec, receivers: &[GroupMember]);
    fn open_source(&mut self, now: Instant, flow: FlowSpec, source: Source);
    fn open_relay(&mut self, now: Instant, flow: FlowSpec);
    fn supply(&mut self, now: Instant, to: HostAddr, conn: ConnId, bytes: u64);
    fn cut_off(&mut self, now: Instant, to: HostAddr, conn: ConnId);
    fn handle(&mut self, now: Instant, packet: Received<Packed<W>>);
    fn handle_timeout(&mut self, now: Instant);
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed<W>>>;
    fn poll_event(&mut self) -> Option<Event>;
    fn next_timeout(&self) -> Instant;
    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus));
}

/// An endpoint whose headers have fewer words than the packets of the run.
struct Narrow<T>(T);

/// The words of a header that its protocol uses.
fn narrow<W: Words, V: Words>(packed: Packed<W>) -> Packed<V> {
    let mut words = V::default();
    words.get_mut().copy_from_slice(&packed.words.get()[..V::COUNT]);
    Packed { kind: packed.kind, words }
}

/// The same header with more words.
fn widen<V: Words, W: Words>(packed: Packed<V>) -> Packed<W> {
    let mut words = W::default();
    words.get_mut()[..V::COUNT].copy_from_slice(packed.words.get());
    Packed { kind: packed.kind, words }
}

impl<W: Words, T: Transport + Send> Member<W> for Narrow<T> {
    fn open(&mut self, now: Instant, flow: FlowSpec) {
        self.0.open(now, flow);
    }

    fn open_group(&mut self, now: Instant, flow: FlowSpec, receivers: &[GroupMember]) {
        self.0.open_group(now, flow, receivers);
    }

    fn open_source(&mut self, now: Instant, flow: FlowSpec, source: Source) {
        self.0.open_source(now, flow, source);
    }

    fn open_relay(&mut self, now: Instant, flow: FlowSpec) {
        self.0.open_relay(now, flow);
    }

    fn supply(&mut self, now: Instant, to: HostAddr, conn: ConnId, bytes: u64) {
        self.0.supply(now, to, conn, bytes);
    }

    fn cut_off(&mut self, now: Instant, to: HostAddr, conn: ConnId) {
        self.0.cut_off(now, to, conn);
    }

    fn handle(&mut self, now: Instant, packet: Received<Packed<W>>) {
        self.0.handle(now, packet.map(|header| T::Header::unpack(narrow(header))));
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed<W>>> {
        self.0.poll_transmit(now).map(|packet| packet.map(|header| widen(header.pack())))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.0.poll_event()
    }

    fn next_timeout(&self) -> Instant {
        self.0.poll_timeout().map_or(Instant::NEVER, |deadline| deadline.at)
    }

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        self.0.open_flows(visit);
    }
}

/// Connection and packet number that a header refers to, see [`Header::concerns`].
pub type About = Option<(ConnId, Option<PacketSeq>)>;
/// Reads the connection and packet number from a header.
pub type Concern<W> = fn(Packed<W>) -> About;
/// Reads the fields for switches that order packets by flow from a header, see [`Header::hop_view`].
pub type View<W> = fn(Packed<W>) -> Option<HopView>;
/// What a header becomes at a port that writes into headers, see [`Header::at_hop`].
pub type AtHop<W> = fn(Packed<W>, &mut dyn Hop) -> Option<Packed<W>>;

/// Packet format of one transport in a run with several.
#[derive(Clone, Copy, Debug)]
struct Look<W> {
    /// Number of its first packet type among those of the run.
    first_kind: u8,
    /// Names of its packet types.
    kinds: &'static [&'static str],
    /// Priority of its packets at switches; `None` to keep the transport's own.
    class: Option<u8>,
    /// Reads the connection and packet number from a header of the protocol's own type.
    about: Concern<W>,
    /// Reads the fields that switches may see.
    view: View<W>,
    /// What it becomes at a port that writes into it.
    at_hop: AtHop<W>,
}

/// Packet formats of the transports in a run with several.
#[derive(Clone, Debug)]
pub struct Looks<W> {
    looks: Vec<Look<W>>,
    /// Transport by the number of a packet type.
    of_kind: [u8; MOST_KINDS],
}

impl<W: Words> Looks<W> {
    /// Formats of the transports of a scenario, which was checked not to have too many packet types.
    pub fn new(transports: &[CarriedBy]) -> Self {
        let mut all = Self { looks: Vec::new(), of_kind: [0; MOST_KINDS] };
        let mut first_kind = 0;
        for (number, CarriedBy { config, class, .. }) in (0..).zip(transports) {
            let (about, view, at_hop, kinds) = with_protocol!(config, |_config: P| readers::<P, W>());
            all.of_kind[first_kind..first_kind + kinds.len()].fill(number);
            all.looks.push(Look { first_kind: first_kind as u8, kinds, class: *class, about, view, at_hop });
            first_kind += kinds.len();
        }
        all
    }

    /// Transport of a packet, and the header as that transport packed it.
    fn own(&self, packed: Packed<W>) -> (usize, Packed<W>) {
        let transport = usize::from(self.of_kind[usize::from(packed.kind & 0x0f)]);
        (transport, Packed { kind: packed.kind - self.looks[transport].first_kind, ..packed })
    }

    /// Connection and packet number of a header.
    pub fn about(&self, packed: Packed<W>) -> About {
        let (transport, packed) = self.own(packed);
        (self.looks[transport].about)(packed)
    }

    /// Packet type, in the protocol's terms.
    pub fn kind(&self, packed: Packed<W>) -> &'static str {
        let (transport, own) = self.own(packed);
        self.looks[transport].kinds[usize::from(own.kind & 0x0f)]
    }

    /// Header fields that switches may read.
    pub fn view(&self, packed: Packed<W>) -> Option<HopView> {
        let (transport, packed) = self.own(packed);
        (self.looks[transport].view)(packed)
    }

    /// What a header becomes at a port that writes into it.
    pub fn at_hop(&self, packed: Packed<W>, hop: &mut dyn Hop) -> Option<Packed<W>> {
        let (transport, own) = self.own(packed);
        let Look { first_kind, at_hop, .. } = self.looks[transport];
        at_hop(own, hop).map(|written| Packed { kind: written.kind + first_kind, ..written })
    }
}

/// Readers of the headers of protocol `P`, and the names of its packet types.
fn readers<P: Protocol, W: Words>() -> (Concern<W>, View<W>, AtHop<W>, &'static [&'static str]) {
    type HeaderOf<P> = <<P as Protocol>::Endpoint as Transport>::Header;
    let about = |packed| HeaderOf::<P>::unpack(narrow(packed)).concerns();
    let view = |packed| HeaderOf::<P>::unpack(narrow(packed)).hop_view();
    let at_hop: AtHop<W> = |packed, hop| {
        let written = HeaderOf::<P>::unpack(narrow(packed)).at_hop(hop)?;
        Some(widen(written.pack()))
    };
    (about, view, at_hop, HeaderOf::<P>::KINDS)
}

/// Several transports on one host. They take turns on the link, packet by packet.
pub struct Several<W> {
    members: Vec<Box<dyn Member<W>>>,
    looks: Looks<W>,
    /// Number of the transport that may use the link next.
    turn: usize,
}

impl<W: Words> Several<W> {
    /// The transports of host `info`. Each transport gets random numbers of its own from `chance`, by its number.
    pub fn new(
        transports: &[CarriedBy],
        looks: &Looks<W>,
        info: HostInfo,
        chance: impl Fn(usize) -> RandomStream,
    ) -> Self {
        let member = |(number, carried): (usize, &CarriedBy)| member(&carried.config, info, chance(number));
        let members = transports.iter().enumerate().map(member).collect();
        Self { members, looks: looks.clone(), turn: 0 }
    }
}

fn member<W: Words>(config: &ProtocolConfig, info: HostInfo, chance: RandomStream) -> Box<dyn Member<W>> {
    with_protocol!(config, |config: P| Box::new(Narrow(P::endpoint(config, info, chance))))
}

impl<W: Words> Stack<W> for Several<W> {
    const HOT_BYTES: usize = size_of::<Self>();

    fn open(&mut self, now: Instant, transport: u8, flow: FlowSpec) {
        self.members[usize::from(transport)].open(now, flow);
    }

    fn open_group(&mut self, now: Instant, transport: u8, flow: FlowSpec, receivers: &[GroupMember]) {
        self.members[usize::from(transport)].open_group(now, flow, receivers);
    }

    fn open_source(&mut self, now: Instant, transport: u8, flow: FlowSpec, source: Source) {
        self.members[usize::from(transport)].open_source(now, flow, source);
    }

    fn open_relay(&mut self, now: Instant, transport: u8, flow: FlowSpec) {
        self.members[usize::from(transport)].open_relay(now, flow);
    }

    fn supply(&mut self, now: Instant, transport: u8, to: HostAddr, conn: ConnId, bytes: u64) {
        self.members[usize::from(transport)].supply(now, to, conn, bytes);
    }

    fn cut_off(&mut self, now: Instant, transport: u8, to: HostAddr, conn: ConnId) {
        self.members[usize::from(transport)].cut_off(now, to, conn);
    }

    fn handle(&mut self, now: Instant, packet: Received<Packed<W>>) {
        let (transport, header) = self.looks.own(packet.header);
        self.members[transport].handle(now, packet.map(|_| header));
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due = self.members.iter_mut().filter(|member| member.next_timeout() <= now);
        due.for_each(|member| member.handle_timeout(now));
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed<W>>> {
        let count = self.members.len();
        for number in (self.turn..self.turn + count).map(|number| number % count) {
            let Some(mut packet) = self.members[number].poll_transmit(now) else { continue };
            self.turn = (number + 1) % count;
            let Look { first_kind, class, .. } = self.looks.looks[number];
            packet.priority = class.unwrap_or(packet.priority);
            packet.header.kind += first_kind;
            return Some(packet);
        }
        None
    }

    /// Each transport numbers its receiving slots from 0. Renumbering makes the numbers unique within the host.
    fn poll_event(&mut self) -> Option<Event> {
        let count = self.members.len() as u32;
        let event = |(number, member): (u32, &mut Box<dyn Member<W>>)| {
            let renumbered = |slot: u32| slot * count + number;
            member.poll_event().map(|event| event.with_slot(renumbered))
        };
        (0..).zip(&mut self.members).find_map(event)
    }

    fn next_timeout(&self) -> Instant {
        self.members.iter().map(|member| member.next_timeout()).min().unwrap_or(Instant::NEVER)
    }

    fn prefetch_targets(&self, _: u8, _: &mut impl FnMut(*const u8)) {}

    fn open_flows(&self, visit: &mut dyn FnMut(FlowStatus)) {
        self.members.iter().for_each(|member| member.open_flows(visit));
    }
}

/// How the transports of a run cut data into packets, by number.
pub fn framings(transports: &[CarriedBy]) -> Vec<Framing> {
    transports.iter().map(|carried| carried.config.framing()).collect()
}
