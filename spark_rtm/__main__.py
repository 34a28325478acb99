"""Run the command `rtm` with `python -m spark_rtm`."""

import sys

from spark_rtm.cli import main

if __name__ == "__main__":
    sys.exit(main())
