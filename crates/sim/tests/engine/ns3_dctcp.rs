//! DCTCP of mainline ns-3 on one bottleneck, repeated: case (e) of `ns3/README.md`.

use std::collections::BTreeMap;
use std::sync::Arc;

use pullnet_dctcp::{DctcpConfig, DctcpControl, DctcpRules, Reaction};
use pullnet_protocols::ProtocolConfig;
use pullnet_qdisc::{DropTail, SwitchConfig};
use pullnet_record::RunRecord;
use pullnet_rng::RandomStream;
use pullnet_scenario::{Scenario, compile};
use pullnet_sim::Packet;
use pullnet_transport::{Framing, HostInfo, Medium, Protocol};
use pullnet_window::{Acked, Control, Endpoint, Rules};

/// Packets below the queue that the reference measures: one in the device's queue, one on the wire.
const BELOW: f64 = 2.0;

/// Links of 10 Gb/s whose rate makes 1502 B last whole nanoseconds, as there. A packet is marked there if 65 are queued
/// before it; ours counts those below and the packet itself: 68, more than 67.
fn scenario(starts: [&str; 2], delayed: bool, ends: &str) -> Arc<Scenario> {
    let flow = |host: usize| format!("{host} 2 3 100 1000000000 {}\n", starts[host]);
    let flows = format!("2\n{}{}", flow(0), flow(1));
    let text = format!(
        "duration = \"{ends}\"\nmeasure = {{ from = \"100 ms\" }}\n\
         topology = {{ kind = \"star\", hosts = 3, link = {{ rate = \"9996672213 bps\", delay = \"10 us\" }} }}\n\
         [transport]\nkind = \"dctcp\"\nmtu = \"1448 B\"\nheader = \"54 B\"\nack = \"54 B\"\ndelayed_ack = {delayed}\n\
         counting = \"packets\"\nmin_rto = \"10 ms\"\nreceive_window = \"5793 packets\"\n\
         [switch]\nkind = \"drop-tail\"\nqueue = \"1000 packets\"\nmark_above = \"67 packets\"\n\
         [[traffic]]\nkind = \"matrix\"\nfile = \"flows\"\nformat = \"hpcc\"\n\
         [probes]\nports = true\nport_series = {{ interval = \"10 us\", of = \"switch 0 -> host 2\" }}\n"
    );
    let files = BTreeMap::from([("flows".to_owned(), flows.into_bytes())]);
    let compiled = compile("ns3.toml", &text, &[], &files);
    Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors:#?}\n{text}")))
}

/// DCTCP whose window comes down over the round trip after a mark, as in ns-3 and Linux (RFC 6937), and does not grow
/// meanwhile.
#[derive(Clone, Debug)]
struct Gradual {
    own: DctcpControl,
    /// The reduction lasts until a packet beyond this one is acknowledged.
    until: u32,
    /// Where it ends, and by how much the window shrinks for each packet that arrives.
    target: f64,
    step: f64,
}

impl Control for Gradual {
    type Rules = DctcpRules;

    fn open(rules: &DctcpRules, window: u32) -> Self {
        Self { own: DctcpControl::open(rules, window), until: 0, target: 0.0, step: 0.0 }
    }

    fn window(&self) -> u32 {
        self.own.window()
    }

    fn on_ack(&mut self, rules: &DctcpRules, ack: &Acked) {
        let reducing = ack.first <= self.until;
        if reducing {
            let shrunk = self.own.reno.window - self.step * f64::from(ack.packets);
            self.own.reno.window = shrunk.max(self.target);
        } else if self.step > 0.0 {
            (self.own.reno.window, self.step) = (self.target, 0.0);
        }
        self.own.on_ack(rules, &Acked { grows: ack.grows && !reducing, ..*ack });
    }

    fn on_mark(&mut self, rules: &DctcpRules, ack: &Acked) {
        if self.step > 0.0 && ack.first > self.until {
            (self.own.reno.window, self.step) = (self.target, 0.0);
        }
        let before = self.own.reno.window;
        self.own.on_mark(rules, ack);
        if self.own.reno.window < before {
            self.target = self.own.reno.window;
            self.step = (before - self.target) / before;
            self.until = ack.next;
            self.own.reno.window = before;
        }
    }

    fn on_loss(&mut self, rules: &DctcpRules, flight: u32) {
        self.own.on_loss(rules, flight);
    }

    fn on_timeout(&mut self, rules: &DctcpRules, flight: u32, repeated: bool) {
        self.own.on_timeout(rules, flight, repeated);
    }
}

/// The same as a transport.
struct GradualDctcp;

impl Protocol for GradualDctcp {
    const NAME: &'static str = "gradual-dctcp";
    const SUMMARY: &'static str = "DCTCP whose window shrinks over a round trip";
    type Config = DctcpConfig;
    type Endpoint = Endpoint<Gradual>;

    fn framing(config: &DctcpConfig) -> Framing {
        Framing { mtu: config.mtu.0 as u32, header: config.header.0 as u32 }
    }

    fn endpoint(config: &DctcpConfig, host: HostInfo, chance: RandomStream) -> Endpoint<Gradual> {
        let rules = Rules { ecn: true, ecn_handshake: true, ..config.rules() };
        let control = DctcpRules {
            growth: config.growth(),
            gain: config.gain,
            initial_alpha: config.initial_alpha,
            reaction: Reaction::Mark,
            leave_slow_start: true,
        };
        Endpoint::new(rules, control, host, chance)
    }
}

