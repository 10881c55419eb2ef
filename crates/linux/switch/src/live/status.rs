//! Status of a running switch.

use pullnet_netio::Counters;
use serde_json::{Map, Value, json};

use crate::counters::PortCounters;
use crate::settings::Held;

/// Distribution of departure delays behind the emulated time: the error of the emulation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lateness {
    /// Frames sent.
    pub frames: u64,
    /// Frames that were more than 10 us late.
    pub over_10us: u64,
    /// Frames that were more than 100 us late.
    pub over_100us: u64,
    /// Frames that were more than 1 ms late.
    pub over_1ms: u64,
    /// Longest delay. Unit: nanoseconds.
    pub worst_ns: u64,
}

impl Lateness {
    pub(crate) fn note(&mut self, picos: u64) {
        let ns = picos / 1000;
        self.frames += 1;
        self.over_10us += u64::from(ns > 10_000);
        self.over_100us += u64::from(ns > 100_000);
        self.over_1ms += u64::from(ns > 1_000_000);
        self.worst_ns = self.worst_ns.max(ns);
    }
}

/// Status of one port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortStatus {
    /// Name of the port.
    pub name: String,
    /// Name of its switch.
    pub switch: String,
    /// Counters of the port.
    pub counters: PortCounters,
    /// Queue occupancy.
    pub held: Held,
    /// Status of its interface; `None` for a line inside the file.
    pub io: Option<InterfaceStatus>,
}

/// Status of the interface of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceStatus {
    /// Frames that passed the interface.
    pub counters: Counters,
    /// Frames that could not be handed to it.
    pub dropped: u64,
    /// Why the interface is unavailable; `None` if it works.
    pub trouble: Option<String>,
}

impl InterfaceStatus {
    fn json(&self) -> Value {
        let Counters { received, sent, missed, joined, full, refused, .. } = self.counters;
        json!({
            "received": received, "sent": sent, "missed": missed, "joined": joined, "full": full, "refused": refused,
            "dropped": self.dropped, "trouble": self.trouble,
        })
    }
}

/// Status of all switches of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// Name of the switches.
    pub name: String,
    /// Time since the start. Unit: picoseconds.
    pub running_ps: u64,
    /// Frames held over all ports and lines.
    pub frames_held: usize,
    /// Error of the emulation.
    pub late: Lateness,
    /// Every port.
    pub ports: Vec<PortStatus>,
}

impl Status {
    /// Converts the status to JSON.
    pub fn json(&self) -> Value {
        let Lateness { frames, over_10us, over_100us, over_1ms, worst_ns } = self.late;
        json!({
            "name": self.name,
            "running_s": self.running_ps as f64 / 1e12,
            "frames_held": self.frames_held,
            "late": {
                "frames": frames, "over_10us": over_10us, "over_100us": over_100us, "over_1ms": over_1ms,
                "worst_ns": worst_ns,
            },
            "ports": self.ports.iter().map(PortStatus::json).collect::<Vec<_>>(),
        })
    }
}

impl PortStatus {
    fn json(&self) -> Value {
        let mut counters: Map<String, Value> =
            self.counters.rows().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let Held { data_packets, data_bytes, control_packets, control_bytes } = self.held;
        counters.insert("queue_curr_occupancy_data_packets".into(), data_packets.into());
        counters.insert("queue_curr_occupancy_data_bytes".into(), data_bytes.into());
        counters.insert("queue_curr_occupancy_control_packets".into(), control_packets.into());
        counters.insert("queue_curr_occupancy_control_bytes".into(), control_bytes.into());
        let io = self.io.as_ref().map(InterfaceStatus::json);
        json!({ "name": self.name, "switch": self.switch, "counters": counters, "interface": io })
    }
}
