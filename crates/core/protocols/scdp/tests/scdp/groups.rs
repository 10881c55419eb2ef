//! Sessions with several receivers or several senders, rule by rule: one endpoint and handmade packets.

use pullnet_codes::Share;
use pullnet_rng::Seed;
use pullnet_scdp::{Scdp, ScdpConfig, ScdpEndpoint, ScdpHeader, Shape, Symbol};
use pullnet_transport::{
    ConnId, Event, FailureReason, Fate, FlowSpec, GroupMember, HostAddr, HostInfo, Protocol, Received,
    Source, Transmit, Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos, WireLen};

const GROUP: HostAddr = HostAddr(1 << 23);
const MEMBERS: [HostAddr; 3] = [HostAddr(11), HostAddr(12), HostAddr(13)];
const CONN: ConnId = ConnId::new(40);
const STRAGGLER: Picos = Picos::from_micros(10_000);

/// One host and the time there.
struct Host {
    endpoint: ScdpEndpoint,
    now: Instant,
    events: Vec<Event>,
}

impl Host {
    fn new() -> Self {
        let config = ScdpConfig { mtu: Bytes(1000), straggler: STRAGGLER, ..ScdpConfig::default() };
        let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(1) };
        let endpoint = Scdp::endpoint(&config, info, Seed(1).stream("test.groups", 0));
        Self { endpoint, now: Instant(1_000_000), events: Vec::new() }
    }

    /// Returns all packets that the endpoint sends now.
    fn sends(&mut self) -> Vec<Transmit<ScdpHeader>> {
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push(event);
        }
        core::iter::from_fn(|| self.endpoint.poll_transmit(self.now)).collect()
    }

    /// Advances time to `until`; returns the packets sent at the deadlines up to then.
    fn waits(&mut self, until: Instant) -> Vec<Transmit<ScdpHeader>> {
        let mut sent = Vec::new();
        while let Some(due) = self.endpoint.poll_timeout().filter(|due| due.at <= until) {
            self.now = due.at.max(self.now);
            self.endpoint.handle_timeout(self.now);
            sent.extend(self.sends());
        }
        self.now = until;
        sent
    }

    fn gets(&mut self, from: HostAddr, wire: u16, header: ScdpHeader) -> Vec<Transmit<ScdpHeader>> {
        self.now = Instant(self.now.0 + 1_000_000);
        self.endpoint.handle(
            self.now,
            Received { from, paths: 4, wire: WireLen::new(wire), fate: Fate::Whole, ce: false, header },
        );
        self.sends()
    }

    fn pulled(&mut self, member: usize, number: u32) -> Vec<Transmit<ScdpHeader>> {
        self.pulled_with(member, number, (0, 0), false)
    }

    fn pulled_with(
        &mut self,
        member: usize,
        number: u32,
        (block, extra): (u32, u32),
        fin: bool,
    ) -> Vec<Transmit<ScdpHeader>> {
        let header = ScdpHeader::Pull { conn: CONN, number, first: 0, block, extra, fin };
        self.gets(MEMBERS[member], 64, header)
    }

    fn done(&mut self, member: usize) -> Vec<Transmit<ScdpHeader>> {
        self.gets(MEMBERS[member], 64, ScdpHeader::Done { conn: CONN })
    }
}

/// A sender of `symbols` symbols to three receivers that has pushed its first window.
fn sender(symbols: u64) -> Host {
    let mut host = Host::new();
    let flow = FlowSpec {
        conn: CONN,
        to: GROUP,
        size: Some(Bytes(symbols * 1000)),
        paths: 4,
        ..FlowSpec::default()
    };
    host.endpoint.open_group(host.now, flow, &MEMBERS.map(|addr| GroupMember { addr, paths: 2 }));
    let pushed = host.sends();
    assert_eq!(pushed.len() as u64, symbols.min(12));
    assert!(pushed.iter().all(|packet| packet.to == GROUP && symbol(packet).group), "{pushed:?}");
    host
}

fn symbol(packet: &Transmit<ScdpHeader>) -> Symbol {
    let ScdpHeader::Symbol { conn, symbol } = packet.header else { panic!("no symbol: {packet:?}") };
    assert_eq!(conn, CONN);
    symbol
}

fn esis(packets: &[Transmit<ScdpHeader>]) -> Vec<u32> {
    packets.iter().map(|packet| symbol(packet).esi).collect()
}

