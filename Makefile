# Suffice: `make serve` runs it, `make test` tests it. Both prepare what they need; the second run takes seconds.
SHELL := /bin/sh
.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
PROCESSES ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)  # some wait while others compute
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header

.PHONY: help serve test lint format bench browser peers lock migration clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

serve: $(VENV)/.runtime ## Start the service and its own PostgreSQL (SUFFICE_HOST, SUFFICE_PORT, SUFFICE_DATA_DIR, DATABASE_URL)
	@exec $(BIN)/suffice serve

test: export PYTHONDONTWRITEBYTECODE :=  # dozens of processes start: the code is compiled once for all
test: export OPENBLAS_NUM_THREADS := 1  # each process has a core; more threads would compete for it
test: $(VENV)/.development ## Run the whole suite on an embedded PostgreSQL (ARGS="-k lease" to choose)
	@$(BIN)/pytest --numprocesses $(PROCESSES) --dist loadgroup --no-loadscope-reorder $(ARGS)

lint: $(VENV)/.development ## Check style, formatting, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.development ## Format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.development ## Measure; each figure is a ratio to a reference taken in the same run
	@for script in bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

browser: ## Install what the browser and README tests need: Debian's chromium and curl (as root)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null && command -v curl >/dev/null || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver curl fonts-dejavu-core; }

peers: $(VENV)/.peers ## Install crowd-kit, which the aggregations are compared with (large: it brings torch)

lock: $(VENV)/.development ## Pin the dependencies again after a change of pyproject.toml
	$(BIN)/pip install --quiet uv
	$(BIN)/$(LOCK) pyproject.toml -o requirements.txt
	$(BIN)/$(LOCK) --extra dev -c requirements.txt pyproject.toml -o requirements-dev.txt

migration: $(VENV)/.development ## Draft a migration from the tables (NAME="add workers")
	$(BIN)/python migrations/draft.py "$(NAME)"

clean: ## Remove the virtual environment and the caches; the data folder stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Suffice needs Python 3.11 or newer; point PYTHON at one: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Creating the virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "$(PYTHON) cannot create virtual environments; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.runtime: $(VENV)/bin/python requirements.txt pyproject.toml
	@echo "Installing what the service needs (first time only) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.development: $(VENV)/.runtime requirements-dev.txt
	@echo "Installing what the tests need (first time only) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

$(VENV)/.peers: $(VENV)/.development
	@echo "Installing crowd-kit (large, first time only) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	@$(BIN)/pip install --quiet --disable-pip-version-check crowd-kit==1.4.2
	@touch $@
