//! The child processes that are killed during a soak.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;

use pullnet_daemon::DaemonStack;
use pullnet_daemon::config::HostFile;
use pullnet_host::{EngineOptions, Host, HostOptions, NdpListener, NdpStream, Stack};
use pullnet_netio::{UdpOptions, UdpSockets};
use pullnet_rng::Seed;

use super::carry;
use crate::keys;
use crate::message::{Sink, Source};

/// The called service.
pub(super) const SERVICE: u16 = 7;
/// Calls and streams served concurrently. Those of a killed caller occupy a thread until they fail.
const THREADS: usize = 16;

type Error = Box<dyn std::error::Error>;

/// Starts a host over the kernel's UDP, with a key towards `peer` if streams are encrypted.
pub(super) fn host(at: SocketAddr, peer: Option<SocketAddr>) -> Result<Host, Error> {
    let sockets = UdpSockets::open(&UdpOptions { port: at.port(), ..UdpOptions::new(at.ip()) })?;
    let keys = peer.map(|peer| keys::towards(at.ip(), [peer]));
    let engine = EngineOptions { port: at.port(), keys, ..EngineOptions::new(at.ip()) };
    Ok(Host::start(sockets, HostOptions::new(engine))?)
}

/// Runs a child process: its role, then the role's arguments. Ends when its standard input is closed.
///
/// # Errors
/// The error that ended the child.
pub fn child(role: &[String]) -> Result<(), Error> {
    thread::spawn(|| {
        // End of input: the parent process has ended.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let role: Vec<&str> = role.iter().map(String::as_str).collect();
    match role[..] {
        ["host", at, journal] => serve(host(at.parse()?, None)?.stack(), journal.as_ref()),
        ["host", at, journal, peer] => {
            serve(host(at.parse()?, Some(peer.parse()?))?.stack(), journal.as_ref())
        }
        ["application", socket, journal] => {
            let stack: Arc<dyn Stack> = Arc::new(DaemonStack::connect(socket.as_ref())?);
            serve(&stack, journal.as_ref())
        }
        ["daemon", file] => {
            let read = HostFile::read(file, &std::fs::read_to_string(file)?);
            let file = read.map_err(|errors| format!("{errors:?}"))?;
            Ok(pullnet_daemon::serve(&file)?)
        }
        _ => Err(format!("{role:?} is no role").into()),
    }
}

/// Serves calls and streams, and appends the number of each carried-out request to the journal.
fn serve(stack: &Arc<dyn Stack>, journal: &Path) -> Result<(), Error> {
    let listener = NdpListener::bind(stack, SERVICE)?;
    let journal = Mutex::new(OpenOptions::new().append(true).create(true).open(journal)?);
    println!("ready");
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| accept(&listener, &journal))).collect();
        let first = threads.into_iter().filter_map(|thread| thread.join().ok()).next();
        Err(first.unwrap_or_else(|| "it panicked".to_owned()).into())
    })
}

/// Serves until accepting fails; returns the reason.
fn accept(listener: &NdpListener, journal: &Mutex<File>) -> String {
    loop {
        match listener.accept() {
            // A caller that is killed or gives up does not concern the server.
            Ok((stream, _)) => drop(answer(&stream, journal)),
            Err(error) => return error.to_string(),
        }
    }
}

/// Serves one stream: carries out its request and sends the answer.
fn answer(stream: &NdpStream, journal: &Mutex<File>) -> Result<(), Error> {
    let mut sink = Sink::new();
    let head = carry::read_head(stream, &mut sink)?.ok_or("nothing was asked")?;
    let source = Source::new(Seed(head.id), &head.answer());
    if !head.both_ways {
        carry_out(stream, &mut sink, journal)?;
        return Ok(stream.write_last(&source.all())?);
    }
    thread::scope(|scope| {
        let written = scope.spawn(|| carry::write(stream, source));
        // If reading has failed, the answer must not continue either.
        carry_out(stream, &mut sink, journal).inspect_err(|_| stream.abort())?;
        written.join().map_err(|_| "a thread panicked")??;
        // The end of the answer tells the caller that the request was carried out, so it comes last.
        Ok(stream.finish()?)
    })
}

/// Reads to the end, then records the number in the journal.
fn carry_out(stream: &NdpStream, sink: &mut Sink, journal: &Mutex<File>) -> Result<(), Error> {
    carry::read_all(stream, sink)?;
    let head = sink.end()?;
    let mut file = journal.lock().map_err(|_| "another thread panicked")?;
    // A single write: a kill leaves the record complete or absent.
    Ok(file.write_all(&head.id.to_le_bytes())?)
}
