"""Train a model on synthetic series: `python train.py --config configs/tiny_fim_local.py --run runs/local`."""

import sys

from fimjax.cli.train import main

if __name__ == "__main__":
    sys.exit(main())
