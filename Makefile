# The commands of this repository; `make` lists them. Works with GNU make 3.81 and newer.

VENV := .venv
PY := $(VENV)/bin/python
CODE = $(wildcard spark_rtm examples benchmarks scripts evals tests)

# Options of the demonstration and the benchmarks; an empty one keeps the program's default, which `--help` shows.
DURATION ?=
RATE ?=
# Options of the demonstration.
TRIGGER ?=
PYTHON_TRIGGER ?=
COMPARE ?=
TABLE ?=
MASTER ?=
CLUSTER ?=
# Options of the demonstration under faults, which also has CLUSTER and PUBLISH, and further ones, for example: make chaos CHAOS="--count 20"
SEED ?=
STANDBY ?=
CHAOS ?=
FAULTS ?=
# Options of the benchmarks. PUBLISH also belongs to `make demo COMPARE=1`.
QUICK ?=
PUBLISH ?=
FILTER ?=
# Further options of a benchmark, for example: make bench BENCH="--repeats 5"
BENCH ?=
# The command of an assistant, which answers the evaluations, and further options, for example: make evals EVALS="--help"
ASSISTANT ?=
EVALS ?=
# The tests to run, for example: make test TESTS="tests/services -k kafka"
TESTS ?=
# The number of processes that run tests side by side. Each of them starts the Spark session and the servers that its
# tests need, which takes CPU time. Many tests wait, so there are more processes than cores. On two cores, three and four
# processes take the same time. Use 2 on a machine with less than 16 GB.
WORKERS ?= 3
# One worker runs all tests of a file, because they share fixtures; tests/suite.py sorts the files.
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder

is_set = $(filter-out 0,$(1))
SHARED_OPTIONS = $(if $(DURATION),--duration $(DURATION)) $(if $(RATE),--rate $(RATE)) $(if $(call is_set,$(PUBLISH)),--publish)
DEMO_OPTIONS = $(SHARED_OPTIONS) $(if $(TRIGGER),--trigger $(TRIGGER)) $(if $(PYTHON_TRIGGER),--python-trigger $(PYTHON_TRIGGER)) \
	$(if $(call is_set,$(COMPARE)),--compare) $(if $(MASTER),--master $(MASTER)) $(if $(call is_set,$(CLUSTER)),--cluster) \
	$(if $(TABLE),--table $(TABLE)) $(if $(call is_set,$(EXACTLY_ONCE)),--exactly-once $(EXACTLY_ONCE))
CHAOS_OPTIONS = $(SHARED_OPTIONS) $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS)) \
	$(if $(PYTHON_TRIGGER),--python-trigger $(PYTHON_TRIGGER)) $(if $(call is_set,$(CLUSTER)),--cluster) \
	$(if $(call is_set,$(STANDBY)),--standby) $(if $(call is_set,$(EXACTLY_ONCE)),--exactly-once $(EXACTLY_ONCE)) $(CHAOS)
BENCH_OPTIONS = $(SHARED_OPTIONS) $(if $(call is_set,$(QUICK)),--quick) $(if $(FILTER),--filter "$(FILTER)") $(BENCH)

define NO_PACKAGES

pip could not install the packages of requirements/, so no command of this repository can run; its message is above.
Give pip access to a package index (PIP_INDEX_URL selects a mirror), or download the wheels on another machine with
`cat requirements/*.txt > all.txt && pip download --no-deps -r all.txt -d DIR` and set PIP_NO_INDEX=1 PIP_FIND_LINKS=DIR.
The files must be those of the public index, because pip compares their hashes.
endef
export NO_PACKAGES

define NO_PYTHON
No Python 3.11 or newer with the module venv was found, so no command of this repository can run.
Install one (on Debian also the package python3-venv), or select one: make setup PYTHON=/path/to/python3.11
endef
export NO_PYTHON

# Installs the named files of requirements/, which contain the hash of every package. Installed packages need no network.
# Only Spark is published without a wheel; its build uses the packages of build.txt, which the second call does not fetch.
PROGRESS = $(PY) -m scripts.progress
PIP_INSTALL = $(PROGRESS) "  Python packages" $(PY) -m pip install --disable-pip-version-check --retries 2 --require-hashes --only-binary :all:
install = { $(PIP_INSTALL) -r requirements/build.txt && \
	$(PIP_INSTALL) --no-binary pyspark --no-build-isolation $(1:%=-r requirements/%.txt); } \
	|| { echo "$$NO_PACKAGES" >&2; exit 1; }

# The commands that `make` lists.
FIRST = quickstart demo check test generate help-all
# Prints the commands in `names` without their options, or all commands, in lines of at most 120 columns.
define LISTED
/^[a-z-]+:.*## / && (!names || index(names, " " $$1 " ")) {
  if (names) sub(/;.*/, "", $$2)
  line = sprintf("make %-23s", $$1)
  count = split($$2, words, " ")
  for (i = 1; i <= count; i++) {
    if (length(line words[i]) >= 120) { print line; line = sprintf("%28s", "") }
    line = line " " words[i]
  }
  print line
}
endef
export LISTED

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help help-all setup packages quickstart demo chaos prove-examples bench radar services evals generate validate commits site serve wheel job-archive release-check release-files test test-unit check lint format plugin clean

