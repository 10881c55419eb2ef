//! Arbitrary symbols in any order are accepted or rejected, and the decoded result is the block; arbitrary numbers are a
//! layout or rejected.
//!
//! Input: 8 bytes for the layout, then one entry per symbol: two bytes for its number, one for its fate.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pullnet_codes::{BlockEncoder, Latency, Layout, ObjectDecoder, Share};

fn layouts(bytes: &[u8; 8]) {
    let [large, small] =
        [u64::from_le_bytes(*bytes), u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]))];
    let payload = u32::from(u16::from_le_bytes([bytes[3], bytes[4]])) + u32::from(bytes[5]);
    for size in [large, small] {
        for layout in [
            Layout::derive(size, payload, bytes[6], u32::from(bytes[7]), small),
            Layout::with_blocks_of(size, payload, u32::from(bytes[7])),
            Layout::new(size, payload, u32::from(bytes[5]) + 1, u16::from(bytes[7]), bytes[6]),
        ]
        .into_iter()
        .flatten()
        {
            let last = layout.block(u32::from(layout.blocks()) - 1).expect("the last block");
            assert_eq!(last.offset + last.bytes, layout.bytes());
        }
    }
}

fn object(head: &[u8; 8], symbols: &[u8]) -> Option<()> {
    let bytes = u64::from(head[0]) * 3 + 1;
    let layout = Layout::new(
        bytes,
        u32::from(head[1] % 16),
        u32::from(head[2] % 4),
        u16::from(head[3] % 3),
        head[4] % 4,
    )
    .ok()?;
    let data: Vec<u8> = (0..bytes).map(|at| (at * 31 + at / 7) as u8).collect();
    let part =
        |sbn: u32| layout.block(sbn).ok().map(|block| &data[block.offset as usize..][..block.bytes as usize]);
    let encoders: Vec<_> = (0..u32::from(layout.blocks()))
        .filter_map(|sbn| BlockEncoder::new(layout.block(sbn).ok()?, part(sbn)?).ok())
        .collect();
    let mut decoder = ObjectDecoder::new(layout);
    let share = Share::new(u16::from(head[5] % 4), u16::from(head[6] % 5)).unwrap_or_default();
    for entry in symbols.chunks_exact(3) {
        let (sbn, number) = (u32::from(entry[2] >> 5), u32::from(u16::from_le_bytes([entry[0], entry[1]])));
        let esi = if entry[2] & 1 == 0 { share.esi(40, number)? } else { number << (entry[2] & 0x1e) };
        let mut symbol =
            encoders.get(sbn as usize).and_then(|encoder| encoder.symbol(esi).ok()).unwrap_or_default();
        if entry[2] & 0x1f == 0x1f {
            symbol.push(0);
        }
        if let Ok(Some(done)) = decoder.add(sbn, esi, &symbol, u32::from(head[7] % 4)) {
            assert_eq!(Some(&done.data[..]), part(sbn));
        }
    }
    Some(())
}

fuzz_target!(|input: &[u8]| {
    let Some((head, symbols)) = input.split_first_chunk::<8>() else { return };
    layouts(head);
    object(head, &symbols[..symbols.len().min(600)]);
    if let Ok(text) = std::str::from_utf8(input) {
        if let Some(table) = Latency::parse(text) {
            assert!(
                table.rows().iter().all(|row| table.decode_us(row.symbols, row.symbol_bytes).is_finite())
            );
        }
    }
});
