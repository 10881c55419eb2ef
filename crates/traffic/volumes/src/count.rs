//! Counts a capture into bins.

use pullnet_capture::{Filter, Item, Losses, Reader, Verdict};

use crate::binner::{Binner, Plan, Totals};
use crate::error::VolumesError;
use crate::scale::{Bins, Tally};

/// Reads a capture into bins, in steps of a chosen number of packets.
pub struct Count {
    reader: Reader,
    filter: Option<Filter>,
    binner: Binner,
    other: Tally,
    unclassified: Tally,
}

/// Result of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// Bins of every timescale, in the order of the plan.
    pub bins: Vec<Bins>,
    /// Fates of the packets that match the filter.
    pub totals: Totals,
    /// Packets that do not match the filter.
    pub other: Tally,
    /// Packets for which the filter cannot be evaluated; not counted.
    pub unclassified: Tally,
    /// Unreadable parts.
    pub losses: Losses,
    /// Length of the content. Unit: bytes.
    pub length: u64,
}

impl Count {
    /// Starts at the beginning of `reader`.
    pub fn new(reader: Reader, filter: Option<Filter>, plan: Plan) -> Self {
        let (other, unclassified) = (Tally::default(), Tally::default());
        Self { reader, filter, binner: Binner::new(plan), other, unclassified }
    }

    /// Reads up to `packets` packets; returns whether there may be more.
    pub fn advance(&mut self, packets: u64) -> bool {
        for _ in 0..packets {
            match self.reader.next() {
                None => return false,
                Some(Item::Break) => self.binner.interrupted(),
                Some(Item::Packet(packet)) => {
                    match self.filter.as_ref().map_or(Verdict::Counted, |filter| filter.verdict(&packet)) {
                        Verdict::Counted => self.binner.add(packet.time, packet.wire_len),
                        Verdict::Other => self.other.add(packet.wire_len),
                        Verdict::Unclassified => self.unclassified.add(packet.wire_len),
                    }
                }
            }
        }
        true
    }

    /// The underlying reader.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Packets counted so far.
    pub fn packets(&self) -> u64 {
        self.binner.totals().all.packets
    }

    /// The bins, once all has been read.
    pub fn finish(self) -> Result<Finished, VolumesError> {
        let Self { reader, binner, other, unclassified, .. } = self;
        let left_out = other.packets + unclassified.packets;
        let (bins, totals) = binner.finish().map_err(|error| match error {
            VolumesError::NoPackets if left_out > 0 => {
                VolumesError::NoneCounted { other: other.packets, unclassified: unclassified.packets }
            }
            error => error,
        })?;
        let (losses, length) = (reader.losses().clone(), reader.offset());
        Ok(Finished { bins, totals, other, unclassified, losses, length })
    }
}
