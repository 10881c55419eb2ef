//! Any kind and words are an NDP header; packing it loses nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_ndp::NdpHeader;
use pullnet_transport::{Header, Packed};

fuzz_target!(|input: (u8, [u32; 3])| {
    let (kind, words) = input;
    let header = NdpHeader::unpack(Packed { kind, words });
    let packed = header.pack();
    assert_eq!(NdpHeader::unpack(packed), header);
    assert!(usize::from(packed.kind & 0x0f) < NdpHeader::KINDS.len());
});
