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

use crate::message::{Sink, Source};

/// The service that is called.
pub(super) const SERVICE: u16 = 7;
/// Calls that are carried out at a time.
const THREADS: usize = 4;

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

/// Answers calls, and writes the number of each that it carries out into the journal.
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
            Ok((stream, _)) => drop(answer(stream, journal)),
            Err(error) => return error.to_string(),
        }
    }
}

fn answer(mut stream: NdpStream, journal: &Mutex<File>) -> Result<(), Error> {
    let (mut request, mut sink) = (Vec::new(), Sink::new());
    stream.read_to_end(&mut request)?;
    sink.take(&request);
    let head = sink.end()?;
    let mut file = journal.lock().map_err(|_| "another thread panicked")?;
    // One write: it is there whole or not at all, whenever this process is killed.
    file.write_all(&head.id.to_le_bytes())?;
    drop(file);
    let answer = head.answer();
    Ok(stream.write_last(&Source::new(Seed(answer.id), &answer).all())?)
}
