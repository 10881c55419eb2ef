//! Parts shared by the examples that measure a bulk transfer: the data, the clock, and the kernel's TCP for comparison.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use pullnet_netio::in_namespace;

const TCP_PORT: u16 = 9000;
const PIECE: usize = 256 * 1024;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Processor time of this process so far, of its own code and of the kernel for it. Seconds.
fn processor_time() -> Outcome<[f64; 2]> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0) / 100.0;
    Ok([ticks(11), ticks(12)])
}

/// Prints rate and processor time of a `transfer` of `bytes`.
#[expect(clippy::disallowed_methods, reason = "it is measured how long a transfer takes")]
pub fn report(name: &str, bytes: u64, transfer: impl FnOnce() -> Outcome<u64>) -> Outcome<()> {
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

/// Reads to the end, and returns the number of bytes.
pub fn drain(mut from: impl Read) -> u64 {
    let (mut piece, mut all) = (vec![0; PIECE], 0);
    loop {
        match from.read(&mut piece) {
            Ok(0) | Err(_) => return all,
            Ok(long) => all += long as u64,
        }
    }
}

/// Writes `bytes` bytes.
pub fn fill(mut to: impl Write, bytes: u64) -> Outcome<()> {
    let (piece, mut left) = (vec![7; PIECE], bytes);
    while left > 0 {
        let long = left.min(PIECE as u64);
        to.write_all(&piece[..long as usize])?;
        left -= long;
    }
    Ok(())
}

/// The same transfer by the kernel's TCP, from the first to the second of two network namespaces.
pub fn tcp(namespaces: &[String; 2], receiver: IpAddr, bytes: u64) -> Outcome<()> {
    let at = SocketAddr::new(receiver, TCP_PORT);
    let failed = |error: std::io::Error| error.to_string();
    let listener = in_namespace(&namespaces[1], || Ok(TcpListener::bind(at).map_err(failed)))??;
    let server = thread::spawn(move || listener.accept().map_or(0, |(stream, _)| drain(stream)));
    let stream = in_namespace(&namespaces[0], || Ok(TcpStream::connect(at).map_err(failed)))??;
    report("TCP", bytes, || {
        fill(&stream, bytes)?;
        drop(stream);
        server.join().map_err(|_| "the receiver panicked".into())
    })
}
