//! What the processes do that are killed.

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
use crate::message::{Sink, Source};

/// The service that is called.
pub(super) const SERVICE: u16 = 7;
/// Calls and streams that are carried out at a time. Those of a caller that has died take their time to fail.
const THREADS: usize = 16;

type Error = Box<dyn std::error::Error>;

/// A host of its own, over the kernel's UDP.
pub(super) fn host(at: SocketAddr) -> Result<Host, Error> {
    let sockets = UdpSockets::open(&UdpOptions { port: at.port(), ..UdpOptions::new(at.ip()) })?;
    let engine = EngineOptions { port: at.port(), ..EngineOptions::new(at.ip()) };
    Ok(Host::start(sockets, HostOptions::new(engine))?)
}

/// Does what a child is told: its role, and what that needs. Ends with its standard input.
///
/// # Errors
/// What has ended it.
pub fn child(role: &[String]) -> Result<(), Error> {
    thread::spawn(|| {
        // Whoever started this process has ended.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let role: Vec<&str> = role.iter().map(String::as_str).collect();
    match role[..] {
        ["host", at, journal] => {
            let host = host(at.parse()?)?;
            serve(host.stack(), journal.as_ref())
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

/// Answers calls and streams, and writes the number of each that it carries out into the journal.
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

/// Answers until nothing can be accepted any more, and says why.
fn accept(listener: &NdpListener, journal: &Mutex<File>) -> String {
    loop {
        match listener.accept() {
            // A caller that dies, or gives up, is its own affair.
            Ok((stream, _)) => drop(answer(&stream, journal)),
            Err(error) => return error.to_string(),
        }
    }
}

/// Carries out what a stream asks for, and answers.
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
        // If nothing more can be read, nothing more is to be written.
        carry_out(stream, &mut sink, journal).inspect_err(|_| stream.abort())?;
        written.join().map_err(|_| "a thread panicked")??;
        // Whoever has the end of an answer knows that the request was carried out.
        Ok(stream.finish()?)
    })
}

/// Reads to the end, and notes the number in the journal.
fn carry_out(stream: &NdpStream, sink: &mut Sink, journal: &Mutex<File>) -> Result<(), Error> {
    carry::read_all(stream, sink)?;
    let head = sink.end()?;
    let mut file = journal.lock().map_err(|_| "another thread panicked")?;
    // One write: it is there whole or not at all, whenever this process is killed.
    Ok(file.write_all(&head.id.to_le_bytes())?)
}
