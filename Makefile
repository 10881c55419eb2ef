.PHONY: setup demo test docs bench fmt hardware

setup:            ## leaves the command at .venv/bin/pullnet; does nothing where nothing has changed
	@tools/setup.sh
demo: setup       ## runs the main job and shows its summary
	.venv/bin/pullnet run scenarios/demo.toml --out results/demo --force
test: setup       ## everything that must hold
	@tools/test.sh
docs: setup       ## the documentation site in target/site/html, with its links checked
	@tools/site/build.sh
hardware:         ## the trimming switch in hardware: lint, agreement, line rate, proofs, synthesis (about an hour)
	@tools/hardware.sh full
bench: setup      ## packet-hops per CPU-second
	cargo bench -p pullnet-sim --bench engine
	.venv/bin/python tools/performance.py
fmt: setup
	cargo fmt --all && .venv/bin/ruff format python tools && .venv/bin/ruff check --fix python tools
