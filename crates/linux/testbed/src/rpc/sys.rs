//! System calls missing in std: sockets of other protocols, socket options, cores, processor time.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::CongestionControl;

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Whether the error means that the call would block.
pub(super) fn would_block(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINPROGRESS | libc::EINTR | libc::ENOTCONN))
}

fn socket(protocol: i32, nonblocking: bool) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | if nonblocking { libc::SOCK_NONBLOCK } else { 0 };
    // SAFETY: takes and gives integers.
    let fd = checked(unsafe { libc::socket(libc::AF_INET, kind, protocol) })?;
    // SAFETY: the kernel has just returned the descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address(to: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
        sin_zero: [0; 8],
    }
}

const ADDRESS: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

/// Sets an integer option.
pub(super) fn set_option(fd: &impl AsRawFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let (place, long) = ((&raw const value).cast(), size_of::<i32>() as libc::socklen_t);
    // SAFETY: `place` points to `long` bytes that live until after the call.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, place, long) }).map(drop)
}

/// Creates a listener of IP protocol `protocol` (0 for TCP). Accepting fails after `patience`.
pub(super) fn listen(
    protocol: i32,
    at: SocketAddrV4,
    backlog: i32,
    patience: Duration,
) -> io::Result<TcpListener> {
    let fd = socket(protocol, false)?;
    set_option(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    let name = address(at);
    // SAFETY: the address outlives the call and has the stated length.
    checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const name).cast(), ADDRESS) })?;
    // SAFETY: takes and gives integers.
    checked(unsafe { libc::listen(fd.as_raw_fd(), backlog) })?;
    let listener = TcpStream::from(fd);
    listener.set_read_timeout(Some(patience))?;
    Ok(TcpListener::from(OwnedFd::from(listener)))
}

/// Creates an unconnected stream of IP protocol `protocol` (0 for TCP). With `fast_open`, it connects with its first bytes.
pub(super) fn stream(protocol: i32, fast_open: bool, nonblocking: bool) -> io::Result<TcpStream> {
    let fd = socket(protocol, nonblocking)?;
    if fast_open {
        set_option(&fd, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, 1)?;
    }
    Ok(TcpStream::from(fd))
}

/// Connects a stream. For a nonblocking stream, the connection may still be in progress on return.
pub(super) fn connect(stream: &TcpStream, to: SocketAddrV4) -> io::Result<()> {
    let name = address(to);
    // SAFETY: the address outlives the call and has the stated length.
    match checked(unsafe { libc::connect(stream.as_raw_fd(), (&raw const name).cast(), ADDRESS) }) {
        Err(error) if !would_block(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Sets the congestion control of a socket; accepted sockets inherit it from their listener.
pub(super) fn choose(socket: &impl AsRawFd, congestion_control: CongestionControl) -> io::Result<()> {
    let name: &[u8] = match congestion_control {
        CongestionControl::Cubic => b"cubic",
        CongestionControl::Reno => b"reno",
    };
    let (place, long) = (name.as_ptr().cast(), name.len() as libc::socklen_t);
    // SAFETY: `place` points to `long` bytes that live until after the call.
    checked(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, place, long)
    })
    .map(drop)
}

/// Pins the calling thread to a core; no effect if there is no such core.
pub(super) fn stay_on(core: usize) {
    // SAFETY: all zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    if core < libc::CPU_SETSIZE as usize {
        // SAFETY: `core` is within the set.
        unsafe { libc::CPU_SET(core, &mut set) };
        // SAFETY: `set` has the stated length. The kernel refuses an unknown core, which is acceptable.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    }
}

/// Processor time of all threads of this process so far.
pub(super) fn processor_time() -> Duration {
    // SAFETY: all zeros are a value.
    let mut used: libc::rusage = unsafe { zeroed() };
    // SAFETY: `used` is what the call writes.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut used) };
    let time = |time: libc::timeval| {
        Duration::from_micros(time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs())
    };
    time(used.ru_utime) + time(used.ru_stime)
}

/// Any address of this host.
pub(super) const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
