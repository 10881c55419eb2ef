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

/// Sends `bytes` from one engine to another whose reader keeps up, in rounds as a driver makes them: everything that has arrived,
/// then everything there is to send. Returns the number of data frames and of the frames that answer them.
fn transfer(bytes: usize) -> (usize, usize) {
    let [mut from, mut to] = [0, 1].map(|host| Engine::new(options(host)).unwrap());
    to.listen(SERVICE).unwrap();
    let address_to = std::net::SocketAddr::new(address(1, false), PORT);
    let id = from.connect(NOW, address_to, SERVICE, Default::default()).unwrap();
    from.resolved(NOW, address_to.ip(), Some(mac(1)));
    to.recognised(NOW, address(0, false), Some(mac(0)));
    let content: Vec<u8> = (0..bytes).map(|at| (at / 7 + at % 251) as u8).collect();
    let (mut written, mut arrived, mut accepted) = (0, Vec::new(), None);
    let (mut data, mut answers, mut now) = (0, 0, NOW);
    while arrived.len() < bytes {
        now = Instant(now.0 + 20_000_000);
        written += from.write(now, id, &content[written..]).unwrap_or(0);
        to.catch_up(now);
        for frame in frames_at(&mut from, now) {
            data += usize::from(frame.len() > 1000);
            to.receive(now, &frame);
        }
        accepted = accepted.or_else(|| to.accept(SERVICE));
        let mut piece = [0; 65_536];
        while let Some(Read::Bytes(long)) = accepted.and_then(|id| to.read(now, id, &mut piece).ok()) {
            arrived.extend_from_slice(&piece[..long]);
        }
        for frame in frames_at(&mut to, now) {
            answers += 1;
            from.receive(now, &frame);
        }
        assert!(now < Instant(NOW.0 + 1_000_000_000_000), "{} of {bytes} bytes", arrived.len());
    }
    assert!(arrived == content);
    (data, answers)
}

fn frames_at(engine: &mut Engine, now: Instant) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| {
        let mut room = vec![0; 1514];
        let long = engine.transmit(now, &mut room);
        room.truncate(long);
        Some(room).filter(|frame| !frame.is_empty())
    })
    .collect()
}

#[test]
fn one_frame_answers_the_packets_that_arrive_together() {
    let (data, answers) = transfer(3_000_000);
    assert!(data >= 3_000_000 / 1436, "{data}");
    assert!(answers * 8 < data, "{answers} answers to {data} packets");
}
