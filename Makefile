# make study    the default study, from a fresh clone to the report
# make smoke    the same from a small budget
# make test     the tests that prove every promise once: 8 to 14 minutes on two cores
# make test-all all tests: 50 to 60 minutes on two cores
# make check    formatting, lint, types and the direction of imports
# make schema   config/schema.json, after a change of a configuration key
# make gallery  the committed reports and the pages that quote them, again from their records
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PATH := $(abspath $(BIN)):$(PATH)
# Images of Docker often set it. Then each of many processes compiles every module again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: study smoke test test-all check schema gallery environment

# The profile's settings are given here, because Snakemake announces a profile on the screen.
RUN := snakemake --cores 1 --workflow-profile none --rerun-incomplete --scheduler greedy

study: environment
	@SAMESTEP_AGAIN="make study" $(RUN)

smoke: environment
	@SAMESTEP_AGAIN="make smoke" $(RUN) --configfile config/smoke.yaml

# First side by side, then alone those that watch this machine's clock and cores. The marks are
# explained in pyproject.toml. Some tests wait, so a third process has something to do.
PARALLEL := python -m pytest --dist worksteal -n 3
ALONE := python -m pytest tests/workflows

test: environment
	$(PARALLEL) -m "not quiet and not all"
	$(ALONE) -m "quiet and not all"

test-all: environment
	$(PARALLEL) -m "not quiet and not brief"
	$(ALONE) -m "quiet"

check: environment
	ruff check .
	ruff format --check .
	snakefmt --check --compact-diff Snakefile workflows
	mypy
	lint-imports --no-cache
	snakemake --lint

schema: environment
	python -m workflows.planning.configfiles > config/schema.json

# The other default studies of the machine of the reference study.
EARLIER = $(wildcard $(patsubst reports/reference/%,reports/repeats/*/*/%,$(wildcard reports/reference/machines/*)))
BRIEF := traps aa ablation networks networks-tuned definitions stored-statistics threads oversubscribed sweep fence parts versions loops reduced-precision parallel operations transfer loading gpu machines
JUDGING := reference networks networks-tuned definitions stored-statistics threads oversubscribed sweep fence parts parallel operations transfer traps gpu  # claims of others
# Some end with 1 if studies contradict each other or a target is missed, which is no error here.
UNLESS_CONTRADICTED := || [ $$? = 1 ]

# What is committed: report by report from its records, then the pages that quote several of them.
gallery: environment
	python -m analysis reports/reference/machines/* --earlier $(EARLIER) --out reports/reference
	for study in $(BRIEF); do python -m analysis reports/$$study/machines/* --out reports/$$study --brief || exit 1; done
	python -m analysis.literature $(JUDGING:%=reports/%) --out reports/literature
	python -m analysis.repeats reports/reference/machines/* reports/repeats/*/*/machines/* --out docs/repeatability.md > /dev/null $(UNLESS_CONTRADICTED)
	python -m analysis.repeats.calibration reports/reference $(patsubst %,reports/%,$(filter-out machines,$(BRIEF))) reports/earlier reports/repeats --out docs/calibration.md
	python -m benchmarks.simulation $(UNLESS_CONTRADICTED)

environment: $(BIN)/.complete

$(BIN)/.complete: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else f"samestep needs Python 3.11 to 3.13, and {sys.executable} is {v[0]}.{v[1]}: make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing PyTorch, TensorFlow, JAX and the rest into $(VENV): 3 to 4 GB, a minute or more"
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --constraint constraints.txt --editable '.[frameworks,slurm,test]' > $(VENV)/install.log 2>&1 || { tail -n 15 $(VENV)/install.log; echo "pip could not install it; the whole of its output: $(VENV)/install.log"; echo "When the cause is mended, go on with: make environment"; exit 1; }
	@touch $@
