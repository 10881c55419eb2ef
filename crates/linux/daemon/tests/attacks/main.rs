//! Attacks on live daemons in network namespaces, each with the bound that docs/security.md states. Needs root and `ip`.
//!
//! Rates are compared within one run, alternately with and without the attack: load on the machine slows down both.

#![expect(clippy::disallowed_methods, reason = "daemons live by the clock")]

#[path = "../common/mod.rs"]
mod common;

mod addresses;
mod attacker;
mod encrypted;
mod floods;
mod identifiers;
mod local;
mod site;

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Daemon, Installation, WATCHDOG};
use pullnet_host::{NdpListener, NdpStream, Stack};
use site::{Site, address};

pub(crate) const SERVICE: u16 = 7;

pub(crate) fn clock() -> Instant {
    Instant::now()
}

/// Waits until something is so.
pub(crate) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = clock();
    while !done() {
        assert!(start.elapsed() < WATCHDOG, "{what} never came");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A daemon at host `host`.
pub(crate) fn daemon(site: &Site, host: usize, further: &str) -> Daemon {
    Installation::at(address(host))
        .start_in(&site.hosts[host], &format!("backend = \"packet\"\ninterface = \"eth\"\n{further}"))
}

/// Answers every request with `long` bytes, and counts them.
pub(crate) fn serve(daemon: &Daemon, long: usize) -> Arc<AtomicU64> {
    let listener = NdpListener::bind(&daemon.stack(), SERVICE).unwrap();
    let served = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&served);
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let count = Arc::clone(&count);
            let answer = move || {
                let mut request = Vec::new();
                stream.set_read_timeout(Some(WATCHDOG));
                if stream.read_to_end(&mut request).is_ok() && !request.is_empty() {
                    count.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_last(&vec![b'z'; long]);
                }
            };
            // A long answer must not keep others waiting, nor a request that never ends.
            thread::spawn(answer);
        }
    });
    served
}

/// A call from one daemon's application to the other.
pub(crate) fn call(stack: &Arc<dyn Stack>, to: &Daemon, request: &[u8]) -> Vec<u8> {
    stack.call(to.address, SERVICE, request, Default::default(), Some(WATCHDOG)).unwrap()
}

/// A stream that sends all the time; what has arrived of it is counted.
pub(crate) fn pour(from: &Daemon, to: &Daemon, service: u16) -> Arc<AtomicU64> {
    let listener = NdpListener::bind(&to.stack(), service).unwrap();
    let stream = NdpStream::connect(&from.stack(), to.address, service).unwrap();
    let arrived = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&arrived);
    thread::spawn(move || {
        let piece = vec![1; 1 << 18];
        while std::io::Write::write_all(&mut &stream, &piece).is_ok() {}
    });
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut piece = vec![0; 1 << 18];
        while let Ok(long @ 1..) = stream.read(&mut piece) {
            count.fetch_add(long as u64, Ordering::SeqCst);
        }
    });
    wait_for("the first bytes of a stream", || arrived.load(Ordering::SeqCst) > 0);
    arrived
}

/// The middle one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
