.PHONY: setup demo test test-long lint test-frames test-python papers docs fuzz soak hardware-quick bench fmt hardware deb

setup:            ## leaves the command at .venv/bin/pullnet; does nothing where nothing has changed
	@tools/setup.sh
demo: setup       ## runs the main job and shows its summary
	.venv/bin/pullnet run scenarios/demo.toml --out results/demo --force
test:             ## what a developer needs before a commit, in under ten minutes on two cores, build included
	@tools/test.sh
test-long:        ## everything else that must hold; the lines below are its parts
	@tools/test_long.sh
lint: setup       ## all that can be said of the sources without running them
	@tools/lint.sh
test-frames: setup ## the tests of Rust that `make test` leaves out, most of them with real frames
	@tools/test_long.sh rust
test-python: setup ## Python's tests, all of them
	.venv/bin/pytest
papers:           ## a few short runs of every paper
	@tools/test_long.sh papers
fuzz:             ## every fuzz target for a minute
	@tools/fuzz.sh
soak:             ## host stacks under faults, for hours; docs/soak.md has shorter ones
	cargo run --release -p pullnet-soak
hardware-quick:   ## the trimming switch in hardware, in five minutes
	@tools/hardware.sh quick
docs: setup       ## the documentation site in target/site/html, with its links checked
	@tools/site/build.sh
hardware:         ## the trimming switch in hardware: lint, agreement, line rate, proofs, synthesis, place and route (hours)
	@tools/hardware.sh full
deb:              ## a Debian package of the host daemon, in target/deb
	@tools/deb.sh
bench: setup      ## packet-hops per CPU-second
	cargo bench -p pullnet-bench --bench engine
	.venv/bin/python tools/performance.py
fmt: setup
	cargo fmt --all && .venv/bin/ruff format python tools && .venv/bin/ruff check --fix python tools
