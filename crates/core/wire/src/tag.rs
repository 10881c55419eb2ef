use core::hash::Hasher;

use siphasher::sip::SipHasher24;

/// The tag of a stream that was opened under number `conn` at `stamp`, by the holder of `token`: SipHash-2-4 of the number,
/// in network order, under the key of the token and the stamp (low and high 64 bits).
#[must_use]
pub fn tag(token: u64, conn: u32, stamp: u32) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(token, u64::from(stamp));
    hasher.write(&conn.to_be_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by an implementation of its own that gives the value of the SipHash paper (appendix A).
    #[test]
    fn tags_are_those_of_the_specification() {
        let made = [(0, 0, 0), (0x0706_0504_0302_0100, 1, 2), (u64::MAX, u32::MAX, 0x00ff_ffff)]
            .map(|(token, conn, stamp)| tag(token, conn, stamp));
        assert_eq!(made, EXPECTED);
    }

    const EXPECTED: [u64; 3] = [0x7bf5_5e51_b22b_9698, 0x7ceb_3fc9_4eb7_f784, 0x55e0_b9b3_bc7f_17f5];
}
