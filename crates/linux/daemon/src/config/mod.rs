//! Host file: TOML to checked settings, or every error in it.

mod change;
mod keys;
mod tables;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use pullnet_config::{Disk, Located, Reader, Shape, SpecError, SubTable, read};
use pullnet_host::Limits;
use pullnet_ndp::{Ndp, NdpConfig};
use pullnet_netio::{DpdkDevice, EalOptions};
use pullnet_protocols::PROTOCOLS;
use pullnet_settings::Settings;
use pullnet_switch::config::{
    CaptureSettings, DpdkSettings, MarkSettings, Wait, device, environment, refuse_environment,
    refuse_unless_built_in, table,
};
use pullnet_transport::Protocol;
use pullnet_units::{BitsPerSec, Picos};
use pullnet_wire::{Mac, Marks};

use crate::error::Error;
use crate::process;

pub(crate) use change::fixed;
pub(crate) use keys::KeyFile;
pub use keys::KeyTable;
pub use tables::{
    Backend, HostSettings, KeySettings, KeysSettings, Level, LimitSettings, LogForm, NeighbourSettings,
    SocketSettings,
};

/// Path by which frames enter and leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Link {
    /// AF_PACKET on an interface.
    Packet(String),
    /// AF_XDP on an interface.
    Xdp(String),
    /// The kernel's own UDP.
    Udp,
    /// A device of DPDK.
    Dpdk {
        /// The device.
        device: DpdkDevice,
        /// The kernel's interface beneath it.
        interface: Option<String>,
        /// Environment of DPDK.
        environment: EalOptions,
    },
}

/// Where counters are found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MetricsPlace {
    /// A Unix socket.
    Socket(PathBuf),
    /// A loopback address.
    Loopback(SocketAddr),
}

impl MetricsPlace {
    /// The place that `text` names.
    ///
    /// # Errors
    /// The fault, and what would work.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        if text.starts_with('/') {
            return Ok(Self::Socket(text.into()));
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::Loopback(address)),
            Ok(_) => Err(
                "is no loopback address, and who asks is not checked; use 127.0.0.1 or [::1], or the path of a socket",
            ),
            Err(_) => Err(
                "is neither a path nor an address; write for instance \"/run/pullnet/metrics.sock\" or \"127.0.0.1:9464\"",
            ),
        }
    }
}

/// Users that may use the daemon, and the limits of one application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Path of the socket.
    pub path: PathBuf,
    /// The group whose members may connect; `None`: that of the daemon.
    pub group: Option<String>,
    /// Further users who may connect.
    pub users: Vec<String>,
    /// Applications at a time.
    pub applications: usize,
    /// Applications of one user at a time.
    pub applications_per_user: usize,
    /// The limits of one application.
    pub limits: ApplicationLimits,
}

/// Limits of one application, and of the user whose applications it is among.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ApplicationLimits {
    /// Streams and listeners of each application.
    pub channels: usize,
    /// Streams and listeners of each user.
    pub channels_per_user: usize,
    /// Bytes of each ring.
    pub ring: usize,
    /// Shared memory of each application. Bytes.
    pub memory: usize,
    /// Shared memory of each user. Bytes.
    pub memory_per_user: usize,
    /// Streams that wait to be accepted by each application.
    pub pending: usize,
    /// Streams that wait to be accepted at each service.
    pub backlog: usize,
    /// Requests of each application in a second.
    pub messages: u32,
}

impl Default for Access {
    /// Default path and limits.
    fn default() -> Self {
        access(SocketSettings::default(), &LimitSettings::default())
    }
}

/// Settings of NDP that follow from the MTU and the rate of the host, because the file leaves them out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usual {
    /// The first window.
    pub window: bool,
    /// The longest burst.
    pub burst: bool,
}

