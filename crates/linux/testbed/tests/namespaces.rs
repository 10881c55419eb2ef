//! Every transport on real interfaces: hosts in network namespaces, the software switch between them. Needs root and `ip`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pullnet_namespaces::{Namespaces, ip, set_up, unless_forbidden, wait_until_up};
use pullnet_netio::in_namespace;
use pullnet_record::{FlowRow, RunRecord};
use pullnet_scenario::{Scenario, compile};
use pullnet_switch::config::SwitchFile;
use pullnet_switch::live::Live;
use pullnet_switch::{Direction, Effect, Fault, PortLine};
use pullnet_testbed::plan::Plan;
use pullnet_testbed::{Play, PortCounts};
use pullnet_units::Instant;
use serde_json::Value;

/// Timeout of a run: hundreds of times its duration on an idle machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The namespaces of a plan: one for the switches, and one for each host. Removed on drop.
struct Bed {
    switch: String,
    hosts: Vec<String>,
    _made: Namespaces,
}

impl Bed {
    fn build(plan: &Plan) -> Result<Self, String> {
        let mut made = Namespaces::new("bed");
        let switch = made.make("s")?;
        let hosts: Result<Vec<_>, _> = plan.hosts.iter().map(|host| made.make(&host.name)).collect();
        let hosts = hosts?;
        for (name, host) in hosts.iter().zip(&plan.hosts) {
            let (port, mac) = (&host.port, host.mac);
            ip(&format!(
                "-n {name} link add eth0 address {mac} mtu 1600 type veth peer name {port} mtu 1600 netns {switch}"
            ))?;
            set_up(name, "eth0")?;
            set_up(&switch, port)?;
        }
        for name in &hosts {
            wait_until_up(name, "eth0");
        }
        Ok(Self { switch, hosts, _made: made })
    }
}

/// Counters of the switches, in the format of their `status` answer.
fn counted(live: &Live) -> Value {
    live.status().unwrap().json()
}

fn play(scenario: &Arc<Scenario>, loss: Option<f64>) -> Option<RunRecord> {
    let plan = Plan::of(scenario).unwrap();
    let spaces = unless_forbidden(Bed::build(&plan))?;
    let file = SwitchFile::read("switches.toml", &plan.switch_file, &BTreeMap::<String, Vec<u8>>::new());
    let file = file.unwrap_or_else(|errors| panic!("{errors:?}"));
    let live = in_namespace(&spaces.switch, || Ok(Live::start(&file))).unwrap().unwrap();
    if let Some(loss) = loss {
        let (from, until, effect) = (Instant::ZERO, None, Effect::Loss(loss));
        for host in &plan.hosts {
            let port = file.port(&host.port).unwrap();
            let place = PortLine { port, direction: Direction::Out };
            live.fault(Fault { place, from, until, effect }).unwrap();
        }
    }
    let before = counted(&live);
    let mut play = Play::open(scenario, &spaces.hosts).unwrap();
    play.begin().unwrap();
    let ended = play.advance(PATIENCE).unwrap();
    let ports = PortCounts::between(&before, &counted(&live)).unwrap();
    let record = play.finish(&ports).unwrap();
    live.stop().unwrap();
    assert!(ended, "{:?}", record.stuck);
    Some(record)
}

/// Two flows of 300 kB into one host.
fn scenario(transport: &str, switch: &str) -> Arc<Scenario> {
    let text = format!(
        "name = \"bed\"\nseed = 5\nuntil = \"all flows done\"\nlimit = \"100 s\"\n[topology]\nkind = \"star\"\n\
         hosts = 3\nlink = {{ rate = \"100 Mbps\", delay = \"10 us\" }}\n[transport]\n{transport}\nmtu = \"1436 B\"\n\
         [switch]\n{switch}\n[[traffic]]\nkind = \"incast\"\ndegree = 2\nsize = \"300 kB\"\nto = 0\n"
    );
    let compiled = compile("bed.toml", &text, &[], &BTreeMap::<String, Vec<u8>>::new());
    Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors:?}")))
}

/// Timers long enough for a machine under other load.
const TIMERS: &str = "min_rto = \"20 ms\"\ninitial_rto = \"100 ms\"";

