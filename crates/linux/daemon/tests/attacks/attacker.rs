//! An attacker with a raw socket.

use std::time::Duration;

use pullnet_netio::{PacketIo, PacketSocket};
use pullnet_wire::switch::{Lengths, trim};
use pullnet_wire::{DataFields, Mac, Marks, PORT, Packet, Route, Shape, TRIM_IPV4, emit, parse};

use super::site::{Site, address, mac};
use super::{SERVICE, clock, wait_for};

/// One that has host `host` of a site, and sends what it likes.
pub struct Attacker {
    io: PacketSocket,
    mac: Mac,
    own: [u8; 4],
}

/// The first packet of a stream, whole and with its end.
pub fn opening(length: u16, last: bool, stamp: u32) -> Shape {
    Shape::Data(DataFields { syn: true, last, length, service: SERVICE, stamp, ..DataFields::default() })
}

impl Attacker {
    pub fn new(site: &Site, host: usize) -> Self {
        Self { io: site.raw(host), mac: mac(host), own: address(host) }
    }

    /// A frame to host `to` with the IP address `from`, from the attacker's own Ethernet address.
    pub fn frame(&self, from: [u8; 4], to: usize, (conn, tag): (u32, u64), shape: Shape) -> Vec<u8> {
        let route = Route {
            from_mac: self.mac,
            to_mac: mac(to),
            from: from.into(),
            to: address(to).into(),
            from_port: Route::port_of(3),
            to_port: PORT,
        };
        let mut frame = vec![0; 1600];
        let payload = vec![b'a'; shape.length().into()];
        let packet = Packet { home: PORT, conn, tag, shape };
        let long = emit(&mut frame, &route, &Marks::default(), &packet, &payload).expect("it fits");
        frame.truncate(long);
        frame
    }

    pub fn send(&mut self, frame: &[u8]) {
        let fill = &mut |room: &mut [u8]| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        };
        while !self.io.send(fill).expect("an interface of ours") {
            self.io.flush().expect("an interface of ours");
        }
    }

    pub fn flush(&mut self) {
        self.io.flush().expect("an interface of ours");
    }

    /// A token of host `to` for the attacker's own address, and the clock that came with it: nothing keeps an attacker from
    /// proving where it is.
    pub fn token(&mut self, to: usize) -> (u64, u32) {
        let hello = self.frame(self.own, to, (0, 4711), Shape::Hello);
        let mut got = None;
        wait_for("a token", || {
            self.send(&hello);
            self.flush();
            std::thread::sleep(Duration::from_millis(20));
            let take = &mut |frame: &[u8]| {
                if let Ok(arrived) = parse(frame, &Marks::default(), PORT)
                    && let Shape::Cookie { token, clock } = arrived.packet.shape
                {
                    got = Some((token, clock));
                }
            };
            self.io.receive(64, take).expect("an interface of ours");
            got.is_some()
        });
        got.expect("it was waited for")
    }

    /// Sends what `next` makes, `rate` frames in a second, until `stop` says so. Returns how many.
    pub fn flood(
        &mut self,
        rate: f64,
        stop: impl Fn() -> bool,
        mut next: impl FnMut(&Self, u32) -> Vec<u8>,
    ) -> u32 {
        let (start, mut sent) = (clock(), 0u32);
        while !stop() {
            let due = start.elapsed().as_secs_f64() * rate;
            // Behind by more than a tenth of a second, it does not catch up: that would be another flood.
            sent = sent.max((due - rate / 10.0) as u32);
            while f64::from(sent) < due {
                let frame = next(self, sent);
                self.send(&frame);
                sent += 1;
            }
            self.flush();
            std::thread::sleep(Duration::from_millis(1));
        }
        sent
    }

    /// A frame without its payload.
    pub fn cut(mut frame: Vec<u8>) -> Vec<u8> {
        let long = trim(&mut frame, TRIM_IPV4, Lengths::Corrected, &Marks::default()).expect("data");
        frame.truncate(long);
        frame
    }
}

/// Address number `number` of many unused ones.
pub fn invented(number: u32) -> [u8; 4] {
    let [_, _, a, b] = number.wrapping_mul(2_654_435_761).to_be_bytes();
    [10, 78, 1 + a % 250, b]
}
