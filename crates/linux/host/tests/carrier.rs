//! The engine is generic over the transport: streams over a transport other than the hosts' NDP. It has settings of its own,
//! and never delays an answer until a frame leaves.

mod common;

use std::net::SocketAddr;

use common::{address, content, mac};
use pullnet_host::{Carrier, Engine, EngineOptions, Form, Purpose, Read, StreamOptions, Taken, Times};
use pullnet_ndp::wire::Label;
use pullnet_ndp::{Ndp, NdpConfig, NdpEndpoint, NdpHeader};
use pullnet_rng::RandomStream;
use pullnet_settings::settings;
use pullnet_transport::{ConnId, Framing, HostAddr, HostInfo, Protocol, Transmit};
use pullnet_units::{Bytes, Instant, Packets, Picos};
use pullnet_wire::{Arrived, Packet};

settings! {
    /// Settings of the transport of this test.
    pub struct HastyConfig {
        /// Packets before the first answer.
        burst: Packets = "3 packets",
        /// Payload of a full packet.
        mtu: Bytes = "1000 B",
        /// Bytes beside it.
        header: Bytes = "64 B",
    }
}

impl HastyConfig {
    fn ndp(&self) -> NdpConfig {
        NdpConfig { initial_window: self.burst, mtu: self.mtu, header: self.header, ..NdpConfig::default() }
    }
}

struct Hasty;

impl Protocol for Hasty {
    const NAME: &'static str = "hasty";
    const SUMMARY: &'static str = "a transport of a test";
    type Config = HastyConfig;
    type Endpoint = NdpEndpoint;

    fn framing(config: &HastyConfig) -> Framing {
        Ndp::framing(&config.ndp())
    }

    fn endpoint(config: &HastyConfig, host: HostInfo, chance: RandomStream) -> NdpEndpoint {
        NdpEndpoint::new(&config.ndp(), host, chance)
    }
}

impl Carrier for Hasty {
    type Streams = <Ndp as Carrier>::Streams;

    fn streams(config: &HastyConfig, host: HostInfo, chance: RandomStream) -> Self::Streams {
        <Ndp as Carrier>::streams(&config.ndp(), host, chance)
    }

    fn sized(config: &HastyConfig, mtu: Bytes, header: Bytes) -> HastyConfig {
        HastyConfig { mtu, header, ..config.clone() }
    }

    fn times(config: &HastyConfig) -> Times {
        Ndp::times(&config.ndp())
    }

    fn first_window(config: &HastyConfig) -> u32 {
        config.burst.0
    }

    fn has_received(streams: &Self::Streams, from: HostAddr, conn: ConnId) -> bool {
        Ndp::has_received(streams, from, conn)
    }

    fn remembered(streams: &Self::Streams) -> usize {
        Ndp::remembered(streams)
    }

    fn purpose(header: &NdpHeader) -> (ConnId, Purpose) {
        match Ndp::purpose(header) {
            (conn, Purpose::Ack(..)) => (conn, Purpose::Answer),
            other => other,
        }
    }

    fn packet(form: &Form, packet: &Transmit<NdpHeader>, label: &Label) -> Packet {
        Ndp::packet(form, packet, label)
    }

    fn received(form: &Form, arrived: &Arrived<'_>, from: HostAddr, paths: u16) -> Taken<Self> {
        Ndp::received(form, arrived, from, paths)
    }
}

fn engine(host: usize) -> Engine<Hasty> {
    let other = 1 - host;
    let options = EngineOptions {
        mac: mac(host),
        seed: host as u64,
        neighbours: vec![(address(other, false), mac(other))],
        ..EngineOptions::over(address(host, false), HastyConfig::default())
    };
    Engine::over(options).unwrap()
}

/// Carries every frame that waits, in zero time. The number of frames.
fn carry(engines: &mut [Engine<Hasty>; 2], now: Instant) -> usize {
    let mut carried = 0;
    for from in [0, 1] {
        let mut frame = [0; 1600];
        while let long @ 1.. = engines[from].transmit(now, &mut frame) {
            engines[1 - from].receive(now, &frame[..long]);
            carried += 1;
        }
    }
    carried
}

#[test]
fn a_stream_goes_over_another_transport() {
    let mut engines = [engine(0), engine(1)];
    let port = engines[1].options().port;
    engines[1].listen(7).unwrap();
    let to = SocketAddr::new(address(1, false), port);
    let mut now = Instant::ZERO;
    let here = engines[0].connect(now, to, 7, StreamOptions::default()).unwrap();
    let sent = content(1, 200_000);
    let (mut written, mut got, mut there) = (0, Vec::new(), None);
    for _ in 0..100_000 {
        if written < sent.len() {
            written += engines[0].write(now, here, &sent[written..]).unwrap();
            if written == sent.len() {
                engines[0].finish(now, here).unwrap();
            }
        }
        carry(&mut engines, now);
        there = there.or_else(|| engines[1].accept(7));
        if let Some(id) = there {
            let mut room = [0; 4096];
            match engines[1].read(now, id, &mut room).unwrap() {
                Read::Bytes(count) => got.extend_from_slice(&room[..count]),
                Read::End => break,
                Read::Nothing => {}
            }
        }
        now = now.after(Picos::from_micros(5));
        for engine in &mut engines {
            engine.catch_up(now);
        }
    }
    assert!(got == sent, "{} of {} B", got.len(), sent.len());
    assert_eq!(engines[0].status().totals.failed + engines[1].status().totals.failed, 0);
}
