//! Sessions with several receivers or several senders: copies at switches, any number of threads, and no session that hangs.

use crate::common::{check, compiled, simulate};
use pullnet_record::{FlowRow, RunRecord};

/// A fat tree of 16 hosts with one kind of traffic, and faults.
fn text(seed: u64, transport: &str, traffic: &str, faults: &str) -> String {
    let switch = if transport == "scdp" { "scdp" } else { "trim" };
    let give_up = if transport == "ndp" { "" } else { "give_up = \"100 ms\"" };
    format!(
        "seed = {seed}\nuntil = \"all flows done\"\nlimit = \"20 s\"\n\
         [topology]\nkind = \"fat-tree\"\nk = 4\nlink = {{ rate = \"1 Gbps\", delay = \"10 us\" }}\n\
         [transport]\nkind = \"{transport}\"\n{give_up}\n[switch]\nkind = \"{switch}\"\n\
         [[traffic]]\n{traffic}\n{faults}\n"
    )
}

const UNICAST: &str = "kind = \"permutation\"\nsize = \"200 kB\"";
const ONE_TO_THREE: &str = "kind = \"replicate\"\nsize = \"200 kB\"\nsessions = 6";
const THREE_TO_ONE: &str = "kind = \"fetch\"\nsize = \"200 kB\"\nsessions = 6";
const LOSS: &str = "[[fault]]\nplace = \"all links\"\nloss = 0.01\n";
const FAILED_LINK: &str = "[[fault]]\nplace = \"core 0 - agg 0\"\nfrom = \"1 ms\"\ndown = true\n";
/// A host that dies while it sends and receives.
const DEAD: u32 = 5;
const DEAD_HOST: &str = "[[fault]]\nplace = \"host 5\"\nfrom = \"1 ms\"\ndown = true\n";

fn complete(flow: &FlowRow) -> bool {
    flow.received.is_some() && flow.failed.is_none() && Some(flow.delivered) == flow.size
}

fn run(text: &str, threads: usize) -> RunRecord {
    let scenario = compiled(text, &[]);
    let record = simulate(&scenario, threads);
    check::one_run(&scenario, &record).unwrap_or_else(|broken| panic!("{broken}\n{text}"));
    record
}

#[test]
fn runs_are_the_same_for_any_number_of_threads() {
    let spread = format!("{ONE_TO_THREE}\nrate = 5000");
    for (traffic, faults) in [
        (ONE_TO_THREE, ""),
        (&*spread, LOSS),
        (ONE_TO_THREE, FAILED_LINK),
        (ONE_TO_THREE, DEAD_HOST),
        (THREE_TO_ONE, ""),
        (THREE_TO_ONE, LOSS),
    ] {
        let text = text(1, "scdp", traffic, faults);
        let one = run(&text, 1);
        for threads in [2, 4] {
            let other = run(&text, threads);
            assert_eq!(other.fingerprint, one.fingerprint, "{threads} threads\n{text}");
            assert_eq!(other.flows, one.flows, "{threads} threads\n{text}");
            assert_eq!(other.totals, one.totals, "{threads} threads\n{text}");
        }
    }
}

/// The first host of a chain gets its data slowly. The second one has nothing to pass on before that.
#[test]
fn a_chain_passes_on_what_has_arrived() {
    let chain = "kind = \"replicate\"\nsize = \"200 kB\"\nsessions = 4\nrate = 5000\ncopies = \"chain\"";
    let slow = "[[fault]]\nplace = \"host 5\"\nrate = \"100 Mbps\"\n";
    for faults in ["", slow, LOSS] {
        for seed in 1..=4 {
            let text = text(seed, "ndp", chain, faults);
            let record = run(&text, 1);
            assert!(record.flows.iter().all(complete), "{text}");
            assert_eq!(run(&text, 4).fingerprint, record.fingerprint, "{text}");
            for session in record.flows.chunks(3) {
                assert!(session.is_sorted_by(|a, b| a.received < b.received), "{session:?}\n{text}");
            }
        }
    }
}

/// Hosts that pass on what they get from a host that dies get no more: their flows fail too, and none stays open.
#[test]
fn a_chain_ends_when_its_first_host_dies() {
    let chain = "kind = \"replicate\"\nsize = \"2 MB\"\nsessions = 3\ncopies = \"chain\"\nfrom = \"5\"";
    let text = text(1, "ndp", chain, DEAD_HOST);
    let record = run(&text, 1);
    assert!(record.flows.iter().all(|flow| flow.failed.is_some()), "{:?}\n{text}", record.flows);
}

