//! The NDP programs as a switch port: their control plane.

use super::{Key, Switch, WrongEntry};

/// Settings of `ndp.p4`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Most waiting data frames.
    pub data_room: u16,
    /// Most waiting control frames.
    pub control_room: u16,
    /// Bytes kept by a trim.
    pub trim_to: u16,
    /// Whether headers that find no room are returned to their sender.
    pub send_back: bool,
    /// Number of data frames above which congestion is marked.
    pub mark_above: Option<u16>,
}

/// Egress ports of a forwarding entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ways<'a> {
    /// 1, 2 or 4 equal ports.
    pub ports: &'a [u16],
    /// Low bits of the label to skip.
    pub shift: u8,
    /// Bits of the label to use, after the shift.
    pub mask: u16,
}

impl Ways<'_> {
    /// Arguments of the action `ways`: four ports, with repetitions if there are fewer.
    fn arguments(&self) -> [u128; 6] {
        let port = |n: usize| self.ports.get(n % self.ports.len().max(1)).copied().unwrap_or(511).into();
        [port(0), port(1), port(2), port(3), self.shift.into(), self.mask.into()]
    }
}

/// Sets the limits.
pub fn set(switch: &mut Switch, settings: &Settings) -> Result<(), WrongEntry> {
    let arguments = [
        settings.data_room.into(),
        settings.control_room.into(),
        settings.trim_to.into(),
        settings.send_back.into(),
        settings.mark_above.is_some().into(),
        settings.mark_above.unwrap_or(0).into(),
    ];
    switch.machine.set_default("settings", "set", &arguments)
}

/// Adds an entry by Ethernet address, for frames and for returned headers.
pub fn host(switch: &mut Switch, mac: [u8; 6], ways: Ways<'_>) -> Result<(), WrongEntry> {
    let mac = mac.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
    for table in ["hosts", "hosts_back"] {
        switch.machine.insert(table, &[Key::Exact(mac)], "ways", &ways.arguments())?;
    }
    Ok(())
}

/// Adds a route by IPv4 prefix, for frames and for returned headers.
pub fn route(switch: &mut Switch, net: [u8; 4], length: u8, ways: Ways<'_>) -> Result<(), WrongEntry> {
    let key = Key::Lpm { value: u32::from_be_bytes(net).into(), width: 32, length: length.min(32).into() };
    for table in ["routes", "routes_back"] {
        switch.machine.insert(table, &[key], "ways", &ways.arguments())?;
    }
    Ok(())
}
