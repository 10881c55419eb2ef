//! One set of conversations between two hosts, run unchanged in three worlds: the simulator, frames on in-process rings in
//! virtual time, and frames on real interfaces in real time.
//!
//! A conversation ([`talk::Talk`]) defines who sends, what the network does to which packet, and what each host must send
//! and report. Every world carries the packets in its own way and produces a record; the rest is shared.
//!
//! Streams of bytes have conversations of their own ([`streams`]), with the switch of frames in place of the simulator.
//!
//! The result is the same in every world because each host sees one sequence of packets and answers each before it sees the
//! next. The network keeps their order unless the script changes it. The packets of hosts are therefore independent of speed,
//! provided that timers expire only when nothing is in flight.

mod conversation;
mod frames;
#[path = "../../../netio/tests/common/mod.rs"]
mod namespaces;
mod script;
mod seen;
mod simulator;
mod streams;
mod talk;
mod talks;
mod time;

use pullnet_netio::{PacketOptions, PacketSocket, RingOptions, Rings};
use pullnet_record::RunRecord;
use pullnet_testbed::Socket;

use conversation::Outline;
use frames::Lines;
use script::Which;
use streams::Dialogue;
use talk::Talk;

/// Runs conversations, and reports all deviations.
fn hold<T>(
    all: &[T],
    outline: impl Fn(&T) -> &Outline,
    mut world: impl FnMut(&T, u32) -> (String, Vec<Which>),
) {
    let mut wrong = Vec::new();
    for (number, conversation) in (0..).zip(all) {
        let (seen, unplayed) = world(conversation, number);
        wrong.extend(outline(conversation).check(&seen, &unplayed));
    }
    assert!(wrong.is_empty(), "{} of {}:\n\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// Runs every conversation of flows in one world.
fn hold_flows(mut world: impl FnMut(&Talk, u32) -> (RunRecord, Vec<Which>)) {
    let talks = talks::all();
    assert!(talks.len() >= 60, "only {} conversations", talks.len());
    hold(
        &talks,
        |talk| &talk.outline,
        |talk, number| {
            let (record, unplayed) = world(talk, number);
            (seen::text(&record), unplayed)
        },
    );
}

/// Runs every conversation of streams in one world.
fn hold_streams(world: impl FnMut(&Dialogue, u32) -> (String, Vec<Which>)) {
    let dialogues = streams::all();
    assert!(dialogues.len() >= 25, "only {} conversations", dialogues.len());
    hold(&dialogues, |dialogue| &dialogue.outline, world);
}

/// Lines within this process.
fn rings() -> Lines {
    Lines::new([0, 1].map(|_| {
        let (near, far) = Rings::pair(RingOptions::default());
        [Box::new(near) as Socket, Box::new(far) as Socket]
    }))
}

/// The veth pairs for lines on real interfaces; `None`, with a message, where they cannot be created.
fn veths() -> Option<[namespaces::Veth; 2]> {
    Some([namespaces::Veth::make(1500)?, namespaces::Veth::make(1500)?])
}

/// Lines on real interfaces.
fn wires(veths: &[namespaces::Veth; 2]) -> Lines {
    let open = || PacketSocket::open("eth", &PacketOptions::default());
    Lines::new(veths.each_ref().map(|veth| {
        veth.open(open).expect("a socket in a namespace of ours").map(|socket| Box::new(socket) as Socket)
    }))
}

#[test]
fn flows_in_the_simulator() {
    hold_flows(|talk, _| simulator::play(talk));
}

#[test]
fn flows_on_rings() {
    let mut lines = rings();
    hold_flows(|talk, number| lines.play(talk, number, &time::Virtual::default()));
}

#[test]
fn flows_on_veth() {
    let Some(veths) = veths() else { return };
    let mut lines = wires(&veths);
    hold_flows(|talk, number| lines.play(talk, number, &time::Wall::default()));
}

#[test]
fn streams_over_the_switch() {
    hold_streams(streams::switched::play);
}

#[test]
fn streams_on_rings() {
    let mut lines = rings();
    hold_streams(|dialogue, number| streams::play(&mut lines, dialogue, number, &time::Virtual::default()));
}

#[test]
fn streams_on_veth() {
    let Some(veths) = veths() else { return };
    let mut lines = wires(&veths);
    hold_streams(|dialogue, number| streams::play(&mut lines, dialogue, number, &time::Wall::default()));
}
