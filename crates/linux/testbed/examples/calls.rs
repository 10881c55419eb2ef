//! Calls between two network namespaces over veth, each on a connection of its own, both ends spinning: NDP beside the
//! kernel's protocols.
//!
//! `chrt -f 10 cargo run --release -p pullnet-testbed --example calls -- [BATCHES [CALLS [CARRIER]]]`: carriers alternate in
//! BATCHES batches (8) of CALLS calls (500) of 1 kB; with CARRIER (`ndp`, `tcp`, `fast-open`, `mptcp`) only that carrier is
//! measured. Prints medians, and the processor time of both ends per call. Batches are short so that a real-time scheduler
//! (`chrt -f`) does not throttle the process within one. Needs root, and two cores.

#![expect(clippy::disallowed_methods, reason = "a pause between two bursts")]

#[path = "../../netio/tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::net::Ipv4Addr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use common::Veth;
use pullnet_testbed::rpc::{Calls, Carrier, CongestionControl, End, calls};

const CARRIERS: [(&str, Carrier); 4] = [
    ("ndp", Carrier::Ndp),
    ("tcp", Carrier::Tcp),
    ("fast-open", Carrier::FastOpen),
    ("mptcp", Carrier::Mptcp),
];

/// Commands before the calls: name the interfaces as in a testbed, and let servers accept TCP Fast Open.
const PREPARE: &str = "ip link set eth down && ip link set eth name eth0 up && \
                       sysctl -qw net.ipv4.tcp_fastopen=3 net.ipv4.tcp_no_metrics_save=1 \
                       net.ipv4.ip_local_port_range='1024 65535'";

fn prepare(namespace: &str) -> Result<(), Box<dyn Error>> {
    let done = Command::new("ip").args(["netns", "exec", namespace, "sh", "-c", PREPARE]).status()?;
    if done.success() { Ok(()) } else { Err(format!("cannot prepare {namespace}: {done}").into()) }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| words.get(at).map_or(Ok(usual), |word| word.parse());
    let (batches, count) = (number(0, 8)?, number(1, 500)?);
    let wanted = |name: &str| words.get(2).is_none_or(|word| word == name);
    let Some(veth) = Veth::make(1500) else { return Ok(()) };
    veth.names.iter().try_for_each(|name| prepare(name))?;
    let end = |side: usize| End {
        namespace: veth.names[side].clone(),
        address: Ipv4Addr::new(10, 77, 0, side as u8 + 1),
        core: side,
    };
    let (ends, congestion_control) = ([end(0), end(1)], CongestionControl::Cubic);
    let how = Calls { count, before: 50, bytes: 1000, congestion_control, spin: true };
    let mut found = CARRIERS.map(|_| (Vec::new(), Vec::new()));
    for _ in 0..batches {
        for ((name, carrier), (times, cpu)) in CARRIERS.iter().zip(&mut found) {
            if wanted(name) {
                let took = calls(*carrier, &ends, how)?;
                times.extend(took.times_us);
                cpu.push(took.cpu_us);
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
    let ndp = median(&mut found[0].0);
    for ((name, _), (times, cpu)) in CARRIERS.iter().zip(&mut found).filter(|((name, _), _)| wanted(name)) {
        let (time, cpu) = (median(times), median(cpu));
        println!("{name:9} {time:6.2} us median, {cpu:6.2} us of processors; NDP over it: {:.3}", ndp / time);
    }
    Ok(())
}
