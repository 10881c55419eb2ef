//! Failure rates of RaptorQ, R10 and LT against the bounds of the literature; LT and R10 themselves.

use crate::common::generated;
use proptest::prelude::*;
use pullnet_codes::lt::{Degrees, LtCode, Peeler};
use pullnet_codes::trials::{
    Code, Generator, Trial, failures, full_rank, lt_operations, multiply, raptor_operations,
};
use pullnet_codes::{BlockDecoder, BlockEncoder, CodeError, Layout, r10};
use pullnet_rng::Seed;

fn rate(code: Code, symbols: u32, lost: u32, overhead: u32, count: u64) -> f64 {
    let trial = Trial { code, symbols, lost, overhead };
    failures(trial, count, Seed(2)).expect("a trial") as f64 / count as f64
}

/// The literature says at most 1e-2, 1e-4 and 1e-6 at 0, 1 and 2 symbols beyond K. Random rows over GF(256) would fail at
/// 0.0039 and 1.5e-5; a rate below that would mean that the trial does not see failures.
#[test]
fn raptorq_fails_as_seldom_as_the_literature_says() {
    for (symbols, lost) in [(10, 10), (26, 26), (100, 10), (1_000, 10)] {
        let at_0 = rate(Code::RaptorQ, symbols, lost, 0, 20_000);
        assert!((0.0025..=0.01).contains(&at_0), "K {symbols}, {lost} lost: {at_0} at 0 symbols more");
    }
    for (symbols, lost) in [(10, 10), (100, 10)] {
        let at_1 = rate(Code::RaptorQ, symbols, lost, 1, 300_000);
        assert!((..=1e-4).contains(&at_1), "K {symbols}, {lost} lost: {at_1} at 1 symbol more");
    }
    let at_2 = rate(Code::RaptorQ, 10, 10, 2, 1_000_000);
    assert!(at_2 <= 1e-6, "{at_2} at 2 symbols more");
}

#[test]
fn raptorq_fails_less_often_than_r10_at_every_overhead() {
    for (overhead, count) in [(0, 5_000), (1, 5_000), (2, 5_000), (5, 10_000), (10, 20_000)] {
        let [r10, rq] = [Code::R10, Code::RaptorQ].map(|code| rate(code, 100, 20, overhead, count));
        assert!(rq < r10, "at {overhead}: RaptorQ {rq}, R10 {r10}");
    }
}

/// The rank says what the decoder finds, for sets that fail as for sets that do not.
#[test]
fn ranks_and_decoders_agree() {
    for (symbols, lost, sets) in [(10, 10, 3_000), (30, 8, 1_000)] {
        let mut chance = Seed(9).stream("agreement", u64::from(symbols));
        let generator = Generator::new(Code::RaptorQ, symbols, &mut chance).unwrap();
        let data = generated(symbols, 1);
        let block = Layout::new(u64::from(symbols), 1, 1, 1, 1).unwrap().block(0).unwrap();
        let encoder = BlockEncoder::new(block, &data).unwrap();
        let mut failed = 0;
        for _ in 0..sets {
            let missing: Vec<u32> = (0..lost).map(|index| (index * 3 + chance.below(3)) % symbols).collect();
            let missing: Vec<u32> = (0..symbols).filter(|esi| missing.contains(esi)).collect();
            let first = chance.below(8_000);
            let picked: Vec<u32> = (first..first + missing.len() as u32).collect();
            let mut decoder = BlockDecoder::new(block).unwrap();
            let sources = (0..symbols).filter(|esi| !missing.contains(esi));
            for esi in sources.chain(picked.iter().map(|pick| generator.esis()[*pick as usize])) {
                decoder.add(esi, &encoder.symbol(esi).unwrap()).unwrap();
            }
            let determined = generator.determines(&missing, &picked);
            assert_eq!(decoder.decode().is_ok(), determined, "{missing:?} {picked:?}");
            failed += u32::from(!determined);
        }
        assert!(failed > 0, "no set of K = {symbols} failed, so that nothing was compared");
    }
}

