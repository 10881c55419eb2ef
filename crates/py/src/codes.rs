//! Fountain codes; `pullnet.codes` names the fields of the results.

use pullnet_codes::trials::{Code, Operations, Trial, failures, lt_operations, raptor_operations};
use pullnet_codes::{
    BlockDecoder, BlockEncoder, CodeError, Layout, MAX_BLOCKS, MAX_ENCODING_SYMBOLS, MAX_SYMBOL_BYTES,
    MAX_SYMBOLS, r10,
};
use pullnet_rng::Seed;
use pyo3::prelude::*;

use crate::errors;
use crate::fault::guarded;

/// Limits: source symbols, encoding symbols, bytes of a symbol, and source blocks.
type LimitRow = (&'static str, u32, u32, u32, u32);
/// XORs per encoding symbol and per recovered source symbol; shares of source symbols recovered and symbols used.
type OperationRow = (f64, f64, f64, f64);

fn wrong(py: Python<'_>, error: CodeError) -> PyErr {
    errors::input(py, vec![error.to_string()])
}

/// Limits of R10 and RaptorQ.
#[pyfunction]
pub fn code_limits() -> [LimitRow; 2] {
    [
        ("r10", r10::MAX_SYMBOLS, r10::MAX_ENCODING_SYMBOLS, r10::MAX_SYMBOL_BYTES, r10::MAX_BLOCKS),
        ("raptorq", MAX_SYMBOLS, MAX_ENCODING_SYMBOLS, MAX_SYMBOL_BYTES, MAX_BLOCKS),
    ]
}

/// Number of random sets of symbols, out of `trials`, that do not determine the block.
#[pyfunction]
pub fn code_failures(
    py: Python<'_>,
    code: &str,
    symbols: u32,
    lost: u32,
    overhead: u32,
    trials: u64,
    seed: u64,
) -> PyResult<u64> {
    let code = Code::named(code).map_err(|error| wrong(py, error))?;
    let trial = Trial { code, symbols, lost, overhead };
    guarded(py, || failures(trial, trials, Seed(seed)))?.map_err(|error| wrong(py, error))
}

fn operations(py: Python<'_>, found: Result<Operations, CodeError>) -> PyResult<OperationRow> {
    let Operations { encode, decode, recovered, used } = found.map_err(|error| wrong(py, error))?;
    Ok((encode, decode, recovered, used))
}

/// XORs of an LT code with the robust soliton distribution.
#[pyfunction]
pub fn lt_code_operations(py: Python<'_>, symbols: u32, seed: u64) -> PyResult<OperationRow> {
    let found = guarded(py, || lt_operations(symbols, Seed(seed)))?;
    operations(py, found)
}

/// XORs of the outer code of a Raptor code.
#[pyfunction]
pub fn raptor_code_operations(
    py: Python<'_>,
    symbols: u32,
    epsilon: f64,
    seed: u64,
) -> PyResult<OperationRow> {
    let found = guarded(py, || raptor_operations(symbols, epsilon, Seed(seed)))?;
    operations(py, found)
}

/// A RaptorQ block with `lost` source symbols lost and replaced by repair symbols, two more than were lost. Each method does
/// its work once, so that the caller can time it.
#[pyclass(frozen, module = "pullnet._core")]
pub struct CodeBench {
    data: Vec<u8>,
    encoder: BlockEncoder,
    decoder: BlockDecoder,
}

fn prepared(symbols: u32, symbol_bytes: u32, lost: u32) -> Result<CodeBench, CodeError> {
    let bytes = u64::from(symbols) * u64::from(symbol_bytes);
    let block = Layout::new(bytes, symbol_bytes, 1, 1, 1)?.block(0)?;
    let mut chance = Seed(u64::from(symbols)).stream("codes.bench", u64::from(symbol_bytes));
    let data: Vec<u8> = (0..bytes).map(|_| chance.bits() as u8).collect();
    let (encoder, mut decoder) = (BlockEncoder::new(block, &data)?, BlockDecoder::new(block)?);
    // Lost symbols are spread evenly over the block.
    let lost = lost.min(symbols);
    let is_lost = |esi: u32| u64::from(esi) * u64::from(lost) % u64::from(symbols) < u64::from(lost);
    let extra = if lost > 0 { lost + 2 } else { 0 };
    for esi in (0..symbols).filter(|esi| !is_lost(*esi)).chain(symbols..symbols + extra) {
        decoder.add(esi, &encoder.symbol(esi)?)?;
    }
    Ok(CodeBench { data, encoder, decoder })
}

#[pymethods]
impl CodeBench {
    #[new]
    fn new(py: Python<'_>, symbols: u32, symbol_bytes: u32, lost: u32) -> PyResult<Self> {
        guarded(py, || prepared(symbols, symbol_bytes, lost))?.map_err(|error| wrong(py, error))
    }

    /// Solves for the intermediate symbols; the plan for this number of symbols was computed in `new`.
    fn encode(&self, py: Python<'_>) -> PyResult<()> {
        let done = guarded(py, || BlockEncoder::new(*self.encoder.block(), &self.data).map(drop))?;
        done.map_err(|error| wrong(py, error))
    }

    /// Generates `count` repair symbols.
    fn repair(&self, py: Python<'_>, count: u32) -> PyResult<()> {
        let first = self.encoder.block().symbols;
        let made = |esi| self.encoder.symbol(esi).map(drop);
        guarded(py, || (first..first.saturating_add(count)).try_for_each(made))?
            .map_err(|error| wrong(py, error))
    }

    /// Decodes the block, and checks its bytes.
    fn decode(&self, py: Python<'_>) -> PyResult<bool> {
        let decoded = guarded(py, || self.decoder.decode())?.map_err(|error| wrong(py, error))?;
        Ok(decoded.data == self.data)
    }
}
