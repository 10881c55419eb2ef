//! The shortest paths between two switches, of different lengths too. Source: J. Y. Yen, "Finding the k shortest loopless paths
//! in a network", Management Science 17, 1971.

use std::collections::{BTreeSet, VecDeque};

use pullnet_units::PortId;

/// A path: each port with the switch that it leads to.
type Steps = Vec<(PortId, u32)>;

/// The `most` shortest paths from one switch to another one, by number of links, then by ports. None passes a switch twice, so that
/// a switch and the number of a path are enough to tell the next port. `links`: those of each switch, as port and peer.
pub(crate) fn shortest_paths(
    links: &[Vec<(PortId, u32)>],
    from: u32,
    to: u32,
    most: usize,
) -> Vec<Vec<PortId>> {
    let mut found: Vec<Steps> =
        shortest(links, from, to, &BTreeSet::new(), &BTreeSet::new()).into_iter().collect();
    let mut waiting = BTreeSet::new();
    while found.len() < most
        && let Some(latest) = found.last()
    {
        waiting.extend(deviations(links, from, to, latest, &found).map(|path| (path.len(), path)));
        let Some((_, next)) = waiting.pop_first() else { break };
        found.push(next);
    }
    found.into_iter().map(|path| path.into_iter().map(|(port, _)| port).collect()).collect()
}

/// For each switch of `path`, the shortest path that is the same up to there and then leaves by a port that no path of `found`
/// with that beginning leaves by.
fn deviations<'a>(
    links: &'a [Vec<(PortId, u32)>],
    from: u32,
    to: u32,
    path: &'a Steps,
    found: &'a [Steps],
) -> impl Iterator<Item = Steps> + 'a {
    (0..path.len()).filter_map(move |kept| {
        let begin = &path[..kept];
        let at = begin.last().map_or(from, |(_, node)| *node);
        let passed =
            core::iter::once(from).chain(begin.iter().map(|(_, node)| *node)).filter(|node| *node != at);
        let same = found.iter().filter(|other| other.len() > kept && other[..kept] == *begin);
        let taken = same.map(|other| other[kept].0).collect();
        let rest = shortest(links, at, to, &passed.collect(), &taken)?;
        Some([begin, &rest].concat())
    })
}

/// A shortest path that avoids switches and ports, the first one by ports.
fn shortest(
    links: &[Vec<(PortId, u32)>],
    from: u32,
    to: u32,
    avoided: &BTreeSet<u32>,
    taken: &BTreeSet<PortId>,
) -> Option<Steps> {
    let mut before: Vec<Option<(PortId, u32)>> = vec![None; links.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front().filter(|_| before[to as usize].is_none()) {
        for (port, peer) in &links[at as usize] {
            let known = *peer == from || before[*peer as usize].is_some();
            if !known && !avoided.contains(peer) && !taken.contains(port) {
                before[*peer as usize] = Some((*port, at));
                queue.push_back(*peer);
            }
        }
    }
    let mut path = Vec::new();
    let mut at = to;
    while at != from {
        let (port, previous) = before[at as usize]?;
        path.push((port, at));
        at = previous;
    }
    path.reverse();
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every path between two switches that passes none twice, the shortest first.
    fn all(
        links: &[Vec<(PortId, u32)>],
        at: u32,
        to: u32,
        passed: &mut Vec<u32>,
        path: &mut Vec<PortId>,
    ) -> Vec<Vec<PortId>> {
        if at == to {
            return vec![path.clone()];
        }
        passed.push(at);
        let mut found = Vec::new();
        for (port, peer) in
            links[at as usize].iter().filter(|(_, peer)| !passed.contains(peer)).copied().collect::<Vec<_>>()
        {
            path.push(port);
            found.extend(all(links, peer, to, passed, path));
            path.pop();
        }
        passed.pop();
        found.sort_by_key(|path| (path.len(), path.clone()));
        found
    }

    proptest::proptest! {
        #[test]
        fn they_are_the_first_of_all_paths(
            cables in proptest::collection::vec((0u32..7, 0u32..7), 1..16), most in 1usize..30
        ) {
            let mut links = vec![Vec::new(); 7];
            let cables = cables.into_iter().filter(|(a, b)| a != b);
            for (number, (a, b)) in (0u32..).zip(cables) {
                links[a as usize].push((PortId::new(2 * number), b));
                links[b as usize].push((PortId::new(2 * number + 1), a));
            }
            let found = shortest_paths(&links, 0, 6, most);
            let wanted = all(&links, 0, 6, &mut Vec::new(), &mut Vec::new());
            proptest::prop_assert_eq!(found.len(), wanted.len().min(most));
            let lengths = |paths: &[Vec<PortId>]| paths.iter().map(Vec::len).collect::<Vec<_>>();
            proptest::prop_assert_eq!(lengths(&found), lengths(&wanted[..found.len()]));
            let once: BTreeSet<_> = found.iter().collect();
            proptest::prop_assert_eq!(once.len(), found.len(), "each path once");
            proptest::prop_assert!(found.iter().all(|path| wanted.contains(path)));
        }
    }
}
