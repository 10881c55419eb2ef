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
    if let [whole] = parts {
        return crc_fast::crc32_iscsi(whole);
    }
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize() as u32
}

/// The sum of RFC 1071 over 16-bit words: 0 for an IPv4 header whose checksum is right.
pub(crate) fn internet_checksum(header: &[u8]) -> u16 {
    // 2^16 is 1 modulo 2^16 - 1: words of 32 bits have the same sum.
    let (words, rest) = header.as_chunks::<4>();
    let mut sum: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        sum += u64::from(u32::from_be_bytes(last));
    }
    let fold = |sum: u64| (sum & 0xffff) + (sum >> 16);
    !fold(fold(fold(fold(sum)))) as u16
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
    fn the_internet_checksum_of_any_length_is_the_sum_of_its_16_bit_words() {
        let bytes: [u8; 3_000] =
            core::array::from_fn(|index| if index < 1_500 { 0xff } else { (index * 31) as u8 });
        for (start, end) in (0..3_000).map(|end| (end / 2, end)).chain([(0, 0), (0, 1_500), (1, 3_000)]) {
            let words = bytes[start..end].chunks(2).map(|pair| {
                let low = pair.get(1).copied().unwrap_or(0);
                u32::from(u16::from_be_bytes([pair[0], low]))
            });
            let sum = words.fold(0, |sum, word| {
                let sum = sum + word;
                (sum & 0xffff) + (sum >> 16)
            });
            assert_eq!(internet_checksum(&bytes[start..end]), !(sum as u16), "bytes {start} to {end}");
        }
        assert_eq!(internet_checksum(&[0; 20]), 0xffff);
    }

    #[test]
    fn the_internet_checksum_of_a_known_header() {
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(internet_checksum(&header), 0);
    }
}
