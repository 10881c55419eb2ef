//! ACKs that carry no pull wait for something to leave with.

mod common;

use common::*;
use pullnet_host::{Engine, Read};
use pullnet_units::Instant;
use pullnet_wire::{Marks, PORT, Shape, parse};

const SERVICE: u16 = 7;
const NOW: Instant = Instant(1_000_000);

type NextFrame = fn(&mut Engine, Instant, &mut [u8]) -> usize;

fn frames(engine: &mut Engine, next: NextFrame) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| {
        let mut room = vec![0; 1514];
        let long = next(engine, NOW, &mut room);
        room.truncate(long);
        Some(room).filter(|frame| !frame.is_empty())
    })
    .collect()
}

fn is_ack(frame: &[u8]) -> bool {
    matches!(parse(frame, &Marks::default(), PORT).unwrap().packet.shape, Shape::Ack { pull: None, .. })
}

/// A host that has read a request of one packet, and what it answers.
fn asked() -> Engine {
    let [mut caller, mut server] = [0, 1].map(|host| Engine::new(options(host)).unwrap());
    server.listen(SERVICE).unwrap();
    let to = std::net::SocketAddr::new(address(1, false), PORT);
    let id = caller.connect(NOW, to, SERVICE, Default::default()).unwrap();
    caller.resolved(NOW, to.ip(), Some(mac(1)));
    caller.write(NOW, id, b"request").unwrap();
    caller.finish(NOW, id).unwrap();
    server.recognised(NOW, address(0, false), Some(mac(0)));
    // A token, and then the request.
    frames(&mut caller, Engine::transmit).iter().for_each(|frame| server.receive(NOW, frame));
    frames(&mut server, Engine::transmit).iter().for_each(|frame| caller.receive(NOW, frame));
    frames(&mut caller, Engine::transmit).iter().for_each(|frame| server.receive(NOW, frame));
    server
}

#[test]
fn an_ack_waits_for_an_answer_and_leaves_behind_it() {
    let mut server = asked();
    assert_eq!(frames(&mut server, Engine::transmit_urgent).len(), 0);
    let id = server.accept(SERVICE).unwrap();
    assert_eq!(server.read(NOW, id, &mut [0; 100]).unwrap(), Read::Bytes(7));
    server.write(NOW, id, b"answer").unwrap();
    let mut room = [0; 1514];
    let long = server.transmit_urgent(NOW, &mut room);
    assert!(long > 0 && !is_ack(&room[..long]), "the answer goes first");
    let long = server.transmit(NOW, &mut room);
    assert!(is_ack(&room[..long]));
    assert_eq!(server.transmit(NOW, &mut room), 0);
}

#[test]
fn an_ack_leaves_alone_if_there_is_no_answer() {
    let mut server = asked();
    let sent = frames(&mut server, Engine::transmit);
    assert_eq!(sent.iter().map(|frame| is_ack(frame)).collect::<Vec<_>>(), [true]);
}

#[test]
fn an_ack_does_not_wait_until_all_data_is_sent() {
    let mut server = asked();
    let id = server.accept(SERVICE).unwrap();
    server.write(NOW, id, &[0; 15_000]).unwrap();
    let sent = frames(&mut server, Engine::transmit);
    assert!(sent.len() > 8, "{}", sent.len());
    assert!(sent[..2].iter().any(|frame| is_ack(frame)), "an ACK waits for one frame at most");
}
