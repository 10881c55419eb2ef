//! Many calls through a bad network: each is carried out once, and nothing is left of them.

mod common;

use common::*;
use pullnet_host::StreamId;
use pullnet_units::Picos;

const SERVICE: u16 = 7;

/// A server that answers every request with its hash.
#[derive(Default)]
struct Server {
    open: Vec<(StreamId, Vec<u8>)>,
    done: usize,
}

impl Server {
    fn go_on(&mut self, net: &mut Net) {
        while let Some(id) = net.at(1).accept(SERVICE) {
            self.open.push((id, Vec::new()));
        }
        let mut open = std::mem::take(&mut self.open);
        open.retain_mut(|(id, request)| {
            let (bytes, ended) = net.read(1, *id).unwrap();
            request.extend(bytes);
            if ended {
                net.write(1, *id, blake3::hash(request).as_bytes()).unwrap();
                let now = net.now;
                net.at(1).close(now, *id);
                self.done += 1;
            }
            !ended
        });
        self.open = open;
    }
}

/// Makes so many calls one after the other, `at_once` of them at a time.
fn calls(seed: u64, weather: Weather, rounds: usize, at_once: usize) {
    let mut net = Net::new(seed, [options(0), options(1)]);
    net.weather = weather;
    net.at(1).listen(SERVICE).unwrap();
    let mut server = Server::default();
    for round in 0..rounds {
        let mut waiting: Vec<_> = (0..at_once)
            .map(|at| {
                let request = content((round * at_once + at) as u64, 1 + (round * 977 + at * 331) % 6000);
                let id = net.connect(0, 1, SERVICE);
                assert_eq!(net.write(0, id, &request).unwrap(), request.len());
                net.finish(0, id);
                (Reader::new(0, id), blake3::hash(&request))
            })
            .collect();
        net.until(ms(60_000), |net| {
            server.go_on(net);
            waiting.retain_mut(|(reader, hash)| {
                let ended = reader.go_on(net);
                if ended {
                    assert_eq!(reader.bytes, hash.as_bytes());
                    let now = net.now;
                    net.at(0).close(now, reader.id);
                }
                !ended
            });
            waiting.is_empty()
        });
    }
    assert_eq!(server.done, rounds * at_once);
    net.pass(ms(30_000));
    for status in net.statuses() {
        let totals = status.totals;
        assert_eq!((totals.streams, totals.peers, totals.waiting_bytes), (0, 0, 0), "{totals:?}");
        assert_eq!(totals.opened + totals.incoming, (rounds * at_once) as u64);
    }
}

#[test]
fn every_call_is_carried_out_once() {
    calls(1, Weather::FINE, 100, 20);
    let delay = Picos::from_micros(200);
    calls(2, Weather { lost: 0.01, delay, ..Weather::FINE }, 50, 20);
    calls(3, Weather { doubled: 0.01, delay, ..Weather::FINE }, 50, 20);
    calls(4, Weather { damaged: 0.01, ..Weather::FINE }, 50, 20);
    calls(5, Weather { trimmed: 0.5, returned: 0.2, ..Weather::FINE }, 50, 20);
    let bad = Weather { lost: 0.1, doubled: 0.1, trimmed: 0.3, returned: 0.3, damaged: 0.05, delay };
    (1..=20).for_each(|seed| calls(seed, bad, 20, 50));
}
