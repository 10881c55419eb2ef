//! Polyraptor where it differs from SCDP.

use std::collections::BTreeSet;

use pullnet_rng::Seed;
use pullnet_scdp::{Polyraptor, PolyraptorConfig, ScdpEndpoint, ScdpHeader};
use pullnet_transport::channel::{Channel, Log, Passage};
use pullnet_transport::{
    ConnId, Event, FailureReason, Fate, FlowSpec, GroupMember, HostAddr, HostInfo, Protocol, Received,
    Source, Transmit, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos, WireLen};

const HOSTS: [HostAddr; 2] = [HostAddr(1), HostAddr(2)];
const HOP: Picos = Picos::from_micros(20);

type Packet = Transmit<ScdpHeader>;

fn endpoint(addr: HostAddr, seed: u64) -> ScdpEndpoint {
    let info = HostInfo { addr, rate: BitsPerSec::gbps(1) };
    let mut config = PolyraptorConfig::default();
    config.pulling.give_up = Picos::from_micros(100_000);
    Polyraptor::endpoint(&config, info, Seed(seed).stream("test.polyraptor", addr.0.into()))
}

/// Returns all packets of a session of `symbols` symbols, and its events.
fn session(
    symbols: u64,
    mut weather: impl FnMut(&Log, usize, &Packet) -> Vec<Passage>,
) -> (Vec<Packet>, Vec<(Instant, usize, Event)>) {
    let mut channel = Channel::new(HOSTS.map(|addr| (addr, endpoint(addr, 1))), BitsPerSec::gbps(1), 4);
    let flow = FlowSpec { to: HOSTS[1], size: Some(Bytes(symbols * 1000)), paths: 4, ..FlowSpec::default() };
    channel.open(0, flow);
    let mut sent = Vec::new();
    let quiet = channel.run(Instant(60_000_000_000_000), |log, side, packet| {
        sent.push(*packet);
        weather(log, side, packet)
    });
    assert!(quiet, "it never comes to rest");
    (sent, channel.log.events)
}

/// Block and encoding symbol id of each symbol.
fn symbols(sent: &[Packet]) -> Vec<(u32, u32)> {
    let symbol = |packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } => Some((symbol.block, symbol.esi)),
        _ => None,
    };
    sent.iter().filter_map(symbol).collect()
}

fn is_symbol(packet: &Packet) -> bool {
    matches!(packet.header, ScdpHeader::Symbol { .. })
}

#[test]
fn an_object_is_one_block_of_one_priority() {
    let (sent, events) = session(3000, |_, _, _| vec![Passage::whole(HOP)]);
    let source: Vec<_> = (0..3000).map(|esi| (0, esi)).collect();
    assert_eq!(symbols(&sent), source);
    let priorities: BTreeSet<_> = sent.iter().filter(|p| is_symbol(p)).map(|p| p.priority).collect();
    assert_eq!(priorities.len(), 1);
    assert_eq!(sent.len() - symbols(&sent).len(), 3000 - 21 + 1, "pulls and one DONE");
    assert!(events.iter().any(|(_, side, event)| *side == 1 && matches!(event, Event::Received { .. })));
}

/// Lost symbols are replaced by two more than K symbols in all, and decoding them takes no time.
#[test]
fn after_a_loss_any_two_more_symbols_complete_it_at_once() {
    let trimmed = |at: usize| (30..40).contains(&at);
    let (mut at, mut last) = (0, Instant::ZERO);
    let (sent, events) = session(500, |log, _, packet| {
        let fate = if is_symbol(packet) {
            at += 1;
            trimmed(at)
        } else {
            false
        };
        last = if is_symbol(packet) { log.now.after(HOP) } else { last };
        vec![Passage { delay: HOP, fate: if fate { Fate::Trimmed } else { Fate::Whole }, ce: false }]
    });
    let symbols = symbols(&sent);
    assert_eq!(symbols.len(), 500 + 10 + 2);
    let repairs: BTreeSet<_> = symbols.iter().map(|(_, esi)| *esi).filter(|esi| *esi >= 500).collect();
    assert_eq!(repairs.len(), 12);
    let sum: f64 = repairs.iter().map(|esi| f64::from(*esi)).sum();
    assert!(sum / 12.0 > 1e6, "drawn from all ids, not in order: {repairs:?}");
    let received =
        events.iter().find(|(_, side, event)| *side == 1 && matches!(event, Event::Received { .. }));
    let wait = received.expect("the end").0.since(last);
    assert!(wait < Picos::from_micros(10), "{wait:?} after the last symbol arrived");
}

