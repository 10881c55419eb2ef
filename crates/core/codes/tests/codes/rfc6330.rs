//! RaptorQ against the conformance vectors of `vectors/rfc6330`.

use crate::common::{bytes, generated, rows, vector};
use pullnet_codes::trials::multiply;
use pullnet_codes::{
    Block, BlockDecoder, BlockEncoder, CodeError, Layout, padded_symbols, padded_symbols_at_most, partition,
};
use serde_json::Value;

fn block(symbols: u32, size: u32) -> Block {
    let layout = Layout::new(u64::from(symbols) * u64::from(size), size, 1, 1, 1).expect("a layout");
    layout.block(0).expect("one block")
}

fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|number| number.try_into().ok()).expect("a number")
}

#[test]
fn repair_symbols_are_those_of_the_vectors() {
    for (symbols, size) in [(10, 64), (100, 64), (1000, 64), (10, 1500), (100, 1500), (1000, 1500)] {
        let file: Value =
            serde_json::from_str(&vector(&format!("repair_K{symbols}_T{size}.json"))).expect("JSON");
        let source = generated(symbols, size);
        assert_eq!(source[..16], bytes(file["source_first16_hex"].as_str().expect("text")));
        assert_eq!(padded_symbols(symbols), Some(number(&file["Kprime"])));
        let encoder = BlockEncoder::new(block(symbols, size), &source).expect("an encoder");
        let repairs = file["repair"].as_array().expect("a list");
        assert_eq!(repairs.len(), 23);
        for repair in repairs {
            let (esi, expected) = (number(&repair["esi"]), repair["hex"].as_str().expect("text"));
            assert_eq!(encoder.symbol(esi), Ok(bytes(expected)), "K {symbols}, T {size}, ESI {esi}");
        }
    }
}

/// Section 5.3.5.3: a symbol is the XOR of the intermediate symbols that its tuple names. For K' = 10: W 17, P 10, P1 11.
#[test]
fn tuples_and_intermediate_symbols_give_the_symbols() {
    const W: u64 = 17;
    const P: u64 = 10;
    const P1: u64 = 11;
    let file: Value = serde_json::from_str(&vector("intermediate_K10_T64.json")).expect("JSON");
    let hex = file["intermediate_symbols_hex"].as_array().expect("a list");
    let intermediate: Vec<Vec<u8>> = hex.iter().map(|hex| bytes(hex.as_str().expect("text"))).collect();
    let encoder = BlockEncoder::new(block(10, 64), &generated(10, 64)).expect("an encoder");
    let tuples: Vec<_> =
        rows("tuples.csv").into_iter().filter(|row| row[0] == 10 && row[1] < 1 << 24).collect();
    assert_eq!(tuples.len(), 17);
    for row in tuples {
        let [_, isi, d, a, mut b, d1, a1, mut b1] = row[..] else { panic!("too few columns: {row:?}") };
        let mut symbol = vec![0; 64];
        let mut add = |at: u64| symbol.iter_mut().zip(&intermediate[at as usize]).for_each(|(x, y)| *x ^= y);
        for _ in 0..d {
            add(b);
            b = (b + a) % W;
        }
        for _ in 0..d1 {
            while b1 >= P {
                b1 = (b1 + a1) % P1;
            }
            add(W + b1);
            b1 = (b1 + a1) % P1;
        }
        assert_eq!(encoder.symbol(isi as u32), Ok(symbol), "{row:?}");
    }
}

