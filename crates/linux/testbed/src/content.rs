//! Self-describing payload, so that a receiver can verify it: the first bytes identify the packet, and each further byte
//! depends on its position only. Position-dependent bytes are written once per buffer, because this code runs for every packet.

use pullnet_units::{FlowId, PacketSeq};

/// Bytes that identify a packet.
const NAME: usize = 8;

/// Position-dependent bytes for payloads of up to `longest` bytes.
pub(crate) fn places(longest: usize) -> Vec<u8> {
    // The constants of splitmix64 and of Knuth's multiplicative hashing make adjacent bytes uncorrelated.
    let byte = |at: usize| ((at as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ 0x9e37_79b9_7f4a_7c15) >> 24;
    (0..longest).map(|at| byte(at) as u8).collect()
}

/// Identifier of packet `seq` of flow `flow`.
fn name(flow: FlowId, seq: PacketSeq) -> [u8; NAME] {
    // The highest byte depends on every bit of both numbers.
    (u64::from(flow.get()) << 32 | u64::from(seq.get())).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// Writes the packet's identifier into `payload`, which already holds the position-dependent bytes.
pub(crate) fn label(flow: FlowId, seq: PacketSeq, payload: &mut [u8]) {
    let name = name(flow, seq);
    let long = payload.len().min(NAME);
    payload[..long].copy_from_slice(&name[..long]);
}

/// Whether `payload` belongs to the packet; `places` are the position-dependent bytes.
pub(crate) fn is_right(flow: FlowId, seq: PacketSeq, payload: &[u8], places: &[u8]) -> bool {
    let long = payload.len().min(NAME);
    payload[..long] == name(flow, seq)[..long] && places.get(long..payload.len()) == Some(&payload[long..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_right_for_its_own_packet_only() {
        let places = places(1436);
        let (three, seventeen) = (FlowId::new(3), PacketSeq::new(17));
        for length in [1436, 9, 8, 5, 1] {
            let mut payload = places[..length].to_vec();
            label(three, seventeen, &mut payload);
            assert!(is_right(three, seventeen, &payload, &places));
            assert!(
                !is_right(three, PacketSeq::new(18), &payload, &places)
                    && !is_right(FlowId::new(4), seventeen, &payload, &places)
            );
            payload[length - 1] ^= 1;
            assert!(!is_right(three, seventeen, &payload, &places));
        }
        assert!(!is_right(three, seventeen, &[0; 1447], &places), "longer than any payload");
    }
}
