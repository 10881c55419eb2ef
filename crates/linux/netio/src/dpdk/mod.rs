//! DPDK 22.11 through a thin C shim: network cards driven from user space, and virtual devices. One of those, memif,
//! connects two processes through shared memory, without the kernel.

#[cfg(not(feature = "dpdk"))]
mod absent;
#[cfg(feature = "dpdk")]
mod beneath;
mod device;
#[cfg(feature = "dpdk")]
mod environment;
#[cfg(feature = "dpdk")]
mod port;
#[cfg(feature = "dpdk")]
#[expect(unsafe_code, reason = "calls of C")]
mod shim;

#[cfg(not(feature = "dpdk"))]
pub use absent::{Dpdk, DpdkPort};
pub use device::DpdkDevice;
#[cfg(feature = "dpdk")]
pub use environment::Dpdk;
#[cfg(feature = "dpdk")]
pub use port::DpdkPort;

/// Options of DPDK's environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EalOptions {
    /// Memory for frames. Bytes.
    pub memory: u64,
    /// Whether the memory is in huge pages, which network cards need.
    pub huge_pages: bool,
    /// The core of DPDK's main thread, beside which it takes its memory; `None`: the first that the process may use.
    pub core: Option<u16>,
    /// PCI addresses of the network cards to be opened, with their arguments. DPDK leaves all others alone.
    pub cards: Vec<DpdkDevice>,
}

impl Default for EalOptions {
    fn default() -> Self {
        Self { memory: 256 << 20, huge_pages: false, core: None, cards: Vec::new() }
    }
}

/// Options of a [`DpdkPort`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DpdkOptions {
    /// Longest IP packet, bytes; `None`: the MTU of the kernel interface that the device's argument `iface` names, and 1500
    /// without one.
    pub mtu: Option<usize>,
    /// Maximum number of frames queued in each direction; the driver may round it.
    pub frames: u16,
    /// Whether a network card takes frames for every Ethernet address. Virtual devices take what their other end sends.
    pub promiscuous: bool,
}

impl Default for DpdkOptions {
    fn default() -> Self {
        Self { mtu: None, frames: 1024, promiscuous: false }
    }
}
