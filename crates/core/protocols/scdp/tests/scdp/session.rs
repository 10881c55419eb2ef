//! SCDP, rule by rule.

use proptest::prelude::*;
use pullnet_rng::{RandomStream, Seed};
use pullnet_scdp::{Pulling, Scdp, ScdpConfig, ScdpEndpoint, ScdpHeader};
use pullnet_transport::channel::{Channel, Log, Passage};
use pullnet_transport::{
    Class, ConnId, Event, FailureReason, Fate, FlowSpec, HostAddr, HostInfo, Protocol, Transmit,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Packets, Picos};

const HOSTS: [HostAddr; 2] = [HostAddr(1), HostAddr(2)];
const LIMIT: Instant = Instant(60_000_000_000_000);
const HOP: Picos = Picos::from_micros(20);

type Packet = Transmit<ScdpHeader>;

fn config() -> ScdpConfig {
    ScdpConfig { mtu: Bytes(1000), ..ScdpConfig::default() }
}

fn channel(config: &ScdpConfig, seed: u64) -> Channel<ScdpEndpoint> {
    let endpoint = |addr: HostAddr| {
        let info = HostInfo { addr, rate: BitsPerSec::gbps(1) };
        (addr, Scdp::endpoint(config, info, Seed(seed).stream("test.scdp", addr.0.into())))
    };
    Channel::new(HOSTS.map(endpoint), BitsPerSec::gbps(1), 4)
}

/// All packets of side 0 and side 1 in one session of `symbols` packets, with the network behaviour `weather`.
fn session(
    config: &ScdpConfig,
    symbols: u64,
    mut weather: impl FnMut(&Log, usize, &Packet) -> Vec<Passage>,
) -> (Vec<Packet>, Vec<(Instant, usize, Event)>) {
    let mut channel = channel(config, 1);
    let flow = FlowSpec { to: HOSTS[1], size: Some(Bytes(symbols * 1000)), paths: 4, ..FlowSpec::default() };
    channel.open(0, flow);
    let mut sent = Vec::new();
    let quiet = channel.run(LIMIT, |log, side, packet| {
        sent.push(*packet);
        weather(log, side, packet)
    });
    assert!(quiet, "it never comes to rest");
    (sent, channel.log.events)
}

fn fine(_: &Log, _: usize, _: &Packet) -> Vec<Passage> {
    vec![Passage::whole(HOP)]
}

fn trimmed() -> Vec<Passage> {
    vec![Passage { delay: HOP, fate: Fate::Trimmed, ce: false }]
}

/// Block, encoding symbol id, SYN and FIN of each symbol.
fn symbols(sent: &[Packet]) -> Vec<(u32, u32, bool, bool)> {
    let symbol = |packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } => Some((symbol.block, symbol.esi, symbol.syn, symbol.fin)),
        _ => None,
    };
    sent.iter().filter_map(symbol).collect()
}

/// Number and FIN of each pull.
fn pulls(sent: &[Packet]) -> Vec<(u32, bool)> {
    let pull = |packet: &Packet| match packet.header {
        ScdpHeader::Pull { number, fin, .. } => Some((number, fin)),
        _ => None,
    };
    sent.iter().filter_map(pull).collect()
}

fn dones(sent: &[Packet]) -> usize {
    sent.iter().filter(|packet| matches!(packet.header, ScdpHeader::Done { .. })).count()
}

fn completes(events: &[(Instant, usize, Event)]) -> bool {
    let received =
        events.iter().filter(|(_, side, event)| *side == 1 && matches!(event, Event::Received { .. }));
    let completed =
        events.iter().filter(|(_, side, event)| *side == 0 && matches!(event, Event::Completed { .. }));
    (received.count(), completed.count()) == (1, 1)
}

#[test]
fn without_loss_a_session_takes_k_symbols_and_k_minus_iw_pulls() {
    for count in [1, 11, 12, 13, 50, 100, 101, 1000] {
        let (sent, events) = session(&config(), count, fine);
        let (symbols, pulls) = (symbols(&sent), pulls(&sent));
        assert_eq!(symbols.len() as u64, count);
        assert_eq!(pulls.len() as u64, count.saturating_sub(12));
        assert_eq!(symbols.iter().filter(|symbol| symbol.2).count() as u64, count.min(12));
        assert!(pulls.iter().enumerate().all(|(at, pull)| pull.0 == at as u32 + 1), "{pulls:?}");
        assert!(completes(&events));
        // The only other packet is one DONE.
        assert_eq!((dones(&sent), sent.len()), (1, symbols.len() + pulls.len() + 1));
    }
}

