use pullnet_netio::Error;
use pullnet_units::FlowId;
use pullnet_wire::EmitError;
use thiserror::Error;

/// Reasons why a scenario cannot be played, or was aborted.
#[derive(Debug, Error)]
pub enum PlayError {
    /// The transport has no implementation for Linux.
    #[error(
        "transport.kind: \"{0}\" has no form on the wire and runs in the simulator only; use one of {list}",
        list = pullnet_protocols::FRAMED.join(", ")
    )]
    Transport(&'static str),
    /// Several transports in one run are supported by the simulator only.
    #[error(
        "transport: {0} transports in one run are for the simulator only; use one, of kind {list}",
        list = pullnet_protocols::FRAMED.join(", ")
    )]
    Transports(usize),
    /// Frames have no field for the switch queue's class, so only class 0 is supported.
    #[error(
        "transport.class: {0} is for the simulator only: frames of a testbed are all of class 0; leave it out"
    )]
    Class(u8),
    /// Hosts of a testbed serve flows between two hosts.
    #[error(
        "traffic: sessions of several receivers or senders are for the simulator only; leave the keys out that make them"
    )]
    Joined,
    /// The network is too large.
    #[error(transparent)]
    Plan(#[from] crate::plan::NoPlan),
    /// The number of sockets differs from the number of hosts.
    #[error("{sockets} sockets for {hosts} hosts")]
    Sockets {
        /// Sockets passed by the caller.
        sockets: usize,
        /// Hosts of the scenario.
        hosts: usize,
    },
    /// Full packets exceed the longest frame of an interface.
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
    /// The interface of a host failed.
    #[error("host {host}: {error}")]
    Io {
        /// The host.
        host: u32,
        /// The interface's error.
        error: Error,
    },
    /// A packet cannot be encoded as a frame (a bug).
    #[error("host {host}: {error}")]
    Emit {
        /// The host.
        host: u32,
        /// The encoder's error.
        error: EmitError,
    },
    /// The received payload differs from the sent payload (a bug).
    #[error("flow {flow}: host {host} got other bytes than were sent")]
    Content {
        /// The flow.
        flow: FlowId,
        /// The receiver.
        host: u32,
    },
    /// A flow ended with the wrong number of bytes (a bug).
    #[error("flow {flow}: host {host} got {got} B of {size} B")]
    Length {
        /// The flow.
        flow: FlowId,
        /// The receiver.
        host: u32,
        /// Bytes delivered.
        got: u64,
        /// Bytes of the flow.
        size: u64,
    },
}
