# Commands of this repository; `make` alone lists them. Works with GNU make 3.81 and newer.

VENV := .venv
PY := $(VENV)/bin/python
CODE = $(wildcard examples scripts tests)

# What `make demo` passes on.
SECONDS ?= 60
RATE ?= 150
TRIGGER ?= real-time
COMPARE ?=
MASTER ?=
CLUSTER ?=

# What `make bench-postgres-sink` passes on.
EFFORT ?= 1
KEEP ?=

# What `make bench`, `make bench-engine-only`, `make bench-throughput`, `make bench-tuning` and `make bench-other-engines` pass on, for instance BENCH="--only stateful --repeats 5".
QUICK ?=
BENCH ?=

# What `make test` passes on, for instance: make test TESTS="tests/services -k kafka"
TESTS ?=

DEMO_OPTIONS = $(if $(SECONDS),--seconds $(SECONDS)) $(if $(RATE),--rate $(RATE)) $(if $(TRIGGER),--trigger $(TRIGGER)) \
	$(if $(filter-out 0,$(COMPARE)),--compare) $(if $(MASTER),--master $(MASTER)) $(if $(filter-out 0,$(CLUSTER)),--cluster)

BENCH_OPTIONS = $(if $(filter-out 0,$(QUICK)),--quick) $(if $(filter-out 0,$(KEEP)),--keep) $(BENCH)

# Prints the requirements of the project and of the groups that are named, for pip; pip alone would build a wheel of it.
define REQUIREMENTS
import pathlib, sys, tomllib
project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
groups = [project["optional-dependencies"][name] for name in sys.argv[1:]]
print(*project["dependencies"], *sum(groups, []), sep="\n")
endef
export REQUIREMENTS

define NO_PACKAGES

Cannot install the Python packages of constraints.txt, so nothing here can run.
pip's own message is above. Let it reach a package index once (PIP_INDEX_URL names a mirror),
or fetch the wheels elsewhere with `pip download -r constraints.txt -d DIR` and set PIP_NO_INDEX=1 PIP_FIND_LINKS=DIR.
endef
export NO_PACKAGES

define NO_PYTHON
No Python 3.11 or newer with the module venv was found, so nothing here can run.
Install one (on Debian also the package python3-venv), or name it: make setup PYTHON=/path/to/python3.11
endef
export NO_PYTHON

# Installs the project's requirements and those of the group that is named; what is there already needs no network.
install = $(PY) -c "$$REQUIREMENTS" $(1) > $(VENV)/requirements.txt && { \
	$(PY) -m pip install --quiet --disable-pip-version-check --retries 2 -c constraints.txt -r $(VENV)/requirements.txt \
	|| { echo "$$NO_PACKAGES" >&2; exit 1; }; }

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup packages demo bench bench-engine-only bench-throughput bench-tuning bench-other-engines bench-postgres-sink services generate validate site serve test check format clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-19s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/installed packages ## create .venv, find or install Java, fetch the Kafka packages (demo and test do it too)

$(VENV)/bin/python:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python; do \
		if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
			echo "Python: creating $(VENV) with $$($$python --version)"; \
			exec $$python -m venv --clear $(VENV); \
		fi; \
	done; echo "$$NO_PYTHON" >&2; exit 1

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Python packages to run the examples: installing into $(VENV)"
	@$(call install,)
	@$(PY) -m examples.services.java --machine > /dev/null || { \
		echo "Java 17 or newer: none on this machine, installing a runtime into $(VENV)"; $(call install,java); }
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "Python packages to test them: installing into $(VENV)"
	@$(call install,dev)
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	@echo "Python packages for the charts: installing into $(VENV)"
	@$(call install,bench)
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	@echo "Python packages for the site: installing into $(VENV)"
	@$(call install,docs)
	@touch $@

packages: $(VENV)/installed
	@$(PY) -m examples.services.packages

demo: setup ## run the pipeline; SECONDS=60 RATE=200 TRIGGER=real-time|micro-batch COMPARE=1 MASTER=spark://... CLUSTER=1
	@$(PY) -m examples.attribution.demo $(DEMO_OPTIONS)

bench: setup $(VENV)/installed-bench ## measure the latency of each execution mode; QUICK=1 takes minutes, KEEP=1 updates references/measured
	@$(PY) -m examples.benchmarks.latency $(BENCH_OPTIONS)

bench-engine-only: setup $(VENV)/installed-bench ## measure the engine alone, from a rate of records to a statistic, without Kafka; QUICK=1, KEEP=1
	@$(PY) -m examples.benchmarks.engine_only $(BENCH_OPTIONS)

bench-throughput: setup $(VENV)/installed-bench ## find the rate that each mode sustains, and its latency below it; QUICK=1, KEEP=1
	@$(PY) -m examples.benchmarks.throughput $(BENCH_OPTIONS)

bench-tuning: setup $(VENV)/installed-bench ## turn one knob of real-time mode at a time; QUICK=1, KEEP=1
	@$(PY) -m examples.benchmarks.tuning $(BENCH_OPTIONS)

bench-other-engines: setup $(VENV)/installed-bench ## measure Kafka Streams, Flink and Quix Streams beside real-time mode; QUICK=1, KEEP=1
	@$(PY) -m examples.benchmarks.other_engines $(BENCH_OPTIONS)

bench-postgres-sink: setup $(VENV)/installed-bench ## measure the PostgreSQL sink; KEEP=1 updates references/measured, EFFORT=0.2 is a quick look
	@$(PY) -m examples.benchmarks.postgres_sink --effort $(EFFORT) $(if $(filter-out 0,$(KEEP)),--keep)

services: setup ## keep a Kafka broker and a PostgreSQL server up and print their addresses until Ctrl-C
	@$(PY) -m examples.services

generate: $(VENV)/installed ## write the excerpts, tables and the manifest anew
	@$(PY) scripts/skills.py generate

validate: $(VENV)/installed-dev ## check pages, links, manifest, skill and advice; silence means success
	@$(PY) scripts/skills.py validate

site: $(VENV)/installed-docs ## build the site into site/; every warning is an error
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet

serve: $(VENV)/installed-docs ## show the site on this machine and build it anew when a page changes
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs serve

test: check packages ## run everything that CI runs; TESTS="tests/services -k kafka" runs a part
	$(PY) -m pytest $(TESTS)

check: $(VENV)/installed-dev ## look for errors without running anything: lint, format, types
	$(VENV)/bin/ruff check $(CODE)
	$(VENV)/bin/ruff format --check $(CODE)
	$(VENV)/bin/mypy $(CODE)

format: $(VENV)/installed-dev ## rewrite the code in the common format
	$(VENV)/bin/ruff check --fix $(CODE)
	$(VENV)/bin/ruff format $(CODE)

clean: ## remove .venv and what tools left behind; the fetched Kafka packages stay in the user's cache
	rm -rf $(VENV) build site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find examples tests -name __pycache__ -type d -prune -exec rm -rf {} +
