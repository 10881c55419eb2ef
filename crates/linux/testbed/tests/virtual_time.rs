//! Scenarios in virtual time: the hosts of a testbed on in-process rings, and its switches as a fabric between them. The
//! results are compared with the simulator's.

use std::cell::Cell;
use std::sync::Arc;

use pullnet_netio::{PacketIo, RingOptions, Rings};
use pullnet_qdisc::{Discipline, with_discipline};
use pullnet_record::RunRecord;
use pullnet_scenario::{Scenario, compile};
use pullnet_switch::config::SwitchFile;
use pullnet_switch::{Fabric, Ndp, Silent, Slot};
use pullnet_testbed::plan::Plan;
use pullnet_testbed::{Clock, Field, PlayError, PortCounts};
use pullnet_units::{Instant, PortId};
use serde_json::{Map, Value, json};

struct Virtual(Cell<Instant>);

impl Clock for Virtual {
    fn now(&self) -> Instant {
        self.0.get()
    }
}

/// The switches of a testbed, with the far ends of the hosts' rings.
struct Switches<Q: Discipline<Slot>> {
    fabric: Fabric<Q, Ndp, Silent>,
    /// The ring of each port with an interface.
    ends: Vec<(PortId, Rings)>,
}

impl<Q: Discipline<Slot>> Switches<Q> {
    fn new(file: &SwitchFile, config: &Q::Config, ends: Vec<Rings>) -> Self {
        let ports: Vec<_> = file.ports.iter().map(|port| port.settings).collect();
        let mut fabric =
            Fabric::new(config, file.fabric, &ports, Ndp { marks: file.marks, ..Ndp::default() }, Silent)
                .unwrap();
        for (node, mac, entry) in &file.entries {
            fabric.forward(*node, *mac, entry.clone());
        }
        let port = |host: usize| file.port(&format!("h{host}")).unwrap();
        Self { fabric, ends: ends.into_iter().enumerate().map(|(host, end)| (port(host), end)).collect() }
    }

    /// Counters of the ports, in the format of the switches' `status` answer.
    fn status(&self, file: &SwitchFile, count: impl Fn(u64) -> u64) -> Value {
        let ports = (0..).zip(&file.ports).map(|(number, port)| {
            let rows = self.fabric.counters(PortId::new(number)).rows();
            let counters: Map<_, _> =
                rows.map(|(name, value)| (name.to_owned(), count(value).into())).collect();
            json!({ "name": port.name, "switch": port.switch, "counters": counters })
        });
        json!({ "ports": ports.collect::<Vec<_>>() })
    }

    /// Receives frames from hosts until `now`, and delivers due frames to them. Returns whether any were delivered.
    fn turn(&mut self, now: Instant) -> bool {
        let mut any = false;
        for (port, end) in &mut self.ends {
            end.receive(usize::MAX, &mut |frame| self.fabric.arrive(*port, now, frame)).unwrap();
        }
        self.fabric.advance(now);
        while let Some(departure) = self.fabric.poll_departure() {
            let (_, end) = self.ends.iter_mut().find(|(port, _)| *port == departure.port).unwrap();
            let frame = self.fabric.frame(departure.frame);
            let fill = &mut |room: &mut [u8]| {
                room[..frame.len()].copy_from_slice(frame);
                frame.len()
            };
            assert!(end.send(fill).unwrap(), "a ring is full");
            self.fabric.release(departure.frame);
            any = true;
        }
        any
    }
}

fn play<Q: Discipline<Slot>>(scenario: &Arc<Scenario>, file: &SwitchFile, config: &Q::Config) -> RunRecord {
    let pairs = scenario.topology.hosts.ids().map(|_| Rings::pair(RingOptions::default()));
    let (mine, theirs): (Vec<_>, Vec<_>) = pairs.unzip();
    let sockets = mine.into_iter().map(|ring| Box::new(ring) as _).collect();
    let mut switches = Switches::<Q>::new(file, config, theirs);
    let mut field = Field::new(scenario, sockets, 0).unwrap();
    let clock = Virtual(Cell::new(Instant::ZERO));
    while !field.turn(&clock).unwrap() {
        let now = clock.now();
        // Frames delivered just now are answered in the next turn, at the same virtual time.
        if !switches.turn(now) {
            clock.0.set(field.next_due().min(switches.fabric.next_event()).max(now));
        }
    }
    let before = switches.status(file, |_| 0);
    let after = switches.status(file, |count| count);
    field.finish(&PortCounts::between(&before, &after).unwrap()).0
}

