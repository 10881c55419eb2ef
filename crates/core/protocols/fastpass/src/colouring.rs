//! Which path each packet of a timeslot takes: an edge colouring of the bipartite multigraph of racks.
//!
//! A colour stands for a path. If no two edges at a rack have the same colour, no two packets of the slot leave or enter a rack
//! by the same way. König's theorem: as many colours as the largest degree suffice.

use alloc::vec;
use alloc::vec::Vec;

/// A packet from one rack to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub from: u32,
    pub to: u32,
}

const NONE: u32 = u32::MAX;

/// Numbers of the racks that occur, densely from 0.
fn dense(racks: impl Iterator<Item = u32> + Clone) -> (Vec<u32>, usize) {
    let mut known: Vec<u32> = racks.clone().collect();
    known.sort_unstable();
    known.dedup();
    let place = |rack: u32| known.binary_search(&rack).map_or(NONE, |place| place as u32);
    (racks.map(place).collect(), known.len())
}

fn largest_degree(ends: &[u32], racks: usize) -> usize {
    let mut degrees = vec![0; racks];
    ends.iter().for_each(|rack| degrees[*rack as usize] += 1);
    degrees.into_iter().max().unwrap_or(0)
}

/// The edge of each colour at each rack of either side.
struct EdgeColours {
    colours: usize,
    sides: [Vec<u32>; 2],
}

impl EdgeColours {
    fn at(&mut self, side: usize, rack: u32, colour: usize) -> &mut u32 {
        &mut self.sides[side][rack as usize * self.colours + colour]
    }

    fn free(&self, side: usize, rack: u32) -> usize {
        let start = rack as usize * self.colours;
        let row = &self.sides[side][start..start + self.colours];
        row.iter().position(|edge| *edge == NONE).expect("a rack has fewer coloured edges than colours")
    }
}

/// A colour for each edge, from 0 on, and the number of colours: the largest degree of a rack.
pub(crate) fn colour(edges: &[Edge]) -> (Vec<u32>, u32) {
    let (from, sources) = dense(edges.iter().map(|edge| edge.from));
    let (to, destinations) = dense(edges.iter().map(|edge| edge.to));
    let colours = largest_degree(&from, sources).max(largest_degree(&to, destinations));
    let sides = [vec![NONE; sources * colours], vec![NONE; destinations * colours]];
    let (mut table, ends) = (EdgeColours { colours, sides }, [from, to]);
    for edge in 0..edges.len() {
        place(&mut table, &ends, edge as u32);
    }
    let mut result = vec![0; edges.len()];
    for (place, edge) in table.sides[0].iter().enumerate().filter(|(_, edge)| **edge != NONE) {
        result[*edge as usize] = (place % colours) as u32;
    }
    (result, colours as u32)
}

/// Colours one more edge. Where its ends have no free colour in common, the path of the two colours that begins at its
/// destination swaps them. In a bipartite graph that path cannot end at the edge's source.
fn place(table: &mut EdgeColours, ends: &[Vec<u32>; 2], edge: u32) {
    let (from, to) = (ends[0][edge as usize], ends[1][edge as usize]);
    let (wanted, other) = (table.free(0, from), table.free(1, to));
    if *table.at(1, to, wanted) != NONE {
        swap(table, ends, (1, to), [wanted, other]);
    }
    (*table.at(0, from, wanted), *table.at(1, to, wanted)) = (edge, edge);
}

/// Swaps two colours along the path that begins at a rack with the first of them; the rack has no edge of the second.
fn swap(
    table: &mut EdgeColours,
    ends: &[Vec<u32>; 2],
    (mut side, mut rack): (usize, u32),
    colours: [usize; 2],
) {
    let mut path = Vec::new();
    let mut turn = 0;
    while *table.at(side, rack, colours[turn]) != NONE {
        let edge = *table.at(side, rack, colours[turn]);
        path.push((edge, turn));
        (side, turn) = (1 - side, 1 - turn);
        rack = ends[side][edge as usize];
    }
    for (edge, turn) in &path {
        for (side, ends) in ends.iter().enumerate() {
            *table.at(side, ends[*edge as usize], colours[*turn]) = NONE;
        }
    }
    for (edge, turn) in &path {
        for (side, ends) in ends.iter().enumerate() {
            *table.at(side, ends[*edge as usize], colours[1 - *turn]) = *edge;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::{BTreeMap, BTreeSet};
    use proptest::prelude::*;

    fn edges(pairs: &[(u32, u32)]) -> Vec<Edge> {
        pairs.iter().map(|(from, to)| Edge { from: *from, to: *to }).collect()
    }

    proptest! {
        #[test]
        fn no_rack_has_two_edges_of_a_colour_and_the_largest_degree_suffices(
            pairs in prop::collection::vec((0u32..9, 100u32..109), 0..120),
        ) {
            let (colours, count) = colour(&edges(&pairs));
            let mut degrees: BTreeMap<u32, u32> = BTreeMap::new();
            let mut seen = BTreeSet::new();
            for ((from, to), colour) in pairs.iter().zip(&colours) {
                prop_assert!(seen.insert((*from, *colour)) && seen.insert((*to, *colour)));
                *degrees.entry(*from).or_default() += 1;
                *degrees.entry(*to).or_default() += 1;
            }
            prop_assert_eq!(count, degrees.values().copied().max().unwrap_or(0));
            prop_assert!(colours.iter().all(|colour| *colour < count));
        }

        #[test]
        fn folded_onto_fewer_paths_colours_stay_balanced(
            pairs in prop::collection::vec((0u32..4, 0u32..4), 1..64),
            paths in 1u32..8,
        ) {
            let (colours, count) = colour(&edges(&pairs));
            let mut load: BTreeMap<(bool, u32, u32), u32> = BTreeMap::new();
            for ((from, to), colour) in pairs.iter().zip(&colours) {
                *load.entry((false, *from, colour % paths)).or_default() += 1;
                *load.entry((true, *to, colour % paths)).or_default() += 1;
            }
            prop_assert!(load.values().all(|load| *load <= count.div_ceil(paths)));
        }
    }
}
