# Everything happens in .venv/ and .venv-peers/; nothing outside this folder is changed except the model cache.
#
#   PYTHON       which Python (3.11 or newer) makes the environment
#   TORCH_INDEX  a further package index for PyTorch alone; empty means the index that pip uses anyway.
#                PyPI's Linux wheels carry CUDA and are large; the index of processor-only builds that
#                PyTorch's installation page names is enough.
#   MODEL        the language model of `make run`
#   DEMO         the folder of its run; a change of documents, model or code needs a new one

PYTHON ?= python3
TORCH_INDEX ?=
MODEL ?= qwen2.5-coder-0.5b
MODELS := $(MODEL) all-minilm-l6-v2 en-core-web-sm

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := $(VENV)/.tools
PIP := $(BIN)/python -m pip --disable-pip-version-check
DEMO ?= out/demo
PEERS := $(patsubst tests/peers/requirements/%.txt,.venv-peers/%/.installed,$(wildcard tests/peers/requirements/*.txt))

.DEFAULT_GOAL := help
.PHONY: help install run test test-faults test-peers lint bench

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## Make .venv/ with what running needs

# PyTorch comes first, so that its index serves nothing else.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'groundset needs Python 3.11 or newer: make install PYTHON=python3.11' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(TOOLS): $(STAMP)
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

run: install ## Make a small evaluation set of the sample documents, and a report on it, in out/demo/
	$(BIN)/groundset models pull $(MODELS) >/dev/null
	$(BIN)/groundset generate data/company data/samples --size 8 --lm $(MODEL) --out $(DEMO) || [ $$? -eq 3 ]
	rm -rf $(DEMO)/autorag $(DEMO)/hub
	$(BIN)/groundset export $(DEMO) --format autorag --out $(DEMO)/autorag
	$(BIN)/groundset push $(DEMO) --repo you/demo --licence apache-2.0 --out $(DEMO)/hub
	$(BIN)/groundset report $(DEMO)

lint: $(TOOLS) ## Add the tools of development to .venv/, and check style, types and the layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint ## Check everything: lint, and tests with a small real model
	$(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test-faults: $(TOOLS) ## Kill runs at random moments (KILLS=20), in half an hour
	$(BIN)/pytest -m fault -s -o faulthandler_timeout=7200 tests

test-peers: $(TOOLS) $(PEERS) ## Load exports with the tools that they are for (3 GB in .venv-peers/)
	$(BIN)/pytest -m peer tests/peers

# Every package is named with its version, so nothing else comes along.
.venv-peers/%/.installed: tests/peers/requirements/%.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r $<
	@touch $@

bench: $(TOOLS) ## Measure the engines of a corpus
	$(BIN)/python benchmarks/engines.py
