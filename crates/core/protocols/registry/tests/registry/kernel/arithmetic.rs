//! Congestion control as Linux calculates it, written from what its windows do and from RFC 5681 and RFC 8257: windows,
//! thresholds and counters are whole numbers, and DCTCP's estimate counts in 1024ths.
//!
//! Where a transport differs from Linux and this does not, these rules are all the difference.

use pullnet_window::{Acked, Control};

use super::ours::{Shown, State};

/// Least threshold after a reduction. Packets.
const LEAST: u32 = 2;
/// DCTCP's estimate if everything is marked.
const ALL: u32 = 1024;
/// The gain of DCTCP's estimate is 1 / 2^4.
const SHIFT: u32 = 4;

/// NewReno in whole packets.
#[derive(Clone, Debug)]
pub struct WholeReno {
    window: u32,
    threshold: u32,
    /// Packets acknowledged in congestion avoidance since the window has grown.
    counted: u32,
    /// From a loss on until the window may grow again: a timeout then does not lower the threshold once more.
    recovering: bool,
}

impl WholeReno {
    fn grow(&mut self, mut packets: u32) {
        if self.window < self.threshold {
            let slow = packets.min(self.threshold - self.window);
            self.window += slow;
            packets -= slow;
        }
        if packets == 0 {
            return;
        }
        if self.counted >= self.window {
            self.counted = 0;
            self.window += 1;
        }
        self.counted += packets;
        let steps = self.counted / self.window;
        self.counted -= steps * self.window;
        self.window += steps;
    }

    fn is_used(&self, peak: u32) -> bool {
        if self.window < self.threshold { self.window < 2 * peak } else { peak >= self.window }
    }

    fn reduce(&mut self, threshold: u32) {
        self.threshold = threshold.max(LEAST);
        self.window = self.threshold;
        self.counted = 0;
    }
}

impl Control for WholeReno {
    type Rules = ();

    fn open((): &(), window: u32) -> Self {
        Self { window, threshold: u32::MAX, counted: 0, recovering: false }
    }

    fn window(&self) -> u32 {
        self.window.max(1)
    }

    fn on_ack(&mut self, (): &(), ack: &Acked) {
        if ack.grows {
            self.recovering = false;
            if self.is_used(ack.peak) {
                self.grow(ack.packets);
            }
        }
    }

    fn on_loss(&mut self, (): &(), _: u32) {
        self.reduce(self.window / 2);
        self.recovering = true;
    }

    fn on_timeout(&mut self, (): &(), _: u32, repeated: bool) {
        if !repeated && !self.recovering {
            self.reduce(self.window / 2);
        }
        (self.window, self.counted, self.recovering) = (1, 0, false);
    }
}

impl Shown for WholeReno {
    fn state(&self) -> State {
        let threshold = if self.threshold == u32::MAX { f64::INFINITY } else { self.threshold.into() };
        State { window: self.window.into(), threshold, alpha: None }
    }
}

/// DCTCP in whole packets and 1024ths.
#[derive(Clone, Debug)]
pub struct WholeDctcp {
    reno: WholeReno,
    alpha: u32,
    delivered: u32,
    marked: u32,
    /// An observation ends with the ACK of this packet; RFC 8257 ends it with the next one.
    window_end: u32,
    /// The window neither grows nor shrinks before an ACK beyond this packet.
    reduced_until: Option<u32>,
}

impl WholeDctcp {
    /// Linux closes an observation before it counts the ACK that closes it.
    fn observe(&mut self, ack: &Acked) {
        if ack.first >= self.window_end {
            self.alpha -= if self.alpha >> SHIFT == 0 { self.alpha } else { self.alpha >> SHIFT };
            if self.marked > 0 {
                let share = (self.marked << (10 - SHIFT)) / self.delivered.max(1);
                self.alpha = (self.alpha + share).min(ALL);
            }
            (self.delivered, self.marked, self.window_end) = (0, 0, ack.next);
        }
        self.delivered += ack.packets;
        self.marked += if ack.echo { ack.packets } else { 0 };
    }

    fn is_reduced(&self, ack: &Acked) -> bool {
        self.reduced_until.is_some_and(|until| ack.first <= until)
    }
}

impl Control for WholeDctcp {
    type Rules = ();

    fn open((): &(), window: u32) -> Self {
        let reno = WholeReno::open(&(), window);
        Self { reno, alpha: ALL, delivered: 0, marked: 0, window_end: 0, reduced_until: None }
    }

    fn window(&self) -> u32 {
        self.reno.window()
    }

    fn on_ack(&mut self, (): &(), ack: &Acked) {
        if ack.echo {
            // Seen by `on_mark` already.
            return;
        }
        self.observe(ack);
        if !self.is_reduced(ack) {
            self.reno.on_ack(&(), ack);
        }
    }

    fn on_mark(&mut self, (): &(), ack: &Acked) {
        self.observe(ack);
        if !self.is_reduced(ack) {
            let window = self.reno.window;
            self.reno.reduce(window - ((window * self.alpha) >> 11));
            self.reduced_until = Some(ack.next);
        }
    }

    fn on_loss(&mut self, (): &(), flight: u32) {
        self.reno.on_loss(&(), flight);
    }

    fn on_timeout(&mut self, (): &(), flight: u32, repeated: bool) {
        self.reno.on_timeout(&(), flight, repeated);
    }
}

impl Shown for WholeDctcp {
    fn state(&self) -> State {
        State { alpha: Some(f64::from(self.alpha) / f64::from(ALL)), ..self.reno.state() }
    }
}
