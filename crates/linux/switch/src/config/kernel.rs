//! Translates a switch file for the switch inside the kernel, which supports only some of the settings.

use pullnet_qdisc::SwitchConfig;
use pullnet_settings::Setting;
use pullnet_units::{Picos, QueueSize};
use pullnet_wire::Mark;
use serde_json::{Value, json};

use super::{Outside, SwitchFile};
use crate::forward::Unknown;
use crate::size::Counting;

impl SwitchFile {
    /// The configuration of the kernel switch as JSON; otherwise one message per unsupported setting of the file.
    pub fn kernel(&self) -> Result<Value, Vec<String>> {
        let (queue, marks) = match &self.discipline {
            SwitchConfig::Trim(trim) => (Some((trim.data_queue, trim.trim_to.0)), trim.mark_above.is_some()),
            SwitchConfig::DropTail(tail) => (Some((tail.queue, 0)), tail.mark_above.is_some()),
            _ => (None, false),
        };
        let refused = self.beyond_the_kernel(queue.is_some(), marks);
        let Some((room, trim_to)) = queue.filter(|_| refused.is_empty()) else { return Err(refused) };
        let ports = self.ports.iter().map(|port| {
            let (name, interface) = (&port.name, port.outside.as_ref().map(Outside::to_string));
            json!({ "name": name, "switch": port.switch, "interface": interface, "rate_bps": port.settings.rate.get() })
        });
        let entries = self.entries.iter().map(|(_, mac, entry)| {
            let ports: Vec<_> = entry.ports.iter().map(|port| port.get()).collect();
            json!({ "mac": mac.to_string(), "ports": ports, "shift": entry.selection.shift, "mask": entry.selection.mask })
        });
        let (packets, bytes) = match room {
            QueueSize::Packets(packets) => (Some(packets.0), None),
            QueueSize::Bytes(bytes) => (None, Some(bytes.0)),
        };
        let mark = |mark| self.marks.dscp(mark);
        Ok(json!({
            "name": self.name,
            "forwarding": self.fabric.forwarding.write().trim_matches('"'),
            "overhead": self.fabric.counting.wire(1500) - 1500,
            "shortest": if self.fabric.counting == Counting::Frame { 0 } else { 60 },
            "trims": trim_to > 0,
            "trim_to": self.fabric.counting.length(trim_to as u32),
            "marks": [mark(Mark::Data), mark(Mark::Control), mark(Mark::Trimmed), mark(Mark::Returned)],
            "packets": packets,
            "bytes": bytes,
            "ports": ports.collect::<Vec<_>>(),
            "entries": entries.collect::<Vec<_>>(),
        }))
    }

    /// Lists the settings of the file that the kernel switch does not support.
    fn beyond_the_kernel(&self, has_queue: bool, marks: bool) -> Vec<String> {
        let ports = || self.ports.iter();
        let one_switch = ports().all(|port| port.settings.node == self.ports[0].settings.node);
        let rules = [
            (
                has_queue,
                "switch.kind: it has one class per port and drops or trims; use \"trim\" or \"drop-tail\"",
            ),
            (
                one_switch && ports().all(|port| matches!(port.outside, Some(Outside::Interface(_)))),
                "port: it is one switch, all of whose ports are on interfaces",
            ),
            (
                ports().all(|port| port.settings.delay == Picos::ZERO),
                "port.delay: it delays nothing; leave it out",
            ),
            (ports().all(|port| !port.settings.paced), "port.paced: it delays nothing; leave it out"),
            (self.ports.len() <= 64, "port: it has at most 64 ports"),
            (
                self.entries.iter().all(|(_, _, entry)| entry.ports.len() <= 16),
                "forward.ports: it has at most 16 equal ports",
            ),
            (self.entries.len() <= 4096, "forward: it has at most 4096 entries"),
            (self.groups.is_empty(), "group: it copies nothing"),
            (self.faults.is_empty(), "fault: it has no faults"),
            (!marks, "switch.mark_above: it marks nothing; leave the setting out"),
            (self.recording.is_none(), "capture: it records nothing"),
            (
                self.fabric.ageing.is_none() && self.fabric.unknown == Unknown::Drop,
                "learning: it learns and floods nothing",
            ),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        broken
            .map(|(_, what)| format!("the switch inside the kernel cannot do what the file says: {what}"))
            .collect()
    }
}
