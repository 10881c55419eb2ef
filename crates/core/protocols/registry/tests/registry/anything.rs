//! Headers and endpoints survive any input: any words, any packets, in any order.

use crate::common::{PATHS, drain, endpoint, protocols};
use proptest::prelude::*;
use pullnet_protocols::with_protocol;
use pullnet_transport::{
    ConnId, Fate, FlowSpec, Header, HostAddr, Packed, Protocol, Received, Transport, Words,
};
use pullnet_units::{Bytes, Instant, Picos, WireLen};

type HeaderOf<P> = <<P as Protocol>::Endpoint as Transport>::Header;

/// Any header: the words that it has, of these.
fn header<H: Header>(kind: u8, words: &[u32]) -> H {
    let mut packed = Packed::<H::Words> { kind, ..Packed::default() };
    packed.words.get_mut().iter_mut().zip(words).for_each(|(word, given)| *word = *given);
    H::unpack(packed)
}

fn packing_is_stable<P: Protocol>(kind: u8, words: &[u32]) {
    let kinds = HeaderOf::<P>::KINDS;
    let packed = header::<HeaderOf<P>>(kind, words).pack();
    let again = HeaderOf::<P>::unpack(packed);
    assert_eq!(again.pack(), packed, "{}: {again:?} is packed otherwise the second time", P::NAME);
    assert!(
        usize::from(packed.kind & 0x0f) < kinds.len(),
        "{}: {again:?} has no name among {kinds:?}",
        P::NAME
    );
    assert!(kinds.len() <= 16, "{}: {} packet types, and the kind has four bits", P::NAME, kinds.len());
    assert_eq!(again.concerns(), HeaderOf::<P>::unpack(packed).concerns(), "{}", P::NAME);
}

/// A step: what happens, and words.
type Step = (u8, u8, [u32; 4]);

/// A packet of one of four connections with one of four hosts, with small numbers mostly, so that some of it fits together.
fn packet<H: Header>((what, kind, [a, b, c, d]): Step) -> Received<H> {
    let fate = match what >> 6 {
        0 | 1 => Fate::Whole,
        2 => Fate::Trimmed,
        _ => Fate::Returned,
    };
    let words: Vec<u32> = (0..H::Words::COUNT as u32)
        .map(|place| match place {
            0 => a & 3,
            1 if d & 2 != 0 => b,
            1 => b % 40,
            _ => (c >> (place % 8)).wrapping_add(d.wrapping_mul(place)) % 64,
        })
        .collect();
    let (from, wire) = (HostAddr(a >> 2 & 3), 64 + (a >> 16) as u16 / 8);
    Received {
        from,
        paths: PATHS,
        wire: WireLen::new(wire),
        fate,
        ce: d & 1 != 0,
        header: header(kind, &words),
    }
}

fn survives<P: Protocol>(config: &P::Config, steps: &[Step]) {
    let (mut host, mut now) = (endpoint::<P>(config), Instant::ZERO);
    let (mut arrived, mut delivered) = (0u64, 0u64);
    for step in steps {
        let (what, _, [a, b, c, _]) = *step;
        match what & 15 {
            14 => {
                let (conn, to) = (ConnId::new(a & 3), HostAddr(a >> 2 & 3));
                let size = (b != 0).then_some(Bytes(u64::from(c % 1_000_000) + 1));
                host.open(now, FlowSpec { conn, to, size, paths: PATHS, ..FlowSpec::default() });
            }
            15 => now = now.after(Picos(u64::from(c) * 1000)),
            _ => {
                let packet = packet::<HeaderOf<P>>(*step);
                arrived += u64::from(packet.wire);
                host.handle(now, packet);
            }
        }
        delivered += drain(&mut host, now);
        assert!(delivered <= arrived, "{} delivered {delivered} B of {arrived} B that arrived", P::NAME);
    }
    host.open_flows(&mut |status| {
        assert!(status.last_progress <= now, "{}: {status:?} is from after {now:?}", P::NAME);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_words_are_a_header_and_packing_it_is_stable(kind: u8, words: [u32; 27]) {
        for config in protocols() {
            with_protocol!(&config, |_config: P| packing_is_stable::<P>(kind, &words));
        }
    }

    #[test]
    fn an_endpoint_survives_any_packets(
        steps in prop::collection::vec((any::<u8>(), any::<u8>(), any::<[u32; 4]>()), 0..120),
    ) {
        for config in protocols() {
            with_protocol!(&config, |config: P| survives::<P>(config, &steps));
        }
    }
}
