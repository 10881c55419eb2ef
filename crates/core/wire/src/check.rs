//! CRC-32C (Castagnoli), as in iSCSI and SCTP (RFC 3720, RFC 9260).

/// CRC-32C of `parts` one after the other.
#[cfg(not(feature = "accelerated"))]
#[must_use]
pub fn crc32c(parts: &[&[u8]]) -> u32 {
    static TABLE: crc::Crc<u32, crc::Table<16>> = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISCSI);
    let mut digest = TABLE.digest();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize()
}

/// CRC-32C of `parts` one after the other.
#[cfg(feature = "accelerated")]
#[must_use]
pub fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize() as u32
}

/// The sum of RFC 1071 over 16-bit words: 0 for an IPv4 header whose checksum is right.
pub(crate) fn internet_checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_standard() {
        assert_eq!(crc32c(&[b"123456789"]), 0xe306_9283);
        assert_eq!(crc32c(&[b"1234", b"", b"56789"]), 0xe306_9283);
    }

    #[test]
    fn the_example_of_rfc_3720() {
        assert_eq!(crc32c(&[&[0; 32]]), 0x8a91_36aa);
        assert_eq!(crc32c(&[&[0xff; 32]]), 0x62a8_ab43);
    }

    #[test]
    fn any_length_in_any_parts_agrees_with_the_definition() {
        let bytes: [u8; 2_100] = core::array::from_fn(|index| (index * 31 + index / 7) as u8);
        let mut crc = u32::MAX;
        for (length, byte) in (1..).zip(bytes) {
            crc ^= u32::from(byte);
            (0..8).for_each(|_| crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 });
            let (front, back) = bytes[..length].split_at(length * 3 / 7);
            assert_eq!(
                [crc32c(&[&bytes[..length]]), crc32c(&[front, &[], back])],
                [!crc; 2],
                "{length} bytes"
            );
        }
    }

    #[test]
    fn the_internet_checksum_of_a_known_header() {
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(internet_checksum(&header), 0);
    }
}
