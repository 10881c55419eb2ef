//! System calls. Every return value is checked; memory is passed as references together with its length.

use std::ffi::CString;
use std::io;
use std::mem::{MaybeUninit, size_of, size_of_val, zeroed};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::error::Error;

mod signals;

pub use signals::Signals;

/// A type for which every bit pattern is valid, and that the kernel may read in full.
///
/// # Safety
/// The type must have both properties.
pub(crate) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($name:ty),+ $(,)?) => {
        // SAFETY: integers, and structs of the kernel's interface that hold nothing else; padding belongs to the kernel.
        $(unsafe impl Plain for $name {})+
    };
}

plain! {
    i32, u32, u64,
    libc::packet_mreq, libc::tpacket_req, libc::tpacket_stats, libc::xdp_umem_reg, libc::xdp_mmap_offsets, libc::xdp_statistics,
    libc::sockaddr_ll, libc::sockaddr_xdp, libc::sock_fprog, libc::timeval,
}

fn owned(fd: RawFd, what: &'static str) -> Result<OwnedFd, Error> {
    if fd < 0 {
        return Err(Error::last(what));
    }
    // SAFETY: the kernel has just returned the descriptor, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn checked(result: libc::c_int, what: &'static str) -> Result<libc::c_int, Error> {
    if result < 0 { Err(Error::last(what)) } else { Ok(result) }
}

pub(crate) fn socket(family: i32, kind: i32, protocol: i32, what: &'static str) -> Result<OwnedFd, Error> {
    // SAFETY: passes no memory.
    owned(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) }, what)
}

pub(crate) fn event() -> Result<OwnedFd, Error> {
    // SAFETY: passes no memory.
    owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }, "cannot make an eventfd")
}

pub(crate) fn set_option<T: Plain>(
    fd: &OwnedFd,
    level: i32,
    name: i32,
    value: &T,
    what: &'static str,
) -> Result<(), Error> {
    let long = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `long` bytes, the size of `value`.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), long) };
    checked(result, what).map(|_| ())
}

pub(crate) fn get_option<T: Plain>(
    fd: &OwnedFd,
    level: i32,
    name: i32,
    what: &'static str,
) -> Result<T, Error> {
    // SAFETY: every bit pattern is a valid `Plain` value.
    let mut value: T = unsafe { zeroed() };
    let mut long = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `long` bytes, the size of `value`.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), level, name, std::ptr::from_mut(&mut value).cast(), &mut long)
    };
    checked(result, what).map(|_| value)
}

/// Binds a socket to an address given as a plain struct.
pub(crate) fn bind<T: Plain>(fd: &OwnedFd, address: &T, what: &'static str) -> Result<(), Error> {
    let long = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `long` bytes, the size of `address`.
    let result = unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(address).cast(), long) };
    checked(result, what).map(|_| ())
}

