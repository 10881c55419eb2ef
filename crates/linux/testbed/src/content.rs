//! Payload that says where it belongs, so that a receiver can tell whether it got what was sent: the packet's name in the
//! first bytes, and behind it bytes that depend on their place only. Those are written once, since this is on the way of
//! every packet.

/// Bytes of a packet's name.
const NAME: usize = 8;

/// Bytes by place, for payloads of up to `longest` bytes.
pub(crate) fn places(longest: usize) -> Vec<u8> {
    // The constants of splitmix64 and of Knuth's multiplicative hashing: neighbours have little in common.
    let byte = |at: usize| ((at as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ 0x9e37_79b9_7f4a_7c15) >> 24;
    (0..longest).map(|at| byte(at) as u8).collect()
}

/// The name of packet `seq` of flow `flow`.
fn name(flow: u32, seq: u32) -> [u8; NAME] {
    // The highest byte depends on all of both numbers.
    (u64::from(flow) << 32 | u64::from(seq)).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// Makes `payload`, which has its bytes by place, that of a packet.
pub(crate) fn label(flow: u32, seq: u32, payload: &mut [u8]) {
    let name = name(flow, seq);
    let long = payload.len().min(NAME);
    payload[..long].copy_from_slice(&name[..long]);
}

/// Whether `payload` is that of the packet; `places` are bytes by place.
pub(crate) fn is_right(flow: u32, seq: u32, payload: &[u8], places: &[u8]) -> bool {
    let long = payload.len().min(NAME);
    payload[..long] == name(flow, seq)[..long] && places.get(long..payload.len()) == Some(&payload[long..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_right_for_its_own_packet_only() {
        let places = places(1436);
        for length in [1436, 9, 8, 5, 1] {
            let mut payload = places[..length].to_vec();
            label(3, 17, &mut payload);
            assert!(is_right(3, 17, &payload, &places));
            assert!(!is_right(3, 18, &payload, &places) && !is_right(4, 17, &payload, &places));
            payload[length - 1] ^= 1;
            assert!(!is_right(3, 17, &payload, &places));
        }
        assert!(!is_right(3, 17, &[0; 1447], &places), "longer than any payload");
    }
}
