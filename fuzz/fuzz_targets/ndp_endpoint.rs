//! An NDP host survives whatever arrives: packets of connections that it never heard of, numbers that make no sense,
//! answers to nothing. It asks to be woken at times that make sense, and never reports more than it was given.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_ndp::{Ndp, NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_rng::Seed;
use pullnet_transport::{
    ConnId, Event, Fate, FlowSpec, Header, HostAddr, HostInfo, Packed, Protocol, Received, Streaming,
    Transport,
};
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

/// What happens: kind of packet or action, and three numbers.
type Step = (u8, u32, u32, u32);

/// Packet numbers are kept below this: a receiver keeps one bit for each.
const NUMBERS: u32 = 1 << 16;

fn host() -> NdpEndpoint {
    let info = HostInfo { addr: HostAddr(0), rate: BitsPerSec::gbps(10) };
    Ndp::endpoint(&NdpConfig::default(), info, Seed(1).stream("fuzz", 0))
}

/// A header of any type; of four connections with each of four hosts, so that some of it fits together.
fn packet((kind, a, b, c): Step) -> Received<NdpHeader> {
    let fate = match kind >> 6 {
        0 | 1 => Fate::Whole,
        2 => Fate::Trimmed,
        _ => Fate::Returned,
    };
    let words = [a & 3, b % NUMBERS, c];
    let header = NdpHeader::unpack(Packed { kind: (kind & 0x70) | (kind & 7), words });
    Received { from: HostAddr(a >> 2 & 3), paths: 4, wire: 64 + (a >> 16) as u16 / 8, fate, header }
}

fn flow((_, a, b, _): Step) -> FlowSpec {
    let size = (b != 0).then_some(Bytes(u64::from(b % 1_000_000) + 1));
    FlowSpec { conn: ConnId(a & 3), to: HostAddr(a >> 2 & 3), size, priority: (a >> 4) as u8, paths: 4, ..FlowSpec::default() }
}

/// What an application does with streams: of any host, connection and slot, whether there is one or not.
fn stream(endpoint: &mut NdpEndpoint, now: Instant, step: Step) {
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

/// Lets the link take some packets, and takes the reports. Returns the payload reported as new.
fn drain(endpoint: &mut NdpEndpoint, now: Instant) -> u64 {
    let sent = (0..64).map_while(|_| endpoint.poll_transmit(now));
    sent.for_each(|packet| assert!(packet.path < 4));
    let mut delivered = 0;
    while let Some(event) = endpoint.poll_event() {
        if let Event::Delivered { bytes, .. } = event {
            delivered += u64::from(bytes);
        }
    }
    delivered
}

fuzz_target!(|steps: Vec<Step>| {
    let (mut endpoint, mut now) = (host(), Instant::ZERO);
    let (mut arrived, mut delivered) = (0u64, 0u64);
    for step in steps {
        match step.0 & 15 {
            13 => stream(&mut endpoint, now, step),
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
            assert!(!due.why.is_empty());
            endpoint.handle_timeout(now);
        }
        delivered += drain(&mut endpoint, now);
        assert!(delivered <= arrived);
    }
    endpoint.open_flows(&mut |status| assert!(status.last_progress <= now));
});
