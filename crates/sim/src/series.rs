//! Goodput and queueing over time: turns the notes of hosts and ports into the rows of a table.

use std::collections::{BTreeMap, BTreeSet};

use pullnet_probes::{Per, Series, SeriesKey, SeriesRow};
use pullnet_record::FlowRow;
use pullnet_session::Share;
use pullnet_transport::Words;
use pullnet_units::{FlowId, Id, Instant};

use crate::probe::Held;
use crate::shard::Shard;

/// Change of the number of data packets that all ports hold, by interval. Entries move here from the ports from time to
/// time: a long series would otherwise take memory once per port.
#[derive(Default)]
pub struct HeldSum(Vec<i64>);

impl HeldSum {
    /// Moves the entries of the ports of `shards` here.
    pub fn take_in<W: Words>(&mut self, shards: &mut [Shard<W>]) {
        shards.iter_mut().for_each(|shard| shard.ports.held(&mut |held| self.add(held)));
    }

    fn add(&mut self, held: &mut Held) {
        for (index, by) in held.changes.drain(..) {
            let index = index as usize;
            self.0.resize(self.0.len().max(index + 1), 0);
            self.0[index] += by;
        }
    }

    /// Number of packets held at the end of each interval.
    fn levels(&self) -> impl Iterator<Item = u64> + '_ {
        let changes = self.0.iter().chain(std::iter::repeat(&0));
        changes.scan(0, |level: &mut i64, change| {
            *level += change;
            Some((*level).max(0) as u64)
        })
    }
}

/// One row for every key in every interval, empty ones included, so that a sum over keys is a total. The error says why
/// the table would have too many rows.
pub fn rows(
    series: &Series,
    shares: &[Share],
    flows: &[FlowRow],
    held: &HeldSum,
    now: Instant,
) -> Result<Vec<SeriesRow>, String> {
    let mut keys: BTreeSet<SeriesKey> =
        shares.iter().map(|share| key(series.per, share.flow, flows)).collect();
    if series.per == Per::Total {
        keys.insert(SeriesKey::Total);
    }
    let length = now.since(Instant::ZERO);
    let affordable = series.affordable(length, keys.len() as u64);
    affordable.map_err(|reason| format!("probes.series.interval = \"{}\" {reason}", series.interval))?;
    let intervals = length.0.div_ceil(series.interval.0) as usize;
    let mut bytes: BTreeMap<SeriesKey, Vec<u64>> =
        keys.into_iter().map(|key| (key, vec![0; intervals])).collect();
    for share in shares {
        let of_key = bytes.get_mut(&key(series.per, share.flow, flows));
        if let Some(sum) = of_key.and_then(|row| row.get_mut(share.index as usize)) {
            *sum += share.bytes;
        }
    }
    let of_key = |(key, row): (SeriesKey, Vec<u64>)| {
        row.into_iter().zip(held.levels()).enumerate().map(move |(index, (delivered, level))| SeriesRow {
            key,
            at: Instant(index as u64 * series.interval.0),
            delivered,
            queued: (key == SeriesKey::Total).then_some(level),
        })
    };
    Ok(bytes.into_iter().flat_map(of_key).collect())
}

fn key(per: Per, flow: FlowId, flows: &[FlowRow]) -> SeriesKey {
    match per {
        Per::Total => SeriesKey::Total,
        Per::Host => SeriesKey::Host(flows[flow.index()].dst),
        Per::Flow => SeriesKey::Flow(flow),
        Per::Tag => SeriesKey::Tag(flows[flow.index()].labels.tag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullnet_units::Picos;

    #[test]
    fn what_ports_hold_adds_up_however_often_it_is_taken_in() {
        let (mut often, mut once) = (HeldSum::default(), HeldSum::default());
        let mut ports = [
            Held::new(false, Some(Picos(100)), None).unwrap(),
            Held::new(false, Some(Picos(100)), None).unwrap(),
        ];
        let mut twins = ports.clone();
        for (at, port, count) in [(10, 0, 3), (20, 1, 1), (150, 0, 1), (160, 1, 4), (420, 1, 0)] {
            ports[port].set(Instant(at), count);
            twins[port].set(Instant(at), count);
            often.add(&mut ports[port]);
            assert!(ports[port].changes.is_empty());
        }
        twins.iter_mut().for_each(|twin| once.add(twin));
        let levels: Vec<u64> = often.levels().take(6).collect();
        assert_eq!(levels, [4, 5, 5, 5, 1, 1]);
        assert!(once.levels().take(6).eq(levels));
    }
}