#[test]
fn a_symbol_leaves_when_every_receiver_has_pulled_it() {
    let mut host = sender(60);
    assert_eq!(esis(&host.pulled(0, 3)), []);
    assert_eq!(esis(&host.pulled(1, 2)), []);
    assert_eq!(esis(&host.pulled(2, 1)), [12]);
    assert_eq!(esis(&host.pulled(2, 5)), [13]);
    assert_eq!(esis(&host.pulled(1, 1)), [], "an old number");
    assert_eq!(esis(&host.pulled(1, 9)), [14]);
    assert_eq!(esis(&host.pulled(0, 9)), [15, 16]);
}

#[test]
fn receivers_that_are_done_are_not_waited_for_and_each_is_reported_once() {
    let mut host = sender(60);
    host.pulled(0, 5);
    host.pulled(1, 7);
    assert_eq!(esis(&host.done(2)), [12, 13, 14, 15, 16]);
    let last = host.done(0);
    assert_eq!(esis(&last), [17, 18]);
    assert!(last.iter().all(|packet| packet.to == MEMBERS[1] && packet.path < 2), "the last one alone");
    assert!(host.done(0).is_empty() && host.done(1).is_empty() && host.pulled(1, 30).is_empty());
    let completed = host.events.iter().map(|event| match event {
        Event::Completed { to, conn, counts } => (*to, conn.get(), counts.sent),
        other => panic!("{other:?}"),
    });
    let [a, b, c] = MEMBERS;
    assert_eq!(completed.collect::<Vec<_>>(), [(c, 42, 12), (a, 40, 5), (b, 41, 2)], "what each adds");
}

#[test]
fn a_block_gets_what_the_receiver_needs_that_lacks_most() {
    let mut host = sender(12);
    for (member, extra) in [(0, 1), (1, 3), (2, 2)] {
        host.pulled_with(member, 3, (0, extra), false);
    }
    assert!(host.pulled(0, 3).is_empty());
    let mut host = sender(200);
    // The first block of a hundred has left. One receiver lacks three symbols of it, another one symbol.
    (0..3).for_each(|member| drop(host.pulled(member, 88)));
    host.pulled_with(0, 92, (0, 3), false);
    host.pulled_with(1, 92, (0, 1), false);
    let sent = host.pulled(2, 92);
    let of: Vec<_> = sent.iter().map(|packet| (symbol(packet).block, symbol(packet).esi)).collect();
    assert_eq!(of, [(0, 100), (0, 101), (0, 102), (1, 0)]);
}

#[test]
fn a_fin_of_some_receivers_is_none_of_all() {
    let mut host = sender(60);
    host.pulled_with(0, 1, (0, 0), true);
    host.pulled(1, 1);
    let sent = host.pulled_with(2, 1, (0, 0), true);
    assert!(!symbol(&sent[0]).fin);
    (0..2).for_each(|member| drop(host.pulled_with(member, 2, (0, 0), true)));
    let sent = host.pulled_with(2, 2, (0, 0), true);
    assert!(symbol(&sent[0]).fin && sent[0].priority == 7);
}

#[test]
fn a_straggler_is_asked_and_then_goes_on_by_itself() {
    let mut host = sender(60);
    host.pulled(0, 8);
    host.pulled(1, 8);
    let begin = host.now;
    let asked = host.waits(begin.after(Picos::from_micros(2_000)));
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].to == GROUP && symbol(&asked[0]).unasked());
    // The others pull again meanwhile, as receivers do after a timeout.
    host.pulled(0, 9);
    let later = host.waits(begin.after(STRAGGLER).after(Picos(STRAGGLER.0 / 2)));
    let (apart, group): (Vec<_>, Vec<_>) = later.into_iter().partition(|packet| packet.to == MEMBERS[2]);
    assert_eq!(group.iter().filter(|packet| !symbol(packet).unasked()).count(), 8, "the others go on");
    assert!(
        !apart.is_empty()
            && apart.iter().all(|packet| symbol(packet).esi >= 1 << 23 && !symbol(packet).group)
    );
    // Its pulls now count for its own session only.
    let own = host.pulled(2, 2);
    assert_eq!(own.len(), 2);
    assert!(own.iter().all(|packet| packet.to == MEMBERS[2] && symbol(packet).esi > 1 << 23));
    assert!(host.done(2).is_empty());
    assert!(
        matches!(host.events.last(), Some(Event::Completed { conn, .. }) if *conn == ConnId::new(42)),
        "{:?}",
        host.events
    );
    host.pulled(0, 10);
    assert!(host.pulled(1, 10).iter().all(|packet| packet.to == GROUP), "two receivers are a group");
}

#[test]
fn silent_receivers_fail_each_by_itself() {
    let mut host = sender(60);
    host.waits(Instant(20_000_000_000_000));
    let failed = host.events.iter().filter_map(|event| match event {
        Event::Failed { to, conn, reason: FailureReason::ReceiverSilent, .. } => Some((*to, conn.get())),
        _ => None,
    });
    assert_eq!(failed.collect::<Vec<_>>(), [(MEMBERS[0], 40), (MEMBERS[1], 41), (MEMBERS[2], 42)]);
    assert!(host.endpoint.poll_timeout().is_none(), "and nothing is left");
}

