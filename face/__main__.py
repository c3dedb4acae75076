"""`python -m layoutc`."""

import sys

from layoutc.cli import main

sys.exit(main())
