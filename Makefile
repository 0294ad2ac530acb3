# `make demo` shows the main job on real input; `make test` checks everything. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

DIFFERENTIAL := .venv-differential

.PHONY: help setup demo test check unit format lock audit proto bench differential clean

help: ## what can be done here
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1|/' | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.ready: requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "SpanJudge needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "This Python has no venv module (on Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: $(VENV)/.ready ## create .venv with locked dependencies

demo: setup ## start the real server, send it recorded-shape sessions, show the verdicts
	@$(BIN)/spanjudge demo

test: check unit ## lint, types, import contracts, and all tests

check: setup ## lint, types and import contracts only
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: setup ## tests only
	$(BIN)/pytest

format: setup ## rewrite the code in house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## the product beside a no-op and a naive server (see docs/performance.md)
	$(BIN)/python -m benchmarks

$(DIFFERENTIAL)/.ready: $(VENV)/.ready requirements/differential.lock
	$(PYTHON) -m venv $(DIFFERENTIAL)
	$(BIN)/uv pip install --quiet --python $(DIFFERENTIAL)/bin/python --require-hashes -r requirements/differential.lock
	@touch $@

differential: $(DIFFERENTIAL)/.ready ## compare with another reader of the same telemetry, in a venv of its own
	$(BIN)/pytest tests/differential

proto: setup ## regenerate collector/otlp/*_pb2.py from the .proto files
	PATH=$(BIN):$$PATH $(BIN)/python -m grpc_tools.protoc -I . --python_out=. --mypy_out=. collector/otlp/wire.proto collector/otlp/telemetry.proto

lock: setup ## pin the newest allowed dependencies
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --upgrade --custom-compile-command "make lock" --extra dev pyproject.toml -o requirements/dev.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --upgrade --custom-compile-command "make lock" pyproject.toml -o requirements/run.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --upgrade --custom-compile-command "make lock" -c requirements/dev.lock requirements/build.in -o requirements/build.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --upgrade --custom-compile-command "make lock" --group pyproject.toml:differential -o requirements/differential.lock

audit: setup ## known vulnerabilities of what is installed; asks PyPI, or OSV
	$(BIN)/python -m tests.dependency_audit

clean: ## remove what was set up
	rm -rf $(VENV) $(DIFFERENTIAL) .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-data
