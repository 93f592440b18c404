# make demo   label a real table and see how many hidden labels came back right
# make test   style, types and tests
# make docs   the site of documentation, in site/
# Each sets up a virtual environment in .venv first; nothing else on the machine is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-ray check bench sample-data dist-check docs clean

# torch comes first and pinned: any other way of asking for it can fetch gigabytes of CUDA libraries.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[dev]'
	touch $(READY)

demo: $(READY)
	@$(BIN)/python sample_data/demo.py $(BIN)/vsa

test: check
	$(BIN)/python -m pytest -q

# Ray is 240 MB and takes its time to start, so its tests are left out (and say so) where it is not installed.
test-ray: $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[ray]'
	$(BIN)/python -m pytest -q tests/labeling/parts/test_engines.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/pyright --pythonversion 3.14 vsacli
	$(BIN)/lint-imports --no-logo --no-cache

# The wheel and the source archive, installed where nothing of this checkout is, and run there.
dist-check: $(READY)
	$(BIN)/python .ci/dist_check.py

# What the site needs is installed once; then it is built without network.
$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[docs]'
	touch $@

docs: $(VENV)/.docs
	$(BIN)/python docs/reference.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(READY)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/label_rows.py

sample-data: $(READY)
	$(BIN)/python sample_data/make.py

clean:
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .hypothesis
