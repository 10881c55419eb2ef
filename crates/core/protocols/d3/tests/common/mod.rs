//! Hosts around one switch that answers headers, in virtual time, one event at a time. Shares only endpoints and queue
//! discipline with the simulator, so that a test can inspect ports while flows run. The tests of all transports with such
//! switches include this file.

use std::collections::BTreeMap;

use proptest::prelude::*;
use pullnet_qdisc::{ClassRule, Classes, Context, Discipline, Item, Outcome, Signal};
use pullnet_rng::{Seed, SmallRandomStream};
use pullnet_transport::{
    Awaited, Class, ConnId, Event, Fate, FlowSpec, FlowStatus, Header, Hop, HostAddr, HostInfo, Medium,
    Packed, Protocol, Received, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos, WireLen};

/// A packet between host and port.
#[derive(Clone, Copy, Default)]
struct Pkt {
    from: u32,
    to: u32,
    wire: WireLen,
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
}

/// A packed header as it is after a port has answered it.
type AtHop = fn(Packed<Medium>, &mut dyn Hop) -> Packed<Medium>;

struct Surroundings {
    now: Instant,
    dropped: u32,
    at_hop: AtHop,
}

/// What a test reads from a port.
pub trait Watched: ClassRule<1, Shared = ()> {
    /// Flows that the port knows at `now`, and the rates that it has granted to them.
    fn granted(&mut self, rules: &Self::Rules, now: Instant) -> (u64, u64);
    /// The largest sum of grants after a packet has left that was granted something.
    fn most(&self) -> u64;
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
        packet.header = (self.at_hop)(packet.header, hop);
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

struct Host<T> {
    endpoint: T,
    inbox: Inbox,
    free_at: Instant,
    ready: bool,
}

struct Port<R> {
    queue: Classes<R, Pkt, 1>,
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
pub struct Net<T, R: Watched> {
    hosts: Vec<Host<T>>,
    /// One port towards each host, and one that packets from host 0 pass before that if there is a trunk.
    ports: Vec<Port<R>>,
    trunk: bool,
    rules: R::Rules,
    at_hop: AtHop,
    chance: SmallRandomStream,
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

impl<T: Transport<Header: Header<Words = Medium>>, R: Watched> Net<T, R> {
    pub fn new<P: Protocol<Endpoint = T>>(hosts: u32, config: &P::Config, switch: &R::Config) -> Self {
        let rules = R::rules(switch);
        let host = |addr: u32| {
            let info = HostInfo { addr: HostAddr(addr), rate: RATE };
            let endpoint = P::endpoint(config, info, Seed(1).stream("test.transport", addr.into()));
            Host { endpoint, inbox: Inbox::new(), free_at: Instant::ZERO, ready: false }
        };
        let mut net = Self {
            hosts: (0..hosts).map(host).collect(),
            ports: Vec::new(),
            trunk: false,
            rules,
            at_hop: |packed, hop| T::Header::unpack(packed).at_hop(hop).map_or(packed, Header::pack),
            chance: Seed(2).small_stream("test.loss", 0),
            order: 0,
            now: Instant::ZERO,
            loss: 0.0,
            down: [Instant::NEVER; 2],
            events: Vec::new(),
            dropped: 0,
            waited: [0; 3],
        };
        (0..hosts).for_each(|_| net.add_port());
        net
    }

    fn add_port(&mut self) {
        let queue = <Classes<R, Pkt, 1> as Discipline<Pkt>>::new(&self.rules);
        self.ports.push(Port { queue, inbox: Inbox::new(), serving: None });
    }

    /// Lets packets from host 0 pass one more port before that of their destination.
    #[allow(dead_code, reason = "not every transport's tests need it")]
    pub fn with_trunk(mut self) -> Self {
        self.trunk = true;
        self.add_port();
        self
    }

    /// The first port on the way of a packet.
    fn first_port(&self, from: usize, to: usize) -> usize {
        if self.trunk && from == 0 { self.hosts.len() } else { to }
    }

    /// The rule of a port.
    fn rule(&mut self, port: usize) -> &mut R {
        self.ports[port].queue.rule_mut()
    }

    /// Flows that each port knows, and the rates that it has granted to them.
    pub fn granted(&mut self) -> Vec<(u64, u64)> {
        let (rules, now) = (self.rules.clone(), self.now);
        (0..self.ports.len()).map(|port| self.rule(port).granted(&rules, now)).collect()
    }

