//! A conversation of streams: what the applications do, one after the other.

use std::net::{IpAddr, SocketAddr};

use pullnet_host::EngineOptions;
use pullnet_ndp::NdpConfig;
use pullnet_protocols::ProtocolConfig;
use pullnet_units::{BitsPerSec, Picos};
use pullnet_wire::{Mac, PORT, payload_room};

use crate::conversation::{Conversation, Outline};
use crate::talk::{A, FULL, talk};

/// Round trips are over by then, and the first timers have run out.
const AFTERWARDS: Picos = Picos::from_millis(100);
/// Home ports by turns, so that late packets of a conversation are strangers to the next.
const PORTS: u32 = 8;

/// What an application does, or what is done to it.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// A host opens the next stream. Streams are numbered in this order, and each is to the service of its number.
    Open {
        host: u32,
        priority: u8,
    },
    /// So many bytes.
    Write {
        host: u32,
        stream: u16,
        bytes: u64,
    },
    Finish {
        host: u32,
        stream: u16,
    },
    /// Lets go: what was written still arrives.
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
    /// Whatever arrives is read at once, or is left where it is.
    Read {
        host: u32,
        reads: bool,
    },
    /// The host is gone, and another one has its address.
    Replace {
        host: u32,
    },
    /// Nothing more is done before nothing is under way.
    Then,
    /// Nothing is done for so long.
    Rest(Picos),
}

/// One conversation of streams.
pub struct Dialogue {
    pub outline: Outline,
    pub acts: Vec<Act>,
    /// Services for which the other host does not listen.
    pub deaf: Vec<u16>,
    options: EngineOptions,
}

/// A conversation of streams; `name` is what it shows. Either application reads what arrives.
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

/// The settings of conversations of flows.
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
    /// Both hosts have other options.
    pub fn with(mut self, change: impl FnOnce(&mut EngineOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// What a host of conversation `number` is made with; each `life` of it has connection numbers of its own.
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

    /// Where the other host listens.
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

    /// Nobody listens for a stream.
    pub fn ignores(mut self, stream: u16) -> Self {
        self.deaf.push(stream);
        self
    }

    /// What is done, with time at its end to see what comes of it.
    pub fn all_acts(&self) -> impl Iterator<Item = Act> {
        self.acts.iter().copied().chain([Act::Rest(AFTERWARDS)])
    }
}

impl Conversation for Dialogue {
    fn outline(&mut self) -> &mut Outline {
        &mut self.outline
    }
}