fn scenario(text: &str) -> Arc<Scenario> {
    let compiled = compile("test.toml", text, &[], &std::collections::BTreeMap::new());
    Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors:?}")))
}

fn on_rings(scenario: &Arc<Scenario>) -> RunRecord {
    let plan = Plan::of(scenario).unwrap();
    let file = SwitchFile::read("switches.toml", &plan.switch_file, &std::collections::BTreeMap::new());
    let file = file.unwrap_or_else(|errors| panic!("{errors:?}"));
    with_discipline!(&file.discipline, |config: Q| play::<Q<Slot>>(scenario, &file, config))
}

fn simulated(scenario: &Arc<Scenario>) -> RunRecord {
    let mut run = pullnet_sim::start(scenario, 1);
    while !run.advance(1 << 12).ended {}
    run.finish()
}

fn with(transport: &str, topology: &str, switch: &str, traffic: &str) -> String {
    format!(
        "name = \"test\"\nseed = 3\nuntil = \"all flows done\"\n[topology]\n{topology}\n\
         link = {{ rate = \"1 Gbps\", delay = \"1 us\" }}\n[transport]\n{transport}\nmtu = \"1436 B\"\n\
         [switch]\n{switch}\n[probes]\npackets = true\n[[traffic]]\n{traffic}\n"
    )
}

fn incast(topology: &str, switch: &str, traffic: &str) -> String {
    with("kind = \"ndp\"\ninitial_window = \"12 packets\"", topology, switch, traffic)
}

const STAR: &str = "kind = \"star\"\nhosts = 8";
const SEVEN: &str = "kind = \"incast\"\ndegree = 7\nsize = \"450 kB\"\nto = 0";

fn last_us(record: &RunRecord) -> f64 {
    let ends = record.flows.iter().map(|flow| flow.received.expect("a flow that ended").0);
    ends.max().expect("a flow") as f64 / 1e6
}

#[test]
fn an_incast_takes_as_long_as_in_the_simulator() {
    let scenario = scenario(&incast(STAR, "kind = \"trim\"", SEVEN));
    let (rings, simulated) = (on_rings(&scenario), simulated(&scenario));
    assert!(rings.complete && rings.flows.iter().all(|flow| flow.delivered == 450_000));
    // 7 times 312 frames at 1 Gb/s; a frame of the simulator is 4 B shorter than on the wire.
    let optimum = 7.0 * (450_000.0 + 312.0 * 78.0) * 8e-3;
    assert!((1.0..1.02).contains(&(last_us(&rings) / optimum)), "{} of {optimum} us", last_us(&rings));
    assert!((0.995..1.01).contains(&(last_us(&rings) / last_us(&simulated))));
    let trims =
        rings.totals.packets.headers_delivered as f64 / simulated.totals.packets.headers_delivered as f64;
    assert!((0.5..2.0).contains(&trims), "{trims} times as many trims");
    assert_eq!(rings.flows.iter().map(|flow| flow.timeouts).sum::<u32>(), 0);
}

