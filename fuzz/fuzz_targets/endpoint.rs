//! A host of any protocol survives arbitrary input: packets of unknown connections, absurd numbers, unsolicited answers. It
//! requests timers at plausible times, and never reports more data than it received. The first byte selects the protocol.
#![no_main]

use std::any::Any;

use libfuzzer_sys::fuzz_target;
use pullnet_ndp::NdpEndpoint;
use pullnet_protocols::{PROTOCOLS, with_protocol};
use pullnet_rng::Seed;
use pullnet_transport::{
    ConnId, Event, Fate, FlowSpec, Header, HostAddr, HostInfo, Packed, Protocol, Received, Streaming,
    Transport, Words,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos, WireLen};

/// One event: kind of packet or action, and three numbers.
type Step = (u8, u32, u32, u32);

/// Upper limit of packet numbers: a receiver stores one bit for each.
const NUMBERS: u32 = 1 << 16;
/// Upper limit of header words after the third, so that some ranges refer to packets that were sent.
const SMALL: u32 = 64;
/// Equal-cost paths to every host.
const PATHS: u16 = 4;

/// A header of any type. Hosts and connections are drawn from four each, so that some packets match existing state.
fn packet<H: Header>((kind, a, b, c): Step) -> Received<H> {
    let fate = match kind >> 6 {
        0 | 1 => Fate::Whole,
        2 => Fate::Trimmed,
        _ => Fate::Returned,
    };
    let mut packed = Packed::<H::Words> { kind: (kind & 0x70) | (kind & 7), ..Packed::default() };
    for (place, word) in (0..).zip(packed.words.get_mut()) {
        *word = match place {
            0 => a & 3,
            1 => b % NUMBERS,
            2 => c,
            _ => (c >> (place % 8)).wrapping_add(place) % SMALL,
        };
    }
    let (from, wire, ce) = (HostAddr(a >> 2 & 3), 64 + (a >> 16) as u16 / 8, a & 0x10 != 0);
    Received { from, paths: PATHS, wire: WireLen::new(wire), fate, ce, header: H::unpack(packed) }
}

fn flow((_, a, b, _): Step) -> FlowSpec {
    let size = (b != 0).then_some(Bytes(u64::from(b % 1_000_000) + 1));
    let (conn, to) = (ConnId::new(a & 3), HostAddr(a >> 2 & 3));
    FlowSpec { conn, to, size, priority: (a >> 4) as u8, paths: PATHS, ..FlowSpec::default() }
}

/// An operation on streams, for any host, connection and slot, whether the stream exists or not.
fn stream(endpoint: &mut impl Streaming, now: Instant, step: Step) {
    let (_, a, b, c) = step;
    let FlowSpec { to, conn, .. } = flow(step);
    match b & 7 {
        0 => endpoint.open_stream(now, flow(step)),
        1 => {
            endpoint.abandon(now, to, conn);
            assert_eq!(endpoint.acknowledged(to, conn), None);
        }
        2 => endpoint.dismiss(now, c & 7),
        3 => endpoint.hold(now, c & 7, a & 0x80 != 0),
        4 => endpoint.prefer(c & 7, a as u8),
        _ => (0..a >> 24).for_each(|_| endpoint.offer(now, to, conn, (c % 9001) as u16, b & 0x80 != 0)),
    }
}

/// Sends some packets and collects the reports. Returns the payload reported as new.
fn drain(endpoint: &mut impl Transport, now: Instant) -> u64 {
    let sent = (0..64).map_while(|_| endpoint.poll_transmit(now));
    sent.for_each(|packet| assert!(packet.path < PATHS));
    let mut delivered = 0;
    while let Some(event) = endpoint.poll_event() {
        if let Event::Delivered { bytes, .. } = event {
            delivered += u64::from(bytes);
        }
    }
    delivered
}

fn survives<P: Protocol>(config: &P::Config, steps: Vec<Step>)
where
    P::Endpoint: 'static,
{
    let info = HostInfo { addr: HostAddr(0), rate: BitsPerSec::gbps(10) };
    let mut endpoint = P::endpoint(config, info, Seed(1).stream("fuzz", 0));
    let (mut now, mut arrived, mut delivered) = (Instant::ZERO, 0u64, 0u64);
    for step in steps {
        match step.0 & 15 {
            13 => {
                if let Some(ndp) = (&mut endpoint as &mut dyn Any).downcast_mut::<NdpEndpoint>() {
                    stream(ndp, now, step);
                }
            }
            14 => endpoint.open(now, flow(step)),
            15 => now = now.after(Picos(u64::from(step.1) * 1000)),
            _ => {
                let packet = packet(step);
                arrived += u64::from(packet.wire);
                endpoint.handle(now, packet);
            }
        }
        for _ in 0..100 {
            let Some(due) = endpoint.poll_timeout().filter(|due| due.at <= now) else { break };
            assert!(!due.timer.as_str().is_empty());
            endpoint.handle_timeout(now);
        }
        delivered += drain(&mut endpoint, now);
        assert!(delivered <= arrived);
    }
    endpoint.open_flows(&mut |status| assert!(status.last_progress <= now));
}

fuzz_target!(|input: (u8, Vec<Step>)| {
    let (protocol, steps) = input;
    let config = (PROTOCOLS[usize::from(protocol) % PROTOCOLS.len()].default)();
    with_protocol!(config, |config: P| survives::<P>(&config, steps));
});
