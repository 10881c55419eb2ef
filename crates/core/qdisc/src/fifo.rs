use crate::item::Item;

/// Counts of a port with one first-in-first-out queue.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    waiting_packets: u32,
    waiting_data: u32,
    waiting_bytes: u64,
    /// Bytes of the packet in service; 0 if there is none.
    serving: u32,
    serving_data: bool,
}

impl Fifo {
    /// Packets held, including the one in service.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.waiting_packets + u32::from(self.serving > 0)
    }

    /// Bytes held, the packet in service included.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.waiting_bytes + u64::from(self.serving)
    }

    /// Packets and bytes that wait, the packet in service excluded.
    #[inline]
    pub fn behind(&self) -> (u32, u64) {
        (self.waiting_packets, self.waiting_bytes)
    }

    /// Data packets held, the one in service included.
    #[inline]
    pub fn data_held(&self) -> u32 {
        self.waiting_data + u32::from(self.serving_data)
    }

    /// Control packets or data packets that wait.
    #[inline]
    pub fn queued(&self, control: bool) -> u32 {
        if control { self.waiting_packets - self.waiting_data } else { self.waiting_data }
    }

    /// A packet of `size` bytes was taken.
    #[inline]
    pub fn add(&mut self, packet: &impl Item, size: u32) {
        self.waiting_packets += 1;
        self.waiting_data += u32::from(!packet.is_control());
        self.waiting_bytes += u64::from(size);
    }

    /// A packet of `new` bytes replaces a waiting packet of `old` bytes of the same kind.
    #[inline]
    pub fn replace(&mut self, old: u32, new: u32) {
        self.waiting_bytes = self.waiting_bytes + u64::from(new) - u64::from(old);
    }

    /// A waiting packet of `size` bytes was dropped.
    #[inline]
    pub fn remove(&mut self, packet: &impl Item, size: u32) {
        self.waiting_packets -= 1;
        self.waiting_data -= u32::from(!packet.is_control());
        self.waiting_bytes -= u64::from(size);
    }

    /// A packet of `size` bytes goes into service.
    #[inline]
    pub fn serve(&mut self, packet: &impl Item, size: u32) {
        self.serving = size;
        self.serving_data = !packet.is_control();
        self.waiting_packets -= 1;
        self.waiting_bytes -= u64::from(size);
        self.waiting_data -= u32::from(self.serving_data);
    }

    /// The packet in service has left; returns its length.
    #[inline]
    pub fn complete(&mut self) -> u32 {
        self.serving_data = false;
        core::mem::take(&mut self.serving)
    }
}
