# Everything that a fresh machine needs to build, show, test and measure skyhop. `make` alone says what there is.
# Debian 12 as root with nothing but `make` is enough: what is missing is installed from Debian's packages and PyPI.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help tools build demo test tests-built test-rust test-hosts test-simulated test-others test-python wheel test-programs check bench bench-instructions bench-emulate bench-gateway bench-transports bench-beside compare stp-tails stp-random-paths stp-promises papers papers-gallery papers-mutate papers-seeds site properties fuzz mutants schema clean

CARGO := cargo
SKYHOP := target/release/skyhop
VENV := .venv
PYTHON := $(VENV)/bin/python
# Each command names the whole workspace and the same features, since a library is compiled anew for others.
FEATURES := --features skyhop-live/tokio
TEST := PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-1} $(CARGO) test --release --locked --workspace $(FEATURES)

help:  ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 27

tools:  ## Install what is missing: a compiler, Rust, Python's venv, tshark, tcptrace, nft, ip, curl (root; otherwise says what to install)
	@tools/install

build: tools  ## Build the command: target/release/skyhop
	$(CARGO) build --release --locked --bin skyhop $(FEATURES)

demo: build  ## Build, answer two questions, draw them, say where
	$(SKYHOP) demo --out skyhop-demo

# Side by side: hosts wait for their clocks most of the time, and all others compute.
test: tools  ## Install what the tests need and run all of them
	@$(MAKE) --no-print-directory -j2 tests-built $(VENV)/packages
	@$(MAKE) --no-print-directory -j2 test-hosts test-others

tests-built: tools
	$(CARGO) build --release --locked --workspace $(FEATURES)
	$(TEST) --no-run

