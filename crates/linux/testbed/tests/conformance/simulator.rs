//! Conversations in the simulator: its engine carries the packets, and a special discipline plays the script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pullnet_ndp::{Ndp, NdpHeader};
use pullnet_protocols::ProtocolConfig;
use pullnet_qdisc::{Context, Discipline, DropReason, Item, Lookahead, Outcome};
use pullnet_record::RunRecord;
use pullnet_settings::{Field, Refused, Settings, Value};
use pullnet_sim::{Packet as Sized, start_with};
use pullnet_transport::{Fate as Arrived, Header, Small};

use crate::script::{Fate, Player, Which};
use crate::talk::Talk;

type Packet = Sized<Small>;

/// Length of a trimmed packet. Bytes.
const TRIMMED: u32 = 72;

/// Runs a conversation; returns its record, and the script's packets that never came.
pub fn play(talk: &Talk) -> (RunRecord, Vec<Which>) {
    let scenario = talk.scenario();
    let ProtocolConfig::Ndp(ndp) = &scenario.transports[0].config else { panic!("conversations are NDP's") };
    let stage = Stage(Arc::new(Mutex::new(talk.outline.player())));
    let mut run = start_with::<Ndp, Scripted>(&scenario, ndp, &stage, 1);
    while !run.advance(10_000).ended {}
    let unplayed = stage.0.lock().expect("nobody panics while playing").unplayed();
    (run.finish(), unplayed)
}

/// The script, shared by all ports.
#[derive(Clone, Default)]
struct Stage(Arc<Mutex<Player<Packet>>>);

impl Settings for Stage {
    const FIELDS: &'static [Field] = &[];

    fn set(&mut self, _: &str, _: Value<'_>) -> Option<Result<(), Refused>> {
        None
    }

    fn get(&self, _: &str) -> Option<String> {
        None
    }
}

/// A port with unlimited room that applies the script to its packets.
struct Scripted(VecDeque<Packet>);

impl Scripted {
    /// Delivers a packet with the given fate.
    fn leave(&mut self, mut packet: Packet, fate: Fate, cx: &mut impl Context<Packet>) {
        if fate == Fate::Whole {
            return self.0.push_back(packet);
        }
        packet.trim(TRIMMED);
        if fate == Fate::Returned {
            return cx.outcome(Outcome::Returned { header: packet, trimmed: true });
        }
        // The simulator has no payload to corrupt. A host treats a corrupted packet like a trimmed one.
        self.0.push_back(packet);
        cx.outcome(Outcome::Trimmed(packet));
    }
}

impl Lookahead for Scripted {
    type Rules = Stage;

    fn shortest_next(&self, _: &Stage) -> Option<u32> {
        self.0.front().map(|packet| packet.wire(TRIMMED))
    }
}

impl Discipline<Packet> for Scripted {
    /// All ports of a switch share state: a script that involves two packets needs them in time order.
    const SHARES: bool = true;
    type Config = Stage;
    /// Whether this switch plays the script. Every packet passes exactly one switch with two ports: the switch of a star, or
    /// a spine.
    type Shared = bool;

    fn rules(stage: &Stage) -> Stage {
        stage.clone()
    }

    fn shared(_: &Stage, ports: usize) -> bool {
        ports == 2
    }

    fn new(_: &Stage) -> Self {
        Self(VecDeque::new())
    }

    fn enqueue(&mut self, stage: &Stage, plays: &mut bool, packet: Packet, cx: &mut impl Context<Packet>) {
        if !*plays || packet.fate() == Arrived::Returned {
            return self.leave(packet, Fate::Whole, cx);
        }
        let header = NdpHeader::unpack(packet.packed());
        let which = Which::with(&header, header.conn().get());
        let leaving = stage.0.lock().expect("nobody panics while playing").pass(which, &packet);
        if leaving.is_empty() {
            // Held packets are counted as dropped too; no test reads that count.
            let why = DropReason::DataQueueFull;
            return cx.outcome(Outcome::Dropped { packet, why, trimmed: false });
        }
        leaving.into_iter().for_each(|(packet, fate)| self.leave(packet, fate, cx));
    }

    fn dequeue(&mut self, _: &Stage, _: &mut bool, _: &mut impl Context<Packet>) -> Option<Packet> {
        self.0.pop_front()
    }

    fn complete(&mut self, _: &Stage, _: &mut bool, _: &mut impl Context<Packet>) {}

    fn prefetch_targets(&self) -> [*const Packet; 2] {
        [std::ptr::null(); 2]
    }

    fn waiting(&self, visit: &mut dyn FnMut(&Packet)) {
        self.0.iter().for_each(visit);
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn data_held(&self) -> u32 {
        self.queued(false)
    }

    fn queued(&self, control: bool) -> u32 {
        self.0.iter().filter(|packet| packet.is_control() == control).count() as u32
    }

    fn trimmed_size(_: &Stage) -> Option<u32> {
        Some(TRIMMED)
    }
}
