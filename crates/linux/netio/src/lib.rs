//! Packet input and output of a host or a switch, behind one trait.
//!
//! | backend | needs | for |
//! |---|---|---|
//! | [`Rings`] | nothing | tests in virtual time, several stacks in one process |
//! | [`PacketSocket`] | `CAP_NET_RAW` | the default: AF_PACKET with TPACKET_V2 rings, bypassing the qdisc |
//! | [`XdpSocket`] | `CAP_NET_RAW`, `CAP_BPF`, `CAP_NET_ADMIN` | AF_XDP; zero-copy where the driver has it |
//! | [`UdpSockets`] | nothing | no privilege: the kernel's own UDP |
//! | `DpdkPort` | the feature `dpdk`, libdpdk 22.11 | DPDK: its network cards, and memif between processes |
//!
//! Every backend exchanges whole Ethernet frames; [`UdpSockets`] adds and removes the headers that the kernel hides from it.
//!
//! Unsafe code is confined to `sys.rs` and `sys/` (system calls), `memory.rs` (memory shared with the kernel), and `dpdk/shim.rs`
//! (calls of C).
#![deny(unsafe_code)]

mod bpf;
mod counters;
mod dpdk;
mod error;
mod ingress;
mod interface;
#[expect(unsafe_code, reason = "memory that is shared with the kernel")]
mod memory;
mod namespace;
mod netlink;
mod packet;
mod packet_io;
mod rings;
#[expect(unsafe_code, reason = "system calls")]
mod sys;
mod udp;
mod waker;
mod xdp;

pub use counters::Counters;
pub use dpdk::{Dpdk, DpdkDevice, DpdkOptions, DpdkPort, EalOptions};
pub use error::Error;
pub use ingress::PortGuard;
pub use interface::Interface;
pub use namespace::in_namespace;
pub use netlink::{Neighbour, Netlink};
pub use packet::{PacketOptions, PacketSocket, Protocol};
pub use packet_io::PacketIo;
pub use rings::{RingOptions, Rings};
pub use sys::Signals;
pub use udp::{UdpOptions, UdpSockets};
pub use waker::Waker;
pub use xdp::{Attach, Copying, Filter, XdpOptions, XdpSocket};
