//! Pause frames and their effect on a port: IEEE 802.1Qbb per priority, IEEE 802.3x for a whole link.

use pullnet_qdisc::Signal;
use pullnet_units::{BitsPerSec, Bytes, Instant, Picos};

use crate::mac::Mac;

/// Destination address of pause frames. A switch never forwards a frame to this address.
pub(crate) const PAUSE: Mac = Mac::new([0x01, 0x80, 0xc2, 0, 0, 1]);

/// Source address of pause frames sent here: ports have no addresses of their own.
const FROM: [u8; 6] = [0x02, 0x70, 0x6e, 0, 0, 1];
/// EtherType of MAC control, followed by the opcodes.
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];
const PRIORITIES: [u8; 2] = [0x01, 0x01];
const LINK: [u8; 2] = [0x00, 0x01];
/// Longest pause that a frame can express, for pauses without an end. Quanta.
const LONGEST: u16 = u16::MAX;

/// Builds a pause frame, the shortest possible Ethernet frame.
pub(crate) fn write(signal: Signal) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&PAUSE.bytes());
    frame[6..12].copy_from_slice(&FROM);
    frame[12..14].copy_from_slice(&MAC_CONTROL);
    frame[14..16].copy_from_slice(&PRIORITIES);
    // All priorities are enabled in the frame; those not paused have zero quanta.
    frame[17] = u8::MAX;
    for priority in (0..8).filter(|priority| signal.paused >> priority & 1 != 0) {
        frame[18 + 2 * priority..20 + 2 * priority].copy_from_slice(&quanta(signal).to_be_bytes());
    }
    frame
}

fn quanta(signal: Signal) -> u16 {
    if signal.quanta == 0 { LONGEST } else { signal.quanta }
}

/// Quanta of each priority enabled in the frame; `None` if it is not a pause frame.
pub(crate) fn read(frame: &[u8]) -> Option<[Option<u16>; 8]> {
    let field = |at: usize| frame.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    if frame.get(12..14)? != MAC_CONTROL {
        return None;
    }
    match frame.get(14..16)?.try_into().ok()? {
        LINK => Some([Some(field(16)?); 8]),
        PRIORITIES => {
            let (named, _) = (*frame.get(17)?, field(32)?);
            Some(core::array::from_fn(|n| (named >> n & 1 != 0).then(|| field(18 + 2 * n)).flatten()))
        }
        _ => None,
    }
}

/// Duration of `quanta` on a link.
fn time(quanta: u16, rate: BitsPerSec) -> Picos {
    rate.serialization(Bytes(64 * u64::from(quanta)))
}

/// Pause state of a port in both directions.
#[derive(Clone, Debug)]
pub(crate) struct Pauses {
    /// Time from which each priority may be sent again.
    until: [Instant; 8],
    /// Latest signal to the neighbour.
    pub told: Signal,
    /// Time at which the signal is repeated.
    repeat: Instant,
    /// Whether the signal is still to be sent.
    pub pending: bool,
    /// Whether a pause frame is in service.
    pub sending: bool,
}

impl Default for Pauses {
    fn default() -> Self {
        let told = Signal { paused: 0, quanta: 0 };
        Self { until: [Instant::ZERO; 8], told, repeat: Instant::NEVER, pending: false, sending: false }
    }
}

impl Pauses {
    /// Bit mask of the priorities that are paused now.
    pub fn mask(&self, now: Instant) -> u8 {
        (0..8).filter(|n| self.until[*n] > now).map(|n| 1 << n).sum()
    }

    /// Applies a received pause frame.
    pub fn obey(&mut self, named: [Option<u16>; 8], now: Instant, rate: BitsPerSec) {
        for (until, quanta) in self.until.iter_mut().zip(named) {
            if let Some(quanta) = quanta {
                *until = now.after(time(quanta, rate));
            }
        }
    }

    /// Schedules `signal` to the neighbour.
    pub fn tell(&mut self, signal: Signal, now: Instant, rate: BitsPerSec) {
        (self.told, self.pending) = (signal, true);
        let half = Picos(time(quanta(signal), rate).0 / 2);
        self.repeat = if signal.paused == 0 { Instant::NEVER } else { now.after(half) };
    }

    /// Takes the frame to send now.
    pub fn take_pending(&mut self) -> [u8; 60] {
        (self.pending, self.sending) = (false, true);
        write(self.told)
    }

    /// Schedules the latest pause signal again if its repetition is due.
    pub fn repeat(&mut self, now: Instant, rate: BitsPerSec) {
        if self.repeat <= now {
            self.tell(self.told, now, rate);
        }
    }

    /// Time at which a pause expires, or a signal is to be repeated.
    pub fn next_change(&self, now: Instant) -> Instant {
        let ends = self.until.iter().copied().filter(|until| *until > now).min().unwrap_or(Instant::NEVER);
        if self.pending { ends } else { ends.min(self.repeat) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_what_the_signal_says() {
        let frame = write(Signal { paused: 0b1000_0010, quanta: 513 });
        assert_eq!(frame[..18], [1, 0x80, 0xc2, 0, 0, 1, 2, 0x70, 0x6e, 0, 0, 1, 0x88, 8, 1, 1, 0, 255]);
        let mut named = [Some(0); 8];
        (named[1], named[7]) = (Some(513), Some(513));
        assert_eq!(read(&frame), Some(named));
        assert_eq!(read(&write(Signal { paused: 1, quanta: 0 })).unwrap()[0], Some(65_535));
    }

    #[test]
    fn a_pause_of_the_link_pauses_every_priority() {
        let mut frame = [0; 60];
        frame[12..18].copy_from_slice(&[0x88, 8, 0, 1, 1, 2]);
        assert_eq!(read(&frame), Some([Some(258); 8]));
    }

    #[test]
    fn what_is_no_pause_frame_is_not_read() {
        let whole = write(Signal { paused: 1, quanta: 7 });
        for length in 0..34 {
            assert_eq!(read(&whole[..length]), None, "{length} bytes");
        }
        for (at, byte) in [(12, 0), (13, 0), (14, 2), (15, 7)] {
            let mut other = whole;
            other[at] = byte;
            assert_eq!(read(&other), None, "byte {at} is {byte}");
        }
    }

    #[test]
    fn pauses_end_in_time_and_are_repeated_at_half_of_it() {
        let (rate, mut pauses) = (BitsPerSec::gbps(10), Pauses::default());
        // A quantum at 10 Gb/s is 51.2 ns.
        pauses.obey(read(&write(Signal { paused: 0b11, quanta: 1000 })).unwrap(), Instant(5), rate);
        let end = Instant(51_200_005);
        assert_eq!((pauses.mask(Instant(6)), pauses.next_change(Instant(6))), (0b11, end));
        assert_eq!((pauses.mask(end), pauses.next_change(end)), (0, Instant::NEVER));
        pauses.tell(Signal { paused: 1, quanta: 1000 }, Instant(0), rate);
        pauses.take_pending();
        assert_eq!(pauses.next_change(end), Instant(25_600_000));
        pauses.repeat(Instant(25_600_000), rate);
        assert!(pauses.pending);
        pauses.tell(Signal { paused: 0, quanta: 1000 }, Instant(0), rate);
        pauses.take_pending();
        assert_eq!(pauses.next_change(end), Instant::NEVER);
    }
}
