use std::fmt;
use std::str::FromStr;

use pullnet_settings::{Refused, Setting, Value};
use pullnet_units::{HostId, Id};

use crate::text::shown;

/// A selection of hosts, in the order stated: `"all"`, `"7"`, `"0..63"` (both ends belong to it), `"first 4"`,
/// `"last 64"`, several of them joined by commas, and all of it less some: `"all but 0,431"`.
///
/// Numbers are those of the topology; "all", "first" and "last" count within the hosts that may be selected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts {
    text: String,
    chosen: Vec<Part>,
    without: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    All,
    Range(u32, u32),
    First(u32),
    Last(u32),
}

/// The reason why a text selects no hosts. The message continues a sentence that begins with the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HostsError {
    /// Not a selection.
    #[error(
        "has \"{0}\", which selects no hosts; use for instance \"all\", \"0..63\", \"0,5,9\", \"last 64\" or \"all but 0,431\""
    )]
    Unknown(String),
    /// A range from a higher to a lower number.
    #[error("has the range {0}..{1}, which runs backwards; write {1}..{0}")]
    Backwards(u32, u32),
    /// A host number beyond the topology.
    #[error("names host {host}, but the topology has {count} hosts; use 0 to {}", count.saturating_sub(1))]
    OutOfRange {
        /// The host named.
        host: u32,
        /// Number of hosts.
        count: usize,
    },
    /// A host that the traffic block does not select.
    #[error("names host {0}, which is not among the block's hosts; add it to hosts, or name another")]
    NotAmong(u32),
    /// More hosts than exist.
    #[error("asks for {wanted} hosts of {count}; use at most {count}")]
    TooMany {
        /// The number stated.
        wanted: u32,
        /// Number of hosts.
        count: usize,
    },
    /// A host stated more than once.
    #[error("names host {0} twice; name every host once")]
    Twice(u32),
    /// The selection is empty.
    #[error("leaves no host; select at least one")]
    Nobody,
}

impl FromStr for Hosts {
    type Err = HostsError;
    fn from_str(text: &str) -> Result<Self, HostsError> {
        let (chosen, without) = match text.split_once("but ") {
            Some((chosen, without)) => (chosen, Some(without)),
            None => (text, None),
        };
        let without = without.map_or(Ok(Vec::new()), parts)?;
        Ok(Self { text: text.trim().to_string(), chosen: parts(chosen)?, without })
    }
}

fn parts(text: &str) -> Result<Vec<Part>, HostsError> {
    text.split(',').map(|part| part_of(part.trim())).collect()
}

fn part_of(text: &str) -> Result<Part, HostsError> {
    let unknown = || HostsError::Unknown(shown(text));
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| unknown());
    if text == "all" {
        Ok(Part::All)
    } else if let Some(count) = text.strip_prefix("first ") {
        number(count).map(Part::First)
    } else if let Some(count) = text.strip_prefix("last ") {
        number(count).map(Part::Last)
    } else if let Some((low, high)) = text.split_once("..") {
        let (low, high) = (number(low)?, number(high)?);
        if low <= high { Ok(Part::Range(low, high)) } else { Err(HostsError::Backwards(low, high)) }
    } else {
        number(text).map(|host| Part::Range(host, host))
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Setting for Hosts {
    const KIND: &'static str = "hosts";
    fn read(value: Value<'_>) -> Result<Self, Refused> {
        let text = match value {
            Value::Text(text) => text.to_string(),
            Value::Integer(host) => host.to_string(),
            _ => return Err(Refused("selects no hosts; use for instance \"all\" or \"0..63\"".to_string())),
        };
        text.parse().map_err(|e: HostsError| Refused(e.to_string()))
    }
    fn write(&self) -> String {
        format!("\"{}\"", self.text)
    }
}

impl Hosts {
    /// The selected hosts among `pool`, in the order stated; `count` hosts exist in all.
    pub fn among(&self, pool: &[HostId], count: usize) -> Result<Vec<HostId>, HostsError> {
        let mut member = vec![false; count];
        pool.iter().for_each(|host| member[host.index()] = true);
        let mut left = member.clone();
        for host in resolve(&self.without, pool, &member)? {
            left[host.index()] = false;
        }
        let mut chosen = resolve(&self.chosen, pool, &member)?;
        let mut seen = vec![false; count];
        for host in &chosen {
            if std::mem::replace(&mut seen[host.index()], true) {
                return Err(HostsError::Twice(host.get()));
            }
        }
        chosen.retain(|host| left[host.index()]);
        if chosen.is_empty() { Err(HostsError::Nobody) } else { Ok(chosen) }
    }
}

/// The hosts of `parts`; `member` says of every host of the network whether it is in `pool`.
fn resolve(parts: &[Part], pool: &[HostId], member: &[bool]) -> Result<Vec<HostId>, HostsError> {
    let mut hosts = Vec::new();
    let enough = |wanted: u32| match usize::try_from(wanted) {
        Ok(wanted) if wanted <= pool.len() => Ok(wanted),
        _ => Err(HostsError::TooMany { wanted, count: pool.len() }),
    };
    for part in parts {
        match *part {
            Part::All => hosts.extend(pool),
            Part::First(count) => hosts.extend(&pool[..enough(count)?]),
            Part::Last(count) => hosts.extend(&pool[pool.len() - enough(count)?..]),
            Part::Range(low, high) => hosts.extend(range(low, high, member)?),
        }
    }
    Ok(hosts)
}

fn range(low: u32, high: u32, member: &[bool]) -> Result<Vec<HostId>, HostsError> {
    let count = member.len();
    if high as usize >= count {
        return Err(HostsError::OutOfRange { host: if low as usize >= count { low } else { high }, count });
    }
    let known = |host: u32| {
        if member[host as usize] { Ok(HostId::new(host)) } else { Err(HostsError::NotAmong(host)) }
    };
    (low..=high).map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(text: &str, count: u32) -> Result<Vec<u32>, HostsError> {
        let pool: Vec<HostId> = (0..count).map(HostId::new).collect();
        let hosts: Hosts = text.parse()?;
        hosts.among(&pool, pool.len()).map(|hosts| hosts.iter().map(|host| host.get()).collect())
    }

    #[test]
    fn selections_keep_the_order_stated() {
        assert_eq!(select("all", 3).unwrap(), [0, 1, 2]);
        assert_eq!(select("5,0..2, last 2", 8).unwrap(), [5, 0, 1, 2, 6, 7]);
        assert_eq!(select("first 2", 8).unwrap(), [0, 1]);
        assert_eq!(select("all but 0,last 1", 4).unwrap(), [1, 2]);
        assert_eq!(select("0..3 but 2", 8).unwrap(), [0, 1, 3]);
    }

    #[test]
    fn refusals_name_the_host_and_what_would_work() {
        let message = |text: &str| select(text, 16).unwrap_err().to_string();
        assert_eq!(message("0..16"), "names host 16, but the topology has 16 hosts; use 0 to 15");
        assert_eq!(message("last 17"), "asks for 17 hosts of 16; use at most 16");
        assert_eq!(message("5..3"), "has the range 5..3, which runs backwards; write 3..5");
        assert_eq!(message("1,1"), "names host 1 twice; name every host once");
        assert_eq!(message("all but all"), "leaves no host; select at least one");
        assert!(message("every").starts_with("has \"every\", which selects no hosts; use"));
        let hosts: Hosts = "3".parse().unwrap();
        assert_eq!(hosts.among(&[HostId::new(0)], 16), Err(HostsError::NotAmong(3)));
    }
}
