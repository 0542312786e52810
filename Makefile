# make demo   builds .venv, installs the package, runs the tour
# make test   all but the slow tests; with MARK= the whole suite
# make lint   style, types, contracts
# make quick  the fast tests
# make trial  kills runs and trees of runs after each commit, not at some only
# make cover  what the fast tests of the kernel do not reach, by line and branch
# make outsiders  installs verifiers from Debian, npm and PyPI, for the tests: build/
# make browser  installs Chromium from Debian, for the tests of pages
# make fuzz   a minute of changed bundles, guided by the code that they reach
# make bench  measurements           make docs   writes docs/reference from the code
# make page-program  the verifier in pages that carry their evidence, by esbuild from npm
# make pictures  screenshots of a report, for the docs: docs/pictures
# make site   the docs, to be searched: build/site
# make sbom   what is installed with muniment, as CycloneDX: build/sbom.json
# make clean  removes what was built
#
# Needs Python 3.11 or newer, git and make; uses uv where there is one.
# BASE=python3.12 chooses the interpreter, which gets an environment of its own;
# WORKERS=4 the test processes, MARK the tests.

BASE ?= python3
WORKERS ?= auto
MARK ?= not slow
FUZZ ?= 60

# Tests start Python thousands of times: a quarter of their time would go into compiling
# the same modules again.
unexport PYTHONDONTWRITEBYTECODE

SHORT := 'import sys; print("%d.%d" % sys.version_info[:2])'
VENV := .venv$(if $(filter-out python3,$(BASE)),-$(shell $(BASE) -c $(SHORT)))
BIN := $(VENV)/bin
PYTHON := $(BIN)/python
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
MAKE_VENV = $(UV) venv --quiet --seed --python $(BASE) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(PYTHON)
else
MAKE_VENV = $(BASE) -m venv $(VENV)
INSTALL = $(PYTHON) -m pip install --quiet --disable-pip-version-check
endif

.DELETE_ON_ERROR:
.PHONY: help demo test quick trial lint cover outsiders browser bench docs page-program pictures site sbom clean

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

demo: $(VENV)/.installed
	$(BIN)/muniment demo

test: $(VENV)/.dev
	$(PYTHON) -m pytest -q -n $(WORKERS) --dist worksteal $(if $(MARK),-m '$(MARK)')

quick: $(VENV)/.dev
	$(PYTHON) -m pytest -q -n $(WORKERS) --dist worksteal -m 'not slow' \
	  tests/test_*.py tests/ledger tests/cli

trial: $(VENV)/.dev
	MUNIMENT_TRIAL=1 $(PYTHON) -m pytest -q -n $(WORKERS) \
	  tests/ledger/resumes/test_killed_trees.py tests/ledger/resumes/test_resume.py \
	  tests/plugins/workflow/engine/test_killed_graphs.py \
	  tests/plugins/workflow/agents/test_killed_agents.py \
	  tests/plugins/workflow/agents/repairs/test_killed_repairs.py \
	  tests/plugins/workflow/engine/test_held_calls.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --warnings
	$(BIN)/lint-imports

cover: $(VENV)/.dev
	$(PYTHON) -m pytest -q -n $(WORKERS) --dist worksteal -m 'not slow' \
	  --cov --cov-report=term-missing:skip-covered tests/ledger tests/plugins/evidence

outsiders: # one may be had where the other is not
	@.ci/cosign || echo "no cosign here: its tests are not tried"
	@.ci/sigstore-verify || echo "no @sigstore/verify here: its tests are not tried"
	@.ci/roc-validator || echo "no roc-validator here: its tests are not tried"

browser:
	@.ci/browser || echo "no Chromium here: tests that open pages are not tried"

fuzz: $(VENV)/.dev
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(INSTALL) 'atheris>=3' || \
	  echo "no atheris here"
	@if $(BIN)/python -c 'import atheris' 2>/dev/null; then \
	  mkdir -p build && $(PYTHON) tools/fuzz_bundles.py $(FUZZ) \
	    -artifact_prefix=build/ -verbosity=0; fi

bench: $(VENV)/.dev
	$(PYTHON) tools/bench.py

docs: $(VENV)/.dev
	$(PYTHON) tools/docs.py
	$(PYTHON) tools/command_table.py
	$(PYTHON) tools/operation_table.py
	$(PYTHON) tools/api.py
	$(PYTHON) tools/ledger_attacks.py
	$(PYTHON) tools/move_table.py
	$(PYTHON) tools/kernel_table.py

pictures: $(VENV)/.dev
	$(PYTHON) tools/pictures.py

page-program: $(VENV)/.dev
	$(PYTHON) tools/page_program.py

site: $(VENV)/.dev
	$(PYTHON) tools/docs_site.py

# An environment of its own: what developers use is no part of the product.
sbom: $(VENV)/.dev
	rm -rf build/sbom
	$(BASE) -m venv --without-pip build/sbom
	$(PYTHON) -m pip --python build/sbom/bin/python install --quiet \
	  --disable-pip-version-check .
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library \
	  --output-reproducible -o build/sbom.json build/sbom/bin/python

clean:
	rm -rf .venv .venv-* build dist .hypothesis .import_linter_cache \
	  .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Not a dependency on the interpreter's time stamp: its link is older than everything.
$(PYTHON):
	$(MAKE_VENV)

# The stamps are newer than pyproject.toml once its dependencies are installed.
$(VENV)/.installed: pyproject.toml | $(PYTHON)
	$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(PYTHON)
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.installed
