//! Faults by their texts, and the resulting state of links.

use pullnet_topology::{
    BackToBack, Effect, FatTree, Fault, LeafSpine, LinkRef, LinkState, Place, Star, Topology, schedules,
};
use pullnet_units::{BitsPerSec, HostId, Instant, Picos};

fn tree() -> Topology {
    FatTree { k: 4, ..FatTree::default() }.build().unwrap()
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Picos::from_micros(us)
}

fn fault(place: &str, from: u64, until: Option<u64>, effect: Effect) -> Fault {
    Fault { place: place.parse().unwrap(), from: at_us(from), until: until.map(at_us), effect }
}

/// Names of the links of a place.
fn links(topology: &Topology, place: &str) -> Vec<String> {
    let hit = schedules(topology, &[fault(place, 0, None, Effect::Down)]).unwrap();
    let name = |(link, _): (LinkRef, _)| match link {
        LinkRef::Nic(host) => topology.nic_name(host),
        LinkRef::Port(port) => topology.port_name(port),
    };
    hit.iter().map(name).collect()
}

#[test]
fn places_stand_for_directed_links() {
    let tree = tree();
    assert_eq!(links(&tree, "link core 0 - agg 2"), ["agg 2 -> core 0", "core 0 -> agg 2"]);
    assert_eq!(links(&tree, "link core 0 -> agg 2"), ["core 0 -> agg 2"]);
    assert_eq!(links(&tree, "core 0 -> agg 2"), ["core 0 -> agg 2"]);
    assert_eq!(links(&tree, "host 5"), ["host 5 -> tor 2", "tor 2 -> host 5"]);
    assert_eq!(links(&tree, "link host 5 -> tor 2"), ["host 5 -> tor 2"]);
    assert_eq!(links(&tree, "switch core 3").len(), 2 * 4);
    assert_eq!(links(&tree, "agg 0"), links(&tree, "switch agg 0"));
    assert_eq!(links(&tree, "level agg->core").len(), 8 * 2);
    assert_eq!(links(&tree, "level host->tor").len(), 16);
    assert_eq!(links(&tree, "all links").len(), 16 + 20 * 4);
    assert_eq!(
        links(&BackToBack::default().build().unwrap(), "host 1"),
        ["host 0 -> host 1", "host 1 -> host 0"]
    );
    let star = Star { hosts: 3, ..Star::default() }.build().unwrap();
    assert_eq!(links(&star, "switch 0").len(), 6);
    let lanes = LeafSpine { leaves: 2, spines: 2, lanes: 3, ..LeafSpine::default() }.build().unwrap();
    assert_eq!(links(&lanes, "link tor 0 - spine 1").len(), 6);
    assert_eq!(links(&lanes, "link tor 0 -> spine 1 lane 2").len(), 1);
}

#[test]
fn a_place_is_written_as_it_is_read() {
    for text in
        ["all links", "level core->agg", "link a - b", "link core 0 -> agg 3 lane 1", "host 5", "switch x"]
    {
        assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
    }
}

#[test]
fn overlapping_faults_combine() {
    let tree = tree();
    let slow = BitsPerSec::gbps(1);
    let faults = [
        fault("link core 0 -> agg 0", 10, Some(40), Effect::Rate(slow)),
        fault("link core 0 -> agg 0", 20, Some(30), Effect::Down),
        fault("all links", 25, None, Effect::Loss(0.5)),
        fault("switch core 0", 25, Some(50), Effect::Loss(0.5)),
        fault("all links", 60, None, Effect::Corrupt(0.25)),
    ];
    let schedules = schedules(&tree, &faults).unwrap();
    let link =
        tree.links().find(|link| matches!(link, LinkRef::Port(p) if tree.port_name(*p) == "core 0 -> agg 0"));
    let schedule = schedules.get(link.unwrap()).unwrap();
    let sound = LinkState::sound(BitsPerSec::gbps(10));
    let expected = [
        (10, LinkState { rate: slow, ..sound }),
        (20, LinkState { rate: slow, up: false, ..sound }),
        (25, LinkState { rate: slow, up: false, loss: 0.75, ..sound }),
        (30, LinkState { rate: slow, loss: 0.75, ..sound }),
        (40, LinkState { loss: 0.75, ..sound }),
        (50, LinkState { loss: 0.5, ..sound }),
        (60, LinkState { loss: 0.5, corrupt: 0.25, ..sound }),
    ];
    assert_eq!(schedule.changes(), expected.map(|(us, state)| (at_us(us), state)));
    assert_eq!(schedule.at(at_us(9)), sound);
    assert_eq!(schedule.at(at_us(45)), expected[4].1);
    assert_eq!(schedules.len(), tree.links().count());
}

