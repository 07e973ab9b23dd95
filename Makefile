# Every target does its own set-up: on a machine with git, make and Python 3.11+, `make demo` is enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# One file, one process: the examples of a document build on each other. More processes than processors: most tests wait, for a
# chain, a worker or a browser. Files are handed out in the order of collection: tests/conftest.py puts the longest first.
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-deep test-times test-network network weight check bench mutants mutants-contract mutants-python prove faults membership audit-power evaluation screenshots map contract setup lock format clean

demo: setup ## run the main job
	@$(BIN)/noiseledger demo

test: setup ## pass every test but the deep repetitions; make test ORDER=7 shuffles them
	@$(PYTEST) -n 4

test-deep: setup ## pass every test, with more samples, examples, schedules and configurations; takes an hour
	@$(PYTEST) -n 4 -m "" --hypothesis-profile deep --timeout 3600

test-times: setup ## measure the processor time of each folder of tests, one after the other
	@$(BIN)/python scripts/measure_tests.py

test-network: setup ## pass every test of a network of go-ethereum nodes; needs Go, and minutes to build them the first time
	@# In a folder with a short name: sockets have paths of about a hundred characters at most.
	@$(PYTEST) -n 3 --basetemp "$$(mktemp -d /tmp/nl-XXXXXX)" tests/network

check: setup ## lint, formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup ## print the benchmarks, ratios side by side
	@$(BIN)/python -m benchmarks

mutants: mutants-contract mutants-python ## change the code in small ways, one at a time; a test must fail each time

mutants-contract: setup ## the contract, line by line: every change
	@$(BIN)/python scripts/mutate_contract.py

mutants-python: setup ## the Python modules that carry the promise: 150 changes; make mutants-python SEED=7 SAMPLE=40 MODULES="core custodian"
	@$(BIN)/python scripts/mutate_python.py --seed $(or $(SEED),0) --sample $(or $(SAMPLE),150) $(MODULES)

prove: setup ## prove on the compiled contract what it keeps, by symbolic execution; make prove ONLY="ask reveal"
	@$(BIN)/python scripts/prove_contract.py $(ONLY)

faults: setup ## play 500 random schedules of faults against real workers and a real chain
	@NOISELEDGER_FAULT_SCHEDULES=500 $(BIN)/python -m pytest -q -n 4 --dist worksteal tests/faults/worker

membership: setup ## attack the whole system, and weakened copies of it: the epsilon that is proved, next to the promise
	@$(BIN)/python scripts/membership.py

audit-power: setup ## simulate dishonest workers, and write into the audit's guide how many numbers catch each half of the time
	@$(BIN)/python -m benchmarks.audit_power

weight: setup ## measure how large an installation is for each role, and the processor time of free commands
	@$(BIN)/python scripts/weight.py

network: setup ## measure three validators next to a development node: waiting, throughput, idle processor time
	@$(BIN)/python scripts/measure_network.py

evaluation: setup ## run all experiments, and write their results into docs/explanation/evaluation.md
	@$(BIN)/python -m evaluation.page

screenshots: setup ## take a picture of every web page, light and dark, mobile and desktop, into build/screenshots
	@$(BIN)/python scripts/screenshots.py

map: setup ## write the map of the package, the scripts and the layers into CONTRIBUTING.md
	@$(BIN)/python scripts/module_map.py

contract: setup ## compile the contracts into the artifacts beside them, after a change of a .vy file
	@$(BIN)/python scripts/compile_contract.py

setup: $(READY) ## only prepare the environment, in .venv

$(READY): pyproject.toml requirements/dev.lock requirements/node.lock
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("noiseledger needs Python 3.11 or newer, this is %d.%d: try make PYTHON=python3.12" % v)'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "This Python has no venv module: on Debian, apt-get install python3-venv"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep -o '^uv==[^ ]*' requirements/dev.lock)"
	@# Compiled once, here: with PYTHONDONTWRITEBYTECODE, as in many containers, every process would do it again, for seconds.
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes requirements/dev.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src evaluation
	@# The local chain comes from npm; where the machine has none, npm itself comes from PyPI.
	@command -v npm >/dev/null || VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements/node.lock
	@touch $@

lock: setup ## resolve the development dependencies anew
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip compile pyproject.toml --all-extras --group dev requirements/build.in --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make lock" --upgrade --quiet --output-file requirements/dev.lock
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip compile requirements/proof.in --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make lock" --upgrade --quiet --output-file requirements/proof.lock

format: setup ## format the code with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove everything that was generated
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build bench-results