/// A host file, checked.
///
/// Long: the settings of a daemon, each with its own meaning.
#[derive(Clone, PartialEq, Debug)]
pub struct HostFile {
    /// Path or name of the file itself.
    pub path: PathBuf,
    /// Path by which frames enter and leave.
    pub link: Link,
    /// The host's address.
    pub address: IpAddr,
    /// Home port.
    pub port: u16,
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Longest IP packet; `None`: that of the interface.
    pub mtu: Option<usize>,
    /// Path labels.
    pub paths: u16,
    /// Whether frames may leave in bursts.
    pub bursts: bool,
    /// How the loop waits.
    pub wait: Wait,
    /// Time that an adaptive loop spins before it sleeps.
    pub idle: Picos,
    /// Time that a stopping daemon waits for streams to finish.
    pub farewell: Picos,
    /// The core to run on.
    pub core: Option<u16>,
    /// Log level.
    pub log: Level,
    /// Form of the log.
    pub log_form: LogForm,
    /// Where counters are found.
    pub metrics: Option<MetricsPlace>,
    /// The account to become.
    pub user: String,
    /// Settings of NDP.
    pub ndp: NdpConfig,
    /// Settings of NDP that follow from the MTU and the rate.
    pub usual: Usual,
    /// DSCP values.
    pub marks: Marks,
    /// How much the host takes on.
    pub limits: Limits,
    /// Known Ethernet addresses.
    pub neighbours: Vec<(IpAddr, Mac)>,
    /// The socket.
    pub access: Access,
    /// Where frames are recorded.
    pub capture: Option<CaptureSettings>,
    /// Where the keys are, if streams are encrypted.
    pub keys: Option<KeyTable>,
}

impl HostFile {
    /// Reads the file `text`, called `name`. Errors come all at once, in order of their place.
    pub fn read(name: &str, text: &str) -> Result<Self, Vec<SpecError>> {
        read(name, text, &Disk, &shape(), |root| file(root, name))
    }

    /// Looks at what the file names on this machine, as the daemon does at its start: accounts, the core, and the keys.
    ///
    /// # Errors
    /// If there is no such account or core, others may read the file of keys, or something in it is wrong.
    pub fn check_machine(&self) -> Result<(), Error> {
        self.check_names()?;
        let Some(keys) = &self.keys else { return Ok(()) };
        let user = crate::privileges::account(&self.user)?.uid;
        KeyFile::open(keys, self.address, user)?.read().map(drop)
    }

    /// The same without the keys.
    ///
    /// # Errors
    /// If there is no such account or core.
    pub(crate) fn check_names(&self) -> Result<(), Error> {
        crate::privileges::account(&self.user)?;
        self.access.group.iter().try_for_each(|name| process::group(name).map(drop))?;
        self.access.users.iter().try_for_each(|name| process::user(name).map(drop))?;
        self.core.map_or(Ok(()), process::check_core)
    }
}

/// Tables and settings that a host file may hold.
#[must_use]
pub fn shape() -> Shape {
    let one = |name, doc, fields| SubTable::optional(name, doc, Shape::of(&[fields]));
    let neighbours = Shape::of(&[NeighbourSettings::FIELDS]);
    Shape::of(&[HostSettings::FIELDS])
        .with(one("socket", "Where applications find the daemon.", SocketSettings::FIELDS))
        .with(one("dpdk", "The environment of DPDK, with backend = \"dpdk\".", DpdkSettings::FIELDS))
        .with(one("limits", "How much the host takes on.", LimitSettings::FIELDS))
        .with(one("ndp", "Settings of NDP, as in a scenario, without `mtu` and `header`, which follow from the MTU of the host. If `initial_window` is left out, it is 270 kB in full packets up to 10 Gb/s, as much more as the link is faster beyond, and 30 to 512 packets; if `burst` is left out, it is 64 kB in packets over AF_PACKET, and one packet elsewhere or with `bursts = false`.", NdpConfig::FIELDS))
        .with(one("marks", "The DSCP values of NDP.", MarkSettings::FIELDS))
        .with(one("capture", "Where frames are recorded.", CaptureSettings::FIELDS))
        .with(one("keys", "Keys that this host shares with others. With them, streams are encrypted.", KeysSettings::FIELDS))
        .with(SubTable::list("neighbour", "Ethernet addresses that are known beforehand.", neighbours))
}

