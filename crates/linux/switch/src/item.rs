use pullnet_qdisc::Item;

use crate::codec::{Class, Kind};
use crate::frame::FrameId;
use crate::size::Counting;

/// A frame as a queue sees it; its bytes lie elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its bytes.
    pub frame: FrameId,
    /// Bytes of the frame, without check sequence.
    pub length: u32,
    headers: u16,
    /// What it is.
    pub kind: Kind,
    counting: Counting,
    ect: bool,
    priority: u8,
    /// Number of the port that it came by, among the ports of the switch.
    ingress: u16,
}

impl Slot {
    /// A frame of `length` bytes.
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

    /// Whether a switch has cut its payload.
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

    /// Headers stay whole even if they are longer than `bytes`.
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

    /// The bytes are marked when the outcome is carried out.
    #[inline]
    fn mark(&mut self) {}

    #[inline]
    fn ingress(&self) -> u16 {
        self.ingress
    }
}
