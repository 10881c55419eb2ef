//! Settings of transports that name a host or the size of a rack.

use pullnet_protocols::ProtocolConfig;
use pullnet_settings::Value;
use pullnet_topology::Topology;
use pullnet_units::HostId;

use crate::transport::Transport;

/// Turns numbers of hosts into addresses, which is what transports know hosts by, and fills in the size of racks. A host that
/// does not exist is reported.
pub(crate) fn resolve(transports: &mut [Transport<'_>], topology: &Topology) {
    for transport in transports {
        let entry = transport.carried.config.entry();
        for key in entry.host_settings {
            host(transport, key, topology);
        }
        let rack = entry.rack_setting.filter(|key| number(&transport.carried.config, key).is_none());
        if let (Some(key), Some(addresses)) = (rack, topology.rack_addresses()) {
            set(&mut transport.carried.config, key, addresses);
        }
    }
}

fn host(transport: &mut Transport<'_>, key: &str, topology: &Topology) {
    let Some(host) = number(&transport.carried.config, key) else { return };
    let count = topology.hosts.len();
    if host as usize >= count {
        let reason =
            format!("is no host, for the topology has {count} hosts; use 0 to {}", count.saturating_sub(1));
        return transport.reader.refuse(key, reason);
    }
    set(&mut transport.carried.config, key, topology.addr(HostId::new(host)).0);
}

/// The value of a setting; `None` if it is absent.
fn number(config: &ProtocolConfig, key: &str) -> Option<u32> {
    config.get(key)?.parse().ok()
}

fn set(config: &mut ProtocolConfig, key: &str, value: u32) {
    let taken = config.set(key, Value::Integer(value.into()));
    assert_eq!(taken, Some(Ok(())), "the setting {key} takes the host address {value}");
}
