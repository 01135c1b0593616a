# crowdveil: `make` alone lists the targets. Needs python3 (3.11 or later), its venv module, make and git.

PYTHON ?= python3
TRACES ?= ../shared/data
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(shell cat requirements.lock pyproject.toml 2>/dev/null | cksum | cut -d' ' -f1)
DOCS_VENV := .docs-venv
DOCS_READY := $(DOCS_VENV)/.ready-$(shell cat requirements-docs.lock 2>/dev/null | cksum | cut -d' ' -f1)
WEB_READY := web/node_modules/.ready-$(shell cat web/package-lock.json 2>/dev/null | cksum | cut -d' ' -f1)
PAGES := src/crowdveil/server/pages
VECTORS := web/vectors/.ready
WITH_NODE := PATH="$(CURDIR)/$(BIN):$$PATH"
BENCH_VENV := .bench-venv
BENCH_READY := $(BENCH_VENV)/.ready-$(shell cat requirements-bench.lock pyproject.toml 2>/dev/null | cksum | cut -d' ' -f1)
SPARK_VENV := .spark-venv
SPARK_READY := $(SPARK_VENV)/.ready-$(shell cat requirements-spark.lock pyproject.toml 2>/dev/null | cksum | cut -d' ' -f1)
EXAMPLES_VENV := .examples-venv
EXAMPLES_READY := $(EXAMPLES_VENV)/.ready-$(shell cat requirements-examples.lock pyproject.toml 2>/dev/null | cksum | cut -d' ' -f1)
EXECUTED := examples/executed/.ready
# Python compiles what is imported, once: compiling all that is installed would take longer than the first run of the tests.
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE
COMPILE := pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	$(if $(UPGRADE),--upgrade)

.PHONY: help setup demo test long web pages test-pages browser faults attacks mutants spark java lint lint-python \
	lint-pages study examples bench load-generator scale wheel core docs lock audit-dependencies clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 28

setup: $(READY) web ## install everything that the other targets need: .venv, web/node_modules, the pages, the browsers (as root)
	@$(MAKE) --no-print-directory browser || echo "== setup: everything else is ready"
	@echo "ready: make demo, make test"

demo: web ## run a private campaign over a synthetic city, in demo/; STAY=1 keeps its server running afterwards
	@echo "== demo: a campaign over a synthetic city, written to demo/"
	@$(BIN)/crowdveil demo --out demo $(if $(STAY),--stay)

# Both cores are used: the longest checks start first.
test: $(READY) browser ## check style and types, then run the tests, including those in browsers; screenshots in screens/
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line lint-python test-pages lint-pages web
	@echo "== test: pytest"
	@$(BIN)/python -m pytest -m "not long"

long: web browser ## run the longer tests: kills, whole studies, the demo, real traces, statistics; about six minutes
	@echo "== long: pytest, the tests that make test leaves out"
	@$(BIN)/python -m pytest -m long --durations=12
	@echo "== long: the browser's device beside the one in Python, on 10,000 policies"
	@rm -f $(VECTORS) && $(MAKE) --no-print-directory test-pages POLICIES=10000

faults: $(READY) ## kill, starve and fuzz the server and its devices, on both databases; about 25 minutes
	@echo "== faults: for each promise, how many trials and how many failures"
	@$(BIN)/python -m tests.faults

attacks: $(READY) ## attack devices and server as a hostile operator would: how often each attack worked before, works now, and may work
	@echo "== attacks: before, now, and the bound"
	@$(BIN)/python -m tests.attacks $(if $(SEED),--seed $(SEED))

mutants: $(READY) ## change guarding code one thing at a time, count what the tests notice; changed rooms, or ALL=1, or ROOMS="draw limits"
	@echo "== mutants: at least 95 % should be noticed"
	@$(BIN)/python -m tests.mutants $(if $(ALL),--all) $(ROOMS)

web: $(PAGES)/console.html ## build the pages into the package
	@:

pages: web browser ## run only the tests that use both pages in browsers; screenshots in screens/
	@echo "== pages: the tests in browsers"
	@$(BIN)/python -m pytest tests/browser

test-pages: $(WEB_READY) $(VECTORS)
	@echo "== test: vitest, and whether the browser's device agrees with the one in Python"
	@cd web && $(WITH_NODE) npm test --silent

browser:
	$(call need,chromium,chromium)
	$(call need,WebKitWebDriver,webkit2gtk-driver)
	$(call need,xvfb-run,xvfb xauth)
	$(call need,dbus-run-session,dbus)

spark: java $(SPARK_READY) ## run DuckDB and Spark side by side: the same profiles, on a local session and a cluster, killed halfway, larger than memory
	@echo "== spark: two engines, the same results"
	@$(SPARK_VENV)/bin/python -m pytest -n 0 -s --disable-warnings -W default tests/spark

