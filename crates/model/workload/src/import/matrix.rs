use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::str::SplitWhitespace;

use pullnet_units::{Bytes, Instant};

use super::script::{
    Begin, Counts, FailedSwitch, Failure, MatrixOptions, OtherTriggers, Script, ScriptFlow, StartUnit,
    Trigger, TriggerKind,
};
use super::triggers;
use crate::error::{FileError, MatrixFault};
use crate::faults::{Faults, FileErrors};
use crate::text::{scaled, shown, utf8};

const COUNT: &str = "a whole number below 4294967296";

/// Reads htsim's connection matrix (.cm, .tm): its grammar is that of `connection_matrix.cpp` in csg-htsim and
/// uet-htsim. `options` say what the file leaves open.
///
/// `#` begins a comment on any line; csg-htsim accepts comments in the header only. Size 0 is an endless flow. `prio` is
/// taken as the flow's priority. A line marked `msg` (one of several messages on a connection) is a flow of its own.
/// Every flow must be able to start, and unless the options say otherwise the counts in the header must be met, and every
/// trigger described.
pub fn parse_matrix(file: &str, contents: &[u8], options: &MatrixOptions) -> Result<Script, FileErrors> {
    let mut reader = Reader { options: *options, ..Reader::default() };
    let (mut last, mut faults) = (1, Faults::of(file));
    for (line, content) in (1..).zip(utf8(file, contents)?.lines()) {
        let stated = content.split('#').next().unwrap_or("");
        let read = reader.line(line, stated.split_whitespace());
        let other = matches!(read, Err(MatrixFault::NotAMatrix(_)));
        faults.keep(line, read);
        if other {
            break; // what follows would be said to be none either
        }
        last = line;
    }
    faults.end()?;
    let script =
        reader.finish().map_err(|(line, fault)| FileError::new(file, line.unwrap_or(last), fault))?;
    triggers::check(&script).map_err(|(line, fault)| FileError::new(file, line, fault))?;
    Ok(script)
}

/// A fault, with its line where it is not the last.
type Placed = (Option<u64>, MatrixFault);

/// A number and its line.
type Stated = (u64, u64);

/// Which trigger numbers a flow line names.
#[derive(Clone, Copy, Default)]
struct Links {
    start: Option<u32>,
    sent: Option<u32>,
    received: Option<u32>,
}

#[derive(Default)]
struct Reader {
    options: MatrixOptions,
    nodes: Option<u32>,
    /// Numbers that the header states, with their lines.
    connections: Option<Stated>,
    triggers: Option<Stated>,
    failures: Option<Stated>,
    script: Script,
    links: Vec<Links>,
    /// Line of every flow id, and whether it is one of several messages.
    ids: BTreeMap<u32, (u64, bool)>,
    trigger_ids: BTreeMap<u32, usize>,
}

impl Reader {
    fn line(&mut self, line: u64, mut words: SplitWhitespace<'_>) -> Result<(), MatrixFault> {
        let Some(first) = words.next() else { return Ok(()) };
        match first {
            "Nodes" => self.nodes = Some(number("Nodes", &mut words)?),
            "Connections" => self.connections = Some((number("Connections", &mut words)?.into(), line)),
            "Triggers" => self.triggers = Some((number("Triggers", &mut words)?.into(), line)),
            "Failures" => self.failures = Some((number("Failures", &mut words)?.into(), line)),
            _ if self.nodes.is_none() => return Err(MatrixFault::NotAMatrix(shown(first))),
            _ if first.contains("->") => return self.flow(line, first, words),
            "trigger" => return self.trigger(line, words),
            "failure" => return self.failure(line, words),
            _ => return Err(MatrixFault::UnknownLine(shown(first))),
        }
        nothing_more(words)
    }

