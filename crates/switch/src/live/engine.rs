//! The loop of a running switch.

use std::time::{Duration, Instant as Clock};

use pullnet_qdisc::Discipline;
use pullnet_units::{Instant, Picos, PortId};

use super::outer::Outer;
use super::status::{Lateness, PortStatus, Status};
use super::{Command, FileCapture, LiveError};
use crate::config::{SwitchFile, Wait};
use crate::fabric::Fabric;
use crate::item::Slot;
use crate::ndp::Ndp;
use crate::settings::Departure;

/// Frames taken from an interface before the next one has its turn.
const BURST: usize = 32;
/// How long an idle loop sleeps at a time: frames at other interfaces than the one that it waits at are late by that.
const NAP: Duration = Duration::from_micros(200);

pub(crate) struct Engine<Q: Discipline<Slot>> {
    fabric: Fabric<Q, Ndp, FileCapture>,
    outer: Vec<Outer>,
    /// Position in `outer` of each port.
    of_port: Vec<Option<usize>>,
    file: SwitchFile,
    start: Clock,
    late: Lateness,
    /// When something happened last.
    busy: Instant,
    /// Whose turn it is to be waited at.
    watched: usize,
}

#[expect(clippy::disallowed_methods, reason = "the one clock of a running switch")]
fn clock() -> Clock {
    Clock::now()
}

impl<Q: Discipline<Slot>> Engine<Q> {
    pub fn new(fabric: Fabric<Q, Ndp, FileCapture>, outer: Vec<Outer>, file: SwitchFile) -> Self {
        let position = |port: u32| outer.iter().position(|outer| outer.port == PortId(port));
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
                (fault.from, fault.until) = (fault.from.after(now), fault.until.after(now));
                self.fabric.fault(fault);
            }
            Command::Clear(port) => self.fabric.clear_faults(port),
            // Whoever asked may have gone.
            Command::Status(asker) => drop(asker.send(self.status())),
        }
    }

    /// Takes what has arrived, lets happen what is due, and sends what has left.
    pub fn turn(&mut self) -> Result<(), LiveError> {
        let now = self.now();
        let received = self.receive(now)?;
        self.fabric.advance(now);
        let sent = self.send(now)?;
        if received || sent {
            self.busy = now;
        } else if self.file.wait == Wait::Adaptive && now.since(self.busy) > self.file.idle {
            self.nap(now)?;
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant) -> Result<bool, LiveError> {
        let mut any = false;
        let fabric = &mut self.fabric;
        for outer in &mut self.outer {
            let port = outer.port;
            let got = outer.io.receive(BURST, &mut |frame| fabric.arrive(port, now, frame));
            any |= got.map_err(|error| outer.fails(error))? > 0;
        }
        Ok(any)
    }

    fn send(&mut self, now: Instant) -> Result<bool, LiveError> {
        let mut any = false;
        while let Some(departure) = self.fabric.poll_departure() {
            any = true;
            self.late.note(now.since(departure.at).0);
            match self.of_port[departure.port.0 as usize] {
                Some(position) => self.outer[position].stuck.push_back(departure),
                // Not possible: only ports on interfaces let frames depart.
                None => self.fabric.release(departure.frame),
            }
        }
        for outer in &mut self.outer {
            any |= hand_over(outer, &mut self.fabric)?;
        }
        Ok(any)
    }

    /// Sleeps until a frame arrives at one interface, the next event is near, or a short time has passed.
    fn nap(&mut self, now: Instant) -> Result<(), LiveError> {
        let next = Duration::from_nanos(self.fabric.next_event().since(now).0 / 1000);
        self.watched = (self.watched + 1) % self.outer.len().max(1);
        match self.outer.get_mut(self.watched) {
            Some(outer) if next > NAP => outer.io.wait(None, NAP).map_err(|error| outer.fails(error)),
            _ => Ok(()),
        }
    }

    fn status(&self) -> Status {
        let port = |(number, port): (u32, &crate::config::NamedPort)| {
            let outer = self.of_port[number as usize].map(|position| &self.outer[position]);
            PortStatus {
                name: port.name.clone(),
                switch: port.switch.clone(),
                counters: *self.fabric.counters(PortId(number)),
                held: self.fabric.held(PortId(number)),
                io: outer.map(|outer| outer.io.counters()),
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

    /// The end: the capture is complete.
    pub fn finish(mut self) -> Result<Status, LiveError> {
        let status = self.status();
        if let (Some(capture), Some(recording)) = (self.fabric.observer(), &self.file.recording) {
            let file = recording.file.clone();
            capture.finish().map_err(|error| LiveError::Capture { file, error })?;
        }
        Ok(status)
    }
}

/// Gives the interface as many departures as it takes.
fn hand_over<Q: Discipline<Slot>>(
    outer: &mut Outer,
    fabric: &mut Fabric<Q, Ndp, FileCapture>,
) -> Result<bool, LiveError> {
    let mut any = false;
    while let Some(Departure { frame, .. }) = outer.stuck.front().copied() {
        let bytes = fabric.frame(frame);
        let mut fill = |room: &mut [u8]| {
            // Longer than the interface carries: it sends nothing, and counts it.
            let Some(room) = room.get_mut(..bytes.len()) else { return 0 };
            room.copy_from_slice(bytes);
            bytes.len()
        };
        if !outer.io.send(&mut fill).map_err(|error| outer.fails(error))? {
            break;
        }
        outer.stuck.pop_front();
        fabric.release(frame);
        any = true;
    }
    outer.io.flush().map_err(|error| outer.fails(error))?;
    Ok(any)
}
