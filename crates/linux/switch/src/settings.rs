use pullnet_config::Forwarding;
use pullnet_units::{BitsPerSec, Instant, NodeId, Picos, PortId};

use crate::forward::Unknown;
use crate::frame::FrameId;
use crate::size::Counting;

/// What all switches of a fabric have in common.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FabricSettings {
    /// Seed of every random stream.
    pub seed: u64,
    /// Which bytes a frame occupies on the line.
    pub counting: Counting,
    /// Who chooses among equal ports.
    pub forwarding: Forwarding,
    /// How long a learned address stays; `None`: nothing is learned.
    pub ageing: Option<Picos>,
    /// What happens to a frame whose destination is not known, or is a group.
    pub unknown: Unknown,
    /// Most frames held at a time, over all ports and lines.
    pub most_frames: u32,
    /// Time that a returned header takes to the port that leads to its sender.
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
    /// The switch that it belongs to.
    pub node: NodeId,
    /// Bits per second, both ways.
    pub rate: BitsPerSec,
    /// From the last bit sent to the last bit received, outwards.
    pub delay: Picos,
    /// Whether frames from outside come as over a line of this rate and delay; they wait as in a NIC. Without effect on
    /// a port with a peer.
    pub paced: bool,
    /// The port at the other end of the line; `None` if that is outside.
    pub peer: Option<PortId>,
}

/// Two ports do not agree on being joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongPort {
    /// The port.
    pub port: PortId,
    /// The one that it names as its peer, and which names another one or is not there.
    pub peer: PortId,
}

/// A frame that is at the outer end of a port's line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The port.
    pub port: PortId,
    /// When it is there.
    pub at: Instant,
    /// The frame; whoever takes it releases it.
    pub frame: FrameId,
}

/// What a queue holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// Data packets, the one in service included.
    pub data_packets: u32,
    /// Their bytes, as they count on the line.
    pub data_bytes: u64,
    /// Control packets, the one in service excluded.
    pub control_packets: u32,
    /// Their bytes, as they count on the line.
    pub control_bytes: u64,
}

/// Every peer is there and names the port that names it.
pub(crate) fn check_peers(ports: &[PortSettings]) -> Result<(), WrongPort> {
    for (number, settings) in (0..).zip(ports) {
        let (port, Some(peer)) = (PortId(number), settings.peer) else { continue };
        let back = ports.get(peer.0 as usize).and_then(|peer| peer.peer);
        if back != Some(port) || peer == port {
            return Err(WrongPort { port, peer });
        }
    }
    Ok(())
}
