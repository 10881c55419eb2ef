//! Arbitrary kinds and words are a header of every protocol, and packing is stable. The first byte selects the protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_protocols::{PROTOCOLS, with_protocol};
use pullnet_transport::{Header, Packed, Protocol, Transport, Words};

fn check<H: Header>(kind: u8, words: &[u32]) {
    let mut given = Packed::<H::Words> { kind, ..Packed::default() };
    given.words.get_mut().iter_mut().zip(words).for_each(|(word, given)| *word = *given);
    let packed = H::unpack(given).pack();
    let header = H::unpack(packed);
    assert_eq!(header.pack(), packed);
    assert!(usize::from(packed.kind & 0x0f) < H::KINDS.len());
    let _ = header.concerns();
}

fuzz_target!(|input: (u8, u8, [u32; 27])| {
    let (protocol, kind, words) = input;
    let config = (PROTOCOLS[usize::from(protocol) % PROTOCOLS.len()].default)();
    with_protocol!(config, |_config: P| {
        check::<<<P as Protocol>::Endpoint as Transport>::Header>(kind, &words);
    });
});
