"""Run the `rtm` command with `python -m spark_rtm`."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  # `python3` may be an older version
    sys.stderr.write("rtm: this is Python %d.%d; run it with Python 3.11 or newer\n" % sys.version_info[:2])  # noqa: UP031
    sys.exit(2)

from spark_rtm.cli import main

if __name__ == "__main__":
    sys.exit(main())
