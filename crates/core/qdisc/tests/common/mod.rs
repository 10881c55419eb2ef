//! Packets as tests see them.
#![allow(dead_code, reason = "every test uses a part of it")]

use pullnet_qdisc::Item;

/// What a packet is to a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Class {
    /// Carries payload.
    #[default]
    Data,
    /// An ACK, NACK or PULL.
    Control,
    /// What a trim left of data.
    Header,
    /// The same on its way back to the sender.
    Returned,
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pkt {
    pub id: u64,
    pub len: u32,
    pub class: Class,
}

pub const fn data(id: u64, len: u32) -> Pkt {
    Pkt { id, len, class: Class::Data }
}

pub const fn control(id: u64) -> Pkt {
    Pkt { id, len: 64, class: Class::Control }
}

impl Item for Pkt {
    fn is_control(&self) -> bool {
        self.class != Class::Data
    }
    fn wire(&self) -> u32 {
        self.len
    }
    fn trim(&mut self, bytes: u32) {
        (self.len, self.class) = (bytes.min(self.len), Class::Header);
    }
    fn returnable(&self) -> bool {
        self.class == Class::Header
    }
}
