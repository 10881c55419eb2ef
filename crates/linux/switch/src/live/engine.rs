//! The loop of a running switch.

use std::time::{Duration, Instant as Clock};

use pullnet_qdisc::Discipline;
use pullnet_units::{Instant, Picos, PortId};

use super::outer::Outer;
use super::status::{InterfaceStatus, Lateness, PortStatus, Status};
use super::{Command, FileCapture, LiveError};
use crate::config::{SwitchFile, Wait};
use crate::fabric::Fabric;
use crate::item::Slot;
use crate::ndp::Ndp;
use crate::settings::Departure;

/// Longest sleep of an idle loop. It waits on one interface at a time, so frames at the others can be late by this much.
const NAP: Duration = Duration::from_micros(200);

pub(crate) struct Engine<Q: Discipline<Slot>> {
    fabric: Fabric<Q, Ndp, FileCapture>,
    outer: Vec<Outer>,
    /// Index into `outer` of each port.
    of_port: Vec<Option<usize>>,
    file: SwitchFile,
    start: Clock,
    late: Lateness,
    /// Time of the latest activity.
    busy: Instant,
    /// Interface to wait on next.
    watched: usize,
}

#[expect(clippy::disallowed_methods, reason = "the one clock of a running switch")]
fn clock() -> Clock {
    Clock::now()
}

/// Sleeps if there is no interface to wait on.
#[expect(clippy::disallowed_methods, reason = "the loop of a running switch has nothing else to wait for")]
fn rest() {
    std::thread::sleep(NAP);
}

impl<Q: Discipline<Slot>> Engine<Q> {
    pub fn new(fabric: Fabric<Q, Ndp, FileCapture>, outer: Vec<Outer>, file: SwitchFile) -> Self {
        let position = |port: u32| outer.iter().position(|outer| outer.port == PortId::new(port));
        let of_port = (0..file.ports.len() as u32).map(position).collect();
        Self {
            fabric,
            of_port,
            outer,
            file,
            start: clock(),
            late: Lateness::default(),
            busy: Instant::ZERO,
            watched: 0,
        }
    }

    fn now(&self) -> Instant {
        Instant((clock().duration_since(self.start).as_nanos() as u64).saturating_mul(1000))
    }

    pub fn obey(&mut self, command: Command) {
        match command {
            Command::Fault(mut fault) => {
                let now = Picos(self.now().0);
                fault.from = fault.from.after(now);
                fault.until = fault.until.map(|until| until.after(now));
                self.fabric.fault(fault);
            }
            Command::Clear(port) => self.fabric.clear_faults(port),
            // The receiver of the status may be gone; then the reply is dropped.
            Command::Status(asker) => drop(asker.send(self.status())),
        }
    }

    /// Receives frames, advances the fabric, and sends departures.
    pub fn turn(&mut self) {
        let now = self.now();
        let received = self.receive(now);
        self.fabric.advance(now);
        let sent = self.send(now);
        if received || sent {
            self.busy = now;
        } else if self.file.wait == Wait::Adaptive && now.since(self.busy) > self.file.idle {
            self.nap(now);
        }
    }

    fn receive(&mut self, now: Instant) -> bool {
        let fabric = &mut self.fabric;
        let mut any = false;
        for outer in &mut self.outer {
            let port = outer.port;
            any |= outer.receive(now, &mut |frame| fabric.arrive(port, now, frame));
        }
        any
    }

    fn send(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(departure) = self.fabric.poll_departure() {
            any = true;
            self.late.note(now.since(departure.at).0);
            match self.of_port[departure.port.get() as usize] {
                Some(position) => self.outer[position].stuck.push_back(departure),
                // Unreachable: frames depart only from ports on interfaces.
                None => self.fabric.release(departure.frame),
            }
        }
        self.outer.iter_mut().for_each(|outer| any |= hand_over(now, outer, &mut self.fabric));
        any
    }

    /// Sleeps until a frame arrives at the watched interface, the next event is near, or [`NAP`] has passed.
    fn nap(&mut self, now: Instant) {
        let next = Duration::from_nanos(self.fabric.next_event().since(now).0 / 1000);
        self.watched = (self.watched + 1) % self.outer.len().max(1);
        let waited = self.outer.get_mut(self.watched).is_some_and(|outer| next > NAP && outer.wait(now, NAP));
        if !waited && next > NAP {
            rest();
        }
    }

    fn status(&self) -> Status {
        let port = |(number, port): (u32, &crate::config::NamedPort)| {
            let outer = self.of_port[number as usize].map(|position| &self.outer[position]);
            PortStatus {
                name: port.name.clone(),
                switch: port.switch.clone(),
                counters: *self.fabric.counters(PortId::new(number)),
                held: self.fabric.held(PortId::new(number)),
                io: outer.map(|outer| InterfaceStatus {
                    counters: outer.counters(),
                    dropped: outer.dropped,
                    trouble: outer.trouble.clone(),
                }),
            }
        };
        Status {
            name: self.file.name.clone(),
            running_ps: self.now().0,
            frames_held: self.fabric.frames_held(),
            late: self.late,
            ports: (0..).zip(&self.file.ports).map(port).collect(),
        }
    }

    /// Ends the switch and completes the capture.
    pub fn finish(mut self) -> Result<Status, LiveError> {
        let status = self.status();
        if let (Some(capture), Some(recording)) = (self.fabric.observer(), &self.file.recording) {
            let file = recording.file.clone();
            capture.finish().map_err(|error| LiveError::Capture { file, error })?;
        }
        Ok(status)
    }
}

/// Hands departures to the interface until it accepts no more. Returns whether it accepted any.
fn hand_over<Q: Discipline<Slot>>(
    now: Instant,
    outer: &mut Outer,
    fabric: &mut Fabric<Q, Ndp, FileCapture>,
) -> bool {
    let mut any = false;
    while let Some(Departure { frame, .. }) = outer.stuck.front().copied() {
        if outer.send(now, fabric.frame(frame)).is_none() {
            break;
        }
        outer.stuck.pop_front();
        fabric.release(frame);
        any = true;
    }
    if any {
        outer.flush(now);
    }
    while outer.overflows() {
        if let Some(Departure { frame, .. }) = outer.stuck.pop_front() {
            outer.dropped += 1;
            fabric.release(frame);
        }
    }
    any
}
