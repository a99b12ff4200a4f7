"""``python -m tickless``: the command line."""

import sys

from tickless.cli import main

if __name__ == "__main__":
    sys.exit(main())
