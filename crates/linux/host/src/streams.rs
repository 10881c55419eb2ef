//! All streams of a host, by id, by name and by the transport's slots.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::hash::RandomState;

use hashbrown::HashMap;
use pullnet_transport::{ConnId, HostAddr};
use pullnet_wire::REPLY;

use crate::handle::StreamId;
use crate::stream::Stream;

/// The name of a stream at both hosts: the peer, the opener's number, and whether this host is the opener.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Name {
    pub peer: HostAddr,
    pub number: u32,
    pub ours: bool,
}

impl Name {
    /// The stream of connection `conn` with `peer`. `theirs`: the peer sends its data.
    pub fn of(peer: HostAddr, conn: ConnId, theirs: bool) -> Self {
        let reply = conn.get() & REPLY != 0;
        Self { peer, number: conn.get() & !REPLY, ours: reply == theirs }
    }
}

#[derive(Debug)]
struct Entry {
    generation: u32,
    stream: Option<Box<Stream>>,
}

/// Streams in entries that are reused under a new generation.
#[derive(Default, Debug)]
pub(crate) struct Streams {
    entries: Vec<Entry>,
    free: VecDeque<u32>,
    /// Keyed by values that others choose, so the hashes must be unpredictable. The map is only searched, never iterated.
    names: HashMap<Name, u32, RandomState>,
    /// Entry of the stream found last: the next packet is mostly of the same.
    latest: Cell<u32>,
    /// Entries by the transport's slot.
    slots: Vec<u32>,
}

/// Tag and stamp carried by every packet of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tag {
    /// The stream's secret.
    pub value: u64,
    /// Whether it is encrypted.
    pub sealed: bool,
}

/// Tags of ended streams, for late packets about them: the latest only.
#[derive(Default, Debug)]
pub(crate) struct PastTags {
    tags: BTreeMap<Name, Tag>,
    order: VecDeque<Name>,
}

/// Maximum number of such tags.
const MOST_TAGS: usize = 8192;

impl PastTags {
    pub fn get(&self, name: &Name) -> Option<Tag> {
        self.tags.get(name).copied()
    }

    pub fn note(&mut self, name: Name, tag: Tag) {
        if self.tags.insert(name, tag).is_none() {
            self.order.push_back(name);
        }
        if self.order.len() > MOST_TAGS
            && let Some(oldest) = self.order.pop_front()
        {
            self.tags.remove(&oldest);
        }
    }
}

/// Marks a slot without a stream.
const NOWHERE: u32 = u32::MAX;

impl Streams {
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Adds the stream that `make` returns for its id.
    pub fn insert(&mut self, name: Name, make: impl FnOnce(StreamId) -> Stream) -> u32 {
        let index = self.free.pop_front().unwrap_or_else(|| {
            self.entries.push(Entry { generation: 0, stream: None });
            self.entries.len() as u32 - 1
        });
        let place = &mut self.entries[index as usize];
        place.stream = Some(Box::new(make(StreamId { index, generation: place.generation })));
        self.names.insert(name, index);
        index
    }

    pub fn remove(&mut self, index: u32) -> Option<Box<Stream>> {
        let place = self.entries.get_mut(index as usize)?;
        let stream = place.stream.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push_back(index);
        self.names.remove(&Name { peer: stream.peer, number: stream.number, ours: stream.ours });
        Some(stream)
    }

    pub fn find(&self, name: &Name) -> Option<u32> {
        let is_it = |stream: &Stream| {
            (stream.peer, stream.number, stream.ours) == (name.peer, name.number, name.ours)
        };
        if self.get(self.latest.get()).is_some_and(is_it) {
            return Some(self.latest.get());
        }
        let index = self.names.get(name).copied()?;
        self.latest.set(index);
        Some(index)
    }

    pub fn get(&self, index: u32) -> Option<&Stream> {
        self.entries.get(index as usize)?.stream.as_deref()
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut Stream> {
        self.entries.get_mut(index as usize)?.stream.as_deref_mut()
    }

    /// Returns the stream with `id`, for any owner.
    pub fn named(&self, id: StreamId) -> Option<&Stream> {
        self.get(id.index).filter(|stream| stream.id == id)
    }

    /// Notes that the transport uses `slot` for the receiving connection of a stream.
    pub fn set_slot(&mut self, slot: u32, index: u32) {
        let needed = slot as usize + 1;
        if self.slots.len() < needed {
            self.slots.resize(needed, NOWHERE);
        }
        self.slots[slot as usize] = index;
    }

    /// The stream whose receiving connection has `slot` in the transport.
    pub fn by_slot(&self, slot: u32) -> Option<u32> {
        self.slots.get(slot as usize).copied().filter(|index| *index != NOWHERE)
    }

    /// All streams in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.entries.iter().filter_map(|place| place.stream.as_deref())
    }

    /// The places of all streams.
    pub fn indices(&self) -> Vec<u32> {
        self.iter().map(|stream| stream.id.index).collect()
    }
}
