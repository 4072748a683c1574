"""`python -m fimjax` runs the command `fimjax`."""

import sys

from fimjax.cli import main

sys.exit(main())
