//! Connection numbers and tags: what a stranger cannot know.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use pullnet_host::{NdpListener, NdpStream};
use pullnet_wire::{DataFields, Marks, PORT, REPLY, Reason, Shape, parse};

use super::attacker::Attacker;
use super::site::{Site, address, seen};
use super::{SERVICE, call, common::WATCHDOG, daemon, serve};

const SERVER: usize = 0;
const CLIENT: usize = 1;
const ATTACKER: usize = 2;

/// Numbers of the streams that were opened, in their order, as a tap has seen them.
fn numbers(frames: &[Vec<u8>]) -> Vec<u32> {
    let mut numbers: Vec<u32> = Vec::new();
    for frame in frames {
        if let Ok(arrived) = parse(frame, &Marks::default(), PORT)
            && matches!(arrived.packet.shape, Shape::Data(DataFields { syn: true, .. }))
            && arrived.packet.conn & REPLY == 0
            && numbers.last() != Some(&arrived.packet.conn)
        {
            numbers.push(arrived.packet.conn);
        }
    }
    numbers
}

#[test]
fn connection_numbers_cannot_be_guessed() {
    let Some(site) = Site::make(3) else { return };
    let (server, client, other) =
        (daemon(&site, SERVER, ""), daemon(&site, CLIENT, ""), daemon(&site, ATTACKER, ""));
    let _served = serve(&server, 100);
    let (mut to_server, mut to_other) = (site.tap(CLIENT), site.tap(CLIENT));
    let _others = serve(&other, 100);
    let stack = client.stack();
    let mut seen_by_server = Vec::new();
    let mut seen_by_other = Vec::new();
    for _ in 0..100 {
        call(&stack, &server, b"one");
        call(&stack, &other, b"two");
        seen_by_server
            .extend(seen(&mut to_server).into_iter().filter(|frame| frame[30..34] == address(SERVER)));
        seen_by_other
            .extend(seen(&mut to_other).into_iter().filter(|frame| frame[30..34] == address(ATTACKER)));
    }
    let (there, here) = (numbers(&seen_by_server), numbers(&seen_by_other));
    assert!(there.len() >= 100 && here.len() >= 100, "{} and {} streams were seen", there.len(), here.len());
    // The numbers given to one host predict neither its next number nor those of another host.
    let steps = |numbers: &[u32]| -> BTreeSet<u32> {
        numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect()
    };
    assert!(steps(&there).len() > 95 && steps(&here).len() > 95, "steps repeat");
    let near = there.iter().filter(|number| here.iter().any(|other| other.abs_diff(**number) < 1000)).count();
    assert!(near <= 3, "{near} of {} numbers are near one that the other host was given", there.len());
}

#[test]
fn a_stranger_who_knows_the_number_ends_nothing() {
    let Some(site) = Site::make(3) else { return };
    let (server, client) = (daemon(&site, SERVER, ""), daemon(&site, CLIENT, ""));
    let listener = NdpListener::bind(&server.stack(), SERVICE).unwrap();
    let mut tap = site.tap(CLIENT);
    let mut stream = NdpStream::connect(&client.stack(), server.address, SERVICE).unwrap();
    stream.write_all(b"before").unwrap();
    let (mut taken, _) = listener.accept().unwrap();
    stream.settle().unwrap();
    let number = *numbers(&seen(&mut tap)).first().expect("the opening was seen");
    let mut attacker = Attacker::new(&site, ATTACKER);
    let reset = |by_sender| Shape::Reset { by_sender, reason: Reason::ABORTED };
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        for conn in [number, number | REPLY] {
            for tag in [0, 1, u64::MAX, 0x1234_5678] {
                for shape in [
                    reset(true),
                    reset(false),
                    Shape::Ack { seq: 1, also: 0, pull: None },
                    Shape::Pull { number: 99 },
                ] {
                    let frame = attacker.frame(address(from), to, (conn, tag), shape);
                    attacker.send(&frame);
                }
            }
        }
    }
    attacker.flush();
    thread::sleep(Duration::from_millis(100));
    stream.write_all(b" and after").unwrap();
    stream.finish().unwrap();
    taken.set_read_timeout(Some(WATCHDOG));
    let mut all = String::new();
    taken.read_to_string(&mut all).unwrap();
    assert_eq!(all, "before and after");
    let status = pullnet_daemon::DaemonStack::connect(&server.socket()).unwrap().prometheus().unwrap();
    let forged = "pullnet_host_refused_total{reason=\"forged\"} ";
    let count =
        status.lines().find_map(|line| line.strip_prefix(forged)).and_then(|count| count.parse::<u64>().ok());
    assert!(count.is_some_and(|count| count >= 16), "{count:?} packets were refused as forged");
}
