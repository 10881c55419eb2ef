//! UDP sockets of the kernel: no privilege is needed.
//!
//! One socket per path label sends, and one socket receives. This module adds and removes the Ethernet, IP and UDP headers,
//! which the kernel hides from programs, so that frames look the same as with every other backend. A trimmed packet arrives
//! only if the switch corrected the lengths in its headers; the kernel drops the others.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use pullnet_wire::{ETHERNET, IPV4, IPV6, Mac, PORT, Route, UDP, switch};

use crate::counters::Counters;
use crate::error::Error;
use crate::packet_io::PacketIo;
use crate::sys;

/// Options of [`UdpSockets`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpOptions {
    /// The host's address. Exactly one, because a packet's checksum covers it.
    pub address: IpAddr,
    /// The port to listen on; 0 lets the kernel choose.
    pub port: u16,
    /// Number of path labels for sending; each is a UDP source port chosen by the kernel. At least 1.
    pub labels: u16,
    /// Longest IP packet. Bytes.
    pub mtu: usize,
    /// Most frames sent or received by one system call.
    pub burst: usize,
}

impl UdpOptions {
    /// Default options for `address`.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        Self { address, port: PORT, labels: 8, mtu: 1500, burst: 64 }
    }
}

/// A frame that waits for [`PacketIo::flush`].
#[derive(Clone, Debug)]
struct Waiting {
    to: SocketAddr,
    traffic_class: u8,
    sender: usize,
    payload: Vec<u8>,
}

/// UDP sockets of the kernel.
#[derive(Debug)]
pub struct UdpSockets {
    receiver: OwnedFd,
    senders: Vec<OwnedFd>,
    local: SocketAddr,
    mtu: usize,
    burst: usize,
    buffers: Vec<u8>,
    frame: Vec<u8>,
    waiting: Vec<Waiting>,
    spare: Vec<Vec<u8>>,
    counters: Counters,
}

pub(crate) fn open(address: SocketAddr, receives: bool) -> Result<OwnedFd, Error> {
    let ipv6 = address.is_ipv6();
    let family = if ipv6 { libc::AF_INET6 } else { libc::AF_INET };
    let fd = sys::socket(family, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0, "cannot open a UDP socket")?;
    let (level, no_check) = if ipv6 {
        (libc::IPPROTO_UDP, libc::UDP_NO_CHECK6_TX)
    } else {
        (libc::SOL_SOCKET, libc::SO_NO_CHECK)
    };
    // A checksum over the payload would be wrong after a trim.
    sys::set_option(&fd, level, no_check, &1i32, "cannot send UDP without checksum")?;
    if receives {
        receive_options(&fd, ipv6)?;
    }
    sys::bind_to(&fd, address, "cannot bind a UDP socket").map_err(|error| match error {
        Error::Kernel { what, source, .. } => Error::Kernel { what, on: format!(" to {address}"), source },
        other => other,
    })?;
    Ok(fd)
}

fn receive_options(fd: &OwnedFd, ipv6: bool) -> Result<(), Error> {
    let what = "cannot ask for the DSCP of UDP packets";
    if ipv6 {
        sys::set_option(
            fd,
            libc::IPPROTO_UDP,
            libc::UDP_NO_CHECK6_RX,
            &1i32,
            "cannot receive UDP without checksum",
        )?;
        sys::set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, &1i32, what)?;
    } else {
        sys::set_option(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, &1i32, what)?;
    }
    // Room for the first windows of several senders; the kernel may grant less.
    sys::set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &(4i32 << 20), "cannot size a receive buffer")
}

impl UdpSockets {
    /// Opens the sockets.
    ///
    /// # Errors
    /// If the address does not belong to this host, or the port is taken.
    pub fn open(options: &UdpOptions) -> Result<Self, Error> {
        if options.address.is_unspecified() {
            let text = "UDP sockets need one address of this host: a packet's check covers it";
            return Err(Error::Address(text.to_string()));
        }
        let receiver = open((options.address, options.port).into(), true)?;
        let any_port = SocketAddr::from((options.address, 0));
        let senders = (0..options.labels.max(1)).map(|_| open(any_port, false)).collect::<Result<_, _>>()?;
        let local = sys::local_address(&receiver)?;
        let (burst, room) = (options.burst.clamp(1, 1024), options.mtu + ETHERNET);
        Ok(Self {
            receiver,
            senders,
            local,
            mtu: options.mtu,
            burst,
            buffers: vec![0; burst * options.mtu],
            frame: vec![0; room],
            waiting: Vec::with_capacity(burst),
            spare: Vec::new(),
            counters: Counters::default(),
        })
    }

