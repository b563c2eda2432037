# Two commands set up everything they need in .venv: `make demo` and `make test`.
# They need Python 3.11 or newer, make, and a Python package index; no GPU, no CUDA toolkit, no root.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# Neighbours share what they compile: each worker has a stretch of tests, and takes from another's when it is done.
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
LIT = $(BIN)/lit -j $(JOBS)
# OpenBLAS has a thread for each core in every process that imports numpy, and they wait by spinning.
test test-rest bugs test-torch test-versions test-few-versions attacks fuzz unit lit: export OPENBLAS_NUM_THREADS = 1
# How many times as many attacks `make attacks` makes as the tests.
ATTACKS ?= 5
# Of `make fuzz`.
SECONDS ?= 600
# What `make test-torch` installs: make test-torch TORCH=torch==2.13.0
TORCH ?= torch

# Other wheels are tested in environments of their own: .venv-4.7.1-cu13 has nvidia-cutlass-dsl[cu13]==4.7.1, and
# .venv-cu13 the newest for CUDA 13. Of these, `make test-versions` runs all kernels, and continuous integration a few.
VERSIONS := 4.6.0 4.6.3 4.7.1 4.7.1-cu13 4.8.0-cu13 4.8.1-cu13
FEW_VERSIONS := cu13 4.7.1-cu13 4.6.3
wheel = nvidia-cutlass-dsl$(if $(findstring cu13,$1),[cu13])$(addprefix ==,$(filter-out cu13,$(firstword $(subst -, ,$1))))
VERSION_TESTS := test/unit/ir/test_releases.py test/unit/driver/test_own_assembler.py
# What the releases differ in: atoms and conversions, the experimental API, tensor memory, clusters.
FEW_KERNELS := bit_tricks cluster_reduce device_print experimental_pipeline fp8_convert gemm_int8 gemm_sm80 inline_ptx \
  mma_fp8_sm120 tcgen05_gemm tma_multicast wgmma_registers

# Where `make docs` adds a version of the site.
SITE ?= build/site

.PHONY: help dev demo test test-torch unit lit gpu gpu-sanitize gpu-emulator web test-web lint format bench \
  bench-operations bench-lowering docs clean

help:
	@echo "make demo    compile examples/elementwise_add.py, every step into cutecc-out/"
	@echo "make dev     set up .venv for contributors, and run nothing"
	@echo "make test    lint, types, quick tests of every package; K=lowering: all tests of a part, no lint; SLOW=too"
	@echo "make test-rest  the tests that make test leaves out because they are slow, and the planted bugs"
	@echo "make bugs    the planted bugs"
	@echo "make test-all  everything: test SLOW=too, bugs, test-torch, test-versions, test-web"
	@echo "make attacks  ATTACKS=5 times as many attacks on what reads files of others"
	@echo "make fuzz    SECONDS=600 of attacks with inputs made at random"
	@echo "make nightly  test-all, attacks and fuzz, and all cases of what the others take a third of"
	@echo "make test-torch  the tests of torch tensors and of nvidia-cutlass-operators, with torch in .venv"
	@echo "make test-versions  all kernels with other wheels, in environments of their own: $(VERSIONS)"
	@echo "make test-few-versions  some kernels with fewer: $(FEW_VERSIONS); V=4.7.1: with these"
	@echo "make gpu     tests that need a CUDA GPU; with torch in .venv also those of tensors"
	@echo "make gpu-sanitize  the kernels under compute-sanitizer, on such a machine"
	@echo "make gpu-emulator  the kernels on such a machine and on the emulator, bit for bit"
	@echo "make docs    build the documentation as a site, in SITE=build/site"
	@echo "make web     build the report's page from web/ into the package; needs Node 20"
	@echo "make test-web    its types and tests, in Chromium; needs Node 20 and Chromium"
	@echo "make bench   compile time and memory against the stock compiler"
	@echo "make bench-operations  GEMMs beside torch's; needs a GPU and torch"
	@echo "make bench-lowering  kernels of the open lowering beside the wheel's; needs a GPU and torch"
	@echo "make wheels  the two distributions, cutecc-runtime and cutecc, into dist/"
	@echo "make clean   remove .venv, those of other wheels, and cutecc-out"

$(BIN)/.base: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cutecc needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(BIN)/.dev: $(BIN)/.base
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(BIN)/.torch: $(BIN)/.dev
	$(BIN)/python -m pip install --quiet $(TORCH)
	touch $@

$(BIN)/.docs: $(BIN)/.base
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

# The environment alone.
dev: $(BIN)/.dev