#[test]
fn two_tiers_of_switches_carry_every_path() {
    let paper = "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2";
    let traffic = "kind = \"permutation\"\nsize = \"100 kB\"";
    let scenario = scenario(&incast(paper, "kind = \"trim\"", traffic));
    let rings = on_rings(&scenario);
    assert!(rings.complete && rings.flows.iter().all(|flow| flow.received.is_some()));
    let paths: std::collections::BTreeSet<_> =
        rings.recorded.packets().iter().filter_map(|row| row.path).collect();
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn what_a_switch_drops_is_sent_again() {
    let scenario = scenario(&incast(STAR, "kind = \"drop-tail\"\nqueue = \"8 packets\"", SEVEN));
    let rings = on_rings(&scenario);
    assert!(rings.complete && rings.flows.iter().all(|flow| flow.delivered == 450_000));
    assert!(rings.totals.packets.retransmitted > 0 && rings.totals.timeouts > 0);
}

#[test]
fn two_hosts_on_a_line_do_the_same_as_in_the_simulator_packet_by_packet() {
    let traffic = "kind = \"incast\"\ndegree = 1\nsize = \"200 kB\"\nto = 0";
    let line = "kind = \"back-to-back\"";
    same_packets(&incast(line, "kind = \"trim\"", traffic));
    for transport in OTHERS {
        same_packets(&with(transport, line, "kind = \"drop-tail\"", traffic));
    }
}

/// The next flow of a loop, the response and the next request are started by the host at which the flow before them ends.
#[test]
fn applications_go_on_by_themselves_as_in_the_simulator() {
    let loops =
        "kind = \"closed-loop\"\nfrom = \"0\"\nto = \"1\"\nsizes.fixed = \"20 kB\"\nflows_per_connection = 4";
    let pauses = format!("{loops}\nthink = \"40 us\"");
    let asks = "kind = \"request-response\"\nfrom = \"0\"\nto = \"1\"\nresponse = \"20 kB\"\nrequests_per_connection = 3";
    for traffic in [loops, &pauses, asks] {
        let text = incast("kind = \"back-to-back\"", "kind = \"trim\"", traffic);
        same_packets(&text);
        let scenario = scenario(&text);
        let (rings, simulated) = (on_rings(&scenario), simulated(&scenario));
        let ways = |record: &RunRecord| -> Vec<_> {
            record.flows.iter().map(|flow| (flow.src, flow.dst, flow.size, flow.delivered)).collect()
        };
        assert_eq!(ways(&rings), ways(&simulated), "{traffic}");
        assert!(rings.flows.len() >= 4 && rings.flows.iter().all(|flow| flow.acknowledged.is_some()));
        // In both worlds the next flow starts in the instant of the end that it waits for.
        for record in [&rings, &simulated].into_iter().filter(|_| traffic == loops) {
            assert!(record.flows.windows(2).all(|pair| Some(pair[1].start) == pair[0].acknowledged));
        }
        for record in [&rings, &simulated].into_iter().filter(|_| traffic == asks) {
            assert!(record.flows.windows(2).all(|pair| Some(pair[1].start) == pair[0].received));
        }
    }
}

/// The other transports, with their header lengths on the wire.
const OTHERS: [&str; 5] = [
    "kind = \"tcp\"\nheader = \"78 B\"",
    "kind = \"tcp\"\nheader = \"78 B\"\nsack = false",
    "kind = \"dctcp\"\nheader = \"78 B\"",
    "kind = \"go-back-n\"\nheader = \"78 B\"",
    "kind = \"scdp\"\nheader = \"102 B\"",
];

fn same_packets(text: &str) {
    let scenario = scenario(text);
    let (rings, simulated) = (on_rings(&scenario), simulated(&scenario));
    let sequence = |record: &RunRecord| -> Vec<_> {
        let of = |host| record.recorded.packets().iter().filter(move |row| row.host.get() == host);
        let what =
            |row: &pullnet_probes::PacketRow| (row.host, row.direction, row.kind, row.flags, row.words);
        // The order across sent and received packets depends on the length of a frame; the order within each direction does
        // not.
        let ways = [pullnet_probes::Direction::Sent, pullnet_probes::Direction::Received];
        let rows = [0, 1].into_iter().flat_map(|host| ways.map(|way| (host, way)));
        rows.flat_map(|(host, way)| of(host).filter(move |row| row.direction == way)).map(what).collect()
    };
    let (rings, simulated) = (sequence(&rings), sequence(&simulated));
    let parts = rings.iter().zip(&simulated).find(|(ring, simulated)| ring != simulated);
    assert_eq!((parts, rings.len()), (None, simulated.len()), "{text}");
}

/// Timeouts suited to the round trips of a star.
const LEAST_RTO: &str = "\nmin_rto = \"1 ms\"\ninitial_rto = \"3 ms\"\nrto_granularity = \"10 us\"";

/// Three flows of 1 MB into one host through a switch with `switch`: every byte arrives, in the time predicted by the
/// simulator.
fn three_to_one(transport: &str, switch: &str) -> (RunRecord, RunRecord) {
    let traffic = "kind = \"incast\"\ndegree = 3\nsize = \"1 MB\"\nto = 0";
    let scenario = scenario(&with(transport, "kind = \"star\"\nhosts = 4", switch, traffic));
    let (rings, simulated) = (on_rings(&scenario), simulated(&scenario));
    for record in [&rings, &simulated] {
        assert!(
            record.complete && record.flows.iter().all(|flow| flow.delivered == 1_000_000),
            "{transport}"
        );
    }
    (rings, simulated)
}

#[test]
fn every_transport_recovers_what_a_switch_drops() {
    for (transport, timers) in OTHERS.into_iter().zip([LEAST_RTO, LEAST_RTO, LEAST_RTO, ""]) {
        let (rings, simulated) =
            three_to_one(&format!("{transport}{timers}"), "kind = \"drop-tail\"\nqueue = \"16 packets\"");
        for record in [&rings, &simulated] {
            assert!(
                record.totals.packets.dropped > 0 && record.totals.packets.retransmitted > 0,
                "{transport}"
            );
        }
        let ratio = last_us(&rings) / last_us(&simulated);
        assert!((0.8..1.25).contains(&ratio), "{transport}: {ratio}");
    }
}

/// Transports whose headers ask the ports that they pass, with their lengths on the wire, and the switches that answer.
const ASKING: [(&str, &str); 3] = [
    ("kind = \"d3\"\nheader = \"106 B\"", "kind = \"d3\""),
    ("kind = \"rcp\"\nheader = \"106 B\"", "kind = \"d3\""),
    ("kind = \"pdq\"\nheader = \"98 B\"", "kind = \"pdq\""),
];

#[test]
fn ports_answer_the_headers_of_frames_as_in_the_simulator() {
    for (transport, switch) in ASKING {
        let (rings, simulated) = three_to_one(transport, switch);
        for record in [&rings, &simulated] {
            assert_eq!(
                (record.totals.packets.dropped, record.totals.packets.retransmitted),
                (0, 0),
                "{transport}"
            );
            // Without grants three windows or line rates would meet in the queue.
            let peak = record.ports.iter().map(|port| port.peak_data).max();
            assert!(peak.is_some_and(|peak| peak < 30), "{transport}: {peak:?} packets");
        }
        let ratio = last_us(&rings) / last_us(&simulated);
        assert!((0.98..1.02).contains(&ratio), "{transport}: {ratio}");
    }
}

/// Four flows of 1 MB into one host at 1 Gb/s, due after 20 ms: two of them can be served.
#[test]
fn deadlines_reach_the_switches_in_headers() {
    let traffic = "kind = \"incast\"\ndegree = 4\nsize = \"1 MB\"\nto = 0\ndeadline = \"20 ms\"";
    for (transport, switch) in [ASKING[0], ASKING[2]] {
        let scenario = scenario(&with(transport, "kind = \"star\"\nhosts = 5", switch, traffic));
        let met = |record: &RunRecord| {
            let ended =
                |flow: &&pullnet_record::FlowRow| flow.received.is_some_and(|at| at.0 <= 20_000_000_000);
            record.flows.iter().filter(ended).count()
        };
        assert_eq!((met(&on_rings(&scenario)), met(&simulated(&scenario))), (2, 2), "{transport}");
    }
}

#[test]
fn dctcp_answers_marks_in_the_ip_header_as_in_the_simulator() {
    let switch = "kind = \"drop-tail\"\nqueue = \"200 packets\"\nmark_above = \"20 packets\"";
    let (rings, simulated) = three_to_one("kind = \"dctcp\"\nheader = \"78 B\"", switch);
    for record in [&rings, &simulated] {
        assert_eq!((record.totals.packets.dropped, record.totals.packets.retransmitted), (0, 0));
        assert!(record.totals.packets.marked > 0);
        // DCTCP keeps the queue near the threshold; without marks it would fill.
        let peak = record.ports.iter().map(|port| port.peak_data).max();
        assert!(peak.is_some_and(|peak| (20..100).contains(&peak)), "{peak:?}");
    }
    let marks = rings.totals.packets.marked as f64 / simulated.totals.packets.marked as f64;
    assert!((0.8..1.25).contains(&marks), "{marks} times as many marks");
    assert!((0.99..1.01).contains(&(last_us(&rings) / last_us(&simulated))));
    // TCP does not declare ECN support, so its packets are not marked.
    let (tcp, _) = three_to_one("kind = \"tcp\"\nheader = \"78 B\"", switch);
    assert_eq!(tcp.totals.packets.marked, 0);
}

#[test]
fn what_cannot_be_played_is_refused_with_a_remedy() {
    let scenario = scenario(&incast(STAR, "kind = \"trim\"", SEVEN));
    let short = RingOptions { frame_room: 1000, ..RingOptions::default() };
    let sockets = (0..8).map(|_| Box::new(Rings::pair(short).0) as _).collect();
    let refused = Field::new(&scenario, sockets, 0).err().expect("a refusal").to_string();
    assert_eq!(
        refused,
        "transport.mtu: 1436 B of payload make a frame of 1514 B, but the interface of host 0 takes 1000 B; make the \
         testbed with a larger --mtu"
    );
    let missing = Field::new(&scenario, Vec::new(), 0).err();
    assert!(matches!(missing, Some(PlayError::Sockets { sockets: 0, hosts: 8 })));
}

/// The error that refuses the scenario `text`, which must be the same when sockets are sized and when play starts.
fn refusal(text: &str) -> String {
    let scenario = scenario(text);
    let sockets = (0..8).map(|_| Box::new(Rings::pair(RingOptions::default()).0) as _).collect();
    let refused = Field::new(&scenario, sockets, 0).err().expect("a refusal").to_string();
    let room = pullnet_testbed::frame_room(&scenario).expect_err("a refusal").to_string();
    assert_eq!(refused, room);
    refused
}

#[test]
fn what_only_the_simulator_can_do_with_transports_is_refused() {
    let switch = "kind = \"split\"";
    let first = "kind = \"ndp\"\nclass = 0\nmtu = \"1436 B\"\n[[transport]]\nkind = \"dctcp\"\nclass = 1";
    let (ndp, dctcp) = (format!("{SEVEN}\ntransport = \"ndp\""), format!("{SEVEN}\ntransport = \"dctcp\""));
    let both = with(first, STAR, switch, &format!("{ndp}\n[[traffic]]\n{dctcp}"));
    assert_eq!(
        refusal(&both.replacen("[transport]", "[[transport]]", 1)),
        format!(
            "transport: 2 transports in one run are for the simulator only; use one, of kind {}",
            pullnet_protocols::FRAMED.join(", ")
        )
    );
    assert_eq!(
        refusal(&with("kind = \"dctcp\"\nclass = 1", STAR, switch, SEVEN)),
        "transport.class: 1 is for the simulator only: frames of a testbed are all of class 0; leave it out"
    );
    let to_three = "kind = \"replicate\"\nsessions = 1\nrate = 2000\noutside_rack = false\nsize = \"100 kB\"";
    assert_eq!(
        refusal(&with("kind = \"scdp\"", STAR, "kind = \"scdp\"", to_three)),
        "traffic: sessions of several receivers or senders are for the simulator only; leave the keys out that make them"
    );
}
