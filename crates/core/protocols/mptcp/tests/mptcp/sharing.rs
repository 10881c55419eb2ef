//! Shares of bottlenecks that MPTCP takes, compared with theory: LIA takes no more than one TCP at a shared bottleneck,
//! and all of two disjoint ones (RFC 6356, section 2, goals 1 and 2).

use std::collections::{BTreeMap, VecDeque};

use pullnet_mptcp::{Coupling, Mptcp, MptcpConfig, MptcpEndpoint, MultipathHeader};
use pullnet_rng::{RandomStream, Seed};
use pullnet_transport::{
    ConnId, Event, Fate, FlowSpec, HostAddr, HostInfo, Protocol, Received, Transmit, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

/// Rate of a bottleneck, the packets that fit into its queue, and the delay of each direction: 67 packets on the way.
const RATE: u64 = 200_000_000;
const QUEUE: usize = 100;
const DELAY: Picos = Picos::from_millis(2);
/// Where drops are random, they begin with this number of packets and reach this probability at the end of the queue.
const BEGIN: usize = 20;
const MOST: f64 = 0.05;
const RECEIVER: usize = 0;

/// A sender: its subflows, and when it begins.
#[derive(Clone, Copy)]
struct Source {
    subflows: u32,
    coupling: Coupling,
}

fn config(source: Source) -> MptcpConfig {
    let Source { subflows, coupling } = source;
    MptcpConfig {
        mtu: Bytes(1442),
        subflows,
        coupling,
        delayed_ack: false,
        min_rto: Picos::from_millis(10),
        rto_granularity: Picos::from_micros(100),
        ..MptcpConfig::default()
    }
}

enum Step {
    Arrive(usize, Received<MultipathHeader>),
    /// Bottleneck number so is free.
    Free(usize),
    Look,
}

/// Packets that wait, with the endpoint that sent each.
type Queue = VecDeque<(usize, Transmit<MultipathHeader>)>;

/// Host 0 receives from all others; path p of each leads through bottleneck p.
struct Net {
    now: Instant,
    hosts: Vec<MptcpEndpoint>,
    queues: Vec<(Queue, bool)>,
    steps: BTreeMap<(Instant, u64), Step>,
    number: u64,
    /// Whether packets are dropped at random before a queue is full: without that, the flow with the largest window meets
    /// nearly every full queue, and small ones are spared.
    random: bool,
    chance: RandomStream,
    /// Payload by sender.
    delivered: Vec<u64>,
    /// Sender of each of the receiver's slots.
    slots: BTreeMap<u32, usize>,
}

impl Net {
    fn new(sources: &[Source], bottlenecks: u16, random: bool, seed: u64) -> Self {
        let all = std::iter::once(&sources[0]).chain(sources);
        let host = |(number, source): (usize, &Source)| {
            let info = HostInfo { addr: HostAddr(number as u32), rate: BitsPerSec::gbps(10) };
            Mptcp::endpoint(&config(*source), info, Seed(seed).stream("test.transport", number as u64))
        };
        let mut net = Self {
            now: Instant::ZERO,
            hosts: all.enumerate().map(host).collect(),
            queues: (0..bottlenecks).map(|_| (VecDeque::new(), false)).collect(),
            steps: BTreeMap::new(),
            number: 0,
            random,
            chance: Seed(seed).stream("test.drops", 0),
            delivered: vec![0; sources.len() + 1],
            slots: BTreeMap::new(),
        };
        for number in 1..=sources.len() {
            let flow =
                FlowSpec { conn: ConnId::new(1), to: HostAddr(0), paths: bottlenecks, ..FlowSpec::default() };
            net.hosts[number].open(net.now, flow);
            net.collect(number);
        }
        net
    }

    fn plan(&mut self, at: Instant, step: Step) {
        self.number += 1;
        self.steps.insert((at, self.number), step);
    }

    /// Takes what a host has to send and to say. Its own link is no limit.
    fn collect(&mut self, host: usize) {
        while let Some(packet) = self.hosts[host].poll_transmit(self.now) {
            if host == RECEIVER {
                let to = packet.to.0 as usize;
                let received = self.received(host, &packet);
                self.plan(self.now.after(DELAY), Step::Arrive(to, received));
            } else {
                self.offer(host, packet);
            }
        }
        while let Some(event) = self.hosts[host].poll_event() {
            match event {
                Event::Opened { slot, peer, .. } => drop(self.slots.insert(slot, peer.0 as usize)),
                Event::Delivered { slot, bytes, .. } => {
                    self.delivered[self.slots[&slot]] += u64::from(bytes);
                }
                _ => {}
            }
        }
        if let Some(deadline) = self.hosts[host].poll_timeout() {
            self.plan(deadline.at.max(self.now), Step::Look);
        }
    }

    fn received(&self, from: usize, packet: &Transmit<MultipathHeader>) -> Received<MultipathHeader> {
        let paths = self.queues.len() as u16;
        let from = HostAddr(from as u32);
        Received { from, paths, wire: packet.wire, fate: Fate::Whole, ce: false, header: packet.header }
    }

    fn offer(&mut self, from: usize, packet: Transmit<MultipathHeader>) {
        let at = usize::from(packet.path);
        let (queue, busy) = &mut self.queues[at];
        let over = queue.len().saturating_sub(BEGIN) as f64 / (QUEUE - BEGIN) as f64;
        let spared = !self.random || self.chance.unit() >= over * MOST;
        if queue.len() < QUEUE && spared {
            queue.push_back((from, packet));
        }
        if !*busy {
            self.serve(at);
        }
    }

    fn serve(&mut self, at: usize) {
        let (queue, busy) = &mut self.queues[at];
        let next = queue.pop_front();
        *busy = next.is_some();
        if let Some((from, packet)) = next {
            let rate = BitsPerSec::new(RATE).expect("a rate");
            let free = self.now.after(rate.serialization(packet.wire.bytes()));
            let received = self.received(from, &packet);
            self.plan(free, Step::Free(at));
            self.plan(free.after(DELAY), Step::Arrive(RECEIVER, received));
        }
    }

    fn run(&mut self, until: Instant) {
        while self.steps.first_key_value().is_some_and(|((at, _), _)| *at <= until) {
            let Some(((at, _), step)) = self.steps.pop_first() else { return };
            self.now = at;
            match step {
                Step::Free(bottleneck) => self.serve(bottleneck),
                Step::Arrive(host, packet) => {
                    self.hosts[host].handle(at, packet);
                    self.collect(host);
                }
                Step::Look => {
                    for host in 0..self.hosts.len() {
                        if self.hosts[host].poll_timeout().is_some_and(|deadline| deadline.at <= at) {
                            self.hosts[host].handle_timeout(at);
                            self.collect(host);
                        }
                    }
                }
            }
        }
    }
}

/// Goodput of each source as a share of one bottleneck, between 2 and 7 s, mean of two seeds.
fn shares(sources: &[Source], bottlenecks: u16, random: bool) -> Vec<f64> {
    let mut sums = vec![0.0; sources.len()];
    for seed in 1..=2 {
        let mut net = Net::new(sources, bottlenecks, random, seed);
        net.run(Instant::ZERO.after(Picos::from_millis(2000)));
        let before = net.delivered.clone();
        net.run(Instant::ZERO.after(Picos::from_millis(7_000)));
        for (number, sum) in sums.iter_mut().enumerate() {
            let bits = (net.delivered[number + 1] - before[number + 1]) as f64 * 8.0 * 1500.0 / 1442.0;
            *sum += bits / 5.0 / RATE as f64 / 2.0;
        }
    }
    sums
}

const fn lia(subflows: u32) -> Source {
    Source { subflows, coupling: Coupling::Lia }
}

const fn uncoupled(subflows: u32) -> Source {
    Source { subflows, coupling: Coupling::Uncoupled }
}

#[test]
fn two_subflows_fill_two_disjoint_bottlenecks() {
    let [both] = shares(&[lia(2)], 2, false)[..] else { panic!("one source") };
    assert!(both > 1.9, "{both} of two");
    let [one] = shares(&[lia(1)], 2, false)[..] else { panic!("one source") };
    assert!(one > 0.95 && one < 1.01, "{one} of one");
}

#[test]
fn lia_takes_about_as_much_as_one_tcp_of_a_shared_bottleneck() {
    let [tcp, other] = shares(&[lia(1), lia(1)], 1, true)[..] else { panic!("two sources") };
    assert!(tcp + other > 0.9 && (tcp - other).abs() < 0.1, "{tcp} and {other}");
    // Equation 2 takes the best of windows that fluctuate, which makes alpha larger than for windows at their means: 1.3
    // times as much as TCP with four subflows, where uncoupled ones take four times as much.
    let [tcp, multipath] = shares(&[lia(1), lia(4)], 1, true)[..] else { panic!("two sources") };
    assert!(multipath < 1.5 * tcp && multipath > 0.8 * tcp, "{tcp} and {multipath}");
}

#[test]
fn uncoupled_subflows_take_a_share_each() {
    let [tcp, multipath] = shares(&[uncoupled(1), uncoupled(4)], 1, true)[..] else { panic!("two sources") };
    assert!(multipath > 3.0 * tcp && multipath < 5.0 * tcp, "{tcp} and {multipath}");
}
