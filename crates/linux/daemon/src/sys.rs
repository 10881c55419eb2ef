//! System calls. Every result is checked; memory is passed as references, and the call is told their length.

use std::collections::VecDeque;
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::error::Error;

/// Maximum number of file descriptors in one message.
pub(crate) const MOST_FDS: usize = 4;

pub(crate) fn owned(fd: RawFd, what: &'static str) -> Result<OwnedFd, Error> {
    if fd < 0 {
        return Err(Error::last(what));
    }
    // SAFETY: the kernel has just returned this descriptor, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn checked(result: libc::c_int, what: &'static str) -> Result<libc::c_int, Error> {
    if result < 0 { Err(Error::last(what)) } else { Ok(result) }
}

/// Converts the result of a call that returns a length, or -1 for an error.
fn counted(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Makes an anonymous file of `long` bytes, zeroed, sealed against shrinking, growing and unsealing.
pub(crate) fn memory_file(long: usize) -> Result<OwnedFd, Error> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends with 0.
    let fd = owned(unsafe { libc::memfd_create(c"pullnet".as_ptr(), flags) }, "cannot make shared memory")?;
    // SAFETY: takes no memory.
    checked(unsafe { libc::ftruncate(fd.as_raw_fd(), long as libc::off_t) }, "cannot size shared memory")?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: takes no memory.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) }, "cannot seal shared memory")?;
    Ok(fd)
}

/// Whether an anonymous file has `long` bytes and is sealed against shrinking and growing.
pub(crate) fn is_sealed(fd: &OwnedFd, long: usize) -> bool {
    let wanted = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    // SAFETY: takes no memory.
    let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
    // SAFETY: `stat` is integers, which the kernel overwrites.
    let mut stat: libc::stat = unsafe { zeroed() };
    // SAFETY: the kernel writes one `stat`.
    let known = unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } == 0;
    seals >= 0 && seals & wanted == wanted && known && usize::try_from(stat.st_size) == Ok(long)
}

/// Sends `bytes` without waiting.
pub(crate) fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    send_with(fd, bytes, &[])
}

/// Sends `bytes` without waiting, with at most [`MOST_FDS`] file descriptors.
pub(crate) fn send_with(fd: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let numbers: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    assert!(numbers.len() <= MOST_FDS, "{} file descriptors in a message", numbers.len());
    let mut control = Control([0; 48]);
    let mut piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: `msghdr` is integers and pointers that may be null.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut piece;
    message.msg_iovlen = 1;
    if !numbers.is_empty() {
        let long = size_of_val(numbers.as_slice()) as u32;
        message.msg_control = std::ptr::from_mut(&mut control).cast();
        // SAFETY: arithmetic only.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(long) } as _;
        // SAFETY: the control buffer is aligned like a `cmsghdr` and has room for one with `MOST_FDS` numbers.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(long) as _;
            let data = libc::CMSG_DATA(header).cast::<RawFd>();
            numbers.iter().enumerate().for_each(|(at, number)| data.add(at).write_unaligned(*number));
        }
    }
    // SAFETY: every pointer in `message` points to memory that outlives the call and has the length that is said; the
    // kernel only reads it.
    counted(unsafe { libc::sendmsg(fd.as_raw_fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) })
}

/// Room for one control message with [`MOST_FDS`] file descriptors.
#[repr(C, align(8))]
struct Control([u8; 48]);

/// Receives the bytes that have arrived, without waiting; the kernel drops file descriptors that come with them. 0: the
/// other side is gone.
pub(crate) fn receive(fd: BorrowedFd<'_>, out: &mut [u8]) -> io::Result<usize> {
    receive_by(fd, out, libc::MSG_DONTWAIT)
}

/// As [`receive`], but the bytes stay there.
pub(crate) fn peek(fd: BorrowedFd<'_>, out: &mut [u8]) -> io::Result<usize> {
    receive_by(fd, out, libc::MSG_DONTWAIT | libc::MSG_PEEK)
}

fn receive_by(fd: BorrowedFd<'_>, out: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: the kernel writes at most the length of `out`.
    counted(unsafe { libc::recv(fd.as_raw_fd(), out.as_mut_ptr().cast(), out.len(), flags) })
}

/// File descriptors that came with messages.
#[derive(Default, Debug)]
pub(crate) struct Received {
    pub fds: VecDeque<OwnedFd>,
    /// The kernel dropped some: this process had no numbers left for them.
    pub truncated: bool,
}

