//! Arbitrary bytes are read as a capture to their end, or rejected; counts add up.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use pullnet_capture::{Compression, DamageKind, Item, Reader, headers};

fuzz_target!(|bytes: &[u8]| {
    let mut reader = match Reader::open(Cursor::new(bytes.to_vec())) {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let (mut packets, mut breaks) = (0, 0);
    while let Some(item) = reader.next() {
        match item {
            Item::Packet(packet) => {
                packets += packet.data.len() as u64;
                headers(packet.link, packet.data);
            }
            Item::Break => breaks += 1,
        }
    }
    assert!(reader.next().is_none());
    let losses = reader.losses();
    assert!(packets + losses.skipped <= reader.offset());
    assert!(breaks <= losses.places);
    let stream = |place: &pullnet_capture::Damage| matches!(place.kind, DamageKind::Stream { .. });
    assert!(losses.damage.iter().filter(|place| stream(place)).count() <= 1);
    if reader.compression() == Compression::None {
        assert_eq!(reader.offset(), bytes.len() as u64);
    }
});
