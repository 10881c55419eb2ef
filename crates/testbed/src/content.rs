//! Payload that says where it belongs, so that a receiver can tell whether it got what was sent.

/// The words of packet `seq` of flow `flow`: no two packets have the same.
fn words(flow: u32, seq: u32) -> impl Iterator<Item = u64> {
    // The odd constant of Knuth's multiplicative hashing, and that of splitmix64, spread the two numbers over all bits.
    let first = (u64::from(flow) << 32 | u64::from(seq)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0u64..).map(move |index| first ^ index.wrapping_mul(0xbf58_476d_1ce4_e5b9))
}

/// Writes the payload of a packet.
pub(crate) fn fill(flow: u32, seq: u32, payload: &mut [u8]) {
    let mut words = words(flow, seq);
    // Whole words at a time: the loop is on the way of every packet.
    let (whole, rest) = payload.as_chunks_mut::<8>();
    whole.iter_mut().zip(&mut words).for_each(|(chunk, word)| *chunk = word.to_le_bytes());
    let last = words.next().unwrap_or(0).to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Whether `payload` is that of the packet.
pub(crate) fn is_right(flow: u32, seq: u32, payload: &[u8]) -> bool {
    let mut words = words(flow, seq);
    let (whole, rest) = payload.as_chunks::<8>();
    let wrong = whole
        .iter()
        .zip(&mut words)
        .fold(0, |wrong, (chunk, word)| wrong | u64::from_le_bytes(*chunk) ^ word);
    let last = words.next().unwrap_or(0).to_le_bytes();
    wrong == 0 && *rest == last[..rest.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_right_for_its_own_packet_only() {
        let mut payload = [0; 1446];
        fill(3, 17, &mut payload);
        assert!(is_right(3, 17, &payload) && is_right(3, 17, &payload[..5]));
        assert!(!is_right(3, 18, &payload) && !is_right(4, 17, &payload));
        payload[1445] ^= 1;
        assert!(!is_right(3, 17, &payload));
    }
}
