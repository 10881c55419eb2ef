//! The project's own format; see [`load`](super::load) for a complete example.

use core::ops::Range;

use pullnet_units::{BitsPerSec, Picos};
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use super::faults::{Faults, LoadErrors};
use super::{File, LoadOptions};
use crate::error::TopologyError;
use crate::model::Link;
use crate::topology::Topology;

pub(super) fn load(file: &File<'_>, options: &LoadOptions) -> Result<Topology, LoadErrors> {
    let parsed = DeTable::parse(file.text).map_err(|error| {
        let line = file.line_of(error.span().map_or(0, |span| span.start));
        file.refuse(line, format!("not TOML: {}", error.message()), "correct the line")
    })?;
    let root = TableReader::new(file, "the file", 0, parsed.get_ref());
    let (mut faults, mut graph) = (Faults::default(), options.graph(file.name));
    faults.keep(root.only(&["name", "defaults", "host", "switch", "link"]));
    let name = faults.keep(root.text("name")).flatten();
    for table in faults.keep(root.tables("switch")).unwrap_or_default() {
        faults.keep(file.at(table.line, table.named().and_then(|name| graph.switch(name))));
    }
    for table in faults.keep(root.tables("host")).unwrap_or_default() {
        faults.keep(file.at(table.line, table.named().and_then(|name| graph.host(name))));
    }
    let named = faults.is_empty(); // otherwise links would be said to name nodes that are not there
    if let Some(defaults) = faults.keep(Defaults::read(&root)) {
        for table in faults.keep(root.tables("link")).unwrap_or_default() {
            let read = faults.keep(table.link(&defaults)).filter(|_| named);
            faults.keep(read.map_or(Ok(()), |(ends, links, lanes)| {
                file.link_each_way(table.line, &mut graph, ends, links, lanes)
            }));
        }
    }
    faults.end(file)?;
    let mut topology = graph.build()?;
    topology.name = name.map_or_else(|| file.stem(), |(name, _)| name.to_string());
    Ok(topology)
}

/// Default properties of links.
struct Defaults {
    rate: Option<BitsPerSec>,
    delay: Option<Picos>,
}

impl Defaults {
    fn read(root: &TableReader<'_>) -> Result<Self, TopologyError> {
        let Some(table) = root.table("defaults")? else { return Ok(Self { rate: None, delay: None }) };
        table.only(&["rate", "delay"])?;
        Ok(Self { rate: table.quantity("rate")?, delay: table.quantity("delay")? })
    }

    fn link(&self, table: &TableReader<'_>) -> Result<Link, TopologyError> {
        let rate = table.quantity("rate")?.or(self.rate);
        let delay = table.quantity("delay")?.or(self.delay);
        Ok(Link {
            rate: rate.ok_or_else(|| table.missing("rate", "rate = \"10 Gbps\""))?,
            delay: delay.ok_or_else(|| table.missing("delay", "delay = \"1 us\""))?,
        })
    }
}

/// A table of the file with its first line.
struct TableReader<'a> {
    file: &'a File<'a>,
    name: &'static str,
    line: usize,
    rows: &'a DeTable<'a>,
}

impl<'a> TableReader<'a> {
    fn new(file: &'a File<'a>, name: &'static str, offset: usize, rows: &'a DeTable<'a>) -> Self {
        Self { file, name, line: file.line_of(offset), rows }
    }

    fn wrong<T>(&self, span: Range<usize>, key: &str, wanted: &str) -> Result<T, TopologyError> {
        let value = self.file.text.get(span.clone()).unwrap_or("").lines().next().unwrap_or("");
        let what = format!("{key} = {value} is not {wanted}");
        Err(self.file.refuse(self.file.line_of(span.start), what, format!("write {wanted}")))
    }

    fn missing(&self, key: &str, example: &str) -> TopologyError {
        self.file.refuse(
            self.line,
            format!("{} has no {key}", self.name),
            format!("write for instance {example}"),
        )
    }