#[test]
fn only_links_with_faults_have_schedules_and_recover() {
    let tree = tree();
    let one = schedules(&tree, &[fault("link host 3 -> tor 1", 5, Some(6), Effect::Down)]).unwrap();
    assert_eq!(one.len(), 1);
    let nic = one.get(LinkRef::Nic(HostId::new(3))).unwrap();
    assert!(!nic.at(at_us(5)).up && nic.at(at_us(6)).up);
    assert!(schedules(&tree, &[]).unwrap().is_empty());
}

#[test]
fn the_lowest_rate_counts() {
    let tree = tree();
    let rate = |gbps| Effect::Rate(BitsPerSec::gbps(gbps));
    let faults = [fault("host 0", 1, Some(9), rate(2)), fault("host 0", 2, Some(8), rate(5))];
    let schedules = schedules(&tree, &faults).unwrap();
    let changes = schedules.get(LinkRef::Nic(HostId::new(0))).unwrap().changes();
    let rates: Vec<(Instant, BitsPerSec)> = changes.iter().map(|(at, state)| (*at, state.rate)).collect();
    assert_eq!(rates, [(at_us(1), BitsPerSec::gbps(2)), (at_us(9), BitsPerSec::gbps(10))]);
}

#[test]
fn neighbouring_faults_leave_no_gap() {
    let tree = tree();
    let faults = [fault("host 0", 1, Some(2), Effect::Down), fault("host 0", 2, Some(3), Effect::Down)];
    let both = schedules(&tree, &faults).unwrap();
    assert_eq!(both.get(LinkRef::Nic(HostId::new(0))).unwrap().changes().len(), 2);
}

#[test]
fn impossible_faults_are_refused_with_a_remedy() {
    let tree = tree();
    let text = |place: &str, from, until, effect| {
        let place = match place.parse() {
            Ok(place) => place,
            Err(error) => return format!("{error}"),
        };
        let fault = Fault { place, from: at_us(from), until, effect };
        schedules(&tree, &[fault]).unwrap_err().to_string()
    };
    let down = |place| text(place, 0, None, Effect::Down);
    assert!(down("link core 0").contains("cannot be read; write for instance \"all links\""));
    assert!(down("level up").contains("there is no level \"up\"; use one of host->tor"));
    assert_eq!(
        down("level tor->spine"),
        "place \"level tor->spine\": there is no level \"tor->spine\"; \
         use one of host->tor, tor->host, tor->agg, agg->tor, agg->core, core->agg"
    );
    assert_eq!(
        down("link core 9 - agg 0"),
        "place \"link core 9 - agg 0\": there is no node \"core 9\"; \
         nodes are called like \"host 15\", \"tor 7\", \"agg 7\", \"core 3\""
    );
    assert_eq!(
        down("link core 0 - agg 1"),
        "place \"link core 0 - agg 1\": no link leads from \"core 0\" to \"agg 1\"; \
         it leads to \"agg 0\", \"agg 2\", \"agg 4\", \"agg 6\""
    );
    assert!(down("link core 0 - agg 0 lane 1").ends_with("lane 1 does not exist; use 0 to 0"));
    assert!(text("host 0", 2, Some(at_us(2)), Effect::Down).contains("is not after from"));
    assert!(text("host 0", 0, None, Effect::Duplicate(0.5)).contains("real frames only; use another effect"));
    assert!(text("host 0", 0, None, Effect::Loss(f64::NAN)).contains("probability NaN is out of range"));
    assert!(text("host 0", 0, None, Effect::Corrupt(1.5)).ends_with("use more than 0 and at most 1"));
    assert_eq!(
        text("host 0", 0, None, Effect::Rate(BitsPerSec::gbps(10))),
        "place \"host 0\": rate 10 Gbps slows no link there; use less than 10 Gbps"
    );
}
