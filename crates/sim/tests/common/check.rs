//! Invariants of every run of every scenario.

use pullnet_probes::{HopRow, Recorded};
use pullnet_protocols::ProtocolConfig;
use pullnet_qdisc::{Sharing, SwitchConfig};
use pullnet_record::{FlowRow, PortRow, RunRecord};
use pullnet_scenario::{Scenario, Stop};
use pullnet_topology::LinkRef;
use pullnet_units::{HostId, Picos, QueueSize};

use super::{compiled, shortened, simulate};

/// Says what is not so.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}

type Verdict = Result<(), String>;

/// Everything that records what a run does; probes that are off change nothing.
const PROBES: [(&str, &str); 7] = [
    ("probes.ports", "true"),
    ("probes.latency", "true"),
    ("probes.control", "true"),
    ("probes.series", "{ interval = \"1 ms\", per = \"flow\" }"),
    ("probes.hops", "{ every = 1 }"),
    ("probes.incidents", "true"),
    ("probes.timeouts", "true"),
];

/// How far runs with several threads are followed: they meet after every window, which is slow where there are more
/// threads than processors.
const FOLLOWED: &str = "500 us";

/// Runs the scenario with 1, 2 and 4 threads, with probes and without, and checks everything; returns its fingerprint.
pub fn everything(text: &str) -> Result<u64, String> {
    let scenario = compiled(text, &[]);
    let record = simulate(&scenario, 1);
    one_run(&scenario, &record)?;
    let begin = compiled(&shortened(text, FOLLOWED), &[]);
    let one = simulate(&begin, 1);
    one_run(&begin, &one)?;
    for threads in [2, 4] {
        same(&one, &simulate(&begin, threads)).map_err(|e| format!("{threads} threads: {e}"))?;
    }
    let observed = simulate(&compiled(text, &PROBES), 1);
    same(&record, &without_probes(&observed)).map_err(|e| format!("with probes: {e}"))?;
    probes_agree_with_totals(&observed)?;
    Ok(record.fingerprint)
}

/// Two runs of one scenario leave the same record, part by part.
pub fn same(one: &RunRecord, other: &RunRecord) -> Verdict {
    ensure!(one.fingerprint == other.fingerprint, "another fingerprint");
    ensure!(one.simulated == other.simulated, "ends at {:?} and not {:?}", other.simulated, one.simulated);
    for (number, (a, b)) in one.flows.iter().zip(&other.flows).enumerate() {
        ensure!(a == b, "flow {number} is {b:?} and not {a:?}");
    }
    for (a, b) in one.ports.iter().zip(&other.ports) {
        ensure!(a == b, "port {b:?} and not {a:?}");
    }
    ensure!(one.totals == other.totals, "totals {:?} and not {:?}", other.totals, one.totals);
    ensure!(one == other, "another record in parts that are not named here");
    Ok(())
}

/// Everything that holds for one run.
pub fn one_run(scenario: &Scenario, record: &RunRecord) -> Verdict {
    packets_are_conserved(scenario, record)?;
    ports_agree_with_totals(record)?;
    for port in &record.ports {
        the_link_keeps_its_rate(scenario, record, port).map_err(|e| format!("{}: {e}", port.name))?;
        the_queue_keeps_its_capacity(scenario, port).map_err(|e| format!("{}: {e}", port.name))?;
    }
    for (number, flow) in record.flows.iter().enumerate() {
        the_flow_ends_once(scenario, record, flow).map_err(|e| format!("flow {number}: {e}; {flow:?}"))?;
    }
    ends_as_it_should(scenario, record)
}

