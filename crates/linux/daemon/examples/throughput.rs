//! Rate of one stream through two daemons in two network namespaces, and the processor time of each GB, both daemons and both
//! programs included; beside it the kernel's TCP over the same veth pair.
//!
//! As root: `cargo run --release --example throughput -p pullnet-daemon -- [MTU [MEGABYTES [SETTING=VALUE ...]]]`, with settings of a
//! host file, such as `paths=1`; those of a table follow its name, as in `[ndp] burst=8`.

#[path = "../../netio/tests/common/mod.rs"]
mod namespaces;

use std::error::Error;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use namespaces::Veth;
use pullnet_daemon::config::HostFile;
use pullnet_daemon::{Daemon, DaemonStack};
use pullnet_host::{NdpListener, NdpStream, Stack};
use pullnet_netio::in_namespace;

const SERVICE: u16 = 7;
const TCP_PORT: u16 = 9000;
const PIECE: usize = 256 * 1024;

type Outcome<T> = Result<T, Box<dyn Error>>;

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

/// Processor time of this process so far, of its own code and of the kernel for it. Seconds.
fn processor_time() -> Outcome<[f64; 2]> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0) / 100.0;
    Ok([ticks(11), ticks(12)])
}

#[expect(clippy::disallowed_methods, reason = "it is measured how long a transfer takes")]
fn report(name: &str, bytes: u64, transfer: impl FnOnce() -> Outcome<u64>) -> Outcome<()> {
    let (start, before) = (Instant::now(), processor_time()?);
    let got = transfer()?;
    let (took, after) = (start.elapsed().as_secs_f64(), processor_time()?);
    assert_eq!(got, bytes, "bytes are missing");
    let per_gb = |part: usize| (after[part] - before[part]) / (bytes as f64 / 1e9);
    println!(
        "{name}: {:.2} Gb/s, {:.2} s of own code and {:.2} s of the kernel per GB",
        bytes as f64 * 8e-9 / took,
        per_gb(0),
        per_gb(1)
    );
    Ok(())
}

fn drain(mut from: impl Read) -> u64 {
    let (mut piece, mut all) = (vec![0; PIECE], 0);
    loop {
        match from.read(&mut piece) {
            Ok(0) | Err(_) => return all,
            Ok(long) => all += long as u64,
        }
    }
}

fn fill(mut to: impl Write, bytes: u64) -> Outcome<()> {
    let (piece, mut left) = (vec![7; PIECE], bytes);
    while left > 0 {
        let long = left.min(PIECE as u64);
        to.write_all(&piece[..long as usize])?;
        left -= long;
    }
    Ok(())
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

fn tcp(veth: &Veth, bytes: u64) -> Outcome<()> {
    let at = |side| SocketAddr::new(address(side).into(), TCP_PORT);
    let failed = |error: std::io::Error| error.to_string();
    let listener = in_namespace(&veth.names[1], || Ok(TcpListener::bind(at(1)).map_err(failed)))??;
    let server = thread::spawn(move || listener.accept().map_or(0, |(stream, _)| drain(stream)));
    let stream = in_namespace(&veth.names[0], || Ok(TcpStream::connect(at(1)).map_err(failed)))??;
    report("TCP", bytes, || {
        fill(&stream, bytes)?;
        drop(stream);
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
    tcp(&veth, bytes)
}
