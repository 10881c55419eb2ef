use pullnet_transport::{ConnId, FailureReason, FlowSpec, HostAddr};

/// Most packets of a flow: numbers have 32 bits, and the largest one stands for an endless flow.
const MOST: u64 = u32::MAX as u64 - 1;

/// Division of a flow's bytes into packets: all are full except the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowPackets {
    /// Number of packets; `u32::MAX` for an endless flow.
    pub number: u32,
    /// Payload of a full packet, and of the last one. Bytes.
    full: u32,
    last: u32,
}

/// Where the packets of a flow go, and by which paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The receiver.
    pub to: HostAddr,
    /// The sender's number for the flow.
    pub conn: ConnId,
    /// Priority in the host's transmit queue.
    pub priority: u8,
    /// Number of paths to the receiver, at least 1.
    pub paths: u16,
    /// The path of the flow, if all its packets have the same.
    pub path: u16,
}

impl Target {
    /// The target of `flow`, by `path` if its packets have one path.
    pub fn of(flow: &FlowSpec, path: u16) -> Self {
        let FlowSpec { to, conn, priority, paths, .. } = *flow;
        Self { to, conn, priority, paths: paths.max(1), path }
    }
}

impl FlowPackets {
    /// Packets of a flow with `mtu` bytes of payload in a full packet. The error says why the flow cannot be sent.
    pub fn of(flow: &FlowSpec, mtu: u64) -> Result<Self, FailureReason> {
        let full = mtu as u32;
        let Some(size) = flow.size.map(|size| size.0) else {
            return Ok(Self { number: u32::MAX, full, last: full });
        };
        match size.div_ceil(mtu) {
            0 => Err(FailureReason::EmptyFlow),
            number if number > MOST => Err(FailureReason::TooManyPackets),
            number => Ok(Self { number: number as u32, full, last: (size - (number - 1) * mtu) as u32 }),
        }
    }

    /// Whether packet `seq` is the last one.
    pub fn is_last(&self, seq: u32) -> bool {
        seq.checked_add(1) == Some(self.number)
    }

    /// Payload of packet `seq`. Bytes.
    pub fn payload(&self, seq: u32) -> u32 {
        if self.is_last(seq) { self.last } else { self.full }
    }
}

#[cfg(test)]
mod tests {
    use pullnet_units::Bytes;

    use super::*;

    fn flow(size: Option<u64>) -> FlowSpec {
        FlowSpec { size: size.map(Bytes), ..FlowSpec::default() }
    }

    #[test]
    fn all_packets_but_the_last_are_full() {
        let packets = FlowPackets::of(&flow(Some(2501)), 1000).unwrap();
        assert_eq!([0, 1, 2].map(|seq| packets.payload(seq)), [1000, 1000, 501]);
        assert!(packets.is_last(2) && !packets.is_last(1));
        let even = FlowPackets::of(&flow(Some(2000)), 1000).unwrap();
        assert_eq!((even.number, even.payload(1)), (2, 1000));
    }

    #[test]
    fn a_flow_without_an_end_has_no_last_packet() {
        let packets = FlowPackets::of(&flow(None), 1000).unwrap();
        assert!(
            packets.number == u32::MAX && !packets.is_last(u32::MAX) && packets.payload(u32::MAX - 1) == 1000
        );
    }

    #[test]
    fn what_cannot_be_numbered_is_refused() {
        assert!(FlowPackets::of(&flow(Some(0)), 1000).is_err());
        assert!(FlowPackets::of(&flow(Some(MOST * 1000)), 1000).is_ok());
        assert!(FlowPackets::of(&flow(Some(MOST * 1000 + 1)), 1000).is_err());
    }
}
