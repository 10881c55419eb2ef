use pullnet_config::Forwarding;
use pullnet_units::{BitsPerSec, Instant, NodeId, Picos, PortId};

use crate::forward::Unknown;
use crate::frame::FrameId;
use crate::size::Counting;

/// Settings shared by all switches of a fabric.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FabricSettings {
    /// Seed of every random stream.
    pub seed: u64,
    /// Which bytes a frame occupies on the line.
    pub counting: Counting,
    /// Policy for choosing among equal ports.
    pub forwarding: Forwarding,
    /// Time that a learned address is kept; `None`: nothing is learned.
    pub ageing: Option<Picos>,
    /// Treatment of a frame to an unknown destination or a group.
    pub unknown: Unknown,
    /// Most frames held at a time, over all ports and lines.
    pub most_frames: u32,
    /// Delay of a returned header to the port that leads to its sender.
    pub recirculation: Picos,
}

impl Default for FabricSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            counting: Counting::Frame,
            forwarding: Forwarding::Path,
            ageing: None,
            unknown: Unknown::Drop,
            most_frames: 65_536,
            recirculation: Picos::ZERO,
        }
    }
}

/// A port and its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSettings {
    /// Its switch.
    pub node: NodeId,
    /// Rate in each direction.
    pub rate: BitsPerSec,
    /// Delay from the last bit sent to the last bit received, in the outgoing direction.
    pub delay: Picos,
    /// Whether frames from outside arrive as over a line of this rate and delay; early ones wait as in a NIC. No effect on a
    /// port with a peer.
    pub paced: bool,
    /// Port at the other end of the line; `None` if the line leads outside.
    pub peer: Option<PortId>,
}

impl PortSettings {
    /// A port of switch `node` whose line leads outside, without delay; frames arrive as they come.
    pub const fn outside(node: NodeId, rate: BitsPerSec) -> Self {
        Self { node, rate, delay: Picos::ZERO, paced: false, peer: None }
    }
}

/// Two ports whose peer settings do not match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongPort {
    /// The port.
    pub port: PortId,
    /// The port that it names as its peer. That port does not exist, or names a different peer.
    pub peer: PortId,
}

/// A frame at the outer end of a port's line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The port.
    pub port: PortId,
    /// Time at which the frame is there.
    pub at: Instant,
    /// The frame; the caller must release it.
    pub frame: FrameId,
}

/// Queue occupancy of a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// Data packets, including the packet in service.
    pub data_packets: u32,
    /// Their bytes, as they count on the line.
    pub data_bytes: u64,
    /// Control packets, without the packet in service.
    pub control_packets: u32,
    /// Their bytes, as they count on the line.
    pub control_bytes: u64,
}

/// Checks that every peer exists and that peers name each other.
pub(crate) fn check_peers(ports: &[PortSettings]) -> Result<(), WrongPort> {
    for (number, settings) in (0..).zip(ports) {
        let (port, Some(peer)) = (PortId::new(number), settings.peer) else { continue };
        let back = ports.get(peer.get() as usize).and_then(|peer| peer.peer);
        if back != Some(port) || peer == port {
            return Err(WrongPort { port, peer });
        }
    }
    Ok(())
}