#[test]
fn sets_of_symbols_decode_exactly_where_their_rank_says() {
    let file: Value = serde_json::from_str(&vector("decode_sets.json")).expect("JSON");
    let lists = |value: &Value| value.as_array().expect("a list").clone();
    let mut undecodable = 0;
    for set in lists(&file["sets"]) {
        let symbols = number(&set["K"]);
        let (never, always) = (lists(&set["undecodable_esi_sets"]), lists(&set["decodable_esi_sets"]));
        undecodable += never.len();
        assert_eq!(always.len(), 25);
        for esis in never {
            assert_eq!(
                decoded(symbols, &esis),
                Err(CodeError::Dependent { have: symbols }),
                "K {symbols}: {esis}"
            );
        }
        for esis in always {
            assert_eq!(decoded(symbols, &esis), Ok(generated(symbols, 8)), "K {symbols}: {esis}");
        }
    }
    assert_eq!(undecodable, 35);
    let hard = lists(&file["must_decode_K10_from_nanorq_issue_13"]);
    assert_eq!(hard.len(), 7);
    for esis in hard {
        assert_eq!(decoded(10, &esis), Ok(generated(10, 8)), "{esis}");
    }
}

/// Decodes symbols `esis` of the generated block of `symbols` of 8 bytes.
fn decoded(symbols: u32, esis: &Value) -> Result<Vec<u8>, CodeError> {
    let (block, source) = (block(symbols, 8), generated(symbols, 8));
    let encoder = BlockEncoder::new(block, &source)?;
    let mut decoder = BlockDecoder::new(block)?;
    for esi in esis.as_array().expect("a list") {
        assert_eq!(decoder.add(number(esi), &encoder.symbol(number(esi))?), Ok(true));
    }
    decoder.decode().map(|decoded| decoded.data)
}

#[test]
fn blocks_are_padded_to_the_sizes_of_table_2() {
    let table: Vec<u32> = rows("table2_systematic_indices.csv").iter().map(|row| row[0] as u32).collect();
    assert_eq!(table.len(), 477);
    let mut least = 1;
    for &padded in &table {
        assert_eq!([padded_symbols(least), padded_symbols(padded)], [Some(padded); 2]);
        assert_eq!(raptorq::extended_source_block_symbols(padded), padded);
        assert_eq!(raptorq::extended_source_block_symbols(least), padded);
        assert_eq!(padded_symbols_at_most(u64::from(padded)), Some(padded));
        least = padded + 1;
    }
    assert_eq!([padded_symbols(least), padded_symbols_at_most(9)], [None, None]);
    assert_eq!(padded_symbols_at_most(u64::MAX), Some(56_403));
}

#[test]
fn layouts_are_derived_as_section_4_3_says() {
    let table = rows("oti_derivation.csv");
    assert_eq!(table.len(), 17);
    for row in &table {
        let [bytes, payload, alignment, sub_symbol, memory, symbol, total, blocks, sub_blocks] = row[..9]
        else {
            panic!("too few columns: {row:?}")
        };
        let layout = Layout::derive(bytes, payload as u32, alignment as u8, sub_symbol as u32, memory);
        let layout = layout.unwrap_or_else(|error| panic!("{row:?}: {error}"));
        let derived: [u64; 3] =
            [layout.symbol().into(), layout.total_symbols().into(), layout.blocks().into()];
        assert_eq!(derived, [symbol, total, blocks], "{row:?}");
        assert_eq!(u64::from(layout.sub_blocks()), sub_blocks, "{row:?}");
        for (got, at) in [(layout.block_sizes(), 9), (layout.sub_symbol_sizes(), 13)] {
            let got = [got.long, got.short, got.long_parts, got.short_parts].map(u64::from);
            assert_eq!(got[..], row[at..at + 4], "{row:?}");
        }
    }
    assert_eq!(partition(7, 0), None);
}

#[test]
fn octets_multiply_as_their_logarithms_say() {
    let table = rows("octet_exp_log.csv");
    let exp: Vec<u8> = table.iter().map(|row| row[1] as u8).collect();
    let log: Vec<usize> = table.iter().take(256).map(|row| row[2] as usize).collect();
    for a in 1..=255u8 {
        for b in 1..=255u8 {
            assert_eq!(multiply(a, b), exp[log[usize::from(a)] + log[usize::from(b)]], "{a} times {b}");
        }
        assert_eq!([multiply(a, 0), multiply(0, a)], [0, 0]);
    }
}
