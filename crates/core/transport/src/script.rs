//! Conversations as scripts: tests that read like a paper's figure.
//!
//! One endpoint, and a test that plays all its peers. Time passes only where the script says so, and deadlines in
//! between are kept. The endpoint's packets and events are collected until the script looks at them.
//!
//! ```ignore
//! let mut s = Script::new(endpoint);
//! s.at(us(0)).opens(flow).sends([data(0), data(1), data(2)]); // the first window, unasked
//! s.at(us(10)).receives(nack(1)).sends_nothing();             // trimmed: queued again, not yet sent
//! s.at(us(12)).receives(pull(1)).sends([data(1)]);            // a PULL clocks it out
//! ```

use alloc::vec::Vec;

use pullnet_units::{HostAddr, Instant, Picos, WireLen};

use crate::api::{Deadline, Event, Fate, FlowSpec, FlowStatus, Received, Transmit, Transport};

/// A packet that the endpoint has sent, with its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent<H> {
    /// When the packet was handed to the link.
    pub at: Instant,
    /// The packet.
    pub packet: Transmit<H>,
}

/// A packet that a script hands to the endpoint: all fields of [`Received`], with usual values filled in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arriving<H>(Received<H>);

impl<H> Arriving<H> {
    /// `header` from `from`, whole, in a packet of `wire` bytes.
    pub fn new(from: HostAddr, wire: u16, header: H) -> Self {
        Self(Received { from, paths: 1, wire: WireLen::new(wire), fate: Fate::Whole, ce: false, header })
    }

    /// The same where `paths` paths lead to the sender.
    pub fn on_paths(self, paths: u16) -> Self {
        Self(Received { paths, ..self.0 })
    }

    /// The same from another host.
    pub fn from(self, from: HostAddr) -> Self {
        Self(Received { from, ..self.0 })
    }

    /// The same in a packet of another length.
    pub fn long(self, wire: u16) -> Self {
        Self(Received { wire: WireLen::new(wire), ..self.0 })
    }

    /// The same, marked by a switch.
    pub fn marked(self) -> Self {
        Self(Received { ce: true, ..self.0 })
    }

    /// The same without its payload.
    pub fn trimmed(self) -> Self {
        Self(Received { fate: Fate::Trimmed, ..self.0 })
    }

    /// The same without its payload, sent back by a switch.
    pub fn returned(self) -> Self {
        Self(Received { fate: Fate::Returned, ..self.0 })
    }
}

/// A conversation with one endpoint. Every step panics if the endpoint behaves differently.
#[derive(Debug)]
pub struct Script<T: Transport> {
    endpoint: T,
    now: Instant,
    sent: Vec<Sent<T::Header>>,
    events: Vec<Event>,
}

impl<T: Transport> Script<T>
where
    T::Header: PartialEq,
{
    /// A conversation at time 0.
    pub fn new(endpoint: T) -> Self {
        Self { endpoint, now: Instant::ZERO, sent: Vec::new(), events: Vec::new() }
    }

    /// Advances to `time` after the start. Deadlines up to and including `time` are kept.
    #[track_caller]
    pub fn at(&mut self, time: Picos) -> &mut Self {
        let until = Instant::ZERO.after(time);
        assert!(until >= self.now, "the script goes back in time, from {:?} to {until:?}", self.now);
        let mut last = None;
        while let Some(deadline) = self.endpoint.poll_timeout().filter(|deadline| deadline.at <= until) {
            assert!(last != Some(deadline), "the endpoint asks for {deadline:?} again and again");
            last = (deadline.at <= self.now).then_some(deadline);
            self.now = self.now.max(deadline.at);
            self.endpoint.handle_timeout(self.now);
            self.collect();
        }
        self.now = until;
        self
    }

    /// The application offers data.
    pub fn opens(&mut self, flow: FlowSpec) -> &mut Self {
        self.endpoint.open(self.now, flow);
        self.collect()
    }

    /// A packet arrives.
    pub fn receives(&mut self, packet: Arriving<T::Header>) -> &mut Self {
        self.endpoint.handle(self.now, packet.0);
        self.collect()
    }

    /// Several packets arrive, one after another at the same time.
    pub fn receives_all(&mut self, packets: impl IntoIterator<Item = Arriving<T::Header>>) -> &mut Self {
        packets.into_iter().for_each(|packet| {
            self.receives(packet);
        });
        self
    }

    /// Applies any other input to the endpoint now.
    pub fn does(&mut self, act: impl FnOnce(&mut T, Instant)) -> &mut Self {
        act(&mut self.endpoint, self.now);
        self.collect()
    }

    /// Takes all packets that the endpoint has to send, and notes its events.
    fn collect(&mut self) -> &mut Self {
        while let Some(packet) = self.endpoint.poll_transmit(self.now) {
            self.sent.push(Sent { at: self.now, packet });
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push(event);
        }
        self
    }

    /// Checks that exactly these packets were sent since the last look, in this order.
    #[track_caller]
    pub fn sends(&mut self, expected: impl IntoIterator<Item = T::Header>) -> &mut Self {
        let sent: Vec<_> = self.sent.drain(..).map(|sent| sent.packet.header).collect();
        assert_eq!(
            sent,
            expected.into_iter().collect::<Vec<_>>(),
            "sent (left) and expected (right) at {:?}",
            self.now
        );
        self
    }

    /// Checks that no packet was sent since the last look.
    #[track_caller]
    pub fn sends_nothing(&mut self) -> &mut Self {
        self.sends([])
    }

    /// Checks that exactly these events were reported since the last look, in this order.
    #[track_caller]
    pub fn reports(&mut self, expected: impl IntoIterator<Item = Event>) -> &mut Self {
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(self.reported(), expected, "reported (left) and expected (right) at {:?}", self.now);
        self
    }

    /// Packets sent since the last look.
    pub fn sent(&mut self) -> Vec<Sent<T::Header>> {
        core::mem::take(&mut self.sent)
    }

    /// Events reported since the last look.
    pub fn reported(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events)
    }

    /// The next deadline.
    pub fn deadline(&self) -> Option<Deadline> {
        self.endpoint.poll_timeout()
    }

    /// Every flow that has not ended.
    pub fn open_flows(&self) -> Vec<FlowStatus> {
        let mut flows = Vec::new();
        self.endpoint.open_flows(&mut |flow| flows.push(flow));
        flows
    }
}
