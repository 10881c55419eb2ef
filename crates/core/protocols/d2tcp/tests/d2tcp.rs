//! D2TCP: the same marks, and deadlines that are far, near, over, or absent.

use pullnet_d2tcp::{D2tcp, D2tcpConfig, D2tcpControl, D2tcpEndpoint, Segment};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, HostInfo, Protocol};
use pullnet_units::{BitsPerSec, Bytes, Instant, Packets, Picos};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

const fn us(n: u64) -> Picos {
    Picos::from_micros(n)
}

/// The control of a flow of 100 packets with a window of 16, alpha at 0.5 and a round trip of 100 us, after one mark at 100 us.
fn marked(deadline: Option<Picos>) -> D2tcpControl {
    let config = D2tcpConfig {
        mtu: Bytes(1000),
        initial_window: Packets(16),
        handshake: false,
        delayed_ack: false,
        gain: 0.0001,
        initial_alpha: 0.5,
        ..D2tcpConfig::default()
    };
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(10) };
    let mut s: Script<D2tcpEndpoint> =
        Script::new(D2tcp::endpoint(&config, info, Seed(1).stream("test.transport", 1)));
    let deadline = deadline.map(|after| Instant(after.0));
    let size = Some(Bytes(100_000));
    s.opens(FlowSpec { conn: CONN, to: THERE, size, deadline, ..FlowSpec::default() }).sent();
    let ack = |cumulative, echo| {
        let (answers, ranges) = (cumulative - 1, Default::default());
        Arriving::new(
            THERE,
            64,
            Segment::Ack { conn: CONN, cumulative, answers, echo, finished: false, ranges },
        )
    };
    // The first ACK gives a round trip, the second one the mark.
    s.at(us(100)).receives(ack(1, false)).receives(ack(2, true)).sent();
    let mut seen = None;
    s.does(|endpoint, _| seen = endpoint.insight(THERE, CONN));
    seen.expect("the flow is open").control
}

/// The window after the mark: 17 packets, less half of alpha to the power of `urgency`.
fn reduced(control: &D2tcpControl, urgency: f64) -> f64 {
    17.0 * (1.0 - libm::pow(control.0.alpha, urgency) / 2.0)
}

#[test]
fn a_flow_without_a_deadline_is_dctcp() {
    let control = marked(None);
    assert!((control.0.reno.window - reduced(&control, 1.0)).abs() < 1e-9, "{control:?}");
}

#[test]
fn far_deadlines_yield_more_and_near_ones_less() {
    let [far, near] = [us(1_000_000), us(200)].map(|deadline| marked(Some(deadline)));
    assert_eq!((far.0.exponent, near.0.exponent), (0.5, 2.0));
    assert!((far.0.reno.window - reduced(&far, 0.5)).abs() < 1e-9, "{far:?}");
    assert!((near.0.reno.window - reduced(&near, 2.0)).abs() < 1e-9, "{near:?}");
}

#[test]
fn between_the_bounds_the_urgency_is_the_time_needed_over_the_time_left() {
    // 98 packets are left, and the first ACK has made the window 17: 98 / 12.75 rounds of 100 us.
    let control = marked(Some(us(1_100)));
    let needed = 98.0 / (0.75 * 17.0) * 100e-6;
    assert!((control.0.exponent - needed / 1e-3).abs() < 1e-9, "{control:?}");
    assert!((control.0.reno.window - reduced(&control, control.0.exponent)).abs() < 1e-9);
}

#[test]
fn after_the_deadline_a_flow_is_dctcp() {
    let control = marked(Some(us(50)));
    assert_eq!(control.0.exponent.to_bits(), 1f64.to_bits());
}
