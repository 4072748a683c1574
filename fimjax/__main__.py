"""`python -m fimjax` is the command `fimjax`."""

import sys

from fimjax.cli import main

sys.exit(main())
