# make demo   the quickstart: record, analyse and show one program on the simulated NPU
# make test   the default tests (what needs a browser, other tools or over ten seconds runs in .ci/run)
# make lint   ruff and mypy
# Each makes the environment .venv the first time, and again after a change of pyproject.toml.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
LEFT_OUT := not slow and not mutations and not browser and not peer and not torch

.DEFAULT_GOAL := help
.PHONY: help demo test lint

help:
	@sed -n 's/^# make /make /p' Makefile

$(READY): pyproject.toml
	@for p in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14; do \
	  if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$p; break; fi; done; \
	if [ -z "$$found" ]; then \
	  echo "make: no Python 3.11 or newer was found" >&2; \
	  echo "  next: install one (apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 2; fi; \
	if [ ! -x $(BIN)/python ]; then \
	  echo "making $(VENV) with $$($$found --version)"; \
	  $$found -m venv $(VENV) || { echo "  next: apt install python3-venv" >&2; rm -rf $(VENV); exit 2; }; fi
	@echo "installing npuscope and its tools into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[sim,test,dev]' --config-settings editable_mode=compat
	@touch $@

demo: $(READY)
	@$(BIN)/python samples/quickstart/demo.py
	@echo
	@echo "The commands: $(CURDIR)/$(BIN)/msprof, npu-smi, atc, npu-diag, npuscope (or: source $(BIN)/activate)"

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -ra -m "$(LEFT_OUT)"
	@echo "left out by marker: slow, mutations, browser, peer, torch (.ci/run runs them, or: $(BIN)/python -m pytest -m slow)"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
