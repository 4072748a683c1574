"""Trains a model on synthetic series, as `fimjax train` does.

`python train.py --config configs/tiny_fim_local.py --run runs/local`
"""

import sys

from fimjax.cli.train import main

if __name__ == "__main__":
    sys.exit(main(prog="train.py"))
