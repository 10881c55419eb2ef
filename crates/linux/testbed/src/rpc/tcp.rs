//! Calls over the kernel's TCP, TCP Fast Open and MPTCP.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::{CallError, CallTimes, Calls, Carrier, End, Over, PATIENCE, clock, sys, time};

const PORT: u16 = 7007;
const BACKLOG: i32 = 1024;
/// Interval at which a sleeping server checks whether it should stop.
const LOOK: Duration = Duration::from_millis(200);
/// Attempts between two readings of the clock.
const TURNS: u32 = 4096;

fn protocol(carrier: Carrier) -> i32 {
    if carrier == Carrier::Mptcp { libc::IPPROTO_MPTCP } else { 0 }
}

fn socket(what: &'static str) -> impl Fn(io::Error) -> CallError {
    move |error| CallError::Socket { what, error }
}

/// Repeats an operation until it no longer blocks, the other end has failed, or the timeout expires.
fn insist<T>(over: &Over, mut attempt: impl FnMut() -> io::Result<T>) -> Result<T, CallError> {
    let mut since = None;
    for turn in 0u32.. {
        match attempt() {
            Err(error) if sys::would_block(&error) => std::hint::spin_loop(),
            done => return done.map_err(socket("a connection failed")),
        }
        if turn % TURNS == TURNS - 1 {
            let begun = *since.get_or_insert_with(clock);
            if over.is_so() || begun.elapsed() > PATIENCE {
                break;
            }
        }
    }
    Err(CallError::Ended)
}

fn send(stream: &mut TcpStream, over: &Over, mut bytes: &[u8]) -> Result<(), CallError> {
    while !bytes.is_empty() {
        let sent = insist(over, || stream.write(bytes))?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

fn receive(stream: &mut TcpStream, over: &Over, bytes: &mut [u8]) -> Result<(), CallError> {
    let mut there = 0;
    while there < bytes.len() {
        match insist(over, || stream.read(&mut bytes[there..]))? {
            0 => return Err(CallError::Ended),
            got => there += got,
        }
    }
    Ok(())
}

/// Echoes every call.
pub(super) fn serve(
    carrier: Carrier,
    calls: Calls,
    ready: &Sender<()>,
    over: &Over,
) -> Result<(), CallError> {
    let at = SocketAddrV4::new(sys::ANY, PORT);
    let listener = sys::listen(protocol(carrier), at, BACKLOG, LOOK).map_err(socket("cannot listen"))?;
    if carrier == Carrier::FastOpen {
        sys::set_option(&listener, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, BACKLOG)
            .map_err(socket("cannot listen for TCP Fast Open"))?;
    }
    sys::choose(&listener, calls.congestion_control).map_err(socket("cannot choose a congestion control"))?;
    listener.set_nonblocking(calls.spin).map_err(socket("cannot listen"))?;
    // The receiver may already have given up waiting.
    let _ = ready.send(());
    let mut bytes = vec![0; calls.bytes];
    for _ in 0..calls.before + calls.count {
        let Some(mut stream) = accept(&listener, over)? else { break };
        stream.set_nonblocking(calls.spin).map_err(socket("cannot accept"))?;
        stream.set_nodelay(true).map_err(socket("cannot accept"))?;
        receive(&mut stream, over, &mut bytes)?;
        send(&mut stream, over, &bytes)?;
    }
    Ok(())
}

/// The next connection; `None` if no more will come.
fn accept(listener: &TcpListener, over: &Over) -> Result<Option<TcpStream>, CallError> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(Some(stream)),
            Err(error) if !sys::would_block(&error) => return Err(socket("cannot accept")(error)),
            Err(_) if over.is_so() => return Ok(None),
            Err(_) => std::hint::spin_loop(),
        }
    }
}

/// Makes the calls.
pub(super) fn call(
    carrier: Carrier,
    server: &End,
    calls: Calls,
    over: &Over,
) -> Result<CallTimes, CallError> {
    let to = SocketAddrV4::new(server.address, PORT);
    let (request, mut response) = (vec![0x5a; calls.bytes], vec![0; calls.bytes]);
    let prepare = || {
        let stream = sys::stream(protocol(carrier), carrier == Carrier::FastOpen, calls.spin)?;
        stream.set_nodelay(true)?;
        sys::choose(&stream, calls.congestion_control)?;
        Ok(stream)
    };
    let once = |mut stream: TcpStream| {
        sys::connect(&stream, to).map_err(socket("cannot connect"))?;
        send(&mut stream, over, &request)?;
        receive(&mut stream, over, &mut response)
    };
    time(calls, || prepare().map_err(socket("cannot make a socket")), once)
}
