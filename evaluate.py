"""Evaluate forecasters: `python evaluate.py --models fim=runs/tiny/fim,seasonal_naive,sicoum --datasets m3_yearly`."""

import sys

try:
    from fimjax.cli.evaluate import main
except ModuleNotFoundError as error:
    sys.exit(f"evaluate.py: {error.name} is missing: pip install 'fimjax[evaluation]'")

if __name__ == "__main__":
    sys.exit(main())
