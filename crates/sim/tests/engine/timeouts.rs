//! Which timeouts are explained by a lost packet, and which are a sender's impatience.

use crate::common::{check, compiled, simulate};
use pullnet_record::RunRecord;

fn run(transport: &str, switch: &str, rest: &str) -> RunRecord {
    let text = format!(
        "until = \"all flows done\"\nlimit = \"20 s\"\n[topology]\nkind = \"fat-tree\"\nk = 4\n\
         [transport]\nkind = \"ndp\"\n{transport}\n[switch]\nkind = \"trim\"\n{switch}\n\
         [[traffic]]\nkind = \"incast\"\nsize = \"450 kB\"\n{rest}"
    );
    let scenario = compiled(&text, &[]);
    let record = simulate(&scenario, 1);
    check::one_run(&scenario, &record).unwrap_or_else(|broken| panic!("{broken}\n{text}"));
    record
}

/// Timeouts of all flows, and those of them that nothing explains.
fn timeouts(record: &RunRecord) -> (u32, u32) {
    let sum = |count: fn(&pullnet_record::FlowRow) -> u32| record.flows.iter().map(count).sum();
    (sum(|flow| flow.timeouts), sum(|flow| flow.unexplained))
}

#[test]
fn a_timeout_without_a_loss_is_reported() {
    // The way there and back takes longer than the timer has patience.
    let record = run("timeout = \"30 us\"\nqueued_headers = \"0 packets\"", "", "");
    let (all, unexplained) = timeouts(&record);
    assert!(all > 0 && unexplained == all, "{unexplained} of {all}");
    assert_eq!(record.totals.packets.lost + record.totals.packets.dropped, 0);
}

#[test]
fn losses_elsewhere_do_not_hide_it() {
    let fault = "[[fault]]\nplace = \"all links\"\ncorrupt = 0.01\n";
    let record = run("timeout = \"30 us\"\nqueued_headers = \"0 packets\"", "", fault);
    let (all, unexplained) = timeouts(&record);
    assert!(u64::from(all) > record.totals.packets.lost, "{all}: {:?}", record.totals);
    assert!(unexplained > all / 2 && unexplained < all, "{unexplained} of {all}");
}

#[test]
fn every_timeout_of_a_patient_sender_is_explained_by_a_corrupted_packet() {
    let fault = "[[fault]]\nplace = \"all links\"\ncorrupt = 0.02\n";
    let record = run("", "", fault);
    let (all, unexplained) = timeouts(&record);
    assert!(all > 50 && unexplained == 0, "{unexplained} of {all}");
}

#[test]
fn every_timeout_of_a_patient_sender_is_explained_by_a_dropped_header() {
    let record = run("", "control_queue = \"8 packets\"\nreturn_to_sender = false", "");
    let (all, unexplained) = timeouts(&record);
    assert!(all > 50 && unexplained == 0, "{unexplained} of {all}");
}

/// Eight TCP flows burst into a switch whose queue for eight packets trims. A transport that cannot use headers loses every trimmed packet.
fn trimmed(nack: bool) -> RunRecord {
    let text = format!(
        "until = \"all flows done\"\nlimit = \"20 s\"\n\
         [topology]\nkind = \"star\"\nhosts = 9\nlink = {{ rate = \"10 Gbps\", delay = \"1 us\" }}\n\
         [transport]\nkind = \"tcp\"\nmtu = \"1500 B\"\nmin_rto = \"1 ms\"\nrto_granularity = \"1 us\"\ndelayed_ack = false\nnack = {nack}\n\
         [switch]\nkind = \"trim\"\n[[traffic]]\nkind = \"incast\"\nsize = \"15 kB\"\n"
    );
    let scenario = compiled(&text, &[]);
    let record = simulate(&scenario, 1);
    check::one_run(&scenario, &record).unwrap_or_else(|broken| panic!("{broken}\n{text}"));
    record
}

#[test]
fn a_trimmed_packet_explains_the_timeout_of_a_transport_that_cannot_use_it() {
    let record = trimmed(false);
    let (all, unexplained) = timeouts(&record);
    assert!(all > 5 && unexplained == 0, "{unexplained} of {all}");
    let packets = &record.totals.packets;
    assert!(packets.trimmed > 0 && packets.lost + packets.dropped == 0, "{packets:?}");
    assert_eq!(timeouts(&trimmed(true)).0, 0, "a NACK comes sooner than a timeout");
}