/// As [`receive`], and adds the file descriptors to `received`.
pub(crate) fn receive_with(fd: BorrowedFd<'_>, out: &mut [u8], received: &mut Received) -> io::Result<usize> {
    let mut control = Control([0; 48]);
    let mut piece = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
    // SAFETY: `msghdr` is integers and pointers that may be null.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut piece;
    message.msg_iovlen = 1;
    message.msg_control = std::ptr::from_mut(&mut control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: every pointer in `message` points to memory that outlives the call and has the length that is said.
    let got = counted(unsafe { libc::recvmsg(fd.as_raw_fd(), &mut message, flags) })?;
    received.truncated |= message.msg_flags & libc::MSG_CTRUNC != 0;
    // SAFETY: the kernel has set the length of the control messages, which lie in a buffer of ours that is alive; the
    // numbers in them are file descriptors without another owner.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(&message);
        while let Some(header) = at.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let count = (header.cmsg_len - libc::CMSG_LEN(0) as usize) / size_of::<RawFd>();
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                let numbers = (0..count).map(|at| data.add(at).read_unaligned());
                received.fds.extend(numbers.map(|number| OwnedFd::from_raw_fd(number)));
            }
            at = libc::CMSG_NXTHDR(&message, header);
        }
    }
    Ok(got)
}

/// Checks that this process can have `count` more file descriptors, by copies of `fd`.
pub(crate) fn check_room(fd: BorrowedFd<'_>, count: usize) -> io::Result<()> {
    let copies: io::Result<Vec<_>> = (0..count).map(|_| fd.try_clone_to_owned()).collect();
    copies.map(drop)
}

/// Waits until `fd` becomes readable or its other side is gone, for `timeout` at most. Returns whether anything happened.
pub(crate) fn wait(fd: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<bool, Error> {
    let mut polled = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: one element is passed; the time lives, or is null, which means none; no signal mask is passed.
    let result = unsafe { libc::ppoll(&mut polled, 1, time, std::ptr::null()) };
    match checked(result, "cannot wait") {
        Err(Error::Kernel { source, .. }) if source.kind() == io::ErrorKind::Interrupted => Ok(true),
        other => other.map(|count| count > 0),
    }
}

/// Shuts down receiving at this end of a pair of sockets: a waiter there sees the other end as closed.
pub(crate) fn silence(fd: impl AsFd) {
    // SAFETY: takes no memory. It cannot fail for a socket that is connected.
    let _ = unsafe { libc::shutdown(fd.as_fd().as_raw_fd(), libc::SHUT_RD) };
}

/// Reads an eventfd or a signalfd, to reset it.
pub(crate) fn take(fd: BorrowedFd<'_>) {
    let mut taken = [0u8; 128];
    // SAFETY: the kernel writes at most the length of `taken`. The result does not matter.
    let _ = unsafe { libc::read(fd.as_raw_fd(), taken.as_mut_ptr().cast(), taken.len()) };
}

/// Returns the peer credentials of a Unix socket: uid, gid and process.
pub(crate) fn peer(fd: BorrowedFd<'_>) -> Result<libc::ucred, Error> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut long = size_of::<libc::ucred>() as libc::socklen_t;
    let (fd, place) = (fd.as_raw_fd(), std::ptr::from_mut(&mut peer).cast());
    // SAFETY: the kernel writes at most `long` bytes, which `peer` has.
    let result = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut long) };
    checked(result, "cannot ask who is at the other end of a socket").map(|_| peer)
}

/// Returns the supplementary groups of the peer of a Unix socket; at most 256.
pub(crate) fn peer_groups(fd: BorrowedFd<'_>) -> Vec<u32> {
    let mut groups = [0u32; 256];
    let mut long = size_of_val(&groups) as libc::socklen_t;
    let place = groups.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `long` bytes, which `groups` has.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERGROUPS, place, &mut long) };
    let count = if result == 0 { long as usize / size_of::<u32>() } else { 0 };
    groups[..count.min(groups.len())].to_vec()
}

/// Descriptors to wait for, each with a number.
#[derive(Debug)]
pub(crate) struct Poll(OwnedFd);

impl Poll {
    pub fn new() -> Result<Self, Error> {
        // SAFETY: takes no memory.
        owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }, "cannot make an epoll").map(Self)
    }

    /// Adds `fd` until it is closed.
    pub fn add(&self, fd: BorrowedFd<'_>, number: u64) -> Result<(), Error> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number };
        // SAFETY: the kernel reads one event.
        let result =
            unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &mut event) };
        checked(result, "cannot wait for a file descriptor").map(|_| ())
    }

    /// Resumes or pauses waiting for `fd`, which was added under `number`.
    pub fn change(&self, fd: BorrowedFd<'_>, number: u64, waits: bool) -> Result<(), Error> {
        let events = if waits { libc::EPOLLIN as u32 } else { 0 };
        let mut event = libc::epoll_event { events, u64: number };
        // SAFETY: the kernel reads one event.
        let result =
            unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_MOD, fd.as_raw_fd(), &mut event) };
        checked(result, "cannot wait for a file descriptor").map(|_| ())
    }

    /// Returns the numbers of the readable descriptors, at most 64. Never waits.
    pub fn ready(&self, each: &mut Vec<u64>) {
        const NONE: libc::epoll_event = libc::epoll_event { events: 0, u64: 0 };
        let mut events = [NONE; 64];
        // SAFETY: the kernel writes at most as many events as it is told that there is room for.
        let got = unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), 64, 0) };
        let got = usize::try_from(got).unwrap_or(0);
        each.extend(events[..got].iter().map(|event| event.u64));
    }
}

impl AsFd for Poll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
