use pullnet_netio::Error;
use pullnet_wire::EmitError;
use thiserror::Error;

/// Why a scenario cannot be played, or could not be played to its end.
#[derive(Debug, Error)]
pub enum PlayError {
    /// The transport does not exist on Linux.
    #[error(
        "transport.kind: \"{0}\" has no form on the wire and runs in the simulator only; use one of {list}",
        list = pullnet_protocols::FRAMED.join(", ")
    )]
    Transport(&'static str),
    /// Only the simulator runs several transports.
    #[error(
        "transport: {0} transports in one run are for the simulator only; use one, of kind {list}",
        list = pullnet_protocols::FRAMED.join(", ")
    )]
    Transports(usize),
    /// Frames do not say which class of the switches' queues they are for.
    #[error(
        "transport.class: {0} is for the simulator only: frames of a testbed are all of class 0; leave it out"
    )]
    Class(u8),
    /// The network is too large.
    #[error(transparent)]
    Plan(#[from] crate::plan::NoPlan),
    /// Not one socket for each host.
    #[error("{sockets} sockets for {hosts} hosts")]
    Sockets {
        /// Sockets that were given.
        sockets: usize,
        /// Hosts of the scenario.
        hosts: usize,
    },
    /// Full packets are too long for an interface.
    #[error(
        "transport.mtu: {mtu} B of payload make a frame of {needed} B, but the interface of host {host} takes {room} B; \
         make the testbed with a larger --mtu"
    )]
    Mtu {
        /// Payload of a full packet.
        mtu: u64,
        /// Bytes of its frame.
        needed: usize,
        /// The host.
        host: u32,
        /// Bytes of the longest frame.
        room: usize,
    },
    /// The interface of a host does not work.
    #[error("host {host}: {error}")]
    Io {
        /// The host.
        host: u32,
        /// Why.
        error: Error,
    },
    /// A packet cannot be written as a frame: a fault of ours.
    #[error("host {host}: {error}")]
    Emit {
        /// The host.
        host: u32,
        /// Why.
        error: EmitError,
    },
    /// A payload arrived that was not sent: a fault of ours.
    #[error("flow {flow}: host {host} got other bytes than were sent")]
    Content {
        /// The flow.
        flow: u32,
        /// The receiver.
        host: u32,
    },
    /// A flow ended with more or fewer bytes than it has: a fault of ours.
    #[error("flow {flow}: host {host} got {got} B of {size} B")]
    Length {
        /// The flow.
        flow: u32,
        /// The receiver.
        host: u32,
        /// Bytes that were delivered.
        got: u64,
        /// Bytes of the flow.
        size: u64,
    },
}
