# make demo   label a real table and see how many hidden labels came back right
# make test   style, types and tests
# Both set up a virtual environment in .venv first; nothing else on the machine is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench sample-data clean

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

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(READY)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/label_rows.py

sample-data: $(READY)
	$(BIN)/python sample_data/make.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
