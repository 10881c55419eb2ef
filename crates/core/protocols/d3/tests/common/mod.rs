//! Hosts around one D3 switch, in virtual time, one event at a time. Shares only endpoints and queue discipline with the
//! simulator, so that a test can inspect ports while flows run.

use std::collections::BTreeMap;

use pullnet_d3::{D3Endpoint, D3Header};
use pullnet_qdisc::{Allocator, Context, D3, D3Config, D3Rule, Discipline, Item, Outcome, Signal, Sums};
use pullnet_rng::{Seed, SmallStream};
use pullnet_transport::{
    Class, Event, Fate, FlowSpec, Header, Hop, HostAddr, HostInfo, Medium, Packed, Protocol, Received,
    Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

/// A packet between host and port.
#[derive(Clone, Copy, Default)]
struct Pkt {
    from: u32,
    wire: u16,
    control: bool,
    header: Packed<Medium>,
}

impl Item for Pkt {
    fn is_control(&self) -> bool {
        self.control
    }
    fn wire(&self, _: u32) -> u32 {
        self.wire.into()
    }
    fn trim(&mut self, _: u32) {}
    fn returnable(&self) -> bool {
        false
    }
    fn priority(&self) -> u8 {
        0
    }
    fn ect(&self) -> bool {
        false
    }
    fn mark(&mut self) {}
    fn ingress(&self) -> u16 {
        0
    }
}

struct Surroundings {
    now: Instant,
    dropped: u32,
}

impl Context<Pkt> for Surroundings {
    fn now(&self) -> Instant {
        self.now
    }
    fn rate(&self) -> BitsPerSec {
        RATE
    }
    fn coin(&mut self) -> bool {
        panic!("no coin is needed")
    }
    fn unit(&mut self) -> f64 {
        panic!("no number is needed")
    }
    fn outcome(&mut self, outcome: Outcome<Pkt>) {
        assert!(matches!(outcome, Outcome::Dropped { .. }));
        self.dropped += 1;
    }
    fn show(&mut self, packet: &mut Pkt, hop: &mut dyn Hop) {
        packet.header = D3Header::unpack(packet.header).at_hop(hop).map_or(packet.header, Header::pack);
    }
    fn wake(&mut self, at: Instant) {
        panic!("the link does not idle: {at:?}")
    }
    fn signal(&mut self, ingress: u16, signal: Signal) {
        panic!("nothing is paused: {ingress} {signal:?}")
    }
}

/// Rate of every link.
pub const RATE: BitsPerSec = BitsPerSec::gbps(1);
const DELAY: Picos = Picos::from_micros(5);

type Inbox = BTreeMap<(Instant, u64), Pkt>;

struct Host {
    endpoint: D3Endpoint,
    inbox: Inbox,
    free_at: Instant,
    ready: bool,
}

struct Port {
    queue: D3<Pkt>,
    inbox: Inbox,
    serving: Option<(Instant, Pkt)>,
}

/// Kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    Sent(usize),
    AtPort(usize),
    Link(usize),
    Timer(usize),
    AtHost(usize),
}

/// A star network with its pending events.
pub struct Net {
    hosts: Vec<Host>,
    ports: Vec<Port>,
    rules: <D3Rule as pullnet_qdisc::ClassRule<1>>::Rules,
    chance: SmallStream,
    order: u64,
    /// The virtual time.
    pub now: Instant,
    /// Probability that a link loses a packet.
    pub loss: f64,
    /// Start and end of the interval in which the link to the last host loses every packet.
    pub down: [Instant; 2],
    /// Events reported by hosts, with time and host.
    pub events: Vec<(Instant, usize, Event)>,
    /// Packets dropped at ports.
    pub dropped: u32,
    /// Bytes waiting at the last port after each arrival there: sum, number of arrivals, maximum.
    pub waited: [u64; 3],
}

impl Net {
    pub fn new<P: Protocol<Endpoint = D3Endpoint>>(
        hosts: u32,
        config: &P::Config,
        switch: &D3Config,
    ) -> Self {
        let rules = <D3Rule as pullnet_qdisc::ClassRule<1>>::rules(switch);
        let host = |addr: u32| {
            let info = HostInfo { addr: HostAddr(addr), rate: RATE };
            let endpoint = P::endpoint(config, info, Seed(1).stream("test.transport", addr.into()));
            Host { endpoint, inbox: Inbox::new(), free_at: Instant::ZERO, ready: false }
        };
        let port =
            |_| Port { queue: <D3<Pkt> as Discipline<Pkt>>::new(&rules), inbox: Inbox::new(), serving: None };
        Self {
            hosts: (0..hosts).map(host).collect(),
            ports: (0..hosts).map(port).collect(),
            rules,
            chance: Seed(2).small_stream("test.loss", 0),
            order: 0,
            now: Instant::ZERO,
            loss: 0.0,
            down: [Instant::NEVER; 2],
            events: Vec::new(),
            dropped: 0,
            waited: [0; 3],
        }
    }

    /// The arithmetic of the port that leads to `host`.
    fn allocator(&mut self, host: usize) -> &mut Allocator {
        &mut self.ports[host].queue.rule_mut().allocator
    }

    /// Current sums of all ports.
    pub fn sums(&mut self) -> Vec<Sums> {
        let (rules, now) = (self.rules, self.now);
        (0..self.ports.len()).map(|port| self.allocator(port).sums(&rules, now)).collect()
    }