/// Tells the kernel to transmit the frames in a ring. Returns its error, if any.
pub(crate) fn kick(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let result =
        unsafe { libc::sendto(fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sends messages, each of as many of `pieces` as `counts` says. Returns how many were sent.
pub(crate) fn send_messages(
    fd: &OwnedFd,
    pieces: &[io::IoSlice<'_>],
    counts: impl Iterator<Item = usize>,
) -> io::Result<usize> {
    let mut rest = pieces;
    let mut messages: Vec<libc::mmsghdr> = Vec::with_capacity(counts.size_hint().0);
    for count in counts {
        let (these, others) = rest.split_at(count.min(rest.len()));
        rest = others;
        // SAFETY: integers and nullable pointers.
        let mut message: libc::mmsghdr = unsafe { zeroed() };
        // An `IoSlice` has the layout of an `iovec`. The kernel does not write to it.
        message.msg_hdr.msg_iov = these.as_ptr().cast_mut().cast();
        message.msg_hdr.msg_iovlen = these.len() as _;
        messages.push(message);
    }
    // SAFETY: the pointers in `messages` point to parts of `pieces`, and those point to bytes; both outlive the call. The
    // kernel reads from them and writes `msg_len`.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), messages.len() as u32, libc::MSG_DONTWAIT)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// Receives a datagram into `buffer`, if one has arrived. Returns the number of bytes received; 0: none.
pub(crate) fn receive_datagram(fd: &OwnedFd, buffer: &mut [u8]) -> usize {
    let (place, long) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: the kernel writes at most `long` bytes, the size of the buffer.
    let got = unsafe { libc::recv(fd.as_raw_fd(), place, long, libc::MSG_DONTWAIT) };
    usize::try_from(got).unwrap_or(0).min(long)
}

/// Discards a datagram, if one has arrived.
pub(crate) fn discard_datagram(fd: &OwnedFd) {
    receive_datagram(fd, &mut []);
}

/// Tells the kernel to look at a fill ring.
pub(crate) fn kick_receive(fd: &OwnedFd) {
    // SAFETY: no memory is passed.
    let _ = unsafe {
        let (fd, nowhere, nobody) = (fd.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut());
        libc::recvfrom(fd, nowhere, 0, libc::MSG_DONTWAIT, nobody, std::ptr::null_mut())
    };
}

/// Waits until one of `fds` is readable, or for `timeout`.
pub(crate) fn poll(fds: &[BorrowedFd<'_>], timeout: Duration) -> Result<(), Error> {
    is_ready(fds, timeout).map(|_| ())
}

/// Waits until `fd` or `wake` is readable, or for `timeout`.
pub(crate) fn poll_or_wake(
    fd: BorrowedFd<'_>,
    wake: Option<BorrowedFd<'_>>,
    timeout: Duration,
) -> Result<(), Error> {
    match wake {
        Some(wake) => poll(&[fd, wake], timeout),
        None => poll(&[fd], timeout),
    }
}

/// Like [`poll_or_wake`], but returns whether `fd` has an error, which [`pending_error`] takes.
pub(crate) fn poll_with_error(
    fd: BorrowedFd<'_>,
    wake: Option<BorrowedFd<'_>>,
    timeout: Duration,
) -> Result<bool, Error> {
    let events = match wake {
        Some(wake) => events_of(&[fd, wake], timeout),
        None => events_of(&[fd], timeout),
    };
    Ok(events?[0] & libc::POLLERR != 0)
}

/// The error that a socket holds, if any. It is reported once.
pub(crate) fn pending_error(fd: &OwnedFd) -> io::Result<()> {
    let what = "cannot ask for the error of a socket";
    match get_option::<libc::c_int>(fd, libc::SOL_SOCKET, libc::SO_ERROR, what) {
        Ok(code) if code != 0 => Err(io::Error::from_raw_os_error(code)),
        _ => Ok(()),
    }
}

/// Like [`poll`], but returns whether a descriptor is readable. At most two descriptors.
pub(crate) fn is_ready(fds: &[BorrowedFd<'_>], timeout: Duration) -> Result<bool, Error> {
    Ok(events_of(fds, timeout)?.iter().any(|events| *events != 0))
}

/// Events of each of at most two descriptors.
fn events_of(fds: &[BorrowedFd<'_>], timeout: Duration) -> Result<[i16; 2], Error> {
    let mut polled: [libc::pollfd; 2] = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 2];
    polled.iter_mut().zip(fds).for_each(|(slot, fd)| slot.fd = fd.as_raw_fd());
    let time = libc::timespec {
        tv_sec: timeout.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: `polled` has the stated number of elements; the kernel ignores a descriptor of -1; no signal mask is passed.
    let result = unsafe { libc::ppoll(polled.as_mut_ptr(), 2, &time, std::ptr::null()) };
    match checked(result, "cannot wait for packets") {
        Err(Error::Kernel { source, .. }) if source.kind() == io::ErrorKind::Interrupted => Ok([0; 2]),
        other => other.map(|_| polled.map(|slot| slot.revents)),
    }
}

fn interface_request(name: &str) -> Result<libc::ifreq, Error> {
    // SAFETY: `ifreq` is integers and nullable pointers.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(Error::NoInterface(name.to_string()));
    }
    request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(slot, byte)| *slot = byte as libc::c_char);
    Ok(request)
}

fn ask_interface(name: &str, request: libc::c_ulong) -> Result<libc::ifreq, Error> {
    let fd = socket(libc::AF_INET, libc::SOCK_DGRAM, 0, "cannot open a socket")?;
    let mut asked = interface_request(name)?;
    // SAFETY: these requests read and write one `ifreq`.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request as _, std::ptr::from_mut(&mut asked)) };
    checked(result, "cannot ask").map_err(|_| Error::NoInterface(name.to_string()))?;
    Ok(asked)
}

/// Index of an interface.
pub(crate) fn interface_index(name: &str) -> Result<u32, Error> {
    let text = CString::new(name).map_err(|_| Error::NoInterface(name.to_string()))?;
    // SAFETY: `text` is NUL-terminated.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(Error::NoInterface(name.to_string())),
        index => Ok(index),
    }
}

/// Whether an interface with this index exists in the network namespace of the socket, where the calling thread need not be. The index
/// of a removed one is not used again.
pub(crate) fn interface_exists(fd: &OwnedFd, index: u32) -> bool {
    // SAFETY: `ifreq` is integers and nullable pointers.
    let mut request: libc::ifreq = unsafe { zeroed() };
    request.ifr_ifru.ifru_ifindex = index as libc::c_int;
    // SAFETY: the request reads the index and fills in the name, both inside `request`.
    let answer = unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFNAME as _, &raw mut request) };
    answer == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ENODEV)
}

/// Ethernet address of an interface.
pub(crate) fn interface_mac(name: &str) -> Result<[u8; 6], Error> {
    let asked = ask_interface(name, libc::SIOCGIFHWADDR)?;
    // SAFETY: this request fills `ifru_hwaddr`.
    let data = unsafe { asked.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(std::array::from_fn(|at| data[at] as u8))
}

/// Interfaces of this network namespace that have `address`.
pub(crate) fn interfaces_with(address: IpAddr) -> Result<Vec<String>, Error> {
    let mut first = std::ptr::null_mut();
    // SAFETY: the kernel's answer is written to `first`.
    checked(unsafe { libc::getifaddrs(&mut first) }, "cannot list the addresses of interfaces")?;
    let (mut names, mut next) = (Vec::new(), first);
    // SAFETY: the list and what it points to live until `freeifaddrs`; an address may be null, and its family says how long it is.
    unsafe {
        while let Some(entry) = next.as_ref() {
            let own = entry.ifa_addr.as_ref().and_then(|own| match i32::from(own.sa_family) {
                libc::AF_INET => {
                    let own = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    Some(IpAddr::from(own.sin_addr.s_addr.to_ne_bytes()))
                }
                libc::AF_INET6 => {
                    Some(IpAddr::from((*entry.ifa_addr.cast::<libc::sockaddr_in6>()).sin6_addr.s6_addr))
                }
                _ => None,
            });
            if own == Some(address) {
                names.push(std::ffi::CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned());
            }
            next = entry.ifa_next;
        }
        libc::freeifaddrs(first);
    }
    Ok(names)
}

/// MTU of an interface.
pub(crate) fn interface_mtu(name: &str) -> Result<usize, Error> {
    let asked = ask_interface(name, libc::SIOCGIFMTU)?;
    // SAFETY: this request fills `ifru_mtu`.
    Ok(usize::try_from(unsafe { asked.ifr_ifru.ifru_mtu }).unwrap_or(0))
}

/// Name of the interface with this index, in the network namespace of `socket`.
#[cfg(feature = "dpdk")]
pub(crate) fn interface_name(socket: &OwnedFd, index: u32) -> Result<String, Error> {
    // SAFETY: `ifreq` is integers and nullable pointers.
    let mut asked: libc::ifreq = unsafe { zeroed() };
    asked.ifr_ifru.ifru_ifindex = index as i32;
    // SAFETY: the request reads and writes one `ifreq`.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFNAME as _, &raw mut asked) };
    checked(result, "cannot ask for the name of an interface")?;
    let name = asked.ifr_name.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0);
    Ok(String::from_utf8_lossy(&name.collect::<Vec<_>>()).into_owned())
}

/// Whether an interface of the network namespace of `socket` is up.
#[cfg(feature = "dpdk")]
pub(crate) fn interface_is_up(socket: &OwnedFd, name: &str) -> Result<bool, Error> {
    let mut asked = interface_request(name)?;
    // SAFETY: the request reads and writes one `ifreq`.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut asked) };
    checked(result, "cannot ask").map_err(|_| Error::NoInterface(name.to_string()))?;
    // SAFETY: this request fills `ifru_flags`.
    let flags = unsafe { asked.ifr_ifru.ifru_flags };
    Ok(i32::from(flags) & libc::IFF_UP != 0)
}

/// The first core that the calling thread may use.
#[cfg(feature = "dpdk")]
pub(crate) fn first_core() -> Result<u16, Error> {
    // SAFETY: a set of cores is integers.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the kernel writes at most the size of the set.
    checked(
        unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) },
        "cannot ask for cores",
    )?;
    // SAFETY: `core` is within the set.
    let first = (0..8 * size_of::<libc::cpu_set_t>()).find(|core| unsafe { libc::CPU_ISSET(*core, &set) });
    Ok(first.unwrap_or(0) as u16)
}

