"""`python -m fimjax` is the command `fimjax`."""

import sys

from fimjax.commands import main

sys.exit(main())
