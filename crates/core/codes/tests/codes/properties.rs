//! Properties of any block, any symbols and any input.

use crate::common::generated;
use proptest::prelude::*;
use pullnet_codes::{
    BlockDecoder, BlockEncoder, CodeError, Decoded, FailureOdds, Latency, Layout, MAX_ENCODING_SYMBOLS,
    Method, ObjectDecoder, Share,
};
use pullnet_rng::{RandomStream, Seed};

/// `count` distinct symbols of a block of `symbols`: each id is a source symbol with probability `sources`.
fn distinct(chance: &mut RandomStream, symbols: u32, count: u32, sources: f64) -> Vec<u32> {
    let mut esis = Vec::new();
    while esis.len() < count as usize {
        let repair = symbols + chance.below(MAX_ENCODING_SYMBOLS - symbols);
        let esi = if chance.unit() < sources { chance.below(symbols) } else { repair };
        if !esis.contains(&esi) {
            esis.push(esi);
        }
    }
    esis
}

fn decoded(encoder: &BlockEncoder, esis: &[u32]) -> Result<Decoded, CodeError> {
    let mut decoder = BlockDecoder::new(*encoder.block())?;
    for &esi in esis {
        decoder.add(esi, &encoder.symbol(esi)?)?;
    }
    decoder.decode()
}

fn layout(bytes: u64, symbol: u32) -> Layout {
    Layout::new(bytes, symbol, 1, 1, 1).expect("a layout")
}

/// Ten thousand blocks of any size from K + 2 symbols: at one failure in ten million, none of them fails.
#[test]
fn ten_thousand_random_blocks_decode_from_two_symbols_more() {
    let mut chance = Seed(6330).stream("blocks", 0);
    for trial in 0..10_000 {
        let (symbols, size) = (1 + chance.below(60), 1 + chance.below(24));
        let data = generated(symbols, size);
        let bytes = data.len() as u64 - u64::from(chance.below(size));
        let layout = layout(bytes, size);
        let encoder = BlockEncoder::new(layout.block(0).unwrap(), &data[..bytes as usize]).unwrap();
        let mixed = chance.unit() * 0.9;
        let esis = distinct(&mut chance, symbols, symbols + 2, mixed);
        let decoded =
            decoded(&encoder, &esis).unwrap_or_else(|error| panic!("trial {trial}, {esis:?}: {error}"));
        assert_eq!(decoded.data, data[..bytes as usize], "trial {trial}: {esis:?}");
    }
}

#[test]
fn large_blocks_decode_too() {
    let mut chance = Seed(6330).stream("large", 0);
    for symbols in [1_000, 4_096] {
        let data = generated(symbols, 4);
        let encoder = BlockEncoder::new(layout(data.len() as u64, 4).block(0).unwrap(), &data).unwrap();
        // A tenth of the source symbols is lost, and repair symbols take their place.
        let mut esis: Vec<u32> = (0..symbols).filter(|_| chance.below(10) > 0).collect();
        esis.extend((symbols..).take(symbols as usize + 2 - esis.len()));
        assert_eq!(decoded(&encoder, &esis), Ok(Decoded { data, method: Method::Solved }), "K {symbols}");
    }
}

#[test]
fn a_complete_block_is_not_computed_but_passed_on() {
    let data = generated(50, 16);
    let encoder = BlockEncoder::new(layout(800, 16).block(0).unwrap(), &data).unwrap();
    let mut esis: Vec<u32> = (0..50).rev().collect();
    assert_eq!(decoded(&encoder, &esis), Ok(Decoded { data: data.clone(), method: Method::Source }));
    // Repair symbols beside all source symbols change nothing: not even wrong ones would.
    esis.push(60);
    assert_eq!(decoded(&encoder, &esis).unwrap().method, Method::Source);
    esis.swap_remove(7);
    assert_eq!(decoded(&encoder, &esis), Ok(Decoded { data, method: Method::Solved }));
}