fn packets_are_conserved(scenario: &Scenario, record: &RunRecord) -> Verdict {
    let t = &record.totals.packets;
    let surplus: u64 = record.flows.iter().map(|flow| u64::from(flow.surplus)).sum();
    let taken = t.data_delivered - surplus;
    ensure!(t.data_unique <= taken, "more packets are taken than arrive: {surplus} too many, {t:?}");
    // A code needs more symbols than there is payload.
    let coded = scenario
        .transports
        .iter()
        .any(|carried| matches!(carried.config, ProtocolConfig::Scdp(_) | ProtocolConfig::Polyraptor(_)));
    ensure!(coded || t.data_unique == taken, "{surplus} packets are not the copies: {t:?}");
    let found = t.data_delivered + t.headers_delivered + t.headers_returned + t.data_dropped + t.data_lost;
    ensure!(t.data_sent + t.copied == found + t.in_flight, "packets sent are not packets found: {t:?}");
    let headers = t.headers_delivered + t.headers_returned + t.data_dropped + t.data_lost + t.in_flight;
    ensure!(t.trimmed <= headers, "more packets are trimmed than headers are found: {t:?}");
    ensure!(t.data_dropped <= t.dropped && t.data_lost <= t.lost, "parts exceed the whole: {t:?}");
    ensure!(t.retransmitted <= t.data_sent, "more packets again than at all: {t:?}");
    let trimmed: u64 = t.trimmed_by_tier.values().sum();
    ensure!(trimmed == t.trimmed, "trims by level do not add up: {t:?}");
    // Every flow's sender counts the same packets as the hosts.
    let sent: u64 = record.flows.iter().map(|flow| u64::from(flow.packets_sent)).sum();
    ensure!(sent == t.data_sent, "flows count {sent} packets sent: {t:?}");
    let again: u64 = record.flows.iter().map(|flow| u64::from(flow.retransmitted)).sum();
    ensure!(again == t.retransmitted, "flows count {again} packets sent again: {t:?}");
    let lost: u64 = record.flows.iter().map(|flow| u64::from(flow.lost)).sum();
    // What a host and its arbiter say to each other belongs to no flow.
    let arbitrated =
        scenario.transports.iter().any(|carried| matches!(carried.config, ProtocolConfig::Fastpass(_)));
    let all = t.lost + t.dropped;
    ensure!(lost == all || arbitrated && lost < all, "flows count {lost} packets lost: {t:?}");
    let unexplained = record.flows.iter().any(|flow| flow.unexplained > flow.timeouts);
    ensure!(!unexplained, "a flow has more unexplained timeouts than timeouts");
    Ok(())
}

fn ports_agree_with_totals(record: &RunRecord) -> Verdict {
    let sum = |of: fn(&PortRow) -> u64| record.ports.iter().map(of).sum::<u64>();
    let t = &record.totals.packets;
    ensure!(sum(|port| port.trimmed) == t.trimmed, "ports trim otherwise: {t:?}");
    ensure!(sum(|port| port.returned) == t.returned, "ports return otherwise: {t:?}");
    ensure!(sum(|port| port.dropped) == t.dropped, "ports drop otherwise: {t:?}");
    ensure!(sum(|port| port.lost) == t.lost, "links lose otherwise: {t:?}");
    Ok(())
}

/// Longest packet on the wire; an ACK with SACK ranges may be longer than a small data packet.
fn longest(scenario: &Scenario) -> u64 {
    let framings = scenario.transports.iter().map(|carried| carried.config.framing());
    framings.map(|framing| u64::from(framing.mtu + framing.header)).fold(192, u64::max)
}

fn the_link_keeps_its_rate(scenario: &Scenario, record: &RunRecord, row: &PortRow) -> Verdict {
    let link = match row.port {
        Some(port) => LinkRef::Port(port),
        None => LinkRef::Nic(nic_of(record, row)),
    };
    let rate = scenario.topology.link(link).rate;
    ensure!(row.busy.0 <= record.simulated.0, "busy for {} of {}", row.busy, Picos(record.simulated.0));
    // A packet still in service at the end counts whole, so one packet is subtracted.
    let carried = u128::from(row.bytes.saturating_sub(longest(scenario))) * 8 * 1_000_000_000_000;
    let possible = u128::from(rate.get()) * u128::from(row.busy.0);
    ensure!(carried <= possible, "{} bytes in {} of sending at {rate:?}", row.bytes, row.busy);
    ensure!(row.data_packets <= row.packets && row.lost <= row.packets, "parts exceed the whole: {row:?}");
    Ok(())
}

/// NICs come first, in order of their hosts.
fn nic_of(record: &RunRecord, row: &PortRow) -> HostId {
    let at = record.ports.iter().position(|other| other.port.is_none() && other.name == row.name);
    HostId::new(at.unwrap_or(0) as u32)
}