    fn flow(&mut self, line: u64, pair: &str, mut words: SplitWhitespace<'_>) -> Result<(), MatrixFault> {
        let (src, dst) = self.ends(pair)?;
        let mut draft = Draft::default();
        while let Some(word) = words.next() {
            draft.word(word, &mut words)?;
        }
        if let Some(id) = draft.id {
            self.claim(id, line, draft.message)?;
        }
        let at = match (draft.start, draft.links.start) {
            (Some(text), None) => Some(self.instant(text)?),
            (None, Some(_)) => None,
            (Some(_), Some(_)) => return Err(MatrixFault::StartOrTrigger("both")),
            (None, None) => return Err(MatrixFault::StartOrTrigger("neither")),
        };
        let size = draft.size.ok_or(MatrixFault::NoSize)?;
        self.links.push(draft.links);
        let size = Some(Bytes(size)).filter(|size| size.0 > 0);
        let flow = ScriptFlow::new(line, (src, dst), size, at.map_or(Begin::Trigger(0), Begin::At));
        self.script.flows.push(ScriptFlow { priority: draft.priority, ..flow });
        Ok(())
    }

    fn ends(&self, pair: &str) -> Result<(u32, u32), MatrixFault> {
        let wanted = "two host numbers, as in 0->1";
        let wrong = || MatrixFault::Value { what: "connection", value: shown(pair), wanted };
        let (src, dst) = pair.split_once("->").ok_or_else(wrong)?;
        let host = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let (src, dst) = (host(src)?, host(dst)?);
        let nodes = self.nodes.unwrap_or(u32::MAX);
        if src == dst {
            return Err(MatrixFault::Self_(src));
        }
        match [src, dst].into_iter().find(|host| *host >= nodes) {
            Some(host) => Err(MatrixFault::BeyondNodes { host, nodes }),
            None => Ok((src, dst)),
        }
    }

    fn claim(&mut self, id: u32, line: u64, message: bool) -> Result<(), MatrixFault> {
        match self.ids.insert(id, (line, message)) {
            Some((first, earlier)) if !(earlier && message) => {
                Err(MatrixFault::IdTwice { what: "flow", id, line: first })
            }
            _ => Ok(()),
        }
    }

    fn instant(&self, text: &str) -> Result<Instant, MatrixFault> {
        let wanted = match self.options.start_unit {
            Some(StartUnit::Ps) => "a whole number of picoseconds below 2^64",
            _ => "a number of microseconds with at most six decimals",
        };
        let wrong = || MatrixFault::Value { what: "start", value: shown(text), wanted };
        let micros = scaled(text, 1_000_000);
        match self.options.start_unit {
            _ if micros == Some(0) => Ok(Instant::ZERO),
            Some(StartUnit::Us) => micros.map(Instant).ok_or_else(wrong),
            Some(StartUnit::Ps) => scaled(text, 1).map(Instant).ok_or_else(wrong),
            None if micros.is_none() => Err(wrong()),
            None => Err(MatrixFault::StartUnit(shown(text))),
        }
    }

    fn trigger(&mut self, line: u64, mut words: SplitWhitespace<'_>) -> Result<(), MatrixFault> {
        let (mut id, mut kinds, mut count) = (None, Vec::new(), None);
        while let Some(word) = words.next() {
            match word {
                "id" => id = Some(number("trigger id", &mut words)?),
                "count" => count = Some(number("count", &mut words)?),
                "oneshot" => kinds.push(TriggerKind::OneShot),
                "multishot" => kinds.push(TriggerKind::MultiShot),
                "barrier" => kinds.push(TriggerKind::Barrier(0)),
                _ => return Err(unknown_word(word, "id, oneshot, multishot, barrier, count")),
            }
        }
        let id = id.ok_or(MatrixFault::TriggerForm("no id"))?;
        let kind = trigger_kind(&kinds, count)?;
        if id == 0 {
            return Err(MatrixFault::IdZero("trigger"));
        }
        // A refused trigger is not noted: the numbers are places in the list of accepted triggers.
        match self.trigger_ids.entry(id) {
            Entry::Occupied(before) => {
                let line = self.script.triggers[*before.get()].line;
                return Err(MatrixFault::IdTwice { what: "trigger", id, line });
            }
            Entry::Vacant(free) => free.insert(self.script.triggers.len()),
        };
        self.script.triggers.push(Trigger { id, line, kind });
        Ok(())
    }

