//! Common parts of the tests in this folder. They name no protocol: the registry lists them.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};

use pullnet_protocols::{PROTOCOLS, ProtocolConfig};
use pullnet_rng::{RandomStream, Seed};
use pullnet_settings::{Field, Value};
use pullnet_transport::channel::{Channel, Passage};
use pullnet_transport::{
    Class, ConnId, Event, FailureReason, Fate, FlowSpec, Framing, Header, HostAddr, HostInfo, Protocol,
    SendCounts, Transmit, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

/// The two hosts. Number 0 is among them: settings that name a host do so by default.
pub const HOSTS: [HostAddr; 2] = [HostAddr(0), HostAddr(1)];
/// Equal-cost paths between them.
pub const PATHS: u16 = 4;
/// Payload of a full packet.
pub const MTU: u64 = 1000;
/// All is quiet by then: far more than any protocol waits with its default settings.
pub const LIMIT: Instant = Instant(40_000 * 1_000_000_000_000);
/// Packets that may leave for each packet of data, on average, and in all besides: beyond it something repeats for ever.
const MOST_COPIES: usize = 200;
const MOST_BESIDES: usize = 20_000;

/// Every protocol with its default settings and packets of [`MTU`].
pub fn protocols() -> impl Iterator<Item = ProtocolConfig> {
    PROTOCOLS.iter().map(|entry| {
        let mut config = (entry.default)();
        assert_eq!(config.set("mtu", Value::Text("1000 B")), Some(Ok(())), "{} has no mtu", entry.name);
        config
    })
}

/// Every protocol with one or two settings that are not their defaults: switches turned, each choice, and the least numbers
/// of packets.
pub fn variants() -> Vec<(String, ProtocolConfig)> {
    let once: Vec<_> = protocols().flat_map(|config| variants_of(config.name(), &config)).collect();
    let twice: Vec<_> = once.iter().flat_map(|(name, config)| variants_of(name, config)).collect();
    once.into_iter().chain(twice).collect()
}

fn variants_of(name: &str, config: &ProtocolConfig) -> Vec<(String, ProtocolConfig)> {
    let entry = PROTOCOLS.iter().find(|entry| entry.name == config.name()).expect("a listed protocol");
    entry.fields.iter().flat_map(|field| values_of(name, config, field)).collect()
}

fn values_of(name: &str, config: &ProtocolConfig, field: &Field) -> Vec<(String, ProtocolConfig)> {
    let values: Vec<Value<'static>> = match field.kind {
        "bool" => vec![Value::Bool(field.default != "true")],
        "choice" => field.choices.iter().map(|choice| Value::Text(choice)).collect(),
        "packets" => vec![Value::Text(field.range.0)],
        _ => Vec::new(),
    };
    let set = |value: Value<'static>| {
        let mut config = config.clone();
        assert_eq!(config.set(field.name, value), Some(Ok(())), "{} = {value:?}", field.name);
        (format!("{name}, {} = {value:?}", field.name), config)
    };
    values.into_iter().map(set).collect()
}

/// Impairments of the network, in percent of packets.
#[derive(Clone, Copy, Default, Debug)]
pub struct Weather {
    pub lose: u32,
    pub double: u32,
    pub mark: u32,
    pub trim: u32,
    pub give_back: u32,
    /// Most additional delay: chance delays reorder packets.
    pub late: Picos,
    /// No packet passes from this time on.
    pub death: Option<Instant>,
}

impl Weather {
    fn passages<H>(&self, now: Instant, packet: &Transmit<H>, chance: &mut RandomStream) -> Vec<Passage> {
        if self.death.is_some_and(|death| now >= death) || chance.below(100) < self.lose {
            return Vec::new();
        }
        let copies = if chance.below(100) < self.double { 2 } else { 1 };
        (0..copies).map(|_| self.passage(packet.class, chance)).collect()
    }

    fn passage(&self, class: Class, chance: &mut RandomStream) -> Passage {
        let drawn = chance.below(100);
        let fate = match class {
            Class::Data if drawn < self.trim => Fate::Trimmed,
            Class::Data if drawn < self.trim + self.give_back => Fate::Returned,
            _ => Fate::Whole,
        };
        let late = (chance.unit() * self.late.0 as f64) as u64;
        Passage { delay: Picos(5_000_000 + late), fate, ce: chance.below(100) < self.mark }
    }
}

/// A flow of a test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Flow {
    pub from: usize,
    pub bytes: u64,
}

/// How a flow ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Completed(SendCounts),
    Failed(FailureReason),
}

/// Observations of one flow.
#[derive(Default, Debug)]
struct Seen {
    /// Data packets that left, and those of them marked as sent before.
    left: (u32, u32),
    timed_out: u32,
    ends: Vec<(End, SendCounts)>,
    opened: u32,
    received: u32,
    delivered: u64,
    packets: BTreeSet<u32>,
}

