//! Builds the record from the state at the end of a run.

use pullnet_record::RunRecord;
use pullnet_session::{Director, RecordBuilder, Report};
use pullnet_transport::Transport;
use pullnet_units::Instant;
use pullnet_wire::Framed;

use crate::ports::{self, PortCounts};
use crate::site::Site;
use crate::stack::Stack;

/// The record of a run that stopped at `now`.
pub(crate) fn record<P: Framed>(
    site: &Site<P>,
    director: Director,
    stacks: Vec<Stack<P>>,
    reports: &[Report],
    now: Instant,
    counted: &[PortCounts],
) -> RunRecord {
    let mut builder = RecordBuilder::new(&site.scenario, director, now);
    builder.enter(reports);
    stacks.iter().for_each(|stack| builder.add_host(stack.host, &stack.counts));
    builder.open_flows(|visit| {
        stacks.iter().for_each(|stack| stack.endpoint.open_flows(&mut |status| visit(stack.host, status)));
    });
    let sent: Vec<_> = stacks.iter().map(|stack| stack.counts.data_sent).collect();
    stacks.into_iter().for_each(|stack| builder.add_log(stack.log));
    let ports = ports::rows(&site.scenario.topology, counted, &sent);
    builder.add_ports(&ports);
    in_flight(&mut builder);
    // A testbed has no fingerprint.
    builder.finish(0, ports)
}

/// Counts as in flight all data that was neither delivered nor counted as lost or dropped. Drops are not counted by kind, so
/// every drop is taken for a data packet.
fn in_flight(builder: &mut RecordBuilder) {
    let packets = &mut builder.totals.packets;
    let seen = packets.data_delivered + packets.headers_delivered + packets.headers_returned;
    packets.in_flight = packets.data_sent.saturating_sub(seen + packets.dropped + packets.lost);
}