#[test]
fn r10_decodes_what_it_encodes() {
    for (symbols, size) in [(4, 3), (50, 8), (500, 2), (8_192, 1)] {
        let data = generated(symbols, size);
        let mut encoder = r10::Encoder::new(&data, symbols).unwrap();
        let mut decoder = r10::Decoder::new(symbols, size as usize).unwrap();
        let mut esi = symbols / 3;
        let block = loop {
            assert!(esi < symbols * 2 + 60, "K {symbols} does not decode");
            decoder.add(esi, &encoder.symbol(esi).unwrap()).unwrap();
            match decoder.decode() {
                Ok(block) => break block,
                Err(CodeError::NeedMore { .. } | CodeError::Dependent { .. }) => esi += 1,
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(block, data, "K {symbols}");
    }
    assert_eq!(r10::Encoder::new(&[0; 9], 3).err(), Some(CodeError::TooFewSymbols { symbols: 3, least: 4 }));
    assert_eq!(
        r10::Encoder::new(&[0; 8_193], 8_193).err(),
        Some(CodeError::TooManySymbols { symbols: 8_193, most: 8_192 })
    );
    assert_eq!(r10::Encoder::new(&[0; 9], 4).err(), Some(CodeError::DataLength { got: 9, want: 8 }));
    let mut decoder = r10::Decoder::new(4, 1).unwrap();
    assert_eq!(decoder.add(65_536, &[0]), Err(CodeError::Esi(65_536)));
    assert_eq!(decoder.add(5, &[]), Err(CodeError::SymbolLength { esi: 5, got: 0, want: 1 }));
    assert_eq!(decoder.decode(), Err(CodeError::NeedMore { have: 0, need: 4 }));
}

/// The encoding example of the literature: E0 = S0, E1 = S0+S1, E2 = S1+S2+S3, E3 = S2+S3, E4 = S1+S3.
#[test]
fn lt_example_encode() {
    let source = [0b0001u8, 0b0010, 0b0100, 0b1000];
    let joined =
        [(&[0][..], 0b0001u8), (&[0, 1], 0b0011), (&[1, 2, 3], 0b1110), (&[2, 3], 0b1100), (&[1, 3], 0b1010)];
    let mut peeler = Peeler::new(4).unwrap();
    for (neighbours, symbol) in joined {
        let sum = neighbours.iter().fold(0, |sum, at| sum ^ source[*at as usize]);
        assert_eq!(sum, symbol);
        peeler.add(neighbours, &[symbol]).unwrap();
    }
    assert_eq!((0..4).map(|at| peeler.source(at).unwrap()[0]).collect::<Vec<_>>(), source);
}

/// The decoding example of the literature: E1 = {S1}, E2 = {S1, S2, S3}, E3 = {S2, S3}, E4 = {S1, S2}, received 1, 0, 1, 1.
#[test]
fn lt_example_decode() {
    let mut peeler = Peeler::new(3).unwrap();
    for (neighbours, symbol) in [(&[0][..], 1), (&[0, 1, 2], 0), (&[1, 2], 1), (&[0, 1], 1)] {
        peeler.add(neighbours, &[symbol]).unwrap();
    }
    assert_eq!((0..3).map(|at| peeler.source(at).unwrap()[0]).collect::<Vec<_>>(), [1, 0, 1]);
    assert_eq!(peeler.add(&[3], &[0]), Err(CodeError::Esi(3)));
}

#[test]
fn lt_decodes_what_it_encodes() {
    let source: Vec<Vec<u8>> = generated(200, 6).chunks(6).map(<[u8]>::to_vec).collect();
    let code = LtCode::new(200, Degrees::robust_soliton(200, 0.03, 0.5).unwrap(), Seed(5)).unwrap();
    let mut peeler = Peeler::new(200).unwrap();
    let mut esi = 0;
    while peeler.known() < 200 {
        assert!(esi < 800, "does not decode");
        peeler.add(&code.neighbours(esi), &code.symbol(&source, esi).unwrap()).unwrap();
        esi += 1;
    }
    assert!((0..200).all(|at| peeler.source(at) == Some(&source[at as usize][..])));
}

/// Encoding takes O(log k) XORs for each symbol, decoding O(k log k): what is per symbol grows by a constant for each
/// factor of ten in k.
#[test]
fn lt_operations_grow_with_the_logarithm() {
    let at = |symbols| lt_operations(symbols, Seed(4)).unwrap();
    let (few, some, many) = (at(100), at(1_000), at(10_000));
    assert!(few.encode < some.encode && some.encode < many.encode);
    for found in [few, some, many] {
        assert_eq!(found.recovered, 1.0, "{found:?}");
    }
    let logarithm = |symbols: f64| symbols.ln();
    for (found, symbols) in [(few, 100.0), (some, 1e3), (many, 1e4)] {
        assert!((0.5..3.0).contains(&(found.encode / logarithm(symbols))), "{found:?}");
        assert!((0.5..3.0).contains(&(found.decode / logarithm(symbols))), "{found:?}");
    }
}

/// Raptor codes: operations depend on the overhead alone, as the logarithm of its inverse, and not on k.
#[test]
fn raptor_operations_depend_on_the_overhead_alone() {
    for epsilon in [0.5, 0.2, 0.1] {
        let [few, many] =
            [2_000, 40_000].map(|symbols| raptor_operations(symbols, epsilon, Seed(8)).unwrap());
        assert_eq!(few.encode, many.encode);
        let logarithm = (1.0_f64 / epsilon).ln() + 1.0;
        assert!((0.5..3.0).contains(&(many.encode / logarithm)), "{epsilon}: {many:?}");
        // All but a fraction (epsilon / 4) / (1 + epsilon) of the source symbols is recovered (Lemma 4).
        assert!(many.recovered > 1.0 - 2.0 * (epsilon / 4.0) / (1.0 + epsilon), "{epsilon}: {many:?}");
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    for (c, delta) in [(0.0, 0.5), (f64::NAN, 0.5), (11.0, 0.5), (0.1, 0.0), (0.1, 1.0), (0.1, f64::NAN)] {
        assert!(
            matches!(Degrees::robust_soliton(10, c, delta), Err(CodeError::Parameter { .. })),
            "{c} {delta}"
        );
    }
    assert_eq!(Degrees::robust_soliton(0, 0.1, 0.1), Err(CodeError::Empty));
    assert!(matches!(Degrees::raptor(0.0), Err(CodeError::Parameter { .. })));
    let trial = |symbols, lost, overhead| {
        failures(Trial { code: Code::RaptorQ, symbols, lost, overhead }, 1, Seed(1))
    };
    for wrong in [trial(10, 0, 0), trial(10, 11, 0), trial(10, 5, 1 << 20)] {
        assert!(matches!(wrong, Err(CodeError::Parameter { .. })), "{wrong:?}");
    }
    assert_eq!(
        trial(0, 1, 0),
        Err(CodeError::Parameter {
            what: "the number of lost symbols",
            value: "1".into(),
            use_: "at least one and at most all of the source symbols",
        })
    );
    assert!(matches!(trial(5_000, 1, 0), Err(CodeError::TooManySymbols { .. })));
    assert!(Code::named("raptor").is_err());
}

proptest! {
    /// A matrix has full rank exactly if it is invertible: one that is made of another and its multiples is not.
    #[test]
    fn rank_is_that_of_elementary_matrices(width in 1usize..8, seed: u64, by in 1u8..) {
        let mut chance = Seed(seed).stream("rank", 0);
        let mut rows = vec![0; width * width];
        for at in 0..width {
            rows[at * width + at] = 1 + chance.below(255) as u8;
            (at + 1..width).for_each(|column| rows[at * width + column] = chance.below(256) as u8);
        }
        for _ in 0..20 {
            let (to, from) = (chance.below(width as u32) as usize, chance.below(width as u32) as usize);
            if to != from {
                (0..width).for_each(|column| {
                    let add = multiply(by, rows[from * width + column]);
                    rows[to * width + column] ^= add;
                });
            }
        }
        prop_assert!(full_rank(&mut rows.clone(), width));
        if width > 1 {
            let copy: Vec<u8> = rows[..width].iter().map(|value| multiply(by, *value)).collect();
            rows[width..2 * width].copy_from_slice(&copy);
            prop_assert!(!full_rank(&mut rows, width));
        }
    }

    /// Degrees are drawn as often as their probability says, and their mean is right.
    #[test]
    fn degrees_have_the_mean_that_is_stated(symbols in 1u32..300, c in 0.01..0.5, delta in 0.01..0.9) {
        let degrees = Degrees::robust_soliton(symbols, c, delta)?;
        let mean = (0..20_000).map(|at| f64::from(degrees.at(f64::from(at) / 20_000.0))).sum::<f64>() / 20_000.0;
        prop_assert!((mean / degrees.mean() - 1.0).abs() < 0.02, "{} for {}", mean, degrees.mean());
        prop_assert!((1..=symbols).contains(&degrees.at(0.999_999)));
    }
}