    pub fn open(&mut self, from: usize, flow: FlowSpec) {
        let now = self.now;
        self.hosts[from].endpoint.open(now, flow);
        self.settle(from);
    }

    /// Processes all events before `end`.
    pub fn run(&mut self, end: Instant) {
        while let Some((at, what)) = self.next().filter(|(at, _)| *at < end) {
            assert!(at >= self.now, "{what:?} at {at:?}, before {:?}", self.now);
            self.now = at;
            self.step(what);
        }
        self.now = end;
    }

    fn next(&self) -> Option<(Instant, What)> {
        let first = |inbox: &Inbox| inbox.keys().next().map(|key| key.0);
        let ports = self.ports.iter().enumerate().flat_map(|(number, port)| {
            let sent = port.serving.map(|(at, _)| (at, What::Sent(number)));
            [sent, first(&port.inbox).map(|at| (at, What::AtPort(number)))]
        });
        let hosts = self.hosts.iter().enumerate().flat_map(|(number, host)| {
            let link = host.ready.then(|| (host.free_at.max(self.now), What::Link(number)));
            let timer = host.endpoint.poll_timeout().map(|deadline| (deadline.at, What::Timer(number)));
            [link, timer, first(&host.inbox).map(|at| (at, What::AtHost(number)))]
        });
        ports.chain(hosts).flatten().min()
    }

    fn step(&mut self, what: What) {
        let now = self.now;
        match what {
            What::Sent(number) => {
                let port = &mut self.ports[number];
                let (_, packet) = port.serving.take().unwrap();
                port.queue.complete(&self.rules, &mut (), &mut Surroundings { now, dropped: 0 });
                self.arrive(packet, number, false);
                self.serve(number);
            }
            What::AtPort(number) => {
                let (_, packet) = self.ports[number].inbox.pop_first().unwrap();
                self.admit(number, packet);
                self.serve(number);
            }
            What::Link(number) => self.transmit(number),
            What::Timer(number) => {
                self.hosts[number].endpoint.handle_timeout(now);
                self.settle(number);
            }
            What::AtHost(number) => {
                let host = &mut self.hosts[number];
                let (_, Pkt { from, wire, header, .. }) = host.inbox.pop_first().unwrap();
                let (from, header) = (HostAddr(from), D3Header::unpack(header));
                host.endpoint
                    .handle(now, Received { from, paths: 1, wire, fate: Fate::Whole, ce: false, header });
                self.settle(number);
            }
        }
    }

    fn settle(&mut self, number: usize) {
        let host = &mut self.hosts[number];
        host.ready = true;
        while let Some(event) = host.endpoint.poll_event() {
            self.events.push((self.now, number, event));
        }
    }

    fn transmit(&mut self, number: usize) {
        let (now, host) = (self.now, &mut self.hosts[number]);
        let Some(packet) = host.endpoint.poll_transmit(now) else {
            host.ready = false;
            return;
        };
        host.free_at = now.after(RATE.serialization(Bytes(packet.wire.into())));
        let control = packet.class == Class::Control;
        let (from, to, header) = (number as u32, packet.to.0 as usize, packet.header.pack());
        let sent = Pkt { from, wire: packet.wire, control, header };
        let left = host.free_at.since(now);
        self.put(sent, to, left, true);
    }

    /// Sends a packet from a port to its host.
    fn arrive(&mut self, packet: Pkt, host: usize, port: bool) {
        self.put(packet, host, Picos(0), port);
    }

    fn put(&mut self, packet: Pkt, number: usize, after: Picos, port: bool) {
        let last = self.ports.len() - 1;
        let down = !port && number == last && (self.down[0]..self.down[1]).contains(&self.now);
        if down || self.loss > 0.0 && self.chance.unit() < self.loss {
            return;
        }
        self.order += 1;
        let key = (self.now.after(after).after(DELAY), self.order);
        let inbox = if port { &mut self.ports[number].inbox } else { &mut self.hosts[number].inbox };
        inbox.insert(key, packet);
    }

    fn admit(&mut self, number: usize, packet: Pkt) {
        let (now, port) = (self.now, &mut self.ports[number]);
        let mut cx = Surroundings { now, dropped: 0 };
        port.queue.enqueue(&self.rules, &mut (), packet, &mut cx);
        self.dropped += cx.dropped;
        if number + 1 == self.ports.len() {
            let mut bytes = 0;
            self.ports[number].queue.waiting(&mut |packet| bytes += u64::from(packet.wire));
            let [sum, count, most] = self.waited;
            self.waited = [sum + bytes, count + 1, most.max(bytes)];
        }
    }

    /// Starts service of the next packet. Asserts that its grant does not raise the sum of grants above the capacity.
    fn serve(&mut self, number: usize) {
        if self.ports[number].serving.is_some() {
            return;
        }
        let (now, rules) = (self.now, self.rules);
        let before = self.allocator(number).sums(&rules, now).granted;
        let mut cx = Surroundings { now, dropped: 0 };
        let next = self.ports[number].queue.dequeue(&rules, &mut (), &mut cx);
        let allocator = self.allocator(number);
        let (after, capacity) = (allocator.sums(&rules, now).granted, allocator.capacity());
        assert!(after <= before.max(capacity), "{after} units granted of {capacity}");
        let Some(packet) = next else { return };
        let until = now.after(RATE.serialization(Bytes(packet.wire.into())));
        self.ports[number].serving = Some((until, packet));
    }
}