    fn failure(&mut self, line: u64, mut words: SplitWhitespace<'_>) -> Result<(), MatrixFault> {
        let (mut switch, mut id, mut link) = (None, None, None);
        while let Some(word) = words.next() {
            match word {
                "switch_type" => switch = Some(failed_switch(words.next())?),
                "switch_id" => id = Some(number("switch_id", &mut words)?),
                "link_id" => link = Some(number("link_id", &mut words)?),
                _ => return Err(unknown_word(word, "switch_type, switch_id, link_id")),
            }
        }
        let missing = |word: &str| MatrixFault::NoValue(word.to_string());
        self.script.failures.push(Failure {
            line,
            switch: switch.ok_or_else(|| missing("switch_type"))?,
            number: id.ok_or_else(|| missing("switch_id"))?,
            link: link.ok_or_else(|| missing("link_id"))?,
        });
        Ok(())
    }

    fn finish(mut self) -> Result<Script, Placed> {
        let nodes = self.nodes.ok_or((None, MatrixFault::NoHeader("Nodes N")))?;
        self.connections.ok_or((None, MatrixFault::NoHeader("Connections C")))?;
        if self.options.counts == Counts::Met {
            met("connections", self.connections, self.script.flows.len())?;
            met("triggers", self.triggers, self.script.triggers.len())?;
            met("failures", self.failures, self.script.failures.len())?;
        }
        if self.script.flows.is_empty() {
            return Err((None, MatrixFault::Empty));
        }
        self.resolve()?;
        Ok(Script { nodes: Some(nodes), ..self.script })
    }

    /// Adds the triggers that no line describes, if they may be added.
    fn describe_others(&mut self) {
        let Some(kind) = self.options.other_triggers.map(OtherTriggers::kind) else { return };
        for (flow, links) in self.script.flows.iter().zip(&self.links) {
            for id in [links.start, links.sent, links.received].into_iter().flatten() {
                self.trigger_ids.entry(id).or_insert_with(|| {
                    self.script.triggers.push(Trigger { id, line: flow.line, kind });
                    self.script.triggers.len() - 1
                });
            }
        }
    }

    /// Trigger numbers become indices, now that all are known.
    fn resolve(&mut self) -> Result<(), Placed> {
        self.describe_others();
        for (flow, links) in self.script.flows.iter_mut().zip(&self.links) {
            let find = |id: Option<u32>| match id {
                None => Ok(None),
                Some(id) => match self.trigger_ids.get(&id) {
                    Some(index) => Ok(Some(*index)),
                    None => Err((Some(flow.line), MatrixFault::NoTrigger(id))),
                },
            };
            flow.when_sent = find(links.sent)?;
            flow.when_received = find(links.received)?;
            if let Some(trigger) = find(links.start)? {
                flow.begin = Begin::Trigger(trigger);
            }
        }
        Ok(())
    }
}

/// A flow line as far as it has been read.
#[derive(Default)]
struct Draft<'a> {
    id: Option<u32>,
    start: Option<&'a str>,
    size: Option<u64>,
    priority: Option<u8>,
    message: bool,
    links: Links,
}

