use pullnet_qdisc::Item;

use crate::codec::{Class, Kind};
use crate::frame::FrameId;
use crate::size::Counting;

/// A frame as seen by a queue; the fabric stores its bytes apart from the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Handle of its bytes.
    pub frame: FrameId,
    /// Length of the frame in bytes, without check sequence.
    pub length: u32,
    headers: u16,
    /// Kind of frame.
    pub kind: Kind,
    counting: Counting,
    ect: bool,
    priority: u8,
    /// Index of the ingress port among the ports of the switch.
    ingress: u16,
}

impl Slot {
    /// Describes a frame of `length` bytes.
    pub fn new(frame: FrameId, length: usize, class: &Class, counting: Counting, ingress: u16) -> Self {
        let length = length.try_into().unwrap_or(u32::MAX);
        Self {
            frame,
            length,
            headers: class.headers,
            kind: class.kind,
            counting,
            ect: class.ect,
            priority: class.priority,
            ingress,
        }
    }

    /// Whether the payload was trimmed.
    pub fn is_header(&self) -> bool {
        matches!(self.kind, Kind::Header | Kind::Returned)
    }
}

impl Default for Slot {
    fn default() -> Self {
        let (frame, kind, counting) = (FrameId::default(), Kind::Foreign, Counting::Frame);
        Self { frame, length: 0, headers: 0, kind, counting, ect: false, priority: 0, ingress: 0 }
    }
}

impl Item for Slot {
    #[inline]
    fn is_control(&self) -> bool {
        matches!(self.kind, Kind::Control | Kind::Header | Kind::Returned)
    }

    #[inline]
    fn wire(&self, _: u32) -> u32 {
        self.counting.wire(self.length)
    }

    /// A trim never cuts into the headers, even if they are longer than `bytes`.
    #[inline]
    fn trim(&mut self, bytes: u32) {
        self.length = self.counting.length(bytes).max(self.headers.into()).min(self.length);
        self.kind = Kind::Header;
    }

    #[inline]
    fn returnable(&self) -> bool {
        self.kind == Kind::Header
    }

    #[inline]
    fn trimmable(&self) -> bool {
        self.kind == Kind::Data
    }

    #[inline]
    fn priority(&self) -> u8 {
        self.priority
    }

    #[inline]
    fn ect(&self) -> bool {
        self.ect
    }

    /// No effect: the bytes are marked when the outcome is applied.
    #[inline]
    fn mark(&mut self) {}

    #[inline]
    fn ingress(&self) -> u16 {
        self.ingress
    }
}
