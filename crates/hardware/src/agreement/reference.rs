//! The software switch follows the RTL's reports event by event, and reports differences.

use std::collections::VecDeque;

use pullnet_qdisc::Discipline;
use pullnet_switch::{Dropped, Event, Fabric, Observer, PortSettings, Slot};
use pullnet_units::{BitsPerSec, Instant, NodeId, PortId};
use thiserror::Error;

use super::frames::Given;
use super::layout::Layout;
use super::profile::{PORTS, Profile};

/// A difference between RTL and reference.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("event {event}: {what}")]
pub struct Disagreement {
    /// Number of the event, from 1.
    pub event: u64,
    /// The difference.
    pub what: String,
}

/// Reports of the RTL. See `hardware/sim/main.cpp`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// A frame was offered to the queues of a mask.
    Routed {
        /// Ingress port; 4 for a returned header.
        from: u8,
        /// Bit of each queue.
        mask: u8,
        /// Verdict of each queue, three bits each.
        verdicts: u16,
        /// Coin for each queue: 1 selects the arriving frame.
        coins: u8,
    },
    /// A frame went into service.
    Taken(u8),
    /// The frame in service has left the queue.
    Done(u8),
    /// A frame left the switch.
    Out(u8, Vec<u8>),
    /// A counter at the end.
    Counter(u8, u8, u32),
    /// The end, after so many cycles.
    End(u64),
}

/// Events at ports since the last query.
#[derive(Default)]
pub struct Log(Vec<(PortId, Event)>);

impl Observer for Log {
    fn event(&mut self, _: Instant, port: PortId, event: Event, _: &[u8]) {
        self.0.push((port, event));
    }
}

/// Totals of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Frames received.
    pub frames: u64,
    /// Of these, rejected on arrival.
    pub refused: u64,
    /// Frames sent.
    pub left: u64,
    /// Frames trimmed.
    pub trimmed: u64,
    /// Headers returned to their sender.
    pub returned: u64,
    /// Frames dropped by queues.
    pub dropped: u64,
    /// Congestion marks.
    pub marked: u64,
    /// Events compared.
    pub events: u64,
    /// Clock cycles of the RTL.
    pub cycles: u64,
}

/// The software switch that follows the RTL, with the discipline `Q` at its ports.
pub struct Reference<Q: Discipline<Slot>> {
    fabric: Fabric<Q, Layout, Log>,
    waiting: [VecDeque<Given>; PORTS],
    expected: [VecDeque<Vec<u8>>; PORTS],
    /// Frames rejected by the hardware only, by port.
    refused: [u32; PORTS],
    tally: Tally,
}

const QUEUED: u16 = 0;
const TRIMMED: u16 = 1;
const SENT_BACK: u16 = 2;
const DATA_FULL: u16 = 3;
const CONTROL_FULL: u16 = 4;

impl<Q: Discipline<Slot>> Reference<Q> {
    /// A switch with the settings of `profile` and these queues; its ports serve only when the RTL's do.
    pub fn new(profile: &Profile, queues: &Q::Config) -> Self {
        let port = PortSettings::outside(NodeId::new(0), BitsPerSec::gbps(10));
        let (layout, ports) = (profile.layout(), [port; PORTS]);
        let mut fabric = Fabric::new(queues, profile.fabric(), &ports, layout, Log::default())
            .expect("ports without peers are right");
        for (mac, entry) in Profile::entries() {
            fabric.forward(NodeId::new(0), mac, entry);
        }
        for (prefix, entry) in profile.routes() {
            fabric.route_prefix(NodeId::new(0), prefix, entry);
        }
        (0..PORTS as u32).for_each(|port| fabric.pause(PortId::new(port)));
        let (waiting, expected) = (Default::default(), Default::default());
        Self { fabric, waiting, expected, refused: [0; PORTS], tally: Tally::default() }
    }

