//! `[dpdk]`, and what a file says of DPDK's devices.

use pullnet_config::Reader;
use pullnet_netio::{Dpdk, DpdkDevice, EalOptions};

use super::table;
use super::tables::DpdkSettings;

/// Reports that `key` needs DPDK, if this program was built without it. `command` builds one with it.
pub fn refuse_unless_built_in(root: &Reader<'_>, key: &str, command: &str) {
    if !Dpdk::IS_BUILT_IN {
        let reason = format!(
            "needs a program that was built with DPDK; use \"packet\", or build one: apt-get install libdpdk-dev && {command}"
        );
        root.refuse(key, reason);
    }
}

/// Reads the device that the value `text` of `key` names.
pub fn device(reader: &Reader<'_>, key: &str, text: &str) -> Option<DpdkDevice> {
    text.parse().map_err(|wrong: &str| reader.refuse(key, wrong)).ok()
}

/// Reads the table `dpdk` of a file that uses these devices.
pub fn environment<'a>(
    root: &Reader<'_>,
    devices: impl Iterator<Item = &'a DpdkDevice>,
) -> Option<EalOptions> {
    let DpdkSettings { memory, huge_pages, core } = table(root, "dpdk")?;
    let cards = devices.filter(|device| device.is_card()).cloned().collect();
    Some(EalOptions { memory: memory.0, huge_pages, core, cards })
}

/// Refuses the table `dpdk` of a file that does not use DPDK; `remedy` would make it do so.
pub fn refuse_environment(root: &Reader<'_>, remedy: &str) {
    if let Some(reader) = root.table("dpdk", "...") {
        reader.refuse_table(format!("has no effect without {remedy}; leave it out"));
    }
}
