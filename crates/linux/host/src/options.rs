use std::net::IpAddr;

use pullnet_ndp::NdpConfig;
use pullnet_units::{BitsPerSec, Bytes, Packets};
use pullnet_wire::{
    AUTHENTICATOR, DATA_HEADER, ETHERNET, IPV4, IPV6, Mac, Marks, PORT, SEALED_HEADER, UDP, payload_room,
};

use crate::error::StreamError;
use crate::proof::Secret;
use crate::seal::Keys;

/// Preamble, frame check sequence and gap: overhead of a frame on the line. Bytes.
const LINE: usize = 24;
/// A usual first window at a link of 10 Gb/s. Bytes.
const FIRST_WINDOW: u64 = 270_000;
/// Rate at which it covers the time that hosts take to answer.
const FIRST_WINDOW_AT: BitsPerSec = BitsPerSec::gbps(10);
/// Range of usual first windows. Packets. More could overflow a receive ring of 1024 frames if two hosts send at once.
const FIRST_WINDOWS: std::ops::RangeInclusive<u64> = 30..=512;
/// A usual burst. Bytes.
const LONGEST_BURST: usize = 65_535;
/// Range of the MTU of a host. Bytes.
const MTU: std::ops::RangeInclusive<usize> = 256..=60_000;

/// Options of an [`crate::Engine`].
#[derive(Clone, Debug)]
pub struct EngineOptions<T = NdpConfig> {
    /// The host's one IP address; together with [`EngineOptions::port`] it identifies the host.
    pub address: IpAddr,
    /// Ethernet address of the interface; unused if the backend writes Ethernet headers itself (UDP sockets).
    pub mac: Mac,
    /// Home port: the UDP port on which the host listens.
    pub port: u16,
    /// Longest IP packet, 256 to 60000. Bytes.
    pub mtu: usize,
    /// Rate of the host's link, at which pulls are paced.
    pub rate: BitsPerSec,
    /// Settings of the transport. `mtu` and `header` are ignored: they follow from [`EngineOptions::mtu`].
    pub transport: T,
    /// DSCP values of the network.
    pub marks: Marks,
    /// Resource limits.
    pub limits: Limits,
    /// Ethernet addresses that are known beforehand: of hosts, or of their next hops.
    pub neighbours: Vec<(IpAddr, Mac)>,
    /// Path labels that are used towards each destination, 1 to 16384.
    pub paths: u16,
    /// Seed of random choices that need not be secret, such as paths.
    pub seed: u64,
    /// Key of tokens, tags and connection numbers. The driver of an [`crate::Engine`] must supply a new one at each start,
    /// so that packets meant for the host before a restart are refused; a [`crate::Host`] sees to that. The seed is mixed
    /// in.
    pub secret: Secret,
    /// Whether the first packet of a host sets its Ethernet address, for networks without a kernel's neighbour table. Later
    /// packets change nothing.
    pub learn_macs: bool,
    /// Keys that this host shares with others. With them all services accept and open encrypted streams only, except those
    /// named by [`Keys::leave_plain`]. They need an [`EngineOptions::secret`], which keeps nonces apart.
    pub keys: Option<Keys>,
}

impl EngineOptions {
    /// Defaults for `address`: NDP, 1500 B packets, a link of 10 Gb/s, 8 paths.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        Self::over(address, NdpConfig::default())
    }

    /// These options with the first window and the longest burst that suit their MTU and rate, as the daemon has them over
    /// AF_PACKET. [`EngineOptions::new`] has those of a scenario, 30 packets and one.
    #[must_use]
    pub fn sized(mut self) -> Self {
        self.transport.initial_window = self.usual_window();
        self.transport.burst = self.usual_burst();
        self
    }
}

impl<T> EngineOptions<T> {
    /// Defaults over another transport.
    #[must_use]
    pub fn over(address: IpAddr, transport: T) -> Self {
        Self {
            address,
            mac: Mac::default(),
            port: PORT,
            mtu: 1500,
            rate: BitsPerSec::gbps(10),
            transport,
            marks: Marks::default(),
            limits: Limits::default(),
            neighbours: Vec::new(),
            paths: 8,
            seed: 0,
            secret: Secret::default(),
            learn_macs: false,
            keys: None,
        }
    }