    /// Records a frame given to a port of the RTL.
    pub fn give(&mut self, port: usize, frame: Given) {
        self.waiting[port].push_back(frame);
    }

    /// Number of frames given to a port and not reported yet.
    pub fn waits(&self, port: usize) -> usize {
        self.waiting[port].len()
    }

    /// Counts so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Applies one report and compares.
    pub fn follow(&mut self, report: Report) -> Result<(), Disagreement> {
        self.tally.events += 1;
        let event = self.tally.events;
        self.compare(report).map_err(|what| Disagreement { event, what })
    }

    fn compare(&mut self, report: Report) -> Result<(), String> {
        match report {
            Report::Routed { from, mask, verdicts, coins } => self.routed(from, mask, verdicts, coins),
            Report::Taken(port) => self.taken(PortId::new(port.into())),
            Report::Done(port) => self.done(PortId::new(port.into())),
            Report::Out(port, bytes) => self.out(port.into(), &bytes),
            Report::Counter(port, number, value) => self.counter(port.into(), number.into(), value),
            Report::End(cycles) => self.end(cycles),
        }
    }

    fn routed(&mut self, from: u8, mask: u8, verdicts: u16, coins: u8) -> Result<(), String> {
        for port in (0..PORTS as u32).filter(|port| mask >> port & 1 == 1) {
            self.fabric.next_coin(PortId::new(port), coins >> port & 1 == 1);
        }
        self.fabric.observer().0.clear();
        let before = self.held();
        let bytes = if usize::from(from) == PORTS {
            if !self.fabric.come_round() {
                return Err("a header came round and the reference has none".into());
            }
            Vec::new()
        } else {
            let Some(given) = self.waiting[usize::from(from)].pop_front() else {
                return Err(format!("port {from} reports more frames than it was given"));
            };
            self.tally.frames += 1;
            if given.is_bad() {
                self.tally.refused += 1;
                if mask != 0 {
                    return Err(format!("port {from}: a bad frame of {} B was let in", given.bytes.len()));
                }
            }
            if given.is_unknown_to_reference() {
                self.refused[usize::from(from)] += 1;
                return Ok(());
            }
            let now = self.fabric.now();
            self.fabric.arrive(PortId::new(from.into()), now, &given.bytes);
            self.fabric.advance(now);
            given.bytes
        };
        let theirs =
            (0..PORTS as u32).map(|port| (mask >> port & 1 == 1).then(|| verdicts >> (3 * port) & 7));
        self.verdicts(from, mask, &theirs.collect::<Vec<_>>(), &before, &bytes)
    }

    /// Number of frames in each queue.
    fn held(&self) -> [u32; PORTS] {
        [0, 1, 2, 3].map(|port| {
            let held = self.fabric.held(PortId::new(port));
            held.data_packets + held.control_packets
        })
    }

    /// Compares the verdicts of all queues for a frame.
    fn verdicts(
        &mut self,
        from: u8,
        mask: u8,
        theirs: &[Option<u16>],
        before: &[u32; PORTS],
        bytes: &[u8],
    ) -> Result<(), String> {
        let after = self.held();
        let events = core::mem::take(&mut self.fabric.observer().0);
        let nowhere = |event: &(PortId, Event)| {
            matches!(event.1, Event::Dropped(Dropped::NoRoute | Dropped::SamePort | Dropped::TooShort))
        };
        let lost = events.iter().any(nowhere);
        if lost != (mask == 0) {
            return Err(format!(
                "a frame from port {from} went to queues {mask:#06b}; reference: {events:?}; {bytes:02x?}"
            ));
        }
        for (port, theirs) in (0..).zip(theirs) {
            let grown = after[port as usize] > before[port as usize];
            let Some(theirs) = theirs else {
                if grown {
                    return Err(format!(
                        "the reference queued a frame at port {port}, not at {mask:#06b}: {bytes:02x?}"
                    ));
                }
                continue;
            };
            if grown != (*theirs == QUEUED || *theirs == TRIMMED) {
                return Err(format!(
                    "queue {port}: verdict {theirs}, reference {before:?} then {after:?}; {bytes:02x?}"
                ));
            }
            let here = events.iter().filter(|(at, _)| at.get() == port).map(|(_, event)| *event);
            let ours = verdict(here);
            self.tally.trimmed += u64::from(ours == TRIMMED);
            if ours != *theirs {
                return Err(format!(
                    "queue {port}: verdict {theirs}, reference {ours}: {events:?}; {bytes:02x?}"
                ));
            }
        }
        Ok(())
    }