#[test]
fn the_pull_for_the_last_symbol_has_fin_and_its_answer_the_highest_priority() {
    let (sent, _) = session(&config(), 200, fine);
    let pulls = pulls(&sent);
    let fins: Vec<_> = pulls.iter().filter(|pull| pull.1).map(|pull| pull.0).collect();
    assert_eq!(fins, [188]);
    let fin =
        sent.iter().find(|packet| matches!(packet.header, ScdpHeader::Symbol { symbol, .. } if symbol.fin));
    assert_eq!(fin.expect("an answer").priority, 7);
}

#[test]
fn symbols_fall_in_priority_with_the_bytes_sent() {
    let (sent, _) = session(&config(), 2_000, fine);
    let data: Vec<_> = sent.iter().filter(|packet| packet.class == Class::Data).collect();
    for (at, priority) in [(12, 6), (99, 6), (100, 5), (999, 5), (1_000, 4), (1_998, 4)] {
        assert_eq!(data[at].priority, priority, "symbol {at}");
    }
}

/// The initial window of 12 kB is above the first threshold of 10 kB.
#[test]
fn the_whole_initial_window_has_the_highest_priority() {
    for count in [11, 12, 200] {
        let (sent, _) = session(&config(), count, fine);
        let pushed =
            |packet: &&Packet| matches!(packet.header, ScdpHeader::Symbol { symbol, .. } if symbol.syn);
        let priorities: Vec<_> = sent.iter().filter(pushed).map(|packet| packet.priority).collect();
        assert_eq!(priorities, vec![7; count.min(12) as usize]);
    }
}

/// One symbol is trimmed: its header earns a pull, and the first loss of the block two more.
#[test]
fn a_trimmed_symbol_costs_its_replacement_and_two_spare_symbols() {
    let trim_one = |_: &Log, side: usize, packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if symbol.esi == 20 && side == 0 => trimmed(),
        _ => vec![Passage::whole(HOP)],
    };
    let (sent, events) = session(&config(), 50, trim_one);
    let esis: Vec<_> = symbols(&sent).iter().map(|symbol| symbol.1).collect();
    assert_eq!(esis, (0..53).collect::<Vec<_>>(), "50 source symbols and three repair symbols, none twice");
    assert_eq!(pulls(&sent).len(), 50 - 12 + 1 + 2);
    assert!(completes(&events));
}

#[test]
fn a_second_loss_in_the_block_costs_only_its_replacement() {
    let trim_two = |_: &Log, side: usize, packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if [5, 20].contains(&symbol.esi) && side == 0 => trimmed(),
        _ => vec![Passage::whole(HOP)],
    };
    let (sent, events) = session(&config(), 50, trim_two);
    assert_eq!(symbols(&sent).len(), 50 + 2 + 2);
    assert!(completes(&events));
}

/// With 100 symbols per block, a loss in the first block is recovered by symbols of that block.
#[test]
fn blocks_are_pipelined_and_a_loss_is_made_up_for_in_its_block() {
    let trim_one = |_: &Log, side: usize, packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if (symbol.block, symbol.esi) == (0, 30) && side == 0 => trimmed(),
        _ => vec![Passage::whole(HOP)],
    };
    let (sent, events) = session(&config(), 250, trim_one);
    let of = |block: u32| symbols(&sent).iter().filter(|symbol| symbol.0 == block).count();
    assert_eq!([of(0), of(1), of(2)], [84 + 3, 83, 83]);
    assert!(completes(&events));
    // The sender never waits for a block to be decoded: the number of pulls is that of a single block.
    assert_eq!(pulls(&sent).len(), 250 - 12 + 3);
}

/// A trimmed answer to a FIN earns a pull that has FIN again, which the sender still serves.
#[test]
fn a_trimmed_last_symbol_is_asked_for_with_fin_again() {
    let mut left = 2;
    let (sent, events) = session(&config(), 40, |_, _, packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if symbol.fin && left > 0 => {
            left -= 1;
            trimmed()
        }
        _ => vec![Passage::whole(HOP)],
    });
    let fins = pulls(&sent).iter().filter(|pull| pull.1).count();
    assert!(fins >= 3, "{fins} pulls with FIN");
    assert!(completes(&events));
}

/// Symbols lost without a header are not pulled one by one: the timeout pulls all missing ones.
#[test]
fn silent_losses_are_made_up_for_after_the_timeout() {
    let lose = |_: &Log, side: usize, packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if side == 0 && (12..24).contains(&symbol.esi) => Vec::new(),
        _ => vec![Passage::whole(HOP)],
    };
    let (sent, events) = session(&config(), 50, lose);
    assert!(completes(&events));
    let symbols = symbols(&sent);
    let distinct: std::collections::BTreeSet<_> = symbols.iter().map(|symbol| symbol.1).collect();
    assert_eq!(distinct.len(), symbols.len(), "a symbol was sent twice");
    assert!(symbols.len() <= 50 + 12 + 2 + 12, "{} symbols", symbols.len());
}