/// Symbol `number` of sender `share`; the data is one block of `symbols` symbols.
fn of(share: Share, number: u32, symbols: u32) -> ScdpHeader {
    let shape = Shape { bytes: Some(u64::from(symbols) * 1000), symbol: 1000, most: 100 };
    let symbol = Symbol {
        shape,
        block: 0,
        esi: share.esi(symbols, number).unwrap(),
        number,
        pushed: 6,
        syn: number < 6,
        fin: false,
        served: 0,
        priority: 0,
        share,
        group: false,
    };
    ScdpHeader::Symbol { conn: CONN, symbol }
}

#[test]
fn pulls_go_to_the_sender_whose_symbol_earned_them() {
    let mut host = Host::new();
    let shares = [0, 1, 2].map(|sender| Share::new(sender, 3).unwrap());
    let mut pulls = Vec::new();
    for number in 0..6 {
        for sender in [0, 1] {
            pulls.extend(host.gets(MEMBERS[sender], 1064, of(shares[sender], number, 60)));
        }
        pulls.extend(host.waits(host.now.after(Picos::from_micros(50))));
    }
    let opened = host.events.iter().filter(|event| matches!(event, Event::Opened { .. })).count();
    assert_eq!(opened, 1, "one session");
    for member in &MEMBERS[..2] {
        let own = pulls.iter().filter(|packet| packet.to == *member);
        let numbers: Vec<_> = own
            .map(|packet| match packet.header {
                ScdpHeader::Pull { number, .. } => number,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6], "numbered for each sender");
    }
}

#[test]
fn any_symbols_complete_and_every_sender_hears_of_it() {
    let mut host = Host::new();
    let shares = [0, 1, 2].map(|sender| Share::new(sender, 3).unwrap());
    // The third sender has crashed: repair symbols of the others replace its part. A duplicate has no effect.
    let mut sent = Vec::new();
    for number in 0..3 {
        for sender in [0, 1, 1] {
            sent.extend(host.gets(MEMBERS[sender], 1064, of(shares[sender], number, 6)));
        }
    }
    let received = |host: &Host| host.events.iter().any(|event| matches!(event, Event::Received { .. }));
    assert!(!received(&host), "six symbols, but two of them repair symbols: two more are needed");
    for sender in [0, 1] {
        sent.extend(host.gets(MEMBERS[sender], 1064, of(shares[sender], 3, 6)));
    }
    sent.extend(host.waits(host.now.after(Picos::from_micros(1_000))));
    assert!(received(&host));
    let done = |packets: &[Transmit<ScdpHeader>]| {
        let done = packets.iter().filter(|packet| matches!(packet.header, ScdpHeader::Done { .. }));
        done.map(|packet| packet.to).collect::<Vec<_>>()
    };
    assert_eq!(done(&sent), MEMBERS[..2]);
    let late = host.gets(MEMBERS[2], 1064, of(shares[2], 0, 6));
    assert_eq!(done(&late), MEMBERS[2..], "one that comes late opens nothing");
}

#[test]
fn a_receiver_that_is_done_answers_a_group_only_if_it_is_asked() {
    let mut host = Host::new();
    let group = |number: u32, fin: bool| match of(Share::default(), number, 6) {
        ScdpHeader::Symbol { conn, symbol } => {
            ScdpHeader::Symbol { conn, symbol: Symbol { group: true, fin, ..symbol } }
        }
        other => other,
    };
    let sent: Vec<_> = (0..6).flat_map(|number| host.gets(MEMBERS[0], 1064, group(number, false))).collect();
    assert!(sent.iter().any(|packet| matches!(packet.header, ScdpHeader::Done { .. })), "{sent:?}");
    assert!(host.gets(MEMBERS[0], 1064, group(7, false)).is_empty(), "for others");
    assert_eq!(host.gets(MEMBERS[0], 1064, group(8, true)).len(), 1, "the answer to a FIN");
    let ScdpHeader::Symbol { conn, symbol } = group(9, false) else { unreachable!() };
    let asked = ScdpHeader::Symbol { conn, symbol: Symbol { syn: true, ..symbol } };
    assert_eq!(host.gets(MEMBERS[0], 1064, asked).len(), 1, "a question");
}

