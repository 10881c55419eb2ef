use pullnet_settings::settings;
use pullnet_units::QueueSize;

use crate::Limit;

settings! {
    /// Marks of congestion by a threshold, as DCTCP wants them (Alizadeh et al., SIGCOMM 2010, section 3.1).
    pub struct StepMarkConfig {
        /// An arriving packet is marked if its port holds more than this when it comes, the packet in service included.
        /// Packets or bytes. Source: NDP section 6.1 gives DCTCP 30 packets.
        at: QueueSize = "30 packets" in "0 packets" => "1000000 packets",
    }
}

/// The rule, whatever the discipline of the port: it sees what is held and says whether to mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepMark(Limit);

impl StepMark {
    /// The rule of these settings.
    pub fn new(config: &StepMarkConfig) -> Self {
        Self(config.at.into())
    }

    /// Whether a packet that arrives is marked where `packets` of together `bytes` are held.
    #[inline]
    pub fn marks(&self, packets: u32, bytes: u64) -> bool {
        !self.0.holds(packets, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_units::{Bytes, Packets};

    #[test]
    fn the_threshold_itself_is_not_marked() {
        let rule = |at| StepMark::new(&StepMarkConfig { at });
        let packets = rule(QueueSize::Packets(Packets(3)));
        assert_eq!([2, 3, 4].map(|held| packets.marks(held, 0)), [false, false, true]);
        let bytes = rule(QueueSize::Bytes(Bytes(9000)));
        assert_eq!([8999, 9000, 9001].map(|held| bytes.marks(9, held)), [false, false, true]);
    }
}
