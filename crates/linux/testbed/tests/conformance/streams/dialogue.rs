//! A conversation of streams: the actions of the applications, in order.

use std::net::{IpAddr, SocketAddr};

use pullnet_host::EngineOptions;
use pullnet_ndp::NdpConfig;
use pullnet_protocols::ProtocolConfig;
use pullnet_units::{BitsPerSec, Picos};
use pullnet_wire::{Mac, PORT, payload_room};

use crate::conversation::{Conversation, Outline};
use crate::talk::{A, FULL, talk};

/// After this time, round trips are over and the first timers have expired.
const AFTERWARDS: Picos = Picos::from_millis(100);
/// Home ports to alternate between, so that late packets of one conversation do not belong to the next.
const PORTS: u32 = 8;

/// An action of an application, or on its host.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// A host opens the next stream. Streams are numbered in this order, and each uses the service with its number.
    Open {
        host: u32,
        priority: u8,
    },
    /// Number of bytes.
    Write {
        host: u32,
        stream: u16,
        bytes: u64,
    },
    Finish {
        host: u32,
        stream: u16,
    },
    /// Closes the stream; written data is still delivered.
    Close {
        host: u32,
        stream: u16,
    },
    Abort {
        host: u32,
        stream: u16,
    },
    Prefer {
        host: u32,
        stream: u16,
        priority: u8,
    },
    /// Starts or stops reading: received data is read at once, or left unread.
    Read {
        host: u32,
        reads: bool,
    },
    /// The host is replaced by a new one with the same address.
    Replace {
        host: u32,
    },
    /// Waits until nothing is in flight.
    Then,
    /// Waits for this long.
    Rest(Picos),
}

/// One conversation of streams.
pub struct Dialogue {
    pub outline: Outline,
    pub acts: Vec<Act>,
    /// Services without a listener at the other host.
    pub deaf: Vec<u16>,
    options: EngineOptions,
}

/// A conversation of streams; `name` is the behaviour under test. Both applications read received data.
pub fn streams(name: &'static str) -> Dialogue {
    let options = EngineOptions {
        mtu: FULL as usize + 1500 - payload_room(1500, false),
        rate: BitsPerSec::gbps(100),
        transport: usual(),
        paths: 1,
        ..EngineOptions::new(address(A))
    };
    Dialogue { outline: Outline::new(name), acts: Vec::new(), deaf: Vec::new(), options }
}

/// The settings used for conversations of flows.
fn usual() -> NdpConfig {
    match &talk("settings").sends(A, FULL).scenario().transports[0].config {
        ProtocolConfig::Ndp(config) => config.clone(),
        other => panic!("conversations are NDP's, not of {}", other.name()),
    }
}

fn address(host: u32) -> IpAddr {
    IpAddr::from([10, 0, 0, host as u8 + 1])
}

/// The Ethernet address of a host.
pub fn mac(host: u32) -> Mac {
    Mac([2, 0, 0, 0, 0, host as u8 + 1])
}

impl Dialogue {
    /// Changes the options of both hosts.
    pub fn with(mut self, change: impl FnOnce(&mut EngineOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Options of a host in conversation `number`; each `life` of the host has its own connection numbers.
    pub fn options(&self, host: u32, number: u32, life: u64) -> EngineOptions {
        EngineOptions {
            address: address(host),
            mac: mac(host),
            port: PORT + (number % PORTS) as u16,
            neighbours: vec![(address(1 - host), mac(1 - host))],
            seed: 100 * life + u64::from(host),
            ..self.options.clone()
        }
    }

    /// Listening address of the other host.
    pub fn other(options: &EngineOptions) -> SocketAddr {
        SocketAddr::new(options.neighbours[0].0, options.port)
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    pub fn opens(self, host: u32) -> Self {
        self.act(Act::Open { host, priority: 0 })
    }

    pub fn opens_urgently(self, host: u32) -> Self {
        self.act(Act::Open { host, priority: 1 })
    }

    pub fn writes(self, host: u32, stream: u16, bytes: u64) -> Self {
        self.act(Act::Write { host, stream, bytes })
    }

    pub fn finishes(self, host: u32, stream: u16) -> Self {
        self.act(Act::Finish { host, stream })
    }

    pub fn closes(self, host: u32, stream: u16) -> Self {
        self.act(Act::Close { host, stream })
    }

    pub fn aborts(self, host: u32, stream: u16) -> Self {
        self.act(Act::Abort { host, stream })
    }

    pub fn prefers(self, host: u32, stream: u16) -> Self {
        self.act(Act::Prefer { host, stream, priority: 1 })
    }

    pub fn reads_nothing(self, host: u32) -> Self {
        self.act(Act::Read { host, reads: false })
    }

    pub fn reads_again(self, host: u32) -> Self {
        self.act(Act::Read { host, reads: true })
    }

    pub fn starts_anew(self, host: u32) -> Self {
        self.act(Act::Replace { host })
    }

    pub fn then(self) -> Self {
        self.act(Act::Then)
    }

    pub fn rests(self, millis: u64) -> Self {
        self.act(Act::Rest(Picos::from_millis(millis)))
    }

    /// Removes the listener for a stream.
    pub fn ignores(mut self, stream: u16) -> Self {
        self.deaf.push(stream);
        self
    }

    /// All actions, followed by time to see their effects.
    pub fn all_acts(&self) -> impl Iterator<Item = Act> {
        self.acts.iter().copied().chain([Act::Rest(AFTERWARDS)])
    }
}

impl Conversation for Dialogue {
    fn outline(&mut self) -> &mut Outline {
        &mut self.outline
    }
}
