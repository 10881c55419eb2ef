//! All settings of a switch file.

use pullnet_settings::{choice, settings};
use pullnet_topology::Trouble;
use pullnet_units::{BitsPerSec, Bytes, Picos};

use crate::fault::Direction;
use crate::forward::Unknown;
use crate::size::Counting;

choice! {
    /// Socket type for frame input and output.
    pub enum Io {
        /// AF_PACKET sockets: any interface, needs CAP_NET_RAW.
        Packet = "packet",
        /// AF_XDP sockets: needs CAP_NET_ADMIN and CAP_BPF as well.
        Xdp = "xdp",
        /// Devices of DPDK: needs a program that was built with DPDK, and what the devices need.
        Dpdk = "dpdk",
    }
}

choice! {
    /// Strategy of the loop while it waits for frames and for the time to send.
    pub enum Wait {
        /// Never sleeps and occupies a whole core; exact to a microsecond if nothing else runs on that core.
        Spin = "spin",
        /// Sleeps until the next frame once it has been idle for a while.
        Adaptive = "adaptive",
    }
}

settings! {
    /// Settings shared by the switches of a file.
    pub struct RunSettings {
        /// Name in status and counters.
        name: String = "switch",
        /// Seed of every random stream: trim coins, path choices, losses.
        seed: u64 = 1,
        /// Which bytes a frame occupies on the line: those of the frame (frame), with padding and check sequence (padded),
        /// or with preamble and gap as well (line).
        counting: Counting = "frame",
        /// Most frames held at a time over all ports. Bounds memory.
        most_frames: u32 = 65536 in 64 => 4194304,
        /// Socket type for frame input and output.
        io: Io = "packet",
        /// Strategy of the loop while it waits.
        wait: Wait = "adaptive",
        /// Time that an adaptive loop spins before it sleeps.
        idle: Picos = "2 ms" in "1 us" => "10 s",
    }
}

settings! {
    /// The environment of DPDK, which starts once in a process.
    pub struct DpdkSettings {
        /// Memory for frames: about 4 MB for each port at 1500 B, 20 MB at 9000 B, and four times that for a host.
        memory: Bytes = "256 MB" in "16 MB" => "64 GB",
        /// Whether the memory is in huge pages. Network cards need them, virtual devices do not.
        huge_pages: bool = false,
        /// The core of DPDK's main thread, beside which it takes its memory. Without it, the first that the process may use.
        core: Option<u16> = "" in 0 => 1023,
    }
}

settings! {
    /// A port: on a network interface, or joined to another port of the file.
    pub struct PortFileSettings {
        /// Name of the port, unique in the file.
        name: String = "host0"; required,
        /// Name of its switch.
        switch: String = "switch",
        /// Network interface of the port; not with io = "dpdk".
        interface: Option<String> = "",
        /// With io = "dpdk": device of the port, a virtual one with its arguments (net_af_packet0,iface=eth0) or the PCI address
        /// of a network card (0000:03:00.0).
        device: Option<String> = "",
        /// Longest IP packet of a device. Without it, the MTU of the interface that its argument iface names, and 1500 B
        /// without one.
        mtu: Option<Bytes> = "" in "256 B" => "60000 B",
        /// Name of the port at the other end of a line inside the file; that port names this one in turn.
        peer: Option<String> = "",
        /// Rate of the line in each direction.
        rate: BitsPerSec = "1 Gbps"; required,
        /// Delay from the last bit sent to the last bit received, in the outgoing direction.
        delay: Picos = "0 ps" in "0 ps" => "10 s",
        /// Whether frames from the interface arrive as over a line of this rate and delay; early ones wait as in a NIC.
        paced: bool = false,
    }
}

settings! {
    /// A fixed entry of a forwarding table.
    pub struct ForwardSettings {
        /// The switch of the table.
        switch: String = "switch",
        /// Ethernet address of the destination.
        mac: String = "02:00:00:00:00:01"; required,
        /// Names of the equal-cost ports to the destination, separated by spaces.
        ports: String = "up0 up1"; required,
        /// With forwarding = "path": the port is number ((label >> shift) & mask) modulo the number of ports. Bits.
        shift: u8 = 0 in 0 => 15,
        /// Mask of the port selection; see shift.
        mask: u16 = 65535 in 1 => 65535,
    }
}

settings! {
    /// A multicast group, whose frames are copied.
    pub struct GroupSettings {
        /// The switch of the table.
        switch: String = "switch",
        /// IPv4 address of the group, from 224.0.0.0 to 239.255.255.255; its Ethernet address follows from it (RFC 1112).
        address: String = "239.1.0.1"; required,
        /// Names of the ports to its members, separated by spaces. A copy leaves by each but the one that the frame came by.
        ports: String = "a b c"; required,
    }
}

settings! {
    /// Address learning, and frames to addresses without an entry.
    pub struct LearningSettings {
        /// Time that a learned address is kept without being seen; without it nothing is learned.
        ageing: Option<Picos> = "" in "1 ms" => "1000000 s",
        /// Treatment of frames to unknown addresses and to groups: sent to every other port (flood) or dropped (drop).
        unknown: Unknown = "drop",
    }
}

settings! {
    /// DSCP values that identify NDP. Range: 0 to 63.
    pub struct MarkSettings {
        /// Data packets, which may be trimmed.
        data: u8 = 3 in 0 => 63,
        /// ACK, NACK, PULL and other control packets.
        control: u8 = 11 in 0 => 63,
        /// Headers of trimmed data packets.
        trimmed: u8 = 7 in 0 => 63,
        /// Headers on their way back to their sender.
        returned: u8 = 15 in 0 => 63,
    }
}

settings! {
    /// A fault on the line of a port, with one or more of down, rate, loss, corrupt and duplicate.
    pub struct FaultSettings {
        /// The port.
        port: String = "host0"; required,
        /// Direction: out of the switch (out), into it (in), or both.
        direction: Direction = "both",
        /// Probability that a frame is delivered twice.
        duplicate: Option<f64> = "" in 0.0 => 1.0,
    } with
    /// When, and what else.
    trouble: Trouble
}

settings! {
    /// A capture of all frames that enter and leave through interfaces: pcapng, nanoseconds, one interface for each port.
    pub struct CaptureSettings {
        /// Path of the file.
        file: String = "switch.pcapng"; required,
        /// Bytes kept of each frame.
        snap: Bytes = "262144 B" in "14 B" => "262144 B",
    }
}
