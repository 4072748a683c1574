# `make forecast`, `make test` and `make train` need nothing but Python: they make the environment in .venv themselves.

PYTHON ?= python3
RUNS ?= runs/tiny
BIN = .venv/bin
# One XLA device for each core; compiled programs are kept between runs.
# Huge pages: memory that comes in pieces of 4 KB costs a step on a CPU a twentieth to a quarter of its time.
TRAIN = GLIBC_TUNABLES=glibc.malloc.hugetlb=1 $(BIN)/python train.py --cpu-devices -1 --compile-cache .cache/jax

.PHONY: forecast test train weights frozen race ablation pictures gallery clean

# What is installed is compiled as it is imported, which is less of it.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[test,plot]'
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --no-deps gluonts
	touch $@

# Two more years of the airline passengers of Box and Jenkins, by the weights that ship.
forecast: .venv/installed
	$(BIN)/fimjax forecast fimjax/examples/air_passengers.csv --h 24 --level 80 95 --output forecast.csv --plot forecast.png
	@echo "The picture is $(CURDIR)/forecast.png"

# Tests run on every core, whole files at a time, so that what a file compiles is compiled once; in the order of their
# names, for the longest would else come last.
test: .venv/installed
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations 10

# FIM-l, then FIM on top of it: about two minutes on two cores. Starts afresh every time.
train: .venv/installed
	rm -rf $(RUNS)
	$(TRAIN) --config configs/tiny_fim_local.py --run $(RUNS)/fim_local
	$(TRAIN) --config configs/tiny_fim.py --local $(RUNS)/fim_local --run $(RUNS)/fim

# The weights that ship, made anew in five hours on two cores; goes on where it was stopped. A second run begins from the
# parameters of a first one, at a high rate again, and the last one, at a lower rate, from the mean of both; what ships is
# the mean of that mean and the last run.
weights: .venv/installed
	$(TRAIN) --config configs/small_fim.py --run runs/small/first --training.steps 86000 --training.seed 1 --resume
	$(TRAIN) --config configs/small_fim.py --run runs/small/second --training.seed 12 --prior.unrest 0.9 \
		--begin-from runs/small/first --resume
	$(BIN)/python -m research.bundle runs/small/second --average-with runs/small/first --out runs/small/mean
	$(TRAIN) --config configs/bundled_fim.py --run runs/small/fim --begin-from runs/small/mean --resume
	$(BIN)/python -m research.bundle runs/small/fim --average-with runs/small/mean \
		--purpose "forecasts, gaps, smoothing, any times, irregular and hourly series"
	$(TRAIN) --config configs/bundled_nbeats.py --run runs/small/nbeats --resume
	$(BIN)/python -m research.bundle runs/small/nbeats --out fimjax/weights/nbeats-small \
		--purpose "forecasts alone, of many regular series, in less time"

# The lab report's FIM on a frozen FIM-l, ten minutes on two cores, by backtests in the training parts of M1 and M4.
frozen: .venv/installed
	rm -rf runs/frozen
	$(TRAIN) --config research/recipes/frozen_fim_local.py --run runs/frozen/fim_local --training.steps 2500 --no-picture
	$(TRAIN) --config research/recipes/frozen_fim.py --local runs/frozen/fim_local --run runs/frozen/fim --training.steps 2500 --no-picture
	$(BIN)/python -m research.development --model runs/frozen/fim --sample 250

# FIM beside four other networks, twenty minutes each on two cores, on all data sets; goes on where it was stopped.
# SEED=1 and so on make more of them.
SEED ?= 0
race: .venv/installed
	$(TRAIN) --config configs/small_fim.py --run runs/race/fim-$(SEED) --training.steps 11000 --training.seed $(SEED) --resume
	for name in nbeats mqcnn patchtst chronos_bolt; do \
		$(TRAIN) --config configs/small_$$name.py --run runs/race/$$name-$(SEED) --training.seed $(SEED) --resume || exit; done
	$(BIN)/python evaluate.py --models $$(ls -d runs/race/*-[0-9] | paste -sd,),seasonal_naive --datasets all --out runs/race/results
	$(BIN)/python -m benchmarks.race --runs runs/race --metrics runs/race/results/metrics.csv

# What each family of the prior buys: thirty-one runs of a minute or two, one core each.
ablation: .venv/installed
	$(BIN)/python -m benchmarks.ablation --train runs/ablation --picture docs/images/ablation.png

# The pictures of the README, by the code that stands beside them.
pictures: .venv/installed
	$(BIN)/python docs/pictures.py

gallery: .venv/installed
	$(BIN)/python -m research.prior_gallery --out gallery.png

clean:
	rm -rf .venv .cache runs build *.egg-info forecast.csv forecast.png
