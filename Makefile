# Everything sets itself up: a virtual environment out of the lock files, Delta's jars, then the work.
# A second run finds the stamps and goes straight to the work.

PYTHON ?= python3
VENV ?= .venv
PYTEST ?=
UV ?= uv

ifeq ($(OS),Windows_NT)
bin := $(VENV)/Scripts
else
bin := $(VENV)/bin
endif
python := $(bin)/python
# Python compiles what it imports when it does; all of it at once was a quarter of the installation.
pip := $(python) -m pip --disable-pip-version-check install --quiet --no-compile

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo quick test test-all bench lint docs format lock setup clean distclean

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST)

demo: setup ## The main job on real data: load, transform, answer; leaves everything in .audit/
	@$(python) -m examples.demo

# A module stays in one process, since its tests share fixtures; the modules that take longest come first.
processes := --numprocesses 2 --dist loadfile --no-loadscope-reorder

quick: setup ## The tests that start no JVM; PYTEST="-k name" chooses, here and in the next two
	@$(python) -m pytest $(processes) --tier quick --quiet $(PYTEST)

test: setup $(VENV)/.archive ## The tests of each change, see docs/testing.md
	@$(python) java/tools.py test
	@$(python) -m pytest $(processes) --tier test --quiet --durations 15 $(PYTEST)

test-all: setup $(VENV)/.archive ## All tests, before a release
	@$(python) java/tools.py test
	@$(python) -m pytest $(processes) --tier all --hive --durations 15 $(PYTEST)

bench: setup ## The benchmarks; writes benchmarks/RESULTS.md
	@$(python) -m benchmarks

lint: $(VENV)/.project ## ruff, mypy --strict, import-linter; javac's warnings, google-java-format
	@$(bin)/ruff check .
	@$(bin)/ruff format --check .
	@$(bin)/mypy
	@$(bin)/lint-imports
	@$(python) java/tools.py lint

format: $(VENV)/.project ## Format the code, and mend what ruff can mend
	@$(bin)/ruff format .
	@$(bin)/ruff check --fix .
	@$(python) java/tools.py format

docs: $(VENV)/.project ## Write docs/reference/ from the code, and build the site into build/site/
	@$(python) docs/_build/reference.py
	@$(python) docs/_build/errors.py
	@NO_MKDOCS_2_WARNING=1 $(bin)/mkdocs build --strict --quiet

setup: $(VENV)/.jars ## Install all that the others need

# Python's packages: the build tools first, so that sdists (pyspark) build with what is locked.
$(VENV)/.packages: requirements.lock requirements-build.lock
	@$(PYTHON) .ci/prerequisites.py
	@echo "Installing Python's packages into $(VENV) (about two minutes, once)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(pip) --require-hashes -r requirements-build.lock
	@$(pip) --no-build-isolation --require-hashes -r requirements.lock
	@touch $@

# This project itself, by reference: a new option in pyproject.toml costs two seconds, not all of the above.
$(VENV)/.project: $(VENV)/.packages pyproject.toml
	@$(pip) --no-build-isolation --no-deps --editable .
	@touch $@

# It builds the jar of our own Java where that is not the one of the sources.
$(VENV)/.jars: $(VENV)/.project audit/spark/embedded/jars.lock $(shell find java -name '*.java' -o -name 'build.py')
	@$(bin)/audit setup >/dev/null
	@$(python) java/build.py >/dev/null
	@touch $@

# Tests start Spark many times.
$(VENV)/.archive: $(VENV)/.jars
	@$(bin)/audit setup --archive >/dev/null
	@touch $@

lock: ## Resolve the lock files anew (needs uv; UPGRADE=--upgrade takes the newest versions)
	$(UV) pip compile --quiet $(UPGRADE) --universal --python-version 3.10 --generate-hashes --no-python-downloads \
		--custom-compile-command "make lock" --all-extras -o requirements.lock pyproject.toml
	$(UV) pip compile --quiet $(UPGRADE) --universal --python-version 3.10 --generate-hashes --no-python-downloads \
		--custom-compile-command "make lock" --group pyproject.toml:build -o requirements-build.lock

clean: ## Remove what runs leave behind: caches, .audit/
	rm -rf .audit spark-warehouse metastore_db derby.log build dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean ## The same, and the virtual environment
	rm -rf $(VENV)
