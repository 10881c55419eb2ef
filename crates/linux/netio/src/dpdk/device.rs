use std::fmt;
use std::str::FromStr;

/// A device as DPDK names it, with its arguments: a virtual one, `net_af_packet0,iface=eth0`, or a network card by its PCI
/// address, `0000:03:00.0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DpdkDevice(String);

/// Drivers of virtual devices that carry the frames of a kernel interface, which their argument `iface` names.
const OVER_THE_KERNEL: [&str; 2] = ["net_af_packet", "net_af_xdp"];
/// Size of a slot of the rings of `net_af_packet` unless its argument `framesz` says another. Bytes.
const USUAL_SLOT: usize = 2048;
/// Part of a slot that the kernel needs beside the frame. Bytes.
const SLOT_HEAD: usize = 66;

/// Whether `name` is a PCI address with its domain.
fn is_pci_address(name: &str) -> bool {
    let form = "hhhh:hh:hh.o";
    let fits = |(byte, form)| match form {
        b'h' => u8::is_ascii_hexdigit(&byte),
        b'o' => (b'0'..=b'7').contains(&byte),
        exact => byte == exact,
    };
    name.len() == form.len() && name.bytes().zip(form.bytes()).all(fits)
}

impl FromStr for DpdkDevice {
    type Err = &'static str;

    /// Fails with what is wrong and what would work.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let device = Self(text.to_owned());
        let name = device.name();
        let known = is_pci_address(name) || name.len() > "net_".len() && name.starts_with("net_");
        if known && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(device);
        }
        Err(
            "is no device of DPDK; write a virtual one with its arguments, for instance \"net_af_packet0,iface=eth0\", or the PCI \
             address of a network card, for instance \"0000:03:00.0\"",
        )
    }
}

impl fmt::Display for DpdkDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl DpdkDevice {
    /// Its name, without arguments.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split(',').next().unwrap_or_default()
    }

    /// Whether it is a network card.
    #[must_use]
    pub fn is_card(&self) -> bool {
        is_pci_address(self.name())
    }
}

#[cfg_attr(not(feature = "dpdk"), allow(dead_code, reason = "only ports need it"))]
impl DpdkDevice {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn argument(&self, key: &str) -> Option<&str> {
        self.0.split(',').skip(1).find_map(|argument| argument.strip_prefix(key)?.strip_prefix('='))
    }

    /// The kernel interface whose frames it carries, if its arguments name one.
    pub(super) fn interface(&self) -> Option<&str> {
        let over = OVER_THE_KERNEL.iter().any(|driver| self.name().starts_with(driver));
        self.argument("iface").filter(|_| over)
    }

    /// Size of a slot of its rings, if a slot holds a frame and has a fixed size. Bytes.
    pub(super) fn slot(&self) -> Option<usize> {
        let fixed = self.name().starts_with("net_af_packet");
        let written = self.argument("framesz").map_or(Some(USUAL_SLOT), |text| text.parse().ok());
        written.filter(|_| fixed)
    }

    /// The arguments that it needs for frames of `frame_room` bytes; `None`: its own suffice.
    pub(super) fn lacks(&self, frame_room: usize) -> Option<String> {
        let needed = frame_room + SLOT_HEAD;
        self.slot().filter(|slot| *slot < needed).map(|_| {
            // Two slots are a multiple of a page, as a block has to be.
            let slot = needed.next_multiple_of(USUAL_SLOT);
            format!("framesz={slot},blocksz={}", 2 * slot)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(text: &str) -> DpdkDevice {
        text.parse().unwrap()
    }

    #[test]
    fn virtual_devices_and_pci_addresses_are_devices() {
        assert!(device("0000:03:00.0").is_card() && device("0000:3b:00.1,arg=1").is_card());
        assert!(!device("net_af_packet0,iface=eth0").is_card());
        for wrong in [
            "",
            "eth0",
            "net_",
            "03:00.0",
            "0000:03:00.8",
            "0000:03:0g.0",
            "net_null0 x",
            "net_null\0",
            "--help",
        ] {
            assert!(wrong.parse::<DpdkDevice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_tell_the_interface_and_the_longest_frame() {
        assert_eq!(device("net_af_packet0,qpairs=1,iface=eth0").interface(), Some("eth0"));
        assert_eq!(device("net_tap0,iface=tap7").interface(), None);
        let small = device("net_af_packet0,iface=eth0");
        assert_eq!((small.lacks(1518), small.lacks(1982)), (None, None));
        assert_eq!(small.lacks(9018).as_deref(), Some("framesz=10240,blocksz=20480"));
        assert_eq!(device("net_af_packet0,iface=eth0,framesz=10240,blocksz=20480").lacks(9018), None);
        assert_eq!(device("net_memif0").lacks(9018), None);
    }
}