/// A fault that comes after the last flow changes no ideal, and so no slowdown.
#[test]
fn a_fault_after_all_flows_leaves_their_ideals() {
    let late = "[[fault]]\nplace = \"host 5\"\nfrom = \"19 s\"\ndown = true\n";
    for traffic in [THREE_TO_ONE, ONE_TO_THREE, UNICAST] {
        let [sound, faulty] = ["", late].map(|faults| run(&text(1, "scdp", traffic, faults), 1));
        assert_eq!(sound.flows, faulty.flows, "{traffic}");
    }
}

/// Trees do not depend on who chooses the paths of other packets, and other switches copy as well. Beside the groups another
/// transport has its own traffic.
#[test]
fn copies_reach_everybody_whatever_the_switches_and_paths() {
    let leaves = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 3\nhosts_per_leaf = 4\n\
                  link = { rate = \"10 Gbps\", delay = \"1 us\" }\n";
    let groups =
        "[[traffic]]\nkind = \"replicate\"\nreceivers = 7\nsize = \"100 kB\"\ntransport = \"scdp\"\n";
    let others = "[[traffic]]\nkind = \"permutation\"\nsize = \"100 kB\"\ntransport = \"tcp\"\n";
    let transports = "[[transport]]\nkind = \"scdp\"\n[[transport]]\nkind = \"tcp\"\n";
    for switch in ["scdp", "trim", "shared-buffer", "pfc"] {
        for forwarding in ["path", "random", "ecmp", "least-loaded"] {
            let switch = format!("[switch]\nkind = \"{switch}\"\nforwarding = \"{forwarding}\"\n");
            let text = format!(
                "until = \"all flows done\"\nlimit = \"20 s\"\n{leaves}{transports}{switch}{groups}{others}"
            );
            let record = run(&text, 1);
            assert_eq!(record.flows.len(), 16 * 7 + 16);
            for flow in &record.flows {
                assert!(complete(flow), "{flow:?}\n{text}");
            }
            assert_eq!(run(&text, 3).fingerprint, record.fingerprint, "{text}");
        }
    }
}

/// Three copies over one link of the sender take as long as one; in flows of their own, three times as long.
#[test]
fn copies_cost_the_sender_one_link() {
    let one = "kind = \"replicate\"\nfrom = \"0\"\nsize = \"1 MB\"\n";
    let sent = |record: &RunRecord| record.ports[0].data_packets;
    // Twelve packets do not fill a round trip over links of 10 us: one session alone would be slower than three.
    let text = |transport, traffic: &str| {
        text(1, transport, traffic, "").replace("give_up", "initial_window = \"24 packets\"\ngive_up")
    };
    let multicast = run(&text("scdp", one), 1);
    assert!(multicast.flows.len() == 3 && multicast.flows.iter().all(complete));
    assert!(multicast.flows.iter().all(|flow| flow.session == 0 && flow.senders == 1));
    let needed = 1_000_000u64.div_ceil(1436);
    assert!(sent(&multicast) >= needed && sent(&multicast) < needed + 48, "{}", sent(&multicast));
    let links: u64 = multicast.ports.iter().map(|port| port.data_packets).sum();
    assert_eq!(multicast.totals.packet_hops, links, "each copy counts once per link");
    let copied = multicast.totals.packets.copied;
    assert!(copied >= 2 * needed && copied <= 2 * sent(&multicast), "{copied} copies");
    let last = |record: &RunRecord| record.flows.iter().map(|flow| flow.received.unwrap()).max().unwrap();
    for transport in ["scdp", "ndp"] {
        let unicast = run(&text(transport, &format!("{one}copies = \"unicast\"")), 1);
        assert!(unicast.flows.len() == 3 && unicast.flows.iter().all(complete));
        assert!(unicast.flows.iter().all(|flow| flow.session == 0));
        assert!(sent(&unicast) >= 3 * (1_000_000 / 9000) && unicast.totals.packets.copied == 0);
        let ratio = last(&unicast).0 as f64 / last(&multicast).0 as f64;
        assert!(ratio > 2.7, "{transport} takes {ratio} times as long");
    }
}

/// Three senders fill the receiver's link together, and what they send is hardly more than what is needed.
#[test]
fn senders_share_the_work() {
    let fetch = "kind = \"fetch\"\nto = \"0\"\nsize = \"1 MB\"\n";
    let record = run(&text(1, "scdp", fetch, ""), 1);
    let [flow] = &record.flows[..] else { panic!("{:?}", record.flows) };
    assert!(complete(flow) && flow.senders == 3);
    let slowdown = flow.received.unwrap().since(flow.start).0 as f64 / flow.ideal.unwrap().0 as f64;
    assert!((1.0..1.15).contains(&slowdown), "{slowdown}");
    let needed = 1_000_000u32.div_ceil(1436);
    assert!(flow.packets_sent < needed + needed / 10, "{} packets for {needed}", flow.packets_sent);
    let shares = record.ports.iter().take(16).map(|port| port.data_packets);
    let shares: Vec<u64> = shares.filter(|packets| *packets > 0).collect();
    assert!(shares.len() == 3 && shares.iter().all(|share| *share > u64::from(needed) / 5), "{shares:?}");
    let plain = run(&text(1, "ndp", &format!("{fetch}parts = \"plain\""), ""), 1);
    assert!(plain.flows.len() == 3 && plain.flows.iter().all(complete));
    assert_eq!(plain.flows.iter().map(|flow| flow.size.unwrap()).sum::<u64>(), 1_000_000);
}

/// A receiver behind a link that stays down is named; the others get theirs without it.
#[test]
fn a_dead_receiver_keeps_nobody_waiting() {
    let cut = "[[fault]]\nplace = \"host 5\"\ndown = true\n";
    let list = "kind = \"replicate\"\nfrom = \"0\"\nto = \"5,9,13\"\nsize = \"1 MB\"\n";
    let record = run(&text(1, "scdp", list, cut), 1);
    for flow in &record.flows {
        if flow.dst.get() == DEAD {
            assert_eq!(flow.failed, Some("no working path leads to this receiver of the group"));
            continue;
        }
        let taken = flow.received.unwrap().since(flow.start);
        // The patience of the sender, and three times the least that an empty network needs.
        assert!(complete(flow) && taken.0 < 10_000_000_000 + 3 * flow.ideal.unwrap().0, "{taken}");
    }
    assert_eq!(record.flows.iter().filter(|flow| complete(flow)).count(), 2);
}

/// Fifty seeds of SCDP, and ten of Polyraptor, in each kind of session under each kind of trouble.
#[test]
fn no_session_hangs() {
    for (transport, seeds) in [("scdp", 50), ("polyraptor", 10)] {
        for traffic in [UNICAST, ONE_TO_THREE, THREE_TO_ONE] {
            for faults in ["", LOSS, FAILED_LINK, DEAD_HOST] {
                (1..=seeds).for_each(|seed| ends(&text(seed, transport, traffic, faults), faults));
            }
        }
    }
}

/// Every session of `text` ends, and only those with the dead host fail.
fn ends(text: &str, faults: &str) {
    let record = run(text, 1);
    assert!(record.complete, "sessions hang\n{text}");
    for flow in &record.flows {
        let touched =
            faults == DEAD_HOST && (flow.dst.get() == DEAD || flow.senders == 1 && flow.src.get() == DEAD);
        assert!(complete(flow) || touched, "{flow:?}\n{text}");
    }
}

/// A sender with a tenth of the rate of the other two costs a read little more than its share.
#[test]
fn a_slow_sender_is_made_up_for() {
    let slow = "[[fault]]\nplace = \"host 5\"\nrate = \"100 Mbps\"\n";
    let fetch = "kind = \"fetch\"\nto = \"0\"\nfrom = \"5,9,13\"\nsize = \"4 MB\"\n";
    let took = |faults: &str| {
        let text =
            text(1, "scdp", fetch, faults).replace("give_up", "source_window = \"16 packets\"\ngive_up");
        let record = run(&text, 1);
        let [flow] = &record.flows[..] else { panic!("{:?}", record.flows) };
        assert!(complete(flow), "{flow:?}");
        flow.received.unwrap().since(flow.start).0 as f64
    };
    // Alone, its third would take three times as long as the whole read without it.
    let ratio = took(slow) / took("");
    assert!(ratio < 1.5, "{ratio} times as long");
}
