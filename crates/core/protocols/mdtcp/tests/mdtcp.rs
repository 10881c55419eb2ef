//! The parts of MDTCP that come from DCTCP and from MPTCP.

use pullnet_mdtcp::{Mdtcp, MdtcpConfig, MdtcpEndpoint};
use pullnet_mptcp::{MultipathHeader, SubflowAck, SubflowData};
use pullnet_rng::Seed;
use pullnet_transport::script::{Arriving, Script};
use pullnet_transport::{ConnId, FlowSpec, HostAddr, HostInfo, Protocol};
use pullnet_units::{BitsPerSec, Bytes, Packets, Picos};

const THERE: HostAddr = HostAddr(2);
const CONN: ConnId = ConnId::new(7);

fn host() -> Script<MdtcpEndpoint> {
    let config = MdtcpConfig {
        mtu: Bytes(1000),
        subflows: 2,
        handshake: false,
        delayed_ack: false,
        initial_window: Packets(4),
        initial_threshold: Some(Packets(4)),
        ..MdtcpConfig::default()
    };
    let info = HostInfo { addr: HostAddr(1), rate: BitsPerSec::gbps(10) };
    let mut s = Script::new(Mdtcp::endpoint(&config, info, Seed(1).stream("test.transport", 1)));
    s.opens(FlowSpec { conn: CONN, to: THERE, paths: 4, ..FlowSpec::default() });
    s
}

fn ack(subflow: u32, cumulative: u32, echo: bool) -> Arriving<MultipathHeader> {
    let (data_ack, answers, finished, ranges) = (0, 0, false, Default::default());
    let ack = SubflowAck { conn: CONN, subflow, cumulative, data_ack, answers, echo, finished, ranges };
    let header = MultipathHeader::Ack(ack);
    Arriving::new(THERE, 64, header)
}

/// Window and alpha of a subflow.
fn state(s: &mut Script<MdtcpEndpoint>, index: usize) -> (f64, f64) {
    let mut found = None;
    s.does(|host, _| found = host.subflow(THERE, CONN, index));
    let control = found.and_then(|subflow| subflow.insight).expect("an open subflow").control;
    (control.reno.window, control.alpha)
}

#[test]
fn data_is_ecn_capable_and_its_mark_is_echoed_on_its_subflow() {
    let mut s = host();
    assert!(s.sent().iter().all(|sent| sent.packet.ect));
    let header = MultipathHeader::Data(SubflowData {
        conn: CONN,
        subflow: 1,
        seq: 0,
        data: 0,
        opens: true,
        last: false,
    });
    s.receives(Arriving::new(THERE, 1058, header).marked());
    let [answer] = s.sent()[..] else { panic!("one ACK") };
    assert!(matches!(answer.packet.header, MultipathHeader::Ack(SubflowAck { subflow: 1, echo: true, .. })));
    assert!(!answer.packet.ect);
}

#[test]
fn a_mark_reduces_the_window_of_its_subflow_alone() {
    let mut s = host();
    s.at(Picos::from_micros(100)).receives(ack(0, 1, true));
    // Alpha begins at 1: the first mark halves the window.
    assert_eq!(state(&mut s, 0), (2.0, 1.0));
    assert_eq!(state(&mut s, 1), (4.0, 1.0));
}

#[test]
fn growth_is_coupled() {
    let mut s = host();
    s.at(Picos::from_micros(100)).receives(ack(0, 1, false)).receives(ack(1, 1, false));
    let (grown, before) = (state(&mut s, 0).0, state(&mut s, 1).0);
    assert_eq!((grown, before), (4.25, 4.0 + 1.0 / 4.25));
    s.receives(ack(1, 2, false));
    // Equal round-trip times: the larger window over the square of the sum.
    let step = state(&mut s, 1).0 - before;
    let sum = grown + before;
    assert!((step - grown / (sum * sum)).abs() < 1e-9, "{step}");
}