help:
	@awk -F ':.*## ' -v names=" $(FIRST) " "$$LISTED" $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/installed packages $(VENV)/archives ## create .venv, find or install Java, fetch the Kafka packages (other commands do it when needed)

$(VENV)/bin/python:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python; do \
		if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
			echo "Python: creating $(VENV) with $$($$python --version)"; \
			exec $$python -m venv --clear $(VENV); \
		fi; \
	done; echo "$$NO_PYTHON" >&2; exit 1

$(VENV)/installed-build: requirements/build.txt | $(VENV)/bin/python
	@echo "Installing the Python packages that build the wheel into $(VENV)"
	@$(PIP_INSTALL) -r requirements/build.txt || { echo "$$NO_PACKAGES" >&2; exit 1; }
	@touch $@

$(VENV)/installed: $(wildcard requirements/*.txt) | $(VENV)/bin/python
	@echo "The first run downloads about 600 MB, mostly Spark, and needs 1.3 GB of disk; later runs need no network."
	@echo "Installing Spark and the other Python packages into $(VENV) (550 MB)"
	@$(call install,base)
	@$(PY) -m spark_rtm.services java --system-only > /dev/null || { \
		echo "No Java 17 or newer was found: installing a runtime into $(VENV)"; $(call install,java); }
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "Installing the Python packages of the tests into $(VENV)"
	@$(call install,base java bench docs dev)
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	@echo "Installing the Python packages of the charts into $(VENV)"
	@$(call install,base bench)
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	@echo "Installing the Python packages of the site into $(VENV)"
	@$(call install,base docs)
	@touch $@

packages: $(VENV)/installed
	@$(PROGRESS) "Kafka broker and Spark's Kafka and Avro jars (55 MB)" $(PY) -m spark_rtm.services packages

$(VENV)/archives: $(VENV)/installed | packages
	@$(PROGRESS) "Creating archives of the classes of Kafka and Spark, once, so that both start in half the time" \
		$(PY) -m spark_rtm.services archives
	@touch $@

quickstart: setup ## send ten records through one query in both modes (1 min, the first time 3 min)
	@$(PY) -m examples.quickstart

demo: setup ## run the whole pipeline, then reconcile; DURATION=seconds RATE=records/s TRIGGER=real-time|micro-batch PYTHON_TRIGGER=real-time COMPARE=1 TABLE=parquet|delta CLUSTER=1 MASTER EXACTLY_ONCE=1 PUBLISH=1
	@$(PY) -m examples.attribution.demo $(DEMO_OPTIONS)

chaos: setup ## run the pipeline under random faults, and check that nothing is lost or wrong; DURATION RATE SEED FAULTS=kill-broker,... PYTHON_TRIGGER=real-time CLUSTER=1 STANDBY=1 EXACTLY_ONCE=1 PUBLISH=1
	@$(PY) -m benchmarks.chaos $(CHAOS_OPTIONS)

bench: bench-latency ## short for bench-latency; QUICK=1 measures two modes, once each

bench-latency: ## compare the latency of all execution modes; DURATION RATE QUICK=1 FILTER PUBLISH=1 BENCH=--help
bench-throughput: ## find the highest rate that each mode sustains; options as for bench-latency
bench-growth: ## measure how cost grows with rate, state and size (1 h); QUICK=1 FILTER=dimension PUBLISH=1
bench-other-engines: ## compare with Kafka Streams and Flink; BENCH=--long-interval or BENCH=--limits for two other measurements
bench-drains: ## measure how long a stop without repeated results takes, even if jobs are killed during it; QUICK=1 PUBLISH=1 BENCH=--cluster
bench-kills: ## kill a job that writes exactly once, at each step of its protocol, and count its results; BENCH="--series 30 --kills 10", --cluster or --broker

bench-%: setup $(VENV)/installed-bench
	@$(PY) -m benchmarks $* $(BENCH_OPTIONS)

prove-examples: setup ## prove the queries of this repository, and write the verdicts to build/prove_examples.json (10 min)
	@$(PY) -m scripts.prove_examples

radar: setup ## run the feature tables on another version of PySpark, and print the differences from the previous version; VERSION=4.2.0
	@$(PY) -m scripts.radar $(VERSION)

services: setup ## run a Kafka broker and a PostgreSQL server until Ctrl-C, and print their addresses
	@$(PY) -m spark_rtm.services

evals: setup ## check the evaluations of the skill, or let an assistant answer them; ASSISTANT='command' EVALS="--only questions"
	@$(PY) -m evals $(if $(ASSISTANT),--assistant '$(ASSISTANT)') $(EVALS)

generate: $(VENV)/installed ## regenerate excerpts, tables and the manifest
	@$(PY) scripts/skills.py generate

validate: $(VENV)/installed-dev ## check pages, links, manifest and skill; silence means success
	@$(PY) scripts/skills.py validate

commits: $(VENV)/installed-dev ## check that each commit since the last tag passes validate, at most the last 60
	@$(PY) -m scripts.commits

site: $(VENV)/installed-docs ## build the site into site/; every warning is an error
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

serve: $(VENV)/installed-docs ## serve the site on this machine and rebuild it when a page changes
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs serve

# An empty value lets Python write bytecode, even if the caller's environment forbids it. Otherwise each program that a
# test starts would compile this repository's modules again.
test test-unit: export PYTHONDONTWRITEBYTECODE =

test: lint packages $(VENV)/archives ## run everything that CI runs; TESTS="tests/services -k kafka" runs a part, WORKERS=0 without worker processes
	$(PY) -m pytest $(PARALLEL) --durations=50 $(TESTS)

# No test of this ring runs a code block or needs a browser: the plugin for code blocks loads a formatter in each
# process, and the tests of the site a browser's client.
test-unit: $(VENV)/installed-dev ## run the tests that need neither Spark nor servers; TESTS and WORKERS as above
	$(PY) -m pytest -m "not spark and not services" -p no:examples --ignore tests/site $(PARALLEL) $(TESTS)

wheel: $(VENV)/installed-build ## build the wheel of spark_rtm and the command rtm in dist/
	@rm -rf dist
	@$(PY) -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index --wheel-dir dist .
	@ls dist/*.whl

job-archive: $(VENV)/installed ## write the archives in dist/ that spark-submit sends to workers without this checkout
	@$(PY) -m spark_rtm.services job-archive dist examples

$(VENV)/installed-release: $(VENV)/installed-dev
	@echo "Installing the Python packages of a release into $(VENV)"
	@$(call install,base java bench docs dev release)
	@touch $@

release-check: ## check a release: no uncommitted file, pages and manifest valid, all tests, the site, the metadata, the wheel, its sources and components
	@test -z "$$(git status --porcelain)" || { git status --short >&2; \
		echo "These files are not committed, so a release would not contain them; commit or remove them." >&2; exit 1; }
	$(MAKE) validate
	$(MAKE) test TESTS=
	$(MAKE) site
	$(MAKE) release-files

release-files: wheel $(VENV)/installed-release ## build the wheel, the sources and the list of components in dist/, and rate the metadata
	@$(PY) -m build --sdist --no-isolation --outdir dist . > build/sdist.txt
	@$(VENV)/bin/pyroma --min=8 .  # the two missing points are the addresses of the repository and of the authors
	@cat requirements/base.txt | $(VENV)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o dist/components.cdx.json -
	@ls dist

check: lint test-unit ## lint, check the format and the types, and run the tests that need neither Spark nor servers

lint: $(VENV)/installed-dev ## lint, and check the format, the types and the imports of the code
	@mkdir -p build
	$(VENV)/bin/ruff check $(CODE)
	$(VENV)/bin/ruff format --check $(CODE)
	$(VENV)/bin/mypy $(CODE)
	$(VENV)/bin/lint-imports --no-logo > build/imports.txt || { cat build/imports.txt >&2; exit 1; }

format: $(VENV)/installed-dev ## format the code and apply safe fixes
	$(VENV)/bin/ruff check --fix $(CODE)
	$(VENV)/bin/ruff format $(CODE)

# An assistant copies the whole folder of a plugin, so the plugin must not be the clone, whose .venv has 1.2 GB.
plugin: ## write the plugin for coding assistants, which contains neither tests nor .venv, into build/plugin; needs only Python
	@rm -rf build/plugin build/plugin-copy
	@sh hooks/python.sh scripts/skills.py install --to build/plugin-copy > /dev/null
	@mv build/plugin-copy/* build/plugin && rmdir build/plugin-copy
	@mkdir -p build/plugin/scripts/site/assets
	@cp -R .claude-plugin .cursor-plugin bin hooks build/plugin
	@for file in scripts/hook.py scripts/site/assets/logo.svg spark_rtm/__main__.py; do cp "$$file" "build/plugin/$$file"; done
	@echo "Wrote build/plugin. Pass this folder to your assistant as ADDRESS (references/install.md)."

clean: ## remove .venv, build output and caches; fetched Kafka packages stay in the user's cache
	rm -rf $(VENV) build dist site .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find spark_rtm examples benchmarks scripts evals tests -name __pycache__ -type d -prune -exec rm -rf {} +

help-all: ## list all commands with their options
	@awk -F ':.*## ' "$$LISTED" $(firstword $(MAKEFILE_LIST))
