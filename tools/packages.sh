# The crates in two groups, as options of cargo; sourced by the scripts that test them. Benchmarks are in neither.
#
# Cargo builds a library again where the other crates of a command want other features of it, so that all scripts name the
# same groups.

# Hosts and switches with real frames, and the model of the hardware.
frames=(apps capi daemon hardware host netio objects soak switch testbed)
others=(--workspace --exclude=pullnet-bench "${frames[@]/#/--exclude=pullnet-}")
frames=("${frames[@]/#/--package=pullnet-}")

# Tests of the others that take minutes together: fingerprints of all examples, and every pair of a protocol and a discipline.
slow=(examples_keep_their_fingerprints every_pair_keeps_every_promise)