    pub fn open(&mut self, from: usize, flow: FlowSpec) {
        let now = self.now;
        self.hosts[from].endpoint.open(now, flow);
        self.settle(from);
    }

    /// Open flows of a host: data packets sent, bytes acknowledged, and what each one waits for.
    #[allow(dead_code, reason = "not every transport's tests need it")]
    pub fn statuses(&self, host: usize) -> Vec<(u32, u64, Awaited)> {
        let mut statuses = Vec::new();
        let mut note =
            |status: FlowStatus| statuses.push((status.counts.sent, status.bytes, status.waiting_for));
        self.hosts[host].endpoint.open_flows(&mut note);
        statuses
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
                let mut cx = Surroundings { now, dropped: 0, at_hop: self.at_hop };
                port.queue.complete(&self.rules, &mut (), &mut cx);
                let to_port = number == self.hosts.len();
                self.put(packet, packet.to as usize, Picos(0), to_port);
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
                let (from, header) = (HostAddr(from), T::Header::unpack(header));
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
        host.free_at = now.after(RATE.serialization(packet.wire.bytes()));
        let control = packet.class == Class::Control;
        let (from, to, header) = (number as u32, packet.to.0, packet.header.pack());
        let sent = Pkt { from, to, wire: packet.wire, control, header };
        let left = host.free_at.since(now);
        self.put(sent, self.first_port(number, to as usize), left, true);
    }

    fn put(&mut self, packet: Pkt, number: usize, after: Picos, port: bool) {
        let last = self.hosts.len() - 1;
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
        let mut cx = Surroundings { now, dropped: 0, at_hop: self.at_hop };
        port.queue.enqueue(&self.rules, &mut (), packet, &mut cx);
        self.dropped += cx.dropped;
        if number + 1 == self.hosts.len() {
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
        let (now, rules) = (self.now, self.rules.clone());
        let (_, before) = self.rule(number).granted(&rules, now);
        let mut cx = Surroundings { now, dropped: 0, at_hop: self.at_hop };
        let next = self.ports[number].queue.dequeue(&rules, &mut (), &mut cx);
        let rule = self.rule(number);
        let ((_, after), most) = (rule.granted(&rules, now), rule.most());
        assert!(after <= before.max(most), "{after} units granted of {most}");
        let Some(packet) = next else { return };
        let until = now.after(RATE.serialization(packet.wire.bytes()));
        self.ports[number].serving = Some((until, packet));
    }
}

/// A time in microseconds.
pub const fn at(micros: u64) -> Instant {
    Instant(micros * 1_000_000)
}

/// A flow of `size` bytes to host `to`.
pub fn flow(conn: u32, to: u32, size: u64, deadline: Option<Instant>) -> FlowSpec {
    let (conn, to, size) = (ConnId::new(conn), HostAddr(to), Some(Bytes(size)));
    FlowSpec { conn, to, size, deadline, ..FlowSpec::default() }
}

/// Flows to open: sender, size in bytes, start in us, and time until the deadline in us.
pub type Plan = Vec<(usize, u64, u64, Option<u64>)>;

/// Random flows from hosts 0 to 3 within 20 ms.
pub fn plan() -> impl Strategy<Value = Plan> {
    let deadline = prop::option::of(300..20_000u64);
    prop::collection::vec((0..4usize, 1..60_000u64, 0..20_000u64, deadline), 1..25)
}

/// Opens the flows of a plan to host 4 in order of time and runs until all have ended. Returns how many completed and failed.
pub fn run_plan<T, R>(net: &mut Net<T, R>, mut plan: Plan) -> (usize, usize)
where
    T: Transport<Header: Header<Words = Medium>>,
    R: Watched,
{
    plan.sort_by_key(|(_, _, start, _)| *start);
    for (number, (from, size, start, time)) in (0..).zip(&plan) {
        net.run(at(*start));
        net.open(*from, flow(number, 4, *size, time.map(|time| at(start + time))));
    }
    net.run(at(2_000_000));
    let ended = |wanted: fn(&Event) -> bool| net.events.iter().filter(|(.., event)| wanted(event)).count();
    let completed = ended(|event| matches!(event, Event::Completed { .. }));
    let failed = ended(|event| matches!(event, Event::Failed { .. }));
    (completed, failed)
}