    /// Sets an unpredictable secret and seed, as a host needs at its start.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn started(self) -> Result<Self, StreamError> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes)
            .map_err(|error| StreamError::Options(format!("cannot get random numbers: {error}")))?;
        let secret = Secret::new(core::array::from_fn(|at| bytes[at]));
        let seed = u64::from_le_bytes(core::array::from_fn(|at| bytes[16 + at]));
        Ok(Self { secret, seed, ..self })
    }

    /// A first window that covers the time that two hosts take to answer each other: 270 kB, which is what 30 packets of 9000 B are,
    /// and above 10 Gb/s as much more as the link is faster; 30 to 512 packets. A stream of 1500 B packets is three times as fast
    /// with it as with 30 packets.
    #[must_use]
    pub fn usual_window(&self) -> Packets {
        let faster = self.rate.get().max(FIRST_WINDOW_AT.get()) as f64 / FIRST_WINDOW_AT.get() as f64;
        let packets = (FIRST_WINDOW as f64 * faster) as u64 / self.payload_room().max(1) as u64;
        Packets(packets.clamp(*FIRST_WINDOWS.start(), *FIRST_WINDOWS.end()) as u32)
    }

    /// Bursts of 64 kB, the longest that the kernel takes at once, for backends that send any: a stream of 1500 B packets over
    /// eight paths is half as fast again with it.
    #[must_use]
    pub fn usual_burst(&self) -> Packets {
        Packets((LONGEST_BURST / self.mtu.max(1)).clamp(1, 64) as u32)
    }

    /// Payload of a full packet. Bytes.
    #[must_use]
    pub fn payload_room(&self) -> usize {
        payload_room(self.mtu, self.address.is_ipv6()).saturating_sub(self.extra())
    }

    /// Bytes per packet that encryption needs. They are left free in all packets if there are keys.
    fn extra(&self) -> usize {
        if self.keys.is_some() { SEALED_HEADER + AUTHENTICATOR - DATA_HEADER } else { 0 }
    }

    /// Payload of a full packet, and bytes on the line beside it.
    pub(crate) fn sizes(&self) -> Result<(Bytes, Bytes), StreamError> {
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
        if self.keys.is_some() && self.secret == Secret::default() {
            let text =
                "keys need a secret of random numbers, another one at each start: see EngineOptions::started";
            return Err(StreamError::Options(text.to_string()));
        }
        let ip = if self.address.is_ipv6() { IPV6 } else { IPV4 };
        let overhead = ETHERNET + ip + UDP + DATA_HEADER + self.extra() + LINE;
        Ok((Bytes(self.payload_room() as u64), Bytes(overhead as u64)))
    }
}

/// Resource limits of a host. Excess is refused, and memory stays within the limits under any traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Streams at a time. More are refused with RESET, reason "full". Streams that have received headers only may exceed the
    /// limit by a quarter; the oldest of these give way.
    pub connections: usize,
    /// Streams with one peer at a time. More are refused with RESET, reason "full".
    pub connections_per_peer: usize,
    /// Hosts that are given a token per second, in bursts of a tenth of a second. Excess requests are not answered; a
    /// genuine host repeats its request.
    pub tokens_per_second: u32,
    /// Openings that are remembered, so that no copy of them is carried out. Within the time for which one is remembered
    /// this many are accepted; more are not answered.
    pub remembered: usize,
    /// RESETs per second in answer to packets of unknown connections, in bursts of a tenth of a second.
    pub resets_per_second: u32,
    /// Maximum number of unacknowledged bytes of a stream.
    pub send_buffer: usize,
    /// Maximum number of unacknowledged bytes of all streams. Beyond it a stream that holds none may still hold a packet.
    pub send_memory: usize,
    /// Bytes that wait for the reader of a stream before its sender is held. Packets in flight at that time are taken too,
    /// up to a first window more.
    pub receive_buffer: usize,
    /// Bytes that wait for readers, of all streams. Beyond it a packet is taken only if its reader waits for it; others are
    /// treated as trimmed, so that they are pulled again.
    pub memory: usize,
    /// Streams that wait to be accepted, for each service, half of them of one peer. More are refused with RESET, reason
    /// "full". Streams that have received headers only do not count.
    pub backlog: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 65_536,
            connections_per_peer: 16_384,
            tokens_per_second: 10_000,
            remembered: 1 << 20,
            resets_per_second: 10_000,
            send_buffer: 1 << 20,
            send_memory: 256 << 20,
            receive_buffer: 1 << 20,
            memory: 256 << 20,
            backlog: 1024,
        }
    }
}

/// Options with which a stream is opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamOptions {
    /// Priority requested from the receiver: 0 is ordinary, higher numbers are pulled first.
    pub priority: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_mtu_and_rate() {
        let cases = [
            (1500, 10, 188, 43),
            (1500, 100, 512, 43),
            (9000, 10, 30, 7),
            (9000, 40, 120, 7),
            (60_000, 10, 30, 1),
        ];
        for (mtu, gbps, window, burst) in cases {
            let options = EngineOptions {
                mtu,
                rate: BitsPerSec::gbps(gbps),
                ..EngineOptions::new([10, 0, 0, 1].into())
            };
            let NdpConfig { initial_window, burst: longest, .. } = options.sized().transport;
            assert_eq!((initial_window.0, longest.0), (window, burst), "{mtu} B at {gbps} Gb/s");
        }
    }
}