demo: $(BIN)/.base
	$(BIN)/cutecc compile examples/elementwise_add.py --dump-after=all --verbose

.PHONY: test-all test-rest bugs attacks fuzz nightly
nightly:
	$(MAKE) test-all
	$(MAKE) unit TESTS=nightly
	$(MAKE) attacks fuzz

# One after the other, whatever -j says: each takes all cores.
test-all:
	$(MAKE) test SLOW=too
	$(MAKE) bugs
	$(MAKE) test-torch
	$(MAKE) test-versions
	$(MAKE) test-web

# What has every day's tests attack cutecc more often: make attacks ATTACKS=100
attacks: $(BIN)/.dev bytecode
	CUTECC_ATTACKS=$(ATTACKS) $(PYTEST) $$(grep -rl --include='test_*.py' '^from attacks import' test/unit)

# Ten minutes of inputs that no day before has seen; what gets through is kept in test/unit/robustness/corpus.
fuzz: $(BIN)/.dev bytecode
	$(BIN)/python tools/fuzz.py --seconds $(SECONDS) $(ARGS)

# Pyright takes one core for as long as lit takes two: tests go on beside it. Of a part, what is slow is run too; with
# SLOW=too of all, in one run: what quick and slow tests share, such as traced kernels, is made once.
ifndef K
test: bytecode
	$(MAKE) -j 2 --output-sync=target lint quick-tests
else
# lit ends with status 2 where nothing matches, pytest with 5. Files of lit have hyphens where names of Python's have _.
test: bytecode
	@$(LIT) -D slow=too --filter '$(subst _,[-_],$(K))' test/lit; lit=$$?; \
	if [ $$lit != 0 ] && [ $$lit != 2 ]; then exit 1; fi; \
	$(PYTEST) -k '$(K)'; unit=$$?; \
	if [ $$lit = 2 ] && [ $$unit = 5 ]; then echo 'no test matched K=$(K)' >&2; exit 1; fi; \
	[ $$unit = 0 ] || [ $$unit = 5 ]
endif

# One after the other, and what they say is seen as it comes.
.PHONY: quick-tests
quick-tests:
	$(MAKE) --output-sync=none lit
	$(MAKE) --output-sync=none unit
	$(MAKE) --output-sync=none gpu

test-rest: bytecode
	$(LIT) -D slow=only test/lit
	$(MAKE) unit TESTS='slow and not nightly'
	$(MAKE) bugs

bugs: bytecode
	$(PYTEST) test/bugs

# Tests start hundreds of processes. Where Python is told to write no bytecode, each would compile the sources anew.
.PHONY: bytecode
bytecode: $(BIN)/.dev
	$(BIN)/python -m compileall -q cutecc test/unit tools

lint: $(BIN)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

# Rewriting the asserts of all modules would take each worker ten seconds: what fails is run once more, to explain it.
unit: TESTS ?= $(if $(SLOW),not nightly,not slow and not nightly)
unit: $(BIN)/.dev bytecode
	$(PYTEST) -m '$(TESTS)' --assert=plain $(TEST_FILES) || \
	  { $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; exit 1; }

# What `make test` leaves out, and says so, where there is no torch; conftest.py knows these words too.
test-torch: $(BIN)/.torch bytecode
	$(MAKE) unit TESTS=torch \
	  TEST_FILES="$$(grep -rlwE --include='test_*.py' 'torch|KERNEL_NAMES|names_in' test/unit | sort | tr '\n' ' ')"

# By the pip of .venv: making one in each takes longer than many of the packages.
.venv-%/.dev: pyproject.toml $(BIN)/.base
	$(PYTHON) -m venv --without-pip .venv-$*
	$(BIN)/python -m pip --python .venv-$*/bin/python install --quiet --editable '.[test-versions]' '$(call wheel,$*)'
	touch $@

VERSION_TARGETS := $(addprefix version-,$(sort $(VERSIONS) $(FEW_VERSIONS)))
.PHONY: test-versions test-few-versions $(VERSION_TARGETS)
test-versions: $(VERSIONS:%=version-%)
	$(PYTEST) test/versions

# Beside each other: one takes little more than a core.
test-few-versions: V ?= $(FEW_VERSIONS)
test-few-versions:
	$(MAKE) -j $(JOBS) --output-sync=target $(V:%=version-%) KERNELS='$(FEW_KERNELS)'

# Of an environment: whether releases.py is right, then KERNELS, or all of them.
$(VERSION_TARGETS): version-%: .venv-%/.dev bytecode
	.venv-$*/bin/python -m pytest -n 0 $(VERSION_TESTS)
	.venv-$*/bin/python -W ignore tools/version_kernels.py $(KERNELS)

