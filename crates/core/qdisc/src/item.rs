/// A packet as a queue sees it. The default value marks an empty slot.
pub trait Item: Copy + Default {
    /// Whether it is a control packet or a header without payload.
    fn is_control(&self) -> bool;
    /// Bytes on the wire now. `trimmed` is the length of trimmed packets in this network, for items that do not record
    /// their own.
    fn wire(&self, trimmed: u32) -> u32;
    /// Cuts the payload: the item becomes a control packet of `bytes` bytes.
    fn trim(&mut self, bytes: u32);
    /// Whether the packet may be returned to its sender: a trimmed header that was not returned before.
    #[inline]
    fn returnable(&self) -> bool {
        false
    }
    /// Whether its payload may be cut. A switch drops packets of other protocols instead.
    #[inline]
    fn trimmable(&self) -> bool {
        true
    }
    /// Priority, 0 to 7; a higher number is more urgent.
    #[inline]
    fn priority(&self) -> u8 {
        0
    }
    /// Whether it may be marked instead of dropped (ECN-capable transport).
    #[inline]
    fn ect(&self) -> bool {
        false
    }
    /// Marks it: congestion experienced. Called only where [`Item::ect`] allows it.
    #[inline]
    fn mark(&mut self) {}
    /// Number of the link that the packet arrived by, among the links into its switch.
    #[inline]
    fn ingress(&self) -> u16 {
        0
    }
}
