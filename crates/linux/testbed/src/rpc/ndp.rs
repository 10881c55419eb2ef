//! Calls over the host stack.

use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::Sender;
use std::time::Duration;

use pullnet_host::{EngineOptions, Host, HostOptions, Limits, Neighbours, StreamError, Wait};
use pullnet_netio::{Interface, PacketOptions, PacketSocket, PortGuard};
use pullnet_wire::PORT;

use super::{CallError, CallTimes, Calls, End, Over, PATIENCE, time};
use crate::live::INTERFACE;

const SERVICE: u16 = 7;
/// Interval at which a server checks whether it should stop.
const LOOK: Duration = Duration::from_millis(200);

/// Creates a host for an end in this thread's namespace.
fn host(here: &End, calls: Calls) -> Result<(Host, PortGuard), CallError> {
    let address = IpAddr::V4(here.address);
    let interface = Interface::find(INTERFACE)?;
    let socket = PacketSocket::open(INTERFACE, &PacketOptions::default())?;
    let guard = PortGuard::take_on(&interface, address, PORT)?;
    let engine = EngineOptions {
        mac: interface.mac,
        mtu: interface.mtu,
        seed: here.address.to_bits().into(),
        // The limit on new connections is lifted: the calls are measured, not the overload protection.
        limits: Limits { tokens_per_second: u32::MAX, ..Limits::default() },
        ..EngineOptions::new(address)
    };
    let wait = if calls.spin { Wait::Spin } else { Wait::Adaptive(Duration::ZERO) };
    let neighbours = Neighbours::Kernel(INTERFACE.into());
    let host = Host::start(socket, HostOptions { engine, wait, neighbours })?;
    Ok((host, guard))
}

/// Echoes every call.
pub(super) fn serve(here: &End, calls: Calls, ready: &Sender<()>, over: &Over) -> Result<(), CallError> {
    let (host, _guard) = host(here, calls)?;
    let listener = host.listen(SERVICE)?;
    listener.set_accept_timeout(Some(LOOK));
    // The receiver may already have given up waiting.
    let _ = ready.send(());
    let (mut all, mut left) = (Vec::with_capacity(calls.bytes), calls.before + calls.count);
    while left > 0 && !over.is_so() {
        let (mut stream, _) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(StreamError::TimedOut) => continue,
            Err(error) => return Err(error.into()),
        };
        left -= 1;
        all.clear();
        stream.set_read_timeout(Some(PATIENCE));
        if stream.read_to_end(&mut all).is_err() {
            return Err(CallError::Ended);
        }
        stream.write_last(&all)?;
    }
    host.shutdown(PATIENCE);
    Ok(())
}

/// Makes the calls.
pub(super) fn call(here: &End, there: &End, calls: Calls, over: &Over) -> Result<CallTimes, CallError> {
    let (host, _guard) = host(here, calls)?;
    let to = SocketAddr::new(IpAddr::V4(there.address), PORT);
    let request = vec![0x5a; calls.bytes];
    let once = |()| {
        let response = host.call(to, SERVICE, &request, Some(PATIENCE))?;
        if response.len() == request.len() && !over.is_so() { Ok(()) } else { Err(CallError::Ended) }
    };
    let times = time(calls, || Ok(()), once)?;
    host.shutdown(PATIENCE);
    Ok(times)
}