fn file(root: &Reader<'_>, name: &str) -> Option<HostFile> {
    let host = root.read::<HostSettings>();
    transport(root, &host);
    let link = link(root, &host);
    let address =
        ip(root, &host, "address", &host.value.address).filter(|address| own(root, *address, link.as_ref()));
    let socket = table::<SocketSettings>(root, "socket");
    let limits = limits(root);
    let ndp = ndp(root);
    let left_out = |setting| !root.table("ndp", "...").is_some_and(|reader| reader.has(setting));
    let usual = Usual { window: left_out("initial_window"), burst: left_out("burst") };
    let marks = MarkSettings::marks(root);
    let neighbours = neighbours(root);
    let capture = if root.has("capture") { Some(table::<CaptureSettings>(root, "capture")?) } else { None };
    let keys = keys::table(root, name);
    let metrics = metrics(root, &host);
    let (limits, socket) = (limits?, socket?);
    let apart = sockets(root, &socket, metrics.as_ref().and_then(Option::as_ref));
    let host = host.good().then_some(host.value)?;
    Some(HostFile {
        path: apart.then(|| name.into())?,
        link: link?,
        address: address?,
        port: host.port,
        rate: host.rate,
        mtu: host.mtu.map(|mtu| mtu.0 as usize),
        paths: host.paths,
        bursts: host.bursts,
        wait: host.wait,
        idle: host.idle,
        farewell: host.farewell,
        core: host.core,
        log: host.log,
        log_form: host.log_form,
        metrics: metrics?,
        user: host.user,
        ndp: ndp?,
        usual,
        marks: marks?,
        limits: engine_limits(&limits),
        neighbours: neighbours?,
        access: access(socket, &limits),
        capture,
        keys: keys?,
    })
}

/// Only a transport that can carry streams of services is taken.
fn transport(root: &Reader<'_>, host: &Located<HostSettings>) {
    let name = host.value.transport.as_str();
    if name == Ndp::NAME || !host.has_read(&["transport"]) {
        return;
    }
    let reason = if PROTOCOLS.iter().any(|row| row.name == name) {
        "carries no streams of services: its packets have no secret by which a host knows its peers, and its data opens no \
         connection; use \"ndp\", or play it in a testbed (pullnet testbed)"
    } else {
        "is no transport; use \"ndp\""
    };
    root.refuse("transport", reason);
}

/// `None`: it is wrong.
fn metrics(root: &Reader<'_>, host: &Located<HostSettings>) -> Option<Option<MetricsPlace>> {
    let read = host.value.metrics.as_deref().map(MetricsPlace::read).transpose();
    read.map_err(|words| root.refuse("metrics", words)).ok()
}

/// Longest path of a Unix socket, for one that is made with a longer name first. Bytes.
const LONGEST_PATH: usize = 107 - ".new".len();
/// Longest name of an interface. Bytes.
const LONGEST_NAME: usize = libc::IFNAMSIZ - 1;

/// Whether both sockets can be made, side by side.
fn sockets(root: &Reader<'_>, socket: &SocketSettings, metrics: Option<&MetricsPlace>) -> bool {
    let metrics = match metrics {
        Some(MetricsPlace::Socket(path)) => Some(path.as_path()),
        _ => None,
    };
    let control = Path::new(&socket.path);
    let table = root.table("socket", "...");
    let too_long = |path: &Path| path.as_os_str().len() > LONGEST_PATH;
    let long = format!("is too long for a socket; use at most {LONGEST_PATH} B");
    let mut good = true;
    let mut refuse = |reader: &Reader<'_>, key: &str, reason: &str| {
        reader.refuse(key, reason);
        good = false;
    };
    if let Some(reader) = table.as_ref().filter(|_| too_long(control)) {
        refuse(reader, "path", &long);
    }
    let Some(metrics) = metrics else { return good };
    if too_long(metrics) {
        refuse(root, "metrics", &long);
    }
    if [metrics, &metrics.with_added_extension("lock")].contains(&control)
        || control.with_added_extension("lock") == metrics
    {
        refuse(
            root,
            "metrics",
            "is the place of the socket of applications, or of its lock ([socket] path); use another path",
        );
    }
    good
}

