//! The tree format of htsim: `key value` lines, a header, then one block per tier (0 = ToR).
//!
//! Source of the format: `sim/datacenter/fat_tree_topology.cpp` of csg-htsim. A radix counts links; groups of `Bundle` links
//! lead to the same neighbour. The latency of a switch is added to the delay of its incoming links.

use std::collections::BTreeMap;

use pullnet_units::{BitsPerSec, Picos};

use super::faults::{Faults, LoadErrors};
use super::{File, LoadOptions};
use crate::build::build;
use crate::error::TopologyError;
use crate::model::Link;
use crate::topology::Topology;
use crate::tree::{Duplex, Shape};

const HEADER: &[&str] = &["nodes", "tiers", "podsize"];
const TIER: &[&str] = &[
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "oversubscribed",
    "bundle",
];

/// Values with their lines, by block (0 the header, 1 the ToRs, ...) and key.
struct Values<'a> {
    file: &'a File<'a>,
    rows: BTreeMap<(u32, String), (&'a str, usize)>,
    /// First line of each block.
    blocks: BTreeMap<u32, usize>,
}

pub(super) fn load(file: &File<'_>, options: &LoadOptions) -> Result<Topology, LoadErrors> {
    if options.max_paths.is_some() {
        let what = "max_paths has no effect on this format";
        return Err(file.refuse(1, what, "leave it out; a tree has all its paths").into());
    }
    let values = Values::read(file)?;
    let shape = values.shape()?;
    values.check_oversubscription(&shape)?;
    match build("tree", file.stem(), shape) {
        Err(TopologyError::Parameter { key, value, remedy, .. }) => {
            Err(file.refuse(1, format!("{key} = {value} is not possible"), remedy).into())
        }
        other => Ok(other?),
    }
}

/// Lower-case key and value of a line; `None` for an empty line.
fn row<'a>(file: &File<'_>, line: usize, text: &'a str) -> Result<Option<(String, &'a str)>, TopologyError> {
    let mut words = text.split('#').next().unwrap_or("").split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => Ok(None),
        (Some(key), Some(value), None) => Ok(Some((key.to_ascii_lowercase(), value))),
        (Some(key), None, _) => Err(file.refuse(line, format!("{key} has no value"), "write a number")),
        (Some(key), Some(value), Some(more)) => {
            let what = format!("\"{more}\" after {key} {value}");
            Err(file.refuse(line, what, "write one key and one number per line"))
        }
    }
}

impl<'a> Values<'a> {
    fn read(file: &'a File<'a>) -> Result<Self, LoadErrors> {
        let mut values = Self { file, rows: BTreeMap::new(), blocks: BTreeMap::from([(0, 1)]) };
        let (mut faults, mut block) = (Faults::default(), Some(0));
        for (line, text) in file.text.lines().enumerate().map(|(index, text)| (index + 1, text)) {
            let Some((key, value)) = faults.keep(row(file, line, text)).flatten() else { continue };
            if key == "tier" {
                block = faults.keep(values.begin(line, value));
            } else if let Some(block) = block {
                faults.keep(values.insert(line, block, key, value));
            }
        }
        faults.end(file)?;
        Ok(values)
    }

    fn begin(&mut self, line: usize, value: &str) -> Result<u32, TopologyError> {
        let tier: u32 = self.file.number(line, "Tier", Some(value))?;
        if tier > 2 {
            return Err(self.file.refuse(
                line,
                format!("Tier {tier}"),
                "use 0 (ToR), 1 (aggregation) or 2 (core)",
            ));
        }
        match self.blocks.insert(tier + 1, line) {
            None => Ok(tier + 1),
            Some(_) => {
                Err(self.file.refuse(line, format!("Tier {tier} is there twice"), "keep one of the blocks"))
            }
        }
    }

    fn insert(&mut self, line: usize, block: u32, key: String, value: &'a str) -> Result<(), TopologyError> {
        if key == "queue_up" || key == "queue_down" {
            let remedy = "remove the line and set the queues in the scenario's [switch] table";
            return Err(self.file.refuse(line, format!("{key} {value} has no effect here"), remedy));
        }
        let known = if block == 0 { HEADER } else { TIER };
        if !known.contains(&key.as_str()) {
            let remedy = format!("use one of {}", known.join(", "));
            return Err(self.file.refuse(line, format!("unknown key \"{key}\""), remedy));
        }
        match self.rows.insert((block, key.clone()), (value, line)) {
            None => Ok(()),
            Some(_) => Err(self.file.refuse(line, format!("{key} is there twice"), "keep one of the lines")),
        }
    }

    /// The text of a value, with its line.
    fn find(&self, block: u32, key: &str) -> Option<(&'a str, usize)> {
        self.rows.get(&(block, key.to_string())).copied()
    }

    fn needed(&self, block: u32, key: &str) -> Result<(&'a str, usize), TopologyError> {
        let line = self.blocks.get(&block).copied().unwrap_or(1);
        let place = if block == 0 { "the header".to_string() } else { format!("Tier {}", block - 1) };
        let what = format!("{place} has no {key}");
        self.find(block, key)
            .ok_or_else(|| self.file.refuse(line, what, format!("add a line \"{key} <number>\"")))
    }

    /// A count from 1 to 2^24.
    fn count(&self, block: u32, key: &str) -> Result<u32, TopologyError> {
        let (text, line) = self.needed(block, key)?;
        let value: u32 = self.file.number(line, key, Some(text))?;
        if (1..=1 << 24).contains(&value) {
            return Ok(value);
        }
        Err(self.file.refuse(line, format!("{key} = {value} is out of range"), "use 1 to 16777216"))
    }

