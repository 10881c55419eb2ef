//! Rate of one stream between two hosts of this process in two network namespaces, and the processor time of each GB; beside it
//! the kernel's TCP over the same veth pair.
//!
//! As root: `cargo run --release --example bulk -p pullnet-host -- [MTU [MEGABYTES [spin] [singly] [alone] [paths=8] [window=PACKETS]
//! [burst=PACKETS]]]`; `singly` sends no bursts, `alone` leaves TCP out.

mod common;
#[path = "../../netio/tests/common/mod.rs"]
mod namespaces;

use std::net::{IpAddr, Ipv4Addr};
use std::thread;

use common::{Outcome, drain, fill, report, tcp};
use namespaces::Veth;
use pullnet_host::{EngineOptions, Host, HostOptions, Neighbours, Wait};
use pullnet_netio::{Interface, PacketOptions, PacketSocket, PortGuard, in_namespace};
use pullnet_units::{BitsPerSec, Packets};
use pullnet_wire::PORT;

const SERVICE: u16 = 7;

fn address(side: usize) -> IpAddr {
    Ipv4Addr::new(10, 77, 0, 1 + side as u8).into()
}

/// Settings of a measurement.
#[derive(Clone, Copy)]
struct Plan {
    mtu: usize,
    bytes: u64,
    wait: Wait,
    bursts: bool,
    paths: u16,
    /// First window, and longest burst. Packets.
    window: Option<u32>,
    burst: Option<u32>,
}

fn host(veth: &Veth, side: usize, plan: Plan) -> Outcome<(Host, PortGuard)> {
    let Plan { mtu, wait, bursts, paths, .. } = plan;
    let open = || {
        let interface = Interface::find("eth")?;
        let guard = PortGuard::take_on(&interface, address(side), PORT)?;
        let options = PacketOptions { bursts, ..PacketOptions::default() };
        Ok((interface.mac, PacketSocket::open("eth", &options)?, guard))
    };
    let (mac, io, guard) = in_namespace(&veth.names[side], open)?;
    let rate = BitsPerSec::gbps(40);
    let mut engine = EngineOptions { mac, mtu, rate, paths, ..EngineOptions::new(address(side)) }.sized();
    engine.transport.initial_window = plan.window.map_or(engine.transport.initial_window, Packets);
    engine.transport.burst = plan.burst.map_or(engine.transport.burst, Packets);
    let neighbours = Neighbours::Kernel("eth".to_string());
    let options = HostOptions { neighbours, wait, ..HostOptions::new(engine) };
    Ok((
        in_namespace(&veth.names[side], || Ok(Host::start(io, options).map_err(|error| error.to_string())))??,
        guard,
    ))
}

fn ndp(veth: &Veth, plan: Plan) -> Outcome<()> {
    let bytes = plan.bytes;
    let ((here, _kept), (there, _too)) = (host(veth, 0, plan)?, host(veth, 1, plan)?);
    let listener = there.listen(SERVICE)?;
    let server = thread::spawn(move || listener.accept().map_or(0, |(stream, _)| drain(&stream)));
    report("NDP", bytes, || {
        let stream = here.connect(there.local(), SERVICE)?;
        fill(&stream, bytes)?;
        stream.finish()?;
        server.join().map_err(|_| "the receiver panicked".into())
    })?;
    let counts = here.status().totals.counts;
    println!(
        "     {} packets, {} of them repeated after {} timeouts",
        counts.sent, counts.repeated, counts.timeouts
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u64| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (mtu, bytes) = (number(0, 1500)? as usize, number(1, 2000)? * 1_000_000);
    let has = |word: &str| arguments.iter().any(|text| text == word);
    let setting = |name: &str| {
        let value = arguments.iter().find_map(|text| text.strip_prefix(name)?.strip_prefix('='));
        value.map(str::parse::<u32>).transpose()
    };
    let paths = setting("paths")?.unwrap_or(8) as u16;
    let (window, burst) = (setting("window")?, setting("burst")?);
    let wait = if has("spin") { Wait::Spin } else { Wait::default() };
    let plan = Plan { mtu, bytes, wait, bursts: !has("singly"), paths, window, burst };
    let veth = Veth::make(mtu).ok_or("network namespaces are needed")?;
    ndp(&veth, plan)?;
    if has("alone") { Ok(()) } else { tcp(&veth.names, address(1), bytes) }
}
