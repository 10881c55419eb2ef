//! Blocks and vectors for the tests of codes; each test uses some of it.
#![allow(dead_code)]

use std::fs;
use std::path::PathBuf;

/// A file of `vectors/rfc6330`.
pub fn vector(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/rfc6330").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Rows of a CSV file of `vectors/rfc6330`, without its header; an empty cell is 0.
pub fn rows(name: &str) -> Vec<Vec<u64>> {
    let number = |cell: &str| if cell.is_empty() { 0 } else { cell.parse().expect("cells are numbers") };
    vector(name).lines().skip(1).map(|line| line.split(',').map(number).collect()).collect()
}

/// The source block that `vectors/rfc6330/ORIGIN.md` describes.
pub fn generated(symbols: u32, size: u32) -> Vec<u8> {
    let mut state = symbols * 65_536 + size;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..symbols * size).map(|_| next()).collect()
}

/// Bytes of hexadecimal digits.
pub fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}
