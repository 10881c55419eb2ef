//! A packet of the reference.

use pullnet_qdisc::{Item, Rank, Signal};
use pullnet_transport::{Fate, HostAddr, Large};
use pullnet_units::PathLabel;

/// A header of any transport.
pub(super) type Packed = pullnet_transport::Packed<Large>;

/// A packet: its header, its way and what happened to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parcel {
    pub(super) from: HostAddr,
    /// A host, or a group of receivers.
    pub(super) to: HostAddr,
    /// The path; for a group, the number of a tree.
    pub(super) label: PathLabel,
    pub(super) control: bool,
    pub(super) priority: u8,
    pub(super) ect: bool,
    pub(super) ce: bool,
    pub(super) fate: Fate,
    /// Length when it was sent, and now.
    pub(super) sent: u16,
    pub(super) wire: u32,
    pub(super) ingress: u16,
    /// Number of the transport that it belongs to.
    pub(super) transport: usize,
    pub(super) header: Packed,
    /// Set for a pause frame, which has no header.
    pub(super) signal: Option<Signal>,
    /// Header fields for switches that order packets by flow.
    pub(super) rank: Rank,
}

impl Default for Parcel {
    fn default() -> Self {
        Self {
            from: HostAddr(0),
            to: HostAddr(0),
            label: PathLabel::new(0),
            control: true,
            priority: 0,
            ect: false,
            ce: false,
            fate: Fate::Whole,
            sent: 0,
            wire: 0,
            ingress: 0,
            transport: 0,
            header: Packed::default(),
            signal: None,
            rank: Rank::default(),
        }
    }
}

impl Item for Parcel {
    fn is_control(&self) -> bool {
        self.control || self.fate != Fate::Whole
    }
    fn wire(&self, _: u32) -> u32 {
        self.wire
    }
    fn trim(&mut self, bytes: u32) {
        (self.fate, self.wire) = (Fate::Trimmed, bytes.min(self.wire));
    }
    fn returnable(&self) -> bool {
        !self.control && self.fate == Fate::Trimmed
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn ect(&self) -> bool {
        self.ect
    }
    fn mark(&mut self) {
        self.ce = true;
    }
    fn ingress(&self) -> u16 {
        self.ingress
    }
}
