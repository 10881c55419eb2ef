//! Results, as data.

use hdrhistogram::Histogram;
use serde::Serialize;

use super::cpu::Cpu;

/// Transport of a load.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// NDP, through the daemons of both hosts.
    Ndp,
    /// The kernel's TCP.
    Tcp,
}

/// A load over one transport.
#[derive(Clone, PartialEq, Serialize, Debug)]
#[serde(tag = "load", rename_all = "kebab-case")]
pub enum Part {
    /// Streams of many bytes.
    Streams(Streams),
    /// Requests and answers.
    Calls(Calls),
}

/// Processor time at both sides.
#[derive(Clone, Copy, PartialEq, Serialize, Debug)]
pub struct Sides {
    /// At the measuring host.
    pub here: Cpu,
    /// At the serving host.
    pub there: Cpu,
}

/// Result of streams.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Streams {
    /// Their transport.
    pub transport: Transport,
    /// Number of the round, from 1.
    pub round: u32,
    /// From the first byte until the last one has arrived and been counted, at both sides.
    pub seconds: f64,
    /// Bytes to the other host.
    pub out_bytes: u64,
    /// Bytes from the other host.
    pub in_bytes: u64,
    /// Rate to the other host.
    pub out_bits_per_second: f64,
    /// Rate from the other host.
    pub in_bits_per_second: f64,
    /// Every stream.
    pub each: Vec<OneStream>,
    /// Processor time.
    pub cpu: Sides,
}

/// Result of one stream.
#[derive(Clone, Copy, PartialEq, Serialize, Debug)]
pub struct OneStream {
    /// Bytes to the other host.
    pub out_bytes: u64,
    /// Bytes from the other host.
    pub in_bytes: u64,
    /// Time until its end.
    pub seconds: f64,
}

/// Result of calls.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Calls {
    /// Their transport.
    pub transport: Transport,
    /// Number of the round, from 1.
    pub round: u32,
    /// Callers at the same time.
    pub callers: usize,
    /// Length of a request.
    pub request_bytes: u64,
    /// Length of an answer.
    pub answer_bytes: u64,
    /// Whether the calls of a caller share a stream.
    pub kept: bool,
    /// Calls that were answered.
    pub calls: u64,
    /// Time for all of them.
    pub seconds: f64,
    /// Their rate.
    pub calls_per_second: f64,
    /// Their times.
    pub latency_us: Latency,
    /// Processor time.
    pub cpu: Sides,
}

/// Times of calls, from before the stream is opened until the end of the answer. Microseconds, to three digits.
#[derive(Clone, Copy, PartialEq, Serialize, Debug)]
pub struct Latency {
    /// The shortest.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// Half of them were shorter.
    pub p50: f64,
    /// Nine of ten were shorter.
    pub p90: f64,
    /// 99 of a hundred were shorter.
    pub p99: f64,
    /// 999 of a thousand were shorter.
    pub p99_9: f64,
    /// The longest.
    pub max: f64,
}

impl Streams {
    pub(super) fn of(
        transport: Transport,
        round: u32,
        seconds: f64,
        each: Vec<OneStream>,
        cpu: Sides,
    ) -> Self {
        let out_bytes = each.iter().map(|one| one.out_bytes).sum();
        let in_bytes = each.iter().map(|one| one.in_bytes).sum();
        let rate = |bytes: u64| 8.0 * bytes as f64 / seconds;
        let (out_bits_per_second, in_bits_per_second) = (rate(out_bytes), rate(in_bytes));
        Self {
            transport,
            round,
            seconds,
            out_bytes,
            in_bytes,
            out_bits_per_second,
            in_bits_per_second,
            each,
            cpu,
        }
    }
}

impl Latency {
    /// From times in nanoseconds.
    pub(super) fn of(times: &Histogram<u64>) -> Self {
        let us = |nanos: u64| nanos as f64 / 1000.0;
        let at = |quantile| us(times.value_at_quantile(quantile));
        Self {
            min: us(times.min()),
            mean: times.mean() / 1000.0,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: us(times.max()),
        }
    }
}
