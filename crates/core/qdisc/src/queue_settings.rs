use alloc::vec::Vec;

use pullnet_settings::Settings;
use pullnet_transport::Reliance;
use pullnet_units::{BitsPerSec, Bytes, Picos, QueueSize};

/// Capacity of a queue, as a setting states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Name of the setting.
    pub key: &'static str,
    /// The capacity.
    pub room: QueueSize,
    /// Whether data packets wait there, or only headers.
    pub of_data: bool,
}

/// Properties of a discipline that transports depend on: their packets have to fit.
pub trait QueueSettings: Settings {
    /// Capacities of the queues.
    fn capacities(&self) -> Vec<Capacity>;
    /// Bytes on the wire that a trim leaves; `None` if nothing is ever trimmed.
    fn trim_to(&self) -> Option<Bytes> {
        None
    }
    /// The memory that the ports of a switch with links of these rates divide; `None` if each has its own.
    fn divided(&self, _rates: &[BitsPerSec]) -> Option<Divided> {
        None
    }
    /// Whether ports do what a transport relies on.
    fn supports(&self, reliance: Reliance) -> bool {
        let stated = |key: &str| self.get(key).is_some_and(|value| !value.is_empty());
        let marks =
            || stated("mark_above") || stated("mark_low") || self.get("ecn").as_deref() == Some("true");
        match reliance {
            Reliance::Marks => marks(),
            Reliance::Priorities => self.classes() > 1,
            Reliance::Telemetry => self.get("telemetry").as_deref() == Some("true"),
            Reliance::Ranks | Reliance::Rates | Reliance::Turns => false,
        }
    }
    /// The setting that says for how long ports keep what they granted to a silent flow, and its value; `None` if they keep nothing.
    fn forgets_after(&self) -> Option<(&'static str, Picos)> {
        None
    }
    /// Bytes that may still arrive on a link of this rate after the port has asked its sender to pause, and the setting that says
    /// so; `None` if ports do not pause senders.
    fn headroom(&self, _rate: BitsPerSec) -> Option<(&'static str, Bytes)> {
        None
    }
    /// Thresholds between which the probability of a mark or a drop rises, by their settings; `None` if there are none.
    fn thresholds(&self) -> Option<[(&'static str, QueueSize); 2]> {
        None
    }
    /// Number of classes that tell packets apart by their priority; 1: all priorities are treated alike.
    fn classes(&self) -> u8 {
        1
    }
}

/// Memory of a switch; every port sets a part of it aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divided {
    /// The setting that says how much it is.
    pub key: &'static str,
    /// How much it is.
    pub memory: Bytes,
    /// Memory that all ports of the switch set aside.
    pub set_aside: Bytes,
    /// The settings that say so.
    pub by: &'static str,
    /// Largest packet that every link can bring into the empty switch.
    pub largest: Bytes,
    /// The settings that limit it.
    pub limited_by: &'static str,
}