/// Lets `flows` run through `weather` and checks everything that holds for each protocol. Returns how the flows ended.
pub fn run<P: Protocol>(config: &P::Config, flows: &[Flow], weather: Weather, seed: u64) -> Vec<End> {
    let endpoint = |addr: HostAddr| {
        let chance = Seed(seed).stream("test.transport", addr.0.into());
        (addr, P::endpoint(config, HostInfo { addr, rate: BitsPerSec::gbps(10) }, chance))
    };
    let mut channel = Channel::new(HOSTS.map(endpoint), BitsPerSec::gbps(10), PATHS);
    for (conn, flow) in (0..).zip(flows) {
        let (to, size) = (HOSTS[1 - flow.from], Some(Bytes(flow.bytes)));
        channel.open(
            flow.from,
            FlowSpec { conn: ConnId::new(conn), to, size, paths: PATHS, ..FlowSpec::default() },
        );
    }
    let mut chance = Seed(seed).stream("test.weather", 0);
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let needed: u64 = flows.iter().map(|flow| flow.bytes.div_ceil(MTU)).sum();
    let most = needed as usize * MOST_COPIES + MOST_BESIDES;
    let mut packets = 0;
    let framing = P::framing(config);
    let quiet = channel.run(LIMIT, |log, side, packet| {
        packets += 1;
        assert!(packets < most, "{} packets have left where {needed} carry the data", packets);
        note_packet(&mut seen, side, packet, framing);
        weather.passages(log.now, packet, &mut chance)
    });
    assert!(quiet, "it never comes to rest");
    assert!(channel.open_flows(0).is_empty() && channel.open_flows(1).is_empty(), "a flow is left open");
    note_events(&mut seen, &channel.log.events);
    (0..).zip(flows).map(|(conn, flow)| judge(&seen[&conn], flow)).collect()
}

fn note_packet<H: Header>(
    seen: &mut BTreeMap<u32, Seen>,
    side: usize,
    packet: &Transmit<H>,
    framing: Framing,
) {
    assert_eq!(packet.to, HOSTS[1 - side]);
    assert!(packet.path < PATHS && packet.priority < 8);
    assert!(u32::from(packet.wire) >= framing.header, "shorter than a header: {packet:?}");
    assert!(u32::from(packet.wire) <= framing.mtu + framing.header, "longer than a full packet: {packet:?}");
    let Some((conn, _)) = packet.header.concerns() else { return };
    if packet.class == Class::Data {
        let left = &mut seen.entry(conn.get()).or_default().left;
        *left = (left.0 + 1, left.1 + u32::from(packet.again));
    }
}

fn note_events(seen: &mut BTreeMap<u32, Seen>, events: &[(Instant, usize, Event)]) {
    let mut slots: BTreeMap<(usize, u32), u32> = BTreeMap::new();
    for (_, side, event) in events {
        match event {
            Event::Opened { slot, conn, .. } => {
                slots.insert((*side, *slot), conn.get());
                seen.entry(conn.get()).or_default().opened += 1;
            }
            Event::Delivered { slot, seq, bytes } => {
                let flow = seen.entry(slots[&(*side, *slot)]).or_default();
                assert!(flow.packets.insert(seq.get()), "packet {seq} was delivered twice");
                flow.delivered += u64::from(*bytes);
            }
            Event::Received { slot } => {
                let conn = slots.remove(&(*side, *slot)).expect("an open slot");
                seen.entry(conn).or_default().received += 1;
            }
            Event::Silent { slot } => {
                assert!(slots.remove(&(*side, *slot)).is_some(), "slot {slot} is not open")
            }
            Event::Completed { conn, counts, .. } => {
                seen.entry(conn.get()).or_default().ends.push((End::Completed(*counts), *counts));
            }
            Event::Failed { conn, reason, counts, .. } => {
                seen.entry(conn.get()).or_default().ends.push((End::Failed(*reason), *counts));
            }
            Event::TimedOut { conn, .. } => seen.entry(conn.get()).or_default().timed_out += 1,
            Event::Acked { .. } | Event::Stray { .. } => {}
        }
    }
    assert!(slots.is_empty(), "receivers that neither received all nor missed their sender: {slots:?}");
}

/// One end, every byte once, and counts that agree with what was seen on the link.
fn judge(seen: &Seen, flow: &Flow) -> End {
    let [(end, counts)] = seen.ends[..] else { panic!("{flow:?} ended {} times: {seen:?}", seen.ends.len()) };
    assert_eq!((counts.sent, counts.again), seen.left, "packets counted and packets seen of {flow:?}");
    assert_eq!(counts.timeouts, seen.timed_out, "timeouts counted and reported of {flow:?}");
    assert!(seen.opened <= 1 && seen.received <= seen.opened && seen.delivered <= flow.bytes, "{seen:?}");
    assert_eq!(seen.received == 1, seen.delivered == flow.bytes, "{flow:?}: {seen:?}");
    let packets = flow.bytes.div_ceil(MTU) as u32;
    match end {
        End::Completed(_) => {
            assert_eq!((seen.received, counts.sent - counts.again), (1, packets), "{flow:?}: {counts:?}");
        }
        End::Failed(reason) => assert!(!reason.as_str().is_empty()),
    }
    end
}

/// Endpoint 0 of a pair with the default settings, for tests that hand it packets themselves.
pub fn endpoint<P: Protocol>(config: &P::Config) -> P::Endpoint {
    let info = HostInfo { addr: HostAddr(0), rate: BitsPerSec::gbps(10) };
    P::endpoint(config, info, Seed(1).stream("test.transport", 0))
}

/// Takes what the endpoint has to say after an input. Returns the payload reported as new.
pub fn drain<T: Transport>(endpoint: &mut T, now: Instant) -> u64 {
    for _ in 0..100 {
        let Some(due) = endpoint.poll_timeout().filter(|due| due.at <= now) else { break };
        assert!(!due.timer.as_str().is_empty());
        endpoint.handle_timeout(now);
    }
    let sent = (0..64).map_while(|_| endpoint.poll_transmit(now));
    sent.for_each(|packet| assert!(packet.path < PATHS));
    let reports = core::iter::from_fn(|| endpoint.poll_event());
    let delivered =
        reports.map(|event| if let Event::Delivered { bytes, .. } = event { bytes.into() } else { 0 });
    delivered.sum()
}
