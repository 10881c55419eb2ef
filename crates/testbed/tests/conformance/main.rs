//! One body of conversations between two hosts, unchanged in three worlds: the simulator, frames on in-process rings in
//! virtual time, and frames on real interfaces with a real clock.
//!
//! A conversation ([`talk::Talk`]) says who sends what, what the network does to which packet, and what either host must
//! send and report. Every world carries the packets in its own way and leaves a record; all else is written once.
//!
//! It is the same in every world because each host sees one sequence of packets, in which the network keeps the order
//! unless the script changes it, and answers one before it sees the next. Then what hosts send does not depend on how fast
//! anything is, as long as timers run out only when nothing is under way.

mod frames;
#[path = "../../../netio/tests/common/mod.rs"]
mod namespaces;
mod script;
mod seen;
mod simulator;
mod talk;
mod talks;
mod time;

use pullnet_netio::{PacketOptions, PacketSocket, RingOptions, Rings};
use pullnet_record::RunRecord;
use pullnet_testbed::Socket;

use frames::Lines;
use script::Which;
use talk::Talk;

/// Holds every conversation in one world, and shows all that went otherwise than it must.
fn hold(mut world: impl FnMut(&Talk, u32) -> (RunRecord, Vec<Which>)) {
    let talks = talks::all();
    let mut wrong = Vec::new();
    for (number, talk) in (0..).zip(&talks) {
        let (record, unplayed) = world(talk, number);
        wrong.extend(talk.check(&seen::text(&record), &unplayed));
    }
    assert!(talks.len() >= 40, "only {} conversations", talks.len());
    assert!(wrong.is_empty(), "{} of {}:\n\n{}", wrong.len(), talks.len(), wrong.join("\n"));
}

#[test]
fn simulator() {
    hold(|talk, _| simulator::play(talk));
}

#[test]
fn rings() {
    let mut lines = Lines::new([0, 1].map(|_| {
        let (near, far) = Rings::pair(RingOptions::default());
        [Box::new(near) as Socket, Box::new(far) as Socket]
    }));
    hold(|talk, number| lines.play(talk, number, &mut time::Virtual::default()));
}

#[test]
fn veth() {
    let veths = [0, 1].map(|_| namespaces::Veth::make(1500));
    let [Some(a), Some(b)] = &veths else { return };
    let open = || PacketSocket::open("eth", &PacketOptions::default());
    let mut lines = Lines::new([a, b].map(|veth| {
        veth.open(open).expect("a socket in a namespace of ours").map(|socket| Box::new(socket) as Socket)
    }));
    hold(|talk, number| lines.play(talk, number, &mut time::Wall::default()));
}
