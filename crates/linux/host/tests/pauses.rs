//! A thread that had to wait for a processor finds timers that are due, and answers that have arrived meanwhile.

mod common;

use common::*;
use pullnet_host::{Engine, Intake};
use pullnet_netio::{PacketIo, RingOptions, Rings};
use pullnet_units::{Instant, Picos};
use pullnet_wire::PORT;

const SERVICE: u16 = 7;

/// A host as a driver sees it.
struct Driven {
    engine: Engine,
    io: Rings,
    intake: Intake,
}

impl Driven {
    fn pair() -> [Self; 2] {
        let (here, there) = Rings::pair(RingOptions::default());
        let mut host = 0;
        [here, there].map(|io| {
            host += 1;
            Self { engine: Engine::new(options(host - 1)).unwrap(), intake: Intake::new(io.frame_room()), io }
        })
    }

    fn take(&mut self, now: Instant) -> usize {
        self.intake.take(&mut self.io, &mut self.engine, now).unwrap().0
    }

    fn send(&mut self, now: Instant) {
        let mut long = 1;
        while long > 0 {
            let fill = &mut |room: &mut [u8]| {
                long = self.engine.transmit(now, &mut room[..1514]);
                long
            };
            assert!(self.io.send(fill).unwrap());
        }
    }

    fn timeouts(&self) -> u64 {
        self.engine.status().totals.counts.timeouts
    }
}

/// A host that has just sent the first window of a long stream, and the host that it goes to.
fn sending(now: Instant) -> [Driven; 2] {
    let [mut from, mut to] = Driven::pair();
    to.engine.listen(SERVICE).unwrap();
    let peer = std::net::SocketAddr::new(address(1, false), PORT);
    let id = from.engine.connect(now, peer, SERVICE, Default::default()).unwrap();
    from.engine.resolved(now, peer.ip(), Some(mac(1)));
    to.engine.recognised(now, address(0, false), Some(mac(0)));
    from.engine.write(now, id, &[7; 200_000]).unwrap();
    // A token, and then the data.
    from.send(now);
    to.take(now);
    to.send(now);
    from.take(now);
    from.send(now);
    [from, to]
}

#[test]
fn answers_that_wait_for_the_thread_count_before_its_timers() {
    let mut now = Instant(1_000_000_000);
    let [mut from, mut to] = sending(now);
    // Every packet is answered alone, so that more answers wait than one call usually takes.
    let mut answered = 0;
    while let got @ 1.. = to.io.receive(1, &mut |frame| to.engine.receive(now, frame)).unwrap() {
        answered += got;
        to.send(now);
    }
    assert!(answered > 20, "{answered}");
    now = now + Picos::from_millis(50);
    assert!(from.engine.deadline().is_some_and(|due| due < now), "timers are due");
    assert!(from.take(now) >= answered);
    assert_eq!(from.timeouts(), 0);
}

#[test]
fn answers_leave_as_soon_as_ever_while_no_timer_is_due() {
    let now = Instant(1_000_000_000);
    let [_from, mut to] = sending(now);
    let later = now + Picos::from_millis(1);
    assert!(to.engine.deadline().is_none_or(|due| due > later), "no timer is due");
    let taken = to.take(later);
    assert!(taken < 20, "{taken} frames before the first answer");
    assert!(to.take(later) > 0, "more wait");
}

#[test]
fn packets_without_an_answer_still_time_out_after_a_pause() {
    let now = Instant(1_000_000_000);
    let [mut from, _to] = sending(now);
    from.take(now + Picos::from_millis(50));
    assert!(from.timeouts() > 20, "{}", from.timeouts());
}
