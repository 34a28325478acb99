"""Run the `rtm` command with `python -m spark_rtm`."""

import signal
import sys

# Ctrl-C during the imports ends the program without a traceback. `Program.main` ends with status 130 instead.
if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
if sys.version_info < (3, 11):  # noqa: UP036  # `python3` may be an older version
    sys.stderr.write("rtm: this is Python %d.%d; run it with Python 3.11 or newer\n" % sys.version_info[:2])  # noqa: UP031
    sys.exit(2)

from spark_rtm.cli import main

if __name__ == "__main__":
    sys.exit(main())