    fn taken(&mut self, port: PortId) -> Result<(), String> {
        if self.fabric.serving(port).is_some() {
            return Err(format!("port {} took a second frame into service", port.get()));
        }
        self.fabric.resume(port);
        self.fabric.pause(port);
        let serves = self.fabric.serving(port).is_some();
        if serves {
            Ok(())
        } else {
            Err(format!("port {} took a frame, and the reference has none", port.get()))
        }
    }

    fn done(&mut self, port: PortId) -> Result<(), String> {
        if self.fabric.serving(port).is_none() {
            return Err(format!("port {} ended a service that had not begun", port.get()));
        }
        self.fabric.finish(port);
        self.fabric.advance(self.fabric.now());
        while let Some(departure) = self.fabric.poll_departure() {
            let bytes = self.fabric.frame(departure.frame).to_vec();
            self.fabric.release(departure.frame);
            self.expected[departure.port.get() as usize].push_back(bytes);
        }
        Ok(())
    }

    fn out(&mut self, port: usize, bytes: &[u8]) -> Result<(), String> {
        let Some(ours) = self.expected[port].pop_front() else {
            return Err(format!("port {port} sent a frame before it could"));
        };
        self.tally.left += 1;
        if ours == bytes {
            return Ok(());
        }
        let at = ours.iter().zip(bytes).position(|(ours, theirs)| ours != theirs);
        let at = at.unwrap_or(ours.len().min(bytes.len()));
        Err(format!(
            "port {port}: {} B instead of {} B, the first difference at byte {at}\n sent      {bytes:02x?}\n reference {ours:02x?}",
            bytes.len(),
            ours.len()
        ))
    }

    fn counter(&mut self, port: usize, number: usize, value: u32) -> Result<(), String> {
        let mut counters = *self.fabric.counters(PortId::new(port as u32));
        counters.if_in_errors += u64::from(self.refused[port]);
        let rows: Vec<_> = counters.rows().collect();
        let Some((name, ours)) = rows.get(number) else {
            return Err(format!("there is no counter {number}"));
        };
        // The RTL's counters have 32 bits.
        if *ours as u32 != value {
            return Err(format!("port {port}: {name} is {value}, reference {ours}"));
        }
        match number {
            8 => self.tally.dropped += u64::from(value),
            9 => self.tally.marked += u64::from(value),
            14 => self.tally.returned += u64::from(value),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, cycles: u64) -> Result<(), String> {
        self.tally.cycles = cycles;
        for port in 0..PORTS {
            let (waiting, expected) = (self.waiting[port].len(), self.expected[port].len());
            if waiting + expected > 0 {
                return Err(format!("port {port}: {waiting} frames never arrived, {expected} never left"));
            }
        }
        match self.fabric.frames_held() {
            0 => Ok(()),
            held => Err(format!("the reference still holds {held} frames")),
        }
    }
}

/// The RTL's encoding of the events at one queue.
fn verdict(events: impl Iterator<Item = Event>) -> u16 {
    let mut verdict = QUEUED;
    for event in events {
        verdict = match event {
            Event::Trimmed => TRIMMED,
            Event::Returned => SENT_BACK,
            Event::Dropped(Dropped::DataQueueFull) => DATA_FULL,
            Event::Dropped(Dropped::ControlQueueFull) => CONTROL_FULL,
            _ => verdict,
        };
    }
    verdict
}
