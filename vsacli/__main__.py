"""`python -m vsacli`: the command `vsa` where no script is on the path."""

import sys

from vsacli.cli import main

if __name__ == "__main__":
    sys.exit(main())
