//! Every setting of a switch file, described once.

use pullnet_settings::{choice, settings};
use pullnet_units::{BitsPerSec, Bytes, Picos};

use crate::fault::Direction;
use crate::forward::Unknown;
use crate::size::Counting;

choice! {
    /// How frames get in and out.
    pub enum Io {
        /// AF_PACKET sockets: any interface, needs CAP_NET_RAW.
        Packet = "packet",
        /// AF_XDP sockets: needs CAP_NET_ADMIN and CAP_BPF as well.
        Xdp = "xdp",
    }
}

choice! {
    /// How the loop waits for frames and for the time to send.
    pub enum Wait {
        /// It never sleeps and takes a whole core; exact to a microsecond where nothing else runs on it.
        Spin = "spin",
        /// It sleeps until something arrives once nothing has happened for a while.
        Adaptive = "adaptive",
    }
}

settings! {
    /// What the switches of a file have in common.
    pub struct RunSettings {
        /// What it is called in status and counters.
        name: String = "switch",
        /// Seed of every random stream: coins, choices of ports, losses.
        seed: u64 = 1,
        /// Which bytes a frame occupies on the line: those of the frame (frame), with padding and check sequence
        /// (padded), or with preamble and gap as well (line).
        counting: Counting = "frame",
        /// Most frames held at a time over all ports. Bounds memory.
        most_frames: u32 = 65536 in 64 => 4194304,
        /// How frames get in and out.
        io: Io = "packet",
        /// How the loop waits.
        wait: Wait = "adaptive",
        /// How long an adaptive loop spins before it sleeps.
        idle: Picos = "2 ms" in "1 us" => "10 s",
    }
}

settings! {
    /// A port: on a network interface, or joined to another port of the file.
    pub struct PortFileSettings {
        /// Its name, unlike all others.
        name: String = "host0"; required,
        /// The switch that it belongs to.
        switch: String = "switch",
        /// The network interface that it is on.
        interface: Option<String> = "",
        /// The port that it is joined to inside the file; that port names this one.
        peer: Option<String> = "",
        /// Rate of the line, both ways.
        rate: BitsPerSec = "1 Gbps"; required,
        /// From the last bit sent to the last bit received, outwards.
        delay: Picos = "0 ps" in "0 ps" => "10 s",
        /// Whether frames come in from the interface as over a line of this rate and delay; they wait as in a NIC.
        paced: bool = false,
    }
}

settings! {
    /// A fixed entry of a forwarding table.
    pub struct ForwardSettings {
        /// The switch whose table it is.
        switch: String = "switch",
        /// Ethernet address of the destination.
        mac: String = "02:00:00:00:00:01"; required,
        /// Names of the ports that lead there, with spaces between them.
        ports: String = "up0 up1"; required,
        /// With forwarding = "path": the port is number ((label >> shift) & mask) modulo the number of ports. Bits.
        shift: u8 = 0 in 0 => 15,
        /// See shift.
        mask: u16 = 65535 in 1 => 65535,
    }
}

settings! {
    /// Addresses that no entry names.
    pub struct LearningSettings {
        /// How long an address that was seen at a port stays known; without it nothing is learned.
        ageing: Option<Picos> = "" in "1 ms" => "1000000 s",
        /// What happens to frames to unknown addresses and to groups: to every other port (flood), or dropped (drop).
        unknown: Unknown = "drop",
    }
}

settings! {
    /// The DSCP values by which NDP is known. Range: 0 to 63.
    pub struct MarkSettings {
        /// Data that may be trimmed.
        data: u8 = 3 in 0 => 63,
        /// ACK, NACK, PULL and the like.
        control: u8 = 11 in 0 => 63,
        /// What a trim has left.
        trimmed: u8 = 7 in 0 => 63,
        /// The same on its way back to its sender.
        returned: u8 = 15 in 0 => 63,
    }
}

settings! {
    /// Something that goes wrong with the line of a port, with one or more of down, rate, loss, corrupt and duplicate.
    pub struct FaultSettings {
        /// The port.
        port: String = "host0"; required,
        /// Which way: out of the switch (out), into it (in), or both.
        direction: Direction = "both",
        /// Since when, counted from the start.
        from: Picos = "0 ps",
        /// When it is over; without it, never.
        until: Option<Picos> = "",
        /// Nothing passes.
        down: bool = false,
        /// Outwards at this rate if that is lower than the port's own.
        rate: Option<BitsPerSec> = "",
        /// Frames vanish with this probability.
        loss: Option<f64> = "" in 0.0 => 1.0,
        /// Frames have a bit turned, and go on, with this probability.
        corrupt: Option<f64> = "" in 0.0 => 1.0,
        /// Frames arrive twice with this probability.
        duplicate: Option<f64> = "" in 0.0 => 1.0,
    }
}

settings! {
    /// A capture of everything that enters and leaves by interfaces: pcapng, nanoseconds, one interface for each port.
    pub struct CaptureSettings {
        /// The file.
        file: String = "switch.pcapng"; required,
        /// Bytes kept of each frame.
        snap: Bytes = "262144 B" in "14 B" => "262144 B",
    }
}
