use pullnet_units::{Bytes, Instant};

use super::script::{Begin, Counts, Script, ScriptFlow};
use crate::error::{FileError, MatrixFault};
use crate::faults::{Faults, FileErrors};
use crate::text::{picos, shown, utf8};

/// Picoseconds in a second.
const SECOND: u64 = 1_000_000_000_000;

/// Reads HPCC's flow.txt: the number of flows, then that many lines `src dst priority_group dst_port bytes
/// start_seconds`. As its reader does, lines beyond that number are left out ([`Script::ignored_lines`]), unless `counts` are ignored. The
/// priority group (a class of Ethernet PAUSE) and the port have no meaning here.
pub fn parse_hpcc_flows(file: &str, contents: &[u8], counts: Counts) -> Result<Script, FileErrors> {
    let lines = (1..).zip(utf8(file, contents)?.lines()).filter(|(_, content)| !content.trim().is_empty());
    let mut lines = lines.peekable();
    let fail = |line: u64, fault| FileError::new(file, line, fault);
    let (first, content) = lines.next().ok_or_else(|| fail(1, MatrixFault::Empty))?;
    let stated =
        content.trim().parse::<u32>().map_err(|_| fail(first, MatrixFault::NotAMatrix(shown(content))))?;
    let (mut script, mut faults, mut found) = (Script::default(), Faults::of(file), 0_u64);
    for (line, content) in lines {
        if found == u64::from(stated) && counts == Counts::Met {
            script.ignored_lines += 1;
            continue;
        }
        found += 1;
        script.flows.extend(faults.keep(line, flow(line, content)));
    }
    faults.end()?;
    match found {
        0 => Err(fail(first, MatrixFault::Empty).into()),
        found if found < stated.into() && counts == Counts::Met => {
            Err(fail(first, MatrixFault::Count { what: "flows", stated: stated.into(), found }).into())
        }
        _ => Ok(script),
    }
}

fn flow(line: u64, content: &str) -> Result<ScriptFlow, MatrixFault> {
    let words: Vec<&str> = content.split_whitespace().collect();
    let [src, dst, _group, _port, bytes, start] = words[..] else {
        let wanted = "six numbers: src dst priority_group dst_port bytes start_seconds";
        return Err(MatrixFault::Value { what: "flow", value: shown(content), wanted });
    };
    let (src, dst) = (host("src", src)?, host("dst", dst)?);
    if src == dst {
        return Err(MatrixFault::Self_(src));
    }
    Ok(ScriptFlow::new(line, (src, dst), Some(size(bytes)?), Begin::At(seconds(start)?)))
}

fn host(what: &'static str, text: &str) -> Result<u32, MatrixFault> {
    let wanted = "a host number, from 0";
    text.parse().map_err(|_| MatrixFault::Value { what, value: shown(text), wanted })
}

fn size(text: &str) -> Result<Bytes, MatrixFault> {
    let size = text.parse::<u64>().ok().filter(|size| (1..1 << 63).contains(size));
    let wanted = "a whole number of bytes from 1 to 2^63 - 1";
    size.map(Bytes).ok_or_else(|| MatrixFault::Value { what: "bytes", value: shown(text), wanted })
}

fn seconds(text: &str) -> Result<Instant, MatrixFault> {
    let wanted = "a time in seconds, from 0 to 213 days";
    let wrong = || MatrixFault::Value { what: "start_seconds", value: shown(text), wanted };
    picos(text, SECOND).map(Instant).ok_or_else(wrong)
}
