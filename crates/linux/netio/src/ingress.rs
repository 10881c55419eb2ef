//! The UDP port of a stack that reads frames past the kernel.

use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::bpf::{self, Code, Context, Hook, Op, check_udp_to};
use crate::error::Error;
use crate::interface::Interface;
use crate::sys;
use crate::udp;

const TCX_INGRESS: Hook = Hook { program: 3, attach: 46 };
const CONTEXT: Context = Context { start: 76, end: 80 };
/// The next program decides; without one the frame goes on.
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;

/// Drops frames for one UDP port of one address after packet sockets have received them and before the IP stack does: about a
/// sixth of the processor time of a bulk transfer over AF_PACKET.
#[derive(Debug)]
pub(crate) struct IngressDrop {
    _program: OwnedFd,
    /// Detaches the program when closed.
    _link: OwnedFd,
}

impl IngressDrop {
    /// Installs the filter on an interface, until it is dropped.
    ///
    /// # Errors
    /// If the process has no `CAP_BPF` and `CAP_NET_ADMIN`, or the kernel is older than 6.6.
    pub fn install(interface: &Interface, address: IpAddr, port: u16) -> Result<Self, Error> {
        let mut code = Code::default();
        check_udp_to(&mut code, CONTEXT, address, port);
        code.push(Op(0xb7, 0, 0, TCX_DROP)); // r0 = drop
        code.push(Op(0x95, 0, 0, 0)); // exit
        let program = bpf::load(TCX_INGRESS, &code.finish(TCX_NEXT), 0)?;
        let what = "cannot attach a program to the ingress of the interface";
        let link = bpf::attach(TCX_INGRESS, (program.as_raw_fd() as u32, interface.index), 0, what)?;
        Ok(Self { _program: program, _link: link })
    }
}

/// Reserves a UDP port for a stack that reads frames past the kernel, which would otherwise answer each with an ICMP error.
#[derive(Debug)]
pub struct PortGuard {
    _port: OwnedFd,
    early: Option<IngressDrop>,
}

impl PortGuard {
    /// Reserves `port` on `address` and discards everything that arrives there.
    ///
    /// # Errors
    /// If another program has the port.
    pub fn take(address: IpAddr, port: u16) -> Result<Self, Error> {
        let fd = udp::open((address, port).into(), false)?;
        sys::discard_everything(&fd)?;
        Ok(Self { _port: fd, early: None })
    }

    /// As [`Self::take`]; frames that arrive on `interface` are discarded before the kernel's IP stack handles them, if the
    /// kernel is 6.6 or newer and the process has `CAP_BPF` and `CAP_NET_ADMIN`. Otherwise only the reservation is made.
    ///
    /// # Errors
    /// If another program has the port.
    pub fn take_on(interface: &Interface, address: IpAddr, port: u16) -> Result<Self, Error> {
        let early = IngressDrop::install(interface, address, port).ok();
        Ok(Self { early, ..Self::take(address, port)? })
    }

    /// Whether frames are discarded before the kernel's IP stack handles them.
    #[must_use]
    pub fn is_early(&self) -> bool {
        self.early.is_some()
    }
}
