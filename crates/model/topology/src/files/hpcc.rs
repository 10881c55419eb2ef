//! The format of the HPCC simulations: `nodes switches links`, a line of switch ids, then `a b rate delay loss` per link.
//!
//! Text after the stated number of links is a comment, as in the original reader.

use std::collections::BTreeSet;

use super::faults::{Faults, LoadErrors};
use super::{File, LoadOptions};
use crate::error::TopologyError;
use crate::model::Link;
use crate::topology::Topology;

pub(super) fn load(file: &File<'_>, options: &LoadOptions) -> Result<Topology, LoadErrors> {
    let mut lines = file.text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let mut lines = lines.by_ref().filter(|(_, line)| !line.trim().is_empty());
    let (line, header) = lines.next().unwrap_or((1, ""));
    let mut words = header.split_whitespace();
    let nodes: u32 = file.number(line, "number of nodes", words.next())?;
    let switches: usize = file.number(line, "number of switches", words.next())?;
    let links: usize = file.number(line, "number of links", words.next())?;
    let (most, text) = (file.ends.len() + 1, format!("number of links = {links}"));
    if links > most {
        let remedy = format!("the file has {most} lines; correct the number or add links");
        return Err(file.refuse(line, text, remedy).into());
    }
    if nodes as usize > 2 * links {
        let what = format!("number of nodes = {nodes}, but {links} links join at most {}", 2 * links);
        return Err(file.refuse(line, what, "correct the number or add links").into());
    }
    let (line, ids) = lines.next().unwrap_or((line, ""));
    let ids = switch_ids(file, line, ids, nodes)?;
    if ids.len() != switches {
        let what = format!("{} switch ids, but the first line says {switches}", ids.len());
        return Err(file.refuse(line, what, "correct the one or the other").into());
    }
    let mut graph = options.graph(file.name);
    for id in 0..nodes {
        let name = format!("node {id}");
        let added = if ids.contains(&id) { graph.switch(&name) } else { graph.host(&name) };
        file.at(line, added)?;
    }
    let mut faults = Faults::default();
    for count in 0..links {
        let Some((line, text)) = lines.next() else {
            let what = format!("{count} links, but the first line says {links}");
            faults.keep(Err::<(), _>(file.refuse(1, what, "correct the number or add links")));
            break;
        };
        let joined = read_link(file, line, text).and_then(|(ends, link)| {
            file.link(line, &mut graph, ends.each_ref().map(String::as_str), link, 1)
        });
        faults.keep(joined);
    }
    faults.end(file)?;
    let mut topology = graph.build()?;
    topology.name = file.stem();
    Ok(topology)
}

fn switch_ids(file: &File<'_>, line: usize, text: &str, nodes: u32) -> Result<BTreeSet<u32>, TopologyError> {
    let mut ids = BTreeSet::new();
    for word in text.split_whitespace() {
        let id = file.number(line, "switch id", Some(word))?;
        if id >= nodes {
            let remedy = format!("use ids from 0 to {}", nodes.saturating_sub(1));
            return Err(file.refuse(line, format!("switch id {id} of {nodes} nodes"), remedy));
        }
        if !ids.insert(id) {
            return Err(file.refuse(line, format!("switch id {id} is there twice"), "name each switch once"));
        }
    }
    Ok(ids)
}

fn read_link(file: &File<'_>, line: usize, text: &str) -> Result<([String; 2], Link), TopologyError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [a, b, rate, delay, loss] = words[..] else {
        let what = format!("\"{}\" is no link", text.trim());
        return Err(file.refuse(
            line,
            what,
            "write \"a b rate delay error_rate\", for instance \"0 1 100Gbps 1us 0\"",
        ));
    };
    let ends = [file.number::<u32>(line, "node", Some(a))?, file.number(line, "node", Some(b))?];
    let loss: f64 = file.number(line, "error_rate", Some(loss))?;
    if loss != 0.0 {
        let remedy = "use 0 and describe the loss by a [[fault]] of the scenario";
        return Err(file.refuse(line, format!("error_rate = {loss}"), remedy));
    }
    let link = Link { rate: file.quantity(line, "rate", rate)?, delay: file.quantity(line, "delay", delay)? };
    Ok((ends.map(|id| format!("node {id}")), link))
}
