use alloc::vec::Vec;
use core::hash::BuildHasher;

use hashbrown::HashMap;
use pullnet_transport::{ConnId, HostAddr};
use rustc_hash::FxBuildHasher;

/// Connections by slot, found by peer and number. The map is only searched, never iterated, so its order does not
/// matter. `S` is the hasher: [`FxBuildHasher`] where peers can be trusted.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Connections<T, S = FxBuildHasher> {
    latest: Option<((HostAddr, ConnId), u32)>,
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    by_key: HashMap<(HostAddr, ConnId), u32, S>,
}

impl<T, S: Default> Default for Connections<T, S> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), by_key: HashMap::default(), latest: None }
    }
}

impl<T, S: BuildHasher> Connections<T, S> {
    /// The slot of a connection.
    #[inline]
    pub fn find(&mut self, peer: HostAddr, conn: ConnId) -> Option<u32> {
        let key = (peer, conn);
        match self.latest {
            Some((latest, slot)) if latest == key => Some(slot),
            _ => {
                let slot = *self.by_key.get(&key)?;
                self.latest = Some((key, slot));
                Some(slot)
            }
        }
    }

    /// A connection by its name.
    pub fn get(&self, peer: HostAddr, conn: ConnId) -> Option<&T> {
        let key = (peer, conn);
        let latest = self.latest.and_then(|(latest, slot)| (latest == key).then_some(slot));
        let slot = latest.or_else(|| self.by_key.get(&key).copied())?;
        self.slots[slot as usize].as_ref()
    }

    /// Adds a connection.
    pub fn insert(&mut self, peer: HostAddr, conn: ConnId, connection: T) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            if self.slots.is_empty() {
                // Many hosts of a large network have a single connection, and a vector would begin with room for four.
                self.slots.reserve_exact(1);
            }
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(connection);
        self.by_key.insert((peer, conn), slot);
        slot
    }

    /// Forgets a connection.
    pub fn remove(&mut self, peer: HostAddr, conn: ConnId) -> Option<T> {
        let slot = self.by_key.remove(&(peer, conn))?;
        self.latest = None;
        self.free.push(slot);
        self.slots[slot as usize].take()
    }

    /// The connection in `slot`.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// Addresses of the cache lines of the connection found last.
    pub fn prefetch_targets(&self) -> impl Iterator<Item = *const u8> {
        let latest = self.latest.map_or(0, |(_, slot)| slot as usize);
        let place: *const u8 = self.slots.as_ptr().wrapping_add(latest).cast();
        (0..size_of::<Option<T>>()).step_by(64).map(move |offset| place.wrapping_add(offset))
    }

    /// The connection found last.
    pub fn latest(&self) -> Option<&T> {
        let (_, slot) = self.latest?;
        self.slots.get(slot as usize)?.as_ref()
    }

    /// All connections in order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::hash::RandomState;
    use std::vec;

    use super::*;

    const PEER: HostAddr = HostAddr(1);
    /// Slots of a map of 64 Ki connections.
    const PLACES: u64 = 1 << 16;

    /// Largest number of keys that share a slot of a map.
    fn crowd<S: BuildHasher + Default>(numbers: &[u32]) -> u32 {
        let connections = Connections::<(), S>::default();
        let mut places = vec![0; PLACES as usize];
        for number in numbers {
            let hash = connections.by_key.hasher().hash_one((PEER, ConnId::new(*number)));
            places[(hash % PLACES) as usize] += 1;
        }
        places.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn numbers_that_crowd_one_place_do_not_where_hashes_cannot_be_foreseen() {
        let first =
            |number: &u32| FxBuildHasher.hash_one((PEER, ConnId::new(*number))).is_multiple_of(PLACES);
        let chosen: Vec<u32> = (0..).filter(first).take(256).collect();
        assert_eq!(crowd::<FxBuildHasher>(&chosen), 256);
        // Eight of 256 in one of 65536 slots: less than one run in 10^22.
        assert!(crowd::<RandomState>(&chosen) < 8);
    }
}