#[test]
fn wrong_input_is_refused_and_changes_nothing() {
    let block = layout(100, 10).block(0).unwrap();
    assert_eq!(BlockEncoder::new(block, &[0; 99]).unwrap_err(), CodeError::DataLength { got: 99, want: 100 });
    let encoder = BlockEncoder::new(block, &[1; 100]).unwrap();
    assert_eq!(encoder.symbol(MAX_ENCODING_SYMBOLS), Err(CodeError::Esi(1 << 24)));
    let mut decoder = BlockDecoder::new(block).unwrap();
    assert_eq!(decoder.add(u32::MAX, &[0; 10]), Err(CodeError::Esi(u32::MAX)));
    assert_eq!(decoder.add(3, &[0; 9]), Err(CodeError::SymbolLength { esi: 3, got: 9, want: 10 }));
    assert_eq!(decoder.add(3, &[1; 10]), Ok(true));
    assert_eq!(decoder.add(3, &[1; 10]), Ok(false));
    assert_eq!([decoder.add(77, &[1; 10]), decoder.add(77, &[1; 10])], [Ok(true), Ok(false)]);
    assert_eq!(decoder.decode(), Err(CodeError::NeedMore { have: 2, need: 10 }));
    let refused = [
        (Layout::new(0, 10, 1, 1, 1), CodeError::Empty),
        (Layout::new(1, 0, 1, 1, 1), CodeError::SymbolSize(0)),
        (Layout::new(1, 65_536, 1, 1, 1), CodeError::SymbolSize(65_536)),
        (Layout::new(1, 10, 1, 1, 4), CodeError::Alignment { size: 10, alignment: 4 }),
        (Layout::new(1, 10, 1, 1, 0), CodeError::Alignment { size: 10, alignment: 0 }),
        (Layout::new(10, 10, 1, 3, 5), CodeError::SubBlocks { sub_blocks: 3, units: 2 }),
        (Layout::new(10, 10, 2, 1, 1), CodeError::Blocks { blocks: 2, symbols: 1 }),
        (Layout::new(10_000, 10, 257, 1, 1), CodeError::Blocks { blocks: 257, symbols: 1_000 }),
        (Layout::new(56_404, 1, 1, 1, 1), CodeError::TooManySymbols { symbols: 56_404, most: 56_403 }),
        (Layout::derive(100, 100, 4, 8, 50), CodeError::WorkingMemory { memory: 50, least: 360 }),
        (Layout::derive(1 << 40, 64, 4, 8, 640), CodeError::Blocks { blocks: 858_993_460, symbols: 1 << 34 }),
    ];
    for (got, expected) in refused {
        assert_eq!(got, Err(expected));
    }
    assert_eq!(Share::new(3, 3), Err(CodeError::Sender { sender: 3, of: 3 }));
    assert_eq!(layout(100, 10).block(1), Err(CodeError::NoSuchBlock { sbn: 1, blocks: 1 }));
}

/// The largest object of the literature, 256 blocks of 56,403 symbols of 1,024 bytes, and one byte more.
#[test]
fn the_largest_object_is_exactly_that() {
    let bytes = 14_785_708_032;
    let layout = Layout::new(bytes, 1_024, 256, 1, 1).unwrap();
    let last = layout.block(255).unwrap();
    assert_eq!((last.offset + last.bytes, last.symbols), (bytes, 56_403));
    assert!(Layout::new(bytes + 1, 1_024, 256, 1, 1).is_err());
}

#[test]
fn the_shipped_latencies_are_read_and_interpolated() {
    let measured = Latency::measured();
    assert!(measured.rows().len() >= 6, "{}", measured.rows().len());
    for row in measured.rows() {
        let us = measured.decode_us(row.symbols, row.symbol_bytes);
        assert!((us / row.decode_us - 1.0).abs() < 1e-9, "{row:?}: {us}");
    }
    let text = "# comment\nnames\n10,100,1,1,10,1\n20,100,1,1,40,1\n10,200,1,1,30,1\n";
    let table = Latency::parse(text).unwrap();
    let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-9, "{got} for {want}");
    near(table.decode_us(15, 100), 15.0 * 1.5);
    near(table.decode_us(5, 100), 5.0);
    near(table.decode_us(40, 50), 40.0);
    near(table.decode_us(10, 150), 20.0);
    for wrong in
        ["", "names\n", "names\n1,2,3", "names\n0,1,1,1,1,1", "names\n1,1,1,1,nan,1", "names\n1,1,1,1,1,1,1"]
    {
        assert_eq!(Latency::parse(wrong), None, "{wrong:?}");
    }
}