fn as_it_is(scenario: &Arc<Scenario>) -> RunRecord {
    crate::common::simulate(scenario, 1)
}

fn gradual(scenario: &Arc<Scenario>) -> RunRecord {
    let ProtocolConfig::Dctcp(config) = &scenario.transports[0].config else {
        panic!("the scenario is of DCTCP")
    };
    let SwitchConfig::DropTail(switch) = &scenario.switch else { panic!("the switches are drop-tail") };
    let mut run =
        pullnet_sim::start_with::<GradualDctcp, DropTail<Packet<Medium>>>(scenario, config, switch, 1);
    while !run.advance(10_000).ended {}
    run.finish()
}

/// The columns of the reference that a run here has, too.
#[derive(Debug)]
struct Row {
    mean: f64,
    deviation: f64,
    least: f64,
    most: f64,
    goodput: f64,
    lowest: f64,
    marked: f64,
}

fn theirs(run: &str) -> Row {
    let path = format!("{}/tests/ns3/e_summary.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let line = text.lines().find(|line| line.split(',').next() == Some(run)).expect("a run of the reference");
    let column =
        |place: usize| line.split(',').nth(place).expect("a column").parse::<f64>().expect("a number");
    Row {
        mean: column(4),
        deviation: column(5),
        least: column(6),
        most: column(7),
        goodput: column(8),
        lowest: column(9),
        marked: column(13) / column(14),
    }
}

fn ours(record: &RunRecord, seconds: f64) -> Row {
    let from = 100_000_000_000;
    let queue: Vec<f64> = record
        .recorded
        .port_series()
        .iter()
        .filter(|row| row.at.0 >= from)
        .map(|row| f64::from(row.data) - BELOW)
        .collect();
    let mean = queue.iter().sum::<f64>() / queue.len() as f64;
    let square = queue.iter().map(|held| (held - mean).powi(2)).sum::<f64>() / queue.len() as f64;
    let rates: Vec<f64> =
        record.flows.iter().map(|flow| flow.delivered_in_window as f64 * 8e-9 / seconds).collect();
    let sent: u64 = record.recorded.port_series().iter().map(|row| row.packets).sum();
    let marked: u64 = record.recorded.port_series().iter().map(|row| row.marked).sum();
    assert_eq!((record.totals.packets.dropped, record.totals.packets.retransmitted), (0, 0));
    Row {
        mean,
        deviation: square.sqrt(),
        least: queue.iter().copied().fold(f64::INFINITY, f64::min),
        most: queue.iter().copied().fold(0.0, f64::max),
        goodput: rates.iter().sum(),
        lowest: rates.iter().copied().fold(f64::INFINITY, f64::min),
        marked: marked as f64 / sent as f64,
    }
}

/// Two flows 1.37 ms apart, an ACK for each packet: the run that the reference recommends.
fn staggered(run: impl Fn(&Arc<Scenario>) -> RunRecord) -> Row {
    ours(&run(&scenario(["0.0001", "0.00147"], false, "400 ms")), 0.3)
}

/// Two flows at once, an ACK for every second packet.
fn together(run: impl Fn(&Arc<Scenario>) -> RunRecord) -> Row {
    ours(&run(&scenario(["0.0001", "0.0001"], true, "500 ms")), 0.4)
}

#[test]
fn two_flows_fill_the_link_and_share_it_as_there() {
    for (theirs, ours) in
        [(theirs("d1_stag_n2"), staggered(as_it_is)), (theirs("sync_n2"), together(as_it_is))]
    {
        assert!((ours.goodput - theirs.goodput).abs() < 5e-5, "{ours:?}");
        assert!((ours.lowest / theirs.lowest - 1.0).abs() < 0.015, "{ours:?}");
        assert!((ours.marked - theirs.marked).abs() < 0.01, "{ours:?}");
        // The threshold holds the queue in the same place, and its top is the same within two packets.
        assert!((ours.mean - theirs.mean).abs() < 3.0 && (ours.most - theirs.most).abs() <= 2.0, "{ours:?}");
    }
}

#[test]
fn a_gradual_reduction_is_why_the_queue_swings_further_there() {
    for (theirs, at_once, gradual) in [
        (theirs("d1_stag_n2"), staggered(as_it_is), staggered(gradual)),
        (theirs("sync_n2"), together(as_it_is), together(gradual)),
    ] {
        assert!(at_once.deviation < 0.65 * theirs.deviation, "{at_once:?}");
        assert!((0.75..1.05).contains(&(gradual.deviation / theirs.deviation)), "{gradual:?}");
        assert!((gradual.mean - theirs.mean).abs() < 1.2, "{gradual:?}");
        assert!(
            (gradual.least - theirs.least).abs() <= 2.0 && at_once.least >= theirs.least + 8.0,
            "{gradual:?}"
        );
    }
}

#[test]
#[ignore = "prints the table: cargo test -p pullnet-sim --test engine ns3_dctcp -- --ignored --nocapture"]
fn table() {
    for (name, run) in
        [("d1_stag_n2", staggered as fn(fn(&Arc<Scenario>) -> RunRecord) -> Row), ("sync_n2", together)]
    {
        println!(
            "{name}\n  ns-3    {:?}\n  pullnet {:?}\n  gradual {:?}",
            theirs(name),
            run(as_it_is),
            run(gradual)
        );
    }
}
