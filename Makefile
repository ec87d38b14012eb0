# Everything happens in .venv/ and .venv-peers/; nothing outside this folder is changed except the model cache.
#
#   PYTHON       which Python (3.11 or newer) makes the environment
#   TORCH_INDEX  a further package index for PyTorch alone; empty means the index that pip uses anyway.
#                PyPI's Linux wheels carry CUDA and are large; the index of processor-only builds that
#                PyTorch's installation page names is enough.
#   MODEL        the language model of `make run`
#   COMPILED     the critics of `make run`: shipped for the compiled ones, none for those set by hand
#   DEMO         the folder of its run; a change of documents, model or code needs a new one

PYTHON ?= python3
TORCH_INDEX ?=
MODEL ?= qwen2.5-coder-0.5b
COMPILED ?= shipped
EMBEDDER := all-minilm-l6-v2
PARSER := en-core-web-sm

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
DEMO ?= out/demo
PEERS := $(patsubst tests/peers/requirements/%.txt,.venv-peers/%/.installed,$(wildcard tests/peers/requirements/*.txt))

.DEFAULT_GOAL := help
.PHONY: help install run test test-faults test-peers lint bench bench-critics bench-compile bench-corpus bench-hostile bench-recipes bench-scale bench-search bench-workers compile ui

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## Make .venv/ with everything in it

# PyTorch comes first, so that its index serves nothing else.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'groundset needs Python 3.11 or newer: make install PYTHON=python3.11' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

run: install ## Make a small evaluation set from data/samples/ and a report on it, in out/demo/
	$(BIN)/groundset models pull $(MODEL) $(EMBEDDER) $(PARSER) >/dev/null
	$(BIN)/groundset generate data/samples --size 8 --lm $(MODEL) --compiled $(COMPILED) --out $(DEMO) || [ $$? -eq 3 ]
	$(BIN)/groundset export $(DEMO) --format autorag --out $(DEMO)/autorag
	$(BIN)/groundset push $(DEMO) --repo you/demo --licence apache-2.0 --dry-run $(DEMO)/hub
	$(BIN)/groundset report $(DEMO)

lint: install ## Check style, types and the layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint ## Check everything: lint, tests with a small real model, the wheel
	$(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test-faults: install ## Kill, fill and cut off what runs need (KILLS=100), in three quarters of an hour
	$(BIN)/pytest -m fault -s -o faulthandler_timeout=7200 tests/faults tests/groundset/executors

test-peers: install $(PEERS) ## Load exports with the tools that they are for (3 GB in .venv-peers/)
	$(BIN)/pytest -m peer tests/peers

# Every package is named with its version, so nothing else comes along.
.venv-peers/%/.installed: tests/peers/requirements/%.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r $<
	@touch $@

compile: install ## Fit the critics in data/compiled/ to data/labels/ again
	$(BIN)/groundset compile all --out data/compiled

ui: install ## Show tracked compiles and runs in a browser, on this machine only
	$(BIN)/groundset ui

bench-critics: install ## Measure the critics on the test rows of data/labels/, and compare kinds of heads
	$(BIN)/python benchmarks/critics.py
	$(BIN)/python benchmarks/heads.py

bench-compile: install ## Compile the step answer of MODEL with labeled and print what it gains
	$(BIN)/python benchmarks/compiles.py --lm $(MODEL)

bench-hostile: install ## Attack groundset with hostile documents, runs, weights and servers, in half an hour
	$(BIN)/python benchmarks/hostile.py

bench-recipes: install ## Run every recipe and evolution with MODEL over data/samples/ and print what a sample costs
	$(BIN)/python benchmarks/recipes.py --lm $(MODEL)

bench-scale: bench-workers bench-search bench-corpus ## Measure what limits large runs, in half a day

bench-workers: install ## Measure how busy a run keeps 1, 8 and 64 workers, and the processor time of the driver, in half an hour
	$(BIN)/python benchmarks/scale.py

bench-search: install ## Measure exact and approximate search of up to a million vectors, in 15 minutes and 3 GB
	$(BIN)/python benchmarks/search_scale.py

bench-corpus: install ## Prepare corpora of 10,000 to 100,000 chunks with the local executor and with Ray, in some hours and 6 GB
	$(BIN)/python benchmarks/corpus_scale.py

bench: install ## Print the figures of benchmarks/README.md
	@for script in $(filter-out benchmarks/compiles.py benchmarks/corpus_scale.py benchmarks/hostile.py benchmarks/recipes.py benchmarks/scale.py benchmarks/search_scale.py,$(wildcard benchmarks/[!_]*.py)); do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done
