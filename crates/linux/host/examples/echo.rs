//! Sends back what it is sent, over UDP sockets: no privilege is needed.
//!
//! `cargo run --example echo -p pullnet-host -- serve 127.0.0.1:61199` in one terminal, and in another
//! `cargo run --example echo -p pullnet-host -- say 127.0.0.1:61199 hello`.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::thread;

use pullnet_host::{EngineOptions, Host, HostOptions, NdpStream};
use pullnet_netio::{UdpOptions, UdpSockets};

const SERVICE: u16 = 7;
const USAGE: &str = "usage: echo serve ADDRESS:PORT, or echo say ADDRESS:PORT TEXT";

/// A host at `address` that listens on `port`; 0 lets the kernel choose.
fn start(address: IpAddr, port: u16) -> Result<Host, Box<dyn Error>> {
    let sockets = UdpSockets::open(&UdpOptions { port, ..UdpOptions::new(address) })?;
    let port = sockets.local().port();
    Ok(Host::start(sockets, HostOptions::new(EngineOptions { port, ..EngineOptions::new(address) }))?)
}

fn echo(mut stream: NdpStream) -> Result<(), Box<dyn Error>> {
    let mut piece = [0; 16 * 1024];
    loop {
        match stream.read(&mut piece)? {
            0 => return Ok(stream.finish()?),
            long => stream.write_all(&piece[..long])?,
        }
    }
}

fn serve(at: SocketAddr) -> Result<(), Box<dyn Error>> {
    let host = start(at.ip(), at.port())?;
    println!("listening at {}", host.local());
    for stream in host.listen(SERVICE)?.incoming() {
        thread::spawn(move || {
            if let Err(error) = echo(stream) {
                eprintln!("a stream ended early: {error}");
            }
        });
    }
    Ok(())
}

fn say(to: SocketAddr, text: &str) -> Result<(), Box<dyn Error>> {
    let host = start(to.ip(), 0)?;
    let mut stream = host.connect(to, SERVICE)?;
    stream.write_last(text.as_bytes())?;
    let mut back = String::new();
    stream.read_to_string(&mut back)?;
    println!("{back}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", at] => serve(at.parse()?),
        ["say", to, text] => say(to.parse()?, text),
        _ => Err(USAGE.into()),
    }
}