#[test]
fn every_transport_arrives_over_a_lossy_switch() {
    let drop_tail = "kind = \"drop-tail\"\nqueue = \"100 packets\"";
    for (transport, switch) in [
        ("kind = \"ndp\"".to_owned(), "kind = \"trim\""),
        (format!("kind = \"tcp\"\n{TIMERS}"), drop_tail),
        (format!("kind = \"dctcp\"\n{TIMERS}"), drop_tail),
        ("kind = \"go-back-n\"\ntimeout = \"20 ms\"".to_owned(), drop_tail),
        ("kind = \"scdp\"\ntimeout = \"20 ms\"".to_owned(), "kind = \"scdp\""),
    ] {
        let Some(record) = play(&scenario(&transport, switch), Some(0.05)) else { return };
        assert!(record.complete, "{transport}");
        assert!(
            record.flows.iter().all(|flow| flow.delivered == 300_000 && flow.failed.is_none()),
            "{transport}"
        );
        assert!(record.totals.packets.lost > 0 && record.totals.packets.retransmitted > 0, "{transport}");
    }
}

/// Two flows of 300 kB into one host at `rate`. Leases and timers are long enough for a machine under other load.
fn granted(transport: &str, switch: &str, rate: &str, deadline: &str) -> Arc<Scenario> {
    let text = format!(
        "name = \"bed\"\nseed = 5\nuntil = \"all flows done\"\nlimit = \"100 s\"\n[topology]\nkind = \"star\"\n\
         hosts = 3\nlink = {{ rate = \"{rate}\", delay = \"10 us\" }}\n[transport]\n{transport}\nmtu = \"1400 B\"\n\
         catch_up = \"20 ms\"\ntimeout = \"1 s\"\ntime_wait = \"2 s\"\ninitial_rtt = \"2 ms\"\n[switch]\n{switch}\n\
         [[traffic]]\nkind = \"incast\"\ndegree = 2\nsize = \"300 kB\"\nto = 0\n{deadline}\n"
    );
    let compiled = compile("bed.toml", &text, &[], &BTreeMap::<String, Vec<u8>>::new());
    Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors:?}")))
}

const D3: &str = "kind = \"d3\"\nlease = \"1 s\"\nask_interval = \"2 ms\"";
const D3_SWITCH: &str = "kind = \"d3\"\nepoch = \"3 s\"\ninterval = \"100 ms\"";

#[test]
fn hosts_send_at_the_rates_that_a_switch_grants() {
    for (transport, switch) in [
        (D3.to_owned(), D3_SWITCH),
        (D3.replace("d3", "rcp"), D3_SWITCH),
        ("kind = \"pdq\"".to_owned(), "kind = \"pdq\""),
    ] {
        let Some(record) = play(&granted(&transport, switch, "20 Mbps", ""), None) else { return };
        assert!(record.complete && record.flows.iter().all(|flow| flow.delivered == 300_000), "{transport}");
        assert_eq!((record.totals.packets.dropped, record.totals.packets.trimmed), (0, 0), "{transport}");
        // Two senders at the rate of their links would leave 200 packets in the queue, which is more than it holds.
        let peak = record.ports.iter().map(|port| port.peak_data).max();
        assert!(peak.is_some_and(|peak| peak < 100), "{transport}: {peak:?} packets");
    }
}

/// A flow takes 2.6 s when it is alone, so one of them can meet the deadline of 4 s; with the late timers of a busy machine,
/// possibly none. Every flow that misses it is given up and sends nothing after its deadline.
#[test]
fn a_flow_that_cannot_meet_its_deadline_is_quenched() {
    let Some(record) = play(&granted(D3, D3_SWITCH, "1 Mbps", "deadline = \"4 s\""), None) else { return };
    let in_time = |flow: &&FlowRow| {
        flow.received.zip(flow.labels.deadline).is_some_and(|(at, deadline)| at <= deadline)
    };
    let quenched = |flow: &&FlowRow| flow.failed == Some("quenched: its deadline cannot be met");
    let (served, given_up) = (record.flows.iter().filter(in_time), record.flows.iter().filter(quenched));
    let (served, given_up) = (served.count(), given_up.count());
    assert!(served <= 1 && served + given_up == 2, "{served} in time, {given_up} quenched");
    assert!(record.flows.iter().any(|flow| flow.delivered > 0), "the switch granted no rate");
    assert_eq!(record.totals.packets.dropped, 0);
}

#[test]
fn dctcp_is_marked_and_tcp_is_not() {
    let switch = "kind = \"drop-tail\"\nqueue = \"300 packets\"\nmark_above = \"5 packets\"";
    for (kind, marked) in [("dctcp", true), ("tcp", false)] {
        let transport = format!("kind = \"{kind}\"\n{TIMERS}");
        let Some(record) = play(&scenario(&transport, switch), None) else { return };
        assert!(record.complete && record.flows.iter().all(|flow| flow.delivered == 300_000), "{kind}");
        assert_eq!(
            record.totals.packets.marked > 0,
            marked,
            "{kind}: {} marks",
            record.totals.packets.marked
        );
    }
}