lit: $(BIN)/.dev bytecode
	$(LIT) $(if $(SLOW),-D slow=too) test/lit

# Where there is no GPU, says that nothing ran.
gpu: $(BIN)/.dev
	$(BIN)/python -m pytest test/gpu $(ARGS)

# Memory errors and races on the GPU, as compute-sanitizer of a CUDA toolkit sees them.
gpu-sanitize: $(BIN)/.dev
	$(BIN)/python test/gpu/make_bundles.py build/gpu
	compute-sanitizer --tool memcheck --error-exitcode 9 $(BIN)/python test/gpu/launch_all.py build/gpu
	compute-sanitizer --tool racecheck --error-exitcode 9 $(BIN)/python test/gpu/launch_all.py build/gpu
	$(BIN)/python test/gpu/operations/make_operations.py build/gpu-operations --representative
	for tool in memcheck racecheck initcheck; do compute-sanitizer --tool $$tool --error-exitcode 9 \
	  $(BIN)/python test/gpu/operations/launch_operations.py build/gpu-operations || exit; done
	for tool in memcheck racecheck; do PYTORCH_NO_CUDA_MEMORY_CACHING=1 GPU_OPERATIONS=build/gpu-operations \
	  compute-sanitizer --tool $$tool --error-exitcode 9 --kernel-name kernel_substring=grouped \
	  --kernel-name kernel_substring=conv $(BIN)/python -m pytest test/gpu/operations/test_layers.py || exit; done

# What tools/emulator_table.py makes the table of docs/emulator.md of.
gpu-emulator: $(BIN)/.dev
	$(BIN)/python test/gpu/make_bundles.py build/gpu
	$(BIN)/python test/gpu/against_emulator.py build/gpu build/against_emulator.jsonl

# The page of `cutecc report`. What it builds is committed, so that installing needs no Node.
web: web/node_modules/.installed
	cd web && npm run --silent build

test-web: $(BIN)/.base web/node_modules/.installed
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$$name" >/dev/null && exit; done; \
	echo "the page is tested in Chromium: install it (Debian: apt-get install chromium), or name it in CHROMIUM" >&2; exit 1
	cd web && npm run --silent types
	cd web && npm run --silent unit
	cd web && npm run --silent check-built
	cd web && npm run --silent page

web/node_modules/.installed: web/package-lock.json
	@command -v npm >/dev/null || { echo "the page is built with Node 20: install it (Debian: apt-get install nodejs npm)" >&2; exit 1; }
	cd web && npm ci --no-audit --no-fund
	touch $@

# The same tree gives the same bytes, with the same hatchling and whatever clock and umask.
.PHONY: wheels
wheels: $(BIN)/.dev
	$(BIN)/python tools/wheels.py dist

# Links and anchors that lead nowhere are errors.
docs: $(BIN)/.docs
	$(BIN)/python tools/build_site.py $(SITE)

format: $(BIN)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BIN)/.dev
	$(BIN)/python tools/bench.py $(ARGS)
	$(BIN)/python tools/bench_emulator.py $(ARGS)
	$(BIN)/python tools/bench_report.py $(ARGS)
	$(BIN)/python tools/bench_watch.py $(ARGS)
	$(BIN)/python tools/bench_lowering_cost.py $(ARGS)
	$(BIN)/python tools/bench_blackwell_code.py $(ARGS)
	$(BIN)/python tools/bench_reduce.py $(ARGS)

# The first half needs no GPU: its folder can be carried to a machine with one, which needs no compiler.
bench-operations: $(BIN)/.dev
	$(BIN)/python tools/bench_operations.py --compile build/bench-operations
	$(BIN)/python tools/bench_operations.py --run build/bench-operations --json build/bench-operations.json $(ARGS)

# As bench-operations: the first half needs no GPU, the second no compiler.
bench-lowering: $(BIN)/.dev
	$(BIN)/python tools/bench_lowering.py --compile build/bench-lowering
	$(BIN)/python tools/bench_lowering.py --run build/bench-lowering --json build/bench-lowering.json
	$(BIN)/python tools/bench_lowering.py --json build/bench-lowering.json $(ARGS)
	$(BIN)/python tools/bench_transform.py --compile build/bench-transform
	$(BIN)/python tools/bench_transform.py --run build/bench-transform --json build/bench-transform.json
	$(BIN)/python tools/bench_transform.py --json build/bench-transform.json $(ARGS)

clean:
	rm -rf $(VENV) .venv-* cutecc-out
