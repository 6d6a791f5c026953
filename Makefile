PYTHON ?= python3
BIN := .venv/bin

.PHONY: quickstart test test-long check lint types quick unit docs coverage stranger release-check clean

## The main job: the environments with their yardsticks, a small study, and what an agent remembers.
quickstart: .venv/installed
	@echo "==> The yardsticks of the five environments, and their pictures in pictures/"
	$(BIN)/asmpg envs --pictures pictures
	@echo "==> A finite memory beside a GRU and beside no memory: three seeds of 40,000 steps each"
	$(BIN)/asmpg study quick --out runs/quick
	@echo "==> What an agent remembers in the maze, as a machine to read and to replay"
	$(BIN)/asmpg show runs/quick/runs/CheeseMaze/asm-ppo --minimise --out pictures/memory
	@echo "==> Open runs/quick/report.html and pictures/memory/machine.html. What to try next:"
	@echo "    $(BIN)/asmpg train MachineRepair --seeds 3   # any environment of 'asmpg envs', or any Gymnasium id"
	@echo "    $(BIN)/asmpg study methods                   # six methods in five environments, in minutes"

## Everything CI runs: lint, types, the documentation, all tests but the long ones.
## Types and documentation take one core: they are checked beside the tests.
test: lint
	@$(MAKE) --no-print-directory -j 3 types docs unit

## The long tests: what trains until it reaches a score, and further cases of what the others try.
test-long: .venv/installed-dev
	@echo "==> Running the long tests"
	$(BIN)/python -m pytest -n auto --dist worksteal -m long

## For every day, within two minutes: lint, types and the quickest tests.
check: lint types quick

lint: .venv/installed-dev
	@echo "==> Linting"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	@echo "==> Checking types"
	$(BIN)/basedpyright

quick: .venv/installed-dev
	@echo "==> Running the quickest tests"
	$(BIN)/python -m pytest -n auto --dist worksteal -m quick

unit: .venv/installed-dev
	@echo "==> Running the tests"
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not long"

## The documentation as web pages, in build/docs.
docs: .venv/installed-dev
	@echo "==> Building the documentation into build/docs"
	$(BIN)/mkdocs build --strict --quiet

## How much of the package the tests run; tracing makes them take half as long again.
coverage: .venv/installed-dev
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --cov --cov-report term:skip-covered

## The first minutes of a stranger: README and first pages, followed to the letter in a fresh environment.
stranger:
	$(PYTHON) scripts/stranger.py --python $(PYTHON)

## Before a release: sdist and wheel into dist/, looked into, installed and used on every Python here.
release-check:
	$(PYTHON) scripts/release_check.py --keep dist

.venv/installed: pyproject.toml constraints.txt
	@echo "==> Creating .venv and installing asmpg"
	$(PYTHON) -c 'import sys; sys.exit("asmpg needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/installed-dev: .venv/installed
	@echo "==> Installing what the tests need"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv pictures runs dist build