    /// Rejects keys that are not `known`.
    fn only(&self, known: &[&str]) -> Result<(), TopologyError> {
        let is_known = |key: &Spanned<DeString<'_>>| known.contains(&key.get_ref().as_ref());
        match self.rows.keys().find(|key| !is_known(key)) {
            None => Ok(()),
            Some(key) => {
                let line = self.file.line_of(key.span().start);
                let what = format!("unknown key \"{}\" in {}", key.get_ref(), self.name);
                Err(self.file.refuse(line, what, format!("use one of {}", known.join(", "))))
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.rows.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    fn table(&self, key: &'static str) -> Result<Option<Self>, TopologyError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Table(rows) => Ok(Some(Self::new(self.file, key, value.span().start, rows))),
            _ => self.wrong(value.span(), key, &format!("a table [{key}]")),
        }
    }

    fn tables(&self, key: &'static str) -> Result<Vec<Self>, TopologyError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wanted = format!("a list of tables [[{key}]]");
        let DeValue::Array(array) = value.get_ref() else { return self.wrong(value.span(), key, &wanted) };
        let table = |item: &'a Spanned<DeValue<'a>>| match item.get_ref() {
            DeValue::Table(rows) => Ok(Self::new(self.file, key, item.span().start, rows)),
            _ => self.wrong(item.span(), key, &wanted),
        };
        array.iter().map(table).collect()
    }

    fn text(&self, key: &str) -> Result<Option<(&'a str, usize)>, TopologyError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some((text, self.file.line_of(value.span().start)))),
            _ => self.wrong(value.span(), key, "a text in quotes"),
        }
    }

    /// The ends of a link, its properties in each direction, and the number of parallel links.
    fn link(&self, defaults: &Defaults) -> Result<([&'a str; 2], [Link; 2], u32), TopologyError> {
        self.only(&["between", "rate", "delay", "back", "lanes"])?;
        let there = defaults.link(self)?;
        Ok((self.between()?, [there, self.back(there)?], self.lanes()?))
    }

    /// Properties of the direction from the second end to the first.
    fn back(&self, there: Link) -> Result<Link, TopologyError> {
        let Some(back) = self.table("back")? else { return Ok(there) };
        back.only(&["rate", "delay"])?;
        let (rate, delay) = (back.quantity("rate")?, back.quantity("delay")?);
        Ok(Link { rate: rate.unwrap_or(there.rate), delay: delay.unwrap_or(there.delay) })
    }

    /// The name of a host or switch, its only key.
    fn named(&self) -> Result<&'a str, TopologyError> {
        self.only(&["name"])?;
        self.text("name")?.map(|(name, _)| name).ok_or_else(|| self.missing("name", "name = \"a\""))
    }

    fn quantity<T: core::str::FromStr<Err: core::fmt::Display>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, TopologyError> {
        self.text(key)?.map(|(text, line)| self.file.quantity(line, key, text)).transpose()
    }

    fn between(&self) -> Result<[&'a str; 2], TopologyError> {
        let value =
            self.get("between").ok_or_else(|| self.missing("between", "between = [\"h0\", \"s0\"]"))?;
        let ends = match value.get_ref() {
            DeValue::Array(ends) => two_texts(ends),
            _ => None,
        };
        ends.map_or_else(
            || self.wrong(value.span(), "between", "a pair of names, for instance [\"h0\", \"s0\"]"),
            Ok,
        )
    }

    fn lanes(&self) -> Result<u32, TopologyError> {
        let Some(value) = self.get("lanes") else { return Ok(1) };
        let lanes = match value.get_ref() {
            DeValue::Integer(lanes) => u32::from_str_radix(lanes.as_str(), lanes.radix()).ok(),
            _ => None,
        };
        let lanes = lanes.filter(|lanes| (1..=65_535).contains(lanes));
        lanes.map_or_else(|| self.wrong(value.span(), "lanes", "a whole number from 1 to 65535"), Ok)
    }
}

fn two_texts<'a>(items: &'a DeArray<'a>) -> Option<[&'a str; 2]> {
    let text = |item: &'a Spanned<DeValue<'a>>| match item.get_ref() {
        DeValue::String(text) => Some(text.as_ref()),
        _ => None,
    };
    let mut items = items.iter();
    match (items.next(), items.next(), items.next()) {
        (Some(a), Some(b), None) => Some([text(a)?, text(b)?]),
        _ => None,
    }
}
