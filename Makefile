# Every habit of the project is a target. Each works from a clean checkout with nothing but a Rust toolchain and a C
# compiler; a target that wants more says so.

CARGO ?= cargo

.DEFAULT_GOAL := help
# SQL brings an engine that takes longer to compile than all else together: it has targets of its own.
CORE = --workspace --exclude heaplake-sql --exclude heaplake-stores
SQL = -p heaplake-sql -p heaplake --features heaplake/sql
# So do object stores.
STORES = -p heaplake-stores -p heaplake --features heaplake/stores
# Both, as the Python package tests them.
ALL = -p heaplake --features heaplake/sql,heaplake/stores

.PHONY: help demo check test test-sql test-stores test-long test-notebooks test-fleet test-deploy audit bench bench-peers verdict fuzz clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: ## Analyse a snapshot with a leak in it into ./lake, and show what is found
	@echo "Building heaplake (development profile): minutes the first time, then seconds."
	@if test -t 2; then $(CARGO) build --locked -p heaplake; else scripts/building.sh $(CARGO) build --locked -p heaplake; fi
	@scripts/demo.sh $(CARGO) run --quiet --locked -p heaplake --

check: ## Formatting, lints and documentation, warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked $(CORE) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" $(CARGO) doc --locked $(CORE) --no-deps --document-private-items

test: ## All fast tests
	$(CARGO) test --locked $(CORE)

test-sql: ## Lints and tests of `heaplake sql`, attacks that once succeeded (compiles DataFusion: some minutes)
	$(CARGO) clippy --locked --profile sql $(SQL) --lib --bins --test sql -- -D warnings
	$(CARGO) test --locked --profile sql $(SQL) --lib --test sql
	tests/reproducers/run.sh target/sql/heaplake

AZURITE = target/azurite/node_modules/.bin/azurite-blob

test-stores: ## Lints and tests of object stores on servers on loopback (needs Python with pip, for Azure npm; LONG=1: fifty kills)
	python3 scripts/environment.py target/stores tests/stores/requirements.txt
	test -e $(AZURITE) || ! command -v npm >/dev/null || npm install --silent --no-fund --no-audit --prefix target/azurite azurite@3.35.0
	$(CARGO) clippy --locked $(STORES) --lib --bins --test stores -- -D warnings
	if test -e $(AZURITE); then export HEAPLAKE_AZURITE=$(CURDIR)/$(AZURITE); fi; HEAPLAKE_STORES_PYTHON=$(CURDIR)/target/stores/bin/python $(CARGO) test --locked $(STORES) --lib --test stores -- $(if $(LONG),--include-ignored)

test-long: ## All tests in release mode, the long ones too, with many more random cases
	HEAPLAKE_CASES=$${HEAPLAKE_CASES:-20000} $(CARGO) test --release --locked --workspace --features heaplake/sql -- --include-ignored

test-notebooks: ## The tables in polars, pandas, pyarrow, DuckDB and Spark (needs Python with pip and Java 17; installs into target/notebooks)
	python3 scripts/environment.py target/notebooks tests/notebooks/requirements.txt
	HEAPLAKE_PYTHON=$(CURDIR)/target/notebooks/bin/python HEAPLAKE_NOTEBOOKS=all $(CARGO) test --locked -p heaplake --test answers -- notebooks

# One build of the binary with all features, in the profile that compiles the engine of SQL fastest.
test-fleet: ## Lints and tests of the Python package, of Ray, Spark, SQL over object stores (needs Python 3.10 or newer with pip, and Java 17; installs into target)
	python3 scripts/environment.py target/stores tests/stores/requirements.txt
	python3 scripts/environment.py target/fleet python/requirements.txt
	cd python && ../target/fleet/bin/ruff check . && ../target/fleet/bin/ruff format --check .
	$(CARGO) clippy --locked --profile sql $(ALL) --lib --bins --test stores --test fleet -- -D warnings
	HEAPLAKE_STORES_PYTHON=$(CURDIR)/target/stores/bin/python $(CARGO) test --locked --profile sql $(ALL) --lib --test stores --test fleet -- $(if $(LONG),--include-ignored)
	$(CARGO) build --quiet --locked --profile sql $(ALL)
	HEAPLAKE_STORES_PYTHON=$(CURDIR)/target/stores/bin/python PYTHONPATH=$(CURDIR)/python HEAPLAKE_BINARY=$${HEAPLAKE_BINARY:-$(CURDIR)/target/sql/heaplake} target/fleet/bin/python -m pytest -c python/pyproject.toml python/tests

test-deploy: ## Lints and tests of deploy/: pipelines, images, units, alerts, releases (needs Python 3.11 or newer with pip, systemd-analyze, bubblewrap, promtool; installs into target)
	python3 scripts/environment.py target/deploy deploy/requirements.txt
	cd deploy && ../target/deploy/bin/ruff check . && ../target/deploy/bin/ruff format --check .
	test -n "$$HEAPLAKE_BINARY" || $(CARGO) build --quiet --locked --profile sql $(ALL)
	cd deploy/tests && HEAPLAKE_BINARY=$${HEAPLAKE_BINARY:-$(CURDIR)/target/sql/heaplake} ../../target/deploy/bin/python -m pytest -c pytest.ini .

audit: ## Licences, banned and unused crates, sources of the dependencies (installs cargo-deny and cargo-machete if missing)
	command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	command -v cargo-machete >/dev/null || $(CARGO) install --locked cargo-machete
	$(CARGO) deny --locked check licenses bans sources
	$(CARGO) machete schemas crates stages pipeline tests benches/bench benches/generator

verdict: ## The score of the verdict over programs with known culprits (needs Node, npm, Java 17; FIELD=FOLDER: also the dumps of tests/verdicts/field.tsv)
	$(CARGO) build --quiet --release --locked
	tests/verdicts/programs/make.sh target/verdicts
	python3 scripts/verdict.py tests/verdicts/programs.tsv target/verdicts target/verdicts/lake --table target/verdicts/programs.md
	$(if $(FIELD),python3 scripts/verdict.py tests/verdicts/field.tsv $(FIELD) target/verdicts/lake --table target/verdicts/field.md)

bench: ## Speed, memory and inner loops on generated snapshots, into benches/RESULTS.md
	benches/bench.sh

bench-peers: ## The engine beside other programs on the same snapshots (needs node and npm)
	benches/peers/compare.sh

fuzz: ## Hostile inputs for SECONDS (600) in all, TARGETS or all (FUZZ_GUIDED=1: guided by coverage, with nightly Rust and cargo-fuzz)
	SECONDS_IN_ALL=$(or $(SECONDS),600) CARGO="$(CARGO)" fuzz/fuzz.sh $(TARGETS)

clean: ## Remove what was built, and the demo's run
	$(CARGO) clean
	rm -rf lake/release=none/snapshot=demo
	rmdir lake/release=none lake 2>/dev/null || true