/// Makes a socket discard everything that it receives.
pub(crate) fn discard_everything(fd: &OwnedFd) -> Result<(), Error> {
    // The classic BPF program "return 0".
    attach_filter(fd, &mut [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }])
}

/// Attaches a classic BPF program as the filter of a socket.
pub(crate) fn attach_filter(fd: &OwnedFd, program: &mut [libc::sock_filter]) -> Result<(), Error> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program, "cannot attach a socket filter")
}

/// The system call bpf(2) with an attribute of 64-bit words. Returns a file descriptor.
pub(crate) fn bpf(command: i32, attribute: &mut [u64], what: &'static str) -> Result<OwnedFd, Error> {
    owned(bpf_raw(command, attribute), what)
}

/// The same for commands that return no descriptor.
pub(crate) fn bpf_update(command: i32, attribute: &mut [u64], what: &'static str) -> Result<(), Error> {
    checked(bpf_raw(command, attribute), what).map(|_| ())
}

fn bpf_raw(command: i32, attribute: &mut [u64]) -> i32 {
    let (pointer, long) = (attribute.as_mut_ptr(), size_of_val(attribute));
    // SAFETY: the kernel reads and writes at most `long` bytes of the attribute. Pointers inside the attribute stay valid
    // because the caller (`xdp/program.rs`) keeps their targets alive and passes their lengths.
    unsafe { libc::syscall(libc::SYS_bpf, command, pointer, long) as i32 }
}

