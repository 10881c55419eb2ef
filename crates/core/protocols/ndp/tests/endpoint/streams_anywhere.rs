//! After any temporary impairment of the network, and with applications that write, read and stop reading at any time:
//! everything that was offered arrives once, every stream ends, and no more than a first window is ever in flight.

use std::collections::BTreeMap;

use crate::common::weather::{channel, clear, weather};
use crate::common::*;
use proptest::prelude::*;
use pullnet_ndp::{NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_rng::Seed;
use pullnet_transport::channel::{Channel, Log, Passage};
use pullnet_transport::{Event, FlowSpec, Streaming, Transmit};
use pullnet_units::{Bytes, Instant, Packets, Picos};

const SENDER: usize = 0;
const RECEIVER: usize = 1;
const PAYLOAD: u16 = 1000;

/// Action of an application.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// The sender's offers packets with these payloads.
    Offer(u16, u8),
    /// The receiver's reads no more, or reads again.
    Hold(bool),
}

/// Acts, and how long to wait before each.
fn acts() -> impl Strategy<Value = Vec<(Picos, Act)>> {
    let wait = prop::sample::select(vec![us(0), us(3), us(40), us(900), ms(7), ms(300), ms(2_000)]);
    let act = prop_oneof![
        3 => (1..=PAYLOAD, 1..30u8).prop_map(|(payload, packets)| Act::Offer(payload, packets)),
        1 => any::<bool>().prop_map(Act::Hold),
    ];
    prop::collection::vec((wait, act), 0..25)
}

/// A stream from one host to another, and what was offered on it.
struct Conversation {
    channel: Channel<NdpEndpoint>,
    offered: Vec<u16>,
    /// Whether the receiver's application reads no more; asked again when the connection opens.
    held: bool,
}

impl Conversation {
    fn new(config: &NdpConfig, seed: u64) -> Self {
        let mut channel = channel(config, seed);
        channel.act(SENDER, |host, now| host.open_stream(now, FlowSpec { paths: 4, ..flow(0) }));
        Self { channel, offered: Vec::new(), held: false }
    }

    /// Lets `time` pass. Returns whether nothing would happen any more.
    fn pass(
        &mut self,
        time: Picos,
        weather: impl FnMut(&Log, usize, &Transmit<NdpHeader>) -> Vec<Passage>,
    ) -> bool {
        let until = self.channel.log.now + time;
        let quiet = self.channel.run(until, weather);
        self.hold();
        quiet
    }

    fn does(&mut self, act: Act) {
        match act {
            Act::Offer(payload, packets) => (0..packets).for_each(|_| self.offer(payload, false)),
            Act::Hold(held) => {
                self.held = held;
                self.hold();
            }
        }
    }

    fn offer(&mut self, payload: u16, last: bool) {
        self.offered.push(payload);
        self.channel.act(SENDER, |host, now| host.offer(now, THERE, CONN, payload, last));
    }

    /// There is one connection, so its slot is 0.
    fn hold(&mut self) {
        let held = self.held;
        self.channel.act(RECEIVER, |host, now| host.hold(now, 0, held));
    }

    /// Everybody reads, and nothing more is written.
    fn ends(&mut self) {
        self.does(Act::Hold(false));
        self.offer(0, true);
    }

    /// Payloads that were delivered, by packet number. None is delivered twice.
    fn delivered(&self) -> BTreeMap<u32, u32> {
        let mut all = BTreeMap::new();
        for (_, _, event) in &self.channel.log.events {
            if let Event::Delivered { seq, bytes, .. } = event {
                assert_eq!(all.insert(seq.get(), *bytes), None, "packet {seq} was delivered twice");
            }
        }
        all
    }

    /// Everything arrived as it was offered, and both sides know that it is over.
    fn check_end(&self) {
        let offered: Vec<_> = self.offered.iter().map(|payload| u32::from(*payload)).collect();
        let delivered = self.delivered();
        assert!(
            delivered.keys().copied().eq(0..offered.len() as u32),
            "{} of {}",
            delivered.len(),
            offered.len()
        );
        assert_eq!(delivered.into_values().collect::<Vec<_>>(), offered);
        let ends: Vec<_> = self.channel.log.events.iter().map(|(_, _, event)| event).collect();
        let count = |kind: fn(&Event) -> bool| ends.iter().filter(|event| kind(event)).count();
        assert_eq!(count(|event| matches!(event, Event::Opened { .. })), 1);
        assert_eq!(count(|event| matches!(event, Event::Received { .. })), 1);
        assert_eq!(count(|event| matches!(event, Event::Completed { .. })), 1);
        assert_eq!(count(|event| matches!(event, Event::Failed { .. })), 0);
        assert!(self.channel.open_flows(SENDER).is_empty() && self.channel.open_flows(RECEIVER).is_empty());
    }
}

