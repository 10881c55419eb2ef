use std::net::IpAddr;

use pullnet_ndp::NdpConfig;
use pullnet_units::{BitsPerSec, Bytes, Instant};
use pullnet_wire::{ETHERNET, IPV4, IPV6, Mac, Marks, PORT, UDP, payload_room};

use crate::StreamError;

/// Preamble, frame check sequence and gap: what a frame takes on a line beside its bytes. Bytes.
const LINE: usize = 24;
/// Longest and shortest IP packets that a host can be told to send. Bytes.
const MTU: std::ops::RangeInclusive<usize> = 256..=60_000;

/// What an [`crate::Engine`] is made with.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The host's one IP address; with [`EngineOptions::port`] it is who the host is.
    pub address: IpAddr,
    /// Ethernet address of the interface; anything where the backend writes Ethernet headers itself (UDP sockets).
    pub mac: Mac,
    /// Home port: the UDP port on which the host listens.
    pub port: u16,
    /// Longest IP packet, 256 to 60000. Bytes.
    pub mtu: usize,
    /// Rate of the host's link, at which pulls are paced.
    pub rate: BitsPerSec,
    /// Settings of NDP. `mtu` and `header` are not looked at: they follow from [`EngineOptions::mtu`].
    pub ndp: NdpConfig,
    /// DSCP values of the network.
    pub marks: Marks,
    /// How much the host takes on.
    pub limits: Limits,
    /// Ethernet addresses that are known beforehand: of hosts, or of the next hop towards them.
    pub neighbours: Vec<(IpAddr, Mac)>,
    /// Path labels that are used towards each destination, 1 to 16384.
    pub paths: u16,
    /// Chance of everything: paths, and where connection numbers begin. Whoever drives an [`crate::Engine`] has to give a
    /// new one at each start, so that its numbers are not those that its peers remember; a [`crate::Host`] sees to that.
    pub seed: u64,
    /// Until then, packets that were sent before open no stream: a host that had this address before may have carried out
    /// what they ask for. [`EngineOptions::started_anew`] sets it; zero as long as nobody had the address.
    pub careful_until: Instant,
}

impl EngineOptions {
    /// The usual ones for `address`: 1500 B packets, a link of 10 Gb/s, 8 paths.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        Self {
            address,
            mac: Mac::default(),
            port: PORT,
            mtu: 1500,
            rate: BitsPerSec::gbps(10),
            ndp: NdpConfig::default(),
            marks: Marks::default(),
            limits: Limits::default(),
            neighbours: Vec::new(),
            paths: 8,
            seed: 0,
            careful_until: Instant::ZERO,
        }
    }

    /// For a host that starts at `now`, and perhaps takes the place of another one: it is careful for as long as peers may
    /// repeat what they sent to that.
    #[must_use]
    pub fn started_anew(self, now: Instant) -> Self {
        let careful = self.ndp.give_up.saturating_add(self.ndp.time_wait);
        Self { careful_until: now.after(careful), ..self }
    }

    /// Payload of a full packet. Bytes.
    #[must_use]
    pub fn payload_room(&self) -> usize {
        payload_room(self.mtu, self.address.is_ipv6())
    }

    /// NDP's settings with the sizes that packets have on the line.
    pub(crate) fn protocol(&self) -> Result<NdpConfig, StreamError> {
        if !MTU.contains(&self.mtu) || self.paths == 0 || self.paths > pullnet_wire::LABELS {
            return Err(StreamError::Options(format!(
                "mtu = {} and paths = {}: an MTU of {} to {} B and 1 to {} paths work",
                self.mtu,
                self.paths,
                MTU.start(),
                MTU.end(),
                pullnet_wire::LABELS
            )));
        }
        let ip = if self.address.is_ipv6() { IPV6 } else { IPV4 };
        let overhead = ETHERNET + ip + UDP + pullnet_wire::DATA_HEADER + LINE;
        let (mtu, header) = (Bytes(self.payload_room() as u64), Bytes(overhead as u64));
        Ok(NdpConfig { mtu, header, ..self.ndp.clone() })
    }
}

/// How much a host takes on. What goes beyond is refused, and memory stays within it whoever sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Streams at a time. More are refused with RESET, reason "full". Hosts that have not acknowledged anything yet, and so
    /// may not be where they say, have half of them.
    pub connections: usize,
    /// Streams with one peer at a time. More are refused with RESET, reason "full".
    pub connections_per_peer: usize,
    /// Streams that hosts which have not acknowledged anything yet may open in a second, all together, in bursts of a tenth
    /// of a second. What comes beyond is not answered: whoever means it sends it again.
    pub openings_per_second: u32,
    /// Answers to packets that belong to nothing (RESET) in a second, in bursts of a tenth of a second.
    pub resets_per_second: u32,
    /// Bytes that a stream holds until they are acknowledged.
    pub send_buffer: usize,
    /// Bytes that wait for the reader of a stream before its sender is held. What is on its way by then is taken too,
    /// up to a first window more.
    pub receive_buffer: usize,
    /// Bytes that wait for readers, of all streams. Beyond it a packet is taken only if its reader waits for it;
    /// others are treated as trimmed, so that they come again.
    pub memory: usize,
    /// Streams that wait to be accepted, for each service. More are refused with RESET, reason "full".
    pub backlog: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 65_536,
            connections_per_peer: 16_384,
            openings_per_second: 10_000,
            resets_per_second: 10_000,
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            memory: 256 << 20,
            backlog: 1024,
        }
    }
}

/// What a stream is opened with.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamOptions {
    /// What is asked of the receiver: 0 is ordinary, higher numbers are pulled first.
    pub priority: u8,
}
