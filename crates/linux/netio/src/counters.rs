/// Frames and bytes sent, received and lost.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Frames received.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Frames handed to the kernel or to the other side.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Received frames that found no room, as far as the backend can tell.
    pub missed: u64,
    /// Received frames that were lost because the sender's kernel had left it to its network card to cut them into segments, as it
    /// does over veth.
    pub joined: u64,
    /// Calls of [`send`](crate::packet_io::PacketIo::send) that found no room.
    pub full: u64,
    /// Frames that the kernel refused to send.
    pub refused: u64,
    /// Bursts among what was sent: several frames that the kernel took as one.
    pub sent_bursts: u64,
    /// Bursts among what was received.
    pub received_bursts: u64,
}

impl Counters {
    pub(crate) fn count_received(&mut self, bytes: usize) {
        self.received += 1;
        self.received_bytes += bytes as u64;
    }

    pub(crate) fn count_sent(&mut self, bytes: usize) {
        self.sent += 1;
        self.sent_bytes += bytes as u64;
    }
}
