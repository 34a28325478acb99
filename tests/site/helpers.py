import sys

SUBPATH = "spark-real-time-mode"
"""The path of the published site, which begins the links of the page for missing addresses."""
BUILD = (sys.executable, "-m", "mkdocs", "build", "--strict")
"""The command of `make site`. With `--quiet`, mkdocs ignores warnings even in strict mode."""