#[test]
fn lost_pulls_are_served_by_the_next_number() {
    let mut lost = 0;
    let (sent, events) = session(&config(), 60, |_, _, packet| match packet.header {
        ScdpHeader::Pull { number, .. } if number % 5 == 2 && number < 40 => {
            lost += 1;
            Vec::new()
        }
        _ => vec![Passage::whole(HOP)],
    });
    assert!(completes(&events));
    assert_eq!(symbols(&sent).len(), 60, "a lost pull costs no symbol");
}

#[test]
fn a_lost_first_window_is_sent_by_other_symbols() {
    let lose = |_: &Log, _: usize, packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if symbol.number < 12 => Vec::new(),
        _ => vec![Passage::whole(HOP)],
    };
    let (sent, events) = session(&config(), 12, lose);
    assert!(completes(&events), "{events:?}");
    assert!(symbols(&sent)[12..].iter().all(|symbol| symbol.1 >= 12), "a lost symbol came again");
}

#[test]
fn a_lost_end_is_said_again() {
    let mut lost = 0;
    let (sent, events) = session(&config(), 30, |_, _, packet| match packet.header {
        ScdpHeader::Done { .. } if lost < 3 => {
            lost += 1;
            Vec::new()
        }
        _ => vec![Passage::whole(HOP)],
    });
    assert!(completes(&events));
    assert_eq!(dones(&sent), 4);
}

/// Only blocks that lost a symbol take time to decode. The sender is told when the application has the data.
#[test]
fn a_session_ends_when_its_last_block_is_decoded() {
    let slow = ScdpConfig { decode_rate: Some("100 Mbps".parse().unwrap()), ..config() };
    let last = |events: &[(Instant, usize, Event)], wanted: fn(&Event) -> bool| {
        events.iter().rfind(|(_, _, event)| wanted(event)).expect("it happens").0
    };
    let exposed = |events: &[(Instant, usize, Event)]| {
        let arrived = last(events, |event| matches!(event, Event::Delivered { .. }));
        let received = last(events, |event| matches!(event, Event::Received { .. }));
        assert!(received < last(events, |event| matches!(event, Event::Completed { .. })));
        received.since(arrived)
    };
    let (_, without) = session(&slow, 50, fine);
    assert_eq!(exposed(&without), Picos::ZERO);
    let trim_one = |_: &Log, side: usize, packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if symbol.esi == 20 && side == 0 => trimmed(),
        _ => vec![Passage::whole(HOP)],
    };
    let (_, with) = session(&slow, 50, trim_one);
    // 50 symbols of 1000 B at 100 Mb/s.
    assert_eq!(exposed(&with), Picos::from_micros(4_000));
}

#[test]
fn a_block_that_cannot_be_decoded_asks_for_one_more_symbol() {
    let pulling = Pulling { failure: 1.0, spare: 0, ..Pulling::default() };
    let hard = ScdpConfig { pulling, ..config() };
    let trim_one = |_: &Log, side: usize, packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if symbol.esi == 20 && side == 0 => trimmed(),
        _ => vec![Passage::whole(HOP)],
    };
    let (sent, events) = session(&hard, 50, trim_one);
    assert!(completes(&events));
    assert_eq!(symbols(&sent).len(), 52, "the replacement does not decode, the next one does");
}

#[test]
fn flows_that_cannot_be_sent_are_refused_with_a_reason() {
    let mut channel = channel(&config(), 1);
    for (conn, size) in [(1, Some(Bytes(0))), (2, Some(Bytes(u64::MAX)))] {
        channel.open(0, FlowSpec { conn: ConnId::new(conn), to: HOSTS[1], size, ..FlowSpec::default() });
    }
    assert!(channel.run(LIMIT, fine));
    let reasons: Vec<_> = channel.log.events.iter().map(|(_, _, event)| *event).collect();
    assert!(matches!(
        reasons[..],
        [
            Event::Failed { reason: FailureReason::EmptyFlow, .. },
            Event::Failed { reason: many, .. }
        ] if many.as_str() == "a flow has at most 2^32 - 2 symbols"
    ));
}

