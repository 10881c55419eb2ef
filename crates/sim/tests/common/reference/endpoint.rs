//! Transports of any protocol behind one interface.

use pullnet_protocols::with_protocol;
use pullnet_rng::Seed;
use pullnet_scenario::{CarriedBy, Scenario};
use pullnet_transport::{
    ConnId, Event, FlowSpec, GroupMember, Header, HopView, HostAddr, HostInfo, Large, Protocol, Received,
    Source, Transmit, Transport, Words,
};
use pullnet_units::{HostId, Instant};

use super::parcel::Packed;

/// The endpoint of one transport of any protocol.
pub(super) trait Endpoint {
    fn open(&mut self, now: Instant, flow: FlowSpec);
    fn open_group(&mut self, now: Instant, flow: FlowSpec, receivers: &[GroupMember]);
    fn open_source(&mut self, now: Instant, flow: FlowSpec, source: Source);
    fn open_relay(&mut self, now: Instant, flow: FlowSpec);
    fn supply(&mut self, now: Instant, to: HostAddr, conn: ConnId, bytes: u64);
    fn cut_off(&mut self, now: Instant, to: HostAddr, conn: ConnId);
    fn handle(&mut self, now: Instant, packet: Received<Packed>);
    fn handle_timeout(&mut self, now: Instant);
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed>>;
    fn poll_event(&mut self) -> Option<Event>;
    fn next_timeout(&self) -> u64;
    /// The flow that a header belongs to.
    fn flow_of(&self, header: Packed) -> Option<u32>;
    /// Header fields that switches may read.
    fn view_of(&self, header: Packed) -> Option<HopView>;
}

pub(super) struct Any<T>(T);

pub(super) fn header_of<H: Header>(packed: Packed) -> H {
    let mut words = H::Words::default();
    let count = H::Words::COUNT;
    words.get_mut().copy_from_slice(&packed.words[..count]);
    H::unpack(pullnet_transport::Packed { kind: packed.kind, words })
}

pub(super) fn packed<H: Header>(header: H) -> Packed {
    let (own, mut words) = (header.pack(), Large::default());
    words[..H::Words::COUNT].copy_from_slice(own.words.get());
    Packed { kind: own.kind, words }
}

impl<T: Transport> Endpoint for Any<T> {
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
    fn handle(&mut self, now: Instant, packet: Received<Packed>) {
        self.0.handle(now, packet.map(header_of::<T::Header>));
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Packed>> {
        self.0.poll_transmit(now).map(|packet| packet.map(packed))
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.0.poll_event()
    }
    fn next_timeout(&self) -> u64 {
        self.0.poll_timeout().map_or(u64::MAX, |deadline| deadline.at.0)
    }
    fn flow_of(&self, header: Packed) -> Option<u32> {
        header_of::<T::Header>(header).concerns().map(|(conn, _)| conn.get())
    }
    fn view_of(&self, header: Packed) -> Option<HopView> {
        header_of::<T::Header>(header).hop_view()
    }
}

/// The transports of host `id`.
pub(super) fn endpoints(scenario: &Scenario, id: HostId) -> Vec<Box<dyn Endpoint>> {
    let topology = &scenario.topology;
    let info = HostInfo { addr: topology.addr(id), rate: topology.hosts[id].link.rate };
    let endpoint = |(number, carried): (usize, &CarriedBy)| -> Box<dyn Endpoint> {
        let name = if number == 0 { "host.transport".into() } else { format!("host.transport {number}") };
        let chance = Seed(scenario.seed).stream(&name, id.get().into());
        with_protocol!(&carried.config, |config: P| Box::new(Any(P::endpoint(config, info, chance))))
    };
    scenario.transports.iter().enumerate().map(endpoint).collect()
}
