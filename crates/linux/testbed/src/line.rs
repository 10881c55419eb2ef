use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

/// A host's link. It accepts the next frame when the backlog is below two frames. The switch's emulated line queues frames
/// as a NIC does, but frames held back here can still be overtaken by an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    rate: BitsPerSec,
    /// Backlog at which the next frame is accepted, so that the line does not run dry while the loop is busy.
    lead: Picos,
    busy_until: Instant,
}

impl Line {
    /// A link with a backlog of up to two frames of `longest` bytes.
    pub fn new(rate: BitsPerSec, longest: usize) -> Self {
        let lead = rate.serialization(Bytes(2 * longest as u64));
        Self { rate, lead, busy_until: Instant::ZERO }
    }

    /// Time from which the link accepts the next frame.
    pub fn free_at(&self) -> Instant {
        Instant(self.busy_until.0.saturating_sub(self.lead.0))
    }

    /// Records a frame of `length` bytes sent at `now`.
    pub fn send(&mut self, now: Instant, length: usize) {
        self.busy_until = self.busy_until.max(now) + self.rate.serialization(Bytes(length as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_frame_waits_until_the_first_has_left() {
        let mut line = Line::new(BitsPerSec::gbps(1), 1500);
        for _ in 0..3 {
            assert_eq!(line.free_at(), Instant::ZERO);
            line.send(Instant::ZERO, 1500);
        }
        assert_eq!(line.free_at(), Instant(12_000_000));
        line.send(Instant(100_000_000), 1500);
        assert_eq!(line.free_at(), Instant(88_000_000));
    }
}
