//! Rate of one stream through two daemons in two network namespaces, and the processor time of each GB, both daemons and both
//! programs included; beside it the kernel's TCP over the same veth pair.
//!
//! As root: `cargo run --release --example throughput -p pullnet-daemon -- [MTU [MEGABYTES [SETTING=VALUE ...]]]`, with settings of a
//! host file, such as `paths=1`; those of a table follow its name, as in `'[ndp]' 'burst=8 packets'`.

#[path = "../../host/examples/common/mod.rs"]
mod common;
#[path = "../../netio/tests/common/mod.rs"]
mod namespaces;

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use common::{Outcome, drain, fill, report, tcp};
use namespaces::Veth;
use pullnet_daemon::config::HostFile;
use pullnet_daemon::{Daemon, DaemonStack};
use pullnet_host::{NdpListener, NdpStream, Stack};
use pullnet_netio::in_namespace;

const SERVICE: u16 = 7;

/// A daemon, which ends when this is dropped: that closes the other end.
struct Served {
    stack: Arc<dyn Stack>,
    address: SocketAddr,
    _running: UnixStream,
    socket: PathBuf,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn address(side: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 1 + side as u8)
}

fn daemon(veth: &Veth, side: usize, settings: &[String]) -> Outcome<Served> {
    let socket = std::env::temp_dir().join(format!("pullnet-bulk-{}-{side}", std::process::id()));
    let mut text = format!("interface = \"eth\"\naddress = \"{}\"\nlog = \"warn\"\n", address(side));
    if !settings.iter().any(|setting| setting.starts_with("rate=")) {
        text.push_str("rate = \"40 Gbps\"\n");
    }
    for setting in settings {
        match setting.split_once('=') {
            Some((name, value)) if value.parse::<u32>().is_ok() => writeln!(text, "{name} = {value}")?,
            Some((name, value)) => writeln!(text, "{name} = \"{value}\"")?,
            None => writeln!(text, "{setting}")?,
        }
    }
    writeln!(text, "[socket]\npath = \"{}\"", socket.display())?;
    let file = HostFile::read("example", &text).map_err(|errors| errors[0].to_string())?;
    let daemon = in_namespace(&veth.names[side], || Ok(Daemon::open(&file)))??;
    let (stop, stopped) = UnixStream::pair()?;
    thread::spawn(move || daemon.run(stopped.as_fd()));
    let stack = DaemonStack::connect(&socket)?;
    let address = stack.address();
    Ok(Served { stack: Arc::new(stack), address, _running: stop, socket })
}

fn ndp(veth: &Veth, settings: &[String], bytes: u64) -> Outcome<()> {
    let (here, there) = (daemon(veth, 0, settings)?, daemon(veth, 1, settings)?);
    let listener = NdpListener::bind(&there.stack, SERVICE)?;
    let server = thread::spawn(move || listener.accept().map_or(0, |(stream, _)| drain(&stream)));
    report("NDP", bytes, || {
        let stream = NdpStream::connect(&here.stack, there.address, SERVICE)?;
        fill(&stream, bytes)?;
        stream.finish()?;
        server.join().map_err(|_| "the receiver panicked".into())
    })
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u64| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (mtu, bytes) = (number(0, 1500)? as usize, number(1, 2000)? * 1_000_000);
    let settings = arguments.get(2..).unwrap_or(&[]);
    let veth = Veth::make(mtu).ok_or("network namespaces are needed")?;
    ndp(&veth, settings, bytes)?;
    tcp(&veth.names, address(1).into(), bytes)
}
