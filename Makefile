# `make forecast` and `make test` need nothing but Python: they make the environment in .venv themselves.

PYTHON ?= python3
RUNS ?= runs/tiny
BIN = .venv/bin
PIP = $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
# One XLA device per core, and a compile cache. Huge pages save a CPU a twentieth to a quarter of a step's time.
TRAIN = GLIBC_TUNABLES=glibc.malloc.hugetlb=1 $(BIN)/python train.py --cpu-devices -1 --compile-cache .cache/jax

.PHONY: forecast test test-long check golden wheel train weights frozen race ablation pictures gallery clean

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable '.[test,check,plot]'
	$(PIP) --no-deps gluonts
	touch $@

# Forecasts two more years of the airline passengers of Box and Jenkins with the bundled weights.
forecast: .venv/installed
	$(BIN)/fimjax forecast fimjax/examples/air_passengers.csv --h 24 --level 80 95 --output forecast.csv --plot forecast.png
	@echo "The picture is $(CURDIR)/forecast.png"

# Whole files go to one worker, so that each program is compiled once. Files run in the order of their names.
test: .venv/installed
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations 10

# Tests that take minutes each: large models, distributions, a training that must learn.
test-long: .venv/installed
	$(BIN)/python -m pytest -n auto --dist load -m long --durations 10

# Linter, formatter, types, and the direction of imports.
check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_imports.py

# Today's answers, one training step of every recipe, and the prior's distributions, beside those of version 0.1.
golden: .venv/installed
	$(BIN)/python -m tests.golden.compare
	$(BIN)/python -m pytest -q -m 'long or not long' tests/test_golden_training.py tests/prior/test_distribution_unchanged.py

# Builds the wheel in dist/ and prints its size. It holds the package and the weights, and nothing else.
wheel: .venv/installed
	rm -rf dist build
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@$(BIN)/python -m zipfile -l dist/fimjax-*.whl | awk 'NR > 1 && $$1 !~ /^fimjax[-\/]/ {print "not of the package:", $$1; bad = 1} END {exit bad}'
	@du -h --apparent-size dist/fimjax-*.whl

# A tiny FIM-l and a tiny FIM on top of it: about two minutes on two cores. Starts afresh every time.
train: .venv/installed
	rm -rf $(RUNS)
	$(TRAIN) --config configs/tiny_fim_local.py --run $(RUNS)/fim_local
	$(TRAIN) --config configs/tiny_fim.py --local $(RUNS)/fim_local --run $(RUNS)/fim

# The bundled weights, made anew in five hours on two cores; continues where it was stopped. The second run starts from
# the parameters of the first, the last one from the average of both. What ships is the average of that and the last run.
weights: .venv/installed
	$(TRAIN) --config configs/small_fim.py --run runs/small/first --training.steps 86000 --training.seed 1 --resume
	$(TRAIN) --config configs/small_fim.py --run runs/small/second --training.seed 12 --prior.level-noise 0.9 \
		--begin-from runs/small/first --resume
	$(BIN)/python -m research.bundle runs/small/second --average-with runs/small/first --out runs/small/mean
	$(TRAIN) --config configs/bundled_fim.py --run runs/small/fim --begin-from runs/small/mean --resume
	$(BIN)/python -m research.bundle runs/small/fim --average-with runs/small/mean \
		--purpose "forecasts, gaps, smoothing, any times, irregular and hourly series"
	$(TRAIN) --config configs/bundled_nbeats.py --run runs/small/nbeats --resume
	$(BIN)/python -m research.bundle runs/small/nbeats --out fimjax/weights/nbeats-small \
		--purpose "forecasts alone, of many regular series, in less time"

# The lab report's form of FIM at the size of small_fim, by backtests in the training parts of M1 and M4.
frozen: .venv/installed
	rm -rf runs/frozen
	$(TRAIN) --config research/recipes/frozen_fim_local.py --run runs/frozen/fim_local --training.steps 2500 --no-picture
	$(TRAIN) --config research/recipes/frozen_fim.py --local runs/frozen/fim_local --run runs/frozen/fim \
		--training.steps 2500 --no-picture
	$(BIN)/python -m research.development --model runs/frozen/fim --sample 250

# FIM beside four other networks, twenty minutes each on two cores; continues where it was stopped. SEED=1 makes more.
SEED ?= 0
race: .venv/installed
	$(TRAIN) --config configs/small_fim.py --run runs/race/fim-$(SEED) --training.steps 11000 --training.seed $(SEED) --resume
	for name in nbeats mqcnn patchtst chronos_bolt; do \
		$(TRAIN) --config configs/small_$$name.py --run runs/race/$$name-$(SEED) --training.seed $(SEED) --resume || exit; done
	$(BIN)/python evaluate.py --models $$(ls -d runs/race/*-[0-9] | paste -sd,),seasonal_naive --datasets all --out runs/race/results
	$(BIN)/python -m benchmarks.race --runs runs/race --metrics runs/race/results/metrics.csv

# What each family of the prior contributes: 31 runs of a minute or two, one core each.
ablation: .venv/installed
	$(BIN)/python -m benchmarks.ablation --train runs/ablation --picture docs/images/ablation.png

# The pictures of the README, drawn by its own code.
pictures: .venv/installed
	$(BIN)/python docs/pictures.py

# Series of every family of the prior.
gallery: .venv/installed
	$(BIN)/python -m research.prior_gallery --out gallery.png

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache $(RUNS) build dist *.egg-info forecast.csv forecast.png gallery.png
