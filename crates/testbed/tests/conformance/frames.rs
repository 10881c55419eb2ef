//! Conversations on frames: the hosts of a testbed on their sockets, and between them a network that plays the script.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pullnet_ndp_wire::Carriage;
use pullnet_netio::{Counters, Error, PacketIo};
use pullnet_record::RunRecord;
use pullnet_testbed::{Field, HEADERS, Socket};
use pullnet_transport::HostAddr;
use pullnet_units::Picos;
use pullnet_wire::switch::{Lengths, datagram, send_back, trim};
use pullnet_wire::{Marks, PORT, TRIM_IPV4, parse};

use crate::script::{Fate, Player, Which};
use crate::talk::Talk;
use crate::time::Time;

/// How long a frame takes. A host that has something to do sooner than that is not done with its latest packet: frames wait
/// for its line, or pulls for their pacer.
const FLIGHT: Picos = Picos::from_micros(1);
/// How often a frame on its way is looked for, and how long each time: a minute in all.
const LOOKS: (u32, Duration) = (600_000, Duration::from_micros(100));

/// How packets are read here: as either host reads them.
const CARRIAGE: Carriage = Carriage { home: PORT, header: HEADERS as u16 };

/// Frames that a host has sent and taken.
#[derive(Default)]
struct Passed {
    sent: AtomicU64,
    taken: AtomicU64,
}

/// A host's socket, from which it takes one frame at a time: it answers that one before it sees the next.
struct OneByOne {
    io: Socket,
    passed: Arc<Passed>,
}

impl PacketIo for OneByOne {
    fn frame_room(&self) -> usize {
        self.io.frame_room()
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let got = self.io.receive(most.min(1), each)?;
        self.passed.taken.store(self.io.counters().received, Ordering::Relaxed);
        Ok(got)
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> Result<bool, Error> {
        let fits = self.io.send(fill)?;
        self.passed.sent.store(self.io.counters().sent, Ordering::Relaxed);
        Ok(fits)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.io.flush()
    }

    fn wait(&mut self, wake: Option<BorrowedFd<'_>>, timeout: Duration) -> Result<(), Error> {
        self.io.wait(wake, timeout)
    }

    fn counters(&self) -> Counters {
        self.io.counters()
    }
}

/// The network's end of a host's line.
struct End {
    io: Socket,
    /// What the host at the other end has sent and taken.
    host: Arc<Passed>,
}

impl End {
    /// Whether something is on the line.
    fn is_busy(&self) -> bool {
        let Counters { sent, received, .. } = self.io.counters();
        self.host.sent.load(Ordering::Relaxed) > received || self.host.taken.load(Ordering::Relaxed) < sent
    }

    /// Waits a moment for what is on the line.
    fn look(&mut self, looks: &mut u32) {
        *looks += 1;
        assert!(*looks < LOOKS.0, "a frame was lost on a line that loses none");
        self.io.wait(None, LOOKS.1).expect("a line of ours");
    }

    fn send(&mut self, frame: &[u8]) {
        let fill = &mut |room: &mut [u8]| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        };
        assert!(self.io.send(fill).expect("a line of ours"), "no room for a single frame");
        self.io.flush().expect("a line of ours");
    }
}

/// The two lines on which conversations are held, one after the other.
pub struct Lines {
    hosts: Vec<Socket>,
    ends: [End; 2],
}

impl Lines {
    /// Lines with these ends, the host's and the network's.
    pub fn new(lines: [[Socket; 2]; 2]) -> Self {
        let mut hosts = Vec::new();
        let ends = lines.map(|[near, far]| {
            let passed = Arc::new(Passed::default());
            hosts.push(Box::new(OneByOne { io: near, passed: Arc::clone(&passed) }) as Socket);
            End { io: far, host: passed }
        });
        Self { hosts, ends }
    }

    /// Holds conversation `number`: its record, and what the script spoke of in vain.
    pub fn play(&mut self, talk: &Talk, number: u32, time: &mut impl Time) -> (RunRecord, Vec<Which>) {
        let hosts = std::mem::take(&mut self.hosts);
        let mut field = Field::new(&talk.scenario(), hosts, number).expect("a scenario of ours");
        let mut network = Network::new(talk, &mut self.ends);
        while !field.turn(time).expect("frames of ours") {
            network.collect();
            let (due, soon) = (field.next_due(), time.now() + FLIGHT);
            let moves = due > soon && network.moves();
            time.rest(if moves { soon } else { due });
        }
        let unplayed = network.player.unplayed();
        let (record, hosts) = field.finish(&[]);
        self.hosts = hosts;
        self.clear();
        (record, unplayed)
    }

    /// Forgets what was still under way.
    fn clear(&mut self) {
        let mut looks = 0;
        loop {
            for io in self.hosts.iter_mut().chain(self.ends.iter_mut().map(|end| &mut end.io)) {
                while io.receive(usize::MAX, &mut |_| ()).expect("a line of ours") > 0 {}
            }
            let Some(end) = self.ends.iter_mut().find(|end| end.is_busy()) else { return };
            end.look(&mut looks);
        }
    }
}

/// What lies between the hosts.
struct Network<'a> {
    player: Player<Vec<u8>>,
    ends: &'a mut [End; 2],
    marks: Marks,
    /// Frames, and to which end they go, in the order in which they came.
    under_way: VecDeque<(usize, Vec<u8>)>,
    looks: u32,
}

impl<'a> Network<'a> {
    fn new(talk: &Talk, ends: &'a mut [End; 2]) -> Self {
        Self { player: talk.player(), ends, marks: Marks::default(), under_way: VecDeque::new(), looks: 0 }
    }

    /// Takes what the hosts have sent, and plays the script.
    fn collect(&mut self) {
        for from in 0..2 {
            let mut frames = Vec::new();
            let got = self.ends[from].io.receive(usize::MAX, &mut |frame| frames.push(frame.to_vec()));
            got.expect("a line of ours");
            frames.into_iter().for_each(|frame| self.pass(from, frame));
        }
    }

    fn pass(&mut self, from: usize, frame: Vec<u8>) {
        let (route, _) = datagram(&frame).expect("a frame of ours");
        let arrived = parse(&frame, &self.marks, route.to_port).expect("a packet of ours");
        let packet = CARRIAGE.received(&arrived, HostAddr(0), 1).expect("nobody sends a RESET");
        for (frame, fate) in self.player.pass(&packet.header, &frame) {
            let to = if fate == Fate::Returned { from } else { 1 - from };
            self.under_way.push_back((to, self.changed(frame, fate)));
        }
    }

    fn changed(&self, mut frame: Vec<u8>, fate: Fate) -> Vec<u8> {
        match fate {
            Fate::Whole => {}
            Fate::Damaged => *frame.last_mut().expect("a frame has bytes") ^= 0xff,
            Fate::Trimmed | Fate::Returned => {
                let long = trim(&mut frame, TRIM_IPV4, Lengths::Corrected, &self.marks);
                frame.truncate(long.expect("data to trim"));
            }
        }
        if fate == Fate::Returned {
            assert!(send_back(&mut frame, &self.marks));
        }
        frame
    }

    /// Lets the next frame arrive, once the one before is there. False if there is none.
    fn moves(&mut self) -> bool {
        if let Some(end) = self.ends.iter_mut().find(|end| end.is_busy()) {
            end.look(&mut self.looks);
            return true;
        }
        self.looks = 0;
        let next = self.under_way.pop_front();
        next.is_some_and(|(to, frame)| {
            self.ends[to].send(&frame);
            true
        })
    }
}