/// Two senders that know nothing of each other's repair symbols hardly ever send the same one.
#[test]
fn senders_draw_their_repair_symbols_independently() {
    let drawn = |host: u32, index: u16| {
        let (mut endpoint, now) = (endpoint(HostAddr(host), 1), Instant(1_000_000));
        let flow =
            FlowSpec { conn: ConnId::new(7), to: HOSTS[1], size: Some(Bytes(60_000)), ..FlowSpec::default() };
        endpoint.open_source(now, flow, Source { index, of: 3 });
        let pull = ScdpHeader::Pull {
            conn: ConnId::new(7),
            number: 200,
            first: 0,
            block: 0,
            extra: 200,
            fin: false,
        };
        let packet = Received {
            from: HOSTS[1],
            paths: 4,
            wire: WireLen::new(64),
            fate: Fate::Whole,
            ce: false,
            header: pull,
        };
        let mut sent: Vec<_> = core::iter::from_fn(|| endpoint.poll_transmit(now)).collect();
        endpoint.handle(now, packet);
        sent.extend(core::iter::from_fn(|| endpoint.poll_transmit(now)));
        symbols(&sent).into_iter().map(|(_, esi)| esi).collect::<Vec<_>>()
    };
    let (a, b) = (drawn(1, 0), drawn(3, 1));
    assert_eq!((&a[..20], &b[..20]), (&(0..20).collect::<Vec<_>>()[..], &(20..40).collect::<Vec<_>>()[..]));
    let repairs = |all: &[u32]| all[20..].iter().copied().collect::<BTreeSet<_>>();
    assert_eq!((repairs(&a).len(), repairs(&b).len()), (200, 200));
    assert!(repairs(&a).is_disjoint(&repairs(&b)) && repairs(&a).iter().all(|esi| *esi >= 60));
}

/// Of two equal repair symbols the second replaces nothing, but still earns a pull, since it was in flight.
#[test]
fn an_equal_repair_symbol_is_replaced() {
    let mut host = endpoint(HOSTS[1], 1);
    let mut now = Instant(1_000_000);
    let (mut sent, _) = session(60, |_, _, packet| {
        let whole = !matches!(packet.header, ScdpHeader::Symbol { symbol, .. } if symbol.number < 4);
        vec![Passage { delay: HOP, fate: if whole { Fate::Whole } else { Fate::Trimmed }, ce: false }]
    });
    sent.retain(is_symbol);
    // The same session again, at a receiver to which the last two symbols come with one id.
    let mut pulled = 0;
    for index in 0..sent.len() {
        let mut header = sent[index].header;
        if let (ScdpHeader::Symbol { symbol, .. }, ScdpHeader::Symbol { symbol: before, .. }) =
            (&mut header, sent[index - usize::from(index + 1 == sent.len())].header)
        {
            symbol.esi = before.esi;
        }
        let fate = if index < 4 { Fate::Trimmed } else { Fate::Whole };
        let packet = Received { from: HOSTS[0], paths: 4, wire: sent[index].wire, fate, ce: false, header };
        host.handle(now, packet);
        now = now.after(Picos::from_micros(20));
        host.handle_timeout(now);
        pulled += core::iter::from_fn(|| host.poll_transmit(now)).count();
    }
    let events: Vec<_> = core::iter::from_fn(|| host.poll_event()).collect();
    assert!(!events.iter().any(|event| matches!(event, Event::Received { .. })), "one symbol is missing");
    assert_eq!(
        pulled,
        sent.len() - 21 + 1,
        "a pull for each symbol but the window's, and one for the equal one"
    );
}

/// No receiver is detached: the group waits for the slowest, and for a dead one until its flow fails.
#[test]
fn a_dead_receiver_fails_and_the_others_go_on() {
    const MEMBERS: [HostAddr; 3] = [HostAddr(11), HostAddr(12), HostAddr(13)];
    let (mut host, mut now) = (endpoint(HOSTS[0], 1), Instant(1_000_000));
    let flow = FlowSpec {
        conn: ConnId::new(40),
        to: HostAddr(1 << 23),
        size: Some(Bytes(60_000)),
        paths: 4,
        ..FlowSpec::default()
    };
    host.open_group(now, flow, &MEMBERS.map(|addr| GroupMember { addr, paths: 2 }));
    let mut sent: Vec<_> = core::iter::from_fn(|| host.poll_transmit(now)).collect();
    // The others are alive: they repeat their pull every 5 ms for as long as it takes.
    let (mut events, mut number) = (Vec::new(), 4);
    for _ in 0..60 {
        for from in &MEMBERS[..2] {
            let pull =
                ScdpHeader::Pull { conn: ConnId::new(40), number, first: 0, block: 0, extra: 0, fin: false };
            host.handle(
                now,
                Received {
                    from: *from,
                    paths: 4,
                    wire: WireLen::new(64),
                    fate: Fate::Whole,
                    ce: false,
                    header: pull,
                },
            );
        }
        let until = now.after(Picos::from_micros(5_000));
        while let Some(due) = host.poll_timeout().filter(|due| due.at <= until) {
            now = due.at.max(now);
            host.handle_timeout(now);
            sent.extend(core::iter::from_fn(|| host.poll_transmit(now)));
        }
        now = until;
        number += 1;
        events.extend(core::iter::from_fn(|| host.poll_event()));
        sent.extend(core::iter::from_fn(|| host.poll_transmit(now)));
    }
    let failed: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Failed { to, conn, reason, .. } => Some((*to, conn.get(), *reason)),
            _ => None,
        })
        .collect();
    assert_eq!(
        failed,
        [(MEMBERS[2], 42, FailureReason::of_protocol(&"the receiver keeps its group waiting"))]
    );
    assert!(sent.iter().all(|packet| packet.to == flow.to), "no session of its own");
    let pulled = symbols(&sent).len();
    assert!(pulled > 21 + 20, "the others go on: {pulled} symbols");
}