/// Whether a host can have this address.
fn own(root: &Reader<'_>, address: IpAddr, link: Option<&Link>) -> bool {
    let local = address.is_loopback() && !matches!(link, None | Some(Link::Udp));
    let reason = match address {
        _ if address.is_unspecified() => "is no address of one host; use one of the interface",
        _ if address.is_multicast() => "is the address of a group; use one of the interface",
        IpAddr::V4(Ipv4Addr::BROADCAST) => "is the address of every host; use one of the interface",
        _ if local => {
            "is a loopback address, which no other host reaches over an interface; use one of the interface, or backend = \"udp\""
        }
        _ => return true,
    };
    root.refuse("address", reason);
    false
}

fn ip<S>(reader: &Reader<'_>, read: &Located<S>, key: &str, text: &str) -> Option<IpAddr> {
    let parsed = text.parse::<IpAddr>().ok();
    if parsed.is_none() && read.has_read(&[key]) {
        reader.refuse(key, "is not an IP address; write for instance \"10.0.0.1\" or \"fd00::1\"");
    }
    parsed.filter(|_| read.has_read(&[key]))
}

fn link(root: &Reader<'_>, host: &Located<HostSettings>) -> Option<Link> {
    if !host.has_read(&["backend", "interface", "device"]) {
        return None;
    }
    if host.value.backend == Backend::Dpdk {
        return dpdk(root, host);
    }
    refuse_environment(root, "backend = \"dpdk\"");
    root.no_effect("device", "it is for backend = \"dpdk\"; leave it out");
    match (host.value.backend, host.value.interface.clone()) {
        (Backend::Packet | Backend::Xdp, Some(name))
            if name.len() > LONGEST_NAME || name.contains(['/', ' ']) =>
        {
            root.refuse("interface", format!("is no name of an interface: they have at most {LONGEST_NAME} B, no slash and no space; `ip link` lists them"));
            None
        }
        (Backend::Packet, Some(interface)) => Some(Link::Packet(interface)),
        (Backend::Xdp, Some(interface)) => Some(Link::Xdp(interface)),
        (Backend::Udp, None) => Some(Link::Udp),
        (Backend::Packet | Backend::Xdp, None) => {
            root.missing(
                "interface",
                "write for instance interface = \"eth0\", or backend = \"udp\"".to_owned(),
            );
            None
        }
        (Backend::Udp, Some(_)) => {
            root.refuse("interface", "has no effect with backend = \"udp\"; leave it out");
            None
        }
        (Backend::Dpdk, _) => None,
    }
}

/// How to build the programs that read this file, with DPDK.
const BUILD_WITH_DPDK: &str = "cargo build --release -p pullnet-daemon --features dpdk (for `pullnet host serve`: \
                               .venv/bin/maturin develop --release --features dpdk)";

/// A link by DPDK. Unless the file says otherwise, its environment is on the core of the daemon.
fn dpdk(root: &Reader<'_>, host: &Located<HostSettings>) -> Option<Link> {
    refuse_unless_built_in(root, "backend", BUILD_WITH_DPDK);
    let device = match &host.value.device {
        Some(text) => device(root, "device", text),
        None => {
            root.missing("device", "write for instance device = \"net_af_packet0,iface=eth0\"".to_owned());
            None
        }
    };
    let environment = environment(root, device.iter())?;
    let environment = EalOptions { core: environment.core.or(host.value.core), ..environment };
    Some(Link::Dpdk { device: device?, interface: host.value.interface.clone(), environment })
}