    /// Address and port of the receiving socket.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Length of the headers that the kernel hides from a program. Bytes.
    fn front(&self) -> usize {
        ETHERNET + UDP + if self.local.is_ipv6() { IPV6 } else { IPV4 }
    }

    /// Splits a frame into the arguments of a send; `None` if it is not a UDP frame from this host.
    fn take_apart(&mut self, frame: &[u8]) -> Option<Waiting> {
        let dscp = switch::dscp(frame)?;
        let (route, payload) = switch::datagram(frame)?;
        let label = route.label().unwrap_or(0);
        let sender = usize::from(label) % self.senders.len();
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(payload);
        Some(Waiting {
            to: (route.to, route.to_port).into(),
            traffic_class: dscp << 2,
            sender,
            payload: kept,
        })
    }

    /// Sends the longest run of waiting frames that share a socket. Returns how many are done.
    fn send_run(&mut self) -> Result<usize, Error> {
        let Some(first) = self.waiting.first() else { return Ok(0) };
        let sender = first.sender;
        let run: Vec<sys::Outgoing<'_>> = self
            .waiting
            .iter()
            .take_while(|one| one.sender == sender)
            .map(|one| sys::Outgoing {
                to: sys::RawAddress::new(one.to),
                traffic_class: one.traffic_class,
                payload: &one.payload,
            })
            .collect();
        match sys::send_datagrams(&self.senders[sender], self.local.is_ipv6(), &run) {
            Ok(sent) => Ok(sent),
            Err(source) => match source.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                // A first datagram that cannot be sent is dropped, as UDP allows; it must not block the others.
                _ => {
                    self.counters.refused += 1;
                    Ok(1)
                }
            },
        }
    }
}

/// Writes the headers in front of a received datagram; returns the length of the frame.
fn put_together(frame: &mut [u8], local: SocketAddr, incoming: &sys::Incoming<'_>) -> Option<usize> {
    let route = Route {
        from_mac: Mac::default(),
        to_mac: Mac::default(),
        from: incoming.from.ip(),
        to: local.ip(),
        from_port: incoming.from.port(),
        to_port: local.port(),
    };
    switch::put_headers(frame, &route, incoming.traffic_class.unwrap_or(0), incoming.payload)
}

impl PacketIo for UdpSockets {
    fn frame_room(&self) -> usize {
        self.mtu + ETHERNET
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let room = self.mtu - (self.front() - ETHERNET);
        let (frame, counters, local) = (&mut self.frame, &mut self.counters, self.local);
        let got = sys::receive_datagrams(&self.receiver, &mut self.buffers, room, most, &mut |incoming| {
            if let Some(long) = put_together(frame, local, &incoming) {
                counters.count_received(long);
                each(&frame[..long]);
            }
        });
        match got {
            Ok(got) => Ok(got),
            // An ICMP error about an earlier datagram does not concern receiving.
            Err(source)
                if matches!(
                    source.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused
                ) =>
            {
                Ok(0)
            }
            Err(source) => Err(Error::Kernel { what: "cannot receive UDP", on: String::new(), source }),
        }
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        if self.waiting.len() >= self.burst {
            self.flush()?;
            if self.waiting.len() >= self.burst {
                self.counters.full += 1;
                return Ok(false);
            }
        }
        let mut frame = std::mem::take(&mut self.frame);
        let long = fill(&mut frame);
        if long > 0 {
            match self.take_apart(&frame[..long]) {
                Some(waiting) => {
                    self.waiting.push(waiting);
                    self.counters.count_sent(long);
                }
                None => self.counters.refused += 1,
            }
        }
        self.frame = frame;
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        while !self.waiting.is_empty() {
            let gone = self.send_run()?;
            if gone == 0 {
                return Ok(());
            }
            self.spare.extend(self.waiting.drain(..gone).map(|one| one.payload));
        }
        Ok(())
    }

    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        sys::poll_or_wake(self.receiver.as_fd(), wake, timeout)
    }

    /// Sockets are not bound to an interface.
    fn is_gone(&self) -> bool {
        false
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