// Long: an arm for each discipline of which more is known than its capacities.
fn the_queue_keeps_its_capacity(scenario: &Scenario, row: &PortRow) -> Verdict {
    let held = u64::from(row.peak_data);
    let headers = scenario.transports.iter().map(|carried| carried.config.framing().header);
    let header = u64::from(headers.min().unwrap_or(1));
    match &scenario.switch {
        SwitchConfig::Trim(trim) => {
            ensure!(held <= room(trim.data_queue, 1), "holds {held} data packets");
            let control = u64::from(row.peak_control);
            ensure!(control <= room(trim.control_queue, header), "holds {control} control packets");
        }
        SwitchConfig::CutPayload(cut) => {
            ensure!(held <= room(cut.threshold, header), "holds {held} data packets");
            let all = held + u64::from(row.peak_control);
            // The two peaks may lie at different times.
            ensure!(
                held.max(all.div_ceil(2)) <= room(cut.queue, cut.trim_to.0.min(header)),
                "holds {all} packets"
            );
            ensure!(row.returned == 0, "returns");
        }
        SwitchConfig::D3(d3) => {
            one_queue_holds(row, room(d3.queue, header))?;
            ensure!(row.marked == 0, "marks");
        }
        SwitchConfig::Pdq(pdq) => {
            let all = held + u64::from(row.peak_control);
            ensure!(held.max(all.div_ceil(2)) <= room(pdq.queue, header), "holds {held} packets");
            ensure!(row.trimmed == 0 && row.returned == 0 && row.marked == 0, "trims or marks");
        }
        SwitchConfig::Priority(priority) => {
            let classes = if priority.sharing == Sharing::Class { 8 } else { 1 };
            one_queue_holds(row, room(priority.queue, header) * classes)?;
        }
        SwitchConfig::Pfc(pfc) => {
            ensure!(held * (header + 1) <= pfc.buffer.0, "holds {held} data packets");
            ensure!(row.trimmed == 0 && row.returned == 0, "trims");
        }
        SwitchConfig::Split(split) => {
            let most = room(split.data_queue, 1) + room(split.queue, header);
            ensure!(held <= most, "holds {held} data packets");
            let control = u64::from(row.peak_control);
            let most = room(split.control_queue, header) + room(split.queue, header);
            ensure!(control <= most, "holds {control} control packets");
        }
        SwitchConfig::ScdpSwitch(scdp) => {
            ensure!(held <= room(scdp.data_queue, 1), "holds {held} symbols");
            let control = u64::from(row.peak_control);
            ensure!(control <= room(scdp.control_queue, header), "holds {control} control packets");
            ensure!(row.returned == 0, "returns");
        }
        SwitchConfig::SharedBuffer(shared) => {
            ensure!(held * (header + 1) <= shared.pool.0, "holds {held} data packets");
            ensure!(row.trimmed == 0 && row.returned == 0, "trims");
        }
        other => of_any_discipline(other, row, header)?,
    }
    Ok(())
}

/// What holds of every discipline: a port holds no more than its settings allow together, and trims only to a stated length.
fn of_any_discipline(switch: &SwitchConfig, row: &PortRow, header: u64) -> Verdict {
    let shortest = switch.trim_to().map_or(header, |trimmed| header.min(trimmed.0));
    let most = switch.capacities().iter().map(|capacity| room(capacity.room, shortest)).sum();
    if switch.trim_to().is_none() {
        return one_queue_holds(row, most);
    }
    let (held, all) = (u64::from(row.peak_data), u64::from(row.peak_data) + u64::from(row.peak_control));
    // The two peaks may lie at different times.
    ensure!(held.max(all.div_ceil(2)) <= most, "holds {all} packets");
    Ok(())
}

/// A port that neither trims nor returns holds at most `most` packets, data and control together.
fn one_queue_holds(row: &PortRow, most: u64) -> Verdict {
    let held = u64::from(row.peak_data);
    let all = held + u64::from(row.peak_control);
    // The two peaks may lie at different times.
    ensure!(held.max(all.div_ceil(2)) <= most, "holds {all} packets");
    ensure!(row.trimmed == 0 && row.returned == 0, "trims");
    Ok(())
}

/// Packets of at least `shortest` bytes that fit.
fn room(queue: QueueSize, shortest: u64) -> u64 {
    match queue {
        QueueSize::Packets(packets) => packets.0.into(),
        QueueSize::Bytes(bytes) => bytes.0 / shortest,
    }
}

fn the_flow_ends_once(scenario: &Scenario, record: &RunRecord, flow: &FlowRow) -> Verdict {
    if let (Some(received), Some(size)) = (flow.received, flow.size) {
        ensure!(flow.delivered == size, "received with {} bytes", flow.delivered);
        let least = flow.ideal.unwrap_or(Picos::ZERO);
        ensure!(received.since(flow.start) >= least, "beats the ideal");
    }
    ensure!(flow.size.is_none_or(|size| flow.delivered <= size), "more bytes than it has");
    ensure!(flow.delivered_in_window <= flow.delivered, "more bytes in the window than at all");
    ensure!(flow.received.is_none() || flow.failed.is_none(), "complete and failed");
    ensure!(
        flow.acknowledged.is_none() || flow.received <= flow.acknowledged,
        "acknowledged before it was received"
    );
    ensure!(flow.acknowledged.is_none() || flow.received.is_some(), "acknowledged and not received");
    ensure!(flow.retransmitted <= flow.packets_sent, "sent more again than at all");
    let over = flow.failed.is_some() || flow.received.is_some();
    ensure!(over || matches!(scenario.stop, Stop::At(_)), "never ends");
    ensure!(flow.start <= record.simulated, "starts after the end");
    Ok(())
}