/// The packets that are on their way in a network that loses none, from what it was told of each.
struct OnTheirWay {
    arrivals: Vec<Instant>,
    most: usize,
}

impl OnTheirWay {
    fn passage(&mut self, now: Instant, packet: &Transmit<NdpHeader>, delay: Picos) -> Vec<Passage> {
        if matches!(packet.header, NdpHeader::Data { .. }) {
            self.arrivals.retain(|at| *at > now);
            self.arrivals.push(now + delay);
            self.most = self.most.max(self.arrivals.len());
        }
        vec![Passage::whole(delay)]
    }
}

fn config_with(window: u32, piggyback: bool) -> NdpConfig {
    let mtu = Bytes(PAYLOAD.into());
    NdpConfig { mtu, initial_window: Packets(window), piggyback, ..NdpConfig::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once_and_every_stream_ends(
        weather in weather(),
        window in prop_oneof![1u32..5, 20u32..40],
        acts in acts(),
        piggyback: bool,
        seed: u64,
    ) {
        let mut chance = Seed(seed).stream("weather", 0);
        let mut talk = Conversation::new(&config_with(window, piggyback), seed);
        let mut passages = |log: &Log, _, packet: &Transmit<NdpHeader>| weather.passages(log.now, packet, &mut chance);
        for (wait, act) in acts {
            let begun = !talk.offered.is_empty();
            let quiet = talk.pass(wait, &mut passages);
            prop_assert!(!(quiet && begun), "nothing would happen any more");
            talk.does(act);
        }
        talk.ends();
        prop_assert!(talk.pass(ms(100_000), &mut passages), "it never comes to rest");
        talk.check_end();
    }

    #[test]
    fn no_more_than_a_first_window_is_on_its_way(
        window in prop_oneof![1u32..5, 20u32..40],
        acts in acts(),
        piggyback: bool,
        seed: u64,
    ) {
        let mut chance = Seed(seed).stream("delay", 0);
        let mut talk = Conversation::new(&config_with(window, piggyback), seed);
        let mut way = OnTheirWay { arrivals: Vec::new(), most: 0 };
        let mut passages = |log: &Log, _, packet: &Transmit<NdpHeader>| {
            way.passage(log.now, packet, Picos(u64::from(chance.below(200)) * 1_000_000))
        };
        for (wait, act) in acts {
            talk.pass(wait, &mut passages);
            talk.does(act);
        }
        // Afterwards, an idle stream pushes a whole window at once.
        talk.does(Act::Hold(false));
        talk.pass(ms(4_000), &mut passages);
        talk.does(Act::Offer(PAYLOAD, 3 * window as u8));
        let mut at_once = 0;
        talk.pass(us(90), |_, _, packet| {
            at_once += u32::from(matches!(packet.header, NdpHeader::Data { .. }));
            vec![Passage::whole(us(100))]
        });
        prop_assert_eq!(at_once, window);
        talk.ends();
        prop_assert!(talk.pass(ms(100_000), &mut passages));
        talk.check_end();
        prop_assert!(way.most as u32 <= window, "{} on their way", way.most);
    }

    #[test]
    fn a_dead_network_ends_every_stream(acts in acts(), alive in 0u64..3_000, seed: u64) {
        let mut talk = Conversation::new(&config_with(WINDOW, true), seed);
        let death = Instant::ZERO.after(ms(alive));
        let mut passages = |log: &Log, _, _: &Transmit<NdpHeader>| if log.now < death { clear() } else { Vec::new() };
        for (wait, act) in acts {
            talk.pass(wait, &mut passages);
            talk.does(act);
        }
        let begun = !talk.offered.is_empty();
        prop_assert!(talk.pass(ms(100_000), &mut passages), "it never comes to rest");
        let failed = talk.channel.log.events.iter().filter(|(_, _, event)| matches!(event, Event::Failed { .. })).count();
        prop_assert_eq!(failed, usize::from(begun));
        prop_assert!(talk.channel.open_flows(RECEIVER).is_empty());
    }
}