impl<'a> Draft<'a> {
    fn word(&mut self, word: &str, rest: &mut SplitWhitespace<'a>) -> Result<(), MatrixFault> {
        match word {
            "id" => self.id = Some(nonzero("flow", number("id", rest)?)?),
            "start" => self.start = Some(value("start", rest)?),
            "size" => self.size = Some(size(value("size", rest)?)?),
            "trigger" => self.links.start = Some(nonzero("trigger", number("trigger", rest)?)?),
            "send_done_trigger" => {
                self.links.sent = Some(nonzero("trigger", number("send_done_trigger", rest)?)?)
            }
            "recv_done_trigger" => {
                self.links.received = Some(nonzero("trigger", number("recv_done_trigger", rest)?)?)
            }
            "prio" => self.priority = Some(priority(value("prio", rest)?)?),
            "msg" => self.message = true,
            "addon" => return Err(MatrixFault::Addon),
            _ => {
                return Err(unknown_word(
                    word,
                    "id, start, trigger, size, send_done_trigger, recv_done_trigger, prio, msg",
                ));
            }
        }
        Ok(())
    }
}

fn value<'a>(what: &'static str, words: &mut SplitWhitespace<'a>) -> Result<&'a str, MatrixFault> {
    words.next().ok_or_else(|| MatrixFault::NoValue(what.to_string()))
}

fn number(what: &'static str, words: &mut SplitWhitespace<'_>) -> Result<u32, MatrixFault> {
    let text = value(what, words)?;
    text.parse().map_err(|_| MatrixFault::Value { what, value: shown(text), wanted: COUNT })
}

fn nonzero(what: &'static str, id: u32) -> Result<u32, MatrixFault> {
    if id == 0 { Err(MatrixFault::IdZero(what)) } else { Ok(id) }
}

fn size(text: &str) -> Result<u64, MatrixFault> {
    let size = text.parse::<u64>().ok().filter(|size| *size < 1 << 63);
    let wanted = "a whole number of bytes below 2^63 (0 is endless)";
    size.ok_or_else(|| MatrixFault::Value { what: "size", value: shown(text), wanted })
}

fn priority(text: &str) -> Result<u8, MatrixFault> {
    let wanted = "a priority from 0 to 255";
    text.parse().map_err(|_| MatrixFault::Value { what: "prio", value: shown(text), wanted })
}

fn failed_switch(word: Option<&str>) -> Result<FailedSwitch, MatrixFault> {
    match word {
        Some("TOR") => Ok(FailedSwitch::Tor),
        Some("AGG") => Ok(FailedSwitch::Agg),
        Some("CORE") => Ok(FailedSwitch::Core),
        Some(word) => Err(unknown_word(word, "TOR, AGG, CORE")),
        None => Err(MatrixFault::NoValue("switch_type".to_string())),
    }
}

fn trigger_kind(kinds: &[TriggerKind], count: Option<u32>) -> Result<TriggerKind, MatrixFault> {
    match (kinds, count) {
        ([], _) => Err(MatrixFault::TriggerForm("no kind")),
        ([TriggerKind::Barrier(_)], Some(count)) if count > 0 => Ok(TriggerKind::Barrier(count)),
        ([TriggerKind::Barrier(_)], _) => Err(MatrixFault::TriggerForm("no count above 0 for its barrier")),
        ([_], Some(_)) => Err(MatrixFault::TriggerForm("a count, which only a barrier has")),
        ([kind], None) => Ok(*kind),
        _ => Err(MatrixFault::TriggerForm("more than one kind")),
    }
}

fn unknown_word(word: &str, known: &'static str) -> MatrixFault {
    MatrixFault::UnknownWord { word: shown(word), known }
}

fn nothing_more(mut words: SplitWhitespace<'_>) -> Result<(), MatrixFault> {
    words.next().map_or(Ok(()), |word| Err(unknown_word(word, "one number")))
}

fn met(what: &'static str, stated: Option<Stated>, found: usize) -> Result<(), Placed> {
    let (found, line) = (found as u64, stated.map(|(_, line)| line));
    let stated = stated.map_or(0, |(stated, _)| stated);
    if stated == found { Ok(()) } else { Err((line, MatrixFault::Count { what, stated, found })) }
}