    /// `radix / bundle`, which must be whole.
    fn neighbours(&self, block: u32, radix: &str, bundle: u32) -> Result<u32, TopologyError> {
        let (links, (_, line)) = (self.count(block, radix)?, self.needed(block, radix)?);
        if links.is_multiple_of(bundle) {
            return Ok(links / bundle);
        }
        let what = format!("{radix} = {links} is not a multiple of the bundle of {bundle} links");
        Err(self.file.refuse(line, what, format!("use a multiple of {bundle}")))
    }

    fn bundle(&self, block: u32) -> Result<u32, TopologyError> {
        if self.find(block, "bundle").is_some() { self.count(block, "bundle") } else { Ok(1) }
    }

    fn shape(&self) -> Result<Shape, TopologyError> {
        let tiers = self.tiers()?;
        if let Some((bundle, line)) = self.find(1, "bundle").filter(|(bundle, _)| *bundle != "1") {
            let what = format!("bundle = {bundle} of Tier 0: a host has one NIC");
            return Err(self.file.refuse(line, what, "use 1 or remove the line"));
        }
        let lanes = [self.bundle(2)?, if tiers == 3 { self.bundle(3)? } else { 1 }];
        let deep = tiers == 3;
        let shape = Shape {
            tiers,
            pods: if deep { self.neighbours(3, "radix_down", lanes[1])? } else { 1 },
            racks: self.neighbours(2, "radix_down", lanes[0])?,
            hosts: self.count(1, "radix_down")?,
            aggs: self.neighbours(1, "radix_up", lanes[0])?,
            cores: if deep { self.neighbours(2, "radix_up", lanes[1])? } else { 0 },
            lanes,
            links: [self.duplex(1)?, self.duplex(2)?, self.duplex(u32::from(tiers))?],
        };
        self.check_counts(&shape)?;
        Ok(shape)
    }

    fn tiers(&self) -> Result<u8, TopologyError> {
        let (text, line) = self.needed(0, "tiers")?;
        let tiers = match text {
            "2" => 2,
            "3" => 3,
            _ => return Err(self.file.refuse(line, format!("tiers = {text} is not possible"), "use 2 or 3")),
        };
        if let Some((block, line)) = self.blocks.iter().find(|(block, _)| **block > u32::from(tiers)) {
            let what = format!("Tier {} of {tiers} tiers", block - 1);
            return Err(self.file.refuse(*line, what, "remove the block or raise Tiers"));
        }
        match self.find(u32::from(tiers), "radix_up") {
            Some((text, line)) => {
                let what = format!("radix_up = {text} of the highest tier");
                Err(self.file.refuse(line, what, "remove the line; nothing is above it"))
            }
            None => Ok(tiers),
        }
    }

    fn check_counts(&self, shape: &Shape) -> Result<(), TopologyError> {
        let rack = u64::from(shape.racks) * u64::from(shape.hosts);
        let derived = [("podsize", rack), ("nodes", rack.saturating_mul(u64::from(shape.pods)))];
        for (key, expected) in derived {
            let ((_, line), stated) = (self.needed(0, key)?, self.count(0, key)?);
            if u64::from(stated) != expected {
                let what = format!("{key} = {stated}, but the radices make it {expected}");
                return Err(self.file.refuse(line, what, format!("use {expected} or change the radices")));
            }
        }
        Ok(())
    }

    fn picos(&self, block: u32, key: &str) -> Result<Picos, TopologyError> {
        let (text, line) = self.needed(block, key)?;
        self.file.quantity(line, key, &format!("{text} ns"))
    }

    fn latency(&self, block: u32) -> Result<Picos, TopologyError> {
        let stated = self.find(block, "switch_latency_ns").is_some();
        if stated { self.picos(block, "switch_latency_ns") } else { Ok(Picos::ZERO) }
    }

    /// The links below a tier; a host adds no latency.
    fn duplex(&self, block: u32) -> Result<Duplex, TopologyError> {
        let (text, line) = self.needed(block, "downlink_speed_gbps")?;
        let rate: BitsPerSec = self.file.quantity(line, "downlink_speed_gbps", &format!("{text} Gbps"))?;
        let delay = self.picos(block, "downlink_latency_ns")?;
        if delay == Picos::ZERO {
            let (_, line) = self.needed(block, "downlink_latency_ns")?;
            return Err(self.file.refuse(
                line,
                "downlink_latency_ns = 0",
                "a link needs a delay, for instance 1000",
            ));
        }
        let below = if block > 1 { self.latency(block - 1)? } else { Picos::ZERO };
        let link = |latency| Link { rate, delay: delay.saturating_add(latency) };
        Ok(Duplex { up: link(self.latency(block)?), down: link(below) })
    }

    /// Checks `Oversubscribed` against the radices, either by number of links or by their rates.
    fn check_oversubscription(&self, shape: &Shape) -> Result<(), TopologyError> {
        for tier in 0..shape.tiers - 1 {
            let block = u32::from(tier) + 1;
            let Some((_, line)) = self.find(block, "oversubscribed") else { continue };
            let stated = u128::from(self.count(block, "oversubscribed")?);
            let (children, lanes) = shape.below(tier);
            let (down, up) = (u128::from(children * lanes), u128::from(shape.ups(tier)));
            let rate = |tier: u8| u128::from(shape.links[usize::from(tier)].down.rate.get());
            if down != stated * up && down * rate(tier) != stated * up * rate(tier + 1) {
                let what = format!("oversubscribed = {stated}, but there are {down} links down and {up} up");
                return Err(self.file.refuse(line, what, "change it or the radices"));
            }
        }
        Ok(())
    }
}
