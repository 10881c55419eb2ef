//! Files to and from stores: put, get and store.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use pullnet_objects::command::{self, CommandError, host_address};
use pullnet_objects::{LinkOptions, Report, STORE_PORT, local_address};
use pullnet_units::{BitsPerSec, Bytes};
use pyo3::prelude::*;

use crate::{errors, fault};

/// Calls Python with bytes done and bytes in all. It returns whether to go on.
type Watch = Py<PyAny>;

/// How a host is attached to its network: address, interface and rate.
type Link = (Option<String>, Option<String>, String);

fn wrong(text: String) -> CommandError {
    CommandError::Input(text)
}

fn link(
    (address, interface, rate): Link,
    peer: Option<SocketAddr>,
    port: u16,
) -> Result<LinkOptions, CommandError> {
    let rate: BitsPerSec = rate.parse().map_err(|error| wrong(format!("--rate \"{rate}\" {error}")))?;
    let parse = |text: String| {
        text.parse::<IpAddr>()
            .map_err(|_| wrong(format!("--address {text}: is no IP address, such as 10.0.0.1")))
    };
    let address = match (address, peer) {
        (Some(text), _) => parse(text)?,
        (None, Some(peer)) => local_address(peer).map_err(wrong)?,
        (None, None) => return Err(wrong("say at which address, with --address".to_owned())),
    };
    Ok(LinkOptions { address, port, interface, rate, mtu: None })
}

fn addresses(hosts: &[String]) -> Result<Vec<SocketAddr>, CommandError> {
    hosts.iter().map(|host| host_address(host)).collect()
}

/// Runs `work` detached from the interpreter. `work` gets a function that asks Python whether to go on; an exception there, such
/// as `KeyboardInterrupt`, ends the work and is raised.
fn watched<T: Send>(
    py: Python<'_>,
    watch: &Watch,
    work: impl FnOnce(&mut dyn FnMut(u64, u64) -> bool) -> Result<T, CommandError> + Send,
) -> PyResult<T> {
    let mut raised: Option<PyErr> = None;
    let done = fault::guarded(py, || {
        work(&mut |done, all| {
            Python::attach(|py| {
                let told = py.check_signals().and_then(|()| watch.call1(py, (done, all)));
                told.map_err(|error| raised = Some(error)).is_ok()
            })
        })
    })?;
    match (raised, done) {
        (Some(error), _) => Err(error),
        (None, Ok(value)) => Ok(value),
        (None, Err(CommandError::Input(text))) => Err(errors::input(py, vec![text])),
        (None, Err(CommandError::Host(text))) => Err(errors::host(py, text)),
    }
}

fn told(report: &Report) -> (String, Vec<String>, bool) {
    (serde_json::to_string(report).unwrap_or_default(), report.lines(), report.ok())
}

/// Sends the file `path` to `hosts`. Returns the report as JSON and as lines, and whether every host stored the file.
#[pyfunction]
pub fn objects_put(
    py: Python<'_>,
    path: PathBuf,
    name: Option<String>,
    hosts: Vec<String>,
    group: Option<String>,
    attached: Link,
    watch: Watch,
) -> PyResult<(String, Vec<String>, bool)> {
    watched(py, &watch, |watch| {
        let hosts = addresses(&hosts)?;
        let group = group.map(|text| {
            text.parse::<Ipv4Addr>()
                .map_err(|_| wrong(format!("--group {text}: is no IPv4 address, such as 239.1.0.1")))
        });
        let link = link(attached, hosts.first().copied(), 0)?;
        command::put(&link, &path, name, &hosts, group.transpose()?, watch).map(|report| told(&report))
    })
}

/// Fetches the object `name` from `hosts` into the file `out`. Returns as [`objects_put`].
#[pyfunction]
pub fn objects_get(
    py: Python<'_>,
    name: String,
    out: PathBuf,
    hosts: Vec<String>,
    attached: Link,
    watch: Watch,
) -> PyResult<(String, Vec<String>, bool)> {
    watched(py, &watch, |watch| {
        let hosts = addresses(&hosts)?;
        let link = link(attached, hosts.first().copied(), 0)?;
        command::get(&link, &name, &out, &hosts, watch).map(|report| told(&report))
    })
}

/// Serves the files of `folder` until an exception is raised, and calls `tell` with a line for each event.
#[pyfunction]
pub fn objects_store(
    py: Python<'_>,
    folder: PathBuf,
    port: Option<u16>,
    most: String,
    attached: Link,
    tell: Py<PyAny>,
    watch: Watch,
) -> PyResult<()> {
    watched(py, &watch, |watch| {
        let most: Bytes = most.parse().map_err(|error| wrong(format!("--most \"{most}\" {error}")))?;
        if most.0 == 0 {
            return Err(wrong("--most \"0 B\" takes no object; use at least \"1 B\"".to_owned()));
        }
        let link = link(attached, None, port.unwrap_or(STORE_PORT))?;
        // An output that is closed does not end the store.
        let say = move |line: String| Python::attach(|py| drop(tell.call1(py, (line,))));
        command::store(&link, &folder, most.0, Box::new(say), watch)
    })
}