# Files of tests are programs, except where a crate has all.rs, which names the others; its Cargo.toml lists its programs.
LISTED := $(shell sed -n '/^\[\[test\]\]/{n;s/name = "\(.*\)"/\1/p}' crates/*/Cargo.toml)
PROGRAMS := $(filter-out $(addsuffix %,$(dir $(wildcard crates/*/tests/all.rs))),$(wildcard crates/*/tests/*.rs))
HOSTS := $(basename $(notdir $(filter crates/cli/% crates/live/% crates/gateway/%,$(PROGRAMS))))
SIMULATED := $(filter-out $(HOSTS),$(sort $(LISTED) $(basename $(notdir $(PROGRAMS)))))

# The same random cases each time, so that a failure can be repeated: `make properties` draws others.
test-rust: test-hosts test-simulated

test-hosts: tools
	$(TEST) $(addprefix --test ,$(HOSTS))

test-simulated: tools
	$(TEST) --lib --bins $(addprefix --test ,$(SIMULATED))
	$(TEST) --doc

test-others:
	@status=0; for part in test-python test-simulated; do $(MAKE) --no-print-directory $$part || status=1; done; exit $$status

test-python: build $(VENV)/installed
	$(PYTHON) -m pytest -q python/tests

$(VENV)/packages: python/requirements-test.txt | tools
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install -q -r python/requirements-test.txt
	touch $@

# The bindings are built anew whenever a source changes; cargo knows whether there is anything to do.
$(VENV)/installed: $(VENV)/packages Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')
	$(CARGO) build --release --locked --workspace $(FEATURES)
	cp target/release/lib_skyhop.so python/skyhop/_skyhop.abi3.so
	echo $(CURDIR)/python > $$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/skyhop.pth
	touch $@

wheel: $(VENV)/packages  ## The Python package: target/wheels/skyhop-*.whl, for pip install
	$(PYTHON) -m maturin build -q --release --locked

test-programs: build  ## iperf3, curl from nginx, ssh, Chromium if there is one, over emulated satellites: a table (root)
	@tools/install iperf3 nginx ssh=openssh-client sshd=openssh-server
	python3 bench/programs.py

check:  ## Format, circles of files, widths, lints and documentation, all as errors
	$(CARGO) fmt --check
	tools/circles.py
	tools/widths.py
	tools/words.py
	tools/site_links.py
	$(CARGO) clippy --release --locked --workspace --all-targets $(FEATURES) -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --locked --workspace --no-deps $(FEATURES) -q
	! $(CARGO) tree --locked -p skyhop-network -e normal --prefix none | grep '^skyhop-sim ' # hosts use the network, and not the other way

bench: build  ## Packets and runs per CPU second beside ns-2's, a long fat pipe, sweeps, large constellations
	python3 bench/bench.py
	python3 bench/stp.py

stp-tails: tools  ## STP's worst of 1,000 seeds at 100 Mbit/s for each loss and round trip, of 100 elsewhere; about an hour of processor time
	$(CARGO) run --release --locked -q -p skyhop-sim --example stp_tails -- tails 1000

stp-random-paths: tools  ## STP beside CUBIC and BBR over 800 random paths; ten minutes of processor time
	$(CARGO) run --release --locked -q -p skyhop-sim --example random_paths -- 0 800

stp-promises: tools  ## STP with promised rates that are wrong, 108 rows; seconds of processor time
	$(CARGO) run --release --locked -q -p skyhop-sim --example stp_tails -- promised

bench-emulate: build  ## The emulator beside a naive relay: processor time a packet, lateness (root)
	@tools/install ping=iputils-ping
	python3 bench/emulate.py

bench-gateway: build  ## What a gateway does behind 600 ms, with the kernel's TCP at both ends, under load and attack (root, an hour and a half)
	@tools/install socat
	python3 bench/gateway.py

bench-transports: build  ## STP, QUIC (quinn) and the kernel's TCP over the same emulated satellites: seconds, return bytes (root, half an hour)
	python3 bench/transports.py

bench-beside: build  ## STP beside the kernel's CUBIC and BBR over emulated satellites: what each keeps (root, four minutes)
	python3 bench/beside.py

compare: build  ## The simulator beside this machine's kernel: 16 paths, three TCPs, STP; writes docs/fidelity.md (root, three quarters of an hour)
	python3 bench/fidelity.py

bench-instructions: build  ## Instructions per packet hop, which a busy machine does not move; AGAINST=REV and BAR=1.02 hold them against another revision's
	@tools/install valgrind
	python3 bench/instructions.py $(if $(AGAINST),--against $(AGAINST)) $(if $(BAR),--bar $(BAR))

papers: $(VENV)/installed  ## Published numbers beside ours: one table, and the figures
	$(PYTHON) papers/harness.py
	$(PYTHON) papers/compared.py --table papers/compared.md

papers-gallery: $(VENV)/installed  ## The same as a page with figures: docs/papers.md
	$(PYTHON) papers/harness.py --gallery docs/papers.md
	$(PYTHON) papers/compared.py --table papers/compared.md

papers-mutate: $(VENV)/installed  ## Wrong implementations on purpose, and the papers' verdicts that notice: papers/mutations.md (half an hour of processor time)
	$(PYTHON) papers/mutate.py --table papers/mutations.md

papers-seeds: $(VENV)/installed  ## The papers' verdicts with other seeds, of which none should flip: papers/seeds.md (half an hour of processor time)
	$(PYTHON) papers/seeds.py --table papers/seeds.md

SITE := out/site-tools

site:  ## The documents as a site that works offline, with search: out/site/index.html
	test -x $(SITE)/bin/python || python3 -m venv $(SITE)
	$(SITE)/bin/pip install -q -r docs/site/requirements.txt
	$(SITE)/bin/sphinx-build -q -W --keep-going -c docs/site docs out/site
	tools/site_links.py out/site

FUZZ_SECONDS := 300
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))

properties: tools  ## Random cases for the machines of TCP, STP and the split connection: ROUNDS=100 times those of `make test`, with other seeds
	@tools/properties $(or $(ROUNDS),100)

fuzz:  ## Five minutes of damaged seeds and arbitrary bytes for every file and packet that is read and every machine that is driven (FUZZ_SECONDS=, FUZZ_TARGETS=)
	command -v cargo-fuzz > /dev/null || $(CARGO) install --locked cargo-fuzz
	cd fuzz && RUSTC_BOOTSTRAP=1 $(CARGO) fuzz build && failed= && for target in $(FUZZ_TARGETS); do \
	  mkdir -p corpus/$$target; folders=corpus/$$target; options=; \
	  if [ -d seeds/$$target ]; then folders="$$folders seeds/$$target"; fi; \
	  if [ -f $$target.dict ]; then options=-dict=$$target.dict; fi; \
	  RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run $$target $$folders -- $$options -max_total_time=$(FUZZ_SECONDS) -max_len=65536 \
	    || failed="$$failed $$target"; done; \
	  if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi; echo "no target failed: $(FUZZ_TARGETS)"

MUTANTS_SEED := 20261122
MUTANTS_PER_GROUP := 6

mutants:  ## Changes of the code that no test notices: sixty drawn, a day of one core, goes on where it was (MUTANTS_SEED=, MUTANTS_PER_GROUP=)
	command -v cargo-mutants > /dev/null || $(CARGO) install --locked cargo-mutants
	nice -n 19 tools/mutants.py --seed $(MUTANTS_SEED) --per-group $(MUTANTS_PER_GROUP)

schema:  ## Write the scenario's JSON Schema anew
	$(CARGO) run -q --release --locked --bin skyhop -- schema > crates/scenario/scenario.schema.json

clean:  ## Remove what was built
	rm -rf target $(VENV) skyhop-demo out
