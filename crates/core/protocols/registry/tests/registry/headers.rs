//! Headers of every protocol survive packing: a simulated packet and a frame carry the packed form.

use proptest::prelude::*;
use pullnet_protocols::with_protocol;
use pullnet_transport::{Header, Packed, Protocol, Transport, Words};

use crate::common::protocols;

type HeaderOf<P> = <<P as Protocol>::Endpoint as Transport>::Header;

/// Reads a header from arbitrary bits, packs it and reads it again.
fn pack_and_unpack<H: Header>(protocol: &str, kind: u8, words: &[u32]) -> Result<(), TestCaseError> {
    let mut bits = Packed::<H::Words> { kind, ..Packed::default() };
    bits.words.get_mut().copy_from_slice(&words[..H::Words::COUNT]);
    let header = H::unpack(bits);
    let packed = header.pack();
    prop_assert!(usize::from(packed.kind & 0x0f) < H::KINDS.len(), "{protocol}: {header:?} has no name");
    let again = H::unpack(packed);
    prop_assert_eq!(again.pack(), packed, "{}: {:?}", protocol, header);
    prop_assert_eq!(format!("{again:?}"), format!("{header:?}"), "{}", protocol);
    Ok(())
}

proptest! {
    #[test]
    fn packing_loses_nothing(kind: u8, words: [u32; 27]) {
        for config in protocols() {
            with_protocol!(config, |_config: P| pack_and_unpack::<HeaderOf<P>>(P::NAME, kind, &words))?;
        }
    }
}
