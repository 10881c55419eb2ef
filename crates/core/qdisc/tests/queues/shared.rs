//! Memory that ports share.

use pullnet_qdisc::{SharedBuffer, SharedBufferConfig};
use pullnet_units::Bytes;

use crate::common::{Pkt, data};
use crate::port::Port;

#[test]
fn a_port_may_hold_alpha_times_what_is_free() {
    let config = SharedBufferConfig { pool: Bytes(10_000), alpha: 1.0, ..SharedBufferConfig::default() };
    let mut port = Port::<SharedBuffer<Pkt>>::new(&config);
    let admitted = (0..20).take_while(|id| port.put(data(*id, 1000)).is_none()).count();
    // 5000 held and 5000 free still admits one; 6000 and 4000 does not.
    assert_eq!((admitted, port.shared.free()), (6, 4000));
    // Another port of the switch has a share of its own.
    let mut other = Port::<SharedBuffer<Pkt>>::new(&config);
    core::mem::swap(&mut other.shared, &mut port.shared);
    assert_eq!(other.put(data(99, 1000)), None);
}
