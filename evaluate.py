"""Evaluate forecasters, as `fimjax evaluate` does: `python evaluate.py --models fim,seasonal_naive --datasets m3`."""

import sys

try:
    from fimjax.cli.evaluate import main
except ModuleNotFoundError as error:
    sys.exit(f"evaluate.py: {error.name} is missing: pip install 'fimjax[evaluation]'")

if __name__ == "__main__":
    sys.exit(main(prog="evaluate.py"))