/// A socket address in the kernel's format.
#[derive(Clone, Copy)]
pub(crate) struct RawAddress {
    storage: libc::sockaddr_storage,
    long: libc::socklen_t,
}

impl RawAddress {
    pub fn new(address: SocketAddr) -> Self {
        // SAFETY: integers only.
        let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
        let place = std::ptr::from_mut(&mut storage);
        let long = match address {
            SocketAddr::V4(v4) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as u16,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // SAFETY: a `sockaddr_storage` is as large and as aligned as any address.
                unsafe { place.cast::<libc::sockaddr_in>().write(raw) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let raw = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as u16,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: as above.
                unsafe { place.cast::<libc::sockaddr_in6>().write(raw) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Self { storage, long: long as libc::socklen_t }
    }

    fn get(&self) -> Option<SocketAddr> {
        let place = std::ptr::from_ref(&self.storage);
        match i32::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says that it is a `sockaddr_in`; the storage is large and aligned enough.
                let raw = unsafe { place.cast::<libc::sockaddr_in>().read() };
                Some((raw.sin_addr.s_addr.to_ne_bytes(), u16::from_be(raw.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let raw = unsafe { place.cast::<libc::sockaddr_in6>().read() };
                Some((raw.sin6_addr.s6_addr, u16::from_be(raw.sin6_port)).into())
            }
            _ => None,
        }
    }
}

pub(crate) fn bind_to(fd: &OwnedFd, address: SocketAddr, what: &'static str) -> Result<(), Error> {
    let raw = RawAddress::new(address);
    // SAFETY: the storage holds an address of `long` bytes.
    let result = unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(&raw.storage).cast(), raw.long) };
    checked(result, what).map(|_| ())
}

/// The address that a socket is bound to.
pub(crate) fn local_address(fd: &OwnedFd) -> Result<SocketAddr, Error> {
    // SAFETY: integers only.
    let mut raw = RawAddress { storage: unsafe { zeroed() }, long: 0 };
    raw.long = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `long` bytes, the size of the storage.
    let result = unsafe {
        libc::getsockname(fd.as_raw_fd(), std::ptr::from_mut(&mut raw.storage).cast(), &mut raw.long)
    };
    checked(result, "cannot ask for a socket's address")?;
    raw.get().ok_or_else(|| Error::Address("a socket has an address that is not IP".to_string()))
}

/// Size of a control message that carries an `int`. Bytes.
const CONTROL: usize = 32;

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

/// A datagram to send.
pub(crate) struct Outgoing<'a> {
    pub to: RawAddress,
    /// The byte that carries DSCP and ECN.
    pub traffic_class: u8,
    pub payload: &'a [u8],
}

/// Sends datagrams until the kernel accepts no more; returns the number sent.
pub(crate) fn send_datagrams(fd: &OwnedFd, ipv6: bool, datagrams: &[Outgoing<'_>]) -> io::Result<usize> {
    let (level, kind) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
    let mut controls: Vec<Control> = datagrams
        .iter()
        .map(|datagram| control_message(level, kind, datagram.traffic_class.into()))
        .collect();
    let mut pieces: Vec<libc::iovec> = datagrams
        .iter()
        .map(|one| libc::iovec {
            iov_base: one.payload.as_ptr().cast_mut().cast(),
            iov_len: one.payload.len(),
        })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = Vec::with_capacity(datagrams.len());
    for ((datagram, piece), control) in datagrams.iter().zip(&mut pieces).zip(&mut controls) {
        // SAFETY: integers and nullable pointers.
        let mut message: libc::mmsghdr = unsafe { zeroed() };
        message.msg_hdr.msg_name = std::ptr::from_ref(&datagram.to.storage).cast_mut().cast();
        message.msg_hdr.msg_namelen = datagram.to.long;
        message.msg_hdr.msg_iov = piece;
        message.msg_hdr.msg_iovlen = 1;
        message.msg_hdr.msg_control = std::ptr::from_mut(control).cast();
        message.msg_hdr.msg_controllen = control_space() as _;
        messages.push(message);
    }
    // SAFETY: every pointer in `messages` points into `datagrams`, `pieces` or `controls`, which outlive the call; the
    // kernel reads from them and writes `msg_len`.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), messages.len() as u32, libc::MSG_DONTWAIT)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

fn control_space() -> usize {
    // SAFETY: arithmetic.
    unsafe { libc::CMSG_SPACE(size_of::<i32>() as u32) as usize }
}

fn control_message(level: i32, kind: i32, value: i32) -> Control {
    let mut control = Control([0; CONTROL]);
    let header = libc::cmsghdr {
        // SAFETY: arithmetic.
        cmsg_len: unsafe { libc::CMSG_LEN(size_of::<i32>() as u32) } as _,
        cmsg_level: level,
        cmsg_type: kind,
    };
    // SAFETY: 32 aligned bytes hold a header and an int.
    unsafe {
        let place: *mut libc::cmsghdr = std::ptr::from_mut(&mut control).cast();
        place.write(header);
        libc::CMSG_DATA(place).cast::<i32>().write_unaligned(value);
    }
    control
}

/// A received datagram.
pub(crate) struct Incoming<'a> {
    pub from: SocketAddr,
    /// The byte that carries DSCP and ECN, if the kernel reported it.
    pub traffic_class: Option<u8>,
    pub payload: &'a [u8],
}

/// Receives at most `most` datagrams into `buffers`, each `room` bytes long, and hands them to `each`.
pub(crate) fn receive_datagrams(
    fd: &OwnedFd,
    buffers: &mut [u8],
    room: usize,
    most: usize,
    each: &mut dyn FnMut(Incoming<'_>),
) -> io::Result<usize> {
    let most = most.min(buffers.len() / room);
    let mut names = vec![MaybeUninit::<libc::sockaddr_storage>::zeroed(); most];
    let mut controls = vec![Control([0; CONTROL]); most];
    let mut pieces: Vec<libc::iovec> = buffers
        .chunks_exact_mut(room)
        .take(most)
        .map(|chunk| libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: room })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = Vec::with_capacity(most);
    for ((name, piece), control) in names.iter_mut().zip(&mut pieces).zip(&mut controls) {
        // SAFETY: integers and nullable pointers.
        let mut message: libc::mmsghdr = unsafe { zeroed() };
        message.msg_hdr.msg_name = name.as_mut_ptr().cast();
        message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        message.msg_hdr.msg_iov = piece;
        message.msg_hdr.msg_iovlen = 1;
        message.msg_hdr.msg_control = std::ptr::from_mut(control).cast();
        message.msg_hdr.msg_controllen = CONTROL as _;
        messages.push(message);
    }
    // SAFETY: every pointer in `messages` points into `buffers`, `names`, `pieces` or `controls`, which outlive the call and
    // have the stated lengths; no timeout is passed.
    let got = unsafe {
        let (fd, count) = (fd.as_raw_fd(), messages.len() as u32);
        libc::recvmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT, std::ptr::null_mut())
    };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    for (at, message) in messages.iter().take(got as usize).enumerate() {
        // SAFETY: zeroed, then possibly written by the kernel: integers either way.
        let storage = unsafe { names[at].assume_init() };
        let name = RawAddress { storage, long: message.msg_hdr.msg_namelen };
        let long = (message.msg_len as usize).min(room);
        let payload = &buffers[at * room..at * room + long];
        if let Some(from) = name.get() {
            each(Incoming { from, traffic_class: traffic_class(&message.msg_hdr), payload });
        }
    }
    Ok(got as usize)
}

/// DSCP and ECN of a datagram, from its control messages.
fn traffic_class(header: &libc::msghdr) -> Option<u8> {
    // SAFETY: the kernel has set the length of the control messages; their buffer is ours and alive.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        while let Some(message) = at.as_ref() {
            match (message.cmsg_level, message.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => return Some(libc::CMSG_DATA(at).read()),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    return Some(libc::CMSG_DATA(at).cast::<i32>().read_unaligned() as u8);
                }
                _ => at = libc::CMSG_NXTHDR(header, at),
            }
        }
    }
    None
}

/// Adds one to an eventfd. Errors are ignored: a full counter also wakes the reader.
pub(crate) fn event_add(fd: &OwnedFd) {
    let one = 1u64;
    // SAFETY: the kernel reads 8 bytes, the size of `one`.
    let _ = unsafe { libc::write(fd.as_raw_fd(), std::ptr::from_ref(&one).cast(), 8) };
}

pub(crate) fn event_clear(fd: &OwnedFd) {
    let mut all = 0u64;
    // SAFETY: the kernel writes 8 bytes, the size of `all`.
    let _ = unsafe { libc::read(fd.as_raw_fd(), std::ptr::from_mut(&mut all).cast(), 8) };
}

/// Moves the calling thread into a network namespace.
pub(crate) fn enter_network(namespace: &OwnedFd) -> io::Result<()> {
    // SAFETY: passes no memory.
    let result = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
