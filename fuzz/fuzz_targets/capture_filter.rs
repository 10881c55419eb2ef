//! Arbitrary text is a filter or is rejected; a filter can judge any packet. The first line is the filter, the rest the
//! packet.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_capture::{Direction, Filter, LinkType, Packet, Time};

const LINKS: [u16; 10] = [0, 1, 9, 12, 101, 108, 113, 228, 276, 999];

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let Ok(text) = std::str::from_utf8(&bytes[..end]) else { return };
    let filter = match text.parse::<Filter>() {
        Ok(filter) => filter,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let data = bytes.get(end + 1..).unwrap_or(&[]);
    for link in LINKS.map(LinkType) {
        let direction = Direction::In;
        filter.verdict(&Packet { time: Time(0), wire_len: 60, interface: 0, direction, link, data });
    }
});