java:
	$(call need,java,openjdk-17-jre-headless)

lint: $(READY) ## check style and types of Python and of the pages
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line lint-python lint-pages

lint-python: $(READY)
	@echo "== lint: ruff check"
	@$(BIN)/ruff check .
	@echo "== lint: ruff format"
	@$(BIN)/ruff format --check .
	@echo "== lint: mypy, strict"
	@$(BIN)/mypy

lint-pages: $(WEB_READY)
	@echo "== lint: the pages (tsc, svelte-check, eslint)"
	@cd web && $(WITH_NODE) npm run --silent check

study: $(READY) ## repeat the paper's experiments in a short form, on the traces in TRACES (../shared/data), in study/
	@echo "== study: tower-city, synthetic"
	@$(BIN)/crowdveil study tower-city --quick --out study/tower-city
	@for one in new-york:dataset_TSMC2014_NYC.txt.xz gowalla:gowalla_new_york.txt.gz \
			san-francisco:cabspotting_5min.csv.xz; do \
		name=$${one%%:*}; file=$(TRACES)/$${one#*:}; \
		if [ -e "$$file" ]; then \
			echo "== study: $$name"; \
			$(BIN)/crowdveil study $$name --quick --data "$$file" --out study/$$name || exit 1; \
		else \
			echo "== study: $$name is left out because there are no traces at $$file (set TRACES=...)"; \
		fi; \
	done
	@echo "== study: all of them side by side"
	@$(BIN)/crowdveil study together --data study --out study/together

examples: $(EXAMPLES_READY) ## execute the notebooks of examples/ in fresh kernels, into examples/executed/; about two minutes
	@echo "== examples: each in a fresh kernel"
	@rm -f $(EXECUTED)
	@$(EXAMPLES_VENV)/bin/python -m examples.tools.execute
	@touch $(EXECUTED)

load-generator:
	$(call need,wrk,wrk)

bench: load-generator $(BENCH_READY) ## measure speed and memory side by side with the peers; under 30 minutes
	@$(BENCH_VENV)/bin/python -m benchmarks.peers
	@echo "== bench: side by side with the peers"
	@$(BENCH_VENV)/bin/python -m benchmarks

scale: $(READY) ## run a campaign over 0.1, 1 and 10 million synthetic users: seconds and memory; about half an hour
	@echo "== scale: more and more users, the same memory"
	@$(BIN)/python -m benchmarks.scale

wheel: web ## build the wheel, with the pages, and the source archive into dist/
	@echo "== wheel: building into dist/"
	@rm -rf dist && $(BIN)/python -m hatchling build

core: wheel ## install the core alone into a new environment, run it, and print its size and how fast it starts
	@echo "== core: the wheel and requirements-core.lock in a new environment"
	@$(BIN)/python -m tests.packaging.core dist/*.whl

# The notebooks are executed again only when they, or what they run, have changed.
docs: $(DOCS_READY) $(EXECUTED) ## build the documentation site into site/, with the executed notebooks
	@echo "== docs: building site/"
	@PYTHONPATH=. NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --quiet
	@! grep -rnoE '<(script|img|iframe|source)[^>]*src="?(https?:)?//[^ ">]*|<link[^>]*rel="?(stylesheet|preconnect|icon)[^>]*href="?(https?:)?//[^ ">]*|url\((https?:)?//[^)]*' \
		--include='*.html' --include='*.css' site || { echo "the site would load from outside" >&2; exit 1; }
	@echo "open site/index.html; it loads nothing from outside"

define BUILD_REQUIREMENTS
import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "editables>=0.5", sep="\n")
endef
define DOCS_REQUIREMENTS
import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")
endef
define TEST_REQUIREMENTS
import tomllib
dev = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dev"]
print(*(one for one in dev if one.startswith(("hypothesis", "pytest"))), sep="\n")
endef
export BUILD_REQUIREMENTS DOCS_REQUIREMENTS TEST_REQUIREMENTS

lock: $(READY) ## pin dependencies that are not pinned yet, with hashes; UPGRADE=1 takes the newest version of each
	@command -v uv >/dev/null || test -x $(BIN)/uv || $(BIN)/python $(PIP_INSTALL) uv
	@set -e; export PATH="$$PATH:$(CURDIR)/$(BIN)"; \
	$(BIN)/python -c "$$BUILD_REQUIREMENTS" > .build-requirements.in; \
	trap 'rm -f .build-requirements.in' EXIT; \
	uv $(COMPILE) --extra dev -o requirements.lock pyproject.toml .build-requirements.in; \
	uv $(COMPILE) -c requirements.lock -o requirements-core.lock pyproject.toml; \
	uv $(COMPILE) -c requirements.lock --extra examples -o requirements-examples.lock pyproject.toml .build-requirements.in; \
	uv $(COMPILE) --extra bench -o requirements-bench.lock pyproject.toml .build-requirements.in; \
	$(BIN)/python -c "$$TEST_REQUIREMENTS" >> .build-requirements.in; \
	uv $(COMPILE) --extra spark --extra all -o requirements-spark.lock pyproject.toml .build-requirements.in; \
	$(BIN)/python -c "$$DOCS_REQUIREMENTS" > .build-requirements.in; \
	uv $(COMPILE) -o requirements-docs.lock .build-requirements.in; \
	for peer in $(basename $(wildcard benchmarks/peers/*.in)); do \
		uv $(COMPILE) $(foreach kind,excludes overrides,$$(test ! -e $$peer.$(kind) || echo --$(kind) $$peer.$(kind))) \
			-o $$peer.lock $$peer.in; \
	done
	@! grep -nE '://|^ *-[-a-z]*(index|find)|@ ' requirements*.lock benchmarks/peers/*.lock || (echo "a lock names a host" >&2; exit 1)
	@! grep -n '"resolved"' web/package-lock.json || (echo "the lock of the pages names a host" >&2; exit 1)
	@wc -l requirements*.lock benchmarks/peers/*.lock

# Strict: a package that could not be looked up counts as a failure, so that no network never means no weakness.
audit-dependencies: $(READY) $(WEB_READY) ## look up known weaknesses of every pinned package, of both languages; needs the network
	@for one in requirements*.lock; do \
		echo "== audit-dependencies: $$one"; \
		$(BIN)/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r $$one \
			|| { echo "$$one: weaknesses were found, or packages could not be looked up (see above)" >&2; exit 1; }; \
	done
	@echo "== audit-dependencies: web/package-lock.json"
	@cd web && $(WITH_NODE) npm audit

clean: ## remove everything that can be made again
	rm -rf $(VENV) $(DOCS_VENV) $(BENCH_VENV) $(SPARK_VENV) $(EXAMPLES_VENV) examples/executed .peers .mutants web/node_modules web/dist web/vectors $(PAGES) site demo study dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# --- environments: made once, made again when their lock changes --------------------------------------------

# $(call need,COMMAND,PACKAGES): install Debian packages if the command is missing.
define need
	@command -v $(1) >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "== setup: installing $(2)"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(2) >/dev/null; \
		else \
			echo "$(1) is missing; on Debian, as root: apt-get install $(2)" >&2; exit 1; \
		fi; }
endef

define make_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "crowdveil needs Python 3.11 or later; set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "== setup: installing python3-venv"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null; \
		else \
			echo "this Python has no venv module: install the package python3-venv" >&2; exit 1; \
		fi; }
	@echo "== setup: $(1), from $(2) with checked hashes"
	@test -x $(1)/bin/python || { rm -rf $(1); $(PYTHON) -m venv $(1); }
	@rm -f $(1)/.ready-*; echo '*' > $(1)/.gitignore
	@$(1)/bin/python $(PIP_INSTALL) --require-hashes -r $(2)
endef

$(READY):
	$(call make_venv,$(VENV),requirements.lock)
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(BENCH_READY):
	$(call make_venv,$(BENCH_VENV),requirements-bench.lock)
	@$(BENCH_VENV)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(SPARK_READY):
	$(call make_venv,$(SPARK_VENV),requirements-spark.lock)
	@$(SPARK_VENV)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(EXAMPLES_READY):
	$(call make_venv,$(EXAMPLES_VENV),requirements-examples.lock)
	@$(EXAMPLES_VENV)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(EXECUTED): requirements-examples.lock $(wildcard examples/*.py examples/tools/*.py) $(shell find src/crowdveil -name '*.py')
	@$(MAKE) --no-print-directory examples

$(WEB_READY): | $(READY)
	@echo "== setup: web/node_modules, from package-lock.json"
	@cd web && $(WITH_NODE) npm ci --loglevel=error --no-fund --no-audit >/dev/null && touch ../$@

# What the device in Python computes, for the tests of the one in the browser.
$(VECTORS): $(READY) $(shell find src/crowdveil tests -name '*.py')
	@echo "== test: conformance vectors, into web/vectors"
	@rm -f $@ && $(BIN)/python -m tests.conformance.vectors --out web/vectors --policies $(or $(POLICIES),2500) && touch $@

$(PAGES)/console.html: $(WEB_READY) $(shell find web/src web/public web/*.html web/*.ts web/*.js 2>/dev/null)
	@echo "== web: building the pages"
	@cd web && $(WITH_NODE) npm run --silent build -- --logLevel warn
	@rm -rf $(PAGES) && cp -r web/dist $(PAGES)

$(DOCS_READY):
	$(call make_venv,$(DOCS_VENV),requirements-docs.lock)
	@touch $@