/// Random network behaviour: loss, trimming, delay. `lose` and `trim` in percent, `late` in ns.
fn weather(chance: &mut RandomStream, lose: u32, trim: u32, late: u64, class: Class) -> Vec<Passage> {
    if chance.below(100) < lose {
        return Vec::new();
    }
    let fate = if class == Class::Data && chance.below(100) < trim { Fate::Trimmed } else { Fate::Whole };
    vec![Passage { delay: Picos(HOP.0 + u64::from(chance.below(1 + late as u32)) * 1_000), fate, ce: false }]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Under any loss, trimming and reordering, the session completes, no symbol is sent twice, source symbols leave first
    /// in each block, and all payload is reported once.
    #[test]
    fn every_session_completes_and_no_symbol_is_sent_twice(
        bytes in 1u64..200_000, block in 1u32..60, window in 1u32..30, spare in 0u32..4, failure in 0.0..1.0,
        lose in 0u32..15, trim in 0u32..40, late in 0u64..50_000, seed: u64,
    ) {
        let config = ScdpConfig {
            block: Packets(block), initial_window: Packets(window), pulling: Pulling { spare, failure, ..Pulling::default() }, ..config()
        };
        let mut channel = channel(&config, seed);
        channel.open(0, FlowSpec { to: HOSTS[1], size: Some(Bytes(bytes)), paths: 4, ..FlowSpec::default() });
        let (mut sent, mut chance) = (Vec::new(), Seed(seed).stream("test.weather", 0));
        let quiet = channel.run(LIMIT, |_, _, packet| {
            sent.push(*packet);
            weather(&mut chance, lose, trim, late, packet.class)
        });
        prop_assert!(quiet);
        prop_assert!(completes(&channel.log.events), "{:?}", channel.log.events.last());
        let mut next = std::collections::BTreeMap::new();
        for (block, esi, ..) in symbols(&sent) {
            let expected: &mut u32 = next.entry(block).or_insert(0);
            prop_assert_eq!(esi, *expected, "symbols of block {} are out of order", block);
            *expected += 1;
        }
        let reported: u64 = channel.log.events.iter().map(|(_, _, event)| match event {
            Event::Delivered { bytes, .. } => u64::from(*bytes),
            _ => 0,
        }).sum();
        prop_assert_eq!(reported, bytes);
    }
}

/// At a hundredth of the link's rate, pulls for large symbols lie 48 ms apart, which is longer than a sender usually waits for one.
#[test]
fn symbols_come_at_the_rate_of_pulls_even_if_that_is_low() {
    let pulling = Pulling { pull_rate: 0.01, ..Pulling::default() };
    let config = ScdpConfig { mtu: Bytes(60_000), pulling, ..ScdpConfig::default() };
    let (sent, events) = session(&config, 6_000, fine);
    assert!(completes(&events));
    let probes = sent
        .iter()
        .filter(|packet| matches!(packet.header, ScdpHeader::Symbol { symbol, .. } if symbol.unasked()));
    let count = probes.count();
    assert!(count <= 6, "{count} probes beside {} pulls", pulls(&sent).len());
}

/// All symbols have arrived, and decoding takes longer than the sender bears silence: the receiver answers its probes.
#[test]
fn a_session_outlives_a_decoder_that_is_slower_than_give_up() {
    let pulling = Pulling { give_up: Picos::from_micros(20_000), ..Pulling::default() };
    let slow = ScdpConfig { decode_rate: Some("1 Mbps".parse().unwrap()), pulling, ..config() };
    let trim_one = |_: &Log, side: usize, packet: &Packet| match packet.header {
        ScdpHeader::Symbol { symbol, .. } if symbol.esi == 20 && side == 0 => trimmed(),
        _ => vec![Passage::whole(HOP)],
    };
    let (sent, events) = session(&slow, 50, trim_one);
    assert!(completes(&events), "{:?}", events.last());
    // 50 symbols and three for the trimmed one; the others are probes during 400 ms.
    let pulled = pulls(&sent).iter().map(|pull| pull.0).max();
    assert_eq!(pulled, Some(50 - 12 + 3), "answers to probes are no new pulls");
}

/// The pulls of a host with many sessions lie further apart than their senders bear silence.
#[test]
fn sessions_outlive_a_pull_queue_that_is_longer_than_give_up() {
    let pulling = Pulling { give_up: Picos::from_micros(3_000), pull_rate: 0.01, ..Pulling::default() };
    let config = ScdpConfig { pulling, ..config() };
    let mut channel = channel(&config, 1);
    for conn in 0..20 {
        let size = Some(Bytes(20_000));
        channel.open(
            0,
            FlowSpec { conn: ConnId::new(conn), to: HOSTS[1], size, paths: 4, ..FlowSpec::default() },
        );
    }
    assert!(channel.run(LIMIT, fine));
    let failed = channel.log.events.iter().filter(|(_, _, event)| matches!(event, Event::Failed { .. }));
    assert_eq!(failed.count(), 0);
}
