/// A packet as a queue sees it. The default one stands where there is none.
pub trait Item: Copy + Default {
    /// Whether it is a control packet or a header without payload.
    fn is_control(&self) -> bool;
    /// Bytes on the wire now. `trimmed`: length of trimmed packets in this network, for items that do not record it
    /// themselves.
    fn wire(&self, trimmed: u32) -> u32;
    /// Cuts the payload: from now on a control packet of `bytes` bytes.
    fn trim(&mut self, bytes: u32);
    /// Whether it may be sent back to where it came from: a trimmed header that was not sent back before.
    fn returnable(&self) -> bool;
    /// Whether its payload may be cut. A switch that also carries packets of other protocols drops those instead.
    #[inline]
    fn trimmable(&self) -> bool {
        true
    }
    /// Priority, 0 to 7; a higher number is more urgent.
    fn priority(&self) -> u8;
    /// Whether it may be marked instead of dropped (ECN-capable transport).
    fn ect(&self) -> bool;
    /// Marks it: congestion experienced.
    fn mark(&mut self);
    /// Number of the link that it arrived by, among the links into its switch.
    fn ingress(&self) -> u16;
}