#[test]
fn odds_fall_by_256_and_a_determined_block_stays_so() {
    let odds = FailureOdds::RAPTORQ;
    assert!((odds.probability(0) / odds.probability(1) - 256.0).abs() < 1e-9);
    let mut chance = Seed(1).stream("odds", 0);
    let draws: Vec<f64> = (0..100_000).map(|_| chance.unit()).collect();
    let failed = draws.iter().filter(|unit| odds.fails(0, **unit)).count() as f64 / 1e5;
    assert!((failed / odds.probability(0) - 1.0).abs() < 0.15, "{failed}");
    assert!(draws.iter().all(|unit| odds.fails(0, *unit) || !odds.fails(1, *unit)));
    assert!(!FailureOdds::NEVER.fails(0, 0.0));
    assert_eq!(FailureOdds::new(f64::NAN), FailureOdds::NEVER);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Objects of several blocks with sub-blocks, from several senders whose symbols arrive interleaved and partly lost.
    #[test]
    fn objects_of_several_blocks_come_from_several_senders(
        bytes in 1u64..1_200, units in 2u32..8, alignment in 1u8..5, blocks in 1u32..6, sub in 1u16..4,
        senders in 1u16..5, lost in 0u32..60, seed: u64,
    ) {
        let size = units * u32::from(alignment);
        let layout = Layout::new(bytes, size, blocks, sub, alignment);
        prop_assume!(layout.is_ok());
        let layout = layout?;
        let data: Vec<u8> = (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect();
        let encoders: Vec<_> = (0..blocks).map(|sbn| {
            let block = layout.block(sbn).unwrap();
            BlockEncoder::new(block, &data[block.offset as usize..][..block.bytes as usize]).unwrap()
        }).collect();
        let mut chance = Seed(seed).stream("loss", 0);
        let (mut object, mut result) = (ObjectDecoder::new(layout), vec![0; bytes as usize]);
        let mut index = 0;
        while !object.complete() {
            prop_assert!(index < 2_000, "no end");
            for sender in 0..senders {
                let share = Share::new(sender, senders)?;
                for (sbn, encoder) in encoders.iter().enumerate() {
                    let block = *encoder.block();
                    let Some(esi) = share.esi(block.symbols, index) else { continue };
                    if chance.below(100) < lost {
                        continue;
                    }
                    if let Some(done) = object.add(sbn as u32, esi, &encoder.symbol(esi)?, 2)? {
                        result[block.offset as usize..][..block.bytes as usize].copy_from_slice(&done.data);
                    }
                }
            }
            index += 1;
        }
        prop_assert_eq!(result, data);
    }
}

proptest! {
    /// Any K + 3 distinct symbols, in any order, give the block; with fewer than K symbols the decoder requests more.
    #[test]
    fn any_symbols_in_any_order_are_as_good_as_the_block(
        symbols in 1u32..120, size in 1u32..40, short in 0u32..40, sources in 0.0..1.0, seed: u64,
    ) {
        let data = generated(symbols, size);
        let bytes = (data.len() as u64).saturating_sub(u64::from(short % size)).max(1);
        let data = &data[..bytes as usize];
        let encoder = BlockEncoder::new(layout(bytes, size).block(0).unwrap(), data).unwrap();
        let mut chance = Seed(seed).stream("order", 0);
        let esis = distinct(&mut chance, symbols, symbols + 3, sources * 0.9);
        prop_assert_eq!(&decoded(&encoder, &esis)?.data[..], data);
        let need = Err(CodeError::NeedMore { have: symbols - 1, need: symbols });
        prop_assert_eq!(decoded(&encoder, &esis[..symbols as usize - 1]), need);
    }

    /// No two senders have a symbol in common, and together they have every source symbol.
    #[test]
    fn shares_are_disjoint_and_cover_the_block(symbols in 1u32..500, senders in 1u16..20) {
        let mut seen = std::collections::BTreeSet::new();
        for sender in 0..senders {
            let share = Share::new(sender, senders)?;
            for index in 0..symbols + 10 {
                let esi = share.esi(symbols, index).expect("far from the last");
                prop_assert!(seen.insert(esi), "sender {} sends {} again", sender, esi);
                prop_assert!(esi < symbols || esi % u32::from(senders) == u32::from(sender));
            }
        }
        prop_assert!((0..symbols).all(|esi| seen.contains(&esi)));
        let last = Share::new(0, senders)?.esi(symbols, u32::MAX / 2);
        prop_assert_eq!(last, None);
    }

    /// Any layout's blocks follow each other without gap, and their sizes differ by at most one symbol.
    #[test]
    fn blocks_cover_the_object(bytes in 1u64..1 << 36, symbol in 1u32..70_000, most in 1u32..60_000) {
        let Ok(layout) = Layout::with_blocks_of(bytes, symbol, most) else { return Ok(()) };
        let blocks: Vec<_> = (0..u32::from(layout.blocks())).map(|sbn| layout.block(sbn).unwrap()).collect();
        let mut end = 0;
        for block in &blocks {
            prop_assert_eq!(block.offset, end);
            prop_assert!(block.symbols <= most);
            prop_assert_eq!(block.bytes.div_ceil(u64::from(symbol)), u64::from(block.symbols));
            end += block.bytes;
        }
        prop_assert_eq!(end, bytes);
        let sizes = blocks.iter().map(|block| block.symbols);
        prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
    }

    /// Any numbers are a layout or are refused; nothing panics.
    #[test]
    fn any_numbers_are_a_layout_or_refused(
        bytes: u64, payload: u32, alignment: u8, sub_symbol: u32, memory: u64, small in 0u64..1 << 22,
    ) {
        for bytes in [bytes, small] {
            for payload in [payload, payload % 70_000] {
                let _ = Layout::derive(bytes, payload, alignment, sub_symbol % 100, memory);
                let _ = Layout::derive(bytes, payload, alignment % 9, sub_symbol, memory % (1 << 20));
                let _ = Layout::with_blocks_of(bytes, payload, sub_symbol);
            }
        }
    }
}
