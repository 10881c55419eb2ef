//! Random early detection.

use pullnet_qdisc::{DropReason, Outcome, Red, RedConfig};
use pullnet_units::Picos;

use crate::common::{Pkt, capable, data};
use crate::port::{FULL, Port};

fn red(weight: f64, even: bool) -> Port<Red<Pkt>> {
    Port::new(&RedConfig { weight, even, probability: 0.5, ..RedConfig::default() })
}

#[test]
fn red_without_averaging_marks_by_the_queue_itself() {
    let mut port = red(1.0, false);
    port.fill((0..6).map(|id| capable(id, FULL)));
    // Six packets lie a tenth of the way from 5 to 15: the probability is 0.05.
    assert_eq!(port.draw(capable(6, FULL), 0.051), None);
    assert!(matches!(port.draw(capable(7, FULL), 0.099), Some(Outcome::Marked(_))));
    assert!(matches!(port.draw(data(8, FULL), 0.149), Some(Outcome::Dropped { why: DropReason::Early, .. })));
    (8..15).for_each(|id| assert_eq!(port.draw(capable(id, FULL), 0.999), None));
    // From `high` on every packet is chosen.
    assert!(matches!(port.put(capable(15, FULL)), Some(Outcome::Marked(_))));
    assert!(matches!(port.put(data(16, FULL)), Some(Outcome::Dropped { why: DropReason::Early, .. })));
}

#[test]
fn red_spreads_marks_evenly() {
    let mut port = red(1.0, true);
    port.fill((0..10).map(|id| capable(id, FULL)).take(6));
    // At a steady queue of ten the base is 1/4: after a mark the probabilities are 1/3, 1/2 and 1.
    (6..10).for_each(|id| assert_eq!(port.draw(capable(id, FULL), 0.999), None));
    let mut port_at_ten = |number| {
        let outcome = port.draw(capable(50, FULL), number);
        port.serve();
        outcome.is_some()
    };
    assert!(port_at_ten(0.0));
    assert!(!port_at_ten(0.34) && !port_at_ten(0.51) && port_at_ten(0.999));
}

#[test]
fn red_forgets_while_the_port_is_idle() {
    let mut port = red(0.5, false);
    (0..12).for_each(|id| assert_eq!(port.draw(capable(id, FULL), 0.999), None));
    (0..12).for_each(|_| assert!(port.serve().is_some()));
    // A hundred packet times at 10 Gb/s later the average is near zero.
    port.now = port.now.after(Picos(100 * 1_200_000));
    assert_eq!(port.put(capable(20, FULL)), None);
}

#[test]
fn red_also_forgets_while_an_empty_port_drops() {
    let mut port = red(0.02, false);
    let dropped =
        |outcome| matches!(outcome, Some(Outcome::Dropped { why: DropReason::Early, packet: _, trimmed: _ }));
    for id in 0..100 {
        let _ = port.draw(data(id, FULL), 0.999);
    }
    while port.serve().is_some() {}
    // The port is empty, and its average of about 30 packets refuses what comes. Twenty packet times are too few, and so are as
    // many again; they count together.
    let mut after_a_while = |id| {
        port.now = port.now.after(Picos(20 * 1_200_000));
        dropped(port.draw(data(id, FULL), 0.999))
    };
    assert_eq!([200, 201, 202].map(&mut after_a_while), [true, false, false]);
}