fn limits(root: &Reader<'_>) -> Option<LimitSettings> {
    let limits = table::<LimitSettings>(root, "limits")?;
    if !limits.ring.0.is_power_of_two() {
        let next = limits.ring.0.next_power_of_two();
        let reader = root.table("limits", "...")?;
        reader.refuse("ring", format!("is no power of two; use \"{} B\" or \"{next} B\"", next / 2));
        return None;
    }
    if u64::from(limits.backlog) > limits.ring.0 {
        let reader = root.table("limits", "...")?;
        reader.refuse("backlog", format!("is more than the {} B of a ring; use at most that", limits.ring.0));
        return None;
    }
    Some(limits)
}

/// NDP's settings; the sizes of packets follow from the MTU of the host.
fn ndp(root: &Reader<'_>) -> Option<NdpConfig> {
    let ndp = table::<NdpConfig>(root, "ndp")?;
    let reader = root.table("ndp", "...");
    let written = reader.iter().flat_map(|reader| ["mtu", "header"].map(|key| (reader, key)));
    let mut good = true;
    for (reader, key) in written.filter(|(reader, key)| reader.has(key)) {
        reader.refuse(key, "has no effect here, for it follows from the mtu of the host; leave it out");
        good = false;
    }
    good.then_some(ndp)
}

/// `None`: one of them is wrong.
fn neighbours(root: &Reader<'_>) -> Option<Vec<(IpAddr, Mac)>> {
    let mut known = Vec::<(IpAddr, Mac)>::new();
    let mut good = true;
    for reader in root.list("neighbour") {
        let Some((address, mac)) = neighbour(&reader) else {
            good = false;
            continue;
        };
        let wrong = if known.iter().any(|(other, _)| *other == address) {
            Some(("address", "is there twice; name each neighbour once"))
        } else if address.is_unspecified() || address.is_multicast() {
            Some(("address", "is no address of one host; use that of the neighbour"))
        } else if mac.0[0] & 1 != 0 || mac == Mac::default() {
            Some(("mac", "is no address of one host; use that of the neighbour's interface"))
        } else {
            None
        };
        if let Some((key, reason)) = wrong {
            reader.refuse(key, reason);
            good = false;
        }
        known.push((address, mac));
    }
    good.then_some(known)
}

fn neighbour(reader: &Reader<'_>) -> Option<(IpAddr, Mac)> {
    reader.no_other_keys_than(&Shape::of(&[NeighbourSettings::FIELDS]));
    let read = reader.read::<NeighbourSettings>();
    let address = ip(reader, &read, "address", &read.value.address);
    let mac = read.value.mac.parse::<pullnet_switch::Mac>();
    let mac = mac.map_err(|wrong| reader.refuse("mac", wrong.to_string())).ok();
    Some((address?, Mac(mac?.bytes()))).filter(|_| read.good())
}

fn engine_limits(limits: &LimitSettings) -> Limits {
    Limits {
        connections: limits.streams as usize,
        connections_per_peer: limits.streams_per_peer as usize,
        tokens_per_second: limits.tokens_per_second,
        remembered: limits.remembered_streams as usize,
        send_memory: limits.send_memory.0 as usize,
        resets_per_second: limits.resets_per_second,
        send_buffer: limits.send_buffer.0 as usize,
        receive_buffer: limits.receive_buffer.0 as usize,
        memory: limits.memory.0 as usize,
        backlog: limits.backlog as usize,
    }
}

fn access(socket: SocketSettings, limits: &LimitSettings) -> Access {
    let users = socket.users.unwrap_or_default();
    Access {
        path: socket.path.into(),
        group: socket.group,
        users: users.split_whitespace().map(str::to_owned).collect(),
        applications: limits.applications as usize,
        applications_per_user: limits.applications_per_user as usize,
        limits: application_limits(limits),
    }
}

fn application_limits(limits: &LimitSettings) -> ApplicationLimits {
    ApplicationLimits {
        channels: limits.streams_per_application as usize,
        channels_per_user: limits.streams_per_user as usize,
        ring: limits.ring.0 as usize,
        memory: limits.memory_per_application.0 as usize,
        memory_per_user: limits.memory_per_user.0 as usize,
        pending: limits.pending_per_application as usize,
        backlog: limits.backlog as usize,
        messages: limits.messages_per_second,
    }
}
