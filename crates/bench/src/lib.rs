//! Nothing: the benchmarks lie in `benches`.
