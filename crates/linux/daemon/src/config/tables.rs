//! Every setting of a host file, described once.

use pullnet_settings::{choice, settings};
use pullnet_switch::config::Wait;
use pullnet_units::{BitsPerSec, Bytes, Picos};

choice! {
    /// How frames get in and out.
    pub enum Backend {
        /// AF_PACKET sockets: any interface; needs CAP_NET_RAW at the start.
        Packet = "packet",
        /// AF_XDP sockets: needs CAP_NET_ADMIN and CAP_BPF at the start as well.
        Xdp = "xdp",
        /// The kernel's own UDP: needs no privilege and no interface.
        Udp = "udp",
        /// A device of DPDK: needs a program that was built with DPDK, and at the start what the device needs.
        Dpdk = "dpdk",
    }
}

choice! {
    /// Verbosity of the log.
    pub enum Level {
        /// Errors.
        Error = "error",
        /// And what looks wrong.
        Warn = "warn",
        /// And who comes and goes.
        Info = "info",
        /// And every stream.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

choice! {
    /// Form of the log.
    pub enum LogForm {
        /// Lines for people.
        Text = "text",
        /// A JSON object in each line.
        Json = "json",
    }
}

settings! {
    /// The host and its interface.
    pub struct HostSettings {
        /// The transport that carries the streams: ndp. Others have no secret in their packets and no opening by data.
        transport: String = "ndp",
        /// How frames get in and out.
        backend: Backend = "packet",
        /// The network interface; not with backend = "udp". With backend = "dpdk", the kernel's interface beneath the device,
        /// whose routes and neighbours hold; without it, those of the tables [[neighbour]].
        interface: Option<String> = "",
        /// With backend = "dpdk": a virtual device with its arguments (net_af_packet0,iface=eth0), or the PCI address of a
        /// network card (0000:03:00.0).
        device: Option<String> = "",
        /// The host's IP address: one of the interface, IPv4 or IPv6.
        address: String = "10.0.0.1"; required,
        /// UDP port at which the host listens; with the address it is who the host is.
        port: u16 = 61199 in 1 => 65535,
        /// Rate of the host's link, at which pulls are paced.
        rate: BitsPerSec = "10 Gbps" in "1 Mbps" => "800 Gbps"; required,
        /// Longest IP packet. If it is left out, the MTU of the interface, and 1500 B without one.
        mtu: Option<Bytes> = "" in "256 B" => "60000 B",
        /// Path labels that are used towards each destination.
        paths: u16 = 8 in 1 => 16384,
        /// Whether frames of one path that leave at the same time leave in one burst, if backend = "packet" and the interface
        /// splits bursts ("tx-udp-segmentation").
        bursts: bool = true,
        /// How the loop waits.
        wait: Wait = "adaptive",
        /// How long an adaptive loop spins before it sleeps.
        idle: Picos = "50 us" in "1 us" => "10 s",
        /// How long a daemon that is told to stop lets streams go on before it resets them. New ones are refused meanwhile.
        farewell: Picos = "1 s" in "0 s" => "1000 s",
        /// The core that the daemon runs on; without it, any.
        core: Option<u16> = "",
        /// Messages on the standard error output.
        log: Level = "info",
        /// Form of the messages.
        log_form: LogForm = "text",
        /// Where Prometheus finds counters, in the format OpenMetrics: a path, at which a Unix socket is made for those who may
        /// use the daemon, or a loopback address such as 127.0.0.1:9464. Without it, nowhere.
        metrics: Option<String> = "",
        /// The account that the daemon becomes once its sockets are open, if root started it.
        user: String = "nobody",
    }
}

settings! {
    /// The socket at which applications find the daemon.
    pub struct SocketSettings {
        /// Its path. Its folder is made if there is none.
        path: String = "/run/pullnet/host.sock",
        /// The group whose members may use the daemon; without it, the group of who started it.
        group: Option<String> = "",
        /// Names of users who may use the daemon without being in the group, with spaces between them.
        users: Option<String> = "",
    }
}

settings! {
    /// How much the host takes on; memory stays within it, regardless of others.
    pub struct LimitSettings {
        /// Streams at a time. More are refused.
        streams: u32 = 65536 in 1 => 1048576,
        /// Streams with one peer at a time. More are refused.
        streams_per_peer: u32 = 16384 in 1 => 1048576,
        /// Hosts that are given a token in a second. Those beyond have to ask again.
        tokens_per_second: u32 = 10000 in 1 => 100000000,
        /// Streams that are remembered when they have ended, for as long as a copy of their first packet is good. More are
        /// not taken in that time. Each takes about 100 B.
        remembered_streams: u32 = 1048576 in 16 => 100000000,
        /// Answers in a second to packets that belong to nothing.
        resets_per_second: u32 = 10000 in 1 => 100000000,
        /// Unacknowledged bytes of a stream.
        send_buffer: Bytes = "1 MB" in "4 kB" => "1 GB",
        /// Unacknowledged bytes of all streams together.
        send_memory: Bytes = "256 MB" in "1 MB" => "1 TB",
        /// Unread bytes of a stream before its sender is held.
        receive_buffer: Bytes = "1 MB" in "4 kB" => "1 GB",
        /// Unread bytes of all streams.
        memory: Bytes = "256 MB" in "1 MB" => "1 TB",
        /// Streams that wait to be accepted, for each service. More are refused.
        backlog: u32 = 1024 in 1 => 65536,
        /// Applications at a time. More are refused.
        applications: u32 = 256 in 1 => 4096,
        /// Applications of one user at a time. More are refused.
        applications_per_user: u32 = 64 in 1 => 4096,
        /// Streams and listeners of one application at a time. More are refused.
        streams_per_application: u32 = 1024 in 1 => 65536,
        /// Streams and listeners of all applications of one user at a time. More are refused.
        streams_per_user: u32 = 16384 in 1 => 1048576,
        /// Shared memory of one application. Streams that would need more are refused.
        memory_per_application: Bytes = "512 MB" in "64 kB" => "1 TB",
        /// Shared memory of all applications of one user.
        memory_per_user: Bytes = "2 GB" in "64 kB" => "1 TB",
        /// Streams that wait to be accepted by one application, at all services. More are refused.
        pending_per_application: u32 = 4096 in 1 => 1048576,
        /// Requests of one application in a second; its user may make twice as many. Those beyond have to wait, and so have
        /// more than 20 requests for the status of one user in a second.
        messages_per_second: u32 = 200000 in 100 => 100000000,
        /// Size of each of the two rings that a stream shares with its application; a power of two.
        ring: Bytes = "262144 B" in "4096 B" => "67108864 B",
    }
}

settings! {
    /// Keys that this host shares with others.
    pub struct KeysSettings {
        /// The file with the keys, which none but root and the daemon may read. A name without folder is beside this file.
        file: String = "/etc/pullnet/keys.toml"; required,
        /// Numbers of services that may be had without encryption, with spaces between them. All others are encrypted.
        plain: Option<String> = "",
    }
}

settings! {
    /// A key that this host shares with another one.
    pub struct KeySettings {
        /// The other host: its IP address, with `:port` behind it if that is not 61199.
        peer: String = "10.0.0.2"; required,
        /// Number of the key, the same at both hosts; a newer key has a higher one.
        number: u16 = 1 in 1 => 65535; required,
        /// 64 hexadecimal digits, the same at both hosts.
        secret: String = "(what openssl rand -hex 32 prints)"; required,
    }
}

settings! {
    /// Owner of an address: a host, or the next hop on the way to it.
    pub struct NeighbourSettings {
        /// IP address.
        address: String = "10.0.0.2"; required,
        /// Ethernet address.
        mac: String = "02:00:00:00:00:02"; required,
    }
}