fn ends_as_it_should(scenario: &Scenario, record: &RunRecord) -> Verdict {
    ensure!(record.complete, "did not reach its end; stuck: {:?}", record.stuck);
    match scenario.stop {
        Stop::At(end) => ensure!(record.simulated == end, "ends at {:?}", record.simulated),
        Stop::FlowsDone { .. } => ensure!(record.stuck.is_empty(), "stuck: {:?}", record.stuck),
    }
    Ok(())
}

/// The record of a run as if nothing had been observed.
fn without_probes(observed: &RunRecord) -> RunRecord {
    let mut bare = observed.clone();
    bare.ports.iter_mut().for_each(|port| port.occupancy.clear());
    bare.recorded = Recorded::default();
    // A long run has more hops than a table may have.
    bare.left_out.retain(|(table, _)| *table != "hops");
    bare
}

/// A port has recorded no more than it has counted, packets whose header names no flow are not recorded, and each recorded
/// packet was sent, dropped or sent back, or still waits.
fn hops_agree_with_ports(observed: &RunRecord) -> Verdict {
    let mut rows: Vec<Vec<&HopRow>> = vec![Vec::new(); observed.ports.len()];
    observed.recorded.hops().iter().for_each(|hop| rows[hop.row as usize].push(hop));
    for (port, rows) in observed.ports.iter().zip(rows) {
        let count = |wanted: &dyn Fn(&HopRow) -> bool| rows.iter().filter(|row| wanted(row)).count() as u64;
        let of = |outcome: &'static str| count(&|row| row.outcome == outcome);
        let started = count(&|row| row.start.is_some());
        let stayed = [("dropped", port.dropped), ("returned", port.returned), ("lost", port.lost)];
        ensure!(
            started <= port.packets - port.pauses,
            "{}: {started} hops of {} packets",
            port.name,
            port.packets
        );
        for (outcome, counted) in stayed {
            ensure!(of(outcome) <= counted, "{}: {} hops {outcome}, and {counted}", port.name, of(outcome));
        }
        // A trimmed packet keeps this outcome while its header waits.
        let waiting = count(&|row| row.start.is_none() && !matches!(row.outcome, "dropped" | "returned"));
        let ended = started + of("dropped") + of("returned") + waiting;
        ensure!(ended == rows.len() as u64, "{}: {ended} ends of {} hops", port.name, rows.len());
        for row in rows {
            let waits = row.start.is_none_or(|start| row.at.after(row.busy) <= start);
            ensure!(waits, "{}: sent before the packet in service has left: {row:?}", port.name);
        }
    }
    Ok(())
}

/// Incidents and timeouts are as many as ports and hosts count.
fn notes_agree_with_counts(observed: &RunRecord) -> Verdict {
    let (incidents, t) = (observed.recorded.incidents(), &observed.totals.packets);
    let count = |word: &str| incidents.iter().filter(|row| row.incident == word).count() as u64;
    let [marked, trimmed, returned, dropped] = ["marked", "trimmed", "returned", "dropped"].map(count);
    ensure!((marked, dropped) == (t.marked, t.dropped), "{marked} marks, {dropped} drops of {t:?}");
    ensure!(returned == t.returned, "{returned} returned of {t:?}");
    // A packet that is sent back or dropped at once may have been trimmed, too.
    let most = trimmed + returned + dropped;
    ensure!((trimmed..=most).contains(&t.trimmed), "{trimmed} trimmed of {t:?}");
    let timeouts = observed.recorded.timeouts().len() as u64;
    let counted = observed.totals.timeouts;
    ensure!(timeouts == counted, "{timeouts} timeouts in the table, {counted} counted");
    Ok(())
}

fn probes_agree_with_totals(observed: &RunRecord) -> Verdict {
    hops_agree_with_ports(observed)?;
    notes_agree_with_counts(observed)?;
    let delivered: u64 = observed.flows.iter().map(|flow| flow.delivered).sum();
    let series: u64 = observed.recorded.series().iter().map(|row| row.delivered).sum();
    ensure!(delivered == series, "flows deliver {delivered} bytes and the series {series}");
    for port in observed.ports.iter().filter(|port| port.port.is_some()) {
        let time: u64 = port.occupancy.iter().map(|time| time.0).sum();
        ensure!(time == observed.simulated.0, "{}: occupancy covers {time} ps", port.name);
        ensure!(
            port.occupancy.len() <= port.peak_data as usize + 1,
            "{}: more held than the peak",
            port.name
        );
    }
    Ok(())
}
