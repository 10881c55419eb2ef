//! Streams over the simulator's switch discipline with real frames, in virtual time.

use pullnet_netio::{PacketIo, RingOptions, Rings};
use pullnet_qdisc::{Trim, TrimConfig};
use pullnet_switch::{Entry, Fabric, FabricSettings, Mac, Ndp, PortSettings, Selection, Silent, Slot};
use pullnet_testbed::{Clock, Socket};
use pullnet_units::{BitsPerSec, NodeId, Picos, PortId};

use super::dialogue::{Dialogue, mac};
use super::heard::Heard;
use super::pair::Pair;
use crate::frames::{FLIGHT, Hosts, Middle};
use crate::script::Which;
use crate::time::{Time, Virtual};

/// A switch with one port per host, on lines like those in conversations of flows.
fn switch() -> Fabric<Trim<Slot>, Ndp, Silent> {
    let port = PortSettings {
        node: NodeId::new(0),
        rate: BitsPerSec::gbps(100),
        delay: Picos::from_micros(10),
        paced: true,
        peer: None,
    };
    let mut fabric =
        Fabric::new(&TrimConfig::default(), FabricSettings::default(), &[port; 2], Ndp::default(), Silent)
            .expect("ports without peers");
    for host in 0..2 {
        let entry = Entry { ports: vec![PortId::new(host)], selection: Selection::default() };
        fabric.forward(NodeId::new(0), Mac::new(mac(host).0), entry);
    }
    fabric
}

/// Runs a conversation; returns what was observed, and the script's packets that never came.
pub fn play(dialogue: &Dialogue, number: u32) -> (String, Vec<Which>) {
    let [(a, mut far_a), (b, mut far_b)] = [(); 2].map(|()| Rings::pair(RingOptions::default()));
    let sockets: Vec<Socket> = vec![Box::new(a), Box::new(b)];
    let (mut pair, mut heard) = (Pair::new(dialogue, sockets, number), Heard::default());
    let mut middle = Middle::new(&dialogue.outline, &mut heard);
    let (mut fabric, time) = (switch(), Virtual::default());
    while !pair.turn(&time) {
        let now = time.now();
        for (from, far) in [&mut far_a, &mut far_b].into_iter().enumerate() {
            let pass = &mut |frame: &[u8]| {
                for (to, frame) in middle.pass(from, &frame.to_vec()) {
                    fabric.arrive(PortId::new(1 - to as u32), now, &frame);
                }
            };
            far.receive(usize::MAX, pass).expect("rings of ours");
        }
        if arrive(&mut fabric, &time, [&mut far_a, &mut far_b]) {
            continue;
        }
        let (due, event) = (pair.next_due(), fabric.next_event());
        let idle = due > now + FLIGHT && fabric.frames_held() == 0;
        if !idle || !pair.begin(now) {
            time.rest(due.min(event));
        }
    }
    let unplayed = middle.player.unplayed();
    (heard.text() + &pair.finish().0, unplayed)
}

/// Processes all due events and delivers frames to the hosts. True if any were delivered.
fn arrive(fabric: &mut Fabric<Trim<Slot>, Ndp, Silent>, time: &Virtual, far: [&mut Rings; 2]) -> bool {
    let mut arrived = false;
    fabric.advance(time.now());
    while let Some(left) = fabric.poll_departure() {
        let frame = fabric.frame(left.frame);
        let fill = &mut |room: &mut [u8]| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        };
        assert!(far[left.port.get() as usize].send(fill).expect("rings of ours"), "a full ring");
        fabric.release(left.frame);
        arrived = true;
    }
    arrived
}