#[test]
fn a_sender_of_several_sends_its_part() {
    let mut host = Host::new();
    let flow = FlowSpec { conn: CONN, to: MEMBERS[0], size: Some(Bytes(60_000)), ..FlowSpec::default() };
    host.endpoint.open_source(host.now, flow, Source { index: 1, of: 3 });
    assert_eq!(esis(&host.sends()), [20, 21, 22, 23, 24, 25]);
    let rest = host.pulled(0, 16);
    assert_eq!(esis(&rest), [26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 61, 64]);
}

/// Others have made the first blocks decodable: what it has not sent of them is of no use.
#[test]
fn a_slow_sender_skips_what_is_decodable() {
    let mut host = Host::new();
    let flow = FlowSpec { conn: CONN, to: MEMBERS[0], size: Some(Bytes(1_000_000)), ..FlowSpec::default() };
    host.endpoint.open_source(host.now, flow, Source { index: 1, of: 3 });
    host.sends();
    let pull =
        |number, first| ScdpHeader::Pull { conn: CONN, number, first, block: first, extra: 0, fin: false };
    let blocks = |sent: &[Transmit<ScdpHeader>]| sent.iter().map(|p| symbol(p).block).collect::<Vec<_>>();
    let sent = host.gets(MEMBERS[0], 64, pull(2, 7));
    assert_eq!((blocks(&sent), esis(&sent)), (vec![7, 7], vec![33, 34]));
    let sent = host.gets(MEMBERS[0], 64, pull(3, 5));
    assert_eq!((blocks(&sent), esis(&sent)), (vec![7], vec![35]), "an older pull");
    let sent = host.gets(MEMBERS[0], 64, pull(4, 9));
    assert_eq!((blocks(&sent), esis(&sent)), (vec![9], vec![33]));
}

/// A real decoder may find that as many symbols as usually suffice do not determine a block: one more is pulled.
#[test]
fn a_block_that_a_real_decoder_cannot_decode_gets_a_further_symbol() {
    let mut host = Host::new();
    let shares = [0, 1].map(|sender| Share::new(sender, 2).unwrap());
    // Of six source symbols only the three of the first sender arrive, then its repair symbols.
    let mut deliver = |number: u32, sufficient: bool| {
        let header = of(shares[0], number, 6);
        let (from, fate) = (MEMBERS[0], Fate::Whole);
        host.now = Instant(host.now.0 + 1_000_000);
        let packet = Received { from, paths: 4, wire: WireLen::new(1064), fate, ce: false, header };
        host.endpoint.handle_decoded(host.now, packet, sufficient);
        host.waits(host.now.after(Picos::from_micros(100)));
        host.events.iter().any(|event| matches!(event, Event::Received { .. }))
    };
    assert!((0..7).all(|number| !deliver(number, true)), "K + 1 symbols");
    assert!(!deliver(7, false), "K + 2 symbols that are dependent");
    assert!(deliver(8, true), "one more");
}

/// Probes of a sender come more often than its receiver's timeout: the receiver still notices that all in flight is lost.
#[test]
fn probes_do_not_postpone_the_timeout_of_a_receiver() {
    let mut host = Host::new();
    let share = Share::default();
    (0..6).for_each(|number| drop(host.gets(MEMBERS[0], 1064, of(share, number, 12))));
    host.waits(host.now.after(Picos::from_micros(100)));
    // The six symbols that were pulled, and that suffice, are lost. The timeout is 1 ms.
    let mut pulls = Vec::new();
    for number in 6..11 {
        let ScdpHeader::Symbol { conn, symbol } = of(share, number, 12) else { unreachable!() };
        let probe = ScdpHeader::Symbol { conn, symbol: Symbol { syn: true, ..symbol } };
        assert!(matches!(probe, ScdpHeader::Symbol { symbol, .. } if symbol.unasked()));
        pulls.extend(host.gets(MEMBERS[0], 1064, probe));
        pulls.extend(host.waits(host.now.after(Picos::from_micros(900))));
    }
    assert!(pulls.iter().any(|packet| matches!(packet.header, ScdpHeader::Pull { .. })), "{pulls:?}");
}

/// With a low `pull_rate` pulls lie further apart than the timeout. A probe carries a symbol that no receiver has pulled.
#[test]
fn receivers_that_pull_rarely_get_what_they_pull() {
    let mut host = sender(60);
    let gap = Picos::from_micros(30_000);
    let mut sent = Vec::new();
    for number in 1..=20 {
        sent.push(host.waits(host.now.after(gap)));
        // One after the other, but soon.
        (0..3).for_each(|member| sent.push(host.pulled(member, number)));
    }
    // Probes leave until it is known how far apart pulls lie.
    let later = sent[8..].concat();
    assert_eq!(later.len(), 18);
    assert!(later.iter().all(|packet| packet.to == GROUP && !symbol(packet).unasked()));
}
