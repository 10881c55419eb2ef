//! Spoofed addresses: amplification, copies of requests, another Ethernet address.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use pullnet_wire::{DataFields, Marks, PORT, REPLY, Reason, Shape, parse};

use super::attacker::{Attacker, opening};
use super::site::{Site, address, mac, seen};
use super::{call, common::Installation, daemon, pour, serve, wait_for};

const SERVER: usize = 0;
const CLIENT: usize = 1;
const ATTACKER: usize = 2;
/// An address of a machine on which no daemon runs: its kernel answers for its Ethernet address.
const VICTIM: usize = 3;

/// Everything that a blind attacker may send in the name of the victim.
fn forgeries(attacker: &Attacker) -> Vec<Vec<u8>> {
    let mut shapes =
        vec![opening(100, true, 0), opening(100, false, 5), Shape::Hello, Shape::Probe { seq: 0 }];
    shapes.extend((0..20).map(|seq| Shape::Ack { seq, also: 0, pull: Some(seq + 1) }));
    shapes.extend((1..20).map(|number| Shape::Pull { number }));
    let named = |shape| {
        let conn = if shape == Shape::Hello { 0 } else { 77 };
        attacker.frame(address(VICTIM), SERVER, (conn, 4711), shape)
    };
    let back = |seq| {
        attacker.frame(
            address(VICTIM),
            SERVER,
            (77 | REPLY, 4711),
            Shape::Ack { seq, also: 0, pull: Some(9) },
        )
    };
    shapes.into_iter().map(named).chain((0..20).map(back)).collect()
}

#[test]
fn a_spoofed_request_gets_no_more_than_three_times_its_bytes() {
    let Some(site) = Site::make(4) else { return };
    let (server, client) = (daemon(&site, SERVER, ""), daemon(&site, CLIENT, ""));
    let served = serve(&server, 1_000_000);
    let stack = client.stack();
    assert_eq!(call(&stack, &server, b"a question").len(), 1_000_000);
    let (mut tap, mut attacker) = (site.tap(SERVER), Attacker::new(&site, ATTACKER));
    let mut most: f64 = 0.0;
    for frame in forgeries(&attacker) {
        // The kernel of the server may resolve the victim's Ethernet address; that is not counted as an answer.
        seen(&mut tap);
        attacker.send(&frame);
        attacker.flush();
        thread::sleep(Duration::from_millis(30));
        let to_victim = |frame: &&Vec<u8>| frame[30..34] == address(VICTIM) && frame[23] == 17;
        let got = seen(&mut tap).iter().filter(to_victim).map(Vec::len).sum::<usize>();
        most = most.max(got as f64 / frame.len() as f64);
    }
    // Nor later: nothing is sent again to who never answers.
    thread::sleep(Duration::from_secs(2));
    let later = seen(&mut tap).iter().filter(|frame| frame[30..34] == address(VICTIM)).count();
    println!("amplification {most:.2}, {later} frames afterwards");
    assert!(most <= 3.0 && later == 0, "amplification {most:.2}, {later} frames afterwards");
    assert_eq!(served.load(Ordering::SeqCst), 1, "a spoofed request was carried out");
}

#[test]
fn a_copy_of_a_request_is_not_carried_out_a_second_time() {
    let Some(site) = Site::make(3) else { return };
    // Shortens the memory of ended connections to a second and 50 ms.
    let short = "[ndp]\ngive_up = \"1 s\"\n";
    let place = Installation::at(address(SERVER));
    let start = || {
        place.start_in(&site.hosts[SERVER], &format!("backend = \"packet\"\ninterface = \"eth\"\n{short}"))
    };
    let (mut server, client) = (start(), daemon(&site, CLIENT, short));
    let served = serve(&server, 100);
    let stack = client.stack();
    call(&stack, &server, b"the first proves the address");
    let mut tap = site.tap(CLIENT);
    call(&stack, &server, b"pay once");
    let asks = |frame: &Vec<u8>| {
        let packet = parse(frame, &Marks::default(), PORT).ok().map(|arrived| arrived.packet.shape);
        matches!(packet, Some(Shape::Data(DataFields { syn: true, length: 8, .. })))
    };
    let copies: Vec<_> = seen(&mut tap).into_iter().filter(asks).collect();
    assert!(!copies.is_empty(), "the request was not seen");
    let mut attacker = Attacker::new(&site, ATTACKER);
    let mut replay = || {
        copies.iter().for_each(|frame| attacker.send(frame));
        attacker.flush();
        thread::sleep(Duration::from_millis(200));
    };
    // At once, when the connection is about to be forgotten, and when it has been forgotten.
    for pause in [0, 300, 300, 300, 300, 3000] {
        thread::sleep(Duration::from_millis(pause));
        replay();
    }
    assert_eq!(served.load(Ordering::SeqCst), 2, "a copy was carried out");
    // A restarted daemon has no memory of it, and does not carry it out either.
    server.kill();
    let server = start();
    let served = serve(&server, 100);
    replay();
    assert_eq!(served.load(Ordering::SeqCst), 0, "a copy was carried out after a restart");
    // The client goes on with the new one.
    call(&stack, &server, b"go on");
    assert_eq!(served.load(Ordering::SeqCst), 1);
}

#[test]
fn a_forged_ack_from_another_ethernet_address_redirects_nothing() {
    let Some(site) = Site::make(3) else { return };
    let (server, client) = (daemon(&site, SERVER, ""), daemon(&site, CLIENT, ""));
    let arrived = pour(&server, &client, 9);
    let (mut tap, mut spy) = (site.tap(SERVER), site.tap(CLIENT));
    let mut attacker = Attacker::new(&site, ATTACKER);
    // The worst case: an attacker who sees every ACK, and so knows connection and tag.
    let mut forged = 0;
    wait_for("ACKs to copy", || {
        for mut frame in seen(&mut spy) {
            frame[6..12].copy_from_slice(&mac(ATTACKER).0);
            attacker.send(&frame);
            forged += 1;
        }
        attacker.flush();
        forged > 2000
    });
    let before = arrived.load(Ordering::SeqCst);
    wait_for("further bytes", || arrived.load(Ordering::SeqCst) > before + 1_000_000);
    let frames = seen(&mut tap);
    let to = |host: usize| frames.iter().filter(|frame| frame[..6] == mac(host).0).count();
    println!("{forged} forged, {} frames to the client, {} to the attacker", to(CLIENT), to(ATTACKER));
    assert!(to(CLIENT) > 100 && to(ATTACKER) == 0, "{} frames went to the attacker", to(ATTACKER));
    // And a blind one changes nothing at all.
    for conn in [1, 2, 3, 1000] {
        let reset = Shape::Reset { by_sender: false, reason: Reason::ABORTED };
        let frame = attacker.frame(address(CLIENT), SERVER, (conn, 1), reset);
        attacker.send(&frame);
    }
    attacker.flush();
    let before = arrived.load(Ordering::SeqCst);
    wait_for("further bytes", || arrived.load(Ordering::SeqCst) > before + 1_000_000);
}
